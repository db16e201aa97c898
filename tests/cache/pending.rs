//! A secret that could not be deleted is reported once, and a store that does not work leaves nothing to delete.

use pdpp::cache::Cache;
use pdpp::cache::store::StoreKind;
use serde_json::{Value, json};

use crate::connect::provider::{Instead, Provider, Switches};
use crate::support::env::TestEnv;

fn index(env: &TestEnv) -> Value {
    serde_json::from_slice(&std::fs::read(env.cache_dir().join("index.json")).unwrap()).unwrap()
}

fn connected() -> (TestEnv, Provider) {
    connected_to(Switches::default())
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
    // In the state that an earlier version left.
    old["discarded"] =
        json!([{"id": "0".repeat(32), "store": "keyring"}, {"id": "1".repeat(32), "store": "file"}]);
    std::fs::write(env.cache_dir().join("index.json"), old.to_string()).unwrap();
    for command in [
        &["connect", provider.url(), "--no-browser", "--store", "file"][..],
        &["status"],
        &["disconnect", provider.url(), "--yes"],
        &["disconnect", "--all", "--yes"],
    ] {
        let ran = env.run(command);
        // The fake provider has no way to end a grant.
        let is_left = command == ["disconnect", provider.url(), "--yes"];
        assert_eq!(ran.code, Some(i32::from(is_left)), "{ran:?}");
        assert!(!ran.stderr.contains("could not delete"), "{ran:?}");
    }
    // The file store deletes what it can; what only a keyring could delete is remembered.
    assert_eq!(index(&env)["discarded"], json!([{"id": "0".repeat(32), "store": "keyring"}]));
}

#[test]
fn what_a_provider_ended_is_reported_though_nothing_could_be_deleted_here() {
    let (env, provider) = connected_to(revoking());
    let lock = env.cache_dir().join("lock");
    std::fs::remove_file(&lock).unwrap();
    // Nobody can write in such a cache, not even root.
    std::fs::create_dir(&lock).unwrap();
    let ran = env.run(&["disconnect", provider.url(), "--yes"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("revoked at the provider, and still here"), "{ran:?}");
    assert!(ran.stderr.contains("code: cache_unwritable"), "{ran:?}");
    let ran = env.run(&["disconnect", provider.url(), "--yes", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["disconnected"][0]["deleted_here"], false, "{report}");
    assert_eq!(report["error"]["code"], "cache_unwritable", "{report}");
}

#[test]
fn what_is_left_in_a_store_goes_with_the_next_disconnect_that_reaches_it() {
    let (env, provider) = connected();
    assert_eq!(env.run(&["disconnect", provider.url(), "--yes"]).code, Some(1));
    let mut left = index(&env);
    let in_keyring = json!({"id": "0".repeat(32), "store": "keyring"});
    let in_file = json!({"id": "1".repeat(32), "store": "file"});
    for (place, command, report, code) in [
        (&in_keyring, &["disconnect"][..], "not_connected", 78),
        (&in_file, &["disconnect"], "leftover token was deleted", 0),
        (&in_file, &["disconnect", "Nobody"], "not_connected", 78),
    ] {
        left["discarded"] = json!([place]);
        std::fs::write(env.cache_dir().join("index.json"), left.to_string()).unwrap();
        let ran = env.run(command);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!((ran.stdout.clone() + &ran.stderr).contains(report), "{ran:?}");
        assert_eq!(index(&env)["discarded"] == json!([]), *place == in_file);
    }
}

/// Changes the index so that the one secret is in the keyring, which does not exist, or in its file again.
fn say_stored_in(env: &TestEnv, store: StoreKind) {
    let mut edited = index(env);
    edited["credentials"][0]["store"] = json!(store);
    std::fs::write(env.cache_dir().join("index.json"), edited.to_string()).unwrap();
}

/// A provider at which tokens can be revoked.
fn revoking() -> Switches {
    Switches {
        server: |metadata, urls| metadata["revocation_endpoint"] = json!(format!("{}/revoke", urls.issuer)),
        instead: Some(("/revoke", Instead::OtherJson)),
        ..Switches::default()
    }
}

fn connected_to(switches: Switches) -> (TestEnv, Provider) {
    let env = TestEnv::new();
    let provider = Provider::start(switches);
    let ran = env.run(&["connect", provider.url(), "--no-browser"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    (env, provider)
}

#[test]
fn a_grant_whose_token_cannot_be_read_is_kept_to_be_ended_once_it_can() {
    for again in [
        &["disconnect", "--yes"][..],
        &["disconnect", "--grant", "grt_made_up_1", "--yes"],
        &["disconnect", "--all", "--yes"],
    ] {
        let (env, provider) = connected_to(revoking());
        say_stored_in(&env, StoreKind::Keyring);
        let next = format!("pdpp disconnect {} --grant grt_made_up_1", provider.url());
        for first in [&["disconnect", "--all", "--yes"][..], again] {
            let ran = env.run(first);
            assert!(ran.code == Some(1) && ran.stderr.contains("code: not_ended_yet"), "{ran:?}");
            assert!(ran.stdout.contains("code: keyring_absent") && ran.stderr.contains(&next), "{ran:?}");
            assert!(!format!("{ran:?}").contains("deleted"), "nothing is: {ran:?}");
        }
        // No agent can use it, and it is not forgotten.
        let status = env.run(&["status"]);
        assert!(status.code == Some(78) && status.stdout.contains(&format!("next: {next}")), "{status:?}");
        let status = env.run(&["status", "--grant", "grt_made_up_1", "--json"]);
        let report: Value = serde_json::from_str(&status.stdout).unwrap();
        assert_eq!(
            (&report["credentials"], &report["ending"][0]["next"]),
            (&json!([]), &json!(next)),
            "{report}"
        );
        assert!(env.run(&["doctor"]).stdout.contains("is not ended at its provider yet"));
        assert_eq!(env.run(&["mcp", "call", "schema"]).code, Some(78));
        assert!(provider.seen("/revoke").is_empty());

        say_stored_in(&env, StoreKind::File);
        assert_eq!(env.run(&["mcp", "call", "schema"]).code, Some(78), "it was disconnected");
        let ran = env.run(again);
        assert!(
            ran.code == Some(0) && ran.stdout.contains("revoked at the provider, and deleted here"),
            "{ran:?}"
        );
        assert_eq!(provider.seen("/revoke").len(), 1);
        let index = index(&env);
        assert_eq!((&index["credentials"], &index["discarded"]), (&json!([]), &json!([])));
        assert!(!env.files().iter().any(|file| file.contains("secrets/")), "{:?}", env.files());
    }
}

#[test]
fn what_was_disconnected_before_is_ended_with_the_next_and_fails_nothing_else() {
    let (env, provider) = connected_to(revoking());
    say_stored_in(&env, StoreKind::Keyring);
    assert_eq!(env.run(&["disconnect", "--yes"]).code, Some(1));
    let other = |grant_id| {
        let other = Provider::start(Switches { grant_id, ..revoking() });
        assert_eq!(env.run(&["connect", other.url(), "--no-browser"]).code, Some(0));
        other
    };
    let second = other("grt_2");
    // It is still not forgotten: the named one is ended.
    let ran = env.run(&["disconnect", "--yes"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("tries again") && ran.stderr.is_empty(), "{ran:?}");
    assert_eq!((second.seen("/revoke").len(), provider.seen("/revoke").len()), (1, 0));
    let third = other("grt_3");
    say_stored_in(&env, StoreKind::File);
    let ran = env.run(&["disconnect", "grt_3", "--yes", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, report["disconnected"].as_array().unwrap().len()), (Some(0), 2), "{ran:?}");
    assert_eq!((third.seen("/revoke").len(), provider.seen("/revoke").len()), (1, 1));
}

#[test]
fn what_cannot_be_ended_yet_is_forgotten_where_somebody_says_so() {
    let (env, _provider) = connected();
    say_stored_in(&env, StoreKind::Keyring);
    assert_eq!(env.run(&["disconnect", "--yes"]).code, Some(1));
    let ran = env.run(&["disconnect", "--forget", "--yes"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("code: not_ended_at_provider"), "{ran:?}");
    assert_eq!(ran.stderr.matches("a token could not be deleted").count(), 1, "{ran:?}");
    assert!(
        ran.stdout.contains("forgotten here, but not ended") && !ran.stdout.contains("deleted here"),
        "{ran:?}"
    );
    assert_eq!(index(&env)["discarded"].as_array().unwrap().len(), 1);
    let again = env.run(&["disconnect", "--all", "--yes"]);
    assert!(again.code == Some(0) && again.stderr.is_empty(), "{again:?}");
    assert_eq!(Cache::open(&env.cache_dir()).unwrap().ending().unwrap(), []);
}

#[test]
fn an_old_grant_whose_token_cannot_be_read_is_kept_to_be_ended_when_it_is_replaced() {
    let (env, provider) = connected_to(revoking());
    say_stored_in(&env, StoreKind::Keyring);
    provider.switch(|switches| switches.grant_id = "grt_2");
    let ran = env.run(&["connect", provider.url(), "--renew", "--no-browser", "--store", "file"]);
    let next = format!("pdpp disconnect {} --grant grt_made_up_1", provider.url());
    assert!(ran.code == Some(0) && ran.stdout.contains(&next), "{ran:?}");
    let cache = Cache::open(&env.cache_dir()).unwrap();
    assert_eq!((cache.credentials().unwrap().len(), cache.ending().unwrap().len()), (1, 1));
}

#[test]
fn r8_4_the_fallback_is_reported_once_in_plain_words() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let connect = || env.run(&["connect", provider.url(), "--no-browser"]);
    let first = connect().stderr;
    let missing = if cfg!(windows) { "Credential Manager" } else { "D-Bus" };
    let words = format!("No keyring works here (this session has no {missing}), so the token goes");
    assert!(first.contains(&words), "{first}");
    let second = connect().stderr;
    assert!(!second.contains("keyring"), "{second}");
    let doctor = env.run(&["doctor"]).stdout;
    assert!(doctor.contains("No keyring works here"), "{doctor}");
}
