//! Where secrets live.

pub mod choice;
pub mod file;
pub mod keyring;
mod place;
#[cfg(all(unix, not(any(target_os = "macos", target_os = "ios", target_os = "android"))))]
mod secret_service;
mod secret_store;

pub use place::{CredentialId, NotACredentialId, SecretPlace, StoreKind};
pub(super) use place::{is_one_part, one_part};
pub use secret_store::{BOUND, SecretStore, StoreError, remedy};
