//! An honest resource server over made-up records, and the ways in which real ones deviate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};

use super::provider::{Asked, Reply};

/// How a provider pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paging {
    /// Limit and cursor as documented.
    Honest,
    /// Pages of the provider's own size, whatever the limit.
    IgnoresLimit(usize),
    /// Everything in one page, no cursor.
    Everything,
    /// Some rows more than requested; the cursor is after them.
    MoreThanAsked,
    /// With several connections, no cursor unless one is named (like the reference).
    PerConnection,
}

/// The characters of a field, by record and field.
type Windowed = HashMap<(String, String), Arc<[char]>>;

/// A stream of records in one or more connections.
#[derive(Debug, Clone)]
pub struct Store {
    pub stream: String,
    /// Complete record envelopes.
    pub records: Vec<Value>,
    pub paging: Paging,
    /// Pads the cursors.
    pub cursor_pad: String,
    /// Added to every list envelope.
    pub warnings: Vec<Value>,
    /// `field_capabilities` of the stream.
    pub fields: Map<String, Value>,
    /// The characters of the fields that were read in windows, by record and field.
    read: Arc<Mutex<Windowed>>,
}

/// A record envelope.
pub fn record(stream: &str, connection: &str, id: &str, data: &Value) -> Value {
    json!({"object": "record", "id": id, "stream": stream, "connection_id": connection,
        "display_name": "Mine", "connector_key": "mail", "emitted_at": "2026-01-02T03:04:05Z", "data": data})
}

impl Store {
    pub fn new(stream: &str, records: Vec<Value>, paging: Paging) -> Self {
        Self {
            stream: stream.to_owned(),
            records,
            paging,
            cursor_pad: String::new(),
            warnings: Vec::new(),
            fields: Map::new(),
            read: Arc::default(),
        }
    }

    pub fn connections(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for record in &self.records {
            let id = record["connection_id"].as_str().unwrap().to_owned();
            if !all.contains(&id) {
                all.push(id);
            }
        }
        all
    }

    pub fn find(&self, id: &str) -> Option<&Value> {
        self.records.iter().find(|record| record["id"] == id)
    }

    pub fn answer(&self, asked: &Asked) -> Reply {
        let segments = asked.segments.iter().map(String::as_str).collect::<Vec<_>>();
        match segments.as_slice() {
            ["schema"] => Reply::json(200, &self.schema()),
            ["streams", _, "records"] => self.list(asked, |record, n| {
                let _ = n;
                record.clone()
            }),
            ["search"] | ["search", "semantic" | "hybrid"] => self.list(asked, hit),
            ["streams", _, "records", id] => match self.find(id) {
                Some(record) => Reply::json(200, &projected(record, asked)),
                None => refuse(404, "record_not_found", "no such record"),
            },
            ["streams", _, "records", id, "field-window"] => self.window(id, asked),
            _ => refuse(404, "not_found", "no such route"),
        }
    }

    fn schema(&self) -> Value {
        let connections = self.connections();
        let granted = connections.iter().map(|id| json!({"connection_id": id, "display_name": "Mine"}));
        json!({"object": "schema", "detail": "compact", "bearer": {"token_kind": "client"}, "connectors": [{
            "object": "connector", "connector_key": "mail", "granted_connections": granted.collect::<Vec<_>>(),
            "streams": [{"name": self.stream, "primary_key": ["id"], "field_capabilities": self.fields}]}]})
    }

    fn list(&self, asked: &Asked, row: impl Fn(&Value, usize) -> Value) -> Reply {
        let connection = asked.parameter("connection_id");
        let rows = self
            .records
            .iter()
            .filter(|record| connection.is_none_or(|id| record["connection_id"] == id))
            .collect::<Vec<_>>();
        let limit = asked.number("limit").unwrap_or(25).min(100);
        let hybrid = asked.segments.last().is_some_and(|last| last == "hybrid");
        let unscoped = self.paging == Paging::PerConnection
            && connection.is_none()
            && asked.segments[0] == "streams"
            && self.connections().len() > 1;
        let (take, has_cursor) = match self.paging {
            Paging::IgnoresLimit(own) => (own, true),
            Paging::Everything => (usize::MAX, false),
            Paging::MoreThanAsked => (limit + 3, true),
            _ => (limit, !unscoped),
        };
        let start: usize = match asked.parameter("cursor") {
            None => 0,
            Some(cursor) => match cursor.strip_prefix(&format!("c{}.", self.cursor_pad)) {
                Some(offset) => offset.parse().unwrap(),
                None => return refuse(400, "invalid_cursor", "not a cursor of this list"),
            },
        };
        let end = start.saturating_add(take).min(rows.len());
        let data = rows[start..end].iter().enumerate().map(|(n, record)| {
            let mut row = row(record, start + n);
            if let Some(Value::Object(data)) = row.get_mut("data") {
                project(data, asked);
            }
            row
        });
        let has_more = end < rows.len();
        let mut body = json!({"object": "list", "data": data.collect::<Vec<_>>(), "has_more": has_more && !hybrid,
            "links": {}, "meta": {"count": {"kind": "none"}, "warnings": self.warnings}});
        if has_more && has_cursor && !hybrid {
            body["next_cursor"] = json!(format!("c{}.{end}", self.cursor_pad));
        }
        Reply::json(200, &body)
    }

    fn window(&self, id: &str, asked: &Asked) -> Reply {
        let field = asked.parameter("field").unwrap_or("");
        let Some(record) = self.find(id) else { return refuse(404, "record_not_found", "no such record") };
        let Some(text) = record["data"].get(field).and_then(Value::as_str) else {
            return refuse(422, "field_not_text", "that field is no text");
        };
        let place = (id.to_owned(), field.to_owned());
        let chars = Arc::clone(
            self.read.lock().unwrap().entry(place).or_insert_with(|| text.chars().collect::<Vec<_>>().into()),
        );
        let total = chars.len();
        let limit = asked.number("limit_chars").unwrap_or(4096).min(16_384);
        let start = match asked.parameter("q") {
            Some(q) => match text.find(q) {
                Some(at) => text[..at].chars().count(),
                None => return refuse(404, "match_not_found", "q is not there"),
            },
            None => asked.number("offset_chars").unwrap_or(0).min(total),
        };
        let end = start.saturating_add(limit).min(total);
        let shown = chars[start..end].iter().collect::<String>();
        let window = json!({"text": shown, "start_chars": start, "end_chars": end, "total_chars": total,
            "limit_chars": limit, "complete": start == 0 && end == total, "has_more": end < total,
            "next_offset_chars": (end < total).then_some(end),
            "previous_offset_chars": (start > 0).then(|| start.saturating_sub(limit))});
        Reply::json(
            200,
            &json!({"object": "field_window", "field": {"path": field}, "record_id": id, "window": window}),
        )
    }
}

pub fn refuse(status: u16, code: &str, message: &str) -> Reply {
    let body = json!({"error": {"type": "invalid_request_error", "code": code, "message": message,
        "request_id": "req_1"}});
    Reply::json(status, &body)
}

fn projected(record: &Value, asked: &Asked) -> Value {
    let mut record = record.clone();
    if let Some(Value::Object(data)) = record.get_mut("data") {
        project(data, asked);
    }
    record
}

fn project(data: &mut Map<String, Value>, asked: &Asked) {
    if let Some(fields) = asked.parameter("fields") {
        let fields = fields.split(',').collect::<Vec<_>>();
        data.retain(|name, _| fields.contains(&name.as_str()));
    }
}

/// A search hit for a record; every other one has a proven match.
fn hit(record: &Value, n: usize) -> Value {
    let mut hit = json!({"object": "search_result", "record_key": record["id"], "stream": record["stream"],
        "connection_id": record["connection_id"], "connector_id": "mail", "display_name": record["display_name"],
        "emitted_at": record["emitted_at"], "matched_fields": [], "score": 1.5});
    let text = record["data"].as_object().and_then(|data| {
        data.iter().find_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
    });
    if let Some((field, text)) = text {
        let preview = text.chars().take(400).collect::<String>();
        hit["matched_fields"] = json!([field]);
        if n.is_multiple_of(2) {
            hit["evidence_excerpts"] = json!([{"field_path": field, "preview_text": preview,
                "provenance": "lexical", "truncated": preview.len() < text.len()}]);
        } else {
            hit["snippet"] = json!({"field": field, "text": preview});
        }
    }
    hit
}
