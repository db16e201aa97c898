//! The Unicode meaning of a font's codes, and their widths.

use std::collections::HashMap;

use encoding_rs::Encoding;

use super::super::{Budget, Stop};
use super::File;
use super::object::{Dict, Lexer, Object};
use crate::vault::folding;

/// The most codes of one font.
const MOST_CODES: usize = 30_000;
/// The width of a glyph if the font has none, in thousandths of its size.
const GUESS: f64 = 500.0;

/// A font, reduced to what the text needs.
pub struct Font {
    /// The meaning of its codes, if it has a map.
    map: Option<Map>,
    how: How,
    /// The widths of its codes, in thousandths.
    widths: Widths,
    /// Whether the widths are known.
    pub has_widths: bool,
}

enum How {
    /// A code is a byte.
    Bytes(Vec<String>),
    /// A code has several bytes, and only the map explains it.
    Codes,
    /// The bytes are a text in this charset.
    Charset(&'static Encoding),
}

#[derive(Default)]
struct Widths {
    one: HashMap<u32, f64>,
    ranges: Vec<(u32, u32, f64)>,
    other: f64,
}

impl Widths {
    fn of(&self, code: u32) -> f64 {
        let range = || {
            self.ranges.iter().find(|(from, to, _)| (*from..=*to).contains(&code)).map(|(.., width)| *width)
        };
        self.one.get(&code).copied().or_else(range).unwrap_or(self.other)
    }
}

/// One code of a string.
pub struct Glyph<'a> {
    pub text: &'a str,
    /// Its width, in thousandths of the font's size.
    pub width: f64,
    /// Whether it is the code at which words are stretched.
    pub is_blank: bool,
}

impl Font {
    pub fn open(file: &File<'_>, dict: &Dict, budget: &mut Budget) -> Result<Self, Stop> {
        let map = match dict.get("ToUnicode") {
            Some(Object::Reference(number)) => match file.undone(*number, budget) {
                Ok(bytes) => Some(Map::parse(&bytes, budget)?),
                Err(Stop::TooLarge) => return Err(Stop::TooLarge),
                Err(_) => None,
            },
            _ => None,
        };
        let kind = file.get(dict, "Subtype", budget)?.and_then(|kind| kind.name().map(<[u8]>::to_vec));
        if kind.as_deref() == Some(b"Type0") {
            let encoding = file.get(dict, "Encoding", budget)?;
            let named = encoding.as_ref().and_then(|encoding| encoding.name()).and_then(charset);
            let how = named.filter(|_| map.is_none()).map_or(How::Codes, How::Charset);
            let (widths, has_widths) = descendant_widths(file, dict, budget)?;
            return Ok(Self { map, how, widths, has_widths });
        }
        let (widths, has_widths) = widths(file, dict, kind.as_deref() == Some(b"Type3"), budget)?;
        Ok(Self { map, how: How::Bytes(bytes(file, dict, budget)?), widths, has_widths })
    }

    /// Passes each code of a string to `each`.
    pub fn show(
        &self,
        string: &[u8],
        each: &mut dyn FnMut(Glyph<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if let How::Charset(charset) = self.how {
            let (text, _) = charset.decode_without_bom_handling(string);
            return text.chars().try_for_each(|c| {
                let width = if c.is_ascii() { GUESS } else { 1000.0 };
                each(Glyph { text: c.encode_utf8(&mut [0; 4]), width, is_blank: false })
            });
        }
        let mut rest = string;
        while !rest.is_empty() {
            let length = match (&self.how, &self.map) {
                (How::Bytes(_), _) => 1,
                (_, Some(map)) => map.length_of(rest),
                _ => 2,
            };
            let (code, behind) = rest.split_at(length.min(rest.len()));
            rest = behind;
            let number = number(code);
            let mapped = self.map.as_ref().and_then(|map| map.get(code.len(), number));
            let text = match (&mapped, &self.how) {
                (Some(text), _) => text.as_str(),
                (None, How::Bytes(table)) => table.get(number as usize).map_or("", String::as_str),
                _ => "",
            };
            each(Glyph { text, width: self.widths.of(number), is_blank: code == b" " })?;
        }
        Ok(())
    }
}

fn number(code: &[u8]) -> u32 {
    code.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// The charset of strings for one of the predefined maps.
fn charset(name: &[u8]) -> Option<&'static Encoding> {
    let name = str::from_utf8(name).ok()?;
    let has = |part: &str| name.contains(part);
    Some(if name.starts_with("Uni") && (has("UCS2") || has("UTF16")) {
        encoding_rs::UTF_16BE
    } else if has("RKSJ") {
        encoding_rs::SHIFT_JIS
    } else if has("GBK") || has("GB-EUC") || has("GBpc") {
        encoding_rs::GBK
    } else if has("B5") {
        encoding_rs::BIG5
    } else if has("UHC") || has("KSC") {
        encoding_rs::EUC_KR
    } else if matches!(name, "EUC-H" | "EUC-V") {
        encoding_rs::EUC_JP
    } else {
        return None;
    })
}

fn widths(file: &File<'_>, dict: &Dict, is_drawn: bool, budget: &mut Budget) -> Result<(Widths, bool), Stop> {
    let mut widths = Widths { other: GUESS, ..Widths::default() };
    let Some(all) = file.get(dict, "Widths", budget)? else { return Ok((widths, false)) };
    let first = file.get(dict, "FirstChar", budget)?.and_then(|first| first.whole()).unwrap_or(0);
    // A font with its own drawings has its own scale.
    let matrix = file.get(dict, "FontMatrix", budget)?;
    let scale = matrix.as_ref().and_then(|matrix| matrix.array()?.first()?.number()).filter(|_| is_drawn);
    let scale = scale.map_or(1.0, |scale| scale * 1000.0);
    for (at, width) in all.array().unwrap_or_default().iter().take(256).enumerate() {
        if let (Ok(code), Some(width)) = (u32::try_from(first + at), file.resolved(width, budget)?.number()) {
            widths.one.insert(code, width * scale);
        }
    }
    Ok((widths, true))
}

/// The widths of a font that is made from another.
fn descendant_widths(file: &File<'_>, dict: &Dict, budget: &mut Budget) -> Result<(Widths, bool), Stop> {
    let mut widths = Widths { other: 1000.0, ..Widths::default() };
    let descendants = file.get(dict, "DescendantFonts", budget)?;
    let first = descendants.as_ref().and_then(|all| all.array()?.first());
    let Some(first) = first.map(|first| file.resolved(first, budget)).transpose()? else {
        return Ok((widths, false));
    };
    let Some(descendant) = first.dict() else { return Ok((widths, false)) };
    if let Some(width) = file.get(descendant, "DW", budget)?.and_then(|width| width.number()) {
        widths.other = width;
    }
    let Some(all) = file.get(descendant, "W", budget)? else { return Ok((widths, true)) };
    let mut all = all.array().unwrap_or_default().iter();
    let code = |object: &Object| object.whole().and_then(|code| u32::try_from(code).ok());
    while let Some(from) = all.next().and_then(code) {
        let Some(next) = all.next() else { break };
        let next = file.resolved(next, budget)?;
        if let Some(each) = next.array() {
            for (at, width) in (from..).zip(each) {
                if let Some(width) = width.number().filter(|_| widths.one.len() < MOST_CODES) {
                    widths.one.insert(at, width);
                }
            }
        } else if let (Some(to), Some(width)) = (code(&next), all.next().and_then(Object::number)) {
            // They are searched one by one.
            if widths.ranges.len() < 256 {
                widths.ranges.push((from, to, width));
            }
        }
    }
    Ok((widths, true))
}

/// The meaning of each byte.
fn bytes(file: &File<'_>, dict: &Dict, budget: &mut Budget) -> Result<Vec<String>, Stop> {
    let encoding = file.get(dict, "Encoding", budget)?;
    let base = match encoding.as_deref() {
        Some(Object::Dict(dict)) => file.get(dict, "BaseEncoding", budget)?,
        _ => encoding.clone(),
    };
    let base = base.as_ref().and_then(|base| base.name());
    let all: Vec<u8> = (0..=255).collect();
    let charset = match base {
        Some(b"MacRomanEncoding") => encoding_rs::MACINTOSH,
        _ => encoding_rs::WINDOWS_1252,
    };
    let (text, _) = charset.decode_without_bom_handling(&all);
    let mut table: Vec<String> =
        text.chars().map(|c| if c < ' ' { String::new() } else { c.to_string() }).collect();
    if base.is_none() {
        for (code, text) in STANDARD {
            (*text).clone_into(&mut table[usize::from(*code)]);
        }
    }
    if let Some(Object::Dict(dict)) = encoding.as_deref()
        && let Some(differences) = file.get(dict, "Differences", budget)?
    {
        let mut code = 0;
        for object in differences.array().unwrap_or_default() {
            match object {
                Object::Number(_) => code = object.whole().unwrap_or(0),
                Object::Name(name) => {
                    if let Some(text) = table.get_mut(code) {
                        *text = glyph(name);
                    }
                    code += 1;
                }
                _ => {}
            }
        }
    }
    Ok(table)
}

/// Where Adobe's standard encoding differs from that of Windows.
const STANDARD: &[(u8, &str)] = &[
    (0x27, "’"),
    (0x60, "‘"),
    (0xa4, "⁄"),
    (0xa6, "ƒ"),
    (0xa8, "¤"),
    (0xa9, "'"),
    (0xaa, "“"),
    (0xac, "‹"),
    (0xad, "›"),
    (0xae, "fi"),
    (0xaf, "fl"),
    (0xb1, "–"),
    (0xb2, "†"),
    (0xb3, "‡"),
    (0xb4, "·"),
    (0xb7, "•"),
    (0xb8, "‚"),
    (0xb9, "„"),
    (0xba, "”"),
    (0xbc, "…"),
    (0xbd, "‰"),
    (0xc1, "`"),
    (0xd0, "—"),
    (0xe1, "Æ"),
    (0xe3, "ª"),
    (0xe8, "Ł"),
    (0xe9, "Ø"),
    (0xea, "Œ"),
    (0xeb, "º"),
    (0xf1, "æ"),
    (0xf5, "ı"),
    (0xf8, "ł"),
    (0xf9, "ø"),
    (0xfa, "œ"),
    (0xfb, "ß"),
];

/// Accents, by the ending of the names of letters with them.
const MARKS: &[(&str, char)] = &[
    ("grave", '\u{300}'),
    ("acute", '\u{301}'),
    ("circumflex", '\u{302}'),
    ("tilde", '\u{303}'),
    ("macron", '\u{304}'),
    ("breve", '\u{306}'),
    ("dotaccent", '\u{307}'),
    ("dieresis", '\u{308}'),
    ("ring", '\u{30a}'),
    ("hungarumlaut", '\u{30b}'),
    ("caron", '\u{30c}'),
    ("commaaccent", '\u{327}'),
    ("cedilla", '\u{327}'),
    ("ogonek", '\u{328}'),
];

/// Names of glyphs that are not letters with an accent.
const NAMES: &str = "zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 exclam ! quotedbl \" numbersign # \
    dollar $ percent % ampersand & quotesingle ' quoteright ’ quoteleft ‘ parenleft ( parenright ) asterisk * plus + comma , \
    hyphen - minus − period . slash / colon : semicolon ; less < equal = greater > question ? at @ bracketleft [ backslash \\ \
    bracketright ] asciicircum ^ underscore _ grave ` braceleft { bar | braceright } asciitilde ~ exclamdown ¡ cent ¢ sterling £ \
    currency ¤ yen ¥ brokenbar ¦ section § dieresis ¨ copyright © ordfeminine ª guillemotleft « guillemotright » logicalnot ¬ \
    registered ® macron ¯ degree ° plusminus ± twosuperior ² threesuperior ³ onesuperior ¹ acute ´ mu µ paragraph ¶ \
    periodcentered · ordmasculine º onequarter ¼ onehalf ½ threequarters ¾ questiondown ¿ AE Æ ae æ OE Œ oe œ Eth Ð eth ð \
    Thorn Þ thorn þ multiply × divide ÷ Oslash Ø oslash ø germandbls ß Lslash Ł lslash ł dotlessi ı Dcroat Đ dcroat đ fi fi fl fl \
    ff ff ffi ffi ffl ffl Euro € bullet • dagger † daggerdbl ‡ ellipsis … emdash — endash – perthousand ‰ florin ƒ fraction ⁄ \
    guilsinglleft ‹ guilsinglright › quotedblleft “ quotedblright ” quotedblbase „ quotesinglbase ‚ trademark ™ Omega Ω Delta Δ \
    pi π Alpha Α Beta Β Gamma Γ Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ Omicron Ο Pi Π Rho Ρ \
    Sigma Σ Tau Τ Upsilon Υ Phi Φ Chi Χ Psi Ψ alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ \
    lambda λ nu ν xi ξ omicron ο rho ρ sigma σ sigma1 ς tau τ upsilon υ phi φ chi χ psi ψ omega ω";

/// The text for the name of a glyph.
fn glyph(name: &[u8]) -> String {
    let name = str::from_utf8(name).unwrap_or_default();
    let name = name.split('.').next().unwrap_or_default();
    name.split('_').take(8).map(component).collect()
}

fn component(name: &str) -> String {
    let code = |digits: &str| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
    if let Some(digits) = name.strip_prefix("uni").filter(|digits| digits.len() % 4 == 0 && digits.is_ascii())
    {
        let all: Option<String> =
            (0..digits.len()).step_by(4).take(8).map(|at| digits.get(at..at + 4).and_then(code)).collect();
        if let Some(all) = all.filter(|all| !all.is_empty()) {
            return all;
        }
    }
    if let Some(c) = name.strip_prefix('u').filter(|digits| (4..=6).contains(&digits.len())).and_then(code) {
        return c.to_string();
    }
    if name.chars().count() == 1 {
        return name.to_owned();
    }
    if matches!(name, "space" | "nbspace" | "nonbreakingspace") {
        return " ".to_owned();
    }
    let mut names = NAMES.split_ascii_whitespace();
    while let (Some(known), Some(text)) = (names.next(), names.next()) {
        if known == name {
            return text.to_owned();
        }
    }
    let mut letters = name.chars();
    let letter = letters.next().filter(char::is_ascii_alphabetic);
    let mark = MARKS.iter().find(|(known, _)| *known == letters.as_str());
    match (letter, mark) {
        (Some(letter), Some((_, mark))) => folding::composed(&format!("{letter}{mark}")).into_owned(),
        _ => String::new(),
    }
}

/// The Unicode meaning of codes, from a font's map.
#[derive(Default)]
struct Map {
    /// The lengths of codes that begin with a byte between these two.
    lengths: Vec<(usize, u8, u8)>,
    one: HashMap<(usize, u32), String>,
    /// Ranges of codes, each with its first and last code and the meaning of the first.
    ranges: Vec<(usize, u32, u32, Vec<u16>)>,
}

impl Map {
    fn parse(bytes: &[u8], budget: &mut Budget) -> Result<Self, Stop> {
        let mut map = Self::default();
        let mut lexer = Lexer::new(bytes, 0);
        let mut held: Vec<Object> = Vec::new();
        while let Some(object) = lexer.object(budget)? {
            match &object {
                Object::Word(word) => {
                    match word.as_slice() {
                        b"endcodespacerange" => map.lengths_of(&held),
                        b"endbfchar" => map.chars_of(&held),
                        b"endbfrange" => map.ranges_of(&held),
                        _ => {}
                    }
                    held.clear();
                }
                _ if held.len() < MOST_CODES => held.push(object),
                _ => {}
            }
            if map.one.len() + map.ranges.len() > MOST_CODES {
                break;
            }
        }
        map.ranges.sort_by_key(|(length, from, ..)| (*length, *from));
        Ok(map)
    }

    fn lengths_of(&mut self, held: &[Object]) {
        for two in held.chunks_exact(2).take(64) {
            if let [Object::Text(from), Object::Text(to)] = two
                && let (Some(first), Some(last), 1..=4) = (from.first(), to.first(), from.len())
            {
                self.lengths.push((from.len(), *first, *last));
            }
        }
        self.lengths.truncate(64);
    }

    fn chars_of(&mut self, held: &[Object]) {
        for two in held.chunks_exact(2) {
            if let [Object::Text(code), Object::Text(text)] = two {
                self.put(code.len(), number(code), &utf16(text));
            }
        }
    }

    fn put(&mut self, length: usize, code: u32, text: &[u16]) {
        if self.one.len() < MOST_CODES && text.len() <= 32 {
            self.one.insert((length, code), String::from_utf16_lossy(text));
        }
    }

    fn ranges_of(&mut self, held: &[Object]) {
        for three in held.chunks_exact(3) {
            let [Object::Text(from), Object::Text(to), text] = three else { continue };
            let (length, from, to) = (from.len(), number(from), number(to));
            match text {
                Object::Text(text) if self.ranges.len() < MOST_CODES => {
                    let text = utf16(text);
                    if from == to {
                        self.put(length, from, &text);
                    } else if text.len() <= 32 {
                        self.ranges.push((length, from, to, text));
                    }
                }
                Object::Array(all) => {
                    for (code, text) in (from..=to).zip(all) {
                        if let Object::Text(text) = text {
                            self.put(length, code, &utf16(text));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn length_of(&self, bytes: &[u8]) -> usize {
        let first = bytes.first().copied().unwrap_or_default();
        let found = self.lengths.iter().find(|(_, from, to)| (*from..=*to).contains(&first));
        found.map_or(2, |(length, ..)| *length)
    }

    fn get(&self, length: usize, code: u32) -> Option<String> {
        if let Some(text) = self.one.get(&(length, code)) {
            return Some(text.clone());
        }
        let behind = self.ranges.partition_point(|(known, from, ..)| (*known, *from) <= (length, code));
        let (known, from, to, text) = self.ranges.get(behind.checked_sub(1)?)?;
        if *known != length || code > *to {
            return None;
        }
        let mut text = text.clone();
        let distance = u16::try_from(code - from).ok()?;
        let last = text.last_mut()?;
        *last = last.wrapping_add(distance);
        Some(String::from_utf16_lossy(&text))
    }
}

fn utf16(bytes: &[u8]) -> Vec<u16> {
    // Some programs write a letter as a single byte.
    if let [one] = bytes {
        return vec![u16::from(*one)];
    }
    bytes.chunks_exact(2).map(|two| u16::from_be_bytes([two[0], two[1]])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_glyphs_are_read() {
        for (name, text) in [
            ("A", "A"),
            ("eacute", "é"),
            ("Scaron", "Š"),
            ("uni20AC", "€"),
            ("u1F600", "😀"),
            ("f_i", "fi"),
            ("a.sc", "a"),
            ("space", " "),
            ("germandbls", "ß"),
            ("g123", ""),
            ("", ""),
            ("uni", ""),
            ("tcommaaccent", "ţ"),
            ("Omega", "Ω"),
        ] {
            assert_eq!(glyph(name.as_bytes()), text, "{name}");
        }
    }

    #[test]
    fn a_map_says_what_codes_are() {
        let map = Map::parse(
            b"1 begincodespacerange <0000> <FFFF> endcodespacerange 2 beginbfchar <0003> <0020> <0005> <00660069> endbfchar\n\
              2 beginbfrange <0010> <0012> <0041> <0020> <0021> [<00e9> <D83DDE00>] endbfrange",
            &mut Budget::default(),
        )
        .unwrap();
        let of = |code| map.get(2, code).unwrap_or_default();
        assert_eq!(
            [of(3), of(5), of(0x10), of(0x12), of(0x20), of(0x21), of(0x13)],
            [" ", "fi", "A", "C", "é", "😀", ""]
        );
        assert_eq!(map.length_of(b"\x00\x03"), 2);
    }

    #[test]
    fn o4_14_a_map_of_all_codes_is_not_written_out() {
        let map =
            Map::parse(b"1 beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange", &mut Budget::default())
                .unwrap();
        assert_eq!(map.get(4, 1).as_deref(), Some("B"));
        assert_eq!(map.get(4, 0x1_0000), None);
    }
}
