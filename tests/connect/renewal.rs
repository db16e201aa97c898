//! `connect --renew`: no wider than before, for the same time, and differences are reported.

use pdpp::provider::grant::TokenKind;
use pdpp::text::shell_word;
use serde_json::{Value, json};

use super::flows::{approving, by_code_at};
use super::provider::{self, Edit, Provider, Switches};
use super::{connect, credentials, no_secret_in};
use crate::support::env::{Ran, TestEnv};

fn renew(env: &TestEnv, more: &[&str]) -> Ran {
    let ran = env.run(&[&["connect", "--renew", "--no-browser"], more].concat());
    no_secret_in(&ran);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran
}

/// One stream of two, fewer fields, a week: the owner's choice on the page.
fn a_little(token: &mut Value, _: &provider::Urls) {
    let grant = &mut token["grant"];
    grant["issued_at"] = json!("2098-12-26T03:04:05Z");
    grant["streams"] = json!([{"name": "entries", "fields": ["day", "text"], "instance_ids": ["cin_1"],
        "time_range": {"since": "2026-01-01T00:00:00Z"}}]);
}

fn one_stream(schema: &mut Value, _: &provider::Urls) {
    schema["connectors"][0]["streams"] = json!([{"name": "entries"}]);
}

#[test]
fn what_the_owner_picked_is_asked_for_again_for_as_long() {
    let env = TestEnv::new();
    let switches =
        Switches { server: provider::with_code, token: a_little, schema: one_stream, ..Switches::default() };
    let provider = Provider::start(switches);
    let ran = by_code_at(&env, provider.url(), &["--name", "Mine"], approving);
    assert_eq!(ran.code, Some(0), "{ran:?}");

    provider.switch(|switches| switches.grant_id = "grt_made_up_2");
    let mut asked = None;
    let ran = by_code_at(&env, provider.url(), &["--renew"], |page| {
        let details = url::Url::parse(&page.url).unwrap();
        let details = details.query_pairs().find(|(name, _)| name == "authorization_details").unwrap().1;
        asked = serde_json::from_str::<Value>(&details).ok();
        approving(page);
    });
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let asked = &asked.unwrap()[0];
    assert_eq!(asked["source"], json!({"kind": "connector", "id": "https://registry.example/diary"}));
    assert_eq!(
        asked["streams"],
        json!([{"name": "entries", "fields": ["day", "text"], "instance_ids": ["cin_1"],
            "time_range": {"since": "2026-01-01T00:00:00Z"}}])
    );
    let end: jiff::Timestamp = asked["expires_at"].as_str().unwrap().parse().unwrap();
    let lasts = end.duration_since(jiff::Timestamp::now()).as_secs();
    assert!((7 * 86_400 - 60..=7 * 86_400).contains(&lasts), "a week again: {end}");
    assert!(!ran.stderr.contains("warning") && !ran.stderr.contains("gives less"), "{}", ran.stderr);
    let kept = credentials(&env);
    assert_eq!((kept.len(), kept[0].label.as_str()), (1, "Mine"));

    // More, and less, than before: both are reported.
    provider.switch(|switches| {
        switches.grant_id = "grt_made_up_3";
        switches.schema = |_, _| ();
        switches.token = |token, _| {
            token["grant"]["streams"] = json!([
                {"name": "entries", "fields": ["day", "mood"], "instance_ids": ["cin_1"]},
                {"name": "moods", "fields": ["day"], "instance_ids": ["cin_1"]}]);
        };
    });
    let ran = by_code_at(&env, provider.url(), &["--renew", "--json"], approving);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let more = [
        "streams that it did not have: moods (Paper diary)",
        "fields that it did not have: entries.mood",
        "records from before the old start: entries (Paper diary)",
    ];
    assert_eq!(report["more_than_before"].as_array().unwrap()[..3], more.map(Value::from));
    assert!(
        report["more_than_before"][3].as_str().unwrap().starts_with("access for a longer time, until 2099-")
    );
    assert_eq!(report["less_than_before"], json!(["missing fields: entries.text"]));
    for more in more {
        let warning = format!("warning: the grant gives more than the old grant had: {more}\n");
        assert!(ran.stderr.contains(&warning), "{}", ran.stderr);
    }
    assert!(ran.stderr.contains("The grant gives less than the old grant had: missing fields: entries.text"));
}

#[test]
fn a_provider_that_takes_no_such_request_is_asked_as_before() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches { token: a_little, ..Switches::default() });
    assert_eq!(connect(&env, &provider, &[]).code, Some(0));
    provider.switch(|switches| {
        switches.refuses_details =
            Some(|| json!({"error": "invalid_request", "error_description": "expires_at is not known here"}));
    });
    let ran = renew(&env, &[]);
    assert_eq!(provider.seen("/par").len(), 2, "with the end and without it");
    for part in [
        "does not accept a request for exactly what the old grant has",
        "Paper diary (diary): 2 streams: entries, moods",
    ] {
        assert!(ran.stderr.contains(part), "{part} in {}", ran.stderr);
    }
    assert_eq!(credentials(&env).len(), 1);
}

#[test]
fn a_package_is_renewed_as_what_it_was() {
    use crate::support::filled::start;
    use pdpp::sandbox::Config;
    let sandbox = start(Config { auto_approve: true, ..Config::default() });
    let env = TestEnv::new();
    let ran = by_code_at(&env, sandbox.url(), &["--flow", "authorization-code"], approving);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("Personal mail, Work mail (mail): 6 streams: "), "{}", ran.stdout);
    let old = credentials(&env).remove(0);
    assert_eq!(old.token_kind, TokenKind::McpPackage);
    assert_eq!(old.label, "Personal mail, Work mail, Kestrel Maps chat, Calendar, Music (+2)");
    let ran = renew(&env, &[]);
    assert!(!ran.stderr.contains("warning") && !ran.stderr.contains("gives less"), "{}", ran.stderr);
    assert!(ran.stdout.contains("is ended at the provider, and deleted here"), "{}", ran.stdout);
    let new = credentials(&env).remove(0);
    let all = |credential: &pdpp::cache::credential::Credential| {
        let given = credential.given.streams().unwrap();
        let mut all: Vec<_> =
            given.iter().map(|stream| (stream.source.clone(), stream.name.clone())).collect();
        all.sort();
        all
    };
    assert_eq!((all(&old), old.label), (all(&new), new.label));
    let lasts = |end: Option<jiff::Timestamp>, issued: Option<jiff::Timestamp>| {
        end.unwrap().duration_since(issued.unwrap()).as_secs()
    };
    let (before, now) =
        (lasts(old.grant_expires_at, old.issued_at), lasts(new.grant_expires_at, new.issued_at));
    assert!((before - now).abs() <= 2, "{before} and {now} s");
    sandbox.stop();
}

#[test]
fn what_fails_is_asked_for_again_by_the_same_command() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let more = ["--stream", "entries", "--name", "A diary", "--purpose", "Plan a trip"];
    provider.switch(|switches| switches.polls = vec![provider::Poll::Denied]);
    let ran = connect(&env, &provider, &more);
    let (name, purpose) = (shell_word("A diary"), shell_word("Plan a trip"));
    let next = format!("To ask again: pdpp connect {} --name {name} --stream entries", provider.url());
    assert!(
        ran.stderr.contains(&next) && ran.stderr.contains(&format!("--purpose {purpose}")),
        "{}",
        ran.stderr
    );
    let ran = connect(&env, &provider, &[&more[..], &["--store", "keyring"]].concat());
    let next = format!(
        "keep tokens in a file: pdpp connect {} --name {name} --stream entries --purpose {purpose} --store file\n",
        provider.url()
    );
    assert!(ran.stderr.contains(&next), "{}", ran.stderr);

    provider.switch(|switches| switches.polls = Vec::new());
    assert_eq!(connect(&env, &provider, &more).code, Some(0));
    let ran = env.run(&["connect", "--renew", "--store", "keyring"]);
    let next = format!("keep tokens in a file: pdpp connect {} --renew --store file\n", provider.url());
    assert!(ran.stderr.contains("code: keyring_absent") && ran.stderr.contains(&next), "{}", ran.stderr);
    provider.switch(|switches| switches.polls = vec![provider::Poll::Denied]);
    let ran = env.run(&["connect", "--renew", "--no-browser"]);
    let next = format!("To ask again: pdpp connect {} --renew\n", provider.url());
    assert!(ran.stderr.contains(&next), "{}", ran.stderr);
}

/// Six processes at once, which all ask before one of them stores: a name stands for one grant.
#[test]
fn six_that_want_one_name_get_six() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static GRANTS: AtomicUsize = AtomicUsize::new(0);
    let token: Edit = |token, _| {
        let grant = format!("grt_{}", GRANTS.fetch_add(1, Ordering::Relaxed));
        token["grant_id"] = json!(grant);
        token["grant"]["grant_id"] = json!(grant);
    };
    let schema: Edit = |schema, _| drop(schema["bearer"].as_object_mut().unwrap().remove("grant_id"));
    let env = TestEnv::new();
    let provider = Provider::start(Switches { token, schema, ..Switches::default() });
    // The client that they all share.
    assert_eq!(connect(&env, &provider, &["--name", "First"]).code, Some(0));
    provider.switch(|switches| switches.polls = vec![provider::Poll::Pending]);
    std::thread::scope(|scope| {
        let six: Vec<_> =
            (0..6).map(|_| scope.spawn(|| connect(&env, &provider, &["--name", "Same"]))).collect();
        // Each has made its request, and so has checked the existing names, before any is approved.
        while provider.seen("/agent-connect").len() < 7
            && !six.iter().any(std::thread::ScopedJoinHandle::is_finished)
        {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        provider.switch(|switches| switches.polls = Vec::new());
        for run in six {
            let ran = run.join().unwrap();
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
    });
    let mut labels: Vec<_> = credentials(&env).into_iter().map(|credential| credential.label).collect();
    labels.sort();
    assert_eq!(labels, ["First", "Same", "Same 2", "Same 3", "Same 4", "Same 5", "Same 6"]);
}
