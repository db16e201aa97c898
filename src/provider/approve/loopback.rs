//! Where the owner's browser comes back to: one path on one port of this machine, once (RFC 8252 §7.3).
//!
//! Other programs, and pages of any site, can reach the port too. So the answer has to carry the state
//! that only the browser that was sent has, and everything else is turned away and costs little.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use secrecy::{ExposeSecret, SecretString};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::ApproveError;
use crate::provider::oauth_error::OAuthError;
use crate::provider::register::CALLBACK;
use crate::provider::url::ProviderUrl;
use crate::text;

/// Bytes of a request at most; what is longer ends there.
const MAX_REQUEST: u64 = 16 << 10;
/// Until a request's head is there, or an answer is taken. Browsers open connections that they never use.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections that have asked nothing yet; the oldest goes for one more, so that none holds up the browser.
const MAX_SILENT: usize = 64;

/// A port of this machine that waits for a browser.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
}

/// What the answer has to carry.
#[derive(Debug)]
pub struct Expected {
    /// `state`, character by character.
    pub state: SecretString,
    /// Who was asked, where `iss` says who answers.
    pub issuer: ProviderUrl,
    /// Whether `iss` has to be there (RFC 9207 §2.3).
    pub issuer_required: bool,
}

/// One request, as far as it matters.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// The path is ours: its query.
    Callback(String),
    /// Anything else, and what it is answered with.
    Other(StatusCode, &'static str),
}

impl Listener {
    /// Opens a free port on 127.0.0.1.
    ///
    /// # Errors
    /// Whatever the system says.
    pub async fn open() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Its port.
    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    /// Where the browser is to come back to: by number, so that no name has to be resolved.
    pub fn redirect_uri(&self) -> String {
        format!("http://{}{CALLBACK}", self.address)
    }

    /// Waits for the one answer; gives the code. Ends at the first request for the path, whatever it says.
    ///
    /// # Errors
    /// [`ApproveError`].
    pub async fn answer(&self, expected: &Expected) -> Result<SecretString, ApproveError> {
        let mut open = FuturesUnordered::new();
        let mut silent: VecDeque<oneshot::Sender<()>> = VecDeque::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        silent.retain(|evict| !evict.is_closed());
                        if silent.len() >= MAX_SILENT {
                            silent.pop_front();
                        }
                        let (evict, evicted) = oneshot::channel();
                        silent.push_back(evict);
                        open.push(converse(stream, evicted, self.address, expected));
                    }
                    // Out of handles, for a moment: nothing that a wait would not cure.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                },
                Some(answer) = open.next(), if !open.is_empty() => {
                    if let Some(answer) = answer {
                        return answer;
                    }
                }
            }
        }
    }
}

/// What a request for the path said.
type Answer = Result<SecretString, ApproveError>;

/// Answers the one request of a connection, unless it is `evicted` before it has asked; gives what the callback said,
/// if it was that.
async fn converse(
    stream: TcpStream,
    evicted: oneshot::Receiver<()>,
    address: SocketAddr,
    expected: &Expected,
) -> Option<Answer> {
    let answer = Mutex::new(None);
    // Whoever has asked is not silent any more: the receiver goes then, and is none to evict.
    let silent = Mutex::new(Some(evicted));
    let service = service_fn(|request: Request<hyper::body::Incoming>| {
        drop(lock(&silent).take());
        let (page, answered) = respond(&asked(&request, address), expected);
        *lock(&answer) = answered;
        std::future::ready(Ok::<_, Infallible>(page))
    });
    let (reading, writing) = stream.into_split();
    let io = TokioIo::new(tokio::io::join(reading.take(MAX_REQUEST), writing));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .keep_alive(false)
        // Who has sent a request and nothing after it still waits for the answer.
        .half_close(true)
        .auto_date_header(false)
        .serve_connection(io, service);
    let eviction = std::future::poll_fn(|context| match lock(&silent).as_mut() {
        Some(evicted) => std::pin::Pin::new(evicted).poll(context).map(drop),
        None => std::task::Poll::Pending,
    });
    tokio::select! {
        biased;
        // For a head, and for a page that is taken slowly.
        _ = tokio::time::timeout(2 * PATIENCE, connection) => {}
        () = eviction => {}
    }
    answer.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// What `request` is, to whoever listens at `address`.
fn asked<B>(request: &Request<B>, address: SocketAddr) -> Asked {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    // A page of another site whose name was made to lead here (DNS rebinding).
    if host != Some(address.to_string().as_str()) {
        let text = "This is another place than the one that was asked for.";
        return Asked::Other(StatusCode::MISDIRECTED_REQUEST, text);
    }
    let target = request.uri();
    // A whole URL is for a proxy, which this is not.
    if target.authority().is_some() || target.path() != CALLBACK {
        let text = "pdpp waits here for the answer to one request, and has no pages.";
        return Asked::Other(StatusCode::NOT_FOUND, text);
    }
    if request.method() != Method::GET {
        return Asked::Other(StatusCode::METHOD_NOT_ALLOWED, "pdpp waits here for a browser.");
    }
    Asked::Callback(target.query().unwrap_or_default().to_owned())
}

/// The page for what was `asked`; and what the callback said, if it was that.
fn respond(asked: &Asked, expected: &Expected) -> (Response<Body>, Option<Answer>) {
    let query = match asked {
        Asked::Other(status, text) => return (page(*status, "Nothing here", text), None),
        Asked::Callback(query) => query,
    };
    let answer = check(query, expected);
    let page = match &answer {
        Ok(_) => {
            let text = "The request was approved. You can close this page and go back to the terminal, which says how \
                        it went on.";
            page(StatusCode::OK, "Back to the terminal", text)
        }
        Err(ApproveError::Denied) => {
            let text = "Nothing was granted. You can close this page.";
            page(StatusCode::OK, "The request was denied", text)
        }
        Err(_) => {
            let text = "Nothing was granted. You can close this page; the terminal says what went wrong.";
            page(StatusCode::BAD_REQUEST, "That did not work", text)
        }
    };
    (page, Some(answer))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the query of the callback says.
fn check(query: &str, expected: &Expected) -> Result<SecretString, ApproveError> {
    let all: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let once = |name: &str| {
        let mut values = all.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(ApproveError::Malformed(format!("it has `{name}` more than once"))),
            (value, None) => Ok(value.filter(|value| !value.is_empty())),
        }
    };
    // Before anything else is believed, errors included.
    if !once("state")?.is_some_and(|state| same(state, expected.state.expose_secret())) {
        return Err(ApproveError::StateMismatch);
    }
    match once("iss")? {
        Some(issuer) if expected.issuer.is_same_as(issuer) => {}
        None if !expected.issuer_required => {}
        found => {
            return Err(ApproveError::OtherIssuer {
                asked: expected.issuer.to_string(),
                found: found.map_or_else(|| "nobody".to_owned(), |found| text::prefix(found, 300).to_owned()),
            });
        }
    }
    match (once("error")?, once("code")?) {
        (Some("access_denied"), _) => Err(ApproveError::Denied),
        (Some(code), _) => {
            let message =
                once("error_description")?.map(|description| text::prefix(description, 300).to_owned());
            let error = OAuthError { status: 400, code: Some(text::prefix(code, 100).to_owned()), message };
            Err(ApproveError::refused(error, Vec::new()))
        }
        (None, Some(code)) if code.len() <= 4096 => Ok(SecretString::from(code)),
        (None, _) => Err(ApproveError::Malformed("it has no usable `code`".to_owned())),
    }
}

/// Whether two texts are the same, in a time that depends on their lengths alone.
fn same(text: &str, other: &str) -> bool {
    let pairs = text.bytes().zip(other.bytes());
    let differs = pairs.fold(0, |differs, (byte, other)| differs | (byte ^ other));
    text.len() == other.len() && differs == 0
}

/// A page that needs nothing else. `title` and `text` are this program's own words.
fn page(status: StatusCode, title: &str, text: &str) -> Response<Body> {
    const HEADERS: [(HeaderName, &str); 6] = [
        (CONNECTION, "close"),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
        ),
    ];
    let body = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} – pdpp</title>\n<style>\n\
         body {{ margin: 15vh auto 0; max-width: 32rem; padding: 0 1.5rem; font: 1.125rem/1.5 system-ui, sans-serif; }}\n\
         h1 {{ font-size: 1.5rem; line-height: 1.25; }}\n</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n<p>{text}</p>\n</main>\n</body>\n</html>\n"
    );
    let length = HeaderValue::from(body.len());
    let mut page = Response::new(Body::from(body));
    *page.status_mut() = status;
    let headers = page.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_LENGTH, length);
    headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt as _;

    fn expected(issuer_required: bool) -> Expected {
        Expected {
            state: SecretString::from("st-1"),
            issuer: "https://as.example/t".parse().unwrap(),
            issuer_required,
        }
    }

    fn code(query: &str, issuer_required: bool) -> String {
        match check(query, &expected(issuer_required)) {
            Ok(code) => code.expose_secret().to_owned(),
            Err(error) => error.code().to_owned(),
        }
    }

    #[test]
    fn an_answer_is_checked_before_it_is_believed() {
        const ISS: &str = "iss=https%3A%2F%2Fas.example%2Ft";
        assert_eq!(code(&format!("code=c%201&state=st-1&{ISS}"), true), "c 1");
        assert_eq!(code("code=c&state=st-1", false), "c");
        for wrong in
            ["code=c", "code=c&state=", "code=c&state=st-2", "code=c&state=st-11", "error=access_denied"]
        {
            assert_eq!(code(wrong, false), "state_mismatch", "{wrong}");
        }
        assert_eq!(code("code=c&state=st-1", true), "answer_issuer_mismatch");
        for other in ["https://evil.example", "https://as.example", "x"] {
            assert_eq!(code(&format!("code=c&state=st-1&iss={other}"), false), "answer_issuer_mismatch");
        }
        assert_eq!(code("error=access_denied&state=st-1", false), "access_denied");
        assert_eq!(code("error=invalid_scope&code=c&state=st-1", false), "request_refused");
        assert_eq!(code("state=st-1", false), "authorization_answer_malformed");
        assert_eq!(code("code=a&code=b&state=st-1", false), "authorization_answer_malformed");
        assert_eq!(code("code=a&state=st-1&state=st-1", false), "authorization_answer_malformed");
    }

    #[test]
    fn only_the_one_path_of_this_place_is_answered() {
        let address: SocketAddr = "127.0.0.1:4711".parse().unwrap();
        let asked = |method: &str, target: &str, host: &str| {
            let request = Request::builder().method(method).uri(target).header(HOST, host).body(()).unwrap();
            match asked(&request, address) {
                Asked::Callback(query) => query,
                Asked::Other(status, _) => status.as_u16().to_string(),
            }
        };
        assert_eq!(asked("GET", "/callback?code=x", "127.0.0.1:4711"), "code=x");
        assert_eq!(asked("GET", "/callback", "127.0.0.1:4711"), "");
        for other in [
            "/",
            "/favicon.ico",
            "/callback/",
            "/callback/x?code=1",
            "//callback",
            "/CALLBACK",
            "http://127.0.0.1:4711/callback?code=1",
        ] {
            assert_eq!(asked("GET", other, "127.0.0.1:4711"), "404", "{other}");
        }
        assert_eq!(asked("POST", "/callback?code=x", "127.0.0.1:4711"), "405");
        assert_eq!(asked("GET", "/callback?code=x", "evil.example:4711"), "421");
        assert_eq!(asked("GET", "/callback?code=x", "localhost:4711"), "421");
        let without_host = Request::builder().uri("/callback?code=x").body(()).unwrap();
        assert!(matches!(
            super::asked(&without_host, address),
            Asked::Other(StatusCode::MISDIRECTED_REQUEST, _)
        ));
    }

    async fn send(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        answer
    }

    #[tokio::test]
    async fn one_answer_is_taken_and_silent_connections_hold_nothing_up() {
        let listener = Listener::open().await.unwrap();
        let address = listener.address;
        let get = move |target: &str| format!("GET {target} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let expected = expected(false);
        let browser = async {
            let _silent = TcpStream::connect(address).await.unwrap();
            assert!(send(address, &get("/favicon.ico")).await.starts_with("HTTP/1.1 404 "));
            assert_eq!(send(address, &format!("GET /{}", "x".repeat(40_000))).await, "");
            send(address, &get("/callback?code=c1&state=st-1")).await
        };
        let (code, page) = tokio::join!(listener.answer(&expected), browser);
        assert_eq!(code.unwrap().expose_secret(), "c1");
        let (head, body) = page.split_once("\r\n\r\n").unwrap();
        let expected = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\
             cache-control: no-store\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n\
             x-frame-options: DENY\r\ncontent-security-policy: default-src 'none'; style-src 'unsafe-inline'; \
             frame-ancestors 'none'; base-uri 'none'",
            body.len()
        );
        assert_eq!(head, expected);
        assert!(body.contains("You can close this page") && body.ends_with("</html>\n"));
        assert!(!page.contains("c1") && !page.contains("st-1"), "{page}");
        for outside in ["src=", "href=", "http://", "https://", "<script"] {
            assert!(!page.contains(outside), "{outside} in {page}");
        }
        drop(listener);
        assert!(TcpStream::connect(address).await.is_err(), "nobody is there for a second one");
    }

    #[tokio::test]
    async fn a_thousand_silent_connections_hold_nobody_up() {
        let listener = Listener::open().await.unwrap();
        let address = listener.address;
        let expected = expected(false);
        let browser = async {
            let mut silent = Vec::new();
            for number in 0..1000 {
                let mut stream = TcpStream::connect(address).await.unwrap();
                // Half of them begin, and never end.
                if number % 2 == 0 {
                    stream.write_all(b"GET /callback?code=x HTTP/1.1\r\nHost:").await.unwrap();
                }
                silent.push(stream);
            }
            let started = std::time::Instant::now();
            let get = format!("GET /callback?code=c1&state=st-1 HTTP/1.1\r\nHost: {address}\r\n\r\n");
            let page = send(address, &get).await;
            (page, started.elapsed(), silent)
        };
        let (code, (page, took, _silent)) = tokio::join!(listener.answer(&expected), browser);
        assert_eq!(code.unwrap().expose_secret(), "c1");
        assert!(page.starts_with("HTTP/1.1 200 OK"), "{page}");
        assert!(took < PATIENCE, "it waited for nobody's time to be over: {took:?}");
    }

    #[tokio::test]
    async fn what_a_browser_asks_for_beside_the_answer_is_not_the_answer() {
        let listener = Listener::open().await.unwrap();
        let address = listener.address;
        let expected = expected(false);
        let browser = async {
            for (request, status) in [
                (format!("HEAD /callback?code=c1&state=st-1 HTTP/1.1\r\nHost: {address}\r\n\r\n"), "405"),
                (format!("GET /favicon.ico HTTP/1.1\r\nHost: {address}\r\n\r\n"), "404"),
                (format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n"), "404"),
                (
                    format!(
                        "GET http://{address}/callback?code=c1&state=st-1 HTTP/1.1\r\nHost: {address}\r\n\r\n"
                    ),
                    "404",
                ),
                (format!("GET /callback?code=c1&state=st-1\r\nHost: {address}\r\n\r\n"), "400"),
                ("\u{0}\r\n\r\n".to_owned(), "400"),
                ("GET /callback?code=c1&state=st-1 HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), "421"),
            ] {
                let page = send(address, &request).await;
                assert!(page.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {page}");
            }
            assert_eq!(
                send(address, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await,
                "",
                "HTTP/2 is not spoken here"
            );
            // The second of a connection is not read.
            let twice = format!("GET /favicon.ico HTTP/1.1\r\nHost: {address}\r\n\r\n");
            let twice =
                format!("{twice}GET /callback?code=c2&state=st-1 HTTP/1.1\r\nHost: {address}\r\n\r\n");
            assert_eq!(send(address, &twice).await.matches("HTTP/1.1 404").count(), 1);
            send(address, &format!("GET /callback?code=c1&state=st-1 HTTP/1.1\r\nHost: {address}\r\n\r\n"))
                .await
        };
        let (code, page) = tokio::join!(listener.answer(&expected), browser);
        assert_eq!(code.unwrap().expose_secret(), "c1");
        assert!(page.starts_with("HTTP/1.1 200 OK"));
    }

    #[tokio::test]
    async fn who_has_nothing_more_to_send_still_gets_the_answer() {
        let listener = Listener::open().await.unwrap();
        let address = listener.address;
        let expected = expected(false);
        let browser = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let get =
                format!("GET /callback?error=access_denied&state=st-1 HTTP/1.0\r\nHost: {address}\r\n\r\n");
            // In pieces, as a slow network brings it.
            for piece in get.as_bytes().chunks(16) {
                stream.write_all(piece).await.unwrap();
                tokio::task::yield_now().await;
            }
            stream.shutdown().await.unwrap();
            let mut page = String::new();
            stream.read_to_string(&mut page).await.unwrap();
            page
        };
        let (code, page) = tokio::join!(listener.answer(&expected), browser);
        assert!(matches!(code, Err(ApproveError::Denied)));
        assert!(page.contains("The request was denied"), "{page}");
    }

    proptest! {
        #[test]
        fn nothing_but_the_state_lets_a_code_through(query in "[a-z=&%0-9-]{0,40}|code=[a-z]{1,3}&state=st-[0-9]{1,2}") {
            if check(&query, &expected(false)).is_ok() {
                let state = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "state");
                prop_assert!(state.is_some_and(|(_, state)| state == "st-1"));
            }
        }

        #[test]
        fn no_request_but_that_of_the_one_path_is_the_answer(target in "/?/?(callback|x|%)?[/?a-z=&%.]{0,20}", host in "127.0.0.1:[12]") {
            let request = Request::builder().uri(&target).header(HOST, &host).body(());
            let address = "127.0.0.1:1".parse().unwrap();
            let is_callback = request.is_ok_and(|request| matches!(super::asked(&request, address), Asked::Callback(_)));
            let path = target.split('?').next().unwrap_or_default();
            prop_assert_eq!(is_callback, path == CALLBACK && host == "127.0.0.1:1");
        }

        #[test]
        fn texts_are_the_same_when_they_are(text in ".{0,8}", other in ".{0,8}") {
            prop_assert_eq!(same(&text, &other), text == other);
        }
    }
}
