//! Members for formats that read here and there in them: where they lie if that can be, else a private copy beside the store, which
//! goes when the member has been read. An import that is killed leaves one at most, which the next one removes.

use std::cell::RefCell;
use std::io::{self, BufRead, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::format::{Apart, ReadFrom};
use super::pipeline::Import;
use crate::archive::{Opened, Source, Stamp};
use crate::fs::{self, PrivateDir};

/// What SQLite keeps beside a database and has to be copied with it.
pub const BESIDE: [&str; 2] = ["-wal", "-journal"];
/// The folder in the store's directory.
const COPIES: &str = "copies";
const NAME: &str = "copy";
/// How much is copied before it is looked whether there is room, and whether to stop.
const STEP: usize = 1 << 20;
/// How often a file is copied that changes meanwhile.
const TRIES: usize = 4;

/// A member, as formats read it: with copies of it, where it is one that is read and not planned.
pub struct Bytes<'a>(pub Opened, pub Option<Copies<'a>>);

impl Read for Bytes<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to)
    }
}

impl BufRead for Bytes<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.0.consume(amount);
    }
}

impl ReadFrom for Bytes<'_> {
    fn skip_to(&mut self, offset: u64) -> io::Result<()> {
        self.0.skip(offset)
    }

    fn goes_back(&self) -> bool {
        self.0.length().is_some()
    }

    fn apart(&self) -> Option<&dyn Apart> {
        self.1.as_ref().map(|copies| copies as &dyn Apart)
    }
}

/// The copies of a member.
pub struct Copies<'a> {
    source: &'a Source,
    place: &'a str,
    /// The store's directory.
    dir: &'a Path,
    least_free: u64,
    stop: &'a AtomicBool,
    folder: RefCell<Option<PrivateDir>>,
}

impl<'a> Copies<'a> {
    /// None yet, of the member at `place`.
    pub fn of(import: &Import<'a>, source: &'a Source, place: &'a str) -> Self {
        let Import { dir, least_free, stop, .. } = *import;
        Self { source, place, dir, least_free, stop, folder: RefCell::default() }
    }

    /// An empty folder for them.
    fn folder(&self) -> io::Result<PrivateDir> {
        clean(self.dir)?;
        let folder = PrivateDir::create(&self.dir.join(COPIES))?;
        *self.folder.borrow_mut() = Some(folder.clone());
        Ok(folder)
    }

    /// Copies the member, or what lies beside it; how much that was.
    fn copy(&self, mut from: Opened, folder: &PrivateDir, suffix: &str) -> io::Result<()> {
        self.has_room(from.length().unwrap_or(0))?;
        let mut to = folder.new_file(Path::new(&format!("{NAME}{suffix}")))?;
        let mut bytes = Vec::with_capacity(STEP);
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::Error::other("it was stopped"));
            }
            bytes.clear();
            (&mut from).take(STEP as u64).read_to_end(&mut bytes)?;
            if bytes.is_empty() {
                return Ok(());
            }
            self.has_room(bytes.len() as u64)?;
            to.write_all(&bytes)?;
        }
    }

    fn has_room(&self, bytes: u64) -> io::Result<()> {
        match fs::free_space(self.dir) {
            Some(free) if free < bytes.saturating_add(self.least_free) => Err(io::Error::new(
                io::ErrorKind::StorageFull,
                "there is too little room beside the store for the copy that it is read from",
            )),
            _ => Ok(()),
        }
    }

    /// What the member and what lies beside it are now.
    fn stamps(&self) -> Vec<Option<Stamp>> {
        let beside = BESIDE.iter().map(|suffix| self.source.stamp_beside(self.place, suffix));
        std::iter::once(self.source.stamp_of(self.place).ok()).chain(beside).collect()
    }
}

impl Apart for Copies<'_> {
    fn database(&self) -> io::Result<PathBuf> {
        for _ in 0..TRIES {
            let before = self.stamps();
            let folder = self.folder()?;
            self.copy(self.source.member(self.place)?, &folder, "")?;
            for suffix in BESIDE {
                if let Some(beside) = self.source.beside(self.place, suffix)? {
                    self.copy(beside, &folder, suffix)?;
                }
            }
            if self.stamps() == before {
                return Ok(folder.path().join(NAME));
            }
        }
        Err(io::Error::other("it changed each time while it was copied: close the program that writes it"))
    }

    fn hide(&self) {
        // Windows keeps what is open.
        #[cfg(unix)]
        if let Some(folder) = self.folder.take() {
            let _ = folder.remove_whole();
        }
    }

    fn anywhere(&self) -> io::Result<Box<dyn ReadFrom + Send>> {
        let opened = self.source.member(self.place)?;
        if opened.length().is_some() {
            return Ok(Box::new(Bytes(opened, None)));
        }
        let folder = self.folder()?;
        self.copy(opened, &folder, "")?;
        let opened = Opened::of_file(fs::open_plain(&folder.path().join(NAME))?)?;
        self.hide();
        Ok(Box::new(Bytes(opened, None)))
    }
}

impl Drop for Copies<'_> {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take() {
            let _ = folder.remove_whole();
        }
    }
}

/// Removes what an import left that was killed. Whoever imports into the store in `dir`, and nobody else, may do so.
///
/// # Errors
/// Whatever the disk says.
pub fn clean(dir: &Path) -> io::Result<()> {
    match PrivateDir::open(&dir.join(COPIES)) {
        Ok(left) => left.remove_whole(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
