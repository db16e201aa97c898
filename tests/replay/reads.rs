//! Every recorded read, made again through the real server, and its answer compared with the recording.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use pdpp::cache::Cache;
use pdpp::cache::credential::{Credential, Secrets};
use pdpp::secret::AccessToken;
use serde_json::{Map, Value, json};

use super::classify::{Call, Class, classify};
use super::compare::{self, Answer, Differences};
use super::session::Session;
use super::{own, reference, say};
use crate::support::credential::credential;
use crate::support::env::TestEnv;
use crate::support::numbers::as_texts;
use crate::support::provider::{Asked, Exchange, Provider, Served, token};

/// The bounds of one result, in bytes (R4.8).
#[derive(Debug, Clone, Copy)]
struct Bounds {
    text: usize,
    structured: usize,
    option: Option<&'static str>,
}

const DEFAULT: Bounds = Bounds { text: 8_000, structured: 10_000, option: None };
const LEAST: Bounds = Bounds { text: 4_000, structured: 4_000, option: Some("4000") };
const MOST: Bounds = Bounds { text: 48_000, structured: 48_000, option: Some("48000") };

#[test]
fn own_reads_are_answered_as_recorded() {
    run("own", &own(), DEFAULT);
}

/// R4.8: the calls that an answer names return what does not fit, however small the bound.
#[test]
fn r4_8_own_reads_are_answered_as_recorded_within_any_bound() {
    run("own, least bound", &own(), LEAST);
    run("own, greatest bound", &own(), MOST);
}

#[test]
fn reference_reads_are_answered_as_recorded() {
    match reference() {
        Some(dir) => run("reference", &dir, DEFAULT),
        None => say("reference: its recordings are not beside this clone, so none of them was run"),
    }
}

/// Puts a grant of `provider` into the cache of `env`; its token belongs to the placeholder.
pub fn connect(env: &TestEnv, provider: &Provider, placeholder: &str) {
    let cache = Cache::open(&env.cache_dir()).unwrap();
    let url = provider.url();
    let kept = credential(&url, &format!("grant-of-{placeholder}"), "replayed");
    let credential = Credential { issuer: provider.issuer(), ..kept };
    let secrets = Secrets::new(AccessToken::new(token(placeholder)).unwrap(), None);
    cache.store(credential, &secrets, None).unwrap();
}

/// A running server for one placeholder.
struct Grant {
    session: Session,
    _env: TestEnv,
}

impl Grant {
    fn start(provider: &Provider, placeholder: &str, bounds: Bounds) -> Self {
        let env = TestEnv::new();
        connect(&env, provider, placeholder);
        let arguments = bounds.option.map(|bytes| ["--max-result-bytes", bytes]);
        let session = Session::start(&env, arguments.as_ref().map_or(&[], |arguments| arguments));
        Self { session, _env: env }
    }
}

fn run(name: &str, dir: &Path, bounds: Bounds) {
    let exchanges = Exchange::load(dir);
    let provider = Provider::start(exchanges.clone());
    let mut grants: HashMap<String, Grant> = HashMap::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for exchange in &exchanges {
        let class = classify(exchange);
        let (kind, call) = match &class {
            Class::Reached(call) => ("reached", call),
            Class::Projected(call) => ("projected", call),
            Class::Merged(call) => ("merged", call),
            Class::Refused(call, _) => ("refused", call),
            Class::Unreachable(_) | Class::Outside(_) => continue,
        };
        *counts.entry(kind).or_default() += 1;
        let placeholder = exchange.bearer.clone().unwrap();
        let grant = grants
            .entry(placeholder.clone())
            .or_insert_with(|| Grant::start(&provider, &placeholder, bounds));
        provider.focus(&exchange.name);
        let mut found = check(&mut grant.session, &provider, exchange, &class, call, bounds);
        asked(&mut found, &provider.log(), exchange, &class);
        failures.extend(found.0.into_iter().map(|found| format!("{}: {found}", exchange.name)));
        // A dead token, or a provider that asks to be left alone, is remembered for a while.
        if matches!(exchange.status, 401 | 403 | 429) {
            grants.remove(&placeholder);
        }
    }
    say(&format!("{name}: compared in both views: {counts:?}"));
    assert!(failures.is_empty(), "{} differences\n{}", failures.len(), failures.join("\n"));
}

/// The requests to the provider: the recorded request (or parts of it) and schema reads, nothing else.
fn asked(found: &mut Differences, log: &[Asked], exchange: &Exchange, class: &Class) {
    let mut reached = 0;
    for asked in log {
        let line = format!("{} {}", asked.method, asked.uri);
        let is_schema = asked.segments == ["v1", "schema"] || asked.segments == ["v1", "streams"];
        let is_focus =
            matches!(&asked.served, Served::Recorded(name) | Served::Part(name) if *name == exchange.name);
        found.check(asked.bearer == exchange.bearer, || format!("asked as {:?}: {line}", asked.bearer));
        found.check(asked.method == "GET", || format!("not a read: {line}"));
        found.check(asked.query.iter().all(|(key, _)| key != "filter"), || format!("a bare filter: {line}"));
        found.check(is_focus || is_schema, || format!("asked for more than the call needs: {line}"));
        reached += usize::from(is_focus);
    }
    match class {
        // Only an empty schema shows that a stream is not granted.
        Class::Refused(..) => {
            let is_schema = exchange.segments == ["v1", "schema"];
            found.check(reached == 0 || is_schema, || "refused, but the provider was asked".into());
        }
        _ => found.check(reached > 0, || format!("the provider was not asked for {}", exchange.line())),
    }
}

fn check(
    session: &mut Session,
    provider: &Provider,
    exchange: &Exchange,
    class: &Class,
    call: &Call,
    bounds: Bounds,
) -> Differences {
    let sent = provider.as_served(&exchange.body);
    let (name, arguments) = match call {
        Call::Resource { uri } => return blob(session, exchange, &sent, uri),
        Call::Tool { name, arguments } => (*name, arguments),
    };
    let first = session.call(name, arguments);
    let mut found = match class {
        Class::Refused(..) => {
            let mut found = compare::own_refusal(&first);
            candidates(&mut found, &first, &sent);
            found
        }
        _ if exchange.status >= 400 => refusal(&first, provider, exchange, &sent),
        _ => {
            let pages = follow(session, name, first.clone(), exchange, provider);
            let mut found = Differences::default();
            for page in &pages {
                within_bounds(&mut found, page, bounds);
            }
            found.0.extend(
                success(
                    &pages,
                    class,
                    name,
                    exchange,
                    &sent,
                    provider.has_schema(exchange),
                    bounds.structured,
                )
                .0,
            );
            found
        }
    };
    if first.is_error {
        within_bounds(&mut found, &first, bounds);
    }
    found
}

/// A page without what no provider sends: the mark that numbers are texts, and the rank in a hybrid search.
fn without_own(mut page: Answer, is_hybrid: bool) -> Answer {
    if let Some(Value::Array(warnings)) = page.structured.pointer_mut("/data/meta/warnings") {
        warnings.retain(|warning| warning["code"] != "numbers_as_text");
    }
    if is_hybrid && let Some(Value::Object(data)) = page.structured.get_mut("data") {
        data.remove("next_cursor");
    }
    page
}

fn success(
    pages: &[Answer],
    class: &Class,
    name: &str,
    exchange: &Exchange,
    sent: &Value,
    has_schema: bool,
    room: usize,
) -> Differences {
    let is_hybrid = exchange.segments.last().is_some_and(|last| last == "hybrid");
    let own = pages.iter().map(|page| without_own(page.clone(), is_hybrid)).collect::<Vec<_>>();
    let sent_as_texts = as_texts(sent);
    let (pages, sent) = match name {
        "query_records" | "search" | "aggregate" => (own.as_slice(), &sent_as_texts),
        _ => (pages, sent),
    };
    let first = &pages[0];
    match name {
        "query_records" => {
            // Two connections are either returned as the provider merged them, or read separately and walked
            // together.
            let as_sent = first.structured["data"]["meta"]["warnings"] == sent["meta"]["warnings"];
            compare::records(pages, sent, matches!(class, Class::Merged(_)) && !as_sent)
        }
        "search" => compare::search(pages, sent),
        "aggregate" => compare::aggregate(pages, sent),
        "fetch" => compare::fetch(first, sent, has_schema),
        "read_record_field" => compare::window(first, sent),
        _ => {
            let scoped = exchange.parameter("stream").is_some();
            let full = exchange.parameter("detail") == Some("full");
            let fits = sent.to_string().len() <= room * 8 / 10;
            let mut found = compare::schema(first, sent, scoped && (fits || !full));
            if fits && !matches!(class, Class::Projected(_)) {
                found.0.extend(compare::schema_is_verbatim(first, sent).0);
            } else if !fits {
                // Either everything that a field can do is listed, or a call shows the rest.
                let all_it_can = compare::schema_is_whole_but_for_noes(first, sent);
                let goes_on = first.text.contains("schema {");
                found.check(all_it_can || goes_on, || {
                    "less than the provider sent, and no call that shows the rest".into()
                });
            }
            found
        }
    }
}

/// The pages of a list: the call that a result names returns what does not fit (R4.8).
fn follow(
    session: &mut Session,
    name: &str,
    first: Answer,
    exchange: &Exchange,
    provider: &Provider,
) -> Vec<Answer> {
    let rows = exchange.rows().len().max(exchange.body["groups"].as_array().map_or(0, Vec::len));
    let mut pages = vec![first];
    let mut have = pages[0].rows();
    while matches!(name, "query_records" | "search" | "aggregate") && have < rows && pages.len() <= rows {
        let Some(next) = pages.last().and_then(|page| page.next()).cloned() else { break };
        let tool = next["tool"].as_str().unwrap_or_default().to_owned();
        let arguments: Map<String, Value> = next["arguments"].as_object().cloned().unwrap_or_default();
        let page = session.call(&tool, &arguments);
        assert!(
            provider.unmatched().is_empty(),
            "{}: {:?} after {next}",
            exchange.name,
            provider.unmatched()
        );
        have += page.rows();
        pages.push(page);
    }
    pages
}

fn within_bounds(found: &mut Differences, answer: &Answer, bounds: Bounds) {
    let structured = if answer.structured.is_null() { 0 } else { answer.structured.to_string().len() };
    found.check(answer.text.len() <= bounds.text, || format!("text of {} bytes", answer.text.len()));
    found.check(structured <= bounds.structured, || format!("structured of {structured} bytes"));
}

fn candidates(found: &mut Differences, answer: &Answer, sent: &Value) {
    for candidate in sent["error"]["available_connections"].as_array().into_iter().flatten() {
        let id = candidate["connection_id"].as_str().unwrap_or_default();
        found.check(answer.text.contains(id), || format!("text: no candidate {id}"));
    }
}

/// R5.5: the next step shows the kind of refusal.
fn refusal(answer: &Answer, provider: &Provider, exchange: &Exchange, sent: &Value) -> Differences {
    let mut found = compare::refusal(answer, sent);
    let reconnect = format!("pdpp connect {}", provider.url());
    let code = sent["error"]["code"].as_str().unwrap_or_default();
    let is_dead = matches!(code, "grant_revoked" | "grant_expired" | "context.active_false");
    found.check(answer.text.contains(&reconnect) == is_dead, || {
        format!("{code}: {} `{reconnect}`", if is_dead { "does not say" } else { "says" })
    });
    if let Some((_, seconds)) = exchange.headers.iter().find(|(name, _)| name == "retry-after") {
        found
            .check(answer.text.contains(&format!("{seconds} s")), || format!("text: no wait of {seconds} s"));
    }
    if exchange.status == 410 {
        found.check(answer.text.contains("start again"), || "text: does not say to start again".into());
    }
    found
}

fn blob(session: &mut Session, exchange: &Exchange, sent: &Value, uri: &str) -> Differences {
    let mut found = Differences::default();
    match session.read_resource(uri) {
        Err(answer) if exchange.status >= 400 => {
            let code = sent["error"]["code"].as_str().unwrap_or_default();
            let request_id = sent["error"]["request_id"].as_str().unwrap_or_default();
            let message = sent["error"]["message"].as_str().unwrap_or_default();
            found.check(answer.text.contains(message), || format!("no message in {}", answer.text));
            let has_both = answer.text.contains(code) && answer.text.contains(request_id);
            found.check(has_both, || format!("no code or no request id in {}", answer.text));
        }
        Err(answer) => found.0.push(format!("an error: {}", answer.text)),
        Ok(_) if exchange.status >= 400 => found.0.push("not an error".into()),
        Ok(contents) => {
            let bytes = match &exchange.bytes {
                Some(bytes) => bytes.clone(),
                None => sent.as_str().unwrap_or_default().as_bytes().to_vec(),
            };
            let got = match (&contents["text"], &contents["blob"]) {
                (Value::String(text), _) => text.clone().into_bytes(),
                (_, Value::String(blob)) => crate::support::provider::base64(blob),
                _ => Vec::new(),
            };
            found.check(got == bytes, || format!("{} bytes instead of {}", got.len(), bytes.len()));
            let sent_type = exchange.headers.iter().find(|(name, _)| name == "content-type");
            let media_type = contents["mimeType"].as_str().unwrap_or_default();
            found.check(
                sent_type.is_some_and(|(_, sent)| sent.starts_with(media_type) && !media_type.is_empty()),
                || format!("mimeType {media_type:?}"),
            );
            found.check(contents["uri"] == json!(uri), || format!("uri {}", contents["uri"]));
        }
    }
    found
}
