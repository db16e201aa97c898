//! What answers below `/owner` on a vault's server: pages of its owner's own, which the vault knows nothing of.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use futures_util::future::BoxFuture;

/// Where they are.
pub const OWNER: &str = "/owner";

/// The pages of a vault's owner.
pub trait OwnerPages: Send + Sync + 'static {
    /// Answers a request for a path below [`OWNER`], sent to the server by its name on loopback, `base`
    /// (`http://127.0.0.1:7378`). Its body is not read yet.
    fn answer(self: Arc<Self>, base: String, request: Request) -> BoxFuture<'static, Response>;

    /// The path of a link that opens them, once, within ten minutes; none without randomness.
    fn new_link(&self) -> Option<String>;
}

/// Whether `path` is of the owner's pages.
pub fn is_owners(path: &str) -> bool {
    path.strip_prefix(OWNER).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
