//! `connect local` at a terminal, and what agents then read.

use serde_json::{Value, json};

use super::filled::{HOME_WORD, WORK_WORD, store_of};
use super::terminal::Terminal;
use crate::support::env::TestEnv;

/// What is ticked beforehand is approved, for 30 days.
pub fn grant(env: &TestEnv, options: &[&str]) -> Value {
    let words = ["connect", "local", "--in-terminal", "--json"];
    let mut terminal = Terminal::run(env, &[&words, options].concat());
    terminal.answer("What may be read", "\r");
    terminal.answer("Which fields", "\r");
    terminal.answer("When does it end", "\r");
    terminal.answer("Approve?", "y");
    let ran = terminal.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// What a tool answers: its structured view.
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
