//! Reads by HTTP, told to whoever keeps a log of them: never what was asked for or answered.

use std::time::Duration;

use serde_json::Value;

use super::rs::Answer;
use super::rs::read::Resource;

/// One read within a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRead {
    /// Where it was sent: `http://127.0.0.1:7378`.
    pub base: String,
    /// The grant.
    pub grant_id: String,
    /// The program whose grant it is, as it calls itself.
    pub client: String,
    /// What was read, by the name of the tool that does the same.
    pub tool: &'static str,
    /// The streams that were read, each once.
    pub streams: Vec<String>,
    /// Records or hits in the answer.
    pub rows: usize,
    /// Size of the answer.
    pub bytes: usize,
    /// `ok`, or the error's code.
    pub outcome: String,
    /// How long it took.
    pub took: Duration,
}

/// Takes note of reads. Must return at once, and cannot fail one.
pub trait ReadSink: Send + Sync + 'static {
    /// A read was answered.
    fn record(&self, read: HttpRead);
}

/// The tool that reads what is at `resource`.
pub(super) const fn tool(resource: &Resource) -> &'static str {
    match resource {
        Resource::Schema | Resource::Connectors | Resource::Streams | Resource::Stream(_) => "schema",
        Resource::Records(_) => "query_records",
        Resource::Record(..) => "fetch",
        Resource::FieldWindow(..) => "read_record_field",
        Resource::Aggregate(_) => "aggregate",
        Resource::Search => "search",
        Resource::Blob(_) => "resources/read",
    }
}

/// The streams that a read of `resource` was about: those that it names, and those of its hits.
pub(super) fn streams(resource: &Resource, answer: Option<&Answer>) -> Vec<String> {
    match resource {
        Resource::Stream(stream)
        | Resource::Records(stream)
        | Resource::Record(stream, _)
        | Resource::FieldWindow(stream, _)
        | Resource::Aggregate(stream) => vec![stream.clone()],
        Resource::Search => {
            let mut found: Vec<String> = Vec::new();
            for stream in rows_of(answer).iter().filter_map(|hit| hit.get("stream")?.as_str()) {
                if !found.iter().any(|known| known == stream) {
                    found.push(stream.to_owned());
                }
            }
            found
        }
        Resource::Schema | Resource::Connectors | Resource::Streams | Resource::Blob(_) => Vec::new(),
    }
}

/// How many records, hits or groups an answer has.
pub(super) fn rows(resource: &Resource, answer: Option<&Answer>) -> usize {
    match (resource, answer) {
        (Resource::Records(_) | Resource::Search | Resource::Aggregate(_), _) => rows_of(answer).len(),
        (Resource::Record(..) | Resource::FieldWindow(..) | Resource::Blob(_), Some(_)) => 1,
        _ => 0,
    }
}

fn rows_of(answer: Option<&Answer>) -> &[Value] {
    let Some(Answer::Json(body)) = answer else { return &[] };
    let rows = body.get("data").or_else(|| body.get("groups"));
    rows.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
