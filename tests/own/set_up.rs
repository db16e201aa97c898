//! Which set-up a person has, and what the separate one would be, as far as this needs neither root nor systemd.
//! `.ci/run separate` tests the rest, with real users.

use serde_json::{Value, json};

use super::filled::store_of;
use crate::support::env::TestEnv;

fn json_of(env: &TestEnv, arguments: &[&str]) -> Value {
    let ran = env.run(arguments);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("not JSON: {ran:?}"))
}

fn set_up(env: &TestEnv) -> Value {
    let doctor = json_of(env, &["doctor", "--json"]);
    let checks = doctor["checks"].as_array().unwrap().clone();
    checks.into_iter().find(|check| check["name"] == "set-up").unwrap()
}

/// A host's entry for this program.
fn knows_pdpp(env: &TestEnv, file: &str) {
    let path = env.home().join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let entry = json!({ "command": env!("CARGO_BIN_EXE_pdpp"), "args": ["mcp", "serve"] });
    std::fs::write(path, json!({ "mcpServers": { "pdpp": entry } }).to_string()).unwrap();
}

#[test]
fn o9_6_doctor_and_status_say_which_set_up_it_is_and_recommend_the_other_to_hosts_with_a_shell() {
    let env = TestEnv::new();
    assert_eq!(
        (&set_up(&env)["level"], &json_of(&env, &["status", "--json"])["set_up"]),
        (&json!("ok"), &json!("none"))
    );
    store_of(&env);
    knows_pdpp(&env, ".config/Claude/claude_desktop_config.json");
    let quiet = set_up(&env);
    assert!(quiet["message"].as_str().unwrap().starts_with("simple; the store in "), "{quiet}");
    assert_eq!(
        (&quiet["level"], &quiet["next"]),
        (&json!("ok"), &Value::Null),
        "Claude Desktop has no shell"
    );
    assert_eq!(json_of(&env, &["status", "--json"])["set_up"], "simple");
    knows_pdpp(&env, ".cursor/mcp.json");
    let told = set_up(&env);
    assert!(
        told["message"]
            .as_str()
            .unwrap()
            .contains("Cursor has a shell, so its agent can read the store itself"),
        "{told}"
    );
    assert_eq!((&told["level"], &told["next"]), (&json!("warn"), &json!("sudo pdpp provider install")));
}

#[test]
fn o9_1_a_plan_is_shown_without_root_and_nothing_is_made() {
    let env = TestEnv::new();
    let ran = env.run(&["provider", "install", "--dry-run", "--for", "daemon", "--listen", "127.0.0.1:7999"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "The separate set-up for daemon (user ",
        "pdpp-daemon (new)",
        "\nExecStart=/usr/local/lib/pdpp/pdpp provider serve --data-dir /var/lib/pdpp/",
        " --listen 127.0.0.1:7999 --owner-socket /run/pdpp/",
        "\nNoNewPrivileges=yes\n",
    ] {
        assert!(ran.stdout.contains(part), "{part} in {ran:?}");
    }
    // The program of a test belongs to a user other than root, or is in a folder that does.
    assert!(
        ran.stderr.contains("users other than root could have changed") || !ran.stderr.contains("warning"),
        "{ran:?}"
    );
    let told = json_of(&env, &["provider", "install", "--dry-run", "--for", "daemon", "--json"]);
    assert_eq!((&told["system_user"], &told["new_store"]), (&json!("pdpp-daemon"), &json!(true)));
    assert_eq!(told["program_sha256"].as_str().unwrap().len(), 64);
    for (arguments, code, exit) in [
        (&["--for", "root"][..], "install_for_root", 77),
        (&["--for", "no-such-user-of-ours"], "install_unknown_user", 2),
        (&["--for", "daemon", "--listen", "0.0.0.0:7378"], "install_listen", 2),
        (&["--for", "daemon", "--listen", "127.0.0.1:0"], "install_listen", 2),
    ] {
        let ran = env.run(&[&["provider", "install", "--dry-run"], arguments].concat());
        assert_eq!(ran.code, Some(exit), "{ran:?}");
        assert!(ran.stderr.contains(&format!("code: {code}")), "{ran:?}");
    }
    assert_eq!(env.files(), Vec::<String>::new());
}

#[test]
fn o9_1_only_root_installs_and_takes_away() {
    let env = TestEnv::new();
    for action in ["install", "uninstall"] {
        // For root, who runs this test in some places, the next fault.
        let is_root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
        let (code, exit) = if is_root { ("install_no_person", 2) } else { ("install_needs_root", 77) };
        let ran = env.run(&["provider", action, "--yes"]);
        assert_eq!(ran.code, Some(exit), "{ran:?}");
        assert!(ran.stderr.contains(&format!("code: {code}")), "{ran:?}");
        if !is_root {
            assert!(
                ran.stderr
                    .contains(&format!("next: sudo {} provider {action} --yes", env!("CARGO_BIN_EXE_pdpp"))),
                "{ran:?}"
            );
        }
    }
}
