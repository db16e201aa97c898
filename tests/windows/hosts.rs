//! The configs of hosts, in their places on Windows.

use pdpp::setup::clients::HOSTS;

use crate::setup::{json_of, setup};
use crate::support::env::TestEnv;

/// Each host's own place below the variables of Windows; a host without a line here has it below the home directory.
const PLACES: [(&str, &str); 4] = [
    ("claude-desktop", "AppData/Roaming/Claude/claude_desktop_config.json"),
    ("vscode", "AppData/Roaming/Code/User/mcp.json"),
    ("zed", "AppData/Roaming/Zed/settings.json"),
    ("goose", "AppData/Roaming/Block/goose/config/config.yaml"),
];

#[test]
fn every_host_is_set_up_where_windows_has_its_config() {
    for host in HOSTS {
        let env = TestEnv::new();
        let (code, outcome) = setup(&env, &[host.id]);
        assert_eq!((code, outcome["action"].as_str()), (Some(0), Some("added")), "{}: {outcome}", host.id);
        let files = env.files();
        let configs: Vec<_> = files.iter().filter(|file| !file.ends_with(".pdpp-setup-lock")).collect();
        let [file] = configs[..] else { panic!("{}: {files:?}", host.id) };
        match PLACES.iter().find(|(id, _)| *id == host.id) {
            Some((_, place)) => assert_eq!(file, place, "{}", host.id),
            None => assert!(file.starts_with('.'), "{}: {file}", host.id),
        }
        // In the form of Windows paths, escaped as the format requires.
        let text = std::fs::read_to_string(env.home().join(file)).unwrap();
        assert!(text.contains("pdpp.exe"), "{text}");
        assert_eq!(outcome["command"][0], crate::support::env::program(), "{}", host.id);
        let (code, outcome) = setup(&env, &[host.id]);
        assert_eq!(
            (code, outcome["action"].as_str()),
            (Some(0), Some("unchanged")),
            "{}: {outcome}",
            host.id
        );
        let (code, outcome) = setup(&env, &[host.id, "--remove"]);
        assert_eq!((code, outcome["action"].as_str()), (Some(0), Some("removed")), "{}: {outcome}", host.id);
    }
}

/// The variables of a session that was moved elsewhere.
#[test]
fn the_variables_of_windows_move_the_files() {
    let env = TestEnv::new();
    let moved = env.home().join("moved");
    let mut command = env.pdpp(&["mcp", "setup", "claude-desktop", "claude", "--json"]);
    let ran = command.env("APPDATA", moved.join("roaming")).env("USERPROFILE", moved.join("profile"));
    let outcome = json_of(&crate::support::env::Ran::from(ran.output().unwrap()));
    assert_eq!(outcome["hosts"][0]["action"], "added", "{outcome}");
    assert!(moved.join(r"roaming\Claude\claude_desktop_config.json").exists(), "{:?}", env.files());
    assert!(moved.join(r"profile\.claude.json").exists(), "{:?}", env.files());
}
