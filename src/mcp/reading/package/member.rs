//! One grant of a package, and what is known about it without asking.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::mcp::reading::catalog::StreamFacts;
use crate::mcp::reading::paging;
use crate::mcp::reading::reader::Reader;
use crate::mcp::size::prefix_on_wire;
use crate::mcp::tool_error::{Candidate, ToolError};

/// The maximum size of the warning about a missing grant, in bytes: a warning of this length is never cut.
const MAX_WARNING: usize = 156;

/// The minimum size of the grant's label in it if a command next to it is long.
const LEAST_LABEL: usize = 12;

/// What is known about a source without asking: first from the index, later from the schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownSource {
    /// The connector's short key.
    pub connector_key: Option<String>,
    /// Connection ids and labels.
    pub connections: Vec<(String, Option<String>)>,
    /// Names of granted streams.
    pub streams: Vec<String>,
    /// Whether these are all granted streams.
    pub has_all_streams: bool,
}

impl KnownSource {
    /// The sources of all streams of a grant, each with its connector's key and its connections.
    pub fn of_streams(
        streams: impl IntoIterator<Item = (String, Option<String>, Vec<(String, Option<String>)>)>,
    ) -> Vec<Self> {
        let mut known: Vec<Self> = Vec::new();
        for (stream, connector_key, connections) in streams {
            let is_of =
                |known: &&mut Self| known.connector_key == connector_key && known.connections == connections;
            if let Some(source) = known.iter_mut().find(is_of) {
                source.streams.push(stream);
            } else {
                let streams = vec![stream];
                known.push(Self { connector_key, connections, streams, has_all_streams: true });
            }
        }
        known
    }
}

/// One grant of a package.
pub struct Member {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) reader: Reader,
    pub(super) ends: Option<Timestamp>,
    /// The sources that the index lists.
    pub(super) indexed: Arc<Vec<KnownSource>>,
    /// The same, until a schema adds to it.
    pub(super) known: Mutex<Arc<Vec<KnownSource>>>,
}

/// Whether a grant has a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Has {
    /// It has the stream.
    Yes,
    /// Nothing known here decides it.
    Unknown,
    /// It does not have the stream.
    No,
}

impl Member {
    /// A grant behind `reader`. `id` changes when its token is replaced, `label` is for people, and `ends` is when
    /// the grant stops working.
    pub fn new(
        id: String,
        label: String,
        reader: Reader,
        ends: Option<Timestamp>,
        known: Vec<KnownSource>,
    ) -> Self {
        let indexed = Arc::new(known);
        Self { id, label, reader, ends, known: Mutex::new(Arc::clone(&indexed)), indexed }
    }

    /// The reader of the grant.
    pub const fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Its name for people.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Its short name in cursors.
    pub fn key(&self) -> String {
        let (provider, grant) = self.grant();
        paging::branch_key(provider, grant)
    }

    /// What stays when its token is replaced: provider and grant id.
    pub(super) fn grant(&self) -> (&str, &str) {
        (self.reader.provider().as_str(), self.reader.grant_id().unwrap_or(&self.id))
    }

    pub(super) fn known(&self) -> Arc<Vec<KnownSource>> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds what was learned about the same grant under an earlier token, unless the index has changed.
    pub(super) fn taught_by(self, earlier: &Self) -> Self {
        if self.indexed != earlier.indexed {
            return self;
        }
        Self { known: Mutex::new(earlier.known()), ..self }
    }

    /// Learns from a whole compact schema.
    pub fn learn(&self, body: &Map<String, Value>) {
        let streams = StreamFacts::of_all_streams(body).into_iter();
        let known = KnownSource::of_streams(
            streams.map(|(stream, facts)| (stream, facts.connector_key, facts.connections)),
        );
        if !known.is_empty() {
            *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
        }
    }

    /// Whether the grant has the stream, as far as is known here.
    pub fn has_stream(&self, stream: &str) -> Has {
        let known = self.known();
        if known.iter().any(|source| source.streams.iter().any(|name| name == stream)) {
            Has::Yes
        } else if !known.is_empty() && known.iter().all(|source| source.has_all_streams) {
            Has::No
        } else {
            Has::Unknown
        }
    }

    /// Each connection that may have one of `streams` (all, if none are named), with the streams that it may have;
    /// empty if the connections are not known.
    pub fn connections_with(&self, streams: &[&str]) -> Vec<(String, Vec<String>)> {
        let mut found: Vec<(String, Vec<String>)> = Vec::new();
        for source in self.known().iter() {
            let may_have = |stream: &&&str| {
                !source.has_all_streams || source.streams.iter().any(|name| name == **stream)
            };
            let named = streams.iter().filter(may_have).map(|name| (*name).to_owned()).collect::<Vec<_>>();
            if named.is_empty() && !streams.is_empty() {
                continue;
            }
            for (id, _) in &source.connections {
                match found.iter_mut().find(|(known, _)| known == id) {
                    Some((_, known)) => {
                        known.extend(
                            named.iter().filter(|name| !known.contains(name)).cloned().collect::<Vec<_>>(),
                        );
                    }
                    None => found.push((id.clone(), named.clone())),
                }
            }
        }
        found
    }

    pub(super) fn has_connection(&self, id: &str) -> bool {
        self.known().iter().any(|source| source.connections.iter().any(|(known, _)| known == id))
    }

    /// Whether none of its connections is known.
    pub fn knows_no_connection(&self) -> bool {
        self.known().iter().all(|source| source.connections.is_empty())
    }

    /// The connections that could have the stream: those known to have it, otherwise those not known to lack it.
    pub(super) fn candidates(&self, stream: Option<&str>) -> Vec<Candidate> {
        let known = self.known();
        let named = |source: &&KnownSource| {
            stream.is_none_or(|stream| source.streams.iter().any(|name| name == stream))
        };
        let mut sources = known.iter().filter(named).collect::<Vec<_>>();
        if sources.is_empty() {
            sources = known.iter().filter(|source| !source.has_all_streams).collect();
        }
        let mut candidates: Vec<Candidate> = Vec::new();
        for source in sources {
            let key = source.connector_key.as_deref();
            for candidate in Candidate::of_source(self.reader.grant_id(), key, &source.connections) {
                if !candidates.iter().any(|known| known.connection_id == candidate.connection_id) {
                    candidates.push(candidate);
                }
            }
        }
        candidates
    }

    /// Why the grant cannot be read, if that is known without asking (R5.4).
    pub fn unusable(&self) -> Option<ToolError> {
        let provider = self.reader.provider();
        if self.ends.is_some_and(|end| end <= Timestamp::now()) {
            return Some(ToolError::new(
                "grant_expired",
                format!("the grant for {} has ended", self.label),
                self.reader.audience().next(),
            ));
        }
        self.reader.is_refused().then(|| {
            ToolError::new(
                "grant_refused",
                format!("{provider} refused the grant for {} within the last minute", self.label),
                self.reader.audience().next(),
            )
        })
    }

    /// The warning about this grant when it is missing from an answer.
    pub(super) fn missing(&self, error: &ToolError) -> Value {
        let next = if error.code() == "disconnected" {
            // It is no longer on this computer, so it cannot be renewed.
            format!(": {}", error.next())
        } else if self.unusable().is_some() {
            format!(": {}", self.reader.audience().brief())
        } else {
            String::new()
        };
        // A command is shown whole or not at all: the label is shortened instead.
        let code = prefix_on_wire(error.code(), 40);
        let room = MAX_WARNING.saturating_sub("nothing from  ()".len() + code.len() + next.len());
        let next = if room < LEAST_LABEL { ": see `pdpp status`" } else { next.as_str() };
        let label = crate::text::prefix(&self.label, room.clamp(LEAST_LABEL, 50));
        let message = format!("nothing from {label} ({code}){next}");
        json!({"code": "partial_results", "message": prefix_on_wire(&message, MAX_WARNING)})
    }
}
