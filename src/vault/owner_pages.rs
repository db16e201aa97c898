//! The pages below `/owner` on a vault's server. They belong to the vault's owner, and the vault knows nothing
//! about their content.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use futures_util::future::BoxFuture;

/// The path of the owner's pages.
pub const OWNER: &str = "/owner";

/// The pages of a vault's owner.
pub trait OwnerPages: Send + Sync + 'static {
    /// Answers a request for a path below [`OWNER`] that was sent to the server by its loopback name `base`
    /// (`http://127.0.0.1:7378`). Its body has not been read yet.
    fn answer(self: Arc<Self>, base: String, request: Request) -> BoxFuture<'static, Response>;

    /// The path of a link that opens the pages once, within ten minutes; `None` if the system supplies no random
    /// numbers.
    fn new_link(&self) -> Option<String>;
}

/// Whether `path` belongs to the owner's pages.
pub fn is_owners(path: &str) -> bool {
    path.strip_prefix(OWNER).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
