//! Compact `key=value` lines that record text cannot forge: every value from outside is either a token without spaces
//! and quotes, or a JSON string on one line with no hidden characters (R4.9).

use serde_json::Value;

use crate::json::write::{self, Json as _};
use crate::text;

/// A value on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inline {
    /// The written form.
    pub text: String,
    /// Whether the whole value is in it.
    pub complete: bool,
}

/// The words that begin a line of ours that a reader acts on.
const OUR_WORDS: [&str; 4] = ["next", "previous", "more", "error"];

/// A name or id: unchanged if it is unambiguous, otherwise a JSON string. A name that could begin a line of ours
/// (`next`, `more:`) is quoted too.
pub fn token(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_token(&mut out, text);
    out
}

/// Appends a [`token`].
pub fn push_token(out: &mut String, text: &str) {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._~:/@%+-|?&#*".contains(&b);
    let is_plain = !text.is_empty() && text.bytes().all(plain);
    if is_plain && !text.ends_with(':') && !OUR_WORDS.contains(&text) {
        out.push_str(text);
    } else {
        push_quoted(out, text);
    }
}

/// The end of a line: unchanged if it is unambiguous, otherwise a JSON string. For flags and the like, which contain
/// `=` and `,` but no spaces.
pub fn rest_of_line(text: &str) -> String {
    let plain = !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\' | b'{' | b'}'));
    if plain { text.to_owned() } else { quoted(text) }
}

/// A JSON string on one line; hidden characters are `\u` escapes, so it still reads back exactly.
pub fn quoted(text: &str) -> String {
    write::text(text)
}

/// Appends a text in the form of [`quoted`].
pub fn push_quoted(out: &mut String, text: &str) {
    text.write_to(out);
}

/// A JSON value on one line, cut to about `max_bytes`. Numbers keep their digits.
pub fn value(value: &Value, max_bytes: usize) -> Inline {
    let mut text = String::new();
    let complete = push_value(&mut text, value, max_bytes);
    Inline { text, complete }
}

/// Appends a [`value`]; returns whether all of it was written.
pub fn push_value(out: &mut String, value: &Value, max_bytes: usize) -> bool {
    if let Value::String(text) = value {
        return push_quoted_cut(out, text, max_bytes);
    }
    let start = out.len();
    value.write_to(out);
    let is_complete = out.len() - start <= max_bytes;
    if !is_complete {
        let shown = text::shown_prefix(&out[start..], max_bytes).len();
        out.truncate(start + shown);
        out.push('…');
    }
    is_complete
}

/// A JSON string on one line, cut after about `max_bytes` of the text. A cut text ends with `…"`, which no complete
/// string does.
pub fn quoted_cut(text: &str, max_bytes: usize) -> Inline {
    let mut cut = String::new();
    let complete = push_quoted_cut(&mut cut, text, max_bytes);
    Inline { text: cut, complete }
}

fn push_quoted_cut(out: &mut String, text: &str, max_bytes: usize) -> bool {
    // Within a few characters of the limit, a cut saves nothing.
    let is_complete = text.len() <= max_bytes.saturating_add(8);
    if is_complete {
        push_quoted(out, text);
    } else {
        push_quoted(out, &format!("{}…", text::prefix(text, max_bytes)));
    }
    is_complete
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tokens_are_plain_or_json() {
        assert_eq!(token("cin_a/messages:gp-1"), "cin_a/messages:gp-1");
        assert_eq!(token("a b"), r#""a b""#);
        for ours in ["next", "next:", "more:", "error", "x:"] {
            assert_eq!(token(ours), format!("\"{ours}\""), "R4.9: it could begin a line of ours");
        }
        assert_eq!(token(r#"c/s:["x","y"]"#), r#""c/s:[\"x\",\"y\"]""#);
        assert_eq!(token(""), r#""""#);
        assert_eq!(token("x=\n"), r#""x=\n""#.replace("\\n", "\\u000a").replace("\\u000a", "\\n"));
    }

    #[test]
    fn r4_9_a_cut_leaves_no_joiner_behind() {
        let family = Value::from(vec!["👩\u{200d}👩\u{200d}👧 کتاب\u{200c}ها"]);
        for most in 0..family.to_string().len() {
            let cut = value(&family, most);
            assert_eq!(text::exposed(&cut.text).next(), None, "{most}: {:?}", cut.text);
        }
        assert!(value(&family, 100).complete);
    }

    #[test]
    fn numbers_keep_their_digits() {
        for number in ["12345678901234567890123", "1.10", "-0.0"] {
            let parsed: Value = serde_json::from_str(number).unwrap();
            assert_eq!(value(&parsed, 100).text, number);
        }
    }

    proptest! {
        #[test]
        fn nothing_escapes_its_line_or_its_quotes(text in any::<String>(), max in 0usize..40) {
            for written in [token(&text), quoted(&text), quoted_cut(&text, max).text] {
                prop_assert!(crate::text::exposed(&written).next().is_none());
                if written.starts_with('"') {
                    prop_assert!(serde_json::from_str::<String>(&written).is_ok());
                } else {
                    prop_assert!(!written.contains([' ', '=', '"']));
                }
            }
            if !quoted_cut(&text, max).complete { prop_assert!(text.len() > max); }
            prop_assert_eq!(serde_json::from_str::<String>(&quoted(&text)).unwrap(), text);
        }
    }
}
