//! What an answer says about the grants that are missing from it (R6.5).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::member::Member;
use crate::advice::Command;
use crate::mcp::call::{Call, Tool};
use crate::mcp::reading::audience::ask_to_run;
use crate::mcp::size::prefix_on_wire;
use crate::mcp::tool_error::ToolError;

/// The maximum number of missing grants that one answer names, each with the reason; the others are counted.
const MAX_NAMED: usize = 2;

/// A grant that returned nothing, and why.
pub type Failed = (Arc<Member>, ToolError);

/// The warnings about the grants that are missing from an answer: the first ones by name, the others counted.
pub fn warnings<'a>(missing: impl Iterator<Item = (&'a Arc<Member>, &'a ToolError)>) -> Vec<Value> {
    let missing = missing.collect::<Vec<_>>();
    let mut warnings =
        missing.iter().take(MAX_NAMED).map(|(member, error)| member.missing(error)).collect::<Vec<_>>();
    if let Some(further) = missing.len().checked_sub(MAX_NAMED).filter(|further| *further > 0) {
        warnings.push(
            json!({"code": "partial_results", "message": format!("nothing from {further} further grants either")}),
        );
    }
    warnings
}

/// The error when every grant failed: that is not an empty success (R6.5).
pub fn all_failed(failed: &[Failed]) -> ToolError {
    if let [(_, error)] = failed {
        return error.clone().or_next(OR_ANOTHER);
    }
    // A grant that understood the call and refused it is more informative than one that did not answer.
    let is_about_the_call = |error: &ToolError| {
        matches!(error.detail("status").and_then(Value::as_u64), Some(400 | 404 | 409 | 410 | 422))
    };
    if let Some((_, error)) = failed.iter().find(|(_, error)| is_about_the_call(error)) {
        return error.clone().and(&format!(" (none of {} grants answered)", failed.len()));
    }
    // An error that they all share is reported once, in full.
    if failed.windows(2).all(|pair| pair[0].1 == pair[1].1)
        && let Some((_, error)) = failed.first()
    {
        return error.clone().and(&format!(" (the same for all {} grants)", failed.len()));
    }
    let named = failed.iter().take(3).map(|(member, error)| {
        let code = prefix_on_wire(error.code(), 60);
        format!("{}: {code}", crate::text::prefix(&member.label, 60))
    });
    let mut named = named.collect::<Vec<_>>().join("; ");
    if failed.len() > 3 {
        named.push_str("; …");
    }
    let next = failed.iter().map(|(_, error)| error.next()).collect::<BTreeSet<_>>();
    ToolError::new(
        "all_grants_failed",
        format!("none of {} grants answered: {named}", failed.len()),
        next.into_iter().take(2).collect::<Vec<_>>().join("; "),
    )
}

/// What to do other than approve a grant again.
pub const OR_ANOTHER: &str = "; or choose another connection: schema {} lists them";

/// The error when no grant is left. A grant disappears only from the machine that keeps it, so this is for its owner.
pub fn nothing_served() -> ToolError {
    ToolError::new(
        "not_connected",
        "what was served here is no longer connected on this computer: it was disconnected, or renewed as another grant",
        ask_to_run(&Command::new("status")),
    )
}

/// The error that none of the grants has a stream of that name.
pub fn not_granted(streams: &str, grants: usize) -> ToolError {
    ToolError::new(
        "stream_not_granted",
        format!("none of the {grants} grants served here has a stream `{streams}`"),
        Call::new(Tool::Schema, json!({})),
    )
    .with("param", "stream")
}
