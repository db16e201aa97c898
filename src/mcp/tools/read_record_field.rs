//! `read_record_field`: a window of one text field, inline.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::fetch::record_argument;
use super::{advice, is_missing, json_len, meta_lines, text_of};
use crate::mcp::id::RecordId;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::answer_shape;
use crate::mcp::render::cut::WHOLE;
use crate::mcp::render::ladder::{Call, EXPANDED, JsonCursor};
use crate::mcp::render::window::{self, Start};
use crate::mcp::render::{envelope, line, prefix_on_wire, suffix_on_wire};
use crate::mcp::tool_error::ToolError;
use crate::mcp::tools::arguments::{Arguments, call};
use crate::mcp::tools::core::Core;
use crate::provider::rs::Read;

/// Characters of a window when the caller names no limit.
const DEFAULT_CHARS: u64 = 4_096;

/// Characters shown before and after a match when the caller names none.
const AROUND_CHARS: u64 = 400;

/// Longest window that a provider gives, in characters.
const MAX_CHARS: u64 = 16_384;

/// Most windows of a field that one call looks through for a further match: 262,144 characters.
const MAX_WINDOWS: usize = 16;

/// Answers a call.
pub async fn run(core: &Core, arguments: Arguments) -> Result<ToolAnswer, ToolError> {
    let id = record(&arguments)?;
    let read = window_read(&arguments, &id)?;
    let source = core.source();
    let json = json_cursor(&arguments)?;
    let further = arguments.text("q").zip(offset(&arguments)?);
    let mut body = if json.is_some() || source.is_known_core() {
        own_window(core, &arguments, &id, json).await?
    } else {
        let window = match further {
            Some((q, from)) => further_match(core, &arguments, &read, q, from).await,
            None => source.get(&read).await.map(|envelope| envelope.body),
        };
        match window {
            Err(error) if is_missing(&error) && source.is_core().await => {
                own_window(core, &arguments, &id, None).await?
            }
            Err(error) => {
                let (stream, connection) = (&id.stream, id.connection.as_deref());
                let facts = source.known_facts(stream, connection).unwrap_or_default();
                let error = advice::missing_record(error, &arguments, &id, &facts);
                return Err(advice::explain(core, error, &arguments, stream, connection).await);
            }
            Ok(body) => body,
        }
    };
    answer_shape::window(&body)?;
    envelope::prepare(&mut body);
    Ok(render(&arguments, &id, body, core.bounds().text.min(core.bounds().structured), json))
}

/// The window around the first match from a character on. A resource server finds the first of the whole field
/// alone: the field is read on from there, and looked through here. Where that takes too many windows, the answer is
/// an empty window that says how far it was looked, and goes on there.
async fn further_match(
    core: &Core,
    arguments: &Arguments,
    read: &Read,
    q: &str,
    from: u64,
) -> Result<Map<String, Value>, ToolError> {
    let mut plain = read.clone();
    plain.query.retain(|(name, _)| {
        !matches!(name.as_str(), "q" | "before_chars" | "after_chars" | "offset_chars" | "limit_chars")
    });
    let at = |offset: u64, limit: u64| {
        let read = plain.clone().with("offset_chars", offset.to_string());
        let read = read.with("limit_chars", limit.to_string());
        async move { core.source().get(&read).await }
    };
    let length = q.chars().count() as u64;
    // The end of the window before, in which a match may have begun.
    let mut carried = String::new();
    let mut looked_to = from;
    let mut last = Map::new();
    for _ in 0..MAX_WINDOWS {
        let mut body = at(looked_to, MAX_CHARS).await?.body;
        let window = answer_shape::window(&body)?;
        let text = text_of(window, "text").unwrap_or("");
        let begin = looked_to - carried.chars().count() as u64;
        carried.push_str(text);
        looked_to += text.chars().count() as u64;
        if let Some(found) = window::find(&carried, q, 0) {
            let start = begin + found as u64;
            let around = |name| arguments.integer(name).unwrap_or(AROUND_CHARS);
            let offset = start.saturating_sub(around("before_chars"));
            let most = arguments.integer("limit_chars").unwrap_or(MAX_CHARS);
            let limit = (start + length + around("after_chars") - offset).min(most);
            let mut body = at(offset, limit).await?.body;
            answer_shape::window(&body)?;
            if let Some(Value::Object(window)) = body.get_mut("window") {
                window.insert("match_start_chars".into(), json!(start));
                window.insert("match_end_chars".into(), json!(start + length));
            }
            return Ok(body);
        }
        let total = window.get("total_chars").and_then(Value::as_u64);
        if text.is_empty() || total.is_none_or(|total| looked_to >= total) {
            let from = total.map_or(from, |total| from.min(total));
            return Ok(looked_through(
                body,
                from,
                looked_to.max(from).min(total.unwrap_or(looked_to)),
                total,
                NO_MORE,
            ));
        }
        let kept = (carried.chars().count() as u64).min(length.saturating_sub(1));
        carried = carried
            .chars()
            .rev()
            .take(usize::try_from(kept).unwrap_or(0))
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect();
        last = std::mem::take(&mut body);
    }
    let total = last.get("window").and_then(|window| window.get("total_chars")?.as_u64());
    Ok(looked_through(last, from, looked_to, total, NOTHING_YET))
}

/// What is said where a further match was not found within the windows of one call, and where there is none.
const NOTHING_YET: &str = "q is not in these characters; next_match looks further";
const NO_MORE: &str = "q is not in these characters: there is no further match";

/// An empty window that says what was looked through.
fn looked_through(
    mut body: Map<String, Value>,
    from: u64,
    to: u64,
    total: Option<u64>,
    note: &str,
) -> Map<String, Value> {
    let window = json!({"text": "", "start_chars": from, "end_chars": to, "total_chars": total, "complete": false, "note": note});
    body.insert("window".into(), window);
    body
}

/// What is said of a window without a match.
fn note_of(window: &Map<String, Value>) -> Option<&'static str> {
    let note = text_of(window, "note")?;
    [NOTHING_YET, NO_MORE].into_iter().find(|known| *known == note)
}

/// Where a window over the JSON text of a value begins: where the cursor says, and at the beginning for an
/// expanded relation, which has no other text.
fn json_cursor(arguments: &Arguments) -> Result<Option<JsonCursor>, ToolError> {
    let is_expanded = || {
        let path = arguments.given().get("field_path").and_then(Value::as_str);
        path.is_some_and(|path| path.starts_with(EXPANDED)) && !arguments.has("offset_chars")
    };
    match arguments.text("cursor").filter(|cursor| JsonCursor::is_meant(cursor)) {
        Some(cursor) => {
            let cursor = JsonCursor::parse(cursor);
            let wrong = || arguments.foreign_cursor();
            cursor.map(Some).ok_or_else(wrong)
        }
        None => Ok(is_expanded().then(JsonCursor::default)),
    }
}

/// The record that a window is cut from here, with the relation that the path names expanded.
async fn read_record(
    core: &Core,
    id: &RecordId,
    field: &str,
    json: Option<JsonCursor>,
) -> Result<Map<String, Value>, ToolError> {
    let read = Read::of(["streams", &id.stream, "records", &id.record]);
    let connection = id.connection.as_deref();
    if let Some(relation) = field.strip_prefix(EXPANDED) {
        let limit = json.and_then(|json| json.limit).map(|limit| limit.to_string());
        let read = read.clone().with("expand", relation);
        let read = read
            .with_some(&format!("expand_limit[{relation}]"), limit)
            .with_some("connection_id", connection);
        match core.source().get(&read).await {
            // A field's own name may look like a relation.
            Err(error) if error.detail("status") == Some(&json!(400)) => {}
            envelope => return Ok(envelope?.body),
        }
    }
    let mut read = read;
    // A name with a dot may be a path or a field's own name, one with a comma would be two names.
    if field != WHOLE && !field.contains(['.', ',']) {
        read.push("fields", field);
    }
    Ok(core.source().get(&read.with_some("connection_id", connection)).await?.body)
}

/// A window cut here, of the record itself: over a value's JSON text, or over a text field of a provider
/// that has no field windows.
async fn own_window(
    core: &Core,
    arguments: &Arguments,
    id: &RecordId,
    json: Option<JsonCursor>,
) -> Result<Map<String, Value>, ToolError> {
    let field = arguments.required_text("field_path", "FIELD")?;
    let mut record = read_record(core, id, field, json).await?;
    answer_shape::record(&record)?;
    envelope::prepare(&mut record);
    let data = record.get("data").unwrap_or(&Value::Null);
    let related = || field.strip_prefix(EXPANDED).and_then(|relation| record.get("expanded")?.get(relation));
    let value = if field == WHOLE { Some(data) } else { value_at(data, field).or_else(related) };
    let value = value.ok_or_else(|| {
        ToolError::new(
            "field_not_found",
            format!("the record has no field `{field}`"),
            Call::new("fetch", json!({"id": id.handle()})),
        )
        .with("param", "field_path")
    })?;
    let (text, kind) = match (value, json) {
        (Value::String(text), None) => (text.clone(), "string"),
        (value, Some(_)) => (value.to_string(), "json"),
        (value, None) => {
            let mut next = arguments.given().clone();
            next.insert("cursor".into(), json!(JsonCursor::default().to_string()));
            let kind = match value {
                Value::Array(_) => "an array",
                Value::Object(_) => "an object",
                Value::Null => "null",
                _ => "no text",
            };
            return Err(ToolError::new(
                "field_not_text",
                format!("field `{field}` is {kind}, not a text"),
                call("read_record_field", &next),
            )
            .with("param", "field_path"));
        }
    };
    let chars = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let limit = chars(arguments.integer("limit_chars").unwrap_or(DEFAULT_CHARS));
    let around = |name| chars(arguments.integer(name).unwrap_or(AROUND_CHARS));
    let from = chars(offset(arguments)?.unwrap_or(0));
    let start = match (arguments.text("q"), json) {
        (Some(q), _) => {
            Start::Match { q, from, before: around("before_chars"), after: around("after_chars") }
        }
        (None, Some(json)) => Start::Offset(json.offset),
        (None, None) => Start::Offset(from),
    };
    let Some(window) = window::window(&text, start, limit) else {
        if from > 0 {
            let total = text.chars().count() as u64;
            let body = Map::from_iter([("field".to_owned(), json!({"path": field, "type": kind}))]);
            return Ok(looked_through(body, (from as u64).min(total), total, Some(total), NO_MORE));
        }
        return Err(ToolError::new(
            "match_not_found",
            format!("`q` does not occur in field `{field}`"),
            "search finds the words a record has",
        )
        .with("param", "q"));
    };
    let body = json!({"object": "field_window", "field": {"path": field, "type": kind}, "stream": id.stream,
        "record_id": id.record, "window": window});
    Ok(body.as_object().cloned().unwrap_or_default())
}

/// A field by its path: names joined by dots, list positions as numbers.
fn value_at<'a>(data: &'a Value, path: &str) -> Option<&'a Value> {
    // A field whose own name holds a dot comes first.
    if let Some(value) = data.get(path) {
        return Some(value);
    }
    path.split('.').try_fold(data, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        value => value.get(part),
    })
}

/// Exactly one way to name the record (R3.51).
fn record(arguments: &Arguments) -> Result<RecordId, ToolError> {
    let parts = ["stream", "record_id"].map(|name| arguments.has(name));
    if arguments.has("id") {
        if parts != [false, false] {
            return Err(ToolError::new(
                "conflicting_arguments",
                "the record is named twice: by id, and by stream or record_id",
                "give the id alone, or connection_id, stream and record_id",
            )
            .with("param", "id"));
        }
        return record_argument(arguments, "read_record_field");
    }
    if parts == [false, false] && !arguments.has("connection_id") {
        return Err(ToolError::new(
            "missing_argument",
            "read_record_field needs `id`, or connection_id, stream and record_id",
            "take the id from search or query_records: connection_id/stream:record_id",
        )
        .with("param", "id"));
    }
    let connection = arguments.required_text("connection_id", "CONNECTION_ID")?;
    let stream = arguments.required_text("stream", "STREAM")?;
    let record = arguments.required_text("record_id", "RECORD_ID")?;
    RecordId::from_parts(connection, stream, record).map_err(|error| {
        ToolError::new(
            "invalid_id",
            format!("connection_id, stream and record_id name no record: {error}"),
            "take them from search or query_records",
        )
        .with("param", "record_id")
    })
}

fn window_read(arguments: &Arguments, id: &RecordId) -> Result<Read, ToolError> {
    let field = arguments.required_text("field_path", "FIELD")?;
    if let Some(second) = ["offset_chars", "q"].into_iter().find(|name| arguments.has(name))
        && arguments.has("cursor")
    {
        return Err(ToolError::new(
            "conflicting_arguments",
            "cursor says where a window starts: it goes with neither offset_chars nor q",
            "leave cursor out, or the others; q with offset_chars is the first match from there on",
        )
        .with("param", second));
    }
    for name in ["before_chars", "after_chars"] {
        if arguments.has(name) && !arguments.has("q") {
            let corrected = arguments.with([("before_chars", None), ("after_chars", None)]);
            return Err(arguments.lacks(name, "q", "it is the surroundings of a match", &corrected));
        }
    }
    let offset = offset(arguments)?;
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let mut read =
        Read::of(["streams", &id.stream, "records", &id.record, "field-window"]).with("field", field);
    read = read
        .with_some("offset_chars", number(offset))
        .with_some("limit_chars", number(arguments.integer("limit_chars")))
        .with_some("q", arguments.text("q"))
        .with_some("before_chars", number(arguments.integer("before_chars")))
        .with_some("after_chars", number(arguments.integer("after_chars")))
        .with_some("connection_id", id.connection.as_deref());
    Ok(read)
}

/// Where the window begins, in characters; a cursor of this tool is a number of them.
fn offset(arguments: &Arguments) -> Result<Option<u64>, ToolError> {
    match arguments.text("cursor") {
        Some(cursor) if JsonCursor::is_meant(cursor) => Ok(None),
        Some(cursor) => {
            let offset = cursor.parse().map_err(|_| arguments.foreign_cursor());
            offset.map(Some)
        }
        None => Ok(arguments.integer("offset_chars")),
    }
}

/// The window in both views; where it does not fit it ends earlier and the next call begins there. A match
/// stays in it: then it begins later too.
fn render(
    arguments: &Arguments,
    id: &RecordId,
    mut body: Map<String, Value>,
    max_bytes: usize,
    json: Option<JsonCursor>,
) -> ToolAnswer {
    let mut window = match body.remove("window") {
        Some(Value::Object(window)) => window,
        _ => Map::new(),
    };
    envelope::shorten(&mut body);
    // An honest window has numbers and flags beside its text.
    window.retain(|key, value| key == "text" || json_len(value) <= 60);
    body.retain(|_, value| json_len(value) <= max_bytes / 8);
    let whole = match window.get("text") {
        Some(Value::String(text)) => text.clone(),
        _ => String::new(),
    };
    window.insert("text".into(), json!(""));
    let number = |window: &Map<String, Value>, key: &str| window.get(key).and_then(Value::as_u64);
    let start = number(&window, "start_chars").unwrap_or(0);
    let further = next_match(arguments, &window, &whole, start);
    let overhead = {
        // As if it were cut at both ends, with the calls that read on.
        let mut window = window.clone();
        let end = start.saturating_add(whole.len() as u64);
        for key in ["end_chars", "next_offset_chars", "previous_offset_chars"] {
            window.insert(key.into(), json!(end));
        }
        let answer = render_window(arguments, id, &body, &window, further.as_ref(), max_bytes, json);
        answer.text.len().max(answer.structured.as_ref().map_or(0, json_len)) + 60
    };
    let room = max_bytes.saturating_sub(overhead);
    let matched =
        number(&window, "match_start_chars").and_then(|at| usize::try_from(at.checked_sub(start)?).ok());
    let (skipped, shown) = around_match(&whole, matched.unwrap_or(0), room);
    let skipped = skipped as u64;
    // Saturating: where the window starts is what the provider says.
    let shown_from = start.saturating_add(skipped);
    let end = shown_from.saturating_add(shown.chars().count() as u64);
    if skipped > 0 {
        window.insert("start_chars".into(), json!(shown_from));
        let before = shown_from.saturating_sub(shown.chars().count() as u64);
        window.insert("previous_offset_chars".into(), json!(before));
    }
    if end < start.saturating_add(whole.chars().count() as u64) {
        window.insert("end_chars".into(), json!(end));
        window.insert("next_offset_chars".into(), json!(end));
        window.insert("has_more".into(), json!(true));
    }
    if shown.len() < whole.len() {
        window.insert("complete".into(), json!(false));
    }
    window.insert("text".into(), json!(shown));
    render_window(arguments, id, &body, &window, further.as_ref(), max_bytes, json)
}

/// The call that finds the match after this one; none where the rest of the field is at hand and has none.
fn next_match(arguments: &Arguments, window: &Map<String, Value>, text: &str, start: u64) -> Option<Call> {
    let q = arguments.given().get("q")?.as_str()?;
    let number = |key: &str| window.get(key).and_then(Value::as_u64);
    let length = q.chars().count() as u64;
    let offset = match number("match_end_chars")
        .or_else(|| Some(number("match_start_chars")?.saturating_add(length)))
    {
        Some(end) => {
            let is_rest = number("total_chars") == Some(start.saturating_add(text.chars().count() as u64));
            let from = usize::try_from(end.checked_sub(start)?).ok()?;
            if is_rest && window::find(text, q, from).is_none() {
                return None;
            }
            end
        }
        None if note_of(window) == Some(NOTHING_YET) => {
            number("end_chars")?.saturating_sub(length.saturating_sub(1))
        }
        None => return None,
    };
    Some(call("read_record_field", &arguments.with([("offset_chars", Some(json!(offset)))])))
}

/// As much of `text` as fits `room`, from its beginning, or where that would cut out what begins at the
/// character `at`, from half of the room before it. Gives how many characters are left out before.
fn around_match(text: &str, at: usize, room: usize) -> (usize, &str) {
    let shown = prefix_on_wire(text, room);
    let Some((split, _)) = text.char_indices().nth(at).filter(|_| at > 0 && shown.len() < text.len()) else {
        return (0, shown);
    };
    let (before, from_match) = text.split_at(split);
    let after = json_len(&prefix_on_wire(from_match, room)).saturating_sub(2);
    let before = suffix_on_wire(before, (room / 2).max(room.saturating_sub(after)));
    let begin = split - before.len();
    (text[..begin].chars().count(), prefix_on_wire(&text[begin..], room))
}

fn render_window(
    arguments: &Arguments,
    id: &RecordId,
    body: &Map<String, Value>,
    window: &Map<String, Value>,
    further: Option<&Call>,
    max_bytes: usize,
    json: Option<JsonCursor>,
) -> ToolAnswer {
    let number = |key: &str| window.get(key).and_then(Value::as_u64);
    let base = |offset: u64| {
        let mut next =
            arguments.with([("cursor", None), ("q", None), ("before_chars", None), ("after_chars", None)]);
        if let Some(json) = json {
            let cursor = JsonCursor { offset: usize::try_from(offset).unwrap_or(usize::MAX), ..json };
            next.insert("cursor".into(), json!(cursor.to_string()));
        } else {
            next.insert("offset_chars".into(), json!(offset));
        }
        Call { tool: "read_record_field", arguments: next }
    };
    let (start, end) = (number("start_chars").unwrap_or(0), number("end_chars"));
    let next = number("next_offset_chars").filter(|next| *next > start || end == Some(start)).map(base);
    // Going back costs the record's id again: not where that is endless.
    let previous = number("previous_offset_chars").map(|offset| {
        let mut call = base(offset);
        // Up to where this window begins.
        if !call.arguments.contains_key("limit_chars") {
            call.arguments.insert("limit_chars".into(), json!(start.saturating_sub(offset).clamp(1, 16_384)));
        }
        call
    });
    let previous = previous.filter(|call| json_len(&call.to_json()) <= max_bytes / 6);
    let end_of_text =
        if next.is_none() && note_of(window).is_none() && window.get("complete") == Some(&json!(false)) {
            " (this window is not the whole text, but its end)"
        } else {
            ""
        };

    let mut out = line::quoted(text_of(window, "text").unwrap_or(""));
    let field = body.get("field").and_then(|field| field.get("path")).and_then(Value::as_str);
    let field = field.or_else(|| arguments.given().get("field_path")?.as_str()).unwrap_or("");
    let field = line::token(field);
    let mut of = id.handle().map_or_else(|| line::token(&id.record), |handle| line::token(&handle));
    if field.len() + of.len() > max_bytes / 8 {
        "the record".clone_into(&mut of);
    }
    let show = |key: &str| {
        let value = window.get(key).filter(|value| !value.is_null());
        value.map_or_else(|| "?".into(), |value| line::value(value, 60).text)
    };
    let _ = write!(
        out,
        "\n{} of {of}: characters {} to {} of {}, complete={}{end_of_text}\n",
        if field.len() > max_bytes / 8 { "field_path" } else { &field },
        show("start_chars"),
        show("end_chars"),
        show("total_chars"),
        show("complete"),
    );
    if number("match_start_chars").is_some() {
        let last = if further.is_none() { ", the last one" } else { "" };
        let _ = writeln!(
            out,
            "match: characters {} to {}{last}",
            show("match_start_chars"),
            show("match_end_chars")
        );
    }
    if let Some(note) = note_of(window) {
        let _ = writeln!(out, "{note}");
    }
    if let Some(further) = further {
        let _ = writeln!(out, "next match: {}", further.to_text());
    }
    meta_lines(&mut out, body);
    let mut body = body.clone();
    body.insert("window".into(), Value::Object(window.clone()));
    let mut structured = Map::from_iter([("data".to_owned(), Value::Object(body))]);
    if let Some(further) = further {
        structured.insert("next_match".into(), further.to_json());
    }
    if let Some(next) = next {
        let _ = writeln!(out, "next: {}", next.to_text());
        structured.insert("next".into(), next.to_json());
    }
    if let Some(previous) = previous {
        let _ = writeln!(out, "previous: {}", previous.to_text());
        structured.insert("previous".into(), previous.to_json());
    }
    out.truncate(out.trim_end().len());
    ToolAnswer { text: out, structured: Some(structured), is_error: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_longest_window_is_that_of_the_input_schema() {
        let schema = crate::mcp::tools::surface::input_schema("read_record_field");
        assert_eq!(schema["properties"]["limit_chars"]["maximum"], MAX_CHARS);
    }

    proptest! {
        #[test]
        fn r3_50_a_match_is_never_cut_out(before in 0usize..300, after in 0usize..300, room in 1usize..200) {
            let text = format!("{}NEEDLE{}", "é\n".repeat(before), "b".repeat(after));
            let (skipped, shown) = around_match(&text, before * 2, room);
            prop_assert!(json_len(&shown) <= room + 2);
            let rest = text.chars().skip(skipped).collect::<String>();
            prop_assert!(rest.starts_with(shown));
            let needle = "NEEDLE".chars().take(room / 2).collect::<String>();
            prop_assert!(shown.contains(&needle), "{room}: {shown:?}");
            // No room is given away: another character would not fit.
            let left_out = skipped > 0 || shown.len() < text.len();
            prop_assert!(!left_out || json_len(&shown) + 3 >= room, "{room}: {shown:?}");
        }
    }

    #[test]
    fn r3_51_one_way_to_name_the_record() {
        let cases = [
            (json!({"id": "c/s:r", "stream": "s", "field_path": "f"}), "conflicting_arguments"),
            (json!({"id": "c/s:r", "connection_id": "d", "field_path": "f"}), "conflicting_connection"),
            (json!({"field_path": "f"}), "missing_argument"),
            (json!({"stream": "s", "record_id": "r", "field_path": "f"}), "missing_argument"),
            (json!({"id": "nonsense", "field_path": "f"}), "invalid_id"),
            (
                json!({"connection_id": "c", "stream": "a/b", "record_id": "r", "field_path": "f"}),
                "invalid_id",
            ),
        ];
        for (given, code) in cases {
            let Value::Object(given) = given else { panic!() };
            let arguments = Arguments::new("read_record_field", given).unwrap();
            assert_eq!(record(&arguments).unwrap_err().code(), code);
        }
    }
}
