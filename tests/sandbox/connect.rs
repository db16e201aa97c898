//! From a program's request to the owner's answer.

use pdpp::sandbox::Config;
use pdpp::vault::Vault;
use serde_json::{Value, json};

use super::{Answer, BASE, ask, get, life, post, shared};
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
                "source": { "kind": if source == BASE { "provider_native" } else { "connector" }, "id": source },
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
    pub cookie: String,
    pub csrf: String,
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    tag.split(&format!(" {name}=\"")).nth(1).map(|rest| rest.split('"').next().unwrap().to_owned())
}

impl Page {
    /// With the link that the owner received.
    pub fn open(app: &Vault, approval_url: &str) -> Self {
        let link = filled::owner_link(approval_url).expect("the owner was told");
        let opened = ask(app, "GET", link.strip_prefix(BASE).unwrap(), &[], b"");
        assert_eq!(opened.status, 303, "{}", opened.text());
        let target = opened.header("location").unwrap().strip_prefix(BASE).unwrap().to_owned();
        let set = opened.header("set-cookie").unwrap();
        assert!(set.ends_with(&format!("; Path={target}; HttpOnly; SameSite=Strict")), "{set}");
        let cookie = set.split(';').next().unwrap().to_owned();
        let mut page = Self { target, html: String::new(), cookie, csrf: String::new() };
        let shown = page.get(app, "");
        assert_eq!(shown.status, 200);
        page.html = shown.text();
        let csrf = page.html.split("name=\"csrf\" value=\"").nth(1).unwrap();
        csrf.split('"').next().unwrap().clone_into(&mut page.csrf);
        page
    }

    pub fn get(&self, app: &Vault, below: &str) -> Answer {
        ask(app, "GET", &format!("{}{below}", self.target), &[("cookie", &self.cookie)], b"")
    }

    /// The boxes that are ticked in `html`.
    pub fn ticked(html: &str) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        for input in html.split("<input type=\"checkbox\"").skip(1) {
            let tag = input.split('>').next().unwrap();
            if tag.contains(" checked")
                && let (Some(name), Some(value)) = (attribute(tag, "name"), attribute(tag, "value"))
            {
                fields.push((name, value));
            }
        }
        fields
    }

    /// The form in its first state.
    pub fn fields(&self) -> Vec<(String, String)> {
        Self::ticked(&self.html)
    }

    /// The form with these accounts ticked.
    pub fn with_accounts(&self, accounts: &[&str]) -> Vec<(String, String)> {
        let mut fields = self.fields();
        fields.extend(accounts.iter().map(|id| ("connection".to_owned(), (*id).to_owned())));
        fields
    }

    /// The form with every account ticked.
    pub fn everything(&self) -> Vec<(String, String)> {
        let ids = self.html.split("name=\"connection\" value=\"").skip(1);
        self.with_accounts(&ids.map(|rest| rest.split('"').next().unwrap()).collect::<Vec<_>>())
    }

    pub fn send(&self, app: &Vault, action: &str, fields: &[(String, String)]) -> Answer {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("csrf", &self.csrf);
        form.extend_pairs(fields);
        let headers =
            [AGENT[0], ("cookie", self.cookie.as_str()), ("origin", BASE), ("sec-fetch-site", "same-origin")];
        ask(app, "POST", &format!("{}/{action}", self.target), &headers, form.finish().as_bytes())
    }

    /// The summary of the form, shown before the decision.
    pub fn summary(&self, app: &Vault, fields: &[(String, String)]) -> String {
        let sent = self.send(app, "review", fields);
        assert_eq!(sent.status, 303, "{}", sent.text());
        let shown = self.get(app, "/summary");
        assert_eq!(shown.status, 200, "{}", shown.text());
        shown.text()
    }

    /// Opens the summary and approves it.
    pub fn approve(&self, app: &Vault, fields: &[(String, String)]) -> Answer {
        let summary = self.summary(app, fields);
        self.send(app, "approve", &[digest(&summary)])
    }
}

/// What identifies a summary in its form.
pub fn digest(summary: &str) -> (String, String) {
    let digest = summary.split("name=\"digest\" value=\"").nth(1).unwrap();
    ("digest".to_owned(), digest.split('"').next().unwrap().to_owned())
}

#[test]
fn the_owner_is_asked_and_approves() {
    let app = shared();
    let attempt = begin(app, "Reader");
    let waiting = poll(app, &attempt);
    assert_eq!((waiting.status, waiting.json()["error"].as_str()), (202, Some("authorization_pending")));
    let page = Page::open(app, attempt["approval_url"].as_str().unwrap());
    for part in
        ["Reader", "Unverified app", "Personal mail", "Work mail", "Fjord Bank", "body text", "30 days"]
    {
        assert!(page.html.contains(part), "{part}");
    }
    assert!(!page.fields().iter().any(|(name, _)| name == "connection"), "no account is ticked");
    let nothing = page.send(app, "review", &page.fields());
    assert_eq!(nothing.status, 400);
    assert!(nothing.text().contains("Nothing would be shared"));
    let summary = page.summary(app, &page.everything());
    for part in ["it can read this and nothing else", "Fjord Bank", "all 10 fields", "pdpp disconnect", "UTC"]
    {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    let sent = page.send(app, "approve", &[digest(&summary)]);
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
    let after = page.get(app, "").text();
    for part in
        ["Access approved", "Fjord Bank", "all 10 fields", "It ends automatically at", "How to end it sooner"]
    {
        assert!(after.contains(part), "{part}: {after}");
    }
    assert!(after.contains(body["grant_id"].as_str().unwrap()));
    // A decision is final.
    let denied = page.send(app, "deny", &[]);
    assert_eq!(denied.status, 409);
    assert!(denied.text().contains("Already approved"));
    assert_eq!(poll(app, &attempt).status, 200);
    // The page after it ends the session.
    assert_eq!(page.send(app, "end", &[]).status, 303);
    assert!(page.get(app, "").text().contains("Access ended"));
    assert_eq!(get(app, token, "/v1/schema").code(), "grant_revoked");
}

/// The page shows what a client that asks for everything states about its purpose, and does not invent what the
/// client leaves out.
#[test]
fn a_request_for_everything_can_say_what_for() {
    let app = shared();
    let page = |more: Value| {
        let mut request = json!({ "resource": BASE, "client_name": "Reader" });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let begun = post(app, "/agent-connect", &request);
        assert_eq!(begun.status, 201, "{}", begun.text());
        Page::open(app, begun.json()["approval_url"].as_str().unwrap()).html
    };
    let silent = page(json!({}));
    assert!(
        silent.contains("The app stated no purpose. The grant will state: <em>personal assistant</em>"),
        "{silent}"
    );
    let code = "https://pdpp.dev/purpose/personal_ai_assistant";
    let said = page(json!({ "purpose_code": code, "purpose_description": "Plan <b>a trip" }));
    assert!(said.contains("<blockquote><p>Plan &lt;b&gt;a trip</p></blockquote>"), "{said}");
    assert!(
        said.contains("This is what the app says. Declared purpose: <em>personal AI assistant</em>"),
        "{said}"
    );
    assert!(page(json!({ "purpose_description": "Plan a trip" })).contains("It declared no purpose"));
    let training = page(json!({ "purpose_code": "https://pdpp.dev/purpose/ai_training" }));
    assert!(training.contains("name=\"ai_training\""), "its consent is asked for here too");
    for (name, value) in
        [("purpose_code", "assistant".to_owned()), ("purpose_description", "x".repeat(2_049))]
    {
        let request = json!({ "resource": BASE, "client_name": "Reader", name: value });
        let refused = post(app, "/agent-connect", &request);
        assert_eq!((refused.status, refused.json()["error"]["param"].as_str()), (400, Some(name)));
    }
}

#[test]
fn the_owner_narrows() {
    let app = shared();
    let attempt = begin(app, "Reader");
    let page = Page::open(app, attempt["approval_url"].as_str().unwrap());
    // Of the work mailbox's messages, only the subject; of the private one, nothing, although its boxes stay ticked.
    let number = page.html.split("value=\"cin_mail_work\"").nth(1).unwrap();
    let number = number.split("name=\"stream\" checked value=\"").nth(1).unwrap().split('"').next().unwrap();
    let subject = page
        .html
        .split(&format!("value=\"{number}."))
        .skip(1)
        .find(|part| part.contains("> subject<"))
        .unwrap();
    let subject = format!("{number}.{}", subject.split('"').next().unwrap());
    let mut fields = page.with_accounts(&["cin_mail_work"]);
    fields.retain(|(name, value)| match name.as_str() {
        "connection" => true,
        "stream" => value == number || value == "0",
        "field" => *value == subject || value.starts_with("0."),
        _ => false,
    });
    fields.push(("since".to_owned(), "2026-06-01".to_owned()));
    fields.push(("expires".to_owned(), "1h".to_owned()));
    let summary = page.summary(app, &fields);
    assert!(summary.contains("received from 2026-06-01 on"), "{summary}");
    assert!(
        summary.contains("4 of 22 fields")
            && summary.contains("</strong>: id, thread id, subject, received at</p>"),
        "{summary}"
    );
    assert_eq!(page.approve(app, &fields).status, 303);
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
    let other = Page::open(app, begin(app, "Reader")["approval_url"].as_str().unwrap());
    let again = other.send(app, "review", &[("connection".to_owned(), "cin_mail_work".to_owned())]);
    assert_eq!(again.status, 400);
    assert!(again.text().contains("Nothing would be shared"));
}

/// O7.7: a day narrows records with a time, and leaves out those without one.
#[test]
fn o7_7_a_day_leaves_out_what_it_cannot_narrow() {
    let app = shared();
    let page = Page::open(app, begin(app, "Reader")["approval_url"].as_str().unwrap());
    let mut fields = page.with_accounts(&["cin_bank_fjord"]);
    fields.push(("since".to_owned(), "2026-06-01".to_owned()));
    let summary = page.summary(app, &fields);
    assert!(
        summary.contains("Left out, because they have no date to limit by: accounts of Fjord Bank"),
        "{summary}"
    );
    assert!(
        summary.contains("<strong>transactions</strong> <span class=\"said\">booked from 2026-06-01 on"),
        "{summary}"
    );
}

/// O7.7: a request for everything with a bound in time does not ask for them either; one that names such a stream is
/// for something that is not here.
#[test]
fn o7_7_a_request_for_all_with_a_bound_leaves_out_what_has_no_time() {
    let app = shared();
    let client_id = register(app, "Bounded");
    for source in ["https://sandbox.pdpp.example/connectors/bank", BASE] {
        let range = json!({ "since": "2026-02-01T00:00:00Z", "until": "2026-03-01T00:00:00Z" });
        let page = |name: &str| {
            let pushed = push(app, &client_id, &json!([{ "name": name, "time_range": range }]), source);
            Page::open(app, pushed.json()["authorization_url"].as_str().unwrap())
        };
        let named = page("accounts");
        assert!(
            named.html.contains("Stream &#39;accounts&#39; has no time field to limit by"),
            "{}",
            named.html
        );
        let all = page("*");
        let left_out = "Left out, because they have no date to limit by: ";
        assert!(all.html.contains(left_out) && all.html.contains("accounts of Fjord Bank"), "{}", all.html);
        assert!(all.html.contains("name=\"until\""), "{}", all.html);
        let summary = all.summary(app, &all.with_accounts(&["cin_bank_fjord"]));
        assert!(summary.contains(left_out), "{summary}");
        assert!(summary.contains("booked from 2026-02-01 and before 2026-03-01"), "{summary}");
        assert!(!summary.contains("<strong>accounts</strong>"), "{summary}");
    }
}

/// O7.6: a set ticks at once what belongs together, and never a bank.
#[test]
fn o7_6_sets_tick_accounts_and_fields_at_once() {
    let app = shared();
    let page = Page::open(app, begin(app, "Reader")["approval_url"].as_str().unwrap());
    let ticked = |set: &str| {
        let mut form = page.everything();
        form.push(("set".to_owned(), set.to_owned()));
        form.push(("since".to_owned(), "2026-06-01".to_owned()));
        assert_eq!(page.send(app, "sets", &form).status, 303);
        let html = page.get(app, "").text();
        assert!(html.contains("value=\"2026-06-01\""), "what else was there stays");
        Page::ticked(&html)
    };
    let accounts = |ticked: &[(String, String)]| {
        ticked.iter().filter(|(name, _)| name == "connection").map(|(_, id)| id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(accounts(&ticked("none")), Vec::<String>::new());
    let (who, text) = (ticked("who"), ticked("text"));
    assert_eq!(accounts(&who), accounts(&text));
    assert!(accounts(&who).len() == 6 && !accounts(&who).contains(&"cin_bank_fjord".to_owned()));
    let mut form = who.clone();
    form.push(("expires".to_owned(), "1d".to_owned()));
    let summary = page.summary(app, &form);
    assert!(summary.contains("received at") && !summary.contains(" body text,"), "{summary}");
    assert!(page.summary(app, &text).contains(" body text,"));
}

/// O7.9: what was shown is what is approved.
#[test]
fn o7_9_a_decision_is_about_what_was_shown_last() {
    let app = shared();
    let attempt = begin(app, "Reader");
    let page = Page::open(app, attempt["approval_url"].as_str().unwrap());
    let early = page.send(app, "approve", &page.everything());
    assert_eq!(
        (early.status, early.header("location")),
        (303, Some(format!("{BASE}{}", page.target).as_str()))
    );
    let narrow = page.summary(app, &page.with_accounts(&["cin_bank_fjord"]));
    // In another tab, at the same time.
    let wide = page.summary(app, &page.everything());
    let answer = page.send(app, "approve", &[digest(&narrow)]);
    assert_eq!(answer.status, 409);
    assert!(answer.text().contains("has changed since you saw it") && answer.text().contains("Music"));
    assert_eq!(page.send(app, "approve", &[]).status, 409, "without a digest");
    assert_eq!(poll(app, &attempt).status, 202, "nothing is approved");
    assert_eq!(digest(&answer.text()), digest(&wide));
    assert_eq!(page.send(app, "approve", &[digest(&wide)]).status, 303);
    assert_eq!(poll(app, &attempt).status, 200);
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
    let named = digest(&page.summary(app, &page.everything()));
    let send = |headers: &[(&str, &str)], csrf: &str| {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        let body = form.append_pair("csrf", csrf).append_pair(&named.0, &named.1).finish();
        let headers: Vec<(&str, &str)> = AGENT.iter().chain(headers).copied().collect();
        ask(app, "POST", &format!("{}/approve", page.target), &headers, body.as_bytes())
    };
    let own = ("cookie", page.cookie.as_str());
    for (why, answer) in [
        ("no token", send(&[own], "")),
        ("another request's token", send(&[own], &other.csrf)),
        ("another origin", send(&[own, ("origin", "https://evil.example")], &page.csrf)),
        ("another site", send(&[own, ("sec-fetch-site", "cross-site")], &page.csrf)),
        ("another port", send(&[own, ("sec-fetch-site", "same-site")], &page.csrf)),
    ] {
        assert_eq!(answer.status, 403, "{why}");
    }
    for (why, answer) in [
        ("no cookie", send(&[], &page.csrf)),
        ("another browser's cookie", send(&[("cookie", &other.cookie)], &page.csrf)),
    ] {
        assert!(answer.text().contains("Only the owner decides"), "{why}");
    }
    assert_eq!(poll(app, &attempt).status, 202, "still open");
    assert_eq!(send(&[own, ("origin", BASE)], &page.csrf).status, 303);
}

/// O7.11, O7.4: a person without the link sees the same as for a request that does not exist.
#[test]
fn o7_11_without_the_owners_link_nothing_is_decided_or_told() {
    let app = shared();
    let attempt = begin(app, "Reader");
    let approval = attempt["approval_url"].as_str().unwrap();
    let page_of = |target: &str| ask(app, "GET", target, &[], b"");
    let seen = page_of(approval.strip_prefix(BASE).unwrap());
    let made_up = page_of("/consent?request_uri=urn%3Apdpp%3Apending-consent%3Adc_0");
    assert_eq!(
        (seen.status, seen.text(), seen.headers.clone()),
        (made_up.status, made_up.text(), made_up.headers)
    );
    assert!(seen.header("set-cookie").is_none() && !seen.text().contains("csrf"));
    for hidden in ["Reader", "Fjord", "mail", "stream", "35", "account"] {
        assert!(!seen.text().contains(hidden), "{hidden}");
    }
    let page = Page::open(app, approval);
    let foreign = ask(app, "GET", &page.target, &[], b"");
    assert_eq!((foreign.status, foreign.text()), (seen.status, seen.text()), "its page, without the cookie");
    let id = approval.rsplit("dc_").next().unwrap();
    for guess in [id.to_owned(), "0".repeat(64), page.cookie.split('=').nth(1).unwrap().to_owned()] {
        assert_eq!(page_of(&format!("/consent/owner/{guess}")).status, 404);
    }
    for (target, body) in [
        ("/consent/approve", "request_uri=x&csrf=y"),
        ("/consent/x/approve", "csrf=y&digest=z"),
        (&format!("{}/approve", page.target), "digest=z"),
        (&format!("{}/deny", page.target), ""),
        ("/consent/device", "user_code=BBBB-BBBB"),
    ] {
        let answer = ask(app, "POST", target, &AGENT, body.as_bytes());
        assert!(answer.status != 303, "{target}: {}", answer.text());
    }
    assert_eq!(poll(app, &attempt).status, 202, "nothing is decided");
}

/// A link can be opened once: the second person to open it learns that someone was first.
#[test]
fn o7_11_a_link_is_good_once() {
    let app = shared();
    let attempt = begin(app, "Reader");
    let approval = attempt["approval_url"].as_str().unwrap();
    let link = filled::owner_link(approval).unwrap();
    let target = link.strip_prefix(BASE).unwrap();
    assert_eq!(ask(app, "HEAD", target, &[], b"").status, 405, "a look does not spend it");
    assert_eq!(ask(app, "GET", target, &[], b"").status, 303);
    let second = ask(app, "GET", target, &[], b"");
    assert_eq!(second.status, 404);
    assert!(second.header("set-cookie").is_none() && second.text().contains("no longer works"));
}

/// O7.12: a `request_uri` that another person saw is worth nothing.
#[test]
fn o7_12_a_request_uri_has_one_attempt_bound_to_its_client() {
    let app = shared();
    let (mine, other) = (register(app, "Mine"), register(app, "Other"));
    let all = json!([{ "name": "*" }]);
    let begin = |client: Option<&str>, uri: &Value| {
        post(app, "/agent-connect", &json!({ "client_id": client, "request_uri": uri }))
    };
    let uri =
        push(app, &mine, &all, "https://sandbox.pdpp.example/connectors/bank").json()["request_uri"].clone();
    let unknown = begin(Some(&mine), &json!("urn:pdpp:pending-consent:dc_0"));
    for client in [Some(other.as_str()), None, Some("pdpp_cli")] {
        assert_eq!(begin(client, &uri).status, 400, "{client:?}");
    }
    let attempt = begin(Some(&mine), &uri);
    assert_eq!(attempt.status, 201, "{}", attempt.text());
    let attempt = attempt.json();
    let second = begin(Some(&mine), &uri);
    assert_eq!((second.status, second.json()), (unknown.status, unknown.json()));
    let page = Page::open(app, attempt["approval_url"].as_str().unwrap());
    assert!(page.html.contains(attempt["user_code"].as_str().unwrap()), "a code to compare");
    assert_eq!(page.approve(app, &page.fields()).status, 303);
    assert_eq!(begin(Some(&mine), &uri).status, 400, "after the decision");
    assert_eq!(poll(app, &attempt).status, 200);
}

/// O7.11: to a program, a request for existing data looks the same as one for missing data.
#[test]
fn o7_11_a_request_tells_nothing_of_what_is_there() {
    let app = shared();
    let client = register(app, "Curious");
    let all = json!([{ "name": "*" }]);
    let there = push(app, &client, &all, "https://sandbox.pdpp.example/connectors/bank");
    for (streams, source) in [
        (all.clone(), "https://sandbox.pdpp.example/connectors/nope"),
        (json!([{ "name": "mesages" }]), "https://sandbox.pdpp.example/connectors/mail"),
        (
            json!([{ "name": "messages", "fields": ["subjekt"] }]),
            "https://sandbox.pdpp.example/connectors/mail",
        ),
        (json!([{ "name": "*", "instance_ids": ["nope"] }]), "https://sandbox.pdpp.example/connectors/mail"),
    ] {
        let pushed = push(app, &client, &streams, source);
        assert_eq!(pushed.status, there.status, "{}", pushed.text());
        // The owner is notified.
        let page = Page::open(app, pushed.json()["authorization_url"].as_str().unwrap());
        assert!(
            page.html.contains("It asks for data that does not exist here") && page.html.contains("Unknown "),
            "{}",
            page.html
        );
        assert_eq!(page.send(app, "review", &[]).status, 400);
        assert_eq!(page.send(app, "deny", &[]).status, 303);
    }
}

/// O7.13: requests that a page of another site can send without asking are refused.
#[test]
fn o7_13_a_web_page_can_send_nothing() {
    let app = shared();
    let body = json!({ "client_name": "Drive-by", "resource": BASE }).to_string();
    let form = "client_name=Drive-by&client_id=pdpp_cli&grant_type=refresh_token";
    let json = ("content-type", "application/json");
    for target in [
        "/oauth/register",
        "/oauth/par",
        "/agent-connect",
        "/oauth/device_authorization",
        "/oauth/token",
        "/introspect",
    ] {
        for kind in ["text/plain", "multipart/form-data; boundary=x", "text/plain; application/json"] {
            let answer = ask(app, "POST", target, &[("content-type", kind)], body.as_bytes());
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (415, "unsupported_media_type"),
                "{target} {kind}"
            );
        }
        assert_eq!(ask(app, "POST", target, &[], body.as_bytes()).status, 415, "{target}");
        for from in [
            ("origin", "https://evil.example"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            for (kind, body) in [(json, body.as_str()), (AGENT[0], form)] {
                let answer = ask(app, "POST", target, &[kind, from], body.as_bytes());
                assert_eq!(
                    (answer.status, answer.code().as_str()),
                    (403, "origin_not_allowed"),
                    "{target} {from:?}"
                );
            }
        }
    }
    let own = ask(
        app,
        "POST",
        "/oauth/register",
        &[("content-type", "Application/JSON; charset=utf-8"), ("origin", BASE)],
        body.as_bytes(),
    );
    assert_eq!(own.status, 201, "{}", own.text());
}

/// O7.13: metadata is bounded, and so is the number of clients without a result; those with a grant or a request
/// stay.
#[test]
fn o7_13_registrations_are_bounded_and_nobody_is_refused() {
    let app = life();
    let long =
        json!({ "client_name": "Long", "client_uri": format!("https://x.example/{}", "x".repeat(3_000)) });
    let refused = post(&app, "/oauth/register", &long);
    assert_eq!((refused.status, refused.json()["error"].as_str()), (400, Some("invalid_client_metadata")));
    let (waiting, idle) = (begin(&app, "Waiting"), register(&app, "Idle"));
    let granted = begin(&app, "Granted");
    let page = Page::open(&app, granted["approval_url"].as_str().unwrap());
    assert_eq!(page.approve(&app, &page.everything()).status, 303);
    for number in 0..1_100 {
        register(&app, &format!("Client {number}"));
    }
    let names: Vec<String> = app
        .store()
        .read::<_, rusqlite::Error>(|db, _| {
            let mut all = db.prepare("SELECT json_extract(metadata, '$.client_name') FROM client")?;
            all.query_map([], |row| row.get(0))?.collect()
        })
        .unwrap();
    assert!(names.len() <= 1_010, "{}", names.len());
    let is_there = |name: &str| names.iter().any(|known| known == name);
    assert!(is_there("Waiting") && is_there("Granted") && is_there("Client 1099") && !is_there("Idle"));
    assert_eq!(poll(&app, &waiting).status, 202);
    let unknown = push(&app, &idle, &json!([{ "name": "*" }]), BASE);
    assert_eq!(unknown.code(), "invalid_client");
    // An hour later, the clients without a result are gone.
    app.store()
        .write::<_, rusqlite::Error>(|db, _| {
            db.execute("UPDATE client SET issued_ms = issued_ms - 3600001", [])
        })
        .unwrap();
    register(&app, "Last");
    let left: i64 = app
        .store()
        .read::<_, rusqlite::Error>(|db, _| db.query_row("SELECT count(*) FROM client", [], |row| row.get(0)))
        .unwrap();
    assert_eq!(left, 3, "the one with a grant, the one that waits, and the new one");
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
    let page = Page::open(app, pushed.json()["authorization_url"].as_str().unwrap());
    let answer = page.get(app, "");
    let html = answer.text() + &page.summary(app, &page.fields());
    assert!(!html.contains("<script") && !html.contains("<b>") && !html.contains('\u{202e}'));
    assert!(html.contains("&lt;script&gt;") && html.contains("This is what the app says"));
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"));
    assert!(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(
        html.contains("<code>https://evil.example/&lt;b&gt;</code>"),
        "a purpose that is not known is shown as it is"
    );
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
    assert!(!page.html.contains("Personal mail") && page.html.contains("only from 2026-01-01 on"));
    assert!(page.html.contains(
        "id=\"since\" name=\"since\" aria-describedby=\"since-hint days-hint\" value=\"2026-01-01\""
    ));
    assert_eq!(page.approve(app, &page.fields()).status, 303);
    let grant = poll(app, &attempt).json()["grant"].clone();
    assert_eq!(grant["source"], json!({ "kind": "connector", "id": mail }));
    assert_eq!(grant["streams"][0]["time_constraint"]["field"], "received_at");
    assert!(!grant["streams"][0]["fields"].as_array().unwrap().contains(&"snippet".into()));

    // The bounds of a request are never widened, whatever days the form sends.
    let bounded = json!([{ "name": "messages", "instance_ids": ["cin_mail_work"],
        "time_range": { "since": "2026-02-01T00:00:00Z", "until": "2026-03-01T12:00:00Z" } }]);
    for (days, since, until) in [
        (["2026-02-01", "2026-03-01"], "2026-02-01T00:00:00.000Z", "2026-03-01T12:00:00.000Z"),
        (["", ""], "2026-02-01T00:00:00.000Z", "2026-03-01T12:00:00.000Z"),
        (["2025-01-01", "2027-01-01"], "2026-02-01T00:00:00.000Z", "2026-03-01T12:00:00.000Z"),
        (["2026-02-02", "2026-02-20"], "2026-02-02T00:00:00.000Z", "2026-02-20T00:00:00.000Z"),
    ] {
        let uri = push(app, &client_id, &bounded, mail).json()["request_uri"].clone();
        let attempt =
            post(app, "/agent-connect", &json!({ "client_id": client_id, "request_uri": uri })).json();
        let page = Page::open(app, attempt["approval_url"].as_str().unwrap());
        assert!(page.html.contains("Exactly: 2026-03-01 12:00 UTC."), "{}", page.html);
        let mut fields = page.fields();
        fields.retain(|(name, _)| !matches!(name.as_str(), "since" | "until"));
        fields.extend(["since", "until"].into_iter().zip(days).map(|(name, day)| (name.into(), day.into())));
        assert_eq!(page.approve(app, &fields).status, 303);
        let grant = poll(app, &attempt).json()["grant"].clone();
        let limit = &grant["streams"][0]["time_constraint"];
        assert_eq!(
            (limit["since"].as_str(), limit["until"].as_str()),
            (Some(since), Some(until)),
            "{days:?}"
        );
    }

    // Leaving out the accounts does not choose one of several: the owner must tick one.
    let open = push(app, &client_id, &json!([{ "name": "*" }]), mail).json();
    let page = Page::open(app, open["authorization_url"].as_str().unwrap());
    assert!(!page.fields().iter().any(|(name, _)| name == "connection"));

    for (streams, why) in [
        (json!([]), "none"),
        (json!([{ "name": "*" }, { "name": "messages" }]), "wildcard"),
        (json!([{ "name": "messages", "fields": ["id"], "view": "envelope" }]), "both"),
        (json!([{ "name": "messages", "time_range": { "since": "yesterday" } }]), "time"),
        (json!([{ "name": "messages", "resources": [] }]), "resources"),
    ] {
        let refused = push(app, &client_id, &streams, mail);
        assert_eq!((refused.status, refused.code().as_str()), (400, "invalid_request"), "{why}");
    }
    assert_eq!(push(app, "cli_nope", &asked, mail).code(), "invalid_client");
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
    let asked = json!({ "client_id": client_id, "request_uri": pushed.json()["request_uri"] });
    let attempt = post(&app, "/agent-connect", &asked).json();
    assert_eq!(poll(&app, &attempt).status, 202, "not even --auto-approve");
    let page = Page::open(&app, attempt["approval_url"].as_str().unwrap());
    let mut fields = page.fields();
    assert_eq!(page.send(&app, "review", &fields).status, 400);
    fields.push(("ai_training".to_owned(), "yes".to_owned()));
    assert_eq!(page.approve(&app, &fields).status, 303);
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
    // The owner's token exists so that a test can check its refusal.
    let refused = get(app, handle.vault().owner_token(), "/v1/schema");
    assert_eq!((refused.status, refused.code().as_str()), (403, "owner_token_not_accepted"));
    handle.stop();
}

/// A limit that the provider does not read narrows nothing, and the owner would grant everything.
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
