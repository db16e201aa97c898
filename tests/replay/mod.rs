//! The adapter in front of recorded exchanges: a host must receive what a provider answered, in both views, and
//! nothing else. The project's own made-up exchanges always run; those of a real provider run too if they are next to
//! the clone.

mod classify;
mod compare;
mod connect;
mod reads;
pub mod session;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use classify::{Class, classify};

use crate::support::provider::{Exchange, Provider, Served, token};

/// Prints past the test harness's capture, because the exchanges that a run covered must be visible.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "replay: {line}");
}

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/exchanges")
}

/// The recordings of a real provider; they are not part of the clone.
fn reference() -> Option<PathBuf> {
    // A worktree is one level deeper than a clone.
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().skip(1).take(2);
    above.map(|dir| dir.join("shared/fixtures/reference")).find(|dir| dir.is_dir())
}

/// The directories to run, each with its name.
fn directories() -> Vec<(&'static str, Vec<Exchange>)> {
    let mut all = vec![("own", Exchange::load(&own()))];
    match reference() {
        Some(dir) => all.push(("reference", Exchange::load(&dir))),
        None => say("../shared/fixtures/reference is not there: only the own exchanges were run"),
    }
    all
}

#[test]
fn every_exchange_is_in_exactly_one_class() {
    for (name, exchanges) in directories() {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut reasons: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for exchange in &exchanges {
            let (kind, reason) = match classify(exchange) {
                Class::Reached(_) => ("reached", None),
                Class::Projected(_) => ("projected", None),
                Class::Merged(_) => ("merged", None),
                Class::Refused(_, why) => ("refused", Some(why)),
                Class::Unreachable(why) => ("unreachable", Some(why)),
                Class::Outside(why) => ("outside", Some(why)),
            };
            *counts.entry(kind).or_default() += 1;
            if let Some(why) = reason
                && kind != "outside"
            {
                reasons.entry((kind, why)).or_default().push(&exchange.name);
            }
        }
        let reads = exchanges.iter().filter(|exchange| exchange.is_grant_read()).count();
        assert_eq!(counts.values().sum::<usize>(), exchanges.len());
        assert_eq!(reads + counts["outside"], exchanges.len());
        let made = ["reached", "merged", "projected"].map(|kind| counts.get(kind).copied().unwrap_or(0));
        assert!(
            made.iter().sum::<usize>() * 4 > reads * 3,
            "{name}: most reads have a call that makes them: {counts:?}"
        );
        say(&format!(
            "{name}: {} exchanges, {reads} of them reads with a grant's bearer: {counts:?}",
            exchanges.len()
        ));
        for ((kind, why), which) in reasons {
            say(&format!("{name}: {kind} ({why}): {}", which.join(", ")));
        }
    }
}

#[test]
fn the_own_exchanges_cover_every_kind() {
    let exchanges = Exchange::load(&own());
    let has =
        |what: &str, found: &dyn Fn(&Exchange) -> bool| assert!(exchanges.iter().any(found), "no {what}");
    let body = |exchange: &Exchange| exchange.body.to_string();
    for status in [200, 201, 202, 400, 401, 403, 404, 409, 410, 422, 429, 500] {
        has(&format!("status {status}"), &|exchange| exchange.status == status);
    }
    for code in [
        "ambiguous_connection",
        "context.stream_not_allowed",
        "context.instance_mismatch",
        "context.active_false",
        "grant_revoked",
        "grant_expired",
        "invalid_cursor",
        "cursor_expired",
        "rate_limited",
        "blob_not_found",
        "access_denied",
        "invalid_expand",
        "field_not_granted",
        "field_not_text",
    ] {
        has(code, &|exchange| exchange.body["error"]["code"] == code);
    }
    for oauth in ["authorization_pending", "slow_down", "expired_token"] {
        has(oauth, &|exchange| exchange.body["error"] == oauth);
    }
    for digits in ["12345678901234567890123", "1.10", "-0.0", "18446744073709551617"] {
        has(digits, &|exchange| body(exchange).contains(digits));
    }
    for kind in [
        "other_count",
        "\"deleted\":true",
        "partial_results",
        "evidence_excerpts",
        "recall",
        "match_start_chars",
        "next_changes_since",
    ] {
        has(kind, &|exchange| body(exchange).contains(kind));
    }
    for reserved in ['/', '%', ':', '\u{202e}'] {
        has(&format!("id with {reserved:?}"), &|exchange| {
            exchange.segments.get(4).is_some_and(|id| id.contains(reserved))
        });
    }
    has("Retry-After", &|exchange| exchange.headers.iter().any(|(name, _)| name == "retry-after"));
    has("binary", &|exchange| exchange.bytes.is_some());
    assert!(exchanges.iter().filter(|exchange| exchange.is_grant_read()).count() >= 90);
}

mod provider {
    use super::*;
    use serde_json::Value;

    fn get(provider: &Provider, bearer: &str, path: &str) -> (u16, Value) {
        let url = format!("{}{path}", provider.url());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let http = pdpp::provider::http::Http::new(pdpp::provider::http::Limits::default());
            let request = http.request(reqwest::Method::GET, url.parse().unwrap()).unwrap();
            let answer = http.send(request.bearer_auth(token(bearer))).await.unwrap();
            (answer.status, serde_json::from_slice(&answer.body).unwrap_or(Value::Null))
        })
    }

    #[test]
    fn answers_whatever_the_spelling_and_writes_down_what_it_was_asked() {
        let provider = Provider::start(Exchange::load(&own()));
        let (status, body) = get(&provider, "TRAIL_ONE", "/v1/streams/walks/records?count=exact&limit=2");
        assert_eq!((status, body["meta"]["count"]["value"].as_u64()), (200, Some(60)));
        let (_, body) = get(&provider, "TRAIL_ONE", "/v1/search?limit=2&streams=photos,notes&q=hut");
        assert_eq!(body["data"].as_array().unwrap().len(), 2, "streams= and streams[]= are one parameter");
        let (status, _) =
            get(&provider, "READER", "/v1/streams/pages/records/left%e2%80%aeright?connection_id=cn_reading");
        assert_eq!(status, 200, "segments are compared decoded");
        assert!(provider.unmatched().is_empty());
        let (status, _) = get(&provider, "TRAIL_TWO", "/v1/streams/walks/records?count=exact&limit=1");
        assert_eq!(status, 599, "another bearer is another request");
        assert_eq!(provider.unmatched().len(), 1);
        assert_eq!(provider.log().len(), 4);
        assert_eq!(provider.log()[0].bearer.as_deref(), Some("TRAIL_ONE"));
    }

    #[test]
    fn numbers_keep_their_digits_and_addresses_become_its_own() {
        let provider = Provider::start(Exchange::load(&own()));
        let (_, body) = get(&provider, "LEDGER", "/v1/streams/entries/records?limit=6");
        let amounts: Vec<String> =
            body["data"].as_array().unwrap().iter().map(|row| row["data"]["amount"].to_string()).collect();
        assert_eq!(amounts[..3], ["12345678901234567890123", "1.10", "-0.0"]);
        let (_, body) = get(&provider, "TRAIL_ONE", "/.well-known/nothing");
        assert_eq!(body["error"]["code"], "replay_unmatched");
        let (_, body) = get(&provider, "TRAIL_ONE", "/v1/streams/diary/records?limit=1");
        let metadata = format!("{}/.well-known/oauth-protected-resource", provider.url());
        assert_eq!(body["error"]["resource_metadata"], metadata);
    }

    #[test]
    fn a_smaller_page_of_the_focus_goes_on_to_its_end() {
        let provider = Provider::start(Exchange::load(&own()));
        provider.focus("records_limit_50");
        let (mut ids, mut cursor) = (Vec::new(), String::new());
        loop {
            let (status, body) =
                get(&provider, "TRAIL_ONE", &format!("/v1/streams/walks/records?limit=20{cursor}"));
            assert_eq!(status, 200);
            ids.extend(body["data"].as_array().unwrap().iter().map(|row| row["id"].clone()));
            let next = body["next_cursor"].as_str().unwrap().to_owned();
            if !next.starts_with("replay.") {
                break;
            }
            cursor = format!("&cursor={next}");
        }
        let whole =
            Exchange::load(&own()).into_iter().find(|exchange| exchange.name == "records_limit_50").unwrap();
        assert_eq!(ids, whole.rows().iter().map(|row| row["id"].clone()).collect::<Vec<_>>());
        assert!(provider.log().iter().all(|asked| asked.served == Served::Part("records_limit_50".into())));
    }

    #[test]
    fn connections_can_be_read_apart_and_a_schema_scoped() {
        let provider = Provider::start(Exchange::load(&own()));
        provider.focus("records_two_connections_count");
        let path = "/v1/streams/walks/records?limit=2&count=exact&connection_id=";
        let (_, alps) = get(&provider, "TRAIL_TWO", &format!("{path}cn_trail_alps"));
        let (_, coast) = get(&provider, "TRAIL_TWO", &format!("{path}cn_trail_coast"));
        let count = |body: &Value| body["meta"]["count"]["value"].as_u64().unwrap();
        assert_eq!(count(&alps) + count(&coast), 80);
        assert_eq!(coast["data"].as_array().unwrap().len(), 2);
        assert!(coast["meta"]["warnings"].as_array().unwrap().is_empty());
        let (_, schema) = get(&provider, "MIXED", "/v1/schema?view=compact&stream=entries");
        assert_eq!(schema["connectors"].as_array().unwrap().len(), 1);
        assert_eq!(provider.log().last().unwrap().served, Served::Schema);
    }

    #[test]
    fn a_flow_is_answered_in_its_order_only() {
        let exchanges = Exchange::load(&own().join("connect-denied"));
        let provider =
            Provider::start_flow(exchanges, &["01_register", "02_agent_connect", "03_poll_denied"]);
        let post = |path: &str, body: Value| {
            let url = format!("{}{path}", provider.issuer());
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let http = pdpp::provider::http::Http::new(pdpp::provider::http::Limits::default());
                let request = http.request(reqwest::Method::POST, url.parse().unwrap()).unwrap();
                let request = request.header("content-type", "application/json").body(body.to_string());
                http.send(request).await.unwrap().status
            })
        };
        let client = serde_json::json!({"client_name": "x", "token_endpoint_auth_method": "none"});
        let poll = serde_json::json!({"polling_code": token("POLLING_CODE")});
        assert_eq!(post("/agent-connect/at-denied/token", poll.clone()), 599, "before its time");
        assert_eq!(post("/register", client.clone()), 201);
        assert_eq!(post("/register", client), 599, "once is enough");
        let attempt =
            serde_json::json!({"resource": provider.url(), "scope": "pdpp:read", "client_id": "cl-77e0"});
        assert_eq!(
            post("/agent-connect", serde_json::json!({"client_id": "cl-77e0"})),
            599,
            "another attempt"
        );
        assert_eq!(post("/agent-connect", attempt), 201);
        assert_eq!(provider.steps_left(), ["03_poll_denied"]);
        assert_eq!(post("/agent-connect/at-denied/token", poll), 403);
        assert_eq!(provider.unmatched().len(), 3);
    }
}
