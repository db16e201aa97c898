//! Several sources served as one (R6), of whatever providers: who serves chooses none of them.
//!
//! What names its source goes to exactly one grant and no other is asked (R6.4): by `connection_id`, said or
//! within an id. What names none goes to the one grant that has the stream, where what is known here says so;
//! otherwise the answer says what to choose from, without asking anybody (R5.3, R6.6). `search` and `schema`
//! ask all grants that can answer, side by side (R6.2).
//!
//! A package of one grant is that grant: its calls go straight through.

mod blobs;
mod child;
mod missing;
mod route;
mod schema;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::advice::Command;
use crate::error::Result;
use crate::mcp::protocol::service::ReadSurface;
use crate::mcp::protocol::service::ResourceContents;
use crate::mcp::protocol::service::ResourceError;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::paging::{self, Missing, Walks};
use crate::mcp::reading::source::ask_to_run;
use crate::mcp::render::Bounds;
use crate::mcp::render::ladder::Call;
use crate::mcp::tool_error::ToolError;
use crate::mcp::tools;
use crate::mcp::tools::arguments::Arguments;
use crate::mcp::tools::resource;
use crate::mcp::tools::surface;

use child::Has;
pub use child::{Child, KnownSource};
use missing::{Failed, all_failed, warnings};

/// How long one grant may take where several are asked (R6.5).
pub const DEADLINE: Duration = Duration::from_secs(10);

/// Gives the grants that are served now: at the start, and whenever they may have changed. Reads an index and
/// nothing slower.
pub type Roster = Arc<dyn Fn() -> Result<Vec<Child>> + Send + Sync>;

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
                    "the grants could not be read again; the known ones are kept"
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
        // A list that several gave goes on as one of several, whoever is left of them.
        let is_over_grants = || {
            tool == "search"
                && given.get("cursor").and_then(Value::as_str).is_some_and(paging::is_over_grants)
        };
        if let [only] = children.as_slice()
            && !is_over_grants()
        {
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
        let wanted = arguments.texts("streams");
        let (able, unable) = self.able(wanted.as_deref());
        if able.is_empty() && unable.is_empty() {
            return Err(not_granted(&wanted.unwrap_or_default().join("`, `"), self.children().len()));
        }
        let is_walk = arguments.text("cursor").is_some_and(paging::is_over_grants);
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
}

/// Which of them were refused within the last minute.
fn refused(children: &[Arc<Child>]) -> Vec<bool> {
    children.iter().map(|child| child.source().is_refused()).collect()
}

/// What to do beside approving a grant again.
const OR_ANOTHER: &str = "; or choose another connection: schema {} lists those there are";

/// A grant can only be gone from the machine that it is kept on: this is for its owner.
fn nothing_served() -> ToolError {
    ToolError::new(
        "not_connected",
        "what is served here is not connected on this machine any more: it was disconnected, or renewed as another grant",
        ask_to_run(&Command::new("status")),
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
