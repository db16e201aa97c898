//! The contents of a store: connectors, connections and their streams, and how many records each has.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection as Sqlite, OptionalExtension as _};
use serde_json::{Map, Value};

use super::values::{self, Columns};
use crate::vault::declaration::{Connector, Stream};
use crate::vault::words::Tag;

/// A configured source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// `cin_…`.
    pub id: String,
    /// Its connector's key.
    pub connector: String,
    /// The name that its owner gave it.
    pub display_name: String,
}

/// Updates a connector, as it was declared when the store was filled, with what has been added since.
pub type Renew = fn(&mut Connector);

/// The connectors, the connections, and the slots of their streams.
#[derive(Debug, Default)]
pub struct Catalog {
    /// In the order they are shown.
    pub connectors: Vec<Arc<Connector>>,
    /// In the order they are shown.
    pub connections: Vec<Arc<Connection>>,
    slots: HashMap<(String, String), i64>,
    tags: HashMap<i64, HashMap<String, Tag>>,
    columns: HashMap<i64, Arc<Columns>>,
    pub(super) version: i64,
}

impl Catalog {
    /// A catalog that matches no store. The real one is loaded when it is needed.
    pub(super) fn none_yet() -> Self {
        Self { version: i64::MIN, ..Self::default() }
    }

    /// The connector with this key.
    pub fn connector(&self, key: &str) -> Option<&Arc<Connector>> {
        self.connectors.iter().find(|connector| connector.key == key)
    }

    /// The declaration of a stream of the source with this URI.
    pub fn declared(&self, source: &str, stream: &str) -> Option<&Arc<Stream>> {
        self.connectors.iter().find(|connector| connector.id == source)?.stream(stream)
    }

    /// The connection with this id.
    pub fn connection(&self, id: &str) -> Option<&Arc<Connection>> {
        self.connections.iter().find(|connection| connection.id == id)
    }

    /// The connections of a connector.
    pub fn connections_of<'a>(&'a self, connector: &'a str) -> impl Iterator<Item = &'a Arc<Connection>> {
        self.connections.iter().filter(move |connection| connection.connector == connector)
    }

    /// The slot of a stream of a connection.
    pub fn slot(&self, connection: &str, stream: &str) -> Option<i64> {
        self.slots.get(&(connection.to_owned(), stream.to_owned())).copied()
    }

    /// The tag of a field's terms in a slot's index, if full-text search covers the field.
    pub fn tag(&self, slot: i64, field: &str) -> Option<Tag> {
        self.tags.get(&slot)?.get(field).copied()
    }

    /// The columns that hold a slot's values.
    pub fn columns(&self, slot: i64) -> Option<&Arc<Columns>> {
        self.columns.get(&slot)
    }

    /// Loads the catalog, with each connector updated by `renew`.
    pub(super) fn load_renewed(db: &Sqlite, version: i64, renew: Renew) -> rusqlite::Result<Self> {
        let mut catalog = Self::load(db, version)?;
        catalog.connectors.iter_mut().map(Arc::make_mut).for_each(renew);
        Ok(catalog)
    }

    pub(super) fn load(db: &Sqlite, version: i64) -> rusqlite::Result<Self> {
        let mut catalog = Self { version, ..Self::default() };
        let mut all = db.prepare("SELECT declaration FROM connector ORDER BY place, key")?;
        for declaration in all.query_map([], |row| row.get::<_, String>(0))? {
            let connector: Connector = serde_json::from_str(&declaration?)
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
            catalog.connectors.push(Arc::new(connector));
        }
        let mut all = db.prepare("SELECT id, connector, display_name FROM connection ORDER BY place, id")?;
        let connections = all.query_map([], |row| {
            Ok(Connection { id: row.get(0)?, connector: row.get(1)?, display_name: row.get(2)? })
        })?;
        for connection in connections {
            catalog.connections.push(Arc::new(connection?));
        }
        let mut all = db.prepare("SELECT connection, stream, slot FROM slot")?;
        let slots = all.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
        catalog.slots = slots.collect::<rusqlite::Result<_>>()?;
        let mut all = db.prepare("SELECT slot, field, number FROM text_field")?;
        let tags = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        for tag in tags {
            let (slot, field, number) = tag?;
            if let Some(tag) = Tag::new(number) {
                catalog.tags.entry(slot).or_default().insert(field, tag);
            }
        }
        let columns = values::all_columns(db)?.into_iter();
        catalog.columns = columns.map(|(slot, columns)| (slot, Arc::new(columns))).collect();
        Ok(catalog)
    }
}

/// The tag of a field's terms in a slot's index.
///
/// # Errors
/// Returns the errors of SQLite.
pub(super) fn tag(db: &Sqlite, slot: i64, field: &str) -> rusqlite::Result<Option<Tag>> {
    db.prepare_cached("SELECT number FROM text_field WHERE slot = ?1 AND field = ?2")?
        .query_row(rusqlite::params![slot, field], |row| row.get(0))
        .map(Tag::new)
}

/// A number that changes whenever the result of [`Catalog::load`] does.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn catalog_version(db: &Sqlite) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT value FROM meta WHERE name = 'catalog'")?.query_row([], |row| row.get(0))
}

/// The number of the last change.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn last_seq(db: &Sqlite) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT value FROM meta WHERE name = 'seq'")?.query_row([], |row| row.get(0))
}

/// The change before which former states are no longer kept.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn history_from(db: &Sqlite) -> rusqlite::Result<i64> {
    let mut found = db.prepare_cached("SELECT value FROM meta WHERE name = 'history_from'")?;
    Ok(found.query_row([], |row| row.get(0)).optional()?.unwrap_or(0))
}

/// How many records each slot has, for the owner's page.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn record_counts(db: &Sqlite) -> rusqlite::Result<Map<String, Value>> {
    let mut counts = Map::new();
    let mut rows = db.prepare_cached(
        "SELECT s.connection, s.stream, count(r.rid) FROM slot s
         LEFT JOIN record r INDEXED BY record_sort ON r.slot = s.slot AND r.live = 1 GROUP BY s.slot",
    )?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let (connection, stream, count): (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        counts.insert(format!("{connection}/{stream}"), count.into());
    }
    Ok(counts)
}

/// How many records a slot has.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn record_count(db: &Sqlite, slot: i64) -> rusqlite::Result<u64> {
    db.prepare_cached("SELECT count(*) FROM record INDEXED BY record_sort WHERE slot = ?1 AND live = 1")?
        .query_row([slot], |row| row.get::<_, i64>(0).map(i64::cast_unsigned))
}

/// How many records of a slot are within a period of their consent time field.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn record_count_within(
    db: &Sqlite,
    slot: i64,
    since: Option<i64>,
    until: Option<i64>,
) -> rusqlite::Result<i64> {
    db.prepare_cached(
        "SELECT count(*) FROM record INDEXED BY record_sort WHERE slot = ?1 AND live = 1
         AND consent_ms >= ?2 AND consent_ms < ?3",
    )?
    .query_row((slot, since.unwrap_or(i64::MIN), until.unwrap_or(i64::MAX)), |row| row.get(0))
}

/// How old the data of a connection is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Freshness {
    /// The end of its last import, in milliseconds.
    pub imported_ms: Option<i64>,
    /// The time of the newest record that existed then, in milliseconds.
    pub newest_ms: Option<i64>,
}

/// How old the data of the connection `id` is.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn freshness(db: &Sqlite, catalog: &Catalog, id: &str) -> rusqlite::Result<Freshness> {
    let imported_ms = imported_ms(db, id)?;
    let mut newest_ms = None;
    for ((_, _), slot) in catalog.slots.iter().filter(|((connection, _), _)| connection == id) {
        // A record dated later than its import does not show how new the data is.
        let newest: Option<i64> = db
            .prepare_cached(
                "SELECT max(sort) FROM record INDEXED BY record_sort WHERE slot = ?1 AND live = 1 AND sort <= ?2",
            )?
            .query_row([*slot, imported_ms.unwrap_or(i64::MAX)], |row| row.get(0))?;
        newest_ms = newest_ms.max(newest.filter(|newest| *newest != i64::MIN));
    }
    Ok(Freshness { imported_ms, newest_ms })
}

/// The end of the last import into the connection `id`, in milliseconds.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn imported_ms(db: &Sqlite, id: &str) -> rusqlite::Result<Option<i64>> {
    let found = db
        .prepare_cached("SELECT imported_ms FROM account WHERE connection = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}
