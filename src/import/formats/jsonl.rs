//! JSON Lines: one object per line. Lines that a PDPP connector wrote (`{"type":"RECORD","stream":…,"key":…,"data":…}`) go to the
//! stream that they name. Other lines are rows, and [`crate::import::table`] decides how their members become fields.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::sync::Arc;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::import::charset::Charset;
use crate::import::digest;
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit, Whose,
};
use crate::import::kind_of_file::{self, FileKind};
use crate::import::lines::{self, Lines};
use crate::import::table::{
    self, Columns, Copies, Declared, Grouped, KEY, Names, Shape, Table, Value, unreadable,
};
use crate::json;

/// How deeply lists and objects may be nested.
const MAX_DEPTH: usize = 128;
/// How many lines are read to decide what a file is.
const SAMPLE: usize = 20;
/// The stream of lines that name no stream.
const ROWS: &str = "rows";
/// The field for a member that has the key's name but does not identify the rows.
const OTHER_KEY: &str = "id_column";
/// How many lines, and how many bytes, are read to learn which members the objects have.
const SHAPED: usize = 500;
const SHAPED_BYTES: u64 = 4 * 1024 * 1024;
/// The most streams in one file.
const MOST_STREAMS: usize = 100;

/// JSON Lines.
pub struct Jsonl;

/// What the lines of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Messages of a PDPP connector.
    Records,
    /// Objects, and whether their `id` identifies them.
    Rows { is_named: bool },
}

impl Mode {
    const fn letter(self) -> char {
        match self {
            Self::Records => 'm',
            Self::Rows { is_named: true } => 'n',
            Self::Rows { is_named: false } => 'r',
        }
    }

    const fn of_letter(letter: u8) -> Option<Self> {
        match letter {
            b'm' => Some(Self::Records),
            b'n' => Some(Self::Rows { is_named: true }),
            b'r' => Some(Self::Rows { is_named: false }),
            _ => None,
        }
    }
}

struct State {
    streams: BTreeMap<String, Declared>,
    members: HashMap<String, Mode>,
    /// Makes the same line another item if it is read in another way.
    read_as: String,
}

impl Format for Jsonl {
    fn name(&self) -> &'static str {
        "jsonl"
    }

    fn title(&self) -> &'static str {
        "JSON Lines, with one object per line"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        match sample(peek.head, peek.is_whole)? {
            Sample { objects: 0, .. } => None,
            Sample { lines, objects, .. } if objects * 100 < lines * 95 => None,
            Sample { records, objects, .. } if records * 2 > objects => Some(Sure::Certain),
            _ => Some(Sure::Fallback),
        }
    }

    fn why_not(&self, peek: &Peek<'_>) -> Option<String> {
        if kind_of_file::of(peek.head).is_some() {
            return None;
        }
        if is_one_object(peek) {
            return Some(
                "it is a single JSON object, not one per line: --as jsonl reads it as one record".to_owned(),
            );
        }
        let mut lines = Lines::new(peek.head);
        while let Ok(Some(line)) = lines.read() {
            let is_cut = !peek.is_whole && !line.has_end;
            if text_of(&line).is_empty() || is_cut {
                continue;
            }
            let found =
                Line::read(&line).and_then(|text| text.members().map(|members| members.all.is_empty()));
            match found {
                Ok(false) => {}
                Ok(true) => return Some(format!("line {} is an empty object", line.number)),
                Err(Bad(why)) => return Some(format!("line {} is {why}", line.number)),
            }
        }
        None
    }

    fn claims(&self, members: &[Peek<'_>]) -> Vec<bool> {
        members.iter().map(|peek| !is_one_object(peek)).collect()
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let mut tables = Grouped::default();
        for (at, member) in members.iter().enumerate() {
            let head = member.beginning().map_err(|error| unreadable(member, &error))?;
            if let Some(why) = unfit(&head) {
                return Err(Refused::Unfit { why });
            }
            let shape = shape(member).map_err(|error| unreadable(member, &error))?;
            tables.add(member.label, shape, at);
        }
        tables.plans(ask, |table, units, notes| plan(table, units, members, ask, notes))
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let Some((state, mode)) =
            state(plan).and_then(|state| Some((state, *state.members.get(unit.label)?)))
        else {
            return Err(io::Error::other("this file did not exist when the import was planned"));
        };
        // Reads from the start even when resuming, because equal lines are counted from the first one.
        let mut lines = Lines::new(&mut unit.bytes);
        let mut copies = Copies::default();
        let mut end = 0;
        while let Some(line) = lines.read()? {
            end = if line.has_end { line.next } else { line.offset };
            let text = text_of(&line);
            if text.is_empty() {
                continue;
            }
            let whole = table::hash([text]);
            let copy = match mode {
                Mode::Rows { is_named: true } => match Line::read(&line).ok().and_then(|line| line.id()) {
                    Some(id) => copies.of(table::hash([id.as_bytes()]), whole),
                    None => copies.before(whole),
                },
                // A repeated message takes effect again, even if other messages about the same record came in between.
                _ => copies.before(whole),
            };
            if line.offset < from {
                continue;
            }
            let (offset, next, is_long) = (line.offset, end, line.is_long);
            let long = if is_long { "l" } else { "" };
            let facts = format!("{}{}{long}", mode.letter(), state.read_as);
            let raw = Raw { offset, next, line: Some(line.number), bytes: text.to_vec(), facts, copy };
            if out(raw).is_break() {
                return Ok(End { at: next });
            }
        }
        Ok(End { at: end.max(from) })
    }

    fn parse(&self, plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        let changed = Bad("changed while it was read");
        let state = state(plan).ok_or(changed)?;
        let mode = raw.facts.bytes().next().and_then(Mode::of_letter).ok_or(changed)?;
        if raw.facts.ends_with('l') {
            return Err(Bad("longer than 64 MiB"));
        }
        let line = Line::of(&raw.bytes)?;
        match mode {
            Mode::Records => record(state, plan, &line.members()?),
            Mode::Rows { is_named } => row(state, plan, &line, is_named, raw),
        }
    }
}

fn state(plan: &Plan) -> Option<&State> {
    plan.state.downcast_ref()
}

/// What the file is instead, in words that the owner knows.
fn unfit(head: &[u8]) -> Option<String> {
    let wanted = "file with one object per line (JSON Lines)";
    if let Some(kind) = kind_of_file::of(head) {
        return Some(kind.not_a(wanted));
    }
    if Charset::of_head(head).is_some_and(|(charset, _)| charset != Charset::Utf8) {
        return Some(format!("It is not a {wanted} in UTF-8, but text in UTF-16. Save it as UTF-8"));
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    match text.first() {
        Some(b'[') => Some(format!(
            "It is not a {wanted}, but one JSON array. Write each element on its own line, \
             for example with `jq -c '.[]' FILE > FILE.jsonl`"
        )),
        Some(b'{')
            if first.len() < text.len()
                && Line::of(first).and_then(|line| line.members().map(drop)).is_err() =>
        {
            let is_one = serde_json::Deserializer::from_slice(text).into_iter::<Skipped>().next();
            let is_spread =
                matches!(is_one, Some(Ok(_))) || sample(head, false).is_none_or(|seen| seen.objects == 0);
            is_spread.then(|| {
                format!(
                    "It is not a {wanted}, but JSON over several lines. Write each object on one line, \
                     for example with `jq -c . FILE > FILE.jsonl`"
                )
            })
        }
        None | Some(b'{') => None,
        Some(_) => {
            let is_text = std::str::from_utf8(&text[..text.len().min(1024)])
                .map_or_else(|error| error.error_len().is_none(), |_| true);
            let kind = if is_text { "other text, for example a table (CSV)" } else { "other data" };
            let has_object = sample(head, false).is_some_and(|seen| seen.objects > 0);
            (!has_object).then(|| FileKind::other(kind).not_a(wanted))
        }
    }
}

type Skipped = serde::de::IgnoredAny;

/// What the first lines of a file are.
struct Sample {
    lines: usize,
    objects: usize,
    records: usize,
}

fn sample(head: &[u8], is_whole: bool) -> Option<Sample> {
    if kind_of_file::of(head).is_some() {
        return None;
    }
    let mut seen = Sample { lines: 0, objects: 0, records: 0 };
    let mut lines = Lines::new(head);
    while seen.lines < SAMPLE {
        let Ok(Some(line)) = lines.read() else { break };
        let text = text_of(&line);
        if text.is_empty() {
            continue;
        }
        let read = Line::read(&line);
        let members = read.as_ref().ok().and_then(|line| line.members().ok());
        // The last line of a cut-off head is incomplete. If it is the only line, check whether it begins like an object.
        if !is_whole && !line.has_end {
            if seen.lines == 0 && text.starts_with(b"{\"") {
                return Some(Sample { lines: 1, objects: 1, records: usize::from(begins_like_record(text)) });
            }
            break;
        }
        seen.lines += 1;
        if let Some(members) = members {
            // Settings that were never changed are `{}`.
            seen.objects += usize::from(!members.all.is_empty());
            seen.records += usize::from(is_message(&members));
        }
    }
    Some(seen)
}

/// Whether a file is a single object on one line without a line end. A program's settings look like this, but exported rows
/// hardly ever do.
fn is_one_object(peek: &Peek<'_>) -> bool {
    let is_one_line = peek.is_whole && !peek.head.contains(&b'\n');
    let is_one = |seen: Sample| seen.lines == 1 && seen.objects == 1 && seen.records == 0;
    is_one_line && sample(peek.head, true).is_some_and(is_one)
}

fn begins_like_record(line: &[u8]) -> bool {
    let start: Vec<u8> = line.iter().copied().take(64).filter(|byte| !byte.is_ascii_whitespace()).collect();
    start.starts_with(br#"{"type":"RECORD""#)
}

/// A line without surrounding whitespace, and without the byte order mark on the first one.
fn text_of<'a>(line: &lines::Line<'a>) -> &'a [u8] {
    let bytes = if line.offset == 0 { line.bytes.strip_prefix(json::BYTE_ORDER_MARK) } else { None };
    bytes.unwrap_or(line.bytes).trim_ascii()
}

/// A line as text that `serde_json` can read.
struct Line<'a> {
    text: Cow<'a, str>,
    /// Whether it contains data that text cannot represent, encoded as U+FFFD and noncharacters after it.
    is_damaged: bool,
}

/// Sixteen characters that never occur in text (Unicode noncharacters). After a U+FFFD, they encode the original value, so that
/// two keys that differ only there stay distinct.
const NIBBLES: u32 = 0xfdd0;

fn mark(out: &mut String, digits: u32, value: u32) {
    out.push('\u{fffd}');
    for at in (0..digits).rev() {
        out.extend(char::from_u32(NIBBLES + (value >> (4 * at) & 0xf)));
    }
}

const fn is_mark(c: char) -> bool {
    (c as u32) >= NIBBLES && (c as u32) < NIBBLES + 16
}

impl<'a> Line<'a> {
    fn read(line: &lines::Line<'a>) -> Result<Self, Bad> {
        if line.is_long {
            return Err(Bad("longer than 64 MiB"));
        }
        Self::of(text_of(line))
    }

    fn of(bytes: &'a [u8]) -> Result<Self, Bad> {
        if is_too_deep(bytes) {
            return Err(Bad("nested too deeply"));
        }
        let mut is_damaged = false;
        let text = if let Ok(text) = std::str::from_utf8(bytes) {
            Cow::Borrowed(text)
        } else {
            is_damaged = true;
            let mut text = String::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                text.extend(chunk.valid().chars().filter(|c| !is_mark(*c)));
                if !chunk.invalid().is_empty() {
                    let value = chunk.invalid().iter().fold(0, |all, byte| all << 8 | u32::from(*byte));
                    mark(&mut text, 2 * u32::try_from(chunk.invalid().len()).unwrap_or(1), value);
                }
            }
            Cow::Owned(text)
        };
        let text = match lone_surrogates_marked(&text) {
            None => text,
            Some(marked) => {
                is_damaged = true;
                Cow::Owned(marked)
            }
        };
        // Escapes member names that `serde_json` reserves.
        let text = match json::repaired(text.as_bytes()) {
            Cow::Borrowed(_) => text,
            Cow::Owned(repaired) => Cow::Owned(String::from_utf8_lossy(&repaired).into_owned()),
        };
        Ok(Self { text, is_damaged })
    }

    fn members(&self) -> Result<Members<'_>, Bad> {
        members(&self.text, self.is_damaged)
    }

    /// The text of the member that may identify a row.
    fn id(&self) -> Option<String> {
        self.members().ok()?.key_text(KEY)
    }
}

fn is_too_deep(bytes: &[u8]) -> bool {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for byte in bytes {
        match (is_text, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => is_text = !is_text,
            (false, b'{' | b'[') => depth += 1,
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth >= MAX_DEPTH {
            return true;
        }
    }
    false
}

/// The text with a mark for each escape that is half of a surrogate pair, or `None` if there are none.
fn lone_surrogates_marked(text: &str) -> Option<String> {
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return None;
    }
    let unit = |at: usize| -> Option<u32> {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(found) = text[at..].find('\\') {
        let start = at + found;
        match unit(start) {
            Some(0xd800..=0xdbff) if matches!(unit(start + 6), Some(0xdc00..=0xdfff)) => at = start + 12,
            Some(value @ 0xd800..=0xdfff) => {
                out.push_str(&text[copied..start]);
                mark(&mut out, 4, value);
                at = start + 6;
                copied = at;
            }
            _ => at = start + 2,
        }
        if !text.is_char_boundary(at) || at > text.len() {
            break;
        }
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

/// The members of an object, in order. Of two with the same name, the last one counts.
struct Members<'a> {
    all: Vec<(String, &'a str)>,
    is_damaged: bool,
}

fn members(text: &str, is_damaged: bool) -> Result<Members<'_>, Bad> {
    struct Object;
    impl<'de> Visitor<'de> for Object {
        type Value = Vec<(String, &'de str)>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut all: Vec<(String, &'de str)> = Vec::new();
            let mut places: HashMap<String, usize> = HashMap::new();
            while let Some(name) = map.next_key::<String>()? {
                let value = map.next_value::<&RawValue>()?.get();
                if let Some(at) = places.get(&name) {
                    all[*at].1 = value;
                } else {
                    places.insert(name.clone(), all.len());
                    all.push((name, value));
                }
            }
            Ok(all)
        }
    }
    if !text.starts_with('{') {
        return Err(Bad("not an object"));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let all = reader.deserialize_map(Object).map_err(|_| Bad("not JSON"))?;
    reader.end().map_err(|_| Bad("not JSON"))?;
    Ok(Members { all, is_damaged })
}

impl<'a> Members<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        self.all.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    fn string(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// A string or number, as a part of a key.
    fn key_text(&self, name: &str) -> Option<String> {
        key_part(self.get(name)?)
    }

    /// Each member with its value. Members that are null are left out.
    fn values(&self) -> impl Iterator<Item = (Cow<'_, str>, Owned<'a>)> {
        self.all.iter().filter_map(|(name, value)| {
            Some((
                if self.is_damaged { Cow::Owned(unmarked(name)) } else { Cow::Borrowed(name.as_str()) },
                owned(value, self.is_damaged)?,
            ))
        })
    }
}

/// A value, unescaped if it is a string.
enum Owned<'a> {
    Text(String),
    Other(Cow<'a, str>),
}

impl Owned<'_> {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Text(text) => Value::Text(text),
            Self::Other(text) => match text.as_bytes().first() {
                Some(b'[') => Value::Array(text),
                Some(b'{') => Value::Object(text),
                Some(b't' | b'f') => Value::Boolean(text),
                _ => Value::Number(text),
            },
        }
    }
}

fn owned(json: &str, is_damaged: bool) -> Option<Owned<'_>> {
    let clean = |text: String| if is_damaged { unmarked(&text) } else { text };
    match json.as_bytes().first()? {
        b'n' => None,
        b'"' => serde_json::from_str(json).ok().map(|text| Owned::Text(clean(text))),
        _ if is_damaged => Some(Owned::Other(Cow::Owned(unmarked(json)))),
        _ => Some(Owned::Other(Cow::Borrowed(json))),
    }
}

fn unmarked(text: &str) -> String {
    text.chars().filter(|c| !is_mark(*c)).collect()
}

/// A key that people and programs can type: text cannot represent some values, so these become U+FFFD, and the original values
/// follow a `~`.
fn typed_key(marked: &str) -> String {
    let was: String = marked
        .chars()
        .filter(|c| is_mark(*c))
        .filter_map(|c| char::from_digit(c as u32 - NIBBLES, 16))
        .collect();
    if was.is_empty() { marked.to_owned() } else { format!("{}~{was}", unmarked(marked)) }
}

fn key_part(json: &str) -> Option<String> {
    match json.as_bytes().first()? {
        b'"' => serde_json::from_str::<String>(json).ok().filter(|text| !text.is_empty()),
        b'-' | b'0'..=b'9' => Some(json.to_owned()),
        _ => None,
    }
}

/// The parts of the key in an envelope.
fn key_parts(json: &str) -> Option<Vec<String>> {
    if !json.starts_with('[') {
        return Some(vec![key_part(json)?]);
    }
    let parts: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    if parts.is_empty() || parts.len() > 16 {
        return None;
    }
    parts.iter().map(|part| key_part(part.get())).collect()
}

/// Whether an object is a connector's message: a record, or another kind of message.
fn is_message(members: &Members<'_>) -> bool {
    let kind = members.string("type");
    let has_stream = members.string("stream").is_some();
    match kind.as_deref() {
        Some("RECORD") => has_stream,
        Some(kind) => OTHER_MESSAGES.contains(&kind),
        None => {
            has_stream
                && members.get("key").is_some()
                && (members.get("data").is_some() || members.get("op").is_some())
        }
    }
}

const OTHER_MESSAGES: [&str; 9] =
    ["STATE", "SCHEMA", "LOG", "START", "DONE", "PROGRESS", "INTERACTION", "SKIP_RESULT", "ASSISTANCE"];

fn is_stream_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && !name.contains("..")
        && name != "."
}

/// What was seen of a stream.
#[derive(Default)]
struct Stream {
    columns: Columns,
    records: u64,
    /// How many records have a key with this many parts.
    lengths: BTreeMap<usize, u64>,
    /// How often a member held a part of the key.
    held: HashMap<(usize, String), u64>,
}

impl Stream {
    fn learn(&mut self, key: &[String], data: &Members<'_>, line: u64) {
        self.records += 1;
        *self.lengths.entry(key.len()).or_default() += 1;
        for (name, value) in data.values() {
            if let Some(column) = self.columns.column(&name) {
                column.learn(value.value(), line);
            }
        }
        for (name, json) in &data.all {
            let Some(text) = key_part(json) else { continue };
            for (at, _) in key.iter().enumerate().filter(|(_, part)| **part == text) {
                if self.held.len() < 10_000 && name.len() <= 1024 {
                    *self.held.entry((at, name.clone())).or_default() += 1;
                }
            }
        }
    }

    /// The members that hold the parts of the key. A part that no member holds gets a new field.
    fn key_fields(&self) -> Vec<String> {
        let length = self.lengths.iter().max_by_key(|(_, count)| **count).map_or(1, |(length, _)| *length);
        let mut fields: Vec<String> = Vec::new();
        for at in 0..length {
            let mut held: Vec<&str> = self
                .held
                .iter()
                .filter(|((part, name), count)| {
                    *part == at && **count * 100 >= self.records * 99 && !fields.contains(name)
                })
                .map(|((_, name), _)| name.as_str())
                .collect();
            held.sort_by_key(|name| (*name != KEY, name.len(), *name));
            let name = match held.first() {
                Some(name) => (*name).to_owned(),
                None => table::free_name(KEY, |name| !fields.iter().any(|field| field == name)),
            };
            fields.push(name);
        }
        fields
    }
}

/// Whether the lines of a file are a connector's messages.
fn is_records(member: &Member<'_>) -> io::Result<bool> {
    let head = member.beginning()?;
    let is_whole = member.size.is_some_and(|size| size == head.len() as u64);
    Ok(sample(&head, is_whole).is_some_and(|seen| seen.records * 2 > seen.objects))
}

/// The members of a file's first objects, by stream.
fn shape(member: &Member<'_>) -> io::Result<Shape> {
    let is_records = is_records(member)?;
    let mut shape = Shape::default();
    let mut lines = Lines::new((member.open)()?);
    for _ in 0..SHAPED {
        let Some(line) = lines.read()?.filter(|line| line.offset < SHAPED_BYTES) else { break };
        let Ok(text) = Line::read(&line) else { continue };
        let Ok(members) = text.members() else { continue };
        let (stream, seen) = if is_records {
            let Ok(Message::Record { stream, data, .. }) = message(&members) else { continue };
            let Ok(data) = self::members(data, members.is_damaged) else { continue };
            (stream, data)
        } else {
            (ROWS.to_owned(), members)
        };
        if shape.0.len() < MOST_STREAMS || shape.0.contains_key(&stream) {
            let columns = shape.0.entry(stream).or_default();
            let names = seen.values().map(|(name, _)| name.into_owned());
            columns.extend(names.take(table::MOST_COLUMNS.saturating_sub(columns.len())));
        }
    }
    Ok(shape)
}

fn plan(
    table: &Table,
    units: Vec<usize>,
    members: &[Member<'_>],
    ask: &Ask,
    mut notes: Vec<String>,
) -> Result<Plan, Refused> {
    let mut state = State { streams: BTreeMap::new(), members: HashMap::new(), read_as: String::new() };
    let mut streams: BTreeMap<String, Stream> = BTreeMap::new();
    for at in &units {
        let Some(member) = members.get(*at) else { continue };
        for stream in streams.values_mut() {
            stream.columns.next_file();
        }
        let mode = survey(member, &mut streams, table.known_stream(ROWS))
            .map_err(|error| unreadable(member, &error))?;
        state.members.insert(member.label.to_owned(), mode);
    }
    for (stream, seen) in streams {
        // Deletions alone reveal nothing about a stream.
        if seen.records == 0 {
            continue;
        }
        let key = seen.key_fields();
        let declared =
            table::declare(&stream, &key, &seen.columns, table.known_stream(&stream), ask, &mut notes)?;
        state.streams.insert(stream, declared);
    }
    let read_as = format!("{:?}{:?}", state.streams, ask.zone.iana_name());
    state.read_as = digest::name([read_as.as_bytes()]);
    Ok(Plan {
        connector: table.connector(state.streams.values().map(|declared| declared.stream.clone()).collect()),
        account: ask.account.clone().unwrap_or_else(|| table.name().to_owned()),
        units,
        notes,
        whose: Whose::default(),
        zone: ask.zone.clone(),
        state: Arc::new(state),
    })
}

/// Reads all lines of a file and decides what they are.
fn survey(
    member: &Member<'_>,
    streams: &mut BTreeMap<String, Stream>,
    known: Option<&crate::vault::declaration::Stream>,
) -> io::Result<Mode> {
    let is_records = is_records(member)?;
    let mut lines = Lines::new((member.open)()?);
    let mut unique = Names::default();
    let mut ids = Columns::default();
    while let Some(line) = lines.read()? {
        let Ok(text) = Line::read(&line) else { continue };
        let Ok(members) = text.members() else { continue };
        if is_records {
            let Ok(Message::Record { stream, key, data, .. }) = message(&members) else { continue };
            let Ok(data) = self::members(data, members.is_damaged) else { continue };
            if streams.len() < MOST_STREAMS || streams.contains_key(&stream) {
                streams.entry(stream).or_default().learn(&key, &data, line.number);
            }
            continue;
        }
        let id = members.key_text(KEY);
        unique.learn(id.map(|id| table::hash([id.as_bytes()])));
        let stream = streams.entry(ROWS.to_owned()).or_default();
        stream.records += 1;
        for (name, value) in members.values() {
            let column = if name == KEY { ids.column(OTHER_KEY) } else { stream.columns.column(&name) };
            if let Some(column) = column {
                column.learn(value.value(), line.number);
            }
        }
    }
    if is_records {
        return Ok(Mode::Records);
    }
    // If `id` identified the rows of the table before, it still does.
    let was_named = known.map(|known| known.field(OTHER_KEY).is_none());
    let is_named = was_named.unwrap_or_else(|| unique.are_unique());
    if !is_named && let Some(stream) = streams.get_mut(ROWS) {
        stream.columns.add(ids);
    }
    Ok(Mode::Rows { is_named })
}

/// A connector's message.
enum Message<'a> {
    Record { stream: String, key: Vec<String>, data: &'a str },
    Deletion { stream: String, key: Vec<String> },
    Other,
}

fn message<'a>(members: &Members<'a>) -> Result<Message<'a>, Bad> {
    if members.string("type").is_some_and(|kind| kind != "RECORD") {
        return Ok(Message::Other);
    }
    let stream = members.string("stream").filter(|name| is_stream_name(name)).ok_or(Bad("no stream"))?;
    let key = members.get("key").and_then(key_parts).ok_or(Bad("no key"))?;
    match members.string("op").as_deref() {
        Some("delete") => return Ok(Message::Deletion { stream, key }),
        None | Some("upsert") => {}
        Some(_) => return Err(Bad("the operation is neither upsert nor delete")),
    }
    let data = members.get("data").filter(|data| data.starts_with('{')).ok_or(Bad("no data"))?;
    Ok(Message::Record { stream, key, data })
}

fn key_of(parts: &[String]) -> String {
    let typed: Vec<String> = parts.iter().map(|part| typed_key(part)).collect();
    match typed.as_slice() {
        [single] => single.clone(),
        several => serde_json::Value::from(several).to_string(),
    }
}

fn record(state: &State, plan: &Plan, members: &Members<'_>) -> Result<Parsed, Bad> {
    let (stream, key, data) = match message(members)? {
        Message::Other => return Ok(Parsed::Skipped("a message that is not a record")),
        Message::Deletion { stream, key } => {
            let Some(declared) = plan.connector.stream(&stream) else {
                return Ok(Parsed::Skipped("a deletion in a stream that does not exist"));
            };
            if declared.primary_key.len() != key.len() {
                return Err(Bad("the key has the wrong number of parts"));
            }
            let draft = Draft {
                stream: stream.into(),
                key: key_of(&key),
                data: None,
                sighting: None,
                blobs: Vec::new(),
                told: None,
            };
            return Ok(Parsed::Records(vec![draft]));
        }
        Message::Record { stream, key, data } => (stream, key, data),
    };
    let declared = state.streams.get(&stream).ok_or(Bad(if state.streams.len() < MOST_STREAMS {
        "changed while it was read"
    } else {
        "too many streams"
    }))?;
    let fields = &declared.stream.primary_key;
    if fields.len() != key.len() {
        return Err(Bad("the key has the wrong number of parts"));
    }
    let data = self::members(data, members.is_damaged)?;
    for (field, part) in fields.iter().zip(&key) {
        if data.get(field).is_some_and(|json| json != "null" && key_part(json).as_deref() != Some(part)) {
            return Err(Bad("the key differs from the one in the data"));
        }
    }
    let typed: Vec<String> = key.iter().map(|part| table::string(&typed_key(part))).collect();
    let (data, told) = put(declared, plan, &data, fields.iter().map(String::as_str).zip(typed))?;
    Ok(Parsed::Records(vec![Draft {
        stream: stream.into(),
        key: key_of(&key),
        data: Some(data),
        sighting: None,
        blobs: Vec::new(),
        told,
    }]))
}

fn row(state: &State, plan: &Plan, line: &Line<'_>, is_named: bool, raw: &Raw) -> Result<Parsed, Bad> {
    let members = line.members()?;
    let declared = state.streams.get(ROWS).ok_or(Bad("changed while it was read"))?;
    let id = is_named.then(|| members.key_text(KEY)).flatten();
    let key = match id {
        Some(id) if raw.copy == 0 => typed_key(&id),
        Some(id) => format!("{}#{}", typed_key(&id), raw.copy + 1),
        None => digest::name([&raw.bytes[..], &raw.copy.to_be_bytes()]),
    };
    let key_field = [(KEY, table::string(&key))];
    let members = if is_named { members } else { members.renamed() };
    let (data, told) = put(declared, plan, &members, key_field.into_iter())?;
    Ok(Parsed::Records(vec![Draft { told, ..Draft::new(ROWS, key, data) }]))
}

impl Members<'_> {
    /// Renames the member that has the key's name.
    fn renamed(mut self) -> Self {
        for (name, _) in &mut self.all {
            if name == KEY {
                OTHER_KEY.clone_into(name);
            }
        }
        self
    }
}

fn put<'a>(
    declared: &'a Declared,
    plan: &Plan,
    members: &Members<'_>,
    key: impl Iterator<Item = (&'a str, String)>,
) -> Result<(String, Option<&'static str>), Bad> {
    let mut values: HashMap<&str, String> = key.collect();
    let time = declared.stream.consent_time_field.as_deref();
    let mut told = None;
    for (name, value) in members.values() {
        let Some(place) = declared.places.get(name.as_ref()) else { continue };
        if let Some((field, json)) = place.put(value.value(), &plan.zone, false)? {
            if time == Some(place.field.as_str()) && field != place.field {
                told = Some(table::UNDATED);
            }
            values.entry(field).or_insert(json);
        }
    }
    Ok((table::object(&declared.stream, values), told))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::import::harness::{self, Kept};

    fn kept(text: impl AsRef<[u8]>) -> (Kept, harness::Counts) {
        let mut kept = Kept::default();
        let counts = kept.import(&Jsonl, &[("table.jsonl", text.as_ref())]);
        (kept, counts)
    }

    fn records(kept: &Kept) -> Vec<(String, String, Json)> {
        kept.records
            .iter()
            .map(|((_, stream, key), data)| {
                (stream.clone(), key.clone(), serde_json::from_str(data).unwrap())
            })
            .collect()
    }

    fn notes(text: &str) -> String {
        harness::plan(&Jsonl, &[("table.jsonl", text.as_bytes())], harness::ask()).unwrap()[0]
            .notes
            .join("\n")
    }

    fn refusal(bytes: &[u8]) -> String {
        match harness::plan(&Jsonl, &[("table.jsonl", bytes)], harness::ask()) {
            Err(Refused::Unfit { why }) => why,
            Err(other) => panic!("{other:?}"),
            Ok(_) => panic!("taken"),
        }
    }

    fn envelope(stream: &str, key: &Json, data: &Json) -> String {
        json!({"type": "RECORD", "stream": stream, "key": key, "data": data, "emitted_at": "2026-01-02T03:04:05Z"})
            .to_string()
            + "\n"
    }

    #[test]
    fn o5_json_lines_are_recognised() {
        let of = |text: &str| harness::sniff(&Jsonl, "a.jsonl", text.as_bytes());
        assert_eq!(of("{\"a\":1}\n{\"a\":2}\n"), Some(Sure::Fallback));
        assert_eq!(of(&envelope("x", &json!("1"), &json!({"id": "1"}))), Some(Sure::Certain));
        for other in ["", "\n", "[{\"a\":1}]", "a,b\n1,2\n", "{\n \"a\": 1\n}\n", "{\"a\":1}\nx\ny\n"] {
            assert_eq!(of(other), None, "{other}");
        }
        // A single object that is the whole file is a row if the owner names the format.
        let claims =
            |text: &str| Jsonl.claims(&[Peek { label: "a.json", head: text.as_bytes(), is_whole: true }]);
        assert_eq!(claims("{\"a\":1}"), [false]);
        let record = envelope("x", &json!("1"), &json!({"id": "1"}));
        for own in ["{\"a\":1}\n", "{\"a\":1}\n{\"a\":2}", record.trim_end()] {
            assert_eq!(claims(own), [true], "{own}");
        }
        let long = format!(
            "{{\"type\":\"RECORD\",\"stream\":\"x\",\"key\":1,\"data\":{{\"t\":\"{}\"}}}}",
            "x".repeat(100_000)
        );
        assert_eq!(of(&long), Some(Sure::Certain));
    }

    #[test]
    fn o5_envelopes_go_where_they_say() {
        let text =
            envelope("trips", &json!("t1"), &json!({"id": "t1", "km": 12.50, "at": "2026-01-02T03:04:05Z"}))
                + &envelope(
                    "readings",
                    &json!(["s/1", 7]),
                    &json!({"sensor": "s/1", "n": 7, "value": 12_345_678_901_234_567_890_u64}),
                )
                + "{\"type\":\"STATE\",\"stream\":\"trips\",\"cursor\":1}\n"
                + "{\"type\":\"RECORD\",\"stream\":\"trips\",\"key\":\"gone\",\"op\":\"delete\"}\n";
        let (kept, counts) = kept(&text);
        assert_eq!((counts.read, counts.new, counts.same), (4, 2, 1), "a deletion of nothing is no record");
        assert_eq!(counts.skipped, BTreeMap::from([("a message that is not a record", 1)]));
        assert_eq!(
            records(&kept),
            [
                (
                    "readings".to_owned(),
                    "[\"s/1\",\"7\"]".to_owned(),
                    serde_json::from_str(r#"{"sensor":"s/1","n":"7","value":12345678901234567890}"#).unwrap()
                ),
                (
                    "trips".to_owned(),
                    "t1".to_owned(),
                    serde_json::from_str(r#"{"id":"t1","km":12.5,"at":"2026-01-02T03:04:05Z"}"#).unwrap()
                ),
            ]
        );
        let stream = kept.connectors["table-table"].stream("readings").unwrap().clone();
        assert_eq!(stream.primary_key, ["sensor", "n"]);
        let trips = kept.connectors["table-table"].stream("trips").unwrap().clone();
        assert_eq!(trips.cursor_field.as_deref(), Some("at"));
    }

    #[test]
    fn o5_numbers_stay_digit_for_digit() {
        let (kept, _) = kept("{\"id\":1,\"n\":1.10}\n{\"id\":2,\"n\":123456789012345678901234567890.5}\n");
        let data: Vec<&String> = kept.records.values().collect();
        assert_eq!(data, [r#"{"id":"1","n":1.10}"#, r#"{"id":"2","n":123456789012345678901234567890.5}"#]);
    }

    #[test]
    fn r8_6_a_key_that_is_not_the_one_in_its_data_is_bad() {
        let text = envelope("x", &json!("27"), &json!({"id": "other"}));
        let (kept, counts) = kept(&text);
        assert_eq!(counts.bad, BTreeMap::from([("the key differs from the one in the data", 1)]));
        assert!(kept.records.is_empty());
        // As a string or as a number, it is the same key.
        let (_, counts) = self::kept(envelope("x", &json!("27"), &json!({"id": 27})));
        assert_eq!(counts.new, 1);
    }

    #[test]
    fn r8_6_doubled_keys_are_one_record_and_the_last_line_counts() {
        let line = |key: &str, value: u8| envelope("x", &json!(key), &json!({"id": key, "v": value}));
        let delete = "{\"stream\":\"x\",\"key\":\"a\",\"op\":\"delete\"}\n";
        let (kept, counts) =
            kept(line("a", 1) + &line("a", 2) + &line("a", 1) + &line("b", 1) + &line("b", 1));
        assert_eq!((counts.read, counts.new, counts.changed, counts.same), (5, 2, 2, 1));
        assert_eq!(records(&kept)[0].2, json!({"id": "a", "v": 1}));
        let (kept, _) = self::kept(line("a", 1) + delete + &line("a", 1));
        assert_eq!(kept.records.len(), 1, "written again after its deletion");
        let (kept, counts) = self::kept(line("a", 1) + &line("b", 1) + delete);
        assert_eq!((kept.records.len(), counts.changed), (1, 1));
    }

    #[test]
    fn o4_11_keys_that_are_not_utf_8_stay_two() {
        let text =
            b"{\"stream\":\"x\",\"key\":\"caf\xe9\",\"data\":{\"id\":\"caf\xe9\",\"t\":\"na\xefve\"}}\n\
            {\"stream\":\"x\",\"key\":\"caf\xe8\",\"data\":{\"id\":\"caf\xe8\",\"t\":\"b\"}}\n";
        let (kept, counts) = kept(text);
        assert_eq!((counts.read, counts.new), (2, 2));
        let all = records(&kept);
        assert_eq!(all[0].1, "caf\u{fffd}~e8");
        assert_eq!(all[1].1, "caf\u{fffd}~e9");
        assert_eq!(all[1].2, json!({"id": "caf\u{fffd}~e9", "t": "na\u{fffd}ve"}));
        // Rows with names as well.
        let (kept, _) =
            self::kept(b"{\"id\":\"caf\xe9\"}\n{\"id\":\"caf\xe8\"}\n{\"id\":\"caf\xef\xbf\xbd\"}\n");
        assert_eq!(kept.records.len(), 3);
    }

    #[test]
    fn o5_lone_surrogates_are_replaced_and_keys_stay_apart() {
        let (kept, counts) = kept(
            r#"{"id":"a\ud800","t":"\udfff\ud83d\ude00 \\ud800"}
{"id":"a\ud801","t":["x\ud800"]}
{"id":"a\ufffd","t":"x"}
"#,
        );
        assert_eq!((counts.new, counts.bad.len()), (3, 0));
        let all = records(&kept);
        assert_eq!(all[0].1, "a\u{fffd}");
        assert_eq!(all[1].1, "a\u{fffd}~d800");
        assert_eq!(all[1].2["t"], "\u{fffd}\u{1f600} \\ud800");
        assert_eq!(all[2].1, "a\u{fffd}~d801");
        // Two of three values are text, so the list is kept as its text.
        assert_eq!(all[2].2["t"], "[\"x\u{fffd}\"]");
    }

    #[test]
    fn o5_a_bad_line_is_bad_and_the_next_goes_on() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(130), "]".repeat(130));
        let text = format!(
            "{{\"id\":1}}\nnonsense\n\n[1]\n{{\"id\":2\n{deep}\n{{\"id\":3}} {{}}\n{{\"id\":4}}\r\n{{\"id\":5}}"
        );
        let (kept, counts) = kept(&text);
        assert_eq!(kept.records.len(), 3);
        assert_eq!(counts.read, 8);
        assert_eq!(
            counts.bad,
            BTreeMap::from([("not JSON", 2), ("not an object", 2), ("nested too deeply", 1)])
        );
        let plan = &harness::plan(&Jsonl, &[("a.jsonl", text.as_bytes())], harness::ask()).unwrap()[0];
        let (items, end) = harness::split(&Jsonl, plan, "a.jsonl", text.as_bytes(), 0);
        assert_eq!((items[2].line, items[2].offset), (Some(4), 19));
        assert_eq!(end, text.len() as u64 - 8, "the last line may go on");
    }

    #[test]
    fn o4_5_a_last_line_is_read_again_also_where_the_import_was_cut_off_behind_it() {
        let start = "{\"id\":\"a\",\"n\":1}\n{\"id\":\"b\",\"n\":1";
        let grown = format!("{start}2}}\n");
        for cut in [1, 2, 3] {
            let mut kept = Kept::default();
            kept.import_some(&Jsonl, &[("a.jsonl", start.as_bytes())], harness::ask(), cut);
            kept.import_some(&Jsonl, &[("a.jsonl", grown.as_bytes())], harness::ask(), usize::MAX);
            assert_eq!(records(&kept)[1].2, json!({"id": "b", "n": 12}));
        }
    }

    #[test]
    fn o4_14_a_line_beyond_the_bound_is_bad_and_not_kept_in_memory() {
        let mut text = b"{\"id\":1}\n{\"id\":2,\"t\":\"".to_vec();
        text.resize(lines::LONGEST + 100, b'x');
        text.extend_from_slice(b"\"}\n{\"id\":3}\n");
        let (kept, counts) = kept(&text);
        assert_eq!(counts.bad, BTreeMap::from([("longer than 64 MiB", 1)]));
        assert_eq!(kept.records.len(), 2);
    }

    #[test]
    fn o5_two_types_are_kept_as_text_and_told() {
        let text = "{\"x\":1}\n{\"x\":\"two\"}\n{\"x\":null}\n";
        let (kept, counts) = kept(text);
        assert_eq!((counts.read, counts.new), (3, 3));
        let mut values: Vec<Json> = records(&kept).into_iter().map(|(.., data)| data["x"].clone()).collect();
        values.sort_by_key(ToString::to_string);
        assert_eq!(values, [json!("1"), json!("two"), Json::Null]);
        assert!(notes(text).contains("`x` is kept as text"), "{}", notes(text));
    }

    #[test]
    fn o5_a_later_file_is_widened_and_said_and_never_refused() {
        let mut kept = Kept::default();
        kept.import(&Jsonl, &[("t.jsonl", b"{\"id\":\"a\",\"n\":1,\"m\":2,\"gone\":true}\n")]);
        let later = b"{\"id\":\"b\",\"n\":1.5,\"m\":2}\n{\"id\":\"c\",\"n\":\"much\",\"more\":[1]}\n";
        let mut ask = harness::ask();
        ask.known = kept.connectors.values().cloned().collect();
        let notes = harness::plan(&Jsonl, &[("t.jsonl", later)], ask).unwrap()[0].notes.join("\n");
        for part in ["`n_text`", "`more` is a new field", "Not in this file: `gone`"] {
            assert!(notes.contains(part), "{part}: {notes}");
        }
        let counts = kept.import(&Jsonl, &[("t.jsonl", later)]);
        assert_eq!(counts.new, 2);
        let data: Vec<&String> = kept.records.values().collect();
        assert_eq!(
            data,
            [
                r#"{"id":"a","n":1,"m":2,"gone":true}"#,
                r#"{"id":"b","n":1.5,"m":2}"#,
                r#"{"id":"c","n_text":"much","more":[1]}"#
            ]
        );
    }

    #[test]
    fn o5_other_files_are_named_in_plain_words() {
        for (bytes, part) in [
            (&b"[{\"a\":1},{\"a\":2}]"[..], "one JSON array"),
            (b"\x1f\x8b\x08\0\0\0", "gzip-compressed file: unpack it first"),
            (b"From ana@example.org Thu Jan  1 00:00:00 2026\nSubject: x\n\nHi\n", "a mailbox (mbox)"),
            (b"date,amount\n2026-01-01,5\n", "a table (CSV)"),
            (b"{\n  \"a\": 1\n}\n", "JSON over several lines"),
            (b"PK\x03\x04....", "a zip archive"),
            (b"\xff\xfe{\0\"\0", "UTF-16"),
        ] {
            let why = refusal(bytes);
            assert!(
                why.contains(part) && why.starts_with("It is not a file with one object per line"),
                "{why}"
            );
        }
    }

    fn object() -> impl Strategy<Value = Json> {
        prop_oneof![
            (0..6_u8, "[a-c]{0,2}").prop_map(|(id, text)| json!({"id": id, "t": text})),
            (0..3_u8).prop_map(|number| json!({"n": number})),
        ]
    }

    fn lines(objects: &[Json]) -> Vec<u8> {
        objects.iter().flat_map(|object| format!("{object}\n").into_bytes()).collect()
    }

    proptest! {
        #[test]
        fn o8_5_twice_is_once_and_cut_anywhere_is_whole(
            objects in proptest::collection::vec(object(), 0..12),
            cut in 0..12_usize,
            is_record in any::<bool>(),
        ) {
            let bytes = if is_record {
                objects.iter().flat_map(|data| envelope("x", &data["id"].as_u64().unwrap_or(9).into(), data).into_bytes()).collect()
            } else {
                lines(&objects)
            };
            let files = [("t.jsonl", &bytes[..])];
            let mut whole = Kept::default();
            let counts = whole.import(&Jsonl, &files);
            prop_assert_eq!(counts.read, counts.new + counts.changed + counts.same
                + counts.skipped.values().sum::<u64>() + counts.bad.values().sum::<u64>());
            let before = whole.records.clone();
            let again = whole.import(&Jsonl, &files);
            prop_assert_eq!(&whole.records, &before);
            prop_assert_eq!((again.new, again.changed), (0, 0));
            let mut pieces = Kept::default();
            pieces.import_some(&Jsonl, &files, harness::ask(), cut);
            pieces.import_some(&Jsonl, &files, harness::ask(), usize::MAX);
            prop_assert_eq!(&pieces.records, &before);
        }

        #[test]
        fn o4_13_overlapping_exports_come_in_any_order(
            all in proptest::collection::btree_map(0..20_u8, "[a-c]{1,2}", 1..12),
            from in 0..6_usize,
            length in 1..12_usize,
        ) {
            let objects: Vec<Json> = all.iter().map(|(id, text)| json!({"id": id, "t": text})).collect();
            let from = from.min(objects.len() - 1);
            let (first, second) = (lines(&objects[..length.min(objects.len())]), lines(&objects[from..]));
            let import = |order: [&[u8]; 2]| {
                let mut kept = Kept::default();
                for bytes in order {
                    kept.import(&Jsonl, &[("t.jsonl", bytes)]);
                }
                kept.records
            };
            prop_assert_eq!(import([&first, &second]), import([&second, &first]));
        }

        #[test]
        fn o4_14_any_bytes_are_read_or_refused(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..300),
                "([{}\\[\\]\",:a0-9\\\\ud\n]|\\\\ud8|\"id\":){0,200}".prop_map(String::into_bytes),
            ],
        ) {
            harness::sniff(&Jsonl, "t.jsonl", &bytes);
            if harness::plan(&Jsonl, &[("t.jsonl", &bytes)], harness::ask()).is_ok() {
                kept(&bytes);
            }
        }
    }
}
