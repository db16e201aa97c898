//! Where secrets live.

pub mod choice;
pub mod file;
pub mod keyring;

use std::fmt;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::credential::CredentialId;
use crate::error::Error;

/// A place for secrets. Calls block: a file for as long as the disk takes, a keyring for at most
/// [`keyring::BOUND`].
pub trait SecretStore: Send + Sync {
    /// How many entries `secret` takes here.
    fn parts(&self, secret: &SecretString) -> u16;

    /// The secret at `place`, or `None` if it, or a part of it, is not there.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn get(&self, place: &SecretPlace) -> Result<Option<SecretString>, StoreError>;

    /// Keeps the secret at `place`, which has as many parts as [`SecretStore::parts`] says. Only what the
    /// index then names is ever read, so one of which half was kept is one that was not kept.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn put(&self, place: &SecretPlace, secret: &SecretString) -> Result<(), StoreError>;

    /// Deletes the secret; it is no error if there was none.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn delete(&self, place: &SecretPlace) -> Result<(), StoreError>;
}

/// Which store a secret is in, as the index writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// The keyring of the user's session
    Keyring,
    /// A private file in the cache directory
    File,
}

impl StoreKind {
    /// Its name, as the index and the command line write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keyring => "keyring",
            Self::File => "file",
        }
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where one secret is: enough to read or delete it, nothing of what it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretPlace {
    /// Its name in the store.
    pub id: CredentialId,
    /// Which store.
    pub store: StoreKind,
    /// How many entries it takes there, 1 or more.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub parts: u16,
}

pub(super) const fn one() -> u16 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(super) const fn is_one(parts: &u16) -> bool {
    *parts == 1
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
    /// There is no keyring in this session, or none that works.
    #[error("there is no usable keyring here: {0}")]
    KeyringAbsent(String),
    /// It is there, and did not let us in.
    #[error("the keyring is locked: {0}")]
    KeyringLocked(String),
    /// Something else has written a second entry of this name.
    #[error("the keyring has several entries of its name, which say different things")]
    KeyringTwice,
    /// It did not answer in time.
    #[error("the keyring did not answer within {} s", keyring::BOUND.as_secs())]
    KeyringSilent,
}

/// What helps where a failure of `code` means that a store did not give a secret now, and may give it later. `None`
/// for every other failure.
pub fn remedy(code: &str) -> Option<&'static str> {
    match code {
        "secret_store_failed" => Some("Put its file right, as the reason says"),
        "keyring_absent" => Some("Run it in the session that has the keyring"),
        "keyring_locked" => Some("Unlock the keyring and try again"),
        "keyring_silent" => Some("If it asks for your password, unlock it and try again"),
        _ => None,
    }
}

impl StoreError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Disk(_) | Self::NotText => "secret_store_failed",
            Self::KeyringTwice => "secret_damaged",
            Self::KeyringAbsent(_) => "keyring_absent",
            Self::KeyringLocked(_) => "keyring_locked",
            Self::KeyringSilent => "keyring_silent",
        }
    }

    /// For a person. `again` is the command that gets another secret, here or with `--store file` elsewhere.
    pub(super) fn told(self, disk_hint: String, again: &str) -> Error {
        let message = match &self {
            Self::Disk(_) | Self::NotText => "The secret store could not be used".to_owned(),
            Self::KeyringTwice => "The stored token is damaged".to_owned(),
            Self::KeyringAbsent(_) => "The keyring of this session could not be used".to_owned(),
            Self::KeyringLocked(_) => "The keyring let nobody in".to_owned(),
            Self::KeyringSilent => {
                format!("The keyring did not answer within {} s", keyring::BOUND.as_secs())
            }
        };
        let told = Error::failed(self.code(), message);
        let told = match (&self, remedy(self.code())) {
            (Self::Disk(_) | Self::NotText, _) => told.hint(disk_hint),
            (_, Some(remedy)) => {
                told.hint(format!("{remedy}, or keep tokens in a file: {again} --store file"))
            }
            (_, None) => told.run(again),
        };
        match self {
            Self::KeyringSilent => told,
            cause => told.because(cause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_of_a_store_may_pass_and_says_how() {
        let why = || "why".to_owned();
        for error in [
            StoreError::NotText,
            StoreError::KeyringAbsent(why()),
            StoreError::KeyringLocked(why()),
            StoreError::KeyringSilent,
        ] {
            assert!(remedy(error.code()).is_some(), "{}", error.code());
        }
        for lost in [StoreError::KeyringTwice.code(), "secret_missing"] {
            assert_eq!(remedy(lost), None, "another token helps");
        }
    }
}
