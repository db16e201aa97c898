//! Names the kind of a file that was taken for something else, in words for people.

use memchr::memmem;

/// The kind of a file, and what a person can do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileKind {
    /// "a PNG picture".
    name: &'static str,
    next: Option<&'static str>,
}

const UNPACK: Option<&str> = Some("unpack it first");
const NO_PROGRAM: Option<&str> = Some("pdpp does not read programs");
const NO_PICTURE: Option<&str> = Some("pdpp does not read pictures");
const NO_SOUND: Option<&str> = Some("pdpp does not read sound");
const NO_VIDEO: Option<&str> = Some("pdpp does not read videos");
const NO_TEXT: Option<&str> = Some("pdpp reads its text only if it is attached to an email");

/// The first bytes of files, their kinds, and what to do.
const MAGIC: [(&[u8], &str, Option<&str>); 20] = [
    (b"\x1f\x8b", "a gzip-compressed file", UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", UNPACK),
    (b"BZh", "a bzip2-compressed file", UNPACK),
    (b"\xfd7zXZ\0", "an xz-compressed file", UNPACK),
    (b"\x28\xb5\x2f\xfd", "a zstd-compressed file", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (b"SQLite format 3\0", "an SQLite database", None),
    (b"%PDF-", "a PDF document", NO_TEXT),
    (b"\xff\xd8\xff", "a JPEG picture", NO_PICTURE),
    (b"\x89PNG\r\n\x1a\n", "a PNG picture", NO_PICTURE),
    (b"GIF8", "a GIF picture", NO_PICTURE),
    (b"II*\0", "a TIFF picture", NO_PICTURE),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "a document of an old Office program (XLS, DOC)",
        Some("save the sheets of an XLS file as CSV; pdpp does not read the text of the others"),
    ),
    (b"\x7fELF", "a program for Linux", NO_PROGRAM),
    (b"\xcf\xfa\xed\xfe", "a program for macOS", NO_PROGRAM),
    (b"\xca\xfe\xba\xbe", "a program", NO_PROGRAM),
    (b"ID3\x03\0", "a sound file (MP3)", NO_SOUND),
    (b"ID3\x04\0", "a sound file (MP3)", NO_SOUND),
    (b"fLaC", "a sound file (FLAC)", NO_SOUND),
    (b"\x1aE\xdf\xa3", "a video (MKV, WebM)", NO_VIDEO),
];

/// Members by which an archive is known to be a document or a program, with its kind and what to do.
const WITHIN: [(&str, &str, Option<&str>); 7] = [
    ("xl/workbook.xml", "an Excel workbook", Some("save its sheets as CSV")),
    ("word/document.xml", "a Word document", NO_TEXT),
    ("ppt/presentation.xml", "a PowerPoint presentation", NO_TEXT),
    (
        "META-INF/manifest.xml",
        "an OpenDocument file (ODS, ODT, ODP)",
        Some(
            "save the sheets of an ODS file as CSV; pdpp reads the text of the others only if they are attached to an email",
        ),
    ),
    ("META-INF/container.xml", "an e-book (EPUB)", Some("pdpp does not read e-books")),
    ("META-INF/MANIFEST.MF", "a program (JAR, APK)", NO_PROGRAM),
    ("AndroidManifest.xml", "a program (APK)", NO_PROGRAM),
];

const fn kind(name: &'static str, next: Option<&'static str>) -> FileKind {
    FileKind { name, next }
}

/// The kind of a file that is neither a text of rows nor lines of JSON; `None` if it may be one.
pub fn of(head: &[u8]) -> Option<FileKind> {
    if let Some((_, name, next)) = MAGIC.iter().find(|(magic, ..)| head.starts_with(magic)) {
        return Some(kind(name, *next));
    }
    if head.starts_with(b"PK\x03\x04") {
        return Some(of_zip(head));
    }
    // Short marks, which a text may begin with too.
    if head.starts_with(b"MZ") && head.iter().take(64).any(|byte| *byte == 0) {
        return Some(kind("a program for Windows (EXE)", NO_PROGRAM));
    }
    if head.starts_with(b"OggS\0") {
        return Some(kind("a sound file or a video (Ogg)", Some("pdpp reads neither")));
    }
    if head.get(4..8) == Some(b"ftyp") {
        return Some(match head.get(8..11) {
            Some(b"M4A") => kind("a sound file (M4A)", NO_SOUND),
            Some(b"hei" | b"hev" | b"mif" | b"avi") => kind("a picture (HEIC, AVIF)", NO_PICTURE),
            _ => kind("a video (MP4, MOV)", NO_VIDEO),
        });
    }
    if head.starts_with(b"RIFF") {
        match head.get(8..12) {
            Some(b"WAVE") => return Some(kind("a sound file (WAV)", NO_SOUND)),
            Some(b"AVI ") => return Some(kind("a video (AVI)", NO_VIDEO)),
            Some(b"WEBP") => return Some(kind("a WebP picture", NO_PICTURE)),
            _ => {}
        }
    }
    if head.starts_with(b"From ") && head.windows(2).any(|two| two == b": ") {
        return Some(kind("a mailbox (mbox)", None));
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let starts = |mark: &[u8]| text.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark));
    for (mark, name) in [
        (&b"BEGIN:VCALENDAR"[..], "a calendar (ICS)"),
        (b"BEGIN:VCARD", "contacts (vCard)"),
        (b"<!DOCTYPE html", "a web page (HTML)"),
        (b"<html", "a web page (HTML)"),
        (b"<?xml", "an XML document"),
    ] {
        if starts(mark) {
            return Some(kind(name, None));
        }
    }
    None
}

/// The kind of a zip archive by the names of its first members. Its list of all of them is at its end.
fn of_zip(head: &[u8]) -> FileKind {
    let is_first = |name: &str| memmem::find(head, name.as_bytes()).is_some();
    // These name their kind in their first member; the main part of the others may be too far from the beginning, but its
    // folder is not.
    let (open_document, book) = ("application/vnd.oasis.opendocument", "application/epub");
    let of = |member: &str| WITHIN.iter().find(|(known, ..)| *known == member);
    let found = if is_first(open_document) {
        of("META-INF/manifest.xml")
    } else if is_first(book) {
        of("META-INF/container.xml")
    } else {
        WITHIN.iter().find(|(member, ..)| match member.split_once('/') {
            Some((folder @ ("xl" | "word" | "ppt"), _)) => {
                is_first("[Content_Types].xml") && is_first(&format!("{folder}/"))
            }
            _ => is_first(member),
        })
    };
    let plain = FileKind::other("a zip archive, or a document that is one (XLSX, DOCX, ODS)");
    found.map_or(plain, |(_, name, next)| FileKind { name, next: *next })
}

/// The document or program that has this member, and where it is: `("x.docx", a Word document)`. The place is empty if
/// nothing is around it.
pub fn around(label: &str) -> Option<(&str, FileKind)> {
    WITHIN.iter().find_map(|(member, name, next)| {
        let place = label.strip_suffix(member)?;
        let place = if place.is_empty() { place } else { place.strip_suffix('/')? };
        Some((place, FileKind { name, next: *next }))
    })
}

impl FileKind {
    /// Something else, for which no advice is known.
    pub const fn other(name: &'static str) -> Self {
        Self { name, next: None }
    }

    /// "it is a gzip-compressed file: unpack it first": the kind of a file, and what to do if something helps.
    pub fn in_words(self) -> String {
        let next = self.next.map(|next| format!(": {next}")).unwrap_or_default();
        format!("it is {}{next}", self.name)
    }

    /// "It is not a table of text, but a zip archive", and what to do.
    pub fn not_a(self, wanted: &str) -> String {
        let next = self.next.unwrap_or("leave out --as: the format is recognised if pdpp knows it");
        format!("It is not a {wanted}, but {}: {next}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_its_first_bytes_and_a_text_is_none() {
        for (head, wanted) in [
            (&b"MZ\x90\0\x03"[..], "it is a program for Windows (EXE): pdpp does not read programs"),
            (b"\0\0\0\x20ftypisom\0\0", "it is a video (MP4, MOV): pdpp does not read videos"),
            (b"\0\0\0\x20ftypheic\0\0", "it is a picture (HEIC, AVIF): pdpp does not read pictures"),
            (b"\0\0\0\x20ftypM4A \0\0", "it is a sound file (M4A): pdpp does not read sound"),
            (b"RIFF\x10\0\0\0WAVEfmt ", "it is a sound file (WAV): pdpp does not read sound"),
            (b"\x1f\x8b\x08", "it is a gzip-compressed file: unpack it first"),
            (b"SQLite format 3\0", "it is an SQLite database"),
            (
                b"PK\x03\x04..[Content_Types].xml..xl/_rels/..",
                "it is an Excel workbook: save its sheets as CSV",
            ),
            (
                b"PK\x03\x04..mimetypeapplication/epub+zip",
                "it is an e-book (EPUB): pdpp does not read e-books",
            ),
            (b"PK\x03\x04..words/a.txt", "it is a zip archive, or a document that is one (XLSX, DOCX, ODS)"),
        ] {
            assert_eq!(of(head).map(FileKind::in_words).as_deref(), Some(wanted));
        }
        for text in [&b"MZ,id\n1,2\n"[..], b"RIFF,a\n1,2\n", b"a;b\n", b"ID3,b\n", b""] {
            assert_eq!(of(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_document_is_known_by_its_main_part() {
        for (label, wanted) in [
            ("word/document.xml", Some(("", "a Word document"))),
            ("papers/a.docx/word/document.xml", Some(("papers/a.docx", "a Word document"))),
            ("b.xlsx/xl/workbook.xml", Some(("b.xlsx", "an Excel workbook"))),
            ("backword/document.xml", None),
            ("a.docx/word/styles.xml", None),
        ] {
            assert_eq!(around(label).map(|(place, kind)| (place, kind.name)), wanted, "{label}");
        }
    }
}
