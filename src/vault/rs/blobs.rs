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
    let missing = || ApiError::new(StatusCode::NOT_FOUND, "blob_not_found", "Blob not found");
    let blob = context.paced(|db, catalog, pace| {
        for access in enforcement::reach(context.grant, catalog, Selector::default())? {
            if let Some(found) = access.blob(db, id, pace)? {
                return Ok(found);
            }
        }
        Err(missing())
    })?;
    // Outside of the transaction: a blob may lie far behind in a large archive.
    let media_type = blob.media_type.clone();
    Ok((media_type, blob.read().ok_or_else(missing)?))
}
