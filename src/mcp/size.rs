//! Sizes on the wire, and how large a result may be (R4.8).

/// How many bytes `value` takes as compact JSON with every hidden character escaped, as it is sent (R4.8, R4.9).
pub use crate::json::write::len as json_len;

/// The longest prefix of `text` that takes at most `max_bytes` within a JSON string on the wire.
pub fn prefix_on_wire(text: &str, max_bytes: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += char_on_wire(c);
        if used > max_bytes {
            return &text[..at];
        }
    }
    text
}

/// The longest suffix of `text` that takes at most `max_bytes` within a JSON string on the wire.
pub fn suffix_on_wire(text: &str, max_bytes: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += char_on_wire(c);
        if used > max_bytes {
            return &text[at + c.len_utf8()..];
        }
    }
    text
}

const fn char_on_wire(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if crate::text::is_hidden(c) => 6 * c.len_utf16(),
        c => c.len_utf8(),
    }
}

/// How many items fit into `room` bytes if `count` of them take `taken` bytes together.
pub fn mean_fits(room: usize, taken: usize, count: usize) -> usize {
    room.saturating_mul(count).checked_div(taken).unwrap_or(usize::MAX)
}

/// The maximum size of each view of one result, in bytes (R4.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The text item of `content[]`.
    pub text: usize,
    /// `structuredContent` as compact JSON.
    pub structured: usize,
}

impl Bounds {
    /// The smallest value for `--max-result-bytes`.
    pub const LEAST: usize = 4_000;
    /// The largest value for `--max-result-bytes`.
    pub const MOST: usize = 48_000;
}

impl Default for Bounds {
    fn default() -> Self {
        Self { text: 8_000, structured: 10_000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::line;
    use proptest::prelude::*;

    /// Whether every hidden character of `text` is escaped.
    fn has_no_joiners(text: &str) -> bool {
        crate::text::exposed(text).count() == text.chars().filter(|c| crate::text::is_hidden(*c)).count()
    }

    proptest! {
        #[test]
        fn a_prefix_on_the_wire_is_the_longest_that_fits(text in any::<String>(), max in 0usize..100) {
            prop_assume!(has_no_joiners(&text));
            let shown = prefix_on_wire(&text, max);
            prop_assert!(text.starts_with(shown));
            prop_assert!(line::quoted(shown).len() <= max + 2);
            if let Some(next) = text[shown.len()..].chars().next() {
                prop_assert!(line::quoted(&text[..shown.len() + next.len_utf8()]).len() > max + 2);
            }
        }

        #[test]
        fn an_end_on_the_wire_is_the_longest_that_fits(text in any::<String>(), max in 0usize..100) {
            prop_assume!(has_no_joiners(&text));
            let shown = suffix_on_wire(&text, max);
            prop_assert!(text.ends_with(shown));
            prop_assert!(line::quoted(shown).len() <= max + 2);
            if let Some(before) = text[..text.len() - shown.len()].chars().next_back() {
                let longer = &text[text.len() - shown.len() - before.len_utf8()..];
                prop_assert!(line::quoted(longer).len() > max + 2);
            }
        }
    }
}
