//! What a resource server's refusal means, and what to do next (R5.1, R5.5). The code, message, param
//! and request id stay the resource server's; only the next step is ours.

use serde_json::{Map, Value, json};

use crate::advice::Command;
use crate::error::{Error, Kind};
use crate::mcp::id::RecordId;
use crate::mcp::reading::catalog::connections;
use crate::mcp::reading::source::{Audience, ask_to_run};
use crate::mcp::render::ladder::Call;
use crate::mcp::tool_error::{Candidate, ToolError};
use crate::provider::http::HttpError;
use crate::provider::network::NetworkError;
use crate::provider::rs::{Read, Refusal, RsError};
use crate::provider::url::ProviderUrl;

/// The typed error for a read that gave no answer, for `audience`.
pub fn explain(error: &RsError, read: &Read, provider: &ProviderUrl, audience: &Audience) -> ToolError {
    match error {
        RsError::Refused(refusal) => refused(refusal, read, audience),
        RsError::Http(error) => {
            ToolError::new(error.code(), error.to_string(), next_for_http(error, provider))
                .with("provider", provider.as_str())
        }
        RsError::NotJson { status, .. } => ToolError::new(
            "provider_answer_broken",
            error.to_string(),
            "try again once; if it stays so, the provider is not working: tell the user",
        )
        .with("status", *status),
    }
}

/// Whether the resource server knows no such token (any more), which another token may help against; not
/// that the grant behind it was revoked or has ended.
pub fn is_inactive(refusal: &Refusal) -> bool {
    refusal.status == 401 && matches!(refusal.code.as_str(), "context.active_false" | "invalid_token")
}

/// The provider wants fewer requests.
pub fn rate_limited(seconds: u64) -> ToolError {
    ToolError::new(
        "rate_limited",
        format!("The provider allows no more requests for {seconds} s"),
        format!("wait {seconds} s, then repeat the call; ask for more per call (limit, aggregate)"),
    )
    .with("status", 429)
    .with("retry_after_seconds", seconds)
}

/// The credential cannot be used at all: no request was made.
pub fn of_credential(error: &Error, audience: &Audience) -> ToolError {
    let because = error.causes().next().map(|cause| format!(": {cause}")).unwrap_or_default();
    let next = match (audience, error.next()) {
        // One that was taken off this machine is connected, and not renewed.
        (Audience::Owner(_), Some(next))
            if error.code() == "disconnected" || error.kind() != Kind::NotConnected =>
        {
            match next.command() {
                Some(command) => ask_to_run(command),
                None if error.kind() == Kind::Unavailable => {
                    format!("repeat the call in a minute; if it fails again, tell the user: {next}")
                }
                None => format!("tell the user: {next}"),
            }
        }
        _ => audience.next(),
    };
    ToolError::new(error.code(), format!("{}{because}", error.message()), next)
}

/// Whether a refusal means that the credential itself is of no use any more: not a wrong argument, which some
/// providers answer with 401 too.
pub fn is_dead_token(refusal: &Refusal) -> bool {
    match refusal.code.as_str() {
        "grant_revoked" | "grant_expired" => true,
        "context.instance_mismatch" | "context.stream_not_allowed" | "grant_stream_not_allowed" => false,
        _ => refusal.status == 401,
    }
}

fn next_for_http(error: &HttpError, provider: &ProviderUrl) -> String {
    match error {
        HttpError::Unreachable { .. } | HttpError::UnknownHost { .. } => {
            format!("check that {provider} is up and this machine is online, then repeat the call")
        }
        HttpError::Tls { .. } => {
            format!("tell the user: the certificate of {provider} is not trusted here; nothing was sent")
        }
        HttpError::TimedOut { .. } => {
            "repeat the call once; ask for less (limit, fields, a narrower filter) if it stays slow"
                .to_owned()
        }
        HttpError::TooLarge { .. } => "ask for less: a smaller limit, or fields".to_owned(),
        HttpError::Redirected { .. } => {
            format!("tell the user: {provider} has moved; they connect again with its new URL")
        }
        HttpError::Broken { .. } => "repeat the call once; then tell the user".to_owned(),
        HttpError::Proxy { .. } | HttpError::Network(NetworkError::ProxyVariable { .. }) => {
            let doctor = Command::new("doctor");
            format!("tell the user: this machine's proxy is in the way; `{doctor}` says more")
        }
        HttpError::Network(NetworkError::CaFile { .. }) | HttpError::Setup(_) => {
            "tell the user; the message says what this machine lacks".to_owned()
        }
    }
}

fn refused(refusal: &Refusal, read: &Read, audience: &Audience) -> ToolError {
    let stream = match read.segments.as_slice() {
        [streams, stream, ..] if streams == "streams" => Some(stream.as_str()),
        _ => None,
    };
    let advice = next_step(refusal, read, stream, audience);
    let mut error =
        ToolError::new(refusal.code.clone(), refusal.message.clone(), advice.hint.unwrap_or_default())
            .offer(advice.call)
            .with("status", refusal.status)
            .with_some("param", refusal.param.clone().or_else(|| param_of(refusal, read)))
            .with_some("request_id", refusal.request_id.clone());
    if refusal.status == 429 {
        error = error.with_some("retry_after_seconds", refusal.retry_after);
    }
    let candidates = candidates(&refusal.error);
    if candidates.is_empty() { error } else { error.choose_from(candidates) }
}

/// The argument that a refusal is about, where the provider does not name it.
fn param_of(refusal: &Refusal, read: &Read) -> Option<String> {
    let is_mode = refusal.status == 404 && searched_mode(read).is_some();
    let is_cursor =
        matches!(refusal.code.as_str(), "invalid_cursor" | "cursor_expired") || refusal.status == 410;
    // A bookmark is a cursor of the provider's too.
    let is_bookmark = read.query.iter().any(|(name, _)| name == "changes_since");
    let cursor = if is_bookmark { "changes_since" } else { "cursor" };
    let name = if is_mode { "mode" } else { Some(cursor).filter(|_| is_cursor)? };
    Some(name.to_owned())
}

/// The way of searching that a read asks for, other than by words.
fn searched_mode(read: &Read) -> Option<&str> {
    match read.segments.as_slice() {
        [search, mode] if search == "search" => Some(mode),
        _ => None,
    }
}

fn candidates(error: &Map<String, Value>) -> Vec<Candidate> {
    let list = error.get("available_connections");
    let entries = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    connections(list)
        .into_iter()
        .map(|(connection_id, label)| {
            let entry =
                entries.iter().find(|entry| text(entry, "connection_id").as_ref() == Some(&connection_id));
            Candidate {
                grant_id: entry.and_then(|entry| text(entry, "grant_id")),
                connector_key: entry
                    .and_then(|entry| text(entry, "connector_key"))
                    .filter(|key| !key.contains("://")),
                connection_id,
                label,
            }
        })
        .collect()
}

/// A wrong argument, a dead token and a narrowed grant look alike on the wire; each needs another step. What
/// the schema can tell beside it is added where the call is known ([`crate::mcp::tools::advice`]).
fn next_step(refusal: &Refusal, read: &Read, stream: Option<&str>, audience: &Audience) -> Advice {
    let has =
        |name: &str| read.query.iter().any(|(key, _)| key == name || key.starts_with(&format!("{name}[")));
    let schema = || Call::new("schema", stream.map_or_else(|| json!({}), |stream| json!({"stream": stream})));
    let look = |hint: &str| Advice { hint: Some(hint.to_owned()), call: Some(schema()) };
    let message = refusal.message.to_lowercase();
    match (refusal.status, refusal.code.as_str()) {
        // Wrong arguments that some providers answer with 401 (a client must not call the token dead).
        (_, "context.instance_mismatch") => {
            look("that connection_id is not in this grant; the schema lists those that are")
        }
        (_, "context.stream_not_allowed" | "grant_stream_not_allowed") => Advice {
            hint: Some("that stream is not in this grant; the schema lists those that are".to_owned()),
            call: Some(Call::new("schema", json!({}))),
        },
        (_, "grant_revoked") => say(format!("the owner has ended this grant; {}", audience.next())),
        (_, "grant_expired") => say(format!("this grant's time is over; {}", audience.next())),
        (_, "ambiguous_connection" | "ambiguous_schema_detail") => {
            say("repeat the call with one of these connection_id values")
        }
        (_, "field_not_granted" | "unknown_field") => look("the schema lists the granted fields"),
        (_, "invalid_sort" | "invalid_expand") => look("the schema lists what is accepted"),
        (_, "invalid_cursor") if has("changes_since") => {
            say("changes_since is \"beginning\" or a next_changes_since that an answer gave")
        }
        (_, "invalid_cursor") => {
            say("start again without cursor; a cursor goes with the very call that gave it")
        }
        (404, code) if code.contains("match") => say(
            "the words are not in that field as one text; try one word of them, or read from offset_chars 0",
        ),
        (410, _) | (_, "cursor_expired") => say("the cursor is too old: start again without it"),
        (422, "field_not_text") => not_text(read, stream),
        (429, _) => say(format!(
            "wait {} s, then repeat the call; ask for more per call (limit, aggregate)",
            refusal.retry_after.unwrap_or(60)
        )),
        (401, _) => say(format!("the credential is no longer accepted; {}", audience.next())),
        (403, _) => look("the grant does not allow this; the schema lists what it does"),
        (404, _) if searched_mode(read).is_some() => {
            say("this provider has no search of that mode: leave mode out, then search finds words")
        }
        (404, _) if read.segments.len() >= 4 => say(
            "no such record here, or it was deleted; check id and connection_id with search or query_records",
        ),
        (404, _) => look("the schema lists what is there"),
        // The draft's v0.1 lets a provider take none of these from a client at all.
        (400, _) if message.contains("client") && message.contains("not supported") => {
            let names = ["filter", "expand", "expand_limit", "view"].into_iter().filter(|name| has(name));
            let names = names.collect::<Vec<_>>().join(", ");
            say(if names.is_empty() {
                "leave out what the message names".to_owned()
            } else {
                format!(
                    "this provider does not take {names} for a grant; leave it out and narrow with fields, sort, limit, \
                     aggregate or search"
                )
            })
        }
        (400 | 409 | 422, _) => look("correct the call; the schema lists what is accepted"),
        (500.., _) => say("the provider failed; repeat the call once, then tell the user"),
        _ => say("tell the user"),
    }
}

/// A sentence, a call, or both.
struct Advice {
    hint: Option<String>,
    call: Option<Call>,
}

fn say(sentence: impl Into<String>) -> Advice {
    Advice { hint: Some(sentence.into()), call: None }
}

/// A field that has no windows is read with its record.
fn not_text(read: &Read, stream: Option<&str>) -> Advice {
    let of = |name: &str| read.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let id = stream.zip(read.segments.get(3)).and_then(|(stream, record)| {
        let connection = of("connection_id");
        RecordId { connection, stream: stream.to_owned(), record: record.clone() }.handle()
    });
    let fields = of("field").into_iter().collect::<Vec<_>>();
    match id {
        Some(id) => Advice {
            hint: Some("that field is no text: fetch reads it whole".to_owned()),
            call: Some(Call::new("fetch", json!({"id": id, "fields": fields}))),
        },
        None => say("that field is no text; fetch the record instead"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal() -> Refusal {
        Refusal {
            status: 400,
            code: String::new(),
            message: "no".to_owned(),
            param: None,
            request_id: None,
            retry_after: None,
            error: Map::new(),
        }
    }

    fn refused_with(status: u16, code: &str, read: &Read) -> ToolError {
        let refusal = Refusal { status, code: code.to_owned(), ..refusal() };
        refused(&refusal, read, &Audience::Caller)
    }

    #[test]
    fn r5_2_a_field_that_is_no_text_is_read_by_an_id_that_reads_back() {
        let read = Read::of(["streams", "tx", "records", "2024/01", "field-window"])
            .with("field", "amount")
            .with("connection_id", "c");
        let error = refused_with(422, "field_not_text", &read);
        assert!(
            error.next().ends_with(r#"fetch {"fields":["amount"],"id":"c/tx:2024%2F01"}"#),
            "{}",
            error.next()
        );
    }

    #[test]
    fn a_grant_that_is_over_is_renewed_by_who_has_it() {
        let owner = Audience::Owner(Command::connect("https://p.example").words("--renew"));
        let read = Read::of(["schema"]);
        for (status, code) in [
            (403, "grant_revoked"),
            (403, "grant_expired"),
            (401, "context.active_false"),
            (401, "invalid_token"),
        ] {
            let said = |audience: &Audience| {
                let error = Refusal { status, code: code.to_owned(), ..refusal() };
                explain(
                    &RsError::Refused(Box::new(error)),
                    &read,
                    &"https://p.example".parse().unwrap(),
                    audience,
                )
                .next()
            };
            let told = said(&owner);
            assert!(told.ends_with("ask the user to run: pdpp connect https://p.example --renew"), "{told}");
            let told = said(&Audience::Caller);
            assert!(told.ends_with("authorize this server again in their host"), "{told}");
            assert!(!told.contains("pdpp"), "{told}");
        }
        // What is wrong with a credential is told as the cache does, but to a caller from elsewhere.
        let gone = Error::new(Kind::NotConnected, "secret_missing", "gone").run(Command::connect("x"));
        assert!(of_credential(&gone, &owner).next().ends_with("--renew"));
        assert!(!of_credential(&gone, &Audience::Caller).next().contains("pdpp"));
        let locked = Error::failed("keyring_locked", "locked").hint("Unlock it");
        assert_eq!(of_credential(&locked, &owner).next(), "tell the user: Unlock it", "no command to run");
        let busy = Error::new(Kind::Unavailable, "refresh_busy", "busy").hint("Try again");
        assert!(of_credential(&busy, &owner).next().starts_with("repeat the call"));
        let damaged = Error::failed("secret_damaged", "damaged").run(Command::connect("x").words("--renew"));
        assert_eq!(of_credential(&damaged, &owner).next(), "ask the user to run: pdpp connect x --renew");
    }

    #[test]
    fn r5_5_the_argument_to_leave_out_is_named() {
        let read = Read::of(["streams", "tx", "records"]).with("cursor", "x");
        assert_eq!(refused_with(400, "invalid_cursor", &read).detail("param"), Some(&json!("cursor")));
        let error = refused_with(404, "retrieval_mode_not_supported", &Read::of(["search", "semantic"]));
        assert_eq!(error.detail("param"), Some(&json!("mode")));
        let bookmark = Read::of(["streams", "tx", "records"]).with("changes_since", "x");
        assert_eq!(
            refused_with(400, "invalid_cursor", &bookmark).detail("param"),
            Some(&json!("changes_since"))
        );
        assert!(error.next().contains("leave mode out"), "{}", error.next());
    }
}
