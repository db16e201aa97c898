//! The parts of a message: finds the bytes of each part in one pass.
//!
//! mail-parser reads the fields, but the parts are found here because a message may come from an attacker. mail-parser's own part
//! parser nests without a limit, searches for each boundary up to the end of the message, and does not decode the last part of a
//! message that was cut off.

use std::ops::Range;

use mail_parser::ContentType;
use memchr::memmem;

use super::header::{Header, TooLarge};
use crate::import::format::{Bad, Encoding};

/// The most parts of a message (O4.14).
const MOST_PARTS: usize = 1000;
/// How deeply parts may be nested (O4.14).
const DEEPEST: usize = 32;

/// A part that contains no other parts.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// Its position, as IMAP numbers it: `2.1`.
    pub path: String,
    /// Its media type, in lower case.
    pub media_type: String,
    /// The charset that it names.
    pub charset: Option<String>,
    /// Its file name.
    pub filename: Option<String>,
    /// The id by which the HTML of the message refers to it.
    pub content_id: Option<String>,
    /// Whether it is declared as an attachment; `None` if it does not say.
    pub is_attachment: Option<bool>,
    /// How it is encoded.
    pub encoding: Encoding,
    /// The outermost set of alternatives that it belongs to.
    pub alternative: Option<usize>,
    /// Whether it is the first part.
    pub is_first: bool,
    /// The position of its encoded bytes.
    pub bytes: Range<usize>,
}

struct Level {
    /// Includes the two leading dashes.
    boundary: Vec<u8>,
    path: String,
    children: usize,
    is_digest: bool,
    alternative: Option<usize>,
}

struct Walk<'a> {
    mail: &'a [u8],
    is_mbox: bool,
    levels: Vec<Level>,
    parts: Vec<Part>,
    count: usize,
}

/// A line that ends a part.
struct Delimiter {
    /// Where the line begins.
    at: usize,
    /// Where the next line begins.
    next: usize,
    level: usize,
    is_close: bool,
}

/// The parts of `mail`, whose header is `header`. The last part ends where `mail` ends.
pub fn parts(mail: &[u8], header: &Header<'_>, is_mbox: bool) -> Result<Vec<Part>, Bad> {
    let mut walk = Walk { mail, is_mbox, levels: Vec::new(), parts: Vec::new(), count: 0 };
    let mut at = walk.enter(header, String::new())?;
    // Each delimiter that opens a part is followed by the part's header.
    while let Some(from) = at {
        let levels = &walk.levels;
        let header = Header::parse(mail, from, |line| delimits(levels, line).is_some())
            .map_err(|TooLarge| Bad("header larger than 1 MiB"))?;
        let Some(level) = walk.levels.last_mut() else { break };
        level.children += 1;
        let path = if level.path.is_empty() {
            level.children.to_string()
        } else {
            format!("{}.{}", level.path, level.children)
        };
        at = walk.enter(&header, path)?;
    }
    Ok(walk.parts)
}

impl Walk<'_> {
    /// Adds the part whose header was read, and returns where the next part begins.
    fn enter(&mut self, header: &Header<'_>, path: String) -> Result<Option<usize>, Bad> {
        self.count += 1;
        if self.count > MOST_PARTS {
            return Err(Bad("more than 1,000 parts"));
        }
        let kind = header.content_type();
        let boundary = kind.filter(|kind| kind.ctype().eq_ignore_ascii_case("multipart"));
        if let Some((kind, boundary)) = boundary.and_then(|kind| Some((kind, boundary_of(kind)?))) {
            if self.levels.len() == DEEPEST {
                return Err(Bad("parts nested deeper than 32"));
            }
            let is = |subtype: &str| kind.subtype().is_some_and(|is| is.eq_ignore_ascii_case(subtype));
            let outer = self.levels.last().and_then(|level| level.alternative);
            self.levels.push(Level {
                boundary: [b"--", boundary.as_bytes()].concat(),
                path: path.clone(),
                children: 0,
                is_digest: is("digest"),
                alternative: outer.or_else(|| is("alternative").then_some(self.count)),
            });
            let own = self.levels.len() - 1;
            let found = self.delimiter(header.body);
            if found.as_ref().is_some_and(|found| found.level == own && !found.is_close) {
                return Ok(self.next_part(found));
            }
            // The boundary that it names does not occur, so all of it is text.
            self.levels.pop();
            let end = found.as_ref().map_or(self.mail.len(), |found| self.end_before(found.at, header.body));
            self.leaf(header, path, header.body..end);
            return Ok(self.next_part(found));
        }
        let found = self.delimiter(header.body);
        let end = found.as_ref().map_or(self.mail.len(), |found| self.end_before(found.at, header.body));
        self.leaf(header, path, header.body..end);
        Ok(self.next_part(found))
    }

    /// Where the next part begins after a delimiter. Text after the last part of a level is ignored.
    fn next_part(&mut self, mut found: Option<Delimiter>) -> Option<usize> {
        loop {
            let delimiter = found?;
            self.levels.truncate(delimiter.level + 1);
            if !delimiter.is_close {
                return Some(delimiter.next);
            }
            self.levels.truncate(delimiter.level);
            found = self.delimiter(delimiter.next);
        }
    }

    /// The next line, searching from `from`, that is a boundary of any level.
    fn delimiter(&self, from: usize) -> Option<Delimiter> {
        if self.levels.is_empty() {
            return None;
        }
        let mut at = from.min(self.mail.len());
        loop {
            let tail = &self.mail[at..];
            let is_start = at == 0 || self.mail[at - 1] == b'\n';
            if !(is_start && tail.starts_with(b"--")) {
                at += memmem::find(tail, b"\n--")? + 1;
            }
            let tail = &self.mail[at..];
            let next = memchr::memchr(b'\n', tail).map_or(self.mail.len(), |length| at + length + 1);
            if let Some((level, is_close)) = delimits(&self.levels, &self.mail[at..next]) {
                return Some(Delimiter { at, next, level, is_close });
            }
            // Continues at the end of the line, so that the next line can begin with the dashes.
            at = next;
            if at >= self.mail.len() {
                return None;
            }
        }
    }

    /// Excludes the line break that belongs to the delimiter at `at`.
    fn end_before(&self, at: usize, from: usize) -> usize {
        let bytes = &self.mail[from.min(at)..at];
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        from.min(at) + bytes.strip_suffix(b"\r").unwrap_or(bytes).len()
    }

    fn leaf(&mut self, header: &Header<'_>, path: String, bytes: Range<usize>) {
        let level = self.levels.last();
        let kind = header.content_type();
        let media_type = match kind {
            // A multipart without a usable boundary is text.
            Some(kind) if kind.ctype().eq_ignore_ascii_case("multipart") => "text/plain".to_owned(),
            Some(kind) => {
                format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or("x-unknown")).to_ascii_lowercase()
            }
            None if level.is_some_and(|level| level.is_digest) => "message/rfc822".to_owned(),
            None => "text/plain".to_owned(),
        };
        let disposition = header.parameters("content-disposition");
        let attribute = |field: Option<&ContentType<'_>>, name: &str| {
            field
                .and_then(|field| field.attribute(name))
                .map(str::trim)
                .filter(|text| !text.is_empty())
                .map(|text| text.replace(['\0', '\r', '\n'], " "))
        };
        let encoding = header.text("content-transfer-encoding").unwrap_or_default().to_ascii_lowercase();
        self.parts.push(Part {
            path: if path.is_empty() { "1".to_owned() } else { path },
            charset: attribute(kind, "charset"),
            filename: attribute(disposition.as_ref(), "filename").or_else(|| attribute(kind, "name")),
            content_id: header.ids("content-id").into_iter().next(),
            is_attachment: disposition
                .map(|disposition| disposition.ctype().eq_ignore_ascii_case("attachment")),
            encoding: match (encoding.trim(), self.is_mbox) {
                ("base64", _) => Encoding::Base64,
                ("quoted-printable", false) => Encoding::QuotedPrintable,
                ("quoted-printable", true) => Encoding::MboxQuotedPrintable,
                ("binary", _) => Encoding::Plain,
                (_, false) => Encoding::Lines,
                (_, true) => Encoding::MboxLines,
            },
            alternative: level.and_then(|level| level.alternative),
            is_first: self.parts.is_empty(),
            media_type,
            bytes,
        });
    }
}

/// An empty boundary is rejected, because every line of dashes would match it.
fn boundary_of<'a>(kind: &'a ContentType<'_>) -> Option<&'a str> {
    kind.attribute("boundary").map(str::trim_end).filter(|boundary| !boundary.is_empty())
}

/// The level whose boundary a line is, checking the innermost first, and whether it is the closing one.
fn delimits(levels: &[Level], line: &[u8]) -> Option<(usize, bool)> {
    if !line.starts_with(b"--") {
        return None;
    }
    levels.iter().enumerate().rev().find_map(|(at, level)| {
        let rest = line.strip_prefix(level.boundary.as_slice())?.trim_ascii_end();
        match rest {
            b"" => Some((at, false)),
            b"--" => Some((at, true)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(mail: &str) -> Vec<(String, String, &str)> {
        let header = Header::parse(mail.as_bytes(), 0, |_| false).unwrap();
        let found = parts(mail.as_bytes(), &header, false).unwrap();
        found.into_iter().map(|part| (part.path, part.media_type, &mail[part.bytes])).collect()
    }

    fn mixed(boundary: &str, body: &str) -> String {
        format!("Content-Type: multipart/mixed; boundary=\"{boundary}\"\n\n{body}")
    }

    #[test]
    fn parts_are_numbered_as_imap_does() {
        let inner = mixed("a b", "--a b\n\nx\n--a b\nContent-Type: IMAGE/PNG\n\ny\n--a b--\n");
        let mail = mixed(
            "o",
            &format!("before\n--o\n\nfirst\n\n--o\n{inner}between\n--o  \r\n\r\nlast\r\n--o--\nbehind"),
        );
        let text = |path: &str, text| (path.to_owned(), "text/plain".to_owned(), text);
        let image = ("2.2".to_owned(), "image/png".to_owned(), "y");
        assert_eq!(of(&mail), [text("1", "first\n"), text("2.1", "x"), image, text("3", "last")]);
        assert_eq!(of("Subject: x\n\nbody\n"), [text("1", "body\n")]);
    }

    #[test]
    fn what_is_not_closed_ends_where_the_outer_one_goes_on() {
        let inner = mixed("in", "--in\n\nx\n");
        let mail = mixed("out", &format!("--out\n{inner}--out\n\ny\n--outer\n--in\n"));
        let texts: Vec<&str> = of(&mail).into_iter().map(|(_, _, text)| text).collect();
        assert_eq!(texts, ["x", "y\n--outer\n--in\n"], "a longer name is another boundary");
        assert_eq!(of(&mixed("o", "--o\n\nx")).len(), 1);
        assert_eq!(of(&mixed("o", "--o\n--o\n--o--\n")).len(), 2, "parts without a header");
        assert_eq!(of(&mixed("", "--\nx\n"))[0].2, "--\nx\n");
    }

    #[test]
    fn parts_of_a_digest_are_mails() {
        let mail = "Content-Type: multipart/digest; boundary=d\n\n--d\n\nSubject: x\n\nx\n--d--\n";
        assert_eq!(of(mail)[0].1, "message/rfc822");
    }

    proptest! {
        #[test]
        fn parts_follow_each_other(lines in prop::collection::vec(prop::sample::select(&[
            "--a\n", "--a--\n", "--b\n", "--b--\r\n", "\n", "x\n", "Content-Type: multipart/mixed; boundary=b\n",
            "Content-Type: multipart/alternative; boundary=a\n", "Content-Type: text/html\n", "--", "y",
        ][..]), 0..40)) {
            let mail = mixed("a", &lines.concat());
            let header = Header::parse(mail.as_bytes(), 0, |_| false).unwrap();
            let mut at = 0;
            for part in parts(mail.as_bytes(), &header, false).into_iter().flatten() {
                prop_assert!(at <= part.bytes.start && part.bytes.start <= part.bytes.end && part.bytes.end <= mail.len());
                at = part.bytes.end;
            }
        }
    }
}
