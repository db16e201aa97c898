//! One state of a store as a file of its own, and what a file is that says it is one: nothing in it is trusted.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection as Sqlite, OpenFlags, OptionalExtension as _};

use super::blobs;
use super::database::{self, Store};
use super::tables::FORMAT;

/// How often it is asked whether to stop.
const ASKED_EVERY: Duration = Duration::from_millis(50);

/// What a store's database holds, in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holdings {
    /// The format of its tables.
    pub format: i64,
    /// The id of the store; none before a grant of it was asked for.
    pub store_id: Option<String>,
    /// Records.
    pub records: u64,
    /// Accounts.
    pub accounts: u64,
    /// The copies of attachments that it refers to, by their hashes.
    pub copies: BTreeSet<String>,
    /// Attachments that stayed where they are.
    pub left_in_place: Left,
}

/// Attachments that are in no store, but in the exports that were imported.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Left {
    /// How many.
    pub attachments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The exports that they are in.
    pub exports: Vec<String>,
}

/// Exports that are named at most.
const MAX_EXPORTS: i64 = 1000;

/// Why a file is not taken for a store's database.
#[derive(Debug, thiserror::Error)]
pub enum Unsound {
    /// SQLite says no.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// It says that it is something else.
    #[error("it is not a store of this kind")]
    Foreign,
    /// A later release wrote it.
    #[error("it has format {found}, this release reads up to {FORMAT}")]
    Newer {
        /// Its format.
        found: i64,
    },
    /// What SQLite finds wrong.
    #[error("{0}")]
    Damaged(String),
}

impl Store {
    /// Writes the present state to the file at `path`, which is empty: one state, whoever reads or writes meanwhile, and nothing of
    /// what was deleted. Writers do not wait for it. `stop` is asked now and then whether to give up.
    ///
    /// # Errors
    /// Whatever SQLite says: that it was interrupted, too.
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

/// Does `work` with `db`, which ends with an error of SQLite's once `stop` says so.
///
/// # Errors
/// Those of `work`.
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

/// Looks through the file at `path`, which may come from anywhere, and says what it holds. Nothing that it defines is run.
///
/// # Errors
/// [`Unsound`].
pub fn examine(
    path: &Path,
    application_id: i32,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Holdings, Unsound> {
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
    // A store has tables and their indexes, and nothing that runs when they are read or written.
    let other: Option<String> = db
        .query_row(
            "SELECT type || ' ' || name FROM sqlite_master
             WHERE type NOT IN ('table', 'index') OR sql LIKE '%VIRTUAL%TABLE%' LIMIT 1",
            [],
            |row| row.get(0),
        )
        .optional()?;
    if let Some(other) = other {
        return Err(Unsound::Damaged(format!("it has what no store has: {other}")));
    }
    let found: String = unless(&db, stop, || db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
    if found != "ok" {
        return Err(Unsound::Damaged(found));
    }
    Ok(holdings(&db, format)?)
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
        // It is there already.
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
            assert!(told(OWN).starts_with("it has what no store has"), "{sql}");
            change(back);
        }
        examine(&path, OWN, &|| false).unwrap();
        change("PRAGMA user_version = 99");
        assert!(told(OWN).contains("format 99"));
    }
}
