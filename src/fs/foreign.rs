//! Files of other programs: a host's config. Links are followed and the mode is kept. The file is written whole
//! or not at all, and only if it still has the content that was read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// The most that is read of a config: 64 MiB.
const MAX_BYTES: u64 = 64 << 20;
/// A part of the names of unfinished files and of backups.
const UNFINISHED: &str = "pdpp-tmp-";
const BACKUP: &str = "pdpp-backup-";

/// A file that belongs to another program. It need not exist.
#[derive(Debug, Clone)]
pub struct ForeignFile {
    named: PathBuf,
    real: PathBuf,
}

/// Why a file of another program is left unchanged.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// A link to something that does not exist.
    #[error("{} is a link to a file that does not exist", .0.display())]
    Dangling(PathBuf),
    /// A link that leads back to itself.
    #[error("{} is a link that leads back to itself", .0.display())]
    Loop(PathBuf),
    /// A directory, a pipe, ...
    #[error("{} is not a plain file", .0.display())]
    NotAFile(PathBuf),
    /// Its owner made it read-only.
    #[error("{} is read-only", .0.display())]
    ReadOnly(PathBuf),
    /// Writing it would give it to the user who runs this.
    #[error("{} belongs to another user", .0.display())]
    OtherOwner(PathBuf),
    /// Writing it whole would leave the old content under its other names.
    #[error("{} has {} names (hard links), and a new file would get only one of them", .0.display(), .1)]
    HardLinked(PathBuf, u64),
    /// The file is larger than what is read.
    #[error("{} is larger than 64 MiB", .0.display())]
    TooLarge(PathBuf),
    /// Another program holds its lock.
    #[error("{} exists: another program is changing the file", .0.display())]
    Locked(PathBuf),
    /// An error of the disk.
    #[error("{path}: {why}", path = .0.display(), why = .1)]
    Io(PathBuf, io::Error),
}

/// Whether a write happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrote {
    /// The content is on the disk.
    Yes,
    /// Another program changed the file after it was read; nothing was written.
    ChangedMeanwhile,
}

/// Keeps other processes of this program from writing; released when dropped, or when the process dies.
#[derive(Debug)]
pub struct ForeignLock {
    _file: File,
}

/// A lock directory next to a file, as some hosts use it; released when dropped.
#[derive(Debug)]
pub struct LockDir(PathBuf);

impl ForeignFile {
    /// Finds the file that `path` names, through links.
    ///
    /// # Errors
    /// [`ForeignError::Dangling`], [`ForeignError::NotAFile`], [`ForeignError::Io`].
    pub fn locate(path: &Path) -> Result<Self, ForeignError> {
        let io = |error: io::Error| {
            let path = path.to_owned();
            if is_loop(&error) { ForeignError::Loop(path) } else { ForeignError::Io(path, error) }
        };
        let real = match fs::symlink_metadata(path) {
            Ok(_) => match dunce::canonicalize(path) {
                Ok(real) => real,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(ForeignError::Dangling(path.to_owned()));
                }
                Err(error) => return Err(io(error)),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(ForeignError::NotAFile(path.parent().unwrap_or(path).to_owned()));
            }
            Err(error) => return Err(io(error)),
        };
        match fs::metadata(&real) {
            Ok(found) if !found.is_file() => Err(ForeignError::NotAFile(path.to_owned())),
            _ => Ok(Self { named: path.to_owned(), real }),
        }
    }

    /// The path as it was given.
    pub fn named(&self) -> &Path {
        &self.named
    }

    /// The file itself, with links resolved.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// The file's bytes; `None` if it does not exist.
    ///
    /// # Errors
    /// [`ForeignError::TooLarge`], [`ForeignError::Io`].
    pub fn read(&self) -> Result<Option<Vec<u8>>, ForeignError> {
        let file = match File::open(&self.real) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.io(error)),
        };
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| self.io(error))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(ForeignError::TooLarge(self.named.clone()));
        }
        Ok(Some(bytes))
    }

    /// Whether the file may be written, by its mode and its owner. A file that does not exist may be written in
    /// the user's own folder: a file that an administrator makes in another person's folder would be out of
    /// that person's reach.
    ///
    /// # Errors
    /// [`ForeignError::ReadOnly`], [`ForeignError::OtherOwner`], [`ForeignError::HardLinked`].
    pub fn check_writable(&self) -> Result<(), ForeignError> {
        let Ok(found) = fs::metadata(&self.real) else {
            return match super::nearest_of_others(&self.real) {
                Some(dir) => Err(ForeignError::OtherOwner(dir)),
                None => Ok(()),
            };
        };
        // Checks the mode, not the right to write: an administrator may write anything, but should not do so
        // here.
        if found.permissions().readonly() {
            return Err(ForeignError::ReadOnly(self.named.clone()));
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            if found.uid() != rustix::process::geteuid().as_raw() {
                return Err(ForeignError::OtherOwner(self.named.clone()));
            }
            if found.nlink() > 1 {
                return Err(ForeignError::HardLinked(self.named.clone(), found.nlink()));
            }
        }
        Ok(())
    }

    /// How many folders [`ForeignFile::lock`] would make: those above the file that do not exist.
    pub fn missing_folders(&self) -> usize {
        self.dir().ancestors().take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists()).count()
    }

    /// Removes the nearest `count` folders above the file that are empty. One that is not, and those above it, stay.
    pub fn remove_folders(&self, count: usize) {
        for dir in self.dir().ancestors().take(count) {
            if fs::remove_dir(dir).is_err() {
                break;
            }
        }
    }

    /// Makes the directory of the file (mode 0700), and waits until no other process of this program writes
    /// there.
    ///
    /// # Errors
    /// [`ForeignError::Io`].
    pub fn lock(&self) -> Result<ForeignLock, ForeignError> {
        let dir = self.dir();
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir).map_err(|error| self.io(error))?;
        let file = lock_in(dir).map_err(|error| self.io(error))?;
        Ok(ForeignLock { _file: file })
    }

    /// Writes `new` if the file still is `old` (`None`: does not exist). A new file has mode 0600.
    ///
    /// # Errors
    /// [`ForeignError::Io`]; the file is then unchanged.
    pub fn replace(
        &self,
        _lock: &ForeignLock,
        old: Option<&[u8]>,
        new: &[u8],
    ) -> Result<Wrote, ForeignError> {
        self.check_writable()?;
        self.remove_unfinished();
        let mut file = tempfile::Builder::new()
            .prefix(&format!(".{}.{UNFINISHED}", self.name()))
            .tempfile_in(self.dir())
            .map_err(|error| self.io(error))?;
        let written = file.write_all(new).and_then(|()| {
            if let Ok(found) = fs::metadata(&self.real) {
                #[cfg(windows)]
                super::rights::copy(&self.real, file.path())?;
                file.as_file().set_permissions(found.permissions())?;
            }
            file.as_file().sync_all()
        });
        written.map_err(|error| self.io(error))?;
        if self.read()?.as_deref() != old {
            return Ok(Wrote::ChangedMeanwhile);
        }
        let persisted = match old {
            Some(_) => super::put_in_place(file, &self.real),
            None => file.persist_noclobber(&self.real).map(drop).map_err(|error| error.error),
        };
        match persisted {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Ok(Wrote::ChangedMeanwhile);
            }
            Err(error) => return Err(self.io(error)),
        }
        self.sync_dir()?;
        Ok(Wrote::Yes)
    }

    /// Removes the file if it still is `old`.
    ///
    /// # Errors
    /// [`ForeignError::Io`].
    pub fn remove(&self, _lock: &ForeignLock, old: &[u8]) -> Result<Wrote, ForeignError> {
        self.check_writable()?;
        if self.read()?.as_deref() != Some(old) {
            return Ok(Wrote::ChangedMeanwhile);
        }
        fs::remove_file(&self.real).map_err(|error| self.io(error))?;
        self.sync_dir()?;
        Ok(Wrote::Yes)
    }

    /// Writes `bytes` next to the file, with its mode, under an unused name that contains `stamp`.
    ///
    /// # Errors
    /// [`ForeignError::Io`].
    pub fn back_up(&self, bytes: &[u8], stamp: &str) -> Result<PathBuf, ForeignError> {
        for n in 0..100 {
            let suffix = if n == 0 { String::new() } else { format!("-{n}") };
            let path = self.dir().join(format!("{}.{BACKUP}{stamp}{suffix}", self.name()));
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = match options.open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(ForeignError::Io(path, error)),
            };
            let written = file.write_all(bytes).and_then(|()| {
                if let Ok(found) = fs::metadata(&self.real) {
                    #[cfg(windows)]
                    super::rights::copy(&self.real, &path)?;
                    file.set_permissions(found.permissions())?;
                }
                file.sync_all()
            });
            return match written {
                Ok(()) => Ok(path),
                Err(error) => {
                    // A backup that is only half written is useless.
                    let _ = fs::remove_file(&path);
                    Err(ForeignError::Io(path, error))
                }
            };
        }
        let taken = io::Error::new(
            io::ErrorKind::AlreadyExists,
            "there are already a hundred backups from this second",
        );
        Err(self.io(taken))
    }

    /// Removes backups next to the file: all except the first, which may hold the content from before this
    /// program first wrote, and the newest `newest`. A backup that cannot be removed stays.
    pub fn prune_backups(&self, _lock: &ForeignLock, newest: usize) {
        let backups = self.backups();
        let old = backups.len().saturating_sub(newest);
        for path in backups.iter().take(old).skip(1) {
            let _ = fs::remove_file(path);
        }
    }

    /// Removes the backups next to the file whose bytes `is_meant` accepts. A backup that cannot be removed stays.
    pub fn remove_backups(&self, _lock: &ForeignLock, is_meant: &dyn Fn(&[u8]) -> bool) {
        for path in self.backups() {
            if fs::read(&path).is_ok_and(|bytes| is_meant(&bytes)) {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// The contents of the backups next to the file, newest first, each read when it is asked for.
    pub fn backed_up(&self) -> impl Iterator<Item = Vec<u8>> {
        self.backups().into_iter().rev().filter_map(|path| fs::read(path).ok())
    }

    /// The backups next to the file, oldest first.
    fn backups(&self) -> Vec<PathBuf> {
        let prefix = format!("{}.{BACKUP}", self.name());
        let Ok(entries) = fs::read_dir(self.dir()) else { return Vec::new() };
        let mut backups: Vec<_> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let (stamp, number) = stamp_of(name.strip_prefix(&prefix)?)?;
                Some((stamp.to_owned(), number, entry.path()))
            })
            .collect();
        backups.sort();
        backups.into_iter().map(|(_, _, path)| path).collect()
    }

    /// Removes what a killed process of this program left: safe while the lock is held.
    fn remove_unfinished(&self) {
        let prefix = format!(".{}.{UNFINISHED}", self.name());
        let Ok(entries) = fs::read_dir(self.dir()) else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn dir(&self) -> &Path {
        self.real.parent().unwrap_or(Path::new("."))
    }

    fn name(&self) -> String {
        self.real.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn io(&self, error: io::Error) -> ForeignError {
        ForeignError::Io(self.named.clone(), error)
    }

    fn sync_dir(&self) -> Result<(), ForeignError> {
        #[cfg(unix)]
        File::open(self.dir()).and_then(|dir| dir.sync_all()).map_err(|error| self.io(error))?;
        Ok(())
    }
}

/// Waits until no other process of this program has the lock of `dir`. The lock leaves no file behind.
#[cfg(not(windows))]
fn lock_in(dir: &Path) -> io::Result<File> {
    let file = File::open(dir)?;
    file.lock()?;
    Ok(file)
}

/// Does the same on Windows, which cannot lock a directory: opens a file without sharing, which is removed
/// when it is closed.
#[cfg(windows)]
fn lock_in(dir: &Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt as _;
    const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
    /// `ERROR_ACCESS_DENIED`: the file is being deleted; `ERROR_SHARING_VIOLATION`.
    const IN_USE: [Option<i32>; 2] = [Some(5), Some(32)];
    let end = Instant::now() + Duration::from_mins(1);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).share_mode(0).custom_flags(FILE_FLAG_DELETE_ON_CLOSE);
    loop {
        match options.open(dir.join(".pdpp-setup-lock")) {
            Err(error) if IN_USE.contains(&error.raw_os_error()) && Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(20));
            }
            opened => return opened,
        }
    }
}

/// The time when a backup was made, and its number within that second, from the text after [`BACKUP`] in its
/// name.
fn stamp_of(rest: &str) -> Option<(&str, u32)> {
    let (stamp, number) = match rest.split_once('-') {
        Some((stamp, number)) => (stamp, number.parse().ok()?),
        None => (rest, 0),
    };
    let shape: String = stamp.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    (shape == "00000000T000000Z").then_some((stamp, number))
}

#[cfg(unix)]
fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
const fn is_loop(_error: &io::Error) -> bool {
    false
}

impl LockDir {
    /// How long a lock directory counts after it was last touched: the same time as in `proper-lockfile`.
    const STALE: Duration = Duration::from_secs(10);

    /// Makes the directory `path`, waiting while another program has it. If nobody has touched it for ten
    /// seconds, it is a leftover and is taken over.
    ///
    /// # Errors
    /// [`ForeignError::Locked`] after fifteen seconds, [`ForeignError::Io`].
    pub fn take(path: &Path) -> Result<Self, ForeignError> {
        Self::wait_for(path, || fs::create_dir(path))
    }

    /// The same with a file in it from the start: for a program that moves its own directory over an empty one.
    ///
    /// # Errors
    /// Same as [`LockDir::take`].
    pub fn take_marked(path: &Path) -> Result<Self, ForeignError> {
        let io = |error| ForeignError::Io(path.to_owned(), error);
        let made = tempfile::Builder::new()
            .prefix(".pdpp-lock-")
            .tempdir_in(path.parent().unwrap_or(path))
            .map_err(io)?;
        fs::write(made.path().join(Self::MARK), std::process::id().to_string()).map_err(io)?;
        let lock = Self::wait_for(path, || match fs::symlink_metadata(path) {
            // Outside Unix nothing can be moved over a directory, and the error does not state why.
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(made.path(), path),
        })?;
        // The directory no longer exists under that name.
        let _ = made.keep();
        Ok(lock)
    }

    const MARK: &str = "owner.pdpp";

    fn wait_for(path: &Path, make: impl Fn() -> io::Result<()>) -> Result<Self, ForeignError> {
        let until = Instant::now() + Duration::from_secs(15);
        loop {
            match make() {
                Ok(()) => return Ok(Self(path.to_owned())),
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty
                    ) => {}
                Err(error) => return Err(ForeignError::Io(path.to_owned(), error)),
            }
            let touched = fs::metadata(path).and_then(|found| found.modified());
            let age = touched.ok().and_then(|touched| SystemTime::now().duration_since(touched).ok());
            if age.is_some_and(|age| age > Self::STALE) {
                Self::clear(path);
            } else if Instant::now() > until {
                return Err(ForeignError::Locked(path.to_owned()));
            } else {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }

    /// Removes a lock directory and the file that names its owner, and nothing else.
    fn clear(path: &Path) {
        let marks = fs::read_dir(path).into_iter().flatten().flatten();
        for mark in marks.filter(|mark| mark.file_name().to_string_lossy().starts_with("owner.")) {
            let _ = fs::remove_file(mark.path());
        }
        let _ = fs::remove_dir(path);
    }
}

impl Drop for LockDir {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.0.join(Self::MARK));
        let _ = fs::remove_dir(&self.0);
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    fn file(dir: &Path, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = dir.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_folder_of_another_user_gets_no_file() {
        let dir = tempfile::tempdir().unwrap();
        // For anyone except root, a directory of root's; for root, one that was given to another user.
        let mut theirs = PathBuf::from("/");
        if fs::metadata(dir.path()).unwrap().uid() == 0 {
            theirs = dir.path().join("theirs");
            fs::create_dir(&theirs).unwrap();
            std::os::unix::fs::chown(&theirs, Some(54_321), None).unwrap();
            assert!(super::super::PrivateDir::create(&theirs.join("a/cache")).is_err());
        }
        for path in [theirs.join("config.json"), theirs.join("not/there/config.json")] {
            let refused = ForeignFile::locate(&path).unwrap().check_writable().unwrap_err();
            assert!(matches!(&refused, ForeignError::OtherOwner(dir) if *dir == theirs), "{refused}");
        }
        assert!(ForeignFile::locate(&dir.path().join("a/b")).unwrap().check_writable().is_ok());
        assert!(super::super::PrivateDir::create(&dir.path().join("a/cache")).is_ok());
    }

    #[test]
    fn a_file_with_several_names_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = file(dir.path(), "config.json", "old", 0o600);
        fs::hard_link(&path, dir.path().join("dotfile")).unwrap();
        let found = ForeignFile::locate(&path).unwrap();
        let lock = found.lock().unwrap();
        let refused = found.replace(&lock, Some(b"old"), b"new").unwrap_err();
        assert!(matches!(refused, ForeignError::HardLinked(_, 2)), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }

    #[test]
    fn a_link_stays_a_link_and_a_mode_stays_a_mode() {
        let dir = tempfile::tempdir().unwrap();
        let dotfiles = dir.path().join("dotfiles");
        fs::create_dir(&dotfiles).unwrap();
        let real = file(&dotfiles, "real.json", "old", 0o640);
        let link = dir.path().join("config.json");
        symlink("dotfiles/real.json", &link).unwrap();
        let found = ForeignFile::locate(&link).unwrap();
        let lock = found.lock().unwrap();
        let backup = found.back_up(b"old", "now").unwrap();
        assert_eq!(found.replace(&lock, Some(b"old"), b"new").unwrap(), Wrote::Yes);
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().mode() & 0o777, 0o640);
        assert_eq!(backup.parent().unwrap().file_name().unwrap(), "dotfiles", "next to the real file");
        assert_eq!(fs::metadata(&backup).unwrap().mode() & 0o777, 0o640);
        assert_eq!(found.replace(&lock, Some(b"old"), b"newer").unwrap(), Wrote::ChangedMeanwhile);
        assert_eq!(found.remove(&lock, b"old").unwrap(), Wrote::ChangedMeanwhile);
        assert_eq!(fs::read_dir(&dotfiles).unwrap().count(), 2, "no temporary file is left");
    }

    #[test]
    fn a_new_file_is_the_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let found = ForeignFile::locate(&dir.path().join("a/b/new.json")).unwrap();
        assert_eq!(found.read().unwrap(), None);
        let lock = found.lock().unwrap();
        assert_eq!(found.replace(&lock, None, b"{}").unwrap(), Wrote::Yes);
        assert_eq!(found.replace(&lock, None, b"[]").unwrap(), Wrote::ChangedMeanwhile);
        assert_eq!(fs::metadata(found.real()).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(dir.path().join("a")).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn only_as_many_folders_go_as_were_made_and_only_empty_ones() {
        let dir = tempfile::tempdir().unwrap();
        let there = dir.path().join("there");
        fs::create_dir(&there).unwrap();
        let found = ForeignFile::locate(&there.join("a/b/new.json")).unwrap();
        assert_eq!(found.missing_folders(), 2);
        drop(found.lock().unwrap());
        assert_eq!(found.missing_folders(), 0);
        fs::write(there.join("a/theirs"), "").unwrap();
        found.remove_folders(2);
        assert!(there.join("a").exists() && !there.join("a/b").exists());
        fs::remove_file(there.join("a/theirs")).unwrap();
        drop(found.lock().unwrap());
        found.remove_folders(2);
        assert!(there.exists() && !there.join("a").exists(), "a folder that was there before stays");
    }

    #[test]
    fn old_backups_go_but_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let found = ForeignFile::locate(&file(dir.path(), "a.json", "{}", 0o600)).unwrap();
        let lock = found.lock().unwrap();
        let names = || {
            let mut names: Vec<_> = fs::read_dir(dir.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter_map(|name| name.strip_prefix("a.json.pdpp-backup-").map(str::to_owned))
                .collect();
            names.sort();
            names
        };
        for theirs in [
            "a.json.pdpp-backup-mine",
            "a.json.pdpp-backup-20260101T000000Z-x",
            "b.json.pdpp-backup-20250101T000000Z",
        ] {
            file(dir.path(), theirs, "", 0o600);
        }
        for stamp in ["20260101T000000Z", "20260102T000000Z", "20260103T000000Z"] {
            found.back_up(b"{}", stamp).unwrap();
        }
        for _ in 0..12 {
            found.back_up(b"{}", "20260104T000000Z").unwrap();
        }
        found.prune_backups(&lock, 3);
        let left = [
            "20260101T000000Z",
            "20260101T000000Z-x",
            "20260104T000000Z-10",
            "20260104T000000Z-11",
            "20260104T000000Z-9",
            "mine",
        ];
        assert_eq!(names(), left);
        found.prune_backups(&lock, 3);
        assert_eq!(names(), left);
        assert!(
            dir.path().join("b.json.pdpp-backup-20250101T000000Z").exists(),
            "the backup of another file"
        );
    }

    #[test]
    fn what_must_not_be_written_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let dangling = dir.path().join("dangling");
        symlink("nowhere", &dangling).unwrap();
        assert!(matches!(ForeignFile::locate(&dangling), Err(ForeignError::Dangling(_))));
        assert!(matches!(ForeignFile::locate(dir.path()), Err(ForeignError::NotAFile(_))));
        let around = dir.path().join("around");
        symlink("around", &around).unwrap();
        assert!(matches!(ForeignFile::locate(&around), Err(ForeignError::Loop(_))));
        let path = file(dir.path(), "locked.json", "{}", 0o444);
        let found = ForeignFile::locate(&path).unwrap();
        assert!(matches!(found.check_writable(), Err(ForeignError::ReadOnly(_))));
        let lock = found.lock().unwrap();
        assert!(matches!(found.replace(&lock, Some(b"{}"), b"x"), Err(ForeignError::ReadOnly(_))));
        assert!(matches!(ForeignFile::locate(&path.join("x")), Err(ForeignError::NotAFile(_))));
    }

    #[test]
    fn a_lock_directory_is_waited_for_and_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.lock");
        let first = LockDir::take(&path).unwrap();
        let waits = std::thread::spawn({
            let path = path.clone();
            move || LockDir::take(&path).map(drop).is_ok()
        });
        assert!(path.exists());
        drop(first);
        assert!(waits.join().unwrap());
        assert!(!path.exists());
        // A lock that was left behind.
        fs::create_dir(&path).unwrap();
        let long_ago = SystemTime::now() - Duration::from_mins(1);
        File::open(&path).unwrap().set_modified(long_ago).unwrap();
        assert!(LockDir::take(&path).is_ok());
    }

    /// The way Cline takes it: a directory with a file in it, moved into place.
    #[test]
    fn a_marked_lock_directory_keeps_a_move_over_it_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.lock");
        let theirs = |name: &str| {
            let staging = dir.path().join(name);
            fs::create_dir_all(&staging).unwrap();
            fs::write(staging.join("owner.theirs"), "").unwrap();
            fs::rename(&staging, &path)
        };
        let ours = LockDir::take_marked(&path).unwrap();
        assert!(theirs("first").is_err() && path.join(LockDir::MARK).exists());
        drop(ours);
        assert!(!path.exists());
        // The other lock is waited for, and taken over only if it was left behind.
        theirs("second").unwrap();
        let waits = std::thread::spawn({
            let path = path.clone();
            move || LockDir::take_marked(&path).map(drop).is_ok()
        });
        std::thread::sleep(Duration::from_millis(200));
        assert!(path.join("owner.theirs").exists() && !waits.is_finished());
        fs::remove_dir_all(&path).unwrap();
        assert!(waits.join().unwrap());
        theirs("third").unwrap();
        let long_ago = SystemTime::now() - Duration::from_mins(1);
        File::open(&path).unwrap().set_modified(long_ago).unwrap();
        drop(LockDir::take_marked(&path).unwrap());
        // Nothing is left next to it except what the first call had prepared.
        let left: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["first"]);
    }
}
