//! A vault: a PDPP provider on this computer. It has an authorization server and a resource server on loopback, over
//! SQLite.
//!
//! It is a real provider, not a mock: it enforces grants ([`enforcement`]), and the owner consents on a page
//! ([`oauth::consent`]). It knows nothing about the person. The code that opens a vault says whose it is ([`Profile`])
//! and may fill a new one ([`store::Filling`]).
//!
//! It shares nothing with [`crate::provider`] except the wire, so that testing the client against it proves
//! something. Only its `/mcp` ([`mcp_endpoint`]) uses that client.

pub mod accounts;
pub mod data_dir;
pub mod declaration;
pub mod enforcement;
pub mod excerpts;
pub mod fields;
mod filter;
pub mod folding;
pub mod grant;
pub mod html;
pub mod id;
pub mod mcp_endpoint;
pub mod oauth;
mod open_error;
pub mod owner_pages;
pub mod pace;
pub mod public_name;
pub mod reads;
mod routes;
pub mod rs;
pub mod seal;
pub mod server;
pub mod sorting;
pub mod store;
pub mod time;
pub mod transfer;
pub mod wire;
pub mod words;

pub use open_error::{OpenError, ServedBy};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use oauth::flows::Flows;
use rusqlite::OptionalExtension as _;
use store::{Filling, Store};

use crate::fs::PrivateDir;

/// The file with the owner's token in a data directory.
const OWNER_TOKEN: &str = "owner-token";
/// The file with the resource server's introspection credentials in a data directory.
const INTROSPECTION: &str = "introspection.json";

/// Whose vault it is, for its metadata, its pages and its grants.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    /// The name for programs: `resource_name` of its metadata.
    pub name: &'static str,
    /// The name for the owner, on the pages.
    pub title: &'static str,
    /// The person whose data it holds, on the pages.
    pub owner: &'static str,
    /// The command that runs it. The owner's links are printed where it was typed.
    pub command: &'static str,
    /// Whether it runs as a service. Then nobody sees what it prints, and its owner decides on a separate page.
    pub is_service: bool,
    /// The subject of every grant.
    pub subject_id: &'static str,
    /// The revision of its sources' declarations, as a grant names it.
    pub declaration_version: &'static str,
    /// The user name with which its own resource server introspects.
    pub introspection_client_id: &'static str,
    /// The current declarations for the connectors that an older version declared.
    pub renew: store::Renew,
    /// The name of the database within its data directory.
    pub database: &'static str,
    /// The databases of other kinds of vaults. It never shares a directory with them.
    pub not_beside: &'static [&'static str],
    /// The application id in its database: [`store::FICTION`] or [`store::OWN`].
    pub application_id: i32,
    /// The name of a separate database for clients, grants and tokens, so that ending a grant never waits for a
    /// writer of records. `None` keeps them in the same database as the records.
    pub grants: Option<&'static str>,
    /// Whether programs reach it over HTTP. If so, an owner's token and credentials for introspection are kept next
    /// to the data.
    pub is_served: bool,
    /// What a grant protects against and what it does not, if the pages must explain that.
    pub holds: Option<Holds>,
}

/// What a vault's grant protects against, and what it does not, in words for its owner.
#[derive(Debug, Clone, Copy)]
pub struct Holds {
    /// What a grant stops.
    pub against: &'static [&'static str],
    /// What it does not stop.
    pub not: &'static [&'static str],
}

/// How to set up a vault.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to keep the data; in memory if `None`.
    pub data_dir: Option<PathBuf>,
    /// Serve only what v0.1 of the draft has: no schema, search, aggregate or field windows, no filters, expansion
    /// or views.
    pub core: bool,
    /// Approve every request without asking: any program that reaches the port gets a token.
    pub auto_approve: bool,
    /// Whether an approval also needs the owner's passphrase.
    pub asks_passphrase: bool,
    /// How the owner learns of a request.
    pub announce: oauth::owner::Announce,
    /// The name by which others reach it through a proxy, if it has one.
    pub public: Option<public_name::Public>,
    /// Whose vault it is.
    pub profile: Profile,
}

/// The credentials with which a resource server introspects.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct IntrospectionClient {
    /// The user name for HTTP Basic.
    pub client_id: String,
    /// The password.
    pub client_secret: String,
}

/// The provider itself, without a socket.
pub struct Vault {
    config: Config,
    store: Arc<Store>,
    /// The store of clients, grants and tokens: the same store, or a separate one.
    grants: Arc<Store>,
    flows: Flows,
    /// The pairing codes, if there is a public name.
    pairing: Option<oauth::pairing_code::Pairing>,
    client_documents: oauth::client_document::Documents,
    seal: seal::Seal,
    csrf: ring::hmac::Key,
    owner_token: String,
    owner_token_hash: String,
    introspection: IntrospectionClient,
    child_bearers: oauth::child_bearers::ChildBearers,
    clock: Box<dyn pace::Clock>,
    reads: Option<Arc<dyn reads::ReadSink>>,
}

impl Vault {
    /// Opens the vault that `config` describes. Fills a new one with `filling`.
    ///
    /// # Errors
    /// Returns an [`OpenError`].
    pub fn open(config: Config, filling: Option<&Filling<'_>>) -> Result<Self, OpenError> {
        let dir = config.data_dir.as_deref().map(data_dir::open).transpose()?;
        let path = dir.as_ref().map(|dir| database(dir, &config.profile)).transpose()?;
        let id = config.profile.application_id;
        let store = Store::open(path.as_deref(), id, filling)?;
        let store = Arc::new(store.renewing(config.profile.renew));
        let grants = match (&dir, config.profile.grants) {
            (Some(dir), Some(name)) => {
                dir.make_file(name).map_err(|error| OpenError::File("write to", error))?;
                Arc::new(Store::open(Some(&dir.path().join(name)), id, None)?)
            }
            _ => Arc::clone(&store),
        };
        let key = seal_key(&grants)?;
        Self::over(config, store, grants, &key, dir.as_ref())
    }

    /// Opens the vault that `config` describes for reads only. It makes and writes nothing, and takes no lock that
    /// a writer would wait for, except the first time after an update that changed the store's format.
    ///
    /// # Errors
    /// Returns an [`OpenError`]; [`OpenError::Directory`] if no such vault exists.
    pub fn open_to_read(config: Config) -> Result<Self, OpenError> {
        let path = config.data_dir.clone().unwrap_or_default();
        let dir = PrivateDir::open(&path).map_err(|error| OpenError::Directory(path, error))?;
        let id = config.profile.application_id;
        let open = |name: &str| {
            let store = Store::open_to_read(&dir.path().join(name), id)?;
            Ok::<_, store::OpenError>(Arc::new(store.renewing(config.profile.renew)))
        };
        let store = open(config.profile.database)?;
        let grants = config.profile.grants.map_or_else(|| Ok(Arc::clone(&store)), open)?;
        let key: Option<Vec<u8>> =
            grants.read(|db, _| known_seal_key(db)).map_err(store::OpenError::Sqlite)?;
        let key = key.and_then(|key| key.try_into().ok()).ok_or(OpenError::NoRandomness)?;
        Self::over(config, store, grants, &key, None)
    }

    fn over(
        config: Config,
        store: Arc<Store>,
        grants: Arc<Store>,
        key: &[u8; seal::KEY_LEN],
        dir: Option<&PrivateDir>,
    ) -> Result<Self, OpenError> {
        let dir = dir.filter(|_| config.profile.is_served);
        let owner_token = data_dir::kept(dir, OWNER_TOKEN, || Ok(id::random_token("pdpp_ot_")?))?;
        let introspection = data_dir::kept(dir, INTROSPECTION, || {
            let client_id = config.profile.introspection_client_id.to_owned();
            let client = IntrospectionClient { client_id, client_secret: id::random_token("")? };
            serde_json::to_string(&client).map_err(|error| OpenError::File("write", error.into()))
        })?;
        Ok(Self {
            seal: seal::Seal::new(key)?,
            csrf: ring::hmac::Key::generate(ring::hmac::HMAC_SHA256, &ring::rand::SystemRandom::new())?,
            flows: Flows::default(),
            pairing: config.public.as_ref().map(|_| oauth::pairing_code::Pairing::new()).transpose()?,
            child_bearers: oauth::child_bearers::ChildBearers::default(),
            client_documents: oauth::client_document::Documents::default(),
            clock: Box::new(pace::MachineClock::default()),
            reads: None,
            owner_token_hash: id::token_hash(&owner_token),
            owner_token,
            introspection: serde_json::from_str(&introspection)
                .map_err(|error| OpenError::File("read introspection.json in", error.into()))?,
            config,
            store,
            grants,
        })
    }

    /// The same vault with another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: impl pace::Clock + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// The code that admits the next request from outside, if there is a public name.
    pub fn pairing_code(&self) -> Option<String> {
        self.pairing.as_ref().map(oauth::pairing_code::Pairing::code)
    }

    /// Whether anyone may have sent this request: it came in by the public name.
    pub fn is_public(&self, request: &wire::Request) -> bool {
        self.is_public_base(&request.base)
    }

    /// Whether `base` is the public name.
    fn is_public_base(&self, base: &str) -> bool {
        self.config.public.as_ref().is_some_and(|public| public.url.base() == base)
    }

    /// Whether a token for `resource` belongs to the side that a request came in by.
    fn is_of_side(&self, request: &wire::Request, resource: Option<&str>) -> bool {
        let Some(public) = &self.config.public else { return true };
        if self.is_public(request) {
            public.url.is_for(resource)
        } else {
            // This also excludes a token for an earlier public name.
            !resource.is_some_and(|resource| resource.starts_with("https:"))
        }
    }

    /// The same vault, which reports each read over HTTP to `reads`.
    #[must_use]
    pub fn with_reads(mut self, reads: Option<Arc<dyn reads::ReadSink>>) -> Self {
        self.reads = reads;
        self
    }

    /// Its configuration.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The store of its records.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The store of its clients, grants and tokens.
    pub fn grants(&self) -> &Store {
        &self.grants
    }

    /// The owner's token, which `/v1` refuses.
    pub fn owner_token(&self) -> &str {
        &self.owner_token
    }

    /// The introspection credentials of its resource server.
    pub const fn introspection(&self) -> &IntrospectionClient {
        &self.introspection
    }
}

/// Opens the database of the vault in `dir` for a writer of records. Fills a new one with `filling`.
///
/// # Errors
/// Returns an [`OpenError`].
pub fn open_store(dir: &Path, profile: &Profile, filling: Option<&Filling<'_>>) -> Result<Store, OpenError> {
    let dir = data_dir::open(dir)?;
    let store = Store::open(Some(&database(&dir, profile)?), profile.application_id, filling)?;
    Ok(store.renewing(profile.renew))
}

/// Replaces the database of clients, grants and tokens of the vault in `dir` with an empty one, for a caller that
/// replaces the vault's data too.
///
/// # Errors
/// Returns an [`OpenError`].
pub fn without_grants(dir: &PrivateDir, profile: &Profile) -> Result<(), OpenError> {
    let Some(name) = profile.grants else { return Ok(()) };
    let file = |error| OpenError::File("write to", error);
    let open = || Store::open(Some(&dir.path().join(name)), profile.application_id, None);
    // A database that cannot be read has nothing to keep.
    let is_there = dir.path().join(name).symlink_metadata().is_ok_and(|found| found.len() > 0);
    let passphrase = if is_there {
        open().ok().and_then(|grants| oauth::passphrase::kept(&grants).ok().flatten())
    } else {
        None
    };
    for beside in ["", "-wal", "-shm", "-journal"] {
        dir.remove(&format!("{name}{beside}")).map_err(file)?;
    }
    dir.make_file(name).map_err(file)?;
    let grants = open()?;
    if let Some(hash) = passphrase {
        oauth::passphrase::keep(&grants, &hash).map_err(store::OpenError::Sqlite)?;
    }
    seal_key(&grants).map(drop)
}

fn database(dir: &PrivateDir, profile: &Profile) -> Result<PathBuf, OpenError> {
    data_dir::database(dir, profile.database, profile.not_beside)
}

/// The key for the store's cursors, which outlive the process.
fn seal_key(store: &Store) -> Result<[u8; seal::KEY_LEN], OpenError> {
    let key: Option<Vec<u8>> = store
        .write(|tx, _| {
            let found = known_seal_key(tx)?;
            if found.is_some() {
                return Ok(found);
            }
            let mut key = vec![0; seal::KEY_LEN];
            if getrandom::fill(&mut key).is_err() {
                return Ok(None);
            }
            tx.execute("INSERT INTO meta (name, value) VALUES ('seal', ?1)", [&key])?;
            Ok(Some(key))
        })
        .map_err(|error: rusqlite::Error| store::OpenError::Sqlite(error))?;
    key.and_then(|key| key.try_into().ok()).ok_or(OpenError::NoRandomness)
}

fn known_seal_key(db: &rusqlite::Connection) -> rusqlite::Result<Option<Vec<u8>>> {
    db.query_row("SELECT value FROM meta WHERE name = 'seal'", [], |row| row.get(0)).optional()
}
