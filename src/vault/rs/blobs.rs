//! Blobs: only those that a granted record names in a granted field.

use axum::http::StatusCode;

use super::Context;
use super::params::Params;
use crate::vault::enforcement::{self, Selector};
use crate::vault::wire::{ApiError, Reply};

/// `GET /v1/blobs/{id}`
///
/// # Errors
/// `blob_not_found`, for an unknown one and for one that is not granted alike.
pub fn get(context: &Context<'_>, id: &str) -> Result<Reply, ApiError> {
    Params::read(context.request, &[])?;
    context.vault.store.read(|db, catalog| {
        for access in enforcement::reach(context.grant, catalog, Selector::default())? {
            if let Some((media_type, bytes)) = access.blob(db, id)? {
                return Ok(Reply { status: StatusCode::OK, headers: Vec::new(), body: bytes }
                    .with("content-type", media_type)
                    .with("content-disposition", "attachment")
                    .with("x-content-type-options", "nosniff")
                    .with("cache-control", "private, no-store"));
            }
        }
        Err(ApiError::new(StatusCode::NOT_FOUND, "blob_not_found", "Blob not found"))
    })
}
