//! An embedded PDPP provider: an authorization server and a resource server on loopback, over SQLite,
//! with the data of a fictional life.
//!
//! It is a provider, not a mock: grants are enforced ([`enforcement`]), consent is a page ([`oauth::consent`]).
//! It shares nothing with [`crate::provider`], so that a test of the client against it proves something; but
//! for its own `/mcp` ([`hosted`]), which is that client.

pub mod enforcement;
pub mod fields;
pub mod grant;
pub mod html;
pub mod id;
pub mod mcp_endpoint;

pub mod declaration;
pub mod json;
pub mod oauth;
pub mod rs;
pub mod seal;

pub mod excerpts;
pub mod store;
pub mod time;
pub mod wire;
pub mod words;

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use rusqlite::OptionalExtension;

use crate::error::{Error, Kind, Result};
use crate::fs::{DirLock, PrivateDir};
use crate::mcp::protocol::http::Mcp;
use oauth::flows::{Approved, Flows};
use store::Store;
use wire::{ApiError, Reply, Request};

/// The port that `pdpp sandbox` listens on where it is not told another: P-D-P-P on a telephone.
pub const DEFAULT_PORT: u16 = 7377;

/// The database within a data directory.
pub(crate) const DATABASE: &str = "sandbox.db";
/// The owner's token within a data directory.
const OWNER_TOKEN: &str = "owner-token";
/// Whoever serves a data directory holds this lock, and says who it is in [`SERVED_BY`].
const SERVED: &str = "served";
/// The process that serves a data directory: `{"pid":…,"url":…}`.
const SERVED_BY: &str = "served-by.json";
/// The resource server's introspection credentials within a data directory.
const INTROSPECTION: &str = "introspection.json";
/// A request's body at most, in bytes.
const MAX_BODY: usize = 512 * 1024;
/// Requests at work at once; more wait.
const MAX_WORKERS: usize = 32;

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
    /// Approve every request without asking.
    pub auto_approve: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            data_dir: None,
            seed: Some(1),
            core: false,
            auto_approve: false,
        }
    }
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
pub struct App {
    config: Config,
    store: Store,
    flows: Flows,
    client_documents: oauth::client_document::Documents,
    seal: seal::Seal,
    csrf: ring::hmac::Key,
    owner_token: String,
    owner_token_hash: String,
    introspection: IntrospectionClient,
    inner: mcp_endpoint::InnerTokens,
}

impl App {
    /// Opens the store, filling a new one.
    ///
    /// # Errors
    /// `sandbox_store`, `sandbox_data_dir`.
    pub fn open(config: Config) -> Result<Self> {
        let dir = config.data_dir.as_deref().map(open_data_dir).transpose()?;
        let path = dir.as_ref().map(|dir| dir.path().join(DATABASE));
        let store = Store::open(path.as_deref(), config.seed).map_err(store_failed)?;
        let key = seal_key(&store)?;
        let owner_token = kept(dir.as_ref(), OWNER_TOKEN, || random("pdpp_ot_"))?;
        let introspection = kept(dir.as_ref(), INTROSPECTION, || {
            let client =
                IntrospectionClient { client_id: "sandbox_rs".to_owned(), client_secret: random("")? };
            serde_json::to_string(&client).map_err(|error| data_dir_failed("write", error))
        })?;
        Ok(Self {
            seal: seal::Seal::new(&key).map_err(|_| no_randomness())?,
            csrf: ring::hmac::Key::generate(ring::hmac::HMAC_SHA256, &ring::rand::SystemRandom::new())
                .map_err(|_| no_randomness())?,
            flows: Flows::default(),
            inner: mcp_endpoint::InnerTokens::default(),
            client_documents: oauth::client_document::Documents::default(),
            owner_token_hash: oauth::tokens::hash(&owner_token),
            owner_token,
            introspection: serde_json::from_str(&introspection)
                .map_err(|error| data_dir_failed("read introspection.json in", error))?,
            config,
            store,
        })
    }

    /// Answers a request. Blocking: it reads the database.
    pub fn answer(&self, request: &Request) -> Reply {
        let answered = self.route(request).unwrap_or_else(|error| error.reply(request));
        let mut reply = answered.with("request-id", request.request_id.clone());
        let of_resource_server = request.path == "/"
            || request.path.starts_with("/v1")
            || request.path.starts_with("/.well-known/oauth-protected");
        if of_resource_server {
            reply = reply.with("pdpp-version", wire::VERSION);
        }
        reply
    }

    fn route(&self, request: &Request) -> std::result::Result<Reply, ApiError> {
        let segments = request.segments().ok_or_else(|| ApiError::invalid("The path is not UTF-8"))?;
        let path: Vec<&str> = segments.iter().map(String::as_str).collect();
        if let ["v1", rest @ ..] = path.as_slice() {
            return rs::answer(self, request, rest);
        }
        if let Some(reply) = oauth::answer(self, request, &path)? {
            return Ok(reply);
        }
        match (path.as_slice(), &request.method) {
            ([""], &Method::GET | &Method::HEAD) => Ok(Reply::ok(&serde_json::json!({
                "object": "pdpp_discovery_index",
                "resource_name": "PDPP sandbox (fictional data)",
                "role": "resource_server",
                "links": {
                    "core_query_base": "/v1",
                    "schema": "/v1/schema",
                    "connectors": "/v1/connectors",
                    "well_known": "/.well-known/oauth-protected-resource",
                },
            }))),
            _ => Err(ApiError::not_found(format!("There is nothing at {}", request.path))),
        }
    }

    /// Issues `grant` and its token without asking anybody: for tests and the demonstration.
    ///
    /// # Errors
    /// `sandbox_store`.
    pub fn issue(&self, grant: grant::Grant) -> Result<Approved> {
        oauth::tokens::issue(self, grant).map_err(|error| {
            Error::failed("sandbox_store", format!("Could not issue a grant: {}", error.message()))
        })
    }

    /// The store.
    pub const fn store(&self) -> &Store {
        &self.store
    }
}

/// A running sandbox. It stops when dropped.
pub struct Handle {
    app: Arc<App>,
    url: String,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    /// Released once nothing is served any more.
    _alone: Option<DirLock>,
}

impl Handle {
    /// Where it is: `http://127.0.0.1:7377`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where its tools are, for hosts that speak MCP over HTTP: `http://127.0.0.1:7377/mcp`.
    pub fn mcp_url(&self) -> String {
        format!("{}/mcp", self.url)
    }

    /// The provider behind it.
    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// The owner's token, which `/v1` refuses.
    pub fn owner_token(&self) -> &str {
        &self.app.owner_token
    }

    /// The credentials of its resource server.
    pub fn introspection(&self) -> &IntrospectionClient {
        &self.app.introspection
    }

    /// Answers what is on its way, at most for a second, and stops.
    pub fn stop(mut self) {
        self.halt();
    }

    fn halt(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.halt();
    }
}

/// Starts a sandbox on a thread of its own, ready when this returns. Works inside and outside of a runtime.
///
/// # Errors
/// `sandbox_not_loopback`, `sandbox_listen`, `sandbox_in_use`, `sandbox_store`, `sandbox_data_dir`.
pub fn start(config: Config) -> Result<Handle> {
    if !config.listen.ip().is_loopback() {
        return Err(Error::new(
            Kind::Usage,
            "sandbox_not_loopback",
            format!("The sandbox listens on loopback only, not on {}", config.listen.ip()),
        )
        .hint("pdpp sandbox --listen 127.0.0.1:0"));
    }
    let listen_failed = |error: std::io::Error| {
        Error::failed("sandbox_listen", format!("Could not listen on {}", config.listen))
            .because(error)
            .hint("pdpp sandbox --listen 127.0.0.1:0")
    };
    let listener = std::net::TcpListener::bind(config.listen).map_err(listen_failed)?;
    listener.set_nonblocking(true).map_err(listen_failed)?;
    let address = listener.local_addr().map_err(listen_failed)?;
    let alone = config.data_dir.as_deref().map(|dir| serve_alone(dir, address)).transpose()?;
    let app = Arc::new(App::open(config)?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(MAX_WORKERS)
        .thread_name("sandbox")
        .enable_all()
        .build()
        .map_err(|error| Error::failed("sandbox_listen", "Could not start a runtime").because(error))?;
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let served = Arc::clone(&app);
    let thread = std::thread::Builder::new()
        .name("sandbox".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                if let Err(error) = serve(listener, address, served, stopped).await {
                    tracing::error!(%error, "the sandbox stopped");
                }
            });
            runtime.shutdown_timeout(std::time::Duration::from_secs(1));
        })
        .map_err(|error| Error::failed("sandbox_listen", "Could not start a thread").because(error))?;
    Ok(Handle {
        app,
        url: format!("http://{address}"),
        stop: Some(stop),
        thread: Some(thread),
        _alone: alone,
    })
}

/// Takes the right to serve the directory `path` at `address`: two servers would each know half of the requests that
/// are open.
fn serve_alone(path: &std::path::Path, address: SocketAddr) -> Result<DirLock> {
    let dir = open_data_dir(path)?;
    let locked = dir.try_lock(SERVED).map_err(|error| data_dir_failed("lock", error))?;
    let Some(lock) = locked else {
        let by = dir.read(SERVED_BY, 4096).ok();
        let by: Option<serde_json::Value> = by.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let by = by.and_then(|by| {
            Some(format!(
                "the sandbox at {} (process {})",
                by.get("url")?.as_str()?,
                by.get("pid")?.as_u64()?
            ))
        });
        let by = by.unwrap_or_else(|| "another sandbox".to_owned());
        return Err(Error::failed("sandbox_in_use", format!("{} serves {} already", by, path.display()))
            .hint("Use that one, or name another directory: pdpp sandbox --data-dir DIR"));
    };
    let by = serde_json::json!({"pid": std::process::id(), "url": format!("http://{address}")});
    dir.write(SERVED_BY, by.to_string().as_bytes()).map_err(|error| data_dir_failed("write to", error))?;
    Ok(lock)
}

async fn serve(
    listener: std::net::TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    stopped: tokio::sync::oneshot::Receiver<()>,
) -> std::io::Result<()> {
    use axum::serve::ListenerExt as _;
    // Answers are small and come one at a time: waiting to fill a packet only costs time.
    let listener = tokio::net::TcpListener::from_std(listener)?.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let hosts: Arc<[String]> = hosts(address).into();
    // One a name: a client finds in the metadata the name that it came by.
    let endpoints = hosts.iter().map(|host| {
        let endpoint = mcp_endpoint::mcp(&app, &format!("http://{host}"), Arc::clone(&hosts));
        endpoint.map(|endpoint| (host.clone(), endpoint)).map_err(std::io::Error::other)
    });
    let endpoints: Arc<HashMap<String, Mcp>> = Arc::new(endpoints.collect::<std::io::Result<_>>()?);
    let router = axum::Router::new().fallback(move |request: axum::extract::Request| {
        let (app, hosts, endpoints) = (Arc::clone(&app), Arc::clone(&hosts), Arc::clone(&endpoints));
        async move { handle(app, &hosts[0], &endpoints, request).await }
    });
    let (closing, closed) = tokio::sync::oneshot::channel::<()>();
    let server = axum::serve(listener, router).with_graceful_shutdown(async move {
        let _ = stopped.await;
        let _ = closing.send(());
    });
    tokio::select! {
        done = async { server.await } => done,
        // A client that keeps its connection open does not keep the process.
        () = async {
            let _ = closed.await;
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        } => Ok(()),
    }
}

/// What a request may call this server: a page of another site whose name was made to lead here is
/// refused (DNS rebinding).
fn hosts(address: SocketAddr) -> Vec<String> {
    let port = address.port();
    vec![
        address.to_string(),
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
    ]
}

/// Answers a request to the server that is called `name`, or by one of the other names of `endpoints`.
async fn handle(
    app: Arc<App>,
    name: &str,
    endpoints: &HashMap<String, Mcp>,
    request: axum::extract::Request,
) -> axum::response::Response {
    let host = request.headers().get("host").and_then(|host| host.to_str().ok());
    let host = host.unwrap_or_default().to_ascii_lowercase();
    let endpoint = endpoints.get(&host);
    if let Some(endpoint) = endpoint
        && matches!(request.uri().path(), "/mcp" | "/icon.svg")
    {
        return endpoint.answer(request).await;
    }
    let (head, body) = request.into_parts();
    let mut request = Request {
        method: head.method,
        base: format!("http://{host}"),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body: Vec::new(),
        request_id: id::random_id("req_").map(|id| id.chars().take(20).collect()).unwrap_or_default(),
    };
    let refused = |request: &Request, status, code, message: &str| {
        ApiError::new(status, code, message).reply(request).with("request-id", request.request_id.clone())
    };
    if endpoint.is_none() {
        let reply = refused(
            &request,
            StatusCode::MISDIRECTED_REQUEST,
            "misdirected_request",
            &format!("This server has another name: send requests to http://{name}"),
        );
        return response(reply);
    }
    if let Ok(body) = axum::body::to_bytes(body, MAX_BODY).await {
        request.body = body.into();
    } else {
        let too_large = StatusCode::PAYLOAD_TOO_LARGE;
        return response(refused(&request, too_large, "payload_too_large", "The body is too large"));
    }
    let answered = tokio::task::spawn_blocking(move || app.answer(&request)).await;
    response(
        answered.unwrap_or_else(|_| Reply {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            headers: Vec::new(),
            body: br#"{"error":{"type":"api_error","code":"api_error","message":"Internal server error"}}"#
                .to_vec(),
        }),
    )
}

fn response(reply: Reply) -> axum::response::Response {
    let mut response = axum::response::Response::new(axum::body::Body::from(reply.body));
    *response.status_mut() = reply.status;
    for (name, value) in reply.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().append(HeaderName::from_static(name), value);
        }
    }
    response
}

/// Opens, or makes, a data directory.
pub(crate) fn open_data_dir(path: &std::path::Path) -> Result<PrivateDir> {
    PrivateDir::create_named(path).map_err(|error| {
        Error::failed("sandbox_data_dir", format!("Could not use the directory {}", path.display()))
            .because(error)
            .hint(OTHER_DIR)
    })
}

/// The text in the file `name`, made if it is not there.
fn kept(dir: Option<&PrivateDir>, name: &str, make: impl FnOnce() -> Result<String>) -> Result<String> {
    let Some(dir) = dir else { return make() };
    match dir.read(name, 4096) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).trim().to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let new = make()?;
            dir.write(name, format!("{new}\n").as_bytes())
                .map_err(|error| data_dir_failed("write to", error))?;
            Ok(new)
        }
        Err(error) => Err(data_dir_failed("read", error)),
    }
}

/// The key of the store's cursors: they outlive the process.
fn seal_key(store: &Store) -> Result<[u8; seal::KEY_LEN]> {
    let key: Option<Vec<u8>> = store
        .write(|tx, _| {
            let found = tx
                .query_row("SELECT value FROM meta WHERE name = 'seal'", [], |row| row.get(0))
                .optional()?;
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
        .map_err(|error: rusqlite::Error| store_failed(error.into()))?;
    key.and_then(|key| key.try_into().ok()).ok_or_else(no_randomness)
}

fn random(prefix: &str) -> Result<String> {
    let half = || id::random_id("").map_err(|_| no_randomness());
    Ok(format!("{prefix}{}{}", half()?, half()?))
}

fn no_randomness() -> Error {
    Error::failed("no_randomness", "The system gave no randomness, so no key can be made")
}

pub(crate) fn store_failed(error: store::OpenError) -> Error {
    let other_version = matches!(error, store::OpenError::OtherVersion { .. });
    let failed = Error::failed("sandbox_store", "Could not open the sandbox's data").because(error);
    if other_version { failed.hint("use another --data-dir, or remove this one") } else { failed }
}

fn data_dir_failed(what: &str, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::failed("sandbox_data_dir", format!("Could not {what} the data directory"))
        .because(error)
        .hint(OTHER_DIR)
}

/// What to do about a directory that cannot be used.
const OTHER_DIR: &str =
    "Make it your own user's, mode 700, or name one that is not there yet: pdpp sandbox --data-dir DIR";
