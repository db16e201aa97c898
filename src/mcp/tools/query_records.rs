//! `query_records`: a page of one stream's records.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{check_expand, json_len, list_parameter, meta_lines, next_page, rows, stream_argument, text_of};
use crate::mcp::ToolAnswer;
use crate::mcp::arguments::Arguments;
use crate::mcp::catalog::{StreamFacts, facts_for};
use crate::mcp::core::Core;
use crate::mcp::evidence::ladder::{self, Call, Record, RecordRef};
use crate::mcp::evidence::{Bounds, cut, envelope, line, rows as row_text};
use crate::mcp::tool_error::ToolError;
use crate::provider::rs::Read;

/// Room kept in a bound for what follows the rows: next call, counts, warnings.
const TAIL_BYTES: usize = 1_600;

/// The line below rows that are not whole (R4.3).
const HOW_TO_READ_ON: &str = "values ending in … and fields not shown: read_record_field \
    {\"id\":ID,\"field_path\":FIELD} reads a text on, fetch {\"id\":ID} the record\n";

/// Answers a call.
pub async fn run(core: &Core, arguments: Arguments) -> Result<ToolAnswer, ToolError> {
    let query = Query::of(&arguments)?;
    check_expand(core, &arguments, &query.stream, query.connection.as_deref()).await?;

    let first = query.read(query.limit);
    let (facts, envelope) = tokio::join!(
        core.source().facts(&query.stream, query.connection.as_deref()),
        core.source().get(&first)
    );
    let mut body = envelope?.body;
    let mut asked = query.limit;
    let mut page = Page::of(&arguments, &query, body, asked, &facts, core.bounds());
    // The resource server is asked again for as many rows as fit, so that its own cursor continues there.
    while let Some(fewer) = page.rows_that_fit() {
        if asked.is_some_and(|asked| asked <= fewer) {
            // It ignores the limit.
            break;
        }
        asked = Some(fewer);
        body = core.source().get(&query.read(asked)).await?.body;
        page = Page::of(&arguments, &query, body, asked, &facts, core.bounds());
    }
    Ok(page.answer())
}

/// The arguments, checked.
struct Query {
    stream: String,
    connection: Option<String>,
    limit: Option<u64>,
    fields: Vec<String>,
    parameters: Read,
}

impl Query {
    fn of(arguments: &Arguments) -> Result<Self, ToolError> {
        let stream = stream_argument(arguments)?;
        let connection = arguments.text("connection_id")?.map(str::to_owned);
        let limit = arguments.integer("limit", 1, 100)?;
        let fields = arguments.texts("fields")?.unwrap_or_default().into_iter().map(str::to_owned).collect();
        if arguments.has("cursor") && arguments.has("changes_since") {
            return Err(ToolError::new(
                "conflicting_arguments",
                "cursor continues a page and changes_since starts one: both together would repeat the first page",
                crate::mcp::arguments::call("query_records", &arguments.with([("changes_since", None)])),
            )
            .with("param", "changes_since"));
        }
        let mut parameters = Read::of(["streams", &stream, "records"])
            .with_some("cursor", arguments.text("cursor")?)
            .with_some("order", arguments.choice("order", &["asc", "desc"])?)
            .with_some("sort", arguments.text("sort")?)
            .with_some("count", arguments.choice("count", &["none", "estimated", "exact"])?);
        parameters.query.extend(arguments.filter()?);
        list_parameter(&mut parameters, arguments, "fields")?;
        parameters = parameters.with_some("view", arguments.text("view")?);
        list_parameter(&mut parameters, arguments, "expand")?;
        parameters.query.extend(arguments.expand_limit()?);
        parameters = parameters
            .with_some("changes_since", arguments.text("changes_since")?)
            .with_some("connection_id", connection.as_deref());
        Ok(Self { stream, connection, limit, fields, parameters })
    }

    fn read(&self, limit: Option<u64>) -> Read {
        let mut read = self.parameters.clone();
        if let Some(limit) = limit {
            read.query.insert(0, ("limit".into(), limit.to_string()));
        }
        read
    }
}

/// A page, rendered in both views.
struct Page {
    text: String,
    structured: Map<String, Value>,
    rows: usize,
    fit: usize,
}

impl Page {
    fn of(
        arguments: &Arguments,
        query: &Query,
        mut body: Map<String, Value>,
        asked: Option<u64>,
        facts: &[StreamFacts],
        bounds: Bounds,
    ) -> Self {
        envelope::prepare(&mut body);
        if let Some(Value::Array(records)) = body.get_mut("data") {
            for record in records.iter_mut().filter_map(Value::as_object_mut) {
                let facts = facts_for(facts, text_of(record, "connection_id"));
                if !query.fields.is_empty() {
                    let fields = query.fields.iter().map(String::as_str).collect::<Vec<_>>();
                    envelope::project(record, &fields, facts.map_or(&[], |facts| &facts.primary_key));
                }
            }
        }
        let sizes = rows(&body).iter().map(|record| json_len(record) + 1).collect::<Vec<_>>();
        let fixed = json_len(&body) - sizes.iter().sum::<usize>();
        let budget = bounds.structured.saturating_sub(fixed + TAIL_BYTES);
        let mut used = 0;
        let fit = sizes
            .iter()
            .take_while(|size| {
                used += **size;
                used <= budget
            })
            .count();

        let mut ladder = Vec::new();
        let rows_count = sizes.len();
        if rows_count == 1
            && fit == 0
            && let Some(record) = first_record(&mut body)
        {
            ladder.extend(cut_record(record, query, budget));
        }
        let next = next_page(arguments, &body, asked);
        let text = text(query, &body, facts, next.as_ref(), &ladder, bounds.text);
        let mut structured = Map::from_iter([("data".to_owned(), Value::Object(body))]);
        if let Some(next) = &next {
            structured.insert("next".into(), next.to_json());
        }
        if let Some(ladder) = ladder::to_json(&ladder) {
            structured.insert("content_ladder".into(), ladder);
        }
        Self { text, structured, rows: rows_count, fit }
    }

    /// How many rows to ask for instead, where not all of them fit.
    fn rows_that_fit(&self) -> Option<u64> {
        (self.fit < self.rows && self.rows > 1).then(|| self.fit.max(1) as u64)
    }

    fn answer(self) -> ToolAnswer {
        ToolAnswer { text: self.text, structured: Some(self.structured), is_error: false, meta: None }
    }
}

fn first_record(body: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    body.get_mut("data")?.as_array_mut()?.first_mut()?.as_object_mut()
}

/// Cuts the one record of a page that alone exceeds the bound.
fn cut_record(record: &mut Map<String, Value>, query: &Query, budget: usize) -> Option<Record> {
    let id = row_text::record_id(record, &query.stream)?;
    let handle = id.handle();
    let connection = id.connection.clone().unwrap_or_default();
    let reference = match &handle {
        Some(handle) => RecordRef::Handle(handle),
        None => RecordRef::Parts(&connection, &id.stream, &id.record),
    };
    let envelope_len = json_len(record) - record.get("data").map_or(0, json_len);
    let whole = |field: &str| {
        Call::new("fetch", json!({"id": handle.clone().unwrap_or_default(), "fields": [field]}))
    };
    let data = record.get_mut("data")?.as_object_mut()?;
    let fields = cut::to_fit(data, budget.saturating_sub(envelope_len), reference, &whole);
    Some(Record { id: handle.clone().unwrap_or_else(|| id.record.clone()), fields })
}

fn text(
    query: &Query,
    body: &Map<String, Value>,
    facts: &[StreamFacts],
    next: Option<&Call>,
    ladder: &[Record],
    max_bytes: usize,
) -> String {
    let records = rows(body);
    let mut tail = String::new();
    let more = if next.is_some() { ", more follow" } else { "" };
    let _ = writeln!(tail, "{} records of {}{more}", records.len(), line::token(&query.stream));
    meta_lines(&mut tail, body);
    if let Some(next) = next {
        let _ = writeln!(tail, "{}", ladder::next_line(next));
    } else if body.get("has_more").and_then(Value::as_bool) == Some(true) {
        tail.push_str(
            "more records exist, but the provider gave no cursor: narrow the call (connection_id, filter)\n",
        );
    }
    if let Some(bookmark) = text_of(body, "next_changes_since") {
        let keep = if next.is_some() { " (keep only the one of the last page)" } else { "" };
        let _ = writeln!(tail, "next_changes_since={}{keep}", line::quoted(bookmark));
    }
    for field in ladder.iter().flat_map(|record| &record.fields) {
        let _ = writeln!(tail, "{} continues: {}", line::token(&field.path), field.read.to_text());
    }
    let room = max_bytes.saturating_sub(tail.len() + HOW_TO_READ_ON.len());
    let shared = match facts {
        [only] => Some(only),
        _ => None,
    };
    let rendered = row_text::render(&records, &query.stream, shared.or_else(|| facts.first()), room);
    let mut text = rendered.lines;
    if rendered.is_cut {
        text.push_str(HOW_TO_READ_ON);
    }
    text.push_str(&tail);
    text.truncate(text.trim_end().len());
    text
}
