//! The content of a message after its head: the author, the words and the file.

use std::borrow::Cow;

use super::head::is_mark;
use super::words;

/// The longest author's name, in characters.
const LONGEST_AUTHOR: usize = 120;
/// The longest file name, in bytes.
const LONGEST_FILE: usize = 255;

/// The content of a message.
#[allow(clippy::struct_excessive_bools, reason = "each is a separate fact")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The author.
    pub author: Option<String>,
    /// The words, as they were written.
    pub content: Option<String>,
    /// The file that was sent.
    pub file: Option<File>,
    /// Whether WhatsApp itself wrote the message.
    pub is_system: bool,
    /// Whether it was edited.
    pub is_edited: bool,
    /// Whether it was deleted.
    pub is_deleted: bool,
    /// What is the same in every export: the text without the file's name and without the votes of a poll.
    pub same: String,
    /// Whether exports may differ in the words, as in a poll.
    pub is_poll: bool,
}

/// A file that was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct File {
    /// Its name, if the export gives it.
    pub name: Option<String>,
    /// Its media type, or its general kind.
    pub media_type: Option<&'static str>,
}

/// Represents a file in the text that is the same in every export.
const FILE: char = '\u{fffc}';

/// Reads the text after the head of a message.
pub fn said(rest: &str, has_brackets: bool) -> Said {
    let (author, text) = match author(rest) {
        Some((author, text)) => (Some(author.to_owned()), text),
        None => (None, rest),
    };
    let is_marked = text.starts_with('\u{200e}');
    let mut text: Cow<'_, str> =
        if text.contains('\r') { text.replace("\r\n", "\n").into() } else { text.into() };
    let mut said = Said { is_system: author.is_none(), author, ..Said::default() };
    if let Some(kept) = without_edited(&text) {
        said.is_edited = true;
        text = kept.to_owned().into();
    }
    let found = (!said.is_system).then(|| file(&text)).flatten();
    let words = match found {
        Some((file, words)) => {
            said.file = Some(file);
            words
        }
        None => text.into_owned(),
    };
    said.is_deleted = said.file.is_none() && words::is_deleted(&words);
    let seen = seen(&words);
    said.is_poll = is_poll(&words);
    // On an iPhone, an invisible mark precedes text that WhatsApp itself wrote.
    if has_brackets
        && is_marked
        && said.file.is_none()
        && !said.is_deleted
        && !said.is_poll
        && !is_place(&seen)
    {
        said.is_system = true;
    }
    said.same = if said.is_poll { without_votes(&seen) } else { seen.clone() };
    if said.file.is_some() {
        said.same.insert(0, FILE);
    }
    said.content = Some(seen).filter(|seen| !seen.is_empty());
    said
}

/// The text without marks that WhatsApp added, and without surrounding spaces. Marks that join emoji are kept.
fn seen(text: &str) -> String {
    let is_written = |c: &char| !matches!(c, '\u{200e}' | '\u{200f}' | '\u{feff}' | '\u{202a}'..='\u{202c}');
    let text: String = text.chars().filter(is_written).collect();
    let lines: Vec<&str> = text.split('\n').map(str::trim_end).collect();
    lines.join("\n").trim().to_owned()
}

/// Splits the text into the author and the rest, if there is an author.
fn author(rest: &str) -> Option<(&str, &str)> {
    let line = rest.split('\n').next().unwrap_or(rest);
    for (at, _) in line.char_indices().take(LONGEST_AUTHOR).filter(|(_, c)| *c == ':') {
        let behind = &rest[at + 1..];
        // The colon of a time or an address does not follow an author.
        if !(behind.is_empty() || behind.starts_with([' ', '\n', '\r', '\u{200e}', '\u{200f}', '\u{a0}'])) {
            continue;
        }
        let author = line[..at].trim_matches(|c: char| is_mark(c) || c.is_whitespace());
        // "Ana changed the subject to “Trip: Rome”" has no author.
        let is_quoting = author.contains(['"', '“', '”', '„', '«', '»', '「', '」']);
        return (!author.is_empty() && !is_quoting)
            .then(|| (author, behind.strip_prefix([' ', '\u{a0}']).unwrap_or(behind)));
    }
    None
}

/// The text without `<This message was edited>` at its end.
fn without_edited(text: &str) -> Option<&str> {
    let (kept, phrase) = text.trim_end().strip_suffix('>')?.rsplit_once('<')?;
    words::is_edited(phrase).then_some(kept)
}

/// The file that a text names, or that was omitted, and the other words.
fn file(text: &str) -> Option<(File, String)> {
    named_last(text).or_else(|| named_first(text)).or_else(|| omitted(text))
}

/// Reads `words <attached: 00000012-PHOTO.jpg>`, in any language.
fn named_last(text: &str) -> Option<(File, String)> {
    let (words, phrase) = text.trim_end().strip_suffix('>')?.rsplit_once('<')?;
    let (word, name) = phrase.split_once([':', '：'])?;
    let name = name.trim_matches(|c: char| is_mark(c) || c.is_whitespace());
    let is_word = !word.is_empty() && word.chars().count() <= 30 && !word.contains(['/', '\n']);
    (is_word && is_file_name(name)).then(|| (File::named(name), words.to_owned()))
}

/// Reads `IMG-20260131-WA0001.jpg (file attached)`, and the words on the next lines.
fn named_first(text: &str) -> Option<(File, String)> {
    let (line, words) = text.split_once('\n').unwrap_or((text, ""));
    let (name, phrase) = line.trim_end().strip_suffix(')')?.rsplit_once(" (")?;
    let name = name.trim_matches(|c: char| is_mark(c) || c.is_whitespace());
    let is_own_name = || {
        name.contains("-WA")
            && name.starts_with(|c: char| c.is_ascii_uppercase())
            && !phrase.contains(char::is_numeric)
    };
    (is_file_name(name) && (words::is_attached(phrase) || is_own_name()))
        .then(|| (File::named(name), words.to_owned()))
}

/// Reads `<Media omitted>` and the words on the next lines, or words and `image omitted`.
fn omitted(text: &str) -> Option<(File, String)> {
    let (line, words) = text.split_once('\n').unwrap_or((text, ""));
    let line = line.trim_matches(|c: char| is_mark(c) || c.is_whitespace());
    if let Some(phrase) = line.strip_prefix('<').and_then(|line| line.strip_suffix('>'))
        && words::is_omitted(phrase)
    {
        return Some((File::default(), words.to_owned()));
    }
    let (kind, words) = words::omitted_kind(text)?;
    Some((File { name: None, media_type: Some(kind).filter(|kind| !kind.is_empty()) }, words.to_owned()))
}

fn is_file_name(name: &str) -> bool {
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    (1..=8).contains(&end.len())
        && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && name.len() <= LONGEST_FILE
        && !name.contains(['/', '\\', '<', '>', '\n'])
}

impl File {
    fn named(name: &str) -> Self {
        let end = name.rsplit_once('.').map_or("", |(_, end)| end).to_ascii_lowercase();
        Self { name: Some(name.to_owned()), media_type: media_type(&end) }
    }
}

/// The media type of a file with this extension.
pub fn media_type(end: &str) -> Option<&'static str> {
    Some(match end {
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "heic" => "image/heic",
        "mp4" => "video/mp4",
        "mov" => "video/quicktime",
        "3gp" => "video/3gpp",
        "opus" | "ogg" | "oga" => "audio/ogg",
        "m4a" => "audio/mp4",
        "mp3" => "audio/mpeg",
        "aac" => "audio/aac",
        "amr" => "audio/amr",
        "wav" => "audio/wav",
        "pdf" => "application/pdf",
        "vcf" => "text/vcard",
        "txt" => "text/plain",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "zip" => "application/zip",
        "doc" => "application/msword",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xls" => "application/vnd.ms-excel",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "ppt" => "application/vnd.ms-powerpoint",
        "pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        _ => return None,
    })
}

/// Whether a text is a poll: `POLL:` and its question, then `OPTION: …` with its votes, in any language.
fn is_poll(text: &str) -> bool {
    let mut lines = text.lines();
    let is_first = lines.next().is_some_and(|line| label(line).is_some());
    is_first && lines.any(|line| label(line).is_some() && votes(line).is_some())
}

/// The word in capitals before a colon at the beginning of a line.
fn label(line: &str) -> Option<&str> {
    let (word, _) = line.trim_start_matches(is_mark).split_once(':')?;
    let is_word =
        (2..=24).contains(&word.chars().count()) && !word.chars().any(|c| c.is_lowercase() || c.is_numeric());
    (is_word && word.chars().any(char::is_alphabetic)).then_some(word)
}

/// Where the votes of an option begin: ` (3 votes)`.
fn votes(line: &str) -> Option<usize> {
    let (kept, votes) = line.trim_end().strip_suffix(')')?.rsplit_once('(')?;
    votes.contains(char::is_numeric).then_some(kept.len())
}

fn without_votes(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| votes(line).filter(|_| label(line).is_some()).map_or(line, |end| line[..end].trim_end()));
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a text is a place on a map, as an iPhone writes it.
fn is_place(text: &str) -> bool {
    text.contains("https://maps.google.com/") || text.contains("https://foursquare.com/")
}
