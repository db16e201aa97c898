//! `pdpp connect`, `pdpp mcp serve` and `pdpp mcp call` over several grants, as a user runs them.

use std::path::Path;
use std::time::{Duration, Instant};

use pdpp::cache::Cache;
use pdpp::cache::credential::{Credential, Secrets};
use pdpp::mcp::protocol::client::Client;
use pdpp::provider::grant::{GrantedConnection, GrantedSource};
use pdpp::sandbox::Config;
use pdpp::secret::AccessToken;
use pdpp::vault::server::Handle;
use serde_json::{Value, json};

use super::fake::{Does, Fake, hit, ok, page, schema};
use crate::support::credential::credential;
use crate::support::env::TestEnv;
use crate::support::filled::{self, Filled};

/// A provider with one connection `cin_{key}` and one stream `{key}_log`, with three hits for every query.
async fn diary(key: &'static str) -> Fake {
    let stream: &'static str = format!("{key}_log").leak();
    let connection: &'static str = format!("cin_{key}").leak();
    let rows = (0..3).map(|n| hit(connection, stream, &format!("{key}-{n}"))).collect::<Vec<_>>();
    Fake::start(move |asked| match asked.path.as_str() {
        "/schema" => ok(schema(key, connection, &[stream])),
        "/search" => ok(page(asked, &rows, super::fake::Wrapped::Data, 1)),
        path if path == format!("/streams/{stream}/records") => {
            let record = json!({"object": "record", "id": "1", "stream": stream, "connection_id": connection, "data": {"id": "1"}});
            ok(json!({"object": "list", "data": [record], "has_more": false, "meta": {"warnings": []}}))
        }
        _ => Does::Answer(404, json!({"error": {"code": "not_found", "message": "no"}})),
    })
    .await
}

/// Stores a grant of a fake provider, like `pdpp connect`.
fn keep(dir: &Path, url: &str, key: &str) {
    let source = GrantedSource {
        connector_key: Some(key.to_owned()),
        connections: vec![GrantedConnection {
            id: format!("cin_{key}"),
            display_name: Some(format!("My {key}")),
        }],
        streams: vec![format!("{key}_log")],
        stream_count: 1,
        ..GrantedSource::default()
    };
    let cache = Cache::open(dir).unwrap();
    let kept = credential(url, &format!("grt_{key}"), &format!("My {key}"));
    let credential = Credential { sources: vec![source], ..kept };
    let secrets = Secrets::new(AccessToken::new(format!("token-{key}")).unwrap(), None);
    cache.store(credential, &secrets, None).unwrap();
}

fn sandbox(seed: u64) -> Filled<Handle> {
    filled::start(Config { seed: Some(seed), auto_approve: true, ..Config::default() })
}

fn connect(env: &TestEnv, url: &str) {
    let connected = env.run(&["connect", url, "--no-browser"]);
    assert_eq!(connected.code, Some(0), "{}", connected.stderr);
}

async fn serve(env: &TestEnv) -> Client {
    let command = env.server(&[]);
    Client::start(&command, Duration::from_mins(2)).await.unwrap()
}

async fn call(client: &mut Client, tool: &str, arguments: Value) -> (String, Value) {
    let result = client.call_tool(tool, arguments.as_object().unwrap().clone()).await.unwrap();
    (result["content"][0]["text"].as_str().unwrap().to_owned(), result["structuredContent"].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r6_1_r1_9_everything_connected_is_served_and_taken_up_while_it_is() {
    let env = TestEnv::new();
    let (sandbox, garden, kitchen) = (sandbox(1), diary("garden").await, diary("kitchen").await);
    connect(&env, sandbox.url());
    keep(&env.cache_dir(), &garden.url, "garden");
    let mut client = serve(&env).await;
    let (text, _) = call(&mut client, "schema", json!({})).await;
    assert!(text.contains("garden_log") && text.contains("messages"), "{text}");
    let (text, body) = call(&mut client, "search", json!({"q": "invoice", "limit": 6})).await;
    let hits = body["results"].as_array().unwrap();
    assert_eq!(hits.len(), 6, "{text}");
    assert_eq!(hits.iter().filter(|hit| hit["connection_id"] == "cin_garden").count(), 3, "in turns: {text}");
    let (text, _) = call(&mut client, "query_records", json!({"stream": "garden_log"})).await;
    assert!(text.contains("id=cin_garden/garden_log:1"), "{text}");

    // Connected while it runs: the next read of the schema shows it.
    keep(&env.cache_dir(), &kitchen.url, "kitchen");
    let (text, _) = call(&mut client, "schema", json!({})).await;
    assert!(text.contains("kitchen_log"), "{text}");
    let (text, _) = call(&mut client, "query_records", json!({"stream": "kitchen_log"})).await;
    assert!(text.contains("id=cin_kitchen/kitchen_log:1"), "{text}");
    client.close().await;

    // The same from the shell; options narrow it.
    let ran = env.run(&["mcp", "call", "search", r#"{"q":"invoice"}"#, "--view", "text"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("cin_garden") && ran.stdout.contains("cin_kitchen"), "{}", ran.stdout);
    garden.asked();
    for narrowed in [["--provider", &kitchen.url], ["--grant", "grt_kitchen"]] {
        let ran = env.run(&[&["mcp", "call", "schema", "--view", "text"], narrowed.as_slice()].concat());
        assert!(ran.stdout.contains("kitchen_log") && !ran.stdout.contains("garden_log"), "{}", ran.stdout);
    }
    assert_eq!(garden.count(), 0);
}

/// `connect --renew` gets another grant, and removes the old one from this computer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r6_1_a_grant_that_was_renewed_meanwhile_answers_the_next_call() {
    for has_others in [false, true] {
        let env = TestEnv::new();
        let (sandbox, garden) = (sandbox(1), diary("garden").await);
        connect(&env, sandbox.url());
        if has_others {
            keep(&env.cache_dir(), &garden.url, "garden");
        }
        let mut client = serve(&env).await;
        let (text, body) = call(&mut client, "search", json!({"q": "invoice", "limit": 6})).await;
        let ids = body["results"]
            .as_array()
            .unwrap_or_else(|| panic!("{text}"))
            .iter()
            .map(|hit| hit["id"].clone());
        let id = ids.map(|id| id.as_str().unwrap().to_owned()).find(|id| !id.contains("garden")).unwrap();
        let grants = || Cache::open(&env.cache_dir()).unwrap().credentials().unwrap();
        for (tool, arguments) in [
            ("fetch", json!({"id": id})),
            (
                "query_records",
                json!({"stream": "messages", "connection_id": id.split('/').next(), "limit": 1}),
            ),
            ("search", json!({"q": "invoice", "limit": 6})),
        ] {
            let before = grants();
            let ran = env.run(&["connect", "--renew", sandbox.url(), "--no-browser"]);
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            let (before, now) = (before.iter(), grants());
            assert_eq!(before.len(), now.len());
            assert!(before.filter(|old| now.iter().all(|new| new.grant_id != old.grant_id)).count() == 1);
            garden.asked();
            let (text, body) = call(&mut client, tool, arguments).await;
            assert!(body.get("error").is_none() && !text.contains("nothing from"), "{tool}: {text}");
            assert!(text.contains("cin_"), "{tool}: {text}");
            assert!(tool == "search" || garden.count() == 0, "nobody else is asked");
        }
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r6_5_a_list_says_what_it_goes_on_without_and_goes_on() {
    for renewed in [true, false] {
        let env = TestEnv::new();
        let (sandbox, other) = (sandbox(1), sandbox(2));
        connect(&env, sandbox.url());
        connect(&env, other.url());
        let mut client = serve(&env).await;
        let search = |cursor: &Value| match cursor {
            Value::Null => json!({"q": "invoice", "limit": 9}),
            cursor => json!({"q": "invoice", "limit": 9, "cursor": cursor}),
        };
        let (_, first) = call(&mut client, "search", search(&Value::Null)).await;
        let ran = if renewed {
            env.run(&["connect", "--renew", other.url(), "--no-browser"])
        } else {
            env.run(&["disconnect", other.url(), "--yes"])
        };
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let (mut cursor, mut notices, mut hits) = (first["data"]["next_cursor"].clone(), 0, 0);
        assert!(cursor.is_string(), "{first}");
        while cursor.is_string() {
            let (text, page) = call(&mut client, "search", search(&cursor)).await;
            assert!(page.get("error").is_none(), "{text}");
            // A grant that is not on this computer any more cannot be renewed.
            assert!(renewed || !text.contains("--renew"), "{text}");
            notices +=
                usize::from(text.contains("nothing more from a grant") || text.contains("nothing from"));
            hits += page["results"].as_array().map_or(0, Vec::len);
            cursor = page["data"]["next_cursor"].clone();
        }
        assert!(notices > 0 && hits > 0, "renewed: {renewed}, told {notices} times, {hits} hits");
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r6_7_two_providers_with_the_same_connections_are_told_apart() {
    let env = TestEnv::new();
    let (first, second) = (sandbox(1), sandbox(2));
    connect(&env, first.url());
    connect(&env, second.url());
    let ran = env.run(&["mcp", "call", "schema", "--view", "text"]);
    assert!(ran.stdout.contains(&format!("provider={}", first.url())), "{}", ran.stdout);
    let found = env.run(&["mcp", "call", "search", r#"{"q":"invoice","limit":4}"#, "--json"]);
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    let id = found["structuredContent"]["results"][0]["id"].clone();
    let ran = env.run(&["mcp", "call", "fetch", &json!({ "id": id }).to_string(), "--view", "text"]);
    assert_eq!(ran.code, Some(1));
    for part in ["error ambiguous_provider", first.url(), second.url(), "pdpp mcp serve --provider"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let narrowed = [
        "mcp",
        "call",
        "fetch",
        &json!({ "id": id }).to_string(),
        "--provider",
        first.url(),
        "--view",
        "text",
    ];
    let ran = env.run(&narrowed);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r6_5_served_with_one_killed_one_slow_and_one_healthy_provider() {
    let env = TestEnv::new();
    let (healthy, gone, slow) = (sandbox(1), Fake::gone().await, Fake::start(|_| Does::Hang).await);
    keep(&env.cache_dir(), &gone.url, "attic");
    keep(&env.cache_dir(), &slow.url, "cellar");
    connect(&env, healthy.url());
    let mut client = serve(&env).await;
    let started = Instant::now();
    for (tool, arguments) in [("search", json!({"q": "invoice", "limit": 3})), ("schema", json!({}))] {
        let (text, body) = call(&mut client, tool, arguments).await;
        let warnings = body["data"]["meta"]["warnings"].to_string();
        for part in ["My attic (provider_unreachable)", "My cellar (provider_timeout)"] {
            assert!(text.contains(part) && warnings.contains(part), "{tool}: {part}: {text}\n{warnings}");
        }
        assert!(text.contains("cin_"), "{text}");
    }
    assert!(started.elapsed() >= Duration::from_secs(10), "the slow one has its 10 s");
    // Nothing else waits for it.
    let started = Instant::now();
    let (text, body) = call(&mut client, "query_records", json!({"stream": "messages", "limit": 1})).await;
    assert!(body.get("error").is_none() || body["error"]["code"] == "ambiguous_connection", "{text}");
    assert!(started.elapsed() < Duration::from_secs(9));
    client.close().await;
}
