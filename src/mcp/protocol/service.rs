//! What a server offers, and what it answers with.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::{ResourceTemplate, Tool as Definition};
use serde_json::{Map, Value};

use crate::json::write::Written;

/// What a tool call gives back, in the two views that hosts show.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    /// The one text item of `content[]`: stands alone.
    pub text: String,
    /// `structuredContent`, an object, written once as it goes over the wire: stands alone too. Absent only where an error
    /// has nothing that fits the tool's output schema.
    pub structured: Option<Written>,
    /// `isError`.
    pub is_error: bool,
    /// Records, hits or groups in it, for whoever notes calls.
    pub rows: usize,
}

impl ToolAnswer {
    /// How many bytes the structured view takes.
    pub fn structured_len(&self) -> usize {
        self.structured.as_ref().map_or(0, Written::len)
    }

    /// The structured view, read.
    pub fn structured_map(&self) -> Map<String, Value> {
        match self.structured.as_ref().map(Written::read) {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        }
    }
}

/// What a resource read gives back.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceContents {
    /// Text, with its media type.
    Text {
        /// The media type.
        media_type: String,
        /// The text.
        text: String,
    },
    /// Bytes.
    Blob {
        /// The media type, if the provider said one.
        media_type: Option<String>,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

/// Why a resource could not be read, as JSON-RPC sees it.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceError {
    /// The URI is none of ours, or malformed: `-32602`.
    InvalidUri(String),
    /// There is no such thing in the grant: `-32002` (legacy eras) or `-32602` (2026-07-28).
    NotFound {
        /// What happened.
        message: String,
        /// The typed error.
        data: Value,
    },
    /// The provider refused or could not be read; `data` has the code, message and request id.
    Failed {
        /// What happened.
        message: String,
        /// The typed error.
        data: Value,
    },
}

/// What a host is told of a server.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The names of its tools, in the order in which they are listed.
    pub names: &'static [&'static str],
    /// The tools.
    pub tools: Arc<[Definition]>,
    /// What a host tells its model about the server.
    pub instructions: &'static str,
    /// The resource templates.
    pub resource_templates: Arc<[ResourceTemplate]>,
}

impl Offer {
    /// The tool of that name, in this program's own words.
    pub fn name_of(&self, name: &str) -> Option<&'static str> {
        self.names.iter().find(|known| **known == name).copied()
    }
}

#[cfg(test)]
impl Offer {
    /// An offer of tools that have nothing but their names.
    pub(super) fn of_names(names: &'static [&'static str]) -> Self {
        let tool = |name: &&'static str| Definition::new(*name, "", Arc::new(Map::new()));
        let tools = names.iter().map(tool).collect::<Vec<_>>().into();
        Self { names, tools, instructions: "", resource_templates: Arc::new([]) }
    }
}

/// What answers behind the protocol: the tools implement it, tests of the transport have their own.
///
/// A returned future may be dropped at any time; doing so aborts its upstream request.
pub trait Service: Send + Sync + 'static {
    /// What a host is told. Always the same.
    fn offer(&self) -> Offer;

    /// Calls a tool of the offer. Never panics on purpose, never fails: an error is an answer.
    fn call(&self, tool: &str, arguments: Map<String, Value>) -> BoxFuture<'_, ToolAnswer>;

    /// Is told of a call that was refused with `code` before it came to a tool: for whoever notes calls.
    fn refused(&self, tool: &str, code: &str) {
        let _ = (tool, code);
    }

    /// Reads a `pdpp://` resource.
    fn read_resource(&self, uri: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>>;
}
