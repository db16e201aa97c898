//! Opens what the person named with their own rights, and hands it over file by file.

use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::frame::Wire;
use super::person::{News, Person};
use super::words::Said;
use crate::archive::{MAX_MEMBERS, Stamp, text_of_path};
use crate::error::{Error, Kind, Result};
use crate::fs;
use crate::import::survey;

/// The most folders inside each other.
const MAX_DEPTH: usize = 64;
/// The longest reason that is sent.
const MOST_WHY: usize = 500;

/// Something that the person named and that was handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handed {
    /// Where it is, without links.
    pub path: PathBuf,
    /// Its stamp at that time; `None` for a folder.
    pub stamp: Option<Stamp>,
}

/// Why handing over stopped.
enum Ended {
    /// The service accepts no more; it sends the reason.
    Refused,
    Failed(Error),
}

impl From<io::Error> for Ended {
    fn from(_: io::Error) -> Self {
        Self::Refused
    }
}

/// Hands `paths` over; returns `None` if the service accepts no more.
///
/// # Errors
/// `import_path`; `interrupted` (130).
pub(super) fn hand_over(
    wire: &Wire,
    paths: &[PathBuf],
    stop: &AtomicBool,
    person: &mut dyn Person,
) -> Result<Option<Vec<Handed>>> {
    let mut walk = Walk { wire, stop, person, files: 0, bytes: 0 };
    let mut all = Vec::new();
    for typed in paths {
        match walk.source(typed) {
            Ok(handed) => all.push(handed),
            Err(Ended::Refused) => return Ok(None),
            Err(Ended::Failed(error)) => return Err(error),
        }
    }
    Ok(wire.send(&Said::Whole).is_ok().then_some(all))
}

struct Walk<'a> {
    wire: &'a Wire,
    stop: &'a AtomicBool,
    person: &'a mut dyn Person,
    files: u64,
    bytes: u64,
}

impl Walk<'_> {
    fn source(&mut self, typed: &Path) -> Result<Handed, Ended> {
        let unusable = |error| Ended::Failed(survey::unusable(typed, error));
        let path = dunce::canonicalize(typed).map_err(unusable)?;
        let found = path.metadata().map_err(unusable)?;
        if !found.is_dir() && !found.is_file() {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "it is neither a file nor a folder");
            return Err(unusable(error));
        }
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let said = Said::Source { typed: text(typed), shown: text(&path), is_folder: found.is_dir() };
        if found.is_dir() {
            // A folder that cannot be read at all counts as missing.
            drop(path.read_dir().map_err(unusable)?);
            self.wire.send(&said)?;
            self.folder(&path, Path::new(""), 0)?;
            return Ok(Handed { path, stamp: None });
        }
        let file = fs::open_plain(&path).map_err(unusable)?;
        let stamp = Stamp::of(&file.metadata().map_err(unusable)?);
        self.wire.send(&said)?;
        self.file(&file, Path::new(""))?;
        Ok(Handed { path, stamp: Some(stamp) })
    }

    fn folder(&mut self, root: &Path, within: &Path, depth: usize) -> Result<(), Ended> {
        if depth > MAX_DEPTH {
            return self.leave_out(within, "folders are nested too deeply", false);
        }
        let entries = root.join(within).read_dir().and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => return self.leave_out(within, &error.to_string(), true),
        };
        // The order is the same on every machine.
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let within = within.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.folder(root, &within, depth + 1)?,
                Ok(kind) if kind.is_file() => match fs::open_plain(&root.join(&within)) {
                    Ok(file) => self.file(&file, &within)?,
                    Err(error) => self.leave_out(&within, &error.to_string(), true)?,
                },
                Ok(kind) if kind.is_symlink() => self.leave_out(&within, "a link", false)?,
                Ok(_) => self.leave_out(&within, "not a plain file", false)?,
                Err(error) => self.leave_out(&within, &error.to_string(), true)?,
            }
        }
        Ok(())
    }

    fn file(&mut self, file: &std::fs::File, within: &Path) -> Result<(), Ended> {
        if self.stop.load(Ordering::Relaxed) {
            let message = "Stopped; nothing was imported";
            return Err(Ended::Failed(Error::new(Kind::Interrupted, "interrupted", message)));
        }
        self.files += 1;
        if self.files > MAX_MEMBERS as u64 {
            let message = "The files and folders that you named contain more than 1,000,000 files; \
                           nothing was imported";
            return Err(Ended::Failed(
                Error::failed("import_handed_over", message).hint("Name only a part of them at a time"),
            ));
        }
        self.bytes = self.bytes.saturating_add(file.metadata().map_or(0, |found| found.len()));
        self.wire.send_with(&Said::File { name: text_of_path(within) }, file.as_fd())?;
        self.person.hear(News::Handed(self.files, self.bytes));
        Ok(())
    }

    fn leave_out(&self, within: &Path, why: &str, is_unreadable: bool) -> Result<(), Ended> {
        let label = within.to_string_lossy().into_owned();
        let why = crate::text::prefix(why, MOST_WHY).to_owned();
        Ok(self.wire.send(&Said::LeftOut { label, why, is_unreadable })?)
    }
}
