//! Edits other programs' files: adds, replaces or removes one entry, and leaves every other byte unchanged.
//!
//! Each format finds the place with a parser and edits by splicing text. The result is parsed again and
//! compared with what was intended, so a wrong splice is an error and not a broken config.
//!
//! Removing an added entry restores the original bytes, and the folders that were made for a new file go with it. To make that possible, the white space around an entry
//! records the state before: an object that `put` makes has white space before its closing brace; an object that
//! it found empty has none, or has a number of spaces after its member that encodes the earlier text.

mod json;
mod toml;
mod yaml;

use serde_json::{Map, Value};

/// The format of a host's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON as `JSON.parse` accepts it: no comments, no trailing commas.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    /// TOML, with entries as tables `[container.name]`.
    Toml,
    /// YAML.
    Yaml,
}

/// The value of a field of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// A string.
    Text(String),
    /// A list of strings.
    Texts(Vec<String>),
    /// A whole number.
    Number(u32),
    /// True or false.
    Flag(bool),
}

impl Field {
    fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => Value::from(text.as_str()),
            Self::Texts(texts) => Value::from(texts.clone()),
            Self::Number(number) => Value::from(*number),
            Self::Flag(flag) => Value::from(*flag),
        }
    }
}

/// Who decides about a field of an entry once the entry exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// We do: the field makes the entry start this program. Every update sets it.
    Ours,
    /// The person does, but the host accepts no entry without it: set if it is missing.
    Needed,
    /// The person does: the value is only the first one in a new entry.
    Theirs,
}

/// An entry, in the order in which it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields(pub Vec<(&'static str, Field, Whose)>);

impl Fields {
    /// The entry as JSON.
    pub fn to_json(&self) -> Value {
        Value::Object(self.0.iter().map(|(key, field, _)| ((*key).to_owned(), field.to_json())).collect())
    }

    /// Whether every update sets `key`.
    pub fn is_set_by_update(&self, key: &str) -> bool {
        self.0.iter().any(|(name, _, whose)| *name == key && *whose == Whose::Ours)
    }

    /// Whether a new entry has a field `key`.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(name, ..)| *name == key)
    }
}

/// Where the entry is in a file: a member `name` of the member `container` of the root.
#[derive(Debug, Clone, Copy)]
pub struct EntryPath<'a> {
    /// `mcpServers`, `servers`, ...
    pub container: &'a str,
    /// The entry's name.
    pub name: &'a str,
}

/// The result of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edited {
    /// The file's new text, with an entry that did not exist before.
    Added(String),
    /// The file's new text, with another entry, or with another value in it.
    Updated(String),
    /// The file's new text, without the entry.
    Removed(String),
    /// The file was made for the entry and held nothing else: it can be deleted.
    RemovedWithFile,
    /// The file already has the entry, or (for a removal) does not have it.
    Unchanged,
}

/// Why a file is left unchanged. Lines and columns count from 1; columns are in characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It cannot be parsed.
    #[error("line {line}, column {column}: {what}")]
    Unparsable {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
        /// The parser's message.
        what: String,
    },
    /// A key on the way to the entry occurs twice: hosts disagree about which one counts.
    #[error("line {line}, column {column}: `{key}` occurs a second time")]
    Duplicate {
        /// The line of the second one.
        line: usize,
        /// Its column.
        column: usize,
        /// The key.
        key: String,
    },
    /// Something other than the entry or its container is in that place.
    #[error("line {line}, column {column}: {what}")]
    WrongType {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
        /// A description of what pdpp found instead.
        what: String,
    },
    /// It is written in a way that cannot be edited without touching more than the entry.
    #[error("it is written in a way that pdpp cannot edit without touching more than the entry ({0})")]
    Unsafe(String),
}

impl EditError {
    /// Line and column, if they are known.
    pub const fn at(&self) -> Option<(usize, usize)> {
        match self {
            Self::Unparsable { line, column, .. }
            | Self::Duplicate { line, column, .. }
            | Self::WrongType { line, column, .. } => Some((*line, *column)),
            Self::Unsafe(_) => None,
        }
    }

    fn wrong_type(text: &str, at: usize, what: impl Into<String>) -> Self {
        let (line, column) = position(text, at);
        Self::WrongType { line, column, what: what.into() }
    }

    fn duplicate(text: &str, at: usize, key: &str) -> Self {
        let (line, column) = position(text, at);
        Self::Duplicate { line, column, key: key.to_owned() }
    }
}

/// The file as data: its root, or `{}` if the file is empty.
///
/// # Errors
/// If it is not `format`, or its root is not an object.
pub fn read(format: Format, text: &str) -> Result<Map<String, Value>, EditError> {
    let root = match format {
        Format::Json | Format::Jsonc => json::read(text, format == Format::Json)?,
        Format::Toml => toml::read(text)?,
        Format::Yaml => yaml::read(text)?,
    };
    match root {
        Value::Object(root) => Ok(root),
        _ => Err(EditError::wrong_type(text, 0, "the file is not an object of settings")),
    }
}

/// The entry in a file, as [`read`] returned it.
pub fn entry<'a>(root: &'a Map<String, Value>, place: EntryPath<'_>) -> Option<&'a Value> {
    root.get(place.container)?.get(place.name)
}

/// The entry in a file that could be edited; `None` if the file has none.
///
/// # Errors
/// The error that [`put`] or [`take`] would return.
pub fn check(format: Format, text: &str, place: EntryPath<'_>) -> Result<Option<Value>, EditError> {
    let root = read(format, text)?;
    let there = entry(&root, place).cloned();
    match there {
        Some(_) => take(format, text, place).map(drop)?,
        None => put(format, Some(text), place, &Fields(Vec::new())).map(drop)?,
    }
    Ok(there)
}

/// Sets those of `fields` in the existing entry that are not the person's, and keeps every other byte of the
/// entry.
///
/// # Errors
/// If that is not possible without touching anything else.
pub fn update(
    format: Format,
    text: &str,
    place: EntryPath<'_>,
    fields: &Fields,
) -> Result<Edited, EditError> {
    let mut meant = read(format, text)?;
    let mut edited = None;
    for (key, field, whose) in &fields.0 {
        let entry = meant.get_mut(place.container).and_then(|container| container.get_mut(place.name));
        let Some(Value::Object(entry)) = entry else {
            return Err(EditError::Unsafe("the entry is not an object".to_owned()));
        };
        let (had, wanted) = (entry.get(*key), field.to_json());
        if match whose {
            Whose::Ours => had == Some(&wanted),
            Whose::Needed => had.is_some(),
            Whose::Theirs => true,
        } {
            continue;
        }
        entry.insert((*key).to_owned(), wanted);
        let before = edited.as_deref().unwrap_or(text);
        let set = match format {
            Format::Json | Format::Jsonc => json::set(before, format == Format::Json, place, key, field),
            Format::Toml => toml::set(before, place, key, field),
            Format::Yaml => yaml::set(before, place, key, field),
        };
        // An error in text that we generated would not be an error at a place in the file.
        edited = Some(if edited.is_none() { set? } else { set.map_err(|_| torn(format, text))? });
    }
    let Some(edited) = edited else { return Ok(Edited::Unchanged) };
    if read(format, &edited).ok().as_ref() != Some(&meant) {
        return Err(torn(format, text));
    }
    Ok(Edited::Updated(edited))
}

/// Puts `fields` in the entry's place, whatever is there. `text` is the file without a byte order mark, or
/// `None` if the file does not exist.
///
/// # Errors
/// If that is not possible without touching anything else.
pub fn put(
    format: Format,
    text: Option<&str>,
    place: EntryPath<'_>,
    fields: &Fields,
) -> Result<Edited, EditError> {
    let before = read(format, text.unwrap_or_default())?;
    let had = entry(&before, place);
    if had == Some(&fields.to_json()) {
        return Ok(Edited::Unchanged);
    }
    let had = had.is_some();
    let edited = match format {
        Format::Json | Format::Jsonc => json::put(text, format == Format::Json, place, fields)?,
        Format::Toml => toml::put(text, place, fields)?,
        Format::Yaml => yaml::put(text, place, fields)?,
    };
    let mut meant = before;
    let container = meant.entry(place.container).or_insert_with(|| Value::Object(Map::new()));
    if container.is_null() {
        *container = Value::Object(Map::new());
    }
    container[place.name] = fields.to_json();
    if read(format, &edited).ok().as_ref() != Some(&meant) {
        return Err(torn(format, text.unwrap_or_default()));
    }
    if had {
        return Ok(Edited::Updated(edited));
    }
    // Checked for every edit, not only in tests: what is added can be removed again without a trace.
    let undone = match take(format, &edited, place)? {
        Edited::Removed(undone) => Some(undone),
        _ => None,
    };
    if undone.as_deref() != text {
        return Err(EditError::Unsafe("pdpp could not remove the entry again without a trace".to_owned()));
    }
    Ok(Edited::Added(edited))
}

/// The error for an edit whose result differs from the intention. `text` is the file before the edit.
fn torn(format: Format, text: &str) -> EditError {
    let alias = if format == Format::Yaml { yaml::alias(text) } else { None };
    alias.unwrap_or_else(|| EditError::Unsafe("its text and its content do not match".to_owned()))
}

/// The text of a new file for which `count` folders were made. A last line of as many spaces notes that: every
/// format ignores it.
pub fn with_folders(text: String, count: usize) -> String {
    if count == 0 || !text.ends_with('\n') { text } else { format!("{text}{}\n", " ".repeat(count)) }
}

/// How many folders were made for the file with this text, according to its last line.
pub fn folders(text: &str) -> usize {
    text.len().saturating_sub(without_folders(text).len() + 1)
}

fn without_folders(text: &str) -> &str {
    let before = text.strip_suffix('\n').map(|text| text.trim_end_matches(' '));
    before.filter(|before| before.ends_with('\n')).unwrap_or(text)
}

/// Removes the entry, and what [`put`] made around it.
///
/// # Errors
/// If that is not possible without touching anything else.
pub fn take(format: Format, text: &str, place: EntryPath<'_>) -> Result<Edited, EditError> {
    let bare = without_folders(text);
    if bare.len() < text.len() && taken(format, bare, place) == Ok(Edited::RemovedWithFile) {
        return Ok(Edited::RemovedWithFile);
    }
    taken(format, text, place)
}

fn taken(format: Format, text: &str, place: EntryPath<'_>) -> Result<Edited, EditError> {
    let before = read(format, text)?;
    if entry(&before, place).is_none() {
        return Ok(Edited::Unchanged);
    }
    let edited = match format {
        Format::Json | Format::Jsonc => json::take(text, format == Format::Json, place)?,
        Format::Toml => toml::take(text, place)?,
        Format::Yaml => yaml::take(text, place)?,
    };
    let mut meant = before;
    if let Some(Value::Object(container)) = meant.get_mut(place.container) {
        container.remove(place.name);
    }
    let got = read(format, edited.as_deref().unwrap_or_default()).ok();
    let emptied = |root: &Map<String, Value>| match root.get(place.container) {
        Some(Value::Object(container)) => container.is_empty(),
        other => other.is_none_or(Value::is_null),
    };
    // An emptied container may remain, or be gone, or (in YAML) have no value again.
    let same = got.is_some_and(|mut got| {
        if emptied(&got) && emptied(&meant) {
            got.remove(place.container);
            meant.remove(place.container);
        }
        got == meant
    });
    if !same {
        return Err(torn(format, text));
    }
    Ok(edited.map_or(Edited::RemovedWithFile, Edited::Removed))
}

/// Line and column (from 1, in characters) of the byte `at`.
pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The line break that a file uses: the first one in it.
fn newline_of(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// `text` with pieces replaced; the pieces are in order and do not overlap.
fn splice(text: &str, pieces: &[(std::ops::Range<usize>, &str)]) -> String {
    let mut out = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for (range, piece) in pieces {
        out.push_str(&text[at..range.start]);
        out.push_str(piece);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

/// A JSON string, which is also valid as a TOML basic string and a YAML double-quoted string.
fn quoted(text: &str) -> String {
    // DEL is the one character that JSON does not escape and TOML does not accept.
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// A field on one line, valid in JSON, TOML and YAML.
fn written(field: &Field) -> String {
    match field {
        Field::Text(text) => quoted(text),
        Field::Texts(texts) => quoted_list(texts),
        Field::Number(number) => number.to_string(),
        Field::Flag(flag) => flag.to_string(),
    }
}

fn quoted_list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests;
