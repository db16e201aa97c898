//! What a server offers, and how it answers.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::{ResourceTemplate, Tool as Definition};
use serde_json::{Map, Value};

use crate::json::write::Written;

/// The result of a tool call, in the two views that hosts show.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    /// The one text item of `content[]`; complete on its own.
    pub text: String,
    /// `structuredContent`, an object, written once in the form that is sent; also complete on its own. Absent only
    /// if an error has nothing that fits the tool's output schema.
    pub structured: Option<Written>,
    /// `isError`.
    pub is_error: bool,
    /// Records, hits or groups in the answer, for the access log.
    pub rows: usize,
}

impl ToolAnswer {
    /// The size of the structured view in bytes.
    pub fn structured_len(&self) -> usize {
        self.structured.as_ref().map_or(0, Written::len)
    }

    /// The structured view, parsed.
    pub fn structured_map(&self) -> Map<String, Value> {
        match self.structured.as_ref().map(Written::read) {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        }
    }
}

/// The result of a resource read.
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
        /// The media type, if the provider named one.
        media_type: Option<String>,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

/// Why a resource could not be read, as JSON-RPC reports it.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceError {
    /// The URI is not one of ours, or is malformed: `-32602`.
    InvalidUri(String),
    /// The grant does not contain it: `-32002` (legacy eras) or `-32602` (2026-07-28).
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

/// What a server tells a host about itself.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The names of its tools, in the order of the list.
    pub names: &'static [&'static str],
    /// The tools.
    pub tools: Arc<[Definition]>,
    /// What a host tells its model about the server.
    pub instructions: &'static str,
    /// The resource templates.
    pub resource_templates: Arc<[ResourceTemplate]>,
}

impl Offer {
    /// The tool of that name, as this program's own text.
    pub fn name_of(&self, name: &str) -> Option<&'static str> {
        self.names.iter().find(|known| **known == name).copied()
    }
}

#[cfg(test)]
impl Offer {
    /// An offer of tools that have only names.
    pub(super) fn of_names(names: &'static [&'static str]) -> Self {
        let tool = |name: &&'static str| Definition::new(*name, "", Arc::new(Map::new()));
        let tools = names.iter().map(tool).collect::<Vec<_>>().into();
        Self { names, tools, instructions: "", resource_templates: Arc::new([]) }
    }
}

/// Answers behind the protocol: the tools implement it, and tests of the transport have their own implementation.
///
/// A returned future may be dropped at any time; doing so aborts its upstream request.
pub trait Service: Send + Sync + 'static {
    /// What a host sees. Always the same.
    fn offer(&self) -> Offer;

    /// Calls a tool of the offer. Never panics on purpose and never fails: an error is an answer.
    fn call(&self, tool: &str, arguments: Map<String, Value>) -> BoxFuture<'_, ToolAnswer>;

    /// Is notified of a call that was refused with `code` before it reached a tool, for the access log.
    fn refused(&self, tool: &str, code: &str) {
        let _ = (tool, code);
    }

    /// Reads a `pdpp://` resource.
    fn read_resource(&self, uri: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>>;
}
