//! The way out of this computer's network: a proxy, and authorities to trust.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use hyper_util::client::proxy::matcher::Matcher;
use url::Url;

use super::url::is_loopback;
use crate::error::{Error, Kind};

/// The way out of this computer's network, as far as a person had to configure it.
#[derive(Debug, Clone, Default)]
pub struct Network {
    /// The proxy for every request except those to this computer. Without it the usual variables apply
    /// (`HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`), and on macOS and Windows also the system's settings.
    pub proxy: Option<ProxyUrl>,
    /// PEM certificates of authorities to trust in addition to this computer's own. Read at the first request.
    pub ca_file: Option<PathBuf>,
}

/// An HTTP proxy's address. Neither its `Display` nor its `Debug` shows what may be a password.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyUrl(pub(super) Url);

/// Why a text is not a [`ProxyUrl`]; never repeats the text, which may contain a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAProxyUrl {
    /// Not a URL.
    #[error("it is not a URL such as http://proxy.example:3128")]
    NotAUrl,
    /// SOCKS and others.
    #[error("only http:// and https:// proxies can be used")]
    Scheme,
    /// A path or query, which no proxy has.
    #[error("it has a path, a query or a fragment; leave that out")]
    Extra,
}

/// Why there is no way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// An environment variable of this process names a proxy that cannot be used.
    #[error("{name} is not a proxy's address: {why}")]
    ProxyVariable {
        /// The variable.
        name: &'static str,
        /// What is wrong with it.
        why: NotAProxyUrl,
    },
    /// `--ca-file` cannot be used.
    #[error("pdpp cannot use the CA file {}: {why}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

impl NetworkError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::ProxyVariable { .. } => "proxy_invalid",
            Self::CaFile { .. } => "ca_file_invalid",
        }
    }

    /// What to do about it.
    pub const fn next_step(&self) -> &'static str {
        match self {
            Self::ProxyVariable { .. } => {
                "Correct or unset that variable; or use another proxy with --proxy http://host:port, or exclude the host \
                 with NO_PROXY"
            }
            Self::CaFile { .. } => "Name a PEM file that you can read: --ca-file FILE.pem",
        }
    }

    /// The error for the person who named it: a wrong argument, and not a provider's failure.
    pub fn into_error(self) -> Error {
        let (code, hint) = (self.code(), self.next_step());
        match self {
            Self::ProxyVariable { .. } => Error::new(Kind::Usage, code, self.to_string()),
            Self::CaFile { .. } => {
                Error::new(Kind::Usage, code, "--ca-file does not name a usable file").because(self)
            }
        }
        .hint(hint)
    }
}

impl std::str::FromStr for ProxyUrl {
    type Err = NotAProxyUrl;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(text.trim()).map_err(|_| NotAProxyUrl::NotAUrl)?;
        if !text.contains("://") || url.host_str().is_none_or(str::is_empty) {
            return Err(NotAProxyUrl::NotAUrl);
        }
        if !matches!(url.scheme(), "http" | "https") {
            return Err(NotAProxyUrl::Scheme);
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(NotAProxyUrl::Extra);
        }
        Ok(Self(url))
    }
}

impl ProxyUrl {
    /// Whether it contains a user name or a password: then it must not be in any file or message.
    pub fn has_credentials(&self) -> bool {
        !self.0.username().is_empty() || self.0.password().is_some()
    }
}

impl fmt::Display for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.origin().ascii_serialization())
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxyUrl({self})")
    }
}

impl Network {
    /// The proxy for a request to `url`, without credentials.
    pub fn proxy_for(&self, url: &Url) -> Option<String> {
        if is_loopback(url) {
            return None;
        }
        if let Some(proxy) = &self.proxy {
            return Some(proxy.to_string());
        }
        let intercept = Matcher::from_system().intercept(&url.as_str().parse().ok()?)?;
        let (uri, port) = (intercept.uri(), intercept.uri().port_u16());
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        Some(format!("{}://{}{port}", uri.scheme_str().unwrap_or("http"), uri.host()?))
    }

    /// Checks that the variables that apply to `url` name a usable proxy. Other programs skip an unusable
    /// proxy, and send past it what should go through it.
    ///
    /// # Errors
    /// [`NetworkError::ProxyVariable`].
    pub fn check_way_to(&self, url: &Url) -> Result<(), NetworkError> {
        if self.proxy.is_some() || is_loopback(url) {
            return Ok(());
        }
        check_variables(url, |name| std::env::var_os(name))
    }

    pub(super) fn certificates(&self) -> Result<Vec<reqwest::Certificate>, NetworkError> {
        let Some(path) = &self.ca_file else { return Ok(Vec::new()) };
        read_certificates(path)
            .map_err(|why| NetworkError::CaFile { path: path.clone(), why: why.to_string() })
    }

    /// Checks that the file of authorities, if one is named, can be used.
    ///
    /// # Errors
    /// [`NetworkError::CaFile`].
    pub fn check_ca_file(&self) -> Result<(), NetworkError> {
        self.certificates().map(drop)
    }
}

/// Variables that name a proxy, in order of precedence for https; of two spellings, the first that is set
/// counts. `HTTP_PROXY` applies to http, which is only used for this computer.
const VARIABLES: [[&str; 2]; 2] = [["HTTPS_PROXY", "https_proxy"], ["ALL_PROXY", "all_proxy"]];

fn check_variables(url: &Url, value: impl Fn(&str) -> Option<OsString>) -> Result<(), NetworkError> {
    let no_proxy = ["NO_PROXY", "no_proxy"].into_iter().find_map(&value).unwrap_or_default();
    let any =
        Matcher::builder().all("http://proxy.invalid").no(no_proxy.to_string_lossy().into_owned()).build();
    if url.as_str().parse().is_ok_and(|uri| any.intercept(&uri).is_none()) {
        return Ok(());
    }
    let mut is_found = false;
    for names in VARIABLES {
        let set = names.into_iter().find_map(|name| Some((name, value(name)?)));
        let Some((name, text)) = set.filter(|(_, text)| !text.is_empty()) else { continue };
        // The second is not checked if the first is set.
        if is_found && names[0] == "ALL_PROXY" {
            continue;
        }
        is_found = true;
        let Some(text) = text.to_str() else {
            return Err(NetworkError::ProxyVariable { name, why: NotAProxyUrl::NotAUrl });
        };
        // Variables may leave the scheme out; it is then http.
        let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        if let Err(why) = text.parse::<ProxyUrl>() {
            return Err(NetworkError::ProxyVariable { name, why });
        }
    }
    Ok(())
}

/// The largest file of authorities; a whole system's bundle is a tenth of it.
const MAX_CA_FILE: u64 = 8 << 20;

fn read_certificates(path: &Path) -> anyhow::Result<Vec<reqwest::Certificate>> {
    // Checked before it is opened: opening a pipe would block.
    let found = std::fs::metadata(path)?;
    let is_file = found.is_file() && found.len() <= MAX_CA_FILE;
    ensure!(is_file, "it is not a file of at most {} MiB", MAX_CA_FILE >> 20);
    let pem = std::fs::read(path)?;
    let certificates =
        reqwest::Certificate::from_pem_bundle(&pem).context("its content is not PEM certificates")?;
    ensure!(!certificates.is_empty(), "it contains no PEM certificate (-----BEGIN CERTIFICATE-----)");
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use super::super::http::{Http, Limits};
    use super::*;

    #[test]
    fn a_proxys_credentials_never_show() {
        let proxy: ProxyUrl = "http://user:canary@proxy.example:3128".parse().unwrap();
        let network = Network { proxy: Some(proxy.clone()), ca_file: None };
        assert!(proxy.has_credentials());
        let message =
            format!("{proxy} {proxy:?} {network:?} {:?}", Http::new(Limits::default()).over(network.clone()));
        assert!(!message.contains("canary") && !message.contains("user"), "{message}");
        let url = "https://provider.example".parse().unwrap();
        assert_eq!(network.proxy_for(&url).as_deref(), Some("http://proxy.example:3128"));
    }

    #[test]
    fn what_is_no_proxy_is_refused_without_being_repeated() {
        for (text, why) in [
            ("canary", NotAProxyUrl::NotAUrl),
            ("proxy.example:3128", NotAProxyUrl::NotAUrl),
            ("http://", NotAProxyUrl::NotAUrl),
            ("socks5://canary@proxy.example", NotAProxyUrl::Scheme),
            ("http://proxy.example/canary", NotAProxyUrl::Extra),
        ] {
            let error = text.parse::<ProxyUrl>().unwrap_err();
            assert_eq!(error, why, "{text}");
            assert!(!format!("{error} {error:?}").contains("canary"));
        }
    }

    #[test]
    fn a_variable_that_names_no_proxy_is_told_where_it_counts() {
        let refused_variable = |url: &str, set: &[(&str, &str)]| {
            let value =
                |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| OsString::from(value));
            let error = check_variables(&url.parse().unwrap(), value).err();
            error.map(|error| {
                let message = format!("{error} {error:?}");
                assert!(!message.contains("canary") && error.code() == "proxy_invalid", "{message}");
                message.split(' ').next().unwrap_or_default().to_owned()
            })
        };
        let to = "https://provider.example/me";
        for (name, value) in [
            ("HTTPS_PROXY", "junk:::x"),
            ("https_proxy", "socks5://user:canary@proxy.example"),
            ("ALL_PROXY", "socks5h://127.0.0.1:1080"),
            ("all_proxy", "http://"),
        ] {
            assert_eq!(refused_variable(to, &[(name, value)]).as_deref(), Some(name), "{value}");
        }
        for set in [
            &[][..],
            &[("HTTPS_PROXY", "")],
            &[("HTTP_PROXY", "socks5://proxy.example:1080")],
            &[("HTTPS_PROXY", "proxy.example:3128")],
            &[("https_proxy", "http://user:canary@proxy.example:3128/")],
            // Not checked, because the other one counts.
            &[("HTTPS_PROXY", "http://proxy.example"), ("ALL_PROXY", "socks5://proxy.example")],
            &[("HTTPS_PROXY", "junk:::x"), ("NO_PROXY", "other.example, .example")],
        ] {
            assert_eq!(refused_variable(to, set), None, "{set:?}");
        }
        assert!(Network::default().check_way_to(&"http://127.0.0.1:1".parse().unwrap()).is_ok());
    }

    #[test]
    fn this_machine_is_never_reached_through_a_proxy() {
        let network = Network { proxy: "http://proxy.example".parse().ok(), ca_file: None };
        for url in ["http://127.0.0.1:7377", "http://localhost:1/x", "http://[::1]/"] {
            assert_eq!(network.proxy_for(&url.parse().unwrap()), None);
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "tests put things in the way")]
    fn a_ca_file_is_checked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.pem");
        let check = |path: &Path| {
            let error = Network { proxy: None, ca_file: Some(path.to_owned()) }.check_ca_file().unwrap_err();
            assert_eq!(error.code(), "ca_file_invalid");
            error.to_string()
        };
        // In the system's own words.
        let absent = std::fs::read(&path).unwrap_err().to_string();
        assert!(check(&path).contains(&absent), "{absent}");
        assert!(check(dir.path()).contains("not a file"));
        for bad in ["", "hello", "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n"] {
            std::fs::write(&path, bad).unwrap();
            assert!(check(&path).contains("PEM"), "{bad}");
        }
    }
}
