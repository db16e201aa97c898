//! The index file: what is connected, in a format with a version, without a secret.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Stored;
use super::credential::{Credential, CredentialId};
use super::store::StoreKind;
use crate::error::Error;

/// The index as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    version: u32,
    /// What is connected, in the order it was first.
    #[serde(default)]
    pub credentials: Vec<Credential>,
    /// Client ids by the authorization server that gave them.
    #[serde(default)]
    pub clients: Vec<RegisteredClient>,
    /// Secrets that no credential names (any more), still to be deleted.
    #[serde(default)]
    pub discarded: Vec<Discarded>,
}

/// A client id that an authorization server gave this program (RFC 7591). A public client: no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredClient {
    /// The authorization server's issuer identifier.
    pub issuer: String,
    /// The client id.
    pub client_id: String,
}

/// A secret that waits for its deletion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discarded {
    /// Its name in the store.
    pub id: CredentialId,
    /// Which store.
    pub store: StoreKind,
}

/// Why a file is not an index that this version reads.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Written by a later version of this program.
    #[error("its format is version {0}; this pdpp reads up to version {latest}", latest = Index::VERSION)]
    TooNew(u64),
    /// Not an index, or a damaged one.
    #[error(transparent)]
    Damaged(#[from] serde_json::Error),
}

impl Default for Index {
    fn default() -> Self {
        Self { version: Self::VERSION, credentials: Vec::new(), clients: Vec::new(), discarded: Vec::new() }
    }
}

impl Index {
    /// The format that this version writes. An older one is read, a newer one refused.
    pub const VERSION: u32 = 1;

    /// Reads an index.
    ///
    /// # Errors
    /// [`IndexError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, IndexError> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u64,
        }
        // First the version alone: a newer format need not be one that this version could parse.
        let found: Versioned = serde_json::from_slice(bytes)?;
        if found.version > u64::from(Self::VERSION) {
            return Err(IndexError::TooNew(found.version));
        }
        let mut index: Self = serde_json::from_slice(bytes)?;
        index.version = Self::VERSION;
        Ok(index)
    }

    /// The bytes to write; for people too, so indented.
    ///
    /// # Errors
    /// Never in practice: everything in it serialises.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Puts `credential` in, in the place of the same grant of the same provider.
    pub fn put(&mut self, credential: Credential) -> Stored {
        let Some(old) = self.credentials.iter_mut().find(|old| old.is_same_grant(&credential)) else {
            self.credentials.push(credential);
            return Stored::Added;
        };
        let old = std::mem::replace(old, credential);
        self.discard(&old);
        Stored::Replaced
    }

    /// Marks the secret of `credential` as one to delete.
    pub fn discard(&mut self, credential: &Credential) {
        self.discarded.push(Discarded { id: credential.id.clone(), store: credential.store });
    }

    /// Remembers a client id, in the place of the same issuer's.
    pub fn remember_client(&mut self, client: RegisteredClient) {
        self.clients.retain(|old| old.issuer != client.issuer);
        self.clients.push(client);
    }
}

impl IndexError {
    /// For a person, about the index at `path`.
    pub(super) fn told(self, path: &Path) -> Error {
        let path = path.display();
        match self {
            Self::TooNew(version) => Error::failed(
                "cache_too_new",
                format!(
                    "{path} was written by a newer pdpp: its format is version {version}, this one reads up to {}",
                    Index::VERSION
                ),
            )
            .hint("Install the newer pdpp again, or name another directory with --cache-dir"),
            Self::Damaged(error) => Error::failed("cache_damaged", format!("{path} is damaged"))
                .because(error)
                .hint("Move that file away, then connect again: pdpp connect <provider-url>"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::credential::{GrantedConnection, GrantedSource, TokenKind, tests::credential};
    use super::*;
    use jiff::Timestamp;
    use proptest::prelude::*;

    fn source() -> impl Strategy<Value = GrantedSource> {
        let text = || proptest::option::of(any::<String>());
        let connections = proptest::collection::vec((any::<String>(), text()), 0..3);
        (text(), text(), text(), connections, proptest::collection::vec(any::<String>(), 0..4)).prop_map(
            |(id, kind, connector_key, connections, streams)| GrantedSource {
                id,
                kind,
                connector_key,
                connections: connections
                    .into_iter()
                    .map(|(id, display_name)| GrantedConnection { id, display_name })
                    .collect(),
                stream_count: streams.len(),
                streams,
            },
        )
    }

    proptest! {
        #[test]
        fn an_index_comes_back_as_it_was(
            grants in proptest::collection::vec("[^\\p{C}\\p{Z}\\p{M}\u{115f}\u{1160}\u{3164}\u{ffa0}]{1,20}", 0..5),
            label in any::<String>(),
            sources in proptest::collection::vec(source(), 0..3),
            end in proptest::option::of(0i64..4_000_000_000),
            owner in any::<bool>(),
        ) {
            let mut index = Index::default();
            for grant in &grants {
                let mut one = credential("https://a.example/x", grant);
                one.label.clone_from(&label);
                one.sources.clone_from(&sources);
                one.grant_expires_at = end.map(|end| Timestamp::from_second(end).unwrap());
                one.token_kind = if owner { TokenKind::Owner } else { TokenKind::Client };
                index.discard(&credential("https://a.example/x", grant));
                index.put(one);
            }
            index.remember_client(RegisteredClient { issuer: label.clone(), client_id: label });
            prop_assert_eq!(Index::parse(&index.to_bytes().unwrap()).unwrap(), index);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(Index::parse(&bytes).is_err());
        }
    }

    #[test]
    fn a_newer_format_is_told_by_its_version() {
        let newer = br#"{"version": 2, "credentials": {"another": "shape"}}"#;
        let error = Index::parse(newer).unwrap_err();
        assert!(matches!(error, IndexError::TooNew(2)));
        let told = error.told(Path::new("/c/index.json"));
        assert_eq!(told.code(), "cache_too_new");
        assert!(told.message().contains("version 2"), "{}", told.message());
    }

    #[test]
    fn an_id_that_is_a_path_is_damage() {
        let mut index = Index::default();
        index.put(credential("https://a.example", "g"));
        let text = String::from_utf8(index.to_bytes().unwrap()).unwrap();
        let id = index.credentials[0].id.as_str();
        let edited = text.replace(id, "../../../../etc/passwd");
        assert!(matches!(Index::parse(edited.as_bytes()), Err(IndexError::Damaged(_))));
    }

    #[test]
    fn missing_optional_keys_are_read() {
        let least = r#"{"version":1,"credentials":[{"id":"00000000000000000000000000000000","store":"file",
            "provider":"https://a.example","grant_id":"g","query_base":"https://a.example/v1",
            "issuer":"https://as.example","token_kind":"client","label":"x","later":true}]}"#;
        assert_eq!(Index::parse(least.as_bytes()).unwrap().credentials.len(), 1);
        assert_eq!(Index::parse(br#"{"version":1}"#).unwrap(), Index::default());
    }
}
