//! A damaged store: which file is damaged, what is lost and what is not, and the command to type.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection as Sqlite, ErrorCode, OpenFlags};

use super::PROFILE;
use crate::advice::{Command, Hint};
use crate::error::Error;
use crate::text::shell_word;
use crate::vault::store::snapshot::unless;
use crate::vault::wire;

/// How long a file is checked for damage.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many names are tried for a file that is moved away.
const NAMES: u32 = 1000;

/// The error that the owner sees after a failure with the store in `dir`: if a file of the store is
/// damaged, it names the file and the way out.
pub fn told(dir: &Path, error: Error) -> Error {
    // A store of another release and a file of another program are not damaged.
    if error.code() != "own_store" || error.next().is_some() {
        return error;
    }
    let grants = PROFILE.grants.filter(|name| is_damaged(&dir.join(name)));
    let is_data = is_damaged(&dir.join(PROFILE.database));
    if grants.is_none() && !is_data && !is_said(&error) {
        return error.hint("Check that the disk has room and that you can write to it, then run it again");
    }
    let grants = grants.filter(|_| !is_data);
    let file = grants.unwrap_or(PROFILE.database);
    let (untouched, hint) = match grants {
        Some(_) => ("Your data and your exports are untouched", without_grants(dir, file)),
        None => ("Your exports are untouched", without_data(dir)),
    };
    let message = format!(
        "The store of your own data in {} is damaged: {file} cannot be read. {untouched}; agents can no \
         longer read anything through the grants of this store",
        dir.display()
    );
    // The last cause says it in a few words, after a number.
    let why = error.causes().last().unwrap_or_else(|| error.message().to_owned());
    let why = why
        .strip_prefix("Error code ")
        .and_then(|why| why.split_once(": "))
        .map_or(why.as_str(), |(_, why)| why);
    Error::failed("own_damaged", message).because(why.to_owned()).hint(hint)
}

/// Whether SQLite itself reports damage.
fn is_said(error: &Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(one) = cause {
        if one.downcast_ref::<rusqlite::Error>().is_some_and(wire::is_damage) {
            return true;
        }
        cause = one.source();
    }
    false
}

/// What to do if the records cannot be read.
fn without_data(dir: &Path) -> Hint {
    Hint::new("Move it away, import the exports again, and grant access again: ")
        .then(moved(&shell_word(&dir.display().to_string()), &free(dir)))
        .then(" && ")
        .run(in_dir(Command::new("import <export>"), dir))
        .then(" && ")
        .run(Command::connect("local"))
}

/// What to do if the records can be read, but their grants cannot.
fn without_grants(dir: &Path, file: &str) -> Hint {
    let away = free(&dir.join(file));
    // SQLite's extra files move too: an old log next to a new file does not belong to it.
    let files = format!("{}*", shell_word(&dir.join(file).display().to_string()));
    let folder = shell_word(&away.display().to_string()).into_owned();
    Hint::new("Move the file away, and grant access again: ")
        .then(format!("mkdir {folder} && {} && ", moved(&files, &away)))
        .run(in_dir(Command::connect("local"), dir))
}

fn moved(from: &str, to: &Path) -> String {
    let program = if cfg!(windows) { "move" } else { "mv" };
    format!("{program} {from} {}", shell_word(&to.display().to_string()))
}

/// Names the directory in a command, because a named store is remembered, and so is the one that replaces
/// it.
fn in_dir(command: Command, dir: &Path) -> Command {
    command.option("--data-dir", dir.display().to_string())
}

/// A free name next to `path`.
fn free(path: &Path) -> PathBuf {
    let named = |number: u32| {
        let mut name = std::ffi::OsString::from("damaged-");
        name.push(path.file_name().unwrap_or_default());
        if number > 1 {
            name.push(format!("-{number}"));
        }
        path.with_file_name(name)
    };
    (1..NAMES).map(named).find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| named(NAMES))
}

/// Whether SQLite finds a fault in the file at `path` within a few seconds.
fn is_damaged(path: &Path) -> bool {
    let check = || -> rusqlite::Result<bool> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Sqlite::open_with_flags(path, flags)?;
        db.pragma_update(None, "query_only", true)?;
        let began = Instant::now();
        let found: String = unless(&db, &|| began.elapsed() > PATIENCE, || {
            db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        })?;
        Ok(found != "ok")
    };
    match check() {
        Ok(is_damaged) => is_damaged,
        Err(error) => error.sqlite_error_code() != Some(ErrorCode::CannotOpen) && wire::is_damage(&error),
    }
}
