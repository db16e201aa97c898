//! The vault's server on loopback: connections and names; what is asked is answered by [`Vault::answer`] and by the
//! vault's `/mcp`.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, StatusCode};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::mcp_endpoint::{self, Endpoints};
use super::open_error::OpenError;
use super::owner_pages::{OwnerPages, is_owners};
use super::reads::ReadSink;
use super::store::Filling;
use super::wire::{ApiError, Reply, Request};
use super::{Config, Vault, data_dir, id};
use crate::fs::DirLock;
use crate::listener::Listener;
use crate::listener::places::{Places, Room};

/// A request's body at most, in bytes.
const MAX_BODY: usize = 64 * 1024;
/// Of a body that is refused for its size at most, in bytes: what is sent to `/mcp` may be that large.
const MAX_READ: usize = 1 << 20;
/// Connections at once. A process may often open 1,024 files.
const MAX_CONNECTIONS: usize = 256;
/// Requests at work at once; more wait.
const MAX_WORKERS: usize = 32;
/// How long a stop waits for what is at work.
const STOP_TIME: Duration = Duration::from_secs(1);

/// A vault that is served. It stops when dropped.
pub struct Handle {
    vault: Arc<Vault>,
    url: String,
    pages: Option<Arc<dyn OwnerPages>>,
    stop: Option<oneshot::Sender<()>>,
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

    /// The address of a new link that opens the owner's pages once, within ten minutes; none where it has none, or without
    /// randomness.
    pub fn owner_link(&self) -> Option<String> {
        Some(format!("{}{}", self.url, self.pages.as_ref()?.new_link()?))
    }

    /// The vault behind it.
    pub const fn vault(&self) -> &Arc<Vault> {
        &self.vault
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

/// What else a server has, for whoever's vault it is.
#[derive(Default)]
pub struct Extras {
    /// Is told of each read by HTTP.
    pub reads: Option<Arc<dyn ReadSink>>,
    /// Makes the pages of the vault's owner.
    pub pages: Option<MakePages>,
}

/// Makes the pages of a vault's owner.
pub type MakePages = Box<dyn FnOnce(&Arc<Vault>) -> Arc<dyn OwnerPages> + Send>;

/// Serves a vault at `listen`, a loopback address, on a thread of its own, ready when this returns; port 0 takes a
/// free one. Works inside and outside of a runtime.
///
/// # Errors
/// [`OpenError`].
pub fn start(config: Config, filling: Option<&Filling<'_>>, listen: SocketAddr) -> Result<Handle, OpenError> {
    start_with_extras(config, filling, listen, Extras::default())
}

/// The same, with what else it is to have.
///
/// # Errors
/// [`OpenError`].
pub fn start_with_extras(
    config: Config,
    filling: Option<&Filling<'_>>,
    listen: SocketAddr,
    extras: Extras,
) -> Result<Handle, OpenError> {
    start_with(listen, |address| {
        let alone = config.data_dir.as_deref().map(|dir| data_dir::serve_alone(dir, address)).transpose()?;
        let vault = Arc::new(Vault::open(config, filling)?.with_reads(extras.reads));
        let pages = extras.pages.map(|make| make(&vault));
        Ok(Served { vault, alone, serves: Serves::Everything, pages })
    })
}

/// Serves the pages on which the owner of `vault` decides, and nothing else, on a free port of 127.0.0.1, until the handle is
/// dropped.
///
/// # Errors
/// [`OpenError`].
pub fn start_pages(vault: Arc<Vault>) -> Result<Handle, OpenError> {
    start_with(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), |_| {
        Ok(Served { vault, alone: None, serves: Serves::Pages, pages: None })
    })
}

/// The same, with the owner's own pages.
///
/// # Errors
/// [`OpenError`].
pub fn start_owner_pages(vault: Arc<Vault>, pages: Arc<dyn OwnerPages>) -> Result<Handle, OpenError> {
    start_with(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), |_| {
        Ok(Served { vault, alone: None, serves: Serves::Pages, pages: Some(pages) })
    })
}

/// A vault that is to be served.
struct Served {
    vault: Arc<Vault>,
    alone: Option<DirLock>,
    serves: Serves,
    pages: Option<Arc<dyn OwnerPages>>,
}

/// What is served of a vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Serves {
    /// All that it has.
    Everything,
    /// The pages on which an owner decides.
    Pages,
}

fn start_with(
    listen: SocketAddr,
    open: impl FnOnce(SocketAddr) -> Result<Served, OpenError>,
) -> Result<Handle, OpenError> {
    if !listen.ip().is_loopback() {
        return Err(OpenError::NotLoopback(listen.ip()));
    }
    let listen_failed = |error| OpenError::Listen(listen, error);
    let listener = TcpListener::bind(listen).map_err(listen_failed)?;
    listener.set_nonblocking(true).map_err(listen_failed)?;
    let address = listener.local_addr().map_err(listen_failed)?;
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
                if let Err(error) = serve(listener, address, answers.0, answers.1, serves, stopped).await {
                    tracing::error!(%error, "the vault's server stopped");
                }
            });
            runtime.shutdown_timeout(STOP_TIME);
        })
        .map_err(|error| OpenError::Start("a thread", error))?;
    let url = format!("http://{address}");
    Ok(Handle { vault, url, pages, stop: Some(stop), thread: Some(thread), _alone: alone })
}

async fn serve(
    listener: TcpListener,
    address: SocketAddr,
    vault: Arc<Vault>,
    pages: Option<Arc<dyn OwnerPages>>,
    serves: Serves,
    stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let names: Arc<[String]> = names(address).into();
    let endpoints = match serves {
        Serves::Everything => {
            Some(Arc::new(mcp_endpoint::endpoints(&vault, &names).map_err(io::Error::other)?))
        }
        Serves::Pages => None,
    };
    // The owner's files come in one, of any size.
    let streamed: Option<fn(&str) -> bool> = pages.as_ref().map(|_| is_owners as fn(&str) -> bool);
    let router = axum::Router::new().fallback(move |request: axum::extract::Request| {
        let (vault, names, endpoints) = (Arc::clone(&vault), Arc::clone(&names), endpoints.clone());
        let pages = pages.clone();
        async move { handle(vault, &names, endpoints.as_deref(), pages, request).await }
    });
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        let _ = stopped.await;
        stopping.cancel();
    });
    // Everybody on this computer can connect, so nobody may keep the owner out by that, half a body included.
    let room = Room { most: MAX_CONNECTIONS, most_per_address: MAX_CONNECTIONS, trusted: Vec::new() };
    let listener = Listener {
        listener,
        routes: router,
        tls: None,
        most_body: Some(MAX_READ),
        streamed,
        places: Arc::new(Places::new(room, None)),
        cut: CancellationToken::new(),
    };
    listener.serve(stop, STOP_TIME).await;
    Ok(())
}

/// What a request may call this server: a page of another site whose name was made to lead here is
/// refused (DNS rebinding).
fn names(address: SocketAddr) -> Vec<String> {
    let port = address.port();
    vec![
        address.to_string(),
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
    ]
}

/// Answers a request to the server that is called by one of `names`; without `endpoints` with a page of its owner's alone.
async fn handle(
    vault: Arc<Vault>,
    names: &[String],
    endpoints: Option<&Endpoints>,
    pages: Option<Arc<dyn OwnerPages>>,
    request: axum::extract::Request,
) -> axum::response::Response {
    let host = request.headers().get("host").and_then(|host| host.to_str().ok());
    let host = host.unwrap_or_default().to_ascii_lowercase();
    if let Some(endpoint) = endpoints.and_then(|endpoints| endpoints.get(&host))
        && matches!(request.uri().path(), "/mcp" | "/mcp/" | "/icon.svg")
    {
        return endpoint.answer(request).await;
    }
    if let Some(pages) = pages.filter(|_| names.contains(&host) && is_owners(request.uri().path())) {
        return pages.answer(format!("http://{host}"), request).await;
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
    if !names.contains(&host) {
        let reply = refused(
            &request,
            StatusCode::MISDIRECTED_REQUEST,
            "misdirected_request",
            &format!("This server has another name: send requests to http://{}", names[0]),
        );
        return response(reply);
    }
    let is_page = ["/consent/", "/consent.css"].iter().any(|page| request.path.starts_with(page));
    if endpoints.is_none() && !is_page {
        return response(refused(&request, StatusCode::NOT_FOUND, "not_found", "There is nothing here"));
    }
    if let Ok(body) = axum::body::to_bytes(body, MAX_BODY).await {
        request.body = body.into();
    } else {
        let too_large = StatusCode::PAYLOAD_TOO_LARGE;
        return response(refused(&request, too_large, "payload_too_large", "The body is too large"));
    }
    let answered = tokio::task::spawn_blocking(move || vault.answer(&request)).await;
    response(
        answered.unwrap_or_else(|_| Reply {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            headers: Vec::new(),
            body: br#"{"error":{"type":"api_error","code":"api_error","message":"Internal server error"}}"#
                .to_vec(),
        }),
    )
}

/// A reply on its way out.
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
