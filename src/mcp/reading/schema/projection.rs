//! The compact view of a schema, created here for a provider that has none (R3.2).

use crate::mcp::reading::filter::{Operator, TestKind};
use serde_json::{Map, Value, json};

/// The compact form of a schema body: unchanged if the provider made it, otherwise projected. Restricted to `stream`
/// and `connection` if the provider ignored those.
pub fn compact(
    mut body: Map<String, Value>,
    stream: Option<&str>,
    connection: Option<&str>,
) -> Map<String, Value> {
    let is_compact = body.get("detail").and_then(Value::as_str) == Some("compact");
    body.remove("streams").filter(|_| !body.contains_key("connectors"));
    let Some(Value::Array(connectors)) = body.get_mut("connectors") else { return body };
    for connector in connectors.iter_mut().filter_map(Value::as_object_mut) {
        if !is_compact {
            hoist_connections(connector);
        }
        let shared = connector.get("granted_connections").cloned();
        if let Some(Value::Array(streams)) = connector.get_mut("streams") {
            streams.retain(|row| {
                let is_named =
                    stream.is_none_or(|stream| row.get("name").and_then(Value::as_str) == Some(stream));
                let granted = row.get("granted_connections").or(shared.as_ref());
                is_named && connection.is_none_or(|id| grants(granted, id))
            });
            if !is_compact {
                streams.iter_mut().filter_map(Value::as_object_mut).for_each(compact_row);
            }
        }
        if let Some(id) = connection {
            scope_connections(connector, id);
        }
    }
    connectors.retain(|connector| {
        connector.get("streams").and_then(Value::as_array).is_none_or(|rows| !rows.is_empty())
    });
    if !is_compact {
        body.insert("detail".into(), json!("compact"));
    }
    body
}

fn grants(list: Option<&Value>, connection: &str) -> bool {
    match list.and_then(Value::as_array) {
        Some(list) => list
            .iter()
            .any(|granted| granted.get("connection_id").and_then(Value::as_str) == Some(connection)),
        // A provider that lists none has restricted the answer itself.
        None => true,
    }
}

fn scope_connections(connector: &mut Map<String, Value>, connection: &str) {
    let only = |list: &mut Value| {
        if let Value::Array(list) = list {
            list.retain(|granted| granted.get("connection_id").and_then(Value::as_str) == Some(connection));
        }
    };
    if let Some(list) = connector.get_mut("granted_connections") {
        only(list);
    }
    if let Some(Value::Array(streams)) = connector.get_mut("streams") {
        streams.iter_mut().filter_map(|row| row.get_mut("granted_connections")).for_each(only);
    }
}

/// Moves the connections that every stream has to the connector; a stream with other connections keeps its own.
fn hoist_connections(connector: &mut Map<String, Value>) {
    let Some(Value::Array(streams)) = connector.get("streams") else { return };
    let mut all: Vec<Value> = match connector.get("granted_connections") {
        Some(Value::Array(list)) => list.clone(),
        _ => Vec::new(),
    };
    for list in streams.iter().filter_map(|row| row.get("granted_connections")?.as_array()) {
        for connection in list {
            let id = connection.get("connection_id");
            if !all.iter().any(|known| known.get("connection_id") == id) {
                all.push(connection.clone());
            }
        }
    }
    if all.is_empty() {
        return;
    }
    let all = Value::Array(all);
    if let Some(Value::Array(streams)) = connector.get_mut("streams") {
        for row in streams.iter_mut().filter_map(Value::as_object_mut) {
            if same_connections(row.get("granted_connections"), &all) {
                row.remove("granted_connections");
            }
        }
    }
    connector.insert("granted_connections".into(), all);
}

fn same_connections(own: Option<&Value>, all: &Value) -> bool {
    let ids = |list: &Value| {
        let list = list.as_array().map_or(&[][..], Vec::as_slice);
        let mut ids = list.iter().filter_map(|item| item.get("connection_id")?.as_str()).collect::<Vec<_>>();
        ids.sort_unstable();
        ids.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    own.is_some_and(|own| ids(own) == ids(all))
}

fn compact_row(row: &mut Map<String, Value>) {
    let schema = row.get("schema").and_then(|schema| schema.get("properties")).cloned();
    for name in BEYOND {
        if let Some(said) = row.get("query").and_then(|query| query.get(name)).cloned() {
            row.insert(name.to_owned(), said);
        }
    }
    let sorts = row.get("sort_fields").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(Value::Object(fields)) = row.get_mut("field_capabilities") {
        for (name, capability) in fields.iter_mut() {
            if let Value::Object(full) = capability {
                let property = schema.as_ref().and_then(|properties| properties.get(name));
                let is_sort = sorts.iter().any(|sort| sort.as_str() == Some(name.as_str()));
                *capability = json!(flags(full, property, is_sort));
            }
        }
    }
    if let Some(Value::Array(views)) = row.get_mut("views") {
        for view in views.iter_mut() {
            if let Some(id) = view.get("id").cloned() {
                *view = json!({"id": id});
            }
        }
        if views.is_empty() {
            row.remove("views");
        }
    }
    row.retain(|key, _| {
        matches!(
            key.as_str(),
            "name"
                | "primary_key"
                | "cursor_field"
                | "field_capabilities"
                | "expand_capabilities"
                | "granted_connections"
                | "views"
                | "sort_fields"
                | "grouped_metrics"
                | "field_values"
        )
    });
}

/// What a stream's query may declare in addition to what every provider supports, and its compact row too.
const BEYOND: [&str; 2] = ["sort_fields", "grouped_metrics"];

/// A field's capabilities as the compact view writes them: `t=string,role=actor,eq,r=gte|lt,lex,s,a=sum`.
fn flags(full: &Map<String, Value>, property: Option<&Value>, is_sort: bool) -> String {
    let usable = |capability: Option<&Value>| {
        capability.is_some_and(|capability| {
            capability.get("usable").or_else(|| capability.get("declared")).and_then(Value::as_bool)
                == Some(true)
        })
    };
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(list)) => Some(list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|")),
        _ => None,
    };
    let schema = full.get("schema").filter(|schema| schema.get("type").is_some()).or(property);
    let mut flags = Vec::new();
    if let Some(kind) = text(full.get("type")).or_else(|| text(schema.and_then(|schema| schema.get("type"))))
    {
        flags.push(format!("t={kind}"));
    }
    if let Some(role) = text(full.get("role")) {
        flags.push(format!("role={role}"));
    }
    for kind in TestKind::ALL {
        let capability = full.get(kind.capability());
        if !usable(capability) {
            continue;
        }
        flags.push(match kind {
            TestKind::Equals => kind.flag().to_owned(),
            TestKind::Range => {
                let operators = text(capability.and_then(|range| range.get("operators")));
                let operators = operators.unwrap_or_else(|| Operator::ALL.map(Operator::name).join("|"));
                format!("{}={operators}", kind.flag())
            }
        });
    }
    if usable(full.get("lexical_search")) {
        flags.push("lex".to_owned());
    }
    if usable(full.get("semantic_search")) {
        flags.push("sem".to_owned());
    }
    if is_sort {
        flags.push("s".to_owned());
    }
    if let Some(Value::Object(aggregation)) = full.get("aggregation") {
        let uses = aggregation
            .iter()
            .filter(|(_, capability)| usable(Some(capability)))
            .map(|(name, _)| name.as_str());
        let uses = uses.collect::<Vec<_>>();
        if !uses.is_empty() {
            flags.push(format!("a={}", uses.join("|")));
        }
    }
    if full.get("granted") == Some(&Value::Bool(false)) {
        flags.push("g=false".to_owned());
    }
    if flags.is_empty() { "declared".to_owned() } else { flags.join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Map<String, Value> {
        let row = |name: &str, connections: Value| {
            json!({"name": name, "object": "stream_metadata", "primary_key": ["id"], "query": {}, "views": [{"id": "brief", "fields": ["id"]}],
                "granted_connections": connections,
                "schema": {"properties": {"id": {"type": "string"}, "at": {"type": ["string", "null"]}}},
                "field_capabilities": {
                    "id": {"exact_filter": {"usable": true}, "granted": true, "schema": {}},
                    "at": {"role": "event-time", "range_filter": {"usable": true, "operators": ["gte", "lt"]},
                           "aggregation": {"min": {"usable": true}, "max": {"usable": true}, "sum": {"usable": false}}},
                    "body": {"type": "text", "lexical_search": {"usable": true}, "granted": false}}})
        };
        let both = json!([{"connection_id": "a"}, {"connection_id": "b"}]);
        let body = json!({"object": "schema", "connectors": [
            {"connector_key": "mail", "streams": [row("messages", both.clone()), row("threads", json!([{"connection_id": "a"}]))]}]});
        body.as_object().unwrap().clone()
    }

    #[test]
    fn r3_2_a_full_body_becomes_the_compact_view() {
        let body = compact(full(), None, None);
        let connector = &body["connectors"][0];
        assert_eq!(body["detail"], "compact");
        assert_eq!(connector["granted_connections"].as_array().unwrap().len(), 2);
        assert_eq!(connector["streams"][0].get("granted_connections"), None, "shared ones are listed once");
        assert_eq!(
            connector["streams"][1]["granted_connections"],
            json!([{"connection_id": "a"}]),
            "none is hidden"
        );
        assert_eq!(
            connector["streams"][0]["field_capabilities"],
            json!({"id": "t=string,eq", "at": "t=string|null,role=event-time,r=gte|lt,a=max|min", "body": "t=text,lex,g=false"})
        );
    }

    #[test]
    fn o6_1_what_a_full_body_says_of_sorting_and_groups_is_kept() {
        let mut body = full();
        let row = &mut body["connectors"][0]["streams"][0];
        row["query"] = json!({"sort_fields": ["at"], "grouped_metrics": ["sum"]});
        row["field_values"] = json!({"id": {"values": ["a"], "complete": true}});
        let body = compact(body, None, None);
        let row = &body["connectors"][0]["streams"][0];
        assert_eq!((&row["sort_fields"], &row["grouped_metrics"]), (&json!(["at"]), &json!(["sum"])));
        assert_eq!(row["field_values"]["id"]["values"], json!(["a"]));
        assert_eq!(row["field_capabilities"]["at"], "t=string|null,role=event-time,r=gte|lt,s,a=max|min");
        assert_eq!(row["field_capabilities"]["id"], "t=string,eq");
    }

    #[test]
    fn r3_5_scope_is_applied_where_the_provider_ignored_it() {
        let body = compact(full(), Some("threads"), None);
        assert_eq!(body["connectors"][0]["streams"].as_array().unwrap().len(), 1);
        let body = compact(full(), None, Some("b"));
        assert_eq!(body["connectors"][0]["streams"].as_array().unwrap().len(), 1);
        assert_eq!(body["connectors"][0]["granted_connections"], json!([{"connection_id": "b"}]));
        assert_eq!(compact(full(), Some("threads"), Some("b"))["connectors"], json!([]));
    }
}
