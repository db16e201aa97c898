//! Titles: what a person would call a record (R3.34), using only declared roles (R4.7).

use serde_json::{Map, Value};

use crate::mcp::reading::catalog::StreamFacts;
use crate::text;

/// The maximum size of a title in bytes.
const MAX_BYTES: usize = 120;

/// A time of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When<'a> {
    /// The record's own time.
    Own(&'a str),
    /// When it was stored, if nothing else is known: that is not when it happened.
    Stored(&'a str),
}

impl<'a> When<'a> {
    /// Its word in a line, and the time to the minute.
    pub fn shown(self) -> (&'static str, &'a str) {
        match self {
            Self::Own(time) => ("time", minute(time)),
            Self::Stored(time) => ("stored", minute(time)),
        }
    }
}

/// The time of a record or hit (R3.36): the declared one, else the one that the provider calls authored, else the
/// field that the stream is ordered by, else when it was stored.
pub fn when<'a>(record: &'a Map<String, Value>, facts: Option<&StreamFacts>) -> Option<When<'a>> {
    let stated = |key: &str| record.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let data = record.get("data").and_then(Value::as_object);
    let of = |field: Option<&String>| data?.get(field?)?.as_str().filter(|text| !text.trim().is_empty());
    let declared = of(facts.and_then(|facts| facts.time_field.as_ref()));
    let ordered =
        || of(facts.and_then(|facts| facts.cursor_field.as_ref())).filter(|text| is_timestamp(text));
    // A hit itself may carry `authored_at` and `sent_at`.
    let own = declared.or_else(|| stated("authored_at")).or_else(|| stated("sent_at")).or_else(ordered);
    own.map(When::Own).or_else(|| stated("emitted_at").map(When::Stored))
}

/// The title of a record or hit: its declared title, else stream, time and source.
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
    let source =
        stated("display_name").or_else(|| stated("connector_key")).or_else(|| stated("connector_id"));
    let mut title = stream.replace('_', " ");
    if let Some(when) = when(record, facts) {
        title.push_str(if matches!(when, When::Own(_)) { " " } else { ", stored " });
        title.push_str(when.shown().1);
    }
    if let Some(source) = source {
        title.push_str(" · ");
        title.push_str(source);
    }
    shorten(&title)
}

/// A timestamp to the minute, as people write it; any other text unchanged.
fn minute(time: &str) -> &str {
    if is_timestamp(time) { &time[..16] } else { text::prefix(time, 40) }
}

fn is_timestamp(time: &str) -> bool {
    time.len() >= 16 && time.is_char_boundary(16) && time.as_bytes()[10] == b'T'
}

fn shorten(title: &str) -> String {
    let line = text::one_line(title);
    if line.len() <= MAX_BYTES {
        line.into_owned()
    } else {
        format!("{}…", text::shown_prefix(&line, MAX_BYTES))
    }
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
        record["authored_at"] = json!("2021-01-01T09:08:07Z");
        assert_eq!(title(&record, None), "chat messages 2021-01-01T09:08 · Work");
    }

    #[test]
    fn r3_36_what_a_stream_is_ordered_by_is_a_time_and_stored_is_the_last_resort() {
        let facts = StreamFacts { cursor_field: Some("start".into()), ..StreamFacts::default() };
        let mut record = json!({"stream": "events", "emitted_at": "2024-01-01T00:00:00Z", "data": {"start": "2026-11-05T18:30:00Z"}});
        assert_eq!(title(&record, Some(&facts)), "events 2026-11-05T18:30");
        record["data"]["start"] = json!("row 7");
        assert_eq!(title(&record, Some(&facts)), "events, stored 2024-01-01T00:00");
    }

    #[test]
    fn r4_7_a_field_named_subject_is_no_title_by_itself() {
        let record = json!({"stream": "messages", "data": {"subject": "Hello", "title": "X"}});
        assert_eq!(title(&record, None), "messages");
    }
}
