//! A window of a text that is cut here: for JSON values, and for a provider that has no field windows. It counts in
//! Unicode scalar values, as resource servers do.

use serde_json::{Map, Value, json};

/// Where a window begins and how long it is, in Unicode scalar values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start<'a> {
    /// At this offset.
    Offset(usize),
    /// Around the first match of a literal text, as [`find`] finds it.
    Match {
        /// The text.
        q: &'a str,
        /// Where to start looking.
        from: usize,
        /// How much is shown before it.
        before: usize,
        /// How much is shown after it.
        after: usize,
    },
}

/// The first place of `q` in `text` from the character `from` on, ignoring case; each character stands for one, as a
/// resource server counts them.
pub fn find(text: &str, q: &str, from: usize) -> Option<usize> {
    let fold = |text: &str| text.chars().map(folded).collect::<String>();
    let rest = text.char_indices().nth(from).map_or("", |(at, _)| &text[at..]);
    let rest = fold(rest);
    let at = rest.find(&fold(q)).filter(|_| !q.is_empty())?;
    Some(from + rest[..at].chars().count())
}

/// A character with its case folded, if the result is one character.
fn folded(c: char) -> char {
    let mut lower = c.to_lowercase();
    lower.next().filter(|_| lower.next().is_none()).unwrap_or(c)
}

/// The `window` object of a field-window answer over `text`; `None` if `q` is not in it.
pub fn window(text: &str, start: Start<'_>, limit: usize) -> Option<Map<String, Value>> {
    let total = text.chars().count();
    let (from, length, matched) = match start {
        Start::Offset(offset) => (offset.min(total), limit, None),
        Start::Match { q, from, before, after } => {
            let at = find(text, q, from)?;
            let end = at + q.chars().count();
            let from = at.saturating_sub(before);
            (from, (end + after - from).min(limit.max(1)), Some((at, end)))
        }
    };
    let shown = text.chars().skip(from).take(length).collect::<String>();
    let end = from + shown.chars().count();
    let previous = (from > 0).then(|| from.saturating_sub(length.max(1)));
    let window = json!({
        "text": shown,
        "start_chars": from,
        "end_chars": end,
        "total_chars": total,
        "limit_chars": length,
        "complete": from == 0 && end == total,
        "has_more": end < total,
        "next_offset_chars": (end < total).then_some(end),
        "previous_offset_chars": previous,
        "match_start_chars": matched.map(|(start, _)| start),
        "match_end_chars": matched.map(|(_, end)| end),
    });
    window.as_object().cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_match_is_shown_in_its_surroundings() {
        let at = |q, from| Start::Match { q, from, before: 2, after: 3 };
        let shown = window("äöü needle 日本 NEEDLE", at("needle", 0), 100).unwrap();
        assert_eq!(shown["text"], "ü needle 日本");
        assert_eq!(shown["match_start_chars"], 4);
        assert_eq!(window("äöü needle 日本 NEEDLE", at("needle", 5), 100).unwrap()["match_start_chars"], 14);
        assert_eq!(window("abc", at("x", 0), 10), None);
        assert_eq!(window("abc", at("c", 3), 10), None);
    }

    proptest! {
        #[test]
        fn r3_50_a_match_is_found_where_it_is(before in "[a-cİẞé]{0,20}", q in "[a-cİé]{1,3}", after in "[a-c]{0,9}", from in 0usize..30) {
            let text = format!("{before}{}{after}", q.to_uppercase());
            let chars = text.chars().collect::<Vec<_>>();
            let same = |left: char, right: char| folded(left) == folded(right);
            let wanted = q.chars().collect::<Vec<_>>();
            let expected = (from..chars.len())
                .find(|at| chars[*at..].len() >= wanted.len() && wanted.iter().zip(&chars[*at..]).all(|(a, b)| same(*a, *b)));
            prop_assert_eq!(find(&text, &q, from), expected);
        }
    }

    proptest! {
        #[test]
        fn walking_gives_the_text_back(text in any::<String>(), limit in 1usize..7) {
            let mut walked = String::new();
            let mut at = Some(0);
            while let Some(offset) = at {
                let window = window(&text, Start::Offset(offset), limit).unwrap();
                walked.push_str(window["text"].as_str().unwrap());
                let next = window["next_offset_chars"].as_u64().map(|next| usize::try_from(next).unwrap());
                prop_assert!(next.is_none_or(|next| next > offset));
                at = next;
            }
            prop_assert_eq!(walked, text);
        }
    }
}
