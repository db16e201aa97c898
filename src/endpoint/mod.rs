//! The endpoint: MCP over Streamable HTTP in front of a provider's resource server, inside the provider's trust
//! boundary (R7). What it shows publicly comes from its configuration, what a caller may read from its bearer.
//!
//! - [`credentials`], [`introspection`]: asking the authorization server about a bearer;
//!   [`admission`]: what it said, for at most a minute; [`rate`]: how often; [`gate`]: all three, for
//!   [`crate::mcp::protocol::http`].
//! - [`tls`]: TLS of the endpoint itself, over [`crate::listener`]. [`mod@log`], [`metrics`]: what an operator sees.
//!
//! Between two requests, an endpoint keeps only what [`admission`] remembers for a minute, and whose turn is next. So
//! any number of endpoints can run behind any load balancer.

pub mod admission;
pub mod credentials;
pub mod gate;
pub mod introspection;
pub mod log;
pub mod metrics;
pub mod rate;
pub mod signals;
pub mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use url::{Position, Url};

use self::admission::Admission;
use self::credentials::CredentialsSource;
use self::gate::Gate;
use self::introspection::{Expected, Introspection, Standing, Unknown};
use self::log::Log;
use self::metrics::Metrics;
use self::rate::{Allowance, Rate};
use self::signals::{Signal, Signals};
use self::tls::{Files, Tls};
use crate::advice::{Command, Hint};
use crate::error::{Error, Kind, Result};
use crate::listener::places::{self, Counter, Places, Room};
use crate::listener::{Acceptors, Listener};
use crate::mcp::protocol::http::{self, About, Endpoint, Mcp, Refusal};
use crate::mcp::size::Bounds;
use crate::provider::discovery::{Discovery, DiscoveryError, discover};
use crate::provider::http::{Http, Limits as HttpLimits};
use crate::provider::network::Network;
use crate::provider::rs::ResourceServer;
use crate::provider::url::ProviderUrl;
use crate::secret::AccessToken;
use crate::ui::Ui;

/// The longest time that a request may run: each read of a tool has 30 s.
const REQUEST_TIME: Duration = Duration::from_mins(2);
/// How often expired entries are removed.
const SWEEP: Duration = Duration::from_secs(30);
/// The maximum number of connections to the metrics.
const MOST_METRICS_CONNECTIONS: usize = 16;
/// How long the authorization server may take to check this endpoint's own credentials before a warning is logged.
const CHECK_TIME: Duration = Duration::from_secs(3);
/// The token for that check. It was issued to nobody, and its text explains itself in the authorization server's log.
const MADE_UP: &str = "pdpp-mcp-host-checks-its-own-credentials";
/// How long the last lines of the log may take at the end.
const LAST_LINES: Duration = Duration::from_millis(500);

/// What to serve, and how.
#[derive(Debug, Clone)]
pub struct Config {
    /// The provider.
    pub provider: ProviderUrl,
    /// How to reach the provider.
    pub network: Network,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The address to serve the metrics on; without one, there are none.
    pub metrics_listen: Option<SocketAddr>,
    /// The endpoint as clients see it.
    pub endpoint: Endpoint,
    /// The credentials for introspection.
    pub introspection: CredentialsSource,
    /// The TLS files, if TLS is served here.
    pub tls: Option<Files>,
    /// How often callers may ask.
    pub allowance: Allowance,
    /// How large a result may be.
    pub bounds: Bounds,
    /// How many connections there may be.
    pub room: Room,
    /// How long running requests may take after it is stopped.
    pub drain: Duration,
}

/// The addresses of a listening endpoint.
#[derive(Debug, Clone)]
pub struct Ready {
    /// The listener's own address: `http://127.0.0.1:8484/mcp`.
    pub url: Url,
    /// The address of the metrics.
    pub metrics: Option<Url>,
    is_loopback: bool,
}

impl Ready {
    /// The events to log for an endpoint that clients reach at `public`: level, event and message.
    fn events(&self, public: &Url) -> Vec<(&'static str, &'static str, String)> {
        let place = |url: &Url| url[Position::BeforeHost..Position::AfterPort].to_owned();
        let mut events = vec![if self.url == *public {
            ("info", "ready", format!("MCP endpoint ready at {public}"))
        } else {
            let message = format!(
                "MCP endpoint ready: clients use {public}; the proxy in front forwards requests to {}, with Host: {}",
                self.url,
                place(public)
            );
            ("info", "ready", message)
        }];
        if self.url.scheme() == "http" {
            if public.scheme() == "https" {
                let message =
                    "a proxy in front must serve TLS; to serve it here, use --tls-cert and --tls-key";
                events.push(("info", "tls_elsewhere", message.to_owned()));
            }
            if !self.is_loopback {
                let message =
                    "bearer tokens arrive here in plain text: let only the proxy reach this address";
                events.push(("warn", "plain_text", message.to_owned()));
            }
        }
        events
    }
}

/// Serves until a signal stops it. Calls `ready` once the endpoint listens; if `ready` fails, nothing is
/// served.
///
/// # Errors
/// Returns the errors of `ready`. Before the endpoint is ready: `introspection_credentials`,
/// `introspection_not_offered`, `host_tls`, `host_listen`, those of [`discover`], `runtime_failed` and `no_thread`.
pub fn run(config: Config, ready: impl FnOnce(&Ready) -> Result<()>) -> Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().thread_name("endpoint").enable_all().build().map_err(
            |error| Error::no_events("runtime_failed", "Could not start the event loop").because(error),
        )?;
    let metrics = Arc::new(Metrics::default());
    let cut = CancellationToken::new();
    let (log, writing) = Log::start(Ui::from_process(), Arc::clone(&metrics), cut.clone())?;
    let served = runtime.block_on(serve(config, Arc::new(log), metrics, cut, ready));
    // Dropping the runtime would wait for blocking work, such as a name look-up. The log ends with the tasks that
    // hold it.
    runtime.shutdown_timeout(LAST_LINES);
    writing.finish(LAST_LINES);
    served
}

async fn serve(
    config: Config,
    log: Arc<Log>,
    metrics: Arc<Metrics>,
    cut: CancellationToken,
    ready: impl FnOnce(&Ready) -> Result<()>,
) -> Result<()> {
    let mut signals = Signals::new()?;
    let client = config.introspection.read()?;
    let tls = config.tls.clone().map(Tls::open).transpose()?.map(Arc::new);
    let provider = &config.provider;
    let discovered = Http::new(introspection::LIMITS).over(config.network.clone());
    let discovery = discover(&discovered, provider).await.map_err(|error| not_discovered(error, provider))?;
    let introspection_endpoint =
        discovery.authorization_server.introspection_endpoint.clone().ok_or_else(|| {
            Error::new(
                Kind::Unavailable,
                "introspection_not_offered",
                format!("The authorization server of {provider} names no introspection_endpoint"),
            )
            .hint("Without it, this endpoint cannot check a bearer token; ask the provider to add it")
        })?;
    let rs = resource_server(&config, &discovery)?;
    let expected = Expected {
        issuer: discovery.authorization_server.issuer.clone(),
        endpoint: config.endpoint.public_url.clone(),
        provider: provider.clone(),
    };
    let introspection = Introspection::new(discovered, introspection_endpoint, client, expected);
    let admission =
        Arc::new(Admission::new(introspection, provider.clone(), rs, config.bounds, Arc::clone(&metrics)));

    let (listener, address) = bind("--listen", config.listen).await?;
    let metrics_listener = match config.metrics_listen {
        Some(address) => Some(bind("--metrics-listen", address).await?),
        None => None,
    };
    let scheme = if tls.is_some() { "https" } else { "http" };
    let listening = Ready {
        url: at(scheme, address, config.endpoint.public_url.path())?,
        is_loopback: address.ip().is_loopback(),
        metrics: match &metrics_listener {
            Some((_, address)) => Some(at("http", *address, "/metrics")?),
            None => None,
        },
    };

    ready(&listening)?;
    let gate = Gate::new(Arc::clone(&admission), Rate::new(config.allowance), Arc::clone(&log));
    let routes = routes(&config.endpoint, &discovery.provider, &about(&discovery), gate, &log);
    let stop = CancellationToken::new();
    let room = room(&config, &log);
    let places = Arc::new(Places::new(room, Some(Arc::clone(&metrics) as Arc<dyn Counter>)));
    let acceptors = tls.clone().map(|tls| -> Acceptors { Arc::new(move || tls.acceptor()) });
    let main = Listener {
        listener,
        routes,
        tls: acceptors,
        most_body: None,
        streamed: None,
        places,
        cut: cut.clone(),
    };
    let mut main = tokio::spawn(main.serve(stop.clone(), config.drain));
    if let Some((listener, _)) = metrics_listener {
        let routes = metrics_routes(&metrics, &config.endpoint);
        let room = Room { most: MOST_METRICS_CONNECTIONS, ..config.room.clone() };
        let (places, cut) = (Arc::new(Places::new(room, None)), CancellationToken::new());
        let listener = Listener { listener, routes, tls: None, most_body: None, streamed: None, places, cut };
        tokio::spawn(listener.serve(CancellationToken::new(), Duration::ZERO));
    }
    for (level, event, message) in listening.events(&config.endpoint.public_url) {
        log.event(level, event, &message);
    }
    tokio::spawn(check(Arc::clone(&admission), Arc::clone(&log)));

    let mut sweep = tokio::time::interval(SWEEP);
    loop {
        tokio::select! {
            signal = signals.next() => match signal {
                Signal::Reload => reload(&config.introspection, &admission, tls.as_deref(), &log, &metrics).await,
                Signal::Stop => break,
            },
            _ = sweep.tick() => admission.forget_old(),
        }
    }
    log.event(
        "info",
        "stopping",
        &format!("no new connections are accepted; running requests have {} s", config.drain.as_secs()),
    );
    stop.cancel();
    let mut stopped_twice = false;
    let left = loop {
        tokio::select! {
            left = &mut main => break left.unwrap_or_default(),
            // A second signal means to stop now.
            signal = signals.next() => if signal == Signal::Stop {
                stopped_twice = true;
                cut.cancel();
            },
        }
    };
    log_stopped((!stopped_twice).then_some(left), &log);
    Ok(())
}

/// The provider's resource server, whose data must be at the provider's own address.
fn resource_server(config: &Config, discovery: &Discovery) -> Result<ResourceServer> {
    let http = Http::new(HttpLimits::default()).over(config.network.clone());
    ResourceServer::new(http, &config.provider, discovery.query_base.clone()).map_err(|error| {
        Error::new(
            Kind::Refused,
            "query_base_foreign",
            "The provider's data is not at the provider's own address",
        )
        .because(error)
        .hint("Check --provider-url, or ask the provider to fix pdpp_core_query_base in its metadata")
    })
}

/// As many connections as configured, or as the limit of open files allows.
fn room(config: &Config, log: &Log) -> Room {
    let (files, at_once) = (places::allow_files(), config.allowance.at_once as usize);
    let most = places::fitting(config.room.most, at_once, files);
    if most < config.room.most {
        let files = files.unwrap_or_default();
        let message = format!(
            "this process may open {files} files, so it accepts {most} connections at once; to accept more, raise `ulimit -n`"
        );
        log.event("warn", "few_files", &message);
    }
    let most_per_address = if most < config.room.most {
        config.room.most_per_address.min(most.div_ceil(4))
    } else {
        config.room.most_per_address
    };
    Room { most, most_per_address, ..config.room.clone() }
}

/// Logs the end. `cut_off` is the number of connections that did not end on their own; `None` if the endpoint did not
/// wait.
fn log_stopped(cut_off: Option<usize>, log: &Log) {
    match cut_off {
        Some(0) => log.event("info", "stopped", "all requests were answered"),
        Some(left) => log.event("warn", "stopped", &format!("{left} connections were cut off")),
        None => {
            log.event("warn", "stopped", "a second signal came: unanswered requests were cut off");
        }
    }
}

/// Reloads secrets and certificates. If one cannot be read, the old one stays in use.
async fn reload(
    place: &CredentialsSource,
    admission: &Arc<Admission>,
    tls: Option<&Tls>,
    log: &Arc<Log>,
    metrics: &Metrics,
) {
    let place = place.clone();
    // A keyring may be slow.
    let read = tokio::task::spawn_blocking(move || place.read()).await;
    let credentials = match read {
        Ok(Ok(client)) => {
            admission.introspection().reload(client);
            log.forget_reported();
            tokio::spawn(check(Arc::clone(admission), Arc::clone(log)));
            Ok(())
        }
        Ok(Err(error)) => Err(error),
        Err(error) => {
            Err(Error::no_events("runtime_failed", "Could not read the credentials").because(error))
        }
    };
    let tls = tls.map_or(Ok(()), Tls::reload);
    let failed = [credentials, tls].into_iter().filter_map(Result::err).collect::<Vec<_>>();
    for error in &failed {
        log.event("error", "reload_failed", &format!("{}; the old one stays in use", error.in_full()));
    }
    metrics.reloaded(if failed.is_empty() { "ok" } else { "failed" });
    if failed.is_empty() {
        log.event("info", "reloaded", "reloaded the introspection credentials and TLS files");
    }
}

/// Asks the authorization server once, so that an operator learns of refused credentials before a caller does.
/// Refused credentials do not stop the endpoint: a signal reloads them.
async fn check(admission: Arc<Admission>, log: Arc<Log>) {
    let Ok(made_up) = AccessToken::new(MADE_UP.to_owned()) else { return };
    match tokio::time::timeout(CHECK_TIME, admission.introspection().ask(&made_up, Standing::Stranger)).await
    {
        Ok(Ok(_)) => {}
        Ok(Err(unknown @ Unknown::Credentials(_))) => {
            log.trouble("error", unknown.code(), || gate::in_words(&unknown));
        }
        Ok(Err(unknown)) => log.event("warn", unknown.code(), &gate::in_words(&unknown)),
        Err(_) => {
            let seconds = CHECK_TIME.as_secs();
            let message = format!(
                "the authorization server did not answer introspection within {seconds} s; callers get 503 until it does"
            );
            log.event("warn", "introspection_unavailable", &message);
        }
    }
}

/// [`DiscoveryError::into_error`] for an operator, who gives the address as an option.
fn not_discovered(error: DiscoveryError, provider: &ProviderUrl) -> Error {
    let meant = error.meant(provider);
    let error = error.into_error(provider);
    match meant {
        Some(meant) => {
            error.hint(Hint::new(format!("If {meant} is the provider: ")).run(Command::typed_with(
                "--provider-url",
                &meant,
                "mcp host",
            )))
        }
        None => error,
    }
}

/// Listens on `address`, the value of `option`, and returns the address that it got.
async fn bind(option: &'static str, address: SocketAddr) -> Result<(TcpListener, SocketAddr)> {
    let failed = |error| {
        Error::failed("host_listen", format!("Could not listen on {address}")).because(error).hint(
            Hint::new("Name another address, or use a free port: ").run(Command::typed_with(
                option,
                "127.0.0.1:0",
                "mcp host",
            )),
        )
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let became = listener.local_addr().map_err(failed)?;
    Ok((listener, became))
}

fn at(scheme: &str, address: SocketAddr, path: &str) -> Result<Url> {
    Url::parse(&format!("{scheme}://{address}{path}")).map_err(|error| {
        Error::failed("host_listen", format!("no URL can be made from {address}")).because(error)
    })
}

fn about(discovery: &Discovery) -> About {
    About {
        provider: discovery.provider.url().clone(),
        name: discovery.name.clone().unwrap_or_else(|| discovery.provider.to_string()),
        authorization_servers: vec![discovery.authorization_server.issuer.to_string()],
        query_base: discovery.query_base.clone(),
        packages: false,
    }
}

/// The endpoint, its metadata, and a health check for balancers.
fn routes(
    endpoint: &Endpoint,
    provider: &ProviderUrl,
    about: &About,
    gate: Gate,
    log: &Arc<Log>,
) -> axum::Router {
    let endpoint = Arc::new(endpoint.clone());
    let document = |document: serde_json::Value| {
        let body = document.to_string();
        get(move || async move { ([(header::CONTENT_TYPE, "application/json")], body) })
    };
    let provider_path = provider.well_known("oauth-protected-resource").path().to_owned();
    let mut metadata =
        axum::Router::new().route(&endpoint.metadata_path(), document(endpoint.mcp_document(about)));
    if provider_path != endpoint.metadata_path() {
        metadata = metadata.route(&provider_path, document(endpoint.provider_document(about)));
    }
    let nothing = Arc::clone(&endpoint);
    let unknown = axum::Router::new().fallback(move || {
        let endpoint = Arc::clone(&nothing);
        async move {
            Refusal::new(StatusCode::NOT_FOUND, "not_found", "There is nothing here").response(&endpoint)
        }
    });
    let layer = {
        let (log, endpoint) = (Arc::clone(log), Arc::clone(&endpoint));
        axum::middleware::from_fn(move |request: axum::extract::Request, next: axum::middleware::Next| {
            logged(Arc::clone(&log), Arc::clone(&endpoint), "other", next.run(request))
        })
    };
    let mcp = {
        let served = Arc::new(Mcp::new(Arc::clone(&endpoint), Arc::new(gate)));
        let (log, endpoint) = (Arc::clone(log), Arc::clone(&endpoint));
        move |request| {
            let served = Arc::clone(&served);
            let answer = async move { served.answer(request).await };
            logged(Arc::clone(&log), Arc::clone(&endpoint), "mcp", answer)
        }
    };
    // A balancer's probe names an address as its Host, and nothing is derived from it. `ok` is the only answer: an
    // endpoint that is stopping accepts no connections.
    let health = get(|| async { "ok\n" });
    let others = http::guard(&endpoint, metadata.merge(unknown));
    http::router(&endpoint, mcp).merge(others.layer(layer)).route("/healthz", health)
}

/// Answers with what `answer` returns, within the time limit, and logs a line.
async fn logged(
    log: Arc<Log>,
    endpoint: Arc<Endpoint>,
    route: &'static str,
    answer: impl Future<Output = Response>,
) -> Response {
    log::recorded(Arc::clone(&log), route, async move {
        let answered = tokio::time::timeout(REQUEST_TIME, answer).await;
        let response = answered.unwrap_or_else(|_| too_slow(&endpoint));
        if response.status() == StatusCode::MISDIRECTED_REQUEST {
            log.trouble("warn", "misdirected_request", || misdirected(&endpoint));
        }
        response
    })
    .await
}

/// What the operator can do about a request for another `Host`. The name that was sent is not repeated.
fn misdirected(endpoint: &Endpoint) -> String {
    let expected = &endpoint.public_url[Position::BeforeHost..Position::AfterPort];
    format!(
        "the Host of a request is not {expected}: if it came through the proxy, let the proxy pass Host on unchanged, \
         or accept the name that it sends with --trusted-host HOST[:PORT]"
    )
}

fn too_slow(endpoint: &Endpoint) -> Response {
    Refusal::new(StatusCode::GATEWAY_TIMEOUT, "request_timeout", "The request took too long: ask for less")
        .response(endpoint)
}

/// The routes of the metrics. They are separate from the endpoint, because an operator's counters are not for
/// callers, and a proxy in front forwards everything unless told otherwise.
fn metrics_routes(metrics: &Arc<Metrics>, endpoint: &Endpoint) -> axum::Router {
    let (metrics, endpoint) = (Arc::clone(metrics), endpoint.clone());
    let render = get(move |headers: HeaderMap| async move {
        // A page from another site may have its own host name resolve to this address.
        if !endpoint.is_named_by_operator(&headers) {
            let refusal = (
                StatusCode::MISDIRECTED_REQUEST,
                "this server does not have the name in Host: see --trusted-host\n",
            );
            return refusal.into_response();
        }
        ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics.render())
            .into_response()
    });
    axum::Router::new().route("/metrics", render)
}
