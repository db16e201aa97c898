//! The elements of a JSON array that may be larger than memory, found one after the other by their brackets.
//!
//! Only where elements end is looked for. What stands between is for a parser, which gets one element at a time.

use std::io::{self, BufRead};
use std::ops::ControlFlow;

/// The longest element that is kept, in bytes (O4.14).
pub const LONGEST: usize = 64 * 1024 * 1024;

/// An element of the array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Where it ends: [`scan`] can go on there.
    pub next: u64,
    /// Its bytes, or `None` where they are too many.
    pub bytes: Option<Vec<u8>>,
}

/// What is around the byte that is read.
enum State {
    /// Nothing has begun.
    Before,
    /// An element of an array begins, or the array ends.
    Between,
    /// A member of the outermost object begins, or the object ends.
    Member,
    /// The name of a member, and whether the next byte is escaped.
    Name(bool),
    /// A name was read.
    Named,
    /// The value of a member begins.
    Value,
    /// An element that began at this offset.
    Within(u64, Nesting),
}

/// What is open in an element.
#[derive(Default)]
struct Nesting {
    brackets: u64,
    in_string: bool,
    is_escaped: bool,
}

/// What a byte is to the element that it follows.
#[derive(PartialEq, Eq)]
enum Step {
    Within,
    Last,
    Behind,
}

impl Nesting {
    fn step(&mut self, byte: u8) -> Step {
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => {
                    self.in_string = false;
                    return self.closed();
                }
                _ => {}
            }
            return Step::Within;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.brackets += 1,
            b'}' | b']' if self.brackets > 0 => {
                self.brackets -= 1;
                return self.closed();
            }
            b'}' | b']' | b',' | b' ' | b'\t' | b'\r' | b'\n' if self.brackets == 0 => return Step::Behind,
            _ => {}
        }
        Step::Within
    }

    const fn closed(&self) -> Step {
        if self.brackets == 0 { Step::Last } else { Step::Within }
    }
}

/// Gives the elements of the array that `bytes` hold to `out`, until it breaks; those of more than `longest` bytes without
/// their bytes. `bytes` begin at `from`: 0, or where an element ended ([`Element::next`]). Returns where the last one ended.
///
/// # Errors
/// Where the bytes cannot be read; [`io::ErrorKind::InvalidData`] where they are no array, [`io::ErrorKind::UnexpectedEof`]
/// where they end before the array does. What was given before that counts.
pub fn scan(
    bytes: &mut dyn BufRead,
    from: u64,
    longest: usize,
    out: &mut dyn FnMut(Element) -> ControlFlow<()>,
) -> io::Result<u64> {
    let state = if from == 0 { State::Before } else { State::Between };
    Walk { state, at: from, end: from, longest, ..Walk::default() }.run(bytes, &mut |_, element| out(element))
}

/// As [`scan`], from the beginning on, also of an object: then the elements of each array that is a member of it, and each
/// object that is one, with the member's name. Other members are passed over. Of an array, the name is empty.
///
/// # Errors
/// As [`scan`].
pub fn scan_members(
    bytes: &mut dyn BufRead,
    longest: usize,
    out: &mut dyn FnMut(&str, Element) -> ControlFlow<()>,
) -> io::Result<u64> {
    Walk { longest, outermost: Outermost::Either, ..Walk::default() }.run(bytes, out)
}

/// How much of a member's name is kept, in bytes.
const LONGEST_NAME: usize = 256;

/// What stands around all else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outermost {
    /// An array, and nothing else will do.
    Array,
    /// An array or an object; it has not begun, or is an array.
    Either,
    /// An object.
    Object,
}

struct Walk {
    state: State,
    /// Where the chunk begins, and where the last element ended.
    at: u64,
    end: u64,
    longest: usize,
    outermost: Outermost,
    /// Within an object: whether an array is open, and whether its elements or the value are given.
    in_array: bool,
    is_given: bool,
    name: Vec<u8>,
    kept: Vec<u8>,
}

impl Default for Walk {
    fn default() -> Self {
        Self {
            state: State::Before,
            at: 0,
            end: 0,
            longest: LONGEST,
            outermost: Outermost::Array,
            in_array: true,
            is_given: true,
            name: Vec::new(),
            kept: Vec::new(),
        }
    }
}

/// What a byte outside of an element does.
enum Turn {
    /// It is passed.
    Next,
    /// An element begins with it.
    Begins,
    /// All was read.
    Ends,
    /// It cannot be there.
    Wrong,
}

impl Walk {
    fn run(
        mut self,
        bytes: &mut dyn BufRead,
        out: &mut dyn FnMut(&str, Element) -> ControlFlow<()>,
    ) -> io::Result<u64> {
        loop {
            let chunk = bytes.fill_buf()?;
            if chunk.is_empty() {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, self.unended()));
            }
            let mut index = 0;
            // Where those bytes of the chunk begin that belong to the element.
            let mut start = 0;
            while let Some(byte) = chunk.get(index) {
                let State::Within(_, nesting) = &mut self.state else {
                    match self.turn(*byte) {
                        Turn::Next => index += 1,
                        Turn::Ends => return Ok(self.end),
                        Turn::Begins => {
                            self.state = State::Within(self.at + index as u64, Nesting::default());
                            start = index;
                            self.kept = Vec::new();
                        }
                        Turn::Wrong => {
                            return Err(io::Error::new(io::ErrorKind::InvalidData, self.wrong()));
                        }
                    }
                    continue;
                };
                let step = nesting.step(*byte);
                if step != Step::Behind {
                    index += 1;
                }
                if step == Step::Within {
                    continue;
                }
                self.end = self.at + index as u64;
                let next = if self.in_array { State::Between } else { State::Member };
                let State::Within(offset, _) = std::mem::replace(&mut self.state, next) else { continue };
                if self.is_given {
                    keep(&mut self.kept, &chunk[start..index], self.longest);
                    let bytes = (self.kept.len() <= self.longest).then(|| std::mem::take(&mut self.kept));
                    let name = String::from_utf8_lossy(&self.name);
                    if out(&name, Element { offset, next: self.end, bytes }).is_break() {
                        return Ok(self.end);
                    }
                }
            }
            if matches!(self.state, State::Within(..)) && self.is_given {
                keep(&mut self.kept, &chunk[start..], self.longest);
            }
            let read = chunk.len();
            self.at += read as u64;
            bytes.consume(read);
        }
    }

    fn turn(&mut self, byte: u8) -> Turn {
        let is_blank = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        match (&mut self.state, byte) {
            (State::Name(is_escaped @ true), _) => *is_escaped = false,
            (State::Name(is_escaped), b'\\') => *is_escaped = true,
            (State::Name(_), b'"') => self.state = State::Named,
            (State::Name(_), _) => {
                if self.name.len() < LONGEST_NAME {
                    self.name.push(byte);
                }
            }
            (State::Before, 0xef | 0xbb | 0xbf) | (State::Between | State::Member, b',') => {}
            (_, _) if is_blank => {}
            (State::Before, b'[') => self.state = State::Between,
            (State::Before, b'{') if self.outermost == Outermost::Either => {
                self.outermost = Outermost::Object;
                self.state = State::Member;
            }
            (State::Between, b']') if self.outermost == Outermost::Object => {
                self.in_array = false;
                self.state = State::Member;
            }
            (State::Between, b']') | (State::Member, b'}') => return Turn::Ends,
            (State::Member, b'"') => {
                self.name.clear();
                self.state = State::Name(false);
            }
            (State::Named, b':') => self.state = State::Value,
            (State::Value, b'[') => {
                (self.in_array, self.is_given) = (true, true);
                self.state = State::Between;
            }
            (State::Before | State::Member | State::Named, _)
            | (_, b'}' | b':')
            | (State::Value, b']' | b',') => return Turn::Wrong,
            (State::Value, _) => {
                (self.in_array, self.is_given) = (false, byte == b'{');
                return Turn::Begins;
            }
            (State::Between | State::Within(..), _) => return Turn::Begins,
        }
        Turn::Next
    }

    const fn unended(&self) -> &'static str {
        match self.outermost {
            Outermost::Object => "the file ends before its JSON object does",
            Outermost::Array | Outermost::Either => "the file ends before its JSON array does",
        }
    }

    const fn wrong(&self) -> &'static str {
        match self.outermost {
            Outermost::Array => "the file is not a JSON array",
            Outermost::Either | Outermost::Object => "the file is not JSON",
        }
    }
}

/// A value of the object that a file is, or an element of one of its lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The key of the value or of the list; empty where the file is a list itself.
    pub key: String,
    /// Whether it is an element of a list.
    pub is_element: bool,
    /// Where it stands, and its bytes.
    pub element: Element,
}

/// What [`parts`] reads next.
enum Place {
    Before,
    /// A key of the object, or its end.
    Key,
    /// Within a key; whether the next byte is escaped.
    InKey(Vec<u8>, bool),
    /// The colon behind a key.
    Colon(String),
    /// The value of a key.
    Value(String),
    /// An element of a list, or its end.
    List(String),
    /// A value or element that began at this offset.
    Within(String, bool, u64, Nesting),
}

/// A key is at most this long, in bytes: what is behind that is not kept of it.
const LONGEST_KEY: usize = 256;

/// Gives the values of the object that `bytes` are, one after the other, to `out`, until it breaks; of those that `is_list` says are
/// lists, the elements. A file that is an array is a list without a key. What has more than `longest` bytes comes without them. Returns
/// where the file's value ended.
///
/// # Errors
/// As [`scan`].
pub fn parts(
    bytes: &mut dyn BufRead,
    longest: usize,
    is_list: &dyn Fn(&str) -> bool,
    out: &mut dyn FnMut(Part) -> ControlFlow<()>,
) -> io::Result<u64> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "the file is not a JSON object or array");
    let mut place = Place::Before;
    let mut is_array = false;
    let mut kept = Vec::new();
    let mut at = 0;
    loop {
        let chunk = bytes.fill_buf()?;
        if chunk.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends before its JSON does"));
        }
        let (mut index, mut start) = (0, 0);
        while let Some(byte) = chunk.get(index) {
            let is_space = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
            let next = match &mut place {
                Place::Within(key, is_element, offset, nesting) => {
                    let step = nesting.step(*byte);
                    if step != Step::Behind {
                        index += 1;
                    }
                    if step == Step::Within {
                        continue;
                    }
                    keep(&mut kept, &chunk[start..index], longest);
                    let next = at + index as u64;
                    let element = Element {
                        offset: *offset,
                        next,
                        bytes: (kept.len() <= longest).then(|| std::mem::take(&mut kept)),
                    };
                    let part = Part { key: key.clone(), is_element: *is_element, element };
                    let after = if *is_element { Place::List(std::mem::take(key)) } else { Place::Key };
                    if out(part).is_break() {
                        return Ok(next);
                    }
                    place = after;
                    continue;
                }
                Place::InKey(key, is_escaped) => {
                    match byte {
                        _ if *is_escaped => *is_escaped = false,
                        b'\\' => *is_escaped = true,
                        b'"' => {
                            place = Place::Colon(String::from_utf8_lossy(key).into_owned());
                            index += 1;
                            continue;
                        }
                        _ => {}
                    }
                    if key.len() < LONGEST_KEY {
                        key.push(*byte);
                    }
                    index += 1;
                    continue;
                }
                // The byte order mark, if there is one.
                Place::Before if matches!(byte, 0xef | 0xbb | 0xbf) => None,
                _ if is_space => None,
                Place::Before if *byte == b'[' => {
                    is_array = true;
                    Some(Place::List(String::new()))
                }
                Place::Key | Place::List(_) if *byte == b',' => None,
                Place::Key if *byte == b'"' => Some(Place::InKey(Vec::new(), false)),
                Place::Key if *byte == b'}' => return Ok(at + index as u64 + 1),
                Place::Colon(key) if *byte == b':' => Some(Place::Value(std::mem::take(key))),
                Place::Value(key) if *byte == b'[' && is_list(key) => Some(Place::List(std::mem::take(key))),
                Place::List(_) if *byte == b']' && is_array => return Ok(at + index as u64 + 1),
                Place::Before if *byte == b'{' => Some(Place::Key),
                Place::List(_) if *byte == b']' => Some(Place::Key),
                Place::Value(key) | Place::List(key) if !matches!(byte, b'}' | b']' | b':' | b',') => {
                    let key = std::mem::take(key);
                    let is_element = matches!(place, Place::List(_));
                    place = Place::Within(key, is_element, at + index as u64, Nesting::default());
                    start = index;
                    kept = Vec::new();
                    continue;
                }
                _ => return Err(invalid()),
            };
            if let Some(next) = next {
                place = next;
            }
            index += 1;
        }
        if matches!(place, Place::Within(..)) {
            keep(&mut kept, &chunk[start..], longest);
        }
        let read = chunk.len();
        at += read as u64;
        bytes.consume(read);
    }
}

/// One byte more than `longest` tells that there were too many.
fn keep(kept: &mut Vec<u8>, more: &[u8], longest: usize) {
    let room = (longest + 1).saturating_sub(kept.len());
    kept.extend_from_slice(&more[..more.len().min(room)]);
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// Reads in chunks of `chunk` bytes, as a disk or an archive might.
    fn elements(text: &[u8], from: u64, chunk: usize, longest: usize) -> (Vec<Element>, io::Result<u64>) {
        let mut found = Vec::new();
        let mut bytes = BufReader::with_capacity(chunk, Cursor::new(&text[usize::try_from(from).unwrap()..]));
        let end = scan(&mut bytes, from, longest, &mut |element| {
            found.push(element);
            ControlFlow::Continue(())
        });
        (found, end)
    }

    fn texts(text: &str) -> Vec<String> {
        let (found, end) = elements(text.as_bytes(), 0, 3, LONGEST);
        end.unwrap();
        found.into_iter().map(|element| String::from_utf8(element.bytes.unwrap()).unwrap()).collect()
    }

    #[test]
    fn elements_end_where_their_brackets_do() {
        assert_eq!(texts("[]"), [""; 0]);
        assert_eq!(
            texts("\u{feff} [ 1 ,\"a,]\\\"b\"\n,{\"k\":[1,{\"x\":\"]}\"}]}, null]"),
            ["1", "\"a,]\\\"b\"", "{\"k\":[1,{\"x\":\"]}\"}]}", "null"]
        );
        assert_eq!(texts("[\"\\\\\",\"\\\\\\\"\"]"), ["\"\\\\\"", "\"\\\\\\\"\""]);
    }

    /// Names and texts of what an object's members hold.
    fn members(text: &str, chunk: usize, longest: usize) -> (Vec<(String, Option<String>)>, io::Result<u64>) {
        let mut found = Vec::new();
        let mut bytes = BufReader::with_capacity(chunk, Cursor::new(text.as_bytes()));
        let end = scan_members(&mut bytes, longest, &mut |name, element| {
            let stands =
                &text[usize::try_from(element.offset).unwrap()..usize::try_from(element.next).unwrap()];
            if let Some(bytes) = &element.bytes {
                assert_eq!(stands.as_bytes(), bytes);
            }
            found.push((name.to_owned(), element.bytes.map(|bytes| String::from_utf8(bytes).unwrap())));
            ControlFlow::Continue(())
        });
        (found, end)
    }

    #[test]
    fn the_arrays_of_an_object_are_walked_and_the_rest_is_passed() {
        let text = "\u{feff}{ \"a\\\"]\" : 12, \"s\":\"x}\\\"],{\", \"list\": [ {\"k\":[1]}, 2 ,\"]\"], \"none\":[],\"o\":{\"p\":[1,2]},\"n\":null}";
        let wanted = [("list", "{\"k\":[1]}"), ("list", "2"), ("list", "\"]\""), ("o", "{\"p\":[1,2]}")];
        for chunk in 1..40 {
            let (found, end) = members(text, chunk, LONGEST);
            end.unwrap();
            let found: Vec<_> =
                found.iter().map(|(name, text)| (name.as_str(), text.as_deref().unwrap())).collect();
            assert_eq!(found, wanted);
        }
        assert_eq!(members("[1,{}]", 3, 9).0.len(), 2);
        assert_eq!(
            members("{\"a\":[\"123456\",7]}", 3, 4).0,
            [("a".to_owned(), None), ("a".to_owned(), Some("7".to_owned()))]
        );
        let kind = |text: &str| members(text, 7, LONGEST).1.unwrap_err().kind();
        for text in ["x", "{1}", "{\"a\" 1}", "{\"a\":]}", "{\"a\":,}", "{\"a\":[1}", "{\"a\":[:]}"] {
            assert_eq!(kind(text), io::ErrorKind::InvalidData, "{text}");
        }
        for text in ["{", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":[1,", "{\"a\":[1]", "{\"a\":{"] {
            assert_eq!(kind(text), io::ErrorKind::UnexpectedEof, "{text}");
        }
    }

    #[test]
    fn what_is_no_array_or_has_no_end_is_an_error() {
        let kind = |text: &str| elements(text.as_bytes(), 0, 7, LONGEST).1.unwrap_err().kind();
        for text in ["{\"a\":1}", "x", "[1}", "[:2]"] {
            assert_eq!(kind(text), io::ErrorKind::InvalidData, "{text}");
        }
        for text in ["", " ", "[", "[1", "[1,", "[{\"a\":\"]", "[\"\\"] {
            assert_eq!(kind(text), io::ErrorKind::UnexpectedEof, "{text}");
        }
    }

    #[test]
    fn o4_14_an_element_that_is_too_long_is_told_and_the_next_one_is_read() {
        let text = b"[\"aaaaaaaaaa\", 22, \"aaaa\"]";
        for chunk in 1..30 {
            let (found, end) = elements(text, 0, chunk, 6);
            assert_eq!(end.unwrap(), 25);
            let bytes: Vec<_> = found.iter().map(|element| element.bytes.as_deref()).collect();
            assert_eq!(bytes, [None, Some(&b"22"[..]), Some(&b"\"aaaa\""[..])]);
            assert_eq!(found[1], Element { offset: 15, next: 17, bytes: Some(b"22".to_vec()) });
        }
    }

    #[test]
    fn o4_14_deep_nesting_takes_no_stack() {
        let text = ["[", &"[".repeat(1_000_000), &"]".repeat(1_000_000), "]"].concat();
        assert_eq!(elements(text.as_bytes(), 0, 8192, LONGEST).0.len(), 1);
    }

    fn found_parts(text: &[u8], chunk: usize) -> (Vec<(String, bool, String)>, io::Result<u64>) {
        let mut found = Vec::new();
        let mut bytes = BufReader::with_capacity(chunk, Cursor::new(text));
        let end = parts(&mut bytes, 20, &|key| key == "list", &mut |part| {
            let (from, next) =
                (usize::try_from(part.element.offset).unwrap(), usize::try_from(part.element.next).unwrap());
            assert!(part.element.bytes.as_ref().is_none_or(|bytes| *bytes == text[from..next]));
            let bytes = part.element.bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            found.push((part.key, part.is_element, bytes.unwrap_or_else(|| "too long".to_owned())));
            ControlFlow::Continue(())
        });
        (found, end)
    }

    #[test]
    fn lists_of_an_object_are_given_by_element_and_its_other_values_whole() {
        let text = br#" {"a\"b": 1, "list" :[ {"x":[1,2]}, "],", 3 ] ,"c":[1,{"list":[]}],"list":[],"d":"}","e":"aaaaaaaaaaaaaaaaaaaaaaaaa"} x"#;
        let part = |key: &str, is_element, bytes: &str| (key.to_owned(), is_element, bytes.to_owned());
        for chunk in 1..40 {
            let (found, end) = found_parts(text, chunk);
            assert_eq!(end.unwrap(), text.len() as u64 - 2);
            assert_eq!(
                found,
                [
                    part("a\\\"b", false, "1"),
                    part("list", true, r#"{"x":[1,2]}"#),
                    part("list", true, r#""],""#),
                    part("list", true, "3"),
                    part("c", false, r#"[1,{"list":[]}]"#),
                    part("d", false, r#""}""#),
                    part("e", false, "too long"),
                ]
            );
            assert_eq!(
                found_parts(b"\xef\xbb\xbf[1, [2]]", chunk).0,
                [part("", true, "1"), part("", true, "[2]")]
            );
        }
        for (text, kind) in [
            ("", io::ErrorKind::UnexpectedEof),
            ("{\"a\":[1", io::ErrorKind::UnexpectedEof),
            ("{\"list\":[1,", io::ErrorKind::UnexpectedEof),
            ("{\"a", io::ErrorKind::UnexpectedEof),
            ("x", io::ErrorKind::InvalidData),
            ("{1:2}", io::ErrorKind::InvalidData),
            ("{\"a\" 1}", io::ErrorKind::InvalidData),
            ("{\"a\":}", io::ErrorKind::InvalidData),
        ] {
            assert_eq!(found_parts(text.as_bytes(), 3).1.unwrap_err().kind(), kind, "{text}");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[\\[\\]{},:\"\\\\ a\u{e9}]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[\\]}\"a]{0,3}", inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_element_is_found_whatever_the_chunks(
            values in proptest::collection::vec(value(), 0..6),
            is_pretty in any::<bool>(),
            chunk in 1_usize..40,
        ) {
            let all = Value::from(values.clone());
            let text = if is_pretty { format!("{all:#}") } else { all.to_string() };
            let (found, end) = elements(text.as_bytes(), 0, chunk, LONGEST);
            prop_assert!(end.is_ok());
            let read: Vec<Value> = found.iter().map(|element| serde_json::from_slice(element.bytes.as_ref().unwrap()).unwrap()).collect();
            prop_assert_eq!(read, values);
            for (index, element) in found.iter().enumerate() {
                let stands = &text.as_bytes()[usize::try_from(element.offset).unwrap()..usize::try_from(element.next).unwrap()];
                prop_assert_eq!(Some(stands), element.bytes.as_deref());
                let (rest, end) = elements(text.as_bytes(), element.next, chunk, LONGEST);
                prop_assert!(end.is_ok());
                prop_assert_eq!(&rest[..], &found[index + 1..]);
            }
        }

        #[test]
        fn a_file_that_is_cut_gives_what_was_whole(values in proptest::collection::vec(value(), 0..5), cut in 0.0_f64..1.0) {
            let text = Value::from(values).to_string();
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let cut = ((text.len() - 1) as f64 * cut) as usize;
            let (all, _) = elements(text.as_bytes(), 0, 9, LONGEST);
            let (found, end) = elements(&text.as_bytes()[..cut], 0, 9, LONGEST);
            prop_assert_eq!(end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
            prop_assert_eq!(&found[..], &all[..found.len()]);
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), chunk in 1_usize..40) {
            let text = [b"[", &bytes[..]].concat();
            let (found, _) = elements(&text, 0, chunk, 50);
            prop_assert!(found.windows(2).all(|pair| pair[0].next <= pair[1].offset));
            prop_assert!(found.iter().all(|element| element.offset < element.next));
            let text = [b"{\"list\":", &bytes[..]].concat();
            let (found, end) = found_parts(&text, chunk);
            prop_assert!(end.is_err() || found.len() <= text.len());
        }

        #[test]
        fn random_members_never_panic(text in "[{}\\[\\]\",:\\\\ a1]{0,60}", chunk in 1_usize..9) {
            let (found, _) = members(&text, chunk, 20);
            prop_assert!(found.len() <= text.len());
        }
    }
}
