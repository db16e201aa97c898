//! What is said of grants that are missing in an answer (R6.5).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::member::Member;
use crate::advice::Command;
use crate::mcp::call::{Call, Tool};
use crate::mcp::reading::audience::ask_to_run;
use crate::mcp::size::prefix_on_wire;
use crate::mcp::tool_error::ToolError;

/// Most missing grants that one answer names, each with why; the others are counted.
const MAX_NAMED: usize = 2;

/// A grant that gives nothing, and why.
pub type Failed = (Arc<Member>, ToolError);

/// What to say of grants that are missing in an answer: the first by name, the others counted.
pub fn warnings<'a>(missing: impl Iterator<Item = (&'a Arc<Member>, &'a ToolError)>) -> Vec<Value> {
    let missing = missing.collect::<Vec<_>>();
    let mut warnings =
        missing.iter().take(MAX_NAMED).map(|(member, error)| member.missing(error)).collect::<Vec<_>>();
    if let Some(further) = missing.len().checked_sub(MAX_NAMED).filter(|further| *further > 0) {
        warnings.push(
            json!({"code": "partial_results", "message": format!("nothing of {further} further grants either")}),
        );
    }
    warnings
}

/// Every grant that was asked, or would have been, failed: that is no empty success (R6.5).
pub fn all_failed(failed: &[Failed]) -> ToolError {
    if let [(_, error)] = failed {
        return error.clone().or_next(OR_ANOTHER);
    }
    // One that understood the call and refuses it says more than one that is not there.
    let is_about_the_call = |error: &ToolError| {
        matches!(error.detail("status").and_then(Value::as_u64), Some(400 | 404 | 409 | 410 | 422))
    };
    if let Some((_, error)) = failed.iter().find(|(_, error)| is_about_the_call(error)) {
        return error.clone().and(&format!(" (none of {} grants gave an answer)", failed.len()));
    }
    // What they all say alike is said once, whole.
    if failed.windows(2).all(|pair| pair[0].1 == pair[1].1)
        && let Some((_, error)) = failed.first()
    {
        return error.clone().and(&format!(" (the same for all of {} grants)", failed.len()));
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
        format!("none of {} grants gave an answer: {named}", failed.len()),
        next.into_iter().take(2).collect::<Vec<_>>().join("; "),
    )
}

/// What else to do than approve a grant again.
pub const OR_ANOTHER: &str = "; or choose another connection: schema {} lists those there are";

/// A grant can only be gone from the machine that it is kept on: this is for its owner.
pub fn nothing_served() -> ToolError {
    ToolError::new(
        "not_connected",
        "what is served here is not connected on this machine any more: it was disconnected, or renewed as another grant",
        ask_to_run(&Command::new("status")),
    )
}

/// That none of the grants has a stream of that name.
pub fn not_granted(streams: &str, grants: usize) -> ToolError {
    ToolError::new(
        "stream_not_granted",
        format!("none of the {grants} grants served here has a stream `{streams}`"),
        Call::new(Tool::Schema, json!({})),
    )
    .with("param", "stream")
}
