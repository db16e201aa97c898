//! One file a tool: arguments → request → bounded result.

pub mod aggregate;
pub mod fetch;
pub mod query_records;
pub mod read_record_field;
pub mod schema;
pub mod search;

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::core::Core;
use super::evidence::ladder::Call;
use super::evidence::{Bounds, json_len, line};
use super::id::{IdError, check_segment};
use super::pages;
use super::tool_error::ToolError;
use crate::provider::rs::Read;

/// The stream argument, checked to be one path segment.
fn stream_argument(arguments: &Arguments) -> Result<String, ToolError> {
    let stream = arguments.required_text("stream", "STREAM")?;
    check_segment("stream", stream).map_err(|error| bad_name("stream", &error))?;
    Ok(stream.to_owned())
}

fn bad_name(argument: &str, error: &IdError) -> ToolError {
    ToolError::new(
        "invalid_argument",
        format!("`{argument}` cannot be requested: {error}"),
        "schema {} lists the granted streams",
    )
    .with("param", argument)
}

/// A comma-separated list, as the wire takes it.
fn list_parameter(read: &mut Read, arguments: &Arguments, name: &str) -> Result<(), ToolError> {
    if let Some(texts) = arguments.texts(name)? {
        read.push(name, texts.join(","));
    }
    Ok(())
}

/// Refuses `expand` where the live schema offers none (R3.62); defers to the resource server where the
/// schema cannot be read or does not know the stream.
async fn check_expand(
    core: &Core,
    arguments: &Arguments,
    stream: &str,
    connection: Option<&str>,
) -> Result<(), ToolError> {
    if !arguments.has("expand") && !arguments.has("expand_limit") {
        return Ok(());
    }
    let Some(facts) = core.source().live_facts(stream, connection).await else { return Ok(()) };
    if facts.is_empty() || facts.iter().any(|facts| facts.is_expandable) {
        return Ok(());
    }
    let without = arguments.with([("expand", None), ("expand_limit", None)]);
    Err(ToolError::new(
        "invalid_expand",
        format!(
            "stream `{stream}` offers no relation to expand (GET /v1/schema, expand_capabilities of `{stream}`)"
        ),
        super::arguments::call(arguments.tool(), &without),
    )
    .with("param", "expand"))
}

/// Counts and warnings of an envelope, as lines of the text view (R3.0).
fn meta_lines(out: &mut String, body: &Map<String, Value>) {
    let Some(meta) = body.get("meta").and_then(Value::as_object) else { return };
    match meta.get("count") {
        Some(Value::Object(count)) if count.get("kind").and_then(Value::as_str) != Some("none") => {
            let kind = count.get("kind").and_then(Value::as_str).unwrap_or("");
            let value = count.get("value").map_or_else(String::new, |value| line::value(value, 40).text);
            let _ = writeln!(out, "count: {} {value}", line::token(kind));
        }
        Some(count @ Value::Number(_)) => {
            let accuracy = meta.get("count_accuracy").and_then(Value::as_str).unwrap_or("");
            let _ = writeln!(out, "count: {} {}", line::value(count, 40).text, line::token(accuracy));
        }
        _ => {}
    }
    if let Some(recall) = meta.get("recall") {
        let _ = writeln!(out, "recall: {}", line::value(recall, 400).text);
    }
    for warning in meta.get("warnings").and_then(Value::as_array).map_or(&[][..], Vec::as_slice) {
        let text = |key: &str| warning.get(key).and_then(Value::as_str);
        match (text("code"), text("message")) {
            (Some(code), Some(message)) => {
                let _ =
                    writeln!(out, "warning: {} {}", line::token(code), line::quoted_cut(message, 300).text);
            }
            _ => {
                let _ = writeln!(out, "warning: {}", line::value(warning, 300).text);
            }
        }
    }
}

fn text_of<'a>(body: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    body.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The call that gives the next page.
fn next_page(arguments: &Arguments, cursor: Option<&str>) -> Option<Call> {
    let next = arguments.with([("cursor", Some(json!(cursor?))), ("changes_since", None)]);
    Some(Call { tool: arguments.tool(), arguments: next })
}

/// The longest cursor that a call with these arguments can carry beside them: longer ones would be
/// refused when they come back.
fn max_cursor(arguments: &Arguments, bounds: Bounds) -> usize {
    let beside = json_len(&arguments.with([("cursor", None), ("changes_since", None)])) + 16;
    (bounds.text.min(bounds.structured) / 4).saturating_sub(beside)
}

/// How many bytes the cursor of a page takes, as JSON.
struct CursorLens {
    /// The one that stands in its envelope; none takes nothing.
    theirs: usize,
    /// Ours at most, where not all rows fit: it may hold the provider's, or the one that led here.
    ours: usize,
    /// The next call beside it.
    call: usize,
}

impl CursorLens {
    fn of(arguments: &Arguments, body: &Map<String, Value>) -> Self {
        let ours = |cursor: Option<&Value>| match cursor {
            Some(Value::String(cursor)) if pages::is_own(cursor) => cursor.len() + 60,
            Some(cursor) => json_len(cursor) * 4 / 3 + 160,
            None => 160,
        };
        let (next, given) = (body.get("next_cursor"), arguments.given().get("cursor"));
        let next = next.filter(|cursor| !cursor.is_null());
        Self {
            theirs: next.map_or(0, json_len),
            ours: ours(next).max(ours(given)),
            call: json_len(&arguments.with([("cursor", None), ("changes_since", None)])) + 60,
        }
    }
}

/// What is said of a page that has fewer rows than there were, because no more fit a result (R4.8).
fn fitted_note(arguments: &Arguments, page: &pages::Page) -> Option<String> {
    let limit = arguments.given().get("limit").and_then(Value::as_u64);
    let limit = limit.map_or_else(String::new, |limit| format!(" of limit {limit}"));
    page.is_fitted.then(|| format!("{}{limit} fit a result; next goes on", counted(page.rows.len(), "row")))
}

/// The bytes that a note may take in either view.
const NOTE_BYTES: usize = 70;

/// The limit that a relation is expanded with, where the caller names one.
fn expand_limit(arguments: &Arguments, relation: &str) -> Option<u64> {
    arguments.given().get("expand_limit")?.get(relation)?.as_u64()
}

/// Whether the provider answered that there is no such thing: a route, or what it names.
fn is_missing(error: &ToolError) -> bool {
    error.detail("status") == Some(&json!(404))
}

/// `1 record`, `2 records`.
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Adds the granted streams with a similar name to a refusal of one that is not granted.
async fn with_near_streams(core: &Core, error: ToolError, stream: &str) -> ToolError {
    let is_stream = matches!(
        error.code(),
        "context.stream_not_allowed" | "grant_stream_not_allowed" | "stream_not_found" | "unknown_stream"
    );
    if !is_stream {
        return error;
    }
    let near = near(stream, &granted_streams(core).await);
    if near.is_empty() { error } else { error.with("did_you_mean", near) }
}

/// The names of all granted streams; none where the schema cannot be read.
async fn granted_streams(core: &Core) -> Vec<String> {
    let body = super::schema::compact(core.source(), None, None).await.unwrap_or_default();
    let list =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let connectors = list(&Value::Object(body), "connectors");
    let rows = connectors.iter().flat_map(|connector| list(connector, "streams"));
    let mut names = rows.filter_map(|row| Some(row.get("name")?.as_str()?.to_owned())).collect::<Vec<_>>();
    names.sort();
    names.dedup();
    names
}

/// At most three of `names` that `meant` may be a slip of, the nearest first.
fn near(meant: &str, names: &[String]) -> Vec<String> {
    const LONGEST: usize = 80;
    let of = |name: &str| name.to_lowercase();
    let wanted = of(meant);
    if wanted.len() > LONGEST {
        return Vec::new();
    }
    let mut near = names
        .iter()
        .filter(|name| name.len() <= LONGEST)
        .filter_map(|name| {
            let known = of(name);
            let distance = edits(&wanted, &known);
            let is_part =
                wanted.len() > 2 && known.len() > 2 && (known.contains(&wanted) || wanted.contains(&known));
            (is_part || distance <= (wanted.chars().count() / 3).max(1)).then_some((distance, name))
        })
        .collect::<Vec<_>>();
    near.sort();
    near.into_iter().take(3).map(|(_, name)| name.clone()).collect()
}

/// How many characters have to be put in, taken out or replaced (Levenshtein).
fn edits(one: &str, other: &str) -> usize {
    let other = other.chars().collect::<Vec<_>>();
    let mut row = (0..=other.len()).collect::<Vec<_>>();
    for (at, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (n, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[n + 1];
            row[n + 1] = replaced.min(row[n] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised() {
        let names = ["messages", "message_bodies", "labels", "transactions"].map(str::to_owned);
        assert_eq!(near("mesages", &names), ["messages"]);
        assert_eq!(near("Messages", &names), ["messages"]);
        assert_eq!(near("message", &names), ["messages", "message_bodies"]);
        assert_eq!(near("transaction", &names), ["transactions"]);
        assert!(near("zzz", &names).is_empty() && near("", &names).is_empty());
        assert_eq!((edits("", "ab"), edits("kitten", "sitting"), edits("äb", "ab")), (2, 3, 1));
        assert_eq!((counted(1, "record"), counted(0, "hit")), ("1 record".to_owned(), "0 hits".to_owned()));
    }
}
