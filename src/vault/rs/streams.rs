//! The granted streams, and the details of each.

use rusqlite::Connection as Sqlite;
use serde_json::{Map, Value, json};

use super::context::{Age, Context, ambiguous, beyond, freshness, meta_with, plain_meta, stream_accesses};
use super::params::Params;
use super::schema::{self, Detail};
use crate::vault::enforcement::{self, Access, Filter, Selector};
use crate::vault::time;
use crate::vault::wire::ApiError;

/// `GET /v1/streams`: one row per stream and connection.
///
/// # Errors
/// Returns every refusal.
pub fn list(context: &Context<'_>) -> Result<Value, ApiError> {
    let params = Params::read(context.read, &["connection_id", "connector_id"])?;
    context.vault.store.read(|db, catalog| {
        let selector = Selector {
            stream: None,
            connection: params.single("connection_id")?,
            connector: params.single("connector_id")?,
        };
        let mut data = Vec::new();
        for access in enforcement::reach(context.grant, catalog, selector)? {
            let mut row = summary(db, std::slice::from_ref(&access))?;
            let connection = access.connection();
            row.insert("connection_id".to_owned(), connection.id.clone().into());
            row.insert("connector_instance_id".to_owned(), connection.id.clone().into());
            row.insert("display_name".to_owned(), connection.display_name.clone().into());
            // A grant can have several sources with a stream of this name.
            let connector = access.connector();
            row.insert("connector_id".to_owned(), connector.key.clone().into());
            row.insert("source".to_owned(), json!({ "id": connector.id, "kind": "connector" }));
            data.push(Value::Object(row));
        }
        Ok(json!({
            "object": "list",
            "data": data,
            "has_more": false,
            "links": { "self": context.read.target(), "next": null },
            "meta": plain_meta(),
        }))
    })
}

/// `GET /v1/streams/{stream}`
///
/// # Errors
/// Returns every refusal.
pub fn detail(context: &Context<'_>, stream: &str) -> Result<Value, ApiError> {
    let params = Params::read(context.read, &["connection_id", "connector_id"])?;
    context.vault.store.read(|db, catalog| {
        let accesses = stream_accesses(context, catalog, stream, &params)?;
        let mut rows =
            schema::stream_rows(context, db, catalog, &accesses, Detail::Full, &Age::of_all(db, &accesses)?)?;
        if rows.len() > 1 {
            return Err(ambiguous(
                format!("The grant shows '{stream}' differently per connection. Retry with `connection_id`."),
                &accesses,
            ));
        }
        let mut row = rows.pop().unwrap_or_default();
        row.insert("links".to_owned(), json!({ "self": context.read.target() }));
        row.insert("meta".to_owned(), meta_with(&beyond(&accesses)));
        Ok(Value::Object(row))
    })
}

/// `GET /v1/connectors`
///
/// # Errors
/// Returns every refusal.
pub fn connectors(context: &Context<'_>) -> Result<Value, ApiError> {
    Params::read(context.read, &[])?;
    context.vault.store.read(|db, catalog| {
        let mut data: Vec<Value> = Vec::new();
        for group in enforcement::by_stream(enforcement::reach(context.grant, catalog, Selector::default())?)
        {
            let Some(first) = group.first() else { continue };
            let (connector, stream) = (first.connector(), first.stream());
            let mut row = summary(db, &group)?;
            let at = |what: &str| format!("/v1/streams/{}{what}?connector_id={}", stream.name, connector.key);
            row.insert(
                "capabilities".to_owned(),
                json!({
                    "records": true,
                    "records_url": at("/records"),
                    "stream_metadata": true,
                    "metadata_url": at(""),
                    "aggregate": true,
                    "aggregate_url": at("/aggregate"),
                    "changes_since": true,
                    "exact_filters": first.fields().any(|field| field.exact),
                    "range_filters": first.fields().any(|field| field.range),
                    "expand": !super::records::relations(context, catalog, first).is_empty(),
                }),
            );
            if !data.iter().any(|known| known["connector_key"] == connector.key.as_str()) {
                data.push(json!({
                    "object": "connector",
                    "source": { "id": connector.id, "kind": "connector" },
                    "connector_key": connector.key,
                    "connector_id": connector.key,
                    "streams": [],
                }));
            }
            // The groups of a connector follow each other, so its entry is the last one.
            if let Some(entry) = data.last_mut()
                && let Some(streams) = entry["streams"].as_array_mut()
            {
                streams.push(Value::Object(row));
                entry["stream_count"] = streams.len().into();
            }
        }
        Ok(json!({ "object": "list", "data": data }))
    })
}

/// How many records the grant shows, and how fresh they are.
fn summary(db: &Sqlite, accesses: &[Access]) -> Result<Map<String, Value>, ApiError> {
    let mut count = 0;
    let mut last = None;
    for access in accesses {
        count += access.count(db, &Filter::default())?;
        last = last.max(access.last_emitted(db)?);
    }
    let mut row = Map::new();
    row.insert("object".to_owned(), "stream".into());
    row.insert("name".to_owned(), accesses.first().map(|access| access.stream().name.clone()).into());
    row.insert("record_count".to_owned(), count.into());
    row.insert("last_updated".to_owned(), last.map(time::format_ms).into());
    row.insert("freshness".to_owned(), freshness(last));
    Ok(row)
}
