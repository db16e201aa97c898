//! Answers of any shape from a resource server, through the tools: both views stay within their bounds and contain nothing hidden
//! (R4.8, R4.9, R5.5).
//!
//! Input: a byte for the tool, one for the call, one for the status, then bodies separated by a zero byte. If there are two, the
//! first one answers the schema read. The last one answers all other reads.
#![no_main]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, LazyLock, Mutex};

use futures_util::FutureExt as _;
use libfuzzer_sys::fuzz_target;
use pdpp::secret::AccessToken;
use pdpp::mcp::protocol::service::Service as _;
use pdpp::mcp::tools::service::Tools;
use pdpp::mcp::size::Bounds;
use pdpp::mcp::reading::reader::{BearerSource, Reader};
use pdpp::provider::http::{Http, Limits};
use pdpp::provider::rs::ResourceServer;
use serde_json::{Value, json};

const BOUNDS: [Bounds; 3] = [
    Bounds { text: Bounds::LEAST, structured: Bounds::LEAST },
    Bounds { text: 8_000, structured: 10_000 },
    Bounds { text: Bounds::MOST, structured: Bounds::MOST },
];
const STATUSES: [u16; 16] = [200, 200, 200, 200, 200, 200, 200, 200, 400, 401, 403, 404, 409, 410, 422, 503];
const SCHEMA: &str = include_str!("../schema.json");

#[derive(Default)]
struct Answers {
    status: u16,
    schema: Vec<u8>,
    other: Vec<u8>,
}

struct Fixture {
    runtime: tokio::runtime::Runtime,
    http: Http,
    origin: String,
    answers: Arc<Mutex<Answers>>,
}

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let origin = format!("http://{}", listener.local_addr().expect("an address"));
    let answers = Arc::new(Mutex::new(Answers::default()));
    let shared = Arc::clone(&answers);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || serve(stream, &shared));
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    Fixture { runtime, http: Http::new(Limits::default()), origin, answers }
});

fn serve(stream: TcpStream, answers: &Mutex<Answers>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut writer = stream.try_clone().ok()?;
    let mut lines = BufReader::new(stream).lines();
    loop {
        let request = lines.next()?.ok()?;
        while !lines.next()?.ok()?.is_empty() {}
        let answer = {
            let answers = answers.lock().ok()?;
            let is_schema = request.starts_with("GET /v1/schema");
            let (status, body) =
                if is_schema { (200, &answers.schema) } else { (answers.status, &answers.other) };
            let mut answer = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            )
            .into_bytes();
            answer.extend_from_slice(body);
            answer
        };
        writer.write_all(&answer).ok()?;
    }
}

fn call(tool: u8, which: u8) -> (&'static str, Value) {
    let calls: &[(&str, Value)] = &[
        ("schema", json!({})),
        ("schema", json!({"stream": "notes"})),
        ("schema", json!({"stream": "notes", "connection_id": "cin_a", "detail": "full"})),
        ("query_records", json!({"stream": "notes"})),
        ("query_records", json!({"stream": "notes", "limit": 3, "fields": ["body"], "order": "asc"})),
        ("query_records", json!({"stream": "notes", "changes_since": "beginning"})),
        ("query_records", json!({"stream": "notes", "count": "exact", "connection_id": "cin_a"})),
        ("aggregate", json!({"stream": "notes", "metric": "count"})),
        ("aggregate", json!({"stream": "notes", "metric": "count", "group_by": "kind"})),
        ("aggregate", json!({"stream": "notes", "metric": "sum", "field": "size", "group_by_time": "at", "granularity": "day"})),
        ("search", json!({"q": "tide"})),
        ("search", json!({"q": "tide", "mode": "hybrid", "limit": 50})),
        ("fetch", json!({"id": "cin_a/notes:r1"})),
        ("fetch", json!({"id": "cin_a/notes:r1", "fields": ["body"]})),
        ("read_record_field", json!({"id": "cin_a/notes:r1", "field_path": "body"})),
        ("read_record_field", json!({"id": "cin_a/notes:r1", "field_path": "body", "q": "tide", "before_chars": 40})),
        ("read_record_field", json!({"id": "cin_a/notes:r1", "field_path": "$", "cursor": "json:0"})),
    ];
    let (name, arguments) = &calls[(usize::from(tool) + usize::from(which) * 7) % calls.len()];
    (name, arguments.clone())
}

fuzz_target!(|data: &[u8]| {
    let [tool, which, status, rest @ ..] = data else { return };
    let fixture = &*FIXTURE;
    let (schema, other) = match rest.iter().position(|byte| *byte == 0) {
        Some(at) => (rest[..at].to_vec(), rest[at + 1..].to_vec()),
        None => (SCHEMA.as_bytes().to_vec(), rest.to_vec()),
    };
    let (name, arguments) = call(*tool, *which);
    let only_schema = name == "schema" && !rest.contains(&0);
    *fixture.answers.lock().expect("not poisoned") = Answers {
        status: STATUSES[usize::from(*status) % STATUSES.len()],
        schema: if only_schema { other.clone() } else { schema },
        other,
    };
    let bounds = BOUNDS[usize::from(*status >> 4) % BOUNDS.len()];
    let provider: pdpp::provider::url::ProviderUrl = fixture.origin.parse().expect("a provider's address");
    let base = format!("{}/v1", fixture.origin).parse().expect("a URL");
    let rs = ResourceServer::new(fixture.http.clone(), &provider, base).expect("its own base");
    let bearer: BearerSource =
        Arc::new(|| std::future::ready(Ok(AccessToken::new("t".to_owned()).expect("a token"))).boxed());
    let core = Tools::over_one(Reader::new(provider, Some("grt_1".to_owned()), rs, bearer), bounds);
    let Value::Object(given) = arguments.clone() else { unreachable!("an object") };
    let answer = fixture.runtime.block_on(core.call(name, given));

    assert!(!answer.text.is_empty(), "{name} {arguments}");
    let hidden = pdpp::text::exposed(&answer.text).find(|(_, c)| *c != '\n');
    assert_eq!(hidden, None, "R4.9: {name} {arguments}\n{:?}", answer.text);
    let structured = answer.structured_len();
    let is_index = name == "schema" && arguments.get("stream").is_none();
    if !is_index || answer.is_error {
        assert!(answer.text.len() <= bounds.text, "R4.8: text of {} at {bounds:?}: {name} {arguments}", answer.text.len());
        assert!(structured <= bounds.structured, "R4.8: structured of {structured} at {bounds:?}: {name} {arguments}");
    }
    let all = answer.structured_map();
    let code = all.get("error").and_then(|error| error.get("code")?.as_str());
    assert_ne!(code, Some("answer_too_large"), "a tool fits its own results: {name} {arguments}");
});
