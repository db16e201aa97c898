//! The bytes of a blob: in the database, in a copy next to it, or still in a source. They are returned only if they
//! match the hash in their name.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection as Sqlite, OptionalExtension as _};

use super::ledger::BlobPlace;
use crate::archive::Source;
use crate::fs::PrivateDir;
use crate::hex;
use crate::vault::transfer::{self, Encoding};

/// The directory of copies in the store's directory.
pub const COPIES: &str = "blobs";
/// The prefix of a blob's id if the blob is not in the database; its hash follows.
const HASHED: &str = "sha256:";

/// A blob, with the place of its bytes.
#[derive(Debug, Clone)]
pub struct Blob {
    /// Its media type.
    pub media_type: String,
    id: String,
    size: u64,
    bytes: Option<Vec<u8>>,
    copy: Option<PathBuf>,
    places: Vec<(PathBuf, String, BlobPlace)>,
}

/// The blob `id`.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn find(db: &Sqlite, id: &str) -> rusqlite::Result<Option<Blob>> {
    let found = db
        .prepare_cached("SELECT media_type, size, is_copied, bytes FROM blob WHERE id = ?1")?
        .query_row([id], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?, row.get(3)?))
        })
        .optional()?;
    let Some((media_type, size, is_copied, bytes)) = found else { return Ok(None) };
    let mut blob = Blob {
        media_type,
        id: id.to_owned(),
        size: size.cast_unsigned(),
        bytes,
        copy: None,
        places: Vec::new(),
    };
    if blob.bytes.is_none() {
        let dir = db.path().and_then(|path| Path::new(path).parent());
        blob.copy = dir.filter(|_| is_copied).map(|dir| dir.join(COPIES));
        let mut places = db.prepare_cached(
            "SELECT s.path, c.place, p.offset, p.length, p.encoding FROM blob_place p
             JOIN checkpoint c ON c.unit = p.unit JOIN source s ON s.source = c.source WHERE p.blob_id = ?1",
        )?;
        let mut places = places.query([id])?;
        while let Some(row) = places.next()? {
            let encoding: String = row.get(4)?;
            let Some(encoding) = Encoding::from_name(&encoding) else { continue };
            let place = BlobPlace {
                offset: row.get::<_, i64>(2)?.cast_unsigned(),
                length: row.get::<_, i64>(3)?.cast_unsigned(),
                encoding,
            };
            blob.places.push((PathBuf::from(row.get::<_, String>(0)?), row.get(1)?, place));
        }
    }
    Ok(Some(blob))
}

impl Blob {
    /// Its bytes, if they still exist and are unchanged.
    pub fn read(self) -> Option<Vec<u8>> {
        if let Some(bytes) = self.bytes {
            return Some(bytes);
        }
        let hash = self.id.strip_prefix(HASHED)?;
        let is_it = |bytes: &Vec<u8>| hex::sha256(bytes) == hash;
        let copy = self.copy.as_deref().and_then(|dir| {
            PrivateDir::open(dir).and_then(|dir| dir.read(hash, self.size)).ok().filter(is_it)
        });
        copy.or_else(|| {
            let read = |(path, place, at): &(PathBuf, String, BlobPlace)| {
                read_in_place(path, place, at, self.size).ok().filter(is_it)
            };
            self.places.iter().find_map(read)
        })
    }
}

/// Stores a copy of a blob next to the database in `dir`.
///
/// # Errors
/// Returns the errors of the file system.
pub fn copy(dir: &Path, id: &str, bytes: &[u8]) -> io::Result<()> {
    let hash = id.strip_prefix(HASHED).filter(|hash| hex::sha256(bytes) == **hash);
    let hash = hash.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    let dir = PrivateDir::create(&dir.join(COPIES))?;
    if dir.size(hash).is_ok_and(|size| size == bytes.len() as u64) {
        return Ok(());
    }
    dir.write(hash, bytes)
}

/// The copies in use, by their names in the directory of copies.
///
/// # Errors
/// Returns the errors of SQLite.
pub(super) fn copies(db: &Sqlite) -> rusqlite::Result<BTreeSet<String>> {
    let mut all = db.prepare("SELECT id FROM blob WHERE is_copied = 1")?;
    let all = all.query_map([], |row| row.get::<_, String>(0))?;
    all.map(|id| id.map(|id| id.strip_prefix(HASHED).unwrap_or(&id).to_owned())).collect()
}

/// Removes the copies in the store's directory `dir` that are not in `used`.
///
/// # Errors
/// Returns the errors of the file system.
pub fn remove_unused_copies(dir: &Path, used: &BTreeSet<String>) -> io::Result<()> {
    let copies = dir.join(COPIES);
    if copies.symlink_metadata().is_err() {
        return Ok(());
    }
    PrivateDir::open(&copies)?.remove_others(used)
}

fn read_in_place(path: &Path, place: &str, at: &BlobPlace, size: u64) -> io::Result<Vec<u8>> {
    let mut member = Source::open(path)?.member(place)?;
    member.skip(at.offset)?;
    let mut encoded = Vec::with_capacity(usize::try_from(at.length.min(64 << 20)).unwrap_or(0));
    member.take(at.length).read_to_end(&mut encoded)?;
    let decoded = transfer::decode_whole(&encoded, at.encoding);
    if decoded.len() as u64 == size { Ok(decoded) } else { Err(io::ErrorKind::InvalidData.into()) }
}

#[cfg(test)]
mod tests {
    use crate::vault::transfer::{Encoding, decode_whole as decode};

    #[test]
    fn encodings_of_mail_are_read_as_they_are_written() {
        assert_eq!(decode(b"SGVs\r\nbG8=\r\n", Encoding::Base64), b"Hello");
        assert_eq!(decode(b"SGVsbG8", Encoding::Base64), b"Hello");
        assert_eq!(decode(b"a=3D=\r\nb = c=E4=  \n=G", Encoding::QuotedPrintable), b"a=b = c\xe4=G");
        assert_eq!(decode(b"a=", Encoding::Plain), b"a=");
    }
}
