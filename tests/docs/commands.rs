//! Promise: every command that README and docs/ show has been run, and does what the document claims.
//!
//! A shell runs each line of an `sh` block, with its own HOME, against a sandbox. Foreign names in the documents
//! stand for something here ([`MEANT`]). A line without a case in [`SHOWN`] or a reason in [`NOT_HERE`] fails the
//! test, and so does a case that no document shows.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use serde_json::json;

use super::{documents, read, root};
use crate::support::env::{Ran, TestEnv};
use crate::support::sandbox::Sandbox;

/// The state before a line is typed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    /// A grant of everything, called Work.
    Connected,
    /// The same, and an agent has read through it.
    HasRead,
    /// The same as nothing; the line runs until it is stopped, with 0.
    GoesOn,
    /// A mailbox in the downloads folder.
    Downloaded,
}
use Before::{Connected, Downloaded, GoesOn, HasRead, Nothing};

/// Each line that a document shows, the state before it, its exit code, and what it must print (on standard output,
/// or on standard error if it prints nothing else there).
const SHOWN: &[(&str, Before, i32, &str)] = &[
    ("pdpp sandbox", GoesOn, 0, "pdpp connect"),
    ("pdpp connect http://127.0.0.1:7378", Nothing, 0, "Connected to"),
    ("pdpp sandbox --listen 127.0.0.1:0 --json", GoesOn, 0, r#""mcp_url":"http://127.0.0.1:"#),
    ("pdpp connect http://127.0.0.1:7377", Nothing, 0, "Connected to"),
    ("pdpp connect https://provider.example", Nothing, 0, "Granted until"),
    ("pdpp connect https://provider.example --no-browser", Nothing, 0, "Connected to"),
    ("pdpp connect https://provider.example --json", Nothing, 0, r#""grant_id""#),
    ("pdpp connect https://provider.example --store file", Nothing, 0, "kept in a file"),
    ("pdpp connect https://provider.example --flow device-code", Nothing, 0, "Connected to"),
    (
        "pdpp connect https://provider.example --source https://registry.pdpp.dev/connectors/slack --name Work",
        Nothing,
        0,
        "channels",
    ),
    (
        "pdpp connect https://provider.example --stream messages --field messages.subject --since 2026-01-01 --expires 30d",
        Nothing,
        0,
        "messages",
    ),
    ("pdpp connect --renew", Connected, 0, "Connected to"),
    // At a terminal it asks, but this test has none.
    ("pdpp import ~/Downloads/takeout.zip", Downloaded, 77, "code: import_unconfirmed"),
    (
        "pdpp --proxy http://proxy.example:3128 --ca-file company.pem connect https://provider.example",
        Nothing,
        0,
        "Connected to",
    ),
    ("pdpp mcp setup", Nothing, 0, "claude"),
    ("pdpp mcp setup claude", Connected, 0, "lists 6 tools"),
    ("pdpp mcp setup codex --dry-run", Nothing, 0, "+[mcp_servers.pdpp]"),
    ("pdpp mcp setup codex --remove", Nothing, 0, "nothing to remove"),
    ("pdpp status", Connected, 0, "not checked"),
    ("pdpp status --check", Connected, 0, "works"),
    ("pdpp status --json", Connected, 0, r#""credentials""#),
    ("pdpp status --grant Work", Connected, 0, "Work"),
    ("pdpp status --move-to file", Connected, 0, "file"),
    // At a terminal it asks, but this test has none.
    ("pdpp disconnect Work", Connected, 77, "code: confirmation_required"),
    ("pdpp disconnect --all --yes", Connected, 0, "ended at the provider, and deleted here"),
    ("pdpp doctor", Connected, 0, "works"),
    ("pdpp doctor https://provider.example", Nothing, 1, "answers"),
    ("pdpp log", HasRead, 0, "query_records"),
    ("pdpp log --since 2h", HasRead, 0, "query_records"),
    ("pdpp log --json", HasRead, 0, r#""tool":"query_records""#),
    ("pdpp log --off", Nothing, 0, "off"),
    ("pdpp log --on", Nothing, 0, "on"),
    ("pdpp mcp inspect", Nothing, 0, "read_record_field"),
    ("pdpp mcp inspect --json", Nothing, 0, r#""bytes""#),
    ("pdpp mcp inspect --budget 6656", Nothing, 0, "all, as one array"),
    ("pdpp mcp inspect -- some-server --stdio", Connected, 0, "all, as one array"),
    ("pdpp mcp inspect --budget 20000 -- some-server --stdio", Connected, 0, "all, as one array"),
    ("pdpp mcp call schema", Connected, 0, "messages"),
    (r#"pdpp mcp call search '{"q":"invoice","limit":3}' --view text"#, Connected, 0, "invoice"),
    ("pdpp completions bash", Nothing, 0, "complete -F"),
    ("pdpp man", Nothing, 0, ".TH pdpp"),
    ("pdpp man mcp inspect", Nothing, 0, ".TH pdpp-mcp-inspect"),
];

/// Lines with these beginnings are not run here, and why: what runs them instead, or that nothing does.
const NOT_HERE: &[(&str, &str)] = &[
    ("cargo run --release -- demo", "builds for minutes: `.ci/run release` runs it as README has it"),
    ("pdpp provider open", "serves a page until it is closed: tests/own"),
    ("pdpp provider serve", "a passphrase is typed at a terminal: tests/own"),
    ("sudo pdpp provider", "makes and removes a user and a service of the system: `.ci/run separate`"),
    ("pdpp provider open", "opens a browser, and asks a person there: tests/own"),
    ("pdpp connect local", "a person decides, on a page or at a terminal: tests/own"),
    ("cloudflared tunnel", "needs an account and a name; docs/remote.md says that it was not run"),
    ("tailscale funnel", "needs an account; docs/remote.md says that it was not run"),
    ("ssh -N -R", "needs another computer; docs/remote.md says that it was not run"),
    ("cargo test", "this is it: `.ci/run test`"),
    ("cargo nextest run", "this, in other processes; by hand"),
    ("cargo install --locked --path .", "builds for minutes: tried by hand"),
    ("cargo doc", "`.ci/run doc`"),
    ("cargo build --locked --release", "builds for minutes: `.ci/run release`"),
    ("python3 packaging/release/", "makes packages of an optimised binary: `.ci/run release_packages`"),
    ("bash packaging/release/", "the same: `.ci/run release_packages`"),
    ("cargo build --release", "builds for minutes: `.ci/run release`"),
    ("apt-get install wrk", "installs on this computer; for the load by hand"),
    ("python3 benches/", "measures: by hand, on a quiet machine"),
    ("cargo bench", "measures; not in CI, since figures of a busy machine mean nothing"),
    ("bash .ci/run", "it would run itself"),
    ("RUSTC_BOOTSTRAP=1 cargo fuzz", "runs for 20 minutes; by hand"),
    ("UPDATE_GENERATED=1", "changes the clone"),
    ("PROPTEST_CASES=2000", "runs for minutes; by hand"),
];

/// Documents whose blocks another test of this binary runs.
const ELSEWHERE: &[(&str, &str)] = &[("docs/endpoint.md", "tests/endpoint/tried.rs")];

/// What the documents' names stand for here. `URL` is the sandbox's address.
const MEANT: &[(&str, &str)] = &[
    ("https://provider.example", "URL"),
    ("http://127.0.0.1:7377", "URL"),
    ("http://127.0.0.1:7378", "URL"),
    ("https://registry.pdpp.dev/connectors/slack", "https://sandbox.pdpp.example/connectors/chat"),
    ("some-server --stdio", "pdpp mcp serve"),
];

/// The lines of the `sh` blocks of a document: continued lines joined, comments left out.
fn shown_in(document: &str) -> Vec<String> {
    let (mut lines, mut is_shell) = (Vec::<String>::new(), false);
    let mut goes_on = false;
    for line in read(document).lines() {
        let line = line.trim();
        if let Some(fence) = line.strip_prefix("```") {
            is_shell = !is_shell && fence.trim() == "sh";
            goes_on = false;
            continue;
        }
        let line = line.split(" #").next().unwrap_or_default().trim();
        if !is_shell || line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (text, goes_on_after) = match line.strip_suffix('\\') {
            Some(text) => (text.trim_end(), true),
            None => (line, false),
        };
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => *last = format!("{last} {text}"),
            None => lines.push(text.to_owned()),
        }
        goes_on = goes_on_after;
    }
    lines
}

/// A shell in `env`, where `pdpp` is on the PATH.
#[cfg(unix)]
fn shell(env: &TestEnv, line: &str) -> Command {
    let pdpp = env.pdpp(&[]);
    let bin = Path::new(env!("CARGO_BIN_EXE_pdpp")).parent().unwrap().to_owned();
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().args(["-c", line]).stdin(Stdio::null());
    shell.current_dir(pdpp.get_current_dir().unwrap());
    for (name, value) in pdpp.get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    shell.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    shell
}

/// Runs `line` to its end; stops one that runs on once it has printed its first line.
#[cfg(unix)]
fn typed(env: &TestEnv, line: &str, goes_on: bool) -> Ran {
    if !goes_on {
        return Ran::from(shell(env, line).output().unwrap());
    }
    // Text for people is on standard error.
    let mut child = shell(env, &format!("exec {line} 2>&1")).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut output = String::new();
    while !output.contains("://") && stdout.read_line(&mut output).unwrap() > 0 {}
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    std::io::Read::read_to_string(&mut stdout, &mut output).unwrap();
    let ended = Ran::from(child.wait_with_output().unwrap());
    Ran { stdout: output, ..ended }
}

/// An agent reads two records.
#[cfg(unix)]
fn read_something(env: &TestEnv) {
    let mut server =
        env.pdpp(&["mcp", "serve"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "An agent", "version": "1"}});
    let call = json!({"name": "query_records", "arguments": {"stream": "events", "limit": 2}});
    for (id, method, params) in [(1, "initialize", hello), (2, "tools/call", call)] {
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .unwrap();
    }
    drop(input);
    assert!(server.wait_with_output().unwrap().status.success());
}

/// The fault of a case, if any.
#[cfg(unix)]
fn fault(url: &str, &(line, before, code, says): &(&str, Before, i32, &str)) -> Option<String> {
    let env = TestEnv::new();
    let cwd = env.pdpp(&[]).get_current_dir().unwrap().to_owned();
    let authority = rcgen::generate_simple_self_signed(vec!["provider.example".to_owned()]).unwrap();
    std::fs::write(cwd.join("company.pem"), authority.cert.pem()).unwrap();
    if before == Downloaded {
        let mail = "From a@b.example Thu Jan  1 00:00:00 2026\nFrom: a@b.example\nDate: Thu, 1 Jan 2026 00:00:00 +0000\nSubject: Hello\n\nHello.\n";
        std::fs::create_dir_all(env.home().join("Downloads")).unwrap();
        std::fs::write(env.home().join("Downloads/takeout.zip"), mail).unwrap();
    }
    if matches!(before, Connected | HasRead) {
        let ran = env.run(&["connect", url, "--no-browser", "--name", "Work"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    if before == HasRead {
        read_something(&env);
    }
    let mut meant = line.to_owned();
    for (name, stands_for) in MEANT {
        meant = meant.replace(name, &stands_for.replace("URL", url));
    }
    if before == GoesOn && !meant.contains("--listen") {
        // Another program may use the usual port.
        meant.push_str(" --listen 127.0.0.1:0");
    }
    let ran = typed(&env, &meant, before == GoesOn);
    let output = if ran.stdout.is_empty() { &ran.stderr } else { &ran.stdout };
    (ran.code != Some(code) || !output.contains(says))
        .then(|| format!("$ {meant}\nshould end with {code} and say {says:?}: {ran:#?}"))
}

#[test]
fn every_command_shown_has_a_case_or_a_reason() {
    let elsewhere: BTreeSet<&str> = ELSEWHERE.iter().map(|(document, _)| *document).collect();
    let mut shown = BTreeSet::new();
    for document in documents().iter().filter(|document| !elsewhere.contains(document.as_str())) {
        for line in shown_in(document) {
            let is_known = SHOWN.iter().any(|case| case.0 == line)
                || NOT_HERE.iter().any(|(beginning, _)| line.starts_with(beginning));
            assert!(is_known, "{document} shows `{line}`: give it a case in SHOWN, or a reason in NOT_HERE");
            shown.insert(line);
        }
    }
    assert!(shown.len() > 30, "the documents show hardly a command: {shown:?}");
    for case in SHOWN {
        assert!(shown.contains(case.0), "no document shows `{}` any more", case.0);
    }
}

#[cfg(unix)]
#[test]
fn every_command_shown_does_what_it_is_said_to_do() {
    let env = TestEnv::new();
    let sandbox = Sandbox::start(&env);
    let left = Mutex::new(SHOWN.iter());
    let faults = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let Some(case) = left.lock().unwrap().next() else { break };
                    // Before the lock: the others would wait for it.
                    let found = fault(&sandbox.url, case);
                    faults.lock().unwrap().extend(found);
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{} of {} commands:\n{}", faults.len(), SHOWN.len(), faults.join("\n\n"));
}

#[test]
fn steps_of_ci_are_those_that_are_named() {
    let run = read(".ci/run");
    let steps = run.split("steps=(").nth(1).and_then(|rest| rest.split(')').next()).unwrap();
    let contributing = read("CONTRIBUTING.md");
    for step in steps.split_whitespace() {
        let is_told =
            contributing.lines().any(|line| line.starts_with("| `") && line.contains(&format!("`{step}`")));
        assert!(is_told, "CONTRIBUTING.md does not say what the step {step} proves");
    }
    for (beginning, why) in NOT_HERE {
        for step in why.split("`.ci/run ").skip(1).filter_map(|rest| rest.split(['`', ' ']).next()) {
            assert!(steps.split_whitespace().any(|known| known == step), "{beginning}: no step {step}");
        }
    }
    for (document, test) in ELSEWHERE {
        let path: PathBuf = root().join(test);
        assert!(path.exists(), "{document} is said to be run by {test}, which is not there");
    }
}
