//! HTTP requests to the hosted endpoint, without sockets: each is answered once, within its bounds and with a suitable status,
//! and reads nothing without the right bearer token (R7.1, R7.2, R4.9).
//!
//! Input: a byte that selects the request's options, then `METHOD TARGET`, one header field per line, an empty line, the body.
#![no_main]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Method, Request, Uri, header};
use futures_util::future::{BoxFuture, ready};
use futures_util::{FutureExt as _, stream};
use libfuzzer_sys::fuzz_target;
use pdpp::mcp::protocol::http::{Endpoint, Gate, Limits, Mcp, Refusal};
use pdpp::mcp::protocol::jsonrpc::{self, Envelope};
use pdpp::mcp::protocol::service::{Offer, ResourceContents, ResourceError, Service, ToolAnswer};
use pdpp::mcp::tools::surface;
use pdpp::secret::AccessToken;
use serde_json::{Map, Value};

const BEARER: &str = "canary-bearer";
const MOST: usize = 4_096;

/// Counts the reads that reach it.
#[derive(Default)]
struct Reads(AtomicUsize);

impl Service for Reads {
    fn offer(&self) -> Offer {
        surface::offer()
    }

    fn call(&self, tool: &str, arguments: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let text = format!("{tool} {}", Value::Object(arguments.clone()));
        ready(ToolAnswer { text, structured: Some(arguments.into()), is_error: false, rows: 0 }).boxed()
    }

    fn read_resource(&self, uri: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        ready(Err(ResourceError::NotFound { message: uri.to_owned(), data: Value::Null })).boxed()
    }
}

struct OneBearer(Arc<Reads>);

impl Gate for OneBearer {
    fn admit(&self, bearer: AccessToken) -> BoxFuture<'_, Result<Arc<dyn Service>, Refusal>> {
        ready(match bearer.expose_bearer() {
            BEARER => Ok(Arc::clone(&self.0) as Arc<dyn Service>),
            _ => Err(Refusal::invalid_token("token_inactive", "Unknown")),
        })
        .boxed()
    }
}

struct Fixture {
    runtime: tokio::runtime::Runtime,
    served: Mcp,
    reads: Arc<Reads>,
}

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut endpoint = Endpoint::new("https://p.example/mcp".parse().expect("a URL"));
    endpoint.allowed_origins = vec!["https://app.example".parse().expect("an origin")];
    endpoint.limits = Limits { body: MOST, ..Limits::default() };
    let reads = Arc::new(Reads::default());
    Fixture { runtime, served: Mcp::new(Arc::new(endpoint), Arc::new(OneBearer(Arc::clone(&reads)))), reads }
});

/// Splits the data into head and body at the first empty line.
fn parted(data: &[u8]) -> (&[u8], &[u8]) {
    data.windows(2).position(|two| two == b"\n\n").map_or((data, &[]), |at| (&data[..at], &data[at + 2..]))
}

fn request(beside: u8, data: &[u8]) -> Option<(Request<Body>, Vec<u8>)> {
    let (head, body) = parted(data);
    let mut lines = head.split(|byte| *byte == b'\n');
    let mut words = lines.next()?.splitn(2, |byte| *byte == b' ');
    let mut request = Request::new(Body::empty());
    *request.method_mut() = Method::from_bytes(words.next()?).ok()?;
    *request.uri_mut() = Uri::try_from(words.next()?).ok()?;
    let headers = request.headers_mut();
    if beside & 1 != 0 {
        let bearer = format!("Bearer {BEARER}");
        headers.insert(header::HOST, HeaderValue::from_static("p.example"));
        headers.insert(header::AUTHORIZATION, HeaderValue::from_str(&bearer).ok()?);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    for line in lines {
        let at = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(line[..at].trim_ascii()).ok()?;
        headers.append(name, HeaderValue::from_bytes(line[at + 1..].trim_ascii()).ok()?);
    }
    let whole = body.to_vec();
    let (begin, rest) = body.split_at(body.len() / 2);
    let mut chunks = vec![Ok(Bytes::copy_from_slice(begin)), Ok(Bytes::copy_from_slice(rest))];
    if beside & 2 != 0 {
        chunks.push(Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)));
    }
    *request.body_mut() = Body::from_stream(stream::iter(chunks));
    Some((request, whole))
}

fuzz_target!(|data: &[u8]| {
    let Some((&beside, data)) = data.split_first() else { return };
    let Some((request, body)) = request(beside, data) else { return };
    let fixture = &*FIXTURE;
    let is_post = request.method() == Method::POST;
    let has_bearer = request
        .headers()
        .get_all(header::AUTHORIZATION)
        .iter()
        .any(|value| value.as_bytes().windows(BEARER.len()).any(|part| part == BEARER.as_bytes()));
    let takes = request.headers().get(header::ACCEPT).cloned();
    let before = fixture.reads.0.load(Ordering::Relaxed);
    let (response, answer) = fixture.runtime.block_on(async {
        let (head, answer) = fixture.served.answer(request).await.into_parts();
        (head, axum::body::to_bytes(answer, 1 << 20).await.expect("a bounded answer"))
    });
    let reads = fixture.reads.0.load(Ordering::Relaxed) - before;
    let status = response.status.as_u16();

    assert!([200, 202, 204, 400, 401, 403, 404, 405, 406, 413, 415, 421].contains(&status), "{status}");
    assert!(
        reads <= 1 && (reads == 0 || (has_bearer && is_post && beside & 2 == 0)),
        "{status}, {reads} reads"
    );
    assert_eq!(response.headers.contains_key(header::WWW_AUTHENTICATE), status == 401, "R7.2");
    for value in response.headers.values() {
        assert!(!value.as_bytes().windows(BEARER.len()).any(|part| part == BEARER.as_bytes()), "R7.6");
    }
    let content =
        response.headers.get(header::CONTENT_TYPE).map(|value| value.to_str().expect("text").to_owned());
    match content.as_deref() {
        None => assert!(answer.is_empty() && [202, 204].contains(&status), "{status}"),
        Some("application/json") => {
            let answer: Value = serde_json::from_slice(&answer).expect("JSON");
            checked(&answer, &body, status);
        }
        Some("text/event-stream") => {
            assert!(takes.is_some());
            let text = std::str::from_utf8(&answer).expect("text");
            let data = text.lines().filter_map(|line| line.strip_prefix("data:")).collect::<String>();
            checked(&serde_json::from_str(&data).expect("JSON"), &body, status);
        }
        Some("image/svg+xml") => assert_eq!(status, 200),
        Some(other) => panic!("{other}"),
    }
});

/// The answer is one message that belongs to the request, or a refusal with a code.
fn checked(answer: &Value, body: &[u8], status: u16) {
    let hidden = |text: &str| pdpp::text::exposed(text).next().is_some();
    if answer.get("jsonrpc").is_none() {
        assert!(answer["error"]["code"].is_string() && answer["error"]["message"].is_string(), "{answer}");
        assert!(
            status >= 400 && !hidden(answer["error"]["message"].as_str().unwrap_or_default()),
            "{answer}"
        );
        return;
    }
    assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{answer}");
    match jsonrpc::envelope(body) {
        Ok(Envelope::Request { id, .. }) => {
            assert_eq!(answer["id"], serde_json::from_str::<Value>(id.as_json()).expect("an id"));
        }
        _ => assert!(status == 400 && answer.get("error").is_some(), "{status} {answer}"),
    }
}
