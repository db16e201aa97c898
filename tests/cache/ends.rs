//! A refresh that has begun continues after the end of the call or process that began it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use pdpp::cache::Cache;
use pdpp::cache::credential::Credential;

use super::server::{Server, Token};
use crate::support::env::{TestEnv, interrupt, stop, stoppable};

/// A server with a running call that waits for a refresh.
struct Refreshing {
    env: TestEnv,
    provider: Server,
    cache: Cache,
    before: Credential,
    serve: Child,
    input: Option<ChildStdin>,
}

impl Refreshing {
    fn start(does: Token) -> Self {
        let env = TestEnv::new();
        let cache = Cache::open(&env.cache_dir()).unwrap();
        let provider = Server::start();
        let before = provider.put(&cache, |_| ());
        provider.set(does);
        let mut serve = stoppable(&mut env.pdpp(&["mcp", "serve"]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = serve.stdin.take().unwrap();
        let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;
        writeln!(input, "{hello}").unwrap();
        let mut line = String::new();
        BufReader::new(serve.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        writeln!(input, r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"schema","arguments":{{}}}}}}"#)
            .unwrap();
        provider.wait_until_asked(1);
        Self { env, provider, cache, before, serve, input: Some(input) }
    }

    /// Its exit code, and the time from `since` to its end.
    fn ended(&mut self, since: Instant) -> (Option<i32>, Duration) {
        let end = since + Duration::from_secs(30);
        loop {
            if let Some(status) = self.serve.try_wait().unwrap() {
                return (status.code(), since.elapsed());
            }
            assert!(Instant::now() < end, "it does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Another process reads with the token that was being fetched.
    fn is_kept(&self) {
        let now = self.cache.credentials().unwrap().remove(0);
        assert!(now.id != self.before.id && now.is_renewable() && now.renewal.begun.is_none(), "{now:?}");
        let ran = self.env.run(&["mcp", "call", "schema"]);
        assert_eq!((ran.code, self.provider.asked()), (Some(0), 1), "{ran:?}");
        assert!(self.provider.life.lock().unwrap().is_alive);
    }
}

#[test]
fn r1_8_the_end_of_input_does_not_cut_a_refresh_off() {
    for does in [Token::Slowly, Token::Late] {
        let mut serve = Refreshing::start(does);
        let closed = Instant::now();
        drop(serve.input.take());
        let (code, took) = serve.ended(closed);
        assert_eq!(code, Some(0), "{does:?}");
        assert!(took < Duration::from_secs(5), "{does:?}: {took:?}");
        serve.is_kept();
    }
}

#[test]
fn r1_8_an_answer_that_never_comes_is_waited_for_within_bounds_and_known_to_be_lost() {
    let mut serve = Refreshing::start(Token::SpendAndHang);
    let closed = Instant::now();
    drop(serve.input.take());
    let (_, took) = serve.ended(closed);
    assert!((Duration::from_secs(4)..Duration::from_secs(9)).contains(&took), "{took:?}");
    serve.provider.set(Token::Rotate);
    let ran = serve.env.run(&["mcp", "call", "schema"]);
    assert_eq!((ran.code, serve.provider.asked()), (Some(1), 1), "not sent twice: {ran:?}");
    assert!(ran.stdout.contains("refresh_lost") || ran.stdout.contains("was lost"), "{ran:?}");
}

#[test]
fn r1_8_a_signal_is_obeyed_in_time_and_lets_a_quick_refresh_through() {
    let mut serve = Refreshing::start(Token::Slowly);
    stop(&serve.serve);
    let signalled = Instant::now();
    let (code, took) = serve.ended(signalled);
    assert!(code == Some(0) && took < Duration::from_millis(1_500), "{code:?} {took:?}");
    serve.is_kept();

    // This includes a signal that arrives while the end of input is delayed.
    let mut serve = Refreshing::start(Token::SpendAndHang);
    let closed = Instant::now();
    drop(serve.input.take());
    while closed.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(20));
    }
    stop(&serve.serve);
    let signalled = Instant::now();
    let (_, took) = serve.ended(signalled);
    assert!(took < Duration::from_millis(1_500), "{took:?}");
}

/// A person stops a command: what it began at the provider is stored anyway.
#[test]
fn a_command_that_is_stopped_lets_a_refresh_come_home() {
    std::thread::scope(|scope| {
        for command in [&["status", "--check"][..], &["mcp", "call", "schema"], &["doctor"]] {
            scope.spawn(move || lets_a_refresh_come_home(command));
        }
    });
}

fn lets_a_refresh_come_home(command: &[&str]) {
    let env = TestEnv::new();
    let cache = Cache::open(&env.cache_dir()).unwrap();
    let provider = Server::start();
    let before = provider.put(&cache, |_| ());
    provider.set(Token::Late);
    let mut child = env.pdpp(command);
    let mut child = stoppable(&mut child).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    provider.wait_until_asked(1);
    let signalled = Instant::now();
    interrupt(&child);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{command:?}: {stderr}");
    assert!(stderr.contains("code: interrupted") && signalled.elapsed() < Duration::from_secs(6), "{stderr}");
    let now = cache.credentials().unwrap().remove(0);
    assert!(now.id != before.id && now.renewal.begun.is_none(), "{command:?}: {now:?}");
    let ran = env.run(&["mcp", "call", "schema"]);
    assert_eq!((ran.code, provider.asked()), (Some(0), 1), "the rotated token was stored: {ran:?}");
}

#[test]
fn a_command_that_is_stopped_does_not_wait_for_ever() {
    let env = TestEnv::new();
    let cache = Cache::open(&env.cache_dir()).unwrap();
    let provider = Server::start();
    provider.put(&cache, |_| ());
    provider.set(Token::SpendAndHang);
    let mut child = env.pdpp(&["status", "--check"]);
    let mut child = stoppable(&mut child).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    provider.wait_until_asked(1);
    let signalled = Instant::now();
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(
        (Duration::from_secs(4)..Duration::from_secs(9)).contains(&signalled.elapsed()),
        "{:?}",
        signalled.elapsed()
    );
}
