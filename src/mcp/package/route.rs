//! Which one grant a call is for (R6.4), from what is known here; else what to choose from (R5.3, R6.6).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use super::child::{Child, Has};
use super::{OR_ANOTHER, Package, not_granted, nothing_served};
use crate::mcp::arguments::{Arguments, call as call_text};
use crate::mcp::id::RecordId;
use crate::mcp::tool_error::{Candidate, ToolError};
use crate::text::shell_word;

impl Package {
    /// The one grant that a call is for (R6.4).
    pub(super) fn route(&self, arguments: &Arguments) -> Result<Arc<Child>, ToolError> {
        let children = self.children();
        let first = children.first().ok_or_else(nothing_served)?;
        let id = match arguments.text("id") {
            // What names no record is refused before anybody is asked, whoever that would be.
            Some(id) => match RecordId::parse(id) {
                Ok(id) => Some(id),
                Err(_) => return Ok(Arc::clone(first)),
            },
            None if arguments.tool() == "fetch" => return Ok(Arc::clone(first)),
            None => None,
        };
        let embedded = id.as_ref().and_then(|id| id.connection.as_deref());
        let connection = embedded.or(arguments.text("connection_id"));
        let stream = match &id {
            Some(id) => Some(id.stream.as_str()),
            None => arguments.text("stream"),
        };
        match (connection, stream) {
            (Some(connection), stream) => self.by_connection(connection, stream),
            (None, Some(stream)) => by_stream(&children, arguments, stream).or_else(|refused| {
                // Nobody is asked to choose between a grant and one that is gone.
                self.reread();
                match self.children().as_slice() {
                    [] => Err(refused),
                    fresh => by_stream(fresh, arguments, stream),
                }
            }),
            (None, None) => Ok(Arc::clone(first)),
        }
    }

    pub(super) fn by_connection(
        &self,
        connection: &str,
        stream: Option<&str>,
    ) -> Result<Arc<Child>, ToolError> {
        let holders = |children: &[Arc<Child>]| {
            children.iter().filter(|child| child.has_connection(connection)).cloned().collect::<Vec<_>>()
        };
        let mut found = holders(&self.children());
        if found.is_empty() {
            self.reread();
            found = holders(&self.children());
        }
        let providers = providers_of(&found);
        if providers.len() > 1 {
            return Err(of_two_providers(connection, &providers));
        }
        if found.is_empty() {
            // Nothing says whose it is; where only one grant's connections are unknown, it can only be its.
            let children = self.children();
            let mut unknown = children.iter().filter(|child| child.knows_no_connection());
            return match (unknown.next(), unknown.next()) {
                (Some(only), None) => Ok(Arc::clone(only)),
                _ => Err(ToolError::new(
                    "unknown_connection",
                    format!("no grant served here is known to have the connection `{connection}`"),
                    "schema {} lists the connections of every grant",
                )
                .with("param", "connection_id")),
            };
        }
        // Grants of one provider that share a connection: one that has the stream, and can be read.
        found.sort_by_key(|child| {
            (stream.map(|stream| child.has_stream(stream)), child.unusable().is_some())
        });
        let child = found.swap_remove(0);
        match child.unusable() {
            // One that was refused is asked again: it may have been approved again.
            Some(why) if !child.source().is_refused() => Err(why.or_next(OR_ANOTHER)),
            _ => Ok(child),
        }
    }
}

/// The grant that has the stream, where only one has; else what to choose from (R5.3, R6.6).
fn by_stream(children: &[Arc<Child>], arguments: &Arguments, stream: &str) -> Result<Arc<Child>, ToolError> {
    let mut able =
        children.iter().filter(|child| child.has_stream(stream) != Has::No).cloned().collect::<Vec<_>>();
    able.sort_by_key(|child| child.has_stream(stream));
    if able.is_empty() {
        return Err(not_granted(stream, children.len()));
    }
    if let [only] = able.as_slice() {
        return match only.unusable() {
            Some(why) if !only.source().is_refused() => Err(why.or_next(OR_ANOTHER)),
            _ => Ok(Arc::clone(only)),
        };
    }
    let (usable, unusable): (Vec<_>, Vec<_>) = able.iter().partition(|child| child.unusable().is_none());
    let candidates = candidates_of(usable.iter().copied(), Some(stream));
    if let [only] = candidates.as_slice()
        && able.iter().all(|child| {
            let named = child.candidates(Some(stream));
            child.source().provider() == usable[0].source().provider()
                && matches!(named.as_slice(), [one] if one.connection_id == only.connection_id)
        })
    {
        // Several grants of one account: a choice would not tell them apart.
        return Ok(Arc::clone(usable[0]));
    }
    let providers = |connection: &str| {
        providers_of(usable.iter().copied().filter(|child| child.has_connection(connection)))
    };
    let clear = candidates.iter().find(|one| providers(&one.connection_id).len() < 2);
    if let (None, Some(shared)) = (clear, candidates.first()) {
        // Naming it would not say which is meant either.
        return Err(of_two_providers(&shared.connection_id, &providers(&shared.connection_id)));
    }
    let mut error = ToolError::new(
        "ambiguous_connection",
        format!(
            "{} grants may have a stream `{stream}`, and the call does not say which is meant",
            able.len()
        ),
        match clear {
            Some(first) => format!(
                "repeat the call with one of these connection_id values, e.g. {}",
                call_text(
                    arguments.tool(),
                    &arguments.with([("connection_id", Some(json!(first.connection_id)))])
                )
            ),
            None => "schema {} lists the connections of every grant".to_owned(),
        },
    )
    .with("status", 409)
    .with("param", "connection_id");
    if let Some(child) = unusable.first() {
        let others =
            if unusable.len() > 1 { format!(" and {} more", unusable.len() - 1) } else { String::new() };
        error = error.and(&format!(
            "; {}{others} cannot be read until approved again ({})",
            crate::text::prefix(&child.label, 100),
            child.source().audience().brief()
        ));
    }
    Err(error.choose_from(candidates))
}

/// The connections of several grants, each once however many grants share it.
pub(super) fn candidates_of<'a>(
    children: impl IntoIterator<Item = &'a Arc<Child>>,
    stream: Option<&str>,
) -> Vec<Candidate> {
    let mut seen = BTreeSet::new();
    let mut candidates = Vec::new();
    for child in children {
        let provider = child.source().provider().as_str();
        let fresh = child.candidates(stream).into_iter();
        candidates.extend(fresh.filter(|one| seen.insert((provider, one.connection_id.clone()))));
    }
    candidates
}

fn providers_of<'a>(children: impl IntoIterator<Item = &'a Arc<Child>>) -> BTreeSet<&'a str> {
    children.into_iter().map(|child| child.source().provider().as_str()).collect()
}

/// A connection that cannot be told from another provider's (R6.7).
fn of_two_providers(connection: &str, providers: &BTreeSet<&str>) -> ToolError {
    let named = providers.iter().copied().take(3).collect::<Vec<_>>();
    let serve = named.iter().map(|url| format!("pdpp mcp serve --provider {}", shell_word(url)));
    ToolError::new(
        "ambiguous_provider",
        format!(
            "the connection `{connection}` is one of {}: which is meant is never guessed",
            named.join(" and of ")
        ),
        format!(
            "tell the user: serve one of them at a time, with {}",
            serve.collect::<Vec<_>>().join(" or ")
        ),
    )
    .with("param", "connection_id")
}
