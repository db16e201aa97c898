//! Runs a format over files in memory, as the engine does over files on a disk, for tests of formats.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Cursor};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;

use super::earlier::{Earlier, Nothing};
use super::format::{
    Apart, Ask, Draft, Format, Member, PEEK, Parsed, Peek, Plan, Raw, ReadFrom, Refused, Sure, Unit,
};
use super::formats;
use crate::vault::declaration::Connector;

/// The place of a record: account, stream, key.
pub type Place = (String, String, String);

type Opener = Box<dyn Fn() -> io::Result<Box<dyn ReadFrom + Send>>>;

/// A store in memory.
#[derive(Default)]
pub struct Kept {
    /// The existing records.
    pub records: BTreeMap<Place, String>,
    /// What each unit said about a record.
    sightings: BTreeMap<(Place, String), String>,
    /// Which items of an account are known.
    known: HashSet<(String, String)>,
    /// What was read of each unit's last item if it may grow, and the records that it gave.
    halves: BTreeMap<String, (Vec<u8>, Vec<Place>)>,
    /// Where each unit ended.
    ends: BTreeMap<String, u64>,
    /// The declared connectors, by key.
    pub connectors: BTreeMap<String, Arc<Connector>>,
}

/// The results for the items of a run: read = new + changed + same + skipped + bad.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Counts {
    pub read: u64,
    pub new: u64,
    pub changed: u64,
    pub same: u64,
    pub skipped: BTreeMap<&'static str, u64>,
    pub bad: BTreeMap<&'static str, u64>,
    pub told: BTreeMap<&'static str, u64>,
}

/// The options that a person might give.
pub fn ask() -> Ask {
    Ask {
        account: None,
        zone: TimeZone::UTC,
        date_order: None,
        is_order_typed: false,
        order_before: None,
        source_name: "export".to_owned(),
        source_path: "/home/ana/export".into(),
        is_file: false,
        known: Vec::new(),
    }
}

/// A file's bytes, and a folder for copies of them.
pub struct InFolder(Cursor<Vec<u8>>, tempfile::TempDir);

impl InFolder {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Cursor::new(bytes.to_vec()), tempfile::tempdir().unwrap())
    }
}

impl io::Read for InFolder {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to)
    }
}

impl io::BufRead for InFolder {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.0.consume(amount);
    }
}

impl ReadFrom for InFolder {
    fn skip_to(&mut self, offset: u64) -> io::Result<()> {
        self.0.skip_to(offset)
    }

    fn apart(&self) -> Option<&dyn Apart> {
        Some(self)
    }
}

impl Apart for InFolder {
    #[allow(clippy::disallowed_methods, reason = "the files belong to the test")]
    fn database(&self) -> io::Result<PathBuf> {
        let path = self.1.path().join("database");
        std::fs::write(&path, self.0.get_ref())?;
        Ok(path)
    }

    fn hide(&self) {}

    fn anywhere(&self) -> io::Result<Box<dyn ReadFrom + Send>> {
        Ok(Box::new(Cursor::new(self.0.get_ref().clone())))
    }
}

/// The store that `files` fill, and the results for their items, which add up.
pub fn imported(format: &dyn Format, files: &[(&str, &[u8])]) -> (Kept, Counts) {
    let mut kept = Kept::default();
    let counts = kept.import(format, files);
    let left = counts.skipped.values().chain(counts.bad.values()).sum::<u64>();
    assert_eq!(counts.read, counts.new + counts.changed + counts.same + left);
    (kept, counts)
}

/// Asserts that importing `files` again changes nothing, and that another order gives the same.
pub fn assert_twice_is_once_in_any_order(format: &dyn Format, files: &[(&str, &[u8])]) {
    let (mut kept, _) = imported(format, files);
    let records = kept.records.clone();
    let counts = kept.import(format, files);
    assert_eq!(counts.read, counts.same + counts.skipped.values().sum::<u64>());
    assert_eq!(kept.records, records);
    let mut other = Kept::default();
    for file in files.iter().rev() {
        other.import(format, &[*file]);
    }
    assert_eq!(other.records, records);
}

/// Asserts that a file that was cut when it was first read, with at most `limit` items per read, gives
/// the same as the whole file.
pub fn assert_cut_and_finished_is_whole(format: &dyn Format, whole: &[u8], cut: usize, limit: usize) {
    let (kept, _) = imported(format, &[("a", whole)]);
    let mut grown = Kept::default();
    grown.import_some(format, &[("a", &whole[..cut.min(whole.len())])], ask(), limit);
    grown.import_some(format, &[("a", whole)], ask(), limit);
    grown.import_some(format, &[("a", whole)], ask(), usize::MAX);
    assert_eq!(grown.records, kept.records);
}

/// Asserts that a store in which `connector` was declared without marks for copies and for fields that reveal later
/// days gets those marks. No such field is in every grant, and a grant's time never refers to one. Each copy has
/// an original.
fn assert_marks_are_renewed(connector: &Arc<Connector>) {
    let mut old = Arc::clone(connector);
    for stream in &mut Arc::make_mut(&mut old).streams {
        for field in stream.fields.iter().filter(|field| field.spans || field.copy_of.is_some()) {
            let original = field.copy_of.as_ref().map(|original| connector.stream(original).unwrap());
            assert!(original.is_none_or(|original| original.field(&field.name).is_some()), "{}", field.name);
            let is_key = stream.primary_key.contains(&field.name);
            assert!(!is_key && stream.consent_time_field.as_ref() != Some(&field.name), "{}", field.name);
        }
        for field in &mut Arc::make_mut(stream).fields {
            (field.spans, field.copy_of) = (false, None);
        }
    }
    formats::renew(Arc::make_mut(&mut old));
    assert_eq!(old, *connector);
}

/// How sure `format` is that a file is in it.
pub fn sniff(format: &dyn Format, label: &str, bytes: &[u8]) -> Option<Sure> {
    let head = &bytes[..bytes.len().min(PEEK)];
    format.sniff(&Peek { label, head, is_whole: head.len() == bytes.len() })
}

/// A format's plan for files.
pub fn plan(format: &dyn Format, files: &[(&str, &[u8])], ask: Ask) -> Result<Vec<Plan>, Refused> {
    plan_beside(format, files, ask, &Nothing)
}

/// A format's plan for files, given earlier imports.
pub fn plan_beside(
    format: &dyn Format,
    files: &[(&str, &[u8])],
    mut ask: Ask,
    earlier: &dyn Earlier,
) -> Result<Vec<Plan>, Refused> {
    let openers: Vec<Opener> = files
        .iter()
        .map(|(_, bytes)| {
            let bytes = bytes.to_vec();
            Box::new(move || Ok(Box::new(Cursor::new(bytes.clone())) as Box<dyn ReadFrom + Send>)) as Opener
        })
        .collect();
    let members: Vec<Member<'_>> = files
        .iter()
        .zip(&openers)
        .map(|((label, bytes), open)| Member {
            label,
            head: &bytes[..bytes.len().min(PEEK)],
            size: Some(bytes.len() as u64),
            modified_ms: Some(1_700_000_000_000),
            open,
        })
        .collect();
    format.plan_beside(&members, &mut ask, earlier)
}

/// All items of a file from `from` on, and where it ended.
pub fn split(format: &dyn Format, plan: &Plan, label: &str, bytes: &[u8], from: u64) -> (Vec<Raw>, u64) {
    let mut items = Vec::new();
    let mut unit = Unit { label, modified_ms: Some(1_700_000_000_000), bytes: Box::new(InFolder::of(bytes)) };
    let mut out = |raw| {
        items.push(raw);
        ControlFlow::Continue(())
    };
    let end = format.split(plan, &mut unit, from, &mut out).unwrap();
    (items, end.at)
}

impl Earlier for Kept {
    fn accounts(&self, _: &str) -> Vec<String> {
        let mut all: Vec<String> = self.records.keys().map(|(account, _, _)| account.clone()).collect();
        all.dedup();
        all
    }

    fn records(&self, _: &str, account: &str, stream: &str) -> Vec<String> {
        let is_of = |place: &Place| place.0 == account && place.1 == stream;
        self.records.iter().filter(|(place, _)| is_of(place)).map(|(_, data)| data.clone()).collect()
    }

    fn has(&self, _: &str, account: &str, stream: &str, keys: &[String]) -> Vec<bool> {
        let place = |key: &String| (account.to_owned(), stream.to_owned(), key.clone());
        keys.iter().map(|key| self.records.contains_key(&place(key))).collect()
    }
}

impl Kept {
    /// The records of a stream, sorted by the result of `by`.
    pub fn sorted<K: Ord>(
        &self,
        stream: &str,
        by: impl Fn(&serde_json::Value) -> K,
    ) -> Vec<serde_json::Value> {
        let of = self.records.iter().filter(|((_, of, _), _)| of == stream);
        let mut all: Vec<serde_json::Value> = of
            .map(|((_, _, key), data)| {
                let record: serde_json::Value = serde_json::from_str(data).unwrap();
                assert_eq!(record["id"], key.as_str());
                record
            })
            .collect();
        all.sort_by_cached_key(by);
        all
    }

    /// Imports files, each from where it ended last time; at most `limit` items in all.
    pub fn import_some(
        &mut self,
        format: &dyn Format,
        files: &[(&str, &[u8])],
        mut ask: Ask,
        limit: usize,
    ) -> Counts {
        let mut counts = Counts::default();
        let mut left = limit;
        ask.known = self.connectors.values().cloned().collect();
        for plan in plan_beside(format, files, ask, self).unwrap() {
            assert_marks_are_renewed(&plan.connector);
            self.connectors.insert(plan.connector.key.clone(), plan.connector.clone());
            for at in &plan.units {
                let (label, bytes) = files[*at];
                let unit = format!("{}/{label}", plan.account);
                let from = self.ends.get(&unit).copied().unwrap_or(0);
                let (items, end) = split(format, &plan, label, bytes, from);
                let all = items.len();
                for raw in items.into_iter().take(left) {
                    left -= 1;
                    self.ends.insert(unit.clone(), raw.next);
                    self.add(format, &plan, &unit, &raw, &mut counts);
                }
                if left > 0 || all == 0 {
                    self.ends.insert(unit, end);
                }
            }
        }
        counts
    }

    /// Imports files whole, from their beginnings.
    pub fn import(&mut self, format: &dyn Format, files: &[(&str, &[u8])]) -> Counts {
        self.ends.clear();
        self.import_some(format, files, ask(), usize::MAX)
    }

    fn add(&mut self, format: &dyn Format, plan: &Plan, unit: &str, raw: &Raw, counts: &mut Counts) {
        counts.read += 1;
        let mut gone = Vec::new();
        if let Some((half, made)) = self.halves.get(unit)
            && raw.bytes.starts_with(half)
            && raw.bytes.len() > half.len()
        {
            gone.clone_from(made);
            self.halves.remove(unit);
        }
        let given: Vec<Place> = match format.parse(plan, raw) {
            Ok(Parsed::Records(drafts)) => drafts
                .into_iter()
                .filter(|draft| draft.data.is_some())
                .map(|draft| (plan.account.clone(), draft.stream.to_string(), draft.key))
                .collect(),
            _ => Vec::new(),
        };
        for place in gone {
            self.sightings.remove(&(place.clone(), unit.to_owned()));
            if !given.contains(&place) && !self.sightings.keys().any(|(at, _)| *at == place) {
                self.records.remove(&place);
                self.known.clear();
            }
        }
        let name = super::digest::name([&raw.bytes[..], raw.facts.as_bytes(), &raw.copy.to_be_bytes()]);
        let is_known = !self.known.insert((plan.account.clone(), name));
        if is_known {
            counts.same += 1;
            return;
        }
        let drafts = match format.parse(plan, raw) {
            Ok(Parsed::Records(drafts)) => drafts,
            Ok(Parsed::Skipped(why)) => return *counts.skipped.entry(why).or_default() += 1,
            Err(bad) => return *counts.bad.entry(bad.0).or_default() += 1,
        };
        let (mut new, mut changed) = (false, false);
        let mut made = Vec::new();
        let parts = format.parts();
        let mut whole: Option<(String, bool, HashSet<String>)> = None;
        let mut is_new = false;
        for draft in drafts {
            if let (Some(parts), Some((_, is_current, given))) = (parts, &mut whole)
                && *draft.stream == *parts.stream
            {
                if !*is_current {
                    continue;
                }
                given.insert(draft.key.clone());
            }
            let own = draft.data.clone().filter(|_| parts.is_some_and(|parts| *draft.stream == *parts.whole));
            if let Some(told) = draft.told {
                *counts.told.entry(told).or_default() += 1;
            }
            assert!(plan.connector.stream(&draft.stream).is_some(), "{} is not declared", draft.stream);
            let place = (plan.account.clone(), draft.stream.to_string(), draft.key.clone());
            let written = self.put(format, &plan.account, unit, draft);
            match written {
                Some(true) => {
                    new = true;
                    if !format.shares(&place.1) {
                        made.push(place.clone());
                    }
                }
                Some(false) => changed = true,
                None => {}
            }
            if own.is_some() {
                let is_current = self.records.get(&place) == own.as_ref();
                is_new = written == Some(true);
                whole = Some((place.2, is_current, HashSet::new()));
            }
        }
        if let (Some(parts), Some((key, true, given)), false) = (parts, whole, is_new) {
            self.records.retain(|(account, stream, part), data| {
                let is_part = *account == plan.account && *stream == *parts.stream && {
                    let record: serde_json::Value = serde_json::from_str(data).unwrap();
                    record[parts.field] == key.as_str()
                };
                let is_kept = !is_part || given.contains(part);
                changed |= !is_kept;
                is_kept
            });
        }
        if super::half::may_grow(raw) && !made.is_empty() {
            self.halves.insert(unit.to_owned(), (raw.bytes.clone(), made));
        }
        *(if changed {
            &mut counts.changed
        } else if new {
            &mut counts.new
        } else {
            &mut counts.same
        }) += 1;
    }

    /// Whether a record is new or changed.
    fn put(&mut self, format: &dyn Format, account: &str, unit: &str, draft: Draft) -> Option<bool> {
        let place = (account.to_owned(), draft.stream.to_string(), draft.key);
        let Some(mut data) = draft.data else {
            return self.records.remove(&place).map(|_| false);
        };
        if let Some(sighting) = draft.sighting {
            if format.is_whole_alone() {
                assert_eq!(format.join(&place.1, &data, &[&sighting]), data, "it need not be joined");
            }
            let slot = self.sightings.entry((place.clone(), unit.to_owned())).or_default();
            *slot = if slot.is_empty() { sighting } else { format.add_sighting(&place.1, slot, &sighting) };
            let all: Vec<&str> = self
                .sightings
                .iter()
                .filter(|((at, _), _)| *at == place)
                .map(|(_, said)| said.as_str())
                .collect();
            data = format.join(&place.1, &data, &all);
        }
        match self.records.insert(place, data.clone()) {
            None => Some(true),
            Some(before) => (before != data).then_some(false),
        }
    }
}
