//! What can be read, and how: the grant's streams and what each field allows, in full or compact form.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use rusqlite::Connection as Sqlite;
use serde_json::{Map, Value, json};

use super::context::{self, Age, Context, ages, freshness, meta_with};
use super::params::Params;
use super::records;
use crate::vault::declaration::{Aggregation, Field, Relation};
use crate::vault::enforcement::{self, Access, Compare, FewValues, Selector};
use crate::vault::store::Catalog;
use crate::vault::time;
use crate::vault::wire::ApiError;

/// The level of detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// A string of flags per field.
    Compact,
    /// Everything.
    Full,
}

/// The operators of a range, as a schema lists them.
fn range_operators() -> Vec<&'static str> {
    Compare::ALL.into_iter().filter_map(Compare::operator).collect()
}

/// `GET /v1/schema`
///
/// # Errors
/// Returns every refusal.
pub fn get(context: &Context<'_>) -> Result<Value, ApiError> {
    let params = Params::read(context.read, &["view", "detail", "stream", "connection_id", "connector_id"])?;
    let stream = params.single("stream")?;
    let exhaustive = match params.single("detail")? {
        None | Some("compact") => false,
        Some("full") => true,
        Some(_) => return Err(ApiError::invalid("detail must be compact or full").param("detail")),
    };
    if exhaustive && stream.is_none() {
        return Err(ApiError::invalid(
            "schema detail \"full\" requires `stream`; call /v1/schema?view=compact for global discovery, then \
             /v1/schema?stream=<name>&connection_id=<id>&detail=full for exhaustive detail.",
        )
        .param("detail"));
    }
    let compact = match params.single("view")? {
        None => params.single("detail")? == Some("compact"),
        Some("compact") => true,
        Some("full") => false,
        Some(_) => return Err(ApiError::invalid("view must be compact or full").param("view")),
    };
    let detail = if compact && !exhaustive { Detail::Compact } else { Detail::Full };
    context.vault.store.read(|db, catalog| {
        // Looking for something that does not exist is not an error. The answer is then empty.
        let reached = enforcement::reach(context.grant, catalog, Selector::default())?;
        let (connection, connector) = (params.single("connection_id")?, params.single("connector_id")?);
        let reached: Vec<Access> = reached
            .into_iter()
            .filter(|access| {
                stream.is_none_or(|name| access.stream().name == name)
                    && connection.is_none_or(|id| access.connection().id == id)
                    && connector.is_none_or(|key| access.connector().key == key)
            })
            .collect();
        if exhaustive && reached.len() > 1 {
            return Err(several(stream.unwrap_or_default(), &reached));
        }
        let mut answer = Map::new();
        let known = Age::of_all(db, &reached)?;
        let (mut connectors, streams) = connectors(context, db, catalog, &reached, detail, &known)?;
        // Nobody needs the field values of all streams at once.
        if let Some(stream) = stream {
            add_values(db, stream, &reached, &mut connectors)?;
        }
        if compact || stream.is_some() {
            answer.insert("connector_count".to_owned(), connectors.len().into());
            answer.insert("stream_count".to_owned(), streams.into());
        }
        if compact {
            answer.insert("detail".to_owned(), "compact".into());
        }
        answer.insert("object".to_owned(), "schema".into());
        answer.insert("connectors".to_owned(), connectors.into());
        answer.insert(
            "bearer".to_owned(),
            json!({
                "scope": "grant",
                "token_kind": "client",
                "grant_id": context.grant.grant_id,
                "client_id": context.grant.client.client_id,
            }),
        );
        answer.insert("links".to_owned(), json!({ "self": context.read.target() }));
        let mut warnings = ages(&reached, &known);
        warnings.extend(context::beyond(&reached));
        answer.insert("meta".to_owned(), meta_with(&warnings));
        Ok(Value::Object(answer))
    })
}

fn several(stream: &str, reached: &[Access]) -> ApiError {
    let available: Vec<Value> = reached
        .iter()
        .map(|access| {
            json!({
                "connection_id": access.connection().id,
                "connector_key": access.connector().key,
                "stream": access.stream().name,
                "display_name": access.connection().display_name,
            })
        })
        .collect();
    ApiError::new(
        StatusCode::CONFLICT,
        "ambiguous_schema_detail",
        format!(
            "schema detail \"full\" for stream \"{stream}\" matches {} sources; retry with connection_id to fetch one \
             source's exhaustive schema.",
            reached.len()
        ),
    )
    .param("connection_id")
    .with("available_connections", available)
    .with("retry_with", "connection_id")
}

/// The connectors with their streams, and how many rows of streams there are.
fn connectors(
    context: &Context<'_>,
    db: &Sqlite,
    catalog: &Catalog,
    reached: &[Access],
    detail: Detail,
    ages: &BTreeMap<String, Age>,
) -> Result<(Vec<Value>, usize), ApiError> {
    let mut found = Vec::new();
    let mut total = 0;
    for connector in &catalog.connectors {
        let of: Vec<Access> =
            reached.iter().filter(|access| access.connector().key == connector.key).cloned().collect();
        if of.is_empty() {
            continue;
        }
        let all = connections(ages, &of);
        let mut rows = Vec::new();
        for group in enforcement::by_stream(of) {
            for mut row in stream_rows(context, db, catalog, &group, detail, ages)? {
                // Has its own list only if it differs from the connector's.
                if detail == Detail::Compact && row.get("granted_connections") == Some(&all) {
                    row.remove("granted_connections");
                }
                rows.push(Value::Object(row));
            }
        }
        total += rows.len();
        let mut row = json!({
            "object": "connector",
            "source": { "id": connector.id, "kind": "connector" },
            "connector_key": connector.key,
            "connector_id": connector.key,
            "stream_count": rows.len(),
            "streams": rows,
        });
        if detail == Detail::Compact {
            row["granted_connections"] = all;
        }
        found.push(row);
    }
    Ok((found, total))
}

fn connections(ages: &BTreeMap<String, Age>, accesses: &[Access]) -> Value {
    let mut all: Vec<Value> = Vec::new();
    for access in accesses {
        let connection = access.connection();
        let mut row = json!({ "connection_id": connection.id, "display_name": connection.display_name });
        if let Some(age) = ages.get(&connection.id) {
            row["as_of"] = time::format_ms(age.imported).into();
            if let Some(newest) = age.newest {
                row["newest_record_at"] = time::format_ms(newest).into();
            }
        }
        if !all.contains(&row) {
            all.push(row);
        }
    }
    all.into()
}

/// The maximum size of a listed value, and of all listed values of a field together, as JSON.
const VALUE_BYTES: usize = 60;
const VALUES_BYTES: usize = 240;
/// The maximum number of listed values of a field.
const MOST_VALUES: usize = 8;

/// Adds `field_values` to the rows of `stream`: the values of its fields that have only a few, most frequent first.
fn add_values(
    db: &Sqlite,
    stream: &str,
    reached: &[Access],
    connectors: &mut [Value],
) -> Result<(), ApiError> {
    for connector in connectors {
        let key = connector["connector_key"].as_str().unwrap_or_default().to_owned();
        let all = connector["granted_connections"].clone();
        for row in connector["streams"].as_array_mut().into_iter().flatten() {
            if row["name"] != stream {
                continue;
            }
            let granted = row.get("granted_connections").unwrap_or(&all);
            let ids: Vec<&str> = granted
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|of| of["connection_id"].as_str())
                .collect();
            let mut values: BTreeMap<&str, Option<FewValues>> = BTreeMap::new();
            let of = reached.iter().filter(|access| access.stream().is_extended);
            for access in of.filter(|access| {
                access.connector().key == key && ids.contains(&access.connection().id.as_str())
            }) {
                let few = access.few_values(db)?;
                for field in access.fields() {
                    // A field that has many values in one account has many.
                    let found =
                        few.iter().find(|(known, _)| known.name == field.name).map(|(_, found)| found);
                    let known = values.entry(&field.name).or_insert_with(|| Some(FewValues::default()));
                    *known = known.take().zip(found).map(|(known, found)| known.with(found));
                }
            }
            let told: Map<String, Value> = values
                .iter()
                .filter_map(|(name, of)| Some(((*name).to_owned(), told(of.as_ref()?)?)))
                .collect();
            if !told.is_empty() {
                row["field_values"] = Value::Object(told);
            }
        }
    }
    Ok(())
}

/// The most frequent of these values, each unabridged, and whether there are others.
fn told(values: &FewValues) -> Option<Value> {
    let mut all: Vec<(&String, &u64)> = values.counts.iter().filter(|(json, _)| *json != "null").collect();
    all.sort_by(|left, right| right.1.cmp(left.1).then_with(|| left.0.cmp(right.0)));
    let mut room = VALUES_BYTES;
    let told = all.iter().take(MOST_VALUES).map_while(|(json, _)| {
        room = room.checked_sub(json.len()).filter(|_| json.len() <= VALUE_BYTES)?;
        serde_json::from_str::<String>(json).ok()
    });
    let told: Vec<String> = told.collect();
    let are_all = told.len() == all.len() && !values.are_some;
    (!told.is_empty()).then(|| json!({ "values": told, "complete": are_all }))
}

/// One row per group of connections through which a stream looks the same; usually there is one.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn stream_rows(
    context: &Context<'_>,
    db: &Sqlite,
    catalog: &Catalog,
    accesses: &[Access],
    detail: Detail,
    ages: &BTreeMap<String, Age>,
) -> Result<Vec<Map<String, Value>>, ApiError> {
    let mut looks: Vec<(Vec<&str>, Vec<Relation>, Vec<Access>)> = Vec::new();
    for access in accesses {
        let fields: Vec<&str> = access.fields().map(|field| field.name.as_str()).collect();
        let relations: Vec<Relation> =
            records::relations(context, catalog, access).into_iter().map(|(relation, _)| relation).collect();
        match looks.iter_mut().find(|(known, follows, _)| *known == fields && *follows == relations) {
            Some((.., of)) => of.push(access.clone()),
            None => looks.push((fields, relations, vec![access.clone()])),
        }
    }
    let mut rows = Vec::new();
    for (_, relations, of) in looks {
        let Some(first) = of.first() else { continue };
        let relations = if context.vault.config.core { Vec::new() } else { relations };
        let mut row = match detail {
            Detail::Compact => compact(first, &relations),
            Detail::Full => {
                let mut last = None;
                for access in &of {
                    last = last.max(access.last_emitted(db)?);
                }
                let mut row = full(first, &relations, context.vault.config.core);
                row.insert("freshness".to_owned(), freshness(last));
                let ids: Vec<Value> = of.iter().map(|access| access.connection().id.clone().into()).collect();
                row.insert("instance_ids".to_owned(), ids.into());
                row
            }
        };
        row.insert("granted_connections".to_owned(), connections(ages, &of));
        rows.push(row);
    }
    Ok(rows)
}

fn compact(access: &Access, relations: &[Relation]) -> Map<String, Value> {
    let stream = access.stream();
    let mut row = Map::new();
    row.insert("name".to_owned(), stream.name.clone().into());
    row.insert("primary_key".to_owned(), stream.primary_key.clone().into());
    if let Some(field) = access.cursor_field() {
        row.insert("cursor_field".to_owned(), field.into());
    }
    let fields: Map<String, Value> =
        access.fields().map(|field| (field.name.clone(), flags(field).into())).collect();
    row.insert("field_capabilities".to_owned(), Value::Object(fields));
    row.insert(
        "expand_capabilities".to_owned(),
        relations.iter().map(|at| relation(at, Detail::Compact)).collect(),
    );
    row.extend(beyond(access));
    row
}

/// What a stream offers beyond the draft's profiles: the fields that can be sorted by, and the aggregations by
/// group.
fn beyond(access: &Access) -> Map<String, Value> {
    let mut row = Map::new();
    let sorts: Vec<Value> = access.sort_fields().iter().map(|field| field.name.clone().into()).collect();
    if !sorts.is_empty() {
        row.insert("sort_fields".to_owned(), sorts.into());
    }
    if access.stream().is_extended {
        let grouped: Vec<Value> = GROUPED
            .into_iter()
            .filter(|how| access.fields().any(|field| field.aggregations.contains(how)))
            .map(|how| how.name().into())
            .collect();
        row.insert("grouped_metrics".to_owned(), grouped.into());
    }
    row
}

/// What can be computed for each group.
const GROUPED: [Aggregation; 3] = [Aggregation::Sum, Aggregation::Min, Aggregation::Max];

/// A field's capabilities as one string: `t=text,role=primary-title,eq,lex`.
fn flags(field: &Field) -> String {
    let mut kind = field.kind.pdpp_type().unwrap_or(field.kind.json_type()).to_owned();
    if field.nullable && field.kind.pdpp_type().is_none() {
        kind.push_str("|null");
    }
    let mut flags = vec![format!("t={kind}")];
    flags.extend(field.role.iter().map(|role| format!("role={role}")));
    if field.exact {
        flags.push("eq".to_owned());
    }
    if field.range {
        flags.push(format!("r={}", range_operators().join("|")));
    }
    if field.lexical {
        flags.push("lex".to_owned());
    }
    if field.sort {
        flags.push("s".to_owned());
    }
    let declared: Vec<&str> = Aggregation::ALL
        .into_iter()
        .filter(|how| field.aggregations.contains(how))
        .map(Aggregation::name)
        .collect();
    if !declared.is_empty() {
        flags.push(format!("a={}", declared.join("|")));
    }
    flags.join(",")
}

fn relation(relation: &Relation, detail: Detail) -> Value {
    let mut row = json!({
        "name": relation.name,
        "stream": relation.stream,
        "target_stream": relation.stream,
        "cardinality": if relation.many { "has_many" } else { "has_one" },
        "granted": true,
        "usable": true,
        "foreign_key": relation.foreign_key,
    });
    match &relation.local_key {
        Some(local_key) => row["local_key"] = local_key.clone().into(),
        None if detail == Detail::Full => row["child_parent_key_field"] = relation.foreign_key.clone().into(),
        None => {}
    }
    if relation.many {
        row["default_limit"] = Relation::DEFAULT_LIMIT.into();
        row["max_limit"] = Relation::MAX_LIMIT.into();
    }
    row
}

fn full(access: &Access, relations: &[Relation], core: bool) -> Map<String, Value> {
    let stream = access.stream();
    let mut properties = Map::new();
    let mut capabilities = Map::new();
    for field in access.fields() {
        properties.insert(field.name.clone(), if core { json!({}) } else { property(field) });
        capabilities.insert(field.name.clone(), capability(field, core));
    }
    let required: Vec<&str> =
        access.fields().filter(|field| field.required).map(|field| field.name.as_str()).collect();
    let views: Vec<Value> = stream
        .views
        .iter()
        .filter(|view| !core && view.fields.iter().all(|name| access.field(name).is_some()))
        .map(|view| json!({ "id": view.id, "label": view.label, "fields": view.fields }))
        .collect();
    let relationships: Vec<Value> = relations
        .iter()
        .map(|relation| {
            let mut row = json!({
                "name": relation.name,
                "stream": relation.stream,
                "foreign_key": relation.foreign_key,
                "cardinality": if relation.many { "has_many" } else { "has_one" },
            });
            if let Some(local_key) = &relation.local_key {
                row["local_key"] = local_key.clone().into();
            }
            row
        })
        .collect();
    let Value::Object(mut row) = json!({
        "object": "stream_metadata",
        "name": stream.name,
        "primary_key": stream.primary_key,
        "selection": { "fields": true, "resources": true },
        "schema": {
            "type": "object",
            "additionalProperties": false,
            "properties": properties,
        },
        "field_capabilities": capabilities,
        "expand_capabilities": relations.iter().map(|at| relation(at, Detail::Full)).collect::<Vec<_>>(),
        "relationships": relationships,
        "views": views,
        "query": if core { json!({}) } else { query(access, relations) },
    }) else {
        return Map::new();
    };
    if !core {
        row.insert("semantics".to_owned(), "mutable_state".into());
        row["schema"]["required"] = required.into();
    }
    if let Some(field) = access.cursor_field() {
        row.insert("cursor_field".to_owned(), field.into());
    }
    if let Some(field) = stream.consent_time_field.as_deref().filter(|name| access.field(name).is_some()) {
        row.insert("consent_time_field".to_owned(), field.into());
    }
    row
}

fn property(field: &Field) -> Value {
    let kind = field.kind.json_type();
    let mut property = json!({ "type": if field.nullable { json!([kind, "null"]) } else { kind.into() } });
    if let Some(format) = field.kind.format() {
        property["format"] = format.into();
    }
    if let Some(kind) = field.kind.pdpp_type() {
        property["x_pdpp_type"] = kind.into();
    }
    if let Some(role) = &field.role {
        property["x_pdpp_role"] = role.clone().into();
    }
    property
}

fn capability(field: &Field, core: bool) -> Value {
    let able = |is: bool| json!({ "declared": is && !core, "usable": is && !core });
    let aggregation: Map<String, Value> = Aggregation::ALL
        .into_iter()
        .map(|how| (how.name().to_owned(), able(field.aggregations.contains(&how))))
        .collect();
    let mut capability = json!({
        "granted": true,
        "schema": if core { json!({}) } else { property(field) },
        "aggregation": aggregation,
        "lexical_search": able(field.lexical),
        "semantic_search": able(false),
    });
    // A v0.1 grant does not include filters (draft §8).
    if core {
        return capability;
    }
    capability["exact_filter"] = able(field.exact);
    capability["range_filter"] = able(field.range);
    if field.range {
        capability["range_filter"]["operators"] = json!(range_operators());
    }
    if let Some(kind) = field.kind.pdpp_type() {
        capability["type"] = kind.into();
    }
    if let Some(role) = &field.role {
        capability["role"] = role.clone().into();
    }
    capability
}

fn query(access: &Access, relations: &[Relation]) -> Value {
    let with = |is: &dyn Fn(&Field) -> bool| -> Vec<&str> {
        access.fields().filter(|field| is(field)).map(|field| field.name.as_str()).collect()
    };
    let ranges: Map<String, Value> = with(&|field| field.range)
        .into_iter()
        .map(|name| (name.to_owned(), json!(range_operators())))
        .collect();
    let mut aggregations = Map::new();
    aggregations.insert("count".to_owned(), true.into());
    for how in Aggregation::ALL {
        aggregations.insert(how.name().to_owned(), with(&|field| field.aggregations.contains(&how)).into());
    }
    let expand: Vec<Value> = relations
        .iter()
        .map(|relation| {
            let mut row = json!({ "name": relation.name });
            if relation.many {
                row["default_limit"] = Relation::DEFAULT_LIMIT.into();
                row["max_limit"] = Relation::MAX_LIMIT.into();
            }
            row
        })
        .collect();
    let mut query = json!({
        "search": { "lexical_fields": with(&|field| field.lexical), "order": super::search::ORDER },
        "range_filters": ranges,
        "aggregations": aggregations,
        "expand": expand,
    });
    for (name, value) in beyond(access) {
        query[name] = value;
    }
    query
}
