//! The vault's name on the internet, to which a proxy or a tunnel with TLS leads, and the two doors through which a
//! request can come in.
//!
//! The vault itself listens only on loopback, at two addresses: one for this computer and one for the proxy. The
//! address that a connection came to decides what it may ask for; `Host` only has to match. `Host` alone would not
//! be enough: a proxy that does not pass it on (nginx does not by default) would make every stranger look like a
//! program of this computer. The vault ignores everything else that a proxy adds (`X-Forwarded-For`,
//! `X-Forwarded-Proto`, `Forwarded`): it builds every address in an answer from the configured URL, and tells no
//! callers apart by their addresses.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use axum::http::{HeaderMap, StatusCode, Uri, header};
use url::{Host, Url};

use super::wire::ApiError;

/// The public name, and the address for its proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Public {
    /// The name that others use.
    pub url: PublicUrl,
    /// The loopback address for the proxy.
    pub listen: SocketAddr,
}

/// `https://` and a host, with a port unless it is 443.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    base: String,
}

/// Why a text is not a public URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotPublic {
    /// It is not a URL.
    #[error("it is not a URL such as https://pdpp.example")]
    NotAUrl,
    /// Without TLS, anyone on the way could read what is sent.
    #[error("it must begin with https://")]
    NotHttps,
    /// It has more than a host and a port.
    #[error("it must be https:// and a host only, without a user, path, query or fragment")]
    More,
    /// It ends with a dot. Two spellings of a name would count as two names.
    #[error("its host ends with a dot; remove the dot")]
    Dot,
}

const HTTPS: &str = "https://";

impl FromStr for PublicUrl {
    type Err = NotPublic;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(text.trim()).map_err(|_| NotPublic::NotAUrl)?;
        if url.scheme() != "https" {
            return Err(NotPublic::NotHttps);
        }
        let is_bare = url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        if !is_bare {
            return Err(NotPublic::More);
        }
        if matches!(url.host(), Some(Host::Domain(name)) if name.ends_with('.')) {
            return Err(NotPublic::Dot);
        }
        Ok(Self { base: url.origin().ascii_serialization() })
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

impl PublicUrl {
    /// `https://pdpp.example`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether a token for `resource` (RFC 8707) is for this name.
    pub fn is_for(&self, resource: Option<&str>) -> bool {
        resource.is_some_and(|resource| is_below(&self.base, resource))
    }

    /// `pdpp.example`, as `Host` has it.
    fn authority(&self) -> &str {
        self.base.strip_prefix(HTTPS).unwrap_or(&self.base)
    }

    /// Whether `host`, in lower case, is this host, with or without the default port of https.
    fn is_called(&self, host: &str) -> bool {
        let own = self.authority();
        host == own || host.strip_suffix(":443") == Some(own)
    }
}

/// Whether `resource` is the provider at `base`, or its `/mcp`.
fn is_below(base: &str, resource: &str) -> bool {
    matches!(resource.strip_prefix(base), Some("" | "/" | "/mcp"))
}

/// The names that a request may use for one listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Names {
    /// The listener for programs and browsers of this computer.
    Here {
        /// `127.0.0.1:7378`, `localhost:7378`.
        names: Vec<String>,
        /// The address for the proxy, if there is a public name too.
        for_proxy: Option<SocketAddr>,
    },
    /// The listener for the proxy: anyone can come in.
    Public {
        /// Its only name.
        url: PublicUrl,
        /// The address at which the vault reads from itself.
        here: String,
    },
}

/// The name of a listener, as a request gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// The name in `Host`, in one spelling.
    pub host: String,
    /// `http://127.0.0.1:7378`, `https://pdpp.example`.
    pub base: String,
}

/// Headers that a proxy adds. A browser or a program on this computer sends none of them.
const OF_PROXIES: [&str; 8] = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
    "via",
    "cf-connecting-ip",
    "cf-ray",
];

impl Names {
    /// The names on this computer of a listener at `address`.
    pub fn here(address: SocketAddr, for_proxy: Option<SocketAddr>) -> Self {
        let port = address.port();
        let names = vec![
            address.to_string(),
            format!("localhost:{port}"),
            format!("127.0.0.1:{port}"),
            format!("[::1]:{port}"),
        ];
        Self::Here { names, for_proxy }
    }

    /// Whether anyone can come in here.
    pub const fn is_public(&self) -> bool {
        matches!(self, Self::Public { .. })
    }

    /// Every name.
    pub fn all(&self) -> Vec<Called> {
        match self {
            Self::Here { names, .. } => names
                .iter()
                .map(|host| Called { host: host.clone(), base: format!("http://{host}") })
                .collect(),
            Self::Public { url, .. } => {
                vec![Called { host: url.authority().to_owned(), base: url.base().to_owned() }]
            }
        }
    }

    /// Whether a token for `resource` (RFC 8707) is for this listener. A token for programs of this computer is not
    /// valid at the public name, and the other way round, so a token that leaks on one side opens nothing on the
    /// other.
    pub fn is_for(&self, resource: Option<&str>) -> bool {
        match self {
            // The flows that name no resource exist only here.
            Self::Here { names, .. } => resource.is_none_or(|resource| {
                let host = resource.strip_prefix("http://").unwrap_or_default();
                names.iter().any(|name| is_below(name, host))
            }),
            Self::Public { url, .. } => url.is_for(resource),
        }
    }

    /// The name that a request uses for this listener. Refuses a page of another site whose name was made to point
    /// here (DNS rebinding), and a request that names two hosts.
    ///
    /// # Errors
    /// Returns `misdirected_request`.
    pub fn called(&self, uri: &Uri, headers: &HeaderMap) -> Result<Called, ApiError> {
        let misdirected =
            |what: String| ApiError::new(StatusCode::MISDIRECTED_REQUEST, "misdirected_request", what);
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().unwrap_or_default().to_ascii_lowercase(),
            _ => String::new(),
        };
        // A target in absolute form takes precedence over Host (RFC 9112 §3.2.2), so the two must not differ.
        let is_one = uri.authority().is_none_or(|target| target.as_str().eq_ignore_ascii_case(&host));
        match self {
            Self::Here { names, for_proxy } => {
                if !is_one || !names.contains(&host) {
                    return Err(misdirected(format!(
                        "This is not the name of this server. Send requests to http://{}",
                        names.first().map_or("", String::as_str)
                    )));
                }
                if let Some(for_proxy) = for_proxy
                    && OF_PROXIES.iter().any(|name| headers.contains_key(*name))
                {
                    return Err(misdirected(format!(
                        "This request came through a proxy, but this address is only for this computer. Point the \
                         proxy to http://{for_proxy}"
                    )));
                }
                Ok(Called { base: format!("http://{host}"), host })
            }
            Self::Public { url, .. } => {
                if !is_one || !url.is_called(&host) {
                    return Err(misdirected(format!(
                        "This is not the name of this server. Send requests to {url}. A proxy must pass Host on unchanged"
                    )));
                }
                Ok(Called { host: url.authority().to_owned(), base: url.base().to_owned() })
            }
        }
    }
}

/// Checks that `path` is available at the public name. Paths for the owner are not, nor are ways to ask that use
/// resources before the owner has admitted the caller.
///
/// # Errors
/// Returns `not_at_public_name` for a path that is available only on this computer, and `not_found` for any other.
pub fn check_offered(path: &[&str]) -> Result<(), ApiError> {
    match path {
        ["" | "mcp" | "icon.svg" | "consent.css"]
        | ["mcp", ""]
        | ["v1", ..]
        | [".well-known", "oauth-protected-resource" | "oauth-authorization-server"]
        | [".well-known", "oauth-protected-resource", "mcp"]
        | ["oauth", "register" | "authorize" | "pair" | "token"]
        | ["grants", _, "revoke"] => Ok(()),
        ["consent", page] if *page != "device" => Ok(()),
        ["consent", page, _] if *page != "owner" => Ok(()),
        ["oauth", "par" | "device_authorization"] | ["agent-connect", ..] | ["introspect"] => {
            Err(ApiError::new(
                StatusCode::FORBIDDEN,
                "not_at_public_name",
                "This is available only on the provider's own computer. From elsewhere, use the authorization code flow",
            ))
        }
        _ => Err(ApiError::nothing_at(&format!("/{}", path.join("/")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &str, hosts: &[&str]) -> (Uri, HeaderMap) {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, host.parse().unwrap());
        }
        (target.parse().unwrap(), headers)
    }

    #[test]
    fn a_public_url_is_https_and_a_host() {
        for (good, base) in [
            ("https://pdpp.example", "https://pdpp.example"),
            ("https://PDPP.example/", "https://pdpp.example"),
            ("https://pdpp.example:443", "https://pdpp.example"),
            ("https://pdpp.example:8443", "https://pdpp.example:8443"),
            ("https://bücher.example", "https://xn--bcher-kva.example"),
        ] {
            assert_eq!(good.parse::<PublicUrl>().unwrap().base(), base, "{good}");
        }
        for bad in [
            "",
            "pdpp.example",
            "http://pdpp.example",
            "https://pdpp.example/p",
            "https://pdpp.example/?q",
            "https://pdpp.example/#f",
            "https://u@pdpp.example",
            "https://u:p@pdpp.example",
            "https://pdpp.example.",
            "ftp://pdpp.example",
        ] {
            assert!(bad.parse::<PublicUrl>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_request_names_its_listener_once_and_as_it_is_called() {
        let here: SocketAddr = "127.0.0.1:7378".parse().unwrap();
        let local = Names::here(here, Some("127.0.0.1:7379".parse().unwrap()));
        let url = "https://pdpp.example".parse().unwrap();
        let public = Names::Public { url, here: "http://127.0.0.1:7378".to_owned() };
        let base = |names: &Names, target: &str, hosts: &[&str]| {
            let (uri, headers) = request(target, hosts);
            names.called(&uri, &headers).ok().map(|called| called.base)
        };
        for host in ["pdpp.example", "PDPP.example", "pdpp.example:443"] {
            assert_eq!(base(&public, "/", &[host]).as_deref(), Some("https://pdpp.example"), "{host}");
            assert_eq!(base(&local, "/", &[host]), None, "{host}");
        }
        for host in ["127.0.0.1:7378", "LOCALHOST:7378", "[::1]:7378"] {
            assert!(base(&local, "/", &[host]).is_some(), "{host}");
            assert_eq!(base(&public, "/", &[host]), None, "{host}");
        }
        for hosts in [
            &[][..],
            &[""],
            &["pdpp.example."],
            &["pdpp.example:80"],
            &["pdpp.example:8443"],
            &["x.pdpp.example"],
            &["pdpp.example.evil.example"],
            &["user@pdpp.example"],
            &["pdpp.example", "pdpp.example"],
            &["pdpp.example", "127.0.0.1:7378"],
            &["127.0.0.1:7378", "pdpp.example"],
        ] {
            assert_eq!(base(&public, "/", hosts), None, "{hosts:?}");
            assert_eq!(base(&local, "/", hosts), None, "{hosts:?}");
        }
        assert!(base(&public, "http://pdpp.example/x", &["pdpp.example"]).is_some());
        for target in ["http://evil.example/x", "http://127.0.0.1:7378/x", "http://u@pdpp.example/x"] {
            assert_eq!(base(&public, target, &["pdpp.example"]), None, "{target}");
        }
        let (uri, mut headers) = request("/", &["127.0.0.1:7378"]);
        headers.insert("x-forwarded-for", "203.0.113.5".parse().unwrap());
        assert!(local.called(&uri, &headers).is_err(), "a proxy that leads to the wrong door");
        assert!(Names::here(here, None).called(&uri, &headers).is_ok());
    }

    #[test]
    fn a_token_is_for_one_side() {
        let local = Names::here("127.0.0.1:7378".parse().unwrap(), None);
        let url = "https://pdpp.example".parse().unwrap();
        let public = Names::Public { url, here: "http://127.0.0.1:7378".to_owned() };
        for (resource, is_local, is_public) in [
            (None, true, false),
            (Some("http://127.0.0.1:7378/mcp"), true, false),
            (Some("http://localhost:7378"), true, false),
            (Some("https://pdpp.example/mcp"), false, true),
            (Some("https://pdpp.example"), false, true),
            (Some("https://pdpp.example.evil.example/mcp"), false, false),
            (Some("https://pdpp.example/mcp/x"), false, false),
            (Some("http://127.0.0.1:73789/mcp"), false, false),
        ] {
            assert_eq!(
                (local.is_for(resource), public.is_for(resource)),
                (is_local, is_public),
                "{resource:?}"
            );
        }
    }

    #[test]
    fn strangers_are_offered_the_code_flow_and_reads_alone() {
        let code = |path: &str| {
            let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
            check_offered(&segments).err().map(|error| error.code)
        };
        for path in [
            "/",
            "/mcp",
            "/mcp/",
            "/v1/schema",
            "/oauth/register",
            "/oauth/authorize",
            "/oauth/pair",
            "/oauth/token",
            "/consent/abc",
            "/consent/abc/approve",
            "/.well-known/oauth-protected-resource/mcp",
            "/grants/grt_1/revoke",
        ] {
            assert_eq!(code(path), None, "{path}");
        }
        for path in [
            "/oauth/par",
            "/oauth/device_authorization",
            "/agent-connect",
            "/agent-connect/x/token",
            "/introspect",
        ] {
            assert_eq!(code(path), Some("not_at_public_name"), "{path}");
        }
        for path in [
            "/owner",
            "/owner/",
            "/owner/open/x",
            "/consent",
            "/consent/device",
            "/consent/owner/x",
            "/x",
            "/mcp/x",
        ] {
            assert_eq!(code(path), Some("not_found"), "{path}");
        }
    }
}
