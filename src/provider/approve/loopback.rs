//! Where the owner's browser comes back to: one path on one port of this machine, once (RFC 8252 §7.3).
//!
//! Other programs, and pages of any site, can reach the port too. So the answer has to carry the state
//! that only the browser that was sent has, and everything else is turned away and costs little.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::ApproveError;
use crate::provider::oauth_error::OAuthError;
use crate::provider::register::CALLBACK;
use crate::provider::url::ProviderUrl;
use crate::text;

/// Bytes of a request's head at most.
const MAX_HEAD: usize = 16 << 10;
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
    Other(u16, &'static str),
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
                        silent.retain(|one| !one.is_closed());
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

/// Answers one connection, unless it is `evicted` before it has asked; gives what the callback said, if it was
/// that.
async fn converse(
    mut stream: TcpStream,
    evicted: oneshot::Receiver<()>,
    address: SocketAddr,
    expected: &Expected,
) -> Option<Result<SecretString, ApproveError>> {
    let head = tokio::select! {
        biased;
        head = tokio::time::timeout(PATIENCE, read_head(&mut stream)) => head.ok()??,
        _ = evicted => return None,
    };
    let (status, title, said, answer) = match parse(&head, address) {
        Asked::Other(status, said) => (status, "Nothing here", said, None),
        Asked::Callback(query) => match check(&query, expected) {
            Ok(code) => {
                let said = "The request was approved. You can close this page and go back to the terminal, which says \
                            how it went on.";
                (200, "Back to the terminal", said, Some(Ok(code)))
            }
            Err(ApproveError::Denied) => {
                let said = "Nothing was granted. You can close this page.";
                (200, "The request was denied", said, Some(Err(ApproveError::Denied)))
            }
            Err(error) => {
                let said = "Nothing was granted. You can close this page; the terminal says what went wrong.";
                (400, "That did not work", said, Some(Err(error)))
            }
        },
    };
    let page = page(status, title, said);
    let _ = tokio::time::timeout(PATIENCE, async {
        stream.write_all(page.as_bytes()).await?;
        stream.shutdown().await
    })
    .await;
    answer
}

/// The head of a request, up to the empty line; `None` if it never comes.
async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::with_capacity(1024);
    let mut part = [0; 2048];
    loop {
        let read = stream.read(&mut part).await.ok().filter(|read| *read > 0)?;
        head.extend_from_slice(part.get(..read)?);
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            return String::from_utf8(head).ok();
        }
        if head.len() > MAX_HEAD {
            return None;
        }
    }
}

fn parse(head: &str, address: SocketAddr) -> Asked {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    if !version.is_some_and(|version| version.starts_with("HTTP/1.")) || words.next().is_some() {
        return Asked::Other(400, "That is no request.");
    }
    let host = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map(|(_, value)| value.trim());
    // A page of another site whose name was made to lead here (DNS rebinding).
    if host != Some(address.to_string().as_str()) {
        return Asked::Other(421, "This is another place than the one that was asked for.");
    }
    let target = target.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match (path == CALLBACK, method) {
        (false, _) => Asked::Other(404, "pdpp waits here for the answer to one request, and has no pages."),
        (true, Some("GET")) => Asked::Callback(query.to_owned()),
        (true, _) => Asked::Other(405, "pdpp waits here for a browser."),
    }
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
            let message = once("error_description")?.map(|said| text::prefix(said, 300).to_owned());
            let error = OAuthError { status: 400, code: Some(text::prefix(code, 100).to_owned()), message };
            Err(ApproveError::refused(error, Vec::new()))
        }
        (None, Some(code)) if code.len() <= 4096 => Ok(SecretString::from(code)),
        (None, _) => Err(ApproveError::Malformed("it has no usable `code`".to_owned())),
    }
}

/// Whether two texts are the same, in a time that depends on their lengths alone.
fn same(one: &str, other: &str) -> bool {
    let differs = one.bytes().zip(other.bytes()).fold(0, |differs, (one, other)| differs | (one ^ other));
    one.len() == other.len() && differs == 0
}

/// A page that needs nothing else. `title` and `said` are this program's own words.
fn page(status: u16, title: &str, said: &str) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Misdirected Request",
    };
    let body = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} – pdpp</title>\n<style>\n\
         body {{ margin: 15vh auto 0; max-width: 32rem; padding: 0 1.5rem; font: 1.125rem/1.5 system-ui, sans-serif; }}\n\
         h1 {{ font-size: 1.5rem; line-height: 1.25; }}\n</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n<p>{said}</p>\n</main>\n</body>\n</html>\n"
    );
    let length = body.len();
    format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {length}\r\n\
         connection: close\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n\
         x-frame-options: DENY\r\ncontent-security-policy: default-src 'none'; style-src 'unsafe-inline'; \
         frame-ancestors 'none'; base-uri 'none'\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        let asked = |line: &str, host: &str| match parse(&format!("{line}\r\nHost: {host}\r\n\r\n"), address)
        {
            Asked::Callback(query) => query,
            Asked::Other(status, _) => status.to_string(),
        };
        assert_eq!(asked("GET /callback?code=x HTTP/1.1", "127.0.0.1:4711"), "code=x");
        assert_eq!(asked("GET /callback HTTP/1.1", "127.0.0.1:4711"), "");
        for other in ["/", "/favicon.ico", "/callback/", "/callback/x?code=1", "//callback", "/CALLBACK"] {
            assert_eq!(asked(&format!("GET {other} HTTP/1.1"), "127.0.0.1:4711"), "404", "{other}");
        }
        assert_eq!(asked("POST /callback?code=x HTTP/1.1", "127.0.0.1:4711"), "405");
        assert_eq!(asked("GET /callback?code=x HTTP/1.1", "evil.example:4711"), "421");
        assert_eq!(asked("GET /callback?code=x HTTP/1.1", "localhost:4711"), "421");
        assert_eq!(asked("GET /callback?code=x", "127.0.0.1:4711"), "400");
        assert_eq!(asked("\u{0}", "127.0.0.1:4711"), "400");
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
        assert!(page.starts_with("HTTP/1.1 200 OK") && page.contains("You can close this page"));
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
                ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), "400"),
                ("GET /callback?code=c1&state=st-1 HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), "421"),
            ] {
                let page = send(address, &request).await;
                assert!(page.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {page}");
            }
            send(address, &format!("GET /callback?code=c1&state=st-1 HTTP/1.1\r\nHost: {address}\r\n\r\n"))
                .await
        };
        let (code, page) = tokio::join!(listener.answer(&expected), browser);
        assert_eq!(code.unwrap().expose_secret(), "c1");
        assert!(page.starts_with("HTTP/1.1 200 OK"));
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
        fn no_head_panics(head in any::<String>()) {
            let _ = parse(&head, "127.0.0.1:1".parse().unwrap());
        }

        #[test]
        fn texts_are_the_same_when_they_are(one in ".{0,8}", other in ".{0,8}") {
            prop_assert_eq!(same(&one, &other), one == other);
        }
    }
}
