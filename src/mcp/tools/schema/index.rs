//! The index of one or several grants: the names of all streams, or pages of them if they do not fit.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::row::{Row, bound_envelope, short};
use crate::mcp::call::{Call, Tool};
use crate::mcp::line;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::catalog::connections;
use crate::mcp::render::ladder::next_line;
use crate::mcp::size::{Bounds, json_len};
use crate::mcp::tool_error::ToolError;
use crate::mcp::tools::answer_parts::{counted, data_answer, meta_lines};

/// The size limit of both views together for the index of a grant with up to 500 streams (R3.3).
const INDEX_BYTES: usize = 16_000;

/// The number of streams up to which that limit applies; beyond it, the index grows with their names.
const INDEX_STREAMS: usize = 500;

/// The beginning of a cursor of the index, followed by a grant's key, a dot and the number of its streams before it.
pub(super) const CURSOR: &str = "streams:";

const OF_ONE: &str = "fields, filters, sorting and aggregation of one: schema {\"stream\":STREAM}\n";

/// How many streams each grant has in an index over several grants, in their order. A cursor names a place within one
/// grant: it stays right when another grant does not answer in the meantime.
#[derive(Debug, Clone, Default)]
pub struct Parts(Vec<(String, usize)>);

impl Parts {
    /// The grants by their keys; a grant that is missing has none.
    pub fn of(grants: impl IntoIterator<Item = (String, usize)>) -> Self {
        Self(grants.into_iter().collect())
    }

    /// Whether none of the existing streams comes after `cursor`.
    pub fn is_at_end(&self, cursor: Option<&str>) -> bool {
        let all = self.0.iter().map(|(_, streams)| streams).sum::<usize>();
        cursor.and_then(|cursor| self.place(cursor)) == Some(all)
    }

    /// How many streams come before `cursor`; `None` if it belongs to other grants.
    fn place(&self, cursor: &str) -> Option<usize> {
        let (key, within) = cursor.strip_prefix(CURSOR)?.split_once('.')?;
        let within = within.parse::<usize>().ok()?;
        let at = self.0.iter().position(|(known, _)| known == key)?;
        let before = self.0[..at].iter().map(|(_, streams)| streams).sum::<usize>();
        Some(before + within.min(self.0[at].1))
    }

    /// The cursor after the first `at` streams.
    fn cursor(&self, mut at: usize) -> String {
        for (key, streams) in &self.0 {
            if at < *streams {
                return format!("{CURSOR}{key}.{at}");
            }
            at -= streams;
        }
        CURSOR.to_owned()
    }
}

/// The index. It has the names of all of one grant's streams, however many (R3.3). Over several grants it also grows
/// with what distinguishes them, and continues on further pages if that is too much for one result.
pub(super) fn show_index(
    call: &Call,
    mut body: Map<String, Value>,
    parts: Option<&Parts>,
    bounds: Bounds,
) -> Result<ToolAnswer, ToolError> {
    bound_envelope(&mut body);
    let rows = Row::all(&body);
    let shown = match (call.text("cursor"), parts) {
        (None, _) => 0,
        (Some(given), Some(parts)) => parts.place(given).ok_or_else(|| no_such_place(call))?,
        (Some(_), None) => return Err(no_such_place(call)),
    };
    let beyond = rows.iter().skip(INDEX_STREAMS).map(|row| line::token(&row.stream).len() + 2).sum::<usize>();
    let most = if bounds.text < Bounds::default().text { bounds.text } else { INDEX_BYTES + beyond };
    if shown == 0 {
        let text = index_text(call, &rows, &body);
        if parts.is_none() || text.len() <= most {
            let room = (INDEX_BYTES + beyond).saturating_sub(text.len()).min(bounds.structured);
            let mut next = None;
            // An index: the fields are in the scoped call.
            if json_len(&body) + 12 > room {
                next = strip_to_names(&mut body, room.saturating_sub(200));
            }
            return Ok(data_answer(text, &body, next));
        }
    }
    let parts = parts.filter(|_| shown < rows.len()).ok_or_else(|| no_such_place(call))?;
    Ok(page_of_index(call, &rows, body, parts, shown, bounds))
}

fn no_such_place(call: &Call) -> ToolError {
    ToolError::new(
        "invalid_cursor",
        "there are no streams after this cursor, or its grant is no longer served",
        call.with([("cursor", None)]),
    )
    .with("param", "cursor")
}

/// The streams from the one after `shown`, as many as fit both views; at least one.
fn page_of_index(
    call: &Call,
    rows: &[Row],
    mut body: Map<String, Value>,
    parts: &Parts,
    shown: usize,
    bounds: Bounds,
) -> ToolAnswer {
    let next = |at: usize| call.with([("cursor", Some(json!(parts.cursor(at))))]);
    body.remove("connectors");
    let mut tail = String::new();
    meta_lines(&mut tail, &body);
    tail.push_str(OF_ONE);
    let likely = next(rows.len().saturating_sub(1)).to_text().len() + 64;
    let half = INDEX_BYTES / 2;
    let mut text_left = bounds.text.min(half).saturating_sub(tail.len() + likely);
    let mut left = bounds.structured.min(half).saturating_sub(json_len(&body) + likely + 80);
    let mut at = shown;
    let mut groups: Vec<(String, Map<String, Value>, Vec<String>)> = Vec::new();
    for row in &rows[shown..] {
        let (heading, name) = (row.heading(), row.name());
        let is_new = groups.last().is_none_or(|(known, ..)| *known != heading);
        let connector = row.named();
        let (mut text, mut structured) = (name.len() + 2, json_len(&row.stream) + 1);
        if is_new {
            text += heading.len() + 3;
            structured += json_len(&connector) + 24;
        }
        if (text > text_left || structured > left) && at > shown {
            break;
        }
        text_left = text_left.saturating_sub(text);
        left = left.saturating_sub(structured);
        match groups.last_mut().filter(|_| !is_new) {
            Some((.., names)) => names.push(short(&row.stream)),
            None => groups.push((heading, connector, vec![short(&row.stream)])),
        }
        at += 1;
    }
    let mut text = String::new();
    let mut connectors = Vec::new();
    for (heading, mut connector, names) in groups {
        let tokens = names.iter().map(|name| line::token(name)).collect::<Vec<_>>();
        let _ = writeln!(text, "{heading}: {}", tokens.join(", "));
        connector.insert("stream_names".into(), json!(names));
        connectors.push(Value::Object(connector));
    }
    let next = Some(next(at)).filter(|_| at < rows.len());
    let _ = writeln!(text, "streams {} to {at} of {}", shown + 1, rows.len());
    text.push_str(&tail);
    if let Some(next) = &next {
        let _ = writeln!(text, "{}", next_line(next));
    }
    text.truncate(text.trim_end().len());
    body.insert("connectors".into(), connectors.into());
    body.insert("streams_not_shown".into(), json!(rows.len() - at));
    data_answer(text, &body, next)
}

fn index_text(call: &Call, rows: &[Row], body: &Map<String, Value>) -> String {
    let mut text = String::new();
    let mut by_connector: Vec<(String, Vec<String>)> = Vec::new();
    for row in rows {
        let heading = row.heading();
        match by_connector.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, streams)) => streams.push(row.name()),
            None => by_connector.push((heading, vec![row.name()])),
        }
    }
    for (heading, streams) in &by_connector {
        let _ = writeln!(text, "{heading}: {}", streams.join(", "));
    }
    if rows.is_empty() {
        text.push_str("the grant holds no stream");
        if call.has("connection_id") {
            text.push_str(" of that connection; schema {} lists all");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}", counted(rows.len(), "stream"));
    if let Some(bearer) = body.get("bearer") {
        let _ = writeln!(text, "grant: {}", line::value(bearer, 400).text);
    }
    meta_lines(&mut text, body);
    if !rows.is_empty() {
        text.push_str(OF_ONE);
    }
    text.truncate(text.trim_end().len());
    text
}

/// Reduces each connector to names: streams as rows with only `name`, then as plain names, then (for the last
/// connectors) only their number, with the call that names them.
pub(super) fn strip_to_names(body: &mut Map<String, Value>, room: usize) -> Option<Call> {
    let connectors = |body: &mut Map<String, Value>, reduce: &dyn Fn(&mut Map<String, Value>)| {
        if let Some(Value::Array(connectors)) = body.get_mut("connectors") {
            connectors.iter_mut().filter_map(Value::as_object_mut).for_each(reduce);
        }
    };
    connectors(body, &|connector| {
        if let Some(Value::Array(streams)) = connector.get_mut("streams") {
            for stream in streams.iter_mut().filter_map(Value::as_object_mut) {
                stream.retain(|key, _| key == "name" || key == "granted_connections");
            }
        }
    });
    if json_len(body) + 12 <= room {
        return None;
    }
    connectors(body, &|connector| {
        let names = connector.get("streams").and_then(Value::as_array).map(|streams| {
            streams.iter().filter_map(|stream| stream.get("name").cloned()).collect::<Vec<_>>()
        });
        connector.retain(|key, _| {
            matches!(key.as_str(), "connector_key" | "granted_connections" | "grant_id" | "provider")
        });
        connector.insert("stream_names".into(), json!(names.unwrap_or_default()));
    });
    let mut excess = (json_len(body) + 12).saturating_sub(room);
    let mut next = None;
    let rows = body.get_mut("connectors").and_then(Value::as_array_mut).into_iter().flatten().rev();
    for connector in rows.filter_map(Value::as_object_mut) {
        if excess == 0 {
            break;
        }
        let Some(Value::Array(names)) = connector.remove("stream_names") else { continue };
        excess = excess.saturating_sub(json_len(&names));
        connector.insert("stream_count".into(), json!(names.len()));
        if let Some((connection, _)) = connections(connector.get("granted_connections")).first() {
            let call = Call::new(Tool::Schema, json!({"connection_id": connection}));
            next = Some(call).filter(|call| json_len(&call.to_json()) <= 180);
        }
    }
    // With very many connections, their ids are more useful than some of them with labels.
    if json_len(body) + 12 > room {
        connectors(body, &|connector| {
            if let Some(list) = connector.remove("granted_connections") {
                let ids = connections(Some(&list)).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
                connector.insert("connection_ids".into(), json!(ids));
            }
        });
    }
    // Only the names may grow.
    if json_len(body) + 12 > room
        && let Some(Value::Array(connectors)) = body.remove("connectors")
    {
        let total = connectors.len();
        let mut left = room.saturating_sub(json_len(body) + 80);
        let shown = connectors.into_iter().take_while(|connector| {
            let size = json_len(connector) + 1;
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        });
        let shown = shown.collect::<Vec<_>>();
        body.insert("connectors_not_shown".into(), json!(total - shown.len()));
        body.insert("connectors".into(), shown.into());
    }
    next
}
