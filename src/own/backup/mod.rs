//! Backs up the person's own store to one file, with its database and the copies of attachments, and
//! makes a store from such a file.
//!
//! Grants, clients and tokens are in a separate database, which is not in a backup: nobody can read a
//! restored store until it is granted again.

pub mod age;
pub mod bundle;
mod restore;
mod source;

pub use restore::{Opened, Restored, check_empty, open, restore};

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use rusqlite::ErrorCode;

use self::age::Sealer;
use self::bundle::{Described, Look, Manifest, Member, Unreadable, Unwritten, Writer};
use self::source::Source;
use super::PROFILE;
use super::state::failed;
use crate::advice::Command;
use crate::error::{Error, Kind, Result};
use crate::fs::{self, DirLock, NewFile, PrivateDir};
use crate::secret::Passphrase;
use crate::vault::store::blobs::COPIES;
use crate::vault::store::snapshot::{self, Holdings};

/// The lock that a process holds while it writes a backup; it names itself in [`BACKED_UP_BY`].
const BACKING_UP: &str = "backing-up";
/// The id of the process that is writing one.
const BACKED_UP_BY: &str = "backed-up-by";
/// The snapshot of the database that goes into a backup. It is next to the store, because nobody else can
/// read there.
const SNAPSHOT: &str = ".tmp-snapshot.db";

/// The person who waits for a backup or a restore.
pub struct Watch<'a> {
    /// Whether to stop.
    pub stop: &'a AtomicBool,
    /// Shows the current step.
    pub say: &'a dyn Fn(&str),
}

/// Where to write a backup, and how.
pub struct Wish<'a> {
    /// The file.
    pub file: &'a Path,
    /// Whether it may replace an existing file.
    pub replaces: bool,
    /// The passphrase to encrypt it with.
    pub passphrase: Option<&'a Passphrase>,
    /// The file itself, if the caller opened it: an empty one, to be written and read again. The caller
    /// names it afterwards.
    pub handed: Option<&'a File>,
}

/// A backup that was written, and read again.
#[derive(Debug)]
pub struct BackedUp {
    /// Its manifest.
    pub manifest: Manifest,
    /// The size of the file.
    pub bytes: u64,
    /// Whether the disk keeps others from reading the file, if it was created here.
    pub is_private: bool,
}

/// Checks that a backup can be written to `file`, before a passphrase is asked for.
///
/// # Errors
/// `backup_exists` (77), `backup_file`.
pub fn check_file(dir: &Path, wish_file: &Path, replaces: bool) -> Result<()> {
    let file = std::path::absolute(wish_file).map_err(|error| unwritable(wish_file, error))?;
    let real = |path: &Path| dunce::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = file.parent().map(real);
    if folder.is_some_and(|folder| folder.starts_with(real(dir))) {
        let message = format!("{} is in the folder of the store itself", file.display());
        return Err(Error::new(Kind::Usage, "backup_file", message)
            .hint("Name a file elsewhere, preferably on another disk"));
    }
    match file.symlink_metadata() {
        Ok(found) if found.is_dir() => {
            let message = format!("{} is a folder", file.display());
            Err(Error::new(Kind::Usage, "backup_file", message).hint("Name a file in it"))
        }
        Ok(_) if !replaces => Err(exists(&file)),
        _ => Ok(()),
    }
}

/// Locks the store in `dir` for writing a backup of it or restoring one into it: no account is deleted
/// meanwhile.
///
/// # Errors
/// `backup_running`, naming the process that holds the lock; `own_data_dir` (77).
pub fn lock(dir: &Path) -> Result<DirLock> {
    let private = PrivateDir::create_named(dir).map_err(|error| super::unusable(dir, error))?;
    let locked = super::lock_named(&private, BACKING_UP, BACKED_UP_BY);
    locked.map_err(|error| super::unusable(dir, error))?.map_err(|by| {
        let message = format!("Another pdpp{by} is writing a backup of {}", dir.display());
        Error::failed("backup_running", message).hint("Wait until it has finished, then run this again")
    })
}

/// Removes what a process left in `dir` that was killed during a backup or a restore. Only for the holder
/// of the lock.
///
/// # Errors
/// `own_data_dir`.
pub fn remove_leftovers(dir: &Path) -> Result<()> {
    let private = PrivateDir::open_named(dir).map_err(|error| super::unusable(dir, error))?;
    let unfinished = [BACKED_UP_BY, PrivateDir::ROOM].map(PrivateDir::unfinished);
    let names = [SNAPSHOT, restore::RESTORED].into_iter().chain(unfinished.iter().map(String::as_str));
    let removed = names.into_iter().try_for_each(|name| private.remove_beginning(name));
    removed.map_err(|error| super::unusable(dir, error))
}

/// Backs the store in `dir` up.
///
/// # Errors
/// `own_missing` (78), `backup_exists` (77), `backup_file`, `backup_running`, `backup_disk_full`, `backup_unsound`, `own_store`,
/// `own_damaged`, `interrupted` (130).
pub fn back_up(dir: &Path, wish: &Wish<'_>, watch: &Watch<'_>) -> Result<BackedUp> {
    if wish.handed.is_none() {
        check_file(dir, wish.file, wish.replaces)?;
    }
    let stop = || watch.stop.load(Ordering::Relaxed);
    let store = super::open_store(dir)?;
    if store.is_erasing().map_err(failed)? {
        // An account that is being forgotten must not get into a backup.
        let _alone = super::lock(dir)?;
        drop(super::make_store(dir)?);
    }
    let _alone = lock(dir)?;
    remove_leftovers(dir)?;
    let private = PrivateDir::open_named(dir).map_err(|error| super::unusable(dir, error))?;
    let mut file = if let Some(handed) = wish.handed {
        let handed = handed.try_clone().map_err(|error| unwritable(wish.file, error))?;
        need_room(private.path(), database_size(&private))?;
        Target::Handed(handed)
    } else {
        check_room(&private, wish.file)?;
        Target::New(NewFile::begin(wish.file, wish.replaces).map_err(|error| unwritable(wish.file, error))?)
    };

    (watch.say)("Taking a snapshot of the store");
    let snapshot = Snapshot::new(&private)?;
    let path = private.path().join(SNAPSHOT);
    store.copy_to(&path, &stop).map_err(|error| store_failed(dir, &stop, error))?;
    drop(store);
    let held = snapshot::examine(&path, PROFILE.application_id, &stop).map_err(|error| match error {
        snapshot::Unsound::Sqlite(error) => store_failed(dir, &stop, error),
        other => failed(other),
    })?;

    (watch.say)("Writing the backup");
    let manifest = written(&private, &held, &mut file, wish, &stop)?;
    drop(snapshot);

    (watch.say)("Reading it again");
    file.sync().map_err(|error| unwritable(wish.file, error))?;
    let reopened = file.reopen().map_err(|error| unwritable(wish.file, error))?;
    let bytes = reopened.metadata().map_err(|error| unwritable(wish.file, error))?.len();
    let read = read_again(reopened, wish.passphrase, &stop);
    match read {
        Ok(read) if read == manifest => {}
        Err(Unreadable::Stopped) => return Err(stopped()),
        other => {
            let why = other.map_or_else(|why| why.to_string(), |_| "its manifest differs".to_owned());
            let message =
                format!("What was written to {} differs from what was read back", wish.file.display());
            return Err(Error::failed("backup_unsound", message)
                .because(why)
                .hint("Try another disk: this one does not store what is written to it"));
        }
    }
    let is_private = file.is_private();
    file.commit().map_err(|error| unwritable(wish.file, error))?;
    Ok(BackedUp { manifest, bytes, is_private })
}

fn read_again(
    file: File,
    passphrase: Option<&Passphrase>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Manifest, Unreadable> {
    let locked = |error: age::Locked| Unreadable::Damaged(error.to_string());
    let mut source = Source::new(file).map_err(locked)?;
    if let Some(passphrase) = passphrase {
        source.unlock(passphrase).map_err(locked)?;
    }
    source.reader(stop)?.read(&mut Look::default())
}

/// The file with the snapshot, which is removed when this is dropped.
struct Snapshot<'a>(&'a PrivateDir);

impl<'a> Snapshot<'a> {
    fn new(dir: &'a PrivateDir) -> Result<Self> {
        dir.make_file(SNAPSHOT).map_err(|error| super::unusable(dir.path(), error))?;
        Ok(Self(dir))
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        let _ = self.0.remove_beginning(SNAPSHOT);
    }
}

type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Writes the archive of the snapshot and of the copies of attachments.
fn written(
    dir: &PrivateDir,
    held: &Holdings,
    file: &mut Target,
    wish: &Wish<'_>,
    stop: Stop<'_>,
) -> Result<Manifest> {
    let of_snapshot = |error: Unwritten| match error {
        Unwritten::Stopped => stopped(),
        Unwritten::Write(error) => unwritable(wish.file, error),
        other => failed(other),
    };
    let path = dir.path().join(SNAPSHOT);
    let open = || fs::open_plain(&path).map_err(failed);
    let (sha256, bytes) = bundle::sum(open()?, stop).map_err(of_snapshot)?;
    let database = bundle::Database { format: held.format, bytes, sha256 };
    let copies = dir.path().join(COPIES);
    // First, each copy is assumed to match its name; if one does not, all of them are checked.
    for is_looked_at in [false, true] {
        let sound = sound_copies(&copies, held, is_looked_at, stop).map_err(of_snapshot)?;
        let manifest = Manifest::new(
            Described {
                made_at: Timestamp::now(),
                store_id: held.store_id.clone(),
                records: held.records,
                accounts: held.accounts,
                database: database.clone(),
                left_in_place: held.left_in_place.clone(),
                lost_copies: held.copies.len().saturating_sub(sound.len()) as u64,
            },
            &sound,
        );
        file.restart().map_err(|error| unwritable(wish.file, error))?;
        let to = BufWriter::with_capacity(256 << 10, &mut *file);
        let to = Output::new(to, wish.passphrase).map_err(|error| unwritable(wish.file, error))?;
        let mut writer = Writer::new(to, &manifest, stop).map_err(|error| unwritable(wish.file, error))?;
        writer.add(Member::Database, database.bytes, &database.sha256, open()?).map_err(of_snapshot)?;
        let added = sound.iter().try_for_each(|(hash, size)| {
            let from = fs::open_plain(&copies.join(hash)).map_err(Unwritten::Source)?;
            writer.add(Member::Copy(hash), *size, hash, from)
        });
        match added {
            Ok(()) => {
                let ended = writer.end().and_then(Output::end);
                ended.map_err(|error| unwritable(wish.file, error))?;
                return Ok(manifest);
            }
            Err(Unwritten::Changed | Unwritten::Source(_)) if !is_looked_at => {}
            Err(error) => return Err(of_snapshot(error)),
        }
    }
    Err(failed(Unwritten::Changed))
}

/// The existing copies, with their sizes; with `is_looked_at`, only those that match their name.
fn sound_copies(
    dir: &Path,
    held: &Holdings,
    is_looked_at: bool,
    stop: Stop<'_>,
) -> Result<Vec<(String, u64)>, Unwritten> {
    let mut sound = Vec::new();
    for hash in &held.copies {
        let Ok(file) = fs::open_plain(&dir.join(hash)) else { continue };
        let size = match file.metadata() {
            Ok(found) if !is_looked_at => found.len(),
            Ok(_) => match bundle::sum(file, stop) {
                Ok((found, size)) if found == *hash => size,
                Err(Unwritten::Stopped) => return Err(Unwritten::Stopped),
                _ => continue,
            },
            Err(_) => continue,
        };
        sound.push((hash.clone(), size));
    }
    Ok(sound)
}

/// The destination of a backup.
enum Target {
    /// A file that gets its name when it is complete.
    New(NewFile),
    /// A file that the caller opened.
    Handed(File),
}

impl Target {
    fn restart(&mut self) -> io::Result<()> {
        match self {
            Self::New(file) => file.restart(),
            Self::Handed(file) => {
                file.set_len(0)?;
                file.seek(SeekFrom::Start(0)).map(drop)
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        match self {
            Self::New(file) => file.sync(),
            Self::Handed(file) => file.sync_all(),
        }
    }

    /// Opens the same file again, to read it from its beginning.
    fn reopen(&self) -> io::Result<File> {
        match self {
            Self::New(file) => file.reopen(),
            Self::Handed(file) => {
                let mut again = file.try_clone()?;
                again.seek(SeekFrom::Start(0))?;
                Ok(again)
            }
        }
    }

    fn is_private(&self) -> bool {
        match self {
            Self::New(file) => file.is_private(),
            Self::Handed(_) => false,
        }
    }

    fn commit(self) -> io::Result<()> {
        match self {
            Self::New(file) => file.commit(),
            Self::Handed(_) => Ok(()),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::New(file) => file.write(bytes),
            Self::Handed(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::New(file) => file.flush(),
            Self::Handed(file) => file.flush(),
        }
    }
}

/// The writer of the archive.
enum Output<W: Write> {
    Plain(W),
    Sealed(Box<Sealer<W>>),
}

impl<W: Write> Output<W> {
    fn new(to: W, passphrase: Option<&Passphrase>) -> io::Result<Self> {
        Ok(match passphrase {
            Some(passphrase) => Self::Sealed(Box::new(Sealer::new(to, passphrase)?)),
            None => Self::Plain(to),
        })
    }

    fn end(self) -> io::Result<()> {
        match self {
            Self::Plain(mut to) => to.flush(),
            Self::Sealed(to) => to.end(),
        }
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(to) => to.write(bytes),
            Self::Sealed(to) => to.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(to) => to.flush(),
            Self::Sealed(to) => to.flush(),
        }
    }
}

/// Checks that the disks have room for the snapshot and for the backup.
fn check_room(dir: &PrivateDir, file: &Path) -> Result<()> {
    let database = database_size(dir);
    let copies = std::fs::read_dir(dir.path().join(COPIES)).into_iter().flatten().flatten();
    let copies: u64 = copies.filter_map(|copy| copy.metadata().ok()).map(|found| found.len()).sum();
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().unwrap_or(Path::new("."));
    let both = if is_one_disk(dir.path(), folder) { database } else { 0 };
    need_room(folder, database + copies + both)?;
    need_room(dir.path(), database)
}

fn database_size(dir: &PrivateDir) -> u64 {
    let size = |name: &str| dir.size(name).unwrap_or(0);
    size(PROFILE.database) + size(&format!("{}-wal", PROFILE.database))
}

#[cfg(unix)]
fn is_one_disk(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| path.metadata().map(|found| found.dev()).ok();
    device(one) == device(other)
}

#[cfg(not(unix))]
fn is_one_disk(_: &Path, _: &Path) -> bool {
    false
}

/// Checks that `bytes` are free at `path`, as far as the system knows.
fn need_room(path: &Path, bytes: u64) -> Result<()> {
    match fs::free_space(path) {
        Some(free) if free < bytes => Err(disk_full(path, bytes, Some(free))),
        _ => Ok(()),
    }
}

fn disk_full(path: &Path, bytes: u64, free: Option<u64>) -> Error {
    let size = |bytes| indicatif::DecimalBytes(bytes);
    let message = match free {
        Some(free) => format!(
            "The disk of {} does not have enough room: {} are needed, and {} are free",
            path.display(),
            size(bytes),
            size(free)
        ),
        None => format!("The disk of {} is full", path.display()),
    };
    Error::failed("backup_disk_full", message)
        .hint("Make room, or name a place on another disk, then run this again")
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn exists(file: &Path) -> Error {
    let message = format!("{} already exists", file.display());
    Error::new(Kind::Refused, "backup_exists", message)
        .hint("Name another file, or add --overwrite to replace this one")
}

/// Why `file` could not be written.
pub fn unwritable(file: &Path, error: io::Error) -> Error {
    if is_full(&error) {
        return disk_full(file, 0, None);
    }
    if error.kind() == io::ErrorKind::AlreadyExists {
        return exists(file);
    }
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "Name a file in an existing folder",
        io::ErrorKind::FileTooLarge => {
            "Name a file on a disk that accepts files of that size: the limit of FAT is 4 GB"
        }
        _ => "Name a file in a folder that you can write to",
    };
    Error::failed("backup_file", format!("Could not write {}", file.display())).because(error).hint(hint)
}

/// Why there is no snapshot.
fn store_failed(dir: &Path, stop: Stop<'_>, error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) if stop() => stopped(),
        Some(ErrorCode::DiskFull) => disk_full(dir, 0, None),
        _ => failed(error),
    }
}

fn stopped() -> Error {
    Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing was left behind")
        .run(Command::typed_again("provider status"))
}
