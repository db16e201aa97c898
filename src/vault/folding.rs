//! One form for every spelling of a text, character by character, each with its place in the stored text.
//!
//! The form is Unicode's compatibility decomposition (NFKD; the NFC, NFD, NFKC and NFKD of a text all have the same
//! form) with full case folding. It leaves out the marks that writers of Latin, Greek, Cyrillic, Hebrew and Arabic
//! often omit. A search looks in this form; a hit is shown from the text itself.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::props::{
    DefaultIgnorableCodePoint, ExtendedPictographic, GraphemeClusterBreak, RegionalIndicator, Script,
};
use icu_properties::script::ScriptWithExtensions;
use icu_properties::{
    CodePointMapData, CodePointMapDataBorrowed, CodePointSetData, CodePointSetDataBorrowed,
};

/// A character of the form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// The bytes of the text that it comes from. Several characters can come from the same bytes: `½` becomes `1`,
    /// `⁄` and `2`.
    pub place: Range<usize>,
    /// Its class.
    pub class: Class,
    /// The character.
    pub c: char,
}

/// The role of a character in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A letter or digit, which forms a word with its neighbours.
    Letter,
    /// A letter or digit of a script that is written without spaces, or of Hangul, in which words are made of other
    /// words. It is a word on its own.
    Lone,
    /// An emoji.
    Emoji,
    /// Half a flag.
    HalfFlag,
    /// A mark that turns the character before it into another letter.
    Mark,
    /// A character that the form leaves out. It belongs to the character before it.
    Dropped,
    /// Anything else.
    Other,
}

/// How the marks after a character are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    /// They are left out.
    Plain,
    /// They are left out, except for the breve of й, which is a separate letter.
    CyrillicI,
    /// They are kept.
    Marked,
    /// They are kept, and so are the vowel and the final consonant of a syllable.
    Hangul,
    /// They are left out, but the letters after it say which flag it is.
    Flag,
    /// They are left out, except for the one that draws a key around it.
    Key,
    /// They are left out, except for the one that makes an emoji of it.
    Sign,
}

const NFKD: DecomposingNormalizerBorrowed<'_> = DecomposingNormalizerBorrowed::new_nfkd();
const ORDER: CanonicalCombiningClassMapBorrowed<'_> = CanonicalCombiningClassMapBorrowed::new();
const CLUSTER: CodePointMapDataBorrowed<'_, GraphemeClusterBreak> = CodePointMapData::new();
const IGNORABLE: CodePointSetDataBorrowed<'_> = CodePointSetData::new::<DefaultIgnorableCodePoint>();
const PICTOGRAPHIC: CodePointSetDataBorrowed<'_> = CodePointSetData::new::<ExtendedPictographic>();
const REGIONAL: CodePointSetDataBorrowed<'_> = CodePointSetData::new::<RegionalIndicator>();

const BREVE: char = '\u{306}';
/// Print may ignore it, but it marks the end of a word.
const ZERO_WIDTH_SPACE: char = '\u{200b}';
/// It stretches an Arabic word and changes nothing else.
const TATWEEL: char = '\u{640}';
/// It turns the character before it into an emoji.
const AS_EMOJI: char = '\u{fe0f}';
/// It draws a key around the character before it.
const KEYCAP: char = '\u{20e3}';
const BLACK_FLAG: char = '\u{1f3f4}';
/// The invisible letters that follow a black flag.
const TAGS: RangeInclusive<char> = '\u{e0020}'..='\u{e007f}';

/// The characters of the form, in order.
#[derive(Debug)]
pub struct Folding<'a> {
    text: &'a str,
    at: usize,
    base: Base,
    ready: VecDeque<Folded>,
}

/// `text` in the form.
pub const fn fold(text: &str) -> Folding<'_> {
    Folding { text, at: 0, base: Base::Plain, ready: VecDeque::new() }
}

impl Iterator for Folding<'_> {
    type Item = Folded;

    fn next(&mut self) -> Option<Folded> {
        if let Some(ready) = self.ready.pop_front() {
            return Some(ready);
        }
        let bytes = self.text.as_bytes();
        let first = *bytes.get(self.at)?;
        // These are known as well, and most texts consist mostly of them.
        if first.is_ascii() && bytes.get(self.at + 1).is_none_or(u8::is_ascii) {
            let place = self.at..self.at + 1;
            let class = if first.is_ascii_alphanumeric() { Class::Letter } else { Class::Other };
            (self.at, self.base) = (place.end, Base::Plain);
            return Some(Folded { place, class, c: char::from(first.to_ascii_lowercase()) });
        }
        let mut chars = self.text[self.at..].chars();
        let c = chars.next()?;
        if let Some(known) = known(c)
            && chars.next().is_none_or(known_to_begin)
        {
            let place = self.at..self.at + c.len_utf8();
            self.at = place.end;
            self.base = known.base;
            let of = |(class, c)| Folded { place: place.clone(), class, c };
            self.ready.extend(known.then.map(of));
            return Some(of(known.first));
        }
        self.fill();
        self.ready.pop_front()
    }
}

/// The form of a character that no combining character follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    first: (Class, char),
    then: Option<(Class, char)>,
    base: Base,
}

/// The range that contains most letters in use: from Latin to kana.
const COMMON: Range<u32> = 0x80..0x3100;
/// Their forms, computed once. Computing a form takes longer than looking it up, and texts are long.
static FORMS: LazyLock<Vec<Option<Known>>> =
    LazyLock::new(|| COMMON.map(|c| char::from_u32(c).and_then(form_of)).collect());

/// The form of `c`, unless it belongs to the character before it or has more than two characters.
fn form_of(c: char) -> Option<Known> {
    if matches!(CLUSTER.get(c), GraphemeClusterBreak::V | GraphemeClusterBreak::T) {
        return None;
    }
    let text = String::from(c);
    let mut folding = fold(&text);
    folding.fill();
    let first =
        folding.ready.pop_front().filter(|first| !matches!(first.class, Class::Dropped | Class::Mark))?;
    let mut rest = folding.ready.iter().filter(|folded| folded.class != Class::Dropped);
    let then = rest.next().map(|then| (then.class, then.c));
    rest.next().is_none().then_some(Known { first: (first.class, first.c), then, base: folding.base })
}

#[inline]
fn known(c: char) -> Option<Known> {
    match c {
        _ if c.is_ascii() => {
            let class = if c.is_ascii_alphanumeric() { Class::Letter } else { Class::Other };
            Some(Known { first: (class, c.to_ascii_lowercase()), then: None, base: Base::Plain })
        }
        '\u{4e00}'..='\u{9fff}' => Some(Known { first: (Class::Lone, c), then: None, base: Base::Marked }),
        _ if COMMON.contains(&u32::from(c)) => FORMS.get((u32::from(c) - COMMON.start) as usize).copied()?,
        _ => None,
    }
}

/// Whether `c` is known not to combine with the character before it.
fn known_to_begin(c: char) -> bool {
    c.is_ascii() || known(c).is_some()
}

impl Folding<'_> {
    /// Reads a character and the combining characters after it, which may be in any order.
    fn fill(&mut self) {
        let mut chars = self.text[self.at..].chars();
        if let Some(c) = chars.next()
            && is_drawn(c, chars.as_str())
        {
            let place = self.at..self.at + c.len_utf8();
            self.at = place.end;
            // A search for the number finds a number in a key.
            self.base = match c {
                '#' | '*' => Base::Key,
                _ if c.is_ascii() => Base::Plain,
                _ => Base::Sign,
            };
            return self.ready.push_back(Folded { place, class: Class::Emoji, c });
        }
        let mut decomposed: Vec<(u8, Range<usize>, char)> = Vec::new();
        while let Some(c) = self.text[self.at..].chars().next() {
            let place = self.at..self.at + c.len_utf8();
            let mut parts = NFKD
                .normalize_iter(std::iter::once(c))
                .map(|part| (ORDER.get_u8(part), place.clone(), part))
                .peekable();
            let combines = parts.peek().is_some_and(|(order, ..)| *order > 0);
            if !decomposed.is_empty() && !combines {
                break;
            }
            decomposed.extend(parts);
            self.at = place.end;
        }
        for marks in decomposed.chunk_by_mut(|left, right| left.0 > 0 && right.0 > 0) {
            marks.sort_by_key(|(order, ..)| *order);
        }
        for (_, place, c) in decomposed {
            // Full case folding: ß, ẞ and SS are the same, and so are σ, ς and Σ.
            let lower = c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
            for c in lower.map(without_stroke) {
                let class = self.class(c);
                self.ready.push_back(Folded { place: place.clone(), class, c });
            }
        }
    }

    fn class(&mut self, c: char) -> Class {
        if c == ZERO_WIDTH_SPACE {
            return self.is(Base::Plain, Class::Other);
        }
        match self.base {
            Base::Flag if TAGS.contains(&c) => return Class::Mark,
            Base::Key if c == KEYCAP => return self.is(Base::Plain, Class::Mark),
            Base::Sign if c == AS_EMOJI => return self.is(Base::Plain, Class::Mark),
            _ => {}
        }
        if c == TATWEEL || IGNORABLE.contains(c) {
            return Class::Dropped;
        }
        match CLUSTER.get(c) {
            GraphemeClusterBreak::Extend | GraphemeClusterBreak::SpacingMark => {
                return match self.base {
                    Base::Plain | Base::Flag | Base::Key | Base::Sign => Class::Dropped,
                    Base::CyrillicI if c != BREVE => Class::Dropped,
                    Base::CyrillicI | Base::Marked | Base::Hangul => Class::Mark,
                };
            }
            GraphemeClusterBreak::V | GraphemeClusterBreak::T if self.base == Base::Hangul => {
                return Class::Mark;
            }
            _ => {}
        }
        if REGIONAL.contains(c) {
            return self.is(Base::Plain, Class::HalfFlag);
        }
        if c == BLACK_FLAG {
            return self.is(Base::Flag, Class::Emoji);
        }
        // To Unicode, some of these are letters in a square.
        if !c.is_alphanumeric() || ('\u{1f100}'..='\u{1f1ff}').contains(&c) {
            // © and ® are pictographic too, but occur in ordinary text.
            let emoji = c > '\u{ff}' && PICTOGRAPHIC.contains(c);
            if emoji || !c.is_alphanumeric() {
                return self.is(Base::Plain, if emoji { Class::Emoji } else { Class::Other });
            }
        }
        let scripts = ScriptWithExtensions::new();
        match scripts.get_script_val(c) {
            Script::Cyrillic if c == 'и' => self.is(Base::CyrillicI, Class::Letter),
            Script::Latin | Script::Greek | Script::Cyrillic | Script::Hebrew | Script::Arabic => {
                self.is(Base::Plain, Class::Letter)
            }
            Script::Hangul => self.is(Base::Hangul, Class::Lone),
            Script::Han
            | Script::Hiragana
            | Script::Katakana
            | Script::Thai
            | Script::Lao
            | Script::Khmer
            | Script::Myanmar => self.is(Base::Marked, Class::Lone),
            // Both kana use the mark of a long vowel.
            Script::Common if scripts.has_script(c, Script::Katakana) => self.is(Base::Marked, Class::Lone),
            Script::Common => self.is(Base::Plain, Class::Letter),
            _ => self.is(Base::Marked, Class::Letter),
        }
    }

    const fn is(&mut self, base: Base, class: Class) -> Class {
        self.base = base;
        class
    }
}

/// Whether the text after a character makes an emoji of it that it is not without: a key, or a picture of a sign.
fn is_drawn(c: char, behind: &str) -> bool {
    match c {
        '0'..='9' | '#' | '*' => behind.strip_prefix(AS_EMOJI).unwrap_or(behind).starts_with(KEYCAP),
        '©' | '®' | '‼' | '⁉' => behind.starts_with(AS_EMOJI),
        _ => false,
    }
}

/// Whether `text` contains a character that stores of format 6 and earlier split into other words.
pub fn was_read_otherwise(text: &str) -> bool {
    !text.is_ascii()
        && text
            .chars()
            .any(|c| matches!(c, TATWEEL | AS_EMOJI | KEYCAP | BLACK_FLAG | '\u{1f170}'..='\u{1f17f}'))
}

/// Letters that Unicode does not decompose.
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

/// `text` composed (NFC). Two texts with the same letters and marks then compare equal, and nothing else is lost.
pub fn composed(text: &str) -> Cow<'_, str> {
    ComposingNormalizerBorrowed::new_nfc().normalize(text)
}

/// Where `needle` first occurs in `text`, in bytes. Tries the exact text, then the folded form of both.
pub fn find(text: &str, needle: &str) -> Option<Range<usize>> {
    if needle.is_empty() {
        return None;
    }
    if let Some(start) = text.find(needle) {
        return Some(start..start + needle.len());
    }
    let kept = |folded: &Folded| folded.class != Class::Dropped;
    let needle: String = fold(needle).filter(kept).map(|folded| folded.c).collect();
    if needle.is_empty() {
        return None;
    }
    let (mut all, mut places) = (String::with_capacity(text.len()), Vec::with_capacity(text.len()));
    for folded in fold(text) {
        if kept(&folded) {
            places.resize(all.len(), None);
            places.push(Some(folded.place));
            all.push(folded.c);
        } else if let Some(Some(last)) = places.last_mut() {
            last.end = folded.place.end;
        }
    }
    let start = all.find(&needle)?;
    let mut found = places[start..places.len().min(start + needle.len())].iter().flatten();
    let first = found.next()?;
    Some(first.start..found.next_back().unwrap_or(first).end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn form(text: &str) -> String {
        fold(text).filter(|folded| folded.class != Class::Dropped).map(|folded| folded.c).collect()
    }

    fn spellings(text: &str) -> [String; 2] {
        let nfc = ComposingNormalizerBorrowed::new_nfc();
        let nfd = DecomposingNormalizerBorrowed::new_nfd();
        [nfc.normalize(text).into_owned(), nfd.normalize(text).into_owned()]
    }

    #[test]
    fn every_character_has_one_form_in_either_case_and_however_it_is_composed() {
        // All except the tens of thousands that behave alike: ideographs, syllables of Hangul, private and
        // unassigned characters.
        let all = ('\0'..='\u{33ff}').chain('\u{a000}'..='\u{ac50}').chain('\u{d7b0}'..='\u{d7ff}');
        for c in all.chain('\u{f900}'..='\u{1188f}').chain('\u{1d000}'..='\u{1fbff}') {
            let alone = ORDER.get_u8(c) == 0 && CLUSTER.get(c) == GraphemeClusterBreak::Other;
            for before in ["", "a", "и", "か", "ᄀ"] {
                let text = format!("{before}{c}");
                if alone && !before.is_empty() {
                    break;
                }
                let folded = form(&text);
                for spelling in spellings(&text) {
                    assert_eq!(form(&spelling), folded, "{text:?} as {spelling:?}");
                }
                if before.is_empty() {
                    assert_eq!(form(&text.to_lowercase()), folded, "{text:?} in lower case");
                    assert_eq!(form(&text.to_uppercase()), folded, "{text:?} in upper case");
                    assert_eq!(form(&folded), folded, "{text:?} again");
                }
            }
        }
    }

    #[test]
    fn what_is_known_is_what_is_worked_out() {
        for c in ('\0'..='\u{3100}').chain('\u{4e00}'..='\u{9fff}') {
            assert!(known(c).is_none() || known(c) == form_of(c), "{c:?}");
        }
        assert!(
            known('é').is_some() && known('й').is_some() && known('が').is_some() && known('ไ').is_some()
        );
        assert!(known('\u{301}').is_none() && known('\u{e34}').is_none() && known('\u{ad}').is_none());
    }

    #[test]
    fn a_text_is_found_in_another_spelling_and_shown_in_its_own() {
        let found = |text: &str, needle: &str| find(text, needle).map(|at| text[at].to_owned());
        assert_eq!(found("abc Needle", "needle").as_deref(), Some("Needle"));
        assert_eq!(found("un cafe\u{301}, deux", "CAFÉ,").as_deref(), Some("cafe\u{301},"));
        assert_eq!(found("un café, deux", "cafe").as_deref(), Some("café"));
        assert_eq!(found("Große Straße", "strasse").as_deref(), Some("Straße"));
        assert_eq!(found("か\u{3099}く", "がく").as_deref(), Some("か\u{3099}く"));
        assert_eq!(found("1½ l", "1/2"), None);
        assert_eq!(found("1½ l", "1⁄2").as_deref(), Some("½"));
        assert_eq!(found("abc", "x"), None);
        assert_eq!(found("abc", ""), None);
        assert_eq!(found("abc", "\u{301}"), None);
    }

    proptest! {
        #[test]
        fn places_are_in_order_and_of_whole_characters(text in any::<String>()) {
            let mut last = 0;
            for folded in fold(&text) {
                prop_assert!(text.get(folded.place.clone()).is_some());
                // Marks are in their canonical order, so a mark of a later character can come before the character
                // that an iota below the letter folds to.
                if !matches!(folded.class, Class::Dropped | Class::Mark) {
                    prop_assert!(folded.place.start >= last);
                    last = folded.place.start;
                }
            }
        }

        #[test]
        fn what_is_found_has_the_form_of_what_was_looked_for(
            text in "[aAéÉßø и\u{301}\u{306}日か\u{3099}½]{0,12}",
            needle in "[aAéÉßø и\u{301}\u{306}日か\u{3099}½]{1,3}",
        ) {
            if let Some(at) = find(&text, &needle) {
                prop_assert!(form(&text[at]).contains(&form(&needle)));
            }
            for spelling in spellings(&text) {
                prop_assert_eq!(find(&spelling, &form(&needle)).is_some(), find(&text, &form(&needle)).is_some());
            }
        }
    }
}
