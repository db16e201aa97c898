//! `search`: records by text, the excerpt that matched first.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::{
    CursorLens, NOTE_BYTES, advice, bad_name, counted, fitted_note, is_missing, json_len, max_cursor,
    meta_lines, next_page, text_of,
};
use crate::mcp::id::{RecordId, check_segment};
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::paging::{
    self, Beside, Branch, Listing, Missing, Page, Row, Several, Shape, Walks, branch_of,
};
use crate::mcp::reading::schema::unsupported;
use crate::mcp::reading::source::Source;
use crate::mcp::render::ladder::{self, Call, Field, Record, RecordRef};
use crate::mcp::render::{Bounds, envelope, line, marks, prefix_on_wire, rows as row_text, title};
use crate::mcp::tool_error::ToolError;
use crate::mcp::tools::arguments::Arguments;
use crate::mcp::tools::core::Core;
use crate::provider::rs::Read;

/// The parameter that names a stream to search.
const STREAMS: &str = "streams[]";

/// Most bytes of one value that a hit is shown with beside its excerpt.
const MAX_PART: usize = 400;

/// Most match windows of one hit, and most sources of a page that are named.
const MAX_EVIDENCE: usize = 4;
const MAX_SOURCES: usize = 10;

/// Longest excerpt of one hit, in bytes; what is cut continues by `read_record_field`.
const EXCERPT_BYTES: usize = 240;

/// Answers a call.
pub async fn run(core: &Core, arguments: Arguments) -> Result<ToolAnswer, ToolError> {
    let listing = listing(&arguments)?;
    let streams = arguments.texts("streams").unwrap_or_default();
    // The resource server takes a filter in one stream alone.
    let stream = if let [only] = streams.as_slice() { *only } else { "" };
    let connection = listing.connection.as_deref();
    if !stream.is_empty() {
        advice::check_filter(core, &arguments, stream, connection).await?;
    }
    let shape = HitShape {
        sources: &[core.source()],
        is_over_grants: false,
        arguments: &arguments,
        bounds: core.bounds(),
    };
    // Over the connections of one grant the resource server merges and pages itself.
    let page = match paging::read(core.source(), &listing, &shape, || async { Several::default() }).await {
        Err(error) => return Err(explain(core, error, &arguments, stream, connection).await),
        Ok(page) => page,
    };
    Ok(render(&shape, page))
}

/// Answers a call over several grants (R6.2): `branches` says which, with the streams that each is asked for
/// (none for all), and `warn` what to say of those that are missing.
///
/// # Errors
/// As [`run`]; where every grant failed, the inner one: each with its own error.
pub async fn run_over_grants(
    branches: &[(&Core, Vec<&str>)],
    arguments: &Arguments,
    bounds: Bounds,
    deadline: Duration,
    walks: &Walks,
    warn: &(dyn Fn(&[Missing]) -> Vec<Value> + Sync),
) -> Result<Result<ToolAnswer, Vec<Missing>>, ToolError> {
    let whole = listing(arguments)?;
    let sources = branches.iter().map(|(core, _)| core.source()).collect::<Vec<_>>();
    let parts = branches.iter().map(|(core, streams)| {
        let mut listing = whole.clone();
        listing.cursor = None;
        listing.read.query.retain(|(name, _)| name != STREAMS);
        listing.read.query.extend(streams.iter().map(|stream| (STREAMS.to_owned(), (*stream).to_owned())));
        let source = core.source();
        let grant = source.grant_id().unwrap_or("");
        let same = sources.iter().filter(|other| other.provider() == source.provider());
        Branch {
            key: paging::branch_key(source.provider().as_str(), grant),
            source,
            listing,
            has_rival: same.count() > 1,
        }
    });
    let parts = parts.collect::<Vec<_>>();
    let shape = HitShape { sources: &sources, is_over_grants: true, arguments, bounds };
    let beside = OfGrants { branches, arguments };
    let page = paging::read_branches(&parts, &whole, &shape, &beside, deadline, walks, warn).await;
    let page = page.map_err(|error| advice::restart(error, arguments))?;
    Ok(page.map(|page| render(&shape, page)))
}

/// What goes on beside the read of each of several grants.
struct OfGrants<'a> {
    branches: &'a [(&'a Core, Vec<&'a str>)],
    arguments: &'a Arguments,
}

impl OfGrants<'_> {
    /// The one stream that is asked for, which a filter needs.
    fn stream(&self) -> &str {
        let streams = self.arguments.texts("streams").unwrap_or_default();
        if let [only] = streams.as_slice() { only } else { "" }
    }
}

impl Beside for OfGrants<'_> {
    fn check(&self, branch: usize) -> BoxFuture<'_, Result<(), ToolError>> {
        let core = self.branches[branch].0;
        async move {
            match self.stream() {
                "" => Ok(()),
                stream => advice::check_filter(core, self.arguments, stream, None).await,
            }
        }
        .boxed()
    }

    fn explain(&self, branch: usize, error: ToolError) -> BoxFuture<'_, ToolError> {
        let core = self.branches[branch].0;
        async move { explain(core, error, self.arguments, self.stream(), None).await }.boxed()
    }
}

/// What a refusal of the resource server means; a provider of the Core alone has no search.
async fn explain(
    core: &Core,
    error: ToolError,
    arguments: &Arguments,
    stream: &str,
    connection: Option<&str>,
) -> ToolError {
    if is_missing(&error) && core.source().is_core().await {
        let instead = "page through query_records instead; schema {} lists the streams";
        return unsupported("search", instead).offer(Some(Call::new("schema", json!({}))));
    }
    advice::explain(core, error, arguments, stream, connection).await
}

fn listing(arguments: &Arguments) -> Result<Listing, ToolError> {
    let q = arguments.required_text("q", "WORDS")?;
    let mode = arguments.text("mode");
    let mut read = match mode {
        None | Some("lexical") => Read::of(["search"]),
        Some(mode) => Read::of(["search", mode]),
    };
    read.push("q", q);
    for stream in arguments.texts("streams").unwrap_or_default() {
        check_segment("stream", stream).map_err(|error| bad_name("streams", &error))?;
        read.push(STREAMS, stream);
    }
    read.query.extend(arguments.filter());
    Ok(Listing {
        read,
        limit: arguments.integer("limit"),
        cursor: arguments.text("cursor").map(str::to_owned),
        connection: arguments.text("connection_id").map(str::to_owned),
        has_cursors: mode != Some("hybrid"),
    })
}

struct HitShape<'a> {
    /// One, or those of the branches of a page.
    sources: &'a [&'a Source],
    is_over_grants: bool,
    arguments: &'a Arguments,
    bounds: Bounds,
}

impl HitShape<'_> {
    fn hits(&self, rows: &[Row]) -> Vec<Hit> {
        let source = |row: &Row| self.sources[branch_of(row).unwrap_or(0)];
        rows.iter().map(|row| Hit::of(source(row), row, self.bounds)).collect()
    }
}

impl Shape for HitShape<'_> {
    fn prepare(&self, body: &mut Map<String, Value>, _keep: Option<&str>) {
        envelope::prepare(body);
    }

    fn fit(&self, body: &Map<String, Value>, rows: &[Row]) -> usize {
        let cursors = CursorLens::of(self.arguments, body);
        let hits = self.hits(rows);
        let sizes = hits.iter().map(|hit| (hit.structured_len(), hit.to_text().len()));
        let sizes = sizes.collect::<Vec<_>>();
        let tail = tail(&hits, self.arguments, body, None);
        let fit = |cursor: usize| {
            let next = if cursor == 0 { 0 } else { cursors.call + cursor };
            let beside = json_len(body) + next + cursor.saturating_sub(cursors.theirs) + NOTE_BYTES + 100;
            let mut room = self.bounds.structured.saturating_sub(beside);
            let mut text_room = self.bounds.text.saturating_sub(tail.len() + next + NOTE_BYTES + 20);
            let hits = sizes.iter().take_while(|(size, text)| {
                let fits = *size <= room && *text <= text_room;
                room = room.saturating_sub(*size);
                text_room = text_room.saturating_sub(*text);
                fits
            });
            hits.count()
        };
        let fit_all = fit(cursors.theirs);
        if fit_all == rows.len() { fit_all } else { fit(cursors.ours) }
    }

    fn max_cursor(&self) -> usize {
        if self.is_over_grants {
            // It has to come back beside the other arguments; a longer one is kept here under a short name.
            let beside = json_len(&self.arguments.with([("cursor", None)])) + 40;
            return (self.bounds.structured.min(self.bounds.text) / 4)
                .saturating_sub(beside)
                .clamp(100, 1_000);
        }
        max_cursor(self.arguments, self.bounds)
    }
}

fn render(shape: &HitShape<'_>, page: Page) -> ToolAnswer {
    let arguments = shape.arguments;
    let hits = shape.hits(&page.rows);
    let next = next_page(arguments, page.next.as_deref());
    let note = fitted_note(arguments, &page);
    let ladder = hits.iter().filter_map(Hit::to_ladder).collect::<Vec<_>>();
    let mut text = hits.iter().map(Hit::to_text).collect::<String>();
    if let Some(note) = &note {
        let _ = writeln!(text, "{note}");
    }
    text.push_str(&tail(&hits, arguments, &page.body, next.as_ref()));
    text.truncate(text.trim_end().len());
    let hint = nothing_found(hits.len(), arguments);
    let results = hits.into_iter().map(|hit| Value::Object(hit.result)).collect::<Vec<_>>();
    let mut structured = Map::new();
    structured.insert("results".into(), results.into());
    structured.insert("data".into(), Value::Object(page.body));
    if let Some(note) = note.or_else(|| hint.map(str::to_owned)) {
        structured.insert("note".into(), json!(note));
    }
    if let Some(next) = next {
        structured.insert("next".into(), next.to_json());
    }
    if let Some(ladder) = ladder::to_json(&ladder) {
        structured.insert("content_ladder".into(), ladder);
    }
    ToolAnswer { text, structured: Some(structured), is_error: false }
}

/// A hit, ready for both views.
struct Hit {
    result: Map<String, Value>,
    name: String,
    title: String,
    source: String,
    /// Whether the id says connection, stream and record.
    embeds: bool,
    evidence: Vec<Evidence>,
    /// A snippet that no proven match stands behind.
    snippet: Option<(String, String)>,
}

/// A proven match window (R4.1).
struct Evidence {
    field: String,
    excerpt: String,
    complete: bool,
    read: Call,
}

impl Hit {
    /// A hit that takes at most about half of a result: one whose id or field names are endless goes
    /// without its continuations (fetch reads on), then without what its id says again.
    fn of(source: &Source, hit: &Map<String, Value>, bounds: Bounds) -> Self {
        let mut ready = Self::whole(source, hit);
        if ready.is_within(bounds) {
            return ready;
        }
        if let Some(first) = ready.evidence.drain(..).next() {
            ready.snippet = Some((first.field, first.excerpt));
        }
        for key in ["matched_fields", "score", "scores", "retrieval_mode", "retrieval_sources"] {
            ready.result.remove(key);
        }
        if let Some((field, excerpt)) = &mut ready.snippet {
            if json_len(field) > 200 {
                field.clear();
            }
            ready.result.insert("snippet".into(), json!({"field": field, "text": excerpt}));
        }
        if !ready.is_within(bounds) {
            ready.result.insert("url".into(), json!(source.provider().as_str()));
            if ready.embeds {
                ready
                    .result
                    .retain(|key, _| !matches!(key.as_str(), "connection_id" | "stream" | "record_id"));
            }
        }
        if !ready.is_within(bounds) {
            // An id that alone takes most of a result: its beginning says which one it is.
            for key in ["id", "connection_id", "stream", "record_id"] {
                let endless =
                    |value: &&mut Value| json_len(*value) > bounds.text / 4 && json_len(*value) > 3_200;
                if let Some(value) = ready.result.get_mut(key).filter(endless) {
                    *value = json!(format!("{}…", prefix_on_wire(value.as_str().unwrap_or(""), 150)));
                    "its id is too long to be read".clone_into(&mut ready.name);
                }
            }
        }
        ready
    }

    fn is_within(&self, bounds: Bounds) -> bool {
        self.structured_len() <= bounds.structured / 2 && self.to_text().len() <= bounds.text / 2
    }

    fn whole(source: &Source, hit: &Map<String, Value>) -> Self {
        let id = row_text::record_id(hit, "").or_else(|| id_of_uri(hit));
        let handle = id.as_ref().and_then(RecordId::handle);
        let connector_key = text_of(hit, "connector_key").or_else(|| text_of(hit, "connector_id"));
        let connector_key = connector_key.filter(|key| json_len(key) <= MAX_PART);
        let title = title::of(hit, None);
        let connection = text_of(hit, "connection_id");
        let evidence = id.as_ref().map_or_else(Vec::new, |id| evidence_of(hit, id, handle.as_deref()));
        let snippet = snippet_of(hit).filter(|_| evidence.is_empty());

        let mut result = Map::new();
        result.insert("id".into(), json!(handle.clone().or_else(|| fallback_id(hit)).unwrap_or_default()));
        result.insert("title".into(), json!(title));
        result.insert("url".into(), json!(url_of(source, hit, id.as_ref())));
        if let Some(connection) = connection {
            result.insert("connection_id".into(), json!(connection));
        }
        if let Some(key) = connector_key.filter(|key| !key.contains("://")) {
            result.insert("connector_key".into(), json!(key));
        }
        if let Some(id) = &id {
            result.insert("stream".into(), json!(id.stream));
            result.insert("record_id".into(), json!(id.record));
        }
        for key in [
            "display_name",
            "emitted_at",
            "sent_at",
            "matched_fields",
            "score",
            "scores",
            "retrieval_mode",
            "retrieval_sources",
        ] {
            match hit.get(key) {
                Some(value) if json_len(value) <= MAX_PART => {
                    result.insert(key.into(), value.clone());
                }
                Some(Value::String(text)) => {
                    result.insert(key.into(), json!(format!("{}…", prefix_on_wire(text, MAX_PART))));
                }
                _ => {}
            }
        }
        if let Some(first) = evidence.first() {
            result.insert("snippet".into(), json!({"field": first.field, "text": first.excerpt}));
        } else if let Some((field, excerpt)) = &snippet {
            result.insert("snippet".into(), json!({"field": field, "text": excerpt}));
        }

        let mut name = match &id {
            // No handle can carry it, but read_record_field takes its parts.
            Some(_) if handle.is_none() => row_text::name(hit, ""),
            _ => format!("id={}", line::token(result["id"].as_str().unwrap_or(""))),
        };
        let embeds = id.as_ref().is_some_and(|id| id.is_self_contained() && handle.is_some());
        if let Some(connection) = connection.filter(|_| !embeds && (id.is_none() || handle.is_some())) {
            let _ = write!(name, " connection_id={}", line::token(connection));
        }
        let label = text_of(hit, "display_name");
        let source_label = label.or(connection).or(connector_key).unwrap_or("").to_owned();
        let mut labels = String::new();
        if let Some(key) = connector_key.filter(|key| !key.contains("://")) {
            let _ = write!(labels, " connector_key={}", line::token(key));
        }
        if let Some(label) = label {
            let _ = write!(labels, " source={}", line::quoted_cut(label, 80).text);
        }
        name.push_str(&labels);
        Self { result, name, title, source: source_label, embeds, evidence, snippet }
    }

    /// A page knows nothing of those before it: hits are marked, not numbered.
    fn to_text(&self) -> String {
        let mut out = String::new();
        let mut mark = "- ";
        for evidence in &self.evidence {
            let (field, excerpt) = (line::token(&evidence.field), line::quoted(&evidence.excerpt));
            let _ = writeln!(out, "{mark}{field}: {excerpt}");
            mark = "  ";
        }
        if let Some((field, excerpt)) = &self.snippet {
            let field = if field.is_empty() { String::new() } else { format!(" {}", line::token(field)) };
            let _ = writeln!(out, "{mark}snippet{field}: {}", line::quoted(excerpt));
            mark = "  ";
        }
        let _ = writeln!(out, "{mark}{} title={}", self.name, line::quoted(&self.title));
        for evidence in self.evidence.iter().filter(|evidence| !evidence.complete) {
            let _ = writeln!(out, "  more: {}", evidence.read.to_text());
        }
        out
    }

    /// What the hit adds to the structured view, in bytes.
    fn structured_len(&self) -> usize {
        json_len(&self.result)
            + 1
            + self.to_ladder().map_or(0, |record| json_len(&ladder::to_json(&[record])))
    }

    fn to_ladder(&self) -> Option<Record> {
        if self.evidence.is_empty() {
            return None;
        }
        let fields = self.evidence.iter().map(|evidence| Field {
            path: evidence.field.clone(),
            preview: Some(evidence.excerpt.clone()),
            complete: evidence.complete,
            read: evidence.read.clone(),
        });
        Some(Record { id: self.result["id"].as_str().unwrap_or("").to_owned(), fields: fields.collect() })
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
            // The first is what the hit is shown for; more of them get less room.
            let bytes = if shown == 0 { EXCERPT_BYTES } else { EXCERPT_BYTES / 2 };
            shown += 1;
            let (text, whole) = marks::excerpt(preview, bytes);
            let complete = whole && excerpt.get("truncated").and_then(Value::as_bool) != Some(true);
            let reference = RecordRef::of(id, handle);
            let mut read = ladder::read_field(&reference, field, 0);
            if let Some(literal) = marks::first_match(preview) {
                read.arguments.insert("q".into(), json!(literal));
            }
            Some(Evidence { field: field.to_owned(), excerpt: text, complete, read })
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

/// An id that is no record handle is passed on as it is, never wrapped (R3.70).
fn fallback_id(hit: &Map<String, Value>) -> Option<String> {
    text_of(hit, "id")
        .or_else(|| text_of(hit, "record_key"))
        .or_else(|| text_of(hit, "url"))
        .map(str::to_owned)
}

/// A declared link of the source, else the provider's own URL of the record; always absolute.
fn url_of(source: &Source, hit: &Map<String, Value>, id: Option<&RecordId>) -> String {
    let declared = text_of(hit, "source_url").or_else(|| text_of(hit, "url"));
    if let Some(url) = declared
        .and_then(|url| url::Url::parse(url).ok())
        .filter(|url| matches!(url.scheme(), "https" | "http"))
    {
        return url.to_string();
    }
    record_url(source, id)
}

/// The provider's own URL of a record.
pub fn record_url(source: &Source, id: Option<&RecordId>) -> String {
    let Some(id) = id else { return source.provider().to_string() };
    let read = Read::of(["streams", &id.stream, "records", &id.record]);
    let mut url = source.rs().url_of(&read);
    if let Some(connection) = &id.connection {
        url.query_pairs_mut().append_pair("connection_id", connection);
    }
    url.to_string()
}

/// What a first page without hits may be due to.
fn nothing_found(hits: usize, arguments: &Arguments) -> Option<&'static str> {
    let q = arguments.given().get("q")?.as_str()?;
    let has_operator =
        q.contains(['"', '*', ':', '(']) || q.split_whitespace().any(|word| word == "OR" || word == "AND");
    match q.split_whitespace().count() {
        _ if hits > 0 || arguments.has("cursor") => None,
        _ if arguments.has("filter") => {
            Some("try it without the filter too: a filter takes whole values, not a part")
        }
        _ if has_operator => {
            Some("*, OR and field: may be taken for words, quotes for a phrase: try the words alone")
        }
        0 | 1 => Some("a word is looked for as it is spelled: try another form of it"),
        _ => Some("a record may have to hold every word as it is spelled: try fewer, or one at a time"),
    }
}

fn tail(hits: &[Hit], arguments: &Arguments, body: &Map<String, Value>, next: Option<&Call>) -> String {
    let mut out = String::new();
    let q = arguments.given().get("q").map_or_else(String::new, |q| line::value(q, 200).text);
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
    }
    out
}
