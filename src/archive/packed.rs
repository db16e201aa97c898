//! Archives: zip, tar, gzip. They are listed and streamed, never unpacked; a name is only a label, not a
//! path.

use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::body::Body;
use super::stream::{Bounded, Shared};
use super::{Listed, MAX_MEMBERS, Opened, Skipped, too_many};

/// The largest archive that is read into memory because it is compressed inside another.
const MAX_NESTED: u64 = 64 << 20;
/// The most bytes of the headers of one member of a tar archive.
const MAX_HEADERS: u64 = 1 << 20;

/// An open archive.
pub enum Packed {
    Zip {
        body: Body,
        entries: Vec<Entry>,
    },
    Tar(Arc<Shared>),
    /// One compressed file.
    Gzip(Arc<Shared>),
}

/// A member of a zip archive.
pub struct Entry {
    label: String,
    start: u64,
    compressed: u64,
    size: u64,
    crc: u32,
    modified_ms: Option<i64>,
    how: How,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Folder,
    Stored,
    Deflated,
    Skipped(&'static str),
}

impl Packed {
    /// The archive in `body`, if it is one.
    ///
    /// # Errors
    /// If it begins like an archive and cannot be read.
    pub fn open(body: &Body) -> io::Result<Option<Self>> {
        let mut head = Vec::new();
        body.part(0, 512).read_to_end(&mut head)?;
        if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
            return Self::zip(body).map(Some);
        }
        if is_tar(&head) {
            return Ok(Some(Self::Tar(Shared::new(body.clone(), false))));
        }
        if head.starts_with(&[0x1f, 0x8b, 8]) {
            let shared = Shared::new(body.clone(), true);
            let mut inner = Vec::new();
            shared.whole().take(512).read_to_end(&mut inner)?;
            return Ok(Some(if is_tar(&inner) { Self::Tar(shared) } else { Self::Gzip(shared) }));
        }
        Ok(None)
    }

    fn zip(body: &Body) -> io::Result<Self> {
        let mut archive = zip::ZipArchive::new(BufReader::new(body.part(0, body.length())))?;
        if archive.len() > MAX_MEMBERS {
            return Err(too_many());
        }
        let mut entries = Vec::with_capacity(archive.len());
        for at in 0..archive.len() {
            let entry = archive.by_index_raw(at)?;
            let mode = entry.unix_mode().unwrap_or(0) & 0o170_000;
            let how = if entry.is_dir() {
                How::Folder
            } else if mode != 0 && mode != 0o100_000 {
                How::Skipped("not a plain file")
            } else if entry.encrypted() {
                How::Skipped("encrypted")
            } else {
                match entry.compression() {
                    zip::CompressionMethod::Stored => How::Stored,
                    zip::CompressionMethod::Deflated => How::Deflated,
                    _ => How::Skipped("compressed with an unsupported method"),
                }
            };
            entries.push(Entry {
                label: String::from_utf8_lossy(entry.name_raw()).replace('\\', "/"),
                start: entry.data_start().unwrap_or(0),
                compressed: entry.compressed_size(),
                size: entry.size(),
                crc: entry.crc32(),
                modified_ms: entry.last_modified().and_then(modified_ms),
                how,
            });
        }
        Ok(Self::Zip { body: body.clone(), entries })
    }

    /// Passes each plain file in it to `each`, in their order in the archive, with a way to read it.
    ///
    /// # Errors
    /// If the archive cannot be read to the end; the errors of `each`.
    pub fn list(
        &self,
        skipped: &mut Vec<Skipped>,
        each: &mut dyn FnMut(Listed, &mut dyn Read) -> io::Result<()>,
    ) -> io::Result<()> {
        match self {
            Self::Zip { entries, .. } => {
                let mut order: Vec<usize> = (0..entries.len()).collect();
                order.sort_by_key(|at| entries[*at].start);
                for at in order {
                    let entry = &entries[at];
                    match entry.how {
                        How::Folder => continue,
                        How::Skipped(why) => {
                            skipped.push(Skipped { label: entry.label.clone(), why: why.to_owned() });
                            continue;
                        }
                        How::Stored | How::Deflated => {}
                    }
                    let step = format!("z{at}");
                    let listed = Listed {
                        label: entry.label.clone(),
                        size: Some(entry.size),
                        modified_ms: entry.modified_ms,
                        step: step.clone(),
                    };
                    each(listed, &mut self.member(&step)?)?;
                }
                Ok(())
            }
            Self::Tar(shared) => list_tar(shared, skipped, each),
            Self::Gzip(shared) => {
                let listed =
                    Listed { label: String::new(), size: None, modified_ms: None, step: "g".to_owned() };
                each(listed, &mut shared.whole())
            }
        }
    }

    /// Opens the member that a [`Listed::step`] names.
    ///
    /// # Errors
    /// If there is no member with this name, or it cannot be read.
    pub fn member(&self, step: &str) -> io::Result<Opened> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let (kind, rest) = step.split_at_checked(1).ok_or_else(missing)?;
        match (self, kind) {
            (Self::Zip { body, entries }, "z") => {
                let at: usize = rest.parse().map_err(|_| missing())?;
                let entry = entries.get(at).ok_or_else(missing)?;
                let part = body.part(entry.start, entry.compressed);
                Ok(match entry.how {
                    How::Stored => Opened::of_body(part),
                    How::Deflated => Opened::of_stream(Box::new(Checked::new(
                        Bounded::new(DeflateDecoder::new(BufReader::new(part)), entry.compressed),
                        entry,
                    ))),
                    How::Folder | How::Skipped(_) => return Err(missing()),
                })
            }
            (Self::Tar(shared), "t") => {
                let (offset, size) = rest.split_once(':').ok_or_else(missing)?;
                let number = |text: &str| text.parse::<u64>().map_err(|_| missing());
                let (offset, size) = (number(offset)?, number(size)?);
                if shared.is_gzip() {
                    Ok(Opened::of_stream(Box::new(shared.part(offset, size)?)))
                } else {
                    Ok(Opened::of_body(shared.body().part(offset, size)))
                }
            }
            (Self::Gzip(shared), "g") => Ok(Opened::of_stream(shared.whole())),
            _ => Err(missing()),
        }
    }

    /// The step to the member whose name is that of this one followed by `suffix`, if it can be
    /// determined.
    pub fn beside(&self, step: &str, suffix: &str) -> Option<String> {
        let Self::Zip { entries, .. } = self else { return None };
        let label = &entries.get(step.strip_prefix('z')?.parse::<usize>().ok()?)?.label;
        let is_it = |entry: &Entry| entry.label.strip_suffix(suffix) == Some(label);
        entries.iter().position(is_it).map(|at| format!("z{at}"))
    }

    /// The bytes of a member that is itself an archive.
    ///
    /// # Errors
    /// If it is compressed and large.
    pub fn nested(&self, step: &str) -> io::Result<Body> {
        match self.member(step)? {
            Opened::Body(body) => Ok(body.into_inner()),
            Opened::Stream(stream) => {
                let mut bytes = Vec::new();
                stream.take(MAX_NESTED + 1).read_to_end(&mut bytes)?;
                if bytes.len() as u64 > MAX_NESTED {
                    let why =
                        "an archive of more than 64 MiB, compressed inside another: unpack the outer one";
                    return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
                }
                Ok(Body::of_memory(bytes))
            }
        }
    }
}

fn list_tar(
    shared: &Shared,
    skipped: &mut Vec<Skipped>,
    each: &mut dyn FnMut(Listed, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    // A library reads the headers, and accepts names of any length, so the number of bytes that it may
    // read is limited here.
    let limit = Arc::new(AtomicU64::new(MAX_HEADERS));
    let counted = Counted { inner: BufReader::new(shared.whole()), at: 0, limit: Arc::clone(&limit) };
    let mut archive = tar::Archive::new(counted);
    let mut members = 0;
    for entry in archive.entries()? {
        let mut entry = entry?;
        members += 1;
        if members > MAX_MEMBERS {
            return Err(too_many());
        }
        let start = entry.raw_file_position();
        let size = entry.size();
        limit.store(start.saturating_add(size).saturating_add(MAX_HEADERS), Ordering::Relaxed);
        let label = String::from_utf8_lossy(&entry.path_bytes()).replace('\\', "/");
        let kind = entry.header().entry_type();
        if kind.is_file() || kind == tar::EntryType::Continuous {
            let seconds = entry.header().mtime().ok().and_then(|seconds| i64::try_from(seconds).ok());
            let listed = Listed {
                label,
                size: Some(size),
                modified_ms: seconds.and_then(|seconds| seconds.checked_mul(1000)),
                step: format!("t{start}:{size}"),
            };
            each(listed, &mut entry)?;
        } else if !kind.is_dir() {
            skipped.push(Skipped { label, why: "not a plain file".to_owned() });
        }
        // Before the next header: from here on, only headers are read.
        let read = io::copy(&mut entry, &mut io::sink());
        read?;
    }
    Ok(())
}

/// A reader that stops at a limit.
struct Counted<R> {
    inner: R,
    at: u64,
    limit: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(to)?;
        self.at += read as u64;
        if self.at > self.limit.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a member's header is too long"));
        }
        Ok(read)
    }
}

/// A member of a zip archive; its length and checksum are verified at its end.
struct Checked<R> {
    inner: R,
    crc: Crc,
    read: u64,
    wanted: (u64, u32),
}

impl<R> Checked<R> {
    fn new(inner: R, entry: &Entry) -> Self {
        Self { inner, crc: Crc::new(), read: 0, wanted: (entry.size, entry.crc) }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(to)?;
        self.crc.update(&to[..read]);
        self.read += read as u64;
        if read == 0 && !to.is_empty() && (self.read, self.crc.sum()) != self.wanted {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it is damaged: its checksum does not match",
            ));
        }
        Ok(read)
    }
}

fn is_tar(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar".as_slice())
}

/// When a member of a zip archive was last changed, as it states it: without a zone.
fn modified_ms(time: zip::DateTime) -> Option<i64> {
    let small = |number: u8| i8::try_from(number).ok();
    let year = i16::try_from(time.year()).ok()?;
    let date = jiff::civil::Date::new(year, small(time.month())?, small(time.day())?).ok()?;
    let clock =
        jiff::civil::Time::new(small(time.hour())?, small(time.minute())?, small(time.second().min(59))?, 0);
    let at = date.to_datetime(clock.ok()?).to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(at.timestamp().as_millisecond())
}
