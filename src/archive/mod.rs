//! What a person names to import from: a file, a folder or an archive, as members that can be listed and
//! read.
//!
//! Nothing is unpacked or written. A member's name is a label; its [`Member::place`] is where it is, and
//! opens it again.

mod body;
mod packed;
mod stream;

use std::collections::HashMap;
use std::fs::{File, FileType, Metadata};
use std::io::{self, BufRead, BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use body::Body;
use packed::Packed;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};
use serde::{Deserialize, Serialize};

use crate::fs;

/// The most members of a source.
pub const MAX_MEMBERS: usize = 1_000_000;
/// The most folders inside each other.
const MAX_DEPTH: usize = 64;
/// The most archives inside each other.
const MAX_NESTING: usize = 2;
/// How many bytes are read at once.
const BUFFER: usize = 1 << 16;

/// The characters that are not escaped in a place.
const PLAIN: &AsciiSet = &CONTROLS.add(b'%').add(b'\n');

/// A file, folder or archive that a person named.
pub struct Source {
    path: PathBuf,
    kind: Kind,
    /// The archive that was opened last, with its place.
    open: Mutex<Option<(String, Arc<Packed>)>>,
    /// Where it came from, if it was handed over.
    received: Option<Arc<Received>>,
}

/// A file or folder that was handed over by a program that may read it, because this one may not: its
/// content is elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Received {
    /// Where its content is.
    pub at: PathBuf,
    /// Where it is for the program that handed it over.
    pub shown: PathBuf,
    /// The stamps of its original files, by their paths within it; the path of a single file is empty.
    pub stamps: HashMap<PathBuf, Stamp>,
    /// What was not handed over.
    pub left_out: LeftOut,
}

/// The kind of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One file that is not an archive.
    File,
    /// A folder.
    Folder,
    /// An archive: if it is unchanged, so are its members.
    Archive,
}

/// A member of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its path within the source, for people and formats.
    pub label: String,
    /// How to open it within the source.
    pub place: String,
    /// Its size in bytes, if it is known.
    pub size: Option<u64>,
    /// When it was last changed, in milliseconds since 1970.
    pub modified_ms: Option<i64>,
    /// Whether it is a separate file on the disk.
    pub is_file: bool,
}

/// A member that is not read, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Its path within the source.
    pub label: String,
    /// Why, in a few words.
    pub why: String,
}

/// A member, as an archive lists it.
struct Listed {
    label: String,
    size: Option<u64>,
    modified_ms: Option<i64>,
    step: String,
}

/// What a listing leaves out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// What is not read on purpose: links, devices, encrypted members.
    pub skipped: Vec<Skipped>,
    /// What should have been read and cannot.
    pub unreadable: Vec<Skipped>,
}

/// The identity and state of a file on the disk, which shows most changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The device that has it.
    pub device: i64,
    /// Its inode number there.
    pub inode: i64,
    /// Its size in bytes.
    pub size: i64,
    /// When it was last changed, in milliseconds since 1970.
    pub modified_ms: i64,
}

/// An open member.
pub enum Opened {
    /// It can be read from any offset.
    Body(BufReader<Body>),
    /// It can only be read from its beginning.
    Stream(BufReader<Box<dyn Read + Send>>),
}

type Each<'a> = dyn FnMut(Member, &mut dyn Read) -> io::Result<()> + 'a;

impl Source {
    /// Opens the source at `path`; a link is followed.
    ///
    /// # Errors
    /// If it does not exist, is neither a file nor a folder, or begins like an archive and is damaged.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::at(dunce::canonicalize(path)?, None)
    }

    /// Opens a source that was handed over.
    ///
    /// # Errors
    /// The errors of [`Source::open`].
    pub fn received(received: Arc<Received>) -> io::Result<Self> {
        Self::at(received.at.clone(), Some(received))
    }

    fn at(path: PathBuf, received: Option<Arc<Received>>) -> io::Result<Self> {
        let found = path.metadata()?;
        let kind = if found.is_dir() {
            Kind::Folder
        } else if !found.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is neither a file nor a folder"));
        } else if Packed::open(&Body::of_file(fs::open_plain(&path)?)?)?.is_some() {
            Kind::Archive
        } else {
            Kind::File
        };
        Ok(Self { path, kind, open: Mutex::default(), received })
    }

    /// Its path without links; if it was handed over, its path for the program that did that.
    pub fn path(&self) -> &Path {
        self.received.as_ref().map_or(&self.path, |received| &received.shown)
    }

    /// Whether it was handed over: then it exists for one import only.
    pub const fn is_received(&self) -> bool {
        self.received.is_some()
    }

    /// The kind of the source.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The current stamp of the file or archive.
    ///
    /// # Errors
    /// The errors of the disk.
    pub fn stamp(&self) -> io::Result<Stamp> {
        self.stamp_at(&self.path)
    }

    /// The current stamp of a member that is a separate file.
    ///
    /// # Errors
    /// The errors of the disk.
    pub fn stamp_of(&self, place: &str) -> io::Result<Stamp> {
        self.stamp_at(&self.file_of(place)?)
    }

    fn stamp_at(&self, file: &Path) -> io::Result<Stamp> {
        let known = self.received.as_ref().and_then(|received| {
            let within = file.strip_prefix(&self.path).ok()?;
            received.stamps.get(within).copied()
        });
        known.map_or_else(|| Ok(Stamp::of(&file.symlink_metadata()?)), Ok)
    }

    /// Opens what is next to the member at `place` and has its name followed by `suffix`:
    /// `places.sqlite-wal`. `None` if it does not exist, or cannot be found, as in a tar archive.
    ///
    /// # Errors
    /// The errors of the disk.
    pub fn beside(&self, place: &str, suffix: &str) -> io::Result<Option<Opened>> {
        let Some((packed, step)) = self.packed(place)? else {
            let opened = fs::open_plain(&self.path_beside(place, suffix)?);
            return match opened {
                Ok(file) => Opened::of_file(file).map(Some),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            };
        };
        packed.beside(step, suffix).map(|step| packed.member(&step)).transpose()
    }

    /// The current stamp of the file that [`Source::beside`] finds, if the member is a separate file.
    pub fn stamp_beside(&self, place: &str, suffix: &str) -> Option<Stamp> {
        let path = self.path_beside(place, suffix).ok()?;
        path.symlink_metadata().ok()?;
        self.stamp_at(&path).ok()
    }

    fn path_beside(&self, place: &str, suffix: &str) -> io::Result<PathBuf> {
        let mut path = self.file_of(place)?.into_os_string();
        path.push(suffix);
        Ok(path.into())
    }

    /// The `length` bytes before `end` in the file that `place` names, or in the source itself.
    ///
    /// # Errors
    /// The errors of the disk.
    pub fn bytes_before(&self, place: &str, end: u64, length: u64) -> io::Result<Vec<u8>> {
        let body = Body::of_file(fs::open_plain(&self.file_of(place)?)?)?;
        if body.length() < end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let from = end.saturating_sub(length);
        let mut bytes = Vec::new();
        body.part(from, end - from).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The file on the disk in which a place begins.
    fn file_of(&self, place: &str) -> io::Result<PathBuf> {
        let first = place.split('\n').next().unwrap_or_default();
        match first.strip_prefix('f') {
            Some(name) => Ok(self.path.join(decoded(name)?)),
            None => Ok(self.path.clone()),
        }
    }

    /// Passes each member to `each`, in order, with a way to read it. A folder named `without` is left
    /// out.
    ///
    /// # Errors
    /// If an archive that was named cannot be read, or there are too many members; the errors of `each`.
    pub fn list(&self, without: Option<&Path>, each: &mut Each<'_>) -> io::Result<LeftOut> {
        let mut left_out =
            self.received.as_ref().map(|received| received.left_out.clone()).unwrap_or_default();
        match self.kind {
            Kind::File => {
                let label = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let member = of_file(label, String::new(), &self.path.metadata()?);
                each(member, &mut fs::open_plain(&self.path)?)?;
            }
            Kind::Folder => {
                let mut walk = Walk { source: self, without, members: 0, left_out: &mut left_out, each };
                walk.folder(&PathBuf::new(), 0)?;
            }
            Kind::Archive => {
                let body = Body::of_file(fs::open_plain(&self.path)?)?;
                let Some(packed) = Packed::open(&body)? else {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no longer an archive"));
                };
                let label = self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let mut count = 0;
                list_packed(&packed, ("", "", &label), 1, &mut count, &mut left_out, each)?;
            }
        }
        Ok(left_out)
    }

    /// Opens the member at `place`.
    ///
    /// # Errors
    /// If it no longer exists, or cannot be read.
    pub fn member(&self, place: &str) -> io::Result<Opened> {
        match self.packed(place)? {
            Some((packed, step)) => packed.member(step),
            None => Opened::of_file(fs::open_plain(&self.file_of(place)?)?),
        }
    }

    /// The archive that has the member, and the member's place in it; `None` for a separate file.
    fn packed<'a>(&self, place: &'a str) -> io::Result<Option<(Arc<Packed>, &'a str)>> {
        let file = self.file_of(place)?;
        let inner =
            if place.starts_with('f') { place.split_once('\n').map(|(_, inner)| inner) } else { Some(place) };
        let Some(inner) = inner.filter(|inner| !inner.is_empty()) else { return Ok(None) };
        let (outer, step) = inner.rsplit_once('\n').unwrap_or(("", inner));
        let key = place.strip_suffix(step).unwrap_or_default();
        let known = self.open.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let packed = match known {
            Some((known, packed)) if known == key => packed,
            _ => {
                let packed = Arc::new(open_packed(&file, outer)?);
                *self.open.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some((key.to_owned(), Arc::clone(&packed)));
                packed
            }
        };
        Ok(Some((packed, step)))
    }
}

fn open_packed(file: &Path, outer: &str) -> io::Result<Packed> {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let mut packed = Packed::open(&Body::of_file(fs::open_plain(file)?)?)?.ok_or_else(missing)?;
    for step in outer.split('\n').filter(|step| !step.is_empty()) {
        packed = Packed::open(&packed.nested(step)?)?.ok_or_else(missing)?;
    }
    Ok(packed)
}

/// Lists an archive, whose members' labels and places begin as given, and the archives in it.
fn list_packed(
    packed: &Packed,
    (label, place, own_name): (&str, &str, &str),
    depth: usize,
    count: &mut usize,
    left_out: &mut LeftOut,
    each: &mut Each<'_>,
) -> io::Result<()> {
    let LeftOut { skipped, unreadable } = left_out;
    let mut nested = Vec::new();
    let mut skipped_here = Vec::new();
    packed.list(&mut skipped_here, &mut |listed, bytes| {
        *count += 1;
        if *count > MAX_MEMBERS {
            return Err(too_many());
        }
        let name = if listed.label.is_empty() { own_name } else { &listed.label };
        let member = Member {
            label: format!("{label}{name}"),
            place: format!("{place}{}", listed.step),
            size: listed.size,
            modified_ms: listed.modified_ms,
            is_file: false,
        };
        if is_archive_name(name) {
            nested.push((member, listed.step));
            return Ok(());
        }
        each(member, bytes)
    })?;
    skipped.extend(
        skipped_here.into_iter().map(|one| Skipped { label: format!("{label}{}", one.label), ..one }),
    );
    for (member, step) in nested {
        if depth >= MAX_NESTING {
            skipped.push(Skipped {
                label: member.label,
                why: "an archive nested too deeply in others".to_owned(),
            });
            continue;
        }
        let opened = packed.nested(&step).and_then(|body| Packed::open(&body));
        match opened {
            Ok(Some(inner)) => {
                let name = member.label.rsplit('/').next().unwrap_or_default();
                let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
                let inside = (format!("{}/", member.label), format!("{}\n", member.place));
                let mut inner_left_out = LeftOut::default();
                let listed = list_packed(
                    &inner,
                    (&inside.0, &inside.1, &name),
                    depth + 1,
                    count,
                    &mut inner_left_out,
                    each,
                );
                skipped.append(&mut inner_left_out.skipped);
                unreadable.append(&mut inner_left_out.unreadable);
                if let Err(error) = listed {
                    unreadable.push(Skipped { label: member.label, why: error.to_string() });
                }
            }
            // Its name looks like an archive, but it is not one: it counts as an ordinary member.
            Ok(None) => {
                let mut bytes = packed.member(&step)?;
                each(member, &mut bytes)?;
            }
            Err(error) => unreadable.push(Skipped { label: member.label, why: error.to_string() }),
        }
    }
    Ok(())
}

/// Goes through a folder.
struct Walk<'a, 'b> {
    source: &'a Source,
    without: Option<&'a Path>,
    members: usize,
    left_out: &'a mut LeftOut,
    each: &'a mut Each<'b>,
}

impl Walk<'_, '_> {
    fn folder(&mut self, relative: &Path, depth: usize) -> io::Result<()> {
        let path = self.source.path.join(relative);
        let label = |relative: &Path| relative.to_string_lossy().replace('\\', "/");
        if self.without.is_some_and(|without| without == path) {
            let why = "the store itself".to_owned();
            self.left_out.skipped.push(Skipped { label: label(relative), why });
            return Ok(());
        }
        if depth > MAX_DEPTH {
            let why = "folders are nested too deeply".to_owned();
            self.left_out.skipped.push(Skipped { label: label(relative), why });
            return Ok(());
        }
        let entries = path.read_dir().and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) if depth > 0 => {
                self.left_out.unreadable.push(Skipped { label: label(relative), why: error.to_string() });
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        // The order is the same on every machine.
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let relative = relative.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.folder(&relative, depth + 1)?,
                Ok(kind) if kind.is_file() => self.file(&relative, &label(&relative))?,
                Ok(kind) => {
                    let why = what(kind).to_owned();
                    self.left_out.skipped.push(Skipped { label: label(&relative), why });
                }
                Err(error) => {
                    self.left_out
                        .unreadable
                        .push(Skipped { label: label(&relative), why: error.to_string() });
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, relative: &Path, label: &str) -> io::Result<()> {
        self.members += 1;
        if self.members > MAX_MEMBERS {
            return Err(too_many());
        }
        let place = format!("f{}", encoded(relative));
        let path = self.source.path.join(relative);
        let opened = fs::open_plain(&path).and_then(|file| Ok((file.metadata()?, file)));
        let (found, mut file) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.left_out.unreadable.push(Skipped { label: label.to_owned(), why: error.to_string() });
                return Ok(());
            }
        };
        if is_archive_name(label) {
            match Body::of_file(file).and_then(|body| Packed::open(&body)) {
                Ok(Some(packed)) => {
                    let name = relative.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                    let (label_in, place_in) = (format!("{label}/"), format!("{place}\n"));
                    let inside = (label_in.as_str(), place_in.as_str(), name.as_str());
                    let listed = list_packed(&packed, inside, 1, &mut self.members, self.left_out, self.each);
                    if let Err(error) = listed {
                        self.left_out
                            .unreadable
                            .push(Skipped { label: label.to_owned(), why: error.to_string() });
                    }
                    return Ok(());
                }
                Ok(None) => file = fs::open_plain(&path)?,
                Err(error) => {
                    self.left_out
                        .unreadable
                        .push(Skipped { label: label.to_owned(), why: error.to_string() });
                    return Ok(());
                }
            }
        }
        (self.each)(of_file(label.to_owned(), place, &found), &mut file)
    }
}

impl Opened {
    /// A file that can be read from any offset.
    ///
    /// # Errors
    /// The errors of the disk.
    pub fn of_file(file: File) -> io::Result<Self> {
        Body::of_file(file).map(Self::of_body)
    }

    /// Its length, if it can be read from any offset.
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::Body(body) => Some(body.get_ref().length()),
            Self::Stream(_) => None,
        }
    }

    fn of_body(body: Body) -> Self {
        Self::Body(BufReader::with_capacity(BUFFER, body))
    }

    fn of_stream(stream: Box<dyn Read + Send>) -> Self {
        Self::Stream(BufReader::with_capacity(BUFFER, stream))
    }

    /// Continues at `offset`, counted from the current position.
    ///
    /// # Errors
    /// If it ends before that, or cannot be read.
    pub fn skip(&mut self, offset: u64) -> io::Result<()> {
        match self {
            Self::Body(body) => {
                if offset > body.get_ref().length() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                body.seek(SeekFrom::Start(offset)).map(drop)
            }
            Self::Stream(stream) => {
                let skipped = io::copy(&mut stream.by_ref().take(offset), &mut io::sink())?;
                if skipped < offset { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
            }
        }
    }
}

impl Read for Opened {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Body(body) => body.read(to),
            Self::Stream(stream) => stream.read(to),
        }
    }
}

impl BufRead for Opened {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self {
            Self::Body(body) => body.fill_buf(),
            Self::Stream(stream) => stream.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        match self {
            Self::Body(body) => body.consume(amount),
            Self::Stream(stream) => stream.consume(amount),
        }
    }
}

fn of_file(label: String, place: String, found: &Metadata) -> Member {
    Member {
        label,
        place,
        size: Some(found.len()),
        modified_ms: Some(stamp(found).modified_ms),
        is_file: true,
    }
}

impl Stamp {
    /// The stamp of an open file.
    pub fn of(found: &Metadata) -> Self {
        stamp(found)
    }
}

fn stamp(found: &Metadata) -> Stamp {
    let modified = found.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let modified_ms = modified.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or(0);
    let size = i64::try_from(found.len()).unwrap_or(i64::MAX);
    #[cfg(unix)]
    let (device, inode) = {
        use std::os::unix::fs::MetadataExt as _;
        (found.dev().cast_signed(), found.ino().cast_signed())
    };
    #[cfg(not(unix))]
    let (device, inode) = (0, 0);
    Stamp { device, inode, size, modified_ms }
}

fn is_archive_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".zip", ".tgz", ".tar", ".gz"].iter().any(|end| name.ends_with(end))
}

fn what(kind: FileType) -> &'static str {
    if kind.is_symlink() { "a link" } else { "not a plain file" }
}

fn too_many() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it has more than 1,000,000 members")
}

#[cfg(unix)]
fn encoded(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    percent_encode(path.as_os_str().as_bytes(), PLAIN).to_string()
}

#[cfg(not(unix))]
fn encoded(path: &Path) -> String {
    percent_encode(path.to_string_lossy().as_bytes(), PLAIN).to_string()
}

#[cfg(unix)]
fn decoded(name: &str) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    inside(PathBuf::from(std::ffi::OsString::from_vec(percent_decode_str(name).collect())))
}

#[cfg(not(unix))]
fn decoded(name: &str) -> io::Result<PathBuf> {
    inside(PathBuf::from(percent_decode_str(name).decode_utf8_lossy().into_owned()))
}

/// A file's path within its folder as text, from which [`path_within`] restores it byte for byte.
pub fn text_of_path(path: &Path) -> String {
    encoded(path)
}

/// The path for a result of [`text_of_path`]; it stays inside its folder.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] for any other text.
pub fn path_within(text: &str) -> io::Result<PathBuf> {
    decoded(text)
}

/// A path that stays inside its folder.
fn inside(path: PathBuf) -> io::Result<PathBuf> {
    use std::path::Component;
    if path.components().all(|part| matches!(part, Component::Normal(_))) {
        Ok(path)
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}
