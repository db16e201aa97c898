//! `read_record_field`: a window of one text field, inline.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::answer_parts::{is_missing, meta_lines, text_of};
use super::arguments::{Given, foreign_cursor};
use super::context::Context;
use crate::json::write::Written;
use crate::mcp::call::{Call, Tool};
use crate::mcp::id::RecordId;
use crate::mcp::line;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::answer_shape;
use crate::mcp::reading::envelope;
use crate::mcp::reading::reader::Reader;
use crate::mcp::reading::request::{self, Expansion, FieldWindow, Request};
use crate::mcp::render::cut::WHOLE;
use crate::mcp::render::ladder::{EXPANDED, JsonCursor};
use crate::mcp::render::window::{self, Start};
use crate::mcp::size::{json_len, prefix_on_wire, suffix_on_wire};
use crate::mcp::tool_error::ToolError;

/// The length of a window when the caller names no limit, in characters.
const DEFAULT_CHARS: u64 = 4_096;

/// Characters shown before and after a match when the caller gives no numbers.
const AROUND_CHARS: u64 = 400;

/// The longest window that a provider returns, in characters.
const MAX_CHARS: u64 = 16_384;

/// The maximum number of windows in which one call looks for a further match: 262,144 characters.
const MAX_WINDOWS: usize = 16;

/// The arguments of a call.
pub struct Arguments {
    /// The call as given.
    pub call: Call,
    /// Which window of which field.
    pub window: FieldWindow,
    /// Where a window over the JSON text of the field's value begins, if it is such a window.
    json: Option<JsonCursor>,
}

impl Arguments {
    /// Reads a checked call.
    ///
    /// # Errors
    /// Returns an error for arguments that contradict each other, or for a cursor that this tool did not give.
    pub fn parse(call: Call) -> Result<Self, ToolError> {
        let id = record(&call)?;
        let window = field_window(&call, id)?;
        let json = json_cursor(&call)?;
        Ok(Self { call, window, json })
    }
}

/// Answers a call.
///
/// # Errors
/// Returns what the record does not have, or the provider's refusal, not explained yet.
pub async fn run(context: Context<'_>, arguments: &Arguments) -> Result<ToolAnswer, ToolError> {
    let Context { reader, bounds } = context;
    let window = &arguments.window;
    let mut body = if let Some(json) = arguments.json {
        json_window(reader, arguments, json).await?
    } else if reader.is_known_core() {
        own_window(reader, arguments, None).await?
    } else {
        let read = match (&window.q, window.offset) {
            (Some(q), Some(from)) => further_match(reader, window, q, from).await,
            _ => reader.read(&Request::FieldWindow(window.clone())).await.map(|envelope| envelope.body),
        };
        match read {
            Err(error) if is_missing(&error) && reader.is_core().await => {
                own_window(reader, arguments, None).await?
            }
            read => read?,
        }
    };
    answer_shape::window(&body)?;
    envelope::prepare(&mut body);
    Ok(render(arguments, body, bounds.text.min(bounds.structured)))
}

/// A window over the JSON text of a value: cut by the backend if it can do so, otherwise here.
async fn json_window(
    reader: &Reader,
    arguments: &Arguments,
    json: JsonCursor,
) -> Result<Map<String, Value>, ToolError> {
    if reader.cuts_json() {
        let cursor = Some(json.to_string());
        let read = Request::FieldWindow(FieldWindow { cursor, ..arguments.window.clone() });
        match reader.read(&read).await {
            Ok(envelope) => return Ok(envelope.body),
            // The provider does not know such a cursor: the record that it returns is cut here.
            Err(error) if error.detail("status") == Some(&json!(400)) => {}
            Err(error) => return Err(error),
        }
    }
    own_window(reader, arguments, Some(json)).await
}

/// The window around the first match from a given character on. A resource server finds only the first match in the
/// whole field, so the rest of the field is read and searched here. If that takes too many windows, the answer is an
/// empty window that states how far the search went, and continues there.
async fn further_match(
    reader: &Reader,
    window: &FieldWindow,
    q: &str,
    from: u64,
) -> Result<Map<String, Value>, ToolError> {
    let at = |offset: u64, limit: u64| {
        let (id, field) = (window.id.clone(), window.field.clone());
        let (offset, limit) = (Some(offset), Some(limit));
        let read = FieldWindow { id, field, offset, limit, ..FieldWindow::default() };
        async move { reader.read(&Request::FieldWindow(read)).await }
    };
    let length = q.chars().count() as u64;
    // The end of the previous window, in which a match may have begun.
    let mut carried = String::new();
    let mut looked_to = from;
    let mut last = Map::new();
    for _ in 0..MAX_WINDOWS {
        let mut body = at(looked_to, MAX_CHARS).await?.body;
        let found = answer_shape::window(&body)?;
        let text = text_of(found, "text").unwrap_or("");
        let begin = looked_to - carried.chars().count() as u64;
        carried.push_str(text);
        looked_to += text.chars().count() as u64;
        if let Some(at_char) = window::find(&carried, q, 0) {
            let start = begin + at_char as u64;
            let offset = start.saturating_sub(window.before.unwrap_or(AROUND_CHARS));
            let most = window.limit.unwrap_or(MAX_CHARS);
            let limit = (start + length + window.after.unwrap_or(AROUND_CHARS) - offset).min(most);
            let mut body = at(offset, limit).await?.body;
            answer_shape::window(&body)?;
            if let Some(Value::Object(found)) = body.get_mut("window") {
                found.insert("match_start_chars".into(), json!(start));
                found.insert("match_end_chars".into(), json!(start + length));
            }
            return Ok(body);
        }
        let total = found.get("total_chars").and_then(Value::as_u64);
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

/// The notes if no further match was found within one call's windows, and if there is none.
const NOTHING_YET: &str = "q is not in these characters; next_match looks further";
const NO_MORE: &str = "q is not in these characters: there is no further match";

/// An empty window that states what was searched.
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

/// The note on a window without a match.
fn note_of(window: &Map<String, Value>) -> Option<&'static str> {
    let note = text_of(window, "note")?;
    [NOTHING_YET, NO_MORE].into_iter().find(|known| *known == note)
}

/// Where a window over the JSON text of a value begins: at the cursor, and at the beginning for an expanded relation,
/// which has no other text.
fn json_cursor(call: &Call) -> Result<Option<JsonCursor>, ToolError> {
    let is_expanded = || {
        call.text("field_path").is_some_and(|path| path.starts_with(EXPANDED)) && !call.has("offset_chars")
    };
    match call.text("cursor").filter(|cursor| JsonCursor::is_meant(cursor)) {
        Some(cursor) => JsonCursor::parse(cursor).map(Some).ok_or_else(|| foreign_cursor(call)),
        None => Ok(is_expanded().then(JsonCursor::default)),
    }
}

/// The record that a window is cut from here, with the relation that the path names expanded.
async fn read_record(
    reader: &Reader,
    window: &FieldWindow,
    json: Option<JsonCursor>,
) -> Result<Map<String, Value>, ToolError> {
    let (id, field) = (&window.id, window.field.as_str());
    let record = |fields: &[&str], expand: Vec<Expansion>| {
        let fields = fields.iter().map(|field| (*field).to_owned()).collect();
        Request::Record(request::Record { id: id.clone(), fields, expand })
    };
    if let Some(relation) = field.strip_prefix(EXPANDED) {
        let limit = json.and_then(|json| json.limit);
        let expand = vec![Expansion { relation: relation.to_owned(), limit }];
        match reader.read(&record(&[], expand)).await {
            // A field's own name may look like a relation.
            Err(error) if error.detail("status") == Some(&json!(400)) => {}
            envelope => return Ok(envelope?.body),
        }
    }
    // A name with a dot may be a path or a field's own name; one with a comma would be two names.
    let is_name = field != WHOLE && !field.contains(['.', ',']);
    let fields = if is_name { &[field][..] } else { &[] };
    Ok(reader.read(&record(fields, Vec::new())).await?.body)
}

/// A window of the record itself that is cut here: over a value's JSON text, or over a text field of a provider that
/// has no field windows.
async fn own_window(
    reader: &Reader,
    arguments: &Arguments,
    json: Option<JsonCursor>,
) -> Result<Map<String, Value>, ToolError> {
    let Arguments { call, window: asked, .. } = arguments;
    let (id, field) = (&asked.id, asked.field.as_str());
    let mut record = read_record(reader, asked, json).await?;
    answer_shape::record(&record)?;
    envelope::prepare(&mut record);
    let data = record.get("data").unwrap_or(&Value::Null);
    let related = || field.strip_prefix(EXPANDED).and_then(|relation| record.get("expanded")?.get(relation));
    let value = if field == WHOLE { Some(data) } else { value_at(data, field).or_else(related) };
    let value = value.ok_or_else(|| {
        ToolError::new(
            "field_not_found",
            format!("the record has no field `{field}`"),
            Call::new(Tool::Fetch, json!({"id": id.handle()})),
        )
        .with("param", "field_path")
    })?;
    let (text, kind) = match (value, json) {
        (Value::String(text), None) => (text.clone(), "string"),
        (value, Some(_)) => (value.to_string(), "json"),
        (value, None) => {
            let next = call.with([("cursor", Some(json!(JsonCursor::default().to_string())))]);
            let kind = match value {
                Value::Array(_) => "an array",
                Value::Object(_) => "an object",
                Value::Null => "null",
                _ => "a number or boolean",
            };
            return Err(ToolError::new(
                "field_not_text",
                format!("field `{field}` is {kind}, not text"),
                next,
            )
            .with("param", "field_path"));
        }
    };
    let chars = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let limit = chars(asked.limit.unwrap_or(DEFAULT_CHARS));
    let around = |number: Option<u64>| chars(number.unwrap_or(AROUND_CHARS));
    let from = chars(asked.offset.unwrap_or(0));
    let start = match (asked.q.as_deref(), json) {
        (Some(q), _) => Start::Match { q, from, before: around(asked.before), after: around(asked.after) },
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
    // A field whose own name contains a dot comes first.
    if let Some(value) = data.get(path) {
        return Some(value);
    }
    path.split('.').try_fold(data, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        value => value.get(part),
    })
}

/// The record, which the call must name in exactly one way (R3.51).
fn record(call: &Call) -> Result<RecordId, ToolError> {
    let given = Given(call);
    let parts = ["stream", "record_id"].map(|name| call.has(name));
    if call.has("id") {
        if parts != [false, false] {
            return Err(ToolError::new(
                "conflicting_arguments",
                "the record is named twice: by id, and by stream or record_id",
                "give the id alone, or connection_id, stream and record_id",
            )
            .with("param", "id"));
        }
        return given.record();
    }
    if parts == [false, false] && !call.has("connection_id") {
        return Err(ToolError::new(
            "missing_argument",
            "read_record_field needs `id`, or connection_id, stream and record_id",
            "take the id from search or query_records: connection_id/stream:record_id",
        )
        .with("param", "id"));
    }
    let connection = given.required_text("connection_id", "CONNECTION_ID")?;
    let stream = given.required_text("stream", "STREAM")?;
    let record = given.required_text("record_id", "RECORD_ID")?;
    RecordId::from_parts(&connection, &stream, &record).map_err(|error| {
        ToolError::new(
            "invalid_id",
            format!("connection_id, stream and record_id name no record: {error}"),
            "take them from search or query_records",
        )
        .with("param", "record_id")
    })
}

fn field_window(call: &Call, id: RecordId) -> Result<FieldWindow, ToolError> {
    let given = Given(call);
    let field = given.required_text("field_path", "FIELD")?;
    if let Some(second) = ["offset_chars", "q"].into_iter().find(|name| call.has(name))
        && call.has("cursor")
    {
        return Err(ToolError::new(
            "conflicting_arguments",
            "cursor already sets where a window starts: offset_chars and q cannot be combined with it",
            "leave cursor out, or the others; q with offset_chars finds the first match from there on",
        )
        .with("param", second));
    }
    for name in ["before_chars", "after_chars"] {
        if call.has(name) && !call.has("q") {
            let corrected = call.with([("before_chars", None), ("after_chars", None)]);
            return Err(given.lacks(name, "q", "it sets the surroundings of a match", corrected));
        }
    }
    Ok(FieldWindow {
        id,
        field,
        offset: offset(call)?,
        limit: given.integer("limit_chars"),
        q: given.text("q"),
        before: given.integer("before_chars"),
        after: given.integer("after_chars"),
        cursor: None,
    })
}

/// Where the window begins, in characters; this tool's cursor is such a number.
fn offset(call: &Call) -> Result<Option<u64>, ToolError> {
    match call.text("cursor") {
        Some(cursor) if JsonCursor::is_meant(cursor) => Ok(None),
        Some(cursor) => cursor.parse().map(Some).map_err(|_| foreign_cursor(call)),
        None => Ok(Given(call).integer("offset_chars")),
    }
}

/// The window in both views. If it does not fit, it ends earlier, and the next call begins there. A match stays in
/// it: the window may then also begin later.
fn render(arguments: &Arguments, mut body: Map<String, Value>, max_bytes: usize) -> ToolAnswer {
    let mut window = match body.remove("window") {
        Some(Value::Object(window)) => window,
        _ => Map::new(),
    };
    envelope::shorten(&mut body);
    // An honest window has only numbers and flags next to its text.
    window.retain(|key, value| key == "text" || json_len(value) <= 60);
    body.retain(|_, value| json_len(value) <= max_bytes / 8);
    let whole = match window.get("text") {
        Some(Value::String(text)) => text.clone(),
        _ => String::new(),
    };
    window.insert("text".into(), json!(""));
    let number = |window: &Map<String, Value>, key: &str| window.get(key).and_then(Value::as_u64);
    let start = number(&window, "start_chars").unwrap_or(0);
    let further = next_match(&arguments.call, &window, &whole, start);
    let overhead = {
        // Treated as if it were cut at both ends, with the calls that continue it.
        let mut window = window.clone();
        let end = start.saturating_add(whole.len() as u64);
        for key in ["end_chars", "next_offset_chars", "previous_offset_chars"] {
            window.insert(key.into(), json!(end));
        }
        let answer = render_window(arguments, &body, &window, further.as_ref(), max_bytes);
        answer.text.len().max(answer.structured_len()) + 60
    };
    let room = max_bytes.saturating_sub(overhead);
    let matched =
        number(&window, "match_start_chars").and_then(|at| usize::try_from(at.checked_sub(start)?).ok());
    let (skipped, shown) = around_match(&whole, matched.unwrap_or(0), room);
    let skipped = skipped as u64;
    // Saturating, because the provider states where the window starts.
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
    render_window(arguments, &body, &window, further.as_ref(), max_bytes)
}

/// The call that finds the match after this one; `None` if the rest of the field is known and has none.
fn next_match(call: &Call, window: &Map<String, Value>, text: &str, start: u64) -> Option<Call> {
    let q = call.text("q")?;
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
    Some(call.with([("offset_chars", Some(json!(offset)))]))
}

/// As much of `text` as fits `room`, from its beginning. If that would cut off what begins at the character `at`,
/// starts half of the room before it. Returns how many characters are omitted at the beginning.
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
    body: &Map<String, Value>,
    window: &Map<String, Value>,
    further: Option<&Call>,
    max_bytes: usize,
) -> ToolAnswer {
    let id = &arguments.window.id;
    let number = |key: &str| window.get(key).and_then(Value::as_u64);
    let base = |offset: u64| {
        let next = arguments.call.with([
            ("cursor", None),
            ("q", None),
            ("before_chars", None),
            ("after_chars", None),
        ]);
        match arguments.json {
            Some(json) => {
                let cursor = JsonCursor { offset: usize::try_from(offset).unwrap_or(usize::MAX), ..json };
                next.with([("cursor", Some(json!(cursor.to_string())))])
            }
            None => next.with([("offset_chars", Some(json!(offset)))]),
        }
    };
    let (start, end) = (number("start_chars").unwrap_or(0), number("end_chars"));
    let next = number("next_offset_chars").filter(|next| *next > start || end == Some(start)).map(base);
    // Going back repeats the record's id: not if the id is very long.
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
            " (this window is only the end of the text)"
        } else {
            ""
        };

    let mut out = line::quoted(text_of(window, "text").unwrap_or(""));
    let field = body.get("field").and_then(|field| field.get("path")).and_then(Value::as_str);
    let field = field.unwrap_or(&arguments.window.field);
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
    for (name, call) in [("next", &next), ("previous", &previous)] {
        if let Some(call) = call {
            let _ = writeln!(out, "{name}: {}", call.to_text());
        }
    }
    let structured = Written::object(|members| {
        members.put("data", &body);
        members.put_some("next", next);
        members.put_some("next_match", further);
        members.put_some("previous", previous);
    });
    out.truncate(out.trim_end().len());
    ToolAnswer { text: out, structured: Some(structured), is_error: false, rows: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tools::arguments::checked;
    use proptest::prelude::*;

    #[test]
    fn the_longest_window_is_that_of_the_input_schema() {
        let schema = crate::mcp::tools::surface::input_schema(Tool::ReadRecordField);
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
            // No room is wasted: another character would not fit.
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
            let call = checked(Tool::ReadRecordField, given).unwrap();
            assert_eq!(record(&call).unwrap_err().code(), code);
        }
    }
}
