//! What every store of secrets can do, and why that can fail.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use secrecy::SecretString;

use super::place::SecretPlace;
use crate::advice::{Command, Hint};
use crate::error::Error;

/// The longest wait for the keyring if nobody can type its password: a host waits for answers.
const ALONE: Duration = Duration::from_secs(3);
/// The time that a person at a terminal has to type it.
const WITH_A_PERSON: Duration = Duration::from_mins(1);

static HAS_A_PERSON: AtomicBool = AtomicBool::new(false);

/// Records that a person waits for this process at a terminal, and can type the keyring's password.
pub fn wait_for_a_person() {
    HAS_A_PERSON.store(true, Ordering::Relaxed);
}

/// The longest wait for the keyring.
pub fn bound() -> Duration {
    if HAS_A_PERSON.load(Ordering::Relaxed) { WITH_A_PERSON } else { ALONE }
}

/// A place for secrets. Calls block: for a file as long as the disk takes, for a keyring at most [`bound`].
pub trait SecretStore: Send + Sync {
    /// The number of entries that `secret` takes here.
    fn parts(&self, secret: &SecretString) -> u16;

    /// The secret at `place`, or `None` if it or a part of it does not exist.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn get(&self, place: &SecretPlace) -> Result<Option<SecretString>, StoreError>;

    /// Keeps the secret at `place`, which has as many parts as [`SecretStore::parts`] returns. Only what the
    /// index names afterwards is ever read, so a secret that was kept only in part counts as not kept.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn put(&self, place: &SecretPlace, secret: &SecretString) -> Result<(), StoreError>;

    /// Deletes the secret; it is not an error if there is none.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn delete(&self, place: &SecretPlace) -> Result<(), StoreError>;
}

/// Why a store could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An error of the disk.
    #[error(transparent)]
    Disk(#[from] std::io::Error),
    /// The stored bytes are not text.
    #[error("the stored secret is not text")]
    NotText,
    /// There is no keyring in this session, or none that works.
    #[error("there is no usable keyring here: {0}")]
    KeyringAbsent(String),
    /// There is a keyring, but it refused access.
    #[error("the keyring is locked: {0}")]
    KeyringLocked(String),
    /// Another program has written a second entry with this name.
    #[error("the keyring has several entries of this name with different contents")]
    KeyringTwice,
    /// It did not answer in time.
    #[error("the keyring did not answer within {} s", bound().as_secs())]
    KeyringSilent,
}

/// What helps if a failure of `code` means that a store did not return a secret now, but may do so later.
/// `None` for every other failure.
pub fn remedy(code: &str) -> Option<&'static str> {
    match code {
        "secret_store_failed" => Some("Fix its file, as described in the reason"),
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

    /// The error for a person. `again` is the command that gets another secret, here or with `--store file`
    /// elsewhere.
    pub(in crate::cache) fn into_error(self, disk_hint: String, again: Command) -> Error {
        let message = match &self {
            Self::Disk(_) | Self::NotText => "pdpp could not use the secret store".to_owned(),
            Self::KeyringTwice => "The stored token is damaged".to_owned(),
            Self::KeyringAbsent(_) => "pdpp could not use the keyring of this session".to_owned(),
            Self::KeyringLocked(_) => "The keyring refused access".to_owned(),
            Self::KeyringSilent => {
                format!("The keyring did not answer within {} s", bound().as_secs())
            }
        };
        let error = Error::failed(self.code(), message);
        let error = match (&self, remedy(self.code())) {
            (Self::Disk(_) | Self::NotText, _) => error.hint(disk_hint),
            (_, Some(remedy)) => error.hint(
                Hint::new(format!("{remedy}, or keep tokens in a file: ")).run(again.words("--store file")),
            ),
            (_, None) => error.run(again),
        };
        match self {
            Self::KeyringSilent => error,
            cause => error.because(cause),
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
