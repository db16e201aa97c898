//! `search`: records by text, with the excerpt that matched first.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::answer_parts::{
    CursorLens, NOTE_BYTES, counted, fitted_note, max_cursor, meta_lines, next_page, text_of,
};
use super::arguments::{Given, bad_name};
use super::checks::check_filter;
use super::context::Context;
use super::explanation::{Asked, explain, restart};
use crate::json::write::{self, Json, Sink, Written};
use crate::mcp::call::Call;
use crate::mcp::call_log;
use crate::mcp::id::{RecordId, check_segment};
use crate::mcp::line;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::envelope;
use crate::mcp::reading::package::{Failed, Has, Member, Package, all_failed, not_granted, warnings};
use crate::mcp::reading::paging::{
    self, Branch, BranchHooks, Cursor, Listing, Missing, Page, Several, Shape, branch_of,
};
use crate::mcp::reading::reader::Reader;
use crate::mcp::reading::request::{List, Search, SearchMode};
use crate::mcp::reading::rows::Row;
use crate::mcp::reading::schema;
use crate::mcp::render::ladder::{self, Field, Ladder, Record, RecordRef};
use crate::mcp::render::{marks, rows as row_text, title};
use crate::mcp::size::{Bounds, json_len, mean_fits, prefix_on_wire};
use crate::mcp::tool_error::ToolError;

/// The maximum size in bytes of one value that a hit shows in addition to its excerpt.
const MAX_PART: usize = 400;

/// The maximum number of match windows of one hit, and of sources of a page that are named.
const MAX_EVIDENCE: usize = 4;
const MAX_SOURCES: usize = 10;

/// The maximum size of one hit's excerpt in bytes; the cut rest is read with `read_record_field`.
const EXCERPT_BYTES: usize = 240;

/// The bytes that the text of most hits takes.
const LIKELY_TEXT: usize = 512;

/// The maximum size in bytes of the part of an excerpt that is repeated next to the continuation call.
const PREVIEW_BYTES: usize = 32;

/// The line if more hits exist and no page follows (R4.3).
const NO_WAY_ON: &str =
    "the provider has no more pages: narrow the search with streams, filter, connection_id or more words\n";

/// The line if no page follows and the provider did not look at everything that matches.
const CUT_OFF: &str =
    "some of what matches was cut off: narrow the search with streams, filter, connection_id or more words\n";

/// The arguments of a call.
pub struct Arguments {
    /// The call as given.
    pub call: Call,
    /// The search.
    pub search: Search,
    /// The maximum number of hits.
    pub limit: Option<u64>,
    /// Where to continue.
    pub cursor: Option<Cursor>,
    /// Only this connection.
    pub connection: Option<String>,
}

impl Arguments {
    /// Reads a checked call.
    ///
    /// # Errors
    /// Returns `missing_argument` or `invalid_argument`.
    pub fn parse(call: Call) -> Result<Self, ToolError> {
        let given = Given(&call);
        let search = Search {
            mode: call.text("mode").and_then(SearchMode::from_name),
            q: given.required_text("q", "WORDS")?,
            streams: given.texts("streams"),
            filter: given.filter()?,
        };
        for stream in &search.streams {
            check_segment("stream", stream).map_err(|error| bad_name("streams", &error))?;
        }
        let (limit, connection) = (given.integer("limit"), given.text("connection_id"));
        let cursor = call.text("cursor").map(Cursor::from_text);
        Ok(Self { call, search, limit, cursor, connection })
    }

    /// The one stream that is searched, which a filter needs; `None` if there are none or several.
    pub fn stream(&self) -> Option<&str> {
        match self.search.streams.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Whether its cursor walks several grants.
    pub fn is_over_grants(&self) -> bool {
        self.cursor.as_ref().is_some_and(Cursor::is_over_grants)
    }

    fn listing(&self) -> Listing {
        Listing {
            list: List::Search(self.search.clone()),
            limit: self.limit,
            cursor: self.cursor.clone(),
            connection: self.connection.clone(),
        }
    }
}

/// Answers a call.
///
/// # Errors
/// Returns what the schema shows to be wrong, or the provider's refusal, not explained yet.
pub async fn run(context: Context<'_>, arguments: &Arguments) -> Result<ToolAnswer, ToolError> {
    let Context { reader, bounds } = context;
    if let Some(stream) = arguments.stream() {
        let connection = arguments.connection.as_deref();
        check_filter(reader, &arguments.call, &arguments.search.filter, stream, connection).await?;
    }
    let shape = HitShape { readers: &[reader], arguments, bounds };
    // Over the connections of one grant, the resource server itself merges and pages.
    let page = paging::read(reader, &arguments.listing(), &shape, || async { Several::default() }).await?;
    Ok(render(&shape, page))
}

/// The outcome of a search over the grants of a package.
pub enum OverGrants {
    /// An answer.
    Answer(ToolAnswer),
    /// Only this grant can have what is searched for, so only it is asked, for the streams that it may have.
    OneOf(Arc<Member>, Arguments),
}

/// Answers a call over all grants that can have one of its streams (R6.2); each is asked for those that it may have
/// (R6.3).
///
/// # Errors
/// Returns what is wrong with the call, or the grants' errors if every grant failed (R6.5).
pub async fn over_grants(
    package: &Package,
    arguments: &Arguments,
    bounds: Bounds,
) -> Result<OverGrants, ToolError> {
    let streams = arguments.search.streams.iter().map(String::as_str).collect::<Vec<_>>();
    let wanted = Some(streams.as_slice()).filter(|streams| !streams.is_empty());
    let (able, unable) = package.able(wanted);
    if able.is_empty() && unable.is_empty() {
        return Err(not_granted(&streams.join("`, `"), package.members().len()));
    }
    let streams_of = |member: &Member| {
        let may_have = streams.iter().filter(|stream| member.has_stream(stream) != Has::No);
        may_have.map(|stream| (*stream).to_owned()).collect::<Vec<_>>()
    };
    if let ([only], [], false) = (able.as_slice(), unable.as_slice(), arguments.is_over_grants())
        && !only.reader().spans_grants()
    {
        let streams = streams_of(only);
        let call = arguments.call.with([("streams", wanted.map(|_| json!(streams)))]);
        return Ok(OverGrants::OneOf(Arc::clone(only), Arguments::parse(call)?));
    }
    if able.is_empty() {
        return Err(all_failed(&unable));
    }
    let whole = arguments.listing();
    let mut parts: Vec<(&Arc<Member>, Option<String>, Vec<String>)> = Vec::new();
    for member in &able {
        let connections = connections_of(member, &streams).await;
        if connections.is_empty() {
            parts.push((member, None, streams_of(member)));
        }
        parts.extend(connections.into_iter().map(|(id, streams)| (member, Some(id), streams)));
    }
    let readers = parts.iter().map(|(member, ..)| member.reader()).collect::<Vec<_>>();
    let branches = parts.iter().map(|(member, connection, streams)| {
        let reader = member.reader();
        let search = Search { streams: streams.clone(), ..arguments.search.clone() };
        let same = able.iter().filter(|other| other.reader().provider() == reader.provider());
        let grant = reader.grant_id().unwrap_or("");
        let name = connection.as_ref().map_or_else(|| grant.to_owned(), |id| format!("{grant}/{id}"));
        Branch {
            key: paging::branch_key(reader.provider().as_str(), &name),
            reader,
            label: member.label(),
            listing: Listing {
                list: List::Search(search),
                cursor: None,
                connection: connection.clone(),
                ..whole.clone()
            },
            has_rival: same.count() > 1,
        }
    });
    let branches = branches.collect::<Vec<_>>();
    let shape = HitShape { readers: &readers, arguments, bounds };
    let hooks = OfGrants { readers: &readers, arguments };
    let warn = |missing: &[Missing]| {
        let failed = once_each(missing.iter().map(|(at, error)| (parts[*at].0, error)));
        warnings(unable.iter().map(|(member, why)| (member, why)).chain(failed))
    };
    let (deadline, walks) = (package.deadline(), package.walks());
    let page = paging::read_branches(&branches, &whole, &shape, &hooks, deadline, walks, &warn).await;
    match page.map_err(|error| restart(error, &arguments.call))? {
        Ok(page) => Ok(OverGrants::Answer(render(&shape, page))),
        Err(missing) => {
            let failed = once_each(missing.iter().map(|(at, error)| (parts[*at].0, error)));
            let failed = failed.into_iter().map(|(member, error)| (Arc::clone(member), error.clone()));
            Err(all_failed(&unable.into_iter().chain(failed).collect::<Vec<Failed>>()))
        }
    }
}

/// The connections of a grant that must be searched one by one, with the streams that each may have; empty if the
/// grant is searched at once.
async fn connections_of(member: &Member, streams: &[&str]) -> Vec<(String, Vec<String>)> {
    if !member.reader().spans_grants() {
        return Vec::new();
    }
    if member.knows_no_connection()
        && let Ok(body) = schema::compact(member.reader(), None, None).await
    {
        member.learn(&body);
    }
    member.connections_with(streams)
}

/// An error that several connections of a grant share, once.
fn once_each<'a>(
    failed: impl Iterator<Item = (&'a Arc<Member>, &'a ToolError)>,
) -> Vec<(&'a Arc<Member>, &'a ToolError)> {
    let mut each: Vec<(&Arc<Member>, &ToolError)> = Vec::new();
    for (member, error) in failed {
        if !each.iter().any(|(other, known)| Arc::ptr_eq(other, member) && *known == error) {
            each.push((member, error));
        }
    }
    each
}

/// What is done around the read of each of several grants.
struct OfGrants<'a> {
    readers: &'a [&'a Reader],
    arguments: &'a Arguments,
}

impl BranchHooks for OfGrants<'_> {
    fn check(&self, branch: usize) -> BoxFuture<'_, Result<(), ToolError>> {
        let (reader, Arguments { call, search, .. }) = (self.readers[branch], self.arguments);
        async move {
            match self.arguments.stream() {
                None => Ok(()),
                Some(stream) => check_filter(reader, call, &search.filter, stream, None).await,
            }
        }
        .boxed()
    }

    fn explain(&self, branch: usize, error: ToolError) -> BoxFuture<'_, ToolError> {
        let (call, stream) = (&self.arguments.call, self.arguments.stream());
        let asked = Asked { call, stream, connection: None, record: None };
        explain(self.readers[branch], asked, error).boxed()
    }
}

struct HitShape<'a> {
    /// One reader, or those of the branches of a page.
    readers: &'a [&'a Reader],
    arguments: &'a Arguments,
    bounds: Bounds,
}

impl HitShape<'_> {
    /// The bytes of the structured view and of the text that are left for hits, next to a next call with a `cursor`
    /// of that length.
    fn left(
        &self,
        body: &Map<String, Value>,
        tail: &str,
        cursors: &CursorLens,
        cursor: usize,
    ) -> (usize, usize) {
        let next = if cursor == 0 { 0 } else { cursors.call + cursor };
        let reserved = json_len(body) + next + cursor.saturating_sub(cursors.theirs) + NOTE_BYTES + 100;
        let text = tail.len() + next + NOTE_BYTES + 20;
        (self.bounds.structured.saturating_sub(reserved), self.bounds.text.saturating_sub(text))
    }
}

impl Shape for HitShape<'_> {
    type Ready = Hit;

    fn prepare(&self, body: &mut Map<String, Value>, _keep: Option<&str>) {
        envelope::prepare(body);
        envelope::keep_digits(body);
    }

    fn ready(&self, row: Row) -> Hit {
        Hit::of(self.readers[branch_of(&row).unwrap_or(0)], row, self.bounds)
    }

    fn fit(&self, body: &Map<String, Value>, hits: &[Hit]) -> usize {
        let cursors = CursorLens::of(&self.arguments.call, body);
        let tail = tail(hits, self.arguments, body, None);
        let fit = |cursor: usize| {
            let (mut structured, mut text) = self.left(body, &tail, &cursors, cursor);
            let hits = hits.iter().take_while(|hit| {
                let (size, text_size) = (hit.views.structured_len(), hit.views.text.len());
                let fits = size <= structured && text_size <= text;
                structured = structured.saturating_sub(size);
                text = text.saturating_sub(text_size);
                fits
            });
            hits.count()
        };
        let fit_all = fit(cursors.theirs);
        if fit_all == hits.len() { fit_all } else { fit(cursors.ours) }
    }

    fn room(&self, body: &Map<String, Value>, hits: &[Hit]) -> usize {
        let cursors = CursorLens::of(&self.arguments.call, body);
        let tail = tail(hits, self.arguments, body, None);
        let (structured, text) = self.left(body, &tail, &cursors, cursors.ours);
        let taken = |size: fn(&Hit) -> usize| hits.iter().map(size).sum();
        let structured = mean_fits(structured, taken(|hit| hit.views.structured_len()), hits.len());
        structured.min(mean_fits(text, taken(|hit| hit.views.text.len()), hits.len()))
    }

    fn max_cursor(&self) -> usize {
        max_cursor(&self.arguments.call, self.bounds)
    }
}

fn render(shape: &HitShape<'_>, page: Page<Hit>) -> ToolAnswer {
    let arguments = shape.arguments;
    let next = next_page(&arguments.call, page.next.as_deref());
    let note = fitted_note(&arguments.call, &page);
    let Page { body, rows: hits, .. } = page;
    let mut text = hits.iter().map(|hit| hit.views.text.as_str()).collect::<String>();
    if let Some(note) = &note {
        let _ = writeln!(text, "{note}");
    }
    text.push_str(&tail(&hits, arguments, &body, next.as_ref()));
    text.truncate(text.trim_end().len());
    call_log::note_streams(hits.iter().map(|hit| hit.stream.as_str()));
    let structured = Written::object(|members| {
        let ladder = hits.iter().filter_map(|hit| hit.views.ladder.as_ref()).collect();
        members.put_some("content_ladder", Ladder::of(ladder));
        members.put("data", &body);
        members.put_some("next", next);
        members.put_some("note", note.or_else(|| nothing_found(hits.len(), arguments)));
        members.put_list("results", hits.iter().map(|hit| &hit.views.result));
    });
    ToolAnswer { text, structured: Some(structured), is_error: false, rows: hits.len() }
}

/// A hit, written for both views.
struct Hit {
    row: Row,
    views: Views,
    stream: String,
    source: String,
}

impl Hit {
    /// A hit that takes at most about half of a result. One with a very long id or field names first loses its
    /// continuations (fetch continues), then what only repeats its id.
    fn of(reader: &Reader, row: Row, bounds: Bounds) -> Self {
        let mut draft = Draft::of(reader, &row);
        let mut views = draft.views();
        let mut steps = 0;
        while !views.are_within(bounds, 1, 2) && draft.shorten(steps, reader, bounds) {
            views = draft.views();
            steps += 1;
        }
        let (stream, source) = (draft.text_of("stream").to_owned(), std::mem::take(&mut draft.source));
        drop(draft);
        Self { row, views, stream, source }
    }
}

impl AsRef<Row> for Hit {
    fn as_ref(&self) -> &Row {
        &self.row
    }
}

/// A hit in both views.
struct Views {
    /// Its entry in `results`.
    result: Written,
    /// Its entry in the ladder.
    ladder: Option<Written>,
    text: String,
}

impl Views {
    /// The bytes that it adds to the structured view, as if it had its own ladder.
    fn structured_len(&self) -> usize {
        let around = r#"{"records":[]}"#.len();
        self.result.len() + 1 + self.ladder.as_ref().map_or(0, |ladder| ladder.len() + around)
    }

    /// Whether they take at most `parts` parts `of` a result.
    fn are_within(&self, bounds: Bounds, parts: usize, of: usize) -> bool {
        self.structured_len() <= bounds.structured * parts / of && self.text.len() <= bounds.text * parts / of
    }
}

/// What a hit is written from.
struct Draft<'a> {
    result: BTreeMap<&'static str, Part<'a>>,
    name: String,
    title: String,
    source: String,
    /// Whether the id contains connection, stream and record.
    embeds: bool,
    evidence: Vec<Evidence>,
    /// A snippet without a proven match behind it.
    snippet: Option<(String, String)>,
}

/// A member of a result.
enum Part<'a> {
    Text(Cow<'a, str>),
    Value(&'a Value),
    Snippet { field: String, text: String },
}

impl Json for Part<'_> {
    fn write_to(&self, out: &mut impl Sink) {
        match self {
            Self::Text(text) => text.write_to(out),
            Self::Value(value) => value.write_to(out),
            Self::Snippet { field, text } => write::object(out, |members| {
                members.put("field", field);
                members.put("text", text);
            }),
        }
    }
}

/// A proven match window (R4.1).
struct Evidence {
    /// The field, and the call that reads it.
    field: Field,
    excerpt: String,
}

impl<'a> Draft<'a> {
    fn views(&self) -> Views {
        let result = Written::object(|members| {
            for (name, part) in &self.result {
                members.put(name, part);
            }
        });
        Views { result, ladder: self.to_ladder().map(|record| Written::of(&record)), text: self.to_text() }
    }

    /// Takes the next step to a shorter hit, if there is one.
    fn shorten(&mut self, step: usize, reader: &Reader, bounds: Bounds) -> bool {
        match step {
            0 => self.leave_out_evidence(),
            1 => self.leave_out_parts_of_id(reader),
            2 => self.shorten_id(bounds),
            _ => return false,
        }
        true
    }

    /// The value of `key` in the result, if it is a text.
    fn text_of(&self, key: &str) -> &str {
        match self.result.get(key) {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    fn leave_out_evidence(&mut self) {
        if let Some(first) = self.evidence.drain(..).next() {
            self.snippet = Some((first.field.path, first.excerpt));
        }
        for key in ["matched_fields", "score", "scores", "retrieval_mode", "retrieval_sources"] {
            self.result.remove(key);
        }
        if let Some((field, excerpt)) = &mut self.snippet {
            if json_len(field) > 200 {
                field.clear();
            }
            self.result.insert("snippet", Part::Snippet { field: field.clone(), text: excerpt.clone() });
        }
    }

    fn leave_out_parts_of_id(&mut self, reader: &Reader) {
        self.result.insert("url", Part::Text(reader.provider().as_str().to_owned().into()));
        if self.embeds {
            for key in ["connection_id", "stream", "record_id"] {
                self.result.remove(key);
            }
        }
    }

    /// Shortens an id that takes most of a result: its beginning identifies it.
    fn shorten_id(&mut self, bounds: Bounds) {
        for key in ["id", "connection_id", "stream", "record_id"] {
            let length = self.result.get(key).map_or(0, json_len);
            // A quarter is reserved for the parts around a hit.
            let is_endless = || length > 3_200 || !self.views().are_within(bounds, 3, 4);
            if length > bounds.text / 4 && is_endless() {
                let short = format!("{}…", prefix_on_wire(self.text_of(key), 150));
                self.result.insert(key, Part::Text(short.into()));
                "its id is too long to be read".clone_into(&mut self.name);
            }
        }
    }

    fn of(reader: &Reader, hit: &'a Row) -> Self {
        let id = RecordId::of_row(hit, "").or_else(|| id_of_uri(hit));
        let handle = id.as_ref().and_then(RecordId::handle);
        let connector_key = text_of(hit, "connector_key").or_else(|| text_of(hit, "connector_id"));
        let connector_key = connector_key.filter(|key| json_len(*key) <= MAX_PART);
        let title = title::of(hit, None);
        let connection = text_of(hit, "connection_id");
        let evidence = id.as_ref().map_or_else(Vec::new, |id| evidence_of(hit, id, handle.as_deref()));
        let snippet = snippet_of(hit).filter(|_| evidence.is_empty());

        let mut name = match &id {
            // No handle can carry it, but read_record_field accepts its parts.
            Some(_) if handle.is_none() => row_text::name(hit, ""),
            _ => {
                let said = handle.as_deref().or_else(|| fallback_id(hit)).unwrap_or("");
                format!("id={}", line::token(said))
            }
        };
        let embeds = id.as_ref().is_some_and(|id| id.is_self_contained() && handle.is_some());
        if let Some(connection) = connection.filter(|_| !embeds && (id.is_none() || handle.is_some())) {
            let _ = write!(name, " connection_id={}", line::token(connection));
        }
        let label = text_of(hit, "display_name");
        let source = label.or(connection).or(connector_key).unwrap_or("").to_owned();
        let when = title::when(hit, None).map(title::When::shown).filter(|(_, time)| !title.contains(time));
        if let Some((kind, time)) = when {
            let _ = write!(name, " {kind}={}", line::token(time));
        }
        let connector_key = connector_key.filter(|key| !key.contains("://"));
        if let Some(key) = connector_key {
            let _ = write!(name, " connector_key={}", line::token(key));
        }
        if let Some(label) = label {
            let _ = write!(name, " source={}", line::quoted_cut(label, 80).text);
        }

        let mut result = BTreeMap::new();
        let mut put = |key: &'static str, part: Option<Part<'a>>| {
            if let Some(part) = part {
                result.insert(key, part);
            }
        };
        let borrowed = |text: &'a str| Part::Text(text.into());
        let owned = |text: String| Part::Text(text.into());
        put("title", Some(owned(title.clone())));
        put("url", Some(owned(url_of(reader, hit, id.as_ref()))));
        put("connection_id", connection.map(borrowed));
        put("connector_key", connector_key.map(borrowed));
        put("id", Some(handle.map_or_else(|| borrowed(fallback_id(hit).unwrap_or("")), owned)));
        if let Some(RecordId { stream, record, .. }) = id {
            put("stream", Some(owned(stream)));
            put("record_id", Some(owned(record)));
        }
        for key in [
            "display_name",
            "emitted_at",
            "authored_at",
            "sent_at",
            "matched_fields",
            "score",
            "scores",
            "retrieval_mode",
            "retrieval_sources",
        ] {
            let value = hit.get(key).filter(|value| !says_nothing_new(hit, key, value, &evidence));
            put(
                key,
                match value {
                    Some(value) if json_len(value) <= MAX_PART => Some(Part::Value(value)),
                    Some(Value::String(text)) => Some(owned(format!("{}…", prefix_on_wire(text, MAX_PART)))),
                    _ => None,
                },
            );
        }
        let shown = evidence.first().map(|first| (&first.field.path, &first.excerpt));
        let shown = shown.or_else(|| snippet.as_ref().map(|(field, excerpt)| (field, excerpt)));
        put("snippet", shown.map(|(field, text)| Part::Snippet { field: field.clone(), text: text.clone() }));
        Self { result, name, title, source, embeds, evidence, snippet }
    }

    /// The hit in the text. A page does not know the pages before it, so hits are marked, not numbered.
    fn to_text(&self) -> String {
        let mut out = String::with_capacity(LIKELY_TEXT);
        let mut mark = "- ";
        for evidence in &self.evidence {
            out.push_str(mark);
            line::push_token(&mut out, &evidence.field.path);
            out.push_str(": ");
            line::push_quoted(&mut out, &evidence.excerpt);
            out.push('\n');
            mark = "  ";
        }
        if let Some((field, excerpt)) = &self.snippet {
            out.push_str(mark);
            out.push_str("snippet");
            if !field.is_empty() {
                out.push(' ');
                line::push_token(&mut out, field);
            }
            out.push_str(": ");
            line::push_quoted(&mut out, excerpt);
            out.push('\n');
            mark = "  ";
        }
        let _ = write!(out, "{mark}{} title=", self.name);
        line::push_quoted(&mut out, &self.title);
        out.push('\n');
        for evidence in self.evidence.iter().filter(|evidence| !evidence.field.complete) {
            let _ = writeln!(out, "  more: {}", evidence.field.read);
        }
        out
    }

    fn to_ladder(&self) -> Option<Record<&Field>> {
        let fields = self.evidence.iter().map(|evidence| &evidence.field).collect::<Vec<_>>();
        (!fields.is_empty()).then(|| Record { id: self.text_of("id").to_owned(), fields })
    }
}

/// Whether a member of a hit repeats what is elsewhere: its place in the declared order, which is stated once; its
/// time of storage, next to its own time; the fields that its match windows name.
fn says_nothing_new(hit: &Map<String, Value>, key: &str, value: &Value, evidence: &[Evidence]) -> bool {
    match key {
        "score" => paging::is_place(value),
        "emitted_at" => ["authored_at", "sent_at"].iter().any(|own| text_of(hit, own).is_some()),
        "matched_fields" => {
            let fields = value.as_array().map_or(&[][..], Vec::as_slice);
            fields.iter().all(|field| evidence.iter().any(|evidence| *field == evidence.field.path))
        }
        _ => false,
    }
}

/// The match windows that the resource server proved; never one that a snippet only suggests (R4.2).
fn evidence_of(hit: &Map<String, Value>, id: &RecordId, handle: Option<&str>) -> Vec<Evidence> {
    let excerpts = hit.get("evidence_excerpts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut shown = 0;
    excerpts
        .iter()
        .take(MAX_EVIDENCE)
        .filter_map(Value::as_object)
        .filter_map(|excerpt| {
            let field = text_of(excerpt, "field_path")?;
            let preview = text_of(excerpt, "preview_text")?;
            // The first is the reason for showing the hit; further ones get less room.
            let bytes = if shown == 0 { EXCERPT_BYTES } else { EXCERPT_BYTES / 2 };
            shown += 1;
            let (text, whole) = marks::excerpt(preview, bytes);
            let complete = whole && excerpt.get("truncated").and_then(Value::as_bool) != Some(true);
            let reference = RecordRef::of(id, handle);
            let mut read = ladder::read_field(&reference, field, 0);
            if let Some(literal) = marks::first_match(preview) {
                read.arguments.insert("q".into(), json!(literal));
            }
            // The first is in the hit itself.
            let preview = if shown == 1 { marks::excerpt(&text, PREVIEW_BYTES).0 } else { text.clone() };
            let field = Field { path: field.to_owned(), preview: Some(preview), complete, read };
            Some(Evidence { field, excerpt: text })
        })
        .collect()
}

fn snippet_of(hit: &Map<String, Value>) -> Option<(String, String)> {
    let (field, text) = match hit.get("snippet")? {
        Value::String(text) => ("", text.as_str()),
        Value::Object(snippet) => (text_of(snippet, "field").unwrap_or(""), text_of(snippet, "text")?),
        _ => return None,
    };
    Some((field.to_owned(), marks::excerpt(text, EXCERPT_BYTES).0))
}

fn id_of_uri(hit: &Map<String, Value>) -> Option<RecordId> {
    let mut id = RecordId::parse(text_of(hit, "record_uri")?).ok()?;
    if id.connection.is_none() {
        id.connection = text_of(hit, "connection_id").map(str::to_owned);
    }
    Some(id)
}

/// The id of a hit that has no record handle: it is passed on unchanged, never wrapped (R3.70).
fn fallback_id(hit: &Map<String, Value>) -> Option<&str> {
    text_of(hit, "id").or_else(|| text_of(hit, "record_key")).or_else(|| text_of(hit, "url"))
}

/// A declared link of the source, otherwise the provider's own URL of the record; always absolute.
fn url_of(reader: &Reader, hit: &Map<String, Value>, id: Option<&RecordId>) -> String {
    let declared = text_of(hit, "source_url").or_else(|| text_of(hit, "url"));
    if let Some(url) = declared
        .and_then(|url| url::Url::parse(url).ok())
        .filter(|url| matches!(url.scheme(), "https" | "http"))
    {
        return url.to_string();
    }
    id.map_or_else(|| reader.provider().to_string(), |id| reader.record_url(id).to_string())
}

/// The likely reason for a first page without hits, as far as the call shows it, and the one call that is then worth
/// a try; nothing to try if one word was searched for everywhere.
fn nothing_found(hits: usize, arguments: &Arguments) -> Option<String> {
    let call = &arguments.call;
    if hits > 0 || call.has("cursor") {
        return None;
    }
    let q = arguments.search.q.as_str();
    let (cause, next) = if call.has("filter") {
        ("these words find no record that passes the filter; without it", call.with([("filter", None)]))
    } else if let Some(plain) = without_operators(q) {
        let next = call.with([("q", Some(json!(plain)))]);
        ("quotes, *, OR and field: may be taken for words; the words alone", next)
    } else if let Some(longest) = longest_of_several(q) {
        // Related facts may be spread over several records that refer to each other.
        let next = call.with([("q", Some(json!(longest)))]);
        ("no record contains all of these words; one of them", next)
    } else if call.has("streams") || call.has("connection_id") {
        let next = call.with([("streams", None), ("connection_id", None)]);
        ("no record searched contains this word as spelled; in all streams", next)
    } else {
        return Some("no record contains this word as spelled".to_owned());
    };
    Some(if json_len(&next.arguments) <= MAX_PART {
        format!("{cause}: {next}")
    } else {
        cause.split("; ").next().unwrap_or(cause).to_owned()
    })
}

/// The words of a query without what looks like operators; `None` if there are no operators.
fn without_operators(q: &str) -> Option<String> {
    let has_operator = |word: &str| matches!(word, "OR" | "AND") || word.contains(['"', '*', ':', '(', ')']);
    if !q.split_whitespace().any(has_operator) {
        return None;
    }
    let words = q.split(|c: char| c.is_whitespace() || matches!(c, '"' | '*' | ':' | '(' | ')'));
    let words = words.filter(|word| !word.is_empty() && !matches!(*word, "OR" | "AND")).collect::<Vec<_>>();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The longest of several words, which is usually the rarest.
fn longest_of_several(q: &str) -> Option<&str> {
    let words = q.split_whitespace().collect::<Vec<_>>();
    words.iter().copied().filter(|_| words.len() > 1).max_by_key(|word| word.chars().count())
}

fn tail(hits: &[Hit], arguments: &Arguments, body: &Map<String, Value>, next: Option<&Call>) -> String {
    let mut out = String::new();
    let q = line::value(&json!(arguments.search.q), 200).text;
    let more = if body.get("has_more").and_then(Value::as_bool) == Some(true) { ", more exist" } else { "" };
    let _ = writeln!(out, "{} for {q}{more}", counted(hits.len(), "hit"));
    if let Some(hint) = nothing_found(hits.len(), arguments) {
        let _ = writeln!(out, "{hint}");
    }
    if !hits.is_empty() {
        out.push_str("read one: fetch {\"id\":ID}, with the id as it stands\n");
    }
    let mut sources: BTreeMap<&str, usize> = BTreeMap::new();
    for hit in hits {
        *sources.entry(&hit.source).or_default() += 1;
    }
    if sources.len() > 1 {
        let mix =
            sources.iter().map(|(source, count)| format!("{} {count}", line::quoted_cut(source, 60).text));
        let others = sources.len().saturating_sub(MAX_SOURCES);
        let others = if others > 0 { format!(" and {others} others") } else { String::new() };
        let _ = writeln!(out, "sources: {}{others}", mix.take(MAX_SOURCES).collect::<Vec<_>>().join(", "));
    }
    meta_lines(&mut out, body);
    if let Some(next) = next {
        let _ = writeln!(out, "{}", ladder::next_line(next));
    } else if !more.is_empty() {
        out.push_str(NO_WAY_ON);
    } else if !hits.is_empty() && is_cut_off(body) {
        out.push_str(CUT_OFF);
    }
    out
}

/// Whether a provider reports that it did not look at everything that matches.
fn is_cut_off(body: &Map<String, Value>) -> bool {
    let recall = body.get("meta").and_then(|meta| meta.get("recall"));
    let recalls = recall.map_or(&[][..], |recall| match recall {
        Value::Array(several) => several.as_slice(),
        one => std::slice::from_ref(one),
    });
    recalls.iter().any(|recall| {
        recall["complete"] == false || recall["truncated_source_count"].as_u64().is_some_and(|cut| cut > 0)
    })
}
