//! The text of a message that Outlook keeps only as RTF, compressed as described in [MS-OXRTFCP].

use super::heap::code_page;

/// The initial content of the window before the first byte is unpacked.
const PRESET: &[u8] =
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \
\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \
\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx";
const WINDOW: usize = 4096;
/// How deeply groups may be nested.
const DEEPEST: usize = 256;

/// Unpacks the RTF, up to `most` bytes; `None` if it is not packed in this way.
pub fn unpacked(packed: &[u8], most: usize) -> Option<Vec<u8>> {
    let (header, body) = packed.split_at_checked(16)?;
    let size = usize::try_from(u32::from_le_bytes(header[4..8].try_into().ok()?)).ok()?.min(most);
    match &header[8..12] {
        b"MELA" => return Some(body[..body.len().min(size)].to_vec()),
        b"LZFu" => {}
        _ => return None,
    }
    let mut window = [b' '; WINDOW];
    window[..PRESET.len()].copy_from_slice(PRESET);
    let (mut at, mut out) = (PRESET.len(), Vec::new());
    let mut bytes = body.iter().copied();
    while out.len() < size {
        let Some(kinds) = bytes.next() else { break };
        for bit in 0..8 {
            if kinds >> bit & 1 == 0 {
                let Some(byte) = bytes.next() else { return Some(out) };
                window[at] = byte;
                at = (at + 1) % WINDOW;
                out.push(byte);
                continue;
            }
            let (Some(high), Some(low)) = (bytes.next(), bytes.next()) else { return Some(out) };
            let from = usize::from(high) << 4 | usize::from(low) >> 4;
            // The data ends with a reference to its own position.
            if from == at {
                return Some(out);
            }
            for offset in 0..usize::from(low & 0xf) + 2 {
                let byte = window[(from + offset) % WINDOW];
                window[at] = byte;
                at = (at + 1) % WINDOW;
                out.push(byte);
            }
        }
        if out.len() > most {
            return None;
        }
    }
    Some(out)
}

/// How the text of a group is treated.
#[derive(Clone, Copy)]
struct Group {
    /// Whether the group is not text, such as a table of fonts or a picture.
    is_hidden: bool,
    /// How many characters follow each Unicode character, for programs that do not support it.
    behind: usize,
}

/// Extracts the text. If the message was HTML, its tags are in groups that are not text, with the equivalent RTF next to them.
pub fn to_text(rtf: &[u8]) -> String {
    let mut text = String::new();
    let mut groups = vec![Group { is_hidden: false, behind: 1 }];
    let mut charset = encoding_rs::WINDOWS_1252;
    let (mut at, mut skip, mut pending) = (0, 0, Vec::new());
    while let Some(byte) = rtf.get(at).copied() {
        at += 1;
        let depth = groups.len() - 1;
        let is_seen = !groups[depth].is_hidden;
        if byte != b'\\' || rtf.get(at) != Some(&b'\'') {
            // The bytes of one character follow one another.
            text.push_str(&charset.decode_without_bom_handling(&pending).0);
            pending.clear();
        }
        match byte {
            b'{' => {
                if groups.len() >= DEEPEST {
                    break;
                }
                groups.push(groups[depth]);
            }
            b'}' if depth > 0 => drop(groups.pop()),
            b'}' | b'\r' | b'\n' => {}
            b'\\' => match rtf.get(at) {
                Some(b'\'') => {
                    let digits = rtf.get(at + 1..at + 3).and_then(|two| str::from_utf8(two).ok());
                    at = (at + 3).min(rtf.len());
                    if skip > 0 {
                        skip -= 1;
                    } else if let (true, Some(Ok(code))) =
                        (is_seen, digits.map(|two| u8::from_str_radix(two, 16)))
                    {
                        pending.push(code);
                    }
                }
                Some(mark) if mark.is_ascii_alphabetic() => {
                    let (word, number, next) = control(rtf, at);
                    at = next;
                    let group = &mut groups[depth];
                    match word {
                        b"par" | b"line" | b"row" if is_seen => text.push('\n'),
                        b"tab" | b"cell" if is_seen => text.push('\t'),
                        b"fonttbl" | b"colortbl" | b"stylesheet" | b"pict" | b"info" | b"object" => {
                            group.is_hidden = true;
                        }
                        b"uc" => group.behind = usize::try_from(number.unwrap_or(1)).unwrap_or(1).min(16),
                        b"ansicpg" => {
                            let page = number.and_then(|page| u64::try_from(page).ok()).and_then(code_page);
                            charset = page.unwrap_or(charset);
                        }
                        b"u" if is_seen => {
                            let unit =
                                number.map_or(0, |number| if number < 0 { number + 65_536 } else { number });
                            let char = u32::try_from(unit).ok().and_then(char::from_u32);
                            text.push(char.unwrap_or(char::REPLACEMENT_CHARACTER));
                            skip = group.behind;
                        }
                        b"bin" => at = at.saturating_add(usize::try_from(number.unwrap_or(0)).unwrap_or(0)),
                        _ => {}
                    }
                }
                Some(b'*') => {
                    groups[depth].is_hidden = true;
                    at += 1;
                }
                Some(mark) => {
                    if is_seen && matches!(mark, b'\\' | b'{' | b'}') {
                        text.push(char::from(*mark));
                    } else if is_seen && *mark == b'~' {
                        text.push(' ');
                    }
                    at += 1;
                }
                None => {}
            },
            _ if skip > 0 => skip -= 1,
            _ if is_seen && byte >= b' ' => {
                if byte.is_ascii() {
                    text.push(char::from(byte));
                } else {
                    pending.push(byte);
                }
            }
            _ => {}
        }
    }
    text.push_str(&charset.decode_without_bom_handling(&pending).0);
    text
}

/// The control word at `at`, its number, and where it ends.
fn control(rtf: &[u8], at: usize) -> (&[u8], Option<i64>, usize) {
    let word_end =
        rtf[at..].iter().position(|byte| !byte.is_ascii_alphabetic()).map_or(rtf.len(), |end| at + end);
    let mut end = word_end;
    if rtf.get(end) == Some(&b'-') {
        end += 1;
    }
    end += rtf[end..].iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
    let number = str::from_utf8(&rtf[word_end..end]).ok().and_then(|text| text.parse().ok());
    let next = if rtf.get(end) == Some(&b' ') { end + 1 } else { end };
    (&rtf[at..word_end], number, next)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_packed_comes_out_as_it_was() {
        // "{\rtf1\ansi hello hello}": a reference to the initial content, letters, a reference to earlier text, the end.
        let mut packed = vec![0; 4];
        packed.extend(24_u32.to_le_bytes());
        packed.extend(b"LZFu\0\0\0\0");
        let reference = |from: usize, length: usize| {
            let word = u16::try_from(from << 4 | (length - 2)).unwrap();
            word.to_be_bytes()
        };
        packed.push(0b1000_0001);
        packed.extend(reference(0, 11));
        packed.extend(b" hello");
        packed.extend(reference(PRESET.len() + 11, 6));
        packed.push(0b0000_0010);
        packed.push(b'}');
        packed.extend(reference(PRESET.len() + 24, 2));
        assert_eq!(unpacked(&packed, 1000).unwrap(), b"{\\rtf1\\ansi hello hello}");
        let mut plain = packed[..16].to_vec();
        plain[8..12].copy_from_slice(b"MELA");
        plain.extend(b"{\\rtf1 a}");
        assert_eq!(unpacked(&plain, 1000).unwrap(), b"{\\rtf1 a}");
        assert_eq!(unpacked(b"short", 1000), None);
    }

    #[test]
    fn text_is_what_a_reader_sees() {
        let rtf = br"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\*\generator x;}Caf\'e9 \u8364? \{1\}\par two\tab 3}";
        assert_eq!(to_text(rtf), "Caf\u{e9} \u{20ac} {1}\ntwo\t3");
        let html = br"{\rtf1\ansi\fromhtml1 {\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Hello\htmlrtf }\par\htmlrtf0 {\*\htmltag72 </p>}}";
        assert_eq!(to_text(html), "Hello\n");
        let entity = br"{\rtf1\ansi\fromhtml1 GMT{\*\htmltag84 &#43;}\htmlrtf +\htmlrtf0 05:00{\*\htmltag116 <br>}\htmlrtf\line\htmlrtf0 x}";
        assert_eq!(to_text(&[&entity[..], b"\0"].concat()), "GMT+05:00\nx");
        assert_eq!(to_text(br"{\rtf1\ansicpg932 \'93\'fa\'96\'7b}"), "\u{65e5}\u{672c}");
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), text in "[\\\\{}'a-z0-9 -]{0,80}") {
            let _ = to_text(&bytes);
            let _ = to_text(text.as_bytes());
            let mut packed = [&[0_u8; 4][..], &500_u32.to_le_bytes(), b"LZFu\0\0\0\0"].concat();
            packed.extend(bytes);
            prop_assert!(unpacked(&packed, 1000).is_none_or(|out| out.len() <= 1000 + 8 * 17));
        }
    }
}
