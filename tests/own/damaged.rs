//! A store that is damaged or missing: the message names the file, what is lost and what is not, and what to type.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::granted::{call, grant};
use crate::support::env::{Ran, TestEnv};

const ROWS: &str = "id,date,text\n1,2026-01-01,one word\n2,2026-01-02,two words\n";

fn imported(env: &TestEnv, more: &[&str]) -> PathBuf {
    let file = env.home().join("mine.csv");
    std::fs::write(&file, ROWS).unwrap();
    let ran = env.run(&[&["import", file.to_str().unwrap(), "--yes"], more].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    env.cache_dir().join("own")
}

/// Overwrites a file with bytes that no database has there; removes SQLite's files next to it.
fn spoil(file: &Path, how: &str) {
    for beside in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{beside}", file.display()));
    }
    let mut bytes = std::fs::read(file).unwrap();
    match how {
        "header" => bytes[..16].fill(b'x'),
        "schema" => bytes[100..4000].fill(0x5a),
        "cut" => bytes.truncate(bytes.len() / 2 / 512 * 512 + 100),
        _ => bytes[16384..].iter_mut().step_by(7).for_each(|byte| *byte ^= 0x55),
    }
    std::fs::write(file, bytes).unwrap();
}

fn error(ran: &Ran) -> Value {
    let json: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    json["error"].clone()
}

/// The commands of `next`, as a shell runs them, with `export` instead of the placeholder.
#[cfg(unix)]
fn typed(env: &TestEnv, next: &str, from: &str, export: &Path) -> bool {
    let line = &next[next.find(from).unwrap()..];
    let line = line.split(" && pdpp connect").next().unwrap();
    let import = format!("import {} --yes", export.display());
    let line = line
        .replace("import <export>", &import)
        .replace("&& pdpp", &format!("&& {}", env!("CARGO_BIN_EXE_pdpp")));
    let ran = std::process::Command::new("/bin/sh")
        .args(["-c", &line])
        .env_clear()
        .env("HOME", env.home())
        .output();
    let ran = Ran::from(ran.unwrap());
    assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
    true
}

#[cfg(unix)]
#[test]
fn o3_5_each_command_says_that_the_store_is_damaged_and_what_to_type() {
    for how in ["header", "schema", "cut", "within"] {
        let env = TestEnv::new();
        let dir = imported(&env, &[]);
        let file = env.home().join("mine.csv");
        grant(&env, &["--stream", "rows"]);
        spoil(&dir.join("own.db"), how);
        let import = ["import", file.to_str().unwrap(), "--yes", "--json"];
        let commands: [&[&str]; 7] = [
            &["provider", "--json"],
            &["provider", "grants", "--json"],
            &["provider", "revoke", "x", "--yes", "--json"],
            &["provider", "forget", "mine", "--yes", "--json"],
            &["connect", "local", "--json"],
            &["import", "--json"],
            &import,
        ];
        let mut next = String::new();
        for command in commands {
            let ran = env.run(command);
            let error = error(&ran);
            assert_eq!(
                (ran.code, &error["code"]),
                (Some(1), &json!("own_damaged")),
                "{how} {command:?} {ran:?}"
            );
            let message = error["message"].as_str().unwrap();
            assert!(
                message.contains("own.db") && message.contains("Your exports are untouched"),
                "{message}"
            );
            next = error["next"].as_str().unwrap().to_owned();
            assert!(next.contains("grant access again") && next.ends_with("pdpp connect local"), "{next}");
        }
        let status = env.run(&["status", "--check", "--json"]);
        assert!(
            status.stdout.contains("own_damaged") && status.stdout.contains("import <export>"),
            "{status:?}"
        );
        let doctor = env.run(&["doctor", "--json"]);
        assert!(
            doctor.stdout.contains("own_damaged") && doctor.stdout.contains("import <export>"),
            "{doctor:?}"
        );
        // An agent tells its user, and moves nothing.
        let told = call(&env, "query_records", &json!({"stream": "rows"}), &[]).to_string();
        assert!(
            told.contains("own_damaged") && told.contains("pdpp doctor") && !told.contains("mv "),
            "{told}"
        );
        assert!(typed(&env, &next, "mv ", &file), "{next}");
        assert!(dir.with_file_name("damaged-own").join("own.db").exists());
        let told: Value = serde_json::from_str(&env.run(&["provider", "--json"]).stdout).unwrap();
        assert_eq!(told["accounts"][0]["streams"][0]["records"], 2, "{told}");
        // The old grant belongs to the store that was moved away.
        let status = env.run(&["status", "--check", "--json"]).stdout;
        assert!(
            status.contains("own_store_other") && status.contains("pdpp disconnect local --grant"),
            "{status}"
        );
        let ended = env.run(&["disconnect", "local", "--yes"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("had already ended"), "{ended:?}");
    }
}

#[cfg(unix)]
#[test]
fn o3_5_grants_that_are_damaged_leave_the_data() {
    let env = TestEnv::new();
    let dir = imported(&env, &[]);
    grant(&env, &["--stream", "rows"]);
    spoil(&dir.join("grants.db"), "header");
    for command in [["provider", "grants", "--json"], ["connect", "local", "--json"]] {
        let error = error(&env.run(&command));
        assert_eq!(error["code"], "own_damaged", "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("grants.db") && message.contains("Your data and your exports are untouched"),
            "{message}"
        );
    }
    let next = error(&env.run(&["provider", "--json"]))["next"].as_str().unwrap().to_owned();
    assert!(typed(&env, &next, "mkdir ", Path::new("")), "{next}");
    let told: Value = serde_json::from_str(&env.run(&["provider", "--json"]).stdout).unwrap();
    assert_eq!(
        (&told["accounts"][0]["streams"][0]["records"], &told["live_grants"]),
        (&json!(2), &json!(0)),
        "{told}"
    );
    let ran = call(&env, "query_records", &json!({"stream": "rows"}), &[]);
    assert_eq!(ran["isError"], true, "{ran}");
}

#[test]
fn o6_14_own_data_that_nothing_is_granted_of_is_told_by_status_and_doctor() {
    let env = TestEnv::new();
    assert!(env.run(&["status"]).stderr.contains("pdpp connect <provider-url>"));
    let dir = imported(&env, &[]);
    let ran = env.run(&["status"]);
    assert_eq!(ran.code, Some(78), "{ran:?}");
    assert!(
        ran.stderr.contains("2 records of 1 account") && ran.stderr.contains("next: pdpp connect local"),
        "{ran:?}"
    );
    let json = error(&env.run(&["status", "--json"]));
    assert_eq!((&json["code"], &json["next"]), (&json!("not_connected"), &json!("pdpp connect local")));
    let ran = env.run(&["doctor"]);
    assert!(
        ran.stdout.contains("2 records of 1 account") && ran.stdout.contains("next: pdpp connect local"),
        "{ran:?}"
    );
    for command in [vec!["mcp", "call", "schema"], vec!["mcp", "serve", "--check-tokens"]] {
        let ran = env.run(&command);
        assert_eq!(ran.code, Some(78), "{ran:?}");
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains("pdpp connect local"), "{ran:?}");
    }
    spoil(&dir.join("own.db"), "header");
    let json = error(&env.run(&["status", "--json"]));
    assert!(json["next"].as_str().unwrap().contains("import <export>"), "{json}");
    let ran = env.run(&["doctor", "--json"]);
    assert!(ran.stdout.contains("own_damaged"), "{ran:?}");
}

#[test]
fn o7_10_grants_of_every_store_are_listed_and_ended_wherever_their_store_is() {
    let env = TestEnv::new();
    let other = env.home().join("other");
    imported(&env, &["--data-dir", other.to_str().unwrap(), "--account", "Elsewhere"]);
    let elsewhere = grant(&env, &["--stream", "rows", "--name", "There"]);
    let own = env.cache_dir().join("own");
    imported(&env, &["--data-dir", own.to_str().unwrap()]);
    let here = grant(&env, &["--stream", "rows", "--name", "Here"]);
    let id = |granted: &Value| granted["grants"][0]["grant_id"].as_str().unwrap().to_owned();
    let list =
        || -> Value { serde_json::from_str(&env.run(&["provider", "grants", "--json"]).stdout).unwrap() };
    let all = list();
    let told: Vec<_> = all["grants"].as_array().unwrap().iter().map(|grant| &grant["data_dir"]).collect();
    let own: PathBuf = own.components().collect();
    assert_eq!(told, [&json!(own), &json!(other)], "{all}");
    let text = env.run(&["provider", "grants"]).stdout;
    assert!(text.contains(&format!("Grants of the store in {}:", other.display())), "{text}");
    let ran = env.run(&["provider", "revoke", "There", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let all = list();
    assert_eq!(all["grants"].as_array().unwrap().len(), 1, "none of the other store is left here: {all}");
    let gone = env.run(&["provider", "grants", "--data-dir", other.to_str().unwrap(), "--json"]).stdout;
    assert!(gone.contains("\"revoked\"") && gone.contains(&id(&elsewhere)), "{gone}");
    // A missing store: its grants are listed, with the command that removes them.
    std::fs::rename(&own, env.home().join("aside")).unwrap();
    imported(&env, &["--data-dir", other.to_str().unwrap()]);
    let text = env.run(&["provider", "grants"]).stdout;
    let take_off = format!("pdpp disconnect local --grant {}", id(&here));
    assert!(text.contains("which cannot be read") && text.contains(&take_off), "{text}");
    let ran = env.run(&["provider", "revoke", "Here", "--yes"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains(&take_off) && ran.stderr.contains("own_store_other"), "{ran:?}");
    let ran = env.run(&["disconnect", "local", "--yes"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(!format!("{ran:?}").contains("local.pdpp.invalid"), "{ran:?}");
    assert!(ran.stderr.contains(&format!("provider revoke {} --data-dir", id(&here))), "{ran:?}");
}

#[test]
fn o7_6_a_name_that_nothing_has_is_told_at_once_with_the_one_that_was_meant() {
    let env = TestEnv::new();
    super::filled::store_of(&env);
    let refused = |options: &[&str]| {
        let ran = env.run(&[&["connect", "local", "--no-browser"], options].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(!ran.stderr.contains("http://"), "no page is opened: {ran:?}");
        ran.stderr
    };
    for (options, next) in [
        (["--stream", "mesages"], "--no-browser --stream messages"),
        (["--account", "Hmoe"], "--no-browser --account Home"),
        (["--source", "mial"], "--no-browser --source mail"),
        (["--field", "messages.sbject"], "--no-browser --field messages.subject"),
        (["--stream", "xyz"], "choose from all: pdpp connect local --no-browser"),
    ] {
        let said = refused(&options);
        assert!(said.contains(next), "{options:?}: {said}");
    }
    // Names that exist, but not in the chosen part.
    let said = refused(&["--account", "Work", "--stream", "chats"]);
    assert!(said.contains("labels, messages, security_messages") && !said.contains("chats,"), "{said}");
    let said = refused(&["--source", "chat", "--account", "Work"]);
    assert!(said.contains("these exist: Family"), "{said}");
    assert!(
        refused(&["--account", "Family", "--stream", "chats", "--field", "chats.subject"]).contains("text")
    );
}
