//! What a call read, for a caller that logs it. The tool core knows this trait and no file.
//!
//! The facts of one call come from three places: the protocol handler knows who asks, each read through a source
//! knows its grant, and the answer has its rows. They are collected in task-local notes, so that no tool has to pass
//! them along.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::mcp::protocol::caller::{self, Caller};
use crate::mcp::protocol::service::{Offer, ResourceContents, ResourceError, Service, ToolAnswer};

/// One call, without its arguments and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Who asked.
    pub caller: Option<Caller>,
    /// The tool, or `resources/read`.
    pub tool: String,
    /// The grants that were read: provider and grant id, each once. Grants of which only the schema was read are
    /// listed only if no other grant was read.
    pub grants: Vec<(String, Option<String>)>,
    /// The streams that were read, each once, as the requests or the answer named them.
    pub streams: Vec<String>,
    /// Records, hits or groups in the answer.
    pub rows: usize,
    /// Size of the answer: both views.
    pub bytes: usize,
    /// `ok`, `cancelled`, or the error's code.
    pub outcome: String,
    /// From the call to its answer.
    pub took: Duration,
}

/// Receives the record of each call. Must return at once, and cannot fail a call.
pub trait AccessSink: Send + Sync + 'static {
    /// Records a call that has ended.
    fn record(&self, access: Access);
}

/// The maximum number of grants and of streams that one call's record names.
const MOST: usize = 32;

/// The route of a request that says what a grant holds, and returns no data of it.
const LOOK_UP: &str = "schema";

#[derive(Default)]
struct Notes {
    /// The grants, each with whether more than a look-up was made.
    grants: Vec<(String, Option<String>, bool)>,
    streams: Vec<String>,
}

impl Notes {
    fn stream(&mut self, stream: &str) {
        if !stream.is_empty() && self.streams.len() < MOST && self.streams.iter().all(|known| known != stream)
        {
            self.streams.push(stream.to_owned());
        }
    }

    /// The grants that were read. A call to several grants looks up which of them have the stream; those
    /// look-ups do not count as reads.
    fn grants_read(grants: Vec<(String, Option<String>, bool)>) -> Vec<(String, Option<String>)> {
        let any_read = grants.iter().any(|(.., is_read)| *is_read);
        let read = grants.into_iter().filter(|(.., is_read)| *is_read || !any_read);
        read.map(|(provider, id, _)| (provider, id)).collect()
    }
}

tokio::task_local! {
    static NOTES: Arc<Mutex<Notes>>;
}

/// Notes a read of a grant by `route` and the streams that it read, if the surrounding call is recorded.
pub fn note(provider: &str, grant_id: Option<&str>, route: &str, streams: &[&str]) {
    let _ = NOTES.try_with(|notes| {
        let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_read = route != LOOK_UP;
        let known =
            notes.grants.iter_mut().find(|(known, id, _)| known == provider && id.as_deref() == grant_id);
        if let Some((.., was_read)) = known {
            *was_read |= is_read;
        } else if notes.grants.len() < MOST {
            notes.grants.push((provider.to_owned(), grant_id.map(str::to_owned), is_read));
        }
        for stream in streams {
            notes.stream(stream);
        }
    });
}

/// Notes the streams of an answer's hits: a search over everything names none in its request.
pub fn note_streams<'a>(streams: impl Iterator<Item = &'a str>) {
    let _ = NOTES.try_with(|notes| {
        let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
        streams.for_each(|stream| notes.stream(stream));
    });
}

/// A service that reports its calls to a sink.
pub struct Recorded<S> {
    service: S,
    sink: Arc<dyn AccessSink>,
}

impl<S: Service> Recorded<S> {
    /// Wraps `service`, so that every call is reported to `sink`.
    pub const fn new(service: S, sink: Arc<dyn AccessSink>) -> Self {
        Self { service, sink }
    }

    fn begin(&self, tool: &str) -> Pending {
        Pending {
            sink: Arc::clone(&self.sink),
            caller: caller::current(),
            tool: tool.to_owned(),
            notes: Arc::default(),
            started: Instant::now(),
            ended: None,
        }
    }
}

/// A running call; if its future is dropped, it was cancelled.
struct Pending {
    sink: Arc<dyn AccessSink>,
    caller: Option<Caller>,
    tool: String,
    notes: Arc<Mutex<Notes>>,
    started: Instant,
    ended: Option<Ended>,
}

impl Pending {
    fn end(mut self, ended: Ended) {
        let _ = self.ended.insert(ended);
    }
}

struct Ended {
    rows: usize,
    bytes: usize,
    outcome: String,
}

impl Drop for Pending {
    fn drop(&mut self) {
        let notes = std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner));
        let ended =
            self.ended.take().unwrap_or_else(|| Ended { rows: 0, bytes: 0, outcome: "cancelled".to_owned() });
        self.sink.record(Access {
            caller: self.caller.take(),
            tool: std::mem::take(&mut self.tool),
            grants: Notes::grants_read(notes.grants),
            streams: notes.streams,
            rows: ended.rows,
            bytes: ended.bytes,
            outcome: ended.outcome,
            took: self.started.elapsed(),
        });
    }
}

impl<S: Service> Service for Recorded<S> {
    fn offer(&self) -> Offer {
        self.service.offer()
    }

    fn refused(&self, tool: &str, code: &str) {
        // A tool name that MCP does not allow may be anything.
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        let tool = if tool.chars().all(is_name) { tool } else { "(not a tool name)" };
        self.begin(tool).end(Ended { rows: 0, bytes: 0, outcome: code.to_owned() });
    }

    fn call(&self, tool: &str, arguments: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
        let (tool, call) = (tool.to_owned(), self.service.call(tool, arguments));
        async move {
            let pending = self.begin(&tool);
            let answer = NOTES.scope(Arc::clone(&pending.notes), call).await;
            let ended = Ended {
                rows: answer.rows,
                bytes: answer.text.len() + answer.structured_len(),
                outcome: outcome(&answer),
            };
            pending.end(ended);
            answer
        }
        .boxed()
    }

    fn read_resource(&self, uri: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
        let read = self.service.read_resource(uri);
        async move {
            let pending = self.begin("resources/read");
            let contents = NOTES.scope(Arc::clone(&pending.notes), read).await;
            let (rows, bytes, outcome) = match &contents {
                Ok(ResourceContents::Text { text, .. }) => (1, text.len(), "ok"),
                Ok(ResourceContents::Blob { bytes, .. }) => (1, bytes.len(), "ok"),
                Err(ResourceError::InvalidUri(_)) => (0, 0, "invalid_uri"),
                Err(ResourceError::NotFound { .. }) => (0, 0, "not_found"),
                Err(ResourceError::Failed { data, .. }) => {
                    (0, 0, data.get("code").and_then(Value::as_str).unwrap_or("failed"))
                }
            };
            pending.end(Ended { rows, bytes, outcome: outcome.to_owned() });
            contents
        }
        .boxed()
    }
}

fn outcome(answer: &ToolAnswer) -> String {
    if !answer.is_error {
        return "ok".to_owned();
    }
    let structured = answer.structured_map();
    let code = structured.get("error").and_then(|error| error.get("code")?.as_str());
    code.unwrap_or("error").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::write::Written;
    use serde_json::json;

    #[derive(Default)]
    struct Kept(Mutex<Vec<Access>>);

    impl AccessSink for Kept {
        fn record(&self, access: Access) {
            self.0.lock().unwrap().push(access);
        }
    }

    /// Answers `search` with two hits, `query_records` never, and everything else with an error.
    struct Scripted;

    impl Service for Scripted {
        fn offer(&self) -> Offer {
            Offer { names: &[], tools: Arc::new([]), instructions: "", resource_templates: Arc::new([]) }
        }

        fn call(&self, tool: &str, _arguments: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
            let tool = tool.to_owned();
            async move {
                note("https://a.example", Some("g1"), "schema", &[]);
                note("https://a.example", Some("g1"), "search", &["mail", "notes"]);
                // Only asked whether it has such a stream.
                note("https://a.example", Some("g2"), "schema", &[]);
                note("https://a.example", Some("g1"), "search", &["mail"]);
                let (structured, rows) = match tool.as_str() {
                    "search" => {
                        note_streams(["chat", "mail"].into_iter());
                        (json!({"results": []}), 2)
                    }
                    "query_records" => std::future::pending().await,
                    _ => (json!({"error": {"code": "invalid_id"}}), 0),
                };
                let (is_error, structured) =
                    (structured.get("error").is_some(), Some(Written::of(&structured)));
                ToolAnswer { text: "canary".to_owned(), structured, is_error, rows }
            }
            .boxed()
        }

        fn read_resource(&self, _uri: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
            async { Ok(ResourceContents::Blob { media_type: None, bytes: vec![0; 7] }) }.boxed()
        }
    }

    fn arguments() -> Map<String, Value> {
        Map::from_iter([("q".to_owned(), json!("canary"))])
    }

    #[tokio::test]
    async fn a_call_is_told_with_its_grant_streams_and_size_and_nothing_of_what_it_says() {
        let kept = Arc::new(Kept::default());
        let recorded = Recorded::new(Scripted, Arc::clone(&kept) as _);
        let asking = Caller { name: "Host".to_owned(), version: "1".to_owned() };
        caller::of_caller(Some(asking.clone()), recorded.call("search", arguments())).await;
        recorded.call("fetch", arguments()).await;
        recorded.read_resource("pdpp://blob/canary").await.unwrap();
        let mut seen = kept.0.lock().unwrap().clone();
        assert!(!format!("{seen:?}").contains("canary"));
        for access in &mut seen {
            access.took = Duration::ZERO;
        }
        let found = Access {
            caller: Some(asking),
            tool: "search".to_owned(),
            grants: vec![("https://a.example".to_owned(), Some("g1".to_owned()))],
            streams: ["mail", "notes", "chat"].map(str::to_owned).to_vec(),
            rows: 2,
            bytes: "canary".len() + r#"{"results":[]}"#.len(),
            outcome: "ok".to_owned(),
            took: Duration::ZERO,
        };
        assert_eq!(seen[0], found);
        assert_eq!((seen[1].outcome.as_str(), seen[1].rows, &seen[1].caller), ("invalid_id", 0, &None));
        assert_eq!((seen[2].tool.as_str(), seen[2].bytes), ("resources/read", 7));
    }

    #[test]
    fn look_ups_alone_are_what_was_read() {
        let grants = |read: [bool; 2]| {
            let noted = ["g1", "g2"].into_iter().zip(read);
            let noted =
                noted.map(|(id, is_read)| ("https://a.example".to_owned(), Some(id.to_owned()), is_read));
            Notes::grants_read(noted.collect()).len()
        };
        assert_eq!((grants([false, false]), grants([true, false]), grants([true, true])), (2, 1, 2));
    }

    #[tokio::test]
    async fn a_dropped_call_is_told_as_cancelled() {
        let kept = Arc::new(Kept::default());
        let recorded = Recorded::new(Scripted, Arc::clone(&kept) as _);
        let mut call = recorded.call("query_records", arguments());
        assert!(futures_util::poll!(&mut call).is_pending());
        drop(call);
        let seen = kept.0.lock().unwrap();
        assert_eq!((seen[0].outcome.as_str(), seen[0].streams.len()), ("cancelled", 2));
    }
}
