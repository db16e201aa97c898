//! How the records of an account are written down.

use std::fmt::Write as _;

use serde_json::Value;

use super::prose::{BEGIN, END};

/// One thing that happens to a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The stream.
    pub stream: &'static str,
    /// The key as one string: a JSON array if it is compound.
    pub key: String,
    /// When it was collected, in milliseconds since 1970.
    pub emitted_ms: i64,
    /// The record as JSON text; `None` deletes it.
    pub data: Option<String>,
}

/// A blob that a record's `blob_ref` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// `blob_sha256_…`.
    pub id: String,
    /// Its media type.
    pub media_type: &'static str,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Where the records of an account go.
pub struct Records<'a> {
    /// Receives an event.
    pub event: &'a mut dyn FnMut(Event),
    /// Receives a blob.
    pub blob: &'a mut dyn FnMut(Blob),
    clock: i64,
}

impl<'a> Records<'a> {
    /// Makes a writer that passes events and blobs on.
    pub fn new(event: &'a mut dyn FnMut(Event), blob: &'a mut dyn FnMut(Blob)) -> Self {
        Self { event, blob, clock: BEGIN * 1000 }
    }

    /// Writes a record, collected a second after the previous one.
    pub fn put(&mut self, stream: &'static str, key: impl Into<String>, data: Object) {
        self.clock += 1000;
        (self.event)(Event { stream, key: key.into(), emitted_ms: self.clock, data: Some(data.finish()) });
    }

    /// Writes a deletion.
    pub fn delete(&mut self, stream: &'static str, key: impl Into<String>) {
        self.clock += 1000;
        (self.event)(Event { stream, key: key.into(), emitted_ms: self.clock, data: None });
    }

    /// Sets the collection time of what follows to the end of the data.
    pub fn skip_to_the_end(&mut self) {
        self.clock = END * 1000;
    }
}

/// Writes a JSON object in the order of its fields, with every digit of its numbers.
#[derive(Debug)]
pub struct Object(String);

impl Object {
    /// An empty object.
    pub fn new() -> Self {
        Self(String::with_capacity(256))
    }

    /// Adds a field whose value is JSON already: a number, `null`, a list.
    #[must_use]
    pub fn raw(mut self, name: &str, json: impl std::fmt::Display) -> Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        let _ = write!(self.0, "\"{name}\":{json}");
        self
    }

    /// Adds a string.
    #[must_use]
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        let _ = write!(self.0, "\"{name}\":{}", Value::from(value));
        self
    }

    /// Adds a string or null.
    #[must_use]
    pub fn maybe(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self.raw(name, "null"),
        }
    }

    /// Adds an instant, given in seconds since 1970.
    #[must_use]
    pub fn at(self, name: &str, seconds: i64) -> Self {
        let text = instant(seconds);
        self.text(name, &text)
    }

    /// The JSON text.
    pub fn finish(mut self) -> String {
        if self.0.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        self.0
    }
}

impl Default for Object {
    fn default() -> Self {
        Self::new()
    }
}

/// `seconds` since 1970 as RFC 3339.
pub fn instant(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map(|at| at.to_string()).unwrap_or_default()
}

/// The date of `seconds` since 1970, in UTC.
pub fn date(seconds: i64) -> String {
    instant(seconds).chars().take(10).collect()
}

/// A JSON list of strings: a compound key, or a field's value.
pub fn list(values: &[&str]) -> String {
    Value::from(values).to_string()
}
