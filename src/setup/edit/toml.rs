//! TOML: finds places with `toml_edit`'s spans, and edits by splicing. The writer of `toml_edit` would
//! normalise line breaks and drop a byte order mark.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::{Map, Value};
use toml_edit::{Document, InlineTable, Item, Table, TableLike, Value as Node};

use super::{EditError, EntryPath, Field, Fields, newline_of, position, splice, written};

fn parse(text: &str) -> Result<Document<&str>, EditError> {
    Document::parse(text).map_err(|error| {
        let (line, column) = position(text, error.span().map_or(0, |span| span.start));
        EditError::Unparsable { line, column, what: error.message().lines().collect::<Vec<_>>().join(", ") }
    })
}

pub(super) fn read(text: &str) -> Result<Value, EditError> {
    Ok(table(parse(text)?.as_table()))
}

fn table(table: &dyn TableLike) -> Value {
    Value::Object(table.iter().map(|(key, item)| (key.to_owned(), item_value(item))).collect::<Map<_, _>>())
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(node) => value(node),
        Item::Table(inner_table) => table(inner_table),
        Item::ArrayOfTables(tables) => {
            Value::Array(tables.iter().map(|inner_table| table(inner_table)).collect())
        }
    }
}

fn value(node: &Node) -> Value {
    match node {
        Node::String(text) => Value::from(text.value().as_str()),
        Node::Integer(number) => Value::from(*number.value()),
        Node::Boolean(flag) => Value::from(*flag.value()),
        Node::Float(number) => Value::from(*number.value()),
        Node::Datetime(date) => Value::from(date.value().to_string()),
        Node::Array(array) => Value::Array(array.iter().map(value).collect()),
        Node::InlineTable(inner_table) => table(inner_table),
    }
}

pub(super) fn put(text: Option<&str>, place: EntryPath<'_>, fields: &Fields) -> Result<String, EditError> {
    let file = text.unwrap_or_default();
    let document = parse(file)?;
    let newline = newline_of(file);
    match document.get(place.container) {
        None => Ok(append(text, newline, place, fields)),
        Some(Item::Table(container)) => match container.get(place.name) {
            None => Ok(append(text, newline, place, fields)),
            Some(Item::Table(entry)) if !entry.is_dotted() => {
                replace_tables(file, newline, entry, place, fields)
            }
            Some(Item::Table(_)) => put(take(file, place)?.as_deref(), place, fields),
            Some(Item::Value(node)) => replace_value(file, node, fields),
            Some(other) => Err(wrong(file, other, &format!("`{}` is a list of tables", place.name))),
        },
        Some(Item::Value(Node::InlineTable(container))) => match container.get(place.name) {
            None => insert_inline(file, container, &format!("{} = {}", place.name, inline(fields))),
            Some(Node::InlineTable(entry)) if entry.is_dotted() => {
                put(take(file, place)?.as_deref(), place, fields)
            }
            Some(node) => replace_value(file, node, fields),
        },
        Some(other) => Err(wrong(file, other, &format!("`{}` is not a table", place.container))),
    }
}

/// Sets one field of the existing entry, however it is written.
pub(super) fn set(text: &str, place: EntryPath<'_>, key: &str, field: &Field) -> Result<String, EditError> {
    let document = parse(text)?;
    let container = document.get(place.container).and_then(Item::as_table_like).ok_or_else(gone)?;
    let item = container.get(place.name).ok_or_else(gone)?;
    let entry = item.as_table_like().ok_or_else(gone)?;
    if let Some(old) = entry.get(key) {
        let node = old.as_value().ok_or_else(no_span)?;
        if matches!(node, Node::InlineTable(inner_table) if inner_table.is_dotted()) {
            return Err(no_span());
        }
        return Ok(splice(text, &[(node.span().ok_or_else(no_span)?, &written(field))]));
    }
    if let Item::Value(Node::InlineTable(inner_table)) = item
        && !inner_table.is_dotted()
    {
        return insert_inline(text, inner_table, &format!("{key} = {}", written(field)));
    }
    // After the entry's last value, and written the same way: indented, or with the same dotted path.
    let last = entry.iter().filter_map(|(name, item)| {
        let (key, _) = entry.get_key_value(name)?;
        Some((key.span()?.start, item.as_value().and_then(end_of)?))
    });
    let (start, end) = last.max_by_key(|(_, end)| *end).ok_or_else(no_span)?;
    if matches!(item, Item::Value(_)) {
        let member = format!(", {}{key} = {}", &text[path_start(text, start)..start], written(field));
        return Ok(splice(text, &[(end..end, &member)]));
    }
    let member = format!("{}{key} = {}", &text[line_start(text, start)..start], written(field));
    let newline = newline_of(text);
    Ok(match text[end..].find('\n') {
        Some(line_end) => {
            splice(text, &[(end + line_end + 1..end + line_end + 1, &format!("{member}{newline}"))])
        }
        None => format!("{text}{newline}{member}"),
    })
}

fn gone() -> EditError {
    EditError::Unsafe("the entry is gone".to_owned())
}

/// The start of the line with the byte `at`.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The byte after the line with the byte `at`.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

fn wrong(text: &str, item: &Item, what: &str) -> EditError {
    EditError::wrong_type(text, item.span().map_or(0, |span| span.start), what)
}

/// A separate table at the end. If the file ended with a line break, it still does; if not, it still does not.
/// `take` relies on that to restore the file.
fn append(text: Option<&str>, newline: &str, place: EntryPath<'_>, fields: &Fields) -> String {
    let block = block(newline, place, fields);
    match text {
        None => block,
        Some(file) if file.ends_with('\n') => format!("{file}{newline}{block}"),
        Some("") => block.trim_end().to_owned(),
        Some(file) => format!("{file}{newline}{newline}{}", block.trim_end()),
    }
}

fn block(newline: &str, place: EntryPath<'_>, fields: &Fields) -> String {
    // Names consist of letters, digits, `-` and `_`, so they are bare keys.
    let mut out = format!("[{}.{}]{newline}", place.container, place.name);
    for (key, field, _) in &fields.0 {
        let _ = write!(out, "{key} = {}{newline}", written(field));
    }
    out
}

fn inline(fields: &Fields) -> String {
    let members: Vec<_> =
        fields.0.iter().map(|(key, field, _)| format!("{key} = {}", written(field))).collect();
    format!("{{ {} }}", members.join(", "))
}

/// Adds `member` at the end of an inline table. Since TOML 1.1 it may have several lines, comments and a
/// trailing comma.
fn insert_inline(text: &str, table: &InlineTable, member: &str) -> Result<String, EditError> {
    let close = table.span().ok_or_else(no_span)?.end - 1;
    // Dotted keys (`{ a.b = 1 }`) are tables without a span, but their values have one.
    let Some(end) = table.iter().filter_map(|(_, node)| end_of(node)).max() else {
        return Ok(splice(text, &[(close..close, member)]));
    };
    let comma = comma_in(text, end, close);
    // After a comment, only a new line is free.
    let (at, space) = if text[end..close].contains('#') {
        let line = &text[line_start(text, end)..end];
        let indent = &line[..line.len() - line.trim_start().len()];
        (end + text[end..close].trim_end().len(), format!("{}{indent}", newline_of(text)))
    } else {
        (comma.map_or(end, |comma| comma + 1), " ".to_owned())
    };
    Ok(match comma {
        Some(_) => splice(text, &[(at..at, &format!("{space}{member},"))]),
        None => splice(text, &[(end..end, ","), (at..at, &format!("{space}{member}"))]),
    })
}

/// The first comma in `from..to` that is not in a comment; there is no value in that range.
fn comma_in(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut in_comment = false;
    for (at, c) in text[from..to].char_indices() {
        match c {
            '#' => in_comment = true,
            '\n' => in_comment = false,
            ',' if !in_comment => return Some(from + at),
            _ => {}
        }
    }
    None
}

fn end_of(node: &Node) -> Option<usize> {
    match node {
        Node::InlineTable(inner_table) if inner_table.is_dotted() => {
            inner_table.iter().filter_map(|(_, node)| end_of(node)).max()
        }
        node => node.span().map(|span| span.end),
    }
}

fn replace_value(text: &str, node: &Node, fields: &Fields) -> Result<String, EditError> {
    let span = node.span().ok_or_else(no_span)?;
    Ok(splice(text, &[(span, &inline(fields))]))
}

fn no_span() -> EditError {
    EditError::Unsafe("pdpp cannot find its place".to_owned())
}

/// The lines of `entry` and of the tables below it, in order: each from its header to its last value, or (with
/// dotted keys) the lines of each value.
fn blocks(text: &str, entry: &Table) -> Result<Vec<Range<usize>>, EditError> {
    let mut found = Vec::new();
    collect(text, entry, &mut found)?;
    found.sort_by_key(|range| range.start);
    if found.is_empty() { Err(no_span()) } else { Ok(found) }
}

fn collect(text: &str, table: &Table, found: &mut Vec<Range<usize>>) -> Result<(), EditError> {
    // An implicit table (`[a.b.c]` makes `a.b`) has no header.
    if let Some(header) = table.span().filter(|_| !table.is_implicit() && !table.is_dotted()) {
        let mut end = header.end;
        for (_, item) in table {
            end = end.max(values_end(item)?);
        }
        found.push(line_start(text, header.start)..line_end(text, end));
    }
    for (name, item) in table {
        match item {
            // The dotted keys of a table with a header are within its lines.
            Item::Table(inner) if inner.is_dotted() && !table.is_dotted() => {}
            Item::Table(inner) => collect(text, inner, found)?,
            Item::ArrayOfTables(tables) => {
                for inner_table in tables {
                    collect(text, inner_table, found)?;
                }
            }
            Item::Value(node) if table.is_dotted() => {
                let key = table.key(name).and_then(toml_edit::Key::span).ok_or_else(no_span)?;
                let end = end_of(node).ok_or_else(no_span)?;
                found.push(line_start(text, key.start)..line_end(text, end));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The end of the values of `item` in the block of its parent; 0 if it has its own blocks.
fn values_end(item: &Item) -> Result<usize, EditError> {
    Ok(match item {
        Item::Value(node) => end_of(node).ok_or_else(no_span)?,
        Item::Table(inner) if inner.is_dotted() => {
            let mut end = 0;
            for (_, item) in inner {
                end = end.max(values_end(item)?);
            }
            end
        }
        _ => 0,
    })
}

fn replace_tables(
    text: &str,
    newline: &str,
    entry: &Table,
    place: EntryPath<'_>,
    fields: &Fields,
) -> Result<String, EditError> {
    let blocks = blocks(text, entry)?;
    let Some((first, others)) = blocks.split_first() else { return Err(no_span()) };
    let new = block(newline, place, fields);
    let new = if text[first.clone()].ends_with('\n') { new.as_str() } else { new.trim_end() };
    let mut pieces = vec![(first.clone(), new)];
    pieces.extend(others.iter().map(|range| (range.clone(), "")));
    Ok(splice(text, &pieces))
}

pub(super) fn take(text: &str, place: EntryPath<'_>) -> Result<Option<String>, EditError> {
    let document = parse(text)?;
    match document.get(place.container).ok_or_else(gone)? {
        Item::Table(container) => match container.get(place.name).ok_or_else(gone)? {
            Item::Table(entry) => {
                let blocks = blocks(text, entry)?;
                let made_for_it = blocks.len() == 1 && blocks[0] == (0..text.len()) && text.ends_with('\n');
                let is_line = entry.is_dotted();
                let whole = |range: &Range<usize>| {
                    if is_line { range.clone() } else { with_blank_line(text, range) }
                };
                let mut pieces: Vec<(Range<usize>, &str)> = Vec::new();
                for range in blocks.iter().map(whole) {
                    // The line break before a blank line may be the end of the previous block.
                    let start = pieces.last().map_or(0, |(before, _)| before.end);
                    pieces.push((range.start.max(start)..range.end, ""));
                }
                Ok((!made_for_it).then(|| splice(text, &pieces)))
            }
            Item::Value(node) => {
                // `name = { … }` in a table: the whole line.
                let (key, _) = container.get_key_value(place.name).ok_or_else(gone)?;
                let (key, span) = (key.span().ok_or_else(no_span)?, node.span().ok_or_else(no_span)?);
                Ok(Some(splice(text, &[(line_start(text, key.start)..line_end(text, span.end), "")])))
            }
            other => Err(wrong(text, other, &format!("`{}` is not a table", place.name))),
        },
        Item::Value(Node::InlineTable(container)) => take_inline(text, container, place).map(Some),
        other => Err(wrong(text, other, &format!("`{}` is not a table", place.container))),
    }
}

/// A block with the blank line before it, as `append` writes it. At the end of a file without a final line
/// break, the line break before the blank line belongs to it as well.
fn with_blank_line(text: &str, block: &Range<usize>) -> Range<usize> {
    let before = |at: usize| {
        let head = &text[..at];
        head.strip_suffix("\r\n").or_else(|| head.strip_suffix('\n')).map(str::len)
    };
    let mut start = block.start;
    let has_blank_line = before(start).is_some_and(|line| line == 0 || text[..line].ends_with('\n'));
    if has_blank_line {
        start = before(start).unwrap_or(start);
    }
    if !text[block.clone()].ends_with('\n') {
        start = before(start).unwrap_or(start);
    }
    start..block.end
}

fn take_inline(text: &str, container: &InlineTable, place: EntryPath<'_>) -> Result<String, EditError> {
    let (mut key, item) = container.get_key_value(place.name).ok_or_else(gone)?;
    let mut node = item.as_value().ok_or_else(no_span)?;
    // `{ name.command = …, name.args = … }`: one value after the other.
    while let Node::InlineTable(inner_table) = node
        && inner_table.is_dotted()
    {
        let (name, _) = inner_table.iter().next().ok_or_else(gone)?;
        let (inner, item) = inner_table.get_key_value(name).ok_or_else(gone)?;
        (key, node) = (inner, item.as_value().ok_or_else(no_span)?);
    }
    let start = path_start(text, key.span().ok_or_else(no_span)?.start);
    let taken = cut_inline(text, container, start, node.span().ok_or_else(no_span)?.end)?;
    let root = super::read(super::Format::Toml, &taken)?;
    if super::entry(&root, place).is_some() { take(&taken, place)?.ok_or_else(gone) } else { Ok(taken) }
}

/// The start of the dotted path that ends with the key at `at` of an inline table.
fn path_start(text: &str, at: usize) -> usize {
    let before = text[..at].rfind(['{', ',', '\n']).map_or(0, |before| before + 1);
    at - text[before..at].trim_start().len()
}

/// The text without the member `start..end` of an inline table, its comma, and the space before it.
fn cut_inline(text: &str, table: &InlineTable, start: usize, end: usize) -> Result<String, EditError> {
    let span = table.span().ok_or_else(no_span)?;
    let ends = || table.iter().filter_map(|(_, node)| end_of(node));
    let previous = ends().filter(|other| *other <= start).max();
    let next = ends().filter(|other| *other > end).min().unwrap_or(span.end - 1);
    let own_comma = comma_in(text, end, next);
    let before = text[previous.unwrap_or(span.start)..start].trim_end();
    let mut space = text[..start].trim_end().len();
    // A comment before it needs its line break if none follows.
    if before.contains('#') && !text[own_comma.map_or(end, |comma| comma + 1)..].starts_with(['\r', '\n']) {
        space = start;
    }
    if let Some(comma) = own_comma {
        return Ok(splice(text, &[(space..end, ""), (comma..comma + 1, "")]));
    }
    Ok(match previous.and_then(|previous| comma_in(text, previous, start)) {
        Some(comma) => splice(text, &[(comma..comma + 1, ""), (space..end, "")]),
        None => splice(text, &[(start..end, "")]),
    })
}
