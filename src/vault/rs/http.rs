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
    tokens::check_side(vault, request)?;
    let is_read = matches!(request.method, Method::GET | Method::HEAD);
    if is_read || Resource::at(path).is_none() {
        return vault.read_at(request.bearer(), path, &request.path, &request.query).map(reply);
    }
    // Whoever has no grant does not learn what there is.
    tokens::authorize(vault, request.bearer())?;
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
        if let Some(resource) = Resource::at(segments) {
            return self.read(bearer, &Read::sent(resource, path, query));
        }
        // Whoever has no grant does not learn what there is.
        tokens::authorize(self, bearer)?;
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
