//! What is said of grants that are missing in an answer (R6.5).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::OR_ANOTHER;
use super::child::Child;
use crate::mcp::render::prefix_on_wire;
use crate::mcp::tool_error::ToolError;

/// Most missing grants that one answer names, each with why; the others are counted.
const MAX_NAMED: usize = 2;

/// A grant that gives nothing, and why.
pub(super) type Failed = (Arc<Child>, ToolError);

/// What to say of grants that are missing in an answer: the first by name, the others counted.
pub(super) fn warnings<'a>(missing: impl Iterator<Item = (&'a Arc<Child>, &'a ToolError)>) -> Vec<Value> {
    let missing = missing.collect::<Vec<_>>();
    let mut warnings =
        missing.iter().take(MAX_NAMED).map(|(child, error)| child.missing(error)).collect::<Vec<_>>();
    if let Some(further) = missing.len().checked_sub(MAX_NAMED).filter(|further| *further > 0) {
        warnings.push(
            json!({"code": "partial_results", "message": format!("nothing of {further} further grants either")}),
        );
    }
    warnings
}

/// Every grant that was asked, or would have been, failed: that is no empty success (R6.5).
pub(super) fn all_failed(failed: &[Failed]) -> ToolError {
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
    let named = failed.iter().take(3).map(|(child, error)| {
        let code = prefix_on_wire(error.code(), 60);
        format!("{}: {code}", crate::text::prefix(&child.label, 60))
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
