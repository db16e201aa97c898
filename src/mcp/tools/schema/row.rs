//! One stream of one connector, from which both the index and the fields are built.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::mcp::line;
use crate::mcp::reading::catalog::{connections_of_stream, connector_key};
use crate::mcp::reading::envelope;
use crate::mcp::size::{json_len, prefix_on_wire};
use crate::mcp::tool_error::Candidate;
use crate::mcp::tools::answer_parts::text_of;

/// The maximum size in bytes of a field's name, of its flags, and of a stream's name in the index: only nonsense is
/// longer.
const NAME_BYTES: usize = 300;

/// What a provider may declare about a stream in addition to what every provider declares: the fields that it can be
/// sorted by, what is computed for each group, and the values of fields that have few.
const SORT_FIELDS: &str = "sort_fields";
const GROUPED: &str = "grouped_metrics";
pub(super) const VALUES: &str = "field_values";

/// One stream of one connector.
pub(super) struct Row {
    pub(super) stream: String,
    pub(super) connector_key: Option<String>,
    pub(super) connections: Vec<(String, Option<String>)>,
    /// What its connector has in addition to its streams.
    pub(super) connector: Map<String, Value>,
    /// Grant and provider, if several are served and these distinguish rows.
    pub(super) origin: String,
    pub(super) declared: Map<String, Value>,
}

impl Row {
    pub(super) fn all(body: &Map<String, Value>) -> Vec<Self> {
        let connectors = body.get("connectors").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut rows = Vec::new();
        for connector in connectors.iter().filter_map(Value::as_object) {
            let streams = connector.get("streams").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let origin = ["grant_id", "provider"].into_iter().filter_map(|key| {
                Some(format!(" {key}={}", line::token(prefix_on_wire(text_of(connector, key)?, 120))))
            });
            let origin = origin.collect::<String>();
            for row in streams.iter().filter_map(Value::as_object) {
                rows.push(Self {
                    stream: text_of(row, "name").unwrap_or("?").to_owned(),
                    connector_key: connector_key(connector),
                    connections: connections_of_stream(connector, row),
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

    /// Its name in a list of names.
    pub(super) fn name(&self) -> String {
        line::token(&short(&self.stream))
    }

    /// The number of parts into which it can be divided: its fields, or itself if it has none.
    pub(super) fn units(&self) -> usize {
        self.fields().count().max(1)
    }

    /// What connector and stream declare in addition to the fields, within `room` bytes: the documented parts, the
    /// most important first, and the names of those that do not fit.
    pub(super) fn bounded(&self, room: usize) -> (Map<String, Value>, Map<String, Value>) {
        const OF_STREAM: [&str; 8] = [
            "name",
            "granted_connections",
            "cursor_field",
            "primary_key",
            SORT_FIELDS,
            GROUPED,
            "expand_capabilities",
            "views",
        ];
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
    pub(super) fn named(&self) -> Map<String, Value> {
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

    pub(super) fn heading(&self) -> String {
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

    pub(super) fn candidates(&self) -> Vec<Candidate> {
        Candidate::of_source(None, self.connector_key.as_deref(), &self.connections).collect()
    }

    pub(super) fn summary(&self) -> String {
        format!("stream {} of {}\n", line::token(&self.stream), self.heading())
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.declared.get("field_capabilities").and_then(Value::as_object).into_iter().flatten()
    }

    /// Whether it declares more about sorting and groups than every provider does.
    pub(super) fn says_more(&self) -> bool {
        self.declared.contains_key(SORT_FIELDS) || self.declared.contains_key(GROUPED)
    }

    /// The declared values of a field, unless they are nonsense.
    pub(super) fn values(&self, field: &str) -> Option<Value> {
        let said = self.declared.get(VALUES)?.get(field)?;
        let mut room = NAME_BYTES;
        let values = said.get("values")?.as_array()?;
        let taken = values.iter().map_while(|value| {
            room = room.checked_sub(json_len(value) + 2)?;
            value.as_str()
        });
        let taken = taken.collect::<Vec<_>>();
        let are_all = taken.len() == values.len() && said.get("complete") == Some(&Value::Bool(true));
        (!taken.is_empty()).then(|| json!({"values": taken, "complete": are_all}))
    }

    pub(super) fn about(&self) -> String {
        let mut out = self.summary();
        let list = |key: &str| {
            let list = self.declared.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            list.iter().filter_map(Value::as_str).map(line::token).collect::<Vec<_>>().join(", ")
        };
        let key = list("primary_key");
        if !key.is_empty() {
            let _ = writeln!(out, "primary key: {key}");
        }
        let sorts = list(SORT_FIELDS);
        match text_of(&self.declared, "cursor_field") {
            _ if !sorts.is_empty() => {
                let _ = writeln!(out, "sort: FIELD or -FIELD, one of {sorts}");
            }
            Some(field) => {
                let field = line::token(field);
                let _ = writeln!(out, "sort: {field} or -{field}");
            }
            None => out.push_str("sort: order asc or desc only\n"),
        }
        let grouped = list(GROUPED);
        if !grouped.is_empty() {
            let _ = writeln!(out, "groups: count, or one of {grouped} with field");
        }
        let relations =
            self.declared.get("expand_capabilities").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let relations = relations.iter().filter_map(|relation| {
            let name = relation.get("name")?.as_str()?;
            let usable = relation.get("usable").and_then(Value::as_bool) != Some(false);
            let many = relation.get("max_limit").map_or_else(String::new, |most| {
                format!(" (expand_limit up to {})", line::value(most, 40).text)
            });
            let of = relation.get("local_key").and(relation.get("stream")).and_then(Value::as_str);
            let of = of.map_or_else(String::new, |stream| format!(" (one of {})", line::token(stream)));
            usable.then(|| format!("{}{many}{of}", line::token(name)))
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

    pub(super) fn describe(&self) -> String {
        let mut out = self.about();
        for (name, flags) in self.fields() {
            out.push_str(&field_line(name, flags, self.values(name).as_ref()));
        }
        if self.fields().next().is_none() {
            out.push_str(NO_FIELDS);
        }
        out
    }
}

pub(super) const NO_FIELDS: &str = "  no field list is given: query_records shows the fields\n";

/// A field's line; its [`Row::values`] are quoted, because they are record data.
pub(super) fn field_line(name: &str, flags: &Value, values: Option<&Value>) -> String {
    let flags = flags.as_str().map_or_else(|| line::value(flags, NAME_BYTES).text, line::rest_of_line);
    let mut out = format!("  {}: {flags}", line::token(name));
    if let Some(said) = values {
        let values = said["values"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let values = values.map(line::quoted).collect::<Vec<_>>().join(", ");
        let more = if said["complete"] == true { "" } else { ", …" };
        let _ = write!(out, " values: {values}{more}");
    }
    out.push('\n');
    out
}

/// A name, shown whole unless it is very long.
pub(super) fn short(name: &str) -> String {
    if json_len(&name) <= NAME_BYTES {
        name.to_owned()
    } else {
        format!("{}…", prefix_on_wire(name, NAME_BYTES / 2))
    }
}

pub(super) fn short_flags(flags: &Value) -> Value {
    match flags {
        flags if json_len(flags) <= NAME_BYTES => flags.clone(),
        Value::String(flags) => json!(short(flags)),
        _ => json!("…"),
    }
}

/// Limits the parts of a schema next to its streams, so that they do not crowd the streams out.
pub(super) fn bound_envelope(body: &mut Map<String, Value>) {
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
