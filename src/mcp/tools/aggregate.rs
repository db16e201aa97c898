//! `aggregate`: one number, or groups of them.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{is_missing, json_len, meta_lines, stream_argument, text_of};
use crate::mcp::ToolAnswer;
use crate::mcp::arguments::Arguments;
use crate::mcp::core::Core;
use crate::mcp::evidence::ladder::{self, Call};
use crate::mcp::evidence::{envelope, line, prefix_on_wire};
use crate::mcp::schema::unsupported;
use crate::mcp::tool_error::ToolError;
use crate::provider::rs::Read;

const METRICS: [&str; 5] = ["count", "sum", "min", "max", "count_distinct"];
const GRANULARITIES: [&str; 7] = ["minute", "hour", "day", "week", "month", "quarter", "year"];

/// Answers a call.
pub async fn run(core: &Core, arguments: Arguments) -> Result<ToolAnswer, ToolError> {
    let stream = stream_argument(&arguments)?;
    arguments.required_text("metric", "count")?;
    let mut read = Read::of(["streams", &stream, "aggregate"])
        .with_some("metric", arguments.choice("metric", &METRICS)?)
        .with_some("field", arguments.text("field")?)
        .with_some("group_by", arguments.text("group_by")?)
        .with_some("group_by_time", arguments.text("group_by_time")?)
        .with_some("granularity", arguments.choice("granularity", &GRANULARITIES)?)
        .with_some("time_zone", arguments.text("time_zone")?)
        .with_some("limit", arguments.integer("limit", 1, u64::MAX)?.map(|limit| limit.to_string()));
    read.query.extend(arguments.filter()?);
    read = read.with_some("connection_id", arguments.text("connection_id")?);

    let mut body = match core.source().get(&read).await {
        Err(error) if is_missing(&error) && core.source().is_core().await => {
            let instead = "page through query_records and count what it gives";
            return Err(unsupported("aggregate", instead));
        }
        envelope => envelope?.body,
    };
    envelope::prepare(&mut body);
    let bounds = core.bounds();
    bound_parts(&mut body);
    let rest = fit_groups(&arguments, &mut body, bounds.structured, bounds.text);
    let text = text(&stream, &body, rest.as_ref());
    let mut structured = Map::from_iter([("data".to_owned(), Value::Object(body))]);
    if let Some(rest) = rest {
        structured.insert("groups_not_shown".into(), json!(rest.groups));
        structured.insert("next".into(), rest.next.to_json());
    }
    Ok(ToolAnswer { text, structured: Some(structured), is_error: false, meta: None })
}

/// The groups of an answer that did not fit.
struct Rest {
    groups: usize,
    /// The field they are grouped by, where that is a time.
    by_time: Option<String>,
    next: Call,
}

/// Drops the last groups where not all fit. There is no page after them: the sum of what is left out is
/// said, and the call that shows it narrows by the first group left out.
fn fit_groups(
    arguments: &Arguments,
    body: &mut Map<String, Value>,
    structured: usize,
    text: usize,
) -> Option<Rest> {
    let fixed = json_len(&body) - body.get("groups").map_or(0, json_len);
    let groups = body.get_mut("groups")?.as_array_mut()?;
    // Beside the groups: the next call with the key of the first group left out, counts and warnings.
    let beside = fixed + json_len(arguments.given()) + KEY_BYTES + 300;
    let mut room = structured.saturating_sub(beside);
    let mut text_room = text.saturating_sub(beside);
    let fit = groups
        .iter()
        .take_while(|group| {
            let (size, line) = (json_len(group) + 1, group_line(group).len() + 1);
            let fits = size <= room && line <= text_room;
            room = room.saturating_sub(size);
            text_room = text_room.saturating_sub(line);
            fits
        })
        .count();
    if fit >= groups.len() {
        return None;
    }
    let omitted = groups.split_off(fit);
    let first = omitted.first().cloned().unwrap_or(Value::Null);
    let by_time = text_of(body, "group_by_time").map(str::to_owned);
    let is_named = first.get("key_cut").is_none();
    let first = first.get("key").cloned().unwrap_or(Value::Null);
    let mut filter = arguments.given().get("filter").and_then(Value::as_object).cloned().unwrap_or_default();
    match &by_time {
        // A key that is cut finds nothing.
        _ if !is_named => {}
        Some(field) => {
            let mut range = match filter.get(field) {
                Some(Value::Object(range)) => range.clone(),
                _ => Map::new(),
            };
            range.insert("gte".into(), first);
            filter.insert(field.clone(), Value::Object(range));
        }
        None => {
            if let Some(field) = text_of(body, "group_by") {
                filter.insert(field.to_owned(), first);
            }
        }
    }
    let filter = Some(Value::Object(filter)).filter(|filter| *filter != json!({}));
    let arguments = arguments.with([("filter", filter)]);
    Some(Rest { groups: omitted.len(), by_time, next: Call { tool: "aggregate", arguments } })
}

/// Longest group key that is shown whole, in bytes as they go over the wire.
const KEY_BYTES: usize = 400;

/// Bounds what is not groups, and each group: a key may be a whole text.
fn bound_parts(body: &mut Map<String, Value>) {
    let mut meta = Map::from_iter(body.remove_entry("meta"));
    envelope::shorten(&mut meta);
    body.extend(meta);
    if body.get("groups").is_some_and(|groups| !groups.is_array()) {
        body.remove("groups");
    }
    if let Some(Value::Array(groups)) = body.get_mut("groups") {
        groups.iter_mut().filter(|group| json_len(group) > KEY_BYTES).for_each(cut_group);
    }
    if json_len(body) - body.get("groups").map_or(0, json_len) > 2_500 {
        body.retain(|key, value| {
            matches!(key.as_str(), "groups" | "meta")
                || (matches!(
                    key.as_str(),
                    "object"
                        | "stream"
                        | "metric"
                        | "field"
                        | "group_by"
                        | "group_by_time"
                        | "granularity"
                        | "time_zone"
                        | "value"
                        | "other_count"
                        | "filtered_record_count"
                        | "approximate"
                ) && json_len(value) <= KEY_BYTES / 2)
        });
    }
}

fn cut_group(group: &mut Value) {
    let key = match group.get("key") {
        Some(Value::String(key)) => json!(format!("{}…", prefix_on_wire(key, KEY_BYTES / 2))),
        Some(key) if json_len(key) <= KEY_BYTES / 2 => key.clone(),
        _ => json!("…"),
    };
    let mut cut = Map::from_iter([("key".to_owned(), key), ("key_cut".to_owned(), json!(true))]);
    for name in ["count", "value"] {
        if let Some(value) = group.get(name).filter(|value| json_len(value) <= 60) {
            cut.insert(name.to_owned(), value.clone());
        }
    }
    *group = Value::Object(cut);
}

fn group_line(group: &Value) -> String {
    let key = group.get("key").map_or_else(|| "null".to_owned(), |key| line::value(key, 200).text);
    let mut out = format!("{key}:");
    if let Some(fields) = group.as_object() {
        for (name, value) in fields.iter().filter(|(name, _)| *name != "key") {
            if name == "count" || name == "value" {
                let _ = write!(out, " {}", line::value(value, 80).text);
            } else {
                let _ = write!(out, " {}={}", line::token(name), line::value(value, 80).text);
            }
        }
    }
    out
}

fn text(stream: &str, body: &Map<String, Value>, rest: Option<&Rest>) -> String {
    let metric = text_of(body, "metric").unwrap_or("aggregate");
    let mut out = line::token(metric);
    if let Some(field) = text_of(body, "field") {
        let _ = write!(out, " of {}", line::token(field));
    }
    let _ = write!(out, " in {}", line::token(stream));
    if let Some(field) = text_of(body, "group_by").or_else(|| text_of(body, "group_by_time")) {
        let _ = write!(out, " by {}", line::token(field));
        if let Some(granularity) = text_of(body, "granularity") {
            let zone = text_of(body, "time_zone").unwrap_or("UTC");
            let _ = write!(out, " ({}, {})", line::token(granularity), line::token(zone));
        }
    }
    if let Some(value) = body.get("value") {
        let _ = write!(out, " = {}", line::value(value, 200).text);
    }
    out.push('\n');
    if let Some(Value::Array(groups)) = body.get("groups") {
        for group in groups {
            let _ = writeln!(out, "{}", group_line(group));
        }
        if let Some(other) = body.get("other_count") {
            let _ = write!(out, "other_count={}", line::value(other, 40).text);
            if !matches!(other.as_u64(), Some(0)) {
                out.push_str(" (records in further groups: raise limit)");
            }
            out.push('\n');
        }
        if let Some(rest) = rest {
            let how = match rest.by_time {
                Some(_) => "the next call begins with the first of them",
                None => "narrow the call with filter; the next one counts the first of them",
            };
            let _ = writeln!(out, "{} more groups did not fit; {how}", rest.groups);
        }
    }
    for key in ["filtered_record_count", "approximate"] {
        match body.get(key) {
            None | Some(Value::Null | Value::Bool(false)) => {}
            Some(value) => {
                let _ = writeln!(out, "{key}={}", line::value(value, 60).text);
            }
        }
    }
    meta_lines(&mut out, body);
    if let Some(rest) = rest {
        let _ = writeln!(out, "{}", ladder::next_line(&rest.next));
    }
    out.truncate(out.trim_end().len());
    out
}
