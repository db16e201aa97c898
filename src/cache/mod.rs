//! A credential's life on this computer: an index without secrets, and a secret store next to it.
//!
//! ```text
//! <dir>/index.json      what is connected; no secret; enough to say "not connected" (R1.2)
//! <dir>/lock            one writer at a time, between processes
//! <dir>/locks/<family>  one process at a time renews a token
//! <dir>/secrets/<id>    one file per credential, unless its secret is in a keyring
//! ```
//!
//! A credential's secret is written under a fresh id before the index names that id. So the rename of the index
//! is the one moment when the new credential replaces the old one. Places that no credential names, or no
//! longer names, are listed in the index as discarded until their secret is deleted. So a process that dies in
//! between leaves the old or the new credential, and no unknown secret.

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
