//! What programs read from the person's own store over HTTP, for its owner: a log next to the store, like
//! that of a machine.

use std::path::Path;
use std::time::Duration;

use crate::access_log::{AccessLog, Entry, Writer};
use crate::mcp::call_log::{Access, AccessSink as _};
use crate::mcp::protocol::caller::Caller;
use crate::vault::reads::{HttpRead, ReadSink};

/// How long to wait for the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Writes the log of a store that is served.
pub struct ReadLog(Writer);

impl ReadLog {
    /// The log of the store in `dir`. Touches nothing before the first read.
    pub fn of(dir: &Path) -> Self {
        Self(Writer::new(AccessLog::of_store(dir)))
    }
}

/// Waits until what was recorded is written.
impl Drop for ReadLog {
    fn drop(&mut self) {
        self.0.close(LAST_LINES);
    }
}

impl ReadSink for ReadLog {
    fn record(&self, read: HttpRead) {
        self.0.record(Access {
            caller: Some(Caller { name: read.client, version: String::new() }),
            tool: read.tool.to_owned(),
            grants: vec![(read.base, Some(read.grant_id))],
            streams: read.streams,
            rows: read.rows,
            bytes: read.bytes,
            outcome: read.outcome,
            took: read.took,
        });
    }
}

/// All known reads of the store in `dir`, oldest first, and how many lines are damaged: those over HTTP,
/// and those in process that the machine's log, in `cache_dir`, has for grants of the store, which
/// `is_of_here` recognises.
pub fn all(dir: &Path, cache_dir: Option<&Path>, is_of_here: impl Fn(&str) -> bool) -> (Vec<Entry>, usize) {
    let of = |log: AccessLog| log.entries().unwrap_or_default();
    let machine = cache_dir.map(|cache_dir| of(AccessLog::new(cache_dir))).unwrap_or_default();
    let store = of(AccessLog::of_store(dir));
    let is_here = |entry: &Entry| {
        entry.grants.iter().any(|grant| {
            grant.provider.starts_with(LOCAL) && grant.grant_id.as_deref().is_some_and(&is_of_here)
        })
    };
    let mut all: Vec<Entry> = machine.entries.into_iter().filter(is_here).collect();
    all.extend(store.entries);
    all.sort_by_key(|entry| entry.time);
    (all, machine.damaged + store.damaged)
}

/// What a store of this computer is called in reads within a process.
const LOCAL: &str = "https://local.pdpp.invalid";
