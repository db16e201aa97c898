//! [`ProviderUrl`]: the address of a provider, as the user typed it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// A provider's URL: `https`, or `http` on loopback. The path is part of its identity (two tenants under one
/// host are two providers); a trailing slash is not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProviderUrl(Url);

/// Why a text is not a provider's URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderUrlError {
    /// Not a URL.
    #[error("it is not a URL such as https://provider.example")]
    NotAUrl,
    /// A bare host or path.
    #[error("it has no scheme; did you mean {0} ?")]
    NoScheme(String),
    /// A scheme that would send a token in the clear, or that is not for web addresses.
    #[error("it must be https, or http on this computer (127.0.0.1, localhost, [::1])")]
    Insecure,
    /// `user:password@`.
    #[error("it contains a user name or password; leave that out")]
    Credentials,
    /// `?…` or `#…`.
    #[error("it has a query or fragment; leave that out")]
    Extra,
}

/// The address of the person's own store on this computer: a name that nobody can own (RFC 2606), so that
/// nothing is ever sent there.
const LOCAL: &str = "https://local.pdpp.invalid";
/// The same as it is typed and shown.
const LOCAL_NAME: &str = "local";

impl ProviderUrl {
    /// Whether it is the person's own store on this computer, to which no request is ever sent.
    pub fn is_local(&self) -> bool {
        self.as_str() == LOCAL
    }

    /// The form that a person types.
    pub fn typed(&self) -> &str {
        if self.is_local() { LOCAL_NAME } else { self.as_str() }
    }

    /// Its name in a text that only a person reads: an address without the scheme, if that is https, or the person's
    /// own data.
    pub fn in_short(&self) -> &str {
        if self.is_local() { "your own data" } else { self.as_str().trim_start_matches("https://") }
    }

    /// The URL without a trailing slash: `https://host/tenant`.
    pub fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    /// The parsed URL.
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// The metadata URL for `name`, followed by the provider's own path (RFC 9728 §3.1, RFC 8414 §3.1).
    pub fn well_known(&self, name: &str) -> Url {
        let mut url = self.0.clone();
        let path = self.0.path().trim_end_matches('/');
        url.set_path(&format!("/.well-known/{name}{path}"));
        url
    }

    /// Whether `url` belongs to this provider: same scheme, host and port, and at or under its path.
    pub fn covers(&self, url: &Url) -> bool {
        let own = self.0.path().trim_end_matches('/');
        self.0.origin() == url.origin()
            && url.username().is_empty()
            && url.password().is_none()
            && url.path().strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether `other` names the same provider, ignoring a trailing slash.
    pub fn is_same_as(&self, other: &str) -> bool {
        other.parse::<Self>().is_ok_and(|other| other == *self)
    }
}

/// What was probably meant: https, or http for this computer.
fn no_scheme(text: &str) -> ProviderUrlError {
    let rest = text.trim_start_matches([':', '/']);
    if rest.is_empty() {
        return ProviderUrlError::NoScheme("https://provider.example".to_owned());
    }
    let here = Url::parse(&format!("http://{rest}")).is_ok_and(|url| is_loopback(&url));
    ProviderUrlError::NoScheme(format!("{}://{rest}", if here { "http" } else { "https" }))
}

/// Whether `url` may carry a credential: https, or http on loopback.
pub fn is_secure(url: &Url) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => is_loopback(url),
        _ => false,
    }
}

/// Whether `url` names this computer by a loopback address or `localhost`.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(domain)) => {
            // A name can end in the root's dot.
            let domain = domain.strip_suffix('.').unwrap_or(domain);
            domain == "localhost" || domain.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

impl FromStr for ProviderUrl {
    type Err = ProviderUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let text = if text == LOCAL_NAME { LOCAL } else { text };
        let mut url = match Url::parse(text) {
            Ok(url) => url,
            Err(url::ParseError::RelativeUrlWithoutBase) => {
                return Err(no_scheme(text));
            }
            Err(_) => return Err(ProviderUrlError::NotAUrl),
        };
        // `example.org:8443/x` is parsed with the scheme `example.org`.
        if url.cannot_be_a_base() || !text.contains("://") {
            return Err(no_scheme(text));
        }
        if !is_secure(&url) {
            return Err(ProviderUrlError::Insecure);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ProviderUrlError::Credentials);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(ProviderUrlError::Extra);
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self(url))
    }
}

impl fmt::Display for ProviderUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.typed())
    }
}

impl TryFrom<String> for ProviderUrl {
    type Error = ProviderUrlError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ProviderUrl> for String {
    fn from(url: ProviderUrl) -> Self {
        url.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> ProviderUrl {
        text.parse().unwrap()
    }

    #[test]
    fn the_path_is_identity_and_the_trailing_slash_is_not() {
        assert_eq!(parse("https://a.example/t1/"), parse("https://a.example/t1"));
        assert_ne!(parse("https://a.example/t1"), parse("https://a.example/t2"));
        assert_ne!(parse("https://a.example"), parse("https://a.example:8443"));
        assert_eq!(parse("HTTPS://A.example:443/").as_str(), "https://a.example");
    }

    #[test]
    fn p4_the_own_store_is_called_local_and_has_an_address_that_nobody_can_have() {
        let local = parse("local");
        assert!(local.is_local() && !parse("https://local.pdpp.example").is_local());
        assert_eq!((local.as_str(), local.to_string()), ("https://local.pdpp.invalid", "local".to_owned()));
        assert_eq!(local, parse(local.as_str()));
        assert!(local.covers(&"https://local.pdpp.invalid/v1".parse().unwrap()));
    }

    #[test]
    fn only_https_or_loopback_http() {
        for bad in ["http://a.example", "ftp://a.example", "http://10.0.0.1", "http://localhost.a.example"] {
            assert_eq!(bad.parse::<ProviderUrl>(), Err(ProviderUrlError::Insecure), "{bad}");
        }
        for good in ["http://127.0.0.1:7", "http://[::1]:7/x", "http://localhost"] {
            assert!(good.parse::<ProviderUrl>().is_ok(), "{good}");
        }
    }

    #[test]
    fn the_scheme_that_was_meant_is_suggested() {
        for (text, meant) in [
            ("a.example/x", "https://a.example/x"),
            ("127.0.0.1:7377", "http://127.0.0.1:7377"),
            ("", "https://provider.example"),
        ] {
            assert_eq!(
                text.parse::<ProviderUrl>(),
                Err(ProviderUrlError::NoScheme(meant.to_owned())),
                "{text}"
            );
        }
    }

    #[test]
    fn wrong_texts_are_told_apart() {
        assert!(matches!("a.example".parse::<ProviderUrl>(), Err(ProviderUrlError::NoScheme(_))));
        assert!(matches!("a.example:8443/x".parse::<ProviderUrl>(), Err(ProviderUrlError::NoScheme(_))));
        assert_eq!("https://u:p@a.example".parse::<ProviderUrl>(), Err(ProviderUrlError::Credentials));
        assert_eq!("https://a.example/?q".parse::<ProviderUrl>(), Err(ProviderUrlError::Extra));
        assert!(matches!("https://".parse::<ProviderUrl>(), Err(ProviderUrlError::NotAUrl)));
    }

    #[test]
    fn the_well_known_path_is_inserted_before_the_providers() {
        let name = "oauth-protected-resource";
        assert_eq!(
            parse("https://a.example/t/1").well_known(name).as_str(),
            "https://a.example/.well-known/oauth-protected-resource/t/1"
        );
        assert_eq!(
            parse("https://a.example").well_known(name).as_str(),
            "https://a.example/.well-known/oauth-protected-resource"
        );
    }

    #[test]
    fn covers_only_its_own_origin_and_path() {
        let provider = parse("https://a.example/t1");
        let covers = |url: &str| provider.covers(&Url::parse(url).unwrap());
        assert!(covers("https://a.example/t1/v1"));
        assert!(!covers("https://a.example/t10/v1"));
        assert!(!covers("https://a.example/v1"));
        assert!(!covers("http://a.example/t1/v1"));
        assert!(!covers("https://a.example:444/t1/v1"));
        assert!(!covers("https://x@a.example/t1/v1"));
    }
}
