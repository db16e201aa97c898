//! Whether the cache could be written, found out before an owner is asked for anything.

use super::credential::CredentialId;
use super::{Cache, unwritable};
use crate::error::Result;
use crate::fs::PrivateDir;

impl Cache {
    /// Writes and removes an empty file: whether a credential could be stored now. Leaves nothing behind but
    /// the directory.
    ///
    /// # Errors
    /// `cache_unwritable`, or what [`Cache::credentials`] fails with.
    pub fn try_writing(&self) -> Result<()> {
        self.credentials()?;
        let name = format!(".probe-{}", std::process::id());
        PrivateDir::create(self.dir())
            .and_then(|dir| dir.write(&name, b"").and_then(|()| dir.remove(&name)))
            .map_err(|error| unwritable(self.dir(), error))
    }

    /// Takes the credential of this id out, and no other, and its secret away.
    ///
    /// # Errors
    /// Whatever the disk says.
    pub fn forget(&self, id: &CredentialId) -> Result<()> {
        let writer = self.writer()?;
        let mut index = self.read_index()?;
        let Some(at) = index.credentials.iter().position(|one| one.id == *id) else { return Ok(()) };
        let old = index.credentials.remove(at);
        index.discard(&old);
        writer.write(&index)?;
        self.delete_discarded(&mut index);
        writer.write(&index)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests put things in the way")]
mod tests {
    use super::super::credential::{Secrets, tests::credential};
    use super::super::secret::AccessToken;
    use super::*;

    #[test]
    fn a_cache_that_cannot_be_written_is_known() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::open(&root.path().join("pdpp")).unwrap();
        cache.try_writing().unwrap();
        assert_eq!(std::fs::read_dir(cache.dir()).unwrap().count(), 0, "nothing is left behind");
        // A file where the directory has to be: true of root as well, for whom no mode is an obstacle.
        let blocked = root.path().join("file");
        std::fs::write(&blocked, "").unwrap();
        let error = Cache::open(&blocked.join("pdpp")).unwrap().try_writing().unwrap_err();
        assert!(["cache_unwritable", "cache_unreadable"].contains(&error.code()), "{error:?}");
    }

    #[test]
    fn one_is_forgotten_and_no_other() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::open(&root.path().join("pdpp")).unwrap();
        let all = ["g1", "g2"].map(|grant| credential("https://a.example", grant));
        for one in &all {
            let secrets = Secrets::new(AccessToken::new("t".to_owned()).unwrap(), None);
            cache.store(one.clone(), &secrets, None).unwrap();
        }
        cache.forget(&all[0].id).unwrap();
        cache.forget(&all[0].id).unwrap();
        assert_eq!(cache.credentials().unwrap(), all[1..]);
        assert_eq!(std::fs::read_dir(cache.dir().join("secrets")).unwrap().count(), 1);
    }
}
