//! Small providers, and packages over them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use futures_util::FutureExt as _;
use pdpp::advice::Command;
use pdpp::error::{Error, Kind};
use pdpp::mcp::protocol::service::{Service as _, ToolAnswer};
use pdpp::mcp::reading::package::{KnownSource, Member, Package, Roster};
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
    pub bearer: String,
    pub path: String,
    pub query: Vec<(String, String)>,
}

impl Asked {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn all(&self, name: &str) -> Vec<&str> {
        self.query.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str()).collect()
    }
}

/// What a provider does with a request.
pub enum Does {
    Answer(u16, Value),
    /// No answer, for longer than anyone waits.
    Hang,
}

pub fn ok(body: Value) -> Does {
    Does::Answer(200, body)
}

/// A provider that remembers its requests.
#[derive(Clone)]
pub struct Fake {
    pub url: String,
    log: Arc<Mutex<Vec<Asked>>>,
}

impl Fake {
    pub async fn start(does: impl Fn(&Asked) -> Does + Send + Sync + 'static) -> Self {
        Self::start_slow(Duration::ZERO, does).await
    }

    /// A provider with a delay before each answer.
    pub async fn start_slow(takes: Duration, does: impl Fn(&Asked) -> Does + Send + Sync + 'static) -> Self {
        let log = Arc::new(Mutex::new(Vec::new()));
        let (seen, does) = (Arc::clone(&log), Arc::new(does));
        let app = axum::Router::new().fallback(move |request: Request| {
            let bearer = request.headers()[header::AUTHORIZATION].to_str().unwrap();
            let asked = Asked {
                bearer: bearer.trim_start_matches("Bearer ").to_owned(),
                path: request.uri().path().trim_start_matches("/v1").to_owned(),
                query: url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes())
                    .map(|(name, value)| (name.into_owned(), value.into_owned()))
                    .collect(),
            };
            let does = does(&asked);
            seen.lock().unwrap().push(asked);
            async move {
                tokio::time::sleep(takes).await;
                match does {
                    Does::Answer(status, body) => (
                        StatusCode::from_u16(status).unwrap(),
                        [(header::CONTENT_TYPE, "application/json")],
                        body.to_string(),
                    )
                        .into_response(),
                    Does::Hang => std::future::pending().await,
                }
            }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, log }
    }

    /// A provider that does not exist: its port was closed.
    pub async fn gone() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        Self { url, log: Arc::default() }
    }

    /// The paths requested since the last time.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    pub fn count(&self) -> usize {
        self.asked().len()
    }
}

/// What a roster states about one grant.
#[derive(Clone)]
pub struct Served {
    pub id: String,
    pub url: String,
    pub grant: String,
    pub label: String,
    pub ends: Option<jiff::Timestamp>,
    pub known: Vec<KnownSource>,
}

/// A source of one connector with one connection.
pub fn source(key: &str, connection: &str, streams: &[&str]) -> KnownSource {
    KnownSource {
        connector_key: Some(key.to_owned()),
        connections: vec![(connection.to_owned(), Some(format!("Box {connection}")))],
        streams: streams.iter().map(|name| (*name).to_owned()).collect(),
        has_all_streams: true,
    }
}

pub fn served(fake: &Fake, grant: &str, known: Vec<KnownSource>) -> Served {
    Served {
        id: format!("{}-{grant}", fake.url),
        url: fake.url.clone(),
        grant: grant.to_owned(),
        label: format!("Label {grant}"),
        ends: None,
        known,
    }
}

/// The grant's bearer is its id.
pub fn member(served: &Served, http: &Http) -> Member {
    let provider = served.url.parse().unwrap();
    let base = format!("{}/v1", served.url).parse().unwrap();
    let rs = ResourceServer::new(http.clone(), &provider, base).unwrap();
    let token = served.grant.clone();
    let bearer: BearerSource = Arc::new(move || {
        let token = AccessToken::new(token.clone()).unwrap();
        async move { Ok(token) }.boxed()
    });
    let reader = Reader::new(provider, Some(served.grant.clone()), rs, bearer);
    let reader = reader.renewed_by(Command::connect(served.url.as_str()).words("--renew"));
    Member::new(served.id.clone(), served.label.clone(), reader, served.ends, served.known.clone())
}

/// A list of grants that can change while it is served.
pub type Grants = Arc<Mutex<Vec<Served>>>;

pub fn package_of(grants: &Grants, bounds: Bounds) -> Tools {
    Tools::new(served_together(grants), bounds)
}

/// Like [`package`], where each grant has `deadline` to answer.
pub fn package_within(deadline: Duration, grants: Vec<Served>) -> Tools {
    let package = served_together(&Arc::new(Mutex::new(grants))).with_deadline(deadline);
    Tools::new(package, Bounds::default())
}

fn served_together(grants: &Grants) -> Package {
    let grants = Arc::clone(grants);
    let http = Http::new(Limits::default());
    let roster: Roster = Arc::new(move || {
        let served = grants.lock().unwrap();
        if served.is_empty() {
            return Err(Error::new(Kind::NotConnected, "not_connected", "Nothing is connected"));
        }
        Ok(served.iter().map(|grant| member(grant, &http)).collect())
    });
    Package::new(roster).unwrap()
}

pub fn package(grants: Vec<Served>) -> Tools {
    package_of(&Arc::new(Mutex::new(grants)), Bounds::default())
}

pub async fn call(package: &Tools, tool: &str, arguments: Value) -> ToolAnswer {
    package.call(tool, arguments.as_object().unwrap().clone()).await
}

pub fn structured(answer: &ToolAnswer) -> Value {
    answer.structured.as_ref().expect("a structured view").read()
}

/// The typed error of an answer.
pub fn error(answer: &ToolAnswer) -> Value {
    assert!(answer.is_error, "{}", answer.text);
    structured(answer)["error"].clone()
}

/// A hit of a search.
pub fn hit(connection: &str, stream: &str, id: &str) -> Value {
    json!({"object": "search_result", "record_key": id, "stream": stream, "connection_id": connection,
        "connector_id": "mail", "display_name": format!("Box {connection}"), "snippet": {"field": "body", "text": format!("the {id}")}})
}

/// The place of the rows in an envelope: one of three.
#[derive(Debug, Clone, Copy)]
pub enum Wrapped {
    Data,
    Results,
    DataData,
}

/// A page of `rows` from a provider with cursors: `limit` of them from `cursor` on.
pub fn page(asked: &Asked, rows: &[Value], wrapped: Wrapped, cursor_bytes: usize) -> Value {
    let start =
        asked.get("cursor").map_or(0, |cursor| cursor.trim_start_matches('c').parse::<usize>().unwrap());
    let limit = asked.get("limit").map_or(25, |limit| limit.parse::<usize>().unwrap());
    let end = rows.len().min(start + limit);
    let list = &rows[start.min(end)..end];
    let data = match wrapped {
        Wrapped::Data => json!(list),
        Wrapped::Results => json!({ "results": list }),
        Wrapped::DataData => json!({ "data": list }),
    };
    let mut body = json!({"object": "list", "data": data, "has_more": end < rows.len(),
        "meta": {"count": {"kind": "none"}, "warnings": []}});
    if end < rows.len() {
        body["next_cursor"] = json!(format!("{}{end}", "c".repeat(cursor_bytes)));
    }
    body
}

/// A compact schema of one connector with one connection.
pub fn schema(key: &str, connection: &str, streams: &[&str]) -> Value {
    let rows = streams.iter().map(|name| {
        json!({"name": name, "primary_key": ["id"], "cursor_field": "at", "expand_capabilities": [],
            "field_capabilities": {"id": "t=string,eq", "title": "t=text,role=primary-title,lex", "at": "role=event-time,r=gte|lt"}})
    });
    json!({"object": "schema", "detail": "compact", "bearer": {"token_kind": "client"}, "connectors": [{
        "object": "connector", "connector_key": key, "source": {"id": format!("https://r.example/{key}"), "kind": "connector"},
        "granted_connections": [{"connection_id": connection, "display_name": format!("Box {connection}")}],
        "streams": rows.collect::<Vec<_>>()}]})
}

/// A provider of one connection `connection` with these hits in the stream `notes`, which answers everything.
pub async fn provider(key: &'static str, connection: &'static str, hits: usize, wrapped: Wrapped) -> Fake {
    let rows = (0..hits).map(|n| hit(connection, "notes", &format!("{connection}-{n}"))).collect::<Vec<_>>();
    Fake::start(move |asked| {
        let record = |id: &str| {
            json!({"object": "record", "id": id, "stream": "notes", "connection_id": connection,
                "data": {"id": id, "title": format!("Note {id}")}})
        };
        let path = asked.path.split('/').skip(1).collect::<Vec<_>>();
        match path.as_slice() {
            ["schema"] => ok(schema(key, connection, &["notes", "folders"])),
            ["search"] => ok(page(asked, &rows, wrapped, 1)),
            ["streams", _, "records"] => {
                ok(json!({"object": "list", "data": [record("a")], "has_more": false, "meta": {"warnings": []}}))
            }
            ["streams", _, "records", id] => ok(record(id)),
            ["streams", _, "records", _, "field-window"] => ok(json!({"object": "field_window", "field": {"path": "title"},
                "window": {"text": "Note", "start_chars": 0, "end_chars": 4, "total_chars": 4, "complete": true}})),
            ["streams", _, "aggregate"] => ok(json!({"object": "aggregate", "metric": "count", "value": 7})),
            ["blobs", _] => ok(json!({"blob": connection})),
            _ => Does::Answer(404, json!({"error": {"code": "not_found", "message": "no"}})),
        }
    })
    .await
}
