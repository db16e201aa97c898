//! A provider that answers from recorded exchanges, and records its requests.
//!
//! An exchange is one JSON file: `{request{method, path, query, headers, body?}, response{status, headers, body}}`.
//! Resource server and authorization server listen on two separate ports, so that a request to the wrong one is not
//! answered. `http://rs.example.test` and `http://as.example.test` in an answer become their addresses; a placeholder
//! `<NAME>` becomes the token that [`token`] returns.
//!
//! A request that no exchange answers is answered with 599 and kept in the log: an adapter that invents one fails its
//! test. Three kinds of request have no recording but still an honest answer, each marked in the log: a scoped schema
//! read of a grant whose whole schema was recorded, a smaller page of the exchange in [focus](Provider::focus), and
//! one connection's part of it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response, StatusCode};
use serde_json::{Map, Value, json};

const RS: &str = "http://rs.example.test";
const AS: &str = "http://as.example.test";

/// Which of the two servers behind a provider's URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    Resource,
    Authorization,
}

/// One recorded exchange.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Its file below the directory, without `.json`.
    pub name: String,
    pub server: Server,
    pub method: String,
    /// Decoded path segments.
    pub segments: Vec<String>,
    /// Decoded query parameters, sorted.
    pub query: Vec<(String, String)>,
    /// The placeholder of the bearer, without `<>`.
    pub bearer: Option<String>,
    /// Whether a part was requested (`Range`).
    pub ranged: bool,
    pub request_body: Option<Value>,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    /// The bytes of a body that is neither JSON nor text.
    pub bytes: Option<Vec<u8>>,
}

impl Exchange {
    /// Every exchange below `dir`, in the order of their names.
    pub fn load(dir: &Path) -> Vec<Self> {
        let mut files = Vec::new();
        walk(dir, &mut files);
        files.sort();
        files.iter().map(|file| Self::read(dir, file)).collect()
    }

    fn read(dir: &Path, file: &Path) -> Self {
        let name = file.strip_prefix(dir).unwrap().with_extension("").to_string_lossy().into_owned();
        let whole: Value = serde_json::from_slice(&std::fs::read(file).unwrap())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let (request, response) = (&whole["request"], &whole["response"]);
        // Flows write `url: "<AS>/…"`, or `server` and a path with its query.
        let at =
            request["url"].as_str().or(request["path"].as_str()).unwrap_or_else(|| panic!("{name}: no path"));
        let at = at.trim_start_matches("<RS>");
        let is_authorization =
            at.starts_with("<AS>") || request["server"] == "AS" || request["base"] == "<AS>";
        let server = if is_authorization { Server::Authorization } else { Server::Resource };
        let at = at.trim_start_matches("<AS>");
        let (path, query) = at.split_once('?').unwrap_or((at, request["query"].as_str().unwrap_or_default()));
        let bearer = request["headers"]["authorization"]
            .as_str()
            .map(|value| value.trim_start_matches("Bearer <").trim_end_matches('>').to_owned());
        let headers = response["headers"].as_object().unwrap();
        Self {
            server,
            method: request["method"].as_str().unwrap().to_owned(),
            segments: segments(path),
            query: parameters(query),
            bearer,
            ranged: request["headers"]["range"].is_string(),
            request_body: request.get("body").cloned(),
            status: response["status"].as_u64().and_then(|status| status.try_into().ok()).unwrap(),
            headers: headers
                .iter()
                .map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned()))
                .collect(),
            body: response["body"].clone(),
            bytes: response["body_base64"].as_str().map(base64),
            name,
        }
    }

    /// Whether it is a read with a grant's bearer.
    pub fn is_grant_read(&self) -> bool {
        self.segments.first().is_some_and(|first| first == "v1")
            && self.bearer.as_ref().is_some_and(|bearer| !bearer.starts_with("OWNER"))
    }

    /// A query parameter that appears once.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Its rows: records or hits; none if the body is not a list.
    pub fn rows(&self) -> &[Value] {
        self.body["data"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The connections that its rows came from.
    pub fn connections(&self) -> BTreeSet<&str> {
        self.rows().iter().filter_map(|row| row["connection_id"].as_str()).collect()
    }

    /// The request line, for people.
    pub fn line(&self) -> String {
        let query: Vec<String> = self.query.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!("{} /{}?{}", self.method, self.segments.join("/"), query.join("&"))
    }
}

/// The token for a placeholder, which a test gives its client.
pub fn token(placeholder: &str) -> String {
    format!("secret-{}", placeholder.to_ascii_lowercase().replace('_', "-"))
}

/// Where an answer came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Served {
    /// The exchange of this name, unchanged.
    Recorded(String),
    /// A smaller page of the exchange in focus, or one connection's part of it.
    Part(String),
    /// A schema read, answered from the recorded schema of the same grant, or with 404 if there is none; the list of
    /// streams, which a Core-only provider would have, is then answered the same way.
    Schema,
    /// Nothing was recorded for this request.
    Unmatched,
}

/// One request, as it arrived.
#[derive(Debug, Clone)]
pub struct Asked {
    pub server: Server,
    pub method: String,
    /// Path and query as they were sent.
    pub uri: String,
    pub segments: Vec<String>,
    pub query: Vec<(String, String)>,
    pub bearer: Option<String>,
    pub body: Option<Value>,
    pub served: Served,
}

/// A running provider; gone when dropped.
pub struct Provider {
    shared: Arc<Shared>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

struct Shared {
    resource: SocketAddr,
    authorization: SocketAddr,
    exchanges: Vec<Exchange>,
    state: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    log: Vec<Asked>,
    focus: Option<usize>,
    /// The remaining `POST`s of a flow, in order.
    script: Option<Vec<usize>>,
}

impl Provider {
    /// Answers reads from `exchanges`, in any order and any number of times.
    pub fn start(exchanges: Vec<Exchange>) -> Self {
        Self::run(exchanges, None)
    }

    /// Answers a flow: `GET`s at any time, but each `POST` only after the earlier `steps`.
    pub fn start_flow(exchanges: Vec<Exchange>, steps: &[&str]) -> Self {
        let at = |step: &&str| {
            let found = exchanges.iter().position(|exchange| exchange.name == *step);
            found.unwrap_or_else(|| panic!("no exchange {step}"))
        };
        let script = steps.iter().map(at).collect();
        Self::run(exchanges, Some(script))
    }

    fn run(exchanges: Vec<Exchange>, script: Option<Vec<usize>>) -> Self {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let resource = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                let authorization = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                let shared = Arc::new(Shared {
                    resource: resource.local_addr().unwrap(),
                    authorization: authorization.local_addr().unwrap(),
                    exchanges,
                    state: Mutex::new(Progress { script, ..Progress::default() }),
                });
                ready.send(Arc::clone(&shared)).unwrap();
                tokio::select! {
                    _ = axum::serve(resource, router(&shared, Server::Resource)) => {}
                    _ = axum::serve(authorization, router(&shared, Server::Authorization)) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { shared: is_ready.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }

    /// The provider's URL: the resource server's.
    pub fn url(&self) -> String {
        format!("http://{}", self.shared.resource)
    }

    /// The authorization server's URL.
    pub fn issuer(&self) -> String {
        format!("http://{}", self.shared.authorization)
    }

    /// The contents of an answer, as a client of this provider sees it.
    pub fn as_served(&self, recorded: &Value) -> Value {
        serde_json::from_str(&self.shared.substitute(&recorded.to_string())).unwrap()
    }

    /// Prefers the exchange of this name if several answer one request, allows smaller pages and single connections
    /// to be derived from it, and empties the log.
    pub fn focus(&self, name: &str) {
        let mut state = self.shared.state.lock().unwrap();
        state.focus = self.shared.exchanges.iter().position(|exchange| exchange.name == name);
        assert!(state.focus.is_some(), "no exchange {name}");
        state.log.clear();
    }

    /// Every request since the start, or since the last [`Provider::focus`].
    pub fn log(&self) -> Vec<Asked> {
        self.shared.state.lock().unwrap().log.clone()
    }

    /// Whether a schema was recorded for the grant of this exchange.
    pub fn has_schema(&self, of: &Exchange) -> bool {
        let mut all = self.shared.exchanges.iter();
        all.any(|other| {
            other.segments == ["v1", "schema"] && other.status == 200 && other.bearer == of.bearer
        })
    }

    /// The steps of the flow that were not requested yet.
    pub fn steps_left(&self) -> Vec<String> {
        let state = self.shared.state.lock().unwrap();
        let left = state.script.iter().flatten().map(|step| self.shared.exchanges[*step].name.clone());
        left.collect()
    }

    /// The requests that no exchange answers.
    pub fn unmatched(&self) -> Vec<String> {
        let log = self.log();
        let unmatched = log.iter().filter(|asked| asked.served == Served::Unmatched);
        unmatched.map(|asked| format!("{} {} (as {:?})", asked.method, asked.uri, asked.bearer)).collect()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn router(shared: &Arc<Shared>, server: Server) -> axum::Router {
    axum::Router::new().fallback(answer).with_state((Arc::clone(shared), server))
}

async fn answer(State((shared, server)): State<(Arc<Shared>, Server)>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap_or_default();
    let mut asked = Asked {
        server,
        method: head.method.to_string(),
        uri: head.uri.to_string(),
        segments: segments(head.uri.path()),
        query: parameters(head.uri.query().unwrap_or_default()),
        bearer: bearer(&head.headers),
        body: request_body(&head.headers, &body),
        served: Served::Unmatched,
    };
    let mut state = shared.state.lock().unwrap();
    let answer = shared.find(&mut state, &mut asked);
    state.log.push(asked);
    drop(state);
    let (status, headers, body) = answer;
    let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap());
    for (name, value) in &headers {
        response = response.header(name, shared.substitute(value));
    }
    response.body(Body::from(body)).unwrap()
}

type Reply = (u16, Vec<(String, String)>, Vec<u8>);

impl Shared {
    fn find(&self, state: &mut Progress, asked: &mut Asked) -> Reply {
        if let Some(script) = &mut state.script
            && asked.method == "POST"
        {
            if let Some(next) = script.first()
                && self.is_step(&self.exchanges[*next], asked)
            {
                let step = &self.exchanges[script.remove(0)];
                asked.served = Served::Recorded(step.name.clone());
                return self.reply(step);
            }
            return unmatched();
        }
        let focus = state.focus.map(|focus| &self.exchanges[focus]);
        // A provider that ignores (or refuses) the compact view sends this to every schema read.
        let is_schema = asked.method == "GET" && asked.segments == ["v1", "schema"];
        if is_schema
            && let Some(whole) = focus
            && whole.segments == asked.segments
            && whole.query.is_empty()
            && whole.bearer == asked.bearer
        {
            asked.served = Served::Recorded(whole.name.clone());
            return self.reply(whole);
        }
        if let Some(focus) = focus
            && !is_same(focus, asked)
            && let Some(body) = part(focus, asked)
        {
            asked.served = Served::Part(focus.name.clone());
            return (focus.status, focus.headers.clone(), self.substitute(&body.to_string()).into());
        }
        let recorded = focus.into_iter().chain(&self.exchanges).find(|exchange| is_same(exchange, asked));
        if let Some(exchange) = recorded {
            asked.served = Served::Recorded(exchange.name.clone());
            return self.reply(exchange);
        }
        if is_schema && asked.bearer.is_some() {
            asked.served = Served::Schema;
            return self.schema(asked);
        }
        // If there is no schema, a client checks whether this is a provider of the Core only.
        if asked.method == "GET" && asked.segments == ["v1", "streams"] && asked.bearer.is_some() {
            asked.served = Served::Schema;
            return no_schema();
        }
        unmatched()
    }

    fn reply(&self, exchange: &Exchange) -> Reply {
        let body = match (&exchange.bytes, &exchange.body) {
            (Some(bytes), _) => bytes.clone(),
            (None, Value::String(text)) => self.substitute(text).into(),
            (None, Value::Null) => Vec::new(),
            (None, json) => self.substitute(&json.to_string()).into(),
        };
        (exchange.status, exchange.headers.clone(), body)
    }

    /// Example addresses and placeholders, replaced by this provider's own.
    fn substitute(&self, text: &str) -> String {
        let text = text
            .replace(RS, &format!("http://{}", self.resource))
            .replace(AS, &format!("http://{}", self.authorization));
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(start) = rest.find('<') {
            let (before, from) = rest.split_at(start);
            out.push_str(before);
            let name = from[1..].split('>').next().unwrap_or_default();
            let is_name = name.len() > 3
                && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
            if is_name && from.len() > name.len() + 1 {
                out.push_str(&token(name));
                rest = &from[name.len() + 2..];
            } else {
                out.push('<');
                rest = &from[1..];
            }
        }
        out.push_str(rest);
        out
    }

    /// Whether a `POST` is this step of a flow: the same endpoint, and the same identification of the attempt. Names
    /// and purposes are the client's own.
    fn is_step(&self, step: &Exchange, asked: &Asked) -> bool {
        const ALWAYS: [&str; 5] = ["polling_code", "request_uri", "client_id", "device_code", "grant_type"];
        const WHERE_RECORDED: [&str; 3] = ["resource", "scope", "token_endpoint_auth_method"];
        let none = Value::Null;
        let sent = asked.body.as_ref().unwrap_or(&none);
        let recorded = match &step.request_body {
            Some(Value::String(form)) => form_object(form),
            Some(body) => body.clone(),
            None => Value::Null,
        };
        let recorded = serde_json::from_str(&self.substitute(&recorded.to_string())).unwrap_or(Value::Null);
        step.server == asked.server
            && step.segments == asked.segments
            && ALWAYS.iter().all(|key| recorded.get(key) == sent.get(key))
            && WHERE_RECORDED
                .iter()
                .all(|key| recorded.get(key).is_none_or(|value| Some(value) == sent.get(key)))
            && details(&recorded) == details(sent)
    }

    /// The whole recorded schema of the grant, reduced to what is requested.
    fn schema(&self, asked: &Asked) -> Reply {
        let of_grant = |view: &[(String, String)]| {
            self.exchanges.iter().find(|exchange| {
                exchange.segments == ["v1", "schema"]
                    && exchange.bearer == asked.bearer
                    && exchange.status == 200
                    && exchange.query == view
            })
        };
        let compact = [("view".to_owned(), "compact".to_owned())];
        let wants =
            |name: &str| asked.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        // A provider that ignores `view` sends the whole schema, so that replaces a compact one that was not
        // recorded.
        let found = of_grant(&compact).filter(|_| wants("view") == Some("compact")).or_else(|| of_grant(&[]));
        let Some(exchange) = found else {
            return no_schema();
        };
        let mut body = exchange.body.clone();
        scope(&mut body, wants("stream"), wants("connection_id"));
        (200, exchange.headers.clone(), self.substitute(&body.to_string()).into())
    }
}

fn no_schema() -> Reply {
    let error = json!({"error": {"type": "invalid_request_error", "code": "not_found", "message": "No schema was recorded for this grant"}});
    (404, vec![("content-type".into(), "application/json".into())], error.to_string().into())
}

fn unmatched() -> Reply {
    let error =
        json!({"error": {"code": "replay_unmatched", "message": "Nothing was recorded for this request"}});
    (599, vec![("content-type".into(), "application/json".into())], error.to_string().into())
}

/// Whether `exchange` recorded this request: method, decoded segments, parameters in any order, bearer.
fn is_same(exchange: &Exchange, asked: &Asked) -> bool {
    exchange.server == asked.server
        && exchange.method == asked.method
        && exchange.segments == asked.segments
        && same_parameters(&exchange.query, &asked.query, &[])
        && (exchange.bearer == asked.bearer)
        && !exchange.ranged
}

/// Whether both have the same parameters, except `except`. `streams=a` and `streams[]=a`, with or without its
/// brackets, are one parameter: the reference accepts both.
fn same_parameters(left: &[(String, String)], right: &[(String, String)], except: &[&str]) -> bool {
    let canonical = |query: &[(String, String)]| {
        let mut all: Vec<(String, String)> = Vec::new();
        for (key, value) in query.iter().filter(|(key, _)| !except.contains(&key.as_str())) {
            match key.as_str() {
                "streams" | "streams[]" => {
                    all.extend(value.split(',').map(|stream| ("streams".to_owned(), stream.to_owned())));
                }
                _ => all.push((key.clone(), value.clone())),
            }
        }
        all.sort();
        all
    };
    canonical(left) == canonical(right)
}

/// The body of a list in focus, cut to a smaller page or to one connection, like the provider that sent the whole
/// would send the part: with a cursor that continues from there.
fn part(focus: &Exchange, asked: &Asked) -> Option<Value> {
    if focus.body["group_by_time"].is_string() {
        return buckets_from(focus, asked);
    }
    let rows = focus.body["data"].as_array()?;
    if focus.status != 200
        || asked.method != "GET"
        || focus.segments != asked.segments
        || focus.bearer != asked.bearer
    {
        return None;
    }
    let wants = |name: &str| asked.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let limit = match wants("limit") {
        Some(limit) => limit.parse::<usize>().ok().filter(|limit| *limit > 0)?,
        None => 25,
    };
    let whole = focus.parameter("limit").and_then(|limit| limit.parse().ok()).unwrap_or(25usize);
    let cursor = wants("cursor").and_then(|cursor| cursor.strip_prefix("replay."));
    let mut except = vec!["limit"];
    let (offset, connection) = match cursor {
        Some(cursor) => {
            // A cursor continues alone: repeating `changes_since` with it repeats page 1 forever.
            except.extend(["cursor", "changes_since"]);
            if wants("changes_since").is_some() {
                return None;
            }
            let (offset, connection) = cursor.split_once('.')?;
            (offset.parse::<usize>().ok()?, Some(connection).filter(|connection| !connection.is_empty()))
        }
        None => (0, None),
    };
    let splits = focus.parameter("connection_id").is_none();
    if splits {
        except.push("connection_id");
    }
    if !same_parameters(&focus.query, &asked.query, &except) {
        return None;
    }
    let connections = focus.connections();
    let connection = match (splits, wants("connection_id")) {
        (true, Some(asked)) if connections.contains(asked) => Some(asked),
        (true, Some(_)) => return None,
        _ => connection,
    };
    let of_connection = |row: &&Value| connection.is_none_or(|connection| row["connection_id"] == connection);
    let rows: Vec<&Value> = rows.iter().filter(of_connection).collect();
    // A page over several connections has `limit` rows of each; only their parts can be cut.
    if connection.is_none()
        && connections.len() > 1
        && focus.body.get("next_cursor").is_none()
        && limit < whole
    {
        return None;
    }
    let page: Vec<Value> = rows.iter().skip(offset).take(limit).map(|row| (*row).clone()).collect();
    let end = offset + page.len();
    let mut body = focus.body.as_object()?.clone();
    body.insert("data".into(), page.into());
    if end < rows.len() {
        let cursor = format!("replay.{end}.{}", connection.unwrap_or_default());
        body.insert("has_more".into(), true.into());
        body.insert("next_cursor".into(), cursor.into());
    } else if connection.is_some() {
        body.insert("has_more".into(), false.into());
        body.remove("next_cursor");
    }
    if connection.is_some() {
        whole_of_one(&mut body, connection == connections.first().copied(), connections.len());
    }
    body.remove("links");
    Some(body.into())
}

/// The buckets of an aggregate over time in focus, starting with the one where a `gte` on its field begins.
fn buckets_from(focus: &Exchange, asked: &Asked) -> Option<Value> {
    let from = format!("filter[{}][gte]", focus.body["group_by_time"].as_str()?);
    let key = asked.query.iter().find(|(name, _)| *name == from).map(|(_, key)| key.as_str())?;
    let same = focus.segments == asked.segments && focus.bearer == asked.bearer;
    if !same || !same_parameters(&focus.query, &asked.query, &[&from]) {
        return None;
    }
    let mut body = focus.body.clone();
    body["groups"].as_array_mut()?.retain(|group| group["key"].as_str().is_some_and(|group| group >= key));
    Some(body)
}

/// One connection's part has no fan-in warning; its counts add up to the recorded one.
fn whole_of_one(body: &mut Map<String, Value>, first: bool, connections: usize) {
    let Some(meta) = body.get_mut("meta").and_then(Value::as_object_mut) else { return };
    if let Some(warnings) = meta.get_mut("warnings").and_then(Value::as_array_mut) {
        warnings.retain(|warning| warning["code"] != "partial_results");
    }
    if let Some(value) = meta.get_mut("count").and_then(|count| count.get_mut("value"))
        && let Some(all) = value.as_u64()
    {
        *value = if first { (all - (connections as u64 - 1)).into() } else { 1.into() };
    }
}

/// Leaves only `stream` and `connection_id` in a schema body.
fn scope(body: &mut Value, stream: Option<&str>, connection: Option<&str>) {
    let Some(connectors) = body["connectors"].as_array_mut() else { return };
    for connector in connectors.iter_mut() {
        let shared = connector["granted_connections"].clone();
        if let Some(streams) = connector["streams"].as_array_mut() {
            streams.retain(|row| {
                let own = row["granted_connections"].as_array().or(shared.as_array());
                let has = |connection| {
                    own.is_some_and(|own| own.iter().any(|known| known["connection_id"] == connection))
                };
                stream.is_none_or(|stream| row["name"] == stream) && connection.is_none_or(has)
            });
            for row in streams.iter_mut() {
                narrow(row, connection);
            }
        }
        narrow(connector, connection);
        let count = connector["streams"].as_array().map_or(0, Vec::len);
        connector["stream_count"] = count.into();
    }
    connectors.retain(|connector| connector["stream_count"] != 0);
}

fn narrow(row: &mut Value, connection: Option<&str>) {
    if let (Some(granted), Some(connection)) = (row.get_mut("granted_connections"), connection)
        && let Some(granted) = granted.as_array_mut()
    {
        granted.retain(|known| known["connection_id"] == connection);
    }
}

/// What an authorization request asks for: its type and source.
fn details(body: &Value) -> Option<(Value, Value)> {
    let details = match body.get("authorization_details")? {
        Value::String(text) => serde_json::from_str(text).ok()?,
        other => other.clone(),
    };
    Some((details[0]["type"].clone(), details[0]["source"].clone()))
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("authorization")?.to_str().ok()?;
    let known = value.strip_prefix("Bearer secret-");
    Some(known.map_or_else(|| value.to_owned(), |name| name.to_ascii_uppercase().replace('-', "_")))
}

fn request_body(headers: &HeaderMap, body: &Bytes) -> Option<Value> {
    if body.is_empty() {
        return None;
    }
    let kind = headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(body);
    if kind.starts_with("application/x-www-form-urlencoded") {
        return Some(form_object(&text));
    }
    Some(serde_json::from_str(&text).unwrap_or_else(|_| text.into_owned().into()))
}

fn form_object(form: &str) -> Value {
    let pairs = url::form_urlencoded::parse(form.as_bytes());
    Value::Object(pairs.map(|(key, value)| (key.into_owned(), value.into_owned().into())).collect())
}

fn segments(path: &str) -> Vec<String> {
    let decode =
        |segment: &str| percent_encoding::percent_decode_str(segment).decode_utf8_lossy().into_owned();
    path.trim_start_matches('/').split('/').filter(|segment| !segment.is_empty()).map(decode).collect()
}

fn parameters(query: &str) -> Vec<(String, String)> {
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let mut pairs: Vec<_> = pairs.map(|(key, value)| (key.into_owned(), value.into_owned())).collect();
    pairs.sort();
    pairs
}

/// Decodes RFC 4648 base64; panics on anything else.
pub fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut have) = (0u32, 0);
    for c in text.bytes().filter(|c| *c != b'=') {
        let value = ALPHABET.iter().position(|known| *known == c).expect("base64");
        bits = bits << 6 | u32::try_from(value).unwrap();
        have += 6;
        if have >= 8 {
            have -= 8;
            bytes.push(u8::try_from(bits >> have & 0xff).unwrap());
        }
    }
    bytes
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
}
