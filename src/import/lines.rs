//! The lines of a file that another program may still be writing.

use std::io::{self, BufRead};
use std::ops::ControlFlow;

/// The longest line that is kept, in bytes (O4.14).
pub const LONGEST: usize = 64 * 1024 * 1024;

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Where the next one begins.
    pub next: u64,
    /// Which one it is, from 1.
    pub number: u64,
    /// Its bytes without its end, or `None` where they are too many.
    pub bytes: Option<&'a [u8]>,
    /// Whether its end was read: the last line may still be written.
    pub has_end: bool,
}

/// Gives the lines of `bytes` to `out`, from the first one on, until it breaks.
///
/// # Errors
/// Where the bytes cannot be read.
pub fn scan(
    bytes: &mut dyn BufRead,
    longest: usize,
    out: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut kept = Vec::new();
    let (mut offset, mut at, mut number) = (0, 0, 1);
    loop {
        let chunk = bytes.fill_buf()?;
        let found = chunk.iter().position(|byte| *byte == b'\n');
        let is_end = chunk.is_empty();
        let room = (longest + 2).saturating_sub(kept.len());
        let part = &chunk[..found.unwrap_or(chunk.len())];
        kept.extend_from_slice(&part[..part.len().min(room)]);
        let read = found.map_or(chunk.len(), |index| index + 1);
        bytes.consume(read);
        at += read as u64;
        if found.is_none() && !(is_end && at > offset) {
            if is_end {
                return Ok(());
            }
            continue;
        }
        let text = kept.strip_suffix(b"\r").unwrap_or(&kept);
        let bytes = (text.len() <= longest).then_some(text);
        if out(Line { offset, next: at, number, bytes, has_end: found.is_some() }).is_break() {
            return Ok(());
        }
        kept.clear();
        // What one long line took is not held for all that follow.
        kept.shrink_to(1024 * 1024);
        (offset, number) = (at, number + 1);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use proptest::prelude::*;

    use super::*;

    fn lines(text: &[u8], chunk: usize, longest: usize) -> Vec<(u64, u64, u64, Option<String>, bool)> {
        let mut found = Vec::new();
        scan(&mut BufReader::with_capacity(chunk, Cursor::new(text)), longest, &mut |line| {
            let bytes = line.bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            found.push((line.offset, line.next, line.number, bytes, line.has_end));
            ControlFlow::Continue(())
        })
        .unwrap();
        found
    }

    #[test]
    fn the_last_line_may_have_no_end() {
        for chunk in 1..9 {
            assert_eq!(
                lines(b"a\r\n\nbc", chunk, 9),
                [
                    (0, 3, 1, Some("a".to_owned()), true),
                    (3, 4, 2, Some(String::new()), true),
                    (4, 6, 3, Some("bc".to_owned()), false),
                ]
            );
            assert_eq!(lines(b"", chunk, 9), []);
            let long: Vec<_> = lines(b"abcd\nef\nabc\r\n", chunk, 3).into_iter().map(|line| line.3).collect();
            assert_eq!(long, [None, Some("ef".to_owned()), Some("abc".to_owned())]);
        }
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_text(text in "([ab]{0,3}\r?\n){0,9}[ab]{0,3}", chunk in 1_usize..9) {
            let found: Vec<_> = lines(text.as_bytes(), chunk, 99).into_iter().map(|line| line.3.unwrap()).collect();
            prop_assert_eq!(found, text.lines().collect::<Vec<_>>());
        }
    }
}
