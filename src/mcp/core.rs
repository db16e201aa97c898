//! The tool core: from a call to a bounded answer in both views.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::evidence::Bounds;
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

    async fn answer(&self, tool: &str, given: Map<String, Value>) -> Result<ToolAnswer, ToolError> {
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
