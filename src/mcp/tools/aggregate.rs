//! `aggregate`: one number, or groups of them.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::answer_parts::{counted, meta_lines, text_of};
use super::arguments::{Given, foreign_cursor};
use super::checks::check_filter;
use super::context::Context;
use super::spelling::Empty;
use super::surface;
use crate::json::write::Written;
use crate::mcp::call::{Call, Tool};
use crate::mcp::id::RecordId;
use crate::mcp::line;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::answer_shape;
use crate::mcp::reading::envelope;
use crate::mcp::reading::request::{Aggregate, Request};
use crate::mcp::render::ladder;
use crate::mcp::size::{Bounds, json_len, prefix_on_wire};
use crate::mcp::tool_error::ToolError;

/// The beginning of this tool's cursors, followed by the number of groups before it. The resource server has no
/// cursors for groups: it is asked again, and the groups that were already shown are skipped.
const CURSOR: &str = "groups:";

/// The arguments of a call.
pub struct Arguments {
    /// The call as given.
    pub call: Call,
    /// The request; its limit includes the groups that were already shown.
    pub request: Aggregate,
    /// How many groups were already shown.
    shown: usize,
}

impl Arguments {
    /// Reads a checked call.
    ///
    /// # Errors
    /// Returns an error for what a provider would refuse or silently ignore, and for a cursor that this tool did not
    /// give.
    pub fn parse(call: Call) -> Result<Self, ToolError> {
        let given = Given(&call);
        let stream = given.stream()?;
        let metric = given.required_text("metric", "count")?;
        check_groups(&call)?;
        let shown = shown_before(&call)?;
        let request = Aggregate {
            stream,
            metric,
            field: given.text("field"),
            group_by: given.text("group_by"),
            group_by_time: given.text("group_by_time"),
            granularity: given.text("granularity"),
            time_zone: given.text("time_zone"),
            // The groups that were already shown come again.
            limit: given
                .integer("limit")
                .map(|limit| limit.saturating_add(shown as u64).min(limit.max(MANY))),
            filter: given.filter()?,
            connection: given.text("connection_id"),
        };
        Ok(Self { call, request, shown })
    }
}

/// Answers a call.
///
/// # Errors
/// Returns what the schema shows to be wrong, or the provider's refusal, not explained yet.
pub async fn run(context: Context<'_>, arguments: &Arguments) -> Result<ToolAnswer, ToolError> {
    let Context { reader, bounds } = context;
    let Arguments { call, request, shown } = arguments;
    let (stream, shown) = (request.stream.as_str(), *shown);
    check_filter(reader, call, &request.filter, stream, request.connection.as_deref()).await?;
    let mut body = reader.read(&Request::Aggregate(request.clone())).await?.body;
    envelope::prepare(&mut body);
    envelope::keep_digits(&mut body);
    name_record(stream, &mut body);
    let has_no_group = body.get("groups").and_then(Value::as_array).is_none_or(Vec::is_empty);
    let counted = body.get("value").or_else(|| body.get("filtered_record_count")).and_then(Value::as_f64);
    if !request.filter.is_empty() && has_no_group && counted.is_none_or(|count| count == 0.0) {
        let connection = request.connection.as_deref();
        let facts = reader.facts(stream, connection).await;
        Empty { stream, connection, filter: &request.filter }.warn(reader, &facts, &mut body).await;
    }
    let is_grouped = request.group_by.is_some() || request.group_by_time.is_some();
    let groups = match body.remove("groups") {
        groups if is_grouped || matches!(groups, Some(Value::Array(_))) => {
            answer_shape::objects(groups.as_ref(), "groups")?;
            groups
        }
        _ => None,
    };
    let Some(Value::Array(mut groups)) = groups else {
        let value = body.get("value");
        if value.is_none_or(|value| value.is_array() || value.is_object()) {
            return Err(answer_shape::broken("value", value, "a number, a string or null"));
        }
        if shown > 0 {
            return Err(cursor_is_behind(call));
        }
        prune(stream, &mut body, None, bounds);
        return Ok(assemble(stream, body, None, None));
    };
    if shown > 0 && shown >= groups.len() {
        return Err(cursor_is_behind(call));
    }
    groups.drain(..shown);
    groups.iter_mut().filter(|group| json_len(group) > KEY_BYTES).for_each(cut_group);
    warn_of_limit(call, &mut body);
    let rest = fit(call, shown, &mut body, &mut groups, bounds);
    Ok(assemble(stream, body, Some(groups), rest.as_ref()))
}

/// Names the record with the smallest or largest value by the id that fetch accepts, if the provider identifies it.
fn name_record(stream: &str, body: &mut Map<String, Value>) {
    let Some(Value::Object(record)) = body.get("record") else { return };
    let handle = RecordId::of_row(record, stream).as_ref().and_then(RecordId::handle);
    match handle.filter(|handle| json_len(handle) <= RECORD_BYTES) {
        Some(handle) => drop(body.insert("record".into(), json!(handle))),
        None => drop(body.remove("record")),
    }
}

/// The maximum size of a record's id that is shown, in bytes.
const RECORD_BYTES: usize = 400;

/// Refuses what a provider would refuse or silently ignore: two kinds of groups, a period without its length, a
/// length without a period.
fn check_groups(call: &Call) -> Result<(), ToolError> {
    let wrong = |code: &'static str, param: &str, message: &str, next: &str| {
        ToolError::new(code, message.to_owned(), next.to_owned()).with("param", param)
    };
    match ["group_by", "group_by_time", "granularity", "time_zone"].map(|name| call.has(name)) {
        [true, true, ..] => Err(wrong(
            "conflicting_arguments",
            "group_by",
            "group_by makes a group for each value, group_by_time one for each period: a call takes only one",
            "leave one out; for periods of one value leave group_by out and filter by the value",
        )),
        [_, true, false, _] => Err(wrong(
            "missing_argument",
            "granularity",
            "`group_by_time` needs `granularity`, the length of a period",
            &format!(
                "add granularity, one of {}",
                surface::choices(Tool::Aggregate, "granularity").join(", ")
            ),
        )),
        [has_group, false, true, _] => {
            let error = wrong(
                "missing_argument",
                "group_by_time",
                "`granularity` needs `group_by_time`, the time field that makes periods",
                "name the time field in group_by_time",
            );
            // The caller wants periods of the field that it names.
            let field = call.arguments.get("group_by").cloned();
            let next = call.with([("group_by", None), ("group_by_time", field)]);
            Err(error.offer(has_group.then_some(next)))
        }
        [_, false, _, true] => Err(wrong(
            "missing_argument",
            "group_by_time",
            "`time_zone` sets where the periods of `group_by_time` begin, and there are none",
            "leave time_zone out, or group by a time field; in a filter an offset sets the zone",
        )),
        _ => Ok(()),
    }
}

/// How many groups were already shown.
fn shown_before(call: &Call) -> Result<usize, ToolError> {
    let Some(cursor) = call.text("cursor") else { return Ok(0) };
    let shown = cursor.strip_prefix(CURSOR).and_then(|shown| shown.parse().ok());
    shown.ok_or_else(|| foreign_cursor(call))
}

fn cursor_is_behind(call: &Call) -> ToolError {
    ToolError::new(
        "invalid_cursor",
        "there are no groups after this cursor: there are fewer now, or it belongs to another call",
        call.with([("cursor", None)]),
    )
    .with("param", "cursor")
}

/// What follows the groups of an answer.
struct Rest {
    /// How many groups did not fit.
    groups: usize,
    next: Call,
}

/// The number of groups that providers return without trouble; many return no more.
const MANY: u64 = 100;

/// The maximum number of groups that the provider returned: as it states, otherwise as requested.
fn limit_of(call: &Call, body: &Map<String, Value>, groups: usize) -> u64 {
    let stated = body.get("limit").and_then(Value::as_u64);
    stated.or_else(|| call.arguments.get("limit")?.as_u64()).unwrap_or(groups as u64)
}

/// Warns that the provider returns fewer groups than requested, if some are missing because of that.
fn warn_of_limit(call: &Call, body: &mut Map<String, Value>) {
    let asked = call.arguments.get("limit").and_then(Value::as_u64);
    let given = body.get("limit").and_then(Value::as_u64);
    let (Some(asked), Some(given)) = (asked, given) else { return };
    if given >= asked || !has_others(body) {
        return;
    }
    let message = format!("the provider gives at most {given} groups; {asked} were requested");
    envelope::warn(body, "limit_clamped", message);
}

/// Whether there are records in groups that the provider did not return.
fn has_others(body: &Map<String, Value>) -> bool {
    body.get("other_count").is_some_and(|count| count.as_u64() != Some(0))
}

/// The call for the groups beyond the limit, unless a higher limit was already tried.
fn further(call: &Call, body: &Map<String, Value>, groups: usize) -> Option<Rest> {
    let limit = limit_of(call, body, groups);
    let asked = call.arguments.get("limit").and_then(Value::as_u64);
    (has_others(body) && groups > 0 && limit < MANY && asked.is_none_or(|asked| asked <= limit)).then(|| {
        let cursor = json!(format!("{CURSOR}{groups}"));
        let next = call.with([("limit", Some(json!(MANY))), ("cursor", Some(cursor))]);
        Rest { groups: 0, next }
    })
}

/// Removes the last groups if not all fit; the next call begins with them.
fn fit(
    call: &Call,
    shown: usize,
    body: &mut Map<String, Value>,
    groups: &mut Vec<Value>,
    bounds: Bounds,
) -> Option<Rest> {
    let stream = call.text("stream").unwrap_or_default();
    let rest = |fit: usize| Rest {
        groups: groups.len() - fit,
        next: call.with([("cursor", Some(json!(format!("{CURSOR}{}", shown + fit))))]),
    };
    let sizes = groups.iter().map(|group| (json_len(group) + 1, group_line(group).len() + 1));
    let sizes = sizes.collect::<Vec<_>>();
    let fits = |room: (usize, usize)| {
        let (mut structured, mut text) = room;
        let fit = sizes.iter().take_while(|(size, line)| {
            let fits = *size <= structured && *line <= text;
            structured = structured.saturating_sub(*size);
            text = text.saturating_sub(*line);
            fits
        });
        fit.count()
    };
    let further = further(call, body, shown + groups.len());
    prune(stream, body, further.as_ref(), bounds);
    if fits(room(stream, body, further.as_ref(), bounds)) == groups.len() {
        return further;
    }
    prune(stream, body, Some(&rest(0)), bounds);
    let fit = fits(room(stream, body, Some(&rest(0)), bounds)).max(1);
    let rest = Some(rest(fit)).filter(|rest| rest.groups > 0);
    groups.truncate(fit);
    rest
}

/// The bytes of the line that states the order of groups.
const ORDER_BYTES: usize = 110;

/// The bytes of each view that groups may take: the structured view, then the text.
fn room(stream: &str, body: &Map<String, Value>, rest: Option<&Rest>, bounds: Bounds) -> (usize, usize) {
    let without = assemble(stream, body.clone(), Some(Vec::new()), rest);
    let structured = without.structured_len();
    // A cursor may be longer than the one after no groups.
    let (structured, text) = (structured + 20, without.text.len() + 20 + ORDER_BYTES);
    (bounds.structured.saturating_sub(structured), bounds.text.saturating_sub(text))
}

/// The maximum size of a group key that is shown whole, in bytes on the wire.
const KEY_BYTES: usize = 400;

/// Keeps only the documented parts next to the groups, and shortens them, if otherwise no group would fit: no honest
/// provider sends that much.
fn prune(stream: &str, body: &mut Map<String, Value>, rest: Option<&Rest>, bounds: Bounds) {
    let is_enough = |room: (usize, usize)| room.0.min(room.1) > KEY_BYTES + 100;
    if is_enough(room(stream, body, rest, bounds)) {
        return;
    }
    let mut meta = Map::from_iter(body.remove_entry("meta"));
    envelope::shorten(&mut meta);
    body.extend(meta);
    if is_enough(room(stream, body, rest, bounds)) {
        return;
    }
    let documented = [
        "object",
        "stream",
        "metric",
        "field",
        "group_by",
        "group_by_time",
        "granularity",
        "time_zone",
        "value",
        "other_count",
        "other_value",
        "record",
        "filtered_record_count",
        "approximate",
    ];
    let parts = body.len();
    let most = |key: &str| if key == "record" { RECORD_BYTES } else { 100 };
    body.retain(|key, value| documented.contains(&key.as_str()) && json_len(value) <= most(key));
    let parts = parts - body.len();
    envelope::warn(body, "envelope_cut", format!("{parts} other parts are too long to show"));
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
    let Some(fields) = group.as_object() else { return out };
    // A count alone is the requested value; next to a value it states how many records the value covers.
    let both = fields.get("value").zip(fields.get("count"));
    if let Some((value, count)) = both {
        let noun = if count.as_u64() == Some(1) { "record" } else { "records" };
        let _ = write!(out, " {} ({} {noun})", line::value(value, 80).text, line::value(count, 80).text);
    }
    for (name, value) in fields.iter().filter(|(name, _)| *name != "key") {
        if name != "count" && name != "value" {
            let _ = write!(out, " {}={}", line::token(name), line::value(value, 80).text);
        } else if both.is_none() {
            let _ = write!(out, " {}", line::value(value, 80).text);
        }
    }
    out
}

/// The order of the groups, if there is one: by what they are grouped by, by their values, or by their counts.
fn order_of(body: &Map<String, Value>, groups: &[Value]) -> Option<String> {
    if groups.len() < 2 {
        return None;
    }
    let keys = groups.iter().map(|group| group.get("key")?.as_str()).collect::<Option<Vec<_>>>();
    let keys = keys.unwrap_or_default();
    if text_of(body, "group_by_time").is_some() {
        let is_of = |is: fn(&&str, &&str) -> bool| !keys.is_empty() && keys.is_sorted_by(is);
        let order = is_of(|left, right| left <= right).then_some("the earliest first");
        return order
            .or_else(|| is_of(|left, right| left >= right).then_some("the latest first"))
            .map(str::to_owned);
    }
    let metric = text_of(body, "metric").unwrap_or("value");
    if let Some(order) = order_of_values(groups, metric == "sum") {
        return Some(format!("the {order} {} first", line::token(prefix_on_wire(metric, 20))));
    }
    // If groups have values, their counts do not determine the order.
    let is_count =
        |group: &Value| if group.get("value").is_some() { None } else { group.get("count")?.as_u64() };
    let counts = groups.iter().map(is_count).collect::<Option<Vec<_>>>();
    if counts.is_some_and(|counts| counts.is_sorted_by(|left, right| left >= right)) {
        return Some("the largest first".to_owned());
    }
    (!keys.is_empty() && keys.is_sorted()).then(|| "in the order of their keys".to_owned())
}

/// Which values of groups come first; `None` if they have no values or no order. Sums that fit both orders count as
/// ordered by size: those that are not shown may be positive too.
fn order_of_values(groups: &[Value], are_sums: bool) -> Option<&'static str> {
    let mut values = groups.iter().map(|group| group.get("value")).collect::<Option<Vec<_>>>()?;
    // Groups without a value come last in any order.
    values.truncate(values.iter().rposition(|value| !value.is_null()).map_or(0, |last| last + 1));
    if values.len() < 2 {
        return None;
    }
    let number = |value: &&Value| match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse::<f64>().ok(),
        _ => None,
    };
    let Some(numbers) = values.iter().map(number).collect::<Option<Vec<_>>>() else {
        let texts = values.iter().map(|value| value.as_str()).collect::<Option<Vec<_>>>()?;
        let is_of = |is: fn(&&str, &&str) -> bool| texts.is_sorted_by(is);
        let latest = is_of(|left, right| left >= right).then_some("latest");
        return latest.or_else(|| is_of(|left, right| left <= right).then_some("earliest"));
    };
    let is_by_size = numbers.is_sorted_by(|left, right| left.abs() >= right.abs());
    if are_sums && is_by_size && numbers.iter().any(|number| *number < 0.0) {
        Some("largest (plus or minus)")
    } else if numbers.is_sorted_by(|left, right| left >= right) {
        Some("largest")
    } else if numbers.is_sorted() {
        Some("smallest")
    } else if is_by_size {
        Some("largest (plus or minus)")
    } else {
        None
    }
}

fn assemble(
    stream: &str,
    mut body: Map<String, Value>,
    groups: Option<Vec<Value>>,
    rest: Option<&Rest>,
) -> ToolAnswer {
    if let Some(groups) = groups {
        body.insert("groups".into(), groups.into());
    }
    let rows = body.get("groups").and_then(Value::as_array).map_or(1, Vec::len);
    let text = text(stream, &body, rest);
    let structured = Written::object(|members| {
        members.put("data", &body);
        let groups = rest.map_or(0, |rest| rest.groups);
        members.put_some("groups_not_shown", (groups > 0).then(|| json!(groups)));
        members.put_some("next", rest.map(|rest| &rest.next));
    });
    ToolAnswer { text, structured: Some(structured), is_error: false, rows }
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
            if let Some(value) = body.get("other_value").filter(|value| !value.is_null()) {
                let _ = write!(out, " other_value={}", line::value(value, 80).text);
            }
            if !matches!(other.as_u64(), Some(0)) {
                out.push_str(match rest {
                    Some(rest) if rest.groups == 0 => {
                        " (records in further groups: the next call shows them)"
                    }
                    Some(_) => " (records in further groups)",
                    None if body.contains_key("granularity") => {
                        " (records in later groups: narrow with filter, or use a longer granularity)"
                    }
                    None => " (records in further groups: narrow with filter)",
                });
            }
            out.push('\n');
        }
        if let Some(order) = order_of(body, groups) {
            let _ = writeln!(out, "{} shown, {order}; limit sets how many", counted(groups.len(), "group"));
        }
        if let Some(rest) = rest.filter(|rest| rest.groups > 0) {
            let _ =
                writeln!(out, "{} did not fit: the next call shows them", counted(rest.groups, "more group"));
        }
    }
    if let Some(record) = text_of(body, "record") {
        let _ = writeln!(out, "record: id={} (fetch reads it)", line::token(record));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o6_3_a_value_stands_beside_the_count_of_its_group() {
        let mut body = json!({"metric": "sum", "field": "amount", "group_by": "kind", "other_count": 3, "other_value": -7.50, "groups": [
            {"key": "rent", "count": 12, "value": 3400.00}, {"key": "food", "count": 1, "value": null}]});
        let text_of = |body: &Value| text("spending", body.as_object().unwrap(), None);
        let shown = text_of(&body);
        assert!(shown.contains("\n\"rent\": 3400.0 (12 records)\n\"food\": null (1 record)\n"), "{shown}");
        assert!(
            !shown.contains("the largest first"),
            "the counts are not what they are in order of: {shown}"
        );
        assert!(shown.contains("other_count=3 other_value=-7.5 (records in further groups"), "{shown}");
        // A count alone is the requested value.
        body["groups"] = json!([{"key": "rent", "count": 12}]);
        body["other_value"] = Value::Null;
        let shown = text_of(&body);
        assert!(shown.contains("\n\"rent\": 12\nother_count=3 (records"), "{shown}");
    }

    #[test]
    fn an_extreme_names_its_record_by_the_id_that_fetch_takes() {
        let named = |record: Value| {
            let mut body = json!({"metric": "max", "field": "n", "value": 9, "record": record});
            let body = body.as_object_mut().unwrap();
            name_record("spending", body);
            (body.get("record").cloned(), text("spending", body, None))
        };
        let (record, text) = named(json!({"stream": "spending", "id": "a/1", "connection_id": "cin_a"}));
        assert_eq!(record, Some(json!("cin_a/spending:a%2F1")));
        assert!(text.contains("\nrecord: id=cin_a/spending:a%2F1 (fetch reads it)"), "{text}");
        // Anything that cannot be the id of a record is omitted.
        assert_eq!(named(json!({"id": "x".repeat(2_000), "connection_id": "cin_a"})).0, None);
        assert_eq!(named(json!({"id": 7})).0, None);
    }

    #[test]
    fn the_order_that_is_told_is_the_one_that_groups_are_in() {
        let order = |body: &Value, groups: &[(&str, u64, Value)]| {
            let group = |(key, count, value): &(&str, u64, Value)| {
                let mut group = json!({"key": key, "count": count});
                if !value.is_null() {
                    group["value"] = value.clone();
                }
                group
            };
            order_of(body.as_object().unwrap(), &groups.iter().map(group).collect::<Vec<_>>())
        };
        let none = || Value::Null;
        let by = |metric: &str| json!({"metric": metric, "group_by": "kind"});
        let months = json!({"metric": "count", "group_by_time": "at"});
        // Counts may be descending by chance.
        assert_eq!(
            order(&months, &[("2026-01", 9, none()), ("2026-02", 3, none())]).unwrap(),
            "the earliest first"
        );
        assert_eq!(
            order(&months, &[("2026-02", 9, none()), ("2026-01", 3, none())]).unwrap(),
            "the latest first"
        );
        assert_eq!(order(&by("count"), &[("b", 9, none()), ("a", 3, none())]).unwrap(), "the largest first");
        assert_eq!(
            order(&by("count"), &[("a", 3, none()), ("b", 9, none())]).unwrap(),
            "in the order of their keys"
        );
        assert_eq!(order(&by("count"), &[("b", 3, none()), ("a", 9, none())]), None);
        // Not by the counts next to them.
        assert_eq!(
            order(&by("sum"), &[("b", 9, json!(1.5)), ("a", 3, json!("-7"))]).unwrap(),
            "the largest sum first"
        );
        let both = [("b", 1, json!(-9)), ("a", 3, json!("7.5")), ("c", 2, json!(-1))];
        assert_eq!(order(&by("sum"), &both).unwrap(), "the largest (plus or minus) sum first");
        let two = [("b", 1, json!(9)), ("a", 3, json!(-7.5))];
        assert_eq!(order(&by("sum"), &two).unwrap(), "the largest (plus or minus) sum first");
        assert_eq!(order(&by("max"), &two).unwrap(), "the largest max first");
        assert_eq!(
            order(&by("min"), &[("b", 1, json!(1)), ("a", 3, json!(2))]).unwrap(),
            "the smallest min first"
        );
        let days = [("b", 1, json!("2026-02-01")), ("a", 3, json!("2026-01-01"))];
        assert_eq!(order(&by("max"), &days).unwrap(), "the latest max first");
        assert_eq!(order(&by("count"), &[("b", 9, none())]), None);
        let some = json!([{"key": "b", "count": 1, "value": 7}, {"key": "c", "count": 1, "value": -8}, {"key": "a", "count": 3, "value": null}]);
        let told = order_of(by("min").as_object().unwrap(), some.as_array().unwrap());
        assert_eq!(told.unwrap(), "the largest min first", "a group without a value comes last in any order");
    }
}
