//! Reads a form with files (RFC 7578) part by part as it arrives: only what was read last is held in
//! memory.

use std::io::{self, Read};

/// How many bytes are read at once.
const ROOM: usize = 64 << 10;
/// The most bytes of a part's head.
const MAX_HEAD: usize = 8 << 10;
/// The most bytes before the first part.
const MAX_PREAMBLE: u64 = 1 << 10;
/// The most bytes of a boundary (RFC 2046 §5.1.1).
const MAX_BOUNDARY: usize = 70;

/// The boundary of a form, from its `Content-Type`.
pub(super) fn boundary(content_type: &str) -> Option<&str> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let value = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim())
    })?;
    let value = value.strip_prefix('"').map_or(value, |rest| rest.trim_end_matches('"'));
    let is_one = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=?".contains(&byte);
    ((1..=MAX_BOUNDARY).contains(&value.len()) && value.bytes().all(is_one)).then_some(value)
}

/// Why a form cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Bad {
    /// It is not a form with files.
    #[error("it is not a form with files: {0}")]
    Form(&'static str),
    /// It broke off.
    #[error("it broke off")]
    Read(#[from] io::Error),
}

/// A form as it arrives.
pub(super) struct Multipart<R> {
    from: R,
    /// What ends a part.
    delimiter: Vec<u8>,
    /// What was read and not passed on yet.
    held: Vec<u8>,
    at: usize,
    is_over: bool,
}

/// The head of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// The name of its control.
    pub(super) name: String,
    /// The name of its file, as the browser sent it: a label, not a path.
    pub(super) file: Option<String>,
}

impl<R: Read> Multipart<R> {
    pub(super) fn new(boundary: &str, from: R) -> Self {
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        // No line break precedes the first boundary.
        Self { from, delimiter, held: b"\r\n".to_vec(), at: 0, is_over: false }
    }

    fn rest(&self) -> &[u8] {
        &self.held[self.at..]
    }

    /// Reads more; false at the end.
    fn more(&mut self) -> io::Result<bool> {
        self.held.drain(..self.at);
        self.at = 0;
        let before = self.held.len();
        self.held.resize(before + ROOM, 0);
        loop {
            match self.from.read(&mut self.held[before..]) {
                Ok(read) => {
                    self.held.truncate(before + read);
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.held.truncate(before);
                    return Err(error);
                }
            }
        }
    }

    /// The next `count` bytes, which stay in the buffer.
    fn ahead(&mut self, count: usize) -> Result<&[u8], Bad> {
        while self.rest().len() < count {
            if !self.more()? {
                return Err(broken_off().into());
            }
        }
        Ok(&self.rest()[..count])
    }

    /// The next part, after the rest of the one before is skipped; `None` after the last.
    pub(super) fn next_part(&mut self) -> Result<Option<(Head, Part<'_, R>)>, Bad> {
        if self.is_over {
            return Ok(None);
        }
        let is_first = self.at == 0 && self.held == b"\r\n";
        let passed =
            io::copy(&mut Part { form: self }, &mut Bounded(if is_first { MAX_PREAMBLE } else { u64::MAX }));
        match passed {
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                return Err(Bad::Form("it does not begin with its boundary"));
            }
            passed => passed?,
        };
        self.at += self.delimiter.len();
        let behind = self.ahead(2)?;
        if behind == b"--" {
            self.is_over = true;
            return Ok(None);
        }
        if behind != b"\r\n" {
            return Err(Bad::Form("what follows a boundary is neither a part nor the end"));
        }
        self.at += 2;
        let head = self.head()?;
        Ok(Some((head, Part { form: self })))
    }

    fn head(&mut self) -> Result<Head, Bad> {
        let end = loop {
            // A part without a head begins with the empty line.
            if self.ahead(2)? == b"\r\n" {
                return Err(Bad::Form("a part has no Content-Disposition"));
            }
            match memchr::memmem::find(self.rest(), b"\r\n\r\n") {
                Some(end) if end <= MAX_HEAD => break end,
                None if self.rest().len() <= MAX_HEAD => {
                    if !self.more()? {
                        return Err(broken_off().into());
                    }
                }
                _ => return Err(Bad::Form("the head of a part is too long")),
            }
        };
        let head = String::from_utf8_lossy(&self.rest()[..end]).into_owned();
        self.at += end + 4;
        let disposition = head.split("\r\n").find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-disposition").then(|| value.trim().to_owned())
        });
        let disposition = disposition.ok_or(Bad::Form("a part has no Content-Disposition"))?;
        let rest = disposition.strip_prefix("form-data").ok_or(Bad::Form("a part is not a form field"))?;
        let name = parameter(rest, "name").ok_or(Bad::Form("a part has no name"))?;
        Ok(Head { name, file: parameter(rest, "filename") })
    }
}

/// The value of `; wanted="…"`, as browsers write it (HTML, multipart/form-data encoding algorithm).
fn parameter(mut rest: &str, wanted: &str) -> Option<String> {
    loop {
        rest = rest.trim_start().strip_prefix(';')?.trim_start();
        let (name, after) = rest.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        if name.trim() == wanted {
            return Some(value.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n"));
        }
        rest = after;
    }
}

fn broken_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "it ended before its last boundary")
}

/// Discards up to this many bytes.
struct Bounded(u64);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len() as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The content of a part.
pub(super) struct Part<'a, R> {
    form: &'a mut Multipart<R>,
}

impl<R: Read> Read for Part<'_, R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if room.is_empty() {
            return Ok(0);
        }
        let form = &mut *self.form;
        loop {
            let rest = form.rest();
            let given = match memchr::memmem::find(rest, &form.delimiter) {
                Some(0) => return Ok(0),
                Some(end) => end,
                // What could be the beginning of the boundary stays in the buffer.
                None => (rest.len() + 1).saturating_sub(form.delimiter.len()),
            };
            if given > 0 {
                let given = given.min(room.len());
                room[..given].copy_from_slice(&rest[..given]);
                form.at += given;
                return Ok(given);
            }
            if !form.more()? {
                return Err(broken_off());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let given = self.1.min(room.len()).min(self.0.len());
            room[..given].copy_from_slice(&self.0[..given]);
            self.0 = &self.0[given..];
            Ok(given)
        }
    }

    type Parts = Vec<(String, Option<String>, Vec<u8>)>;

    fn read(form: &[u8], at_once: usize) -> Result<Parts, Bad> {
        let mut form = Multipart::new("b0", Slow(form, at_once));
        let mut parts = Vec::new();
        while let Some((head, mut part)) = form.next_part()? {
            let mut content = Vec::new();
            part.read_to_end(&mut content)?;
            parts.push((head.name, head.file, content));
        }
        Ok(parts)
    }

    fn form(parts: &[(&str, &[u8])]) -> Vec<u8> {
        let mut form = Vec::new();
        for (disposition, content) in parts {
            form.extend(format!("--b0\r\nContent-Disposition: form-data; {disposition}\r\nContent-Type: text/plain\r\n\r\n").bytes());
            form.extend(*content);
            form.extend(b"\r\n");
        }
        form.extend(b"--b0--\r\n");
        form
    }

    #[test]
    fn a_boundary_is_what_the_type_says() {
        assert_eq!(boundary("multipart/form-data; boundary=----WebKitX1"), Some("----WebKitX1"));
        assert_eq!(boundary("Multipart/Form-Data; charset=x; Boundary=\"a b\""), None);
        assert_eq!(boundary("multipart/form-data; boundary=\"a=b\""), Some("a=b"));
        let long = format!("multipart/form-data; boundary={}", "x".repeat(71));
        for none in ["multipart/form-data", "multipart/form-data; boundary=", "text/plain; boundary=a", &long]
        {
            assert_eq!(boundary(none), None, "{none}");
        }
    }

    #[test]
    fn parts_have_names_and_files_as_browsers_write_them() {
        let form = form(&[
            ("name=\"csrf\"", b"1"),
            ("name=\"file\"; filename=\"a %22b%22.mbox\"", b"From \r\n--b\r\n--b1"),
            ("name=\"file\"; filename=\"../../x\"", b""),
        ]);
        let wanted: Parts = vec![
            ("csrf".to_owned(), None, b"1".to_vec()),
            ("file".to_owned(), Some("a \"b\".mbox".to_owned()), b"From \r\n--b\r\n--b1".to_vec()),
            ("file".to_owned(), Some("../../x".to_owned()), Vec::new()),
        ];
        for at_once in [1, 2, 3, 7, 100_000] {
            assert_eq!(read(&form, at_once).unwrap(), wanted, "{at_once}");
        }
    }

    #[test]
    fn what_is_no_form_is_refused() {
        let head = |text: &str| format!("--b0\r\n{text}\r\n\r\nx\r\n--b0--").into_bytes();
        let long = format!("Content-Disposition: form-data; name=\"{}\"", "x".repeat(MAX_HEAD));
        for bad in [
            b"".to_vec(),
            b"--b0".to_vec(),
            b"--b0x".to_vec(),
            vec![b'x'; 100_000],
            b"--b0\r\n\r\nx\r\n--b0--".to_vec(),
            head("Content-Type: text/plain"),
            head("Content-Disposition: attachment; name=\"x\""),
            head("Content-Disposition: form-data"),
            head(&long),
            b"--b0\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\nhalf of it".to_vec(),
            [b"--b0\r\n".to_vec(), vec![b'x'; 1 << 20]].concat(),
        ] {
            let shown = String::from_utf8_lossy(&bad[..bad.len().min(80)]).into_owned();
            assert!(read(&bad, 4096).is_err(), "{shown}");
        }
    }

    proptest! {
        #[test]
        fn content_comes_as_it_was_sent(
            contents in proptest::collection::vec(proptest::collection::vec(prop_oneof![
                Just(b'\r'), Just(b'\n'), Just(b'-'), Just(b'b'), Just(b'0'), any::<u8>()], 0..200), 0..5),
            at_once in 1usize..90,
        ) {
            prop_assume!(contents.iter().all(|content| {
                memchr::memmem::find(&[&b"\r\n"[..], content, b"\r\n"].concat(), b"\r\n--b0").is_none()
            }));
            let parts: Vec<(&str, &[u8])> = contents.iter().map(|content| ("name=\"f\"", content.as_slice())).collect();
            let found: Vec<Vec<u8>> = read(&form(&parts), at_once).unwrap().into_iter().map(|(_, _, content)| content).collect();
            prop_assert_eq!(found, contents);
        }

        #[test]
        fn no_form_is_read_beyond_its_bounds(bytes in proptest::collection::vec(any::<u8>(), 0..2000), at_once in 1usize..90) {
            let _ = read(&bytes, at_once);
        }
    }
}
