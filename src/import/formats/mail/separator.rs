//! The separator line before each message of an mbox file, and how to tell it from similar lines in a message.

use jiff::civil;
use jiff::tz::{Offset, TimeZone};
use memchr::{memchr, memmem};

/// How many bytes after the beginning of a line are needed to decide whether it is a separator.
pub const LOOK_AHEAD: usize = 4096;

/// The longest separator line, in bytes.
const LONGEST: usize = 512;

/// What is known about a line that begins with `From `.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The line is a separator, and a message begins after it.
    Separator,
    /// The line is part of a message.
    Text,
    /// The file ends within a possible separator or the header after it.
    Begun,
    /// More bytes are needed to decide.
    Unknown,
}

/// Judges the line that begins at `at`. `is_end` means that nothing follows `bytes`.
///
/// A line with a date is a separator if a header follows. A line without one, as Thunderbird writes it, must follow an empty line
/// and precede two headers, of which at least one is well known, because people also begin sentences with "From".
pub fn judge(bytes: &[u8], at: usize, is_end: bool) -> Verdict {
    let tail = &bytes[at..];
    let seen = &tail[..tail.len().min(LOOK_AHEAD)];
    let undecided = match () {
        () if seen.len() == LOOK_AHEAD => Verdict::Text,
        () if is_end => Verdict::Begun,
        () => Verdict::Unknown,
    };
    if !seen.starts_with(b"From ") {
        let is_beginning = !seen.is_empty() && b"From ".starts_with(seen);
        return match undecided {
            Verdict::Begun if !is_beginning || !follows_empty_line(&bytes[..at]) => Verdict::Text,
            _ if !is_beginning && !seen.is_empty() => Verdict::Text,
            other => other,
        };
    }
    let Some(end) = memchr(b'\n', seen) else {
        let is_text =
            undecided == Verdict::Begun && !(follows_empty_line(&bytes[..at]) && may_become_one(seen));
        return if seen.len() >= LONGEST || is_text { Verdict::Text } else { undecided };
    };
    if end >= LONGEST {
        return Verdict::Text;
    }
    let line = seen[..end].trim_ascii_end();
    let has_date = parse_date(line).is_some();
    if !has_date && (!is_bare(line) || !follows_empty_line(&bytes[..at])) {
        return Verdict::Text;
    }
    let mut lines = seen[end + 1..].split_inclusive(|byte| *byte == b'\n');
    let Some(first) = lines.next() else { return undecided };
    let is_whole = |line: &[u8]| line.ends_with(b"\n");
    if has_date {
        // Some servers repeat the separator, quoted, as the first line of the header.
        if header_name(first).is_some() || first.starts_with(b">From ") {
            return Verdict::Separator;
        }
        return if is_whole(first) || first.len() > 128 { Verdict::Text } else { undecided };
    }
    let Some(name) = header_name(first) else {
        return if is_whole(first) || first.len() > 128 { Verdict::Text } else { undecided };
    };
    let Some(second) = lines.next() else { return undecided };
    let is_header = match header_name(second) {
        Some(next) => is_known(name) || is_known(next),
        None => is_known(name) && (second.starts_with(b" ") || second.starts_with(b"\t")),
    };
    if is_header {
        Verdict::Separator
    } else if is_whole(second) || header_name(second).is_some() || second.len() > 128 {
        Verdict::Text
    } else {
        undecided
    }
}

/// Whether an incomplete line may become a separator: an address or a part of it, followed by a day. A last line such as `From my
/// garden` may not.
fn may_become_one(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&line[5.min(line.len())..]);
    let mut words = text.split_ascii_whitespace().skip(1);
    words.next().is_none_or(|word| DAYS.iter().any(|day| day.starts_with(word)))
}

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Whether the line is `From `, `From -` or `From ana@example.org`.
fn is_bare(line: &[u8]) -> bool {
    let rest = line[5.min(line.len())..].trim_ascii();
    rest.is_empty() || rest == b"-" || (!rest.contains(&b' ') && rest.contains(&b'@'))
}

/// Where the bytes end with an incomplete `From ` at the beginning of a line that follows an empty one.
pub fn cut_off(bytes: &[u8]) -> Option<usize> {
    let at = bytes.len() - bytes.iter().rev().take(5).position(|byte| *byte == b'\n')?;
    (at < bytes.len() && judge(bytes, at, true) == Verdict::Begun).then_some(at)
}

fn follows_empty_line(before: &[u8]) -> bool {
    before.is_empty() || before.ends_with(b"\n\n") || before.ends_with(b"\n\r\n")
}

/// The name of the header that a line begins: printable characters, then a colon.
pub fn header_name(line: &[u8]) -> Option<&[u8]> {
    let colon = line.iter().take(128).position(|byte| !matches!(byte, b'!'..=b'9' | b';'..=b'~'))?;
    (colon > 0 && line[colon] == b':').then(|| &line[..colon])
}

/// Whether a header name is typical of mail.
pub fn is_known(name: &[u8]) -> bool {
    const NAMES: [&str; 22] = [
        "return-path",
        "received",
        "delivered-to",
        "x-original-to",
        "from",
        "to",
        "cc",
        "subject",
        "date",
        "message-id",
        "mime-version",
        "content-type",
        "sender",
        "reply-to",
        "in-reply-to",
        "references",
        "dkim-signature",
        "envelope-to",
        "status",
        "x-mozilla-status",
        "x-gm-thrid",
        "x-uidl",
    ];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The date of a separator line in milliseconds since 1970: `Tue Jan  2 03:04:05 2024`. A zone may come before or after the year;
/// without one, the time is UTC (RFC 4155).
pub fn parse_date(line: &[u8]) -> Option<i64> {
    // Addresses may contain spaces, so the date is read from the end.
    let text = str::from_utf8(line.get(5..)?).ok()?;
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let clock = words.iter().rposition(|word| clock_of(word).is_some())?;
    let (hour, minute, second) = clock_of(words[clock])?;
    let day: i8 = words.get(clock.checked_sub(1)?)?.parse().ok()?;
    let month_word = words.get(clock.checked_sub(2)?)?;
    let month = MONTHS.iter().position(|month| month.eq_ignore_ascii_case(month_word))?;
    let behind = words.get(clock + 1..)?;
    let year: i16 = behind.iter().take(3).find_map(|word| (word.len() == 4).then(|| word.parse().ok())?)?;
    let offset = behind.iter().take(3).find_map(|word| offset_of(word)).unwrap_or(Offset::UTC);
    let date =
        civil::DateTime::new(year, i8::try_from(month).ok()? + 1, day, hour, minute, second, 0).ok()?;
    let at = TimeZone::fixed(offset).to_timestamp(date).ok()?;
    Some(at.as_millisecond())
}

fn clock_of(word: &str) -> Option<(i8, i8, i8)> {
    let mut parts = word.split(':');
    let mut next = || parts.next().filter(|part| part.len() <= 2).and_then(|part| part.parse::<i8>().ok());
    let (hour, minute) = (next()?, next()?);
    let second = if word.matches(':').count() == 2 { next()?.min(59) } else { 0 };
    Some((hour, minute, second))
}

fn offset_of(word: &str) -> Option<Offset> {
    let (sign, digits) =
        word.strip_prefix('+').map(|rest| (1, rest)).or(word.strip_prefix('-').map(|rest| (-1, rest)))?;
    if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: i32 = digits.parse().ok()?;
    Offset::from_seconds(sign * (number / 100 * 3600 + number % 100 * 60)).ok()
}

/// The number that identifies a message in Gmail's exports: `From 1589012345678901234@xxx Tue …`.
pub fn gmail_number(line: &[u8]) -> Option<&str> {
    let text = str::from_utf8(line.strip_prefix(b"From ")?).ok()?;
    let (number, _) = text.split_once("@xxx")?;
    ((10..=20).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
}

/// Whether a file begins with a separator, possibly after empty lines.
pub fn begins(head: &[u8], is_whole: bool) -> bool {
    judge(skip_empty(head), 0, is_whole) == Verdict::Separator
}

/// Skips a UTF-8 byte order mark and leading empty lines.
pub fn skip_empty(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let blanks = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    &bytes[blanks..]
}

/// Finds lines that begin with `From `.
pub fn finder() -> memmem::Finder<'static> {
    memmem::Finder::new("\nFrom ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str) -> Verdict {
        let at = text.find("From ").unwrap();
        judge(text.as_bytes(), at, true)
    }

    #[test]
    fn a_line_with_a_date_before_a_header_separates() {
        for line in [
            "From ana@example.org Tue Jan  2 03:04:05 2024",
            "From - Tue Jan 02 03:04:05 2024",
            "From 1589012345678901234@xxx Tue Jan 02 03:04:05 +0000 2024",
            "From MAILER-DAEMON Fri Jul  8 12:08:34 2011 +0200",
            "From \"ana maria\"@example.org Tue Jan  2 03:04:05 CET 2024",
            "From ana Tue Jan  2 03:04 2024",
        ] {
            assert_eq!(verdict(&format!("{line}\nSubject: x\n\n")), Verdict::Separator, "{line}");
            assert_eq!(verdict(&format!("{line}\r\nReceived: x\r\n")), Verdict::Separator, "{line}");
            assert_eq!(verdict(&format!("{line}\nIt was cold.\n")), Verdict::Text, "{line}");
            assert_eq!(verdict(&format!("{line}\n\nSubject: x\n")), Verdict::Text, "{line}");
        }
    }

    #[test]
    fn a_bare_line_separates_where_headers_follow() {
        for line in ["From ", "From -", "From ana@example.org"] {
            assert_eq!(
                verdict(&format!("x\n\n{line}\nX-Mozilla-Status: 0001\nDate: y\n")),
                Verdict::Separator
            );
            assert_eq!(verdict(&format!("x\r\n\r\n{line}\r\nSubject: a\r\n b\r\n")), Verdict::Separator);
            assert_eq!(verdict(&format!("x\n{line}\nSubject: a\nDate: y\n")), Verdict::Text);
            assert_eq!(verdict(&format!("x\n\n{line}\nNote: a\nThat: y\n")), Verdict::Text);
            assert_eq!(verdict(&format!("x\n\n{line}\nSubject: a\n\n")), Verdict::Text);
        }
        assert_eq!(verdict("x\n\nFrom here on\nSubject: a\nDate: y\n"), Verdict::Text);
    }

    #[test]
    fn a_cut_is_undecided_until_the_end() {
        let text = b"From ana@example.org Tue Jan  2 03:04:05 2024\nSubject: x\n";
        for end in 0..text.len() {
            let early = judge(&text[..end], 0, false);
            assert!(
                early == Verdict::Unknown || (early == Verdict::Separator && end > 50),
                "{end} {early:?}"
            );
        }
        assert_eq!(judge(&[b'F'; 10], 0, false), Verdict::Text);
        let long = [&b"From "[..], &[b'x'; 600]].concat();
        assert_eq!(judge(&long, 0, false), Verdict::Text);
    }

    #[test]
    fn dates_read() {
        let at = 1_704_164_645_000;
        assert_eq!(parse_date(b"From a Tue Jan  2 03:04:05 2024"), Some(at));
        assert_eq!(parse_date(b"From 1@xxx Tue Jan 02 03:04:05 +0000 2024"), Some(at));
        assert_eq!(parse_date(b"From a Tue Jan  2 05:04:05 2024 +0200"), Some(at));
        assert_eq!(parse_date(b"From a Tue Foo 32 03:04:05 2024"), None);
        assert_eq!(gmail_number(b"From 1589012345678901234@xxx Tue"), Some("1589012345678901234"));
        assert_eq!(gmail_number(b"From ana@xxx Tue"), None);
    }
}
