//! Highlight tags of a snippet: balanced, or none (R3.34).

use std::borrow::Cow;

/// `snippet` unchanged if its `<mark>` tags are balanced, otherwise without them.
pub fn balanced(snippet: &str) -> String {
    let mut open = false;
    let mut rest = snippet;
    loop {
        match (rest.find("<mark>"), rest.find("</mark>")) {
            (None, None) => break,
            (Some(start), end) if end.is_none_or(|end| start < end) => {
                if open {
                    return plain(snippet);
                }
                open = true;
                rest = &rest[start + "<mark>".len()..];
            }
            (_, Some(end)) => {
                if !open {
                    return plain(snippet);
                }
                open = false;
                rest = &rest[end + "</mark>".len()..];
            }
            (Some(_), None) => return plain(snippet),
        }
    }
    if open { plain(snippet) } else { snippet.to_owned() }
}

/// `snippet` without highlight tags.
pub fn plain(snippet: &str) -> String {
    let mut plain = String::with_capacity(snippet.len());
    for piece in snippet.split_inclusive('>') {
        plain.push_str(piece);
        // Checked as the text grows: removing one tag may join the halves of another.
        let kept = plain.strip_suffix("<mark>").or_else(|| plain.strip_suffix("</mark>")).map(str::len);
        plain.truncate(kept.unwrap_or(plain.len()));
    }
    plain
}

/// The first highlighted text: it is literally in the field, so that a window can be found by it.
pub fn first_match(snippet: &str) -> Option<&str> {
    let (_, rest) = snippet.split_once("<mark>")?;
    let (text, _) = rest.split_once("</mark>")?;
    (!text.is_empty() && !text.contains("<mark>")).then_some(text)
}

/// `snippet` without a tag that was cut in two at its end (`<mar...`); a highlight that the tag would have closed is
/// closed.
fn without_cut_tag(snippet: &str) -> Cow<'_, str> {
    let body = snippet.trim_end_matches(['.', '…']);
    let Some((before, tag)) = body.rfind('<').map(|at| body.split_at(at)) else { return snippet.into() };
    let is_cut = |whole: &str| whole.len() > tag.len() && whole.starts_with(tag);
    if !before.contains("<mark>") || !(is_cut("<mark>") || is_cut("</mark>")) {
        return snippet.into();
    }
    let is_open = before.matches("<mark>").count() > before.matches("</mark>").count();
    format!("{before}{}{}", if is_open { "</mark>" } else { "" }, &snippet[body.len()..]).into()
}

/// At most `max_bytes` of `snippet`, around its first highlight, with balanced tags. The flag is true if the whole
/// snippet is returned.
pub fn excerpt(snippet: &str, max_bytes: usize) -> (String, bool) {
    let snippet = &*without_cut_tag(snippet);
    if snippet.len() <= max_bytes {
        return (balanced(snippet), true);
    }
    let at = snippet.find("<mark>").unwrap_or(0);
    let start = snippet.floor_char_boundary(at.saturating_sub(max_bytes / 4));
    let end = snippet.floor_char_boundary((start + max_bytes).min(snippet.len()));
    let mut cut = snippet[start..end].to_owned();
    // A tag that was cut in two is not a tag.
    if let Some(partial) = cut.rfind('<').filter(|at| !cut[*at..].contains('>') && cut.len() - at < 7) {
        cut.truncate(partial);
    }
    if let Some(partial) = cut.find('>').filter(|at| !cut[..*at].contains('<') && *at < 6) {
        cut.drain(..=partial);
    }
    if cut.matches("<mark>").count() == cut.matches("</mark>").count() + 1 {
        cut.push_str("</mark>");
    }
    let ellipsis = |there: bool| if there { "…" } else { "" };
    (format!("{}{}{}", ellipsis(start > 0), balanced(&cut), ellipsis(end < snippet.len())), false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn r3_34_tags_are_balanced_or_gone() {
        assert_eq!(balanced("a <mark>b</mark> c"), "a <mark>b</mark> c");
        for broken in [
            "a <mark>b",
            "a</mark> b",
            "<mark><mark>a</mark></mark>",
            "</mark><mark>",
            "<mark</mark>>b</mark>",
        ] {
            assert!(!balanced(broken).contains("mark>"), "{broken}");
        }
        assert_eq!(first_match("x <mark>NEEDLE-1</mark> y"), Some("NEEDLE-1"));
        assert_eq!(first_match("none"), None);
    }

    #[test]
    fn r3_34_a_tag_that_a_provider_cut_in_two_is_gone() {
        for (given, shown) in [
            ("a <mark>b</mark> c <mark>d</mar...", "a <mark>b</mark> c <mark>d</mark>..."),
            ("a <mark>b</mark> c <ma…", "a <mark>b</mark> c …"),
            ("a <mark>b</mark> 1 < 2", "a <mark>b</mark> 1 < 2"),
            ("no marks: x <m...", "no marks: x <m..."),
        ] {
            assert_eq!(excerpt(given, 100), (shown.to_owned(), true));
        }
    }

    #[test]
    fn an_excerpt_is_around_its_first_highlight() {
        let snippet = format!("{} <mark>needle</mark> {}", "before ".repeat(50), "after ".repeat(50));
        let (cut, complete) = excerpt(&snippet, 80);
        assert!(cut.contains("<mark>needle</mark>") && !complete, "{cut}");
        assert!(cut.starts_with('…') && cut.ends_with('…'));
    }

    proptest! {
        #[test]
        fn excerpts_stay_balanced_and_bounded(text in "(a|é| |<mark>|</mark>|<|>){0,40}", max in 20usize..60) {
            let (cut, _) = excerpt(&text, max);
            prop_assert_eq!(cut.matches("<mark>").count(), cut.matches("</mark>").count());
            prop_assert!(cut.len() <= max + 7 + 6);
        }
    }
}
