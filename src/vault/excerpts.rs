//! Excerpts and windows of a text, counted in characters (Unicode scalar values).

use std::ops::Range;

use super::folding;
use super::words::Query;

/// The maximum length of an excerpt in characters, not counting the marks.
const EXCERPT_CHARS: usize = 240;
/// How many of them go before the first match.
const BEFORE_CHARS: usize = 60;

/// A piece of a text around a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The piece, with matches in `<mark>…</mark>` and `…` where it was cut.
    pub marked: String,
    /// How many matches it shows.
    pub marks: usize,
    /// Whether the text has more than this piece.
    pub truncated: bool,
}

/// The piece of `text` around the first of `matches` (byte ranges, in order).
pub fn excerpt(text: &str, matches: &[Range<usize>]) -> Excerpt {
    let first = matches.first().map_or(0, |found| found.start);
    let start = text[..first].char_indices().rev().take(BEFORE_CHARS).last().map_or(first, |(at, _)| at);
    let end = text[start..].char_indices().nth(EXCERPT_CHARS).map_or(text.len(), |(at, _)| start + at);
    let end = matches.first().map_or(end, |found| end.max(found.end));
    let (mut marked, mut marks, mut at) = (String::new(), 0, start);
    if start > 0 {
        marked.push('…');
    }
    for found in matches.iter().filter(|found| found.end <= end) {
        push_plain(&mut marked, &text[at..found.start]);
        marked.push_str("<mark>");
        push_plain(&mut marked, &text[found.clone()]);
        marked.push_str("</mark>");
        marks += 1;
        at = found.end;
    }
    push_plain(&mut marked, &text[at..end]);
    if end < text.len() {
        marked.push('…');
    }
    Excerpt { marked, marks, truncated: start > 0 || end < text.len() }
}

/// Appends text. A `<mark>` that the text itself contains must not look like one of ours, so its brackets are
/// widened.
fn push_plain(out: &mut String, text: &str) {
    if text.contains("<mark>") || text.contains("</mark>") {
        out.push_str(&text.replace("<mark>", "‹mark›").replace("</mark>", "‹/mark›"));
    } else {
        out.push_str(text);
    }
}

/// The byte offset of the `chars`th character, or the end.
pub fn byte_of(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

/// Where `needle` first occurs in `text`, in characters. Tries the exact text, then any case and spelling, then its
/// words one after the other as a search finds them, whatever is between them.
pub fn find(text: &str, needle: &str) -> Option<Range<usize>> {
    let words = || Query::phrase(needle).matches(text, 1).into_iter().next();
    let found = folding::find(text, needle).or_else(words)?;
    let start = text[..found.start].chars().count();
    Some(start..start + text[found].chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_excerpt_shows_the_match_and_where_it_was_cut() {
        let long = format!("{} NEEDLE-1 {}", "a ".repeat(200), "b ".repeat(200));
        let found = Query::parse("needle-1").matches(&long, 9);
        let cut = excerpt(&long, &found);
        assert!(cut.marked.starts_with('…') && cut.marked.ends_with('…') && cut.truncated);
        assert!(cut.marked.contains("<mark>NEEDLE-1</mark>"));
        assert_eq!(excerpt("x", &[]).marked, "x");
    }

    #[test]
    fn windows_are_counted_in_characters() {
        assert_eq!(find("日本語 Needle", "needle"), Some(4..10));
        assert_eq!(find("abc", "x"), None);
        // As in a search, which ignores line ends and punctuation.
        assert_eq!(find("the Needle-\n211", "needle 211"), Some(4..15));
        assert_eq!(find("the Needle 211", "needle, 211!"), Some(4..14));
        assert_eq!(find("211 needle", "needle 211"), None);
        assert_eq!(find("abc", "!"), None);
        assert_eq!(byte_of("日本", 1), 3);
        assert_eq!(byte_of("日本", 9), 6);
    }

    proptest! {
        #[test]
        fn marks_are_balanced(text in "(<mark>|</mark>|[a-c ]|日|é){0,400}", query in "[a-c日]( [a-c])?") {
            let found = Query::parse(&query).matches(&text, 99);
            let marked = excerpt(&text, &found).marked;
            let (open, close) = (marked.matches("<mark>").count(), marked.matches("</mark>").count());
            prop_assert_eq!(open, close);
            prop_assert!(found.is_empty() || open > 0);
        }
    }
}
