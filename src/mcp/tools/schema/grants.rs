//! The schema of several grants: the index, or all rows of one stream.

use std::sync::Arc;

use super::fields::{describe, shown_before};
use super::index::{Parts, show_index};
use super::row::Row;
use crate::mcp::call::Call;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::package::{Member, Package, all_failed, not_granted};
use crate::mcp::size::Bounds;
use crate::mcp::tool_error::ToolError;
use crate::mcp::tools::answer_parts::data_answer;

/// The outcome of a schema call over the grants of a package.
pub enum OverGrants {
    /// An answer.
    Answer(ToolAnswer),
    /// Only this grant can have the stream, so only it is asked.
    OneOf(Arc<Member>),
}

/// Answers a call over all grants that can have its stream.
///
/// # Errors
/// Returns an error if no grant has it, if every grant failed (with their errors, R6.5), or if the cursor does not
/// belong to these grants.
pub async fn over_grants(
    package: &Package,
    call: &Call,
    stream: Option<&str>,
    bounds: Bounds,
) -> Result<OverGrants, ToolError> {
    let wanted = stream.map(|stream| [stream]);
    let (able, unable) = package.able(wanted.as_ref().map(<[_; 1]>::as_slice));
    if able.is_empty() && unable.is_empty() {
        return Err(not_granted(stream.unwrap_or_default(), package.members().len()));
    }
    if let ([only], [], Some(_)) = (able.as_slice(), unable.as_slice(), stream) {
        return Ok(OverGrants::OneOf(Arc::clone(only)));
    }
    let schema = package.schema(&able, unable, stream).await;
    let parts = Parts::of(schema.parts);
    // Nothing is left to show from the grants that answered: the rest belongs to those that did not.
    let is_over = stream.is_none() && parts.is_at_end(call.text("cursor"));
    if schema.answered == 0 || (is_over && !schema.missing.is_empty()) {
        return Err(all_failed(&schema.missing));
    }
    let Some(stream) = stream else {
        return show_index(call, schema.body, Some(&parts), bounds).map(OverGrants::Answer);
    };
    let shown = shown_before(call)?;
    if Row::all(&schema.body).is_empty() {
        return Err(ToolError::new(
            "stream_not_granted",
            format!("no grant served here holds a stream `{stream}`"),
            "schema {} lists the granted streams",
        )
        .with("param", "stream"));
    }
    let (text, body, next) = describe(call, schema.body, shown, bounds)?;
    Ok(OverGrants::Answer(data_answer(text, &body, next)))
}
