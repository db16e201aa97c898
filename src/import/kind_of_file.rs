//! Names the kind of a file that was taken for something else, in words for people.

/// The first bytes of files, and their kinds.
const MAGIC: [(&[u8], &str); 13] = [
    (b"\x1f\x8b", "a gzip-compressed file"),
    (b"PK\x03\x04", "a zip archive, or a document that is one (XLSX, DOCX, ODS)"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"BZh", "a bzip2-compressed file"),
    (b"\xfd7zXZ\0", "an xz-compressed file"),
    (b"\x28\xb5\x2f\xfd", "a zstd-compressed file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"%PDF-", "a PDF document"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"GIF8", "a GIF picture"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a document of an old Office program (XLS, DOC)"),
];

/// The kind of a file that is neither a text of rows nor lines of JSON; `None` if it may be one.
pub fn of(head: &[u8]) -> Option<&'static str> {
    if let Some((_, kind)) = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Some(kind);
    }
    if head.starts_with(b"From ") && head.windows(2).any(|two| two == b": ") {
        return Some("a mailbox (mbox)");
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let starts = |mark: &[u8]| text.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark));
    for (mark, kind) in [
        (&b"BEGIN:VCALENDAR"[..], "a calendar (ICS)"),
        (b"BEGIN:VCARD", "contacts (vCard)"),
        (b"<!DOCTYPE html", "a web page (HTML)"),
        (b"<html", "a web page (HTML)"),
        (b"<?xml", "an XML document"),
    ] {
        if starts(mark) {
            return Some(kind);
        }
    }
    None
}

/// What a person can do with a file of this kind.
fn next(kind: &str) -> Option<&'static str> {
    if kind.contains("compressed") || kind.starts_with("a RAR") || kind.starts_with("a 7z") {
        Some("unpack it first")
    } else if kind.contains("(XLS") {
        Some("save its sheets as CSV")
    } else {
        None
    }
}

/// "a gzip-compressed file: unpack it first": the kind of a file, and what to do if something helps.
pub fn with_advice(kind: &str) -> String {
    next(kind).map_or_else(|| kind.to_owned(), |next| format!("{kind}: {next}"))
}

/// "It is not a table of text, but a zip archive", and what to do.
pub fn not_a(wanted: &str, kind: &str) -> String {
    let next = next(kind).unwrap_or("leave out --as: the format is recognised if pdpp knows it");
    format!("It is not a {wanted}, but {kind}: {next}")
}
