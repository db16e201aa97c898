//! One bounded HTTP exchange: no redirect followed, size and time limited, failures told apart.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use serde_json::{Map, Value};
use url::Url;

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

/// An HTTP client, built at its first use: reading the machine's CA bundle costs 3 ms and more,
/// which nothing before the first answer may pay. Clones share connections.
#[derive(Clone)]
pub struct Http {
    client: Arc<OnceLock<Result<reqwest::Client, String>>>,
    limits: Limits,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("limits", &self.limits).finish_non_exhaustive()
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
    /// No connection: DNS, refused, unreachable.
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
        /// What the TLS library said.
        why: String,
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
    /// This machine could not set up a client at all (no CA certificates, a malformed proxy).
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
            Self::Tls { .. } => "provider_tls_failed",
            Self::TimedOut { .. } => "provider_timeout",
            Self::Redirected { .. } => "provider_redirected",
            Self::TooLarge { .. } => "provider_answer_too_large",
            Self::Broken { .. } => "provider_answer_broken",
            Self::Setup(_) => "http_setup_failed",
        }
    }
}

impl Http {
    /// A client with these bounds. Costs nothing until it is used.
    pub fn new(limits: Limits) -> Self {
        Self { client: Arc::default(), limits }
    }

    /// Its bounds.
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// Starts a request, to be finished with headers and body and given to [`Http::send`].
    ///
    /// # Errors
    /// [`HttpError::Setup`].
    pub fn request(&self, method: reqwest::Method, url: Url) -> Result<reqwest::RequestBuilder, HttpError> {
        match self.client.get_or_init(|| build(self.limits)) {
            Ok(client) => Ok(client.request(method, url)),
            Err(why) => Err(HttpError::Setup(why.clone())),
        }
    }

    /// Sends `request` and reads the whole answer within the bounds. Dropping the future aborts it.
    ///
    /// # Errors
    /// Each way of not answering, told apart; an HTTP error status is an [`Answer`].
    pub async fn send(&self, request: reqwest::RequestBuilder) -> Result<Answer, HttpError> {
        let (client, request) = request.build_split();
        let request = request.map_err(|error| HttpError::Setup(deepest(&error)))?;
        let origin = request.url().origin().ascii_serialization();
        let exchange = async {
            let mut response =
                client.execute(request).await.map_err(|error| self.explain(&origin, &error))?;
            let status = response.status().as_u16();
            // 304 and the like are not redirects, but nothing here asks for them either.
            if response.status().is_redirection() {
                return Err(HttpError::Redirected { origin: origin.clone(), status });
            }
            let limit = self.limits.body;
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(|error| self.explain(&origin, &error))? {
                if body.len() + chunk.len() > limit {
                    return Err(HttpError::TooLarge { origin: origin.clone(), limit });
                }
                body.extend_from_slice(&chunk);
            }
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

    fn explain(&self, origin: &str, error: &reqwest::Error) -> HttpError {
        let origin = origin.to_owned();
        let why = deepest(error);
        if error.is_timeout() {
            return HttpError::TimedOut { origin, after: self.limits.connect };
        }
        if is_tls(error) {
            return HttpError::Tls { origin, why };
        }
        if error.is_connect() {
            return HttpError::Unreachable { origin, why };
        }
        HttpError::Broken { origin, why }
    }
}

fn build(limits: Limits) -> Result<reqwest::Client, String> {
    // Installing twice is refused, and harmless: it is the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(limits.connect)
        .referer(false)
        .user_agent(concat!("pdpp/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| deepest(&error))
}

/// The innermost cause: reqwest's own message repeats the URL and says nothing.
fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

fn is_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    if error.downcast_ref::<rustls::Error>().is_some() {
        return true;
    }
    // An io::Error hides what it wraps from source(), and may wrap another one.
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    wrapped.is_some_and(|inner| is_tls(inner)) || error.source().is_some_and(is_tls)
}
