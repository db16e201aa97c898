//! Words: the one tokeniser that the index, the query and the excerpts share, so that what is marked
//! is what matched.

use std::ops::{ControlFlow, Range};

use icu_normalizer::properties::{CanonicalDecompositionBorrowed, Decomposed};
use icu_properties::props::Script;
use icu_properties::script::ScriptWithExtensions;

/// Calls `each` with every word of `text`, in order: where it stands (bytes), and folded, that is in
/// lower case and without accents. Letters and digits make a word; each Han, kana or Hangul character
/// is one of its own, so that a part of such a text is found too. Ends when `each` says so.
fn each_word(text: &str, mut each: impl FnMut(Range<usize>, &str) -> ControlFlow<()>) {
    let (mut folded, mut at) = (String::new(), 0);
    while let Some(start) = text[at..].find(is_word).map(|skipped| at + skipped) {
        let mut letters = text[start..].char_indices();
        let is_whole = letters.next().is_some_and(|(_, first)| stands_alone(first));
        let mut after = letters.skip_while(|(_, c)| !is_whole && is_word(*c) && !stands_alone(*c));
        let end = after.next().map_or(text.len(), |(length, _)| start + length);
        at = end;
        folded.clear();
        fold_into(&mut folded, &text[start..end]);
        // A combining mark on its own folds to nothing.
        if !folded.is_empty() && each(start..end, &folded).is_break() {
            return;
        }
    }
}

/// The folded words of `text`, separated by spaces: what is written to the index.
pub fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    each_word(text, |_, word| {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        ControlFlow::Continue(())
    });
    out
}

/// What is looked for: phrases that all have to be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    phrases: Vec<Vec<String>>,
}

/// Words beyond these are not looked for: a query is a few words, not a text.
const MAX_PHRASES: usize = 32;

impl Query {
    /// Reads `text`: words separated by spaces, each of which may hold several tokens that have to
    /// follow each other (`NEEDLE-211`), and phrases in double quotes. There are no operators.
    pub fn parse(text: &str) -> Self {
        let mut phrases: Vec<Vec<String>> = Vec::new();
        for (nth, part) in text.split('"').enumerate() {
            let quoted = nth % 2 == 1;
            let words: Vec<&str> = if quoted { vec![part] } else { part.split_whitespace().collect() };
            for word in words {
                let mut phrase = Vec::new();
                each_word(word, |_, word| {
                    phrase.push(word.to_owned());
                    ControlFlow::Continue(())
                });
                if !phrase.is_empty() && phrases.len() < MAX_PHRASES && !phrases.contains(&phrase) {
                    phrases.push(phrase);
                }
            }
        }
        Self { phrases }
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.phrases.is_empty()
    }

    /// The query in FTS5's language, over the columns `columns` only.
    pub fn to_fts5(&self, columns: &[usize]) -> String {
        let columns: Vec<String> = columns.iter().map(|at| format!("c{at}")).collect();
        // Folded words are letters and digits: nothing in them can end the quotes.
        let phrases: Vec<String> =
            self.phrases.iter().map(|phrase| format!("\"{}\"", phrase.join(" "))).collect();
        format!("{{{}}} : ({})", columns.join(" "), phrases.join(" AND "))
    }

    /// Where the phrases stand in `text`, the first `most` of them: byte ranges in order, not overlapping.
    pub fn matches(&self, text: &str, most: usize) -> Vec<Range<usize>> {
        // Only words of the query are kept, with their number in the text.
        let mut words: Vec<(usize, Range<usize>, &str)> = Vec::new();
        let mut found: Vec<(usize, usize, Range<usize>)> = Vec::new();
        let mut count = 0;
        each_word(text, |place, word| {
            let number = count;
            count += 1;
            let Some(known) = self.phrases.iter().flatten().find(|known| *known == word) else {
                return ControlFlow::Continue(());
            };
            words.push((number, place, known));
            // The longest phrase that ends with this word.
            let ends_here = |phrase: &&Vec<String>| {
                let Some(from) = words.len().checked_sub(phrase.len()) else { return false };
                let first = words[from].0;
                words[from..]
                    .iter()
                    .zip(phrase.iter())
                    .enumerate()
                    .all(|(nth, ((at, _, word), want))| *at == first + nth && word == want)
            };
            if let Some(length) = self.phrases.iter().filter(ends_here).map(Vec::len).max() {
                let (first, place, _) = &words[words.len() - length];
                let whole = place.start..words.last().map_or(place.end, |(_, last, _)| last.end);
                // A shorter one within it was found before.
                while found.last().is_some_and(|(known, ..)| known >= first) {
                    found.pop();
                }
                if found.last().is_none_or(|(_, last, _)| last < first) {
                    found.push((*first, number, whole));
                }
            }
            if found.len() >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        found.into_iter().map(|(.., place)| place).collect()
    }
}

const DECOMPOSITION: CanonicalDecompositionBorrowed<'_> = CanonicalDecompositionBorrowed::new();
const BREVE: char = '\u{306}';

#[inline]
fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    c.is_alphanumeric() || is_accent(c)
}

/// The block Combining Diacritical Marks.
const fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Whether it is of a script that is written without spaces, or of Hangul, whose words are made of others.
#[inline]
fn stands_alone(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    let scripts = ScriptWithExtensions::new();
    match scripts.get_script_val(c) {
        Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul => true,
        // The mark of a long vowel is of both kana.
        Script::Common => scripts.has_script(c, Script::Katakana),
        _ => false,
    }
}

/// Adds `word` in lower case, without accents and strokes.
fn fold_into(out: &mut String, word: &str) {
    for c in word.chars() {
        if c.is_ascii() {
            out.push(c.to_ascii_lowercase());
        } else if !is_accent(c) {
            out.extend(without_accents(c).to_lowercase().map(without_stroke));
        } else if c == BREVE && out.ends_with('и') {
            // й is a letter of its own, not и with an accent.
            out.pop();
            out.push('й');
        }
    }
}

fn without_accents(c: char) -> char {
    match DECOMPOSITION.decompose(c) {
        Decomposed::Expansion(base, mark) if is_accent(mark) && !matches!(c, 'й' | 'Й') => {
            without_accents(base)
        }
        Decomposed::Singleton(same) => without_accents(same),
        _ => c,
    }
}

/// What Unicode does not take apart.
const fn without_stroke(c: char) -> char {
    match c {
        'đ' => 'd',
        'ħ' => 'h',
        'ı' => 'i',
        'ł' => 'l',
        'ø' => 'o',
        'ŧ' => 't',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_folded_and_placed() {
        assert_eq!(folded("Grüße, NEEDLE-gp-211! Møllenberg"), "gruße needle gp 211 mollenberg");
        assert_eq!(folded("Café cafe\u{301} Łódź žluťoučký"), "cafe cafe lodz zlutoucky");
        assert_eq!(folded("東京ラーメン"), "東 京 ラ ー メ ン");
        assert_eq!(folded("Đà Nẵng, Nguyễn Thị Mai; Þórr ŒUVRE"), "da nang nguyen thi mai þorr œuvre");
        assert_eq!(folded("Ελλάδα Йод йод и\u{306}од Ёлка İı"), "ελλαδα йод йод йод елка ii");
        assert_eq!(folded("김지훈 kim ｶﾅ が か\u{3099} \u{212b}ngstrom"), "김 지 훈 kim ｶ ﾅ が か angstrom");
    }

    /// What was folded by a table of this program's own before it was folded by Unicode's, and has to fold as it did.
    #[test]
    fn latin_letters_fold_as_they_did() {
        const BEFORE: &str = "aaaaaa-ceeeeiiii-nooooo-ouuuuy--aaaaaa-ceeeeiiii-nooooo-ouuuuy-y\
            aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii--jjkk-llllll--llnnnnnn---oooooo--rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzz-";
        for (c, before) in ('\u{c0}'..='\u{17f}').zip(BEFORE.chars()) {
            let mut now = String::new();
            fold_into(&mut now, c.encode_utf8(&mut [0; 4]));
            let before = if before == '-' { c.to_lowercase().to_string() } else { before.to_string() };
            assert_eq!(now, before, "{c}");
        }
    }

    #[test]
    fn a_query_has_no_operators() {
        let query = Query::parse("\"unbalanced AND (");
        assert_eq!(query.to_fts5(&[0, 2]), "{c0 c2} : (\"unbalanced and\")");
        assert!(Query::parse("  \" -- * ").is_empty());
        assert_eq!(Query::parse("a-b a-b").phrases.len(), 1);
    }

    #[test]
    fn matches_are_where_the_words_are() {
        let query = Query::parse("needle-211 oslo");
        let text = "x Needle 211; needle 21. OSLO";
        let found = |query: &Query, most| {
            query.matches(text, most).into_iter().map(|at| &text[at]).collect::<Vec<_>>()
        };
        assert_eq!(found(&query, 9), ["Needle 211", "OSLO"]);
        assert_eq!(found(&query, 1), ["Needle 211"]);
        assert_eq!(found(&Query::parse("needle \"needle 211\" 21"), 9), ["Needle 211", "needle", "21"]);
    }

    proptest! {
        #[test]
        fn a_text_matches_itself(text in any::<String>()) {
            let mut words = 0;
            each_word(&text, |place, word| {
                assert!(text.get(place).is_some());
                assert!(word.chars().all(|c| c.is_alphanumeric() || !c.is_ascii()));
                words += 1;
                ControlFlow::Continue(())
            });
            let query = Query::parse(&text.replace('"', " "));
            prop_assert_eq!(query.is_empty(), words == 0);
            if !query.is_empty() {
                prop_assert!(!query.matches(&text, 1).is_empty());
            }
        }
    }
}
