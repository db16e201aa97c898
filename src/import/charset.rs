//! The charset of a file's bytes (O4.11).

use std::borrow::Cow;
use std::io::{self, BufRead};

use encoding_rs::{UTF_16BE, UTF_16LE, WINDOWS_1252};

/// The encoding of a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Charset {
    /// UTF-8.
    Utf8,
    /// UTF-16, the low byte first.
    Utf16Le,
    /// UTF-16, the high byte first.
    Utf16Be,
    /// The charset of Windows in western Europe.
    Windows1252,
}

impl Charset {
    /// What the beginning of a file proves, and how long its byte order mark is; `None` if the rest must
    /// be read.
    pub fn of_head(head: &[u8]) -> Option<(Self, usize)> {
        match head {
            [0xef, 0xbb, 0xbf, ..] => Some((Self::Utf8, 3)),
            [0xff, 0xfe, ..] => Some((Self::Utf16Le, 2)),
            [0xfe, 0xff, ..] => Some((Self::Utf16Be, 2)),
            _ => {
                // Text contains no NUL, except in UTF-16, where every second byte of ASCII text is one.
                let sample = &head[..head.len().min(4096) & !1];
                let nuls =
                    |from: usize| sample.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
                let (even, odd, all) = (nuls(0), nuls(1), sample.len() / 2);
                match () {
                    () if all > 1 && odd * 2 > all && even == 0 => Some((Self::Utf16Le, 0)),
                    () if all > 1 && even * 2 > all && odd == 0 => Some((Self::Utf16Be, 0)),
                    () => None,
                }
            }
        }
    }

    /// The charset of the bytes of `reader`, and the length of the byte order mark; all of them are read
    /// if the beginning does not decide.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn of(mut reader: impl BufRead) -> io::Result<(Self, usize)> {
        if let Some(known) = Self::of_head(reader.fill_buf()?) {
            return Ok(known);
        }
        // One stray byte does not make a file another charset: the majority decides.
        let (mut right, mut wrong) = (0_u64, 0_u64);
        let mut rest = Vec::new();
        loop {
            let chunk = reader.fill_buf()?;
            let (length, is_end) = (chunk.len(), chunk.is_empty());
            let joined =
                if rest.is_empty() { Cow::Borrowed(chunk) } else { Cow::Owned([&rest, chunk].concat()) };
            let mut left = Vec::new();
            let mut chunks = joined.utf8_chunks().peekable();
            while let Some(chunk) = chunks.next() {
                if !chunk.valid().is_ascii() {
                    right += chunk.valid().chars().filter(|c| !c.is_ascii()).count() as u64;
                }
                if chunk.invalid().is_empty() {
                    continue;
                }
                if chunks.peek().is_none() && !is_end && chunk.invalid().len() < 4 && is_cut(chunk.invalid())
                {
                    left = chunk.invalid().to_vec();
                } else {
                    wrong += 1;
                }
            }
            drop(joined);
            rest = left;
            if is_end {
                return Ok((if wrong > right { Self::Windows1252 } else { Self::Utf8 }, 0));
            }
            reader.consume(length);
        }
    }

    /// The text of `bytes`; bytes without a meaning become U+FFFD.
    pub fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Utf8 => String::from_utf8_lossy(bytes),
            Self::Utf16Le => UTF_16LE.decode_without_bom_handling(bytes).0,
            Self::Utf16Be => UTF_16BE.decode_without_bom_handling(bytes).0,
            Self::Windows1252 => WINDOWS_1252.decode_without_bom_handling(bytes).0,
        }
    }

    /// The bytes of a code unit.
    pub const fn width(self) -> usize {
        match self {
            Self::Utf16Le | Self::Utf16Be => 2,
            Self::Utf8 | Self::Windows1252 => 1,
        }
    }
}

/// Whether the bytes may be the beginning of a character.
fn is_cut(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Charset {
        // A buffer this small splits most characters.
        Charset::of(io::BufReader::with_capacity(5, bytes)).unwrap().0
    }

    #[test]
    fn o4_11_charsets_are_told_apart() {
        assert_eq!(of(b"plain"), Charset::Utf8);
        assert_eq!(of("größe, größer, 東京".as_bytes()), Charset::Utf8);
        assert_eq!(of(b"gr\xf6\xdfe"), Charset::Windows1252);
        assert_eq!(of("größe und größer und \u{1f600}".as_bytes()), Charset::Utf8);
        assert_eq!(of(&[&b"a\xff,"[..], "größe".as_bytes()].concat()), Charset::Utf8, "one stray byte");
        assert_eq!(of(b"\xef\xbb\xbfa"), Charset::Utf8);
        assert_eq!(of(b"\xff\xfea\0"), Charset::Utf16Le);
        assert_eq!(of(b"a\0b\0"), Charset::Utf16Le);
        assert_eq!(of(b"\0a\0b"), Charset::Utf16Be);
        assert_eq!(of(b""), Charset::Utf8);
        assert_eq!(Charset::Windows1252.decode(b"5 \x80 gr\xf6\xdfe"), "5 € größe");
        assert_eq!(Charset::Utf16Le.decode(b"a\0\x00\xd8b\0"), "a\u{fffd}b");
    }
}
