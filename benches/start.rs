//! Measures what a host waits for and keeps in memory: start to the first answer, peak memory after `tools/list`,
//! end of input to exit, compared with a bare process that does nothing else, in one run.
//!
//! `cargo bench --bench start` measures a bare process, the protocol server over an empty surface, and
//! `pdpp mcp serve` with a made-up credential. `cargo bench --bench start -- COMMAND…` measures that
//! command instead of the last.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, clippy::panic)]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use pdpp::cache::Cache;
use pdpp::cache::credential::{CredentialId, Secrets};
use pdpp::mcp::protocol::service::ResourceContents;
use pdpp::mcp::protocol::service::ResourceError;
use pdpp::mcp::protocol::service::Service;
use pdpp::mcp::protocol::service::{Offer, ToolAnswer};
use pdpp::mcp::protocol::stdio;
use pdpp::secret::AccessToken;
use serde_json::{Map, Value, json};

const RUNS: usize = 31;
const ROLE: &str = "PDPP_BENCH_ROLE";
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"0"}}}
"#;
const LIST: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
"#;

struct Empty;

impl Service for Empty {
    fn offer(&self) -> Offer {
        pdpp::mcp::tools::surface::offer()
    }

    fn call(&self, _tool: &str, _arguments: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
        let answer = ToolAnswer { text: String::new(), structured: None, is_error: false, rows: 0 };
        Box::pin(std::future::ready(answer))
    }

    fn read_resource(&self, _uri: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
        Box::pin(std::future::ready(Err(ResourceError::NotFound {
            message: String::new(),
            data: serde_json::Value::Null,
        })))
    }
}

/// Writes one line for every request that it reads.
fn bare() {
    let mut output = std::io::stdout();
    for line in std::io::stdin().lines().map_while(Result::ok) {
        if line.contains("\"id\"") {
            output.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n").unwrap();
        }
    }
}

struct Run {
    start: Duration,
    /// In kB; absent if the system does not report it, or if the process ended after its first answer.
    peak: Option<u64>,
    exit: Duration,
    code: Option<i32>,
}

fn run(command: &mut Command) -> Run {
    let started = Instant::now();
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut output = BufReader::new(output);
    let mut line = String::new();
    input.write_all(INITIALIZE.as_bytes()).unwrap();
    output.read_line(&mut line).unwrap();
    let start = started.elapsed();
    assert!(!line.is_empty(), "no answer");
    line.clear();
    let listed =
        input.write_all(LIST.as_bytes()).is_ok() && output.read_line(&mut line).is_ok_and(|read| read > 0);
    let peak = listed.then(|| peak_memory(child.id())).flatten();
    let ended = Instant::now();
    drop(input);
    let code = child.wait().unwrap().code();
    let exit = ended.elapsed();
    let _ = output.read_to_string(&mut line);
    Run { start, peak, exit, code }
}

fn peak_memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

fn median<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

fn measure(name: &str, mut command: impl FnMut() -> Command) {
    // The first ones fill the page cache.
    let runs: Vec<_> = (0..RUNS + 3).map(|_| run(&mut command())).skip(3).collect();
    let ms = |times: Option<Duration>| times.unwrap_or_default().as_secs_f64() * 1e3;
    let start = runs.iter().map(|run| run.start);
    println!(
        "{name:<34} {:>9.2} {:>9.2} {:>10} {:>9.2} {:>6}",
        ms(median(start.clone())),
        ms(start.min()),
        median(runs.iter().filter_map(|run| run.peak))
            .map_or_else(|| "-".to_owned(), |peak| peak.to_string()),
        ms(median(runs.iter().map(|run| run.exit))),
        runs[0].code.map_or_else(|| "-".to_owned(), |code| code.to_string()),
    );
}

/// A cache with one credential, for a provider that is never contacted.
fn connected() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let credential = json!({
        "id": CredentialId::random().unwrap(),
        "store": "file",
        "provider": "https://provider.example",
        "grant_id": "grant",
        "query_base": "https://provider.example/v1",
        "issuer": "https://provider.example",
        "token_kind": "client",
        "label": "A provider",
    });
    let secrets = Secrets::new(AccessToken::new("made-up".to_owned()).unwrap(), None);
    let cache = Cache::open(dir.path()).unwrap();
    cache.store(serde_json::from_value(credential).unwrap(), &secrets, None).unwrap();
    dir
}

fn main() {
    match std::env::var(ROLE).as_deref() {
        Ok("bare") => return bare(),
        Ok("empty") => {
            pdpp::runtime::block_on(stdio::serve_stdio(Arc::new(Empty))).unwrap().unwrap();
            return;
        }
        _ => {}
    }
    // cargo adds `--bench`.
    let given: Vec<_> = std::env::args_os().skip(1).filter(|argument| argument != "--bench").collect();
    let this = std::env::current_exe().unwrap();
    let role = |role: &'static str| {
        let this = this.clone();
        move || {
            let mut command = Command::new(&this);
            command.env(ROLE, role);
            command
        }
    };
    println!("{:<34} {:>9} {:>9} {:>10} {:>9} {:>6}", "", "start ms", "min ms", "peak kB", "exit ms", "code");
    measure("bare process", role("bare"));
    measure("protocol server, empty surface", role("empty"));
    if let Some((program, arguments)) = given.split_first() {
        measure(&program.to_string_lossy(), || {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        });
    } else {
        let cache = connected();
        measure("pdpp mcp serve", || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_pdpp"));
            command.args(["mcp", "serve", "--cache-dir"]).arg(cache.path());
            command
        });
    }
}
