//! A client, and the addresses to which a code for it may be sent.

use serde_json::{Map, Value};
use url::{Host, Url};

/// The maximum length of a client's name in characters. The owner sees it.
const MAX_NAME: usize = 120;
/// The maximum number of redirect URIs of a client, and the maximum size of one.
const MAX_REDIRECTS: usize = 10;
const MAX_REDIRECT: usize = 2_000;

/// A client, with what this server needs to know about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Its id.
    pub id: String,
    /// The name that it gave itself.
    pub name: String,
    /// Where an authorization code may be sent; empty for a client that named no address.
    pub redirect_uris: Vec<String>,
    /// The domain that it controls, as a document there shows.
    pub domain: Option<String>,
}

/// Whether `name` is valid as a client's name.
pub fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().count() <= MAX_NAME
}

/// The `redirect_uris` of a client's metadata; `None` if a code must not be sent to one of them.
pub fn redirect_uris(metadata: &Map<String, Value>) -> Option<Vec<String>> {
    let uris: &[Value] = match metadata.get("redirect_uris") {
        None | Some(Value::Null) => &[],
        Some(uris) => uris.as_array().filter(|uris| uris.len() <= MAX_REDIRECTS)?,
    };
    uris.iter().map(|uri| uri.as_str().filter(|uri| is_redirect(uri)).map(str::to_owned)).collect()
}

/// Accepts https, http on loopback, or an app's own scheme. Such a scheme is a reversed domain and so contains a
/// dot (RFC 8252 §7.1); no scheme for which a browser or a system runs something contains one.
pub fn is_redirect(uri: &str) -> bool {
    let Ok(url) = Url::parse(uri) else { return false };
    let is_fine = match url.scheme() {
        "https" => true,
        "http" => is_loopback(&url),
        own => own.contains('.'),
    };
    // The host goes into the page's policy, where a semicolon would begin something else and a star would mean any
    // host.
    let is_plain_host = match url.host() {
        Some(Host::Domain(name)) => {
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        }
        _ => true,
    };
    is_fine
        && is_plain_host
        && url.username().is_empty()
        && url.password().is_none()
        && url.fragment().is_none()
        && uri.len() <= MAX_REDIRECT
        && uri.is_ascii()
}

impl Client {
    /// Whether a code for this client may be sent to `uri`. It must be an address that the client named, character
    /// by character. On loopback the app may choose the port (RFC 8252 §7.3). A client that named no address may
    /// use loopback only.
    pub fn may_redirect_to(&self, uri: &str) -> bool {
        if !is_redirect(uri) {
            return false;
        }
        let Ok(asked) = Url::parse(uri) else { return false };
        let on_loopback = asked.scheme() == "http";
        if self.redirect_uris.is_empty() {
            return on_loopback;
        }
        self.redirect_uris.iter().any(|known| {
            let without_port = || {
                let (mut known, mut asked) = (Url::parse(known).ok()?, asked.clone());
                known.set_port(None).ok()?;
                asked.set_port(None).ok()?;
                Some(known == asked)
            };
            known == uri || (on_loopback && without_port() == Some(true))
        })
    }
}

/// Whether `url` names this computer by a loopback address or `localhost`.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(domain)) => domain == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(uris: &[&str]) -> Client {
        let redirect_uris = uris.iter().map(ToString::to_string).collect();
        Client { id: "c".to_owned(), name: "C".to_owned(), redirect_uris, domain: None }
    }

    #[test]
    fn a_code_goes_to_a_registered_address_only() {
        let web = client(&["https://app.example/cb"]);
        assert!(web.may_redirect_to("https://app.example/cb"));
        for other in ["https://app.example/cb/", "https://app.example/cb?x", "https://evil.example/cb"] {
            assert!(!web.may_redirect_to(other), "{other}");
        }
        let native = client(&["http://127.0.0.1/callback"]);
        assert!(native.may_redirect_to("http://127.0.0.1:49152/callback"));
        for other in [
            "http://127.0.0.1:49152/other",
            "http://localhost:49152/callback",
            "http://127.0.0.1.evil.example:49152/callback",
            "http://evil.example/callback",
            "http://127.0.0.1:1/callback#x",
        ] {
            assert!(!native.may_redirect_to(other), "{other}");
        }
        let silent = client(&[]);
        assert!(silent.may_redirect_to("http://127.0.0.1:7/x") && silent.may_redirect_to("http://[::1]:7/x"));
        assert!(!silent.may_redirect_to("https://app.example/cb"));
        assert!(!silent.may_redirect_to("javascript:alert(1)"));
    }

    #[test]
    fn o7_14_a_redirect_is_https_loopback_or_a_scheme_with_a_dot() {
        for good in
            ["https://app.example/cb", "http://[::1]:7/cb", "com.example.app:/cb", "com.example.app://cb"]
        {
            assert!(is_redirect(good), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            "vbscript:x",
            "ms-msdt:/id",
            "search-ms:query=x",
            "x:/cb",
            "data:text/html,x",
            "file:///x",
            "http://app.example/cb",
            "https://evil.example;sandbox/",
            "https://*.example/",
            "https://u@app.example/cb",
            "com.example.app://evil;sandbox/",
            "https://app.example/cb#x",
        ] {
            assert!(!is_redirect(bad), "{bad}");
        }
    }
}
