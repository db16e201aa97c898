//! The parts of a response, and how a request ended.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

pub(super) const JSON: &str = "application/json";

pub(super) const EVENTS: &str = "text/event-stream";

/// How a request ended, stored in the extensions of its response: for a log and for counters. Nothing in it comes
/// from a request or a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A message was answered.
    Answered {
        /// Whether the answer is a result without an error.
        is_ok: bool,
    },
    /// A notification was accepted.
    Accepted,
    /// The request was refused, with this code.
    Refused(&'static str),
}

/// Sets a header, if its value is valid.
pub(super) fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
