//! The tool core: from a call to a bounded answer in both views.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::evidence::{Bounds, json_len};
use super::source::Source;
use super::tool_error::ToolError;
use super::{
    ReadSurface, ResourceContents, ResourceError, ToolAnswer, arguments::Arguments, resource, tools,
};

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

    /// A continuation repeats the arguments: longer ones would leave no room for what is asked for.
    fn check_length(&self, tool: &str, given: &Map<String, Value>) -> Result<(), ToolError> {
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

    async fn answer(&self, tool: &str, given: Map<String, Value>) -> Result<ToolAnswer, ToolError> {
        self.check_length(tool, &given)?;
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
        async move { self.answer(&tool, arguments).await.unwrap_or_else(ToolAnswer::from) }.boxed()
    }

    fn read_resource(&self, uri: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
        let uri = uri.to_owned();
        async move { resource::read(self, &uri).await }.boxed()
    }
}
