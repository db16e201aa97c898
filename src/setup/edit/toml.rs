//! TOML: places found by `toml_edit`'s spans, edits by splicing; its own writer would normalise line
//! breaks and drop a byte order mark.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::{Map, Value};
use toml_edit::{Document, InlineTable, Item, Table, TableLike, Value as Node};

use super::{EditError, Fields, Place, newline_of, position, splice, written};

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
        Item::Table(one) => table(one),
        Item::ArrayOfTables(tables) => Value::Array(tables.iter().map(|one| table(one)).collect()),
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
        Node::InlineTable(one) => table(one),
    }
}

pub(super) fn put(text: Option<&str>, place: Place<'_>, fields: &Fields) -> Result<String, EditError> {
    let file = text.unwrap_or_default();
    let document = parse(file)?;
    let newline = newline_of(file);
    match document.get(place.container) {
        None => Ok(append(text, newline, place, fields)),
        Some(Item::Table(container)) => match container.get(place.name) {
            None => Ok(append(text, newline, place, fields)),
            Some(Item::Table(entry)) => replace_tables(file, newline, entry, place, fields),
            Some(Item::Value(node)) => replace_value(file, node, fields),
            Some(other) => Err(wrong(file, other, &format!("`{}` is a list of tables", place.name))),
        },
        Some(Item::Value(Node::InlineTable(container))) => match container.get(place.name) {
            None => insert_inline(file, container, place, fields),
            Some(node) => replace_value(file, node, fields),
        },
        Some(other) => Err(wrong(file, other, &format!("`{}` is no table", place.container))),
    }
}

fn wrong(text: &str, item: &Item, what: &str) -> EditError {
    EditError::wrong_type(text, item.span().map_or(0, |span| span.start), what)
}

/// A table of its own at the end. A file that ended with a line break still does, and one that did not
/// still does not: this is how `take` knows what was there.
fn append(text: Option<&str>, newline: &str, place: Place<'_>, fields: &Fields) -> String {
    let block = block(newline, place, fields);
    match text {
        None => block,
        Some(file) if file.ends_with('\n') => format!("{file}{newline}{block}"),
        Some("") => block.trim_end().to_owned(),
        Some(file) => format!("{file}{newline}{newline}{}", block.trim_end()),
    }
}

fn block(newline: &str, place: Place<'_>, fields: &Fields) -> String {
    // Names are letters, digits, `-` and `_`: bare keys.
    let mut out = format!("[{}.{}]{newline}", place.container, place.name);
    for (key, field) in &fields.0 {
        let _ = write!(out, "{key} = {}{newline}", written(field));
    }
    out
}

fn inline(fields: &Fields) -> String {
    let members: Vec<_> = fields.0.iter().map(|(key, field)| format!("{key} = {}", written(field))).collect();
    format!("{{ {} }}", members.join(", "))
}

fn insert_inline(
    text: &str,
    container: &InlineTable,
    place: Place<'_>,
    fields: &Fields,
) -> Result<String, EditError> {
    let span = container.span().ok_or_else(no_span)?;
    let close = span.end - 1;
    let member = format!("{} = {}", place.name, inline(fields));
    // Dotted keys (`{ a.b = 1 }`) are tables without a span: their values have one.
    let ends = container.iter().filter_map(|(_, node)| end_of(node)).max();
    let Some(end) = ends else {
        return Ok(splice(text, &[(close..close, &member)]));
    };
    match text[end..close].trim() {
        "" => Ok(splice(text, &[(end..end, &format!(", {member}"))])),
        "," => {
            let after = end + text[end..close].find(',').unwrap_or(0) + 1;
            Ok(splice(text, &[(after..after, &format!(" {member},"))]))
        }
        _ => Err(EditError::Unsafe(format!("comments at the end of `{}`", place.container))),
    }
}

fn end_of(node: &Node) -> Option<usize> {
    match node {
        Node::InlineTable(one) if one.is_dotted() => one.iter().filter_map(|(_, node)| end_of(node)).max(),
        node => node.span().map(|span| span.end),
    }
}

fn replace_value(text: &str, node: &Node, fields: &Fields) -> Result<String, EditError> {
    if let Node::InlineTable(one) = node
        && one.is_dotted()
    {
        return Err(dotted());
    }
    let span = node.span().ok_or_else(no_span)?;
    Ok(splice(text, &[(span, &inline(fields))]))
}

fn dotted() -> EditError {
    EditError::Unsafe("it is spread over dotted keys".to_owned())
}

fn no_span() -> EditError {
    EditError::Unsafe("its place cannot be told".to_owned())
}

/// The lines of `entry` and of the tables below it, in order, each from its header to its last value.
fn blocks(text: &str, entry: &Table) -> Result<Vec<Range<usize>>, EditError> {
    let mut found = Vec::new();
    collect(text, entry, &mut found)?;
    found.sort_by_key(|range| range.start);
    Ok(found)
}

fn collect(text: &str, table: &Table, found: &mut Vec<Range<usize>>) -> Result<(), EditError> {
    if table.is_dotted() {
        return Err(dotted());
    }
    // An implicit table (`[a.b.c]` makes `a.b`) has no header of its own.
    if let Some(header) = table.span().filter(|_| !table.is_implicit()) {
        let mut end = header.end;
        for (_, item) in table {
            end = end.max(values_end(item)?);
        }
        let start = text[..header.start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1);
        found.push(start..end);
    }
    for (_, item) in table {
        match item {
            Item::Table(inner) if !inner.is_dotted() => collect(text, inner, found)?,
            Item::ArrayOfTables(tables) => {
                for one in tables {
                    collect(text, one, found)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The end of the values that `item` has in the block of its parent; 0 if it has blocks of its own.
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
    place: Place<'_>,
    fields: &Fields,
) -> Result<String, EditError> {
    let blocks = blocks(text, entry)?;
    let Some((first, others)) = blocks.split_first() else { return Err(dotted()) };
    let new = block(newline, place, fields);
    let new = if text[first.clone()].ends_with('\n') { new.as_str() } else { new.trim_end() };
    let mut pieces = vec![(first.clone(), new)];
    pieces.extend(others.iter().map(|range| (range.clone(), "")));
    Ok(splice(text, &pieces))
}

pub(super) fn take(text: &str, place: Place<'_>) -> Result<Option<String>, EditError> {
    let document = parse(text)?;
    let gone = || EditError::Unsafe("the entry is gone".to_owned());
    match document.get(place.container).ok_or_else(gone)? {
        Item::Table(container) => match container.get(place.name).ok_or_else(gone)? {
            Item::Table(entry) => {
                let blocks = blocks(text, entry)?;
                if blocks.is_empty() {
                    return Err(dotted());
                }
                let made_for_it = blocks.len() == 1 && blocks[0] == (0..text.len()) && text.ends_with('\n');
                let pieces: Vec<_> = blocks.iter().map(|range| (with_blank_line(text, range), "")).collect();
                Ok((!made_for_it).then(|| splice(text, &pieces)))
            }
            Item::Value(node) => {
                // `name = { … }` in a table: its line.
                let (key, _) = container.get_key_value(place.name).ok_or_else(gone)?;
                let (key, span) = (key.span().ok_or_else(no_span)?, node.span().ok_or_else(dotted)?);
                let start = text[..key.start].rfind('\n').map_or(0, |newline| newline + 1);
                let end = text[span.end..].find('\n').map_or(text.len(), |newline| span.end + newline + 1);
                Ok(Some(splice(text, &[(start..end, "")])))
            }
            other => Err(wrong(text, other, &format!("`{}` is no table", place.name))),
        },
        Item::Value(Node::InlineTable(container)) => take_inline(text, container, place).map(Some),
        other => Err(wrong(text, other, &format!("`{}` is no table", place.container))),
    }
}

/// A block with the blank line before it, as `append` writes it. At the end of a file without a last
/// line break, the one before the blank line is its own as well.
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

fn take_inline(text: &str, container: &InlineTable, place: Place<'_>) -> Result<String, EditError> {
    let (key, item) = container.get_key_value(place.name).ok_or_else(no_span)?;
    let node = item.as_value().ok_or_else(no_span)?;
    let (key, span) = (key.span().ok_or_else(no_span)?, node.span().ok_or_else(dotted)?);
    let close = container.span().ok_or_else(no_span)?.end - 1;
    let after = &text[span.end..close];
    let before = &text[..key.start];
    let space = before.len() - before.trim_end().len();
    // As the last one it has a comma before it; with a comma after it, that one is its own.
    if after.trim_start().starts_with(',') {
        let comma = span.end + after.find(',').unwrap_or(0) + 1;
        return Ok(splice(text, &[(key.start - space..comma, "")]));
    }
    if before.trim_end().ends_with(',') {
        return Ok(splice(text, &[(key.start - space - 1..span.end, "")]));
    }
    Ok(splice(text, &[(key.start..span.end, "")]))
}
