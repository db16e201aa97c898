//! The life of a fictional person, and the vault that it fills: what `pdpp sandbox` and tests try things on.
//!
//! [`seed`] makes the life up. The provider itself is [`crate::vault`], which knows nothing of this.

pub mod seed;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::advice::{Command, Hint};
use crate::error::{Error, Kind, Result};
use crate::vault::oauth::owner::Announce;
use crate::vault::server::{self, Handle};
use crate::vault::store::{self, Filling, Store};
use crate::vault::{self, OpenError, Profile, Vault};

/// The port that `pdpp sandbox` listens on unless it is told another: P-D-P-P on a telephone.
pub const DEFAULT_PORT: u16 = 7377;

/// Whose vault a sandbox is.
const PROFILE: Profile = Profile {
    name: "PDPP sandbox (fictional data)",
    title: "PDPP sandbox",
    owner: "Fictional data of Maren Solberg",
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

/// What a sandbox is to be.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen: a loopback address; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where to keep the data; in memory without.
    pub data_dir: Option<PathBuf>,
    /// Which life a new store is filled with; none leaves it empty.
    pub seed: Option<u64>,
    /// Only what v0.1 of the draft has: no schema, search, aggregate or field windows, no filters,
    /// expansion or views.
    pub core: bool,
    /// Approve every request without asking: whoever reaches the port gets a token.
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
/// `sandbox_store`, `sandbox_data_dir`, `no_randomness`.
pub fn open(config: Config) -> Result<Vault> {
    with_filling(config.seed, |filling| Vault::open(config.into_vault(), filling))
}

/// Starts a sandbox on a thread of its own, ready when this returns. Works inside and outside of a runtime.
///
/// # Errors
/// `sandbox_not_loopback`, `sandbox_listen`, `sandbox_in_use`; those of [`open`].
pub fn start(config: Config) -> Result<Handle> {
    let listen = config.listen;
    with_filling(config.seed, |filling| server::start(config.into_vault(), filling, listen))
}

/// Opens the store of the sandbox in `dir`; a new one is filled with the life of `seed`.
///
/// # Errors
/// Those of [`open`].
pub fn open_store(dir: &Path, seed: Option<u64>) -> Result<Store> {
    with_filling(seed, |filling| vault::open_store(dir, &PROFILE, filling))
}

/// Opens something whose new store is filled with the life of `seed`.
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

/// What to do about a directory that cannot be used.
fn other_dir() -> Hint {
    Hint::new("Make it your own user's, mode 700, or name one that is not there yet: ")
        .run(in_another_directory())
}
/// The same command, for an address that can be used.
fn at_a_free_port() -> Command {
    Command::typed_with("--listen", "127.0.0.1:0", "sandbox")
}

/// Why a sandbox does not open, for whoever started it.
fn error(error: OpenError) -> Error {
    match error {
        OpenError::NotLoopback(address) => Error::new(
            Kind::Usage,
            "sandbox_not_loopback",
            format!("The sandbox listens on loopback only, not on {address}"),
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
            Error::failed("sandbox_in_use", format!("{by} serves {} already", dir.display()))
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
            format!("{} is there: that directory holds another store, not a sandbox's", file.display()),
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
            if other_version { failed.hint("use another --data-dir, or remove this one") } else { failed }
        }
        OpenError::NoRandomness => {
            Error::failed("no_randomness", "The system gave no randomness, so no key can be made")
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
