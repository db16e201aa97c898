//! The text inside attachments (O5.7): plain text, HTML, PDF, office files and calendars.
//!
//! An attachment comes from anybody. Nothing here runs for longer than its bytes allow: whatever a file asks for (to inflate, to
//! parse, to draw again) is paid from a [`Budget`], which is counted in bytes and not in time, so that the same file gives the same
//! text on every machine. A file that gives none is no bad item: its status says why.

mod calendar;
mod office;
mod pdf;
#[cfg(test)]
pub(in crate::import) mod samples;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::formats::mail::{charset, html};

/// How large an attachment may be that is read, in bytes.
pub const LARGEST: usize = 32 << 20;
/// How long the text of one may be, in bytes.
const LONGEST: usize = 1 << 20;
/// What one attachment may cost, in bytes that are inflated, parsed or drawn.
const OF_ONE: usize = 64 << 20;
/// The same of all attachments of one item.
const OF_ITEM: usize = 128 << 20;
/// How much more than a byte that is read one costs that is held.
const HELD: usize = 8;
/// So much of a beginning shows what a file of no particular type is.
pub const HEAD: usize = 1024;

/// What may still be spent on the attachments of one item.
#[derive(Debug)]
pub struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(OF_ITEM)
    }
}

impl Budget {
    /// Pays for so many bytes.
    fn pay(&mut self, bytes: usize) -> Result<(), Stop> {
        let rest = self.0.checked_sub(bytes);
        self.0 = rest.unwrap_or(0);
        rest.map(drop).ok_or(Stop::TooLarge)
    }

    /// What is left.
    const fn rest(&self) -> usize {
        self.0
    }
}

/// Why the text of a file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// It has as much as is kept.
    Full,
    /// It would cost too much.
    TooLarge,
    /// It needs a password.
    Encrypted,
    /// It is of a kind that is not read.
    Unsupported,
    /// It is damaged, or hostile.
    Failed,
}

/// What was found in an attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// `read`, `cut` (there is more), `empty`, `encrypted`, `too_large`, `unsupported` or `failed`.
    pub status: &'static str,
    /// The text, where there is some.
    pub text: Option<String>,
}

impl Found {
    /// An attachment without a text.
    pub const fn none(status: &'static str) -> Self {
        Self { status, text: None }
    }
}

/// What an attachment is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text as it is.
    Plain,
    /// HTML.
    Html,
    /// A calendar.
    Calendar,
    /// A document, by its first bytes: PDF, or an office file.
    Document,
}

/// The types of text as it is, beside `text/plain`.
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
/// The types that say nothing.
const ANY: [&str; 7] = [
    "application/octet-stream",
    "application/x-octet-stream",
    "application/download",
    "application/x-download",
    "application/force-download",
    "application/zip",
    "application/x-zip-compressed",
];

/// What an attachment may be read as by its type, before its bytes are looked at; `None` for one whose text is not read.
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

/// What an attachment is read as by its first bytes, and by its name where its type says nothing.
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
    // UTF-16 has NULs too, and begins with its mark.
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
    // A text costs more than what it was read from: all of them are held until the item is written.
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
    // So much is enough in every charset; what is cut in the midst of a character is left out below.
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

/// A text that grows to its bound.
#[derive(Debug, Default)]
struct Text(String);

impl Text {
    /// Adds what is read, line ends as LF and without what no text has.
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

    /// A blank, unless there is one.
    fn blank(&mut self) -> Result<(), Stop> {
        if self.0.is_empty() || self.0.ends_with([' ', '\n', '\t']) { Ok(()) } else { self.push(" ") }
    }

    /// The end of a line, unless it is there.
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

/// Bytes inflated to at most what is left, and paid for.
fn inflated(bytes: &mut dyn std::io::Read, most: usize, budget: &mut Budget) -> Result<Vec<u8>, Stop> {
    use std::io::Read as _;
    let bound = most.min(budget.rest());
    let mut out = Vec::new();
    // What is there up to a damage is there.
    let _ = bytes.take(bound as u64 + 1).read_to_end(&mut out);
    budget.pay(out.len())?;
    if out.len() > bound { Err(Stop::TooLarge) } else { Ok(out) }
}
