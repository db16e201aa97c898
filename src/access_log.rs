//! What agents read through this computer, for its owner: who called which tool for which streams of which grant, and
//! how many rows and bytes came back. The log holds no arguments, no answers and no tokens.
//!
//! ```text
//!   <cache dir>/access.jsonl      JSON Lines, one call per line, the newest last
//!   <cache dir>/access.1.jsonl    older lines: at most two files of about 1 MiB
//!   <cache dir>/access-log.off    turns the log off while it exists, for running servers too
//!   <store>/reads.jsonl …         the same for a served store of the person's own data: what was read from it over HTTP
//! ```
//!
//! A dedicated thread writes, so that no call waits for a disk. It starts with the first call, and writes the lines
//! of about 20 ms together. Each write is one `O_APPEND` of whole lines, so that several servers can share the file.
//! An orderly shutdown writes everything that was recorded; a kill loses what was not yet written.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::advice::{Command, Hint};
use crate::error::{Error, Result};
use crate::fs::PrivateDir;
use crate::mcp::call_log::{Access, AccessSink};
use crate::text;

/// The log in a cache directory.
#[derive(Debug, Clone)]
pub struct AccessLog {
    dir: PathBuf,
    names: &'static Names,
    max_bytes: u64,
}

/// The file names of a log.
#[derive(Debug)]
struct Names {
    file: &'static str,
    older: &'static str,
    lock: &'static str,
    off: &'static str,
}

/// The file names of a machine's log.
const OF_MACHINE: Names =
    Names { file: "access.jsonl", older: "access.1.jsonl", lock: "access.lock", off: "access-log.off" };
/// The file names of the log of a served store: what was read from it over HTTP.
const OF_STORE: Names =
    Names { file: "reads.jsonl", older: "reads.1.jsonl", lock: "reads.lock", off: "reads-log.off" };

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When the call ended.
    pub time: Timestamp,
    /// The program that called, as it names itself.
    #[serde(default)]
    pub host: Option<Host>,
    /// The tool, or `resources/read`.
    pub tool: String,
    /// The grants that were read.
    #[serde(default)]
    pub grants: Vec<Grant>,
    /// The streams that were read.
    #[serde(default)]
    pub streams: Vec<String>,
    /// Records, hits or groups in the answer.
    #[serde(default)]
    pub rows: u64,
    /// Size of the answer, both views.
    #[serde(default)]
    pub bytes: u64,
    /// `ok`, `cancelled`, or the error's code.
    #[serde(default)]
    pub outcome: String,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub ms: u64,
}

/// A program that calls tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
}

/// A grant that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The provider's URL.
    pub provider: String,
    /// The grant's id.
    #[serde(default)]
    pub grant_id: Option<String>,
}

/// The contents of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entries {
    /// All lines, the oldest first.
    pub entries: Vec<Entry>,
    /// Lines that this log did not write: a disk was full, or someone else wrote into the file.
    pub damaged: usize,
}

impl Entries {
    /// The newest entries since `since`, at most `most` and oldest first, and the number of older ones since then.
    pub fn newest(&self, since: Option<Timestamp>, most: usize) -> (&[Entry], usize) {
        let first = since.map_or(0, |since| self.entries.partition_point(|entry| entry.time < since));
        let all = &self.entries[first..];
        let older = all.len().saturating_sub(most);
        (&all[older..], older)
    }
}

impl Entry {
    fn of(access: Access, time: Timestamp) -> Self {
        let short = |text: &str, max| text::one_line(text::prefix(text, max)).into_owned();
        Self {
            time,
            host: access
                .caller
                .map(|caller| Host { name: short(&caller.name, 100), version: short(&caller.version, 50) }),
            tool: short(&access.tool, 50),
            grants: access
                .grants
                .into_iter()
                .map(|(provider, grant_id)| Grant {
                    provider: short(&provider, 500),
                    grant_id: grant_id.map(|id| short(&id, 512)),
                })
                .collect(),
            streams: access.streams.iter().map(|stream| short(stream, 100)).collect(),
            rows: access.rows as u64,
            bytes: access.bytes as u64,
            outcome: short(&access.outcome, 60),
            ms: u64::try_from(access.took.as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn to_line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

impl AccessLog {
    /// Size in bytes at which the file is renamed to the older one.
    const MAX_BYTES: u64 = 1 << 20;

    /// The log of the cache in `dir`. Does not touch the disk.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), names: &OF_MACHINE, max_bytes: Self::MAX_BYTES }
    }

    /// The log of the store in `dir`: what programs read from it over HTTP. Does not touch the disk.
    pub fn of_store(dir: &Path) -> Self {
        Self { names: &OF_STORE, ..Self::new(dir) }
    }

    /// Where the newest lines are.
    pub fn path(&self) -> PathBuf {
        self.dir.join(self.names.file)
    }

    /// Whether calls are logged. If the switch cannot be read, they are not.
    pub fn is_on(&self) -> bool {
        let switch = PrivateDir::open(&self.dir).and_then(|dir| dir.size(self.names.off));
        switch.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// When each grant was last used to read, as far back as the log goes.
    pub fn last_reads(&self) -> BTreeMap<String, Timestamp> {
        let mut last = BTreeMap::new();
        for entry in self.entries().map(|entries| entries.entries).unwrap_or_default() {
            for id in entry.grants.into_iter().filter_map(|grant| grant.grant_id) {
                let known = last.entry(id).or_insert(entry.time);
                *known = (*known).max(entry.time);
            }
        }
        last
    }

    /// Turns the log on or off, for running servers too.
    ///
    /// # Errors
    /// Returns `access_log_failed` if the switch file cannot be written or removed.
    pub fn turn(&self, on: bool) -> Result<()> {
        let switch = || {
            if on {
                match PrivateDir::open(&self.dir) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    dir => dir?.remove(self.names.off),
                }
            } else {
                PrivateDir::create(&self.dir)?.write(self.names.off, b"pdpp log --on\n")
            }
        };
        switch().map_err(|error| self.failed(error))
    }

    /// All calls in the log.
    ///
    /// # Errors
    /// Returns `access_log_failed` if a file cannot be read.
    pub fn entries(&self) -> Result<Entries> {
        let mut found = Entries::default();
        let dir = match PrivateDir::open(&self.dir) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            Err(error) => return Err(self.failed(error)),
        };
        for name in [self.names.older, self.names.file] {
            // More lines may arrive after the size was checked.
            let bytes = match dir.read(name, self.max_bytes * 4) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(self.failed(error)),
            };
            for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                match serde_json::from_slice::<Entry>(line) {
                    Ok(entry) => found.entries.push(entry),
                    Err(_) => found.damaged += 1,
                }
            }
        }
        // With several servers, lines are in the order of their writes.
        found.entries.sort_by_key(|entry| entry.time);
        Ok(found)
    }

    fn append(&self, lines: &[u8]) -> io::Result<()> {
        let dir = match PrivateDir::open(&self.dir) {
            // Nothing was ever connected here, so nothing was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            dir => dir?,
        };
        if dir.append(self.names.file, lines)? < self.max_bytes {
            return Ok(());
        }
        let _lock = dir.lock(self.names.lock)?;
        // Another server may have done it in the meantime.
        match dir.size(self.names.file) {
            Ok(size) if size >= self.max_bytes => dir.rename(self.names.file, self.names.older),
            _ => Ok(()),
        }
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::failed("access_log_failed", format!("The access log in {} cannot be used", self.dir.display()))
            .because(error)
            .hint(
                Hint::new("Make your user the owner of that directory; `")
                    .run(Command::new("mcp serve --no-access-log"))
                    .then("` serves without the log"),
            )
    }
}

/// Writes the log from its own thread.
#[derive(Debug)]
pub struct Writer {
    log: AccessLog,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Signals the thread: a first line, more than may gather, or the end. Signals [`Writer::close`]: the thread has
    /// ended.
    changed: Condvar,
}

/// The lines to write.
#[derive(Debug, Default)]
struct Waiting {
    lines: Vec<u8>,
    thread: Thread,
    /// No more lines will come: write the remaining ones at once.
    is_over: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Thread {
    #[default]
    NotStarted,
    /// The thread waits for a first line.
    Idle,
    /// The thread lets lines gather, or writes.
    Busy,
    Ended,
}

impl Writer {
    /// Bytes that may wait; further lines are dropped rather than delay a call.
    const MAX_WAITING: usize = 256 << 10;

    /// Bytes that are written without waiting for more lines.
    const MAX_GATHERED: usize = 64 << 10;

    /// How long lines gather: a call then rarely wakes the thread, and the file is opened once for all of them.
    const GATHER: Duration = Duration::from_millis(20);

    /// A writer to `log`. Starts nothing and touches nothing before the first call.
    pub fn new(log: AccessLog) -> Self {
        Self { log, shared: Arc::default() }
    }

    /// Ends the writer: waits at most `limit` until everything recorded is written.
    pub fn close(&self, limit: Duration) {
        let mut waiting = self.shared.lock();
        waiting.is_over = true;
        self.shared.changed.notify_all();
        let runs = |waiting: &mut Waiting| matches!(waiting.thread, Thread::Idle | Thread::Busy);
        let ended = self.shared.changed.wait_timeout_while(waiting, limit, runs);
        if ended.unwrap_or_else(PoisonError::into_inner).1.timed_out() {
            tracing::warn!("the last lines of the access log could not be written in time");
        }
    }

    fn start(&self) -> Thread {
        let (log, shared) = (self.log.clone(), Arc::clone(&self.shared));
        let run = move || {
            write(&log, &shared);
            shared.lock().thread = Thread::Ended;
            shared.changed.notify_all();
        };
        match std::thread::Builder::new().name("access-log".to_owned()).stack_size(128 << 10).spawn(run) {
            Ok(_) => Thread::Busy,
            Err(error) => {
                tracing::warn!(%error, "could not start a thread for the access log");
                Thread::Ended
            }
        }
    }
}

impl AccessSink for Writer {
    fn record(&self, access: Access) {
        let line = Entry::of(access, Timestamp::now()).to_line();
        let mut waiting = self.shared.lock();
        if waiting.is_over || waiting.thread == Thread::Ended {
            return;
        }
        if waiting.lines.len() + line.len() > Self::MAX_WAITING {
            tracing::warn!("a line of the access log was dropped: the disk is too slow");
            return;
        }
        waiting.lines.extend_from_slice(&line);
        match waiting.thread {
            Thread::NotStarted => waiting.thread = self.start(),
            Thread::Busy if waiting.lines.len() < Self::MAX_GATHERED => {}
            Thread::Idle | Thread::Busy | Thread::Ended => self.shared.changed.notify_all(),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lines that came within a short time after the first; none at the end.
    fn next(&self) -> Vec<u8> {
        let mut waiting = self.lock();
        waiting.thread = Thread::Idle;
        let none = |waiting: &mut Waiting| waiting.lines.is_empty() && !waiting.is_over;
        waiting = self.changed.wait_while(waiting, none).unwrap_or_else(PoisonError::into_inner);
        waiting.thread = Thread::Busy;
        let few = |waiting: &mut Waiting| waiting.lines.len() < Writer::MAX_GATHERED && !waiting.is_over;
        let gathered = self.changed.wait_timeout_while(waiting, Writer::GATHER, few);
        std::mem::take(&mut gathered.unwrap_or_else(PoisonError::into_inner).0.lines)
    }
}

fn write(log: &AccessLog, shared: &Shared) {
    let mut has_failed = false;
    loop {
        let lines = shared.next();
        if lines.is_empty() {
            return;
        }
        if !log.is_on() {
            continue;
        }
        if let Err(error) = log.append(&lines)
            && !std::mem::replace(&mut has_failed, true)
        {
            tracing::warn!(%error, "could not write the access log");
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests put things in the way")]
mod tests {
    use super::*;
    use crate::mcp::protocol::caller::Caller;

    fn access(tool: &str) -> Access {
        Access {
            caller: Some(Caller { name: "Host\u{1b}[31m".to_owned(), version: "1".repeat(300) }),
            tool: tool.to_owned(),
            grants: vec![("https://a.example".to_owned(), Some("g1".to_owned()))],
            streams: vec!["mail\u{202e}\n".to_owned(), "x".repeat(1000)],
            rows: 2,
            bytes: 300,
            outcome: "ok".to_owned(),
            took: Duration::from_millis(12),
        }
    }

    fn log() -> (tempfile::TempDir, AccessLog) {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("cache");
        PrivateDir::create(&dir).unwrap();
        (root, AccessLog::new(&dir))
    }

    fn record(log: &AccessLog, count: usize) {
        let writer = Writer::new(log.clone());
        (0..count).for_each(|n| writer.record(access(&format!("tool{n}"))));
        writer.close(Duration::from_secs(10));
    }

    #[test]
    fn what_is_recorded_is_read_back_escaped_and_bounded() {
        let (_root, log) = log();
        assert_eq!(log.entries().unwrap(), Entries::default());
        record(&log, 3);
        let found = log.entries().unwrap();
        assert_eq!((found.entries.len(), found.damaged), (3, 0));
        let first = &found.entries[0];
        assert_eq!((first.tool.as_str(), first.rows, first.bytes, first.ms), ("tool0", 2, 300, 12));
        let host = first.host.as_ref().unwrap();
        assert_eq!((host.name.as_str(), host.version.len()), ("Host\\u{1b}[31m", 50));
        assert_eq!((first.streams[0].as_str(), first.streams[1].len()), ("mail\\u{202e}\\n", 100));
        let raw = std::fs::read_to_string(log.path()).unwrap();
        assert!(raw.lines().count() == 3 && !raw.contains(['\u{1b}', '\u{202e}']));
    }

    #[cfg(unix)]
    #[test]
    fn it_is_private_and_follows_no_link() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let (root, log) = log();
        record(&log, 1);
        let mode = std::fs::metadata(log.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::remove_file(log.path()).unwrap();
        let elsewhere = root.path().join("elsewhere");
        std::fs::write(&elsewhere, "precious").unwrap();
        symlink(&elsewhere, log.path()).unwrap();
        record(&log, 1);
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "precious");
        assert_eq!(log.entries().unwrap_err().code(), "access_log_failed");
    }

    #[test]
    fn it_is_two_files_of_bounded_size() {
        let (_root, mut log) = log();
        log.max_bytes = 4000;
        (0..20).for_each(|_| record(&log, 3));
        let size = |name: &str| std::fs::metadata(log.dir.join(name)).map_or(0, |found| found.len());
        let (newer, older) = (size("access.jsonl"), size("access.1.jsonl"));
        assert!(newer < 4000 && (4000..6000).contains(&older), "{newer} {older}");
        assert_eq!(log.entries().unwrap().damaged, 0);
        assert!(std::fs::read_dir(&log.dir).unwrap().count() <= 3);
    }

    #[test]
    fn many_writers_lose_and_mix_nothing() {
        let (_root, log) = log();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| record(&log, 100));
            }
        });
        let found = log.entries().unwrap();
        assert_eq!((found.entries.len(), found.damaged), (800, 0));
    }

    #[test]
    fn the_switch_counts_at_once_and_stays() {
        let (_root, log) = log();
        assert!(log.is_on());
        let writer = Writer::new(log.clone());
        log.turn(false).unwrap();
        writer.record(access("unseen"));
        writer.close(Duration::from_secs(10));
        assert!(!AccessLog::new(&log.dir).is_on());
        assert_eq!(log.entries().unwrap().entries, []);
        log.turn(true).unwrap();
        log.turn(true).unwrap();
        record(&log, 1);
        assert_eq!(log.entries().unwrap().entries.len(), 1);
    }

    #[test]
    fn lines_gather_for_a_moment_and_an_end_writes_them_at_once() {
        let (_root, log) = log();
        let writer = Writer::new(log.clone());
        let started = std::time::Instant::now();
        (0..50).for_each(|n| writer.record(access(&format!("tool{n}"))));
        let first = log.entries().unwrap().entries.len();
        assert!(first == 0 || started.elapsed() >= Writer::GATHER, "{first} at once");
        while log.entries().unwrap().entries.len() < 50 {
            assert!(started.elapsed() < Duration::from_secs(10), "an end is not needed");
            std::thread::sleep(Duration::from_millis(1));
        }
        writer.record(access("last"));
        writer.close(Duration::from_secs(10));
        writer.record(access("too late"));
        let entries = log.entries().unwrap().entries;
        assert_eq!((entries.len(), entries[50].tool.as_str()), (51, "last"));
        writer.close(Duration::from_secs(10));
    }

    #[test]
    fn what_a_slow_disk_holds_up_is_bounded() {
        let (_root, log) = log();
        // No other process may rename the file in the meantime.
        let lock = PrivateDir::open(&log.dir).unwrap().lock(OF_MACHINE.lock).unwrap();
        let log = AccessLog { max_bytes: 1, ..log };
        let writer = Writer::new(log.clone());
        let line = Entry::of(access("tool"), Timestamp::now()).to_line().len();
        for _ in 0..2 * Writer::MAX_WAITING / line {
            writer.record(access("tool"));
        }
        assert!(writer.shared.lock().lines.len() <= Writer::MAX_WAITING);
        drop(lock);
        writer.close(Duration::from_secs(10));
        let size = |name: &str| std::fs::metadata(log.dir.join(name)).map_or(0, |found| found.len());
        let all = size("access.jsonl") + size("access.1.jsonl");
        assert!(all > 0 && all <= 2 * Writer::MAX_WAITING as u64, "{all}");
    }

    #[test]
    fn a_damaged_line_costs_only_itself() {
        let (_root, log) = log();
        record(&log, 1);
        PrivateDir::open(&log.dir).unwrap().append("access.jsonl", b"{\"time\":\"20\n\xff\n").unwrap();
        record(&log, 1);
        let found = log.entries().unwrap();
        assert_eq!((found.entries.len(), found.damaged), (2, 2));
    }

    #[test]
    fn a_cache_that_is_gone_is_not_made_again_and_fails_nothing() {
        let (root, log) = log();
        std::fs::remove_dir_all(&log.dir).unwrap();
        record(&log, 1);
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
        log.turn(true).unwrap();
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }
}
