//! Converts a message in a PST file back to the mail message that it was (RFC 5322), so that it is read like all other mail. The
//! header that servers wrote is kept unchanged. If there is none, as in sent mail, the header is made from the properties. The
//! same PST message always gives the same mail message.

use std::fmt::Write as _;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::file::{ATTACHMENT, File};
use super::heap::{Properties, code_page};
use super::rtf;
use crate::import::digest;
use crate::import::formats::mail::LARGEST;

/// How deeply messages may be nested.
const DEEPEST: usize = 3;
/// The longest header from servers, and the longest other text apart from bodies, in bytes.
const LONGEST_HEADER: usize = 1024 * 1024;
const LONGEST_TEXT: usize = 64 * 1024;
/// The most attachments and recipients of a message.
const MOST_PARTS: usize = 900;
/// How much text an encoded word contains, in bytes.
const WORD: usize = 42;
/// How many bytes a line of base64 encodes.
const LINE: usize = 57;

/// Property numbers ([MS-OXPROPS]).
mod id {
    pub const SUBJECT: u16 = 0x0037;
    pub const SUBMITTED: u16 = 0x0039;
    pub const SENT_FOR_NAME: u16 = 0x0042;
    pub const SENT_FOR_ADDRESS: u16 = 0x0065;
    pub const RECEIVED_BY_ADDRESS: u16 = 0x0076;
    pub const HEADERS: u16 = 0x007d;
    pub const RECIPIENT_TYPE: u16 = 0x0c15;
    pub const SENDER_NAME: u16 = 0x0c1a;
    pub const SENDER_ADDRESS: u16 = 0x0c1f;
    pub const DELIVERED: u16 = 0x0e06;
    pub const FLAGS: u16 = 0x0e07;
    pub const BODY: u16 = 0x1000;
    pub const RTF: u16 = 0x1009;
    pub const HTML: u16 = 0x1013;
    pub const MESSAGE_ID: u16 = 0x1035;
    pub const REFERENCES: u16 = 0x1039;
    pub const IN_REPLY_TO: u16 = 0x1042;
    pub const LAST_VERB: u16 = 0x1081;
    pub const FLAG_STATUS: u16 = 0x1090;
    pub const NAME: u16 = 0x3001;
    pub const ADDRESS: u16 = 0x3003;
    pub const CREATED: u16 = 0x3007;
    pub const DATA: u16 = 0x3701;
    pub const FILE_NAME: u16 = 0x3704;
    pub const LONG_FILE_NAME: u16 = 0x3707;
    pub const MEDIA_TYPE: u16 = 0x370e;
    pub const CONTENT_ID: u16 = 0x3712;
    pub const SMTP_ADDRESS: u16 = 0x39fe;
    pub const INTERNET_CODE_PAGE: u16 = 0x3fde;
    pub const SENDER_SMTP: u16 = 0x5d01;
    pub const SENT_FOR_SMTP: u16 = 0x5d02;
    pub const RECEIVED_BY_SMTP: u16 = 0x5d07;
}

/// The node of a message's recipients.
const RECIPIENTS: u32 = 0x692;

/// A mail message that is being written.
#[derive(Default)]
struct Letter(Vec<u8>);

impl Letter {
    fn text(&mut self, text: &str) -> io::Result<()> {
        self.bytes(text.as_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.0.len() + bytes.len() > LARGEST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes a header field, encoded if necessary.
    fn field(&mut self, name: &str, value: &str) -> io::Result<()> {
        self.text(&format!("{name}: {}\n", encoded(value)))
    }
}

/// Converts a message.
///
/// # Errors
/// Fails if the message cannot be read or is damaged, or with [`io::ErrorKind::FileTooLarge`].
pub fn of(file: &mut File, message: &Properties) -> io::Result<Vec<u8>> {
    let mut letter = Letter::default();
    write(file, message, 0, &mut letter)?;
    Ok(letter.0)
}

/// What was done with a message, as Maildir flags.
pub fn flags(message: &Properties) -> String {
    let (flags, verb) = (message.number(id::FLAGS).unwrap_or(0), message.number(id::LAST_VERB));
    let all = [
        ('D', flags & 8 != 0),
        ('F', message.number(id::FLAG_STATUS) == Some(2)),
        ('R', matches!(verb, Some(102 | 103))),
        ('S', flags & 1 != 0),
    ];
    all.into_iter().filter_map(|(flag, is_set)| is_set.then_some(flag)).collect()
}

/// What identifies the owner of a message: the header from servers, and the address that it was delivered to.
pub fn delivery(file: &mut File, message: &Properties) -> String {
    let mut text = message.text(file, id::HEADERS, LONGEST_HEADER).unwrap_or_default().replace("\r\n", "\n");
    // The address goes after the last field, not after the empty line that follows.
    text.truncate(text.trim_end().len());
    text.push('\n');
    let address = [id::RECEIVED_BY_SMTP, id::RECEIVED_BY_ADDRESS];
    let mut address = address.into_iter().filter_map(|one| message.text(file, one, LONGEST_TEXT));
    if let Some(address) = address.find(|address| is_address(address)) {
        let _ = writeln!(text, "Delivered-To: {address}");
    }
    text
}

fn write(file: &mut File, message: &Properties, depth: usize, letter: &mut Letter) -> io::Result<()> {
    header(file, message, letter)?;
    let mut attachments = Vec::new();
    for one in message.nodes().iter().filter(|one| one.id & 0x1f == ATTACHMENT).take(MOST_PARTS) {
        attachments.push(Properties::read(file, one)?);
    }
    let plain = message.text(file, id::BODY, LARGEST).map(|text| text.replace("\r\n", "\n"));
    let html = html(file, message)?;
    let rtf = if plain.is_none() && html.is_none() { rtf_text(file, message)? } else { None };
    let plain = plain.or(rtf);
    // The same message has the same boundary in every file.
    let boundary = |kind: &str| {
        let html = html.as_ref().map_or(&[][..], |(bytes, _)| bytes);
        let parts = [plain.as_deref().unwrap_or_default().as_bytes(), html, kind.as_bytes()];
        format!("=_{}_{depth}", digest::name(parts))
    };
    let outer = boundary("mixed");
    letter.text("MIME-Version: 1.0\n")?;
    if !attachments.is_empty() {
        letter.text(&format!("Content-Type: multipart/mixed; boundary=\"{outer}\"\n\n--{outer}\n"))?;
    }
    let write_plain = |letter: &mut Letter, text: &str| {
        letter.text("Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n")?;
        letter.text(text)
    };
    let write_html = |letter: &mut Letter, (bytes, charset): &(Vec<u8>, Option<&str>)| {
        let charset = charset.map(|name| format!("; charset={name}")).unwrap_or_default();
        letter.text(&format!("Content-Type: text/html{charset}\nContent-Transfer-Encoding: 8bit\n\n"))?;
        letter.bytes(bytes)
    };
    match (&plain, &html) {
        (Some(plain), Some(html)) => {
            let inner = boundary("alternative");
            letter
                .text(&format!("Content-Type: multipart/alternative; boundary=\"{inner}\"\n\n--{inner}\n"))?;
            write_plain(letter, plain)?;
            letter.text(&format!("\n--{inner}\n"))?;
            write_html(letter, html)?;
            letter.text(&format!("\n--{inner}--\n"))?;
        }
        (None, Some(html)) => write_html(letter, html)?,
        (plain, None) => write_plain(letter, plain.as_deref().unwrap_or_default())?,
    }
    for (at, attachment) in attachments.iter().enumerate() {
        letter.text(&format!("\n--{outer}\n"))?;
        write_attachment(file, attachment, at + 1, depth, letter)?;
    }
    if !attachments.is_empty() {
        letter.text(&format!("\n--{outer}--\n"))?;
    }
    Ok(())
}

/// Writes the header without the fields that describe the body's encoding, because those are written again.
fn header(file: &mut File, message: &Properties, letter: &mut Letter) -> io::Result<()> {
    let servers = message.text(file, id::HEADERS, LONGEST_HEADER).unwrap_or_default();
    let (mut is_kept, mut names) = (false, Vec::new());
    for line in servers.lines() {
        if line.trim().is_empty() {
            // Some messages have text that is not part of the header after it.
            if names.is_empty() {
                continue;
            }
            break;
        }
        if !line.starts_with([' ', '\t']) {
            let name = line.split_once(':').map(|(name, _)| name.trim().to_ascii_lowercase());
            let name =
                name.filter(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()));
            is_kept =
                name.as_ref().is_some_and(|name| !name.starts_with("content-") && name != "mime-version");
            names.extend(name);
        }
        if is_kept {
            letter.text(line.trim_end())?;
            letter.text("\n")?;
        }
    }
    let has = |name: &str| names.iter().any(|known| known == name);
    let text = |file: &mut File, id| message.text(file, id, LONGEST_TEXT);
    if !has("from") {
        let name = text(file, id::SENT_FOR_NAME).or_else(|| text(file, id::SENDER_NAME));
        let ids = [id::SENT_FOR_SMTP, id::SENDER_SMTP, id::SENT_FOR_ADDRESS, id::SENDER_ADDRESS];
        let address = ids.into_iter().filter_map(|one| text(file, one)).find(|one| is_address(one));
        if let Some(person) = person(name, address) {
            letter.text(&format!("From: {person}\n"))?;
        }
    }
    if !has("to") && !has("cc") && !has("bcc") {
        let mut lists = [String::new(), String::new(), String::new()];
        for row in message.rows(file, RECIPIENTS)?.iter().take(MOST_PARTS) {
            let name = row.text(file, id::NAME, LONGEST_TEXT);
            let ids = [id::SMTP_ADDRESS, id::ADDRESS];
            let address = ids.into_iter().filter_map(|one| row.text(file, one, LONGEST_TEXT));
            let address = { address }.find(|one| is_address(one));
            let which = match row.number(id::RECIPIENT_TYPE).unwrap_or(1) & 0xf {
                2 => 1,
                3 => 2,
                _ => 0,
            };
            if let Some(person) = person(name, address) {
                let between = if lists[which].is_empty() { "" } else { ",\n " };
                let _ = write!(lists[which], "{between}{person}");
            }
        }
        for (name, list) in ["To", "Cc", "Bcc"].into_iter().zip(&lists).filter(|(_, list)| !list.is_empty()) {
            letter.text(&format!("{name}: {list}\n"))?;
        }
    }
    if !has("subject")
        && let Some(subject) = text(file, id::SUBJECT)
    {
        // The text may begin with the length of "Re: ".
        let plain = subject.strip_prefix('\u{1}').map_or(subject.as_str(), |rest| {
            let mut chars = rest.chars();
            let _ = chars.next();
            chars.as_str()
        });
        letter.field("Subject", plain)?;
    }
    let times = [id::SUBMITTED, id::DELIVERED, id::CREATED];
    let time = times.into_iter().find_map(|one| message.time_ms(file, one));
    if !has("date")
        && let Some(at) = time.and_then(|at| Timestamp::from_millisecond(at).ok())
    {
        let at = at.to_zoned(TimeZone::UTC).strftime("%a, %d %b %Y %H:%M:%S +0000");
        letter.text(&format!("Date: {at}\n"))?;
    }
    let ids =
        [("Message-ID", id::MESSAGE_ID), ("In-Reply-To", id::IN_REPLY_TO), ("References", id::REFERENCES)];
    for (name, id) in ids {
        if !has(&name.to_ascii_lowercase())
            && let Some(value) = text(file, id)
        {
            let value: Vec<&str> = value.split_whitespace().collect();
            letter.text(&format!("{name}: {}\n", value.join("\n ")))?;
        }
    }
    Ok(())
}

/// The HTML and, if known, its charset.
fn html(file: &mut File, message: &Properties) -> io::Result<Option<(Vec<u8>, Option<&'static str>)>> {
    if !message.is_binary(id::HTML) {
        let text = message.text(file, id::HTML, LARGEST);
        return Ok(text.map(|text| (text.into_bytes(), Some("utf-8"))));
    }
    let Some(bytes) = message.bytes(file, id::HTML, LARGEST)? else { return Ok(None) };
    let charset = message.number(id::INTERNET_CODE_PAGE).and_then(code_page).or(message.charset);
    Ok((!bytes.is_empty()).then(|| (bytes, charset.map(encoding_rs::Encoding::name))))
}

/// The text of a message that has only RTF.
fn rtf_text(file: &mut File, message: &Properties) -> io::Result<Option<String>> {
    let Some(packed) = message.bytes(file, id::RTF, LARGEST)? else { return Ok(None) };
    Ok(rtf::unpacked(&packed, LARGEST).map(|rtf| rtf::to_text(&rtf)).filter(|text| !text.trim().is_empty()))
}

fn write_attachment(
    file: &mut File,
    attachment: &Properties,
    number: usize,
    depth: usize,
    letter: &mut Letter,
) -> io::Result<()> {
    let object = attachment.object(id::DATA);
    if depth < DEEPEST
        && let Some(inner) = &object
        && let Ok(message) = Properties::read(file, inner)
    {
        letter.text("Content-Type: message/rfc822\nContent-Disposition: attachment\n\n")?;
        return write(file, &message, depth + 1, letter);
    }
    let text = |file: &mut File, id| attachment.text(file, id, LONGEST_TEXT);
    let name = text(file, id::LONG_FILE_NAME).or_else(|| text(file, id::FILE_NAME));
    let media_type = text(file, id::MEDIA_TYPE).filter(|text| is_media_type(text));
    letter
        .text(&format!("Content-Type: {}\n", media_type.as_deref().unwrap_or("application/octet-stream")))?;
    let content_id = text(file, id::CONTENT_ID).map(|text| one_line(&text));
    let how = if content_id.is_some() { "inline" } else { "attachment" };
    let name = name.map_or_else(|| format!("attachment {number}"), |name| one_line(&name));
    // RFC 2231.
    let name = percent_encoding::utf8_percent_encode(&name, percent_encoding::NON_ALPHANUMERIC);
    letter.text(&format!("Content-Disposition: {how}; filename*=utf-8''{name}\n"))?;
    if let Some(content_id) = content_id {
        letter.text(&format!("Content-ID: <{}>\n", content_id.trim_matches(['<', '>'])))?;
    }
    letter.text("Content-Transfer-Encoding: base64\n\n")?;
    let bytes = match object {
        // A drawing or another object.
        Some(inner) => file.data(inner.data, LARGEST)?.concat(),
        None => attachment.bytes(file, id::DATA, LARGEST)?.unwrap_or_default(),
    };
    if letter.0.len().saturating_add(bytes.len() / 3 * 4) > LARGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    for line in bytes.chunks(LINE) {
        letter.text(&STANDARD.encode(line))?;
        letter.text("\n")?;
    }
    Ok(())
}

fn is_address(text: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty()
            && part.chars().all(|char| char.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(char))
    };
    text.len() <= 320 && text.rsplit_once('@').is_some_and(|(user, host)| is_plain(user) && is_plain(host))
}

fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    text.split_once('/').is_some_and(|(kind, sub)| is_token(kind) && is_token(sub))
}

/// A person in header form. Within an organisation, names may have no address.
fn person(name: Option<String>, address: Option<String>) -> Option<String> {
    let name =
        name.map(|name| one_line(name.trim().trim_matches(['\'', '"']))).filter(|name| !name.is_empty());
    match (name, address) {
        (Some(name), Some(address)) if name != address => Some(format!("{} <{address}>", quoted(&name))),
        (_, Some(address)) => Some(format!("<{address}>")),
        (Some(name), None) if is_address(&name) => Some(format!("<{name}>")),
        (Some(name), None) => Some(format!("{} <>", quoted(&name))),
        (None, None) => None,
    }
}

/// A name in header form.
fn quoted(name: &str) -> String {
    if name.is_ascii() { format!("\"{}\"", name.replace(['\\', '"'], "'")) } else { encoded(name) }
}

fn one_line(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// A text in header form (RFC 2047).
fn encoded(text: &str) -> String {
    let text = one_line(text);
    if text.is_ascii() && !text.contains("=?") {
        return text;
    }
    let mut words = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (word, more) = rest.split_at(rest.floor_char_boundary(WORD));
        words.push(format!("=?utf-8?B?{}?=", STANDARD.encode(word)));
        rest = more;
    }
    words.join("\n ")
}
