//! A small resource server: answers as a test defines, and remembers its requests.

use std::sync::{Arc, Mutex};

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use futures_util::FutureExt as _;
use pdpp::advice::Command;
use pdpp::mcp::protocol::service::{Service as _, ToolAnswer};
use pdpp::mcp::reading::reader::{BearerSource, Reader};
use pdpp::mcp::size::Bounds;
use pdpp::mcp::tools::service::Tools;
use pdpp::provider::http::{Http, Limits};
use pdpp::provider::rs::ResourceServer;
use pdpp::secret::AccessToken;
use serde_json::{Value, json};

/// One request, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The path below `/v1`, as it arrived (still encoded).
    pub path: String,
    /// Its parameters.
    pub query: Vec<(String, String)>,
}

impl Asked {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// `path?name=value&…`, decoded, in order.
    pub fn line(&self) -> String {
        let query = self.query.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
        if query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, query.join("&")) }
    }
}

/// The server, and the tool core in front of it.
pub struct Fake {
    pub core: Tools,
    pub url: String,
    log: Arc<Mutex<Vec<Asked>>>,
}

impl Fake {
    /// Answers each request with the result of `answer`: status and body.
    pub async fn start(answer: impl Fn(&Asked) -> (u16, Value) + Send + Sync + 'static) -> Self {
        Self::bounded(Bounds::default(), answer).await
    }

    pub async fn bounded(
        bounds: Bounds,
        answer: impl Fn(&Asked) -> (u16, Value) + Send + Sync + 'static,
    ) -> Self {
        let log = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&log), Arc::new(answer));
        let app = axum::Router::new().fallback(move |request: Request| {
            let asked = Asked {
                path: request.uri().path().trim_start_matches("/v1").to_owned(),
                query: url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes())
                    .map(|(name, value)| (name.into_owned(), value.into_owned()))
                    .collect(),
            };
            let (status, body) = answer(&asked);
            seen.lock().unwrap().push(asked);
            async move {
                let status = StatusCode::from_u16(status).unwrap();
                (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
            }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        let provider = url.parse().unwrap();
        let rs = ResourceServer::new(
            Http::new(Limits::default()),
            &provider,
            format!("{url}/v1").parse().unwrap(),
        );
        let bearer: BearerSource =
            Arc::new(|| async { Ok(AccessToken::new("made-up-token".to_owned()).unwrap()) }.boxed());
        let source = Reader::new(provider, Some("grt_1".to_owned()), rs.unwrap(), bearer)
            .renewed_by(Command::connect(url.as_str()).words("--renew"));
        Self { core: Tools::over_one(source, bounds), url, log }
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> ToolAnswer {
        self.core.call(tool, arguments.as_object().unwrap().clone()).await
    }

    /// The requests since the last time, without the schema reads that accompany them.
    pub fn asked(&self) -> Vec<String> {
        let log = std::mem::take(&mut *self.log.lock().unwrap());
        log.iter().filter(|asked| asked.path != "/schema").map(Asked::line).collect()
    }

    /// All requests since the last time.
    pub fn asked_all(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap()).iter().map(Asked::line).collect()
    }
}

/// The structured view.
pub fn structured(answer: &ToolAnswer) -> Value {
    answer.structured.as_ref().expect("a structured view").read()
}

/// A typed refusal in the form that resource servers send.
pub fn refusal(code: &str, message: &str) -> Value {
    json!({"error": {"type": "invalid_request_error", "code": code, "message": message, "request_id": "req_7"}})
}

/// A schema of one connector `mail` with one stream `notes` over these connections.
pub fn schema(connections: &[&str]) -> Value {
    let connections =
        connections.iter().map(|id| json!({"connection_id": id, "display_name": format!("Box {id}")}));
    json!({"object": "schema", "detail": "compact", "bearer": {"token_kind": "client"}, "connectors": [{
        "object": "connector", "connector_key": "mail", "source": {"id": "https://r.example/mail", "kind": "connector"},
        "granted_connections": connections.collect::<Vec<_>>(),
        "streams": [{"name": "notes", "primary_key": ["id"], "cursor_field": "at", "expand_capabilities": [],
            "field_capabilities": {"id": "t=string,eq", "title": "t=text,role=primary-title,lex", "at": "role=event-time,r=gte|lt", "body": "declared"}}]}]})
}

/// A record of `notes`.
pub fn note(connection: &str, id: &str, at: &str) -> Value {
    json!({"object": "record", "id": id, "stream": "notes", "connection_id": connection, "display_name": format!("Box {connection}"),
        "emitted_at": "2024-01-01T00:00:00Z", "data": {"id": id, "title": format!("Note {id}"), "at": at, "body": "short"}})
}

/// A list envelope.
#[allow(clippy::needless_pass_by_value, reason = "shorter to call")]
pub fn list(rows: Vec<Value>, next_cursor: Option<&str>) -> Value {
    let mut list = json!({"object": "list", "data": rows, "has_more": next_cursor.is_some(), "meta": {"count": {"kind": "none"}, "warnings": []}});
    if let Some(cursor) = next_cursor {
        list["next_cursor"] = json!(cursor);
    }
    list
}
