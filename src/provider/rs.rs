//! The resource server as its client sees it: authorized `GET`s below `/v1`, and its errors.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use serde_json::{Map, Value};
use url::Url;

use super::http::{Answer, Http, HttpError};
use super::url::ProviderUrl;
use crate::json;
use crate::secret::AccessToken;

/// The characters that a path segment must encode.
const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// `text` as one path segment.
pub(super) fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// A provider's resource server. Every request goes below its query base, which is checked to be the provider's
/// own, so that nobody else gets a bearer.
#[derive(Debug, Clone)]
pub struct ResourceServer {
    http: Http,
    query_base: Url,
    /// The base of the records' addresses.
    shown: Url,
}

/// The query base is outside the provider it was discovered for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the query base {query_base} is not below the provider {provider}")]
pub struct ForeignQueryBase {
    provider: String,
    query_base: String,
}

/// One read: path segments below `/v1` (each sent as one encoded segment) and query parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Read {
    /// The path segments, not encoded. None of them is empty, `.` or `..`.
    pub segments: Vec<String>,
    /// The query parameters in order, not encoded.
    pub query: Vec<(String, String)>,
}

impl Read {
    /// A read of these path segments, without parameters.
    pub fn of<const N: usize>(segments: [&str; N]) -> Self {
        Self { segments: segments.map(str::to_owned).to_vec(), query: Vec::new() }
    }

    /// Adds a query parameter.
    pub fn push(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.query.push((name.into(), value.into()));
    }

    /// Adds a query parameter.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.push(name, value);
        self
    }

    /// Adds a query parameter if there is a value.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The URL below `query_base` (`…/v1`), without parameters.
    pub fn below(&self, query_base: &Url) -> Url {
        let mut path = query_base.path().trim_end_matches('/').to_owned();
        for segment in &self.segments {
            path.push('/');
            // `PathSegmentsMut` would drop tabs and line breaks, and so name another record.
            path.extend(utf8_percent_encode(segment, SEGMENT));
        }
        let mut url = query_base.clone();
        url.set_path(&path);
        url
    }

    /// The same with parameters.
    pub fn whole_below(&self, query_base: &Url) -> Url {
        let mut url = self.below(query_base);
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url
    }

    /// The path in the form that documentation uses: `/v1/streams/messages/records`.
    pub fn route(&self) -> String {
        format!("/v1/{}", self.segments.join("/"))
    }
}

/// A JSON answer with a success status.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// The body as received; numbers keep their digits.
    pub body: Map<String, Value>,
    /// `Request-Id`.
    pub request_id: Option<String>,
}

/// A blob's bytes.
#[derive(Debug, Clone)]
pub struct Blob {
    /// `Content-Type`, if it was sent and is plain ASCII.
    pub media_type: Option<String>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Why a read got no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RsError {
    /// The resource server refused, and stated why (R5.1).
    #[error("{} ({})", .0.message, .0.code)]
    Refused(Box<Refusal>),
    /// No answer at all.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// A success that is not the expected JSON.
    #[error("the provider answered HTTP {status} with {what} instead of a JSON object")]
    NotJson {
        /// The HTTP status code: 200 to 299.
        status: u16,
        /// What came instead: a content type, or the reason why the JSON could not be parsed.
        what: String,
    },
}

impl RsError {
    /// The outcome of the read, for the log.
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::Http(error) => error.code(),
            Self::NotJson { .. } => "provider_answer_broken",
        }
    }
}

/// An error body of the resource server: `{error:{type, code, message, param?, request_id, …}}`.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The HTTP status code.
    pub status: u16,
    /// `error.code`; `http_<status>` if the resource server gave none.
    pub code: String,
    /// `error.message`.
    pub message: String,
    /// `error.param`.
    pub param: Option<String>,
    /// `error.request_id`, or otherwise the `Request-Id` header.
    pub request_id: Option<String>,
    /// `Retry-After` in seconds, if it was given that way.
    pub retry_after: Option<u64>,
    /// The whole `error` object as received.
    pub error: Map<String, Value>,
}

impl ResourceServer {
    /// The resource server of `provider`, read below `query_base` (`…/v1`).
    ///
    /// # Errors
    /// [`ForeignQueryBase`] if that is not the provider's own address.
    pub fn new(http: Http, provider: &ProviderUrl, query_base: Url) -> Result<Self, ForeignQueryBase> {
        if !provider.covers(&query_base) {
            return Err(ForeignQueryBase {
                provider: provider.to_string(),
                query_base: query_base.to_string(),
            });
        }
        Ok(Self { http, shown: query_base.clone(), query_base })
    }

    /// The same, with record addresses below `query_base` for everyone who sees them: the address that it has
    /// from inside.
    #[must_use]
    pub fn shown_at(self, query_base: Url) -> Self {
        Self { shown: query_base, ..self }
    }

    /// The absolute URL of `read` without parameters: the target of a citation's link.
    pub fn url_of(&self, read: &Read) -> Url {
        read.below(&self.shown)
    }

    /// Reads a JSON object.
    ///
    /// # Errors
    /// [`RsError`].
    pub async fn get(&self, bearer: &AccessToken, read: &Read) -> Result<Envelope, RsError> {
        let answer = self.http.send(self.request(bearer, read, "application/json")?).await?;
        if !answer.is_success() {
            // The answer may also be a proxy's page, or empty: the status shows what it means (401, 410, 503).
            return Err(RsError::Refused(Box::new(refusal_of(&answer))));
        }
        let status = answer.status;
        let not_json = |what: String| RsError::NotJson { status, what };
        match json::parse(&answer.body) {
            Ok(Value::Object(body)) => {
                Ok(Envelope { body, request_id: header(&answer.headers, "request-id") })
            }
            Ok(_) => Err(not_json("JSON that is not an object".to_owned())),
            Err(error) => Err(not_json(match header(&answer.headers, CONTENT_TYPE.as_str()) {
                Some(media_type) if !media_type.contains("json") => media_type,
                _ => format!("malformed JSON ({error})"),
            })),
        }
    }

    /// Reads a blob.
    ///
    /// # Errors
    /// [`RsError`].
    pub async fn blob(&self, bearer: &AccessToken, blob_id: &str) -> Result<Blob, RsError> {
        let read = Read::of(["blobs", blob_id]);
        let answer = self.http.send(self.request(bearer, &read, "*/*")?).await?;
        if answer.is_success() {
            let media_type = header(&answer.headers, CONTENT_TYPE.as_str());
            return Ok(Blob { media_type, bytes: answer.body });
        }
        Err(RsError::Refused(Box::new(refusal_of(&answer))))
    }

    fn request(
        &self,
        bearer: &AccessToken,
        read: &Read,
        accept: &'static str,
    ) -> Result<reqwest::RequestBuilder, HttpError> {
        let url = read.whole_below(&self.query_base);
        let authorization = authorization(bearer)?;
        Ok(self
            .http
            .request(reqwest::Method::GET, url)?
            .header(ACCEPT, accept)
            .header(AUTHORIZATION, authorization))
    }
}

/// `Authorization: Bearer …` (RFC 6750 §2.1), marked as sensitive so that nothing shows it.
///
/// # Errors
/// [`HttpError::Setup`] for a token that cannot be in a header.
pub fn authorization(bearer: &AccessToken) -> Result<HeaderValue, HttpError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", bearer.expose_bearer())).map_err(|_| {
        HttpError::Setup("the access token has a character that no HTTP header can carry".to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// The refusal in an answer that is not a success.
pub fn refusal_of(answer: &Answer) -> Refusal {
    let (request_id, retry_after) = (header(&answer.headers, "request-id"), retry_after(&answer.headers));
    let mut refusal = refusal(answer.status, answer.object().unwrap_or_default(), request_id, retry_after);
    // What a gateway in front of the provider reports about a token is in the header (RFC 6750 §3.1), whatever
    // its page contains.
    let is_pdpps = ["context.", "grant_"].iter().any(|prefix| refusal.code.starts_with(prefix));
    if refusal.status == 401 && !is_pdpps && answer.challenges("error").any(|error| error == "invalid_token")
    {
        "invalid_token".clone_into(&mut refusal.code);
    }
    refusal
}

fn refusal(
    status: u16,
    mut body: Map<String, Value>,
    request_id: Option<String>,
    retry_after: Option<u64>,
) -> Refusal {
    let text = |map: &Map<String, Value>, key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
    let (error, code, message) = match body.remove("error") {
        Some(Value::Object(error)) => {
            let code = text(&error, "code");
            let message = text(&error, "message");
            (error, code, message)
        }
        // An OAuth-style error for a read.
        Some(Value::String(code)) => (Map::new(), Some(code), text(&body, "error_description")),
        _ => (Map::new(), None, None),
    };
    Refusal {
        status,
        code: code.unwrap_or_else(|| format!("http_{status}")),
        message: message.unwrap_or_else(|| format!("The provider refused with HTTP {status}")),
        param: text(&error, "param"),
        request_id: text(&error, "request_id").or(request_id),
        retry_after,
        error,
    }
}

/// `Retry-After` in seconds from now, whether it was sent in seconds or as a date (RFC 9110 §10.2.3).
pub fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let value = header(headers, RETRY_AFTER.as_str())?;
    value.trim().parse().ok().or_else(|| {
        let until = jiff::fmt::rfc2822::parse(value.trim()).ok()?.timestamp();
        Some(u64::try_from(until.as_second() - jiff::Timestamp::now().as_second()).unwrap_or(0))
    })
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::http::Limits;
    use proptest::prelude::*;

    #[test]
    fn r5_5_retry_after_is_seconds_or_a_date() {
        let after = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, value.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(after("7"), Some(7));
        assert_eq!(after("Wed, 21 Oct 2015 07:28:00 GMT"), Some(0));
        let far = after("Fri, 31 Dec 2100 23:59:59 GMT").unwrap();
        assert!(far > 365 * 24 * 3600, "{far}");
        for bad in ["", "soon", "-5", "1.5"] {
            assert_eq!(after(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_a_challenge_says_of_a_token_counts_where_the_body_says_nothing_of_ours() {
        let code = |status: u16, challenge: &str, body: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(reqwest::header::WWW_AUTHENTICATE, challenge.parse().unwrap());
            refusal_of(&Answer { status, headers, body: body.as_bytes().to_vec() }).code
        };
        let invalid = r#"Bearer realm="a", error="invalid_token", error_description="The token is over""#;
        for foreign in
            ["", "<html>", "{}", r#"{"error":"Unauthorized"}"#, r#"{"error":{"code":"UNAUTHENTICATED"}}"#]
        {
            assert_eq!(code(401, invalid, foreign), "invalid_token", "{foreign}");
        }
        let ours = r#"{"error":{"code":"context.stream_not_allowed"}}"#;
        assert_eq!(code(401, invalid, ours), "context.stream_not_allowed");
        assert_eq!(code(403, invalid, ""), "http_403");
        assert_eq!(code(401, r#"Bearer error="insufficient_scope""#, ""), "http_401");
        assert_eq!(code(401, r#"Bearer xerror="invalid_token""#, ""), "http_401");
    }

    proptest! {
        #[test]
        fn r3_73_a_record_id_is_one_segment_and_comes_back(id in any::<String>()) {
            prop_assume!(!matches!(id.as_str(), "" | "." | ".."));
            let provider: ProviderUrl = "https://a.example/t1".parse().unwrap();
            let base = "https://a.example/t1/v1".parse().unwrap();
            let rs = ResourceServer::new(Http::new(Limits::default()), &provider, base).unwrap();
            let url = rs.url_of(&Read::of(["streams", "s", "records", &id]));
            let segments = url.path_segments().unwrap().collect::<Vec<_>>();
            prop_assert_eq!(&segments[..5], ["t1", "v1", "streams", "s", "records"]);
            prop_assert_eq!(segments.len(), 6);
            prop_assert_eq!(percent_encoding::percent_decode_str(segments[5]).decode_utf8().unwrap(), id.as_str());
        }
    }
}
