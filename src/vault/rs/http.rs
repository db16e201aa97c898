//! `/v1` by HTTP: a thin layer over [`Vault::read`].

use std::time::Instant;

use axum::http::{Method, StatusCode};

use super::Answer;
use super::read::{Read, Resource};
use crate::vault::Vault;
use crate::vault::grant::Grant;
use crate::vault::oauth::{clients, tokens};
use crate::vault::reads::{self, HttpRead};
use crate::vault::wire::{ApiError, Reply, Request, VERSION};

/// Answers what is below `/v1`; `path` is what follows it.
///
/// # Errors
/// Every refusal.
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
    let is_read = matches!(request.method, Method::GET | Method::HEAD);
    // Whoever has no grant does not learn what there is.
    let grant = tokens::authorize(vault, request.bearer())?;
    if is_read || Resource::at(path).is_none() {
        let began = Instant::now();
        let answered = vault.read_at_within(&grant, path, &request.path, &request.query);
        if let Some(resource) = Resource::at(path) {
            return note(vault, request, &grant, &resource, answered, began);
        }
        return answered.map(reply);
    }
    Err(ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "Only GET is answered here"))
}

impl Vault {
    /// Answers a read of what is at `segments` below `/v1`, sent as this path and query, within the grant that `bearer`
    /// stands for. Blocking: it reads the database.
    ///
    /// # Errors
    /// Every refusal.
    pub fn read_at(
        &self,
        bearer: Option<&str>,
        segments: &[&str],
        path: &str,
        query: &str,
    ) -> Result<Answer, ApiError> {
        // Whoever has no grant does not learn what there is.
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

/// The answer to a read, told to whoever keeps a log of them.
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
    let (streams, rows) = (reads::streams(resource, answer), reads::rows(resource, answer));
    let answered = answered.map(reply);
    sink.record(HttpRead {
        base: request.base.clone(),
        grant_id: grant.grant_id.clone(),
        client: clients::name(vault, &grant.client.client_id),
        tool: reads::tool(resource),
        streams,
        rows,
        bytes: answered.as_ref().map_or(0, |reply| reply.body.len()),
        outcome,
        took: began.elapsed(),
    });
    answered
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
