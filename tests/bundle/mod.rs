//! Promise: for a person who installed pdpp as a bundle and has no terminal, every call explains what to do; a
//! separate process asks, once and on a page, for what the settings name; and the tools read as soon as that is
//! granted.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::connect::flows::Page;
use crate::connect::provider::{Poll, Provider, Switches};
use crate::own::page::{Browser, between};
use crate::support::credential::credential;
use crate::support::env::TestEnv;
use crate::support::sandbox::Sandbox;

/// Longer than anything takes: a bug ends in a failure, not in a hang.
const PATIENCE: Duration = Duration::from_mins(1);
const TOOLS: [&str; 6] = ["schema", "query_records", "aggregate", "search", "fetch", "read_record_field"];

/// `pdpp mcp bundle`, as a host starts it.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
}

impl Server {
    /// Starts it with these settings; a setting that was not filled in arrives as its placeholder.
    fn start(env: &TestEnv, connect: Option<&str>, import: Option<&Path>) -> Self {
        let mut command = env.pdpp(&["mcp", "bundle"]);
        command.env("PDPP_BUNDLE_CONNECT", connect.unwrap_or("${user_config.connect}"));
        command.env("PDPP_BUNDLE_IMPORT", import.unwrap_or(Path::new("")));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let (to, lines) = channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| to.send(line)));
        let mut server = Self { child, input, lines, next: 0 };
        let client = json!({"name": "t", "version": "0"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        assert_eq!(server.request("initialize", &params)["result"]["serverInfo"]["name"], "pdpp");
        server
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        writeln!(self.input.as_mut().unwrap(), "{request}").unwrap();
        let line = self.lines.recv_timeout(PATIENCE).unwrap();
        // Its standard output has messages only.
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(self.next)), "{answer}");
        answer
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].clone()
    }

    /// The text of `schema`'s answer, and whether it is an error.
    fn schema(&mut self) -> (String, bool) {
        let answer = self.call("schema", &json!({}));
        (answer["content"][0]["text"].as_str().unwrap().to_owned(), answer["isError"] == true)
    }

    /// Waits until the answer of `schema` contains `text`.
    fn says(&mut self, text: &str) -> String {
        let started = Instant::now();
        loop {
            let (said, _) = self.schema();
            if said.contains(text) {
                return said;
            }
            assert!(started.elapsed() < PATIENCE, "{text:?} is not in {said}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until something can be read.
    fn reads(&mut self) -> String {
        let started = Instant::now();
        loop {
            let (said, is_error) = self.schema();
            if !is_error {
                return said;
            }
            assert!(started.elapsed() < PATIENCE, "{said}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Closes its input; returns the exit code, and how long that took.
    fn end(mut self) -> (Option<i32>, Duration) {
        drop(self.input.take());
        let closed = Instant::now();
        let code = self.child.wait().unwrap().code();
        let took = closed.elapsed();
        let left: Vec<String> = self.lines.iter().collect();
        assert!(left.is_empty(), "{left:?}");
        (code, took)
    }

    /// The processes that it has started and not waited for: their ids and arguments.
    fn children(&self) -> Vec<(u32, Vec<String>)> {
        children_of(self.child.id())
    }

    fn child(&self) -> (u32, Vec<String>) {
        let started = Instant::now();
        loop {
            if let [child] = self.children().as_slice() {
                return child.clone();
            }
            assert!(started.elapsed() < PATIENCE, "{:?}", self.children());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

fn children_of(parent: u32) -> Vec<(u32, Vec<String>)> {
    let ids = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let is_child = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let behind_name = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect::<Vec<_>>();
        behind_name.get(1).and_then(|parent| parent.parse().ok()) == Some(parent) && behind_name[0] != "Z"
    };
    let arguments = |id: u32| {
        let line = std::fs::read_to_string(format!("/proc/{id}/cmdline")).ok()?;
        // Between fork and exec a child still looks like its parent.
        let words: Vec<String> = line.split_terminator('\0').map(str::to_owned).collect();
        (!words.is_empty() && !words.contains(&"bundle".to_owned())).then_some((id, words))
    };
    ids.filter(is_child).filter_map(arguments).collect()
}

/// A folder with a mailbox in it.
fn export(env: &TestEnv) -> PathBuf {
    let folder = env.home().join("My exports");
    std::fs::create_dir(&folder).unwrap();
    let mail = |number: u32| {
        format!(
            "From ana@a.example Mon Feb  2 10:00:0{number} 2026\nMessage-ID: <m{number}@a.example>\nFrom: Ana <ana@a.example>\n\
             To: Me <me@b.example>\nDate: Mon, 2 Feb 2026 10:00:0{number} +0000\nSubject: Heating {number}\n\nThe boiler is number {number}.\n\n"
        )
    };
    std::fs::write(folder.join("mail.mbox"), (1..4).map(mail).collect::<String>()).unwrap();
    folder
}

/// A browser that keeps the page that it received, and the path.
fn keeping_browser(env: &mut TestEnv) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let (script, page) = (env.home().join("browser"), env.home().join("page.html"));
    let text = format!("#!/bin/sh\ncp \"${{1#file://}}\" {0}.tmp && mv {0}.tmp {0}\n", page.display());
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    env.set("BROWSER", Some(script.display().to_string()));
    page
}

fn wait_for(path: &Path) -> String {
    let started = Instant::now();
    while !path.exists() {
        assert!(started.elapsed() < PATIENCE, "{} did not come", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn unconnected_it_lists_the_six_tools_and_every_call_says_what_to_do() {
    let env = TestEnv::new();
    let mut server = Server::start(&env, None, None);
    let listed = server.request("tools/list", &json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, TOOLS);
    let program = env!("CARGO_BIN_EXE_pdpp");
    let next = format!(
        "in the settings of this extension (in Claude Desktop: Settings, Extensions, pdpp), or to do this in a terminal: For your own data, once it is imported: pdpp connect local; for a provider: pdpp connect <provider-url> (`pdpp` is {program})"
    );
    for tool in TOOLS {
        // The wrong arguments are not the problem.
        for arguments in [json!({}), json!({"q": "x", "stream": "y", "id": "z"}), json!({"nonsense": 1})] {
            let answer = server.call(tool, &arguments);
            assert_eq!(answer["isError"], true, "{tool}: {answer}");
            let text = answer["content"][0]["text"].as_str().unwrap();
            assert!(text.starts_with("error not_connected") && text.contains(&next), "{tool}: {text}");
            assert_eq!(answer["structuredContent"]["error"]["code"], "not_connected", "{tool}");
        }
    }
    let read = server.request("resources/read", &json!({"uri": "pdpp://record/messages:1"}));
    assert!(read["error"]["message"].as_str().unwrap().contains("No provider is connected"), "{read}");
    assert_eq!(server.children(), []);
    let (code, took) = server.end();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_millis(500), "{took:?}");
    // Nothing was read, so nothing is recorded.
    assert_eq!(env.files(), Vec::<String>::new());
}

#[test]
fn a_provider_that_the_settings_name_is_connected_at_the_start_and_read_without_another() {
    let env = TestEnv::new();
    let sandbox = Sandbox::start(&env);
    let mut server = Server::start(&env, Some(&format!(" {}\n", sandbox.url)), None);
    let schema = server.reads();
    assert!(schema.contains("messages"), "{schema}");
    let found = server.call("search", &json!({"q": "invoice", "limit": 1}));
    assert!(found["isError"] != true && found.to_string().to_lowercase().contains("invoice"), "{found}");
    assert_eq!(server.end().0, Some(0));

    // At the next start it is available from the beginning, and nobody is asked.
    let before = env.run(&["status", "--json"]).stdout;
    let mut server = Server::start(&env, Some(&sandbox.url), None);
    assert!(!server.schema().1);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(server.children(), []);
    assert_eq!(server.end().0, Some(0));
    assert_eq!(env.run(&["status", "--json"]).stdout, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_is_imported_and_its_owner_asked_and_then_it_is_read() {
    let mut env = TestEnv::new();
    let (folder, page) = (export(&env), keeping_browser(&mut env));
    let mut server = Server::start(&env, None, Some(&folder));
    server.says("a page in the owner's browser asks what may be read");
    let program = env!("CARGO_BIN_EXE_pdpp");
    let (said, is_error) = server.schema();
    assert!(is_error && said.contains(&format!("run in a terminal: {program} connect local")), "{said}");

    let link = Page::by_file(&wait_for(&page)).url;
    // Someone who reads the answers cannot decide for the owner.
    assert!(!said.contains("127.0.0.1") && !said.contains("/consent/"), "{said}");
    let base = link.split("/consent/").next().unwrap().to_owned();
    let mut browser = Browser::new();
    let (_, to, _) = browser.get(&link).await;
    let at = to.unwrap();
    let (_, _, page) = browser.get(&at).await;
    let csrf = between(&page, "name=\"csrf\" value=\"", "\"").to_owned();
    let account = between(&page, "name=\"connection\" value=\"", "\"").to_owned();
    let form = [
        ("csrf", csrf.as_str()),
        ("connection", &account),
        ("stream", "0"),
        ("field", "0.2"),
        ("expires", "1d"),
    ];
    let (status, to, text) = browser.post(&format!("{at}/review"), &base, &form).await;
    assert_eq!(status.as_u16(), 303, "{text}");
    let (_, _, page) = browser.get(&to.unwrap()).await;
    let digest = between(&page, "name=\"digest\" value=\"", "\"").to_owned();
    let (status, _, text) =
        browser.post(&format!("{at}/approve"), &base, &[("csrf", &csrf), ("digest", &digest)]).await;
    assert_eq!(status.as_u16(), 303, "{text}");

    let schema = server.reads();
    let stream =
        ["messages", "message_bodies"].into_iter().find(|stream| schema.contains(stream)).unwrap_or("");
    let rows = server.call("query_records", &json!({"stream": stream}));
    assert!(rows["isError"] != true && rows.to_string().contains("2026"), "{schema}\n{rows}");
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn what_asks_is_another_process_apart_from_the_hosts_pipes_and_ends_with_the_server() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches { polls: vec![Poll::Pending], ..Switches::default() });
    let server = Server::start(&env, Some(provider.url()), None);
    let (id, arguments) = server.child();
    assert_eq!(
        arguments[1..],
        ["connect", "--while-stdin-is-open", provider.url(), "--json"].map(str::to_owned)
    );
    let stream = |id: u32, number: u32| std::fs::read_link(format!("/proc/{id}/fd/{number}")).unwrap();
    assert_eq!(stream(id, 2), PathBuf::from("/dev/null"));
    let hosts = [0, 1].map(|number| stream(server.child.id(), number));
    let its = std::fs::read_dir(format!("/proc/{id}/fd")).unwrap();
    let its: Vec<PathBuf> = its.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok()).collect();
    assert!(its.len() > 2 && hosts.iter().all(|pipe| !its.contains(pipe)), "{hosts:?} in {its:?}");

    let (code, took) = server.end();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_millis(1500), "R1.8: {took:?}");
    let cmdline = std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
    assert!(!cmdline.contains("connect"), "it is still there: {cmdline}");
    assert_eq!(env.run(&["status", "--json"]).code, Some(78));
}

#[test]
fn of_two_servers_one_asks_and_the_other_takes_over_when_that_is_gone() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches { polls: vec![Poll::Pending], ..Switches::default() });
    let first = Server::start(&env, Some(provider.url()), None);
    first.child();
    let mut second = Server::start(&env, Some(provider.url()), None);
    second.says("another running copy of this extension is asking the owner");
    assert_eq!(second.children(), []);
    first.end();
    second.child();
    second.says("a page in the owner's browser");
    // This server also reads what the other one received.
    let sandbox = Sandbox::start(&env);
    assert_eq!(env.run(&["connect", &sandbox.url]).code, Some(0));
    assert!(second.reads().contains("messages"));
    assert_eq!(second.end().0, Some(0));
}

/// The files that a browser was given, which stay until the browser has used them.
fn handed(env: &TestEnv) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(env.cache_dir().join("browser")).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "html")).collect()
}

#[test]
fn whatever_ends_a_server_ends_what_asks_and_takes_its_page_away() {
    for is_killed in [false, true] {
        let mut env = TestEnv::new();
        let (folder, page) = (export(&env), keeping_browser(&mut env));
        let mut server = Server::start(&env, None, Some(&folder));
        wait_for(&page);
        assert_eq!(handed(&env).len(), 1);
        let (id, arguments) = server.child();
        assert!(arguments.contains(&"local".to_owned()), "{arguments:?}");
        if is_killed {
            server.child.kill().unwrap();
            server.child.wait().unwrap();
        } else {
            assert_eq!(server.end().0, Some(0));
        }
        let is_there = || std::fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| !line.is_empty());
        let ended = Instant::now();
        while is_there() || !handed(&env).is_empty() {
            assert!(ended.elapsed() < PATIENCE, "killed: {is_killed}; {:?}", handed(&env));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn an_import_waits_for_another_one() {
    let mut env = TestEnv::new();
    let (folder, page) = (export(&env), keeping_browser(&mut env));
    let own = env.cache_dir().join("own");
    let another = pdpp::own::lock(&own).unwrap();
    let mut server = Server::start(&env, None, Some(&folder));
    server.says("is being imported");
    // Longer than a refusal takes.
    std::thread::sleep(Duration::from_millis(1500));
    server.says("is being imported");
    assert!(!page.exists());
    drop(another);
    server.says("a page in the owner's browser asks what may be read");
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn a_grant_for_another_host_alone_is_none_for_this_one() {
    let env = TestEnv::new();
    let mut other = credential("https://provider.example", "g1", "Mail");
    other.host = Some("claude".to_owned());
    let cache = pdpp::cache::Cache::open(&env.cache_dir()).unwrap();
    let token = pdpp::secret::AccessToken::new("token".to_owned()).unwrap();
    cache.store(other, &pdpp::cache::credential::Secrets::new(token, None), None).unwrap();
    let mut server = Server::start(&env, None, None);
    let said = server.says("error not_connected: No grant on this computer is for every host");
    assert!(said.contains("for one host alone: https://provider.example (Mail) for claude"), "{said}");
    assert!(!said.contains("\\n") && !said.contains("connected are"), "{said}");
    assert!(said.contains("To allow every host: pdpp connect https://provider.example"), "{said}");
    let called = env.run(&["mcp", "call", "schema"]);
    let said = format!("{}{}", called.stdout, called.stderr);
    assert!(said.contains("https://provider.example (Mail) for claude") && !said.contains("\\n"), "{said}");
}

#[test]
fn what_came_to_nothing_says_why_and_what_to_do() {
    let env = TestEnv::new();
    let nobody = "http://127.0.0.1:9";
    let gone = env.home().join("gone");
    let empty = env.home().join("empty");
    std::fs::create_dir(&empty).unwrap();
    for (connect, import, says) in [
        (Some("provider.example"), None, "error provider_url_invalid"),
        (Some("https://me:hunter2@a.example"), None, "error provider_url_invalid"),
        (Some(nobody), None, "error provider_unreachable"),
        (Some("local"), None, "error own_missing"),
        (None, Some(gone.as_path()), "error import_path"),
        (None, Some(empty.as_path()), "error import_unrecognised"),
    ] {
        let mut server = Server::start(&env, connect, import);
        let said = server.says(says);
        assert!(said.contains("turns this extension off and on") && !said.contains("hunter2"), "{said}");
        // A call does not ask again.
        server.schema();
        assert_eq!(server.children(), [], "{says}");
        assert_eq!(server.end().0, Some(0));
    }
}

#[test]
fn a_refusal_of_the_owner_is_told_and_nobody_is_asked_again() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches { polls: vec![Poll::Denied], ..Switches::default() });
    let mut server = Server::start(&env, Some(provider.url()), None);
    let said = server.says("error access_denied");
    assert!(said.contains("turns this extension off and on"), "{said}");
    server.schema();
    assert_eq!(server.children(), []);
    // Another server, with other settings, asks for them as well; a failure of one does not affect the other.
    let sandbox = Sandbox::start(&env);
    let gone = env.home().join("gone");
    let mut server = Server::start(&env, Some(&sandbox.url), Some(&gone));
    assert!(server.reads().contains("messages"));
}

#[test]
fn without_a_browser_no_page_is_waited_for() {
    let mut env = TestEnv::new();
    env.set("BROWSER", None);
    let mut server = Server::start(&env, Some("https://provider.example"), None);
    let said = server.says("no page can be opened in a browser");
    let program = env!("CARGO_BIN_EXE_pdpp");
    assert!(said.contains(&format!("{program} connect https://provider.example")), "{said}");
    assert_eq!(server.children(), []);
}

#[test]
fn a_grant_that_has_ended_is_asked_for_again_in_its_place() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches { polls: vec![Poll::Pending], ..Switches::default() });
    let mut over = credential(provider.url(), "g1", "Mail");
    over.grant_expires_at = Some("2026-01-01T00:00:00Z".parse().unwrap());
    let cache = pdpp::cache::Cache::open(&env.cache_dir()).unwrap();
    let token = pdpp::secret::AccessToken::new("token".to_owned()).unwrap();
    cache.store(over, &pdpp::cache::credential::Secrets::new(token, None), None).unwrap();
    let mut server = Server::start(&env, Some(provider.url()), None);
    let (_, arguments) = server.child();
    assert_eq!(
        arguments[1..],
        ["connect", "--while-stdin-is-open", provider.url(), "--json", "--renew"].map(str::to_owned)
    );
    server.says("error grant_expired");
    // Without a setting there is no such file.
    drop(server);
    let mut server = Server::start(&env, None, None);
    let said = server.says("has expired");
    assert!(
        said.contains(&format!("{} connect {} --renew", env!("CARGO_BIN_EXE_pdpp"), provider.url())),
        "{said}"
    );
    assert_eq!(server.children(), []);
}

#[test]
fn r1_3_an_owner_credential_in_the_environment_ends_it_as_it_ends_serve() {
    let env = TestEnv::new();
    let mut command = env.pdpp(&["mcp", "bundle"]);
    command.env("PDPP_OWNER_TOKEN", "canary").env("PDPP_BUNDLE_CONNECT", "http://127.0.0.1:9");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(77));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("PDPP_OWNER_TOKEN") && !stderr.contains("canary"), "{stderr}");
}

#[test]
fn serve_starts_nothing_and_ends_unconnected_whatever_the_settings_say() {
    let env = TestEnv::new();
    let mut command = env.pdpp(&["mcp", "serve"]);
    command.env("PDPP_BUNDLE_CONNECT", "http://127.0.0.1:9").env("PDPP_BUNDLE_IMPORT", "/nonexistent");
    assert_eq!(command.output().unwrap().status.code(), Some(78));
    assert_eq!(env.files(), Vec::<String>::new());
}
