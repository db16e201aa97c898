//! Blobs: only those that a granted record names in a granted field.

use axum::http::StatusCode;

use super::context::Context;
use super::params::Params;
use crate::vault::enforcement::{self, Selector};
use crate::vault::wire::ApiError;

/// `GET /v1/blobs/{id}`
///
/// # Errors
/// `blob_not_found`, for an unknown one and for one that is not granted alike.
pub fn get(context: &Context<'_>, id: &str) -> Result<(String, Vec<u8>), ApiError> {
    Params::read(context.read, &[])?;
    context.paced(|db, catalog, pace| {
        for access in enforcement::reach(context.grant, catalog, Selector::default())? {
            if let Some(found) = access.blob(db, id, pace)? {
                return Ok(found);
            }
        }
        Err(ApiError::new(StatusCode::NOT_FOUND, "blob_not_found", "Blob not found"))
    })
}
