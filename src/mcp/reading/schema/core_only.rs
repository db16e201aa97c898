//! The schema of a provider that supports only the draft's Core: assembled from its list of streams and each stream's
//! metadata.

use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use super::projection;
use crate::mcp::reading::answer_shape;
use crate::mcp::reading::reader::Reader;
use crate::mcp::reading::request::Request;
use crate::mcp::reading::rows::take_rows;
use crate::mcp::tool_error::ToolError;

/// The maximum number of pages to read from the list of streams.
const MAX_PAGES: usize = 50;

/// A schema body in the compact form. With `stream`, the stream's metadata is read too; without it, names suffice.
///
/// # Errors
/// Returns the errors of [`Reader::read`], or `provider_answer_broken` for a list that is not one.
pub async fn assemble(
    reader: &Reader,
    stream: Option<&str>,
    connection: Option<&str>,
) -> Result<Map<String, Value>, ToolError> {
    let mut rows = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let mut body = reader.read(&Request::Streams { cursor }).await?.body;
        rows.append(&mut take_rows(&mut body)?);
        match body.get("next_cursor").and_then(Value::as_str).filter(|cursor| !cursor.is_empty()) {
            Some(next) if body.get("has_more").and_then(Value::as_bool) != Some(false) => {
                cursor = Some(next.to_owned());
            }
            _ => break,
        }
    }
    let text = |row: &Map<String, Value>, key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut streams: Vec<(String, Map<String, Value>)> = Vec::new();
    for row in &rows {
        let Some(name) = text(row, "name") else {
            return Err(answer_shape::broken("data[].name", row.get("name"), "a string"));
        };
        if stream.is_some_and(|stream| stream != name) {
            continue;
        }
        let granted = text(row, "connection_id")
            .map(|id| json!({"connection_id": id, "display_name": row.get("display_name")}));
        let key = text(row, "connector_key")
            .or_else(|| text(row, "connector_id"))
            .filter(|key| !key.contains("://"));
        let key = key.unwrap_or_default();
        let known = streams.iter().position(|(known, row)| *known == key && row["name"] == name.as_str());
        let at = known.unwrap_or_else(|| {
            let row = [("name".to_owned(), json!(name)), ("granted_connections".to_owned(), json!([]))];
            streams.push((key, Map::from_iter(row)));
            streams.len() - 1
        });
        let entry = &mut streams[at].1;
        if let (Some(granted), Some(Value::Array(list))) = (granted, entry.get_mut("granted_connections"))
            && !list.contains(&granted)
        {
            list.push(granted);
        }
    }
    if stream.is_some() {
        let details =
            streams.iter().map(|(_, row)| detail(reader, row["name"].as_str().unwrap_or(""), connection));
        let details = join_all(details).await;
        for ((_, row), detail) in streams.iter_mut().zip(details) {
            for (key, value) in detail.unwrap_or_default() {
                row.entry(key).or_insert(value);
            }
        }
    }
    let mut connectors: Vec<Value> = Vec::new();
    for (key, row) in streams {
        match connectors.iter_mut().find(|connector| connector["connector_key"] == key.as_str()) {
            Some(connector) => {
                if let Some(list) = connector["streams"].as_array_mut() {
                    list.push(Value::Object(row));
                }
            }
            None => connectors.push(json!({"object": "connector", "connector_key": key, "streams": [row]})),
        }
    }
    for connector in connectors.iter_mut().filter_map(Value::as_object_mut) {
        connector.retain(|key, value| key != "connector_key" || *value != json!(""));
    }
    let body = json!({"object": "schema", "core_only": true, "connectors": connectors,
        "meta": {"count": {"kind": "none"}, "warnings": []}});
    let Value::Object(body) = body else { return Ok(Map::new()) };
    Ok(projection::compact(body, stream, connection))
}

/// A stream's own metadata; `None` if the provider does not return it.
async fn detail(reader: &Reader, stream: &str, connection: Option<&str>) -> Option<Map<String, Value>> {
    let (stream, connection) = (stream.to_owned(), connection.map(str::to_owned));
    let mut body = reader.read(&Request::Stream { stream, connection }).await.ok()?.body;
    if !body.contains_key("field_capabilities") {
        let properties =
            body.get("schema").and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        let fields = properties
            .map(|properties| properties.keys().map(|name| (name.clone(), json!({}))).collect::<Map<_, _>>());
        body.insert("field_capabilities".into(), Value::Object(fields.unwrap_or_default()));
    }
    Some(body)
}
