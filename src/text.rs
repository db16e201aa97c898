//! Text from outside, made safe to show: a terminal and a model both obey characters that a reader
//! cannot see (R4.9).

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether `c` could move a cursor, reorder or hide text, or end a line of ours.
///
/// Control characters (C0, C1, DEL; so ANSI and OSC sequences too), line and paragraph separators,
/// bidirectional controls, zero-width and other invisible format characters, tag characters,
/// variation selector supplements, the interlinear annotation marks and the object replacement
/// character. Ordinary combining marks and the joiners that scripts and emoji need inside a
/// cluster are invisible too, so U+200C, U+200D and U+FE0F are included: a reader loses a ligature,
/// never an id.
pub const fn is_hidden(c: char) -> bool {
    // ASCII first: it is nearly all of nearly every text.
    if c < '\x7f' {
        return c < ' ';
    }
    matches!(c,
        '\x7f'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether any character of `text` [`is_hidden`].
pub fn has_hidden(text: &str) -> bool {
    text.chars().any(is_hidden)
}

/// `text` on one line, every hidden character as a visible escape (`\n`, `\u{202e}`).
pub fn one_line(text: &str) -> Cow<'_, str> {
    neutralise(text, |_| false)
}

/// `text` with line breaks and tabs kept, every other hidden character as a visible escape.
pub fn lines(text: &str) -> Cow<'_, str> {
    neutralise(text, |c| matches!(c, '\n' | '\t'))
}

fn neutralise(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(|c| is_hidden(c) && !keep(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) && !keep(c) {
            escape_into(&mut out, c);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn escape_into(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
    }
}

/// `text` as one word of a POSIX shell's command line: what a person may copy out of a message, even
/// if a provider chose it.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&b);
    if !text.is_empty() && text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

/// `words` as a POSIX shell's command line, each as [`shell_word`] writes it.
pub fn shell_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(shell_word).collect::<Vec<_>>().join(" ")
}

/// `text` with `…` in the place of the user and the password of each URL in it (RFC 3986 §3.2.1).
pub fn without_userinfo(text: &str) -> Cow<'_, str> {
    let mut parts = text.split("://");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    let mut is_changed = false;
    for part in parts {
        let ends = part.find(['/', '?', '#', ' ', '"', '\'']).unwrap_or(part.len());
        let host = part[..ends].rfind('@').map(|at| at + 1);
        is_changed |= host.is_some();
        shown.push_str("://");
        if host.is_some() {
            shown.push_str("…@");
        }
        shown.push_str(&part[host.unwrap_or(0)..]);
    }
    if is_changed { Cow::Owned(shown) } else { Cow::Borrowed(text) }
}

/// The longest prefix of `text` that has at most `max_bytes` bytes and ends between characters.
pub fn prefix(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_users_password_in_a_url_is_not_shown() {
        for (text, expected) in [
            ("--proxy=http://u:p@h:1/x", "--proxy=http://…@h:1/x"),
            ("http://u:p@@h", "http://…@h"),
            ("https://a.example/@x http://k@b", "https://a.example/@x http://…@b"),
            ("mail a@b", "mail a@b"),
            ("http://", "http://"),
        ] {
            assert_eq!(without_userinfo(text), expected);
        }
    }

    #[test]
    fn escapes_are_visible_and_plain_text_is_borrowed() {
        assert!(matches!(one_line("Grüße 日本"), Cow::Borrowed(_)));
        assert_eq!(one_line("a\x1b[31mb\r\nc"), "a\\u{1b}[31mb\\r\\nc");
        assert_eq!(one_line("\u{202e}x\u{200b}\u{e0041}"), "\\u{202e}x\\u{200b}\\u{e0041}");
        assert_eq!(lines("a\n\tb\x07"), "a\n\tb\\u{7}");
    }

    #[test]
    fn a_shell_word_is_one_word() {
        assert_eq!(shell_word("https://a.example/me?x=1"), "'https://a.example/me?x=1'");
        assert!(matches!(shell_word("grt_1:a.b"), Cow::Borrowed(_)));
        assert_eq!(shell_word("$(rm -rf ~)'; x"), r"'$(rm -rf ~)'\''; x'");
        assert_eq!(shell_word(""), "''");
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in any::<String>()) {
            prop_assert!(!one_line(&text).chars().any(is_hidden));
            prop_assert!(!lines(&text).chars().any(|c| is_hidden(c) && c != '\n' && c != '\t'));
        }

        #[test]
        fn a_hidden_character_is_found_wherever_it_is(plain in "[ -~é]*", text in any::<String>()) {
            prop_assert_eq!(has_hidden(&text), text.chars().any(is_hidden));
            prop_assert!(!has_hidden(&plain));
            let text = plain + "\u{202e}" + &text;
            prop_assert!(has_hidden(&text));
        }

        #[test]
        fn prefix_is_a_prefix_within_the_bound(text in any::<String>(), max in 0usize..64) {
            let cut = prefix(&text, max);
            prop_assert!(text.starts_with(cut) && cut.len() <= max);
            prop_assert!(cut.len() + 4 > max.min(text.len()));
        }
    }
}
