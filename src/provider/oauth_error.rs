//! The answer of an authorization server that refuses.

use std::fmt;

use serde_json::Value;

use super::http::Answer;
use crate::text;

/// A named part of a request whose name a provider may not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `source.id`.
    Source,
    /// `instance_ids`.
    Instance,
    /// `streams[].name`.
    Stream,
    /// `streams[].fields`.
    Field,
}

impl Part {
    /// The word for it.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Instance => "instance",
            Self::Stream => "stream",
            Self::Field => "field",
        }
    }
}

/// An error answer of an authorization server: `{error, error_description}` (RFC 6749 §5.2), or the form
/// `{error:{code, message}}` that PDPP providers also use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthError {
    /// The HTTP status code.
    pub status: u16,
    /// The error code, at most 100 bytes.
    pub code: Option<String>,
    /// The description, at most 300 bytes.
    pub message: Option<String>,
}

impl OAuthError {
    /// Reads `answer`, whatever it contains.
    pub fn of(answer: &Answer) -> Self {
        let body = answer.object().unwrap_or_default();
        let short = |value: Option<&Value>, max| {
            value.and_then(Value::as_str).map(|text| text::prefix(text, max).to_owned())
        };
        let (code, message) = match body.get("error") {
            Some(Value::Object(error)) => (error.get("code"), error.get("message")),
            error => (error, body.get("error_description")),
        };
        Self { status: answer.status, code: short(code, 100), message: short(message, 300) }
    }

    /// Whether the code is `code`.
    pub fn is(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    /// Whether only `resource` (RFC 8707) was refused: an authorization server may not know it.
    pub fn is_of_resource(&self) -> bool {
        self.is("invalid_target") || (self.is("invalid_request") && self.says("resource"))
    }

    /// Whether the message contains `part`, ignoring case.
    pub fn says(&self, part: &str) -> bool {
        let message = self.message.as_deref().unwrap_or_default().to_ascii_lowercase();
        message.contains(&part.to_ascii_lowercase())
    }

    /// The part of the request that it does not know, if it reports one. There is no error code for it.
    pub fn unknown(&self) -> Option<Part> {
        [
            ("source", Part::Source),
            ("connector", Part::Source),
            ("instance", Part::Instance),
            ("connection", Part::Instance),
            ("stream", Part::Stream),
            ("field", Part::Field),
        ]
        .into_iter()
        .find(|(word, _)| self.says(&format!("unknown {word}")))
        .map(|(_, part)| part)
    }

    /// Whether the client id is unknown: `invalid_client`, or a message about it under another code.
    pub fn is_unknown_client(&self) -> bool {
        matches!(self.status, 400 | 401) && (self.is("invalid_client") || self.says("unknown client"))
    }
}

impl fmt::Display for OAuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.message, &self.code) {
            (Some(message), Some(code)) => write!(f, "{message} ({code})"),
            (Some(text), None) | (None, Some(text)) => f.write_str(text),
            (None, None) => write!(f, "HTTP {}", self.status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderMap;

    fn of(status: u16, body: &str) -> OAuthError {
        OAuthError::of(&Answer { status, headers: HeaderMap::new(), body: body.as_bytes().to_vec() })
    }

    #[test]
    fn both_shapes_are_read() {
        let flat = of(400, r#"{"error":"slow_down","error_description":"Too fast"}"#);
        assert!(flat.is("slow_down"));
        assert_eq!(flat.to_string(), "Too fast (slow_down)");
        let nested = of(403, r#"{"error":{"code":"access_denied","message":"No"}}"#);
        assert!(nested.is("access_denied"));
        assert_eq!(of(502, "<html>").to_string(), "HTTP 502");
        assert_eq!(of(400, r#"{"error":7}"#).to_string(), "HTTP 400");
    }

    #[test]
    fn an_unknown_client_is_known_by_code_or_message() {
        assert!(of(401, r#"{"error":"invalid_client"}"#).is_unknown_client());
        let message = r#"{"error":{"code":"invalid_request","message":"Unknown client_id: c"}}"#;
        assert!(of(400, message).is_unknown_client());
        assert!(!of(400, r#"{"error":"invalid_request"}"#).is_unknown_client());
        assert!(!of(503, r#"{"error":"invalid_client"}"#).is_unknown_client());
    }

    #[test]
    fn what_is_unknown_is_read_from_the_message() {
        let unknown = |message: &str| of(400, &format!(r#"{{"error":{{"message":"{message}"}}}}"#)).unknown();
        assert_eq!(unknown("Unknown source: { id: 'https://s.example/streams' }"), Some(Part::Source));
        assert_eq!(unknown("Unknown stream: fields"), Some(Part::Stream));
        assert_eq!(unknown("unknown field: x"), Some(Part::Field));
        assert_eq!(unknown("Unknown instance: x"), Some(Part::Instance));
        assert_eq!(unknown("Stream names have to be unique"), None);
    }

    #[test]
    fn a_long_message_is_cut() {
        let error = of(400, &format!(r#"{{"error":"{0}","error_description":"{0}"}}"#, "x".repeat(10_000)));
        assert!(error.to_string().len() < 450);
    }
}
