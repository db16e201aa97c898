//! Walks through a JSON file to its items; the file may be larger than memory. Everything else is
//! skipped, and only one item at a time is in memory.
//!
//! As in [`super::json_elements`], only brackets and strings are examined. A parser reads the rest.

use std::io::{self, BufRead};
use std::ops::ControlFlow;

use super::json_elements::Element;

/// The longest name of an object's member that is examined, in bytes.
const LONGEST_NAME: usize = 1024;

/// A walk through a file.
pub struct Walk<'a> {
    bytes: &'a mut dyn BufRead,
    at: u64,
}

/// Whether a walk continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Go {
    /// Continue with the next value.
    On,
    /// Stop: the caller has enough.
    Home,
}

/// Visits a member of an object, given its name. It must read or skip the member's value.
pub type Member<'v, 'a> = dyn FnMut(&mut Walk<'a>, &str) -> io::Result<Go> + 'v;
/// Visits an element of an array, like a [`Member`].
pub type Entry<'v, 'a> = dyn FnMut(&mut Walk<'a>) -> io::Result<Go> + 'v;

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the file is not JSON")
}

fn cut_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends before its JSON does")
}

impl<'a> Walk<'a> {
    /// Begins a walk at the beginning of a file.
    pub fn new(bytes: &'a mut dyn BufRead) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes have been read.
    pub const fn at(&self) -> u64 {
        self.at
    }

    fn step(&mut self, count: usize) {
        self.bytes.consume(count);
        self.at += count as u64;
    }

    /// The next byte that is not a space, which is not consumed; `None` at the end.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            let chunk = self.bytes.fill_buf()?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let is_space = |byte: &u8| {
                // A byte order mark can only be at the beginning.
                matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf)
            };
            let spaces = chunk.iter().take_while(|byte| is_space(byte)).count();
            let found = chunk.get(spaces).copied();
            self.step(spaces);
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    fn expect(&mut self, wanted: u8) -> io::Result<()> {
        match self.peek()? {
            Some(found) if found == wanted => {
                self.step(1);
                Ok(())
            }
            Some(_) => Err(broken()),
            None => Err(cut_off()),
        }
    }

    /// Visits the members of the object at the current position.
    ///
    /// # Errors
    /// If it is not an object, or the file cannot be read or ends before the object does.
    pub fn object(&mut self, visit: &mut Member<'_, 'a>) -> io::Result<Go> {
        self.members(&mut |walk, name| {
            let name: String = serde_json::from_slice(name).unwrap_or_default();
            visit(walk, &name)
        })
    }

    /// Like [`Walk::object`], with the names in quotes and escaped; of a very long name, only its
    /// beginning.
    fn members(&mut self, visit: &mut dyn FnMut(&mut Self, &[u8]) -> io::Result<Go>) -> io::Result<Go> {
        self.expect(b'{')?;
        loop {
            match self.peek()?.ok_or_else(cut_off)? {
                b'}' => {
                    self.step(1);
                    return Ok(Go::On);
                }
                b',' => self.step(1),
                b'"' => {
                    let mut name = Vec::new();
                    self.pass(&mut |bytes| {
                        let room = LONGEST_NAME.saturating_sub(name.len());
                        name.extend_from_slice(&bytes[..bytes.len().min(room)]);
                    })?;
                    self.expect(b':')?;
                    if visit(self, &name)? == Go::Home {
                        return Ok(Go::Home);
                    }
                }
                _ => return Err(broken()),
            }
        }
    }

    /// Visits the elements of the array at the current position.
    ///
    /// # Errors
    /// The errors of [`Walk::object`].
    pub fn array(&mut self, visit: &mut Entry<'_, 'a>) -> io::Result<Go> {
        self.expect(b'[')?;
        loop {
            match self.peek()?.ok_or_else(cut_off)? {
                b']' => {
                    self.step(1);
                    return Ok(Go::On);
                }
                b',' => self.step(1),
                b'}' | b':' => return Err(broken()),
                _ => {
                    if visit(self)? == Go::Home {
                        return Ok(Go::Home);
                    }
                }
            }
        }
    }

    /// Reads the value at the current position; without its bytes if there are more than `longest`.
    ///
    /// # Errors
    /// If the file cannot be read, or ends before the value does.
    pub fn take(&mut self, longest: usize) -> io::Result<Element> {
        let mut kept = Vec::new();
        let (offset, next) = self.pass(&mut |bytes| {
            // One byte more shows that there were too many.
            let room = (longest + 1).saturating_sub(kept.len());
            kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        })?;
        Ok(Element { offset, next, bytes: (kept.len() <= longest).then_some(kept) })
    }

    /// Skips the value at the current position.
    ///
    /// # Errors
    /// The errors of [`Walk::take`].
    pub fn skip(&mut self) -> io::Result<Go> {
        self.pass(&mut |_| {}).map(|_| Go::On)
    }

    /// Passes the bytes of the value at the current position to `keep`, and returns where it begins and
    /// ends.
    fn pass(&mut self, keep: &mut dyn FnMut(&[u8])) -> io::Result<(u64, u64)> {
        let first = self.peek()?.ok_or_else(cut_off)?;
        if matches!(first, b'}' | b']' | b',' | b':') {
            return Err(broken());
        }
        let offset = self.at;
        let (mut open, mut in_string, mut is_escaped) = (0_u64, false, false);
        loop {
            let chunk = self.bytes.fill_buf()?;
            if chunk.is_empty() {
                // A number at the end of the file is complete.
                let is_bare = open == 0 && !in_string && self.at > offset;
                return if is_bare { Ok((offset, self.at)) } else { Err(cut_off()) };
            }
            let (mut index, mut is_end) = (0, false);
            while let Some(byte) = chunk.get(index) {
                if in_string {
                    if is_escaped {
                        is_escaped = false;
                        index += 1;
                    } else if let Some(found) = memchr::memchr2(b'"', b'\\', &chunk[index..]) {
                        index += found + 1;
                        is_escaped = chunk[index - 1] == b'\\';
                        in_string = is_escaped;
                        is_end = !in_string && open == 0;
                    } else {
                        index = chunk.len();
                    }
                } else {
                    match byte {
                        b'"' => in_string = true,
                        b'{' | b'[' => open += 1,
                        b'}' | b']' if open > 0 => {
                            open -= 1;
                            is_end = open == 0;
                        }
                        b'}' | b']' | b',' | b' ' | b'\t' | b'\r' | b'\n' if open == 0 => {
                            is_end = true;
                            break;
                        }
                        _ => {}
                    }
                    index += 1;
                }
                if is_end {
                    break;
                }
            }
            keep(&chunk[..index]);
            self.step(index);
            if is_end {
                return Ok((offset, self.at));
            }
        }
    }
}

/// Passes the elements of the array in `bytes` to `out`, until it breaks; those of more than `longest`
/// bytes come without their bytes. For an object, these are the elements of each member that is an array,
/// and each member that is an object, with the member's name; other members are skipped. For an array,
/// the name is empty. Returns where the last one ended.
///
/// # Errors
/// If the bytes cannot be read; [`io::ErrorKind::InvalidData`] if they are neither,
/// [`io::ErrorKind::UnexpectedEof`] if they end before it does. What was passed before that counts.
pub fn scan_members(
    bytes: &mut dyn BufRead,
    longest: usize,
    out: &mut dyn FnMut(&str, Element) -> ControlFlow<()>,
) -> io::Result<u64> {
    let mut walk = Walk::new(bytes);
    let mut end = 0;
    let mut give = |walk: &mut Walk<'_>, name: &str| {
        let element = walk.take(longest)?;
        end = element.next;
        Ok(if out(name, element).is_break() { Go::Home } else { Go::On })
    };
    if walk.peek()? == Some(b'[') {
        walk.array(&mut |walk| give(walk, ""))?;
        return Ok(end);
    }
    walk.members(&mut |walk, name| {
        let name = key(name);
        match walk.peek()? {
            Some(b'[') => walk.array(&mut |walk| give(walk, &name)),
            Some(b'{') => give(walk, &name),
            _ => walk.skip(),
        }
    })?;
    Ok(end)
}

/// A value of the file's object, or an element of one of its lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The key of the value or of the list; empty if the file itself is a list.
    pub key: String,
    /// Whether it is an element of a list.
    pub is_element: bool,
    /// Its offsets, and its bytes.
    pub element: Element,
}

/// Passes the values of the object in `bytes` to `out`, one after the other, until it breaks; of those
/// that `is_list` calls lists, the elements. A file that is an array is a list without a key. A value of
/// more than `longest` bytes comes without its bytes. Returns where the file's value ended.
///
/// # Errors
/// The errors of [`scan_members`].
pub fn parts(
    bytes: &mut dyn BufRead,
    longest: usize,
    is_list: &dyn Fn(&str) -> bool,
    out: &mut dyn FnMut(Part) -> ControlFlow<()>,
) -> io::Result<u64> {
    let mut walk = Walk::new(bytes);
    let mut end = 0;
    let mut give = |walk: &mut Walk<'_>, key: &str, is_element| {
        let element = walk.take(longest)?;
        end = element.next;
        let part = Part { key: key.to_owned(), is_element, element };
        Ok(if out(part).is_break() { Go::Home } else { Go::On })
    };
    let went = if walk.peek()? == Some(b'[') {
        walk.array(&mut |walk| give(walk, "", true))?
    } else {
        walk.members(&mut |walk, name| {
            let key = key(name);
            if is_list(&key) && walk.peek()? == Some(b'[') {
                return walk.array(&mut |walk| give(walk, &key, true));
            }
            give(walk, &key, false)
        })?
    };
    Ok(if went == Go::Home { end } else { walk.at() })
}

/// The longest key, in bytes: the rest of a longer one is dropped.
const LONGEST_KEY: usize = 256;

/// A name in its escaped form, without its quotes.
fn key(name: &[u8]) -> String {
    let name = name.strip_prefix(b"\"").unwrap_or(name);
    // The beginning of a very long name has no closing quote.
    let name = name.strip_suffix(b"\"").unwrap_or(name);
    String::from_utf8_lossy(&name[..name.len().min(LONGEST_KEY)]).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::import::json_elements::LONGEST;

    /// The elements of `a.b`, unparsed, and the result of the walk.
    fn found(text: &[u8], chunk: usize, longest: usize) -> (Vec<Option<String>>, io::Result<Go>) {
        let mut found = Vec::new();
        let mut bytes = BufReader::with_capacity(chunk, text);
        let mut walk = Walk::new(&mut bytes);
        let end = walk.object(&mut |walk, name| {
            if name != "a" {
                return walk.skip();
            }
            walk.object(&mut |walk, name| {
                if name != "b" {
                    return walk.skip();
                }
                walk.array(&mut |walk| {
                    let element = walk.take(longest)?;
                    let place = [element.offset, element.next].map(|at| usize::try_from(at).unwrap());
                    let stands = &text[place[0]..place[1]];
                    if let Some(bytes) = &element.bytes {
                        assert_eq!(bytes, stands);
                    }
                    found.push(element.bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
                    Ok(Go::On)
                })
            })
        });
        (found, end)
    }

    #[test]
    fn a_way_leads_to_the_items_and_all_else_is_passed_over() {
        let text = "\u{feff} {\"x\": [1, {\"b\": [\"}\\\"\"]}], \"a\" : {\"c\": -1.5e3, \"b\": [ 1 ,\"a,]\\\\\", {\"k\":[1]},[] ] , \"d\":null}, \"y\":\"z\"}";
        for chunk in 1..12 {
            let (items, end) = found(text.as_bytes(), chunk, 100);
            assert_eq!(end.unwrap(), Go::On);
            let items: Vec<_> = items.into_iter().flatten().collect();
            assert_eq!(items, ["1", "\"a,]\\\\\"", "{\"k\":[1]}", "[]"]);
        }
        let (items, _) = found(text.as_bytes(), 7, 4);
        assert_eq!(items, [Some("1".to_owned()), None, None, Some("[]".to_owned())]);
        for wrong in ["[", "{\"a\" 1}", "{\"a\":{\"b\":{}}}", "{1:2}", "{\"a\":}"] {
            assert!(found(wrong.as_bytes(), 3, 9).1.is_err(), "{wrong}");
        }
    }

    /// Names and texts of the values in an object's members.
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

    proptest! {
        #[test]
        fn items_are_those_of_the_text(values in proptest::collection::vec("[a\\\\\"{}\\[\\], ]{0,6}", 0..5), chunk in 1_usize..20, cut in 0_usize..200) {
            let values: Vec<Value> = values.into_iter().map(|text| json!([text, {"k": text}])).collect();
            let text = json!({"0": values, "a": {"b": values, "c": values}, "z": 1}).to_string();
            let (items, end) = found(text.as_bytes(), chunk, 1000);
            prop_assert!(end.is_ok());
            let parsed: Vec<Value> = items.iter().flatten().map(|item| serde_json::from_str(item).unwrap()).collect();
            prop_assert_eq!(&parsed, &values);
            let (some, end) = found(&text.as_bytes()[..cut.min(text.len() - 1)], chunk, 1000);
            prop_assert!(end.is_err());
            prop_assert_eq!(&some[..], &items[..some.len()]);
        }

        #[test]
        fn random_members_never_panic(text in "[{}\\[\\]\",:\\\\ a1]{0,60}", chunk in 1_usize..9) {
            let (found, _) = members(&text, chunk, 20);
            prop_assert!(found.len() <= text.len());
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), chunk in 1_usize..40) {
            let _ = found(&[b"{\"a\":{\"b\":[", &bytes[..]].concat(), chunk, 50);
            let text = [b"{\"list\":", &bytes[..]].concat();
            let (found, end) = found_parts(&text, chunk);
            prop_assert!(end.is_err() || found.len() <= text.len());
        }
    }
}
