//! Token introspection (RFC 7662): what the authorization server says about a caller's bearer.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use secrecy::ExposeSecret as _;
use serde_json::{Map, Value};
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::credentials::IntrospectionClient;
use crate::provider::http::{Http, HttpError, Limits};
use crate::provider::url::ProviderUrl;
use crate::secret::AccessToken;

/// The limits of one introspection. A caller that waits for it occupies a request.
pub const LIMITS: Limits =
    Limits { connect: Duration::from_secs(3), total: Duration::from_secs(5), body: 256 << 10 };

/// Introspections in progress at once.
const MOST_AT_ONCE: usize = 32;

/// How many of those may be about strangers: made-up tokens cost the authorization server no more than that, and
/// never take all the turns of the bearers that are served.
const MOST_OF_STRANGERS: usize = 24;

/// Whose bearer the introspection is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was active recently.
    Known,
    /// Anyone could have made it up.
    Stranger,
}

/// Turns at the authorization server.
struct Turns {
    all: Semaphore,
    strangers: Semaphore,
}

/// A turn, until it is dropped.
type Turn<'a> = (Option<SemaphorePermit<'a>>, SemaphorePermit<'a>);

impl Turns {
    const fn new() -> Self {
        Self { all: Semaphore::const_new(MOST_AT_ONCE), strangers: Semaphore::const_new(MOST_OF_STRANGERS) }
    }

    /// Waits for a turn.
    async fn take(&self, standing: Standing) -> Result<Turn<'_>, AcquireError> {
        // First, so that strangers do not wait ahead of known bearers.
        let stranger = match standing {
            Standing::Known => None,
            Standing::Stranger => Some(self.strangers.acquire().await?),
        };
        Ok((stranger, self.all.acquire().await?))
    }
}

/// Asks one authorization server about bearers.
pub struct Introspection {
    http: Http,
    endpoint: Url,
    client: RwLock<Arc<IntrospectionClient>>,
    turns: Turns,
    expected: Expected,
}

/// What a token must be for.
#[derive(Debug, Clone)]
pub struct Expected {
    /// The authorization server that the provider names.
    pub issuer: ProviderUrl,
    /// The endpoint's own URL, which a token's `aud` names.
    pub endpoint: Url,
    /// The provider. A `client` token is for its `/v1` and `/mcp` alike.
    pub provider: ProviderUrl,
}

/// What is known about a usable bearer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Active {
    /// `client_id`: the client that the owner allowed to read.
    pub client_id: Option<String>,
    /// `grant_id`.
    pub grant_id: Option<String>,
    /// `exp`, in seconds since 1970.
    pub exp: Option<i64>,
}

/// Why a bearer is refused although the authorization server answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    /// The token is unknown, expired or revoked.
    Inactive,
    /// Another authorization server issued it.
    WrongIssuer,
    /// It was issued for another resource.
    WrongAudience,
    /// An owner's or a control plane's token: it reads everything, but a grant is required.
    Owner,
    /// A token for several grants at once, which only the provider itself can read.
    Package,
    /// The kind is missing, or this version does not know it.
    UnknownKind,
}

impl Unusable {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Inactive => "token_inactive",
            Self::WrongIssuer => "token_issuer_mismatch",
            Self::WrongAudience => "token_audience_mismatch",
            Self::Owner => "owner_token_refused",
            Self::Package => "package_token_unsupported",
            Self::UnknownKind => "token_kind_unknown",
        }
    }
}

/// Why nothing is known about a bearer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Unknown {
    /// The authorization server did not answer.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The introspection endpoint refuses this endpoint's own credentials.
    #[error("the authorization server refused the introspection credentials (HTTP {0})")]
    Credentials(u16),
    /// Another error, or something that cannot be an answer.
    #[error("the authorization server answered introspection with {0}")]
    Malformed(String),
    /// More are in progress than allowed.
    #[error("too many introspections are in progress")]
    Busy,
}

impl Unknown {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Http(_) => "introspection_unavailable",
            Self::Credentials(_) => "introspection_refused",
            Self::Malformed(_) => "introspection_malformed",
            Self::Busy => "introspection_busy",
        }
    }
}

impl Introspection {
    /// Asks `endpoint` as `client`.
    pub fn new(http: Http, endpoint: Url, client: IntrospectionClient, expected: Expected) -> Self {
        let client = RwLock::new(Arc::new(client));
        Self { http, endpoint, client, turns: Turns::new(), expected }
    }

    /// Uses other credentials from now on.
    pub fn reload(&self, client: IntrospectionClient) {
        *self.client.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(client);
    }

    /// Asks about `bearer` when its turn comes.
    ///
    /// # Errors
    /// Returns [`Unknown`] if there is no usable answer: the bearer is then neither served nor remembered.
    pub async fn ask(
        &self,
        bearer: &AccessToken,
        standing: Standing,
    ) -> Result<Result<Active, Unusable>, Unknown> {
        // A caller that would wait longer for a turn than for an answer gets an error instead.
        let turn = tokio::time::timeout(LIMITS.total, self.turns.take(standing)).await;
        let _turn = turn.ok().and_then(Result::ok).ok_or(Unknown::Busy)?;
        let client = Arc::clone(&self.client.read().unwrap_or_else(PoisonError::into_inner));
        let form = Serializer::new(String::new())
            .append_pair("token", bearer.expose_bearer())
            .append_pair("token_type_hint", "access_token")
            .finish();
        // RFC 6749 §2.3.1: both are form-encoded before they become HTTP Basic.
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let request = self
            .http
            .request(Method::POST, self.endpoint.clone())?
            .basic_auth(encoded(&client.client_id), Some(encoded(client.client_secret.expose_secret())))
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form);
        let answer = self.http.send(request).await?;
        match answer.status {
            200 => {
                let answer = answer.object().map_err(Unknown::Malformed)?;
                read(&answer, &self.expected, Timestamp::now())
            }
            // RFC 6749 §5.2 lets a server say `invalid_client` with 400 too.
            status @ 400 if answer.object().is_ok_and(|answer| is_about_client(&answer)) => {
                Err(Unknown::Credentials(status))
            }
            status @ (401 | 403) => Err(Unknown::Credentials(status)),
            status => Err(Unknown::Malformed(format!("HTTP {status}"))),
        }
    }
}

fn is_about_client(error: &Map<String, Value>) -> bool {
    matches!(error.get("error").and_then(Value::as_str), Some("invalid_client" | "unauthorized_client"))
}

/// Reads what an introspection response says about a token, for this endpoint (R7.3).
///
/// # Errors
/// Returns [`Unknown::Malformed`] without a boolean `active`.
fn read(
    answer: &Map<String, Value>,
    expected: &Expected,
    now: Timestamp,
) -> Result<Result<Active, Unusable>, Unknown> {
    let text = |name: &str| answer.get(name).and_then(Value::as_str);
    match answer.get("active") {
        Some(Value::Bool(true)) => {}
        Some(Value::Bool(false)) => return Ok(Err(Unusable::Inactive)),
        _ => return Err(Unknown::Malformed("no `active`".to_owned())),
    }
    // A server may call an expired token active (RFC 7662 §2.2 leaves the check to both). An `exp` that is not a
    // number is not a time.
    let exp = match answer.get("exp") {
        None | Some(Value::Null) => None,
        Some(exp) => match seconds(exp) {
            Some(exp) if exp > now.as_second() => Some(exp),
            _ => return Ok(Err(Unusable::Inactive)),
        },
    };
    let is_there = |name: &str| answer.get(name).is_some_and(|value| !value.is_null());
    if is_there("iss") && !text("iss").is_some_and(|issuer| expected.issuer.is_same_as(issuer)) {
        return Ok(Err(Unusable::WrongIssuer));
    }
    let kind = text("pdpp_token_kind");
    // These kinds are refused whatever their audience is.
    match kind {
        Some("mcp_package") => return Ok(Err(Unusable::Package)),
        Some("owner" | "control_plane" | "control-plane" | "control") => return Ok(Err(Unusable::Owner)),
        _ => {}
    }
    if is_there("aud") && !answer.get("aud").is_some_and(|aud| is_for_us(aud, kind, expected)) {
        return Ok(Err(Unusable::WrongAudience));
    }
    Ok(match kind {
        Some("client") => Ok(Active {
            client_id: text("client_id").map(str::to_owned),
            grant_id: text("grant_id").map(str::to_owned),
            exp,
        }),
        _ => Err(Unusable::UnknownKind),
    })
}

/// Reads `exp`; a fraction is rounded down.
fn seconds(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let (whole, _) = value.as_number()?.as_str().split_once('.')?;
        whole.parse().ok()
    })
}

/// `aud` is one text or several (RFC 7519 §4.1.3); one of them must be ours.
fn is_for_us(aud: &Value, kind: Option<&str>, expected: &Expected) -> bool {
    let ours = |value: &Value| {
        let Some(named) = value.as_str().and_then(|text| text.parse::<ProviderUrl>().ok()) else {
            return false;
        };
        named.url().as_str().trim_end_matches('/') == expected.endpoint.as_str().trim_end_matches('/')
            || (kind == Some("client") && named == expected.provider)
    };
    match aud {
        Value::Array(all) => all.iter().any(ours),
        single => ours(single),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const NOW: i64 = 1_800_000_000;

    fn expected() -> Expected {
        Expected {
            issuer: "https://as.example".parse().unwrap(),
            endpoint: "https://p.example/mcp".parse().unwrap(),
            provider: "https://p.example".parse().unwrap(),
        }
    }

    fn asked(answer: &Value) -> Result<Result<Active, Unusable>, Unknown> {
        read(answer.as_object().unwrap(), &expected(), Timestamp::from_second(NOW).unwrap())
    }

    /// The outcome of a usable answer with these members added.
    fn with(more: &Value) -> Result<Active, Unusable> {
        let mut answer =
            json!({"active": true, "pdpp_token_kind": "client", "client_id": "c", "grant_id": "g"});
        answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        asked(&answer).unwrap()
    }

    #[test]
    fn r7_3_kinds_come_from_introspection_and_only_client_is_served() {
        let active = with(&json!({"exp": NOW + 10, "iss": "https://as.example/", "aud": null})).unwrap();
        assert_eq!(active.exp, Some(NOW + 10));
        assert_eq!((active.client_id.as_deref(), active.grant_id.as_deref()), (Some("c"), Some("g")));
        for (kind, why) in [
            (json!("owner"), Unusable::Owner),
            (json!("control_plane"), Unusable::Owner),
            (json!("mcp_package"), Unusable::Package),
            (json!("admin"), Unusable::UnknownKind),
            (json!("Client"), Unusable::UnknownKind),
            (json!(["client"]), Unusable::UnknownKind),
            (json!(null), Unusable::UnknownKind),
        ] {
            assert_eq!(with(&json!({ "pdpp_token_kind": kind })), Err(why));
            // For a token with two faults: the wrong audience comes before the kind, and the kind counts even with
            // the right audience.
            let elsewhere = with(&json!({"pdpp_token_kind": kind, "aud": "https://x.example"}));
            let why = if why == Unusable::UnknownKind { Unusable::WrongAudience } else { why };
            assert_eq!(elsewhere, Err(why));
        }
        assert_eq!(asked(&json!({"active": true})).unwrap(), Err(Unusable::UnknownKind));
    }

    #[test]
    fn r7_3_a_wrong_issuer_or_audience_is_refused() {
        for iss in [json!("https://other.example"), json!("as.example"), json!(7), json!("")] {
            assert_eq!(with(&json!({ "iss": iss })), Err(Unusable::WrongIssuer), "{iss}");
        }
        for aud in [
            json!("https://p.example/mcp"),
            json!("https://p.example/"),
            json!(["https://x.example", "https://p.example/mcp/"]),
        ] {
            assert!(with(&json!({ "aud": aud })).is_ok(), "{aud}");
        }
        for aud in [
            json!("https://x.example/mcp"),
            json!("https://p.example/mcp/x"),
            json!("http://p.example/mcp"),
            json!([]),
            json!(["x", 1]),
            json!({"https://p.example/mcp": 1}),
            json!(""),
        ] {
            assert_eq!(with(&json!({ "aud": aud })), Err(Unusable::WrongAudience), "{aud}");
        }
    }

    #[test]
    fn r7_3_what_has_expired_is_inactive_whatever_active_says() {
        for exp in [json!(NOW), json!(0), json!(-1), json!("1900000000"), json!({})] {
            assert_eq!(with(&json!({ "exp": exp })), Err(Unusable::Inactive), "{exp}");
        }
        assert!(with(&json!({"exp": 1_800_000_000.5})).is_err());
        assert_eq!(with(&json!({"exp": 1_800_000_001.5})).unwrap().exp, Some(NOW + 1));
        assert_eq!(
            asked(&json!({"active": false, "pdpp_token_kind": "client"})).unwrap(),
            Err(Unusable::Inactive)
        );
        for answer in [json!({}), json!({"active": "true"}), json!({"active": 1})] {
            assert!(matches!(asked(&answer), Err(Unknown::Malformed(_))), "{answer}");
        }
    }

    #[test]
    fn a_client_may_be_refused_with_400_too() {
        let about_client = |error: &Value| is_about_client(json!({ "error": error }).as_object().unwrap());
        assert!(about_client(&json!("invalid_client")) && about_client(&json!("unauthorized_client")));
        assert!(!about_client(&json!("invalid_request")) && !about_client(&json!(null)));
    }

    #[test]
    fn strangers_leave_turns_to_those_who_are_known() {
        use futures_util::FutureExt as _;
        let turns = Turns::new();
        let take = |standing| turns.take(standing).now_or_never().and_then(Result::ok);
        let mut strangers: Vec<_> = std::iter::from_fn(|| take(Standing::Stranger)).collect();
        assert_eq!(strangers.len(), MOST_OF_STRANGERS);
        // One more waits, and blocks nobody.
        let mut waits = Box::pin(turns.take(Standing::Stranger));
        assert!(waits.as_mut().now_or_never().is_none());
        let known: Vec<_> = std::iter::from_fn(|| take(Standing::Known)).collect();
        assert_eq!(known.len(), MOST_AT_ONCE - MOST_OF_STRANGERS);
        strangers.pop();
        assert!(waits.now_or_never().is_some(), "the turn was given back");
    }

    proptest! {
        #[test]
        fn r7_3_no_answer_but_a_client_of_ours_is_served(
            kind in "[a-z_]{0,12}", iss in "\\PC{0,24}", aud in "\\PC{0,24}", exp in any::<i64>()
        ) {
            let answer = json!({"active": true, "pdpp_token_kind": kind, "iss": iss, "aud": aud, "exp": exp});
            let served = asked(&answer).is_ok_and(|asked| asked.is_ok());
            prop_assert!(!served);
        }
    }
}
