//! What a provider's refusal means for a call, and what to do next (R5.1, R5.5). The code, the message and the
//! request id stay the provider's; only the next step is ours. It is derived from the status, the code, the call and
//! what the schema declares, never from the words of a message, which differ from provider to provider.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::answer_parts::{is_missing, near};
use crate::mcp::call::{Call, Tool};
use crate::mcp::id::RecordId;
use crate::mcp::reading::catalog::{Declared, StreamFacts};
use crate::mcp::reading::filter::{Filter, TestKind};
use crate::mcp::reading::reader::Reader;
use crate::mcp::reading::schema::unsupported;
use crate::mcp::tool_error::{Candidate, ToolError};
use crate::provider::rs::Refusal;

/// The maximum number of names in one sentence.
const MAX_NAMES: usize = 12;

/// The parts of a call that an explanation needs.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The call.
    pub call: &'a Call,
    /// The one stream that it is about, if there is one.
    pub stream: Option<&'a str>,
    /// The connection that it names, also within an id.
    pub connection: Option<&'a str>,
    /// The record that it is about, if there is one.
    pub record: Option<&'a RecordId>,
}

impl<'a> Asked<'a> {
    fn has(&self, name: &str) -> bool {
        self.call.has(name)
    }

    fn stream(&self) -> &'a str {
        self.stream.unwrap_or_default()
    }

    /// The search mode, if it is not the lexical one.
    fn mode(&self) -> Option<&str> {
        self.call.text("mode").filter(|mode| self.call.tool == Tool::Search && *mode != "lexical")
    }

    fn filter(&self) -> Filter {
        self.call
            .arguments
            .get("filter")
            .and_then(Value::as_object)
            .and_then(Filter::from_json)
            .unwrap_or_default()
    }
}

/// The error with its meaning for the call. An error that is not a provider's refusal already explains itself.
pub async fn explain(reader: &Reader, asked: Asked<'_>, mut error: ToolError) -> ToolError {
    let Some(refusal) = error.take_refusal() else { return restart(error, asked.call) };
    if is_missing(&error)
        && matches!(asked.call.tool, Tool::Search | Tool::Aggregate)
        && reader.is_core().await
    {
        return of_core(asked.call.tool);
    }
    let facts = match asked.stream {
        Some(stream) if asked.record.is_some() => reader.known_facts(stream, asked.connection),
        _ => None,
    };
    let error = generic(reader, asked, &refusal, error);
    let error = match asked.record {
        Some(id) => missing_record(error, asked.call, id, facts.as_deref().map_or(&[], Vec::as_slice)),
        None => error,
    };
    specific(reader, asked, error).await
}

/// What a provider of the draft's Core does not support.
fn of_core(tool: Tool) -> ToolError {
    match tool {
        Tool::Search => {
            let instead = "page through query_records instead; schema {} lists the streams";
            unsupported("search", instead).offer(Some(Call::new(Tool::Schema, json!({}))))
        }
        tool => unsupported(tool.name(), "page through query_records and count what it gives"),
    }
}

/// What the status and the code mean on their own. A wrong argument, a dead token and a narrowed grant look alike on
/// the wire, but each needs a different next step.
fn generic(reader: &Reader, asked: Asked<'_>, refusal: &Refusal, error: ToolError) -> ToolError {
    let step = step(reader, asked, refusal);
    let error = match param_of(refusal, asked) {
        Some(param) => error.about(param),
        None => error,
    };
    let error = match step.hint {
        Some(hint) => error.hint(hint),
        None => error,
    };
    error.offer(step.call)
}

/// The argument that a refusal is about, if the provider does not name it.
fn param_of(refusal: &Refusal, asked: Asked<'_>) -> Option<&'static str> {
    if refusal.status == 404 && asked.mode().is_some() {
        return Some("mode");
    }
    let is_cursor =
        matches!(refusal.code.as_str(), "invalid_cursor" | "cursor_expired") || refusal.status == 410;
    // A bookmark is one of the provider's cursors too.
    is_cursor.then(|| if asked.has("changes_since") { "changes_since" } else { "cursor" })
}

/// A sentence, a call, or both.
struct Step {
    hint: Option<String>,
    call: Option<Call>,
}

fn say(sentence: impl Into<String>) -> Step {
    Step { hint: Some(sentence.into()), call: None }
}

fn step(reader: &Reader, asked: Asked<'_>, refusal: &Refusal) -> Step {
    let of_stream = asked.stream.filter(|_| !matches!(asked.call.tool, Tool::Search | Tool::Schema));
    let schema = || {
        let arguments = of_stream.map_or_else(|| json!({}), |stream| json!({"stream": stream}));
        Call::new(Tool::Schema, arguments)
    };
    let look = |hint: &str| Step { hint: Some(hint.to_owned()), call: Some(schema()) };
    let audience = reader.audience();
    match (refusal.status, refusal.code.as_str()) {
        // Wrong arguments that some providers answer with 401 (a client must not call the token dead).
        (_, "context.instance_mismatch") => {
            look("that connection_id is not in this grant; the schema lists those that are")
        }
        (_, "context.stream_not_allowed" | "grant_stream_not_allowed") => Step {
            hint: Some("that stream is not in this grant; the schema lists those that are".to_owned()),
            call: Some(Call::new(Tool::Schema, json!({}))),
        },
        (_, "grant_revoked") => say(format!("the owner has ended this grant; {}", audience.next())),
        (_, "grant_expired") => say(format!("this grant has expired; {}", audience.next())),
        (_, "grant_refused") => say(audience.next()),
        (_, "ambiguous_connection" | "ambiguous_schema_detail") => {
            say("repeat the call with one of these connection_id values")
        }
        (_, "field_not_granted" | "unknown_field") => look("the schema lists the granted fields"),
        (_, "invalid_sort" | "invalid_expand") => look("the schema lists what is accepted"),
        (_, "invalid_cursor") if asked.has("changes_since") => {
            say("changes_since is \"beginning\" or a next_changes_since that an answer gave")
        }
        (_, "invalid_cursor") => {
            say("start again without cursor; a cursor works only with the call that gave it")
        }
        (404, code) if code.contains("match") => {
            say("the words are not together in that field; try one of them, or read from offset_chars 0")
        }
        (410, _) | (_, "cursor_expired") => say("the cursor is too old: start again without it"),
        (422, "field_not_text") => not_text(asked),
        (429, _) => say(format!(
            "wait {} s, then repeat the call; ask for more per call (limit, aggregate)",
            refusal.retry_after.unwrap_or(60)
        )),
        (401, _) => say(format!("the credential is no longer accepted; {}", audience.next())),
        (403, _) => look("the grant does not allow this; the schema lists what it does"),
        (404, _) if asked.mode().is_some() => {
            say("this provider has no search with that mode: leave mode out, then search finds words")
        }
        (404, _) if asked.record.is_some() => say(
            "no such record here, or it was deleted; check id and connection_id with search or query_records",
        ),
        (404, _) => look("the schema lists what exists"),
        (400 | 409 | 422, _) => look("correct the call; the schema lists what is accepted"),
        (500.., _) => say("the provider failed; repeat the call once, then tell the user"),
        _ => say("tell the user"),
    }
}

/// The step for a field that has no windows: it is read with its record.
fn not_text(asked: Asked<'_>) -> Step {
    let fields = asked.call.text("field_path").into_iter().collect::<Vec<_>>();
    match asked.record.and_then(RecordId::handle) {
        Some(id) => Step {
            hint: Some("that field is not text: fetch reads it whole".to_owned()),
            call: Some(Call::new(Tool::Fetch, json!({"id": id, "fields": fields}))),
        },
        None => say("that field is not text; fetch the record instead"),
    }
}

/// Adds what the schema and the call itself show.
async fn specific(reader: &Reader, asked: Asked<'_>, error: ToolError) -> ToolError {
    let (stream, connection) = (asked.stream(), asked.connection);
    match error.code() {
        "context.stream_not_allowed" | "grant_stream_not_allowed" | "stream_not_found" => {
            let all = every_stream(reader).await;
            let named = asked.call.texts("streams").unwrap_or_default();
            let is_granted = |name: &str| all.iter().any(|(known, _)| known == name);
            let wrong = named.into_iter().find(|name| !is_granted(name)).unwrap_or(stream);
            unknown_stream(error, wrong, &all)
        }
        "ambiguous_connection" if asked.stream.is_some() => {
            let facts = reader.facts(stream, None).await;
            let all = if facts.is_empty() { every_stream(reader).await } else { Vec::new() };
            if !all.is_empty() && !all.iter().any(|(name, _)| name == stream) {
                // Choosing a connection does not help if none has the stream.
                let message = format!("none of the grants here has a stream `{}`", crate::text::prefix(stream, 80));
                let error = ToolError::new("stream_not_granted", message, "").with("param", "stream");
                return unknown_stream(error, stream, &all);
            }
            let has_stream = |id: &str| {
                facts.iter().flat_map(|facts| &facts.connections).any(|(known, _)| known == id)
            };
            error.narrow_candidates(|candidate| has_stream(&candidate.connection_id))
        }
        // A provider's hosted tools may report a wrong connection only as not found.
        "context.instance_mismatch" | "not_found" if is_about_the_connection(&error, connection) => {
            let given = asked.call.text("connection_id").or(connection);
            let all = every_stream(reader).await;
            let is_stream = |(name, _): &(String, StreamFacts)| name == stream;
            match given {
                // Neither the connection nor the stream exists: no choice of a connection helps with the stream.
                Some(_) if error.code() == "not_found" && !all.is_empty() && !all.iter().any(is_stream) => {
                    unknown_stream(error.choose_from(Vec::new()).without("retry_with"), stream, &all)
                }
                // If the schema cannot be read, only the provider's own message is known.
                Some(given) if !all.is_empty() => unknown_connection(error, asked.call, stream, given, &all),
                _ => error.without("status"),
            }
        }
        "unknown_field" | "field_not_granted" | "field_not_found" => unknown_field(reader, error, asked).await,
        "invalid_sort" => unsorted(error, asked.call, &reader.facts(stream, connection).await),
        "invalid_cursor" if asked.has("changes_since") => error
            .about("changes_since")
            .hint(
                "changes_since is \"beginning\" or a next_changes_since of this same stream; for records since a date, \
                 filter the time field: {\"FIELD\":{\"gte\":\"YYYY-MM-DD\"}}",
            ),
        _ if asked.has("cursor") && is_about_the_cursor(&error) => restart(error, asked.call),
        _ if error.detail("status") == Some(&json!(400)) => {
            let facts = match asked.stream {
                Some(stream) => reader.facts(stream, connection).await,
                None => std::sync::Arc::default(),
            };
            misused(error, asked, &facts)
        }
        _ => error,
    }
}

/// Whether a refusal is about the named connection: by its code, or because it lists others to choose from.
fn is_about_the_connection(error: &ToolError, connection: Option<&str>) -> bool {
    error.code() == "context.instance_mismatch"
        || (connection.is_some() && error.detail("retry_with").is_some())
}

/// Explains a call that the provider refuses with 400, by the first of its arguments that the schema, or the call
/// itself, shows to be wrong.
fn misused(error: ToolError, asked: Asked<'_>, facts: &[StreamFacts]) -> ToolError {
    let (call, stream) = (asked.call, asked.stream());
    let filter = asked.filter();
    if names_what_owners_take(&error) {
        return not_for_a_grant(error, asked);
    }
    if call.tool == Tool::Search && !filter.is_empty() && asked.stream.is_none() {
        return error
            .about("streams")
            .hint("filter of search needs streams with exactly one name: \"streams\":[\"STREAM\"]")
            .offer(None);
    }
    if let Some(kind) = undeclared_filter(&filter, facts) {
        return unfilterable(error, stream, facts, kind);
    }
    let declares_view = |view: &str| facts.iter().any(|facts| facts.views.iter().any(|known| known == view));
    if call.text("view").is_some_and(|view| !facts.is_empty() && !declares_view(view)) {
        let schema = Call::new(Tool::Schema, json!({"stream": stream, "detail": "full"}));
        return error
            .about("view")
            .hint("the full schema lists the views; fields does the same by name")
            .offer(Some(schema));
    }
    if call.text("time_zone").is_some_and(|zone| jiff::tz::TimeZone::get(zone).is_err()) {
        return error
            .about("time_zone")
            .hint("time_zone is an IANA name such as Europe/Oslo; without it periods are in UTC")
            .offer(None);
    }
    if call.tool == Tool::Aggregate {
        let is_grouped = asked.has("group_by") || asked.has("group_by_time");
        if asked.has("limit") && !is_grouped {
            return error
                .about("limit")
                .hint("limit sets how many groups are shown, and there are none")
                .offer(Some(call.with([("limit", None)])));
        }
        if let Some((param, usage)) = undeclared_use(call, facts) {
            return unaggregated(error, param, usage, stream, facts);
        }
        let gives_more = facts.iter().any(|facts| !facts.grouped.is_empty());
        if is_grouped && call.text("metric") == Some("count_distinct") && gives_more {
            return error
                .about("metric")
                .hint(
                    "a group gives its count, or a sum, min or max; for count_distinct of one group call aggregate without \
                     groups and with a filter",
                )
                .offer(None);
        }
        if is_grouped && call.text("metric") != Some("count") {
            return error
                .hint(if asked.has("group_by_time") {
                    "groups are counted; for a sum, min or max of one period call aggregate without group_by_time and \
                     with filter {\"TIME_FIELD\":{\"gte\":\"BEGIN\",\"lt\":\"END\"}}"
                } else {
                    "groups are counted; for a sum, min or max of one group call aggregate without group_by and with \
                     filter {\"GROUP_FIELD\":\"KEY\"}"
                })
                .offer(None);
        }
    }
    not_for_a_grant(error, asked)
}

/// What the draft's v0.1 lets a provider accept from owners only, however the schema declares it.
const TAKEN_FROM_OWNERS: [&str; 4] = ["filter", "expand", "expand_limit", "view"];

/// Whether the provider names one of those as the argument that it refuses, rather than one of its fields.
fn names_what_owners_take(error: &ToolError) -> bool {
    let named = error.detail("param").and_then(Value::as_str).map(|param| param.trim_end_matches("[]"));
    error.code() == "invalid_request" && named.is_some_and(|param| TAKEN_FROM_OWNERS.contains(&param))
}

/// The error if a provider does not name the wrong argument, and the schema shows nothing wrong with any.
fn not_for_a_grant(error: ToolError, asked: Asked<'_>) -> ToolError {
    let is_certain = names_what_owners_take(&error);
    let names = TAKEN_FROM_OWNERS.into_iter().filter(|name| asked.has(name)).collect::<Vec<_>>().join(", ");
    let is_named = error.detail("param").is_some();
    if names.is_empty() || error.code() != "invalid_request" || (is_named && !is_certain) {
        return error;
    }
    let verb = if is_certain { "does not" } else { "may not" };
    error
        .hint(format!(
            "this provider {verb} accept {names} for a grant; leave it out and narrow with fields, sort, limit, aggregate or \
             search"
        ))
        .offer(None)
}

/// The kind of the first condition in `filter` that its field is declared not to support.
fn undeclared_filter(filter: &Filter, facts: &[StreamFacts]) -> Option<TestKind> {
    let kinds = filter.conditions().iter().map(|condition| (&condition.field, condition.test.kind()));
    let mut undeclared = kinds.filter(|(field, kind)| {
        let mut declared = facts.iter().filter_map(|facts| facts.fields.get(*field)).peekable();
        declared.peek().is_some() && !declared.any(|declared| declared.takes(*kind))
    });
    undeclared.next().map(|(_, kind)| kind)
}

/// The argument of an aggregate whose field is declared not to support that use, and the use.
fn undeclared_use<'a>(call: &'a Call, facts: &[StreamFacts]) -> Option<(&'static str, &'a str)> {
    let metric = call.text("metric").unwrap_or_default();
    [("group_by_time", "group_by_time"), ("group_by", "group_by"), ("field", metric)].into_iter().find(
        |(param, usage)| {
            let Some(field) = call.text(param) else { return false };
            let mut declared = facts.iter().filter_map(|facts| facts.fields.get(field)).peekable();
            let takes = |declared: &Declared| declared.aggregates.iter().any(|known| known == usage);
            declared.peek().is_some() && !declared.any(takes)
        },
    )
}

fn is_about_the_cursor(error: &ToolError) -> bool {
    matches!(error.code(), "invalid_cursor" | "cursor_expired") || error.detail("status") == Some(&json!(410))
}

/// Offers the same call from its beginning, if a cursor is useless.
pub fn restart(error: ToolError, call: &Call) -> ToolError {
    if !call.has("cursor") || !is_about_the_cursor(&error) {
        return error;
    }
    error.offer(Some(call.with([("cursor", None)])))
}

/// Explains why a record was not found by a short id: what that form cannot express.
fn missing_record(error: ToolError, call: &Call, id: &RecordId, facts: &[StreamFacts]) -> ToolError {
    if error.detail("status") != Some(&json!(404)) || error.code().contains("match") {
        return error;
    }
    let is_short = call.text("id").is_some_and(|text| !text.contains('/'));
    if !is_short || !id.record.contains('%') {
        return error;
    }
    let mut connections = facts.iter().flat_map(|facts| &facts.connections).map(|(connection, _)| connection);
    let only = connections.next().filter(|_| connections.next().is_none()).cloned();
    let connection = id.connection.clone().or(only);
    let handle = connection.map(|connection| format!("{connection}/{}:{}", id.stream, id.record));
    let handle = handle.filter(|handle| RecordId::parse(handle).is_ok());
    let next = handle.map(|handle| call.with([("id", Some(json!(handle))), ("connection_id", None)]));
    error
        .hint(
            "%XX is decoded only in connection_id/stream:record_id; in stream:record_id it stands for itself",
        )
        .offer(next)
}

/// The facts of every granted stream, one row per source; empty if the schema cannot be read.
pub async fn every_stream(reader: &Reader) -> Vec<(String, StreamFacts)> {
    let body = crate::mcp::reading::schema::compact(reader, None, None).await.unwrap_or_default();
    StreamFacts::of_all_streams(&body)
}

/// The error for a stream that the grant does not hold; the same for every tool.
pub fn unknown_stream(error: ToolError, stream: &str, all: &[(String, StreamFacts)]) -> ToolError {
    let mut names = all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    names.sort();
    names.dedup();
    let near = near(stream, &names);
    let error = error.without("status");
    let shown = crate::text::prefix(stream, 80);
    // The name of a source instead of a stream: its key, its label or its id.
    let of_source = all.iter().filter(|(_, facts)| is_source(facts, stream)).map(|(name, _)| name.as_str());
    let of_source = joined(of_source.collect());
    if let Some(of_source) = of_source {
        return error
            .hint(format!("`{shown}` is a source; its streams are {of_source}"))
            .offer(Some(Call::new(Tool::Schema, json!({}))));
    }
    let Some(nearest) = near.first() else {
        let error = error.offer(Some(Call::new(Tool::Schema, json!({}))));
        let is_named = error.message().contains(&format!("no stream `{stream}`"));
        return if is_named { error } else { error.hint(format!("the grant holds no stream `{shown}`")) };
    };
    let hint = format!("the grant holds no stream `{shown}`; schema {{}} lists those it holds");
    let next = Call::new(Tool::Schema, json!({"stream": nearest}));
    error.hint(hint).with("did_you_mean", near).offer(Some(next))
}

/// Whether `name` names a source: its connector's key, or a connection's label or id.
fn is_source(facts: &StreamFacts, name: &str) -> bool {
    let name = name.trim();
    let is = |known: &str| known.eq_ignore_ascii_case(name);
    facts.connector_key.as_deref().is_some_and(is)
        || facts.connections.iter().any(|(id, label)| is(id) || label.as_deref().is_some_and(is))
}

fn candidates(facts: &StreamFacts) -> impl Iterator<Item = Candidate> + '_ {
    Candidate::of_source(None, facts.connector_key.as_deref(), &facts.connections)
}

/// The error for a connection without such a stream, for a name instead of an id, or for a connection that is not in
/// the grant.
pub fn unknown_connection(
    error: ToolError,
    call: &Call,
    stream: &str,
    given: &str,
    all: &[(String, StreamFacts)],
) -> ToolError {
    let error = error.without("status").about("connection_id");
    let mut having = all
        .iter()
        .filter(|(name, _)| stream.is_empty() || name == stream)
        .flat_map(|(_, facts)| candidates(facts))
        .collect::<Vec<_>>();
    let mut known = std::collections::HashSet::new();
    having.retain(|candidate| known.insert(candidate.connection_id.clone()));
    let shown = crate::text::prefix(given, 80);
    // The owner's name for it, or the kind of source.
    let is = |known: Option<&str>| known.is_some_and(|known| known.eq_ignore_ascii_case(given.trim()));
    let is_named =
        |candidate: &Candidate| is(candidate.label.as_deref()) || is(candidate.connector_key.as_deref());
    if having.iter().any(is_named) {
        having.retain(is_named);
    }
    if let [only] = having.as_slice()
        && is_named(only)
        && call.has("connection_id")
    {
        let id = only.connection_id.clone();
        let next = call.with([("connection_id", Some(json!(id)))]);
        return error.hint(format!("`{shown}` is its name; its connection_id is {id}")).offer(Some(next));
    }
    let is_granted = all.iter().any(|(_, facts)| facts.connections.iter().any(|(id, _)| id == given));
    let hint = if is_granted {
        format!(
            "connection `{shown}` is in this grant, but has no stream `{}`",
            crate::text::prefix(stream, 80)
        )
    } else {
        format!("the grant has no connection `{shown}`")
    };
    let schema = if stream.is_empty() { json!({}) } else { json!({"stream": stream}) };
    let error = error.hint(hint).offer(Some(Call::new(Tool::Schema, schema)));
    if having.is_empty() { error } else { error.choose_from(having) }
}

/// The error for a field that the stream does not have, or that the grant does not include: the schema does not
/// distinguish them, so the error claims neither.
async fn unknown_field(reader: &Reader, error: ToolError, asked: Asked<'_>) -> ToolError {
    let stream = asked.stream();
    let facts = reader.facts(stream, asked.connection).await;
    let facts = facts.iter().filter(|facts| !facts.fields.is_empty()).collect::<Vec<_>>();
    if facts.is_empty() {
        return error;
    }
    let declares = |facts: &StreamFacts, name: &str| facts.fields.contains_key(name);
    let named = asked_fields(asked.call);
    let everywhere = |name: &str| facts.iter().all(|facts| declares(facts, name));
    let Some((param, wrong)) = named.into_iter().find(|(_, name)| !everywhere(name)) else { return error };
    let shown = crate::text::prefix(&wrong, 80).to_owned();
    let error = error.about(param);
    let schema = Call::new(Tool::Schema, json!({"stream": stream}));
    // Some sources have it: the caller must choose one.
    let having = facts.iter().filter(|facts| declares(facts, &wrong)).collect::<Vec<_>>();
    if !having.is_empty() {
        return error
            .hint(format!("several sources have a stream `{stream}`; `{shown}` is in these: repeat the call with one connection_id"))
            .choose_from(having.into_iter().flat_map(|facts| candidates(facts)).collect())
            .offer(None);
    }
    let known = facts.iter().flat_map(|facts| facts.fields.keys().cloned()).collect::<Vec<_>>();
    let near = near(&wrong, &known);
    let elsewhere = every_stream(reader).await.into_iter().filter(|(_, facts)| declares(facts, &wrong));
    let mut elsewhere = elsewhere.map(|(name, _)| name).collect::<Vec<_>>();
    elsewhere.dedup();
    elsewhere.truncate(3);
    let mut hint = format!("`{shown}` is not a granted field of `{stream}`");
    if !elsewhere.is_empty() {
        let _ = write!(hint, "; a field of that name is in {}", elsewhere.join(", "));
    }
    let error = if near.is_empty() { error } else { error.with("did_you_mean", near) };
    error.hint(hint).offer(Some(schema))
}

/// The fields that a call names, each with its argument.
fn asked_fields(call: &Call) -> Vec<(&'static str, String)> {
    let given = &call.arguments;
    let mut asked = Vec::new();
    for name in ["fields", "field", "group_by", "group_by_time", "field_path"] {
        match given.get(name) {
            Some(Value::String(field)) => asked.push((name, field.clone())),
            Some(Value::Array(fields)) => {
                asked.extend(fields.iter().filter_map(Value::as_str).map(|field| (name, field.to_owned())));
            }
            _ => {}
        }
    }
    let filter = given.get("filter").and_then(Value::as_object);
    asked.extend(filter.into_iter().flat_map(Map::keys).map(|field| ("filter", field.clone())));
    asked
}

/// The error for a field that records cannot be sorted by, with what they can: the one field that the schema
/// names, or those that it lists.
fn unsorted(error: ToolError, call: &Call, facts: &[StreamFacts]) -> ToolError {
    let text = |name: &str| call.text(name);
    let Some(sort) = text("sort") else { return error };
    let field = sort.trim_start_matches('-');
    let listed = facts.iter().flat_map(|facts| &facts.sort_fields).map(String::as_str).collect::<Vec<_>>();
    let cursor = facts.iter().find_map(|facts| facts.cursor_field.as_deref());
    let Some(cursor) = cursor.or(listed.first().copied()) else { return error };
    if field == cursor || listed.contains(&field) {
        // A sort includes its direction.
        let sorted = match text("order") {
            Some("desc") if !sort.starts_with('-') => format!("-{field}"),
            Some("asc") if sort.starts_with('-') => {
                return error
                    .hint(format!("sort {sort} is descending and order asc is not: give only one"))
                    .offer(None);
            }
            _ => sort.to_owned(),
        };
        let next = call.with([("sort", Some(json!(sorted))), ("order", None)]);
        return error.hint("sort alone sets the direction").offer(Some(next));
    }
    if let Some(names) = joined(listed) {
        return error.hint(format!("records sort by one of {names}; -FIELD descends"));
    }
    let mut hint = format!("records sort by {cursor} only: sort {cursor} or -{cursor}");
    let of_field = || facts.iter().filter_map(|facts| facts.fields.get(field));
    // A field that the grant leaves out cannot be aggregated either.
    if of_field().any(|declared| declared.aggregates.iter().any(|usage| matches!(&**usage, "max" | "min"))) {
        let shown = crate::text::prefix(field, 80);
        let _ = write!(
            hint,
            "; for the largest or smallest {shown} use aggregate max or min, then filter by that value"
        );
    } else if of_field().next().is_none() && facts.iter().any(|facts| !facts.fields.is_empty()) {
        let _ = write!(hint, "; `{}` is not one of the granted fields", crate::text::prefix(field, 80));
    }
    error.hint(hint)
}

/// The error for a field that does not support such a filter, with those that do.
fn unfilterable(error: ToolError, stream: &str, facts: &[StreamFacts], kind: TestKind) -> ToolError {
    let names = names_of(facts, &|declared| declared.takes(kind));
    let what = kind.name();
    let hint = if names.is_empty() {
        format!("no field of `{stream}` accepts {what} as a filter")
    } else {
        format!("that field does not accept {what}; these do: {names}. search finds words in texts")
    };
    error.about("filter").hint(hint).offer(Some(Call::new(Tool::Schema, json!({"stream": stream}))))
}

/// The error for a field that does not support such an aggregation, with those that do.
fn unaggregated(
    error: ToolError,
    param: &str,
    usage: &str,
    stream: &str,
    facts: &[StreamFacts],
) -> ToolError {
    let names =
        names_of(facts, &|declared: &Declared| declared.aggregates.iter().any(|known| known == usage));
    let hint = if names.is_empty() {
        format!("no field of `{stream}` accepts {usage}")
    } else {
        format!("{usage} accepts: {names}")
    };
    error.about(param).hint(hint).offer(Some(Call::new(Tool::Schema, json!({"stream": stream}))))
}

fn names_of(facts: &[StreamFacts], takes: &dyn Fn(&Declared) -> bool) -> String {
    let names = facts
        .iter()
        .flat_map(|facts| &facts.fields)
        .filter(|(_, declared)| takes(declared))
        .map(|(name, _)| name.as_str());
    joined(names.collect()).unwrap_or_default()
}

/// The first of `names`, each once, and how many more there are; `None` if there are none.
fn joined(mut names: Vec<&str>) -> Option<String> {
    names.retain(|name| name.len() <= 80);
    names.sort_unstable();
    names.dedup();
    let more = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("{}{more}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requirement O6.2.
    #[test]
    fn o6_2_a_refused_sort_names_what_works() {
        let refused = || ToolError::new("invalid_sort", "Not sortable", "");
        let call = |sort: &str, order: Option<&str>| {
            let mut arguments = json!({"stream": "spending", "sort": sort});
            if let Some(order) = order {
                arguments["order"] = json!(order);
            }
            Call::new(Tool::QueryRecords, arguments)
        };
        let one = StreamFacts { cursor_field: Some("at".to_owned()), ..StreamFacts::default() };
        let hint = |facts: &StreamFacts| {
            let error = unsorted(refused(), &call("-kind", None), std::slice::from_ref(facts));
            Value::Object(error.to_structured()).to_string()
        };
        assert!(hint(&one).contains("records sort by at only"), "{}", hint(&one));
        assert!(!hint(&one).contains("aggregate"), "nothing is known about that field: {}", hint(&one));
        let with = |name: &str, aggregates: &[&str]| {
            let aggregates = aggregates.iter().map(|usage| (*usage).to_owned()).collect();
            let fields = [(name.to_owned(), Declared { aggregates, ..Declared::default() })].into();
            hint(&StreamFacts { fields, ..one.clone() })
        };
        assert!(with("kind", &["count", "max"]).contains("smallest kind use aggregate max or min"));
        assert!(!with("kind", &["count"]).contains("aggregate"), "{}", with("kind", &["count"]));
        // The grant leaves the field out, as a grant with a last day leaves out fields that reveal later days.
        let text = with("at", &["max"]);
        assert!(
            text.contains("`kind` is not one of the granted fields") && !text.contains("aggregate"),
            "{text}"
        );
        let several = StreamFacts { sort_fields: ["at", "amount"].map(str::to_owned).into(), ..one.clone() };
        let text = hint(&several);
        assert!(
            text.contains("records sort by one of amount, at; -FIELD descends") && !text.contains("at only"),
            "{text}"
        );
        // A sort includes its direction.
        let error = unsorted(refused(), &call("amount", Some("desc")), std::slice::from_ref(&several));
        assert_eq!(
            error.next_call(),
            Some(&Call::new(Tool::QueryRecords, json!({"stream": "spending", "sort": "-amount"})))
        );
        let none = StreamFacts { cursor_field: None, ..several };
        assert!(hint(&none).contains("one of amount, at"));
    }
}
