//! A package's token, read through its provider's own `/mcp`: the sandbox's, and a small one.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use pdpp::advice::Command;
use pdpp::cache::Cache;
use pdpp::cache::credential::{Credential, Renewal, Secrets};
use pdpp::mcp::protocol::client::Client;
use pdpp::mcp::protocol::service::{Service as _, ToolAnswer};
use pdpp::mcp::reading::hosted_tools::HostedTools;
use pdpp::mcp::reading::reader::{BearerSource, DeadBearer, Reader};
use pdpp::mcp::size::Bounds;
use pdpp::mcp::tools::service::Tools;
use pdpp::provider::grant::TokenKind;
use pdpp::provider::http::{Http, Limits};
use pdpp::provider::rs::ResourceServer;
use pdpp::secret::AccessToken;
use pdpp::vault::oauth::approval::Granted;
use pdpp::vault::oauth::tokens;
use serde_json::{Value, json};

use super::mcp::{Host, keep, package, revoke, start, unsealed};
use crate::support::credential::credential;
use crate::support::env::TestEnv;

/// Stores a package's expired token, with the refresh token that gets the next one.
fn keep_package(env: &TestEnv, url: &str, granted: &Granted, issued: &tokens::Issued) {
    let cache = Cache::open(&env.cache_dir()).unwrap();
    let credential = Credential {
        client_id: Some("pdpp_cli".to_owned()),
        token_kind: TokenKind::McpPackage,
        token_expires_at: Some("2026-01-01T00:00:00Z".parse().unwrap()),
        refreshable: true,
        renewal: Renewal { resource: Some(format!("{url}/mcp")), ..Renewal::default() },
        ..credential(url, granted.package_id.as_deref().unwrap(), "Both")
    };
    let refresh = issued.refresh_token.clone().unwrap();
    let secrets = Secrets::new(
        AccessToken::new("ended".to_owned()).unwrap(),
        Some(secrecy::SecretString::from(refresh)),
    );
    cache.store(credential, &secrets, None).unwrap();
}

fn token_of(app: &pdpp::vault::Vault, grant: &pdpp::vault::grant::Grant) -> String {
    tokens::issue_kept(app, grant).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r6_1_r7_8_a_cached_package_is_read_through_its_providers_own_tools() {
    let handle = start();
    let (grants, granted, issued) = package(handle.vault(), &handle.mcp_url());
    let host = Host::new(&handle.mcp_url()).with(&issued.access_token);
    let env = TestEnv::new();
    keep_package(&env, handle.url(), &granted, &issued);
    let call = |tool: &str, arguments: &Value| {
        let ran = env.run(&["mcp", "call", tool, &arguments.to_string(), "--json"]);
        assert!(ran.stderr.is_empty() || ran.code != Some(0), "{}", ran.stderr);
        serde_json::from_str::<Value>(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"))
    };
    for (tool, arguments) in [
        ("schema", json!({})),
        ("schema", json!({"stream": "messages"})),
        ("query_records", json!({"stream": "messages", "limit": 3})),
        ("aggregate", json!({"stream": "transactions", "metric": "count"})),
    ] {
        let (here, there) = (call(tool, &arguments), host.call(tool, &arguments).await.json());
        // The provider's cursor over several grants is contained in ours, and our call names the one connection that
        // has a stream.
        let views = |result: &Value| {
            let views = unsealed(&json!([result["content"], result["structuredContent"]]).to_string());
            let views = views.replace("&connection_id=cin_bank_fjord", "");
            views
                .split("pdpp1.<")
                .map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(views(&here), views(&there["result"]), "{tool} {arguments}");
    }
    // Each connection is searched separately, in turns: a merged list need not be walked to the end.
    let found = call("search", &json!({"q": "invoice", "limit": 4}));
    let hits = found["structuredContent"]["results"].as_array().unwrap();
    let of = |id: &str| hits.iter().filter(|hit| hit["connection_id"] == id).count();
    assert_eq!((of("cin_mail_work"), of("cin_mail_personal"), hits.len()), (2, 2, 4), "{found}");
    let found = call("search", &json!({"q": "invoice", "limit": 1}));
    let id = found["structuredContent"]["results"][0]["id"].clone();
    assert_eq!(call("fetch", &json!({ "id": id }))["structuredContent"]["id"], id);
    // Wrong everywhere: reported without a request.
    let wrong = env.run(&["mcp", "call", "search", r#"{"q":"x","bogus":1}"#, "--view", "text"]);
    assert!(
        wrong.stdout.contains("unknown_argument") || wrong.stderr.contains("unknown_argument"),
        "{wrong:?}"
    );

    // Together with a separate grant: one index, each read from its own source, and the answer states what was not
    // searched.
    let other = start();
    let (more, _, _) = package(other.vault(), &other.mcp_url());
    keep(&env, other.url(), &more[1], &token_of(other.vault(), &more[1]));
    let index = call("schema", &json!({}));
    let text = index["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("messages") && text.contains("transactions"), "{text}");
    let found = call("search", &json!({"q": "bakeri", "limit": 4}));
    let hits = found["structuredContent"]["results"].as_array().unwrap();
    let of = |url: &str| hits.iter().filter(|hit| hit["url"].as_str().unwrap().starts_with(url)).count();
    assert_eq!((of(handle.url()), of(other.url())), (2, 2), "in turns: {found}");
    // A filter keeps its types on the way to hosted tools, so the schema is read with it too.
    let filtered =
        json!({"q": "bakeri", "streams": ["transactions"], "filter": {"currency": "NOK"}, "limit": 4});
    let found = call("search", &filtered);
    let hits = found["structuredContent"]["results"].as_array().unwrap();
    let of = |url: &str| hits.iter().filter(|hit| hit["url"].as_str().unwrap().starts_with(url)).count();
    assert_eq!((of(handle.url()), of(other.url())), (2, 2), "in turns: {found}");
    assert_eq!(found["structuredContent"]["data"]["meta"]["warnings"], json!([]), "{found}");
    // To the end, in the one process that a walk lasts for: nothing twice, nothing lost.
    let command = env.server(&[]);
    let mut client = Client::start(&command, Duration::from_mins(2)).await.unwrap();
    let (mut next, mut walked) = (json!({"q": "bakeri", "limit": 100}), Vec::new());
    while next.is_object() {
        let answer = client.call_tool("search", next.as_object().unwrap().clone()).await.unwrap();
        let hits = answer["structuredContent"]["results"].as_array().unwrap();
        walked.extend(hits.iter().map(|hit| hit["url"].to_string()));
        next = answer["structuredContent"]["next"]["arguments"].clone();
    }
    let alone =
        super::walk(other.vault(), &token_of(other.vault(), &more[1]), "/v1/search?q=bakeri&limit=100").0;
    assert_eq!(walked.len(), 2 * alone.len(), "each of the two has the same bank");
    assert_eq!(walked.iter().collect::<BTreeSet<_>>().len(), walked.len());
    client.close().await;
    let rows =
        call("query_records", &json!({"stream": "messages", "connection_id": "cin_mail_work", "limit": 1}));
    assert!(rows["content"][0]["text"].as_str().unwrap().contains("cin_mail_work/messages:"), "{rows}");

    // The grants end: the answer reports it, and names the command to type.
    let token = tokens::issue_kept(handle.vault(), &grants[0]).unwrap();
    revoke(handle.vault(), &grants[0].grant_id, &token);
    let token = tokens::issue_kept(handle.vault(), &grants[1]).unwrap();
    revoke(handle.vault(), &grants[1].grant_id, &token);
    let gone = env.run(&["mcp", "call", "schema", "{}", "--view", "text", "--provider", handle.url()]);
    let output = gone.stdout + &gone.stderr;
    assert!(output.contains(&format!("pdpp connect {} --renew", handle.url())), "{output}");
}

/// One message, as it arrived.
#[derive(Debug, Clone)]
struct Asked {
    method: String,
    bearer: String,
    session: Option<String>,
    version: Option<String>,
    body: Value,
}

/// A provider with its own hosted tools, and the tool core that reads through them.
struct Fake {
    core: Tools,
    url: String,
    log: Arc<Mutex<Vec<Asked>>>,
}

impl Fake {
    /// Answers each message with the result of `answer`; the bearer is the next of `bearers` each time one is dead.
    async fn start(bearers: &[&str], answer: impl Fn(&Asked) -> Response + Send + Sync + 'static) -> Self {
        let log = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&log), Arc::new(answer));
        let app = axum::Router::new().fallback(move |request: Request| {
            let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
            async move {
                let (head, body) = request.into_parts();
                let header =
                    |name: &str| head.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
                let (bearer, session, version) = (
                    header("authorization").unwrap(),
                    header("mcp-session-id"),
                    header("mcp-protocol-version"),
                );
                let path = head.uri.path();
                let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
                let body: Value = serde_json::from_slice(&body).unwrap();
                let method = format!("{} {}", path, body["method"].as_str().unwrap());
                let asked = Asked { method, bearer, session, version, body };
                let answer = answer(&asked);
                seen.lock().unwrap().push(asked);
                answer
            }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/tenant", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        let provider: pdpp::provider::url::ProviderUrl = url.parse().unwrap();
        let http = Http::new(Limits::default());
        let rs = ResourceServer::new(http.clone(), &provider, format!("{url}/v1").parse().unwrap()).unwrap();
        let mut bearers = bearers.iter().map(|bearer| (*bearer).to_owned()).collect::<VecDeque<_>>();
        let first = bearers.pop_front().unwrap();
        let bearer: BearerSource = Arc::new(move || {
            let first = first.clone();
            async move { Ok(AccessToken::new(first).unwrap()) }.boxed()
        });
        let rest = Mutex::new(bearers);
        let instead: DeadBearer = Arc::new(move |_| {
            let next = rest.lock().unwrap().pop_front();
            let none = || pdpp::error::Error::failed("token_dead", "no other");
            async move { next.map(|next| AccessToken::new(next).unwrap()).ok_or_else(none) }.boxed()
        });
        let hosted = HostedTools::new(http, &provider, rs);
        let reader = Reader::new(provider, Some("pkg_1".to_owned()), hosted, bearer)
            .instead_of_dead(instead)
            .renewed_by(Command::connect(url.as_str()).words("--renew"));
        Self { core: Tools::over_one(reader, Bounds::default()), url, log }
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolAnswer {
        self.core.call(tool, arguments.as_object().unwrap().clone()).await
    }

    fn methods(&self) -> Vec<String> {
        self.log
            .lock()
            .unwrap()
            .drain(..)
            .map(|asked| asked.method.split(' ').nth(1).unwrap().to_owned())
            .collect()
    }
}

fn result(asked: &Asked, result: &Value) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result});
    ([("content-type", "application/json")], body.to_string()).into_response()
}

/// A server that keeps sessions, answers in events, and has three tools: one of ours, one of ours with fewer
/// arguments, and one of its own.
fn stateful(asked: &Asked) -> Response {
    match asked.method.as_str() {
        "/tenant/mcp initialize" => {
            let mut begun = result(
                asked,
                &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "f", "version": "1"}}),
            );
            begun.headers_mut().insert("mcp-session-id", "s-1".parse().unwrap());
            begun
        }
        "/tenant/mcp notifications/initialized" => axum::http::StatusCode::ACCEPTED.into_response(),
        "/tenant/mcp tools/list" => {
            let taking = |name: &str, known: &[&str]| {
                let known = known
                    .iter()
                    .map(|name| ((*name).to_owned(), json!({})))
                    .collect::<serde_json::Map<_, _>>();
                json!({"name": name, "inputSchema": {"type": "object", "properties": known}})
            };
            let page = match asked.body["params"]["cursor"].as_str() {
                None => {
                    json!({"tools": [taking("schema", &["stream"]), taking("list_streams", &[])], "nextCursor": "2"})
                }
                Some(_) => json!({"tools": [{"name": "search"}]}),
            };
            result(asked, &page)
        }
        "/tenant/mcp tools/call" => {
            let result = json!({
                "content": [{"type": "text", "text": format!("said {}", asked.body["params"])}],
                "structuredContent": {"results": []},
            });
            let body = json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result});
            ([("content-type", "text/event-stream")], format!("event: message\ndata: {body}\n\n"))
                .into_response()
        }
        other => panic!("{other}"),
    }
}

fn code(answer: &ToolAnswer) -> String {
    let structured = Value::Object(answer.structured_map());
    structured["error"]["code"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_server_with_sessions_and_events_is_spoken_to_as_it_wants() {
    let fake = Fake::start(&["one"], stateful).await;
    for _ in 0..2 {
        let answer = fake.call("search", json!({"q": "x", "connection_id": "c"})).await;
        assert!(answer.text.starts_with("0 hits for \"x\""), "{}", answer.text);
    }
    let log = fake.log.lock().unwrap().clone();
    let methods = log.iter().map(|asked| asked.method.rsplit(' ').next().unwrap()).collect::<Vec<_>>();
    let begin = ["initialize", "notifications/initialized", "tools/list", "tools/list"];
    assert_eq!(methods, [&begin[..], &["tools/call", "tools/call"]].concat(), "agreed on once");
    for asked in &log[1..] {
        assert_eq!((asked.session.as_deref(), asked.version.as_deref()), (Some("s-1"), Some("2025-06-18")));
    }
    assert!(log.iter().all(|asked| asked.bearer == "Bearer one"));
    let call = json!({"name": "search", "arguments": {"q": "x", "connection_id": "c"}});
    assert!(log[4..].iter().all(|asked| asked.body["params"] == call), "{log:?}");
}

#[tokio::test]
async fn what_the_server_lacks_is_reported_and_not_asked_for() {
    let fake = Fake::start(&["one"], stateful).await;
    let answer =
        fake.call("aggregate", json!({"stream": "s", "metric": "count", "connection_id": "c"})).await;
    assert_eq!(code(&answer), "unsupported_by_provider");
    assert!(
        answer.text.contains("no tool `aggregate`") && answer.text.contains("schema, search"),
        "{}",
        answer.text
    );
    let answer = fake.call("schema", json!({"stream": "s", "connection_id": "c"})).await;
    assert_eq!(code(&answer), "unsupported_by_provider");
    assert!(answer.text.contains("`connection_id`"), "{}", answer.text);
    assert_eq!(code(&fake.call("search", json!({"q": "x", "bogus": 1})).await), "unknown_argument");
    assert_eq!(code(&fake.call("list_streams", json!({})).await), "unknown_tool");
    assert!(!fake.methods().contains(&"tools/call".to_owned()));
}

#[tokio::test]
async fn a_dead_token_is_replaced_once_and_a_forgotten_session_begun_again() {
    let refused = |code: &'static str| {
        let body = json!({"error": {"code": code, "message": "no"}}).to_string();
        (axum::http::StatusCode::UNAUTHORIZED, [("content-type", "application/json")], body).into_response()
    };
    let fake = Fake::start(&["old", "new"], move |asked| {
        if asked.bearer == "Bearer old" { refused("invalid_token") } else { stateful(asked) }
    })
    .await;
    assert!(!fake.call("search", json!({"q": "x", "connection_id": "c"})).await.is_error);
    assert_eq!(fake.methods().iter().filter(|method| *method == "initialize").count(), 2);

    let fake = Fake::start(&["old"], move |_| refused("invalid_token")).await;
    let answer = fake.call("search", json!({"q": "x", "connection_id": "c"})).await;
    assert!(
        answer.is_error && answer.text.contains(&format!("pdpp connect {}", fake.url)),
        "{}",
        answer.text
    );
    assert!(fake.core.package().members()[0].reader().is_refused());
    assert_eq!(fake.methods().len(), 1);

    // The token of a revoked grant is not replaced.
    let fake = Fake::start(&["old", "new"], move |_| refused("grant_revoked")).await;
    assert_eq!(code(&fake.call("search", json!({"q": "x", "connection_id": "c"})).await), "grant_revoked");
    assert_eq!(fake.methods().len(), 1);

    let forgets = Mutex::new(true);
    let fake = Fake::start(&["one"], move |asked| {
        if asked.method.ends_with("tools/call") && std::mem::take(&mut *forgets.lock().unwrap()) {
            return axum::http::StatusCode::NOT_FOUND.into_response();
        }
        stateful(asked)
    })
    .await;
    assert!(!fake.call("search", json!({"q": "x", "connection_id": "c"})).await.is_error);
    assert_eq!(fake.methods().iter().filter(|method| *method == "initialize").count(), 2);
}

#[tokio::test]
async fn r5_5_what_is_not_an_answer_is_told_apart() {
    let answering = |status: u16, kind: &'static str, body: &'static str| {
        move |asked: &Asked| {
            if !asked.method.ends_with("tools/call") {
                return stateful(asked);
            }
            let mut answer = ([("content-type", kind)], body).into_response();
            *answer.status_mut() = axum::http::StatusCode::from_u16(status).unwrap();
            answer.headers_mut().insert("retry-after", "9".parse().unwrap());
            answer.headers_mut().insert("location", "https://elsewhere.example/mcp".parse().unwrap());
            answer
        }
    };
    for (status, kind, body, expected) in [
        (200, "text/html", "<html>", "provider_answer_broken"),
        (200, "application/json", r#"{"jsonrpc":"2.0","id":1}"#, "provider_answer_broken"),
        (
            200,
            "application/json",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad\u001b[2J"}}"#,
            "provider_refused_call",
        ),
        (
            200,
            "application/json",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#,
            "unsupported_by_provider",
        ),
        (
            200,
            "application/json",
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
            "unsupported_by_provider",
        ),
        (307, "text/plain", "", "provider_redirected"),
        (500, "text/plain", "", "http_500"),
        (
            403,
            "application/json",
            r#"{"error":{"code":"insufficient_scope","message":"m"}}"#,
            "insufficient_scope",
        ),
        (429, "text/plain", "", "http_429"),
    ] {
        let fake = Fake::start(&["one"], answering(status, kind, body)).await;
        let answer = fake.call("search", json!({"q": "x", "connection_id": "c"})).await;
        assert_eq!(code(&answer), expected, "{}", answer.text);
        assert!(!answer.text.contains('\u{1b}'), "{}", answer.text);
        assert_eq!(status == 429, answer.text.contains("9 s"), "{}", answer.text);
    }
}
