//! What a person types: names of grants, commands from advice, scripts that read JSON, broken machines.

use serde_json::{Value, json};

use super::{connect, connected, json_of};
use crate::connect::provider::{Instead, Provider, Switches};
use crate::support::env::{Ran, TestEnv};

/// Two grants of one provider, whose sources have the same name.
fn two_grants() -> (TestEnv, Provider) {
    let (env, provider) = connected(Switches::default());
    provider.switch(|switches| switches.grant_id = "grt_other_one_that_is_long");
    connect(&env, provider.url());
    (env, provider)
}

fn ids(ran: &Ran) -> Vec<String> {
    let report = json_of(ran);
    let all = report["credentials"].as_array().unwrap_or_else(|| panic!("{report}"));
    all.iter().map(|credential| credential["grant_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn r1_9_a_grant_has_the_same_names_in_every_command() {
    let (env, provider) = two_grants();
    let shown = env.run(&["status"]).stdout;
    for part in ["grt_made_up_1", "grt_other_on", "Paper diary 2"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    for (name, id) in [
        ("grt_made_up_1", "grt_made_up_1"),
        ("grt_m", "grt_made_up_1"),
        ("Paper diary", "grt_made_up_1"),
        ("Paper diary 2", "grt_other_one_that_is_long"),
        ("grt_other_on", "grt_other_one_that_is_long"),
    ] {
        assert_eq!(ids(&env.run(&["status", "--json", "--grant", name])), [id], "{name}");
        let ran = env.run(&["mcp", "call", "schema", "--grant", name]);
        assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
    }
    for command in [
        &["status"][..],
        &["mcp", "call", "schema"],
        &["disconnect"],
        &["connect", provider.url(), "--no-browser", "--renew"],
    ] {
        let ran = env.run(&[command, &["--grant", "grt_"]].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(
            ran.stderr.contains("code: several_credentials") && ran.stderr.contains("grt_made_up_1"),
            "{ran:?}"
        );
        let ran = env.run(&[command, &["--grant", "no_such"]].concat());
        assert!(ran.code == Some(78) && ran.stderr.contains("code: not_connected"), "{ran:?}");
    }
    let ran = env.run(&["disconnect", provider.url(), "--grant", "Paper diary 2", "--yes"]);
    assert!(ran.stdout.contains("deleted here"), "{ran:?}");
    assert_eq!(ids(&env.run(&["status", "--json"])), ["grt_made_up_1"]);
}

#[test]
fn advised_commands_name_the_grant_where_a_provider_has_several() {
    let (env, provider) = two_grants();
    provider.switch(|switches| switches.instead = Some(("/v1/schema?view=compact", Instead::Unauthorized)));
    let report = json_of(&env.run(&["status", "--check", "--json"]));
    let next = report["credentials"][0]["next"].as_str().unwrap().to_owned();
    assert_eq!(next, format!("pdpp connect {} --renew --grant grt_made_up_1", provider.url()));
    provider.switch(|switches| switches.instead = None);
    let mut words: Vec<&str> = next.split(' ').skip(1).collect();
    words.push("--no-browser");
    // The old grant is replaced, and the new one keeps its name.
    let ran = env.run(&words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let labels = json_of(&env.run(&["status", "--json"]))["credentials"].clone();
    let labels: Vec<_> =
        labels.as_array().unwrap().iter().map(|credential| credential["label"].as_str().unwrap()).collect();
    assert!(labels.contains(&"Paper diary"), "{labels:?}");
}

#[test]
fn advised_commands_have_the_options_that_were_given() {
    let (env, provider) = connected(Switches::default());
    let elsewhere = env.home().join("else where");
    let dir = elsewhere.to_str().unwrap();
    let option = format!("--cache-dir {}", pdpp::text::shell_word(dir));
    for command in [&["status"][..], &["mcp", "call", "schema"], &["mcp", "serve"], &["disconnect", "x"]] {
        let ran = env.run(&[command, &["--cache-dir", dir]].concat());
        assert_eq!(ran.code, Some(78), "{ran:?}");
        assert!(ran.stderr.contains("next: ") && ran.stderr.contains(&format!("pdpp {option} ")), "{ran:?}");
    }
    let ran = env.run(&["doctor", "--cache-dir", dir, "--json"]);
    let connect = json!(format!("pdpp {option} connect <provider-url>")).to_string();
    assert!(ran.stdout.contains(connect.trim_matches('"')), "{ran:?}");
    // In a tool's answer too, and relative to the directory where it was typed.
    let ran = env.run(&["connect", provider.url(), "--no-browser", "--cache-dir", "home/else where"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    provider.switch(|switches| switches.instead = Some(("/v1/schema?view=compact", Instead::Unauthorized)));
    let ran = env.run(&["mcp", "call", "schema", "--cache-dir", "home/else where"]);
    assert!(ran.stdout.contains(&format!("pdpp {option} connect {}", provider.url())), "{ran:?}");
    // The default place needs no options, and a password is not repeated.
    let usual = env.cache_dir();
    let ran = env.run(&["disconnect", "x", "--cache-dir", usual.to_str().unwrap()]);
    assert!(ran.stderr.contains("next: pdpp status\n"), "{ran:?}");
    let ran = env.run(&["disconnect", "x", "--proxy", "http://o:canary@p.test:1", "--ca-file", "ca.pem"]);
    assert!(
        ran.stderr.contains(&format!("next: pdpp --ca-file {}", if cfg!(windows) { "C:\\" } else { "/" }))
            && !ran.stderr.contains("canary"),
        "{ran:?}"
    );
}

#[test]
fn with_json_every_failure_is_one_json_object() {
    let env = TestEnv::new();
    for (arguments, code, exit) in [
        (&["mcp", "call", "schema", "--json"][..], "not_connected", 78),
        (&["mcp", "call", "nothing", "--json"], "unknown_tool", 2),
        (&["mcp", "inspect", "--json", "--", "/nonexistent"], "", 1),
        (&["mcp", "setup", "--json", "no-such-host"], "", 2),
        (&["log", "--json", "--since", "soon"], "since_invalid", 2),
        (&["log", "--json", "--limit", "0"], "usage_error", 2),
        (&["disconnect", "--json"], "not_connected", 78),
        (&["status", "--json", "--grant", "x"], "not_connected", 78),
        (&["status", "--json", "--move-to", "keyring"], "keyring_absent", 1),
        (&["doctor", "--json", "--proxy", "x"], "proxy_invalid", 2),
        (&["connect", "--json", "ftp://x"], "provider_url_invalid", 2),
        (&["sandbox", "--json", "--listen", "192.0.2.1:1"], "", 2),
    ] {
        let ran = env.run(arguments);
        let report = json_of(&ran);
        let error = &report["error"];
        assert_eq!((ran.code, &error["exit_code"]), (Some(exit), &json!(exit)), "{arguments:?}: {ran:?}");
        assert!(code.is_empty() || error["code"] == code, "{arguments:?}: {ran:?}");
        assert!(error["message"].is_string() && !ran.stderr.contains("error:"), "{arguments:?}: {ran:?}");
    }
    let help = env.run(&["--help"]).stdout;
    assert!(help.contains("With --json a command prints one JSON object on stdout"), "{help}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_is_lost_is_a_failure_whatever_it_was() {
    let (env, _provider) = connected(Switches::default());
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["help", "mcp"],
        &["connect", "--help"],
        &["completions", "bash"],
        &["man"],
        &["status"],
        &["status", "--json"],
        &["log"],
        &["log", "--json"],
        &["mcp", "inspect"],
        &["mcp", "inspect", "--json"],
        &["mcp", "call", "schema"],
        &["mcp", "call", "schema", "--json"],
        &["mcp", "setup", "--json"],
        &["mcp", "setup", "claude", "--print"],
        &["disconnect", "--yes", "--json"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = env.pdpp(arguments).stdout(full).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(stderr.contains("code: output_failed"), "{arguments:?}: {stderr}");
        // A reader that has gone away is not a failure.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = env.pdpp(&["--help"]).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
    }
}

/// A host that cannot be answered does not end a conversation.
#[cfg(target_os = "linux")]
#[test]
fn r1_8_serving_without_a_stdout_that_takes_something_is_a_failure() {
    let (env, _provider) = connected(Switches::default());
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let program = env!("CARGO_BIN_EXE_pdpp");
    for to in [">/dev/full", ">&-"] {
        let own = env.pdpp(&[]);
        let mut shell = std::process::Command::new("/bin/sh");
        let line = format!("echo '{hello}' | exec {program} mcp serve {to}");
        shell.args(["-c", &line]).env_clear();
        shell.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = shell.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{to}: {stderr}");
        assert!(stderr.contains("code: output_failed"), "{to}: {stderr}");
    }
    // Nobody reads it: this is how a host disconnects.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = env.pdpp(&["mcp", "serve"]).stdout(writer).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_damaged_index_is_deleted_and_reported_as_damaged() {
    for json in [false, true] {
        let (env, _provider) = connected(Switches::default());
        std::fs::write(env.cache_dir().join("index.json"), "{").unwrap();
        let mut arguments = vec!["disconnect", "--all", "--yes"];
        arguments.extend(json.then_some("--json"));
        let ran = env.run(&arguments);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let report = if json { json_of(&ran)["error"].to_string() } else { ran.stderr.clone() };
        for part in ["cache_damaged", "ended no grant at a provider", "pdpp connect <provider-url>"] {
            assert!(report.contains(part), "{part} in {report}");
        }
        assert_eq!(std::fs::read_dir(env.cache_dir().join("secrets")).unwrap().count(), 0);
        // Its records are gone with it, so that a person can start again.
        assert_eq!(env.run(&["status"]).code, Some(78));
        assert_eq!(env.run(&["disconnect", "--all", "--yes"]).code, Some(0));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_tries_a_cache_directory_and_guesses_nothing_about_one_that_is_unusable() {
    let env = TestEnv::new();
    let file = env.home().join("file");
    std::fs::write(&file, "mine").unwrap();
    for dir in [file.to_str().unwrap(), "/proc/nope", "/dev/null/x"] {
        let ran = env.run(&["doctor", "--json", "--cache-dir", dir]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let report = json_of(&ran);
        let checks = report["checks"].as_array().unwrap();
        let level =
            |name: &str| checks.iter().find(|check| check["name"] == name).map(|check| &check["level"]);
        assert_eq!(level("cache"), Some(&json!("stop")), "{dir}: {report}");
        assert_eq!((level("tokens"), level("access log")), (None, None), "{dir}: {report}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    let fresh = env.home().join("not/there/yet");
    let report = json_of(&env.run(&["doctor", "--json", "--cache-dir", fresh.to_str().unwrap()]));
    let cache = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "cache").unwrap();
    assert_eq!(cache["level"], "ok", "{cache}");
    assert!(!env.home().join("not").exists(), "looking leaves nothing behind");
}

#[test]
fn doctor_says_that_a_hosts_configuration_is_damaged() {
    let env = TestEnv::new();
    std::fs::create_dir(env.home().join(".cursor")).unwrap();
    std::fs::write(env.home().join(".cursor/mcp.json"), "{\"mcpServers\": {").unwrap();
    let report = json_of(&env.run(&["doctor", "--json"]));
    let is_cursor =
        |check: &&Value| check["message"].as_str().is_some_and(|message| message.contains("Cursor"));
    let found =
        report["checks"].as_array().unwrap().iter().find(is_cursor).unwrap_or_else(|| panic!("{report}"));
    assert_eq!((&found["level"], &found["code"]), (&json!("warn"), &json!("config_damaged")));
    assert!(found["message"].as_str().unwrap().contains("is damaged: "), "{found}");
    let file = env.home().join(".cursor").join("mcp.json");
    let next = format!("Fix line 1, column 16 of {}, then: pdpp mcp setup cursor", file.display());
    assert_eq!(found["next"], next);
    // A file that setup would leave alone has a separate next step.
    for (text, next) in [
        (r#"{"mcpServers": {"pdpp": {"command": "npx"}}}"#, "pdpp mcp setup cursor --name pdpp-2"),
        (
            r#"{"mcpServers": {"pdpp": {"command": "/usr/bin/pdpp", "args": ["mcp", "serve"], "disabled": true}}}"#,
            "Switch it on in Cursor",
        ),
    ] {
        std::fs::write(&file, text).unwrap();
        let report = json_of(&env.run(&["doctor", "--json"]));
        let found =
            report["checks"].as_array().unwrap().iter().find(is_cursor).unwrap_or_else(|| panic!("{report}"));
        assert_eq!(found["next"], next, "{found}");
    }
}
