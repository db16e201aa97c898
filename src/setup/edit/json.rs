//! JSON and JSON with comments: finds places with `jsonc-parser`, and edits by splicing.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

use super::{EditError, EntryPath, Field, Fields, newline_of, position, quoted, splice, written};

struct Parsed<'a> {
    text: &'a str,
    root: Option<Node<'a>>,
    /// All tokens in order, comments included.
    tokens: Vec<TokenAndRange<'a>>,
}

fn parse(text: &str, strict: bool) -> Result<Parsed<'_>, EditError> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
    let options = ParseOptions {
        allow_comments: !strict,
        allow_trailing_commas: !strict,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &collect, &options).map_err(|error| {
        let (line, column) = position(text, error.range().start);
        EditError::Unparsable { line, column, what: error.kind().to_string() }
    })?;
    let tokens = parsed.tokens.unwrap_or_default();
    // The parser accepts comments when it collects them as tokens.
    let is_comment =
        |token: &&TokenAndRange<'_>| matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_));
    if strict && let Some(comment) = tokens.iter().find(is_comment) {
        let (line, column) = position(text, comment.range.start);
        return Err(EditError::Unparsable { line, column, what: "comments are not allowed".to_owned() });
    }
    if strict && let Some((at, what)) = lenient(text, &tokens) {
        let (line, column) = position(text, at);
        return Err(EditError::Unparsable { line, column, what: what.to_owned() });
    }
    Ok(Parsed { text, root: parsed.value, tokens })
}

/// What the parser accepts but `JSON.parse` refuses (RFC 8259 §2, §7), and where: control characters in
/// strings, and white space between tokens that is not JSON's.
fn lenient(text: &str, tokens: &[TokenAndRange<'_>]) -> Option<(usize, &'static str)> {
    let space = |from: usize, to: usize| {
        let at = text[from..to].find(|c| !matches!(c, ' ' | '\t' | '\r' | '\n'))?;
        Some((from + at, "this white space is not allowed in JSON"))
    };
    let mut end = 0;
    for token in tokens {
        let range = token.range.start..token.range.end;
        let inside = || {
            let at = text[range.clone()].find(|c: char| c < ' ')?;
            Some((range.start + at, "a control character in a string must be escaped"))
        };
        let found = space(end, range.start)
            .or_else(|| if matches!(token.token, Token::String(_)) { inside() } else { None });
        if found.is_some() {
            return found;
        }
        end = range.end;
    }
    space(end, text.len())
}

pub(super) fn read(text: &str, strict: bool) -> Result<Value, EditError> {
    Ok(match parse(text, strict)?.root {
        Some(root) => to_value(&root),
        None => Value::Object(Map::new()),
    })
}

fn to_value(node: &Node<'_>) -> Value {
    match node {
        Node::StringLit(text) => Value::from(text.value.as_ref()),
        // Compares digit for digit: a number that was touched would not be equal.
        Node::NumberLit(number) => {
            serde_json::from_str(number.value).unwrap_or_else(|_| Value::from(number.value))
        }
        Node::BooleanLit(flag) => Value::from(flag.value),
        Node::NullKeyword(_) => Value::Null,
        Node::Array(array) => Value::Array(array.elements.iter().map(to_value).collect()),
        Node::Object(object) => Value::Object(
            object
                .properties
                .iter()
                .map(|property| (property.name.as_str().to_owned(), to_value(&property.value)))
                .collect(),
        ),
    }
}

/// The only member with this `key`.
fn member<'a, 'b>(
    text: &str,
    object: &'b Object<'a>,
    key: &str,
) -> Result<Option<(usize, &'b ObjectProp<'a>)>, EditError> {
    let mut found =
        object.properties.iter().enumerate().filter(|(_, property)| property.name.as_str() == key);
    let first = found.next();
    match found.next() {
        Some((_, second)) => Err(EditError::duplicate(text, second.range.start, key)),
        None => Ok(first),
    }
}

fn object_of<'a, 'b>(text: &str, node: &'b Node<'a>, what: &str) -> Result<&'b Object<'a>, EditError> {
    node.as_object()
        .ok_or_else(|| EditError::wrong_type(text, node.range().start, format!("{what} is not an object")))
}

pub(super) fn put(
    text: Option<&str>,
    strict: bool,
    place: EntryPath<'_>,
    fields: &Fields,
) -> Result<String, EditError> {
    let file = text.unwrap_or_default();
    let parsed = parse(file, strict)?;
    let style = Style::of(file);
    let Some(root) = &parsed.root else {
        let whole = style.made("", place.container, &|indent| {
            style.made(indent, place.name, &|indent| style.entry(indent, fields))
        });
        // A new file ends with a line break; an existing empty file ends as it did.
        return Ok(if text.is_none() { format!("{whole}\n") } else { format!("{file}{whole}") });
    };
    let root = object_of(file, root, "the file")?;
    let Some((_, container)) = member(file, root, place.container)? else {
        return Ok(parsed.insert(root, &style, place.container, &|indent| match indent {
            Some(indent) => style.made(indent, place.name, &|indent| style.entry(indent, fields)),
            // On one line and with space inside: made by `put`.
            None => format!("{{ {}: {} }}", quoted(place.name), one_line(fields)),
        }));
    };
    let entry = |indent: Option<&str>| match indent {
        Some(indent) => style.entry(indent, fields),
        None => one_line(fields),
    };
    if let Node::NullKeyword(null) = &container.value {
        let member = |indent: Option<&str>| format!("{}: {}", quoted(place.name), entry(indent));
        let indent = line_indent(file, null.range.start);
        let made = if file.contains('\n') {
            style.spread(indent, Before::Null, &|indent| member(Some(indent)))
        } else {
            format!("{{{}{}}}", member(None), Before::Null.mark())
        };
        return Ok(splice(file, &[(null.range.start..null.range.end, &made)]));
    }
    let object = object_of(file, &container.value, &format!("`{}`", place.container))?;
    let Some((_, old)) = member(file, object, place.name)? else {
        return Ok(parsed.insert(object, &style, place.name, &entry));
    };
    let range = old.value.range();
    let on_own_line = parsed.indent_before(old.range.start);
    let new =
        entry(on_own_line.or_else(|| {
            file[range.start..range.end].contains('\n').then(|| line_indent(file, old.range.start))
        }));
    Ok(splice(file, &[(range.start..range.end, &new)]))
}

/// Sets one field of the existing entry.
pub(super) fn set(
    text: &str,
    strict: bool,
    place: EntryPath<'_>,
    key: &str,
    field: &Field,
) -> Result<String, EditError> {
    let parsed = parse(text, strict)?;
    let gone = || EditError::Unsafe("the entry is gone".to_owned());
    let root = object_of(text, parsed.root.as_ref().ok_or_else(gone)?, "the file")?;
    let (_, container) = member(text, root, place.container)?.ok_or_else(gone)?;
    let container = object_of(text, &container.value, &format!("`{}`", place.container))?;
    let (_, entry) = member(text, container, place.name)?.ok_or_else(gone)?;
    let entry = object_of(text, &entry.value, &format!("`{}`", place.name))?;
    Ok(match member(text, entry, key)? {
        Some((_, old)) => {
            let range = old.value.range();
            splice(text, &[(range.start..range.end, &written(field))])
        }
        None => parsed.insert(entry, &Style::of(text), key, &|_| written(field)),
    })
}

pub(super) fn take(text: &str, strict: bool, place: EntryPath<'_>) -> Result<Option<String>, EditError> {
    let parsed = parse(text, strict)?;
    let nothing = || EditError::Unsafe("the entry is gone".to_owned());
    let root_node = parsed.root.as_ref().ok_or_else(nothing)?;
    let root = object_of(text, root_node, "the file")?;
    let (at, container) = member(text, root, place.container)?.ok_or_else(nothing)?;
    let object = object_of(text, &container.value, &format!("`{}`", place.container))?;
    let (index, entry) = member(text, object, place.name)?.ok_or_else(nothing)?;
    if let Some(before) = parsed.before(object, entry) {
        return Ok(Some(before));
    }
    if !parsed.is_made_for(object, entry) {
        return Ok(Some(parsed.cut(object, index)));
    }
    if let Some(before) = parsed.before(root, container) {
        return Ok(Some(before));
    }
    if !parsed.is_made_for(root, container) {
        return Ok(Some(parsed.cut(root, at)));
    }
    let range = root_node.range();
    let rest = splice(text, &[(range.start..range.end, "")]);
    Ok((range.start != 0 || rest != "\n").then_some(rest))
}

impl Parsed<'_> {
    /// The last token (or comment) that ends at or before `at`.
    fn token_before(&self, at: usize) -> Option<&TokenAndRange<'_>> {
        let after = self.tokens.partition_point(|token| token.range.end <= at);
        after.checked_sub(1).and_then(|index| self.tokens.get(index))
    }

    fn comma_between(&self, from: usize, to: usize) -> Option<Range<usize>> {
        let first = self.tokens.partition_point(|token| token.range.start < from);
        let tokens = self.tokens[first..].iter().take_while(|token| token.range.end <= to);
        tokens
            .filter(|token| matches!(token.token, Token::Comma))
            .map(|token| token.range.start..token.range.end)
            .next()
    }

    /// The indentation of what begins at `at`, if it comes first on its line.
    fn indent_before(&self, at: usize) -> Option<&str> {
        let from = self.token_before(at).map_or(0, |token| token.range.end);
        let space = &self.text[from..at];
        space.rfind('\n').map(|newline| &space[newline + 1..])
    }

    /// Adds a member at the end of `object`. `value` gets the member's indentation, or `None` if the object is
    /// written on one line.
    fn insert(
        &self,
        object: &Object<'_>,
        style: &Style,
        key: &str,
        value: &dyn Fn(Option<&str>) -> String,
    ) -> String {
        let close = object.range.end - 1;
        let Some(last) = object.properties.last() else {
            let inside = &self.text[object.range.start + 1..close];
            let indent = line_indent(self.text, close);
            let spread = match inside.strip_prefix(style.newline) {
                _ if inside.is_empty() => Some(Before::Empty),
                Some(rest) if rest == indent => Some(Before::OnTwoLines),
                _ => None,
            };
            if let Some(before) = spread {
                let made = style
                    .spread(indent, before, &|indent| format!("{}: {}", quoted(key), value(Some(indent))));
                return splice(self.text, &[(object.range.start..object.range.end, &made)]);
            }
            // Directly before the brace: this tells `take` that the object was there before.
            let member = format!("{}: {}", quoted(key), value(Some(line_indent(self.text, close))));
            return splice(self.text, &[(close..close, &member)]);
        };
        let value_end = last.value.range().end;
        let before = self.token_before(close);
        let end = before.map_or(value_end, |token| token.range.end);
        let after_line_comment = before.is_some_and(|token| matches!(token.token, Token::CommentLine(_)));
        let indent = self
            .indent_before(last.range.start)
            .or_else(|| after_line_comment.then(|| line_indent(self.text, last.range.start)));
        let separator = match indent {
            Some(indent) => format!("{}{indent}", style.newline),
            None => " ".to_owned(),
        };
        let member = format!("{separator}{}: {}", quoted(key), value(indent));
        match self.comma_between(value_end, close) {
            Some(_) => splice(self.text, &[(end..end, &format!("{member},"))]),
            None => splice(self.text, &[(value_end..value_end, ","), (end..end, &member)]),
        }
    }

    /// The text before `object` was laid out for its one member `only`, if a mark records it.
    fn before(&self, object: &Object<'_>, only: &ObjectProp<'_>) -> Option<String> {
        let (start, end) = (object.range.start, object.range.end);
        let rest = &self.text[only.value.range().end..end - 1];
        let space = rest.trim_start_matches(' ');
        let mark = &rest[..rest.len() - space.len()];
        let is_spread = space.starts_with(['\r', '\n']) && space.trim().is_empty();
        let is_one_line = space.is_empty() && self.text[start + 1..].starts_with('"');
        let before = match (Before::of(mark)?, is_spread) {
            (Before::Null, _) if is_spread || is_one_line => "null".to_owned(),
            (Before::Empty, true) => "{}".to_owned(),
            (Before::OnTwoLines, true) => format!("{{{space}}}"),
            _ => return None,
        };
        (object.properties.len() == 1).then(|| splice(self.text, &[(start..end, &before)]))
    }

    /// Whether `object` holds only `only` and was made for it: white space follows it.
    fn is_made_for(&self, object: &Object<'_>, only: &ObjectProp<'_>) -> bool {
        let inside = |from: usize, to: usize| {
            let space = &self.text[from..to];
            !space.is_empty() && space.chars().all(char::is_whitespace)
        };
        object.properties.len() == 1
            && inside(object.range.start + 1, only.range.start)
            && inside(only.value.range().end, object.range.end - 1)
    }

    /// The text without the member `index` of `object`, and without its comma and its space.
    fn cut(&self, object: &Object<'_>, index: usize) -> String {
        let property = &object.properties[index];
        let (start, end) = (property.range.start, property.value.range().end);
        let close = object.range.end - 1;
        let next = object.properties.get(index + 1).map_or(close, |next| next.range.start);
        let comma_after = self.comma_between(end, next);
        let behind = &self.text[comma_after.as_ref().map_or(end, |comma| comma.end)..];
        let space_start = match self.token_before(start) {
            // The comment needs its line break if none follows.
            Some(token)
                if matches!(token.token, Token::CommentLine(_)) && !behind.starts_with(['\r', '\n']) =>
            {
                start
            }
            token => token.map_or(start, |token| token.range.end),
        };
        if object.properties.len() == 1 {
            return splice(self.text, &[(start..comma_after.map_or(end, |comma| comma.end), "")]);
        }
        if let Some(comma) = comma_after {
            return splice(self.text, &[(space_start..end, ""), (comma, "")]);
        }
        let previous = index.checked_sub(1).map(|previous| object.properties[previous].value.range().end);
        match previous.and_then(|previous| self.comma_between(previous, start)) {
            // If no comment comes between them, comma and space are one piece.
            Some(comma) if comma.end >= space_start => splice(self.text, &[(comma.start..end, "")]),
            Some(comma) => splice(self.text, &[(comma, ""), (space_start..end, "")]),
            None => splice(self.text, &[(space_start..end, "")]),
        }
    }
}

/// The white space at the start of the line with the byte `at`.
fn line_indent(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// What an object that was laid out for our member replaced. The number of spaces after that member records it,
/// so that the member can be removed without a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// `{}`
    Empty,
    /// `{}` with its braces on two lines.
    OnTwoLines,
    /// `null`
    Null,
}

impl Before {
    const fn mark(self) -> &'static str {
        match self {
            Self::Empty => " ",
            Self::OnTwoLines => "  ",
            Self::Null => "   ",
        }
    }

    fn of(mark: &str) -> Option<Self> {
        [Self::Empty, Self::OnTwoLines, Self::Null].into_iter().find(|before| before.mark() == mark)
    }
}

/// How a file is laid out.
struct Style {
    newline: &'static str,
    unit: String,
}

impl Style {
    fn of(text: &str) -> Self {
        let indented = text.lines().filter(|line| line.trim_start_matches([' ', '\t']).starts_with('"'));
        let indents = indented.map(|line| &line[..line.len() - line.trim_start().len()]);
        let unit =
            indents.filter(|indent| !indent.is_empty()).min_by_key(|indent| indent.len()).unwrap_or("  ");
        Self { newline: newline_of(text), unit: unit.to_owned() }
    }

    /// An object made for one member, at `indent`.
    fn made(&self, indent: &str, key: &str, value: &dyn Fn(&str) -> String) -> String {
        let (newline, inner) = (self.newline, format!("{indent}{}", self.unit));
        format!("{{{newline}{inner}{}: {}{newline}{indent}}}", quoted(key), value(&inner))
    }

    /// An object at `indent` with one member. It replaces the `before` state.
    fn spread(&self, indent: &str, before: Before, member: &dyn Fn(&str) -> String) -> String {
        let (newline, inner) = (self.newline, format!("{indent}{}", self.unit));
        format!("{{{newline}{inner}{}{}{newline}{indent}}}", member(&inner), before.mark())
    }

    /// The entry, with its closing brace at `indent`.
    fn entry(&self, indent: &str, fields: &Fields) -> String {
        let (newline, unit) = (self.newline, &self.unit);
        let members: Vec<_> =
            members(fields).map(|member| format!("{newline}{indent}{unit}{member}")).collect();
        format!("{{{}{newline}{indent}}}", members.join(","))
    }
}

fn one_line(fields: &Fields) -> String {
    format!("{{{}}}", members(fields).collect::<Vec<_>>().join(", "))
}

fn members(fields: &Fields) -> impl Iterator<Item = String> {
    fields.0.iter().map(|(key, field, _)| format!("{}: {}", quoted(key), written(field)))
}
