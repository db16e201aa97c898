//! What a tool reads from: one token of one provider, through [`Source::get`]. What is behind it is the resource
//! server, or a [`Remote`]; several sources side by side are a [`Package`](crate::mcp::reading::served::Package).

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use jiff::Timestamp;

use crate::advice::Command;
use crate::error::{Error, Kind};
use crate::mcp::call_log;
use crate::mcp::reading::catalog::{Catalog, StreamFacts};
use crate::mcp::reading::hosted_tools::Remote;
use crate::mcp::reading::refusal;
use crate::mcp::reading::schema;
use crate::mcp::tool_error::ToolError;
use crate::provider::rs::{Blob, Envelope, Read, ResourceServer, RsError};
use crate::provider::url::ProviderUrl;
use crate::secret::AccessToken;
use crate::time_text;

/// Gives the bearer when a read needs it: the one way from the credential cache to the tools. Not
/// called before the first call, because a keyring may be slow or locked.
pub type BearerSource = Arc<dyn Fn() -> BoxFuture<'static, Result<AccessToken, Error>> + Send + Sync>;

/// The one bearer, always: a caller's own.
pub fn only(bearer: AccessToken) -> BearerSource {
    Arc::new(move || Box::pin(std::future::ready(Ok(bearer.clone()))))
}

/// Gives another bearer in the place of one that the resource server calls dead; for one try.
pub type DeadBearer =
    Arc<dyn Fn(AccessToken) -> BoxFuture<'static, Result<AccessToken, Error>> + Send + Sync>;

/// Longest time for which a provider's `Retry-After` is enforced here.
const MOST_WAIT: Duration = Duration::from_mins(5);

/// How long a refused credential counts as unusable (R5.4).
const REFUSED_FOR: Duration = Duration::from_mins(1);

/// How long a grant that did not answer in time is left out where others are asked beside it (R6.5): one
/// slow provider does not slow every call.
const RESTS_FOR: Duration = Duration::from_secs(30);

/// Who reads an answer, and so how a grant that is over is approved again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Audience {
    /// The owner, on the machine that the grant is kept on: by this command, as `pdpp status` gives it.
    Owner(Command),
    /// Somebody whose own host got the grant, and has no `pdpp`.
    #[default]
    Caller,
}

/// What a model is to do where a command of the owner's helps. Nothing but a command may follow.
pub(super) fn ask_to_run(command: &Command) -> String {
    format!("ask the user to run: {command}")
}

impl Audience {
    /// What a model is to do about a grant that is over.
    pub fn next(&self) -> String {
        match self {
            Self::Owner(renew) => ask_to_run(renew),
            Self::Caller => "ask the user to authorize this server again in their host".to_owned(),
        }
    }

    /// The same in few words, for a place in a sentence.
    pub fn brief(&self) -> Cow<'_, str> {
        match self {
            Self::Owner(renew) => renew.to_string().into(),
            Self::Caller => "authorize this server again in the host".into(),
        }
    }
}

/// One grant, readable.
pub struct Source {
    provider: ProviderUrl,
    grant_id: Option<String>,
    rs: ResourceServer,
    bearer: BearerSource,
    instead_of: Option<DeadBearer>,
    catalog: Catalog,
    not_before: Mutex<Option<Instant>>,
    refused: Mutex<Option<Instant>>,
    too_slow: Mutex<Option<Instant>>,
    is_core: AtomicBool,
    ends: Option<Timestamp>,
    remote: Option<Remote>,
    audience: Audience,
}

impl Source {
    /// A grant at `rs`, read with what `bearer` gives.
    pub fn new(
        provider: ProviderUrl,
        grant_id: Option<String>,
        rs: ResourceServer,
        bearer: BearerSource,
    ) -> Self {
        Self {
            provider,
            grant_id,
            rs,
            bearer,
            instead_of: None,
            catalog: Catalog::default(),
            not_before: Mutex::new(None),
            refused: Mutex::new(None),
            too_slow: Mutex::new(None),
            is_core: AtomicBool::new(false),
            ends: None,
            remote: None,
            audience: Audience::default(),
        }
    }

    /// The same, but read through the provider's own hosted tools: for a package's token, which is good for
    /// nothing else.
    #[must_use]
    pub fn through(mut self, remote: Remote) -> Self {
        self.remote = Some(remote);
        self
    }

    /// The provider's own hosted tools, where it is read through them.
    pub const fn remote(&self) -> Option<&Remote> {
        self.remote.as_ref()
    }

    /// The same, of a grant that ends then.
    #[must_use]
    pub const fn ending(mut self, ends: Option<Timestamp>) -> Self {
        self.ends = ends;
        self
    }

    /// The same, read for the owner, who asks for the grant again by the command `renew`; for a caller from elsewhere
    /// without.
    #[must_use]
    pub fn renewed_by(mut self, renew: Command) -> Self {
        self.audience = Audience::Owner(renew);
        self
    }

    /// Who reads what is answered.
    pub const fn audience(&self) -> &Audience {
        &self.audience
    }

    /// What to tell of an end that is near, as the warning `grant_ends_soon`.
    pub fn end_warning(&self, now: Timestamp) -> Option<String> {
        let end = self.ends.filter(|end| time_text::is_soon(*end, now))?;
        let (when, left) = (time_text::day_and_time(end), time_text::left(end, now).unwrap_or_default());
        let mut message = format!("this grant ends {when} ({left})");
        if let Audience::Owner(renew) = &self.audience {
            message = format!("{message}; the user renews it with: {renew}");
        }
        Some(message)
    }

    /// The same, with a way to another bearer once the resource server calls one dead.
    #[must_use]
    pub fn instead_of_dead(mut self, another: DeadBearer) -> Self {
        self.instead_of = Some(another);
        self
    }

    /// The provider that the grant is from.
    pub const fn provider(&self) -> &ProviderUrl {
        &self.provider
    }

    /// The grant's id.
    pub fn grant_id(&self) -> Option<&str> {
        self.grant_id.as_deref()
    }

    /// The resource server: for the absolute URL of a read.
    pub const fn rs(&self) -> &ResourceServer {
        &self.rs
    }

    /// Reads a JSON object of the resource server.
    ///
    /// # Errors
    /// The resource server's own error with its code kept (R5.1), or a typed one for a provider that
    /// gave none (R5.5); each says what to do next.
    pub async fn get(&self, read: &Read) -> Result<Envelope, ToolError> {
        if let Some(remote) = &self.remote {
            return remote.get(self, read).await;
        }
        self.with_bearer(read, |bearer| async move { self.rs.get(&bearer, read).await }).await
    }

    /// Sends a request with the bearer, and remembers what the answer says of it.
    async fn with_bearer<T, F>(&self, read: &Read, send: impl Fn(AccessToken) -> F) -> Result<T, ToolError>
    where
        F: Future<Output = Result<T, RsError>>,
    {
        self.check_wait()?;
        let bearer = self.bearer().await?;
        call_log::note(self.provider.as_str(), self.grant_id(), read);
        let started = Instant::now();
        let mut answer = send(bearer.clone()).await;
        // A token that was replaced or ended early: one try with another, where one can be had.
        if let Err(RsError::Refused(refusal)) = &answer
            && refusal::is_inactive(refusal)
            && let Some(another) = self.instead_of(bearer).await
        {
            answer = send(another).await;
        }
        // The route alone: parameters and bodies are the person's.
        let outcome = answer.as_ref().map_or_else(RsError::outcome, |_| "ok");
        tracing::info!(route = read.segments.first(), outcome, ms = started.elapsed().as_millis(), "read");
        if answer.is_ok() {
            self.set_answered();
        }
        answer.map_err(|error| self.explain(&error, read))
    }

    /// Reads a blob.
    ///
    /// # Errors
    /// As [`Source::get`].
    pub async fn blob(&self, blob_id: &str) -> Result<Blob, ToolError> {
        if let Some(remote) = &self.remote {
            return remote.blob(self, blob_id).await;
        }
        let read = Read::of(["blobs", blob_id]);
        self.with_bearer(&read, |bearer| async move { self.rs.blob(&bearer, blob_id).await }).await
    }

    /// What is already known of a stream, without a read.
    pub fn known_facts(&self, stream: &str, connection: Option<&str>) -> Option<Arc<Vec<StreamFacts>>> {
        self.catalog.get(stream, connection)
    }

    /// What the schema declares of a stream; empty where it cannot be read, which never fails a call.
    pub async fn facts(&self, stream: &str, connection: Option<&str>) -> Arc<Vec<StreamFacts>> {
        if let Some(facts) = self.catalog.get(stream, connection) {
            return facts;
        }
        let facts = match schema::compact(self, Some(stream), connection).await {
            Ok(schema) => StreamFacts::all_from_schema(&schema, stream),
            Err(_) => Vec::new(),
        };
        self.catalog.put(stream, connection, facts)
    }

    /// What the full schema declares, which says more of a field's values (`format`) than the compact one; nothing
    /// where it cannot be read.
    pub async fn full_facts(&self, stream: &str, connection: Option<&str>) -> Vec<StreamFacts> {
        let read = Read::of(["schema"]).with("stream", stream).with_some("connection_id", connection);
        match self.get(&read).await {
            Ok(full) => StreamFacts::all_from_schema(&full.body, stream),
            Err(_) => Vec::new(),
        }
    }

    /// What the schema declares now: asked every time (R3.62). `None` where it cannot be read.
    pub async fn live_facts(&self, stream: &str, connection: Option<&str>) -> Option<Arc<Vec<StreamFacts>>> {
        let schema = schema::compact(self, Some(stream), connection).await.ok()?;
        let facts = StreamFacts::all_from_schema(&schema, stream);
        Some(self.catalog.put(stream, connection, facts))
    }

    /// Whether the provider is known to have only the draft's Core: no schema, search, aggregate or field
    /// windows.
    pub fn is_known_core(&self) -> bool {
        self.is_core.load(Ordering::Relaxed)
    }

    /// Remembers that the provider has only the Core.
    pub fn set_core(&self) {
        self.is_core.store(true, Ordering::Relaxed);
    }

    /// Whether the provider has only the Core, asked once where it is not known yet.
    pub async fn is_core(&self) -> bool {
        if !self.is_known_core() {
            let _ = schema::compact(self, None, None).await;
        }
        self.is_known_core()
    }

    /// Whether the credential was refused in the last minute, and not accepted since (R5.4).
    pub fn is_refused(&self) -> bool {
        is_within(&self.refused, REFUSED_FOR)
    }

    /// Whether it was too slow a short while ago, and has not answered since.
    pub fn is_resting(&self) -> bool {
        is_within(&self.too_slow, RESTS_FOR)
    }

    /// Remembers that it did not answer in time.
    pub fn set_too_slow(&self) {
        set(&self.too_slow, Some(Instant::now()));
    }

    /// Forgets what the schema said.
    pub fn forget(&self) {
        self.catalog.clear();
    }

    /// The bearer for a request.
    ///
    /// # Errors
    /// That of the credential, as a tool tells it.
    pub(super) async fn bearer(&self) -> Result<AccessToken, ToolError> {
        (self.bearer)().await.map_err(|error| {
            if error.kind() == Kind::NotConnected {
                set(&self.refused, Some(Instant::now()));
            }
            refusal::of_credential(&error, &self.audience)
        })
    }

    /// Another bearer in the place of a dead one, where one can be had.
    pub(super) async fn instead_of(&self, dead: AccessToken) -> Option<AccessToken> {
        self.instead_of.as_ref()?(dead).await.ok()
    }

    /// Remembers that the credential was refused.
    pub(super) fn set_refused(&self) {
        set(&self.refused, Some(Instant::now()));
    }

    /// Forgets what was said against it: it has answered.
    pub(super) fn set_answered(&self) {
        set(&self.refused, None);
        set(&self.too_slow, None);
    }

    /// Holds back while the provider has asked to be left alone (R5.5).
    ///
    /// # Errors
    /// `rate_limited`, until then.
    pub(super) fn check_wait(&self) -> Result<(), ToolError> {
        let until = *self.not_before.lock().unwrap_or_else(PoisonError::into_inner);
        match until.and_then(|until| until.checked_duration_since(Instant::now())) {
            Some(left) => Err(refusal::rate_limited(left.as_secs() + 1)),
            None => Ok(()),
        }
    }

    /// The typed error for what gave no answer; what it says of the credential, and of when to ask again, is
    /// remembered.
    pub(super) fn explain(&self, error: &RsError, read: &Read) -> ToolError {
        if matches!(error, RsError::Refused(refusal) if refusal::is_dead_token(refusal)) {
            set(&self.refused, Some(Instant::now()));
        }
        let retry_after = match error {
            RsError::Refused(refusal) if refusal.status == 429 => refusal.retry_after,
            _ => None,
        };
        if let Some(seconds) = retry_after {
            let wait = Duration::from_secs(seconds).min(MOST_WAIT);
            *self.not_before.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + wait);
        }
        let stream = match read.segments.as_slice() {
            [streams, stream, ..] if streams == "streams" => Some(stream.as_str()),
            _ => None,
        };
        // What the provider does not say of a candidate and is known here already; nothing is probed (R5.3).
        let facts = stream.and_then(|stream| self.catalog.get(stream, None));
        refusal::explain(error, read, &self.provider, &self.audience).complete_candidates(|candidate| {
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
