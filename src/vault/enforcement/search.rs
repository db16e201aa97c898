//! Search by words: finds what a grant covers and orders the hits (O6.8).

use rusqlite::{Connection as Sqlite, Row as SqlRow, params_from_iter};

use super::{Access, BY_CONSENT_TIME, BY_KEY, Filter, Row, Wanted};
use crate::vault::declaration::Field;
use crate::vault::fields::Fields;
use crate::vault::pace::Pace;
use crate::vault::store::{RowSet, word_index};
use crate::vault::words;

/// Up to this many found records are looked up one by one, instead of being compared with everything that a filter
/// keeps. Low in tests, which have few records.
const MOST_LOOKED_UP: usize = if cfg!(test) { 1 } else { 2_000 };
/// The cost of looking up a record, in steps along an index.
const LOOK_UP_COSTS: usize = if cfg!(test) { 2 } else { 16 };

/// What a search found in one access.
#[derive(Debug, Default)]
pub struct Matches {
    /// The records that have all words in their titles and actors.
    titled: RowSet,
    /// All other matches.
    rest: RowSet,
}

impl Matches {
    /// How many records there are.
    pub fn count(&self) -> usize {
        self.titled.len() + self.rest.len()
    }

    /// How many of them have all words in their titles and actors.
    pub fn titled(&self) -> usize {
        self.titled.len()
    }
}

/// The place of a hit in the order: first the hits with all words in titles and actors, then by time, newest first.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HitPosition {
    // A short name, because it is part of cursors, which models copy.
    #[serde(rename = "t")]
    is_titled: bool,
    #[serde(rename = "s")]
    sort: i64,
    #[serde(rename = "c")]
    connection: String,
    #[serde(rename = "m")]
    stream: String,
    #[serde(rename = "k")]
    key: String,
}

impl HitPosition {
    /// Whether all words are in titles and actors.
    pub const fn is_titled(&self) -> bool {
        self.is_titled
    }

    /// The time that it is sorted by, in milliseconds since 1970, if it has one that is granted.
    pub fn time_ms(&self) -> Option<i64> {
        (self.sort != i64::MIN).then_some(self.sort)
    }
}

impl Ord for HitPosition {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.is_titled.cmp(&self.is_titled))
            .then_with(|| other.sort.cmp(&self.sort))
            .then_with(|| (&self.connection, &self.stream).cmp(&(&other.connection, &other.stream)))
            .then_with(|| other.key.cmp(&self.key))
    }
}

impl PartialOrd for HitPosition {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// One full-text hit.
#[derive(Debug)]
pub struct Hit {
    /// The record.
    pub row: Row,
    /// Its place.
    pub at: HitPosition,
}

impl Access {
    /// The granted fields that full-text search covers.
    pub fn lexical(&self) -> Vec<&Field> {
        self.lexical.iter().filter_map(|(_, name)| self.field(name)).collect()
    }

    /// The records whose granted fields contain all of `query`.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn search(
        &self,
        db: &Sqlite,
        query: &words::Query,
        filter: &Filter,
        pace: &Pace<'_>,
    ) -> rusqlite::Result<Matches> {
        if self.lexical.is_empty() || query.is_empty() {
            return Ok(Matches::default());
        }
        if self.is_scanned() {
            return self.scan(db, query, filter);
        }
        if self.hides_rows() {
            pace.hide();
        }
        let tags: Vec<_> = self.lexical.iter().map(|(tag, name)| (*tag, self.is_title(name))).collect();
        let mut found = word_index::find(db, self.slot, query, &tags)?;
        if self.hides_rows() || !filter.sql.is_empty() {
            found.all.keep(&self.covered(db, filter, &found.all)?);
            found.first.keep(&found.all);
        }
        found.all.remove(&found.first);
        Ok(Matches { titled: found.first, rest: found.all })
    }

    /// Whether the words of this field say what a record is about, or who is involved.
    fn is_title(&self, field: &str) -> bool {
        let role = self.field(field).and_then(|field| field.role.as_deref());
        matches!(role, Some("primary-title" | "actor"))
    }

    /// A subset of `rows` that contains at least those that the grant and `filter` cover.
    fn covered(&self, db: &Sqlite, filter: &Filter, rows: &RowSet) -> rusqlite::Result<RowSet> {
        let are_few = rows.len() <= MOST_LOOKED_UP;
        let (sql, params) = if self.columns.is_some() && !self.hides_rows() {
            let (mut from, mut params) = self.rows(filter, Wanted::Columns);
            let all = format!("FROM value_{} v", self.slot);
            let last: Option<i64> =
                db.prepare_cached(&format!("SELECT max(v.rid) {all}"))?.query_row([], |row| row.get(0))?;
            let most = last.and_then(|last| usize::try_from(last).ok()).unwrap_or(0) / LOOK_UP_COSTS;
            // If most rows would be looked up, all are read one after the other instead.
            if are_few || rows.len() <= most {
                let found =
                    format!("FROM json_each(?) j CROSS JOIN value_{} v ON v.rid = j.value", self.slot);
                from = from.replacen(&all, &found, 1);
                params.insert(0, listed(rows).into());
            }
            (format!("SELECT v.rid {from}"), params)
        } else {
            let (condition, mut params) = self.condition();
            params.extend(filter.params.iter().cloned());
            let from = if are_few {
                params.insert(0, listed(rows).into());
                "json_each(?) j CROSS JOIN record r ON r.rid = j.value".to_owned()
            } else {
                format!("record r {}", self.index())
            };
            (format!("SELECT r.rid FROM {from} WHERE {condition}{}", filter.sql), params)
        };
        let mut statement = db.prepare_cached(&sql)?;
        statement.query_map(params_from_iter(params), |row| row.get(0))?.collect()
    }

    /// The covered records that contain the whole query, read one by one.
    fn scan(&self, db: &Sqlite, query: &words::Query, filter: &Filter) -> rusqlite::Result<Matches> {
        let (condition, mut params) = self.condition();
        params.extend(filter.params.iter().cloned());
        let sql = format!(
            "SELECT r.rid, whole(r.data, r.packed) FROM record r {} WHERE {condition}{}",
            self.index(),
            filter.sql
        );
        let mut statement = db.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(params))?;
        let mut found = Matches::default();
        while let Some(row) = rows.next()? {
            let fields = Fields::parse(row.get_ref(1)?.as_str()?);
            let texts = |is_wanted: &dyn Fn(&str) -> bool| -> Vec<_> {
                let names = self.lexical.iter().map(|(_, name)| name).filter(|name| is_wanted(name));
                names.filter_map(|name| fields.text(name)).collect()
            };
            if query.is_in(&texts(&|name| self.is_title(name))) {
                found.titled.insert(row.get(0)?);
            } else if query.is_in(&texts(&|_| true)) {
                found.rest.insert(row.get(0)?);
            }
        }
        Ok(found)
    }

    /// Up to `most` of the records that a search found, in the order of hits, after `after`.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn hits(
        &self,
        db: &Sqlite,
        matches: &Matches,
        after: Option<&HitPosition>,
        most: usize,
    ) -> rusqlite::Result<Vec<Hit>> {
        let mut hits = Vec::new();
        let mut one = db.prepare_cached(&format!("SELECT {} FROM record r WHERE r.rid = ?", self.row()))?;
        for (is_titled, rows) in [(true, &matches.titled), (false, &matches.rest)] {
            // Hits with words in titles come before any place among the others.
            if hits.len() >= most || (is_titled && after.is_some_and(|after| !after.is_titled)) {
                continue;
            }
            let after = after.filter(|after| after.is_titled == is_titled);
            for (at, rid) in self.newest_hits(db, rows, is_titled, after, most - hits.len())? {
                hits.push(Hit { row: one.query_row([rid], Row::read)?, at });
            }
        }
        Ok(hits)
    }

    /// Up to `most` of `rows` after `after`, newest first.
    fn newest_hits(
        &self,
        db: &Sqlite,
        rows: &RowSet,
        is_titled: bool,
        after: Option<&HitPosition>,
        most: usize,
    ) -> rusqlite::Result<Vec<(HitPosition, i64)>> {
        let count = rows.len();
        if count == 0 {
            return Ok(Vec::new());
        }
        let place = |row: &SqlRow<'_>| {
            let at = HitPosition {
                is_titled,
                // In the order of pages, not of arrival, because that would show when a hidden record arrived.
                sort: if self.cursor_field().is_some() { row.get(1)? } else { i64::MIN },
                connection: self.connection.id.clone(),
                stream: self.stream.name.clone(),
                key: row.get(2)?,
            };
            Ok::<_, rusqlite::Error>((at, row.get(0)?))
        };
        let is_after = |at: &HitPosition| after.is_none_or(|after| at > after);
        let mut found = Vec::new();
        // If many records match, some of the newest do. So walk down from the newest, unless that would pass rows
        // that are never read.
        if !self.is_scanned() {
            let from = after.map_or(i64::MAX, |after| after.sort);
            let mut walk = db.prepare_cached(&self.walk())?;
            let mut walk = walk.query([self.slot, from])?;
            let mut steps = count.saturating_mul(LOOK_UP_COSTS);
            loop {
                let Some(row) = walk.next()? else { return Ok(found) };
                if rows.contains(row.get(0)?) {
                    found.extend(Some(place(row)?).filter(|(at, _)| is_after(at)));
                    if found.len() == most {
                        return Ok(found);
                    }
                }
                steps -= 1;
                if steps == 0 {
                    break;
                }
            }
            found.clear();
        }
        let one = format!("SELECT r.rid, {}, r.key FROM record r WHERE r.rid = ?", self.sort());
        let mut one = db.prepare_cached(&one)?;
        for rid in rows.iter() {
            found.extend(Some(one.query_row([rid], place)?).filter(|(at, _)| is_after(at)));
            if found.len() > most.saturating_add(MOST_LOOKED_UP) {
                found.sort_unstable();
                found.truncate(most);
            }
        }
        found.sort_unstable();
        found.truncate(most);
        Ok(found)
    }

    /// All records of the slot, newest first, from a place on.
    fn walk(&self) -> String {
        let (sort, index, order) = match (self.cursor_field(), self.is_by_consent_time()) {
            (Some(_), false) => (
                "r.sort",
                "INDEXED BY record_sort",
                "r.live = 1 AND r.sort <= ? ORDER BY r.sort DESC, r.key DESC",
            ),
            (Some(_), true) => (
                "r.consent_ms",
                BY_CONSENT_TIME,
                "r.live = 1 AND r.consent_ms <= ? ORDER BY r.consent_ms DESC, r.key DESC",
            ),
            // All of them have the same place in time.
            (None, _) => (self.sort(), BY_KEY, "? IS NOT NULL ORDER BY r.key DESC"),
        };
        format!("SELECT r.rid, {sort}, r.key FROM record r {index} WHERE r.slot = ? AND {order}")
    }
}

/// The rows as a JSON list.
fn listed(rows: &RowSet) -> String {
    let mut list = String::from("[");
    for row in rows.iter() {
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(&row.to_string());
    }
    list.push(']');
    list
}
