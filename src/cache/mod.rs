//! A credential's life on this machine: an index without secrets, and a secret store beside it.
//!
//! ```text
//! <dir>/index.json      what is connected; no secret; enough to say "not connected" (R1.2)
//! <dir>/lock            one writer at a time, between processes
//! <dir>/locks/<family>  one process at a time renews a token
//! <dir>/secrets/<id>    one file a credential, unless its secret lives in a keyring
//! ```
//!
//! A credential's secret is written under a fresh id before the index names that id, so the rename of
//! the index is the one moment in which the new credential replaces the old. Places that are not (or no
//! longer) named by a credential stand in the index as discarded until their secret is deleted, so a
//! process that dies in between leaves the old or the new credential, and no secret that nobody knows.

mod change;
pub mod credential;
mod handle;
pub mod index;
pub mod owner;
mod refresh;
mod removal;
pub mod select;
pub mod store;
#[cfg(test)]
mod tests;
mod transfer;
mod turn;

pub use credential::new_credential_id;
pub use handle::{Cache, REFRESH_LIMITS};
pub use index::Stored;
pub use removal::Removed;
pub use transfer::Moved;
