//! A file that is read as a backup, from its beginning and as often as needed.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _};

use super::age::{self, FileKey, Header, Locked, Opener};
use super::bundle::{Reader, Unreadable};
use crate::secret::Passphrase;

/// The file.
pub struct Source {
    file: File,
    length: u64,
    header: Option<Header>,
    key: Option<FileKey>,
}

type Read = Box<dyn io::Read>;

impl Source {
    /// Examines the beginning of `file`.
    ///
    /// # Errors
    /// [`Locked`].
    pub fn new(mut file: File) -> Result<Self, Locked> {
        let length = file.metadata()?.len();
        let mut first = Vec::new();
        file.rewind()?;
        file.by_ref().take(age::MAGIC.len() as u64).read_to_end(&mut first)?;
        let mut source = Self { file, length, header: None, key: None };
        // A file that was cut may have only the beginning of this line.
        if first == age::MAGIC || (first.len() >= 4 && age::MAGIC.starts_with(&first)) {
            source.header = Some(Header::read(&mut source.start()?)?);
        }
        Ok(source)
    }

    /// Whether a passphrase opens it.
    pub const fn is_encrypted(&self) -> bool {
        self.header.is_some()
    }

    /// Opens it.
    ///
    /// # Errors
    /// [`Locked`].
    pub fn unlock(&mut self, passphrase: &Passphrase) -> Result<(), Locked> {
        if let Some(header) = &self.header {
            self.key = Some(header.unlock(passphrase)?);
        }
        Ok(())
    }

    fn start(&self) -> io::Result<BufReader<File>> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        Ok(BufReader::with_capacity(256 << 10, file))
    }

    /// Reads it from its beginning.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn reader<'a>(&self, stop: &'a (dyn Fn() -> bool + Sync)) -> Result<Reader<'a, Read>, Unreadable> {
        let mut from = self.start()?;
        let (Some(header), Some(key)) = (&self.header, &self.key) else {
            return Reader::new(Box::new(from), stop, |whole| self.length.cmp(&whole));
        };
        Header::read(&mut from).map_err(|error| Unreadable::Read(io::Error::other(error)))?;
        let compared = |whole| -> Ordering { self.length.cmp(&header.whole_length(whole)) };
        let read = Opener::new(from, key)
            .map_err(Unreadable::from)
            .and_then(|from| Reader::new(Box::new(from) as Read, stop, compared));
        // A database alone is longer than the first chunk. If that chunk is incomplete, the rest is
        // missing, and what is left cannot be told from a changed file.
        let is_cut = self.length < header.whole_length(age::CHUNK as u64);
        read.map_err(|error| if is_cut { Unreadable::Truncated } else { error })
    }
}
