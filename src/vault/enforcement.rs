//! The one place where a grant is enforced.
//!
//! An [`Access`] is one stream of one connection as a grant lets it be seen. Only [`reach`] makes one,
//! and everything that reads records takes one: rows that it does not cover are never selected, and
//! a row's data leaves a [`Row`] only through the access's projection. The two halves of the rule,
//! SQL for what is stored now and `Access::covers` for what was stored before, stand side by side.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use axum::http::StatusCode;
use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection as Sqlite, OptionalExtension, Row as SqlRow, params_from_iter};
use serde_json::{Map, Value};

use super::declaration::{Connector, Field, Relation, Stream};
use super::filter::path;
pub use super::filter::{Compare, Filter};
use super::grant::Grant;
use super::pace::Pace;
use super::store::blobs::{self, Blob};
use super::store::values::{Column, Columns, Encoding};
use super::store::{Catalog, Connection, RowSet, word_index};
use super::wire::ApiError;
use super::{time, words};

/// The index of UNIQUE (slot, key).
const BY_KEY: &str = "INDEXED BY sqlite_autoindex_record_1";
const BY_CONSENT_TIME: &str = "INDEXED BY record_consent";
/// By their numbers.
const FOUND: &str = "NOT INDEXED";

/// So many rows are put in order rather than gone through in it.
const FEW: i64 = 1_000;

/// A grant of more named records than these is searched by the index of words.
const MOST_SCANNED: usize = 10_000;
/// Found records up to this many are looked at one by one, and not for being among all that a filter leaves. Tests have few.
const MOST_LOOKED_UP: usize = if cfg!(test) { 1 } else { 2_000 };
/// To look a record up takes as long as so many steps along an index.
const LOOK_UP_COSTS: usize = if cfg!(test) { 2 } else { 16 };

/// What a statement over covered rows reads of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Nothing, or what stands in the record itself.
    Nothing,
    /// Their columns.
    Columns,
}

/// What a request is about.
#[derive(Debug, Clone, Copy, Default)]
pub struct Selector<'a> {
    /// A stream's name.
    pub stream: Option<&'a str>,
    /// A connection's id.
    pub connection: Option<&'a str>,
    /// A connector's key.
    pub connector: Option<&'a str>,
}

/// One stream of one connection, as a grant lets it be seen.
#[derive(Debug, Clone)]
pub struct Access {
    slot: i64,
    connection: Arc<Connection>,
    connector: Arc<Connector>,
    stream: Arc<Stream>,
    fields: BTreeSet<String>,
    /// The granted fields that full-text search covers, with the tags of their terms: no query can name those of others.
    lexical: Vec<(words::Tag, String)>,
    /// Where the values of the slot's fields are kept: ask [`Access::column`].
    columns: Option<Arc<Columns>>,
    since: Option<i64>,
    until: Option<i64>,
    resources: Option<BTreeSet<String>>,
}

/// Everything of `grant` that `selector` is about, in the catalog's order.
///
/// # Errors
/// `grant_expired`; `context.stream_not_allowed` or `context.instance_mismatch` where the grant has
/// nothing of the kind, whether or not the provider does.
pub fn reach(grant: &Grant, catalog: &Catalog, selector: Selector<'_>) -> Result<Vec<Access>, ApiError> {
    if grant.is_expired(time::now_ms()) {
        return Err(ApiError::new(StatusCode::FORBIDDEN, "grant_expired", "Grant has expired"));
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
                    let fields: BTreeSet<String> =
                        granted.fields.iter().filter(|name| stream.field(name).is_some()).cloned().collect();
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
    // The reference answers 401 here too: a wrong argument, not a dead token.
    if selector.stream.is_some() && !knows_stream {
        return Err(ApiError::challenge("context.stream_not_allowed", "The grant has no such stream"));
    }
    if (selector.connection.is_some() || selector.connector.is_some())
        && (!knows_connection || (selector.stream.is_some() && reached.is_empty()))
    {
        return Err(ApiError::challenge("context.instance_mismatch", "The grant has no such connection"));
    }
    Ok(reached)
}

/// A record as it is stored. Its data comes out through [`Access::project`] only.
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
    const COLUMNS: &'static str = "r.key, r.emitted_ms, r.sort, whole(r.data, r.packed)";

    fn read(row: &SqlRow<'_>) -> rusqlite::Result<Self> {
        Ok(Self { key: row.get(0)?, emitted_ms: row.get(1)?, sort: row.get(2)?, data: row.get(3)? })
    }
}

/// Where a page ended: the last row's place in the order of all.
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
    /// It is there, and new or different.
    Present(Row),
    /// It was there and is not any more: deleted, or outside the grant now. Nobody is told which.
    Gone {
        /// Its key.
        key: String,
        /// When that was collected, in milliseconds.
        emitted_ms: i64,
    },
}

/// What a search found in one access.
#[derive(Debug, Default)]
pub struct Matches {
    /// The records that have all words in their titles and actors.
    titled: RowSet,
    /// All others.
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

/// The place of a hit in the order of all: those with all words in titles and actors first, then the newest.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HitPosition {
    // It stands in cursors, which models copy.
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

    /// The time that it is sorted by, in milliseconds since 1970, where it has one that is granted.
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
    /// The connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The connector.
    pub fn connector(&self) -> &Connector {
        &self.connector
    }

    /// The stream's declaration. Its fields are declared, not granted: ask [`Access::field`].
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The granted field called `name`.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.contains(name).then(|| self.stream.field(name)).flatten()
    }

    /// The granted fields, in the order they are declared.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.stream.fields.iter().filter(|field| self.fields.contains(&field.name))
    }

    /// The field that pages are sorted by, if it is granted: an order by a hidden field would show it.
    pub fn cursor_field(&self) -> Option<&str> {
        self.stream.cursor_field.as_deref().filter(|name| self.fields.contains(*name))
    }

    /// The column of a granted field, if it has the form that is declared now.
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

    /// Whether all that the grant covers is so little, and named, that it is read rather than looked up among all.
    fn is_scanned(&self) -> bool {
        self.resources.as_ref().is_some_and(|keys| keys.len() <= MOST_SCANNED)
    }

    /// Where the covered rows are found without others being looked at.
    const fn index(&self) -> &'static str {
        if self.resources.is_some() {
            BY_KEY
        } else if self.since.is_some() || self.until.is_some() {
            BY_CONSENT_TIME
        } else {
            "INDEXED BY record_sort"
        }
    }

    /// The column that pages are sorted by: what is the same in the index of the covered rows, where that is in order.
    fn sort(&self) -> &'static str {
        let is_consent_time = self.stream.cursor_field == self.stream.consent_time_field;
        if self.index() == BY_CONSENT_TIME && is_consent_time { "r.consent_ms" } else { "r.sort" }
    }

    /// The part of a row that is granted, and of that what `wanted` names; nothing else leaves here.
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

    /// Whether the grant covers a record with this key and consent time: what [`Access::condition`]
    /// says in SQL.
    fn covers(&self, key: &str, consent_ms: Option<i64>) -> bool {
        let in_period = match (self.since, self.until) {
            (None, None) => true,
            (since, until) => consent_ms.is_some_and(|at| {
                since.is_none_or(|since| at >= since) && until.is_none_or(|until| at < until)
            }),
        };
        in_period && self.resources.as_ref().is_none_or(|keys| keys.contains(key))
    }

    /// The rows the grant covers, as a condition over `record r`.
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

    /// The covered rows for which `more` holds, in this order. Numbers are sorted, not whole records.
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
            Row::COLUMNS,
            filter.sql,
        );
        let mut statement = db.prepare_cached(&sql)?;
        statement.query_map(params_from_iter(params), Row::read)?.collect()
    }

    /// The record with this key.
    ///
    /// # Errors
    /// Whatever SQLite says.
    pub fn get(&self, db: &Sqlite, key: &str, pace: &Pace<'_>) -> rusqlite::Result<Option<Row>> {
        if self.resources.as_ref().is_some_and(|keys| !keys.contains(key)) {
            return Ok(None);
        }
        let (condition, mut params) = self.condition();
        params.push(key.to_owned().into());
        let sql = format!("SELECT {} FROM record r WHERE {condition} AND r.key = ?", Row::COLUMNS);
        let found = db.prepare_cached(&sql)?.query_row(params_from_iter(params), Row::read).optional()?;
        if found.is_none() && self.hides_rows() {
            pace.hide();
        }
        Ok(found)
    }

    /// Up to `limit` records after `after`.
    ///
    /// # Errors
    /// Whatever SQLite says.
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
        // Of two rows with the same place but for the connection, the connection decides; in this
        // access that is a constant, so it turns "before" into "at or before".
        let including = after.is_some_and(|after| match order {
            Order::Ascending => self.connection.id > after.connection,
            Order::Descending => self.connection.id < after.connection,
        });
        let sign = if including { format!("{sign}=") } else { sign.to_owned() };
        let few = self.few(db, filter)?;
        let filter = few.as_ref().unwrap_or(filter);
        let by_key = format!("r.key {word}");
        // A place among sorted rows, of another connection, is before all that are not sorted.
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

    /// Names the rows for which `filter` holds, if those are few and found by columns: then they are put in order, instead of
    /// all being gone through in order until a page is full.
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

    /// The place of a row in the order of all.
    pub fn position(&self, row: &Row) -> Position {
        let sort = if self.cursor_field().is_some() { row.sort } else { i64::MIN };
        Position { sort, key: row.key.clone(), connection: self.connection.id.clone() }
    }

    /// How many records there are.
    ///
    /// # Errors
    /// Whatever SQLite says.
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

    /// The covered rows for which `filter` holds, as the end of a statement from `FROM` on, over `record r`, over the columns
    /// `v` beside it, or both; over the columns in any case where they are `wanted`.
    ///
    /// It begins with the columns where all records are covered: to go through those is quick, but for a time, which an index
    /// has. A grant of a part begins with what it covers.
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
    /// Whatever SQLite says.
    pub fn last_emitted(&self, db: &Sqlite) -> rusqlite::Result<Option<i64>> {
        let (condition, params) = self.condition();
        let sql = format!("SELECT max(r.emitted_ms) FROM record r {} WHERE {condition}", self.index());
        db.prepare_cached(&sql)?.query_row(params_from_iter(params), |row| row.get(0))
    }

    /// The time of the newest covered record that is not after `until`, in milliseconds: nothing where the time is not granted.
    ///
    /// # Errors
    /// Whatever SQLite says.
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

    /// The values of a granted field, as JSON text, each with how often it is there; `null` stands
    /// for an absent one.
    ///
    /// # Errors
    /// Whatever SQLite says; if the field is not granted.
    pub fn values(
        &self,
        db: &Sqlite,
        filter: &Filter,
        field: &Field,
    ) -> rusqlite::Result<Vec<(String, u64)>> {
        if self.field(&field.name).is_none() {
            return Err(rusqlite::Error::InvalidParameterName(field.name.clone()));
        }
        if let Some(Column { encoding, number }) = self.column(field) {
            match encoding {
                Encoding::Number => {
                    return self.tally(db, filter, number, |number| Ok(number.to_string()));
                }
                Encoding::Boolean => {
                    return self.tally(db, filter, number, |is| Ok((is == 1).to_string()));
                }
                Encoding::Listed if self.hides_rows() || !filter.sql.is_empty() => {
                    let mut text = db.prepare_cached("SELECT json FROM value_text WHERE id = ?")?;
                    return self
                        .tally(db, filter, number, |id| text.query_row([id], |row| row.get::<_, String>(0)));
                }
                Encoding::Listed => return self.listed(db, number),
                _ => {}
            }
        }
        self.values_of_data(db, filter, self.index(), field)
    }

    /// All shared texts of a column, and how many records have none.
    fn listed(&self, db: &Sqlite, number: u32) -> rusqlite::Result<Vec<(String, u64)>> {
        let mut all =
            db.prepare_cached("SELECT json, records FROM value_text WHERE slot = ? AND number = ?")?;
        let all = all.query_map((self.slot, number), |row| Ok((row.get::<_, String>(0)?, count(row, 1)?)))?;
        let mut all = all.collect::<rusqlite::Result<Vec<_>>>()?;
        let some: u64 = all.iter().map(|(_, count)| count).sum();
        let none = self.count(db, &Filter::default())?.saturating_sub(some);
        all.extend((none > 0).then(|| ("null".to_owned(), none)));
        Ok(all)
    }

    /// What is in a column, as JSON text: `json` says what a number there stands for.
    fn tally(
        &self,
        db: &Sqlite,
        filter: &Filter,
        number: u32,
        mut json: impl FnMut(i64) -> rusqlite::Result<String>,
    ) -> rusqlite::Result<Vec<(String, u64)>> {
        let (rows, params) = self.rows(filter, Wanted::Columns);
        let (mut numbers, mut others): (HashMap<i64, u64>, HashMap<String, u64>) = Default::default();
        let mut found = db.prepare_cached(&format!("SELECT v.c{number} {rows}"))?;
        let mut found = found.query(params_from_iter(params))?;
        while let Some(row) = found.next()? {
            *match row.get_ref(0)? {
                ValueRef::Integer(number) => numbers.entry(number).or_default(),
                ValueRef::Text(json) => others.entry(String::from_utf8_lossy(json).into_owned()).or_default(),
                _ => others.entry("null".to_owned()).or_default(),
            } += 1;
        }
        let numbers = numbers.into_iter().map(|(number, count)| Ok((json(number)?, count)));
        numbers.chain(others.into_iter().map(Ok)).collect()
    }

    /// The values of a field as the data has them.
    fn values_of_data(
        &self,
        db: &Sqlite,
        filter: &Filter,
        index: &str,
        field: &Field,
    ) -> rusqlite::Result<Vec<(String, u64)>> {
        let (condition, mut params) = self.condition();
        params.insert(0, path(&field.name).into());
        params.extend(filter.params.iter().cloned());
        let sql = format!(
            "SELECT coalesce(r.data -> ?, 'null') AS value, count(*) FROM record r {index} WHERE {condition}{} GROUP BY value",
            filter.sql
        );
        let mut statement = db.prepare_cached(&sql)?;
        statement.query_map(params_from_iter(params), |row| Ok((row.get(0)?, count(row, 1)?)))?.collect()
    }

    /// Where the milliseconds of a granted field of instants are. Where there are none, there is no integer, or the least.
    fn instant(&self, field: &Field) -> Option<(String, Wanted)> {
        let column = self.column(field)?;
        match column.encoding {
            Encoding::Sort if self.hides_rows() => Some(("r.sort".to_owned(), Wanted::Nothing)),
            Encoding::Consent if self.hides_rows() => Some(("r.consent_ms".to_owned(), Wanted::Nothing)),
            Encoding::Sort | Encoding::Consent | Encoding::Instant => {
                Some((format!("v.c{}", column.number), Wanted::Columns))
            }
            _ => None,
        }
    }

    /// Gives the instants of a granted field to `each`, in milliseconds, with how often each is there; those that are close
    /// mostly come together.
    ///
    /// # Errors
    /// Whatever SQLite says; if the field is not granted.
    pub fn instants(
        &self,
        db: &Sqlite,
        filter: &Filter,
        field: &Field,
        mut each: impl FnMut(i64, u64),
    ) -> rusqlite::Result<()> {
        let Some((instant, wanted)) = self.instant(field) else {
            for (json, count) in self.values(db, filter, field)? {
                let text: Option<String> = serde_json::from_str(&json).ok();
                text.and_then(|text| time::parse_ms(&text)).into_iter().for_each(|ms| each(ms, count));
            }
            return Ok(());
        };
        let (rows, params) = self.rows(filter, wanted);
        let mut found = db.prepare_cached(&format!("SELECT {instant} {rows}"))?;
        let mut found = found.query(params_from_iter(params))?;
        while let Some(row) = found.next()? {
            match row.get_ref(0)? {
                ValueRef::Integer(ms) if ms != i64::MIN => each(ms, 1),
                _ => {}
            }
        }
        Ok(())
    }

    /// Those [`Access::values`] of a granted field among which the least or the greatest is.
    ///
    /// # Errors
    /// Whatever SQLite says; if the field is not granted.
    pub fn extremes(
        &self,
        db: &Sqlite,
        filter: &Filter,
        field: &Field,
        is_greatest: bool,
    ) -> rusqlite::Result<Vec<(String, u64)>> {
        let (Some(column), Some(_)) = (self.column(field), self.instant(field)) else {
            return self.values(db, filter, field);
        };
        let mut all: Option<(i64, i64)> = None;
        self.instants(db, filter, field, |ms, _| {
            all = Some(all.map_or((ms, ms), |(least, greatest)| (least.min(ms), greatest.max(ms))));
        })?;
        let extreme = all.map(|(least, greatest)| if is_greatest { greatest } else { least });
        let mut those = filter.clone();
        those.add_extreme(self.slot, column.number, extreme);
        match self.few(db, &those)? {
            Some(few) => self.values_of_data(db, &few, FOUND, field),
            None => self.values_of_data(db, &those, self.index(), field),
        }
    }

    /// A condition over a granted field; `None` where the field does not declare it.
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

    /// The records of this access whose `foreign_key` names `key`: the other end of a relation.
    ///
    /// # Errors
    /// Whatever SQLite says; if the foreign key is not granted, because a match would tell it.
    pub fn related(
        &self,
        db: &Sqlite,
        relation: &Relation,
        key: &str,
        limit: usize,
        pace: &Pace<'_>,
    ) -> rusqlite::Result<Vec<Row>> {
        if !self.fields.contains(&relation.foreign_key) {
            return Err(rusqlite::Error::InvalidParameterName(relation.foreign_key.clone()));
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

    /// What changed after `since` and up to `horizon`, in the order of keys, at most `limit` after `after`.
    /// `since` 0 is the beginning.
    ///
    /// A change counts if what the grant shows of the record changed (draft §8): one that only touched
    /// hidden fields, or a record never shown, does not. The order is not that of the changes either:
    /// it would tell of a hidden change which record it was.
    ///
    /// # Errors
    /// Whatever SQLite says.
    pub fn changes(
        &self,
        db: &Sqlite,
        since: i64,
        horizon: i64,
        after: Option<&ChangePosition>,
        limit: usize,
        pace: &Pace<'_>,
    ) -> rusqlite::Result<Vec<(ChangePosition, Change)>> {
        // A change of a hidden field is read too, to see that it is one.
        if self.hides_rows() || self.hides_fields() {
            pace.hide();
        }
        let mut changes = Vec::new();
        // Of two connections with the same key, the one whose id comes first.
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

    /// The granted fields that full-text search covers.
    pub fn lexical(&self) -> Vec<&Field> {
        self.lexical.iter().filter_map(|(_, name)| self.field(name)).collect()
    }

    /// The records in whose granted fields all of `query` is found.
    ///
    /// # Errors
    /// Whatever SQLite says.
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

    /// Whether the words of this field say what a record is about, or whose it is.
    fn is_title(&self, field: &str) -> bool {
        let role = self.field(field).and_then(|field| field.role.as_deref());
        matches!(role, Some("primary-title" | "actor"))
    }

    /// Of `rows` at least those that the grant and `filter` cover.
    fn covered(&self, db: &Sqlite, filter: &Filter, rows: &RowSet) -> rusqlite::Result<RowSet> {
        let are_few = rows.len() <= MOST_LOOKED_UP;
        let (sql, params) = if self.columns.is_some() && !self.hides_rows() {
            let (mut from, mut params) = self.rows(filter, Wanted::Columns);
            let all = format!("FROM value_{} v", self.slot);
            let last: Option<i64> =
                db.prepare_cached(&format!("SELECT max(v.rid) {all}"))?.query_row([], |row| row.get(0))?;
            let most = last.and_then(|last| usize::try_from(last).ok()).unwrap_or(0) / LOOK_UP_COSTS;
            // All are read one behind the other where most of them would be looked up.
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

    /// The covered records that have all of it, read one by one.
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
            let fields = super::fields::Fields::parse(row.get_ref(1)?.as_str()?);
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
    /// Whatever SQLite says.
    pub fn hits(
        &self,
        db: &Sqlite,
        matches: &Matches,
        after: Option<&HitPosition>,
        most: usize,
    ) -> rusqlite::Result<Vec<Hit>> {
        let mut hits = Vec::new();
        let mut one = db.prepare_cached(&format!("SELECT {} FROM record r WHERE r.rid = ?", Row::COLUMNS))?;
        for (is_titled, rows) in [(true, &matches.titled), (false, &matches.rest)] {
            // Those with words in titles come before a place among the others.
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

    /// Up to `most` of `rows` after `after`, the newest first.
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
                // In the order of pages, not of arrival: when a hidden record arrived is not to be seen.
                sort: if self.cursor_field().is_some() { row.get(1)? } else { i64::MIN },
                connection: self.connection.id.clone(),
                stream: self.stream.name.clone(),
                key: row.get(2)?,
            };
            Ok::<_, rusqlite::Error>((at, row.get(0)?))
        };
        let is_after = |at: &HitPosition| after.is_none_or(|after| at > after);
        let mut found = Vec::new();
        // What many records have, some of the newest have: those are walked down, where none is passed that is never read.
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
        let mut one = db.prepare_cached("SELECT r.rid, r.sort, r.key FROM record r WHERE r.rid = ?")?;
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

    /// All records of the slot, the newest first, from a place on.
    fn walk(&self) -> String {
        let (index, order) = if self.cursor_field().is_some() {
            ("INDEXED BY record_sort", "r.live = 1 AND r.sort <= ? ORDER BY r.sort DESC, r.key DESC")
        } else {
            // All of them have one place in time.
            (BY_KEY, "? IS NOT NULL ORDER BY r.key DESC")
        };
        format!("SELECT r.rid, r.sort, r.key FROM record r {index} WHERE r.slot = ? AND {order}")
    }

    /// The text of a granted field of a row, as far as it is one.
    pub fn text(&self, row: &Row, field: &str) -> Option<String> {
        self.field(field)?;
        super::fields::Fields::parse(&row.data).text(field).map(std::borrow::Cow::into_owned)
    }

    /// The blob `id`, if a record of this access names it in a granted field.
    ///
    /// # Errors
    /// Whatever SQLite says.
    pub fn blob(&self, db: &Sqlite, id: &str, pace: &Pace<'_>) -> rusqlite::Result<Option<Blob>> {
        // Hidden records and fields can name it too.
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
            // The reference may be of a former state.
            let named = self.project(&row, None).get(&field).and_then(|value| value.get("blob_id").cloned());
            if named.as_ref().and_then(Value::as_str) != Some(id) {
                continue;
            }
            return blobs::find(db, id);
        }
        Ok(None)
    }
}

/// The rows as a list in JSON.
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

fn count(row: &SqlRow<'_>, at: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(at)?).unwrap_or(0))
}

/// Accesses by connector and stream, for answers that have one row for several connections.
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
