//! A fake provider to connect to: resource server and authorization server on two loopback ports, with a switch for
//! everything that can go wrong.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Secrets that must never be seen outside the secret store.
pub const TOKEN: &str = "canary-token-5d1f";
pub const REFRESH: &str = "canary-refresh-77aa";
pub const POLLING_CODE: &str = "canary-poll-09c2";
pub const CODE: &str = "canary-code-41be";
pub const DEVICE_CODE: &str = "canary-device-c77d";

/// Text that would control a terminal, or imitate this program's own words.
pub const EVIL: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\r\u{202e}x\nerror: fake";

/// An edit of a JSON body.
pub type Edit = fn(&mut Value, &Urls);

/// How the provider misbehaves.
#[derive(Clone)]
#[allow(clippy::struct_excessive_bools, reason = "each is one thing that a provider does")]
pub struct Switches {
    /// Path of the provider below its origin: `/me`, or empty.
    pub path: &'static str,
    /// Edits the protected-resource metadata.
    pub resource: Edit,
    /// Edits the authorization-server metadata.
    pub server: Edit,
    /// Edits the agent-connect answer.
    pub attempt: Edit,
    /// Edits the approved poll's answer.
    pub token: Edit,
    /// Edits the schema.
    pub schema: Edit,
    /// Replaces the answer to a request whose path ends like this.
    pub instead: Option<(&'static str, Instead)>,
    /// Answers to polls, in order; the last one repeats. Empty: approved at once.
    pub polls: Vec<Poll>,
    /// Whether only a pushed request is accepted.
    pub par_only: bool,
    /// Whether the client id that was issued last is known.
    pub knows_clients: bool,
    /// Whether `/v1/schema` is 404.
    pub core_only: bool,
    /// The grant's id.
    pub grant_id: &'static str,
    /// Edits the device authorization's answer.
    pub device: Edit,
    /// Edits the parameters of the redirect back.
    pub back: fn(&mut Vec<(&'static str, String)>, &Urls),
    /// The refusal of a pushed request or a device authorization.
    pub refuses_details: Option<fn() -> Value>,
    /// Answers to the first requests of the token endpoint.
    pub first_tokens: Vec<Instead>,
    /// Whether the token endpoint does not know `resource`.
    pub refuses_resource: bool,
    /// Edits the registration's answer.
    pub registration: Edit,
    /// Where the resource's metadata is, if not at its usual place.
    pub resource_at: Option<&'static str>,
    /// Where the authorization server's metadata is, if not at its usual place.
    pub server_at: Option<&'static str>,
    /// Whether the answer to a read without a token names the metadata.
    pub challenges: bool,
}

/// Advertises the authorization code flow, and no flow before it.
pub fn with_code(server: &mut Value, urls: &Urls) {
    with_device(server, urls);
    let server = server.as_object_mut().unwrap();
    server.remove("device_authorization_endpoint");
    let issuer = &urls.issuer;
    server.insert("authorization_endpoint".to_owned(), json!(format!("{issuer}/authorize")));
    server.insert("code_challenge_methods_supported".to_owned(), json!(["S256"]));
    server.insert("authorization_response_iss_parameter_supported".to_owned(), json!(true));
    server
        .insert("authorization_details_types_supported".to_owned(), json!(["https://pdpp.dev/data-access"]));
}

/// Advertises the device code flow, and no flow before it.
pub fn with_device(server: &mut Value, urls: &Urls) {
    with_all(server, urls);
    let server = server.as_object_mut().unwrap();
    server.remove("agent_connect_endpoint");
    server.remove("pushed_authorization_request_endpoint");
    server.remove("authorization_endpoint");
}

/// Advertises every flow.
pub fn with_all(server: &mut Value, urls: &Urls) {
    let issuer = &urls.issuer;
    server["authorization_endpoint"] = json!(format!("{issuer}/authorize"));
    server["code_challenge_methods_supported"] = json!(["S256"]);
    server["device_authorization_endpoint"] = json!(format!("{issuer}/device"));
}

/// An entirely different answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
    NotFound,
    ServerError,
    Html,
    OtherJson,
    Redirect,
    Huge,
    /// JSON of a million open brackets.
    Deep,
    /// One byte from time to time, without end.
    Drip,
    /// A refusal with control characters.
    Evil,
    Never,
    Close,
    Unauthorized,
}

/// One answer to a poll.
#[derive(Clone, Copy)]
pub enum Poll {
    Pending,
    SlowDown,
    Denied,
    Expired,
    Unknown,
    Broken,
    Approved,
}

/// Where the provider is.
#[derive(Clone)]
pub struct Urls {
    pub provider: String,
    pub issuer: String,
}

/// One request, as it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at: Instant,
    pub path: String,
    pub authorization: Option<String>,
    pub body: Value,
}

impl Default for Switches {
    fn default() -> Self {
        fn no_edit(_: &mut Value, _: &Urls) {}
        Self {
            path: "",
            resource: no_edit,
            server: no_edit,
            attempt: no_edit,
            token: no_edit,
            schema: no_edit,
            instead: None,
            polls: Vec::new(),
            par_only: false,
            knows_clients: true,
            core_only: false,
            grant_id: "grt_made_up_1",
            device: no_edit,
            back: |_, _| (),
            refuses_details: None,
            first_tokens: Vec::new(),
            refuses_resource: false,
            registration: no_edit,
            resource_at: None,
            server_at: None,
            challenges: false,
        }
    }
}

struct Shared {
    switches: Mutex<Switches>,
    urls: Urls,
    seen: Mutex<Vec<Seen>>,
    clients: Mutex<usize>,
    polls: Mutex<usize>,
}

/// A running provider; gone when dropped.
pub struct Provider {
    shared: Arc<Shared>,
    _runtime: tokio::runtime::Runtime,
}

impl Provider {
    pub fn start(switches: Switches) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listen = || runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let (rs, authorization_server) = (listen(), listen());
        let origin =
            |listener: &tokio::net::TcpListener| format!("http://{}", listener.local_addr().unwrap());
        let urls = Urls {
            provider: format!("{}{}", origin(&rs), switches.path),
            issuer: origin(&authorization_server),
        };
        let shared = Arc::new(Shared {
            switches: Mutex::new(switches),
            urls,
            seen: Mutex::default(),
            clients: Mutex::default(),
            polls: Mutex::default(),
        });
        for listener in [rs, authorization_server] {
            let app = Router::new().fallback(answer).with_state(Arc::clone(&shared));
            runtime.spawn(async move { axum::serve(listener, app).await });
        }
        Self { shared, _runtime: runtime }
    }

    pub fn urls(&self) -> &Urls {
        &self.shared.urls
    }

    pub fn url(&self) -> &str {
        &self.shared.urls.provider
    }

    /// Behaves like this from now on; the URLs stay.
    pub fn switch(&self, edit: impl FnOnce(&mut Switches)) {
        edit(&mut self.shared.switches.lock().unwrap());
        *self.shared.polls.lock().unwrap() = 0;
    }

    /// The requests so far whose path ends like this.
    pub fn seen(&self, path: &str) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().iter().filter(|seen| seen.path.ends_with(path)).cloned().collect()
    }
}

#[allow(clippy::too_many_lines, reason = "a path an arm")]
async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let at = Instant::now();
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let path = parts.uri.path_and_query().unwrap().as_str().to_owned();
    let is_form = text_header(&parts.headers, "content-type").is_some_and(|kind| kind.contains("urlencoded"));
    let body: Value = match is_form {
        true => url::form_urlencoded::parse(&body)
            .map(|(name, value)| (name.into_owned(), Value::String(value.into_owned())))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        false if body.is_empty() => Value::Null,
        false => serde_json::from_slice(&body).unwrap(),
    };
    shared.seen.lock().unwrap().push(Seen {
        at,
        path: path.clone(),
        authorization: text_header(&parts.headers, "authorization"),
        body: body.clone(),
    });
    let switches = shared.switches.lock().unwrap().clone();
    if let Some((end, instead)) = switches.instead
        && path.ends_with(end)
    {
        return other(instead, &shared.urls).await;
    }
    let given = shared.clients.lock().unwrap().to_owned();
    let known = switches.knows_clients && body["client_id"] == format!("cli_{given}");
    let urls = &shared.urls;
    let issuer = &urls.issuer;
    let edited = |mut value: Value, edit: Edit| {
        edit(&mut value, urls);
        value
    };
    let resource_path = format!("/.well-known/oauth-protected-resource{}", switches.path);
    let resource_path = switches.resource_at.map_or(resource_path, str::to_owned);
    let server_path = switches.server_at.unwrap_or("/.well-known/oauth-authorization-server");
    if path == "/token" {
        let count = shared.seen.lock().unwrap().iter().filter(|seen| seen.path == path).count();
        if let Some(instead) = switches.first_tokens.get(count - 1) {
            return other(*instead, &shared.urls).await;
        }
        if switches.refuses_resource && !body["resource"].is_null() {
            return flat(400, "invalid_target");
        }
    }
    let v1 = format!("{}/v1/", switches.path);
    match path.as_str() {
        path if path == resource_path => {
            let metadata = json!({
                "resource": urls.provider,
                "resource_name": "Made-up Diaries",
                "authorization_servers": [issuer],
                "pdpp_core_query_base": format!("{}/v1", urls.provider),
                "pdpp_token_kinds_supported": ["owner", "client"],
            });
            reply(200, &edited(metadata, switches.resource))
        }
        path if path == server_path => {
            let metadata = json!({
                "issuer": issuer,
                "registration_endpoint": format!("{issuer}/register"),
                "pdpp_registration_modes_supported": ["dynamic"],
                "pushed_authorization_request_endpoint": format!("{issuer}/par"),
                "agent_connect_endpoint": format!("{issuer}/agent-connect"),
                "token_endpoint": format!("{issuer}/token"),
            });
            reply(200, &edited(metadata, switches.server))
        }
        "/register" => {
            let mut clients = shared.clients.lock().unwrap();
            *clients += 1;
            let registered =
                json!({"client_id": format!("cli_{clients}"), "client_name": body["client_name"]});
            reply(201, &edited(registered, switches.registration))
        }
        "/par" | "/device" if known && switches.refuses_details.is_some() => {
            reply(400, &switches.refuses_details.unwrap()())
        }
        "/device" if known => {
            let begun = json!({
                "device_code": DEVICE_CODE,
                "user_code": "WDJB-MJHT",
                "verification_uri": format!("{issuer}/activate"),
                "verification_uri_complete": format!("{issuer}/activate?user_code=WDJB-MJHT"),
                "interval": 1,
                "expires_in": 60,
            });
            reply(200, &edited(begun, switches.device))
        }
        path if path.starts_with("/authorize?") => send_back(path, &switches, urls),
        "/token" => token(&body, known, &shared, &switches),
        "/par" if known => reply(201, &json!({"request_uri": "urn:made-up:1", "expires_in": 300})),
        "/agent-connect" if switches.par_only && body["request_uri"].is_null() => {
            refuse(400, "invalid_request", "request_uri is required for this provider")
        }
        "/agent-connect" if known => {
            let attempt = json!({
                "object": "agent_connect_attempt",
                "approval_url": format!("{issuer}/consent?request_uri=urn%3Amade-up%3A1"),
                "poll_url": format!("{issuer}/agent-connect/agc_1/token"),
                "token_url": format!("{issuer}/agent-connect/agc_1/token"),
                "polling_code": POLLING_CODE,
                "interval": 1,
                "expires_in": 60,
            });
            reply(201, &edited(attempt, switches.attempt))
        }
        "/par" | "/agent-connect" | "/device" => {
            let message = format!("Unknown client_id: {}", body["client_id"].as_str().unwrap_or("none"));
            refuse(400, "invalid_client", &message)
        }
        "/agent-connect/agc_1/token" if body["polling_code"] == POLLING_CODE => {
            let mut polls = shared.polls.lock().unwrap();
            let turn =
                switches.polls.get(*polls).or(switches.polls.last()).copied().unwrap_or(Poll::Approved);
            *polls += 1;
            poll(turn, &switches, urls)
        }
        path if path.starts_with(&v1) => read(&path[v1.len()..], &parts.headers, &switches, urls),
        _ => refuse(404, "not_found", "There is nothing here"),
    }
}

fn query(path: &str) -> std::collections::BTreeMap<String, String> {
    let (_, query) = path.split_once('?').unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// The token endpoint.
fn token(body: &Value, known: bool, shared: &Shared, switches: &Switches) -> Response {
    if !known {
        return flat(401, "invalid_client");
    }
    if body["device_code"] == DEVICE_CODE {
        return device_poll(shared, switches);
    }
    if body["code"] != CODE {
        return flat(400, "invalid_grant");
    }
    let seen = shared.seen.lock().unwrap().clone();
    let begun = seen.iter().rev().find(|seen| seen.path.starts_with("/authorize?")).unwrap();
    let asked = query(&begun.path);
    let verifier = body["code_verifier"].as_str().unwrap_or_default();
    let digest = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
    let challenge = base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, digest);
    if challenge != asked["code_challenge"] || body["redirect_uri"] != json!(asked["redirect_uri"]) {
        return flat(400, "invalid_grant");
    }
    poll(Poll::Approved, switches, &shared.urls)
}

/// The owner approved at once: the browser is redirected back.
fn send_back(path: &str, switches: &Switches, urls: &Urls) -> Response {
    let asked = query(path);
    let mut back =
        vec![("code", CODE.to_owned()), ("state", asked["state"].clone()), ("iss", urls.issuer.clone())];
    (switches.back)(&mut back, urls);
    let mut to = url::Url::parse(&asked["redirect_uri"]).unwrap();
    to.query_pairs_mut().extend_pairs(back);
    (StatusCode::SEE_OTHER, [(header::LOCATION, to.as_str())]).into_response()
}

fn device_poll(shared: &Shared, switches: &Switches) -> Response {
    let mut polls = shared.polls.lock().unwrap();
    let turn = switches.polls.get(*polls).or(switches.polls.last()).copied().unwrap_or(Poll::Approved);
    *polls += 1;
    match turn {
        Poll::Pending => flat(400, "authorization_pending"),
        Poll::Denied => flat(400, "access_denied"),
        Poll::Unknown => flat(400, "invalid_grant"),
        turn => poll(turn, switches, &shared.urls),
    }
}

/// A refusal in the form of RFC 6749 §5.2.
fn flat(status: u16, code: &str) -> Response {
    reply(status, &json!({"error": code, "error_description": format!("Made up: {code}")}))
}

fn poll(turn: Poll, switches: &Switches, urls: &Urls) -> Response {
    match turn {
        Poll::Pending => reply(202, &json!({"error": "authorization_pending", "interval": 1})),
        Poll::SlowDown => reply(400, &json!({"error": "slow_down"})),
        Poll::Denied => refuse(403, "access_denied", "Owner denied the scoped access request"),
        Poll::Expired => reply(400, &json!({"error": "expired_token", "error_description": "Too late"})),
        Poll::Unknown => refuse(401, "invalid_grant", "Unknown agent-connect polling handle"),
        Poll::Broken => broken_off(),
        Poll::Approved => {
            let mut token = json!({
                "access_token": TOKEN,
                "token_type": "Bearer",
                "grant_id": switches.grant_id,
                "grant": {
                    "grant_id": switches.grant_id,
                    "access_mode": "continuous",
                    "issued_at": "2026-01-01T00:00:00.000Z",
                    "expires_at": "2099-01-02T03:04:05.000Z",
                    "source": {"id": "https://registry.example/diary", "kind": "connector"},
                    "streams": [{"name": "entries"}],
                },
            });
            (switches.token)(&mut token, urls);
            reply(200, &token)
        }
    }
}

fn read(path: &str, headers: &HeaderMap, switches: &Switches, urls: &Urls) -> Response {
    if text_header(headers, "authorization").as_deref() != Some(&format!("Bearer {TOKEN}")) {
        let mut refusal = refuse(401, "authentication_error", "No such token");
        if let (true, Some(at)) = (switches.challenges, switches.resource_at) {
            let at = url::Url::parse(&urls.provider).unwrap().join(at).unwrap();
            let challenge = format!("Bearer realm=\"x\", resource_metadata=\"{at}\"");
            refusal.headers_mut().insert(header::WWW_AUTHENTICATE, challenge.parse().unwrap());
        }
        return refusal;
    }
    match path {
        "schema?view=compact" if !switches.core_only => {
            let mut schema = json!({
                "object": "schema",
                "bearer": {"scope": "grant", "token_kind": "client", "grant_id": switches.grant_id},
                "connectors": [{
                    "source": {"id": "https://registry.example/diary", "kind": "connector"},
                    "connector_key": "diary",
                    "granted_connections": [{"connection_id": "cin_1", "display_name": "Paper diary"}],
                    "streams": [{"name": "entries"}, {"name": "moods"}],
                }],
            });
            (switches.schema)(&mut schema, urls);
            reply(200, &schema)
        }
        "streams" => reply(
            200,
            &json!({"object": "list", "has_more": false, "data": [
                {"object": "stream", "name": "entries", "connection_id": "cin_1", "display_name": "Core diary"},
            ]}),
        ),
        _ => refuse(404, "not_found", "No such route"),
    }
}

async fn other(instead: Instead, urls: &Urls) -> Response {
    match instead {
        Instead::NotFound => (StatusCode::NOT_FOUND, "nothing").into_response(),
        Instead::ServerError => (StatusCode::SERVICE_UNAVAILABLE, "down").into_response(),
        Instead::Html => {
            ([(header::CONTENT_TYPE, "text/html")], "<!doctype html><p>Welcome</p>").into_response()
        }
        Instead::OtherJson => reply(200, &json!({"status": "ok"})),
        Instead::Redirect => {
            let to = format!("{}/elsewhere", urls.issuer);
            (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response()
        }
        Instead::Huge => (
            [(header::CONTENT_TYPE, "application/json")],
            Body::from_stream(futures_util::stream::repeat_with(|| {
                Ok::<_, std::io::Error>(vec![b' '; 64 << 10])
            })),
        )
            .into_response(),
        Instead::Deep => reply_text(200, "[".repeat(1 << 20)),
        Instead::Drip => {
            let drips = futures_util::stream::unfold((), |()| async {
                tokio::time::sleep(Duration::from_millis(200)).await;
                Some((Ok::<_, std::io::Error>(vec![b' ']), ()))
            });
            Body::from_stream(drips).into_response()
        }
        Instead::Evil => {
            reply(403, &json!({"error": {"code": EVIL, "message": EVIL}, "error_description": EVIL}))
        }
        Instead::Never => {
            tokio::time::sleep(Duration::from_hours(1)).await;
            StatusCode::OK.into_response()
        }
        Instead::Close => broken_off(),
        Instead::Unauthorized => refuse(401, "context.active_false", "This token is dead"),
    }
}

/// A body that ends too early.
fn broken_off() -> Response {
    let half = futures_util::stream::iter([Ok(vec![b'{']), Err(std::io::Error::other("cut"))]);
    Body::from_stream(half).into_response()
}

fn refuse(status: u16, code: &str, message: &str) -> Response {
    reply(status, &json!({"error": {"type": "error", "code": code, "message": message}}))
}

fn reply(status: u16, body: &Value) -> Response {
    reply_text(status, body.to_string())
}

fn reply_text(status: u16, body: String) -> Response {
    let json = [(header::CONTENT_TYPE, "application/json; charset=utf-8")];
    (StatusCode::from_u16(status).unwrap(), json, body).into_response()
}

fn text_header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| value.to_str().unwrap().to_owned())
}

/// A token that can be refreshed, and expires before its grant.
pub fn with_refresh(token: &mut Value, _: &Urls) {
    token["refresh_token"] = json!(REFRESH);
    token["expires_in"] = json!(3600);
}
