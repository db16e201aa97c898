//! `schema` over several grants: asked side by side, put together as one.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use super::child::Child;
use super::missing::{all_failed, warnings};
use super::{Package, not_granted};
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::catalog::connections;
use crate::mcp::tool_error::ToolError;
use crate::mcp::tools::arguments::Arguments;
use crate::mcp::tools::schema::{Parts, part, show_over_grants, streams_of};

impl Package {
    pub(super) async fn schema(&self, arguments: &Arguments) -> Result<ToolAnswer, ToolError> {
        let stream = arguments.text("stream");
        let children = self.children();
        let is_full = arguments.text("detail") == Some("full");
        match (is_full, stream) {
            // Refused there, before anything is asked (R3.6).
            (true, None) => return self.ask(&children[0], "schema", arguments.given().clone(), true).await,
            (true, Some(_)) => {
                let child = self.route(arguments)?;
                return self.ask(&child, "schema", arguments.given().clone(), true).await;
            }
            _ => {}
        }
        let wanted = stream.map(|stream| [stream]);
        let (able, mut missing) = self.able(wanted.as_ref().map(<[_; 1]>::as_slice));
        if able.is_empty() && missing.is_empty() {
            return Err(not_granted(stream.unwrap_or_default(), children.len()));
        }
        if let ([only], [], Some(_)) = (able.as_slice(), missing.as_slice(), stream) {
            return self.ask(only, "schema", arguments.given().clone(), true).await;
        }
        let reads = able.iter().map(|child| async move {
            let read = part(&child.core, stream);
            tokio::time::timeout(self.deadline, read).await.unwrap_or_else(|_| {
                child.source().set_too_slow();
                Err(ToolError::new(
                    "provider_timeout",
                    format!(
                        "{} did not answer within {} s",
                        child.source().provider(),
                        self.deadline.as_secs_f32()
                    ),
                    "repeat the call in a minute",
                ))
            })
        });
        let mut bodies = Vec::new();
        for (child, body) in able.iter().zip(join_all(reads).await) {
            match body {
                Ok(body) => {
                    if stream.is_none() {
                        child.learn(&body);
                    }
                    bodies.push((Arc::clone(child), body));
                }
                Err(error) => missing.push((Arc::clone(child), error)),
            }
        }
        let parts = Parts::of(children.iter().map(|child| {
            let body = bodies.iter().find(|(of, _)| Arc::ptr_eq(of, child)).map(|(_, body)| body);
            (child.key(), body.map_or(0, |body| streams_of(body).len()))
        }));
        // Nothing is left to show of those that answered: what is left is of those that did not.
        let is_over = stream.is_none() && parts.is_at_end(arguments.text("cursor"));
        if bodies.is_empty() || (is_over && !missing.is_empty()) {
            return Err(all_failed(&missing));
        }
        let body = one_schema(bodies, warnings(missing.iter().map(|(child, error)| (child, error))));
        show_over_grants(arguments, stream, body, &parts, self.bounds)
    }
}

/// The schemas of several grants as one: their connectors, each with the grant or the provider where nothing
/// else tells two of them apart.
fn one_schema(bodies: Vec<(Arc<Child>, Map<String, Value>)>, mut warnings: Vec<Value>) -> Map<String, Value> {
    let mut connectors: Vec<(Arc<Child>, Value)> = Vec::new();
    for (child, mut body) in bodies {
        if let Some(Value::Array(list)) = body.get("meta").and_then(|meta| meta.get("warnings")) {
            for warning in list {
                if !warnings.contains(warning) {
                    warnings.push(warning.clone());
                }
            }
        }
        if let Some(Value::Array(rows)) = body.remove("connectors") {
            connectors.extend(rows.into_iter().map(|row| (Arc::clone(&child), row)));
        }
    }
    let names = connectors.iter().map(|(child, row)| {
        let ids =
            connections(row.get("granted_connections")).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
        (Arc::clone(child), row.get("connector_key").cloned(), ids)
    });
    let names = names.collect::<Vec<_>>();
    let rows = connectors.into_iter().enumerate().map(|(at, (child, mut row))| {
        let (_, key, ids) = &names[at];
        let is_alike = |(_, other_key, other_ids): &(Arc<Child>, Option<Value>, Vec<String>)| {
            ids.iter().any(|id| other_ids.contains(id))
                || (ids.is_empty() && other_ids.is_empty() && key == other_key)
        };
        let alike = names.iter().enumerate().filter(|(other, name)| *other != at && is_alike(name));
        let alike = alike.map(|(_, (other, ..))| other).filter(|other| !Arc::ptr_eq(other, &child));
        if let Value::Object(fields) = &mut row {
            for other in alike {
                if other.source().provider() != child.source().provider() {
                    fields.insert("provider".into(), json!(child.source().provider().as_str()));
                } else if let Some(grant) = child.source().grant_id() {
                    fields.insert("grant_id".into(), json!(grant));
                }
            }
        }
        row
    });
    let rows = rows.collect::<Vec<_>>();
    let mut body = Map::new();
    body.insert("object".into(), json!("schema"));
    body.insert("detail".into(), json!("compact"));
    body.insert("connectors".into(), rows.into());
    body.insert("meta".into(), json!({"count": {"kind": "none"}, "warnings": warnings}));
    body
}
