//! Activities in HTML: splits a single line of hundreds of megabytes into cells, and reads the content of a cell.

use std::io::{self, BufRead};
use std::ops::ControlFlow;

use memchr::memmem;

use crate::import::formats::mail::without_entities;

/// The beginning of a cell.
pub const CELL: &[u8] = b"<div class=\"outer-cell";
/// What follows the last cell.
const ENDS: [&[u8]; 2] = [b"</body", b"</html"];
/// The longest cell that is kept, in bytes.
const LONGEST: usize = 16 << 20;
/// The most lines in one part of a cell.
const MOST_LINES: usize = 200;

/// A cell.
pub struct Cell {
    /// The position of its first byte.
    pub offset: u64,
    /// The position after its last byte.
    pub next: u64,
    /// Its bytes, or `None` if there are too many.
    pub bytes: Option<Vec<u8>>,
}

/// Passes the cells of a file to `out` until it breaks. Returns where the last one ended.
///
/// # Errors
/// Fails if the bytes cannot be read or end within a cell. Cells that were passed on before that count.
pub fn cells(bytes: &mut dyn BufRead, out: &mut dyn FnMut(Cell) -> ControlFlow<()>) -> io::Result<u64> {
    up_to(bytes, LONGEST, out)
}

fn up_to(
    bytes: &mut dyn BufRead,
    longest: usize,
    out: &mut dyn FnMut(Cell) -> ControlFlow<()>,
) -> io::Result<u64> {
    let finder = memmem::Finder::new(CELL);
    // The bytes that were read but not passed on, their position in the file, and how far they were searched for a cell.
    let (mut window, mut at, mut seen) = (Vec::new(), 0_u64, 0_usize);
    // Whether the window begins with a cell, where that cell began, and whether some of it was dropped.
    let (mut is_open, mut offset, mut is_long) = (false, 0_u64, false);
    let mut end = 0_u64;
    loop {
        let chunk = match bytes.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        let is_last = chunk.is_empty();
        let read = chunk.len();
        window.extend_from_slice(chunk);
        bytes.consume(read);
        let mut start = 0;
        while let Some(found) = finder.find(&window[seen..]).map(|found| seen + found) {
            if is_open {
                end = at + found as u64;
                let bytes = (!is_long && found - start <= longest).then(|| window[start..found].to_vec());
                if out(Cell { offset, next: end, bytes }).is_break() {
                    return Ok(end);
                }
            }
            (is_open, is_long, start) = (true, false, found);
            offset = at + found as u64;
            seen = found + CELL.len();
        }
        if is_last {
            if !is_open {
                return Ok(end);
            }
            let rest = &window[start..];
            let Some(length) = ENDS.iter().filter_map(|end| memmem::find(rest, end)).min() else {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends within an activity"));
            };
            end = at + (start + length) as u64;
            let bytes = (!is_long && length <= longest).then(|| rest[..length].to_vec());
            let _ = out(Cell { offset, next: end, bytes });
            return Ok(end);
        }
        // A mark may begin at the end of the bytes that were read.
        let keep = window.len().saturating_sub(CELL.len() - 1);
        if !is_open {
            start = keep.max(start);
        } else if window.len() - start > longest.saturating_add(CELL.len()) {
            is_long = true;
            start = keep.max(start);
        }
        seen = seen.max(keep).max(start) - start;
        window.drain(..start);
        at += start as u64;
    }
}

/// The content of a cell.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The product's name.
    pub header: String,
    /// What was done, and with what. One of the last lines is a date.
    pub lines: Vec<Line>,
    /// The captions: products, details and places.
    pub captions: Vec<String>,
}

/// A line of a cell.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// All of its text, with one space between words.
    pub text: String,
    /// The text of its first link.
    pub linked: Option<String>,
    /// The target of that link.
    pub href: Option<String>,
}

/// Reads the content of a cell from `html`.
pub fn said(html: &str) -> Said {
    let part = |mark: &str, from: usize, end: &str| {
        let begin = from + html[from..].find(mark)? + mark.len();
        let begin = begin + html[begin..].find('>')? + 1;
        let length = html[begin..].find(end).unwrap_or(html.len() - begin);
        Some((&html[begin..begin + length], begin + length))
    };
    let mut said = Said::default();
    let mut at = 0;
    if let Some((header, end)) = part("mdl-typography--title", 0, "</p>") {
        said.header = lines(header).into_iter().next().unwrap_or_default().text;
        at = end;
    }
    if let Some((body, end)) = part("mdl-typography--body-1", at, "</div>") {
        said.lines = lines(body);
        at = end;
    }
    if let Some((caption, _)) = part("mdl-typography--caption", at, "</div>") {
        said.captions = lines(caption).into_iter().map(|line| line.text).collect();
    }
    said
}

/// The lines that are not empty.
fn lines(html: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = Line::default();
    let mut rest = html;
    let mut in_link = false;
    loop {
        let (text, tag) = rest.split_once('<').map_or((rest, None), |(text, tag)| (text, Some(tag)));
        let text = without_entities(text);
        line.text.push_str(&text);
        if in_link && let Some(linked) = &mut line.linked {
            linked.push_str(&text);
        }
        let Some(tag) = tag else { break };
        let (tag, behind) = tag.split_once('>').unwrap_or((tag, ""));
        rest = behind;
        let name = tag.split(|c: char| c.is_whitespace() || c == '/').next().unwrap_or_default();
        if name.eq_ignore_ascii_case("br") {
            add(&mut lines, std::mem::take(&mut line));
            in_link = false;
            if lines.len() >= MOST_LINES {
                return lines;
            }
        } else if name.eq_ignore_ascii_case("a") && line.linked.is_none() {
            line.linked = Some(String::new());
            line.href = attribute(tag, "href");
            in_link = true;
        } else if tag.starts_with("/a") || tag.starts_with("/A") {
            in_link = false;
        }
    }
    add(&mut lines, line);
    lines
}

fn add(lines: &mut Vec<Line>, line: Line) {
    let text = clean(&line.text);
    if !text.is_empty() {
        let linked = line.linked.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        lines.push(Line { text, linked, href: line.href });
    }
}

/// A text with one space between words.
pub fn clean(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The value of an attribute in a tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let mut rest = tag;
    loop {
        let at = rest.find(name)?;
        let is_name = rest[..at].ends_with(char::is_whitespace);
        rest = &rest[at + name.len()..];
        let Some(value) = rest.trim_start().strip_prefix('=').filter(|_| is_name) else { continue };
        let value = value.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let value = match quote {
            Some(quote) => value[1..].split(quote).next()?,
            None => value.split(char::is_whitespace).next()?,
        };
        return Some(without_entities(value).into_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use proptest::prelude::*;

    use super::*;

    /// Where a cell begins and ends, and its text.
    type Cut = (u64, u64, Option<String>);

    fn found(text: &str, chunk: usize, longest: usize) -> (Vec<Cut>, io::Result<u64>) {
        let mut all = Vec::new();
        let mut bytes = BufReader::with_capacity(chunk, Cursor::new(text.as_bytes()));
        let end = up_to(&mut bytes, longest, &mut |cell| {
            let bytes = cell.bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            all.push((cell.offset, cell.next, bytes));
            ControlFlow::Continue(())
        });
        (all, end)
    }

    #[test]
    fn cells_are_cut_whatever_the_chunks() {
        let cell = |text: &str| format!("<div class=\"outer-cell x\">{text}</div>");
        let (a, b, c) = (cell("one"), cell(&"two".repeat(40)), cell("three"));
        let text = format!("<html><style>.outer-cell{{}}</style>{a}\n{b}{c}</body></html>");
        for chunk in 1..80 {
            let (all, end) = found(&text, chunk, LONGEST);
            let texts: Vec<String> = all.iter().map(|cell| cell.2.clone().unwrap()).collect();
            assert_eq!(texts, [format!("{a}\n"), b.clone(), c.clone()]);
            for (offset, next, bytes) in &all {
                let stands = &text[usize::try_from(*offset).unwrap()..usize::try_from(*next).unwrap()];
                assert_eq!(Some(stands), bytes.as_deref());
            }
            assert_eq!(end.unwrap(), all[2].1);
            // A cell that is too long, and the next one.
            let (all, _) = found(&text, chunk, 60);
            let texts: Vec<Option<String>> = all.iter().map(|cell| cell.2.clone()).collect();
            assert_eq!(texts, [Some(format!("{a}\n")), None, Some(c.clone())]);
            assert_eq!(found(&text, chunk, LONGEST).0[2].0, all[2].0);
        }
        assert_eq!(found("<html></html>", 3, 9).0, []);
        let (all, end) = found(&text[..text.len() - 20], 7, LONGEST);
        assert_eq!((all.len(), end.unwrap_err().kind()), (2, io::ErrorKind::UnexpectedEof));
    }

    #[test]
    fn a_cell_says_what_was_done() {
        let html = "<div class=\"outer-cell mdl-cell\"><div class=\"mdl-grid\"><div class=\"header-cell\"><p \
            class=\"mdl-typography--title\">YouTube<br></p></div><div class=\"content-cell mdl-cell--6-col \
            mdl-typography--body-1\">Watched\u{a0}<a href=\"https://www.youtube.com/watch?v=a&amp;t=1\">Moths &lt;3 &#39;night&#39;</a><br>\
            <a data-href=\"x\" href='https://www.youtube.com/channel/c'>Night&nbsp;Garden</a><br>Jan 31, 2026, 2:03:22\u{202f}PM CET<br></div>\
            <div class=\"content-cell mdl-typography--body-1 mdl-typography--text-right\"></div><div class=\"content-cell \
            mdl-typography--caption\"><b>Products:</b><br>&emsp;YouTube<br><b>Details:</b><br>&emsp;From Google Ads<br></div></div></div>";
        let said = said(html);
        assert_eq!(said.header, "YouTube");
        assert_eq!(
            said.lines[0],
            Line {
                text: "Watched Moths <3 'night'".to_owned(),
                linked: Some("Moths <3 'night'".to_owned()),
                href: Some("https://www.youtube.com/watch?v=a&t=1".to_owned()),
            }
        );
        assert_eq!(said.lines[1].linked.as_deref(), Some("Night\u{a0}Garden"));
        assert_eq!(said.lines[1].href.as_deref(), Some("https://www.youtube.com/channel/c"));
        assert_eq!((said.lines.len(), said.lines[2].text.as_str()), (3, "Jan 31, 2026, 2:03:22 PM CET"));
        assert_eq!(said.captions, ["Products:", "YouTube", "Details:", "From Google Ads"]);
    }

    proptest! {
        #[test]
        fn nothing_panics(html in "(<div class=\"outer-cell|mdl-typography--(title|body-1|caption)|>|<|/a|a href=|\"|'|<br>|</p>|</div>|&|é|x| ){0,40}", chunk in 1_usize..30) {
            said(&html);
            let (all, _) = found(&html, chunk, 40);
            prop_assert!(all.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }
}
