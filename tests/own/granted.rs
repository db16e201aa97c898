//! `connect local` at a terminal, and what agents then read.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::Duration;

use pdpp::mcp::protocol::client::Client;
use serde_json::{Value, json};

use super::filled::{HOME_WORD, WORK_WORD, store_in, store_of};
#[cfg(unix)]
use super::terminal::Terminal;
use crate::support::env::TestEnv;

/// Approves what is already ticked.
#[cfg(windows)]
pub fn grant(env: &TestEnv, options: &[&str]) -> Value {
    // Some callers have their own event loop.
    std::thread::scope(|scope| {
        let granting = super::page::granted_as_shown(env, options);
        scope.spawn(|| pdpp::runtime::block_on(granting).unwrap()).join().unwrap()
    })
}

/// Approves what is already ticked, for 30 days.
#[cfg(unix)]
pub fn grant(env: &TestEnv, options: &[&str]) -> Value {
    let words = ["connect", "local", "--in-terminal", "--json"];
    let mut terminal = Terminal::run(env, &[&words, options].concat());
    terminal.answer("What may be read", "\r");
    terminal.answer("Which fields", "\r");
    terminal.answer("When should the grant end", "\r");
    terminal.answer("Approve?", "y");
    let ran = terminal.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// A tool's answer: its structured view.
pub fn call(env: &TestEnv, tool: &str, arguments: &Value, options: &[&str]) -> Value {
    let arguments = arguments.to_string();
    let ran = env.run(&[&["mcp", "call", tool, &arguments, "--json"], options].concat());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"))
}

#[test]
fn o7_1_what_is_granted_at_the_terminal_is_read_by_the_tools_and_nothing_else_is() {
    let env = TestEnv::new();
    store_of(&env);
    let granted = grant(&env, &["--account", "Work", "--stream", "messages", "--field", "messages.subject"]);
    let grants = granted["grants"].as_array().unwrap();
    assert_eq!(grants.len(), 1);
    assert_eq!(grants[0]["provider"], "https://local.pdpp.invalid");
    assert_eq!(grants[0]["streams"][0]["fields"], json!(["id", "received_at", "subject"]));
    let found = call(&env, "search", &json!({"q": "number"}), &[]).to_string();
    assert!(found.contains(WORK_WORD) && !found.contains(HOME_WORD), "{found}");
    let rows = call(&env, "query_records", &json!({"stream": "messages"}), &[]).to_string();
    assert!(rows.contains("m3") && !rows.contains("about "), "{rows}");
    assert!(!rows.contains("Ana"), "{rows}");
    for hidden in ["labels", "security_messages", "chats"] {
        let refused = call(&env, "query_records", &json!({"stream": hidden}), &[]);
        assert_eq!(refused["isError"], true, "{refused}");
    }
}

async fn serve(env: &TestEnv, options: &[&str]) -> Client {
    Client::start(&env.server(options), Duration::from_mins(2)).await.unwrap()
}

async fn ask(client: &mut Client, tool: &str, arguments: Value) -> Value {
    client.call_tool(tool, arguments.as_object().unwrap().clone()).await.unwrap()
}

fn grant_id(granted: &Value) -> String {
    granted["grants"][0]["grant_id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o6_13_a_grant_appears_in_a_server_that_runs_and_ends_there() {
    let env = TestEnv::new();
    store_of(&env);
    let work = grant(&env, &["--account", "Work", "--stream", "messages"]);
    let mut client = serve(&env, &[]).await;
    let schema = ask(&mut client, "schema", json!({})).await.to_string();
    assert!(schema.contains("messages") && !schema.contains("chats"), "{schema}");
    let chats = grant(&env, &["--stream", "chats"]);
    // The next read of the schema shows it, as for any provider.
    let schema = ask(&mut client, "schema", json!({})).await.to_string();
    assert!(schema.contains("chats"), "{schema}");
    let rows = ask(&mut client, "query_records", json!({"stream": "chats"})).await.to_string();
    assert!(rows.contains("lunch on Sunday"), "{rows}");
    // Ended by the owner, in another process.
    let ran = env.run(&["provider", "revoke", &grant_id(&work), "--yes", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let gone = ask(&mut client, "query_records", json!({"stream": "messages"})).await;
    assert_eq!(gone["isError"], true, "{gone}");
    let again = env.run(&["provider", "revoke", &grant_id(&work), "--yes"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(env.run(&["provider", "revoke", "grt_nothing", "--yes"]).code, Some(2));
    // Disconnected like any other provider.
    let ran = env.run(&["disconnect", "local", "--yes", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let gone = ask(&mut client, "query_records", json!({"stream": "chats"})).await;
    assert_eq!(gone["isError"], true, "{gone}");
    let made = env.run(&["provider", "grants", "--json"]);
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    let states: Vec<_> = made["grants"].as_array().unwrap().iter().map(|grant| &grant["state"]).collect();
    assert_eq!(states, ["revoked", "revoked"], "{made}");
    assert_eq!(made["grants"][0]["grant_id"], grant_id(&chats), "the newest first");
    client.close().await;
}

/// The store itself refuses the stolen bearer of a revoked grant, and one that has expired.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o3_2_the_store_itself_refuses_what_is_over_while_an_import_writes() {
    let env = TestEnv::new();
    let dir = store_of(&env);
    let work = grant(&env, &["--account", "Work", "--stream", "messages"]);
    let mut client = serve(&env, &[]).await;
    let rows = ask(&mut client, "query_records", json!({"stream": "messages"})).await;
    assert_ne!(rows["isError"], true, "{rows}");
    // An import holds the write lock of the records.
    let import = rusqlite::Connection::open(dir.join("own.db")).unwrap();
    import.execute_batch("BEGIN IMMEDIATE").unwrap();
    let grants = rusqlite::Connection::open(dir.join("grants.db")).unwrap();
    grants.busy_timeout(Duration::from_secs(20)).unwrap();
    let set = |sql: &str| assert_eq!(grants.execute(sql, [grant_id(&work)]).unwrap(), 1);
    set(
        "UPDATE grants SET body = json_set(body, '$.expires_at', '2020-01-01T00:00:00Z') WHERE grant_id = ?1",
    );
    let over = ask(&mut client, "query_records", json!({"stream": "messages"})).await.to_string();
    assert!(over.contains("grant_expired"), "{over}");
    set("UPDATE grants SET body = json_set(body, '$.expires_at', NULL), revoked_ms = 1 WHERE grant_id = ?1");
    let over = ask(&mut client, "query_records", json!({"stream": "messages"})).await.to_string();
    assert!(over.contains("grant_revoked"), "{over}");
    import.execute_batch("ROLLBACK").unwrap();
    client.close().await;
    let status = env.run(&["status", "--check", "--json"]);
    assert!(status.stdout.contains("grant_revoked"), "{status:?}");
    let doctor = env.run(&["doctor"]);
    let said = format!("{}{}", doctor.stdout, doctor.stderr);
    assert!(said.contains("Work") && !said.contains("local.pdpp.invalid"), "{said}");
}

#[test]
fn o7_1_a_grant_is_narrowed_renewed_and_replaced() {
    let env = TestEnv::new();
    store_of(&env);
    let first = grant(&env, &["--account", "Work", "--stream", "messages", "--since", "2026-03-01"]);
    let count = call(&env, "aggregate", &json!({"stream": "messages", "metric": "count"}), &[]);
    assert!(count.to_string().contains('2'), "{count}");
    let rows = call(&env, "query_records", &json!({"stream": "messages"}), &[]).to_string();
    assert!(rows.contains("m3") && rows.contains("m2") && !rows.contains("m1"), "{rows}");
    let renewed = grant(&env, &["--renew"]);
    assert_eq!(renewed["grants"][0]["old_grant"]["ended_at_provider"], true, "{renewed}");
    assert_eq!(renewed["grants"][0]["more_than_before"], json!([]), "{renewed}");
    assert_ne!(grant_id(&first), grant_id(&renewed));
    let rows = call(&env, "query_records", &json!({"stream": "messages"}), &[]).to_string();
    assert!(rows.contains("m3") && !rows.contains("m1"), "{rows}");
    let status: Value = serde_json::from_str(&env.run(&["status", "--check", "--json"]).stdout).unwrap();
    let status = status.to_string();
    assert!(status.contains(&grant_id(&renewed)) && !status.contains(&grant_id(&first)), "{status}");
    assert!(status.contains("works"), "{status}");
}

#[cfg(unix)]
#[test]
fn o7_1_one_approval_gives_a_grant_a_source() {
    let env = TestEnv::new();
    store_of(&env);
    let words = ["connect", "local", "--in-terminal", "--json"];
    let mut terminal = Terminal::run(&env, &words);
    // Nothing is ticked, which means all of it.
    terminal.answer("What may be read", "a\r");
    terminal.answer("Which fields", "\x1b[B\r");
    terminal.answer("When should the grant end", "\r");
    terminal.answer("Approve?", "y");
    let ran = terminal.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let granted: Value = serde_json::from_str(&ran.stdout).unwrap();
    let sources: Vec<_> = granted["grants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|grant| grant["sources"][0]["connector_key"].clone())
        .collect();
    assert_eq!(sources, ["mail", "chat"]);
    // Messages of two accounts: it asks which one, and the fields do not include links.
    let rows = call(&env, "query_records", &json!({"stream": "messages", "connection_id": "cin_home"}), &[]);
    let rows = rows.to_string();
    assert!(
        rows.contains(HOME_WORD) && !rows.contains(WORK_WORD) && !rows.contains("mail.example"),
        "{rows}"
    );
    assert_eq!(call(&env, "fetch", &json!({"id": "cin_work/messages:m0"}), &[])["isError"], Value::Null);
}

/// Records of one month; the time of day counts too.
#[cfg(unix)]
#[test]
fn o7_7_both_bounds_hold_whatever_is_ticked_at_the_terminal() {
    let env = TestEnv::new();
    store_of(&env);
    for (since, until) in
        [("2026-02-01", "2026-03-01"), ("2026-02-01T00:00:00.001Z", "2026-03-01T00:00:00.002Z")]
    {
        let bounds = ["--since", since, "--until", until];
        let words = [&["connect", "local", "--in-terminal", "--json"], &bounds[..]].concat();
        let mut terminal = Terminal::run(&env, &words);
        terminal.answer("What may be read", "a\r");
        terminal.answer("Which fields", "\x1b[B\r");
        terminal.answer("from 2026-02-01 to before 2026-03-01", "");
        terminal.answer("When should the grant end", "\r");
        terminal.answer("received from 2026-02-01", "");
        terminal.answer("Approve?", "y");
        let ran = terminal.end();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let granted: Value = serde_json::from_str(&ran.stdout).unwrap();
        let streams: Vec<&Value> = granted["grants"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|grant| grant["streams"].as_array().unwrap())
            .collect();
        let as_time =
            |text: &str| text.parse::<jiff::Timestamp>().or_else(|_| format!("{text}T00:00:00Z").parse());
        for stream in &streams {
            for (name, typed) in [("since", since), ("until", until)] {
                let given = stream[name].as_str().unwrap_or_else(|| panic!("{name}: {stream}"));
                assert_eq!(as_time(given).unwrap(), as_time(typed).unwrap(), "{stream}");
            }
        }
        assert!(streams.len() > 1, "{granted}");
    }
}

#[cfg(unix)]
#[test]
fn o7_6_nothing_is_ticked_but_what_options_name_and_nothing_is_given_for_nothing() {
    let env = TestEnv::new();
    store_of(&env);
    let mut terminal = Terminal::run(&env, &["connect", "local", "--in-terminal"]);
    terminal.answer("What may be read", "\r");
    let ran = terminal.end();
    assert_eq!(ran.code, Some(77), "{ran:?}");
    assert!(ran.stderr.contains("an agent with a shell") && !ran.stderr.contains("this page"), "{ran:?}");
    let mut terminal = Terminal::run(&env, &["connect", "local", "--in-terminal", "--stream", "chats"]);
    terminal.answer("What may be read", "\r");
    terminal.answer("Which fields", "\r");
    terminal.answer("When should the grant end", "\r");
    terminal.answer("Approve?", "n");
    assert_eq!(terminal.end().code, Some(77));
    let made: Value = serde_json::from_str(&env.run(&["provider", "grants", "--json"]).stdout).unwrap();
    assert_eq!(made["grants"], json!([]));
}

#[cfg(unix)]
#[test]
fn o7_5_a_list_that_is_interrupted_leaves_the_cursor_and_no_grant() {
    let env = TestEnv::new();
    store_of(&env);
    let mut terminal = Terminal::run(&env, &["connect", "local", "--in-terminal"]);
    terminal.answer_unseen("What may be read", "\u{3}");
    let ran = terminal.end();
    // Ended by the signal itself, or by the program that received it, if the list has just released the terminal: a
    // shell reports 130.
    assert!(matches!(ran.code, None | Some(130)), "{ran:?}");
    assert!(!ran.stderr.contains("\u{1b}[?25l"), "the cursor is hidden: {ran:?}");
    let made: Value = serde_json::from_str(&env.run(&["provider", "grants", "--json"]).stdout).unwrap();
    assert_eq!(made["grants"], json!([]));
}

#[test]
fn o7_5_a_pipe_is_refused_and_so_is_a_store_that_is_not_there() {
    let env = TestEnv::new();
    let ran = env.run(&["connect", "local", "--in-terminal"]);
    assert_eq!(ran.code, Some(78), "{ran:?}");
    assert!(env.files().is_empty(), "{:?}", env.files());
    for command in [vec!["provider"], vec!["provider", "grants"], vec!["provider", "revoke", "x", "--yes"]] {
        assert_eq!(env.run(&command).code, Some(78), "{command:?}");
    }
    store_of(&env);
    let ran = env.run(&["connect", "local", "--in-terminal"]);
    assert_eq!(ran.code, Some(77), "{ran:?}");
    assert!(ran.stderr.contains("terminal_required") || ran.stderr.contains("--in-terminal"), "{ran:?}");
    assert!(ran.stderr.contains("Run this at a terminal"), "{ran:?}");
    assert_eq!(ran.stderr.matches("--in-terminal").count(), 1, "a command that can be typed: {ran:?}");
    let ran = env.run(&["connect", "local", "--account", "Nobody"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("Work, Home") || ran.stderr.contains("Family, Home, Work"), "{ran:?}");
}

#[test]
fn o7_1_another_store_refuses_the_token() {
    let env = TestEnv::new();
    let dir = store_of(&env);
    grant(&env, &["--account", "Work", "--stream", "messages"]);
    std::fs::rename(&dir, env.home().join("aside")).unwrap();
    let gone = call(&env, "query_records", &json!({"stream": "messages"}), &[]).to_string();
    assert!(gone.contains("own_missing") || gone.contains("own_data_dir"), "{gone}");
    store_in(&dir);
    // With the grants of the first store: they belong to another store anyway.
    std::fs::copy(env.home().join("aside/grants.db"), dir.join("grants.db")).unwrap();
    let other = call(&env, "query_records", &json!({"stream": "messages"}), &[]).to_string();
    assert!(other.contains("own_store_other") && !other.contains(WORK_WORD), "{other}");
}

#[test]
fn a_grant_for_one_host_serves_that_host_alone() {
    let env = TestEnv::new();
    store_of(&env);
    grant(&env, &["--account", "Work", "--stream", "messages", "--for", "claude"]);
    let none = env.run(&["mcp", "call", "schema"]);
    assert_eq!(none.code, Some(78), "{none:?}");
    let rows = call(&env, "query_records", &json!({"stream": "messages"}), &["--for", "claude"]).to_string();
    assert!(rows.contains(WORK_WORD), "{rows}");
    assert_eq!(env.run(&["mcp", "call", "schema", "--for", "codex"]).code, Some(78));
    let printed = env.run(&["mcp", "setup", "claude", "codex", "--print", "--json"]);
    let entries: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert!(entries.to_string().contains("--for"), "{entries}");
    let of_codex = env.run(&["mcp", "setup", "codex", "--print"]);
    assert!(!of_codex.stdout.contains("--for"), "{of_codex:?}");
    let of_claude = env.run(&["mcp", "setup", "claude", "--print"]);
    assert!(of_claude.stdout.contains("--for"), "{of_claude:?}");
    grant(&env, &["--stream", "chats"]);
    let schema = call(&env, "schema", &json!({}), &[]).to_string();
    assert!(schema.contains("chats") && !schema.contains("messages"), "{schema}");
    let schema = call(&env, "schema", &json!({}), &["--for", "claude"]).to_string();
    assert!(!schema.contains("chats") && schema.contains("messages"), "{schema}");
}

/// Whether `word` is in any file below `dir`.
fn stands(dir: &std::path::Path, word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(stands(&path, word));
        } else if std::fs::read(&path).unwrap().windows(word.len()).any(|part| part == word.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o3_10_a_forgotten_account_is_in_no_file_any_more() {
    let env = TestEnv::new();
    let dir = store_of(&env);
    grant(&env, &["--account", "Work", "--stream", "messages"]);
    grant(&env, &["--account", "Work", "--account", "Home", "--source", "mail"]);
    let mut client = serve(&env, &[]).await;
    let found = ask(&mut client, "search", json!({"q": WORK_WORD})).await.to_string();
    assert!(found.contains(WORK_WORD), "{found}");
    assert!(!stands(&dir, WORK_WORD).is_empty());
    let ran = env.run(&["provider", "forget", "Work"]);
    assert_eq!(ran.code, Some(77), "{ran:?}");
    assert_eq!(env.run(&["provider", "forget", "Wrok", "--yes"]).code, Some(2));
    let ran = env.run(&["provider", "forget", "Work", "--yes", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let gone: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(gone["ended_grants"].as_array().unwrap().len(), 1, "{gone}");
    assert_eq!(gone["narrowed_grants"].as_array().unwrap().len(), 1, "{gone}");
    assert_eq!(stands(&dir, WORK_WORD), Vec::<String>::new());
    // What is imported again under its id is in no earlier grant.
    let made = pdpp::own::open(&dir).unwrap().grants_made().unwrap();
    let live = made.iter().filter(|(_, ended)| ended.is_none()).flat_map(|(grant, _)| &grant.streams);
    let of: Vec<_> = live.map(|stream| stream.instance_ids.as_slice()).collect();
    assert!(!of.is_empty() && of.iter().all(|of| *of == ["cin_home"]), "{of:?}");
    let found = ask(&mut client, "search", json!({"q": WORK_WORD})).await.to_string();
    assert!(!found.contains("number 0"), "{found}");
    let found = ask(&mut client, "search", json!({"q": HOME_WORD})).await.to_string();
    assert!(found.contains(HOME_WORD), "{found}");
    client.close().await;
    assert_eq!(stands(&dir, WORK_WORD), Vec::<String>::new());
    assert!(!stands(&dir, HOME_WORD).is_empty());
    assert_eq!(env.run(&["provider", "forget", "Work", "--yes"]).code, Some(0), "again");
    let status = env.run(&["provider"]);
    assert!(status.stdout.contains("Home") && !status.stdout.contains("Work"), "{status:?}");
}

/// A mail with an attachment, all of whose words are in the store after an import with copies.
const WITH_ATTACHMENT: &str = "From a@b.example Thu Jan  1 00:00:00 2026\nFrom: a@b.example\nTo: me@own.example\nSubject: plumbago\n\
    Date: Thu, 1 Jan 2026 00:00:00 +0000\nMessage-ID: <1@b.example>\nMIME-Version: 1.0\n\
    Content-Type: multipart/mixed; boundary=\"=b\"\n\n--=b\nContent-Type: text/plain\n\nplumbago\n--=b\n\
    Content-Type: text/plain; name=\"a.txt\"\nContent-Disposition: attachment; filename=\"a.txt\"\n\nquillwort\n--=b--\n";

/// Imports with copies of attachments; returns the store's place.
fn imported_with_copies(env: &TestEnv) -> std::path::PathBuf {
    let path = env.home().join("one.mbox");
    std::fs::create_dir_all(env.home()).unwrap();
    std::fs::write(&path, WITH_ATTACHMENT).unwrap();
    let ran = env.run(&["import", path.to_str().unwrap(), "--yes", "--copy-attachments"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let dir = env.cache_dir().join("own");
    assert!(!stands(&dir, "quillwort").is_empty() && !stands(&dir, "plumbago").is_empty());
    dir
}

#[test]
fn o3_10_a_forgotten_accounts_copies_of_attachments_go_too() {
    let env = TestEnv::new();
    let dir = imported_with_copies(&env);
    let ran = env.run(&["provider", "forget", "me@own.example", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for word in ["quillwort", "plumbago"] {
        assert_eq!(stands(&dir, word), Vec::<String>::new(), "{word}");
    }
}

/// The answer of `resources/read` for a blob.
fn read_blob(env: &TestEnv, blob: &str) -> Value {
    let mut server = env.pdpp(&["mcp", "serve"]);
    let mut server =
        server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut input, output) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": {"uri": format!("pdpp://blob/{blob}")}}),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    let lines =
        BufReader::new(output).lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let answer = lines.into_iter().find(|answer| answer["id"] == 2).unwrap();
    drop(input);
    server.wait().unwrap();
    answer
}

/// The bytes of an attachment are in the export: if that is gone, the user learns what to do, and no path is
/// revealed.
#[test]
fn o3_9_an_attachment_whose_export_has_moved_says_so_and_what_helps() {
    let env = TestEnv::new();
    let path = env.home().join("one.mbox");
    std::fs::create_dir_all(env.home()).unwrap();
    std::fs::write(&path, WITH_ATTACHMENT).unwrap();
    let import = |options: &[&str]| {
        let ran = env.run(&[&["import", path.to_str().unwrap(), "--yes"], options].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
    };
    import(&[]);
    grant(&env, &["--source", "mail"]);
    let found = call(&env, "query_records", &json!({"stream": "attachments"}), &[]);
    let blob =
        found.pointer("/structuredContent/data/data/0/data/blob_ref/blob_id").unwrap().as_str().unwrap();
    let read = read_blob(&env, blob);
    assert!(
        read["result"]["contents"][0].get("blob").is_some()
            || read["result"]["contents"][0].get("text").is_some(),
        "{read}"
    );
    std::fs::rename(&path, env.home().join("two.mbox")).unwrap();
    let read = read_blob(&env, blob);
    let message = read["error"]["message"].as_str().unwrap();
    for part in ["has moved or changed", "pdpp import PATH", "--copy-attachments"] {
        assert!(message.contains(part), "{read}");
    }
    assert!(!read.to_string().contains("one.mbox"), "{read}");
    assert_eq!(read["error"]["data"]["error"]["code"], "blob_moved", "{read}");
    let unknown = read_blob(&env, "sha256:00");
    assert_eq!(unknown["error"]["data"]["error"]["code"], "blob_not_found", "{unknown}");
    std::fs::rename(env.home().join("two.mbox"), &path).unwrap();
    import(&["--copy-attachments"]);
    std::fs::remove_file(&path).unwrap();
    assert!(read_blob(&env, blob).get("result").is_some());
}

#[test]
fn o3_10_forgetting_that_was_stopped_is_finished_by_the_same_command() {
    let env = TestEnv::new();
    let dir = imported_with_copies(&env);
    {
        // A process that is killed at once gets this far.
        let store = pdpp::own::open_store(&dir).unwrap();
        let account =
            store.read::<_, rusqlite::Error>(|_, catalog| Ok(catalog.connections[0].id.clone())).unwrap();
        store.hide(&account).unwrap();
    }
    let ran = env.run(&["provider", "forget", "me@own.example", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for word in ["quillwort", "plumbago"] {
        assert_eq!(stands(&dir, word), Vec::<String>::new(), "{word}");
    }
}

#[test]
fn o6_14_every_connection_says_how_old_its_data_is() {
    let env = TestEnv::new();
    let dir = store_of(&env);
    grant(&env, &["--account", "Work", "--stream", "messages"]);
    let db = rusqlite::Connection::open(dir.join("own.db")).unwrap();
    let views = |tool: &str, arguments: Value| {
        let answer = call(&env, tool, &arguments, &[]);
        (answer["content"][0]["text"].to_string(), answer["structuredContent"].to_string())
    };
    let read = || views("query_records", json!({"stream": "messages"}));
    assert!(!read().0.contains("data as of") && !read().1.contains("data as of"), "no import, no age");
    let imported = |ms: i64| {
        db.execute(
            "INSERT OR REPLACE INTO account (account, connection, imported_ms) VALUES (1, 'cin_work', ?1)",
            [ms],
        )
        .unwrap();
    };
    // One record is from the day before the import, one that the grant hides is from that day, and the others have
    // later dates.
    db.execute("UPDATE record SET sort = 1767900000000 WHERE key = 'm0'", []).unwrap();
    db.execute("UPDATE record SET sort = 1767990000000 WHERE key = 's1'", []).unwrap();
    imported(1_768_000_000_000);
    for (tool, arguments) in [
        ("schema", json!({})),
        ("query_records", json!({"stream": "messages"})),
        ("search", json!({"q": "number"})),
        ("aggregate", json!({"stream": "messages", "metric": "count"})),
    ] {
        let (text, structured) = views(tool, arguments);
        let wanted = "data as of 2026-01-09, newest record 2026-01-08";
        assert!(text.contains(wanted), "{tool}: {text}");
        assert!(structured.contains(wanted), "{tool}: {structured}");
    }
    let status: Value = serde_json::from_str(&env.run(&["provider", "--json"]).stdout).unwrap();
    assert_eq!(status["accounts"][0]["newest"], "2026-01-09T20:20:00Z", "its owner sees all of it: {status}");
    imported(jiff::Timestamp::now().as_millisecond());
    assert!(!read().0.contains("data as of"), "of today");
    assert!(views("schema", json!({})).0.contains("Work: data as of"));
    let status: Value = serde_json::from_str(&env.run(&["provider", "--json"]).stdout).unwrap();
    assert!(status["accounts"][0]["as_of"].is_string(), "{status}");
    assert!(status["accounts"][1]["as_of"].is_null(), "{status}");
}

/// A store of one chat, which continues in April.
pub fn store_of_a_chat(env: &TestEnv) {
    let file = env.home().join("WhatsApp Chat with Garden.txt");
    let text = "31/01/2026, 14:03 - Ana: Which beds?\n31/01/2026, 14:05 - Ben: Both.\n\
                14/02/2026, 08:00 - Ana: The north bed\n02/04/2026, 09:00 - Cyrus: And now?\n";
    std::fs::write(&file, text).unwrap();
    let ran = env.run(&["import", file.to_str().unwrap(), "--timezone", "UTC", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// Requirements O1.6 and O7.7.
#[cfg(unix)]
#[test]
fn o7_7_what_tells_of_later_days_is_said_to_be_left_out_and_is() {
    let env = TestEnv::new();
    store_of_a_chat(&env);
    let words = ["connect", "local", "--in-terminal", "--json", "--stream", "chats", "--stream", "messages"];
    let mut terminal = Terminal::run(&env, &[&words[..], &["--until", "2026-03-01"]].concat());
    terminal.answer("What may be read", "\r");
    terminal.answer("Which fields", "\r");
    terminal.answer("When should the grant end", "\r");
    // The line is wrapped before that.
    terminal.answer("because it reveals later days: participants, last message date", "");
    terminal.answer("Approve?", "y");
    let ran = terminal.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let granted: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(granted["grants"][0]["streams"][0]["fields"], json!(["id", "title", "first_message_date"]));
    let schema = call(&env, "schema", &json!({"stream": "chats"}), &[]);
    let told =
        "because it reveals days after the grant's last one: chats.participants, chats.last_message_date";
    for view in [&schema["content"][0]["text"], &schema["structuredContent"]] {
        assert!(view.to_string().contains(told), "{schema}");
    }
    let schema = call(&env, "schema", &json!({}), &[]).to_string();
    assert!(schema.contains("newest record 2026-02-14"), "{schema}");
    let calls = [
        ("query_records", json!({"stream": "chats"})),
        ("query_records", json!({"stream": "messages", "expand": ["parent"]})),
        ("search", json!({"q": "garden"})),
        ("schema", json!({})),
    ];
    let shown = || {
        for (tool, arguments) in &calls {
            let answer = call(&env, tool, arguments, &[]).to_string();
            assert!(!answer.contains("Cyrus") && !answer.contains("2026-04"), "{tool}: {answer}");
            assert!(*tool == "schema" || answer.contains("Garden"), "{tool}: {answer}");
        }
    };
    shown();
    // A grant that was made, and a store that was filled, before any field was marked because of later days.
    let dir = env.cache_dir().join("own");
    let changed = |file: &str, sql: &str| {
        assert_eq!(rusqlite::Connection::open(dir.join(file)).unwrap().execute(sql, []).unwrap(), 1);
    };
    changed("own.db", "UPDATE connector SET declaration = replace(declaration, ',\"spans\":true', '')");
    let fields = "UPDATE grants SET body = replace(body, '\"first_message_date\"]', \
                  '\"first_message_date\",\"participants\",\"last_message_date\"]') WHERE body LIKE '%\"first_message_date\"]%'";
    changed("grants.db", fields);
    shown();
    let refused = call(&env, "query_records", &json!({"stream": "chats", "sort": "-last_message_date"}), &[]);
    assert!(refused.to_string().contains("records sort by first_message_date"), "{refused}");
}

#[test]
fn o1_9_an_import_into_an_account_that_a_grant_covers_says_so() {
    let env = TestEnv::new();
    let file = env.home().join("a.csv");
    std::fs::write(&file, "id,date,text\n1,2026-01-01,one word\n2,2026-01-02,two words\n").unwrap();
    let import = |more: &[&str]| {
        let ran = env.run(&[&["import", file.to_str().unwrap(), "--account", "Mine"], more].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran
    };
    let says = |ran: crate::support::env::Ran| ran.stdout.contains("An agent can already read this account");
    import(&["--yes"]);
    assert!(!says(import(&["--dry-run"])));
    let stream = serde_json::from_str::<Value>(&env.run(&["provider", "status", "--json"]).stdout).unwrap();
    let stream = stream.pointer("/accounts/0/streams/0/name").unwrap_or_else(|| panic!("{stream}"));
    grant(&env, &["--account", "Mine", "--stream", stream.as_str().unwrap()]);
    assert!(says(import(&["--dry-run"])));
}

/// An account that an import adds, before all others by its name.
fn import_another(env: &TestEnv, name: &str) {
    let file = env.home().join(format!("{name}.mbox"));
    let mail = "From ana@example.org Thu Jan  1 10:00:00 2026\nFrom: Ana <ana@example.org>\nTo: Bo <bo@example.org>\n\
                Subject: lunch\nDate: Thu, 01 Jan 2026 10:00:00 +0000\nMessage-ID: <1@example.org>\n\nShall we?\n\n";
    std::fs::write(&file, mail).unwrap();
    let ran = env.run(&["import", file.to_str().unwrap(), "--account", name, "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn o7_9_an_import_between_showing_and_deciding_is_shown_first() {
    let env = TestEnv::new();
    store_of(&env);
    let words = ["connect", "local", "--in-terminal", "--json", "--account", "Work", "--stream", "messages"];
    let mut terminal = Terminal::run(&env, &words);
    terminal.answer("What may be read", "");
    import_another(&env, "Aaa");
    terminal.answer("Space ticks", "\r");
    terminal.answer("Which fields", "\r");
    terminal.answer("When should the grant end", "\r");
    // The ticks belong to an earlier list.
    terminal.answer("has changed since you saw it", "");
    terminal.answer("What may be read", "\r");
    terminal.answer("Which fields", "\r");
    terminal.answer("When should the grant end", "\r");
    terminal.answer("Approve?", "");
    // Another account with the displayed name: from now on the two can be told apart.
    import_another(&env, "Work");
    terminal.answer("", "y");
    terminal.answer("has changed since you saw it", "");
    terminal.answer("Work (Mail", "");
    terminal.answer("for: answer my questions about my own data", "");
    terminal.answer("Approve?", "y");
    let ran = terminal.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let granted: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(granted["grants"].as_array().unwrap().len(), 1);
    assert_eq!(granted["grants"][0]["sources"][0]["connections"][0]["id"], "cin_work");
    assert_eq!(granted["grants"][0]["streams"][0]["name"], "messages");
    let listed = env.run(&["provider", "grants"]).stdout;
    assert!(listed.contains("for: answer my questions about my own data"), "{listed}");
    assert!(listed.contains("Work (Mail") && listed.contains("last read: never"), "{listed}");
    let shown = env.run(&["status", "--grant", grant_id(&granted).as_str()]).stdout;
    assert!(
        shown.contains("For: answer my questions about my own data") && shown.contains("To end it: "),
        "{shown}"
    );
}

#[test]
fn a_filter_tells_which_account_is_meant_and_that_a_value_is_spelled_otherwise() {
    let env = TestEnv::new();
    import_another(&env, "Mine");
    let chat = env.home().join("conversations.json");
    let node = |id: &str, role: &str| {
        json!({"id": id, "parent": null, "children": [], "message": {"id": id, "author": {"role": role}, "create_time": 1_767_225_600.0,
            "content": {"content_type": "text", "parts": [format!("hello from {role}")]}}})
    };
    let mapping = json!({"n1": node("n1", "user"), "n2": node("n2", "assistant")});
    let talk = json!([{"id": "c1", "title": "Talk", "create_time": 1_767_225_600.0, "update_time": 1_767_225_600.0, "mapping": mapping,
        "current_node": "n2"}]);
    std::fs::write(&chat, talk.to_string()).unwrap();
    let ran = env.run(&["import", chat.to_str().unwrap(), "--account", "Family", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    grant(&env, &["--account", "Mine", "--account", "Family", "--stream", "messages"]);
    let rows =
        |filter: Value| call(&env, "query_records", &json!({"stream": "messages", "filter": filter}), &[]);
    // Only one of the two sources has the field.
    let found = rows(json!({"role": "user"}));
    assert_eq!(found["structuredContent"]["data"]["data"].as_array().map(Vec::len), Some(1), "{found}");
    let found = rows(json!({"from_email": "ana@example.org"}));
    assert_eq!(found["structuredContent"]["data"]["data"].as_array().map(Vec::len), Some(1), "{found}");
    let refused = rows(json!({"no_such_field": "x"}));
    assert_eq!(refused["isError"], true, "{refused}");
    // Nothing is spelled like this; a similar spelling is suggested.
    let missed = rows(json!({"role": "USER"}));
    let warning = &missed["structuredContent"]["data"]["meta"]["warnings"][0];
    assert_eq!(warning["code"], "spelled_otherwise", "{missed}");
    assert!(warning["message"].as_str().unwrap().contains("\"user\""), "{missed}");
    assert!(missed["content"][0]["text"].as_str().unwrap().contains("letter by letter"), "{missed}");
    let counted = json!({"stream": "messages", "metric": "count", "filter": {"role": "Assistant"}});
    let counted = call(&env, "aggregate", &counted, &[]).to_string();
    assert!(counted.contains("spelled_otherwise") && counted.contains("assistant"), "{counted}");
    let absent = rows(json!({"role": "nobody"})).to_string();
    assert!(!absent.contains("spelled_otherwise"), "{absent}");
}

/// Two accounts, with one grant each: searched together they read like one, with one process per page.
#[test]
fn r6_2_o6_8_a_search_over_two_grants_has_the_order_of_one() {
    let env = TestEnv::new();
    store_of(&env);
    for account in ["Work", "Home"] {
        grant(&env, &["--account", account, "--stream", "messages"]);
    }
    for (q, limit) in [("number", 3), ("about", 2), ("ana", 5)] {
        let (mut arguments, mut seen) = (json!({"q": q, "limit": limit}), Vec::new());
        while arguments.is_object() {
            let page = call(&env, "search", &arguments, &[]);
            let meta = &page["structuredContent"]["data"]["meta"];
            assert_eq!(
                (&meta["merged_order"], &meta["count"]),
                (&json!("titles_then_newest"), &json!(8)),
                "{page}"
            );
            assert_eq!(meta["recall"]["ranked_candidate_count"], 8, "{page}");
            let text = page["content"][0]["text"].as_str().unwrap();
            assert_eq!(text.matches("\nrecall").count(), 1, "{text}");
            let hits = page["structuredContent"]["results"].as_array().unwrap();
            seen.extend(hits.iter().map(|hit| {
                (
                    hit["record_id"].as_str().unwrap().to_owned(),
                    hit["connection_id"].as_str().unwrap().to_owned(),
                )
            }));
            arguments = page["structuredContent"]["next"]["arguments"].clone();
        }
        let order = seen.iter().map(|(record, _)| record.as_str()).collect::<Vec<_>>();
        assert_eq!(order, ["m3", "m3", "m2", "m2", "m1", "m1", "m0", "m0"], "{q}");
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 8);
    }
}
