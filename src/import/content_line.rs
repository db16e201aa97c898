//! Lines of contacts and calendars (RFC 6350, RFC 5545): a name, parameters and a value, which may
//! continue on the next line.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// A line: `item1.EMAIL;TYPE=home:ana@example.org`.
#[derive(Debug, PartialEq, Eq)]
pub struct Property {
    /// In upper case, without its group.
    pub name: String,
    /// Its parameters: `NAME=value`, in upper case except for the values. In version 2.1, a bare one is a
    /// type.
    pub parameters: Vec<(String, String)>,
    /// The decoded value, without escapes unless it is structured.
    pub value: String,
    /// The escaped value, from which its parts are made.
    pub escaped: String,
}

impl Property {
    /// The parts of a structured value: `Hansen;Ana;;;`.
    pub fn parts(&self) -> Vec<String> {
        let mut parts = vec![String::new()];
        let mut is_escaped = false;
        for c in self.escaped.chars() {
            match c {
                ';' if !is_escaped => parts.push(String::new()),
                c => {
                    if let Some(part) = parts.last_mut() {
                        part.push(c);
                    }
                }
            }
            is_escaped = c == '\\' && !is_escaped;
        }
        parts.iter().map(|part| unescaped(part)).collect()
    }

    /// The value of a parameter, without its quotes.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The properties of a card, an event or the like, including those of what is nested in it.
pub fn properties(bytes: &[u8]) -> Vec<Property> {
    let mut properties = Vec::new();
    let mut lines =
        bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).peekable();
    while let Some(line) = lines.next() {
        let mut whole = line.to_vec();
        // RFC 6350 §3.2: a line continues on the next one, after a space or a tab.
        while let Some(more) = lines.next_if(|next| matches!(next.first(), Some(b' ' | b'\t'))) {
            whole.extend_from_slice(&more[1..]);
        }
        let Some((head, value)) = head_and_value(&whole) else { continue };
        let mut value = value.to_vec();
        let is_quoted = head.iter().skip(1).any(|part| {
            let part = part.to_ascii_uppercase();
            part == "QUOTED-PRINTABLE" || part == "ENCODING=QUOTED-PRINTABLE"
        });
        // Version 2.1: such a value continues after `=` at the end of its line, without a space.
        while is_quoted && value.ends_with(b"=") {
            let Some(more) = lines.next() else { break };
            value.pop();
            value.extend_from_slice(more);
        }
        properties.extend(property(&head, &value, is_quoted));
    }
    properties
}

/// The text before the colon, split at its semicolons, and the text after it.
fn head_and_value(line: &[u8]) -> Option<(Vec<String>, &[u8])> {
    let (mut is_quoted, mut start, mut parts) = (false, 0, Vec::new());
    for (at, byte) in line.iter().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b';' | b':' if !is_quoted => {
                parts.push(String::from_utf8_lossy(&line[start..at]).into_owned());
                start = at + 1;
                if *byte == b':' {
                    return Some((parts, &line[start..]));
                }
            }
            _ => {}
        }
    }
    None
}

fn property(head: &[String], value: &[u8], is_quoted: bool) -> Option<Property> {
    let name = head.first()?.rsplit('.').next()?.trim().to_ascii_uppercase();
    let parameters: Vec<(String, String)> = head[1..]
        .iter()
        .map(|parameter| match parameter.split_once('=') {
            Some((name, value)) => (name.trim().to_ascii_uppercase(), value.trim_matches('"').to_owned()),
            None => ("TYPE".to_owned(), parameter.clone()),
        })
        .collect();
    // Photos and files are not read.
    if matches!(name.as_str(), "PHOTO" | "LOGO" | "SOUND" | "KEY" | "ATTACH" | "IMAGE") {
        return Some(Property { name, parameters, value: String::new(), escaped: String::new() });
    }
    let charset =
        parameters.iter().find(|(name, _)| name == "CHARSET").map(|(_, charset)| charset.as_bytes());
    let charset = charset.and_then(Encoding::for_label);
    let decoded = if is_quoted { unquoted(value) } else { value.to_vec() };
    let is_utf8 = std::str::from_utf8(&decoded).is_ok();
    let charset = charset.unwrap_or(if is_utf8 { UTF_8 } else { WINDOWS_1252 });
    let escaped = charset.decode_without_bom_handling(&decoded).0.into_owned();
    Some(Property { name, parameters, value: unescaped(&escaped), escaped })
}

/// Quoted-printable without its soft line breaks.
fn unquoted(value: &[u8]) -> Vec<u8> {
    let digit = |byte: Option<&u8>| {
        byte.and_then(|byte| char::from(*byte).to_digit(16)).and_then(|of| u8::try_from(of).ok())
    };
    let (mut bytes, mut at) = (Vec::with_capacity(value.len()), 0);
    while let Some(byte) = value.get(at) {
        match (byte, digit(value.get(at + 1)), digit(value.get(at + 2))) {
            (b'=', Some(high), Some(low)) => {
                bytes.push(high * 16 + low);
                at += 3;
            }
            (byte, ..) => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    bytes
}

/// A value without the escapes of its special characters (RFC 6350 §3.4).
pub fn unescaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n' | 'N') => text.push('\n'),
                Some(c @ (',' | ';' | '\\' | ':')) => text.push(c),
                Some(c) => text.extend(['\\', c]),
                None => text.push('\\'),
            },
            '\r' => {}
            c => text.push(c),
        }
    }
    text
}
