//! The connections of the vault's server: so many at once, and where there is no room, whoever has asked nothing for the
//! longest time goes. Everybody on this computer can connect, so nobody may keep the owner out by that.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// At once. A process may often open 1,024 files.
const MOST: usize = 256;
/// From a connection, or an answer, to the next request's whole head.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// A request's head at most, in bytes.
const MOST_HEAD: usize = 32 << 10;
/// For the body of a request.
const BODY_TIME: Duration = Duration::from_secs(10);
/// Of a body at most, in bytes, whatever is asked: what is taken sets a bound of its own.
const MOST_BODY: usize = 1 << 20;
/// After an `accept` that failed: file descriptors do not come back at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves `routes` until `stop`; then answers what is at work, for at most `drain`.
pub async fn serve(listener: TcpListener, routes: axum::Router, stop: CancellationToken, drain: Duration) {
    let (silent, connections) = (Arc::new(Silent::default()), TaskTracker::new());
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            silent.end_oldest();
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // All of them at work is more than this server does at once: this one is hung up on.
        if connections.len() >= MOST && !silent.end_oldest() {
            continue;
        }
        connections.spawn(connection(stream, routes.clone(), Arc::clone(&silent)));
    }
    drop(listener);
    connections.close();
    while silent.end_oldest() {}
    let _ = tokio::time::timeout(drain, connections.wait()).await;
}

async fn connection(stream: TcpStream, routes: axum::Router, silent: Arc<Silent>) {
    // Answers are small and come one at a time: waiting to fill a packet only costs time.
    let _ = stream.set_nodelay(true);
    let gone = CancellationToken::new();
    let place = Arc::new(Mutex::new(Some(silent.enter(&gone))));
    let (routes, ended) = (TowerToHyperService::new(routes), gone.clone());
    let asked = Arc::clone(&place);
    let answer = service_fn(move |request: hyper::Request<Incoming>| {
        let (silent, place, gone) = (Arc::clone(&silent), Arc::clone(&asked), gone.clone());
        let routes = routes.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = tokio::time::timeout(BODY_TIME, to_bytes(Body::new(body), MOST_BODY)).await;
            let Ok(Ok(body)) = body else { return Ok(StatusCode::PAYLOAD_TOO_LARGE.into_response()) };
            // At work from here on: nobody takes its place.
            drop(lock(&place).take());
            let answer = routes.call(Request::from_parts(head, Body::from(body))).await;
            *lock(&place) = Some(silent.enter(&gone));
            answer
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(MOST_HEAD);
    tokio::select! {
        // What is answered is written before its end is looked at.
        biased;
        _ = builder.serve_connection(TokioIo::new(stream), answer) => {}
        () = ended.cancelled() => {}
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connections that nothing is at work for, the oldest first.
#[derive(Debug, Default)]
struct Silent(Mutex<(u64, BTreeMap<u64, CancellationToken>)>);

/// One of them, as long as it is.
struct Place(Arc<Silent>, u64);

impl Silent {
    fn enter(self: &Arc<Self>, gone: &CancellationToken) -> Place {
        let mut inner = lock(&self.0);
        inner.0 += 1;
        let number = inner.0;
        inner.1.insert(number, gone.clone());
        Place(Arc::clone(self), number)
    }

    /// Whether there was one.
    fn end_oldest(&self) -> bool {
        lock(&self.0).1.pop_first().map(|(_, gone)| gone.cancel()).is_some()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.0.0).1.remove(&self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    const ASK: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";

    #[tokio::test]
    async fn o7_13_half_requests_keep_nobody_out() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let routes = axum::Router::new().fallback(|| async { "fine" });
        let stop = CancellationToken::new();
        let served = tokio::spawn(serve(listener, routes, stop.clone(), Duration::from_secs(5)));
        let mut half = Vec::new();
        for _ in 0..MOST + 20 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let _ = stream.write_all(&ASK[..10]).await;
            half.push(stream);
        }
        let mut owner = TcpStream::connect(address).await.unwrap();
        for _ in 0..2 {
            owner.write_all(ASK).await.unwrap();
            let mut answer = [0; 512];
            let read = owner.read(&mut answer).await.unwrap();
            assert!(answer[..read].starts_with(b"HTTP/1.1 200 OK"), "{read} bytes");
        }
        // The first of them has gone.
        let mut rest = Vec::new();
        let _ = half[0].read_to_end(&mut rest).await;
        assert!(!rest.starts_with(b"HTTP/1.1 200"));
        stop.cancel();
        served.await.unwrap();
    }
}
