//! MCP's Streamable HTTP, stateless, for every era, over the same [`Server`](super::server::Server) as stdio (R7.1).
//!
//! A `POST` holds one message and its answer. Nothing is kept between requests, so nobody's data can mix with
//! another's, and any instance can answer any request. The SDK implements the protocol, but its HTTP service is not
//! used: it answers invalid JSON with 415, `Accept: */*` with 406 and a malformed call with "unknown method", and it
//! accepts only ids of 64 bits. Here lines are read as stdio reads them ([`jsonrpc`]), so that both transports answer
//! in the same bytes.
//!
//! A [`Gate`] decides who may read what, once per request, before its body is read. Nothing public about the endpoint
//! comes from a request (R7.6): all of it is in [`Endpoint`].

mod direct;
mod endpoint;
mod guard;
mod refusal;
mod request;
mod response;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::response::Response;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rmcp::ErrorData;
use rmcp::model::{ClientRequest, ErrorCode, GetMeta as _, ProtocolVersion, ServerResult};

use crate::mcp::protocol::jsonrpc::{self, Envelope, Id};
use crate::mcp::protocol::service::{Offer, Service};
use crate::secret::AccessToken;

use direct::{Direct, ListKey};
pub use endpoint::{About, AllowedOrigin, Endpoint, ICON, Limits, NotAHost, NotAnOrigin, TrustedHost};
use endpoint::{ICON_PATH, icon};
pub use guard::guard;
pub use refusal::Refusal;
use request::{Form, PROTOCOL_VERSION, bearer, check_headers, is_modern, read};
pub use response::Outcome;
use response::{EVENTS, JSON, put};

/// Decides whose a bearer is and what it may read. Called once per request, and never for a request without a
/// bearer.
pub trait Gate: Send + Sync + 'static {
    /// What `bearer` may read, for one request.
    fn admit(&self, bearer: AccessToken) -> BoxFuture<'_, Result<Arc<dyn Service>, Refusal>>;

    /// Is notified, before the answer, of what an admitted request asks for, in this program's own words: for the
    /// log, in case the client does not wait for the answer.
    fn asked(&self, _asked: Asked) {}
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// An offered method, `notification` or `other`.
    pub method: &'static str,
    /// The tool, if it is one of the six.
    pub tool: Option<&'static str>,
}

impl Asked {
    fn of(request: &ClientRequest, offer: &Offer) -> Self {
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
            ClientRequest::CallToolRequest(call) => offer.name_of(&call.params.name),
            _ => None,
        };
        Self { method, tool }
    }
}

/// The endpoint's routes: `/mcp` (and the public URL's path, if it differs) and `/icon.svg`. `answer` is
/// [`Mcp::answer`] with its wrappers: a layer would cost each request another box and another route.
pub fn router<F>(
    endpoint: &Endpoint,
    answer: impl Fn(axum::extract::Request) -> F + Clone + Send + Sync + 'static,
) -> axum::Router
where
    F: Future<Output = Response> + Send + 'static,
{
    let (path, icon) = (endpoint.public_url.path().trim_end_matches('/').to_owned(), endpoint.icon_url());
    let any = axum::routing::any(answer);
    let mut routes = axum::Router::new();
    // A proxy in front may or may not remove the prefix.
    let with_slash = format!("{path}/");
    let mut paths = vec!["/mcp", "/mcp/", ICON_PATH, path.as_str(), with_slash.as_str(), icon.path()];
    paths.sort_unstable();
    paths.dedup();
    for path in paths.into_iter().filter(|path| !path.is_empty()) {
        routes = routes.route(path, any.clone());
    }
    routes
}

/// Answers at `/mcp` and `/icon.svg`: [`router`] without a router.
pub struct Mcp {
    endpoint: Arc<Endpoint>,
    gate: Arc<dyn Gate>,
    direct: Direct,
}

impl Mcp {
    /// An endpoint whose callers `gate` admits.
    pub fn new(endpoint: Arc<Endpoint>, gate: Arc<dyn Gate>) -> Self {
        Self { direct: Direct::new(endpoint.server_info()), endpoint, gate }
    }

    /// Answers a request to either path, with the guard.
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
                "Internal error in this request; the server keeps running",
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
            // There is no session to end (DELETE) and no stream to listen on (GET).
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
        // Before the body: a caller that is not admitted cannot make this server hold anything.
        let service = self.gate.admit(bearer).await?;
        let body = read(body, self.endpoint.limits).await?;
        Ok(self.serve(service, &head.headers, &body, form).await)
    }

    async fn serve(
        &self,
        service: Arc<dyn Service>,
        headers: &HeaderMap,
        body: &[u8],
        form: Form,
    ) -> Response {
        let (id, method, params) = match jsonrpc::envelope(body) {
            Ok(Envelope::Request { id, method, params }) => (id, method, params),
            Ok(Envelope::Notification { method, .. }) => {
                self.gate.asked(Asked { method: "notification", tool: None });
                return match check_headers(headers, &method, None) {
                    // A cancellation too: a request ends with its connection, and ids are not unique to one client.
                    Ok(()) => accepted(),
                    Err(error) => error_response(form, None, &error, StatusCode::BAD_REQUEST),
                };
            }
            Ok(Envelope::Nothing) => {
                let error = if body.trim_ascii().is_empty() {
                    ErrorData::new(ErrorCode(-32700), "Parse error: the body is empty", None)
                } else {
                    ErrorData::invalid_request(
                        "This server sends no requests, so there is nothing to answer",
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
            // It needs no header: its `_meta` names its era, which no client of an older era does.
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
        if let Some(answered) = crate::mcp::protocol::conformance::answer(&method, params.as_ref(), is_modern)
        {
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
        let offer = service.offer();
        self.gate.asked(Asked::of(&request, &offer));
        let lacks_meta =
            is_modern && !request.get_meta().missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty();
        let version = version(headers);
        let list = ListKey::of(&request, &version, lacks_meta);
        if let Some(result) = list.and_then(|key| self.direct.list(key, &offer)) {
            let line = jsonrpc::answer_line(id.as_json(), "result", &result.as_ref());
            return message(form, StatusCode::OK, line, Outcome::Answered { is_ok: true });
        }
        match self.direct.answer(service, &version, request).await {
            Ok(result) => {
                let is_error =
                    matches!(&result, ServerResult::CallToolResult(result) if result.is_error == Some(true));
                #[cfg(feature = "conformance-fixtures")]
                let line = crate::mcp::protocol::conformance::result_line(&method, id.as_json(), &result);
                #[cfg(not(feature = "conformance-fixtures"))]
                let line = jsonrpc::result_line(id.as_json(), &result);
                if let Some(key) = list {
                    self.direct.keep_list(key, &offer, &line);
                }
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
}

/// The version in a request's header, or the version that Streamable HTTP assumes if there is none.
fn version(headers: &HeaderMap) -> ProtocolVersion {
    headers
        .get(PROTOCOL_VERSION)
        .and_then(|version| version.to_str().ok())
        .and_then(|version| serde_json::from_value(version.into()).ok())
        .unwrap_or(ProtocolVersion::V_2025_03_26)
}

/// 16 hex digits, for the logs of both ends.
fn request_id() -> String {
    format!("req_{}", crate::hex::random::<8>().unwrap_or_default())
}

/// The status of an error: 200 in eras that report it only in the body; since 2026-07-28, the closest HTTP status.
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
mod tests;
