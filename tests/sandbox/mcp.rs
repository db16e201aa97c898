//! The provider's own `/mcp` over a socket, as a remote host uses it.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pdpp::cache::Cache;
use pdpp::cache::credential::{Credential, Secrets};
use pdpp::mcp::protocol::http::{self, Gate, Refusal};
use pdpp::mcp::protocol::service::{Offer, ResourceContents, ResourceError, Service, ToolAnswer};
use pdpp::provider::grant::{GrantedConnection, GrantedSource};
use pdpp::sandbox::Config;
use pdpp::secret::AccessToken;
use pdpp::vault::grant::Grant;
use pdpp::vault::oauth::approval::Granted;
use pdpp::vault::oauth::tokens;
use pdpp::vault::server::Handle;
use pdpp::vault::{Vault, time};
use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};

use super::connect::Page;
use super::{grant, whole};
use crate::support::credential::credential;
use crate::support::env::TestEnv;
use crate::support::filled::{self, Filled};

/// A small MCP client, which follows nothing automatically.
pub struct Host {
    http: reqwest::Client,
    url: String,
    token: Option<String>,
}

pub struct Answered {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl Answered {
    async fn of(request: reqwest::RequestBuilder) -> Self {
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Self { status, headers, text: answer.text().await.unwrap() }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{}", self.text))
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}

impl Host {
    pub fn new(url: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        Self { http: http.build().unwrap(), url: url.to_owned(), token: None }
    }

    pub fn with(&self, token: &str) -> Self {
        Self { http: self.http.clone(), url: self.url.clone(), token: Some(token.to_owned()) }
    }

    async fn get(&self, url: &str) -> Answered {
        Answered::of(self.http.get(url)).await
    }

    async fn form(&self, url: &str, pairs: &[(&str, &str)]) -> Answered {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        let kind = "application/x-www-form-urlencoded";
        Answered::of(self.http.post(url).header("content-type", kind).body(body)).await
    }

    async fn send(&self, message: &Value) -> Answered {
        let mut request = self
            .http
            .post(&self.url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(message.to_string());
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        Answered::of(request).await
    }

    pub async fn call(&self, tool: &str, arguments: &Value) -> Answered {
        self.send(&call(1, tool, arguments)).await
    }

    /// The text and the structured output of a successful call.
    async fn views(&self, tool: &str, arguments: Value) -> (String, Value) {
        let answered = self.call(tool, &arguments).await;
        assert_eq!(answered.status, 200, "{}", answered.text);
        let result = answered.json()["result"].clone();
        assert!(result["isError"].is_null(), "{tool} {arguments}: {}", answered.text);
        (result["content"][0]["text"].as_str().unwrap().to_owned(), result["structuredContent"].clone())
    }
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

pub fn start() -> Filled<Handle> {
    filled::start(Config::default())
}

const MAIL: [&str; 2] = ["cin_mail_work", "cin_mail_personal"];

/// Grants of two sources, and one package of them.
pub fn package(app: &Vault, resource: &str) -> (Vec<Grant>, Granted, tokens::Issued) {
    let grants = vec![
        grant(vec![whole(app, "mail", "messages", &MAIL)]),
        grant(vec![whole(app, "bank", "transactions", &["cin_bank_fjord"])]),
    ];
    let granted = tokens::keep(app, "pdpp_cli", grants.clone()).unwrap();
    let issued = tokens::begin_family(app, &granted, Some(resource)).unwrap();
    (grants, granted, issued)
}

fn client_token(app: &Vault, made: Grant, resource: Option<&str>) -> String {
    let granted = tokens::keep(app, "pdpp_cli", vec![made]).unwrap();
    tokens::begin_family(app, &granted, resource).unwrap().access_token
}

pub fn revoke(app: &Vault, grant_id: &str, token: &str) {
    let bearer = format!("Bearer {token}");
    let revoked =
        super::ask(app, "POST", &format!("/grants/{grant_id}/revoke"), &[("authorization", &bearer)], b"{}");
    assert_eq!(revoked.status, 200);
}

#[tokio::test]
async fn r7_5_the_metadata_says_where_the_endpoint_is_and_who_may_call() {
    let handle = start();
    let (base, host) = (handle.url(), Host::new(&handle.mcp_url()));
    let own = host.get(&format!("{base}/.well-known/oauth-protected-resource")).await.json();
    assert_eq!(
        (own["resource"].as_str(), own["pdpp_core_query_base"].as_str()),
        (Some(base), Some(&*format!("{base}/v1")))
    );
    assert_eq!(own["pdpp_token_kinds_supported"], json!(["client"]));
    assert_eq!(own["pdpp_agent_discovery"]["mcp"]["endpoint"], handle.mcp_url());
    let mcp = host.get(&format!("{base}/.well-known/oauth-protected-resource/mcp")).await.json();
    assert_eq!(
        (mcp["resource"].as_str(), &mcp["authorization_servers"]),
        (Some(&*handle.mcp_url()), &json!([base]))
    );
    assert_eq!(mcp["pdpp_token_kinds_supported"], json!(["client", "mcp_package"]));
    assert!(!mcp.to_string().contains("logo_uri") && !mcp.to_string().contains("\"owner\""));
    // With another of its names, in every place, so that the values that a client compares are equal.
    let named = base.replace("127.0.0.1", "localhost");
    let challenged = Host::new(&format!("{named}/mcp")).send(&call(1, "schema", &json!({}))).await;
    let metadata = format!("{named}/.well-known/oauth-protected-resource/mcp");
    assert_eq!(challenged.json()["error"]["resource_metadata"], metadata);
    assert_eq!(host.get(&metadata).await.json()["resource"], format!("{named}/mcp"));
    assert!(host.get(&format!("{base}/icon.svg")).await.text.starts_with("<svg"));
}

/// As many people write it.
#[tokio::test]
async fn r7_1_a_trailing_slash_is_the_same_endpoint() {
    let handle = start();
    let token =
        handle.vault().issue(grant(vec![whole(handle.vault(), "mail", "messages", &MAIL)])).unwrap().token;
    let host = Host::new(&format!("{}/", handle.mcp_url()));
    let answered = host.with(&token).call("schema", &json!({})).await;
    assert_eq!(
        (answered.status, &answered.json()["result"]["isError"]),
        (200, &Value::Null),
        "{}",
        answered.text
    );
    let challenged = host.call("schema", &json!({})).await;
    assert_eq!(challenged.status, 401);
    assert!(
        challenged.header("www-authenticate").ends_with("oauth-protected-resource/mcp\""),
        "the one metadata"
    );
}

#[tokio::test]
async fn r7_2_r7_3_only_a_live_client_or_package_token_for_this_endpoint_is_served() {
    let handle = start();
    let (app, host) = (handle.vault().as_ref(), Host::new(&handle.mcp_url()));
    let ours = handle.mcp_url();
    let mail = || grant(vec![whole(app, "mail", "messages", &MAIL)]);
    let (grants, kept, several) = package(app, &ours);
    let ended = Grant { expires_at: Some(time::format_ms(time::now_ms() - 1_000)), ..mail() };
    let gone = mail();
    let (gone_id, gone) = (gone.grant_id.clone(), app.issue(gone).unwrap().token);
    revoke(app, &gone_id, &gone);
    let cases = [
        (handle.vault().owner_token().to_owned(), 403, "owner_token_not_accepted"),
        ("made-up".to_owned(), 401, "invalid_token"),
        (several.refresh_token.unwrap(), 401, "invalid_token"),
        (gone, 401, "grant_revoked"),
        (app.issue(ended).unwrap().token, 401, "grant_expired"),
        (client_token(app, mail(), Some("http://127.0.0.1:1/mcp")), 401, "wrong_audience"),
        (client_token(app, mail(), Some("https://elsewhere.example/mcp")), 401, "wrong_audience"),
        (client_token(app, mail(), Some(&ours)), 200, ""),
        (app.issue(mail()).unwrap().token, 200, ""),
        (several.access_token.clone(), 200, ""),
    ];
    for (token, status, code) in cases {
        let answered = host.with(&token).call("schema", &json!({})).await;
        assert_eq!(
            (answered.status, answered.json()["error"]["code"].as_str().unwrap_or_default()),
            (status, code)
        );
        assert_eq!(
            answered.header("www-authenticate").starts_with("Bearer resource_metadata="),
            status == 401,
            "{code}"
        );
        assert!(!answered.text.contains(&token), "a token is never told");
    }
    // A package ends with the last of its grants; its own id stands for all that are left.
    revoke(app, &grants[0].grant_id, &several.access_token);
    assert_eq!(host.with(&several.access_token).call("schema", &json!({})).await.status, 200);
    revoke(app, kept.package_id.as_deref().unwrap(), &several.access_token);
    let answered = host.with(&several.access_token).call("schema", &json!({})).await;
    assert_eq!((answered.status, answered.json()["error"]["code"].as_str()), (401, Some("grant_revoked")));
}

#[tokio::test]
async fn r7_8_a_package_is_served_over_its_grants_and_v1_stays_shut_to_it() {
    let handle = start();
    let (_, granted, issued) = package(handle.vault(), &handle.mcp_url());
    let host = Host::new(&handle.mcp_url()).with(&issued.access_token);
    let (text, _) = host.views("schema", json!({})).await;
    assert!(text.contains("messages") && text.contains("transactions"), "{text}");
    let (text, found) = host.views("search", json!({"q": "invoice", "limit": 4})).await;
    let id = found["results"][0]["id"].clone();
    assert!(text.contains(id.as_str().unwrap()), "{text}");
    assert_eq!(host.views("fetch", json!({ "id": id })).await.1["id"], id);
    let (_, rows) = host.views("query_records", json!({"stream": "transactions", "limit": 2})).await;
    assert_eq!(rows["data"]["data"].as_array().unwrap().len(), 2);
    let (_, counted) = host.views("aggregate", json!({"stream": "transactions", "metric": "count"})).await;
    assert!(counted["data"]["value"].as_u64().unwrap() > 2);
    // Without a source, two accounts of one grant are merged; a stream that is not granted is reported as such.
    let other = host.call("query_records", &json!({"stream": "events"})).await.json();
    assert_eq!(other["result"]["structuredContent"]["error"]["code"], "stream_not_granted");
    let v1 = host.http.get(format!("{}/v1/schema", handle.url())).bearer_auth(&issued.access_token);
    assert_eq!(Answered::of(v1).await.status, 404);
    // One of its grants ends: the rest continues, and no earlier answer is served from memory.
    let mail = granted.grants.iter().find(|grant| grant.streams[0].name == "messages").unwrap();
    revoke(handle.vault(), &mail.grant_id, &issued.access_token);
    let (text, _) = host.views("schema", json!({})).await;
    assert!(!text.contains("messages") && text.contains("transactions"), "{text}");
}

#[tokio::test]
async fn r7_4_nothing_is_written_and_nobody_is_asked_for_more() {
    let handle = start();
    let app = handle.vault().as_ref();
    let count = || {
        app.store()
            .read::<_, rusqlite::Error>(|db, _| {
                db.query_row(
                    "SELECT (SELECT count(*) FROM token), (SELECT count(*) FROM grants), (SELECT value FROM meta WHERE name = 'seq')",
                    [],
                    |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)),
                )
            })
            .unwrap()
    };
    let (_, _, issued) = package(app, &handle.mcp_url());
    let before = count();
    let host = Host::new(&handle.mcp_url()).with(&issued.access_token);
    for (tool, arguments) in calls() {
        host.call(tool, &arguments).await;
    }
    assert_eq!(count(), before, "the bearers for child grants are in no store");
}

/// Two callers with the same ids: each sees its own answers, however their requests interleave.
async fn interleave(pairs: [(Host, &'static str, &'static str); 2], times: usize, arguments: Value) {
    const WORKERS: usize = 16;
    let pairs = Arc::new(pairs);
    let mut running = tokio::task::JoinSet::new();
    for worker in 0..WORKERS {
        let (pairs, message) = (Arc::clone(&pairs), call(1, "query_records", &arguments));
        running.spawn(async move {
            for n in 0..times / WORKERS {
                let (host, own, other) = &pairs[(n + worker) % 2];
                let answered = host.send(&message).await;
                assert_eq!(answered.status, 200, "{}", answered.text);
                let (has_own, has_other) = (answered.text.contains(own), answered.text.contains(other));
                assert!(has_own && !has_other, "{}", answered.text);
            }
        });
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_4_two_callers_with_equal_ids_never_see_each_others_data() {
    let handle = start();
    let app = handle.vault().as_ref();
    let http = Host::new(&handle.mcp_url());
    let of = |connection: &str| {
        let token = app.issue(grant(vec![whole(app, "mail", "messages", &[connection])])).unwrap().token;
        http.with(&token)
    };
    let pairs = [(of(MAIL[0]), MAIL[0], MAIL[1]), (of(MAIL[1]), MAIL[1], MAIL[0])];
    interleave(pairs, 400, json!({"stream": "messages", "limit": 1, "fields": ["subject"]})).await;
}

/// Answers with the caller's identity, later for some than for others.
struct Whose(&'static str, std::sync::atomic::AtomicUsize);

impl Service for Whose {
    fn offer(&self) -> Offer {
        pdpp::mcp::tools::surface::offer()
    }

    fn call(&self, _: &str, _: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
        let turns = self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 5;
        Box::pin(async move {
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            ToolAnswer { text: self.0.to_owned(), structured: None, is_error: false, rows: 0 }
        })
    }

    fn read_resource(&self, _: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
        Box::pin(async { Err(ResourceError::InvalidUri("none".to_owned())) })
    }
}

struct Two([Arc<Whose>; 2]);

impl Gate for Two {
    fn admit(&self, bearer: AccessToken) -> BoxFuture<'_, Result<Arc<dyn Service>, Refusal>> {
        Box::pin(async move {
            let whose = self.0.iter().find(|whose| whose.0 == bearer.expose_bearer());
            whose
                .map(|whose| Arc::clone(whose) as _)
                .ok_or_else(|| Refusal::invalid_token("unknown", "unknown"))
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_4_ten_thousand_interleaved_answers_go_to_whoever_asked() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let gate = Two(["ann", "bob"].map(|name| Arc::new(Whose(name, 0.into()))));
    let endpoint = Arc::new(http::Endpoint::new(url.parse().unwrap()));
    let served = Arc::new(http::Mcp::new(Arc::clone(&endpoint), Arc::new(gate)));
    let router = http::router(&endpoint, move |request| {
        let served = Arc::clone(&served);
        async move { served.answer(request).await }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    let host = Host::new(&url);
    let pairs = [(host.with("ann"), "ann", "bob"), (host.with("bob"), "bob", "ann")];
    interleave(pairs, 10_000, json!({"stream": "messages"})).await;
}

/// Calls that touch every tool, and refusals.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("schema", json!({})),
        ("schema", json!({"stream": "messages"})),
        ("schema", json!({"stream": "messages", "detail": "full"})),
        ("query_records", json!({"stream": "messages", "limit": 3})),
        ("query_records", json!({"stream": "transactions", "limit": 3})),
        ("query_records", json!({"stream": "messages", "limit": 200})),
        ("query_records", json!({"stream": "nowhere"})),
        ("aggregate", json!({"stream": "transactions", "metric": "count"})),
        ("search", json!({"q": "invoice", "limit": 5})),
        ("search", json!({"q": "invoice", "streams": ["messages"], "limit": 2})),
        ("search", json!({"q": "invoice", "bogus": 1})),
        ("fetch", json!({"id": "cin_mail_work/messages:none"})),
        ("fetch", json!({"id": "../x"})),
        ("read_record_field", json!({"id": "cin_mail_work/messages:none", "field_path": "body"})),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_1_the_same_grants_give_the_same_bytes_by_stdio_and_by_http() {
    let handle = start();
    let app = handle.vault().as_ref();
    let (grants, _, issued) = package(app, &handle.mcp_url());
    let host = Host::new(&handle.mcp_url()).with(&issued.access_token);
    let env = TestEnv::new();
    for grant in &grants {
        keep(&env, handle.url(), grant, &tokens::issue_kept(app, grant).unwrap());
    }
    let mut server =
        env.pdpp(&["mcp", "serve"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    let mut by_stdio = |message: &Value| {
        writeln!(input, "{message}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    by_stdio(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
    let mut compared = 0;
    let mut same = async |message: Value| {
        let http = host.send(&message).await;
        assert_eq!(unsealed(&http.text), unsealed(&by_stdio(&message)), "{message}");
        compared += 1;
        http.json()
    };
    same(json!({"jsonrpc": "2.0", "id": "l", "method": "tools/list"})).await;
    for (n, (tool, arguments)) in (1..).zip(calls()) {
        let answer = same(call(n, tool, &arguments)).await;
        // Every hit, read on.
        for hit in answer["result"]["structuredContent"]["results"].as_array().into_iter().flatten() {
            same(call(n, "fetch", &json!({ "id": hit["id"] }))).await;
        }
    }
    assert!(compared > 18, "{compared}");
    drop(input);
    server.wait().unwrap();
}

/// Without the provider's cursors and request ids, which differ each time: their lengths stay.
pub fn unsealed(line: &str) -> String {
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut out = String::new();
    for run in line.split_inclusive(|c| !is_of_token(c)) {
        let token = run.trim_end_matches(|c| !is_of_token(c));
        let is_random = token.len() >= 20 && token.contains(|c: char| c.is_ascii_digit());
        let shown = if is_random { format!("<{}>", token.len()) } else { token.to_owned() };
        out.push_str(&(shown + &run[token.len()..]));
    }
    out
}

/// Stores a grant, like `pdpp connect`.
pub fn keep(env: &TestEnv, url: &str, grant: &Grant, token: &str) {
    let stream = &grant.streams[0];
    let key = stream.source.as_ref().unwrap().id.rsplit('/').next().unwrap().to_owned();
    let named = |id: &String| {
        let display_name = super::shared()
            .store()
            .read::<_, rusqlite::Error>(|_, catalog| {
                Ok(catalog.connection(id).map(|connection| connection.display_name.clone()))
            })
            .unwrap();
        GrantedConnection { id: id.clone(), display_name }
    };
    let source = GrantedSource {
        connector_key: Some(key.clone()),
        connections: stream.instance_ids.iter().map(named).collect(),
        streams: vec![stream.name.clone()],
        stream_count: 1,
        ..GrantedSource::default()
    };
    let credential = Credential { sources: vec![source], ..credential(url, &grant.grant_id, &key) };
    let secrets = Secrets::new(AccessToken::new(token.to_owned()).unwrap(), None);
    Cache::open(&env.cache_dir()).unwrap().store(credential, &secrets, None).unwrap();
}

// ---------------------------------------------------------------- the whole way

/// The owner's browser.
struct Browser<'a> {
    host: &'a Host,
    base: String,
}

impl Browser<'_> {
    /// Opens the owner's link for the request at `page`, ticks these accounts, opens the summary, and approves it;
    /// returns the redirect.
    async fn approve(&self, page: &str, accounts: &[&str]) -> String {
        let opened = self.host.get(&filled::owner_link(page).expect("the owner was told")).await;
        assert_eq!(opened.status, 303, "{}", opened.text);
        let (page, cookie) = (opened.header("location").to_owned(), opened.header("set-cookie").to_owned());
        let cookie = cookie.split(';').next().unwrap();
        let get = async |url: &str| Answered::of(self.host.http.get(url).header("cookie", cookie)).await.text;
        let hidden = |html: &str, name: &str| {
            let value = html.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap();
            (name.to_owned(), value.split('"').next().unwrap().to_owned())
        };
        let send = async |action: &str, form: Vec<(String, String)>| {
            let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
            let request = self
                .host
                .http
                .post(format!("{page}/{action}"))
                .header("content-type", "application/x-www-form-urlencoded")
                .header("origin", &self.base)
                .header("cookie", cookie)
                .body(body);
            let sent = Answered::of(request).await;
            assert_eq!(sent.status, 303, "{}", sent.text);
            sent.header("location").to_owned()
        };
        let shown = get(&page).await;
        let mut form = Page::ticked(&shown);
        form.push(hidden(&shown, "csrf"));
        form.extend(accounts.iter().map(|id| ("connection".to_owned(), (*id).to_owned())));
        let summary = get(&send("review", form).await).await;
        send("approve", vec![hidden(&summary, "csrf"), hidden(&summary, "digest")]).await
    }
}

#[tokio::test]
async fn r7_1_r7_2_r7_5_a_remote_host_goes_the_whole_way_by_itself() {
    let handle = start();
    // It knows only the endpoint's address.
    let host = Host::new(&handle.mcp_url());
    let challenged = host.send(&call(1, "schema", &json!({}))).await;
    assert_eq!(challenged.status, 401);
    let metadata = challenged.header("www-authenticate").split('"').nth(1).unwrap().to_owned();
    let resource = host.get(&metadata).await.json();
    assert_eq!(resource["resource"], handle.mcp_url());
    let issuer = resource["authorization_servers"][0].as_str().unwrap();
    let server = host.get(&format!("{issuer}/.well-known/oauth-authorization-server")).await.json();
    assert_eq!(server["issuer"], issuer);
    let at = |name: &str| server[name].as_str().unwrap().to_owned();
    let registration = json!({
        "client_name": "Remote host", "token_endpoint_auth_method": "none",
        "redirect_uris": ["http://127.0.0.1:49152/callback"],
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
    });
    let registered = host.http.post(at("registration_endpoint")).header("content-type", "application/json");
    let client = Answered::of(registered.body(registration.to_string())).await.json();
    let client = client["client_id"].as_str().unwrap().to_owned();
    for (sources, kind) in
        [(&["cin_bank_fjord"][..], "client"), (&["cin_bank_fjord", "cin_mail_work"], "mcp_package")]
    {
        let tokens =
            approved(&host, &handle, &at("authorization_endpoint"), &at("token_endpoint"), &client, sources)
                .await;
        assert_eq!(tokens["pdpp_token_kind"].as_str().unwrap_or("client"), kind);
        let token = |tokens: &Value, name: &str| tokens[name].as_str().unwrap().to_owned();
        let session = host.with(&token(&tokens, "access_token"));
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "r", "version": "1"}});
        let begun =
            session.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
        assert_eq!(begun.json()["result"]["serverInfo"]["name"], "pdpp");
        let (text, _) = session.views("schema", json!({})).await;
        assert!(
            text.contains("transactions") && text.contains("messages") == (kind == "mcp_package"),
            "{text}"
        );
        let (_, rows) = session.views("query_records", json!({"stream": "transactions", "limit": 1})).await;
        assert_eq!(rows["data"]["data"].as_array().unwrap().len(), 1);
        // Another one later, and the end.
        let form = [
            ("grant_type", "refresh_token"),
            ("client_id", &client),
            ("refresh_token", &token(&tokens, "refresh_token")),
            ("resource", &handle.mcp_url()),
        ];
        let fresh = host.form(&at("token_endpoint"), &form).await.json();
        let session = host.with(&token(&fresh, "access_token"));
        session.views("schema", json!({"stream": "transactions"})).await;
        let grants = fresh["grants"].as_array().cloned().unwrap_or_else(|| vec![fresh["grant"].clone()]);
        for grant in grants {
            revoke(handle.vault(), grant["grant_id"].as_str().unwrap(), &token(&fresh, "access_token"));
        }
        assert_eq!(session.call("schema", &json!({})).await.status, 401);
    }
}

/// A host that never registers: its id is the address of its own document, which the sandbox fetches.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_1_a_host_that_is_its_own_document_goes_the_whole_way_without_registration() {
    let handle = start();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = format!("http://{}/client.json", listener.local_addr().unwrap());
    let document = json!({
        "client_id": client, "client_name": "Host with a document", "token_endpoint_auth_method": "none",
        "redirect_uris": ["http://127.0.0.1:49152/callback"],
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
    });
    let fetched = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&fetched);
    let serve = axum::routing::get(move || async move {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        ([("content-type", "application/json")], document.to_string())
    });
    let router = axum::Router::new().route("/client.json", serve);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let host = Host::new(&handle.mcp_url());
    let server = host.get(&format!("{}/.well-known/oauth-authorization-server", handle.url())).await.json();
    assert_eq!(server["client_id_metadata_document_supported"], true);
    let at = |name: &str| server[name].as_str().unwrap().to_owned();
    let sources = ["cin_bank_fjord"];
    let tokens =
        approved(&host, &handle, &at("authorization_endpoint"), &at("token_endpoint"), &client, &sources)
            .await;
    assert!(fetched.load(std::sync::atomic::Ordering::Relaxed) >= 1);
    let session = host.with(tokens["access_token"].as_str().unwrap());
    let (text, _) = session.views("schema", json!({})).await;
    assert!(text.contains("transactions") && !text.contains("messages"), "{text}");
    let form = [
        ("grant_type", "refresh_token"),
        ("client_id", &client),
        ("refresh_token", tokens["refresh_token"].as_str().unwrap()),
        ("resource", &handle.mcp_url()),
    ];
    let fresh = host.form(&at("token_endpoint"), &form).await.json();
    let session = host.with(fresh["access_token"].as_str().unwrap());
    let (_, rows) = session.views("query_records", json!({"stream": "transactions", "limit": 1})).await;
    assert_eq!(rows["data"]["data"].as_array().unwrap().len(), 1);
    // Another host's document does not count.
    let other = format!("{client}?other");
    let asked = format!("{}?response_type=code&client_id={other}", at("authorization_endpoint"));
    assert!(host.get(&asked).await.status >= 400);
}

/// Sends the owner to the picker with PKCE, and exchanges what comes back.
async fn approved(
    host: &Host,
    handle: &Handle,
    authorize: &str,
    token: &str,
    client: &str,
    sources: &[&str],
) -> Value {
    // RFC 7636, appendix B.
    let (verifier, challenge) =
        ("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    let callback = "http://127.0.0.1:49152/callback";
    let mut address = url::Url::parse(authorize).unwrap();
    address.query_pairs_mut().extend_pairs([
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", callback),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256"),
        ("state", "s"),
        ("resource", &handle.mcp_url()),
    ]);
    let begun = host.get(address.as_str()).await;
    assert_eq!(begun.status, 303, "{}", begun.text);
    let browser = Browser { host, base: handle.url().to_owned() };
    let back = url::Url::parse(&browser.approve(begun.header("location"), sources).await).unwrap();
    let got = back.query_pairs().into_owned().collect::<std::collections::BTreeMap<_, _>>();
    assert_eq!((got["state"].as_str(), got["iss"].as_str()), ("s", handle.url()));
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", client),
        ("code", &got["code"]),
        ("redirect_uri", callback),
        ("code_verifier", verifier),
        ("resource", &handle.mcp_url()),
    ];
    let answered = host.form(token, &form).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    answered.json()
}
