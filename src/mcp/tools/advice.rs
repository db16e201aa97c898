//! What a wrong call should have been, told with what the schema declares: before the resource server where
//! it would answer as if nothing were wrong, after it where it refuses.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::near;
use crate::mcp::arguments::{Arguments, call};
use crate::mcp::catalog::{Declared, Kind, StreamFacts};
use crate::mcp::core::Core;
use crate::mcp::evidence::ladder::Call;
use crate::mcp::filter_value;
use crate::mcp::id::RecordId;
use crate::mcp::tool_error::{Candidate, ToolError};

/// Most names in one sentence.
const MAX_NAMES: usize = 12;

/// Refuses filter values that the declared type of their field cannot hold: the resource server would find
/// nothing, and say so as if that were true. Costs a call without a filter nothing.
pub async fn check_filter(
    core: &Core,
    arguments: &Arguments,
    stream: &str,
    connection: Option<&str>,
) -> Result<(), ToolError> {
    let Some(filter) = arguments.given().get("filter").and_then(Value::as_object) else { return Ok(()) };
    let facts = core.source().facts(stream, connection).await;
    let (mut misfits, mut meant) = filter_value::misfits(filter, &facts);
    if misfits.is_empty() && filter_value::may_misfit(filter, &facts) {
        let full = core.source().full_facts(stream, connection).await;
        (misfits, meant) = filter_value::misfits(filter, &full);
    }
    let Some(first) = misfits.first() else { return Ok(()) };
    let join =
        |of: &dyn Fn(&filter_value::Misfit) -> &str| misfits.iter().map(of).collect::<Vec<_>>().join("; ");
    let next = meant.map(|meant| call(arguments.tool(), &arguments.with([("filter", Some(meant.into()))])));
    Err(ToolError::new("invalid_filter", join(&|misfit| &misfit.message), join(&|misfit| &misfit.hint))
        .offer(next)
        .with("param", "filter")
        .with("field", first.field.clone())
        .with_some("type", first.kind.map(Kind::name)))
}

/// What a refusal of the resource server means for this call. The code and the message stay its own (R5.1).
pub async fn explain(
    core: &Core,
    error: ToolError,
    arguments: &Arguments,
    stream: &str,
    connection: Option<&str>,
) -> ToolError {
    let message = error.message().to_lowercase();
    let has = |name: &str| arguments.has(name);
    match error.code() {
        "context.stream_not_allowed" | "grant_stream_not_allowed" | "stream_not_found" => {
            let all = every_stream(core).await;
            let named = arguments.texts("streams").unwrap_or_default();
            let is_granted = |name: &str| all.iter().any(|(known, _)| known == name);
            let wrong = named.into_iter().find(|name| !is_granted(name)).unwrap_or(stream);
            unknown_stream(error, wrong, &all)
        }
        "context.instance_mismatch" => {
            let given = arguments.given().get("connection_id").and_then(Value::as_str).or(connection);
            let all = every_stream(core).await;
            match given {
                // Where the schema cannot be read, what the provider says is all that is known.
                Some(given) if !all.is_empty() => unknown_connection(error, arguments, stream, given, &all),
                _ => error.without("status"),
            }
        }
        "unknown_field" | "field_not_granted" | "field_not_found" => {
            unknown_field(core, error, arguments, stream, connection).await
        }
        "invalid_sort" => unsorted(error, arguments, &core.source().facts(stream, connection).await),
        "invalid_cursor" if has("changes_since") => error
            .about( "changes_since")
            .hint(
                "changes_since is \"beginning\" or a next_changes_since of this very stream; for records since a date \
                 filter its time field: {\"FIELD\":{\"gte\":\"YYYY-MM-DD\"}}",
            ),
        _ if has("cursor") && is_about_the_cursor(&error) => restart(error, arguments),
        _ if error.detail("status") != Some(&json!(400)) => error,
        _ if message.contains("requires exactly one streams") => error
            .about( "streams")
            .hint("filter of search goes with streams of exactly one name: \"streams\":[\"STREAM\"]")
            .offer(None),
        _ if has("filter") && message.contains("filters are not supported on") => {
            let facts = core.source().facts(stream, connection).await;
            unfilterable(error, stream, &facts, message.contains("range"))
        }
        _ if has("view") && message.contains("unknown view") => {
            let schema = Call::new("schema", json!({"stream": stream, "detail": "full"}));
            error.about( "view").hint("the full schema lists the views; fields does the same by name").offer(Some(schema))
        }
        _ if has("time_zone") && message.contains("time_zone") => error
            .about( "time_zone")
            .hint("time_zone is an IANA name such as Europe/Oslo; without it periods are in UTC")
            .offer(None),
        _ if has("limit") && message.contains("limit is only supported") => error
            .about("limit")
            .hint("limit is how many groups are shown, and there are none")
            .offer(Some(call(arguments.tool(), &arguments.with([("limit", None)])))),
        _ if message.contains("counted only") => error
            .hint(
                if has("group_by_time") {
                    "groups are counted; for a sum, min or max of one period call aggregate without group_by_time and \
                     with filter {\"TIME_FIELD\":{\"gte\":\"BEGIN\",\"lt\":\"END\"}}"
                } else {
                    "groups are counted; for a sum, min or max of one group call aggregate without group_by and with \
                     filter {\"GROUP_FIELD\":\"KEY\"}"
                },
            )
            .offer(None),
        _ if arguments.tool() == "aggregate" && message.contains("declared for") => {
            unaggregated(error, arguments, stream, &core.source().facts(stream, connection).await)
        }
        _ => error,
    }
}

fn is_about_the_cursor(error: &ToolError) -> bool {
    matches!(error.code(), "invalid_cursor" | "cursor_expired") || error.detail("status") == Some(&json!(410))
}

/// Offers the same call from its beginning, where a cursor is of no use.
pub fn restart(error: ToolError, arguments: &Arguments) -> ToolError {
    if !is_about_the_cursor(&error) {
        return error;
    }
    error.offer(Some(call(arguments.tool(), &arguments.with([("cursor", None)]))))
}

/// A record that was not found by a short id: what that form cannot say.
pub fn missing_record(
    error: ToolError,
    arguments: &Arguments,
    id: &RecordId,
    facts: &[StreamFacts],
) -> ToolError {
    if error.detail("status") != Some(&json!(404)) || error.code().contains("match") {
        return error;
    }
    let is_short =
        arguments.given().get("id").and_then(Value::as_str).is_some_and(|text| !text.contains('/'));
    if !is_short || !id.record.contains('%') {
        return error;
    }
    let mut connections = facts.iter().flat_map(|facts| &facts.connections).map(|(connection, _)| connection);
    let only = connections.next().filter(|_| connections.next().is_none()).cloned();
    let connection = id.connection.clone().or(only);
    let handle = connection.map(|connection| format!("{connection}/{}:{}", id.stream, id.record));
    let handle = handle.filter(|handle| RecordId::parse(handle).is_ok());
    let next = handle.map(|handle| {
        call(arguments.tool(), &arguments.with([("id", Some(json!(handle))), ("connection_id", None)]))
    });
    error
        .hint("%XX is decoded in connection_id/stream:record_id alone; in stream:record_id it stands for itself")
        .offer(next)
}

/// The facts of every granted stream, one row a source; none where the schema cannot be read.
pub async fn every_stream(core: &Core) -> Vec<(String, StreamFacts)> {
    let body = crate::mcp::schema::compact(core.source(), None, None).await.unwrap_or_default();
    StreamFacts::of_all_streams(&body)
}

/// A stream that the grant does not hold: the same for every tool.
pub fn unknown_stream(error: ToolError, stream: &str, all: &[(String, StreamFacts)]) -> ToolError {
    let mut names = all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    names.sort();
    names.dedup();
    let near = near(stream, &names);
    let error = error.without("status");
    let shown = crate::text::prefix(stream, 80);
    // A source taken for a stream: its key, its label or its id.
    let of_source = all.iter().filter(|(_, facts)| is_source(facts, stream)).map(|(name, _)| name.as_str());
    let of_source = joined(of_source.collect());
    if let Some(of_source) = of_source {
        return error
            .hint(format!("`{shown}` is a source; its streams are {of_source}"))
            .offer(Some(Call::new("schema", json!({}))));
    }
    let Some(nearest) = near.first() else {
        let error = error.offer(Some(Call::new("schema", json!({}))));
        let is_said = error.message().contains(&format!("no stream `{stream}`"));
        return if is_said { error } else { error.hint(format!("the grant holds no stream `{shown}`")) };
    };
    let hint = format!("the grant holds no stream `{shown}`; schema {{}} lists those it holds");
    let next = Call::new("schema", json!({"stream": nearest}));
    error.hint(hint).with("did_you_mean", near).offer(Some(next))
}

/// Whether `name` is what a source is called: its connector's key, a connection's label or id.
fn is_source(facts: &StreamFacts, name: &str) -> bool {
    let name = name.trim();
    let is = |known: &str| known.eq_ignore_ascii_case(name);
    facts.connector_key.as_deref().is_some_and(is)
        || facts.connections.iter().any(|(id, label)| is(id) || label.as_deref().is_some_and(is))
}

fn candidates(facts: &StreamFacts) -> impl Iterator<Item = Candidate> + '_ {
    Candidate::of_source(None, facts.connector_key.as_deref(), &facts.connections)
}

/// A connection that has no such stream, a name taken for an id, or one that is not in the grant at all.
pub fn unknown_connection(
    error: ToolError,
    arguments: &Arguments,
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
    // What the owner calls it, or what kind of source it is.
    let is = |known: Option<&str>| known.is_some_and(|known| known.eq_ignore_ascii_case(given.trim()));
    let is_named =
        |candidate: &Candidate| is(candidate.label.as_deref()) || is(candidate.connector_key.as_deref());
    if having.iter().any(is_named) {
        having.retain(is_named);
    }
    if let [one] = having.as_slice()
        && is_named(one)
        && arguments.has("connection_id")
    {
        let id = one.connection_id.clone();
        let next = call(arguments.tool(), &arguments.with([("connection_id", Some(json!(id)))]));
        return error
            .hint(format!("`{shown}` is what it is called; its connection_id is {id}"))
            .offer(Some(next));
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
    let error = error.hint(hint).offer(Some(Call::new("schema", schema)));
    if having.is_empty() { error } else { error.choose_from(having) }
}

/// A field that the stream does not have, or the grant does not give: the schema does not tell them apart,
/// so neither is claimed.
async fn unknown_field(
    core: &Core,
    error: ToolError,
    arguments: &Arguments,
    stream: &str,
    connection: Option<&str>,
) -> ToolError {
    let facts = core.source().facts(stream, connection).await;
    let facts = facts.iter().filter(|facts| !facts.fields.is_empty()).collect::<Vec<_>>();
    if facts.is_empty() {
        return error;
    }
    let declares = |facts: &StreamFacts, name: &str| facts.fields.contains_key(name);
    let asked = asked_fields(arguments);
    let everywhere = |name: &str| facts.iter().all(|facts| declares(facts, name));
    let Some((param, wrong)) = asked.into_iter().find(|(_, name)| !everywhere(name)) else { return error };
    let shown = crate::text::prefix(&wrong, 80).to_owned();
    let error = error.about(param);
    let schema = Call::new("schema", json!({"stream": stream}));
    // Some sources have it: which one is meant has to be said.
    let having = facts.iter().filter(|facts| declares(facts, &wrong)).collect::<Vec<_>>();
    if !having.is_empty() {
        return error
            .hint(format!("several sources have a stream `{stream}`; `{shown}` is in these: repeat the call with one connection_id"))
            .choose_from(having.into_iter().flat_map(|facts| candidates(facts)).collect())
            .offer(None);
    }
    let names = facts.iter().flat_map(|facts| facts.fields.keys().cloned()).collect::<Vec<_>>();
    let near = near(&wrong, &names);
    let elsewhere = every_stream(core).await.into_iter().filter(|(_, facts)| declares(facts, &wrong));
    let mut elsewhere = elsewhere.map(|(name, _)| name).collect::<Vec<_>>();
    elsewhere.dedup();
    elsewhere.truncate(3);
    let mut hint = format!("`{shown}` is none of the granted fields of `{stream}`");
    if !elsewhere.is_empty() {
        let _ = write!(hint, "; a field of that name is in {}", elsewhere.join(", "));
    }
    let error = if near.is_empty() { error } else { error.with("did_you_mean", near) };
    error.hint(hint).offer(Some(schema))
}

/// The fields that a call names, each with its argument.
fn asked_fields(arguments: &Arguments) -> Vec<(&'static str, String)> {
    let given = arguments.given();
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

/// What records sort by: the one field that the schema names.
fn unsorted(error: ToolError, arguments: &Arguments, facts: &[StreamFacts]) -> ToolError {
    let text = |name: &str| arguments.given().get(name).and_then(Value::as_str);
    let Some(sort) = text("sort") else { return error };
    let field = sort.trim_start_matches('-');
    let Some(cursor) = facts.iter().find_map(|facts| facts.cursor_field.as_deref()) else { return error };
    if field == cursor {
        // A sort names its direction by itself.
        let sorted = match text("order") {
            Some("desc") if !sort.starts_with('-') => format!("-{field}"),
            Some("asc") if sort.starts_with('-') => {
                return error
                    .hint(format!("sort {sort} is descending and order asc is not: give one of them"))
                    .offer(None);
            }
            _ => sort.to_owned(),
        };
        let next = arguments.with([("sort", Some(json!(sorted))), ("order", None)]);
        return error.hint("sort alone says the direction").offer(Some(call(arguments.tool(), &next)));
    }
    let hint = format!(
        "records sort by {cursor} alone: sort {cursor} or -{cursor}; for the largest or smallest {} take aggregate max or \
         min, then filter by that value",
        crate::text::prefix(field, 80)
    );
    error.hint(hint)
}

/// A field that takes no such filter, beside those that do.
fn unfilterable(error: ToolError, stream: &str, facts: &[StreamFacts], is_range: bool) -> ToolError {
    let takes = |declared: &Declared| if is_range { declared.range } else { declared.equal };
    let names = names_of(facts, &takes);
    let what = if is_range { "a range" } else { "a value" };
    let hint = if names.is_empty() {
        format!("no field of `{stream}` takes {what} as a filter")
    } else {
        format!("that field takes none; these take {what}: {names}. search finds words in texts")
    };
    error.about("filter").hint(hint).offer(Some(Call::new("schema", json!({"stream": stream}))))
}

/// A field that takes no such aggregation, beside those that do.
fn unaggregated(error: ToolError, arguments: &Arguments, stream: &str, facts: &[StreamFacts]) -> ToolError {
    let message = error.message().to_owned();
    let group = ["group_by_time", "group_by"].into_iter().find(|name| message.contains(*name));
    let metric = arguments.given().get("metric").and_then(Value::as_str).unwrap_or("");
    let usage = group.unwrap_or(metric).to_owned();
    let names = names_of(facts, &|declared: &Declared| declared.aggregates.contains(&usage));
    let hint = if names.is_empty() {
        format!("no field of `{stream}` takes {usage}")
    } else {
        format!("{usage} takes: {names}")
    };
    error
        .about(group.unwrap_or("field"))
        .hint(hint)
        .offer(Some(Call::new("schema", json!({"stream": stream}))))
}

fn names_of(facts: &[StreamFacts], takes: &dyn Fn(&Declared) -> bool) -> String {
    let names = facts
        .iter()
        .flat_map(|facts| &facts.fields)
        .filter(|(_, declared)| takes(declared))
        .map(|(name, _)| name.as_str());
    joined(names.collect()).unwrap_or_default()
}

/// The first of `names`, each once, and how many more there are; nothing of none.
fn joined(mut names: Vec<&str>) -> Option<String> {
    names.retain(|name| name.len() <= 80);
    names.sort();
    names.dedup();
    let more = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("{}{more}", names.join(", ")))
}
