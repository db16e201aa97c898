//! What surrounds an edit: links, backups, the messages about them, and other people's values.

use jiff::{Timestamp, ToSpan as _};
use pdpp::cache::Cache;
use pdpp::cache::credential::{Credential, Secrets};
use pdpp::secret::AccessToken;
use serde_json::json;

use super::{HOSTS, json_of, setup};
use crate::support::credential::credential;
use crate::support::env::{Ran, TestEnv};

fn cursor(env: &TestEnv, text: &str) -> std::path::PathBuf {
    let file = env.home().join(".cursor/mcp.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, text).unwrap();
    file
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_to_itself_is_reported_as_such() {
    for (host, path, _) in HOSTS {
        let env = TestEnv::new();
        let file = env.home().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(file.file_name().unwrap(), &file).unwrap();
        let (code, outcome) = setup(&env, &[host]);
        let error = &outcome["error"];
        assert_eq!((code, &error["code"]), (Some(1), &json!("config_unreadable")), "{host}: {outcome}");
        assert_eq!(error["because"].as_array().unwrap().len(), 1, "{host}: {outcome}");
        assert!(error["next"].as_str().unwrap().starts_with("Remove the link: rm "), "{host}: {outcome}");
        assert!(file.is_symlink());
        let doctor = env.run(&["doctor"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            doctor.contains("leads back to itself")
                && doctor.contains("next: Remove the link, then: pdpp mcp setup"),
            "{doctor}"
        );
    }
}

#[test]
fn a_file_that_setup_made_goes_without_a_trace() {
    let env = TestEnv::new();
    let dir = env.home().join(".cursor");
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("mcp.json");
    let left = || std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    assert_eq!(setup(&env, &["cursor"]).0, Some(0));
    // An older entry that setup wrote, of which it keeps a copy.
    let written = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, written.replace("serve", "serve\", \"--no-access-log")).unwrap();
    assert_eq!(setup(&env, &["cursor"]).0, Some(0));
    let (code, outcome) = setup(&env, &["cursor", "--remove"]);
    assert_eq!((code, &outcome["backup"]), (Some(0), &json!(null)), "{outcome}");
    assert_eq!(left(), Vec::<std::path::PathBuf>::new());
    // An edit that a person made is kept in a backup.
    std::fs::write(&file, written.replacen("\"args\"", "\"env\": { \"MINE\": \"1\" },\n      \"args\"", 1))
        .unwrap();
    let (code, outcome) = setup(&env, &["cursor", "--remove"]);
    assert_eq!((code, file.exists()), (Some(0), false), "{outcome}");
    let backup = outcome["backup"].as_str().unwrap_or_else(|| panic!("{outcome}"));
    assert!(std::fs::read_to_string(backup).unwrap().contains("MINE"));
}

#[test]
fn a_byte_order_mark_that_setup_left_out_comes_back() {
    let env = TestEnv::new();
    let file = env.home().join(".gemini/settings.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = "\u{feff}{\n  \"mine\": 1\n}\n";
    std::fs::write(&file, before).unwrap();
    assert_eq!(setup(&env, &["gemini"]).0, Some(0));
    assert!(std::fs::read_to_string(&file).unwrap().starts_with('{'), "Gemini refuses it");
    assert_eq!(setup(&env, &["gemini", "--remove"]).0, Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    // The mark comes back even if something else changed.
    assert_eq!(setup(&env, &["gemini"]).0, Some(0));
    let with = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, with.replace("\"mine\": 1", "\"mine\": 2")).unwrap();
    assert_eq!(setup(&env, &["gemini", "--remove"]).0, Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "\u{feff}{\n  \"mine\": 2\n}\n");
    // Unless its owner left it out before setup added the entry again.
    let plain = "{\n  \"mine\": 3\n}\n";
    std::fs::write(&file, plain).unwrap();
    assert_eq!(setup(&env, &["gemini"]).0, Some(0));
    assert_eq!(setup(&env, &["gemini", "--remove"]).0, Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), plain);
}

#[test]
fn the_newest_backups_are_kept_and_the_first() {
    let env = TestEnv::new();
    let before = "{\n  \"mine\": 1\n}\n";
    let file = cursor(&env, before);
    for _ in 0..5 {
        assert_eq!(setup(&env, &["cursor"]).0, Some(0));
        assert_eq!(setup(&env, &["cursor", "--remove"]).0, Some(0));
    }
    let entries = std::fs::read_dir(file.parent().unwrap()).unwrap();
    let mut backups: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("mcp.json.pdpp-backup-"))
        .collect();
    backups.sort_by_key(|path| std::fs::metadata(path).unwrap().modified().unwrap());
    assert_eq!(backups.len(), 4, "{backups:?}");
    assert_eq!(std::fs::read_to_string(&backups[0]).unwrap(), before, "as it was before all of it");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn r8_3_a_backup_with_an_owner_credential_is_reported() {
    let env = TestEnv::new();
    let file = cursor(&env, "");
    assert_eq!(setup(&env, &["cursor"]).0, Some(0));
    let text = std::fs::read_to_string(&file).unwrap();
    let other = "\"mcpServers\": {\n    \"other\": {\"env\": {\"PDPP_OWNER_TOKEN\": \"canary\"}},";
    std::fs::write(&file, text.replace("\"mcpServers\": {", other)).unwrap();
    let ran = env.run(&["mcp", "setup", "cursor", "--remove"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("the backup contains PDPP_OWNER_TOKEN, an owner's credential. Delete it: rm "),
        "{ran:?}"
    );
    assert!(!ran.stdout.contains("canary") && !ran.stderr.contains("canary"), "{ran:?}");
}

#[test]
fn no_value_of_another_server_is_printed() {
    let others =
        r#"{"mcpServers":{"other":{"command":"x","args":["--key","canary"],"env":{"TOKEN":"canary"}}}}"#;
    for (more, json) in
        [(&["--dry-run"][..], false), (&["--dry-run", "--json"], true), (&["--json"], true), (&[], false)]
    {
        let env = TestEnv::new();
        cursor(&env, others);
        let ran = env.run(&[&["mcp", "setup", "cursor"], more].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!ran.stdout.contains("canary") && !ran.stderr.contains("canary"), "{ran:?}");
        if json {
            let diff = json_of(&ran)["hosts"][0]["diff"].to_string();
            assert!(diff.contains("TOKEN") && diff.contains("serve"), "{diff}");
        } else if !more.is_empty() {
            assert!(ran.stdout.contains("values outside this entry are shown as …"), "{ran:?}");
        }
    }
}

#[test]
fn the_proof_says_that_a_host_will_not_reach_the_keyring() {
    let env = TestEnv::new();
    let cache = Cache::open(&env.cache_dir()).unwrap();
    let secrets = Secrets::new(AccessToken::new("token".to_owned()).unwrap(), None);
    cache.store(credential("https://a.example", "g1", "Diary"), &secrets, None).unwrap();
    let proof = || {
        let ran = env.run(&["mcp", "setup", "cursor", "--json"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        json_of(&ran)["hosts"][0]["proof"].clone()
    };
    assert_eq!(proof()["state"], "serves");
    let index = env.cache_dir().join("index.json");
    let text = std::fs::read_to_string(&index).unwrap();
    std::fs::write(&index, text.replace(r#""store": "file""#, r#""store": "keyring""#)).unwrap();
    let outcome = proof();
    assert_eq!((&outcome["state"], &outcome["code"]), (&json!("token_unreadable"), &json!("keyring_absent")));
    let text = env.run(&["mcp", "setup", "cursor"]).stdout;
    assert!(
        text.contains("cannot read its token that way") && text.contains("next: pdpp status --move-to file"),
        "{text}"
    );
}

#[test]
fn the_proof_of_an_expired_grant_says_what_the_server_says_and_advice_has_the_options() {
    let env = TestEnv::new();
    let dir = env.home().join("else where");
    let cache = Cache::open(&dir).unwrap();
    let end = Timestamp::now() - 1.hour();
    let old =
        Credential { grant_expires_at: Some(end), ..credential("https://a.example", "g1", "Old diary") };
    let secrets = Secrets::new(AccessToken::new("token".to_owned()).unwrap(), None);
    cache.store(old, &secrets, None).unwrap();
    let option = format!("pdpp --cache-dir {} ", pdpp::text::shell_word(dir.to_str().unwrap()));
    let ran = env.run(&["mcp", "setup", "cursor", "--cache-dir", dir.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let proof =
        ran.stdout.lines().find(|line| line.starts_with("  proof: ")).unwrap_or_else(|| panic!("{ran:?}"));
    for part in ["has expired", "Old diary", "grant g1", &end.strftime("%Y-%m-%d %H:%M UTC").to_string()] {
        assert!(proof.contains(part), "{part} in {proof}");
    }
    assert!(!proof.contains("Next:"), "{proof}");
    assert!(ran.stdout.contains(&format!("  next: {option}connect https://a.example")), "{ran:?}");
    let ran = env.run(&["mcp", "setup", "--cache-dir", dir.to_str().unwrap()]);
    assert!(ran.stdout.contains(&format!("  {option}mcp setup HOST\n      one host\n")), "{ran:?}");
    let ran =
        env.run(&["mcp", "setup", "cursor", "--cache-dir", dir.to_str().unwrap(), "--scope", "project"]);
    assert!(!ran.stdout.contains("next: pdpp connect"), "{ran:?}");
}

/// What an entry for pdpp starts is shown, but not a password of a proxy in it.
#[test]
fn a_proxys_password_in_an_entry_is_not_shown() {
    let env = TestEnv::new();
    let file = env.home().join(".cursor/mcp.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let entry = format!(
        r#"{{"mcpServers":{{"pdpp":{{"command":{},"args":["mcp","serve","--proxy","http://u:canary@127.0.0.1:1"]}}}}}}"#,
        json!(crate::support::env::program())
    );
    std::fs::write(&file, entry).unwrap();
    for options in [
        &[][..],
        &["cursor", "--dry-run"],
        &["cursor", "--json"],
        &["--json"],
        &["cursor"],
        &["--all", "--yes"],
    ] {
        let ran = env.run(&[&["mcp", "setup"], options].concat());
        assert!(!ran.stdout.contains("canary") && !ran.stderr.contains("canary"), "{options:?}: {ran:?}");
    }
    let ran = env.run(&["doctor", "--json"]);
    assert!(!ran.stdout.contains("canary"), "{ran:?}");
    let ran = env.run(&["mcp", "setup", "cursor"]);
    assert!(ran.stdout.contains("…@127.0.0.1:1") && ran.stdout.contains("has a password"), "{ran:?}");
}

/// What an administrator starts with a person's HOME (`sudo -E`): if root runs this, the file stays the person's.
#[cfg(unix)]
#[test]
fn nothing_is_made_in_a_home_of_another_user() {
    use std::os::unix::fs::MetadataExt as _;
    let env = TestEnv::new();
    let home = env.home();
    let mut theirs = std::path::PathBuf::from("/proc");
    if std::fs::metadata(&home).unwrap().uid() == 0 {
        std::os::unix::fs::chown(&home, Some(54_321), None).unwrap();
        theirs = home;
    }
    for arguments in [&["mcp", "setup", "codex"][..], &["log", "--off"]] {
        let ran = Ran::from(env.pdpp(arguments).env("HOME", &theirs).output().unwrap());
        assert!(ran.code == Some(1) && ran.stdout.is_empty(), "{ran:?}");
    }
    assert_eq!(env.files(), Vec::<String>::new());
    assert!(!env.home().join(".codex").exists() && !env.home().join(".local").exists());
}

#[cfg(unix)]
#[test]
fn a_backup_that_could_not_be_written_is_not_left_half() {
    let env = TestEnv::new();
    let file = cursor(&env, "{}\n");
    // No file may grow, and the signal for that is ignored.
    let mut command = std::process::Command::new("/bin/sh");
    command.args([
        "-c",
        "trap '' XFSZ; ulimit -f 0; exec \"$0\" mcp setup cursor",
        env!("CARGO_BIN_EXE_pdpp"),
    ]);
    let output = command.env_clear().env("HOME", env.home()).env("PATH", "/usr/bin:/bin").output().unwrap();
    let ran = Ran::from(output);
    assert!(ran.code == Some(1) && ran.stderr.contains("code: config_unwritable"), "{ran:?}");
    assert_eq!(env.files(), [".cursor/mcp.json"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{}\n");
}
