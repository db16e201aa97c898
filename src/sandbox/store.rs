//! The database: what is in it, who reads and who writes.
//!
//! On disk there are several readers and one writer (WAL), so that an import never makes a reader
//! wait; in memory there is one connection behind a lock. A read runs in one transaction: it sees one
//! state. Nothing here knows about grants; [`super::access`] is the only reader of records.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

use rusqlite::functions::FunctionFlags;
use rusqlite::{
    Connection as Sqlite, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};
use serde_json::value::RawValue;

use super::manifest::{Connector, Kind, Stream};
use super::{seed, time, tokens};

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
    /// The built-in declarations do not read.
    #[error(transparent)]
    Declaration(#[from] super::manifest::BadField),
}

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
    /// Opens the database at `path`, or one in memory, and fills a new one with the life of `seed`.
    ///
    /// # Errors
    /// If SQLite refuses, or another version wrote it.
    pub fn open(path: Option<&Path>, life: Option<u64>) -> Result<Self, OpenError> {
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
            if let Some(seed) = life {
                fill(&tx, seed)?;
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

fn fill(tx: &Transaction<'_>, seed: u64) -> Result<(), OpenError> {
    let mut ingest = Ingest::new(tx)?;
    for connector in seed::connectors()? {
        ingest.connector(&connector)?;
    }
    for account in seed::ACCOUNTS {
        let connection = Connection {
            id: account.connection_id.to_owned(),
            connector: account.connector.to_owned(),
            display_name: account.display_name.to_owned(),
        };
        ingest.connection(&connection)?;
        // The life's writer cannot fail; the first failure here is kept and given afterwards.
        let (mut failed, mut blobs) = (None, Vec::new());
        {
            let mut event = |event: seed::Event| {
                if failed.is_none() {
                    let at = event.emitted_ms;
                    failed = ingest.put(event.stream, &event.key, at, event.data.as_deref()).err();
                }
            };
            let mut blob = |blob: seed::Blob| blobs.push(blob);
            let mut rng = seed::Rng::new(seed, account.connection_id);
            (account.fill)(&mut rng, &mut seed::Records::new(&mut event, &mut blob));
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
        for blob in blobs {
            ingest.blob(&blob.id, blob.media_type, &blob.bytes)?;
        }
    }
    ingest.finish()?;
    Ok(())
}

/// Writes records into the store, inside somebody's transaction.
pub struct Ingest<'a> {
    tx: &'a Transaction<'a>,
    seq: i64,
    slots: HashMap<String, Slot>,
}

#[derive(Clone)]
struct Slot {
    number: i64,
    stream: Arc<Stream>,
    foreign_keys: Arc<[String]>,
    /// Inserts into the stream's full-text index, where it has one.
    index: Option<Arc<str>>,
}

impl<'a> Ingest<'a> {
    /// Begins where the last one ended.
    ///
    /// # Errors
    /// Whatever SQLite says.
    pub fn new(tx: &'a Transaction<'a>) -> rusqlite::Result<Self> {
        Ok(Self { tx, seq: last_seq(tx)?, slots: HashMap::new() })
    }

    /// Declares a connector, or replaces its declaration.
    ///
    /// # Errors
    /// Whatever SQLite says.
    pub fn connector(&mut self, connector: &Connector) -> rusqlite::Result<()> {
        let declaration = serde_json::to_string(connector)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        self.tx.execute(
            "INSERT INTO connector (key, place, declaration) VALUES (?1, (SELECT count(*) FROM connector), ?2)
             ON CONFLICT (key) DO UPDATE SET declaration = excluded.declaration",
            params![connector.key, declaration],
        )?;
        Ok(())
    }

    /// Opens a connection, creating it if it is new; what follows goes to it.
    ///
    /// # Errors
    /// Whatever SQLite says; if the connector is not declared.
    pub fn connection(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.tx.execute(
            "INSERT INTO connection (id, place, connector, display_name)
             VALUES (?1, (SELECT count(*) FROM connection), ?2, ?3) ON CONFLICT (id) DO NOTHING",
            params![connection.id, connection.connector, connection.display_name],
        )?;
        let declaration: String = self.tx.query_row(
            "SELECT declaration FROM connector WHERE key = ?1",
            [&connection.connector],
            |row| row.get(0),
        )?;
        let connector: Connector = serde_json::from_str(&declaration)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        self.slots.clear();
        for stream in &connector.streams {
            self.slot(connection, &connector, stream)?;
        }
        Ok(())
    }

    fn slot(
        &mut self,
        connection: &Connection,
        connector: &Connector,
        stream: &Arc<Stream>,
    ) -> rusqlite::Result<()> {
        self.tx.execute(
            "INSERT INTO slot (connection, stream) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            params![connection.id, stream.name],
        )?;
        let slot: i64 = self.tx.query_row(
            "SELECT slot FROM slot WHERE connection = ?1 AND stream = ?2",
            params![connection.id, stream.name],
            |row| row.get(0),
        )?;
        let columns = stream.lexical_fields().count();
        let index = (columns > 0).then(|| {
            let names: Vec<String> = (0..columns).map(|at| format!("c{at}")).collect();
            let marks: Vec<String> = (0..columns).map(|at| format!("?{}", at + 2)).collect();
            (
                names.join(", "),
                format!(
                    "INSERT INTO text_{slot} (rowid, {}) VALUES (?1, {})",
                    names.join(", "),
                    marks.join(", ")
                ),
            )
        });
        if let Some((names, _)) = &index {
            // The words come folded, so the tokeniser has nothing left to decide. The text itself is
            // in the record; only the index is kept here.
            self.tx.execute_batch(&format!(
                "CREATE VIRTUAL TABLE IF NOT EXISTS text_{slot} USING fts5 \
                 ({names}, content='', contentless_delete=1, tokenize='ascii')"
            ))?;
        }
        let foreign_keys = connector
            .streams
            .iter()
            .flat_map(|from| &from.relations)
            .filter(|relation| relation.stream == stream.name)
            .map(|relation| relation.foreign_key.clone())
            .collect::<std::collections::BTreeSet<_>>();
        self.slots.insert(
            stream.name.clone(),
            Slot {
                number: slot,
                stream: Arc::clone(stream),
                foreign_keys: foreign_keys.into_iter().collect(),
                index: index.map(|(_, insert)| insert.into()),
            },
        );
        Ok(())
    }

    /// Writes or deletes a record of the open connection. A record that is written as it was does
    /// not change.
    ///
    /// # Errors
    /// Whatever SQLite says; if the stream is not declared.
    pub fn put(
        &mut self,
        stream: &str,
        key: &str,
        emitted_ms: i64,
        data: Option<&str>,
    ) -> rusqlite::Result<()> {
        let Some(place) = self.slots.get(stream).cloned() else {
            return Err(rusqlite::Error::InvalidParameterName(format!(
                "{stream} is no stream of this source"
            )));
        };
        let slot = place.number;
        let before = self
            .tx
            .prepare_cached("SELECT rid, seq, consent_ms, data FROM record WHERE slot = ?1 AND key = ?2")?
            .query_row(params![slot, key], |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, i64>(1)?,
                    row.get::<_, Option<i64>>(2)?,
                    row.get::<_, Option<String>>(3)?,
                ))
            })
            .optional()?;
        if before.as_ref().is_none_or(|(.., old)| old.is_none()) && data.is_none() {
            return Ok(());
        }
        if before.as_ref().is_some_and(|(.., old)| old.as_deref() == data) {
            return Ok(());
        }
        self.seq += 1;
        let fields = data.map(Fields::parse).unwrap_or_default();
        let ms = |field: Option<&String>| {
            field.and_then(|name| fields.text(name)).and_then(|text| time::parse_ms(&text))
        };
        let sort = ms(place.stream.cursor_field.as_ref()).unwrap_or(i64::MIN);
        let consent = ms(place.stream.consent_time_field.as_ref());
        let rid = if let Some((rid, from, old_consent, old)) = before {
            self.tx
                .prepare_cached("INSERT INTO history (slot, key, from_seq, to_seq, consent_ms, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
                .execute(params![slot, key, from, self.seq, old_consent, old])?;
            if place.index.is_some() {
                self.tx
                    .prepare_cached(&format!("DELETE FROM text_{slot} WHERE rowid = ?1"))?
                    .execute([rid])?;
            }
            for field in place.foreign_keys.iter() {
                if let Some(value) = old.as_deref().and_then(|old| Fields::parse(old).text(field)) {
                    self.tx
                        .prepare_cached("DELETE FROM foreign_key WHERE slot = ?1 AND field = ?2 AND value = ?3 AND rid = ?4")?
                        .execute(params![slot, field, value, rid])?;
                }
            }
            self.tx
                .prepare_cached("UPDATE record SET seq = ?2, sort = ?3, consent_ms = ?4, emitted_ms = ?5, data = ?6 WHERE rid = ?1")?
                .execute(params![rid, self.seq, sort, consent, emitted_ms, data])?;
            rid
        } else {
            self.tx
                .prepare_cached("INSERT INTO record (slot, key, seq, sort, consent_ms, emitted_ms, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
                .execute(params![slot, key, self.seq, sort, consent, emitted_ms, data])?;
            self.tx.last_insert_rowid()
        };
        if data.is_some() {
            self.index(&place, rid, key, &fields)?;
        }
        Ok(())
    }

    fn index(&self, place: &Slot, rid: i64, key: &str, fields: &Fields<'_>) -> rusqlite::Result<()> {
        if let Some(insert) = &place.index {
            let mut row: Vec<rusqlite::types::Value> = vec![rid.into()];
            for field in place.stream.lexical_fields() {
                row.push(fields.text(&field.name).map(|text| tokens::folded(&text)).into());
            }
            self.tx.prepare_cached(insert)?.execute(rusqlite::params_from_iter(row))?;
        }
        for field in place.foreign_keys.iter() {
            if let Some(value) = fields.text(field) {
                self.tx
                    .prepare_cached(
                        "INSERT OR IGNORE INTO foreign_key (slot, field, value, rid) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![place.number, field, value, rid])?;
            }
        }
        for field in place.stream.fields.iter().filter(|field| field.kind == Kind::Blob) {
            if let Some(blob) = fields.blob_id(&field.name) {
                self.tx
                    .prepare_cached("INSERT OR IGNORE INTO blob_reference (blob_id, slot, key, field) VALUES (?1, ?2, ?3, ?4)")?
                    .execute(params![blob, place.number, key, field.name])?;
            }
        }
        Ok(())
    }

    /// Keeps a blob.
    ///
    /// # Errors
    /// Whatever SQLite says.
    pub fn blob(&mut self, id: &str, media_type: &str, bytes: &[u8]) -> rusqlite::Result<()> {
        self.tx
            .prepare_cached("INSERT OR IGNORE INTO blob (id, media_type, bytes) VALUES (?1, ?2, ?3)")?
            .execute(params![id, media_type, bytes])?;
        Ok(())
    }

    /// Notes where the changes end, and that the catalog may have changed.
    ///
    /// # Errors
    /// Whatever SQLite says.
    pub fn finish(self) -> rusqlite::Result<()> {
        self.tx.execute("UPDATE meta SET value = ?1 WHERE name = 'seq'", [self.seq])?;
        self.tx.execute("UPDATE meta SET value = value + 1 WHERE name = 'catalog'", [])?;
        Ok(())
    }
}

/// The top-level fields of a record, as they are written.
#[derive(Debug, Default)]
pub struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// A JSON string, borrowed unless it has escapes.
///
/// Not a plain `&str`: for one with escapes that fails, with an error that quotes all of it.
struct Text<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Text<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> serde::de::Visitor<'de> for Read {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(text.into()))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(text.to_owned().into()))
            }
        }
        from.deserialize_str(Read)
    }
}

impl<'de> serde::Deserialize<'de> for Fields<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> serde::de::Visitor<'de> for Read {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(24);
                while let Some((Text(name), value)) = map.next_entry()? {
                    fields.push((name, value));
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(Read)
    }
}

impl<'a> Fields<'a> {
    /// Reads an object; anything else has no fields.
    pub fn parse(json: &'a str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// The last of this name, as other readers of JSON take it.
    fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// The field's value, if it is a string.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        let raw = self.get(name)?.get();
        if !raw.starts_with('"') {
            return None;
        }
        serde_json::from_str::<Text<'a>>(raw).ok().map(|text| text.0)
    }

    fn blob_id(&self, name: &str) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Reference {
            blob_id: String,
        }
        serde_json::from_str::<Reference>(self.get(name)?.get()).ok().map(|reference| reference.blob_id)
    }
}

/// A random identifier: `prefix` and 128 bits in hexadecimal.
///
/// # Errors
/// If the system has no randomness to give.
pub fn random_id(prefix: &str) -> Result<String, getrandom::Error> {
    Ok(prefix.to_owned() + &crate::hex::random::<16>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_store_is_filled_and_an_old_one_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let count = |store: &Store| {
            store.read::<i64, rusqlite::Error>(|db, _| {
                db.query_row("SELECT count(*) FROM record WHERE data IS NOT NULL", [], |row| row.get(0))
            })
        };
        let first = count(&Store::open(Some(&path), Some(1)).unwrap()).unwrap();
        assert!(first > 20_000);
        assert_eq!(count(&Store::open(Some(&path), Some(2)).unwrap()).unwrap(), first);
    }

    #[test]
    fn fields_keep_their_digits_and_escapes() {
        let fields = Fields::parse(r#"{"a":"x\u00e9\n","b":1.10,"c":{"blob_id":"z"},"a\u0062":"k"}"#);
        assert_eq!(fields.text("a").as_deref(), Some("xé\n"));
        assert_eq!(fields.text("b"), None);
        assert_eq!(fields.blob_id("c").as_deref(), Some("z"));
        assert_eq!(fields.text("ab").as_deref(), Some("k"));
        assert!(Fields::parse("[1]").0.is_empty());
    }
}
