//! The database: what is in it, who reads and who writes.
//!
//! On disk there are several readers and one writer (WAL), so that an import never makes a reader
//! wait; in memory there is one connection behind a lock. A read runs in one transaction: it sees one
//! state. Nothing here knows about grants; [`super::enforcement`] is the only reader of records.

mod ingest;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection as Sqlite, OpenFlags, Transaction, TransactionBehavior};
use serde_json::{Map, Value};

use super::declaration::Connector;
use super::time;

pub use ingest::Ingest;

/// Changes when the tables do: a data directory of another version is refused.
const SCHEMA_VERSION: i64 = 2;

/// How long a writer waits for another process's: an import can take a while.
const BUSY_TIMEOUT: std::time::Duration = std::time::Duration::from_mins(1);

const TABLES: &str = "
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE connector (key TEXT PRIMARY KEY, place INTEGER NOT NULL, declaration TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE connection (id TEXT PRIMARY KEY, place INTEGER NOT NULL, connector TEXT NOT NULL, display_name TEXT NOT NULL) WITHOUT ROWID;
-- A slot is one stream of one connection.
CREATE TABLE slot (slot INTEGER PRIMARY KEY, connection TEXT NOT NULL, stream TEXT NOT NULL, UNIQUE (connection, stream));
-- The present state. Deleted records stay, without data, so that a reader can learn of it.
CREATE TABLE record (
  rid INTEGER PRIMARY KEY, slot INTEGER NOT NULL, key TEXT NOT NULL,
  seq INTEGER NOT NULL,          -- when it last changed, in the order of all changes
  sort INTEGER NOT NULL,         -- the cursor field in ms, or the least integer where it is null
  consent_ms INTEGER,            -- the consent time field in ms
  emitted_ms INTEGER NOT NULL,
  live INTEGER NOT NULL AS (data IS NOT NULL) STORED,
  data TEXT,                     -- verbatim, or null when deleted; last, because it can be long
  UNIQUE (slot, key));
-- With the columns that counts and grants need, so that they never read the data.
CREATE INDEX record_sort ON record (slot, live, sort, key, consent_ms, emitted_ms);
-- The same for what a search found: looked up in a small index, not among long records.
CREATE INDEX record_found ON record (rid, slot, live, sort, key, consent_ms);
CREATE INDEX record_seq ON record (slot, seq);
-- Former states: valid from one change up to, not including, another.
CREATE TABLE history (slot INTEGER NOT NULL, key TEXT NOT NULL, from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL,
  consent_ms INTEGER, data TEXT, PRIMARY KEY (slot, key, from_seq)) WITHOUT ROWID;
-- The foreign keys that relations go along.
CREATE TABLE foreign_key (slot INTEGER NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, rid INTEGER NOT NULL,
  PRIMARY KEY (slot, field, value, rid)) WITHOUT ROWID;
CREATE TABLE blob (id TEXT PRIMARY KEY, media_type TEXT NOT NULL, bytes BLOB NOT NULL);
CREATE TABLE blob_reference (blob_id TEXT NOT NULL, slot INTEGER NOT NULL, key TEXT NOT NULL, field TEXT NOT NULL,
  PRIMARY KEY (blob_id, slot, key, field)) WITHOUT ROWID;
CREATE TABLE client (client_id TEXT PRIMARY KEY, metadata TEXT NOT NULL, issued_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE grants (grant_id TEXT PRIMARY KEY, body TEXT NOT NULL, expires_ms INTEGER, revoked_ms INTEGER) WITHOUT ROWID;
-- Only a token's SHA-256 is kept.
CREATE TABLE token (hash TEXT PRIMARY KEY, kind TEXT NOT NULL, grant_id TEXT) WITHOUT ROWID;
";

/// What format 2 has beside format 1: packages of grants, tokens that end by themselves, refresh families.
const TABLES_2: &str = "
ALTER TABLE token ADD COLUMN package_id TEXT;
ALTER TABLE token ADD COLUMN family_id TEXT;
ALTER TABLE token ADD COLUMN expires_ms INTEGER;
-- Grants (a JSON list of their ids) that one token stands for.
CREATE TABLE package (package_id TEXT PRIMARY KEY, client_id TEXT NOT NULL, grants TEXT NOT NULL) WITHOUT ROWID;
-- All tokens that descend from one approval: revoked together.
CREATE TABLE family (family_id TEXT PRIMARY KEY, client_id TEXT NOT NULL, grant_id TEXT, package_id TEXT,
  resource TEXT, revoked_ms INTEGER) WITHOUT ROWID;
-- Only a refresh token's SHA-256 is kept; a used one stays, so that its second use is noticed.
CREATE TABLE refresh (hash TEXT PRIMARY KEY, family_id TEXT NOT NULL, used_ms INTEGER) WITHOUT ROWID;
";

/// A configured source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// `cin_…`.
    pub id: String,
    /// Its connector's key.
    pub connector: String,
    /// What its owner calls it.
    pub display_name: String,
}

/// What there is: connectors, connections, and the slots of their streams.
#[derive(Debug, Default)]
pub struct Catalog {
    /// In the order they are shown.
    pub connectors: Vec<Arc<Connector>>,
    /// In the order they are shown.
    pub connections: Vec<Arc<Connection>>,
    slots: HashMap<(String, String), i64>,
    version: i64,
}

impl Catalog {
    /// The connector with this key.
    pub fn connector(&self, key: &str) -> Option<&Arc<Connector>> {
        self.connectors.iter().find(|connector| connector.key == key)
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

    fn load(db: &Sqlite, version: i64) -> rusqlite::Result<Self> {
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
        Ok(catalog)
    }
}

/// A failure to open the store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// SQLite says no.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// Written by another version.
    #[error(
        "{path} was written by another version of pdpp (format {found}, this one reads {SCHEMA_VERSION})"
    )]
    OtherVersion {
        /// The database file.
        path: String,
        /// Its format.
        found: i64,
    },
    /// What fills a new store failed.
    #[error("it could not be filled")]
    Filling(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// What a new store is filled with. It is called once, in the transaction that makes the tables.
pub type Filling<'a> = dyn Fn(&mut Ingest<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + 'a;

/// The store.
pub struct Store {
    path: Option<PathBuf>,
    writer: Mutex<Sqlite>,
    readers: Mutex<Readers>,
    reader_is_back: Condvar,
    catalog: RwLock<Arc<Catalog>>,
}

#[derive(Default)]
struct Readers {
    idle: Vec<Sqlite>,
    open: usize,
}

/// Readers at once; more wait.
const MAX_READERS: usize = 8;

impl Store {
    /// Opens the database at `path`, or one in memory, and fills a new one with `filling`.
    ///
    /// # Errors
    /// If SQLite refuses, another version wrote it, or the filling fails.
    pub fn open(path: Option<&Path>, filling: Option<&Filling<'_>>) -> Result<Self, OpenError> {
        let mut db = match path {
            Some(path) => Sqlite::open(path)?,
            None => Sqlite::open_in_memory()?,
        };
        prepare(&db)?;
        if path.is_some() {
            db.pragma_update(None, "journal_mode", "WAL")?;
        }
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found == 1 {
            tx.execute_batch(TABLES_2)?;
            tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        } else if found == 0 {
            tx.execute_batch(TABLES)?;
            tx.execute_batch(TABLES_2)?;
            tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
            tx.execute("INSERT INTO meta VALUES ('catalog', 0), ('seq', 0)", [])?;
            if let Some(fill) = filling {
                let mut ingest = Ingest::new(&tx)?;
                fill(&mut ingest).map_err(OpenError::Filling)?;
                ingest.finish()?;
            }
        } else if found != SCHEMA_VERSION {
            let path = path.map(|path| path.display().to_string()).unwrap_or_default();
            return Err(OpenError::OtherVersion { path, found });
        }
        tx.commit()?;
        let catalog = Arc::new(Catalog::load(&db, catalog_version(&db)?)?);
        Ok(Self {
            path: path.map(Path::to_owned),
            writer: Mutex::new(db),
            readers: Mutex::default(),
            reader_is_back: Condvar::new(),
            catalog: RwLock::new(catalog),
        })
    }

    /// Runs `work` on one state of the database.
    ///
    /// # Errors
    /// Whatever `work` or SQLite says.
    pub fn read<T, E: From<rusqlite::Error>>(
        &self,
        work: impl FnOnce(&Sqlite, &Arc<Catalog>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut guard;
        let mut borrowed;
        let db: &mut Sqlite = if self.path.is_some() {
            borrowed = Borrowed { store: self, db: Some(self.borrow()?) };
            borrowed.db.as_mut().ok_or(rusqlite::Error::InvalidQuery)?
        } else {
            guard = lock(&self.writer);
            &mut guard
        };
        let tx = db.transaction_with_behavior(TransactionBehavior::Deferred)?;
        let catalog = self.catalog(&tx)?;
        work(&tx, &catalog)
    }

    /// Runs `work` in one transaction: all of it is written, or nothing.
    ///
    /// # Errors
    /// Whatever `work` or SQLite says.
    pub fn write<T, E: From<rusqlite::Error>>(
        &self,
        work: impl FnOnce(&Transaction<'_>, &Arc<Catalog>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut guard = lock(&self.writer);
        let tx = guard.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let catalog = self.catalog(&tx)?;
        let done = work(&tx, &catalog)?;
        tx.commit()?;
        Ok(done)
    }

    /// The catalog as of `db`'s state; another process may have changed it.
    fn catalog(&self, db: &Sqlite) -> rusqlite::Result<Arc<Catalog>> {
        let version = catalog_version(db)?;
        let known = Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner));
        if known.version == version {
            return Ok(known);
        }
        let loaded = Arc::new(Catalog::load(db, version)?);
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&loaded);
        Ok(loaded)
    }

    fn borrow(&self) -> rusqlite::Result<Sqlite> {
        let mut readers = lock(&self.readers);
        loop {
            if let Some(db) = readers.idle.pop() {
                return Ok(db);
            }
            if readers.open < MAX_READERS {
                readers.open += 1;
                drop(readers);
                return self.open_reader().inspect_err(|_| {
                    lock(&self.readers).open -= 1;
                    self.reader_is_back.notify_one();
                });
            }
            readers = self.reader_is_back.wait(readers).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn open_reader(&self) -> rusqlite::Result<Sqlite> {
        let path = self.path.as_deref().unwrap_or(Path::new(""));
        // Not read-only: the last reader of a WAL database may have to clean up.
        let db = Sqlite::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        prepare(&db)?;
        db.pragma_update(None, "query_only", true)?;
        Ok(db)
    }
}

struct Borrowed<'a> {
    store: &'a Store,
    db: Option<Sqlite>,
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let mut readers = lock(&self.store.readers);
        if let Some(db) = self.db.take() {
            readers.idle.push(db);
        }
        self.store.reader_is_back.notify_one();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while it was held: SQLite rolls the transaction back when its guard is dropped.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn prepare(db: &Sqlite) -> rusqlite::Result<()> {
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.set_prepared_statement_cache_capacity(128);
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    // Timestamps are compared as instants, whatever their offset or precision.
    db.create_scalar_function("instant_ms", 1, flags, |context| {
        Ok(context.get_raw(0).as_str().ok().and_then(time::parse_ms))
    })
}

fn catalog_version(db: &Sqlite) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT value FROM meta WHERE name = 'catalog'")?.query_row([], |row| row.get(0))
}

/// The number of the last change.
///
/// # Errors
/// Whatever SQLite says.
pub fn last_seq(db: &Sqlite) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT value FROM meta WHERE name = 'seq'")?.query_row([], |row| row.get(0))
}

/// How many records each slot has, for the owner's page.
///
/// # Errors
/// Whatever SQLite says.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_store_is_filled_and_an_old_one_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let blob =
            |id: &'static str| move |ingest: &mut Ingest<'_>| Ok(ingest.blob(id, "text/plain", b"")?);
        let blobs = |store: &Store| {
            store.read::<String, rusqlite::Error>(|db, _| {
                db.query_row("SELECT group_concat(id) FROM blob", [], |row| row.get(0))
            })
        };
        assert_eq!(blobs(&Store::open(Some(&path), Some(&blob("first"))).unwrap()).unwrap(), "first");
        assert_eq!(blobs(&Store::open(Some(&path), Some(&blob("second"))).unwrap()).unwrap(), "first");
        let failed = Store::open(None, Some(&|_| Err("no room".into())));
        assert!(matches!(failed.err(), Some(OpenError::Filling(why)) if why.to_string() == "no room"));
    }
}
