//! Where secrets live.

pub mod file;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::credential::CredentialId;

/// A place for secrets, by credential id. Calls may block.
pub trait SecretStore: Send + Sync {
    /// The secret, or `None` if there is none.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn get(&self, id: &CredentialId) -> Result<Option<SecretString>, StoreError>;

    /// Keeps the secret, whole or not at all.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn put(&self, id: &CredentialId, secret: &SecretString) -> Result<(), StoreError>;

    /// Deletes the secret; it is no error if there was none.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn delete(&self, id: &CredentialId) -> Result<(), StoreError>;
}

/// Which store a secret is in, as the index writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// A private file in the cache directory.
    File,
}

/// Why a store could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// What the disk said.
    #[error(transparent)]
    Disk(#[from] std::io::Error),
    /// The stored bytes are not text.
    #[error("the stored secret is not text")]
    NotText,
}
