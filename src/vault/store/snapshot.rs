//! Writes one state of a store to a separate file, and examines files that claim to be a store. Nothing in such a
//! file is trusted.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection as Sqlite, OpenFlags, OptionalExtension as _};

use super::blobs;
use super::database::{self, Store};
use super::tables::{self, FORMAT};

/// How often the caller is asked whether to stop.
const ASKED_EVERY: Duration = Duration::from_millis(50);

/// What a store's database contains, in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holdings {
    /// The format of its tables.
    pub format: i64,
    /// The id of the store; `None` before the first request for a grant of it.
    pub store_id: Option<String>,
    /// The number of records.
    pub records: u64,
    /// The number of accounts.
    pub accounts: u64,
    /// The copies of attachments that it refers to, by their hashes.
    pub copies: BTreeSet<String>,
    /// Attachments that stayed where they are.
    pub left_in_place: Left,
}

/// Attachments that are in no store, but in the imported exports.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Left {
    /// How many.
    pub attachments: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// The exports that they are in.
    pub exports: Vec<String>,
}

/// The maximum number of exports that are named.
const MAX_EXPORTS: i64 = 1000;

/// Why a file is not accepted as a store's database.
#[derive(Debug, thiserror::Error)]
pub enum Unsound {
    /// An error from SQLite.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// It is marked as something else.
    #[error("it is not a store of this kind")]
    Foreign,
    /// A later release wrote it.
    #[error("it has format {found}, and this release reads formats up to {FORMAT}")]
    Newer {
        /// Its format.
        found: i64,
    },
    /// What SQLite finds wrong.
    #[error("{0}")]
    Damaged(String),
}

impl Store {
    /// Writes the current state to the empty file at `path`: one consistent state, even if others read or write in the
    /// meantime, without anything that was deleted. Writers do not wait for it. Calls `stop` regularly to ask
    /// whether to give up.
    ///
    /// # Errors
    /// Returns the errors of SQLite, including that it was interrupted.
    pub fn copy_to(&self, path: &Path, stop: &(dyn Fn() -> bool + Sync)) -> rusqlite::Result<()> {
        let from = self.path().ok_or(rusqlite::Error::InvalidQuery)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Sqlite::open_with_flags(from, flags)?;
        database::prepare(&db)?;
        #[cfg(unix)]
        let name = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
        #[cfg(not(unix))]
        let name = path.as_os_str().as_encoded_bytes();
        let name = rusqlite::types::ToSqlOutput::Borrowed(ValueRef::Text(name));
        unless(&db, stop, || db.execute("VACUUM INTO ?1", [&name]).map(drop))
    }
}

/// Does `work` with `db`. Once `stop` returns true, `work` ends with an error from SQLite.
///
/// # Errors
/// Returns the errors of `work`.
pub fn unless<T>(
    db: &Sqlite,
    stop: &(dyn Fn() -> bool + Sync),
    work: impl FnOnce() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let (done, is_done) = mpsc::channel::<()>();
    let handle = db.get_interrupt_handle();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while is_done.recv_timeout(ASKED_EVERY) == Err(RecvTimeoutError::Timeout) {
                if stop() {
                    handle.interrupt();
                }
            }
        });
        let worked = work();
        drop(done);
        worked
    })
}

/// Opens the file at `path`, which may come from anywhere, and returns its format too.
fn open_untrusted(path: &Path, application_id: i32) -> Result<(Sqlite, i64), Unsound> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Sqlite::open_with_flags(path, flags)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    db.pragma_update(None, "cell_size_check", true)?;
    database::prepare(&db)?;
    let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if number("application_id")? != i64::from(application_id) {
        return Err(Unsound::Foreign);
    }
    let format = number("user_version")?;
    if format > FORMAT {
        return Err(Unsound::Newer { found: format });
    }
    // A store has tables with their indexes, and nothing that runs when they are read or written.
    let other: Option<String> = db
        .query_row(
            "SELECT type || ' ' || name FROM sqlite_master
             WHERE type NOT IN ('table', 'index') OR sql LIKE '%VIRTUAL%TABLE%' LIMIT 1",
            [],
            |row| row.get(0),
        )
        .optional()?;
    if let Some(other) = other {
        return Err(Unsound::Damaged(format!("it contains something that no store contains: {other}")));
    }
    Ok((db, format))
}

/// Examines the file at `path`, which may come from anywhere, and returns what it contains. Runs nothing that the
/// file defines.
///
/// # Errors
/// Returns [`Unsound`].
pub fn examine(
    path: &Path,
    application_id: i32,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Holdings, Unsound> {
    let (db, format) = open_untrusted(path, application_id)?;
    let found: String = unless(&db, stop, || db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
    if found != "ok" {
        return Err(Unsound::Damaged(found));
    }
    Ok(unless(&db, stop, || holdings(&db, format))?)
}

/// The tables and columns of a database, their keys and their indexes, except the tables of values, one of which
/// belongs to each slot.
const SHAPE: &str = "
SELECT 'table ' || t.name || ' ' || t.ncol || ' ' || t.wr || ' ' || t.strict FROM pragma_table_list t
WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' AND t.name NOT GLOB 'value_[0-9]*'
UNION ALL
SELECT 'column ' || m.name || ' ' || c.cid || ' ' || c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' || c.pk || ' ' || c.hidden || ' ' || coalesce(c.dflt_value, '')
FROM sqlite_master m, pragma_table_xinfo(m.name) c
WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT GLOB 'value_[0-9]*'
UNION ALL
SELECT 'index ' || m.name || ' ' || i.\"unique\" || i.origin || i.partial || ' ' || x.seqno || ' ' || coalesce(x.name, '?') || ' ' || x.\"desc\" || x.key
FROM sqlite_master m, pragma_index_list(m.name) i, pragma_index_xinfo(i.name) x
WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT GLOB 'value_[0-9]*'
ORDER BY 1";

/// What a slot's table of values never has.
const ODD_VALUES: &str = "
SELECT m.name FROM sqlite_master m WHERE m.type = 'table' AND m.name GLOB 'value_[0-9]*'
AND (m.name GLOB 'value_*[^0-9]*' OR EXISTS (SELECT 1 FROM pragma_index_list(m.name))
  OR (SELECT wr FROM pragma_table_list t WHERE t.schema = 'main' AND t.name = m.name)
  OR EXISTS (SELECT 1 FROM pragma_table_xinfo(m.name) c WHERE c.hidden OR c.dflt_value IS NOT NULL OR (c.pk > 0) <> (c.cid = 0)
             OR c.name <> CASE c.cid WHEN 0 THEN 'rid' ELSE 'c' || (c.cid - 1) END))
UNION ALL
SELECT name FROM sqlite_master WHERE upper(sql) GLOB '*[^A-Z_]CHECK[^A-Z_]*'
LIMIT 1";

/// Checks that the file at `path`, which may come from anywhere, has exactly the tables of a store, with their keys
/// and indexes. Without one of them, later queries would take very long. Runs nothing that the file defines.
///
/// # Errors
/// Returns [`Unsound`].
pub fn check_tables(
    path: &Path,
    application_id: i32,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<(), Unsound> {
    let (db, format) = open_untrusted(path, application_id)?;
    let ours = Sqlite::open_in_memory()?;
    for tables in tables::of_format(format) {
        ours.execute_batch(tables)?;
    }
    let shape = |db: &Sqlite| -> rusqlite::Result<Vec<String>> {
        let mut lines = db.prepare(SHAPE)?;
        lines.query_map([], |row| row.get(0))?.collect()
    };
    let (ours, found) = (shape(&ours)?, unless(&db, stop, || shape(&db))?);
    // One after the other, to name the first difference.
    let differs = found
        .iter()
        .find(|line| !ours.contains(line))
        .or_else(|| ours.iter().find(|line| !found.contains(line)));
    if let Some(line) = differs {
        return Err(Unsound::Damaged(format!("its tables differ from those of a store: {line}")));
    }
    let odd: Option<String> =
        unless(&db, stop, || db.query_row(ODD_VALUES, [], |row| row.get(0)).optional())?;
    match odd {
        Some(odd) => Err(Unsound::Damaged(format!("it contains something that no store contains: {odd}"))),
        None => Ok(()),
    }
}

fn holdings(db: &Sqlite, format: i64) -> rusqlite::Result<Holdings> {
    let count = |sql| db.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned);
    let (attachments, bytes) = db.query_row(
        "SELECT count(*), coalesce(sum(size), 0) FROM blob WHERE bytes IS NULL AND is_copied = 0",
        [],
        |row| Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, i64>(1)?.cast_unsigned())),
    )?;
    let mut exports = db.prepare(
        "SELECT DISTINCT s.path FROM source s JOIN checkpoint c ON c.source = s.source
         WHERE EXISTS (SELECT 1 FROM blob_place p JOIN blob b ON b.id = p.blob_id
                       WHERE p.unit = c.unit AND b.bytes IS NULL AND b.is_copied = 0)
         ORDER BY s.path LIMIT ?1",
    )?;
    let exports = exports.query_map([MAX_EXPORTS], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let store_id = db.query_row("SELECT value FROM meta WHERE name = 'store_id'", [], |row| row.get(0));
    Ok(Holdings {
        format,
        store_id: store_id.optional()?,
        records: count("SELECT count(*) FROM record WHERE live = 1")?,
        accounts: count("SELECT count(*) FROM connection")?,
        copies: blobs::copies(db)?,
        left_in_place: Left { attachments, bytes, exports },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: i32 = crate::vault::store::OWN;

    fn store(dir: &Path) -> Store {
        Store::open(Some(&dir.join("x.db")), OWN, None).unwrap()
    }

    #[test]
    fn o3_11_a_copy_is_one_state_and_nobody_waits_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        let copy = dir.path().join("copy.db");
        store.copy_to(&copy, &|| false).unwrap();
        let held = examine(&copy, OWN, &|| false).unwrap();
        assert_eq!((held.format, held.records, held.accounts, held.store_id), (FORMAT, 0, 0, None));
        // The file already exists.
        assert!(store.copy_to(&copy, &|| false).is_err());
    }

    #[test]
    fn o3_11_a_file_from_elsewhere_is_not_taken_for_a_store() {
        let dir = tempfile::tempdir().unwrap();
        drop(store(dir.path()));
        let path = dir.path().join("x.db");
        let told = |id| examine(&path, id, &|| false).unwrap_err().to_string();
        assert_eq!(told(crate::vault::store::FICTION), "it is not a store of this kind");
        let change = |sql: &str| Sqlite::open(&path).unwrap().execute_batch(sql).unwrap();
        for (sql, back) in [
            ("CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END", "DROP TRIGGER t"),
            ("CREATE VIEW v AS SELECT * FROM record", "DROP VIEW v"),
            ("CREATE VIRTUAL TABLE f USING fts5(x)", "DROP TABLE f"),
        ] {
            change(sql);
            assert!(told(OWN).starts_with("it contains something that no store contains"), "{sql}");
            change(back);
        }
        examine(&path, OWN, &|| false).unwrap();
        change("PRAGMA user_version = 99");
        assert!(told(OWN).contains("format 99"));
    }

    #[test]
    fn o3_11_a_file_without_a_stores_keys_is_not_looked_through() {
        let dir = tempfile::tempdir().unwrap();
        drop(store(dir.path()));
        let path = dir.path().join("x.db");
        check_tables(&path, OWN, &|| false).unwrap();
        for sql in [
            "ALTER TABLE blob_place RENAME TO old; CREATE TABLE blob_place AS SELECT * FROM old; DROP TABLE old",
            "DROP INDEX blob_place_unit",
            "DROP INDEX record_sort; CREATE INDEX record_sort ON record (slot, live, sort) WHERE live",
            "CREATE TABLE more (x)",
            "CREATE TABLE value_1 (rid INTEGER PRIMARY KEY, c0 UNIQUE)",
            "CREATE TABLE value_1 (rid INTEGER PRIMARY KEY, c0 AS (hex(zeroblob(9))))",
            "CREATE TABLE value_1x (rid INTEGER PRIMARY KEY)",
            "CREATE TABLE value_1 (rid INTEGER PRIMARY KEY, c0, CHECK (length(hex(zeroblob(9)))))",
            "ALTER TABLE meta ADD COLUMN more",
            "DROP TABLE sighting",
        ] {
            let dir = tempfile::tempdir().unwrap();
            let forged = dir.path().join("forged.db");
            Sqlite::open(&path).unwrap().execute("VACUUM INTO ?1", [forged.to_str().unwrap()]).unwrap();
            Sqlite::open(&forged).unwrap().execute_batch(sql).unwrap();
            let refused = check_tables(&forged, OWN, &|| false).unwrap_err();
            assert!(matches!(refused, Unsound::Damaged(_)), "{sql}: {refused}");
        }
        Sqlite::open(&path)
            .unwrap()
            .execute_batch("CREATE TABLE value_1 (rid INTEGER PRIMARY KEY, c0, c1); CREATE TABLE value_12 (rid INTEGER PRIMARY KEY)")
            .unwrap();
        check_tables(&path, OWN, &|| false).unwrap();
    }
}
