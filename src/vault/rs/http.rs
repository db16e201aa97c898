//! `/v1` by HTTP: a thin layer over [`Vault::read`].

use axum::http::{Method, StatusCode};

use super::Answer;
use super::read::{Read, Resource};
use crate::vault::Vault;
use crate::vault::oauth::tokens;
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
    if let Some(resource) = Resource::at(path)
        && is_read
    {
        let read = Read::sent(resource, &request.path, &request.query);
        return vault.read(request.bearer(), &read).map(reply);
    }
    // Whoever has no grant does not learn what there is.
    tokens::authorize(vault, request.bearer())?;
    Err(match path {
        ["search", mode @ ("semantic" | "hybrid")] if !vault.config.core => ApiError::new(
            StatusCode::NOT_FOUND,
            "retrieval_mode_not_supported",
            format!("This provider has no {mode} search; use /v1/search"),
        ),
        path if Resource::at(path).is_some() => {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "Only GET is answered here")
        }
        _ => ApiError::nothing_at(&request.path),
    })
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
