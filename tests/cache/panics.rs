//! A token in memory when something panics: not a byte of it leaks.
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pdpp::cache::Cache;
use pdpp::mcp::protocol::service::{Offer, ResourceContents, ResourceError, Service, ToolAnswer};
use pdpp::mcp::protocol::stdio;
use pdpp::provider::http::{Http, Limits};
use pdpp::provider::rs::{Envelope, Read, RsError};
use pdpp::secret::AccessToken;
use serde_json::{Map, Value, json};

use crate::connect::provider::{Provider, REFRESH, Switches, TOKEN, with_refresh};
use crate::support::env::TestEnv;

/// The cache of [`panicking_server`]; without this variable that test does nothing.
const CACHE: &str = "PDPP_TEST_PANICS_CACHE";

/// Reads with a real token, and panics in the way that the tool's name asks for.
struct Panicking(Cache);

impl Panicking {
    async fn act(&self, how: &str) -> ToolAnswer {
        let credential = self.0.credentials().unwrap().remove(0);
        let bearer = self.0.bearer(&credential).await.unwrap();
        let rs = credential.resource_server(Http::new(Limits::default())).unwrap();
        match how {
            // The worst possible message.
            "quotes" => {
                let read = rs.get(&bearer, &Read::of(["schema"])).await.unwrap();
                panic!("a panic with {} and {:?}", bearer.expose_bearer(), read.body.len());
            }
            "unwraps" => {
                let failed: Result<Envelope, (RsError, AccessToken)> =
                    rs.get(&bearer, &Read::of(["nowhere"])).await.map_err(|error| (error, bearer.clone()));
                drop(failed.unwrap());
            }
            "below" => {
                // A child process, such as a browser or a host's program, and a second thread.
                let child =
                    Command::new("/bin/sh").args(["-c", "env; cat /proc/$PPID/cmdline"]).output().unwrap();
                pdpp::ui::Ui::from_process().note(&String::from_utf8_lossy(&child.stdout));
                let moved = bearer.clone();
                let thread = std::thread::spawn(move || panic!("in a thread: {}", moved.expose_bearer()));
                assert!(thread.join().is_ok(), "{}", bearer.expose_bearer());
            }
            _ => {
                let secret = bearer.expose_bearer().to_owned();
                let index = secret.len() + 1;
                // The standard library's own message: "byte index … is out of bounds of `…`".
                let _ = &secret[index..];
            }
        }
        ToolAnswer { text: String::new(), structured: None, is_error: false, rows: 0 }
    }
}

impl Service for Panicking {
    fn offer(&self) -> Offer {
        pdpp::mcp::tools::surface::offer()
    }

    fn call(&self, _tool: &str, arguments: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
        let how = arguments["how"].as_str().unwrap().to_owned();
        Box::pin(async move { self.act(&how).await })
    }

    fn read_resource(&self, _uri: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
        Box::pin(std::future::ready(Err(ResourceError::InvalidUri("no".to_owned()))))
    }
}

#[test]
#[ignore = "another test starts it as its server"]
fn panicking_server() {
    let Some(dir) = std::env::var_os(CACHE) else { return };
    // libtest has already written to the stdout that it received; the client's pipe is descriptor 3.
    let client = std::fs::File::options().write(true).open("/dev/fd/3").unwrap();
    rustix::stdio::dup2_stdout(client).unwrap();
    pdpp::ui::log_to_stderr(tracing::Level::TRACE);
    let surface = Arc::new(Panicking(Cache::open(Path::new(&dir)).unwrap()));
    pdpp::runtime::block_on(stdio::serve_stdio(surface)).unwrap().unwrap();
    #[allow(clippy::exit, reason = "libtest would write its summary")]
    std::process::exit(0);
}

/// Every byte below `dir`, except in the secret store.
fn written_below(dir: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("pdpp/secrets") {
            continue;
        }
        bytes.extend_from_slice(path.to_string_lossy().as_bytes());
        if path.is_dir() {
            bytes.extend(written_below(&path));
        } else if path.is_file() {
            bytes.extend(std::fs::read(&path).unwrap());
        }
    }
    bytes
}

#[test]
fn a_canary_is_in_nothing_that_a_panic_in_a_call_leaves() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches { token: with_refresh, ..Switches::default() });
    assert_eq!(env.run(&["connect", provider.url(), "--no-browser"]).code, Some(0));
    let script = "ulimit -c unlimited 2>/dev/null; exec \"$0\" --ignored --exact --nocapture \
                  cache::panics::panicking_server 3>&1 >/dev/null";
    let mut server = Command::new("/bin/sh")
        .arg("-c")
        .arg(script)
        .arg(std::env::current_exe().unwrap())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", env.home())
        .env("TMPDIR", env.home())
        .env("RUST_BACKTRACE", "full")
        .env("RUST_LOG", "trace")
        .env(CACHE, env.cache_dir())
        .current_dir(env.home())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = server.stderr.take().unwrap();
    let stderr = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stderr.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    let mut seen = Vec::new();
    let mut ask = |id: usize, method: &str, params: Value| -> Value {
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        seen.extend_from_slice(line.as_bytes());
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no answer: {line:?}"))
    };
    let info = json!({"name": "t", "version": "0"});
    ask(0, "initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}));
    let hows = ["quotes", "unwraps", "below", "slices"];
    for (n, how) in hows.into_iter().enumerate() {
        let answer = ask(n + 1, "tools/call", json!({"name": "schema", "arguments": {"how": how}}));
        assert!(answer["error"].is_object() || answer["result"]["isError"] == true, "{how}: {answer}");
    }
    drop(input);
    output.read_to_end(&mut seen).unwrap();
    assert!(server.wait().unwrap().success());
    let stderr = stderr.join().unwrap();
    let text = String::from_utf8_lossy(&stderr).into_owned();
    // One each, and one in the thread.
    assert_eq!(text.matches("internal error at tests/cache/panics.rs").count(), hows.len() + 1, "{text}");
    assert!(text.contains("HOME="), "the child was heard: {text}");
    for (place, bytes) in [("stdout", seen), ("stderr", stderr), ("files", written_below(&env.home()))] {
        for secret in [TOKEN, REFRESH] {
            let is_there = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!is_there, "{secret} in {place}: {}", String::from_utf8_lossy(&bytes));
        }
    }
    // The token was in memory: the provider received it.
    let asked = provider.seen("/v1/schema");
    assert!(asked.iter().any(|seen| seen.authorization.as_deref() == Some(&format!("Bearer {TOKEN}"))));
}
