//! The directory in which a vault keeps its data and its secrets, and the lock of the process that serves it.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::open_error::{OpenError, ServedBy};
use crate::fs::{DirLock, PrivateDir};

/// The lock of the process that serves a data directory. That process describes itself in [`SERVED_BY`].
const SERVED: &str = "served";
/// The process that serves a data directory: [`ServedBy`].
const SERVED_BY: &str = "served-by.json";
/// The maximum size of a file in the directory, in bytes.
const MAX_FILE: u64 = 4096;

/// Opens or makes a data directory.
///
/// # Errors
/// Returns [`OpenError::Directory`].
pub fn open(path: &Path) -> Result<PrivateDir, OpenError> {
    PrivateDir::create_named(path).map_err(|error| OpenError::Directory(path.to_owned(), error))
}

/// The database of another kind of vault in `dir`, if one of the names in `others` exists. Two kinds never share a
/// directory.
pub fn other_vault(dir: &Path, others: &[&str]) -> Option<PathBuf> {
    others.iter().map(|name| dir.join(name)).find(|path| path.symlink_metadata().is_ok())
}

/// The database `name` of the vault in `dir`. Makes an empty one if it does not exist.
///
/// # Errors
/// Returns [`OpenError::OtherVault`] or [`OpenError::File`].
pub fn database(dir: &PrivateDir, name: &str, others: &[&str]) -> Result<PathBuf, OpenError> {
    if let Some(other) = other_vault(dir.path(), others) {
        return Err(OpenError::OtherVault(other));
    }
    dir.make_file(name).map_err(|error| OpenError::File("use the database in", error))?;
    Ok(dir.path().join(name))
}

/// The text in the file `name`. Makes the file if it does not exist; without a directory, makes a new text every
/// time.
///
/// # Errors
/// Returns [`OpenError::File`], or the errors of `make`.
pub fn kept(
    dir: Option<&PrivateDir>,
    name: &str,
    make: impl FnOnce() -> Result<String, OpenError>,
) -> Result<String, OpenError> {
    let Some(dir) = dir else { return make() };
    match dir.read(name, MAX_FILE) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).trim().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let new = make()?;
            dir.write(name, format!("{new}\n").as_bytes())
                .map_err(|error| OpenError::File("write to", error))?;
            Ok(new)
        }
        Err(error) => Err(OpenError::File("read", error)),
    }
}

/// Checks that no process serves the directory `path` now.
///
/// # Errors
/// Returns [`OpenError::InUse`], or the errors of the directory.
pub fn check_unserved(path: &Path) -> Result<(), OpenError> {
    lock_served(path).map(drop)
}

fn lock_served(path: &Path) -> Result<(PrivateDir, DirLock), OpenError> {
    let dir = open(path)?;
    let locked = dir.try_lock(SERVED).map_err(|error| OpenError::File("lock", error))?;
    let Some(lock) = locked else {
        let by = dir.read(SERVED_BY, MAX_FILE).ok();
        let by = by.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        return Err(OpenError::InUse(path.to_owned(), by));
    };
    Ok((dir, lock))
}

/// Locks the directory `path` to serve it at `address`. Two servers would each know only some of the open requests.
///
/// # Errors
/// Returns [`OpenError::InUse`], or the errors of the directory.
pub fn serve_alone(path: &Path, address: SocketAddr) -> Result<DirLock, OpenError> {
    let (dir, lock) = lock_served(path)?;
    let by = ServedBy { pid: std::process::id(), url: format!("http://{address}") };
    let by = serde_json::to_vec(&by).map_err(|error| OpenError::File("write to", error.into()))?;
    dir.write(SERVED_BY, &by).map_err(|error| OpenError::File("write to", error))?;
    Ok(lock)
}
