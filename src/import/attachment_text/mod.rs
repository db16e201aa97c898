//! Extracts the text of attachments (O5.7): plain text, HTML, PDF, office files and calendars.
//!
//! An attachment can come from anyone. Nothing here runs for longer than its bytes allow: everything that
//! a file asks for (to inflate, to parse, to draw again) is paid from a [`Budget`], which counts bytes
//! and not time, so that the same file gives the same text on every machine. A file without text is not a
//! bad item: its status states the reason.

mod calendar;
mod office;
mod pdf;
#[cfg(test)]
pub(in crate::import) mod samples;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::formats::mail::{charset, html};

/// The largest attachment that is read, in bytes.
pub const LARGEST: usize = 32 << 20;
/// The longest text of one attachment, in bytes.
const LONGEST: usize = 1 << 20;
/// The most that one attachment may cost, in bytes that are inflated, parsed or drawn.
const OF_ONE: usize = 64 << 20;
/// The most that all attachments of one item may cost.
const OF_ITEM: usize = 128 << 20;
/// How many times more a byte costs that is kept in memory than one that is only read.
const HELD: usize = 8;
/// How many bytes of the beginning show the kind of a file with a generic type.
pub const HEAD: usize = 1024;

/// The budget that is left for the attachments of one item.
#[derive(Debug)]
pub struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(OF_ITEM)
    }
}

impl Budget {
    /// Pays for `bytes` bytes.
    fn pay(&mut self, bytes: usize) -> Result<(), Stop> {
        let rest = self.0.checked_sub(bytes);
        self.0 = rest.unwrap_or(0);
        rest.map(drop).ok_or(Stop::TooLarge)
    }

    /// The bytes that are left.
    const fn rest(&self) -> usize {
        self.0
    }
}

/// Why the text of a file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The text has the maximum length.
    Full,
    /// The rest would cost too much.
    TooLarge,
    /// It needs a password.
    Encrypted,
    /// Its kind is not supported.
    Unsupported,
    /// It is damaged, or hostile.
    Failed,
}

/// What was found in an attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// `read`, `cut` (there is more), `empty`, `encrypted`, `too_large`, `unsupported` or `failed`.
    pub status: &'static str,
    /// The text, if there is any.
    pub text: Option<String>,
}

impl Found {
    /// An attachment without a text.
    pub const fn none(status: &'static str) -> Self {
        Self { status, text: None }
    }
}

/// How to read an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Plain text.
    Plain,
    /// HTML.
    Html,
    /// A calendar.
    Calendar,
    /// A document whose kind its first bytes show: PDF, or an office file.
    Document,
}

/// The types of plain text other than `text/plain`.
const PLAIN: [&str; 9] = [
    "text/plain",
    "text/csv",
    "text/tab-separated-values",
    "text/markdown",
    "text/x-markdown",
    "text/x-log",
    "text/xml",
    "application/json",
    "application/xml",
];
/// The generic types.
const ANY: [&str; 7] = [
    "application/octet-stream",
    "application/x-octet-stream",
    "application/download",
    "application/x-download",
    "application/force-download",
    "application/zip",
    "application/x-zip-compressed",
];

/// How an attachment may be read, judged by its type, before its bytes are examined; `None` if its text
/// is not read.
pub fn may_be(media_type: &str) -> Option<Kind> {
    match media_type {
        "text/html" | "application/xhtml+xml" => Some(Kind::Html),
        "text/calendar" | "application/ics" => Some(Kind::Calendar),
        _ if PLAIN.contains(&media_type) => Some(Kind::Plain),
        "application/pdf" | "application/x-pdf" => Some(Kind::Document),
        _ if media_type.starts_with("application/vnd.openxmlformats-officedocument.")
            || media_type.starts_with("application/vnd.oasis.opendocument.")
            || ANY.contains(&media_type) =>
        {
            Some(Kind::Document)
        }
        _ => None,
    }
}

/// How an attachment is read, judged by its first bytes and, if its type is generic, by its name.
pub fn is(media_type: &str, name: Option<&str>, head: &[u8]) -> Option<Kind> {
    let kind = may_be(media_type)?;
    if kind != Kind::Document || pdf::is(head) || office::is(head) || !ANY.contains(&media_type) {
        return Some(kind);
    }
    let ending = name.and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending.to_ascii_lowercase());
    let kind = match ending.as_deref()? {
        "txt" | "text" | "log" | "md" | "csv" | "tsv" => Kind::Plain,
        "html" | "htm" => Kind::Html,
        "ics" => Kind::Calendar,
        _ => return None,
    };
    // UTF-16 has NULs too, but begins with a byte order mark.
    let is_text =
        memchr::memchr(0, head).is_none() || head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    is_text.then_some(kind)
}

/// The text of an attachment.
pub fn read(kind: Kind, declared: Option<&str>, bytes: &[u8], budget: &mut Budget) -> Found {
    if bytes.len() > LARGEST {
        return Found::none("too_large");
    }
    let mut own = Budget(budget.0.min(OF_ONE));
    let (before, mut text) = (own.0, Text::default());
    let ended = catch_unwind(AssertUnwindSafe(|| match kind {
        Kind::Plain => plain(bytes, declared, &mut own, &mut text),
        Kind::Html => rich(bytes, declared, &mut own, &mut text),
        Kind::Calendar => calendar::read(bytes, declared, &mut own, &mut text),
        Kind::Document if pdf::is(bytes) => pdf::read(bytes, &mut own, &mut text),
        Kind::Document => office::read(bytes, &mut own, &mut text),
    }));
    let text = text.end();
    // Text costs more than the bytes that it was read from, because all texts are kept until the item is
    // written.
    let cost = (before - own.0).saturating_add(text.len().saturating_mul(HELD));
    budget.0 = budget.0.saturating_sub(cost);
    let Ok(ended) = ended else { return Found::none("failed") };
    match (ended, text.is_empty()) {
        (Ok(()) | Err(Stop::Full), true) => Found::none("empty"),
        (Ok(()), false) => Found { status: "read", text: Some(text) },
        (Err(Stop::Encrypted), _) => Found::none("encrypted"),
        (Err(Stop::Unsupported), _) => Found::none("unsupported"),
        (Err(Stop::Failed), true) => Found::none("failed"),
        (Err(Stop::TooLarge), true) => Found::none("too_large"),
        (Err(_), false) => Found { status: "cut", text: Some(text) },
    }
}

fn plain(bytes: &[u8], declared: Option<&str>, budget: &mut Budget, text: &mut Text) -> Result<(), Stop> {
    budget.pay(bytes.len())?;
    // This many bytes are enough in every charset; a character that is cut in two is dropped below.
    let some = &bytes[..bytes.len().min(4 * LONGEST)];
    let (decoded, _) = charset::decode(some, declared);
    text.push(&decoded)?;
    if some.len() < bytes.len() { Err(Stop::Full) } else { Ok(()) }
}

fn rich(bytes: &[u8], declared: Option<&str>, budget: &mut Budget, text: &mut Text) -> Result<(), Stop> {
    budget.pay(bytes.len().saturating_mul(2))?;
    let named = declared.map(str::to_owned).or_else(|| charset::named_in_html(bytes));
    let (decoded, _) = charset::decode(bytes, named.as_deref());
    text.push(&html::to_text(&decoded, LONGEST + 1).seen)
}

/// A text that grows up to its limit.
#[derive(Debug, Default)]
struct Text(String);

impl Text {
    /// Adds text, with LF as the end of a line and without control characters.
    fn push(&mut self, more: &str) -> Result<(), Stop> {
        let room = LONGEST - self.0.len().min(LONGEST);
        let fits = &more[..more.floor_char_boundary(room)];
        if fits.bytes().any(|byte| byte < b' ' && !matches!(byte, b'\n' | b'\t')) {
            let fits = fits.replace("\r\n", "\n");
            self.0.extend(fits.chars().map(|c| match c {
                '\r' | '\u{b}' | '\u{c}' => '\n',
                c if c < ' ' && !matches!(c, '\n' | '\t') => ' ',
                c => c,
            }));
        } else {
            self.0.push_str(fits);
        }
        if fits.len() < more.len() { Err(Stop::Full) } else { Ok(()) }
    }

    /// Adds a blank, unless the text ends with one.
    fn blank(&mut self) -> Result<(), Stop> {
        if self.0.is_empty() || self.0.ends_with([' ', '\n', '\t']) { Ok(()) } else { self.push(" ") }
    }

    /// Ends the line, unless it has ended.
    fn line(&mut self) -> Result<(), Stop> {
        while self.0.ends_with([' ', '\t']) {
            self.0.pop();
        }
        if self.0.is_empty() || self.0.ends_with('\n') { Ok(()) } else { self.push("\n") }
    }

    fn end(mut self) -> String {
        self.0.truncate(self.0.trim_end().len());
        let blanks = self.0.len() - self.0.trim_start_matches(['\n', '\u{feff}']).len();
        if blanks > 0 {
            self.0.drain(..blanks);
        }
        self.0
    }
}

/// Inflates and pays for bytes, up to what is left.
fn inflated(bytes: &mut dyn std::io::Read, most: usize, budget: &mut Budget) -> Result<Vec<u8>, Stop> {
    use std::io::Read as _;
    let bound = most.min(budget.rest());
    let mut out = Vec::new();
    // What precedes the damage is kept.
    let _ = bytes.take(bound as u64 + 1).read_to_end(&mut out);
    budget.pay(out.len())?;
    if out.len() > bound { Err(Stop::TooLarge) } else { Ok(out) }
}
