//! Text from outside, made safe to show: a terminal and a model both obey characters that a reader cannot see
//! (R4.9).

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether `c` could move a cursor, reorder or hide text, or end a line of ours.
///
/// These are control characters (C0, C1, DEL; so ANSI and OSC sequences too), line and paragraph separators,
/// bidirectional controls, zero-width and other invisible format characters, tag characters, variation
/// selectors and their supplement, the interlinear annotation marks, the object replacement character, and
/// characters that are only blank (fillers, the empty Braille pattern, the null notehead). They include the
/// joiners and selectors that scripts and emoji need, which are harmless where they belong ([`exposed`]).
pub const fn is_hidden(c: char) -> bool {
    // ASCII first: nearly every text is nearly all ASCII.
    if c < '\x7f' {
        return c < ' ';
    }
    matches!(c,
        '\x7f'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}'
        | '\u{13430}'..='\u{1343f}' | '\u{16fe4}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether any character of `text` [`is_hidden`].
pub fn has_hidden(text: &str) -> bool {
    let mut at = 0;
    loop {
        at += leading(&text.as_bytes()[at..], |byte| matches!(byte, b' '..=b'~'));
        match text[at..].chars().next() {
            None => return false,
            Some(c) if is_hidden(c) => return true,
            Some(c) => at += c.len_utf8(),
        }
    }
}

/// The number of bytes at the beginning of `bytes` for which `is_one` holds.
pub fn leading(bytes: &[u8], is_one: impl Fn(u8) -> bool) -> usize {
    // Several at once, because nearly all text is of the kind that is looked for.
    let are_all = |bytes: &&[u8; 8]| bytes.iter().fold(true, |all, byte| all & is_one(*byte));
    let whole = bytes.as_chunks().0.iter().take_while(are_all).count() * 8;
    whole + bytes[whole..].iter().take_while(|byte| is_one(**byte)).count()
}

/// The hidden characters of `text` to make visible, each with its position: all except a joiner between two
/// letters of a script that joins them or between two emoji, and a variation selector after the character that
/// it varies.
pub fn exposed(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut before = None;
    text.char_indices().filter(move |(at, c)| {
        let was = before.replace(*c);
        let is_exposed =
            is_hidden(*c) && !was.is_some_and(|was| belongs(was, *c, &text[at + c.len_utf8()..]));
        if is_exposed {
            before = None;
        }
        is_exposed
    })
}

/// Whether the hidden character `c` belongs to the word or the emoji at the end of `before` and the start of
/// `rest`.
pub fn belongs(before: char, c: char, rest: &str) -> bool {
    let after = rest.chars().next();
    match c {
        '\u{200c}' => is_joining(before) && after.is_some_and(is_joining),
        '\u{200d}' => {
            (is_joining(before) && after.is_some_and(is_joining))
                || ((is_emoji(before) || before == '\u{fe0f}') && after.is_some_and(is_emoji))
        }
        '\u{fe0e}' | '\u{fe0f}' => {
            is_emoji(before) || (matches!(before, '0'..='9' | '#' | '*') && after == Some('\u{20e3}'))
        }
        '\u{180b}'..='\u{180d}' => matches!(before, '\u{1820}'..='\u{18aa}'),
        '\u{fe00}'..='\u{fe0d}' | '\u{e0100}'..='\u{e01ef}' => {
            matches!(before, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
        }
        _ => false,
    }
}

/// Letters and marks of the scripts that need joiners: Arabic and related scripts, and those of India and its
/// neighbours.
const fn is_joining(c: char) -> bool {
    !is_hidden(c)
        && matches!(c,
            '\u{620}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{e80}'..='\u{fff}' | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}' | '\u{1820}'..='\u{18aa}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Emoji, and the symbols that are shown as emoji.
const fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}' | '\u{2934}' | '\u{2935}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// `text` on one line, with every hidden character as a visible escape (`\n`, `\u{202e}`).
pub fn one_line(text: &str) -> Cow<'_, str> {
    neutralise(text, |_| false)
}

/// `text` with line breaks and tabs kept, and every other hidden character as a visible escape.
pub fn lines(text: &str) -> Cow<'_, str> {
    neutralise(text, |c| matches!(c, '\n' | '\t'))
}

fn neutralise(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    replaced(text, |(_, c)| !keep(*c), escape_into)
}

/// `text` with those of its exposed characters for which `is_one` holds replaced by what `write` writes.
pub fn replaced(
    text: &str,
    is_one: impl Fn(&(usize, char)) -> bool,
    write: impl Fn(&mut String, char),
) -> Cow<'_, str> {
    let mut found = exposed(text).filter(is_one).peekable();
    if !has_hidden(text) || found.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut copied = 0;
    for (at, c) in found {
        out.push_str(&text[copied..at]);
        write(&mut out, c);
        copied = at + c.len_utf8();
    }
    out.push_str(&text[copied..]);
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

/// `text` as one word for a shell, quoted if necessary: for a POSIX shell, or on Windows for both of its
/// shells.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    if cfg!(windows) { windows_word(text) } else { posix_word(text) }
}

fn posix_word(text: &str) -> Cow<'_, str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&b);
    if !text.is_empty() && text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

/// Quoted so that both `cmd` and PowerShell pass it on unchanged: `cmd` does not treat a single quote as a
/// quote, and in double quotes PowerShell expands `$`. `cmd` also passes on the characters that escape it for
/// PowerShell.
fn windows_word(text: &str) -> Cow<'_, str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:=+\\".contains(&b);
    if !text.is_empty() && text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut word = String::from('"');
    let mut backslashes = 0;
    for c in text.chars() {
        match c {
            '"' => {
                // A program treats a backslash before a quote as its escape.
                word.extend(std::iter::repeat_n('\\', backslashes));
                word.push('"');
            }
            // PowerShell treats the last three as double quotes, too.
            '`' | '$' | '\u{201c}'..='\u{201e}' => word.push('`'),
            _ => {}
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        word.push(c);
    }
    word.extend(std::iter::repeat_n('\\', backslashes));
    word.push('"');
    Cow::Owned(word)
}

/// `words` as a shell's command line, each as [`shell_word`] writes it.
pub fn shell_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(shell_word).collect::<Vec<_>>().join(" ")
}

/// `text` with `…` instead of the user name and the password of each URL in it (RFC 3986 §3.2.1).
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

/// Same as [`prefix`], for text in which hidden characters were made visible: also drops a joiner whose letter
/// or emoji is cut off.
pub fn shown_prefix(shown: &str, max_bytes: usize) -> &str {
    if shown.len() <= max_bytes { shown } else { prefix(shown, max_bytes).trim_end_matches(is_hidden) }
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
    fn what_is_only_blank_is_hidden() {
        for hidden in ["\u{fffc}", "\u{2800}", "\u{1d159}", "\u{3164}", "\u{16fe4}", "\u{13430}", "\u{feff}"]
        {
            assert!(one_line(hidden).starts_with("\\u{"), "{}", hidden.escape_unicode());
        }
    }

    #[test]
    fn joiners_and_selectors_stay_in_the_words_and_emoji_that_need_them() {
        let nepali = "\u{930}\u{94d}\u{200d}\u{92f}";
        for whole in [
            "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
            nepali,
            "\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}",
            "\u{2764}\u{fe0f}\u{200d}\u{1f525}",
            "1\u{fe0f}\u{20e3} \u{845b}\u{e0100}",
        ] {
            assert_eq!(one_line(whole), whole);
        }
        for (given, shown) in [
            ("next\u{200d}:", "next\\u{200d}:"),
            ("\u{645}\u{200c}", "\u{645}\\u{200c}"),
            ("\u{1f469}\u{200d}\u{200d}\u{1f469}", "\u{1f469}\\u{200d}\\u{200d}\u{1f469}"),
            ("a\u{fe0f}", "a\\u{fe0f}"),
            ("\u{845b}\u{e0100}\u{e0101}", "\u{845b}\u{e0100}\\u{e0101}"),
        ] {
            assert_eq!(one_line(given), shown);
        }
    }

    #[test]
    fn a_shell_word_is_one_word() {
        assert_eq!(posix_word("https://a.example/me?x=1"), "'https://a.example/me?x=1'");
        assert!(matches!(shell_word("grt_1:a.b"), Cow::Borrowed(_)));
        assert_eq!(posix_word("$(rm -rf ~)'; x"), r"'$(rm -rf ~)'\''; x'");
        assert_eq!(posix_word(""), "''");
    }

    #[test]
    fn a_word_for_the_shells_of_windows_is_one_word_for_both() {
        for (text, word) in [
            (r"C:\Users\ana\pdpp.exe", r"C:\Users\ana\pdpp.exe"),
            (r"C:\Program Files\pdpp.exe", r#""C:\Program Files\pdpp.exe""#),
            (r"\\server\share\a b\", r#""\\server\share\a b\\""#),
            (r"a b\\", r#""a b\\\\""#),
            (r#"a\" b"#, r#""a\\"" b""#),
            ("https://a.example/me?x=1&y=%20", r#""https://a.example/me?x=1&y=%20""#),
            ("", r#""""#),
            (r#"$(calc)" & calc"#, r#""`$(calc)"" & calc""#),
            ("a\u{201d}; calc `", "\"a`\u{201d}; calc ``\""),
            ("it's", r#""it's""#),
        ] {
            assert_eq!(windows_word(text), word, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in any::<String>()) {
            prop_assert_eq!(exposed(&one_line(&text)).next(), None);
            prop_assert!(exposed(&lines(&text)).all(|(_, c)| matches!(c, '\n' | '\t')));
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
