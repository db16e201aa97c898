//! Why a vault cannot be opened or served, for the code that must explain it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use super::store;

/// Why a vault cannot be opened or served.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Other machines could reach it there.
    #[error("{0} is not a loopback address")]
    NotLoopback(IpAddr),
    /// The address is in use, or does not belong to this computer.
    #[error("could not listen on {0}")]
    Listen(SocketAddr, #[source] io::Error),
    /// The system supplied no event loop or no thread.
    #[error("could not start {0}")]
    Start(&'static str, #[source] io::Error),
    /// Another process serves the directory.
    #[error("another process already serves {}", .0.display())]
    InUse(PathBuf, Option<ServedBy>),
    /// The directory is not private to this user, or cannot be made.
    #[error("could not use the directory {}", .0.display())]
    Directory(PathBuf, #[source] io::Error),
    /// The directory holds another kind of vault, as this file shows.
    #[error("{} exists, so the directory holds another store", .0.display())]
    OtherVault(PathBuf),
    /// A file in the directory, with the action that failed.
    #[error("could not {0} the data directory")]
    File(&'static str, #[source] io::Error),
    /// The database.
    #[error(transparent)]
    Store(#[from] store::OpenError),
    /// No key could be made.
    #[error("the system provided no random bytes")]
    NoRandomness,
}

/// The process that serves a data directory.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ServedBy {
    /// Its id.
    pub pid: u32,
    /// Where it listens.
    pub url: String,
}

impl From<getrandom::Error> for OpenError {
    fn from(_: getrandom::Error) -> Self {
        Self::NoRandomness
    }
}

impl From<ring::error::Unspecified> for OpenError {
    fn from(_: ring::error::Unspecified) -> Self {
        Self::NoRandomness
    }
}
