//! The endpoint's log: one line of JSON per request, on stderr, and the operator's events among them. No token, no
//! argument, nothing of an answer: a bearer's hash, whom the authorization server says it was issued to, and
//! words of this program's own.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::HeaderName;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::metrics::Metrics;
use super::rate::Permit;
use crate::error::{Error, Result};
use crate::mcp::protocol::http::{Asked, Outcome};
use crate::text;
use crate::ui::{Ui, json_ascii_controls};

/// Lines that may wait for a slow stderr. Beyond that they are counted instead, like those that a full disk refuses:
/// neither holds anybody up.
const MOST_WAITING: usize = 4_096;

/// How often the same trouble is reported to the operator.
const REPORTED_EVERY: Duration = Duration::from_mins(1);

/// Longest text of another's in a line, in bytes.
const MOST_TEXT: usize = 200;

/// The way to the log.
pub struct Log {
    lines: SyncSender<String>,
    metrics: Arc<Metrics>,
    reported: Mutex<HashMap<&'static str, Instant>>,
    cut: CancellationToken,
}

/// The thread that writes.
pub struct Writing {
    done: Receiver<()>,
}

impl Log {
    /// Starts the one thread that writes, through `ui`. From `cut` on, a request without an answer is this end's doing.
    ///
    /// # Errors
    /// `no_thread`.
    pub fn start(ui: Ui, metrics: Arc<Metrics>, cut: CancellationToken) -> Result<(Self, Writing)> {
        let (lines, waiting) = sync_channel::<String>(MOST_WAITING);
        let (end, done) = sync_channel(1);
        let lost = Arc::clone(&metrics);
        std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || {
                while let Ok(line) = waiting.recv() {
                    if ui.try_note(&line).is_err() {
                        lost.log_line_lost();
                    }
                }
                let _ = end.send(());
            })
            .map_err(|error| Error::failed("no_thread", "Could not start a thread").because(error))?;
        Ok((Self { lines, metrics, reported: Mutex::default(), cut }, Writing { done }))
    }

    /// Something that an operator should see: `event` is stable, `message` is for people.
    pub fn event(&self, level: &'static str, event: &'static str, message: &str) {
        self.write(&json!({
            "time": now(),
            "level": level,
            "event": event,
            "message": text::prefix(message, 1_000),
        }));
    }

    /// The same, at most once a minute: trouble that every request runs into.
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

    /// Every trouble is new again, after something was changed about it.
    pub fn forget_reported(&self) {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn write(&self, line: &Value) {
        if self.lines.try_send(json_ascii_controls(&line.to_string()).into_owned()).is_err() {
            self.metrics.log_line_lost();
        }
    }
}

impl Writing {
    /// Waits for the last lines, once every [`Log`] is gone, for at most `limit`.
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

/// What becomes known of a request on its way.
#[derive(Default)]
pub struct Record {
    bearer: OnceLock<String>,
    client: OnceLock<String>,
    asked: OnceLock<Asked>,
    place: Mutex<Option<Permit>>,
}

impl Record {
    /// The request that this task answers; one of its own where there is none.
    pub fn current() -> Arc<Self> {
        REQUEST.try_with(Arc::clone).unwrap_or_default()
    }

    /// Its bearer's hash has this prefix.
    pub fn set_bearer(&self, prefix: String) {
        let _ = self.bearer.set(prefix);
    }

    /// Its bearer was issued to this client.
    pub fn set_client(&self, client_id: &str) {
        let _ = self.client.set(text::prefix(client_id, MOST_TEXT).to_owned());
    }

    /// It asks for this.
    pub fn set_asked(&self, asked: Asked) {
        let _ = self.asked.set(asked);
    }

    /// It is at work, until it is answered.
    pub fn hold(&self, place: Permit) {
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }

    fn release(&self) {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Answers a request with what `answer` gives, and takes note of it once the answer has left.
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
    // A client that reads slowly takes no place from others.
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
    /// None until there is an answer.
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
            // What nginx calls a client that went away before its answer.
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
        self.log.write(&json!({
            "time": now(),
            "level": "info",
            "event": "request",
            "route": self.route,
            "status": status,
            "method": method,
            "tool": tool,
            "outcome": outcome,
            "bearer": self.record.bearer.get(),
            "client_id": self.record.client.get(),
            "ms": u64::try_from(passed.as_millis()).unwrap_or(u64::MAX),
            "bytes": self.bytes,
            "request_id": self.request_id,
        }));
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
    use crate::ui::tests::Full;

    #[test]
    fn a_line_that_stderr_refuses_is_counted_as_lost() {
        let metrics = Arc::new(Metrics::default());
        let ui = Ui::to_writers(Box::new(std::io::sink()), Box::new(Full), 80);
        let (log, writing) = Log::start(ui, Arc::clone(&metrics), CancellationToken::new()).unwrap();
        log.event("info", "ready", "1");
        log.event("info", "stopped", "2");
        drop(log);
        assert!(writing.done.recv_timeout(Duration::from_secs(30)).is_ok(), "the thread has not ended");
        assert_eq!(metrics.log_lines_lost(), 2);
    }
}
