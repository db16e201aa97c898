//! The vault's server on loopback: connections and names. [`Vault::answer`] and the vault's `/mcp` answer the
//! requests.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;

use super::mcp_endpoint::{self, Endpoints};
use super::oauth::pairing;
use super::open_error::OpenError;
use super::owner_pages::{OwnerPages, is_owners};
use super::public_name::{self, Names, Public};
use super::reads::ReadSink;
use super::store::Filling;
use super::wire::{self, ApiError, Reply, Request};
use super::{Config, Vault, data_dir, id};
use crate::fs::DirLock;
use crate::listener::Listener;
use crate::listener::places::{Places, Room};

/// The maximum size of a request's body, in bytes.
const MAX_BODY: usize = 64 * 1024;
/// How much is read of a body that is refused for its size, in bytes. What is sent to `/mcp` may be that large.
const MAX_READ: usize = 1 << 20;
/// The maximum number of connections. A process can often open only 1,024 files.
const MAX_CONNECTIONS: usize = 256;
/// The maximum number of requests in progress; further requests wait.
const MAX_WORKERS: usize = 32;
/// The maximum number of requests in progress that came in by the public name, so that workers remain for
/// this computer's own requests.
const MAX_PUBLIC_WORKERS: usize = MAX_WORKERS / 2;
/// How long a stop waits for requests in progress.
const STOP_TIME: Duration = Duration::from_secs(1);

/// A vault that is being served. Dropping it stops the server.
pub struct Handle {
    vault: Arc<Vault>,
    url: String,
    public: Option<Public>,
    pages: Option<Arc<dyn OwnerPages>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    /// Released when nothing is served any more.
    _alone: Option<DirLock>,
}

impl Handle {
    /// Its address: `http://127.0.0.1:7377`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The address of its tools, for hosts that speak MCP over HTTP: `http://127.0.0.1:7377/mcp`.
    pub fn mcp_url(&self) -> String {
        format!("{}/mcp", self.url)
    }

    /// The name by which others reach it, and the address for their proxy.
    pub const fn public(&self) -> Option<&Public> {
        self.public.as_ref()
    }

    /// The code that admits the next request from outside, if there is a public name.
    pub fn pairing_code(&self) -> Option<String> {
        self.vault.pairing_code()
    }

    /// The address of a new link that opens the owner's pages once, within ten minutes; `None` if there are no such
    /// pages, or if the system supplies no random numbers.
    pub fn owner_link(&self) -> Option<String> {
        Some(format!("{}{}", self.url, self.pages.as_ref()?.new_link()?))
    }

    /// The vault behind it.
    pub const fn vault(&self) -> &Arc<Vault> {
        &self.vault
    }

    /// Answers the requests in progress, for at most a second, and stops.
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

/// Additional parts of a server, depending on whose vault it serves.
#[derive(Default)]
pub struct Extras {
    /// Receives a report of each read over HTTP.
    pub reads: Option<Arc<dyn ReadSink>>,
    /// Makes the pages of the vault's owner.
    pub pages: Option<MakePages>,
}

/// Makes the pages of a vault's owner.
pub type MakePages = Box<dyn FnOnce(&Arc<Vault>) -> Arc<dyn OwnerPages> + Send>;

/// Serves a vault at `listen`, a loopback address, on its own thread. It is ready when this returns. Port 0 picks a
/// free port. Works inside and outside a runtime.
///
/// # Errors
/// Returns an [`OpenError`].
pub fn start(config: Config, filling: Option<&Filling<'_>>, listen: SocketAddr) -> Result<Handle, OpenError> {
    start_with_extras(config, filling, listen, Extras::default())
}

/// Does the same, with additional parts.
///
/// # Errors
/// Returns an [`OpenError`].
pub fn start_with_extras(
    config: Config,
    filling: Option<&Filling<'_>>,
    listen: SocketAddr,
    extras: Extras,
) -> Result<Handle, OpenError> {
    let public = config.public.clone();
    start_with(listen, public, |address| {
        let alone = config.data_dir.as_deref().map(|dir| data_dir::serve_alone(dir, address)).transpose()?;
        let vault = Arc::new(Vault::open(config, filling)?.with_reads(extras.reads));
        let pages = extras.pages.map(|make| make(&vault));
        Ok(Served { vault, alone, serves: Serves::Everything, pages })
    })
}

/// Serves only the pages on which the owner of `vault` decides, on a free port of 127.0.0.1, until the handle is
/// dropped.
///
/// # Errors
/// Returns an [`OpenError`].
pub fn start_pages(vault: Arc<Vault>) -> Result<Handle, OpenError> {
    start_with(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), None, |_| {
        Ok(Served { vault, alone: None, serves: Serves::Pages, pages: None })
    })
}

/// Does the same, with the owner's own pages.
///
/// # Errors
/// Returns an [`OpenError`].
pub fn start_owner_pages(vault: Arc<Vault>, pages: Arc<dyn OwnerPages>) -> Result<Handle, OpenError> {
    start_with(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), None, |_| {
        Ok(Served { vault, alone: None, serves: Serves::Pages, pages: Some(pages) })
    })
}

/// A vault to serve.
struct Served {
    vault: Arc<Vault>,
    alone: Option<DirLock>,
    serves: Serves,
    pages: Option<Arc<dyn OwnerPages>>,
}

/// Which part of a vault is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Serves {
    /// Everything.
    Everything,
    /// Only the pages on which an owner decides.
    Pages,
}

/// A listener, and the names that its connections may use.
struct Door {
    listener: TcpListener,
    names: Arc<Names>,
}

fn bound(listen: SocketAddr) -> Result<(TcpListener, SocketAddr), OpenError> {
    if !listen.ip().is_loopback() {
        return Err(OpenError::NotLoopback(listen.ip()));
    }
    let listen_failed = |error| OpenError::Listen(listen, error);
    let listener = TcpListener::bind(listen).map_err(listen_failed)?;
    listener.set_nonblocking(true).map_err(listen_failed)?;
    let address = listener.local_addr().map_err(listen_failed)?;
    Ok((listener, address))
}

fn start_with(
    listen: SocketAddr,
    public: Option<Public>,
    open: impl FnOnce(SocketAddr) -> Result<Served, OpenError>,
) -> Result<Handle, OpenError> {
    let (listener, address) = bound(listen)?;
    let url = format!("http://{address}");
    let mut doors = Vec::new();
    let public = match public {
        None => None,
        Some(Public { url: name, listen }) => {
            let (listener, listen) = bound(listen)?;
            let names = Names::Public { url: name.clone(), here: url.clone() };
            doors.push(Door { listener, names: Arc::new(names) });
            Some(Public { url: name, listen })
        }
    };
    let names = Names::here(address, public.as_ref().map(|public| public.listen));
    doors.push(Door { listener, names: Arc::new(names) });
    let Served { vault, alone, serves, pages } = open(address)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(MAX_WORKERS)
        .thread_name("vault")
        .enable_all()
        .build()
        .map_err(|error| OpenError::Start("a runtime", error))?;
    let (stop, stopped) = oneshot::channel();
    let answers = (Arc::clone(&vault), pages.clone());
    let thread = std::thread::Builder::new()
        .name("vault".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                if let Err(error) = serve(doors, answers.0, answers.1, serves, stopped).await {
                    tracing::error!(%error, "the vault's server stopped");
                }
            });
            runtime.shutdown_timeout(STOP_TIME);
        })
        .map_err(|error| OpenError::Start("a thread", error))?;
    Ok(Handle { vault, url, public, pages, stop: Some(stop), thread: Some(thread), _alone: alone })
}

async fn serve(
    doors: Vec<Door>,
    vault: Arc<Vault>,
    pages: Option<Arc<dyn OwnerPages>>,
    serves: Serves,
    stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    let stop = CancellationToken::new();
    let mut serving = Vec::new();
    for Door { listener, names } in doors {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let endpoints = match serves {
            Serves::Everything => Some(mcp_endpoint::endpoints(&vault, &names).map_err(io::Error::other)?),
            Serves::Pages => None,
        };
        // The owner's own pages are only for this computer.
        let pages = pages.clone().filter(|_| !names.is_public());
        let has_pages = pages.is_some();
        let inside = Arc::new(Inside {
            vault: Arc::clone(&vault),
            pages,
            names,
            endpoints,
            workers: Semaphore::new(MAX_PUBLIC_WORKERS),
            wrong_codes: Semaphore::new(pairing::MOST_WAITING),
        });
        let router = axum::Router::new().fallback(move |request: axum::extract::Request| {
            let inside = Arc::clone(&inside);
            async move { handle(&inside, request).await }
        });
        // Anyone on this computer can connect and, through a proxy, so can anyone else, all from one address. So
        // nobody may shut others out by holding connections, not even with half a body. The connections of one door
        // do not count at the other.
        let room = Room { most: MAX_CONNECTIONS, most_per_address: MAX_CONNECTIONS, trusted: Vec::new() };
        let listener = Listener {
            listener,
            routes: router,
            tls: None,
            most_body: Some(MAX_READ),
            // An import of the owner's files arrives in one body, of any size.
            streamed: if has_pages { Some(is_owners) } else { None },
            places: Arc::new(Places::new(room, None)),
            cut: CancellationToken::new(),
        };
        serving.push(listener.serve(stop.clone(), STOP_TIME));
    }
    let stopping = async {
        let _ = stopped.await;
        stop.cancel();
    };
    futures_util::future::join(futures_util::future::join_all(serving), stopping).await;
    Ok(())
}

/// What a request meets behind a door.
struct Inside {
    vault: Arc<Vault>,
    /// The owner's pages, only at the door for this computer.
    pages: Option<Arc<dyn OwnerPages>>,
    names: Arc<Names>,
    /// Without endpoints, only the owner's pages are served.
    endpoints: Option<Endpoints>,
    /// Limits the requests that come in by the public name.
    workers: Semaphore,
    /// Limits the delayed answers to wrong pairing codes.
    wrong_codes: Semaphore,
}

/// Answers a request.
async fn handle(inside: &Inside, request: axum::extract::Request) -> axum::response::Response {
    let Inside { vault, names, endpoints, .. } = inside;
    let is_public = names.is_public();
    let called = names.called(request.uri(), request.headers());
    let offered = if is_public { offered(request.uri().path()) } else { Ok(()) };
    if let (Ok(called), Ok(())) = (&called, &offered)
        && let Some(endpoint) = endpoints.as_ref().and_then(|endpoints| endpoints.get(&called.host))
        && matches!(request.uri().path(), "/mcp" | "/mcp/" | "/icon.svg")
    {
        return endpoint.answer(request).await;
    }
    if let (Ok(called), Some(pages)) = (&called, &inside.pages)
        && is_owners(request.uri().path())
    {
        return Arc::clone(pages).answer(called.base.clone(), request).await;
    }
    let (head, body) = request.into_parts();
    let mut request = Request {
        method: head.method,
        base: called.as_ref().map_or_else(|_| String::new(), |called| called.base.clone()),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body: Vec::new(),
        request_id: id::random_id("req_").map(|id| id.chars().take(20).collect()).unwrap_or_default(),
    };
    let refused = |request: &Request, error: ApiError| {
        sent(error.reply(request).with("request-id", request.request_id.clone()), is_public)
    };
    if let Err(error) = called.and(offered) {
        return refused(&request, error);
    }
    let is_page = ["/consent/", "/consent.css"].iter().any(|page| request.path.starts_with(page));
    if endpoints.is_none() && !is_page {
        return refused(&request, ApiError::not_found("There is nothing here"));
    }
    if let Ok(body) = axum::body::to_bytes(body, MAX_BODY).await {
        request.body = body.into();
    } else {
        let too_large = StatusCode::PAYLOAD_TOO_LARGE;
        return refused(&request, ApiError::new(too_large, "payload_too_large", "The body is too large"));
    }
    let worker = if is_public { inside.workers.acquire().await.ok() } else { None };
    let is_pairing = is_public && request.segments().is_some_and(|path| path == ["oauth", "pair"]);
    let vault = Arc::clone(vault);
    let answered = tokio::task::spawn_blocking(move || vault.answer(&request)).await;
    drop(worker);
    let reply = answered.unwrap_or_else(|_| Reply {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        headers: Vec::new(),
        body: br#"{"error":{"type":"api_error","code":"api_error","message":"Internal server error"}}"#
            .to_vec(),
    });
    if is_pairing
        && reply.status == StatusCode::FORBIDDEN
        && let Ok(_waiting) = inside.wrong_codes.try_acquire()
    {
        tokio::time::sleep(pairing::WRONG_TIME).await;
    }
    sent(reply, is_public)
}

/// Checks that `path` is available to outsiders.
fn offered(path: &str) -> Result<(), ApiError> {
    let segments = wire::segments(path).ok_or_else(|| ApiError::nothing_at(path))?;
    public_name::check_offered(&segments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A reply to send, by the public name or not.
fn sent(reply: Reply, is_public: bool) -> axum::response::Response {
    let mut response = response(reply);
    // A third party's cache may be on the way. It must not give one client's answer to the next.
    if is_public && !response.headers().contains_key(header::CACHE_CONTROL) {
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// A reply to send.
pub fn response(reply: Reply) -> axum::response::Response {
    let mut response = axum::response::Response::new(axum::body::Body::from(reply.body));
    *response.status_mut() = reply.status;
    for (name, value) in reply.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().append(HeaderName::from_static(name), value);
        }
    }
    response
}
