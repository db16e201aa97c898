//! Reads office files: DOCX, XLSX, PPTX, ODT, ODS and ODP. All are XML in a zip archive, of which only
//! the members with text are opened.

use std::borrow::Cow;
use std::io::{BufReader, Cursor, Read as _};

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::ZipError;

use super::{Budget, Stop, Text};

/// The most members of an archive.
const MOST_MEMBERS: usize = 20_000;
/// The largest member, unpacked.
const LARGEST_MEMBER: usize = 64 << 20;
/// How deeply elements may be nested (O4.14).
const DEEPEST: usize = 64;
/// The most bytes of shared cell texts that are kept.
const MOST_SHARED: usize = 8 << 20;

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Whether a file begins like one of these, or like the encrypted envelope of one.
pub fn is(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(OLE)
}

/// The first bytes of files of older programs, and of encrypted files of newer ones.
const OLE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

pub fn read(bytes: &[u8], budget: &mut Budget, text: &mut Text) -> Result<(), Stop> {
    if bytes.starts_with(OLE) {
        let name: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let is_encrypted = memchr::memmem::find(bytes, &name).is_some();
        return Err(if is_encrypted { Stop::Encrypted } else { Stop::Unsupported });
    }
    if !bytes.starts_with(b"PK\x03\x04") {
        return Err(Stop::Failed);
    }
    budget.pay(bytes.len())?;
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| Stop::Failed)?;
    if archive.len() > MOST_MEMBERS {
        return Err(Stop::TooLarge);
    }
    let names: Vec<String> = archive.file_names().flatten().map(Cow::into_owned).collect();
    let has = |name: &str| names.iter().any(|known| known == name);
    if has("word/document.xml") {
        let others = numbered(
            &names,
            &["word/footnotes", "word/endnotes", "word/header", "word/footer", "word/comments"],
        );
        let members = std::iter::once("word/document.xml".to_owned()).chain(others);
        return members.into_iter().try_for_each(|name| prose(&mut archive, &name, budget, text));
    }
    if has("xl/workbook.xml") {
        return sheets(&mut archive, &names, budget, text);
    }
    if has("ppt/presentation.xml") {
        let slides = numbered(&names, &["ppt/slides/slide", "ppt/notesSlides/notesSlide"]);
        return slides.into_iter().try_for_each(|name| prose(&mut archive, &name, budget, text));
    }
    if has("mimetype") && has("content.xml") {
        if has("META-INF/manifest.xml") {
            let mut manifest = Vec::new();
            member(&mut archive, "META-INF/manifest.xml")?
                .take(1 << 20)
                .read_to_end(&mut manifest)
                .map_err(|_| Stop::Failed)?;
            budget.pay(manifest.len())?;
            if memchr::memmem::find(&manifest, b"encryption-data").is_some() {
                return Err(Stop::Encrypted);
            }
        }
        return open_document(&mut archive, budget, text);
    }
    Err(Stop::Unsupported)
}

/// The members named `BEGINNING.xml` and `BEGINNING12.xml`, in the order of the beginnings and of their
/// numbers.
fn numbered(names: &[String], beginnings: &[&str]) -> Vec<String> {
    let mut found: Vec<(usize, u32, &String)> = Vec::new();
    for name in names {
        for (at, beginning) in beginnings.iter().enumerate() {
            let number = name.strip_prefix(beginning).and_then(|rest| rest.strip_suffix(".xml"));
            let Some(number) = number else { continue };
            if number.is_empty() {
                found.push((at, 0, name));
            } else if let Ok(number) = number.parse() {
                found.push((at, number, name));
            }
        }
    }
    found.sort();
    found.into_iter().map(|(.., name)| name.clone()).collect()
}

fn member<'m, 'b>(archive: &'m mut Archive<'b>, name: &str) -> Result<ZipFile<'m, Cursor<&'b [u8]>>, Stop> {
    archive.by_name(name).map_err(|error| match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => Stop::Encrypted,
        _ => Stop::Failed,
    })
}

/// What an element means for the caller that reads a member.
enum Step<'a> {
    Begin(&'a BytesStart<'a>),
    End(&'a str),
    Words(&'a str),
}

/// Walks through a member's XML once, with the local names of elements.
fn walk(
    archive: &mut Archive<'_>,
    name: &str,
    budget: &mut Budget,
    mut each: impl FnMut(Step<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let bound = LARGEST_MEMBER.min(budget.rest());
    let file = member(archive, name)?;
    let mut reader = Reader::from_reader(BufReader::with_capacity(32 << 10, file.take(bound as u64)));
    let (mut buffer, mut depth, mut paid) = (Vec::new(), 0_usize, 0_u64);
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer).map_err(|_| Stop::Failed);
        let at = reader.buffer_position();
        budget.pay(usize::try_from(at - paid).unwrap_or(usize::MAX))?;
        paid = at;
        match event? {
            Event::Start(element) => {
                depth += 1;
                if depth > DEEPEST {
                    return Err(Stop::Failed);
                }
                each(Step::Begin(&element))?;
            }
            Event::Empty(element) => {
                each(Step::Begin(&element))?;
                each(Step::End(element.local_name().as_ref()))?;
            }
            Event::End(element) => {
                depth = depth.saturating_sub(1);
                each(Step::End(element.local_name().as_ref()))?;
            }
            Event::Text(words) => each(Step::Words(&words.xml10_content()))?,
            Event::CData(words) => each(Step::Words(&words.xml10_content()))?,
            Event::GeneralRef(reference) => {
                let c = match reference.resolve_char_ref() {
                    Ok(Some(c)) => Some(c),
                    _ => match &*reference {
                        "amp" => Some('&'),
                        "lt" => Some('<'),
                        "gt" => Some('>'),
                        "quot" => Some('"'),
                        "apos" => Some('\''),
                        _ => None,
                    },
                };
                if let Some(c) = c {
                    each(Step::Words(c.encode_utf8(&mut [0; 4])))?;
                }
            }
            // A document's own entities could expand without end.
            Event::DocType(_) => return Err(Stop::Failed),
            Event::Eof if paid >= bound as u64 => return Err(Stop::TooLarge),
            Event::Eof => return Ok(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
}

fn attribute<'a>(element: &'a BytesStart<'_>, local: &str) -> Option<Cow<'a, str>> {
    let mut all = element.attributes();
    let found = all.with_checks(false).flatten().find(|one| one.key.local_name().as_ref() == local)?;
    found.normalized_value(XmlVersion::Implicit1_0).ok()
}

/// DOCX and PPTX: words in `t`, paragraphs in `p`.
fn prose(archive: &mut Archive<'_>, name: &str, budget: &mut Budget, text: &mut Text) -> Result<(), Stop> {
    // Fallbacks repeat the text for older programs, and hidden text is not part of the document.
    let (mut words, mut fallback, mut hidden) = (0_usize, 0_usize, false);
    walk(archive, name, budget, |step| match step {
        Step::Begin(element) => {
            match element.local_name().as_ref() {
                "t" => words += 1,
                "Fallback" => fallback += 1,
                "r" => hidden = false,
                "vanish" => {
                    hidden = !matches!(attribute(element, "val").as_deref(), Some("0" | "false" | "off"));
                }
                "tab" | "ptab" => text.blank()?,
                "br" | "cr" => text.line()?,
                _ => {}
            }
            Ok(())
        }
        Step::End(name) => {
            match name {
                "t" => words = words.saturating_sub(1),
                "Fallback" => fallback = fallback.saturating_sub(1),
                "r" => hidden = false,
                "p" | "tr" => text.line()?,
                "tc" => text.blank()?,
                _ => {}
            }
            Ok(())
        }
        Step::Words(more) if words > 0 && fallback == 0 && !hidden => text.push(more),
        Step::Words(_) => Ok(()),
    })?;
    text.line()
}

/// XLSX: one line per row, with tabs between its cells.
fn sheets(
    archive: &mut Archive<'_>,
    names: &[String],
    budget: &mut Budget,
    text: &mut Text,
) -> Result<(), Stop> {
    let mut shared: Vec<String> = Vec::new();
    if names.iter().any(|name| name == "xl/sharedStrings.xml") {
        let (mut is_words, mut phonetic, mut bytes) = (false, 0_usize, 0);
        walk(archive, "xl/sharedStrings.xml", budget, |step| {
            match step {
                Step::Begin(element) => match element.local_name().as_ref() {
                    "si" => {
                        bytes += size_of::<String>();
                        shared.push(String::new());
                    }
                    "t" => is_words = true,
                    "rPh" => phonetic += 1,
                    _ => {}
                },
                Step::End("t") => is_words = false,
                Step::End("rPh") => phonetic = phonetic.saturating_sub(1),
                Step::Words(more) if is_words && phonetic == 0 => {
                    bytes += more.len();
                    if let Some(last) = shared.last_mut() {
                        last.push_str(more);
                    }
                }
                _ => {}
            }
            if bytes > MOST_SHARED { Err(Stop::TooLarge) } else { Ok(()) }
        })?;
    }
    walk(archive, "xl/workbook.xml", budget, |step| match step {
        Step::Begin(element) if element.local_name().as_ref() == "sheet" => {
            match attribute(element, "name") {
                Some(name) => {
                    text.push(&name)?;
                    text.line()
                }
                None => Ok(()),
            }
        }
        _ => Ok(()),
    })?;
    for name in numbered(names, &["xl/worksheets/sheet", "xl/comments"]) {
        let (mut is_shared, mut is_words, mut value) = (false, false, String::new());
        walk(archive, &name, budget, |step| match step {
            Step::Begin(element) => {
                match element.local_name().as_ref() {
                    "c" => is_shared = attribute(element, "t").as_deref() == Some("s"),
                    "v" | "t" => {
                        is_words = true;
                        value.clear();
                    }
                    _ => {}
                }
                Ok(())
            }
            Step::Words(more) if is_words => {
                value.push_str(more);
                Ok(())
            }
            Step::End("v" | "t") => {
                is_words = false;
                if is_shared {
                    let at: usize = value.trim().parse().unwrap_or(usize::MAX);
                    return shared.get(at).map_or(Ok(()), |words| text.push(words));
                }
                text.push(&value)
            }
            Step::End("c") => text.push("\t"),
            Step::End("row" | "comment") => text.line(),
            Step::End(_) | Step::Words(_) => Ok(()),
        })?;
        text.line()?;
    }
    Ok(())
}

/// ODT and similar files: all words in `body`, except deleted ones.
fn open_document(archive: &mut Archive<'_>, budget: &mut Budget, text: &mut Text) -> Result<(), Stop> {
    let (mut body, mut deleted, mut paragraphs) = (0_usize, 0_usize, 0_usize);
    walk(archive, "content.xml", budget, |step| match step {
        Step::Begin(element) => {
            match element.local_name().as_ref() {
                "body" => body += 1,
                "tracked-changes" => deleted += 1,
                "p" | "h" => paragraphs += 1,
                "s" | "tab" => text.blank()?,
                "line-break" => text.line()?,
                _ => {}
            }
            Ok(())
        }
        Step::End(name) => {
            match name {
                "body" => body = body.saturating_sub(1),
                "tracked-changes" => deleted = deleted.saturating_sub(1),
                "p" | "h" => {
                    paragraphs = paragraphs.saturating_sub(1);
                    text.line()?;
                }
                "table-row" => text.line()?,
                _ => {}
            }
            Ok(())
        }
        // Between paragraphs there is only white space for readability.
        Step::Words(more) if body > 0 && deleted == 0 && paragraphs > 0 => text.push(more),
        Step::Words(_) => Ok(()),
    })
}
