//! The objects of a PDF file, and the tokens of its content.

use super::super::{Budget, Stop};

/// How deeply arrays and dictionaries may be nested.
const DEEPEST: usize = 32;
/// The most bytes of one object; a stream's bytes are not counted.
const LONGEST: usize = 512 << 10;

/// An object.
#[derive(Debug, Clone, PartialEq)]
pub enum Object {
    Null,
    Number(f64),
    /// The bytes of a string, written literally or in hexadecimal digits.
    Text(Vec<u8>),
    Name(Vec<u8>),
    Array(Vec<Self>),
    Dict(Dict),
    /// A reference to the object with this number.
    Reference(u32),
    /// A bare word: an operator, `true`, `obj`.
    Word(Vec<u8>),
}

/// Named objects, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dict(Vec<(Vec<u8>, Object)>);

impl Dict {
    /// The object with this name.
    pub fn get(&self, name: &str) -> Option<&Object> {
        self.0.iter().find(|(known, _)| known == name.as_bytes()).map(|(_, object)| object)
    }

    fn put(&mut self, name: Vec<u8>, object: Object) {
        self.0.push((name, object));
    }

    /// Replaces an object.
    pub fn set(&mut self, name: &str, object: Object) {
        if let Some((_, known)) = self.0.iter_mut().find(|(known, _)| known == name.as_bytes()) {
            *known = object;
        }
    }
}

impl Object {
    /// The object as a number.
    pub const fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    /// The object as a whole number that is not negative.
    pub fn whole(&self) -> Option<usize> {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a value out of range becomes the nearest one"
        )]
        self.number().filter(|number| *number >= 0.0).map(|number| number as usize)
    }

    /// The object as a name.
    pub fn name(&self) -> Option<&[u8]> {
        if let Self::Name(name) = self { Some(name) } else { None }
    }

    /// The object as a dictionary.
    pub const fn dict(&self) -> Option<&Dict> {
        if let Self::Dict(dict) = self { Some(dict) } else { None }
    }

    /// The object as an array.
    pub fn array(&self) -> Option<&[Self]> {
        if let Self::Array(array) = self { Some(array) } else { None }
    }
}

/// Reads one object after the other from bytes.
#[derive(Debug, Clone)]
pub struct Lexer<'a> {
    bytes: &'a [u8],
    /// Where the next one begins.
    pub at: usize,
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | 0x0c | 0)
}

const fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}

impl<'a> Lexer<'a> {
    pub const fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips blanks and comments.
    pub fn skip_blanks(&mut self) {
        while let Some(byte) = self.peek() {
            if byte == b'%' {
                let rest = &self.bytes[self.at..];
                self.at += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            } else if is_blank(byte) {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    /// The next object; `None` at the end. In a file, two numbers and `R` make a reference.
    pub fn object(&mut self, budget: &mut Budget) -> Result<Option<Object>, Stop> {
        let from = self.at;
        let end = self.bytes.len().min(from.saturating_add(LONGEST));
        let mut within = Self { bytes: &self.bytes[..end], at: from };
        let object = within.next(0);
        self.at = within.at;
        budget.pay(self.at - from)?;
        object
    }

    fn next(&mut self, depth: usize) -> Result<Option<Object>, Stop> {
        self.skip_blanks();
        let Some(byte) = self.peek() else { return Ok(None) };
        self.at += 1;
        let object = match byte {
            b'(' => Object::Text(self.text()),
            b'/' => Object::Name(self.name()),
            b'<' if self.peek() == Some(b'<') => {
                self.at += 1;
                self.dict(depth)?
            }
            b'<' => Object::Text(self.hex()),
            b'[' => {
                if depth == DEEPEST {
                    return Err(Stop::Failed);
                }
                let mut all = Vec::new();
                while let Some(object) = self.next(depth + 1)? {
                    if matches!(&object, Object::Word(word) if word == b"]") {
                        break;
                    }
                    push(&mut all, object);
                }
                Object::Array(all)
            }
            b'>' if self.peek() == Some(b'>') => {
                self.at += 1;
                Object::Word(b">>".to_vec())
            }
            b']' | b')' | b'>' | b'{' | b'}' => Object::Word(vec![byte]),
            _ => {
                let from = self.at - 1;
                while self.peek().is_some_and(|byte| !is_blank(byte) && !is_delimiter(byte)) {
                    self.at += 1;
                }
                word(&self.bytes[from..self.at])
            }
        };
        Ok(Some(object))
    }

    fn dict(&mut self, depth: usize) -> Result<Object, Stop> {
        if depth == DEEPEST {
            return Err(Stop::Failed);
        }
        let mut dict = Dict::default();
        let (mut key, mut values) = (None, Vec::new());
        loop {
            let next = self.next(depth + 1)?;
            let is_end = next.as_ref().is_none_or(|next| matches!(next, Object::Word(word) if word == b">>"));
            match next {
                Some(Object::Name(name)) if key.is_none() || !values.is_empty() => {
                    if let (Some(key), Some(value)) = (key.replace(name), values.pop()) {
                        dict.put(key, value);
                    }
                    values.clear();
                }
                Some(object) if !is_end => push(&mut values, object),
                _ => {}
            }
            if is_end {
                if let (Some(key), Some(value)) = (key, values.pop()) {
                    dict.put(key, value);
                }
                return Ok(Object::Dict(dict));
            }
        }
    }

    fn name(&mut self) -> Vec<u8> {
        let mut name = Vec::new();
        while let Some(byte) = self.peek().filter(|byte| !is_blank(*byte) && !is_delimiter(*byte)) {
            self.at += 1;
            let escaped =
                (byte == b'#').then(|| self.bytes.get(self.at..self.at + 2).and_then(byte_of)).flatten();
            self.at += if escaped.is_some() { 2 } else { 0 };
            name.push(escaped.unwrap_or(byte));
        }
        name
    }

    fn hex(&mut self) -> Vec<u8> {
        let rest = &self.bytes[self.at..];
        let end = memchr::memchr(b'>', rest).unwrap_or(rest.len());
        self.at = (self.at + end + 1).min(self.bytes.len());
        hex(&rest[..end])
    }

    fn text(&mut self) -> Vec<u8> {
        let (mut text, mut open) = (Vec::new(), 1_usize);
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'(' => open += 1,
                b')' => {
                    open -= 1;
                    if open == 0 {
                        break;
                    }
                }
                b'\\' => {
                    self.escape(&mut text);
                    continue;
                }
                _ => {}
            }
            text.push(byte);
        }
        text
    }

    fn escape(&mut self, text: &mut Vec<u8>) {
        let Some(byte) = self.peek() else { return };
        self.at += 1;
        let plain = match byte {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'f' => 12,
            b'0'..=b'7' => {
                let mut code = u32::from(byte - b'0');
                for _ in 0..2 {
                    let Some(digit @ b'0'..=b'7') = self.peek() else { break };
                    code = code * 8 + u32::from(digit - b'0');
                    self.at += 1;
                }
                code.to_le_bytes()[0]
            }
            b'\r' => {
                self.at += usize::from(self.peek() == Some(b'\n'));
                return;
            }
            b'\n' => return,
            other => other,
        };
        text.push(plain);
    }
}

/// Adds an object; two numbers and `R` become a reference.
fn push(all: &mut Vec<Object>, object: Object) {
    if matches!(&object, Object::Word(word) if word == b"R")
        && let [.., number, generation] = &all[..]
        && let (Some(number), Some(_)) = (number.whole(), generation.whole())
    {
        all.truncate(all.len() - 2);
        return all.push(Object::Reference(u32::try_from(number).unwrap_or(u32::MAX)));
    }
    all.push(object);
}

fn word(bytes: &[u8]) -> Object {
    if matches!(bytes.first(), Some(b'0'..=b'9' | b'+' | b'-' | b'.')) {
        let text = str::from_utf8(bytes).unwrap_or_default();
        // Some programs write `--1` or `1.2-3`.
        let text = text.trim_start_matches(['+', '-']);
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number: f64 = text[..end].parse().unwrap_or(0.0);
        return Object::Number(if bytes[0] == b'-' { -number } else { number });
    }
    if bytes == b"null" { Object::Null } else { Object::Word(bytes.to_vec()) }
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn byte_of(two: &[u8]) -> Option<u8> {
    Some(digit(*two.first()?)? << 4 | digit(*two.get(1)?)?)
}

/// The bytes for hexadecimal digits; the last digit may be single.
pub fn hex(digits: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(digits.len() / 2 + 1);
    let mut high = None;
    for low in digits.iter().filter_map(|byte| digit(*byte)) {
        match high.take() {
            Some(high) => out.push(high << 4 | low),
            None => high = Some(low),
        }
    }
    out.extend(high.map(|high| high << 4));
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &[u8]) -> Vec<Object> {
        let (mut lexer, mut budget, mut all) = (Lexer::new(text, 0), Budget::default(), Vec::new());
        while let Ok(Some(object)) = lexer.object(&mut budget) {
            all.push(object);
        }
        all
    }

    #[test]
    fn objects_are_read() {
        let found = all(b"<</A 1/B[1 0 R(a\\(\\051(b)\\\n)<4 1 5>]/C#20D/E % x\n/F -.5 /G null>> Tj");
        let [Object::Dict(dict), Object::Word(word)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(word, b"Tj");
        assert_eq!(dict.get("A").unwrap().whole(), Some(1));
        assert_eq!(
            dict.get("B").unwrap().array().unwrap(),
            [Object::Reference(1), Object::Text(b"a()(b)".to_vec()), Object::Text(b"AP".to_vec())]
        );
        assert_eq!(dict.get("C D").unwrap().name(), Some(&b"E"[..]));
        assert_eq!((dict.get("F"), dict.get("G")), (Some(&Object::Number(-0.5)), Some(&Object::Null)));
        assert_eq!(all(b"--1 +2 .5 1.2-3"), [-1.0, 2.0, 0.5, 1.2].map(Object::Number));
    }

    #[test]
    fn o4_14_what_nests_without_a_bound_ends() {
        for piece in ["[", "<<", "<</A", "(", "[<</A[", "<", "/", "{", ">>", "]", "%", "1 0 R "] {
            all(piece.repeat(200_000).as_bytes());
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "(<<|>>|\\[|\\]|\\(|\\)|<|>|/|\\\\|#|1 0 R|[ -~]){0,60}") {
            all(text.as_bytes());
        }
    }
}
