//! Imports one source into the store: one thread splits, two parse, and this one writes, in batches that
//! are either complete or absent.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ring::digest::{Context, SHA256};

use super::apart::Copies;
use super::delivered::Delivered;
use super::fit;
use super::format::{Blob, Draft, End, Parsed, Parts, Raw};
use super::gone;
use super::half;
use super::queue::{Budget, InOrder, Next, Parcel};
use super::resume::{self, Begun, Task, Terms};
use super::survey::Job;
use super::tally::{BadItem, Outcome, Unread};
use crate::advice::Command;
use crate::archive::{Kind as SourceKind, Stamp};
use crate::error::{Error, Kind, Result};
use crate::vault::store::ledger::{BlobPlace, Digest, Ledger};
use crate::vault::store::{self, Ingest, Prepared, Shapes, Store, Written, word_index};
use crate::vault::transfer;

/// The most items in a batch. Each item writes to some indexes in the order of hashes, so in a large
/// store to a separate page: few large batches write such a page less often. At 300,000 mails, batches of
/// 1,000 wrote eleven times the size of the store, and batches of 5,000 four times.
const BATCH_ITEMS: usize = 3000;
/// The most bytes of items in a batch, and of items in flight.
const BATCH_BYTES: usize = 32 << 20;
/// The longest that a batch holds the store's write lock.
const BATCH_TIME: Duration = Duration::from_secs(2);
/// What an item in flight takes in addition to its bytes, which exist twice while it is parsed.
const OVERHEAD: usize = 1024;
/// The most items that pass from thread to thread at once, and the most bytes of them, unless one item is
/// larger.
const PARCEL_ITEMS: usize = 64;
const PARCEL_BYTES: usize = 512 << 10;
/// How many threads parse.
const PARSERS: usize = 2;
/// How often a waiting thread checks whether to stop.
const PATIENCE: Duration = Duration::from_millis(200);
/// How many bytes must be free for a batch to begin.
pub const LEAST_FREE: u64 = 1 << 30;

/// Receives the events of an import.
pub trait Watch {
    /// How far a source has been read: bytes and items since it began.
    fn progress(&mut self, bytes: u64, items: u64);
    /// An item could not be read.
    fn bad(&mut self, item: &BadItem);
    /// A member was not read to the end.
    fn unread(&mut self, member: &Unread);
}

/// The destination and the options of an import.
pub struct Import<'a> {
    /// The store.
    pub store: &'a Store,
    /// Its directory.
    pub dir: &'a Path,
    /// What to leave out and to keep.
    pub terms: Terms,
    /// Set when the person stops it.
    pub stop: &'a AtomicBool,
    /// How many bytes must be free for a batch to begin.
    pub least_free: u64,
}

/// How an import of a source ended.
pub struct Ended {
    /// What it did.
    pub outcome: Outcome,
    /// Why it stopped early; what was written is complete.
    pub stopped: Option<Error>,
}

/// Imports a source.
pub fn run(import: &Import<'_>, job: &Job, watch: &mut dyn Watch) -> Ended {
    let mut outcome = Outcome {
        format: job.format.name().into(),
        connector: job.plan.connector.key.clone(),
        account: job.plan.account.clone(),
        path: job.typed.clone(),
        ..Outcome::default()
    };
    let stopped = imported(import, job, &mut outcome, watch).err();
    Ended { outcome, stopped }
}

fn imported(import: &Import<'_>, job: &Job, outcome: &mut Outcome, watch: &mut dyn Watch) -> Result<()> {
    has_room(import)?;
    let begun = import
        .store
        .write(|tx, _| resume::begin(tx, job, import.terms))
        .map_err(|error: rusqlite::Error| write_failed(error))?;
    outcome.gone = begun.newly_gone;
    for task in &begun.tasks {
        outcome.counts.read += task.known;
        outcome.counts.same += task.known;
        outcome.known_bad += task.row.bad;
    }
    if begun.tasks.iter().any(|task| task.from.is_some()) {
        read(import, job, begun, outcome, watch)?;
    } else {
        end(import, job, &begun.shapes, begun.source, begun.account, !begun.gone.is_empty())?;
    }
    Ok(())
}

fn read(
    import: &Import<'_>,
    job: &Job,
    begun: Begun,
    outcome: &mut Outcome,
    watch: &mut dyn Watch,
) -> Result<()> {
    let Begun { account, source, shapes, tasks, gone, has_items, settings, .. } = begun;
    let has_gone = !gone.is_empty();
    let budget = Budget::new(BATCH_BYTES);
    let (to_parsers, from_splitter) = mpsc::channel();
    let (to_writer, from_parsers) = mpsc::channel();
    let from_splitter = Mutex::new(from_splitter);
    // The splitter has its own copy of what does not change.
    let starts: Vec<(usize, u64, i64)> =
        tasks.iter().enumerate().filter_map(|(at, task)| Some((at, task.from?, task.row.unit))).collect();
    let known = |task: &Task| match task.from {
        Some(from) => from,
        None => task.stamp.map_or(0, |_| task.row.at),
    };
    let bytes = tasks.iter().filter(|task| task.from != Some(0)).map(known).fold(0, u64::saturating_add);
    let parser = Parser { import, job, account, has_items, shapes: &shapes, settings: &settings };
    let mut writer = Writer {
        import,
        job,
        account,
        source,
        shapes: &shapes,
        gone: gone.into_iter().collect(),
        tasks,
        touched: HashSet::new(),
        delivered: Delivered::default(),
        outcome,
        watch,
        bytes,
        at: 0,
        items: 0,
    };
    let written = std::thread::scope(|scope| {
        scope.spawn(|| split(import, job, &starts, &budget, to_parsers));
        for _ in 0..PARSERS {
            let to_writer = to_writer.clone();
            scope.spawn(|| parser.run(&from_splitter, to_writer));
        }
        drop(to_writer);
        let written = writer.run(InOrder::new(from_parsers, &budget));
        // Threads that still read for it end.
        budget.close();
        written
    });
    writer.outcome.notes = writer.delivered.notes(job);
    written?;
    if import.stop.load(Ordering::Relaxed) {
        return Err(interrupted());
    }
    end(import, job, &shapes, source, account, has_gone)
}

fn end(
    import: &Import<'_>,
    job: &Job,
    shapes: &Shapes,
    source: i64,
    account: i64,
    has_gone: bool,
) -> Result<()> {
    if has_gone && job.is_whole && job.source.kind() == SourceKind::Folder {
        gone::mark(import, shapes, source).map_err(write_failed)?;
    }
    import
        .store
        .write(|tx, _| Ledger(tx).end_account(account, import.terms.now_ms))
        .map_err(|error: rusqlite::Error| write_failed(error))
}

/// What the splitter sends.
enum Split {
    Item { task: usize, unit: i64, raw: Raw },
    End { task: usize, end: Result<End, String>, has_moved: bool },
}

/// What the writer receives.
enum Ready {
    /// Only what is needed of the raw item, and the number of its bytes.
    Item {
        task: usize,
        raw: Raw,
        bytes: usize,
        digest: Digest,
        delivered_to: Option<String>,
        parsed: Given,
    },
    End {
        task: usize,
        end: Result<End, String>,
        has_moved: bool,
    },
}

/// The result of parsing an item.
enum Given {
    Known,
    Records(Vec<ReadyDraft>),
    Skipped(&'static str),
    Bad(&'static str),
}

struct ReadyDraft {
    /// Its data is empty if `prepared` has it.
    draft: Draft,
    /// Its data, merged with what only this source says about it.
    prepared: Option<Prepared>,
}

fn weight(raw: &Raw) -> usize {
    raw.bytes.len().saturating_mul(2).saturating_add(raw.facts.len()).saturating_add(OVERHEAD)
}

/// What the splitter has found and not sent yet.
struct Outbox<'a> {
    budget: &'a Budget,
    to: Sender<Parcel<Split>>,
    parcel: Parcel<Split>,
}

impl Outbox<'_> {
    /// Returns whether anyone still receives.
    fn put(&mut self, split: Split) -> bool {
        let weight = match &split {
            Split::Item { raw, .. } => weight(raw),
            Split::End { .. } => 0,
        };
        let all = self.parcel.weight.saturating_add(weight);
        let is_full = self.parcel.items.len() >= PARCEL_ITEMS || all > PARCEL_BYTES;
        // Checked before there is room for it: nobody gives back the room of what was not sent.
        if is_full && !self.send() || weight > 0 && !self.budget.take(weight) {
            return false;
        }
        self.parcel.weight = self.parcel.weight.saturating_add(weight);
        self.parcel.items.push(split);
        true
    }

    fn send(&mut self) -> bool {
        if self.parcel.items.is_empty() {
            return true;
        }
        let next = Parcel { number: self.parcel.number + 1, weight: 0, items: Vec::new() };
        let parcel = std::mem::replace(&mut self.parcel, next);
        self.to.send(parcel).is_ok()
    }
}

fn split(
    import: &Import<'_>,
    job: &Job,
    starts: &[(usize, u64, i64)],
    budget: &Budget,
    to: Sender<Parcel<Split>>,
) {
    let parcel = Parcel { number: 0, weight: 0, items: Vec::new() };
    let mut outbox = Outbox { budget, to, parcel };
    let mut is_open = true;
    for (task, from, unit) in starts {
        let member = &job.units[*task];
        let stamp = || resume::stamp_of(job, member);
        let before = stamp();
        let mut out = |raw: Raw| {
            is_open = !import.stop.load(Ordering::Relaxed)
                && outbox.put(Split::Item { task: *task, unit: *unit, raw });
            if is_open { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        // The private copies of the member are removed when this ends.
        let copies = Copies::of(import, &job.source, &member.place);
        let ended = job.split(member, Some(copies), *from, &mut out);
        if !is_open || import.stop.load(Ordering::Relaxed) {
            return;
        }
        let end = ended.map_err(|error| error.to_string());
        let has_moved = before != stamp();
        if !outbox.put(Split::End { task: *task, end, has_moved }) {
            return;
        }
    }
    outbox.send();
}

/// What the parsing threads share.
struct Parser<'a> {
    import: &'a Import<'a>,
    job: &'a Job,
    account: i64,
    has_items: bool,
    shapes: &'a Shapes,
    settings: &'a str,
}

impl Parser<'_> {
    #[allow(clippy::needless_pass_by_value, reason = "the writer ends when this ends")]
    fn run(&self, from: &Mutex<Receiver<Parcel<Split>>>, to: Sender<Parcel<Ready>>) {
        loop {
            let next = from.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(Parcel { number, weight, items }) = next else { return };
            let mut ready = Vec::with_capacity(items.len());
            for split in items {
                // What is in flight is read again by the next run.
                if self.import.stop.load(Ordering::Relaxed) {
                    return;
                }
                ready.push(self.ready(split));
            }
            if to.send(Parcel { number, weight, items: ready }).is_err() {
                return;
            }
        }
    }

    fn ready(&self, split: Split) -> Ready {
        match split {
            Split::End { task, end, has_moved } => Ready::End { task, end, has_moved },
            Split::Item { task, unit, mut raw } => {
                let digest = self.digest(&raw);
                let parsed = if self.is_known(&digest, unit) {
                    Given::Known
                } else {
                    catch_unwind(AssertUnwindSafe(|| self.parse(&raw))).unwrap_or(Given::Bad("panicked"))
                };
                let format = self.job.format;
                let delivered_to =
                    catch_unwind(AssertUnwindSafe(|| format.delivered_to(&raw))).ok().flatten();
                let bytes = raw.bytes.len();
                // The writer needs the bytes to copy attachments, and to recognise an item that was or is
                // incomplete.
                if !self.import.terms.copies_attachments && !self.has_items && !half::may_grow(&raw) {
                    raw.bytes = Vec::new();
                }
                Ready::Item { task, raw, bytes, digest, delivered_to, parsed }
            }
        }
    }

    /// The digest of an item, and of everything that its records depend on.
    fn digest(&self, raw: &Raw) -> Digest {
        let mut context = Context::new(&SHA256);
        let version = self.job.format.version().to_be_bytes();
        let name = self.job.format.name().as_bytes();
        let copy = raw.copy.to_be_bytes();
        for part in [name, &version, self.settings.as_bytes(), raw.facts.as_bytes(), &copy, &raw.bytes] {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        let mut digest = Digest::default();
        digest.copy_from_slice(&context.finish().as_ref()[..16]);
        digest
    }

    fn is_known(&self, digest: &Digest, unit: i64) -> bool {
        if !self.has_items || self.import.terms.copies_attachments {
            return false;
        }
        // The writer asks again, and reports what is wrong with the store.
        let known = |db: &rusqlite::Connection, _: &_| Ledger(db).is_known(self.account, digest, unit);
        self.import.store.read::<_, rusqlite::Error>(known).unwrap_or(false)
    }

    fn parse(&self, raw: &Raw) -> Given {
        let drafts = match self.job.format.parse(&self.job.plan, raw) {
            Ok(Parsed::Records(drafts)) => drafts,
            Ok(Parsed::Skipped(why)) => return Given::Skipped(why),
            Err(bad) => return Given::Bad(bad.0),
        };
        let mut ready = Vec::with_capacity(drafts.len());
        for mut draft in drafts {
            let Some(shape) = self.shapes.get(&*draft.stream) else {
                return Given::Bad("a stream that is not declared");
            };
            let mut prepared = None;
            if let Some(data) = draft.data.take() {
                let (own, whole) = match &draft.sighting {
                    Some(said) if !self.job.format.is_whole_alone() => {
                        let joined = self.job.format.join(&draft.stream, &data, &[said]);
                        (data, joined)
                    }
                    _ => (String::new(), data),
                };
                let (own, fitting) = match fit::fit(shape.stream(), &whole) {
                    None => return Given::Bad("a record of more than 1 MiB"),
                    Some(Cow::Owned(cut)) => (if own.is_empty() { whole } else { own }, cut),
                    Some(Cow::Borrowed(_)) => (own, whole),
                };
                prepared = Some(shape.prepare(fitting));
                draft.data = Some(own);
            }
            ready.push(ReadyDraft { draft, prepared });
        }
        // A label has no time, although it comes first.
        let mut times = ready.iter().filter_map(|one| one.prepared.as_ref()?.time_ms());
        // A recurring event began earlier, and is not over.
        let time = if self.job.format.parts().is_some() { times.max() } else { times.next() };
        if let (Some(since), Some(time)) = (self.import.terms.since_ms, time)
            && time < since
        {
            return Given::Skipped("before --since");
        }
        Given::Records(ready)
    }
}

/// Writes batches.
struct Writer<'a> {
    import: &'a Import<'a>,
    job: &'a Job,
    account: i64,
    source: i64,
    shapes: &'a Shapes,
    gone: HashSet<i64>,
    tasks: Vec<Task>,
    /// The members whose checkpoints must be written with the batch.
    touched: HashSet<usize>,
    delivered: Delivered<'a>,
    outcome: &'a mut Outcome,
    watch: &'a mut dyn Watch,
    /// The bytes of the members that are done.
    bytes: u64,
    /// How far the current member has been read.
    at: u64,
    items: u64,
}

/// An item whose records are to be written.
struct Item<'a> {
    unit: i64,
    raw: &'a Raw,
    digest: &'a Digest,
    /// The records that were made from its first part.
    halved: &'a [i64],
}

/// A record whose parts an item gives.
struct Whole {
    key: String,
    /// Whether the stored record is the one that the item gives.
    is_current: bool,
    is_new: bool,
    /// The keys of the parts.
    given: HashSet<String>,
}

/// Why a batch was not written.
#[derive(Debug, thiserror::Error)]
enum NotWritten {
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
    #[error(transparent)]
    Copy(#[from] io::Error),
}

impl Writer<'_> {
    fn run(&mut self, mut ready: InOrder<'_, Ready>) -> Result<()> {
        loop {
            let first = loop {
                match ready.next(Instant::now() + PATIENCE) {
                    Next::One(first) => break first,
                    Next::Late => self.watch.progress(self.bytes.saturating_add(self.at), self.items),
                    Next::End => return Ok(()),
                }
            };
            has_room(self.import)?;
            self.batch(first, &mut ready)?;
            self.watch.progress(self.bytes.saturating_add(self.at), self.items);
            // What is in flight is read again by the next run.
            if self.import.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    fn batch(&mut self, first: Ready, ready: &mut InOrder<'_, Ready>) -> Result<()> {
        // Only what was written is reported.
        let counts = self.outcome.counts.clone();
        let store = self.import.store;
        let mut bad = Vec::new();
        let written = store.write(|tx, _| -> Result<(), NotWritten> {
            let deadline = Instant::now() + BATCH_TIME;
            let mut ingest = Ingest::with_shapes(tx, self.shapes.clone())?;
            let (mut items, mut bytes) = (0, 0);
            let mut next = Some(first);
            while let Some(one) = next.take() {
                if let Ready::Item { bytes: of_item, .. } = &one {
                    items += 1;
                    bytes += of_item;
                }
                self.take(&mut ingest, Ledger(tx), one, &mut bad)?;
                if items >= BATCH_ITEMS
                    || bytes >= BATCH_BYTES
                    || Instant::now() >= deadline
                    || self.import.stop.load(Ordering::Relaxed)
                {
                    break;
                }
                if let Next::One(one) = ready.next(deadline) {
                    next = Some(one);
                }
            }
            for at in std::mem::take(&mut self.touched) {
                let task = &mut self.tasks[at];
                task.row.mark = resume::mark_of(self.job, at, task.stamp, task.row.at);
                Ledger(tx).put_unit(self.source, &task.row)?;
            }
            ingest.end()?;
            Ok(())
        });
        match written {
            Ok(()) => {
                // Separate, so that the batch does not hold the write lock longer for it.
                match store.write(|tx, _| word_index::join(tx)) {
                    // A damaged index does not stop the import: records are added, and a search reports
                    // the damage.
                    Err(error) if word_index::is_damaged(&error) => {}
                    joined => drop(joined.map_err(write_failed)?),
                }
                for item in bad {
                    self.watch.bad(&item);
                    self.outcome.note_bad(item);
                }
                Ok(())
            }
            Err(error) => {
                self.outcome.counts = counts;
                Err(match error {
                    NotWritten::Database(error) => write_failed(error),
                    NotWritten::Copy(error) => copy_failed(error),
                })
            }
        }
    }

    fn take(
        &mut self,
        ingest: &mut Ingest<'_>,
        ledger: Ledger<'_>,
        one: Ready,
        bad: &mut Vec<BadItem>,
    ) -> Result<(), NotWritten> {
        match one {
            Ready::End { task: at, end, has_moved } => {
                let member = &self.job.units[at];
                let task = &mut self.tasks[at];
                self.touched.insert(at);
                let from = task.from.unwrap_or(0);
                self.bytes = self.bytes.saturating_add(member.size.unwrap_or(self.at).saturating_sub(from));
                self.at = 0;
                match end {
                    Ok(End { at }) => {
                        task.row.at = at;
                        if task.last.is_none_or(|last| last < at) {
                            task.row.again = 0;
                        }
                        task.row.has_ended = !has_moved;
                        if has_moved {
                            self.outcome.moving.push(member.label.clone());
                        }
                    }
                    Err(reason) => {
                        let path = self.job.typed.clone();
                        let unread = Unread { path, member: member.label.clone(), reason };
                        self.watch.unread(&unread);
                        self.outcome.unread.push(unread);
                    }
                }
                if has_moved {
                    // Whatever is there now is not what was read.
                    task.stamp = task.stamp.map(|stamp| Stamp { modified_ms: 0, ..stamp });
                }
                Ok(())
            }
            Ready::Item { task: at, raw, digest, delivered_to, parsed, .. } => {
                self.touched.insert(at);
                if let Some(address) = delivered_to {
                    self.delivered.add(self.job, &self.job.units[at].label, address);
                }
                self.items += 1;
                let task = &mut self.tasks[at];
                task.last = Some(raw.offset);
                self.at = raw.next.saturating_sub(task.from.unwrap_or(0));
                task.row.at = raw.next;
                task.row.items += 1;
                // The items that the next run reads again if this one stops here.
                task.row.again = if half::may_grow(&raw) { task.row.again + 1 } else { 0 };
                let (unit, item) = (task.row.unit, task.row.items);
                self.outcome.counts.read += 1;
                let halved = task.halves.made_of(ledger, self.account, unit, &raw)?;
                let given = if halved.is_empty() { Vec::new() } else { given(self.job, &raw, &parsed) };
                let now = self.import.terms.now_ms;
                let was_halved = half::take_back(ingest, ledger, unit, now, &halved, &given)?;
                // The first part was not a separate item. Unless it is forgotten, it would look like another
                // item with the same record.
                for rid in &halved {
                    ledger.forget_own_items(*rid, unit)?;
                }
                match parsed {
                    Given::Known => self.outcome.counts.same += 1,
                    Given::Skipped(why) => *self.outcome.counts.skipped.entry(why.into()).or_default() += 1,
                    Given::Bad(reason) => {
                        task.row.bad += 1;
                        *self.outcome.counts.bad.entry(reason.into()).or_default() += 1;
                        bad.push(BadItem {
                            path: self.job.typed.clone(),
                            member: self.job.units[at].label.clone(),
                            item,
                            byte: raw.offset,
                            line: raw.line,
                            reason: reason.into(),
                        });
                    }
                    Given::Records(drafts) => {
                        let copies = self.import.terms.copies_attachments;
                        if !copies && ledger.is_known(self.account, &digest, unit)? {
                            self.outcome.counts.same += 1;
                            return Ok(());
                        }
                        for told in drafts.iter().filter_map(|ready| ready.draft.told) {
                            *self.outcome.counts.told.entry(told.into()).or_default() += 1;
                        }
                        let item = Item { unit, raw: &raw, digest: &digest, halved: &halved };
                        let written = self.write(ingest, ledger, &item, drafts)?;
                        match written {
                            // It replaces what was read before.
                            Written::New if was_halved => self.outcome.counts.changed += 1,
                            Written::New => self.outcome.counts.new += 1,
                            Written::Changed => self.outcome.counts.changed += 1,
                            Written::Same => self.outcome.counts.same += 1,
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn write(
        &self,
        ingest: &mut Ingest<'_>,
        ledger: Ledger<'_>,
        item: &Item<'_>,
        drafts: Vec<ReadyDraft>,
    ) -> Result<Written, NotWritten> {
        let Item { unit, raw, digest, halved } = *item;
        let mut all = Written::Same;
        let mut first = None;
        let mut is_shared = true;
        let mut made = Vec::new();
        let parts = self.job.format.parts();
        let mut whole: Option<Whole> = None;
        for (at, ReadyDraft { draft, prepared }) in drafts.into_iter().enumerate() {
            if let (Some(parts), Some(whole)) = (parts, &mut whole)
                && *draft.stream == *parts.stream
            {
                if !whole.is_current {
                    continue;
                }
                whole.given.insert(draft.key.clone());
            }
            let is_whole = parts.is_some_and(|parts| *draft.stream == *parts.whole);
            let own = prepared.as_ref().filter(|_| is_whole).map(|prepared| prepared.data().to_owned());
            let (written, rid) = self.put(ingest, ledger, unit, &draft, prepared)?;
            if let (Some(own), Some(shape)) = (own, self.shapes.get(&*draft.stream)) {
                let stands = ingest.get(shape, &draft.key)?;
                let is_current = stands.is_some_and(|stands| stands.data() == Some(&own));
                let is_new = written == Written::New;
                whole = Some(Whole { key: draft.key.clone(), is_current, is_new, given: HashSet::new() });
            }
            // A record that this source contributed to, if there is one.
            if at == 0 || is_shared && draft.sighting.is_some() {
                first = rid;
            }
            is_shared &= draft.sighting.is_none();
            all = match (all, written) {
                (Written::Changed, _) | (_, Written::Changed) => Written::Changed,
                (Written::New, _) | (_, Written::New) => Written::New,
                (Written::Same, Written::Same) => Written::Same,
            };
            if let (Written::Changed, Some(rid)) = (written, rid) {
                ledger.forget_items(rid, unit)?;
            }
            // This includes records of an earlier first part that the item gives again.
            let is_made = written == Written::New || rid.is_some_and(|rid| halved.contains(&rid));
            if is_made && !self.job.format.shares(&draft.stream) {
                made.extend(rid);
            }
            for blob in &draft.blobs {
                self.keep(ledger, unit, raw, blob)?;
            }
        }
        if let (Some(parts), Some(whole)) = (parts, whole)
            && self.take_back(ingest, parts, &whole)?
        {
            all = Written::Changed;
        }
        ledger.put_item(self.account, digest, unit, is_shared, first)?;
        if half::may_grow(raw) && !made.is_empty() {
            ledger.put_half(self.account, unit, raw.offset, &raw.bytes, &made)?;
        }
        Ok(all)
    }

    /// Deletes parts that a current whole no longer has; returns whether there were any.
    fn take_back(&self, ingest: &mut Ingest<'_>, parts: Parts, whole: &Whole) -> Result<bool, NotWritten> {
        let Some(shape) = self.shapes.get(parts.stream).filter(|_| whole.is_current && !whole.is_new) else {
            return Ok(false);
        };
        let mut was_any = false;
        for key in ingest.keys_of(shape, parts.field, &whole.key)? {
            if !whole.given.contains(&key) {
                ingest.write(shape, &key, self.import.terms.now_ms, None)?;
                was_any = true;
            }
        }
        Ok(was_any)
    }

    fn put(
        &self,
        ingest: &mut Ingest<'_>,
        ledger: Ledger<'_>,
        unit: i64,
        draft: &Draft,
        prepared: Option<Prepared>,
    ) -> Result<(Written, Option<i64>), NotWritten> {
        // Its stream was checked when it was parsed.
        let Some(shape) = self.shapes.get(&*draft.stream) else { return Ok((Written::Same, None)) };
        let now = self.import.terms.now_ms;
        let (Some(said), Some(data)) = (&draft.sighting, &draft.data) else {
            return Ok(ingest.write(shape, &draft.key, now, prepared)?);
        };
        let stream = &*draft.stream;
        let known = ingest.get(shape, &draft.key)?;
        let mut sightings: BTreeMap<i64, String> = match &known {
            Some(known) => ledger.sightings(known.rid)?.into_iter().collect(),
            None => BTreeMap::new(),
        };
        let mine = match sightings.get(&unit) {
            Some(before) => self.job.format.add_sighting(stream, before, said),
            None => said.clone(),
        };
        // A member that is gone still counts if another of the same source mentions the record.
        let outlived: Vec<i64> = sightings.keys().filter(|unit| self.gone.contains(unit)).copied().collect();
        for gone in &outlived {
            sightings.remove(gone);
        }
        let is_alone = sightings.is_empty();
        let is_new = sightings.insert(unit, mine.clone()).as_ref() != Some(&mine);
        let prepared = if is_alone {
            prepared
        } else {
            let all: Vec<&str> = sightings.values().map(String::as_str).collect();
            let data = match &prepared {
                Some(prepared) if data.is_empty() => prepared.data(),
                _ => data,
            };
            let joined = self.job.format.join(stream, data, &all);
            let Some(fitting) = fit::fit(shape.stream(), &joined) else { return Ok((Written::Same, None)) };
            Some(shape.prepare(fitting))
        };
        let (written, rid) = ingest.write_over(shape, &draft.key, known, now, prepared)?;
        if let Some(rid) = rid {
            for gone in outlived {
                ledger.remove_sighting(rid, gone)?;
            }
            if is_new {
                ledger.put_sighting(rid, unit, &mine)?;
            }
        }
        Ok((written, rid))
    }

    /// Notes where an attachment is, and copies it if that was asked for.
    fn keep(&self, ledger: Ledger<'_>, unit: i64, raw: &Raw, blob: &Blob) -> Result<(), NotWritten> {
        ledger.put_blob(&blob.id, &blob.media_type, blob.size)?;
        let place = BlobPlace {
            offset: raw.offset.saturating_add(blob.offset as u64),
            length: blob.length as u64,
            encoding: blob.encoding,
        };
        // Files that were handed over cannot be read again: the copy is all that will be left of them.
        if !self.job.source.is_received() {
            ledger.put_blob_place(&blob.id, unit, &place)?;
        }
        if self.import.terms.copies_attachments && !ledger.is_copied(&blob.id)? {
            let end = blob.offset.saturating_add(blob.length);
            let encoded = raw.bytes.get(blob.offset..end).unwrap_or_default();
            let bytes = transfer::decode_whole(encoded, blob.encoding);
            // A copy that does not match its name stays in its place, and is not served from there
            // either.
            match store::blobs::copy(self.import.dir, &blob.id, &bytes) {
                Ok(()) => ledger.mark_copied(&blob.id)?,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// The streams and keys of the records that an item gives; an item that is known already gives some too.
fn given(job: &Job, raw: &Raw, parsed: &Given) -> Vec<(String, String)> {
    let keys = |drafts: &mut dyn Iterator<Item = &Draft>| {
        let there = drafts.filter(|draft| draft.data.is_some());
        there.map(|draft| (draft.stream.to_string(), draft.key.clone())).collect()
    };
    match parsed {
        Given::Records(drafts) => keys(&mut drafts.iter().map(|ready| &ready.draft)),
        Given::Known => match job.parse(raw) {
            Ok(Parsed::Records(drafts)) => keys(&mut drafts.iter()),
            _ => Vec::new(),
        },
        Given::Skipped(_) | Given::Bad(_) => Vec::new(),
    }
}

fn interrupted() -> Error {
    Error::new(
        Kind::Interrupted,
        "interrupted",
        "Stopped; what was imported is kept, and the next import continues from there",
    )
    .run(Command::typed_again("import"))
}

fn disk_full() -> Error {
    Error::failed("import_disk_full", "There is too little room on the disk; what was imported is kept")
        .hint("Free at least 1 GiB, then run the same command: it continues from there")
}

/// Checks that there is room for a batch.
fn has_room(import: &Import<'_>) -> Result<()> {
    let free = crate::fs::free_space(import.dir);
    if free.is_some_and(|free| free < import.least_free) { Err(disk_full()) } else { Ok(()) }
}

fn write_failed(error: rusqlite::Error) -> Error {
    if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) {
        return disk_full().because(error);
    }
    Error::failed("own_store", "Could not write to the store; what was imported before is kept")
        .because(error)
}

fn copy_failed(error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::StorageFull {
        return disk_full().because(error);
    }
    Error::failed("own_store", "Could not copy an attachment; what was imported before is kept")
        .because(error)
}
