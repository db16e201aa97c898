//! Memory with a token in it is not written to a core dump.
#![cfg(target_os = "linux")]

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::server::Server;
use crate::support::env::TestEnv;
use pdpp::cache::Cache;

#[test]
fn a_crash_leaves_no_core_dump() {
    let env = TestEnv::new();
    Server::start()
        .put(&Cache::open(&env.cache_dir()).unwrap(), |credential| credential.token_expires_at = None);
    let pdpp = env.pdpp(&["mcp", "serve"]);
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg("ulimit -c unlimited 2>/dev/null; exec \"$0\" mcp serve").arg(pdpp.get_program());
    for (name, value) in pdpp.get_envs() {
        shell.env(name, value.unwrap());
    }
    let mut serve =
        shell.current_dir(env.home()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // It answers, so it is running.
    {
        use std::io::{BufRead as _, Write as _};
        serve
            .stdin
            .as_mut()
            .unwrap()
            .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
            .unwrap();
        let mut line = String::new();
        std::io::BufReader::new(serve.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("\"id\":1"), "{line}");
    }
    let pid = rustix::process::Pid::from_child(&serve);
    rustix::process::kill_process(pid, rustix::process::Signal::ABORT).unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    let status = loop {
        match serve.try_wait().unwrap() {
            Some(status) => break status,
            None => assert!(Instant::now() < end, "it did not end"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!((status.signal(), status.core_dumped()), (Some(6), false));
}
