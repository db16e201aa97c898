//! `schema`: an index of the whole grant, or all of one stream's capabilities.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{bad_name, json_len, meta_lines, text_of};
use crate::mcp::ToolAnswer;
use crate::mcp::arguments::{Arguments, call};
use crate::mcp::catalog::{connections, connector_key};
use crate::mcp::core::Core;
use crate::mcp::evidence::ladder::Call;
use crate::mcp::evidence::{envelope, line};
use crate::mcp::id::check_segment;
use crate::mcp::schema::{self as grant_schema, projection};
use crate::mcp::tool_error::{Candidate, ToolError};
use crate::provider::rs::Read;

/// Bound of both views together for the index of a grant of up to 500 streams (R3.3).
const INDEX_BYTES: usize = 16_000;

/// What the flags of a compact field mean.
const LEGEND: &str = "flags: t=type, role=declared meaning, eq=filter {\"field\":value}, r=ops: filter {\"field\":{op:value}}, \
lex/sem=searched by search, a=aggregate uses, g=false: not granted, declared=readable only\n";

/// Answers a call.
pub async fn run(core: &Core, arguments: Arguments) -> Result<ToolAnswer, ToolError> {
    let stream = arguments.text("stream")?.map(str::to_owned);
    if let Some(stream) = &stream {
        check_segment("stream", stream).map_err(|error| bad_name("stream", &error))?;
    }
    let connection = arguments.text("connection_id")?.map(str::to_owned);
    let is_full = arguments.choice("detail", &["compact", "full"])? == Some("full");
    match (is_full, stream) {
        (true, None) => Err(ToolError::new(
            "stream_required",
            "detail full is for one stream: a whole grant would not fit any context",
            "schema {} lists the streams, then schema(stream, connection_id, detail:\"full\")",
        )
        .with("param", "stream")),
        (true, Some(stream)) => full(core, &arguments, &stream, connection.as_deref()).await,
        (false, Some(stream)) => scoped(core, &arguments, &stream, connection.as_deref()).await,
        (false, None) => index(core, connection.as_deref()).await,
    }
}

async fn compact_body(
    core: &Core,
    stream: Option<&str>,
    connection: Option<&str>,
) -> Result<Map<String, Value>, ToolError> {
    let mut body = grant_schema::compact(core.source(), stream, connection).await?;
    envelope::prepare(&mut body);
    Ok(body)
}

async fn index(core: &Core, connection: Option<&str>) -> Result<ToolAnswer, ToolError> {
    core.source().forget();
    let mut body = compact_body(core, None, connection).await?;
    let rows = Row::all(&body);
    let mut text = String::new();
    let mut by_connector: Vec<(String, Vec<String>)> = Vec::new();
    for row in &rows {
        let heading = row.heading();
        match by_connector.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, streams)) => streams.push(line::token(&row.stream)),
            None => by_connector.push((heading, vec![line::token(&row.stream)])),
        }
    }
    for (heading, streams) in &by_connector {
        let _ = writeln!(text, "{heading}: {}", streams.join(", "));
    }
    if rows.is_empty() {
        text.push_str("the grant holds no stream");
        if connection.is_some() {
            text.push_str(" of that connection; schema {} lists all");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{} streams", rows.len());
    if let Some(bearer) = body.get("bearer") {
        let _ = writeln!(text, "grant: {}", line::value(bearer, 400).text);
    }
    meta_lines(&mut text, &body);
    if !rows.is_empty() {
        text.push_str("fields, filters, sorting and aggregation of one: schema {\"stream\":STREAM}\n");
    }
    text.truncate(text.trim_end().len());
    // An index: the field dump is what the scoped call is for.
    let room = INDEX_BYTES.saturating_sub(text.len()).min(core.bounds().structured);
    let mut next = None;
    if json_len(&body) + 12 > room {
        next = strip_to_names(&mut body, room.saturating_sub(200));
    }
    Ok(answer(text, body, next))
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
        connector.retain(|key, _| matches!(key.as_str(), "connector_key" | "granted_connections"));
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
            next = Some(Call::new("schema", json!({"connection_id": connection})));
        }
    }
    next
}

async fn scoped(
    core: &Core,
    arguments: &Arguments,
    stream: &str,
    connection: Option<&str>,
) -> Result<ToolAnswer, ToolError> {
    let mut body = compact_body(core, Some(stream), connection).await?;
    let rows = Row::all(&body);
    if rows.is_empty() {
        let text = format!(
            "no stream {} in this grant{}\nnext: schema {{}}",
            line::token(stream),
            connection.map_or_else(String::new, |id| format!(" for connection {}", line::token(id))),
        );
        return Ok(answer(text, body, Some(Call::new("schema", json!({})))));
    }
    let bounds = core.bounds();
    let mut text = rows.iter().map(Row::describe).collect::<String>();
    text.push_str(LEGEND);
    meta_lines(&mut text, &body);
    let mut next = None;
    if text.len() > bounds.text || json_len(&body) + 200 > bounds.structured {
        // Several sources at once do not fit: name them, one call each.
        let candidates = rows.iter().flat_map(Row::candidates).collect::<Vec<_>>();
        if connection.is_none() && candidates.len() > 1 && rows.len() > 1 {
            text = rows.iter().map(Row::summary).collect::<String>();
            for candidate in &candidates {
                let with = arguments.with([("connection_id", Some(json!(candidate.connection_id)))]);
                let _ = writeln!(text, "fields: {}", call("schema", &with));
            }
            let first = arguments.with([("connection_id", Some(json!(candidates[0].connection_id)))]);
            next = Some(Call { tool: "schema", arguments: first });
            let _ = strip_to_names(&mut body, bounds.structured);
        } else {
            // One wide stream: its raw schema pages nowhere, so the fields that fit are shown, all are named.
            text = rows
                .iter()
                .map(|row| row.names_only(bounds.text.saturating_sub(LEGEND.len() + 300)))
                .collect();
            text.push_str(LEGEND);
            shrink_fields(&mut body, bounds.structured.saturating_sub(200));
        }
    }
    text.truncate(text.trim_end().len());
    Ok(answer(text, body, next))
}

/// Takes the flags off the fields until the rest fits: every name stays.
fn shrink_fields(body: &mut Map<String, Value>, room: usize) {
    if let Some(Value::Array(connectors)) = body.get_mut("connectors") {
        for stream in connectors
            .iter_mut()
            .filter_map(|connector| connector.get_mut("streams")?.as_array_mut())
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            let Some(Value::Object(fields)) = stream.get_mut("field_capabilities") else { continue };
            if json_len(fields) > room {
                let plain = |flags: &Value| flags.as_str().is_none_or(|flags| !flags.contains("role="));
                for flags in fields.values_mut().filter(|flags| plain(flags)) {
                    *flags = json!("");
                }
            }
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
    let read = Read::of(["schema"])
        .with("detail", "full")
        .with("stream", stream)
        .with_some("connection_id", connection);
    let mut body = core.source().get(&read).await?.body;
    envelope::prepare(&mut body);
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
    if let Some(json) = fits(&body) {
        return Ok(answer(json, body, None));
    }
    // Most of a raw schema says what a field cannot do; without that it is as exhaustive.
    let mut without_noes = Value::Object(body.clone());
    drop_noes(&mut without_noes);
    if let Value::Object(body) = without_noes
        && let Some(json) = fits(&body)
    {
        let text =
            format!("{json}\ncapabilities that a field does not have are left out ({whole} bytes with them)");
        if text.len() <= bounds.text {
            return Ok(answer(text, body, None));
        }
    }
    let compacted = projection::compact(body, Some(stream), connection);
    let rows = Row::all(&compacted);
    let mut text = rows.iter().map(Row::describe).collect::<String>();
    text.push_str(LEGEND);
    let _ = writeln!(
        text,
        "the raw schema takes {whole} bytes and does not fit; this is all of its fields, compact"
    );
    let without = arguments.with([("detail", None)]);
    let _ = writeln!(text, "next: {}", call("schema", &without));
    text.truncate(text.trim_end().len());
    Ok(answer(text, compacted, Some(Call { tool: "schema", arguments: without })))
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
    ToolAnswer { text, structured: Some(structured), is_error: false, meta: None }
}

/// One stream of one connector.
struct Row {
    stream: String,
    connector_key: Option<String>,
    connections: Vec<(String, Option<String>)>,
    declared: Map<String, Value>,
}

impl Row {
    fn all(body: &Map<String, Value>) -> Vec<Self> {
        let connectors = body.get("connectors").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut rows = Vec::new();
        for connector in connectors.iter().filter_map(Value::as_object) {
            let streams = connector.get("streams").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            for row in streams.iter().filter_map(Value::as_object) {
                let own = row.get("granted_connections").filter(|list| **list != json!([]));
                rows.push(Self {
                    stream: text_of(row, "name").unwrap_or("?").to_owned(),
                    connector_key: connector_key(connector),
                    connections: connections(own.or_else(|| connector.get("granted_connections"))),
                    declared: row.clone(),
                });
            }
        }
        rows
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
            let many = relation
                .get("max_limit")
                .map_or_else(String::new, |most| format!(" (expand_limit up to {most})"));
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
            let flags = flags.as_str().map_or_else(|| line::value(flags, 200).text, line::rest_of_line);
            let _ = writeln!(out, "  {}: {flags}", line::token(name));
        }
        if self.fields().next().is_none() {
            out.push_str("  no field list is given: query_records shows the fields\n");
        }
        out
    }

    /// Fields with flags while they fit, then the other names.
    fn names_only(&self, room: usize) -> String {
        let mut out = self.about();
        let mut rest = Vec::new();
        for (name, flags) in self.fields() {
            let line = format!(
                "  {}: {}\n",
                line::token(name),
                flags.as_str().map_or_else(String::new, line::rest_of_line)
            );
            if out.len() + line.len() < room / 2 {
                out.push_str(&line);
            } else {
                rest.push(line::token(name));
            }
        }
        if !rest.is_empty() {
            let _ = writeln!(out, "  further fields: {}", rest.join(", "));
        }
        out
    }
}
