//! A vault: a PDPP provider on this machine. An authorization server and a resource server on loopback, over SQLite.
//!
//! It is a provider, not a mock: grants are enforced ([`enforcement`]), and the owner consents on a page
//! ([`oauth::consent`]). It knows nobody's data: whoever opens a vault says whose it is ([`Profile`]) and may fill a new
//! one ([`store::Filling`]).
//!
//! It shares nothing with [`crate::provider`] but the wire, so that a test of the client against it proves something;
//! only its `/mcp` ([`mcp_endpoint`]) is that client.

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

/// The owner's token within a data directory.
const OWNER_TOKEN: &str = "owner-token";
/// The resource server's introspection credentials within a data directory.
const INTROSPECTION: &str = "introspection.json";

/// Whose vault it is: what its metadata, its pages and its grants say of it.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    /// What a program calls it: `resource_name` of its metadata.
    pub name: &'static str,
    /// What the owner calls it, on the pages.
    pub title: &'static str,
    /// Whose data it holds, on the pages.
    pub owner: &'static str,
    /// What runs it: its owner's links are printed where that was typed.
    pub command: &'static str,
    /// Whether that is a service: nobody sees what it prints, and its owner decides on a page of their own.
    pub is_service: bool,
    /// The subject of every grant.
    pub subject_id: &'static str,
    /// The revision of what its sources declare, as a grant names it.
    pub declaration_version: &'static str,
    /// The user with which its own resource server introspects.
    pub introspection_client_id: &'static str,
    /// What is known by now of the connectors that an older version declared.
    pub renew: store::Renew,
    /// The name of the database within its data directory.
    pub database: &'static str,
    /// The databases of other kinds of vaults: it shares no directory with them.
    pub not_beside: &'static [&'static str],
    /// What its database says that it is: [`store::FICTION`] or [`store::OWN`].
    pub application_id: i32,
    /// The name of a database of its own for clients, grants and tokens, so that ending a grant never waits for whoever
    /// writes records; none keeps them beside the records.
    pub grants: Option<&'static str>,
    /// Whether programs come by HTTP: then an owner's token and credentials for introspection are kept beside the data.
    pub is_served: bool,
    /// What a grant holds against and what it does not, where the pages have to say so.
    pub holds: Option<Holds>,
}

/// What a grant of a vault holds against, and what it does not, in words for its owner.
#[derive(Debug, Clone, Copy)]
pub struct Holds {
    /// Whom a grant stops.
    pub against: &'static [&'static str],
    /// Whom it does not.
    pub not: &'static [&'static str],
}

/// What a vault is to be.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to keep the data; in memory without.
    pub data_dir: Option<PathBuf>,
    /// Only what v0.1 of the draft has: no schema, search, aggregate or field windows, no filters,
    /// expansion or views.
    pub core: bool,
    /// Approve every request without asking: whoever reaches the port gets a token.
    pub auto_approve: bool,
    /// Whether an approval needs the owner's passphrase, too.
    pub asks_passphrase: bool,
    /// How the owner learns of a request.
    pub announce: oauth::owner::Announce,
    /// The name by which others reach it, through a proxy, if it is served.
    pub public: Option<public_name::Public>,
    /// Whose it is.
    pub profile: Profile,
}

/// The credentials with which a resource server introspects.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct IntrospectionClient {
    /// The user of HTTP Basic.
    pub client_id: String,
    /// Its password.
    pub client_secret: String,
}

/// The provider itself, without a socket.
pub struct Vault {
    config: Config,
    store: Arc<Store>,
    /// Clients, grants and tokens: the same store, or one of their own.
    grants: Arc<Store>,
    flows: Flows,
    /// Where there is a public name.
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
    /// Opens the vault that `config` describes; a new one is filled with `filling`.
    ///
    /// # Errors
    /// [`OpenError`].
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

    /// Opens the vault that `config` describes for reads alone: nothing is made or written, and no lock is taken that a
    /// writer would wait for, but the first time after an update that changed the store's format.
    ///
    /// # Errors
    /// [`OpenError`]; [`OpenError::Directory`] where there is no such vault.
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

    /// The same with another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: impl pace::Clock + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// The code that lets the next stranger's request in, where there is a public name.
    pub fn pairing_code(&self) -> Option<String> {
        self.pairing.as_ref().map(oauth::pairing_code::Pairing::code)
    }

    /// Whether anybody may have sent a request: it came by the public name.
    pub fn is_public(&self, request: &wire::Request) -> bool {
        self.is_public_base(&request.base)
    }

    /// Whether `base` is the public name.
    fn is_public_base(&self, base: &str) -> bool {
        self.config.public.as_ref().is_some_and(|public| public.url.base() == base)
    }

    /// Whether a token for `resource` is for the side that a request came in by.
    fn is_of_side(&self, request: &wire::Request, resource: Option<&str>) -> bool {
        let Some(public) = &self.config.public else { return true };
        if self.is_public(request) {
            public.url.is_for(resource)
        } else {
            // Also none of a name that it had before.
            !resource.is_some_and(|resource| resource.starts_with("https:"))
        }
    }

    /// The same, with `reads` told of each read by HTTP.
    #[must_use]
    pub fn with_reads(mut self, reads: Option<Arc<dyn reads::ReadSink>>) -> Self {
        self.reads = reads;
        self
    }

    /// What it is.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The store.
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

    /// The credentials of its resource server.
    pub const fn introspection(&self) -> &IntrospectionClient {
        &self.introspection
    }
}

/// Opens the database of the vault in `dir`, for whoever writes records; a new one is filled with `filling`.
///
/// # Errors
/// [`OpenError`].
pub fn open_store(dir: &Path, profile: &Profile, filling: Option<&Filling<'_>>) -> Result<Store, OpenError> {
    let dir = data_dir::open(dir)?;
    let store = Store::open(Some(&database(&dir, profile)?), profile.application_id, filling)?;
    Ok(store.renewing(profile.renew))
}

/// Makes the database of clients, grants and tokens of the vault in `dir` anew, with none in it, in the place of one that may be
/// there: for whoever makes the vault's data anew too.
///
/// # Errors
/// [`OpenError`].
pub fn without_grants(dir: &PrivateDir, profile: &Profile) -> Result<(), OpenError> {
    let Some(name) = profile.grants else { return Ok(()) };
    let file = |error| OpenError::File("write to", error);
    let open = || Store::open(Some(&dir.path().join(name)), profile.application_id, None);
    // One that cannot be read has none to keep.
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

/// The key of the store's cursors: they outlive the process.
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
