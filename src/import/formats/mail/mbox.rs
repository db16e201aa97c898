//! Mail in an mbox file: from Takeout, Thunderbird, or a `.mbox` folder of Apple Mail.

use std::io::{self, ErrorKind};
use std::ops::ControlFlow;

use super::facts::Facts;
use super::separator::{self, Verdict};
use super::{LARGEST, MailFile, account};
use crate::import::format::{End, Out, Peek, Plan, Raw, ReadFrom, Sure, Unit};

/// The mbox format.
pub struct Mbox;

/// The sizes of the pieces in which a file is read.
#[derive(Clone, Copy)]
struct Sizes {
    /// How much is read at once, in bytes.
    chunk: usize,
    /// The largest message, in bytes.
    largest: usize,
}

const SIZES: Sizes = Sizes { chunk: 256 * 1024, largest: LARGEST };

/// How much is kept of a message that is too large, in bytes: enough to tell it from the next one.
const KEPT: usize = 4096;

impl MailFile for Mbox {
    const NAME: &'static str = "mbox";
    const TITLE: &'static str = "mail in an mbox file (Google Takeout, Thunderbird, Apple Mail)";
    const IS_OF_FOLDER: bool = false;

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        separator::begins(peek.head, peek.is_whole).then_some(Sure::Certain)
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        // An export has a separate file for each Gmail label. The message's own header lists its labels more completely.
        let folder = if account::is_gmail(plan) { None } else { super::folder::of_mbox(unit.label) };
        let facts = Facts { is_mbox: true, folder, ..Facts::default() };
        split(&mut *unit.bytes, from, &facts, unit.modified_ms, SIZES, out)
    }
}

/// The part of the file that was read but not passed on.
struct Window<'a> {
    source: &'a mut dyn ReadFrom,
    bytes: Vec<u8>,
    /// The position of [`Window::bytes`] in the unit.
    base: u64,
    is_end: bool,
}

impl Window<'_> {
    /// Drops the bytes before `keep`, and reads more.
    fn fill(&mut self, keep: usize, chunk: usize) -> io::Result<()> {
        self.bytes.drain(..keep);
        self.base += keep as u64;
        let enough = self.bytes.len() + chunk;
        while self.bytes.len() < enough {
            let got = match self.source.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                other => other?,
            };
            if got.is_empty() {
                self.is_end = true;
                break;
            }
            let length = got.len().min(enough - self.bytes.len());
            self.bytes.extend_from_slice(&got[..length]);
            self.source.consume(length);
        }
        Ok(())
    }
}

/// Splits an mbox file into messages, each from one separator to the next.
///
/// The last message ends with the file. It may be incomplete, so it is passed on and a later run reads it again.
fn split(
    source: &mut dyn ReadFrom,
    from: u64,
    facts: &Facts,
    modified_ms: Option<i64>,
    sizes: Sizes,
    out: &mut Out<'_>,
) -> io::Result<End> {
    if from > 0 {
        source.skip_to(from)?;
    }
    let finder = separator::finder();
    let mut window = Window { source, bytes: Vec::new(), base: from, is_end: false };
    window.fill(0, sizes.chunk)?;
    // A message that is too large: where it began, and its beginning.
    let mut oversize: Option<(u64, Vec<u8>)> = None;
    let (mut start, mut seen) = (0, 0);
    // The message before a possible separator. If the separator turns out not to be one, it is part of that message.
    let mut unsure = None;
    loop {
        let found = finder.find(&window.bytes[seen..]).map(|at| seen + at + 1);
        let (at, verdict) = match found {
            Some(at) => (at, separator::judge(&window.bytes, at, window.is_end)),
            None if window.is_end => match separator::cut_off(&window.bytes).filter(|at| *at > start) {
                Some(at) => (at, Verdict::Begun),
                None => (window.bytes.len(), Verdict::Separator),
            },
            // The end may already contain the beginning of a separator.
            None => (seen.max(window.bytes.len().saturating_sub(5)), Verdict::Unknown),
        };
        match verdict {
            Verdict::Text => seen = at,
            Verdict::Separator | Verdict::Begun => {
                let next = window.base + at as u64;
                let offset = oversize.as_ref().map_or(window.base + start as u64, |(offset, _)| *offset);
                let is_last = at == window.bytes.len() && window.is_end;
                if verdict == Verdict::Begun {
                    unsure = Some(offset);
                }
                let end = if is_last { unsure.unwrap_or(offset) } else { unsure.unwrap_or(next) };
                let raw = match oversize.take() {
                    Some((offset, head)) => {
                        Facts { is_too_large: true, ..facts.clone() }.raw(offset, end, head)
                    }
                    None if at - start > sizes.largest => {
                        let head = window.bytes[start..start + KEPT.min(sizes.largest)].to_vec();
                        Facts { is_too_large: true, ..facts.clone() }.raw(offset, end, head)
                    }
                    None => item(&window.bytes[start..at], offset, end, facts, modified_ms),
                };
                let is_blank = raw.bytes.iter().all(u8::is_ascii_whitespace);
                if !is_blank && out(raw) == ControlFlow::Break(()) {
                    return Ok(End { at: end });
                }
                if is_last {
                    return Ok(End { at: if is_blank { next } else { end } });
                }
                (start, seen) = (at, at);
            }
            Verdict::Unknown => {
                if oversize.is_none() && at - start > sizes.largest {
                    let head = window.bytes[start..start + KEPT.min(sizes.largest)].to_vec();
                    oversize = Some((window.base + start as u64, head));
                }
                // The two bytes before a line are needed to see whether it follows an empty line.
                let keep = if oversize.is_some() { at.saturating_sub(8).max(start) } else { start };
                window.fill(keep, sizes.chunk)?;
                start = start.saturating_sub(keep);
                seen = (at - keep).saturating_sub(1);
            }
        }
    }
}

fn item(bytes: &[u8], offset: u64, next: u64, facts: &Facts, modified_ms: Option<i64>) -> Raw {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let has_date = separator::parse_date(line.trim_ascii_end()).is_some();
    facts.with_time(bytes, has_date, modified_ms).raw(offset, next, bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn items(file: &[u8], from: u64, sizes: Sizes) -> (Vec<Raw>, u64) {
        let mut items = Vec::new();
        let mut source = io::Cursor::new(file.to_vec());
        let end = split(&mut source, from, &Facts::default(), None, sizes, &mut |raw| {
            items.push(raw);
            ControlFlow::Continue(())
        });
        (items, end.unwrap().at)
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_give_the_same(
            lines in prop::collection::vec(prop::sample::select(&[
                "From ana@example.org Tue Jan  2 03:04:05 2024\n", "From - Tue Jan 02 03:04:05 2024\r\n", "Subject: x\n",
                "Date: y\r\n", "From \n", "\n", "\r\n", "From here\n", ">From x\n", "some words that are a longer line\n", "x",
            ][..]), 0..40),
            chunk in 1_usize..80,
            largest in 40_usize..200,
        ) {
            let file = lines.concat().into_bytes();
            for largest in [largest, LARGEST] {
                let (whole, end) = items(&file, 0, Sizes { chunk: LARGEST, largest });
                let (pieces, end_of_pieces) = items(&file, 0, Sizes { chunk, largest });
                prop_assert_eq!(&pieces, &whole);
                prop_assert_eq!(end, end_of_pieces);
                for at in 0..whole.len() {
                    let (rest, _) = items(&file, whole[at].offset, Sizes { chunk, largest });
                    // Where an interrupted run resumes depends on where it began.
                    let plain = |items: &[Raw]| items.iter().map(|raw| Raw { next: 0, ..raw.clone() }).collect::<Vec<_>>();
                    prop_assert_eq!(plain(&rest), plain(&whole[at..]));
                }
            }
        }
    }
}
