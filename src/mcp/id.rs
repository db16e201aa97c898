//! Record handles: one self-contained text that names a record (R3.70 to R3.73).
//!
//! `{connection_id}/{stream}:{record_id}`, where exactly the reserved and hidden characters of the record id are
//! percent-encoded. The legacy form `stream:record_id` is accepted and never decoded. `pdpp://record/…` around either
//! form is accepted too.

use std::fmt::Write as _;

use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::text::{has_hidden, is_hidden, leading};

/// The maximum size of an accepted handle, in bytes.
pub const MAX_HANDLE_BYTES: usize = 4096;

/// The prefix of a record's resource URI.
pub const RECORD_URI: &str = "pdpp://record/";

/// A record, named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct RecordId {
    /// The connection it was read from, if the handle names it.
    pub connection: Option<String>,
    /// The stream.
    pub stream: String,
    /// The record's own id, decoded: the id on the resource server.
    pub record: String,
}

/// Why a text does not name a record. All of these are detected before any request (R3.72).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The form is wrong.
    #[error("it is not of the form connection_id/stream:record_id")]
    NotAHandle,
    /// The connection, stream or record part is empty.
    #[error("its {0} part is empty")]
    Empty(&'static str),
    /// It has more than one unencoded `/`.
    #[error("it has more than one `/`; inside a record id write %2F")]
    ExtraSeparator,
    /// It contains a backslash, `..` or an encoded form of either.
    #[error("its {0} part holds a character or sequence that is not allowed there")]
    Forbidden(&'static str),
    /// A URL cannot carry this record id as one segment.
    #[error("a record id that is exactly `.` or `..` cannot be requested")]
    DotSegment,
    /// It is encoded in another way than this program writes it.
    #[error("its record part is not encoded canonically; it is written {0}")]
    NotCanonical(String),
    /// It is too long.
    #[error("it is longer than {MAX_HANDLE_BYTES} bytes")]
    TooLong,
}

impl RecordId {
    /// The id of a row of the resource server, read from its envelope; `stream` is used if the row does not name one.
    pub fn of_row(row: &Map<String, Value>, stream: &str) -> Option<Self> {
        let text = |key: &str| row.get(key).and_then(Value::as_str);
        Some(Self {
            connection: text("connection_id").map(str::to_owned),
            stream: text("stream").unwrap_or(stream).to_owned(),
            record: text("id").or_else(|| text("record_key"))?.to_owned(),
        })
    }

    /// Reads any accepted form of handle.
    ///
    /// # Errors
    /// Returns [`IdError`] for everything that could reach another record or path than it shows.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if text.len() > MAX_HANDLE_BYTES {
            return Err(IdError::TooLong);
        }
        let Some(inner) = text.strip_prefix(RECORD_URI) else { return Self::parse_handle(text) };
        if let Some(id) = descriptor::decode(inner) {
            return id;
        }
        let inner = percent_decode_str(inner).decode_utf8().map_err(|_| IdError::NotAHandle)?;
        Self::parse_handle(&inner)
    }

    fn parse_handle(text: &str) -> Result<Self, IdError> {
        let Some((connection, rest)) = text.split_once('/') else { return Self::parse_legacy(text) };
        if rest.contains('/') {
            return Err(IdError::ExtraSeparator);
        }
        let (stream, record) = rest.split_once(':').ok_or(IdError::NotAHandle)?;
        check_name("connection", connection)?;
        check_name("stream", stream)?;
        if record.is_empty() {
            return Err(IdError::Empty("record"));
        }
        let decoded =
            percent_decode_str(record).decode_utf8().map_err(|_| IdError::Forbidden("record"))?.into_owned();
        let canonical = encode_record(&decoded);
        if canonical != record {
            return Err(IdError::NotCanonical(format!("{connection}/{stream}:{canonical}")));
        }
        Self { connection: Some(connection.to_owned()), stream: stream.to_owned(), record: decoded }
            .without_dot_segment()
    }

    fn parse_legacy(text: &str) -> Result<Self, IdError> {
        let (stream, record) = text.split_once(':').ok_or(IdError::NotAHandle)?;
        check_name("stream", stream)?;
        if record.is_empty() {
            return Err(IdError::Empty("record"));
        }
        if record.contains('\\') || record.contains("..") || has_hidden(record) {
            return Err(IdError::Forbidden("record"));
        }
        Self { connection: None, stream: stream.to_owned(), record: record.to_owned() }.without_dot_segment()
    }

    /// Builds the id from its parts, as `read_record_field` accepts them; nothing is decoded.
    ///
    /// # Errors
    /// Returns [`IdError`] for parts that a request cannot carry.
    pub fn from_parts(connection: &str, stream: &str, record: &str) -> Result<Self, IdError> {
        for (part, text) in [("connection", connection), ("stream", stream), ("record", record)] {
            if text.is_empty() {
                return Err(IdError::Empty(part));
            }
            if text.len() > MAX_HANDLE_BYTES {
                return Err(IdError::TooLong);
            }
        }
        check_segment("stream", stream)?;
        Self { connection: Some(connection.to_owned()), stream: stream.to_owned(), record: record.to_owned() }
            .without_dot_segment()
    }

    fn without_dot_segment(self) -> Result<Self, IdError> {
        if matches!(self.record.as_str(), "." | "..") { Err(IdError::DotSegment) } else { Ok(self) }
    }

    /// Whether the handle can carry the connection.
    pub fn is_self_contained(&self) -> bool {
        self.connection.as_deref().is_some_and(|connection| check_name("connection", connection).is_ok())
    }

    /// The handle: self-contained if the connection can be embedded, otherwise `stream:record_id`. `None` if neither
    /// form would read back as this record.
    pub fn handle(&self) -> Option<String> {
        check_name("stream", &self.stream).ok()?;
        if matches!(self.record.as_str(), "" | "." | "..") {
            return None;
        }
        let handle = match &self.connection {
            Some(connection) if self.is_self_contained() => {
                let length = connection.len() + self.stream.len() + self.record.len() + 8;
                let mut handle = String::with_capacity(length);
                for part in [connection, "/", &self.stream, ":"] {
                    handle.push_str(part);
                }
                encode_record_into(&mut handle, &self.record);
                handle
            }
            _ => {
                let legacy = format!("{}:{}", self.stream, self.record);
                let read_back = Self::parse(&legacy).ok()?;
                if read_back.record != self.record || read_back.stream != self.stream {
                    return None;
                }
                legacy
            }
        };
        (handle.len() <= MAX_HANDLE_BYTES).then_some(handle)
    }
}

/// Checks a connection or stream: only what the grammar can carry without encoding, and no path trick, encoded or
/// not.
fn check_name(part: &'static str, text: &str) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty(part));
    }
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')) {
        return Ok(());
    }
    let forbidden = text.contains(['/', '\\', '%'])
        || text.contains("..")
        || text == "."
        || has_hidden(text)
        || text.contains(char::is_whitespace)
        || (part == "stream" && text.contains(':'));
    if forbidden { Err(IdError::Forbidden(part)) } else { Ok(()) }
}

/// Checks a stream that is named in its own argument: it may contain anything that fits into one path segment.
///
/// # Errors
/// Returns [`IdError`] for path tricks and for what a URL cannot carry as one segment.
pub fn check_segment(part: &'static str, text: &str) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty(part));
    }
    let lower = text.to_ascii_lowercase();
    let forbidden = text.contains(['/', '\\'])
        || text.contains("..")
        || text == "."
        || ["%2e", "%2f", "%5c"].iter().any(|encoded| lower.contains(encoded));
    if forbidden { Err(IdError::Forbidden(part)) } else { Ok(()) }
}

/// Percent-encodes `/`, `\`, `%`, hidden characters, and the second dot of every `..`; nothing else.
fn encode_record(record: &str) -> String {
    let mut out = String::with_capacity(record.len() + 8);
    encode_record_into(&mut out, record);
    out
}

fn encode_record_into(out: &mut String, record: &str) {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'/' | b'\\' | b'%' | b'.');
    let (plain, rest) = record.split_at(leading(record.as_bytes(), is_plain));
    out.push_str(plain);
    let start = out.len();
    for c in rest.chars() {
        let is_second_dot = c == '.' && out[start..].ends_with('.');
        let reserved = matches!(c, '/' | '\\' | '%') || is_hidden(c) || is_second_dot;
        if reserved {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(c);
        }
    }
}

/// The JSON form inside `pdpp://record/…` that other PDPP tools write: base64url of
/// `{"connection_id", "stream", "record_id"}`.
mod descriptor {
    use base64::Engine as _;

    use super::IdError;
    use super::RecordId;
    use super::URL_SAFE_NO_PAD;
    use super::check_name;

    pub(super) fn decode(text: &str) -> Option<Result<RecordId, IdError>> {
        let json: serde_json::Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let part = |key: &str| json.get(key).and_then(serde_json::Value::as_str);
        let (stream, record) = (part("stream")?, part("record_id")?);
        Some(match part("connection_id") {
            Some(connection) => check_name("connection", connection)
                .and_then(|()| check_name("stream", stream))
                .and_then(|()| RecordId::from_parts(connection, stream, record)),
            None => RecordId::parse_legacy(&format!("{stream}:{record}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<RecordId, IdError> {
        RecordId::parse(text)
    }

    fn id(connection: Option<&str>, stream: &str, record: &str) -> RecordId {
        RecordId { connection: connection.map(str::to_owned), stream: stream.into(), record: record.into() }
    }

    #[test]
    fn r3_70_both_grammars_and_the_uri_are_accepted() {
        let full = id(Some("cin_a"), "orders", "o:1");
        assert_eq!(parse("cin_a/orders:o:1"), Ok(full.clone()));
        assert_eq!(parse("orders:o:1"), Ok(id(None, "orders", "o:1")));
        assert_eq!(parse("pdpp://record/cin_a%2Forders%3Ao%3A1"), Ok(full.clone()));
        let json = r#"{"v":1,"kind":"record","connection_id":"cin_a","stream":"orders","record_id":"o:1"}"#;
        let uri = format!("{RECORD_URI}{}", URL_SAFE_NO_PAD.encode(json));
        assert_eq!(parse(&uri), Ok(full));
    }

    #[test]
    fn r3_70_a_connection_that_cannot_survive_is_not_embedded() {
        for connection in ["a/b", "a\\b", "a%2Fb", "..", "a b", "a\u{202e}"] {
            let handle = id(Some(connection), "s", "r").handle();
            assert_eq!(handle.as_deref(), Some("s:r"), "{connection}");
        }
    }

    #[test]
    fn r3_72_tricks_are_refused() {
        let cases = [
            ("c/s:", IdError::Empty("record")),
            ("/s:r", IdError::Empty("connection")),
            ("c/:r", IdError::Empty("stream")),
            ("c/s:a/b", IdError::ExtraSeparator),
            ("c/s", IdError::NotAHandle),
            ("justtext", IdError::NotAHandle),
            ("../s:r", IdError::Forbidden("connection")),
            ("c%2Fd/s:r", IdError::Forbidden("connection")),
            ("c/s%2e%2e:r", IdError::Forbidden("stream")),
            ("c\\d/s:r", IdError::Forbidden("connection")),
            ("s:..\\x", IdError::Forbidden("record")),
            ("s:a..b", IdError::Forbidden("record")),
            ("s:.", IdError::DotSegment),
            ("c/s:.", IdError::DotSegment),
            ("c/s:.%2E", IdError::DotSegment),
        ];
        for (text, error) in cases {
            assert_eq!(parse(text), Err(error), "{text}");
        }
        assert!(matches!(parse("https://a.example/x:y"), Err(IdError::ExtraSeparator)));
        assert_eq!(parse(&format!("c/s:{}", "x".repeat(5000))), Err(IdError::TooLong));
    }

    #[test]
    fn r3_73_reserved_characters_round_trip_encoded() {
        let cases = [
            ("https://a.example/x?y", "c/s:https:%2F%2Fa.example%2Fx?y"),
            (r#"["art9","short_term"]"#, r#"c/s:["art9","short_term"]"#),
            ("50%", "c/s:50%25"),
            ("a..b...c", "c/s:a.%2Eb.%2E.c"),
            ("tab\there", "c/s:tab%09here"),
            ("\u{202e}x", "c/s:%E2%80%AEx"),
            ("日本", "c/s:日本"),
        ];
        for (record, handle) in cases {
            let id = id(Some("c"), "s", record);
            assert_eq!(id.handle().as_deref(), Some(handle));
            assert_eq!(parse(handle), Ok(id));
        }
    }

    #[test]
    fn r3_73_only_the_canonical_encoding_is_read() {
        assert_eq!(parse("c/s:50%"), Err(IdError::NotCanonical("c/s:50%25".into())));
        assert_eq!(parse("c/s:%41"), Err(IdError::NotCanonical("c/s:A".into())));
        assert_eq!(parse("c/s:2024%2f1"), Err(IdError::NotCanonical("c/s:2024%2F1".into())));
        assert!(parse("c/s:2024%2F1").is_ok(), "the suggested form is accepted");
        assert_eq!(parse("s:50%25"), Ok(id(None, "s", "50%25")), "legacy ids are never decoded");
    }

    proptest! {
        #[test]
        fn every_record_id_is_reachable_by_its_handle(record in any::<String>()) {
            let id = id(Some("cin_a"), "s", &record);
            match id.handle() {
                Some(handle) => {
                    prop_assert!(!handle.chars().any(is_hidden));
                    prop_assert_eq!(parse(&handle), Ok(id));
                }
                None => prop_assert!(matches!(record.as_str(), "" | "." | "..")),
            }
        }

        #[test]
        fn whatever_parses_is_written_back_as_it_was(text in "[a-c./:%\\\\2EF]{0,12}") {
            if let Ok(id) = parse(&text) {
                prop_assert_eq!(id.handle(), Some(text));
            }
        }
    }
}
