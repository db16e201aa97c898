//! MCP's Streamable HTTP, stateless, every era, over the same [`Server`] as stdio (R7.1).
//!
//! A `POST` holds one message and its answer; nothing is kept between two of them, so nobody's data can meet
//! somebody else's, and any instance can answer any request. The SDK keeps the protocol; its HTTP service is
//! not used. That one answers JSON that does not parse with 415, `Accept: */*` with 406 and a malformed
//! call with "unknown method", and it takes ids of 64 bits only; here lines are read as stdio reads them
//! ([`jsonrpc`]), so that both transports answer in the same bytes.
//!
//! Who may read what is asked of a [`Gate`], once a request, before its body is read. Nothing that is public
//! about the endpoint is taken from a request (R7.6): all of it is in [`Endpoint`].

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::Response;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use rmcp::model::{
    ClientCapabilities, ClientRequest, ErrorCode, GetMeta as _, Icon, Implementation,
    InitializeRequestParams, JsonRpcMessage, ProtocolVersion, RequestId, ServerResult,
};
use rmcp::service::serve_directly_with_ct;
use rmcp::transport::OneshotTransport;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::ReadSurface;
use super::jsonrpc::{self, Envelope, Id};
use super::server::Server;
use super::surface;
use crate::secret::AccessToken;

/// The icon, as it is served.
pub const ICON: &str = include_str!("icon.svg");
const ICON_TYPE: &str = "image/svg+xml";
/// The path of the icon.
const ICON_PATH: &str = "/icon.svg";
/// The name of the metadata of a protected resource (RFC 9728 §3).
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

const PROTOCOL_VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// Who a bearer is and what it may read. Asked once a request; never for a request without a bearer.
pub trait Gate: Send + Sync + 'static {
    /// What `bearer` may read, for one request.
    fn admit(&self, bearer: AccessToken) -> BoxFuture<'_, Result<Arc<dyn ReadSurface>, Refusal>>;

    /// Told what an admitted request asks for, in words of this program's own, before it is answered: for the
    /// log of one whose client does not wait for the answer.
    fn asked(&self, _asked: Asked) {}
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// A method that is offered, `notification` or `other`.
    pub method: &'static str,
    /// The tool, if it is one of the six.
    pub tool: Option<&'static str>,
}

/// Why a request is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    status: StatusCode,
    oauth: Option<&'static str>,
    code: &'static str,
    message: String,
    retry_after: Option<u64>,
}

impl Refusal {
    /// A refusal with this status; `code` is stable, `message` says what happened and what to do.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, oauth: None, code, message: message.into(), retry_after: None }
    }

    /// 401: the token is unknown, expired, revoked, or for somebody else (RFC 6750 §3.1 `invalid_token`).
    pub fn invalid_token(code: &'static str, message: impl Into<String>) -> Self {
        Self { oauth: Some("invalid_token"), ..Self::new(StatusCode::UNAUTHORIZED, code, message) }
    }

    /// 403: the token is good, for something else (RFC 6750 §3.1 `insufficient_scope`).
    pub fn insufficient_scope(code: &'static str, message: impl Into<String>) -> Self {
        Self { oauth: Some("insufficient_scope"), ..Self::new(StatusCode::FORBIDDEN, code, message) }
    }

    /// 503: it cannot be told now who this is, or nothing can be read.
    pub fn unavailable(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    /// 429: too much at once; try again in `seconds`.
    pub fn too_many(code: &'static str, message: impl Into<String>, seconds: u64) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, code, message).retry_after(seconds)
    }

    /// Says when to try again, in seconds.
    #[must_use]
    pub const fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The status.
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// The stable code.
    pub const fn code(&self) -> &'static str {
        self.code
    }

    /// What happened, and what to do.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The answer, with the challenge where a token would help (R7.2).
    pub fn response(&self, endpoint: &Endpoint) -> Response {
        let kind = match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_client_error() => "invalid_request_error",
            _ => "api_error",
        };
        let mut error = json!({ "type": kind, "code": self.code, "message": self.message });
        let mut response = Response::default();
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED || self.oauth.is_some() {
            let metadata = endpoint.metadata_url();
            let oauth = self.oauth.map(|oauth| format!(", error=\"{oauth}\"")).unwrap_or_default();
            let challenge = format!("Bearer resource_metadata=\"{metadata}\"{oauth}");
            put(headers, header::WWW_AUTHENTICATE, &challenge);
            error["resource_metadata"] = metadata.as_str().into();
            error["next_step"] =
                "Fetch error.resource_metadata and ask the owner for a grant; an owner token is \
                                  never needed."
                    .into();
        }
        if let Some(seconds) = self.retry_after {
            put(headers, header::RETRY_AFTER, &seconds.to_string());
        }
        put(headers, header::LINK, &format!("<{}>; rel=\"icon\"; type=\"{ICON_TYPE}\"", endpoint.icon_url()));
        put(headers, header::CONTENT_TYPE, JSON);
        put(headers, header::CACHE_CONTROL, "no-store");
        *response.body_mut() = Body::from(json!({ "error": error }).to_string());
        response.extensions_mut().insert(Outcome::Refused(self.code));
        response
    }
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// How a request ended, in the extensions of its response: for a log and for counters. Nothing in it came
/// from a request or a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A message was answered.
    Answered {
        /// Whether the answer is a result that is no error.
        is_ok: bool,
    },
    /// A notification was taken.
    Accepted,
    /// Refused, with this code.
    Refused(&'static str),
}

/// A host and its port, as `Host` names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedHost {
    host: String,
    port: Option<u16>,
}

/// The text names no host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a host: write example.org or example.org:8443")]
pub struct NotAHost;

impl std::str::FromStr for TrustedHost {
    type Err = NotAHost;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let authority: axum::http::uri::Authority = text.trim().parse().map_err(|_| NotAHost)?;
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return Err(NotAHost);
        }
        Ok(Self { host: authority.host().to_ascii_lowercase(), port: authority.port_u16() })
    }
}

/// An origin that a browser may call from: `https://app.example`, `http://localhost:*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedOrigin {
    /// Scheme and host, and the port where it is not the scheme's own.
    origin: String,
    any_port: bool,
}

/// The text is no origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an origin: write https://app.example, or http://localhost:* for every port")]
pub struct NotAnOrigin;

impl std::str::FromStr for AllowedOrigin {
    type Err = NotAnOrigin;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let (base, any_port) = text.strip_suffix(":*").map_or((text, false), |base| (base, true));
        let url = Url::parse(base).map_err(|_| NotAnOrigin)?;
        let is_bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        let is_origin = matches!(url.scheme(), "http" | "https") && url.username().is_empty() && is_bare;
        if !is_origin || (any_port && url.port().is_some()) {
            return Err(NotAnOrigin);
        }
        Ok(Self { origin: url.origin().ascii_serialization(), any_port })
    }
}

impl AllowedOrigin {
    fn matches(&self, origin: &str) -> bool {
        let Ok(mut url) = Url::parse(origin) else { return false };
        if self.any_port && url.set_port(None).is_err() {
            return false;
        }
        url.origin().ascii_serialization() == self.origin
    }
}

/// What one request may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A body at most, in bytes: 413.
    pub body: usize,
    /// How long a body may take to arrive: 408.
    pub body_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body: 1 << 20, body_time: Duration::from_secs(10) }
    }
}

/// The public face of an endpoint: from configuration alone, never from a request (R7.6).
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Where clients reach it: `https://host[/path]/mcp`. Also the resource that tokens are for (RFC 8707).
    pub public_url: Url,
    /// What `Host` may say beside the public URL's own host.
    pub trusted_hosts: Vec<TrustedHost>,
    /// Which pages may call it; a request without `Origin` comes from no page.
    pub allowed_origins: Vec<AllowedOrigin>,
    /// What a request may cost.
    pub limits: Limits,
}

/// What the protected-resource documents say of the provider (R7.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The provider's own resource: `https://host[/path]`.
    pub provider: Url,
    /// What the resource is called.
    pub name: String,
    /// Issuers.
    pub authorization_servers: Vec<String>,
    /// `…/v1`.
    pub query_base: Url,
    /// Whether package tokens are served (R7.8).
    pub packages: bool,
}

impl Endpoint {
    /// An endpoint that trusts its own host only, and no page.
    pub fn new(public_url: Url) -> Self {
        Self { public_url, trusted_hosts: Vec::new(), allowed_origins: Vec::new(), limits: Limits::default() }
    }

    fn at_root(&self, path: &str) -> Url {
        let mut url = self.public_url.clone();
        url.set_path(path);
        url.set_query(None);
        url.set_fragment(None);
        url
    }

    /// Where this resource's metadata is: its own path after the well-known one (RFC 9728 §3.1).
    pub fn metadata_url(&self) -> Url {
        self.at_root(&self.metadata_path())
    }

    /// The path of [`Endpoint::metadata_url`].
    pub fn metadata_path(&self) -> String {
        format!("{WELL_KNOWN}{}", self.public_url.path().trim_end_matches('/'))
    }

    /// Where the icon is.
    pub fn icon_url(&self) -> Url {
        let path = self.public_url.path().trim_end_matches('/');
        let base = path.rsplit_once('/').map_or("", |(base, _)| base);
        self.at_root(&format!("{base}{ICON_PATH}"))
    }

    /// What the provider's own document says of the endpoint, under `pdpp_agent_discovery.mcp`.
    pub fn discovery_hint(&self) -> Value {
        json!({
            "endpoint": self.public_url.as_str(),
            "resource_metadata": self.metadata_url().as_str(),
            "transport": "streamable_http",
            "setup_intent": "grant_scoped_read",
            "no_owner_token": true,
        })
    }

    /// `/.well-known/oauth-protected-resource`: the provider's resource stays at `/v1`, and hints the endpoint.
    pub fn provider_document(&self, about: &About) -> Value {
        self.document(about, about.provider.as_str().trim_end_matches('/'), &["client"])
    }

    /// `/.well-known/oauth-protected-resource/mcp`: the endpoint as a resource of its own. Never for an owner.
    pub fn mcp_document(&self, about: &About) -> Value {
        let kinds: &[&str] = if about.packages { &["client", "mcp_package"] } else { &["client"] };
        self.document(about, self.public_url.as_str(), kinds)
    }

    fn document(&self, about: &About, resource: &str, kinds: &[&str]) -> Value {
        json!({
            "resource": resource,
            "resource_name": about.name,
            "authorization_servers": about.authorization_servers,
            "bearer_methods_supported": ["header"],
            "pdpp_core_query_base": about.query_base.as_str(),
            "pdpp_token_kinds_supported": kinds,
            "pdpp_agent_discovery": { "advisory": true, "mcp": self.discovery_hint() },
        })
    }

    /// Whether a request names a host that this is, and comes from a page that may call it.
    ///
    /// # Errors
    /// 421 for another host (RFC 9110 §15.5.20), 403 for another origin.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        // HTTP/2 has the host in the request target.
        let named = match (headers.get(header::HOST), uri.authority()) {
            (Some(host), _) => host.to_str().ok().map(str::to_owned),
            (None, authority) => authority.map(ToString::to_string),
        };
        let named = named.and_then(|named| named.parse::<TrustedHost>().ok());
        let is_ours = headers.get_all(header::HOST).iter().count() < 2
            && named.is_some_and(|named| self.is_trusted(&named));
        if !is_ours {
            return Err(Refusal::new(
                StatusCode::MISDIRECTED_REQUEST,
                "misdirected_request",
                format!("This server has another name: send requests to {}", self.public_url),
            ));
        }
        if headers.contains_key(header::ORIGIN) && self.origin(headers).is_none() {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "origin_not_allowed",
                "Pages of this origin may not call this server",
            ));
        }
        Ok(())
    }

    fn is_trusted(&self, named: &TrustedHost) -> bool {
        let default = self.public_url.port_or_known_default();
        let port = |port: Option<u16>| match self.public_url.scheme() {
            "http" => port.or(Some(80)),
            _ => port.or(Some(443)),
        };
        let own = self.public_url.host_str().is_some_and(|own| own.eq_ignore_ascii_case(&named.host));
        (own && port(named.port) == default)
            || self
                .trusted_hosts
                .iter()
                .any(|trusted| trusted.host == named.host && port(trusted.port) == port(named.port))
    }

    /// The allowed origin that a request comes from.
    fn origin<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        let text = origin.to_str().ok()?;
        self.allowed_origins.iter().any(|allowed| allowed.matches(text)).then_some(origin)
    }

    /// Answers with `answer`, if [`Endpoint::check`] lets the request through; tells a page of an allowed origin
    /// what it may see.
    async fn guarded<F: Future<Output = Response>>(
        &self,
        request: axum::extract::Request,
        answer: impl FnOnce(axum::extract::Request) -> F,
    ) -> Response {
        if let Err(refusal) = self.check(request.uri(), request.headers()) {
            return refusal.response(self);
        }
        let origin = self.origin(request.headers()).cloned();
        let is_preflight = request.method() == Method::OPTIONS && origin.is_some();
        let mut response = if is_preflight { preflight() } else { answer(request).await };
        let headers = response.headers_mut();
        if let Some(origin) = origin {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            let exposed = "WWW-Authenticate, Link, Retry-After, Request-Id";
            put(headers, header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
        if !self.allowed_origins.is_empty() {
            put(headers, header::VARY, "Origin");
        }
        response
    }

    /// What `initialize` and `server/discover` say that this is (R7.7).
    fn server_info(&self) -> Implementation {
        let icon =
            Icon::new(self.icon_url().as_str()).with_mime_type(ICON_TYPE).with_sizes(vec!["any".to_owned()]);
        Server::implementation().with_icons(vec![icon])
    }
}

/// The endpoint's routes: `/mcp` (and the public URL's path, where that is another) and `/icon.svg`, guarded.
pub fn router(endpoint: Arc<Endpoint>, gate: Arc<dyn Gate>) -> axum::Router {
    let (path, icon) = (endpoint.public_url.path().trim_end_matches('/').to_owned(), endpoint.icon_url());
    let served = Arc::new(Mcp::new(endpoint, gate));
    let any = axum::routing::any(move |request: axum::extract::Request| {
        let served = Arc::clone(&served);
        async move { served.answer(request).await }
    });
    let mut routes = axum::Router::new();
    // A proxy in front may or may not take the prefix away.
    let mut paths = vec!["/mcp", ICON_PATH, path.as_str(), icon.path()];
    paths.sort_unstable();
    paths.dedup();
    for path in paths.into_iter().filter(|path| !path.is_empty()) {
        routes = routes.route(path, any.clone());
    }
    routes
}

/// `routes` behind the checks of [`Endpoint::check`], with CORS (the Fetch standard) for the allowed origins:
/// for what is served beside [`router`], which is guarded by itself.
pub fn guard(endpoint: &Arc<Endpoint>, routes: axum::Router) -> axum::Router {
    let endpoint = Arc::clone(endpoint);
    routes.layer(axum::middleware::from_fn(
        move |request: axum::extract::Request, next: axum::middleware::Next| {
            let endpoint = Arc::clone(&endpoint);
            async move { endpoint.guarded(request, |request| next.run(request)).await }
        },
    ))
}

fn preflight() -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    put(headers, header::ACCESS_CONTROL_ALLOW_METHODS, "POST, GET");
    put(
        headers,
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID",
    );
    put(headers, header::ACCESS_CONTROL_MAX_AGE, "600");
    response
}

/// What answers at `/mcp` and `/icon.svg`: [`router`] without a router.
pub struct Mcp {
    endpoint: Arc<Endpoint>,
    gate: Arc<dyn Gate>,
    info: Implementation,
}

impl Mcp {
    /// An endpoint whose callers `gate` lets in.
    pub fn new(endpoint: Arc<Endpoint>, gate: Arc<dyn Gate>) -> Self {
        Self { info: endpoint.server_info(), endpoint, gate }
    }

    /// Answers a request to either path, guarded.
    pub async fn answer(&self, request: axum::extract::Request) -> Response {
        self.endpoint
            .guarded(request, |request| async {
                if request.uri().path().ends_with(ICON_PATH) { icon() } else { self.guarded(request).await }
            })
            .await
    }

    async fn guarded(&self, request: axum::extract::Request) -> Response {
        let request_id = request_id();
        let answered = AssertUnwindSafe(self.try_answer(request)).catch_unwind().await;
        let mut response = match answered {
            Ok(Ok(response)) => response,
            Ok(Err(refusal)) => refusal.response(&self.endpoint),
            Err(_) => Refusal::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal_error",
                "Internal error in this request; the server goes on",
            )
            .response(&self.endpoint),
        };
        put(response.headers_mut(), HeaderName::from_static("request-id"), &request_id);
        response
    }

    async fn try_answer(&self, request: axum::extract::Request) -> Result<Response, Refusal> {
        let (head, body) = request.into_parts();
        let bearer = bearer(&head.headers)?;
        if head.method != Method::POST {
            // No session to end (DELETE), no stream to listen on (GET).
            let refusal = Refusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "This server is stateless: send each message with POST",
            );
            let mut response = refusal.response(&self.endpoint);
            put(response.headers_mut(), header::ALLOW, "POST");
            return Ok(response);
        }
        let form = Form::of(&head.headers)?;
        // Before the body: who is not let in does not make us hold anything.
        let surface = self.gate.admit(bearer).await?;
        let body = read(body, self.endpoint.limits).await?;
        Ok(self.serve(surface, &head.headers, &body, form).await)
    }

    async fn serve(
        &self,
        surface: Arc<dyn ReadSurface>,
        headers: &HeaderMap,
        body: &[u8],
        form: Form,
    ) -> Response {
        let (id, method, params) = match jsonrpc::envelope(body) {
            Ok(Envelope::Request { id, method, params }) => (id, method, params),
            Ok(Envelope::Notification { method, .. }) => {
                self.gate.asked(Asked { method: "notification", tool: None });
                return match check_headers(headers, &method, None) {
                    // A cancellation too: a request ends with its connection, and ids are nobody's alone.
                    Ok(()) => accepted(),
                    Err(error) => error_response(form, None, &error, StatusCode::BAD_REQUEST),
                };
            }
            Ok(Envelope::Nothing) => {
                let error = if body.trim_ascii().is_empty() {
                    ErrorData::new(ErrorCode(-32700), "Parse error: the body is empty", None)
                } else {
                    ErrorData::invalid_request(
                        "This server asks nothing, so there is nothing to answer",
                        None,
                    )
                };
                return error_response(form, None, &error, StatusCode::BAD_REQUEST);
            }
            Err(rejected) => {
                return message(
                    form,
                    StatusCode::BAD_REQUEST,
                    rejected.to_line(),
                    Outcome::Refused("not_a_message"),
                );
            }
        };
        let refused = |error: &ErrorData, status| error_response(form, Some(&id), error, status);
        if let Err(error) = check_headers(headers, &method, params.as_ref()) {
            return refused(&error, StatusCode::BAD_REQUEST);
        }
        let is_modern = match method.as_str() {
            // No header belongs to it: its era is what its `_meta` names, as no client of an older one does.
            "initialize" => jsonrpc::names_its_era(params.as_ref()),
            "server/discover" => true,
            _ => {
                jsonrpc::names_its_era(params.as_ref())
                    || headers.get(PROTOCOL_VERSION).is_some_and(is_modern)
            }
        };
        if is_modern && method == "initialize" {
            let message = "Method not found: initialize; 2026-07-28 begins with server/discover";
            let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None);
            return refused(&error, status_of(is_modern, &error, false));
        }
        #[cfg(feature = "conformance-fixtures")]
        if let Some(answered) = super::conformance::answer(&method, params.as_ref(), is_modern) {
            return match answered {
                Ok(result) => {
                    let line = jsonrpc::answer_line(id.as_json(), "result", &result);
                    message(form, StatusCode::OK, line, Outcome::Accepted)
                }
                Err(error) => refused(&error, status_of(is_modern, &error, false)),
            };
        }
        let request = match jsonrpc::client_request(&method, params) {
            Ok(request) => request,
            Err(error) => return refused(&error, status_of(is_modern, &error, false)),
        };
        self.gate.asked(Asked::of(&request));
        let lacks_meta = !request.get_meta().missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty();
        match self.run(surface, headers, request).await {
            Ok(result) => {
                let is_error =
                    matches!(&result, ServerResult::CallToolResult(result) if result.is_error == Some(true));
                #[cfg(feature = "conformance-fixtures")]
                let result = {
                    let mut result = json!(result);
                    super::conformance::extend(&method, &mut result);
                    result
                };
                let line = jsonrpc::answer_line(id.as_json(), "result", &result);
                message(form, StatusCode::OK, line, Outcome::Answered { is_ok: !is_error })
            }
            Err(error) => {
                let line = jsonrpc::error_line(id.as_json(), &error);
                message(
                    form,
                    status_of(is_modern, &error, lacks_meta),
                    line,
                    Outcome::Answered { is_ok: false },
                )
            }
        }
    }

    /// Runs one request of the SDK's. Dropped with its connection, and with it what it asked a provider for.
    async fn run(
        &self,
        surface: Arc<dyn ReadSurface>,
        headers: &HeaderMap,
        request: ClientRequest,
    ) -> Result<ServerResult, ErrorData> {
        let version = match &request {
            ClientRequest::InitializeRequest(initialize) => initialize.params.protocol_version.clone(),
            _ => headers
                .get(PROTOCOL_VERSION)
                .and_then(|version| version.to_str().ok())
                .and_then(|version| serde_json::from_value(version.into()).ok())
                // As Streamable HTTP says for a request that names none.
                .unwrap_or(ProtocolVersion::V_2025_03_26),
        };
        let peer =
            InitializeRequestParams::new(ClientCapabilities::default(), Implementation::new("unknown", "0"))
                .with_protocol_version(version);
        // The id on the wire never reaches the SDK, which knows 64 bits.
        let (transport, mut messages) =
            OneshotTransport::<RoleServer>::new(JsonRpcMessage::request(request, RequestId::Number(0)));
        let stop = CancellationToken::new();
        let _gone = stop.clone().drop_guard();
        let server = Server::new(surface).with_info(self.info.clone());
        let running = serve_directly_with_ct(server, transport, Some(peer), stop);
        let mut answer = Err(ErrorData::internal_error("Internal error: the request was not answered", None));
        while let Some(message) = messages.recv().await {
            match message {
                JsonRpcMessage::Response(response) => {
                    answer = Ok(response.result);
                    break;
                }
                JsonRpcMessage::Error(error) => {
                    answer = Err(error.error);
                    break;
                }
                _ => {}
            }
        }
        drop(running);
        answer
    }
}

fn icon() -> Response {
    let mut response = Response::new(Body::from(ICON));
    put(response.headers_mut(), header::CONTENT_TYPE, ICON_TYPE);
    put(response.headers_mut(), header::CACHE_CONTROL, "max-age=86400");
    response
}

/// 16 hex digits, for both ends' logs.
fn request_id() -> String {
    format!("req_{}", crate::hex::random::<8>().unwrap_or_default())
}

/// The one bearer of a request (RFC 6750 §2.1: in the header, nowhere else).
fn bearer(headers: &HeaderMap) -> Result<AccessToken, Refusal> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let missing = || Refusal::new(StatusCode::UNAUTHORIZED, "authentication_error", "Missing Bearer token");
    let first = given.next().ok_or_else(missing)?;
    let (scheme, token) = first.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(missing)?;
    if !scheme.eq_ignore_ascii_case("bearer") || given.next().is_some() {
        return Err(missing());
    }
    AccessToken::new(token.trim().to_owned())
        .map_err(|_| Refusal::invalid_token("invalid_token", "The bearer is no token"))
}

/// In what form an answer goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    /// One event: for a client that takes nothing else.
    Events,
}

impl Form {
    /// What a request wants, and whether what it brings can be read.
    fn of(headers: &HeaderMap) -> Result<Self, Refusal> {
        let essence = |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let content = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(essence);
        if content.as_deref() != Some(JSON) {
            return Err(Refusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "Send JSON, with Content-Type: application/json",
            ));
        }
        let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let accepted = accepted.flat_map(|list| list.split(',')).filter(|one| !is_excluded(one));
        let accepted = accepted.map(essence).collect::<Vec<_>>();
        let takes = |kinds: &[&str]| accepted.iter().any(|one| kinds.contains(&one.as_str()));
        if !headers.contains_key(header::ACCEPT) || takes(&[JSON, "application/*", "*/*"]) {
            Ok(Self::Json)
        } else if takes(&[EVENTS, "text/*"]) {
            Ok(Self::Events)
        } else {
            Err(Refusal::new(
                StatusCode::NOT_ACCEPTABLE,
                "not_acceptable",
                "Answers are application/json or text/event-stream; Accept names neither",
            ))
        }
    }
}

/// `;q=0` (RFC 9110 §12.4.2).
fn is_excluded(range: &str) -> bool {
    range.split(';').skip(1).any(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        name.trim().eq_ignore_ascii_case("q") && value.trim().parse::<f32>().is_ok_and(|q| q <= 0.0)
    })
}

async fn read(body: Body, limits: Limits) -> Result<Vec<u8>, Refusal> {
    let too_large = || {
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "payload_too_large",
            format!("A message has at most {} bytes", limits.body),
        )
    };
    let reading = async {
        let (mut chunks, mut read) = (body.into_data_stream(), Vec::new());
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| {
                Refusal::new(StatusCode::BAD_REQUEST, "body_incomplete", "The body could not be read")
            })?;
            if read.len() + chunk.len() > limits.body {
                return Err(too_large());
            }
            read.extend_from_slice(&chunk);
        }
        Ok(read)
    };
    tokio::time::timeout(limits.body_time, reading).await.unwrap_or_else(|_| {
        Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", "The body took too long to arrive"))
    })
}

/// The headers by which a router may read a message without its body have to say what the body says, and a
/// version has to be one that there is (Streamable HTTP; from 2026-07-28 `Mcp-Method` and `Mcp-Name` too).
fn check_headers(headers: &HeaderMap, method: &str, params: Option<&Value>) -> Result<(), ErrorData> {
    let mismatch = |what: String| ErrorData::header_mismatch(what, None);
    let header = |name: &'static str| {
        let mut values = headers.get_all(name).iter();
        let Some(value) = values.next() else { return Ok(None) };
        let text = value.to_str().ok().filter(|_| values.next().is_none());
        text.map(Some).ok_or_else(|| mismatch(format!("{name} has to be there once, as plain text")))
    };
    let version = header(PROTOCOL_VERSION)?;
    let asked = params.and_then(|params| params.get("_meta")?.get(jsonrpc::META_PROTOCOL_VERSION)?.as_str());
    if method == "initialize" {
        let asked = params.and_then(|params| params.get("protocolVersion")?.as_str());
        return match (version, asked) {
            (Some(version), Some(asked)) if version != asked => Err(ErrorData::invalid_request(
                "Invalid Request: MCP-Protocol-Version is not params.protocolVersion",
                None,
            )),
            _ => Ok(()),
        };
    }
    match (version, asked) {
        (Some(version), Some(asked)) if version != asked => {
            return Err(mismatch("MCP-Protocol-Version is not the version in _meta".to_owned()));
        }
        (None, Some(_)) => {
            return Err(mismatch("a version in _meta needs the header MCP-Protocol-Version".to_owned()));
        }
        (Some(version), None)
            if !ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == version) =>
        {
            return Err(ErrorData::invalid_request(
                "Unsupported MCP-Protocol-Version",
                Some(json!({
                    "supported": ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect::<Vec<_>>(),
                })),
            ));
        }
        _ => {}
    }
    if !headers.get(PROTOCOL_VERSION).is_some_and(is_modern) {
        return Ok(());
    }
    if asked.is_none() && !method.starts_with("notifications/") {
        return Err(jsonrpc::invalid_params(
            method,
            "_meta has to name protocolVersion and the client (2026-07-28)",
        ));
    }
    if header(METHOD)? != Some(method) {
        return Err(mismatch("Mcp-Method has to be there and to be the body's method".to_owned()));
    }
    let name = match method {
        "tools/call" | "prompts/get" => params.and_then(|params| params.get("name")?.as_str()),
        "resources/read" => params.and_then(|params| params.get("uri")?.as_str()),
        _ => None,
    };
    if let Some(name) = name
        && header(NAME)?.and_then(decoded).as_deref() != Some(name)
    {
        return Err(mismatch("Mcp-Name has to be there and to be the body's name or uri".to_owned()));
    }
    Ok(())
}

/// Whether a version is of the era without `initialize`. They are dates, so that later is greater.
fn is_modern(version: &HeaderValue) -> bool {
    version.to_str().is_ok_and(|version| version >= ProtocolVersion::STANDARD_HEADERS.as_str())
}

/// A header's text: as it is, or `=?base64?…?=` where it could not travel so.
fn decoded(value: &str) -> Option<String> {
    use base64::Engine as _;
    let Some(inner) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(inner).ok()?).ok()
}

/// The status of an error: 200 in the eras that have it in the body alone, the nearest one since 2026-07-28.
fn status_of(is_modern: bool, error: &ErrorData, lacks_meta: bool) -> StatusCode {
    match error.code {
        _ if !is_modern => StatusCode::OK,
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | ErrorCode::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
        ErrorCode::INVALID_PARAMS if lacks_meta => StatusCode::BAD_REQUEST,
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

impl Asked {
    fn of(request: &ClientRequest) -> Self {
        const METHODS: [&str; 7] = [
            "initialize",
            "ping",
            "server/discover",
            "tools/list",
            "tools/call",
            "resources/templates/list",
            "resources/read",
        ];
        let method = METHODS.into_iter().find(|known| *known == request.method()).unwrap_or("other");
        let tool = match request {
            ClientRequest::CallToolRequest(call) => surface::name_of(&call.params.name),
            _ => None,
        };
        Self { method, tool }
    }
}

fn error_response(form: Form, id: Option<&Id>, error: &ErrorData, status: StatusCode) -> Response {
    let line = jsonrpc::error_line(id.map_or("null", Id::as_json), error);
    message(form, status, line, Outcome::Refused("invalid_message"))
}

fn message(form: Form, status: StatusCode, line: Vec<u8>, outcome: Outcome) -> Response {
    let line = jsonrpc::visible(line);
    let (kind, body) = match form {
        Form::Json => (JSON, line),
        Form::Events => (EVENTS, [b"event: message\ndata: ".as_slice(), &line, b"\n\n"].concat()),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    put(response.headers_mut(), header::CONTENT_TYPE, kind);
    put(response.headers_mut(), header::CACHE_CONTROL, "no-store");
    response.extensions_mut().insert(outcome);
    response
}

fn accepted() -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::ACCEPTED;
    response.extensions_mut().insert(Outcome::Accepted);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::{ResourceContents, ResourceError, ToolAnswer};
    use axum::http::Request;
    use proptest::prelude::*;
    use serde_json::Map;

    /// Says whose it is and what it was asked.
    struct Whose(String);

    impl ReadSurface for Whose {
        fn call(&self, tool: &str, arguments: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
            let text = format!("{} {tool} {}", self.0, Value::Object(arguments));
            async move {
                assert!(!text.contains("panic"), "asked for");
                ToolAnswer { text, structured: None, is_error: false }
            }
            .boxed()
        }

        fn read_resource(&self, _: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
            async { Err(ResourceError::InvalidUri("none here".to_owned())) }.boxed()
        }
    }

    struct Names;

    impl Gate for Names {
        fn admit(&self, bearer: AccessToken) -> BoxFuture<'_, Result<Arc<dyn ReadSurface>, Refusal>> {
            let name = bearer.expose_bearer().to_owned();
            async move {
                match name.as_str() {
                    "dead" => Err(Refusal::invalid_token("token_revoked", "The grant was revoked")),
                    "busy" => Err(Refusal::too_many("rate_limited", "Too many requests", 7)),
                    "scope" => Err(Refusal::insufficient_scope("package_unsupported", "Not here")),
                    "panics" => panic!("asked for"),
                    _ => Ok(Arc::new(Whose(name)) as Arc<dyn ReadSurface>),
                }
            }
            .boxed()
        }
    }

    fn endpoint() -> Endpoint {
        Endpoint {
            trusted_hosts: vec!["inside.example:8080".parse().unwrap()],
            allowed_origins: vec![
                "https://app.example".parse().unwrap(),
                "http://localhost:*".parse().unwrap(),
            ],
            limits: Limits { body: 2_000, ..Limits::default() },
            ..Endpoint::new("https://data.example/p/mcp".parse().unwrap())
        }
    }

    struct Asked(axum::http::request::Builder, Body);

    impl Asked {
        fn new(method: &str, body: impl Into<Body>) -> Self {
            let request = Request::builder().method(method).uri("/mcp").header("host", "data.example");
            Self(request, body.into())
        }

        fn post(body: &Value) -> Self {
            Self::new("POST", body.to_string()).with("content-type", JSON).with("authorization", "Bearer ann")
        }

        fn with(self, name: &str, value: &str) -> Self {
            let mut request = self.0;
            let headers = request.headers_mut().unwrap();
            headers.insert(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
            Self(request, self.1)
        }

        fn without(mut self, name: &str) -> Self {
            self.0.headers_mut().unwrap().remove(name);
            self
        }

        async fn answer(self) -> (u16, HeaderMap, String) {
            let served = Mcp::new(Arc::new(endpoint()), Arc::new(Names));
            let (head, body) = served.answer(self.0.body(self.1).unwrap()).await.into_parts();
            let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            (head.status.as_u16(), head.headers, String::from_utf8(body.to_vec()).unwrap())
        }

        async fn json(self) -> (u16, Value) {
            let (status, _, body) = self.answer().await;
            (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body}")))
        }
    }

    fn call(id: &Value, tool: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {"a": 1}}})
    }

    fn meta() -> Value {
        json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        })
    }

    #[tokio::test]
    async fn r7_1_the_eras_with_initialize_need_no_session() {
        for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
            let (status, headers, body) =
                Asked::post(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
                    .answer()
                    .await;
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!((status, &body["result"]["protocolVersion"]), (200, &json!(version)), "{body}");
            assert!(!headers.contains_key("mcp-session-id"));
            let told = Asked::post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
            assert_eq!(told.with(PROTOCOL_VERSION, version).answer().await.0, 202);
            let asked = Asked::post(&call(&json!(7), "fetch")).with(PROTOCOL_VERSION, version);
            let (status, body) = asked.json().await;
            assert_eq!((status, &body["id"]), (200, &json!(7)));
            assert_eq!(body["result"]["content"][0]["text"], "ann fetch {\"a\":1}");
        }
        // Without the header too, as a client of before 2025-06-18 asks.
        let (status, body) =
            Asked::post(&json!({"jsonrpc": "2.0", "id": "x", "method": "tools/list"})).json().await;
        assert_eq!((status, body["result"]["tools"].as_array().map(Vec::len)), (200, Some(6)));
        let (status, body) =
            Asked::post(&call(&json!(1), "fetch")).with(PROTOCOL_VERSION, "2031-01-01").json().await;
        assert_eq!((status, &body["error"]["code"], &body["id"]), (400, &json!(-32600), &json!(1)));
    }

    #[tokio::test]
    async fn r7_1_the_era_without_initialize_is_served_too() {
        let discover =
            json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta()}});
        let modern = |body: &Value, method: &str| {
            Asked::post(body).with(PROTOCOL_VERSION, "2026-07-28").with(METHOD, method)
        };
        let (status, body) = modern(&discover, "server/discover").json().await;
        assert_eq!(status, 200, "{body}");
        assert!(body["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
        let mut asked = call(&json!("i"), "schema");
        asked["params"]["_meta"] = meta();
        let (status, body) = modern(&asked, "tools/call").with(NAME, "schema").json().await;
        assert_eq!((status, &body["id"]), (200, &json!("i")), "{body}");
        assert_eq!(modern(&asked, "tools/call").with(NAME, "=?base64?c2NoZW1h?=").json().await.0, 200);
        // What a router reads has to be what is done.
        for (method, name) in
            [("tools/list", "schema"), ("tools/call", "fetch"), ("tools/call", "=?base64?!?=")]
        {
            let (status, body) = modern(&asked, method).with(NAME, name).json().await;
            assert_eq!(
                (status, &body["error"]["code"], &body["id"]),
                (400, &json!(-32020), &json!("i")),
                "{method} {name}"
            );
        }
        let (status, body) = modern(&asked, "tools/call")
            .with(NAME, "schema")
            .with(PROTOCOL_VERSION, "2025-11-25")
            .json()
            .await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!(-32020)));
        let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": {"_meta": meta()}});
        assert_eq!(modern(&unknown, "no/such").json().await.0, 404);
        // What this era has no more is no method of it; an older client's, which names no era, is.
        let mut old = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"_meta": meta()}});
        let (status, body) = modern(&old, "initialize").json().await;
        assert_eq!((status, &body["error"]["code"]), (404, &json!(-32601)), "{body}");
        old["params"] = json!({"protocolVersion": "2026-07-28", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let (status, body) = modern(&old, "initialize").json().await;
        assert!(status == 200 && body["result"]["protocolVersion"].is_string(), "{body}");
        asked["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        let (status, body) = modern(&asked, "tools/call").with(NAME, "schema").json().await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!(-32602)), "{body}");
        asked["params"].as_object_mut().unwrap().remove("_meta");
        let (status, body) = modern(&asked, "tools/call").with(NAME, "schema").json().await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!(-32602)), "{body}");
    }

    #[tokio::test]
    async fn what_is_no_message_is_told_so() {
        for (body, code, id) in [
            ("{not json", -32700, Value::Null),
            ("", -32700, Value::Null),
            ("[]", -32600, Value::Null),
            (r#"[{"jsonrpc":"2.0","id":5,"method":"ping"}]"#, -32600, Value::Null),
            (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, -32600, json!(5)),
            (r#"{"jsonrpc":"2.0","id":5,"result":{}}"#, -32600, Value::Null),
        ] {
            let asked =
                Asked::new("POST", body).with("content-type", JSON).with("authorization", "Bearer ann");
            let (status, answer) = asked.json().await;
            assert_eq!((status, &answer["error"]["code"], &answer["id"]), (400, &json!(code), &id), "{body}");
        }
        // A malformed call is no unknown method, and an id of any length comes back as it went.
        let long = r#"{"jsonrpc":"2.0","id":12345678901234567890123,"method":"tools/call","params":{"arguments":[]}}"#;
        let (status, _, body) = Asked::new("POST", long)
            .with("content-type", JSON)
            .with("authorization", "Bearer ann")
            .answer()
            .await;
        assert!(
            body.contains(r#""id":12345678901234567890123"#) && body.contains("-32602"),
            "{status} {body}"
        );
    }

    #[tokio::test]
    async fn media_types_methods_and_sizes() {
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        for kind in ["text/plain", "application/json-seq", ""] {
            assert_eq!(Asked::post(&ping).with("content-type", kind).answer().await.0, 415, "{kind}");
        }
        for (accept, status, kind) in [
            ("*/*", 200, JSON),
            ("application/json, text/event-stream", 200, JSON),
            ("text/event-stream", 200, EVENTS),
            ("application/json;q=0, text/event-stream", 200, EVENTS),
            ("text/html", 406, JSON),
        ] {
            let (got, headers, body) = Asked::post(&ping).with("accept", accept).answer().await;
            assert_eq!((got, headers["content-type"].to_str().unwrap()), (status, kind), "{accept}");
            if kind == EVENTS {
                assert_eq!(body, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n");
            }
        }
        let charset = Asked::post(&ping).with("content-type", "Application/JSON; charset=utf-8");
        assert_eq!(charset.answer().await.0, 200);
        for method in ["GET", "DELETE", "PUT"] {
            let (status, headers, _) =
                Asked::new(method, "").with("authorization", "Bearer ann").answer().await;
            assert_eq!((status, headers["allow"].to_str().unwrap()), (405, "POST"), "{method}");
        }
        let large = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "y".repeat(2_000)}});
        assert_eq!(Asked::post(&large).answer().await.0, 413);
    }

    #[tokio::test]
    async fn r7_2_without_a_good_bearer_it_says_where_to_get_one() {
        const METADATA: &str = "https://data.example/.well-known/oauth-protected-resource/p/mcp";
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let missing = format!("Bearer resource_metadata=\"{METADATA}\"");
        let invalid = format!("{missing}, error=\"invalid_token\"");
        for (asked, challenge, code) in [
            (Asked::post(&ping).without("authorization"), &missing, "authentication_error"),
            (Asked::new("GET", ""), &missing, "authentication_error"),
            (Asked::post(&ping).with("authorization", "Basic YTpi"), &missing, "authentication_error"),
            (Asked::post(&ping).with("authorization", "Bearer"), &missing, "authentication_error"),
            (Asked::post(&ping).with("authorization", "Bearer a b"), &invalid, "invalid_token"),
            (Asked::post(&ping).with("authorization", "bearer dead"), &invalid, "token_revoked"),
        ] {
            let (status, headers, body) = asked.answer().await;
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!((status, headers["www-authenticate"].to_str().unwrap()), (401, challenge.as_str()));
            assert_eq!(body["error"]["resource_metadata"], METADATA);
            assert_eq!(body["error"]["code"], code);
            assert_eq!(
                headers["link"],
                "<https://data.example/p/icon.svg>; rel=\"icon\"; type=\"image/svg+xml\""
            );
            assert!(!headers["request-id"].is_empty());
        }
        let (status, headers, _) = Asked::post(&ping).with("authorization", "Bearer busy").answer().await;
        assert_eq!((status, headers["retry-after"].to_str().unwrap()), (429, "7"));
        assert!(!headers.contains_key("www-authenticate"));
        let (status, headers, _) = Asked::post(&ping).with("authorization", "Bearer scope").answer().await;
        assert!(
            status == 403 && headers["www-authenticate"].to_str().unwrap().ends_with("insufficient_scope\"")
        );
        assert_eq!(Asked::post(&ping).with("authorization", "Bearer panics").json().await.0, 500);
    }

    #[tokio::test]
    async fn r7_6_an_untrusted_host_or_page_gets_nothing() {
        let ping = || Asked::post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
        for host in [
            "evil.example",
            "data.example.evil.example",
            "data.example:8443",
            "inside.example",
            "data.example@evil.example",
            "",
        ] {
            let (status, headers, body) = ping().with("host", host).without("authorization").answer().await;
            assert_eq!(status, 421, "{host}");
            assert!(!body.contains("evil") && !format!("{headers:?}").contains("evil"), "{host}");
        }
        for host in ["data.example", "DATA.example:443", "inside.example:8080"] {
            assert_eq!(ping().with("host", host).answer().await.0, 200, "{host}");
        }
        // Nor from any header that a proxy would set.
        let (_, headers, _) = ping()
            .without("authorization")
            .with("x-forwarded-host", "evil.example")
            .with("forwarded", "host=evil.example;proto=http")
            .answer()
            .await;
        assert!(!format!("{headers:?}").contains("evil"));
        for origin in [
            "https://evil.example",
            "http://app.example",
            "https://app.example:8443",
            "null",
            "http://localhost.evil.example",
        ] {
            assert_eq!(ping().with("origin", origin).answer().await.0, 403, "{origin}");
        }
        for origin in ["https://app.example", "http://localhost:6274", "http://localhost"] {
            let (status, headers, _) = ping().with("origin", origin).answer().await;
            assert_eq!((status, headers["access-control-allow-origin"].to_str().unwrap()), (200, origin));
            assert_eq!(headers["vary"], "Origin");
        }
        let (status, headers, _) =
            Asked::new("OPTIONS", "").with("origin", "https://app.example").answer().await;
        assert_eq!(status, 204);
        assert!(headers["access-control-allow-headers"].to_str().unwrap().contains("Authorization"));
        assert_eq!(Asked::new("OPTIONS", "").with("origin", "https://evil.example").answer().await.0, 403);
    }

    #[tokio::test]
    async fn r7_7_initialize_carries_the_icon() {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let asked =
            Asked::post(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
        let icon = json!([{"src": "https://data.example/p/icon.svg", "mimeType": "image/svg+xml", "sizes": ["any"]}]);
        assert_eq!(asked.json().await.1["result"]["serverInfo"]["icons"], icon);
        let mut served = Asked::new("GET", "");
        served.0 = served.0.uri("/icon.svg");
        let (status, headers, body) = served.answer().await;
        assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, ICON_TYPE));
        assert!(body.starts_with("<svg "));
    }

    #[test]
    fn r7_5_two_documents_name_two_resources() {
        let about = About {
            provider: "https://data.example/p".parse().unwrap(),
            name: "Data".to_owned(),
            authorization_servers: vec!["https://login.example".to_owned()],
            query_base: "https://data.example/p/v1".parse().unwrap(),
            packages: false,
        };
        let (own, mcp) = (endpoint().provider_document(&about), endpoint().mcp_document(&about));
        assert_eq!(own["resource"], "https://data.example/p");
        assert_eq!(own["pdpp_core_query_base"], "https://data.example/p/v1");
        assert_eq!(own["pdpp_agent_discovery"]["mcp"]["endpoint"], "https://data.example/p/mcp");
        assert_eq!(mcp["resource"], "https://data.example/p/mcp");
        assert_eq!(mcp["pdpp_token_kinds_supported"], json!(["client"]));
        let with = endpoint().mcp_document(&About { packages: true, ..about });
        assert_eq!(with["pdpp_token_kinds_supported"], json!(["client", "mcp_package"]));
        for document in [own, mcp, with] {
            assert!(
                !document.to_string().contains("logo_uri") && !document.to_string().contains("\"owner\"")
            );
        }
    }

    #[test]
    fn hosts_and_origins_are_parsed() {
        for bad in ["", "a b", "user@host", "/x", "https://x.example"] {
            assert!(bad.parse::<TrustedHost>().is_err(), "{bad}");
        }
        for bad in
            ["", "null", "app.example", "https://app.example/x", "ftp://x", "http://x:1:*", "http://a@b"]
        {
            assert!(bad.parse::<AllowedOrigin>().is_err(), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_call_that_panics_is_answered() {
        let mut asked = call(&json!(3), "fetch");
        asked["params"]["arguments"] = json!({"q": "panic"});
        let (status, body) = Asked::post(&asked).json().await;
        assert_eq!((status, &body["error"]["code"], &body["id"]), (200, &json!(-32603), &json!(3)));
    }

    /// A call that never ends by itself, and says when it begins and when it is dropped.
    struct Hangs(tokio::sync::mpsc::UnboundedSender<&'static str>);

    struct Dropped(tokio::sync::mpsc::UnboundedSender<&'static str>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }

    impl ReadSurface for Hangs {
        fn call(&self, _: &str, _: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
            let told = self.0.clone();
            async move {
                let _dropped = Dropped(told.clone());
                let _ = told.send("begun");
                std::future::pending().await
            }
            .boxed()
        }

        fn read_resource(&self, _: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
            std::future::pending().boxed()
        }
    }

    struct Always(Arc<Hangs>);

    impl Gate for Always {
        fn admit(&self, _: AccessToken) -> BoxFuture<'_, Result<Arc<dyn ReadSurface>, Refusal>> {
            let surface = Arc::clone(&self.0) as Arc<dyn ReadSurface>;
            async move { Ok(surface) }.boxed()
        }
    }

    #[tokio::test]
    async fn r7_1_a_client_that_goes_away_ends_its_call() {
        use tokio::io::AsyncWriteExt as _;
        let (told, mut events) = tokio::sync::mpsc::unbounded_channel();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let endpoint = Endpoint::new(format!("http://{address}/mcp").parse().unwrap());
        let routes = router(Arc::new(endpoint), Arc::new(Always(Arc::new(Hangs(told)))));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        let body = call(&json!(1), "fetch").to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer ann\r\ncontent-type: {JSON}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
        client.write_all((head + &body).as_bytes()).await.unwrap();
        assert_eq!(events.recv().await, Some("begun"));
        drop(client);
        let within = std::time::Duration::from_secs(5);
        assert_eq!(tokio::time::timeout(within, events.recv()).await, Ok(Some("dropped")));
    }

    proptest! {
        #[test]
        fn no_header_or_body_panics(
            body in proptest::collection::vec(any::<u8>(), 0..200),
            name in prop::sample::select(vec!["host", "origin", "accept", "content-type", "authorization", PROTOCOL_VERSION, METHOD, NAME]),
            value in "[ -~]{0,40}",
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let asked = Asked::new("POST", body).with("content-type", JSON).with("authorization", "Bearer ann");
            let (status, ..) = runtime.block_on(asked.with(name, &value).answer());
            prop_assert!(status != 500);
        }
    }
}
