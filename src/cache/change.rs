//! How the cache changes: under a lock, the secret before the index that names it.

use jiff::Timestamp;
use secrecy::ExposeSecret as _;

use super::credential::{Credential, Renewal, Secrets};
use super::handle::{Cache, unwritable};
use super::index::{Index, RegisteredClient, Stored};
use super::store::file::FileStore;
use super::store::keyring::KeyringStore;
use super::store::{SecretPlace, StoreError, StoreKind};
use crate::error::Result;
use crate::fs::{DirLock, PrivateDir};

/// Which older deletions are tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    /// Those that cost no waiting.
    WhereItAnswers,
    /// All, since a person asked for deletions.
    Everything,
}

/// The right to change the index: holds the lock between processes.
pub(super) struct IndexWriter {
    pub(super) dir: PrivateDir,
    _lock: DirLock,
}

impl IndexWriter {
    pub(super) fn write(&self, index: &Index) -> Result<()> {
        let bytes = index.to_bytes().map_err(|error| unwritable(self.dir.path(), error.into()))?;
        self.dir.write(Cache::INDEX, &bytes).map_err(|error| unwritable(self.dir.path(), error))
    }
}

impl Cache {
    /// Keeps `credential` and its `secrets` in the store that it names, replacing the same grant of the
    /// same provider and no other. `client` is remembered for its issuer. Blocks.
    ///
    /// # Errors
    /// Whatever the disk or the keyring says; the cache is then as it was before.
    pub fn store(
        &self,
        mut credential: Credential,
        secrets: &Secrets,
        client: Option<RegisteredClient>,
    ) -> Result<Stored> {
        self.store_in_place_of(&mut credential, secrets, client, None)
    }

    /// The same, where the caller removes `replaced`, another grant of the provider, once this one is there:
    /// it may be called the same. The label that it got is in `credential`: with a number behind it where another
    /// grant of its provider has that one.
    ///
    /// # Errors
    /// As [`Cache::store`].
    pub fn store_in_place_of(
        &self,
        credential: &mut Credential,
        secrets: &Secrets,
        client: Option<RegisteredClient>,
        replaced: Option<&Credential>,
    ) -> Result<Stored> {
        let now = Timestamp::now();
        credential.renewal.due = Renewal::due(now, credential.token_expires_at);
        self.replace(credential.clone(), secrets, |index, mut stored| {
            if let Some(client) = client {
                index.remember_client(client);
            }
            stored.label = index.free_label(&stored, replaced);
            credential.label.clone_from(&stored.label);
            Some(index.put(stored))
        })
        .map(|stored| stored.unwrap_or(Stored::Added))
    }

    /// Puts the secret in its place, then, with an index that was read under the lock, lets `publish` name
    /// it there. What `publish` leaves unnamed is deleted again.
    pub(super) fn replace<T>(
        &self,
        mut credential: Credential,
        secrets: &Secrets,
        publish: impl FnOnce(&mut Index, Credential) -> Option<T>,
    ) -> Result<Option<T>> {
        let store = self.secret_store(credential.store);
        let text = secrets.clone().issued_for(&credential).to_text();
        credential.parts = store.parts(&text);
        let place = credential.place();

        // Named as discarded first: should this process die now, the next writer deletes the secret.
        let writer = self.writer()?;
        let mut index = self.read_index()?;
        let older = index.discarded.len();
        index.discard(&place);
        writer.write(&index)?;
        let put = store.put(&place, &text).and_then(|()| match (place.store, store.get(&place)?) {
            (StoreKind::File, _) => Ok(()),
            // Some collections take everything and keep nothing.
            (StoreKind::Keyring, Some(kept)) if kept.expose_secret() == text.expose_secret() => Ok(()),
            (StoreKind::Keyring, _) => {
                Err(StoreError::KeyringAbsent("it does not keep what it takes".to_owned()))
            }
        });
        if let Err(error) = put {
            if store.delete(&place).is_ok() {
                index.keep(&place);
                let _ = writer.write(&index);
            }
            return Err(self.store_failed(error, Some(&credential)));
        }

        let published = publish(&mut index, credential);
        if published.is_some() {
            index.keep(&place);
        }
        writer.write(&index)?;
        let left = self.delete_discarded(&writer, &mut index, older, Retry::WhereItAnswers);
        if let Some(error) = left {
            tracing::warn!(%error, "the old token could not be deleted yet; that will be tried again quietly");
        }
        Ok(published)
    }

    /// Deletes the secrets that are discarded: the first `older` of them could not be deleted before, the others
    /// are new. What cannot be deleted stays in the index, to be tried again. Gives why, where a new one is left:
    /// that is told once.
    ///
    /// An older one in a keyring is tried where that keyring has answered anyway: one that is away or silent
    /// costs seconds, and every change of the cache would wait for it.
    pub(super) fn delete_discarded(
        &self,
        writer: &IndexWriter,
        index: &mut Index,
        older: usize,
        retry: Retry,
    ) -> Option<StoreError> {
        let is_tried = |place: &SecretPlace| {
            place.store == StoreKind::File || retry == Retry::Everything || KeyringStore::has_answered()
        };
        let mut left: Option<StoreError> = None;
        let mut keyring_is_away = false;
        let before = std::mem::take(&mut index.discarded);
        // The new ones first: whether the keyring answers is known from them.
        let (old, new) = before.split_at(older.min(before.len()));
        for (place, is_new) in new.iter().map(|new| (new, true)).chain(old.iter().map(|old| (old, false))) {
            let is_keyring = place.store == StoreKind::Keyring;
            let is_tried = (is_new || is_tried(place)) && !(is_keyring && keyring_is_away);
            match is_tried.then(|| self.secret_store(place.store).delete(place)) {
                Some(Ok(())) => continue,
                Some(Err(error)) => {
                    tracing::info!(%error, "an old secret could not be deleted");
                    // One question is enough: each could take seconds.
                    keyring_is_away |= is_keyring;
                    left = left.or(is_new.then_some(error));
                }
                None => {}
            }
            index.discard(place);
        }
        if index.discarded.len() != before.len() {
            // A place that is named though its secret is gone is only tried once more.
            let _ = writer.write(index);
        }
        left
    }

    pub(super) fn writer(&self) -> Result<IndexWriter> {
        let dir = PrivateDir::create(&self.dir).map_err(|error| unwritable(&self.dir, error))?;
        let lock = dir.lock(Self::LOCK).map_err(|error| unwritable(&self.dir, error))?;
        dir.remove_temporary();
        FileStore::new(&self.dir).remove_temporary();
        Ok(IndexWriter { dir, _lock: lock })
    }
}
