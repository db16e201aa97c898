//! A small provider whose introspection answers what a test wants.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use serde_json::{Value, json};
use tokio::sync::watch;

/// What it does, which can change while it runs.
#[derive(Default)]
pub struct Switches {
    /// What introspection answers for a token; inactive if nothing is set.
    pub tokens: BTreeMap<String, Value>,
    /// The only secret that it accepts.
    pub secret: String,
    /// How introspection fails, if it does.
    pub broken: Option<StatusCode>,
    /// Tokens that introspection was asked about, in order.
    pub asked: Vec<String>,
    /// `/v1` requests: bearer and path, in order; methods other than GET too.
    pub read: Vec<(String, String)>,
}

/// A running fake. It ends with the runtime of its test.
pub struct Fake {
    pub url: String,
    pub switches: Arc<Mutex<Switches>>,
    /// Reads with a token that contains `held`, and questions about one that contains `made-up`, are answered once
    /// this is released.
    pub let_go: watch::Sender<bool>,
}

#[derive(Clone)]
struct Inside {
    url: String,
    switches: Arc<Mutex<Switches>>,
    held: watch::Receiver<bool>,
}

impl Fake {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let switches = Switches { secret: super::SECRET.to_owned(), ..Switches::default() };
        let switches = Arc::new(Mutex::new(switches));
        let (let_go, held) = watch::channel(false);
        let inside = Inside { url: url.clone(), switches: Arc::clone(&switches), held };
        let routes = axum::Router::new().fallback(answer).with_state(inside);
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, switches, let_go }
    }

    /// A token of a separate grant.
    pub fn allow(&self, token: &str) {
        self.say(token, &json!({}));
    }

    /// A token of a separate grant, with these members in the introspection answer.
    pub fn say(&self, token: &str, more: &Value) {
        let mut answer = json!({
            "active": true, "pdpp_token_kind": "client", "client_id": "cli_1", "grant_id": "grt_1",
        });
        answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.switches.lock().unwrap().tokens.insert(token.to_owned(), answer);
    }

    pub fn asked(&self) -> Vec<String> {
        self.switches.lock().unwrap().asked.clone()
    }

    pub fn read(&self) -> Vec<(String, String)> {
        self.switches.lock().unwrap().read.clone()
    }
}

fn json_answer(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

async fn answer(State(mut inside): State<Inside>, request: Request) -> Response {
    let url = &inside.url;
    let path = request.uri().path().to_owned();
    match path.as_str() {
        "/.well-known/oauth-protected-resource" => json_answer(&json!({
            "resource": url, "resource_name": "Fake", "authorization_servers": [url],
            "pdpp_core_query_base": format!("{url}/v1"),
        })),
        // As a host answers there: the endpoint as a separate resource.
        "/.well-known/oauth-protected-resource/mcp" => json_answer(&json!({
            "resource": format!("{url}/mcp"), "authorization_servers": [url],
            "pdpp_core_query_base": format!("{url}/v1"),
        })),
        "/.well-known/oauth-authorization-server" => {
            json_answer(&json!({"issuer": url, "introspection_endpoint": format!("{url}/introspect")}))
        }
        "/introspect" => introspect(&mut inside, request).await,
        _ if path.starts_with("/v1/") => {
            let bearer = request.headers()[header::AUTHORIZATION].to_str().unwrap().to_owned();
            let is_held = bearer.contains("held");
            let asked = format!("{} {path}", request.method());
            inside.switches.lock().unwrap().read.push((bearer, asked));
            if is_held {
                inside.held.wait_for(|let_go| *let_go).await.unwrap();
            }
            json_answer(&json!({"object": "list", "data": [{"note": "canary-record"}], "has_more": false,
                "connectors": [], "bearer": {"token_kind": "client"}}))
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn introspect(inside: &mut Inside, request: Request) -> Response {
    let given = request.headers()[header::AUTHORIZATION].to_str().unwrap().to_owned();
    let body = axum::body::to_bytes(request.into_body(), 1 << 16).await.unwrap();
    // Long enough for all callers to ask at the same time.
    tokio::time::sleep(Duration::from_millis(30)).await;
    let secret = inside.switches.lock().unwrap().secret.clone();
    let wanted = base64::engine::general_purpose::STANDARD.encode(format!("rs:{secret}"));
    if given != format!("Basic {wanted}") {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let form = url::form_urlencoded::parse(&body).into_owned().collect::<BTreeMap<_, _>>();
    let token = form["token"].clone();
    // The token that the endpoint makes up to check its credentials.
    if !token.starts_with("pdpp-mcp-host-checks-") {
        inside.switches.lock().unwrap().asked.push(token.clone());
    }
    if token.contains("made-up") {
        inside.held.wait_for(|let_go| *let_go).await.unwrap();
    }
    let switches = inside.switches.lock().unwrap();
    if let Some(status) = switches.broken {
        return status.into_response();
    }
    json_answer(switches.tokens.get(&token).unwrap_or(&json!({"active": false})))
}
