//! `fetch`: one record as a document of exactly five keys (R3.40), the shape that ChatGPT also expects.

use serde_json::{Map, Value, json};

use super::answer_parts::text_of;
use super::arguments::Given;
use super::checks::check_expand;
use super::context::Context;
use crate::json::write::Written;
use crate::mcp::call::Call;
use crate::mcp::id::RecordId;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::answer_shape;
use crate::mcp::reading::catalog::{StreamFacts, facts_for};
use crate::mcp::reading::envelope;
use crate::mcp::reading::hosted_tools::TEXT_ONLY;
use crate::mcp::reading::request::{self, Request};
use crate::mcp::render::ladder::{Field, RecordRef, read_field};
use crate::mcp::render::{cut, title};
use crate::mcp::size::{json_len, prefix_on_wire};
use crate::mcp::tool_error::ToolError;

/// The arguments of a call.
pub struct Arguments {
    /// The call as given.
    pub call: Call,
    /// Which record, and which parts of it.
    pub request: request::Record,
}

impl Arguments {
    /// Reads a checked call.
    ///
    /// # Errors
    /// Returns the errors of the id, `invalid_expand_limit` or `missing_argument`.
    pub fn parse(call: Call) -> Result<Self, ToolError> {
        let given = Given(&call);
        let request = request::Record {
            id: given.record()?,
            fields: given.texts("fields"),
            expand: given.expansions()?,
        };
        Ok(Self { call, request })
    }
}

/// Answers a call.
///
/// # Errors
/// Returns what the schema shows to be wrong, or the provider's refusal, not explained yet.
pub async fn run(context: Context<'_>, arguments: &Arguments) -> Result<ToolAnswer, ToolError> {
    let (reader, request) = (context.reader, &arguments.request);
    let (stream, connection) = (request.id.stream.as_str(), request.id.connection.as_deref());
    check_expand(reader, &arguments.call, &request.expand, stream, connection).await?;
    let read = Request::Record(request.clone());
    let (facts, envelope) = tokio::join!(reader.facts(stream, connection), reader.read(&read));
    let mut record = envelope?.body;
    answer_shape::record(&record)?;
    envelope::prepare(&mut record);
    let document = document(context, request, record, &facts);
    // The same object in both views, escaped where a reader could not see it (R4.9).
    let document = Written::of(&document);
    let text = document.as_str().to_owned();
    Ok(ToolAnswer { text, structured: Some(document), is_error: false, rows: 1 })
}

fn document(
    context: Context<'_>,
    request: &request::Record,
    mut record: Map<String, Value>,
    facts: &[StreamFacts],
) -> Map<String, Value> {
    let (bounds, asked) = (context.bounds, &request.id);
    let facts = facts_for(facts, text_of(&record, "connection_id").or(asked.connection.as_deref()));
    // If only a text of the record is known, that text is the record.
    let is_text_only = record.remove(TEXT_ONLY).is_some();
    if !request.fields.is_empty() && !is_text_only {
        // Only requested fields appear; identity is in metadata (R3.42).
        let fields = request.fields.iter().map(String::as_str).collect::<Vec<_>>();
        envelope::project(&mut record, &fields, &[]);
    }
    let bound = bounds.structured.min(bounds.text);
    // The requested connection. If none was requested, one that is too long to be part of an id is ignored.
    let connection = asked.connection.clone().or_else(|| {
        let stated = text_of(&record, "connection_id").filter(|stated| json_len(stated) <= bound / 16);
        stated.map(str::to_owned)
    });
    let id = RecordId { connection: connection.clone(), ..asked.clone() };
    let handle = id.handle().unwrap_or_else(|| id.record.clone());

    let mut metadata = Map::new();
    metadata.insert("stream".into(), json!(id.stream));
    metadata.insert("record_id".into(), json!(id.record));
    if let Some(connection) = &connection {
        metadata.insert("connection_id".into(), json!(connection));
    }
    let key = text_of(&record, "connector_key").map(str::to_owned).or_else(|| facts?.connector_key.clone());
    if let Some(key) = key {
        metadata.insert("connector_key".into(), json!(key));
    }
    for name in ["display_name", "emitted_at", "deleted", "deleted_at", "truncated", "read_more"] {
        if let Some(value) = record.get(name) {
            metadata.insert(name.into(), value.clone());
        }
    }
    if let Some(warnings) =
        record.get("meta").and_then(|meta| meta.get("warnings")).filter(|list| **list != json!([]))
    {
        metadata.insert("warnings".into(), warnings.clone());
    }
    if let Some(blob) = record.get("data").and_then(|data| data.pointer("/blob_ref/blob_id")?.as_str()) {
        // No tool returns its bytes (R4.6).
        metadata.insert("blob".into(), json!(format!("resources/read pdpp://blob/{blob}")));
    }
    let title = title::of(&record, facts);
    let url = declared_url(&record).unwrap_or_else(|| context.reader.record_url(&id).to_string());

    let expanded = record.remove("expanded");
    let mut body = match record.remove("data") {
        Some(Value::Object(data)) => data,
        Some(other) => Map::from_iter([("value".to_owned(), other)]),
        None => Map::new(),
    };
    let is_expanded = expanded.is_some();
    if let Some(expanded) = expanded {
        body.insert("expanded".into(), expanded);
    }

    let mut document = Map::new();
    document.insert("id".into(), json!(handle));
    document.insert("title".into(), json!(title));
    document.insert("url".into(), json!(url));
    document.insert("metadata".into(), Value::Object(metadata));
    document.insert("text".into(), json!(""));
    bound_metadata(&mut document, bound, context);
    let fixed = json_len(&document);
    let text = body_text(&body);
    if fixed + escaped_len(&text) <= bound {
        document.insert("text".into(), json!(text));
        return document;
    }

    let known = id.handle();
    let reference = RecordRef::of(&id, known.as_deref());
    let room = bound.saturating_sub(fixed);
    let expanded = if is_expanded { body.remove("expanded") } else { None };
    let expanded = expanded.map(|mut expanded| {
        let limit = |relation: &str| request.expand.iter().find(|known| known.relation == relation)?.limit;
        // In JSON inside a JSON string, quotes take twice the room.
        let fields = cut::expanded(&mut expanded, reference, &limit, room / 5);
        (expanded, fields)
    });
    let size =
        expanded.as_ref().map(|(expanded, _)| json!({"object": "cut", "size_bytes": json_len(expanded)}));
    let mut fill = |text: String, reads: Option<Value>| {
        document.insert("text".into(), json!(text));
        if let Some(Value::Object(metadata)) = document.get_mut("metadata") {
            metadata.insert("truncated".into(), json!(true));
            match reads {
                Some(reads) => metadata.insert("read_more".into(), reads),
                None => metadata.remove("read_more"),
            };
        }
        json_len(&document) <= bound
    };
    let (text, reads) = cut_body(&body, room, reference, expanded);
    if !fill(text, Some(reads)) {
        // First, very long names next to the data; then a very long id, which a continuation call would repeat.
        let (text, reads) = cut_body(&body, room, reference, size.map(|size| (size, Vec::new())));
        let _ = fill(text, Some(reads)) || fill(String::new(), None);
    }
    document
}

/// Limits what a provider sends next to the data, and the id, which appears twice: neither may crowd out the data.
fn bound_metadata(document: &mut Map<String, Value>, bound: usize, context: Context<'_>) {
    if let Some(Value::Object(metadata)) = document.get_mut("metadata") {
        if let Some(Value::Array(warnings)) = metadata.get_mut("warnings") {
            envelope::shorten_warnings(warnings);
        }
        for (key, value) in metadata.iter_mut().filter(|(key, _)| *key != "record_id") {
            let most = match key.as_str() {
                "stream" | "connection_id" => bound / 4,
                "warnings" | "read_more" if value.is_array() => 1_200,
                _ => 200,
            };
            if json_len(value) > most {
                *value = match value {
                    Value::String(text) => json!(format!("{}…", prefix_on_wire(text, most))),
                    _ => json!("…"),
                };
            }
        }
    }
    // A citation is worth less than what it cites.
    if json_len(document) > bound / 2 {
        document.insert("url".into(), json!(context.reader.provider().as_str()));
    }
    // Parts that only repeat the id are removed last.
    let parts = [
        "read_more",
        "warnings",
        "blob",
        "deleted_at",
        "emitted_at",
        "display_name",
        "connector_key",
        "record_id",
        "connection_id",
        "stream",
    ];
    for key in parts {
        if json_len(document) <= bound * 3 / 4 {
            return;
        }
        let Some(Value::Object(metadata)) = document.get_mut("metadata") else { return };
        if let Some(value) = metadata.get_mut(key).filter(|value| json_len(*value) > 100) {
            *value = json!(format!("{}…", prefix_on_wire(value.as_str().unwrap_or(""), 80)));
        }
    }
}

/// The text of a record's body: its only text, or otherwise its JSON.
fn body_text(body: &Map<String, Value>) -> String {
    match body.values().next() {
        Some(Value::String(text)) if body.len() == 1 => text.clone(),
        _ => Value::Object(body.clone()).to_string(),
    }
}

/// The length of `text` as a JSON string in the text view.
fn escaped_len(text: &str) -> usize {
    json_len(&text)
}

/// Shrinks the document until it fits: in JSON inside a JSON string, quotes take twice the room. `expanded` is the
/// part next to the data, already cut.
fn cut_body(
    body: &Map<String, Value>,
    room: usize,
    reference: RecordRef<'_>,
    expanded: Option<(Value, Vec<Field>)>,
) -> (String, Value) {
    if let (1, None, Some((name, Value::String(text)))) = (body.len(), &expanded, body.iter().next()) {
        let mut chars = text.chars().count().min(room);
        loop {
            let window = text.chars().take(chars).collect::<String>();
            let reads = json!([read_field(&reference, name, chars).to_json()]);
            if escaped_len(&window) + json_len(&reads) + 40 <= room {
                return (window, reads);
            }
            if chars == 0 {
                break;
            }
            chars = chars * 9 / 10;
        }
    }
    let (expanded, related) = expanded.unzip();
    let related = related.unwrap_or_default();
    let with_expanded = |data: &Map<String, Value>| {
        let expanded = expanded.clone().map(|expanded| ("expanded".to_owned(), expanded));
        data.clone().into_iter().chain(expanded).collect::<Map<_, _>>()
    };
    let reads = |fields: &[Field]| {
        Value::Array(fields.iter().chain(&related).map(|field| field.read.to_json()).collect())
    };
    let text = |data: &Map<String, Value>, fields: &[Field]| {
        let data = with_expanded(data);
        // Next to a call for all of it, even a single text is only part of a record.
        let is_whole = fields.iter().any(|field| field.path == cut::WHOLE);
        if is_whole { Value::Object(data).to_string() } else { body_text(&data) }
    };
    let mut data = body.clone();
    let fields = cut::to_fit(&mut data, reference, &|data, fields| {
        json_len(&text(data, fields)) + json_len(&reads(fields)) + 40 <= room
    });
    (text(&data, &fields), reads(&fields))
}

fn declared_url(record: &Map<String, Value>) -> Option<String> {
    let url = url::Url::parse(text_of(record, "source_url").or_else(|| text_of(record, "url"))?).ok()?;
    matches!(url.scheme(), "https" | "http").then(|| url.to_string())
}
