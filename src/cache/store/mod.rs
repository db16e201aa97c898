//! The stores for secrets.

pub mod choice;
pub mod file;
pub mod keyring;
mod place;
mod secret_store;

pub use place::{CredentialId, NotACredentialId, SecretPlace, StoreKind};
pub(super) use place::{is_one_part, one_part};
pub use secret_store::{SecretStore, StoreError, bound, remedy, wait_for_a_person};
