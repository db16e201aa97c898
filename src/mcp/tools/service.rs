//! The six tools over the served grants: from a call to an answer within limits in both views.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::arguments::Given;
use super::context::Context;
use super::explanation;
use super::tool_call::ToolCall;
use super::{aggregate, fetch, query_records, read_record_field, resource, schema, search, surface};
use crate::mcp::protocol::service::{Offer, ResourceContents, ResourceError, Service, ToolAnswer};
use crate::mcp::reading::catalog::StreamFacts;
use crate::mcp::reading::package::{Member, OR_ANOTHER, Package, Target, nothing_served};
use crate::mcp::reading::reader::Reader;
use crate::mcp::size::Bounds;
use crate::mcp::tool_error::ToolError;

/// The answer to every call as long as nothing is granted.
pub type Unserved = Arc<dyn Fn() -> ToolError + Send + Sync>;

/// The six tools.
pub struct Tools {
    package: Package,
    bounds: Bounds,
    unserved: Option<Unserved>,
}

impl Tools {
    /// The tools over `package`, each result within `bounds`.
    pub const fn new(package: Package, bounds: Bounds) -> Self {
        Self { package, bounds, unserved: None }
    }

    /// The tools over one grant.
    pub fn over_one(reader: Reader, bounds: Bounds) -> Self {
        Self::new(Package::of_one(reader), bounds)
    }

    /// The same for a process that answers one call and then ends.
    #[must_use]
    pub fn for_one_call(self) -> Self {
        Self { package: self.package.for_one_call(), ..self }
    }

    /// The same, with `unserved` as the answer to every call as long as nothing is granted.
    #[must_use]
    pub fn or_else(self, unserved: Unserved) -> Self {
        Self { unserved: Some(unserved), ..self }
    }

    /// The answer to every call if nothing is granted; first picks up what has been granted in the meantime.
    fn unserved(&self) -> Option<ToolError> {
        let unserved = self.unserved.as_ref()?;
        self.package.begin();
        self.package.members().is_empty().then(|| unserved())
    }

    /// The size limit of each view of a result.
    pub const fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The grants that are served.
    pub const fn package(&self) -> &Package {
        &self.package
    }

    /// Answers a call, or returns a typed error.
    ///
    /// # Errors
    /// Returns a tool's or its provider's refusal.
    pub async fn try_call(&self, tool: &str, arguments: Map<String, Value>) -> Result<ToolAnswer, ToolError> {
        if let Some(error) = self.unserved() {
            return Err(error);
        }
        let call = ToolCall::parse(tool, arguments, self.bounds)?;
        if call.is_discovery() {
            self.package.reread();
        }
        let round = self.package.begin();
        let mut answer = self.answer(&call).await;
        if let Err(error) = answer {
            answer = self.by_filter(&call, error).await;
        }
        // An answer merged from several grants omits those that are gone.
        let may_lack = answer.is_err() || call.may_read_all_grants();
        // Asked again if a grant turned out to be gone and to have been replaced.
        if may_lack && self.package.is_replaced(&round) {
            answer = self.answer(&call).await;
        }
        self.within_bounds(answer?, call.is_index())
    }

    async fn answer(&self, call: &ToolCall) -> Result<ToolAnswer, ToolError> {
        let members = self.package.members();
        match (members.as_slice(), call) {
            ([], _) => Err(nothing_served()),
            // A list that several grants began continues as one of several, even if only one is left.
            ([only], call) if !is_over_grants(call, only) => self.ask(only, call, false).await,
            (_, ToolCall::Search(search)) if search.connection.is_none() => self.search(search).await,
            (_, ToolCall::Schema(schema)) if schema.connection.is_none() && !schema.is_full => {
                self.schema(schema, call).await
            }
            // These tools are about one grant, which the connection or the stream identifies.
            (
                _,
                ToolCall::Schema(_)
                | ToolCall::QueryRecords(_)
                | ToolCall::Aggregate(_)
                | ToolCall::Search(_)
                | ToolCall::Fetch(_)
                | ToolCall::ReadRecordField(_),
            ) => {
                let target =
                    Target { call: call.call(), connection: call.connection(), stream: call.stream() };
                self.ask(&*self.package.route(target)?, call, true).await
            }
        }
    }

    /// Asks one grant.
    async fn ask(&self, member: &Member, call: &ToolCall, has_others: bool) -> Result<ToolAnswer, ToolError> {
        let context = Context { reader: member.reader(), bounds: self.bounds };
        let answer = match call {
            ToolCall::Schema(arguments) => schema::run(context, arguments).await,
            ToolCall::QueryRecords(arguments) => query_records::run(context, arguments).await,
            ToolCall::Aggregate(arguments) => aggregate::run(context, arguments).await,
            ToolCall::Search(arguments) => search::run(context, arguments).await,
            ToolCall::Fetch(arguments) => fetch::run(context, arguments).await,
            ToolCall::ReadRecordField(arguments) => read_record_field::run(context, arguments).await,
        };
        let error = match answer {
            Ok(answer) => {
                if has_others {
                    self.package.remember_blobs(member, &answer.text);
                }
                return Ok(answer);
            }
            Err(error) => explanation::explain(context.reader, call.asked(), error).await,
        };
        Err(if has_others && member.reader().is_refused() { error.or_next(OR_ANOTHER) } else { error })
    }

    /// If the filter has a field that some of the connections to choose from lack, those are not choices: the only
    /// one left is asked, or the error lists the remaining ones.
    async fn by_filter(&self, call: &ToolCall, error: ToolError) -> Result<ToolAnswer, ToolError> {
        let (Some(stream), "ambiguous_connection") = (call.stream(), error.code()) else { return Err(error) };
        let filter = Given(call.call()).filter().unwrap_or_default();
        let Some(candidates) = error.all_candidates().filter(|_| !filter.is_empty()) else {
            return Err(error);
        };
        let mut able = Vec::new();
        for candidate in candidates {
            let id = candidate.connection_id.as_str();
            let target = Target { call: call.call(), connection: Some(id), stream: Some(stream) };
            let Ok(member) = self.package.route(target) else { continue };
            let facts = member.reader().facts(stream, Some(id)).await;
            let has_all = |facts: &StreamFacts| {
                filter.conditions().iter().all(|condition| facts.fields.contains_key(&condition.field))
            };
            // A schema that cannot be read does not rule its connection out.
            if facts.is_empty() || facts.iter().any(has_all) {
                able.push((id.to_owned(), member));
            }
        }
        let named = |id: &str| call.call().with([("connection_id", Some(json!(id)))]);
        match able.as_slice() {
            [(id, member)] if candidates.len() > 1 => {
                let tool = call.call().tool.name();
                self.ask(member, &ToolCall::parse(tool, named(id).arguments, self.bounds)?, true).await
            }
            [(first, _), ..] if able.len() < candidates.len() => {
                let hint = format!(
                    "only the connections named here have the filter's fields: repeat the call with one, e.g. {}",
                    named(first)
                );
                Err(error
                    .narrow_candidates(|one| able.iter().any(|(id, _)| *id == one.connection_id))
                    .hint(hint))
            }
            _ => Err(error),
        }
    }

    async fn search(&self, arguments: &search::Arguments) -> Result<ToolAnswer, ToolError> {
        match search::over_grants(&self.package, arguments, self.bounds).await? {
            search::OverGrants::Answer(answer) => Ok(answer),
            search::OverGrants::OneOf(member, narrowed) => {
                self.ask(&member, &ToolCall::Search(narrowed), true).await
            }
        }
    }

    async fn schema(&self, arguments: &schema::Arguments, call: &ToolCall) -> Result<ToolAnswer, ToolError> {
        let (given, stream) = (&arguments.call, arguments.stream.as_deref());
        match schema::over_grants(&self.package, given, stream, self.bounds).await? {
            schema::OverGrants::Answer(answer) => Ok(answer),
            schema::OverGrants::OneOf(member) => self.ask(&member, call, true).await,
        }
    }

    /// The last resort: every tool keeps its limits itself for every answer that makes sense. An answer that does not
    /// (a schema with a megabyte instead of a name) is refused rather than shown beyond the limits.
    fn within_bounds(&self, answer: ToolAnswer, is_index: bool) -> Result<ToolAnswer, ToolError> {
        if is_index
            || answer.is_error
            || (answer.text.len() <= self.bounds.text && answer.structured_len() <= self.bounds.structured)
        {
            return Ok(answer);
        }
        Err(ToolError::new(
            "answer_too_large",
            "The provider's answer does not fit a result, however it is cut",
            "ask for less (limit, fields, connection_id); if it persists, tell the user that the provider's answers cannot be used",
        ))
    }

    async fn blob(&self, blob: &resource::Blob) -> Result<ResourceContents, ResourceError> {
        let member = self.package.of_blob(&blob.id, blob.connection.as_deref());
        blob.read(member.map_err(|error| resource::failed_with(&error))?.reader()).await
    }
}

/// Whether a call to the only served grant is answered like one over several.
fn is_over_grants(call: &ToolCall, member: &Member) -> bool {
    let ToolCall::Search(search) = call else { return false };
    search.is_over_grants() || (search.connection.is_none() && member.reader().spans_grants())
}

impl Service for Tools {
    fn offer(&self) -> Offer {
        surface::offer()
    }

    fn call(&self, tool: &str, arguments: Map<String, Value>) -> BoxFuture<'_, ToolAnswer> {
        let tool = tool.to_owned();
        async move { self.try_call(&tool, arguments).await.unwrap_or_else(ToolAnswer::from) }.boxed()
    }

    fn read_resource(&self, uri: &str) -> BoxFuture<'_, Result<ResourceContents, ResourceError>> {
        let uri = uri.to_owned();
        async move {
            if let Some(error) = self.unserved() {
                return Err(resource::failed_with(&error));
            }
            let Some(blob) = resource::Blob::parse(&uri) else {
                return resource::read_by_call(self, &uri).await;
            };
            let blob = blob?;
            let round = self.package.begin();
            let read = self.blob(&blob).await;
            if read.is_err() && self.package.is_replaced(&round) {
                return self.blob(&blob).await;
            }
            read
        }
        .boxed()
    }
}
