//! Blobs. Returns only those that a granted record names in a granted field.

use axum::http::StatusCode;

use super::context::Context;
use super::params::Params;
use crate::vault::enforcement::{self, Selector};
use crate::vault::wire::ApiError;

/// `GET /v1/blobs/{id}`
///
/// # Errors
/// Returns `blob_not_found` for an unknown blob, and equally for one that is not granted; `blob_moved` for a
/// granted blob whose bytes are no longer where they were imported from.
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
    // Outside the transaction, because a blob can be far into a large archive.
    let media_type = blob.media_type.clone();
    Ok((media_type, blob.read().ok_or_else(moved)?))
}

/// The error for a blob whose bytes have moved. It does not say where the export was, because only the owner
/// should know that.
fn moved() -> ApiError {
    ApiError::new(
        StatusCode::NOT_FOUND,
        "blob_moved",
        "The bytes of this blob can no longer be read: the export that contains them has moved or changed since it \
         was imported, and the store has no complete copy of them. The user can import the export again from where it \
         is now (pdpp import PATH). With --copy-attachments, the store keeps copies and no longer needs the export",
    )
}
