//! Secrets as private files: one per credential, 0600 in a 0700 directory, replaced atomically.

use std::io;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString, zeroize::Zeroize};

use super::{SecretPlace, SecretStore, StoreError};
use crate::fs::{Mark, PrivateDir};

/// The file store of a cache directory.
#[derive(Debug, Clone)]
pub struct FileStore {
    dir: PathBuf,
}

impl FileStore {
    /// The largest secret, in bytes: two tokens of the longest kind, with room to spare.
    const MAX: u64 = 64 << 10;

    /// The store below the cache directory `cache`. Touches nothing.
    pub fn new(cache: &Path) -> Self {
        Self { dir: cache.join("secrets") }
    }

    /// Checks that a secret can be written now.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub fn probe(&self) -> Result<(), StoreError> {
        Ok(PrivateDir::create(&self.dir)?.check_room(4096)?)
    }

    /// Whether there is certainly no file at `place`.
    pub fn is_absent(&self, place: &SecretPlace) -> bool {
        let found = PrivateDir::open(&self.dir).and_then(|dir| dir.size(place.id.as_str()));
        found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// The secret at `place`, and a mark that tells later whether its file [is still](FileStore::is_still) the
    /// same.
    ///
    /// # Errors
    /// Same as [`SecretStore::get`].
    pub fn get_marked(
        &self,
        place: &SecretPlace,
    ) -> Result<Option<(SecretString, Option<Mark>)>, StoreError> {
        let read = PrivateDir::open(&self.dir).and_then(|dir| dir.read_marked(place.id.as_str(), Self::MAX));
        match read {
            Ok((bytes, mark)) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Some((SecretString::from(text), mark))),
                Err(error) => {
                    error.into_bytes().zeroize();
                    Err(StoreError::NotText)
                }
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the file at `place` is the unchanged one that `mark` was made for.
    pub fn is_still(&self, place: &SecretPlace, mark: &Mark) -> bool {
        PrivateDir::open(&self.dir).is_ok_and(|dir| dir.is_still(place.id.as_str(), mark))
    }

    /// Removes what a process left behind that died while writing. The caller must hold the right to write.
    pub fn remove_temporary(&self) {
        if let Ok(dir) = PrivateDir::open(&self.dir) {
            dir.remove_temporary();
        }
    }

    /// Deletes every secret, whether or not the index names it.
    ///
    /// # Errors
    /// If one could not be deleted; the others are gone anyway.
    pub fn delete_all(&self) -> Result<(), StoreError> {
        match PrivateDir::open(&self.dir) {
            Ok(dir) => Ok(dir.remove_all()?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl SecretStore for FileStore {
    fn parts(&self, _secret: &SecretString) -> u16 {
        1
    }

    fn get(&self, place: &SecretPlace) -> Result<Option<SecretString>, StoreError> {
        Ok(self.get_marked(place)?.map(|(secret, _)| secret))
    }

    fn put(&self, place: &SecretPlace, secret: &SecretString) -> Result<(), StoreError> {
        let dir = PrivateDir::create(&self.dir)?;
        Ok(dir.write(place.id.as_str(), secret.expose_secret().as_bytes())?)
    }

    fn delete(&self, place: &SecretPlace) -> Result<(), StoreError> {
        match PrivateDir::open(&self.dir) {
            Ok(dir) => Ok(dir.remove(place.id.as_str())?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests put things in the way")]
mod tests {
    use super::*;
    use crate::cache::credential::CredentialId;
    use crate::cache::store::StoreKind;

    fn id() -> SecretPlace {
        SecretPlace { id: CredentialId::random().unwrap(), store: StoreKind::File, parts: 1 }
    }

    #[test]
    fn a_secret_comes_back_until_it_is_deleted() {
        let root = tempfile::tempdir().unwrap();
        let store = FileStore::new(root.path());
        let (one, other) = (id(), id());
        assert!(store.get(&one).unwrap().is_none());
        store.delete(&one).unwrap();
        store.put(&one, &SecretString::from("a")).unwrap();
        store.put(&other, &SecretString::from("b")).unwrap();
        store.put(&one, &SecretString::from("c")).unwrap();
        assert_eq!(store.get(&one).unwrap().unwrap().expose_secret(), "c");
        store.delete(&one).unwrap();
        assert!(store.get(&one).unwrap().is_none());
        assert_eq!(store.get(&other).unwrap().unwrap().expose_secret(), "b");
    }

    #[cfg(unix)]
    #[test]
    fn a_symlink_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let store = FileStore::new(&root.path().join("cache"));
        let one = id();
        store.put(&one, &SecretString::from("a")).unwrap();
        let path = root.path().join("cache/secrets").join(one.id.as_str());
        std::fs::remove_file(&path).unwrap();
        let elsewhere = root.path().join("elsewhere");
        std::fs::write(&elsewhere, "precious").unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(store.get(&one).is_err());
        assert!(store.put(&one, &SecretString::from("b")).is_err());
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "precious");
    }
}
