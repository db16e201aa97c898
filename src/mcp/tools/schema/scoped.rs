//! One stream of one grant.

use serde_json::json;

use super::fields::{answer_with_legend, describe, shown_before};
use super::row::Row;
use crate::mcp::call::{Call, Tool};
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::reader::Reader;
use crate::mcp::reading::schema::of_grant;
use crate::mcp::tool_error::ToolError;
use crate::mcp::tools::context::Context;
use crate::mcp::tools::explanation::{every_stream, unknown_connection, unknown_stream};

pub(super) async fn scoped(
    context: Context<'_>,
    call: &Call,
    stream: &str,
    connection: Option<&str>,
) -> Result<ToolAnswer, ToolError> {
    let shown = shown_before(call)?;
    let body = of_grant(context.reader, Some(stream), connection).await?;
    if Row::all(&body).is_empty() {
        return Err(not_granted(context.reader, call, stream, connection).await);
    }
    let (text, body, next) = describe(call, body, shown, context.bounds)?;
    Ok(answer_with_legend(text, &body, next))
}

/// The error for a stream that does not exist: its schema is empty, and would look like a stream without
/// fields.
pub(super) async fn not_granted(
    reader: &Reader,
    call: &Call,
    stream: &str,
    connection: Option<&str>,
) -> ToolError {
    let all = every_stream(reader).await;
    if let Some(connection) = connection.filter(|_| all.iter().any(|(name, _)| name == stream)) {
        let message = format!("connection `{connection}` has no stream `{stream}`");
        let error = ToolError::new("stream_not_granted", message, Call::new(Tool::Schema, json!({})));
        return unknown_connection(error, call, stream, connection, &all);
    }
    let message = format!("The grant holds no stream `{stream}`");
    let error = ToolError::new("stream_not_granted", message, Call::new(Tool::Schema, json!({})));
    unknown_stream(error.with("param", "stream"), stream, &all)
}
