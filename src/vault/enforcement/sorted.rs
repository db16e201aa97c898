//! Records in the order of a field that declares sorting (O6.2). Values are read from the columns stored next to
//! the records; of the records themselves, only those to show are read.

use std::collections::{BTreeMap, BinaryHeap};

use rusqlite::{Connection as Sqlite, params_from_iter};

use super::values::{Read, Texts};
use super::{Access, BY_KEY, Filter, Order, Row};
use crate::vault::declaration::Field;
use crate::vault::sorting::SortValue;
use crate::vault::store::RowSet;

/// Up to this many rows with one value are looked up by their numbers. More are searched for along the keys. Low in
/// tests, which have few records.
const MOST_LOOKED_UP: usize = if cfg!(test) { 2 } else { 500 };
/// The cost of looking up a row, in steps along an index.
const LOOK_UP_COSTS: usize = if cfg!(test) { 2 } else { 16 };

/// The place of a record in the order of a field.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SortedPosition {
    #[serde(rename = "v")]
    value: Option<SortValue>,
    #[serde(rename = "k")]
    key: String,
    #[serde(rename = "c")]
    connection: String,
}

impl SortedPosition {
    /// Its value; `None` sorts last.
    pub const fn value(&self) -> Option<&SortValue> {
        self.value.as_ref()
    }
}

impl Order {
    /// Compares two places. Records without a value always come last. Between equal values, the key decides.
    pub fn compare_values(self, left: &SortedPosition, right: &SortedPosition) -> std::cmp::Ordering {
        let natural =
            (&left.value, &left.key, &left.connection).cmp(&(&right.value, &right.key, &right.connection));
        left.value.is_none().cmp(&right.value.is_none()).then(match self {
            Self::Ascending => natural,
            Self::Descending => natural.reverse(),
        })
    }

    /// Whether a value comes after another one.
    fn is_behind(self, value: &SortValue, other: &SortValue) -> bool {
        match self {
            Self::Ascending => value > other,
            Self::Descending => value < other,
        }
    }
}

/// The rows with the first values: a limited number of them, plus all that share the last of these values.
struct First {
    order: Order,
    most: usize,
    rows: BTreeMap<SortValue, Vec<i64>>,
    count: usize,
}

impl First {
    fn add(&mut self, value: &SortValue, rid: i64) {
        let last = match self.order {
            Order::Ascending => self.rows.last_entry(),
            Order::Descending => self.rows.first_entry(),
        };
        if self.count >= self.most && last.is_some_and(|last| self.order.is_behind(value, last.key())) {
            return;
        }
        match self.rows.get_mut(value) {
            Some(rows) => rows.push(rid),
            None => drop(self.rows.insert(value.clone(), vec![rid])),
        }
        self.count += 1;
        loop {
            let last = match self.order {
                Order::Ascending => self.rows.last_entry(),
                Order::Descending => self.rows.first_entry(),
            };
            let Some(last) = last.filter(|last| self.count - last.get().len() >= self.most) else { return };
            self.count -= last.remove().len();
        }
    }

    fn in_order(self) -> Vec<(SortValue, Vec<i64>)> {
        let mut rows: Vec<_> = self.rows.into_iter().collect();
        if self.order == Order::Descending {
            rows.reverse();
        }
        rows
    }
}

/// A key. The first in an order is the least.
#[derive(PartialEq, Eq)]
struct Keyed(Order, String, i64);

impl Ord for Keyed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match self.0 {
            Order::Ascending => self.1.cmp(&other.1),
            Order::Descending => other.1.cmp(&self.1),
        }
    }
}

impl PartialOrd for Keyed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Access {
    /// Up to `limit` of the covered records that satisfy `filter`, in the order of `field`, after `after`.
    ///
    /// # Errors
    /// Returns the errors of SQLite, or an error if the field is not granted, because the order would reveal its
    /// values.
    pub fn sorted(
        &self,
        db: &Sqlite,
        filter: &Filter,
        (field, order): (&Field, Order),
        after: Option<&SortedPosition>,
        limit: usize,
    ) -> rusqlite::Result<Vec<(SortedPosition, Row)>> {
        let mut first = First { order, most: limit, rows: BTreeMap::new(), count: 0 };
        // The rows with the value at which the last page ended, and the rows without a value.
        let (mut beside, mut absent) = (Vec::new(), Vec::new());
        let mut texts = Texts::default();
        self.each_held(db, filter, &[(field, Read::Order)], |rid, held| {
            let Some(held) = held.first() else { return Ok(()) };
            match (texts.order(db, field, *held)?, after.map(SortedPosition::value)) {
                (None, _) => absent.push(rid),
                // After a row without a value, no row has a value.
                (Some(_), Some(None)) => {}
                (Some(value), Some(Some(after))) if *value == *after => beside.push(rid),
                (Some(value), Some(Some(after))) if order.is_behind(after, &value) => {}
                (Some(value), _) => first.add(&value, rid),
            }
            Ok(())
        })?;
        let after_key = after.map(|after| {
            let including = match order {
                Order::Ascending => self.connection.id > after.connection,
                Order::Descending => self.connection.id < after.connection,
            };
            (after.key.as_str(), including)
        });
        let (of_beside, of_absent) = match after {
            Some(after) if after.value.is_some() => (after_key, None),
            _ => (None, after_key),
        };
        let mut found: Vec<(Option<SortValue>, String, i64)> = Vec::new();
        let beside_value = after.and_then(|after| after.value.clone());
        let groups = std::iter::once((beside_value, beside, of_beside))
            .chain(first.in_order().into_iter().map(|(value, rows)| (Some(value), rows, None)))
            .chain(std::iter::once((None, absent, of_absent)));
        for (value, rows, after) in groups {
            if found.len() >= limit {
                break;
            }
            for (key, rid) in self.by_key(db, &rows, order, after, limit - found.len())? {
                found.push((value.clone(), key, rid));
            }
        }
        let mut one = db.prepare_cached(&format!("SELECT {} FROM record r WHERE r.rid = ?", self.row()))?;
        let connection = &self.connection.id;
        found
            .into_iter()
            .map(|(value, key, rid)| {
                let at = SortedPosition { value, key, connection: connection.clone() };
                Ok((at, one.query_row([rid], Row::read)?))
            })
            .collect()
    }

    /// Up to `most` of these covered rows in the order of their keys, after a given one.
    fn by_key(
        &self,
        db: &Sqlite,
        rows: &[i64],
        order: Order,
        after: Option<(&str, bool)>,
        most: usize,
    ) -> rusqlite::Result<Vec<(String, i64)>> {
        let is_after = |key: &str| {
            after.is_none_or(|(after, including)| match key.cmp(after) {
                std::cmp::Ordering::Equal => including,
                than => (than == std::cmp::Ordering::Greater) == (order == Order::Ascending),
            })
        };
        // If many rows share a value, some of the next keys have it. If rows are hidden, this would look at hidden
        // rows too.
        if rows.len() > MOST_LOOKED_UP && !self.hides_rows() {
            let wanted: RowSet = rows.iter().copied().collect();
            let mut found = Vec::new();
            let (sign, word) = match order {
                Order::Ascending => (">=", "ASC"),
                Order::Descending => ("<=", "DESC"),
            };
            let from = after.map_or_else(String::new, |_| format!(" AND r.key {sign} ?"));
            let sql = format!(
                "SELECT r.key, r.rid FROM record r {BY_KEY} WHERE r.slot = ?{from} ORDER BY r.key {word}"
            );
            let mut walk = db.prepare_cached(&sql)?;
            let params = std::iter::once(self.slot.into()).chain(after.map(|(key, _)| key.to_owned().into()));
            let mut walk =
                walk.query(params_from_iter::<_>(params.collect::<Vec<rusqlite::types::Value>>()))?;
            let mut steps = rows.len().saturating_mul(LOOK_UP_COSTS);
            while steps > 0 {
                let Some(row) = walk.next()? else { return Ok(found) };
                if wanted.contains(row.get(1)?) {
                    let key: String = row.get(0)?;
                    if is_after(&key) {
                        found.push((key, row.get(1)?));
                        if found.len() >= most {
                            return Ok(found);
                        }
                    }
                }
                steps -= 1;
            }
        }
        let mut one = db.prepare_cached("SELECT r.key FROM record r WHERE r.rid = ?")?;
        // The greatest of the kept ones is on top, so that it can make room for a smaller one.
        let mut kept: BinaryHeap<Keyed> = BinaryHeap::new();
        for rid in rows {
            let key: String = one.query_row([rid], |row| row.get(0))?;
            if is_after(&key) {
                kept.push(Keyed(order, key, *rid));
                if kept.len() > most {
                    kept.pop();
                }
            }
        }
        Ok(kept.into_sorted_vec().into_iter().map(|Keyed(_, key, rid)| (key, rid)).collect())
    }
}
