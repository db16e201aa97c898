//! Selects the one grant that a call is for (R6.4) from what is known here; otherwise lists what to choose from
//! (R5.3, R6.6).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use super::member::{Has, Member};
use super::missing::{OR_ANOTHER, not_granted, nothing_served};
use super::roster::Package;
use crate::advice::Command;
use crate::mcp::call::Call;
use crate::mcp::tool_error::{Candidate, ToolError};

/// What a call reveals about the grant that it is for.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The call.
    pub call: &'a Call,
    /// The connection that it names.
    pub connection: Option<&'a str>,
    /// The stream that it names.
    pub stream: Option<&'a str>,
}

impl Package {
    /// The one grant that a call is for (R6.4).
    ///
    /// # Errors
    /// Returns what to choose from (R5.3, R6.6), that no grant has it, or that the grant that has it has ended.
    pub fn route(&self, target: Target<'_>) -> Result<Arc<Member>, ToolError> {
        let members = self.members();
        let first = members.first().ok_or_else(nothing_served)?;
        match (target.connection, target.stream) {
            (Some(connection), stream) => self.by_connection(connection, stream),
            (None, Some(stream)) => by_stream(&members, target.call, stream).or_else(|refused| {
                // A caller is not asked to choose a grant that is gone.
                self.reread();
                match self.members().as_slice() {
                    [] => Err(refused),
                    fresh => by_stream(fresh, target.call, stream),
                }
            }),
            (None, None) => Ok(Arc::clone(first)),
        }
    }

    pub(super) fn by_connection(
        &self,
        connection: &str,
        stream: Option<&str>,
    ) -> Result<Arc<Member>, ToolError> {
        let holders = |members: &[Arc<Member>]| {
            members.iter().filter(|member| member.has_connection(connection)).cloned().collect::<Vec<_>>()
        };
        let mut found = holders(&self.members());
        if found.is_empty() {
            self.reread();
            found = holders(&self.members());
        }
        let providers = providers_of(&found);
        if providers.len() > 1 {
            return Err(of_two_providers(connection, &providers));
        }
        if found.is_empty() {
            // Nothing names its grant; if the connections of only one grant are unknown, it must belong to that one.
            let members = self.members();
            let mut unknown = members.iter().filter(|member| member.knows_no_connection());
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
        // Grants of one provider that share a connection: prefer one that has the stream and can be read.
        found.sort_by_key(|member| {
            (stream.map(|stream| member.has_stream(stream)), member.unusable().is_some())
        });
        let member = found.swap_remove(0);
        match member.unusable() {
            // A refused grant is asked again: it may have been approved again.
            Some(why) if !member.reader().is_refused() => Err(why.or_next(OR_ANOTHER)),
            _ => Ok(member),
        }
    }
}

/// The grant that has the stream, if there is only one; otherwise what to choose from (R5.3, R6.6).
fn by_stream(members: &[Arc<Member>], call: &Call, stream: &str) -> Result<Arc<Member>, ToolError> {
    let mut able =
        members.iter().filter(|member| member.has_stream(stream) != Has::No).cloned().collect::<Vec<_>>();
    able.sort_by_key(|member| member.has_stream(stream));
    if able.is_empty() {
        return Err(not_granted(stream, members.len()));
    }
    if let [only] = able.as_slice() {
        return match only.unusable() {
            Some(why) if !only.reader().is_refused() => Err(why.or_next(OR_ANOTHER)),
            _ => Ok(Arc::clone(only)),
        };
    }
    let (usable, unusable): (Vec<_>, Vec<_>) = able.iter().partition(|member| member.unusable().is_none());
    let candidates = candidates_of(usable.iter().copied(), Some(stream));
    if let [only] = candidates.as_slice()
        && able.iter().all(|member| {
            let named = member.candidates(Some(stream));
            member.reader().provider() == usable[0].reader().provider()
                && matches!(named.as_slice(), [named] if named.connection_id == only.connection_id)
        })
    {
        // Several grants of one account: a choice could not tell them apart.
        return Ok(Arc::clone(usable[0]));
    }
    let providers = |connection: &str| {
        providers_of(usable.iter().copied().filter(|member| member.has_connection(connection)))
    };
    let clear = candidates.iter().find(|candidate| providers(&candidate.connection_id).len() < 2);
    if let (None, Some(shared)) = (clear, candidates.first()) {
        // Naming the connection would not identify the grant either.
        return Err(of_two_providers(&shared.connection_id, &providers(&shared.connection_id)));
    }
    let mut error = ToolError::new(
        "ambiguous_connection",
        format!("{} grants may have a stream `{stream}`, and the call does not say which one", able.len()),
        match clear {
            Some(first) => format!(
                "repeat the call with one of these connection_id values, e.g. {}",
                call.with([("connection_id", Some(json!(first.connection_id)))])
            ),
            None => "schema {} lists the connections of every grant".to_owned(),
        },
    )
    .with("status", 409)
    .with("param", "connection_id");
    if let Some(member) = unusable.first() {
        let others =
            if unusable.len() > 1 { format!(" and {} more", unusable.len() - 1) } else { String::new() };
        error = error.and(&format!(
            "; {}{others} cannot be read until approved again ({})",
            crate::text::prefix(&member.label, 100),
            member.reader().audience().brief()
        ));
    }
    Err(error.choose_from(candidates))
}

/// The connections of several grants, each listed once however many grants share it.
pub(super) fn candidates_of<'a>(
    members: impl IntoIterator<Item = &'a Arc<Member>>,
    stream: Option<&str>,
) -> Vec<Candidate> {
    let mut seen = BTreeSet::new();
    let mut candidates = Vec::new();
    for member in members {
        let provider = member.reader().provider().as_str();
        let fresh = member.candidates(stream).into_iter();
        candidates.extend(fresh.filter(|candidate| seen.insert((provider, candidate.connection_id.clone()))));
    }
    candidates
}

fn providers_of<'a>(members: impl IntoIterator<Item = &'a Arc<Member>>) -> BTreeSet<&'a str> {
    members.into_iter().map(|member| member.reader().provider().as_str()).collect()
}

/// The error for a connection that cannot be distinguished from another provider's (R6.7).
fn of_two_providers(connection: &str, providers: &BTreeSet<&str>) -> ToolError {
    let named = providers.iter().copied().take(3).collect::<Vec<_>>();
    let serve = named.iter().map(|url| Command::new("mcp serve").option("--provider", *url).to_string());
    ToolError::new(
        "ambiguous_provider",
        format!(
            "the connection `{connection}` exists at {}: the choice is never guessed",
            named.join(" and at ")
        ),
        format!(
            "tell the user: serve one of them at a time, with {}; or remove a grant that is not needed from this computer, with {}",
            serve.collect::<Vec<_>>().join(" or "),
            Command::new("disconnect"),
        ),
    )
    .with("param", "connection_id")
}
