//! `/v1` over HTTP: a thin layer over [`Vault::read`].

use std::time::Instant;

use axum::http::{Method, StatusCode};
use serde_json::Value;

use super::Answer;
use super::read::{Read, Resource};
use crate::vault::Vault;
use crate::vault::grant::Grant;
use crate::vault::oauth::{clients, tokens};
use crate::vault::reads::HttpRead;
use crate::vault::wire::{ApiError, Reply, Request, VERSION};

/// Answers a path below `/v1`; `path` is the part after it.
///
/// # Errors
/// Returns every refusal.
pub fn answer(vault: &Vault, request: &Request, path: &[&str]) -> Result<Reply, ApiError> {
    if let Some(wanted) = request.header("pdpp-version")
        && wanted != VERSION
    {
        return Err(ApiError::new(
            StatusCode::BAD_REQUEST,
            "unsupported_version",
            format!("PDPP-Version {wanted} is not supported; this server speaks {VERSION}"),
        ));
    }
    tokens::check_side(vault, request)?;
    let is_read = matches!(request.method, Method::GET | Method::HEAD);
    // A caller without a grant does not learn what exists.
    let grant = tokens::authorize(vault, request.bearer())?;
    if is_read || Resource::at(path).is_none() {
        let began = Instant::now();
        let answered = vault.read_at_within(&grant, path, &request.path, &request.query);
        if let Some(resource) = Resource::at(path) {
            return note(vault, request, &grant, &resource, answered, began);
        }
        return answered.map(reply);
    }
    Err(ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "This path accepts only GET"))
}

impl Vault {
    /// Answers a read of the resource at `segments` below `/v1`, sent as this path and query, within the grant that
    /// `bearer` was issued for. Blocks, because it reads the database.
    ///
    /// # Errors
    /// Returns every refusal.
    pub fn read_at(
        &self,
        bearer: Option<&str>,
        segments: &[&str],
        path: &str,
        query: &str,
    ) -> Result<Answer, ApiError> {
        // A caller without a grant does not learn what exists.
        let grant = tokens::authorize(self, bearer)?;
        self.read_at_within(&grant, segments, path, query)
    }

    fn read_at_within(
        &self,
        grant: &Grant,
        segments: &[&str],
        path: &str,
        query: &str,
    ) -> Result<Answer, ApiError> {
        if let Some(resource) = Resource::at(segments) {
            return self.read_for_program(grant, &Read::sent(resource, path, query));
        }
        Err(match segments {
            ["search", mode @ ("semantic" | "hybrid")] if !self.config.core => ApiError::new(
                StatusCode::NOT_FOUND,
                "retrieval_mode_not_supported",
                format!("This provider has no {mode} search; use /v1/search"),
            ),
            _ => ApiError::nothing_at(path),
        })
    }
}

/// Reports the answer to a read to the log, if there is one.
fn note(
    vault: &Vault,
    request: &Request,
    grant: &Grant,
    resource: &Resource,
    answered: Result<Answer, ApiError>,
    began: Instant,
) -> Result<Reply, ApiError> {
    let Some(sink) = &vault.reads else { return answered.map(reply) };
    let outcome = answered.as_ref().map_or_else(|error| error.code, |_| "ok").to_owned();
    let answer = answered.as_ref().ok();
    let (streams, rows) = (streams(resource, answer), rows(resource, answer));
    let answered = answered.map(reply);
    sink.record(HttpRead {
        base: request.base.clone(),
        grant_id: grant.grant_id.clone(),
        client: clients::name(vault, &grant.client.client_id),
        tool: tool(resource),
        streams,
        rows,
        bytes: answered.as_ref().map_or(0, |reply| reply.body.len()),
        outcome,
        took: began.elapsed(),
    });
    answered
}

/// The tool that reads `resource`.
const fn tool(resource: &Resource) -> &'static str {
    match resource {
        Resource::Schema | Resource::Connectors | Resource::Streams | Resource::Stream(_) => "schema",
        Resource::Records(_) => "query_records",
        Resource::Record(..) => "fetch",
        Resource::FieldWindow(..) => "read_record_field",
        Resource::Aggregate(_) => "aggregate",
        Resource::Search => "search",
        Resource::Blob(_) => "resources/read",
    }
}

/// The streams that a read of `resource` covered: those that it names, and those of its hits.
fn streams(resource: &Resource, answer: Option<&Answer>) -> Vec<String> {
    match resource {
        Resource::Stream(stream)
        | Resource::Records(stream)
        | Resource::Record(stream, _)
        | Resource::FieldWindow(stream, _)
        | Resource::Aggregate(stream) => vec![stream.clone()],
        Resource::Search => {
            let mut found: Vec<String> = Vec::new();
            for stream in rows_of(answer).iter().filter_map(|hit| hit.get("stream")?.as_str()) {
                if !found.iter().any(|known| known == stream) {
                    found.push(stream.to_owned());
                }
            }
            found
        }
        Resource::Schema | Resource::Connectors | Resource::Streams | Resource::Blob(_) => Vec::new(),
    }
}

/// How many records, hits or groups an answer has.
fn rows(resource: &Resource, answer: Option<&Answer>) -> usize {
    match (resource, answer) {
        (Resource::Records(_) | Resource::Search | Resource::Aggregate(_), _) => rows_of(answer).len(),
        (Resource::Record(..) | Resource::FieldWindow(..) | Resource::Blob(_), Some(_)) => 1,
        _ => 0,
    }
}

fn rows_of(answer: Option<&Answer>) -> &[Value] {
    let Some(Answer::Json(body)) = answer else { return &[] };
    let rows = body.get("data").or_else(|| body.get("groups"));
    rows.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn reply(answer: Answer) -> Reply {
    match answer {
        Answer::Json(body) => Reply::ok(&body),
        Answer::Blob { media_type, bytes } => {
            Reply { status: StatusCode::OK, headers: Vec::new(), body: bytes }
                .with("content-type", media_type)
                .with("content-disposition", "attachment")
                .with("x-content-type-options", "nosniff")
                .with("cache-control", "private, no-store")
        }
    }
}
