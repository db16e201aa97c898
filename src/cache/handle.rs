//! The handle for a cache: where it is, the contents of its index, and reading a secret.

use std::collections::HashMap;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::credential::{Credential, CredentialId, Secrets};
use super::index::Index;
use super::select;
use super::store::choice::{Chosen, StoreChoice};
use super::store::file::FileStore;
use super::store::keyring::KeyringStore;
use super::store::{SecretStore, StoreError, StoreKind};
use super::turn::Turn;
use crate::advice::{Command, Hint};
use crate::error::{Error, Kind, Result};
use crate::fs::{Mark, PrivateDir};
use crate::provider::http::{Http, Limits};
use crate::provider::url::ProviderUrl;
use crate::text;

/// The limits of one exchange with a token endpoint, and of discovering it again.
pub const REFRESH_LIMITS: Limits =
    Limits { connect: Duration::from_secs(4), total: Duration::from_secs(10), body: 256 << 10 };

/// The place where credentials are kept. Cheap to open and to clone; nothing is touched until it is needed.
#[derive(Debug, Clone)]
pub struct Cache {
    pub(super) dir: PathBuf,
    /// The client for refreshes, which need connections that nothing else has used.
    pub(super) http: Http,
    /// The command to type again if no store can take a new secret.
    again: Option<Command>,
    /// The index as it was last read: nearly every call of a tool finds it unchanged.
    parsed: Arc<Mutex<Option<Parsed>>>,
    known: Arc<Mutex<HashMap<CredentialId, Known>>>,
    /// The turns to renew, by the family of a credential.
    pub(super) turns: Arc<Mutex<HashMap<CredentialId, Arc<tokio::sync::Mutex<Turn>>>>>,
}

/// The index as it was last read, and its bytes.
#[derive(Debug)]
struct Parsed {
    bytes: Vec<u8>,
    /// Shows whether the bytes are still the same, without reading them.
    mark: Option<Mark>,
    index: Arc<Index>,
}

/// Secrets that were already read. An id always stands for the same token, so a keyring is asked once per token
/// and not once per call. A file is looked at each time, because it may be gone.
#[derive(Debug)]
struct Known {
    secrets: Arc<Secrets>,
    /// The mark of its file.
    mark: Option<Mark>,
}

/// A credential in the current index.
#[derive(Debug)]
pub(super) struct Current {
    index: Arc<Index>,
    at: usize,
}

impl Deref for Current {
    type Target = Credential;

    fn deref(&self) -> &Credential {
        &self.index.credentials[self.at]
    }
}

impl Cache {
    pub(super) const INDEX: &str = "index.json";
    pub(super) const LOCK: &str = "lock";
    pub(super) const LOCKS: &str = "locks";
    /// The space that a change of the cache needs, in bytes.
    const ROOM: usize = 16 << 10;
    /// The largest index, in bytes; a thousand credentials are far below it.
    const MAX_INDEX: u64 = 4 << 20;

    /// The platform's usual place: not a roaming one, because a secret belongs to one machine.
    ///
    /// # Errors
    /// `no_home` if the user has no home directory on this computer.
    pub fn default_dir() -> Result<PathBuf> {
        // On Windows the place where users expect it, `%LOCALAPPDATA%`. If a host does not pass the variable
        // on, the system knows the place.
        let named = std::env::var_os("LOCALAPPDATA")
            .map(PathBuf::from)
            .filter(|dir| cfg!(windows) && dir.is_absolute());
        named
            .map(|dir| dir.join("pdpp").join("data"))
            .or_else(|| {
                directories::ProjectDirs::from("", "", "pdpp").map(|dirs| dirs.data_local_dir().to_owned())
            })
            .ok_or_else(|| {
                Error::failed("no_home", "There is no home directory to keep credentials in")
                    .hint("Set a directory: --cache-dir DIR, or PDPP_CACHE_DIR")
            })
    }

    /// The cache in `dir`, which need not exist. Touches nothing.
    ///
    /// # Errors
    /// If `dir` cannot be made absolute.
    pub fn open(dir: &Path) -> Result<Self> {
        let dir = std::path::absolute(dir).map_err(|error| unreadable(dir, error))?;
        Ok(Self {
            dir,
            http: Http::new(REFRESH_LIMITS),
            again: None,
            parsed: Arc::default(),
            known: Arc::default(),
            turns: Arc::default(),
        })
    }

    /// The same, refreshing tokens through `http`: for a proxy or another CA. From then on only the cache sends
    /// requests with this client.
    #[must_use]
    pub fn with_http(mut self, http: Http) -> Self {
        self.http = http;
        self
    }

    /// The same, for the command `again`: the command to type again, with `--store file`, if no store can take
    /// a new secret.
    #[must_use]
    pub fn asked_by(mut self, again: Command) -> Self {
        self.again = Some(again);
        self
    }

    /// The directory of the cache.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Decides where a new secret goes: `asked`, or otherwise the earlier choice ([`Cache::remember_store`]),
    /// or otherwise [`StoreChoice::Auto`]. Tries the keyring if the choice may be the keyring. Blocks, at most
    /// for the time that a call to a store may take. The note that a file is used because there is no keyring
    /// comes only once: not if a file is already in use and nothing was asked for.
    ///
    /// # Errors
    /// Same as [`Cache::credentials`]; `keyring_absent`, `keyring_locked`, `keyring_silent`.
    pub fn choose_store(&self, asked: Option<StoreChoice>) -> Result<Chosen> {
        let chosen = self.try_store(asked)?;
        let is_known = |known: &Credential| known.store == StoreKind::File;
        let is_known = asked.is_none() && self.credentials()?.iter().any(is_known);
        Ok(Chosen { note: chosen.note.filter(|_| !is_known), ..chosen })
    }

    /// The same, with the note each time.
    ///
    /// # Errors
    /// Same as [`Cache::choose_store`].
    pub fn try_store(&self, asked: Option<StoreChoice>) -> Result<Chosen> {
        let choice = match asked {
            Some(choice) => choice,
            None => self.index()?.store.unwrap_or_default(),
        };
        choice.decide(KeyringStore::probe).map_err(|error| self.store_failed(error, None))
    }

    /// Records where new secrets go.
    ///
    /// # Errors
    /// Any error of the disk; the cache is then unchanged.
    pub fn remember_store(&self, choice: StoreChoice) -> Result<()> {
        let writer = self.writer()?;
        let mut index = self.read_index()?;
        if index.store == Some(choice) {
            return Ok(());
        }
        index.store = Some(choice);
        writer.write(&index)
    }

    /// Where the person's own data is, if a directory was named.
    ///
    /// # Errors
    /// Same as [`Cache::credentials`].
    pub fn data_dir(&self) -> Result<Option<PathBuf>> {
        Ok(self.index()?.data_dir.clone())
    }

    /// Records where the person's own data is.
    ///
    /// # Errors
    /// Any error of the disk; the cache is then unchanged.
    pub fn remember_data_dir(&self, dir: &Path) -> Result<()> {
        if self.index()?.data_dir.as_deref() == Some(dir) {
            return Ok(());
        }
        let writer = self.writer()?;
        let mut index = self.read_index()?;
        index.data_dir = Some(dir.to_owned());
        writer.write(&index)
    }

    /// Checks that an index and secrets of kind `kind` can be written now: better known before an owner is
    /// asked to approve. Leaves nothing behind except directories. Blocks for as long as the disk takes, plus
    /// at most the time that a call to a store may take.
    ///
    /// # Errors
    /// The reason why they cannot be written.
    pub fn check_writable(&self, kind: StoreKind) -> Result<()> {
        self.index()?;
        PrivateDir::create(&self.dir)
            .and_then(|dir| dir.check_room(Self::ROOM))
            .map_err(|error| unwritable(&self.dir, error))?;
        match kind {
            StoreKind::File => FileStore::new(&self.dir).probe(),
            StoreKind::Keyring => KeyringStore::probe(),
        }
        .map_err(|error| self.store_failed(error, None))
    }

    /// Checks that the directory can hold a cache now, by trying. Leaves nothing behind.
    ///
    /// # Errors
    /// `cache_unwritable`.
    pub fn check_dir(&self) -> Result<()> {
        PrivateDir::check(&self.dir, Self::ROOM).map_err(|error| unwritable(&self.dir, error))
    }

    /// What is connected, from the index alone: no secret, no keyring, no directory walk. Empty if there is no
    /// cache yet.
    ///
    /// # Errors
    /// If the index cannot be read, is damaged, or was written by a newer version.
    pub fn credentials(&self) -> Result<Vec<Credential>> {
        self.all_where(|credential| !credential.ending)
    }

    /// The grants that were disconnected here and must still be ended at their providers, because their
    /// tokens could not be read ([`Cache::keep_to_end`]); also from the index alone.
    ///
    /// # Errors
    /// Same as [`Cache::credentials`].
    pub fn ending(&self) -> Result<Vec<Credential>> {
        self.all_where(|credential| credential.ending)
    }

    fn all_where(&self, is_meant: impl Fn(&Credential) -> bool) -> Result<Vec<Credential>> {
        Ok(self.index()?.credentials.iter().filter(|credential| is_meant(credential)).cloned().collect())
    }

    /// The client id that was registered earlier with `issuer`.
    ///
    /// # Errors
    /// Same as [`Cache::credentials`].
    pub fn client_id(&self, issuer: &str) -> Result<Option<String>> {
        let index = self.index()?;
        Ok(index.clients.iter().find(|client| client.issuer == issuer).map(|client| client.client_id.clone()))
    }

    /// Checks that a grant of `provider` that replaces `replaced` may be called `label`: better known before an
    /// owner is asked to approve.
    ///
    /// # Errors
    /// `label_taken` (2); same as [`Cache::credentials`].
    pub fn check_label(
        &self,
        provider: &ProviderUrl,
        label: &str,
        replaced: Option<&Credential>,
    ) -> Result<()> {
        let credentials = self.credentials()?;
        let holder = credentials.iter().find(|known| {
            known.provider == *provider
                && known.label == label
                && !replaced.is_some_and(|old| known.is_same_grant(old))
        });
        let Some(holder) = holder else { return Ok(()) };
        Err(Error::new(
            Kind::Usage,
            "label_taken",
            format!(
                "Another grant of {provider} is already called {}: {}",
                text::shell_word(label),
                holder.grant_id
            ),
        )
        .hint(
            Hint::new("Use another --name; or renew that grant: ")
                .run(Command::connect(provider.typed()).words("--renew").option("--grant", label)),
        ))
    }

    /// The secrets of `credential` from its store, if they were stored for its provider and issuer. Blocks.
    pub(super) fn read_secrets(&self, credential: &Credential) -> Result<Option<Arc<Secrets>>> {
        let secrets = self.stored_secrets(credential)?;
        match secrets.as_ref().and_then(|secrets| secrets.foreign_to(credential)) {
            Some(issued_for) => Err(secret_foreign(credential, issued_for)),
            None => Ok(secrets),
        }
    }

    fn stored_secrets(&self, credential: &Credential) -> Result<Option<Arc<Secrets>>> {
        if let Some(secrets) = self.known_secrets(credential) {
            return Ok(Some(secrets));
        }
        let is_file = credential.store == StoreKind::File;
        let place = credential.place();
        let read = if is_file {
            FileStore::new(&self.dir).get_marked(&place)
        } else {
            KeyringStore.get(&place).map(|text| text.map(|text| (text, None)))
        };
        let Some((text, mark)) = read.map_err(|error| self.store_failed(error, Some(credential)))? else {
            return Ok(None);
        };
        let secrets = Secrets::from_text(&text).ok_or_else(|| {
            Error::failed(
                "secret_damaged",
                format!("The stored token for {} is damaged", credential.provider),
            )
            .run(select::renew_exactly(credential))
        })?;
        let secrets = Arc::new(secrets);
        if mark.is_some() || !is_file {
            let now = self.index().unwrap_or_default();
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            // A token that was replaced or removed must not stay in memory.
            known.retain(|id, _| now.credentials.iter().any(|credential| credential.id == *id));
            known.insert(credential.id.clone(), Known { secrets: Arc::clone(&secrets), mark });
        }
        Ok(Some(secrets))
    }

    /// The secrets of `credential` that were already read, if they are still the ones in its store.
    fn known_secrets(&self, credential: &Credential) -> Option<Arc<Secrets>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { secrets, mark } = known.get(&credential.id)?;
        let is_still = match credential.store {
            StoreKind::Keyring => true,
            StoreKind::File => {
                let store = FileStore::new(&self.dir);
                mark.is_some_and(|mark| store.is_still(&credential.place(), &mark))
            }
        };
        if !is_still {
            known.remove(&credential.id);
            return None;
        }
        Some(Arc::clone(secrets))
    }

    /// Checks that the store of `credential`'s secret can return it here. Blocks for as long as the disk takes,
    /// plus at most the time that a call to a store may take.
    ///
    /// # Errors
    /// `keyring_absent`, `keyring_locked`, `keyring_silent`, `secret_store_failed`, `secret_damaged`, `secret_missing`.
    pub fn check_secret(&self, credential: &Credential) -> Result<()> {
        self.read_secrets(credential)?.map(drop).ok_or_else(|| secret_missing(credential))
    }

    /// The error that `credential`'s secret is gone, if that is known without asking a keyring: its file does
    /// not exist, and no other token has replaced it. `None` if nothing shows that.
    pub fn lost_secret(&self, credential: &Credential) -> Option<Error> {
        let is_lost = credential.store == StoreKind::File
            && FileStore::new(&self.dir).is_absent(&credential.place())
            && self.current(credential).is_ok_and(|now| now.is_some_and(|now| now.id == credential.id));
        is_lost.then(|| secret_missing(credential))
    }

    /// Whether `credential`'s secrets can be read without waiting for a keyring.
    pub(super) fn is_at_hand(&self, credential: &Credential) -> bool {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        credential.store == StoreKind::File || known().contains_key(&credential.id)
    }

    pub(super) fn secret_store(&self, kind: StoreKind) -> Box<dyn SecretStore> {
        match kind {
            StoreKind::File => Box::new(FileStore::new(&self.dir)),
            StoreKind::Keyring => Box::new(KeyringStore),
        }
    }

    /// `error` for a person; `of` is the credential that it is about, unless it is a new one.
    pub(super) fn store_failed(&self, error: StoreError, of: Option<&Credential>) -> Error {
        let again = match of {
            Some(known) if self.current(known).is_ok_and(|found| found.is_some()) => {
                select::renew_exactly(known)
            }
            new => self.again.clone().unwrap_or_else(|| {
                new.map_or_else(Command::connect_any, |new| Command::connect(new.provider.typed()))
            }),
        };
        error.into_error(
            format!("Check that you own {} and that its disk has room", self.dir.display()),
            again,
        )
    }

    /// The current index, for changing it.
    pub(super) fn read_index(&self) -> Result<Index> {
        Ok(Index::clone(&*self.index()?))
    }

    /// The current index. Looks at its file each time, so that a grant that another process disconnects ends
    /// here with the next call.
    pub(super) fn index(&self) -> Result<Arc<Index>> {
        let mut last = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_still = |dir: &PrivateDir, mark: &Mark| dir.is_still(Self::INDEX, mark);
        let read = PrivateDir::open(&self.dir).and_then(|dir| match last.as_ref() {
            Some(Parsed { mark: Some(mark), .. }) if is_still(&dir, mark) => Ok(None),
            _ => dir.read_marked(Self::INDEX, Self::MAX_INDEX).map(Some),
        });
        match read {
            Ok(read) => {
                if let Some((bytes, mark)) = read {
                    if let Some(same) = last.as_mut().filter(|parsed| parsed.bytes == bytes) {
                        same.mark = mark;
                    } else {
                        let index = Index::parse(&bytes)
                            .map_err(|error| error.into_error(&self.dir.join(Self::INDEX)))?;
                        *last = Some(Parsed { bytes, mark, index: Arc::new(index) });
                    }
                }
                Ok(last.as_ref().map(|parsed| Arc::clone(&parsed.index)).unwrap_or_default())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Arc::default()),
            // This program never writes such a long file, and moving it away would leave unknown tokens behind.
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                let path = self.dir.join(Self::INDEX);
                let message = format!("{} is larger than {} MiB", path.display(), Self::MAX_INDEX >> 20);
                let hint =
                    Hint::new("Delete everything in the cache, including tokens, then connect again: ")
                        .run(Command::new("disconnect --all"))
                        .then("; ")
                        .run(Command::connect_any());
                Err(Error::failed("cache_damaged", message).hint(hint))
            }
            Err(error) => Err(unreadable(&self.dir, error)),
        }
    }

    /// The current credential of the same grant. A grant that must still be ended is returned only for that.
    pub(super) fn current(&self, credential: &Credential) -> Result<Option<Current>> {
        let is_it =
            |known: &Credential| known.is_same_grant(credential) && (credential.ending || !known.ending);
        let index = self.index()?;
        Ok(index.credentials.iter().position(is_it).map(|at| Current { index, at }))
    }
}

fn secret_foreign(credential: &Credential, issued_for: &ProviderUrl) -> Error {
    Error::new(
        Kind::Refused,
        "secret_foreign",
        format!("The stored token is not for {}: it was issued for {issued_for}", credential.provider),
    )
    .because(std::io::Error::other(
        "the index of the credential cache names a different provider or authorization server than the stored token",
    ))
    .hint(
        Hint::new("pdpp did not send the token anywhere. If you did not edit index.json, check who did; then: ")
            .run(Command::connect(issued_for.typed())),
    )
}

pub(super) fn secret_missing(credential: &Credential) -> Error {
    Error::new(
        Kind::NotConnected,
        "secret_missing",
        format!("The token for {} is no longer on this computer", credential.provider),
    )
    .run(select::renew_exactly(credential))
}

fn unreadable(dir: &Path, cause: io::Error) -> Error {
    let error =
        Error::failed("cache_unreadable", format!("pdpp cannot read the credential cache {}", dir.display()));
    let hint = "Make it a plain directory that your user owns, or choose another one with --cache-dir";
    in_other_dir(error.because(cause), dir, hint)
}

pub(super) fn unwritable(dir: &Path, cause: io::Error) -> Error {
    let error = Error::failed(
        "cache_unwritable",
        format!("pdpp cannot write to the credential cache {}", dir.display()),
    );
    let hint = "Free some space, make it a plain directory that your user owns, or choose another one with --cache-dir";
    in_other_dir(error.because(cause), dir, hint)
}

/// Suggests the same command with the directory that `dir` links to, if it is a link; otherwise `hint`.
fn in_other_dir(error: Error, dir: &Path, hint: &'static str) -> Error {
    match (dir.is_symlink(), dunce::canonicalize(dir)) {
        (true, Ok(real)) if real.is_dir() => error.run(Command::typed_with_cache_in(&real)),
        _ => error.hint(hint),
    }
}
