//! Hostile data and broken providers (R4.8, R4.9, R5): whatever a provider sends, each view stays within its bound,
//! nothing is lost or forged, and the next call is answered.

mod bounds;
mod broken;
mod forgery;
mod made;
mod noise;
mod provider;
mod reader;
mod store;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use pdpp::advice::Command;
use pdpp::mcp::protocol::service::{Service as _, ToolAnswer};
use pdpp::mcp::reading::reader::{BearerSource, Reader};
use pdpp::mcp::size::Bounds;
use pdpp::mcp::tools::service::Tools;
use pdpp::provider::http::{Http, Limits};
use pdpp::provider::rs::ResourceServer;
use pdpp::provider::url::ProviderUrl;
use pdpp::secret::AccessToken;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::{Map, Value};

/// The bounds for all tests: the least, the default, the most.
const BOUNDS: [Bounds; 3] = [
    Bounds { text: Bounds::LEAST, structured: Bounds::LEAST },
    Bounds { text: 8_000, structured: 10_000 },
    Bounds { text: Bounds::MOST, structured: Bounds::MOST },
];

/// Bounds of an exchange that are short enough for a test.
const QUICK: Limits =
    Limits { connect: Duration::from_millis(400), total: Duration::from_millis(400), body: 16 << 20 };

/// Runs `few` random cases, the same every time; `PROPTEST_CASES` and `PROPTEST_RNG_SEED` change them.
fn cases(few: u32) -> TestRunner {
    let seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok());
    TestRunner::new(Config {
        cases: crate::support::cases::cases(few),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed.unwrap_or(7)),
        max_shrink_iters: 60,
        ..Config::default()
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// A core over the provider at `origin`, with a separate source: it remembers nothing from another one.
fn core_at(origin: &str, http: &Http, bounds: Bounds) -> Tools {
    let provider: ProviderUrl = origin.parse().unwrap();
    let base = format!("{origin}/v1").parse().unwrap();
    let rs = ResourceServer::new(http.clone(), &provider, base).unwrap();
    let bearer: BearerSource =
        Arc::new(|| std::future::ready(Ok(AccessToken::new("t".to_owned()).unwrap())).boxed());
    let source = Reader::new(provider, Some("grt_1".to_owned()), rs, bearer);
    Tools::over_one(source.renewed_by(Command::connect(origin).words("--renew")), bounds)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

/// Makes a call, and checks what every answer must fulfil: its bounds, and nothing hidden in its text.
async fn call(core: &Tools, tool: &str, arguments: &Value) -> ToolAnswer {
    let answer = core.call(tool, object(arguments.clone())).await;
    let bounds = core.bounds();
    let about = || format!("{tool} {} at {bounds:?}", pdpp::text::prefix(&arguments.to_string(), 300));
    let hidden = pdpp::text::exposed(&answer.text).find(|(_, c)| *c != '\n');
    assert_eq!(hidden, None, "R4.9: {}\n{:?}", about(), answer.text);
    let (text, structured) = (answer.text.len(), reader::wire_len(&answer));
    // Each tool keeps its own bounds; the core's last resort is for cases that no test foresees.
    assert!(!answer.text.starts_with("error answer_too_large"), "R4.8: {}", about());
    if tool != "schema" || answer.is_error || arguments.get("stream").is_some() {
        assert!(text <= bounds.text, "R4.8: text of {text} bytes: {}\n{}", about(), answer.text);
        assert!(
            structured <= bounds.structured,
            "R4.8: structured of {structured} bytes: {}\n{}",
            about(),
            reader::structured(&answer)
        );
    }
    answer
}
