//! A listener for HTTP that anyone may connect to: it limits how many connections there are and how slow a
//! client may be, and decides how connections end. It serves the endpoint and the vault.

pub mod places;

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::to_bytes;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use hyper::Request;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::places::{Place, Places};

/// The time from a connection, or an answer, until the head of the next request is complete; also the longest
/// time that a connection may be idle.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// The time for a TLS handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// The time for the body of a request that is read here.
const BODY_TIME: Duration = Duration::from_secs(10);
/// The time in which the client must accept a byte of an answer.
const STALL_TIME: Duration = Duration::from_secs(30);
/// The time for a client to stop sending a body that was refused, and to close.
const LINGER_TIME: Duration = Duration::from_secs(2);
/// The bytes of a refused body that are read meanwhile: a proxy's own limit is below this.
const MOST_HEARD: usize = 16 << 20;
/// The largest head of a request, in bytes: a bearer has 16 KiB.
const MOST_HEAD: usize = 64 << 10;
/// The time after the stop for a handshake or a request's head that is not whole: what a client has just begun
/// to send.
const BEGUN_TIME: Duration = Duration::from_secs(1);
/// The pause after an `accept` that failed: file descriptors do not come back at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Returns what a connection is accepted with, which may be different for the next connection.
pub type Acceptors = Arc<dyn Fn() -> tokio_rustls::TlsAcceptor + Send + Sync>;

/// A listener and its routes.
pub struct Listener {
    /// The source of connections.
    pub listener: TcpListener,
    /// The routes that answer.
    pub routes: axum::Router,
    /// TLS, if it is handled here: what the next connection is accepted with.
    pub tls: Option<Acceptors>,
    /// The most that is read of a request's body, if bodies are read before a request counts as in progress.
    /// Without it that is up to `routes`, and a body may wait for its sender: for servers that serve nobody
    /// without a bearer.
    pub most_body: Option<usize>,
    /// Selects, by path, the requests that are in progress before their body is read: `routes` must bound
    /// those.
    pub streamed: Option<fn(&str) -> bool>,
    /// The limits on connections.
    pub places: Arc<Places>,
    /// Cuts off what is left, even before its time.
    pub cut: CancellationToken,
}

impl Listener {
    /// Serves until `stop`. Then it accepts no new connections, finishes the requests in progress, for at most
    /// `drain`, and cuts off the rest. Returns how many connections it cut off.
    pub async fn serve(self, stop: CancellationToken, drain: Duration) -> usize {
        let Self { listener, routes, tls, most_body, streamed, places, cut } = self;
        let connections = TaskTracker::new();
        loop {
            let next = async {
                let (stream, from) = listener.accept().await?;
                io::Result::Ok((stream, places.enter(from.ip()).await))
            };
            let accepted = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                accepted = next => accepted,
            };
            let (stream, place) = match accepted {
                Ok((stream, Some(place))) => (stream, Arc::new(place)),
                // The client's address has as many requests in progress as it may.
                Ok((_, None)) => continue,
                Err(_) => {
                    let _ = places.make_room();
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let answers = Answers { routes: routes.clone(), most_body, streamed };
            let acceptor = tls.as_ref().map(|next| next());
            let (stop, cut) = (stop.clone(), cut.clone());
            connections.spawn(async move {
                let gone = place.gone.clone();
                // Answers are small and come one at a time: waiting to fill a packet would only cost time.
                let _ = stream.set_nodelay(true);
                tokio::select! {
                    () = cut.cancelled() => {}
                    () = gone.cancelled() => {}
                    () = connection(stream, acceptor, answers, place, &stop) => {}
                }
            });
        }
        drop(listener);
        connections.close();
        tokio::select! {
            _ = tokio::time::timeout(drain, connections.wait()) => {}
            () = cut.cancelled() => {}
        }
        let left = connections.len();
        cut.cancel();
        connections.wait().await;
        left
    }
}

async fn connection(
    stream: TcpStream,
    acceptor: Option<tokio_rustls::TlsAcceptor>,
    answers: Answers,
    place: Arc<Place>,
    stop: &CancellationToken,
) {
    let Some(acceptor) = acceptor else { return requests(stream, answers, place, stop).await };
    let over = async {
        let stopped = async {
            stop.cancelled().await;
            tokio::time::sleep(BEGUN_TIME).await;
        };
        let _ = tokio::time::timeout(HANDSHAKE_TIME, stopped).await;
    };
    tokio::select! {
        stream = acceptor.accept(stream) => if let Ok(stream) = stream {
            requests(stream, answers, place, stop).await;
        },
        () = over => {}
    }
}

async fn requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    answers: Answers,
    place: Arc<Place>,
    stop: &CancellationToken,
) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(MOST_HEAD);
    let unread = Arc::new(AtomicBool::new(false));
    let stream = Impatient::new(stream, Arc::clone(&unread), Arc::clone(&place));
    let signs = Arc::clone(&place.signs);
    let io = TokioIo::new(stream);
    let at_work = TaskTracker::new();
    let work = at_work.clone();
    let routes = service_fn(move |request: Request<Incoming>| {
        let request = request.map(|body| Watched { body, unread: Arc::clone(&unread) });
        let (unread, work, place) = (Arc::clone(&unread), work.token(), Arc::clone(&place));
        let answers = answers.clone();
        async move {
            let mut answer = answers.answer(request, &place).await;
            // The connection cannot be used again, and the client must know, or its next request would be lost.
            if let (Ok(answer), true) = (&mut answer, unread.load(Ordering::Relaxed)) {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            // From here on the connection is `unsent`: every answer is whole.
            place.signs.unsent.store(true, Ordering::Relaxed);
            place.is_answered();
            drop(work);
            answer
        }
    });
    let mut serving = std::pin::pin!(builder.serve_connection(io, routes));
    tokio::select! {
        _ = serving.as_mut() => return,
        () = stop.cancelled() => {}
    }
    serving.as_mut().graceful_shutdown();
    at_work.close();
    let nothing_to_do = async {
        loop {
            at_work.wait().await;
            tokio::time::sleep(BEGUN_TIME).await;
            if at_work.is_empty() && !signs.unsent.load(Ordering::Relaxed) {
                return;
            }
        }
    };
    tokio::select! {
        _ = serving => {}
        () = nothing_to_do => {}
    }
}

/// Answers the requests of a connection.
#[derive(Clone)]
struct Answers {
    routes: axum::Router,
    most_body: Option<usize>,
    streamed: Option<fn(&str) -> bool>,
}

impl Answers {
    /// Answers a request. The request is in progress once nothing more is expected from its client.
    async fn answer(self, request: Request<Watched>, place: &Place) -> Result<Response, Infallible> {
        let routes = TowerToHyperService::new(self.routes);
        let is_streamed = self.streamed.is_some_and(|is_one| is_one(request.uri().path()));
        let Some(most) = self.most_body.filter(|_| !is_streamed) else {
            place.works();
            return routes.call(request).await;
        };
        let (head, body) = request.into_parts();
        let is_too_large = usize::try_from(body.size_hint().lower()).map_or(true, |least| least > most);
        if is_too_large {
            place.works();
            return Ok(StatusCode::PAYLOAD_TOO_LARGE.into_response());
        }
        let read = tokio::time::timeout(BODY_TIME, to_bytes(axum::body::Body::new(body), most)).await;
        place.works();
        match read {
            Ok(Ok(body)) => routes.call(Request::from_parts(head, axum::body::Body::from(body))).await,
            Ok(Err(_)) => Ok(StatusCode::PAYLOAD_TOO_LARGE.into_response()),
            Err(_) => Ok(StatusCode::REQUEST_TIMEOUT.into_response()),
        }
    }
}

/// A request's body. It sets `unread` if it is dropped before its end, like the body of a request that was
/// refused.
struct Watched {
    body: Incoming,
    unread: Arc<AtomicBool>,
}

impl Body for Watched {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.body.is_end_stream() {
            self.unread.store(true, Ordering::Relaxed);
        }
    }
}

/// A stream whose other end must accept something within [`STALL_TIME`] while there is something to write.
///
/// If a body was left `unread`, the rest of it is read before the stream is closed (RFC 9112 §9.6). Otherwise
/// the system resets the connection, and a proxy that is still sending turns the refusal into a 502. This takes
/// at most [`LINGER_TIME`] and [`MOST_HEARD`], because any client can get here without a bearer.
struct Impatient<S> {
    stream: S,
    stalled: Option<Pin<Box<Sleep>>>,
    unread: Arc<AtomicBool>,
    place: Arc<Place>,
    lingering: Option<Pin<Box<Sleep>>>,
    heard: usize,
}

impl<S> Impatient<S> {
    fn new(stream: S, unread: Arc<AtomicBool>, place: Arc<Place>) -> Self {
        Self { stream, stalled: None, unread, place, lingering: None, heard: 0 }
    }

    fn watch<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            if self.stalled.take().is_some() {
                self.place.stalls(false);
            }
            return polled;
        }
        let place = &self.place;
        let stalled = self.stalled.get_or_insert_with(|| {
            place.stalls(true);
            Box::pin(tokio::time::sleep_until(Instant::now() + STALL_TIME))
        });
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.place.signs.unsent.store(true, Ordering::Relaxed);
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.watch(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.place.signs.unsent.store(true, Ordering::Relaxed);
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.watch(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        if polled.is_ready() {
            self.place.signs.unsent.store(false, Ordering::Relaxed);
        }
        self.watch(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.place.signs.unsent.store(true, Ordering::Relaxed);
        if self.lingering.is_none() {
            let polled = Pin::new(&mut self.stream).poll_shutdown(cx);
            ready!(self.watch(cx, polled))?;
            if !self.unread.load(Ordering::Relaxed) {
                return Poll::Ready(Ok(()));
            }
        }
        let over = self.lingering.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER_TIME)));
        if over.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let mut room = [0; 8192];
        while self.heard < MOST_HEARD {
            let mut part = ReadBuf::new(&mut room);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut part))?;
            if part.filled().is_empty() {
                break;
            }
            self.heard += part.filled().len();
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::places::Room;
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    async fn place() -> Arc<Place> {
        let room = Room { most: 1, most_per_address: 1, trusted: Vec::new() };
        let places = Arc::new(Places::new(room, None));
        Arc::new(places.enter([127, 0, 0, 1].into()).await.unwrap())
    }

    fn routes() -> Answers {
        with(axum::Router::new().fallback(|| async { "answered" }))
    }

    fn with(routes: axum::Router) -> Answers {
        Answers { routes, most_body: None, streamed: None }
    }

    /// The answer to a client that sends `sent` and then nothing, and the seconds after which it is cut off.
    async fn hung_up_after(sent: &[u8]) -> (String, u64) {
        let (mut client, server) = tokio::io::duplex(1 << 16);
        let serving = tokio::spawn(async move {
            requests(server, routes(), place().await, &CancellationToken::new()).await;
        });
        client.write_all(sent).await.unwrap();
        let (began, mut answer) = (Instant::now(), String::new());
        client.read_to_string(&mut answer).await.unwrap();
        serving.await.unwrap();
        (answer, began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_says_nothing_or_half_of_it_is_hung_up_on() {
        for half in [&b""[..], b"G", b"POST /mcp HTTP/1.1\r\nhost: x\r\n"] {
            let (answer, after) = hung_up_after(half).await;
            assert!((HEAD_TIME.as_secs()..=HEAD_TIME.as_secs() + 1).contains(&after), "{after} s: {answer}");
        }
        let (answer, after) = hung_up_after(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
        assert!(answer.ends_with("answered") && after <= HEAD_TIME.as_secs() + 1, "{after} s: {answer}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_waits_for_answers_and_not_for_what_is_no_request_yet() {
        for (sent, answered) in [("POST /mcp HT", false), ("GET / HTTP/1.1\r\nhost: x\r\n\r\n", true)] {
            let (mut client, server) = tokio::io::duplex(1 << 16);
            let slow = axum::Router::new().fallback(|| async {
                tokio::time::sleep(Duration::from_secs(7)).await;
                "answered"
            });
            let stop = CancellationToken::new();
            let stopping = stop.clone();
            let serving =
                tokio::spawn(async move { requests(server, with(slow), place().await, &stopping).await });
            client.write_all(sent.as_bytes()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
            let (began, mut answer) = (Instant::now(), String::new());
            stop.cancel();
            client.read_to_string(&mut answer).await.unwrap();
            serving.await.unwrap();
            assert_eq!(answer.ends_with("answered"), answered, "{answer}");
            assert_eq!(began.elapsed().as_secs(), if answered { 6 } else { 1 });
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_waits_for_whoever_takes_an_answer_slowly() {
        let (mut client, server) = tokio::io::duplex(1 << 10);
        let large = axum::Router::new().fallback(|| async { "x".repeat(1 << 20) });
        let stop = CancellationToken::new();
        let stopping = stop.clone();
        let serving =
            tokio::spawn(async move { requests(server, with(large), place().await, &stopping).await });
        client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut part = vec![0; 1 << 10];
        client.read_exact(&mut part).await.unwrap();
        stop.cancel();
        let mut taken = part.len();
        loop {
            tokio::time::sleep(Duration::from_millis(if taken < 9_000 { 4_000 } else { 5 })).await;
            match client.read(&mut part).await.unwrap() {
                0 => break,
                count => taken += count,
            }
        }
        assert!(taken > 1 << 20, "{taken}");
        serving.await.unwrap();
    }

    /// A request that is answered without reading its body, the way a refusal is.
    const POST: &[u8] = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n";

    #[tokio::test]
    async fn whoever_is_still_sending_gets_the_refusal_and_no_reset() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let serving = tokio::spawn(async move {
            requests(server, routes(), place().await, &CancellationToken::new()).await;
        });
        client.write_all(POST).await.unwrap();
        client.write_all(&vec![7; 300_000]).await.unwrap();
        let mut answer = vec![0; 8];
        client.read_exact(&mut answer).await.unwrap();
        client.write_all(&vec![7; 700_000]).await.unwrap();
        client.read_to_end(&mut answer).await.unwrap();
        assert!(String::from_utf8(answer).unwrap().ends_with("answered"));
        drop(client);
        serving.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_goes_on_sending_what_was_refused_is_not_heard_for_long() {
        let (answer, after) = hung_up_after(POST).await;
        assert!(answer.ends_with("answered") && after == LINGER_TIME.as_secs(), "{after} s: {answer}");
        let (mut client, server) = tokio::io::duplex(1 << 16);
        let began = Instant::now();
        let serving = tokio::spawn(async move {
            requests(server, routes(), place().await, &CancellationToken::new()).await;
        });
        client.write_all(POST).await.unwrap();
        while client.write_all(&[7; 8]).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        serving.await.unwrap();
        let after = began.elapsed();
        assert!((LINGER_TIME..LINGER_TIME * 2).contains(&after), "{after:?}");
    }

    /// Sends as much as it can, which takes no time on this clock.
    #[tokio::test(start_paused = true)]
    async fn whoever_sends_very_much_of_what_was_refused_is_hung_up_on_before_the_time() {
        let (mut client, server) = tokio::io::duplex(1 << 16);
        let serving = tokio::spawn(async move {
            requests(server, routes(), place().await, &CancellationToken::new()).await;
        });
        client.write_all(POST).await.unwrap();
        let (began, mut sent) = (Instant::now(), 0);
        while client.write_all(&[7; 8192]).await.is_ok() {
            sent += 8192;
            assert!(sent < 2 * MOST_HEARD);
        }
        serving.await.unwrap();
        assert!(sent >= MOST_HEARD && began.elapsed() < LINGER_TIME, "{sent} bytes");
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_without_a_look_at_the_body_ends_the_connection_and_says_so() {
        for (sent, is_end) in [
            (&b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n7"[..], true),
            (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n", true),
            (b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", false),
        ] {
            let (answer, _) = hung_up_after(sent).await;
            assert_eq!(answer.to_ascii_lowercase().contains("\r\nconnection: close\r\n"), is_end, "{answer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_read_here_has_its_time_and_its_size() {
        let post =
            |length: usize| format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\nabc");
        for (length, status) in [(3, "200"), (4, "408"), (9, "413")] {
            let (mut client, server) = tokio::io::duplex(1 << 16);
            let answers = Answers { most_body: Some(8), ..routes() };
            let serving = tokio::spawn(async move {
                requests(server, answers, place().await, &CancellationToken::new()).await;
            });
            client.write_all(post(length).as_bytes()).await.unwrap();
            let (began, mut answer) = (Instant::now(), [0; 12]);
            client.read_exact(&mut answer).await.unwrap();
            let wanted = format!("HTTP/1.1 {status}");
            assert_eq!(String::from_utf8_lossy(&answer), wanted, "{length}");
            assert_eq!(began.elapsed() >= BODY_TIME, status == "408", "{length}");
            drop(client);
            serving.await.unwrap();
        }
    }

    /// More clients than there are places, of both kinds, and the owner asks twice meanwhile.
    #[tokio::test]
    async fn o7_13_half_requests_keep_nobody_out() {
        const MOST: usize = 8;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let room = Room { most: MOST, most_per_address: MOST, trusted: Vec::new() };
        let Answers { routes, .. } = routes();
        let places = Arc::new(Places::new(room, None));
        let cut = CancellationToken::new();
        let listener =
            Listener { listener, routes, tls: None, most_body: Some(1 << 10), streamed: None, places, cut };
        let stop = CancellationToken::new();
        let served = tokio::spawn(listener.serve(stop.clone(), Duration::from_secs(5)));
        let mut half = Vec::new();
        for number in 0..MOST + 20 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let sent: &[u8] = match number % 2 {
                0 => b"GET / HTTP",
                _ => b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf",
            };
            let _ = stream.write_all(sent).await;
            half.push(stream);
        }
        let mut owner = TcpStream::connect(address).await.unwrap();
        for _ in 0..2 {
            owner.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
            let mut answer = [0; 512];
            let read = owner.read(&mut answer).await.unwrap();
            assert!(answer[..read].starts_with(b"HTTP/1.1 200 OK"), "{read} bytes");
        }
        // The first of them has gone.
        let mut rest = Vec::new();
        let _ = half[0].read_to_end(&mut rest).await;
        assert_eq!(rest, b"");
        stop.cancel();
        served.await.unwrap();
    }

    /// The request was in progress at the stop. The stop waits for its answer, and no longer.
    #[tokio::test(start_paused = true)]
    async fn a_stop_closes_what_becomes_idle_at_once() {
        let (mut client, server) = tokio::io::duplex(1 << 16);
        let slow = axum::Router::new().fallback(|| async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            "answered"
        });
        let stop = CancellationToken::new();
        let stopping = stop.clone();
        let answers = Answers { most_body: Some(8), ..with(slow) };
        let serving = tokio::spawn(async move { requests(server, answers, place().await, &stopping).await });
        client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        let (began, mut answer) = (Instant::now(), String::new());
        stop.cancel();
        client.read_to_string(&mut answer).await.unwrap();
        serving.await.unwrap();
        assert!(answer.ends_with("answered") && began.elapsed() < Duration::from_millis(300), "{answer}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_closes_what_is_idle_at_once() {
        let (mut client, server) = tokio::io::duplex(1 << 16);
        let stop = CancellationToken::new();
        let stopping = stop.clone();
        let serving = tokio::spawn(async move { requests(server, routes(), place().await, &stopping).await });
        client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut some = [0; 12];
        client.read_exact(&mut some).await.unwrap();
        let began = Instant::now();
        stop.cancel();
        serving.await.unwrap();
        assert!(began.elapsed() < Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_takes_nothing_is_cut_off_and_whoever_is_slow_is_not() {
        let (near, mut far) = tokio::io::duplex(8);
        let mut near = Impatient::new(near, Arc::default(), place().await);
        let writing = tokio::spawn(async move {
            let sent = near.write_all(&[7; 64]).await;
            (sent, near.write_all(&[7; 64]).await)
        });
        let mut some = [0; 8];
        for _ in 0..8 {
            tokio::time::sleep(STALL_TIME.mul_f32(0.9)).await;
            far.read_exact(&mut some).await.unwrap();
        }
        let (slowly, never) = writing.await.unwrap();
        slowly.unwrap();
        assert_eq!(never.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
