//! What became of what was read: read = new + changed + same + skipped + bad, by source and in sum.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Bad items of one reason that are named in a summary.
pub const NAMED: usize = 3;

/// What became of the items.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All of them.
    pub read: u64,
    /// Those that gave a record that was not there.
    pub new: u64,
    /// Those that changed a record.
    pub changed: u64,
    /// Those whose records are as they were.
    pub same: u64,
    /// Those that are left out on purpose, by why.
    pub skipped: BTreeMap<Cow<'static, str>, u64>,
    /// Those that could not be read, by why.
    pub bad: BTreeMap<Cow<'static, str>, u64>,
    /// Records that were kept and lack something, by what.
    pub told: BTreeMap<Cow<'static, str>, u64>,
}

impl Counts {
    /// How many were left out.
    pub fn skipped_in_all(&self) -> u64 {
        self.skipped.values().sum()
    }

    /// How many could not be read.
    pub fn bad_in_all(&self) -> u64 {
        self.bad.values().sum()
    }

    /// Whether each item is accounted for once.
    pub fn add_up(&self) -> bool {
        self.read == self.new + self.changed + self.same + self.skipped_in_all() + self.bad_in_all()
    }

    /// Adds those of another source.
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

/// An item that could not be read. It has nothing of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadItem {
    /// The source.
    pub path: PathBuf,
    /// The member of it.
    pub member: String,
    /// Which one it is in the member, from 1.
    pub item: u64,
    /// Where it begins in the member.
    pub byte: u64,
    /// The line that it begins in, where lines mean something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Why.
    pub reason: Cow<'static, str>,
}

/// A member that was not read to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The source.
    pub path: PathBuf,
    /// The member of it.
    pub member: String,
    /// Why.
    pub reason: String,
}

/// What an import of one source by one format for one account did.
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
    /// What became of the items.
    pub counts: Counts,
    /// A few bad items of each reason.
    pub bad: Vec<BadItem>,
    /// What was not read to its end.
    pub unread: Vec<Unread>,
    /// What changed while it was read, and is read again the next time.
    pub moving: Vec<String>,
    /// Members that were there the last time and are not any more; their records stay.
    pub gone: u64,
    /// Items known to be bad in what was not read again.
    pub known_bad: u64,
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
    /// Whether all is as it was.
    pub fn is_quiet(&self) -> bool {
        let Counts { new, changed, bad, .. } = &self.counts;
        *new + *changed + self.gone == 0 && bad.is_empty() && self.unread.is_empty() && self.moving.is_empty()
    }
}

/// What became of the items of all sources.
pub fn in_sum(outcomes: &[Outcome]) -> Counts {
    let mut all = Counts::default();
    for outcome in outcomes {
        all.add(&outcome.counts);
    }
    all
}

/// Whether a file was not read to its end, or no item could be read.
pub fn is_failure(outcomes: &[Outcome]) -> bool {
    let all = in_sum(outcomes);
    let bad = all.bad_in_all() + outcomes.iter().map(|outcome| outcome.known_bad).sum::<u64>();
    outcomes.iter().any(|outcome| !outcome.unread.is_empty()) || (all.read > 0 && bad == all.read)
}
