//! Members for formats that read at arbitrary positions: in place if possible, otherwise from a private
//! copy next to the store, which is removed once the member has been read. An import that is killed
//! leaves at most one, which the next import removes.

use std::cell::RefCell;
use std::io::{self, BufRead, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::format::{Apart, ReadFrom};
use super::pipeline::Import;
use crate::archive::{Opened, Source, Stamp};
use crate::fs::{self, PrivateDir};

/// The suffixes of the files that SQLite keeps next to a database, which must be copied with it.
pub const BESIDE: [&str; 2] = ["-wal", "-journal"];
/// The folder in the store's directory.
const COPIES: &str = "copies";
const NAME: &str = "copy";
/// How many bytes are copied before the room and the stop signal are checked again.
const STEP: usize = 1 << 20;
/// How often a file is copied that changes meanwhile.
const TRIES: usize = 4;

/// A member, as formats read it, with its copies if it is being read and not only planned.
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
    /// No copies yet, for the member at `place`.
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

    /// Copies the member, or one of the files next to it.
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
                "the disk of the store has too little room for the copy that it is read from",
            )),
            _ => Ok(()),
        }
    }

    /// The current stamps of the member and of the files next to it.
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
        // Windows keeps files that are open.
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

/// Removes what a killed import left behind. Only an import into the store in `dir` may call this.
///
/// # Errors
/// The errors of the disk.
pub fn clean(dir: &Path) -> io::Result<()> {
    match PrivateDir::open(&dir.join(COPIES)) {
        Ok(left) => left.remove_whole(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the files belong to the test")]
mod tests {
    use std::io::Cursor;

    use zip::write::SimpleFileOptions;

    use super::*;

    /// A zip of files, which are compressed in it.
    fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in files {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn place_of(source: &Source, label: &str) -> String {
        let mut place = None;
        source
            .list(None, &mut |member, _| {
                if member.label == label {
                    place = Some(member.place);
                }
                Ok(())
            })
            .unwrap();
        place.unwrap()
    }

    fn copies<'a>(source: &'a Source, place: &'a str, dir: &'a Path, stop: &'a AtomicBool) -> Copies<'a> {
        Copies { source, place, dir, least_free: 0, stop, folder: RefCell::default() }
    }

    #[test]
    fn o4_14_what_lies_beside_a_database_is_copied_with_it_and_nothing_stays() {
        let root = tempfile::tempdir().unwrap();
        let (dir, stop) = (root.path().join("own"), AtomicBool::new(false));
        let folder = root.path().join("profile %1");
        std::fs::create_dir_all(folder.join("a")).unwrap();
        let files: [(&str, &[u8]); 3] =
            [("a/x.db", b"main"), ("a/x.db-wal", b"log"), ("a/x.db-shm", b"shared")];
        for (name, bytes) in files {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
        std::fs::write(root.path().join("x.zip"), zipped(&files)).unwrap();
        for (source, label) in [("profile %1", "a/x.db"), ("profile %1/a/x.db", "x.db"), ("x.zip", "a/x.db")]
        {
            let source = Source::open(&root.path().join(source)).unwrap();
            let place = place_of(&source, label);
            let copies = copies(&source, &place, &dir, &stop);
            let path = copies.database().unwrap();
            let names = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
            let beside = std::fs::read(path.with_file_name("copy-wal")).unwrap();
            assert_eq!(
                (std::fs::read(&path).unwrap().as_slice(), beside.as_slice(), names),
                (&b"main"[..], &b"log"[..], 2)
            );
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
                assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
            }
            drop(copies);
            assert!(!dir.join(COPIES).exists());
        }
    }

    #[test]
    fn o4_14_what_is_compressed_is_read_from_anywhere_and_its_copy_has_no_name() {
        let root = tempfile::tempdir().unwrap();
        let (dir, stop) = (root.path().join("own"), AtomicBool::new(false));
        let bytes: Vec<u8> = (0..=255).cycle().take(3 * STEP).collect();
        std::fs::write(root.path().join("x.zip"), zipped(&[("x.pst", &bytes)])).unwrap();
        std::fs::write(root.path().join("x.pst"), &bytes).unwrap();
        for (source, is_copied) in [("x.zip", true), ("x.pst", false)] {
            let source = Source::open(&root.path().join(source)).unwrap();
            let place = place_of(&source, "x.pst");
            let copies = copies(&source, &place, &dir, &stop);
            let mut opened = copies.anywhere().unwrap();
            assert_eq!(dir.exists(), is_copied);
            #[cfg(unix)]
            assert!(!dir.join(COPIES).exists());
            for at in [2 * STEP + 7, 5, STEP] {
                let mut some = [0; 3];
                opened.skip_to(at as u64).unwrap();
                opened.read_exact(&mut some).unwrap();
                assert_eq!(some, bytes[at..at + 3]);
            }
            // Windows keeps files that are open.
            drop((opened, copies));
            std::fs::remove_dir_all(&dir).ok();
        }
    }

    #[test]
    fn o3_8_a_copy_for_which_there_is_no_room_is_not_made() {
        let root = tempfile::tempdir().unwrap();
        let (dir, stop) = (root.path().join("own"), AtomicBool::new(false));
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(root.path().join("x.db"), "main").unwrap();
        let source = Source::open(&root.path().join("x.db")).unwrap();
        #[cfg(unix)]
        {
            let mut copies = copies(&source, "", &dir, &stop);
            copies.least_free = u64::MAX;
            assert_eq!(copies.database().unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
        stop.store(true, Ordering::Relaxed);
        assert!(copies(&source, "", &dir, &stop).database().is_err());
        assert!(!dir.join(COPIES).exists());
        // What a killed import left is removed; without anything, nothing happens.
        std::fs::create_dir(dir.join(COPIES)).unwrap();
        std::fs::write(dir.join(COPIES).join(NAME), "secret").unwrap();
        clean(&dir).unwrap();
        clean(&dir).unwrap();
        assert!(!dir.join(COPIES).exists());
    }
}
