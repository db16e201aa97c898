//! The only place where a grant is enforced.
//!
//! An [`Access`] is one stream of one connection as a grant shows it. Only [`reach`] makes one, and all code that
//! reads records needs one. Rows that it does not cover are never selected, and a row's data leaves a [`Row`] only
//! through the access's projection. The rule has two halves, next to each other: SQL for what is stored now, and
//! `Access::covers` for former states.

mod few;
mod search;
mod sorted;
mod values;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::http::StatusCode;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection as Sqlite, OptionalExtension, Row as SqlRow, params_from_iter};
use serde_json::{Map, Value};

pub use self::few::FewValues;
pub use self::search::{Hit, HitPosition, Matches};
pub use self::sorted::SortedPosition;
pub use self::values::{Held, MOST_READ, Read, Texts};
use super::declaration::{Connector, Field, Relation, Stream};
use super::filter::path;
pub use super::filter::{Compare, Filter};
use super::grant::Grant;
use super::pace::Pace;
use super::store::blobs::{self, Blob};
use super::store::values::{Column, Columns, Encoding};
use super::store::{Catalog, Connection};
use super::wire::ApiError;
use super::{time, words};

/// The index of UNIQUE (slot, key).
const BY_KEY: &str = "INDEXED BY sqlite_autoindex_record_1";
const BY_CONSENT_TIME: &str = "INDEXED BY record_consent";
/// Looks rows up by their numbers.
const FOUND: &str = "NOT INDEXED";

/// Up to this many rows are sorted. More are read in order instead.
const FEW: i64 = 1_000;

/// A grant of more named records than this is searched with the index of words.
const MOST_SCANNED: usize = 10_000;
/// What a statement over covered rows reads of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Nothing, or only what is in the record itself.
    Nothing,
    /// Their columns.
    Columns,
}

/// Which part of a grant a request is about.
#[derive(Debug, Clone, Copy, Default)]
pub struct Selector<'a> {
    /// A stream's name.
    pub stream: Option<&'a str>,
    /// A connection's id.
    pub connection: Option<&'a str>,
    /// A connector's key.
    pub connector: Option<&'a str>,
}

/// One stream of one connection, as a grant shows it.
#[derive(Debug, Clone)]
pub struct Access {
    slot: i64,
    connection: Arc<Connection>,
    connector: Arc<Connector>,
    stream: Arc<Stream>,
    fields: BTreeSet<String>,
    /// The granted fields that full-text search covers, with the tags of their terms. No query can name the tags of
    /// other fields.
    lexical: Vec<(words::Tag, String)>,
    /// Where the values of the slot's fields are stored. Use [`Access::column`].
    columns: Option<Arc<Columns>>,
    since: Option<i64>,
    until: Option<i64>,
    resources: Option<BTreeSet<String>>,
}

/// Everything in `grant` that matches `selector`, in the catalog's order.
///
/// # Errors
/// Returns `grant_expired`; `context.stream_not_allowed` or `context.instance_mismatch` if nothing in the grant
/// matches, whether or not the provider has it.
pub fn reach(grant: &Grant, catalog: &Catalog, selector: Selector<'_>) -> Result<Vec<Access>, ApiError> {
    if grant.is_expired(time::now_ms()) {
        return Err(ApiError::new(StatusCode::FORBIDDEN, "grant_expired", "The grant has expired"));
    }
    let mut reached = Vec::new();
    let (mut knows_stream, mut knows_connection) = (false, false);
    for connector in &catalog.connectors {
        for stream in &connector.streams {
            for connection in catalog.connections_of(&connector.key) {
                let Some(granted) = grant.streams.iter().find(|granted| {
                    granted.name == stream.name
                        && grant.source_of(granted).id == connector.id
                        && granted.instance_ids.contains(&connection.id)
                }) else {
                    continue;
                };
                let Some(slot) = catalog.slot(&connection.id, &stream.name) else { continue };
                let is_stream = selector.stream.is_none_or(|name| name == stream.name);
                let is_connection = selector.connection.is_none_or(|id| id == connection.id)
                    && selector.connector.is_none_or(|key| key == connector.key);
                knows_stream |= is_stream;
                knows_connection |= is_connection;
                if is_stream && is_connection {
                    let (since, until) = granted.period();
                    // Not simply the fields that the grant names, because the grant may be older than the current
                    // declaration of a field.
                    let given = granted.fields.iter().filter(|name| stream.gives(name, until.is_some()));
                    let fields: BTreeSet<String> = given.cloned().collect();
                    let lexical = stream.lexical_fields().filter(|field| fields.contains(&field.name));
                    reached.push(Access {
                        slot,
                        connection: Arc::clone(connection),
                        connector: Arc::clone(connector),
                        stream: Arc::clone(stream),
                        lexical: lexical
                            .filter_map(|field| Some((catalog.tag(slot, &field.name)?, field.name.clone())))
                            .collect(),
                        columns: catalog.columns(slot).cloned(),
                        fields,
                        since,
                        until,
                        resources: granted.resources.as_ref().map(|keys| keys.iter().cloned().collect()),
                    });
                }
            }
        }
    }
    // The reference answers 401 here too: the argument is wrong, although the token is valid.
    if selector.stream.is_some() && !knows_stream {
        return Err(ApiError::challenge(
            "context.stream_not_allowed",
            "The grant does not include this stream",
        ));
    }
    if (selector.connection.is_some() || selector.connector.is_some())
        && (!knows_connection || (selector.stream.is_some() && reached.is_empty()))
    {
        return Err(ApiError::challenge(
            "context.instance_mismatch",
            "The grant does not include this connection",
        ));
    }
    Ok(reached)
}

/// A record as it is stored. Its data can be read only through [`Access::project`].
#[derive(Debug, Clone)]
pub struct Row {
    /// Its key.
    pub key: String,
    /// When it was collected, in milliseconds.
    pub emitted_ms: i64,
    sort: i64,
    data: String,
}

impl Row {
    fn read(row: &SqlRow<'_>) -> rusqlite::Result<Self> {
        Ok(Self { key: row.get(0)?, emitted_ms: row.get(1)?, sort: row.get(2)?, data: row.get(3)? })
    }
}

/// Where a page ended: the last row's place in the order.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Position {
    sort: i64,
    key: String,
    connection: String,
}

/// Where a page of changes ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct ChangePosition {
    key: String,
    connection: String,
}

/// The order of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Oldest first.
    Ascending,
    /// Newest first.
    Descending,
}

impl Order {
    /// Compares two places. Rows without a cursor value come last either way, as the draft asks.
    pub fn compare(self, left: &Position, right: &Position) -> std::cmp::Ordering {
        let unsorted = |place: &Position| place.sort == i64::MIN;
        let natural =
            (left.sort, &left.key, &left.connection).cmp(&(right.sort, &right.key, &right.connection));
        unsorted(left).cmp(&unsorted(right)).then(match self {
            Self::Ascending => natural,
            Self::Descending => natural.reverse(),
        })
    }
}

/// A change of a record, as a grant shows it.
#[derive(Debug, Clone)]
pub enum Change {
    /// It exists, and is new or different.
    Present(Row),
    /// It existed before and no longer does: it was deleted, or is now outside the grant. The answer does not say
    /// which.
    Gone {
        /// Its key.
        key: String,
        /// When that was collected, in milliseconds.
        emitted_ms: i64,
    },
}

impl Access {
    /// The connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The connector.
    pub fn connector(&self) -> &Connector {
        &self.connector
    }

    /// The stream's declaration. It lists declared fields, not granted ones; for those, use [`Access::field`].
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The granted field called `name`.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.contains(name).then(|| self.stream.field(name)).flatten()
    }

    /// The granted fields, in the order in which they are declared.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.stream.fields.iter().filter(|field| self.fields.contains(&field.name))
    }

    /// The declared fields that this grant leaves out because they reveal days after its last one.
    pub fn beyond(&self) -> impl Iterator<Item = &Field> {
        self.stream.spanning().filter(|_| self.until.is_some())
    }

    /// Whether pages are sorted by the time that the grant is about, because the stream's own order reveals days
    /// after the last one. For example, chats are sorted by their last messages.
    fn is_by_consent_time(&self) -> bool {
        let cursor = self.stream.cursor_field.as_deref();
        self.until.is_some() && cursor.is_some_and(|cursor| !self.stream.gives(cursor, true))
    }

    /// The field that pages are sorted by, if it is granted. An order by a hidden field would reveal its values.
    pub fn cursor_field(&self) -> Option<&str> {
        let Stream { cursor_field, consent_time_field, .. } = &*self.stream;
        let field = if self.is_by_consent_time() { consent_time_field } else { cursor_field };
        field.as_deref().filter(|name| self.fields.contains(*name))
    }

    /// The granted fields that records can be sorted by, beginning with the field that pages are sorted by; empty
    /// if no other field is declared as sortable.
    pub fn sort_fields(&self) -> Vec<&Field> {
        let declared = || self.fields().filter(|field| field.sort);
        if declared().next().is_none() {
            return Vec::new();
        }
        let cursor = self.cursor_field();
        let first = cursor.and_then(|name| self.field(name));
        let others = declared().filter(|field| Some(field.name.as_str()) != cursor);
        first.into_iter().chain(others).collect()
    }

    /// The column of a granted field, if its form matches the current declaration.
    fn column(&self, field: &Field) -> Option<Column> {
        let column = self.columns.as_ref()?.get(&self.field(&field.name)?.name)?;
        (Encoding::of(&self.stream, field) == Some(column.encoding)).then_some(*column)
    }

    /// Whether the grant leaves some of the stream's records out.
    const fn hides_rows(&self) -> bool {
        self.since.is_some() || self.until.is_some() || self.resources.is_some()
    }

    /// Whether the grant leaves some of the stream's fields out.
    fn hides_fields(&self) -> bool {
        self.fields.len() < self.stream.fields.len()
    }

    /// Whether the grant covers so few, named records that reading them all is faster than looking among all
    /// records.
    fn is_scanned(&self) -> bool {
        self.resources.as_ref().is_some_and(|keys| keys.len() <= MOST_SCANNED)
    }

    /// The index that finds the covered rows without touching others.
    const fn index(&self) -> &'static str {
        if self.resources.is_some() {
            BY_KEY
        } else if self.since.is_some() || self.until.is_some() {
            BY_CONSENT_TIME
        } else {
            "INDEXED BY record_sort"
        }
    }

    /// The column that pages are sorted by. Uses the equal column in the index of the covered rows, if that index
    /// is in order.
    fn sort(&self) -> &'static str {
        let is_consent_time = self.stream.cursor_field == self.stream.consent_time_field;
        if self.is_by_consent_time() || self.index() == BY_CONSENT_TIME && is_consent_time {
            "r.consent_ms"
        } else {
            "r.sort"
        }
    }

    /// What [`Row::read`] reads of a covered row.
    fn row(&self) -> String {
        format!("r.key, r.emitted_ms, {}, whole(r.data, r.packed)", self.sort())
    }

    /// The granted part of a row, narrowed to what `wanted` names. This is the only way out for data.
    pub fn project(&self, row: &Row, wanted: Option<&BTreeSet<String>>) -> Map<String, Value> {
        self.project_json(&row.data, wanted)
    }

    fn project_json(&self, json: &str, wanted: Option<&BTreeSet<String>>) -> Map<String, Value> {
        let mut data: Map<String, Value> = serde_json::from_str(json).unwrap_or_default();
        data.retain(|name, _| {
            self.fields.contains(name) && wanted.is_none_or(|wanted| wanted.contains(name))
        });
        data
    }

    /// Whether the grant covers a record with this key and consent time. [`Access::condition`] says the same in
    /// SQL.
    fn covers(&self, key: &str, consent_ms: Option<i64>) -> bool {
        let in_period = match (self.since, self.until) {
            (None, None) => true,
            (since, until) => consent_ms.is_some_and(|at| {
                since.is_none_or(|since| at >= since) && until.is_none_or(|until| at < until)
            }),
        };
        in_period && self.resources.as_ref().is_none_or(|keys| keys.contains(key))
    }

    /// The rows that the grant covers, as a condition over `record r`.
    fn condition(&self) -> (String, Vec<Sql>) {
        let mut sql = String::from("r.slot = ? AND r.live = 1");
        let mut params: Vec<Sql> = vec![self.slot.into()];
        if let Some(since) = self.since {
            sql.push_str(" AND r.consent_ms >= ?");
            params.push(since.into());
        }
        if let Some(until) = self.until {
            sql.push_str(" AND r.consent_ms < ?");
            params.push(until.into());
        }
        if let Some(keys) = &self.resources {
            sql.push_str(" AND r.key IN (SELECT value FROM json_each(?))");
            params.push(Value::from(keys.iter().cloned().collect::<Vec<_>>()).to_string().into());
        }
        (sql, params)
    }

    /// The covered rows that satisfy `more`, in this order. Sorts numbers, not whole records.
    #[allow(clippy::too_many_arguments, reason = "the parts of one statement")]
    fn query(
        &self,
        db: &Sqlite,
        index: &str,
        filter: &Filter,
        more: &str,
        order: &str,
        values: impl IntoIterator<Item = Sql>,
        limit: usize,
    ) -> rusqlite::Result<Vec<Row>> {
        let (condition, mut params) = self.condition();
        params.extend(filter.params.iter().cloned());
        params.extend(values);
        params.push(i64::try_from(limit).unwrap_or(i64::MAX).into());
        let sql = format!(
            "SELECT {} FROM record r WHERE r.rid IN (SELECT r.rid FROM record r {index} WHERE {condition}{}{more} \
             ORDER BY {order} LIMIT ?) ORDER BY {order}",
            self.row(),
            filter.sql,
        );
        let mut statement = db.prepare_cached(&sql)?;
        statement.query_map(params_from_iter(params), Row::read)?.collect()
    }

    /// The record with this key.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn get(&self, db: &Sqlite, key: &str, pace: &Pace<'_>) -> rusqlite::Result<Option<Row>> {
        if self.resources.as_ref().is_some_and(|keys| !keys.contains(key)) {
            return Ok(None);
        }
        let (condition, mut params) = self.condition();
        params.push(key.to_owned().into());
        let sql = format!("SELECT {} FROM record r WHERE {condition} AND r.key = ?", self.row());
        let found = db.prepare_cached(&sql)?.query_row(params_from_iter(params), Row::read).optional()?;
        if found.is_none() && self.hides_rows() {
            pace.hide();
        }
        Ok(found)
    }

    /// Up to `limit` records after `after`.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn page(
        &self,
        db: &Sqlite,
        filter: &Filter,
        order: Order,
        after: Option<&Position>,
        limit: usize,
    ) -> rusqlite::Result<Vec<Row>> {
        let (word, sign) = match order {
            Order::Ascending => ("ASC", ">"),
            Order::Descending => ("DESC", "<"),
        };
        // If two rows differ in place only by their connection, the connection decides. It is constant within this
        // access, so it turns "before" into "at or before".
        let including = after.is_some_and(|after| match order {
            Order::Ascending => self.connection.id > after.connection,
            Order::Descending => self.connection.id < after.connection,
        });
        let sign = if including { format!("{sign}=") } else { sign.to_owned() };
        let few = self.few(db, filter)?;
        let filter = few.as_ref().unwrap_or(filter);
        let by_key = format!("r.key {word}");
        // A place among sorted rows of another connection comes before all rows without a sort value.
        let unsorted = after.filter(|after| after.sort == i64::MIN);
        let after_key = || match unsorted {
            Some(after) => (format!(" AND r.key {sign} ?"), Some(Sql::from(after.key.clone()))),
            None => (String::new(), None),
        };
        if self.cursor_field().is_none() {
            let (more, key) = after_key();
            let index = match few {
                Some(_) => FOUND,
                None if self.hides_rows() => self.index(),
                None => BY_KEY,
            };
            return self.query(db, index, filter, &more, &by_key, key, limit);
        }
        let (sort, index) = (self.sort(), if few.is_some() { FOUND } else { self.index() });
        let mut rows = Vec::new();
        if unsorted.is_none() {
            let following = after.map(|_| format!(" AND ({sort}, r.key) {sign} (?, ?)"));
            let more = format!(" AND {sort} > ?{}", following.unwrap_or_default());
            let mut values = vec![Sql::from(i64::MIN)];
            if let Some(after) = after {
                values.extend([after.sort.into(), after.key.clone().into()]);
            }
            rows =
                self.query(db, index, filter, &more, &format!("{sort} {word}, {by_key}"), values, limit)?;
        }
        if rows.len() < limit {
            let (more, key) = after_key();
            let values = std::iter::once(Sql::from(i64::MIN)).chain(key);
            let rest = limit - rows.len();
            rows.extend(self.query(
                db,
                index,
                filter,
                &format!(" AND {sort} = ?{more}"),
                &by_key,
                values,
                rest,
            )?);
        }
        Ok(rows)
    }

    /// Returns the numbers of the rows that satisfy `filter`, if they are few and found by columns. They are then
    /// sorted, instead of reading all rows in order until a page is full.
    fn few(&self, db: &Sqlite, filter: &Filter) -> rusqlite::Result<Option<Filter>> {
        if self.hides_rows() || filter.columns.sql.is_empty() || filter.is_by_time {
            return Ok(None);
        }
        let (rows, mut params) = self.rows(filter, Wanted::Columns);
        params.push((FEW + 1).into());
        let mut found = db.prepare_cached(&format!("SELECT v.rid {rows} LIMIT ?"))?;
        let found = found.query_map(params_from_iter(params), |row| row.get(0))?;
        let found: Vec<i64> = found.collect::<rusqlite::Result<_>>()?;
        Ok(i64::try_from(found.len()).is_ok_and(|count| count <= FEW).then(|| Filter::named(&found)))
    }

    /// The place of a row in the order of all rows.
    pub fn position(&self, row: &Row) -> Position {
        let sort = if self.cursor_field().is_some() { row.sort } else { i64::MIN };
        Position { sort, key: row.key.clone(), connection: self.connection.id.clone() }
    }

    /// How many records there are.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn count(&self, db: &Sqlite, filter: &Filter) -> rusqlite::Result<u64> {
        if let (Some((number, json)), false) = (&filter.listed, self.hides_rows()) {
            let sql =
                "SELECT coalesce(sum(records), 0) FROM value_text WHERE slot = ? AND number = ? AND json = ?";
            return db
                .prepare_cached(sql)?
                .query_row(rusqlite::params![self.slot, number, json], |row| count(row, 0));
        }
        let (rows, params) = self.rows(filter, Wanted::Nothing);
        db.prepare_cached(&format!("SELECT count(*) {rows}"))?
            .query_row(params_from_iter(params), |row| count(row, 0))
    }

    /// The covered rows that satisfy `filter`, as the end of a statement from `FROM` on. It reads `record r`, the
    /// columns `v` stored next to it, or both; always the columns if they are `wanted`.
    ///
    /// It begins with the columns if all records are covered. Scanning them is fast, except for a time, which has
    /// an index. A grant of part of the records begins with what it covers.
    fn rows(&self, filter: &Filter, wanted: Wanted) -> (String, Vec<Sql>) {
        let slot = self.slot;
        let (columns, rows) = (&filter.columns, &filter.rows);
        let is_of_columns = wanted == Wanted::Columns
            || !filter.is_by_time && (!columns.sql.is_empty() || rows.sql.is_empty());
        if is_of_columns && self.columns.is_some() && !self.hides_rows() {
            let join = if rows.sql.is_empty() { "" } else { "CROSS JOIN record r ON r.rid = v.rid" };
            let conditions = format!("{}{}", columns.sql, rows.sql).replacen(" AND ", " WHERE ", 1);
            let params = columns.params.iter().chain(&rows.params).cloned().collect();
            return (format!("FROM value_{slot} v {join}{conditions}"), params);
        }
        let join = match wanted {
            Wanted::Columns => format!("CROSS JOIN value_{slot} v ON v.rid = r.rid"),
            Wanted::Nothing => String::new(),
        };
        let (condition, mut params) = self.condition();
        params.extend(filter.params.iter().cloned());
        (format!("FROM record r {} {join} WHERE {condition}{}", self.index(), filter.sql), params)
    }

    /// When the newest record was collected, in milliseconds.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn last_emitted(&self, db: &Sqlite) -> rusqlite::Result<Option<i64>> {
        let (condition, params) = self.condition();
        let sql = format!("SELECT max(r.emitted_ms) FROM record r {} WHERE {condition}", self.index());
        db.prepare_cached(&sql)?.query_row(params_from_iter(params), |row| row.get(0))
    }

    /// The time of the newest covered record that is not after `until`, in milliseconds; `None` if the time is not
    /// granted.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn newest(&self, db: &Sqlite, until: i64) -> rusqlite::Result<Option<i64>> {
        if self.cursor_field().is_none() {
            return Ok(None);
        }
        let (condition, mut params) = self.condition();
        params.push(until.into());
        let (sort, index) = (self.sort(), self.index());
        let sql = format!("SELECT max({sort}) FROM record r {index} WHERE {condition} AND {sort} <= ?");
        let newest: Option<i64> =
            db.prepare_cached(&sql)?.query_row(params_from_iter(params), |row| row.get(0))?;
        Ok(newest.filter(|newest| *newest != i64::MIN))
    }

    /// A condition over granted fields; `None` if a field does not declare it.
    pub fn filter(&self, conditions: &[(String, Compare, String)]) -> Option<Filter> {
        let mut filter = Filter::default();
        for (name, compare, value) in conditions {
            let field = self.field(name)?;
            if !compare.is_declared(field) {
                return None;
            }
            filter.add(self.slot, self.column(field), field, *compare, value);
        }
        Some(filter)
    }

    /// The records of this access whose `foreign_key` names `key`: the other end of a relation. For a parent, the
    /// one record with that key.
    ///
    /// # Errors
    /// Returns the errors of SQLite, or an error if the foreign key is not granted, because a match would reveal
    /// it.
    pub fn related(
        &self,
        db: &Sqlite,
        relation: &Relation,
        key: &str,
        limit: usize,
        pace: &Pace<'_>,
    ) -> rusqlite::Result<Vec<Row>> {
        if relation.local_key.is_none() && !self.fields.contains(&relation.foreign_key) {
            return Err(rusqlite::Error::InvalidParameterName(relation.foreign_key.clone()));
        }
        if relation.local_key.is_some() {
            return self.get(db, key, pace).map(|row| row.into_iter().collect());
        }
        if self.hides_rows() {
            pace.hide();
        }
        self.query(
            db,
            // Begins with the other end of the relation.
            "",
            &Filter::default(),
            " AND r.rid IN (SELECT f.rid FROM foreign_key f WHERE f.slot = ? AND f.field = ? AND f.value = ?)",
            "r.key",
            [self.slot.into(), relation.foreign_key.clone().into(), key.to_owned().into()],
            limit,
        )
    }

    /// What changed after `since` and up to `horizon`, in the order of keys, at most `limit` changes after `after`.
    /// A `since` of 0 means the beginning.
    ///
    /// A change counts only if the part of the record that the grant shows has changed (draft §8). A change of
    /// hidden fields only, or of a record that was never shown, does not count. The changes are not in their own
    /// order either, because it would reveal which record a hidden change affected.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn changes(
        &self,
        db: &Sqlite,
        since: i64,
        horizon: i64,
        after: Option<&ChangePosition>,
        limit: usize,
        pace: &Pace<'_>,
    ) -> rusqlite::Result<Vec<(ChangePosition, Change)>> {
        // Changes of hidden fields are read too, because only a comparison shows that they are hidden.
        if self.hides_rows() || self.hides_fields() {
            pace.hide();
        }
        let mut changes = Vec::new();
        // If two connections have the same key, the one whose id comes first precedes.
        let sign = if after.is_some_and(|after| self.connection.id > after.connection) { ">=" } else { ">" };
        let mut rows = db.prepare_cached(&format!(
            "SELECT r.key, r.emitted_ms, r.sort, whole(r.data, r.packed), r.consent_ms FROM record r
             WHERE r.slot = ?1 AND r.seq > ?2 AND r.seq <= ?3 AND (?4 IS NULL OR r.key {sign} ?4) ORDER BY r.key",
        ))?;
        let mut former = db.prepare_cached(
            "SELECT consent_ms, whole(data, packed) FROM history WHERE slot = ?1 AND key = ?2 AND from_seq <= ?3 AND to_seq > ?3",
        )?;
        let from = after.map(|after| after.key.as_str());
        let mut rows = rows.query(rusqlite::params![self.slot, since, horizon, from])?;
        while let Some(row) = rows.next()? {
            if changes.len() >= limit {
                break;
            }
            let (key, emitted_ms): (String, i64) = (row.get(0)?, row.get(1)?);
            let (data, consent): (Option<String>, Option<i64>) = (row.get(3)?, row.get(4)?);
            let shown = |consent, data: Option<&str>| {
                data.filter(|_| self.covers(&key, consent)).map(|data| self.project_json(data, None))
            };
            let now = shown(consent, data.as_deref());
            let then = former
                .query_row(rusqlite::params![self.slot, key, since], |row| {
                    Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<String>>(1)?))
                })
                .optional()?
                .and_then(|(consent, data)| shown(consent, data.as_deref()));
            let at = ChangePosition { key: key.clone(), connection: self.connection.id.clone() };
            match (then, now) {
                (then, Some(now)) if then.as_ref() != Some(&now) => {
                    changes.push((at, Change::Present(Row::read(row)?)));
                }
                (Some(_), None) => changes.push((at, Change::Gone { key, emitted_ms })),
                _ => {}
            }
        }
        Ok(changes)
    }

    /// The text of a granted field of a row, if its value is text.
    pub fn text(&self, row: &Row, field: &str) -> Option<String> {
        self.field(field)?;
        super::fields::Fields::parse(&row.data).text(field).map(std::borrow::Cow::into_owned)
    }

    /// The blob `id`, if a record of this access names it in a granted field.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn blob(&self, db: &Sqlite, id: &str, pace: &Pace<'_>) -> rusqlite::Result<Option<Blob>> {
        // Hidden records and fields can name the blob too.
        if self.hides_rows() || self.hides_fields() {
            pace.hide();
        }
        let mut references =
            db.prepare_cached("SELECT key, field FROM blob_reference WHERE blob_id = ?1 AND slot = ?2")?;
        let references = references.query_map(rusqlite::params![id, self.slot], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        for reference in references {
            let (key, field) = reference?;
            if self.field(&field).is_none() {
                continue;
            }
            let Some(row) = self.get(db, &key, pace)? else { continue };
            // The reference may belong to a former state.
            let named = self.project(&row, None).get(&field).and_then(|value| value.get("blob_id").cloned());
            if named.as_ref().and_then(Value::as_str) != Some(id) {
                continue;
            }
            return blobs::find(db, id);
        }
        Ok(None)
    }
}

fn count(row: &SqlRow<'_>, at: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(at)?).unwrap_or(0))
}

/// Accesses grouped by connector and stream, for answers with one row for several connections.
pub fn by_stream(reached: Vec<Access>) -> Vec<Vec<Access>> {
    let mut groups: Vec<Vec<Access>> = Vec::new();
    for access in reached {
        let same = |group: &Vec<Access>| {
            group.first().is_some_and(|first| {
                first.connector.key == access.connector.key && first.stream.name == access.stream.name
            })
        };
        match groups.iter().position(same) {
            Some(at) => groups[at].push(access),
            None => groups.push(vec![access]),
        }
    }
    groups
}
