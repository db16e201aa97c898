//! The public side of an endpoint, derived only from configuration: its URLs, its icon and its documents (RFC 9728),
//! and which hosts and pages a request may name.

use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::Response;
use rmcp::model::{Icon, Implementation};
use serde_json::{Value, json};
use url::Url;

use super::response::put;
use crate::mcp::protocol::server::Server;

/// The icon, as served.
pub const ICON: &str = include_str!("icon.svg");
pub(super) const ICON_TYPE: &str = "image/svg+xml";

/// The path of the icon.
pub(super) const ICON_PATH: &str = "/icon.svg";

/// The name of the metadata of a protected resource (RFC 9728 §3).
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// A host and its port, as `Host` names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedHost {
    pub(super) host: String,
    pub(super) port: Option<u16>,
}

/// The text does not name a host.
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
    /// Scheme and host, and the port if it is not the scheme's default.
    origin: String,
    any_port: bool,
}

/// The text is not an origin.
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
    pub(super) fn matches(&self, origin: &str) -> bool {
        let Ok(mut url) = Url::parse(origin) else { return false };
        if self.any_port && url.set_port(None).is_err() {
            return false;
        }
        url.origin().ascii_serialization() == self.origin
    }
}

/// The limits of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of a body in bytes; a larger one gets 413.
    pub body: usize,
    /// How long a body may take to arrive; a slower one gets 408.
    pub body_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body: 1 << 20, body_time: Duration::from_secs(10) }
    }
}

/// The public side of an endpoint, derived only from configuration, never from a request (R7.6).
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The URL at which clients reach it: `https://host[/path]/mcp`. Also the resource that tokens are for (RFC
    /// 8707).
    pub public_url: Url,
    /// What `Host` may say in addition to the public URL's own host.
    pub trusted_hosts: Vec<TrustedHost>,
    /// The origins whose pages may call the endpoint; a request without `Origin` does not come from a page.
    pub allowed_origins: Vec<AllowedOrigin>,
    /// The limits of one request.
    pub limits: Limits,
}

/// What the protected-resource documents say about the provider (R7.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The provider's own resource: `https://host[/path]`.
    pub provider: Url,
    /// The name of the resource.
    pub name: String,
    /// The issuers.
    pub authorization_servers: Vec<String>,
    /// `…/v1`.
    pub query_base: Url,
    /// Whether package tokens are served (R7.8).
    pub packages: bool,
}

impl Endpoint {
    /// An endpoint that trusts only its own host, and no page.
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

    /// The URL of this resource's metadata: the well-known path, followed by the resource's own path (RFC 9728 §3.1).
    pub fn metadata_url(&self) -> Url {
        self.at_root(&self.metadata_path())
    }

    /// The path of [`Endpoint::metadata_url`].
    pub fn metadata_path(&self) -> String {
        format!("{WELL_KNOWN}{}", self.public_url.path().trim_end_matches('/'))
    }

    /// The URL of the icon.
    pub fn icon_url(&self) -> Url {
        let path = self.public_url.path().trim_end_matches('/');
        let base = path.rsplit_once('/').map_or("", |(base, _)| base);
        self.at_root(&format!("{base}{ICON_PATH}"))
    }

    /// What the provider's own document says about the endpoint, under `pdpp_agent_discovery.mcp`.
    pub fn discovery_hint(&self) -> Value {
        json!({
            "endpoint": self.public_url.as_str(),
            "resource_metadata": self.metadata_url().as_str(),
            "transport": "streamable_http",
            "setup_intent": "grant_scoped_read",
            "no_owner_token": true,
        })
    }

    /// `/.well-known/oauth-protected-resource`: the provider's resource stays at `/v1`, with a hint to the endpoint.
    pub fn provider_document(&self, about: &About) -> Value {
        self.document(about, about.provider.as_str().trim_end_matches('/'), &["client"])
    }

    /// `/.well-known/oauth-protected-resource/mcp`: the endpoint as a separate resource, never for an owner's token.
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

    /// How `initialize` and `server/discover` identify this server (R7.7).
    pub(super) fn server_info(&self) -> Implementation {
        let icon =
            Icon::new(self.icon_url().as_str()).with_mime_type(ICON_TYPE).with_sizes(vec!["any".to_owned()]);
        Server::implementation().with_icons(vec![icon])
    }
}

pub(super) fn icon() -> Response {
    let mut response = Response::new(Body::from(ICON));
    put(response.headers_mut(), header::CONTENT_TYPE, ICON_TYPE);
    put(response.headers_mut(), header::CACHE_CONTROL, "max-age=86400");
    response
}

#[cfg(test)]
mod tests {
    use super::super::tests::endpoint;
    use super::*;

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
}
