//! The endpoint's own credentials for introspection at the authorization server.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use crate::cache::credential::CredentialId;
use crate::cache::store::keyring::KeyringStore;
use crate::cache::store::{self, SecretStore as _, StoreError, StoreKind};
use crate::error::{Error, Kind, Result};
use crate::provider::url::ProviderUrl;
use crate::text::shell_word;

/// The maximum size of a file of credentials, certificates or keys, in bytes.
const MOST: u64 = 1 << 20;

/// A confidential client of the authorization server.
#[derive(Debug, Clone)]
pub struct IntrospectionClient {
    /// The user name for HTTP Basic.
    pub client_id: String,
    /// The password for HTTP Basic.
    pub client_secret: SecretString,
}

/// Where the credentials are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialsSource {
    /// A file: `{"client_id": "…", "client_secret": "…"}`.
    File(PathBuf),
    /// The keyring's entry for this provider, with the same content.
    Keyring(ProviderUrl),
}

impl CredentialsSource {
    /// Reads the credentials now.
    ///
    /// # Errors
    /// Returns `introspection_credentials` if they are missing, not private, or malformed. The error never repeats
    /// their content.
    pub fn read(&self) -> Result<IntrospectionClient> {
        let text = match self {
            Self::File(path) => read_private(path).map_err(|why| self.failed(&why))?,
            Self::Keyring(provider) => {
                let name = entry_name(provider);
                let id = CredentialId::try_from(name).map_err(|error| self.failed(&NotRead::other(error)))?;
                let place = store::SecretPlace { id, store: StoreKind::Keyring, parts: 1 };
                let found = KeyringStore.get(&place).map_err(|error| {
                    let failed = self.failed(&NotRead::other(&error));
                    match error {
                        StoreError::KeyringAbsent(_) => {
                            failed.hint("Without a keyring, put them into a file: --introspection-file FILE")
                        }
                        _ => failed,
                    }
                })?;
                found.ok_or_else(|| self.failed(&NotRead::other("it has no such entry")))?
            }
        };
        parse(text.expose_secret()).ok_or_else(|| {
            self.failed(&NotRead::other("it must contain {\"client_id\": \"…\", \"client_secret\": \"…\"}"))
        })
    }

    fn failed(&self, why: &NotRead) -> Error {
        let (place, hint) = match self {
            Self::File(path) => {
                let hint = why.remedy(path).unwrap_or_else(|| {
                    "Name a file that you own, mode 600, with the provider's credentials for a resource server"
                        .to_owned()
                });
                (format!("the file {}", path.display()), hint)
            }
            Self::Keyring(provider) => {
                let name = entry_name(provider);
                // The attributes by which the keyring library finds an entry of a Secret Service.
                let hint = if cfg!(windows) {
                    format!("cmdkey /generic:{name}.pdpp /user:{name} /pass")
                } else {
                    format!(
                        "secret-tool store --label 'pdpp introspection' service pdpp username {name} target default"
                    )
                };
                ("the keyring".to_owned(), hint)
            }
        };
        Error::new(
            why.kind(),
            "introspection_credentials",
            format!("The introspection credentials could not be read from {place}"),
        )
        .because(why.clone())
        .hint(hint)
    }
}

/// Why a file or keyring entry that an operator names cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRead {
    /// It holds a secret that others may read or change, so it is refused until they cannot. Holds its mode.
    #[error("other users may read or change it (mode {0:03o}; it must be 600)")]
    OpenToOthers(u32),
    /// It is missing, not a plain file, too long, not text, or not of the right shape.
    #[error("{0}")]
    Other(String),
}

impl NotRead {
    /// A [`NotRead::Other`] with `error` as its text.
    #[allow(clippy::needless_pass_by_value, reason = "as map_err gives it")]
    pub fn other(why: impl ToString) -> Self {
        Self::Other(why.to_string())
    }

    /// The kind of error for the operator who starts the endpoint.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::OpenToOthers(_) => Kind::Refused,
            Self::Other(_) => Kind::Failed,
        }
    }

    /// The command that fixes the problem, if there is one.
    pub fn remedy(&self, path: &Path) -> Option<String> {
        let is_open = matches!(self, Self::OpenToOthers(_));
        is_open.then(|| format!("chmod 600 {}", shell_word(&path.display().to_string())))
    }
}

/// The name of the keyring's entry for `provider`: 32 digits, like every other entry of this program.
fn entry_name(provider: &ProviderUrl) -> String {
    let named = format!("introspection {provider}");
    let digest = ring::digest::digest(&ring::digest::SHA256, named.as_bytes());
    crate::hex::of(&digest.as_ref()[..16])
}

fn parse(text: &str) -> Option<IntrospectionClient> {
    #[derive(Deserialize)]
    struct Wire {
        client_id: String,
        client_secret: String,
    }
    let Wire { client_id, client_secret } = serde_json::from_str(text).ok()?;
    let client_secret = SecretString::from(client_secret);
    (!client_id.is_empty()).then_some(IntrospectionClient { client_id, client_secret })
}

/// Reads a file that holds a secret.
///
/// # Errors
/// Returns [`NotRead`] if the file is not private or cannot be read.
pub fn read_private(path: &Path) -> Result<SecretString, NotRead> {
    let (text, found) = read_text(path)?;
    let text = SecretString::from(text);
    check_mode(&found)?;
    Ok(text)
}

/// Reads a small text file.
///
/// # Errors
/// Returns [`NotRead::Other`] if it cannot be read.
pub fn read_text(path: &Path) -> Result<(String, std::fs::Metadata), NotRead> {
    // Checked before opening, because opening a pipe would block. Links are followed: Kubernetes mounts secrets that
    // way, and an operator who names a file here may name any file.
    let found = std::fs::metadata(path).map_err(NotRead::other)?;
    if !found.is_file() || found.len() > MOST {
        return Err(NotRead::other(format!("it is not a file of at most {} KiB", MOST >> 10)));
    }
    let file = File::open(path).map_err(NotRead::other)?;
    let found = file.metadata().map_err(NotRead::other)?;
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(NotRead::other)?;
    Ok((text, found))
}

/// Checks that only the owner may read the file. If it belongs to another user, its group may read it too,
/// because that is how this process can (Kubernetes' `fsGroup`).
#[cfg(unix)]
fn check_mode(found: &std::fs::Metadata) -> Result<(), NotRead> {
    use std::os::unix::fs::MetadataExt as _;
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    let open = if is_own { 0o077 } else { 0o037 };
    if found.mode() & open == 0 {
        return Ok(());
    }
    Err(NotRead::OpenToOthers(found.mode() & 0o777))
}

#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "as on unix")]
fn check_mode(_found: &std::fs::Metadata) -> Result<(), NotRead> {
    Ok(())
}

#[cfg(all(test, unix))]
#[allow(clippy::disallowed_methods, reason = "tests write the files to read")]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn only_a_private_file_of_the_right_shape_is_taken_and_nothing_of_it_is_repeated() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("introspection.json");
        let write = |text: &str, mode| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            CredentialsSource::File(path.clone()).read()
        };
        let good = r#"{"client_id": "rs", "client_secret": "canary", "more": 1}"#;
        assert_eq!(write(good, 0o600).unwrap().client_id, "rs");
        assert_eq!(write(good, 0o400).unwrap().client_id, "rs");
        for (text, mode) in [
            (good, 0o644),
            (good, 0o640),
            (good, 0o602),
            ("canary", 0o600),
            ("", 0o600),
            (r#"{"client_id": "canary"}"#, 0o600),
            (r#"{"client_id": "", "client_secret": "canary"}"#, 0o600),
            (r#"{"client_id": "rs", "client_secret": 7}"#, 0o600),
        ] {
            let error = write(text, mode).unwrap_err();
            let kind = if mode == 0o600 { Kind::Failed } else { Kind::Refused };
            assert_eq!((error.code(), error.kind()), ("introspection_credentials", kind), "{text} {mode:o}");
            assert!(!format!("{error:?} {}", error.in_full()).contains("canary"), "{text}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(CredentialsSource::File(path).read().unwrap_err().in_full().contains("No such file"));
        assert!(
            CredentialsSource::File(dir.path().to_owned())
                .read()
                .unwrap_err()
                .in_full()
                .contains("not a file")
        );
    }
}
