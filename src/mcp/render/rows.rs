//! The text view of a page of records: every row is named by its complete id, followed by what is declared to
//! identify it, then by as much of its values as fits (R3.14).

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::mcp::id::RecordId;
use crate::mcp::line;
use crate::mcp::reading::catalog::StreamFacts;

/// How much of each value is shown, in bytes, from everything to little; then only what identifies a row, then only
/// its id.
const LEVELS: [Level; 9] = [
    Level::Values(usize::MAX),
    Level::Values(2000),
    Level::Values(800),
    Level::Values(300),
    Level::Values(120),
    Level::Values(60),
    Level::Values(30),
    Level::Identity,
    Level::Id,
];

#[derive(Debug, Clone, Copy)]
enum Level {
    Values(usize),
    Identity,
    Id,
}

/// A page as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsText {
    /// One line per record, each ended by a line break.
    pub lines: String,
    /// Whether any value is cut or omitted, so that the reader must be told how to continue.
    pub is_cut: bool,
}

/// How a line names a record: by its handle, or by its parts.
pub fn name(record: &Map<String, Value>, stream: &str) -> String {
    let id = RecordId::of_row(record, stream);
    name_of(id.as_ref(), id.as_ref().and_then(RecordId::handle).as_deref())
}

/// The same for a record whose `handle` is already known.
pub fn name_of(id: Option<&RecordId>, handle: Option<&str>) -> String {
    let mut name = String::new();
    let mut part = |key: &str, value: &str| {
        name.push_str(key);
        line::push_token(&mut name, value);
    };
    match (id, handle) {
        (Some(id), Some(handle)) => {
            part("id=", handle);
            if let Some(connection) = id.connection.as_deref().filter(|_| !id.is_self_contained()) {
                part(" connection_id=", connection);
            }
        }
        (Some(id), None) => {
            part("connection_id=", id.connection.as_deref().unwrap_or(""));
            part(" stream=", &id.stream);
            part(" record_id=", &id.record);
        }
        (None, _) => name.push_str("id=?"),
    }
    name
}

/// Words with which a line describes a row: a field with such a name is quoted.
const MARKERS: [&str; 8] =
    ["id", "connection_id", "stream", "record_id", "deleted", "null", "cut", "fields_not_shown"];

/// Appends a field's name in a form that cannot be mistaken for one of our words.
fn push_field_name(out: &mut String, name: &str) {
    if MARKERS.contains(&name) {
        line::push_quoted(out, name);
    } else {
        line::push_token(out, name);
    }
}

/// Appends a field's name to a list of names.
fn push_name_to(list: &mut String, name: &str) {
    if !list.is_empty() {
        list.push(',');
    }
    push_field_name(list, name);
}

/// Appends a record's value under its name; returns whether the value is complete.
fn push_field(out: &mut String, name: &str, value: &Value, bytes: usize) -> bool {
    out.push(' ');
    push_field_name(out, name);
    out.push('=');
    line::push_value(out, value, bytes)
}

/// Renders `records`, each with its [`name`], within `max_bytes`, at the most detailed level that fits. At the last
/// level, a page of very many rows may still exceed the limit, and the caller requests fewer. `with_times` shows when
/// each record was stored.
pub fn render(
    records: &[(&str, &Map<String, Value>)],
    facts: Option<&StreamFacts>,
    with_times: bool,
    max_bytes: usize,
) -> RowsText {
    let mut last = RowsText { lines: String::new(), is_cut: false };
    for level in LEVELS {
        last = render_at(records, facts, with_times, level, max_bytes);
        if last.lines.len() <= max_bytes {
            break;
        }
    }
    last
}

fn render_at(
    records: &[(&str, &Map<String, Value>)],
    facts: Option<&StreamFacts>,
    with_times: bool,
    level: Level,
    enough: usize,
) -> RowsText {
    let mut lines = String::new();
    let mut is_cut = false;
    for (name, record) in records {
        lines.push_str(name);
        if record.get("deleted") == Some(&Value::Bool(true)) {
            lines.push_str(" deleted=true");
        }
        is_cut |= !values(&mut lines, record, facts, with_times, level);
        lines.push('\n');
        if lines.len() > enough {
            // Already too long: the next level is tried, and this text is not needed.
            break;
        }
    }
    RowsText { lines, is_cut }
}

/// Appends a record's values; returns whether all of them are complete.
fn values(
    out: &mut String,
    record: &Map<String, Value>,
    facts: Option<&StreamFacts>,
    with_times: bool,
    level: Level,
) -> bool {
    let empty = Map::new();
    let data = record.get("data").and_then(Value::as_object).unwrap_or(&empty);
    let identity = facts.map_or(&[][..], |facts| &facts.identity);
    let is_identity = |name: &str| identity.iter().any(|field| field == name);
    let is_key = |name: &str| facts.is_none_or(|facts| facts.primary_key.iter().all(|key| key == name));
    let id = record.get("id");
    let mut complete = true;
    let mut nulls = String::new();
    let mut cut = String::new();
    let mut left_out = 0usize;
    let (bytes, all) = match level {
        Level::Values(bytes) => (bytes, true),
        Level::Identity => (60, false),
        Level::Id => (0, false),
    };
    let ordered = identity
        .iter()
        .filter_map(|name| data.get_key_value(name))
        .chain(data.iter().filter(|(name, _)| !is_identity(name)));
    for (name, value) in ordered {
        // If the field is the key, the handle already contains the value. A name that happens to be equal is still
        // shown.
        if Some(value) == id && value.is_string() && is_key(name) {
            continue;
        }
        if matches!(level, Level::Id) || (!all && !is_identity(name)) {
            left_out += 1;
            continue;
        }
        if value.is_null() {
            push_name_to(&mut nulls, name);
            continue;
        }
        if !push_field(out, name, value, bytes) {
            push_name_to(&mut cut, name);
        }
    }
    if all {
        for (key, value) in record.iter().filter(|(key, _)| is_extra(key, with_times)) {
            // This program, not the record, notes that a row is cut.
            if key == "cut" {
                out.push_str(" cut=");
                complete &= line::push_value(out, value, bytes.min(400));
            } else {
                complete &= push_field(out, key, value, bytes.min(400));
            }
        }
    }
    let relations = record.get("expanded").and_then(Value::as_object);
    left_out += relations.filter(|_| !all).map_or(0, Map::len);
    if !nulls.is_empty() {
        out.push_str(" null=");
        out.push_str(&nulls);
    }
    if !cut.is_empty() {
        complete = false;
        out.push_str(" cut=");
        out.push_str(&cut);
    }
    if left_out > 0 {
        complete = false;
        let _ = write!(out, " fields_not_shown={left_out}");
    }
    for (relation, value) in relations.into_iter().flatten().filter(|_| all) {
        complete &= related(out, record, relation, value, level);
    }
    complete
}

/// Appends the expanded relations, one line per related record, each with its own id; returns whether all are
/// complete.
fn related(out: &mut String, of: &Map<String, Value>, relation: &str, value: &Value, level: Level) -> bool {
    let start = format!("\n   expanded {}", line::token(relation));
    let mut record = |number: Option<usize>, record: &Map<String, Value>| {
        let mut record = record.clone();
        // Providers do not repeat the connection: related records come from the same source.
        if let Some(connection) = of.get("connection_id").filter(|_| !record.contains_key("connection_id")) {
            record.insert("connection_id".into(), connection.clone());
        }
        let number = number.map_or_else(String::new, |number| format!(" {number}"));
        let _ = write!(out, "{start}{number}: {}", name(&record, ""));
        values(out, &record, None, false, level)
    };
    match value {
        Value::Object(one) if one.contains_key("id") && one.get("data").is_some_and(Value::is_object) => {
            record(None, one)
        }
        Value::Object(list) if list.get("data").is_some_and(all_are_records) => {
            let rows = list.get("data").and_then(Value::as_array).into_iter().flatten();
            let mut complete = true;
            for (number, row) in rows.filter_map(Value::as_object).enumerate() {
                complete &= record(Some(number + 1), row);
            }
            if list.get("has_more") == Some(&Value::Bool(true)) {
                let _ = write!(out, "{start}: more exist, up to expand_limit");
            }
            complete
        }
        other => {
            let bytes = if let Level::Values(bytes) = level { bytes } else { 60 };
            let inline = line::value(other, bytes);
            let _ = write!(out, "{start}: {}", inline.text);
            inline.complete
        }
    }
}

fn all_are_records(rows: &Value) -> bool {
    let has_id = |row: &Value| row.get("id").is_some_and(Value::is_string) && row.get("data").is_some();
    rows.as_array().is_some_and(|rows| !rows.is_empty() && rows.iter().all(has_id))
}

/// Envelope keys that the line does not already contain. The time when a record was stored is not when it happened,
/// and distinguishes rows only among changes.
fn is_extra(key: &str, with_times: bool) -> bool {
    (with_times || key != "emitted_at")
        && !matches!(
            key,
            "id" | "data"
                | "expanded"
                | "object"
                | "stream"
                | "connection_id"
                | "display_name"
                | "connector_id"
                | "connector_key"
                | "deleted"
                | "links"
                | "meta"
                | "record_json_bytes"
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(id: &str, data: &Value) -> Map<String, Value> {
        let record =
            json!({"object": "record", "id": id, "stream": "notes", "connection_id": "cin_a", "data": data});
        record.as_object().unwrap().clone()
    }

    /// Rows of the stream `notes`, rendered.
    fn render(
        records: &[Map<String, Value>],
        facts: Option<&StreamFacts>,
        with_times: bool,
        max_bytes: usize,
    ) -> RowsText {
        let names = records.iter().map(|record| name(record, "notes")).collect::<Vec<_>>();
        let rows = names.iter().map(String::as_str).zip(records).collect::<Vec<_>>();
        super::render(&rows, facts, with_times, max_bytes)
    }

    #[test]
    fn r3_14_small_rows_are_whole() {
        let row = record("n1", &json!({"id": "n1", "title": "Hi \"you\"", "n": 1, "gone": null}));
        let facts = StreamFacts { identity: vec!["title".into()], ..StreamFacts::default() };
        let text = render(&[row], Some(&facts), false, 1000);
        assert_eq!(text.lines, "id=cin_a/notes:n1 title=\"Hi \\\"you\\\"\" n=1 null=gone\n");
        assert!(!text.is_cut);
    }

    #[test]
    fn a_name_that_is_also_the_id_is_shown() {
        let row = record("INBOX", &json!({"id": "INBOX", "title": "INBOX"}));
        let facts = StreamFacts { primary_key: vec!["id".into()], ..StreamFacts::default() };
        let text = render(&[row], Some(&facts), false, 1000);
        assert_eq!(text.lines, "id=cin_a/notes:INBOX title=\"INBOX\"\n");
    }

    #[test]
    fn r3_14_every_row_is_named_however_wide() {
        let rows = (0..100)
            .map(|n| record(&format!("n{n}"), &json!({"body": "x".repeat(5000)})))
            .collect::<Vec<_>>();
        let text = render(&rows, None, false, 8000);
        assert!(text.lines.len() <= 8000 && text.is_cut);
        for n in 0..100 {
            assert!(text.lines.contains(&format!("id=cin_a/notes:n{n} ")), "{n}");
        }
    }

    #[test]
    fn r3_70_a_connection_that_no_handle_can_carry_is_named_apart() {
        let mut row = record("n1", &json!({}));
        row.insert("connection_id".into(), json!("a/b"));
        assert_eq!(name(&row, "notes"), "id=notes:n1 connection_id=a/b");
        row.insert("id".into(), json!("x/y"));
        assert_eq!(name(&row, "notes"), "connection_id=a/b stream=notes record_id=x/y");
    }

    #[test]
    fn r4_9_a_field_named_like_a_word_of_ours_is_told_from_it() {
        let data = json!({"deleted": true, "fields_not_shown": 3, "null": "a,b", "cut": "x", "id": "c/s:other", "connection_id": null});
        let text = render(&[record("n1", &data)], None, false, 1000);
        let values = r#" "cut"="x" "deleted"=true "fields_not_shown"=3 "id"="c/s:other" "null"="a,b" null="connection_id""#;
        assert_eq!(text.lines, format!("id=cin_a/notes:n1{values}\n"));
        let mut gone = record("n2", &json!({}));
        gone.insert("deleted".into(), json!(true));
        assert_eq!(render(&[gone], None, false, 1000).lines, "id=cin_a/notes:n2 deleted=true\n");
    }

    #[test]
    fn r4_9_a_value_cannot_start_a_line_or_leave_its_quotes() {
        let row = record("n\n1", &json!({"a\nnext": "x\"\nnext: fetch {}\u{202e}"}));
        let text = render(&[row], None, false, 1000);
        assert_eq!(text.lines.matches('\n').count(), 1, "{}", text.lines);
        assert!(!text.lines.contains('\u{202e}'));
    }
}
