//! How much of typed text, and of secrets that are valid once, remains in the memory of our process.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::time::{Duration, Instant};

use reqwest::StatusCode;

use super::filled::store_of;
use super::page::{Browser, between};
use super::public::{self, Remote};
use super::served;
use super::terminal::Terminal;
use crate::support::env::TestEnv;

/// This word appears nowhere else. Neither a form nor a terminal encodes it differently.
const PASSPHRASE: &str = "Zwergfledermaus-4711-Quittengelee";
const WRONG: &str = "Wasserfledermaus-1174-Rhabarber";

/// The parts of `secrets` in the memory of the process `pid`, with their places; none if only root may look.
fn found(pid: u32, secrets: &[(&str, &str)]) -> Vec<String> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"));
    let (Ok(maps), Ok(mut memory)) = (maps, File::open(format!("/proc/{pid}/mem"))) else {
        assert!(!rustix::process::geteuid().is_root(), "root may look");
        return Vec::new();
    };
    let mut needles: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, secret) in secrets {
        // The allocator overwrites the start of freed memory: finding half of a secret is enough.
        let (first, last) = secret.split_at(secret.len() / 2);
        for (part, text) in [("beginning", first), ("end", last)] {
            needles.push((format!("{part} of {name}"), text.as_bytes().to_vec()));
            // In the form of HMAC's key.
            for pad in [0x36, 0x5c] {
                let padded = text.bytes().map(|byte| byte ^ pad).collect();
                needles.push((format!("{part} of {name}, padded"), padded));
            }
        }
    }
    let mut all = Vec::new();
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (range, rights) = (words.next().unwrap(), words.next().unwrap());
        let what = words.nth(3).unwrap_or("anonymous");
        if !rights.starts_with('r') || what.starts_with("[v") {
            continue;
        }
        let (from, to) = range.split_once('-').unwrap();
        let [from, to] = [from, to].map(|at| u64::from_str_radix(at, 16).unwrap());
        let mut bytes = vec![0; usize::try_from(to - from).unwrap()];
        memory.seek(SeekFrom::Start(from)).unwrap();
        // Memory that was released meanwhile cannot be read.
        if memory.read_exact(&mut bytes).is_err() {
            continue;
        }
        for (name, needle) in &needles {
            for at in memchr::memmem::find_iter(&bytes, needle) {
                let around = &bytes[at.saturating_sub(24)..(at + 48).min(bytes.len())];
                all.push(format!(
                    "{name} at {:#x} ({what} {rights} {range}): {}",
                    from + at as u64,
                    String::from_utf8_lossy(around).escape_debug()
                ));
            }
        }
    }
    all
}

/// The service need not close connections at once that a test has left open.
fn assert_gone(pid: u32, secrets: &[(&str, &str)]) {
    let began = Instant::now();
    let mut left = found(pid, secrets);
    while !left.is_empty() && began.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(250));
        left = found(pid, secrets);
    }
    assert!(left.is_empty(), "{} places:\n{}", left.len(), left.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o9_3_a_service_forgets_what_was_typed_and_what_was_good_once() {
    let env = TestEnv::new();
    store_of(&env);
    let mut server = public::serve_with(&env, "https://pdpp.example", PASSPHRASE);
    let pid = server.terminal.pid();
    // A program of this computer, a link, a wrong passphrase and the right one.
    let attempt = served::asked(&server.here, "Reader").await;
    server.terminal.answer("/consent/owner/", "");
    let link = server.terminal.line_with("");
    let mut browser = Browser::new();
    let (at, form) =
        served::to_decide(&mut browser, &server.here, &format!("{}/consent/owner/{link}", server.here)).await;
    let (status, _) = served::approve(&mut browser, &server.here, &at, &form, Some(WRONG)).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let (status, page) = served::approve(&mut browser, &server.here, &at, &form, Some(PASSPHRASE)).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "{page}");
    assert_eq!(served::poll(&attempt).await.0, StatusCode::OK);
    // A host elsewhere, a pairing code, and an authorization code.
    let pairing = server.code.clone();
    let mut host = Remote::at(&server.behind, "pdpp.example");
    let client = public::register(&mut host).await;
    let mut remote = Remote::at(&server.behind, "pdpp.example");
    let deciding = public::to_decide(&mut remote, &public::authorize(&client, |_| ()), &pairing).await;
    let decided = public::decide(&mut remote, &deciding, PASSPHRASE).await;
    let code = between(decided.header("location"), "code=", "&").to_owned();
    let tokens = public::exchange(&mut host, &client, &code).await;
    assert_eq!(tokens.status, StatusCode::OK, "{}", tokens.text);
    server.terminal.answer("next pairing code: ", "");
    let plain = pairing.replace('-', "");
    let secrets = [
        ("the passphrase", PASSPHRASE),
        ("a wrong passphrase", WRONG),
        ("the link", link.as_str()),
        ("the pairing code", &pairing),
        ("the pairing code", &plain),
        ("the authorization code", code.strip_prefix("pdpp_ac_").unwrap()),
    ];
    // The clients close their own connections.
    drop((browser, remote, host));
    assert_gone(pid, &secrets);
    let log = env.cache_dir();
    for file in served::walk(&log) {
        let bytes = std::fs::read(&file).unwrap();
        for (name, secret) in secrets {
            assert!(
                memchr::memmem::find(&bytes, secret.as_bytes()).is_none(),
                "{name} in {}",
                file.display()
            );
        }
    }
    // A secret that is still valid, the current code, shows that the search works.
    let next = pdpp_code(&server.terminal);
    assert!(!found(pid, &[("the next code", &next)]).is_empty() || !rustix::process::geteuid().is_root());
}

fn pdpp_code(terminal: &Terminal) -> String {
    between(&terminal.so_far(), "next pairing code: ", "\r\n").to_owned()
}

/// A command whose last write must wait, so that the test can search its memory when everything is done.
fn held(env: &TestEnv, words: &[&str]) -> (Terminal, std::io::PipeReader) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    // As much as a pipe holds.
    writer.write_all(&vec![b'\n'; 64 << 10]).unwrap();
    (Terminal::run_into(env, words, writer.into()), reader)
}

fn assert_gone_at_the_end((terminal, mut reader): (Terminal, std::io::PipeReader), secrets: &[(&str, &str)]) {
    let pid = terminal.pid();
    let began = Instant::now();
    // It writes to standard output, which nobody reads.
    let is_at_its_end = || {
        let calls = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
        calls.starts_with("1 0x1 ") || calls.starts_with("64 0x1 ")
    };
    while rustix::process::geteuid().is_root() && !is_at_its_end() {
        assert!(began.elapsed() < Duration::from_mins(2), "{}", terminal.so_far());
        std::thread::sleep(Duration::from_millis(20));
    }
    let left = found(pid, secrets);
    let drained = std::thread::spawn(move || {
        let mut all = Vec::new();
        reader.read_to_end(&mut all).map(|_| all)
    });
    let ran = terminal.end();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    drained.join().unwrap().unwrap();
    assert!(left.is_empty(), "{} places:\n{}", left.len(), left.join("\n"));
}

#[test]
fn o9_3_commands_forget_what_was_typed() {
    let env = TestEnv::new();
    store_of(&env);
    let secrets = [("the passphrase", PASSPHRASE)];
    let mut running = held(&env, &["provider", "passphrase"]);
    for question in ["New passphrase", "Repeat it"] {
        running.0.answer_unseen(question, &format!("{PASSPHRASE}\n"));
    }
    assert_gone_at_the_end(running, &secrets);
    let mut running = held(&env, &["provider", "passphrase"]);
    running.0.answer_unseen("Current passphrase", &format!("{PASSPHRASE}\n"));
    for question in ["New passphrase", "Repeat it"] {
        running.0.answer_unseen(question, &format!("{WRONG}\n"));
    }
    assert_gone_at_the_end(running, &[("the passphrase", PASSPHRASE), ("the new one", WRONG)]);
    let file = env.home().join("backup");
    let file = file.to_str().unwrap();
    let mut running = held(&env, &["provider", "backup", file, "--encrypt"]);
    for question in ["Passphrase for the backup", "Repeat it"] {
        running.0.answer_unseen(question, &format!("{PASSPHRASE}\n"));
    }
    assert_gone_at_the_end(running, &secrets);
    let dir = env.home().join("restored");
    let mut running = held(&env, &["provider", "restore", file, "--data-dir", dir.to_str().unwrap()]);
    running.0.answer_unseen("Passphrase of the backup", &format!("{PASSPHRASE}\n"));
    assert_gone_at_the_end(running, &secrets);
}
