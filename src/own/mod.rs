//! The person's own store: a vault on this computer that only imports fill.
//!
//! It shares no file with the sandbox's made-up data, and neither opens the other's store. [`backend`]
//! reads it in this process, and [`serving`] keeps it open while a server runs. [`page`] is the owner's
//! page, and [`reads`] the log of what was read over HTTP.

pub mod backend;
pub mod backup;
mod damage;
pub mod forget;
mod identity;
pub mod import;
pub mod inbox;
pub mod page;
pub mod reads;
pub mod separate;
pub mod serving;
pub mod state;

pub use damage::told;
pub use identity::{issuer, make_store_id, store_id};

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::advice::{Command, Hint};
use crate::cache::Cache;
use crate::error::{Error, Kind, Result};
use crate::fs::{DirLock, PrivateDir};
use crate::import::formats;
use crate::vault::oauth::owner::Announce;
use crate::vault::owner_pages::OwnerPages;
use crate::vault::public_name::Public;
use crate::vault::server::{self, Extras, Handle, MakePages};
use crate::vault::store::{self, Store};
use crate::vault::{self, Config, Holds, OpenError, Profile, Vault, time};

/// The profile of this vault.
pub const PROFILE: Profile = Profile {
    name: "Your own data on this computer",
    title: "Your own data",
    owner: "On this computer",
    command: "pdpp connect local",
    is_service: false,
    subject_id: "owner_local",
    declaration_version: "own.v1",
    introspection_client_id: "own_rs",
    renew: formats::renew,
    database: "own.db",
    not_beside: &["sandbox.db"],
    application_id: store::OWN,
    grants: Some("grants.db"),
    is_served: false,
    holds: Some(HOLDS),
};

/// What a grant of the person's own store protects against, and what it does not.
pub const HOLDS: Holds = Holds {
    against: &[
        "another user of this computer",
        "a web page",
        "a program on this computer that has no token and runs as another user",
        "an agent that has only the six tools and no shell: it cannot read beyond the grant, whatever a record talks it into",
    ],
    not: &[
        "an agent with a shell, or any program that runs as you: it can read the store, your exports \
         and the tokens, and approve in your name",
        "an agent that passes on what you granted, by a web search, links or other tools: grant \
         only what you are willing to share",
    ],
};

/// The same for a store that is served, where an approval needs a passphrase.
const HOLDS_SERVED: Holds = Holds {
    not: &[
        "an agent with a shell, or any program that runs as you: it can read the store, your exports and the tokens without \
         asking",
        "an agent that passes on what you granted, by a web search, links or other tools: grant \
         only what you are willing to share",
    ],
    ..HOLDS
};

/// The same for a store that belongs to a system user ([`separate`]).
const HOLDS_SEPARATE: Holds = Holds {
    against: &[
        "another user of this computer",
        "a web page",
        "a program on this computer that has no token",
        "an agent, with a shell or without: it cannot read beyond the grant, whatever a record talks it into",
    ],
    not: &[
        "anyone who reads your exports while they are where you can read them, or has the token that \
         the agent is given",
        "anyone who learns your passphrase, and a program that runs as you and reads or controls your \
         browser or terminal while you decide or while the owner's page is open",
        "a program that runs as you, if you may use sudo without a password",
        "an agent that passes on what you granted, by a web search, links or other tools: grant \
         only what you are willing to share",
    ],
};

/// The port that `pdpp provider serve` listens on by default.
pub const DEFAULT_PORT: u16 = 7378;

/// The port where a proxy or tunnel leads by default.
pub const PROXY_PORT: u16 = 7379;

/// The folder in the cache's directory that holds the store by default.
const DEFAULT: &str = "own";
/// The lock that an importing process holds; it names itself in [`IMPORTED_BY`].
const IMPORTING: &str = "importing";
/// The id of the process that is importing.
const IMPORTED_BY: &str = "imported-by";
/// The longest text in that file, in bytes.
const MAX_PID: u64 = 32;

/// The store's directory: the one that was `named` (`--data-dir`, `PDPP_DATA_DIR`), else the one that was
/// named at an earlier import, else `own/` in the cache's directory. Touches nothing.
///
/// # Errors
/// The errors of the cache's index; a path that cannot be made absolute.
pub fn dir(named: Option<&Path>, cache: &Cache) -> Result<PathBuf> {
    let dir = match named {
        Some(named) => named.to_owned(),
        None => cache.data_dir()?.unwrap_or_else(|| cache.dir().join(DEFAULT)),
    };
    std::path::absolute(&dir).map_err(|error| unusable(&dir, error))
}

/// Remembers a directory that was `named`, for programs that get no `--data-dir`.
///
/// # Errors
/// The errors of writing the cache's index.
pub fn remember(named: Option<&Path>, cache: &Cache) -> Result<()> {
    let Some(named) = named else { return Ok(()) };
    let dir = dir(Some(named), cache)?;
    if cache.data_dir()?.is_none() && dir == cache.dir().join(DEFAULT) {
        return Ok(());
    }
    cache.remember_data_dir(&dir)
}

/// Whether there is a store in `dir`. Touches nothing.
pub fn is_there(dir: &Path) -> bool {
    dir.join(PROFILE.database).symlink_metadata().is_ok_and(|found| found.len() > 0)
}

/// Checks that an import may use `dir`: it does not exist yet, or only this user can use it and it is not
/// another kind of store. Touches nothing.
///
/// # Errors
/// `own_data_dir` (77).
pub fn check_place(dir: &Path) -> Result<()> {
    match PrivateDir::open_named(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(|error| unusable(dir, error))?,
    };
    match vault::data_dir::other_vault(dir, PROFILE.not_beside) {
        Some(other) => Err(explain(OpenError::OtherVault(other))),
        None => Ok(()),
    }
}

/// Opens the vault in `dir`, which must exist.
///
/// # Errors
/// `own_missing` (78); `own_data_dir` (77), `own_store`, `own_damaged`, `no_randomness`.
pub fn open(dir: &Path) -> Result<Vault> {
    open_with(dir, false, Announce::default())
}

/// Opens the vault in `dir` to serve it: `core` as in [`Config`]; `announce` tells its owner about
/// requests.
///
/// # Errors
/// The errors of [`open`].
pub fn open_with(dir: &Path, core: bool, announce: Announce) -> Result<Vault> {
    check(dir)?;
    Vault::open(Config { core, announce, ..config(dir) }, None).map_err(|error| told(dir, explain(error)))
}

/// The configuration of a vault of the person's own.
fn config(dir: &Path) -> Config {
    Config {
        data_dir: Some(dir.to_owned()),
        core: false,
        auto_approve: false,
        asks_passphrase: false,
        announce: Announce::default(),
        public: None,
        profile: PROFILE,
    }
}

/// Checks that the vault in `dir` can be served at `listen`, as far as that can be known beforehand.
///
/// # Errors
/// `own_missing` (78); `own_not_loopback` (2), `own_in_use`; `own_data_dir` (77).
pub fn check_served(dir: &Path, listen: SocketAddr) -> Result<()> {
    check(dir)?;
    if !listen.ip().is_loopback() {
        return Err(explain(OpenError::NotLoopback(listen.ip())));
    }
    check_not_served(dir)
}

/// Checks that no process serves the vault in `dir`, an existing directory.
///
/// # Errors
/// `own_in_use`; `own_data_dir` (77).
pub fn check_not_served(dir: &Path) -> Result<()> {
    vault::data_dir::check_unserved(dir).map_err(explain)
}

/// Serves the vault in `dir`, which must exist, at `listen`, a loopback address, and at its `public` name
/// if it has one, with its owner's page, and logs what is read. `announce` tells its owner about
/// requests, which they approve with the passphrase. `cache` has the owner's tokens and the log of their
/// agents; it is `None` if those belong to another user, whom this serves as a service.
///
/// # Errors
/// The errors of [`open`]; `own_not_loopback` (2), `own_listen`, `own_in_use`.
pub fn serve(
    dir: &Path,
    core: bool,
    listen: SocketAddr,
    public: Option<Public>,
    announce: Announce,
    cache: Option<&Cache>,
) -> Result<Handle> {
    check(dir)?;
    let holds = if separate::place::person_of(dir).is_some() { HOLDS_SEPARATE } else { HOLDS_SERVED };
    let profile = Profile {
        command: "pdpp provider serve",
        is_service: cache.is_none(),
        holds: Some(holds),
        ..PROFILE
    };
    let config = Config { core, asks_passphrase: true, announce, public, profile, ..config(dir) };
    let for_proxy = config.public.as_ref().map(|public| public.listen).filter(|proxy| *proxy != listen);
    let (at, cache) = (dir.to_owned(), cache.cloned());
    let pages: MakePages = Box::new(move |vault: &Arc<Vault>| -> Arc<dyn OwnerPages> {
        page::Pages::of(Arc::clone(vault), &at, cache)
    });
    let reads = Arc::new(reads::ReadLog::of(dir));
    let extras = Extras { reads: Some(reads), pages: Some(pages) };
    server::start_with_extras(config, None, listen, extras).map_err(|error| {
        let error = match error {
            OpenError::Listen(address, error) if for_proxy == Some(address) => {
                not_listening(address, error, "--public-listen")
            }
            other => explain(other),
        };
        told(dir, error)
    })
}

/// Serves only the owner's page of the store in `dir`, which must exist, on a free port, until the handle
/// is dropped. Returns the page too.
///
/// # Errors
/// The errors of [`open`]; `own_listen`.
pub fn serve_page(dir: &Path, cache: &Cache) -> Result<(Handle, Arc<page::Pages>)> {
    let vault = Arc::new(open(dir)?);
    let pages = page::Pages::of(Arc::clone(&vault), dir, Some(cache.clone()));
    let served = server::start_owner_pages(vault, Arc::clone(&pages) as _);
    Ok((served.map_err(|error| told(dir, explain(error)))?, pages))
}

/// Opens the store in `dir`, which must exist, for commands that look at it or delete from it.
///
/// # Errors
/// The errors of [`open`].
pub fn open_store(dir: &Path) -> Result<Store> {
    check(dir)?;
    vault::open_store(dir, &PROFILE, None).map_err(|error| told(dir, explain(error)))
}

/// The connections of the store in `dir` that live grants cover.
///
/// # Errors
/// The errors of [`open`].
pub fn granted(dir: &Path) -> Result<BTreeSet<String>> {
    // Without a store nothing was granted, and none is created to find that out.
    let is_there = PROFILE.grants.is_some_and(|grants| dir.join(grants).symlink_metadata().is_ok());
    if !is_there {
        return Ok(BTreeSet::new());
    }
    let made = open(dir)?.grants_made().map_err(|error| {
        let failed = Error::failed("own_store", "Could not read the grants of your own data");
        told(dir, failed.because(io::Error::other(error.message().to_owned())))
    })?;
    let now = time::now_ms();
    let live = made.into_iter().filter(|(grant, ended)| ended.is_none() && !grant.is_expired(now));
    let streams = live.flat_map(|(grant, _)| grant.streams);
    Ok(streams.flat_map(|stream| stream.instance_ids).collect())
}

/// Opens the store in `dir`, or creates an empty one; only imports do this.
///
/// # Errors
/// `own_data_dir` (77), `own_store`, `own_damaged`.
pub fn make_store(dir: &Path) -> Result<Store> {
    let store = vault::open_store(dir, &PROFILE, None).map_err(|error| told(dir, explain(error)))?;
    // An unfinished deletion must not meet new records.
    forget::finish(dir, &store).map_err(|error| told(dir, error))?;
    Ok(store)
}

/// Locks the store in `dir` for writing records; the store is created if it does not exist. Only one
/// import runs at a time, and none while an account is being deleted.
///
/// # Errors
/// `import_running`, naming the process that holds the lock; `own_data_dir` (77).
pub fn lock(dir: &Path) -> Result<DirLock> {
    let private = PrivateDir::create_named(dir).map_err(|error| unusable(dir, error))?;
    let locked = lock_named(&private, IMPORTING, IMPORTED_BY).map_err(|error| unusable(dir, error))?;
    locked.map_err(|by| {
        let message = format!("Another pdpp{by} is writing to {}", dir.display());
        Error::failed("import_running", message).hint("Wait until it has finished, then run this again")
    })
}

/// Takes the lock `name` in `dir` and writes this process's id into the file `by`; otherwise returns in
/// brackets which process has it.
fn lock_named(dir: &PrivateDir, name: &str, by: &str) -> io::Result<Result<DirLock, String>> {
    let Some(lock) = dir.try_lock(name)? else {
        let pid = dir.read(by, MAX_PID).ok();
        let pid = pid.and_then(|pid| String::from_utf8_lossy(&pid).trim().parse::<u32>().ok());
        return Ok(Err(pid.map_or_else(String::new, |pid| format!(" (process {pid})"))));
    };
    dir.write(by, format!("{}\n", std::process::id()).as_bytes())?;
    Ok(Ok(lock))
}

/// Checks that there is a store in `dir`, and that only this user can use it.
fn check(dir: &Path) -> Result<()> {
    match PrivateDir::open_named(dir) {
        Ok(_) if is_there(dir) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(dir, error)),
        _ => Err(Error::new(
            Kind::NotConnected,
            "own_missing",
            format!("There is no store of your own data in {}", dir.display()),
        )
        .run(Command::new("import <export>"))),
    }
}

fn unusable(dir: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied => Kind::Refused,
        _ => Kind::Failed,
    };
    Error::new(kind, "own_data_dir", format!("Could not use the directory {}", dir.display()))
        .because(error)
        .hint(to_use(dir))
}

/// What to do about a directory that others can enter.
const MAKE_PRIVATE: &str = if cfg!(windows) {
    "Give access only to yourself and the administrators (icacls), or name another one with --data-dir"
} else {
    "Make it your own user's with mode 700, or name another one with --data-dir"
};

/// What to do about a directory that cannot be used. One of the separate set-up belongs to its service,
/// and must not become anyone else's: any program of theirs could read it then.
fn to_use(dir: &Path) -> Hint {
    if let Some(uid) = separate::place::whose(dir) {
        return Hint::new(format!(
            "Leave it unchanged: it belongs to the service of the user {uid}, which that user reaches \
             without --data-dir: "
        ))
        .run(Command::new("provider"));
    }
    Hint::new(MAKE_PRIVATE)
}

/// The typed command, with an address that can be used.
fn at_a_free_port(option: &'static str) -> Command {
    Command::typed_with(option, "127.0.0.1:0", "provider serve")
}

fn not_listening(address: SocketAddr, error: io::Error, option: &'static str) -> Error {
    Error::failed("own_listen", format!("Could not listen on {address}"))
        .because(error)
        .run(at_a_free_port(option))
}

/// Why the store does not open, for the person who ran the command.
pub fn explain(error: OpenError) -> Error {
    let failed = |message: &str| Error::failed("own_store", message);
    match error {
        OpenError::Directory(dir, error) => unusable(&dir, error),
        OpenError::File(what, error) => {
            let kind = match error.kind() {
                io::ErrorKind::PermissionDenied => Kind::Refused,
                _ => Kind::Failed,
            };
            Error::new(kind, "own_data_dir", format!("Could not {what} the data directory"))
                .because(error)
                .hint(MAKE_PRIVATE)
        }
        OpenError::OtherVault(file) => Error::new(
            Kind::Refused,
            "own_data_dir",
            format!("{} exists: that directory holds another store, not your own data's", file.display()),
        )
        .hint("Name another directory with --data-dir"),
        OpenError::NoRandomness => {
            Error::no_randomness("The system provided no random bytes, so no key can be created")
        }
        OpenError::Store(error) => {
            let hint = match &error {
                store::OpenError::OtherVersion { written_by: Some(release), .. } => {
                    Some(format!("Install pdpp {release} or later"))
                }
                store::OpenError::OtherVersion { .. } => Some("Install the newest pdpp".to_owned()),
                store::OpenError::Foreign { .. } => Some("Name another directory with --data-dir".to_owned()),
                _ => None,
            };
            let failed = failed("Could not open the store of your own data").because(error);
            match hint {
                Some(hint) => failed.hint(hint),
                None => failed,
            }
        }
        OpenError::NotLoopback(address) => Error::new(
            Kind::Usage,
            "own_not_loopback",
            format!("Your own data is served on loopback only, not on {address}"),
        )
        .run(at_a_free_port("--listen")),
        OpenError::Listen(address, error) => not_listening(address, error, "--listen"),
        OpenError::Start(what, error) => {
            Error::failed("own_listen", format!("Could not start {what}")).because(error)
        }
        OpenError::InUse(dir, by) => {
            let by = by.map_or("Another pdpp".to_owned(), |by| {
                format!("The pdpp at {} (process {})", by.url, by.pid)
            });
            let error = Error::failed("own_in_use", format!("{by} already serves {}", dir.display()));
            match separate::place::person_of(&dir) {
                Some(uid) => {
                    error.hint(format!("Stop it first: {}", separate::which::systemctl("stop", uid)))
                }
                None => error.hint("Use that one, or stop it first"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FICTION: Profile = Profile {
        database: "sandbox.db",
        not_beside: &["own.db"],
        application_id: store::FICTION,
        ..PROFILE
    };

    fn cache() -> (tempfile::TempDir, Cache) {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::open(&root.path().join("cache")).unwrap();
        (root, cache)
    }

    #[test]
    fn o1_2_a_store_is_where_it_was_named_last_and_is_no_sandbox() {
        let (root, cache) = cache();
        assert_eq!(dir(None, &cache).unwrap(), root.path().join("cache/own"));
        let named = root.path().join("mine");
        remember(Some(&named), &cache).unwrap();
        assert_eq!(dir(None, &cache).unwrap(), named);
        assert_eq!(open(&named).err().unwrap().code(), "own_missing");
        assert!(!named.exists());
        drop(make_store(&named).unwrap());
        open(&named).unwrap();
        assert!(vault::open_store(&named, &FICTION, None).is_err());
        let fiction = root.path().join("fiction");
        drop(crate::vault::open_store(&fiction, &FICTION, None).unwrap());
        let refused = make_store(&fiction).err().unwrap();
        assert_eq!((refused.code(), refused.kind()), ("own_data_dir", Kind::Refused));
        assert_eq!(
            std::fs::read_dir(&fiction)
                .unwrap()
                .filter(|f| f.as_ref().unwrap().file_name() == "own.db")
                .count(),
            0
        );
    }

    #[test]
    fn o9_1_nobody_is_told_to_make_a_services_directory_their_own() {
        let advice = |dir: &str| {
            let denied = io::Error::from(io::ErrorKind::PermissionDenied);
            unusable(Path::new(dir), denied).next().unwrap().to_string()
        };
        assert_eq!(advice("/home/ana/own"), MAKE_PRIVATE);
        for theirs in ["/var/lib/pdpp/1000", "/var/lib/pdpp/1000/inbox", "/var/lib/pdpp/kept-1000"] {
            let advice = advice(theirs);
            assert!(
                advice.contains("the service of the user 1000") && advice.ends_with("pdpp provider"),
                "{advice}"
            );
            assert!(!advice.contains("mode 700"), "{advice}");
        }
    }

    #[test]
    fn o3_3_one_import_at_a_time_and_the_other_is_told_whose_it_is() {
        let (root, _) = cache();
        let dir = root.path().join("own");
        let held = lock(&dir).unwrap();
        let refused = lock(&dir).err().unwrap();
        assert_eq!(refused.code(), "import_running");
        assert!(refused.message().contains(&format!("process {}", std::process::id())), "{refused}");
        drop(held);
        lock(&dir).unwrap();
    }

    #[cfg(unix)]
    #[test]
    #[allow(clippy::disallowed_methods, reason = "the file is made wrong on purpose")]
    fn o3_1_a_store_that_others_can_reach_is_refused() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let (root, _) = cache();
        let dir = root.path().join("own");
        drop(make_store(&dir).unwrap());
        assert_eq!(std::fs::metadata(dir.join("own.db")).unwrap().mode() & 0o777, 0o600);
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&dir, &link).unwrap();
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o750)).unwrap();
        for path in [&dir, &link] {
            for refused in [open_store(path).err().unwrap(), make_store(path).err().unwrap()] {
                assert_eq!((refused.code(), refused.kind()), ("own_data_dir", Kind::Refused));
            }
        }
    }
}
