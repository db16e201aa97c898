//! Whether the cache could be written, found out before an owner is asked for anything.

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
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests put things in the way")]
mod tests {
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
}
