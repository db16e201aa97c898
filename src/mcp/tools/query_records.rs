//! `query_records`: a page of one stream's records.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::answer_parts::{
    CursorLens, NOTE_BYTES, counted, fitted_note, max_cursor, meta_lines, next_page, text_of,
};
use super::arguments::Given;
use super::checks::{check_expand, check_filter};
use super::context::Context;
use super::spelling::Empty;
use crate::json::write::Written;
use crate::mcp::call::Call;
use crate::mcp::id::RecordId;
use crate::mcp::line;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::reading::catalog::{StreamFacts, facts_for};
use crate::mcp::reading::envelope;
use crate::mcp::reading::filter::{Direction, Sort};
use crate::mcp::reading::paging::{self, Cursor, Listing, Page, Several, Shape};
use crate::mcp::reading::reader::Reader;
use crate::mcp::reading::request::{List, Records};
use crate::mcp::reading::rows::Row;
use crate::mcp::render::ladder::{self, Field, Ladder, RecordRef};
use crate::mcp::render::{cut, rows as row_text};
use crate::mcp::size::{Bounds, json_len, mean_fits, prefix_on_wire};
use crate::mcp::tool_error::ToolError;
use crate::text;

/// The line below rows that are not complete (R4.3).
const HOW_TO_READ_ON: &str = "values ending in … and fields not shown: read_record_field \
    {\"id\":ID,\"field_path\":FIELD} continues a text, fetch {\"id\":ID} reads the record\n";

/// The line below rows with blobs (R4.6).
const HOW_TO_READ_BLOBS: &str =
    "blob_ref: no tool returns its bytes; resources/read pdpp://blob/BLOB_ID does\n";

/// The arguments of a call.
pub struct Arguments {
    /// The call as given.
    pub call: Call,
    /// Which records.
    pub records: Records,
    /// The maximum number of rows.
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
    /// Returns an error for arguments that contradict each other.
    pub fn parse(call: Call) -> Result<Self, ToolError> {
        let given = Given(&call);
        let stream = given.stream()?;
        if call.has("cursor") && call.has("changes_since") {
            return Err(ToolError::new(
                "conflicting_arguments",
                "cursor continues a page and changes_since starts one: both together would repeat the first page",
                call.with([("changes_since", None)]),
            )
            .with("param", "changes_since"));
        }
        if let Some(name) = ["sort", "order"].into_iter().find(|name| call.has(name))
            && call.has("changes_since")
        {
            return Err(ToolError::new(
                "conflicting_arguments",
                format!("changes come in the provider's own order: {name} would be ignored"),
                format!("leave {name} out, or changes_since for records in order"),
            )
            .with("param", name));
        }
        let records = Records {
            stream,
            order: call.text("order").and_then(Direction::from_name),
            sort: call.text("sort").map(Sort::from_text),
            count: given.text("count"),
            filter: given.filter()?,
            fields: given.texts("fields"),
            view: given.text("view"),
            expand: given.expansions()?,
            changes_since: given.text("changes_since"),
        };
        let (limit, connection) = (given.integer("limit"), given.text("connection_id"));
        let cursor = call.text("cursor").map(Cursor::from_text);
        Ok(Self { call, records, limit, cursor, connection })
    }

    /// The provider's order of the stream, for merging connections: as requested, otherwise by its cursor field.
    fn order(&self, facts: &[StreamFacts]) -> Option<Sort> {
        if self.records.changes_since.is_some() {
            return None;
        }
        if let Some(sort) = &self.records.sort {
            return Some(sort.clone());
        }
        let field = facts.iter().find_map(|facts| facts.cursor_field.clone())?;
        Some(Sort { field, is_descending: self.records.order != Some(Direction::Ascending) })
    }
}

/// Answers a call.
///
/// # Errors
/// Returns what the schema shows to be wrong, or the provider's refusal, not explained yet.
pub async fn run(context: Context<'_>, arguments: &Arguments) -> Result<ToolAnswer, ToolError> {
    let Context { reader, bounds } = context;
    let Arguments { call, records, connection, .. } = arguments;
    let (stream, connection) = (records.stream.as_str(), connection.as_deref());
    check_expand(reader, call, &records.expand, stream, connection).await?;
    check_filter(reader, call, &records.filter, stream, connection).await?;

    let shape = RecordShape { reader, arguments, facts: OnceLock::new(), bounds };
    let listing = Listing {
        list: List::Records(records.clone()),
        limit: arguments.limit,
        cursor: arguments.cursor.clone(),
        connection: arguments.connection.clone(),
    };
    let several = || async {
        let facts = reader.facts(stream, None).await;
        let connections = facts.iter().flat_map(|facts| &facts.connections);
        Several {
            connections: connections.map(|(id, _)| id.clone()).collect(),
            order: arguments.order(&facts),
        }
    };
    let (facts, page) =
        tokio::join!(reader.facts(stream, connection), paging::read(reader, &listing, &shape, several));
    let mut page = page?;
    if page.rows.is_empty() && arguments.cursor.is_none() && records.changes_since.is_none() {
        let empty = Empty { stream, connection, filter: &records.filter };
        empty.warn(reader, &facts, &mut page.body).await;
    }
    Ok(render(arguments, page, &facts, bounds))
}

/// A record, with what is computed once for both views.
struct Record {
    row: Row,
    /// The handle for the structured view, whose records are as the resource server sent them. A reader could
    /// not build it if an id must be encoded, or if the connection cannot be part of it.
    handle: Option<String>,
    /// Its name in the text.
    name: String,
    /// The row in the structured view.
    json: Written,
}

impl Record {
    fn of(row: Row, stream: &str) -> Self {
        let id = RecordId::of_row(&row, stream);
        let handle = id.as_ref().and_then(RecordId::handle);
        let name = row_text::name_of(id.as_ref(), handle.as_deref());
        Self { json: Written::of(&row), row, handle, name }
    }

    /// Its handle in the list of handles.
    fn id(&self) -> &str {
        self.handle.as_deref().unwrap_or_default()
    }
}

impl AsRef<Row> for Record {
    fn as_ref(&self) -> &Row {
        &self.row
    }
}

/// Whether the structured view lists the handles of these rows.
fn has_ids(rows: &[Record]) -> bool {
    rows.iter().any(|row| row.handle.is_some())
}

struct RecordShape<'a> {
    reader: &'a Reader,
    arguments: &'a Arguments,
    /// The fields that identify a record, if other fields are removed (R3.13).
    facts: OnceLock<Arc<Vec<StreamFacts>>>,
    bounds: Bounds,
}

impl Shape for RecordShape<'_> {
    type Ready = Record;

    fn learn(&self) -> BoxFuture<'_, ()> {
        let Arguments { records, connection, .. } = self.arguments;
        async move {
            if !records.fields.is_empty() && self.facts.get().is_none() {
                let facts = self.reader.facts(&records.stream, connection.as_deref()).await;
                self.facts.get_or_init(|| facts);
            }
        }
        .boxed()
    }

    fn prepare(&self, body: &mut Map<String, Value>, keep: Option<&str>) {
        envelope::prepare(body);
        envelope::keep_digits(body);
        let fields = &self.arguments.records.fields;
        if fields.is_empty() {
            return;
        }
        let fields = fields.iter().map(String::as_str).chain(keep).collect::<Vec<_>>();
        let facts = self.facts.get().into_iter().flat_map(|facts| facts.iter());
        let identity = facts.flat_map(|facts| facts.primary_key.clone()).collect::<Vec<_>>();
        if let Some(Value::Array(records)) = body.get_mut("data") {
            for record in records.iter_mut().filter_map(Value::as_object_mut) {
                envelope::project(record, &fields, &identity);
            }
        }
    }

    fn ready(&self, row: Row) -> Record {
        Record::of(row, &self.arguments.records.stream)
    }

    fn fit(&self, body: &Map<String, Value>, rows: &[Record]) -> usize {
        let cursors = CursorLens::of(&self.arguments.call, body);
        let sizes = sizes(rows);
        let fit = |cursor: usize| {
            let next = if cursor == 0 { 0 } else { cursors.call + cursor };
            let mut left = budget(body, next + cursor.saturating_sub(cursors.theirs), self.bounds);
            let rows = sizes.iter().take_while(|row| {
                let fits = row.structured <= left.structured && row.text <= left.text;
                left.structured = left.structured.saturating_sub(row.structured);
                left.text = left.text.saturating_sub(row.text);
                fits
            });
            rows.count()
        };
        let fit_all = fit(cursors.theirs);
        if fit_all == rows.len() { fit_all } else { fit(cursors.ours) }
    }

    fn room(&self, body: &Map<String, Value>, rows: &[Record]) -> usize {
        let CursorLens { theirs, ours, call } = CursorLens::of(&self.arguments.call, body);
        let budget = budget(body, call + ours + ours.saturating_sub(theirs), self.bounds);
        let sizes = sizes(rows);
        let structured = sizes.iter().map(|row| row.structured).sum();
        let text = sizes.iter().map(|row| row.text).sum();
        mean_fits(budget.structured, structured, rows.len()).min(mean_fits(budget.text, text, rows.len()))
    }

    fn max_cursor(&self) -> usize {
        max_cursor(&self.arguments.call, self.bounds)
    }
}

/// The bytes that each of `rows` takes.
fn sizes(rows: &[Record]) -> Vec<Budget> {
    let has_ids = has_ids(rows);
    let size = |row: &Record| {
        let id = if has_ids { json_len(row.id()) + 1 } else { 0 };
        Budget { structured: row.json.len() + 1 + id, text: row.name.len() + 40 }
    };
    rows.iter().map(size).collect()
}

/// The bytes of each view that rows may take.
struct Budget {
    structured: usize,
    text: usize,
}

/// The room for rows next to their envelope (with its cursor), the next call and what follows.
fn budget(body: &Map<String, Value>, next: usize, bounds: Bounds) -> Budget {
    let mut meta = String::new();
    meta_lines(&mut meta, body);
    let bookmark = body.get("next_changes_since").map_or(0, json_len);
    Budget {
        structured: bounds.structured.saturating_sub(json_len(body) + next + NOTE_BYTES + 120),
        text: bounds.text.saturating_sub(
            meta.len() + bookmark + next + HOW_TO_READ_ON.len() + HOW_TO_READ_BLOBS.len() + 180,
        ),
    }
}

fn render(arguments: &Arguments, page: Page<Record>, facts: &[StreamFacts], bounds: Bounds) -> ToolAnswer {
    let stream = arguments.records.stream.as_str();
    let note = fitted_note(&arguments.call, &page);
    let Page { mut body, mut rows, next, .. } = page;
    let next = next_page(&arguments.call, next.as_deref());
    let mut ladder = Vec::new();
    let mut has_ids = has_ids(&rows);
    if let [record] = rows.as_mut_slice() {
        let mut budget = budget(&body, next.as_ref().map_or(0, json_len), bounds);
        let id_len = if has_ids { json_len(record.id()) + 10 } else { 0 };
        // A very long id is cut here, and complete in the ladder.
        has_ids &= id_len <= budget.structured / 8;
        budget.structured -= if has_ids { id_len } else { 0 };
        if record.json.len() > budget.structured || record.name.len() > budget.text {
            let handle = record.handle.take();
            let mut row = std::mem::take(&mut record.row);
            if record.json.len() > budget.structured {
                ladder.extend(cut_row(&mut row, arguments, &budget));
            }
            cut_names(&mut row, stream, &budget);
            *record = Record { handle, ..Record::of(row, stream) };
        }
    }
    let parts = PageParts {
        stream,
        body: &body,
        rows: &rows,
        facts,
        next: next.as_ref(),
        ladder: &ladder,
        note: note.as_deref(),
    };
    let text = page_text(&parts, bounds.text);
    // Their place in the envelope.
    body.insert("data".into(), Value::Null);
    let structured = Written::object(|members| {
        members.put_some("content_ladder", Ladder::of(ladder));
        members.put_object("data", |members| {
            for (name, value) in &body {
                match name.as_str() {
                    "data" => members.put_list("data", rows.iter().map(|row| &row.json)),
                    name => members.put(name, value),
                }
            }
        });
        members.put_some("ids", has_ids.then(|| rows.iter().map(Record::id).collect::<Vec<_>>()));
        members.put_some("next", next);
        members.put_some("note", note);
    });
    ToolAnswer { text, structured: Some(structured), is_error: false, rows: rows.len() }
}

/// Cuts the only record of a page if it alone exceeds the limit.
fn cut_row(record: &mut Row, arguments: &Arguments, budget: &Budget) -> Option<ladder::Record> {
    let Records { stream, expand, .. } = &arguments.records;
    let id = RecordId::of_row(record, stream);
    let is_named = id.is_some();
    let handle = id.as_ref().and_then(RecordId::handle);
    let name = row_text::name(record, stream);
    let id = id.unwrap_or_default();
    let reference = RecordRef::of(&id, handle.as_deref());
    let mut related = Vec::new();
    if let Some(expanded) = record.get_mut("expanded").filter(|_| is_named) {
        let limit = |relation: &str| expand.iter().find(|expansion| expansion.relation == relation)?.limit;
        related = cut::expanded(expanded, reference, &limit, budget.structured / 3);
    }
    // In an honest record, only the data and the expanded relations are large; nothing else may make it larger.
    let mut left_out = Vec::new();
    record.retain(|key, value| {
        let stays = matches!(key.as_str(), "data" | "id" | "stream" | "connection_id")
            || json_len(value) <= if key == "expanded" { budget.structured / 3 } else { 120 };
        if !stays {
            left_out.push(text::prefix(key, 40).to_owned());
        }
        stays
    });
    if !left_out.is_empty() {
        left_out.truncate(5);
        record.insert("left_out".into(), json!(left_out));
    }
    let envelope_len = json_len(record) - record.get("data").map_or(0, json_len);
    // The page has only this record: a very long id need not appear a third time.
    let mut label = handle.clone().unwrap_or_else(|| id.record.clone());
    if json_len(&label) > budget.structured / 8 {
        label = format!("{}…", prefix_on_wire(&label, 150));
    }
    let of_fields = |fields: Vec<Field>| ladder::Record {
        id: label.clone(),
        fields: fields.into_iter().chain(related.iter().cloned()).collect(),
    };
    if let Some(data) = record.get_mut("data").filter(|data| !data.is_object()) {
        // No provider sends this; it can still be read as JSON.
        let size = json_len(data);
        let read = ladder::read_json(&reference, cut::WHOLE, 0);
        *data = json!({"object": "cut", "size_bytes": size});
        let whole = Field { path: cut::WHOLE.to_owned(), preview: None, complete: false, read };
        return is_named.then(|| of_fields(vec![whole]));
    }
    let data = record.get_mut("data")?.as_object_mut()?;
    let fits = |data: &Map<String, Value>, fields: &[Field]| {
        let ladder = Ladder::of(vec![of_fields(fields.to_vec())]);
        let lines = fields.iter().chain(&related).map(|field| continues(field).len()).sum::<usize>();
        envelope_len + json_len(data) + json_len(&ladder) + 20 <= budget.structured
            && name.len() + 60 + lines <= budget.text
    };
    let fields = cut::to_fit(data, reference, &fits);
    // A record without an id cannot be requested, and the call for one with a very long id fits nowhere: the answer
    // states only that something is missing.
    let ladder = (is_named && fits(data, &fields)).then(|| of_fields(fields));
    if ladder.is_none() {
        record.insert("cut".into(), json!(true));
    }
    ladder
}

/// Cuts an id that alone takes a whole result: nothing could be read with it, and its beginning identifies it.
fn cut_names(record: &mut Row, stream: &str, budget: &Budget) {
    if row_text::name(record, stream).len() <= budget.text && json_len(record) <= budget.structured {
        return;
    }
    for key in ["id", "record_key", "stream", "connection_id"] {
        if let Some(value) = record.get_mut(key).filter(|value| json_len(value) > 200) {
            *value = json!(format!("{}…", prefix_on_wire(value.as_str().unwrap_or(""), 150)));
        }
    }
    record.insert("cut".into(), json!(true));
}

/// The line that shows how a field continues.
fn continues(field: &Field) -> String {
    format!("{} continues: {}\n", line::token(&field.path), field.read.to_text())
}

/// The parts of a page's text.
struct PageParts<'a> {
    stream: &'a str,
    body: &'a Map<String, Value>,
    rows: &'a [Record],
    facts: &'a [StreamFacts],
    next: Option<&'a Call>,
    ladder: &'a [ladder::Record],
    note: Option<&'a str>,
}

fn page_text(parts: &PageParts<'_>, max_bytes: usize) -> String {
    let PageParts { stream, body, rows, facts, next, ladder, note } = *parts;
    let mut tail = String::new();
    let more = if next.is_some() { ", more follow" } else { "" };
    let _ = writeln!(tail, "{} of {}{more}", counted(rows.len(), "record"), line::token(stream));
    if let Some(note) = note {
        let _ = writeln!(tail, "{note}");
    }
    meta_lines(&mut tail, body);
    if let Some(next) = next {
        let _ = writeln!(tail, "{}", ladder::next_line(next));
    } else if body.get("has_more").and_then(Value::as_bool) == Some(true) {
        tail.push_str(
            "more records exist, but the provider gave no cursor: narrow the call (connection_id, filter)\n",
        );
    }
    if let Some(bookmark) = text_of(body, "next_changes_since") {
        let keep =
            if next.is_some() { " (not yet: changes on the pages that follow would be lost)" } else { "" };
        let _ = writeln!(tail, "next_changes_since={}{keep}", line::quoted(bookmark));
    }
    for field in ladder.iter().flat_map(|record| &record.fields) {
        tail.push_str(&continues(field));
    }
    let has_blobs = rows
        .iter()
        .any(|Record { row, .. }| row.get("data").is_some_and(|data| data.get("blob_ref").is_some()));
    let blobs = if has_blobs { HOW_TO_READ_BLOBS.len() } else { 0 };
    let room = max_bytes.saturating_sub(tail.len() + HOW_TO_READ_ON.len() + blobs);
    let facts = rows
        .first()
        .and_then(|record| facts_for(facts, text_of(&record.row, "connection_id")))
        .or_else(|| facts.first());
    // The time of storage matters only when changes are read.
    let with_times = body.contains_key("next_changes_since");
    let named = rows.iter().map(|record| (record.name.as_str(), &record.row)).collect::<Vec<_>>();
    let rendered = row_text::render(&named, facts, with_times, room);
    let mut text = rendered.lines;
    if rendered.is_cut || rows.iter().any(|record| record.row.contains_key("cut")) {
        text.push_str(HOW_TO_READ_ON);
    }
    if has_blobs {
        text.push_str(HOW_TO_READ_BLOBS);
    }
    text.push_str(&tail);
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r3_14_every_row_has_its_handle() {
        let row = |id: &str| {
            let row = json!({"object": "record", "id": id, "stream": "s", "connection_id": "c", "data": {}});
            Record::of(row.as_object().unwrap().clone(), "s")
        };
        let rows = ["a", "b:1", "2024/01", "."].map(row);
        assert_eq!(rows.each_ref().map(Record::id), ["c/s:a", "c/s:b:1", "c/s:2024%2F01", ""]);
        assert!(has_ids(&rows) && !has_ids(&[]) && !has_ids(&rows[3..]));
    }
}
