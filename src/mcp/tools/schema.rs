//! `schema`: an index of the whole grant, or all of one stream's capabilities.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{advice, bad_name, counted, json_len, meta_lines, text_of};
use crate::mcp::ToolAnswer;
use crate::mcp::arguments::{Arguments, call};
use crate::mcp::catalog::{connections, connector_key};
use crate::mcp::core::Core;
use crate::mcp::evidence::ladder::{Call, next_line};
use crate::mcp::evidence::{Bounds, envelope, line, prefix_on_wire};
use crate::mcp::expected;
use crate::mcp::id::check_segment;
use crate::mcp::schema::{self as grant_schema, projection};
use crate::mcp::tool_error::{Candidate, ToolError};
use crate::provider::rs::Read;

/// Bound of both views together for the index of a grant of up to 500 streams (R3.3).
const INDEX_BYTES: usize = 16_000;

/// Streams up to which that bound holds; beyond them it grows by their names.
const INDEX_STREAMS: usize = 500;

/// What the flags of a compact field mean.
const LEGEND: &str = "flags: t=type, role=declared meaning, eq=filter {\"field\":value}, r=ops: filter {\"field\":{op:value}}, \
lex/sem=searched by search, a=aggregate uses, g=false: not granted, declared=readable only\n";

/// What a cursor of one stream begins with; the number of fields before it follows.
const CURSOR: &str = "fields:";

/// What a cursor of the index begins with; a grant's key, a dot and the number of its streams before it follow.
const INDEX_CURSOR: &str = "streams:";

/// Most bytes of a field's name and of its flags, and of a stream's name in the index: only nonsense is longer.
const NAME_BYTES: usize = 300;

/// Answers a call.
pub async fn run(core: &Core, arguments: Arguments) -> Result<ToolAnswer, ToolError> {
    let stream = arguments.text("stream")?.map(str::to_owned);
    if let Some(stream) = &stream {
        check_segment("stream", stream).map_err(|error| bad_name("stream", &error))?;
    }
    let connection = arguments.text("connection_id")?.map(str::to_owned);
    let is_full = arguments.text("detail")? == Some("full");
    let is_of_index = arguments.text("cursor")?.is_some_and(|cursor| cursor.starts_with(INDEX_CURSOR));
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
    let shown = cursor(arguments, CURSOR)?;
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

/// How many streams each of several grants has in an index over all of them, in their order. A cursor names
/// a place within one grant: it stays right when another one is silent meanwhile.
#[derive(Debug, Clone, Default)]
pub struct Parts(Vec<(String, usize)>);

impl Parts {
    /// Grants by their keys; none of a grant that is missing.
    pub fn of(grants: impl IntoIterator<Item = (String, usize)>) -> Self {
        Self(grants.into_iter().collect())
    }

    /// Whether nothing of those that are there comes behind `cursor`.
    pub fn is_at_end(&self, cursor: Option<&str>) -> bool {
        let all = self.0.iter().map(|(_, streams)| streams).sum::<usize>();
        cursor.and_then(|cursor| self.place(cursor)) == Some(all)
    }

    /// How many streams come before `cursor`; nothing if it is of other grants.
    fn place(&self, cursor: &str) -> Option<usize> {
        let (key, within) = cursor.strip_prefix(INDEX_CURSOR)?.split_once('.')?;
        let within = within.parse::<usize>().ok()?;
        let at = self.0.iter().position(|(known, _)| known == key)?;
        let before = self.0[..at].iter().map(|(_, streams)| streams).sum::<usize>();
        Some(before + within.min(self.0[at].1))
    }

    /// The cursor behind the first `at` streams.
    fn cursor(&self, mut at: usize) -> String {
        for (key, streams) in &self.0 {
            if at < *streams {
                return format!("{INDEX_CURSOR}{key}.{at}");
            }
            at -= streams;
        }
        INDEX_CURSOR.to_owned()
    }
}

/// Ids and labels.
pub type Connections = Vec<(String, Option<String>)>;

/// The streams of a compact schema: name, connector key, connections.
pub fn streams_of(body: &Map<String, Value>) -> Vec<(String, Option<String>, Connections)> {
    Row::all(body).into_iter().map(|row| (row.stream, row.connector_key, row.connections)).collect()
}

/// The index. The names of one grant's streams are all there, however many (R3.3); over several grants it also
/// grows by what tells those apart, and goes on where that is more than a result takes.
fn show_index(
    arguments: &Arguments,
    mut body: Map<String, Value>,
    parts: Option<&Parts>,
    bounds: Bounds,
) -> Result<ToolAnswer, ToolError> {
    bound_envelope(&mut body);
    let rows = Row::all(&body);
    let shown = match (arguments.text("cursor")?, parts) {
        (None, _) => 0,
        (Some(given), Some(parts)) => parts.place(given).ok_or_else(|| no_such_place(arguments))?,
        (Some(_), None) => return Err(no_such_place(arguments)),
    };
    let beyond = rows.iter().skip(INDEX_STREAMS).map(|row| line::token(&row.stream).len() + 2).sum::<usize>();
    let most = if bounds.text < Bounds::default().text { bounds.text } else { INDEX_BYTES + beyond };
    if shown == 0 {
        let text = index_text(arguments, &rows, &body);
        if parts.is_none() || text.len() <= most {
            let room = (INDEX_BYTES + beyond).saturating_sub(text.len()).min(bounds.structured);
            let mut next = None;
            // An index: the field dump is what the scoped call is for.
            if json_len(&body) + 12 > room {
                next = strip_to_names(&mut body, room.saturating_sub(200));
            }
            return Ok(answer(text, body, next));
        }
    }
    let parts = parts.filter(|_| shown < rows.len()).ok_or_else(|| no_such_place(arguments))?;
    Ok(page_of_index(arguments, &rows, body, parts, shown, bounds))
}

fn no_such_place(arguments: &Arguments) -> ToolError {
    ToolError::new(
        "invalid_cursor",
        "there are no streams behind this cursor, or its grant is not served any more",
        call("schema", &arguments.with([("cursor", None)])),
    )
    .with("param", "cursor")
}

/// The streams from the one after `shown`, as many as fit both views; at least one.
fn page_of_index(
    arguments: &Arguments,
    rows: &[Row],
    mut body: Map<String, Value>,
    parts: &Parts,
    shown: usize,
    bounds: Bounds,
) -> ToolAnswer {
    let next = |at: usize| Call {
        tool: "schema",
        arguments: arguments.with([("cursor", Some(json!(parts.cursor(at))))]),
    };
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
    answer(text, body, next)
}

const OF_ONE: &str = "fields, filters, sorting and aggregation of one: schema {\"stream\":STREAM}\n";

fn index_text(arguments: &Arguments, rows: &[Row], body: &Map<String, Value>) -> String {
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
        if arguments.has("connection_id") {
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

/// Leaves of each connector its names: streams as rows of `name` only, then as plain names, then (of the
/// last connectors) only how many there are, with the call that names them.
fn strip_to_names(body: &mut Map<String, Value>, room: usize) -> Option<Call> {
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
            let call = Call::new("schema", json!({"connection_id": connection}));
            next = Some(call).filter(|call| json_len(&call.to_json()) <= 180);
        }
    }
    // Of very many connections the ids say more than some with their labels.
    if json_len(body) + 12 > room {
        connectors(body, &|connector| {
            if let Some(list) = connector.remove("granted_connections") {
                let ids = connections(Some(&list)).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
                connector.insert("connection_ids".into(), json!(ids));
            }
        });
    }
    // Names are what grows; nothing else may.
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

async fn scoped(
    core: &Core,
    arguments: &Arguments,
    stream: &str,
    connection: Option<&str>,
) -> Result<ToolAnswer, ToolError> {
    let shown = cursor(arguments, CURSOR)?;
    let body = compact_body(core, Some(stream), connection).await?;
    if Row::all(&body).is_empty() {
        return Err(not_granted(core, arguments, stream, connection).await);
    }
    let (text, body, next) = describe(arguments, body, shown, core.bounds())?;
    Ok(with_legend(answer(text, body, next)))
}

/// How many fields, or streams, were shown already.
fn cursor(arguments: &Arguments, kind: &str) -> Result<usize, ToolError> {
    let Some(cursor) = arguments.text("cursor")? else { return Ok(0) };
    let shown = cursor.strip_prefix(kind).and_then(|shown| shown.parse().ok());
    shown.ok_or_else(|| arguments.foreign_cursor())
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

/// The text, the body and the call that goes on.
type Described = (String, Map<String, Value>, Option<Call>);

/// Every row of a stream with its fields, within the bounds: where several sources do not fit, one call
/// for each; where one is too wide, the fields that fit, and the call that goes on behind them.
fn describe(
    arguments: &Arguments,
    mut body: Map<String, Value>,
    shown: usize,
    bounds: Bounds,
) -> Result<Described, ToolError> {
    let bounds = Bounds { structured: bounds.structured.saturating_sub(json_len(&LEGEND) + 14), ..bounds };
    let rows = Row::all(&body);
    bound_envelope(&mut body);
    let mut meta = String::new();
    meta_lines(&mut meta, &body);
    if shown == 0 {
        let mut text = rows.iter().map(Row::describe).collect::<String>();
        text.push_str(LEGEND);
        text.push_str(&meta);
        text.truncate(text.trim_end().len());
        if text.len() <= bounds.text && json_len(&body) + 12 <= bounds.structured {
            return Ok((text, body, None));
        }
        let candidates = rows.iter().flat_map(Row::candidates).collect::<Vec<_>>();
        if !arguments.has("connection_id") && candidates.len() > 1 && rows.len() > 1 {
            return Ok(by_connection(arguments, &rows, &candidates, body, &meta, bounds));
        }
    }
    let (text, body, next) = page_of_fields(arguments, &rows, body, &meta, shown, bounds);
    if text.is_empty() {
        let again = call("schema", &arguments.with([("cursor", None)]));
        return Err(ToolError::new("invalid_cursor", "there are no fields behind this cursor", again)
            .with("param", "cursor"));
    }
    Ok((text, body, next))
}

/// The sources of a stream, with the call that describes it in each.
fn by_connection(
    arguments: &Arguments,
    rows: &[Row],
    candidates: &[Candidate],
    mut body: Map<String, Value>,
    meta: &str,
    bounds: Bounds,
) -> Described {
    let of = |id: &str| arguments.with([("connection_id", Some(json!(id)))]);
    let next = Call { tool: "schema", arguments: of(&candidates[0].connection_id) };
    let next = Some(next).filter(|next| next.to_text().len() <= bounds.text / 4);
    let mut text = String::new();
    let calls = candidates
        .iter()
        .map(|candidate| format!("fields: {}\n", call("schema", &of(&candidate.connection_id))));
    let lines = rows.iter().map(Row::summary).chain(calls);
    push_while_fits(&mut text, lines, bounds.text.saturating_sub(meta.len() + 200));
    text.push_str(meta);
    text.truncate(text.trim_end().len());
    let _ = strip_to_names(&mut body, bounds.structured.saturating_sub(bounds.structured / 4 + 100));
    (text, body, next)
}

/// The fields from the one after `shown`, as many as fit both views; at least one, or nothing where there
/// are none.
fn page_of_fields(
    arguments: &Arguments,
    rows: &[Row],
    mut body: Map<String, Value>,
    meta: &str,
    shown: usize,
    bounds: Bounds,
) -> Described {
    let total = rows.iter().map(Row::units).sum::<usize>();
    let next = |at: usize| Call {
        tool: "schema",
        arguments: arguments.with([("cursor", Some(json!(format!("{CURSOR}{at}"))))]),
    };
    let likely = json_len(&next(total).to_json());
    body.remove("connectors");
    let mut text_left = bounds.text.saturating_sub(LEGEND.len() + meta.len() + likely + 100);
    let mut left = bounds.structured.saturating_sub(json_len(&body) + likely + 120);
    // What stands above the fields of a row may take a third of either.
    let (heading, declared) = (text_left / 3, left / 3);
    let (mut text, mut connectors) = (String::new(), Vec::new());
    let (mut at, mut skipped) = (0, 0);
    'rows: for row in rows {
        if shown >= skipped + row.units() {
            skipped += row.units();
            continue;
        }
        let first = shown.saturating_sub(skipped);
        skipped += row.units();
        at = at.max(skipped - row.units() + first);
        let mut about = String::new();
        let lines = if first == 0 { row.about() } else { row.summary() };
        push_while_fits(&mut about, lines.split_inclusive('\n').map(str::to_owned), heading);
        let (mut connector, mut stream) = row.bounded(declared);
        let above = (about.len(), json_len(&connector) + json_len(&stream) + 80);
        let mut fields = Map::new();
        let mut is_new = true;
        for (name, flags) in row.fields().skip(first) {
            let (name, flags) = (short(name), short_flags(flags));
            let line = field_line(&name, &flags);
            let size = json_len(&name) + json_len(&flags) + 2;
            let (line_len, size) =
                if is_new { (line.len() + above.0, size + above.1) } else { (line.len(), size) };
            let fits = line_len <= text_left && size <= left;
            // The first one always comes: it is bounded by itself, and a walk has to get on.
            if !(fits || is_new && connectors.is_empty()) {
                if !is_new {
                    stream.insert("field_capabilities".into(), Value::Object(fields));
                    connector.insert("streams".into(), json!([stream]));
                    connectors.push(connector);
                }
                break 'rows;
            }
            text_left = text_left.saturating_sub(line_len);
            left = left.saturating_sub(size);
            if std::mem::take(&mut is_new) {
                text.push_str(&about);
            }
            text.push_str(&line);
            fields.insert(name, flags);
            at += 1;
        }
        if row.fields().next().is_none() {
            let fits = above.0 + 80 <= text_left && above.1 <= left;
            if !fits && !connectors.is_empty() {
                break;
            }
            text_left = text_left.saturating_sub(above.0 + 80);
            left = left.saturating_sub(above.1);
            text.push_str(&about);
            text.push_str(NO_FIELDS);
            at += 1;
        }
        stream.insert("field_capabilities".into(), Value::Object(fields));
        connector.insert("streams".into(), json!([stream]));
        connectors.push(connector);
    }
    if connectors.is_empty() {
        return (String::new(), body, None);
    }
    body.insert("connectors".into(), connectors.into_iter().map(Value::Object).collect());
    let next = Some(next(at)).filter(|_| at < total);
    text.push_str(LEGEND);
    text.push_str(meta);
    if let Some(next) = &next {
        body.insert("fields_not_shown".into(), json!(total - at));
        let _ = writeln!(text, "{} not shown here\n{}", counted(total - at, "field"), next_line(next));
    }
    text.truncate(text.trim_end().len());
    (text, body, next)
}

const NO_FIELDS: &str = "  no field list is given: query_records shows the fields\n";

fn field_line(name: &str, flags: &Value) -> String {
    let flags = flags.as_str().map_or_else(|| line::value(flags, NAME_BYTES).text, line::rest_of_line);
    format!("  {}: {flags}\n", line::token(name))
}

/// A name that is shown whole unless it is endless.
fn short(name: &str) -> String {
    if json_len(&name) <= NAME_BYTES {
        name.to_owned()
    } else {
        format!("{}…", prefix_on_wire(name, NAME_BYTES / 2))
    }
}

fn short_flags(flags: &Value) -> Value {
    match flags {
        flags if json_len(flags) <= NAME_BYTES => flags.clone(),
        Value::String(flags) => json!(short(flags)),
        _ => json!("…"),
    }
}

/// Appends lines while they fit; says how many were left out.
fn push_while_fits(out: &mut String, lines: impl Iterator<Item = String>, room: usize) {
    let mut left_out = 0usize;
    for line in lines {
        if left_out == 0 && out.len() + line.len() <= room {
            out.push_str(&line);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        let _ = writeln!(out, "{left_out} more lines do not fit: narrow with connection_id (schema {{}})");
    }
}

/// What a schema says beside its streams may not crowd them out.
fn bound_envelope(body: &mut Map<String, Value>) {
    if let Some(Value::Array(connectors)) = body.get_mut("connectors") {
        for connector in connectors.iter_mut().filter_map(Value::as_object_mut) {
            if let Some(list) = connector.get_mut("granted_connections") {
                short_labels(list);
            }
            let streams = connector.get_mut("streams").and_then(Value::as_array_mut).into_iter().flatten();
            streams.filter_map(|row| row.get_mut("granted_connections")).for_each(short_labels);
        }
    }
    let connectors = body.remove_entry("connectors");
    if json_len(body) > 1_500 {
        let mut meta = Map::from_iter(body.remove_entry("meta"));
        envelope::shorten(&mut meta);
        body.retain(|key, value| {
            matches!(key.as_str(), "object" | "detail" | "bearer") && json_len(value) <= 400
        });
        body.extend(meta);
    }
    body.extend(connectors);
}

fn short_labels(connections: &mut Value) {
    for connection in connections.as_array_mut().into_iter().flatten() {
        if let Some(Value::String(label)) = connection.get_mut("display_name")
            && json_len(label) > 200
        {
            *label = format!("{}…", prefix_on_wire(label, 160));
        }
    }
}

async fn full(
    core: &Core,
    arguments: &Arguments,
    stream: &str,
    connection: Option<&str>,
) -> Result<ToolAnswer, ToolError> {
    if connection.is_none() {
        let candidates = Row::all(&compact_body(core, Some(stream), None).await.unwrap_or_default())
            .iter()
            .flat_map(Row::candidates)
            .collect::<Vec<_>>();
        if candidates.len() > 1 {
            return Err(ToolError::new(
                "ambiguous_connection",
                format!(
                    "{} sources have a stream `{stream}`: detail full is for one of them",
                    candidates.len()
                ),
                "repeat the call with one of these connection_id values",
            )
            .with("param", "connection_id")
            .choose_from(candidates)
            .complete_candidates(|candidate| {
                candidate.grant_id = core.source().grant_id().map(str::to_owned);
            }));
        }
    }
    let shown = cursor(arguments, CURSOR)?;
    let read = Read::of(["schema"])
        .with("detail", "full")
        .with("stream", stream)
        .with_some("connection_id", connection);
    let mut body = core.source().get(&read).await?.body;
    // The full one may list streams without connectors.
    match (body.get("connectors"), body.get("streams")) {
        (None, Some(streams)) => drop(expected::objects(Some(streams), "streams")?),
        (connectors, _) => {
            for connector in expected::objects(connectors, "connectors")? {
                expected::objects(connector.get("streams"), "connectors[].streams")?;
            }
        }
    }
    envelope::prepare(&mut body);
    warn_of_end(core, &mut body);
    // The same rows twice would be twice the context (R3.8).
    if body.contains_key("connectors") {
        body.remove("streams");
    }
    let bounds = core.bounds();
    let whole = json_len(&body);
    let fits = |body: &Map<String, Value>| {
        let json = crate::ui::json_ascii_controls(&Value::Object(body.clone()).to_string()).into_owned();
        (json.len() + 12 <= bounds.structured && json.len() <= bounds.text).then_some(json)
    };
    if shown == 0
        && let Some(json) = fits(&body)
    {
        return Ok(answer(json, body, None));
    }
    // Most of a raw schema says what a field cannot do; without that it is as exhaustive.
    let mut without_noes = Value::Object(body.clone());
    drop_noes(&mut without_noes);
    if shown == 0
        && let Value::Object(body) = without_noes
        && let Some(json) = fits(&body)
    {
        let text =
            format!("{json}\ncapabilities that a field does not have are left out ({whole} bytes with them)");
        if text.len() <= bounds.text {
            return Ok(answer(text, body, None));
        }
    }
    let compacted = projection::compact(body, Some(stream), connection);
    let note = format!("the raw schema takes {whole} bytes and does not fit: this is the compact one");
    let room =
        Bounds { text: bounds.text.saturating_sub(note.len() + 20), structured: bounds.structured - 20 };
    if Row::all(&compacted).is_empty() {
        return Err(not_granted(core, arguments, stream, connection).await);
    }
    let (text, body, next) = describe(arguments, compacted, shown, room)?;
    Ok(with_legend(answer(format!("{note}\n{text}"), body, next)))
}

/// Takes out capabilities that are declared and usable by nobody, and what is empty then.
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

fn answer(text: String, body: Map<String, Value>, next: Option<Call>) -> ToolAnswer {
    let mut structured = Map::from_iter([("data".to_owned(), Value::Object(body))]);
    if let Some(next) = next {
        structured.insert("next".into(), next.to_json());
    }
    ToolAnswer { text, structured: Some(structured), is_error: false }
}

/// Flags say little to a reader of the structured view without what they mean.
fn with_legend(mut answer: ToolAnswer) -> ToolAnswer {
    if let Some(structured) = answer.structured.as_mut().filter(|_| answer.text.contains(LEGEND.trim_end())) {
        structured.insert("legend".into(), json!(LEGEND.trim_end()));
    }
    answer
}

/// One stream of one connector.
struct Row {
    stream: String,
    connector_key: Option<String>,
    connections: Vec<(String, Option<String>)>,
    /// What its connector says beside its streams.
    connector: Map<String, Value>,
    /// Grant and provider, where several are served and these tell rows apart.
    origin: String,
    declared: Map<String, Value>,
}

impl Row {
    fn all(body: &Map<String, Value>) -> Vec<Self> {
        let connectors = body.get("connectors").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut rows = Vec::new();
        for connector in connectors.iter().filter_map(Value::as_object) {
            let streams = connector.get("streams").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let origin = ["grant_id", "provider"].into_iter().filter_map(|key| {
                Some(format!(" {key}={}", line::token(prefix_on_wire(text_of(connector, key)?, 120))))
            });
            let origin = origin.collect::<String>();
            for row in streams.iter().filter_map(Value::as_object) {
                let own = row.get("granted_connections").filter(|list| **list != json!([]));
                rows.push(Self {
                    stream: text_of(row, "name").unwrap_or("?").to_owned(),
                    connector_key: connector_key(connector),
                    connections: connections(own.or_else(|| connector.get("granted_connections"))),
                    connector: connector
                        .iter()
                        .filter(|(key, _)| *key != "streams")
                        .map(|(key, value)| (key.clone(), value.clone()))
                        .collect(),
                    origin: origin.clone(),
                    declared: row.clone(),
                });
            }
        }
        rows
    }

    /// Its name, for a list of names.
    fn name(&self) -> String {
        line::token(&short(&self.stream))
    }

    /// Into how many parts it can be divided: its fields, or itself where it has none.
    fn units(&self) -> usize {
        self.fields().count().max(1)
    }

    /// What connector and stream declare beside the fields, within `room` bytes: the documented parts, the
    /// most needed first, and the names of those that do not fit.
    fn bounded(&self, room: usize) -> (Map<String, Value>, Map<String, Value>) {
        const OF_STREAM: [&str; 6] =
            ["name", "granted_connections", "cursor_field", "primary_key", "expand_capabilities", "views"];
        const OF_CONNECTOR: [&str; 5] =
            ["connector_key", "granted_connections", "object", "display_name", "source"];
        let mut left = room.saturating_sub(200);
        let mut left_out = Vec::new();
        let mut take = |from: &Map<String, Value>, keys: &[&str]| {
            let mut taken = Map::new();
            for key in keys {
                let Some(value) = from.get(*key) else { continue };
                let value = if *key == "name" { json!(short(&self.stream)) } else { value.clone() };
                let size = json_len(&value) + key.len() + 4;
                if size <= left {
                    left -= size;
                    taken.insert((*key).to_owned(), value);
                } else {
                    left_out.push(json!(key));
                }
            }
            taken
        };
        let mut stream = take(&self.declared, &OF_STREAM[..1]);
        let connector = take(&self.connector, &OF_CONNECTOR);
        stream.extend(take(&self.declared, &OF_STREAM[1..]));
        if !left_out.is_empty() {
            stream.insert("left_out".into(), left_out.into());
        }
        (connector, stream)
    }

    /// What names its source in the structured view.
    fn named(&self) -> Map<String, Value> {
        let connections = self.connections.iter().map(|(id, label)| match label {
            Some(label) => json!({"connection_id": id, "display_name": label}),
            None => json!({"connection_id": id}),
        });
        let mut named = Map::new();
        if let Some(key) = &self.connector_key {
            named.insert("connector_key".into(), json!(short(key)));
        }
        named.insert("granted_connections".into(), connections.collect());
        let origin = ["grant_id", "provider"].into_iter().filter_map(|key| self.connector.get_key_value(key));
        named.extend(origin.map(|(key, value)| (key.clone(), value.clone())));
        named
    }

    fn heading(&self) -> String {
        let mut out = line::token(self.connector_key.as_deref().unwrap_or("source"));
        let connections = self.connections.iter().map(|(id, label)| match label {
            Some(label) => format!("{} {}", line::token(id), line::quoted_cut(label, 80).text),
            None => line::token(id),
        });
        let connections = connections.collect::<Vec<_>>().join(", ");
        if !connections.is_empty() {
            let _ = write!(out, " (connection_id {connections})");
        }
        out.push_str(&self.origin);
        out
    }

    fn candidates(&self) -> Vec<Candidate> {
        self.connections
            .iter()
            .map(|(id, label)| Candidate {
                grant_id: None,
                connector_key: self.connector_key.clone(),
                connection_id: id.clone(),
                label: label.clone(),
            })
            .collect()
    }

    fn summary(&self) -> String {
        format!("stream {} of {}\n", line::token(&self.stream), self.heading())
    }

    fn fields(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.declared.get("field_capabilities").and_then(Value::as_object).into_iter().flatten()
    }

    fn about(&self) -> String {
        let mut out = self.summary();
        let list = |key: &str| {
            let list = self.declared.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            list.iter().filter_map(Value::as_str).map(line::token).collect::<Vec<_>>().join(", ")
        };
        let key = list("primary_key");
        if !key.is_empty() {
            let _ = writeln!(out, "primary key: {key}");
        }
        match text_of(&self.declared, "cursor_field") {
            Some(field) => {
                let field = line::token(field);
                let _ = writeln!(out, "sort: {field} or -{field}");
            }
            None => out.push_str("sort: order asc or desc only\n"),
        }
        let relations =
            self.declared.get("expand_capabilities").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let relations = relations.iter().filter_map(|relation| {
            let name = relation.get("name")?.as_str()?;
            let usable = relation.get("usable").and_then(Value::as_bool) != Some(false);
            let many = relation.get("max_limit").map_or_else(String::new, |most| {
                format!(" (expand_limit up to {})", line::value(most, 40).text)
            });
            usable.then(|| format!("{}{many}", line::token(name)))
        });
        let relations = relations.collect::<Vec<_>>();
        let _ = writeln!(
            out,
            "expand: {}",
            if relations.is_empty() { "none".to_owned() } else { relations.join(", ") }
        );
        let views = self.declared.get("views").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let views = views.iter().filter_map(|view| view.get("id").or(Some(view))?.as_str()).map(line::token);
        let views = views.collect::<Vec<_>>();
        if !views.is_empty() {
            let _ = writeln!(out, "views: {}", views.join(", "));
        }
        out
    }

    fn describe(&self) -> String {
        let mut out = self.about();
        for (name, flags) in self.fields() {
            out.push_str(&field_line(name, flags));
        }
        if self.fields().next().is_none() {
            out.push_str(NO_FIELDS);
        }
        out
    }
}
