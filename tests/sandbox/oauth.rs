//! The other flows to a token: code, device code, refresh, packages, client documents.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use pdpp::sandbox::Config;
use pdpp::vault::Vault;
use pdpp::vault::oauth::tokens::{self, Standing};
use serde_json::{Value, json};

use super::connect::{Page, register};
use super::{Answer, BASE, ask, get, life, post, shared};
use crate::support::filled;

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
const RESOURCE: &str = "http://127.0.0.1:7377/mcp";
const CALLBACK: &str = "http://127.0.0.1:49152/callback";
// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const BANK: &str = "https://sandbox.pdpp.example/connectors/bank";

fn form(app: &Vault, target: &str, pairs: &[(&str, &str)]) -> Answer {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    ask(app, "POST", target, &[FORM], body.as_bytes())
}

fn authorize<'a>(app: &Vault, client: &'a str, edit: impl FnOnce(&mut Vec<(&'a str, &'a str)>)) -> Answer {
    let mut query = vec![
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", CALLBACK),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "s 1&x"),
        ("resource", RESOURCE),
    ];
    edit(&mut query);
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    ask(app, "GET", &format!("/oauth/authorize?{query}"), &[], b"")
}

/// The parameters of the redirect back.
fn sent_back(answer: &Answer) -> std::collections::BTreeMap<String, String> {
    assert_eq!(answer.status, 303, "{}", answer.text());
    let location = answer.header("location").unwrap();
    assert!(location.starts_with(&format!("{CALLBACK}?")), "{location}");
    url::Url::parse(location).unwrap().query_pairs().into_owned().collect()
}

fn code(answer: &Answer) -> String {
    let back = sent_back(answer);
    assert_eq!((back["state"].as_str(), back["iss"].as_str()), ("s 1&x", BASE));
    back["code"].clone()
}

/// The owner picks these accounts and approves all of them; returns the code.
fn picked(app: &Vault, client: &str, accounts: &[&str]) -> String {
    let begun = authorize(app, client, |_| ());
    let page = Page::open(app, begun.header("location").unwrap());
    code(&page.approve(app, &page.with_accounts(accounts)))
}

fn exchange(app: &Vault, client: &str, code: &str, edit: impl FnOnce(&mut Vec<(&str, &str)>)) -> Answer {
    let mut pairs = vec![
        ("grant_type", "authorization_code"),
        ("client_id", client),
        ("code", code),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    edit(&mut pairs);
    form(app, "/oauth/token", &pairs)
}

fn refresh(app: &Vault, client: &str, token: &Value) -> Answer {
    let token = token.as_str().unwrap();
    form(
        app,
        "/oauth/token",
        &[("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", token)],
    )
}

fn error(answer: &Answer) -> String {
    answer.json()["error"].as_str().unwrap_or_default().to_owned()
}

fn introspect(app: &pdpp::vault::server::Handle, token: &str) -> Value {
    let client = app.vault().introspection();
    let basic = base64::engine::general_purpose::STANDARD
        .encode(format!("{}:{}", client.client_id, client.client_secret));
    let body = format!("token={token}");
    let headers = [FORM, ("authorization", &format!("Basic {basic}"))];
    ask(app.vault(), "POST", "/introspect", &headers, body.as_bytes()).json()
}

#[test]
fn one_source_is_a_client_token_that_is_refreshed_once() {
    let handle = filled::start(Config::default());
    let app = handle.vault().as_ref();
    let client = register(app, "Native");
    // Two accounts of one kind are one source.
    let code = picked(app, &client, &["cin_mail_work", "cin_mail_personal"]);
    let answer = exchange(app, &client, &code, |_| ());
    assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")), "{}", answer.text());
    let first = answer.json();
    assert_eq!(first["grant"]["source"]["id"], "https://sandbox.pdpp.example/connectors/mail");
    assert_eq!(first["grant_id"], first["grant"]["grant_id"]);
    assert!(first["grant_package_id"].is_null() && first["expires_in"].as_i64().unwrap() <= 3600);
    let bearer = |body: &Value| body["access_token"].as_str().unwrap().to_owned();
    assert_eq!(get(app, &bearer(&first), "/v1/schema").status, 200);
    assert!(introspect(&handle, &bearer(&first))["exp"].is_i64());

    let second = refresh(app, &client, &first["refresh_token"]).json();
    assert_ne!(second["refresh_token"], first["refresh_token"]);
    assert_eq!(second["grant_id"], first["grant_id"]);
    assert_eq!(get(app, &bearer(&second), "/v1/schema").status, 200);
    let other_client = register(app, "Other");
    assert_eq!(error(&refresh(app, &other_client, &second["refresh_token"])), "invalid_grant");
    let third = refresh(app, &client, &second["refresh_token"]).json();
    // A used one: the thief and the owner's app cannot be told apart, so both lose it.
    let reused = refresh(app, &client, &second["refresh_token"]);
    assert_eq!((reused.status, error(&reused).as_str()), (400, "invalid_grant"));
    assert_eq!(error(&refresh(app, &client, &third["refresh_token"])), "invalid_grant");
    for dead in [&first, &second, &third] {
        assert_eq!(get(app, &bearer(dead), "/v1/schema").code(), "context.active_false");
        assert_eq!(introspect(&handle, &bearer(dead)), json!({ "active": false }));
    }
    handle.stop();
}

fn grants_of_package(app: &Vault, token: &str) -> usize {
    match tokens::standing(app, token, |resource| resource.is_none_or(|resource| resource == RESOURCE))
        .unwrap()
    {
        Standing::Package(_, grants) => grants.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn several_sources_are_a_package_that_v1_does_not_know() {
    let handle = filled::start(Config::default());
    let app = handle.vault().as_ref();
    let client = register(app, "Native");
    let code = picked(app, &client, &["cin_mail_work", "cin_bank_fjord"]);
    let body = exchange(app, &client, &code, |_| ()).json();
    assert_eq!(body["pdpp_token_kind"], "mcp_package");
    assert!(body["grant_id"].is_null() && body["grant_package_id"].is_string());
    assert_eq!(body["grants"].as_array().unwrap().len(), 2);
    assert!(body["expires_in"].as_i64().unwrap() <= 600, "short-lived");
    let token = body["access_token"].as_str().unwrap();
    for target in ["/v1/schema", "/v1/search?q=invoice", "/v1/streams"] {
        let answer = get(app, token, target);
        assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{target}");
    }
    let known = introspect(&handle, token);
    assert_eq!(
        (known["active"].as_bool(), known["pdpp_token_kind"].as_str()),
        (Some(true), Some("mcp_package"))
    );
    assert_eq!(known["grant_package_id"], body["grant_package_id"]);
    assert_eq!(grants_of_package(app, token), 2);
    // One of its grants can be ended alone; the rest continues.
    let gone = body["grants"][0]["grant_id"].as_str().unwrap();
    let bearer = format!("Bearer {token}");
    let revoked = ask(app, "POST", &format!("/grants/{gone}/revoke"), &[("authorization", &bearer)], b"{}");
    assert_eq!(revoked.status, 200);
    assert_eq!(grants_of_package(app, token), 1);
    let again = refresh(app, &client, &body["refresh_token"]).json();
    assert_eq!(again["grants"].as_array().unwrap().len(), 1);
    handle.stop();
}

#[test]
fn a_code_is_good_once_for_whom_it_was_sent() {
    let app = shared();
    let client = register(app, "Native");
    let other = register(app, "Other");
    let fresh = || picked(app, &client, &["cin_bank_fjord"]);
    let refused = |answer: &Answer| (answer.status, error(answer));
    let invalid = (400, "invalid_grant".to_owned());
    assert_eq!(refused(&exchange(app, &other, &fresh(), |_| ())), invalid, "another client");
    let wrong = |name: &'static str, value: &'static str| {
        exchange(app, &client, &fresh(), |pairs| {
            pairs.retain(|(known, _)| *known != name);
            pairs.push((name, value));
        })
    };
    assert_eq!(refused(&wrong("redirect_uri", "http://127.0.0.1:49152/other")), invalid);
    assert_eq!(refused(&wrong("code_verifier", CHALLENGE)), invalid);
    assert_eq!(refused(&wrong("resource", "https://elsewhere.example")), (400, "invalid_target".to_owned()));
    assert_eq!(refused(&wrong("code", "pdpp_ac_made_up")), invalid);
    let missing =
        exchange(app, &client, &fresh(), |pairs| pairs.retain(|(name, _)| *name != "code_verifier"));
    assert_eq!(refused(&missing), (400, "invalid_request".to_owned()));
    assert_eq!(error(&exchange(app, "cli_nope", &fresh(), |_| ())), "invalid_client");

    let code = fresh();
    let body = exchange(app, &client, &code, |_| ()).json();
    let token = body["access_token"].as_str().unwrap();
    assert_eq!(get(app, token, "/v1/schema").status, 200);
    assert_eq!(refused(&exchange(app, &client, &code, |_| ())), invalid, "a second time");
    assert_eq!(get(app, token, "/v1/schema").code(), "context.active_false", "and what it got is gone");
    assert_eq!(error(&refresh(app, &client, &body["refresh_token"])), "invalid_grant");
    assert_eq!(
        error(&form(app, "/oauth/token", &[("grant_type", "password"), ("client_id", &client)])),
        "unsupported_grant_type"
    );
}

#[test]
fn a_wrong_request_is_a_page_until_the_address_is_the_clients() {
    let app = shared();
    let native = json!({ "client_name": "Native", "redirect_uris": ["http://127.0.0.1/callback"] });
    let client = post(app, "/oauth/register", &native).json()["client_id"].as_str().unwrap().to_owned();
    let client: &'static str = client.leak();
    for (why, answer) in [
        ("client", authorize(app, "cli_nope", |_| ())),
        ("no client", authorize(app, client, |query| query.retain(|(name, _)| *name != "client_id"))),
        ("no address", authorize(app, client, |query| query.retain(|(name, _)| *name != "redirect_uri"))),
        ("elsewhere", authorize(app, client, |query| query[2].1 = "https://evil.example/callback")),
        ("path", authorize(app, client, |query| query[2].1 = "http://127.0.0.1:49152/other")),
        ("twice", authorize(app, client, |query| query.push(("state", "b")))),
    ] {
        assert_eq!(answer.status, 400, "{why}");
        assert!(
            answer.header("location").is_none() && answer.text().contains("This request is not valid"),
            "{why}"
        );
    }
    let refusal = |edit: fn(&mut Vec<(&'static str, &'static str)>)| {
        let answer = authorize(app, client, edit);
        assert_eq!(
            (answer.status, answer.header("location")),
            (400, None),
            "nobody is sent anywhere before a decision"
        );
        answer.text()
    };
    assert!(refusal(|query| query[0].1 = "token").contains("response_type"));
    assert!(refusal(|query| query[4].1 = "plain").contains("S256"));
    assert!(refusal(|query| query[3].1 = "short").contains("code_challenge"));
    assert!(refusal(|query| query[6].1 = "https://elsewhere.example").contains("not this provider"));
    assert!(refusal(|query| query.push(("authorization_details", "[{}]"))).contains("authorization_details"));
    let loaded = |goes_to: &str| {
        let query = format!("/oauth/authorize?response_type=code&client_id={client}");
        ask(app, "GET", &query, &[("sec-fetch-dest", goes_to)], b"").text()
    };
    assert!(
        loaded("image").contains("as part of another page")
            && loaded("iframe").contains("as part of another page")
    );
    assert!(loaded("document").contains("redirect_uri is required"));
    let begun = authorize(app, client, |_| ());
    let page = Page::open(app, begun.header("location").unwrap());
    assert!(page.html.contains("your browser returns to the app on this computer"));
    assert_eq!(sent_back(&page.send(app, "deny", &[]))["error"], "access_denied");
    let policy = Page::open(app, authorize(app, client, |_| ()).header("location").unwrap()).get(app, "");
    let policy = policy.header("content-security-policy").unwrap();
    assert!(policy.contains("form-action 'self' http://127.0.0.1:49152;"), "{policy}");
    for bad in [
        json!(["javascript:alert(1)"]),
        json!(["http://evil.example/cb"]),
        json!("x"),
        json!([1]),
        json!(["https://evil.example;sandbox/"]),
        json!(["vbscript:x"]),
    ] {
        let answer = post(app, "/oauth/register", &json!({ "client_name": "x", "redirect_uris": bad }));
        assert_eq!(error(&answer), "invalid_redirect_uri", "{bad}");
    }
}

/// RFC 9396 in an authorization request: the page shows what is requested, and nothing is preselected.
#[test]
fn details_of_a_request_narrow_it() {
    let app = shared();
    let client = register(app, "Native");
    let soon = pdpp::vault::time::format_ms(pdpp::vault::time::now_ms() + 3_600_000);
    let details = json!([{ "type": "https://pdpp.dev/data-access", "source": { "id": BANK },
        "purpose_code": "https://pdpp.dev/purpose/personal_assistant", "expires_at": soon,
        "streams": [{ "name": "transactions", "fields": ["amount"], "time_range": { "since": "2026-01-01T00:00:00Z" } }] }]);
    let details = details.to_string();
    let begun = authorize(app, &client, |query| query.push(("authorization_details", &details)));
    let page = Page::open(app, begun.header("location").unwrap());
    assert!(
        page.html.contains("value=\"asked\" selected") && !page.html.contains("statements"),
        "sooner than usual"
    );
    assert!(page.html.contains(&format!("as the app asks: {} {} UTC", &soon[..10], &soon[11..16])));
    let code = code(&page.approve(app, &page.fields()));
    let grant = exchange(app, &client, &code, |_| ()).json()["grant"].clone();
    assert_eq!(grant["expires_at"], soon.as_str());
    assert_eq!(grant["streams"][0]["time_constraint"]["since"], "2026-01-01T00:00:00.000Z");
    assert!(!grant["streams"][0]["fields"].as_array().unwrap().contains(&"memo".into()));
}

#[test]
fn an_authorization_request_for_everything_can_say_what_for() {
    let app = shared();
    let client = register(app, "Native");
    let page = |more: &[(&'static str, &'static str)]| {
        let begun = authorize(app, &client, |query| query.extend(more));
        Page::open(app, begun.header("location").unwrap()).html
    };
    assert!(page(&[]).contains("The app stated no purpose."));
    assert!(page(&[("purpose_description", "Plan a trip")]).contains("<p>Plan a trip</p>"));
}

#[test]
fn o7_8_an_apps_own_end_is_shown_and_a_year_is_the_furthest() {
    let app = shared();
    let client = register(app, "Native");
    let details = json!([{ "type": "https://pdpp.dev/data-access", "source": { "id": BANK },
        "expires_at": "9999-01-01T00:00:00Z", "streams": [{ "name": "*" }] }]);
    let far = details.to_string();
    let begun = authorize(app, &client, |query| query.push(("authorization_details", &far)));
    let page = Page::open(app, begun.header("location").unwrap());
    assert!(
        page.html.contains("ongoing access until 9999-01-01 00:00 UTC")
            && !page.html.contains("as the app asks")
    );
    let mut fields = page.fields();
    fields.push(("expires".to_owned(), "asked".to_owned()));
    assert_eq!(page.send(app, "review", &fields).status, 400);
}

/// The provider serves one resource, so a request that names none is for that one.
#[test]
fn a_request_that_names_no_resource_is_for_the_one_there_is() {
    let handle = filled::start(Config::default());
    let app = handle.vault().as_ref();
    let client = register(app, "Plain");
    let begun = authorize(app, &client, |query| query.retain(|(name, _)| *name != "resource"));
    let page = Page::open(app, begun.header("location").unwrap());
    let code = code(&page.approve(app, &page.with_accounts(&["cin_bank_fjord"])));
    let body = exchange(app, &client, &code, |_| ()).json();
    let token = body["access_token"].as_str().unwrap();
    assert_eq!(introspect(&handle, token)["aud"], RESOURCE);
    assert_eq!(get(app, token, "/v1/schema").status, 200);
    let again = form(
        app,
        "/oauth/token",
        &[
            ("grant_type", "refresh_token"),
            ("client_id", &client),
            ("refresh_token", body["refresh_token"].as_str().unwrap()),
            ("resource", RESOURCE),
        ],
    );
    assert_eq!(again.status, 200, "{}", again.text());
    handle.stop();
}

#[test]
fn a_device_gets_its_token_once_the_owner_approved_the_page_with_its_code() {
    let app = life();
    let client = register(&app, "Set-top box");
    let details = json!([{ "type": "https://pdpp.dev/data-access", "source": { "id": BANK }, "streams": [{ "name": "*" }] }]);
    let details = details.to_string();
    let start = || {
        let pairs =
            [("client_id", client.as_str()), ("resource", RESOURCE), ("authorization_details", &details)];
        form(&app, "/oauth/device_authorization", &pairs).json()
    };
    let poll = |begun: &Value, client: &str| {
        let pairs = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", begun["device_code"].as_str().unwrap()),
            ("client_id", client),
        ];
        form(&app, "/oauth/token", &pairs)
    };
    // The owner's page of the request that shows this code.
    let page_of = |code: &str| {
        let page = Page::open(&app, &filled::page_of_code(code));
        assert!(page.html.contains(code));
        page
    };
    let begun = start();
    let user_code = begun["user_code"].as_str().unwrap();
    assert_eq!(error(&poll(&begun, &client)), "authorization_pending");
    assert_eq!(error(&poll(&begun, &client)), "slow_down");
    assert_eq!(error(&poll(&begun, &register(&app, "Other"))), "invalid_grant");

    let page = page_of(user_code);
    assert!(
        page.html.contains("The device that asks must show the same code") && page.html.contains(user_code)
    );
    assert_eq!(page.approve(&app, &page.fields()).status, 303);
    let body = poll(&begun, &client).json();
    assert_eq!(get(&app, body["access_token"].as_str().unwrap(), "/v1/schema").status, 200);
    assert_eq!(poll(&begun, &client).json(), body, "an answer can get lost");

    let denied = start();
    page_of(denied["user_code"].as_str().unwrap()).send(&app, "deny", &[]);
    assert_eq!(error(&poll(&denied, &client)), "access_denied");

    // No page accepts a typed code: nobody can guess codes, and nobody's guesses block another person.
    let open = start();
    let (named, bare) =
        (open["verification_uri_complete"].as_str().unwrap(), open["verification_uri"].as_str().unwrap());
    let shown = |url: &str| ask(&app, "GET", url.strip_prefix(BASE).unwrap(), &[], b"");
    assert_eq!((shown(named).status, shown(named).text()), (200, shown(bare).text()));
    for _ in 0..30 {
        assert_eq!(ask(&app, "POST", "/consent/device", &[FORM], b"user_code=BBBB-BBBB").status, 405);
    }
    let page = page_of(open["user_code"].as_str().unwrap());
    assert_eq!(page.approve(&app, &page.fields()).status, 303);
    assert_eq!(
        error(&form(&app, "/oauth/device_authorization", &[("client_id", &client)])),
        "invalid_request"
    );
}

/// Serves `body` at any path of a loopback port, to every client.
fn document_server(body: impl Fn(&str) -> Vec<u8> + Send + 'static) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let base = url.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 2048];
            let _ = stream.read(&mut head);
            let path = String::from_utf8_lossy(&head);
            let path = path.split(' ').nth(1).unwrap_or("/").to_owned();
            let _ = stream.write_all(&body(&format!("{base}{path}")));
        }
    });
    url
}

#[test]
fn a_clients_own_document_says_who_it_is() {
    let app = shared();
    let url = document_server(|id| {
        let redirects = ["http://127.0.0.1/callback"];
        let document = match id.rsplit('/').next().unwrap() {
            "good" => json!({ "client_id": id, "client_name": "Documented", "redirect_uris": redirects })
                .to_string(),
            "other" => json!({ "client_id": "http://127.0.0.1/x", "redirect_uris": redirects }).to_string(),
            "huge" => format!("{{\"x\":\"{}\"}}", "x".repeat(100_000)),
            "moved" => return b"HTTP/1.1 302 Found\r\nlocation: /good\r\ncontent-length: 0\r\n\r\n".to_vec(),
            "page" => "<!doctype html>".to_owned(),
            _ => return b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec(),
        };
        format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{document}",
            document.len()
        )
        .into_bytes()
    });
    let begun = authorize(app, &format!("{url}/good"), |_| ());
    let page = Page::open(app, begun.header("location").unwrap());
    assert!(page.html.contains("<q>Documented</q>") && page.html.contains("Unverified app"), "{}", page.html);
    for (path, why) in [
        ("other", "its own address"),
        ("huge", "larger than"),
        ("moved", "HTTP 302"),
        ("page", "not a JSON object"),
        ("none", "HTTP 404"),
    ] {
        let answer = authorize(app, &format!("{url}/{path}"), |_| ());
        assert_eq!(answer.status, 400, "{path}");
        assert!(answer.text().contains(why), "{path}: {}", answer.text());
    }
    for private in ["https://10.0.0.1/c", "https://169.254.169.254/c", "http://client.example/c"] {
        let answer = authorize(app, private, |_| ());
        assert!(answer.status == 400 && answer.text().contains("its address"), "{private}");
    }
}

/// A whole provider narrowed to streams, with the same stream in two sources.
#[test]
fn a_whole_provider_can_be_asked_for_streams() {
    let app = filled::open(Config { auto_approve: true, ..Config::default() });
    let client = register(&app, "Narrow");
    let pushed = post(
        &app,
        "/oauth/par",
        &json!({ "client_id": client, "authorization_details": [{
        "type": "https://pdpp.dev/data-access", "source": { "id": BASE, "kind": "provider_native" },
        "streams": [{ "name": "messages", "time_range": { "since": "2026-01-01" } }],
    }] }),
    );
    assert_eq!(pushed.status, 201, "{}", pushed.text());
    let asked = json!({ "client_id": client, "request_uri": pushed.json()["request_uri"] });
    let attempt = post(&app, "/agent-connect", &asked).json();
    let target = attempt["poll_url"].as_str().unwrap().strip_prefix(BASE).unwrap();
    let grant =
        post(&app, target, &json!({ "polling_code": attempt["polling_code"] })).json()["grant"].clone();
    let streams = grant["streams"].as_array().unwrap();
    assert!(streams.len() > 1 && streams.iter().all(|stream| stream["name"] == "messages"), "{streams:?}");
    assert!(streams.iter().all(|stream| stream["time_constraint"]["since"] == "2026-01-01T00:00:00.000Z"));
}

/// If everything is granted automatically anyway, an unknown name is answered with the known ones; with several
/// accounts, nobody is there to choose one.
#[test]
fn with_auto_approve_a_name_that_is_not_known_is_answered_with_those_that_are() {
    const MAIL: &str = "https://sandbox.pdpp.example/connectors/mail";
    let app = filled::open(Config { auto_approve: true, ..Config::default() });
    let client = register(&app, "Narrow");
    let push = |source: &str, streams: Value| {
        let details = json!([{
            "type": "https://pdpp.dev/data-access", "source": { "id": source }, "streams": streams,
        }]);
        post(&app, "/oauth/par", &json!({ "client_id": client, "authorization_details": details }))
    };
    let has = |answer: super::Answer, list: &str, pointer: &str, wanted: &str| {
        assert_eq!(answer.status, 400, "{}", answer.text());
        let body = answer.json();
        let known = body["error"][list].as_array().unwrap_or_else(|| panic!("{list} in {body}")).clone();
        assert!(known.iter().any(|entry| entry.pointer(pointer).unwrap() == wanted), "{wanted} in {body}");
    };
    let all = json!([{ "name": "*" }]);
    has(push("https://sandbox.pdpp.example/nope", all.clone()), "available_sources", "/id", MAIL);
    has(push(MAIL, json!([{ "name": "mesages" }])), "available_streams", "", "messages");
    let field = |name: &str| json!([{ "name": "messages", "fields": [name] }]);
    has(push(MAIL, field("subjekt")), "available_fields", "", "subject");
    assert_eq!(push(BASE, field("nope")).status, 400);
    assert_eq!(push(BASE, field("subject")).status, 201, "of the sources that have it");
    let nobody = json!([{ "name": "*", "instance_ids": ["nope"] }]);
    has(push(MAIL, nobody), "available_connections", "/connection_id", "cin_mail_work");
    let asked = json!({ "client_id": client, "request_uri": push(MAIL, all).json()["request_uri"] });
    let begun = post(&app, "/agent-connect", &asked);
    assert_eq!(begun.code(), "ambiguous_connection");
    has(begun, "available_connections", "/connection_id", "cin_mail_personal");
}

/// A store in the state of an older release: format 1 has no packages, and no old format has today's indexes.
#[test]
fn an_older_store_is_read_on_and_its_words_are_found() {
    for format in [1, 2, 3] {
        let dir = filled::data_dir(1);
        let open = || {
            let config = Config { data_dir: Some(dir.path().to_owned()), ..Config::default() };
            pdpp::sandbox::open(config).unwrap()
        };
        let found = |app: &Vault, token: &str, q: &str| {
            get(app, token, &format!("/v1/search?streams[]=contacts&q={q}")).json()["meta"]["count"].clone()
        };
        let app = open();
        let token = super::everything(&app);
        let (mail, reference) = (found(&app, &token, "nguyen"), found(&app, &token, "ingrid"));
        assert!(mail.as_u64() > Some(0), "{mail}");
        let everything = |app: &Vault, token: &str| get(app, token, "/v1/streams").json()["data"].clone();
        let records = everything(&app, &token);
        app.store()
            .write::<_, rusqlite::Error>(|tx, _| {
                tx.execute_batch(
                    "UPDATE record SET data = whole(data, packed); ALTER TABLE record DROP COLUMN packed;
                     UPDATE history SET data = whole(data, packed); ALTER TABLE history DROP COLUMN packed;",
                )
            })
            .unwrap();
        drop(app);
        let db = rusqlite::Connection::open(dir.path().join("sandbox.db")).unwrap();
        let slots: Vec<i64> = db
            .prepare("SELECT DISTINCT slot FROM text_field")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        for slot in 1..=db.query_row("SELECT max(slot) FROM slot", [], |row| row.get::<_, i64>(0)).unwrap() {
            db.execute_batch(&format!("DROP TABLE value_{slot}")).unwrap();
        }
        for slot in slots {
            db.execute_batch(&format!(
                "CREATE VIRTUAL TABLE text_{slot} USING fts5 (c0, c1, content='', contentless_delete=1, tokenize='ascii');
                 INSERT INTO text_{slot} (rowid, c0) SELECT rid, 'nguyễn' FROM record WHERE slot = {slot};"
            ))
            .unwrap();
        }
        db.execute_batch(
            "DROP TABLE text_field; DROP INDEX record_consent; DROP TABLE word; DROP TABLE word_segment;
             DROP TABLE value_column; DROP TABLE value_text;
             CREATE INDEX record_found ON record (rid, slot, live, sort, key, consent_ms);
             DROP TABLE account; DROP TABLE source; DROP TABLE checkpoint; DROP TABLE item; DROP TABLE sighting;
             DROP TABLE change_time; DROP TABLE blob_place;
             CREATE TABLE old (id TEXT PRIMARY KEY, media_type TEXT NOT NULL, bytes BLOB NOT NULL);
             INSERT INTO old SELECT id, media_type, bytes FROM blob; DROP TABLE blob; ALTER TABLE old RENAME TO blob;
             PRAGMA application_id = 0;",
        )
        .unwrap();
        if format == 1 {
            db.execute_batch(
                "DROP TABLE package; DROP TABLE family; DROP TABLE refresh;
                 ALTER TABLE token DROP COLUMN package_id; ALTER TABLE token DROP COLUMN family_id;
                 ALTER TABLE token DROP COLUMN expires_ms;",
            )
            .unwrap();
        }
        db.pragma_update(None, "user_version", format).unwrap();
        drop(db);
        let app = open();
        assert_eq!(get(&app, &token, "/v1/schema").status, 200, "its tokens are still good");
        assert_eq!(found(&app, &token, "nguyen"), mail, "format {format}");
        assert_eq!(found(&app, &token, "ingrid"), reference, "format {format}");
        assert_eq!(found(&app, &token, "Nguyễn"), mail, "format {format}");
        assert_eq!(everything(&app, &token), records, "format {format}");
    }
}
