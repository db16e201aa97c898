//! A grant's schema, whatever the provider has to tell it with.

pub mod core_only;
pub mod projection;

use serde_json::{Map, Value, json};

use super::source::Source;
use super::tool_error::ToolError;
use crate::provider::rs::Read;

/// The compact schema of the grant, or of one stream or connection of it (R3.1): as the provider gives
/// it; projected from the full one where it has no compact view (R3.2); put together from `/v1/streams`
/// where it has no schema at all.
///
/// # Errors
/// Those of [`Source::get`].
pub async fn compact(
    source: &Source,
    stream: Option<&str>,
    connection: Option<&str>,
) -> Result<Map<String, Value>, ToolError> {
    let scoped = |read: Read| read.with_some("stream", stream).with_some("connection_id", connection);
    let schema = Read::of(["schema"]);
    if source.is_known_core() {
        return core_only::assemble(source, stream, connection).await;
    }
    let body = match source.get(&scoped(schema.clone().with("view", "compact"))).await {
        Ok(envelope) => envelope.body,
        // It rejects the compact view: the full schema is projected.
        Err(error) if error.detail("status") == Some(&json!(400)) => source.get(&scoped(schema)).await?.body,
        Err(error) if error.detail("status") == Some(&json!(404)) => {
            // A provider of the draft's Core has no schema; any other 404 stands as it is.
            return match core_only::assemble(source, stream, connection).await {
                Ok(body) => {
                    source.set_core();
                    Ok(body)
                }
                Err(_) => Err(error),
            };
        }
        Err(error) => return Err(error),
    };
    Ok(projection::compact(body, stream, connection))
}

/// The typed error for what a Core-only provider does not have.
pub fn unsupported(what: &str, instead: &str) -> ToolError {
    ToolError::new(
        "unsupported_by_provider",
        format!("This provider has no {what} (it offers the core of PDPP v0.1: streams, records, blobs)"),
        instead.to_owned(),
    )
}
