//! `provider serve --public-url`: hosts on other computers, and strangers, through a proxy.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::filled::{HOME_WORD, WORK_WORD, store_of};
use super::page::{Browser, between};
use super::terminal::Terminal;
use crate::support::env::TestEnv;

pub(super) const PASSPHRASE: &str = "heron under the bridge";
const NAME: &str = "pdpp.example";
const BASE: &str = "https://pdpp.example";
/// The address that ChatGPT is redirected to.
const CALLBACK: &str = "https://chatgpt.com/connector_platform_oauth_redirect";
/// The address that our own client is redirected to.
const LOOPBACK: &str = "http://127.0.0.1:49152/callback";
// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
const JSON: (&str, &str) = ("content-type", "application/json");

/// A store that is served at both of its doors.
pub(super) struct Served {
    pub terminal: Terminal,
    /// For this computer.
    pub here: String,
    /// For a proxy.
    pub behind: String,
    pub code: String,
}

pub(super) fn serve(env: &TestEnv, public_url: &str) -> Served {
    serve_with(env, public_url, PASSPHRASE)
}

/// Serves the store of `env` at a terminal, where this passphrase is chosen.
pub(super) fn serve_with(env: &TestEnv, public_url: &str, passphrase: &str) -> Served {
    let words =
        ["provider", "serve", "--listen", "127.0.0.1:0", "--public-listen", "127.0.0.1:0", "--public-url"];
    let mut terminal = Terminal::run(env, &[&words[..], &[public_url]].concat());
    terminal.answer_unseen("New passphrase", &format!("{passphrase}\n"));
    terminal.answer_unseen("Repeat it", &format!("{passphrase}\n"));
    let here = terminal.line_with("is served at ").split(',').next().unwrap().to_owned();
    terminal.answer(&format!("for others at {public_url}: forward a proxy or tunnel to "), "");
    let behind = terminal.line_with("");
    let code = terminal.line_with("pairing code for the first app that connects from there: ");
    terminal.answer("stop: Ctrl-C", "");
    Served { terminal, here, behind, code }
}

/// The answer.
pub(super) struct Got {
    pub status: StatusCode,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Got {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{}: {}", self.status, self.text))
    }
}

/// A client elsewhere, as the proxy forwards it.
pub(super) struct Remote {
    http: reqwest::Client,
    at: String,
    host: String,
    pub cookie: Option<String>,
}

impl Remote {
    pub fn at(door: &str, host: &str) -> Self {
        Self { http: Browser::new().http, at: door.to_owned(), host: host.to_owned(), cookie: None }
    }

    fn of(served: &Served) -> Self {
        Self::at(&served.behind, NAME)
    }

    pub async fn ask(&mut self, method: Method, to: &str, headers: &[(&str, &str)], body: &str) -> Got {
        let path = to.strip_prefix(&format!("https://{}", self.host)).unwrap_or(to);
        assert!(path.starts_with('/'), "{to} leads elsewhere");
        let mut request = self.http.request(method, format!("{}{path}", self.at)).header("host", &self.host);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        let answer = request.body(body.to_owned()).send().await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        if let Some(set) = headers.get("set-cookie") {
            self.cookie = Some(set.to_str().unwrap().split(';').next().unwrap().to_owned());
        }
        Got { status, headers, text: answer.text().await.unwrap() }
    }

    pub async fn get(&mut self, to: &str) -> Got {
        self.ask(Method::GET, to, &[], "").await
    }

    pub async fn post(&mut self, to: &str, form: &[(&str, &str)]) -> Got {
        let origin = format!("https://{}", self.host);
        self.ask(Method::POST, to, &[FORM, ("origin", &origin)], &encoded(form)).await
    }

    async fn post_json(&mut self, to: &str, body: &Value) -> Got {
        self.ask(Method::POST, to, &[JSON], &body.to_string()).await
    }

    /// One message to `/mcp`, as a host sends it.
    async fn mcp(&mut self, token: &str, method: &str, params: Value) -> Got {
        let bearer = format!("Bearer {token}");
        let headers = [JSON, ("accept", "application/json, text/event-stream"), ("authorization", &bearer)];
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.ask(Method::POST, "/mcp", &headers, &message.to_string()).await
    }
}

fn encoded(form: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish()
}

/// Registers like ChatGPT; returns the client's id.
pub(super) async fn register(remote: &mut Remote) -> String {
    let asked = json!({
        "client_name": "ChatGPT", "redirect_uris": [CALLBACK], "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"], "token_endpoint_auth_method": "client_secret_post",
    });
    let got = remote.post_json("/oauth/register", &asked).await;
    assert_eq!(got.status, StatusCode::CREATED, "{}", got.text);
    let client = got.json();
    assert_eq!(client["token_endpoint_auth_method"], "none");
    assert!(client.get("client_secret").is_none(), "{client}");
    client["client_id"].as_str().unwrap().to_owned()
}

pub(super) fn authorize(client: &str, edit: impl FnOnce(&mut Vec<(&'static str, String)>)) -> String {
    let mut query = vec![
        ("response_type", "code".to_owned()),
        ("client_id", client.to_owned()),
        ("redirect_uri", CALLBACK.to_owned()),
        ("code_challenge", CHALLENGE.to_owned()),
        ("code_challenge_method", "S256".to_owned()),
        ("state", "s 1&x".to_owned()),
        ("resource", format!("{BASE}/mcp")),
        // A host's own metadata.
        ("scope", "claudeai".to_owned()),
    ];
    edit(&mut query);
    let query = query.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>();
    format!("/oauth/authorize?{}", encoded(&query))
}

/// The request on a pairing page.
fn held(page: &str) -> String {
    between(page, "name=\"request\" value=\"", "\"").replace("&amp;", "&")
}

/// Types the pairing code, narrows the request to the subjects of one account and continues to the decision; returns
/// its address and its form.
pub(super) async fn to_decide(
    remote: &mut Remote,
    authorize: &str,
    code: &str,
) -> (String, [(String, String); 2]) {
    let page = remote.get(authorize).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    let paired = remote.post("/oauth/pair", &[("request", &held(&page.text)), ("code", code)]).await;
    assert_eq!(paired.status, StatusCode::SEE_OTHER, "{}", paired.text);
    let cookie = paired.header("set-cookie");
    assert!(cookie.contains("; HttpOnly; SameSite=Strict; Secure") && !cookie.contains("Domain"), "{cookie}");
    let at = paired.header("location").to_owned();
    assert!(
        cookie
            .contains(&format!("; Path={};", at.strip_prefix(&format!("https://{}", remote.host)).unwrap())),
        "{cookie}"
    );
    let page = remote.get(&at).await.text;
    let csrf = between(&page, "name=\"csrf\" value=\"", "\"").to_owned();
    // The first of all: the messages of Work.
    let number = "0";
    let (subject, id) = (format!("{number}.2"), format!("{number}.0"));
    let form = [
        ("csrf", csrf.as_str()),
        ("connection", "cin_work"),
        ("stream", number),
        ("field", &id),
        ("field", &subject),
        ("expires", "1d"),
    ];
    let reviewed = remote.post(&format!("{at}/review"), &form).await;
    assert_eq!(reviewed.status, StatusCode::SEE_OTHER, "{}", reviewed.text);
    let page = remote.get(reviewed.header("location")).await.text;
    assert!(page.contains("type=\"password\""), "{page}");
    let digest = between(&page, "name=\"digest\" value=\"", "\"").to_owned();
    (format!("{at}/approve"), [("csrf".to_owned(), csrf), ("digest".to_owned(), digest)])
}

pub(super) async fn decide(
    remote: &mut Remote,
    (at, form): &(String, [(String, String); 2]),
    passphrase: &str,
) -> Got {
    let form = form.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let form: Vec<_> = form.chain([("passphrase", passphrase)]).collect();
    remote.post(at, &form).await
}

/// The parameters that an app gets back.
fn sent_back(got: &Got, callback: &str) -> std::collections::BTreeMap<String, String> {
    assert_eq!(got.status, StatusCode::SEE_OTHER, "{}", got.text);
    let location = got.header("location");
    assert!(location.starts_with(&format!("{callback}?")), "{location}");
    url::Url::parse(location).unwrap().query_pairs().into_owned().collect()
}

pub(super) async fn exchange(remote: &mut Remote, client: &str, code: &str) -> Got {
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", client),
        ("code", code),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    remote.ask(Method::POST, "/oauth/token", &[FORM], &encoded(&form)).await
}

async fn refresh(remote: &mut Remote, client: &str, token: &str) -> Got {
    let form = [("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", token)];
    remote.ask(Method::POST, "/oauth/token", &[FORM], &encoded(&form)).await
}

/// A client with tokens from the public name: its id and its token answer.
async fn granted(served: &mut Served) -> (String, Value) {
    let mut host = Remote::of(served);
    let client = register(&mut host).await;
    let mut browser = Remote::of(served);
    let deciding = to_decide(&mut browser, &authorize(&client, |_| ()), &served.code).await;
    served.code = served.terminal.line_with("next pairing code: ");
    let back = sent_back(&decide(&mut browser, &deciding, PASSPHRASE).await, CALLBACK);
    let got = exchange(&mut host, &client, &back["code"]).await;
    assert_eq!(got.status, StatusCode::OK, "{}", got.text);
    (client, got.json())
}

/// A program of this computer asks with agent-connect; returns the attempt.
async fn asked_here(here: &str) -> Value {
    let mut local = Remote::at(here, here.strip_prefix("http://").unwrap());
    let got = local.post_json("/agent-connect", &json!({"resource": here, "client_name": "Local"})).await;
    assert_eq!(got.status, StatusCode::CREATED, "{}", got.text);
    got.json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o9_3_a_host_elsewhere_is_paired_granted_and_reads_as_chatgpt_does() {
    let env = TestEnv::new();
    store_of(&env);
    let mut served = serve(&env, BASE);
    let mut host = Remote::of(&served);
    // As MCP requires: refused, led to the metadata, and from there to the authorization server.
    let refused = host.post_json("/mcp", &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize"})).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    let metadata = between(refused.header("www-authenticate"), "resource_metadata=\"", "\"").to_owned();
    assert_eq!(metadata, format!("{BASE}/.well-known/oauth-protected-resource/mcp"));
    let resource = host.get(&metadata).await.json();
    assert_eq!(resource["resource"], format!("{BASE}/mcp"));
    assert_eq!(resource["authorization_servers"], json!([BASE]));
    let issuer = host.get("/.well-known/oauth-authorization-server").await;
    assert!(!issuer.text.contains("127.0.0.1") && !issuer.text.contains("localhost"), "{}", issuer.text);
    assert_eq!(issuer.header("cache-control"), "no-store");
    let issuer = issuer.json();
    assert_eq!(issuer["issuer"], BASE);
    assert_eq!(issuer["registration_endpoint"], format!("{BASE}/oauth/register"));
    assert_eq!(issuer["grant_types_supported"], json!(["authorization_code", "refresh_token"]));
    for absent in [
        "device_authorization_endpoint",
        "pushed_authorization_request_endpoint",
        "agent_connect_endpoint",
        "introspection_endpoint",
    ] {
        assert!(issuer.get(absent).is_none(), "{absent}");
    }

    let client = register(&mut host).await;
    let mut browser = Remote::of(&served);
    let page = browser.get(&authorize(&client, |_| ())).await;
    assert!(page.text.contains("chatgpt.com") && !page.text.contains("ChatGPT"), "{}", page.text);
    for header in ["frame-ancestors 'none'", "form-action 'self';", "base-uri 'none'"] {
        assert!(page.header("content-security-policy").contains(header), "{header}");
    }
    assert_eq!((page.header("x-frame-options"), page.header("cache-control")), ("DENY", "no-store"));
    assert!(page.headers.get("set-cookie").is_none(), "nothing is kept of it");
    let request = held(&page.text);
    let began = Instant::now();
    let wrong = browser.post("/oauth/pair", &[("request", &request), ("code", "BCDF-GHJK-LMNP")]).await;
    assert!(
        wrong.status == StatusCode::FORBIDDEN && wrong.text.contains("not the pairing code"),
        "{}",
        wrong.text
    );
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!(held(&wrong.text), request);

    let first = served.code.clone();
    let deciding = to_decide(&mut browser, &authorize(&client, |_| ()), &first.to_ascii_lowercase()).await;
    served.terminal.answer("The pairing code was used: “ChatGPT” asks to read your data, code ", "");
    served.code = served.terminal.line_with("next pairing code: ");
    assert_ne!(served.code, first);
    let mut other = Remote::of(&served);
    let again = other.post("/oauth/pair", &[("request", &request), ("code", &first)]).await;
    assert_eq!(again.status, StatusCode::FORBIDDEN, "a code is good once");
    let wrong = decide(&mut browser, &deciding, "a wrong one").await;
    assert_eq!(wrong.status, StatusCode::FORBIDDEN, "{}", wrong.text);
    assert_eq!(wrong.header("connection"), "close");
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let decided = decide(&mut browser, &deciding, PASSPHRASE).await;
    let back = sent_back(&decided, CALLBACK);
    assert_eq!((back["state"].as_str(), back["iss"].as_str()), ("s 1&x", BASE));
    served.terminal.answer("Approved: “ChatGPT” can read what you allowed until 20", "");

    let got = exchange(&mut host, &client, &back["code"]).await;
    assert_eq!(got.status, StatusCode::OK, "{}", got.text);
    assert_eq!((got.header("cache-control"), got.header("connection")), ("no-store", "close"));
    let tokens = got.json();
    let token = tokens["access_token"].as_str().unwrap();
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "openai-mcp", "version": "1.0.0"}
    });
    let hello = host.mcp(token, "initialize", hello).await;
    assert_eq!(hello.status, StatusCode::OK, "{}", hello.text);
    let tools = host.mcp(token, "tools/list", json!({})).await;
    assert!(tools.text.contains("\"query_records\"") && tools.text.contains("\"fetch\""), "{}", tools.text);
    let found = host.mcp(token, "tools/call", json!({"name": "search", "arguments": {"q": WORK_WORD}})).await;
    assert!(found.text.contains("number 3"), "{}", found.text);
    assert!(!found.text.contains("about ") && !found.text.contains("127.0.0.1"), "{}", found.text);
    let none = host.mcp(token, "tools/call", json!({"name": "search", "arguments": {"q": HOME_WORD}})).await;
    assert!(!none.text.contains("number 3"), "{}", none.text);
    let bearer = format!("Bearer {token}");
    let rows = host.ask(Method::GET, "/v1/streams/messages/records", &[("authorization", &bearer)], "").await;
    assert!(rows.status == StatusCode::OK && rows.text.contains(WORK_WORD), "{}", rows.text);
    assert_eq!(rows.header("cache-control"), "no-store");

    let next = refresh(&mut host, &client, tokens["refresh_token"].as_str().unwrap()).await;
    assert_eq!(next.status, StatusCode::OK, "{}", next.text);
    let next = next.json();
    let token = next["access_token"].as_str().unwrap();
    assert_eq!(host.mcp(token, "tools/list", json!({})).await.status, StatusCode::OK);
    // The owner's commands know it, and end it at once.
    let id = tokens["grant_id"].as_str().unwrap();
    assert_eq!(env.run(&["provider", "revoke", id, "--yes"]).code, Some(0));
    assert_eq!(host.mcp(token, "tools/list", json!({})).await.status, StatusCode::UNAUTHORIZED);
    served.terminal.interrupt();
    let ran = served.terminal.end();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// However many exist.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_13_strangers_take_no_place_and_see_nothing() {
    let env = TestEnv::new();
    store_of(&env);
    let mut served = serve(&env, BASE);
    let attempt = asked_here(&served.here).await;
    served.terminal.answer("/consent/owner/", "");
    let mut stranger = Remote::of(&served);
    let client = register(&mut stranger).await;
    let mut seen = String::new();
    for _ in 0..300 {
        register(&mut stranger).await;
        let page = stranger.get(&authorize(&client, |_| ())).await;
        assert_eq!(page.status, StatusCode::OK);
        seen = page.text;
    }
    for (method, path) in [
        (Method::POST, "/oauth/par"),
        (Method::POST, "/oauth/device_authorization"),
        (Method::POST, "/agent-connect"),
        (Method::POST, "/agent-connect/agc_1/token"),
        (Method::POST, "/introspect"),
        (Method::POST, "/%6Fauth/par"),
        (Method::POST, "/oauth%2Fpar"),
        (Method::POST, "//oauth/par"),
        (Method::GET, "/owner"),
        (Method::GET, "/owner/"),
        (Method::GET, "/%6fwner"),
        (Method::GET, "/owner/open/guessed"),
        (Method::POST, "/owner/passphrase"),
        (Method::GET, "/consent"),
        (Method::GET, "/consent/device"),
        (Method::GET, "/consent/owner/guessed"),
        (Method::GET, "/consent/%6Fwner/guessed"),
        (Method::GET, "/metrics"),
        (Method::GET, "/healthz"),
    ] {
        let got = stranger.ask(method, path, &[JSON], "{}").await;
        assert!([403, 404].contains(&got.status.as_u16()), "{path}: {} {}", got.status, got.text);
        if ["/oauth/par", "/agent-connect", "/introspect"].contains(&path) {
            assert_eq!(got.json()["error"]["code"], "not_at_public_name", "{path}");
        }
        seen.push_str(&got.text);
    }
    for path in [
        "/",
        "/consent/x",
        "/consent/x/summary",
        "/v1/schema",
        "/v1/connectors",
        "/v1/x",
        "/mcp",
        "/consent.css",
    ] {
        seen.push_str(&stranger.get(path).await.text);
    }
    for said in ["Work", "Home", "Family", WORK_WORD, "cin_", "own.db", &served.code] {
        assert!(!seen.contains(said), "{said}");
    }
    // A pending request here stays pending, and is decided as usual; registrations here are unaffected.
    let link = served.terminal.line_with("");
    let mut local = Browser::new();
    let (status, to, _) = local.get(&format!("{}/consent/owner/{link}", served.here)).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    let (_, _, page) = local.get(&to.unwrap()).await;
    assert!(page.contains(attempt["user_code"].as_str().unwrap()), "{page}");
    let grants = rusqlite::Connection::open(env.cache_dir().join("own/grants.db")).unwrap();
    let clients: i64 = grants.query_row("SELECT count(*) FROM client", [], |row| row.get(0)).unwrap();
    assert_eq!(clients, 1, "the one of this computer");
    served.terminal.interrupt();
    let ran = served.terminal.end();
    assert!(
        !ran.stderr.contains("ChatGPT") && ran.stderr.matches("pairing code").count() == 1,
        "{}",
        ran.stderr
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_6_what_is_of_one_name_is_nothing_at_the_other() {
    let env = TestEnv::new();
    store_of(&env);
    let mut served = serve(&env, BASE);
    let (client, tokens) = granted(&mut served).await;
    let local_name = served.here.strip_prefix("http://").unwrap().to_owned();
    let mut host = Remote::of(&served);
    let mut local = Remote::at(&served.here, &local_name);
    let token = tokens["access_token"].as_str().unwrap();
    // A token of the public name at this computer's name, and its refresh token.
    assert_eq!(local.mcp(token, "tools/list", json!({})).await.status, StatusCode::UNAUTHORIZED);
    let refused = refresh(&mut local, &client, tokens["refresh_token"].as_str().unwrap()).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text);
    assert_eq!(
        refresh(&mut host, &client, tokens["refresh_token"].as_str().unwrap()).await.status,
        StatusCode::OK
    );

    // A client that registered at one is unknown at the other.
    let unknown = local.get(&authorize(&client, |query| query.retain(|(name, _)| *name != "scope"))).await;
    assert!(
        unknown.status == StatusCode::BAD_REQUEST && unknown.text.contains("Unknown client_id"),
        "{}",
        unknown.text
    );
    let asked = json!({"client_name": "App", "redirect_uris": [CALLBACK]});
    let registered = local.post_json("/oauth/register", &asked).await.json();
    let registered = registered["client_id"].as_str().unwrap();
    let unknown = host.get(&authorize(registered, |_| ())).await;
    assert!(
        unknown.status == StatusCode::BAD_REQUEST && unknown.text.contains("Unknown client_id"),
        "{}",
        unknown.text
    );

    // A code that was issued at one, redeemed at the other, by the client that both know.
    let mut browser = Remote::of(&served);
    let deciding = to_decide(&mut browser, &of_cli(BASE), &served.code.clone()).await;
    served.code = served.terminal.line_with("next pairing code: ");
    // Its page, with its cookie, at the other name.
    let path = deciding.0.strip_prefix(BASE).unwrap().strip_suffix("/approve").unwrap().to_owned();
    local.cookie.clone_from(&browser.cookie);
    let elsewhere = local.get(&path).await;
    assert!(
        elsewhere.text.contains("Only the owner decides") && !elsewhere.text.contains("Work"),
        "{}",
        elsewhere.text
    );
    let decided = decide(&mut browser, &deciding, PASSPHRASE).await;
    let back = sent_back(&decided, LOOPBACK);
    assert_eq!(back["iss"], BASE);
    let form = |code: &str| {
        encoded(&[
            ("grant_type", "authorization_code"),
            ("client_id", "pdpp_cli"),
            ("code", code),
            ("redirect_uri", LOOPBACK),
            ("code_verifier", VERIFIER),
        ])
    };
    let refused = local.ask(Method::POST, "/oauth/token", &[FORM], &form(&back["code"])).await;
    assert_eq!(refused.json()["error"], "invalid_grant", "{}", refused.text);
}

/// The request of the client that every name knows, at `base`.
fn of_cli(base: &str) -> String {
    let resource = format!("{base}/mcp");
    authorize("pdpp_cli", |query| {
        for (name, value) in query.iter_mut() {
            match *name {
                "redirect_uri" => LOOPBACK.clone_into(value),
                "resource" => value.clone_from(&resource),
                "scope" => "pdpp:read".clone_into(value),
                _ => {}
            }
        }
    })
}

/// The other way round: an owner's link of this computer, and a token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_6_what_is_of_this_computer_is_nothing_at_the_public_name() {
    let env = TestEnv::new();
    store_of(&env);
    let mut served = serve(&env, BASE);
    granted(&mut served).await;
    let local_name = served.here.strip_prefix("http://").unwrap().to_owned();
    let mut host = Remote::of(&served);
    let mut local = Remote::at(&served.here, &local_name);
    let waits = local.get(&of_cli(&served.here)).await;
    assert_eq!(waits.status, StatusCode::SEE_OTHER, "{}", waits.text);
    served.terminal.answer("/consent/owner/", "");
    let link = served.terminal.line_with("");
    assert_eq!(host.get(&format!("/consent/owner/{link}")).await.status, StatusCode::NOT_FOUND);
    let mut here = Browser::new();
    let (status, to, _) = here.get(&format!("{}/consent/owner/{link}", served.here)).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    let page = to.unwrap().strip_prefix(&served.here).unwrap().to_owned();
    host.cookie.clone_from(&here.cookie);
    let elsewhere = host.get(&page).await;
    assert!(
        elsewhere.text.contains("Only the owner decides") && !elsewhere.text.contains("Work"),
        "{}",
        elsewhere.text
    );
    // A token for no resource, as agent-connect issues it.
    let store = pdpp::own::open(&env.cache_dir().join("own")).unwrap();
    let (grant, _) = store.grants_made().unwrap().remove(0);
    let token =
        store.issue(pdpp::vault::grant::Grant { grant_id: "grt_local".to_owned(), ..grant }).unwrap().token;
    drop(store);
    host.cookie = None;
    let bearer = format!("Bearer {token}");
    for path in ["/v1/schema", "/v1/streams/messages/records"] {
        let got = host.ask(Method::GET, path, &[("authorization", &bearer)], "").await;
        assert!(
            got.status == StatusCode::UNAUTHORIZED && got.text.contains("wrong_audience"),
            "{}",
            got.text
        );
        let got = local.ask(Method::GET, path, &[("authorization", &bearer)], "").await;
        assert_eq!(got.status, StatusCode::OK, "{}", got.text);
    }
    assert_eq!(host.mcp(&token, "tools/list", json!({})).await.status, StatusCode::UNAUTHORIZED);
    let got = host.ask(Method::POST, "/grants/grt_local/revoke", &[("authorization", &bearer)], "").await;
    assert_eq!(got.status, StatusCode::UNAUTHORIZED, "{}", got.text);
    assert_eq!(local.mcp(&token, "tools/list", json!({})).await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_14_pairing_is_for_the_page_that_asks_for_it_and_sends_nobody_anywhere() {
    let env = TestEnv::new();
    store_of(&env);
    let mut served = serve(&env, BASE);
    let mut stranger = Remote::of(&served);
    let client = register(&mut stranger).await;
    let page = stranger.get(&authorize(&client, |_| ())).await;
    let right = encoded(&[("request", &held(&page.text)), ("code", &served.code)]);
    // Another site's page with the right code, which it cannot know; a code in an address; a page in a frame.
    for headers in [
        &[FORM, ("origin", "https://evil.example")][..],
        &[FORM, ("origin", "null")],
        &[FORM, ("origin", &served.behind)],
        &[FORM, ("origin", "http://pdpp.example")],
        &[FORM, ("sec-fetch-site", "cross-site")],
        &[FORM, ("sec-fetch-site", "same-site")],
    ] {
        let got = stranger.ask(Method::POST, "/oauth/pair", headers, &right).await;
        assert!(
            got.status == StatusCode::FORBIDDEN && got.headers.get("set-cookie").is_none(),
            "{headers:?}: {}",
            got.text
        );
    }
    let got = stranger.ask(Method::GET, &format!("/oauth/pair?{right}"), &[], "").await;
    assert_eq!(got.status, StatusCode::METHOD_NOT_ALLOWED, "{}", got.text);
    let got = stranger.ask(Method::POST, &format!("/oauth/pair?{right}"), &[FORM], "").await;
    assert_eq!(got.status, StatusCode::BAD_REQUEST, "{}", got.text);
    let framed = [("sec-fetch-dest", "iframe")];
    let got = stranger.ask(Method::GET, &authorize(&client, |_| ()), &framed, "").await;
    assert_eq!(got.status, StatusCode::BAD_REQUEST);
    // No fault of a request redirects the browser anywhere, before the code or with it.
    let set = |name: &'static str, to: &'static str| {
        authorize(&client, |query| {
            query.retain(|(known, _)| *known != name);
            if !to.is_empty() {
                query.push((name, to.to_owned()));
            }
        })
    };
    for request in [
        set("redirect_uri", "https://evil.example/cb"),
        set("redirect_uri", "https://chatgpt.com/connector_platform_oauth_redirect/../x"),
        set("redirect_uri", "https://chatgpt.com@evil.example/"),
        set("redirect_uri", "javascript:alert(1)"),
        set("redirect_uri", ""),
        set("client_id", "pub_made-up"),
        set("client_id", ""),
        set("code_challenge", ""),
        set("code_challenge_method", "plain"),
        set("response_type", "token"),
        set("resource", "https://evil.example/mcp"),
        set("resource", "http://127.0.0.1:7378/mcp"),
        format!("{}&state=twice", authorize(&client, |_| ())),
    ] {
        let got = stranger.get(&request).await;
        assert!(got.status == StatusCode::BAD_REQUEST && got.headers.get("location").is_none(), "{request}");
        let query = request.split_once('?').unwrap().1;
        let got = stranger.post("/oauth/pair", &[("request", query), ("code", &served.code)]).await;
        assert!(got.status == StatusCode::BAD_REQUEST && got.headers.get("location").is_none(), "{request}");
    }
    // A script in a request stays text.
    let evil = "\"><script>alert(1)</script>";
    let got =
        stranger.get(&authorize(&client, |query| query.push(("purpose_description", evil.to_owned())))).await;
    assert!(got.status == StatusCode::OK && !got.text.contains("<script"), "{}", got.text);
    // None of that used up the code.
    let got = stranger.post("/oauth/pair", &[("request", &held(&page.text)), ("code", &served.code)]).await;
    assert_eq!(got.status, StatusCode::SEE_OTHER, "{}", got.text);
    served.terminal.answer("next pairing code: ", "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_13_a_document_is_fetched_after_pairing_alone() {
    let env = TestEnv::new();
    store_of(&env);
    let served = serve(&env, BASE);
    let fetched = Arc::new(AtomicUsize::new(0));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let id = format!("http://{}/client.json", listener.local_addr().unwrap());
    let document =
        json!({"client_id": id, "client_name": "Documented", "redirect_uris": [CALLBACK]}).to_string();
    let count = Arc::clone(&fetched);
    let routes = axum::Router::new().fallback(move || {
        count.fetch_add(1, Ordering::Relaxed);
        let document = document.clone();
        async move { ([("content-type", "application/json")], document) }
    });
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let mut stranger = Remote::of(&served);
    let page = stranger.get(&authorize(&id, |_| ())).await;
    assert!(page.status == StatusCode::OK && page.text.contains("chatgpt.com"), "{}", page.text);
    let request = held(&page.text);
    stranger.post("/oauth/pair", &[("request", &request), ("code", "BCDF-GHJK-LMNP")]).await;
    let refused = exchange(&mut stranger, &id, "guessed").await;
    assert_eq!(refused.json()["error"], "invalid_grant", "{}", refused.text);
    let refused = refresh(&mut stranger, &id, "guessed").await;
    assert_eq!(refused.json()["error"], "invalid_grant", "{}", refused.text);
    assert_eq!(fetched.load(Ordering::Relaxed), 0);
    let mut browser = Remote::of(&served);
    let deciding = to_decide(&mut browser, &authorize(&id, |_| ()), &served.code).await;
    assert_eq!(fetched.load(Ordering::Relaxed), 1);
    let back = sent_back(&decide(&mut browser, &deciding, PASSPHRASE).await, CALLBACK);
    assert_eq!(exchange(&mut stranger, &id, &back["code"]).await.status, StatusCode::OK);
    assert_eq!(fetched.load(Ordering::Relaxed), 1);
}

/// What a client that sends `sent` gets before the server disconnects or sends nothing for a moment.
fn raw(door: &str, sent: &[u8]) -> String {
    let mut stream = TcpStream::connect(door.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(700))).unwrap();
    stream.write_all(sent).unwrap();
    let (mut all, mut part) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = stream.read(&mut part) {
        all.extend_from_slice(&part[..read]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

#[test]
fn r7_6_a_request_is_for_the_door_that_it_came_to() {
    let env = TestEnv::new();
    store_of(&env);
    let served = serve(&env, BASE);
    let local_name = served.here.strip_prefix("http://").unwrap().to_owned();
    let proxied = served.behind.strip_prefix("http://").unwrap().to_owned();
    let path = "/.well-known/oauth-authorization-server";
    let asks = |door: &str, target: &str, hosts: &[&str]| {
        let hosts: String = hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
        raw(door, format!("GET {target} HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n").as_bytes())
    };
    for host in ["pdpp.example", "PDPP.Example", "pdpp.example:443"] {
        let answer = asks(&served.behind, path, &[host]);
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"issuer\":\"https://pdpp.example\""),
            "{answer}"
        );
    }
    assert!(asks(&served.behind, &format!("http://pdpp.example{path}"), &["pdpp.example"]).contains(" 200 "));
    // A proxy that does not forward Host, like nginx by default; a page whose name was made to lead here; two names
    // at once.
    for (target, hosts) in [
        (path.to_owned(), &[proxied.as_str()][..]),
        (path.to_owned(), &[local_name.as_str()]),
        (path.to_owned(), &["localhost"]),
        (path.to_owned(), &["evil.example"]),
        (path.to_owned(), &["pdpp.example."]),
        (path.to_owned(), &["pdpp.example:7379"]),
        (path.to_owned(), &["pdpp.example", "pdpp.example"]),
        (path.to_owned(), &["pdpp.example", &local_name]),
        (path.to_owned(), &[&local_name, "pdpp.example"]),
        (path.to_owned(), &["pdpp.example, evil.example"]),
        (path.to_owned(), &[""]),
        (path.to_owned(), &[]),
        (format!("http://{local_name}{path}"), &["pdpp.example"]),
        (format!("https://evil.example{path}"), &["pdpp.example"]),
        (format!("http://pdpp.example@evil.example{path}"), &["pdpp.example"]),
    ] {
        let answer = asks(&served.behind, &target, hosts);
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert!(["421", "400"].contains(&status), "{target} {hosts:?}: {answer}");
        assert!(!answer.contains("issuer"), "{answer}");
    }
    // The public name at this computer's door, and a proxy that leads there.
    for hosts in [
        &["pdpp.example"][..],
        &["pdpp.example:443"],
        &["pdpp.example", &local_name],
        &[&local_name, "pdpp.example"],
    ] {
        assert!(asks(&served.here, path, hosts).contains(" 421 "), "{hosts:?}");
    }
    let answer = asks(&served.here, &format!("http://pdpp.example{path}"), &[&local_name]);
    assert!(answer.contains(" 421 "), "{answer}");
    assert!(asks(&served.here, path, &[&local_name]).contains(" 200 "));
    for header in
        ["X-Forwarded-For: 203.0.113.5", "Forwarded: for=203.0.113.5", "Via: 1.1 proxy", "CF-Ray: 1"]
    {
        let sent =
            format!("GET {path} HTTP/1.1\r\nHost: {local_name}\r\n{header}\r\nConnection: close\r\n\r\n");
        let answer = raw(&served.here, sent.as_bytes());
        assert!(answer.contains(" 421 ") && answer.contains(&served.behind), "{header}: {answer}");
        // At the public door they have no effect.
        let sent = format!(
            "GET {path} HTTP/1.1\r\nHost: pdpp.example\r\n{header}\r\nX-Forwarded-Proto: http\r\n\
             X-Forwarded-Host: evil.example\r\nConnection: close\r\n\r\n"
        );
        let answer = raw(&served.behind, sent.as_bytes());
        assert!(
            answer.contains(" 200 ") && !answer.contains("evil.example") && !answer.contains("http:"),
            "{answer}"
        );
    }
}

#[test]
fn r7_6_two_requests_in_one_are_one_or_none() {
    let env = TestEnv::new();
    store_of(&env);
    let served = serve(&env, BASE);
    let inner = "GET /v1/schema HTTP/1.1\r\nHost: pdpp.example\r\n\r\n";
    let post = |headers: &str, body: &str| {
        format!(
            "POST /oauth/register HTTP/1.1\r\nHost: pdpp.example\r\nContent-Type: application/json\r\n{headers}\r\n\r\n{body}"
        )
    };
    // If the length is given twice, nobody can tell where the next request begins: it is refused, or the connection
    // ends.
    for (name, sent) in [
        ("two lengths", post("Content-Length: 0\r\nContent-Length: 60", inner)),
        ("a length that is none", post("Content-Length: +0", inner)),
        ("lengths in one", post("Content-Length: 0, 60", inner)),
        ("odd coding", post("Transfer-Encoding: xchunked", inner)),
        ("coding of no chunks", post("Transfer-Encoding: chunked, identity", inner)),
        ("folded", post("X: 1\r\n Transfer-Encoding: chunked\r\nContent-Length: 2", &format!("{{}}{inner}"))),
        ("a space before the colon", post("Transfer-Encoding : chunked", inner)),
        ("a chunk that is none", post("Transfer-Encoding: chunked", &format!("-1\r\n{inner}"))),
        ("a bare return", format!("GET / HTTP/1.1\r\nHost: pdpp.example\rX: 1\r\n\r\n{inner}")),
        ("a nul", format!("GET /\0 HTTP/1.1\r\nHost: pdpp.example\r\n\r\n{inner}")),
        ("an old protocol", format!("GET / HTTP/0.9\r\nHost: pdpp.example\r\n\r\n{inner}")),
        (
            "a long head",
            format!("GET / HTTP/1.1\r\nHost: pdpp.example\r\nX: {}\r\n\r\n", "x".repeat(300 << 10)),
        ),
    ] {
        let answer = raw(&served.behind, sent.as_bytes());
        assert!(answer.matches("HTTP/1.1 ").count() <= 1, "{name}: {answer}");
        assert!(!answer.starts_with("HTTP/1.1 2"), "{name}: {answer}");
    }
    // A transfer coding takes precedence over a length (RFC 9112 §6.3), as in every proxy: what follows the chunks is
    // the next request.
    let both = post("Content-Length: 4\r\nTransfer-Encoding: chunked", &format!("0\r\n\r\n{inner}"));
    let answer = raw(&served.behind, both.as_bytes());
    assert!(answer.matches("HTTP/1.1 ").count() <= 2 && !answer.contains(" 200 "), "{answer}");
    assert!(
        raw(&served.behind, b"GET / HTTP/1.1\r\nHost: pdpp.example\r\nConnection: close\r\n\r\n")
            .contains(" 200 ")
    );
    // All features of a proxy that speaks HTTP/1.0 to the server behind it.
    assert!(raw(&served.behind, b"GET / HTTP/1.0\r\nHost: pdpp.example\r\n\r\n").contains(" 200 "));
}

/// More incomplete requests than there are places, through the proxy's one address, while people make requests at
/// both doors.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o7_13_half_requests_at_the_public_name_lock_nobody_out() {
    let env = TestEnv::new();
    store_of(&env);
    let served = serve(&env, BASE);
    let address = served.behind.strip_prefix("http://").unwrap();
    let mut half = Vec::new();
    for number in 0..300 {
        let mut stream = TcpStream::connect(address).unwrap();
        let sent: &[u8] = match number % 2 {
            0 => b"GET /oauth/authorize?client_id=",
            _ => b"POST /oauth/pair HTTP/1.1\r\nHost: pdpp.example\r\nContent-Length: 900\r\n\r\nhalf",
        };
        let _ = stream.write_all(sent);
        half.push(stream);
    }
    // Few guesses wait for their answer at once, and others do not wait for them.
    let guesses: Vec<_> = (0..40)
        .map(|_| {
            let mut guesser = Remote::of(&served);
            tokio::spawn(async move {
                let client = register(&mut guesser).await;
                let page = guesser.get(&authorize(&client, |_| ())).await.text;
                guesser
                    .post("/oauth/pair", &[("request", &held(&page)), ("code", "BCDF-GHJK-LMNP")])
                    .await
                    .status
            })
        })
        .collect();
    let mut others = Remote::of(&served);
    for _ in 0..20 {
        let began = Instant::now();
        assert_eq!(others.get("/.well-known/oauth-authorization-server").await.status, StatusCode::OK);
        assert!(began.elapsed() < Duration::from_secs(5));
    }
    asked_here(&served.here).await;
    for guess in guesses {
        assert_eq!(guess.await.unwrap(), StatusCode::FORBIDDEN);
    }
    drop(half);
}

/// A proxy with TLS, as far as this test needs one: it forwards everything unchanged.
async fn proxy(to: String, listener: tokio::net::TcpListener, made: &rcgen::CertifiedKey<rcgen::KeyPair>) {
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())
            .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, to) = (acceptor.clone(), to.clone());
        tokio::spawn(async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            let mut behind =
                tokio::net::TcpStream::connect(to.strip_prefix("http://").unwrap()).await.unwrap();
            let _ = tokio::io::copy_bidirectional(&mut stream, &mut behind).await;
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn our_own_client_connects_through_tls() {
    let env = TestEnv::new();
    store_of(&env);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("https://localhost:{port}");
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let ca_file = env.home().join("ca.pem");
    std::fs::write(&ca_file, made.cert.pem()).unwrap();
    let mut served = serve(&env, &url);
    let behind = served.behind.clone();
    tokio::spawn(async move { proxy(behind, listener, &made).await });
    let (code, door) = (served.code.clone(), served.behind.clone());
    let ca = ca_file.to_str().unwrap().to_owned();
    let runtime = tokio::runtime::Handle::current();
    let connected = tokio::task::spawn_blocking(move || {
        let connected = crate::connect::flows::by_code_at(&env, &url, &["--ca-file", &ca], |page| {
            let (name, sent) = (url.strip_prefix("https://").unwrap(), page.url.clone());
            let decided = runtime.block_on(async {
                let mut browser = Remote::at(&door, name);
                let deciding = to_decide(&mut browser, &sent, &code).await;
                decide(&mut browser, &deciding, PASSPHRASE).await
            });
            assert_eq!(decided.status, StatusCode::SEE_OTHER, "{}", decided.text);
            let (status, ..) = page.visit(decided.header("location"));
            assert_eq!(status, 200);
        });
        (connected, env)
    });
    let (connected, env) = connected.await.unwrap();
    assert_eq!(connected.code, Some(0), "{connected:?}");
    served.terminal.answer("next pairing code: ", "");
    let status = tokio::task::spawn_blocking(move || {
        let status = env.run(&["status", "--json"]);
        let ended = env.run(&["disconnect", "--yes", "--ca-file", ca_file.to_str().unwrap()]);
        (status, ended)
    });
    let (status, ended) = status.await.unwrap();
    assert!(status.stdout.contains("messages"), "{status:?}");
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_public_url_that_is_none_is_a_usage_error() {
    let env = TestEnv::new();
    store_of(&env);
    for url in [
        "http://pdpp.example",
        "pdpp.example",
        "https://pdpp.example/p",
        "https://u@pdpp.example",
        "https://x.example.",
    ] {
        let ran = env.run(&["provider", "serve", "--public-url", url]);
        assert_eq!(ran.code, Some(2), "{url}: {}", ran.stderr);
    }
    let ran = env.run(&["provider", "serve", "--public-listen", "127.0.0.1:0"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}
