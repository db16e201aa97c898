//! Files that contain a single message.

use std::io::{self, Read};

use super::LARGEST;
use super::facts::Facts;
use super::header::Header;
use super::separator::{self, is_known};
use crate::import::format::{End, Out, Unit};

/// Passes on the one message of a file.
pub fn split(unit: &mut Unit<'_>, from: u64, facts: Facts, out: &mut Out<'_>) -> io::Result<End> {
    let mut bytes = Vec::new();
    let most = LARGEST as u64 + 1;
    (&mut *unit.bytes).take(most).read_to_end(&mut bytes)?;
    let mut end = bytes.len() as u64;
    if bytes.len() > LARGEST {
        end += io::copy(&mut *unit.bytes, &mut io::sink())?;
    }
    if from == end || bytes.trim_ascii().is_empty() {
        return Ok(End { at: end });
    }
    let raw = if bytes.len() > LARGEST {
        bytes.truncate(4096);
        Facts { is_too_large: true, ..facts }.raw(0, end, bytes)
    } else {
        // If the last line has no line end, the file may still be written. The records of this version are removed when a longer
        // one is read.
        let next = if bytes.ends_with(b"\n") { end } else { 0 };
        facts.with_time(&bytes, false, unit.modified_ms).raw(0, next, bytes)
    };
    let _ = out(raw);
    Ok(End { at: end })
}

/// Whether a file begins with the header of a message: it has fields that are typical of mail, at least one of them about its
/// origin.
pub fn begins_with_header(head: &[u8]) -> bool {
    let head = separator::skip_empty(head);
    if !head.starts_with(b"From ") && separator::header_name(head).is_none() {
        return false;
    }
    let Ok(header) = Header::parse(head, 0, |_| false) else { return false };
    let (mut known, mut other, mut is_sure) = (0, 0, false);
    for line in head[..header.body.min(head.len())].split(|byte| *byte == b'\n') {
        match separator::header_name(line) {
            Some(name) if is_known(name) => {
                known += 1;
                let origin = [
                    "from",
                    "received",
                    "return-path",
                    "delivered-to",
                    "message-id",
                    "sender",
                    "x-mozilla-status",
                ];
                is_sure |= origin.iter().any(|origin| name.eq_ignore_ascii_case(origin.as_bytes()));
            }
            Some(_) => {}
            None if line.trim_ascii().is_empty()
                || matches!(line[0], b' ' | b'\t' | b'>')
                || line.starts_with(b"From ") => {}
            // Only the last line may be cut off.
            None => other += 1,
        }
    }
    known >= 2 && is_sure && other <= 1
}
