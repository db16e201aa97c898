//! The tokeniser for words. The index, the query and the excerpts share it, so the marks show exactly what matched.

use std::ops::{ControlFlow, Range};

use super::folding::{Class, fold};

/// The lower-case letter or digit of a byte, or 0 for any other byte.
const SMALL: [u8; 256] = {
    let mut small = [0; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        if byte.is_ascii_alphanumeric() {
            small[byte as usize] = byte.to_ascii_lowercase();
        }
        byte += 1;
    }
    small
};

/// Calls `each` with every word of `text`, in order: its place (in bytes) and its folded form ([`super::folding`]).
/// Letters and digits form a word. In a script that is written without spaces, and in Hangul, each letter with its
/// marks is a separate word, so that a search also finds part of such a text. An emoji is a word too. Stops when
/// `each` breaks.
pub fn each_word(text: &str, mut each: impl FnMut(Range<usize>, &str) -> ControlFlow<()>) {
    let bytes = text.as_bytes();
    let is_plain = |at: usize| bytes.get(at).is_none_or(u8::is_ascii);
    let (mut at, mut word) = (0, String::new());
    while let Some(first) = bytes.get(at) {
        // Most of the text in most texts: it needs lower case and no other folding.
        let (mut end, mut is_small) = (at, true);
        while let Some(byte) = bytes.get(end) {
            let small = SMALL[usize::from(*byte)];
            if small == 0 {
                break;
            }
            is_small &= small == *byte;
            end += 1;
        }
        if end == at && first.is_ascii() && is_plain(at + 1) {
            at += 1;
            continue;
        }
        if end > at && is_plain(end) {
            let as_written = &text[at..end];
            let went = if is_small {
                each(at..end, as_written)
            } else {
                word.clear();
                word.push_str(as_written);
                word.make_ascii_lowercase();
                each(at..end, &word)
            };
            if went.is_break() {
                return;
            }
            at = end;
            continue;
        }
        // Up to where a word certainly ends and nothing after it belongs to the text before.
        let ends =
            |end: usize| bytes[end].is_ascii() && SMALL[usize::from(bytes[end])] == 0 && is_plain(end + 1);
        let end = (at + 1..bytes.len()).find(|end| ends(*end)).unwrap_or(bytes.len());
        let mut is_over = false;
        each_folded_word(&text[at..end], |place, word| {
            let went = each(place.start + at..place.end + at, word);
            is_over = went.is_break();
            went
        });
        if is_over {
            return;
        }
        at = end;
    }
}

/// Does what [`each_word`] does, letter by letter.
fn each_folded_word(text: &str, mut each: impl FnMut(Range<usize>, &str) -> ControlFlow<()>) {
    let (mut word, mut place, mut open) = (String::new(), 0..0, None);
    for folded in fold(text) {
        let joins = match folded.class {
            Class::Dropped => {
                if !word.is_empty() {
                    place.end = folded.place.end;
                }
                continue;
            }
            Class::Mark => !word.is_empty(),
            Class::Letter => open == Some(Class::Letter),
            Class::HalfFlag => open == Some(Class::HalfFlag),
            Class::Lone | Class::Emoji | Class::Other => false,
        };
        if !joins && !word.is_empty() {
            if each(place.clone(), &word).is_break() {
                return;
            }
            word.clear();
        }
        if matches!(folded.class, Class::Other) || (folded.class == Class::Mark && !joins) {
            continue;
        }
        if word.is_empty() {
            (place, open) = (folded.place.clone(), Some(folded.class));
        } else if folded.class == Class::HalfFlag {
            open = Some(Class::Emoji);
        }
        word.push(folded.c);
        place.end = folded.place.end.max(place.end);
    }
    if !word.is_empty() {
        let _ = each(place, &word);
    }
}

/// The prefix of all terms of one field in the index; no other field of its stream has it. A query names the terms
/// of the fields that it may look in, so the terms of other fields cost it no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag(char);

impl Tag {
    /// The tag of a stream's field with this number. `None` beyond 50,000.
    pub fn new(number: u32) -> Option<Self> {
        // One letter, so that no tag is the prefix of another.
        number.checked_add(0x100).and_then(char::from_u32).map(Self)
    }

    /// The term for a folded word in the field.
    pub fn term(self, word: &str) -> String {
        format!("{}{word}", self.0)
    }

    /// The prefix of its terms.
    pub const fn letter(self) -> char {
        self.0
    }
}

/// A query: phrases that must all occur.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    phrases: Vec<Vec<String>>,
}

/// The maximum number of phrases. A query is a few words, not a text; the rest is ignored.
const MAX_PHRASES: usize = 32;

impl Query {
    /// Parses `text`: words separated by spaces, each of which may hold several tokens that must follow each other
    /// (`NEEDLE-211`), and phrases in double quotes. There are no operators.
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

    /// All words of `text` as one phrase, whatever is between them.
    pub fn phrase(text: &str) -> Self {
        Self::parse(&format!("\"{}\"", text.replace('"', " ")))
    }

    /// Whether it has no phrases.
    pub fn is_empty(&self) -> bool {
        self.phrases.is_empty()
    }

    /// The phrases: folded words that must follow each other.
    pub fn phrases(&self) -> impl Iterator<Item = &[String]> {
        self.phrases.iter().map(Vec::as_slice)
    }

    /// Whether each of the phrases occurs in one of `texts`, as the index of words would answer.
    pub fn is_in(&self, texts: &[impl AsRef<str>]) -> bool {
        let words: Vec<String> = texts
            .iter()
            .map(|text| {
                let mut words = String::from(" ");
                each_word(text.as_ref(), |_, word| {
                    words.push_str(word);
                    words.push(' ');
                    ControlFlow::Continue(())
                });
                words
            })
            .collect();
        self.phrases.iter().all(|phrase| {
            let phrase = format!(" {} ", phrase.join(" "));
            words.iter().any(|words| words.contains(&phrase))
        })
    }

    /// Where the phrases occur in `text`, the first `most` of them: byte ranges in order, not overlapping.
    pub fn matches(&self, text: &str, most: usize) -> Vec<Range<usize>> {
        // Keep only words of the query, with their number in the text.
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
                // A shorter phrase within it was found before.
                while found.last().is_some_and(|(known, ..)| known >= first) {
                    found.pop();
                }
                if found.last().is_none_or(|(_, last, _)| last < first) {
                    found.push((*first, number, whole));
                }
            }
            if found.len() >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        // Several words can be at one place: the 1 and the 2 of ½.
        let mut places: Vec<Range<usize>> = Vec::with_capacity(found.len());
        for (.., place) in found {
            match places.last_mut() {
                Some(last) if last.end > place.start => last.end = last.end.max(place.end),
                _ => places.push(place),
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::store::word_index::Terms;
    use proptest::prelude::*;

    fn folded(text: &str) -> String {
        let mut words = Vec::new();
        each_word(text, |_, word| {
            words.push(word.to_owned());
            ControlFlow::Continue(())
        });
        words.join(" ")
    }

    /// Whether `query` finds `text`. The index's terms and the text itself must agree.
    fn finds(query: &str, text: &str) -> bool {
        let query = Query::parse(query);
        let found = query.is_in(&[text]);
        assert_eq!(!query.is_empty() && found, !query.is_empty() && found_by_terms(&query, text), "{text}");
        found && !query.is_empty()
    }

    fn found_by_terms(query: &Query, text: &str) -> bool {
        let mut row = Terms::default();
        let tag = Tag::new(0).unwrap();
        row.add(tag, text);
        let terms: Vec<&str> = row.iter().map(|term| str::from_utf8(term).unwrap()).collect();
        query.phrases().all(|phrase| {
            let phrase: Vec<String> = phrase.iter().map(|word| tag.term(word)).collect();
            terms.windows(phrase.len()).any(|terms| terms == phrase)
        })
    }

    #[test]
    fn words_are_folded_and_placed() {
        assert_eq!(folded("Grüße, NEEDLE-gp-211! Møllenberg"), "grusse needle gp 211 mollenberg");
        assert_eq!(folded("Café cafe\u{301} Łódź žluťoučký"), "cafe cafe lodz zlutoucky");
        assert_eq!(folded("東京ラーメン"), "東 京 ラ ー メ ン");
        assert_eq!(folded("Đà Nẵng, Nguyễn Thị Mai; Þórr ŒUVRE"), "da nang nguyen thi mai þorr œuvre");
        assert_eq!(folded("Ελλάδα Йод и\u{306}од Ёлка İı"), "ελλαδα и\u{306}од и\u{306}од елка ii");
        assert_eq!(folded("ｶﾞ が か\u{3099} \u{212b}ngstrom"), "カ\u{3099} か\u{3099} か\u{3099} angstrom");
        assert_eq!(folded("Te\u{ad}le\u{ad}fon m² ½ a\u{200b}b"), "telefon m2 1 2 a b");
        assert_eq!(folded("हिन्दी में"), "हिन्दी में");
        assert_eq!(
            folded("1\u{fe0f}\u{20e3}2\u{20e3}nd #\u{fe0f}\u{20e3} *\u{20e3} #1 ©\u{fe0f} ‼\u{fe0f} ‼"),
            "1 2 nd #\u{20e3} *\u{20e3} 1 ©\u{fe0f} ‼\u{fe0f}"
        );
        assert_eq!(
            folded("🅰\u{fe0f}🅱x Ⓜ🈁㊗ℹ 🏴\u{200d}☠\u{fe0f}"),
            "🅰 🅱 x mココ祝i 🏴 ☠".replace("mココ祝i", "m コ コ 祝 i")
        );
        assert_eq!(folded("محـــمد"), "محمد");
        assert_eq!(folded("👍🏽❤\u{fe0f}🇩🇪🇫🇷👩\u{200d}💻 © 1\u{fe0f}\u{20e3}"), "👍 ❤ 🇩🇪 🇫🇷 👩 💻 1");
    }

    const WALES: &str = "🏴\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}";
    const SCOTLAND: &str = "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}";

    /// Requirement O6.9.
    #[test]
    fn a_word_is_found_in_every_spelling() {
        for (query, text) in [
            ("e\u{301}te\u{301}", "l'été"),
            ("ete", "l'e\u{301}te\u{301}"),
            ("tieng viet", "Tiê\u{301}ng Việt"),
            ("Tiếng Việt", "tieng viet"),
            ("елка", "Ёлка"),
            ("Е\u{308}ЛКА", "елка"),
            ("и\u{306}од", "Йод"),
            ("gross", "groß"),
            ("GROẞ", "gross"),
            ("strasse", "Straße"),
            ("ΟΔΟΣ", "οδός"),
            ("σίσυφος", "ΣΙΣΥΦΟΣ"),
            ("ｔｅｓｔ１２", "Test12"),
            ("test12", "ＴＥＳＴ１２"),
            ("ガラス", "ｶﾞﾗｽ"),
            ("か\u{3099}く", "がくせい"),
            ("한국", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}어"),
            ("ไทย", "ภาษาไทยง่าย"),
            ("ខ្មែរ", "ភាសាខ្មែរ"),
            ("ລາວ", "ພາສາລາວ"),
            ("မြန်မာ", "ကမြန်မာစာ"),
            ("שלום", "שָׁלוֹם"),
            ("احمد", "أَحْمَد"),
            ("👍", "ok 👍🏽!"),
            ("❤", "I❤\u{fe0f}NY"),
            ("istanbul", "İstanbul"),
            ("ısparta", "Isparta"),
            ("ﬁnal", "final"),
            ("#\u{fe0f}\u{20e3}", "press #\u{20e3} now"),
            ("3\u{20e3}", "1\u{fe0f}\u{20e3}3\u{fe0f}\u{20e3}"),
            ("👩\u{200d}💻", "a 👩🏽\u{200d}💻!"),
            ("👩", "a 👩🏽\u{200d}💻!"),
            (WALES, &format!("in {WALES}.")),
            ("مُحَمَّد", "محـــمد"),
            ("🅱", "type 🅱\u{fe0f}"),
            ("Çağrı", "CAGRI"),
            ("đường", "DUONG"),
            ("žižek", "ŽIŽEK"),
            ("ὀδυσσεύς", "ΟΔΥΣΣΕΥΣ"),
            ("ѝ", "Ѝ"),
            ("เชียงใหม่", "ไปเชียงใหม่กัน"),
            ("ວຽງຈັນ", "ຢູ່ວຽງຈັນ"),
            ("ភ្នំពេញ", "ទៅភ្នំពេញ"),
            ("ရန်ကုန်", "ကရန်ကုန်မြို့"),
            ("ﾄｳｷｮｳ", "トウキョウ"),
            ("ﾜﾞ", "ヷ"),
            ("㈱", "(株)"),
            ("서울", "서울특별시"),
            ("서울", "\u{c11c}\u{110b}\u{116e}\u{11af}"),
            ("नमस्ते", "वह नमस्ते"),
        ] {
            assert!(finds(query, text), "{query} in {text}");
            assert!(!Query::parse(query).matches(text, 1).is_empty(), "{query} in {text}");
        }
        for (query, text) in [
            ("йод", "иод"),
            ("か", "が"),
            ("は\u{309a}", "ば"),
            ("👎", "👍"),
            ("🇩🇪", "🇸🇩🇪🇺"),
            (WALES, SCOTLAND),
            ("🏴", WALES),
            ("#\u{20e3}", "#1"),
            ("ไม", "ไม่"),
        ] {
            assert!(!finds(query, text), "{query} in {text}");
        }
        for no_word in ["", "!?", "…", "\u{301}", "\" \"", "\u{200b}", "\u{fe0f}"] {
            assert!(Query::parse(no_word).is_empty(), "{no_word:?}");
        }
    }

    /// Requirement O6.10.
    #[test]
    fn a_query_names_the_terms_of_its_fields_only() {
        let tag = |number| Tag::new(number).unwrap();
        let mut row = Terms::default();
        row.add(tag(0), "Needle one");
        row.add(tag(1), "secret needle");
        let terms: Vec<&str> = row.iter().map(|term| str::from_utf8(term).unwrap()).collect();
        assert_eq!(terms, ["Āneedle", "Āone", "āsecret", "āneedle"]);
        assert_eq!(tag(1).term("needle"), "āneedle");
        assert_eq!(Tag::new(u32::MAX), None);
    }

    #[test]
    fn a_query_has_no_operators() {
        let query = Query::parse("\"unbalanced AND (");
        assert_eq!(query.phrases().collect::<Vec<_>>(), [["unbalanced", "and"]]);
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

    #[test]
    fn words_at_one_place_are_marked_once() {
        assert_eq!(Query::parse("1 2").matches("a ½ b 1", 9), [2..4, 7..8]);
        assert_eq!(Query::parse("キロ").matches("5㌔ 5㌔", 9), [1..4, 6..9]);
    }

    proptest! {
        #[test]
        fn words_without_marks_are_read_as_all_are(text in "([a-cA-C1 .=]|é|\u{301}|\u{200d}|日|👍|\\PC){0,40}") {
            let (mut fast, mut slow) = (Vec::new(), Vec::new());
            each_word(&text, |place, word| {
                fast.push((place, word.to_owned()));
                ControlFlow::Continue(())
            });
            each_folded_word(&text, |place, word| {
                slow.push((place, word.to_owned()));
                ControlFlow::Continue(())
            });
            prop_assert_eq!(fast, slow);
        }

        #[test]
        fn a_text_matches_itself_in_every_spelling(text in any::<String>()) {
            let mut words = 0;
            each_word(&text, |place, word| {
                assert!(text.get(place).is_some());
                assert!(!word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '#' | '*') || !c.is_ascii()));
                words += 1;
                ControlFlow::Continue(())
            });
            let nfc = icu_normalizer::ComposingNormalizerBorrowed::new_nfc().normalize(&text).into_owned();
            let nfd = icu_normalizer::DecomposingNormalizerBorrowed::new_nfd().normalize(&text).into_owned();
            for spelling in [text.clone(), nfc, nfd] {
                prop_assert_eq!(folded(&spelling), folded(&text));
                let query = Query::parse(&spelling.replace('"', " "));
                prop_assert_eq!(query.is_empty(), words == 0);
                prop_assert!(query.is_in(&[&text]));
                if words > 0 {
                    let found = query.matches(&text, usize::MAX);
                    prop_assert!(!found.is_empty());
                    prop_assert!(found.windows(2).all(|two| two[0].end <= two[1].start));
                    prop_assert!(found.iter().all(|at| text.get(at.clone()).is_some()));
                }
            }
        }

        #[test]
        fn what_is_marked_is_what_matched(
            text in "[abé\u{301}日ก\u{e48} 👍½ß]{0,20}",
            query in "[abé日ก\u{e48}👍½ß]{1,3}( [ab])?",
        ) {
            let query = Query::parse(&query);
            if !query.is_empty() {
                let found = query.matches(&text, usize::MAX);
                prop_assert!(!query.is_in(&[&text]) || !found.is_empty());
                for at in found {
                    let alone = query.phrases.iter().any(|phrase| {
                        Query { phrases: vec![phrase.clone()] }.is_in(&[&text[at.clone()]])
                    });
                    prop_assert!(alone, "{:?}", &text[at]);
                }
            }
        }
    }
}
