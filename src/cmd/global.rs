//! The options that every command accepts, and what they resolve to.

use std::ffi::OsString;

use clap::builder::{StringValueParser, TypedValueParser as _};

use crate::cache::{Cache, REFRESH_LIMITS};
use crate::error::{Error, Kind, Result};
use crate::provider::http::{Http, Limits};
use crate::provider::network::{Network, NetworkError};
use crate::text::shell_word;

/// Options that every command accepts.
#[derive(Debug, Clone, clap::Args)]
pub struct Global {
    /// Where credentials are kept [default: the platform's data directory, e.g. ~/.local/share/pdpp]
    #[arg(long, global = true, value_name = "DIR", env = "PDPP_CACHE_DIR", hide_env_values = true)]
    pub cache_dir: Option<std::path::PathBuf>,

    /// How much to log to stderr: off, error, warn or info; never secrets or record data
    #[arg(long, global = true, value_name = "LEVEL", default_value = "warn", hide_possible_values = true)]
    pub log_level: LogLevel,

    /// Reach providers through this proxy, http://host:port [default: HTTPS_PROXY and similar variables]
    #[arg(long, global = true, value_name = "URL", value_parser = StringValueParser::new().map(ProxyArgument))]
    pub proxy: Option<ProxyArgument>,

    /// Also trust the certificate authorities in this PEM file
    #[arg(long, global = true, value_name = "FILE")]
    pub ca_file: Option<std::path::PathBuf>,
}

/// The value of `--proxy`. It may hold a password, so it is not shown, and it is parsed only when it is needed:
/// no usage error can then repeat it.
#[derive(Clone)]
pub struct ProxyArgument(String);

impl std::fmt::Debug for ProxyArgument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProxyArgument(…)")
    }
}

/// How much is logged. Nothing in this program logs below `info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
}

impl LogLevel {
    pub(super) const fn level(self) -> Option<tracing::Level> {
        Some(match self {
            Self::Off => return None,
            Self::Error => tracing::Level::ERROR,
            Self::Warn => tracing::Level::WARN,
            Self::Info => tracing::Level::INFO,
        })
    }
}

impl Global {
    /// The credential cache that these options select. Touches nothing yet.
    ///
    /// # Errors
    /// `no_home` if there is no place to keep credentials; `proxy_invalid`.
    pub fn cache(&self) -> Result<Cache> {
        let cache = match &self.cache_dir {
            Some(dir) => Cache::open(dir)?,
            None => Cache::open(&Cache::default_dir()?)?,
        };
        Ok(cache.with_http(self.http(REFRESH_LIMITS)?))
    }

    /// The network settings for reaching providers. Reads nothing yet.
    ///
    /// # Errors
    /// `proxy_invalid` if the value of `--proxy` is not a proxy's address.
    pub fn network(&self) -> Result<Network> {
        let proxy = self.proxy.as_ref().map(|ProxyArgument(text)| text.parse()).transpose();
        let proxy = proxy.map_err(|error| {
            Error::new(Kind::Usage, "proxy_invalid", "The value of --proxy is not a proxy's address")
                .because(error)
                .hint("--proxy http://proxy.example:3128")
        })?;
        Ok(Network { proxy, ca_file: self.ca_file.clone() })
    }

    /// The options that a suggested next command needs too. A proxy's address is left out if it may hold a
    /// password.
    pub(super) fn advised(&self) -> Vec<String> {
        let path = |option: &str, path: &std::path::Path| {
            // The person may be in another directory when they type it.
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            format!("{option} {}", shell_word(&path.display().to_string()))
        };
        let is_default = |dir: &std::path::PathBuf| {
            let absolute = std::path::absolute(dir).ok();
            Cache::default_dir().is_ok_and(|default| Some(default) == absolute)
        };
        let dir = self.cache_dir.as_ref().filter(|dir| !is_default(dir)).map(|dir| path("--cache-dir", dir));
        let proxy = self.proxy.as_ref().filter(|ProxyArgument(address)| !address.contains('@'));
        let proxy = proxy.map(|ProxyArgument(address)| format!("--proxy {}", shell_word(address)));
        let ca = self.ca_file.as_ref().map(|file| path("--ca-file", file));
        dir.into_iter().chain(proxy).chain(ca).collect()
    }

    /// The same options for another process of this program: as arguments, or as variables if an argument could
    /// reveal a password.
    pub(super) fn handed_on(&self) -> (Vec<OsString>, Vec<(&'static str, OsString)>) {
        let paths = [("--cache-dir", &self.cache_dir), ("--ca-file", &self.ca_file)];
        let given = paths.into_iter().filter_map(|(option, path)| Some((option, path.clone()?)));
        let arguments = given.flat_map(|(option, path)| [option.into(), path.into_os_string()]).collect();
        let proxy = |ProxyArgument(address): &ProxyArgument| {
            ["HTTPS_PROXY", "HTTP_PROXY"].map(|name| (name, OsString::from(address)))
        };
        (arguments, self.proxy.iter().flat_map(proxy).collect())
    }

    /// An HTTP client for providers, with these network settings.
    ///
    /// # Errors
    /// Same as [`Global::network`].
    pub fn http(&self, limits: Limits) -> Result<Http> {
        Ok(Http::new(limits).over(self.network()?))
    }

    /// The same for a command that uses the client at once: an unusable file of authorities is then a wrong
    /// argument, and not a provider's failure.
    ///
    /// # Errors
    /// Same as [`Global::network`], and `ca_file_invalid`.
    pub fn http_now(&self, limits: Limits) -> Result<Http> {
        let http = self.http(limits)?;
        http.network().check_ca_file().map_err(NetworkError::into_error)?;
        Ok(http)
    }
}
