//! How the cache changes: under a lock, and the secret before the index that names it.

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

/// Which older deletions to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    /// Those whose store answers without waiting.
    WhereItAnswers,
    /// All of them, because a person asked for deletions.
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
    /// Keeps `credential` and its `secrets` in the store that it names, replacing the same grant of the same
    /// provider and no other. Remembers `client` for its issuer. Blocks.
    ///
    /// # Errors
    /// Any error of the disk or the keyring; the cache is then unchanged.
    pub fn store(
        &self,
        mut credential: Credential,
        secrets: &Secrets,
        client: Option<RegisteredClient>,
    ) -> Result<Stored> {
        self.store_in_place_of(&mut credential, secrets, client, None)
    }

    /// The same for a caller that removes `replaced`, another grant of the provider, once this one is stored:
    /// both may have the same name. Sets the label in `credential`, with a number if another grant of its
    /// provider has the same label.
    ///
    /// # Errors
    /// Same as [`Cache::store`].
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

    /// Writes the secret to its place, and then calls `publish` with an index that was read under the lock, to
    /// make it name the place. A secret that `publish` leaves unnamed is deleted again.
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

        // Listed as discarded first: if this process dies now, the next writer deletes the secret.
        let writer = self.writer()?;
        let mut index = self.read_index()?;
        let older = index.discarded.len();
        index.discard(&place);
        writer.write(&index)?;
        let put = store.put(&place, &text).and_then(|()| match (place.store, store.get(&place)?) {
            (StoreKind::File, _) => Ok(()),
            // Some collections accept everything and keep nothing.
            (StoreKind::Keyring, Some(kept)) if kept.expose_secret() == text.expose_secret() => Ok(()),
            (StoreKind::Keyring, _) => {
                Err(StoreError::KeyringAbsent("it does not keep what it accepts".to_owned()))
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
            tracing::warn!(%error, "could not delete the old token yet; pdpp will try again without another message");
        }
        Ok(published)
    }

    /// Deletes the discarded secrets. The first `older` of them could not be deleted before; the others are
    /// new. A secret that cannot be deleted stays in the index and is tried again. Returns the reason if a new
    /// one is left, so that it is reported once.
    ///
    /// An older secret in a keyring is tried only if that keyring has answered anyway: one that is missing or
    /// silent costs seconds, and every change of the cache would wait for it.
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
        // The new ones first: they show whether the keyring answers.
        let (old, new) = before.split_at(older.min(before.len()));
        for (place, is_new) in new.iter().map(|new| (new, true)).chain(old.iter().map(|old| (old, false))) {
            let is_keyring = place.store == StoreKind::Keyring;
            let is_tried = (is_new || is_tried(place)) && !(is_keyring && keyring_is_away);
            match is_tried.then(|| self.secret_store(place.store).delete(place)) {
                Some(Ok(())) => continue,
                Some(Err(error)) => {
                    tracing::info!(%error, "could not delete an old secret");
                    // One question is enough: each could take seconds.
                    keyring_is_away |= is_keyring;
                    left = left.or(is_new.then_some(error));
                }
                None => {}
            }
            index.discard(place);
        }
        if index.discarded.len() != before.len() {
            // If this write fails, a place without a secret stays listed, and is only tried once more.
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
