//! Every recorded exchange with the reference provider, repeated with the sandbox: statuses, error codes, keys and
//! JSON types are compared. A difference must be on the allow-list with a reason, and an entry of the allow-list must
//! be a difference.
//!
//! The recordings are not part of this repository. If they are not next to it, the test prints this.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pdpp::sandbox::Config;
use pdpp::vault::Vault;
use pdpp::vault::oauth::tokens;
use serde_json::{Value, json};

use super::connect::Page;
use super::{Answer, BASE, ask, everything, get, grant, post, token, walk, whole};
use crate::support::filled;

const ALLOWED: &str = include_str!("../fixtures/sandbox-differences.txt");

/// What the reference answers according to the draft's Core: requested from a sandbox that is Core only.
const CORE: [&str; 7] = [
    "records_expand_client_rejected",
    "records_expand_limit_client_rejected",
    "records_filter_client_rejected",
    "records_view_client",
    "stream_detail_not_granted",
    "stream_detail_slack",
    "stream_detail_two_conn",
];

fn recordings() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    ["../shared/fixtures/reference", "../../shared/fixtures/reference"]
        .into_iter()
        .map(|path| here.join(path))
        .find(|path| path.is_dir())
}

#[test]
fn differences_from_the_recordings_are_known() {
    let Some(recordings) = recordings() else {
        // Straight to stderr, because the harness hides a passing test's prints.
        use std::io::Write as _;
        let notice = "NOT RUN: sandbox::diff, as there are no recordings of the reference beside this clone";
        writeln!(std::io::stderr(), "{notice}").unwrap();
        return;
    };
    let allowed = Allowed::read();
    let mut differences = BTreeSet::new();
    let mut compared = 0;
    let app = filled::open(Config::default());
    let core = filled::open(Config { core: true, ..Config::default() });
    let (mut replay, mut core) = (Replay::new(&app), Replay::new(&core));
    for (name, recorded) in exchanges(&recordings) {
        if allowed.skips(&name) {
            continue;
        }
        let replay = if CORE.contains(&name.as_str()) { &mut core } else { &mut replay };
        let Some(answer) = replay.answer(&name, &recorded) else {
            differences.insert(format!("{name}: not asked"));
            continue;
        };
        compared += 1;
        for difference in compare(&recorded["response"], &answer) {
            differences.insert(format!("{name}: {difference}"));
        }
    }
    assert!(compared > 140, "only {compared} exchanges were compared");
    let unknown: Vec<&String> = differences.iter().filter(|found| !allowed.has(found)).collect();
    assert!(
        unknown.is_empty(),
        "{} differences that nobody gave a reason for:\n{}",
        unknown.len(),
        unknown.iter().map(|found| found.as_str()).collect::<Vec<_>>().join("\n")
    );
    let stale = allowed.unused();
    assert!(stale.is_empty(), "on the allow-list, but there is no such difference:\n{}", stale.join("\n"));
}

/// By name, and within their directory in the order in which they were recorded.
fn exchanges(root: &Path) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let name = path
                    .strip_prefix(root)
                    .unwrap()
                    .with_extension("")
                    .display()
                    .to_string()
                    .replace('\\', "/");
                found.insert(name, serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap());
            }
        }
    }
    found
}

/// Lines of `difference :: reason`, and `skip name :: reason`; `*` stands for anything.
struct Allowed {
    skipped: Vec<(String, std::cell::Cell<bool>)>,
    known: Vec<(String, std::cell::Cell<bool>)>,
}

impl Allowed {
    fn read() -> Self {
        let mut allowed = Self { skipped: Vec::new(), known: Vec::new() };
        for line in ALLOWED.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let (pattern, reason) = line.split_once(" :: ").unwrap_or_else(|| panic!("no reason: {line}"));
            assert!(reason.trim().len() > 10, "no reason: {line}");
            let unused = std::cell::Cell::new(false);
            match pattern.trim().strip_prefix("skip ") {
                Some(name) => allowed.skipped.push((name.trim().to_owned(), unused)),
                None => allowed.known.push((pattern.trim().to_owned(), unused)),
            }
        }
        allowed
    }

    fn skips(&self, name: &str) -> bool {
        Self::find(&self.skipped, name)
    }

    fn has(&self, difference: &str) -> bool {
        Self::find(&self.known, difference)
    }

    /// All matching lines count as used: a wide pattern does not make a narrow one stale.
    fn find(list: &[(String, std::cell::Cell<bool>)], text: &str) -> bool {
        let mut found = false;
        for (pattern, used) in list {
            if matches(pattern, text) {
                used.set(true);
                found = true;
            }
        }
        found
    }

    fn unused(&self) -> Vec<String> {
        self.skipped
            .iter()
            .chain(&self.known)
            .filter(|(_, used)| !used.get())
            .map(|(pattern, _)| pattern.clone())
            .collect()
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap()) else { return false };
    let parts: Vec<&str> = parts.collect();
    for (at, part) in parts.iter().enumerate() {
        if at + 1 == parts.len() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(found) => rest = &rest[found + part.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

/// The differences, one per line.
fn compare(recorded: &Value, answer: &Answer) -> Vec<String> {
    let status = recorded["status"].as_u64().unwrap();
    let mut differences = Vec::new();
    if status != u64::from(answer.status) {
        return vec![format!("status {} instead of {status}", answer.status)];
    }
    for name in ["www-authenticate", "request-id", "cache-control", "content-disposition", "pdpp-version"] {
        let theirs = recorded["headers"].get(name).is_some();
        if theirs && answer.header(name).is_none() {
            differences.push(format!("header {name} is missing"));
        }
    }
    let body = &recorded["body"];
    if !body.is_object() {
        return differences;
    }
    let Ok(ours) = serde_json::from_slice::<Value>(&answer.body) else {
        differences.push("no JSON".to_owned());
        return differences;
    };
    let code = |body: &Value| body["error"]["code"].as_str().or(body["error"].as_str()).map(str::to_owned);
    if code(body) != code(&ours) {
        differences.push(format!(
            "code {} instead of {}",
            code(&ours).unwrap_or_default(),
            code(body).unwrap_or_default()
        ));
    }
    let (mut theirs, mut mine) = (Shape::default(), Shape::default());
    theirs.add("", body);
    mine.add("", &ours);
    for (path, kinds) in &theirs.0 {
        match mine.0.get(path) {
            None if mine.is_open(path) || !mine.has_parent(path) => {}
            None => differences.push(format!("missing {path}")),
            Some(ours) => {
                let known = |kinds: &BTreeSet<&'static str>| kinds.iter().any(|kind| *kind != "null");
                if known(kinds)
                    && known(ours)
                    && kinds.iter().all(|kind| *kind == "null" || !ours.contains(kind))
                {
                    differences.push(format!("{path} is {ours:?} instead of {kinds:?}"));
                }
            }
        }
    }
    for path in mine.0.keys() {
        if !theirs.0.contains_key(path) && !theirs.is_open(path) && theirs.has_parent(path) {
            differences.push(format!("extra {path}"));
        }
    }
    differences
}

/// Paths with the JSON types there. The members of a list count as one place; so do the members of an object that is
/// keyed by field names, and the contents of a record's `data`, which belong to the source.
#[derive(Default)]
struct Shape(BTreeMap<String, BTreeSet<&'static str>>);

impl Shape {
    fn add(&mut self, path: &str, value: &Value) {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        self.0.entry(path.to_owned()).or_default().insert(kind);
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.add(&format!("{path}[]"), item)),
            // A record's own data.
            Value::Object(_) if path.ends_with("data") && !path.is_empty() => {}
            Value::Object(members) => {
                let keyed = ["field_capabilities", "properties", "range_filters", "expanded"]
                    .iter()
                    .any(|name| path.ends_with(name));
                for (name, member) in members {
                    let name = if keyed { "*" } else { name };
                    let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                    self.add(&path, member);
                }
            }
            _ => {}
        }
    }

    /// Whether the parent of `path` is here: the members of a missing parent need no separate entry.
    fn has_parent(&self, path: &str) -> bool {
        match path.rfind(['.', '[']) {
            Some(cut) => self.0.contains_key(&path[..cut]),
            None => true,
        }
    }

    /// Whether there is nothing here to compare `path` with: a list without members above it, or null.
    fn is_open(&self, path: &str) -> bool {
        let mut above = path;
        while let Some(cut) = above.rfind(['.', '[']) {
            above = &above[..cut];
            if let Some(kinds) = self.0.get(above) {
                let empty_list = kinds.contains("array") && !self.0.contains_key(&format!("{above}[]"));
                let only_null = kinds.iter().all(|kind| *kind == "null");
                return empty_list || only_null;
            }
        }
        false
    }
}

/// Sends the reference's request to the sandbox.
struct Replay<'a> {
    app: &'a Vault,
    tokens: BTreeMap<&'static str, String>,
    chat_id: String,
    /// The latest step of a flow.
    flow: BTreeMap<&'static str, Value>,
}

impl<'a> Replay<'a> {
    fn new(app: &'a Vault) -> Self {
        let personal = ["cin_mail_personal"];
        let both = ["cin_mail_personal", "cin_mail_work"];
        let streams = ["messages", "message_bodies", "attachments"];
        let of_personal: Vec<_> =
            streams.iter().map(|stream| whole(app, "mail", stream, &personal)).collect();
        let mut two: Vec<_> = streams.iter().map(|stream| whole(app, "mail", stream, &both)).collect();
        two.push(whole(app, "mail", "threads", &personal));
        let mut narrow = whole(app, "mail", "messages", &personal);
        narrow.fields.retain(|field| ["id", "subject", "received_at", "thread_id"].contains(&field.as_str()));
        let chat: Vec<_> =
            ["workspace", "channels", "users", "messages", "reactions", "channel_memberships", "canvases"]
                .iter()
                .map(|stream| whole(app, "chat", stream, &["cin_chat_kestrel"]))
                .collect();
        let music = vec![whole(app, "music", "saved_tracks", &["cin_music_main"])];
        let mut over = grant(of_personal.clone());
        over.expires_at = Some("2026-01-01T00:00:00Z".to_owned());
        let gone = app.issue(grant(of_personal.clone())).unwrap();
        let two_grants = vec![grant(of_personal.clone()), grant(music.clone())];
        let package = tokens::keep(app, "pdpp_cli", two_grants).unwrap();
        let package = tokens::begin_family(app, &package, None).unwrap().access_token;
        let target = format!("/grants/{}/revoke", gone.grant.grant_id);
        ask(app, "POST", &target, &[("authorization", &format!("Bearer {}", gone.token))], b"{}");
        let tokens = BTreeMap::from([
            ("<CLIENT_GMAIL_ONE_CONN>", token(app, of_personal)),
            ("<CLIENT_GMAIL_TWO_CONN>", token(app, two)),
            ("<CLIENT_GMAIL_NARROW_FIELDS>", token(app, vec![narrow])),
            ("<CLIENT_SLACK>", token(app, chat)),
            ("<SINGLE_USE_SPOTIFY>", token(app, music)),
            ("<EXPIRED>", app.issue(over).unwrap().token),
            ("<REVOKED>", gone.token),
            ("<MCP_PACKAGE>", package),
            // What the reference allows only an owner, a client with everything may do here.
            ("<OWNER>", everything(app)),
        ]);
        let chats = get(app, &tokens["<CLIENT_SLACK>"], "/v1/streams/messages/records?limit=1").json();
        let chat_id = chats["data"][0]["id"].as_str().unwrap().to_owned();
        Self { app, tokens, chat_id, flow: BTreeMap::new() }
    }

    fn answer(&mut self, name: &str, recorded: &Value) -> Option<Answer> {
        if let Some(step) = name.strip_prefix("connect-flow/").or(name.strip_prefix("par-agent-connect/")) {
            return self.step(step, recorded);
        }
        if let Some(step) = name.strip_prefix("device-code-grant-scoped/") {
            return self.device_step(step, recorded);
        }
        let request = &recorded["request"];
        request["path"].as_str()?;
        if name == "revoke_self_grant" {
            let live =
                self.app.issue(grant(vec![whole(self.app, "mail", "messages", &["cin_mail_work"])])).unwrap();
            let target = format!("/grants/{}/revoke", live.grant.grant_id);
            let bearer = format!("Bearer {}", live.token);
            return Some(ask(self.app, "POST", &target, &[("authorization", &bearer)], b"{}"));
        }
        let bearer =
            request["headers"]["authorization"].as_str().and_then(|text| text.strip_prefix("Bearer "));
        let token = match bearer {
            None => None,
            Some(placeholder) => Some(self.tokens.get(placeholder)?.clone()),
        };
        let target = match &token {
            Some(token) => self.target(request, token),
            None => self.rename(&full_target(request)),
        };
        self.ask(request, token.as_deref(), &target)
    }

    fn ask(&self, request: &Value, token: Option<&str>, target: &str) -> Option<Answer> {
        let mut headers = Vec::new();
        let bearer = token.map(|token| format!("Bearer {token}"));
        if let Some(bearer) = &bearer {
            headers.push(("authorization", bearer.as_str()));
        }
        for name in ["content-type", "range"] {
            if let Some(value) = request["headers"][name].as_str() {
                headers.push((name, value));
            }
        }
        let body = match &request["body"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        Some(ask(self.app, request["method"].as_str()?, target, &headers, body.as_bytes()))
    }

    fn target(&self, request: &Value, token: &str) -> String {
        let target = self.rename(&full_target(request));
        let target = self.with_blob(&target);
        self.with_cursor(&target, token)
    }

    /// The same thing under its name here.
    fn rename(&self, target: &str) -> String {
        let chat_id =
            percent_encoding::utf8_percent_encode(&self.chat_id, percent_encoding::NON_ALPHANUMERIC);
        let mut target = target.to_owned();
        for (theirs, ours) in [
            ("C100%3A1704067200.000000", chat_id.to_string().as_str()),
            ("cin_gmail_", "cin_mail_"),
            ("cin_slack_acme", "cin_chat_kestrel"),
            ("connector_id=gmail", "connector_id=mail"),
            ("connector_id=slack", "connector_id=chat"),
            ("connector_id=spotify", "connector_id=music"),
            ("connector_id=google-calendar", "connector_id=calendar"),
            ("NEEDLE-gp-211", "NEEDLE-mp-211"),
            ("/shared-1", "/m-shared-0001"),
            ("/gp-m", "/mp-m"),
            ("/gw-m", "/mw-m"),
        ] {
            target = target.replace(theirs, ours);
        }
        target
    }

    /// One of our blobs, if the recording has one of theirs.
    fn with_blob(&self, target: &str) -> String {
        if !target.starts_with("/v1/blobs/blob_sha256_") {
            return target.to_owned();
        }
        let owner = &self.tokens["<CLIENT_GMAIL_ONE_CONN>"];
        let record = get(self.app, owner, "/v1/streams/attachments/records/mp-m00017-a1").json();
        record["data"]["blob_ref"]["fetch_url"].as_str().unwrap().to_owned()
    }

    /// One of our cursors, from the query that gave the recorded one; a made-up one stays.
    fn with_cursor(&self, target: &str, token: &str) -> String {
        let Some((path, query)) = target.split_once('?') else { return target.to_owned() };
        let mut params: Vec<(String, String)> =
            url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let is_real = |value: &str| value.len() > 20 && value.starts_with("ey");
        let mut replaced = false;
        for (name, value) in &mut params {
            if !is_real(value) || !matches!(name.as_str(), "cursor" | "changes_since") {
                continue;
            }
            replaced = true;
            let in_session = value.starts_with("eyJhZnRlcl92ZXJzaW9u");
            let first = if *name == "changes_since" || in_session {
                format!("{path}?changes_since=beginning&limit=100")
            } else if path == "/v1/search" {
                format!("{path}?q=invoice&limit=3")
            } else {
                // The recorded cursors of pages all belong to messages, newest first.
                "/v1/streams/messages/records?limit=5".to_owned()
            };
            let first = get(self.app, token, &first).json();
            let member = if *name == "cursor" { "next_cursor" } else { "next_changes_since" };
            first[member].as_str().unwrap_or_else(|| panic!("{target}: {first}")).clone_into(value);
        }
        if !replaced {
            return target.to_owned();
        }
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(params).finish();
        format!("{path}?{query}")
    }

    /// A step of the device flow, in their order; the owner's steps go through the page.
    fn device_step(&mut self, step: &str, recorded: &Value) -> Option<Answer> {
        let app = self.app;
        let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let client = self.flow.get("client").map(|at| text(at, "client_id")).unwrap_or_default();
        let begun = self.flow.get("device").cloned().unwrap_or_default();
        // The recorded form, with our values in it.
        let recorded_form = recorded["request"]["body"].as_str().unwrap_or_default();
        let mut form: Vec<(String, String)> =
            url::form_urlencoded::parse(recorded_form.as_bytes()).into_owned().collect();
        for (name, value) in &mut form {
            match name.as_str() {
                "client_id" => client.clone_into(value),
                "device_code" => *value = text(&begun, "device_code"),
                "resource" => *value = format!("{BASE}/mcp"),
                "authorization_details" => {
                    *value = value.replace(
                        "registry.pdpp.dev/connectors/slack",
                        "sandbox.pdpp.example/connectors/chat",
                    );
                }
                _ => {}
            }
        }
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let kind = [("content-type", "application/x-www-form-urlencoded")];
        let send = |target: &str| ask(app, "POST", target, &kind, form.as_bytes());
        match step {
            "01_register_201" => {
                let answer = post(app, "/oauth/register", &recorded["request"]["body"]);
                self.flow.insert("client", answer.json());
                Some(answer)
            }
            "02_device_authorization_200" => {
                let answer = send("/oauth/device_authorization");
                self.flow.insert("device", answer.json());
                Some(answer)
            }
            "03_token_pending_400" | "04_token_too_fast_400" => Some(send("/oauth/token")),
            "05_verification_uri_complete_200" => {
                let target = text(&begun, "verification_uri_complete");
                Some(ask(app, "GET", target.strip_prefix(BASE)?, &[], b""))
            }
            "08_token_200" => {
                let page = Page::open(app, &filled::page_of_code(&text(&begun, "user_code")));
                assert_eq!(page.approve(app, &page.fields()).status, 303);
                let answer = send("/oauth/token");
                self.flow.insert("approved", answer.json());
                Some(answer)
            }
            "09_schema_200" => {
                let token = text(&self.flow["approved"], "access_token");
                Some(get(app, &token, "/v1/schema?view=compact&stream=messages"))
            }
            _ => None,
        }
    }

    /// A step of one of the two flows, in their order; the owner's steps go through the page.
    fn step(&mut self, step: &str, recorded: &Value) -> Option<Answer> {
        let app = self.app;
        let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let poll = |attempt: &Value, code: Option<&str>| {
            let target = text(attempt, "poll_url").strip_prefix(BASE).unwrap().to_owned();
            let code = code.map_or_else(|| text(attempt, "polling_code"), str::to_owned);
            post(app, &target, &json!({ "polling_code": code }))
        };
        let decide = |attempt: &Value, action: &str| {
            let page = Page::open(app, attempt["approval_url"].as_str().unwrap());
            let fields = page.everything();
            if action == "approve" { page.approve(app, &fields) } else { page.send(app, action, &[]) }
        };
        let request = &recorded["request"];
        let source = "https://sandbox.pdpp.example/connectors/chat";
        let details = |client: &str, source: &str| {
            let mut body = request["body"].clone();
            body["client_id"] = client.into();
            if body["authorization_details"].is_array() {
                body["authorization_details"][0]["source"]["id"] = source.into();
            }
            body
        };
        let client = self.flow.get("client").map(|at| text(at, "client_id")).unwrap_or_default();
        let attempt = self.flow.get("attempt").cloned().unwrap_or_default();
        let approved = self.flow.get("approved").map(|at| text(at, "access_token")).unwrap_or_default();
        let keep = |flow: &mut BTreeMap<&'static str, Value>, name: &'static str, answer: Answer| {
            flow.insert(name, answer.json());
            Some(answer)
        };
        match step {
            "01_get_well_known_oauth_protected_resource_200"
            | "02_get_well_known_oauth_authorization_server_200" => {
                Some(ask(app, "GET", request["path"].as_str()?, &[], b""))
            }
            "03_post_oauth_register_201" | "01_register_201" => {
                let answer = post(app, "/oauth/register", &request["body"]);
                keep(&mut self.flow, "client", answer)
            }
            "04_post_agent_connect_201" | "02_agent_connect_without_request_uri_400" => {
                let body = json!({ "resource": BASE, "scope": "pdpp:read", "client_name": "x", "client_id": client });
                let answer = post(app, "/agent-connect", &body);
                keep(&mut self.flow, "attempt", answer)
            }
            "03_par_201" | "12_par2_201" => {
                let answer = post(app, "/oauth/par", &details(&client, source));
                keep(&mut self.flow, "pushed", answer)
            }
            "04_agent_connect_201" | "13_agent_connect2_201" => {
                let uri = self.flow["pushed"]["request_uri"].clone();
                let answer = post(app, "/agent-connect", &json!({ "client_id": client, "request_uri": uri }));
                keep(&mut self.flow, "attempt", answer)
            }
            "05_post_agent_connect_ATTEMPT_token_202"
            | "05_poll_pending_202"
            | "10_poll_replay_200"
            | "16_poll_after_denied_401" => Some(poll(&attempt, None)),
            "06_poll_wrong_code_401" => Some(poll(&attempt, Some("agc_poll_wrong"))),
            "08_post_agent_connect_ATTEMPT_token_200" | "09_poll_approved_200" => {
                assert_eq!(decide(&attempt, "approve").status, 303);
                let answer = poll(&attempt, None);
                keep(&mut self.flow, "approved", answer)
            }
            "09_get_v_schema_200" => Some(get(app, &approved, "/v1/schema")),
            "10_get_v_schema_200" | "11_schema_200" => Some(get(app, &approved, "/v1/schema?view=compact")),
            // A stream of one connection with money in it.
            "11_get_v_streams_pay_statements_records_200" => {
                Some(get(app, &approved, "/v1/streams/transactions/records?limit=2"))
            }
            "12_get_v_search_200" => Some(get(app, &approved, "/v1/search?q=northstar&limit=2")),
            "15_poll_denied_403" => {
                assert_eq!(decide(&attempt, "deny").status, 303);
                Some(poll(&attempt, None))
            }
            "17_par_bad_source_400" => Some(post(
                app,
                "/oauth/par",
                &details(&client, "https://sandbox.pdpp.example/connectors/nope"),
            )),
            "18_par_unknown_client_400" => Some(post(app, "/oauth/par", &details("cli_nope", source))),
            "19_par_no_details_400" => Some(post(app, "/oauth/par", &json!({ "client_id": client }))),
            _ => None,
        }
    }
}

fn full_target(request: &Value) -> String {
    let path = request["path"].as_str().unwrap();
    match request["query"].as_str() {
        Some(query) if !query.is_empty() => format!("{path}?{query}"),
        _ => path.to_owned(),
    }
}

/// Proves that the comparison can fail.
#[test]
fn a_difference_is_seen() {
    let recorded = json!({ "status": 200, "headers": { "request-id": "x" }, "body": {
        "object": "list", "data": [{ "data": { "a": 1 }, "id": "x" }], "meta": { "count": 1 }, "next": null,
    } });
    let answer = |body: Value| Answer {
        status: 200,
        headers: vec![("request-id", "y".to_owned())],
        body: body.to_string().into_bytes(),
    };
    let same = json!({ "object": "other", "data": [{ "data": { "b": 2 }, "id": "y" }], "meta": { "count": 2 }, "next": "z" });
    assert_eq!(compare(&recorded, &answer(same.clone())), Vec::<String>::new());
    let mut other = same;
    other["meta"]["count"] = "two".into();
    other["data"][0]["more"] = true.into();
    other.as_object_mut().unwrap().remove("object");
    assert_eq!(
        compare(&recorded, &answer(other)),
        ["meta.count is {\"string\"} instead of {\"number\"}", "missing object", "extra data[].more"]
    );
    assert!(matches("a*c: missing *", "abc: missing x.y") && !matches("a*c", "abd"));
}

/// Two pages of a list have no row in common, which the reference gets wrong for two connections.
#[test]
fn the_faults_of_the_reference_are_not_copied() {
    let app = super::shared();
    let both = ["cin_mail_personal", "cin_mail_work"];
    let token = token(app, vec![whole(app, "mail", "attachments", &both)]);
    let records = "/v1/streams/attachments/records";
    let page = get(app, &token, &format!("{records}?limit=50")).json();
    assert!(page["next_cursor"].is_string() && page["data"].as_array().unwrap().len() == 50);
    let (rows, _) = walk(app, &token, &format!("{records}?limit=50"));
    assert_eq!(rows.len(), 136 + 71);
    // changes_since together with a cursor continues, over two connections too.
    let first = get(app, &token, &format!("{records}?changes_since=beginning&limit=100")).json();
    let cursor = first["next_cursor"].as_str().unwrap();
    let second =
        get(app, &token, &format!("{records}?changes_since=beginning&limit=100&cursor={cursor}")).json();
    assert_ne!(first["data"], second["data"]);
    for wrong in ["limit=0", "limit=abc"] {
        assert_eq!(get(app, &token, &format!("{records}?{wrong}")).status, 400);
    }
}
