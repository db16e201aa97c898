//! A request and an answer as plain data. Handlers are functions from one to the other.

use std::borrow::Cow;

use axum::http::{HeaderMap, Method, StatusCode};
use serde_json::{Map, Value, json};

/// The API version.
pub const VERSION: &str = "2026-04-06";

/// A request, split into its parts.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The address at which the caller reached this server: `http://127.0.0.1:7377`.
    pub base: String,
    /// The path as it was sent.
    pub path: String,
    /// The query as it was sent, without `?`.
    pub query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
    /// The id of this exchange.
    pub request_id: String,
}

impl Request {
    /// The path's segments, decoded; `None` if one is not UTF-8.
    pub fn segments(&self) -> Option<Vec<String>> {
        segments(&self.path)
    }

    /// The query's parameters in order, decoded.
    pub fn params(&self) -> Vec<(String, String)> {
        url::form_urlencoded::parse(self.query.as_bytes()).into_owned().collect()
    }

    /// Its bearer token (RFC 6750 §2.1).
    pub fn bearer(&self) -> Option<&str> {
        let (scheme, token) = self.header("authorization")?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
    }

    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The value of a cookie.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        cookie(self.header("cookie")?, name)
    }

    /// Whether a page of another site sent it, as far as its browser reports (Fetch Metadata).
    pub fn is_foreign(&self) -> bool {
        self.header("origin").is_some_and(|origin| origin != self.base)
            || self.header("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none"))
    }

    /// The body as a JSON object.
    ///
    /// # Errors
    /// Returns `invalid_request` if the body is not a JSON object.
    pub fn json(&self) -> Result<Map<String, Value>, ApiError> {
        serde_json::from_slice(&self.body).map_err(|_| ApiError::invalid("The body must be a JSON object"))
    }

    /// The body as a form.
    pub fn form(&self) -> Vec<(String, String)> {
        url::form_urlencoded::parse(&self.body).into_owned().collect()
    }
}

/// The value of the cookie `name` among those that a browser sent (RFC 6265 §4.2.1).
pub fn cookie<'a>(sent: &'a str, name: &str) -> Option<&'a str> {
    sent.split(';').find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

/// The segments of a path, decoded; `None` if one is not UTF-8.
pub fn segments(path: &str) -> Option<Vec<String>> {
    let segments = path.trim_start_matches('/').split('/');
    segments
        .map(|segment| percent_encoding::percent_decode_str(segment).decode_utf8().ok().map(Cow::into_owned))
        .collect()
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// Headers in addition to `Request-Id` and `PDPP-Version`.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// A JSON answer.
    pub fn json(status: StatusCode, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json; charset=utf-8".to_owned())],
            body: body.to_string().into_bytes(),
        }
    }

    /// A JSON answer with status 200.
    pub fn ok(body: &Value) -> Self {
        Self::json(StatusCode::OK, body)
    }

    /// 303: sends the browser to `address`. Never cached.
    pub fn see_other(address: &str) -> Self {
        Self { status: StatusCode::SEE_OTHER, headers: Vec::new(), body: Vec::new() }
            .with("location", address)
            .with("referrer-policy", "no-referrer")
            .no_store()
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The last answer of its connection. Whatever was sent on a connection stays in the reader's memory while the
    /// connection lives.
    #[must_use]
    pub fn closing(self) -> Self {
        self.with("connection", "close")
    }

    /// Forbids caches to keep it.
    #[must_use]
    pub fn no_store(self) -> Self {
        self.with("cache-control", "no-store").with("pragma", "no-cache")
    }
}

/// A refusal: `{error:{type, code, message, …, request_id}}`.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    /// The status.
    pub status: StatusCode,
    kind: &'static str,
    /// The stable code.
    pub code: &'static str,
    message: String,
    more: Map<String, Value>,
    challenge: bool,
}

impl ApiError {
    /// A refusal with this status. Its type follows from the status.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let kind = match status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::NOT_FOUND => "not_found_error",
            StatusCode::GONE => "gone_error",
            StatusCode::BAD_REQUEST | StatusCode::METHOD_NOT_ALLOWED | StatusCode::PAYLOAD_TOO_LARGE => {
                "invalid_request_error"
            }
            _ => "api_error",
        };
        Self { status, kind, code, message: message.into(), more: Map::new(), challenge: false }
    }

    /// 400 `invalid_request`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// 404 `not_found`.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// 404 for a path that does not exist.
    pub fn nothing_at(path: &str) -> Self {
        Self::not_found(format!("There is nothing at {path}"))
    }

    /// A 401 that names where to get a token (RFC 9728 §5.1).
    pub fn challenge(code: &'static str, message: impl Into<String>) -> Self {
        Self { challenge: true, ..Self::new(StatusCode::UNAUTHORIZED, code, message) }
    }

    /// Names the parameter that is wrong.
    #[must_use]
    pub fn param(self, name: impl Into<String>) -> Self {
        self.with("param", name.into())
    }

    /// Adds a member.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// The additional members.
    pub const fn more(&self) -> &Map<String, Value> {
        &self.more
    }

    /// What happened.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The `error` member of its answer, without what depends on the request.
    pub fn into_object(self) -> Map<String, Value> {
        let mut error = self.more;
        error.insert("type".to_owned(), self.kind.into());
        error.insert("code".to_owned(), self.code.into());
        error.insert("message".to_owned(), self.message.into());
        error
    }

    /// The answer to `request`.
    pub fn reply(self, request: &Request) -> Reply {
        let (status, is_challenge) = (self.status, self.challenge);
        let mut error = self.into_object();
        error.insert("request_id".to_owned(), request.request_id.clone().into());
        let mut challenge = None;
        if is_challenge {
            let metadata = format!("{}/.well-known/oauth-protected-resource", request.base);
            challenge = Some(format!("Bearer resource_metadata=\"{metadata}\""));
            error.insert("resource_metadata".to_owned(), metadata.into());
            error.insert(
                "next_step".to_owned(),
                "Fetch error.resource_metadata and ask the owner for a grant with `pdpp connect`. You never need an \
                 owner token."
                    .into(),
            );
        }
        let reply = Reply::json(status, &json!({ "error": error }));
        match challenge {
            Some(challenge) => reply.with("www-authenticate", challenge),
            None => reply,
        }
    }
}

/// The error code if the database is damaged and cannot answer.
pub const DAMAGED: &str = "store_damaged";

/// Whether SQLite found corrupt data in its file.
pub fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

impl From<rusqlite::Error> for ApiError {
    fn from(error: rusqlite::Error) -> Self {
        tracing::error!(%error, "the database failed");
        if is_damage(&error) {
            return Self::new(StatusCode::INTERNAL_SERVER_ERROR, DAMAGED, "The provider's store is damaged");
        }
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", "Internal server error")
    }
}

/// The system supplied no random numbers, so nothing can be issued.
impl From<getrandom::Error> for ApiError {
    fn from(error: getrandom::Error) -> Self {
        tracing::error!(%error, "no randomness");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", "Internal server error")
    }
}
