//! Sums and extremes of all records or of each group (O6.3), with warnings about sums that mix different kinds of
//! values (O6.4).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::Connection as Sqlite;
use serde_json::{Value, json};

use super::decimal::Decimal;
use super::periods::Periods;
use crate::vault::declaration::{Aggregation, Field, Kind};
use crate::vault::enforcement::{Access, Filter, Held, MOST_READ, Read, Texts};
use crate::vault::sorting::{Quantity, SortValue};

/// The value of a JSON text.
pub fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

/// What is computed from a field for each group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// The sum.
    Sum,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
}

impl Metric {
    /// What a field must declare for it.
    pub const fn aggregation(self) -> Aggregation {
        match self {
            Self::Sum => Aggregation::Sum,
            Self::Min => Aggregation::Min,
            Self::Max => Aggregation::Max,
        }
    }
}

/// What forms the groups.
pub enum By<'a> {
    /// All records are one group.
    Nothing,
    /// The values of a field.
    Field(&'a str),
    /// The periods of a field.
    Time(&'a str, Periods<Tally>),
}

/// One access, what is read of it, and its granted field to add up or compare.
pub type Source<'a> = (&'a Access, &'a Filter, &'a Field);

/// Kinds of values that must not be added up: the names of fields that hold them, and the word for them in a
/// warning.
const APART: [(&str, &[&str]); 3] = [
    ("currencies", &["currency", "currency_code"]),
    ("units", &["unit", "units"]),
    ("devices", &["source_name", "device", "device_name"]),
];
/// The maximum number of values that a warning names.
const MOST_NAMED: usize = 3;

/// Whether a field says which currency, unit or device a number belongs to.
fn apart(field: &Field) -> Option<usize> {
    let is_text = matches!(field.kind, Kind::String | Kind::Text | Kind::Person);
    APART.iter().position(|(_, names)| is_text && names.contains(&field.name.as_str()))
}

/// The collected values of a group.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    count: u64,
    sum: Sum,
    extreme: Option<Extreme>,
    /// For each of [`APART`], the first values that were seen, and the number of the last one.
    apart: [(BTreeSet<String>, Option<i64>); APART.len()],
}

/// The value of a record, and where the record is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Extreme {
    value: SortValue,
    source: usize,
    rid: i64,
}

impl Tally {
    fn add_extreme(&mut self, new: Extreme, metric: Metric) {
        let is_better = self.extreme.as_ref().is_none_or(|known| {
            let compared =
                if metric == Metric::Min { new.value.cmp(&known.value) } else { known.value.cmp(&new.value) };
            // Of equal values, the one of the record that was stored first.
            compared.then((new.source, new.rid).cmp(&(known.source, known.rid))).is_lt()
        });
        if is_better {
            self.extreme = Some(new);
        }
    }

    /// Adds another part of the same group.
    fn merge(&mut self, other: Self, metric: Metric) {
        self.count += other.count;
        self.sum.merge(other.sum);
        if let Some(extreme) = other.extreme {
            self.add_extreme(extreme, metric);
        }
        for ((known, _), (new, _)) in self.apart.iter_mut().zip(other.apart) {
            known.extend(new);
        }
    }
}

/// A sum of numbers as JSON writes them.
#[derive(Debug, Clone, Default)]
pub struct Sum {
    /// The sum of the whole numbers, if there are any.
    whole: Option<i128>,
    /// The sum of all others.
    total: Option<Decimal>,
    /// Numbers that do not fit a decimal of 28 digits, and how often each occurs.
    others: BTreeMap<String, u64>,
}

impl Sum {
    /// Adds a number `count` times. A value that is not a number adds nothing.
    pub fn add(&mut self, json: &str, count: u64) -> bool {
        if !json.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return false;
        }
        let sum = Decimal::parse(json).and_then(|number| number.times(count));
        match sum.and_then(|number| self.total.unwrap_or(Decimal::ZERO).plus(number)) {
            Some(total) => self.total = Some(total),
            None => *self.others.entry(json.to_owned()).or_default() += count,
        }
        true
    }

    /// Does the same with a whole number.
    fn add_whole(&mut self, whole: i128) {
        match self.whole.unwrap_or(0).checked_add(whole) {
            Some(sum) => self.whole = Some(sum),
            None => drop(self.add(&whole.to_string(), 1)),
        }
    }

    fn merge(&mut self, other: Self) {
        if let Some(whole) = other.whole {
            self.add_whole(whole);
        }
        if let Some(total) = other.total {
            match self.total.unwrap_or(Decimal::ZERO).plus(total) {
                Some(total) => self.total = Some(total),
                None => *self.others.entry(total.to_string()).or_default() += 1,
            }
        }
        for (json, count) in other.others {
            self.add(&json, count);
        }
    }

    /// The sum, and whether it is exact; null if there are no numbers.
    pub fn value(&self) -> (Value, bool) {
        let whole = self.whole.map(Decimal::whole);
        let parts = || whole.into_iter().chain(self.total);
        let exact = parts().try_fold(Decimal::ZERO, Decimal::plus);
        match exact.filter(|_| self.others.is_empty()) {
            Some(_) if parts().next().is_none() => (Value::Null, true),
            Some(total) => (json_of(&total.to_string()), true),
            None => {
                #[allow(clippy::cast_precision_loss, reason = "it is marked as approximate")]
                let others = self
                    .others
                    .iter()
                    .filter_map(|(json, count)| Some(json.parse::<f64>().ok()? * *count as f64));
                let parts = parts().filter_map(|part| part.to_string().parse::<f64>().ok());
                (others.chain(parts).sum::<f64>().into(), false)
            }
        }
    }
}

/// The result for each group.
pub struct Groups {
    metric: Metric,
    /// The groups, by their keys.
    groups: Vec<(Value, Tally)>,
}

impl Groups {
    /// Reads the groups.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn read(db: &Sqlite, sources: &[Source<'_>], metric: Metric, by: By<'_>) -> rusqlite::Result<Self> {
        let mut all: BTreeMap<String, Tally> = BTreeMap::new();
        let mut periods = None;
        let by_field = match by {
            By::Nothing => None,
            By::Field(name) => Some(name),
            By::Time(name, empty) => {
                periods = Some(empty);
                Some(name)
            }
        };
        for (source, (access, filter, field)) in sources.iter().enumerate() {
            let whole = if metric == Metric::Sum { Read::Whole } else { Read::Order };
            let mut wanted = vec![(*field, whole)];
            let by = by_field.and_then(|name| access.field(name));
            let grouped = by.map(|by| {
                wanted.push((by, if periods.is_some() { Read::Order } else { Read::Whole }));
                wanted.len() - 1
            });
            let first_apart = wanted.len();
            if metric == Metric::Sum {
                let named = access.fields().filter(|field| apart(field).is_some());
                wanted.extend(named.map(|field| (field, Read::Whole)).take(MOST_READ - first_apart));
            }
            // By their representation in the columns, before their texts are looked up.
            let mut found: HashMap<Key, Tally> = HashMap::new();
            let mut texts: Vec<Texts> = wanted.iter().map(|_| Texts::default()).collect();
            access.each_held(db, filter, &wanted, |rid, held| {
                let tally = match (grouped, &mut periods) {
                    (None, _) => found.entry(Key::None).or_default(),
                    (Some(at), None) => found.entry(Key::of(held[at])).or_default(),
                    (Some(at), Some(periods)) => {
                        let place = texts[at].order(db, wanted[at].0, held[at])?;
                        let Some(SortValue::Instant(ms)) = place.as_deref() else { return Ok(()) };
                        let Some(tally) = periods.at(*ms) else { return Ok(()) };
                        tally
                    }
                };
                tally.count += 1;
                if metric != Metric::Sum {
                    if let Some(value) = texts[0].order(db, field, held[0])? {
                        let is_better = tally.extreme.as_ref().is_none_or(|known| match metric {
                            Metric::Min => *value <= known.value,
                            _ => *value >= known.value,
                        });
                        if is_better {
                            tally.add_extreme(Extreme { value: value.into_owned(), source, rid }, metric);
                        }
                    }
                    return Ok(());
                }
                match held[0] {
                    Held::Whole(whole) => tally.sum.add_whole(whole.into()),
                    Held::Json(json) if tally.sum.add(json, 1) => {}
                    _ => return Ok(()),
                }
                for at in first_apart..wanted.len() {
                    let field = wanted[at].0;
                    let Some(of) = apart(field).filter(|_| held[at] != Held::Absent) else { continue };
                    let (seen, last) = &mut tally.apart[of];
                    let number = match held[at] {
                        Held::Listed(number) => Some(number),
                        _ => None,
                    };
                    if seen.len() > MOST_NAMED || (number.is_some() && *last == number) {
                        continue;
                    }
                    *last = number;
                    seen.insert(texts[at].json(db, field, held[at])?.into_owned());
                }
                Ok(())
            })?;
            for (key, tally) in found {
                let key = match (by, grouped) {
                    (Some(by), Some(at)) => texts[at].json(db, by, key.held())?.into_owned(),
                    _ => String::new(),
                };
                all.entry(key).or_default().merge(tally, metric);
            }
        }
        let groups = match periods {
            None => all.into_iter().map(|(key, tally)| (json_of(&key), tally)).collect(),
            Some(periods) => periods.groups(|known, new| known.merge(new, metric)),
        };
        Ok(Self { metric, groups })
    }

    /// The first group, which is all records if they are not divided.
    pub fn only(mut self) -> Tally {
        self.groups.pop().map(|(_, tally)| tally).unwrap_or_default()
    }

    /// Sorts by value: the sum that is largest in either direction first; the least or the greatest value first;
    /// groups without a value last.
    pub fn by_value(mut self) -> Self {
        let metric = self.metric;
        let mut placed: Vec<_> = self
            .groups
            .drain(..)
            .map(|(key, tally)| {
                let place = match metric {
                    Metric::Sum => Quantity::parse(&tally.sum.value().0.to_string())
                        .map(Quantity::magnitude)
                        .map(SortValue::Number),
                    _ => tally.extreme.as_ref().map(|extreme| extreme.value.clone()),
                };
                (place, key, tally)
            })
            .collect();
        placed.sort_by(|(left, left_key, one), (right, right_key, other)| {
            let ascending = left.cmp(right);
            let by_value = if metric == Metric::Min { ascending } else { ascending.reverse() };
            left.is_none()
                .cmp(&right.is_none())
                .then(by_value)
                .then_with(|| other.count.cmp(&one.count))
                .then_with(|| left_key.to_string().cmp(&right_key.to_string()))
        });
        self.groups = placed.into_iter().map(|(_, key, tally)| (key, tally)).collect();
        self
    }

    /// Writes the first groups into an answer.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn answer(
        mut self,
        db: &Sqlite,
        sources: &[Source<'_>],
        limit: usize,
        answer: &mut Value,
    ) -> rusqlite::Result<()> {
        let metric = self.metric;
        let others = self.groups.split_off(limit.min(self.groups.len()));
        let mut is_exact = true;
        let mut rows = Vec::with_capacity(self.groups.len());
        for (key, tally) in &self.groups {
            let value = match (metric, &tally.extreme) {
                (Metric::Sum, _) => {
                    let (sum, is_sum_exact) = tally.sum.value();
                    is_exact &= is_sum_exact;
                    sum
                }
                (_, Some(extreme)) => {
                    let (access, _, field) = sources[extreme.source];
                    json_of(&access.held_by(db, extreme.rid, field)?)
                }
                (_, None) => Value::Null,
            };
            rows.push(json!({ "key": key, "count": tally.count, "value": value }));
        }
        answer["groups"] = rows.into();
        answer["limit"] = limit.into();
        answer["other_count"] = others.iter().map(|(_, tally)| tally.count).sum::<u64>().into();
        if metric == Metric::Sum {
            let mut rest = Sum::default();
            for (_, tally) in &others {
                rest.merge(tally.sum.clone());
            }
            let (sum, is_rest_exact) = rest.value();
            is_exact &= is_rest_exact;
            answer["other_value"] = sum;
        }
        answer["approximate"] = (!is_exact).into();
        let all: Vec<&Tally> = self.groups.iter().chain(&others).map(|(_, tally)| tally).collect();
        warn(answer, sources, &all);
        Ok(())
    }
}

impl Tally {
    /// Writes the sum of all records into an answer.
    pub fn answer(&self, sources: &[Source<'_>], answer: &mut Value) {
        let (sum, is_exact) = self.sum.value();
        answer["value"] = sum;
        answer["approximate"] = (!is_exact).into();
        warn(answer, sources, &[self]);
    }
}

/// Warns if one of these sums mixes several currencies, units or devices.
fn warn(answer: &mut Value, sources: &[Source<'_>], all: &[&Tally]) {
    for (at, (what, _)) in APART.iter().enumerate() {
        let Some(mixed) = all.iter().map(|tally| &tally.apart[at].0).find(|seen| seen.len() > 1) else {
            continue;
        };
        let mut fields = sources.iter().flat_map(|(access, ..)| access.fields());
        let Some(field) = fields.find(|field| apart(field) == Some(at)) else { continue };
        let named = mixed.iter().take(MOST_NAMED).map(|json| match json_of(json) {
            Value::String(text) => crate::text::prefix(&text, 40).to_owned(),
            _ => "…".to_owned(),
        });
        let more = if mixed.len() > MOST_NAMED { ", …" } else { "" };
        let message = format!(
            "a sum adds up several {what} ({}{more}): group by or filter {}",
            named.collect::<Vec<_>>().join(", "),
            field.name
        );
        let warning = json!({ "code": "mixed_values", "message": message, "param": "field" });
        if let Some(warnings) = answer["meta"]["warnings"].as_array_mut() {
            warnings.push(warning);
        }
    }
}

/// What distinguishes groups within one access.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Key {
    None,
    Held(Held<'static>),
    Json(String),
}

impl Key {
    fn of(held: Held<'_>) -> Self {
        match held {
            Held::Json(json) => Self::Json(json.to_owned()),
            Held::Absent => Self::Held(Held::Absent),
            Held::Instant(ms) => Self::Held(Held::Instant(ms)),
            Held::Whole(whole) => Self::Held(Held::Whole(whole)),
            Held::Boolean(is) => Self::Held(Held::Boolean(is)),
            Held::Listed(id) => Self::Held(Held::Listed(id)),
        }
    }

    fn held(&self) -> Held<'_> {
        match self {
            Self::None => Held::Absent,
            Self::Held(held) => *held,
            Self::Json(json) => Held::Json(json),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(numbers: &[&str]) -> (String, bool) {
        let mut sum = Sum::default();
        for number in numbers {
            sum.add(number, 1);
        }
        let (total, is_exact) = sum.value();
        (total.to_string(), is_exact)
    }

    #[test]
    fn sums_keep_their_digits_and_say_where_they_cannot() {
        assert_eq!(sum(&["1.10", "2.20", "null", "\"7\"", "true"]), ("3.30".to_owned(), true));
        assert_eq!(sum(&["1e3", "2.5E-1", "9007199254740993"]), ("9007199254741993.25".to_owned(), true));
        assert_eq!(sum(&["null"]), ("null".to_owned(), true));
        assert_eq!(sum(&["0.10", "-0.10"]), ("0.00".to_owned(), true));
        assert_eq!(sum(&["1e40", "1"]), sum(&["1", "1e40"]));
        assert!(!sum(&["1e40", "1"]).1, "a double, and marked as inexact");
        let (mut one, mut other) = (Sum::default(), Sum::default());
        assert!(one.add("1.5", 2) && other.add("1e40", 1) && other.add("2", 1) && !other.add("null", 9));
        one.merge(other);
        assert_eq!(one.value(), (json!(1e40), false));
    }
}
