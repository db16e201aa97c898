//! Receives exports that this process may not read where they are: into a private folder next to the
//! store, from which they are imported. The folder is removed in every case.
//!
//! Attachments are copied into the store, because the received files do not stay. Each file's origin is
//! recorded, so that it is recognised the next time.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use super::import::{Heard, Knowing, Wanted};
pub use super::import::{Imported, Plan, Planned, Progress};
use crate::archive::{LeftOut, MAX_MEMBERS, Received, Skipped, Stamp};
use crate::error::{Error, Kind, Result};
use crate::fs::{self, DirLock, PrivateDir};
use crate::import::pipeline::LEAST_FREE;
use crate::import::survey::{Named, Request, Survey};

/// The folder in the store's directory.
const INBOX: &str = "inbox";
/// The lock that the user of a folder in it holds.
const IN_USE: &str = "in-use";
/// How many bytes are copied before the free room is checked again.
const STEP: usize = 256 << 10;
const STEPS_UNLOOKED: usize = 64;
/// The most memory for the names of files, in bytes.
const MOST_NAMES: usize = 32 << 20;
/// How many bytes a file takes there in addition to its name.
const NAME_BESIDE: usize = 96;
/// The most sources.
const MOST_SOURCES: usize = 1000;
/// The most parts of a path.
const MOST_DEEP: usize = 80;

/// Exports on their way into the store.
#[derive(Debug)]
pub struct Inbox {
    /// The store's directory.
    dir: PathBuf,
    folder: PrivateDir,
    sources: Mutex<Sources>,
    in_use: Option<DirLock>,
}

#[derive(Debug, Default)]
struct Sources {
    all: Vec<Incoming>,
    names: usize,
    files: usize,
}

/// A file or folder that is received.
#[derive(Debug)]
struct Incoming {
    /// As the person typed it.
    typed: PathBuf,
    is_folder: bool,
    received: Arc<Received>,
}

/// How to import what was received.
#[derive(Debug, Clone, Default)]
pub struct InboxRequest {
    /// Whose data it is, if the person named an account.
    pub account: Option<String>,
    /// The zone of times without one, if the person named one.
    pub timezone: Option<String>,
    /// Set to stop after the current batch.
    pub stop: Arc<AtomicBool>,
}

impl Inbox {
    /// An empty inbox for the store in `dir`, which is created if it does not exist.
    ///
    /// # Errors
    /// `own_data_dir` (77); `no_randomness`.
    pub fn begin(dir: &Path) -> Result<Self> {
        let unusable = |error| super::unusable(dir, error);
        clean(dir)?;
        PrivateDir::create_named(dir).map_err(unusable)?;
        let id = crate::hex::random::<8>().map_err(|error| {
            Error::no_randomness("The system provided no random bytes").because(error.to_string())
        })?;
        let folder = PrivateDir::create(&dir.join(INBOX).join(id)).map_err(unusable)?;
        let in_use = folder.try_lock(IN_USE).map_err(unusable)?;
        let in_use = in_use.ok_or_else(|| unusable(io::ErrorKind::ResourceBusy.into()))?;
        Ok(Self { dir: dir.to_owned(), folder, sources: Mutex::default(), in_use: Some(in_use) })
    }

    /// Receives `content` under a relative `name`: a file, or a file in the folder that the name begins with.
    ///
    /// # Errors
    /// `import_handed_over` for an invalid name, or one that exists already; `import_disk_full`.
    pub fn receive(&self, name: &str, content: &mut dyn Read) -> Result<()> {
        let path = Path::new(name);
        let mut parts = path.components();
        let (Some(Component::Normal(first)), within) = (parts.next(), parts.as_path()) else {
            return Err(not_taken(name, "it is not a relative path"));
        };
        let shown = PathBuf::from(first);
        let is_folder = within != Path::new("");
        let known = self.lock().all.iter().position(|one| one.received.shown == shown && one.is_folder);
        let at = match known.filter(|_| is_folder) {
            Some(at) => at,
            None => self.source(&shown, &shown, is_folder)?,
        };
        let mut to = self.new_file(at, within)?;
        let failed = |error| copy_failed(name, error);
        copy(content, None, &mut to, &self.dir, &mut |_| ()).map_err(failed)?;
        Ok(())
    }

    /// Begins a file or folder whose content comes next: as it was `typed`, and where it is for the
    /// process that hands it over. Returns its number.
    ///
    /// # Errors
    /// `import_handed_over` if there are too many; `own_data_dir`.
    pub fn source(&self, typed: &Path, shown: &Path, is_folder: bool) -> Result<usize> {
        let mut sources = self.lock();
        let number = sources.all.len();
        if number >= MOST_SOURCES {
            return Err(not_taken(&shown.display().to_string(), "there are too many sources"));
        }
        let name = shown.file_name().map_or_else(|| OsString::from("files"), OsString::from);
        let failed = |error| copy_failed(&shown.display().to_string(), error);
        let above = PrivateDir::create(&self.folder.path().join(number.to_string())).map_err(failed)?;
        let at = above.path().join(name);
        if is_folder {
            PrivateDir::create(&at).map_err(failed)?;
        }
        let received = Arc::new(Received { at, shown: shown.to_owned(), ..Received::default() });
        sources.all.push(Incoming { typed: typed.to_owned(), is_folder, received });
        Ok(number)
    }

    /// Copies an open plain file in its current state, up to its current length. `within` is its path in
    /// the source, empty for a file. `copied` is called after each part with its size.
    ///
    /// # Errors
    /// `import_handed_over` for an invalid path, or a file that became shorter meanwhile;
    /// `import_disk_full`.
    pub fn take(&self, source: usize, within: &Path, file: &File, copied: &mut dyn FnMut(u64)) -> Result<()> {
        let name = || within.display().to_string();
        let failed = |error| copy_failed(&name(), error);
        let found = file.metadata().map_err(failed)?;
        let mut to = self.new_file(source, within)?;
        let mut from = At { file, at: 0 };
        copy(&mut from, Some(found.len()), &mut to, &self.dir, copied).map_err(failed)?;
        let stamp = Stamp::of(&found);
        let changed = u64::try_from(stamp.modified_ms).ok().map(|ms| UNIX_EPOCH + Duration::from_millis(ms));
        if let Some(changed) = changed {
            // Some formats derive a record's time from it.
            to.set_modified(changed).map_err(failed)?;
        }
        if let Some(one) = self.lock().all.get_mut(source) {
            Arc::make_mut(&mut one.received).stamps.insert(within.to_owned(), stamp);
        }
        Ok(())
    }

    /// Notes what is not handed over from a source, and why.
    ///
    /// # Errors
    /// `import_handed_over` if there are too many such notes.
    pub fn leave_out(&self, source: usize, skipped: Skipped, is_unreadable: bool) -> Result<()> {
        let mut sources = self.lock();
        sources.names += skipped.label.len() + skipped.why.len() + NAME_BESIDE;
        if sources.names > MOST_NAMES {
            return Err(too_many());
        }
        if let Some(one) = sources.all.get_mut(source) {
            let LeftOut { skipped: all, unreadable } = &mut Arc::make_mut(&mut one.received).left_out;
            if is_unreadable { unreadable } else { all }.push(skipped);
        }
        Ok(())
    }

    /// What was received, to be examined as `wanted` states.
    pub fn named(&self, wanted: &Wanted) -> Vec<Named> {
        let named =
            |one: &Incoming| Named { received: Some(Arc::clone(&one.received)), ..wanted.named(&one.typed) };
        self.lock().all.iter().map(named).collect()
    }

    /// What would be imported, if nothing must be asked.
    ///
    /// # Errors
    /// The errors of a survey: `import_unrecognised`, `import_question` (77) if something must be asked,
    /// …; those of the store.
    pub fn plan(&self, request: &InboxRequest) -> Result<Plan> {
        let (asked, survey) = self.survey(request)?;
        let granted = if super::is_there(&self.dir) { super::granted(&self.dir)? } else { BTreeSet::new() };
        Ok(Plan::of(&survey, &asked, &granted))
    }

    /// Imports what was received, if nothing must be asked, and removes it.
    ///
    /// # Errors
    /// The errors of [`Inbox::plan`] and of an import.
    pub fn import(self, request: &InboxRequest, watch: &mut dyn FnMut(Progress)) -> Result<Imported> {
        struct Watched<'a>(&'a mut dyn FnMut(Progress));
        impl Heard for Watched<'_> {
            fn progress(&mut self, progress: Progress) {
                (self.0)(progress);
            }
        }
        let (asked, survey) = self.survey(request)?;
        super::import::run(&self.dir, &asked, &survey, false, &request.stop, &mut Watched(watch))
    }

    fn survey(&self, request: &InboxRequest) -> Result<(Request, Survey)> {
        let wanted = Wanted {
            account: request.account.clone(),
            timezone: request.timezone.clone(),
            copies_attachments: true,
            ..Wanted::default()
        };
        let asked = wanted.request(self.named(&wanted))?;
        let known = if super::is_there(&self.dir) { Some(super::open_store(&self.dir)?) } else { None };
        let mut answer = |_: &str, _: &[String]| None;
        let mut knowing = Knowing { store: known.as_ref(), answer: &mut answer };
        let survey = Survey::of(&asked, &self.dir, &mut knowing)?;
        Ok((asked, survey))
    }

    /// Creates the file at `within` in a source.
    fn new_file(&self, source: usize, within: &Path) -> Result<File> {
        let name = || within.display().to_string();
        let mut sources = self.lock();
        let is_path = within.components().all(|part| matches!(part, Component::Normal(_)))
            && within.components().count() <= MOST_DEEP;
        let Some(one) = sources.all.get(source).filter(|_| is_path) else {
            return Err(not_taken(&name(), "it is not a path within what was named"));
        };
        if one.is_folder == (within == Path::new("")) {
            return Err(not_taken(&name(), "a folder has files in it, and a file has not"));
        }
        let at = if one.is_folder { one.received.at.join(within) } else { one.received.at.clone() };
        sources.names += within.as_os_str().len() + NAME_BESIDE;
        sources.files += 1;
        if sources.names > MOST_NAMES || sources.files > MAX_MEMBERS {
            return Err(too_many());
        }
        drop(sources);
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => not_taken(&name(), "it was handed over before"),
            _ => copy_failed(&name(), error),
        };
        let (Some(above), Some(file)) = (at.parent(), at.file_name()) else {
            return Err(not_taken(&name(), "it has no name"));
        };
        PrivateDir::create(above).and_then(|above| above.new_file(Path::new(file))).map_err(failed)
    }

    fn lock(&self) -> MutexGuard<'_, Sources> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        if self.folder.remove_whole().is_err() {
            // Windows may keep a folder while a file in it is open.
            self.in_use = None;
            let _ = self.folder.remove_whole();
        }
        // This succeeds only once no other folder is left in it.
        if let Ok(inbox) = PrivateDir::open(&self.dir.join(INBOX)) {
            let _ = inbox.remove_empty();
        }
    }
}

/// Removes what a process left behind that was killed while it received something for the store in `dir`.
///
/// # Errors
/// `own_data_dir` (77).
pub fn clean(dir: &Path) -> Result<()> {
    let inbox = match PrivateDir::open(&dir.join(INBOX)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(|error| super::unusable(dir, error))?,
    };
    for folder in inbox.folders().map_err(|error| super::unusable(dir, error))? {
        if matches!(folder.try_lock(IN_USE), Ok(Some(_))) {
            folder.remove_whole().map_err(|error| super::unusable(dir, error))?;
        }
    }
    let _ = inbox.remove_empty();
    Ok(())
}

/// An open file, read from its beginning, wherever its position is.
struct At<'a> {
    file: &'a File,
    at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(self.file, to, self.at)?;
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(self.file, to, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Copies `length` bytes, or all of them if the length is not known, while the disk of `dir` has room.
fn copy(
    from: &mut dyn Read,
    length: Option<u64>,
    to: &mut File,
    dir: &Path,
    copied: &mut dyn FnMut(u64),
) -> io::Result<()> {
    let mut left = length;
    has_room(dir, length.unwrap_or(0))?;
    let mut bytes = vec![0; STEP];
    for step in 1.. {
        let wanted = left.map_or(STEP, |left| usize::try_from(left).unwrap_or(STEP).min(STEP));
        if wanted == 0 {
            break;
        }
        let read = match from.read(&mut bytes[..wanted]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            if left.is_some() {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "it became shorter while it was read",
                ));
            }
            break;
        }
        if step % STEPS_UNLOOKED == 0 {
            has_room(dir, 0)?;
        }
        to.write_all(&bytes[..read])?;
        left = left.map(|left| left - read as u64);
        copied(read as u64);
    }
    Ok(())
}

/// Checks that `bytes` more leave enough room.
fn has_room(dir: &Path, bytes: u64) -> io::Result<()> {
    match fs::free_space(dir) {
        Some(free) if free < bytes.saturating_add(LEAST_FREE) => Err(io::ErrorKind::StorageFull.into()),
        _ => Ok(()),
    }
}

fn copy_failed(name: &str, error: io::Error) -> Error {
    if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
        return Error::failed(
            "import_disk_full",
            "The disk has too little room for the files that are handed over; nothing was imported",
        )
        .hint("Make room for them where the store is, and for 1 GiB more");
    }
    Error::failed("import_handed_over", format!("Could not receive {name}; nothing was imported"))
        .because(error)
        .hint("Wait until no program writes to it, then run it again")
}

fn not_taken(name: &str, why: &str) -> Error {
    let message = format!("{name} was not accepted: {why}; nothing was imported");
    Error::new(Kind::Usage, "import_handed_over", message).hint("Name the files and folders to import")
}

fn too_many() -> Error {
    Error::failed("import_handed_over", "These are too many files to hand over at once; nothing was imported")
        .hint("Hand over an archive of them (zip, tgz), or one part at a time")
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the exports belong to the test")]
mod tests {
    use super::*;

    const TABLE: &str = "id,date,text\n1,2026-01-01,one\n2,2026-01-02,two\n";

    fn files_below(dir: &Path) -> usize {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| if entry.path().is_dir() { files_below(&entry.path()) } else { 1 }).sum()
    }

    #[test]
    fn o9_2_what_is_received_is_imported_known_again_and_not_left_behind() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("own");
        let export = root.path().join("a.csv");
        std::fs::write(&export, TABLE).unwrap();
        let import = || {
            let inbox = Inbox::begin(&dir).unwrap();
            let source = inbox.source(&export, &export, false).unwrap();
            inbox.take(source, Path::new(""), &File::open(&export).unwrap(), &mut |_| ()).unwrap();
            let done = inbox.import(&InboxRequest::default(), &mut |_| ()).unwrap();
            assert!(done.stopped.is_none());
            let outcome = done.outcomes.into_iter().next().unwrap();
            let counts = &outcome.counts;
            assert_eq!(outcome.path, export);
            [counts.read, counts.new, counts.changed, counts.same]
        };
        assert_eq!(import(), [2, 2, 0, 0]);
        assert_eq!(import(), [2, 0, 0, 2]);
        std::fs::write(&export, format!("{TABLE}3,2026-01-03,three\n")).unwrap();
        assert_eq!(import(), [3, 1, 0, 2]);
        assert!(!dir.join(INBOX).exists());
        let store = crate::own::open_store(&dir).unwrap();
        let paths: Vec<_> =
            crate::own::import::known_sources(&store).unwrap().into_iter().map(|row| row.path).collect();
        assert_eq!(paths, [export.display().to_string()]);
    }

    #[test]
    fn o9_2_names_stay_within_and_what_fails_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("own");
        let inbox = Inbox::begin(&dir).unwrap();
        for name in ["", "/etc/passwd", "../a", "a/../../b", "./..", "a/./../b"] {
            let refused = inbox.receive(name, &mut &b"x"[..]).unwrap_err();
            assert_eq!(refused.code(), "import_handed_over", "{name:?}");
        }
        inbox.receive("folder/a.txt", &mut &b"x"[..]).unwrap();
        let twice = inbox.receive("folder/a.txt", &mut &b"y"[..]).unwrap_err();
        assert_eq!(twice.code(), "import_handed_over");
        inbox.receive("folder/b.txt", &mut &b"x"[..]).unwrap();
        // A file that became shorter, and a source that does not exist.
        let source = inbox.source(Path::new("a.mbox"), Path::new("/home/x/a.mbox"), false).unwrap();
        let refused = inbox.take(source + 1, Path::new(""), &tempfile::tempfile().unwrap(), &mut |_| ());
        assert_eq!(refused.unwrap_err().code(), "import_handed_over");
        assert!(files_below(&dir) > 2);
        let refused = inbox.import(&InboxRequest::default(), &mut |_| ()).unwrap_err();
        assert!(refused.code().starts_with("import_"), "{refused:?}");
        assert!(!dir.join(INBOX).exists());
    }

    #[test]
    fn o9_2_what_a_killed_process_left_goes_and_what_is_in_use_stays() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("own");
        let used = Inbox::begin(&dir).unwrap();
        used.receive("a", &mut &b"x"[..]).unwrap();
        let left = dir.join(INBOX).join("left/0");
        PrivateDir::create(&left).unwrap();
        std::fs::write(left.join("secret.mbox"), "From").unwrap();
        clean(&dir).unwrap();
        assert!(!dir.join(INBOX).join("left").exists());
        assert!(used.folder.path().join("0/a").exists());
        drop(used);
        assert!(!dir.join(INBOX).exists());
    }
}
