//! A credential's life on this machine: an index without secrets, and a secret store beside it.
//!
//! ```text
//! <dir>/index.json      what is connected; no secret; enough to say "not connected" (R1.2)
//! <dir>/lock            one writer at a time, between processes
//! <dir>/locks/<family>  one process at a time renews a token
//! <dir>/secrets/<id>    one file a credential, unless its secret lives in a keyring
//! ```
//!
//! A credential's secret is written under a fresh id before the index names that id, so the rename of
//! the index is the one moment in which the new credential replaces the old. Places that are not (or no
//! longer) named by a credential stand in the index as discarded until their secret is deleted, so a
//! process that dies in between leaves the old or the new credential, and no secret that nobody knows.

mod change;
pub mod credential;
pub mod index;
pub mod owner;
pub mod refresh;
mod removal;
pub mod select;
pub mod store;
mod transfer;

pub use change::Stored;
pub use removal::Removed;
pub use transfer::Moved;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Kind, Result};
use crate::fs::PrivateDir;
use crate::provider::http::Http;
use crate::provider::url::ProviderUrl;
use crate::{advice, text};

use credential::{Credential, CredentialId, Secrets};
use index::Index;
use store::choice::{Chosen, StoreChoice};
use store::file::FileStore;
use store::keyring::KeyringStore;
use store::{SecretStore, StoreError, StoreKind};

/// Credentials are kept here. Cheap to open and to clone; nothing is touched until it is asked.
#[derive(Debug, Clone)]
pub struct Cache {
    dir: PathBuf,
    /// For refreshes alone, which want connections that nobody has used before ([`refresh`]).
    http: Http,
    /// The command to type again where a new secret finds no store.
    again: Option<String>,
    /// Nearly every call of a tool finds the index as the one before did.
    parsed: Arc<Mutex<Option<Parsed>>>,
    /// What the keyring said before, so that it is asked once a token and not once a call. An id stands
    /// for one token for ever.
    from_keyring: Arc<Mutex<HashMap<CredentialId, Secrets>>>,
    /// By the family of a credential ([`refresh`]).
    turns: Arc<Mutex<HashMap<CredentialId, Arc<tokio::sync::Mutex<refresh::Turn>>>>>,
}

/// The index as it was read last, and its bytes.
#[derive(Debug)]
struct Parsed {
    bytes: Vec<u8>,
    index: Index,
}

impl Cache {
    const INDEX: &str = "index.json";
    const LOCK: &str = "lock";
    const LOCKS: &str = "locks";
    /// What a change of the cache needs, in bytes.
    const ROOM: usize = 16 << 10;
    /// Bound of the index, in bytes; a thousand credentials are far below it.
    const MAX_INDEX: u64 = 4 << 20;

    /// The platform's own place: not roaming, since a secret belongs to one machine.
    ///
    /// # Errors
    /// If this machine has no home directory for the user.
    pub fn default_dir() -> Result<PathBuf> {
        directories::ProjectDirs::from("", "", "pdpp")
            .map(|dirs| dirs.data_local_dir().to_owned())
            .ok_or_else(|| {
                Error::failed("no_home", "There is no home directory to keep credentials in")
                    .hint("Name a directory: --cache-dir DIR, or PDPP_CACHE_DIR")
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
            http: Http::new(refresh::LIMITS),
            again: None,
            parsed: Arc::default(),
            from_keyring: Arc::default(),
            turns: Arc::default(),
        })
    }

    /// The same, refreshing tokens through `http`: for a proxy or another CA. It is the cache's own from
    /// then on: a client that nothing else sends requests with.
    #[must_use]
    pub fn with_http(mut self, http: Http) -> Self {
        self.http = http;
        self
    }

    /// The same, for the command `again`: what a person types once more, with `--store file`, where a new secret
    /// finds no store.
    #[must_use]
    pub fn asked_by(mut self, again: String) -> Self {
        self.again = Some(again);
        self
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Decides where a new secret goes: `asked`, else what was asked for before ([`Cache::remember_store`]),
    /// else [`StoreChoice::Auto`]; tries the keyring where that may be it. Blocks, at most
    /// [`store::keyring::BOUND`]. That a file is used for want of a keyring is told once: not where one is used
    /// already and nobody asked.
    ///
    /// # Errors
    /// As [`Cache::credentials`]; `keyring_absent`, `keyring_locked`, `keyring_silent`.
    pub fn choose_store(&self, asked: Option<StoreChoice>) -> Result<Chosen> {
        let chosen = self.try_store(asked)?;
        let is_told = asked.is_none() && self.credentials()?.iter().any(|one| one.store == StoreKind::File);
        Ok(Chosen { note: chosen.note.filter(|_| !is_told), ..chosen })
    }

    /// The same, with the note each time.
    ///
    /// # Errors
    /// As [`Cache::choose_store`].
    pub fn try_store(&self, asked: Option<StoreChoice>) -> Result<Chosen> {
        let choice = match asked {
            Some(choice) => choice,
            None => self.read_index()?.store.unwrap_or_default(),
        };
        choice.decide(KeyringStore::probe).map_err(|error| self.store_failed(error, None))
    }

    /// Remembers where new secrets go.
    ///
    /// # Errors
    /// Whatever the disk says; the cache is then as it was before.
    pub fn remember_store(&self, choice: StoreChoice) -> Result<()> {
        let writer = self.writer()?;
        let mut index = self.read_index()?;
        if index.store == Some(choice) {
            return Ok(());
        }
        index.store = Some(choice);
        writer.write(&index)
    }

    /// Whether an index and secrets of kind `kind` could be written now: better known before an owner is
    /// asked for an approval. Leaves nothing behind but directories. Blocks, at most [`store::keyring::BOUND`] more than the disk.
    ///
    /// # Errors
    /// Why not.
    pub fn check_writable(&self, kind: StoreKind) -> Result<()> {
        self.read_index()?;
        PrivateDir::create(&self.dir)
            .and_then(|dir| dir.check_room(Self::ROOM))
            .map_err(|error| unwritable(&self.dir, error))?;
        match kind {
            StoreKind::File => FileStore::new(&self.dir).probe(),
            StoreKind::Keyring => KeyringStore::probe(),
        }
        .map_err(|error| self.store_failed(error, None))
    }

    /// Whether the directory can hold a cache now, found out by trying. Leaves nothing behind.
    ///
    /// # Errors
    /// `cache_unwritable`.
    pub fn check_dir(&self) -> Result<()> {
        PrivateDir::check(&self.dir, Self::ROOM).map_err(|error| unwritable(&self.dir, error))
    }

    /// What is connected, from the index alone: no secret, no keyring, no directory walk. Empty if
    /// there is no cache yet.
    ///
    /// # Errors
    /// If the index cannot be read, is damaged, or was written by a newer version.
    pub fn credentials(&self) -> Result<Vec<Credential>> {
        self.all_where(|one| !one.ending)
    }

    /// What was disconnected here and is still to be ended at its provider, since its token could not be read then
    /// ([`Cache::keep_to_end`]); also from the index alone.
    ///
    /// # Errors
    /// As [`Cache::credentials`].
    pub fn ending(&self) -> Result<Vec<Credential>> {
        self.all_where(|one| one.ending)
    }

    fn all_where(&self, is_meant: impl Fn(&Credential) -> bool) -> Result<Vec<Credential>> {
        let mut all = self.read_index()?.credentials;
        all.retain(is_meant);
        Ok(all)
    }

    /// The client id that was registered with `issuer` before.
    ///
    /// # Errors
    /// As [`Cache::credentials`].
    pub fn client_id(&self, issuer: &str) -> Result<Option<String>> {
        let clients = self.read_index()?.clients;
        Ok(clients.into_iter().find(|client| client.issuer == issuer).map(|client| client.client_id))
    }

    /// Whether a grant of `provider` that is to be kept in the place of `replaced` may be called `label`: better
    /// known before an owner is asked for an approval.
    ///
    /// # Errors
    /// `label_taken` (2); as [`Cache::credentials`].
    pub fn check_label(
        &self,
        provider: &ProviderUrl,
        label: &str,
        replaced: Option<&Credential>,
    ) -> Result<()> {
        let credentials = self.credentials()?;
        let holder = credentials.iter().find(|one| {
            one.provider == *provider
                && one.label == label
                && !replaced.is_some_and(|old| one.is_same_grant(old))
        });
        let Some(holder) = holder else { return Ok(()) };
        let label = text::shell_word(label);
        Err(Error::new(
            Kind::Usage,
            "label_taken",
            format!("Another grant of {provider} is called {label}: {}", holder.grant_id),
        )
        .hint(format!(
            "Give another --name; or ask for that one again: {} --renew --grant {label}",
            advice::connect(provider.as_str())
        )))
    }

    /// The secrets of `credential`, as its store has them. Blocks.
    fn read_secrets(&self, credential: &Credential) -> Result<Option<Secrets>> {
        let is_keyring = credential.store == StoreKind::Keyring;
        let known = || self.from_keyring.lock().unwrap_or_else(PoisonError::into_inner);
        if is_keyring && let Some(secrets) = known().get(&credential.id) {
            return Ok(Some(secrets.clone()));
        }
        let text = self
            .secret_store(credential.store)
            .get(&credential.place())
            .map_err(|error| self.store_failed(error, Some(credential)))?;
        let Some(text) = text else { return Ok(None) };
        let secrets = Secrets::from_text(&text).ok_or_else(|| {
            Error::failed(
                "secret_damaged",
                format!("The stored token for {} is damaged", credential.provider),
            )
            .run(select::renew_exactly(credential))
        })?;
        if is_keyring {
            // A token that was replaced or removed is not kept in memory.
            let now = self.credentials().unwrap_or_default();
            let mut known = known();
            known.retain(|id, _| now.iter().any(|credential| credential.id == *id));
            known.insert(credential.id.clone(), secrets.clone());
        }
        Ok(Some(secrets))
    }

    /// Whether the store of `credential`'s secret gives it here. Blocks, at most [`store::keyring::BOUND`] more than the
    /// disk.
    ///
    /// # Errors
    /// `keyring_absent`, `keyring_locked`, `keyring_silent`, `secret_store_failed`, `secret_damaged`, `secret_missing`.
    pub fn check_secret(&self, credential: &Credential) -> Result<()> {
        self.read_secrets(credential)?.map(drop).ok_or_else(|| refresh::secret_missing(credential))
    }

    /// That `credential`'s secret is gone, where that is known without asking a keyring: its file is not there, and
    /// no other token has come into its place. `None` where nothing speaks against it.
    pub fn lost_secret(&self, credential: &Credential) -> Option<Error> {
        let is_lost = credential.store == StoreKind::File
            && FileStore::new(&self.dir).is_absent(&credential.place())
            && self.current(credential).is_ok_and(|now| now.is_some_and(|now| now.id == credential.id));
        is_lost.then(|| refresh::secret_missing(credential))
    }

    /// Whether `credential`'s secrets can be read without waiting for a keyring.
    fn is_at_hand(&self, credential: &Credential) -> bool {
        let known = || self.from_keyring.lock().unwrap_or_else(PoisonError::into_inner);
        credential.store == StoreKind::File || known().contains_key(&credential.id)
    }

    fn secret_store(&self, kind: StoreKind) -> Box<dyn SecretStore> {
        match kind {
            StoreKind::File => Box::new(FileStore::new(&self.dir)),
            StoreKind::Keyring => Box::new(KeyringStore),
        }
    }

    /// `error` for a person; `of` is the credential that it is about, unless it is a new one.
    fn store_failed(&self, error: StoreError, of: Option<&Credential>) -> Error {
        let again = match of {
            Some(one) if self.current(one).is_ok_and(|found| found.is_some()) => select::renew_exactly(one),
            new => self.again.clone().unwrap_or_else(|| {
                let connect = new.map(|new| advice::connect(new.provider.as_str()));
                connect.unwrap_or_else(|| "pdpp connect <provider-url>".to_owned())
            }),
        };
        error.told(format!("Check that you own {} and that its disk has room", self.dir.display()), &again)
    }

    fn read_index(&self) -> Result<Index> {
        let read = PrivateDir::open(&self.dir).and_then(|dir| dir.read(Self::INDEX, Self::MAX_INDEX));
        match read {
            Ok(bytes) => {
                let mut last = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(parsed) = last.as_ref().filter(|parsed| parsed.bytes == bytes) {
                    return Ok(parsed.index.clone());
                }
                let index = Index::parse(&bytes).map_err(|error| error.told(&self.dir.join(Self::INDEX)))?;
                *last = Some(Parsed { bytes, index: index.clone() });
                Ok(index)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Index::default()),
            Err(error) => Err(unreadable(&self.dir, error)),
        }
    }

    /// The credential of the same grant as it is now. One that is to be ended is there for that only.
    fn current(&self, credential: &Credential) -> Result<Option<Credential>> {
        let is_it = |one: &Credential| one.is_same_grant(credential) && (credential.ending || !one.ending);
        Ok(self.read_index()?.credentials.into_iter().find(is_it))
    }
}

/// A fresh id for a credential.
///
/// # Errors
/// If the machine gives no random bytes.
pub fn new_credential_id() -> Result<CredentialId> {
    CredentialId::random()
        .map_err(|error| Error::failed("no_randomness", "This machine gave no random bytes").because(error))
}

fn unreadable(dir: &Path, error: io::Error) -> Error {
    let told =
        Error::failed("cache_unreadable", format!("The credential cache {} cannot be read", dir.display()));
    let hint = "Make it a plain directory of your own user's, or name another one with --cache-dir";
    in_other_dir(told.because(error), dir, hint)
}

fn unwritable(dir: &Path, error: io::Error) -> Error {
    let told = Error::failed(
        "cache_unwritable",
        format!("The credential cache {} cannot be written", dir.display()),
    );
    let hint =
        "Make room, make it a plain directory of your own user's, or name another one with --cache-dir";
    in_other_dir(told.because(error), dir, hint)
}

/// With the same command in the directory that `dir` is a link to, where it is one; else with `hint`.
fn in_other_dir(told: Error, dir: &Path, hint: &str) -> Error {
    match (dir.is_symlink(), dir.canonicalize()) {
        (true, Ok(real)) if real.is_dir() => told.run(advice::typed_with_cache_in(&real)),
        _ => told.hint(hint),
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests put things in the way")]
mod tests {
    use super::credential::tests::credential;
    use super::index::RegisteredClient;
    use super::*;
    use crate::secret::AccessToken;

    fn cache() -> (tempfile::TempDir, Cache) {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::open(&root.path().join("pdpp")).unwrap();
        (root, cache)
    }

    fn secrets(token: &str) -> Secrets {
        Secrets::new(AccessToken::new(token.to_owned()).unwrap(), None)
    }

    async fn bearer(cache: &Cache, credential: &Credential) -> String {
        cache.bearer(credential).await.unwrap().expose_bearer().to_owned()
    }

    fn secret_files(cache: &Cache) -> usize {
        std::fs::read_dir(cache.dir().join("secrets")).map_or(0, Iterator::count)
    }

    #[test]
    fn nothing_is_created_by_reading() {
        let (root, cache) = cache();
        assert_eq!(cache.credentials().unwrap(), []);
        assert_eq!(cache.client_id("https://as.example").unwrap(), None);
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn the_same_grant_is_replaced_and_never_another() {
        let (_root, cache) = cache();
        let first = credential("https://a.example/t1", "g1");
        let other_grant = credential("https://a.example/t1", "g2");
        let other_tenant = credential("https://a.example/t2", "g1");
        let secure = credential("https://localhost:4711/t1", "g1");
        let plain = credential("http://localhost:4711/t1", "g1");
        for (credential, token) in
            [(&first, "one"), (&other_grant, "two"), (&other_tenant, "three"), (&secure, "s"), (&plain, "p")]
        {
            assert_eq!(cache.store(credential.clone(), &secrets(token), None).unwrap(), Stored::Added);
        }
        let again = credential("https://a.example/t1", "g1");
        assert_ne!(again.id, first.id);
        assert_eq!(cache.store(again.clone(), &secrets("four"), None).unwrap(), Stored::Replaced);

        assert_eq!(cache.credentials().unwrap().len(), 5);
        assert_eq!(secret_files(&cache), 5, "the replaced token is gone");
        assert_eq!((bearer(&cache, &secure).await, bearer(&cache, &plain).await), ("s".into(), "p".into()));
        assert_eq!(bearer(&cache, &again).await, "four");
        assert_eq!(bearer(&cache, &other_grant).await, "two");
        assert_eq!(bearer(&cache, &other_tenant).await, "three");
        // A process that read the index before still gets the grant's bearer.
        assert_eq!(bearer(&cache, &first).await, "four");
    }

    #[tokio::test]
    async fn a_missing_secret_says_reconnect() {
        let (_root, cache) = cache();
        let one = credential("https://a.example", "g1");
        cache.store(one.clone(), &secrets("canary"), None).unwrap();
        std::fs::remove_dir_all(cache.dir().join("secrets")).unwrap();
        let error = cache.bearer(&one).await.unwrap_err();
        assert_eq!((error.code(), error.kind().exit_code()), ("secret_missing", 78));
        assert_eq!(error.next_step(), Some("pdpp connect https://a.example --renew --grant g1"));
    }

    #[cfg(unix)]
    #[test]
    fn r8_4_files_are_private_and_the_index_holds_no_secret() {
        use std::os::unix::fs::MetadataExt;
        let (_root, cache) = cache();
        cache.store(credential("https://a.example", "g1"), &secrets("canary-4711"), None).unwrap();
        let mut seen = Vec::new();
        let mut todo = vec![cache.dir().to_owned()];
        while let Some(path) = todo.pop() {
            let found = std::fs::metadata(&path).unwrap();
            let wanted = if found.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(found.mode() & 0o777, wanted, "{}", path.display());
            if found.is_dir() {
                todo.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else if std::fs::read_to_string(&path).unwrap().contains("canary-4711") {
                seen.push(path);
            }
        }
        assert_eq!(seen.len(), 1, "the token is in one place: {seen:?}");
        assert!(seen[0].starts_with(cache.dir().join("secrets")));
    }

    #[tokio::test]
    async fn a_death_between_secret_and_index_leaves_the_old_credential_and_is_cleaned_up() {
        let (_root, cache) = cache();
        let old = credential("https://a.example", "g1");
        cache.store(old.clone(), &secrets("old"), None).unwrap();

        // As far as `store` gets before its commit.
        let died = credential("https://a.example", "g1");
        let writer = cache.writer().unwrap();
        let mut index = cache.read_index().unwrap();
        index.discard(&died.place());
        writer.write(&index).unwrap();
        cache.secret_store(died.store).put(&died.place(), &secrets("died").to_text()).unwrap();
        drop(writer);

        assert_eq!(cache.credentials().unwrap(), std::slice::from_ref(&old));
        assert_eq!(bearer(&cache, &old).await, "old");
        assert_eq!(secret_files(&cache), 2);
        cache.store(credential("https://b.example", "g1"), &secrets("b"), None).unwrap();
        assert_eq!(secret_files(&cache), 2, "the dead process's secret was deleted");
        assert_eq!(bearer(&cache, &old).await, "old");
    }

    #[test]
    fn what_a_move_left_that_died_at_its_end_is_deleted_by_the_next() {
        let (_root, cache) = cache();
        cache.store(credential("https://a.example", "g1"), &secrets("t"), None).unwrap();
        let old = credential("https://a.example", "g1").place();
        let writer = cache.writer().unwrap();
        let mut index = cache.read_index().unwrap();
        index.discard(&old);
        writer.write(&index).unwrap();
        drop(writer);
        cache.secret_store(old.store).put(&old, &secrets("moved").to_text()).unwrap();
        assert_eq!((secret_files(&cache), cache.move_to(StoreKind::File).unwrap().already), (2, 1));
        assert_eq!((secret_files(&cache), cache.read_index().unwrap().discarded), (1, vec![]));
    }

    #[tokio::test]
    async fn a_store_that_fails_leaves_the_cache_as_it_was() {
        let (_root, cache) = cache();
        let old = credential("https://a.example", "g1");
        cache.store(old.clone(), &secrets("old"), None).unwrap();
        let fresh = credential("https://a.example", "g1");
        // Something is in the way of the new secret's file.
        std::fs::create_dir(cache.dir().join("secrets").join(fresh.id.as_str())).unwrap();
        let error = cache.store(fresh, &secrets("new"), None).unwrap_err();
        assert_eq!(error.code(), "secret_store_failed");
        assert_eq!(cache.credentials().unwrap(), std::slice::from_ref(&old));
        assert_eq!(bearer(&cache, &old).await, "old");
    }

    #[tokio::test]
    async fn what_is_removed_is_gone_with_its_secret_and_nothing_else_is() {
        let (_root, cache) = cache();
        assert!(cache.remove_all().unwrap().credentials.is_empty());
        let one = credential("https://a.example", "g1");
        let other = Credential { label: "Letters".to_owned(), ..credential("https://a.example", "g2") };
        for each in [&one, &other] {
            cache.store(each.clone(), &secrets("t"), None).unwrap();
        }
        let removed = cache.remove(&one).unwrap();
        assert_eq!((removed.credentials, removed.left.is_none()), (vec![one.clone()], true));
        assert_eq!((cache.credentials().unwrap(), secret_files(&cache)), (vec![other], 1));
        assert_eq!(cache.bearer(&one).await.unwrap_err().code(), "disconnected");
        assert!(cache.remove(&one).unwrap().credentials.is_empty());
        assert_eq!(cache.remove_all().unwrap().credentials.len(), 1);
        assert_eq!((cache.credentials().unwrap(), secret_files(&cache)), (vec![], 0));
    }

    #[tokio::test]
    async fn what_is_to_be_ended_is_nobodys_until_it_is_connected_again() {
        let (_root, cache) = cache();
        let one = credential("https://a.example", "g1");
        cache.store(one.clone(), &secrets("t"), None).unwrap();
        cache.keep_to_end(std::slice::from_ref(&one)).unwrap();
        let ending = Credential { ending: true, ..one.clone() };
        assert_eq!((cache.credentials().unwrap(), cache.ending().unwrap()), (vec![], vec![ending.clone()]));
        assert_eq!(
            cache.bearer(&one).await.unwrap_err().code(),
            "disconnected",
            "a server that knew it before"
        );
        assert_eq!(bearer(&cache, &ending).await, "t", "to end it");
        assert_eq!(cache.move_to(StoreKind::File).unwrap().already, 0);
        cache.check_label(&one.provider, &one.label, None).unwrap();
        let other = credential("https://a.example", "g2");
        cache.store(other, &secrets("t"), None).unwrap();
        assert_eq!(cache.credentials().unwrap()[0].label, one.label, "its name is free");
        cache.store(credential("https://a.example", "g1"), &secrets("new"), None).unwrap();
        assert_eq!((cache.credentials().unwrap().len(), cache.ending().unwrap()), (2, vec![]));
        assert_eq!(bearer(&cache, &one).await, "new");
    }

    #[test]
    fn all_is_removed_from_a_damaged_cache_too() {
        let (_root, cache) = cache();
        cache.store(credential("https://a.example", "g1"), &secrets("t"), None).unwrap();
        std::fs::write(cache.dir().join("index.json"), "{").unwrap();
        let advice = cache.credentials().unwrap_err();
        assert!(advice.next_step().unwrap().contains("pdpp disconnect --all"), "{advice:?}");
        cache.remove_all().unwrap();
        assert_eq!((cache.credentials().unwrap(), secret_files(&cache)), (vec![], 0));
    }

    #[test]
    fn a_newer_cache_is_not_removed() {
        let (_root, cache) = cache();
        cache.store(credential("https://a.example", "g1"), &secrets("t"), None).unwrap();
        std::fs::write(cache.dir().join("index.json"), r#"{"version":7}"#).unwrap();
        assert_eq!(cache.remove_all().unwrap_err().code(), "cache_too_new");
        assert_eq!(secret_files(&cache), 1);
    }

    #[test]
    fn a_check_for_room_leaves_nothing_behind() {
        let (_root, cache) = cache();
        cache.check_writable(StoreKind::File).unwrap();
        let left: Vec<_> =
            std::fs::read_dir(cache.dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!((left, secret_files(&cache)), (vec!["secrets".into()], 0));
        let blocked = cache.dir().join("file");
        std::fs::write(&blocked, "").unwrap();
        let error = Cache::open(&blocked.join("x")).unwrap().check_writable(StoreKind::File).unwrap_err();
        assert!(["cache_unreadable", "cache_unwritable"].contains(&error.code()), "{error:?}");
    }

    #[test]
    fn the_asked_for_store_is_remembered() {
        let (_root, cache) = cache();
        cache.remember_store(StoreChoice::File).unwrap();
        let file = Chosen { kind: StoreKind::File, note: None };
        assert_eq!(cache.choose_store(None).unwrap(), file);
        cache.store(credential("https://a.example", "g1"), &secrets("t"), None).unwrap();
        assert_eq!(cache.choose_store(None).unwrap(), file);
    }

    #[test]
    fn a_label_that_is_taken_is_refused_before_and_numbered_after_an_approval() {
        let (_root, cache) = cache();
        let one = credential("https://a.example", "g1");
        cache.store(one.clone(), &secrets("t"), None).unwrap();
        let taken = cache.check_label(&one.provider, "Diary", None).unwrap_err();
        assert_eq!((taken.code(), taken.kind().exit_code()), ("label_taken", 2));
        assert!(taken.next_step().unwrap().ends_with("pdpp connect https://a.example --renew --grant Diary"));
        cache.check_label(&one.provider, "Diary", Some(&one)).unwrap();
        cache.check_label(&"https://b.example".parse().unwrap(), "Diary", None).unwrap();
        cache.store(credential("https://a.example", "g2"), &secrets("t"), None).unwrap();
        let mut renewed = credential("https://a.example", "g3");
        cache.store_in_place_of(&mut renewed, &secrets("t"), None, Some(&one)).unwrap();
        cache.remove(&one).unwrap();
        let labels: Vec<_> = cache.credentials().unwrap().into_iter().map(|one| one.label).collect();
        assert_eq!(labels, ["Diary 2", "Diary"]);
    }

    #[test]
    fn what_a_dead_writer_left_half_written_is_deleted_by_the_next() {
        let (_root, cache) = cache();
        let store = || cache.store(credential("https://a.example", "g1"), &secrets("t"), None).unwrap();
        store();
        let half = [cache.dir().join(".tmp-x"), cache.dir().join("secrets/.tmp-y")];
        for file in &half {
            std::fs::write(file, "canary").unwrap();
        }
        store();
        assert!(half.iter().all(|file| !file.exists()));
    }

    #[test]
    fn many_writers_lose_nothing() {
        let (_root, cache) = cache();
        std::thread::scope(|scope| {
            for n in 0..8 {
                let cache = &cache;
                scope.spawn(move || {
                    let one = credential("https://a.example", &format!("g{n}"));
                    cache.store(one, &secrets("t"), None).unwrap();
                });
            }
        });
        assert_eq!(cache.credentials().unwrap().len(), 8);
        assert_eq!(secret_files(&cache), 8);
    }

    #[test]
    fn a_client_id_is_remembered_per_issuer() {
        let (_root, cache) = cache();
        let client = |issuer: &str, id: &str| {
            Some(RegisteredClient { issuer: issuer.to_owned(), client_id: id.to_owned() })
        };
        let one = || credential("https://a.example", "g1");
        cache.store(one(), &secrets("t"), client("https://as.example", "c1")).unwrap();
        cache.store(one(), &secrets("t"), client("https://other.example", "c2")).unwrap();
        cache.store(one(), &secrets("t"), client("https://as.example", "c3")).unwrap();
        assert_eq!(cache.client_id("https://as.example").unwrap().as_deref(), Some("c3"));
        assert_eq!(cache.client_id("https://other.example").unwrap().as_deref(), Some("c2"));
        assert_eq!(cache.client_id("https://third.example").unwrap(), None);
    }

    #[test]
    fn damaged_and_newer_indexes_are_refused_and_left_alone() {
        let (_root, cache) = cache();
        let one = || credential("https://a.example", "g1");
        cache.store(one(), &secrets("t"), None).unwrap();
        let index = cache.dir().join("index.json");
        for (text, code) in [("{", "cache_damaged"), (r#"{"version":7,"x":1}"#, "cache_too_new")] {
            std::fs::write(&index, text).unwrap();
            assert_eq!(cache.credentials().unwrap_err().code(), code);
            assert_eq!(cache.store(one(), &secrets("t"), None).unwrap_err().code(), code);
            assert_eq!(std::fs::read_to_string(&index).unwrap(), text);
        }
    }
}
