//! The program: its start and end, and its data directory.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use pdpp::sandbox::{Config, open};
use serde_json::{Value, json};

use super::{everything, get};

fn pdpp(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pdpp"));
    command.env_clear().envs(crate::support::env::home(home));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    crate::support::env::stoppable(&mut command);
    command
}

/// A running sandbox, and its first output.
struct Running {
    child: Child,
    ready: Value,
}

impl Running {
    fn start(home: &Path, args: &[&str]) -> Self {
        let mut child =
            pdpp(home).args(["sandbox", "--listen", "127.0.0.1:0", "--json"]).args(args).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, ready: serde_json::from_str(&line).unwrap() }
    }

    fn url(&self) -> String {
        self.ready["url"].as_str().unwrap().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn http(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    use std::fmt::Write as _;
    use std::io::Read as _;
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let path = if path.is_empty() { "/" } else { path };
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "host") {
        let _ = write!(head, "host: {host}\r\n");
    }
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}

#[test]
fn it_says_where_it_is_and_stops_on_a_signal() {
    let home = tempfile::tempdir().unwrap();
    let mut running = Running::start(home.path(), &["--auto-approve"]);
    assert_eq!(running.ready["pid"].to_string(), running.child.id().to_string());
    let url = running.url();
    assert_eq!(http("GET", &url, &[], "").0, 200);
    let port = url.rsplit(':').next().unwrap();
    assert_eq!(http("GET", &url, &[("host", &format!("localhost:{port}"))], "").0, 200);
    // A name that was made to lead here.
    assert_eq!(http("GET", &url, &[("host", "evil.example")], "").0, 421);
    let asked = json!({ "resource": url, "client_name": "Reader" }).to_string();
    let json = [("content-type", "application/json")];
    let (status, attempt) = http("POST", &format!("{url}/agent-connect"), &json, &asked);
    assert_eq!(status, 201, "{attempt}");
    let attempt: Value = serde_json::from_str(&attempt).unwrap();
    let code = json!({ "polling_code": attempt["polling_code"] }).to_string();
    let (status, approved) = http("POST", attempt["poll_url"].as_str().unwrap(), &json, &code);
    assert_eq!(status, 200, "{approved}");
    let approved: Value = serde_json::from_str(&approved).unwrap();
    let bearer = format!("Bearer {}", approved["access_token"].as_str().unwrap());
    let (status, schema) =
        http("GET", &format!("{url}/v1/schema?view=compact"), &[("authorization", &bearer)], "");
    assert_eq!(status, 200, "{schema}");

    crate::support::env::stop(&running.child);
    assert!(running.child.wait().unwrap().success());
    let mut stderr = String::new();
    std::io::Read::read_to_string(&mut running.child.stderr.take().unwrap(), &mut stderr).unwrap();
    assert!(stderr.contains("--auto-approve: every program") && stderr.contains("stopped"), "{stderr}");
    assert!(!stderr.contains("pdpp_ot_"), "no owner's token is printed");
}

/// O7.13: anyone may name addresses that answer slowly. They delay nobody else, however many there are.
#[test]
fn o7_13_slow_documents_of_clients_hold_up_nobody_else() {
    const CLIENTS: usize = 70;
    let documents = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = documents.local_addr().unwrap();
    let (fetched, connections) = std::sync::mpsc::channel();
    std::thread::spawn(move || documents.incoming().try_for_each(|stream| fetched.send(stream.unwrap())));
    let home = tempfile::tempdir().unwrap();
    let running = Running::start(home.path(), &[]);
    let url = running.url();
    let json = [("content-type", "application/json")];
    let (answered, answers) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let body = json!({
                "client_id": format!("http://{address}/{number}"),
                "authorization_details": [{ "type": "https://pdpp.dev/data-access",
                    "source": { "id": "https://source.example/mail" }, "streams": [{ "name": "*" }] }],
            });
            let (target, answered) = (format!("{url}/oauth/par"), answered.clone());
            scope.spawn(move || answered.send(http("POST", &target, &json, &body.to_string()).0).unwrap());
        }
        // Two are fetched at once and a few wait for that: the others are refused without a fetch.
        let refused: Vec<u16> = answers.iter().take(CLIENTS - 8).collect();
        let asked = json!({ "resource": url, "client_name": "Reader" }).to_string();
        assert_eq!(http("POST", &format!("{url}/agent-connect"), &json, &asked).0, 201);
        let held: Vec<_> = connections.try_iter().collect();
        assert!((1..20).contains(&held.len()), "{} were fetched", held.len());
        assert!(refused.iter().all(|status| [400, 503].contains(status)), "{refused:?}");
        drop((held, connections));
    });
}

/// O7.11: a person who reads the sandbox's terminal is its owner. Nothing else that it sends leads to a decision.
#[test]
fn o7_11_the_owners_link_is_printed_where_the_sandbox_runs() {
    let home = tempfile::tempdir().unwrap();
    let mut running = Running::start(home.path(), &[]);
    let url = running.url();
    let json = [("content-type", "application/json")];
    let asked = json!({ "resource": url, "client_name": "Reader\u{1b}[2J" }).to_string();
    let (status, attempt) = http("POST", &format!("{url}/agent-connect"), &json, &asked);
    assert_eq!(status, 201, "{attempt}");
    let attempt: Value = serde_json::from_str(&attempt).unwrap();
    let mut lines = BufReader::new(running.child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let said = lines.find(|line| line.contains("asks to read your data")).unwrap();
    assert!(said.contains(attempt["user_code"].as_str().unwrap()), "{said}");
    assert!(said.starts_with("“Reader") && !said.contains('\u{1b}'), "{said}");
    let link = lines.next().unwrap().trim().to_owned();
    assert!(link.starts_with(&format!("{url}/consent/owner/")), "{link}");
    let (status, page) = http("GET", attempt["approval_url"].as_str().unwrap(), &[], "");
    assert!(status == 200 && page.contains("pdpp sandbox") && !page.contains("Reader"), "{page}");
    assert_eq!(http("GET", &link, &[], "").0, 303);
    assert_eq!(http("GET", &link, &[], "").0, 404, "once");
}

/// It may be one of the user's folders, with other files in it.
#[cfg(unix)]
#[test]
fn a_directory_that_others_may_enter_is_refused_and_left_as_it_is() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("shared");
    std::fs::create_dir(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    let sandbox = ["sandbox", "--listen", "127.0.0.1:0", "--data-dir"];
    let out = pdpp(home.path()).args(sandbox).arg(&dir).output().unwrap();
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("lets other users in (mode 755; it must be 700)"), "{stderr}");
    assert!(stderr.contains("code: sandbox_data_dir"), "{stderr}");
    assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
}

#[test]
fn a_taken_port_is_answered_with_the_command_that_was_typed() {
    let home = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let dir = home.path().join("kept");
    let words = ["sandbox", "--core", "--listen", &listen, "--data-dir", dir.to_str().unwrap()];
    let out = pdpp(home.path()).args(words).output().unwrap();
    let stderr = String::from_utf8(out.stderr).unwrap();
    let again = format!("next: pdpp sandbox --core --data-dir {} --listen 127.0.0.1:0", dir.display());
    assert!(stderr.contains("code: sandbox_listen") && stderr.contains(&again), "{stderr}");
}

#[test]
fn only_loopback() {
    let home = tempfile::tempdir().unwrap();
    let out =
        pdpp(home.path()).args(["sandbox", "--listen", "0.0.0.0:0", "--auto-approve"]).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8(out.stderr).unwrap().contains("sandbox_not_loopback"));
}

#[cfg(unix)]
#[test]
fn a_data_directory_keeps_grants_and_secrets_to_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("kept");
    let config = || Config { data_dir: Some(dir.clone()), ..Config::default() };
    let (token, cursor) = {
        let app = open(config()).unwrap();
        let token = everything(&app);
        let page = get(&app, &token, "/v1/streams/transactions/records?limit=1").json();
        (token, page["next_cursor"].as_str().unwrap().to_owned())
    };
    let app = open(config()).unwrap();
    let next = get(&app, &token, &format!("/v1/streams/transactions/records?limit=1&cursor={cursor}"));
    assert_eq!(next.status, 200, "a cursor outlives the process");
    for name in ["owner-token", "introspection.json", "sandbox.db", "sandbox.db-wal"] {
        let mode = std::fs::metadata(dir.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    let owner = std::fs::read_to_string(dir.join("owner-token")).unwrap();
    assert_eq!(get(&app, owner.trim(), "/v1/schema").status, 403);
    // Only hashes of tokens are kept.
    let database = std::fs::read(dir.join("sandbox.db")).unwrap();
    let has = |secret: &str| database.windows(secret.len()).any(|window| window == secret.as_bytes());
    assert!(!has(&token) && !has(owner.trim()));
}

#[test]
fn o1_2_nothing_is_imported_into_fiction() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("kept");
    let run = |more: &[&str]| {
        let mut command = pdpp(home.path());
        command.args(["sandbox", "import", "in.jsonl", "--data-dir"]).arg(&dir).args(more);
        let out = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (out.status.code(), text(&out.stdout), text(&out.stderr))
    };
    let (code, stdout, stderr) = run(&["--connector", "mail", "--connection", "cin_mail"]);
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
    assert!(stderr.contains("`pdpp import PATH`") && stderr.contains("only made-up data"), "{stderr}");
    assert!(
        stderr.contains("next: pdpp import <export>\n") && stderr.contains("code: command_gone"),
        "{stderr}"
    );
    let (code, stdout, stderr) = run(&["--json"]);
    let told: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, told["error"]["code"].as_str()), (Some(2), Some("command_gone")), "{stderr}");
    assert!(!dir.exists());
}
