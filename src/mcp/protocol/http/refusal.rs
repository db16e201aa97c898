//! A refused request: its status, its message, and where to get a token (RFC 6750, R7.2).

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::Response;
use serde_json::json;

use super::endpoint::{Endpoint, ICON_TYPE};
use super::response::{JSON, Outcome, put};

/// Why a request is refused.
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

    /// 401: the token is unknown, expired, revoked, or issued for something else (RFC 6750 §3.1 `invalid_token`).
    pub fn invalid_token(code: &'static str, message: impl Into<String>) -> Self {
        Self { oauth: Some("invalid_token"), ..Self::new(StatusCode::UNAUTHORIZED, code, message) }
    }

    /// 403: the token is valid, but for something else (RFC 6750 §3.1 `insufficient_scope`).
    pub fn insufficient_scope(code: &'static str, message: impl Into<String>) -> Self {
        Self { oauth: Some("insufficient_scope"), ..Self::new(StatusCode::FORBIDDEN, code, message) }
    }

    /// 503: the token cannot be checked now, or nothing can be read.
    pub fn unavailable(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    /// 429: too many requests; try again in `seconds`.
    pub fn too_many(code: &'static str, message: impl Into<String>, seconds: u64) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, code, message).retry_after(seconds)
    }

    /// Adds when to try again, in seconds.
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

    /// The response, with the challenge if a token would help (R7.2).
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
