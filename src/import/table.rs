//! Rows whose columns nobody declared: what the columns contain, and the declaration that follows from
//! that.
//!
//! A column has the kind that 99 of 100 of its values have. A value that does not fit is kept as text in
//! an extra field, `NAME_text`, so that the declaration holds for every record, even for existing ones
//! when a later file has more. Amounts go to a field with their currency in its name, so that nobody adds
//! up two currencies.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::io;
use std::sync::Arc;

use jiff::tz::TimeZone;

use super::cell::{self, Currency, Decimal, Moment};
use super::declare::{self, Registry};
use super::format::{Ask, Bad, DateOrder, Member, Plan, Refused, zone_in_words};
use crate::vault::declaration::{Aggregation, Connector, Field, Kind, Stream};

/// How many of 100 values must be of one kind.
const MOST: u64 = 99;
/// Records can be grouped by texts of up to this length, in characters.
const SHORT: usize = 100;
/// Dates that are in order by accident are fewer.
const ENOUGH_STEPS: u64 = 4;
/// The most rows that are compared: beyond that, all are taken to be different.
const REMEMBERED: usize = 1_800_000;
/// The role of a field with long texts.
const PROSE: &str = "secondary";
/// Names of columns that describe what a row is about.
const TITLES: [&str; 14] = [
    "title",
    "name",
    "subject",
    "summary",
    "description",
    "merchant",
    "payee",
    "titel",
    "betreff",
    "bezeichnung",
    "titre",
    "nombre",
    "titolo",
    "label",
];

/// The most columns that are reported as not being dates.
const MOST_TOLD: usize = 3;
/// Words in the names of columns that hold the time of a row.
const DATED: [&str; 24] = [
    "date",
    "time",
    "datetime",
    "timestamp",
    "day",
    "when",
    "created",
    "updated",
    "datum",
    "zeit",
    "uhrzeit",
    "tag",
    "buchungstag",
    "jour",
    "heure",
    "fecha",
    "hora",
    "data",
    "giorno",
    "ora",
    "tijd",
    "dato",
    "tid",
    "日付",
];
/// The note about a row whose time cannot be read.
pub const UNDATED: &str = "with a date that cannot be read: it is kept as text, and the record has no time";

/// A value, as it is in a file.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// Text between two delimiters, which may be a number.
    Cell(&'a str),
    /// A string of JSON.
    Text(&'a str),
    /// A number of JSON.
    Number(&'a str),
    /// `true` or `false` of JSON.
    Boolean(&'a str),
    /// A list of JSON.
    Array(&'a str),
    /// An object of JSON.
    Object(&'a str),
}

impl<'a> Value<'a> {
    /// Its text; JSON is not minified.
    pub const fn text(self) -> &'a str {
        let (Self::Cell(text)
        | Self::Text(text)
        | Self::Number(text)
        | Self::Boolean(text)
        | Self::Array(text)
        | Self::Object(text)) = self;
        text
    }

    /// Whether it has no value.
    pub fn is_empty(self) -> bool {
        matches!(self, Self::Cell(text) if text.trim().is_empty())
    }
}

/// What was found in a column.
#[derive(Debug, Clone, Default)]
pub struct Column {
    values: u64,
    booleans: u64,
    arrays: u64,
    objects: u64,
    /// Numbers with a decimal point, with a decimal comma, and those that are the same with both.
    numbers: [Numbers; 3],
    /// Times by the order of their numbers, and those that are the same in each order.
    times: [Times; 3],
    /// Times that mean another day in another order.
    undecided: u64,
    /// The currency of its first number: a value with another currency, or none, does not count as a
    /// number here.
    currency: Option<Currency>,
    /// Amounts in a currency other than the first one, or without one if the first has one.
    foreign: u64,
    has_prose: bool,
    is_long: bool,
    /// The first line whose value is not a number, and not a time.
    odd_number: Option<u64>,
    odd_time: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    all: u64,
    whole: u64,
    /// Values that are numbers only when read this way.
    only: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Times {
    all: u64,
    days: u64,
    only: u64,
    /// How many values are later, and how many are earlier, than the one before.
    walk: Walk,
}

#[derive(Debug, Clone, Copy, Default)]
struct Walk {
    last: Option<jiff::civil::DateTime>,
    falling: u64,
    rising: u64,
}

impl Walk {
    fn step(&mut self, at: jiff::civil::DateTime) {
        if let Some(last) = self.last.replace(at) {
            self.rising += u64::from(last < at);
            self.falling += u64::from(last > at);
        }
    }

    const fn is_monotonous(self) -> bool {
        (self.rising == 0) != (self.falling == 0) && self.rising + self.falling >= ENOUGH_STEPS
    }

    /// The direction of most of its steps.
    const fn direction(self) -> Option<Direction> {
        match () {
            () if self.rising > 9 * self.falling => Some(Direction::Rising),
            () if self.falling > 9 * self.rising => Some(Direction::Falling),
            () => None,
        }
    }
}

/// The order of the times in a table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Oldest first.
    Rising,
    /// Newest first.
    Falling,
}

const BOTH: usize = 2;

impl Column {
    /// Adds a value.
    pub fn learn(&mut self, value: Value<'_>, line: u64) {
        if value.is_empty() {
            return;
        }
        self.values += 1;
        let text = value.text().trim();
        let mut is_number = false;
        let mut is_time = false;
        match value {
            Value::Boolean(_) => self.booleans += 1,
            Value::Array(_) => self.arrays += 1,
            Value::Object(_) => self.objects += 1,
            Value::Number(number) => {
                is_number = true;
                let whole = u64::from(!number.contains(['.', 'e', 'E']));
                for seen in &mut self.numbers {
                    seen.all += 1;
                    seen.whole += whole;
                }
            }
            Value::Text(_) => {
                if let Some(at) = json_moment(text) {
                    is_time = true;
                    for seen in &mut self.times {
                        seen.all += 1;
                        seen.days += u64::from(matches!(at, Moment::Day(_)));
                    }
                }
            }
            Value::Cell(_) => {
                self.booleans += u64::from(boolean(text).is_some());
                is_number = self.learn_number(text);
                is_time = self.learn_time(text);
            }
        }
        if !is_number {
            self.odd_number.get_or_insert(line);
        }
        if !is_time {
            self.odd_time.get_or_insert(line);
        }
        self.has_prose |= text.contains(char::is_whitespace);
        self.is_long |= text.contains('\n') || text.chars().nth(SHORT).is_some();
    }

    fn learn_number(&mut self, text: &str) -> bool {
        let mut is_foreign = false;
        let readings = [Decimal::Point, Decimal::Comma].map(|decimal| {
            let (number, currency) = cell::money(text, decimal)?;
            let is_own = *self.currency.get_or_insert(currency) == currency;
            is_foreign |= !is_own;
            is_own.then_some(number)
        });
        self.foreign += u64::from(is_foreign);
        for (at, reading) in readings.iter().enumerate() {
            let Some(number) = reading else { continue };
            let seen = &mut self.numbers[at];
            seen.all += 1;
            seen.whole += u64::from(is_whole(number));
            seen.only += u64::from(readings[1 - at].is_none());
        }
        if let [Some(number), Some(other)] = &readings
            && number == other
        {
            self.numbers[BOTH].all += 1;
            self.numbers[BOTH].whole += u64::from(is_whole(number));
        }
        readings.iter().any(Option::is_some)
    }

    fn learn_time(&mut self, text: &str) -> bool {
        let orders = [DateOrder::DayMonthYear, DateOrder::MonthDayYear];
        let readings = orders.map(|order| cell::moment(text, order));
        for (at, reading) in readings.iter().enumerate() {
            let Some(moment) = reading else { continue };
            let seen = &mut self.times[at];
            seen.all += 1;
            seen.days += u64::from(matches!(moment, Moment::Day(_)));
            seen.only += u64::from(readings[1 - at].is_none());
            seen.walk.step(moment.order());
        }
        if let [Some(moment), Some(other)] = &readings {
            self.undecided += u64::from(moment != other);
        }
        if let Some(moment) = cell::moment(text, DateOrder::YearMonthDay) {
            self.times[BOTH].all += 1;
            self.times[BOTH].days += u64::from(matches!(moment, Moment::Day(_)));
        }
        readings.iter().any(Option::is_some)
    }

    /// Begins a new file: its first time does not follow the last one of the file before.
    pub const fn next_file(&mut self) {
        self.times[0].walk.last = None;
        self.times[1].walk.last = None;
    }

    /// Whether some of it is more than text.
    pub fn is_typed(&self) -> bool {
        let numbers = self.numbers.iter().any(|seen| seen.all > 0);
        numbers
            || self.times.iter().any(|seen| seen.all > 0)
            || self.booleans + self.arrays + self.objects > 0
    }

    fn add(&mut self, other: &Self) {
        self.values += other.values;
        self.booleans += other.booleans;
        self.arrays += other.arrays;
        self.objects += other.objects;
        for (mine, theirs) in self.numbers.iter_mut().zip(&other.numbers) {
            mine.all += theirs.all;
            mine.whole += theirs.whole;
            mine.only += theirs.only;
        }
        for (mine, theirs) in self.times.iter_mut().zip(&other.times) {
            mine.all += theirs.all;
            mine.days += theirs.days;
            mine.only += theirs.only;
            mine.walk.rising += theirs.walk.rising;
            mine.walk.falling += theirs.walk.falling;
        }
        self.undecided += other.undecided;
        self.currency = self.currency.or(other.currency);
        self.foreign += other.foreign;
        self.has_prose |= other.has_prose;
        self.is_long |= other.is_long;
        self.odd_number = self.odd_number.or(other.odd_number);
        self.odd_time = self.odd_time.or(other.odd_time);
    }

    /// Whether it has a date whose order matters; there are fewer of those if the year must come first.
    fn is_ordered(&self) -> bool {
        let [day_first, month_first, year_first] = self.times;
        day_first.all.max(month_first.all) > year_first.all
    }

    const fn is_most(&self, fitting: u64) -> bool {
        fitting > 0 && fitting.saturating_mul(100) >= self.values.saturating_mul(MOST)
    }

    /// How many of its values a field of this kind can hold.
    fn fitting(&self, kind: Kind, reading: Reading) -> u64 {
        match kind {
            Kind::Boolean => self.booleans,
            Kind::Integer => self.numbers[reading.number_at()].whole,
            Kind::Number => self.numbers[reading.number_at()].all,
            Kind::Date => self.times[reading.time_at()].days,
            Kind::Timestamp => self.times[reading.time_at()].all,
            Kind::Array => self.arrays,
            Kind::Object => self.objects,
            Kind::String | Kind::Text | Kind::Person | Kind::Blob => self.values,
        }
    }

    /// The kind of its values.
    fn kind(&self, reading: Reading) -> Kind {
        let numbers = self.numbers[reading.number_at()];
        let times = self.times[reading.time_at()];
        if self.is_most(self.booleans) {
            Kind::Boolean
        } else if self.is_most(numbers.all) {
            if numbers.whole == numbers.all { Kind::Integer } else { Kind::Number }
        } else if self.is_most(times.all) {
            if times.days == times.all { Kind::Date } else { Kind::Timestamp }
        } else if self.is_most(self.arrays) {
            Kind::Array
        } else if self.is_most(self.objects) {
            Kind::Object
        } else if self.has_prose {
            Kind::Text
        } else {
            Kind::String
        }
    }

    const fn direction(&self, reading: Reading) -> Option<Direction> {
        // If the year comes first, both orders agree.
        let at = if matches!(reading.order, DateOrder::MonthDayYear) { 1 } else { 0 };
        self.times[at].walk.direction()
    }

    const fn has_decimals(&self, reading: Reading) -> bool {
        let numbers = self.numbers[reading.number_at()];
        numbers.all > numbers.whole
    }

    /// The decimal mark that its own values prove.
    fn decimal(&self) -> Option<Decimal> {
        proven(self.numbers[0].only, self.numbers[1].only)
            .map(|is_first| if is_first { Decimal::Point } else { Decimal::Comma })
    }
}

/// Which of two has nearly all the proof; `true` for the first.
pub fn proven(first: u64, second: u64) -> Option<bool> {
    let all = first + second;
    match () {
        () if all == 0 => None,
        () if first * 100 >= all * MOST => Some(true),
        () if second * 100 >= all * MOST => Some(false),
        () => None,
    }
}

fn is_whole(number: &str) -> bool {
    !number.contains(['.', 'e'])
}

fn boolean(text: &str) -> Option<&'static str> {
    match () {
        () if text.eq_ignore_ascii_case("true") => Some("true"),
        () if text.eq_ignore_ascii_case("false") => Some("false"),
        () => None,
    }
}

/// A time in a string of JSON, where programs write the year first.
fn json_moment(text: &str) -> Option<Moment> {
    let is_year_first = text.len() >= 10 && text.as_bytes()[..4].iter().all(u8::is_ascii_digit);
    (is_year_first && text.as_bytes()[4] == b'-')
        .then(|| cell::moment(text, DateOrder::YearMonthDay))
        .flatten()
}

/// How to read the texts of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The decimal mark; `None` reads only what is the same with both.
    decimal: Option<Decimal>,
    /// The currency of each number.
    currency: Currency,
    order: DateOrder,
}

impl Reading {
    const fn number_at(self) -> usize {
        match self.decimal {
            Some(Decimal::Point) => 0,
            Some(Decimal::Comma) => 1,
            None => BOTH,
        }
    }

    const fn time_at(self) -> usize {
        match self.order {
            DateOrder::DayMonthYear => 0,
            DateOrder::MonthDayYear => 1,
            DateOrder::YearMonthDay => 2,
        }
    }

    fn number(self, text: &str) -> Option<String> {
        let read = |decimal| {
            let (number, currency) = cell::money(text, decimal)?;
            (currency == self.currency).then_some(number)
        };
        let Some(decimal) = self.decimal else {
            let number = read(Decimal::Point)?;
            return (read(Decimal::Comma)? == number).then_some(number);
        };
        read(decimal)
    }
}

/// What was found in the columns of a stream.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    names: Vec<String>,
    seen: HashMap<String, Column>,
    /// Values in columns beyond the limit.
    left_out: u64,
}

/// The longest name of a column, in bytes.
const LONGEST_NAME: usize = 1024;
/// The most columns; nobody reads a table with more.
pub const MOST_COLUMNS: usize = 4096;

impl Columns {
    /// The column with this name; `None` if there are too many.
    pub fn column(&mut self, name: &str) -> Option<&mut Column> {
        if !self.seen.contains_key(name) {
            if self.names.len() == MOST_COLUMNS || name.len() > LONGEST_NAME {
                self.left_out += 1;
                return None;
            }
            self.names.push(name.to_owned());
        }
        Some(self.seen.entry(name.to_owned()).or_default())
    }

    /// Begins a new file.
    pub fn next_file(&mut self) {
        self.seen.values_mut().for_each(Column::next_file);
    }

    /// Adds what was found in other columns.
    pub fn add(&mut self, others: Self) {
        for name in others.names {
            if let (Some(theirs), Some(mine)) = (others.seen.get(&name), self.column(&name)) {
                mine.add(theirs);
            }
        }
    }

    fn in_order(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.names.iter().filter_map(|name| self.seen.get(name).map(|column| (name.as_str(), column)))
    }

    /// The order of dates: given by the person, proven by a day beyond 12, or by rows that are sorted in
    /// only one order. `None` if there are no dates whose order matters.
    ///
    /// # Errors
    /// [`Refused::Undecided`] if they can be read in two ways.
    pub fn order(&self, ask: &Ask, known: Option<&Stream>) -> Result<Option<DateOrder>, Refused> {
        if ask.date_order.is_some() {
            return Ok(ask.date_order);
        }
        let is_text = |name: &str| {
            known
                .and_then(|known| known.field(name))
                .is_some_and(|field| !matches!(field.kind, Kind::Date | Kind::Timestamp))
        };
        let dates: Vec<(&str, &Column)> = self
            .in_order()
            .filter(|(name, column)| {
                let [day_first, month_first, _] = column.times;
                column.is_most(day_first.all.max(month_first.all)) && column.is_ordered() && !is_text(name)
            })
            .collect();
        if dates.is_empty() {
            return Ok(None);
        }
        let sum = |at: usize| dates.iter().map(|(_, column)| column.times[at].only).sum();
        if let Some(is_first) = proven(sum(0), sum(1)) {
            return Ok(Some(order_of(is_first)));
        }
        let is_monotonous = |at: usize| dates.iter().any(|(_, column)| column.times[at].walk.is_monotonous());
        let is_broken = |at: usize| dates.iter().all(|(_, column)| !column.times[at].walk.is_monotonous());
        if sum(0) + sum(1) == 0 {
            for at in [0, 1] {
                if is_monotonous(at) && is_broken(1 - at) {
                    return Ok(Some(order_of(at == 0)));
                }
            }
        }
        let Some((name, _)) = dates.iter().find(|(_, column)| column.undecided > 0) else {
            return Ok(Some(DateOrder::DayMonthYear));
        };
        Err(Refused::Undecided {
            question: format!("What is the order of day, month and year in the column `{name}`?"),
            option: "--date-order",
            choices: ["dmy", "mdy", "ymd"].map(str::to_owned).to_vec(),
        })
    }
}

const fn order_of(is_day_first: bool) -> DateOrder {
    if is_day_first { DateOrder::DayMonthYear } else { DateOrder::MonthDayYear }
}

/// Where the values of a file's column go in records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The field.
    pub field: String,
    kind: Kind,
    reading: Reading,
    /// The extra field for values that do not fit.
    beside: Option<String>,
    /// The order of its times.
    direction: Option<Direction>,
}

/// The declaration for the columns of a stream.
#[derive(Debug, Clone)]
pub struct Declared {
    /// The stream.
    pub stream: Stream,
    /// Where each column's values go, by its name.
    pub places: BTreeMap<String, Place>,
}

/// The name of the field with the key.
pub const KEY: &str = "id";

/// Declares a stream so that existing records still fit, and so does everything that was found.
///
/// `key` are the fields that make up the key; they are strings, and not columns.
///
/// # Errors
/// [`Refused::Undecided`] if dates can be read in two ways.
pub fn declare(
    name: &str,
    key: &[String],
    columns: &Columns,
    known: Option<&Stream>,
    ask: &Ask,
    notes: &mut Vec<String>,
) -> Result<Declared, Refused> {
    let order = columns.order(ask, known)?;
    let sum = |at: usize| columns.in_order().map(|(_, column)| column.numbers[at].only).sum();
    let decimal =
        proven(sum(0), sum(1)).map(|is_first| if is_first { Decimal::Point } else { Decimal::Comma });
    let mut stream = known.cloned().unwrap_or_else(|| Stream {
        name: name.to_owned(),
        primary_key: key.to_vec(),
        cursor_field: None,
        consent_time_field: None,
        fields: key.iter().map(|name| key_field(name)).collect(),
        views: Vec::new(),
        relations: Vec::new(),
        is_extended: true,
    });
    let mut taken: BTreeSet<String> = columns.names.iter().cloned().collect();
    let mut places = BTreeMap::new();
    let (mut has_zoneless, mut has_ordered) = (false, false);
    for (name, column) in columns.in_order() {
        if column.values == 0 || stream.primary_key.iter().any(|part| part == name) {
            continue;
        }
        let reading = Reading {
            decimal: column.decimal().or(decimal),
            currency: column.currency.unwrap_or_default(),
            order: order.unwrap_or(DateOrder::YearMonthDay),
        };
        let seen = column.kind(reading);
        let amounts = amounts_field(name, reading, seen, &stream, &taken);
        let (column_name, name) = (name, amounts.as_deref().unwrap_or(name));
        if amounts.is_some() {
            taken.insert(name.to_owned());
            notes.push(format!(
                "The amounts of `{column_name}` are in {}: they go into `{name}`",
                reading.currency
            ));
        }
        let (kind, is_new) = match stream.field(name).map(|field| field.kind) {
            None => (seen, true),
            Some(Kind::Integer) if column.has_decimals(reading) => {
                notes.push(format!("`{name}` only had whole numbers; it now has decimals too"));
                (Kind::Number, false)
            }
            Some(kind) => (kind, false),
        };
        if is_new {
            if known.is_some() {
                notes.push(format!("`{name}` is a new field of this table"));
            }
            stream.fields.push(field(name, kind, column));
        } else if let Some(field) = stream.fields.iter_mut().find(|field| field.name == name) {
            field.kind = kind;
            if kind == Kind::Text && column.is_long {
                field.role.get_or_insert_with(|| PROSE.to_owned());
            }
        }
        has_zoneless |= kind == Kind::Timestamp && column.times[reading.time_at()].all > 0;
        has_ordered |= matches!(kind, Kind::Date | Kind::Timestamp) && column.undecided > 0;
        let odd = column.values - column.fitting(kind, reading).min(column.values);
        let mut beside = None;
        if odd > 0 {
            let other = beside_of(column_name, &taken, &stream);
            taken.insert(other.clone());
            notes.push(column.why_beside(column_name, kind, reading, &other));
            if stream.field(&other).is_none() {
                stream.fields.push(field(&other, Kind::Text, &Column { is_long: true, ..Column::default() }));
            }
            beside = Some(other);
        } else if is_new && matches!(kind, Kind::Text | Kind::String) {
            notes.extend(column.why_text(column_name, reading));
        }
        let direction = if kind == Kind::Timestamp { column.direction(reading) } else { None };
        let place = Place { field: name.to_owned(), kind, reading, beside, direction };
        places.insert(column_name.to_owned(), place);
    }
    if columns.left_out > 0 {
        notes.push(format!(
            "{} values are left out: there are more than {MOST_COLUMNS} columns, or their names are too long",
            columns.left_out
        ));
    }
    if let (Some(order), true) = (order, has_ordered) {
        notes.push(format!("Dates are read as {}", order_in_words(order)));
    }
    if has_zoneless {
        let zone = zone_in_words(&ask.zone);
        notes.push(format!("Times without a time zone are read in {zone}"));
    }
    match known {
        None => give_roles(&mut stream),
        Some(known) => grow(&mut stream, known, &places, notes),
    }
    // An earlier release declared less for a known table.
    stream.is_extended = true;
    stream.fields.iter_mut().for_each(|field| field.sort = has_order(field.kind));
    if stream.consent_time_field.is_none() {
        notes.extend(why_undated(columns, order));
    }
    Ok(Declared { stream, places })
}

/// Why the records of a table have no time: a column that should be one and cannot be read as one, and
/// where it first fails.
fn why_undated(columns: &Columns, order: Option<DateOrder>) -> Vec<String> {
    const CONSEQUENCE: &str = "a grant that is limited in time covers none of these records";
    // If no order is known, the one in which most values can be read.
    let orders = order
        .map_or(vec![DateOrder::YearMonthDay, DateOrder::MonthDayYear, DateOrder::DayMonthYear], |order| {
            vec![order]
        });
    let read = |column: &Column| {
        let all = |order: &DateOrder| {
            column.times[Reading { decimal: None, currency: "", order: *order }.time_at()].all
        };
        orders.iter().map(all).max().unwrap_or_default()
    };
    let should_be = |(name, column): &(&str, &Column)| {
        column.values > 0 && (read(column) > 0 || name.split('_').any(|word| DATED.contains(&word)))
    };
    let notes: Vec<String> = columns
        .in_order()
        .filter(should_be)
        .map(|(name, column)| {
            format!(
                "`{name}` is not a date or time here: {} of its {} values cannot be read as one{}",
                column.values - read(column).min(column.values),
                column.values,
                column.first_odd(Kind::Timestamp)
            )
        })
        .take(MOST_TOLD)
        .collect();
    if notes.is_empty() {
        return vec![format!("No column is a date or a time: {CONSEQUENCE}")];
    }
    notes.into_iter().map(|note| format!("{note}; {CONSEQUENCE}")).collect()
}

/// Adapts an existing stream to a later file, which may lack columns that others have.
fn grow(stream: &mut Stream, known: &Stream, places: &BTreeMap<String, Place>, notes: &mut Vec<String>) {
    let is_key = |name: &String| known.primary_key.contains(name);
    let is_there = |name: &str| places.values().any(|place| place.field == name);
    let missing: Vec<&str> = known
        .fields
        .iter()
        .filter(|field| !is_key(&field.name) && !field.name.ends_with("_text") && !is_there(&field.name))
        .map(|field| field.name.as_str())
        .collect();
    if !missing.is_empty() {
        notes.push(format!("Not in this file: `{}`", missing.join("`, `")));
    }
    for field in stream.fields.iter_mut().filter(|field| !is_key(&field.name)) {
        field.required = false;
        field.nullable = true;
    }
}

impl Column {
    /// The place of the first value of another kind, for a note.
    fn first_odd(&self, kind: Kind) -> String {
        let line = match kind {
            Kind::Integer | Kind::Number => self.odd_number,
            Kind::Date | Kind::Timestamp => self.odd_time,
            _ => None,
        };
        line.map_or_else(String::new, |line| format!(" (the first in line {line})"))
    }

    /// What does not fit in a column, and where it is kept.
    fn why_beside(&self, name: &str, kind: Kind, reading: Reading, other: &str) -> String {
        let odd = self.values - self.fitting(kind, reading).min(self.values);
        let is_money = matches!(kind, Kind::Integer | Kind::Number) && self.foreign > 0;
        let what = match (is_money, reading.currency) {
            (false, _) => plural(kind).to_owned(),
            (true, "") => "numbers without a currency".to_owned(),
            (true, currency) => format!("numbers in {currency}"),
        };
        let (values, first) = (self.values, self.first_odd(kind));
        format!(
            "{odd} of {values} values of `{name}` are not {what}{first}: they are kept as text in `{other}`"
        )
    }

    /// Why a column is text although much of it is something else.
    fn why_text(&self, name: &str, reading: Reading) -> Option<String> {
        let (numbers, times) = (self.numbers[reading.number_at()].all, self.times[reading.time_at()].all);
        let either = self.numbers[0].all.max(self.numbers[1].all);
        if self.is_most(either) && either > numbers {
            return Some(format!(
                "`{name}` is kept as text: its commas and points may separate thousands or decimals"
            ));
        }
        if self.foreign > 0 && (numbers + self.foreign) * 2 > self.values {
            return Some(format!(
                "`{name}` is kept as text: its amounts are not all in one currency{}",
                self.first_odd(Kind::Number)
            ));
        }
        let (fitting, kind) = match () {
            () if numbers * 2 > self.values => (numbers, Kind::Number),
            () if times * 2 > self.values => (times, Kind::Date),
            () if self.booleans * 2 > self.values => (self.booleans, Kind::Boolean),
            () if numbers > 0 && self.numbers[0].all == self.numbers[1].all && self.has_json() => {
                (numbers, Kind::Number)
            }
            () => return None,
        };
        Some(format!(
            "`{name}` is kept as text: only {fitting} of {} values are {}{}",
            self.values,
            plural(kind),
            self.first_odd(kind)
        ))
    }

    /// Whether it has a number of JSON, which turns into text here.
    const fn has_json(&self) -> bool {
        self.numbers[BOTH].all > 0 && self.numbers[BOTH].only == 0 && self.values > self.numbers[BOTH].all
    }
}

/// The field for amounts in a currency, with the currency in its name. A column whose name has it already
/// keeps its name.
fn amounts_field(
    name: &str,
    reading: Reading,
    seen: Kind,
    stream: &Stream,
    taken: &BTreeSet<String>,
) -> Option<String> {
    if reading.currency.is_empty() {
        return None;
    }
    let called = cell::currency_name(reading.currency);
    let is_number = |kind: Kind| matches!(kind, Kind::Integer | Kind::Number);
    let wanted =
        if name.ends_with(&format!("_{called}")) { name.to_owned() } else { format!("{name}_{called}") };
    let is_known = stream.field(&wanted).is_some_and(|field| is_number(field.kind));
    if !is_number(seen) && !is_known {
        return None;
    }
    Some(free_name(&wanted, |other| {
        other == name
            || !taken.contains(other) && stream.field(other).is_none_or(|field| is_number(field.kind))
    }))
}

fn beside_of(name: &str, taken: &BTreeSet<String>, stream: &Stream) -> String {
    free_name(&format!("{name}_text"), |other| {
        !taken.contains(other)
            && stream.field(other).is_none_or(|field| matches!(field.kind, Kind::Text | Kind::String))
    })
}

/// `wanted`, or with the first number after it that makes it free.
pub fn free_name(wanted: &str, is_free: impl Fn(&str) -> bool) -> String {
    let mut name = wanted.to_owned();
    let mut number = 2_u64;
    while !is_free(&name) {
        name = format!("{wanted}_{number}");
        number += 1;
    }
    name
}

fn key_field(name: &str) -> Field {
    Field {
        name: name.to_owned(),
        kind: Kind::String,
        nullable: false,
        required: true,
        role: None,
        lexical: false,
        exact: true,
        range: false,
        sort: false,
        spans: false,
        copy_of: None,
        aggregations: Vec::new(),
    }
}

/// Whether its values are ordered, so that they can be sorted and queried by range.
const fn has_order(kind: Kind) -> bool {
    matches!(kind, Kind::Timestamp | Kind::Date | Kind::Integer | Kind::Number)
}

fn field(name: &str, kind: Kind, column: &Column) -> Field {
    let aggregations = match kind {
        Kind::Boolean => vec![Aggregation::GroupBy],
        Kind::String | Kind::Text if !column.is_long => {
            vec![Aggregation::GroupBy, Aggregation::CountDistinct]
        }
        Kind::Timestamp | Kind::Date => vec![Aggregation::GroupByTime, Aggregation::Min, Aggregation::Max],
        Kind::Integer | Kind::Number => vec![Aggregation::Sum, Aggregation::Min, Aggregation::Max],
        _ => Vec::new(),
    };
    Field {
        name: name.to_owned(),
        kind,
        nullable: true,
        required: false,
        role: (kind == Kind::Text && column.is_long).then(|| PROSE.to_owned()),
        lexical: matches!(kind, Kind::Text | Kind::String),
        exact: kind.is_scalar(),
        range: has_order(kind),
        sort: has_order(kind),
        spans: false,
        copy_of: None,
        aggregations,
    }
}

/// Chooses the time and the title of a new stream: the first instant, else the first day; a column with a
/// title's name, else the first text.
fn give_roles(stream: &mut Stream) {
    let of_kind = |kind: Kind| stream.fields.iter().position(|field| field.kind == kind);
    let time = of_kind(Kind::Timestamp).or_else(|| of_kind(Kind::Date));
    let is_free = |field: &Field| {
        matches!(field.kind, Kind::Text | Kind::String)
            && !stream.primary_key.contains(&field.name)
            && !field.name.ends_with("_text")
    };
    let named = |title: &&str| {
        stream.fields.iter().position(|field| is_free(field) && field.name.to_lowercase() == **title)
    };
    let title = TITLES
        .iter()
        .find_map(named)
        .or_else(|| {
            stream
                .fields
                .iter()
                .position(|field| is_free(field) && field.kind == Kind::Text && field.role.is_none())
        })
        .or_else(|| stream.fields.iter().position(is_free));
    if let Some(field) = time.and_then(|at| stream.fields.get_mut(at)) {
        field.role = Some("event-time".to_owned());
        let name = field.name.clone();
        stream.cursor_field = Some(name.clone());
        stream.consent_time_field = Some(name);
    }
    if let Some(field) = title.and_then(|at| stream.fields.get_mut(at)) {
        field.role = Some("primary-title".to_owned());
    }
}

impl Place {
    /// The field and the JSON for a value; `None` if there is no value.
    ///
    /// # Errors
    /// If it fits nowhere, because the file changed after it was planned.
    pub fn put(
        &self,
        value: Value<'_>,
        zone: &TimeZone,
        is_late: bool,
    ) -> Result<Option<(&str, String)>, Bad> {
        if value.is_empty() {
            return Ok(None);
        }
        if let Some(json) = self.fitting(value, zone, is_late) {
            return Ok(Some((&self.field, json)));
        }
        let beside = self.beside.as_deref().ok_or(Bad("changed while it was read"))?;
        Ok(Some((beside, string(value.text()))))
    }

    fn fitting(&self, value: Value<'_>, zone: &TimeZone, is_late: bool) -> Option<String> {
        let text = value.text();
        match (self.kind, value) {
            (Kind::String | Kind::Text | Kind::Person, _) => Some(string(text)),
            (Kind::Boolean, Value::Boolean(_))
            | (Kind::Number, Value::Number(_))
            | (Kind::Array, Value::Array(_))
            | (Kind::Object, Value::Object(_)) => Some(text.to_owned()),
            (Kind::Boolean, Value::Cell(_)) => boolean(text.trim()).map(str::to_owned),
            (Kind::Integer, Value::Number(_)) => (!text.contains(['.', 'e', 'E'])).then(|| text.to_owned()),
            (Kind::Number, Value::Cell(_)) => self.reading.number(text.trim()),
            (Kind::Integer, Value::Cell(_)) => {
                self.reading.number(text.trim()).filter(|number| is_whole(number))
            }
            (kind @ (Kind::Date | Kind::Timestamp), Value::Cell(_) | Value::Text(_)) => {
                let trimmed = text.trim();
                let moment = match value {
                    Value::Text(_) => json_moment(trimmed),
                    _ => cell::moment(trimmed, self.reading.order),
                }?;
                match (kind, moment) {
                    (Kind::Date, Moment::Day(day)) => Some(string(&day.to_string())),
                    (Kind::Date, _) => None,
                    (_, Moment::Instant(_))
                        if trimmed.contains('T') && trimmed.parse::<jiff::Timestamp>().is_ok() =>
                    {
                        Some(string(trimmed))
                    }
                    (_, moment) => moment.instant(zone, is_late).map(|at| string(&at)),
                }
            }
            _ => None,
        }
    }
}

/// Distinguishes the two occurrences of an hour by the order of the rows (O4.12).
#[derive(Debug, Default)]
pub struct Overlap {
    last: Option<jiff::civil::DateTime>,
    is_late: bool,
}

impl Overlap {
    /// Whether the next row is in the second hour.
    pub fn is_late(&mut self, place: &Place, cell: &str, zone: &TimeZone) -> bool {
        let Some(direction) = place.direction else { return false };
        let Some(at) = cell::moment(cell.trim(), place.reading.order).and_then(|moment| moment.twice(zone))
        else {
            self.last = None;
            return false;
        };
        let is_falling = direction == Direction::Falling;
        match self.last.replace(at) {
            Some(last) if last.date() == at.date() => {
                let is_back = if is_falling { at > last } else { at < last };
                if is_back {
                    self.is_late = !is_falling;
                }
            }
            // The first row in that hour: the first occurrence if the oldest row comes first.
            _ => self.is_late = is_falling,
        }
        self.is_late
    }
}

/// `text` as a JSON string.
pub fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A JSON object of fields in declared order.
pub fn object<S: BuildHasher>(stream: &Stream, mut values: HashMap<&str, String, S>) -> String {
    let mut out = String::from("{");
    for field in &stream.fields {
        let Some(json) = values.remove(field.name.as_str()) else { continue };
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&string(&field.name));
        out.push(':');
        out.push_str(&json);
    }
    out.push('}');
    out
}

const fn plural(kind: Kind) -> &'static str {
    match kind {
        Kind::String | Kind::Text => "texts",
        Kind::Person => "names",
        Kind::Timestamp => "times",
        Kind::Date => "dates",
        Kind::Integer => "whole numbers",
        Kind::Number => "numbers",
        Kind::Boolean => "true or false",
        Kind::Array => "lists",
        Kind::Object => "objects",
        Kind::Blob => "attachments",
    }
}

/// The name of an order for people.
pub const fn order_in_words(order: DateOrder) -> &'static str {
    match order {
        DateOrder::DayMonthYear => "day, month, year",
        DateOrder::MonthDayYear => "month, day, year",
        DateOrder::YearMonthDay => "year, month, day",
    }
}

/// The name of a file without its folder, its ending, and what a second download adds: `Work` from
/// `a/Work (2).ics`.
pub fn file_stem(label: &str) -> &str {
    let file = label.rsplit(['/', '\\']).next().unwrap_or(label);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem).trim_end();
    match stem.strip_suffix(')').and_then(|stem| stem.rsplit_once('(')) {
        Some((before, copy)) if !copy.is_empty() && copy.bytes().all(|byte| byte.is_ascii_digit()) => {
            before.trim_end()
        }
        _ => stem,
    }
}

/// The name of the table in a file, from the file's name, without what a second download or another day
/// adds.
pub fn table_name(label: &str) -> String {
    let file = label.rsplit(['/', '\\']).next().unwrap_or(label).to_lowercase();
    let stem = file.split_once('.').map_or(file.as_str(), |(stem, _)| stem);
    let stem = if stem.is_empty() { file.trim_start_matches('.') } else { stem };
    let stem = stem.trim_end();
    let stem = match stem.strip_suffix(')').and_then(|stem| stem.rsplit_once('(')) {
        Some((before, copy)) if copy.bytes().all(|byte| byte.is_ascii_digit()) => before,
        _ => stem,
    };
    let words: Vec<&str> =
        stem.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    // From the first year on, if only numbers follow: 2026-01-31.
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let is_year = |word: &str| {
        is_number(word)
            && (word.len() == 4 || word.len() == 8)
            && (word.starts_with("19") || word.starts_with("20"))
    };
    let end = (1..words.len())
        .find(|at| is_year(words[*at]) && words[*at..].iter().all(|word| is_number(word)))
        .unwrap_or(words.len());
    let mut name = String::new();
    for word in &words[..end] {
        let word: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
        if !word.is_empty() && name.len() + word.len() < 40 {
            if !name.is_empty() {
                name.push('-');
            }
            name.push_str(&word);
        }
    }
    if name.is_empty() { super::digest::name([words.join(" ").as_bytes()])[..8].to_owned() } else { name }
}

/// The most tables whose files have the same name.
const MOST_OF_A_NAME: usize = 100;

/// The names of a file's columns, by stream.
#[derive(Debug, Clone, Default)]
pub struct Shape(pub BTreeMap<String, BTreeSet<String>>);

impl Shape {
    /// Whether two files may belong to one table: streams of one name have nearly the same columns.
    fn is_like(&self, other: &Self) -> bool {
        self.0
            .iter()
            .all(|(stream, columns)| other.0.get(stream).is_none_or(|others| are_alike(columns, others)))
    }

    /// Adds the columns of another file.
    fn add(&mut self, other: &Self) {
        for (stream, columns) in &other.0 {
            self.0.entry(stream.clone()).or_default().extend(columns.iter().cloned());
        }
    }

    fn is_of(&self, known: &Connector) -> bool {
        self.0.iter().all(|(name, columns)| {
            let Some(stream) = known.stream(name) else { return true };
            // Rows without names have a key too, which is not a column.
            let is_column =
                |field: &&Field| !stream.primary_key.contains(&field.name) || columns.contains(&field.name);
            let fields = stream.fields.iter().filter(is_column).map(|field| field.name.clone());
            are_alike(columns, &fields.collect())
        })
    }
}

/// Whether one of the two has all columns of the other, or three of four are the same. Columns without
/// names are alike if there are equally many.
fn are_alike(columns: &BTreeSet<String>, others: &BTreeSet<String>) -> bool {
    let plain = |names: &BTreeSet<String>| -> BTreeSet<String> {
        names.iter().map(|name| plain_name(name).to_owned()).collect()
    };
    let (columns, others) = (plain(columns), plain(others));
    let is_named = |names: &BTreeSet<String>| names.iter().any(|name| !name.starts_with("column_"));
    let shared = columns.intersection(&others).count();
    let (least, most) = (columns.len().min(others.len()), columns.len().max(others.len()));
    if !is_named(&columns) && !is_named(&others) {
        return columns == others;
    }
    shared == least || shared * 4 >= most * 3
}

/// The column of a field: without the part of the name for texts or for a currency.
fn plain_name(name: &str) -> &str {
    let number = name.rsplit_once('_').filter(|(before, number)| {
        before.ends_with("_text") && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    let name = number.map_or(name, |(before, _)| before);
    match name.rsplit_once('_') {
        Some((before, "text")) if !before.is_empty() => plain_name(before),
        Some((before, end)) if !before.is_empty() && cell::is_currency_name(end) => before,
        _ if name == "id_column" => "id",
        _ => name,
    }
}

/// The files of a plan by table: those with the same name and nearly the same columns together, in their
/// order.
#[derive(Debug)]
pub struct Grouped<T>(BTreeMap<String, Vec<(Shape, Vec<T>)>>);

impl<T> Default for Grouped<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Grouped<T> {
    /// Adds the file that `label` names, with what its format knows about it.
    pub fn add(&mut self, label: &str, shape: Shape, file: T) {
        let of_name = self.0.entry(table_name(label)).or_default();
        match of_name.iter_mut().find(|(known, _)| shape.is_like(known)) {
            Some((known, files)) => {
                known.add(&shape);
                files.push(file);
            }
            None => of_name.push((shape, vec![file])),
        }
    }

    /// A plan for each table.
    ///
    /// # Errors
    /// The first refusal of `plan`.
    pub fn plans(
        self,
        ask: &Ask,
        mut plan: impl FnMut(&Table, Vec<T>, Vec<String>) -> Result<Plan, Refused>,
    ) -> Result<Vec<Plan>, Refused> {
        let mut plans = Vec::new();
        for (name, of_name) in self.0 {
            let mut taken = Vec::new();
            for (shape, files) in of_name {
                let mut notes = Vec::new();
                let table = Table::find(&name, &shape, ask, &mut taken, &mut notes);
                plans.push(plan(&table, files, notes)?);
            }
        }
        Ok(plans)
    }
}

/// The refusal for a file that cannot be read.
pub fn unreadable(member: &Member<'_>, error: &io::Error) -> Refused {
    Refused::Unreadable(format!("{} could not be read: {error}", member.label))
}

/// The connector of a table, and the store's version of it.
pub struct Table {
    /// Its short key.
    pub key: String,
    /// The store's version.
    pub known: Option<Arc<Connector>>,
    name: String,
}

impl Table {
    /// The table for files called `name`: one that has their columns, or a new one. `taken` are those of
    /// the same plan.
    ///
    /// Two tables with the same file name and different columns are separate: one bank's `export.csv`,
    /// and another bank's a month later. If the person named the account, that decides.
    fn find(name: &str, shape: &Shape, ask: &Ask, taken: &mut Vec<String>, notes: &mut Vec<String>) -> Self {
        let called = |number: usize| if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
        let known = |name: &str| {
            let key = format!("table-{name}");
            ask.known.iter().find(|known| known.key == key).cloned()
        };
        let is_free = |name: &String| !taken.contains(name);
        let is_theirs = ask.account.is_some();
        let candidates = || (1..=MOST_OF_A_NAME).map(called).filter(is_free);
        let joined =
            candidates().find(|name| known(name).is_some_and(|known| is_theirs || shape.is_of(&known)));
        let name_of_it = joined
            .or_else(|| candidates().find(|name| known(name).is_none()))
            .unwrap_or_else(|| called(MOST_OF_A_NAME));
        taken.push(name_of_it.clone());
        if name_of_it != name && known(&name_of_it).is_none() {
            notes.push(format!(
                "The columns differ from those of the table `{name}`, so this is a separate table, \
                 `{name_of_it}`. --account NAME joins the two."
            ));
        }
        Self { key: format!("table-{name_of_it}"), known: known(&name_of_it), name: name_of_it }
    }

    /// The name of its account, if nobody names one.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The store's version of the stream.
    pub fn known_stream(&self, name: &str) -> Option<&Stream> {
        self.known.as_ref()?.stream(name).map(Arc::as_ref)
    }

    /// The connector with these streams, and with its other streams.
    pub fn connector(&self, streams: Vec<Stream>) -> Arc<Connector> {
        let mut all = self.known.as_ref().map_or_else(Vec::new, |known| known.streams.clone());
        for stream in streams {
            match all.iter_mut().find(|known| known.name == stream.name) {
                Some(known) => *known = Arc::new(stream),
                None => all.push(Arc::new(stream)),
            }
        }
        Arc::new(Connector {
            key: self.key.clone(),
            id: declare::uri(Registry::Local, &self.key),
            name: self.name.clone(),
            streams: all,
        })
    }
}

/// Counts how often something occurred before, within limits.
#[derive(Debug, Default)]
pub struct Copies {
    seen: HashMap<u64, (u64, u32)>,
}

impl Copies {
    /// How many different items called `name` came before this one: 0 for the first, and the same number
    /// if it equals the last one.
    pub fn of(&mut self, name: u64, content: u64) -> u32 {
        if self.seen.len() >= REMEMBERED && !self.seen.contains_key(&name) {
            return 0;
        }
        let slot = self.seen.entry(name).or_insert((content, 0));
        if slot.0 != content {
            *slot = (content, slot.1.saturating_add(1));
        }
        slot.1
    }

    /// How many of these came before this one.
    pub fn before(&mut self, name: u64) -> u32 {
        if self.seen.len() >= REMEMBERED && !self.seen.contains_key(&name) {
            return 0;
        }
        let slot = self.seen.entry(name).or_insert((0, 0));
        let before = slot.1;
        slot.1 = before.saturating_add(1);
        before
    }
}

/// Whether the values of a column identify their rows: nearly all exist, and all differ.
#[derive(Debug, Default)]
pub struct Names {
    hashes: Vec<u64>,
    rows: u64,
}

impl Names {
    /// Adds the value of the next row.
    pub fn learn(&mut self, value: Option<u64>) {
        if self.hashes.len() >= REMEMBERED {
            return;
        }
        self.rows += 1;
        self.hashes.extend(value);
    }

    /// Whether they identify their rows.
    pub fn are_unique(mut self) -> bool {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.rows > 0 && (self.hashes.len() as u64).saturating_mul(100) >= self.rows.saturating_mul(MOST)
    }
}

/// A number for these bytes, the same in every run.
pub fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    u64::from_str_radix(&super::digest::name(parts)[..16], 16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tables_name_is_its_files_without_days_and_copies() {
        for (label, expected) in [
            ("Expenses.csv", "expenses"),
            ("a/b/My Bank (2).csv", "my-bank"),
            ("transactions-2026-01-31.csv", "transactions"),
            ("transactions_20260131.tsv", "transactions"),
            ("2026.csv", "2026"),
            ("table1.csv", "table1"),
            ("export.2026.csv", "export"),
            (".csv", "csv"),
        ] {
            assert_eq!(table_name(label), expected, "{label}");
        }
        assert_eq!(table_name("家計簿.csv").len(), 8);
        assert_ne!(table_name("家計簿.csv"), table_name("日記.csv"));
    }

    #[test]
    fn copies_count_what_differs() {
        let mut copies = Copies::default();
        assert_eq!([1, 1, 2, 2, 1].map(|content| copies.of(7, content)), [0, 0, 1, 1, 2]);
        assert_eq!([1, 1, 1].map(|name| copies.before(name)), [0, 1, 2]);
    }
}
