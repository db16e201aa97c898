//! Where an import of a source begins: parts of its members that are known are not read again.

use std::collections::HashMap;
use std::io;

use ring::digest::{Context, SHA256};
use rusqlite::{Connection as Sqlite, Transaction};

use super::account::{Known, Read};
use super::apart::BESIDE;
use super::half::Halves;
use super::survey::Job;
use crate::archive::{Kind, Member, Stamp};
use crate::vault::store::ledger::{Ledger, Mark, SourceRow, UnitRow};
use crate::vault::store::{Catalog, Connection, Ingest, Shapes};

/// How many bytes at the end of a file are compared to recognise it.
const TAIL: u64 = 64 * 1024;

/// The most members that are examined to recognise a folder.
const LOOKED_AT: usize = 1000;

/// A source that is about to be read.
pub struct Begun {
    /// The account in the ledger.
    pub account: i64,
    /// The source in the ledger.
    pub source: i64,
    /// The streams that are written to.
    pub shapes: Shapes,
    /// The members, in the order in which they are read.
    pub tasks: Vec<Task>,
    /// Members that no longer exist, by their numbers in the ledger.
    pub gone: Vec<i64>,
    /// How many of those existed last time.
    pub newly_gone: u64,
    /// Whether the account has items from earlier imports.
    pub has_items: bool,
    /// What the source's records depend on in addition to its bytes.
    pub settings: String,
}

/// A member that is about to be read.
pub struct Task {
    /// Its row in the ledger.
    pub row: UnitRow,
    /// The stamp of the file on the disk, or of the one that contains the member.
    pub stamp: Option<Stamp>,
    /// Where reading begins; `None` if there is nothing new to read.
    pub from: Option<u64>,
    /// How many items are known from earlier imports.
    pub known: u64,
    /// Where the last item began that was read.
    pub last: Option<u64>,
    /// What was read of items that may have grown since.
    pub halves: Halves,
}

/// What an import needs to know in addition to its source.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Leave out what is older.
    pub since_ms: Option<i64>,
    /// Keep copies of attachments: what was read before without copies is read again for them.
    pub copies_attachments: bool,
    /// Name what could not be read: files that were read before and have bad items are read again for
    /// that.
    pub names_bad: bool,
    /// When the import began.
    pub now_ms: i64,
}

/// Records the account, the source and its members, and determines where to begin.
///
/// # Errors
/// The errors of SQLite.
pub fn begin(tx: &Transaction<'_>, job: &Job, terms: Terms) -> rusqlite::Result<Begun> {
    let ledger = Ledger(tx);
    let connection = Connection {
        id: job.connection(),
        connector: job.plan.connector.key.clone(),
        display_name: job.plan.account.clone(),
    };
    let mut ingest = Ingest::new(tx)?;
    ingest.connector(&job.plan.connector)?;
    ingest.connection(&connection)?;
    let shapes = ingest.shapes();
    ingest.finish()?;
    let account = ledger.put_account(&connection.id, &job.settings)?;
    if let Some(owner) = &job.plan.whose.owner {
        ledger.add_owner(account, owner, job.plan.whose.is_sure)?;
    }
    let before = Before::of(ledger, account, job)?;
    let settings = job.settings.joined();
    let row = SourceRow {
        source: before.row.as_ref().map_or(0, |row| row.source),
        account,
        path: job.source.path().to_string_lossy().into_owned(),
        format: job.format.name().to_owned(),
        version: job.format.version(),
        settings: settings.clone(),
        mark: before.mark.clone(),
    };
    let source = ledger.put_source(&row, terms.now_ms)?;
    let mut units: HashMap<String, UnitRow> =
        ledger.units(source)?.into_iter().map(|row| (row.label.clone(), row)).collect();
    let mut tasks = Vec::with_capacity(job.units.len());
    for member in &job.units {
        let old = units.remove(&member.label);
        let stamp = stamp_of(job, member);
        let usable = old.as_ref().filter(|row| before.is_usable(ledger, row, terms));
        let at = usable.and_then(|row| {
            let is_same = before.is_same_archive || is_same_file(&row.mark, stamp);
            if is_same || (member.is_file && has_grown(job, &member.place, row, stamp)) {
                return Some((row.at, is_same && row.has_ended));
            }
            None
        });
        let mut row = old.clone().unwrap_or_default();
        row.label.clone_from(&member.label);
        row.place.clone_from(&member.place);
        row.gone_ms = None;
        match at {
            None => {
                (row.at, row.items, row.again, row.bad, row.has_ended) = (0, 0, 0, 0, false);
                row.since_ms = terms.since_ms;
                row.mark = Mark::default();
            }
            Some((_, false)) => {
                row.items -= row.again.min(row.items);
                row.again = 0;
            }
            Some((_, true)) => {}
        }
        if old.as_ref() != Some(&row) {
            row.unit = ledger.put_unit(source, &row)?;
        }
        let known = row.items;
        let from = match at {
            Some((_, true)) => None,
            Some((at, false)) => Some(at),
            None => Some(0),
        };
        let halves = Halves::new(old.is_some());
        tasks.push(Task { row, stamp, from, known, last: None, halves });
    }
    units.retain(|label, _| !job.held.contains(label));
    let (mut gone, mut newly_gone) = (Vec::new(), 0);
    for mut row in units.into_values() {
        gone.push(row.unit);
        if row.gone_ms.is_none() {
            newly_gone += 1;
            row.gone_ms = Some(terms.now_ms);
            ledger.put_unit(source, &row)?;
        }
    }
    let has_items = tx.prepare("SELECT 1 FROM item WHERE account = ?1 LIMIT 1")?.exists([account])?;
    Ok(Begun { account, source, shapes, tasks, gone, newly_gone, has_items, settings })
}

/// What the ledger has about the source of a job before the job is done.
struct Before {
    row: Option<SourceRow>,
    /// The current mark of the source.
    mark: Mark,
    /// Whether it was read as it would be read now.
    is_same_reading: bool,
    is_same_archive: bool,
}

impl Before {
    fn of(ledger: Ledger<'_>, account: i64, job: &Job) -> rusqlite::Result<Self> {
        let path = job.source.path().to_string_lossy();
        let is_archive = job.source.kind() == Kind::Archive;
        let stamp = job.source.stamp().ok();
        let mark = if is_archive { archive_mark(job, stamp) } else { Mark::default() };
        let mut known = ledger.sources()?;
        known.retain(|row| row.account == account && row.format == job.format.name());
        let at = known.iter().position(|row| row.path == path).or_else(|| {
            // The same archive in another place.
            known.iter().position(|row| is_archive && is_same_content(&row.mark, &mark))
        });
        let row = at.map(|at| known.swap_remove(at));
        let is_same_reading = row
            .as_ref()
            .is_some_and(|row| row.version == job.format.version() && row.settings == job.settings.joined());
        let is_same_archive = is_archive
            && row
                .as_ref()
                .is_some_and(|row| is_same_file(&row.mark, stamp) || is_same_content(&row.mark, &mark));
        Ok(Self { row, mark, is_same_reading, is_same_archive })
    }

    /// Whether what was read of a member counts, and reading can continue after it.
    fn is_usable(&self, ledger: Ledger<'_>, row: &UnitRow, terms: Terms) -> bool {
        let covers = row.since_ms.is_none_or(|before| terms.since_ms.is_some_and(|now| now >= before));
        // Its attachments were copied already.
        let has_copies = || !ledger.has_uncopied(row.unit).unwrap_or(true);
        let is_again = (terms.copies_attachments && !has_copies()) || (terms.names_bad && row.bad > 0);
        // If a member is back, its records are no longer gone.
        self.is_same_reading && !is_again && covers && row.gone_ms.is_none()
    }
}

/// Whether everything in the source of `job` was read before, as it would be read now, and no part of it is gone.
/// Writes nothing.
///
/// # Errors
/// The errors of SQLite.
pub fn is_all_known(db: &Sqlite, job: &Job, terms: Terms) -> rusqlite::Result<bool> {
    let ledger = Ledger(db);
    let Some((account, settings)) = ledger.account(&job.connection())? else { return Ok(false) };
    let before = Before::of(ledger, account, job)?;
    let Some(row) = before.row.as_ref().filter(|_| settings == job.settings) else { return Ok(false) };
    let mut units: HashMap<String, UnitRow> =
        ledger.units(row.source)?.into_iter().map(|row| (row.label.clone(), row)).collect();
    let mut is_known = |member: &Member| {
        units.remove(&member.label).is_some_and(|row| {
            let is_same = before.is_same_archive || is_same_file(&row.mark, stamp_of(job, member));
            is_same && row.has_ended && before.is_usable(ledger, &row, terms)
        })
    };
    Ok(job.units.iter().all(&mut is_known) && units.values().all(|row| row.gone_ms.is_some()))
}

/// The existing accounts for the kind of source in `job`, with what each has read of the source.
///
/// # Errors
/// The errors of SQLite.
pub fn known_accounts(db: &Sqlite, catalog: &Catalog, job: &Job) -> rusqlite::Result<Vec<Known>> {
    let ledger = Ledger(db);
    let sources = ledger.sources()?;
    let is_archive = job.source.kind() == Kind::Archive;
    let mark = if is_archive { archive_mark(job, job.source.stamp().ok()) } else { Mark::default() };
    let path = job.source.path().to_string_lossy();
    let mut all: Vec<Known> = Vec::new();
    // Of the accounts that read the same archive, only those count that read these members of it.
    let mut of_archive = Vec::new();
    for connection in catalog.connections_of(&job.plan.connector.key) {
        let Some((account, _)) = ledger.account(&connection.id)? else { continue };
        let mut read = None;
        for row in sources.iter().filter(|row| row.account == account && row.format == job.format.name()) {
            let is_same = is_archive && is_same_content(&row.mark, &mark);
            if row.path == path || is_same {
                if is_same {
                    of_archive.push((all.len(), has_members(ledger, job, row.source)?));
                }
                let is_same = !is_archive && has_read(ledger, job, row.source)?;
                read = read.max(Some(if is_same { Read::This } else { Read::Another }));
            }
        }
        all.push(Known { name: connection.display_name.clone(), owners: ledger.owners(account)?, read });
    }
    let is_any = of_archive.iter().any(|(_, has)| *has);
    for (at, has) in of_archive {
        if has || !is_any {
            all[at].read = Some(Read::This);
        }
    }
    Ok(all)
}

/// Whether one of the members was read from a source, whatever its content was then.
fn has_members(ledger: Ledger<'_>, job: &Job, source: i64) -> rusqlite::Result<bool> {
    for member in job.units.iter().take(LOOKED_AT) {
        if ledger.unit(source, &member.label)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a member of a folder or file is what was read before, perhaps with more after it.
fn has_read(ledger: Ledger<'_>, job: &Job, source: i64) -> rusqlite::Result<bool> {
    for member in job.units.iter().take(LOOKED_AT) {
        let Some(row) = ledger.unit(source, &member.label)? else { continue };
        let stamp = stamp_of(job, member);
        let tail = || job.source.bytes_before(&member.place, row.at, TAIL).ok().map(|bytes| sum(&bytes));
        if is_same_file(&row.mark, stamp) || row.at > 0 && row.mark.last.is_some() && tail() == row.mark.last
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The current stamp of a member, or of what contains it; for a database, including the files that SQLite
/// keeps next to it.
pub fn stamp_of(job: &Job, member: &Member) -> Option<Stamp> {
    let mut stamp = job.source.stamp_of(&member.place).ok()?;
    if member.is_file && job.format.counts_items() {
        for beside in BESIDE.iter().filter_map(|suffix| job.source.stamp_beside(&member.place, suffix)) {
            stamp.size = stamp.size.saturating_add(beside.size);
            stamp.modified_ms = stamp.modified_ms.max(beside.modified_ms);
        }
    }
    Some(stamp)
}

/// The mark of a file after it was read up to `at`.
pub fn mark_of(job: &Job, unit: usize, stamp: Option<Stamp>, at: u64) -> Mark {
    // A member of an archive does not grow: the archive would be a new one. The end of a database's file
    // says nothing about what precedes it.
    let file = job.units.get(unit).filter(|member| member.is_file && !job.format.counts_items());
    let tail = file.and_then(|member| job.source.bytes_before(&member.place, at, TAIL).ok());
    Mark { last: tail.map(|tail| sum(&tail)), ..plain_mark(stamp) }
}

fn plain_mark(stamp: Option<Stamp>) -> Mark {
    stamp.map_or_else(Mark::default, |Stamp { device, inode, size, modified_ms }| Mark {
        device,
        inode,
        size,
        modified_ms,
        first: None,
        last: None,
    })
}

fn archive_mark(job: &Job, stamp: Option<Stamp>) -> Mark {
    let size = stamp.map_or(0, |stamp| stamp.size.cast_unsigned());
    let bytes = |end| job.source.bytes_before("", end, TAIL).ok().map(|bytes| sum(&bytes));
    Mark { first: bytes(size.min(TAIL)), last: bytes(size), ..plain_mark(stamp) }
}

fn sum(bytes: &[u8]) -> Vec<u8> {
    let mut context = Context::new(&SHA256);
    context.update(bytes);
    context.finish().as_ref()[..16].to_vec()
}

/// Whether a file is unchanged since it was read.
pub(super) fn is_same_file(mark: &Mark, stamp: Option<Stamp>) -> bool {
    stamp.is_some_and(|stamp| {
        mark.size > 0
            && Stamp {
                device: mark.device,
                inode: mark.inode,
                size: mark.size,
                modified_ms: mark.modified_ms,
            } == stamp
    })
}

fn is_same_content(known: &Mark, now: &Mark) -> bool {
    known.size == now.size && known.first.is_some() && known.first == now.first && known.last == now.last
}

/// Whether a file only has more at its end: what precedes its old end is unchanged.
fn has_grown(job: &Job, place: &str, row: &UnitRow, stamp: Option<Stamp>) -> bool {
    let Some(stamp) = stamp else { return false };
    // A file that changed without growing has changed inside, unless everything that was read is
    // compared.
    let has_more = stamp.size > row.mark.size || row.at <= TAIL;
    let tail = || -> io::Result<bool> {
        Ok(row.mark.last.as_deref() == Some(&sum(&job.source.bytes_before(place, row.at, TAIL)?)))
    };
    row.at > 0 && has_more && tail().unwrap_or(false)
}
