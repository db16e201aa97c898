//! From a program's question to the owner's answer.

use pdpp::sandbox::Config;
use pdpp::vault::Vault;
use serde_json::{Value, json};

use super::{Answer, BASE, ask, get, post, shared};
use crate::support::filled;

const AGENT: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];

pub fn register(app: &Vault, name: &str) -> String {
    let answer =
        post(app, "/oauth/register", &json!({ "client_name": name, "token_endpoint_auth_method": "none" }));
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["client_id"].as_str().unwrap().to_owned()
}

fn begin(app: &Vault, name: &str) -> Value {
    let client_id = register(app, name);
    let answer = post(
        app,
        "/agent-connect",
        &json!({ "resource": BASE, "scope": "pdpp:read", "client_name": name, "client_id": client_id }),
    );
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()
}

fn push(app: &Vault, client_id: &str, streams: &Value, source: &str) -> Answer {
    post(
        app,
        "/oauth/par",
        &json!({
            "client_id": client_id,
            "authorization_details": [{
                "type": "https://pdpp.dev/data-access",
                "source": { "kind": "connector", "id": source },
                "purpose_code": "https://pdpp.dev/purpose/personal_assistant",
                "purpose_description": "Answer questions about my mail",
                "access_mode": "continuous",
                "streams": streams,
            }],
        }),
    )
}

fn poll(app: &Vault, attempt: &Value) -> Answer {
    let target = attempt["poll_url"].as_str().unwrap().strip_prefix(BASE).unwrap();
    post(app, target, &json!({ "polling_code": attempt["polling_code"] }))
}

/// The owner's browser on the page of a request.
pub struct Page {
    pub target: String,
    pub html: String,
    cookie: String,
    csrf: String,
}

impl Page {
    pub fn open(app: &Vault, approval_url: &str) -> Self {
        let target = approval_url.strip_prefix(BASE).unwrap().to_owned();
        let answer = ask(app, "GET", &target, &[], b"");
        assert_eq!(answer.status, 200);
        let html = answer.text();
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let csrf = html.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        Self { target, html, cookie, csrf }
    }

    /// By way of the page for a device's code.
    pub fn of_user_code(app: &Vault, user_code: &str) -> Self {
        let typed = Self::open(app, &format!("{BASE}/consent/device"));
        let form = [("user_code".to_owned(), user_code.to_owned())];
        let sent = typed.send(app, "device", &form);
        assert_eq!(sent.status, 303, "{}", sent.text());
        Self::open(app, sent.header("location").unwrap())
    }

    /// The form as it is preselected.
    pub fn fields(&self) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        for input in self.html.split("<input type=\"checkbox\"").skip(1) {
            let tag = input.split('>').next().unwrap();
            let attribute = |name: &str| {
                tag.split(&format!(" {name}=\""))
                    .nth(1)
                    .map(|rest| rest.split('"').next().unwrap().to_owned())
            };
            if tag.contains(" checked")
                && let (Some(name), Some(value)) = (attribute("name"), attribute("value"))
            {
                fields.push((name, value));
            }
        }
        fields
    }

    pub fn send(&self, app: &Vault, action: &str, fields: &[(String, String)]) -> Answer {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("request_uri", &self.request_uri()).append_pair("csrf", &self.csrf);
        form.extend_pairs(fields);
        let headers =
            [AGENT[0], ("cookie", self.cookie.as_str()), ("origin", BASE), ("sec-fetch-site", "same-origin")];
        ask(app, "POST", &format!("/consent/{action}"), &headers, form.finish().as_bytes())
    }

    pub fn request_uri(&self) -> String {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        url::form_urlencoded::parse(query.as_bytes())
            .next()
            .map(|(_, uri)| uri.into_owned())
            .unwrap_or_default()
    }
}

#[test]
fn the_owner_is_asked_and_approves() {
    let app = shared();
    let attempt = begin(app, "Reader");
    let waiting = poll(app, &attempt);
    assert_eq!((waiting.status, waiting.json()["error"].as_str()), (202, Some("authorization_pending")));
    let page = Page::open(app, attempt["approval_url"].as_str().unwrap());
    for part in
        ["Reader", "Unverified app", "Personal mail", "Work mail", "Fjord Bank", "body_text", "30 days"]
    {
        assert!(page.html.contains(part), "{part}");
    }
    let sent = page.send(app, "approve", &page.fields());
    assert_eq!(sent.status, 303, "{}", sent.text());
    let approved = poll(app, &attempt);
    assert_eq!(approved.status, 200);
    let body = approved.json();
    assert_eq!(body["token_type"], "Bearer");
    assert_eq!(poll(app, &attempt).json(), body, "an approved poll can be repeated");
    let token = body["access_token"].as_str().unwrap();
    let schema = get(app, token, "/v1/schema?view=compact").json();
    assert_eq!(schema["connector_count"].to_string(), "6");
    assert_eq!(schema["bearer"]["token_kind"], "client");
    let after = ask(app, "GET", &page.target, &[], b"");
    assert!(after.text().contains("Access approved"));
    // What is decided stays decided.
    let denied = page.send(app, "deny", &[]);
    assert_eq!(denied.status, 409);
    assert!(denied.text().contains("Already approved"));
    assert_eq!(poll(app, &attempt).status, 200);
}

#[test]
fn the_owner_narrows() {
    let app = shared();
    let attempt = begin(app, "Reader");
    let page = Page::open(app, attempt["approval_url"].as_str().unwrap());
    // Of the work mailbox's messages, subject only; of the private one, nothing, though its boxes stay ticked.
    let number = page.html.split("value=\"cin_mail_work\"").nth(1).unwrap();
    let number = number.split("name=\"stream\" checked value=\"").nth(1).unwrap().split('"').next().unwrap();
    let mut fields: Vec<(String, String)> = page.fields();
    fields.retain(|(name, value)| match name.as_str() {
        "connection" => value == "cin_mail_work",
        "stream" => value == number || value == "0",
        "field" => value == &format!("{number}.subject") || value.starts_with("0."),
        _ => false,
    });
    fields.push(("since".to_owned(), "2026-06-01".to_owned()));
    fields.push(("expires".to_owned(), "1h".to_owned()));
    assert_eq!(page.send(app, "approve", &fields).status, 303);
    let body = poll(app, &attempt).json();
    let streams = body["grant"]["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 1);
    assert_eq!(streams[0]["instance_ids"], json!(["cin_mail_work"]));
    assert_eq!(
        streams[0]["fields"],
        json!(["id", "thread_id", "subject", "received_at"]),
        "required ones stay"
    );
    assert_eq!(streams[0]["time_constraint"]["since"], "2026-06-01T00:00:00.000Z");
    assert!(body["grant"]["expires_at"].is_string());
    let token = body["access_token"].as_str().unwrap();
    assert_eq!(get(app, token, "/v1/streams/messages/records?fields=snippet").code(), "field_not_granted");
    let nothing = Page::open(app, begin(app, "Reader")["approval_url"].as_str().unwrap());
    let again = nothing.send(app, "approve", &[("connection".to_owned(), "cin_mail_work".to_owned())]);
    assert_eq!(again.status, 400);
    assert!(again.text().contains("Nothing would be shared"));
}

#[test]
fn the_owner_denies() {
    let app = shared();
    let attempt = begin(app, "Reader");
    let page = Page::open(app, attempt["approval_url"].as_str().unwrap());
    assert_eq!(page.send(app, "deny", &[]).status, 303);
    let first = poll(app, &attempt);
    assert_eq!((first.status, first.code().as_str()), (403, "access_denied"));
    let second = poll(app, &attempt);
    assert_eq!((second.status, second.code().as_str()), (401, "invalid_grant"));
    let wrong = post(
        app,
        attempt["poll_url"].as_str().unwrap().strip_prefix(BASE).unwrap(),
        &json!({ "polling_code": "agc_poll_wrong" }),
    );
    assert_eq!((wrong.status, wrong.code().as_str()), (401, "invalid_grant"));
}

#[test]
fn a_form_from_elsewhere_decides_nothing() {
    let app = shared();
    let attempt = begin(app, "Reader");
    let page = Page::open(app, attempt["approval_url"].as_str().unwrap());
    let other = Page::open(app, begin(app, "Other")["approval_url"].as_str().unwrap());
    let uri = page.request_uri();
    let body = |csrf: &str| {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("request_uri", &uri).append_pair("csrf", csrf);
        form.extend_pairs(page.fields());
        form.finish()
    };
    let send = |headers: &[(&str, &str)], csrf: &str| {
        let headers: Vec<(&str, &str)> = AGENT.iter().chain(headers).copied().collect();
        ask(app, "POST", "/consent/approve", &headers, body(csrf).as_bytes())
    };
    let own = ("cookie", page.cookie.as_str());
    for (why, answer) in [
        ("no cookie", send(&[], &page.csrf)),
        ("no token", send(&[own], "")),
        ("another request's token", send(&[own], &other.csrf)),
        ("another browser's cookie", send(&[("cookie", &other.cookie)], &page.csrf)),
        ("another origin", send(&[own, ("origin", "https://evil.example")], &page.csrf)),
        ("another site", send(&[own, ("sec-fetch-site", "cross-site")], &page.csrf)),
    ] {
        assert_eq!(answer.status, 403, "{why}");
    }
    assert_eq!(poll(app, &attempt).status, 202, "still open");
    assert_eq!(send(&[own, ("origin", BASE)], &page.csrf).status, 303);
}

#[test]
fn what_a_client_says_is_escaped_and_attributed() {
    let app = shared();
    let evil = "<script>alert(1)</script>\u{202e}\"'&";
    let client_id = register(app, evil);
    let pushed = post(
        app,
        "/oauth/par",
        &json!({
            "client_id": client_id,
            "authorization_details": [{
                "type": "https://pdpp.dev/data-access",
                "source": { "id": "https://sandbox.pdpp.example/connectors/bank" },
                "purpose_code": "https://evil.example/<b>",
                "purpose_description": evil,
                "streams": [{ "name": "*" }],
                "client_claims": { "commitments": [evil] },
            }],
        }),
    );
    assert_eq!(pushed.status, 201, "{}", pushed.text());
    let answer = ask(
        app,
        "GET",
        pushed.json()["authorization_url"].as_str().unwrap().strip_prefix(BASE).unwrap(),
        &[],
        b"",
    );
    let html = answer.text();
    assert!(!html.contains("<script") && !html.contains("<b>") && !html.contains('\u{202e}'));
    assert!(html.contains("&lt;script&gt;") && html.contains("That is what the app says"));
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"));
    assert!(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(answer.header("set-cookie").unwrap().contains("HttpOnly; SameSite=Strict"));
}

#[test]
fn a_pushed_request_names_its_source() {
    let app = shared();
    let mail = "https://sandbox.pdpp.example/connectors/mail";
    let client_id = register(app, "Mail reader");
    let asked = json!([{ "name": "messages", "view": "envelope", "instance_ids": ["cin_mail_work"],
        "time_range": { "since": "2026-01-01T00:00:00Z" } }]);
    let pushed = push(app, &client_id, &asked, mail);
    assert_eq!(pushed.status, 201, "{}", pushed.text());
    let uri = pushed.json()["request_uri"].clone();
    let attempt = post(app, "/agent-connect", &json!({ "client_id": client_id, "request_uri": uri })).json();
    let page = Page::open(app, attempt["approval_url"].as_str().unwrap());
    assert!(!page.html.contains("Personal mail") && page.html.contains("only those from 2026-01-01 on"));
    assert_eq!(page.send(app, "approve", &page.fields()).status, 303);
    let grant = poll(app, &attempt).json()["grant"].clone();
    assert_eq!(grant["source"], json!({ "kind": "connector", "id": mail }));
    assert_eq!(grant["streams"][0]["time_constraint"]["field"], "received_at");
    assert!(!grant["streams"][0]["fields"].as_array().unwrap().contains(&"snippet".into()));

    // Leaving the accounts out asks for none of several: the owner has to tick one.
    let open = push(app, &client_id, &json!([{ "name": "*" }]), mail).json();
    let page = Page::open(app, open["authorization_url"].as_str().unwrap());
    assert!(!page.fields().iter().any(|(name, _)| name == "connection"));

    for (streams, why) in [
        (json!([{ "name": "nope" }]), "stream"),
        (json!([]), "none"),
        (json!([{ "name": "*" }, { "name": "messages" }]), "wildcard"),
        (json!([{ "name": "messages", "fields": ["nope"] }]), "field"),
        (json!([{ "name": "messages", "fields": ["id"], "view": "envelope" }]), "both"),
        (json!([{ "name": "labels", "time_range": { "since": "2026-01-01T00:00:00Z" } }]), "no time"),
        (json!([{ "name": "messages", "instance_ids": ["cin_bank_fjord"] }]), "instance"),
        (json!([{ "name": "messages", "resources": [] }]), "resources"),
    ] {
        let refused = push(app, &client_id, &streams, mail);
        assert_eq!((refused.status, refused.code().as_str()), (400, "invalid_request"), "{why}");
    }
    assert_eq!(push(app, "cli_nope", &asked, mail).code(), "invalid_client");
    assert_eq!(push(app, &client_id, &asked, "https://sandbox.pdpp.example/nope").status, 400);
}

#[test]
fn training_needs_a_consent_of_its_own() {
    let app = filled::open(Config { auto_approve: true, ..Config::default() });
    let client_id = register(&app, "Trainer");
    let pushed = post(
        &app,
        "/oauth/par",
        &json!({ "client_id": client_id, "authorization_details": [{
            "type": "https://pdpp.dev/data-access",
            "source": { "id": "https://sandbox.pdpp.example/connectors/music" },
            "purpose_code": "https://pdpp.dev/purpose/ai_training",
            "streams": [{ "name": "*" }],
        }] }),
    );
    let attempt =
        post(&app, "/agent-connect", &json!({ "request_uri": pushed.json()["request_uri"] })).json();
    assert_eq!(poll(&app, &attempt).status, 202, "not even --auto-approve");
    let page = Page::open(&app, attempt["approval_url"].as_str().unwrap());
    let mut fields = page.fields();
    assert_eq!(page.send(&app, "approve", &fields).status, 400);
    fields.push(("ai_training".to_owned(), "yes".to_owned()));
    assert_eq!(page.send(&app, "approve", &fields).status, 303);
    assert_eq!(poll(&app, &attempt).status, 200);
}

#[test]
fn the_metadata_leads_from_the_resource_to_what_is_there() {
    let app = shared();
    let resource = ask(app, "GET", "/.well-known/oauth-protected-resource", &[], b"").json();
    assert_eq!(resource["resource"], BASE);
    assert_eq!(resource["authorization_servers"], json!([BASE]));
    assert_eq!(resource["capabilities"]["semantic_retrieval"]["supported"], false);
    let server = ask(app, "GET", "/.well-known/oauth-authorization-server", &[], b"").json();
    assert_eq!(server["issuer"], BASE);
    for (name, value) in server.as_object().unwrap() {
        if name.ends_with("_endpoint") {
            let path = value.as_str().unwrap().strip_prefix(BASE).unwrap();
            let answer = ask(app, "POST", path, &[], b"");
            assert_ne!(answer.status, 404, "{name} is advertised and has to be there");
        }
    }
}

#[test]
fn introspection_is_for_the_resource_server() {
    use base64::Engine as _;
    let handle = filled::start(Config { auto_approve: true, ..Config::default() });
    let app = handle.vault().as_ref();
    let attempt = begin(app, "Reader");
    let body = poll(app, &attempt).json();
    let token = body["access_token"].as_str().unwrap();
    let client = handle.vault().introspection();
    let basic = |secret: &str| {
        let pair = format!("{}:{secret}", client.client_id);
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
    };
    let introspect = |authorization: &str, token: &str| {
        let form = format!("token={token}");
        ask(app, "POST", "/introspect", &[AGENT[0], ("authorization", authorization)], form.as_bytes())
    };
    let good = basic(&client.client_secret);
    assert_eq!(introspect(&basic("wrong"), token).code(), "context.authentication_failed");
    let active = introspect(&good, token).json();
    assert_eq!(
        (active["active"].as_bool(), active["pdpp_token_kind"].as_str()),
        (Some(true), Some("client"))
    );
    assert_eq!(active["authorization_details"][0]["streams"], body["grant"]["streams"]);
    assert_eq!(introspect(&good, "made-up").json(), json!({ "active": false }));
    assert_eq!(introspect(&good, handle.vault().owner_token()).json()["pdpp_token_kind"], "owner");
    // The owner's token exists so that refusing it can be tested.
    let refused = get(app, handle.vault().owner_token(), "/v1/schema");
    assert_eq!((refused.status, refused.code().as_str()), (403, "owner_token_not_accepted"));
    handle.stop();
}

/// What it does not read narrows nothing, and the owner would grant everything.
#[test]
fn details_are_refused_where_they_belong_to_a_pushed_request() {
    let asked = json!({
        "client_name": "Narrow",
        "authorization_details": [{"type": "https://pdpp.dev/data-access", "streams": [{"name": "events"}]}],
    });
    let answer = post(shared(), "/agent-connect", &asked);
    let refusal = answer.text();
    assert_eq!(answer.status, 400, "{refusal}");
    assert!(refusal.contains("authorization_details") && refusal.contains("/oauth/par"), "{refusal}");
}
