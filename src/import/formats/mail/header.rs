//! The header of a message or of a part. Its fields are kept as written and parsed only when requested.

use std::borrow::Cow;

use mail_parser::parsers::MessageStream;
use mail_parser::{Address, ContentType, HeaderValue};
use memchr::{memchr, memchr3};
use serde::{Deserialize, Serialize};

use super::charset;
use super::separator::{header_name, is_known};

/// The largest header, in bytes (O4.14).
pub const LARGEST: usize = 1024 * 1024;

/// How much of a field's text or ids is kept, in bytes, so that a record stays bounded.
const LONGEST_TEXT: usize = 64 * 1024;
/// How much of a field's list of people is kept, in bytes.
const LONGEST_LIST: usize = 96 * 1024;
/// How much of a name or an address is kept, in bytes.
const LONGEST_NAME: usize = 4 * 1024;

/// How much is read of a field that describes a part, in bytes.
const LONGEST_PARAMETERS: usize = 16 * 1024;

/// The fields of a header.
#[derive(Debug, Default)]
pub struct Header<'a> {
    fields: Vec<(&'a [u8], &'a [u8])>,
    /// Where the body begins.
    pub body: usize,
    /// The content type of the part.
    kind: Option<ContentType<'static>>,
}

/// The error for a header that is larger than [`LARGEST`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge;

/// A person or a mailing list that a header names.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Person {
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

impl<'a> Header<'a> {
    /// Parses the header that begins at `from`. It ends at an empty line, or at a line for which `is_stop` returns true.
    pub fn parse(bytes: &'a [u8], from: usize, is_stop: impl Fn(&[u8]) -> bool) -> Result<Self, TooLarge> {
        let mut header = Self::default();
        let mut at = from;
        loop {
            let end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |length| at + length + 1);
            let line = &bytes[at..end];
            if end - from > LARGEST {
                return Err(TooLarge);
            }
            let is_empty = line.trim_ascii_end().is_empty() && !matches!(line.first(), Some(b' ' | b'\t'));
            if is_empty || is_stop(line) {
                header.body = if is_empty { end } else { at };
                break;
            }
            if matches!(line[0], b' ' | b'\t') {
                if let Some((_, value)) = header.fields.last_mut() {
                    let begin = value.as_ptr().addr() - bytes.as_ptr().addr();
                    *value = &bytes[begin..end];
                }
            } else if let Some(name) = name_of(line) {
                header.fields.push((name, &line[memchr(b':', line).unwrap_or(0) + 1..]));
            }
            at = end;
        }
        header.kind = header.parameters("content-type");
        // The header may name its own charset.
        if header.charset().is_some() && header.raw("content-type").is_some_and(|value| !value.is_ascii()) {
            header.kind = header.parameters("content-type");
        }
        Ok(header)
    }

    /// Whether it has a field that is typical of mail.
    pub fn is_mail(&self) -> bool {
        self.fields.iter().any(|(name, _)| is_known(name))
    }

    /// Whether it has the field.
    pub fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// The first field of that name, as written.
    pub fn raw(&self, name: &str) -> Option<&'a [u8]> {
        self.all(name).next()
    }

    /// All fields of that name, as written.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.fields
            .iter()
            .filter(move |(field, _)| field.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| *value)
    }

    /// The charset of bytes that are not ASCII.
    fn charset(&self) -> Option<&str> {
        self.kind.as_ref()?.attribute("charset")
    }

    /// A field's text on one line, otherwise as written.
    fn line(&self, value: &'a [u8]) -> Cow<'a, str> {
        let text = match charset::plain(value, self.charset()) {
            Some(text) => Cow::Borrowed(text),
            None => charset::decode(value, self.charset()).0,
        };
        // Most fields are on one line and need no copy.
        if let Cow::Borrowed(text) = text
            && memchr3(b'\r', b'\n', b'\0', text.trim().as_bytes()).is_none()
        {
            return Cow::Borrowed(text.trim());
        }
        let mut line = String::with_capacity(text.len());
        let mut is_break = false;
        for piece in text.trim().split(['\r', '\n']) {
            // A continuation line keeps its leading whitespace.
            line.push_str(if is_break { piece.trim_end() } else { piece });
            is_break = true;
        }
        if line.contains('\0') { line.replace('\0', "\u{fffd}").into() } else { line.into() }
    }

    /// A field as decoded text; `None` if it is empty.
    pub fn text(&self, name: &str) -> Option<String> {
        let line = self.line(self.raw(name)?);
        let text = charset::header_text(line.trim());
        let text = Cow::Borrowed(&text[..text.floor_char_boundary(LONGEST_TEXT)]);
        let text = if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { text };
        (!text.is_empty()).then(|| text.into_owned())
    }

    /// The people that a field names.
    pub fn people(&self, name: &str) -> Vec<Person> {
        let mut room = LONGEST_LIST;
        let fits = |person: &Person| {
            let length = [&person.name, &person.email].into_iter().flatten().map(String::len).sum();
            room = room.saturating_sub(length);
            room > 0
        };
        self.all(name).flat_map(|value| people(&self.line(value))).take_while(fits).collect()
    }

    /// The ids in a field: each `<…>`, including the brackets, or the words if it has none.
    pub fn ids(&self, name: &str) -> Vec<String> {
        let mut room = LONGEST_TEXT;
        let fits = |id: &String| {
            room = room.saturating_sub(id.len());
            room > 0
        };
        self.all(name)
            .flat_map(|value| {
                let line = self.line(value);
                let mut ids: Vec<String> = Vec::new();
                let mut rest = &*line;
                while let Some(begin) = rest.find('<') {
                    let Some(length) = rest[begin..].find('>') else { break };
                    let id: String = rest[begin..=begin + length].split_whitespace().collect();
                    ids.push(id);
                    rest = &rest[begin + length + 1..];
                }
                if ids.is_empty() {
                    ids = line.split_whitespace().map(str::to_owned).collect();
                }
                ids
            })
            .take_while(fits)
            .collect()
    }

    /// A field's date in milliseconds since 1970; `None` if a message cannot have that date.
    pub fn date(&self, name: &str) -> Option<i64> {
        self.all(name).find_map(|value| {
            // Fields that servers add end with the date, after the last semicolon.
            let value = value.rsplit(|byte| *byte == b';').next().unwrap_or(value);
            date(&value[..value.len().min(256)])
        })
    }

    /// The content type of the part.
    pub const fn content_type(&self) -> Option<&ContentType<'static>> {
        self.kind.as_ref()
    }

    /// A field that consists of a value and parameters.
    pub fn parameters(&self, name: &str) -> Option<ContentType<'static>> {
        let value = self.raw(name)?;
        let line = self.line(&value[..value.len().min(LONGEST_PARAMETERS)]);
        let mut text = charset::header_words(&line).into_owned();
        text.push('\n');
        match MessageStream::new(text.as_bytes()).parse_content_type().into_owned() {
            HeaderValue::ContentType(kind) => Some(kind),
            _ => None,
        }
    }
}

/// The name of the field that a line begins. Some programs write a space before the colon.
fn name_of(line: &[u8]) -> Option<&[u8]> {
    if let Some(name) = header_name(line) {
        return Some(name);
    }
    let colon = memchr(b':', &line[..line.len().min(128)])?;
    let name = line[..colon].trim_ascii_end();
    (!name.is_empty() && name.iter().all(|byte| matches!(byte, b'!'..=b'~'))).then_some(name)
}

/// The people in a field that is on one line.
pub fn people(line: &str) -> Vec<Person> {
    let mut text = charset::header_words(line).into_owned();
    text.push('\n');
    let HeaderValue::Address(found) = MessageStream::new(text.as_bytes()).parse_address() else {
        return Vec::new();
    };
    let list = match found {
        Address::List(list) => list,
        Address::Group(groups) => groups.into_iter().flat_map(|group| group.addresses).collect(),
    };
    let clean = |text: Cow<'_, str>| {
        let text = text.trim();
        let text = text[..text.floor_char_boundary(LONGEST_NAME)].replace(['\0', '\r', '\n'], " ");
        (!text.is_empty()).then_some(text)
    };
    list.into_iter()
        .map(|address| Person { name: address.name.and_then(clean), email: address.address.and_then(clean) })
        .filter(|person| person.name.is_some() || person.email.is_some())
        .collect()
}

fn date(value: &[u8]) -> Option<i64> {
    let mut line: Vec<u8> =
        value.iter().map(|byte| if byte.is_ascii_control() { b' ' } else { *byte }).collect();
    line.push(b'\n');
    let HeaderValue::DateTime(date) = MessageStream::new(&line).parse_date() else { return None };
    let seconds = date.is_valid().then(|| date.to_timestamp())?;
    // No mail was written before 1970, and a clock that shows 2100 is wrong.
    (0 < seconds && seconds < 4_102_444_800).then_some(seconds * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Header<'_> {
        Header::parse(text.as_bytes(), 0, |_| false).unwrap()
    }

    #[test]
    fn fields_read() {
        let text = "From: \"M\u{fc}ller, Eva\" <eva@example.org>,\r\n =?utf-8?Q?J=C3=B8rn=2C?= <j@example.org>\r\n\
             Subject: a\r\n  b\r\nno colon here\r\nDate : Tue, 2 Jan 2024 03:04:05 +0100 (CET)\r\n\
             References: <a@b>\r\n <c @d>\r\n\r\nbody";
        let header = header(text);
        assert_eq!(header.body, text.len() - 4);
        let people = header.people("from");
        assert_eq!(people[0].name.as_deref(), Some("Müller, Eva"));
        assert_eq!(people[1].name.as_deref(), Some("Jørn,"));
        assert_eq!(people[1].email.as_deref(), Some("j@example.org"));
        assert_eq!(header.text("SUBJECT").as_deref(), Some("a  b"));
        assert_eq!(header.date("date"), Some(1_704_161_045_000));
        assert_eq!(header.ids("references"), ["<a@b>", "<c@d>"]);
    }

    #[test]
    fn raw_bytes_of_a_header_decode_by_the_mails_charset() {
        let bytes = b"Subject: \x82\xb1\x82\xf1\nContent-Type: text/plain; charset=shift_jis\n\n";
        let header = Header::parse(bytes, 0, |_| false).unwrap();
        assert_eq!(header.text("subject").as_deref(), Some("こん"));
        let header = Header::parse(b"Subject: gr\xfcn\n\n", 0, |_| false).unwrap();
        assert_eq!(header.text("subject").as_deref(), Some("grün"));
        let header = Header::parse(b"Subject: a\0b\n\n", 0, |_| false).unwrap();
        assert_eq!(header.text("subject").as_deref(), Some("a\u{fffd}b"));
    }

    #[test]
    fn file_names_decode() {
        let name = |text: &str| {
            let header = Header::parse(text.as_bytes(), 0, |_| false).unwrap();
            let field = header.parameters("content-disposition").unwrap();
            field.attribute("filename").map(str::to_owned)
        };
        let of =
            |parameters: &str| name(&format!("Content-Disposition: attachment; {parameters}\n\n")).unwrap();
        assert_eq!(of("filename=\"a b.pdf\""), "a b.pdf");
        assert_eq!(of("filename*=UTF-8''%e2%82%ac%20rates.pdf"), "€ rates.pdf");
        assert_eq!(of("filename*0*=utf-8''%c3%bc;\n filename*1=\"ber.pdf\""), "über.pdf");
        assert_eq!(of("filename=\"=?utf-8?B?w7xiZXIucGRm?=\""), "über.pdf");
        assert_eq!(of("filename=\"=?utf-8?Q?=C3?= =?utf-8?Q?=BCber.pdf?=\""), "über.pdf");
    }

    #[test]
    fn what_is_kept_of_a_field_has_a_bound() {
        let text = format!(
            "Subject: {}\nTo: {}\nReferences: {}\n\n",
            "é".repeat(LONGEST_TEXT),
            "Ana <ana@example.org>, ".repeat(20_000),
            "<a@b> ".repeat(20_000)
        );
        let header = header(&text);
        assert_eq!(header.text("subject").unwrap().len(), LONGEST_TEXT);
        assert!((5000..10_000).contains(&header.people("to").len()));
        assert!((5000..20_000).contains(&header.ids("references").len()));
    }

    #[test]
    fn o4_14_a_header_has_a_bound() {
        let long = format!("X: {}\n\n", "x".repeat(LARGEST));
        assert_eq!(Header::parse(long.as_bytes(), 0, |_| false).unwrap_err(), TooLarge);
    }
}
