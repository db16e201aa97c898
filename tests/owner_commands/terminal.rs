//! What a person sees while a command waits.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::connected;
use crate::connect::provider::Switches;
use crate::support::env::TestEnv;

/// What `status --check` writes to its stderr if that is a terminal.
fn at_a_terminal(env: &TestEnv) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let theirs = ptsname(&ours, Vec::new()).unwrap();
    let theirs = File::options().read(true).write(true).open(theirs.to_str().unwrap()).unwrap();
    let mut status = env.pdpp(&["status", "--check"]);
    let mut running = status.stdin(Stdio::null()).stdout(Stdio::null()).stderr(theirs).spawn().unwrap();
    drop(status);
    let mut said = Vec::new();
    // Ends with an error once nobody has the other end open.
    let _ = File::from(ours).read_to_end(&mut said);
    assert!(running.wait().unwrap().success());
    String::from_utf8(said).unwrap()
}

#[test]
fn a_dumb_terminal_is_told_what_is_waited_for_once_and_a_pipe_nothing() {
    let (mut env, _provider) = connected(Switches::default());
    assert_eq!(env.run(&["status", "--check"]).stderr, "");
    env.set("TERM", Some("dumb".to_owned()));
    assert_eq!(at_a_terminal(&env), "Checking 1 grant\r\n");
    env.set("TERM", Some("xterm".to_owned()));
    let said = at_a_terminal(&env);
    let (shown, cleared) = said.split_once("Checking 1 grant").unwrap();
    assert!(!shown.contains('\n') && cleared.contains("\u{1b}[2K"), "{said:?}");
    assert!(!cleared.contains('\n'), "{said:?}");
}

/// It reads from a person's terminal, where nothing is typed.
#[test]
fn a_server_on_a_terminal_says_what_it_waits_for() {
    let env = TestEnv::new();
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let open = || File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut serve = env.pdpp(&["mcp", "serve"]);
    let mut running = serve.stdin(open()).stdout(Stdio::null()).stderr(open()).spawn().unwrap();
    drop(serve);
    let mut said = Vec::new();
    let mut ours = File::from(ours);
    while !String::from_utf8_lossy(&said).contains('\n') {
        let mut part = [0; 512];
        let read = ours.read(&mut part).unwrap();
        said.extend_from_slice(&part[..read]);
    }
    running.kill().unwrap();
    running.wait().unwrap();
    let said = String::from_utf8_lossy(&said);
    assert!(said.starts_with("Waiting for an MCP host's messages on standard input"), "{said}");
    assert!(said.contains("pdpp mcp setup"), "{said}");
}
