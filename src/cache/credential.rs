//! What is known about a credential without its secret, and the secret in the form that the store keeps.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use url::Url;

pub use super::store::CredentialId;
use super::store::{SecretPlace, StoreKind};
use crate::error::{Error, Result};
use crate::provider::approve::token::{GivenStream, UnreadEnds};
use crate::provider::approve::wanted::Wanted;
use crate::provider::grant::{GrantId, GrantedSource, TokenKind};
use crate::provider::http::Http;
use crate::provider::rs::{ForeignQueryBase, ResourceServer};
use crate::provider::url::ProviderUrl;
use crate::secret::AccessToken;

/// A new id for a credential.
///
/// # Errors
/// `no_randomness` if the machine provides no random bytes.
pub fn new_credential_id() -> Result<CredentialId> {
    CredentialId::random()
        .map_err(|error| Error::no_randomness("This computer provided no random bytes").because(error))
}

/// The most bytes of a credential's label.
pub const MAX_LABEL: usize = 200;

/// What a grant gives, stream by stream, as the JSON in the index. Only a renewal parses it, because starting
/// `mcp serve` reads the index.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Given(Option<Box<RawValue>>);

impl Given {
    /// Whether the provider said nothing about it.
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The streams; empty if the provider said nothing about them.
    ///
    /// # Errors
    /// If the index has something else there.
    pub fn streams(&self) -> Result<Vec<GivenStream>, serde_json::Error> {
        self.0.as_ref().map_or_else(|| Ok(Vec::new()), |json| serde_json::from_str(json.get()))
    }
}

impl From<Vec<GivenStream>> for Given {
    fn from(streams: Vec<GivenStream>) -> Self {
        // Everything in a stream can be serialised.
        Self(Some(streams).filter(|all| !all.is_empty()).and_then(|all| to_raw_value(&all).ok()))
    }
}

impl PartialEq for Given {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_deref().map(RawValue::get) == other.0.as_deref().map(RawValue::get)
    }
}

impl Eq for Given {}

/// A credential as the index holds it: everything except the secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credential {
    /// The id of its secret; it changes each time the token is replaced.
    pub id: CredentialId,
    /// The store of its secret.
    pub store: StoreKind,
    /// The number of entries of its secret there; set by the cache.
    #[serde(default = "super::store::one_part", skip_serializing_if = "super::store::is_one_part")]
    pub parts: u16,
    /// The provider it was issued for, and the only one it is sent to.
    pub provider: ProviderUrl,
    /// The grant it stands for. Provider and grant together identify a credential.
    pub grant_id: GrantId,
    /// Where to read: an absolute URL below the provider (`…/v1`).
    #[serde(with = "url_as_text")]
    pub query_base: Url,
    /// The authorization server that issued it.
    pub issuer: String,
    /// The client it was issued to.
    #[serde(default)]
    pub client_id: Option<String>,
    /// What it may do.
    pub token_kind: TokenKind,
    /// Its name, which differs from the names of the provider's other grants.
    pub label: String,
    /// What was granted, in short.
    #[serde(default)]
    pub sources: Vec<GrantedSource>,
    /// `continuous`, `single_use` or another mode of the provider's.
    #[serde(default)]
    pub access_mode: Option<String>,
    /// When the grant was issued.
    #[serde(default)]
    pub issued_at: Option<Timestamp>,
    /// When the grant ends; `None` if it has no end.
    #[serde(default)]
    pub grant_expires_at: Option<Timestamp>,
    /// When the token ends, if that was stated separately from the grant.
    #[serde(default)]
    pub token_expires_at: Option<Timestamp>,
    /// Which of the ends the provider stated in a form that could not be read.
    #[serde(default, skip_serializing_if = "UnreadEnds::is_empty")]
    pub unread_ends: UnreadEnds,
    /// Whether there is a refresh token in addition to the access token.
    #[serde(default)]
    pub refreshable: bool,
    /// What was asked for, so that the same can be asked for again.
    #[serde(default)]
    pub asked: Option<Wanted>,
    /// What was given, stream by stream, if the provider stated it: a renewal asks for no more.
    #[serde(default, skip_serializing_if = "Given::is_empty")]
    pub given: Given,
    /// How the token is renewed.
    #[serde(default)]
    pub renewal: Renewal,
    /// Whether its owner has disconnected it while its token could not be read. It must then still be ended at
    /// its provider, and no agent reads with it ([`Cache::ending`](super::Cache::ending)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ending: bool,
    /// Where the person's own store is, for a grant of that store: hosts do not pass variables on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<PathBuf>,
    /// The only host that is served with it; `None` means every host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// How a token is renewed (RFC 6749 §6), and the state of its renewal. Contains no secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Renewal {
    /// The `token_endpoint` of the authorization server, checked again before use; discovered again if it is
    /// not known.
    pub token_endpoint: Option<String>,
    /// The value of `resource` (RFC 8707) in the request for the grant; the provider itself if it is not known.
    pub resource: Option<String>,
    /// When to ask for a new token, a little before the old one's end; set by the cache.
    pub due: Option<Timestamp>,
    /// When the refresh token was sent, as long as no answer is stored. Set by the cache.
    pub begun: Option<Timestamp>,
    /// Why the refresh token no longer works, if it does not. Set by the cache.
    pub over: Option<RenewalOver>,
    /// Names the lock that lets one process at a time renew: the first id of the credential.
    pub family: Option<CredentialId>,
}

/// Why a refresh token no longer works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RenewalOver {
    /// It was sent, but the answer with the next token was lost.
    Lost,
    /// The authorization server refused it.
    Refused,
}

impl Renewal {
    /// The longest wait for one renewal, for a process that sees that another has begun one.
    pub const PATIENCE: SignedDuration = SignedDuration::from_secs(40);

    /// When to renew a token that ends at `end`: 30 s earlier, or for a short life, a tenth of it earlier.
    pub(super) fn due(now: Timestamp, end: Option<Timestamp>) -> Option<Timestamp> {
        let end = end?;
        let early = SignedDuration::from_secs((end.duration_since(now).as_secs() / 10).clamp(0, 30));
        end.checked_sub(early).ok()
    }
}

impl Credential {
    /// When it stops working: at the grant's end, or at the token's end if no new token can be had, whichever
    /// comes first.
    pub fn expires_at(&self) -> Option<Timestamp> {
        let token = self.token_expires_at.filter(|_| !self.is_renewable());
        match (self.grant_expires_at, token) {
            (Some(grant), Some(token)) => Some(grant.min(token)),
            (grant, token) => grant.or(token),
        }
    }

    /// Whether it has an end, but the time is unknown.
    pub fn has_unread_end(&self) -> bool {
        let UnreadEnds { grant, token } = self.unread_ends;
        self.expires_at().is_none() && (grant || token && !self.is_renewable())
    }

    /// Its end, if that is ahead of `now` and worth a warning.
    pub fn ends_soon(&self, now: Timestamp) -> Option<Timestamp> {
        self.expires_at().filter(|end| crate::time_text::is_soon(*end, self.issued_at, now))
    }

    /// Whether it no longer works at `now`.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.grant_expires_at.is_some_and(|end| end <= now)
            || (self.token_expires_at.is_some_and(|end| end <= now) && !self.can_renew(now))
    }

    /// Whether there is a refresh token that is not known to be useless.
    pub const fn is_renewable(&self) -> bool {
        self.refreshable && self.renewal.over.is_none()
    }

    /// Whether a new token can be had at `now`. If a renewal has begun, either another process is renewing the
    /// token or its answer is lost; only time tells which.
    pub fn can_renew(&self, now: Timestamp) -> bool {
        self.is_renewable()
            && self.grant_expires_at.is_none_or(|end| end > now)
            && self.renewal.begun.is_none_or(|begun| now.duration_since(begun) < Renewal::PATIENCE)
    }

    /// Whether the token ends so soon that a new one is needed.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.renewal.due.or(self.token_expires_at).is_some_and(|due| due <= now)
    }

    /// The name of the lock of the renewing processes.
    pub(super) fn family(&self) -> &CredentialId {
        self.renewal.family.as_ref().unwrap_or(&self.id)
    }

    /// Where its secret is.
    pub fn place(&self) -> SecretPlace {
        SecretPlace { id: self.id.clone(), store: self.store, parts: self.parts }
    }

    /// Whether `other` stands for the same grant of the same provider.
    pub fn is_same_grant(&self, other: &Self) -> bool {
        self.provider == other.provider && self.grant_id == other.grant_id
    }

    /// The number of granted streams.
    pub fn stream_count(&self) -> usize {
        self.sources.iter().map(|source| source.stream_count).sum()
    }

    /// The resource server that it works at.
    ///
    /// # Errors
    /// [`ForeignQueryBase`], if someone edited the index.
    pub fn resource_server(&self, http: Http) -> Result<ResourceServer, ForeignQueryBase> {
        ResourceServer::new(http, &self.provider, self.query_base.clone())
    }
}

/// A credential's secrets, which are stored and replaced together.
#[derive(Debug, Clone)]
pub struct Secrets {
    /// The token that authorizes a read.
    pub access_token: AccessToken,
    /// The token that gets the next access token.
    pub refresh_token: Option<SecretString>,
    /// Whom they belong to; set by the cache. `None` in secrets from an older version.
    issued: Option<Issued>,
}

/// Where tokens may be sent, stored with them: the index, which names the same, is a plain file, and may not be
/// the one that they were stored with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Issued {
    provider: ProviderUrl,
    issuer: String,
}

/// The stored form: JSON, so that an older secret can still be read when there is more to keep.
#[derive(Serialize, Deserialize)]
struct SecretText {
    access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    issued: Option<Issued>,
}

impl Secrets {
    /// Combines the tokens.
    pub const fn new(access_token: AccessToken, refresh_token: Option<SecretString>) -> Self {
        Self { access_token, refresh_token, issued: None }
    }

    /// The same, as the secrets of `credential`.
    #[must_use]
    pub fn issued_for(mut self, credential: &Credential) -> Self {
        let (provider, issuer) = (credential.provider.clone(), credential.issuer.clone());
        self.issued = Some(Issued { provider, issuer });
        self
    }

    /// The form that the store keeps.
    pub fn to_text(&self) -> SecretString {
        let text = SecretText {
            access_token: self.access_token.expose_bearer().to_owned(),
            refresh_token: self.refresh_token.as_ref().map(|token| token.expose_secret().to_owned()),
            issued: self.issued.clone(),
        };
        // Strings can always be serialised.
        SecretString::from(serde_json::to_string(&text).unwrap_or_default())
    }

    /// Reads the form that the store kept; `None` if it is something else.
    pub fn from_text(text: &SecretString) -> Option<Self> {
        let text: SecretText = serde_json::from_str(text.expose_secret()).ok()?;
        let access_token = AccessToken::new(text.access_token).ok()?;
        let refresh_token = text.refresh_token.map(SecretString::from);
        Some(Self { access_token, refresh_token, issued: text.issued })
    }

    /// The provider that they were issued for, if `credential` names another provider or authorization server.
    pub(super) fn foreign_to(&self, credential: &Credential) -> Option<&ProviderUrl> {
        let issued = self.issued.as_ref()?;
        let is_same = issued.provider == credential.provider && issued.issuer == credential.issuer;
        (!is_same).then_some(&issued.provider)
    }
}

mod url_as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use url::Url;

    pub(super) fn serialize<S: Serializer>(url: &Url, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(url.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Url, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A made-up credential with a fresh id.
    pub(crate) fn credential(provider: &str, grant: &str) -> Credential {
        let provider: ProviderUrl = provider.parse().unwrap();
        Credential {
            id: CredentialId::random().unwrap(),
            store: StoreKind::File,
            parts: 1,
            query_base: format!("{provider}/v1").parse().unwrap(),
            provider,
            grant_id: grant.to_owned().try_into().unwrap(),
            issuer: "https://as.example".to_owned(),
            client_id: Some("c1".to_owned()),
            token_kind: TokenKind::Client,
            label: "Diary".to_owned(),
            sources: Vec::new(),
            access_mode: Some("continuous".to_owned()),
            issued_at: None,
            grant_expires_at: None,
            token_expires_at: None,
            unread_ends: UnreadEnds::default(),
            refreshable: false,
            asked: None,
            given: Given::default(),
            renewal: Renewal::default(),
            ending: false,
            data_dir: None,
            host: None,
        }
    }

    #[test]
    fn what_was_given_is_kept_as_it_stands_and_read_when_it_is_needed() {
        let stream = GivenStream { name: "notes".to_owned(), ..GivenStream::default() };
        let given = Given::from(vec![stream.clone()]);
        let kept = serde_json::to_string(&given).unwrap();
        let read: Given = serde_json::from_str(&kept).unwrap();
        assert_eq!((&read, read.streams().unwrap()), (&given, vec![stream]));
        assert!(Given::from(Vec::new()).is_empty() && Given::default().streams().unwrap().is_empty());
        let other: Given = serde_json::from_str("{\"a\": 1}").unwrap();
        assert!(other.streams().is_err());
    }

    #[test]
    fn a_renewable_token_ends_with_its_grant() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut one = credential("https://a.example", "g");
        one.token_expires_at = Some(at(50));
        assert!(one.is_expired(at(50)));
        one.refreshable = true;
        assert!(!one.is_expired(at(50)));
        assert_eq!(one.expires_at(), None);
        one.grant_expires_at = Some(at(100));
        assert!(one.is_expired(at(100)), "no refresh beyond the grant's end");
        one.renewal.begun = Some(at(50));
        assert!(!one.is_expired(at(60)), "another process is at it");
        assert!(one.is_expired(at(95)), "its answer was lost");
        one.renewal = Renewal { over: Some(RenewalOver::Refused), ..Renewal::default() };
        assert!(one.is_expired(at(50)));
        assert_eq!(one.expires_at(), Some(at(50)));
    }

    #[test]
    fn an_end_that_was_not_read_counts_where_no_other_does() {
        let mut one = credential("https://a.example", "g");
        assert!(!one.has_unread_end());
        one.unread_ends.token = true;
        assert!(one.has_unread_end());
        one.refreshable = true;
        assert!(!one.has_unread_end(), "the token's end is not the grant's end");
        one.unread_ends.grant = true;
        assert!(one.has_unread_end());
        one.grant_expires_at = Some(Timestamp::UNIX_EPOCH);
        assert!(!one.has_unread_end());
    }

    #[test]
    fn a_token_is_renewed_a_little_before_its_end() {
        let due = |life: i64| {
            let now = Timestamp::from_second(1_000).unwrap();
            let end = Timestamp::from_second(1_000 + life).unwrap();
            Renewal::due(now, Some(end)).unwrap().as_second() - 1_000
        };
        assert_eq!([due(3600), due(100), due(5), due(-5)], [3570, 90, 5, -5]);
    }

    #[test]
    fn the_first_end_counts() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut one = credential("https://a.example", "g");
        assert!(!one.is_expired(at(i64::from(i32::MAX))), "no end");
        one.grant_expires_at = Some(at(100));
        assert!(!one.is_expired(at(99)) && one.is_expired(at(100)));
        one.token_expires_at = Some(at(50));
        assert_eq!(one.expires_at(), Some(at(50)));
        assert_eq!((one.ends_soon(at(0)), one.ends_soon(at(50))), (Some(at(50)), None));
    }

    #[test]
    fn an_edited_query_base_gets_no_bearer() {
        let mut one = credential("https://a.example/t1", "g");
        assert!(one.resource_server(Http::new(crate::provider::http::Limits::default())).is_ok());
        one.query_base = "https://a.example/t2/v1".parse().unwrap();
        assert!(one.resource_server(Http::new(crate::provider::http::Limits::default())).is_err());
    }

    #[test]
    fn secrets_come_back_and_never_show() {
        let token = AccessToken::new("canary-at".to_owned()).unwrap();
        let secrets = Secrets::new(token, Some(SecretString::from("canary-rt")));
        assert!(!format!("{secrets:?}").contains("canary"));
        let back = Secrets::from_text(&secrets.to_text()).unwrap();
        assert_eq!(back.access_token.expose_bearer(), "canary-at");
        assert_eq!(back.refresh_token.unwrap().expose_secret(), "canary-rt");
        assert!(Secrets::from_text(&SecretString::from("{}")).is_none());
    }

    #[test]
    fn secrets_know_whose_they_are() {
        let one = credential("https://a.example/t1", "g");
        let secrets = Secrets::new(AccessToken::new("at".to_owned()).unwrap(), None).issued_for(&one);
        let back = Secrets::from_text(&secrets.to_text()).unwrap();
        assert_eq!(back.foreign_to(&one), None);
        let edits: [fn(&mut Credential); 2] = [
            |one| one.provider = "https://a.example/t2".parse().unwrap(),
            |one| one.issuer = "https://evil.example".to_owned(),
        ];
        for edit in edits {
            let mut edited = one.clone();
            edit(&mut edited);
            assert_eq!(back.foreign_to(&edited), Some(&one.provider));
        }
        // A secret from an older version does not name its owner, and still works.
        let older = SecretString::from(r#"{"access_token":"at"}"#);
        assert_eq!(Secrets::from_text(&older).unwrap().foreign_to(&one), None);
    }

    proptest! {
        #[test]
        fn a_credential_id_is_one_plain_file_name(text in ".{0,40}|[0-9a-f./\\\\]{32}|[0-9a-f]{32}") {
            if let Ok(id) = CredentialId::try_from(text.clone()) {
                prop_assert_eq!(id.as_str(), text.as_str());
                let path = std::path::Path::new(id.as_str());
                prop_assert_eq!(path.components().count(), 1);
                prop_assert_eq!(path.file_name().unwrap().to_str().unwrap(), text.as_str());
            } else {
                prop_assert!(!(text.len() == 32 && text.bytes().all(|b| b"0123456789abcdef".contains(&b))));
            }
        }
    }

    #[test]
    fn random_ids_are_ids_and_differ() {
        let (one, other) = (CredentialId::random().unwrap(), CredentialId::random().unwrap());
        assert_ne!(one, other);
        assert_eq!(CredentialId::try_from(one.as_str().to_owned()), Ok(one));
    }
}
