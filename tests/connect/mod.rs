//! `pdpp connect` through the real binary, against a fake provider (R8.1, R1.1, R8.4).

mod demo;
pub mod flows;
pub mod hostile;
pub mod obstacles;
pub mod provider;
pub mod renewal;

use std::io::Read as _;
use std::time::Duration;

use pdpp::cache::Cache;
use pdpp::cache::credential::Credential;
use serde_json::{Value, json};

use crate::support::env::{Ran, TestEnv};
use provider::{EVIL, Instead, POLLING_CODE, Poll, Provider, REFRESH, Switches, TOKEN, Urls};

fn connect(env: &TestEnv, provider: &Provider, more: &[&str]) -> Ran {
    let mut arguments = vec!["connect", provider.url(), "--no-browser"];
    arguments.extend_from_slice(more);
    let ran = env.run(&arguments);
    no_secret_in(&ran);
    ran
}

fn no_secret_in(ran: &Ran) {
    for secret in [TOKEN, REFRESH, POLLING_CODE] {
        assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{secret} in {ran:?}");
    }
}

fn credentials(env: &TestEnv) -> Vec<Credential> {
    Cache::open(&env.cache_dir()).unwrap().credentials().unwrap()
}

fn bearer(env: &TestEnv, credential: &Credential) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let cache = Cache::open(&env.cache_dir()).unwrap();
    runtime.block_on(cache.bearer(credential)).unwrap().expose_bearer().to_owned()
}

/// What every failure promises: its exit code and error code, in both forms; a next step; nothing stored.
fn fails(switches: &Switches, more: &[&str], exit: i32, code: &str) -> String {
    // Both at once, because most of the time is spent waiting for a poll.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let env = TestEnv::new();
            let provider = Provider::start(switches.clone());
            let ran = connect(&env, &provider, &[more, &["--json"]].concat());
            assert_eq!(ran.code, Some(exit), "{ran:?}");
            assert_eq!(ran.stdout.lines().count(), 1);
            let report: Value = serde_json::from_str(&ran.stdout).unwrap();
            assert_eq!(report["error"]["code"], code, "{ran:?}");
            assert_eq!(report["error"]["exit_code"].to_string(), exit.to_string());
            assert_eq!(env.files(), [""; 0], "nothing is stored");
        });
        let env = TestEnv::new();
        let provider = Provider::start(switches.clone());
        let ran = connect(&env, &provider, more);
        check_failure(&env, &ran, exit, code);
        ran.stderr
    })
}

/// [`fails`] for several cases at once.
fn all_fail(cases: &[(Switches, i32, &str)]) {
    std::thread::scope(|scope| {
        for (switches, exit, code) in cases {
            scope.spawn(move || fails(switches, &[], *exit, code));
        }
    });
}

fn check_failure(env: &TestEnv, ran: &Ran, exit: i32, code: &str) {
    assert_eq!(ran.code, Some(exit), "{ran:?}");
    assert!(ran.stderr.contains(&format!("\n  code: {code}\n")), "{code} in {}", ran.stderr);
    assert!(ran.stderr.contains("\n  next: "), "a next step in {}", ran.stderr);
    assert_eq!(ran.stdout, "");
    assert_eq!(env.files(), [""; 0], "nothing is stored");
    no_secret_in(ran);
}

#[test]
fn r8_1_native_agent_connect_ends_with_a_proven_token_in_the_cache() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches { path: "/me", ..Switches::default() });
    let ran = connect(&env, &provider, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        &format!("Connected to {}.", provider.url()),
        "until 2099-01-02 03:04 UTC",
        "Paper diary (diary): 2 streams: entries, moods",
        "pdpp mcp setup",
        "pdpp mcp inspect",
        "pdpp mcp serve",
    ] {
        assert!(ran.stdout.contains(part), "{part} in {}", ran.stdout);
    }
    // The address of a page of this computer is printed apart from the result; the provider's own address is a
    // capability.
    assert!(
        ran.stderr.contains("\n  http://127.0.0.1:") && ran.stderr.contains("Made-up Diaries"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stdout.contains("request_uri") && !ran.stderr.contains("request_uri"), "{ran:?}");

    let registered = &provider.seen("/register")[0].body;
    assert_eq!(*registered, json!({"client_name": "PDPP CLI", "token_endpoint_auth_method": "none"}));
    let asked = &provider.seen("/agent-connect")[0].body;
    assert_eq!(
        *asked,
        json!({"resource": provider.url(), "scope": "pdpp:read", "client_name": "PDPP CLI", "client_id": "cli_1"})
    );
    let reads: Vec<_> = provider.seen("/schema?view=compact");
    assert_eq!(reads.len(), 1, "proven by one read");
    assert_eq!(reads[0].path, "/me/v1/schema?view=compact");
    let bearers = provider.seen("").into_iter().filter(|seen| seen.authorization.is_some()).count();
    assert_eq!(bearers, 1, "the token went to that read and nowhere else");

    let kept = credentials(&env);
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].provider.as_str(), provider.url());
    assert_eq!(kept[0].grant_id.as_str(), "grt_made_up_1");
    assert_eq!(kept[0].label, "Paper diary");
    assert_eq!(bearer(&env, &kept[0]), TOKEN);
}

#[test]
fn json_is_one_object_on_stdout() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches { token: provider::with_refresh, ..Switches::default() });
    let ran = connect(&env, &provider, &["--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 1);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["provider"], provider.url());
    assert_eq!(report["sources"][0]["streams"], json!(["entries", "moods"]));
    assert_eq!(report["store"], "file");
    assert!(ran.stderr.contains("It asks for this code"), "the way in is still on stderr: {}", ran.stderr);
    assert!(credentials(&env)[0].refreshable);
}

#[test]
fn a_provider_of_several_sources_is_asked_by_a_pushed_request() {
    let switches = Switches { par_only: true, ..Switches::default() };
    let stderr = fails(&switches, &[], 2, "source_required");
    assert!(stderr.contains("--source <URI>") && stderr.contains("--instance <ID>"), "{stderr}");

    let env = TestEnv::new();
    let provider = Provider::start(switches);
    let source = "https://registry.example/diary";
    let ran = connect(&env, &provider, &["--source", source, "--instance", "i1", "--instance", "i2"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let pushed = &provider.seen("/par")[0].body;
    assert_eq!(pushed["client_id"], "cli_1");
    assert_eq!(pushed["client_display"], json!({"name": "PDPP CLI"}));
    let details = &pushed["authorization_details"][0];
    assert_eq!(details["type"], "https://pdpp.dev/data-access");
    assert_eq!(details["source"], json!({"kind": "connector", "id": source}));
    assert_eq!(details["access_mode"], "continuous");
    assert_eq!(details["streams"], json!([{"name": "*", "instance_ids": ["i1", "i2"]}]));
    assert!(details["purpose_description"].as_str().unwrap().contains("AI agent"));
    assert_eq!(provider.seen("/agent-connect")[0].body["request_uri"], "urn:made-up:1");
    assert_eq!(credentials(&env).len(), 1);
}

#[test]
fn r1_1_an_owner_token_is_refused_whoever_says_so() {
    let in_answer =
        Switches { token: |token, _| token["pdpp_token_kind"] = json!("owner"), ..Switches::default() };
    fails(&in_answer, &[], 77, "owner_token_refused");
    let in_schema = Switches {
        schema: |schema, _| schema["bearer"]["token_kind"] = json!("owner"),
        ..Switches::default()
    };
    fails(&in_schema, &[], 77, "owner_token_refused");
}

#[test]
fn r1_1_other_kinds_are_refused_typed() {
    let package = Switches {
        token: |token, _| {
            token["grant_package_id"] = json!("pkg_1");
            token["grant_id"] = Value::Null;
        },
        ..Switches::default()
    };
    let stderr = fails(&package, &[], 77, "package_token_unsupported");
    assert!(stderr.contains("--source"), "{stderr}");
    let unheard_of =
        Switches { token: |token, _| token["token_kind"] = json!("root"), ..Switches::default() };
    fails(&unheard_of, &[], 77, "token_kind_unknown");
    let silent = Switches {
        token: |token, _| {
            token.as_object_mut().unwrap().remove("grant_id");
            token["grant"] = Value::Null;
        },
        schema: |schema, _| schema["bearer"] = Value::Null,
        ..Switches::default()
    };
    fails(&silent, &[], 77, "token_kind_unknown");
    let another = Switches {
        schema: |schema, _| schema["bearer"]["grant_id"] = json!("grt_of_someone_else"),
        ..Switches::default()
    };
    fails(&another, &[], 77, "grant_mismatch");
}

#[test]
fn a_core_only_provider_is_proven_by_its_streams() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches { core_only: true, ..Switches::default() });
    let ran = connect(&env, &provider, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("Core diary: 1 stream: entries"), "{}", ran.stdout);
    assert_eq!(credentials(&env)[0].sources[0].id.as_deref(), Some("https://registry.example/diary"));
}

#[test]
fn a_grant_without_streams_is_reported() {
    let env = TestEnv::new();
    let switches = Switches { schema: |schema, _| schema["connectors"] = json!([]), ..Switches::default() };
    let ran = connect(&env, &Provider::start(switches), &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("the grant has no streams"), "{}", ran.stdout);
}

#[test]
fn a_token_that_does_not_read_is_not_kept() {
    let of = |instead| Switches { instead: Some(("/schema?view=compact", instead)), ..Switches::default() };
    all_fail(&[
        (of(Instead::Unauthorized), 77, "token_rejected"),
        (of(Instead::Html), 69, "token_proof_malformed"),
        (of(Instead::OtherJson), 69, "token_proof_malformed"),
        (of(Instead::Redirect), 69, "provider_redirected"),
        (of(Instead::Close), 69, "provider_answer_broken"),
    ]);
}

/// Its revocation would go to another path of the authorization server.
#[test]
fn a_grant_whose_id_leads_elsewhere_is_not_kept() {
    for grant_id in ["..", ".", "../../clients/1", "a\\..\\b"] {
        let env = TestEnv::new();
        let provider = Provider::start(Switches { grant_id, ..Switches::default() });
        let ran = connect(&env, &provider, &[]);
        check_failure(&env, &ran, 69, "grant_id_missing");
        env.run(&["disconnect", provider.url(), "--yes"]);
        assert!(provider.seen("/revoke").is_empty(), "{grant_id}");
    }
}

/// Nobody else could end it from here.
#[test]
fn a_grant_that_is_not_kept_is_ended_at_its_provider() {
    let env = TestEnv::new();
    let switches = Switches {
        server: |metadata, urls| metadata["revocation_endpoint"] = json!(format!("{}/revoke", urls.issuer)),
        schema: |schema, _| schema["bearer"]["grant_id"] = json!("grt_of_someone_else"),
        instead: Some(("/revoke", Instead::OtherJson)),
        ..Switches::default()
    };
    let provider = Provider::start(switches);
    let ran = connect(&env, &provider, &[]);
    assert_eq!(ran.code, Some(77), "{ran:?}");
    assert!(ran.stderr.contains("then ended the approved grant at the provider"), "{}", ran.stderr);
    assert_eq!(provider.seen("/revoke")[0].body["token"], TOKEN);
    // If it cannot be ended, the command reports that.
    let instead = Some(("/schema?view=compact", Instead::Unauthorized));
    let provider = Provider::start(Switches { instead, ..Switches::default() });
    let ran = connect(&env, &provider, &[]);
    assert!(ran.stderr.contains("is still valid at the provider"), "{}", ran.stderr);
    assert_eq!(provider.seen("/grants/grt_made_up_1/revoke").len(), 1);
    // An owner's token is sent nowhere.
    let token: fn(&mut Value, &Urls) = |token, _| token["pdpp_token_kind"] = json!("owner");
    let provider = Provider::start(Switches { token, ..Switches::default() });
    let ran = connect(&env, &provider, &[]);
    assert!(ran.stderr.contains("owner_token_refused"), "{}", ran.stderr);
    assert!(provider.seen("/grants/grt_made_up_1/revoke").is_empty());
}

#[test]
fn the_owner_can_say_no_or_nothing() {
    let polls = |polls: &[Poll]| Switches { polls: polls.to_vec(), ..Switches::default() };
    let endless = Switches {
        polls: vec![Poll::Pending],
        attempt: |attempt, _| attempt["expires_in"] = json!(2),
        ..Switches::default()
    };
    all_fail(&[
        (polls(&[Poll::Pending, Poll::Denied]), 77, "access_denied"),
        (polls(&[Poll::Expired]), 77, "expired_token"),
        (polls(&[Poll::Unknown]), 77, "invalid_grant"),
        (endless, 77, "expired_token"),
    ]);
}

#[test]
fn a_poll_that_breaks_off_is_repeated() {
    let env = TestEnv::new();
    let provider =
        Provider::start(Switches { polls: vec![Poll::Broken, Poll::Approved], ..Switches::default() });
    let ran = connect(&env, &provider, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(provider.seen("/agc_1/token").len(), 2);
    let deaf = Switches {
        polls: vec![Poll::Broken],
        attempt: |attempt, _| attempt["expires_in"] = json!(2),
        ..Switches::default()
    };
    let stderr = fails(&deaf, &[], 77, "expired_token");
    assert!(stderr.contains("as far as pdpp knows"), "{stderr}");
}

#[test]
fn polls_keep_the_pace_that_was_asked_for() {
    let gaps = |switches: Switches| {
        let env = TestEnv::new();
        let provider = Provider::start(switches);
        assert_eq!(connect(&env, &provider, &[]).code, Some(0));
        let mut at: Vec<_> = provider.seen("/agent-connect").iter().map(|seen| seen.at).collect();
        at.extend(provider.seen("/agc_1/token").iter().map(|seen| seen.at));
        at.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let zero = scope.spawn(|| {
            gaps(Switches { attempt: |attempt, _| attempt["interval"] = json!(0), ..Switches::default() })
        });
        let slower = gaps(Switches { polls: vec![Poll::SlowDown, Poll::Approved], ..Switches::default() });
        assert!(slower[0] >= Duration::from_millis(900) && slower[0] < Duration::from_secs(5), "{slower:?}");
        assert!(slower[1] >= Duration::from_millis(5_900), "slow_down adds 5 s: {slower:?}");
        let zero = zero.join().unwrap();
        assert!(zero[0] >= Duration::from_millis(4_900), "an interval of 0 is none: {zero:?}");
    });
}

#[test]
fn a_forgotten_client_id_is_registered_again_once() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    assert_eq!(connect(&env, &provider, &[]).code, Some(0));
    // The same client id is used again while the provider knows it.
    assert_eq!(connect(&env, &provider, &[]).code, Some(0));
    assert_eq!(provider.seen("/register").len(), 1);
    // After a restart of the provider, our id differs from the one that it will issue.
    provider.seen("");
    let index = env.cache_dir().join("index.json");
    let edited = std::fs::read_to_string(&index).unwrap().replace("cli_1", "cli_of_before");
    std::fs::write(&index, edited).unwrap();
    assert_eq!(connect(&env, &provider, &[]).code, Some(0));
    assert_eq!(provider.seen("/register").len(), 2);
    assert_eq!(credentials(&env)[0].client_id.as_deref(), Some("cli_2"));

    // A provider that knows no client at all is not asked forever.
    let before = std::fs::read_to_string(&index).unwrap();
    provider.switch(|switches| switches.knows_clients = false);
    let ran = connect(&env, &provider, &[]);
    assert_eq!(ran.code, Some(77), "{ran:?}");
    assert!(ran.stderr.contains("code: invalid_client"), "{}", ran.stderr);
    assert_eq!(provider.seen("/register").len(), 3);
    assert_eq!(std::fs::read_to_string(&index).unwrap(), before, "what was there stays");
}

#[test]
fn registration_takes_what_is_offered() {
    let pre_registered = Switches {
        server: |server, _| {
            server.as_object_mut().unwrap().remove("registration_endpoint");
            server["pdpp_pre_registered_public_clients"] = json!([{"client_id": "pdpp_cli"}]);
        },
        ..Switches::default()
    };
    let provider = Provider::start(pre_registered.clone());
    // The fake server does not know it; only the client matters.
    let ran = connect(&TestEnv::new(), &provider, &[]);
    assert_eq!(ran.code, Some(77), "{ran:?}");
    assert_eq!(provider.seen("/agent-connect")[0].body["client_id"], "pdpp_cli");

    let none: provider::Edit = |server, _| {
        server.as_object_mut().unwrap().remove("registration_endpoint");
    };
    let source = ["--source", "https://registry.example/diary"];
    let none = Switches { server: none, ..Switches::default() };
    fails(&none, &source, 69, "registration_unsupported");
    let refused = Switches { instead: Some(("/register", Instead::Unauthorized)), ..Switches::default() };
    fails(&refused, &[], 77, "registration_failed");
}

#[test]
fn each_check_of_discovery_has_its_own_message() {
    let resource = |edit: provider::Edit| Switches { resource: edit, ..Switches::default() };
    let server = |edit: provider::Edit| Switches { server: edit, ..Switches::default() };
    let cases: &[(Switches, &str, &str)] = &[
        (
            resource(|resource, _| resource["resource"] = json!("https://evil.example")),
            "resource_mismatch",
            "about another resource: https://evil.example",
        ),
        (
            resource(|resource, urls| resource["resource"] = json!(format!("{}/other", urls.provider))),
            "resource_mismatch",
            "pdpp connect http://127.0.0.1:",
        ),
        (
            resource(|resource, urls| {
                resource["pdpp_core_query_base"] = json!(format!("{}/v1", urls.issuer));
            }),
            "query_base_foreign",
            "not its own address",
        ),
        (
            resource(|resource, _| resource["authorization_servers"] = json!(["http://as.example"])),
            "authorization_server_insecure",
            "not an https address",
        ),
        (
            resource(|resource, _| resource["authorization_servers"] = json!([])),
            "not_a_pdpp_provider",
            "does not name an authorization server",
        ),
        (
            server(|server, _| server["issuer"] = json!("https://evil.example")),
            "issuer_mismatch",
            "calls itself https://evil.example",
        ),
        (
            server(|server, _| server["token_endpoint"] = json!("https://evil.example/token")),
            "endpoint_foreign",
            "https://evil.example/token as its token_endpoint",
        ),
        (
            server(|server, _| {
                server.as_object_mut().unwrap().remove("agent_connect_endpoint");
            }),
            "no_way_to_a_grant",
            "none of the flows",
        ),
    ];
    for (switches, code, part) in cases {
        let stderr = fails(switches, &[], 69, code);
        assert!(stderr.contains(part), "{part} in {stderr}");
    }
}

#[test]
fn urls_of_an_attempt_are_checked_like_endpoints() {
    for edit in [
        (|attempt: &mut Value, _: &Urls| attempt["approval_url"] = json!("https://evil.example/x"))
            as provider::Edit,
        |attempt, _| attempt["approval_url"] = json!("javascript:alert(1)"),
        |attempt, _| attempt["poll_url"] = json!("https://evil.example/x"),
        |attempt, urls| attempt["poll_url"] = json!(format!("{}/x", urls.provider)),
    ] {
        let stderr = fails(&Switches { attempt: edit, ..Switches::default() }, &[], 69, "endpoint_foreign");
        assert!(stderr.contains("not on its own origin"), "{stderr}");
    }
}

#[test]
fn what_is_not_a_provider_is_told_apart() {
    const RS: &str = "/.well-known/oauth-protected-resource";
    const AS: &str = "/.well-known/oauth-authorization-server";
    let cases = [
        (RS, Instead::NotFound, "no_provider_here"),
        (RS, Instead::Html, "provider_metadata_not_json"),
        (RS, Instead::OtherJson, "not_a_pdpp_provider"),
        (RS, Instead::ServerError, "provider_metadata_failed"),
        (RS, Instead::Redirect, "provider_redirected"),
        (RS, Instead::Huge, "provider_answer_too_large"),
        (RS, Instead::Close, "provider_answer_broken"),
        (AS, Instead::NotFound, "no_authorization_server_here"),
        (AS, Instead::Html, "authorization_server_metadata_not_json"),
        (AS, Instead::OtherJson, "not_an_authorization_server"),
        (AS, Instead::Redirect, "provider_redirected"),
        ("/register", Instead::Redirect, "provider_redirected"),
        ("/agent-connect", Instead::Redirect, "provider_redirected"),
        ("/agent-connect", Instead::Html, "authorization_answer_malformed"),
        ("/agc_1/token", Instead::Redirect, "provider_redirected"),
        ("/agc_1/token", Instead::Html, "authorization_answer_malformed"),
    ];
    all_fail(&cases.map(|(path, instead, code)| {
        (Switches { instead: Some((path, instead)), ..Switches::default() }, 69, code)
    }));
}

#[test]
fn no_redirect_is_followed() {
    let env = TestEnv::new();
    let switches = Switches {
        instead: Some(("/.well-known/oauth-protected-resource", Instead::Redirect)),
        ..Switches::default()
    };
    let provider = Provider::start(switches);
    connect(&env, &provider, &[]);
    assert_eq!(provider.seen("").len(), 1, "{:?}", provider.seen(""));
}

#[test]
fn nobody_there_and_no_tls_are_told_apart() {
    let env = TestEnv::new();
    // A port that was free a moment ago.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ran = env.run(&["connect", &format!("http://{closed}")]);
    check_failure(&env, &ran, 69, "provider_unreachable");

    let provider = Provider::start(Switches::default());
    let ran = env.run(&["connect", &provider.url().replace("http://", "https://")]);
    check_failure(&env, &ran, 69, "provider_tls_failed");
}

#[test]
fn silence_ends() {
    let env = TestEnv::new();
    let silent = Switches {
        instead: Some(("/.well-known/oauth-protected-resource", Instead::Never)),
        ..Switches::default()
    };
    let ran = connect(&env, &Provider::start(silent), &[]);
    check_failure(&env, &ran, 69, "provider_timeout");
}

#[test]
fn a_wrong_url_is_a_usage_error() {
    let env = TestEnv::new();
    for (wrong, part) in [
        ("provider.example", "did you mean https://provider.example ?"),
        ("http://provider.example", "it must be https"),
        ("https://user:pw@provider.example", "leave that out"),
        ("not a url", "no scheme"),
    ] {
        let ran = env.run(&["connect", wrong]);
        check_failure(&env, &ran, 2, "provider_url_invalid");
        assert!(ran.stderr.contains(part), "{part} in {}", ran.stderr);
    }
    let ran = env.run(&["connect", "https://provider.example", "--source", "diary"]);
    check_failure(&env, &ran, 2, "source_invalid");
    let ran = env.run(&["connect", "https://provider.example", "--instance", "i1"]);
    assert_eq!(ran.code, Some(2), "an instance of what? {ran:?}");
}

#[test]
fn what_a_provider_writes_cannot_steer_the_terminal() {
    let env = TestEnv::new();
    let everywhere = Switches {
        resource: |resource, _| resource["resource_name"] = json!(EVIL),
        schema: |schema, _| {
            schema["connectors"][0]["connector_key"] = json!(EVIL);
            schema["connectors"][0]["granted_connections"][0]["display_name"] = json!(EVIL);
            schema["connectors"][0]["streams"][0]["name"] = json!(EVIL);
        },
        token: |token, _| token["grant"]["access_mode"] = json!(EVIL),
        ..Switches::default()
    };
    for more in [&[][..], &["--json"]] {
        let ran = connect(&env, &Provider::start(everywhere.clone()), more);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for text in [&ran.stdout, &ran.stderr] {
            assert!(pdpp::text::exposed(text).all(|(_, c)| c == '\n'), "{text:?}");
            assert!(!text.contains("\nerror: fake"), "{text}");
        }
    }
    let env = TestEnv::new();
    let in_error =
        Switches { resource: |resource, _| resource["resource"] = json!(EVIL), ..Switches::default() };
    let ran = connect(&env, &Provider::start(in_error), &[]);
    assert!(pdpp::text::exposed(&ran.stderr).all(|(_, c)| c == '\n'), "{:?}", ran.stderr);
    assert!(!ran.stderr.contains("\nerror: fake"), "{}", ran.stderr);
    let in_grant_id = Switches { token: |token, _| token["grant_id"] = json!(EVIL), ..Switches::default() };
    let env = TestEnv::new();
    assert_eq!(connect(&env, &Provider::start(in_grant_id), &[]).code, Some(0));
    assert_eq!(
        credentials(&env)[0].grant_id.as_str(),
        "grt_made_up_1",
        "it has no such id, as far as can be kept"
    );
}

#[test]
fn another_grant_stays_and_the_same_is_replaced() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    assert_eq!(connect(&env, &provider, &[]).code, Some(0));
    let again = connect(&env, &provider, &[]);
    assert!(again.stdout.contains("the grant has a new token"), "{}", again.stdout);
    assert_eq!(credentials(&env).len(), 1);
    provider.switch(|switches| switches.grant_id = "../../etc/passwd");
    assert!(
        connect(&env, &provider, &[]).stderr.contains("code: grant_id_missing"),
        "an id that leads elsewhere"
    );
    provider.switch(|switches| switches.grant_id = "/etc/passwd");
    let other = connect(&env, &provider, &[]);
    assert_eq!(other.code, Some(0), "{other:?}");
    assert!(other.stdout.contains("all grants on this computer together"), "{}", other.stdout);
    let kept = credentials(&env);
    assert_eq!(kept.len(), 2);
    let files = env.files();
    assert_eq!(files.len(), 4, "index, lock and two secrets, all in their place: {files:?}");
    assert!(files.iter().all(|file| env.home().join(file).starts_with(env.cache_dir())), "{files:?}");
}

#[test]
fn the_cache_goes_where_it_is_told() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let elsewhere = env.home().join("else where");
    let ran = connect(&env, &provider, &["--cache-dir", elsewhere.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for command in ["setup", "inspect", "serve"] {
        let named = pdpp::text::shell_word(elsewhere.to_str().unwrap());
        let next = format!("\n  pdpp --cache-dir {named} mcp {command}\n");
        assert!(ran.stdout.contains(&next), "{command}: {}", ran.stdout);
    }
    assert!(env.files().iter().all(|file| file.starts_with("else where/")), "{:?}", env.files());
}

#[test]
fn a_cache_that_cannot_be_used_is_known_before_the_owner_is_asked() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    std::fs::create_dir_all(env.cache_dir()).unwrap();
    std::fs::write(env.cache_dir().join("index.json"), r#"{"version": 99}"#).unwrap();
    let ran = connect(&env, &provider, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("version 99") && ran.stderr.contains("code: cache_too_new"),
        "{}",
        ran.stderr
    );
    assert!(provider.seen("").is_empty());
}

/// Every user of a machine can read every argument of every process. The page's address is a capability: it goes to
/// the browser in a private file, which is deleted once the browser has arrived.
#[cfg(unix)]
#[test]
fn o7_2_the_browser_gets_a_private_file_and_no_argument_says_more() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new();
    let provider = Provider::start(Switches {
        attempt: |attempt, urls| {
            attempt["approval_url"] = json!(format!("{}/consent?a=1&b=$(touch x);c=`id` --new", urls.issuer));
        },
        ..Switches::default()
    });
    let script = env.home().join("a browser");
    let log = env.home().join("log");
    let text = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" > {0}\nstat -c %a \"${{1#file://}}\" >> {0}\ncat \"${{1#file://}}\" >> {0}\n",
        log.display()
    );
    // A name with a space would be two words of BROWSER.
    let link = env.home().join("browser");
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(&script, &link).unwrap();
    let ran = Ran::from(env.pdpp(&["connect", provider.url()]).env("BROWSER", &link).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let got = std::fs::read_to_string(log).unwrap();
    let mut lines = got.lines();
    assert_eq!(lines.next(), Some("1"));
    let path = lines.next().unwrap().strip_prefix("file://").unwrap();
    assert_eq!(lines.next(), Some("600"));
    assert!(got.contains("action=\"http://127.0.0.1:") && !got.contains("/consent"), "{got}");
    assert!(!std::path::Path::new(path).parent().unwrap().exists(), "{path} is left");
    assert!(
        !ran.stderr.contains("/consent") && ran.stderr.contains("Your browser opens the page"),
        "{}",
        ran.stderr
    );
}

#[test]
fn without_a_browser_it_says_so_and_goes_on() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let mut command = env.pdpp(&["connect", provider.url()]);
    let ran = Ran::from(command.env("PATH", "/nonexistent").env_remove("BROWSER").output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("open that address yourself"), "{}", ran.stderr);
    let mut command = env.pdpp(&["connect", provider.url()]);
    let ran =
        Ran::from(command.env("PATH", "/nonexistent").env("BROWSER", "no-such-program").output().unwrap());
    assert!(
        ran.stderr.contains("Open this address in a browser here; its page asks for a code"),
        "{}",
        ran.stderr
    );
}

#[test]
fn ctrl_c_stops_with_130_and_stores_nothing() {
    for (flow, json) in [
        ("agent-connect", false),
        ("agent-connect", true),
        ("device-code", false),
        ("authorization-code", false),
    ] {
        let env = TestEnv::new();
        let server = provider::with_all;
        let provider =
            Provider::start(Switches { polls: vec![Poll::Pending], server, ..Switches::default() });
        let mut arguments = vec!["connect", provider.url(), "--no-browser", "--flow", flow];
        if json {
            arguments.push("--json");
        }
        let mut child = crate::support::env::stoppable(&mut env.pdpp(&arguments))
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // It prints that it waits for the owner.
        let mut lines = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut stderr = String::new();
        while !stderr.contains("Waiting for your approval") {
            assert!(std::io::BufRead::read_line(&mut lines, &mut stderr).unwrap() > 0, "{stderr}");
        }
        crate::support::env::interrupt(&child);
        let ended = child.wait().unwrap();
        let mut stdout = String::new();
        child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        lines.read_to_string(&mut stderr).unwrap();
        assert_eq!(ended.code(), Some(130), "{stdout} {stderr}");
        if json {
            assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["error"]["code"], "interrupted");
        } else {
            let ran = Ran { code: ended.code(), stdout, stderr };
            check_failure(&env, &ran, 130, "interrupted");
        }
        assert_eq!(env.files(), [""; 0]);
    }
}
