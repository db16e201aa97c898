//! A window of a text, cut here: for JSON values, and for a provider that has no field windows. It
//! counts in Unicode scalar values, as resource servers do.

use serde_json::{Map, Value, json};

/// Where a window begins and how long it is, in Unicode scalar values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start<'a> {
    /// At this offset.
    Offset(usize),
    /// Around the first match of a literal text.
    Match {
        /// The text.
        q: &'a str,
        /// Shown before it.
        before: usize,
        /// Shown after it.
        after: usize,
    },
}

/// The `window` object of a field-window answer over `text`; `None` where `q` is not in it.
pub fn window(text: &str, start: Start<'_>, limit: usize) -> Option<Map<String, Value>> {
    let total = text.chars().count();
    let (from, length, matched) = match start {
        Start::Offset(offset) => (offset.min(total), limit, None),
        Start::Match { q, before, after } => {
            let at = text[..text.find(q)?].chars().count();
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
        let window =
            window("äöü needle 日本", Start::Match { q: "needle", before: 2, after: 3 }, 100).unwrap();
        assert_eq!(window["text"], "ü needle 日本");
        assert_eq!(window["match_start_chars"], 4);
        assert_eq!(super::window("abc", Start::Match { q: "x", before: 0, after: 0 }, 10), None);
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
