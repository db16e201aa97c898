//! A hostile provider in every flow: a clear error in bounded time and memory, and nothing controls the terminal.

use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::flows::{approving, by_code_at};
use super::provider::{self, EVIL, Edit, Instead, Poll, Provider, Switches};
use super::{credentials, no_secret_in};
use crate::support::env::{Ran, TestEnv};

/// A flow, and the paths that it requests after the metadata.
struct Flow {
    name: &'static str,
    arguments: &'static [&'static str],
    paths: &'static [&'static str],
    /// The path that is polled: a lost answer is requested again, until the end.
    polled: Option<&'static str>,
}

const SOURCE: [&str; 4] = ["--source", "https://registry.example/diary", "--wait", "3"];

const FLOWS: [Flow; 4] = [
    Flow {
        name: "agent-connect",
        arguments: &["--flow", "agent-connect", "--wait", "3"],
        paths: &["/register", "/agent-connect", "/agc_1/token", "/schema?view=compact"],
        polled: Some("/agc_1/token"),
    },
    Flow {
        name: "par",
        arguments: &SOURCE,
        paths: &["/register", "/par", "/agent-connect", "/agc_1/token", "/schema?view=compact"],
        polled: Some("/agc_1/token"),
    },
    Flow {
        name: "authorization-code",
        arguments: &["--flow", "authorization-code", "--wait", "3"],
        paths: &["/register", "/token", "/schema?view=compact"],
        polled: None,
    },
    Flow {
        name: "device-code",
        arguments: &["--flow", "device-code", "--wait", "3"],
        paths: &["/register", "/device", "/token", "/schema?view=compact"],
        polled: Some("/token"),
    },
];

const METADATA: [&str; 2] =
    ["/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"];

fn switches(edit: impl FnOnce(&mut Switches)) -> Switches {
    let mut switches = Switches { server: provider::with_all, ..Switches::default() };
    edit(&mut switches);
    switches
}

/// Runs one case; it must end within its bounds, store nothing, and name the reason and the next step.
fn ends(flow: &Flow, switches: Switches, more: &[&str]) -> Ran {
    let env = TestEnv::new();
    let provider = Provider::start(switches);
    let started = Instant::now();
    let ran = by_code_at(&env, provider.url(), &[flow.arguments, more].concat(), approving);
    // The longest is a poll without an answer: 3 s of patience and one exchange of 15 s.
    assert!(started.elapsed() < Duration::from_mins(1), "{}: {ran:?}", flow.name);
    no_secret_in(&ran);
    ran
}

fn is_told(ran: &Ran, what: &str) -> String {
    assert!(matches!(ran.code, Some(2 | 69 | 77)), "{what}: {ran:?}");
    let code = ran.stderr.lines().find_map(|line| line.strip_prefix("  code: "));
    assert!(ran.stderr.contains("\n  next: "), "{what}: a next step in {}", ran.stderr);
    code.unwrap_or_else(|| panic!("{what}: a code in {}", ran.stderr)).to_owned()
}

fn is_plain(ran: &Ran, what: &str) {
    for text in [&ran.stdout, &ran.stderr] {
        assert!(pdpp::text::exposed(text).all(|(_, c)| c == '\n'), "{what}: {text:?}");
        assert!(!text.contains("\nerror: fake"), "{what}: {text}");
    }
}

/// The codes expected for `instead` at `path`; several if the path decides.
fn codes(flow: &Flow, path: &str, instead: Instead) -> &'static [&'static str] {
    let is_polled = flow.polled == Some(path);
    match instead {
        Instead::Redirect => &["provider_redirected"],
        Instead::Huge => &["provider_answer_too_large"],
        Instead::Close | Instead::Never | Instead::Drip if is_polled => &["wait_over"],
        Instead::Close => &["provider_answer_broken"],
        Instead::Never | Instead::Drip => &["provider_timeout"],
        Instead::Html | Instead::Deep => &[
            "authorization_answer_malformed",
            "registration_failed",
            "token_proof_malformed",
            "provider_metadata_not_json",
            "authorization_server_metadata_not_json",
        ],
        _ => &[
            "request_refused",
            "registration_failed",
            "approval_failed",
            "token_rejected",
            "provider_metadata_failed",
            "authorization_server_metadata_failed",
        ],
    }
}

fn every_answer(instead: Instead) {
    std::thread::scope(|scope| {
        for flow in &FLOWS {
            for path in METADATA.iter().chain(flow.paths) {
                scope.spawn(move || {
                    let what = format!("{instead:?} at {path} of {}", flow.name);
                    let ran = ends(flow, switches(|switches| switches.instead = Some((path, instead))), &[]);
                    let code = is_told(&ran, &what);
                    assert!(codes(flow, path, instead).contains(&code.as_str()), "{what}: {code}");
                    is_plain(&ran, &what);
                });
            }
        }
    });
}

#[test]
fn redirects_are_refused_everywhere() {
    every_answer(Instead::Redirect);
}

#[test]
fn pages_and_deep_json_are_told_apart_from_answers_everywhere() {
    every_answer(Instead::Html);
    every_answer(Instead::Deep);
}

#[test]
fn answers_without_end_are_cut_everywhere() {
    every_answer(Instead::Huge);
}

#[test]
fn answers_that_break_off_are_reported_everywhere() {
    every_answer(Instead::Close);
}

#[test]
fn silence_ends_everywhere() {
    every_answer(Instead::Never);
}

#[test]
fn answers_that_drip_end_everywhere() {
    every_answer(Instead::Drip);
}

#[test]
fn refusals_in_control_characters_are_text_everywhere() {
    every_answer(Instead::Evil);
}

#[test]
fn every_text_of_a_provider_is_text() {
    type Turn = fn(&mut Switches);
    let edits: [(&str, Turn); 9] = [
        ("resource_name", |switches| switches.resource = |body, _| body["resource_name"] = json!(EVIL)),
        ("authorization_servers", |switches| {
            switches.resource = |body, _| body["authorization_servers"] = json!([EVIL]);
        }),
        ("pdpp_core_query_base", |switches| {
            switches.resource = |body, _| body["pdpp_core_query_base"] = json!(EVIL);
        }),
        ("issuer", |switches| switches.server = |body, _| body["issuer"] = json!(EVIL)),
        ("endpoint", |switches| switches.server = |body, _| body[format!("{EVIL}_endpoint")] = json!(EVIL)),
        ("urls", |switches| {
            switches.attempt = |body, _| body["approval_url"] = json!(EVIL);
            switches.device = |body, _| body["verification_uri"] = json!(EVIL);
        }),
        ("token", |switches| switches.token = |body, _| body["access_token"] = json!(EVIL)),
        ("grant", |switches| {
            switches.token = |body, _| {
                body["grant"]["access_mode"] = json!(EVIL);
                body["grant"]["source"] = json!({"id": EVIL, "kind": EVIL});
                body["grant"]["streams"] =
                    json!([{"name": EVIL, "fields": [EVIL], "time_range": {"since": EVIL}}]);
            };
        }),
        ("schema", |switches| {
            switches.schema = |body, _| {
                let connector = &mut body["connectors"][0];
                connector["source"] = json!({"id": EVIL, "kind": EVIL});
                connector["connector_key"] = json!(EVIL);
                connector["granted_connections"][0] = json!({"connection_id": EVIL, "display_name": EVIL});
                connector["streams"] = json!([{"name": EVIL}]);
            };
        }),
    ];
    let edits = &edits;
    std::thread::scope(|scope| {
        for flow in &FLOWS {
            for (name, edit) in edits {
                for more in [&[][..], &["--json"]] {
                    scope.spawn(move || {
                        let what = format!("{name} of {}", flow.name);
                        let ran = ends(flow, switches(edit), more);
                        is_plain(&ran, &what);
                        assert!(!ran.stdout.is_empty() || !ran.stderr.is_empty(), "{what}");
                    });
                }
            }
        }
    });
}

#[test]
fn polling_without_end_ends_in_every_flow() {
    let endless = || {
        switches(|switches| {
            switches.polls = vec![Poll::Pending];
            switches.attempt = |body, _| (body["interval"], body["expires_in"]) = (json!(0), json!(-5));
            switches.device = |body, _| (body["interval"], body["expires_in"]) = (json!("x"), json!(1e300));
        })
    };
    std::thread::scope(|scope| {
        for flow in FLOWS.iter().filter(|flow| flow.polled.is_some()) {
            scope.spawn(move || {
                let ran = ends(flow, endless(), &[]);
                assert_eq!(is_told(&ran, flow.name), "wait_over", "{ran:?}");
            });
        }
    });
}

/// The metadata of a remote provider must not name this computer; that of a local one must name only its own.
#[test]
fn endpoints_elsewhere_are_refused_before_anything_is_sent_there() {
    const ENDPOINTS: [&str; 7] = [
        "agent_connect_endpoint",
        "pushed_authorization_request_endpoint",
        "authorization_endpoint",
        "token_endpoint",
        "device_authorization_endpoint",
        "registration_endpoint",
        "revocation_endpoint",
    ];
    fn at<const N: usize>(body: &mut Value, urls: &provider::Urls) {
        provider::with_all(body, urls);
        // The other port of this computer is as foreign as any other host.
        body[ENDPOINTS[N]] = json!(format!("{}/x", urls.provider));
    }
    let edits: [Edit; 7] = [at::<0>, at::<1>, at::<2>, at::<3>, at::<4>, at::<5>, at::<6>];
    std::thread::scope(|scope| {
        for (edit, name) in edits.into_iter().zip(ENDPOINTS) {
            scope.spawn(move || {
                let provider = Provider::start(switches(|switches| switches.server = edit));
                let env = TestEnv::new();
                let ran = env.run(&["connect", provider.url(), "--no-browser"]);
                assert_eq!(is_told(&ran, name), "endpoint_foreign");
                assert!(ran.stderr.contains(name), "{name} in {}", ran.stderr);
                let sent = provider.seen("").into_iter().filter(|seen| !seen.path.contains("/.well-known/"));
                assert_eq!(sent.count(), 0, "{name}");
            });
        }
    });
}

/// The peak memory of the process, in KiB.
#[cfg(target_os = "linux")]
fn peak(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(target_os = "linux")]
#[test]
fn answers_without_end_take_bounded_memory() {
    const WITHIN: u64 = 160 << 10;
    for path in METADATA.iter().chain(&["/agent-connect", "/agc_1/token", "/schema?view=compact"]) {
        let env = TestEnv::new();
        let provider = Provider::start(switches(|switches| switches.instead = Some((path, Instead::Huge))));
        let mut child = env
            .pdpp(&["connect", provider.url(), "--no-browser", "--flow", "agent-connect"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut most = 0;
        let mut stderr = child.stderr.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        while child.try_wait().unwrap().is_none() {
            most = most.max(peak(child.id()).unwrap_or_default());
            std::thread::sleep(Duration::from_millis(5));
        }
        let text = reader.join().unwrap();
        assert!(text.contains("code: provider_answer_too_large"), "{path}: {text}");
        assert!((1..WITHIN).contains(&most), "{path}: {most} KiB");
    }
}

#[test]
fn two_at_the_same_time_are_both_kept() {
    use crate::support::filled::start;
    use pdpp::sandbox::Config;
    let sandbox = start(Config { auto_approve: true, ..Config::default() });
    let env = TestEnv::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let ran = env.run(&["connect", sandbox.url(), "--no-browser"]);
                assert_eq!(ran.code, Some(0), "{ran:?}");
            });
        }
    });
    let kept = credentials(&env);
    assert_eq!(kept.len(), 4, "{kept:?}");
    let read = |env: &TestEnv| env.run(&["status", "--check", "--json"]);
    let ran = read(&env);
    assert_eq!(ran.code, Some(0), "each of them works: {ran:?}");
    sandbox.stop();
}
