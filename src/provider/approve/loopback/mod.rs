//! The one port of this computer where the owner's browser comes in, and where it returns (RFC 8252 §7.3).
//!
//! Other programs, other users of the machine, and pages of any site can reach the port too. So a browser comes
//! in with a secret or a code (`entrance`), which it gets from a private file or from its person. It is then
//! sent to its target, and recognised by a cookie. The answer must come from that browser, with the state that
//! only it was given. Everything else is turned away, costs little, and ends nothing.

mod callback;
mod entrance;
mod page;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{HOST, SET_COOKIE};
use axum::http::{Method, Request, Response, StatusCode};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use secrecy::SecretString;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use url::Url;

pub use self::callback::Expected;
use self::callback::check;
pub(super) use self::entrance::random;
use self::entrance::{Entrance, Entry};
use super::ApproveError;
use crate::provider::register::CALLBACK;

/// The most bytes of a request; a longer one is cut off there.
const MAX_REQUEST: u64 = 16 << 10;
/// The time within which a request's head must arrive, or an answer must be accepted. Browsers open connections
/// that they never use.
const PATIENCE: Duration = Duration::from_secs(5);
/// The delay for the page that sent a wrong code.
const PENALTY: Duration = Duration::from_secs(1);
/// The most connections that have not asked anything yet, or that wait for their penalty. The oldest is closed
/// for a new one, so that none of them blocks the browser.
const MAX_SILENT: usize = 64;

/// A port of this computer whose target is not known yet.
#[derive(Debug)]
pub struct Port {
    listener: TcpListener,
    address: SocketAddr,
}

impl Port {
    /// Opens a free port on 127.0.0.1.
    ///
    /// # Errors
    /// Any error of the system.
    pub async fn open() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// The address for the browser to return to: by number, so that no name must be resolved.
    pub fn redirect_uri(&self) -> String {
        format!("http://{}{CALLBACK}", self.address)
    }

    /// Sends the one browser that comes in to `target`.
    ///
    /// # Errors
    /// [`ApproveError::NoRandomness`].
    pub fn leading_to(self, target: Url) -> Result<Listener, ApproveError> {
        let Self { listener, address } = self;
        let entrance = Entrance::to(target, address.port())?;
        Ok(Listener { socket: listener, address, entrance, has_turned_back: AtomicBool::new(false) })
    }
}

/// A port of this computer that waits for a browser.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    entrance: Entrance,
    has_turned_back: AtomicBool,
}

impl Listener {
    /// The port.
    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    /// The address, which contains only a port.
    pub fn address(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The address that the browser is sent to.
    pub const fn target(&self) -> &Url {
        self.entrance.target()
    }

    /// The code that a person types there.
    pub fn code(&self) -> String {
        self.entrance.code()
    }

    /// The text of a file with which a browser comes in.
    pub fn file(&self) -> SecretString {
        self.entrance.file(&self.address())
    }

    /// Waits until a browser is in.
    pub async fn entered(&self) {
        self.entrance.entered().await;
    }

    /// Whether a false answer was turned away.
    pub fn has_turned_back(&self) -> bool {
        self.has_turned_back.load(Ordering::Relaxed)
    }

    /// Lets the browser in, and does nothing else; never ends.
    pub async fn lead_on(&self) -> Infallible {
        loop {
            // No answer is expected, so nothing counts as one.
            let _ = self.serve(None).await;
        }
    }

    /// Lets the browser in, and waits for the one answer that it brings; returns the code. Any other request
    /// for the path is turned away, and the wait continues.
    ///
    /// # Errors
    /// [`ApproveError`].
    pub async fn answer(&self, expected: &Expected) -> Result<SecretString, ApproveError> {
        self.serve(Some(expected)).await
    }

    async fn serve(&self, expected: Option<&Expected>) -> Answer {
        let mut open = FuturesUnordered::new();
        let mut silent: VecDeque<oneshot::Sender<()>> = VecDeque::new();
        loop {
            tokio::select! {
                accepted = self.socket.accept() => match accepted {
                    Ok((stream, _)) => {
                        silent.retain(|evict| !evict.is_closed());
                        if silent.len() >= MAX_SILENT {
                            silent.pop_front();
                        }
                        let (evict, evicted) = oneshot::channel();
                        silent.push_back(evict);
                        open.push(self.converse(stream, evicted, expected));
                    }
                    // The process is out of handles for a moment, so wait.
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

    /// Answers the one request of a connection, unless it is `evicted` before that; returns what the callback
    /// carried, if it was the callback.
    async fn converse(
        &self,
        stream: TcpStream,
        evicted: oneshot::Receiver<()>,
        expected: Option<&Expected>,
    ) -> Option<Answer> {
        let answer = Mutex::new(None);
        // A connection that is being answered is no longer silent: its receiver is dropped, so it cannot be
        // evicted.
        let silent = Mutex::new(Some(evicted));
        let service = service_fn(|request: Request<hyper::body::Incoming>| {
            let (answer, silent) = (&answer, &silent);
            async move {
                let (page, answered) = self.respond(request.map(Body::new), expected).await;
                drop(lock(silent).take());
                *lock(answer) = answered;
                Ok::<_, Infallible>(page)
            }
        });
        let (reading, writing) = stream.into_split();
        let io = TokioIo::new(tokio::io::join(reading.take(MAX_REQUEST), writing));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .keep_alive(false)
            // A client that has sent a request and closed its side still waits for the answer.
            .half_close(true)
            .auto_date_header(false)
            .serve_connection(io, service);
        let eviction = std::future::poll_fn(|context| match lock(&silent).as_mut() {
            Some(evicted) => std::pin::Pin::new(evicted).poll(context).map(drop),
            None => std::task::Poll::Pending,
        });
        tokio::select! {
            biased;
            // Allows time for the head, and for a page that is accepted slowly.
            _ = tokio::time::timeout(2 * PATIENCE, connection) => {}
            () = eviction => {}
        }
        answer.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page for `request`; and what the callback carried, if it was the callback of the browser that came
    /// in.
    async fn respond(
        &self,
        request: Request<Body>,
        expected: Option<&Expected>,
    ) -> (Response<Body>, Option<Answer>) {
        match asked(&request, self.address) {
            Asked::Other(status, text) => (page::text(status, "Nothing here", text), None),
            Asked::Form => (page::code_form(StatusCode::OK, ""), None),
            Asked::Entry => (self.enter(request).await, None),
            Asked::Callback(query) => match expected {
                Some(expected) => self.call_back(&query, &request, expected),
                None => (page::text(StatusCode::NOT_FOUND, "Nothing here", NO_PAGES), None),
            },
        }
    }

    async fn enter(&self, request: Request<Body>) -> Response<Body> {
        let most = usize::try_from(MAX_REQUEST).unwrap_or(usize::MAX);
        let form = axum::body::to_bytes(request.into_body(), most).await.unwrap_or_default();
        match self.entrance.enter(&form) {
            Entry::In => {
                let mut page = page::leads_to(self.entrance.target());
                if let Some(cookie) = self.entrance.set_cookie() {
                    page.headers_mut().insert(SET_COOKIE, cookie);
                }
                page
            }
            Entry::Used => {
                let text = "Another browser has already used this page, and it works for one browser only. If you want \
                            a different one, stop the command in the terminal (Ctrl-C) and start it again.";
                page::text(StatusCode::GONE, "Already used", text)
            }
            Entry::WrongCode => {
                tokio::time::sleep(PENALTY).await;
                page::code_form(StatusCode::FORBIDDEN, "That is not the code. ")
            }
            Entry::Nothing => page::code_form(StatusCode::FORBIDDEN, ""),
        }
    }

    /// The answer to the callback, and what the callback carried, if it can be the answer. It must have both
    /// the cookie and the state: neither another user of the computer nor another site's page has both.
    fn call_back(
        &self,
        query: &str,
        request: &Request<Body>,
        expected: &Expected,
    ) -> (Response<Body>, Option<Answer>) {
        let is_of_this_browser = self.entrance.is_of_this_browser(request.headers());
        let answer =
            if is_of_this_browser { check(query, expected) } else { Err(ApproveError::StateMismatch) };
        match answer {
            Ok(code) => {
                let text = "The request was approved. You can close this page and go back to the terminal, which shows \
                            the result.";
                (page::text(StatusCode::OK, "Back to the terminal", text), Some(Ok(code)))
            }
            Err(ApproveError::Denied) => {
                let text = "Nothing was granted. You can close this page.";
                let page = page::text(StatusCode::OK, "The request was denied", text);
                (page, Some(Err(ApproveError::Denied)))
            }
            Err(ApproveError::StateMismatch) => {
                self.has_turned_back.store(true, Ordering::Relaxed);
                let text = "This is not the answer that pdpp is waiting for, or it comes from a different browser than the one \
                            that began the request. Nothing was granted, and pdpp is still waiting in the terminal.";
                (page::text(StatusCode::BAD_REQUEST, "Not the answer", text), None)
            }
            Err(error) => {
                let text =
                    "Nothing was granted. You can close this page; the terminal shows what went wrong.";
                (page::text(StatusCode::BAD_REQUEST, "That did not work", text), Some(Err(error)))
            }
        }
    }
}

/// The content of the answer.
type Answer = Result<SecretString, ApproveError>;

/// One request, as far as it matters.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// The page where a code is typed.
    Form,
    /// A secret or a code, in the body.
    Entry,
    /// The callback, with its query.
    Callback(String),
    /// Anything else, with the answer to it.
    Other(StatusCode, &'static str),
}

const NO_PAGES: &str = "pdpp is waiting here for one browser, and has no other pages.";

/// Classifies `request` for the listener at `address`.
fn asked<B>(request: &Request<B>, address: SocketAddr) -> Asked {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    // A page of another site whose name was made to lead here (DNS rebinding).
    if host != Some(address.to_string().as_str()) {
        let text = "The browser asked for a different address than this one.";
        return Asked::Other(StatusCode::MISDIRECTED_REQUEST, text);
    }
    let target = request.uri();
    // A whole URL is for a proxy, and this is not one.
    if target.authority().is_some() {
        return Asked::Other(StatusCode::NOT_FOUND, NO_PAGES);
    }
    match (target.path(), request.method()) {
        ("/", &Method::GET) => Asked::Form,
        ("/", &Method::POST) => Asked::Entry,
        (CALLBACK, &Method::GET) => Asked::Callback(target.query().unwrap_or_default().to_owned()),
        ("/" | CALLBACK, _) => {
            Asked::Other(StatusCode::METHOD_NOT_ALLOWED, "pdpp is waiting here for a browser.")
        }
        _ => Asked::Other(StatusCode::NOT_FOUND, NO_PAGES),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use secrecy::ExposeSecret as _;
    use tokio::io::AsyncWriteExt as _;

    const TARGET: &str = "https://as.example/authorize?a=1&state=st-1";

    fn expected(issuer_required: bool) -> Expected {
        Expected {
            state: SecretString::from("st-1"),
            issuer: "https://as.example/t".parse().unwrap(),
            issuer_required,
        }
    }

    async fn listener() -> Listener {
        Port::open().await.unwrap().leading_to(TARGET.parse().unwrap()).unwrap()
    }

    /// A request for the callback from the browser that came in.
    fn come_back(listener: &Listener, query: &str) -> String {
        let cookie = listener.entrance.set_cookie().unwrap();
        let cookie = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
        format!("GET /callback?{query} HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\n\r\n", listener.address)
    }

    fn post(listener: &Listener, form: &str) -> String {
        let (address, length) = (listener.address, form.len());
        format!("POST / HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n{form}")
    }

    #[test]
    fn only_the_one_path_of_this_place_is_answered() {
        let address: SocketAddr = "127.0.0.1:4711".parse().unwrap();
        let asked = |method: &str, target: &str, host: &str| {
            let request = Request::builder().method(method).uri(target).header(HOST, host).body(()).unwrap();
            match asked(&request, address) {
                Asked::Callback(query) => query,
                Asked::Form => "form".to_owned(),
                Asked::Entry => "entry".to_owned(),
                Asked::Other(status, _) => status.as_u16().to_string(),
            }
        };
        assert_eq!(asked("GET", "/callback?code=x", "127.0.0.1:4711"), "code=x");
        assert_eq!(asked("GET", "/callback", "127.0.0.1:4711"), "");
        assert_eq!(asked("GET", "/", "127.0.0.1:4711"), "form");
        assert_eq!(asked("POST", "/", "127.0.0.1:4711"), "entry");
        assert_eq!(asked("POST", "/", "evil.example:4711"), "421");
        for other in [
            "/index.html",
            "/favicon.ico",
            "/callback/",
            "/callback/x?code=1",
            "//callback",
            "//",
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
        let listener = listener().await;
        let address = listener.address;
        let get = move |target: &str| format!("GET {target} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let expected = expected(false);
        let browser = async {
            let _silent = TcpStream::connect(address).await.unwrap();
            assert!(send(address, &get("/favicon.ico")).await.starts_with("HTTP/1.1 404 "));
            assert_eq!(send(address, &format!("GET /{}", "x".repeat(40_000))).await, "");
            send(address, &come_back(&listener, "code=c1&state=st-1")).await
        };
        let (code, page) = tokio::join!(listener.answer(&expected), browser);
        assert_eq!(code.unwrap().expose_secret(), "c1");
        let (head, body) = page.split_once("\r\n\r\n").unwrap();
        let expected = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\
             cache-control: no-store\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n\
             x-frame-options: DENY\r\ncontent-security-policy: default-src 'none'; style-src 'unsafe-inline'; \
             form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
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

    /// A client that has seen the address of the provider's page, including the state, and everyone else who
    /// reaches the port.
    #[tokio::test]
    async fn what_is_not_of_the_browser_that_came_in_ends_nothing() {
        let listener = listener().await;
        let address = listener.address;
        let expected = expected(false);
        let browser = async {
            let get = |query: &str, cookie: &str| {
                format!("GET /callback?{query} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n\r\n")
            };
            let name = format!("pdpp-connect-{}", address.port());
            for stray in [
                get("error=access_denied&state=x", "a=b"),
                get("error=access_denied&state=st-1", "a=b"),
                get("code=theirs&state=st-1", "a=b"),
                get("code=theirs&state=st-1", &format!("{name}=; {name}=x")),
                get("", "a=b"),
                // Another site's page can send the right browser here.
                come_back(&listener, "error=access_denied&state=x"),
                come_back(&listener, "code=theirs"),
            ] {
                let page = send(address, &stray).await;
                assert!(page.starts_with("HTTP/1.1 400 "), "{stray}: {page}");
                assert!(!page.contains("theirs") && !page.contains("as.example"), "{page}");
            }
            send(address, &come_back(&listener, "code=mine&state=st-1")).await
        };
        let (code, page) = tokio::join!(listener.answer(&expected), browser);
        assert_eq!(code.unwrap().expose_secret(), "mine");
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
        assert!(listener.has_turned_back());
    }

    #[tokio::test]
    async fn one_browser_is_let_in_and_led_on_and_known_by_its_cookie() {
        let listener = listener().await;
        let address = listener.address;
        let browser = async {
            let form = send(address, &format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n")).await;
            assert!(form.starts_with("HTTP/1.1 200 ") && form.contains("name=\"code\""), "{form}");
            for nothing in ["", "secret=x", "secret=&code="] {
                let page = send(address, &post(&listener, nothing)).await;
                assert!(page.starts_with("HTTP/1.1 403 "), "{page}");
                assert!(!page.contains("as.example") && !page.contains("et-cookie"), "{page}");
            }
            let file = listener.file();
            let secret = file.expose_secret().split("value=\"").nth(1).unwrap().split('"').next().unwrap();
            let page = send(address, &post(&listener, &format!("secret={secret}"))).await;
            assert!(page.starts_with("HTTP/1.1 200 "), "a page, and no redirect: {page}");
            assert!(page.contains("url=https://as.example/authorize?a=1&amp;state=st-1\""), "{page}");
            assert!(page.contains("set-cookie: pdpp-connect-") && page.contains("SameSite=Lax"), "{page}");
            listener.entered().await;
            for again in [format!("secret={secret}"), format!("code={}", listener.code())] {
                let page = send(address, &post(&listener, &again)).await;
                assert!(page.starts_with("HTTP/1.1 410 ") && !page.contains("as.example"), "{page}");
            }
            // No answer is expected from this one.
            assert!(
                send(address, &come_back(&listener, "code=c1&state=st-1")).await.starts_with("HTTP/1.1 404 ")
            );
        };
        tokio::select! {
            never = listener.lead_on() => match never {},
            () = browser => {}
        }
    }

    #[tokio::test]
    async fn a_wrong_code_costs_a_second_and_locks_nobody_out() {
        let listener = listener().await;
        let address = listener.address;
        let guesser = async {
            let started = std::time::Instant::now();
            let page = send(address, &post(&listener, "code=AAAA-AAAA")).await;
            assert!(page.starts_with("HTTP/1.1 403 ") && page.contains("That is not the code"), "{page}");
            assert!(started.elapsed() >= PENALTY);
            // The right code works after any number of wrong ones.
            let page = send(address, &post(&listener, &format!("code={}", listener.code()))).await;
            assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
        };
        tokio::select! {
            never = listener.lead_on() => match never {},
            () = guesser => {}
        }
    }

    #[tokio::test]
    async fn a_thousand_silent_connections_hold_nobody_up() {
        let listener = listener().await;
        let address = listener.address;
        let expected = expected(false);
        let browser = async {
            let mut silent = Vec::new();
            for number in 0..1000 {
                let mut stream = TcpStream::connect(address).await.unwrap();
                // Half of them begin and never end.
                if number % 2 == 0 {
                    stream.write_all(b"GET /callback?code=x HTTP/1.1\r\nHost:").await.unwrap();
                }
                silent.push(stream);
            }
            let started = std::time::Instant::now();
            let page = send(address, &come_back(&listener, "code=c1&state=st-1")).await;
            (page, started.elapsed(), silent)
        };
        let (code, (page, took, _silent)) = tokio::join!(listener.answer(&expected), browser);
        assert_eq!(code.unwrap().expose_secret(), "c1");
        assert!(page.starts_with("HTTP/1.1 200 OK"), "{page}");
        assert!(took < PATIENCE, "it waited for no other connection: {took:?}");
    }

    #[tokio::test]
    async fn what_a_browser_asks_for_beside_the_answer_is_not_the_answer() {
        let listener = listener().await;
        let address = listener.address;
        let expected = expected(false);
        let browser = async {
            for (request, status) in [
                (format!("HEAD /callback?code=c1&state=st-1 HTTP/1.1\r\nHost: {address}\r\n\r\n"), "405"),
                (format!("GET /favicon.ico HTTP/1.1\r\nHost: {address}\r\n\r\n"), "404"),
                (format!("GET /other HTTP/1.1\r\nHost: {address}\r\n\r\n"), "404"),
                (format!("PUT / HTTP/1.1\r\nHost: {address}\r\n\r\n"), "405"),
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
                "HTTP/2 is not supported here"
            );
            // The second request of a connection is not read.
            let twice = format!("GET /favicon.ico HTTP/1.1\r\nHost: {address}\r\n\r\n");
            let twice =
                format!("{twice}GET /callback?code=c2&state=st-1 HTTP/1.1\r\nHost: {address}\r\n\r\n");
            assert_eq!(send(address, &twice).await.matches("HTTP/1.1 404").count(), 1);
            send(address, &come_back(&listener, "code=c1&state=st-1")).await
        };
        let (code, page) = tokio::join!(listener.answer(&expected), browser);
        assert_eq!(code.unwrap().expose_secret(), "c1");
        assert!(page.starts_with("HTTP/1.1 200 OK"));
    }

    #[tokio::test]
    async fn who_has_nothing_more_to_send_still_gets_the_answer() {
        let listener = listener().await;
        let address = listener.address;
        let expected = expected(false);
        let browser = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let get = come_back(&listener, "error=access_denied&state=st-1").replace("HTTP/1.1", "HTTP/1.0");
            // In pieces, the way a slow network delivers it.
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
        fn no_request_but_that_of_the_one_path_is_the_answer(target in "/?/?(callback|x|%)?[/?a-z=&%.]{0,20}", host in "127.0.0.1:[12]") {
            let request = Request::builder().uri(&target).header(HOST, &host).body(());
            let address = "127.0.0.1:1".parse().unwrap();
            let is_callback = request.is_ok_and(|request| matches!(super::asked(&request, address), Asked::Callback(_)));
            let path = target.split('?').next().unwrap_or_default();
            prop_assert_eq!(is_callback, path == CALLBACK && host == "127.0.0.1:1");
        }
    }
}
