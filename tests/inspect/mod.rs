//! `pdpp mcp inspect`: what it shows of our surface, and of other servers, safely (R2.2).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::env::TestEnv;

fn json_of(stdout: &str) -> Value {
    serde_json::from_str(stdout).unwrap_or_else(|_| panic!("not JSON: {stdout}"))
}

#[test]
fn r2_2_our_own_surface_is_measured_without_a_credential() {
    let env = TestEnv::new();
    let ran = env.run(&["mcp", "inspect", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let report = json_of(&ran.stdout);
    let tools = pdpp::mcp::tools::surface::tools();
    assert_eq!(report["tools_bytes"], serde_json::to_string(&*tools).unwrap().len());
    assert_eq!(report["tools_list"], serde_json::to_value(&*tools).unwrap());
    assert_eq!(report["instructions"], pdpp::mcp::tools::surface::INSTRUCTIONS);
    assert_eq!(report["instructions_bytes"], pdpp::mcp::tools::surface::INSTRUCTIONS.len());
    let measured = report["tools"].as_array().unwrap();
    assert_eq!(measured.len(), 6);
    for (tool, ours) in measured.iter().zip(tools.iter()) {
        assert_eq!(tool["name"], *ours.name);
        assert_eq!(tool["bytes"], serde_json::to_string(ours).unwrap().len());
        assert!(tool["tokens"].as_u64().unwrap() > 0);
    }
    assert!(report["tools_tokens"].as_u64().unwrap() > 0);
    assert!(report["tools_bytes"].as_u64().unwrap() <= 6656, "{}", report["tools_bytes"]);
    assert!(pdpp::mcp::tools::surface::INSTRUCTIONS.chars().count() <= 512);
    assert!(env.files().is_empty());
}

#[test]
fn r2_2_a_budget_sets_the_exit_code() {
    let env = TestEnv::new();
    let bytes = json_of(&env.run(&["mcp", "inspect", "--json"]).stdout)["tools_bytes"].as_u64().unwrap();
    let within = env.run(&["mcp", "inspect", "--budget", &bytes.to_string()]);
    assert_eq!((within.code, within.stderr.as_str()), (Some(0), ""));
    assert!(within.stdout.contains("read_record_field") && within.stdout.contains(&bytes.to_string()));
    assert!(within.stdout.contains("estimate"), "{}", within.stdout);
    let over = env.run(&["mcp", "inspect", "--budget", &(bytes - 5).to_string()]);
    assert_eq!(over.code, Some(1));
    assert!(over.stderr.contains("5 more than"), "{}", over.stderr);
}

/// A server in shell: answers the lines that it reads, in order, with the given ones.
fn server(answers: &[Value], before: &str) -> String {
    let answers: Vec<_> =
        answers.iter().map(|answer| format!("read -r line\nprintf '%s\\n' '{answer}'\n")).collect();
    format!("{before}{}cat >/dev/null\n", answers.concat())
}

fn answer(id: u64, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn legacy(tools: &[Value]) -> Vec<Value> {
    let info = json!({"name": "other\u{1b}[31m", "version": "1"});
    let mut answers = vec![
        answer(
            1,
            &json!({"protocolVersion": "2025-06-18", "serverInfo": info, "instructions": "Do\u{202e} this"}),
        ),
        // Reads `notifications/initialized`.
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}),
    ];
    for (page, tool) in tools.iter().enumerate() {
        let mut result = json!({"tools": [tool]});
        if page + 1 < tools.len() {
            result["nextCursor"] = json!(format!("page {page}"));
        }
        answers.push(answer(2 + page as u64, &result));
    }
    answers
}

#[cfg(unix)]
#[test]
fn another_server_is_measured_over_all_its_pages_and_its_text_is_escaped() {
    let env = TestEnv::new();
    let tools = [
        json!({"name": "one\u{1b}[2J"}),
        serde_json::from_str(r#"{"name":"two","n":1.10}"#).unwrap(),
        json!({"name": "three"}),
    ];
    let script = server(&legacy(&tools), "echo a log line that is no JSON\n");
    let ran = env.run(&["mcp", "inspect", "--", "/bin/sh", "-c", &script]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("three") && ran.stdout.contains("2025-06-18"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("one\\u{1b}[2J") && ran.stdout.contains("Do\\u{202e} this"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains(['\u{1b}', '\u{202e}']));
    let ran = env.run(&["mcp", "inspect", "--json", "--", "/bin/sh", "-c", &script]);
    let report = json_of(&ran.stdout);
    assert_eq!(report["tools_bytes"], Value::from(tools.to_vec()).to_string().len());
    assert!(ran.stdout.contains("1.10") && !ran.stdout.contains('\u{202e}'));
}

#[cfg(unix)]
#[test]
fn a_server_of_the_era_without_initialize_is_asked_in_its_own_way() {
    let env = TestEnv::new();
    let found = json!({"supportedVersions": ["2026-07-28"], "instructions": "Modern"});
    let listed = json!({"tools": [{"name": "only"}], "resultType": "complete"});
    let refused =
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}});
    // The last request must name its era, or this server does not answer.
    let script = format!(
        "read -r line; printf '%s\\n' '{refused}'; read -r line; printf '%s\\n' '{}'; read -r line; case \"$line\" in *2026-07-28*) printf '%s\\n' '{}';; esac; cat >/dev/null",
        answer(2, &found),
        answer(3, &listed)
    );
    let ran = env.run(&["mcp", "inspect", "--json", "--", "/bin/sh", "-c", &script]);
    let report = json_of(&ran.stdout);
    assert_eq!((&report["tools"][0]["name"], &report["instructions"]), (&json!("only"), &json!("Modern")));
}

#[cfg(unix)]
#[test]
fn a_server_that_would_die_of_discovery_is_asked_in_its_way_and_started_once() {
    let env = TestEnv::new();
    let answers = server(&legacy(&[json!({"name": "old"})]), "");
    let starts = env.home().join("starts");
    let start = format!("echo x >>{}", starts.display());
    // The first line decides: anything except `initialize` ends it.
    let first = answers.strip_prefix("read -r line\n").unwrap();
    let script =
        format!("{start}\nread -r line; case \"$line\" in *initialize*) ;; *) exit 1;; esac\n{first}");
    let ran = env.run(&["mcp", "inspect", "--json", "--", "/bin/sh", "-c", &script]);
    assert_eq!(json_of(&ran.stdout)["tools"][0]["name"], "old", "{}", ran.stderr);
    // A command that is not a server is not run a second time.
    env.run(&["mcp", "inspect", "--", "/bin/sh", "-c", &start]);
    assert_eq!(std::fs::read_to_string(starts).unwrap(), "x\nx\n");
}

#[cfg(unix)]
#[test]
fn a_failure_is_json_where_that_was_asked_for_and_its_advice_can_be_typed() {
    let env = TestEnv::new();
    let ran = env.run(&["mcp", "inspect", "--json", "--", "/bin/sh", "-c", "exit 3; echo $x"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""));
    let error = &json_of(&ran.stdout)["error"];
    assert_eq!(error["code"], "server_ended");
    let next = error["next"].as_str().unwrap();
    assert!(next.ends_with("/bin/sh -c 'exit 3; echo $x'"), "{next}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_leaves_its_process_group_is_stopped_too() {
    let env = TestEnv::new();
    let pid = env.home().join("pid");
    let script = format!(
        "setsid sh -c 'echo $$ >{0}.new; mv {0}.new {0}; exec sleep 1000' >/dev/null 2>&1 & until test -e {0}; do :; done; exit 1",
        pid.display()
    );
    let ran = env.run(&["mcp", "inspect", "--", "/bin/sh", "-c", &script]);
    assert!(ran.stderr.contains("code: server_"), "{}", ran.stderr);
    let pid = rustix::process::Pid::from_raw(std::fs::read_to_string(pid).unwrap().trim().parse().unwrap());
    assert!(is_gone(pid.unwrap()), "{pid:?} survived");
}

#[cfg(unix)]
#[test]
fn what_is_not_a_server_fails_with_its_own_words_and_in_time() {
    let env = TestEnv::new();
    let endless = "while :; do echo noise; done";
    let long = "yes x | tr -d '\\n'";
    let loops = server(
        &[
            answer(1, &json!({"protocolVersion": "2025-06-18"})),
            json!({}),
            answer(2, &json!({"tools": [], "nextCursor": "same"})),
            answer(3, &json!({"tools": [], "nextCursor": "same"})),
        ],
        "",
    );
    for (script, code, words) in [
        ("echo bad\u{1b}[31m config >&2; exit 3", "server_ended", "bad\\u{1b}[31m config"),
        (endless, "server_output", "too much"),
        (long, "server_output", "16 MiB"),
        (loops.as_str(), "server_protocol", "no end"),
    ] {
        let ran = env.run(&["mcp", "inspect", "--", "/bin/sh", "-c", script]);
        assert_eq!(ran.code, Some(1), "{script}");
        assert_eq!(ran.stdout, "", "{script}");
        assert!(ran.stderr.contains(&format!("code: {code}")), "{script}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{script}: {}", ran.stderr);
        assert!(!ran.stderr.contains('\u{1b}'));
    }
    let ran = env.run(&["mcp", "inspect", "--", "/no/such/program"]);
    assert!(ran.stderr.contains("code: server_start_failed"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn a_silent_server_is_given_up_after_ten_seconds_with_all_its_children() {
    use rustix::process::Pid;
    let env = TestEnv::new();
    let pids = env.home().join("pids");
    let script = format!("sleep 1000 & echo $$ $! >{}; wait", pids.display());
    let started = Instant::now();
    let ran = env.run(&["mcp", "inspect", "--", "/bin/sh", "-c", &script]);
    assert!(started.elapsed() < Duration::from_secs(14), "{:?}", started.elapsed());
    assert!(ran.stderr.contains("code: server_timeout"), "{}", ran.stderr);
    let pids = std::fs::read_to_string(pids).unwrap();
    for pid in pids.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap()) {
        assert!(is_gone(pid), "{pid:?} survived");
    }
}

/// A killed process exists until its parent has waited for it.
#[cfg(unix)]
fn is_gone(pid: rustix::process::Pid) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        rustix::process::test_kill_process(pid).is_err() || is_zombie(pid)
    })
}

#[cfg(unix)]
fn is_zombie(pid: rustix::process::Pid) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))
        .is_ok_and(|stat| stat.contains(") Z "))
}

#[test]
fn what_a_host_might_not_read_is_read_and_told() {
    let env = TestEnv::new();
    for (before, odd) in [
        ("printf '\\357\\273\\277'\n", "a byte order mark before its answer"),
        ("printf 'fetching 1/2 \\r'\n", "other text before its answer on the same line"),
    ] {
        let script = server(&legacy(&[json!({"name": "t", "inputSchema": {}})]), before);
        let ran = env.run(&["mcp", "inspect", "--json", "--", "/bin/sh", "-c", &script]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(json_of(&ran.stdout)["odd"], odd);
        assert!(ran.stderr.contains(&format!("warning: the server writes {odd}")), "{ran:?}");
    }
}

#[test]
fn a_server_that_takes_its_time_can_be_given_it() {
    let env = TestEnv::new();
    let silent = ["--", "/bin/sh", "-c", "cat >/dev/null"];
    let ran = env.run(&[&["mcp", "inspect", "--timeout", "1"][..], &silent].concat());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("--timeout SECONDS (it had 1)") && ran.stderr.contains("code: server_timeout"),
        "{ran:?}"
    );
    let slow = server(&legacy(&[json!({"name": "t", "inputSchema": {}})]), "sleep 2\n");
    let ran = env.run(&["mcp", "inspect", "--timeout", "60", "--", "/bin/sh", "-c", &slow]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
