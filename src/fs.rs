//! Private files: owner-only, written whole or not at all, without following symlinks. All raw writes are here.
//!
//! Where this module speaks of mode 0600 or 0700, a file on Windows has an access list that gives nobody else access
//! (`rights`).
#![allow(clippy::disallowed_methods, reason = "this is the module that the lint points to")]

pub mod foreign;
mod rights;
#[cfg(target_os = "linux")]
pub mod system;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
#[cfg(unix)]
use std::time::SystemTime;

/// The directory that a person named, if it already existed.
static NAMED: OnceLock<PathBuf> = OnceLock::new();

/// Leaves the mode of `path` unchanged from now on, if it exists: it may be a directory with other things in
/// it, whose mode is its owner's to change. Files made in it are private anyway. Only the first call has an
/// effect.
pub fn leave_mode_of(path: &Path) {
    if path.is_dir() {
        let _ = NAMED.set(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    }
}

/// The mode of `path`, if it lets others write there: they could put something into it, or remove something
/// from it.
pub fn open_to_writers(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let found = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_dir)?;
        Some(found.mode() & 0o1777).filter(|mode| mode & 0o022 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// A folder above `path`, or `path` itself, where others can replace what leads to it, and its mode. In a
/// sticky folder nobody can remove another user's files. The user's own group counts as the user,
/// except on macOS, where everyone's group is `staff`.
pub fn replaceable_by_others(path: &Path) -> Option<(PathBuf, u32)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let own_group = rustix::process::getegid().as_raw();
        let path = std::path::absolute(path).ok()?;
        path.ancestors().find_map(|dir| {
            let found = fs::metadata(dir).ok().filter(fs::Metadata::is_dir)?;
            let is_oneself = found.gid() == own_group && !cfg!(target_os = "macos");
            let writers = if is_oneself { 0o002 } else { 0o022 };
            let mode = found.mode() & 0o1777;
            (mode & writers != 0 && mode & 0o1000 == 0).then(|| (dir.to_owned(), mode))
        })
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// The nearest existing folder above `path`, if it belongs to another user.
fn nearest_of_others(path: &Path) -> Option<PathBuf> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let path = std::path::absolute(path).ok()?;
        let (dir, found) = path.ancestors().skip(1).find_map(|dir| Some((dir, fs::metadata(dir).ok()?)))?;
        (found.uid() != own_user()).then(|| dir.to_owned())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Distinguishes a file from every other that was or will be at its path, and from itself after a change: which
/// file it is, its length, and when it was written and changed. A change of its mode or of its times counts
/// too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    device: u64,
    inode: u64,
    length: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

#[cfg(unix)]
impl Mark {
    /// A file must have been changed more than this many seconds ago for its mark to stand for its bytes. The
    /// clocks of file systems tick, mostly every few milliseconds, on FAT every two seconds. A file that is
    /// changed twice within a tick, either in place or by a new file with the same number, may look the same.
    const SETTLED: i64 = 2;

    fn of(found: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            device: found.dev(),
            inode: found.ino(),
            length: found.len(),
            written: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// Whether any later change will show. A file whose time is in the future is never settled.
    fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let last = self.changed.0.max(self.written.0);
        i64::try_from(now).unwrap_or(0).saturating_sub(last) > Self::SETTLED
    }
}

/// A directory that only its owner can access.
#[derive(Debug, Clone)]
pub struct PrivateDir(PathBuf);

impl PrivateDir {
    /// The beginning of the name of a file that is not whole yet.
    const TEMPORARY: &str = ".tmp-";

    /// The file that shows whether there is room, under the name that [`PrivateDir::unfinished`] gives it.
    pub const ROOM: &str = "room";

    /// The beginning of the names that the file `name` has until it is whole. A process that is killed
    /// meanwhile leaves such a file.
    pub fn unfinished(name: &str) -> String {
        format!("{}{}-", Self::TEMPORARY, name.trim_start_matches(Self::TEMPORARY))
    }

    /// Opens `path`, creating it and its missing parents with mode 0700.
    ///
    /// # Errors
    /// If it is a symlink, not a directory, or (unix) owned by someone else. A mode that lets others in is
    /// changed to 0700, except after [`leave_mode_of`].
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::make(path)?;
        Self::open(path)
    }

    /// Same as [`PrivateDir::create_named`], but never creates it.
    ///
    /// # Errors
    /// Same as [`PrivateDir::create_named`], and [`io::ErrorKind::NotFound`].
    pub fn open_named(path: &Path) -> io::Result<Self> {
        own_dir(path)?;
        Self::create_named(path)
    }

    /// Same as [`PrivateDir::create`], for a directory that a person names: it may be an existing one with
    /// other things in it, so only the person may change its mode.
    ///
    /// # Errors
    /// Same as [`PrivateDir::create`]; [`io::ErrorKind::PermissionDenied`] if its mode lets others in.
    pub fn create_named(path: &Path) -> io::Result<Self> {
        Self::make(path)?;
        match own_dir(path)?.open {
            Some(how) => Err(refused(path, &format!("lets other users in ({how})"))),
            None => Ok(Self(path.to_owned())),
        }
    }

    /// Makes `path` and its missing parents with mode 0700, if they do not exist.
    fn make(path: &Path) -> io::Result<()> {
        if let Err(error) = fs::symlink_metadata(path) {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            // Anyone may make their own folder below /tmp, and so may an administrator below their own. Below
            // another person's home (`sudo -E`), it would keep that person out.
            #[cfg(unix)]
            if rustix::process::geteuid().is_root()
                && let Some(dir) = nearest_of_others(path)
            {
                return Err(refused(&dir, "belongs to another user"));
            }
            // One by one, so that each can be entered, whatever the umask, before the next is made in it. The
            // parent of a bare name is the empty path, which is the current directory but does not exist.
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.exists());
            if let Some(parent) = parent {
                Self::create(parent)?;
            }
            #[cfg_attr(not(unix), allow(unused_mut, reason = "mutable on unix"))]
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    created?;
                    close_dir(path)?;
                }
            }
        }
        Ok(())
    }

    /// Opens `path` if it exists; never creates it.
    ///
    /// # Errors
    /// Same as [`PrivateDir::create`], and [`io::ErrorKind::NotFound`].
    pub fn open(path: &Path) -> io::Result<Self> {
        if !own_dir(path)?.is_as_made && NAMED.get().is_none_or(|named| named != path) {
            close_dir(path)?;
        }
        Ok(Self(path.to_owned()))
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Reads `name`, at most `max_bytes`.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if it does not exist; [`io::ErrorKind::PermissionDenied`] if it is a
    /// symlink, not a plain file, or someone else's; [`io::ErrorKind::FileTooLarge`] beyond the bound. A mode
    /// that lets others read is changed to 0600.
    pub fn read(&self, name: &str, max_bytes: u64) -> io::Result<Vec<u8>> {
        Ok(self.read_marked(name, max_bytes)?.0)
    }

    /// The same, and a mark that tells later whether `name` [is still](PrivateDir::is_still) what was read.
    /// There is no mark if only the bytes can tell, as on Windows or for a file that was changed a moment ago.
    ///
    /// # Errors
    /// Same as [`PrivateDir::read`].
    pub fn read_marked(&self, name: &str, max_bytes: u64) -> io::Result<(Vec<u8>, Option<Mark>)> {
        let path = self.0.join(name);
        let mut options = OpenOptions::new();
        options.read(true);
        let file = open_no_link(&mut options, &path)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(not_plain(&path, &found, "a plain file"));
        }
        #[cfg(windows)]
        {
            check_owner(&path, &found)?;
            own_mode(&file, &path)?;
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, PermissionsExt};
            if found.uid() != own_user() {
                return Err(refused(&path, "belongs to another user"));
            }
            if found.mode() & 0o077 != 0 {
                file.set_permissions(fs::Permissions::from_mode(0o600))?;
            }
        }
        // Taken before the bytes, so that a write in between shows.
        #[cfg(unix)]
        let mark = Some(Mark::of(&found)).filter(Mark::is_settled);
        #[cfg(not(unix))]
        let mark = None;
        // One call reads it, and one more reaches its end.
        let mut bytes = Vec::with_capacity(usize::try_from(found.len().min(max_bytes) + 1).unwrap_or(0));
        file.take(max_bytes + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > max_bytes {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("{} is larger than {max_bytes} bytes", path.display()),
            ));
        }
        Ok((bytes, mark))
    }

    /// Whether `name` is the unchanged file that `mark` was made for. It takes one look, and the bytes need not
    /// be read again.
    pub fn is_still(&self, name: &str, mark: &Mark) -> bool {
        #[cfg(unix)]
        {
            fs::symlink_metadata(self.0.join(name)).is_ok_and(|found| Mark::of(&found) == *mark)
        }
        #[cfg(not(unix))]
        {
            let _ = (name, mark);
            false
        }
    }

    /// Writes `name` whole with mode 0600: a reader sees the old bytes or the new ones, even after a crash.
    ///
    /// # Errors
    /// Any error of the disk; the old file then still exists. A symlink at its path is refused.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.0.join(name);
        if let Some(found) = fs::symlink_metadata(&path).ok().filter(|found| !found.is_file()) {
            return Err(not_plain(&path, &found, "a plain file"));
        }
        // tempfile creates with 0600 at most; a umask may have removed even that.
        let mut file = tempfile::Builder::new().prefix(&Self::unfinished(name)).tempfile_in(&self.0)?;
        own_mode(file.as_file(), file.path())?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        put_in_place(file, &path)?;
        self.sync()
    }

    /// Writes the new file `name` with mode 0600, and under no other name before that. When the returned value
    /// is dropped, the file is removed, and so is this directory if nothing else is in it.
    ///
    /// # Errors
    /// Same as [`PrivateDir::append`].
    pub fn one_file(self, name: &str, bytes: &[u8]) -> io::Result<OneFile> {
        self.append(name, bytes)?;
        Ok(self.until_dropped(name))
    }

    /// Same as [`PrivateDir::one_file`], for a file that already exists.
    pub fn until_dropped(self, name: &str) -> OneFile {
        OneFile { dir: self, name: name.to_owned() }
    }

    /// Appends the line `bytes` to `name` in one write, so that lines of several processes do not mix; creates
    /// the file with mode 0600. Returns its size after the write.
    ///
    /// # Errors
    /// Same as [`PrivateDir::read`], and any error of the disk.
    pub fn append(&self, name: &str, bytes: &[u8]) -> io::Result<u64> {
        let path = self.0.join(name);
        let mut options = OpenOptions::new();
        options.append(true).read(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = open_no_link(&mut options, &path)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(not_plain(&path, &found, "a plain file"));
        }
        check_owner(&path, &found)?;
        own_mode(&file, &path)?;
        if found.len() > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last))?;
            if last != *b"\n" {
                // A line that a full disk cut off stays a separate line, and not the beginning of this one.
                file.write_all(b"\n")?;
            }
        }
        file.write_all(bytes)?;
        Ok(file.metadata()?.len())
    }

    /// Makes `name`, an empty file of mode 0600, if it does not exist: for a library that opens it by name.
    ///
    /// # Errors
    /// Same as [`PrivateDir::read`], and any error of the disk.
    pub fn make_file(&self, name: &str) -> io::Result<()> {
        let path = self.0.join(name);
        let file = self.lock_file(name)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(not_plain(&path, &found, "a plain file"));
        }
        check_owner(&path, &found)
    }

    /// Begins the new file `name` with mode 0600. Once it is whole ([`NewFile::commit`]), it replaces any file
    /// of that name.
    ///
    /// # Errors
    /// Any error of the disk. A symlink at its path is refused.
    pub fn begin(&self, name: &str) -> io::Result<NewFile> {
        let path = self.0.join(name);
        if let Some(found) = fs::symlink_metadata(&path).ok().filter(|found| !found.is_file()) {
            return Err(not_plain(&path, &found, "a plain file"));
        }
        let file = tempfile::Builder::new().prefix(&Self::unfinished(name)).tempfile_in(&self.0)?;
        own_mode(file.as_file(), file.path())?;
        Ok(NewFile { file, path, replaces: true })
    }

    /// Renames the file `from`, which is whole, to `to`, replacing any file of that name. It is complete even
    /// after a crash.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn install(&self, from: &str, to: &str) -> io::Result<()> {
        // Opened for writing, because Windows does not flush a file that was opened for reading.
        OpenOptions::new().read(true).write(true).open(self.0.join(from))?.sync_all()?;
        self.rename(from, to)?;
        self.sync()
    }

    /// Renames `from` to `to`, replacing any file of that name.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.0.join(from), self.0.join(to));
        until_free(|| fs::rename(&from, &to))
    }

    /// The size of `name` in bytes.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn size(&self, name: &str) -> io::Result<u64> {
        Ok(fs::symlink_metadata(self.0.join(name))?.len())
    }

    /// Whether a private directory at `path` could hold a file of `bytes` bytes now. Directories that are made
    /// for this check are removed again.
    ///
    /// # Errors
    /// The reason why it could not.
    pub fn check(path: &Path, bytes: usize) -> io::Result<()> {
        let is_missing = |dir: &&Path| {
            fs::symlink_metadata(dir).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
        let checked = Self::create(path).and_then(|dir| dir.check_room(bytes));
        for made in missing {
            // Only if it is still empty: another process may already use it.
            let _ = fs::remove_dir(made);
        }
        checked
    }

    /// Whether a file of `bytes` bytes could be written now. Leaves nothing behind.
    ///
    /// # Errors
    /// The reason why it could not.
    pub fn check_room(&self, bytes: usize) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(&Self::unfinished(Self::ROOM)).tempfile_in(&self.0)?;
        file.write_all(&vec![b'x'; bytes])?;
        file.as_file().sync_all()
    }

    /// Removes `name`; it is not an error if it does not exist.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.0.join(name)) {
            Ok(()) => self.sync(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes every file in the directory, but no directories.
    ///
    /// # Errors
    /// The first error of the disk; the other files are removed anyway.
    pub fn remove_all(&self) -> io::Result<()> {
        self.remove_where(|_| true)?;
        self.sync()
    }

    /// Removes every file in the directory except those with these names, but no directories.
    ///
    /// # Errors
    /// Same as [`PrivateDir::remove_all`].
    pub fn remove_others(&self, kept: &std::collections::BTreeSet<String>) -> io::Result<()> {
        self.remove_where(|name| !kept.contains(name))?;
        self.sync()
    }

    /// Removes what a process left behind that died while writing. The caller must hold the lock that every
    /// writer takes.
    pub fn remove_temporary(&self) {
        let _ = self.remove_where(|name| name.starts_with(Self::TEMPORARY));
    }

    /// Removes the files whose names begin with `prefix`.
    ///
    /// # Errors
    /// Same as [`PrivateDir::remove_all`].
    pub fn remove_beginning(&self, prefix: &str) -> io::Result<()> {
        self.remove_where(|name| name.starts_with(prefix))
    }

    /// Makes the new file `name` with mode 0600, for writing.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`]; any error of the disk.
    pub fn new_file(&self, name: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let path = self.0.join(name);
        let file = open_no_link(&mut options, &path)?;
        #[cfg(windows)]
        own_mode(&file, &path)?;
        Ok(file)
    }

    /// The directories in it.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn folders(&self) -> io::Result<Vec<Self>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                all.push(Self(entry.path()));
            }
        }
        Ok(all)
    }

    /// Removes the directory and everything in it. No link in it is followed.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn remove_whole(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.0)
    }

    /// Removes the directory if it is empty.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn remove_empty(&self) -> io::Result<()> {
        fs::remove_dir(&self.0)
    }

    fn remove_where(&self, goes: impl Fn(&str) -> bool) -> io::Result<()> {
        let mut failed = None;
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() || !goes(&entry.file_name().to_string_lossy()) {
                continue;
            }
            if let Err(error) = fs::remove_file(entry.path())
                && error.kind() != io::ErrorKind::NotFound
            {
                failed.get_or_insert(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Takes the exclusive lock `name`, waiting for its current holder; released when dropped.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn lock(&self, name: &str) -> io::Result<DirLock> {
        let file = self.lock_file(name)?;
        file.lock()?;
        Ok(DirLock { _file: file })
    }

    /// Takes the exclusive lock `name` if it is free.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn try_lock(&self, name: &str) -> io::Result<Option<DirLock>> {
        let file = self.lock_file(name)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(DirLock { _file: file })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    fn lock_file(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let path = self.0.join(name);
        let file = open_no_link(&mut options, &path)?;
        own_mode(&file, &path)?;
        Ok(file)
    }

    fn sync(&self) -> io::Result<()> {
        // A rename is durable only once its directory is; Windows has no such call.
        #[cfg(unix)]
        File::open(&self.0)?.sync_all()?;
        Ok(())
    }
}

/// Opens a plain file for reading: does not follow a link, and does not block on a pipe.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] if it is a symlink or not a plain file; any error of the disk.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    let file = open_no_link(&mut options, path)?;
    let found = file.metadata()?;
    if found.is_file() { Ok(file) } else { Err(not_plain(path, &found, "a plain file")) }
}

/// Removes a file that a person asked to delete, if `is_it` confirms that it is the intended file.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if another file is there now; any error of the disk.
pub fn remove_asked(path: &Path, is_it: impl FnOnce(&fs::Metadata) -> bool) -> io::Result<()> {
    if !is_it(&fs::symlink_metadata(path)?) {
        return Err(io::Error::new(io::ErrorKind::NotFound, "it is another file by now"));
    }
    fs::remove_file(path)
}

/// Listens at `path`, replacing a socket that an earlier process left there. Anyone who can reach the directory
/// can connect; the caller decides whom to serve.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] if something else is there; any error of the system.
#[cfg(unix)]
pub fn listen_at(path: &Path) -> io::Result<std::os::unix::net::UnixListener> {
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => fs::remove_file(path)?,
        Ok(found) => return Err(not_plain(path, &found, "a socket")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    // Sets the mode whatever the umask: the socket is not a secret, and connecting requires the right to write.
    fs::set_permissions(path, fs::Permissions::from_mode(0o666))?;
    Ok(listener)
}

/// Removes the socket of [`listen_at`].
#[cfg(unix)]
pub fn end_listening(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Makes a new file at `path` with mode 0600, for a report that a person asked for.
///
/// # Errors
/// Same as [`PrivateDir::read`], and any error of the disk.
pub fn new_report(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = open_no_link(&mut options, path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(not_plain(path, &found, "a plain file"));
    }
    own_mode(&file, path)?;
    file.set_len(0)?;
    Ok(file)
}

/// A file that is being written. It gets its name when it is whole; if it is dropped before that, it is
/// removed.
#[derive(Debug)]
pub struct NewFile {
    file: tempfile::NamedTempFile,
    path: PathBuf,
    replaces: bool,
}

/// Part of the name of a file that is not whole yet, in a folder with other things in it.
const UNFINISHED: &str = ".pdpp-tmp-";

impl NewFile {
    /// Begins the file at `path`, in a folder of the person's own. Its mode is 0600 if the disk has modes
    /// ([`NewFile::is_private`]). An existing file is replaced only if `replaces` is set, and only if it is a
    /// plain file. What a killed process left while writing the same file is removed.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`]; [`io::ErrorKind::PermissionDenied`] if something other than a plain
    /// file is there; any error of the disk.
    pub fn begin(path: &Path, replaces: bool) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(refused(&path, "is not the name of a file"));
        };
        if let Ok(found) = fs::symlink_metadata(&path) {
            if !found.is_file() {
                return Err(not_plain(&path, &found, "a plain file"));
            }
            if !replaces {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
        }
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(name);
        prefix.push(UNFINISHED);
        remove_unfinished(dir, &prefix);
        let file = tempfile::Builder::new().prefix(&prefix).tempfile_in(dir)?;
        // While it is locked, some process is writing it. On Windows a lock would also keep this process from
        // reading it; there it is enough that the file is open.
        #[cfg(unix)]
        let _ = file.as_file().try_lock();
        let _ = own_mode(file.as_file(), file.path());
        Ok(Self { file, path, replaces })
    }

    /// Its final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether only its owner can read it: some disks, such as most USB sticks, have no modes.
    pub fn is_private(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            self.file.as_file().metadata().is_ok_and(|found| found.mode() & 0o777 == 0o600)
        }
        #[cfg(windows)]
        {
            rights::whom_it_lets_in(self.file.path()).is_ok_and(|others| others.is_empty())
        }
        #[cfg(not(any(unix, windows)))]
        true
    }

    /// The same file, opened to read what was written, from its beginning.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn reopen(&self) -> io::Result<File> {
        self.file.reopen()
    }

    /// Starts it again, with no content.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn restart(&mut self) -> io::Result<()> {
        self.file.as_file().set_len(0)?;
        self.file.seek(SeekFrom::Start(0)).map(drop)
    }

    /// Flushes all of it to the disk.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.as_file().sync_all()
    }

    /// Declares the file whole: from now on it has its name, even after a crash.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if another process has made a file of that name meanwhile; any error of
    /// the disk.
    pub fn commit(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        let dir = self.path.parent().map(Path::to_owned);
        if self.replaces {
            put_in_place(self.file, &self.path)?;
        } else {
            self.file.persist_noclobber(&self.path).map_err(|error| error.error)?;
        }
        #[cfg(unix)]
        if let Some(dir) = dir {
            File::open(dir)?.sync_all()?;
        }
        #[cfg(not(unix))]
        let _ = dir;
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Removes the files in `dir` whose names begin with `prefix` and that no process is writing.
fn remove_unfinished(dir: &Path, prefix: &std::ffi::OsStr) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_one = name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes());
        if is_one && is_unused(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether no process is writing the file at `path`, which a process of this program made.
#[cfg(not(windows))]
fn is_unused(path: &Path) -> bool {
    open_plain(path).is_ok_and(|file| file.try_lock().is_ok())
}

#[cfg(windows)]
fn is_unused(path: &Path) -> bool {
    // Opened without sharing: this fails if any process has the file open.
    let mut options = OpenOptions::new();
    std::os::windows::fs::OpenOptionsExt::share_mode(options.read(true), 0);
    open_no_link(&mut options, path).is_ok()
}

/// Renames the file, which is whole, to `path`, replacing any file of that name.
fn put_in_place(file: tempfile::NamedTempFile, path: &Path) -> io::Result<()> {
    let mut left = Some(file);
    until_free(|| match left.take().map(|file| file.persist(path)) {
        Some(Err(error)) => {
            left = Some(error.file);
            Err(error.error)
        }
        _ => Ok(()),
    })
}

/// Does `work`, which replaces a file. On Windows, tries again for up to two seconds while another process has
/// the file open: a reader in this program closes it at once, and a virus scanner does so soon.
fn until_free(mut work: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    #[cfg(windows)]
    {
        /// `ERROR_ACCESS_DENIED`, `ERROR_SHARING_VIOLATION`.
        const IN_USE: [Option<i32>; 2] = [Some(5), Some(32)];
        let end = std::time::Instant::now() + std::time::Duration::from_secs(2);
        loop {
            match work() {
                Err(error) if IN_USE.contains(&error.raw_os_error()) && std::time::Instant::now() < end => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                done => return done,
            }
        }
    }
    #[cfg(not(windows))]
    work()
}

/// The number of free bytes at `path` for this user, if the system reports it.
pub fn free_space(path: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let found = rustix::fs::statvfs(path).ok()?;
        Some(found.f_bavail.saturating_mul(found.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// A private file that exists for a while: it is removed when this is dropped.
#[derive(Debug)]
pub struct OneFile {
    dir: PrivateDir,
    name: String,
}

impl OneFile {
    /// The path of the file.
    pub fn path(&self) -> PathBuf {
        self.dir.0.join(&self.name)
    }
}

impl Drop for OneFile {
    fn drop(&mut self) {
        let _ = self.dir.remove(&self.name);
        let _ = fs::remove_dir(&self.dir.0);
    }
}

/// An exclusive lock between processes; dropping it, or dying, releases it.
#[derive(Debug)]
pub struct DirLock {
    _file: File,
}

/// The user that this process acts as. It never changes.
#[cfg(unix)]
fn own_user() -> u32 {
    static OWN: OnceLock<u32> = OnceLock::new();
    *OWN.get_or_init(|| rustix::process::geteuid().as_raw())
}

/// Who can access one of our own directories.
struct Access {
    /// Whether it is as [`close_dir`] makes it.
    is_as_made: bool,
    /// How it lets others in, if it does.
    open: Option<String>,
}

/// Who can access `path`, which must be one of our own directories and not a link.
fn own_dir(path: &Path) -> io::Result<Access> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Err(not_plain(path, &found, "a directory"));
    }
    check_owner(path, &found)?;
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(&found) & 0o777;
        let open = (mode & 0o077 != 0).then(|| format!("mode {mode:03o}; it must be 700"));
        Ok(Access { is_as_made: mode == 0o700, open })
    }
    #[cfg(windows)]
    {
        let others = rights::whom_it_lets_in(path)?;
        let open = (!others.is_empty()).then(|| {
            format!(
                "its access list names {}; it must name only you and the administrators",
                others.join(", ")
            )
        });
        Ok(Access { is_as_made: open.is_none(), open })
    }
    #[cfg(not(any(unix, windows)))]
    Ok(Access { is_as_made: true, open: None })
}

/// Checks that the file at `path`, with the metadata `found`, belongs to this user.
fn check_owner(path: &Path, found: &fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    let is_ours = std::os::unix::fs::MetadataExt::uid(found) == own_user();
    #[cfg(windows)]
    let is_ours = {
        let _ = found;
        rights::is_ours(path)?
    };
    #[cfg(not(any(unix, windows)))]
    let is_ours = {
        let _ = found;
        true
    };
    if is_ours { Ok(()) } else { Err(refused(path, "belongs to another user")) }
}

/// Whether others may enter the directory `path`.
pub fn is_open_to_others(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.mode() & 0o077 != 0)
    }
    #[cfg(windows)]
    {
        path.is_dir() && rights::whom_it_lets_in(path).is_ok_and(|others| !others.is_empty())
    }
    #[cfg(not(any(unix, windows)))]
    {
        let _ = path;
        false
    }
}

/// Closes a directory to everyone except its owner.
fn close_dir(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    #[cfg(windows)]
    rights::close(path)?;
    #[cfg(not(any(unix, windows)))]
    let _ = path;
    Ok(())
}

/// Sets one of our own files to 0600, whatever the umask made of it. `path` is where it is.
#[cfg(unix)]
fn own_mode(file: &File, _path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    if file.metadata()?.mode() & 0o777 == 0o600 {
        return Ok(());
    }
    file.set_permissions(fs::Permissions::from_mode(0o600))
}

#[cfg(windows)]
fn own_mode(_file: &File, path: &Path) -> io::Result<()> {
    // In a directory that only its owner can access, it mostly already is.
    if rights::whom_it_lets_in(path)?.is_empty() { Ok(()) } else { rights::close(path) }
}

#[cfg(not(any(unix, windows)))]
fn own_mode(_file: &File, _path: &Path) -> io::Result<()> {
    Ok(())
}

/// Opens `path` unless it is a link.
fn open_no_link(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
    // Windows can open a link itself, too. That also opens a file in a cloud without downloading it.
    #[cfg(not(unix))]
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return Err(refused(path, IS_LINK));
    }
    options.open(path).map_err(|error| explain_link(path, error))
}

const IS_LINK: &str = "is a symlink, and symlinks are not followed";

fn explain_link(path: &Path, error: io::Error) -> io::Error {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => refused(path, IS_LINK),
        _ => error,
    }
}

fn not_plain(path: &Path, found: &fs::Metadata, wanted: &str) -> io::Error {
    if found.is_symlink() {
        return refused(path, IS_LINK);
    }
    refused(path, &format!("is not {wanted}"))
}

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {why}", path.display()))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn dir() -> (tempfile::TempDir, PrivateDir) {
        let root = tempfile::tempdir().unwrap();
        let dir = PrivateDir::create(&root.path().join("a/b")).unwrap();
        (root, dir)
    }

    #[test]
    fn files_are_0600_in_a_0700_directory() {
        let (_root, dir) = dir();
        dir.write("x", b"1").unwrap();
        assert_eq!(fs::metadata(dir.path()).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(dir.path().join("x")).unwrap().mode() & 0o777, 0o600);
        dir.write("x", b"2").unwrap();
        assert_eq!(dir.read("x", 10).unwrap(), b"2");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_line_that_was_cut_is_not_the_beginning_of_the_next() {
        let (_root, dir) = dir();
        assert_eq!(dir.append("x", b"first\n").unwrap(), 6);
        fs::write(dir.path().join("x"), "first\nsec").unwrap();
        dir.append("x", b"third\n").unwrap();
        assert_eq!(dir.append("x", b"fourth\n").unwrap(), 23);
        assert_eq!(dir.read("x", 99).unwrap(), b"first\nsec\nthird\nfourth\n");
    }

    #[test]
    fn a_folder_above_in_which_others_write_is_found() {
        let (root, dir) = dir();
        let above = root.path().join("a");
        for (mode, is_found) in
            [(0o755, false), (0o777, true), (0o702, true), (0o1777, false), (0o775, false)]
        {
            fs::set_permissions(&above, fs::Permissions::from_mode(mode)).unwrap();
            let found = replaceable_by_others(&dir.path().join("not/there"));
            assert_eq!(found, is_found.then(|| (above.clone(), mode)), "{mode:o}");
        }
    }

    #[test]
    fn whoever_else_may_write_is_told_of() {
        let (_root, dir) = dir();
        for (mode, expected) in
            [(0o755, None), (0o777, Some(0o777)), (0o1777, Some(0o1777)), (0o770, Some(0o770))]
        {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(open_to_writers(dir.path()), expected);
        }
    }

    #[test]
    fn open_modes_are_repaired() {
        let (_root, dir) = dir();
        dir.write("x", b"1").unwrap();
        fs::set_permissions(dir.path().join("x"), fs::Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let dir = PrivateDir::open(dir.path()).unwrap();
        dir.read("x", 10).unwrap();
        assert_eq!(fs::metadata(dir.path()).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(dir.path().join("x")).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_directory_that_a_person_names_keeps_its_mode() {
        let (root, dir) = dir();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        for open in [0o755, 0o750, 0o701] {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(open)).unwrap();
            let refused = PrivateDir::create_named(dir.path()).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
            assert!(refused.to_string().contains(&format!("mode {open:03o}; it must be 700")), "{refused}");
            assert_eq!(mode(dir.path()), open);
        }
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
        PrivateDir::create_named(dir.path()).unwrap();
        let new = root.path().join("x/y");
        PrivateDir::create_named(&new).unwrap();
        assert_eq!(mode(&new), 0o700);
        symlink(dir.path(), root.path().join("link")).unwrap();
        assert!(PrivateDir::create_named(&root.path().join("link")).is_err());
    }

    #[test]
    fn symlinks_are_refused_for_reading_writing_and_locking() {
        let (root, dir) = dir();
        let target = root.path().join("elsewhere");
        fs::write(&target, b"precious").unwrap();
        for name in ["r", "w", "l"] {
            symlink(&target, dir.path().join(name)).unwrap();
        }
        for error in
            [dir.read("r", 100).unwrap_err(), dir.write("w", b"1").unwrap_err(), dir.lock("l").unwrap_err()]
        {
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        }
        assert_eq!(fs::read(&target).unwrap(), b"precious");
        symlink(dir.path(), root.path().join("link")).unwrap();
        assert!(PrivateDir::open(&root.path().join("link")).is_err());
    }

    #[test]
    fn a_check_leaves_nothing_behind_and_is_a_real_try() {
        let (root, dir) = dir();
        PrivateDir::check(&root.path().join("x/y/z"), 100).unwrap();
        PrivateDir::check(dir.path(), 100).unwrap();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        dir.write("file", b"1").unwrap();
        for unusable in [dir.path().join("file"), dir.path().join("file/x"), "/proc/nope/x".into()] {
            assert!(PrivateDir::check(&unusable, 100).is_err(), "{}", unusable.display());
        }
        assert_eq!(dir.read("file", 10).unwrap(), b"1");
    }

    #[test]
    fn one_file_takes_its_folder_with_it_unless_more_is_there() {
        let (_root, dir) = dir();
        let path = dir.path().to_owned();
        let (one, other) = (dir.clone().one_file("1", b"x").unwrap(), dir.one_file("2", b"y").unwrap());
        assert_eq!(fs::read(one.path()).unwrap(), b"x");
        assert_eq!(fs::metadata(one.path()).unwrap().mode() & 0o777, 0o600);
        drop(one);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
        drop(other);
        assert!(!path.exists());
    }

    #[test]
    fn a_mark_tells_every_change_of_a_file_that_did_not_change_a_moment_ago() {
        let (_root, dir) = dir();
        let path = |name: &str| dir.path().join(name);
        let names = ["same", "written", "replaced", "mode", "link", "gone"];
        for name in names {
            dir.write(name, b"1").unwrap();
            assert_eq!(dir.read_marked(name, 10).unwrap(), (b"1".to_vec(), None), "changed a moment ago");
        }
        std::thread::sleep(std::time::Duration::from_millis(3_100));
        let marks = names.map(|name| (name, dir.read_marked(name, 10).unwrap().1.unwrap()));
        assert!(marks.iter().all(|(name, mark)| dir.is_still(name, mark)));

        // The same length as before, and the same time.
        let file = OpenOptions::new().write(true).open(path("written")).unwrap();
        let before = file.metadata().unwrap().modified().unwrap();
        (&file).write_all(b"2").unwrap();
        file.set_modified(before).unwrap();
        dir.write("replaced", b"1").unwrap();
        fs::set_permissions(path("mode"), fs::Permissions::from_mode(0o644)).unwrap();
        fs::rename(path("link"), path("elsewhere")).unwrap();
        symlink(path("elsewhere"), path("link")).unwrap();
        dir.remove("gone").unwrap();
        for (name, mark) in &marks {
            assert_eq!(dir.is_still(name, mark), *name == "same", "{name}");
        }
    }

    #[test]
    fn a_bound_is_a_bound() {
        let (_root, dir) = dir();
        dir.write("x", &[b'x'; 11]).unwrap();
        assert_eq!(dir.read("x", 10).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(dir.read("x", 11).unwrap().len(), 11);
        dir.remove("x").unwrap();
        dir.remove("x").unwrap();
        assert_eq!(dir.read("x", 10).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
