//! `detail: full`: the raw schema of one stream of one source, as far as it fits.

use serde_json::{Map, Value, json};

use super::fields::{answer_with_legend, describe, shown_before};
use super::row::Row;
use super::scoped::not_granted;
use crate::json::write;
use crate::mcp::call::Call;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::answer_shape;
use crate::mcp::reading::envelope;
use crate::mcp::reading::request::{Request, SchemaView};
use crate::mcp::reading::schema::{of_grant, projection, warn_of_end};
use crate::mcp::size::{Bounds, json_len};
use crate::mcp::tool_error::ToolError;
use crate::mcp::tools::answer_parts::data_answer;
use crate::mcp::tools::context::Context;

pub(super) async fn full(
    context: Context<'_>,
    call: &Call,
    stream: &str,
    connection: Option<&str>,
) -> Result<ToolAnswer, ToolError> {
    let Context { reader, bounds } = context;
    if connection.is_none() {
        let candidates = Row::all(&of_grant(reader, Some(stream), None).await.unwrap_or_default())
            .iter()
            .flat_map(Row::candidates)
            .collect::<Vec<_>>();
        if candidates.len() > 1 {
            return Err(ToolError::new(
                "ambiguous_connection",
                format!(
                    "{} sources have a stream `{stream}`: detail full describes one of them",
                    candidates.len()
                ),
                "repeat the call with one of these connection_id values",
            )
            .with("param", "connection_id")
            .choose_from(candidates)
            .complete_candidates(|candidate| {
                candidate.grant_id = reader.grant_id().map(str::to_owned);
            }));
        }
    }
    let shown = shown_before(call)?;
    let read = Request::schema(SchemaView::Full, Some(stream), connection);
    let mut body = reader.read(&read).await?.body;
    // The full schema may list streams without connectors.
    match (body.get("connectors"), body.get("streams")) {
        (None, Some(streams)) => drop(answer_shape::objects(Some(streams), "streams")?),
        (connectors, _) => {
            for connector in answer_shape::objects(connectors, "connectors")? {
                answer_shape::objects(connector.get("streams"), "connectors[].streams")?;
            }
        }
    }
    envelope::prepare(&mut body);
    warn_of_end(reader, &mut body);
    // The same rows twice would cost twice the context (R3.8).
    if body.contains_key("connectors") {
        body.remove("streams");
    }
    let whole = json_len(&body);
    let fits = |body: &Map<String, Value>| {
        let json = write::text(body);
        // The measure of this view counts every hidden character as escaped.
        (json_len(body) + 12 <= bounds.structured && json.len() <= bounds.text).then_some(json)
    };
    if shown == 0
        && let Some(json) = fits(&body)
    {
        return Ok(data_answer(json, &body, None));
    }
    // Most of a raw schema lists what a field does not support; without that it is just as complete.
    let mut without_noes = Value::Object(body.clone());
    drop_noes(&mut without_noes);
    if shown == 0
        && let Value::Object(body) = without_noes
        && let Some(json) = fits(&body)
    {
        let text =
            format!("{json}\ncapabilities that a field does not have are omitted ({whole} bytes with them)");
        if text.len() <= bounds.text {
            return Ok(data_answer(text, &body, None));
        }
    }
    let compacted = projection::compact(body, Some(stream), connection);
    let note = format!("the raw schema takes {whole} bytes and does not fit: this is the compact one");
    let room =
        Bounds { text: bounds.text.saturating_sub(note.len() + 20), structured: bounds.structured - 20 };
    if Row::all(&compacted).is_empty() {
        return Err(not_granted(reader, call, stream, connection).await);
    }
    let (text, body, next) = describe(call, compacted, shown, room)?;
    Ok(answer_with_legend(format!("{note}\n{text}"), &body, next))
}

/// Removes capabilities that are neither declared nor usable, and whatever is empty as a result.
fn drop_noes(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(drop_noes);
            map.retain(|key, value| {
                let is_no = value.get("usable") == Some(&Value::Bool(false))
                    && value.get("declared") == Some(&Value::Bool(false));
                let is_empty = matches!(key.as_str(), "aggregation" | "schema") && *value == json!({});
                !is_no && !is_empty
            });
        }
        Value::Array(list) => list.iter_mut().for_each(drop_noes),
        _ => {}
    }
}
