//! A writer that is killed at any moment leaves the cache in the state before or after the write.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the child's progress, and how well the kills were spread"
)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use pdpp::cache::Cache;
use pdpp::cache::credential::{Credential, Secrets};
use pdpp::secret::AccessToken;

use super::server::Server;
use crate::support::cases::cases;

const DIR: &str = "PDPP_TEST_KILLED_CACHE";

fn store(cache: &Cache, template: &Credential, number: u64) {
    let mut credential = template.clone();
    credential.id = pdpp::cache::new_credential_id().unwrap();
    credential.label = number.to_string();
    credential.refreshable = false;
    let token = AccessToken::new(format!("token-{number}")).unwrap();
    cache.store(credential, &Secrets::new(token, None), None).unwrap();
}

/// Not a test: this is the process that is killed. It writes one credential after the other.
#[test]
#[ignore = "the child of the test below"]
fn writer() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let cache = Cache::open(Path::new(&dir)).unwrap();
    let template = cache.credentials().unwrap().remove(0);
    let first: u64 = template.label.parse().unwrap();
    for number in first + 1.. {
        eprintln!("{number}");
        store(&cache, &template, number);
    }
}

#[test]
fn a_writer_killed_at_any_step_leaves_before_or_after() {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::open(&root.path().join("pdpp")).unwrap();
    let template = Server { url: "http://127.0.0.1:9".to_owned(), life: Server::start().life }.ended();
    store(&cache, &template, 0);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (mut before, mut after, mut half) = (0, 0, 0);
    let rounds = cases(50);
    // On a busy machine the moments can miss one of the three outcomes for long: then more of them are tried.
    let mut round = 0;
    while round < rounds || round < 20 * rounds && (before == 0 || after == 0 || half == 0) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "cache::killed::writer", "--ignored", "--nocapture"])
            .env(DIR, cache.dir())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut progress = BufReader::new(child.stderr.take().unwrap()).lines();
        // From the third write on, each round kills at another part of twice the time of the second, because the next
        // may take longer.
        let mut next = || -> u64 { progress.next().unwrap().unwrap().parse().unwrap() };
        next();
        next();
        let begun = Instant::now();
        let mut last = next();
        let moment =
            Instant::now() + begun.elapsed().mul_f64(2.0 * f64::from(round % rounds) / f64::from(rounds));
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if let Some(Ok(line)) = progress.last() {
            last = line.parse().unwrap();
        }

        let found = cache.credentials().unwrap();
        assert_eq!(found.len(), 1);
        let number: u64 = found[0].label.parse().unwrap();
        assert!(number == last || number + 1 == last, "{number} after {last} was begun");
        let bearer = runtime.block_on(cache.bearer(&found[0])).unwrap();
        assert_eq!(bearer.expose_bearer(), format!("token-{number}"), "index and secret belong together");
        if number == last {
            after += 1;
        } else {
            before += 1;
        }
        let secrets = std::fs::read_dir(cache.dir().join("secrets")).unwrap().count();
        let files =
            std::fs::read_dir(cache.dir()).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_file());
        half += usize::from(secrets != 1 || files.count() != 2);
        round += 1;
    }
    // Otherwise the moments of the kills prove nothing.
    assert!(before > 0 && after > 0 && half > 0, "{before} before, {after} after, {half} half-way");
    store(&cache, &template, 1);
    assert_eq!(
        std::fs::read_dir(cache.dir().join("secrets")).unwrap().count(),
        1,
        "the next writer cleans up"
    );
    println!("{before} before, {after} after; {half} of them with something half-written");
}
