//! Checks whether a credential works, with one bounded read of the schema.

use std::time::Duration;

use futures_util::StreamExt as _;
use jiff::Timestamp;
use serde::Serialize;

use crate::advice::{Command, Hint};
use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::cache::select::{disconnect_command, renew_command};
use crate::error::{Error, Kind};
use crate::mcp::reading::hosted_tools::HostedTools;
use crate::mcp::reading::reader::{self, Reader};
use crate::mcp::reading::request::Request;
use crate::mcp::tool_error::ToolError;
use crate::own;
use crate::own::backend::InProcess;
use crate::own::serving::Stores;
use crate::provider::grant::TokenKind;
use crate::provider::http::{Http, HttpError, Limits};
use crate::provider::rs::{Read, Refusal, RsError};
use crate::text;
use crate::time_text::day_and_time;

/// The limits for the requests of one check. A check makes at most two requests.
pub const LIMITS: Limits =
    Limits { connect: Duration::from_secs(5), total: Duration::from_secs(8), body: 4 << 20 };
/// The longest time for one check, including a keyring's answer.
const WITHIN: Duration = Duration::from_secs(15);
/// The next step if the provider itself fails.
const TELL_PROVIDER: &str = "Try again later. If it still fails, tell the provider";
/// How many checks run at once.
const AT_ONCE: usize = 8;

/// The known state of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// No known problem; it was not tried.
    NotChecked,
    /// It was tried and works.
    Works,
    /// It has expired.
    Expired,
    /// The owner or the provider has revoked it.
    Revoked,
    /// The provider no longer accepts the token.
    Rejected,
    /// The provider could not be reached.
    Unreachable,
    /// The provider answered with something other than a result.
    ProviderFailing,
    /// Its secret cannot be read here.
    NoSecret,
    /// A rule of this program forbids its use.
    Refused,
}

impl State {
    /// The word for this state in a table.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NotChecked => "not checked",
            Self::Works => "works",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Rejected => "rejected",
            Self::Unreachable => "unreachable",
            Self::ProviderFailing => "provider fails",
            Self::NoSecret => "no token",
            Self::Refused => "refused",
        }
    }

    /// Whether an agent could read with it, as far as is known.
    pub const fn is_usable(self) -> bool {
        matches!(self, Self::NotChecked | Self::Works)
    }
}

/// A credential's state, the reason and the next step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The state.
    pub state: State,
    /// Why it does not work, in one sentence.
    pub why: Option<String>,
    /// The stable error code of that reason.
    pub code: Option<String>,
    /// The command to type.
    pub next: Option<Hint>,
}

impl Verdict {
    const fn plain(state: State) -> Self {
        Self { state, why: None, code: None, next: None }
    }

    fn new(state: State, code: &str, why: impl Into<String>, next: impl Into<Hint>) -> Self {
        Self { state, why: Some(why.into()), code: Some(code.to_owned()), next: Some(next.into()) }
    }
}

/// The state of `credential`, one of `all`, at `now`, from the index alone.
pub fn from_index(credential: &Credential, all: &[Credential], now: Timestamp) -> Verdict {
    match credential.token_kind {
        TokenKind::Owner => Verdict::new(
            State::Refused,
            "owner_credential_in_cache",
            "it is an owner credential, which an agent must never have",
            Command::new("disconnect").value(credential.grant_id.as_str()),
        ),
        _ if credential.is_expired(now) => {
            let end = credential.expires_at().map(day_and_time).unwrap_or_default();
            Verdict::new(
                State::Expired,
                "grant_expired",
                format!("it ended {end}"),
                renew_command(credential, all),
            )
        }
        _ => Verdict::plain(State::NotChecked),
    }
}

/// The state of `credential`, one of `all`, at `now`, from what this computer knows: its index, and whether the
/// token is still in its file. Does not ask a keyring.
pub fn from_here(cache: &Cache, credential: &Credential, all: &[Credential], now: Timestamp) -> Verdict {
    let known = from_index(credential, all, now);
    match cache.lost_secret(credential).filter(|_| known.state == State::NotChecked) {
        Some(error) => of_secret(&error, || renew_command(credential, all)),
        None => known,
    }
}

/// Tries `credentials`, several at once. `all` holds every credential of this computer. Keeps their order.
pub async fn check_all(
    cache: &Cache,
    http: &Http,
    credentials: &[Credential],
    all: &[Credential],
) -> Vec<Verdict> {
    futures_util::stream::iter(credentials)
        .map(|credential| async move {
            match tokio::time::timeout(WITHIN, check(cache, http, credential, all)).await {
                Ok(verdict) => verdict,
                Err(_) => Verdict::new(
                    State::Unreachable,
                    "provider_timeout",
                    format!("no answer within {} s", WITHIN.as_secs()),
                    Command::new("doctor"),
                ),
            }
        })
        .buffered(AT_ONCE)
        .collect()
        .await
}

async fn check(cache: &Cache, http: &Http, credential: &Credential, all: &[Credential]) -> Verdict {
    let known = from_index(credential, all, Timestamp::now());
    let renew = || renew_command(credential, all);
    if known.state != State::NotChecked {
        return known;
    }
    let rs = match credential.resource_server(http.clone()) {
        Ok(rs) => rs,
        Err(error) => {
            return Verdict::new(State::Refused, "query_base_foreign", error.to_string(), renew());
        }
    };
    let bearer = match cache.bearer(credential).await {
        Ok(bearer) => bearer,
        Err(error) => return of_secret(&error, renew),
    };
    if credential.provider.is_local() {
        let dir = credential.data_dir.clone().unwrap_or_default();
        let opening = Stores::default().opening(&dir, &credential.issuer);
        let store = InProcess::new(opening, credential.query_base.clone());
        let grant = Some(credential.grant_id.as_str().to_owned());
        let reader = Reader::new(credential.provider.clone(), grant, store, reader::only(bearer));
        return match reader.read(&Request::compact_schema(None, None)).await {
            Ok(_) => Verdict::plain(State::Works),
            Err(error) => of_own(credential, &error, renew),
        };
    }
    let compact = Read::of(["schema"]).with("view", "compact");
    if credential.token_kind == TokenKind::McpPackage {
        // Its token is valid only for the provider's own `/mcp`.
        let provider = credential.provider.clone();
        let hosted = HostedTools::new(http.clone(), &provider, rs);
        let grant = Some(credential.grant_id.as_str().to_owned());
        let reader = Reader::new(provider, grant, hosted, reader::only(bearer));
        return match reader.read(&Request::compact_schema(None, None)).await {
            Ok(_) => Verdict::plain(State::Works),
            Err(error) => of_tool(&error, renew),
        };
    }
    let read = match rs.get(&bearer, &compact).await {
        // A provider that has only the core of PDPP.
        Err(RsError::Refused(refusal)) if refusal.status == 404 => {
            rs.get(&bearer, &Read::of(["streams"])).await
        }
        read => read,
    };
    match read {
        Ok(_) => Verdict::plain(State::Works),
        // It accepts the token and does not know the view.
        Err(RsError::Refused(refusal)) if refusal.status == 400 => Verdict::plain(State::Works),
        Err(error) => of_read(&error, renew),
    }
}

fn of_secret(error: &Error, renew: impl Fn() -> Command) -> Verdict {
    // The cache's own hint is for a grant whose token is missing: ask for the same grant again.
    let next = match error.next() {
        Some(next) if error.kind() != Kind::NotConnected => next.clone(),
        _ => renew().into(),
    };
    Verdict::new(State::NoSecret, error.code(), error.in_full(), next)
}

fn of_read(error: &RsError, renew: impl Fn() -> Command) -> Verdict {
    match error {
        RsError::Refused(refusal) => of_refusal(refusal, renew),
        RsError::Http(error @ (HttpError::Broken { .. } | HttpError::TooLarge { .. })) => {
            Verdict::new(State::ProviderFailing, error.code(), error.to_string(), error.next_step())
        }
        RsError::Http(error) => {
            Verdict::new(State::Unreachable, error.code(), error.to_string(), error.next_step())
        }
        RsError::NotJson { .. } => {
            Verdict::new(State::ProviderFailing, "provider_answer_broken", error.to_string(), TELL_PROVIDER)
        }
    }
}

fn of_refusal(refusal: &Refusal, renew: impl Fn() -> Command) -> Verdict {
    let why = format!("the provider says: {}", text::prefix(&refusal.message, 300));
    let (state, code) = match (refusal.status, refusal.code.as_str()) {
        (_, "grant_revoked") => (State::Revoked, "grant_revoked"),
        (_, "grant_expired") => (State::Expired, "grant_expired"),
        (401 | 403, _) => (State::Rejected, "token_rejected"),
        _ => {
            return Verdict::new(State::ProviderFailing, "provider_failed", why, TELL_PROVIDER);
        }
    };
    Verdict::new(state, code, why, renew())
}

/// The state from an answer of the person's own store. If the store cannot be read at all: why, and how to fix it.
fn of_own(credential: &Credential, error: &ToolError, renew: impl Fn() -> Command) -> Verdict {
    let dir = credential.data_dir.clone().unwrap_or_default();
    let opened = own::open(&dir).and_then(|vault| own::store_id(vault.store()));
    match opened.map_err(|error| own::told(&dir, error)) {
        Err(broken) => Verdict::new(
            State::Unreachable,
            broken.code(),
            broken.in_full(),
            broken.next().cloned().unwrap_or_default(),
        ),
        Ok(id) if id.as_deref().map(own::issuer).as_ref() != Some(&credential.issuer) => Verdict::new(
            State::Rejected,
            "own_store_other",
            format!("the grant belongs to a different store than the one in {}", dir.display()),
            Hint::new("Remove the old grant and make a new one: ")
                .run(disconnect_command(credential))
                .then(" && ")
                .run(Command::connect("local")),
        ),
        Ok(_) => of_tool_of("the store", error, renew),
    }
}

/// The state from an answer of the provider's hosted tools. Their hints are for an agent and are not passed on.
fn of_tool(error: &ToolError, renew: impl Fn() -> Command) -> Verdict {
    of_tool_of("the provider", error, renew)
}

fn of_tool_of(whose: &str, error: &ToolError, renew: impl Fn() -> Command) -> Verdict {
    const ANSWERED: [&str; 5] = [
        "provider_answer_broken",
        "provider_answer_too_large",
        "answer_too_large",
        "unsupported_by_provider",
        "provider_refused_call",
    ];
    let status = error.detail("status").and_then(serde_json::Value::as_u64);
    let why = text::prefix(error.message(), 300);
    let message = || format!("{whose} says: {why}");
    match (error.code(), status) {
        (code @ "grant_revoked", _) => Verdict::new(State::Revoked, code, message(), renew()),
        (code @ "grant_expired", _) => Verdict::new(State::Expired, code, message(), renew()),
        (_, Some(401 | 403)) => Verdict::new(State::Rejected, "token_rejected", message(), renew()),
        (code, None) if ANSWERED.contains(&code) => {
            Verdict::new(State::ProviderFailing, code, why, TELL_PROVIDER)
        }
        (code, None) => Verdict::new(
            State::Unreachable,
            code,
            why,
            Hint::new("Check the address and the network. For details: ").run(Command::new("doctor")),
        ),
        (_, Some(_)) => Verdict::new(State::ProviderFailing, "provider_failed", message(), TELL_PROVIDER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::credential::tests::credential;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn refusals_are_told_apart_with_the_command_that_helps() {
        let credential = credential("https://a.example/me", "g");
        let refusal = |status, code: &str| Refusal {
            status,
            code: code.to_owned(),
            message: "No".repeat(1000),
            param: None,
            request_id: None,
            retry_after: None,
            error: serde_json::Map::new(),
        };
        for (status, code, state) in [
            (403, "grant_revoked", State::Revoked),
            (403, "grant_expired", State::Expired),
            (401, "context.active_false", State::Rejected),
            (403, "http_403", State::Rejected),
            (503, "http_503", State::ProviderFailing),
            (429, "rate_limited", State::ProviderFailing),
        ] {
            let verdict = of_refusal(&refusal(status, code), || renew_command(&credential, &[]));
            assert_eq!(verdict.state, state, "{code}");
            let next = verdict.next.map(|next| next.to_string());
            let renews = next.as_deref() == Some("pdpp connect https://a.example/me --renew");
            assert_eq!(renews, state != State::ProviderFailing);
            assert!(verdict.why.unwrap().len() < 400);
        }
    }

    #[test]
    fn the_index_alone_knows_an_end_and_an_owner() {
        let mut credential = credential("https://a.example", "g");
        assert_eq!(from_index(&credential, &[], at(0)), Verdict::plain(State::NotChecked));
        credential.grant_expires_at = Some(at(100));
        assert_eq!(from_index(&credential, &[], at(100)).state, State::Expired);
        credential.token_kind = TokenKind::Owner;
        assert_eq!(from_index(&credential, &[], at(100)).state, State::Refused);
    }
}
