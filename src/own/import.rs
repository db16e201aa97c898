//! An import into the person's own store: the request, the plan of what it would do, and the import
//! itself.
//!
//! `pdpp import`, the service of the separate set-up ([`super::separate`]) and the owner's page all use
//! it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::archive::{LeftOut, Skipped};
use crate::error::{Error, Kind, Result};
use crate::import::account::Known;
use crate::import::apart;
use crate::import::format::{Format, zone_in_words};
use crate::import::formats;
use crate::import::pipeline::{self, Ended, Import, Watch};
use crate::import::refresh::Refresh;
use crate::import::resume::{self, Terms};
use crate::import::survey::{self, Adviser, Job, Named, Request, Survey};
use crate::import::tally::{BadItem, Outcome, Unread};
use crate::vault::declaration::{Connector, Kind as FieldKind};
use crate::vault::store::Store;
use crate::vault::store::ledger::{Ledger, Settings, SourceRow};

/// The options of an import, apart from the files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wanted {
    /// The only format to accept.
    pub format: Option<String>,
    /// Whose data it is.
    pub account: Option<String>,
    /// The zone of times without one.
    pub timezone: Option<String>,
    /// The zone of the person's computer, if it may differ from that of this one.
    pub own_zone: Option<String>,
    /// The order of day, month and year in dates.
    pub date_order: Option<String>,
    /// Leave out what is older, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Keep copies of attachments in the store.
    pub copies_attachments: bool,
}

impl Wanted {
    /// The formats to look for.
    pub fn formats(&self) -> Vec<&'static dyn Format> {
        let is_meant = |format: &&dyn Format| self.format.as_deref().is_none_or(|name| format.name() == name);
        formats::ALL.iter().copied().filter(is_meant).collect()
    }

    /// The source at `path`.
    pub fn named(&self, path: &Path) -> Named {
        Named {
            path: path.to_owned(),
            formats: self.formats(),
            is_as: self.format.is_some(),
            account: self.account.clone(),
            received: None,
            before: None,
        }
    }

    /// A request to import `paths`.
    ///
    /// # Errors
    /// `timezone_invalid` (2).
    pub fn request(&self, paths: Vec<Named>) -> Result<Request> {
        let own_zone = self.own_zone.as_deref().and_then(|name| TimeZone::get(name).ok());
        Ok(Request {
            paths,
            zone: self.timezone.as_deref().map(zone).transpose()?,
            own_zone,
            date_order: self.date_order.as_deref().and_then(survey::date_order),
            since_ms: self.since_ms,
            copies_attachments: self.copies_attachments,
        })
    }
}

/// The time zone of this name.
///
/// # Errors
/// `timezone_invalid` (2).
pub fn zone(name: &str) -> Result<TimeZone> {
    TimeZone::get(name).map_err(|_| {
        Error::new(Kind::Usage, "timezone_invalid", format!("`{name}` is not a time zone"))
            .hint("Name one as in --timezone Europe/Oslo")
    })
}

/// A moment: the start of a day, a time of day, or a time with a zone. In milliseconds since 1970.
///
/// # Errors
/// `date_invalid` (2).
pub fn since(text: &str, zone: TimeZone) -> Result<i64> {
    let moment = || {
        let here = || text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(zone).ok();
        text.parse::<Timestamp>().ok().or_else(|| Some(here()?.timestamp()))
    };
    let at = moment().ok_or_else(|| {
        Error::new(Kind::Usage, "date_invalid", format!("`{text}` is neither a day nor a day with a time"))
            .hint("Write it as in --since 2026-01-31, or --since 2026-01-31T18:30")
    })?;
    Ok(at.as_millisecond())
}

/// Answers a question with choices; `None` if there is no one to ask.
pub type Answer<'a> = dyn FnMut(&str, &[String]) -> Option<String> + 'a;

/// What a store knows about earlier imports, and who answers questions.
pub struct Knowing<'a> {
    /// The store, if there is one.
    pub store: Option<&'a Store>,
    /// Who answers.
    pub answer: &'a mut Answer<'a>,
}

impl Adviser for Knowing<'_> {
    fn settled(&self, connection: &str) -> Option<Settings> {
        let settled = |db: &rusqlite::Connection, _: &_| Ledger(db).account(connection);
        let found = self.store?.read::<_, rusqlite::Error>(settled).ok()??;
        Some(found.1)
    }

    fn connectors(&self) -> Vec<Arc<Connector>> {
        let all = self.store.and_then(|known| {
            known.read::<_, rusqlite::Error>(|_, catalog| Ok(catalog.connectors.clone())).ok()
        });
        all.unwrap_or_default()
    }

    fn store(&self) -> Option<&Store> {
        self.store
    }

    fn accounts(&self, job: &Job) -> Vec<Known> {
        let known = |store: &Store| store.read(|db, catalog| resume::known_accounts(db, catalog, job)).ok();
        self.store.and_then(known).unwrap_or_default()
    }

    fn answer(&mut self, question: &str, choices: &[String]) -> Option<String> {
        (self.answer)(question, choices)
    }
}

/// The sources that were imported before, oldest first.
///
/// # Errors
/// `own_store`.
pub fn known_sources(store: &Store) -> Result<Vec<SourceRow>> {
    store.read(|db, _| Ledger(db).sources()).map_err(|error: rusqlite::Error| {
        Error::failed("own_store", "Could not read the store of your own data").because(error)
    })
}

/// The sources that were imported before, as they are now. With `is_again`, all that exist are looked
/// into.
///
/// # Errors
/// `own_store`.
pub fn refresh(store: &Store, is_again: bool) -> Result<Refresh> {
    store.read(|db, catalog| Refresh::of(db, catalog, is_again)).map_err(|error: rusqlite::Error| {
        Error::failed("own_store", "Could not read the store of your own data").because(error)
    })
}

/// What would be imported, for the person who decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What was named.
    pub typed: Vec<PathBuf>,
    /// What would be imported from it.
    pub sources: Vec<Planned>,
    /// Members that no format recognises, by their source.
    pub unrecognised: Vec<(PathBuf, Skipped)>,
    /// What is left out or cannot be read, by its source.
    pub left_out: Vec<(PathBuf, LeftOut)>,
}

/// What would be imported from one source, by one format, for one account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// The source, as it was typed.
    pub path: PathBuf,
    /// The format's name.
    pub format: String,
    /// The format's name for people.
    pub title: String,
    /// The connector's key.
    pub connector: String,
    /// The account.
    pub account: String,
    /// How many files there are to read.
    pub files: usize,
    /// How many bytes there are to read, as far as is known.
    pub bytes: u64,
    /// The zone of times without one.
    pub zone: Option<String>,
    /// That zone, in words.
    pub zone_in_words: String,
    /// Whether it has times whose zone no note mentions.
    pub has_times: bool,
    /// What the person should know, in whole sentences.
    pub notes: Vec<String>,
    /// Whether an agent can already read the account.
    pub is_granted: bool,
}

impl Plan {
    /// The plan for what `survey` found; `granted` are the connections that grants cover.
    pub fn of(survey: &Survey, request: &Request, granted: &BTreeSet<String>) -> Self {
        let planned = |job: &Job| {
            let mut notes = job.plan.whose.note.iter().chain(&job.plan.notes);
            let is_said = notes.any(|note| note.starts_with("Times without a time zone"));
            let mut fields = job.plan.connector.streams.iter().flat_map(|stream| &stream.fields);
            Planned {
                path: job.typed.clone(),
                format: job.format.name().to_owned(),
                title: job.format.title().to_owned(),
                connector: job.plan.connector.key.clone(),
                account: job.plan.account.clone(),
                files: job.units.len(),
                bytes: job.bytes(),
                zone: job.plan.zone.iana_name().map(str::to_owned),
                zone_in_words: zone_in_words(&job.plan.zone),
                has_times: !is_said && fields.any(|field| field.kind == FieldKind::Timestamp),
                notes: job.plan.whose.note.iter().chain(&job.plan.notes).cloned().collect(),
                is_granted: granted.contains(&job.connection()),
            }
        };
        Self {
            typed: request.paths.iter().map(|named| named.path.clone()).collect(),
            sources: survey.jobs.iter().map(planned).collect(),
            unrecognised: survey.unrecognised.clone(),
            left_out: survey.left_out.clone(),
        }
    }

    /// Whether something that was named cannot be read.
    pub fn has_unreadable(&self) -> bool {
        self.left_out.iter().any(|(_, left_out)| !left_out.unreadable.is_empty())
    }
}

/// Whether [`run`] would find nothing new: everything that `survey` found was imported before, and no part of it
/// is gone.
///
/// # Errors
/// `own_store`.
pub fn is_all_known(store: &Store, request: &Request, survey: &Survey, names_bad: bool) -> Result<bool> {
    let terms = terms(request, names_bad);
    let is_known = |db: &rusqlite::Connection, job: &Job| {
        resume::is_all_known(db, job, Terms { since_ms: terms.since_ms.or(job.since_ms), ..terms })
    };
    let all = store.read::<_, rusqlite::Error>(|db, _| {
        survey.jobs.iter().try_fold(true, |all, job| Ok(all && is_known(db, job)?))
    });
    all.map_err(|error| {
        Error::failed("own_store", "Could not read the store of your own data").because(error)
    })
}

fn terms(request: &Request, names_bad: bool) -> Terms {
    Terms {
        since_ms: request.since_ms,
        copies_attachments: request.copies_attachments,
        names_bad,
        now_ms: Timestamp::now().as_millisecond(),
    }
}

/// How far an import has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Bytes that were read, from all sources.
    pub bytes: u64,
    /// How many there are, as far as is known.
    pub of: u64,
    /// Items that were read.
    pub items: u64,
}

/// Receives the progress of an import.
pub trait Heard {
    /// How far it has come.
    fn progress(&mut self, progress: Progress);
    /// An item could not be read.
    fn bad(&mut self, _item: &BadItem) {}
    /// A member was not read to the end.
    fn unread(&mut self, _member: &Unread) {}
}

/// The result of an import.
#[derive(Debug, Default)]
pub struct Imported {
    /// Source by source.
    pub outcomes: Vec<Outcome>,
    /// Why it stopped early; what was written is complete.
    pub stopped: Option<Error>,
    /// How many mails of these accounts look like sign-in codes or password resets, and are kept apart.
    pub kept_apart: u64,
    /// The size of the store on the disk.
    pub store_bytes: u64,
}

/// Imports what `survey` found into the store in `dir`, which is created if it does not exist. With
/// `names_bad`, what could not be read before is tried again and listed.
///
/// # Errors
/// `import_running`, `own_data_dir` (77), `own_store`, `own_damaged`.
pub fn run(
    dir: &Path,
    request: &Request,
    survey: &Survey,
    names_bad: bool,
    stop: &AtomicBool,
    heard: &mut dyn Heard,
) -> Result<Imported> {
    let lock = super::lock(dir)?;
    let store = super::make_store(dir)?;
    // Left over from an import that was killed.
    apart::clean(dir).map_err(|error| super::unusable(dir, error))?;
    store
        .prepare_for_many()
        .map_err(|error| Error::failed("own_store", "Could not write to the store").because(error))?;
    let terms = terms(request, names_bad);
    let import = Import { store: &store, dir, terms, stop, least_free: pipeline::LEAST_FREE };
    let mut imported = Imported::default();
    for (path, left_out) in &survey.left_out {
        for one in &left_out.unreadable {
            heard.unread(&Unread { path: path.clone(), member: one.label.clone(), reason: one.why.clone() });
        }
    }
    let of = survey.jobs.iter().map(Job::bytes).fold(0, u64::saturating_add);
    let mut summed = Summed { heard, of, done: (0, 0), now: (0, 0) };
    for job in &survey.jobs {
        let terms = Terms { since_ms: import.terms.since_ms.or(job.since_ms), ..import.terms };
        let import = Import { terms, ..import };
        let Ended { outcome, stopped } = pipeline::run(&import, job, &mut summed);
        imported.outcomes.push(outcome);
        summed.next();
        if let Some(stopped) = stopped {
            imported.stopped = Some(super::told(dir, stopped));
            break;
        }
    }
    // Otherwise the log, which is as large as the last batches, would count as part of the store. If a read keeps the
    // log, a later write empties it.
    let _ = store.write_back();
    drop(lock);
    let connections = survey.jobs.iter().map(Job::connection).collect();
    imported.kept_apart = super::state::mails_kept_apart(&store, &connections)?;
    drop(store);
    imported.store_bytes = store_bytes(dir);
    Ok(imported)
}

/// The progress of all sources together.
struct Summed<'a> {
    heard: &'a mut dyn Heard,
    of: u64,
    /// Bytes and items of the sources so far.
    done: (u64, u64),
    now: (u64, u64),
}

impl Summed<'_> {
    const fn next(&mut self) {
        self.done = (self.done.0.saturating_add(self.now.0), self.done.1.saturating_add(self.now.1));
        self.now = (0, 0);
    }
}

impl Watch for Summed<'_> {
    fn progress(&mut self, bytes: u64, items: u64) {
        self.now = (bytes, items);
        let bytes = self.done.0.saturating_add(bytes);
        let items = self.done.1.saturating_add(items);
        self.heard.progress(Progress { bytes, of: self.of.max(bytes), items });
    }

    fn bad(&mut self, item: &BadItem) {
        self.heard.bad(item);
    }

    fn unread(&mut self, member: &Unread) {
        self.heard.unread(member);
    }
}

/// The size of the store on the disk.
fn store_bytes(dir: &Path) -> u64 {
    let all = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let copies = std::fs::read_dir(dir.join("blobs")).into_iter().flatten().flatten();
    all.chain(copies)
        .filter_map(|entry| entry.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|found| found.len())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o2_1_a_time_of_a_day_counts_in_the_zone_that_is_named() {
        let oslo = || TimeZone::get("Europe/Oslo").unwrap();
        for (text, wanted) in [
            ("2026-01-31", "2026-01-30T23:00:00Z"),
            ("2026-01-31T18:30", "2026-01-31T17:30:00Z"),
            ("2026-01-31 18:30:05", "2026-01-31T17:30:05Z"),
            ("2026-01-31T18:30:00Z", "2026-01-31T18:30:00Z"),
            ("2026-01-31T18:30:00+05:00", "2026-01-31T13:30:00Z"),
        ] {
            let wanted: Timestamp = wanted.parse().unwrap();
            assert_eq!(since(text, oslo()).unwrap(), wanted.as_millisecond(), "{text}");
        }
        for text in ["", "yesterday", "31.1.2026", "2026-13-01", "18:30"] {
            assert!(since(text, oslo()).is_err(), "{text}");
        }
    }
}
