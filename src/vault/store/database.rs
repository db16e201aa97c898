//! The database, its readers and its writer.
//!
//! On disk there are several readers and one writer (WAL), so that an import never makes a reader wait. In memory
//! there is one connection behind a lock. A read runs in one transaction and so sees one state.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

use rusqlite::functions::FunctionFlags;
use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection as Sqlite, OpenFlags, Transaction, TransactionBehavior};

use super::catalog::{Catalog, Renew, catalog_version};
use super::ingest::{self, Ingest};
use super::packed;
use super::tables::{
    FORMAT, TABLES, TABLES_2, TABLES_4, TABLES_5, TABLES_6_PACKED, TABLES_6_VALUES, TABLES_6_WORDS, WORDS_7,
};
use crate::vault::{folding, time};

/// How long a writer waits for another process's writer. An import can take a while.
const BUSY_TIMEOUT: std::time::Duration = std::time::Duration::from_mins(1);

/// The cache of a writer of very many records.
const BULK_CACHE_KIB: i64 = 48 << 10;
/// How many pages the log may hold before they are written back: 128 MiB, so that a page that several batches
/// change is written back once.
const BULK_CHECKPOINT_PAGES: i64 = 8 << 10;
/// The page size of a new store, in bytes. A deflated mail would fill most of a smaller page and leave the rest
/// empty.
const PAGE: i64 = 16 << 10;

/// A failure to open the store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// An error from SQLite.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// Another version wrote the store.
    #[error("{path} was written by {} (format {found}; this version reads {FORMAT})", release(.written_by.as_ref()))]
    OtherVersion {
        /// The database file.
        path: String,
        /// Its format.
        found: i64,
        /// The release that wrote it, if it is recorded.
        written_by: Option<String>,
    },
    /// The file belongs to another program, or is the other kind of store: made-up and own data never share a
    /// store.
    #[error("{path} is not a store of this kind")]
    Foreign {
        /// The database file.
        path: String,
    },
    /// The code that fills a new store failed.
    #[error("could not fill the new store")]
    Filling(#[source] Box<dyn std::error::Error + Send + Sync>),
}

fn release(written_by: Option<&String>) -> String {
    written_by.map_or_else(|| "another version of pdpp".to_owned(), |release| format!("pdpp {release}"))
}

/// Fills a new store. It is called once, in the transaction that makes the tables.
pub type Filling<'a> = dyn Fn(&mut Ingest<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + 'a;

/// The store.
pub struct Store {
    path: Option<PathBuf>,
    writer: Mutex<Sqlite>,
    readers: Mutex<Readers>,
    reader_is_back: Condvar,
    catalog: RwLock<Arc<Catalog>>,
    renew: Renew,
}

#[derive(Default)]
struct Readers {
    idle: Vec<Sqlite>,
    open: usize,
}

/// The maximum number of readers; further reads wait.
const MAX_READERS: usize = 8;

impl Store {
    /// Opens the database at `path`, or one in memory, and fills a new one with `filling`. The database's
    /// `application_id` names its kind; a database with a different one is not opened.
    ///
    /// # Errors
    /// Returns an error if SQLite refuses, if the database belongs to something else, if another version wrote it,
    /// or if the filling fails.
    pub fn open(
        path: Option<&Path>,
        application_id: i32,
        filling: Option<&Filling<'_>>,
    ) -> Result<Self, OpenError> {
        let mut db = match path {
            Some(path) => Sqlite::open(path)?,
            None => Sqlite::open_in_memory()?,
        };
        prepare(&db)?;
        let shown = || path.map(|path| path.display().to_string()).unwrap_or_default();
        // Checked before anything is written, so that another program's file stays unchanged.
        if !is_ours(&db, application_id)? {
            return Err(OpenError::Foreign { path: shown() });
        }
        if path.is_some() {
            // This does not change an existing database.
            db.pragma_update(None, "page_size", PAGE)?;
            db.pragma_update(None, "journal_mode", "WAL")?;
        }
        // A store of the current format is opened without the write lock: while an import runs, it is rarely free.
        if format(&db)? != FORMAT {
            bring_up(&mut db, application_id, filling, &shown)?;
        }
        while is_reworded_in_part(&db)? {
            let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            ingest::reword(&tx)?;
            tx.commit()?;
        }
        let catalog = Arc::new(Catalog::load(&db, catalog_version(&db)?)?);
        Ok(Self {
            path: path.map(Path::to_owned),
            writer: Mutex::new(db),
            readers: Mutex::default(),
            reader_is_back: Condvar::new(),
            catalog: RwLock::new(catalog),
            renew: |_| (),
        })
    }

    /// Opens the existing database at `path` for reads only. First converts an older format to the current one.
    ///
    /// # Errors
    /// Returns an error if SQLite refuses, or if another version wrote it.
    pub fn open_to_read(path: &Path, application_id: i32) -> Result<Self, OpenError> {
        let db = open_reader(path)?;
        let shown = || path.display().to_string();
        if !is_ours(&db, application_id)? {
            return Err(OpenError::Foreign { path: shown() });
        }
        let found = format(&db)?;
        if (1..FORMAT).contains(&found) || (found == FORMAT && is_reworded_in_part(&db)?) {
            drop(Self::open(Some(path), application_id, None)?);
        }
        let found = format(&db)?;
        if found != FORMAT {
            return Err(OpenError::OtherVersion { path: shown(), found, written_by: None });
        }
        let catalog = Arc::new(Catalog::load(&db, catalog_version(&db)?)?);
        Ok(Self {
            path: Some(path.to_owned()),
            writer: Mutex::new(db),
            readers: Mutex::default(),
            reader_is_back: Condvar::new(),
            catalog: RwLock::new(catalog),
            renew: |_| (),
        })
    }

    /// The same store, with current additions to the connectors that it was filled with.
    #[must_use]
    pub fn renewing(self, renew: Renew) -> Self {
        Self { catalog: RwLock::new(Arc::new(Catalog::none_yet())), renew, ..self }
    }

    /// Its path; `None` if it is in memory.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Prepares the writer for very many records.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn prepare_for_many(&self) -> rusqlite::Result<()> {
        let db = lock(&self.writer);
        db.pragma_update(None, "cache_size", -BULK_CACHE_KIB)?;
        // Write the log back between batches, not at each of them.
        db.pragma_update(None, "wal_autocheckpoint", BULK_CHECKPOINT_PAGES)
    }

    /// Writes the log back into the database and empties it. Returns false if a read still needs the log.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn write_back(&self) -> rusqlite::Result<bool> {
        let is_busy: i64 =
            lock(&self.writer).query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        Ok(is_busy == 0)
    }

    /// Runs `work` on one state of the database.
    ///
    /// # Errors
    /// Returns the errors of `work` and of SQLite.
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

    /// Runs `work` in one transaction: everything is written, or nothing.
    ///
    /// # Errors
    /// Returns the errors of `work` and of SQLite.
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

    /// Runs `work` on the connection that writes, outside a transaction.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub(super) fn with_writer<T>(
        &self,
        work: impl FnOnce(&Sqlite) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        work(&lock(&self.writer))
    }

    /// Calls `each` after every few steps of the database in memory.
    #[cfg(test)]
    pub(crate) fn count_steps(&self, mut each: impl FnMut() + Send + 'static) {
        let counted = move || {
            each();
            false
        };
        lock(&self.writer).progress_handler(1, Some(counted)).unwrap();
    }

    /// The catalog for `db`'s state. Another process may have changed it.
    fn catalog(&self, db: &Sqlite) -> rusqlite::Result<Arc<Catalog>> {
        let version = catalog_version(db)?;
        let known = Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner));
        if known.version == version {
            return Ok(known);
        }
        let loaded = Arc::new(Catalog::load_renewed(db, version, self.renew)?);
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
        open_reader(self.path.as_deref().unwrap_or(Path::new("")))
    }
}

/// The format of the database; 0 if it is new.
fn format(db: &Sqlite) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Makes the tables of a new database, or converts those of an older format.
fn bring_up(
    db: &mut Sqlite,
    application_id: i32,
    filling: Option<&Filling<'_>>,
    shown: &dyn Fn() -> String,
) -> Result<(), OpenError> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it since.
    let found = format(&tx)?;
    if (1..FORMAT).contains(&found) {
        if found == 1 {
            tx.execute_batch(TABLES_2)?;
        }
        if found < 4 {
            tx.execute_batch(TABLES_4)?;
        }
        if found < 5 {
            tx.execute_batch(TABLES_5)?;
        }
        if found < 6 {
            for tables in [TABLES_6_VALUES, TABLES_6_WORDS, TABLES_6_PACKED] {
                tx.execute_batch(tables)?;
            }
            ingest::reindex(&tx)?;
            ingest::fill_columns(&tx)?;
        } else {
            tx.execute_batch(WORDS_7)?;
        }
        sign(&tx, application_id)?;
    } else if found == 0 {
        for tables in [TABLES, TABLES_2, TABLES_4, TABLES_5, TABLES_6_VALUES, TABLES_6_WORDS, TABLES_6_PACKED]
        {
            tx.execute_batch(tables)?;
        }
        sign(&tx, application_id)?;
        tx.execute("INSERT INTO meta VALUES ('catalog', 0), ('seq', 0)", [])?;
        if let Some(fill) = filling {
            let mut ingest = Ingest::new(&tx)?;
            fill(&mut ingest).map_err(OpenError::Filling)?;
            ingest.finish()?;
        }
    } else if found != FORMAT {
        let written_by =
            tx.query_row("SELECT value FROM meta WHERE name = 'written_by'", [], |row| row.get(0)).ok();
        return Err(OpenError::OtherVersion { path: shown(), found, written_by });
    }
    tx.commit()?;
    Ok(())
}

fn open_reader(path: &Path) -> rusqlite::Result<Sqlite> {
    // Not read-only, because the last reader of a WAL database may have to clean up.
    let db =
        Sqlite::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    prepare(&db)?;
    db.pragma_update(None, "query_only", true)?;
    Ok(db)
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
    // A thread panicked while it held this. SQLite rolls the transaction back when its guard is dropped.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a store of an older format has not yet been searched to the end for words that are now split
/// differently.
fn is_reworded_in_part(db: &Sqlite) -> rusqlite::Result<bool> {
    db.query_row("SELECT EXISTS (SELECT 1 FROM meta WHERE name = 'reworded')", [], |row| row.get(0))
}

/// Whether the database is new, or a store of this kind. Stores of formats 1 to 4 do not record their kind; they
/// hold made-up data.
fn is_ours(db: &Sqlite, application_id: i32) -> rusqlite::Result<bool> {
    let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (id, format) = (number("application_id")?, number("user_version")?);
    if id == i64::from(application_id) {
        return Ok(true);
    }
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    let is_new = tables == 0 && format == 0;
    Ok(id == 0 && (is_new || (application_id == super::FICTION && (1..5).contains(&format))))
}

/// Records the kind of the store and the release that wrote it.
fn sign(tx: &Transaction<'_>, application_id: i32) -> rusqlite::Result<()> {
    tx.pragma_update(None, "application_id", application_id)?;
    tx.pragma_update(None, "user_version", FORMAT)?;
    tx.execute("INSERT OR REPLACE INTO meta VALUES ('written_by', ?1)", [env!("CARGO_PKG_VERSION")])?;
    Ok(())
}

pub(super) fn prepare(db: &Sqlite) -> rusqlite::Result<()> {
    db.busy_timeout(BUSY_TIMEOUT)?;
    // A store may have been restored from a file of unknown origin.
    db.pragma_update(None, "trusted_schema", false)?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.set_prepared_statement_cache_capacity(128);
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    // Compares texts by their letters, however those are composed.
    db.create_scalar_function("composed", 1, flags, |context| {
        Ok(match context.get_raw(0) {
            ValueRef::Text(text) => {
                str::from_utf8(text).map_or(Sql::Null, |text| folding::composed(text).into_owned().into())
            }
            other => Sql::try_from(other).unwrap_or(Sql::Null),
        })
    })?;
    // A record as it was written, whether or not it is deflated.
    db.create_scalar_function("whole", 2, flags, |context| {
        Ok(match context.get_raw(1) {
            ValueRef::Blob(whole) => packed::unpack(whole).map_or(Sql::Null, Sql::from),
            _ => Sql::try_from(context.get_raw(0)).unwrap_or(Sql::Null),
        })
    })?;
    // Compares timestamps as instants, whatever their offset or precision.
    db.create_scalar_function("instant_ms", 1, flags, |context| {
        Ok(context.get_raw(0).as_str().ok().and_then(time::parse_ms))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills a store with one connection of one stream.
    fn one_connection(
        ingest: &mut Ingest<'_>,
        stream: crate::vault::declaration::StreamSpec,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        ingest.connector(&crate::vault::declaration::Connector {
            key: "things".to_owned(),
            id: "https://example.test/things".to_owned(),
            name: "Things".to_owned(),
            streams: vec![Arc::new(stream.parse()?)],
        })?;
        ingest.connection(&super::super::Connection {
            id: "cin_one".to_owned(),
            connector: "things".to_owned(),
            display_name: "One".to_owned(),
        })?;
        Ok(())
    }

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
        assert_eq!(blobs(&Store::open(Some(&path), 1, Some(&blob("first"))).unwrap()).unwrap(), "first");
        assert_eq!(blobs(&Store::open(Some(&path), 1, Some(&blob("second"))).unwrap()).unwrap(), "first");
        let failed = Store::open(None, 1, Some(&|_| Err("no room".into())));
        assert!(matches!(failed.err(), Some(OpenError::Filling(why)) if why.to_string() == "no room"));
    }

    #[test]
    fn o8_5_a_store_opens_while_an_import_writes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        drop(Store::open(Some(&path), 1, None).unwrap());
        let mut importing = Sqlite::open(&path).unwrap();
        let tx = importing.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        tx.execute("INSERT INTO meta VALUES ('x', 1)", []).unwrap();
        // Each of them would wait for the end of the write otherwise, and then fail.
        drop(Store::open(Some(&path), 1, None).unwrap());
        drop(Store::open_to_read(&path, 1).unwrap());
        tx.commit().unwrap();
    }

    #[test]
    fn o3_5_a_store_of_format_5_gets_its_columns_also_where_it_is_opened_to_read() {
        const CREATED: &str =
            "SELECT name || ' ' || ifnull(sql, '') FROM sqlite_master WHERE name LIKE 'value_%' ORDER BY 1";
        const SPEC: crate::vault::declaration::StreamSpec = crate::vault::declaration::StreamSpec {
            name: "items",
            key: "id",
            time: Some("at"),
            fields: "id string! eq\nat timestamp? eq\nwho string? eq group\namount number? eq range sum",
            views: &[],
            relations: &[],
        };
        let fill = |ingest: &mut Ingest<'_>| {
            one_connection(ingest, SPEC)?;
            for (key, data) in [
                ("a", Some(r#"{"id":"a","at":"2024-02-01T00:00:00Z","who":"Jos\u00e9","amount":1.10}"#)),
                ("b", Some(r#"{"id":"b","who":"José","amount":7}"#)),
                ("c", Some(r#"{"id":"c","who":"Ana"}"#)),
                ("c", None),
            ] {
                ingest.put("items", key, 0, data)?;
            }
            Ok(())
        };
        let all = |db: &Sqlite| {
            let mut all = Vec::new();
            for sql in [
                CREATED,
                "SELECT rid || ' ' || t.json || ' ' || t.records || ' ' || ifnull(c3, '-') FROM value_1
                 JOIN value_text t ON t.id = c2 ORDER BY 1",
                "SELECT field || ' ' || encoding || ' ' || ifnull(number, '-') FROM value_column ORDER BY 1",
            ] {
                let mut rows = db.prepare(sql)?;
                all.extend(
                    rows.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?,
                );
            }
            Ok::<_, rusqlite::Error>(all)
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let store = Store::open(Some(&path), super::super::OWN, Some(&fill)).unwrap();
        let new = store.read(|db, _| all(db)).unwrap();
        assert!(new.contains(&"1 \"José\" 2 1.10".to_owned()) && new.contains(&"2 \"José\" 2 7".to_owned()));
        drop(store);
        for reads_only in [false, true] {
            let db = Sqlite::open(&path).unwrap();
            db.execute_batch(
                "DROP TABLE value_column; DROP TABLE value_text; DROP TABLE value_1;
                 DROP TABLE word; DROP TABLE word_segment;
                 ALTER TABLE record DROP COLUMN packed; ALTER TABLE history DROP COLUMN packed;
                 PRAGMA user_version = 5",
            )
            .unwrap();
            drop(db);
            let opened = if reads_only {
                Store::open_to_read(&path, super::super::OWN)
            } else {
                Store::open(Some(&path), super::super::OWN, None)
            };
            assert_eq!(opened.unwrap().read(|db, _| all(db)).unwrap(), new);
        }
    }

    /// Requirements O3.5 and O6.9.
    #[test]
    fn o3_5_a_store_of_format_6_finds_what_is_read_otherwise_since_wherever_it_was_stopped() {
        use super::super::word_index::{Gathered, Terms, find};
        use crate::vault::words::{Query, Tag};
        const SPEC: crate::vault::declaration::StreamSpec = crate::vault::declaration::StreamSpec {
            name: "items",
            key: "id",
            time: None,
            fields: "id string! eq\nbody text? lex",
            views: &[],
            relations: &[],
        };
        let texts = ["press #\u{fe0f}\u{20e3}", "plain words", "محـــمد", "type 🅰\u{fe0f}b", "grüße"];
        let fill = |ingest: &mut Ingest<'_>| {
            one_connection(ingest, SPEC)?;
            for (at, text) in texts.iter().enumerate() {
                let data = serde_json::json!({ "id": at.to_string(), "body": format!("{text} {}", "x".repeat(120)) });
                ingest.put("items", &at.to_string(), 0, Some(&data.to_string()))?;
            }
            Ok(())
        };
        let found = |store: &Store, q: &str| {
            let tags = [(Tag::new(0).unwrap(), false)];
            let query = Query::parse(q);
            store.read::<_, rusqlite::Error>(|db, _| {
                Ok(find(db, 1, &query, &tags)?.all.iter().collect::<Vec<_>>())
            })
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        drop(Store::open(Some(&path), 1, Some(&fill)).unwrap());
        // From the beginning, and from after the first and the third record.
        for (format, reworded) in [(6, None), (FORMAT, Some(1)), (FORMAT, Some(3))] {
            let mut db = Sqlite::open(&path).unwrap();
            let tx = db.transaction().unwrap();
            tx.execute_batch("DELETE FROM word; DELETE FROM word_segment").unwrap();
            let mut old = Gathered::default();
            for (row, words) in (1..).zip(["press", "plain words", "محـــمدx", "type b", "grusse"]) {
                let mut terms = Terms::default();
                terms.add(Tag::new(0).unwrap(), words);
                old.add(row, terms);
            }
            old.write(&tx, 1).unwrap();
            tx.pragma_update(None, "user_version", format).unwrap();
            if let Some(reworded) = reworded {
                tx.execute("INSERT INTO meta VALUES ('reworded', ?1)", [reworded]).unwrap();
            }
            tx.commit().unwrap();
            drop(db);
            let store = if reworded == Some(3) {
                Store::open_to_read(&path, 1).unwrap()
            } else {
                Store::open(Some(&path), 1, None).unwrap()
            };
            let from = reworded.unwrap_or(0);
            let those = |row: i64| if row > from { vec![row] } else { Vec::new() };
            assert_eq!(found(&store, "#\u{20e3}").unwrap(), those(1), "{format} {reworded:?}");
            assert_eq!(found(&store, "محمد").unwrap(), those(3));
            assert_eq!(found(&store, "🅰").unwrap(), those(4));
            assert_eq!(found(&store, "type").unwrap(), [4]);
            assert_eq!(found(&store, "Words").unwrap(), [2]);
            assert_eq!(found(&store, "Grüsse").unwrap(), [5]);
            let is_noted = store.read::<bool, rusqlite::Error>(|db, _| is_reworded_in_part(db));
            assert!(!is_noted.unwrap());
        }
    }

    /// A store of format 4, which does not record its kind.
    fn old(path: &Path) {
        let db = Sqlite::open(path).unwrap();
        for tables in [TABLES, TABLES_2, TABLES_4] {
            db.execute_batch(tables).unwrap();
        }
        db.pragma_update(None, "user_version", 4).unwrap();
        db.execute_batch(
            "INSERT INTO meta VALUES ('catalog', 0), ('seq', 0); INSERT INTO blob VALUES ('b', 'text/plain', x'6162')",
        )
        .unwrap();
    }

    #[test]
    fn o1_2_a_store_is_opened_as_what_it_is_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let is_foreign =
            |id| matches!(Store::open(Some(&path), id, None).err(), Some(OpenError::Foreign { .. }));
        drop(Store::open(Some(&path), 7, None).unwrap());
        assert!(is_foreign(8) && is_foreign(super::super::FICTION) && !is_foreign(7));
        let path = dir.path().join("old.db");
        old(&path);
        assert!(matches!(Store::open(Some(&path), 7, None).err(), Some(OpenError::Foreign { .. })));
        let path = dir.path().join("other.db");
        Sqlite::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        assert!(matches!(Store::open(Some(&path), 7, None).err(), Some(OpenError::Foreign { .. })));
    }

    #[test]
    fn o3_5_a_store_of_format_4_keeps_its_blobs_and_a_newer_one_is_refused_by_its_release() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        old(&path);
        let store = Store::open(Some(&path), super::super::FICTION, None).unwrap();
        let size = store.read::<(i64, i64), rusqlite::Error>(|db, _| {
            db.query_row("SELECT size, length(bytes) FROM blob", [], |row| Ok((row.get(0)?, row.get(1)?)))
        });
        assert_eq!(size.unwrap(), (2, 2));
        store
            .write::<_, rusqlite::Error>(|tx, _| {
                tx.pragma_update(None, "user_version", FORMAT + 1)?;
                tx.execute("UPDATE meta SET value = '9.8.7' WHERE name = 'written_by'", [])
            })
            .unwrap();
        drop(store);
        let refused = Store::open(Some(&path), super::super::FICTION, None).err().unwrap().to_string();
        assert!(refused.contains("pdpp 9.8.7 (format 8"), "{refused}");
    }
}
