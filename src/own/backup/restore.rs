//! Makes a store from a backup: all of it, or nothing.
//!
//! The file is checked before anything is created. Then the copies of attachments are written, then a
//! database without grants, and last the database of records, under a temporary name until it is
//! complete: without that database there is no store.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use super::age::Locked;
use super::bundle::{Look, Manifest, Member, Take, Unreadable};
use super::source::Source;
use super::{Watch, disk_full, is_full, need_room, stopped};
use crate::advice::{Command, Hint};
use crate::error::{Error, Kind, Result};
use crate::fs::{self, NewFile, PrivateDir};
use crate::own::state::failed;
use crate::own::{self, PROFILE};
use crate::secret::Passphrase;
use crate::text;
use crate::vault;
use crate::vault::store::blobs::COPIES;
use crate::vault::store::snapshot::{self, Unsound};
use crate::vault::store::{self, Store};

/// The database before it becomes a store.
pub(super) const RESTORED: &str = ".tmp-restored.db";

/// A backup to restore.
pub struct Opened {
    path: PathBuf,
    source: Source,
}

/// A store that was made from a backup.
#[derive(Debug)]
pub struct Restored {
    /// The manifest of the backup.
    pub manifest: Manifest,
}

/// Whether `dir` has parts of a store without its database: the database may have been moved away, and
/// may come back. What a killed restore left behind does not count.
fn has_parts(dir: &Path) -> bool {
    let is_there = |name: &str| dir.join(name).symlink_metadata().is_ok_and(|found| found.len() > 0);
    let beside = ["-wal", "-journal"].map(|beside| format!("{}{beside}", PROFILE.database));
    let has_copies = || std::fs::read_dir(dir.join(COPIES)).is_ok_and(|mut copies| copies.next().is_some());
    !is_there(RESTORED) && (beside.iter().any(|name| is_there(name)) || has_copies())
}

/// Checks that a store can be made in `dir`: it has none, or an empty one. Touches nothing.
///
/// # Errors
/// `restore_not_empty` (77); the errors of opening an existing store.
pub fn check_empty(dir: &Path, file: &Path) -> Result<()> {
    own::check_place(dir)?;
    if !own::is_there(dir) {
        return if has_parts(dir) { Err(not_empty(dir, file)) } else { Ok(()) };
    }
    let store = own::open_store(dir)?;
    let held = store.read::<(i64, i64), rusqlite::Error>(|db, _| {
        let sql = "SELECT (SELECT count(*) FROM connection) + (SELECT count(*) FROM account),
                          (SELECT count(*) FROM (SELECT 1 FROM record LIMIT 1))";
        db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
    });
    if held.map_err(failed)? == (0, 0) {
        return Ok(());
    }
    Err(not_empty(dir, file))
}

fn not_empty(dir: &Path, file: &Path) -> Error {
    let message = format!(
        "The store in {} is not empty, and a backup can only be restored to an empty one",
        dir.display()
    );
    if let Some(uid) = own::separate::place::person_of(dir) {
        return Error::new(Kind::Refused, "restore_not_empty", message).hint(emptied(uid, dir, file));
    }
    let beside =
        dir.with_file_name(format!("{}-restored", dir.file_name().unwrap_or_default().to_string_lossy()));
    let beside = Command::new("provider restore")
        .value(file.display().to_string())
        .option("--data-dir", beside.display().to_string());
    Error::new(Kind::Refused, "restore_not_empty", message).hint(
        Hint::new("Restore to another directory, and name it in commands with --data-dir: ").run(beside),
    )
}

/// How to empty the store of a service before `file` is restored into it: a store elsewhere would not be
/// served.
fn emptied(uid: u32, dir: &Path, file: &Path) -> String {
    let again = Command::new("provider restore")
        .value(file.display().to_string())
        .option("--data-dir", dir.display().to_string());
    format!(
        "Keep it; or delete everything in it, then restore: sudo pdpp provider uninstall --for {uid} \
         --delete-data, sudo pdpp provider install --for {uid}, sudo {again}"
    )
}

/// Opens the file at `path` as a backup; messages call it `shown`.
///
/// # Errors
/// `backup_file`, `backup_foreign`, `backup_truncated`, `backup_damaged`.
pub fn open(path: &Path, shown: &Path) -> Result<Opened> {
    let unreadable = |error| told(shown, Unreadable::Read(error));
    // A link to a backup is accepted like the backup.
    let real = dunce::canonicalize(path).map_err(unreadable)?;
    let source = Source::new(fs::open_plain(&real).map_err(unreadable)?);
    Ok(Opened { path: shown.to_owned(), source: source.map_err(|error| locked(shown, error))? })
}

impl Opened {
    /// Whether a passphrase opens it.
    pub const fn is_encrypted(&self) -> bool {
        self.source.is_encrypted()
    }

    /// Opens it with `passphrase`; returns false if the passphrase is wrong.
    ///
    /// # Errors
    /// `backup_damaged`.
    pub fn unlock(&mut self, passphrase: &Passphrase) -> Result<bool> {
        for spelling in passphrase.spellings() {
            match self.source.unlock(&spelling) {
                Ok(()) => return Ok(true),
                Err(Locked::WrongPassphrase) => {}
                Err(error) => return Err(locked(&self.path, error)),
            }
        }
        Ok(false)
    }
}

/// Makes a store in `dir` from `backup`.
///
/// # Errors
/// `restore_not_empty` (77), `backup_file`, `backup_foreign`, `backup_newer`, `backup_truncated`, `backup_damaged`,
/// `backup_disk_full`, `import_running`, `backup_running`, `own_in_use`, `own_data_dir` (77), `own_store`, `interrupted` (130).
pub fn restore(dir: &Path, backup: &Opened, watch: &Watch<'_>) -> Result<Restored> {
    let stop = || watch.stop.load(Ordering::Relaxed);
    let unreadable = |error| told(&backup.path, error);
    check_empty(dir, &backup.path)?;
    (watch.say)("Checking the backup");
    let reader = backup.source.reader(&stop).map_err(unreadable)?;
    let manifest = reader.manifest();
    if manifest.database.format > store::FORMAT {
        return Err(newer(&backup.path, &manifest.written_by));
    }
    let there = dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(dir);
    need_room(there, manifest.database.bytes.saturating_add(manifest.copies.bytes))?;
    reader.read(&mut Look::default()).map_err(unreadable)?;

    (watch.say)("Making the store");
    let is_new = !dir.exists();
    let mut made = Made { dir, is_new };
    let alone = (own::lock(dir)?, super::lock(dir)?);
    // A server would continue with the files that it has open.
    own::check_not_served(dir)?;
    // Another process may have been faster.
    check_empty(dir, &backup.path)?;
    let private = PrivateDir::open_named(dir).map_err(|error| own::unusable(dir, error))?;
    let mut filling = Filling::new(&private, is_new);
    filling.clear();
    let reader = backup.source.reader(&stop).map_err(unreadable)?;
    filling.manifest = Some(reader.manifest().clone());
    filling.stop = Some(&stop);
    let manifest = reader.read(&mut filling).map_err(|error| filling_failed(dir, &backup.path, error))?;
    if stop() {
        return Err(stopped());
    }
    filling.install().map_err(|error| filling_failed(dir, &backup.path, error))?;
    drop(filling);
    drop(alone);
    made.is_new = false;
    Ok(Restored { manifest })
}

/// A directory that was created for a store. If there is none in the end, an empty one is removed: after the locks, because Windows
/// keeps a file, and so its directory, as long as it is open.
struct Made<'a> {
    dir: &'a Path,
    is_new: bool,
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        if self.is_new
            && let Ok(dir) = PrivateDir::open_named(self.dir)
        {
            let _ = dir.remove_empty();
        }
    }
}

/// A store that is being made. If it is not completed, its parts are removed.
struct Filling<'a> {
    dir: &'a PrivateDir,
    /// Whether the directory was created for it.
    is_new: bool,
    is_done: bool,
    manifest: Option<Manifest>,
    stop: Option<&'a (dyn Fn() -> bool + Sync)>,
    copies: Option<PrivateDir>,
    /// The copies that the database refers to.
    wanted: BTreeSet<String>,
    current: Option<NewFile>,
}

impl<'a> Filling<'a> {
    const fn new(dir: &'a PrivateDir, is_new: bool) -> Self {
        Self {
            dir,
            is_new,
            is_done: false,
            manifest: None,
            stop: None,
            copies: None,
            wanted: BTreeSet::new(),
            current: None,
        }
    }

    /// Removes the parts of a store that was not completed.
    fn clear(&mut self) {
        self.current = None;
        let _ = super::remove_leftovers(self.dir.path());
        let _ = self.dir.remove_beginning(&PrivateDir::unfinished(own::IMPORTED_BY));
        let copies = self.dir.path().join(COPIES);
        if let Ok(copies) = PrivateDir::open_named(&copies) {
            let _ = copies.remove_all();
            let _ = copies.remove_empty();
        }
    }

    /// Checks that the database, which has arrived, matches the manifest.
    fn check_database(&mut self) -> Result<(), Unreadable> {
        let path = self.dir.path().join(RESTORED);
        let never = || false;
        let stop = self.stop.unwrap_or(&never);
        // Before any query.
        let examined = snapshot::check_tables(&path, PROFILE.application_id, stop)
            .and_then(|()| snapshot::examine(&path, PROFILE.application_id, stop));
        let held = examined.map_err(|error| match error {
            Unsound::Foreign => {
                Unreadable::Foreign("its database belongs to another kind of store".to_owned())
            }
            Unsound::Sqlite(_) if self.stop.is_some_and(|stop| stop()) => Unreadable::Stopped,
            other => Unreadable::Damaged(format!("its database: {other}")),
        })?;
        let Some(manifest) = &self.manifest else { return Ok(()) };
        if (held.records, held.accounts, held.format, &held.store_id)
            != (manifest.records, manifest.accounts, manifest.database.format, &manifest.store_id)
        {
            return Err(Unreadable::Damaged("its database does not match its manifest".to_owned()));
        }
        self.wanted = held.copies;
        // The database of an older release is migrated before it becomes a store.
        let opened = Store::open(Some(&path), PROFILE.application_id, None);
        drop(opened.map_err(|error| Unreadable::Damaged(format!("its database: {error}")))?);
        Ok(())
    }

    /// Turns it into a store.
    fn install(&mut self) -> Result<(), Unreadable> {
        let explained = |error| Unreadable::Write(io::Error::other(error));
        vault::without_grants(self.dir, &PROFILE).map_err(explained)?;
        // An old log next to a new file would not belong to it.
        for beside in ["-wal", "-shm", "-journal", ""] {
            self.dir.remove(&format!("{}{beside}", PROFILE.database)).map_err(Unreadable::Write)?;
        }
        self.dir.install(RESTORED, PROFILE.database).map_err(Unreadable::Write)?;
        self.is_done = true;
        Ok(())
    }
}

impl Take for Filling<'_> {
    fn begin(&mut self, member: Member<'_>, _: u64) -> Result<&mut dyn Write, Unreadable> {
        let begun = match member {
            Member::Database => self.dir.begin(RESTORED),
            Member::Copy(hash) if self.wanted.contains(hash) => {
                if self.copies.is_none() {
                    let dir = PrivateDir::create(&self.dir.path().join(COPIES)).map_err(Unreadable::Write)?;
                    self.copies = Some(dir);
                }
                self.copies
                    .as_ref()
                    .map_or_else(|| Err(io::ErrorKind::NotFound.into()), |dir| dir.begin(hash))
            }
            Member::Copy(_) => {
                return Err(Unreadable::Damaged(
                    "it has an attachment that its database does not mention".to_owned(),
                ));
            }
        };
        Ok(self.current.insert(begun.map_err(Unreadable::Write)?))
    }

    fn end(&mut self, member: Member<'_>) -> Result<(), Unreadable> {
        if let Some(file) = self.current.take() {
            file.commit().map_err(Unreadable::Write)?;
        }
        match member {
            Member::Database => self.check_database(),
            Member::Copy(_) => Ok(()),
        }
    }
}

impl Drop for Filling<'_> {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        self.clear();
        if self.is_new {
            let _ = self.dir.remove_all();
            let _ = self.dir.remove_empty();
        }
    }
}

fn filling_failed(dir: &Path, file: &Path, error: Unreadable) -> Error {
    match error {
        Unreadable::Write(error) if is_full(&error) => disk_full(dir, 0, None),
        Unreadable::Write(error) => own::unusable(dir, error),
        other => told(file, other),
    }
}

fn locked(file: &Path, error: Locked) -> Error {
    told(
        file,
        match error {
            Locked::Foreign(why) => Unreadable::Foreign(why.to_owned()),
            Locked::Truncated => Unreadable::Truncated,
            Locked::Io(error) => Unreadable::Read(error),
            other => Unreadable::Damaged(other.to_string()),
        },
    )
}

fn newer(file: &Path, written_by: &str) -> Error {
    // The manifest is not trusted yet.
    let written_by = text::one_line(text::prefix(written_by, 40));
    let message =
        format!("{} was written by pdpp {written_by}, which is newer than this one", file.display());
    Error::failed("backup_newer", message).hint(format!("Install pdpp {written_by} or later"))
}

/// Why a file was not restored.
fn told(file: &Path, error: Unreadable) -> Error {
    let shown = file.display();
    let again = "Use another copy of it; nothing was restored";
    match error {
        Unreadable::Stopped => stopped(),
        Unreadable::Foreign(why) => Error::failed(
            "backup_foreign",
            format!("{shown} is not a backup that `pdpp provider backup` wrote"),
        )
        .because(why)
        .hint("Name a file that it wrote; to import an export, use `pdpp import`"),
        Unreadable::Newer { written_by, .. } => newer(file, &written_by),
        Unreadable::Truncated => {
            Error::failed("backup_truncated", format!("{shown} is cut short")).hint(again)
        }
        Unreadable::Damaged(why) => {
            Error::failed("backup_damaged", format!("{shown} is damaged")).because(why).hint(again)
        }
        Unreadable::Read(error) | Unreadable::Write(error) => {
            Error::failed("backup_file", format!("Could not read {shown}"))
                .because(error)
                .hint("Name an existing file that you can read")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o3_11_where_a_service_has_the_store_the_advice_is_for_root_and_names_the_persons_file() {
        let told = not_empty(Path::new("/var/lib/pdpp/1000"), Path::new("/home/ana/my.pdpp"));
        let next = told.next().unwrap().to_string();
        assert_eq!(
            next,
            "Keep it; or delete everything in it, then restore: sudo pdpp provider uninstall --for 1000 \
             --delete-data, sudo pdpp provider install --for 1000, sudo pdpp provider restore \
             /home/ana/my.pdpp --data-dir /var/lib/pdpp/1000"
        );
    }
}
