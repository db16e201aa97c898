//! Continuations: for everything cut, the tool call that continues reading (R4.3).

use serde_json::{Map, Value, json};

use crate::json::write::{self, Json, Sink};
use crate::mcp::call::{Call, Tool};
use crate::mcp::id::RecordId;
use crate::mcp::line;

/// One field that is not complete, or is proven match evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Where it is in the record's data.
    pub path: String,
    /// The part of it that is shown in the ladder itself.
    pub preview: Option<String>,
    /// Whether the shown part is the whole.
    pub complete: bool,
    /// The call that reads it.
    pub read: Call,
}

/// The fields of one record that a reader may want to continue reading.
#[derive(Debug, Clone, PartialEq)]
pub struct Record<F = Field> {
    /// Its handle.
    pub id: String,
    /// Its fields.
    pub fields: Vec<F>,
}

impl Json for Field {
    fn write_to(&self, out: &mut impl Sink) {
        write::object(out, |members| {
            members.put("complete", &self.complete);
            members.put("field_path", &self.path);
            if let Some(preview) = &self.preview {
                members.put("preview", preview);
            }
            members.put("read", &self.read);
        });
    }
}

impl<F: Json> Json for Record<F> {
    fn write_to(&self, out: &mut impl Sink) {
        write::object(out, |members| {
            members.put("fields", &self.fields);
            members.put("id", &self.id);
        });
    }
}

/// `content_ladder`: the records that are not shown completely, or that contain the match.
pub struct Ladder<T>(Vec<T>);

impl<T: Json> Ladder<T> {
    /// The ladder of `records`, if there are any.
    pub fn of(records: Vec<T>) -> Option<Self> {
        (!records.is_empty()).then_some(Self(records))
    }
}

impl<T: Json> Json for Ladder<T> {
    fn write_to(&self, out: &mut impl Sink) {
        write::object(out, |members| members.put("records", &self.0));
    }
}

/// A line that names a call, for the text.
pub fn next_line(call: &Call) -> String {
    format!("next: {}", call.to_text())
}

/// The call that continues reading a text field from `offset` (in Unicode scalar values).
pub fn read_field(id: &RecordRef<'_>, path: &str, offset: usize) -> Call {
    let mut arguments = id.arguments();
    arguments.insert("field_path".into(), json!(path));
    if offset > 0 {
        arguments.insert("offset_chars".into(), json!(offset));
    }
    Call { tool: Tool::ReadRecordField, arguments }
}

/// The call that continues reading a list, an object or a whole record as JSON text, from `offset` (in Unicode scalar
/// values of that text).
pub fn read_json(id: &RecordRef<'_>, path: &str, offset: usize) -> Call {
    let mut arguments = id.arguments();
    arguments.insert("field_path".into(), json!(path));
    arguments.insert("cursor".into(), json!(JsonCursor { offset, limit: None }.to_string()));
    Call { tool: Tool::ReadRecordField, arguments }
}

/// The call that continues reading an expanded relation as JSON text. `limit` is the limit that it was expanded with,
/// because the same records must come again.
pub fn read_expanded(id: &RecordRef<'_>, relation: &str, limit: Option<u64>) -> Call {
    let mut call = read_json(id, &format!("{EXPANDED}{relation}"), 0);
    call.arguments.insert("cursor".into(), json!(JsonCursor { offset: 0, limit }.to_string()));
    call
}

/// The beginning of an expanded relation's path.
pub const EXPANDED: &str = "expanded.";

/// A cursor of `read_record_field` that goes through the JSON text of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JsonCursor {
    /// Where it continues, in Unicode scalar values of that text.
    pub offset: usize,
    /// The limit of the relation, if it is an expanded one.
    pub limit: Option<u64>,
}

impl JsonCursor {
    const PREFIX: &str = "json:";

    /// Whether `cursor` is one of these, well-formed or not.
    pub fn is_meant(cursor: &str) -> bool {
        cursor.starts_with(Self::PREFIX)
    }

    /// Parses such a cursor.
    pub fn parse(cursor: &str) -> Option<Self> {
        let rest = cursor.strip_prefix(Self::PREFIX)?;
        let (offset, limit) = match rest.split_once(':') {
            Some((offset, limit)) => (offset, Some(limit.parse().ok().filter(|limit| *limit > 0)?)),
            None => (rest, None),
        };
        Some(Self { offset: offset.parse().ok()?, limit })
    }
}

impl std::fmt::Display for JsonCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.offset)?;
        self.limit.map_or(Ok(()), |limit| write!(f, ":{limit}"))
    }
}

/// How a call names a record: by its handle, or by its parts if no handle can carry it.
#[derive(Debug, Clone, Copy)]
pub enum RecordRef<'a> {
    /// The handle.
    Handle(&'a str),
    /// Connection, stream and record id.
    Parts(&'a str, &'a str, &'a str),
}

impl<'a> RecordRef<'a> {
    /// The shortest way to name `id` completely; `handle` is its handle, if it has one. A handle that could not embed
    /// the connection would leave the record ambiguous.
    pub fn of(id: &'a RecordId, handle: Option<&'a str>) -> Self {
        match (handle, &id.connection) {
            (Some(handle), None) => Self::Handle(handle),
            (Some(handle), Some(_)) if id.is_self_contained() => Self::Handle(handle),
            (_, connection) => Self::Parts(connection.as_deref().unwrap_or(""), &id.stream, &id.record),
        }
    }
}

impl RecordRef<'_> {
    /// As arguments of `read_record_field`.
    pub fn arguments(&self) -> Map<String, Value> {
        let pairs: Vec<(&str, &str)> = match self {
            Self::Handle(id) => vec![("id", id)],
            Self::Parts(connection, stream, record) => {
                vec![("connection_id", connection), ("stream", stream), ("record_id", record)]
            }
        };
        pairs.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect()
    }

    /// As `key=value`, for the text.
    pub fn to_text(&self) -> String {
        let pairs = self.arguments();
        let pairs =
            pairs.iter().map(|(key, value)| format!("{key}={}", line::token(value.as_str().unwrap_or(""))));
        pairs.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_cursor_reads_back() {
        for cursor in [JsonCursor { offset: 0, limit: None }, JsonCursor { offset: 9, limit: Some(50) }] {
            assert_eq!(JsonCursor::parse(&cursor.to_string()), Some(cursor));
        }
        for bad in ["json:", "json:x", "json:1:", "json:1:0", "json:1:2:3", "5", "json:-1"] {
            assert_eq!(JsonCursor::parse(bad), None, "{bad}");
        }
    }
}
