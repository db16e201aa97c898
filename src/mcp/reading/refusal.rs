//! Why a read failed, as a typed error (R5.1, R5.5). What a provider's refusal means for a call is explained where
//! the call is known ([`crate::mcp::tools::explanation`]).

use serde_json::{Map, Value};

use super::audience::{Audience, ask_to_run};
use super::backend::ReadError;
use super::catalog::connections;
use crate::advice::Command;
use crate::error::{Error, Kind};
use crate::mcp::tool_error::{Candidate, ToolError};
use crate::provider::http::HttpError;
use crate::provider::network::NetworkError;
use crate::provider::rs::{Refusal, RsError};
use crate::provider::url::ProviderUrl;
use crate::text;

/// What to do if a provider's answer is not valid.
const BROKEN: &str = "try again once; if it persists, the provider is not working: tell the user";

/// The typed error for a failed read.
pub fn typed(error: ReadError, provider: &ProviderUrl) -> ToolError {
    let message = error.to_string();
    match error {
        ReadError::Provider(RsError::Refused(refusal)) => refused(*refusal),
        ReadError::Provider(RsError::Http(error)) => {
            ToolError::new(error.code(), message, next_for_http(&error, provider))
                .with("provider", provider.as_str())
        }
        ReadError::Provider(RsError::NotJson { status, .. }) => {
            ToolError::new("provider_answer_broken", message, BROKEN).with("status", status)
        }
        ReadError::Unsupported { next, param, .. } => {
            ToolError::new("unsupported_by_provider", message, next).with_some("param", param)
        }
        ReadError::CallRefused { code, .. } => {
            let next = "correct the call as the message says; schema lists what exists";
            ToolError::new("provider_refused_call", text::one_line(&message).into_owned(), next)
                .with("jsonrpc_code", code)
        }
        ReadError::Broken(_) => ToolError::new("provider_answer_broken", message, BROKEN),
    }
}

fn refused(refusal: Refusal) -> ToolError {
    let candidates = candidates(&refusal.error);
    let retry_after = refusal.retry_after.filter(|_| refusal.status == 429);
    let error = ToolError::of_refusal(refusal).with_some("retry_after_seconds", retry_after);
    if candidates.is_empty() { error } else { error.choose_from(candidates) }
}

/// Whether the resource server does not know the token, or no longer, so that another token may help; not whether
/// the grant behind it was revoked or has ended.
pub fn is_inactive(refusal: &Refusal) -> bool {
    refusal.status == 401 && matches!(refusal.code.as_str(), "context.active_false" | "invalid_token")
}

/// The error while the provider wants fewer requests.
pub fn rate_limited(seconds: u64) -> ToolError {
    ToolError::new(
        "rate_limited",
        format!("The provider allows no more requests for {seconds} s"),
        format!("wait {seconds} s, then repeat the call; ask for more per call (limit, aggregate)"),
    )
    .with("status", 429)
    .with("retry_after_seconds", seconds)
}

/// The error for a credential that cannot be used: no request was made.
pub fn of_credential(error: &Error, audience: &Audience) -> ToolError {
    let because = error.causes().next().map(|cause| format!(": {cause}")).unwrap_or_default();
    let next = match (audience, error.next()) {
        // A grant that was removed from this computer must be connected, not renewed.
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
    ToolError::new(error.code(), format!("{}{because}", error.message_in_line()), next)
}

/// Whether a refusal means that the credential itself no longer works, rather than a wrong argument, which some
/// providers also answer with 401.
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
            format!("check that {provider} is up and this computer is online, then repeat the call")
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
            format!("tell the user: {provider} has moved; they must connect again with its new URL")
        }
        HttpError::Broken { .. } => "repeat the call once; then tell the user".to_owned(),
        HttpError::Proxy { .. } | HttpError::Network(NetworkError::ProxyVariable { .. }) => {
            let doctor = Command::new("doctor");
            format!("tell the user: this computer's proxy blocks the connection; `{doctor}` says more")
        }
        HttpError::Network(NetworkError::CaFile { .. }) | HttpError::Setup(_) => {
            "tell the user; the message says what this computer lacks".to_owned()
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_credential_is_told_to_who_can_mend_it() {
        let owner = Audience::Owner(Command::connect("https://p.example").words("--renew"));
        // A problem with a credential is described as the cache describes it, except to a caller from elsewhere.
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
}
