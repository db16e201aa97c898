//! Decides whether a known file may be another person's now, if nothing in it states whose it is: its records are compared with
//! those that were read from it before.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::ControlFlow;

use serde_json::{Map, Value};

use super::earlier::Earlier;
use super::format::{Parsed, Raw};
use super::survey::Job;

/// The most items that are compared.
const MOST_COMPARED: usize = 2000;
/// How many records are fetched from the store at once: each may have a long text.
const AT_ONCE: usize = 50;
/// Fewer rows than this say nothing about the others.
const LEAST_ROWS: usize = 5;
/// The longest value that is compared without regard to how it is written.
const LONGEST_LOOSE: usize = 64;
/// A number of more digits than this is not reached by counting, nor is it a day.
const MOST_DIGITS: usize = 10;

/// Why a known file may be another person's now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// None of its records was read from it before.
    NothingKnown,
    /// Its records have known keys, but nearly all of them say something else.
    Rewritten,
}

impl Doubt {
    /// For people, after "because".
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::NothingKnown => "nothing in it was imported before, so it may be another person's now",
            Self::Rewritten => {
                "nearly every row in it says something else than the row with the same id before, so it may be another person's now"
            }
        }
    }
}

/// The doubt about a file whose content is not what was read before.
pub fn doubt(job: &Job, earlier: &dyn Earlier) -> Option<Doubt> {
    let mut rows: BTreeMap<String, Vec<(String, Row)>> = BTreeMap::new();
    let mut left = MOST_COMPARED;
    let mut out = |raw: Raw| {
        left = left.saturating_sub(1);
        if let Ok(Parsed::Records(drafts)) = job.parse(&raw) {
            for draft in drafts {
                let Some(data) = &draft.data else { continue };
                let row = Row::of(data);
                rows.entry(draft.stream.into_owned()).or_default().push((draft.key, row));
            }
        }
        if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    for member in &job.units {
        // A member that cannot be read is reported when it is imported.
        let _ = job.split(member, None, 0, &mut out);
    }
    if rows.is_empty() {
        return None;
    }
    let mut pairs = Vec::new();
    let mut proves = false;
    for (stream, rows) in rows {
        let keys = job.plan.connector.streams.iter().find(|known| known.name == stream);
        let keys = keys.map(|stream| stream.primary_key.clone()).unwrap_or_default();
        for some in rows.chunks(AT_ONCE) {
            let wanted: Vec<&str> = some.iter().map(|(key, _)| key.as_str()).collect();
            let stored = earlier.stored(&job.plan.connector.key, &job.plan.account, &stream, &wanted);
            for ((key, now), before) in some.iter().zip(stored) {
                let Some(before) = before else { continue };
                proves |= proves_origin(key);
                pairs.push(Pair { before: Row::of(&before).without(&keys), now: now.clone() });
            }
        }
    }
    match pairs.as_slice() {
        [] => Some(Doubt::NothingKnown),
        pairs => (!proves && is_rewritten(pairs)).then_some(Doubt::Rewritten),
    }
}

/// Whether a key that two files share shows that they have one origin: two people's tables may both count their rows, or
/// have one for each day.
fn proves_origin(key: &str) -> bool {
    key.chars().any(char::is_alphabetic) || key.chars().filter(char::is_ascii_digit).count() > MOST_DIGITS
}

/// A record, without its text: a file may have very long ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Row(HashMap<String, Cell>);

/// A known row, as it was and as it is now.
struct Pair {
    before: Row,
    now: Row,
}

/// What is compared of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    digest: u64,
    kind: CellKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellKind {
    /// Words: they tell one row from another.
    Words,
    /// A day or a time: everyone has the same ones.
    Time,
    /// A number or something else.
    Other,
}

impl Row {
    fn of(data: &str) -> Self {
        let fields: Map<String, Value> = serde_json::from_str(data).unwrap_or_default();
        Self(fields.iter().filter_map(|(name, value)| Some((name.clone(), Cell::of(value)?))).collect())
    }

    fn without(mut self, names: &[String]) -> Self {
        self.0.retain(|name, _| !names.contains(name));
        self
    }
}

impl Cell {
    /// `None` if there is no value.
    fn of(value: &Value) -> Option<Self> {
        let text = match value {
            Value::Null => return None,
            Value::String(text) => text.trim().to_owned(),
            other => other.to_string(),
        };
        if text.is_empty() {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        if text.len() <= LONGEST_LOOSE {
            // An export may write the same dates and amounts in another way: in another order, with other separators and zeros.
            let mut chars: Vec<char> =
                text.to_lowercase().chars().filter(|char| char.is_alphanumeric() && *char != '0').collect();
            chars.sort_unstable();
            chars.hash(&mut hasher);
        } else {
            text.hash(&mut hasher);
        }
        let digits = text.chars().filter(char::is_ascii_digit).count();
        let letters = text.chars().filter(|char| char.is_alphabetic()).count();
        let separators = text.chars().filter(|char| "-/.:".contains(*char)).count();
        let kind = match value {
            Value::String(_) if letters > digits => CellKind::Words,
            Value::String(_) if separators >= 2 && digits >= 6 => CellKind::Time,
            _ => CellKind::Other,
        };
        Some(Self { digest: hasher.finish(), kind })
    }
}

/// What the rows show about a column.
#[derive(Default)]
struct Column {
    rows: usize,
    words: usize,
    values: HashSet<u64>,
}

impl Column {
    /// Whether it differs at all: what all rows have says nothing about whose they are.
    fn differs(&self) -> bool {
        self.values.len() > 1
    }

    /// Whether its words tell rows apart, as names and descriptions do.
    fn tells(&self) -> bool {
        self.words * 2 > self.rows && self.values.len() * 2 >= self.rows && self.differs()
    }
}

/// Whether at least nine in ten rows have become other rows. A row of which something changed, such as a balance, a state or
/// the way in which dates are written, is still the same row.
fn is_rewritten(pairs: &[Pair]) -> bool {
    if pairs.len() < LEAST_ROWS {
        return false;
    }
    let mut columns: HashMap<&str, Column> = HashMap::new();
    for (name, cell) in pairs.iter().flat_map(|pair| &pair.before.0) {
        let column = columns.entry(name).or_default();
        column.rows += 1;
        column.words += usize::from(cell.kind == CellKind::Words);
        column.values.insert(cell.digest);
    }
    let is_other = |pair: &&Pair| {
        let (mut compared, mut changed) = (0, 0);
        for (name, before) in &pair.before.0 {
            let Some(column) = columns.get(name.as_str()).filter(|column| column.differs()) else { continue };
            let Some(now) = pair.now.0.get(name) else { continue };
            let is_same = before.digest == now.digest;
            if is_same && column.tells() {
                return false;
            }
            if !is_same || before.kind != CellKind::Time {
                compared += 1;
                changed += usize::from(!is_same);
            }
        }
        changed * 2 > compared
    };
    pairs.iter().filter(is_other).count() * 10 >= pairs.len() * 9
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Whether rows are others after `change`.
    fn rewritten(rows: usize, row: impl Fn(usize) -> Value, change: impl Fn(usize) -> Value) -> bool {
        let of = |value: Value| Row::of(&value.to_string());
        let pairs: Vec<Pair> =
            (1..=rows).map(|at| Pair { before: of(row(at)), now: of(change(at)) }).collect();
        is_rewritten(&pairs)
    }

    fn day(at: usize) -> String {
        format!("2026-01-{:02}", at % 28 + 1)
    }

    fn payment(at: usize) -> Value {
        json!({ "date": day(at), "payee": format!("Shop {}", "abcdefgh".repeat(at % 9)), "amount": at * 37, "currency": "NOK", "state": (["paid", "open"][at % 2]) })
    }

    #[test]
    fn another_persons_rows_with_the_same_numbers_are_others() {
        let theirs = |at: usize| json!({ "date": day(at + 3), "payee": format!("Cafe {}", "klmnop".repeat(at % 7)), "amount": at * 53 + 1, "currency": "NOK", "state": "paid" });
        assert!(rewritten(40, payment, theirs));
        // Too few rows say nothing.
        assert!(!rewritten(4, payment, theirs));
        // Both begin on the same day.
        let text = |word: &'static str| move |at: usize| json!({ "date": day(at), "text": format!("{word} {}", "xyz".repeat(at)) });
        assert!(rewritten(10, text("mine"), text("hers")));
        // One row in ten happens to be the same, but not one in five.
        assert!(rewritten(40, payment, |at| if at % 10 == 0 { payment(at) } else { theirs(at) }));
        assert!(!rewritten(40, payment, |at| if at % 5 == 0 { payment(at) } else { theirs(at) }));
    }

    #[test]
    fn a_table_that_was_edited_or_written_in_another_way_is_the_same() {
        let with = |name: &'static str, value: fn(usize) -> Value| {
            move |at: usize| {
                let mut row = payment(at);
                row[name] = value(at);
                row
            }
        };
        assert!(!rewritten(40, payment, payment));
        assert!(!rewritten(40, payment, with("state", |_| json!("archived"))));
        assert!(!rewritten(40, payment, with("amount", |at| json!(at * 1000 + 1))));
        // All that changes does so, except the names.
        let account = |at: usize| json!({ "name": format!("Account {}", "abc".repeat(at)), "balance": at * 71, "updated_at": day(at) });
        let later = |at: usize| json!({ "name": format!("Account {}", "abc".repeat(at)), "balance": at * 97 + 5, "updated_at": day(at + 9) });
        assert!(!rewritten(12, account, later));
        // A count with a state that stays.
        let count = |add: usize| move |at: usize| json!({ "seconds": at * 60 + add, "state": (["on", "off"][at % 2]) });
        assert!(!rewritten(12, count(0), count(7)));
        // Dates and amounts in another form.
        let us = |at: usize| json!({ "date": format!("01/{:02}/2026", at % 28 + 1), "amount": format!("{}.50", at * 37) });
        let eu = |at: usize| json!({ "date": format!("{:02}.01.2026", at % 28 + 1), "amount": format!("{},5", at * 37) });
        assert!(!rewritten(30, us, eu));
        // Other columns cannot be compared.
        assert!(!rewritten(30, payment, |at| json!({ "Datum": day(at), "Betrag": at })));
    }

    #[test]
    fn numbers_and_days_are_keys_that_two_people_may_share() {
        for (key, wanted) in [
            ("1", false),
            ("00042", false),
            ("2026-01-31", false),
            ("9#2", false),
            ("[1,\"2\"]", false),
            ("a1", true),
            ("1834567890123456789", true),
            ("6f1e3c5a", true),
        ] {
            assert_eq!(proves_origin(key), wanted, "{key}");
        }
    }
}
