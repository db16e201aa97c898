//! Undoes the filters of a stream, up to what the budget allows.

use flate2::read::{DeflateDecoder, ZlibDecoder};

use super::super::{Budget, Stop, inflated};
use super::object::{Dict, Object, hex};

/// The most filters of one stream.
const MOST: usize = 4;
/// The largest result.
const LARGEST: usize = 16 << 20;

/// A stream's bytes without the filters that `dict` names; everything in `dict` is resolved. Filters of
/// pictures are refused.
pub fn undone(bytes: &[u8], dict: &Dict, budget: &mut Budget) -> Result<Vec<u8>, Stop> {
    let named = |object: Option<&Object>| match object {
        Some(Object::Array(all)) => all.clone(),
        Some(Object::Null) | None => Vec::new(),
        Some(one) => vec![one.clone()],
    };
    let filters = named(dict.get("Filter"));
    let settings = named(dict.get("DecodeParms"));
    if filters.len() > MOST {
        return Err(Stop::Failed);
    }
    let mut out: Option<Vec<u8>> = None;
    for (at, filter) in filters.iter().enumerate() {
        let from = out.as_deref().unwrap_or(bytes);
        let next = match filter.name().ok_or(Stop::Failed)? {
            b"FlateDecode" | b"Fl" => flate(from, budget)?,
            b"LZWDecode" | b"LZW" => {
                let early = settings.get(at).and_then(Object::dict).and_then(|dict| dict.get("EarlyChange"));
                lzw(from, early.and_then(Object::whole) != Some(0), budget)?
            }
            b"ASCIIHexDecode" | b"AHx" => {
                budget.pay(from.len())?;
                hex(from.split(|byte| *byte == b'>').next().unwrap_or_default())
            }
            b"ASCII85Decode" | b"A85" => ascii85(from, budget)?,
            b"RunLengthDecode" | b"RL" => run_length(from, budget)?,
            b"Crypt" => from.to_vec(),
            _ => return Err(Stop::Unsupported),
        };
        let settings = settings.get(at).and_then(Object::dict);
        out = Some(settings.map_or(Ok(None), |settings| predicted(&next, settings, budget))?.unwrap_or(next));
    }
    if let Some(out) = out {
        return Ok(out);
    }
    budget.pay(bytes.len())?;
    Ok(bytes.to_vec())
}

fn flate(bytes: &[u8], budget: &mut Budget) -> Result<Vec<u8>, Stop> {
    budget.pay(bytes.len())?;
    let out = inflated(&mut ZlibDecoder::new(bytes), LARGEST, budget)?;
    if !out.is_empty() || bytes.is_empty() {
        return Ok(out);
    }
    // Some have no header, or a wrong one.
    let skipped = bytes.get(2..).unwrap_or_default();
    inflated(&mut DeflateDecoder::new(skipped), LARGEST, budget)
}

/// Collects bytes, up to the limit.
struct Sink<'a> {
    out: Vec<u8>,
    budget: &'a mut Budget,
}

impl Sink<'_> {
    fn add(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.budget.pay(bytes.len())?;
        if self.out.len() + bytes.len() > LARGEST {
            return Err(Stop::TooLarge);
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }
}

fn run_length(bytes: &[u8], budget: &mut Budget) -> Result<Vec<u8>, Stop> {
    let mut sink = Sink { out: Vec::new(), budget };
    let mut at = 0;
    while let Some(length) = bytes.get(at).filter(|length| **length != 128) {
        let length = usize::from(*length);
        if length < 128 {
            let end = (at + 2 + length).min(bytes.len());
            sink.add(&bytes[at + 1..end])?;
            at = end;
        } else {
            let Some(byte) = bytes.get(at + 1) else { break };
            sink.add(&[*byte].repeat(257 - length))?;
            at += 2;
        }
    }
    Ok(sink.out)
}

fn ascii85(bytes: &[u8], budget: &mut Budget) -> Result<Vec<u8>, Stop> {
    let mut sink = Sink { out: Vec::new(), budget };
    let bytes = bytes.strip_prefix(b"<~").unwrap_or(bytes);
    let (mut group, mut count) = (0_u32, 0_usize);
    for byte in bytes {
        match byte {
            b'!'..=b'u' => {
                group = group.wrapping_mul(85).wrapping_add(u32::from(byte - b'!'));
                count += 1;
                if count == 5 {
                    sink.add(&group.to_be_bytes())?;
                    (group, count) = (0, 0);
                }
            }
            b'z' if count == 0 => sink.add(&[0; 4])?,
            b'~' => break,
            _ => {}
        }
    }
    if count > 1 {
        for _ in count..5 {
            group = group.wrapping_mul(85).wrapping_add(84);
        }
        sink.add(&group.to_be_bytes()[..count - 1])?;
    }
    Ok(sink.out)
}

/// LZW with codes of 9 to 12 bits, the highest first.
fn lzw(bytes: &[u8], is_early: bool, budget: &mut Budget) -> Result<Vec<u8>, Stop> {
    const CLEAR: usize = 256;
    const END: usize = 257;
    let mut sink = Sink { out: Vec::new(), budget };
    // Where in the output the string of each code from 258 on is.
    let mut table: Vec<(usize, usize)> = Vec::with_capacity(4096);
    let mut last: Option<(usize, usize)> = None;
    let (mut bits, mut have, mut width) = (0_u32, 0_u32, 9_u32);
    for byte in bytes {
        bits = bits << 8 | u32::from(*byte);
        have += 8;
        if have < width {
            continue;
        }
        have -= width;
        let code = (bits >> have) as usize & ((1 << width) - 1);
        bits &= (1 << have) - 1;
        match code {
            CLEAR => {
                table.clear();
                last = None;
                width = 9;
                continue;
            }
            END => break,
            _ => {}
        }
        let from = sink.out.len();
        if code < CLEAR {
            sink.add(&[code.to_le_bytes()[0]])?;
        } else if let Some((start, length)) = table.get(code - 258).copied() {
            let string = sink.out[start..start + length].to_vec();
            sink.add(&string)?;
        } else if let Some((start, length)) = last.filter(|_| code - 258 == table.len()) {
            let mut string = sink.out[start..start + length].to_vec();
            string.push(string[0]);
            sink.add(&string)?;
        } else {
            break;
        }
        if let Some((start, length)) = last
            && table.len() < 4096 - 258
        {
            table.push((start, length + 1));
        }
        last = Some((from, sink.out.len() - from));
        let next = table.len() + 258 + usize::from(is_early) + 1;
        width = match next {
            ..=512 => 9,
            513..=1024 => 10,
            1025..=2048 => 11,
            _ => 12,
        };
    }
    Ok(sink.out)
}

/// Undoes a PNG or TIFF predictor.
fn predicted(bytes: &[u8], settings: &Dict, budget: &mut Budget) -> Result<Option<Vec<u8>>, Stop> {
    let number =
        |name: &str, otherwise: usize| settings.get(name).and_then(Object::whole).unwrap_or(otherwise);
    let kind = number("Predictor", 1);
    if kind < 10 {
        return if kind == 2 { Err(Stop::Unsupported) } else { Ok(None) };
    }
    let (colors, bits, columns) = (number("Colors", 1), number("BitsPerComponent", 8), number("Columns", 1));
    let pixel = colors.saturating_mul(bits).div_ceil(8);
    let row = colors.saturating_mul(bits).saturating_mul(columns).div_ceil(8);
    if pixel == 0 || row == 0 || row > LARGEST {
        return Err(Stop::Failed);
    }
    budget.pay(bytes.len())?;
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    for line in bytes.chunks(row + 1) {
        let begin = out.len();
        let (filter, line) = (line[0], &line[1..]);
        for (at, byte) in line.iter().enumerate() {
            let left = if at >= pixel { out[begin + at - pixel] } else { 0 };
            let up = if begin >= row { out[begin + at - row] } else { 0 };
            let corner = if at >= pixel && begin >= row { out[begin + at - row - pixel] } else { 0 };
            let guess = match filter {
                1 => left,
                2 => up,
                3 => u8::midpoint(left, up),
                4 => {
                    let (a, b, c) = (i16::from(left), i16::from(up), i16::from(corner));
                    let (to_left, to_up, to_corner) = ((b - c).abs(), (a - c).abs(), (a + b - 2 * c).abs());
                    if to_left <= to_up && to_left <= to_corner {
                        left
                    } else if to_up <= to_corner {
                        up
                    } else {
                        corner
                    }
                }
                _ => 0,
            };
            out.push(byte.wrapping_add(guess));
        }
    }
    Ok(Some(out))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;
    use crate::import::attachment_text::pdf::object::Lexer;

    fn dict(text: &str) -> Dict {
        match Lexer::new(text.as_bytes(), 0).object(&mut Budget::default()) {
            Ok(Some(Object::Dict(dict))) => dict,
            other => panic!("{other:?}"),
        }
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn undo(bytes: &[u8], text: &str) -> Result<Vec<u8>, Stop> {
        undone(bytes, &dict(text), &mut Budget::default())
    }

    #[test]
    fn filters_are_undone() {
        assert_eq!(undo(b"as it is", "<<>>").unwrap(), b"as it is");
        assert_eq!(undo(&packed(b"flat"), "<</Filter/FlateDecode>>").unwrap(), b"flat");
        assert_eq!(undo(b"68 65 78>", "<</Filter[/AHx]>>").unwrap(), b"hex");
        assert_eq!(undo(b"87cURD]i,\"Ebo80~>", "<</Filter/ASCII85Decode>>").unwrap(), b"Hello World!");
        assert_eq!(undo(b"\x02abc\xfed\x80x", "<</Filter/RL>>").unwrap(), b"abcddd");
        // The example of the specification: -----A---B.
        let lzw = [0x80, 0x0b, 0x60, 0x50, 0x22, 0x0c, 0x0c, 0x85, 0x01];
        assert_eq!(undo(&lzw, "<</Filter/LZWDecode>>").unwrap(), b"-----A---B");
        assert_eq!(undo(b"x", "<</Filter/DCTDecode>>"), Err(Stop::Unsupported));
        let rows = packed(b"\x02\x01\x02\x02\x01\x01\x01\x05\x01");
        let both = "<</Filter[/FlateDecode]/DecodeParms[<</Predictor 12/Columns 2>>]>>";
        assert_eq!(undo(&rows, both).unwrap(), [1, 2, 2, 3, 5, 6]);
    }

    #[test]
    fn o4_14_what_inflates_without_a_bound_is_refused() {
        let bomb = packed(&packed(&vec![0; 100 << 20]));
        assert_eq!(undo(&bomb, "<</Filter[/Fl/Fl]>>"), Err(Stop::TooLarge));
        assert_eq!(undo(&b"z".repeat(20 << 20), "<</Filter/A85>>"), Err(Stop::TooLarge));
        assert_eq!(undo(&b"\x81x".repeat(1 << 20), "<</Filter/RL>>"), Err(Stop::TooLarge));
        assert_eq!(undo(b"", "<</Filter[/Fl/Fl/Fl/Fl/Fl]>>"), Err(Stop::Failed));
        let wide = "<</Filter/Fl/DecodeParms<</Predictor 15/Columns 99999999999/Colors 999999999999>>>>";
        assert_eq!(undo(&packed(b"x"), wide), Err(Stop::Failed));
    }
}
