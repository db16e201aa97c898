//! The flows of `pdpp connect` other than agent-connect: code, device code, what is requested, renewal.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use pdpp::provider::grant::TokenKind;
use serde_json::{Value, json};

use super::provider::{
    self, CODE, DEVICE_CODE, Instead, POLLING_CODE, Poll, Provider, REFRESH, Switches, TOKEN,
};
use super::{bearer, connect, credentials, fails, no_secret_in};
use crate::support::env::{Ran, TestEnv};

/// A page, as a browser gets it: its status, its redirect and its text.
fn visit(url: &str) -> (u16, Option<String>, String) {
    ask("GET", url, "", "")
}

/// The same with a cookie, or with a form.
fn ask(method: &str, url: &str, cookie: &str, form: &str) -> (u16, Option<String>, String) {
    let url = url::Url::parse(url).unwrap();
    let address = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    let Ok(mut stream) = std::net::TcpStream::connect(&address) else { return (0, None, String::new()) };
    let target = &url[url::Position::BeforePath..];
    write!(
        stream,
        "{method} {target} HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{form}",
        form.len()
    )
    .unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let location = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    });
    (status, location, answer)
}

/// What a browser has once the loopback page has admitted it.
pub struct Page {
    /// The provider's page that it was redirected to.
    pub url: String,
    /// The cookie that identifies it from then on.
    pub cookie: String,
}

impl Page {
    /// Types `code` at `address`.
    pub fn by_code(address: &str, code: &str) -> Self {
        Self::of(&ask("POST", address, "", &format!("code={code}")).2)
    }

    /// Posts what the file in `html` posts.
    pub fn by_file(html: &str) -> Self {
        let value = |before: &str| html.split_once(before).unwrap().1.split_once('"').unwrap().0.to_owned();
        let form = format!("secret={}", value("name=\"secret\" value=\""));
        Self::of(&ask("POST", &value("action=\""), "", &form).2)
    }

    fn of(answer: &str) -> Self {
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let (_, cookie) = answer.split_once("set-cookie: ").unwrap();
        let (_, url) = answer.split_once("content=\"0; url=").unwrap();
        Self {
            url: url.split('"').next().unwrap().replace("&amp;", "&"),
            cookie: cookie.split(';').next().unwrap().to_owned(),
        }
    }

    /// Opens `url` in this browser.
    pub fn visit(&self, url: &str) -> (u16, Option<String>, String) {
        ask("GET", url, &self.cookie, "")
    }
}

/// Runs `connect` with the authorization code flow; `browser` gets the address that the owner opens.
fn by_code(env: &TestEnv, provider: &Provider, more: &[&str], browser: impl FnOnce(&Page)) -> Ran {
    by_code_at(env, provider.url(), more, browser)
}

pub fn by_code_at(env: &TestEnv, provider: &str, more: &[&str], browser: impl FnOnce(&Page)) -> Ran {
    let mut arguments = vec!["connect", provider, "--no-browser", "--log-level", "info"];
    arguments.extend_from_slice(more);
    let mut child = env.pdpp(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let (mut stderr, mut address) = (String::new(), None);
    let mut browser = Some(browser);
    for line in lines {
        let line = line.unwrap();
        stderr.push_str(&line);
        stderr.push('\n');
        if line.starts_with("  http://127.0.0.1:") && line.ends_with('/') {
            address = Some(line.trim().to_owned());
        }
        // Device codes have the same outline, and another page.
        if let (Some(address), true) = (&address, line.starts_with("    │  ")) {
            let page = Page::by_code(address, line.trim_matches(['│', ' ']));
            if page.url.contains("/authorize?")
                && let Some(browser) = browser.take()
            {
                browser(&page);
            }
        }
    }
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    let ran = Ran { code: child.wait().unwrap().code(), stdout, stderr };
    no_secret_in(&ran);
    for secret in [CODE, DEVICE_CODE] {
        assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{secret} in {ran:?}");
    }
    assert!(!ran.stderr.contains("/authorize?"), "the provider's page is the browser's to know: {ran:?}");
    ran
}

/// A browser whose owner approves.
pub fn approving(page: &Page) {
    let (status, back, _) = page.visit(&page.url);
    assert_eq!(status, 303);
    page.visit(&back.unwrap());
}

fn code_switches() -> Switches {
    Switches { server: provider::with_code, ..Switches::default() }
}

fn failed(ran: &Ran, exit: i32, code: &str) {
    assert_eq!(ran.code, Some(exit), "{ran:?}");
    assert!(ran.stderr.contains(&format!("\n  code: {code}\n")), "{code} in {}", ran.stderr);
    assert!(ran.stderr.contains("\n  next: "), "a next step in {}", ran.stderr);
}

#[test]
fn r8_1_a_code_is_traded_for_a_proven_token() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches { token: provider::with_refresh, ..code_switches() });
    let mut page = String::new();
    let ran = by_code(&env, &provider, &[], |browser| {
        let asked: std::collections::BTreeMap<String, String> =
            url::Url::parse(&browser.url).unwrap().query_pairs().into_owned().collect();
        assert_eq!(asked["response_type"], "code");
        assert_eq!(asked["code_challenge_method"], "S256");
        assert_eq!(asked["resource"], format!("{}/mcp", provider.url()));
        assert!(
            asked["redirect_uri"].starts_with("http://127.0.0.1:")
                && asked["redirect_uri"].ends_with("/callback")
        );
        assert!(!asked.contains_key("authorization_details"), "the owner picks: {asked:?}");
        let elsewhere = asked["redirect_uri"].replace("/callback", "/other");
        assert_eq!(visit(&elsewhere).0, 404);
        let (_, back, _) = visit(&browser.url);
        let (status, _, text) = browser.visit(&back.clone().unwrap());
        assert_eq!(status, 200);
        page = text;
        // It accepts one answer: the port is closed for a second one.
        let started = Instant::now();
        while visit(&back.clone().unwrap()).0 != 0 {
            assert!(started.elapsed() < Duration::from_mins(1));
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(page.contains("You can close this page") && !page.contains("http:"), "{page}");
    for part in ["streams: the ones you pick on that page", "access: ongoing, until", "purpose: none is sent"]
    {
        assert!(ran.stderr.contains(part), "{part} in {}", ran.stderr);
    }
    let registered = &provider.seen("/register")[0].body;
    assert_eq!(registered["redirect_uris"], json!(["http://127.0.0.1/callback"]));
    let exchanged = &provider.seen("/token");
    assert_eq!(exchanged.len(), 1);
    assert_eq!(exchanged[0].body["grant_type"], "authorization_code");
    assert_eq!(exchanged[0].body["resource"], format!("{}/mcp", provider.url()));
    let verifier = exchanged[0].body["code_verifier"].as_str().unwrap();
    assert!(verifier.len() >= 43 && !ran.stderr.contains(verifier) && !ran.stdout.contains(verifier));
    let kept = credentials(&env);
    assert_eq!((bearer(&env, &kept[0]).as_str(), kept[0].refreshable), (TOKEN, true));
    // A refresh names the resource that was requested, and no other (RFC 8707 §2.2).
    assert_eq!(kept[0].renewal.resource, Some(format!("{}/mcp", provider.url())));
}

/// The lines before the page is opened are the same in every flow.
#[test]
fn every_flow_shows_the_same_before_the_owner_is_asked() {
    let asked = |flow: &str, more: &[&str]| {
        let env = TestEnv::new();
        let server: provider::Edit = |server, urls| {
            provider::with_code(server, urls);
            provider::with_all(server, urls);
            for (name, path) in [
                ("agent_connect_endpoint", "agent-connect"),
                ("pushed_authorization_request_endpoint", "par"),
            ] {
                server[name] = json!(format!("{}/{path}", urls.issuer));
            }
        };
        let provider = Provider::start(Switches { server, ..Switches::default() });
        let ran = by_code(&env, &provider, &[&["--flow", flow], more].concat(), approving);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let asked = ran.stderr.split_once("\npdpp asks for:\n").unwrap().1;
        let lines: Vec<String> =
            asked.lines().take_while(|line| line.starts_with("  ")).map(str::to_owned).collect();
        let address = ran.stderr.find("\n  http").unwrap();
        assert!(address < ran.stderr.find("pdpp asks for:").unwrap());
        lines
    };
    let narrow = [
        "--source",
        "https://registry.example/diary",
        "--stream",
        "entries",
        "--purpose",
        "Plan a trip",
        "--since",
        "2026-01-01",
        "--expires",
        "2098-01-01",
    ];
    let flows = ["agent-connect", "authorization-code", "par", "device-code"];
    // All cases run at once, because most of the time is spent waiting for a poll.
    let all_asked = |more: &[&str]| {
        std::thread::scope(|scope| {
            let runs = flows.map(|flow| scope.spawn(move || asked(flow, more)));
            runs.map(|run| run.join().unwrap())
        })
    };
    let narrowed = all_asked(&narrow);
    assert_eq!(narrowed[0].len(), 5, "{narrowed:?}");
    assert!(narrowed.iter().all(|lines| *lines == narrowed[0]), "{narrowed:?}");
    // If nothing narrows the grant, two flows send no details, and report this.
    let [agent_connect, code, par, device_code] = all_asked(&[]);
    assert_eq!((&agent_connect, &par), (&code, &device_code));
    assert!(agent_connect[2].contains("none is sent"));
}

/// A purpose without `authorization_details` is not in the draft: only a provider that announces it receives one.
#[test]
fn a_request_for_everything_says_its_purpose_where_that_is_taken() {
    let sent = |announced: bool, flow: &str| {
        let env = TestEnv::new();
        let server: provider::Edit = match (announced, flow) {
            (true, "authorization-code") => |server, urls| {
                provider::with_code(server, urls);
                server["pdpp_purpose_parameters_supported"] = json!(true);
            },
            (true, _) => |server, _| server["pdpp_purpose_parameters_supported"] = json!(true),
            (false, "authorization-code") => provider::with_code,
            (false, _) => |_, _| (),
        };
        let provider = Provider::start(Switches { server, ..Switches::default() });
        let mut opened = None;
        let ran = by_code(&env, &provider, &["--flow", flow], |page| {
            opened = Some(url::Url::parse(&page.url).unwrap());
            approving(page);
        });
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.stderr.contains("purpose: An AI agent"), announced, "{ran:?}");
        ["purpose_code", "purpose_description"].map(|member| match &opened {
            Some(url) => {
                url.query_pairs().find(|(name, _)| name == member).map(|(_, value)| value.into_owned())
            }
            None => provider.seen("/agent-connect")[0].body[member].as_str().map(str::to_owned),
        })
    };
    for flow in ["agent-connect", "authorization-code"] {
        assert_eq!(sent(false, flow), [None, None], "{flow}");
        let [code, description] = sent(true, flow);
        assert_eq!(code.as_deref(), Some("https://pdpp.dev/purpose/personal_ai_assistant"), "{flow}");
        assert!(description.unwrap().contains("on the owner's own computer"), "{flow}");
    }
}

/// The embedded provider and the client share no code, so it proves something that they understand each other.
#[test]
fn every_flow_leads_to_a_grant_of_the_sandbox() {
    use crate::support::filled::start;
    use pdpp::sandbox::Config;
    const BANK: &str = "https://sandbox.pdpp.example/connectors/bank";
    let provider = start(Config { auto_approve: true, ..Config::default() });
    let env = TestEnv::new();
    let narrow = ["--source", BANK, "--stream", "transactions", "--since", "2026-01-01", "--expires", "7d"];
    let kinds: Vec<(TokenKind, bool, usize)> = ["agent-connect", "par", "authorization-code", "device-code"]
        .iter()
        .map(|flow| {
            let ran = by_code_at(&env, provider.url(), &[&["--flow", flow], &narrow[..]].concat(), approving);
            assert_eq!(ran.code, Some(0), "{flow}: {ran:?}");
            assert!(!ran.stderr.contains("warning"), "what was asked for is what was given: {ran:?}");
            let compares = ran.stderr.contains("The page where you approve must show the code ");
            assert_eq!(compares, ["agent-connect", "par"].contains(flow), "{flow}: {ran:?}");
            let kept = credentials(&env).pop().unwrap();
            assert_eq!(kept.asked.unwrap().streams[0].name, "transactions");
            (kept.token_kind, kept.refreshable, kept.sources[0].stream_count)
        })
        .collect();
    let once = (TokenKind::Client, false, 1);
    assert_eq!(kinds, [once, once, (TokenKind::Client, true, 1), once]);
    // Nothing narrows the grant: all sources are picked, and form a package.
    let ran = by_code_at(&env, provider.url(), &["--flow", "authorization-code"], approving);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let kept = credentials(&env);
    assert_eq!(kept.len(), 5, "five grants, and none in the place of another");
    assert_eq!((kept[4].token_kind, kept[4].sources.len()), (TokenKind::McpPackage, 6));
    assert!(ran.stderr.contains("purpose: An AI agent on the owner's own computer"), "{ran:?}");
    provider.stop();
}

#[test]
fn an_answer_of_somebody_else_is_not_taken() {
    type Back = fn(&mut Vec<(&'static str, String)>, &provider::Urls);
    let cases: [(Back, i32, &str); 7] = [
        // Such an answer ends nothing; it is reported at the end of the wait.
        (|back, _| back[1].1 = "made-up".to_owned(), 77, "state_mismatch"),
        (|back, _| drop(back.remove(1)), 77, "state_mismatch"),
        (|back, _| back[2].1 = "https://evil.example".to_owned(), 77, "answer_issuer_mismatch"),
        (|back, _| drop(back.remove(2)), 77, "answer_issuer_mismatch"),
        (|back, _| back[0] = ("error", "access_denied".to_owned()), 77, "access_denied"),
        (
            |back, _| {
                back[0] = ("error", "server_error\u{1b}[2J".to_owned());
                back.push(("error_description", "<b>\u{202e}\nerror: fake".to_owned()));
            },
            77,
            "request_refused",
        ),
        (|back, _| drop(back.remove(0)), 69, "authorization_answer_malformed"),
    ];
    std::thread::scope(|scope| {
        for (back, exit, code) in cases {
            scope.spawn(move || {
                let env = TestEnv::new();
                let provider = Provider::start(Switches { back, ..code_switches() });
                let started = Instant::now();
                let more: &[&str] = if code == "state_mismatch" { &["--wait", "2"] } else { &[] };
                let ran = by_code(&env, &provider, more, approving);
                failed(&ran, exit, code);
                assert!(started.elapsed() < Duration::from_mins(1));
                assert!(provider.seen("/token").is_empty(), "no code was sent on: {code}");
                assert_eq!(env.files(), [""; 0], "nothing is stored");
                assert!(pdpp::text::exposed(&ran.stderr).all(|(_, c)| c == '\n'), "{:?}", ran.stderr);
                assert!(!ran.stderr.contains("\nerror: fake"), "{}", ran.stderr);
            });
        }
    });
}

/// Another user of the computer, who has learned the address of the provider's page, brings their own answer;
/// and a program that reaches the port reports that the owner refused.
#[test]
fn o7_2_only_the_browser_that_was_let_in_can_bring_the_answer() {
    let env = TestEnv::new();
    let provider = Provider::start(code_switches());
    let ran = by_code(&env, &provider, &[], |owner| {
        let (_, back, _) = visit(&owner.url);
        let theirs = back.unwrap().replace(CODE, "theirs");
        assert_eq!(visit(&theirs).0, 400);
        let callback = theirs.split('?').next().unwrap();
        assert_eq!(visit(&format!("{callback}?error=access_denied&state=x")).0, 400);
        assert_eq!(
            owner.visit(&format!("{callback}?error=access_denied&state=x")).0,
            400,
            "led by another site"
        );
        approving(owner);
    });
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let exchanged = provider.seen("/token");
    assert_eq!((exchanged.len(), exchanged[0].body["code"].as_str()), (1, Some(CODE)));
}

#[test]
fn an_exchange_that_fails_is_reported_and_repeated_only_where_nothing_was_answered() {
    let with = |instead| Switches { instead: Some(("/token", instead)), ..code_switches() };
    let cases = [
        (with(Instead::Redirect), 69, "provider_redirected"),
        (with(Instead::Html), 69, "authorization_answer_malformed"),
        (with(Instead::Huge), 69, "provider_answer_too_large"),
        (with(Instead::Close), 69, "provider_answer_broken"),
        (with(Instead::Never), 69, "provider_timeout"),
        (
            Switches { back: |back, _| back[0].1 = "used-up".to_owned(), ..code_switches() },
            77,
            "invalid_grant",
        ),
        (
            Switches { token: |token, _| token["pdpp_token_kind"] = json!("owner"), ..code_switches() },
            77,
            "owner_token_refused",
        ),
        (
            Switches { schema: |schema, _| schema["bearer"]["grant_id"] = json!("other"), ..code_switches() },
            77,
            "grant_mismatch",
        ),
    ];
    std::thread::scope(|scope| {
        for (switches, exit, code) in cases {
            scope.spawn(move || {
                let env = TestEnv::new();
                let provider = Provider::start(switches);
                let ran = by_code(&env, &provider, &[], approving);
                failed(&ran, exit, code);
                let is_unheard = ["provider_answer_broken", "provider_timeout"].contains(&code);
                assert_eq!(provider.seen("/token").len() > 1, is_unheard, "{code}");
                assert_eq!(env.files(), [""; 0], "nothing is stored");
            });
        }
    });
}

/// The owner has approved: no passing error may lose that.
#[test]
fn an_approval_survives_a_token_endpoint_that_stumbles() {
    let first_tokens = vec![Instead::ServerError, Instead::Close];
    let refuses_resource = Switches { refuses_resource: true, ..code_switches() };
    for switches in [Switches { first_tokens, ..code_switches() }, refuses_resource] {
        let env = TestEnv::new();
        let provider = Provider::start(switches);
        let ran = by_code(&env, &provider, &[], approving);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let asked = provider.seen("/token");
        assert!(asked.len() > 1 && asked.iter().all(|seen| seen.body["code"] == CODE), "{asked:?}");
    }
}

/// It is better to fail before the owner is asked than after.
#[test]
fn a_client_that_would_need_a_secret_asks_nobody() {
    let secret: provider::Edit = |registered, _| registered["client_secret"] = json!("s");
    for (registration, server) in [
        (secret, provider::with_code as provider::Edit),
        (secret, provider::with_device),
        (
            |registered, _| registered["token_endpoint_auth_method"] = json!("client_secret_post"),
            provider::with_code,
        ),
    ] {
        let switches = Switches { server, registration, ..Switches::default() };
        let stderr = fails(&switches, &["--wait", "2"], 77, "client_secret_required");
        assert!(!stderr.contains("http://127.0.0.1:1"), "no page is shown: {stderr}");
    }
    // A provider that declares no secret necessary is believed, and agent-connect sends none.
    let none: provider::Edit = |registered, _| {
        registered["client_secret"] = json!("s");
        registered["token_endpoint_auth_method"] = json!("none");
    };
    for (registration, server) in [(none, provider::with_code as provider::Edit), (secret, |_, _| ())] {
        let env = TestEnv::new();
        let provider = Provider::start(Switches { server, registration, ..Switches::default() });
        assert_eq!(by_code(&env, &provider, &[], approving).code, Some(0));
    }
}

#[test]
fn a_provider_that_has_no_time_is_not_said_to_refuse_what_was_asked() {
    for (path, more) in [
        ("/agent-connect", &[][..]),
        ("/par", &["--flow", "par", "--stream", "entries"]),
        ("/device", &["--flow", "device-code", "--stream", "entries"]),
    ] {
        let instead = Some((path, Instead::ServerError));
        let switches = Switches { instead, server: provider::with_all, ..Switches::default() };
        let stderr = fails(&switches, more, 69, "authorization_server_busy");
        assert!(stderr.contains("next: Try again in a minute: pdpp connect"), "{stderr}");
        assert!(more.iter().all(|word| stderr.contains(word)), "{stderr}");
    }
}

#[test]
fn an_end_that_a_request_may_not_name_is_what_to_leave_out() {
    let refuses_details: Option<fn() -> Value> = Some(|| {
        let message = "authorization_details[0] must NOT have additional properties";
        json!({"error": {"code": "invalid_request", "message": message}})
    });
    let switches = Switches { refuses_details, ..Switches::default() };
    let stderr = fails(&switches, &["--stream", "entries", "--expires", "30d"], 77, "request_refused");
    let (_, next) = stderr.split_once("next: ").unwrap();
    assert!(
        next.contains("may not accept an end in a request") && next.contains("--stream entries"),
        "{stderr}"
    );
    assert!(!next.contains("--expires"), "{stderr}");
    // Without one, the command says nothing about it.
    let stderr = fails(&switches, &["--stream", "entries"], 77, "request_refused");
    assert!(stderr.contains("Leave the narrowing options out"), "{stderr}");
}

#[test]
fn metadata_is_found_where_providers_have_it_and_checked_all_the_same() {
    let below = || Switches { path: "/me", ..Switches::default() };
    let at_root = Some("/.well-known/oauth-protected-resource");
    let dead_first: provider::Edit = |resource, urls| {
        resource["authorization_servers"] = json!(["http://127.0.0.1:1", urls.issuer]);
    };
    for switches in [
        Switches { resource_at: at_root, ..below() },
        Switches { resource_at: Some("/elsewhere/metadata"), challenges: true, ..below() },
        Switches { server_at: Some("/.well-known/openid-configuration"), ..Switches::default() },
        Switches { resource: dead_first, ..Switches::default() },
    ] {
        let env = TestEnv::new();
        let provider = Provider::start(switches);
        let ran = connect(&env, &provider, &[]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        // What was stored is found again when it must be ended.
        assert!(env.run(&["disconnect", "--yes"]).stdout.contains("revocation_unsupported"));
    }
    let other: provider::Edit = |resource, _| resource["resource"] = json!("http://127.0.0.1:1/other");
    let stranger: provider::Edit = |server, _| server["issuer"] = json!("https://evil.example");
    let elsewhere = Some("/elsewhere/metadata");
    for (switches, code) in [
        (Switches { resource_at: at_root, resource: other, ..below() }, "no_provider_here"),
        (
            Switches { resource_at: elsewhere, resource: other, challenges: true, ..below() },
            "resource_mismatch",
        ),
        (Switches { resource_at: elsewhere, ..below() }, "no_provider_here"),
        (
            Switches {
                server_at: Some("/.well-known/openid-configuration"),
                server: stranger,
                ..Switches::default()
            },
            "issuer_mismatch",
        ),
    ] {
        fails(&switches, &[], 69, code);
    }
    // This computer has several names; a token is for one of them.
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let typed = provider.url().replace("127.0.0.1", "localhost");
    let ran = env.run(&["connect", &typed, "--no-browser"]);
    failed(&ran, 69, "resource_mismatch");
    assert!(ran.stderr.contains(&format!("pdpp connect {}", provider.url())), "{}", ran.stderr);
}

#[test]
fn nobody_comes_back() {
    let env = TestEnv::new();
    let provider = Provider::start(code_switches());
    let started = Instant::now();
    let ran = by_code(&env, &provider, &["--wait", "2"], |_| ());
    failed(&ran, 77, "wait_over");
    assert!(
        ran.stderr.contains("within 0:02 min") && ran.stderr.contains("do not approve there"),
        "{}",
        ran.stderr
    );
    assert!(started.elapsed() < Duration::from_mins(1));
    // For the other flows, the provider has stated how long its page lasts.
    let pending = Switches { polls: vec![Poll::Pending], server: provider::with_all, ..Switches::default() };
    std::thread::scope(|scope| {
        for flow in ["agent-connect", "device-code"] {
            let pending = &pending;
            scope.spawn(move || {
                let stderr = fails(pending, &["--flow", flow, "--wait", "2"], 77, "wait_over");
                assert!(stderr.contains("may still accept an approval for 0:58 min more"), "{stderr}");
            });
        }
    });
    // A browser was started, but never arrives.
    let silent = Provider::start(Switches { polls: vec![Poll::Pending], ..Switches::default() });
    let ran = env.run(&["connect", silent.url(), "--wait", "17"]);
    assert!(ran.stderr.contains("Your browser opens the page"), "{}", ran.stderr);
    let (before, after) =
        ran.stderr.split_once("Open this address in a browser here; its page asks for a code").unwrap();
    assert!(
        !before.contains('│') && after.contains('│') && after.contains("\n  http://127.0.0.1:"),
        "{ran:?}"
    );
    let wrong = env.run(&["connect", provider.url(), "--wait", "0"]);
    assert_eq!(wrong.code, Some(2));
}

#[test]
fn a_forgotten_client_is_registered_again_in_every_flow() {
    for (server, more) in [
        (provider::with_code as provider::Edit, &[][..]),
        (provider::with_device, &["--source", "https://registry.example/diary"][..]),
    ] {
        let env = TestEnv::new();
        let provider = Provider::start(Switches { server, ..Switches::default() });
        assert_eq!(by_code(&env, &provider, more, approving).code, Some(0));
        assert_eq!(by_code(&env, &provider, more, approving).code, Some(0), "it is used again");
        assert_eq!(provider.seen("/register").len(), 1);
        let index = env.cache_dir().join("index.json");
        let edited = std::fs::read_to_string(&index).unwrap().replace("cli_1", "cli_of_before");
        std::fs::write(&index, edited).unwrap();
        assert_eq!(by_code(&env, &provider, more, approving).code, Some(0));
        assert_eq!(provider.seen("/register").len(), 2);
        assert_eq!(credentials(&env)[0].client_id.as_deref(), Some("cli_2"));
        let before = std::fs::read_to_string(&index).unwrap();
        provider.switch(|switches| switches.knows_clients = false);
        failed(
            &by_code(&env, &provider, &[more, &["--wait", "3"]].concat(), approving),
            77,
            "invalid_client",
        );
        assert_eq!(provider.seen("/register").len(), 3, "once");
        assert_eq!(std::fs::read_to_string(&index).unwrap(), before, "what was there stays");
    }
}

#[test]
fn several_picked_sources_are_stored_and_described_as_a_package() {
    let package: provider::Edit = |token, _| {
        let token = token.as_object_mut().unwrap();
        token.remove("grant_id");
        token.remove("grant");
        token.insert("grant_package_id".to_owned(), json!("pkg_1"));
        token.insert("expires_in".to_owned(), json!(600));
        token.insert("refresh_token".to_owned(), json!(REFRESH));
        token.insert(
            "grants".to_owned(),
            json!([{"source": {"id": "https://s.example/mail", "kind": "connector"}, "streams": [{"name": "messages"}]},
                   {"source": {"id": "https://s.example/bank"}, "expires_at": "2099-01-01T00:00:00Z"}]),
        );
    };
    let env = TestEnv::new();
    let provider = Provider::start(Switches { token: package, ..code_switches() });
    let ran = by_code(&env, &provider, &["--name", "Both"], approving);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "with a package of grants",
        "works only at",
        "reads through the tools there",
        "pdpp mcp serve ",
        "mail: 1 stream: messages",
    ] {
        assert!(ran.stdout.contains(part), "{part} in {}", ran.stdout);
    }
    let kept = &credentials(&env)[0];
    assert_eq!(
        (kept.token_kind, kept.grant_id.as_str(), kept.label.as_str()),
        (TokenKind::McpPackage, "pkg_1", "Both")
    );
    let bearers = provider.seen("").into_iter().filter(|seen| seen.authorization.is_some());
    let tried: std::collections::BTreeSet<String> = bearers.map(|seen| seen.path).collect();
    assert!(tried.iter().all(|path| path == "/mcp"), "its token is good for nothing else: {tried:?}");
    // Without a name the grant is named after its sources, as far as they are known.
    let env = TestEnv::new();
    assert_eq!(by_code(&env, &provider, &[], approving).code, Some(0));
    assert_eq!(credentials(&env)[0].label, "mail, bank");
}

#[test]
fn a_device_code_is_shown_and_polled_for() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches {
        server: provider::with_device,
        polls: vec![Poll::Pending, Poll::Approved],
        ..Switches::default()
    });
    let ran = connect(&env, &provider, &["--log-level", "info"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "│  WDJB-MJHT  │",
        "/activate?user_code=WDJB-MJHT",
        "/activate asks",
        "access: ongoing",
        "purpose: An AI agent",
    ] {
        assert!(ran.stderr.contains(part), "{part} in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains(DEVICE_CODE));
    let begun = &provider.seen("/device")[0].body;
    assert_eq!(begun["resource"], format!("{}/mcp", provider.url()));
    let details: Value = serde_json::from_str(begun["authorization_details"].as_str().unwrap()).unwrap();
    assert_eq!(details[0]["source"], json!({"kind": "provider_native", "id": provider.url()}));
    let polls = provider.seen("/token");
    assert_eq!(polls.len(), 2);
    assert_eq!(polls[0].body["grant_type"], "urn:ietf:params:oauth:grant-type:device_code");
    assert!(polls[1].at - polls[0].at >= Duration::from_millis(900));
    assert_eq!(bearer(&env, &credentials(&env)[0]), TOKEN);
}

#[test]
fn a_hostile_device_authorization_ends_in_bounded_time() {
    const EVIL: &str = "\u{1b}]0;owned\u{7}\u{202e}x\nerror: fake";
    fn with(device: provider::Edit) -> Switches {
        Switches { server: provider::with_device, device, ..Switches::default() }
    }
    let instead = |path, instead| Switches { instead: Some((path, instead)), ..with(|_, _| ()) };
    let polls = |polls: &[Poll]| Switches { polls: polls.to_vec(), ..with(|_, _| ()) };
    let endless = Switches {
        polls: vec![Poll::Pending],
        ..with(|begun, _| {
            begun["expires_in"] = json!(2);
            begun["interval"] = json!(0);
        })
    };
    let cases = [
        (
            with(|begun, _| begun["verification_uri"] = json!("https://evil.example/x")),
            69,
            "endpoint_foreign",
        ),
        (
            with(|begun, _| begun["verification_uri_complete"] = json!("javascript:alert(1)")),
            69,
            "endpoint_foreign",
        ),
        (
            with(|begun, urls| begun["verification_uri"] = json!(format!("{}/x", urls.provider))),
            69,
            "endpoint_foreign",
        ),
        (with(|begun, _| begun["verification_uri"] = json!("https://10.0.0.1/x")), 69, "endpoint_foreign"),
        (
            with(|begun, _| drop(begun.as_object_mut().unwrap().remove("device_code"))),
            69,
            "authorization_answer_malformed",
        ),
        (with(|begun, _| begun["user_code"] = json!("W".repeat(70))), 69, "authorization_answer_malformed"),
        (instead("/device", Instead::Html), 69, "authorization_answer_malformed"),
        (instead("/device", Instead::Redirect), 69, "provider_redirected"),
        (instead("/device", Instead::Huge), 69, "provider_answer_too_large"),
        (instead("/token", Instead::Redirect), 69, "provider_redirected"),
        (instead("/token", Instead::Html), 69, "authorization_answer_malformed"),
        (polls(&[Poll::Denied]), 77, "access_denied"),
        (polls(&[Poll::Expired]), 77, "expired_token"),
        (polls(&[Poll::Unknown]), 77, "invalid_grant"),
        (endless, 77, "expired_token"),
    ];
    std::thread::scope(|scope| {
        for (switches, exit, code) in &cases {
            scope.spawn(move || fails(switches, &[], *exit, code));
        }
    });
    let env = TestEnv::new();
    let provider = Provider::start(with(|begun, _| begun["user_code"] = json!(EVIL)));
    let ran = connect(&env, &provider, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("\\u{1b}]0;owned") && !ran.stderr.contains("\nerror: fake"),
        "{}",
        ran.stderr
    );
    assert!(pdpp::text::exposed(&ran.stderr).all(|(_, c)| c == '\n'), "{:?}", ran.stderr);
}

#[test]
fn without_a_browser_a_device_code_is_taken_and_announced() {
    let all = Switches { server: provider::with_all, ..Switches::default() };
    let run = |variables: &[(&str, &str)], more: &[&str]| {
        let mut env = TestEnv::new();
        env.set("BROWSER", None);
        let provider = Provider::start(all.clone());
        let mut command = env.pdpp(&[&["connect", provider.url()], more].concat());
        let ran = Ran::from(command.envs(variables.iter().copied()).output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        (ran, provider)
    };
    let (ran, provider) = run(&[("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")], &[]);
    assert!(ran.stderr.contains("Using a device code because this is an SSH session"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("could not open a browser"), "none was tried: {}", ran.stderr);
    assert_eq!(provider.seen("/device").len(), 1);
    let (ran, provider) = run(&[("SSH_TTY", "/dev/pts/1")], &["--flow", "agent-connect"]);
    assert!(!ran.stderr.contains("device code"), "{}", ran.stderr);
    assert!(provider.seen("/device").is_empty());
    // If no browser opens, the owner still gets the address.
    let (ran, provider) = run(&[("container", "podman")], &["--no-browser"]);
    assert!(ran.stderr.contains("Using a device code because this is a container"), "{}", ran.stderr);
    assert_eq!(provider.seen("/device").len(), 1);
    let (_, provider) = run(&[("SSH_TTY", "/dev/pts/1"), ("BROWSER", "/bin/true")], &[]);
    assert!(provider.seen("/device").is_empty(), "somebody said that there is a browser");
    // A provider without device codes: the address is printed for a browser elsewhere.
    let mut env = TestEnv::new();
    env.set("BROWSER", None);
    let provider = Provider::start(Switches::default());
    let ran =
        Ran::from(env.pdpp(&["connect", provider.url()]).env("SSH_TTY", "/dev/pts/1").output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("/consent?request_uri=") && !ran.stderr.contains("device code"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_flow_can_be_named_and_has_to_be_offered() {
    let only_agent = Switches::default();
    let stderr = fails(&only_agent, &["--flow", "device-code"], 2, "flow_not_offered");
    assert!(stderr.contains("it offers agent-connect, par"), "{stderr}");
    let env = TestEnv::new();
    let provider = Provider::start(Switches { server: provider::with_all, ..Switches::default() });
    let ran = connect(&env, &provider, &["--flow", "device-code"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!((provider.seen("/device").len(), provider.seen("/agent-connect").len()), (1, 0));
    let ran = connect(&env, &provider, &["--flow", "par"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(provider.seen("/par").len(), 1);
    let ran = by_code(&env, &provider, &["--flow", "authorization-code"], approving);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn what_is_asked_for_is_sent_and_shown_before_the_owner_is_asked() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let more = [
        "--source",
        "https://registry.example/diary",
        "--instance",
        "i1",
        "--stream",
        "entries",
        "--field",
        "moods.day",
        "--since",
        "2026-01-01",
        "--until",
        "2026-02-01T00:00:00Z",
        "--expires",
        "2098-01-01",
        "--purpose",
        "Plan a trip",
        "--name",
        "Trip diary",
    ];
    let ran = connect(&env, &provider, &more);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let details = &provider.seen("/par")[0].body["authorization_details"][0];
    let range = json!({"since": "2026-01-01T00:00:00Z", "until": "2026-02-01T00:00:00Z"});
    assert_eq!(
        details["streams"],
        json!([{"name": "entries", "instance_ids": ["i1"], "time_range": range},
               {"name": "moods", "fields": ["day"], "instance_ids": ["i1"], "time_range": range}])
    );
    assert_eq!(details["expires_at"], "2098-01-01T00:00:00Z");
    assert_eq!(details["purpose_description"], "Plan a trip");
    for part in [
        "entries; moods (only day, and required fields)",
        "from 2026-01-01T00:00:00Z on",
        "purpose: Plan a trip",
        "access: ongoing, until 2098",
    ] {
        assert!(ran.stderr.contains(part), "{part} in {}", ran.stderr);
    }
    // The fake provider grants a year more.
    let more = "warning: the grant gives more than pdpp asked for: access until 2099-01-02 03:04 UTC, not 2098-01-01 00:00 UTC";
    assert!(ran.stderr.contains(more), "{}", ran.stderr);
    let kept = &credentials(&env)[0];
    assert_eq!(kept.label, "Trip diary");
    assert_eq!(kept.asked.as_ref().unwrap().purpose.as_deref(), Some("Plan a trip"));
    let ran =
        connect(&env, &provider, &["--source", "https://registry.example/diary", "--stream", "entries"]);
    assert!(ran.stderr.contains("streams that were not asked for: moods"), "{}", ran.stderr);

    let no_par: provider::Edit =
        |server, _| drop(server.as_object_mut().unwrap().remove("pushed_authorization_request_endpoint"));
    let agent = Switches { server: no_par, ..Switches::default() };
    fails(&agent, &["--stream", "entries"], 2, "narrowing_unsupported");
    fails(&agent, &["--source", "https://registry.example/diary"], 2, "source_unsupported");
    for (wrong, code) in [
        (["--field", "subject"], "narrowing_invalid"),
        (["--since", "yesterday"], "narrowing_invalid"),
        (["--expires", "2020-01-01"], "narrowing_invalid"),
    ] {
        fails(&Switches::default(), &wrong, 2, code);
    }
}

#[test]
fn a_provider_that_names_its_sources_is_quoted() {
    let choices: fn() -> Value = || {
        json!({"error": {"code": "invalid_request", "message": "Unknown source",
            "available_sources": [{"id": "https://s.example/mail", "name": "Mail\u{1b}[2J"}, {"id": "https://s.example/bank"}]}})
    };
    let switches =
        Switches { server: provider::with_device, refuses_details: Some(choices), ..Switches::default() };
    let stderr = fails(&switches, &[], 2, "source_required");
    assert!(
        stderr.contains("https://s.example/mail (Mail\\u{1b}[2J)")
            && stderr.contains("https://s.example/bank"),
        "{stderr}"
    );
    let instances: fn() -> Value = || {
        json!({"error": {"code": "ambiguous_connection", "message": "instance_ids is needed",
            "available_connections": [{"connection_id": "cin_1", "display_name": "Home"}, {"connection_id": "cin_2"}]}})
    };
    let switches = Switches { refuses_details: Some(instances), ..Switches::default() };
    let stderr = fails(&switches, &["--source", "https://s.example/mail"], 2, "instance_required");
    assert!(stderr.contains("cin_1 (Home)") && stderr.contains("--instance <ID>"), "{stderr}");
}

#[test]
fn renewing_asks_for_the_same_and_replaces_that_grant_only() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let other = Provider::start(Switches { path: "/other", ..Switches::default() });
    let nothing = env.run(&["connect", "--renew"]);
    failed(&nothing, 78, "not_connected");
    assert_eq!(connect(&env, &other, &[]).code, Some(0));
    let source = ["--source", "https://registry.example/diary", "--stream", "entries", "--name", "Mine"];
    assert_eq!(connect(&env, &provider, &source).code, Some(0));
    let several = env.run(&["connect", "--renew", "--no-browser"]);
    failed(&several, 2, "several_credentials");
    assert!(
        several.stderr.contains("pdpp connect --renew") && several.stderr.contains("(Mine)"),
        "{}",
        several.stderr
    );

    provider.switch(|switches| switches.grant_id = "grt_made_up_2");
    let ran = env.run(&["connect", "--renew", "--grant", "Mine", "--no-browser"]);
    no_secret_in(&ran);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // The fake provider offers no way to end a grant: that is reported, and is not a failure.
    for part in
        ["this grant replaces the old one", "The old grant grt_made_up_1 is deleted here, but is still valid"]
    {
        assert!(ran.stdout.contains(part), "{part} in {}", ran.stdout);
    }
    assert!(ran.stdout.contains("(code: revocation_unsupported)"), "{}", ran.stdout);
    assert_eq!(provider.seen("/grants/grt_made_up_1/revoke").len(), 1);
    let pushed = provider.seen("/par");
    let (first, mut second) = (
        pushed[0].body["authorization_details"][0].clone(),
        pushed[1].body["authorization_details"][0].clone(),
    );
    let end = second.as_object_mut().unwrap().remove("expires_at");
    assert!(
        end.is_some_and(|end| end.as_str().unwrap().starts_with("2099-")),
        "for as long as the owner gave"
    );
    assert_eq!(first, second, "the same again");
    let kept = credentials(&env);
    let known: Vec<_> = kept
        .iter()
        .map(|credential| {
            (credential.provider.as_str(), credential.grant_id.as_str(), credential.label.as_str())
        })
        .collect();
    assert_eq!(known.len(), 2);
    assert!(known.contains(&(provider.url(), "grt_made_up_2", "Mine")), "{known:?}");
    assert!(known.contains(&(other.url(), "grt_made_up_1", "Paper diary")), "{known:?}");
    let secrets = env.files().iter().filter(|file| file.contains("/secrets/")).count();
    assert_eq!(secrets, 2, "the old token is gone");
    // A failed renewal leaves the existing grant.
    provider.switch(|switches| switches.polls = vec![Poll::Denied]);
    let ran = env.run(&["connect", "--renew", provider.url(), "--no-browser"]);
    failed(&ran, 77, "access_denied");
    assert_eq!(credentials(&env), kept);
    let both = env.run(&["connect", "--renew", "--stream", "x"]);
    assert_eq!(both.code, Some(2), "a renewal is the same again: {both:?}");
}

/// A provider that ends grants, one that fails to, and one that keeps the grant and issues another token.
#[test]
fn what_is_replaced_is_ended_at_its_provider_and_nothing_else_is() {
    let server: provider::Edit =
        |server, urls| server["revocation_endpoint"] = json!(format!("{}/revoke", urls.issuer));
    let env = TestEnv::new();
    let instead = Some(("/revoke", Instead::OtherJson));
    let provider =
        Provider::start(Switches { server, instead, token: provider::with_refresh, ..Switches::default() });
    let renew = |more: &[&str]| {
        let ran = env.run(&[&["connect", "--renew", "--no-browser"], more].concat());
        no_secret_in(&ran);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran
    };
    assert_eq!(connect(&env, &provider, &[]).code, Some(0));
    // The same grant again: its token is replaced, and revoking the old token could end the grant.
    assert!(renew(&[]).stdout.contains("the grant has a new token"));
    assert_eq!(connect(&env, &provider, &[]).code, Some(0));
    assert!(provider.seen("/revoke").is_empty());

    provider.switch(|switches| switches.grant_id = "grt_made_up_2");
    let ran = renew(&[]);
    assert!(ran.stdout.contains("The old grant grt_made_up_1 is ended at the provider"), "{}", ran.stdout);
    let ended = provider.seen("/revoke");
    let hints: Vec<_> = ended.iter().map(|seen| seen.body["token_type_hint"].clone()).collect();
    assert_eq!(hints, [json!("refresh_token"), json!("access_token")]);
    let proven = provider.seen("/schema?view=compact");
    assert!(proven.last().unwrap().at < ended[0].at, "the new one was proven before");

    provider.switch(|switches| {
        switches.grant_id = "grt_made_up_3";
        switches.instead = Some(("/revoke", Instead::ServerError));
    });
    let report: Value = serde_json::from_str(&renew(&["--json"]).stdout).unwrap();
    assert_eq!(report["replaces"], "grt_made_up_2");
    let old = &report["old_grant"];
    assert_eq!((&old["ended_at_provider"], &old["code"]), (&json!(false), &json!("revocation_failed")));
    let kept = credentials(&env);
    assert_eq!((kept.len(), kept[0].grant_id.as_str()), (1, "grt_made_up_3"));

    // An expired grant is over, so nobody is asked.
    let before = provider.seen("/revoke").len();
    let index = env.cache_dir().join("index.json");
    let edited = std::fs::read_to_string(&index).unwrap().replace("2099-", "2020-");
    std::fs::write(&index, edited).unwrap();
    provider.switch(|switches| switches.grant_id = "grt_made_up_4");
    let ran = renew(&[]);
    assert!(ran.stdout.contains("The old grant grt_made_up_3 had already ended"), "{}", ran.stdout);
    assert_eq!(provider.seen("/revoke").len(), before);
}

#[test]
fn a_renewed_grant_of_the_sandbox_leaves_the_old_token_dead() {
    use crate::support::filled::start;
    use pdpp::sandbox::Config;
    let sandbox = start(Config { auto_approve: true, ..Config::default() });
    let env = TestEnv::new();
    assert_eq!(env.run(&["connect", sandbox.url(), "--no-browser"]).code, Some(0));
    let old = bearer(&env, &credentials(&env)[0]);
    let read = |token: &str| {
        let address = sandbox.url().trim_start_matches("http://");
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let head = format!("host: {address}\r\nauthorization: Bearer {token}\r\nconnection: close");
        write!(stream, "GET /v1/schema HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(read(&old), "200");
    let ran = env.run(&["connect", "--renew", "--no-browser"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("is ended at the provider, and deleted here"), "{}", ran.stdout);
    let kept = credentials(&env);
    assert_eq!(kept.len(), 1);
    assert_eq!(read(&bearer(&env, &kept[0])), "200");
    assert_ne!(read(&old), "200");
    sandbox.stop();
}

#[test]
fn an_unknown_name_is_reported_with_the_known_ones() {
    use crate::support::filled::start;
    use pdpp::sandbox::Config;
    const MAIL: &str = "https://sandbox.pdpp.example/connectors/mail";
    let sandbox = start(Config { auto_approve: true, ..Config::default() });
    let env = TestEnv::new();
    let refused = |more: &[&str], code: &str| {
        let ran = by_code_at(&env, sandbox.url(), more, approving);
        failed(&ran, 2, code);
        ran.stderr
    };
    let stderr = refused(&["--source", "https://sandbox.pdpp.example/connectors/male"], "source_unknown");
    assert!(
        stderr.contains(&format!("It knows:\n  {MAIL} (")) && stderr.contains("connectors/bank"),
        "{stderr}"
    );
    assert!(stderr.contains(&format!(
        "next: Use a name from the list: pdpp connect {} --source {MAIL}",
        sandbox.url()
    )));
    let stderr = refused(&["--source", MAIL, "--stream", "mesages"], "stream_unknown");
    assert!(stderr.contains("It knows:\n  messages\n") && stderr.contains("--stream messages"), "{stderr}");
    let stderr = refused(&["--stream", "playlist"], "stream_unknown");
    assert!(stderr.contains("It knows:\n  playlists\n") && stderr.contains("  and 7 more\n"), "{stderr}");
    let stderr = refused(&["--source", MAIL, "--field", "messages.subjekt"], "field_unknown");
    assert!(stderr.contains("It knows:\n  messages.subject\n"), "{stderr}");
    let stderr = refused(&["--source", MAIL, "--instance", "cin_mail_werk"], "instance_unknown");
    assert!(stderr.contains("It knows:\n  cin_mail_work (Work mail)\n"), "{stderr}");
    // With two accounts and no terminal, it does not pick one: it lists the choices.
    for flow in ["par", "device-code"] {
        let stderr = refused(&["--source", MAIL, "--flow", flow], "instance_required");
        assert!(
            stderr.contains("cin_mail_personal (Personal mail)") && stderr.contains("--instance <ID>"),
            "{stderr}"
        );
    }
    refused(&["--source", MAIL, "--flow", "authorization-code"], "instance_required");
    // The code flow reports errors through the browser, which cannot list sources; what earlier grants showed is
    // listed.
    let code = ["--flow", "authorization-code", "--stream", "transaction"];
    let stderr = refused(&code, "stream_unknown");
    assert!(stderr.contains("Leave --stream out"), "{stderr}");
    assert_eq!(env.run(&["connect", sandbox.url(), "--no-browser"]).code, Some(0));
    assert!(refused(&code, "stream_unknown").contains("It knows:\n  transactions\n"));
    sandbox.stop();
}

#[test]
fn a_wrong_proxy_or_ca_file_is_a_usage_error_and_nobody_is_asked() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let (empty, text) = (env.home().join("empty.pem"), env.home().join("text.pem"));
    std::fs::write(&empty, "").unwrap();
    std::fs::write(&text, "hello").unwrap();
    for file in [env.home().join("none.pem"), env.home(), empty, text] {
        let file = file.to_str().unwrap();
        let ran = env.run(&["connect", provider.url(), "--no-browser", "--ca-file", file]);
        failed(&ran, 2, "ca_file_invalid");
        assert!(
            ran.stderr.starts_with("error: --ca-file does not name a usable file")
                && ran.stderr.contains(file),
            "{}",
            ran.stderr
        );
    }
    for proxy in ["proxy.example:3128", "socks5://proxy.example", "http://", "http://proxy.example/x"] {
        failed(&env.run(&["connect", provider.url(), "--no-browser", "--proxy", proxy]), 2, "proxy_invalid");
    }
    assert!(provider.seen("").is_empty());
}

#[test]
fn an_unwritable_cache_is_noticed_before_the_owner_is_asked() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let blocked = env.home().join("file");
    std::fs::write(&blocked, "").unwrap();
    let inside = blocked.join("cache");
    let ran = env.run(&["connect", provider.url(), "--no-browser", "--cache-dir", inside.to_str().unwrap()]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("code: cache_un"), "{}", ran.stderr);
    assert!(provider.seen("").is_empty(), "nobody was asked");
}

/// Where a secret must not appear: in everything that the process writes at its most verbose, and in what it starts.
#[cfg(unix)]
#[test]
fn a_canary_is_found_nowhere() {
    use std::os::unix::fs::PermissionsExt as _;
    let all =
        |server: provider::Edit| Switches { server, token: provider::with_refresh, ..Switches::default() };
    let cases: Vec<(Switches, &[&str])> = vec![
        (all(|_, _| ()), &[]),
        (all(provider::with_all), &["--flow", "device-code"]),
        (all(provider::with_code), &["--wait", "5"]),
        (Switches { polls: vec![Poll::Denied], ..all(|_, _| ()) }, &[]),
        (Switches { polls: vec![Poll::Unknown], ..all(provider::with_device) }, &["--flow", "device-code"]),
        (Switches { instead: Some(("/schema?view=compact", Instead::Unauthorized)), ..all(|_, _| ()) }, &[]),
        (Switches { instead: Some(("/token", Instead::Html)), ..all(provider::with_code) }, &["--wait", "5"]),
        (
            Switches { token: |token, _| token["token_type"] = json!("canary-token-5d1f"), ..all(|_, _| ()) },
            &[],
        ),
    ];
    std::thread::scope(|scope| {
        for (number, (switches, more)) in cases.iter().enumerate() {
            scope.spawn(move || {
                let env = TestEnv::new();
                let provider = Provider::start(switches.clone());
                // A browser that records its arguments, and keeps the page that it received.
                let (script, log) = (env.home().join("browser"), env.home().join("log"));
                let text = format!(
                    "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" > {0}\ntr '\\0' '\\n' < /proc/$PPID/cmdline >> {0}\nenv >> {0}\n\
                     cp \"${{1#file://}}\" {0}.tmp && mv {0}.tmp {0}.html\n",
                    log.display()
                );
                std::fs::write(&script, text).unwrap();
                std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
                let arguments = [&["connect", provider.url(), "--log-level", "info"], *more].concat();
                let mut command = env.pdpp(&arguments);
                let mut child = command
                    .env("BROWSER", &script)
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap();
                let page = log.with_extension("html");
                while !page.exists() {
                    assert!(child.try_wait().unwrap().is_none(), "it ended before its browser started");
                    std::thread::sleep(Duration::from_millis(10));
                }
                let page = Page::by_file(&std::fs::read_to_string(&page).unwrap());
                if page.url.contains("/authorize?") {
                    approving(&page);
                }
                let mut everything = String::new();
                child.stderr.take().unwrap().read_to_string(&mut everything).unwrap();
                child.stdout.take().unwrap().read_to_string(&mut everything).unwrap();
                let ended = child.wait().unwrap();
                everything.push_str(&std::fs::read_to_string(&log).unwrap());
                let verifiers: Vec<String> = provider
                    .seen("/token")
                    .iter()
                    .filter_map(|seen| seen.body["code_verifier"].as_str().map(str::to_owned))
                    .collect();
                assert_eq!(ended.code() == Some(0), number < 3, "{number}: {everything}");
                // For a device code the page's address is shown, because any browser may open it.
                let address = Some(page.url.as_str()).filter(|url| !url.contains("user_code"));
                let shown = [TOKEN, REFRESH, POLLING_CODE, CODE, DEVICE_CODE, page.cookie.as_str()];
                let verifiers = verifiers.iter().map(String::as_str);
                for secret in shown.into_iter().chain(address).chain(verifiers) {
                    assert!(!everything.contains(secret), "{number}: {secret} in {everything}");
                }
            });
        }
    });
}
