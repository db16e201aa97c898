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
use super::evidence::{json_len, line};
use super::id::{IdError, check_segment};
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

/// Whether the provider answered that there is no such thing: a route, or what it names.
fn is_missing(error: &ToolError) -> bool {
    error.detail("status") == Some(&json!(404))
}
