//! Blobs: only those that a granted record names in a granted field.

use axum::http::StatusCode;

use super::context::Context;
use super::params::Params;
use crate::vault::enforcement::{self, Selector};
use crate::vault::wire::ApiError;

/// `GET /v1/blobs/{id}`
///
/// # Errors
/// `blob_not_found`, for an unknown one and for one that is not granted alike; `blob_moved` for one that is granted, and
/// whose bytes are where they were imported from no more.
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
    Ok((media_type, blob.read().ok_or_else(moved)?))
}

/// Where the export was is the owner's to know.
fn moved() -> ApiError {
    ApiError::new(
        StatusCode::NOT_FOUND,
        "blob_moved",
        "The bytes of this blob cannot be read any more: the export that they lie in has moved or changed since it was \
         imported, and the store has no whole copy of them. The user imports the export again from where it is now (pdpp import \
         PATH); with --copy-attachments the store keeps copies, which need the export no more",
    )
}
