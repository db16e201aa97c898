//! The tool core: from a call to a bounded answer in both views.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::mcp::protocol::service::ReadSurface;
use crate::mcp::protocol::service::ResourceContents;
use crate::mcp::protocol::service::ResourceError;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::source::Source;
use crate::mcp::render::{Bounds, json_len};
use crate::mcp::tool_error::ToolError;
use crate::mcp::tools;
use crate::mcp::tools::arguments::Arguments;
use crate::mcp::tools::resource;

/// The six tools over a source.
pub struct Core {
    source: Source,
    bounds: Bounds,
}

impl Core {
    /// The tools over `source`, each result within `bounds`.
    pub const fn new(source: Source, bounds: Bounds) -> Self {
        Self { source, bounds }
    }

    /// What the tools read from.
    pub const fn source(&self) -> &Source {
        &self.source
    }

    /// How large a result may be.
    pub const fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Answers a call, or says in a typed way why not.
    ///
    /// # Errors
    /// Whatever a tool refuses, and what its provider did.
    pub async fn try_call(&self, tool: &str, arguments: Map<String, Value>) -> Result<ToolAnswer, ToolError> {
        // The index of a grant may grow by its names (R3.3).
        let is_index = tool == "schema" && !arguments.contains_key("stream");
        let answer = self.answer(tool, arguments).await?;
        self.within_bounds(answer, is_index)
    }

    /// A continuation repeats the arguments: longer ones would leave no room for what is asked for.
    pub(in crate::mcp) fn check_length(&self, tool: &str, given: &Map<String, Value>) -> Result<(), ToolError> {
        let bound = self.bounds.text.min(self.bounds.structured);
        // A record's id and a field's name, which these two take, are as long as they are.
        let most = if matches!(tool, "fetch" | "read_record_field") { bound * 5 / 8 } else { bound / 4 };
        let length = json_len(given);
        if length <= most {
            return Ok(());
        }
        Err(ToolError::new(
            "arguments_too_long",
            format!("the arguments take {length} bytes of JSON; {tool} takes at most {most} here"),
            "ask for less in one call: fewer fields, a shorter q or filter",
        ))
    }

    /// The last resort: every tool keeps its bounds by itself, for every answer that makes sense. One that
    /// does not (a schema with a megabyte where a name belongs) is refused rather than shown beyond them.
    pub(in crate::mcp) fn within_bounds(&self, answer: ToolAnswer, is_index: bool) -> Result<ToolAnswer, ToolError> {
        let structured = answer.structured.as_ref().map_or(0, json_len);
        if is_index
            || answer.is_error
            || (answer.text.len() <= self.bounds.text && structured <= self.bounds.structured)
        {
            return Ok(answer);
        }
        Err(ToolError::new(
            "answer_too_large",
            "The provider's answer does not fit a result, however it is cut",
            "ask for less (limit, fields, connection_id); if it stays so, tell the user that the provider answers nonsense",
        ))
    }

    async fn answer(&self, tool: &str, given: Map<String, Value>) -> Result<ToolAnswer, ToolError> {
        self.check_length(tool, &given)?;
        if let Some(remote) = self.source.remote() {
            return remote.call(&self.source, self.bounds, tool, given).await;
        }
        match tool {
            "schema" => tools::schema::run(self, Arguments::new("schema", given)?).await,
            "query_records" => tools::query_records::run(self, Arguments::new("query_records", given)?).await,
            "aggregate" => tools::aggregate::run(self, Arguments::new("aggregate", given)?).await,
            "search" => tools::search::run(self, Arguments::new("search", given)?).await,
            "fetch" => tools::fetch::run(self, Arguments::new("fetch", given)?).await,
            "read_record_field" => {
                tools::read_record_field::run(self, Arguments::new("read_record_field", given)?).await
            }
            _ => Err(ToolError::new(
                "unknown_tool",
                format!("there is no tool `{tool}`"),
                "tools/list names the six",
            )),
        }
    }
}

impl ReadSurface for Core {
    fn call(&self, tool: &str, arguments: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
        let tool = tool.to_owned();
        async move { self.try_call(&tool, arguments).await.unwrap_or_else(ToolAnswer::from) }.boxed()
    }

    fn read_resource(&self, uri: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
        let uri = uri.to_owned();
        async move { resource::read(self, &uri).await }.boxed()
    }
}
