//! Where a secret is: its name, its store, and the number of its parts.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of a credential's secret in its store: 32 lowercase hexadecimal digits, drawn at random for each
/// stored token. Nothing from a provider is part of it, so it is always a plain file name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CredentialId(String);

/// The text is not a [`CredentialId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a credential id: it must be 32 lowercase hexadecimal digits")]
pub struct NotACredentialId;

impl CredentialId {
    /// A new id: 128 random bits.
    ///
    /// # Errors
    /// If the machine provides no random bytes.
    pub fn random() -> Result<Self, getrandom::Error> {
        crate::hex::random::<16>().map(Self)
    }

    /// The digits: the secret's name in its store, and the file's name in the file store.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for CredentialId {
    type Error = NotACredentialId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let hex = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if hex { Ok(Self(text)) } else { Err(NotACredentialId) }
    }
}

impl From<CredentialId> for String {
    fn from(id: CredentialId) -> Self {
        id.0
    }
}

/// The store of a secret, as written in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// The keyring of the user's session
    Keyring,
    /// A private file in the cache directory
    File,
}

impl StoreKind {
    /// Its name, as in the index and on the command line.
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

/// Where one secret is: enough to read or delete it, but no part of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretPlace {
    /// Its name in the store.
    pub id: CredentialId,
    /// The store.
    pub store: StoreKind,
    /// The number of entries of the secret there, 1 or more.
    #[serde(default = "one_part", skip_serializing_if = "is_one_part")]
    pub parts: u16,
}

pub(in crate::cache) const fn one_part() -> u16 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(in crate::cache) const fn is_one_part(parts: &u16) -> bool {
    *parts == 1
}
