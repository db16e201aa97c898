//! Titles: what a person would call a record (R3.34), from declared roles only (R4.7).

use serde_json::{Map, Value};

use crate::mcp::reading::catalog::StreamFacts;
use crate::text;

/// Longest title, in bytes.
const MAX_BYTES: usize = 120;

/// The title of a record or hit: its declared title, else stream, time and source. The time is an
/// authored one where the provider says one, else when it was ingested.
pub fn of(record: &Map<String, Value>, facts: Option<&StreamFacts>) -> String {
    let data = record.get("data").and_then(Value::as_object);
    let declared = facts.and_then(|facts| {
        let title = facts.title_field.as_deref()?;
        data?.get(title)?.as_str().map(str::trim).filter(|title| !title.is_empty())
    });
    if let Some(title) = declared {
        return shorten(title);
    }
    let stated = |key: &str| record.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    if let Some(title) = stated("title") {
        return shorten(title);
    }
    let stream = stated("stream").unwrap_or("record");
    let authored = facts.and_then(|facts| data?.get(facts.time_field.as_deref()?)?.as_str());
    // `sent_at` is the authored time that a hit itself may carry.
    let time = authored.or_else(|| stated("sent_at"));
    let stored = stated("emitted_at").filter(|_| time.is_none());
    let source =
        stated("display_name").or_else(|| stated("connector_key")).or_else(|| stated("connector_id"));
    let mut title = stream.replace('_', " ");
    if let Some(time) = time {
        title.push(' ');
        title.push_str(minute(time));
    }
    // When it was ingested is not when it happened.
    if let Some(stored) = stored {
        title.push_str(", stored ");
        title.push_str(minute(stored));
    }
    if let Some(source) = source {
        title.push_str(" · ");
        title.push_str(source);
    }
    shorten(&title)
}

/// A timestamp to the minute, as people write it; anything else as it is.
fn minute(time: &str) -> &str {
    let is_timestamp = time.len() >= 16 && time.is_char_boundary(16) && time.as_bytes()[10] == b'T';
    if is_timestamp { &time[..16] } else { text::prefix(time, 40) }
}

fn shorten(title: &str) -> String {
    let line = text::one_line(title);
    if line.len() <= MAX_BYTES { line.into_owned() } else { format!("{}…", text::prefix(&line, MAX_BYTES)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn title(record: &Value, facts: Option<&StreamFacts>) -> String {
        of(record.as_object().unwrap(), facts)
    }

    #[test]
    fn r3_34_declared_then_authored_then_ingested() {
        let facts = StreamFacts {
            title_field: Some("subject".into()),
            time_field: Some("sent_at".into()),
            ..StreamFacts::default()
        };
        let mut record = json!({"stream": "chat_messages", "display_name": "Work", "emitted_at": "2024-02-02T10:11:12Z",
            "data": {"subject": "Hello", "sent_at": "2023-01-01T09:08:07Z"}});
        assert_eq!(title(&record, Some(&facts)), "Hello");
        record["data"]["subject"] = json!(null);
        assert_eq!(title(&record, Some(&facts)), "chat messages 2023-01-01T09:08 · Work");
        assert_eq!(title(&record, None), "chat messages, stored 2024-02-02T10:11 · Work");
        record["sent_at"] = json!("2022-01-01T09:08:07Z");
        assert_eq!(title(&record, None), "chat messages 2022-01-01T09:08 · Work");
    }

    #[test]
    fn r4_7_a_field_named_subject_is_no_title_by_itself() {
        let record = json!({"stream": "messages", "data": {"subject": "Hello", "title": "X"}});
        assert_eq!(title(&record, None), "messages");
    }
}
