//! What responses are made of, and how a request ended.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

pub(super) const JSON: &str = "application/json";

pub(super) const EVENTS: &str = "text/event-stream";

/// How a request ended, in the extensions of its response: for a log and for counters. Nothing in it came
/// from a request or a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A message was answered.
    Answered {
        /// Whether the answer is a result that is no error.
        is_ok: bool,
    },
    /// A notification was taken.
    Accepted,
    /// Refused, with this code.
    Refused(&'static str),
}

/// Sets a header, where its value can be one.
pub(super) fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
