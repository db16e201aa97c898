//! A grant's schema, from whatever source the provider has for it.

mod core_only;
mod facts;
pub mod projection;

use serde_json::{Map, Value, json};

use crate::mcp::reading::answer_shape;
use crate::mcp::reading::catalog::StreamFacts;
use crate::mcp::reading::envelope;
use crate::mcp::reading::reader::Reader;
use crate::mcp::reading::request::{Request, SchemaView};
use crate::mcp::tool_error::ToolError;

/// The compact schema of the grant, or of one stream or connection of it (R3.1): as the provider returns it;
/// projected from the full one if the provider has no compact view (R3.2); assembled from `/v1/streams` if it has no
/// schema at all.
///
/// # Errors
/// Returns the errors of [`Reader::read`], or `provider_answer_broken` for a schema without the streams that it must
/// contain.
pub async fn compact(
    reader: &Reader,
    stream: Option<&str>,
    connection: Option<&str>,
) -> Result<Map<String, Value>, ToolError> {
    if reader.is_known_core() {
        return core_only::assemble(reader, stream, connection).await;
    }
    let body = match reader.read(&Request::compact_schema(stream, connection)).await {
        Ok(envelope) => envelope.body,
        // The provider rejects the compact view: the full schema is projected.
        Err(error) if error.detail("status") == Some(&json!(400)) => {
            reader.read(&Request::schema(SchemaView::Plain, stream, connection)).await?.body
        }
        Err(error) if error.detail("status") == Some(&json!(404)) => {
            // A provider of the draft's Core has no schema; any other 404 is passed on unchanged.
            return match core_only::assemble(reader, stream, connection).await {
                Ok(body) => {
                    reader.set_core();
                    Ok(body)
                }
                Err(broken) if broken.code() == "provider_answer_broken" => Err(broken),
                Err(_) => Err(error),
            };
        }
        Err(error) => return Err(error),
    };
    Ok(projection::compact(with_streams(body)?, stream, connection))
}

/// The compact schema of one grant, as it is passed on: with the warning that the grant ends soon. Its declarations
/// replace the remembered ones, so that a following call need not ask again.
///
/// # Errors
/// Those of [`compact`].
pub async fn of_grant(
    reader: &Reader,
    stream: Option<&str>,
    connection: Option<&str>,
) -> Result<Map<String, Value>, ToolError> {
    if stream.is_none() {
        reader.catalog().clear();
    }
    let mut body = compact(reader, stream, connection).await?;
    match stream {
        None => reader.catalog().put_all(connection, &body),
        Some(stream) => {
            reader.catalog().put(stream, connection, StreamFacts::all_from_schema(&body, stream));
        }
    }
    envelope::prepare(&mut body);
    warn_of_end(reader, &mut body);
    Ok(body)
}

/// Adds the warning that the grant ends soon to the envelope: both views show warnings.
pub fn warn_of_end(reader: &Reader, body: &mut Map<String, Value>) {
    if let Some(message) = reader.end_warning(jiff::Timestamp::now()) {
        envelope::warn(body, "grant_ends_soon", message);
    }
}

/// Checks that every connector lists its streams, so that none is omitted silently. A hosted `schema` of very many
/// streams gives them as plain names, or only their number.
fn with_streams(mut body: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
    answer_shape::objects(body.get("connectors"), "connectors")?;
    let connectors = body.get_mut("connectors").and_then(Value::as_array_mut).into_iter().flatten();
    let mut not_named = 0;
    for connector in connectors.filter_map(Value::as_object_mut) {
        match (connector.get("streams"), connector.get("stream_names")) {
            (None, Some(Value::Array(names))) => {
                let streams = names.iter().map(|name| json!({ "name": name })).collect();
                connector.insert("streams".into(), streams);
            }
            (None, None) if connector.get("stream_count").is_some_and(Value::is_u64) => {
                not_named += connector["stream_count"].as_u64().unwrap_or(0);
            }
            (streams, _) => drop(answer_shape::objects(streams, "connectors[].streams")?),
        }
    }
    if not_named > 0 {
        let message =
            format!("{not_named} streams are not named here: schema with a connection_id names them");
        envelope::warn(&mut body, "partial_results", message);
    }
    Ok(body)
}

/// The typed error for what a Core-only provider does not support.
pub fn unsupported(what: &str, instead: &str) -> ToolError {
    ToolError::new(
        "unsupported_by_provider",
        format!("This provider has no {what} (it offers the core of PDPP v0.1: streams, records, blobs)"),
        instead.to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r5_5_streams_that_are_named_or_counted_only_are_not_left_out() {
        let body = |connectors: Value| Map::from_iter([("connectors".to_owned(), connectors)]);
        let named = with_streams(body(json!([{"stream_names": ["a", "b"]}]))).unwrap();
        assert_eq!(named["connectors"][0]["streams"], json!([{"name": "a"}, {"name": "b"}]));
        assert!(!named.contains_key("meta"));
        let counted =
            with_streams(body(json!([{"stream_count": 3}, {"streams": []}, {"stream_count": 4}]))).unwrap();
        assert!(counted["meta"]["warnings"][0]["message"].as_str().unwrap().starts_with("7 streams"));
        for wrong in [
            json!(null),
            json!([null]),
            json!([{}]),
            json!([{"streams": [1]}]),
            json!([{"stream_count": "3"}]),
        ] {
            assert_eq!(with_streams(body(wrong)).unwrap_err().code(), "provider_answer_broken");
        }
    }
}
