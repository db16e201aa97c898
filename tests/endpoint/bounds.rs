//! What a caller, or a crowd of callers, may cost.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use super::fake::Fake;
use super::{Answer, PATIENCE, Running, SECRET, answer, credentials, eventually};
use crate::support::env::TestEnv;

async fn with(more: &[&str]) -> (TestEnv, Fake, Running) {
    let (env, fake) = (TestEnv::new(), Fake::start().await);
    let path = credentials(&env, "rs", SECRET);
    let running = Running::start(&env, &fake.url, &path, more);
    (env, fake, running)
}

fn parts_of(refused: &Answer) -> (u16, String, bool) {
    let seconds = refused.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds > 0);
    (refused.status, refused.code(), seconds)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bearer_that_asks_too_often_waits_and_nobody_else_does() {
    let (_env, fake, running) = with(&["--requests-per-minute", "12"]).await;
    fake.allow("tok-a");
    fake.allow("tok-b");
    for _ in 0..2 {
        assert_eq!(running.tools_list("tok-a").await.status, 200);
    }
    let refused = running.tools_list("tok-a").await;
    assert_eq!(parts_of(&refused), (429, "rate_limited".to_owned(), true));
    assert_eq!(running.tools_list("tok-b").await.status, 200);
    assert!(running.metrics().await.contains(r#"pdpp_host_refused_total{reason="rate_limited"} 1"#));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_many_requests_at_once_and_no_more_for_one_and_for_all() {
    let (_env, fake, running) = with(&["--max-concurrent-per-bearer", "1", "--max-concurrent", "2"]).await;
    for token in ["held-a", "held-b", "tok-c"] {
        fake.allow(token);
    }
    let search = json!({"q": "x"});
    let first = running.call("held-a", "search", &search);
    let second = running.call("held-b", "search", &search);
    let rest = async {
        eventually(async || (fake.read().len() == 2).then_some(())).await;
        let own = running.tools_list("held-a").await;
        assert_eq!(parts_of(&own), (429, "too_many_at_once".to_owned(), true));
        let all = running.tools_list("tok-c").await;
        assert_eq!(parts_of(&all), (503, "endpoint_busy".to_owned(), true));
        fake.let_go.send(true).unwrap();
    };
    let (first, second, ()) = tokio::join!(first, second, rest);
    assert_eq!((first.status, second.status), (200, 200));
    assert_eq!(running.tools_list("tok-c").await.status, 200);
    let gone = running.metrics().await;
    assert!(gone.contains("\npdpp_host_requests_in_flight 0\n"), "{gone}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_has_a_size_and_a_stranger_is_not_listened_to_at_all() {
    let (_env, fake, running) = with(&["--max-body-bytes", "2048"]).await;
    fake.allow("tok");
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "y".repeat(3000)}});
    let refused = running.send("tok", &large).await;
    assert_eq!((refused.status, refused.code().as_str()), (413, "payload_too_large"));
    assert_eq!(running.send("stranger", &large).await.status, 401);
    // A head without an end.
    let mut stream = TcpStream::connect(running.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!("POST /mcp HTTP/1.1\r\nhost: x\r\nx-long: {}", "y".repeat(70_000));
    let _ = stream.write_all(head.as_bytes());
    let mut received = Vec::new();
    let _ = stream.read_to_end(&mut received);
    assert!(
        received.is_empty() || received.starts_with(b"HTTP/1.1 431"),
        "{}",
        String::from_utf8_lossy(&received)
    );
    assert_eq!(running.tools_list("tok").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_connections_hold_their_own_place_and_nothing_else() {
    let (_env, fake, running) = with(&["--max-connections", "60"]).await;
    fake.allow("tok");
    let open: Vec<_> = (0..50)
        .map(|_| {
            let mut stream = TcpStream::connect(running.address()).unwrap();
            stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: x\r\nauthorization: Bea").unwrap();
            stream
        })
        .collect();
    let connections = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("pdpp_host_connections ")).unwrap();
        line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()
    };
    eventually(async || (connections(&running.metrics().await) >= 50).then_some(())).await;
    let metrics = running.metrics().await;
    assert!(metrics.contains("\npdpp_host_requests_in_flight 0\n"), "a half request is none");
    assert_eq!(running.tools_list("tok").await.status, 200);
    drop(open);
    eventually(async || (connections(&running.metrics().await) <= 1).then_some(())).await;
    assert_eq!(running.tools_list("tok").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beyond_the_most_connections_the_next_one_waits_for_whoever_is_at_work() {
    let (_env, fake, running) = with(&["--max-connections", "2"]).await;
    for token in ["held-a", "held-b", "tok"] {
        fake.allow(token);
    }
    let search = json!({"q": "x"});
    let held = async {
        tokio::join!(running.call("held-a", "search", &search), running.call("held-b", "search", &search))
    };
    let next = async {
        eventually(async || (fake.read().len() == 2).then_some(())).await;
        let mut next = Box::pin(running.tools_list("tok"));
        let early = tokio::time::timeout(std::time::Duration::from_millis(300), &mut next).await;
        assert!(early.is_err(), "it was served beyond the bound");
        fake.let_go.send(true).unwrap();
        tokio::time::timeout(PATIENCE, next).await.unwrap()
    };
    let ((first, second), next) = tokio::join!(held, next);
    assert_eq!((first.status, second.status, next.status), (200, 200, 200));
}

/// If a caller opens connections and sends half a request on each, it loses one place after another again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_requests_keep_nobody_out_however_many() {
    let (_env, fake, running) = with(&["--max-connections", "20"]).await;
    fake.allow("tok");
    let open: Vec<_> = (0..60)
        .map(|_| {
            let mut stream = TcpStream::connect(running.address()).unwrap();
            let _ = stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: x\r\nauthorization: Bea");
            stream
        })
        .collect();
    let answered = tokio::time::timeout(PATIENCE, running.tools_list("tok")).await.unwrap();
    assert_eq!(answered.status, 200);
    let metrics = running.metrics().await;
    let hung_up =
        metrics.lines().find(|line| line.starts_with("pdpp_host_hung_up_total{reason=\"room\"}")).unwrap();
    assert!(hung_up.rsplit(' ').next().unwrap().parse::<u32>().unwrap() >= 40, "{hung_up}");
    drop(open);
}

/// Few files may be opened, and there are more half requests than that.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_may_open_few_files_takes_as_many_connections_as_it_can_serve() {
    let (env, fake) = (TestEnv::new(), Fake::start().await);
    fake.allow("tok");
    let path = credentials(&env, "rs", SECRET);
    let running = Running::start_by_a_shell(&env, &fake.url, &path, "ulimit -n 256;", "");
    let open: Vec<_> = (0..300)
        .map(|_| {
            let mut stream = TcpStream::connect(running.address()).unwrap();
            let _ = stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: x\r\n");
            stream
        })
        .collect();
    let answered = tokio::time::timeout(PATIENCE, running.tools_list("tok")).await.unwrap();
    assert_eq!(answered.status, 200);
    assert_eq!(running.event("few_files").await["level"], "warn");
    drop(open);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_goes_away_takes_its_read_with_it() {
    let (_env, fake, running) = with(&[]).await;
    fake.allow("held-a");
    let call = super::call("search", &json!({"q": "canary-question"})).to_string();
    let asking = tokio::spawn(answer(running.post("held-a").body(call)));
    eventually(async || (fake.read().len() == 1).then_some(())).await;
    asking.abort();
    let line = running.event("request").await;
    assert_eq!((&line["status"], &line["outcome"]), (&json!(499), &json!("client_gone")));
    assert_eq!((&line["method"], &line["tool"]), (&json!("tools/call"), &json!("search")));
    assert!(running.metrics().await.contains("\npdpp_host_requests_in_flight 0\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn made_up_bearers_take_no_turn_of_one_that_was_served_before() {
    let (_env, fake, running) = with(&[]).await;
    let now = || jiff::Timestamp::now().as_second();
    let ends = now() + 3;
    fake.say("tok", &json!({"exp": ends}));
    assert_eq!(running.tools_list("tok").await.status, 200);
    fake.allow("tok");
    eventually(async || (now() > ends).then_some(())).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    for number in 0..40 {
        tokio::spawn(running.post(&format!("made-up-{number}")).body(list.clone()).send());
    }
    // More of them wait for a turn than there are places.
    eventually(async || (fake.asked().len() >= 25).then_some(())).await;
    assert_eq!(running.tools_list("tok").await.status, 200);
    let asked = fake.asked();
    let before = asked.iter().rposition(|token| token == "tok").unwrap();
    assert_eq!(before, 25, "itself, and 24 made-up ones: {asked:?}");
    fake.let_go.send(true).unwrap();
}
