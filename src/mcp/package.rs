//! Several grants as one (R6): who serves chooses none of them.
//!
//! What names its source goes to exactly one grant and no other is asked (R6.4): by `connection_id`, said or
//! within an id. What names none goes to the one grant that has the stream, where what is known here says so;
//! otherwise the answer says what to choose from, without asking anybody (R5.3, R6.6). `search` and `schema`
//! ask all grants that can answer, side by side (R6.2).
//!
//! A package of one grant is that grant: its calls go straight through.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::arguments::{Arguments, call as call_text};
use super::catalog::connections;
use super::core::Core;
use super::evidence::ladder::Call;
use super::evidence::{Bounds, prefix_on_wire};
use super::id::RecordId;
use super::pages::{self, Missing, Walks};
use super::source::Source;
use super::tool_error::{Candidate, ToolError};
use super::tools::schema::Parts;
use super::{ReadSurface, ResourceContents, ResourceError, ToolAnswer, resource, surface, tools};
use crate::error::Result;
use crate::text::shell_word;

/// How long one grant may take where several are asked (R6.5).
pub const DEADLINE: Duration = Duration::from_secs(10);

/// Most missing grants that one answer names, each with why; the others are counted.
const MAX_NAMED: usize = 2;

/// Most bytes of what is said of a missing grant: a warning of this length is never cut.
const MAX_WARNING: usize = 156;

/// Least bytes of its label there, where a command beside it is long.
const LEAST_LABEL: usize = 12;

/// Most blobs that are remembered.
const MAX_BLOBS: usize = 1_000;

/// Gives the grants that are served now: at the start, and whenever they may have changed. Reads an index and
/// nothing slower.
pub type Roster = Arc<dyn Fn() -> Result<Vec<Child>> + Send + Sync>;

/// What is known of a source without asking: from the index at first, then from the schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownSource {
    /// The connector's short key.
    pub connector_key: Option<String>,
    /// Connection ids and labels.
    pub connections: Vec<(String, Option<String>)>,
    /// Names of granted streams.
    pub streams: Vec<String>,
    /// Whether these are all of them.
    pub has_all_streams: bool,
}

impl KnownSource {
    /// The sources of all the streams of a grant, each with its connector's key and its connections.
    pub fn of_streams(
        streams: impl IntoIterator<Item = (String, Option<String>, Vec<(String, Option<String>)>)>,
    ) -> Vec<Self> {
        let mut known: Vec<Self> = Vec::new();
        for (stream, connector_key, connections) in streams {
            let is_of =
                |one: &&mut Self| one.connector_key == connector_key && one.connections == connections;
            if let Some(one) = known.iter_mut().find(is_of) {
                one.streams.push(stream);
            } else {
                let streams = vec![stream];
                known.push(Self { connector_key, connections, streams, has_all_streams: true });
            }
        }
        known
    }
}

/// One grant of a package.
pub struct Child {
    id: String,
    label: String,
    core: Core,
    ends: Option<Timestamp>,
    /// What the index says.
    indexed: Arc<Vec<KnownSource>>,
    /// The same, until a schema has said more.
    known: Mutex<Arc<Vec<KnownSource>>>,
}

/// A grant that gives nothing, and why.
type Failed = (Arc<Child>, ToolError);

/// Whether a grant has a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Has {
    Yes,
    Unknown,
    No,
}

impl Child {
    /// A grant with the tools over it. `id` changes when its token is replaced, `label` is for people, `ends`
    /// is when the grant is of no use any more.
    pub fn new(
        id: String,
        label: String,
        core: Core,
        ends: Option<Timestamp>,
        known: Vec<KnownSource>,
    ) -> Self {
        let indexed = Arc::new(known);
        Self { id, label, core, ends, known: Mutex::new(Arc::clone(&indexed)), indexed }
    }

    const fn source(&self) -> &Source {
        self.core.source()
    }

    /// A short name for it in cursors.
    fn key(&self) -> String {
        let (provider, grant) = self.grant();
        pages::branch_key(provider, grant)
    }

    /// What stays when its token is replaced: provider and grant id.
    fn grant(&self) -> (&str, &str) {
        (self.source().provider().as_str(), self.source().grant_id().unwrap_or(&self.id))
    }

    fn known(&self) -> Arc<Vec<KnownSource>> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// With what was learned of the same grant under an earlier token, unless the index says something else now.
    fn taught_by(self, earlier: &Self) -> Self {
        if self.indexed != earlier.indexed {
            return self;
        }
        Self { known: Mutex::new(earlier.known()), ..self }
    }

    /// Learns what a whole compact schema says.
    fn learn(&self, body: &Map<String, Value>) {
        let known = KnownSource::of_streams(tools::schema::streams_of(body));
        if !known.is_empty() {
            *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
        }
    }

    fn has_stream(&self, stream: &str) -> Has {
        let known = self.known();
        if known.iter().any(|source| source.streams.iter().any(|name| name == stream)) {
            Has::Yes
        } else if !known.is_empty() && known.iter().all(|source| source.has_all_streams) {
            Has::No
        } else {
            Has::Unknown
        }
    }

    fn has_connection(&self, id: &str) -> bool {
        self.known().iter().any(|source| source.connections.iter().any(|(known, _)| known == id))
    }

    fn knows_no_connection(&self) -> bool {
        self.known().iter().all(|source| source.connections.is_empty())
    }

    /// The connections that could have the stream: those that have it, else those that are not known not to.
    fn candidates(&self, stream: Option<&str>) -> Vec<Candidate> {
        let known = self.known();
        let named = |source: &&KnownSource| {
            stream.is_none_or(|stream| source.streams.iter().any(|name| name == stream))
        };
        let mut sources = known.iter().filter(named).collect::<Vec<_>>();
        if sources.is_empty() {
            sources = known.iter().filter(|source| !source.has_all_streams).collect();
        }
        let mut candidates: Vec<Candidate> = Vec::new();
        for source in sources {
            for (id, label) in &source.connections {
                if !candidates.iter().any(|known| known.connection_id == *id) {
                    candidates.push(Candidate {
                        grant_id: self.source().grant_id().map(str::to_owned),
                        connector_key: source.connector_key.clone(),
                        connection_id: id.clone(),
                        label: label.clone(),
                    });
                }
            }
        }
        candidates
    }

    /// Why it cannot be read, where that is known without asking (R5.4).
    fn unusable(&self) -> Option<ToolError> {
        let provider = self.source().provider();
        if self.ends.is_some_and(|end| end <= Timestamp::now()) {
            return Some(ToolError::new(
                "grant_expired",
                format!("the grant for {} is over", self.label),
                self.source().audience().next(),
            ));
        }
        self.source().is_refused().then(|| {
            ToolError::new(
                "grant_refused",
                format!("{provider} refused the grant for {} within the last minute", self.label),
                self.source().audience().next(),
            )
        })
    }

    /// What is said of it where it is missing in an answer.
    fn missing(&self, error: &ToolError) -> Value {
        let is_over = self.unusable().is_some();
        let next = if is_over { format!(": {}", self.source().audience().brief()) } else { String::new() };
        // A command is whole or not there: rather less of the label.
        let code = prefix_on_wire(error.code(), 40);
        let room = MAX_WARNING.saturating_sub("nothing of  ()".len() + code.len() + next.len());
        let next = if room < LEAST_LABEL { ": see `pdpp status`" } else { next.as_str() };
        let label = crate::text::prefix(&self.label, room.clamp(LEAST_LABEL, 50));
        let message = format!("nothing of {label} ({code}){next}");
        json!({"code": "partial_results", "message": prefix_on_wire(&message, MAX_WARNING)})
    }
}

/// The tools over every grant that is served.
pub struct Package {
    roster: Roster,
    children: RwLock<Arc<Vec<Arc<Child>>>>,
    bounds: Bounds,
    deadline: Duration,
    walks: Walks,
    /// Whether it was told that every grant has ended.
    is_over: AtomicBool,
    /// Blobs that were named, and by which grant ([`Child::grant`]): the last [`MAX_BLOBS`].
    blobs: Mutex<VecDeque<(String, (String, String))>>,
}

impl Package {
    /// The tools over what `roster` gives, each result within `bounds`.
    ///
    /// # Errors
    /// Those of the roster: nothing connected, say.
    pub fn new(roster: Roster, bounds: Bounds) -> Result<Self> {
        let children = roster()?.into_iter().map(Arc::new).collect();
        Ok(Self {
            roster,
            children: RwLock::new(Arc::new(children)),
            bounds,
            deadline: DEADLINE,
            walks: Walks::default(),
            is_over: AtomicBool::new(false),
            blobs: Mutex::default(),
        })
    }

    /// The same with another time that one grant of several may take.
    #[must_use]
    pub const fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    fn children(&self) -> Arc<Vec<Arc<Child>>> {
        Arc::clone(&self.children.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes up grants that were added, replaced or removed. What has not changed keeps all it remembers.
    fn reread(&self) {
        let known = self.children();
        let fresh = match (self.roster)() {
            Ok(fresh) => {
                self.is_over.store(false, Ordering::Relaxed);
                fresh
            }
            Err(error) if error.code() == "not_connected" => Vec::new(),
            // What is known of them says so to every call.
            Err(error) if error.code() == "grant_expired" => {
                if !self.is_over.swap(true, Ordering::Relaxed) {
                    tracing::warn!(code = error.code(), "every grant that is served has ended");
                }
                return;
            }
            Err(error) => {
                tracing::warn!(
                    code = error.code(),
                    "the grants could not be read again; the known ones are served"
                );
                return;
            }
        };
        let fresh = fresh.into_iter().map(|child| {
            if let Some(same) = known.iter().find(|known| known.id == child.id) {
                return Arc::clone(same);
            }
            Arc::new(match known.iter().find(|known| known.grant() == child.grant()) {
                Some(earlier) => child.taught_by(earlier),
                None => child,
            })
        });
        *self.children.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(fresh.collect());
    }

    /// The grants before a call. Another may have been connected since the last one went, and one that was
    /// refused approved again.
    fn before_call(&self) -> Arc<Vec<Arc<Child>>> {
        let children = self.children();
        if children.is_empty() || children.iter().any(|child| child.source().is_refused()) {
            self.reread();
        }
        self.children()
    }

    /// Whether one of the grants of `before`, refused in a call, was replaced meanwhile: by another token, or by
    /// another grant of its provider, as `pdpp connect --renew` gets one. Then the call is worth another try.
    fn is_replaced(&self, before: &[Arc<Child>], were_refused: &[bool]) -> bool {
        let gone =
            before.iter().zip(were_refused).filter(|(child, was)| child.source().is_refused() && !**was);
        let gone = gone.map(|(child, _)| child).collect::<Vec<_>>();
        if gone.is_empty() {
            return false;
        }
        self.reread();
        let now = self.children();
        let is_there = |child: &Child, among: &[Arc<Child>]| among.iter().any(|one| one.id == child.id);
        gone.iter().filter(|gone| !is_there(gone, &now)).any(|gone| {
            let mut fresh = now.iter().filter(|one| !is_there(one, before));
            fresh.any(|one| one.source().provider() == gone.source().provider())
        })
    }

    /// Answers; once more where a grant that was asked turns out to be gone, and to have been replaced.
    async fn answer(&self, tool: &str, given: Map<String, Value>) -> Result<ToolAnswer, ToolError> {
        if tool == "schema" {
            self.reread();
        }
        let before = self.before_call();
        let were_refused = refused(&before);
        let answer = self.answer_once(tool, given.clone()).await;
        // What is put together of several grants leaves out those that are gone.
        let may_lack = answer.is_err() || matches!(tool, "search" | "schema");
        if may_lack && self.is_replaced(&before, &were_refused) {
            return self.answer_once(tool, given).await;
        }
        answer
    }

    async fn answer_once(&self, tool: &str, given: Map<String, Value>) -> Result<ToolAnswer, ToolError> {
        let children = self.children();
        let Some(first) = children.first() else { return Err(nothing_served()) };
        let Some(tool) = surface::name_of(tool) else { return first.core.try_call(tool, given).await };
        if let [only] = children.as_slice() {
            return self.ask(only, tool, given, false).await;
        }
        first.core.check_length(tool, &given)?;
        let arguments = Arguments::new(tool, given)?;
        let is_index = tool == "schema" && !arguments.has("stream");
        let answer = match tool {
            "search" if !arguments.has("connection_id") => self.search(&arguments).await?,
            "schema" if !arguments.has("connection_id") => self.schema(&arguments).await?,
            _ => {
                let child = self.route(&arguments)?;
                return self.ask(&child, tool, arguments.given().clone(), true).await;
            }
        };
        first.core.within_bounds(answer, is_index)
    }

    /// Asks one grant.
    async fn ask(
        &self,
        child: &Child,
        tool: &'static str,
        given: Map<String, Value>,
        has_others: bool,
    ) -> Result<ToolAnswer, ToolError> {
        let answer = child.core.try_call(tool, given).await;
        match answer {
            Ok(answer) if has_others => {
                self.remember_blobs(child, &answer.text);
                Ok(answer)
            }
            Err(error) if has_others && child.source().is_refused() => Err(error.or_next(OR_ANOTHER)),
            answer => answer,
        }
    }

    /// The one grant that a call is for (R6.4).
    fn route(&self, arguments: &Arguments) -> Result<Arc<Child>, ToolError> {
        let children = self.children();
        let first = children.first().ok_or_else(nothing_served)?;
        let id = match arguments.text("id")? {
            // What names no record is refused before anybody is asked, whoever that would be.
            Some(id) => match RecordId::parse(id) {
                Ok(id) => Some(id),
                Err(_) => return Ok(Arc::clone(first)),
            },
            None if arguments.tool() == "fetch" => return Ok(Arc::clone(first)),
            None => None,
        };
        let embedded = id.as_ref().and_then(|id| id.connection.as_deref());
        let connection = embedded.or(arguments.text("connection_id")?);
        let stream = match &id {
            Some(id) => Some(id.stream.as_str()),
            None => arguments.text("stream")?,
        };
        match (connection, stream) {
            (Some(connection), stream) => self.by_connection(connection, stream),
            (None, Some(stream)) => by_stream(&children, arguments, stream).or_else(|refused| {
                // Nobody is asked to choose between a grant and one that is gone.
                self.reread();
                match self.children().as_slice() {
                    [] => Err(refused),
                    fresh => by_stream(fresh, arguments, stream),
                }
            }),
            (None, None) => Ok(Arc::clone(first)),
        }
    }

    fn by_connection(&self, connection: &str, stream: Option<&str>) -> Result<Arc<Child>, ToolError> {
        let holders = |children: &[Arc<Child>]| {
            children.iter().filter(|child| child.has_connection(connection)).cloned().collect::<Vec<_>>()
        };
        let mut found = holders(&self.children());
        if found.is_empty() {
            self.reread();
            found = holders(&self.children());
        }
        let providers = providers_of(&found);
        if providers.len() > 1 {
            return Err(of_two_providers(connection, &providers));
        }
        if found.is_empty() {
            // Nothing says whose it is; where only one grant's connections are unknown, it can only be its.
            let children = self.children();
            let mut unknown = children.iter().filter(|child| child.knows_no_connection());
            return match (unknown.next(), unknown.next()) {
                (Some(only), None) => Ok(Arc::clone(only)),
                _ => Err(ToolError::new(
                    "unknown_connection",
                    format!("no grant served here is known to have the connection `{connection}`"),
                    "schema {} lists the connections of every grant",
                )
                .with("param", "connection_id")),
            };
        }
        // Grants of one provider that share a connection: one that has the stream, and can be read.
        found
            .sort_by_key(|child| (stream.map(|stream| child.has_stream(stream)), child.unusable().is_some()));
        let child = found.swap_remove(0);
        match child.unusable() {
            // One that was refused is asked again: it may have been approved again.
            Some(why) if !child.source().is_refused() => Err(why.or_next(OR_ANOTHER)),
            _ => Ok(child),
        }
    }

    /// Every grant that could have one of `streams` (all of them without), split into those to ask and those
    /// that are known to be of no use now.
    fn able(&self, streams: Option<&[&str]>) -> (Vec<Arc<Child>>, Vec<Failed>) {
        let (mut able, mut unable) = (Vec::new(), Vec::new());
        for child in self.children().iter() {
            if streams.is_some_and(|streams| streams.iter().all(|stream| child.has_stream(stream) == Has::No))
            {
                continue;
            }
            match child.unusable() {
                None => able.push(Arc::clone(child)),
                Some(why) => unable.push((Arc::clone(child), why)),
            }
        }
        (able, unable)
    }

    async fn search(&self, arguments: &Arguments) -> Result<ToolAnswer, ToolError> {
        let wanted = arguments.texts("streams")?;
        let (able, unable) = self.able(wanted.as_deref());
        if able.is_empty() && unable.is_empty() {
            return Err(not_granted(&wanted.unwrap_or_default().join("`, `"), self.children().len()));
        }
        let is_walk = arguments.text("cursor")?.is_some_and(pages::is_over_grants);
        // R6.3: each is asked for the streams that it may have.
        let streams_of = |child: &Child| {
            let wanted = wanted.iter().flatten().copied();
            wanted.filter(|stream| child.has_stream(stream) != Has::No).collect::<Vec<_>>()
        };
        if let ([only], [], false) = (able.as_slice(), unable.as_slice(), is_walk) {
            let streams = streams_of(only);
            let streams = wanted.as_ref().map(|_| json!(streams));
            let given = arguments.with([("streams", streams)]);
            return self.ask(only, "search", given, true).await;
        }
        if able.is_empty() {
            return Err(all_failed(&unable));
        }
        let branches = able.iter().map(|child| (&child.core, streams_of(child))).collect::<Vec<_>>();
        let warn = |missing: &[Missing]| {
            let failed = missing.iter().map(|(at, error)| (&able[*at], error));
            warnings(unable.iter().map(|(child, why)| (child, why)).chain(failed))
        };
        let answer = tools::search::run_over_grants(
            &branches,
            arguments,
            self.bounds,
            self.deadline,
            &self.walks,
            &warn,
        )
        .await?;
        answer.map_err(|missing| {
            let failed = missing.into_iter().map(|(at, error)| (Arc::clone(&able[at]), error));
            all_failed(&unable.iter().cloned().chain(failed).collect::<Vec<_>>())
        })
    }

    async fn schema(&self, arguments: &Arguments) -> Result<ToolAnswer, ToolError> {
        let stream = arguments.text("stream")?;
        let children = self.children();
        let is_full = arguments.text("detail")? == Some("full");
        match (is_full, stream) {
            // Refused there, before anything is asked (R3.6).
            (true, None) => return self.ask(&children[0], "schema", arguments.given().clone(), true).await,
            (true, Some(_)) => {
                let child = self.route(arguments)?;
                return self.ask(&child, "schema", arguments.given().clone(), true).await;
            }
            _ => {}
        }
        let wanted = stream.map(|stream| [stream]);
        let (able, mut missing) = self.able(wanted.as_ref().map(<[_; 1]>::as_slice));
        if able.is_empty() && missing.is_empty() {
            return Err(not_granted(stream.unwrap_or_default(), children.len()));
        }
        if let ([only], [], Some(_)) = (able.as_slice(), missing.as_slice(), stream) {
            return self.ask(only, "schema", arguments.given().clone(), true).await;
        }
        let reads = able.iter().map(|child| async move {
            let read = tools::schema::part(&child.core, stream);
            tokio::time::timeout(self.deadline, read).await.unwrap_or_else(|_| {
                child.source().set_too_slow();
                Err(ToolError::new(
                    "provider_timeout",
                    format!(
                        "{} did not answer within {} s",
                        child.source().provider(),
                        self.deadline.as_secs_f32()
                    ),
                    "repeat the call in a minute",
                ))
            })
        });
        let mut bodies = Vec::new();
        for (child, body) in able.iter().zip(join_all(reads).await) {
            match body {
                Ok(body) => {
                    if stream.is_none() {
                        child.learn(&body);
                    }
                    bodies.push((Arc::clone(child), body));
                }
                Err(error) => missing.push((Arc::clone(child), error)),
            }
        }
        let parts = Parts::of(children.iter().map(|child| {
            let body = bodies.iter().find(|(of, _)| Arc::ptr_eq(of, child)).map(|(_, body)| body);
            (child.key(), body.map_or(0, |body| tools::schema::streams_of(body).len()))
        }));
        // Nothing is left to show of those that answered: what is left is of those that did not.
        let is_over = stream.is_none() && parts.is_at_end(arguments.text("cursor")?);
        if bodies.is_empty() || (is_over && !missing.is_empty()) {
            return Err(all_failed(&missing));
        }
        let body = one_schema(bodies, warnings(missing.iter().map(|(child, error)| (child, error))));
        tools::schema::show_over_grants(arguments, stream, body, &parts, self.bounds)
    }

    /// Remembers which grant names which blobs, so that their URIs lead back to it.
    fn remember_blobs(&self, child: &Child, text: &str) {
        let mut blobs = self.blobs.lock().unwrap_or_else(PoisonError::into_inner);
        for id in blob_ids(text) {
            let (provider, grant) = child.grant();
            let named = (id.to_owned(), (provider.to_owned(), grant.to_owned()));
            if !blobs.contains(&named) {
                blobs.push_back(named);
            }
        }
        let excess = blobs.len().saturating_sub(MAX_BLOBS);
        blobs.drain(..excess);
    }

    async fn read_blob(&self, blob: &resource::Blob) -> Result<ResourceContents, ResourceError> {
        let child = self.of_blob(&blob.id, blob.connection.as_deref());
        blob.read(child.map_err(|error| resource::failed_with(&error))?.source()).await
    }

    /// The grant whose blob it is: a blob's id does not say, but one grant alone may have named it.
    fn of_blob(&self, id: &str, connection: Option<&str>) -> Result<Arc<Child>, ToolError> {
        let children = self.children();
        if children.len() > 1 && connection.is_none() {
            let blobs = self.blobs.lock().unwrap_or_else(PoisonError::into_inner);
            let named = |child: &&Arc<Child>| {
                blobs.iter().any(|(blob, (provider, grant))| blob == id && child.grant() == (provider, grant))
            };
            let mut by = children.iter().filter(named);
            if let (Some(only), None) = (by.next(), by.next()) {
                return Ok(Arc::clone(only));
            }
        }
        match (children.as_slice(), connection) {
            ([], _) => Err(nothing_served()),
            ([only], _) => Ok(Arc::clone(only)),
            (_, Some(connection)) => self.by_connection(connection, None),
            (several, None) => {
                let usable = several.iter().filter(|child| child.unusable().is_none());
                let candidates = candidates_of(usable, None);
                Err(ToolError::new(
                    "ambiguous_connection",
                    "several grants are served, and a blob's id does not say whose it is",
                    "name its connection: pdpp://blob/BLOB_ID?connection_id=CONNECTION_ID",
                )
                .with("status", 409)
                .choose_from(candidates))
            }
        }
    }
}

/// Which of them were refused within the last minute.
fn refused(children: &[Arc<Child>]) -> Vec<bool> {
    children.iter().map(|child| child.source().is_refused()).collect()
}

/// The ids that follow `blob_id` or `/v1/blobs/` in an answer, however its quotes are escaped. A record may
/// say so of any id; where two grants name the same one, neither is taken.
fn blob_ids(text: &str) -> impl Iterator<Item = &str> {
    let is_id = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    ["blob_id", "/v1/blobs/"].into_iter().flat_map(move |mark| {
        text.split(mark).skip(1).filter_map(move |rest| {
            let rest = rest.trim_start_matches(['\\', '"', ':', '=', ' ']);
            let id = &rest[..rest.find(|c| !is_id(c)).unwrap_or(rest.len())];
            (!id.is_empty() && id.len() <= 512).then_some(id)
        })
    })
}

/// What to do beside approving a grant again.
const OR_ANOTHER: &str = "; or choose another connection: schema {} lists those there are";

/// A grant can only be gone from the machine that it is kept on: this is for its owner.
fn nothing_served() -> ToolError {
    ToolError::new(
        "not_connected",
        "no grant is connected on this machine any more",
        "ask the user to run: pdpp connect <provider-url>",
    )
}

fn not_granted(streams: &str, grants: usize) -> ToolError {
    ToolError::new(
        "stream_not_granted",
        format!("none of the {grants} grants served here has a stream `{streams}`"),
        Call::new("schema", json!({})),
    )
    .with("param", "stream")
}

/// The grant that has the stream, where only one has; else what to choose from (R5.3, R6.6).
fn by_stream(children: &[Arc<Child>], arguments: &Arguments, stream: &str) -> Result<Arc<Child>, ToolError> {
    let mut able =
        children.iter().filter(|child| child.has_stream(stream) != Has::No).cloned().collect::<Vec<_>>();
    able.sort_by_key(|child| child.has_stream(stream));
    if able.is_empty() {
        return Err(not_granted(stream, children.len()));
    }
    if let [only] = able.as_slice() {
        return match only.unusable() {
            Some(why) if !only.source().is_refused() => Err(why.or_next(OR_ANOTHER)),
            _ => Ok(Arc::clone(only)),
        };
    }
    let (usable, unusable): (Vec<_>, Vec<_>) = able.iter().partition(|child| child.unusable().is_none());
    let candidates = candidates_of(usable.iter().copied(), Some(stream));
    if let [only] = candidates.as_slice()
        && able.iter().all(|child| {
            let named = child.candidates(Some(stream));
            child.source().provider() == usable[0].source().provider()
                && matches!(named.as_slice(), [one] if one.connection_id == only.connection_id)
        })
    {
        // Several grants of one account: a choice would not tell them apart.
        return Ok(Arc::clone(usable[0]));
    }
    let providers = |connection: &str| {
        providers_of(usable.iter().copied().filter(|child| child.has_connection(connection)))
    };
    let clear = candidates.iter().find(|one| providers(&one.connection_id).len() < 2);
    if let (None, Some(shared)) = (clear, candidates.first()) {
        // Naming it would not say which is meant either.
        return Err(of_two_providers(&shared.connection_id, &providers(&shared.connection_id)));
    }
    let mut error = ToolError::new(
        "ambiguous_connection",
        format!(
            "{} grants may have a stream `{stream}`, and the call does not say which is meant",
            able.len()
        ),
        match clear {
            Some(first) => format!(
                "repeat the call with one of these connection_id values, e.g. {}",
                call_text(
                    arguments.tool(),
                    &arguments.with([("connection_id", Some(json!(first.connection_id)))])
                )
            ),
            None => "schema {} lists the connections of every grant".to_owned(),
        },
    )
    .with("status", 409)
    .with("param", "connection_id");
    if let Some(child) = unusable.first() {
        let others =
            if unusable.len() > 1 { format!(" and {} more", unusable.len() - 1) } else { String::new() };
        error = error.and(&format!(
            "; {}{others} cannot be read until approved again ({})",
            crate::text::prefix(&child.label, 100),
            child.source().audience().brief()
        ));
    }
    Err(error.choose_from(candidates))
}

/// The connections of several grants, each once however many grants share it.
fn candidates_of<'a>(
    children: impl IntoIterator<Item = &'a Arc<Child>>,
    stream: Option<&str>,
) -> Vec<Candidate> {
    let mut seen = BTreeSet::new();
    let mut candidates = Vec::new();
    for child in children {
        let provider = child.source().provider().as_str();
        let fresh = child.candidates(stream).into_iter();
        candidates.extend(fresh.filter(|one| seen.insert((provider, one.connection_id.clone()))));
    }
    candidates
}

fn providers_of<'a>(children: impl IntoIterator<Item = &'a Arc<Child>>) -> BTreeSet<&'a str> {
    children.into_iter().map(|child| child.source().provider().as_str()).collect()
}

/// A connection that cannot be told from another provider's (R6.7).
fn of_two_providers(connection: &str, providers: &BTreeSet<&str>) -> ToolError {
    let named = providers.iter().copied().take(3).collect::<Vec<_>>();
    let serve = named.iter().map(|url| format!("pdpp mcp serve --provider {}", shell_word(url)));
    ToolError::new(
        "ambiguous_provider",
        format!(
            "the connection `{connection}` is one of {}: which is meant is never guessed",
            named.join(" and of ")
        ),
        format!(
            "tell the user: serve one of them at a time, with {}",
            serve.collect::<Vec<_>>().join(" or ")
        ),
    )
    .with("param", "connection_id")
}

/// What to say of grants that are missing in an answer: the first by name, the others counted.
fn warnings<'a>(missing: impl Iterator<Item = (&'a Arc<Child>, &'a ToolError)>) -> Vec<Value> {
    let missing = missing.collect::<Vec<_>>();
    let mut warnings =
        missing.iter().take(MAX_NAMED).map(|(child, error)| child.missing(error)).collect::<Vec<_>>();
    if let Some(further) = missing.len().checked_sub(MAX_NAMED).filter(|further| *further > 0) {
        warnings.push(
            json!({"code": "partial_results", "message": format!("nothing of {further} further grants either")}),
        );
    }
    warnings
}

/// Every grant that was asked, or would have been, failed: that is no empty success (R6.5).
fn all_failed(failed: &[Failed]) -> ToolError {
    if let [(_, error)] = failed {
        return error.clone().or_next(OR_ANOTHER);
    }
    // One that understood the call and refuses it says more than one that is not there.
    let is_about_the_call = |error: &ToolError| {
        matches!(error.detail("status").and_then(Value::as_u64), Some(400 | 404 | 409 | 410 | 422))
    };
    if let Some((_, error)) = failed.iter().find(|(_, error)| is_about_the_call(error)) {
        return error.clone().and(&format!(" (none of {} grants gave an answer)", failed.len()));
    }
    // What they all say alike is said once, whole.
    if failed.windows(2).all(|pair| pair[0].1 == pair[1].1)
        && let Some((_, error)) = failed.first()
    {
        return error.clone().and(&format!(" (the same for all of {} grants)", failed.len()));
    }
    let named = failed.iter().take(3).map(|(child, error)| {
        let code = prefix_on_wire(error.code(), 60);
        format!("{}: {code}", crate::text::prefix(&child.label, 60))
    });
    let mut named = named.collect::<Vec<_>>().join("; ");
    if failed.len() > 3 {
        named.push_str("; …");
    }
    let next = failed.iter().map(|(_, error)| error.next()).collect::<BTreeSet<_>>();
    ToolError::new(
        "all_grants_failed",
        format!("none of {} grants gave an answer: {named}", failed.len()),
        next.into_iter().take(2).collect::<Vec<_>>().join("; "),
    )
}

/// The schemas of several grants as one: their connectors, each with the grant or the provider where nothing
/// else tells two of them apart.
fn one_schema(bodies: Vec<(Arc<Child>, Map<String, Value>)>, mut warnings: Vec<Value>) -> Map<String, Value> {
    let mut connectors: Vec<(Arc<Child>, Value)> = Vec::new();
    for (child, mut body) in bodies {
        if let Some(Value::Array(list)) = body.get("meta").and_then(|meta| meta.get("warnings")) {
            for warning in list {
                if !warnings.contains(warning) {
                    warnings.push(warning.clone());
                }
            }
        }
        if let Some(Value::Array(rows)) = body.remove("connectors") {
            connectors.extend(rows.into_iter().map(|row| (Arc::clone(&child), row)));
        }
    }
    let names = connectors.iter().map(|(child, row)| {
        let ids =
            connections(row.get("granted_connections")).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
        (Arc::clone(child), row.get("connector_key").cloned(), ids)
    });
    let names = names.collect::<Vec<_>>();
    let rows = connectors.into_iter().enumerate().map(|(at, (child, mut row))| {
        let (_, key, ids) = &names[at];
        let is_alike = |(_, other_key, other_ids): &(Arc<Child>, Option<Value>, Vec<String>)| {
            ids.iter().any(|id| other_ids.contains(id))
                || (ids.is_empty() && other_ids.is_empty() && key == other_key)
        };
        let alike = names.iter().enumerate().filter(|(other, name)| *other != at && is_alike(name));
        let alike = alike.map(|(_, (other, ..))| other).filter(|other| !Arc::ptr_eq(other, &child));
        if let Value::Object(fields) = &mut row {
            for other in alike {
                if other.source().provider() != child.source().provider() {
                    fields.insert("provider".into(), json!(child.source().provider().as_str()));
                } else if let Some(grant) = child.source().grant_id() {
                    fields.insert("grant_id".into(), json!(grant));
                }
            }
        }
        row
    });
    let rows = rows.collect::<Vec<_>>();
    let mut body = Map::new();
    body.insert("object".into(), json!("schema"));
    body.insert("detail".into(), json!("compact"));
    body.insert("connectors".into(), rows.into());
    body.insert("meta".into(), json!({"count": {"kind": "none"}, "warnings": warnings}));
    body
}

impl ReadSurface for Package {
    fn call(&self, tool: &str, arguments: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
        let tool = tool.to_owned();
        async move { self.answer(&tool, arguments).await.unwrap_or_else(ToolAnswer::from) }.boxed()
    }

    fn read_resource(&self, uri: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
        let uri = uri.to_owned();
        async move {
            match resource::Blob::parse(&uri) {
                Some(blob) => {
                    let blob = blob?;
                    let before = self.before_call();
                    let were_refused = refused(&before);
                    let read = self.read_blob(&blob).await;
                    if read.is_err() && self.is_replaced(&before, &were_refused) {
                        return self.read_blob(&blob).await;
                    }
                    read
                }
                None => resource::read_by_call(self, &uri).await,
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r4_5_blobs_are_found_however_they_are_quoted() {
        let text =
            r#"blob_ref={"blob_id":"b_1","size":1} read="GET /v1/blobs/b-2" {\"blob_id\":\"b.3\"} blob_id"#;
        assert_eq!(blob_ids(text).collect::<Vec<_>>(), ["b_1", "b.3", "b-2"]);
    }
}
