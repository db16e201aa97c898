//! Many processes at once, and killed at any point: real processes.

use std::path::Path;
use std::process::{Child, Stdio};

use crate::support::cases::cases;
use crate::support::env::TestEnv;

const OTHERS: &str = "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n";

fn start(env: &TestEnv, arguments: &[&str]) -> Child {
    env.pdpp(&[&["mcp", "setup"], arguments].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Every server in the file, which must be complete.
fn servers(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let root: serde_json::Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    root["mcpServers"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn many_at_once_lose_nothing() {
    for host in ["cursor", "claude"] {
        let env = TestEnv::new();
        let file = env.home().join(if host == "cursor" { ".cursor/mcp.json" } else { ".claude.json" });
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, OTHERS).unwrap();
        let names: Vec<_> = (0..12).map(|n| format!("n{n:02}")).collect();
        let children: Vec<_> = names.iter().map(|name| start(&env, &[host, "--name", name])).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        let mut expected = names.clone();
        expected.push("other".to_owned());
        assert_eq!(servers(&file), expected, "{host}");
        let children: Vec<_> =
            names.iter().map(|name| start(&env, &[host, "--name", name, "--remove"])).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        let left: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(left, serde_json::from_str::<serde_json::Value>(OTHERS).unwrap(), "{host}");
    }
}

#[test]
fn a_kill_at_any_point_leaves_the_file_of_before_or_after() {
    let env = TestEnv::new();
    let file = env.home().join(".claude.json");
    std::fs::write(&file, OTHERS).unwrap();
    let began = std::time::Instant::now();
    let after = {
        assert!(start(&env, &["claude"]).wait().unwrap().success());
        std::fs::read_to_string(&file).unwrap()
    };
    let whole = began.elapsed();
    let mut seen = [0; 2];
    let rounds = cases(40);
    for n in 0..rounds {
        let remove = std::fs::read_to_string(&file).unwrap() != OTHERS;
        let arguments: &[&str] = if remove { &["claude", "--remove"] } else { &["claude"] };
        let mut child = start(&env, arguments);
        // Points in time all over the run, from before its first line to after its last write.
        std::thread::sleep(whole.mul_f64(1.2 * f64::from(n) / f64::from(rounds)));
        let _ = child.kill();
        child.wait().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text == OTHERS || text == after, "killed after {n}: {text}");
        seen[usize::from(text == after)] += 1;
        // A process would wait for a lock that a killed one left: after ten seconds, it takes the lock over.
        let _ = std::fs::remove_dir(env.home().join(".claude.json.lock"));
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
    // The next complete run removes unfinished files.
    assert!(start(&env, &["claude", "--yes"]).wait().unwrap().success());
    assert!(start(&env, &["claude", "--remove"]).wait().unwrap().success());
    assert!(start(&env, &["claude"]).wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), after);
    let unfinished = env.files().iter().filter(|name| name.contains("pdpp-tmp-")).count();
    assert_eq!(unfinished, 0, "{:?}", env.files());
}
