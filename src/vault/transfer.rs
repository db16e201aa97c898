//! Decodes attachments from the form in which a file holds them to the bytes that were sent.
//!
//! An import uses this to hash an attachment, and the server uses it again to deliver the attachment, so the hash
//! matches.

use memchr::{memchr, memchr2, memmem};

/// How an item encodes an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Not encoded.
    Plain,
    /// Base64, RFC 2045.
    Base64,
    /// Quoted-printable, RFC 2045. Line ends become LF, so that a mail's attachment is the same in every kind of
    /// file.
    QuotedPrintable,
    /// Lines of text. Line ends become LF.
    Lines,
    /// [`Encoding::QuotedPrintable`] in an mbox file, where `>From ` stands for `From `.
    MboxQuotedPrintable,
    /// [`Encoding::Lines`] in an mbox file.
    MboxLines,
}

impl Encoding {
    /// All encodings.
    pub const ALL: [Self; 6] = [
        Self::Plain,
        Self::Base64,
        Self::QuotedPrintable,
        Self::Lines,
        Self::MboxQuotedPrintable,
        Self::MboxLines,
    ];

    /// Its name in a store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Base64 => "base64",
            Self::QuotedPrintable => "quoted-printable",
            Self::Lines => "lines",
            Self::MboxQuotedPrintable => "mbox-quoted-printable",
            Self::MboxLines => "mbox-lines",
        }
    }

    /// The encoding with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name() == name)
    }
}

/// How much is decoded before it is passed on, in bytes.
const STEP: usize = 32 * 1024;

/// Decodes `bytes` and passes them to `out` in pieces. Skips invalid input and never fails.
pub fn decode(bytes: &[u8], encoding: Encoding, out: &mut dyn FnMut(&[u8])) {
    let mut sink = Sink { kept: Vec::with_capacity(bytes.len().min(STEP) + 256), out };
    match encoding {
        Encoding::Plain => return (sink.out)(bytes),
        Encoding::Base64 => base64(bytes, &mut sink),
        Encoding::QuotedPrintable => quoted_printable(bytes, &mut sink),
        Encoding::Lines => lines(bytes, &mut sink),
        Encoding::MboxQuotedPrintable => unquoted(bytes, &mut |span| quoted_printable(span, &mut sink)),
        Encoding::MboxLines => unquoted(bytes, &mut |span| lines(span, &mut sink)),
    }
    sink.flush();
}

/// Decodes everything at once.
pub fn decode_whole(bytes: &[u8], encoding: Encoding) -> Vec<u8> {
    if is_as_written(bytes, encoding) {
        return bytes.to_vec();
    }
    let mut whole = Vec::with_capacity(bytes.len());
    decode(bytes, encoding, &mut |piece| whole.extend_from_slice(piece));
    whole
}

/// Whether there is nothing to decode, as in most texts.
fn is_as_written(bytes: &[u8], encoding: Encoding) -> bool {
    let has_lines = || memchr(b'\r', bytes).is_none();
    match encoding {
        Encoding::Plain => true,
        Encoding::Lines => has_lines(),
        Encoding::MboxLines => has_lines() && quotes(bytes).next().is_none(),
        Encoding::Base64 | Encoding::QuotedPrintable | Encoding::MboxQuotedPrintable => false,
    }
}

struct Sink<'a> {
    kept: Vec<u8>,
    out: &'a mut dyn FnMut(&[u8]),
}

impl Sink<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        self.flush_if_full();
    }

    fn flush_if_full(&mut self) {
        if self.kept.len() >= STEP {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if !self.kept.is_empty() {
            (self.out)(&self.kept);
            self.kept.clear();
        }
    }
}

/// Passes the bytes of an mbox file to `out` in spans, without one `>` of each line that is `>From ` or `>>From `.
/// The writer of the file added that `>`.
pub fn unquoted(bytes: &[u8], out: &mut dyn FnMut(&[u8])) {
    let mut done = 0;
    for (line, _) in quotes(bytes) {
        out(&bytes[done..line]);
        done = line + 1;
    }
    out(&bytes[done..]);
}

/// Where lines begin that are `>From ` after any number of `>`, with the number of those `>`.
pub fn quotes(bytes: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    memmem::find_iter(bytes, b"From ").filter_map(|at| {
        let marks = bytes[..at].iter().rev().take_while(|byte| **byte == b'>').count();
        let line = at - marks;
        (marks > 0 && (line == 0 || bytes[line - 1] == b'\n')).then_some((line, marks))
    })
}

/// Converts line ends to LF.
fn lines(bytes: &[u8], sink: &mut Sink<'_>) {
    let mut rest = bytes;
    while let Some(at) = memchr(b'\r', rest) {
        let is_end = rest.get(at + 1) == Some(&b'\n');
        sink.put(&rest[..at + usize::from(!is_end)]);
        rest = &rest[at + 1..];
    }
    sink.put(rest);
}

fn hex_digit(byte: Option<&u8>) -> Option<u8> {
    let digit = char::from(*byte?).to_digit(16)?;
    u8::try_from(digit).ok()
}

fn quoted_printable(bytes: &[u8], sink: &mut Sink<'_>) {
    let mut rest = bytes;
    while let Some(at) = memchr2(b'=', b'\r', rest) {
        sink.put(&rest[..at]);
        let behind = &rest[at + 1..];
        if rest[at] == b'\r' {
            if behind.first() != Some(&b'\n') {
                sink.put(b"\r");
            }
            rest = behind;
            continue;
        }
        if let (Some(high), Some(low)) = (hex_digit(behind.first()), hex_digit(behind.get(1))) {
            sink.put(&[high << 4 | low]);
            rest = &behind[2..];
            continue;
        }
        // A soft line break, with the blanks that some servers add after it.
        let blanks = behind.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
        match behind.get(blanks) {
            Some(b'\n') => rest = &behind[blanks + 1..],
            None => return,
            Some(_) => {
                sink.put(b"=");
                rest = behind;
            }
        }
    }
    sink.put(rest);
}

/// The entry in [`DIGITS`] for a byte that is not a base64 digit.
const NO_DIGIT: u32 = 1 << 31;

const DIGITS: [u32; 256] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut digits = [NO_DIGIT; 256];
    let mut value: u8 = 0;
    while value < 64 {
        digits[alphabet[value as usize] as usize] = value as u32;
        value += 1;
    }
    digits
};

fn base64(bytes: &[u8], sink: &mut Sink<'_>) {
    let digit = |byte: u8| DIGITS[usize::from(byte)];
    let (mut held, mut count) = (0_u32, 0_u32);
    let mut rest = bytes;
    loop {
        if count == 0 {
            // Whole groups of four digits, as long as nothing else comes between them.
            while let [a, b, c, d, tail @ ..] = rest {
                let (a, b, c, d) = (digit(*a), digit(*b), digit(*c), digit(*d));
                if (a | b | c | d) & NO_DIGIT != 0 {
                    break;
                }
                let [_, high, middle, low] = (a << 18 | b << 12 | c << 6 | d).to_be_bytes();
                sink.kept.extend_from_slice(&[high, middle, low]);
                rest = tail;
                if sink.kept.len() >= STEP {
                    sink.flush();
                }
            }
        }
        let [byte, tail @ ..] = rest else { break };
        rest = tail;
        let value = digit(*byte);
        if value & NO_DIGIT == 0 {
            held = held << 6 | value;
            count += 1;
            if count == 4 {
                let [_, high, middle, low] = held.to_be_bytes();
                sink.put(&[high, middle, low]);
                (held, count) = (0, 0);
            }
        } else if *byte == b'=' {
            last_digits(held, count, sink);
            (held, count) = (0, 0);
        }
    }
    last_digits(held, count, sink);
}

/// The bytes of an incomplete last group.
fn last_digits(held: u32, count: u32, sink: &mut Sink<'_>) {
    let [_, high, middle, _] = (held << (6 * (4 - count.min(4)))).to_be_bytes();
    match count {
        2 => sink.put(&[high]),
        3 => sink.put(&[high, middle]),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    fn whole(text: &str, encoding: Encoding) -> String {
        String::from_utf8(decode_whole(text.as_bytes(), encoding)).unwrap()
    }

    #[test]
    fn base64_with_junk_decodes() {
        assert_eq!(whole("aGVs\r\nbG8=\r\n", Encoding::Base64), "hello");
        assert_eq!(whole("aG Vs!\0bG8", Encoding::Base64), "hello");
        assert_eq!(whole("aGVsbG8=aGVsbG8=", Encoding::Base64), "hellohello");
        assert_eq!(whole("aGVsb", Encoding::Base64), "hel");
        assert_eq!(whole("====", Encoding::Base64), "");
    }

    #[test]
    fn quoted_printable_decodes() {
        assert_eq!(whole("a=20b=\r\nc=\nd= \t\r\ne\r\nf=3d=zz=", Encoding::QuotedPrintable), "a bcde\nf==zz");
        assert_eq!(
            whole("x\n>From y\n>>From =\n>From z", Encoding::MboxQuotedPrintable),
            "x\nFrom y\n>From From z"
        );
        assert_eq!(whole("x\n>From y", Encoding::QuotedPrintable), "x\n>From y");
    }

    #[test]
    fn encodings_have_names() {
        for encoding in Encoding::ALL {
            assert_eq!(Encoding::from_name(encoding.name()), Some(encoding));
        }
    }

    #[test]
    fn lines_end_with_lf() {
        assert_eq!(whole("a\r\nb\rc\nd", Encoding::Lines), "a\nb\rc\nd");
        assert_eq!(
            whole(">From a\r\nb >From c\r\n>>From d\n", Encoding::MboxLines),
            "From a\nb >From c\n>From d\n"
        );
        assert_eq!(whole("a\r\nb", Encoding::Plain), "a\r\nb");
    }

    proptest! {
        #[test]
        fn base64_of_anything_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..400), width in 1_usize..90) {
            let text = STANDARD.encode(&bytes);
            let lines: Vec<&[u8]> = text.as_bytes().chunks(width).collect();
            prop_assert_eq!(decode_whole(&lines.join(&b"\r\n"[..]), Encoding::Base64), bytes);
        }

        #[test]
        fn nothing_panics(bytes in prop::collection::vec(prop::sample::select(&b"=\r\n >FromAZ09a!"[..]), 0..80)) {
            for encoding in Encoding::ALL {
                decode_whole(&bytes, encoding);
            }
        }
    }
}
