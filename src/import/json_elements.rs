//! Finds the elements of a JSON array one after the other by their brackets; the array may be larger than
//! memory.
//!
//! Only the end of each element is looked for. A parser reads its content, one element at a time.

use std::io::{self, BufRead};
use std::ops::ControlFlow;

/// The longest element that is kept, in bytes (O4.14).
pub const LONGEST: usize = 64 * 1024 * 1024;

/// An element of the array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Where it ends; [`scan`] can continue there.
    pub next: u64,
    /// Its bytes; `None` if there are too many.
    pub bytes: Option<Vec<u8>>,
}

/// What surrounds the current byte.
enum State {
    /// The array has not begun.
    Before,
    /// An element begins, or the array ends.
    Between,
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

/// The effect of a byte on the current element.
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

/// Passes the elements of the array in `bytes` to `out`, until it breaks; those of more than `longest`
/// bytes come without their bytes. `bytes` begin at `from`: 0, or where an element ended
/// ([`Element::next`]). Returns where the last one ended.
///
/// # Errors
/// If the bytes cannot be read; [`io::ErrorKind::InvalidData`] if they are not an array,
/// [`io::ErrorKind::UnexpectedEof`] if they end before the array does. What was passed before that
/// counts.
pub fn scan(
    bytes: &mut dyn BufRead,
    from: u64,
    longest: usize,
    out: &mut dyn FnMut(Element) -> ControlFlow<()>,
) -> io::Result<u64> {
    let mut state = if from == 0 { State::Before } else { State::Between };
    // The offsets of the chunk, and of the end of the last element.
    let (mut at, mut end) = (from, from);
    let mut kept = Vec::new();
    loop {
        let chunk = bytes.fill_buf()?;
        if chunk.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file ends before its JSON array does",
            ));
        }
        let mut index = 0;
        // Where the element's bytes begin in the chunk.
        let mut start = 0;
        while let Some(byte) = chunk.get(index) {
            let step = match &mut state {
                State::Within(_, nesting) => nesting.step(*byte),
                outside => {
                    match (byte, &outside) {
                        (b' ' | b'\t' | b'\r' | b'\n', _)
                        | (0xef | 0xbb | 0xbf, State::Before)
                        | (b',', State::Between) => {}
                        (b'[', State::Before) => *outside = State::Between,
                        (b']', State::Between) => return Ok(end),
                        (b'}' | b':', _) | (_, State::Before) => {
                            return Err(io::Error::new(
                                io::ErrorKind::InvalidData,
                                "the file is not a JSON array",
                            ));
                        }
                        _ => {
                            *outside = State::Within(at + index as u64, Nesting::default());
                            start = index;
                            kept = Vec::new();
                            continue;
                        }
                    }
                    index += 1;
                    continue;
                }
            };
            if step != Step::Behind {
                index += 1;
            }
            if step == Step::Within {
                continue;
            }
            keep(&mut kept, &chunk[start..index], longest);
            end = at + index as u64;
            if let State::Within(offset, _) = std::mem::replace(&mut state, State::Between) {
                let bytes = (kept.len() <= longest).then(|| std::mem::take(&mut kept));
                if out(Element { offset, next: end, bytes }).is_break() {
                    return Ok(end);
                }
            }
        }
        if matches!(state, State::Within(..)) {
            keep(&mut kept, &chunk[start..], longest);
        }
        let read = chunk.len();
        at += read as u64;
        bytes.consume(read);
    }
}

/// Keeps at most `longest` bytes, and one more that shows that there were too many.
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
        }
    }
}
