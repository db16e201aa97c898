//! The format of a backup file: a tar archive of a manifest, its checksum, the database and the copies of
//! attachments. `tar` unpacks it into a store. Here it is read member by member, each in its expected
//! form, so that a name in it never becomes a path.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use jiff::Timestamp;
use ring::digest;
use serde::{Deserialize, Serialize};

use crate::hex;
use crate::own::PROFILE;
use crate::vault::store::blobs::COPIES;
use crate::vault::store::snapshot::Left;

/// The kind of file that the manifest states.
const KIND: &str = "backup of a pdpp store";
/// Changes when the content of the file does.
pub const FORMAT: u32 = 1;
/// The first member.
const MANIFEST: &str = "manifest.json";
/// The second member: the checksum of the first, as `sha256sum` writes it.
const SUM: &str = "manifest.json.sha256";
/// The longest manifest, in bytes.
const MAX_MANIFEST: u64 = 1 << 20;
const BLOCK: usize = 512;
/// The length of an archive's end.
const END: u64 = 2 * BLOCK as u64;
const PIECE: usize = 256 << 10;

/// The manifest of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    kind: String,
    format: u32,
    /// The release that wrote it.
    pub written_by: String,
    /// When it was made.
    pub made_at: Timestamp,
    /// The id of its store; `None` before the store's first grant was requested.
    pub store_id: Option<String>,
    /// The number of records.
    pub records: u64,
    /// The number of accounts.
    pub accounts: u64,
    /// The database.
    pub database: Database,
    /// The copies of attachments in it.
    pub copies: Copies,
    /// The attachments that are not in it, because they are read from the exports.
    pub left_in_place: Left,
    /// Copies that should be in it, but were gone or changed.
    pub lost_copies: u64,
    /// Bytes of the archive after the manifest and its checksum.
    bytes: u64,
}

/// The database in a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Database {
    /// The format of its tables.
    pub format: i64,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: String,
}

/// Copies of attachments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copies {
    /// The number of attachments.
    pub attachments: u64,
    /// The number of their bytes.
    pub bytes: u64,
}

/// The members that every format has.
#[derive(Deserialize)]
struct AnyManifest {
    kind: String,
    format: u32,
    written_by: String,
}

/// A member that has data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Member<'a> {
    /// The database.
    Database,
    /// The copy of an attachment, by its hash.
    Copy(&'a str),
}

/// Why a file cannot be read as a backup.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is something else, named here.
    #[error("{0}")]
    Foreign(String),
    /// A later release wrote it.
    #[error("pdpp {written_by} wrote it (format {format}; this release reads {FORMAT})")]
    Newer {
        /// The release that wrote it.
        written_by: String,
        /// Its format.
        format: u32,
    },
    /// It ends too early.
    #[error("it ends too early")]
    Truncated,
    /// A part of it was changed, named here.
    #[error("{0}")]
    Damaged(String),
    /// It could not be read.
    #[error("it could not be read")]
    Read(#[source] io::Error),
    /// What was read could not be written.
    #[error(transparent)]
    Write(io::Error),
    /// The person stopped it.
    #[error("stopped")]
    Stopped,
}

impl Unreadable {
    fn damaged(what: &str) -> Self {
        Self::Damaged(format!("{what} was changed"))
    }
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Truncated,
            io::ErrorKind::InvalidData => Self::Damaged(error.to_string()),
            _ => Self::Read(error),
        }
    }
}

/// The manifest of a backup, except what follows from its members.
#[derive(Debug)]
pub struct Described {
    /// When it is made.
    pub made_at: Timestamp,
    /// The id of its store.
    pub store_id: Option<String>,
    /// The number of records.
    pub records: u64,
    /// The number of accounts.
    pub accounts: u64,
    /// The database.
    pub database: Database,
    /// The attachments that are not in it.
    pub left_in_place: Left,
    /// Copies that should be in it.
    pub lost_copies: u64,
}

impl Manifest {
    /// The manifest of a backup with copies of these sizes.
    pub fn new(described: Described, copies: &[(String, u64)]) -> Self {
        let Described { made_at, store_id, records, accounts, database, left_in_place, lost_copies } =
            described;
        let sizes = || copies.iter().map(|(_, size)| *size);
        Self {
            kind: KIND.to_owned(),
            format: FORMAT,
            written_by: env!("CARGO_PKG_VERSION").to_owned(),
            made_at,
            store_id,
            records,
            accounts,
            bytes: sizes().map(taken).sum::<u64>() + taken(database.bytes) + END,
            database,
            copies: Copies { attachments: copies.len() as u64, bytes: sizes().sum() },
            left_in_place,
            lost_copies,
        }
    }
}

/// The bytes that a member of `size` bytes occupies.
const fn taken(size: u64) -> u64 {
    BLOCK as u64 + size.saturating_add(BLOCK as u64 - 1) / BLOCK as u64 * BLOCK as u64
}

fn header(name: &str, size: u64, made_at: Timestamp) -> io::Result<tar::Header> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mode(0o600);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(made_at.as_second().try_into().unwrap_or(0));
    header.set_size(size);
    header.set_cksum();
    Ok(header)
}

fn name(member: Member<'_>) -> String {
    match member {
        Member::Database => PROFILE.database.to_owned(),
        Member::Copy(hash) => format!("{COPIES}/{hash}"),
    }
}

/// Writes an archive.
pub struct Writer<'a, W> {
    to: W,
    made_at: Timestamp,
    /// Returns whether to stop.
    stop: &'a (dyn Fn() -> bool + Sync),
}

/// Why a member was not written.
#[derive(Debug, thiserror::Error)]
pub enum Unwritten {
    /// It could not be read.
    #[error("{0}")]
    Source(io::Error),
    /// It was changed.
    #[error("it was changed")]
    Changed,
    /// The backup could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The person stopped it.
    #[error("stopped")]
    Stopped,
}

impl<'a, W: Write> Writer<'a, W> {
    /// Begins an archive with its manifest.
    ///
    /// # Errors
    /// The errors of `to`.
    pub fn new(to: W, manifest: &Manifest, stop: &'a (dyn Fn() -> bool + Sync)) -> io::Result<Self> {
        let mut text = serde_json::to_vec(manifest)?;
        text.push(b'\n');
        let mut writer = Self { to, made_at: manifest.made_at, stop };
        let sum = sum_line(&text);
        writer.small(MANIFEST, &text)?;
        writer.small(SUM, sum.as_bytes())?;
        Ok(writer)
    }

    fn small(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(header(name, bytes.len() as u64, self.made_at)?.as_bytes())?;
        self.to.write_all(bytes)?;
        self.pad(bytes.len() as u64)
    }

    fn pad(&mut self, size: u64) -> io::Result<()> {
        let more = taken(size) - BLOCK as u64 - size;
        self.to.write_all(&[0; BLOCK][..usize::try_from(more).unwrap_or(0)])
    }

    /// Adds a member of `size` bytes, whose SHA-256 must be `sha256`.
    ///
    /// # Errors
    /// [`Unwritten`].
    pub fn add(
        &mut self,
        member: Member<'_>,
        size: u64,
        sha256: &str,
        mut from: impl Read,
    ) -> Result<(), Unwritten> {
        self.to.write_all(header(&name(member), size, self.made_at)?.as_bytes())?;
        let (mut piece, mut left) = (vec![0; PIECE], size);
        let mut sum = digest::Context::new(&digest::SHA256);
        while left > 0 {
            if (self.stop)() {
                return Err(Unwritten::Stopped);
            }
            let wanted = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            let read = from.read(&mut piece[..wanted]).map_err(Unwritten::Source)?;
            if read == 0 {
                return Err(Unwritten::Changed);
            }
            sum.update(&piece[..read]);
            self.to.write_all(&piece[..read])?;
            left -= read as u64;
        }
        if hex::of(sum.finish().as_ref()) != sha256 {
            return Err(Unwritten::Changed);
        }
        Ok(self.pad(size)?)
    }

    /// Ends the archive, and returns the writer.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn end(mut self) -> io::Result<W> {
        self.to.write_all(&[0; BLOCK])?;
        self.to.write_all(&[0; BLOCK])?;
        self.to.flush()?;
        Ok(self.to)
    }
}

fn sum_line(text: &[u8]) -> String {
    format!("{}  {MANIFEST}\n", hex::sha256(text))
}

/// The hash and the size of everything in `from`.
///
/// # Errors
/// [`Unwritten`], except [`Unwritten::Write`].
pub fn sum(mut from: impl Read, stop: &(dyn Fn() -> bool + Sync)) -> Result<(String, u64), Unwritten> {
    let (mut piece, mut size) = (vec![0; PIECE], 0);
    let mut sum = digest::Context::new(&digest::SHA256);
    loop {
        if stop() {
            return Err(Unwritten::Stopped);
        }
        match from.read(&mut piece).map_err(Unwritten::Source)? {
            0 => return Ok((hex::of(sum.finish().as_ref()), size)),
            read => {
                sum.update(&piece[..read]);
                size += read as u64;
            }
        }
    }
}

/// Receives the members of a backup as it is read.
pub trait Take {
    /// Begins a member of `size` bytes, and returns the writer for it.
    ///
    /// # Errors
    /// Any reason why it cannot be accepted.
    fn begin(&mut self, member: Member<'_>, size: u64) -> Result<&mut dyn Write, Unreadable>;

    /// Ends a member: all of it was written, and it matches its checksum.
    ///
    /// # Errors
    /// Any reason why it cannot be accepted.
    fn end(&mut self, member: Member<'_>) -> Result<(), Unreadable>;
}

/// Only checks the members.
#[derive(Default)]
pub struct Look(io::Sink);

impl Take for Look {
    fn begin(&mut self, _: Member<'_>, _: u64) -> Result<&mut dyn Write, Unreadable> {
        Ok(&mut self.0)
    }

    fn end(&mut self, _: Member<'_>) -> Result<(), Unreadable> {
        Ok(())
    }
}

/// Reads a backup from its beginning.
pub struct Reader<'a, R> {
    from: R,
    stop: &'a (dyn Fn() -> bool + Sync),
    manifest: Manifest,
}

impl<'a, R: Read> Reader<'a, R> {
    /// Reads the manifest. `is_whole` compares the length of the file with that of an archive of so many
    /// bytes: a file that was cut is reported before it is read.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn new(
        mut from: R,
        stop: &'a (dyn Fn() -> bool + Sync),
        is_whole: impl FnOnce(u64) -> std::cmp::Ordering,
    ) -> Result<Self, Unreadable> {
        let foreign = |what: &str| Err(Unreadable::Foreign(what.to_owned()));
        let mut first = Vec::with_capacity(BLOCK);
        from.by_ref().take(BLOCK as u64).read_to_end(&mut first)?;
        let named = format!("{MANIFEST}\0");
        if !first.starts_with(named.as_bytes()) {
            if !first.is_empty() && named.as_bytes().starts_with(&first) {
                return Err(Unreadable::Truncated);
            }
            return foreign(match first.as_slice() {
                [] => "it is empty",
                start if start.starts_with(b"SQLite format 3\0") => {
                    "it is a database, and not a backup of a store"
                }
                start if start.starts_with(b"-----BEGIN AGE") => {
                    "it is encrypted by age as text, and not by pdpp"
                }
                _ => "it does not begin like a backup",
            });
        }
        let block: [u8; BLOCK] = first.try_into().map_err(|_| Unreadable::Truncated)?;
        let head = tar::Header::from_byte_slice(&block).clone();
        let size = head.entry_size().ok().filter(|size| *size <= MAX_MANIFEST);
        let size = size.ok_or_else(|| Unreadable::damaged(MANIFEST))?;
        let text = whole(&mut from, size)?;
        let Ok(any) = serde_json::from_slice::<AnyManifest>(&text) else {
            return Err(Unreadable::damaged(MANIFEST));
        };
        if any.kind != KIND {
            return foreign("it is not a backup of a store");
        }
        if any.format > FORMAT {
            return Err(Unreadable::Newer { written_by: any.written_by, format: any.format });
        }
        let manifest: Manifest = serde_json::from_slice(&text).map_err(|_| Unreadable::damaged(MANIFEST))?;
        let is_as_written = |name: &str, size, block: &[u8]| {
            header(name, size, manifest.made_at).is_ok_and(|header| header.as_bytes() == block)
        };
        let wanted = sum_line(&text);
        let block = self::block(&mut from)?;
        let sum = whole(&mut from, wanted.len() as u64)?;
        if !is_as_written(MANIFEST, size, head.as_bytes())
            || !is_as_written(SUM, wanted.len() as u64, &block)
            || sum != wanted.as_bytes()
        {
            return Err(Unreadable::damaged(MANIFEST));
        }
        let before = taken(size) + taken(wanted.len() as u64);
        match is_whole(before.saturating_add(manifest.bytes)) {
            std::cmp::Ordering::Less => Err(Unreadable::Truncated),
            std::cmp::Ordering::Greater => Err(Unreadable::Damaged("something follows it".to_owned())),
            std::cmp::Ordering::Equal => Ok(Self { from, stop, manifest }),
        }
    }

    /// The manifest.
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Passes all members to `take` in their order, the database first.
    ///
    /// # Errors
    /// [`Unreadable`]. What was received until then must not be kept.
    pub fn read(mut self, take: &mut dyn Take) -> Result<Manifest, Unreadable> {
        let database = self.manifest.database.clone();
        let block = block(&mut self.from)?;
        self.member(Member::Database, database.bytes, &block, &database.sha256, take)?;
        let (mut copies, mut seen) = (Copies::default(), BTreeSet::new());
        loop {
            let block = self::block(&mut self.from)?;
            if block == [0; BLOCK] {
                break;
            }
            let damaged = || Unreadable::damaged("the list of its attachments");
            let head = tar::Header::from_byte_slice(&block);
            let size = head.entry_size().map_err(|_| damaged())?;
            let path = head.path_bytes();
            let hash = path.strip_prefix(format!("{COPIES}/").as_bytes()).filter(|hash| is_hash(hash));
            let hash = String::from_utf8_lossy(hash.ok_or_else(damaged)?).into_owned();
            copies.attachments += 1;
            copies.bytes = copies.bytes.saturating_add(size);
            let is_too_much = copies.attachments > self.manifest.copies.attachments
                || copies.bytes > self.manifest.copies.bytes;
            if is_too_much || !seen.insert(hash.clone()) {
                return Err(damaged());
            }
            self.member(Member::Copy(&hash), size, &block, &hash, take)?;
        }
        if copies != self.manifest.copies || self::block(&mut self.from)? != [0; BLOCK] {
            return Err(Unreadable::damaged("its end"));
        }
        match self.from.read(&mut [0]) {
            Ok(0) => Ok(self.manifest),
            Ok(_) => Err(Unreadable::Damaged("something follows it".to_owned())),
            Err(error) => Err(error.into()),
        }
    }

    fn member(
        &mut self,
        member: Member<'_>,
        size: u64,
        block: &[u8; BLOCK],
        sha256: &str,
        take: &mut dyn Take,
    ) -> Result<(), Unreadable> {
        let name = name(member);
        let is_as_written =
            header(&name, size, self.manifest.made_at).is_ok_and(|header| header.as_bytes() == block);
        if !is_as_written {
            return Err(Unreadable::damaged(&name));
        }
        let to = take.begin(member, size)?;
        let (mut piece, mut left) = (vec![0; PIECE], size);
        let mut sum = digest::Context::new(&digest::SHA256);
        while left > 0 {
            if (self.stop)() {
                return Err(Unreadable::Stopped);
            }
            let wanted = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            let read = self.from.read(&mut piece[..wanted])?;
            if read == 0 {
                return Err(Unreadable::Truncated);
            }
            sum.update(&piece[..read]);
            to.write_all(&piece[..read]).map_err(Unreadable::Write)?;
            left -= read as u64;
        }
        padding(&mut self.from, size)?;
        if hex::of(sum.finish().as_ref()) != sha256 {
            return Err(Unreadable::damaged(&name));
        }
        take.end(member)
    }
}

/// Whether `name` is a SHA-256, as the names of copies are.
fn is_hash(name: &[u8]) -> bool {
    name.len() == 64 && name.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn block(from: &mut impl Read) -> Result<[u8; BLOCK], Unreadable> {
    let mut block = [0; BLOCK];
    from.read_exact(&mut block)?;
    Ok(block)
}

/// Reads a small member.
fn whole(from: &mut impl Read, size: u64) -> Result<Vec<u8>, Unreadable> {
    let mut text = Vec::new();
    from.by_ref().take(size).read_to_end(&mut text)?;
    if text.len() as u64 != size {
        return Err(Unreadable::Truncated);
    }
    padding(from, size)?;
    Ok(text)
}

fn padding(from: &mut impl Read, size: u64) -> Result<(), Unreadable> {
    let mut zeros = [0; BLOCK];
    let zeros = &mut zeros[..usize::try_from(taken(size) - BLOCK as u64 - size).unwrap_or(0)];
    from.read_exact(zeros)?;
    if zeros.iter().any(|byte| *byte != 0) {
        return Err(Unreadable::Damaged("something is between its members".to_owned()));
    }
    Ok(())
}
