//! Keyrings: none, a silent one, and (ignored here, run by `.ci/run keyring`) a real Secret Service.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "how well the kills were spread")]

use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pdpp::cache::Cache;
use pdpp::cache::store::StoreKind;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, json};

use crate::connect::provider::{Instead, Provider, REFRESH, Switches, TOKEN};
use crate::replay::session::Session;
use crate::support::env::{Ran, TestEnv};

/// The limit of a question to the keyring, plus the time that a loaded machine takes to start a process.
const BOUND: Duration = Duration::from_secs(3 + 5);

const BUS: &str = "DBUS_SESSION_BUS_ADDRESS";

fn connect(env: &TestEnv, provider: &Provider, more: &[&str]) -> Ran {
    let ran = env.run(&[&["connect", provider.url(), "--no-browser"], more].concat());
    assert!(!ran.stderr.contains(TOKEN) && !ran.stdout.contains(TOKEN));
    ran
}

fn schema(session: &mut Session) -> (bool, String) {
    let answer = session.call("schema", &Map::new());
    (answer.is_error, answer.text)
}

/// Changes the index so that the secrets are in the keyring.
fn say_keyring(env: &TestEnv) {
    let index = env.cache_dir().join("index.json");
    let text = std::fs::read_to_string(&index).unwrap();
    std::fs::write(&index, text.replace(r#""store": "file""#, r#""store": "keyring""#)).unwrap();
}

#[test]
fn r8_4_no_keyring_means_a_file_and_one_line_that_says_so() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let ran = connect(&env, &provider, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report: Vec<_> = ran.stderr.lines().filter(|line| line.contains("keyring")).collect();
    assert_eq!(report.len(), 1, "{ran:?}");
    assert!(
        report[0].contains("No keyring works here") && report[0].contains("a file that only you can read")
    );
    assert!(ran.stdout.contains("kept in a file that only you can read"));
    assert_eq!(Cache::open(&env.cache_dir()).unwrap().credentials().unwrap()[0].store, StoreKind::File);
}

#[test]
fn r8_4_the_keyring_alone_never_falls_back_and_is_remembered_once_it_worked() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let ran = connect(&env, &provider, &["--store", "keyring"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("code: keyring_absent") && ran.stderr.contains("--store file"), "{ran:?}");
    assert_eq!(env.files(), [""; 0]);
    assert!(provider.seen("/agent-connect").is_empty(), "nobody was asked");
    // An answer is remembered for the next time.
    assert_eq!(connect(&env, &provider, &["--store", "file"]).code, Some(0));
    let again = connect(&env, &provider, &[]);
    assert!(again.code == Some(0) && !again.stderr.contains("keyring"), "{again:?}");
}

/// A bus that accepts connections and never answers; counts them.
fn silent_bus(env: &mut TestEnv) -> Arc<AtomicUsize> {
    let path = env.home().parent().unwrap().join("silent-bus");
    let listener = UnixListener::bind(&path).unwrap();
    env.set(BUS, Some(format!("unix:path={}", path.display())));
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
            open.push(stream);
        }
    });
    taken
}

#[test]
fn a_silent_keyring_stays_the_keyring_and_says_so_in_time() {
    let mut env = TestEnv::new();
    silent_bus(&mut env);
    let provider = Provider::start(Switches::default());
    for store in ["auto", "keyring"] {
        let started = Instant::now();
        let ran = connect(&env, &provider, &["--store", store]);
        let took = started.elapsed();
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(
            ran.stderr.contains("code: keyring_silent") && ran.stderr.contains("--store file"),
            "{ran:?}"
        );
        assert!(took >= Duration::from_secs(3) && took < BOUND, "{took:?}");
    }
    assert!(provider.seen("/agent-connect").is_empty(), "nobody was asked");
    assert_eq!(env.files(), [""; 0]);
}

/// Typing a password takes longer than a host waits for an answer.
#[test]
fn a_person_at_a_terminal_has_time_to_unlock_the_keyring() {
    let mut env = TestEnv::new();
    let taken = silent_bus(&mut env);
    let provider = Provider::start(Switches::default());
    let pdpp = env.pdpp(&[]);
    // A separate terminal, on all three streams.
    let line = format!("{} connect {} --no-browser", pdpp.get_program().display(), provider.url());
    let mut at_a_terminal = std::process::Command::new("script");
    at_a_terminal.args(["-qec", &line, "/dev/null"]).env_clear();
    for (name, value) in pdpp.get_envs() {
        at_a_terminal.env(name, value.unwrap());
    }
    let mut child = at_a_terminal
        .env("SHELL", "/bin/sh")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(|| taken.load(Ordering::SeqCst) > 0);
    // If nobody answers, it gives up after three.
    std::thread::sleep(Duration::from_secs(6));
    let is_waiting = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    let mut said = String::new();
    let _ = std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut said);
    child.wait().unwrap();
    assert!(is_waiting && !said.contains("keyring_silent"), "{said}");
}

#[test]
fn initialize_does_not_touch_the_keyring() {
    let mut env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    assert_eq!(connect(&env, &provider, &["--store", "file"]).code, Some(0));
    say_keyring(&env);
    let taken = silent_bus(&mut env);
    let mut session = Session::start(&env, &[]);
    assert_eq!(taken.load(Ordering::SeqCst), 0, "initialize and tools/list are answered without it");
    let started = Instant::now();
    let (is_error, text) = schema(&mut session);
    assert!(is_error && text.contains("keyring_silent") && text.contains("--store file"), "{text}");
    assert!(text.contains("next: tell the user: If it asks for your password, unlock it"), "{text}");
    assert!(started.elapsed() < BOUND, "{:?}", started.elapsed());
    assert_eq!(taken.load(Ordering::SeqCst), 1);
}

#[test]
fn grants_of_one_name_without_their_tokens_are_told_apart_and_no_advice_is_called_a_command() {
    let env = TestEnv::new();
    let providers = [(); 2].map(|()| Provider::start(Switches::default()));
    for provider in &providers {
        assert_eq!(connect(&env, provider, &["--store", "file"]).code, Some(0));
    }
    say_keyring(&env);
    let text = env.run(&["mcp", "call", "schema"]).stdout;
    for provider in &providers {
        let address = provider.url().trim_start_matches("http://");
        assert!(text.contains(&format!("{address}: Paper diary: keyring_absent")), "{text}");
        let command = format!("pdpp connect {} --renew --grant grt_made_up_1 --store file", provider.url());
        let advice = format!(
            "tell the user: Run it in the session that has the keyring, or keep tokens in a file: {command}"
        );
        assert!(text.contains(&advice) && !text.contains("user to run:"), "{text}");
    }
}

// ---------------------------------------------------------------- a real one

const PASSWORD: &str = "made-up password";

/// A separate bus with a real keyring on it; the keyring's files are in the HOME of `env`.
struct Desktop {
    dir: PathBuf,
    bus: Child,
    keyring: Option<Child>,
}

impl Desktop {
    fn start(env: &mut TestEnv, name: &str) -> Self {
        let dir = env.home().parent().unwrap().join(name);
        std::fs::create_dir(&dir).unwrap();
        std::fs::set_permissions(&dir, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        // Without the services of the machine, which would start a keyring on their own.
        let config = dir.join("bus.conf");
        let socket = dir.join("bus");
        let text = format!(
            r#"<busconfig><type>session</type><listen>unix:path={}</listen><auth>EXTERNAL</auth>
            <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
            <allow own="*"/></policy></busconfig>"#,
            socket.display()
        );
        std::fs::write(&config, text).unwrap();
        let bus = Command::new("dbus-daemon")
            .args(["--nofork", "--nopidfile", "--config-file", config.to_str().unwrap()])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("dbus-daemon is installed: bash .ci/run keyring");
        wait_until(|| socket.exists());
        env.set(BUS, Some(format!("unix:path={}", socket.display())));
        env.set("XDG_RUNTIME_DIR", Some(dir.display().to_string()));
        Self { dir, bus, keyring: None }
    }

    fn daemon(&self, env: &TestEnv, arguments: &[&str]) -> Command {
        let mut daemon = Command::new("gnome-keyring-daemon");
        daemon
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", env.home())
            .env("XDG_RUNTIME_DIR", &self.dir)
            .env(BUS, format!("unix:path={}", self.dir.join("bus").display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        daemon
    }

    /// Starts the keyring, unlocked or not, and waits until its name is on the bus.
    fn keyring(&mut self, env: &TestEnv, is_unlocked: bool) {
        std::fs::create_dir_all(env.home().join(".local/share/keyrings")).unwrap();
        if let Some(mut before) = self.keyring.take() {
            let _ = before.kill();
            let _ = before.wait();
        }
        let mut arguments = vec!["--foreground", "--components=secrets"];
        arguments.push(if is_unlocked { "--unlock" } else { "--start" });
        let mut daemon =
            self.daemon(env, &arguments).spawn().expect("gnome-keyring is installed: bash .ci/run keyring");
        let mut stdin = daemon.stdin.take().unwrap();
        if is_unlocked {
            stdin.write_all(PASSWORD.as_bytes()).unwrap();
        }
        drop(stdin);
        self.keyring = Some(daemon);
        let provider = Provider::start(Switches::default());
        let scratch = env.home().join("scratch");
        wait_until(|| {
            let ran =
                connect(env, &provider, &["--store", "keyring", "--cache-dir", scratch.to_str().unwrap()]);
            !ran.stderr.contains("keyring_absent")
        });
    }

    /// What libsecret's own tool reports about the keyring.
    fn secret_tool(&self, arguments: &[&str], input: &str) -> String {
        let mut tool = Command::new("secret-tool");
        let bus = format!("unix:path={}", self.dir.join("bus").display());
        tool.args(arguments).env(BUS, bus).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut tool = tool.spawn().expect("secret-tool is installed: bash .ci/run keyring");
        tool.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        String::from_utf8(tool.wait_with_output().unwrap().stdout).unwrap()
    }

    /// The entries of that name.
    fn search(&self, name: &str) -> String {
        self.secret_tool(&["search", "--all", "service", "pdpp", "username", name], "")
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.keyring.as_ref().unwrap()), signal).unwrap();
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        for child in self.keyring.iter_mut().chain([&mut self.bus]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < end, "it did not happen within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Files below `dir` that contain `text`.
fn holding(dir: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if std::fs::read(&path)
            .is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
        {
            found.push(path);
        }
    }
    found
}

/// A refresh token that is too long for one entry of any keyring.
fn long_refresh(token: &mut serde_json::Value, _: &crate::connect::provider::Urls) {
    token["refresh_token"] = json!(format!("{REFRESH}{}", "x".repeat(4000)));
    token["expires_in"] = json!(3600);
}

#[test]
#[ignore = "needs gnome-keyring and dbus-daemon: bash .ci/run keyring"]
fn r8_4_a_real_keyring_holds_the_token_and_nothing_else_does() {
    let mut env = TestEnv::new();
    let mut desktop = Desktop::start(&mut env, "desktop");
    // A bus without a keyring: the token is stored in a file.
    let provider = Provider::start(Switches { token: long_refresh, ..Switches::default() });
    let ran = connect(&env, &provider, &[]);
    assert!(ran.code == Some(0) && ran.stderr.contains("No keyring works here"), "{ran:?}");
    assert_eq!(holding(&env.home(), TOKEN).len(), 1);

    desktop.keyring(&env, true);
    let ran = connect(&env, &provider, &[]);
    assert!(ran.code == Some(0) && ran.stdout.contains("The token is kept in the keyring."), "{ran:?}");
    let cache = Cache::open(&env.cache_dir()).unwrap();
    let kept = cache.credentials().unwrap();
    assert_eq!((kept.len(), kept[0].store, kept[0].parts), (1, StoreKind::Keyring, 4));
    for secret in [TOKEN, REFRESH] {
        assert_eq!(holding(&env.home(), secret), [""; 0].map(PathBuf::from), "{secret} is in no file");
    }
    let mut session = Session::start(&env, &[]);
    assert!(!schema(&mut session).0);
    assert!(!schema(&mut session).0);

    // To the keyring and back again.
    let moved = env.run(&["status", "--move-to", "file"]);
    assert_eq!(moved.code, Some(0), "{moved:?}");
    assert_eq!(cache.credentials().unwrap()[0].store, StoreKind::File);
    assert_eq!(holding(&env.home(), REFRESH).len(), 1);
    assert!(!schema(&mut session).0, "a running server follows");
    let moved = env.run(&["status", "--move-to", "keyring"]);
    assert_eq!(moved.code, Some(0), "{moved:?}");
    assert_eq!(holding(&env.home(), REFRESH), [""; 0].map(PathBuf::from));
    assert_eq!(env.run(&["mcp", "call", "schema"]).code, Some(0));

    // A second entry with the same name and content is read, and deleted with the first.
    let first = || cache.credentials().unwrap()[0].id.as_str().to_owned();
    let search = |name: &str| desktop.search(name);
    let twice = |text: &str| {
        let extra = ["store", "--label=x", "service", "pdpp", "username", &first(), "extra", "1"];
        desktop.secret_tool(&extra, text);
        assert_eq!(search(&first()).matches("label = ").count(), 2);
        first()
    };
    let id = twice(&desktop.secret_tool(&["lookup", "service", "pdpp", "username", &first()], ""));
    assert_eq!(env.run(&["mcp", "call", "schema"]).code, Some(0));
    assert_eq!(env.run(&["status", "--move-to", "file"]).code, Some(0));
    assert_eq!(search(&id), "");
    assert_eq!(env.run(&["status", "--move-to", "keyring"]).code, Some(0));
    // A second entry with other content is damage, which another token repairs.
    let id = twice("something else");
    let ran = env.run(&["mcp", "call", "schema"]);
    assert!(ran.stdout.contains("secret_damaged") && ran.stdout.contains("--renew"), "{ran:?}");
    let ran = env.run(&["status", "--move-to", "file"]);
    assert!(ran.code == Some(0) && ran.stderr.contains("is missing or damaged: pdpp connect"), "{ran:?}");
    assert_eq!(connect(&env, &provider, &["--store", "keyring"]).code, Some(0));
    assert_eq!(search(&id), "");

    // An entry that could not be deleted before, because it never existed, is forgotten once the keyring answers.
    let path = env.cache_dir().join("index.json");
    let mut index: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    index["discarded"] = json!([{"id": "0".repeat(32), "store": "keyring", "parts": 3}]);
    std::fs::write(&path, index.to_string()).unwrap();
    assert_eq!(connect(&env, &provider, &[]).code, Some(0));
    let index: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(index["discarded"], json!([]));

    // Several processes at once do not mistake each other's entries for a keyring that fails. Each has its own
    // provider, because a test's provider knows one client.
    let providers: Vec<_> = (0..8).map(|_| Provider::start(Switches::default())).collect();
    for round in 0..4 {
        std::thread::scope(|scope| {
            for (number, provider) in providers.iter().enumerate() {
                let dir = env.home().join(format!("at-once-{round}-{number}"));
                let env = &env;
                scope.spawn(move || {
                    let ran =
                        connect(env, provider, &["--store", "keyring", "--cache-dir", dir.to_str().unwrap()]);
                    assert_eq!(ran.code, Some(0), "{ran:?}");
                });
            }
        });
    }

    // It is gone with its last part, and with an entry that does not belong there.
    twice("something else");
    let gone = cache.credentials().unwrap().remove(0);
    // This provider cannot end a grant from here, which the command reports; the token is deleted anyway.
    let ran = env.run(&["disconnect", "--all", "--yes"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("not_ended_at_provider"), "{ran:?}");
    for part in [gone.id.as_str().to_owned(), format!("{}-3", gone.id.as_str())] {
        assert_eq!(search(&part), "", "{part}");
    }
}

#[test]
#[ignore = "needs gnome-keyring and dbus-daemon: bash .ci/run keyring"]
fn an_entry_of_an_earlier_version_is_read_and_deleted() {
    const LABEL: &str = "pdpp: a provider's token";
    let mut env = TestEnv::new();
    let mut desktop = Desktop::start(&mut env, "desktop");
    desktop.keyring(&env, true);
    let provider = Provider::start(Switches { token: long_refresh, ..Switches::default() });
    assert_eq!(connect(&env, &provider, &["--store", "keyring"]).code, Some(0));
    let kept = Cache::open(&env.cache_dir()).unwrap().credentials().unwrap().remove(0);
    let id = kept.id.as_str();
    let names = [id.to_owned(), format!("{id}-1"), format!("{id}-2"), format!("{id}-3")];
    assert_eq!(usize::from(kept.parts), names.len());
    for name in &names {
        let found = desktop.search(name);
        assert_eq!(found.matches("label = ").count(), 1);
        assert!(found.contains(&format!("label = {LABEL}\n")), "{name}");
        // Written as version 0.1.0 wrote it, before the `keyring` crate handled the store.
        let attributes = ["service", "pdpp", "username", name];
        let part = desktop.secret_tool(&[&["lookup"], &attributes[..]].concat(), "");
        desktop.secret_tool(&[&["clear"], &attributes[..]].concat(), "");
        assert_eq!(desktop.search(name), "");
        let label = format!("--label={LABEL}");
        desktop.secret_tool(&[&["store", label.as_str()], &attributes[..]].concat(), &part);
    }
    let ran = env.run(&["mcp", "call", "schema"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // This provider cannot end a grant from here; the token is deleted anyway.
    let ran = env.run(&["disconnect", "--all", "--yes"]);
    assert!(ran.stderr.contains("not_ended_at_provider"), "{ran:?}");
    for name in &names {
        assert_eq!(desktop.search(name), "", "{name}");
    }
}

/// The contents of the collection `session` are lost with its session, although the keyring reports that it has
/// stored them.
#[test]
#[ignore = "needs gnome-keyring and dbus-daemon: bash .ci/run keyring"]
fn a_keyring_that_is_kept_in_memory_gets_no_token() {
    let mut env = TestEnv::new();
    let mut desktop = Desktop::start(&mut env, "memory");
    desktop.keyring(&env, true);
    let provider = Provider::start(Switches::default());
    let set = env.pdpp(&[]);
    let bus = set.get_envs().find(|(name, _)| *name == BUS).unwrap().1.unwrap().to_owned();
    let set = std::process::Command::new("dbus-send")
        .env(BUS, bus)
        .args(["--session", "--print-reply", "--dest=org.freedesktop.secrets", "/org/freedesktop/secrets"])
        .args(["org.freedesktop.Secret.Service.SetAlias", "string:default"])
        .arg("objpath:/org/freedesktop/secrets/collection/session")
        .output()
        .unwrap();
    assert!(set.status.success(), "{set:?}");
    let ran = connect(&env, &provider, &[]);
    assert!(ran.code == Some(0) && ran.stderr.contains("kept in memory"), "{ran:?}");
    assert!(ran.stdout.contains("kept in a file that only you can read"), "{ran:?}");
    let ran = connect(&env, &provider, &["--store", "keyring"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("code: keyring_absent"), "{ran:?}");
}

#[test]
#[ignore = "needs gnome-keyring and dbus-daemon: bash .ci/run keyring"]
fn a_locked_or_stopped_keyring_is_reported_in_time_and_works_again() {
    let provider = Provider::start(Switches::default());
    {
        // An account that never had a keyring has nothing to unlock.
        let mut env = TestEnv::new();
        let mut desktop = Desktop::start(&mut env, "new");
        let daemon = desktop.daemon(&env, &["--foreground", "--components=secrets", "--start"]).spawn();
        desktop.keyring = Some(daemon.expect("gnome-keyring is installed: bash .ci/run keyring"));
        wait_until(|| {
            connect(&env, &provider, &["--store", "keyring"]).stderr.contains("no default keyring")
        });
        let ran = connect(&env, &provider, &[]);
        assert!(ran.code == Some(0) && ran.stderr.contains("so the token goes into a file"), "{ran:?}");
    }
    let mut env = TestEnv::new();
    {
        let mut desktop = Desktop::start(&mut env, "before");
        desktop.keyring(&env, true);
        assert_eq!(connect(&env, &provider, &["--store", "keyring"]).code, Some(0));
    }
    // The same HOME in another session. A server that started before the keyring waits for it.
    let mut desktop = Desktop::start(&mut env, "after");
    let mut early = Session::start(&env, &[]);
    let (is_error, text) = schema(&mut early);
    assert!(is_error && text.contains("no program offers the Secret Service in this session"), "{text}");
    // Nobody has typed the password yet.
    desktop.keyring(&env, false);
    let started = Instant::now();
    let mut session = Session::start(&env, &[]);
    let (is_error, text) = schema(&mut session);
    assert!(is_error && text.contains("keyring_locked") && text.contains("--store file"), "{text}");
    assert!(started.elapsed() < BOUND, "{:?}", started.elapsed());
    let ran = connect(&env, &provider, &["--store", "auto"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("code: keyring_locked"), "{ran:?}");

    // It is unlocked later, by a keyring that was restarted: the same server continues.
    desktop.keyring(&env, true);
    for mut session in [session, early] {
        let (is_error, text) = schema(&mut session);
        assert!(!is_error, "{text}");
    }

    // Its name is on the bus, but it does not answer.
    desktop.signal(Signal::STOP);
    let mut session = Session::start(&env, &[]);
    let started = Instant::now();
    let (is_error, text) = schema(&mut session);
    assert!(is_error && text.contains("keyring_silent"), "{text}");
    assert!(started.elapsed() < BOUND, "{:?}", started.elapsed());
    desktop.signal(Signal::CONT);
    wait_until(|| !schema(&mut session).0);

    // Disconnected while the keyring is silent: the grant is ended and its token deleted once the keyring answers.
    let revoke = Instead::OtherJson;
    provider.switch(|switches| {
        switches.server = |metadata, urls| {
            metadata["revocation_endpoint"] = json!(format!("{}/revoke", urls.issuer));
        };
        switches.instead = Some(("/revoke", revoke));
    });
    desktop.signal(Signal::STOP);
    let started = Instant::now();
    let ran = env.run(&["disconnect", "--all", "--yes"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("code: not_ended_yet"), "{ran:?}");
    assert!(started.elapsed() < BOUND, "{:?}", started.elapsed());
    let (_, text) = schema(&mut session);
    assert!(text.contains("not_connected") || text.contains("disconnected"), "{text}");
    desktop.signal(Signal::CONT);
    wait_until(|| env.run(&["disconnect"]).code == Some(0));
    assert_eq!(provider.seen("/revoke").len(), 1);
    assert_eq!(env.run(&["disconnect"]).code, Some(78), "nothing is left");
}

#[test]
#[ignore = "needs gnome-keyring and dbus-daemon: bash .ci/run keyring"]
fn a_move_killed_at_any_moment_loses_nothing_and_is_gone_on_with() {
    let mut env = TestEnv::new();
    let mut desktop = Desktop::start(&mut env, "desktop");
    desktop.keyring(&env, true);
    let grants = ["grt_1", "grt_2", "grt_3"].map(|grant_id| {
        let provider = Provider::start(Switches { grant_id, token: long_refresh, ..Switches::default() });
        assert_eq!(connect(&env, &provider, &["--store", "file"]).code, Some(0));
        provider
    });
    let cache = Cache::open(&env.cache_dir()).unwrap();
    let count =
        |store| cache.credentials().unwrap().iter().filter(|credential| credential.store == store).count();
    // Measures how long one takes, to spread the kills over that time.
    let started = Instant::now();
    assert_eq!(env.run(&["status", "--move-to", "keyring"]).code, Some(0));
    let whole = started.elapsed();
    let mut between = 0;
    for round in 0..20_u32 {
        let to = if round % 2 == 0 { "file" } else { "keyring" };
        let mut moving = env.pdpp(&["status", "--move-to", to]);
        let mut moving = moving.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole.mul_f64(f64::from(round + 1) / 20.0));
        let _ = moving.kill();
        moving.wait().unwrap();
        between += usize::from(!matches!(count(StoreKind::File), 0 | 3));
        for provider in &grants {
            let ran = env.run(&["mcp", "call", "schema", "--provider", provider.url()]);
            assert_eq!(ran.code, Some(0), "round {round}: {ran:?}");
        }
        assert_eq!(env.run(&["status", "--move-to", to]).code, Some(0));
        assert_eq!(count(StoreKind::File), if to == "file" { 3 } else { 0 });
        assert_eq!(holding(&env.cache_dir(), REFRESH).len(), if to == "file" { 3 } else { 0 });
    }
    println!("{between} of 20 kills came between two credentials");
}

#[test]
#[ignore = "needs gnome-keyring, dbus-daemon and root: bash .ci/run keyring"]
fn a_server_without_d_bus_variables_finds_the_usual_socket() {
    /// Provides `/run/user/<uid>/bus` for as long as it is needed.
    struct Usual(PathBuf);
    impl Drop for Usual {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }
    let mut env = TestEnv::new();
    let mut desktop = Desktop::start(&mut env, "desktop");
    desktop.keyring(&env, true);
    let provider = Provider::start(Switches::default());
    assert_eq!(connect(&env, &provider, &["--store", "keyring"]).code, Some(0));
    // A host passes no D-Bus variables on: if the bus is elsewhere, setup and the doctor report it.
    std::fs::create_dir(env.home().join(".codex")).unwrap();
    let set_up = || {
        let ran = env.run(&["mcp", "setup", "codex", "--json"]);
        let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        report["hosts"][0]["proof"].clone()
    };
    let proof = set_up();
    assert_eq!(
        (&proof["code"], &proof["next"]),
        (&json!("keyring_absent"), &json!("pdpp status --move-to file"))
    );
    let doctor = env.run(&["doctor"]).stdout;
    assert!(doctor.contains("cannot read its token") && doctor.contains("--move-to file"), "{doctor}");
    let usual = PathBuf::from(format!("/run/user/{}", rustix::process::geteuid().as_raw()));
    std::fs::create_dir_all(&usual).unwrap();
    let usual = Usual(usual.join("bus"));
    std::os::unix::fs::symlink(desktop.dir.join("bus"), &usual.0).expect("there is no session bus here yet");
    assert_eq!(set_up()["state"], "serves");
    assert!(!env.run(&["doctor"]).stdout.contains("cannot read its token"));
    env.set(BUS, None);
    env.set("XDG_RUNTIME_DIR", None);
    let ran = env.run(&["mcp", "call", "schema"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
#[ignore = "needs a mount of its own: bash .ci/run keyring"]
fn a_truly_full_disk_costs_no_credential() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let pdpp = env.pdpp(&[]);
    let script = r#"set -e
        mkdir "$HOME/disk" && mount -t tmpfs -o size=64k,mode=700 tmpfs "$HOME/disk"
        "$0" connect "$1" --no-browser --store file --cache-dir "$HOME/disk/pdpp" >/dev/null
        cp "$HOME/disk/pdpp/index.json" "$HOME/before"
        dd if=/dev/zero of="$HOME/disk/filler" bs=1k 2>/dev/null || true
        code=0
        "$0" connect "$1" --no-browser --store file --cache-dir "$HOME/disk/pdpp" || code=$?
        cmp "$HOME/before" "$HOME/disk/pdpp/index.json"
        "$0" mcp call schema --cache-dir "$HOME/disk/pdpp" >/dev/null
        exit "$code""#;
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "--", "/bin/sh", "-c", script]).arg(pdpp.get_program()).arg(provider.url());
    shell.env_clear().stdin(Stdio::null());
    for (name, value) in pdpp.get_envs() {
        shell.env(name, value.unwrap());
    }
    let ran = Ran::from(shell.output().expect("unshare is installed"));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("No space left on device") && ran.stderr.contains("cache_unwritable"),
        "{ran:?}"
    );
}
