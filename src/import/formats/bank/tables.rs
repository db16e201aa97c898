//! CSV files that banks export and whose columns are listed in [`super::profiles`]. A bank's file that is not listed is read as a
//! general table ([`crate::import::formats::csv`]).

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufReader};
use std::sync::Arc;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::profiles::{PROFILES, Profile};
use super::qif::without_number;
use super::{Account, Booked, Marks, amount, join, negated, plan, words};
use crate::import::cell::{self, Decimal, Moment};
use crate::import::charset::Charset;
use crate::import::digest;
use crate::import::format::{
    Ask, Bad, DateOrder, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};
use crate::import::formats::csv::{Cells, Cutter, DELIMITERS, Rows};
use crate::import::table::{self, Columns, Copies, Value};

/// CSV files of banks.
pub struct BankCsv;

/// How many rows are searched for the header.
const MOST_ABOVE: usize = 40;
/// The most columns that a bank's table may have.
const MOST_COLUMNS: usize = 200;
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const ABOVE: &str = "above the table's header";

/// Which columns hold what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Places {
    date: Vec<usize>,
    amount: Vec<usize>,
    debit: Option<usize>,
    credit: Option<usize>,
    out_if: Option<(usize, Vec<&'static str>)>,
    fee: Option<usize>,
    currency: Option<usize>,
    name: Vec<usize>,
    payer: Option<usize>,
    memo: Vec<usize>,
    details: Vec<(&'static str, Vec<usize>)>,
    kind: Vec<usize>,
    category: Option<usize>,
    id: Option<usize>,
    account: Option<usize>,
    account_name: Option<usize>,
    pending: Option<(usize, Vec<&'static str>)>,
    failed: Option<(usize, Vec<&'static str>)>,
}

/// How a file's rows are read.
#[derive(Debug, Clone)]
struct Layout {
    charset: Charset,
    mark: usize,
    delimiter: u8,
    profile: usize,
    places: Places,
    /// How many cells the header has.
    width: usize,
    /// How many rows are above the header.
    above: usize,
    /// The account number, if it is above the header or in the file's name.
    number: String,
    order: DateOrder,
    /// The order for dates with dots.
    dotted: DateOrder,
    decimal: Decimal,
}

/// How many dates prove an order, and how many could be two different days.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    day_first: u64,
    month_first: u64,
    undecided: u64,
}

/// What the dates of a file prove.
#[derive(Debug, Clone, Copy, Default)]
struct Dates {
    dotted: Seen,
    other: Seen,
}

struct State {
    /// The layouts by the content of [`Raw::facts`].
    layouts: HashMap<String, (Layout, Cutter)>,
    /// The layout names by label.
    members: HashMap<String, String>,
}

/// What is known about a row in addition to its cells.
#[derive(Serialize, Deserialize)]
struct Facts {
    layout: String,
    is_above: bool,
}

impl Format for BankCsv {
    fn name(&self) -> &'static str {
        "bank-csv"
    }

    fn title(&self) -> &'static str {
        "a bank's CSV file"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        found(peek.head, peek.is_whole).map(|_| Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let mut notes: Vec<String> = super::order_changed(ask).into_iter().collect();
        let mut seen: Vec<(String, Layout, Marks, Dates)> = Vec::new();
        let mut dates: BTreeMap<usize, (Columns, Seen)> = BTreeMap::new();
        for member in members {
            let unreadable = |error: io::Error| table::unreadable(member, &error);
            let head = member.beginning().map_err(unreadable)?;
            let is_whole = member.size.is_some_and(|size| size == head.len() as u64);
            let Some(mut layout) = found(&head, is_whole) else {
                let why = format!("the header of {} does not match any known bank", member.label);
                return Err(Refused::Unfit { why });
            };
            if Charset::of_head(&head).is_none() {
                (layout.charset, _) =
                    Charset::of((member.open)().map_err(unreadable)?).map_err(unreadable)?;
            }
            let profile = &PROFILES[layout.profile];
            if layout.places.account.is_none() && layout.number.is_empty() {
                layout.number = number_of_file(member.label, profile.bank);
                if layout.number.is_empty() {
                    notes.push(format!(
                        "{} does not say which account at {} it belongs to: two accounts would be merged. --account keeps them apart.",
                        member.label, profile.bank
                    ));
                }
            }
            let (columns, all) = dates.entry(layout.profile).or_default();
            columns.next_file();
            let (marks, own) = look(member, &layout, columns).map_err(unreadable)?;
            all.add(own.other);
            seen.push((member.label.to_owned(), layout, marks, own));
        }
        let mut state = State { layouts: HashMap::new(), members: HashMap::new() };
        for (label, mut layout, marks, own) in seen {
            let known = PROFILES[layout.profile].order;
            let Some((columns, all)) = dates.get(&layout.profile) else { continue };
            layout.order = order(&label, own.other, *all, known, columns, ask)?;
            layout.dotted = typed(ask).or_else(|| own.dotted.proven()).unwrap_or(DateOrder::DayMonthYear);
            for (seen, order) in [(own.other, layout.order), (own.dotted, layout.dotted)] {
                if seen.undecided > 0 && known != Some(order) {
                    notes.push(format!("The dates in {label} are read as {}", table::order_in_words(order)));
                }
            }
            if own.other.is_open() && known == Some(layout.order) && typed(ask).is_none() {
                notes.push(format!(
                    "The dates in {label} could be read in two ways. They are read as {}, as {} writes them. --date-order names \
                     another order.",
                    table::order_in_words(layout.order),
                    PROFILES[layout.profile].bank
                ));
            }
            layout.decimal = marks.decimal(PROFILES[layout.profile].decimal);
            let Layout { profile, places, number, order, dotted, decimal, delimiter, charset, .. } = &layout;
            // The same row under other columns, or read in another way, is another item.
            let read_as = format!(
                "{profile} {places:?} {number} {order:?} {dotted:?} {decimal:?} {delimiter} {charset:?}"
            );
            let facts = digest::name([read_as.as_bytes()]);
            let cutter = Cutter::new(layout.charset, layout.delimiter);
            state.members.insert(label, facts.clone());
            state.layouts.insert(facts, (layout, cutter));
        }
        Ok(vec![plan(members, ask, notes, Arc::new(state))?])
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let state = plan.state.downcast_ref::<State>();
        let known = state.and_then(|state| {
            let name = state.members.get(unit.label)?;
            Some((name, &state.layouts.get(name)?.0))
        });
        let Some((name, layout)) = known else {
            return Err(io::Error::other("this file did not exist when the import was planned"));
        };
        let facts = [false, true].map(|is_above| {
            let facts = Facts { layout: name.clone(), is_above };
            serde_json::to_string(&facts).unwrap_or_default()
        });
        // Reads from the start even when resuming, because equal rows are counted from the first one.
        let mut rows = Rows::new(&mut unit.bytes, layout.charset, layout.mark, layout.delimiter)?;
        rows.skip_separator_line()?;
        let mut copies = Copies::default();
        let mut end = 0;
        let mut number = 0;
        while let Some(row) = rows.next()? {
            number += 1;
            let is_above = number <= layout.above;
            if number == layout.above + 1 {
                // From here on, the number of cells in a row reveals a quote that was not closed.
                rows.columns = Some(layout.width);
                continue;
            }
            let booked = row.cells.as_ref().ok().filter(|_| !is_above).map(|cells| layout.read(cells));
            let copy = match &booked {
                Some(Ok(Row::Booked(account, booked))) => {
                    let identity = table::hash([booked[0].identity(&account.id).as_bytes()]);
                    if booked[0].fitid.is_some() {
                        let text = [&booked[0].name, &booked[0].memo]
                            .map(|text| text.as_deref().unwrap_or_default());
                        copies.of(identity, table::hash(text.map(str::as_bytes)))
                    } else {
                        copies.before(identity)
                    }
                }
                _ => copies.before(table::hash([&row.bytes[..]])),
            };
            // A last line without a line end may be incomplete. It is read again if the file grows.
            end = if row.is_ended { row.next } else { row.offset };
            if row.offset < from {
                continue;
            }
            let (offset, line) = (row.offset, Some(row.line));
            let facts = facts[usize::from(is_above)].clone();
            if out(Raw { offset, next: end, line, bytes: row.bytes, facts, copy }).is_break() {
                return Ok(End { at: end });
            }
        }
        Ok(End { at: end.max(from) })
    }

    fn parse(&self, plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        const CHANGED: Bad = Bad("changed while it was read");
        let facts: Facts = serde_json::from_str(&raw.facts).map_err(|_| CHANGED)?;
        if facts.is_above {
            return Ok(Parsed::Skipped(ABOVE));
        }
        let state = plan.state.downcast_ref::<State>().ok_or(CHANGED)?;
        let (layout, cutter) = state.layouts.get(&facts.layout).ok_or(CHANGED)?;
        match layout.read(&cutter.cells(&raw.bytes)?)? {
            Row::Skipped(why) => Ok(Parsed::Skipped(why)),
            Row::Booked(account, booked) => {
                let mut drafts: Vec<Draft> = Vec::new();
                for (at, one) in booked.iter().enumerate() {
                    let given = one.drafts(&account, raw.copy)?;
                    drafts.extend(given.into_iter().skip(usize::from(at > 0)));
                }
                Ok(Parsed::Records(drafts))
            }
        }
    }

    fn join(&self, _: &str, data: &str, sightings: &[&str]) -> String {
        join(data, sightings)
    }

    fn is_whole_alone(&self) -> bool {
        true
    }

    fn shares(&self, stream: &str) -> bool {
        stream == super::ACCOUNTS
    }

    fn add_sighting(&self, _: &str, first: &str, second: &str) -> String {
        join(second, &[first, second])
    }
}

/// The result of reading a row.
enum Row {
    /// An account and its transactions, at least one.
    Booked(Account, Vec<Booked>),
    Skipped(&'static str),
}

impl Seen {
    const fn add(&mut self, other: Self) {
        self.day_first += other.day_first;
        self.month_first += other.month_first;
        self.undecided += other.undecided;
    }

    fn proven(self) -> Option<DateOrder> {
        table::proven(self.day_first, self.month_first)
            .map(|is_day_first| if is_day_first { DateOrder::DayMonthYear } else { DateOrder::MonthDayYear })
    }

    /// Whether some dates could be two different days and no other date decides the order.
    const fn is_open(self) -> bool {
        self.undecided > 0 && self.day_first == 0 && self.month_first == 0
    }

    /// Whether no date contradicts this order.
    const fn allows(self, order: DateOrder) -> bool {
        match order {
            DateOrder::DayMonthYear => self.month_first == 0,
            DateOrder::MonthDayYear => self.day_first == 0,
            DateOrder::YearMonthDay => false,
        }
    }
}

impl Dates {
    fn learn(&mut self, text: &str) {
        let seen = if is_dotted(text) { &mut self.dotted } else { &mut self.other };
        match [DateOrder::DayMonthYear, DateOrder::MonthDayYear].map(|order| day(text, order)) {
            [Some(_), None] => seen.day_first += 1,
            [None, Some(_)] => seen.month_first += 1,
            [one, other] => seen.undecided += u64::from(one != other),
        }
    }
}

/// The order that the owner names for this import. An answer to an earlier import may be about another bank's files.
fn typed(ask: &Ask) -> Option<DateOrder> {
    ask.date_order.filter(|_| ask.is_order_typed)
}

/// The order of the numbers in a file's dates without dots: the one that the owner named, or the one that the file or other files
/// of the same export prove, or the one that the bank is `known` to use. A table that another program saved again may have any
/// order.
fn order(
    label: &str,
    own: Seen,
    all: Seen,
    known: Option<DateOrder>,
    columns: &Columns,
    ask: &Ask,
) -> Result<DateOrder, Refused> {
    if let Some(order) = typed(ask).or_else(|| own.proven()).or_else(|| all.proven()) {
        return Ok(order);
    }
    if own.undecided == 0 {
        return Ok(known.unwrap_or(DateOrder::DayMonthYear));
    }
    if let Some(order) = known.filter(|order| own.allows(*order) && all.allows(*order)) {
        return Ok(order);
    }
    columns.order(ask, None)?.ok_or_else(|| Refused::Undecided {
        question: format!("Which order do the dates in {label} use?"),
        option: "--date-order",
        choices: ["dmy", "mdy", "ymd"].map(str::to_owned).to_vec(),
    })
}

impl Layout {
    fn day(&self, text: &str) -> Option<Date> {
        day(text, if is_dotted(text) { self.dotted } else { self.order })
    }

    #[allow(clippy::too_many_lines, reason = "one column after another")]
    fn read(&self, cells: &Cells) -> Result<Row, Bad> {
        let profile = &PROFILES[self.profile];
        let places = &self.places;
        let cell = |at: usize| cells.get(at).map(str::trim).filter(|cell| !cell.is_empty());
        let first = |all: &[usize]| all.iter().find_map(|at| cell(*at));
        let is_one_of = |wanted: &Option<(usize, Vec<&'static str>)>| {
            wanted.as_ref().is_some_and(|(at, values)| {
                let value = cell(*at).unwrap_or_default().to_lowercase();
                values.contains(&value.as_str())
            })
        };
        if is_one_of(&places.pending) {
            return Ok(Row::Skipped("pending"));
        }
        if is_one_of(&places.failed) {
            return Ok(Row::Skipped("declined or reversed: no money was moved"));
        }
        let written = first(&places.date);
        let date = written.and_then(|text| self.day(text));
        let Some(date) = date else {
            // Some tables have balances and notes below the transactions.
            let has_amount = first(&places.amount).is_some() || places.debit.and_then(cell).is_some();
            return if has_amount && written.is_some() {
                Err(Bad("no date"))
            } else {
                Ok(Row::Skipped("a line that is not a transaction"))
            };
        };
        let of = |text: &str| amount(text, self.decimal);
        let value = match (places.debit, places.credit) {
            (Some(debit), Some(credit)) => {
                // Both columns may exist, one of them with a zero.
                let read = |at: usize| {
                    cell(at).and_then(of).filter(|value| value.contains(|c| matches!(c, '1'..='9')))
                };
                match (read(debit), read(credit)) {
                    (Some(debit), None) => Some(format!("-{}", debit.trim_start_matches('-'))),
                    (None, Some(credit)) => Some(credit),
                    (None, None) => cell(debit).or_else(|| cell(credit)).and_then(of),
                    (Some(_), Some(_)) => None,
                }
            }
            _ => first(&places.amount).and_then(of),
        };
        let mut value = value.ok_or(Bad("no amount"))?;
        if is_one_of(&places.out_if) && !value.starts_with('-') || profile.is_negated {
            value = negated(&value);
        }
        let currency = places.currency.and_then(cell).map(str::to_uppercase).filter(|code| code.len() == 3);
        let currency =
            currency.or_else(|| Some(profile.default_currency.to_owned()).filter(|code| !code.is_empty()));
        let own = places.account_name.and_then(cell).filter(|name| name.len() < 100);
        let number = places.account.and_then(cell).unwrap_or(&self.number);
        let bank = own.map_or_else(
            || profile.bank.to_owned(),
            |own| {
                if own.contains(profile.bank) {
                    own.to_owned()
                } else {
                    format!("{} {}", profile.bank, without_number(own))
                }
            },
        );
        // An account has one currency. A wallet with several currencies becomes several accounts.
        let code = currency.as_deref().unwrap_or_default();
        let kind = Some(profile.kind).filter(|kind| !kind.is_empty());
        let product = if number.is_empty() { own.unwrap_or_default() } else { "" };
        let mut account = Account::new(
            &["csv", profile.bank, product, code],
            number,
            Some(&bank),
            kind,
            currency.as_deref(),
        );
        if profile.default_currency.is_empty() && !code.is_empty() {
            account.name = account.name.map(|name| format!("{name} {code}"));
        }
        let is_in = !value.starts_with('-');
        let name = places.payer.filter(|_| is_in).and_then(cell).or_else(|| first(&places.name));
        let mut memo: Vec<String> =
            places.memo.iter().filter_map(|at| cell(*at)).map(str::to_owned).collect();
        for (label, columns) in &places.details {
            let columns: Vec<Option<&str>> = columns.iter().map(|at| cell(*at)).collect();
            let detail = match columns[..] {
                [Some(text)] => match self.day(text) {
                    Some(other) => Some(other.to_string()).filter(|_| other != date),
                    None => Some(text.to_owned()),
                },
                [Some(text), Some(unit)] if !unit.eq_ignore_ascii_case(code) => {
                    Some(format!("{} {unit}", of(text).unwrap_or_else(|| text.to_owned())))
                }
                _ => None,
            };
            memo.extend(detail.map(|detail| format!("{label} {detail}")));
        }
        let booked = Booked {
            date: date.to_string(),
            amount: value,
            currency: currency.clone(),
            name: name.and_then(words),
            memo: (!memo.is_empty()).then(|| memo.join("\n")),
            kind: first(&places.kind).map(str::to_lowercase),
            category: places.category.and_then(cell).map(str::to_owned),
            fitid: places.id.and_then(cell).map(str::to_owned),
        };
        let fee = places.fee.and_then(cell).and_then(of);
        let fee = fee.filter(|fee| fee.contains(|c| matches!(c, '1'..='9')));
        let fee = fee.map(|fee| Booked {
            amount: negated(&fee),
            memo: Some(["Fee", booked.memo.as_deref().unwrap_or_default()].join(" ").trim().to_owned()),
            kind: Some("fee".to_owned()),
            fitid: booked.fitid.as_ref().map(|id| format!("{id}:fee")),
            ..booked.clone()
        });
        let mut all = vec![booked];
        all.extend(fee);
        Ok(Row::Booked(account, all))
    }
}

/// Whether a date's numbers are separated by dots: such dates put the day first.
fn is_dotted(text: &str) -> bool {
    text.trim().chars().find(|c| !c.is_ascii_digit()) == Some('.')
}

/// A day: `31.12.26`, `2026-12-31 10:00:00`, `20261231`, `31 Dec 2026`.
fn day(text: &str, order: DateOrder) -> Option<Date> {
    let text = text.trim();
    if text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Date::new(text[..4].parse().ok()?, text[4..6].parse().ok()?, text[6..].parse().ok()?).ok();
    }
    if let Some(moment) = cell::moment(text, order) {
        // The day as written. Converting it to another zone would give a day that the bank does not show.
        return match moment {
            Moment::Day(day) => Some(day),
            Moment::Local(at) => Some(at.date()),
            Moment::Instant(_) => cell::moment(text.get(..10)?, order).map(|moment| moment.order().date()),
        };
    }
    let parts: Vec<&str> = text.split([' ', '-', ',']).filter(|part| !part.is_empty()).take(4).collect();
    let [one, two, year, ..] = parts[..] else { return None };
    let month = |name: &str| {
        let start = name.get(..3)?.to_ascii_lowercase();
        MONTHS.iter().position(|month| *month == start).and_then(|at| i8::try_from(at + 1).ok())
    };
    let (day, month) = match (month(two), month(one)) {
        (Some(month), _) => (one, month),
        (None, Some(month)) => (two, month),
        (None, None) => return None,
    };
    let year: i16 = year.parse().ok()?;
    Date::new(if year < 100 { 2000 + year } else { year }, month, day.parse().ok()?).ok()
}

/// A column's name without the parts that differ between exports.
fn name_of(cell: &str) -> String {
    let cell: String = cell.chars().take(100).collect();
    cell.split_whitespace().collect::<Vec<_>>().join(" ").trim_matches(['"', '\'', '\u{feff}']).to_lowercase()
}

/// Finds how to read a file if its beginning has the header of a known export.
fn found(head: &[u8], is_whole: bool) -> Option<Layout> {
    let (charset, mark) = Charset::of_head(head).unwrap_or_else(|| {
        let is_utf8 = std::str::from_utf8(head).map_or_else(|error| error.error_len().is_none(), |_| true);
        (if is_utf8 { Charset::Utf8 } else { Charset::Windows1252 }, 0)
    });
    let mut best: Option<(usize, Layout)> = None;
    for delimiter in DELIMITERS {
        let Ok(mut rows) = Rows::new(head, charset, mark, delimiter) else { continue };
        if rows.skip_separator_line().is_err() {
            continue;
        }
        let mut number = String::new();
        for above in 0..=MOST_ABOVE {
            let Ok(Some(row)) = rows.next() else { break };
            // A header that is cut off has different names.
            if !row.is_ended && !is_whole {
                break;
            }
            let Ok(cells) = row.cells else { continue };
            let names: Vec<String> = cells.iter().take(MOST_COLUMNS).map(name_of).collect();
            if let Some((count, profile)) = profile_of(&names) {
                if best.as_ref().is_none_or(|(most, _)| count > *most) {
                    let layout = Layout {
                        charset,
                        mark,
                        delimiter,
                        profile,
                        places: places(&PROFILES[profile], &names),
                        width: names.len(),
                        above,
                        number,
                        order: DateOrder::DayMonthYear,
                        dotted: DateOrder::DayMonthYear,
                        decimal: PROFILES[profile].decimal,
                    };
                    best = Some((count, layout));
                }
                break;
            }
            if number.is_empty() {
                number = number_above(&cells).unwrap_or_default();
            }
        }
    }
    best.map(|(_, layout)| layout)
}

/// The profile that the header matches, and how many of its columns the profile names.
fn profile_of(names: &[String]) -> Option<(usize, usize)> {
    let is_there = |wanted: &str| wanted.split('|').any(|wanted| names.iter().any(|name| name == wanted));
    let filled = names.iter().filter(|name| !name.is_empty()).count();
    let mut best: Option<(usize, usize)> = None;
    for (at, profile) in PROFILES.iter().enumerate() {
        let (is_exact, header) =
            profile.header.strip_prefix('=').map_or((false, profile.header), |header| (true, header));
        let count = header.split(',').count();
        let fits = header.split(',').all(is_there) && (!is_exact || filled == count);
        if fits && best.is_none_or(|(most, _)| count > most) {
            best = Some((count, at));
        }
    }
    best
}

fn places(profile: &Profile, names: &[String]) -> Places {
    let at = |wanted: &str| names.iter().position(|name| name == wanted);
    let any = |wanted: &'static str| -> Vec<usize> {
        if wanted.is_empty() { Vec::new() } else { wanted.split('|').filter_map(at).collect() }
    };
    let all = |wanted: &'static str| -> Vec<usize> {
        if wanted.is_empty() { Vec::new() } else { wanted.split([',', '|']).filter_map(at).collect() }
    };
    let one = |wanted: &'static str| any(wanted).first().copied();
    let is = |wanted: &'static str| {
        let (column, values) = wanted.split_once('=')?;
        let at = column.split('|').find_map(at)?;
        Some((at, values.split(',').collect()))
    };
    let detail = |wanted: &'static str| {
        let (label, columns) = wanted.split_once('=')?;
        let columns: Option<Vec<usize>> = columns.split('+').map(at).collect();
        Some((label, columns?))
    };
    Places {
        date: any(profile.date),
        amount: any(profile.amount),
        debit: one(profile.debit),
        credit: one(profile.credit),
        out_if: is(profile.out_if),
        fee: one(profile.fee),
        currency: one(profile.currency),
        name: any(profile.name),
        payer: one(profile.payer),
        memo: all(profile.memo),
        details: profile.details.split(';').filter_map(detail).collect(),
        kind: any(profile.type_),
        category: one(profile.category),
        id: one(profile.id),
        account: one(profile.account),
        account_name: one(profile.account_name),
        pending: is(profile.pending),
        failed: is(profile.failed),
    }
}

/// The account number in a row above the header: an IBAN, or the text after a word for it.
fn number_above(cells: &Cells) -> Option<String> {
    const WORDS: [&str; 12] = [
        "iban",
        "konto",
        "account",
        "kontonummer",
        "compte",
        "cuenta",
        "rekening",
        "conto",
        "karte",
        "card",
        "depot",
        "carte",
    ];
    let texts: Vec<&str> = cells.iter().map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let plain = |text: &str| -> String { text.chars().filter(|c| !c.is_whitespace()).collect() };
    let is_iban = |text: &str| {
        let text = plain(text);
        (15..=34).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && text.bytes().take(2).all(|byte| byte.is_ascii_uppercase())
            && text.bytes().skip(2).take(2).all(|byte| byte.is_ascii_digit())
    };
    let words =
        || texts.iter().flat_map(|text| text.split([' ', ':', '/', '"'])).filter(|word| !word.is_empty());
    if let Some(iban) = texts.iter().copied().chain(words()).find(|text| is_iban(text)) {
        return Some(plain(iban));
    }
    let first = texts.first()?.to_lowercase();
    if !WORDS.iter().any(|word| first.contains(word)) {
        return None;
    }
    let is_number = |word: &&str| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        digits >= 4 && word.bytes().all(|byte| byte.is_ascii_digit() || b"*xX-.".contains(&byte))
    };
    words().find(is_number).map(str::to_owned)
}

/// The digits after the bank's name in a file name: `Chase1234_Activity20260101.CSV`.
fn number_of_file(label: &str, bank: &str) -> String {
    let file = table::file_stem(label).to_lowercase();
    let Some((_, behind)) = file.split_once(&bank.to_lowercase()) else { return String::new() };
    let digits: String =
        behind.trim_start_matches(['_', '-', ' ']).chars().take_while(char::is_ascii_digit).collect();
    // A date is not an account number.
    if (3..=6).contains(&digits.len()) { digits } else { String::new() }
}

/// Collects what the dates and amounts of a file prove.
fn look(member: &Member<'_>, layout: &Layout, columns: &mut Columns) -> io::Result<(Marks, Dates)> {
    let (mut marks, mut dates) = (Marks::default(), Dates::default());
    let reader = BufReader::new((member.open)()?);
    let mut rows = Rows::new(reader, layout.charset, layout.mark, layout.delimiter)?;
    rows.skip_separator_line()?;
    let mut number = 0;
    let places = &layout.places;
    while let Some(row) = rows.next()? {
        number += 1;
        let Ok(cells) = &row.cells else { continue };
        if number <= layout.above + 1 {
            continue;
        }
        let date = places.date.iter().find_map(|at| cells.get(*at).filter(|cell| !cell.trim().is_empty()));
        if let (Some(date), Some(column)) = (date.filter(|date| !is_dotted(date)), columns.column("date")) {
            column.learn(Value::Cell(date.trim()), row.line);
        }
        // Any date of the file can prove an order. A value that is not a date proves nothing.
        let others = places.details.iter().filter(|(_, columns)| columns.len() == 1).flat_map(|(_, at)| at);
        for at in places.date.iter().chain(others) {
            dates.learn(cells.get(*at).unwrap_or_default().trim());
        }
        for at in places.amount.iter().chain(&places.debit).chain(&places.credit) {
            if let Some(cell) = cells.get(*at) {
                marks.learn(cell);
            }
        }
    }
    Ok((marks, dates))
}

#[cfg(test)]
#[path = "tables_tests.rs"]
mod tests;
