//! Counts what became of the items that were read: read = new + changed + same + skipped + bad, by source and in sum.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How many bad items of one reason a summary names.
pub const NAMED: usize = 3;

/// The results for the items.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All of them.
    pub read: u64,
    /// Items that gave a new record.
    pub new: u64,
    /// Those that changed a record.
    pub changed: u64,
    /// Items whose records are unchanged.
    pub same: u64,
    /// Items that are left out on purpose, by reason.
    pub skipped: BTreeMap<Cow<'static, str>, u64>,
    /// Items that could not be read, by reason.
    pub bad: BTreeMap<Cow<'static, str>, u64>,
    /// Records that were kept and have a defect, by defect.
    pub told: BTreeMap<Cow<'static, str>, u64>,
}

impl Counts {
    /// How many items were left out.
    pub fn skipped_in_all(&self) -> u64 {
        self.skipped.values().sum()
    }

    /// How many items could not be read.
    pub fn bad_in_all(&self) -> u64 {
        self.bad.values().sum()
    }

    /// Whether each item is counted exactly once.
    pub fn add_up(&self) -> bool {
        self.read == self.new + self.changed + self.same + self.skipped_in_all() + self.bad_in_all()
    }

    /// Adds the counts of another source.
    pub fn add(&mut self, other: &Self) {
        self.read += other.read;
        self.new += other.new;
        self.changed += other.changed;
        self.same += other.same;
        let pairs =
            [(&mut self.skipped, &other.skipped), (&mut self.bad, &other.bad), (&mut self.told, &other.told)];
        for (all, some) in pairs {
            for (why, count) in some {
                *all.entry(why.clone()).or_default() += count;
            }
        }
    }
}

/// An item that could not be read, without any of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadItem {
    /// The source.
    pub path: PathBuf,
    /// The member of the source.
    pub member: String,
    /// Its number in the member, from 1.
    pub item: u64,
    /// Where it begins in the member.
    pub byte: u64,
    /// The line that it begins in, if lines mean something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The reason.
    pub reason: Cow<'static, str>,
}

/// A member that was not read to the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The source.
    pub path: PathBuf,
    /// The member of the source.
    pub member: String,
    /// The reason.
    pub reason: String,
}

/// The result of importing one source by one format for one account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The format's name.
    pub format: Cow<'static, str>,
    /// The connector's key.
    pub connector: String,
    /// The account.
    pub account: String,
    /// The source, as it was typed.
    pub path: PathBuf,
    /// The results for the items.
    pub counts: Counts,
    /// A few bad items of each reason.
    pub bad: Vec<BadItem>,
    /// Members that were not read to the end.
    pub unread: Vec<Unread>,
    /// Members that changed while they were read, and are read again next time.
    pub moving: Vec<String>,
    /// Members that existed last time and no longer do; their records stay.
    pub gone: u64,
    /// Known bad items in members that were not read again.
    pub known_bad: u64,
    /// What the person should know after the import, in whole sentences.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Outcome {
    pub(super) fn note_bad(&mut self, item: BadItem) {
        let named = self.bad.iter().filter(|known| known.reason == item.reason).count();
        if named < NAMED {
            self.bad.push(item);
        }
    }
}

impl Outcome {
    /// Whether nothing changed.
    pub fn is_quiet(&self) -> bool {
        let Counts { new, changed, bad, .. } = &self.counts;
        *new + *changed + self.gone == 0 && bad.is_empty() && self.unread.is_empty() && self.moving.is_empty()
    }
}

/// The results for the items of all sources.
pub fn in_sum(outcomes: &[Outcome]) -> Counts {
    let mut all = Counts::default();
    for outcome in outcomes {
        all.add(&outcome.counts);
    }
    all
}

/// Whether a file was not read to the end, or no item could be read.
pub fn is_failure(outcomes: &[Outcome]) -> bool {
    let all = in_sum(outcomes);
    let bad = all.bad_in_all() + outcomes.iter().map(|outcome| outcome.known_bad).sum::<u64>();
    outcomes.iter().any(|outcome| !outcome.unread.is_empty()) || (all.read > 0 && bad == all.read)
}
