//! The endpoint for its operator: what they can do with it, and what they see of it.

use std::path::Path;

use serde_json::{Value, json};

use super::fake::Fake;
use super::{Running, SECRET, answer, credentials, eventually, plain};
use crate::support::env::TestEnv;

async fn with(more: &[&str]) -> (TestEnv, Fake, Running) {
    let (env, fake) = (TestEnv::new(), Fake::start().await);
    let path = credentials(&env, "rs", SECRET);
    let running = Running::start(&env, &fake.url, &path, more);
    (env, fake, running)
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_credentials_are_the_operators_to_put_right_and_a_signal_takes_the_new_ones() {
    let (env, fake) = (TestEnv::new(), Fake::start().await);
    let path = credentials(&env, "rs", "canary-wrong");
    let running = Running::start(&env, &fake.url, &path, &[]);
    running.event("introspection_refused").await;
    assert_eq!(running.get("/healthz").await.status, 200, "a restart would mend nothing");
    fake.allow("tok");
    for _ in 0..3 {
        let refused = running.tools_list("tok").await;
        assert_eq!((refused.status, refused.code().as_str()), (503, "introspection_refused"));
        assert!(refused.text.contains("until its operator fixes"), "{}", refused.text);
        assert_eq!(refused.header("retry-after"), "5");
    }
    let refusals = || {
        let log = running.log().into_iter();
        log.filter(|line| line["event"] == "introspection_refused").collect::<Vec<_>>()
    };
    let first = refusals();
    let logged_twice = async || (refusals().len() == 2).then_some(());
    assert_eq!(first.len(), 1, "once is loud enough");
    let message = first[0]["message"].as_str().unwrap();
    let next = format!("kill -HUP {}", running.child.id());
    assert!(first[0]["level"] == "error" && message.ends_with(&next), "{message}");

    // A file that cannot be used changes nothing.
    std::fs::write(&path, "canary-broken").unwrap();
    running.reload();
    let failed = running.event("reload_failed").await;
    assert!(failed["message"].as_str().unwrap().contains("the old one stays in use"));

    // Other wrong ones are reported at once.
    credentials(&env, "rs", "canary-other");
    running.reload();
    eventually(logged_twice).await;

    credentials(&env, "rs", SECRET);
    running.reload();
    eventually(async || (running.tools_list("tok").await.status == 200).then_some(())).await;
    let metrics = running.metrics().await;
    assert!(metrics.contains(r#"pdpp_host_reloads_total{outcome="failed"} 1"#), "{metrics}");
    assert!(metrics.contains(r#"pdpp_host_reloads_total{outcome="ok"} 2"#), "{metrics}");

    // An authorization server that is down refuses nobody, and is not remembered as a refusal.
    fake.switches.lock().unwrap().broken = Some(axum::http::StatusCode::INTERNAL_SERVER_ERROR);
    let refused = running.tools_list("another").await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "introspection_malformed"));
    fake.allow("another");
    fake.switches.lock().unwrap().broken = None;
    eventually(async || (running.tools_list("another").await.status == 200).then_some(())).await;
    assert!(!running.stderr().contains("canary"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authorization_server_that_fails_at_the_start_is_reported_and_stops_nothing() {
    let (env, fake) = (TestEnv::new(), Fake::start().await);
    fake.switches.lock().unwrap().broken = Some(axum::http::StatusCode::BAD_GATEWAY);
    let path = credentials(&env, "rs", SECRET);
    let running = Running::start(&env, &fake.url, &path, &[]);
    assert_eq!(running.event("introspection_malformed").await["level"], "warn");
    fake.switches.lock().unwrap().broken = None;
    fake.allow("tok");
    assert_eq!(running.tools_list("tok").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_answers_what_is_at_work_and_takes_nothing_new() {
    let (_env, fake, running) = with(&[]).await;
    fake.allow("held-a");
    let rest = async {
        eventually(async || (fake.read().len() == 1).then_some(())).await;
        running.stop();
        running.event("stopping").await;
        eventually(async || std::net::TcpStream::connect(running.address()).is_err().then_some(())).await;
        fake.let_go.send(true).unwrap();
    };
    let search = json!({"q": "x"});
    let (answered, ()) = tokio::join!(running.call("held-a", "search", &search), rest);
    assert_eq!(answered.status, 200);
    let (code, stdout, stderr) = running.ended();
    assert_eq!((code, stdout.as_str()), (Some(0), ""), "one line on stdout, and that was it");
    assert!(stderr.contains("all requests were answered"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_waits_no_longer_than_it_was_told() {
    let (_env, fake, running) = with(&["--drain", "0"]).await;
    fake.allow("held-a");
    let asking = tokio::spawn(
        running.post("held-a").body(super::call("search", &json!({"q": "x"})).to_string()).send(),
    );
    eventually(async || (fake.read().len() == 1).then_some(())).await;
    running.stop();
    assert!(asking.await.unwrap().is_err(), "cut off");
    let (code, _, stderr) = running.ended();
    assert_eq!(code, Some(0));
    assert!(stderr.contains("1 connections were cut off"), "{stderr}");
    cut_off(&stderr);
}

/// The only request in the log was cut off by this end.
fn cut_off(stderr: &str) {
    let lines = stderr.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let requests = lines.filter(|line| line["event"] == "request").collect::<Vec<_>>();
    assert_eq!(requests.len(), 1, "{stderr}");
    let line = &requests[0];
    assert_eq!((&line["status"], &line["outcome"]), (&json!(503), &json!("cut_off")));
    assert_eq!((&line["method"], &line["tool"]), (&json!("tools/call"), &json!("search")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_stop_does_not_wait() {
    let (_env, fake, running) = with(&["--drain", "600"]).await;
    fake.allow("held-a");
    let asking = tokio::spawn(
        running.post("held-a").body(super::call("search", &json!({"q": "x"})).to_string()).send(),
    );
    eventually(async || (fake.read().len() == 1).then_some(())).await;
    running.stop();
    running.event("stopping").await;
    running.stop();
    assert!(asking.await.unwrap().is_err(), "cut off");
    let (code, _, stderr) = running.ended();
    assert_eq!(code, Some(0));
    assert!(stderr.contains("a second signal came"), "{stderr}");
    cut_off(&stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_has_a_line_a_request_and_nothing_that_anybody_said() {
    let (_env, fake, running) = with(&[]).await;
    fake.allow("canary-token");
    running.call("canary-token", "search", &json!({"q": "canary-question"})).await;
    running.call("canary-token", "canary-tool", &json!({"canary": 1})).await;
    running.send("canary-token", &json!({"jsonrpc": "2.0", "id": "canary", "method": "canary/method"})).await;
    running.send("canary-token", &json!("canary")).await;
    let health = running.get("/healthz").await;
    assert_eq!((health.status, health.text.as_str()), (200, "ok\n"));
    assert_eq!(running.get("/canary").await.status, 404);
    assert_eq!(running.get("/metrics").await.status, 404, "an operator's figures are no caller's business");
    // A page at another name, which leads here now.
    let at = running.ready["metrics_url"].as_str().unwrap();
    for (host, status) in
        [("rebound.example", 421), ("localhost:1", 200), ("prometheus-target", 200), ("[::1]:9", 200)]
    {
        assert_eq!(super::answer(running.http.get(at).header("host", host)).await.status, status, "{host}");
    }
    let metrics = running.metrics().await;
    assert!(metrics.contains(r#"{method="tools/call",tool="search",status="200"} 1"#), "{metrics}");
    running.stop();
    let (code, stdout, stderr) = running.ended();
    assert_eq!(code, Some(0));
    for written in [&stdout, &stderr, &metrics] {
        assert!(!written.contains("canary"), "{written}");
    }
    let lines = stderr.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    assert_eq!(lines[0]["event"], "ready", "from the first line on: {stderr}");
    let requests = lines.iter().filter(|line| line["event"] == "request").collect::<Vec<_>>();
    assert_eq!(requests.len(), 6, "{stderr}");
    let first = requests[0];
    assert_eq!(
        (&first["status"], &first["method"], &first["tool"], &first["client_id"]),
        (&json!(200), &json!("tools/call"), &json!("search"), &json!("cli_1"))
    );
    assert_eq!(first["bearer"].as_str().unwrap().len(), 12);
    assert!(
        first["bytes"].as_u64().unwrap() > 100 && first["ms"].is_u64() && first["request_id"].is_string()
    );
    assert_eq!(requests[1]["tool"], Value::Null, "a name that somebody made up is none");
}

fn certificate(dir: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(dir.join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(dir.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    super::private(&dir.join("key.pem"));
    made.cert.pem()
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_of_its_own_is_exchanged_without_a_stop() {
    let (env, fake) = (TestEnv::new(), Fake::start().await);
    let path = credentials(&env, "rs", SECRET);
    let first = certificate(&env.home());
    let (cert, key) = (env.home().join("cert.pem"), env.home().join("key.pem"));
    let tls = ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let running =
        Running::start(&env, &fake.url, &path, &[&tls[..], &["--trusted-host", "localhost"]].concat());
    assert!(running.url().starts_with("https://"));
    let url = format!("https://localhost:{}/healthz", running.address().rsplit(':').next().unwrap());
    let ask = async |pem: &str| {
        let certificate = reqwest::Certificate::from_pem(pem.as_bytes()).unwrap();
        let client = plain().tls_certs_only([certificate]).build().unwrap();
        client.get(&url).send().await.map(|answer| answer.status().as_u16()).ok()
    };
    assert_eq!(ask(&first).await, Some(200));
    // Bytes that are not TLS delay nobody.
    let _noise = std::net::TcpStream::connect(running.address()).unwrap();
    let second = certificate(&env.home());
    running.reload();
    running.event("reloaded").await;
    assert_eq!((ask(&second).await, ask(&first).await), (Some(200), None));
    std::fs::write(&key, "canary").unwrap();
    running.reload();
    running.event("reload_failed").await;
    assert_eq!(ask(&second).await, Some(200));
    assert!(!running.stderr().contains("canary"));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r1_3_it_does_not_start_with_an_owner_credential_an_open_file_or_no_provider() {
    let (mut env, fake) = (TestEnv::new(), Fake::start().await);
    let path = credentials(&env, "rs", "canary");
    let host = |env: &TestEnv, provider: &str, more: &[&str]| {
        let start = ["mcp", "host", "--listen", "127.0.0.1:0", "--provider-url", provider];
        let file = ["--introspection-file", path.to_str().unwrap()];
        let ran = env.run(&[&start[..], &file, more].concat());
        assert!(!ran.stdout.contains("canary") && !ran.stderr.contains("canary"), "{ran:?}");
        assert_eq!(ran.stdout, "", "{ran:?}");
        (ran.code, ran.stderr)
    };
    let refused = |(code, stderr): (Option<i32>, String), wanted: i32, why: &str| {
        assert_eq!(code, Some(wanted), "{stderr}");
        assert!(stderr.contains(&format!("code: {why}")), "{stderr}");
    };
    refused(host(&env, &fake.url, &["--public-url", "https://a.example/x"]), 2, "public_url_invalid");
    refused(host(&env, "http://127.0.0.1:9", &[]), 69, "provider_unreachable");
    let taken = ["--listen", fake.url.strip_prefix("http://").unwrap()];
    let ran = env.run(&[
        "mcp",
        "host",
        "--provider-url",
        &fake.url,
        "--introspection-file",
        path.to_str().unwrap(),
        taken[0],
        taken[1],
    ]);
    refused((ran.code, ran.stderr), 1, "host_listen");
    let (code, stderr) = host(&env, &fake.url, &["--metrics-listen", taken[1]]);
    assert!(stderr.contains("--metrics-listen 127.0.0.1:0\n"), "{stderr}");
    refused((code, stderr), 1, "host_listen");
    // The endpoint's address instead of the provider's.
    let (code, stderr) = host(&env, &format!("{}/mcp", fake.url), &[]);
    let next = format!(" --provider-url {}\n", fake.url);
    assert!(stderr.contains("pdpp mcp host ") && stderr.contains(&next), "{stderr}");
    refused((code, stderr), 69, "query_base_foreign");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    refused(host(&env, &fake.url, &[]), 77, "introspection_credentials");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    for damaged in [Some("{}"), None] {
        match damaged {
            Some(text) => std::fs::write(&path, text).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        refused(host(&env, &fake.url, &[]), 1, "introspection_credentials");
    }
    credentials(&env, "rs", "canary");
    let neither = env.run(&["mcp", "host", "--provider-url", &fake.url]);
    assert_eq!(neither.code, Some(2), "{neither:?}");
    for flag in ["--introspection-file <FILE>", "--introspection-keyring"] {
        assert!(neither.stderr.contains(flag), "{neither:?}");
    }
    let missing = ["--tls-cert", path.to_str().unwrap(), "--tls-key", path.to_str().unwrap()];
    refused(host(&env, &fake.url, &missing), 1, "host_tls");
    let keyring = env.run(&["mcp", "host", "--provider-url", &fake.url, "--introspection-keyring"]);
    assert!(keyring.stderr.contains("--introspection-file FILE") && keyring.code == Some(1), "{keyring:?}");
    env.set("PDPP_OWNER_TOKEN", Some("canary".to_owned()));
    refused(host(&env, &fake.url, &[]), 77, "owner_credential_in_environment");
    assert_eq!(fake.asked(), [""; 0]);
}

/// A closed stderr has become the null device by the time it is written to.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_of_the_log_that_go_nowhere_are_counted_as_lost() {
    for closed in ["2>&-", "2>/dev/null"] {
        let (env, fake) = (TestEnv::new(), Fake::start().await);
        let path = credentials(&env, "rs", SECRET);
        let running = Running::start_by_a_shell(&env, &fake.url, &path, "", closed);
        fake.allow("tok");
        assert_eq!(running.tools_list("tok").await.status, 200);
        let lost = async || {
            let metrics = running.metrics().await;
            let found = metrics.lines().find_map(|line| line.strip_prefix("pdpp_host_log_lines_lost_total "));
            (found? != "0").then_some(())
        };
        eventually(lost).await;
    }
}

/// A script that waits for the line of `--json` would wait forever; so would a script that starts a sandbox.
#[cfg(unix)]
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_cannot_be_announced_is_a_failure_at_once() {
    let (env, fake) = (TestEnv::new(), Fake::start().await);
    let path = credentials(&env, "rs", SECRET);
    let host = ["mcp", "host", "--provider-url", &fake.url, "--introspection-file", path.to_str().unwrap()];
    for start in [&host[..], &["sandbox"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let command = env.pdpp(&[start, &["--listen", "127.0.0.1:0", "--json"]].concat());
        let mut command = tokio::process::Command::from(command);
        command.stdout(full).stderr(std::process::Stdio::piped()).kill_on_drop(true);
        let ran = command.spawn().unwrap().wait_with_output();
        let ran =
            tokio::time::timeout(super::PATIENCE, ran).await.expect("nobody knows where it is").unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{start:?}: {stderr}");
        assert_eq!(stderr.matches("code: output_failed").count(), 1, "{start:?}: {stderr}");
    }
}

/// A page that was loaded from its own name may have that name lead here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_are_answered_to_this_servers_names_alone() {
    let (_env, _fake, running) = with(&["--trusted-host", "scrape.example"]).await;
    let url = running.ready["metrics_url"].as_str().unwrap();
    let asked = async |host: &str| {
        let answer = answer(running.http.get(url).header("host", host)).await;
        (answer.status, answer.text.contains("pdpp_host_connections"))
    };
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example"] {
        assert_eq!(asked(host).await, (421, false), "{host}");
    }
    for host in ["127.0.0.1", "localhost:9", "[::1]:9", "prometheus", "scrape.example"] {
        assert_eq!(asked(host).await, (200, true), "{host}");
    }
}
