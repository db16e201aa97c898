//! For every host, an existing entry for pdpp: what a person has added to it stays.

use serde_json::{Value, json};

use super::{HOSTS, Kind, json_of, setup};
use crate::support::env::{Ran, TestEnv, program};

/// An entry as a person leaves it, with `<C>` and `<A>` for command and arguments.
fn entry(host: &str, kind: Kind) -> String {
    match kind {
        // Strict JSON has no comments to keep.
        Kind::Json(key) => {
            let kind = if matches!(host, "claude" | "crush") { "\"type\": \"stdio\", " } else { "" };
            format!("{{\"{key}\":{{\"other\":{{}},\n \"pdpp\":{{\"timeout\":60000, {kind}\"command\" : <C>,\"env\":{{\"A\":\"1\"}},\"args\":<A>}}}}}}")
        }
        Kind::Jsonc(key) if host == "opencode" => {
            format!("{{\n  \"{key}\": {{\n    \"pdpp\": {{ // mine\n      \"type\": \"local\",\n      \"timeout\": 9000, // long\n      \"command\": <L>, /* here */\n    }},\n  }},\n}}\n")
        }
        Kind::Jsonc(key) => {
            let more = match host {
                "vscode" => "\"type\": \"stdio\", ",
                "zed" => "\"source\": \"custom\", ",
                "copilot" => "\"type\": \"local\", \"tools\": [\"search\"], ",
                _ => "",
            };
            format!("{{\n  \"{key}\": {{\n    \"pdpp\": {{ // mine\n      {more}\"disabled\": false,\n      \"args\": <A>, // short\n      \"command\": <C>,\n      \"timeout\": 9.50, // s\n    }},\n  }},\n}}\n")
        }
        Kind::Toml => "[mcp_servers.pdpp] # mine\ntool_timeout_sec = 600 # long\ncommand = <C> # here\nargs = <A>\n# end\n\n[mcp_servers.pdpp.env]\nA = '1'\n".to_owned(),
        Kind::Yaml => "extensions:\n  pdpp: # mine\n    cmd: <C> # here\n    enabled: true\n    args: <A>\n    # slow\n    timeout: 900\n    name: My data\n    type: stdio\n  other: {}\n".to_owned(),
    }
}

/// What the host's entry starts, as text.
fn with(text: &str, program: &str, arguments: &[&str]) -> String {
    let words: Vec<_> = std::iter::once(&program).chain(arguments).collect();
    let list = |words: &Value| words.to_string().replace("\",\"", "\", \"");
    text.replace("<C>", &json!(program).to_string())
        .replace("<A>", &list(&json!(arguments)))
        .replace("<L>", &list(&json!(words)))
}

fn arguments(host: &str) -> Vec<&'static str> {
    let mut arguments = vec!["mcp", "serve"];
    if host == "claude" {
        arguments.extend(["--max-result-bytes", "48000"]);
    }
    arguments
}

#[test]
fn r8_2_an_update_keeps_every_byte_that_is_not_command_or_arguments() {
    for (host, path, kind) in HOSTS {
        let env = TestEnv::new();
        let file = env.home().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let bytes = || std::fs::read_to_string(&file).unwrap();
        let text = entry(host, kind);
        let old = with(&text, "/old path/pdpp", &["mcp", "serve"]);
        std::fs::write(&file, &old).unwrap();
        let (code, outcome) = setup(&env, &[host]);
        assert_eq!((code, &outcome["action"]), (Some(0), &"updated".into()), "{host}: {outcome}");
        assert_eq!(bytes(), with(&text, &program(), &arguments(host)), "{host}");
        let (code, outcome) = setup(&env, &[host]);
        assert_eq!((code, &outcome["action"]), (Some(0), &"unchanged".into()), "{host}: {outcome}");

        // A person's choice in the arguments that this run does not mention.
        let chosen =
            ["--no-access-log", "--log-level", "info", "--cache-dir", "/kept", "--proxy=http://p.example:1"];
        let mut choices = arguments(host);
        choices.extend(chosen);
        let old = with(&text, "pdpp", &[&["mcp", "serve"], &chosen[..]].concat());
        std::fs::write(&file, old).unwrap();
        let (code, outcome) = setup(&env, &[host]);
        assert_eq!((code, &outcome["action"]), (Some(0), &"updated".into()), "{host}: {outcome}");
        assert_eq!(bytes(), with(&text, &program(), &choices), "{host}");
        assert_eq!(outcome["command"].as_array().unwrap().len(), choices.len() + 1, "{host}: {outcome}");

        // Removed completely.
        let (code, outcome) = setup(&env, &[host, "--remove"]);
        assert_eq!((code, &outcome["action"]), (Some(0), &"removed".into()), "{host}: {outcome}");
        let gone = !bytes().contains("mine") && !bytes().contains("timeout") && !bytes().contains(&program());
        assert!(gone, "{host}: {}", bytes());
    }
}

#[test]
fn what_a_person_narrowed_or_switched_off_is_left_alone_unless_asked() {
    for (host, path, kind) in HOSTS {
        let env = TestEnv::new();
        let file = env.home().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let bytes = || std::fs::read_to_string(&file).unwrap();
        let text = entry(host, kind);
        let narrowed = with(&text, &program(), &["mcp", "serve", "--grant", "g1"]);
        std::fs::write(&file, &narrowed).unwrap();
        let (code, outcome) = setup(&env, &[host]);
        assert_eq!(
            (code, &outcome["error"]["code"]),
            (Some(1), &"entry_narrowed".into()),
            "{host}: {outcome}"
        );
        assert_eq!(bytes(), narrowed, "{host}");
        let (code, outcome) = setup(&env, &[host, "--yes"]);
        assert_eq!((code, &outcome["action"]), (Some(0), &"updated".into()), "{host}: {outcome}");
        assert_eq!(bytes(), with(&text, &program(), &arguments(host)), "{host}");

        let off = match kind {
            Kind::Toml => text.replace("tool_timeout_sec", "enabled = false\ntool_timeout_sec"),
            Kind::Yaml => text.replace("enabled: true", "enabled: false"),
            _ if text.contains("\"disabled\"") => text.replace("\"disabled\": false", "\"disabled\": true"),
            _ if host == "opencode" => text.replace("\"timeout\"", "\"enabled\": false, \"timeout\""),
            _ => text.replace("\"timeout\"", "\"disabled\": true, \"timeout\""),
        };
        let old = with(&off, "/old/pdpp", &["mcp", "serve"]);
        std::fs::write(&file, &old).unwrap();
        let (code, outcome) = setup(&env, &[host]);
        assert_eq!(
            (code, &outcome["error"]["code"]),
            (Some(1), &"entry_narrowed".into()),
            "{host}: {outcome}"
        );
        assert_eq!(bytes(), old, "{host}");
        let (code, outcome) = setup(&env, &[host, "--yes"]);
        assert_eq!((code, &outcome["action"]), (Some(0), &"updated".into()), "{host}: {outcome}");
        assert_eq!(bytes(), with(&off, &program(), &arguments(host)), "{host}: it stays off");
        assert!(
            outcome["notes"][0].as_str().unwrap().contains("is switched off and stays off"),
            "{host}: {outcome}"
        );
    }
}

#[cfg(unix)]
#[test]
fn r8_2_every_host_starts_a_program_in_an_odd_place_with_all_that_is_baked_in() {
    let odd = "a b 'c' \"d\" %PATH% $ \\e ünï;{f}#,[g]";
    for (host, path, _) in HOSTS {
        let env = TestEnv::new();
        let dir = env.home().join(odd);
        std::fs::create_dir(&dir).unwrap();
        let launcher = dir.join("pdpp");
        std::os::unix::fs::symlink(program(), &launcher).unwrap();
        let (cache, ca_file) = (dir.join("cache"), dir.join("ca.pem"));
        let made = rcgen::generate_simple_self_signed(["proxy.example.org".to_owned()]).unwrap();
        std::fs::write(&ca_file, made.cert.pem()).unwrap();
        let run = |arguments: &[&str]| {
            let mut command = std::process::Command::new(&launcher);
            command.args(["mcp", "setup", host, "--json", "--proxy", "http://proxy.example.org:3128"]);
            command.arg("--cache-dir").arg(&cache).arg("--ca-file").arg(&ca_file).args(arguments);
            command.env_clear().env("HOME", env.home()).env("PATH", "/usr/bin:/bin").current_dir(env.home());
            let ran = Ran::from(command.output().unwrap());
            (ran.code, json_of(&ran)["hosts"][0].clone())
        };
        let (code, outcome) = run(&[]);
        assert_eq!((code, &outcome["action"]), (Some(0), &json!("added")), "{host}: {outcome}");
        assert_eq!(outcome["proof"]["state"], "not_connected", "{host}: {outcome}");
        let mut words = vec![launcher.to_str().unwrap(), "mcp", "serve"];
        words.extend(&arguments(host)[2..]);
        words.extend(["--cache-dir", cache.to_str().unwrap(), "--proxy", "http://proxy.example.org:3128"]);
        words.extend(["--ca-file", ca_file.to_str().unwrap()]);
        assert_eq!(outcome["command"], json!(words), "{host}");
        assert_eq!(run(&[]).1["action"], "unchanged", "{host}");
        let (_, outcome) = run(&["--remove"]);
        assert_eq!(outcome["action"], "removed", "{host}: {outcome}");
        assert!(!env.home().join(path).exists(), "{host}");
    }
}

#[test]
fn r8_3_an_owner_credential_does_not_keep_an_entry_in() {
    for (host, path, _) in HOSTS {
        let env = TestEnv::new();
        assert_eq!(setup(&env, &[host]).1["action"], "added", "{host}");
        let mut command = env.pdpp(&["mcp", "setup", host, "--remove", "--json"]);
        let ran = Ran::from(command.env("PDPP_OWNER_TOKEN", "x").output().unwrap());
        assert_eq!((ran.code, &json_of(&ran)["hosts"][0]["action"]), (Some(0), &json!("removed")), "{host}");
        assert!(!env.home().join(path).exists(), "{host}");
        // Everything else is still refused, in JSON too.
        let mut command = env.pdpp(&["mcp", "setup", host, "--json"]);
        let ran = Ran::from(command.env("PDPP_OWNER_TOKEN", "x").output().unwrap());
        let outcome = json_of(&ran);
        assert_eq!(
            (ran.code, &outcome["error"]["code"]),
            (Some(77), &json!("owner_credential_in_environment"))
        );
    }
}

#[test]
fn what_is_left_elsewhere_is_reported() {
    let env = TestEnv::new();
    let file = |name: &str| env.home().join(".config/opencode").join(name);
    std::fs::create_dir_all(file("")).unwrap();
    assert_eq!(setup(&env, &["opencode"]).1["action"], "added");
    // opencode reads both files; from now on setup writes the other one.
    std::fs::write(file("opencode.jsonc"), "{}").unwrap();
    let (_, outcome) = setup(&env, &["opencode"]);
    let warning = outcome["warnings"][0].as_str().unwrap_or_else(|| panic!("{outcome}"));
    assert!(warning.contains("opencode.json also has an entry `pdpp`"), "{warning}");
    let (_, outcome) = setup(&env, &["opencode", "--remove"]);
    let warning = outcome["warnings"][0].as_str().unwrap_or_else(|| panic!("{outcome}"));
    assert!(warning.ends_with("opencode.json still has an entry `pdpp`"), "{warning}");
}

#[test]
fn without_a_host_a_verb_is_a_usage_error_and_every_host_can_be_here() {
    let env = TestEnv::new();
    for verb in ["--remove", "--dry-run", "--yes", "--print", "--strict"] {
        let ran = env.run(&["mcp", "setup", verb]);
        assert!(ran.code == Some(2) && ran.stderr.contains("You named no host"), "{verb}: {ran:?}");
    }
    for (_, path, _) in HOSTS {
        let file = env.home().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    }
    let ran = env.run(&["mcp", "setup"]);
    assert!(ran.stdout.contains("\nNot installed here: chatgpt (it runs elsewhere).\n"), "{ran:?}");
    // Of the hosts here, those that read a project's file.
    let ran = env.run(&["mcp", "setup", "--all", "--scope", "project", "--dry-run", "--json"]);
    let outcome = json_of(&ran);
    let hosts: Vec<_> = outcome["hosts"].as_array().unwrap().iter().map(|host| &host["host"]).collect();
    let all = "claude codex cursor vscode zed gemini opencode kiro amp qwen antigravity warp crush amazon-q continue";
    let all: Vec<_> = all.split(' ').collect();
    assert_eq!((ran.code, json!(hosts)), (Some(0), json!(all)), "{outcome}");
}

#[test]
fn a_removal_says_nothing_about_switching_on() {
    for (host, ..) in HOSTS {
        let env = TestEnv::new();
        assert_eq!(env.run(&["mcp", "setup", host]).code, Some(0));
        let ran = env.run(&["mcp", "setup", host, "--remove"]);
        assert!(ran.code == Some(0) && ran.stdout.contains("until you restart it"), "{ran:?}");
        assert!(!ran.stdout.contains("switch"), "{ran:?}");
    }
}
