//! The endpoint as its callers see it: requests in, answers out, for every era.

use axum::http::Request;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::endpoint::ICON_TYPE;
use super::request::{METHOD, NAME};
use super::*;
use crate::mcp::protocol::service::ResourceContents;
use crate::mcp::protocol::service::ResourceError;
use crate::mcp::protocol::service::{Offer, ToolAnswer};

/// Answers with its owner's name and what it was asked.
struct Whose(String);

impl Service for Whose {
    fn offer(&self) -> Offer {
        Offer::of_names(&["schema", "query_records", "search", "fetch"])
    }

    fn call(&self, tool: &str, arguments: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
        let text = format!("{} {tool} {}", self.0, Value::Object(arguments));
        async move {
            assert!(!text.contains("panic"), "asked for");
            ToolAnswer { text, structured: None, is_error: false, rows: 0 }
        }
        .boxed()
    }

    fn read_resource(&self, _: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
        async { Err(ResourceError::InvalidUri("none here".to_owned())) }.boxed()
    }
}

struct Names;

impl Gate for Names {
    fn admit(&self, bearer: AccessToken) -> BoxFuture<'_, Result<Arc<dyn Service>, Refusal>> {
        let name = bearer.expose_bearer().to_owned();
        async move {
            match name.as_str() {
                "dead" => Err(Refusal::invalid_token("token_revoked", "The grant was revoked")),
                "busy" => Err(Refusal::too_many("rate_limited", "Too many requests", 7)),
                "scope" => Err(Refusal::insufficient_scope("package_unsupported", "Not here")),
                "panics" => panic!("asked for"),
                _ => Ok(Arc::new(Whose(name)) as Arc<dyn Service>),
            }
        }
        .boxed()
    }
}

pub(super) fn endpoint() -> Endpoint {
    Endpoint {
        trusted_hosts: vec!["inside.example:8080".parse().unwrap()],
        allowed_origins: vec!["https://app.example".parse().unwrap(), "http://localhost:*".parse().unwrap()],
        limits: Limits { body: 2_000, ..Limits::default() },
        ..Endpoint::new("https://data.example/p/mcp".parse().unwrap())
    }
}

struct Asked(axum::http::request::Builder, Body);

impl Asked {
    fn new(method: &str, body: impl Into<Body>) -> Self {
        let request = Request::builder().method(method).uri("/mcp").header("host", "data.example");
        Self(request, body.into())
    }

    fn post(body: &Value) -> Self {
        Self::new("POST", body.to_string()).with("content-type", JSON).with("authorization", "Bearer ann")
    }

    fn with(self, name: &str, value: &str) -> Self {
        let mut request = self.0;
        let headers = request.headers_mut().unwrap();
        headers.insert(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        Self(request, self.1)
    }

    fn without(mut self, name: &str) -> Self {
        self.0.headers_mut().unwrap().remove(name);
        self
    }

    async fn answer(self) -> (u16, HeaderMap, String) {
        self.answer_of(&Mcp::new(Arc::new(endpoint()), Arc::new(Names))).await
    }

    async fn answer_of(self, served: &Mcp) -> (u16, HeaderMap, String) {
        let (head, body) = served.answer(self.0.body(self.1).unwrap()).await.into_parts();
        let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
        (head.status.as_u16(), head.headers, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn json(self) -> (u16, Value) {
        let (status, _, body) = self.answer().await;
        (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body}")))
    }
}

fn call(id: &Value, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {"a": 1}}})
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[tokio::test]
async fn r7_1_the_eras_with_initialize_need_no_session() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let (status, headers, body) =
            Asked::post(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
                .answer()
                .await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &body["result"]["protocolVersion"]), (200, &json!(version)), "{body}");
        assert!(!headers.contains_key("mcp-session-id"));
        let sent = Asked::post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(sent.with(PROTOCOL_VERSION, version).answer().await.0, 202);
        let asked = Asked::post(&call(&json!(7), "fetch")).with(PROTOCOL_VERSION, version);
        let (status, body) = asked.json().await;
        assert_eq!((status, &body["id"]), (200, &json!(7)));
        assert_eq!(body["result"]["content"][0]["text"], "ann fetch {\"a\":1}");
    }
    // Without the header too, as clients before 2025-06-18 ask.
    let (status, body) =
        Asked::post(&json!({"jsonrpc": "2.0", "id": "x", "method": "tools/list"})).json().await;
    assert_eq!((status, body["result"]["tools"].as_array().map(Vec::len)), (200, Some(4)));
    let (status, body) =
        Asked::post(&call(&json!(1), "fetch")).with(PROTOCOL_VERSION, "2031-01-01").json().await;
    assert_eq!((status, &body["error"]["code"], &body["id"]), (400, &json!(-32600), &json!(1)));
}

#[tokio::test]
async fn r7_1_the_era_without_initialize_is_served_too() {
    let discover =
        json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta()}});
    let modern = |body: &Value, method: &str| {
        Asked::post(body).with(PROTOCOL_VERSION, "2026-07-28").with(METHOD, method)
    };
    let (status, body) = modern(&discover, "server/discover").json().await;
    assert_eq!(status, 200, "{body}");
    assert!(body["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
    let mut asked = call(&json!("i"), "schema");
    asked["params"]["_meta"] = meta();
    let (status, body) = modern(&asked, "tools/call").with(NAME, "schema").json().await;
    assert_eq!((status, &body["id"]), (200, &json!("i")), "{body}");
    assert_eq!(modern(&asked, "tools/call").with(NAME, "=?base64?c2NoZW1h?=").json().await.0, 200);
    // What a router reads must be what is done.
    for (method, name) in [("tools/list", "schema"), ("tools/call", "fetch"), ("tools/call", "=?base64?!?=")]
    {
        let (status, body) = modern(&asked, method).with(NAME, name).json().await;
        assert_eq!(
            (status, &body["error"]["code"], &body["id"]),
            (400, &json!(-32020), &json!("i")),
            "{method} {name}"
        );
    }
    let (status, body) =
        modern(&asked, "tools/call").with(NAME, "schema").with(PROTOCOL_VERSION, "2025-11-25").json().await;
    assert_eq!((status, &body["error"]["code"]), (400, &json!(-32020)));
    let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": {"_meta": meta()}});
    assert_eq!(modern(&unknown, "no/such").json().await.0, 404);
    // What this era has dropped is not a method of it, but is one for an older client, which names no era.
    let mut old = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"_meta": meta()}});
    let (status, body) = modern(&old, "initialize").json().await;
    assert_eq!((status, &body["error"]["code"]), (404, &json!(-32601)), "{body}");
    old["params"] = json!({"protocolVersion": "2026-07-28", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let (status, body) = modern(&old, "initialize").json().await;
    assert!(status == 200 && body["result"]["protocolVersion"].is_string(), "{body}");
    asked["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let (status, body) = modern(&asked, "tools/call").with(NAME, "schema").json().await;
    assert_eq!((status, &body["error"]["code"]), (400, &json!(-32602)), "{body}");
    asked["params"].as_object_mut().unwrap().remove("_meta");
    let (status, body) = modern(&asked, "tools/call").with(NAME, "schema").json().await;
    assert_eq!((status, &body["error"]["code"]), (400, &json!(-32602)), "{body}");
}

fn of_2026_07_28(body: &Value, method: &str) -> Asked {
    Asked::post(body).with(PROTOCOL_VERSION, "2026-07-28").with(METHOD, method)
}

#[tokio::test]
async fn a_list_that_was_written_before_is_the_same_and_is_for_good_requests_alone() {
    let served = Mcp::new(Arc::new(endpoint()), Arc::new(Names));
    let list = |id: &Value, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params});
    let old = |id: &Value| Asked::post(&list(id, json!({})));
    let new = |id: &Value| of_2026_07_28(&list(id, json!({ "_meta": meta() })), "tools/list");
    for id in [json!(1), json!("\u{202e}"), json!(1)] {
        for (asked, fresh) in [(old(&id), old(&id)), (new(&id), new(&id))] {
            let (kept, fresh) = (asked.answer_of(&served).await, fresh.answer().await);
            assert_eq!((kept.0, kept.2), (fresh.0, fresh.2));
        }
        assert!(new(&id).answer_of(&served).await.2.contains("\"ttlMs\""), "only since that era");
        assert!(!old(&id).answer_of(&served).await.2.contains("\"ttlMs\""));
    }
    let events = old(&json!(1)).with("accept", EVENTS).answer_of(&served).await.2;
    assert_eq!(events, format!("event: message\ndata: {}\n\n", old(&json!(1)).answer().await.2));
    let mut partial = meta();
    partial.as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    let mut unknown = meta();
    unknown["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    for (asked, code) in [
        (Asked::post(&list(&json!(1), json!({"cursor": "x"}))), -32602),
        (of_2026_07_28(&list(&json!(1), json!({ "_meta": partial })), "tools/list"), -32602),
        (of_2026_07_28(&list(&json!(1), json!({"_meta": meta(), "cursor": "x"})), "tools/list"), -32602),
        (
            of_2026_07_28(&list(&json!(1), json!({ "_meta": unknown })), "tools/list")
                .with(PROTOCOL_VERSION, "2031-01-01"),
            -32022,
        ),
    ] {
        let body: Value = serde_json::from_str(&asked.answer_of(&served).await.2).unwrap();
        assert_eq!(body["error"]["code"], code, "{body}");
    }
}

/// Answers with the client's name, as the client gives it.
struct SaysBy;

impl Service for SaysBy {
    fn offer(&self) -> Offer {
        Offer::of_names(&["schema"])
    }

    fn call(&self, _: &str, _: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
        async {
            let text = format!("{:?}", crate::mcp::protocol::caller::current().map(|caller| caller.name));
            ToolAnswer { text, structured: None, is_error: false, rows: 0 }
        }
        .boxed()
    }

    fn read_resource(&self, _: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
        std::future::pending().boxed()
    }
}

struct ToAll;

impl Gate for ToAll {
    fn admit(&self, _: AccessToken) -> BoxFuture<'_, Result<Arc<dyn Service>, Refusal>> {
        async { Ok(Arc::new(SaysBy) as Arc<dyn Service>) }.boxed()
    }
}

#[tokio::test]
async fn what_a_client_says_of_itself_is_nothing_to_the_next() {
    let served = Mcp::new(Arc::new(endpoint()), Arc::new(ToAll));
    let mut modern = call(&json!(1), "schema");
    modern["params"]["_meta"] = meta();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": version, "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let body: Value = serde_json::from_str(&Asked::post(&body).answer_of(&served).await.2).unwrap();
        assert_eq!(body["result"]["protocolVersion"], version);
        for (asked, wanted) in [
            (Asked::post(&call(&json!(1), "schema")), "Some(\\\"unknown\\\")"),
            (
                Asked::post(&call(&json!(1), "schema")).with(PROTOCOL_VERSION, version),
                "Some(\\\"unknown\\\")",
            ),
            (of_2026_07_28(&modern, "tools/call").with(NAME, "schema"), "Some(\\\"t\\\")"),
        ] {
            let answer = asked.answer_of(&served).await.2;
            assert!(answer.contains(wanted), "{answer}");
        }
    }
}

#[tokio::test]
async fn what_is_no_message_is_told_so() {
    for (body, code, id) in [
        ("{not json", -32700, Value::Null),
        ("", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":5,"method":"ping"}]"#, -32600, Value::Null),
        (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, -32600, json!(5)),
        (r#"{"jsonrpc":"2.0","id":5,"result":{}}"#, -32600, Value::Null),
    ] {
        let asked = Asked::new("POST", body).with("content-type", JSON).with("authorization", "Bearer ann");
        let (status, answer) = asked.json().await;
        assert_eq!((status, &answer["error"]["code"], &answer["id"]), (400, &json!(code), &id), "{body}");
    }
    // A malformed call is not an unknown method, and an id of any length comes back unchanged.
    let long =
        r#"{"jsonrpc":"2.0","id":12345678901234567890123,"method":"tools/call","params":{"arguments":[]}}"#;
    let (status, _, body) = Asked::new("POST", long)
        .with("content-type", JSON)
        .with("authorization", "Bearer ann")
        .answer()
        .await;
    assert!(body.contains(r#""id":12345678901234567890123"#) && body.contains("-32602"), "{status} {body}");
}

#[tokio::test]
async fn media_types_methods_and_sizes() {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for kind in ["text/plain", "application/json-seq", ""] {
        assert_eq!(Asked::post(&ping).with("content-type", kind).answer().await.0, 415, "{kind}");
    }
    for (accept, status, kind) in [
        ("*/*", 200, JSON),
        ("application/json, text/event-stream", 200, JSON),
        ("text/event-stream", 200, EVENTS),
        ("application/json;q=0, text/event-stream", 200, EVENTS),
        ("text/html", 406, JSON),
    ] {
        let (got, headers, body) = Asked::post(&ping).with("accept", accept).answer().await;
        assert_eq!((got, headers["content-type"].to_str().unwrap()), (status, kind), "{accept}");
        if kind == EVENTS {
            assert_eq!(body, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n");
        }
    }
    let charset = Asked::post(&ping).with("content-type", "Application/JSON; charset=utf-8");
    assert_eq!(charset.answer().await.0, 200);
    for method in ["GET", "DELETE", "PUT"] {
        let (status, headers, _) = Asked::new(method, "").with("authorization", "Bearer ann").answer().await;
        assert_eq!((status, headers["allow"].to_str().unwrap()), (405, "POST"), "{method}");
    }
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "y".repeat(2_000)}});
    assert_eq!(Asked::post(&large).answer().await.0, 413);
}

#[tokio::test]
async fn r7_2_without_a_good_bearer_it_says_where_to_get_one() {
    const METADATA: &str = "https://data.example/.well-known/oauth-protected-resource/p/mcp";
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let missing = format!("Bearer resource_metadata=\"{METADATA}\"");
    let invalid = format!("{missing}, error=\"invalid_token\"");
    for (asked, challenge, code) in [
        (Asked::post(&ping).without("authorization"), &missing, "authentication_error"),
        (Asked::new("GET", ""), &missing, "authentication_error"),
        (Asked::post(&ping).with("authorization", "Basic YTpi"), &missing, "authentication_error"),
        (Asked::post(&ping).with("authorization", "Bearer"), &missing, "authentication_error"),
        (Asked::post(&ping).with("authorization", "Bearer a b"), &invalid, "invalid_token"),
        (Asked::post(&ping).with("authorization", "bearer dead"), &invalid, "token_revoked"),
    ] {
        let (status, headers, body) = asked.answer().await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, headers["www-authenticate"].to_str().unwrap()), (401, challenge.as_str()));
        assert_eq!(body["error"]["resource_metadata"], METADATA);
        assert_eq!(body["error"]["code"], code);
        assert_eq!(
            headers["link"],
            "<https://data.example/p/icon.svg>; rel=\"icon\"; type=\"image/svg+xml\""
        );
        assert!(!headers["request-id"].is_empty());
    }
    let (status, headers, _) = Asked::post(&ping).with("authorization", "Bearer busy").answer().await;
    assert_eq!((status, headers["retry-after"].to_str().unwrap()), (429, "7"));
    assert!(!headers.contains_key("www-authenticate"));
    let (status, headers, _) = Asked::post(&ping).with("authorization", "Bearer scope").answer().await;
    assert!(status == 403 && headers["www-authenticate"].to_str().unwrap().ends_with("insufficient_scope\""));
    assert_eq!(Asked::post(&ping).with("authorization", "Bearer panics").json().await.0, 500);
}

#[tokio::test]
async fn r7_6_an_untrusted_host_or_page_gets_nothing() {
    let ping = || Asked::post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    for host in [
        "evil.example",
        "data.example.evil.example",
        "data.example:8443",
        "inside.example",
        "data.example@evil.example",
        "",
    ] {
        let (status, headers, body) = ping().with("host", host).without("authorization").answer().await;
        assert_eq!(status, 421, "{host}");
        assert!(!body.contains("evil") && !format!("{headers:?}").contains("evil"), "{host}");
    }
    for host in ["data.example", "DATA.example:443", "inside.example:8080"] {
        assert_eq!(ping().with("host", host).answer().await.0, 200, "{host}");
    }
    // Nor from any header that a proxy would set.
    let (_, headers, _) = ping()
        .without("authorization")
        .with("x-forwarded-host", "evil.example")
        .with("forwarded", "host=evil.example;proto=http")
        .answer()
        .await;
    assert!(!format!("{headers:?}").contains("evil"));
    for origin in [
        "https://evil.example",
        "http://app.example",
        "https://app.example:8443",
        "null",
        "http://localhost.evil.example",
    ] {
        assert_eq!(ping().with("origin", origin).answer().await.0, 403, "{origin}");
    }
    for origin in ["https://app.example", "http://localhost:6274", "http://localhost"] {
        let (status, headers, _) = ping().with("origin", origin).answer().await;
        assert_eq!((status, headers["access-control-allow-origin"].to_str().unwrap()), (200, origin));
        assert_eq!(headers["vary"], "Origin");
    }
    let (status, headers, _) = Asked::new("OPTIONS", "").with("origin", "https://app.example").answer().await;
    assert_eq!(status, 204);
    assert!(headers["access-control-allow-headers"].to_str().unwrap().contains("Authorization"));
    assert_eq!(Asked::new("OPTIONS", "").with("origin", "https://evil.example").answer().await.0, 403);
}

#[tokio::test]
async fn r7_7_initialize_carries_the_icon() {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let asked = Asked::post(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
    let icon =
        json!([{"src": "https://data.example/p/icon.svg", "mimeType": "image/svg+xml", "sizes": ["any"]}]);
    assert_eq!(asked.json().await.1["result"]["serverInfo"]["icons"], icon);
    let mut served = Asked::new("GET", "");
    served.0 = served.0.uri("/icon.svg");
    let (status, headers, body) = served.answer().await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, ICON_TYPE));
    assert!(body.starts_with("<svg "));
}

#[tokio::test]
async fn a_call_that_panics_is_answered() {
    let mut asked = call(&json!(3), "fetch");
    asked["params"]["arguments"] = json!({"q": "panic"});
    let (status, body) = Asked::post(&asked).json().await;
    assert_eq!((status, &body["error"]["code"], &body["id"]), (200, &json!(-32603), &json!(3)));
}

/// A call that never ends on its own, and reports when it begins and when it is dropped.
struct Hangs(tokio::sync::mpsc::UnboundedSender<&'static str>);

struct Dropped(tokio::sync::mpsc::UnboundedSender<&'static str>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

impl Service for Hangs {
    fn offer(&self) -> Offer {
        Offer::of_names(&["schema", "query_records", "search", "fetch"])
    }

    fn call(&self, _: &str, _: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
        let sent = self.0.clone();
        async move {
            let _dropped = Dropped(sent.clone());
            let _ = sent.send("begun");
            std::future::pending().await
        }
        .boxed()
    }

    fn read_resource(&self, _: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
        std::future::pending().boxed()
    }
}

struct Always(Arc<Hangs>);

impl Gate for Always {
    fn admit(&self, _: AccessToken) -> BoxFuture<'_, Result<Arc<dyn Service>, Refusal>> {
        let surface = Arc::clone(&self.0) as Arc<dyn Service>;
        async move { Ok(surface) }.boxed()
    }
}

#[tokio::test]
async fn r7_1_a_client_that_goes_away_ends_its_call() {
    use tokio::io::AsyncWriteExt as _;
    let (sent, mut events) = tokio::sync::mpsc::unbounded_channel();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let endpoint = Endpoint::new(format!("http://{address}/mcp").parse().unwrap());
    let endpoint = Arc::new(endpoint);
    let served = Arc::new(Mcp::new(Arc::clone(&endpoint), Arc::new(Always(Arc::new(Hangs(sent))))));
    let routes = router(&endpoint, move |request| {
        let served = Arc::clone(&served);
        async move { served.answer(request).await }
    });
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let body = call(&json!(1), "fetch").to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer ann\r\ncontent-type: {JSON}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
    client.write_all((head + &body).as_bytes()).await.unwrap();
    assert_eq!(events.recv().await, Some("begun"));
    drop(client);
    let within = std::time::Duration::from_secs(5);
    assert_eq!(tokio::time::timeout(within, events.recv()).await, Ok(Some("dropped")));
}

proptest! {
    #[test]
    fn no_header_or_body_panics(
        body in proptest::collection::vec(any::<u8>(), 0..200),
        name in prop::sample::select(vec!["host", "origin", "accept", "content-type", "authorization", PROTOCOL_VERSION, METHOD, NAME]),
        value in "[ -~]{0,40}",
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let asked = Asked::new("POST", body).with("content-type", JSON).with("authorization", "Bearer ann");
        let (status, ..) = runtime.block_on(asked.with(name, &value).answer());
        prop_assert!(status != 500);
    }
}
