//! Bytes with a known length: a file, a part of one, or a small archive that was compressed inside
//! another.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

/// Bytes that can be read from any offset. Cheap to clone: each clone has its own position.
#[derive(Debug, Clone)]
pub struct Body {
    bytes: Bytes,
    base: u64,
    length: u64,
    at: u64,
}

#[derive(Debug, Clone)]
enum Bytes {
    File(Arc<File>),
    Memory(Arc<[u8]>),
}

impl Body {
    /// A whole file.
    ///
    /// # Errors
    /// The errors of the disk.
    pub fn of_file(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { bytes: Bytes::File(Arc::new(file)), base: 0, length, at: 0 })
    }

    /// Bytes in memory.
    pub fn of_memory(bytes: Vec<u8>) -> Self {
        let length = bytes.len() as u64;
        Self { bytes: Bytes::Memory(bytes.into()), base: 0, length, at: 0 }
    }

    /// A part of it, cut off at its end.
    #[must_use]
    pub fn part(&self, offset: u64, length: u64) -> Self {
        let offset = offset.min(self.length);
        let length = length.min(self.length - offset);
        Self { bytes: self.bytes.clone(), base: self.base + offset, length, at: 0 }
    }

    /// Its length.
    pub const fn length(&self) -> u64 {
        self.length
    }
}

impl Read for Body {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.length.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = to.len().min(left);
        if wanted == 0 {
            return Ok(0);
        }
        let from = self.base + self.at;
        let read = match &self.bytes {
            Bytes::File(file) => read_at(file, &mut to[..wanted], from)?,
            Bytes::Memory(bytes) => {
                let from = usize::try_from(from).unwrap_or(usize::MAX).min(bytes.len());
                let mut rest = &bytes[from..];
                rest.read(&mut to[..wanted])?
            }
        };
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Body {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = to.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(unix)]
fn read_at(file: &File, to: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, to, at)
}

#[cfg(windows)]
fn read_at(file: &File, to: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, to, at)
}
