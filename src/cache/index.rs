//! The index file: what is connected, in a versioned format without secrets.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::credential::{Credential, MAX_LABEL};
use super::store::SecretPlace;
use super::store::choice::StoreChoice;
use crate::advice::{Command, Hint};
use crate::error::Error;
use crate::text;

/// This release of this program.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// The index as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    version: u32,
    /// The release of this program that wrote it: an older release tells the person to install that one.
    #[serde(default)]
    written_by: String,
    /// What is connected, in the order of first connection.
    #[serde(default)]
    pub credentials: Vec<Credential>,
    /// Client ids by the authorization server that issued them.
    #[serde(default)]
    pub clients: Vec<RegisteredClient>,
    /// Secrets that no credential names, or no longer names, and that must still be deleted.
    #[serde(default)]
    pub discarded: Vec<SecretPlace>,
    /// Where new secrets go, if that was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreChoice>,
    /// Where the person's own data is, if a directory was named: hosts do not pass variables on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<PathBuf>,
}

/// A client id that an authorization server gave this program (RFC 7591). A public client has no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredClient {
    /// The authorization server's issuer identifier.
    pub issuer: String,
    /// The client id.
    pub client_id: String,
}

/// What [`Cache::store`](super::Cache::store) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// The first credential for this grant.
    Added,
    /// The same grant was already stored; its older token has been removed from this computer.
    Replaced,
}

/// Why a file is not an index that this version can read.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Written by a later version of this program.
    #[error("its format is version {version}; this pdpp reads up to version {latest}", latest = Index::VERSION)]
    TooNew {
        /// The version of its format.
        version: u64,
        /// The release that wrote it, if it is named.
        written_by: Option<String>,
    },
    /// Not an index, or a damaged one.
    #[error(transparent)]
    Damaged(#[from] serde_json::Error),
}

impl Default for Index {
    fn default() -> Self {
        Self {
            version: Self::VERSION,
            written_by: RELEASE.to_owned(),
            credentials: Vec::new(),
            clients: Vec::new(),
            discarded: Vec::new(),
            store: None,
            data_dir: None,
        }
    }
}

impl Index {
    /// The format that this version writes. It reads older formats and refuses newer ones.
    ///
    /// 1: files only. 2: a keyring may hold the secrets, in parts; renewal.
    pub const VERSION: u32 = 2;

    /// Reads an index.
    ///
    /// # Errors
    /// [`IndexError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, IndexError> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u64,
            #[serde(default)]
            written_by: Value,
        }
        // Reads only the version first: this version may not be able to parse a newer format.
        let found: Versioned = serde_json::from_slice(bytes)?;
        if found.version > u64::from(Self::VERSION) {
            let written_by = found.written_by.as_str().filter(|release| is_release(release));
            return Err(IndexError::TooNew {
                version: found.version,
                written_by: written_by.map(str::to_owned),
            });
        }
        let mut index: Self = serde_json::from_slice(bytes)?;
        index.version = Self::VERSION;
        RELEASE.clone_into(&mut index.written_by);
        Ok(index)
    }

    /// The bytes to write; indented, because people read them too.
    ///
    /// # Errors
    /// Never in practice: all of it can be serialised.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Adds `credential`, replacing the same grant of the same provider.
    pub fn put(&mut self, credential: Credential) -> Stored {
        let Some(old) = self.credentials.iter_mut().find(|old| old.is_same_grant(&credential)) else {
            self.credentials.push(credential);
            return Stored::Added;
        };
        let old = std::mem::replace(old, credential);
        self.discard(&old.place());
        Stored::Replaced
    }

    /// The label for `credential`, which is kept instead of `replaced`: its own label, with a number if another
    /// grant of its provider has the same one. A label stands for one grant.
    pub fn free_label(&self, credential: &Credential, replaced: Option<&Credential>) -> String {
        let is_free = |label: &str| {
            !self.credentials.iter().any(|known| {
                !known.ending
                    && known.provider == credential.provider
                    && known.label == label
                    && !known.is_same_grant(credential)
                    && !replaced.is_some_and(|old| known.is_same_grant(old))
            })
        };
        if is_free(&credential.label) {
            return credential.label.clone();
        }
        let start = text::prefix(&credential.label, MAX_LABEL - 8);
        // One number more than there are other grants that could have it.
        let numbers = 2..=self.credentials.len() + 2;
        numbers.map(|n| format!("{start} {n}")).find(|label| is_free(label)).unwrap_or_default()
    }

    /// Marks the secret at `place` as one to delete.
    pub fn discard(&mut self, place: &SecretPlace) {
        self.discarded.push(place.clone());
    }

    /// Marks the secret at `place` as one that a credential names.
    pub fn keep(&mut self, place: &SecretPlace) {
        self.discarded.retain(|discarded| discarded.id != place.id);
    }

    /// Removes the credential of the same grant as `credential`, and marks its secret for deletion.
    pub fn remove(&mut self, credential: &Credential) -> Option<Credential> {
        let at = self.credentials.iter().position(|known| known.is_same_grant(credential))?;
        let removed = self.credentials.remove(at);
        self.discard(&removed.place());
        Some(removed)
    }

    /// Removes every credential, and marks their secrets for deletion.
    pub fn remove_all(&mut self) -> Vec<Credential> {
        let all = std::mem::take(&mut self.credentials);
        self.discarded.extend(all.iter().map(Credential::place));
        all
    }

    /// Records a client id, replacing an earlier one of the same issuer.
    pub fn remember_client(&mut self, client: RegisteredClient) {
        self.clients.retain(|old| old.issuer != client.issuer);
        self.clients.push(client);
    }
}

/// Whether `text` looks like a release number: it is shown as something to install.
fn is_release(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+'))
}

impl IndexError {
    /// The error for a person, about the index at `path`.
    pub(super) fn into_error(self, path: &Path) -> Error {
        let path = path.display();
        match self {
            Self::TooNew { version, written_by } => {
                let newer = written_by.map_or_else(
                    || "the newer pdpp".to_owned(),
                    |release| format!("pdpp {release} or later"),
                );
                Error::failed(
                    "cache_too_new",
                    format!(
                        "A newer pdpp wrote {path}: its format is version {version}, and this pdpp {RELEASE} reads formats \
                         up to {}",
                        Index::VERSION
                    ),
                )
                .hint(format!("Install {newer}, or choose another directory with --cache-dir"))
            }
            // Moving the file away would leave unknown tokens behind.
            Self::Damaged(error) => {
                let hint =
                    Hint::new("Delete everything in the cache, including tokens, then connect again: ")
                        .run(Command::new("disconnect --all"))
                        .then("; ")
                        .run(Command::connect_any());
                Error::failed("cache_damaged", format!("{path} is damaged")).because(error).hint(hint)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::credential::tests::credential;
    use super::*;
    use crate::provider::grant::{GrantId, GrantedConnection, GrantedSource, TokenKind};
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

    fn grant_id() -> impl Strategy<Value = String> {
        ".{1,20}".prop_filter("a grant's id", |text| GrantId::try_from(text.clone()).is_ok())
    }

    proptest! {
        #[test]
        fn an_index_comes_back_as_it_was(
            grants in proptest::collection::vec(grant_id(), 0..5),
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
                index.discard(&credential("https://a.example/x", grant).place());
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
        let error =
            |text: &str| Index::parse(text.as_bytes()).unwrap_err().into_error(Path::new("/c/index.json"));
        let newer = error(r#"{"version": 3, "written_by": "1.4.0", "credentials": {"another": "shape"}}"#);
        assert_eq!(newer.code(), "cache_too_new");
        assert!(newer.message().contains("version 3"), "{}", newer.message());
        assert!(newer.next_step().unwrap().starts_with("Install pdpp 1.4.0 or later"));
        for odd in
            [r#"{"version":3}"#, r#"{"version":3,"written_by":7}"#, r#"{"version":3,"written_by":"$(x)"}"#]
        {
            assert!(error(odd).next_step().unwrap().starts_with("Install the newer pdpp"), "{odd}");
        }
    }

    #[test]
    fn an_older_format_is_read_and_written_as_the_newer() {
        let one = r#"{"version":1,"credentials":[{"id":"00000000000000000000000000000000","store":"file",
            "provider":"https://a.example","grant_id":"g","query_base":"https://a.example/v1",
            "issuer":"https://as.example","token_kind":"client","label":"x","refreshable":true}],
            "discarded":[{"id":"00000000000000000000000000000001","store":"file"}]}"#;
        let index = Index::parse(one.as_bytes()).unwrap();
        let old = &index.credentials[0];
        assert_eq!((old.parts, old.family(), old.is_renewable()), (1, &old.id, true));
        assert_eq!(index.discarded[0].parts, 1);
        let again = Index::parse(&index.to_bytes().unwrap()).unwrap();
        assert_eq!(again, index);
        assert!(String::from_utf8(index.to_bytes().unwrap()).unwrap().contains("\"version\": 2"));
    }

    #[test]
    fn a_label_stands_for_one_grant_of_a_provider() {
        let mut index = Index::default();
        let named = |provider: &str, grant: &str| Credential {
            label: "ü".repeat(100),
            ..credential(provider, grant)
        };
        let first = named("https://a.example", "g1");
        assert_eq!(index.free_label(&first, None), first.label);
        index.put(first.clone());
        assert_eq!(index.free_label(&first, None), first.label, "the same grant again");
        assert_eq!(index.free_label(&named("https://b.example", "g1"), None), first.label);
        let mut second = named("https://a.example", "g2");
        assert_eq!(index.free_label(&second, Some(&first)), first.label, "as its replacement");
        second.label = index.free_label(&second, None);
        assert!(second.label.ends_with("ü 2") && second.label.len() <= MAX_LABEL, "{}", second.label);
        index.put(second);
        assert!(index.free_label(&named("https://a.example", "g3"), None).ends_with("ü 3"));
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
