//! The schemas of several grants, read in parallel and merged into one.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use super::member::Member;
use super::missing::{Failed, warnings};
use super::roster::Package;
use crate::mcp::reading::catalog::connections;
use crate::mcp::reading::schema::of_grant;
use crate::mcp::tool_error::ToolError;

/// What the grants of a package hold together.
pub struct PackageSchema {
    /// The compact schemas of the grants that answered, merged.
    pub body: Map<String, Value>,
    /// Each grant's name in a cursor, and how many streams it returned: none if it did not answer.
    pub parts: Vec<(String, usize)>,
    /// How many grants answered.
    pub answered: usize,
    /// The grants that did not, and why.
    pub missing: Vec<Failed>,
}

impl Package {
    /// Asks `able` for their schemas, or for the schema of one stream, each within the deadline. `missing` are the
    /// grants known to be unusable now.
    pub async fn schema(
        &self,
        able: &[Arc<Member>],
        mut missing: Vec<Failed>,
        stream: Option<&str>,
    ) -> PackageSchema {
        let reads = able.iter().map(|member| async move {
            let read = of_grant(member.reader(), stream, None);
            tokio::time::timeout(self.deadline(), read).await.unwrap_or_else(|_| {
                member.reader().set_too_slow();
                let (provider, seconds) = (member.reader().provider(), self.deadline().as_secs_f32());
                Err(ToolError::new(
                    "provider_timeout",
                    format!("{provider} did not answer within {seconds} s"),
                    "repeat the call in a minute",
                ))
            })
        });
        let mut bodies = Vec::new();
        for (member, body) in able.iter().zip(join_all(reads).await) {
            match body {
                Ok(body) => {
                    if stream.is_none() {
                        member.learn(&body);
                    }
                    bodies.push((Arc::clone(member), body));
                }
                Err(error) => missing.push((Arc::clone(member), error)),
            }
        }
        let streams = |member: &Arc<Member>| {
            let body = bodies.iter().find(|(of, _)| Arc::ptr_eq(of, member)).map(|(_, body)| body);
            body.map_or(0, rows_in)
        };
        let parts = self.members().iter().map(|member| (member.key(), streams(member))).collect();
        let answered = bodies.len();
        let body = merged(bodies, warnings(missing.iter().map(|(member, error)| (member, error))));
        PackageSchema { body, parts, answered, missing }
    }
}

/// How many rows of streams a compact schema has.
fn rows_in(body: &Map<String, Value>) -> usize {
    let connectors = body.get("connectors").and_then(Value::as_array).into_iter().flatten();
    let streams = connectors.filter_map(|connector| connector.get("streams")?.as_array());
    streams.flatten().filter(|row| row.is_object()).count()
}

/// Merges the schemas of several grants: lists their connectors, each with the grant or the provider if nothing else
/// distinguishes two of them.
fn merged(bodies: Vec<(Arc<Member>, Map<String, Value>)>, mut warnings: Vec<Value>) -> Map<String, Value> {
    let mut connectors: Vec<(Arc<Member>, Value)> = Vec::new();
    for (member, mut body) in bodies {
        if let Some(Value::Array(list)) = body.get("meta").and_then(|meta| meta.get("warnings")) {
            for warning in list {
                if !warnings.contains(warning) {
                    warnings.push(warning.clone());
                }
            }
        }
        if let Some(Value::Array(rows)) = body.remove("connectors") {
            connectors.extend(rows.into_iter().map(|row| (Arc::clone(&member), row)));
        }
    }
    let names = connectors.iter().map(|(member, row)| {
        let ids =
            connections(row.get("granted_connections")).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
        (Arc::clone(member), row.get("connector_key").cloned(), ids)
    });
    let names = names.collect::<Vec<_>>();
    let rows = connectors.into_iter().enumerate().map(|(at, (member, mut row))| {
        let (_, key, ids) = &names[at];
        let is_alike = |(_, other_key, other_ids): &(Arc<Member>, Option<Value>, Vec<String>)| {
            ids.iter().any(|id| other_ids.contains(id))
                || (ids.is_empty() && other_ids.is_empty() && key == other_key)
        };
        let alike = names.iter().enumerate().filter(|(other, name)| *other != at && is_alike(name));
        let alike = alike.map(|(_, (other, ..))| other).filter(|other| !Arc::ptr_eq(other, &member));
        if let Value::Object(fields) = &mut row {
            for other in alike {
                if other.reader().provider() != member.reader().provider() {
                    fields.insert("provider".into(), json!(member.reader().provider().as_str()));
                } else if let Some(grant) = member.reader().grant_id() {
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
