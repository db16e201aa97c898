//! YAML: `saphyr` finds the line of a key, and the edit itself is textual. A new entry comes first in its
//! block, because the line of a block's key is certain and the end of the block is not.

use std::fmt::Write as _;
use std::ops::Range;

use saphyr::{LoadableYamlNode as _, MarkedYaml, Marker, Scalar, YamlData};
use serde_json::{Map, Value};

use super::{EditError, EntryPath, Field, Fields, newline_of, quoted, splice, written};

type Node<'a> = MarkedYaml<'a>;

fn parse(text: &str) -> Result<Option<Node<'_>>, EditError> {
    let mut documents = MarkedYaml::load_from_str(text).map_err(|error| EditError::Unparsable {
        line: error.marker().line(),
        column: error.marker().col() + 1,
        what: error.info().to_owned(),
    })?;
    match documents.len() {
        0 | 1 => Ok(documents.pop().filter(|root| !is_null(root))),
        _ => {
            let second = byte_at(text, documents[1].span.start);
            Err(EditError::wrong_type(
                text,
                second,
                "a second YAML document begins here, and pdpp cannot know which one counts",
            ))
        }
    }
}

fn is_null(node: &Node<'_>) -> bool {
    matches!(node.data, YamlData::Value(Scalar::Null))
}

pub(super) fn read(text: &str) -> Result<Value, EditError> {
    Ok(parse(text)?.map_or_else(|| Value::Object(Map::new()), |root| value(&root)))
}

fn value(node: &Node<'_>) -> Value {
    match &node.data {
        YamlData::Value(Scalar::Null) => Value::Null,
        YamlData::Value(Scalar::Boolean(flag)) => Value::from(*flag),
        YamlData::Value(Scalar::Integer(number)) => Value::from(*number),
        YamlData::Value(Scalar::FloatingPoint(number)) => Value::from(number.into_inner()),
        YamlData::Value(Scalar::String(text)) => Value::from(text.as_ref()),
        YamlData::Sequence(items) => Value::Array(items.iter().map(value).collect()),
        YamlData::Mapping(members) => {
            Value::Object(members.iter().map(|(key, member)| (key_text(key), value(member))).collect())
        }
        YamlData::Tagged(_, inner) => value(inner),
        other => Value::from(format!("{other:?}")),
    }
}

fn key_text(key: &Node<'_>) -> String {
    match value(key) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// A member of a mapping.
struct Member<'a, 'b> {
    key: &'b Node<'a>,
    value: &'b Node<'a>,
    /// Whether it is the only member.
    alone: bool,
}

fn member<'a, 'b>(node: &'b Node<'a>, key: &str) -> Option<Member<'a, 'b>> {
    let YamlData::Mapping(members) = &node.data else { return None };
    let found = members.iter().find(|(member, _)| member.data.as_str() == Some(key));
    found.map(|(key, value)| Member { key, value, alone: members.len() == 1 })
}

/// The byte at a marker, whose line counts from 1 and whose column counts characters from 0.
fn byte_at(text: &str, marker: Marker) -> usize {
    let start = line_start(text, marker.line());
    let column = text[start..].char_indices().nth(marker.col()).map_or(text.len() - start, |(byte, _)| byte);
    start + column
}

/// The start of line `line` (from 1).
fn line_start(text: &str, line: usize) -> usize {
    match line.checked_sub(2) {
        None => 0,
        Some(newlines) => text.match_indices('\n').nth(newlines).map_or(text.len(), |(at, _)| at + 1),
    }
}

fn starts_flow(text: &str, node: &Node<'_>) -> Option<usize> {
    let start = byte_at(text, node.span.start);
    text[start..].starts_with('{').then_some(start)
}

pub(super) fn put(text: Option<&str>, place: EntryPath<'_>, fields: &Fields) -> Result<String, EditError> {
    let file = text.unwrap_or_default();
    let newline = newline_of(file);
    let Some(root) = parse(file)? else {
        return append(text, newline, place, fields);
    };
    let YamlData::Mapping(members) = &root.data else {
        return Err(EditError::wrong_type(file, byte_at(file, root.span.start), "the file is not a mapping"));
    };
    let Some(container) = member(&root, place.container) else {
        if let Some(start) = starts_flow(file, &root) {
            let comma = if members.is_empty() { "" } else { "," };
            let made =
                format!("{}: {{ {}: {} }}{comma}", quoted(place.container), quoted(place.name), flow(fields));
            return Ok(splice(file, &[(start + 1..start + 1, &made)]));
        }
        if root.span.start.col() != 0 {
            let at = byte_at(file, root.span.start);
            return Err(EditError::wrong_type(file, at, "the first key is indented"));
        }
        return append(text, newline, place, fields);
    };
    if let Some(entry) = member(container.value, place.name) {
        return replace(file, newline, &container, &entry, place, fields);
    }
    match &container.value.data {
        YamlData::Mapping(members) => {
            if let Some(start) = starts_flow(file, container.value) {
                let comma = if members.is_empty() { "" } else { "," };
                let made = format!("{}: {}{comma}", quoted(place.name), flow(fields));
                return Ok(splice(file, &[(start + 1..start + 1, &made)]));
            }
            let Some((first, _)) = members.iter().next() else {
                return Err(EditError::Unsafe("an empty block".to_owned()));
            };
            let indent = " ".repeat(first.span.start.col());
            let at = line_start(file, container.key.span.start.line() + 1);
            Ok(splice(file, &[(at..at, &block(newline, &indent, place.name, fields))]))
        }
        YamlData::Value(Scalar::Null) => {
            let at = byte_at(file, container.key.span.end);
            let rest = file[at..].split(['\r', '\n', '#']).next().unwrap_or_default();
            let Some(colon) = rest.find(':').filter(|_| rest.trim() == ":") else {
                return Err(not_a_mapping(file, &container, place));
            };
            let made = format!(" {{ {}: {} }}", quoted(place.name), flow(fields));
            let at = at + colon + 1;
            Ok(splice(file, &[(at..at, &made)]))
        }
        _ => Err(not_a_mapping(file, &container, place)),
    }
}

fn not_a_mapping(text: &str, container: &Member<'_, '_>, place: EntryPath<'_>) -> EditError {
    let at = byte_at(text, container.key.span.start);
    EditError::wrong_type(text, at, format!("`{}` is not a mapping", place.container))
}

/// A separate container at the end; a file ends with a line break only if it did before.
fn append(
    text: Option<&str>,
    newline: &str,
    place: EntryPath<'_>,
    fields: &Fields,
) -> Result<String, EditError> {
    let file = text.unwrap_or_default();
    let mut lines = file.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line.trim_end()))
    });
    if let Some((at, _)) = lines.find(|(_, line)| *line == "...") {
        return Err(EditError::wrong_type(file, at, "`...` ends the document, and nothing can follow it"));
    }
    let whole = format!("{}:{newline}{}", place.container, block(newline, "  ", place.name, fields));
    Ok(match text {
        None => whole,
        Some("") => whole.trim_end().to_owned(),
        Some(file) if file.ends_with('\n') => format!("{file}{whole}"),
        Some(file) => format!("{file}{newline}{}", whole.trim_end()),
    })
}

/// The first thing that looks like an alias (`*name`). An alias uses one text in two places of a file, so an
/// edit of one of them is not safe.
pub(super) fn alias(text: &str) -> Option<EditError> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let at = text.match_indices('*').map(|(at, _)| at).find(|at| {
        let line = text[..*at].rfind('\n').map_or(0, |newline| newline + 1);
        let before = &text[line..*at];
        text[at + 1..].starts_with(is_name)
            && before.chars().next_back().is_none_or(|c| c.is_whitespace() || "[{,".contains(c))
            && !before.contains('#')
    })?;
    let name: String = text[at..].chars().take_while(|c| *c == '*' || is_name(*c) || *c == '-').collect();
    Some(EditError::wrong_type(
        text,
        at,
        format!("the alias `{name}` uses one text in two places of the file"),
    ))
}

fn block(newline: &str, indent: &str, name: &str, fields: &Fields) -> String {
    let mut out = format!("{indent}{name}:{newline}");
    for (key, field, _) in &fields.0 {
        let _ = write!(out, "{indent}  {key}: {}{newline}", written(field));
    }
    out
}

fn flow(fields: &Fields) -> String {
    let members: Vec<_> =
        fields.0.iter().map(|(key, field, _)| format!("{}: {}", quoted(key), written(field))).collect();
    format!("{{{}}}", members.join(", "))
}

fn replace(
    text: &str,
    newline: &str,
    container: &Member<'_, '_>,
    entry: &Member<'_, '_>,
    place: EntryPath<'_>,
    fields: &Fields,
) -> Result<String, EditError> {
    if starts_flow(text, container.value).is_some() || starts_flow(text, entry.value).is_some() {
        let range = flow_value(text, entry)?;
        return Ok(splice(text, &[(range, &flow(fields))]));
    }
    let lines = block_lines(text, entry);
    let indent = " ".repeat(entry.key.span.start.col());
    let new = block(newline, &indent, place.name, fields);
    let new = if text[lines.clone()].ends_with('\n') { new.as_str() } else { new.trim_end() };
    Ok(splice(text, &[(lines, new)]))
}

/// Sets one field of the existing entry.
pub(super) fn set(text: &str, place: EntryPath<'_>, key: &str, field: &Field) -> Result<String, EditError> {
    let gone = || EditError::Unsafe("the entry is gone".to_owned());
    let root = parse(text)?.ok_or_else(gone)?;
    let container = member(&root, place.container).ok_or_else(gone)?;
    let entry = member(container.value, place.name).ok_or_else(gone)?;
    let open = starts_flow(text, entry.value);
    if let Some(old) = member(entry.value, key) {
        let in_flow = open.is_some() || starts_flow(text, container.value).is_some();
        let (range, space) = value_range(text, &old, in_flow)?;
        return Ok(splice(text, &[(range, &format!("{space}{}", written(field)))]));
    }
    if let Some(open) = open {
        let made = format!("{}: {}, ", quoted(key), written(field));
        return Ok(splice(text, &[(open + 1..open + 1, &made)]));
    }
    let YamlData::Mapping(members) = &entry.value.data else { return Err(gone()) };
    let (first, _) = members.iter().next().ok_or_else(gone)?;
    let at = line_start(text, first.span.start.line());
    let indent = " ".repeat(first.span.start.col());
    Ok(splice(text, &[(at..at, &format!("{indent}{key}: {}{}", written(field), newline_of(text)))]))
}

/// The text of a member's value, and what must precede a new value.
fn value_range(
    text: &str,
    member: &Member<'_, '_>,
    in_flow: bool,
) -> Result<(Range<usize>, &'static str), EditError> {
    let unclear = || EditError::Unsafe("pdpp cannot find the place of a value".to_owned());
    let start = byte_at(text, member.value.span.start);
    let rest = &text[start..];
    // A list with one line per item is replaced from the colon to its last item, with any comments between
    // them.
    if let YamlData::Sequence(items) = &member.value.data
        && !rest.starts_with('[')
    {
        let value = items.last().ok_or_else(unclear)?;
        let last = value_range(text, &Member { value, ..*member }, in_flow)?.0;
        let key_end = byte_at(text, member.key.span.end);
        let colon = key_end + text[key_end..].find(':').ok_or_else(unclear)? + 1;
        return Ok((colon..last.end, " "));
    }
    Ok(match rest.chars().next().ok_or_else(unclear)? {
        '{' | '[' => (start..flow_end(text, start)?, ""),
        quote @ ('"' | '\'') => (start..quoted_end(text, start, quote).ok_or_else(unclear)?, ""),
        '|' | '>' | '&' | '*' | '!' => return Err(unclear()),
        _ => {
            let line = rest.lines().next().unwrap_or_default();
            let end = line.find(" #").unwrap_or(line.len());
            let end = if in_flow { line[..end].find([',', '}', ']']).unwrap_or(end) } else { end };
            (start..start + line[..end].trim_end().len(), "")
        }
    })
}

/// The byte after the quoted text that begins at `start`.
fn quoted_end(text: &str, start: usize, quote: char) -> Option<usize> {
    let mut characters = text[start + 1..].char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if c == '\\' && quote == '"' {
            characters.next();
        } else if c == quote {
            // Two single quotes stand for one.
            if quote == '\'' && characters.next_if(|(_, next)| *next == quote).is_some() {
                continue;
            }
            return Some(start + 1 + at + 1);
        }
    }
    None
}

/// The lines of a block member: the line of its key, and those below that are indented deeper.
fn block_lines(text: &str, entry: &Member<'_, '_>) -> Range<usize> {
    let column = entry.key.span.start.col();
    let start = line_start(text, entry.key.span.start.line());
    let mut end = start + text[start..].find('\n').map_or(text.len() - start, |newline| newline + 1);
    let mut at = end;
    for line in text[end..].split_inclusive('\n') {
        at += line.len();
        let content = line.trim();
        if content.is_empty() {
            continue;
        }
        if line.len() - line.trim_start_matches(' ').len() <= column {
            break;
        }
        end = at;
    }
    start..end
}

/// The text of a member's value that is written as a flow mapping.
fn flow_value(text: &str, entry: &Member<'_, '_>) -> Result<Range<usize>, EditError> {
    let start = starts_flow(text, entry.value).ok_or_else(unclear_flow)?;
    Ok(start..flow_end(text, start)?)
}

fn unclear_flow() -> EditError {
    EditError::Unsafe("pdpp cannot find the end of a flow mapping".to_owned())
}

/// The byte after the flow mapping or list that begins at `start`.
fn flow_end(text: &str, start: usize) -> Result<usize, EditError> {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text[start..].char_indices() {
        match (quote, c) {
            (Some('"'), _) if escaped => escaped = false,
            (Some('"'), '\\') => escaped = true,
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') => return Err(unclear_flow()),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => {
                depth = depth.checked_sub(1).ok_or_else(unclear_flow)?;
                if depth == 0 {
                    return Ok(start + at + 1);
                }
            }
            _ => {}
        }
    }
    Err(unclear_flow())
}

/// The text without a member of a flow mapping, and without the member's comma.
fn flow_cut(text: &str, entry: &Member<'_, '_>) -> Result<String, EditError> {
    let start = byte_at(text, entry.key.span.start);
    let end = flow_value(text, entry)?.end;
    let after = text[end..].trim_start();
    if after.starts_with(',') {
        return Ok(splice(text, &[(start..text.len() - after.len() + 1, "")]));
    }
    let before = text[..start].trim_end();
    let start = if before.ends_with(',') { before.len() - 1 } else { start };
    Ok(splice(text, &[(start..end, "")]))
}

pub(super) fn take(text: &str, place: EntryPath<'_>) -> Result<Option<String>, EditError> {
    let gone = || EditError::Unsafe("the entry is gone".to_owned());
    let root = parse(text)?.ok_or_else(gone)?;
    let container = member(&root, place.container).ok_or_else(gone)?;
    let entry = member(container.value, place.name).ok_or_else(gone)?;
    if let Some(open) = starts_flow(text, container.value) {
        let made = entry.alone && text[open + 1..].starts_with(" \"");
        if !made {
            return flow_cut(text, &entry).map(Some);
        }
        if starts_flow(text, &root).is_some() {
            return flow_cut(text, &container).map(Some);
        }
        // Restores `extensions:` without a value.
        let value = flow_value(text, &container)?;
        return Ok(Some(splice(text, &[(value.start - 1..value.end, "")])));
    }
    let mut lines = block_lines(text, &entry);
    if entry.alone {
        lines.start = line_start(text, container.key.span.start.line());
    }
    if lines == (0..text.len()) && text.ends_with('\n') {
        return Ok(None);
    }
    if !text[lines.clone()].ends_with('\n') {
        // The line break before it was added with it.
        let head = &text[..lines.start];
        lines.start = head.strip_suffix("\r\n").or_else(|| head.strip_suffix('\n')).unwrap_or(head).len();
    }
    Ok(Some(splice(text, &[(lines, "")])))
}
