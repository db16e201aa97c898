//! Which requests are let through: those that name this server as the host, and come from a page that may call it.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::Response;

use super::endpoint::{Endpoint, TrustedHost};
use super::refusal::Refusal;
use super::response::put;

impl Endpoint {
    /// Checks that a request names this server as the host, and comes from a page that may call it.
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
                format!("This server has a different name: send requests to {}", self.public_url),
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

    /// Whether a request for an operator's page names this computer by an address, by a name without a dot, which
    /// nobody can register, or by a trusted name. A hostile page can have its own host name resolve to this computer.
    pub fn is_named_by_operator(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let Some(TrustedHost { host, .. }) = host.to_str().ok().and_then(|host| host.parse().ok()) else {
            return false;
        };
        let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let is_own = self.public_url.host_str().is_some_and(|own| own.eq_ignore_ascii_case(&host));
        is_address
            || is_own
            || !host.contains('.')
            || self.trusted_hosts.iter().any(|trusted| trusted.host == host)
    }

    /// The allowed origin that a request comes from.
    fn origin<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        let text = origin.to_str().ok()?;
        self.allowed_origins.iter().any(|allowed| allowed.matches(text)).then_some(origin)
    }

    /// Answers with `answer` if [`Endpoint::check`] lets the request through, and lists the headers that a page of an
    /// allowed origin may read.
    pub(super) async fn guarded<F: Future<Output = Response>>(
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
}

/// Puts `routes` behind [`Endpoint::check`], with CORS (the Fetch standard) for the allowed origins: for routes in
/// addition to [`router`](super::router), which has its own guard.
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
