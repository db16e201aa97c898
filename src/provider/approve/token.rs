//! The answer that carries a token.

use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Kind;
use crate::json;
use crate::provider::grant::{GrantId, GrantedSource, TokenKind};
use crate::secret::{AccessToken, NotABearer};
use crate::text;

/// A token, and what its answer states about it.
#[derive(Debug)]
pub struct TokenResponse {
    /// The token.
    pub access_token: AccessToken,
    /// The token that gets the next one.
    pub refresh_token: Option<SecretString>,
    /// Its kind, if the answer states one or names a package.
    pub kind: Option<TokenKind>,
    /// `grant_id`, or `grant.grant_id`.
    pub grant_id: Option<GrantId>,
    /// `grant_package_id`.
    pub package_id: Option<GrantId>,
    /// What the grants of a package cover, if the answer states it (`grants[]`): the first hundred.
    pub package_sources: Vec<GrantedSource>,
    /// `grant.expires_at`, or the earliest end of a package's grants.
    pub grant_expires_at: Option<Timestamp>,
    /// The earlier of the top-level `expires_at` and `expires_in`.
    pub token_expires_at: Option<Timestamp>,
    /// The ends that the answer has in a form that cannot be read.
    pub unread_ends: UnreadEnds,
    /// `grant.issued_at`.
    pub issued_at: Option<Timestamp>,
    /// `grant.access_mode`, at most 100 bytes.
    pub access_mode: Option<String>,
    /// `grant.source.id` and `.kind`, at most 500 bytes each.
    pub source: (Option<String>, Option<String>),
    /// `grant.streams[]`, or the streams of a package's grants, if the answer has them: at most 500.
    pub streams: Vec<GivenStream>,
}

/// Ends that a provider stated but that could not be read: the grant or the token has an end, but the time is
/// unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnreadEnds {
    /// The grant's.
    pub grant: bool,
    /// The token's.
    pub token: bool,
}

impl UnreadEnds {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        !self.grant && !self.token
    }
}

/// One stream of a grant, as the token's answer describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GivenStream {
    /// Its name.
    pub name: String,
    /// The URI of its source, if the answer names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The configured instances that it may be read from; empty if the answer lists none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instance_ids: Vec<String>,
    /// The fields that may be read; `None` if the answer lists none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<String>>,
    /// Records from here on, inclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Records up to here, exclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// The most streams, and fields of one stream, that are read.
const MAX_STREAMS: usize = 500;

/// The most bytes of one grant's streams that an index keeps.
const MAX_KEPT: usize = 64 << 10;

impl GivenStream {
    /// As much of `all` as an index keeps: without fields, or empty, if it is too much.
    pub fn kept(mut all: Vec<Self>) -> Vec<Self> {
        let is_small = |all: &[Self]| serde_json::to_vec(all).is_ok_and(|bytes| bytes.len() <= MAX_KEPT);
        if !is_small(&all) {
            for stream in &mut all {
                stream.fields = None;
            }
        }
        if is_small(&all) { all } else { Vec::new() }
    }

    /// The streams of one grant.
    fn all_of(grant: &Map<String, Value>) -> impl Iterator<Item = Self> {
        let id = |of: Option<&Value>| of?.get("id")?.as_str().map(|id| text::prefix(id, 500).to_owned());
        // The draft's grants have one source; a grant of a whole provider names a source for each stream.
        let whole =
            grant.get("source").filter(|source| source.get("kind") != Some(&"provider_native".into()));
        let whole = id(whole);
        let streams = grant.get("streams").and_then(Value::as_array).into_iter().flatten();
        streams.filter_map(move |stream| {
            let given = Self::of(stream)?;
            Some(Self { source: id(stream.get("source")).or_else(|| whole.clone()), ..given })
        })
    }

    fn of(stream: &Value) -> Option<Self> {
        // The draft's own name, and the sandbox's.
        let range = stream.get("time_range").or_else(|| stream.get("time_constraint"));
        let bound = |name: &str| range?.get(name)?.as_str()?.parse().ok();
        let texts = |name: &str| {
            let all = stream.get(name)?.as_array()?;
            Some(
                all.iter().filter_map(Value::as_str).take(MAX_STREAMS).map(str::to_owned).collect::<Vec<_>>(),
            )
        };
        Some(Self {
            name: stream.get("name")?.as_str()?.to_owned(),
            source: None,
            instance_ids: texts("instance_ids").unwrap_or_default(),
            fields: texts("fields"),
            since: bound("since"),
            until: bound("until"),
        })
    }
}

/// Why a token answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// There is no token.
    #[error("the authorization server approved without an access token")]
    Missing,
    /// A token that cannot be in a header.
    #[error("the authorization server gave an access token that is {0}")]
    NotABearer(#[from] NotABearer),
    /// Not `Bearer` (RFC 6750).
    #[error("the authorization server gave a token whose type is not Bearer")]
    OtherType,
    /// A kind that this version does not know.
    #[error("the authorization server gave a token of a kind that this version does not know")]
    UnknownKind,
}

impl TokenError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownKind => "token_kind_unknown",
            _ => "token_response_invalid",
        }
    }

    /// What it means for the caller.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::UnknownKind => Kind::Refused,
            _ => Kind::Unavailable,
        }
    }
}

impl TokenResponse {
    /// Reads `body`, received at `now`. It is refused only if the token itself is unusable: the answer spends a
    /// code or a refresh token, and there is no second answer. Any other member that cannot be read counts as
    /// absent.
    ///
    /// # Errors
    /// [`TokenError`]. No message contains a value of the answer.
    pub fn read(body: &Map<String, Value>, now: Timestamp) -> Result<Self, TokenError> {
        let access_token = text(body, "access_token").ok_or(TokenError::Missing)?;
        let access_token = AccessToken::new(access_token.to_owned())?;
        if text(body, "token_type").is_some_and(|found| !found.eq_ignore_ascii_case("bearer")) {
            return Err(TokenError::OtherType);
        }
        let none = Map::new();
        let grant = body.get("grant").and_then(Value::as_object).unwrap_or(&none);
        let source = grant.get("source").and_then(Value::as_object).unwrap_or(&none);
        let short = |map: &Map<String, Value>, name: &str, max| {
            text(map, name).map(|found| text::prefix(found, max).to_owned())
        };
        let id = |map, name| GrantId::try_from(text(map, name)?.to_owned()).ok();
        let grants: Vec<&Map<String, Value>> = body
            .get("grants")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
            .take(MAX_GRANTS)
            .collect();
        let ends_of_grants = grants.iter().filter_map(|grant| time(grant, "expires_at"));
        let kind = match text(body, "pdpp_token_kind").or_else(|| text(body, "token_kind")) {
            Some(name) => Some(TokenKind::named(name).ok_or(TokenError::UnknownKind)?),
            None => body.get("grant_package_id").filter(|id| !id.is_null()).map(|_| TokenKind::McpPackage),
        };
        let grant_expires_at = time(grant, "expires_at").or(ends_of_grants.min());
        let token_expires_at = [time(body, "expires_at"), lifetime(body, now)].into_iter().flatten().min();
        let states = |map: &Map<String, Value>, name: &str| map.get(name).is_some_and(|end| !end.is_null());
        let states_end = |grant: &Map<String, Value>| states(grant, "expires_at");
        let unread_ends = UnreadEnds {
            grant: grant_expires_at.is_none()
                && (states_end(grant) || grants.iter().any(|grant| states_end(grant))),
            token: token_expires_at.is_none() && (states_end(body) || states(body, "expires_in")),
        };
        Ok(Self {
            access_token,
            refresh_token: text(body, "refresh_token")
                .filter(|text| !text.is_empty())
                .map(SecretString::from),
            kind,
            grant_id: id(body, "grant_id").or_else(|| id(grant, "grant_id")),
            package_id: id(body, "grant_package_id"),
            package_sources: grants.iter().map(|grant| source_of(grant)).collect(),
            grant_expires_at,
            token_expires_at,
            unread_ends,
            issued_at: time(grant, "issued_at"),
            access_mode: short(grant, "access_mode", 100),
            source: (short(source, "id", 500), short(source, "kind", 500)),
            streams: std::iter::once(grant)
                .chain(grants)
                .flat_map(GivenStream::all_of)
                .take(MAX_STREAMS)
                .collect(),
        })
    }
}

/// The most grants of a package that are read, so that the index stays small.
const MAX_GRANTS: usize = 100;

/// What a grant covers, in short.
fn source_of(grant: &Map<String, Value>) -> GrantedSource {
    let short = |value: Option<&Value>| {
        value.and_then(Value::as_str).map(|found| text::prefix(found, 200).to_owned())
    };
    let source = grant.get("source");
    let streams = grant.get("streams").and_then(Value::as_array);
    let names = streams.into_iter().flatten().filter_map(|stream| short(stream.get("name")));
    GrantedSource {
        id: short(source.and_then(|source| source.get("id"))),
        kind: short(source.and_then(|source| source.get("kind"))),
        streams: names.take(GrantedSource::MAX_STREAMS).collect(),
        stream_count: streams.map_or(0, Vec::len),
        ..GrantedSource::default()
    }
}

fn text<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    map.get(name)?.as_str()
}

/// A time: RFC 3339, or seconds since 1970, as a number or a text.
fn time(map: &Map<String, Value>, name: &str) -> Option<Timestamp> {
    let value = map.get(name)?;
    let written = value.as_str().and_then(|text| text.parse().ok());
    #[allow(
        clippy::cast_possible_truncation,
        reason = "whole seconds; a value out of range is not a time below"
    )]
    let counted = || Timestamp::from_second(json::number(value)?.floor() as i64).ok();
    written.or_else(counted)
}

/// `expires_in`: seconds from now (RFC 6749 §5.1). A value beyond all calendars, or one that was over when it
/// was sent, is ignored.
fn lifetime(body: &Map<String, Value>, now: Timestamp) -> Option<Timestamp> {
    let seconds = json::number(body.get("expires_in")?).filter(|seconds| *seconds > 0.0)?;
    now.checked_add(SignedDuration::try_from_secs_f64(seconds.floor()).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: &Value) -> Result<TokenResponse, TokenError> {
        TokenResponse::read(body.as_object().unwrap(), Timestamp::from_second(1_000).unwrap())
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_whole_answer_is_read() {
        let found = read(&json!({
            "access_token": "canary-at", "refresh_token": "canary-rt", "token_type": "bearer",
            "grant_id": "g1", "expires_in": 60,
            "grant": {"expires_at": "1970-01-02T00:00:00.000Z", "issued_at": "1970-01-01T00:00:01Z",
                      "access_mode": "continuous", "source": {"id": "https://s.example", "kind": "connector"}},
        }))
        .unwrap();
        assert_eq!(found.grant_id.as_ref().unwrap().as_str(), "g1");
        assert_eq!(found.grant_expires_at, Some(at(86_400)));
        assert_eq!(found.token_expires_at, Some(at(1_060)));
        assert_eq!(found.issued_at, Some(at(1)));
        assert_eq!(found.kind, None);
        assert_eq!(found.source.0.as_deref(), Some("https://s.example"));
        assert!(!format!("{found:?}").contains("canary"));
    }

    #[test]
    fn an_end_can_be_absent_null_or_either_of_two() {
        let end = |extra: Value| {
            let mut body = json!({"access_token": "t", "grant": {"grant_id": "g", "expires_at": null}});
            body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            read(&body).map(|found| found.token_expires_at)
        };
        assert_eq!(end(json!({})), Ok(None));
        assert_eq!(end(json!({"expires_at": 2_000})), Ok(Some(at(2_000))));
        assert_eq!(
            end(json!({"expires_at": "1970-01-01T00:20:00+00:00", "expires_in": 9_000})),
            Ok(Some(at(1_200)))
        );
        assert_eq!(end(json!({"expires_in": u64::MAX})), Ok(None));
        for (seconds, ends) in [
            (json!("3600"), Some(at(4_600))),
            (json!(3600.0), Some(at(4_600))),
            (json!(3600.9), Some(at(4_600))),
            (json!(-1), None),
            (json!(0), None),
            (json!("soon"), None),
            (json!([3600]), None),
            (json!(1e300), None),
        ] {
            assert_eq!(end(json!({"expires_in": seconds})), Ok(ends), "{seconds}");
        }
        assert_eq!(end(json!({"expires_at": "1200"})), Ok(Some(at(1_200))));
        for odd in [json!("tomorrow"), json!({}), json!(1e300), json!(true)] {
            assert_eq!(end(json!({"expires_at": odd, "expires_in": 60})), Ok(Some(at(1_060))), "{odd}");
        }
    }

    #[test]
    fn an_end_that_cannot_be_read_is_not_taken_for_none() {
        let unread = |extra: Value| {
            let mut body = json!({"access_token": "t"});
            body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            let UnreadEnds { grant, token } = read(&body).unwrap().unread_ends;
            (grant, token)
        };
        let far = "9999999-01-01T00:00:00Z";
        assert_eq!(unread(json!({})), (false, false));
        assert_eq!(unread(json!({"expires_at": null, "grant": {"expires_at": null}})), (false, false));
        assert_eq!(unread(json!({"expires_at": far})), (false, true));
        assert_eq!(unread(json!({"expires_in": u64::MAX})), (false, true));
        assert_eq!(unread(json!({"expires_at": far, "expires_in": 60})), (false, false));
        assert_eq!(unread(json!({"grant": {"expires_at": far}, "expires_in": 60})), (true, false));
        assert_eq!(unread(json!({"grants": [{"expires_at": far}, {}]})), (true, false));
        assert_eq!(
            unread(json!({"grants": [{"expires_at": far}, {"expires_at": "2027-01-01T00:00:00Z"}]})),
            (false, false)
        );
    }

    #[test]
    fn an_odd_member_never_costs_the_token() {
        let found = read(&json!({
            "access_token": "t", "token_type": 7, "refresh_token": "", "grant_id": "x\u{202e}", "grant_package_id": 7,
            "grant": {"expires_at": "never", "issued_at": [], "access_mode": {}, "streams": "all", "grant_id": "g"},
            "grants": [{"expires_at": "never"}, "x"],
        }))
        .unwrap();
        assert!(
            found.refresh_token.is_none() && found.grant_expires_at.is_none() && found.issued_at.is_none()
        );
        assert_eq!(found.grant_id.unwrap().as_str(), "g", "the one that can be kept");
    }

    #[test]
    fn r1_1_the_kind_is_what_the_answer_says() {
        let kind = |body: Value| read(&body).map(|found| found.kind);
        assert_eq!(
            kind(json!({"access_token": "t", "pdpp_token_kind": "owner"})),
            Ok(Some(TokenKind::Owner))
        );
        assert_eq!(kind(json!({"access_token": "t", "token_kind": "client"})), Ok(Some(TokenKind::Client)));
        assert_eq!(
            kind(json!({"access_token": "t", "grant_package_id": "p"})),
            Ok(Some(TokenKind::McpPackage))
        );
        assert_eq!(kind(json!({"access_token": "t", "token_kind": "root"})), Err(TokenError::UnknownKind));
        // Never guessed from the token itself.
        assert_eq!(kind(json!({"access_token": "owner_tok_1"})), Ok(None));
    }

    #[test]
    fn a_package_says_what_is_in_it() {
        let found = read(&json!({
            "access_token": "t", "grant_package_id": "pkg_1", "expires_in": 600, "refresh_token": "r",
            "grants": [
                {"source": {"id": "https://s.example/mail"}, "streams": [{"name": "a"}, {"name": "b"}],
                 "expires_at": "1970-01-03T00:00:00Z"},
                {"source": {"id": "https://s.example/bank"}, "expires_at": "1970-01-02T00:00:00Z"},
                7,
            ],
        }))
        .unwrap();
        assert_eq!(found.package_id.unwrap().as_str(), "pkg_1");
        assert_eq!(found.grant_expires_at, Some(at(86_400)), "the first end of them");
        assert_eq!(found.package_sources.len(), 2);
        assert_eq!(found.package_sources[0].streams, ["a", "b"]);
    }

    #[test]
    fn unusable_answers_are_refused() {
        assert_eq!(read(&json!({})).unwrap_err(), TokenError::Missing);
        assert_eq!(read(&json!({"access_token": ""})).unwrap_err(), TokenError::NotABearer(NotABearer));
        assert_eq!(read(&json!({"access_token": "a\nb"})).unwrap_err(), TokenError::NotABearer(NotABearer));
        assert_eq!(
            read(&json!({"access_token": "t", "token_type": "DPoP"})).unwrap_err(),
            TokenError::OtherType
        );
        let hidden = json!({"access_token": "t", "grant_id": "g\u{1b}[0m"});
        assert_eq!(read(&hidden).unwrap().grant_id, None, "no id, as far as that can be kept");
    }
}
