//! Reads another program's SQLite database from a private copy: nothing in it is trusted, nothing in it
//! runs, and all work on it is limited to a minute.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::functions::FunctionFlags;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, Params, Row};

use super::format::ReadFrom;

/// The first bytes of such a file.
pub const MAGIC: &[u8] = b"SQLite format 3\0";

/// How long SQLite may work on one, in all (O4.14).
const TIME: Duration = Duration::from_mins(1);
/// The longest value, in bytes: SQLite fails on a longer one, so query its length first (`octet_length`).
const LONGEST: i32 = 8 << 20;
/// The SQL functions that are allowed: the time that each takes is limited by the length of its
/// arguments.
const FUNCTIONS: [&str; 22] = [
    "abs",
    "coalesce",
    "date",
    "datetime",
    "if",
    "ifnull",
    "iif",
    "julianday",
    "length",
    "likelihood",
    "likely",
    "lower",
    "max",
    "min",
    "nullif",
    "octet_length",
    "round",
    "sign",
    "typeof",
    "unicode",
    "unlikely",
    "upper",
];
/// SQLite's steps between two checks of the clock.
const STEPS: i32 = 10_000;

/// An open database.
pub struct OthersDatabase {
    db: Connection,
    /// When SQLite must stop, in milliseconds after `begun`.
    until: Arc<AtomicU64>,
    begun: Instant,
    left: Duration,
}

impl OthersDatabase {
    /// Copies and opens a database.
    ///
    /// # Errors
    /// If it cannot be copied, is not a database, or is damaged.
    pub fn open(bytes: &dyn ReadFrom) -> io::Result<Self> {
        let apart = bytes.apart().ok_or(io::ErrorKind::Unsupported)?;
        let path = apart.database()?;
        let opened = Connection::open_with_flags(
            &path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        );
        let mut db = opened.map_err(failed)?;
        let begun = Instant::now();
        let until = Arc::new(AtomicU64::new(u64::MAX));
        let deadline = Arc::clone(&until);
        let is_late = move || {
            let ran = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            ran > deadline.load(Ordering::Relaxed)
        };
        let _ = db.progress_handler(STEPS, Some(is_late));
        let mut database = Self { db, until, begun, left: TIME };
        database.timed(prepare).map_err(failed)?;
        // If this process is killed, no copy of a person's data is left under a name.
        apart.hide();
        let sound: String = database
            .timed(|db| db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))
            .map_err(failed)?;
        if sound != "ok" {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the database is damaged"));
        }
        Ok(database)
    }

    /// The columns of a table, in lower case; empty if there is no such table, or if it is a view or
    /// belongs to a module.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn columns(&mut self, table: &str) -> io::Result<Vec<String>> {
        let columns = |db: &Connection| {
            let sql = "SELECT lower(c.name) FROM pragma_table_list AS l, pragma_table_info(l.name) AS c
                       WHERE l.schema = 'main' AND l.type = 'table' AND l.name = ?1 COLLATE NOCASE LIMIT 1000";
            let mut query = db.prepare(sql)?;
            let names = query.query_map([table], |row| row.get::<_, String>(0))?;
            names.collect::<rusqlite::Result<Vec<_>>>()
        };
        self.timed(columns).map_err(failed)
    }

    /// Passes the rows of a query to `each`, until it breaks. Only SQLite's own time counts.
    ///
    /// # Errors
    /// The errors of SQLite and of `each`.
    pub fn rows(
        &mut self,
        sql: &str,
        parameters: impl Params,
        each: &mut dyn FnMut(&Row<'_>) -> rusqlite::Result<ControlFlow<()>>,
    ) -> io::Result<()> {
        let Self { db, until, begun, left } = self;
        let mut clock = Clock { until, begun: *begun, left };
        let mut query = clock.timed(|| db.prepare(sql)).map_err(failed)?;
        let mut rows = clock.timed(|| query.query(parameters)).map_err(failed)?;
        while let Some(row) = clock.timed(|| rows.next()).map_err(failed)? {
            if each(row).map_err(failed)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn timed<T>(&mut self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let Self { db, until, begun, left } = self;
        Clock { until, begun: *begun, left }.timed(|| work(db))
    }
}

/// Counts SQLite's time.
struct Clock<'a> {
    until: &'a AtomicU64,
    begun: Instant,
    left: &'a mut Duration,
}

impl Clock<'_> {
    fn timed<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let now = Instant::now();
        let until = (now - self.begun) + *self.left;
        self.until.store(u64::try_from(until.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        let worked = work();
        *self.left = self.left.saturating_sub(now.elapsed());
        worked
    }
}

fn prepare(db: &Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST)?;
    db.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    // A pattern with many wildcards makes a column's check run without end, and the clock is not checked
    // meanwhile.
    db.set_limit(Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50)?;
    // Sorting stays within the cache, or is not needed: no query here needs another order than that of
    // its tables.
    let settings = [("cell_size_check", "on"), ("automatic_index", "off"), ("temp_store", "memory")];
    for (name, value) in settings.into_iter().chain([("mmap_size", "0"), ("locking_mode", "exclusive")]) {
        db.pragma_update_and_check(None, name, value, |_| Ok(())).or_else(|error| match error {
            rusqlite::Error::QueryReturnedNoRows => Ok(()),
            other => Err(other),
        })?;
    }
    refuse_functions(db)?;
    // Moves the log's content into the copy, whose files may then lose their names.
    db.query_row("PRAGMA journal_mode = delete", [], |_| Ok(()))?;
    db.pragma_update(None, "query_only", true)
}

/// Replaces every other function by one that fails. A column's check and a generated column run within
/// one step, during which the clock is not checked: searching a text of some megabytes could take days.
fn refuse_functions(db: &Connection) -> rusqlite::Result<()> {
    let mut query = db.prepare("SELECT DISTINCT name, narg FROM pragma_function_list")?;
    let all = query.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i32>(1)?)))?;
    let all = all.collect::<rusqlite::Result<Vec<_>>>()?;
    drop(query);
    let refused = all.iter().filter(|(name, _)| !FUNCTIONS.contains(&name.as_str()));
    for (name, arguments) in refused {
        let flags = FunctionFlags::SQLITE_UTF8
            | FunctionFlags::SQLITE_DETERMINISTIC
            | FunctionFlags::SQLITE_INNOCUOUS;
        // Below -1 means any number of arguments from some number on.
        db.create_scalar_function(
            name.as_str(),
            (*arguments).max(-1),
            flags,
            |_| -> rusqlite::Result<i64> {
                Err(rusqlite::Error::UserFunctionError("this function is not allowed here".into()))
            },
        )?;
    }
    Ok(())
}

fn failed(error: rusqlite::Error) -> io::Error {
    let why = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::OperationInterrupted) => "reading the database takes longer than a minute",
        Some(rusqlite::ErrorCode::NotADatabase) => "it is not a database, or it is encrypted",
        Some(rusqlite::ErrorCode::DatabaseCorrupt) => "the database is damaged",
        _ => return io::Error::other(error),
    };
    io::Error::new(io::ErrorKind::InvalidData, why)
}
