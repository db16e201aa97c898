//! A secret that could not be deleted is told of once, and a store that does not work leaves nothing to delete.

use pdpp::cache::Cache;
use pdpp::cache::store::StoreKind;
use serde_json::{Value, json};

use crate::connect::provider::{Provider, Switches};
use crate::support::env::TestEnv;

fn index(env: &TestEnv) -> Value {
    serde_json::from_slice(&std::fs::read(env.cache_dir().join("index.json")).unwrap()).unwrap()
}

fn connected() -> (TestEnv, Provider) {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let ran = env.run(&["connect", provider.url(), "--no-browser"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    (env, provider)
}

#[test]
fn a_move_to_a_keyring_that_is_not_there_changes_nothing_and_is_forgotten() {
    let (env, provider) = connected();
    let before = index(&env);
    let ran = env.run(&["status", "--move-to", "keyring"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("code: keyring_absent"), "{ran:?}");
    assert!(ran.stderr.contains("next: Every token stays where it is."), "{ran:?}");
    assert!(!ran.stderr.contains("--store file") && !ran.stderr.contains("zbus"), "{ran:?}");
    assert_eq!(index(&env), before);
    for command in [&["status"][..], &["mcp", "call", "schema"], &["connect", provider.url(), "--no-browser"]]
    {
        let ran = env.run(command);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!ran.stderr.to_lowercase().contains("keyring") && !ran.stderr.contains("secret"), "{ran:?}");
    }
}

#[test]
fn a_deletion_that_cannot_be_done_stays_quiet_and_costs_nothing() {
    let (env, provider) = connected();
    let mut old = index(&env);
    // As a version before left it behind.
    old["discarded"] =
        json!([{"id": "0".repeat(32), "store": "keyring"}, {"id": "1".repeat(32), "store": "file"}]);
    std::fs::write(env.cache_dir().join("index.json"), old.to_string()).unwrap();
    for command in [
        &["connect", provider.url(), "--no-browser", "--store", "file"][..],
        &["status"],
        &["disconnect", provider.url()],
        &["disconnect", "--all", "--yes"],
    ] {
        let ran = env.run(command);
        // The made-up provider has no way to end a grant.
        let is_left = command == ["disconnect", provider.url()];
        assert_eq!(ran.code, Some(i32::from(is_left)), "{ran:?}");
        assert!(!ran.stderr.contains("could not be deleted"), "{ran:?}");
    }
    // What the file store can delete is gone; what only a keyring could is kept in mind.
    assert_eq!(index(&env)["discarded"], json!([{"id": "0".repeat(32), "store": "keyring"}]));
}

#[test]
fn what_a_disconnect_leaves_in_a_keyring_is_told_once() {
    let (env, _provider) = connected();
    let path = env.cache_dir().join("index.json");
    let mut edited = index(&env);
    edited["credentials"][0]["store"] = json!(StoreKind::Keyring);
    std::fs::write(&path, edited.to_string()).unwrap();
    let ran = env.run(&["disconnect"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("code: not_ended_at_provider"), "{ran:?}");
    assert_eq!(ran.stderr.matches("could not be deleted yet").count(), 1, "{ran:?}");
    assert_eq!(index(&env)["discarded"].as_array().unwrap().len(), 1);
    let again = env.run(&["disconnect", "--all", "--yes"]);
    assert!(again.code == Some(0) && again.stderr.is_empty(), "{again:?}");
    assert_eq!(Cache::open(&env.cache_dir()).unwrap().credentials().unwrap(), []);
}

#[test]
fn r8_4_the_fallback_is_told_once_in_plain_words() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let connect = || env.run(&["connect", provider.url(), "--no-browser"]);
    let first = connect().stderr;
    assert!(
        first.contains("No keyring works here (this session has no D-Bus), so the token goes"),
        "{first}"
    );
    let second = connect().stderr;
    assert!(!second.contains("keyring"), "{second}");
    let doctor = env.run(&["doctor"]).stdout;
    assert!(doctor.contains("No keyring works here"), "{doctor}");
}
