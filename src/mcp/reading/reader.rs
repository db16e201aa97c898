//! One readable grant: a bearer, a backend, and what has been learned about both.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use url::Url;

use super::audience::Audience;
use super::backend::{Backend, ReadError};
use super::catalog::Catalog;
use super::refusal;
use super::request::Request;
use crate::advice::Command;
use crate::error::{Error, Kind};
use crate::mcp::call_log;
use crate::mcp::id::RecordId;
use crate::mcp::tool_error::ToolError;
use crate::provider::rs::{Blob, Envelope};
use crate::provider::url::ProviderUrl;
use crate::secret::AccessToken;
use crate::time_text;

/// Returns the bearer when a read needs it: the only way from the credential cache to the tools. Not called before
/// the first call, because a keyring may be slow or locked.
pub type BearerSource = Arc<dyn Fn() -> BoxFuture<'static, Result<AccessToken, Error>> + Send + Sync>;

/// Always the same bearer: a caller's own.
pub fn only(bearer: AccessToken) -> BearerSource {
    Arc::new(move || Box::pin(std::future::ready(Ok(bearer.clone()))))
}

/// Returns another bearer for one that the resource server calls dead; for one try.
pub type DeadBearer =
    Arc<dyn Fn(AccessToken) -> BoxFuture<'static, Result<AccessToken, Error>> + Send + Sync>;

/// The longest time for which a provider's `Retry-After` is enforced here.
const MOST_WAIT: Duration = Duration::from_mins(5);

/// How long a refused credential counts as unusable (R5.4).
const REFUSED_FOR: Duration = Duration::from_mins(1);

/// How long a grant that did not answer in time is skipped when others are asked with it (R6.5): one slow provider
/// does not slow down every call.
const RESTS_FOR: Duration = Duration::from_secs(30);

/// How long a provider has asked not to be called.
#[derive(Debug, Clone, Copy)]
struct Wait {
    since: Instant,
    asked: Duration,
}

impl Wait {
    /// The seconds that are left of what the provider requested, while that is enforced here.
    fn left(self, now: Instant) -> Option<u64> {
        let waited = now.saturating_duration_since(self.since);
        let left = self.asked.checked_sub(waited).filter(|left| !left.is_zero() && waited < MOST_WAIT)?;
        Some(left.as_secs().saturating_add(1).min(self.asked.as_secs()))
    }
}

/// One readable grant.
pub struct Reader {
    provider: ProviderUrl,
    grant_id: Option<String>,
    backend: Box<dyn Backend>,
    bearer: BearerSource,
    instead_of: Option<DeadBearer>,
    catalog: Catalog,
    wait: Mutex<Option<Wait>>,
    refused: Mutex<Option<Instant>>,
    too_slow: Mutex<Option<Instant>>,
    is_core: AtomicBool,
    ends: Option<Timestamp>,
    issued: Option<Timestamp>,
    audience: Audience,
}

impl Reader {
    /// A grant behind `backend`, read with the bearer from `bearer`.
    pub fn new(
        provider: ProviderUrl,
        grant_id: Option<String>,
        backend: impl Backend + 'static,
        bearer: BearerSource,
    ) -> Self {
        Self {
            provider,
            grant_id,
            backend: Box::new(backend),
            bearer,
            instead_of: None,
            catalog: Catalog::default(),
            wait: Mutex::new(None),
            refused: Mutex::new(None),
            too_slow: Mutex::new(None),
            is_core: AtomicBool::new(false),
            ends: None,
            issued: None,
            audience: Audience::default(),
        }
    }

    /// The same, with the times when the grant was `issued` and when it ends.
    #[must_use]
    pub const fn ending(mut self, ends: Option<Timestamp>, issued: Option<Timestamp>) -> Self {
        self.ends = ends;
        self.issued = issued;
        self
    }

    /// The same, read for the owner, who renews the grant with the command `renew`. Without this, the caller is from
    /// elsewhere.
    #[must_use]
    pub fn renewed_by(mut self, renew: Command) -> Self {
        self.audience = Audience::Owner(renew);
        self
    }

    /// The same, with a way to get another bearer after the resource server calls one dead.
    #[must_use]
    pub fn instead_of_dead(mut self, another: DeadBearer) -> Self {
        self.instead_of = Some(another);
        self
    }

    /// Who reads the answers.
    pub const fn audience(&self) -> &Audience {
        &self.audience
    }

    /// The text of the warning `grant_ends_soon`, if the end is near.
    pub fn end_warning(&self, now: Timestamp) -> Option<String> {
        let end = self.ends.filter(|end| time_text::is_soon(*end, self.issued, now))?;
        let (when, left) = (time_text::day_and_time(end), time_text::left(end, now).unwrap_or_default());
        let mut message = format!("this grant ends {when} ({left})");
        if let Audience::Owner(renew) = &self.audience {
            message = format!("{message}; the user renews it with: {renew}");
        }
        Some(message)
    }

    /// The provider that the grant is from.
    pub const fn provider(&self) -> &ProviderUrl {
        &self.provider
    }

    /// The grant's id.
    pub fn grant_id(&self) -> Option<&str> {
        self.grant_id.as_deref()
    }

    /// Whether the backend itself returns windows over the JSON text of a value.
    pub fn cuts_json(&self) -> bool {
        self.backend.cuts_json()
    }

    /// Whether the backend reads several grants with one bearer.
    pub fn spans_grants(&self) -> bool {
        self.backend.spans_grants()
    }

    /// The absolute URL of a record, for a citation.
    pub fn record_url(&self, id: &RecordId) -> Url {
        self.backend.record_url(id)
    }

    /// Reads a JSON object.
    ///
    /// # Errors
    /// Returns the provider's own error with its code kept (R5.1), not explained yet; or, if the provider gave none
    /// (R5.5), a typed error that says what to do next.
    pub async fn read(&self, request: &Request) -> Result<Envelope, ToolError> {
        let scoped = self.of_only_connection(request).await;
        let request = scoped.as_ref().unwrap_or(request);
        let read = |bearer| async move { self.backend.read(&bearer, request).await };
        self.with_bearer(request.route(), &request.streams(), read).await
    }

    /// The same read with the only connection that has the stream, if a backend of several grants asks for one
    /// (R6.6): a caller is not asked to choose from one.
    fn of_only_connection<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Option<Request>> {
        async move {
            let stream = request.stream_of_any_connection().filter(|_| self.spans_grants())?;
            let facts = self.facts(stream, None).await;
            let mut connections = facts.iter().flat_map(|facts| &facts.connections).map(|(id, _)| id);
            let first = connections.next()?;
            connections.all(|id| id == first).then(|| request.of_connection(first))
        }
        .boxed()
    }

    /// Reads a blob.
    ///
    /// # Errors
    /// As for [`Reader::read`].
    pub async fn blob(&self, blob_id: &str) -> Result<Blob, ToolError> {
        let read = |bearer| async move { self.backend.blob(&bearer, blob_id).await };
        self.with_bearer("blobs", &[], read).await
    }

    /// Sends a request with the bearer, and remembers what the answer shows about the bearer.
    async fn with_bearer<T, F>(
        &self,
        route: &'static str,
        streams: &[&str],
        send: impl Fn(AccessToken) -> F,
    ) -> Result<T, ToolError>
    where
        F: Future<Output = Result<T, ReadError>>,
    {
        self.check_wait()?;
        let bearer = self.bearer().await?;
        call_log::note(self.provider.as_str(), self.grant_id(), route, streams);
        let started = Instant::now();
        let mut answer = send(bearer.clone()).await;
        // The token was replaced or ended early: try once with another, if there is one.
        if answer.as_ref().is_err_and(|error| error.refusal().is_some_and(refusal::is_inactive))
            && let Some(another) = self.another_bearer(bearer).await
        {
            answer = send(another).await;
        }
        // Only the route: parameters and bodies are private.
        let outcome = answer.as_ref().map_or_else(ReadError::outcome, |_| "ok");
        tracing::info!(route, outcome, ms = started.elapsed().as_millis(), "read");
        match answer {
            Ok(answer) => {
                set(&self.refused, None);
                set(&self.too_slow, None);
                Ok(answer)
            }
            Err(error) => Err(self.typed(error, streams.first().copied())),
        }
    }

    /// Whether the provider is known to support only the draft's Core: no schema, search, aggregate or field windows.
    pub fn is_known_core(&self) -> bool {
        self.is_core.load(Ordering::Relaxed)
    }

    /// Remembers that the provider supports only the Core.
    pub fn set_core(&self) {
        self.is_core.store(true, Ordering::Relaxed);
    }

    /// Whether the credential was refused in the last minute, and not accepted since (R5.4).
    pub fn is_refused(&self) -> bool {
        is_within(&self.refused, REFUSED_FOR)
    }

    /// Whether the provider was too slow recently, and has not answered since.
    pub fn is_resting(&self) -> bool {
        is_within(&self.too_slow, RESTS_FOR)
    }

    /// Remembers that the provider did not answer in time.
    pub fn set_too_slow(&self) {
        set(&self.too_slow, Some(Instant::now()));
    }

    /// What the schema declares about each stream, as far as it was read.
    pub const fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The bearer for a request.
    async fn bearer(&self) -> Result<AccessToken, ToolError> {
        (self.bearer)().await.map_err(|error| {
            if error.kind() == Kind::NotConnected {
                set(&self.refused, Some(Instant::now()));
            }
            refusal::of_credential(&error, &self.audience)
        })
    }

    /// Another bearer instead of a dead one, if there is one.
    async fn another_bearer(&self, dead: AccessToken) -> Option<AccessToken> {
        self.instead_of.as_ref()?(dead).await.ok()
    }

    /// Refuses while the provider has asked not to be called (R5.5).
    fn check_wait(&self) -> Result<(), ToolError> {
        let wait = *self.wait.lock().unwrap_or_else(PoisonError::into_inner);
        match wait.and_then(|wait| wait.left(Instant::now())) {
            Some(seconds) => Err(refusal::rate_limited(seconds)),
            None => Ok(()),
        }
    }

    /// The typed error for a failed read. Remembers what it shows about the credential and about when to ask again.
    /// If the provider omits details of a candidate that are already known here, they are filled in, without any
    /// further request (R5.3).
    fn typed(&self, error: ReadError, stream: Option<&str>) -> ToolError {
        if let Some(refused) = error.refusal() {
            if refusal::is_dead_token(refused) {
                set(&self.refused, Some(Instant::now()));
            }
            if let Some(seconds) = refused.retry_after.filter(|_| refused.status == 429) {
                let wait = Wait { since: Instant::now(), asked: Duration::from_secs(seconds) };
                *self.wait.lock().unwrap_or_else(PoisonError::into_inner) = Some(wait);
            }
        }
        let facts = stream.and_then(|stream| self.catalog.get(stream, None));
        refusal::typed(error, &self.provider).complete_candidates(|candidate| {
            if candidate.grant_id.is_none() {
                candidate.grant_id.clone_from(&self.grant_id);
            }
            let known = facts.iter().flat_map(|facts| facts.iter());
            for facts in
                known.filter(|facts| facts.connections.iter().any(|(id, _)| *id == candidate.connection_id))
            {
                if candidate.connector_key.is_none() {
                    candidate.connector_key.clone_from(&facts.connector_key);
                }
            }
        })
    }
}

fn set(at: &Mutex<Option<Instant>>, to: Option<Instant>) {
    *at.lock().unwrap_or_else(PoisonError::into_inner) = to;
}

fn is_within(at: &Mutex<Option<Instant>>, span: Duration) -> bool {
    at.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|at| at.elapsed() < span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r5_5_a_long_wait_is_told_as_long_as_the_provider_asked_and_enforced_for_five_minutes() {
        let since = Instant::now();
        let left = |asked, waited| {
            let wait = Wait { since, asked: Duration::from_secs(asked) };
            wait.left(since + Duration::from_millis(waited))
        };
        assert_eq!(left(3600, 0), Some(3600));
        assert_eq!(left(3600, 60_500), Some(3540));
        assert_eq!(left(3600, 300_000), None, "then the provider is asked again");
        assert_eq!(left(7, 1), Some(7));
        assert_eq!(left(7, 6_999), Some(1));
        assert_eq!(left(7, 7_000), None);
        assert_eq!(left(0, 0), None);
        assert_eq!(left(u64::MAX, 0), Some(u64::MAX));
    }
}
