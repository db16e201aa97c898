//! Whom the endpoint serves, and with what.

use pdpp::sandbox::Config;
use pdpp::vault::Vault;
use pdpp::vault::oauth::tokens;
use serde_json::{Value, json};

use super::fake::Fake;
use super::{Running, SECRET, answer, call, credentials, eventually, plain};
use crate::sandbox::{grant, whole};
use crate::support::env::TestEnv;
use crate::support::filled;

async fn fake() -> (TestEnv, Fake, Running) {
    let (env, fake) = (TestEnv::new(), Fake::start().await);
    let path = credentials(&env, "rs", SECRET);
    let running = Running::start(&env, &fake.url, &path, &[]);
    (env, fake, running)
}

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_3_r7_8_every_token_that_is_not_for_here_is_refused_with_its_status_and_reads_nothing() {
    let (_env, fake, running) = fake().await;
    let cases = [
        ("canary-inactive", json!({"active": false}), 401, "token_inactive"),
        ("canary-expired", json!({"exp": now() - 1}), 401, "token_inactive"),
        ("canary-issuer", json!({"iss": "https://other.example"}), 401, "token_issuer_mismatch"),
        ("canary-aud", json!({"aud": "https://other.example/mcp"}), 401, "token_audience_mismatch"),
        ("canary-auds", json!({"aud": ["https://other.example"]}), 401, "token_audience_mismatch"),
        ("canary-owner", json!({"pdpp_token_kind": "owner"}), 403, "owner_token_refused"),
        ("canary-control", json!({"pdpp_token_kind": "control_plane"}), 403, "owner_token_refused"),
        ("canary-unknown", json!({"pdpp_token_kind": "robot"}), 403, "token_kind_unknown"),
        ("canary-kindless", json!({"pdpp_token_kind": null}), 403, "token_kind_unknown"),
        ("canary-package", json!({"pdpp_token_kind": "mcp_package"}), 403, "package_token_unsupported"),
    ];
    for (token, more, status, code) in cases {
        fake.say(token, &more);
        for method in ["tools/list", "initialize"] {
            let refused = running.send(token, &json!({"jsonrpc": "2.0", "id": 1, "method": method})).await;
            assert_eq!((refused.status, refused.code().as_str()), (status, code), "{token}");
            let challenge = refused.header("www-authenticate");
            let metadata =
                format!("Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"", fake.url);
            assert!(status == 403 || challenge.starts_with(&metadata), "{challenge}");
            assert!(!refused.text.contains("canary"));
        }
    }
    fake.say(
        "canary-good",
        &json!({"exp": now() + 600, "iss": fake.url, "aud": format!("{}/mcp", fake.url)}),
    );
    assert_eq!(running.tools_list("canary-good").await.status, 200);
    assert_eq!(fake.read(), []);
    assert!(!running.stderr().contains("canary") && !running.metrics().await.contains("canary"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_3_r7_4_an_answer_is_asked_for_once_kept_until_exp_and_each_request_reads_with_its_own_bearer() {
    let (_env, fake, running) = fake().await;
    fake.say("tok-ann", &json!({"exp": now() + 3}));
    fake.allow("tok-bob");
    let many = (0..12).map(|_| running.tools_list("tok-ann"));
    for answered in futures_util::future::join_all(many).await {
        assert_eq!(answered.status, 200);
    }
    assert_eq!(fake.asked(), ["tok-ann"], "those who ask at once share one answer");
    // With a slash at its end, as many people write it.
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let mut slashed = running.post("tok-ann").body(list).build().unwrap();
    *slashed.url_mut() = format!("{}/", running.url()).parse().unwrap();
    assert_eq!(running.http.execute(slashed).await.unwrap().status(), 200);
    let (search, aggregate) = (json!({"q": "x"}), json!({"stream": "s", "metric": "count"}));
    let (ann, bob) = tokio::join!(
        running.call("tok-ann", "search", &search),
        running.call("tok-bob", "aggregate", &aggregate)
    );
    assert_eq!((ann.status, bob.status), (200, 200));
    let read = fake.read();
    assert!(read.iter().all(|(_, asked)| asked.starts_with("GET /v1/")), "{read:?}");
    for (bearer, path) in [("tok-ann", "/v1/search"), ("tok-bob", "/v1/streams/s/aggregate")] {
        let of_path = read.iter().filter(|(_, asked)| asked == &format!("GET {path}"));
        assert!(
            of_path.clone().count() == 1
                && of_path.clone().all(|(given, _)| given == &format!("Bearer {bearer}")),
            "{read:?}"
        );
    }
    // The authorization server has ended it meanwhile; it is known here no longer than `exp`.
    fake.say("tok-ann", &json!({"active": false}));
    eventually(async || (running.tools_list("tok-ann").await.status == 401).then_some(())).await;
    assert_eq!(running.tools_list("tok-bob").await.status, 200);
    assert_eq!(fake.asked().iter().filter(|asked| *asked == "tok-bob").count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_2_r7_5_r7_6_r7_7_what_is_public_comes_from_configuration_alone() {
    let (env, fake) = (TestEnv::new(), Fake::start().await);
    let path = credentials(&env, "rs", SECRET);
    let more = ["--public-url", "https://public.example/t1/mcp", "--trusted-host", "inside.example:8080"];
    let more = [&more[..], &["--allowed-origin", "https://app.example"]].concat();
    let running = Running::start(&env, &fake.url, &path, &more);
    let ready = running.event("ready").await;
    let message = ready["message"].as_str().unwrap();
    assert!(message.contains("clients use https://public.example/t1/mcp"), "{message}");
    assert!(message.ends_with(&format!("{}, with Host: public.example", running.url())), "{message}");
    running.event("tls_elsewhere").await;
    fake.allow("tok");
    let metadata = "https://public.example/.well-known/oauth-protected-resource/t1/mcp";
    let icon = r#"<https://public.example/t1/icon.svg>; rel="icon"; type="image/svg+xml""#;
    let anonymous = || running.http.post(running.url()).header("x-forwarded-host", "evil.example");
    for host in ["public.example", "PUBLIC.example:443", "inside.example:8080"] {
        let refused = answer(anonymous().header("host", host)).await;
        assert_eq!(refused.status, 401, "{host}");
        assert_eq!(refused.header("www-authenticate"), format!("Bearer resource_metadata=\"{metadata}\""));
        assert_eq!(refused.json()["error"]["resource_metadata"], metadata);
        assert_eq!(refused.header("link"), icon);
        assert!(!refused.text.contains("evil"));
    }
    for host in ["evil.example", "public.example:8443", "inside.example", running.address().as_str()] {
        for path in ["/mcp", "/t1/mcp", "/.well-known/oauth-protected-resource/t1/mcp", "/elsewhere"] {
            let url = format!("http://{}{path}", running.address());
            let refused = answer(running.http.get(url).header("host", host)).await;
            assert_eq!(
                (refused.status, refused.code().as_str()),
                (421, "misdirected_request"),
                "{host} {path}"
            );
            assert!(!refused.text.contains(host));
            let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.ends_with("send requests to https://public.example/t1/mcp"), "{message}");
        }
    }
    let event = running.event("misdirected_request").await;
    let message = event["message"].as_str().unwrap();
    assert!(message.contains("is not public.example") && message.contains("--trusted-host"), "{message}");
    assert!(!running.stderr().contains("evil"));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let twice = running.post("tok").header("host", "public.example").body(list.clone());
    assert_eq!(answer(twice).await.status, 421, "two hosts are none");
    let from = |origin: &'static str| running.post("tok").header("origin", origin).body(list.clone());
    let allowed = answer(from("https://app.example")).await;
    assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (200, "https://app.example"));
    let refused = answer(from("https://evil.example")).await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "origin_not_allowed"));

    let document =
        running.http.get(format!("http://{}/.well-known/oauth-protected-resource/t1/mcp", running.address()));
    let document = answer(document.header("host", "public.example")).await.json();
    assert_eq!(document["resource"], "https://public.example/t1/mcp");
    assert_eq!(document["pdpp_token_kinds_supported"], json!(["client"]));
    assert_eq!(document["authorization_servers"], json!([fake.url]));
    assert_eq!(document["logo_uri"], Value::Null);
    let own = running.http.get(format!("http://{}/.well-known/oauth-protected-resource", running.address()));
    let own = answer(own.header("host", "public.example")).await.json();
    assert_eq!(own["pdpp_core_query_base"], format!("{}/v1", fake.url));
    assert_eq!(own["pdpp_agent_discovery"]["mcp"]["endpoint"], "https://public.example/t1/mcp");

    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let icons = running.send("tok", &initialize).await.json()["result"]["serverInfo"]["icons"].clone();
    assert_eq!(
        icons,
        json!([{"src": "https://public.example/t1/icon.svg", "mimeType": "image/svg+xml", "sizes": ["any"]}])
    );
}

fn client_token(app: &Vault, resource: Option<&str>) -> (String, String) {
    let made = grant(vec![whole(app, "mail", "messages", &["cin_mail_work", "cin_mail_personal"])]);
    let id = made.grant_id.clone();
    let granted = tokens::keep(app, "pdpp_cli", vec![made]).unwrap();
    (tokens::begin_family(app, &granted, resource).unwrap().access_token, id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_1_in_front_of_the_sandbox_every_tool_answers_as_the_sandboxs_own_endpoint_does() {
    let env = TestEnv::new();
    let sandbox = filled::start(Config::default());
    let client = sandbox.vault().introspection();
    let path = credentials(&env, &client.client_id, &client.client_secret);
    let running = Running::start(&env, sandbox.url(), &path, &[]);
    let (token, grant_id) = client_token(sandbox.vault(), Some(&sandbox.mcp_url()));
    let own = |message: &Value| {
        let request =
            plain().build().unwrap().post(sandbox.mcp_url()).header("content-type", "application/json");
        answer(request.header("authorization", format!("Bearer {token}")).body(message.to_string()))
    };
    let hits = running.call(&token, "search", &json!({"q": "the", "limit": 2})).await.json();
    let id = hits["result"]["structuredContent"]["results"][0]["id"].clone();
    assert!(id.is_string(), "{hits}");
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        call("schema", &json!({})),
        call("schema", &json!({"stream": "messages"})),
        call(
            "query_records",
            &json!({"stream": "messages", "connection_id": "cin_mail_work", "limit": 2, "fields": ["subject"]}),
        ),
        call(
            "aggregate",
            &json!({"stream": "messages", "metric": "count", "connection_id": "cin_mail_work"}),
        ),
        call("fetch", &json!({"id": id})),
        call("read_record_field", &json!({"id": id, "field_path": "subject"})),
        call("query_records", &json!({"stream": "nowhere"})),
        call("search", &json!({"q": "x", "bogus": 1})),
    ];
    for message in messages {
        let (hosted, own) = (running.send(&token, &message).await, own(&message).await);
        assert_eq!((hosted.status, own.status), (200, 200), "{message}");
        if message["params"]["name"] == "query_records" {
            // A cursor is sealed again each time.
            assert_eq!(hosted.text.len(), own.text.len(), "{message}");
        } else {
            assert_eq!(hosted.text, own.text, "{message}");
        }
    }
    let package = {
        let app = sandbox.vault();
        let grants = vec![
            grant(vec![whole(app, "mail", "messages", &["cin_mail_work"])]),
            grant(vec![whole(app, "bank", "transactions", &["cin_bank_fjord"])]),
        ];
        let granted = tokens::keep(app, "pdpp_cli", grants).unwrap();
        tokens::begin_family(app, &granted, Some(&sandbox.mcp_url())).unwrap().access_token
    };
    for (token, code) in [
        (package.as_str(), "package_token_unsupported"),
        (sandbox.vault().owner_token(), "owner_token_refused"),
    ] {
        let refused = running.tools_list(token).await;
        assert_eq!((refused.status, refused.code().as_str()), (403, code));
    }

    // Revoked: not a single value from that moment on, whatever is still remembered about the token.
    let bearer = format!("Bearer {token}");
    let revoked = crate::sandbox::ask(
        sandbox.vault(),
        "POST",
        &format!("/grants/{grant_id}/revoke"),
        &[("authorization", &bearer)],
        b"{}",
    );
    assert_eq!(revoked.status, 200);
    let refused = running.call(&token, "search", &json!({"q": "the"})).await;
    assert!(refused.status == 401 || refused.json()["result"]["isError"] == true, "{}", refused.text);
    assert!(!refused.text.contains("cin_mail_work/"));
    for secret in [&token, &package, &client.client_secret, sandbox.vault().owner_token()] {
        assert!(!running.stderr().contains(secret));
    }
}
