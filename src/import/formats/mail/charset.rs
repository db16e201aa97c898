//! Decodes bytes to text: charsets, and encoded words in headers, which name their charset (RFC 2047).

use std::borrow::Cow;

use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, WINDOWS_1252};
use mail_parser::decoders::charsets::map::charset_decoder;
use memchr::memmem;

use crate::import::format;
use crate::vault::transfer;

/// Returns `bytes` as text if they are plain ASCII. ASCII is the same in every declared charset except UTF-7.
pub fn plain<'a>(bytes: &'a [u8], declared: Option<&str>) -> Option<&'a str> {
    let is_plain = bytes.is_ascii()
        && memchr::memchr2(0, 0x1b, bytes).is_none()
        && declared.is_none_or(|label| label.len() < 4 || !label.to_ascii_lowercase().contains("utf-7"));
    if is_plain { str::from_utf8(bytes).ok() } else { None }
}

/// Decodes `bytes`. Returns the text and the name of the charset.
///
/// A byte order mark decides first. Next, valid UTF-8 is UTF-8, whatever charset is declared. Then the declared charset applies,
/// and last windows-1252. Bytes that cannot be decoded become U+FFFD.
pub fn decode<'a>(bytes: &'a [u8], declared: Option<&str>) -> (Cow<'a, str>, String) {
    let declared = declared.map(|label| label.trim().to_ascii_lowercase());
    let named = declared.as_deref().and_then(|label| Encoding::for_label(label.as_bytes()));
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        let (text, _) = encoding.decode_without_bom_handling(&bytes[mark..]);
        return (text, name(encoding));
    }
    if named != Some(UTF_8)
        && let Some(encoding) = hidden_in_ascii(bytes, named).or_else(|| without_mark(bytes))
    {
        let (text, _) = encoding.decode_without_bom_handling(bytes);
        return (text, name(encoding));
    }
    if let Some(label) = declared.as_deref()
        && label.contains("utf-7")
        && let Some(decoder) = charset_decoder(label.as_bytes())
    {
        return (Cow::Owned(decoder(bytes)), "utf-7".to_owned());
    }
    if let Ok(text) = str::from_utf8(bytes) {
        // ASCII is valid in any declared charset, so the declared name is kept.
        let called = if text.is_ascii() { named.unwrap_or(UTF_8) } else { UTF_8 };
        return (Cow::Borrowed(text), name(called));
    }
    let encoding = match named {
        Some(encoding) if encoding == UTF_8 && !is_mostly_utf8(bytes) => WINDOWS_1252,
        Some(encoding) => encoding,
        None => WINDOWS_1252,
    };
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    (text, name(encoding))
}

fn name(encoding: &'static Encoding) -> String {
    encoding.name().to_ascii_lowercase()
}

/// ISO-2022-JP consists of ASCII and escapes, so it looks like UTF-8.
fn hidden_in_ascii(bytes: &[u8], named: Option<&'static Encoding>) -> Option<&'static Encoding> {
    let is_likely = named.is_none_or(|named| named == ISO_2022_JP || named == WINDOWS_1252);
    let has_escape = || memmem::find(bytes, b"\x1b$").is_some() || memmem::find(bytes, b"\x1b(").is_some();
    (is_likely && has_escape()).then_some(ISO_2022_JP)
}

/// Detects UTF-16 without a byte order mark by its NULs: in Latin text, every second byte is one.
fn without_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(512)];
    let pairs = head.len() / 2;
    if pairs < 4 || memchr::memchr(0, head).is_none() {
        return None;
    }
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).take(pairs).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    if odd * 10 >= pairs * 7 && even * 10 < pairs {
        return Some(encoding_rs::UTF_16LE);
    }
    (even * 10 >= pairs * 7 && odd * 10 < pairs).then_some(encoding_rs::UTF_16BE)
}

/// Whether text is UTF-8 with a few broken places (a cut, a NUL), and not another charset that is declared as UTF-8.
fn is_mostly_utf8(bytes: &[u8]) -> bool {
    let (mut wide, mut broken) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        wide += chunk.valid().chars().filter(|char| !char.is_ascii()).count();
        broken += chunk.invalid().len();
    }
    wide > broken
}

/// The charset that HTML names in its head.
pub fn named_in_html(html: &[u8]) -> Option<String> {
    let head = &html[..html.len().min(2048)];
    let at = memmem::find(head, b"charset=")? + 8;
    let label: String = head[at..]
        .iter()
        .skip_while(|byte| matches!(byte, b'"' | b'\'' | b' '))
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        .map(|byte| char::from(*byte))
        .collect();
    (!label.is_empty()).then_some(label)
}

/// How to write a run of encoded words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    /// As plain text.
    Text,
    /// As one encoded word in UTF-8, so that a parser can tell its commas from those of the header.
    OneWord,
}

/// The text of a header, with encoded words decoded.
pub fn header_text(value: &str) -> Cow<'_, str> {
    words(value, Words::Text)
}

/// A header with each run of encoded words written as one word in UTF-8, because some programs split words within a character.
/// Text that only looks like the beginning of an encoded word is escaped.
pub fn header_words(value: &str) -> Cow<'_, str> {
    words(value, Words::OneWord)
}

struct Word<'a> {
    charset: &'a str,
    bytes: Vec<u8>,
    length: usize,
}

fn words(value: &str, form: Words) -> Cow<'_, str> {
    if memmem::find(value.as_bytes(), b"=?").is_none() {
        return Cow::Borrowed(value);
    }
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = memmem::find(rest.as_bytes(), b"=?") {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(mut run) = word(rest) else {
            text.push_str(if form == Words::Text { "=?" } else { "= ?" });
            rest = &rest[2..];
            continue;
        };
        rest = &rest[run.length..];
        let mut decoded = String::new();
        loop {
            let next = rest.trim_start();
            match word(next) {
                Some(more) if more.charset.eq_ignore_ascii_case(run.charset) && !is_stateful(run.charset) => {
                    run.bytes.extend_from_slice(&more.bytes);
                    rest = &next[more.length..];
                }
                Some(more) => {
                    decoded.push_str(&decode(&run.bytes, Some(run.charset)).0);
                    rest = &next[more.length..];
                    run = more;
                }
                None => break,
            }
        }
        decoded.push_str(&decode(&run.bytes, Some(run.charset)).0);
        match form {
            Words::Text => text.push_str(&decoded.replace(['\r', '\n'], " ")),
            Words::OneWord => one_word(&decoded, &mut text),
        }
    }
    text.push_str(rest);
    Cow::Owned(text)
}

fn one_word(decoded: &str, text: &mut String) {
    use base64::Engine as _;
    text.push_str("=?utf-8?B?");
    base64::engine::general_purpose::STANDARD.encode_string(decoded, text);
    text.push_str("?=");
}

/// Whether the state of the charset starts again in each word.
fn is_stateful(charset: &str) -> bool {
    charset.len() >= 8 && charset.as_bytes()[..8].eq_ignore_ascii_case(b"iso-2022")
}

/// The encoded word at the beginning of `text`: `=?charset*language?B?data?=`.
fn word(text: &str) -> Option<Word<'_>> {
    let inside = text.strip_prefix("=?")?;
    let head = inside.as_bytes();
    let charset_end = head.iter().take(64).position(|byte| *byte == b'?')?;
    let encoding = *head.get(charset_end + 1)?;
    if head.get(charset_end + 2) != Some(&b'?') {
        return None;
    }
    let data_at = charset_end + 3;
    // Words longer than the standard allows are common. Words without an end are not.
    let data = &inside[data_at..];
    let mut bound = data.len().min(4096);
    while !data.is_char_boundary(bound) {
        bound -= 1;
    }
    let data = &data[..data[..bound].find("?=")?];
    let charset = inside[..charset_end].split('*').next().unwrap_or_default();
    if charset.is_empty() || charset.contains(' ') {
        return None;
    }
    let bytes = match encoding {
        b'B' | b'b' => transfer::decode_whole(data.as_bytes(), format::Encoding::Base64),
        b'Q' | b'q' => {
            transfer::decode_whole(data.replace('_', " ").as_bytes(), format::Encoding::QuotedPrintable)
        }
        _ => return None,
    };
    Some(Word { charset, bytes, length: 2 + data_at + data.len() + 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o4_11_what_bytes_are_is_found_out() {
        let text = |bytes: &[u8], declared: Option<&str>| decode(bytes, declared).0.into_owned();
        assert_eq!(text("grüße".as_bytes(), Some("iso-8859-1")), "grüße");
        assert_eq!(text(b"gr\xfc\xdfe", Some("utf-8")), "grüße");
        assert_eq!(text(b"gr\xfc\xdfe", None), "grüße");
        assert_eq!(text(b"gr\xfc\xdfe", Some("no-such-charset")), "grüße");
        assert_eq!(text(b"\x8cuvre \x80", Some("iso-8859-1")), "Œuvre €");
        assert_eq!(text(b"\xef\xbb\xbfx", None), "x");
        assert_eq!(text(b"\xff\xfea\0b\0", None), "ab");
        assert_eq!(text(b"a\0b\0c\0d\0e\0", None), "abcde");
        assert_eq!(text(b"\0a\0b\0c\0d\0e", Some("us-ascii")), "abcde");
        assert_eq!(text(b"\x1b$B$3$s\x1b(B", Some("iso-2022-jp")), "こん");
        assert_eq!(text(b"\x1b$B$3$s\x1b(B", None), "こん");
        assert_eq!(text(b"\x82\xb1\x82\xf1", Some("shift_jis")), "こん");
        assert_eq!(text(b"Hi +AOQ-", Some("utf-7")), "Hi ä");
        assert_eq!(decode("grüße ok".as_bytes().split_last().unwrap().1, Some("utf-8")).1, "utf-8");
        assert!(text(b"gr\xc3\xbc\xc3\x9fe \xc3", Some("utf-8")).starts_with("grüße \u{fffd}"));
    }

    #[test]
    fn what_is_plain_decodes_as_it_is() {
        let labels = [None, Some("utf-8"), Some("UTF-7"), Some("iso-2022-jp"), Some("utf-16"), Some("none")];
        for bytes in [&b"a b\r\n"[..], b"", b"+AOQ-", b"\x1b$B$3$s\x1b(B", b"a\0b\0c\0d\0", b"gr\xfcn"] {
            for label in labels {
                let decoded = decode(bytes, label).0;
                assert_eq!(plain(bytes, label).unwrap_or(&decoded), decoded, "{label:?}");
            }
        }
        assert_eq!(plain(b"a b", Some("iso-8859-1")), Some("a b"));
        assert_eq!(plain(b"+AOQ-", Some("Unicode-1-1-UTF-7")), None);
    }

    #[test]
    fn encoded_words_decode() {
        assert_eq!(header_text("=?utf-8?Q?Gr=C3=BC=C3=9Fe?= aus =?iso-8859-1?q?K=F6ln?="), "Grüße aus Köln");
        assert_eq!(header_text("=?utf-8?B?R3LDvMOf?=\t=?utf-8?B?ZQ==?="), "Grüße");
        assert_eq!(header_text("=?utf-8?Q?a=C3?= =?utf-8?Q?=BCb?="), "aüb", "cut within a character");
        assert_eq!(
            header_text("=?ISO-2022-JP?B?GyRCJDMkcxsoQg==?= =?ISO-2022-JP?B?GyRCJDMkcxsoQg==?="),
            "こんこん"
        );
        assert_eq!(header_text("=?utf-8*en?Q?a_b?="), "a b");
        assert_eq!(header_text("=?what?=? =?utf-8?X?a?= =?"), "=?what?=? =?utf-8?X?a?= =?");
        assert_eq!(header_words("=?utf-8?Q?a=2Cb?= <a@b>"), "=?utf-8?B?YSxi?= <a@b>");
        assert_eq!(header_words("=?x"), "= ?x");
    }
}
