//! A vault filled with the data of a made-up person, for `pdpp sandbox` and for tests.
//!
//! [`seed`] makes the data up. The provider itself is [`crate::vault`], which knows nothing about this module.

pub mod seed;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::advice::{Command, Hint};
use crate::error::{Error, Kind, Result};
use crate::vault::oauth::owner::Announce;
use crate::vault::server::{self, Handle};
use crate::vault::store::{self, Filling, Store};
use crate::vault::{self, OpenError, Profile, Vault};

/// The default port of `pdpp sandbox`: P-D-P-P on a telephone keypad.
pub const DEFAULT_PORT: u16 = 7377;

/// The profile of a sandbox's vault.
const PROFILE: Profile = Profile {
    name: "PDPP sandbox (made-up data)",
    title: "PDPP sandbox",
    owner: "Made-up data of Maren Solberg",
    command: "pdpp sandbox",
    is_service: false,
    subject_id: "owner_sandbox",
    declaration_version: "sandbox.v1",
    introspection_client_id: "sandbox_rs",
    renew: |_| (),
    database: "sandbox.db",
    not_beside: &["own.db"],
    application_id: store::FICTION,
    grants: None,
    is_served: true,
    holds: None,
};

/// How to set up a sandbox.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen: a loopback address. Port 0 picks a free port.
    pub listen: SocketAddr,
    /// Where to keep the data; in memory if `None`.
    pub data_dir: Option<PathBuf>,
    /// The seed of the data for a new store; a new store stays empty if `None`.
    pub seed: Option<u64>,
    /// Serve only what v0.1 of the draft has: no schema, search, aggregate or field windows, no filters, expansion
    /// or views.
    pub core: bool,
    /// Approve every request without asking: any program that reaches the port gets a token.
    pub auto_approve: bool,
    /// How the owner learns of a request.
    pub announce: Announce,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            data_dir: None,
            seed: Some(1),
            core: false,
            auto_approve: false,
            announce: Announce::default(),
        }
    }
}

impl Config {
    fn into_vault(self) -> vault::Config {
        let Self { data_dir, core, auto_approve, announce, .. } = self;
        let asks_passphrase = false;
        vault::Config {
            data_dir,
            core,
            auto_approve,
            asks_passphrase,
            announce,
            public: None,
            profile: PROFILE,
        }
    }
}

/// Opens a sandbox without a socket.
///
/// # Errors
/// Returns `sandbox_store`, `sandbox_data_dir` or `no_randomness`.
pub fn open(config: Config) -> Result<Vault> {
    with_filling(config.seed, |filling| Vault::open(config.into_vault(), filling))
}

/// Starts a sandbox on its own thread. It is ready when this returns. Works inside and outside a runtime.
///
/// # Errors
/// Returns `sandbox_not_loopback`, `sandbox_listen`, `sandbox_in_use`, or the errors of [`open`].
pub fn start(config: Config) -> Result<Handle> {
    let listen = config.listen;
    with_filling(config.seed, |filling| server::start(config.into_vault(), filling, listen))
}

/// Opens the store of the sandbox in `dir`. Fills a new store with the data of `seed`.
///
/// # Errors
/// Returns the errors of [`open`].
pub fn open_store(dir: &Path, seed: Option<u64>) -> Result<Store> {
    with_filling(seed, |filling| vault::open_store(dir, &PROFILE, filling))
}

/// Opens something, and fills its new store with the data of `seed`.
fn with_filling<T>(
    seed: Option<u64>,
    open: impl FnOnce(Option<&Filling<'_>>) -> Result<T, OpenError>,
) -> Result<T> {
    let opened = match seed {
        Some(seed) => open(Some(&|ingest| seed::fill(ingest, seed))),
        None => open(None),
    };
    opened.map_err(error)
}

/// The same command, for another directory.
fn in_another_directory() -> Command {
    Command::typed_with("--data-dir", "DIR", "sandbox")
}

/// The next step if a directory cannot be used.
fn other_dir() -> Hint {
    Hint::new("Make it yours with mode 700, or name a directory that does not exist yet: ")
        .run(in_another_directory())
}
/// The same command, for an address that can be used.
fn at_a_free_port() -> Command {
    Command::typed_with("--listen", "127.0.0.1:0", "sandbox")
}

/// The error message for a sandbox that does not open.
fn error(error: OpenError) -> Error {
    match error {
        OpenError::NotLoopback(address) => Error::new(
            Kind::Usage,
            "sandbox_not_loopback",
            format!("The sandbox listens only on loopback addresses, and {address} is not one"),
        )
        .run(at_a_free_port()),
        OpenError::Listen(address, error) => {
            Error::failed("sandbox_listen", format!("Could not listen on {address}"))
                .because(error)
                .run(at_a_free_port())
        }
        OpenError::Start(what, error) => {
            Error::failed("sandbox_listen", format!("Could not start {what}")).because(error)
        }
        OpenError::InUse(dir, by) => {
            let by = by.map_or("another sandbox".to_owned(), |by| {
                format!("the sandbox at {} (process {})", by.url, by.pid)
            });
            Error::failed("sandbox_in_use", format!("{by} already serves {}", dir.display()))
                .hint(Hint::new("Use that one, or name another directory: ").run(in_another_directory()))
        }
        OpenError::Directory(path, error) => {
            Error::failed("sandbox_data_dir", format!("Could not use the directory {}", path.display()))
                .because(error)
                .hint(other_dir())
        }
        OpenError::OtherVault(file) => Error::new(
            Kind::Refused,
            "sandbox_data_dir",
            format!("{} exists, so the directory holds another store, not a sandbox", file.display()),
        )
        .hint(Hint::new("Name another directory: ").run(in_another_directory())),
        OpenError::File(what, error) => {
            Error::failed("sandbox_data_dir", format!("Could not {what} the data directory"))
                .because(error)
                .hint(other_dir())
        }
        OpenError::Store(error) => {
            let other_version =
                matches!(error, store::OpenError::OtherVersion { .. } | store::OpenError::Foreign { .. });
            let failed = Error::failed("sandbox_store", "Could not open the sandbox's data").because(error);
            if other_version {
                failed.hint("Name another --data-dir, or remove this directory")
            } else {
                failed
            }
        }
        OpenError::NoRandomness => {
            Error::no_randomness("The system provided no random bytes, so pdpp could not make a key")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_store_is_filled_and_an_old_one_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("kept");
        let count = |store: &Store| {
            store.read::<i64, rusqlite::Error>(|db, _| {
                db.query_row("SELECT count(*) FROM record WHERE data IS NOT NULL", [], |row| row.get(0))
            })
        };
        let first = count(&open_store(&kept, Some(1)).unwrap()).unwrap();
        assert!(first > 20_000);
        assert_eq!(count(&open_store(&kept, Some(2)).unwrap()).unwrap(), first);
    }
}
