//! `fetch`: one record as a document of exactly five keys (R3.40), the shape that ChatGPT expects too.

use serde_json::{Map, Value, json};

use super::search::record_url;
use super::{advice, check_expand, expand_limit, json_len, list_parameter, text_of};
use crate::mcp::id::RecordId;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::answer_shape;
use crate::mcp::reading::catalog::{StreamFacts, facts_for};
use crate::mcp::render::ladder::{Field, RecordRef, read_field};
use crate::mcp::render::{cut, envelope, prefix_on_wire, title};
use crate::mcp::tool_error::ToolError;
use crate::mcp::tools::arguments::Arguments;
use crate::mcp::tools::core::Core;
use crate::provider::rs::Read;
use crate::ui;

/// Answers a call.
pub async fn run(core: &Core, arguments: Arguments) -> Result<ToolAnswer, ToolError> {
    let id = record_argument(&arguments, "fetch")?;
    check_expand(core, &arguments, &id.stream, id.connection.as_deref()).await?;
    let mut read = Read::of(["streams", &id.stream, "records", &id.record]);
    list_parameter(&mut read, &arguments, "fields");
    list_parameter(&mut read, &arguments, "expand");
    read.query.extend(arguments.expand_limit()?);
    read = read.with_some("connection_id", id.connection.as_deref());

    let (facts, envelope) =
        tokio::join!(core.source().facts(&id.stream, id.connection.as_deref()), core.source().get(&read));
    let mut record = match envelope {
        Ok(envelope) => envelope.body,
        Err(error) => {
            let error = advice::missing_record(error, &arguments, &id, &facts);
            return Err(advice::explain(core, error, &arguments, &id.stream, id.connection.as_deref()).await);
        }
    };
    answer_shape::record(&record)?;
    envelope::prepare(&mut record);
    let document = document(core, &arguments, &id, record, &facts);
    // The same object in both views, escaped where a reader could not see it (R4.9).
    let text = ui::json_ascii_controls(&Value::Object(document.clone()).to_string()).into_owned();
    Ok(ToolAnswer { text, structured: Some(document), is_error: false })
}

/// The record that `id` names, with `connection_id` taken into account (R3.71).
pub fn record_argument(arguments: &Arguments, tool: &'static str) -> Result<RecordId, ToolError> {
    let text = arguments.required_text("id", "CONNECTION_ID/STREAM:RECORD_ID")?;
    let mut id = RecordId::parse(text).map_err(|error| {
        ToolError::new(
            "invalid_id",
            format!("`id` names no record: {error}"),
            format!(
                "{tool} takes an id as search or query_records gives it: connection_id/stream:record_id, with each / of \
                 the record id written %2F"
            ),
        )
        .with("param", "id")
    })?;
    match (arguments.text("connection_id"), &id.connection) {
        (Some(given), Some(embedded)) if given != embedded => Err(ToolError::new(
            "conflicting_connection",
            format!("the id is of connection `{embedded}`, but connection_id says `{given}`"),
            crate::mcp::tools::arguments::call(tool, &arguments.with([("connection_id", None)])),
        )
        .with("param", "connection_id")),
        (Some(given), None) => {
            id.connection = Some(given.to_owned());
            Ok(id)
        }
        _ => Ok(id),
    }
}

fn document(
    core: &Core,
    arguments: &Arguments,
    asked: &RecordId,
    mut record: Map<String, Value>,
    facts: &[StreamFacts],
) -> Map<String, Value> {
    let bounds = core.bounds();
    let facts = facts_for(facts, text_of(&record, "connection_id").or(asked.connection.as_deref()));
    let fields = arguments.texts("fields");
    if let Some(fields) = &fields {
        // Only what was asked for appears anywhere; identity is in metadata (R3.42).
        envelope::project(&mut record, fields, &[]);
    }
    let connection =
        text_of(&record, "connection_id").map(str::to_owned).or_else(|| asked.connection.clone());
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
    for name in ["display_name", "emitted_at", "deleted", "deleted_at"] {
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
        // No tool gives its bytes (R4.6).
        metadata.insert("blob".into(), json!(format!("resources/read pdpp://blob/{blob}")));
    }
    let title = title::of(&record, facts);
    let url = declared_url(&record).unwrap_or_else(|| record_url(core.source(), Some(&id)));

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
    let bound = bounds.structured.min(bounds.text);
    bound_metadata(&mut document, bound, core);
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
        let limit = |relation: &str| expand_limit(arguments, relation);
        // JSON inside a JSON string costs its quotes twice.
        let fields = cut::expanded(&mut expanded, reference, &limit, room / 5);
        (expanded, fields)
    });
    let (text, reads) = cut_body(&body, room, reference, expanded);
    document.insert("text".into(), json!(text));
    if let Some(Value::Object(metadata)) = document.get_mut("metadata") {
        metadata.insert("truncated".into(), json!(true));
        metadata.insert("read_more".into(), reads);
    }
    document
}

/// What a hostile provider says beside the data may not crowd the data out; nor may the id twice.
fn bound_metadata(document: &mut Map<String, Value>, bound: usize, core: &Core) {
    if let Some(Value::Object(metadata)) = document.get_mut("metadata") {
        if let Some(Value::Array(warnings)) = metadata.get_mut("warnings") {
            envelope::shorten_warnings(warnings);
        }
        for (key, value) in metadata.iter_mut().filter(|(key, _)| *key != "record_id") {
            let most = match key.as_str() {
                "stream" | "connection_id" => bound / 4,
                "warnings" if value.is_array() => 1_200,
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
        document.insert("url".into(), json!(core.source().provider().as_str()));
    }
}

/// A record of one text is that text; any other is its JSON.
fn body_text(body: &Map<String, Value>) -> String {
    match body.values().next() {
        Some(Value::String(text)) if body.len() == 1 => text.clone(),
        _ => Value::Object(body.clone()).to_string(),
    }
}

/// How long `text` is as a JSON string in the text view.
fn escaped_len(text: &str) -> usize {
    json_len(&text)
}

/// Shrinks the document until it fits: JSON inside a JSON string costs its quotes twice. `expanded` is
/// what stands beside the data, cut already.
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
    let mut data = body.clone();
    let fields = cut::to_fit(&mut data, reference, &|data, fields| {
        json_len(&body_text(&with_expanded(data))) + json_len(&reads(fields)) + 40 <= room
    });
    // Beside a call for all of it, even one text is part of a record.
    let is_whole = fields.iter().any(|field| field.path == cut::WHOLE);
    let data = with_expanded(&data);
    (if is_whole { Value::Object(data).to_string() } else { body_text(&data) }, reads(&fields))
}

fn declared_url(record: &Map<String, Value>) -> Option<String> {
    let url = url::Url::parse(text_of(record, "source_url").or_else(|| text_of(record, "url"))?).ok()?;
    matches!(url.scheme(), "https" | "http").then(|| url.to_string())
}
