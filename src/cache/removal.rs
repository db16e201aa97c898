//! Removing a credential from this computer.

use secrecy::SecretString;

use super::change::Retry;
use super::credential::Credential;
use super::handle::{Cache, unwritable};
use super::index::Index;
use super::store::StoreError;
use super::store::file::FileStore;
use crate::error::Result;

/// The result of [`Cache::remove`] and [`Cache::remove_all`].
#[derive(Debug)]
pub struct Removed {
    /// The credentials that were removed, as the index had them.
    pub credentials: Vec<Credential>,
    /// Why secrets of theirs are still in a store (a locked keyring), although no credential names them any
    /// more. A later change of the cache tries again once the keyring answers.
    pub left: Option<StoreError>,
}

impl Cache {
    /// Removes `credential`'s grant and its secret from this computer. Needs no provider and, for a secret in a
    /// file, no keyring. Blocks.
    ///
    /// # Errors
    /// If the index cannot be written; the credential then still exists.
    pub fn remove(&self, credential: &Credential) -> Result<Removed> {
        self.remove_each(std::slice::from_ref(credential))
    }

    /// The same for several at once: a keyring that does not answer is waited for only once.
    ///
    /// # Errors
    /// Same as [`Cache::remove`]; every credential then still exists.
    pub fn remove_each(&self, credentials: &[Credential]) -> Result<Removed> {
        self.take_out(|index| credentials.iter().filter_map(|credential| index.remove(credential)).collect())
    }

    /// Withdraws `credentials` from every agent, and keeps them with their secrets to be ended at their
    /// providers ([`Cache::ending`]): for credentials whose secret cannot be read now, and so cannot be sent
    /// there.
    ///
    /// # Errors
    /// If the index cannot be written; nothing is then changed.
    pub fn keep_to_end(&self, credentials: &[Credential]) -> Result<()> {
        let writer = self.writer()?;
        let mut index = self.read_index()?;
        let is_meant = |found: &&mut Credential| credentials.iter().any(|kept| kept.is_same_grant(found));
        index.credentials.iter_mut().filter(is_meant).for_each(|found| found.ending = true);
        writer.write(&index)
    }

    /// Whether a secret that no credential names is still in a store, because the store did not answer.
    ///
    /// # Errors
    /// Same as [`Cache::credentials`].
    pub fn has_left(&self) -> Result<bool> {
        Ok(!self.index()?.discarded.is_empty())
    }

    /// Deletes such secrets if their store answers. Blocks.
    ///
    /// # Errors
    /// If the cache cannot be changed.
    pub fn delete_left(&self) -> Result<()> {
        let writer = self.writer()?;
        let mut index = self.read_index()?;
        let older = index.discarded.len();
        self.delete_discarded(&writer, &mut index, older, Retry::Everything);
        Ok(())
    }

    /// Removes everything from this computer, even if the index is damaged, and also files with secrets that no
    /// index names. The remembered store and client ids stay, unless the index was damaged. Blocks.
    ///
    /// # Errors
    /// If a file cannot be deleted; everything that could be deleted is gone anyway.
    pub fn remove_all(&self) -> Result<Removed> {
        let removed = match self.take_out(Index::remove_all) {
            Err(error) if error.code() == "cache_damaged" => {
                let writer = self.writer()?;
                writer.dir.remove(Self::INDEX).map_err(|error| unwritable(&self.dir, error))?;
                Ok(Removed { credentials: Vec::new(), left: None })
            }
            removed => removed,
        }?;
        FileStore::new(&self.dir).delete_all().map_err(|error| self.store_failed(error, None))?;
        Ok(removed)
    }

    /// The current refresh token of `credential`, for revoking it. Blocks.
    ///
    /// # Errors
    /// Any error of the store.
    pub fn refresh_token(&self, credential: &Credential) -> Result<Option<SecretString>> {
        let Some(current) = self.current(credential)? else { return Ok(None) };
        Ok(self.read_secrets(&current)?.and_then(|secrets| secrets.refresh_token.clone()))
    }

    fn take_out(&self, take: impl FnOnce(&mut Index) -> Vec<Credential>) -> Result<Removed> {
        if !self.dir.exists() {
            return Ok(Removed { credentials: Vec::new(), left: None });
        }
        let writer = self.writer()?;
        let mut index = self.read_index()?;
        let older = index.discarded.len();
        let credentials = take(&mut index);
        // The index first: if the process dies now, it has removed the credential, and the next process deletes
        // the rest.
        writer.write(&index)?;
        let left = self.delete_discarded(&writer, &mut index, older, Retry::Everything);
        if let Ok(locks) = self.locks() {
            for credential in &credentials {
                // A process that waits for the lock reads the index next, and finds that the credential is
                // gone.
                let _ = locks.remove(credential.family().as_str());
            }
        }
        Ok(Removed { credentials, left })
    }
}
