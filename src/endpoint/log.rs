//! The endpoint's log on stderr: one line of JSON per request, and one per event that concerns the operator. It holds no
//! token, no argument and no part of an answer: only a bearer's hash, the client that it was issued to according to the
//! authorization server, and this program's own words.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::HeaderName;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::admission::BearerHash;
use super::metrics::Metrics;
use super::rate::Permit;
use crate::error::{Error, Result};
use crate::mcp::protocol::http::{Asked, Outcome};
use crate::text;
use crate::ui::{Ui, json_ascii_controls};

/// Lines that may wait for a slow stderr. Further lines are only counted, like those that a full disk refuses:
/// neither delays a request.
const MOST_WAITING: usize = 4_096;

/// How long a request's line waits for others to be written with it. A killed process loses that much.
const SOON: Duration = Duration::from_millis(50);

/// Bytes reserved for lines: a little more than busy callers fill in that time.
const KEPT: usize = 128 << 10;

/// Bytes to write at once, at most: what a pipe takes whole, so that another writer's line comes between two of these
/// and not into one (`PIPE_BUF`).
const AT_ONCE: usize = 4_096;

/// How often the same trouble is reported to the operator.
const REPORTED_EVERY: Duration = Duration::from_mins(1);

/// The maximum length of a text from elsewhere in a line, in bytes.
const MOST_TEXT: usize = 200;

/// The handle with which to write to the log.
pub struct Log {
    queue: Arc<Queue>,
    metrics: Arc<Metrics>,
    reported: Mutex<HashMap<&'static str, Instant>>,
    cut: CancellationToken,
}

/// The thread that writes.
pub struct Writing {
    done: Receiver<()>,
}

impl Log {
    /// Starts the one thread that writes, through `ui`. Once `cut` is cancelled, a request without an answer counts
    /// as cut off by this server.
    ///
    /// # Errors
    /// Returns `no_thread` if the thread cannot be started.
    pub fn start(ui: Ui, metrics: Arc<Metrics>, cut: CancellationToken) -> Result<(Self, Writing)> {
        let (end, done) = sync_channel(1);
        let (queue, lost) = (Arc::new(Queue::default()), Arc::clone(&metrics));
        let waiting = Arc::clone(&queue);
        std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || {
                let mut lines = String::new();
                while waiting.take(&mut lines) {
                    for part in parts(&lines) {
                        lost.log_lines_were_lost(ui.note_lines(part));
                    }
                }
                let _ = end.send(());
            })
            .map_err(|error| Error::no_thread("Could not start a thread").because(error))?;
        Ok((Self { queue, metrics, reported: Mutex::default(), cut }, Writing { done }))
    }

    /// Logs something that an operator should see: `event` is stable, `message` is for people. Written at once, with
    /// the lines that wait.
    pub fn event(&self, level: &'static str, event: &'static str, message: &str) {
        let message = quoted(text::prefix(message, 1_000));
        let line = format!(
            "{{\"event\":\"{event}\",\"level\":\"{level}\",\"message\":{message},\"time\":\"{}\"}}\n",
            now()
        );
        self.write(&line, true);
    }

    /// Logs trouble that every request runs into, at most once a minute.
    pub fn trouble(&self, level: &'static str, event: &'static str, message: impl FnOnce() -> String) {
        let now = Instant::now();
        {
            let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
            if reported.get(event).is_some_and(|last| now.duration_since(*last) < REPORTED_EVERY) {
                return;
            }
            reported.insert(event, now);
        }
        self.event(level, event, &message());
    }

    /// Reports every trouble again, after something was changed to fix it.
    pub fn forget_reported(&self) {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn write(&self, line: &str, is_urgent: bool) {
        if !self.queue.push(line, is_urgent) {
            self.metrics.log_lines_were_lost(1);
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// Lines on their way to the thread that writes.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    news: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// The lines, each with its line end.
    lines: String,
    count: usize,
    is_urgent: bool,
    is_closed: bool,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line; returns whether there was room.
    fn push(&self, line: &str, is_urgent: bool) -> bool {
        let mut waiting = self.waiting();
        if waiting.count == MOST_WAITING {
            return false;
        }
        waiting.lines.push_str(line);
        waiting.count += 1;
        waiting.is_urgent |= is_urgent;
        // The first line wakes the thread, which then collects the following ones on its own.
        let is_news = waiting.count == 1 || is_urgent;
        drop(waiting);
        if is_news {
            self.news.notify_one();
        }
        true
    }

    fn close(&self) {
        self.waiting().is_closed = true;
        self.news.notify_one();
    }

    /// Waits for lines and takes all that came within [`SOON`]; false once there are none and no more will come.
    fn take(&self, lines: &mut String) -> bool {
        let waiting = self.waiting();
        let waiting = self.news.wait_while(waiting, |waiting| waiting.count == 0 && !waiting.is_closed);
        let waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        let goes_on = |waiting: &mut Waiting| !waiting.is_urgent && !waiting.is_closed;
        let waited = self.news.wait_timeout_while(waiting, SOON, goes_on);
        let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        lines.clear();
        lines.shrink_to(KEPT);
        std::mem::swap(lines, &mut waiting.lines);
        waiting.is_urgent = false;
        waiting.count = 0;
        !lines.is_empty()
    }
}

/// Splits `lines` into parts of whole lines, of at most [`AT_ONCE`] bytes unless a single line is longer.
fn parts(mut lines: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let bytes = lines.as_bytes();
        let within = &bytes[..bytes.len().min(AT_ONCE)];
        let end = memchr::memrchr(b'\n', within).or_else(|| memchr::memchr(b'\n', bytes))?;
        let (part, rest) = lines.split_at(end + 1);
        lines = rest;
        Some(part)
    })
}

/// A text as JSON, with hidden characters escaped.
fn quoted(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap_or_else(|_| "null".to_owned());
    match json_ascii_controls(&json) {
        Cow::Owned(escaped) => escaped,
        Cow::Borrowed(_) => json,
    }
}

impl Writing {
    /// Once every [`Log`] is dropped, waits at most `limit` for the last lines.
    pub fn finish(&self, limit: Duration) {
        let _: std::result::Result<(), RecvTimeoutError> = self.done.recv_timeout(limit);
    }
}

fn now() -> String {
    format!("{:.3}", Timestamp::now())
}

tokio::task_local! {
    /// The request that a task answers.
    static REQUEST: Arc<Record>;
}

/// What is learned about a request while it runs.
#[derive(Default)]
pub struct Record {
    bearer: OnceLock<BearerHash>,
    client: OnceLock<String>,
    asked: OnceLock<Asked>,
    place: Mutex<Option<Permit>>,
}

impl Record {
    /// The record of the request that this task answers; a new one if there is none.
    pub fn current() -> Arc<Self> {
        REQUEST.try_with(Arc::clone).unwrap_or_default()
    }

    /// Sets the hash of its bearer.
    pub fn set_bearer(&self, hash: BearerHash) {
        let _ = self.bearer.set(hash);
    }

    /// Sets the client that its bearer was issued to.
    pub fn set_client(&self, client_id: &str) {
        let _ = self.client.set(text::prefix(client_id, MOST_TEXT).to_owned());
    }

    /// Sets what the request asks for.
    pub fn set_asked(&self, asked: Asked) {
        let _ = self.asked.set(asked);
    }

    /// Holds the request's place until it is answered.
    pub fn hold(&self, place: Permit) {
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }

    fn release(&self) {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Answers a request with what `answer` returns, and logs it once the answer has been sent.
pub async fn recorded(
    log: Arc<Log>,
    route: &'static str,
    answer: impl Future<Output = Response>,
) -> Response {
    let record = Arc::new(Record::default());
    log.metrics.in_flight.enter();
    let mut line = Line {
        log,
        route,
        record: Arc::clone(&record),
        started: Instant::now(),
        status: None,
        outcome: None,
        request_id: None,
        bytes: 0,
    };
    let mut response = REQUEST.scope(Arc::clone(&record), answer).await;
    // A client that reads slowly does not hold a place that others need.
    record.release();
    line.status = Some(response.status().as_u16());
    line.outcome = response.extensions_mut().remove::<Outcome>();
    let request_id = response.headers().get(HeaderName::from_static("request-id"));
    line.request_id = request_id.and_then(|id| id.to_str().ok()).map(str::to_owned);
    response.map(|body| Body::new(Counted { body, line }))
}

/// A line of the log, written when it is dropped.
struct Line {
    log: Arc<Log>,
    route: &'static str,
    record: Arc<Record>,
    started: Instant,
    /// `None` until there is an answer.
    status: Option<u16>,
    outcome: Option<Outcome>,
    request_id: Option<String>,
    bytes: u64,
}

impl Drop for Line {
    fn drop(&mut self) {
        let passed = self.started.elapsed();
        let (status, outcome) = match (self.status, self.outcome) {
            (None, _) if self.log.cut.is_cancelled() => (503, "cut_off"),
            // The status that nginx uses for a client that left before its answer.
            (None, _) => (499, "client_gone"),
            (Some(status), Some(Outcome::Refused(code))) => {
                self.log.metrics.refused(code);
                (status, code)
            }
            (Some(status), Some(Outcome::Answered { is_ok: false })) => (status, "error"),
            (Some(status), _) => (status, "ok"),
        };
        let asked = self.record.asked.get();
        let (method, tool) = (asked.map(|asked| asked.method), asked.and_then(|asked| asked.tool));
        self.log.metrics.in_flight.leave();
        self.log.metrics.answered(
            method.unwrap_or(self.route),
            tool.unwrap_or_default(),
            status,
            passed,
            self.bytes,
        );
        let client = self.record.client.get().map(|client| quoted(client));
        let mut line = String::with_capacity(384);
        // Everything except numbers and the client's name is one of this program's own words: nothing in it needs
        // escaping.
        let _ = writeln!(
            line,
            "{{\"bearer\":{},\"bytes\":{},\"client_id\":{},\"event\":\"request\",\"level\":\"info\",\"method\":{},\
             \"ms\":{},\"outcome\":\"{outcome}\",\"request_id\":{},\"route\":\"{}\",\"status\":{status},\"time\":\"{}\",\
             \"tool\":{}}}",
            OwnWord(self.record.bearer.get().map(BearerHash::prefix).as_deref()),
            self.bytes,
            client.as_deref().unwrap_or("null"),
            OwnWord(method),
            passed.as_millis(),
            OwnWord(self.request_id.as_deref()),
            self.route,
            now(),
            OwnWord(tool),
        );
        self.log.write(&line, false);
    }
}

/// One of this program's own words, as JSON.
struct OwnWord<'a>(Option<&'a str>);

impl std::fmt::Display for OwnWord<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(word) => write!(out, "\"{word}\""),
            None => out.write_str("null"),
        }
    }
}

/// An answer's body, counted as it leaves.
struct Counted {
    body: Body,
    line: Line,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            self.line.bytes += data.len() as u64;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::AccessToken;
    use crate::ui::tests::{Collects, Full};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn start(to: Box<dyn std::io::Write + Send>) -> (Log, Writing, Arc<Metrics>) {
        let metrics = Arc::new(Metrics::default());
        let ui = Ui::to_writers(Box::new(std::io::sink()), to, 80);
        let (log, writing) = Log::start(ui, Arc::clone(&metrics), CancellationToken::new()).unwrap();
        (log, writing, metrics)
    }

    fn end(log: Log, writing: &Writing) {
        drop(log);
        assert!(writing.done.recv_timeout(Duration::from_secs(30)).is_ok(), "the thread has not ended");
    }

    #[test]
    fn a_line_that_stderr_refuses_is_counted_as_lost() {
        let (log, writing, metrics) = start(Box::new(Full));
        log.event("info", "ready", "1");
        log.event("info", "stopped", "2");
        assert!(log.queue.push("{}\n", false));
        end(log, &writing);
        assert_eq!(metrics.log_lines_lost(), 3);
    }

    #[test]
    fn lines_are_written_in_their_order_and_all_of_them_before_the_end() {
        let written = Collects::default();
        let (log, writing, metrics) = start(Box::new(written.clone()));
        let lines = (0..3_000).map(|number| format!("{{\"number\":{number}}}\n")).collect::<Vec<_>>();
        for line in &lines {
            assert!(log.queue.push(line, false));
        }
        end(log, &writing);
        assert_eq!((written.take(), metrics.log_lines_lost()), (lines.concat(), 0));
    }

    #[test]
    fn a_line_is_written_soon_and_an_event_at_once_with_what_waits() {
        let written = Collects::default();
        let (log, writing, _) = start(Box::new(written.clone()));
        let until = |wanted: &str| {
            let began = Instant::now();
            let mut found = String::new();
            while !found.contains(wanted) {
                assert!(began.elapsed() < Duration::from_secs(30), "{wanted} in {found}");
                std::thread::sleep(Duration::from_millis(1));
                found.push_str(&written.take());
            }
            found
        };
        assert!(log.queue.push("first\n", false));
        assert_eq!(until("first\n"), "first\n");
        assert!(log.queue.push("second\n", false));
        log.event("info", "reloaded", "x");
        assert!(until("reloaded").starts_with("second\n{"));
        end(log, &writing);
    }

    #[test]
    fn lines_that_nobody_takes_are_bounded() {
        let queue = Queue::default();
        assert!((0..MOST_WAITING).all(|_| queue.push("x\n", false)));
        assert!(!queue.push("x\n", true));
        let mut lines = String::new();
        queue.close();
        assert!(queue.take(&mut lines) && lines.len() == 2 * MOST_WAITING);
        assert!(!queue.take(&mut lines));
    }

    proptest! {
        #[test]
        fn parts_are_whole_lines(lengths in proptest::collection::vec(0usize..9_000, 0..9)) {
            let lines = lengths.iter().map(|length| "x".repeat(*length) + "\n").collect::<String>();
            let parts = parts(&lines).collect::<Vec<_>>();
            prop_assert_eq!(parts.concat(), &lines[..]);
            for part in parts {
                prop_assert!(part.ends_with('\n'));
                prop_assert!(part.len() <= AT_ONCE || part.matches('\n').count() == 1);
            }
        }

        /// As `serde_json` writes it, with terminal control characters escaped.
        #[test]
        fn a_line_is_json(client in ".{0,40}", message in ".{0,40}", status in 100u16..600) {
            let written = Collects::default();
            let (log, writing, _) = start(Box::new(written.clone()));
            let log = Arc::new(log);
            let record = Arc::new(Record::default());
            let hash = BearerHash::of(&AccessToken::new("token".to_owned()).unwrap());
            record.set_bearer(hash);
            record.set_client(&client);
            record.set_asked(Asked { method: "tools/call", tool: Some("search") });
            log.event("warn", "few_files", &message);
            drop(Line {
                log: Arc::clone(&log),
                route: "mcp",
                record,
                started: Instant::now(),
                status: Some(status),
                outcome: None,
                request_id: Some("req_1".to_owned()),
                bytes: 7,
            });
            end(Arc::into_inner(log).unwrap(), &writing);
            let all = written.take();
            let lines = all.lines().collect::<Vec<_>>();
            prop_assert_eq!(lines.len(), 2);
            let wanted = [
                json!({"event": "few_files", "level": "warn", "message": message}),
                json!({
                    "event": "request", "level": "info", "route": "mcp", "status": status, "method": "tools/call",
                    "tool": "search", "outcome": "ok", "bearer": hash.prefix(), "client_id": client, "bytes": 7,
                    "request_id": "req_1",
                }),
            ];
            for (line, wanted) in lines.into_iter().zip(wanted) {
                let mut read: Value = serde_json::from_str(line).unwrap();
                let json = read.to_string();
                prop_assert_eq!(line, json_ascii_controls(&json));
                let fields = read.as_object_mut().unwrap();
                prop_assert!(fields.remove("time").is_some_and(|time| time.is_string()));
                fields.remove("ms");
                prop_assert_eq!(read, wanted);
            }
        }
    }
}
