//! The lines of a file that another program may still be writing.

use std::io::{self, BufRead};

/// The longest line that is kept, in bytes (O4.14).
pub const LONGEST: usize = 64 * 1024 * 1024;

/// What is kept of a longer one: enough to distinguish it from the next.
const KEPT_OF_LONG: usize = 1024;

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Where the next one begins.
    pub next: u64,
    /// Its number, from 1.
    pub number: u64,
    /// Its bytes without its end; only their beginning if there are too many.
    pub bytes: &'a [u8],
    /// Whether there are too many.
    pub is_long: bool,
    /// Whether its end was read: a program may still be writing the last line.
    pub has_end: bool,
}

/// The lines of a file, from the first one on.
pub struct Lines<R> {
    reader: R,
    longest: usize,
    kept: Vec<u8>,
    at: u64,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Lines of up to [`LONGEST`] bytes.
    pub const fn new(reader: R) -> Self {
        Self::up_to(reader, LONGEST)
    }

    const fn up_to(reader: R, longest: usize) -> Self {
        Self { reader, longest, kept: Vec::new(), at: 0, number: 0 }
    }

    /// Reads the next line.
    ///
    /// # Errors
    /// If the bytes cannot be read.
    pub fn read(&mut self) -> io::Result<Option<Line<'_>>> {
        let offset = self.at;
        self.kept.clear();
        // The memory for one long line is not kept for all that follow.
        self.kept.shrink_to(1024 * 1024);
        let has_end = loop {
            let chunk = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if chunk.is_empty() {
                if self.at == offset {
                    return Ok(None);
                }
                break false;
            }
            let end = memchr::memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let room = (self.longest + 2).saturating_sub(self.kept.len());
            self.kept.extend_from_slice(&part[..part.len().min(room)]);
            let read = end.map_or(chunk.len(), |end| end + 1);
            self.reader.consume(read);
            self.at += read as u64;
            if end.is_some() {
                break true;
            }
        };
        self.number += 1;
        let text = self.kept.strip_suffix(b"\r").unwrap_or(&self.kept);
        let is_long = text.len() > self.longest;
        let bytes = if is_long { &text[..text.len().min(KEPT_OF_LONG)] } else { text };
        Ok(Some(Line { offset, next: self.at, number: self.number, bytes, is_long, has_end }))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use proptest::prelude::*;

    use super::*;

    fn lines(text: &[u8], chunk: usize, longest: usize) -> Vec<(u64, u64, u64, Option<String>, bool)> {
        let mut found = Vec::new();
        let mut lines = Lines::up_to(BufReader::with_capacity(chunk, Cursor::new(text)), longest);
        while let Some(line) = lines.read().unwrap() {
            let bytes = (!line.is_long).then(|| String::from_utf8_lossy(line.bytes).into_owned());
            found.push((line.offset, line.next, line.number, bytes, line.has_end));
        }
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
