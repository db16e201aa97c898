//! Finds the children of an XML document's root one after the other by their tags; the document may be
//! larger than memory.
//!
//! Declarations are skipped unread, and only XML's five built-in entities are expanded: a document can
//! neither grow nor refer to anything (O4.14). [`tags`] then goes through a child tag by tag.

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::ops::ControlFlow;

/// The longest child that is kept, in bytes.
pub const LONGEST: usize = 64 * 1024 * 1024;
/// The most elements nested in each other.
pub const DEEPEST: usize = 64;
/// The most bytes of a tag's name that are kept.
const LONGEST_NAME: usize = 256;

/// A child of the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Where it ends.
    pub next: u64,
    /// Its bytes, or why they are not kept.
    pub bytes: Result<Vec<u8>, Wrong>,
}

/// Why a child is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// It has more than [`LONGEST`] bytes.
    Long,
    /// It has elements nested deeper than [`DEEPEST`].
    Deep,
    /// A value in it is not closed on its line.
    Open,
}

/// What a byte is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Text,
    /// After a `<`.
    Opened,
    /// A tag: its first byte, its last one, the quotation mark of the open value, and whether its name
    /// has ended.
    Tag {
        first: u8,
        last: u8,
        quote: Option<u8>,
        is_named: bool,
    },
    /// `<? … ?>`.
    Instruction {
        last: u8,
    },
    /// `<! …`: how much of `--` or `[CDATA[` has been read.
    Declared {
        read: u8,
        kind: Kind,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Unknown,
    Comment,
    Data,
    /// A document type, and whether its internal declarations have begun.
    Doctype {
        is_open: bool,
    },
}

/// Passes the children of the root to `out`, until it breaks. Returns where the root ended.
///
/// # Errors
/// If the bytes cannot be read; [`io::ErrorKind::UnexpectedEof`] if they end before the root does. What
/// was passed before that counts.
pub fn scan(
    bytes: &mut dyn BufRead,
    longest: usize,
    out: &mut dyn FnMut(Element) -> ControlFlow<()>,
) -> io::Result<u64> {
    let mut scanner = Scanner::default();
    let mut at = 0_u64;
    let mut child: Option<Child> = None;
    loop {
        let chunk = bytes.fill_buf()?;
        if chunk.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends before its XML does"));
        }
        let (mut index, mut start) = (0, 0);
        while index < chunk.len() {
            if scanner.within == Within::Text {
                // Most of a file is between tags or within them.
                index += memchr::memchr(b'<', &chunk[index..]).unwrap_or(chunk.len() - index);
            }
            let Some(byte) = chunk.get(index).copied() else { break };
            let here = at + index as u64;
            let found = match scanner.step(byte, child.is_some()) {
                Step::On => None,
                Step::Begins => {
                    child = Some(Child::at(here));
                    start = index;
                    None
                }
                Step::IsNone => {
                    child = None;
                    None
                }
                Step::IsDeep => {
                    if let Some(open) = &mut child {
                        open.wrong = Some(Wrong::Deep);
                    }
                    None
                }
                Step::Ends => child.take().map(|mut open| {
                    open.keep(&chunk[start..=index], longest);
                    let bytes = open.wrong.map_or(Ok(open.bytes), Err);
                    Element { offset: open.offset, next: here + 1, bytes }
                }),
                Step::RootEnds => return Ok(here + 1),
                Step::IsOpen => {
                    // This byte is read again, as the first one of a tag.
                    index = index.wrapping_sub(1);
                    child.take().map(|open| Element {
                        offset: open.offset,
                        next: here,
                        bytes: Err(Wrong::Open),
                    })
                }
            };
            if let Some(found) = found {
                let next = found.next;
                if out(found).is_break() {
                    return Ok(next);
                }
            }
            index = index.wrapping_add(1);
        }
        if let Some(open) = &mut child {
            open.keep(&chunk[start..], longest);
        }
        let read = chunk.len();
        at += read as u64;
        bytes.consume(read);
    }
}

/// The position in the document.
struct Scanner {
    within: Within,
    depth: usize,
    /// Whether the current line of a value has only spaces so far.
    is_indent: bool,
    /// The name of the tag, and that of the root.
    name: Vec<u8>,
    root: Vec<u8>,
}

/// The effect of a byte.
enum Step {
    On,
    /// A child begins with it.
    Begins,
    /// What looked like a child is not one.
    IsNone,
    /// The child is nested too deeply.
    IsDeep,
    /// The child ends with it.
    Ends,
    /// The child is abandoned, and the byte is read again.
    IsOpen,
    RootEnds,
}

impl Default for Scanner {
    fn default() -> Self {
        Self { within: Within::Text, depth: 0, is_indent: false, name: Vec::new(), root: Vec::new() }
    }
}

impl Scanner {
    fn step(&mut self, byte: u8, has_child: bool) -> Step {
        match self.within {
            // Only a `<` gets here.
            Within::Text => {
                self.within = Within::Opened;
                if self.depth == 1 && !has_child {
                    return Step::Begins;
                }
            }
            Within::Opened => {
                self.name.clear();
                self.within = match byte {
                    b'?' => Within::Instruction { last: 0 },
                    b'!' => Within::Declared { read: 0, kind: Kind::Unknown },
                    b'>' => Within::Text,
                    first => {
                        self.name.push(first);
                        Within::Tag { first, last: first, quote: None, is_named: false }
                    }
                };
                if self.depth == 1 && matches!(byte, b'/' | b'?' | b'!' | b'>') {
                    // The end of the root, or text between its children.
                    return Step::IsNone;
                }
            }
            Within::Tag { first, quote: Some(mark), is_named, .. } => match byte {
                _ if byte == mark => self.within = Within::Tag { first, last: byte, quote: None, is_named },
                b'\n' => self.is_indent = true,
                b' ' | b'\t' | b'\r' => {}
                // A value may span lines, but none of its lines begins with a tag: if one does, its
                // quotation mark is missing.
                b'<' if self.is_indent => {
                    self.within = Within::Text;
                    self.is_indent = false;
                    self.depth = self.depth.min(1);
                    return Step::IsOpen;
                }
                _ => self.is_indent = false,
            },
            Within::Tag { first, last, quote: None, is_named } => match byte {
                b'"' | b'\'' => {
                    self.within = Within::Tag { first, last, quote: Some(byte), is_named };
                    self.is_indent = false;
                }
                b'>' => {
                    self.within = Within::Text;
                    return self.tag_ends(first == b'/', last == b'/');
                }
                _ => {
                    let is_named = is_named || byte.is_ascii_whitespace() || byte == b'/';
                    if !is_named && self.name.len() < LONGEST_NAME {
                        self.name.push(byte);
                    }
                    self.within = Within::Tag { first, last: byte, quote: None, is_named };
                }
            },
            Within::Instruction { last } => {
                let is_end = byte == b'>' && last == b'?';
                self.within = if is_end { Within::Text } else { Within::Instruction { last: byte } };
            }
            Within::Declared { mut read, mut kind } => {
                let is_end = declared(byte, &mut read, &mut kind);
                self.within = if is_end { Within::Text } else { Within::Declared { read, kind } };
            }
        }
        Step::On
    }

    fn tag_ends(&mut self, is_end: bool, is_empty: bool) -> Step {
        if is_end {
            // The rest of an abandoned element ends nothing.
            if self.depth != 1 || self.name[1..] == self.root[..] {
                self.depth = self.depth.saturating_sub(1);
            }
        } else if !is_empty {
            if self.depth == 0 {
                self.root.clone_from(&self.name);
                self.depth = 1;
                return Step::On;
            }
            self.depth += 1;
        }
        match self.depth {
            0 => Step::RootEnds,
            1 => Step::Ends,
            depth if depth > DEEPEST => Step::IsDeep,
            _ => Step::On,
        }
    }
}

/// Reads one byte of what begins with `<!`; returns whether that ends with it.
const fn declared(byte: u8, read: &mut u8, kind: &mut Kind) -> bool {
    match kind {
        Kind::Unknown => {
            *kind = match byte {
                b'-' => Kind::Comment,
                b'[' => Kind::Data,
                b'>' => return true,
                _ => Kind::Doctype { is_open: false },
            };
            false
        }
        // `-->`, `]]>`: how many of the first two were read.
        Kind::Comment | Kind::Data => {
            let mark = if matches!(kind, Kind::Comment) { b'-' } else { b']' };
            if byte == mark {
                *read = if *read < 2 { *read + 1 } else { 2 };
                return false;
            }
            let is_end = byte == b'>' && *read == 2;
            *read = 0;
            is_end
        }
        Kind::Doctype { is_open: false } => {
            if byte == b'[' {
                *kind = Kind::Doctype { is_open: true };
            }
            byte == b'>'
        }
        // Its declarations are often malformed, so they are only skipped to their end.
        Kind::Doctype { is_open: true } => {
            let is_end = byte == b'>' && *read == 1;
            if byte == b']' {
                *read = 1;
            } else if !byte.is_ascii_whitespace() {
                *read = 0;
            }
            is_end
        }
    }
}

/// A child that is being read.
struct Child {
    offset: u64,
    bytes: Vec<u8>,
    wrong: Option<Wrong>,
}

impl Child {
    const fn at(offset: u64) -> Self {
        Self { offset, bytes: Vec::new(), wrong: None }
    }

    fn keep(&mut self, more: &[u8], longest: usize) {
        if self.bytes.len().saturating_add(more.len()) > longest {
            self.wrong = self.wrong.or(Some(Wrong::Long));
            self.bytes = Vec::new();
        }
        if self.wrong.is_none() {
            self.bytes.extend_from_slice(more);
        }
    }
}

/// A tag of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag<'a> {
    /// Its name.
    pub name: &'a str,
    /// The depth of its element, from 0.
    pub depth: usize,
    /// What follows the name.
    rest: &'a str,
}

impl<'a> Tag<'a> {
    /// The value of an attribute, its entities decoded.
    pub fn value(&self, wanted: &str) -> Option<Cow<'a, str>> {
        self.values().find(|(name, _)| *name == wanted).map(|(_, value)| decoded(value))
    }

    /// The attributes, undecoded.
    pub fn values(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let mut rest = self.rest;
        std::iter::from_fn(move || {
            let (name, behind) = rest.split_once('=')?;
            let behind = behind.trim_start();
            let mark = behind.chars().next().filter(|mark| matches!(mark, '"' | '\''))?;
            let (value, after) = behind[1..].split_once(mark)?;
            rest = after;
            Some((name.trim(), value))
        })
    }
}

/// The opening tags in `text`, with their depths. Everything between them is skipped.
pub fn tags(text: &str) -> impl Iterator<Item = Tag<'_>> {
    let mut rest = text;
    let mut depth = 0_usize;
    std::iter::from_fn(move || {
        loop {
            let (_, behind) = rest.split_once('<')?;
            if let Some(comment) = behind.strip_prefix("!--") {
                rest = comment.split_once("-->")?.1;
                continue;
            }
            let mut quote = None;
            let end = behind.bytes().position(|byte| {
                if quote == Some(byte) {
                    quote = None;
                } else if quote.is_none() && matches!(byte, b'"' | b'\'') {
                    quote = Some(byte);
                }
                quote.is_none() && byte == b'>'
            })?;
            let (inner, after) = (&behind[..end], &behind[end + 1..]);
            rest = after;
            if inner.starts_with('/') {
                depth = depth.saturating_sub(1);
                continue;
            }
            if inner.starts_with(['!', '?']) {
                continue;
            }
            let is_empty = inner.ends_with('/');
            let inner = inner.strip_suffix('/').unwrap_or(inner);
            let (name, rest) = inner.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((inner, ""));
            let tag = Tag { name, depth, rest };
            depth += usize::from(!is_empty);
            return Some(tag);
        }
    })
}

/// A value with its entities decoded: XML's built-in ones and numbers. Others stay unchanged.
fn decoded(value: &str) -> Cow<'_, str> {
    if !value.contains('&') {
        return value.into();
    }
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, behind)) = rest.split_once('&') {
        text.push_str(before);
        // The longest is `&#x10ffff;`.
        let end = behind.bytes().take(9).position(|byte| byte == b';');
        if let Some((character, end)) = end.and_then(|end| Some((character(&behind[..end])?, end))) {
            text.push(character);
            rest = &behind[end + 1..];
        } else {
            text.push('&');
            rest = behind;
        }
    }
    text.push_str(rest);
    text.into()
}

fn character(entity: &str) -> Option<char> {
    Some(match entity {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = entity.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(number.ok()?)?
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use proptest::prelude::*;

    use super::*;

    type Found = Vec<(u64, Result<String, Wrong>)>;

    fn children(text: &str, chunk: usize, longest: usize) -> (Found, io::Result<u64>) {
        let mut found = Vec::new();
        let mut bytes = BufReader::with_capacity(chunk, Cursor::new(text.as_bytes()));
        let end = scan(&mut bytes, longest, &mut |element| {
            let stands = &text.as_bytes()
                [usize::try_from(element.offset).unwrap()..usize::try_from(element.next).unwrap()];
            assert!(element.bytes.as_ref().is_ok_and(|bytes| bytes == stands) || element.bytes.is_err());
            let bytes = element.bytes.map(|bytes| String::from_utf8(bytes).unwrap());
            found.push((element.offset, bytes));
            ControlFlow::Continue(())
        });
        (found, end)
    }

    fn texts(text: &str) -> Vec<String> {
        let all: Vec<Found> = (1..60).map(|chunk| children(text, chunk, LONGEST).0).collect();
        assert!(all.windows(2).all(|two| two[0] == two[1]));
        all[0].iter().map(|(_, bytes)| bytes.clone().unwrap_or_else(|wrong| format!("{wrong:?}"))).collect()
    }

    #[test]
    fn o4_14_a_broken_document_type_is_not_read_and_children_are_found() {
        let text = "\u{feff}<?xml version=\"1.0\"?>\n<!DOCTYPE H [\n<!-- [a] > -->\n<!ELEMENT H (R|W)*>\n<!ATTLIST R\n  a CDATA #IMPLIED\n\
                    <!ENTITY x \"<R/>\">\n]>\n<!-- <R no/> --><H l=\"a>b\">\n <R a=\"1\"/>\n <!-- <R/> -->\n <W x='<\"'>\n  <R b=\"&gt;\"/> </W>\n\
                    <?p <R?>\n <R></R></H> <R/>";
        assert_eq!(texts(text), ["<R a=\"1\"/>", "<W x='<\"'>\n  <R b=\"&gt;\"/> </W>", "<R></R>"]);
        assert_eq!(children(text, 7, LONGEST).1.unwrap(), text.len() as u64 - 5);
    }

    #[test]
    fn o4_14_what_is_long_deep_or_open_is_told_and_the_next_one_is_read() {
        let text =
            format!("<H><a b=\"{}\"/><c/>{}{}<d/></H>", "x".repeat(50), "<e>".repeat(70), "</e>".repeat(70));
        for chunk in 1..80 {
            let (found, end) = children(&text, chunk, 800);
            assert!(end.is_ok());
            let found: Vec<_> = found.into_iter().map(|(_, bytes)| bytes).collect();
            assert_eq!(found[1..], [Ok("<c/>".to_owned()), Err(Wrong::Deep), Ok("<d/>".to_owned())]);
            assert_eq!(children(&text, chunk, 40).0[0].1, Err(Wrong::Long));
        }
        // The quotation mark after `b` is missing.
        assert_eq!(
            texts("<H>\n <a b=\"1 c=\"2\"/>\n <a b=\"3\"/>\n <a b=\"\n 4\"/>\n</H>"),
            ["Open", "<a b=\"3\"/>", "<a b=\"\n 4\"/>"]
        );
        // The rest of the abandoned one ends nothing else.
        assert_eq!(texts("<H>\n <W>\n  <a b=\"1/>\n  <c/>\n </W>\n <d/>\n</H>"), ["Open", "<c/>", "<d/>"]);
    }

    #[test]
    fn a_document_that_was_cut_gives_what_was_whole() {
        let text = "<H>\n <R a=\"1\"/>\n <R a=\"2\"/>\n</H>";
        for cut in 0..text.len() {
            let (found, end) = children(&text[..cut], 5, LONGEST);
            assert_eq!(end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
            assert_eq!(found.len(), usize::from(cut >= 15) + usize::from(cut >= 27), "{cut}");
        }
    }

    #[test]
    fn o4_14_only_entities_of_xml_itself_are_decoded() {
        let tag =
            tags(r#"<R a = "1 &amp;lt; 2 &quot;&#xe9;&#233;&apos; &x; &#xd800; &" b='"'/>"#).next().unwrap();
        assert_eq!(tag.name, "R");
        assert_eq!(tag.value("a").unwrap(), "1 &lt; 2 \"éé' &x; &#xd800; &");
        assert_eq!(tag.value("b").unwrap(), "\"");
        assert_eq!(tag.value("c"), None);
    }

    #[test]
    fn tags_know_how_deep_they_are() {
        let found: Vec<_> = tags("<W a=\"x>y\"><!-- <Q> --><S/><A><S b='1'/></A>text<S/></W>")
            .map(|tag| (tag.name, tag.depth))
            .collect();
        assert_eq!(found, [("W", 0), ("S", 1), ("A", 1), ("S", 2), ("S", 1)]);
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(text in "[<>/!?\\[\\]\"'=\\-a \n&;#é]{0,80}", chunk in 1_usize..20) {
            for text in [format!("<H>{text}"), text] {
                let (found, end) = children(&text, chunk, 30);
                prop_assert!(end.is_err() || end.unwrap() <= text.len() as u64);
                prop_assert!(found.windows(2).all(|two| two[0].0 < two[1].0));
                prop_assert!(tags(&text).all(|tag| tag.values().count() <= text.len()));
            }
        }
    }
}
