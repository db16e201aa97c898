//! `schema`: an index of the whole grant, or everything that one stream supports.

mod fields;
mod full;
mod grants;
mod index;
mod row;
mod scoped;

use serde_json::json;

use super::arguments::{Given, bad_name, foreign_cursor};
use super::context::Context;
use crate::mcp::call::{Call, Tool};
use crate::mcp::id::check_segment;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::schema::of_grant;
use crate::mcp::tool_error::ToolError;

use full::full;
pub use grants::{OverGrants, over_grants};
use index::{CURSOR, show_index};
use scoped::scoped;

/// The arguments of a call.
pub struct Arguments {
    /// The call as given.
    pub call: Call,
    /// Only this stream.
    pub stream: Option<String>,
    /// Only this connection.
    pub connection: Option<String>,
    /// Whether everything is requested: `detail: full`.
    pub is_full: bool,
}

impl Arguments {
    /// Reads a checked call.
    ///
    /// # Errors
    /// Returns `stream_required`, or an error for a cursor that this tool did not give, or gave for another call.
    pub fn parse(call: Call) -> Result<Self, ToolError> {
        let given = Given(&call);
        let (stream, connection) = (given.text("stream"), given.text("connection_id"));
        if let Some(stream) = &stream {
            check_segment("stream", stream).map_err(|error| bad_name("stream", &error))?;
        }
        let is_of_index = call.text("cursor").is_some_and(|cursor| cursor.starts_with(CURSOR));
        if call.has("cursor") && stream.is_none() && !is_of_index {
            return Err(foreign_cursor(&call)
                .hint("a cursor of fields works only with the stream that it was given for"));
        }
        let is_full = call.text("detail") == Some("full");
        if is_full && stream.is_none() {
            return Err(ToolError::new(
                "stream_required",
                "detail full is for one stream: a whole grant would not fit any context",
                Call::new(Tool::Schema, json!({})),
            )
            .hint("schema {} lists the streams, then schema(stream, connection_id, detail:\"full\")")
            .with("param", "stream"));
        }
        Ok(Self { call, stream, connection, is_full })
    }
}

/// Answers a call.
///
/// # Errors
/// Returns an error for a stream that the grant does not hold, or the provider's refusal, not explained yet.
pub async fn run(context: Context<'_>, arguments: &Arguments) -> Result<ToolAnswer, ToolError> {
    let connection = arguments.connection.as_deref();
    match arguments.stream.as_deref() {
        Some(stream) if arguments.is_full => full(context, &arguments.call, stream, connection).await,
        Some(stream) => scoped(context, &arguments.call, stream, connection).await,
        None => {
            let body = of_grant(context.reader, None, connection).await?;
            show_index(&arguments.call, body, None, context.bounds)
        }
    }
}
