//! Stores that are read while a server runs: each is opened at its first read, only for reading, and kept
//! open.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::backend::{Opening, unavailable};
use crate::advice::Command;
use crate::error::Error;
use crate::provider::rs::Refusal;
use crate::vault::Vault;

/// The stores that this process reads.
#[derive(Clone, Default)]
pub struct Stores(Arc<Mutex<HashMap<PathBuf, Arc<Opened>>>>);

struct Opened {
    vault: Arc<Vault>,
    issuer: String,
    /// The file that was opened; another one may replace it later.
    file: Option<File>,
}

/// The identity of a file, whatever its name.
type File = (u64, u64);

impl Stores {
    /// A function that opens the store in `dir`, whose tokens `issuer` issues. Touches nothing yet.
    pub fn opening(&self, dir: &Path, issuer: &str) -> Opening {
        let (stores, dir, issuer) = (self.clone(), dir.to_owned(), issuer.to_owned());
        Arc::new(move || stores.open(&dir, &issuer))
    }

    fn open(&self, dir: &Path, issuer: &str) -> Result<Arc<Vault>, Box<Refusal>> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let file = file(&dir.join(super::PROFILE.database));
        if open.get(dir).is_none_or(|known| known.file != file) {
            open.remove(dir);
            open.insert(dir.to_owned(), Arc::new(opened(dir, file)?));
        }
        let known = open.get(dir).map(Arc::clone);
        drop(open);
        match known {
            Some(known) if known.issuer == issuer => Ok(Arc::clone(&known.vault)),
            // Another store is not what the owner approved, whatever it contains.
            _ => Err(unavailable(
                "own_store_other",
                format!("The store in {} is not the one that the grant belongs to", dir.display()),
            )),
        }
    }
}

fn opened(dir: &Path, file: Option<File>) -> Result<Opened, Box<Refusal>> {
    let refused = |error: Error| {
        let error = super::told(dir, error);
        // A command that moves files is not for an agent to run.
        unavailable(
            error.code(),
            format!("{}. To see what to do, its owner runs: {}", error.in_full(), Command::new("doctor")),
        )
    };
    super::check(dir).map_err(refused)?;
    let vault = Vault::open_to_read(super::config(dir)).map_err(|error| refused(super::explain(error)))?;
    let id = super::store_id(vault.store()).map_err(refused)?;
    Ok(Opened { vault: Arc::new(vault), issuer: super::issuer(&id.unwrap_or_default()), file })
}

#[cfg(unix)]
fn file(path: &Path) -> Option<File> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Where an open file cannot be replaced, any file counts as the same.
#[cfg(not(unix))]
fn file(path: &Path) -> Option<File> {
    path.exists().then_some((0, 0))
}
