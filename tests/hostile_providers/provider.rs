//! A provider in this process: one handler, which a test can replace between cases.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use axum::serve::ListenerExt as _;
use serde_json::Value;

/// A request, decoded.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Path segments after `/v1`.
    pub segments: Vec<String>,
    /// Query parameters in order.
    pub query: Vec<(String, String)>,
}

impl Asked {
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn number(&self, name: &str) -> Option<usize> {
        self.parameter(name)?.parse().ok()
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn json(status: u16, body: &Value) -> Self {
        Self::raw(status, "application/json", body.to_string())
    }

    pub fn raw(status: u16, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: vec![("content-type", media_type.to_owned())], body: body.into() }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

type Handler = Arc<dyn Fn(&Asked) -> Reply + Send + Sync>;

pub struct Provider {
    pub origin: String,
    handler: Arc<Mutex<Handler>>,
}

impl Provider {
    /// Listens on loopback; answers 404 until a handler is set.
    pub async fn start() -> Self {
        let handler: Arc<Mutex<Handler>> =
            Arc::new(Mutex::new(Arc::new(|_: &Asked| Reply::raw(404, "text/plain", ""))));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let current = Arc::clone(&handler);
        let router = axum::Router::new().fallback(move |request: Request| {
            let handler = Arc::clone(&current.lock().unwrap());
            async move { respond(&handler(&asked(&request))) }
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { origin, handler }
    }

    pub fn answer_with(&self, handler: impl Fn(&Asked) -> Reply + Send + Sync + 'static) {
        *self.handler.lock().unwrap() = Arc::new(handler);
    }
}

fn asked(request: &Request) -> Asked {
    let decode = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8().unwrap().into_owned();
    let segments = request.uri().path().trim_start_matches("/v1/").split('/').map(decode).collect();
    let query = request.uri().query().unwrap_or("");
    Asked {
        segments,
        query: url::form_urlencoded::parse(query.as_bytes())
            .map(|(key, value)| (key.into_owned(), value.into_owned()))
            .collect(),
    }
}

fn respond(reply: &Reply) -> Response<Body> {
    let mut response = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        response = response.header(*name, value);
    }
    response.body(Body::from(reply.body.clone())).unwrap()
}
