//! What a person sees while something is waited for.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::connected;
use crate::connect::provider::Switches;
use crate::support::env::TestEnv;

/// What `status --check` writes to its stderr where that is a terminal.
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
    assert_eq!(at_a_terminal(&env), "Asking about 1 grants\r\n");
    env.set("TERM", Some("xterm".to_owned()));
    let said = at_a_terminal(&env);
    let (shown, cleared) = said.split_once("Asking about 1 grants").unwrap();
    assert!(!shown.contains('\n') && cleared.contains("\u{1b}[2K"), "{said:?}");
    assert!(!cleared.contains('\n'), "{said:?}");
}
