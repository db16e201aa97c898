//! `pdpp sandbox import`: records from a file of PDPP RECORD envelopes, one a line.
//!
//! The file is read twice: first every line is checked, and what an unknown connector declares is
//! inferred; then all of it is written in one transaction. So a bad line, a full disk or a killed
//! process leaves the store as it was.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::open_store;
use super::seed::source_uri;
use crate::error::{Error, Kind as ErrorKind, Result};
use crate::vault::declaration::{Aggregation, Connector, Field, Kind, Stream};
use crate::vault::store::{self, Catalog, Connection, Ingest};
use crate::vault::time;

/// Bad lines that are named before the rest is only counted.
const NAMED_LINES: usize = 20;
/// A line at most, in bytes.
const MAX_LINE: usize = 16 * 1024 * 1024;
/// How often progress is told, in lines.
const STEP: u64 = 5_000;

/// What to import, and where to.
#[derive(Debug, Clone, Copy)]
pub struct Import<'a> {
    /// The sandbox's data directory.
    pub data_dir: &'a Path,
    /// A file with one envelope a line.
    pub file: &'a Path,
    /// A connector's key: a known one, or a new one.
    pub connector: &'a str,
    /// A connection's id.
    pub connection: &'a str,
    /// What its owner calls a new connection.
    pub display_name: Option<&'a str>,
    /// Which life a new store is filled with first.
    pub seed: Option<u64>,
}

/// What an import did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    /// Lines read, empty ones not counted.
    pub lines: u64,
    /// Records written.
    pub upserts: u64,
    /// Records deleted.
    pub deletes: u64,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    stream: String,
    #[serde(borrow)]
    key: &'a RawValue,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(default)]
    emitted_at: Option<String>,
    #[serde(default)]
    op: Option<String>,
}

/// A checked line.
struct Line<'a> {
    stream: String,
    key: String,
    key_parts: Vec<String>,
    data: Option<&'a str>,
    emitted_ms: i64,
}

/// Imports a file; `progress` is told how many lines are done, of which pass.
///
/// # Errors
/// `import_file`, `import_bad_lines`, `import_connection`, `sandbox_store`, `sandbox_data_dir`.
pub fn run(import: &Import<'_>, mut progress: impl FnMut(&'static str, u64)) -> Result<Imported> {
    for (what, name) in [("connector", import.connector), ("connection", import.connection)] {
        if !is_name(name) {
            return Err(Error::new(
                ErrorKind::Usage,
                "import_name",
                format!("`{name}` is not a {what} name: use letters, digits, `-`, `_` and `.`"),
            ));
        }
    }
    // Before the sandbox's data is made.
    std::fs::File::open(import.file)
        .and_then(|mut file| std::io::Read::read(&mut file, &mut [0]))
        .map_err(|error| unreadable(import.file, error))?;
    let store = open_store(import.data_dir, import.seed)?;
    let declared = store
        .read(|_, catalog: &Arc<Catalog>| -> rusqlite::Result<_> {
            Ok((
                catalog.connector(import.connector).map(|known| known.as_ref().clone()),
                catalog.connection(import.connection).map(|known| known.connector.clone()),
            ))
        })
        .map_err(|error: rusqlite::Error| super::error(store::OpenError::from(error).into()))?;
    let (declared, belongs_to) = declared;
    if belongs_to.as_ref().is_some_and(|connector| connector != import.connector) {
        return Err(Error::new(
            ErrorKind::Usage,
            "import_connection",
            format!("The connection {} belongs to another connector", import.connection),
        )
        .hint("give another --connection"));
    }
    // Known connectors keep what they declare; new streams and new connectors are inferred.
    let mut inferred: BTreeMap<String, Inferred> = BTreeMap::new();
    let mut bad = Bad::default();
    let lines = each_line(import.file, |number, text| {
        match check(text, declared.as_ref()) {
            Ok(line) => {
                if declared.as_ref().and_then(|connector| connector.stream(&line.stream)).is_none() {
                    inferred.entry(line.stream.clone()).or_default().learn(&line);
                }
            }
            Err(why) => bad.push(number, &why),
        }
        if number.is_multiple_of(STEP) {
            progress("checked", number);
        }
        Ok(())
    })?;
    bad.into_result(import.file)?;
    let connector = declare(import.connector, declared, inferred);
    let connection = Connection {
        id: import.connection.to_owned(),
        connector: import.connector.to_owned(),
        display_name: import.display_name.unwrap_or(import.connection).to_owned(),
    };

    let mut imported = Imported { lines, upserts: 0, deletes: 0 };
    let written = store.write(|tx, _| {
        let mut ingest = Ingest::new(tx)?;
        ingest.connector(&connector)?;
        ingest.connection(&connection)?;
        each_line(import.file, |number, text| {
            // Checked before; a file that changed meanwhile is refused here, and nothing is written.
            let line = check(text, Some(&connector)).map_err(|why| changed(import.file, number, &why))?;
            ingest.put(&line.stream, &line.key, line.emitted_ms, line.data).map_err(write_failed)?;
            match line.data {
                Some(_) => imported.upserts += 1,
                None => imported.deletes += 1,
            }
            if number.is_multiple_of(STEP) {
                progress("written", number);
            }
            Ok(())
        })?;
        ingest.finish()?;
        Ok(())
    });
    match written {
        Ok(()) => Ok(imported),
        Err(NotWritten::Database(error)) => Err(write_failed(error)),
        Err(NotWritten::Line(error)) => Err(error),
    }
}

/// Why the transaction that writes everything was not committed.
#[derive(Debug, thiserror::Error)]
enum NotWritten {
    /// The database refused, on a full disk for example.
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
    /// A line could not be written.
    #[error(transparent)]
    Line(#[from] Error),
}

fn write_failed(error: rusqlite::Error) -> Error {
    Error::failed("sandbox_store", "Could not write; nothing was imported").because(error)
}

fn changed(file: &Path, number: u64, why: &str) -> Error {
    Error::failed(
        "import_file",
        format!("{} changed while it was read (line {number}: {why}); nothing was imported", file.display()),
    )
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn unreadable(file: &Path, error: std::io::Error) -> Error {
    Error::failed("import_file", format!("Could not read {}; nothing was imported", file.display()))
        .because(error)
        .hint("Name a file of RECORD envelopes: pdpp sandbox import --help")
}

/// Calls `each` with every line that is not empty, and counts them. Numbers begin at 1 and count all lines.
fn each_line(file: &Path, mut each: impl FnMut(u64, &str) -> Result<()>) -> Result<u64> {
    let failed = |error| unreadable(file, error);
    let mut reader = std::io::BufReader::with_capacity(1 << 20, std::fs::File::open(file).map_err(failed)?);
    let (mut number, mut lines, mut buffer) = (0, 0, Vec::new());
    loop {
        buffer.clear();
        let limit = u64::try_from(MAX_LINE).unwrap_or(u64::MAX) + 1;
        let read = std::io::Read::take(&mut reader, limit).read_until(b'\n', &mut buffer).map_err(failed)?;
        if read == 0 {
            return Ok(lines);
        }
        number += 1;
        if buffer.len() > MAX_LINE {
            return Err(Error::failed(
                "import_bad_lines",
                format!("Line {number} of {} is longer than 16 MiB; nothing was imported", file.display()),
            ));
        }
        let text = String::from_utf8_lossy(&buffer);
        // A byte order mark is not part of the first envelope.
        let text = text.trim_start_matches('\u{feff}').trim();
        if !text.is_empty() {
            lines += 1;
            each(number, text)?;
        }
    }
}

fn check<'a>(text: &'a str, connector: Option<&Connector>) -> std::result::Result<Line<'a>, String> {
    if text.contains('\u{fffd}') && serde_json::from_str::<Value>(text).is_err() {
        return Err("it is not UTF-8".to_owned());
    }
    let envelope: Envelope<'a> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if envelope.kind.as_deref().is_some_and(|kind| kind != "RECORD") {
        return Err("type has to be RECORD".to_owned());
    }
    if !is_name(&envelope.stream) {
        return Err("stream has to be a name of letters, digits, `-`, `_` and `.`".to_owned());
    }
    let (key, key_parts) = key(envelope.key.get())?;
    let emitted_ms = match &envelope.emitted_at {
        None => time::now_ms(),
        Some(at) => time::parse_ms(at).ok_or("emitted_at is not an RFC 3339 timestamp")?,
    };
    let delete = match envelope.op.as_deref() {
        None | Some("upsert") => false,
        Some("delete") => true,
        Some(_) => return Err("op has to be upsert or delete".to_owned()),
    };
    let data = envelope.data.map(RawValue::get);
    let stream = connector.and_then(|connector| connector.stream(&envelope.stream));
    if delete {
        return Ok(Line { stream: envelope.stream, key, key_parts, data: None, emitted_ms });
    }
    let data = data.ok_or("data is missing")?;
    let fields: Map<String, Value> = serde_json::from_str(data).map_err(|_| "data has to be an object")?;
    if let Some(stream) = stream {
        fits(stream, &fields, &key_parts)?;
    }
    Ok(Line { stream: envelope.stream, key, key_parts, data: Some(data), emitted_ms })
}

/// A key as one string: a list of several values as minified JSON.
fn key(raw: &str) -> std::result::Result<(String, Vec<String>), &'static str> {
    let text = |value: &Value| match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let bad = "key has to be a string, a number, or a list of them";
    match serde_json::from_str(raw).map_err(|_| bad)? {
        Value::Array(parts) if !parts.is_empty() => {
            let parts: Vec<String> = parts.iter().map(text).collect::<Option<_>>().ok_or(bad)?;
            match parts.as_slice() {
                [single] => Ok((single.clone(), parts)),
                several => Ok((Value::from(several).to_string(), parts)),
            }
        }
        value => text(&value).map(|key| (key.clone(), vec![key])).ok_or(bad),
    }
}

fn fits(stream: &Stream, data: &Map<String, Value>, key: &[String]) -> std::result::Result<(), String> {
    if key.len() != stream.primary_key.len() {
        return Err(format!(
            "key has {} parts, stream {} needs {}",
            key.len(),
            stream.name,
            stream.primary_key.len()
        ));
    }
    for field in &stream.fields {
        let value = data.get(&field.name).unwrap_or(&Value::Null);
        let ok = match (value, field.kind) {
            (Value::Null, _) => !field.required,
            (Value::String(text), Kind::Timestamp) => time::parse_ms(text).is_some(),
            (value, kind) => match kind.json_type() {
                "string" => value.is_string(),
                "integer" => {
                    value.as_number().is_some_and(|number| !number.as_str().contains(['.', 'e', 'E']))
                }
                "number" => value.is_number(),
                "boolean" => value.is_boolean(),
                "array" => value.is_array(),
                _ => value.is_object(),
            },
        };
        if !ok {
            let missing = value.is_null();
            return Err(if missing {
                format!("data.{} is missing", field.name)
            } else {
                format!("data.{} is not of type {}", field.name, field.kind.json_type())
            });
        }
    }
    Ok(())
}

/// Bad lines, the first of them named.
#[derive(Default)]
struct Bad {
    named: Vec<String>,
    count: u64,
}

impl Bad {
    fn push(&mut self, number: u64, why: &str) {
        self.count += 1;
        if self.named.len() < NAMED_LINES {
            self.named.push(format!("  line {number}: {why}"));
        }
    }

    fn into_result(self, file: &Path) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let lines = if self.count == 1 { "line of" } else { "lines of" };
        let mut message =
            format!("{} {lines} {} cannot be imported; nothing was\n", self.count, file.display());
        message.push_str(&self.named.join("\n"));
        let more = self.count - self.named.len() as u64;
        if more > 0 {
            let _ = write!(message, "\n  and {more} more");
        }
        Err(Error::failed("import_bad_lines", message))
    }
}

/// What the records of a stream show about its fields.
#[derive(Default)]
struct Inferred {
    fields: BTreeMap<String, Seen>,
    order: Vec<String>,
    records: u64,
    key_parts: usize,
    /// For each part of the key, the fields that have always held it.
    key_fields: Option<Vec<Vec<String>>>,
}

#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "what was seen, each of its own")]
struct Seen {
    present: u64,
    null: bool,
    string: bool,
    prose: bool,
    not_instant: bool,
    not_date: bool,
    whole: bool,
    decimal: bool,
    boolean: bool,
    array: bool,
    object: bool,
}

impl Inferred {
    fn learn(&mut self, line: &Line<'_>) {
        let Some(data) = line.data else { return };
        let fields: Map<String, Value> = serde_json::from_str(data).unwrap_or_default();
        self.records += 1;
        self.key_parts = self.key_parts.max(line.key_parts.len());
        let holds = |part: &String| -> Vec<String> {
            let is = |value: &Value| {
                value.as_str() == Some(part)
                    || value.as_number().is_some_and(|number| number.as_str() == part)
            };
            fields.iter().filter(|(_, value)| is(value)).map(|(name, _)| name.clone()).collect()
        };
        let now: Vec<Vec<String>> = line.key_parts.iter().map(holds).collect();
        self.key_fields = Some(match self.key_fields.take() {
            None => now,
            Some(before) => before
                .into_iter()
                .zip(now)
                .map(|(before, now)| before.into_iter().filter(|name| now.contains(name)).collect())
                .collect(),
        });
        for (name, value) in fields {
            if !self.fields.contains_key(&name) {
                self.order.push(name.clone());
            }
            self.fields.entry(name).or_default().learn(&value);
        }
    }

    fn into_stream(self, name: &str) -> Stream {
        let primary_key: Vec<String> = self
            .key_fields
            .unwrap_or_default()
            .into_iter()
            .map(|candidates| {
                let preferred = candidates.iter().find(|name| *name == "id").or(candidates.first());
                preferred.cloned().unwrap_or_else(|| "id".to_owned())
            })
            .collect();
        let mut fields = Vec::new();
        for field in self.order {
            let Some(seen) = self.fields.get(&field) else { continue };
            fields.push(seen.to_field(&field, self.records, primary_key.contains(&field)));
        }
        let time = fields
            .iter()
            .find(|field: &&Field| field.required && field.kind == Kind::Timestamp)
            .map(|field| field.name.clone());
        Stream {
            name: name.to_owned(),
            primary_key,
            cursor_field: time.clone(),
            consent_time_field: time,
            fields,
            views: Vec::new(),
            relations: Vec::new(),
        }
    }
}

impl Seen {
    fn learn(&mut self, value: &Value) {
        match value {
            Value::Null => {
                self.null = true;
                return;
            }
            Value::Bool(_) => self.boolean = true,
            Value::Number(number) if number.as_str().contains(['.', 'e', 'E']) => self.decimal = true,
            Value::Number(_) => self.whole = true,
            Value::String(text) => {
                self.string = true;
                self.prose |= text.contains(char::is_whitespace);
                self.not_instant |= text.parse::<jiff::Timestamp>().is_err();
                self.not_date |= text.len() != 10 || time::parse_ms(text).is_none();
            }
            Value::Array(_) => self.array = true,
            Value::Object(_) => self.object = true,
        }
        self.present += 1;
    }

    fn to_field(&self, name: &str, records: u64, in_key: bool) -> Field {
        let kinds = [self.string, self.whole || self.decimal, self.boolean, self.array, self.object];
        let mixed = kinds.iter().filter(|seen| **seen).count() != 1;
        let kind = if mixed || self.object {
            Kind::Object
        } else if self.array {
            Kind::Array
        } else if self.boolean {
            Kind::Boolean
        } else if self.decimal {
            Kind::Number
        } else if self.whole {
            Kind::Integer
        } else if !self.not_instant {
            Kind::Timestamp
        } else if !self.not_date {
            Kind::Date
        } else if self.prose {
            Kind::Text
        } else {
            Kind::String
        };
        let required = in_key || (self.present == records && kind == Kind::Timestamp);
        let range = matches!(kind, Kind::Timestamp | Kind::Date | Kind::Integer | Kind::Number);
        let aggregations = match kind {
            Kind::Boolean | Kind::String => vec![Aggregation::GroupBy, Aggregation::CountDistinct],
            Kind::Timestamp => vec![Aggregation::GroupByTime, Aggregation::Min, Aggregation::Max],
            Kind::Integer | Kind::Number => vec![Aggregation::Sum, Aggregation::Min, Aggregation::Max],
            _ => Vec::new(),
        };
        Field {
            name: name.to_owned(),
            kind,
            nullable: self.null || self.present < records,
            required,
            role: None,
            lexical: matches!(kind, Kind::Text | Kind::String),
            exact: kind.is_scalar(),
            range,
            aggregations,
        }
    }
}

/// The connector with its known streams and the inferred ones.
fn declare(key: &str, declared: Option<Connector>, inferred: BTreeMap<String, Inferred>) -> Connector {
    let mut connector = declared.unwrap_or_else(|| Connector {
        key: key.to_owned(),
        id: source_uri(key),
        name: key.to_owned(),
        streams: Vec::new(),
    });
    for (name, seen) in inferred {
        // Deletions alone say nothing about a stream.
        if seen.records > 0 {
            connector.streams.push(Arc::new(seen.into_stream(&name)));
        }
    }
    connector
}
