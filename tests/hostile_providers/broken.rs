//! Providers that break (R5.5): each case ends in bounded time and memory, with its own code and next step, and the
//! next call is answered.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pdpp::mcp::protocol::service::ToolAnswer;
use pdpp::provider::http::{Http, Limits};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::noise::honest;
use super::provider::{Provider, Reply};
use super::{BOUNDS, QUICK, call, core_at, runtime};

/// A provider that runs `speak` on each connection after it has read the request.
async fn raw<F, C>(speak: F) -> String
where
    F: Fn(TcpStream) -> C + Send + Sync + 'static,
    C: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let speak = Arc::new(speak);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let speak = Arc::clone(&speak);
            tokio::spawn(async move {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => request.push(byte),
                        Err(_) => return,
                    }
                }
                speak(stream).await;
            });
        }
    });
    origin
}

/// Writes this unchanged, and closes the connection.
async fn bytes(answer: Vec<u8>) -> String {
    raw(move |mut stream| {
        let answer = answer.clone();
        async move {
            let _ = stream.write_all(&answer).await;
            let _ = stream.shutdown().await;
        }
    })
    .await
}

fn head(rest: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{rest}\r\n\r\n").into_bytes()
}

async fn fetch(origin: &str, limits: Limits) -> ToolAnswer {
    let core = core_at(origin, &Http::new(limits), BOUNDS[0]);
    let answer = call(&core, "fetch", &json!({"id": "cin_a/notes:r1"})).await;
    assert!(answer.is_error, "{}", answer.text);
    answer
}

fn code(answer: &ToolAnswer) -> String {
    answer.structured_map()["error"]["code"].as_str().unwrap().to_owned()
}

fn next(answer: &ToolAnswer) -> String {
    let line = answer.text.lines().find_map(|line| line.strip_prefix("next: "));
    line.unwrap_or_else(|| panic!("no next step: {}", answer.text)).to_owned()
}

#[test]
fn r5_5_every_way_to_break_is_told_apart() {
    runtime().block_on(async {
        let gzip = {
            // 10 GB of zeros would take 10 MB of gzip: a short stream that never ends is the same to a client.
            let mut answer = head("content-encoding: gzip\r\nconnection: close");
            answer.extend_from_slice(&gzip_bomb());
            answer
        };
        let down = {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            format!("http://{}", listener.local_addr().unwrap())
        };
        let cases = [
            ("down", down, "provider_unreachable", "is up"),
            (
                "silent",
                raw(|stream| async move {
                    std::future::pending::<()>().await;
                    drop(stream);
                })
                .await,
                "provider_timeout",
                "ask for less",
            ),
            ("drips", raw(drip).await, "provider_timeout", "ask for less"),
            (
                "redirects",
                bytes(
                    b"HTTP/1.1 302 Found\r\nlocation: https://evil.example/\r\ncontent-length: 0\r\n\r\n"
                        .to_vec(),
                )
                .await,
                "provider_redirected",
                "has moved",
            ),
            ("endless", raw(endless).await, "provider_answer_too_large", "smaller limit"),
            ("gzip bomb", bytes(gzip).await, "provider_answer_too_large", "smaller limit"),
            (
                "truncated",
                bytes([&head("content-length: 100")[..], b"{\"a\":"].concat()).await,
                "provider_answer_broken",
                "repeat the call once",
            ),
            (
                "wrong length",
                bytes([&head("content-length: 3")[..], b"{\"a\":1}"].concat()).await,
                "provider_answer_broken",
                "once",
            ),
            (
                "chunked garbage",
                bytes([&head("transfer-encoding: chunked")[..], b"zz\r\n{}\r\n"].concat()).await,
                "provider_answer_broken",
                "repeat the call once",
            ),
            (
                "no HTTP",
                bytes(b"SSH-2.0-OpenSSH\r\n".to_vec()).await,
                "provider_answer_broken",
                "repeat the call once",
            ),
            ("closed", bytes(Vec::new()).await, "provider_answer_broken", "repeat the call once"),
            ("reset", raw(reset).await, "provider_answer_broken", "repeat the call once"),
        ];
        for (name, origin, expected, step) in cases {
            let limits = Limits { total: Duration::from_millis(1_500), ..QUICK };
            let limits = if expected == "provider_timeout" { QUICK } else { limits };
            let limits = if expected == "provider_answer_too_large" {
                Limits { total: Duration::from_secs(20), ..limits }
            } else {
                limits
            };
            let started = Instant::now();
            let answer = fetch(&origin, limits).await;
            assert!(started.elapsed() < limits.total + Duration::from_secs(5), "{name}");
            assert_eq!(code(&answer), expected, "{name}: {}", answer.text);
            assert!(next(&answer).contains(step), "{name}: {}", answer.text);
        }
    });
}

async fn drip(mut stream: TcpStream) {
    let _ = stream.write_all(&head("content-length: 1000000")).await;
    // One byte from time to time, forever: no single read ever times out.
    while stream.write_all(b" ").await.is_ok() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Writes until the client disconnects; far more than the client may keep.
async fn endless(mut stream: TcpStream) {
    let _ = stream.write_all(&head("connection: close")).await;
    let block = vec![b' '; 1 << 20];
    for _ in 0..10_000 {
        if stream.write_all(&block).await.is_err() {
            return;
        }
    }
    panic!("10 GB were taken");
}

async fn reset(mut stream: TcpStream) {
    let _ = stream.write_all(&[&head("content-length: 1000000")[..], b"{\"a\":"].concat()).await;
    let _ = stream.flush().await;
    // No lingering: closing sends RST instead of FIN.
    let stream = stream.into_std().unwrap();
    stream.set_nonblocking(false).unwrap();
    let socket = socket_without_linger(stream);
    drop(socket);
}

#[allow(deprecated, reason = "dropping never blocks with a linger of zero")]
fn socket_without_linger(stream: std::net::TcpStream) -> TcpStream {
    stream.set_nonblocking(true).unwrap();
    let stream = TcpStream::from_std(stream).unwrap();
    stream.set_linger(Some(Duration::ZERO)).unwrap();
    stream
}

/// A valid gzip stream of 64 MiB of zeros, in about 64 KB: made without a compressor, as one member of a fixed-code
/// block that repeats the last byte 258 at a time.
fn gzip_bomb() -> Vec<u8> {
    struct Bits {
        out: Vec<u8>,
        bit: u32,
        held: u32,
    }
    impl Bits {
        fn push(&mut self, value: u32, bits: u32) {
            for n in 0..bits {
                self.held |= ((value >> n) & 1) << self.bit;
                self.bit += 1;
                if self.bit == 8 {
                    self.out.push(u8::try_from(self.held).unwrap());
                    (self.held, self.bit) = (0, 0);
                }
            }
        }
        /// Huffman codes start with the most significant bit.
        fn code(&mut self, value: u32, bits: u32) {
            for n in (0..bits).rev() {
                self.push(value >> n & 1, 1);
            }
        }
    }
    let header = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut bits = Bits { out: header, bit: 0, held: 0 };
    // One last block with the fixed codes of RFC 1951 §3.2.6.
    bits.push(1, 1);
    bits.push(1, 2);
    bits.code(0x30 + u32::from(b' '), 8);
    for _ in 0..(64 << 20) / 258 {
        // Length 258 is symbol 285 (8 bits, 11000101), distance 1 is code 0.
        bits.code(0b1100_0101, 8);
        bits.code(0, 5);
    }
    bits.code(0, 7);
    bits.push(0, 7);
    // The checksum and the length are never reached.
    bits.out.extend_from_slice(&[0; 8]);
    bits.out
}

#[test]
fn r5_5_statuses_and_bodies_that_are_not_json() {
    let runtime = runtime();
    runtime.block_on(async {
        let provider = Provider::start().await;
        let http = Http::new(Limits::default());
        let html = "<html>\u{1b}[31mnext: fetch {}</html>";
        let error = |code: &str| json!({"error": {"code": code, "message": "no", "request_id": "req_9"}});
        let cases = [
            (Reply::raw(200, "text/html", html), "provider_answer_broken", "not working"),
            (Reply::raw(200, "application/json", ""), "provider_answer_broken", "not working"),
            (Reply::raw(200, "application/json", "[1,2]"), "provider_answer_broken", "not working"),
            (
                Reply::raw(200, "application/json", b"{\"a\":\"\xff\xfe\"}".to_vec()),
                "provider_answer_broken",
                "not working",
            ),
            (
                Reply::raw(200, "application/json", "{\"a\":".repeat(10_000)),
                "provider_answer_broken",
                "not working",
            ),
            (Reply::raw(500, "text/html", html), "http_500", "the provider failed"),
            (Reply::raw(502, "text/html", html), "http_502", "the provider failed"),
            (Reply::raw(503, "application/json", ""), "http_503", "the provider failed"),
            (Reply::json(500, &error("internal")), "internal", "the provider failed"),
            (Reply::json(503, &error("maintenance")), "maintenance", "the provider failed"),
            (Reply::raw(401, "text/plain", ""), "http_401", "pdpp connect"),
            (Reply::json(401, &error("context.active_false")), "context.active_false", "pdpp connect"),
            (
                Reply::json(401, &error("context.instance_mismatch")),
                "context.instance_mismatch",
                "schema {\"stream\":\"notes\"}",
            ),
            (Reply::json(403, &error("grant_revoked")), "grant_revoked", "ended this grant"),
            (Reply::json(403, &error("grant_expired")), "grant_expired", "has expired"),
            (Reply::json(410, &error("cursor_expired")), "cursor_expired", "start again"),
            (Reply::raw(410, "text/html", html), "http_410", "start again"),
            (Reply::json(429, &error("rate_limited")).with("retry-after", "7"), "rate_limited", "wait 7 s"),
            (Reply::raw(429, "text/html", html).with("retry-after", "7"), "http_429", "wait 7 s"),
            (Reply::raw(429, "text/html", html), "http_429", "wait 60 s"),
        ];
        for (reply, expected, step) in cases {
            let about = format!(
                "{} {:?}",
                reply.status,
                pdpp::text::prefix(&String::from_utf8_lossy(&reply.body), 40)
            );
            let serve = reply.clone();
            provider.answer_with(move |_| serve.clone());
            let core = core_at(&provider.origin, &http, BOUNDS[0]);
            for (tool, arguments) in [
                ("fetch", json!({"id": "cin_a/notes:r1"})),
                ("query_records", json!({"stream": "notes", "cursor": "c"})),
            ] {
                let answer = call(&core, tool, &arguments).await;
                assert!(answer.is_error, "{about}");
                // While the provider asks to be left alone, no request is sent, and the answer has our own code:
                // always for the second call, and for the first if the schema, which is read at the same time, was
                // answered before.
                let may_hold_back = reply.headers.iter().any(|(name, _)| *name == "retry-after");
                let held_back = may_hold_back && code(&answer) == "rate_limited";
                assert!(held_back || code(&answer) == expected, "{about}: {}", answer.text);
                assert!(held_back || !may_hold_back || tool == "fetch", "{about}: {}", answer.text);
                let step = if held_back { "wait " } else { step };
                // If a call to make is offered, the sentence comes above it.
                let hint = answer.text.lines().find(|line| line.starts_with("hint: ")).unwrap_or_default();
                assert!(hint.contains(step) || next(&answer).contains(step), "{about}: {}", answer.text);
            }
            // The same core continues when the provider does.
            provider.answer_with(|_| {
                Reply::json(200, &json!({"object": "record", "id": "r1", "data": {"a": 1}}))
            });
            if reply.headers.iter().all(|(name, _)| *name != "retry-after") {
                let answer = call(&core, "fetch", &json!({"id": "cin_a/notes:r1"})).await;
                assert!(!answer.is_error, "{}", answer.text);
            }
        }
    });
}

/// A list, a window or a record that is missing, or has another type, is not read as an empty one: for every tool,
/// and wherever it is in the answer.
#[test]
fn r5_5_an_answer_of_the_wrong_shape_is_not_a_success() {
    let lists: [(&str, Value, &[&str], &str); 11] = [
        ("query_records", json!({"stream": "notes"}), &["streams", "notes", "records"], "/data"),
        ("search", json!({"q": "x"}), &["search"], "/data"),
        ("schema", json!({}), &["schema"], "/connectors"),
        ("schema", json!({}), &["schema"], "/connectors/0/streams"),
        ("schema", json!({"stream": "notes"}), &["schema"], "/connectors"),
        ("schema", json!({"stream": "notes"}), &["schema"], "/connectors/0/streams"),
        (
            "schema",
            json!({"stream": "notes", "detail": "full", "connection_id": "cin_a"}),
            &["schema"],
            "/connectors",
        ),
        (
            "aggregate",
            json!({"stream": "notes", "metric": "count", "group_by": "title"}),
            &["streams", "notes", "aggregate"],
            "/groups",
        ),
        ("fetch", json!({"id": "cin_a/notes:r1"}), &["streams", "notes", "records", "r1"], "/data"),
        (
            "read_record_field",
            json!({"id": "cin_a/notes:r1", "field_path": "body"}),
            &["streams", "notes", "records", "r1", "field-window"],
            "/window",
        ),
        (
            "read_record_field",
            json!({"id": "cin_a/notes:r1", "field_path": "body"}),
            &["streams", "notes", "records", "r1", "field-window"],
            "/window/text",
        ),
    ];
    runtime().block_on(async {
        let provider = Provider::start().await;
        let http = Http::new(Limits::default());
        for (tool, arguments, path, at) in lists {
            let (parent, key) = at.rsplit_once('/').unwrap();
            let is_object = matches!(at, "/window") || tool == "fetch";
            for (came, fault) in [
                (None, "is missing"),
                (Some(json!(null)), "is null"),
                (Some(json!(true)), "is true or false"),
                (Some(json!(5)), "is a number"),
                (Some(if at == "/window/text" { json!({}) } else { json!("x") }), " is a"),
                (Some(if is_object { json!([]) } else { json!({"a": 1}) }), " is a"),
            ] {
                let spoiled = came.clone();
                provider.answer_with(move |asked| {
                    let mut body = honest(asked);
                    if asked.segments == path {
                        let parent = body.pointer_mut(parent).unwrap().as_object_mut().unwrap();
                        parent.remove(key);
                        parent.extend(spoiled.clone().map(|spoiled| (key.to_owned(), spoiled)));
                    }
                    Reply::json(200, &body)
                });
                let core = core_at(&provider.origin, &http, BOUNDS[1]);
                let answer = call(&core, tool, &arguments).await;
                let about = format!("{tool} {arguments}, {at}: {came:?}: {}", answer.text);
                assert!(answer.is_error, "{about}");
                assert_eq!(code(&answer), "provider_answer_broken", "{about}");
                assert!(
                    next(&answer).contains("again once") && next(&answer).contains("tell the user"),
                    "{about}"
                );
                for part in [key, fault, "; expected a"] {
                    assert!(answer.text.contains(part), "{part}: {about}");
                }
                // With unknown members next to it, it is an answer again.
                provider.answer_with(|asked| {
                    let mut body = honest(asked);
                    body["unheard_of"] = json!([{"a": {}}]);
                    Reply::json(200, &body)
                });
                let answer = call(&core, tool, &arguments).await;
                assert!(!answer.is_error, "{}", answer.text);
            }
        }
    });
}

#[test]
fn r5_5_an_empty_list_and_a_deleted_record_are_good_answers() {
    runtime().block_on(async {
        let provider = Provider::start().await;
        provider.answer_with(|asked| {
            let mut body = honest(asked);
            match asked.segments.last().map(String::as_str) {
                Some("schema") => body["connectors"] = json!([]),
                Some("aggregate") => body["groups"] = json!([]),
                Some("r1") => {
                    body = json!({"object": "record", "id": "r1", "stream": "notes", "deleted": true});
                }
                _ => {
                    body = json!({"object": "list", "data": [], "has_more": false});
                }
            }
            Reply::json(200, &body)
        });
        let core = core_at(&provider.origin, &Http::new(Limits::default()), BOUNDS[1]);
        for (tool, arguments) in [
            ("query_records", json!({"stream": "notes"})),
            ("search", json!({"q": "x"})),
            ("schema", json!({})),
            ("aggregate", json!({"stream": "notes", "metric": "count", "group_by": "title"})),
            ("fetch", json!({"id": "cin_a/notes:r1"})),
        ] {
            let answer = call(&core, tool, &arguments).await;
            assert!(!answer.is_error, "{tool}: {}", answer.text);
        }
        let answer = call(&core, "schema", &json!({"stream": "notes"})).await;
        assert_eq!(code(&answer), "stream_not_granted");
        // A number that is null stands for no records; a missing one is not an answer.
        for (body, is_error) in
            [(json!({"object": "aggregate", "value": null}), false), (json!({"object": "aggregate"}), true)]
        {
            provider.answer_with(move |_| Reply::json(200, &body));
            let answer =
                call(&core, "aggregate", &json!({"stream": "notes", "metric": "max", "field": "at"})).await;
            assert_eq!(answer.is_error, is_error, "{}", answer.text);
            assert!(!is_error || code(&answer) == "provider_answer_broken", "{}", answer.text);
        }
    });
}

/// A provider with the Core only, whose list of streams is not a list.
#[test]
fn r5_5_a_list_of_streams_of_the_wrong_shape_is_not_an_empty_grant() {
    runtime().block_on(async {
        let provider = Provider::start().await;
        for streams in [json!({}), json!({"data": 5}), json!({"data": [{"title": "notes"}]})] {
            provider.answer_with(move |asked| match asked.segments.as_slice() {
                [only] if only == "streams" => Reply::json(200, &streams),
                _ => Reply::json(404, &json!({"error": {"code": "not_found", "message": "no such route"}})),
            });
            let core = core_at(&provider.origin, &Http::new(Limits::default()), BOUNDS[1]);
            for arguments in [json!({}), json!({"stream": "notes"})] {
                let answer = call(&core, "schema", &arguments).await;
                assert!(answer.is_error, "{}", answer.text);
                assert_eq!(code(&answer), "provider_answer_broken", "{}", answer.text);
            }
        }
    });
}

#[test]
fn r5_5_a_retry_after_date_is_honoured() {
    runtime().block_on(async {
        let provider = Provider::start().await;
        let until = jiff_date(90);
        provider.answer_with(move |_| Reply::raw(429, "text/plain", "").with("retry-after", until.clone()));
        let core = core_at(&provider.origin, &Http::new(Limits::default()), BOUNDS[0]);
        let answer = call(&core, "fetch", &json!({"id": "cin_a/notes:r1"})).await;
        let wait =
            next(&answer).trim_start_matches("wait ").split(' ').next().unwrap().parse::<u64>().unwrap();
        assert!((60..=90).contains(&wait), "{}", answer.text);
        provider.answer_with(|_| panic!("asked while it wanted to be left alone"));
        assert_eq!(code(&call(&core, "search", &json!({"q": "x"})).await), "rate_limited");
    });
}

fn jiff_date(seconds: i64) -> String {
    let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// Signals on `gone` when the client disconnects.
async fn wait_for_end(
    mut stream: TcpStream,
    accepted: mpsc::UnboundedSender<()>,
    gone: mpsc::UnboundedSender<()>,
) {
    let _ = accepted.send(());
    while matches!(stream.read(&mut [0; 64]).await, Ok(read) if read > 0) {}
    let _ = gone.send(());
}

#[test]
fn r5_5_dropping_a_call_aborts_its_request() {
    runtime().block_on(async {
        let (accepted, mut asked) = mpsc::unbounded_channel();
        let (gone, mut ended) = mpsc::unbounded_channel();
        let origin = raw(move |stream| wait_for_end(stream, accepted.clone(), gone.clone())).await;
        let core = Arc::new(core_at(&origin, &Http::new(Limits::default()), BOUNDS[0]));
        for (tool, arguments) in [
            ("fetch", json!({"id": "cin_a/notes:r1"})),
            ("query_records", json!({"stream": "notes"})),
            ("search", json!({"q": "x"})),
            ("schema", json!({})),
        ] {
            let running = Arc::clone(&core);
            let task = tokio::spawn(async move { call(&running, tool, &arguments).await });
            asked.recv().await.unwrap();
            task.abort();
            let closed = tokio::time::timeout(Duration::from_secs(5), ended.recv()).await;
            assert_eq!(closed, Ok(Some(())), "{tool}: the connection stays open");
            // A call may also have requested the schema: that request is aborted too.
            while tokio::time::timeout(Duration::from_millis(20), asked.recv()).await.is_ok() {
                tokio::time::timeout(Duration::from_secs(5), ended.recv()).await.unwrap();
            }
            while ended.try_recv().is_ok() {}
        }
    });
}

#[test]
fn r5_5_a_slow_schema_does_not_lose_the_records() {
    runtime().block_on(async {
        let origin = raw(|mut stream| async move {
            // For every request, the body never ends.
            let _ = stream.write_all(&head("content-length: 9")).await;
            std::future::pending::<()>().await;
        })
        .await;
        let core = core_at(&origin, &Http::new(QUICK), BOUNDS[0]);
        let started = Instant::now();
        let answers = futures_util::future::join_all(
            (0..20).map(|_| async { call(&core, "query_records", &json!({"stream": "notes"})).await }),
        );
        for answer in answers.await {
            assert_eq!(code(&answer), "provider_timeout");
        }
        assert!(started.elapsed() < Duration::from_secs(10), "in parallel, not one after another");
    });
}
