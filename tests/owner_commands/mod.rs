//! What an owner sees and controls: status, disconnect, doctor, the access log, access through a network's proxy.
//! Through the real binary, against a fake provider and against the sandbox.

mod networks;
mod next;
mod terminal;
mod typed;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use pdpp::cache::Cache;
use serde_json::{Value, json};

use crate::connect::provider::{Instead, Provider, REFRESH, Switches, TOKEN, with_refresh};
use crate::support::env::{Ran, TestEnv};
use crate::support::sandbox::Sandbox;

fn json_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("not JSON: {ran:?}"))
}

fn connected(switches: Switches) -> (TestEnv, Provider) {
    let env = TestEnv::new();
    let provider = Provider::start(switches);
    connect(&env, provider.url());
    (env, provider)
}

fn connect(env: &TestEnv, url: &str) {
    let ran = env.run(&["connect", url, "--no-browser"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// The answers of `mcp serve` to these calls, one after the other, and its stderr output.
fn serve(env: &TestEnv, more: &[&str], calls: &[(&str, Value)]) -> (Vec<Value>, String) {
    let mut child = env
        .pdpp(&[&["mcp", "serve"], more].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let info = json!({"name": "Made-up\u{1b}[31m host", "version": "7"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    let hello = ("initialize".to_owned(), hello);
    let calls = calls
        .iter()
        .map(|(tool, arguments)| ("tools/call".to_owned(), json!({"name": tool, "arguments": arguments})));
    let mut answers = Vec::new();
    for (id, (method, params)) in std::iter::once(hello).chain(calls).enumerate() {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(input, "{request}").unwrap();
        answers.push(serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap());
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    (answers, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn status_says_what_is_connected_and_whether_it_works() {
    let env = TestEnv::new();
    let nothing = env.run(&["status"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(78), ""));
    assert!(nothing.stderr.contains("code: not_connected") && nothing.stderr.contains("pdpp connect"));
    let nothing = env.run(&["status", "--json"]);
    let report = json_of(&nothing);
    assert_eq!((nothing.code, &report["credentials"]), (Some(78), &json!([])));
    assert_eq!(
        (&report["error"]["code"], &report["error"]["exit_code"]),
        (&json!("not_connected"), &json!(78))
    );
    let next = "For your own data, once it is imported: pdpp connect local; for a provider: pdpp connect <provider-url>";
    assert_eq!(report["error"]["next"], next);

    let (env, provider) = connected(Switches::default());
    let ran = env.run(&["status"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    for part in ["Paper diary", "2 streams: entries, moods", "2099-01-02", "not checked", "status --check"] {
        assert!(ran.stdout.contains(part), "{part} in {}", ran.stdout);
    }
    let before = provider.seen("").len();
    let ran = env.run(&["status", "--check", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(json_of(&ran)["credentials"][0]["state"], "works");
    let asked = provider.seen("");
    assert_eq!(asked.len(), before + 1, "one read proves it");
    assert!(asked[before].path.ends_with("/v1/schema?view=compact"));

    for (instead, state, code, next) in [
        (Instead::Unauthorized, "rejected", "token_rejected", "--renew"),
        (Instead::ServerError, "provider_failing", "provider_failed", "Try again later"),
        (Instead::Redirect, "unreachable", "provider_redirected", "Open the address"),
        (Instead::Close, "provider_failing", "provider_answer_broken", "Check the address"),
    ] {
        provider.switch(|switches| switches.instead = Some(("/v1/schema?view=compact", instead)));
        let ran = env.run(&["status", "--check", "--json"]);
        let credential = &json_of(&ran)["credentials"][0];
        assert_eq!(
            (ran.code, &credential["state"], &credential["code"]),
            (Some(1), &json!(state), &json!(code)),
            "{credential}"
        );
        assert!(credential["next"].as_str().unwrap().contains(next), "{credential}");
        let ran = env.run(&["status", "--check"]);
        assert!(ran.code == Some(1) && ran.stdout.contains("\n  next: "), "{ran:?}");
    }
    drop(provider);
    let ran = env.run(&["status", "--check", "--json"]);
    let credential = &json_of(&ran)["credentials"][0];
    assert_eq!(
        (&credential["state"], &credential["code"]),
        (&json!("unreachable"), &json!("provider_unreachable"))
    );
}

#[test]
fn a_package_is_tried_at_its_providers_own_mcp() {
    use crate::connect::flows::{approving, by_code_at};
    use crate::support::filled::start;
    use pdpp::sandbox::Config;
    let sandbox = start(Config { auto_approve: true, ..Config::default() });
    let env = TestEnv::new();
    let ran = by_code_at(&env, sandbox.url(), &["--flow", "authorization-code"], approving);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let check = || {
        let ran = env.run(&["status", "--check", "--json"]);
        let credential = json_of(&ran)["credentials"][0].clone();
        assert_eq!(credential["kind"], "mcp_package");
        (ran.code, credential["state"].clone(), credential["code"].clone(), credential["next"].clone())
    };
    assert_eq!(check(), (Some(0), json!("works"), json!(null), json!(null)));
    let ran = env.run(&["status", "--check"]);
    assert!(ran.stdout.contains("works") && !ran.stdout.contains("status --check"), "{ran:?}");
    let secrets = env.cache_dir().join("secrets");
    let secret = std::fs::read_dir(&secrets).unwrap().next().unwrap().unwrap().path();
    let kept = std::fs::read(&secret).unwrap();
    std::fs::write(&secret, r#"{"access_token":"made-up"}"#).unwrap();
    let (code, state, found, next) = check();
    assert_eq!((code, state, found), (Some(1), json!("rejected"), json!("token_rejected")));
    assert!(next.as_str().unwrap().ends_with("--renew"), "{next}");
    std::fs::write(&secret, kept).unwrap();
    sandbox.stop();
    let (code, state, found, _) = check();
    assert_eq!((code, state, found), (Some(1), json!("unreachable"), json!("provider_unreachable")));
}

#[test]
fn a_token_whose_file_is_gone_is_reported_without_asking_anybody() {
    let (env, provider) = connected(Switches::default());
    let before = provider.seen("").len();
    std::fs::remove_dir_all(env.cache_dir().join("secrets")).unwrap();
    let ran = env.run(&["status", "--json"]);
    let credential = &json_of(&ran)["credentials"][0];
    assert_eq!(
        (ran.code, &credential["state"], &credential["code"]),
        (Some(1), &json!("no_secret"), &json!("secret_missing"))
    );
    assert!(credential["next"].as_str().unwrap().ends_with("--renew"), "{credential}");
    assert_eq!(provider.seen("").len(), before);
    // No command asks a keyring for what only the keyring knows.
    let path = env.cache_dir().join("index.json");
    let mut index: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    index["credentials"][0]["store"] = json!("keyring");
    std::fs::write(&path, index.to_string()).unwrap();
    let ran = env.run(&["status", "--json"]);
    assert_eq!(
        (ran.code, &json_of(&ran)["credentials"][0]["state"]),
        (Some(0), &json!("not_checked")),
        "{ran:?}"
    );
}

#[test]
fn silent_providers_are_waited_for_at_once_and_not_for_ever() {
    let (env, first) = connected(Switches::default());
    let other = Provider::start(Switches::default());
    connect(&env, other.url());
    for provider in [&first, &other] {
        provider.switch(|switches| switches.instead = Some(("/v1/schema?view=compact", Instead::Never)));
    }
    let started = std::time::Instant::now();
    let ran = env.run(&["status", "--check", "--json"]);
    // Each is given 8 s.
    assert!(started.elapsed() < std::time::Duration::from_secs(15), "{:?}", started.elapsed());
    let report = json_of(&ran);
    let codes: Vec<_> =
        report["credentials"].as_array().unwrap().iter().map(|credential| &credential["code"]).collect();
    assert_eq!(codes, ["provider_timeout"; 2], "{report}");
}

#[test]
fn disconnect_ends_the_grant_at_the_provider_and_deletes_it_here() {
    let env = TestEnv::new();
    let sandbox = Sandbox::start(&env);
    connect(&env, &sandbox.url);
    let cache = Cache::open(&env.cache_dir()).unwrap();
    let credential = cache.credentials().unwrap().remove(0);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let bearer = runtime.block_on(cache.bearer(&credential)).unwrap();
    let rs = credential
        .resource_server(pdpp::provider::http::Http::new(pdpp::provider::http::Limits::default()))
        .unwrap();
    let read = || runtime.block_on(rs.get(&bearer, &pdpp::provider::rs::Read::of(["schema"])));
    assert!(read().is_ok());

    let ran = env.run(&["disconnect", &sandbox.url, "--yes", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let ended = &json_of(&ran)["disconnected"][0];
    assert!(ended["ended_at_provider"] == "grant" || ended["ended_at_provider"] == "tokens", "{ended}");
    assert_eq!(
        (&ended["deleted_here"], &ended["grant_id"]),
        (&json!(true), &json!(credential.grant_id.as_str()))
    );
    assert!(read().is_err(), "the grant is over at the provider");
    assert_eq!(cache.credentials().unwrap(), []);
    assert!(!env.files().iter().any(|file| file.contains(credential.id.as_str())), "{:?}", env.files());

    let again = env.run(&["disconnect", &sandbox.url]);
    assert_eq!(again.code, Some(78), "{again:?}");
    assert!(again.stderr.contains("code: not_connected"));
    let all = env.run(&["disconnect", "--all", "--yes"]);
    assert_eq!((all.code, all.stdout.as_str()), (Some(0), "Nothing was connected on this computer.\n"));
}

#[test]
fn everything_is_disconnected_only_where_somebody_confirms_it() {
    let (env, _provider) = connected(Switches::default());
    for more in [&[][..], &["--json"]] {
        let ran = env.run(&[&["disconnect", "--all"], more].concat());
        let output = format!("{}{}", ran.stdout, ran.stderr);
        assert!(ran.code == Some(77) && output.contains("confirmation_required"), "{ran:?}");
    }
    assert_eq!(env.run(&["status"]).code, Some(0), "nothing is gone");
    env.run(&["disconnect", "--all", "--yes"]);
    assert_eq!(env.run(&["status"]).code, Some(78), "all is gone");
}

#[test]
fn nothing_is_ended_where_nobody_says_so() {
    use std::io::Write as _;
    let (env, provider) = connected(Switches::default());
    let asked = provider.seen("").len();
    let mut typed = env.pdpp(&["disconnect"]);
    let mut typed = typed
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // It may have ended before.
    let _ = typed.stdin.take().unwrap().write_all(b"n\n");
    let typed = Ran::from(typed.wait_with_output().unwrap());
    for ran in [typed, env.run(&["disconnect", provider.url()]), env.run(&["disconnect", "--forget"])] {
        assert!(ran.code == Some(77) && ran.stderr.contains("code: confirmation_required"), "{ran:?}");
        assert!(ran.stderr.contains("Paper diary") && ran.stderr.contains("--yes"), "{}", ran.stderr);
    }
    assert_eq!(provider.seen("").len(), asked, "nobody was asked");
    assert_eq!(env.run(&["mcp", "call", "schema"]).code, Some(0));
}

/// While its provider is away, a grant cannot be ended there. Its token is needed to end it later, so it is kept.
#[test]
fn a_grant_whose_provider_is_away_is_kept_to_be_ended() {
    for more in [&["--yes"][..], &["--all", "--yes"]] {
        let (env, provider) = connected(Switches::default());
        drop(provider);
        let ran = env.run(&[&["disconnect", "--json"], more].concat());
        let report = json_of(&ran);
        assert_eq!((ran.code, &report["error"]["code"]), (Some(1), &json!("not_ended_yet")), "{report}");
        let ended = &report["disconnected"][0];
        assert_eq!((&ended["deleted_here"], &ended["kept_to_end"]), (&json!(false), &json!(true)));
        assert_eq!(ended["code"], "provider_unreachable");
        let ran = env.run(&["status"]);
        assert!(ran.code == Some(78) && ran.stdout.contains("not ended at its provider yet"), "{ran:?}");
        assert_eq!(env.run(&["mcp", "call", "schema"]).code, Some(78), "no agent reads with it");
        // It is given up if the owner asks for that.
        let ran = env.run(&["disconnect", "--forget", "--yes"]);
        assert!(ran.code == Some(1) && ran.stderr.contains("code: not_ended_at_provider"), "{ran:?}");
        assert_eq!(Cache::open(&env.cache_dir()).unwrap().ending().unwrap(), []);
    }
    // A provider that answers again: the owner need not repeat the command.
    let (env, provider) = connected(Switches {
        server: |metadata, urls| metadata["revocation_endpoint"] = json!(format!("{}/revoke", urls.issuer)),
        instead: Some(("/revoke", Instead::ServerError)),
        ..Switches::default()
    });
    assert_eq!(env.run(&["disconnect", "--yes"]).code, Some(1));
    provider.switch(|switches| switches.instead = Some(("/revoke", Instead::OtherJson)));
    let ran = env.run(&["disconnect"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("its tokens are revoked at the provider"), "{ran:?}");
    // An expired grant has nothing left to end.
    let (env, provider) = connected(Switches {
        token: |token, _| token["grant"]["expires_at"] = json!(jiff::Timestamp::now()),
        ..Switches::default()
    });
    drop(provider);
    let ran = env.run(&["disconnect", "--yes"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("had already ended at the provider"), "{ran:?}");
}

#[test]
fn a_grant_that_its_provider_cannot_end_is_a_failure_though_it_is_deleted_here() {
    // The fake provider has no way to end a grant.
    let (env, provider) = connected(Switches::default());
    let ran = env.run(&["disconnect", "--yes"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("code: not_ended_at_provider"), "{ran:?}");
    assert!(ran.stderr.contains(provider.url()), "{ran:?}");
    for part in ["deleted here, but not ended at the provider", "2099-01-02", "code: revocation_unsupported"]
    {
        assert!(ran.stdout.contains(part), "{part} in {}", ran.stdout);
    }
    assert_eq!(Cache::open(&env.cache_dir()).unwrap().credentials().unwrap(), []);
}

#[test]
fn disconnect_revokes_tokens_where_the_provider_offers_that() {
    let (env, provider) = connected(Switches {
        server: |metadata, urls| metadata["revocation_endpoint"] = json!(format!("{}/revoke", urls.issuer)),
        instead: Some(("/revoke", Instead::OtherJson)),
        token: with_refresh,
        ..Switches::default()
    });
    let ran = env.run(&["disconnect", "--yes"]);
    assert!(ran.stdout.contains("its tokens are revoked at the provider, and deleted here"), "{ran:?}");
    let sent =
        |token: &str, hint: &str| json!({"token": token, "token_type_hint": hint, "client_id": "cli_1"});
    let bodies: Vec<_> = provider.seen("/revoke").into_iter().map(|seen| seen.body).collect();
    // The refresh token first, because it could get another access token.
    assert_eq!(bodies, [sent(REFRESH, "refresh_token"), sent(TOKEN, "access_token")]);
}

#[test]
fn disconnect_sends_no_token_to_another_authorization_server() {
    let (env, provider) = connected(Switches::default());
    let other = Provider::start(Switches::default());
    // The provider's metadata names another one now.
    let path = env.cache_dir().join("index.json");
    let index = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, index.replace(&provider.urls().issuer, &other.urls().issuer)).unwrap();
    let ran = env.run(&["disconnect", "--yes", "--json"]);
    let ended = &json_of(&ran)["disconnected"][0];
    // The token itself names its owner.
    assert_eq!((&ended["ended_at_provider"], &ended["code"]), (&json!("no"), &json!("secret_foreign")));
    let seen = [provider.seen("/revoke"), other.seen("")].concat();
    assert!(seen.is_empty(), "{seen:?}");
}

#[test]
fn several_grants_are_listed_rather_than_guessed() {
    let (env, provider) = connected(Switches::default());
    provider.switch(|switches| switches.grant_id = "grt_made_up_2");
    connect(&env, provider.url());
    for arguments in [&["disconnect"][..], &["disconnect", provider.url()], &["disconnect", "--yes"]] {
        let ran = env.run(arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("code: several_credentials"), "{ran:?}");
        for grant in ["grt_made_up_1", "grt_made_up_2"] {
            let command = format!("\n  pdpp disconnect {} --grant {grant}   (Paper diary", provider.url());
            assert!(ran.stderr.contains(&command), "{command:?} is not in {ran:?}");
        }
    }
    env.run(&["disconnect", "grt_made_up_2", "--yes"]);
    let left = json_of(&env.run(&["status", "--json"]))["credentials"].clone();
    assert_eq!((left.as_array().unwrap().len(), &left[0]["grant_id"]), (1, &json!("grt_made_up_1")));
}

#[test]
fn doctor_finds_what_stops_a_person() {
    let env = TestEnv::new();
    let ran = env.run(&["doctor"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("STOP  grant") && ran.stdout.contains("pdpp connect <provider-url>"));
    assert!(ran.stdout.lines().count() <= 24, "one screen: {}", ran.stdout);

    let (env, provider) = connected(Switches::default());
    let level = |ran: &Ran, name: &str| {
        let report = json_of(ran);
        let found = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).cloned();
        found.unwrap_or_else(|| panic!("no {name} in {report}"))
    };
    let ran = env.run(&["doctor", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(json_of(&ran)["ok"], true);
    for name in ["cache", "environment", "clock", "provider", "grant", "access log"] {
        assert_eq!(level(&ran, name)["level"], "ok", "{name}");
    }
    // The test's PATH does not have it.
    assert_eq!(level(&ran, "program")["level"], "warn");

    let ran = Ran::from(env.pdpp(&["doctor", "--json"]).env("PDPP_OWNER_TOKEN", "canary").output().unwrap());
    let found = level(&ran, "environment");
    assert_eq!((ran.code, &found["code"]), (Some(1), &json!("owner_credential_in_environment")));
    assert!(!ran.stdout.contains("canary") && !ran.stderr.contains("canary"));

    provider.switch(|switches| switches.instead = Some(("/v1/schema?view=compact", Instead::Unauthorized)));
    let found = level(&env.run(&["doctor", "--json"]), "grant");
    assert_eq!((&found["level"], &found["code"]), (&json!("stop"), &json!("token_rejected")));
    drop(provider);
    let ran = env.run(&["doctor", "--json"]);
    let found = level(&ran, "provider");
    assert_eq!((&found["level"], &found["code"]), (&json!("stop"), &json!("provider_unreachable")));
    let found = level(&ran, "grant");
    assert_eq!((&found["level"], &found["next"]), (&json!("warn"), &json!(null)), "told once: {found}");
    assert!(found["message"].as_str().unwrap().contains("not tried"), "{found}");
    std::fs::write(env.cache_dir().join("index.json"), "{").unwrap();
    let found = level(&env.run(&["doctor", "--json"]), "cache");
    assert_eq!(found["code"], "cache_damaged");
    assert!(found["next"].is_string());
}

#[test]
fn what_agents_read_is_noted_without_what_it_says() {
    let (env, provider) = connected(Switches::default());
    let calls = [("schema", json!({})), ("search", json!({"q": "canary-question"}))];
    serve(&env, &[], &calls);
    let ran = env.run(&["log", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let report = json_of(&ran);
    let entries = report["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2, "{report}");
    let first = &entries[0];
    assert_eq!(first["host"], json!({"name": "Made-up\\u{1b}[31m host", "version": "7"}));
    assert_eq!(first["grants"], json!([{"provider": provider.url(), "grant_id": "grt_made_up_1"}]));
    assert_eq!(
        (&first["tool"], &first["outcome"], &first["rows"]),
        (&json!("schema"), &json!("ok"), &json!(0))
    );
    assert!(first["bytes"].as_u64().unwrap() > 100, "{first}");
    assert_eq!(entries[1]["tool"], "search");
    assert_ne!(entries[1]["outcome"], "ok");
    let raw = std::fs::read_to_string(env.cache_dir().join("access.jsonl")).unwrap();
    assert!(!raw.contains("canary") && !raw.contains("Paper diary"), "{raw}");

    let table = env.run(&["log", "--since", "1h"]).stdout;
    assert!(
        table.contains("schema") && table.contains(provider.url()) && !table.contains('\u{1b}'),
        "{table}"
    );
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    let none = env.run(&["log", "--since", "2099-01-01"]).stdout;
    assert!(none.starts_with("No calls since 2099-01-01 00:00 UTC. The access log has 2 calls, "), "{none}");
    let none = json_of(&env.run(&["log", "--since", "2099-01-01", "--json"]));
    assert_eq!((&none["entries"], &none["kept"]["calls"]), (&json!([]), &json!(2)), "{none}");
    assert_eq!(none["kept"]["last"], entries[1]["time"]);
    assert_eq!(env.run(&["log", "--since", "soon"]).code, Some(2));

    // Off for one server, and off until it is turned on again.
    serve(&env, &["--no-access-log"], &calls);
    assert_eq!(env.run(&["log", "--off"]).stdout, "The access log is off.\n");
    serve(&env, &[], &calls);
    assert_eq!(json_of(&env.run(&["log", "--json"]))["entries"].as_array().unwrap().len(), 2);
    env.run(&["log", "--on"]);
    serve(&env, &[], &calls);
    assert_eq!(json_of(&env.run(&["log", "--json"]))["entries"].as_array().unwrap().len(), 4);
}

#[test]
fn a_call_of_an_unknown_tool_is_noted_too() {
    let (env, _provider) = connected(Switches::default());
    let (answers, _) = serve(&env, &[], &[("delete_all", json!({"q": "canary"})), ("of Bob's\n", json!({}))]);
    assert!(answers[1]["error"].is_object(), "{}", answers[1]);
    let report = json_of(&env.run(&["log", "--json"]));
    let noted = |at: usize| (&report["entries"][at]["tool"], &report["entries"][at]["outcome"]);
    assert_eq!(noted(0), (&json!("delete_all"), &json!("unknown_tool")));
    assert_eq!(noted(1), (&json!("(not a tool name)"), &json!("unknown_tool")), "it may be anything");
    assert!(report["entries"][0]["host"].is_object() && !report.to_string().contains("canary"), "{report}");
}

#[test]
fn the_end_of_the_only_grant_is_reported_once_while_it_is_served() {
    use pdpp::cache::credential::{Credential, Secrets};
    use pdpp::secret::AccessToken;
    let env = TestEnv::new();
    let cache = Cache::open(&env.cache_dir()).unwrap();
    let end = jiff::Timestamp::now() + std::time::Duration::from_secs(20);
    let kept = crate::support::credential::credential("http://127.0.0.1:9", "g1", "Diary");
    let kept = Credential { grant_expires_at: Some(end), ..kept };
    let secrets = Secrets::new(AccessToken::new("token".to_owned()).unwrap(), None);
    cache.store(kept, &secrets, None).unwrap();
    let mut child = env
        .pdpp(&["mcp", "serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |method: &str, params: Value| {
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            .unwrap();
        lines.next().unwrap().unwrap()
    };
    let info = json!({"name": "host", "version": "1"});
    ask("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}));
    // The test moves its end forward instead of waiting for it.
    let path = env.cache_dir().join("index.json");
    let mut index: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    index["credentials"][0]["grant_expires_at"] = json!("2026-01-01T00:00:00Z");
    std::fs::write(&path, index.to_string()).unwrap();
    for _ in 0..3 {
        let answer = ask("tools/call", json!({"name": "schema", "arguments": {}}));
        assert!(answer.contains("\"isError\":true"), "{answer}");
    }
    drop(input);
    let stderr = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    assert_eq!(stderr.matches("every grant that is served has ended").count(), 1, "{stderr}");
    assert!(!stderr.contains("could not be read again"), "{stderr}");
}

#[test]
fn a_log_that_cannot_be_written_keeps_no_call_from_its_answer() {
    let (env, _provider) = connected(Switches::default());
    std::fs::create_dir(env.cache_dir().join("access.jsonl")).unwrap();
    let (answers, stderr) = serve(&env, &[], &[("schema", json!({}))]);
    assert!(answers[1]["result"]["isError"].is_null(), "{}", answers[1]);
    assert!(stderr.contains("could not write the access log"), "{stderr}");
}

#[test]
fn schema_and_status_warn_of_an_end_within_seven_days() {
    let (env, provider) = connected(Switches {
        token: |token, _| {
            let end = jiff::Timestamp::now() + std::time::Duration::from_hours(3 * 24 + 1);
            token["grant"]["expires_at"] = json!(end);
        },
        ..Switches::default()
    });
    let command = format!("pdpp connect {} --renew", provider.url());
    let full = json!({"stream": "entries"});
    let (answers, _) = serve(&env, &[], &[("schema", json!({})), ("schema", full)]);
    for answer in &answers[1..] {
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let structured = &answer["result"]["structuredContent"]["data"]["meta"]["warnings"][0];
        assert!(text.contains("this grant ends") && text.contains(&command), "{text}");
        assert_eq!(structured["code"], "grant_ends_soon");
        assert!(structured["message"].as_str().unwrap().contains("(in 3 days)"), "{structured}");
    }
    let status = env.run(&["status"]).stdout;
    assert!(status.contains("(in 3 days)") && status.contains(&command), "{status}");
    let ran = env.run(&["doctor"]);
    assert_eq!(ran.code, Some(0), "an end is a warning: {ran:?}");
    assert!(ran.stdout.contains("warn  grant") && ran.stdout.contains(&command), "{}", ran.stdout);
    assert!(ran.stdout.contains(" UTC (in 3 days)"), "{}", ran.stdout);
}

#[test]
fn no_secret_is_in_anything_that_these_commands_write() {
    let (env, provider) = connected(Switches { token: with_refresh, ..Switches::default() });
    let mut written = String::new();
    let mut run = |arguments: &[&str]| {
        let ran = env.run(&[&["--log-level", "info"], arguments].concat());
        written.push_str(&ran.stdout);
        written.push_str(&ran.stderr);
    };
    run(&["status"]);
    run(&["status", "--check"]);
    run(&["doctor", "--json"]);
    provider.switch(|switches| switches.instead = Some(("/v1/schema?view=compact", Instead::Unauthorized)));
    run(&["status", "--check", "--json"]);
    run(&["doctor"]);
    let (_, log) = serve(&env, &["--log-level", "info"], &[("schema", json!({}))]);
    run(&["log"]);
    run(&["log", "--json"]);
    for (place, text) in files_outside_secrets(&env) {
        assert!(!text.contains(TOKEN) && !text.contains(REFRESH), "{place}");
    }
    run(&["disconnect", "--yes", "--json"]);
    written.push_str(&log);
    assert!(
        written.contains("grt_made_up_1") && !written.contains(TOKEN) && !written.contains(REFRESH),
        "{written}"
    );
    let revoked = provider.seen("/grants/grt_made_up_1/revoke");
    assert_eq!(revoked[0].authorization.as_deref(), Some(format!("Bearer {TOKEN}").as_str()), "it was used");
    assert_eq!(env.files().iter().filter(|file| file.contains("/secrets/")).count(), 0);
}

fn files_outside_secrets(env: &TestEnv) -> Vec<(String, String)> {
    let files = env.files().into_iter().filter(|file| !file.contains("/secrets/"));
    files
        .map(|file| {
            let text = std::fs::read(env.home().join(&file)).unwrap();
            (file, String::from_utf8_lossy(&text).into_owned())
        })
        .collect()
}

#[test]
fn a_wrong_command_line_has_a_code_too() {
    let env = TestEnv::new();
    let ran = env.run(&["status", "--nonsense"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("--nonsense") && ran.stderr.ends_with("  code: usage_error\n"), "{ran:?}");
    let ran = env.run(&["status", "--json", "--nonsense"]);
    let error = &json_of(&ran)["error"];
    assert_eq!((ran.code, &error["code"], ran.stderr.as_str()), (Some(2), &json!("usage_error"), ""));
    assert!(error["next"].as_str().unwrap().starts_with("pdpp status"), "{error}");
    let ran = env.run(&["status", "--help"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}
