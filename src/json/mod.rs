//! JSON from elsewhere, read without losing a message to one bad character; and outgoing JSON ([`mod@write`]).

pub mod write;

use std::borrow::Cow;

use memchr::memmem;
use serde_json::Value;

/// Keys that `serde_json` takes for its own numbers and raw values, wherever they come from.
const RESERVED: [&str; 2] = ["$serde_json::private::Number", "$serde_json::private::RawValue"];

/// Replaces what no text can hold (the Encoding standard's replacement character).
const REPLACEMENT: &[u8] = br"\ufffd";

/// A mark that some programs put before a text (RFC 8259 §8.1 lets a reader ignore it).
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses a body, with or without a byte order mark. A lone surrogate (`\ud800`), which would make `serde_json`
/// refuse the whole body, becomes U+FFFD. So does the `$` of a key that `serde_json` reserves: left unchanged,
/// it would turn a person's object into something else, or make a page unreadable.
///
/// # Errors
/// The errors of `serde_json`, including the one for more than 128 levels of nesting.
pub fn parse(body: &[u8]) -> Result<Value, serde_json::Error> {
    let body = repaired(body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body));
    // Checking all of it for UTF-8 at once is cheaper than checking each string.
    match str::from_utf8(&body) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(&body),
    }
}

/// A number, even if it was written as a text (`"3600"`).
pub fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_f64(),
    };
    number.filter(|number| number.is_finite())
}

/// The JSON that [`parse`] reads, after its replacements.
pub fn repaired(body: &[u8]) -> Cow<'_, [u8]> {
    // Nearly every body has neither such a key nor an escape, which a lone surrogate is and which can hide such
    // a key.
    if [&br"\u"[..], b"$serde_json::private"].iter().all(|part| memmem::find(body, part).is_none()) {
        return Cow::Borrowed(body);
    }
    let mut out = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(start) = body[at..].iter().position(|byte| *byte == b'"').map(|quote| at + quote + 1) {
        let mut end = start;
        let mut is_escaped = false;
        loop {
            match body.get(end) {
                None => return finish(body, out, copied),
                Some(b'"') => break,
                Some(b'\\') => {
                    is_escaped = true;
                    match unit(body, end) {
                        Some(0xd800..=0xdbff) if matches!(unit(body, end + 6), Some(0xdc00..=0xdfff)) => {
                            end += 12;
                        }
                        Some(0xd800..=0xdfff) => {
                            out.extend_from_slice(&body[copied..end]);
                            out.extend_from_slice(REPLACEMENT);
                            end += 6;
                            copied = end;
                        }
                        _ => end += 2,
                    }
                }
                Some(_) => end += 1,
            }
        }
        if let Some(name) = reserved(&body[start..end], is_escaped)
            && body[end + 1..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
        {
            out.extend_from_slice(&body[copied..start]);
            out.extend_from_slice(REPLACEMENT);
            out.extend_from_slice(&name.as_bytes()[1..]);
            copied = end;
        }
        at = end + 1;
    }
    finish(body, out, copied)
}

fn finish(body: &[u8], mut out: Vec<u8>, copied: usize) -> Cow<'_, [u8]> {
    if copied == 0 {
        return Cow::Borrowed(body);
    }
    out.extend_from_slice(&body[copied..]);
    Cow::Owned(out)
}

/// The UTF-16 unit of the escape `\uXXXX` at `at`.
fn unit(body: &[u8], at: usize) -> Option<u16> {
    let digits = body.get(at..at + 6)?.strip_prefix(br"\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn reserved(literal: &[u8], is_escaped: bool) -> Option<&'static str> {
    if !is_escaped {
        return RESERVED.into_iter().find(|name| name.as_bytes() == literal);
    }
    // At most six bytes for each of its characters.
    if literal.len() > 6 * 32 {
        return None;
    }
    let quoted = [b"\"", literal, b"\""].concat();
    let text: String = serde_json::from_slice(&quoted).ok()?;
    RESERVED.into_iter().find(|name| *name == text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn r4_9_lone_surrogates_are_replaced_and_pairs_kept() {
        let parsed =
            parse(br#"{"a\udfff":["\ud800","\ud800\ud83d\ude00","\\ud800","\u00e9\ud83dx"]}"#).unwrap();
        assert_eq!(parsed, json!({"a\u{fffd}": ["\u{fffd}", "\u{fffd}\u{1f600}", "\\ud800", "é\u{fffd}x"]}));
        assert_eq!(parse("\u{feff}{\"a\":1}".as_bytes()).unwrap(), json!({"a": 1}));
    }

    #[test]
    fn keys_of_serde_json_are_keys_of_the_person() {
        let parsed =
            parse(br#"{"$serde_json::private::Number" : "x", "\u0024serde_json::private::RawValue":"[1]"}"#);
        let names = parsed.unwrap().as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names, ["\u{fffd}serde_json::private::Number", "\u{fffd}serde_json::private::RawValue"]);
        let value = parse(br#"["$serde_json::private::Number", 1.10]"#).unwrap();
        assert_eq!(value.to_string(), r#"["$serde_json::private::Number",1.10]"#);
    }

    #[test]
    fn r5_5_what_is_no_json_stays_none() {
        for bad in [&b"{"[..], b"\"", b"\"\\", b"{\"a\":\"\\ud8", b"\"\\u12", b"\xff", b"[\"\xff\"]", b""] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
        assert!(parse("[".repeat(10_000).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn sound_json_is_not_touched(text in any::<String>(), key in any::<String>()) {
            let body = json!({key: [text, 1]}).to_string();
            prop_assert!(matches!(repaired(body.as_bytes()), Cow::Borrowed(_)));
            prop_assert_eq!(parse(body.as_bytes()).unwrap().to_string(), body);
        }

        #[test]
        fn no_bytes_panic(body in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(&b"\"\\ud8:{}["[..])], 0..60)) {
            let _ = parse(&body);
        }
    }
}
