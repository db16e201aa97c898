//! `schema`: an index of the whole grant, or all of one stream's capabilities.

mod fields;
mod full;
mod index;
mod row;

use serde_json::{Map, Value, json};

use super::{advice, bad_name};
use crate::mcp::id::check_segment;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::schema as grant_schema;
use crate::mcp::render::ladder::Call;
use crate::mcp::render::{Bounds, envelope};
use crate::mcp::tool_error::ToolError;
use crate::mcp::tools::arguments::Arguments;
use crate::mcp::tools::core::Core;

use fields::{describe, shown_before, with_legend};
use full::full;
pub use index::Parts;
use index::show_index;
use row::Row;

/// Answers a call.
pub async fn run(core: &Core, arguments: Arguments) -> Result<ToolAnswer, ToolError> {
    let stream = arguments.text("stream").map(str::to_owned);
    if let Some(stream) = &stream {
        check_segment("stream", stream).map_err(|error| bad_name("stream", &error))?;
    }
    let connection = arguments.text("connection_id").map(str::to_owned);
    let is_full = arguments.text("detail") == Some("full");
    let is_of_index = arguments.text("cursor").is_some_and(|cursor| cursor.starts_with(index::CURSOR));
    if arguments.has("cursor") && stream.is_none() && !is_of_index {
        return Err(arguments
            .foreign_cursor()
            .hint("a cursor of fields goes with the stream that it was given for"));
    }
    match (is_full, stream) {
        (true, None) => Err(ToolError::new(
            "stream_required",
            "detail full is for one stream: a whole grant would not fit any context",
            Call::new("schema", json!({})),
        )
        .hint("schema {} lists the streams, then schema(stream, connection_id, detail:\"full\")")
        .with("param", "stream")),
        (true, Some(stream)) => full(core, &arguments, &stream, connection.as_deref()).await,
        (false, Some(stream)) => scoped(core, &arguments, &stream, connection.as_deref()).await,
        (false, None) => index(core, &arguments, connection.as_deref()).await,
    }
}

async fn compact_body(
    core: &Core,
    stream: Option<&str>,
    connection: Option<&str>,
) -> Result<Map<String, Value>, ToolError> {
    let mut body = grant_schema::compact(core.source(), stream, connection).await?;
    envelope::prepare(&mut body);
    warn_of_end(core, &mut body);
    Ok(body)
}

/// Adds to the warnings of the envelope that the grant ends soon: both views show those.
fn warn_of_end(core: &Core, body: &mut Map<String, Value>) {
    if let Some(message) = core.source().end_warning(jiff::Timestamp::now()) {
        envelope::warn(body, "grant_ends_soon", message);
    }
}

async fn index(
    core: &Core,
    arguments: &Arguments,
    connection: Option<&str>,
) -> Result<ToolAnswer, ToolError> {
    core.source().forget();
    let body = compact_body(core, None, connection).await?;
    show_index(arguments, body, None, core.bounds())
}

/// The compact schema of one grant of several, for [`show_over_grants`].
///
/// # Errors
/// Those of the grant's source.
pub async fn part(core: &Core, stream: Option<&str>) -> Result<Map<String, Value>, ToolError> {
    if stream.is_none() {
        core.source().forget();
    }
    compact_body(core, stream, None).await
}

/// The schema of several grants, put together in `body`: the index, or all rows of one stream.
pub fn show_over_grants(
    arguments: &Arguments,
    stream: Option<&str>,
    body: Map<String, Value>,
    parts: &Parts,
    bounds: Bounds,
) -> Result<ToolAnswer, ToolError> {
    let Some(stream) = stream else { return show_index(arguments, body, Some(parts), bounds) };
    let shown = shown_before(arguments)?;
    if Row::all(&body).is_empty() {
        return Err(ToolError::new(
            "stream_not_granted",
            format!("no grant that is served holds a stream `{stream}`"),
            "schema {} lists the granted streams",
        )
        .with("param", "stream"));
    }
    let (text, body, next) = describe(arguments, body, shown, bounds)?;
    Ok(answer(text, body, next))
}

/// Ids and labels.
pub type Connections = Vec<(String, Option<String>)>;

/// The streams of a compact schema: name, connector key, connections.
pub fn streams_of(body: &Map<String, Value>) -> Vec<(String, Option<String>, Connections)> {
    Row::all(body).into_iter().map(|row| (row.stream, row.connector_key, row.connections)).collect()
}

async fn scoped(
    core: &Core,
    arguments: &Arguments,
    stream: &str,
    connection: Option<&str>,
) -> Result<ToolAnswer, ToolError> {
    let shown = shown_before(arguments)?;
    let body = compact_body(core, Some(stream), connection).await?;
    if Row::all(&body).is_empty() {
        return Err(not_granted(core, arguments, stream, connection).await);
    }
    let (text, body, next) = describe(arguments, body, shown, core.bounds())?;
    Ok(with_legend(answer(text, body, next)))
}

/// The schema of a stream that is not there is empty, which looks like a stream without fields.
async fn not_granted(
    core: &Core,
    arguments: &Arguments,
    stream: &str,
    connection: Option<&str>,
) -> ToolError {
    let all = advice::every_stream(core).await;
    if let Some(connection) = connection.filter(|_| all.iter().any(|(name, _)| name == stream)) {
        let message = format!("connection `{connection}` gives no stream `{stream}`");
        let error = ToolError::new("stream_not_granted", message, Call::new("schema", json!({})));
        return advice::unknown_connection(error, arguments, stream, connection, &all);
    }
    let message = format!("The grant holds no stream `{stream}`");
    let error = ToolError::new("stream_not_granted", message, Call::new("schema", json!({})));
    advice::unknown_stream(error.with("param", "stream"), stream, &all)
}

fn answer(text: String, body: Map<String, Value>, next: Option<Call>) -> ToolAnswer {
    let mut structured = Map::from_iter([("data".to_owned(), Value::Object(body))]);
    if let Some(next) = next {
        structured.insert("next".into(), next.to_json());
    }
    ToolAnswer { text, structured: Some(structured), is_error: false }
}
