//! One bounded HTTP exchange: it follows no redirect, limits size and time, and distinguishes failures.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, WWW_AUTHENTICATE};
use rustls::CertificateError;
use serde_json::{Map, Value};
use url::Url;

use super::network::{Network, NetworkError};
use super::url::is_loopback;

const JSON: &str = "application/json";
/// How long an unused connection is kept: a person who reads an answer asks again within minutes.
const IDLE: Duration = Duration::from_mins(5);

/// The limits of one exchange.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The time until a connection exists (R5.5).
    pub connect: Duration,
    /// The time until the whole answer is read (R5.5).
    pub total: Duration,
    /// The largest answer, after decompression, in bytes (R5.5).
    pub body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), total: Duration::from_secs(30), body: 16 << 20 }
    }
}

/// An HTTP client that is built when it is first used: reading the machine's CA bundle takes 3 ms or more,
/// which only TLS connections should pay. Clones share connections.
#[derive(Clone)]
pub struct Http {
    clients: Arc<Clients>,
    limits: Limits,
    network: Network,
}

/// One for each [`Way`].
#[derive(Default)]
struct Clients([OnceLock<Result<reqwest::Client, HttpError>>; 3]);

/// How a request leaves. Requests to this computer never go through a proxy, whatever the variables say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Outside,
    HereOverTls,
    /// Without TLS, and so without certificates: the machine may have none.
    HerePlain,
}

impl Way {
    fn to(url: &Url) -> Self {
        match (is_loopback(url), url.scheme()) {
            (true, "http") => Self::HerePlain,
            (true, _) => Self::HereOverTls,
            (false, _) => Self::Outside,
        }
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("limits", &self.limits)
            .field("network", &self.network)
            .finish_non_exhaustive()
    }
}

/// An answer, with any status.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status code; never a redirect.
    pub status: u16,
    /// The header fields.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HttpError {
    /// The name has no address here.
    #[error("could not look up the name of {origin}: {why}")]
    UnknownHost {
        /// Scheme, host and port.
        origin: String,
        /// The resolver's error.
        why: String,
    },
    /// The proxy cannot be reached, or opened no connection.
    #[error("the proxy {proxy} did not connect to {origin}: {why}")]
    Proxy {
        /// The proxy's scheme, host and port.
        proxy: String,
        /// Scheme, host and port.
        origin: String,
        /// The reason.
        why: String,
    },
    /// No connection: refused, no route.
    #[error("could not connect to {origin}: {why}")]
    Unreachable {
        /// Scheme, host and port.
        origin: String,
        /// The network's error.
        why: String,
    },
    /// The certificate or the handshake was not accepted.
    #[error("no trusted TLS connection to {origin}: {why}")]
    Tls {
        /// Scheme, host and port.
        origin: String,
        /// What is wrong, in this program's words.
        why: &'static str,
    },
    /// The answer took longer than the limit.
    #[error("{origin} did not answer within {} s", after.as_secs())]
    TimedOut {
        /// Scheme, host and port.
        origin: String,
        /// The limit.
        after: Duration,
    },
    /// A redirect, which is never followed, so that a bearer goes nowhere else.
    #[error("{origin} answered with a redirect (HTTP {status}), which pdpp does not follow")]
    Redirected {
        /// Scheme, host and port.
        origin: String,
        /// The HTTP status code.
        status: u16,
    },
    /// The answer is larger than the limit.
    #[error("{origin} sent more than {limit} bytes")]
    TooLarge {
        /// Scheme, host and port.
        origin: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The connection broke, or the answer was not HTTP.
    #[error("the answer of {origin} broke off or was not HTTP: {why}")]
    Broken {
        /// Scheme, host and port.
        origin: String,
        /// The HTTP library's error.
        why: String,
    },
    /// There is no way out of this computer's network.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// This computer could not set up a client at all (no CA certificates).
    #[error("could not set up an HTTPS client: {0}")]
    Setup(String),
}

impl Answer {
    /// The body as a JSON object.
    ///
    /// # Errors
    /// What it is instead: a media type, or the reason why the JSON could not be parsed.
    pub fn object(&self) -> Result<Map<String, Value>, String> {
        match crate::json::parse(&self.body) {
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

    /// The values of `parameter` in the challenges (RFC 9110 §11.6.1). The parameters that are read here
    /// contain no comma or space.
    pub fn challenges<'a>(&'a self, parameter: &'a str) -> impl Iterator<Item = &'a str> {
        let texts = self.headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        texts.flat_map(|text| text.split([',', ' '])).filter_map(move |part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case(parameter).then(|| value.trim().trim_matches('"'))
        })
    }

    /// Whether the status is a success.
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
            Self::Tls { .. } => "provider_tls_failed",
            Self::TimedOut { .. } => "provider_timeout",
            Self::Redirected { .. } => "provider_redirected",
            Self::TooLarge { .. } => "provider_answer_too_large",
            Self::Broken { .. } => "provider_answer_broken",
            Self::Network(error) => error.code(),
            Self::Setup(_) => "http_setup_failed",
        }
    }

    /// What to do about it.
    pub const fn next_step(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "Check the address and your network, then try again",
            Self::UnknownHost { .. } => {
                "Check the spelling of the address, and check that this computer is online"
            }
            Self::Proxy { .. } => {
                "Check the proxy: --proxy http://host:port, or HTTPS_PROXY; NO_PROXY excludes a host"
            }
            Self::Tls { .. } => {
                "Check the address and this computer's clock; name your company's own certificate authority with --ca-file FILE.pem"
            }
            Self::TimedOut { .. } => {
                "Try again. If it still fails, the provider is down or its network is slow"
            }
            Self::Redirected { .. } => {
                "Open the address in a browser, and use the address that the browser then shows"
            }
            Self::TooLarge { .. } | Self::Broken { .. } => {
                "Check the address: the server there does not speak PDPP"
            }
            Self::Network(error) => error.next_step(),
            Self::Setup(_) => {
                "Check the CA certificates of this computer, or name a file that has some: --ca-file FILE.pem"
            }
        }
    }
}

impl Http {
    /// A client with these limits. It costs nothing until it is used.
    pub fn new(limits: Limits) -> Self {
        Self { clients: Arc::default(), limits, network: Network::default() }
    }

    /// The same, with the network settings of `network`.
    #[must_use]
    pub fn over(self, network: Network) -> Self {
        Self { clients: Arc::default(), network, ..self }
    }

    /// The network settings.
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// The limits.
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// Starts a request: add headers and a body, then pass it to [`Http::send`].
    ///
    /// # Errors
    /// [`HttpError::Setup`], [`HttpError::Network`].
    pub fn request(&self, method: reqwest::Method, url: Url) -> Result<reqwest::RequestBuilder, HttpError> {
        let way = Way::to(&url);
        self.network.check_way_to(&url)?;
        match self.clients.0[way as usize].get_or_init(|| build(self.limits, &self.network, way)) {
            Ok(client) => Ok(client.request(method, url)),
            Err(error) => Err(error.clone()),
        }
    }

    /// Sends `request` and reads the whole answer within the limits. Dropping the future aborts it.
    ///
    /// # Errors
    /// One variant for each way of not answering; an HTTP error status is an [`Answer`].
    pub async fn send(&self, request: reqwest::RequestBuilder) -> Result<Answer, HttpError> {
        let (client, request) = request.build_split();
        let request = request.map_err(|error| HttpError::Setup(deepest(&error)))?;
        let url = request.url().clone();
        let origin = || url.origin().ascii_serialization();
        let exchange = async {
            let mut response = client.execute(request).await.map_err(|error| self.explain(&url, &error))?;
            let status = response.status().as_u16();
            // 304 and similar are not redirects, but nothing here requests them either.
            if response.status().is_redirection() {
                return Err(HttpError::Redirected { origin: origin(), status });
            }
            let limit = self.limits.body;
            // A body that declares its size in advance uses no memory.
            if response.content_length().is_some_and(|length| length > limit as u64) {
                return Err(HttpError::TooLarge { origin: origin(), limit });
            }
            // Reads in pieces: a large buffer that grows in place would be memory that the allocator keeps.
            let (mut pieces, mut length) = (Vec::new(), 0);
            while let Some(piece) = response.chunk().await.map_err(|error| self.explain(&url, &error))? {
                length += piece.len();
                if length > limit {
                    return Err(HttpError::TooLarge { origin: origin(), limit });
                }
                pieces.push(piece);
            }
            let body = match pieces.as_slice() {
                [only] => Vec::from(&only[..]),
                several => several.concat(),
            };
            Ok(Answer { status, headers: std::mem::take(response.headers_mut()), body })
        };
        match tokio::time::timeout(self.limits.total, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(HttpError::TimedOut { origin: origin(), after: self.limits.total }),
        }
    }

    /// `GET`s a JSON document, without any credential.
    ///
    /// # Errors
    /// Same as [`Http::send`].
    pub async fn get_json(&self, url: Url) -> Result<Answer, HttpError> {
        self.send(self.request(reqwest::Method::GET, url)?.header(ACCEPT, JSON)).await
    }

    /// `POST`s a JSON document, with no credential except what the document contains.
    ///
    /// # Errors
    /// Same as [`Http::send`].
    pub async fn post_json(&self, url: Url, document: &serde_json::Value) -> Result<Answer, HttpError> {
        let request = self.request(reqwest::Method::POST, url)?;
        self.send(request.header(ACCEPT, JSON).header(CONTENT_TYPE, JSON).body(document.to_string())).await
    }

    /// `POST`s a form, with no credential except what the form contains.
    ///
    /// # Errors
    /// Same as [`Http::send`].
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
        // If there was a connection, the proxy does not explain the failure.
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

/// `localhost` and the names below it: this computer, whatever a name server says (RFC 6761 §6.3). Plain http is
/// used only there.
struct Here;

impl Resolve for Here {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let addresses = addresses.map(|address: IpAddr| SocketAddr::new(address, 0));
        Box::pin(std::future::ready(Ok(Box::new(addresses.into_iter()) as Addrs)))
    }
}

fn build(limits: Limits, network: &Network, way: Way) -> Result<reqwest::Client, HttpError> {
    // Installing twice is refused, which is harmless: it is the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let setup = |error: reqwest::Error| HttpError::Setup(deepest(&error));
    let mut builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(limits.connect)
        .referer(false)
        .pool_idle_timeout(IDLE)
        .user_agent(concat!("pdpp/", env!("CARGO_PKG_VERSION")));
    builder = match way {
        Way::HerePlain => builder.tls_certs_only([]),
        Way::HereOverTls | Way::Outside => builder.tls_certs_merge(network.certificates()?),
    };
    builder = match (way, &network.proxy) {
        (Way::HerePlain | Way::HereOverTls, _) => builder.no_proxy().dns_resolver(Arc::new(Here)),
        (Way::Outside, Some(proxy)) => builder.proxy(reqwest::Proxy::all(proxy.0.clone()).map_err(setup)?),
        (Way::Outside, None) => builder,
    };
    builder.build().map_err(setup)
}

/// The innermost cause, because reqwest's own message only repeats the URL.
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
    // An io::Error hides what it wraps from source(), and may wrap another io::Error.
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    wrapped.and_then(|inner| rustls_error(inner)).or_else(|| error.source().and_then(rustls_error))
}

/// A TLS error in words: the library's own messages are its `Debug` output, which is not for people.
fn tls_words(error: &rustls::Error) -> &'static str {
    use CertificateError as Certificate;
    match error {
        rustls::Error::InvalidCertificate(certificate) => match certificate {
            Certificate::Expired | Certificate::ExpiredContext { .. } => {
                "its certificate has expired, or this computer's clock is wrong"
            }
            Certificate::NotValidYet | Certificate::NotValidYetContext { .. } => {
                "its certificate is not valid yet, or this computer's clock is wrong"
            }
            Certificate::UnknownIssuer => {
                "its certificate is not from an authority that this computer trusts"
            }
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                "its certificate is for another name"
            }
            Certificate::Revoked => "its certificate was revoked",
            _ => "its certificate is not acceptable",
        },
        rustls::Error::AlertReceived(_) => "it refused the TLS handshake",
        rustls::Error::PeerIncompatible(_) => "it offers no safe TLS version or cipher",
        rustls::Error::InvalidMessage(_) => "the server there does not speak TLS",
        _ => "the TLS handshake failed",
    }
}

fn proxy_words(error: &reqwest::Error, limit: Duration) -> String {
    let mentions = |words: &str| any_cause(error, |cause| cause.to_string().contains(words));
    if mentions("proxy authorization required") {
        return "it requires a user name and password (HTTP 407)".to_owned();
    }
    if mentions("tunnel error: unsuccessful") {
        return "it refused, or could not reach that host itself".to_owned();
    }
    if error.is_timeout() {
        return format!("no connection within {} s", limit.as_secs());
    }
    if mentions("tunnel error: unexpected end of file") {
        return "it closed the connection".to_owned();
    }
    deepest(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_of_this_machine_is_asked_of_nobody() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let http = Http::new(Limits::default());
        // This name is in no hosts file.
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
