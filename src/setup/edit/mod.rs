//! Edits of files that belong to others: one entry is put in, replaced or taken out, and every other
//! byte stays as it is.
//!
//! Each format finds the place with a parser and edits by splicing text. What comes out is parsed again
//! and compared with what was meant, so a splice that went wrong is an error and not a broken config.
//!
//! Taking out what was put in gives back the bytes of before. For that, what surrounds an entry says
//! whether it was there already: an object that `put` makes has white space before its closing brace;
//! one that it found empty has none, or so many spaces behind its member as say what it was.

mod json;
mod toml;
mod yaml;

use serde_json::{Map, Value};

/// How a host's file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON as `JSON.parse` takes it: no comments, no trailing commas.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    /// TOML, entries as tables `[container.name]`.
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

/// Whose a field of an entry is once the entry is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Ours: what makes the entry start this program. Set by every update.
    Ours,
    /// The person's, but the host takes no entry without it: set where it is missing.
    Needed,
    /// The person's: a first value in a new entry.
    Theirs,
}

/// An entry in the order in which it is written.
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

/// Where in a file the entry is: a member `name` of the member `container` of the root.
#[derive(Debug, Clone, Copy)]
pub struct EntryPath<'a> {
    /// `mcpServers`, `servers`, ...
    pub container: &'a str,
    /// The entry's own name.
    pub name: &'a str,
}

/// What an edit comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edited {
    /// The file's new text, with an entry that was not there.
    Added(String),
    /// The file's new text, with another entry, or with another value in it.
    Updated(String),
    /// The file's new text, without the entry.
    Removed(String),
    /// Nothing but the entry was in the file, which was made for it: the file can go.
    RemovedWithFile,
    /// The file has it already, or (when it is to be removed) does not have it.
    Unchanged,
}

/// Why a file is left as it is. Lines and columns count from 1; columns are in characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It cannot be parsed.
    #[error("line {line}, column {column}: {what}")]
    Unparsable {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
        /// What the parser says.
        what: String,
    },
    /// A key that the edit goes through is there twice: hosts disagree which one counts.
    #[error("line {line}, column {column}: `{key}` is there a second time")]
    Duplicate {
        /// The line of the second one.
        line: usize,
        /// Its column.
        column: usize,
        /// The key.
        key: String,
    },
    /// Something else than the entry or its container stands in that place.
    #[error("line {line}, column {column}: {what}")]
    WrongType {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
        /// What is there instead.
        what: String,
    },
    /// It is written in a way that cannot be edited without touching more than the entry.
    #[error("it is written in a way that cannot be edited without touching more than the entry ({0})")]
    Unsafe(String),
}

impl EditError {
    /// Line and column, where they can be told.
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

/// The file as data: its root, `{}` if there is nothing in it.
///
/// # Errors
/// If it is not `format`, or its root is no object.
pub fn read(format: Format, text: &str) -> Result<Map<String, Value>, EditError> {
    let root = match format {
        Format::Json | Format::Jsonc => json::read(text, format == Format::Json)?,
        Format::Toml => toml::read(text)?,
        Format::Yaml => yaml::read(text)?,
    };
    match root {
        Value::Object(root) => Ok(root),
        _ => Err(EditError::wrong_type(text, 0, "the file is no object of settings")),
    }
}

/// The entry in a file that [`read`] read.
pub fn entry<'a>(root: &'a Map<String, Value>, place: EntryPath<'_>) -> Option<&'a Value> {
    root.get(place.container)?.get(place.name)
}

/// The entry in a file that could be edited; `None` if it has none.
///
/// # Errors
/// What [`put`] or [`take`] would say.
pub fn check(format: Format, text: &str, place: EntryPath<'_>) -> Result<Option<Value>, EditError> {
    let root = read(format, text)?;
    let there = entry(&root, place).cloned();
    match there {
        Some(_) => take(format, text, place).map(drop)?,
        None => put(format, Some(text), place, &Fields(Vec::new())).map(drop)?,
    }
    Ok(there)
}

/// Sets those of `fields` in the entry that is there that are not the person's, and keeps every other byte of it.
///
/// # Errors
/// If that cannot be done without touching anything else.
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
            return Err(EditError::Unsafe("the entry is no object".to_owned()));
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
        // What is wrong with a text of our own making has no place in the file.
        edited = Some(if edited.is_none() { set? } else { set.map_err(|_| torn(format, text))? });
    }
    let Some(edited) = edited else { return Ok(Edited::Unchanged) };
    if read(format, &edited).ok().as_ref() != Some(&meant) {
        return Err(torn(format, text));
    }
    Ok(Edited::Updated(edited))
}

/// Puts `fields` in its place, for whatever is there: `text` is the file without a byte order mark, `None` if there
/// is no file.
///
/// # Errors
/// If that cannot be done without touching anything else.
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
    // What is added can be taken out again without a trace: checked each time, not only in tests.
    let undone = match take(format, &edited, place)? {
        Edited::Removed(undone) => Some(undone),
        _ => None,
    };
    if undone.as_deref() != text {
        return Err(EditError::Unsafe("the entry could not be taken out again without a trace".to_owned()));
    }
    Ok(Edited::Added(edited))
}

/// What was edited does not say what was meant: `text` is the file before.
fn torn(format: Format, text: &str) -> EditError {
    let alias = if format == Format::Yaml { yaml::alias(text) } else { None };
    alias.unwrap_or_else(|| EditError::Unsafe("its text and its content do not go together".to_owned()))
}

/// Takes the entry out of its place, and what [`put`] made around it.
///
/// # Errors
/// If that cannot be done without touching anything else.
pub fn take(format: Format, text: &str, place: EntryPath<'_>) -> Result<Edited, EditError> {
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
    // An emptied container may be left, or gone, or (in YAML) without a value again.
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

/// A JSON string, which is a TOML basic string and a YAML double-quoted one as well.
fn quoted(text: &str) -> String {
    // DEL is the one character that JSON leaves as it is and TOML does not take.
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// A field on one line, as JSON, TOML and YAML alike take it.
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
