//! One bounded HTTP exchange: no redirect followed, size and time limited, failures told apart.

use std::ffi::OsString;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use rustls::CertificateError;
use serde_json::{Map, Value};
use url::Url;

use super::url::is_loopback;

const JSON: &str = "application/json";

/// Bounds of one exchange.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Until a connection is there (R5.5).
    pub connect: Duration,
    /// Until the whole answer is read (R5.5).
    pub total: Duration,
    /// The largest answer, after decompression, in bytes (R5.5).
    pub body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), total: Duration::from_secs(30), body: 16 << 20 }
    }
}

/// The way out of this machine's network, where a person had to name one.
#[derive(Debug, Clone, Default)]
pub struct Network {
    /// What every request but those to this machine goes through. Without it the usual variables count
    /// (`HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`), on macOS and Windows the system's settings too.
    pub proxy: Option<ProxyUrl>,
    /// PEM certificates of authorities to trust beside this machine's own. Read at the first request.
    pub ca_file: Option<PathBuf>,
}

/// An HTTP proxy's address. What may be a password in it is neither in its `Display` nor its `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyUrl(Url);

/// Why a text is no [`ProxyUrl`]; never repeats the text, which may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAProxyUrl {
    /// No URL.
    #[error("it is not a URL such as http://proxy.example:3128")]
    NotAUrl,
    /// SOCKS and others.
    #[error("only http:// and https:// proxies can be used")]
    Scheme,
    /// A path or query, which no proxy has.
    #[error("it has a path, a query or a fragment; leave that out")]
    Extra,
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
    /// Whether it holds a user name or a password: then it belongs in no file and no message.
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
    /// The proxy that a request to `url` goes through, without credentials.
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

    /// Whether the variables that count on the way to `url` name a proxy that can be used. Everybody else passes one
    /// over that cannot, and sends what was to go through it past it.
    ///
    /// # Errors
    /// [`HttpError::ProxyVariable`].
    pub fn check_way_to(&self, url: &Url) -> Result<(), HttpError> {
        if self.proxy.is_some() || is_loopback(url) {
            return Ok(());
        }
        check_variables(url, |name| std::env::var_os(name))
    }

    fn certificates(&self) -> Result<Vec<reqwest::Certificate>, HttpError> {
        let Some(path) = &self.ca_file else { return Ok(Vec::new()) };
        read_certificates(path).map_err(|why| HttpError::CaFile { path: path.clone(), why })
    }

    /// Whether the file of authorities, if one is named, can be used.
    ///
    /// # Errors
    /// [`HttpError::CaFile`].
    pub fn check_ca_file(&self) -> Result<(), HttpError> {
        self.certificates().map(drop)
    }
}

/// Variables that name a proxy, in the order in which they count for https; of two spellings the first that is set
/// does. `HTTP_PROXY` counts for http, which nothing is sent by but to this machine.
const VARIABLES: [[&str; 2]; 2] = [["HTTPS_PROXY", "https_proxy"], ["ALL_PROXY", "all_proxy"]];

fn check_variables(url: &Url, value: impl Fn(&str) -> Option<OsString>) -> Result<(), HttpError> {
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
        // The second is not looked at where the first is there.
        if is_found && names[0] == "ALL_PROXY" {
            continue;
        }
        is_found = true;
        let Some(text) = text.to_str() else {
            return Err(HttpError::ProxyVariable { name, why: NotAProxyUrl::NotAUrl });
        };
        // Variables may leave the scheme out; it is http then.
        let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        if let Err(why) = text.parse::<ProxyUrl>() {
            return Err(HttpError::ProxyVariable { name, why });
        }
    }
    Ok(())
}

/// Longest file of authorities; a whole system's bundle is a tenth of it.
const MAX_CA_FILE: u64 = 8 << 20;

fn read_certificates(path: &Path) -> Result<Vec<reqwest::Certificate>, String> {
    // Before it is opened: a pipe would be waited for.
    let found = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !found.is_file() || found.len() > MAX_CA_FILE {
        return Err(format!("it is not a file of at most {} MiB", MAX_CA_FILE >> 20));
    }
    let pem = std::fs::read(path).map_err(|error| error.to_string())?;
    let certificates = reqwest::Certificate::from_pem_bundle(&pem)
        .map_err(|_| "what it holds are not PEM certificates".to_owned())?;
    if certificates.is_empty() {
        return Err("it holds no PEM certificate (-----BEGIN CERTIFICATE-----)".to_owned());
    }
    Ok(certificates)
}

/// An HTTP client, built at its first use: reading the machine's CA bundle costs 3 ms and more,
/// which nothing before the first answer may pay. Clones share connections.
#[derive(Clone)]
pub struct Http {
    clients: Arc<Clients>,
    limits: Limits,
    network: Network,
}

/// Two: what goes to this machine never goes through a proxy, whatever the variables say.
#[derive(Default)]
struct Clients {
    outside: OnceLock<Result<reqwest::Client, HttpError>>,
    here: OnceLock<Result<reqwest::Client, HttpError>>,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("limits", &self.limits)
            .field("network", &self.network)
            .finish_non_exhaustive()
    }
}

/// An answer, whatever its status.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status code; never a redirect.
    pub status: u16,
    /// Its header fields.
    pub headers: HeaderMap,
    /// Its body, whole.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HttpError {
    /// The name has no address here.
    #[error("the name of {origin} could not be looked up: {why}")]
    UnknownHost {
        /// Scheme, host and port.
        origin: String,
        /// What the resolver said.
        why: String,
    },
    /// The proxy in between is not there, or opened no connection.
    #[error("the proxy {proxy} gave no connection to {origin}: {why}")]
    Proxy {
        /// The proxy's scheme, host and port.
        proxy: String,
        /// Scheme, host and port.
        origin: String,
        /// What kept it.
        why: String,
    },
    /// A variable of this process's environment names a proxy that cannot be used.
    #[error("{name} is not a proxy's address: {why}")]
    ProxyVariable {
        /// The variable.
        name: &'static str,
        /// What is wrong with it.
        why: NotAProxyUrl,
    },
    /// No connection: refused, no route.
    #[error("could not connect to {origin}: {why}")]
    Unreachable {
        /// Scheme, host and port.
        origin: String,
        /// What the network said.
        why: String,
    },
    /// The certificate or the handshake was not accepted.
    #[error("no trusted TLS connection to {origin}: {why}")]
    Tls {
        /// Scheme, host and port.
        origin: String,
        /// What is wrong, in words of this program's.
        why: &'static str,
    },
    /// Slower than the bound.
    #[error("{origin} did not answer within {} s", after.as_secs())]
    TimedOut {
        /// Scheme, host and port.
        origin: String,
        /// The bound.
        after: Duration,
    },
    /// A redirect, which is never followed: a bearer goes nowhere else.
    #[error("{origin} answered with a redirect (HTTP {status}), which is not followed")]
    Redirected {
        /// Scheme, host and port.
        origin: String,
        /// The HTTP status code.
        status: u16,
    },
    /// More than the bound.
    #[error("{origin} sent more than {limit} bytes")]
    TooLarge {
        /// Scheme, host and port.
        origin: String,
        /// The bound in bytes.
        limit: usize,
    },
    /// The connection broke, or what came over it was not HTTP.
    #[error("the answer of {origin} broke off or was not HTTP: {why}")]
    Broken {
        /// Scheme, host and port.
        origin: String,
        /// What the HTTP library said.
        why: String,
    },
    /// `--ca-file` cannot be used.
    #[error("the CA file {} cannot be used: {why}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// This machine could not set up a client at all (no CA certificates).
    #[error("could not set up an HTTPS client: {0}")]
    Setup(String),
}

impl Answer {
    /// The body as a JSON object.
    ///
    /// # Errors
    /// What it is instead: a media type, or why the JSON did not parse.
    pub fn object(&self) -> Result<Map<String, Value>, String> {
        match super::json::parse(&self.body) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(_) => Err("JSON that is not an object".to_owned()),
            Err(error) => {
                let media_type = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
                Err(match media_type {
                    Some(media_type) if !media_type.contains("json") => media_type.to_owned(),
                    _ => format!("malformed JSON ({error})"),
                })
            }
        }
    }

    /// Whether the status says success.
    pub const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }
}

impl HttpError {
    /// The stable code that people and models see.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "provider_unreachable",
            Self::UnknownHost { .. } => "provider_host_unknown",
            Self::Proxy { .. } => "proxy_failed",
            Self::ProxyVariable { .. } => "proxy_invalid",
            Self::Tls { .. } => "provider_tls_failed",
            Self::TimedOut { .. } => "provider_timeout",
            Self::Redirected { .. } => "provider_redirected",
            Self::TooLarge { .. } => "provider_answer_too_large",
            Self::Broken { .. } => "provider_answer_broken",
            Self::CaFile { .. } => "ca_file_invalid",
            Self::Setup(_) => "http_setup_failed",
        }
    }

    /// What to do about it.
    pub const fn next_step(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "Check the address and your network, then try again",
            Self::UnknownHost { .. } => "Check the spelling of the address, and that this machine is online",
            Self::Proxy { .. } => {
                "Check the proxy: --proxy http://host:port, or HTTPS_PROXY; NO_PROXY leaves a host out"
            }
            Self::ProxyVariable { .. } => {
                "Correct that variable or take it away; or name a proxy with --proxy http://host:port, or leave the host \
                 out with NO_PROXY"
            }
            Self::Tls { .. } => {
                "Check the address and this machine's clock; a company's own authority is named with --ca-file FILE.pem"
            }
            Self::TimedOut { .. } => "Try again; if it stays so, the provider is down or far away",
            Self::Redirected { .. } => "Open the address in a browser and use the one it ends at",
            Self::TooLarge { .. } | Self::Broken { .. } => {
                "Check the address; what answers there does not speak PDPP"
            }
            Self::CaFile { .. } => "Name a PEM file that you can read: --ca-file FILE.pem",
            Self::Setup(_) => "Check the CA certificates of this machine",
        }
    }
}

impl Http {
    /// A client with these bounds. Costs nothing until it is used.
    pub fn new(limits: Limits) -> Self {
        Self { clients: Arc::default(), limits, network: Network::default() }
    }

    /// The same, on the way out that `network` describes.
    #[must_use]
    pub fn over(self, network: Network) -> Self {
        Self { clients: Arc::default(), network, ..self }
    }

    /// The way out.
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// Its bounds.
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// Starts a request, to be finished with headers and body and given to [`Http::send`].
    ///
    /// # Errors
    /// [`HttpError::Setup`], [`HttpError::CaFile`], [`HttpError::ProxyVariable`].
    pub fn request(&self, method: reqwest::Method, url: Url) -> Result<reqwest::RequestBuilder, HttpError> {
        let here = is_loopback(&url);
        self.network.check_way_to(&url)?;
        let client = if here { &self.clients.here } else { &self.clients.outside };
        match client.get_or_init(|| build(self.limits, &self.network, here)) {
            Ok(client) => Ok(client.request(method, url)),
            Err(error) => Err(error.clone()),
        }
    }

    /// Sends `request` and reads the whole answer within the bounds. Dropping the future aborts it.
    ///
    /// # Errors
    /// Each way of not answering, told apart; an HTTP error status is an [`Answer`].
    pub async fn send(&self, request: reqwest::RequestBuilder) -> Result<Answer, HttpError> {
        let (client, request) = request.build_split();
        let request = request.map_err(|error| HttpError::Setup(deepest(&error)))?;
        let url = request.url().clone();
        let origin = url.origin().ascii_serialization();
        let exchange = async {
            let mut response = client.execute(request).await.map_err(|error| self.explain(&url, &error))?;
            let status = response.status().as_u16();
            // 304 and the like are not redirects, but nothing here asks for them either.
            if response.status().is_redirection() {
                return Err(HttpError::Redirected { origin: origin.clone(), status });
            }
            let limit = self.limits.body;
            // One that says so beforehand takes no memory.
            if response.content_length().is_some_and(|length| length > limit as u64) {
                return Err(HttpError::TooLarge { origin: origin.clone(), limit });
            }
            // In pieces: a large one that grows in place is memory that the allocator keeps.
            let (mut pieces, mut length) = (Vec::new(), 0);
            while let Some(piece) = response.chunk().await.map_err(|error| self.explain(&url, &error))? {
                length += piece.len();
                if length > limit {
                    return Err(HttpError::TooLarge { origin: origin.clone(), limit });
                }
                pieces.push(piece);
            }
            let body = pieces.concat();
            Ok(Answer { status, headers: std::mem::take(response.headers_mut()), body })
        };
        match tokio::time::timeout(self.limits.total, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(HttpError::TimedOut { origin, after: self.limits.total }),
        }
    }

    /// `GET`s a JSON document, without any credential.
    ///
    /// # Errors
    /// As [`Http::send`].
    pub async fn get_json(&self, url: Url) -> Result<Answer, HttpError> {
        self.send(self.request(reqwest::Method::GET, url)?.header(ACCEPT, JSON)).await
    }

    /// `POST`s a JSON document, without any credential but what the document holds.
    ///
    /// # Errors
    /// As [`Http::send`].
    pub async fn post_json(&self, url: Url, document: &serde_json::Value) -> Result<Answer, HttpError> {
        let request = self.request(reqwest::Method::POST, url)?;
        self.send(request.header(ACCEPT, JSON).header(CONTENT_TYPE, JSON).body(document.to_string())).await
    }

    /// `POST`s a form, without any credential but what the form holds.
    ///
    /// # Errors
    /// As [`Http::send`].
    pub async fn post_form(&self, url: Url, form: &[(&str, &str)]) -> Result<Answer, HttpError> {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = self.request(reqwest::Method::POST, url)?;
        let request = request.header(ACCEPT, JSON).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request.body(body)).await
    }

    fn explain(&self, url: &Url, error: &reqwest::Error) -> HttpError {
        let origin = url.origin().ascii_serialization();
        if let Some(fault) = rustls_error(error) {
            return HttpError::Tls { origin, why: tls_words(fault) };
        }
        // A connection that was there needs no explanation by the proxy.
        if (error.is_connect() || error.is_timeout())
            && let Some(proxy) = self.network.proxy_for(url)
        {
            return HttpError::Proxy { proxy, origin, why: proxy_words(error, self.limits.connect) };
        }
        if error.is_timeout() {
            return HttpError::TimedOut { origin, after: self.limits.connect };
        }
        let why = deepest(error);
        if error.is_connect() && any_cause(error, |cause| cause.to_string() == "dns error") {
            return HttpError::UnknownHost { origin, why };
        }
        if error.is_connect() {
            return HttpError::Unreachable { origin, why };
        }
        HttpError::Broken { origin, why }
    }
}

/// `localhost` and the names below it: this machine, whatever a name server says (RFC 6761 §6.3). Plain http
/// is used there alone.
struct Here;

impl Resolve for Here {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let addresses = addresses.map(|address: IpAddr| SocketAddr::new(address, 0));
        Box::pin(std::future::ready(Ok(Box::new(addresses.into_iter()) as Addrs)))
    }
}

fn build(limits: Limits, network: &Network, here: bool) -> Result<reqwest::Client, HttpError> {
    // Installing twice is refused, and harmless: it is the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let setup = |error: reqwest::Error| HttpError::Setup(deepest(&error));
    let mut builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(limits.connect)
        .referer(false)
        .user_agent(concat!("pdpp/", env!("CARGO_PKG_VERSION")))
        .tls_certs_merge(network.certificates()?);
    match &network.proxy {
        _ if here => builder = builder.no_proxy().dns_resolver(Arc::new(Here)),
        Some(proxy) => builder = builder.proxy(reqwest::Proxy::all(proxy.0.clone()).map_err(setup)?),
        None => {}
    }
    builder.build().map_err(setup)
}

/// The innermost cause: reqwest's own message repeats the URL and says nothing.
fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

fn any_cause(
    error: &(dyn std::error::Error + 'static),
    matches: impl Fn(&(dyn std::error::Error + 'static)) -> bool,
) -> bool {
    std::iter::successors(Some(error), |cause| cause.source()).any(matches)
}

fn rustls_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(found) = error.downcast_ref() {
        return Some(found);
    }
    // An io::Error hides what it wraps from source(), and may wrap another one.
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    wrapped.and_then(|inner| rustls_error(inner)).or_else(|| error.source().and_then(rustls_error))
}

/// The library's own messages are its `Debug` output, for nobody to read.
fn tls_words(error: &rustls::Error) -> &'static str {
    use CertificateError as Certificate;
    match error {
        rustls::Error::InvalidCertificate(certificate) => match certificate {
            Certificate::Expired | Certificate::ExpiredContext { .. } => {
                "its certificate has expired, or this machine's clock is wrong"
            }
            Certificate::NotValidYet | Certificate::NotValidYetContext { .. } => {
                "its certificate is not valid yet, or this machine's clock is wrong"
            }
            Certificate::UnknownIssuer => "its certificate is from no authority that this machine trusts",
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                "its certificate is for another name"
            }
            Certificate::Revoked => "its certificate was revoked",
            _ => "its certificate cannot be accepted",
        },
        rustls::Error::AlertReceived(_) => "it refused the TLS handshake",
        rustls::Error::PeerIncompatible(_) => "it offers no TLS version or cipher that is safe",
        rustls::Error::InvalidMessage(_) => "what answers there does not speak TLS",
        _ => "the TLS handshake failed",
    }
}

fn proxy_words(error: &reqwest::Error, limit: Duration) -> String {
    let said = |words: &str| any_cause(error, |cause| cause.to_string().contains(words));
    if said("proxy authorization required") {
        return "it wants a user name and password (HTTP 407)".to_owned();
    }
    if said("tunnel error: unsuccessful") {
        return "it refused, or could not reach that host itself".to_owned();
    }
    if error.is_timeout() {
        return format!("no connection within {} s", limit.as_secs());
    }
    if said("tunnel error: unexpected end of file") {
        return "it hung up".to_owned();
    }
    deepest(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxys_credentials_never_show() {
        let proxy: ProxyUrl = "http://user:canary@proxy.example:3128".parse().unwrap();
        let network = Network { proxy: Some(proxy.clone()), ca_file: None };
        assert!(proxy.has_credentials());
        let said =
            format!("{proxy} {proxy:?} {network:?} {:?}", Http::new(Limits::default()).over(network.clone()));
        assert!(!said.contains("canary") && !said.contains("user"), "{said}");
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
        let told = |url: &str, set: &[(&str, &str)]| {
            let value =
                |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| OsString::from(value));
            let error = check_variables(&url.parse().unwrap(), value).err();
            error.map(|error| {
                let said = format!("{error} {error:?}");
                assert!(!said.contains("canary") && error.code() == "proxy_invalid", "{said}");
                said.split(' ').next().unwrap_or_default().to_owned()
            })
        };
        let to = "https://provider.example/me";
        for (name, value) in [
            ("HTTPS_PROXY", "junk:::x"),
            ("https_proxy", "socks5://user:canary@proxy.example"),
            ("ALL_PROXY", "socks5h://127.0.0.1:1080"),
            ("all_proxy", "http://"),
        ] {
            assert_eq!(told(to, &[(name, value)]).as_deref(), Some(name), "{value}");
        }
        for set in [
            &[][..],
            &[("HTTPS_PROXY", "")],
            &[("HTTP_PROXY", "socks5://proxy.example:1080")],
            &[("HTTPS_PROXY", "proxy.example:3128")],
            &[("https_proxy", "http://user:canary@proxy.example:3128/")],
            // Not asked, since the other one counts.
            &[("HTTPS_PROXY", "http://proxy.example"), ("ALL_PROXY", "socks5://proxy.example")],
            &[("HTTPS_PROXY", "junk:::x"), ("NO_PROXY", "other.example, .example")],
        ] {
            assert_eq!(told(to, set), None, "{set:?}");
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
        assert!(check(&path).contains("No such file"));
        assert!(check(dir.path()).contains("not a file"));
        for bad in ["", "hello", "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n"] {
            std::fs::write(&path, bad).unwrap();
            assert!(check(&path).contains("PEM"), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_name_of_this_machine_is_asked_of_nobody() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let http = Http::new(Limits::default());
        // No such name is in any hosts file.
        let url: Url = format!("http://made-up.localhost:{port}/").parse().unwrap();
        let asked = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = [0; 4096];
            assert!(stream.read(&mut head).await.unwrap() > 0);
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
        };
        let (answer, ()) = tokio::join!(http.get_json(url), asked);
        assert_eq!(answer.unwrap().status, 204);
    }

    #[test]
    fn tls_faults_are_told_in_words() {
        for error in [
            rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer),
            rustls::Error::InvalidCertificate(CertificateError::BadSignature),
            rustls::Error::AlertReceived(rustls::AlertDescription::HandshakeFailure),
            rustls::Error::HandshakeNotComplete,
        ] {
            let words = tls_words(&error);
            assert!(!words.contains("Unknown") && !words.contains("Handshake") && words.contains(' '));
        }
    }
}
