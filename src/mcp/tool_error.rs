//! A tool's typed error: complete in the text, because hosts drop structured errors (R5.2).

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::ToolAnswer;
use super::evidence::line;
use crate::text;

/// Most characters of a message that came from outside.
const MAX_MESSAGE_BYTES: usize = 1000;

/// Most candidates named in one error (R5.3).
pub const MAX_CANDIDATES: usize = 12;

/// An error, as a model meets it: what happened, and what to do next.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolError(Box<Inner>);

#[derive(Debug, Clone, PartialEq)]
struct Inner {
    code: Cow<'static, str>,
    message: String,
    next: String,
    details: Map<String, Value>,
    candidates: Vec<Candidate>,
    candidates_total: usize,
}

/// A connection that a call could have meant (R5.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The grant that it belongs to.
    pub grant_id: Option<String>,
    /// The kind of source.
    pub connector_key: Option<String>,
    /// What to pass as `connection_id`.
    pub connection_id: String,
    /// What the owner calls it.
    pub label: Option<String>,
}

impl ToolError {
    /// An error with a stable code. `next` is what to do about it, ideally a call.
    pub fn new(
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self(Box::new(Inner {
            code: code.into(),
            message: message.into(),
            next: next.into(),
            details: Map::new(),
            candidates: Vec::new(),
            candidates_total: 0,
        }))
    }

    /// Adds a detail: `param`, `status`, `request_id` …
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.details.insert(key.to_owned(), value.into());
        self
    }

    /// Adds a detail where there is one.
    #[must_use]
    pub fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Names the connections that the call could have meant, at most [`MAX_CANDIDATES`] of them, and
    /// that `connection_id` chooses.
    #[must_use]
    pub fn choose_from(mut self, mut candidates: Vec<Candidate>) -> Self {
        self.0.candidates_total = candidates.len();
        candidates.truncate(MAX_CANDIDATES);
        self.0.candidates = candidates;
        self.with("retry_with", "connection_id")
    }

    /// Fills in what is known of each candidate.
    #[must_use]
    pub fn complete_candidates(mut self, complete: impl Fn(&mut Candidate)) -> Self {
        self.0.candidates.iter_mut().for_each(complete);
        self
    }

    /// The stable code.
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// A detail.
    pub fn detail(&self, key: &str) -> Option<&Value> {
        self.0.details.get(key)
    }

    /// What to do next.
    pub fn next(&self) -> &str {
        &self.0.next
    }

    /// What happened, bounded.
    pub fn message(&self) -> &str {
        text::prefix(&self.0.message, MAX_MESSAGE_BYTES)
    }

    /// The error as `structuredContent`: fits the `error` key of every output schema.
    pub fn to_structured(&self) -> Map<String, Value> {
        let mut error = Map::new();
        error.insert("code".into(), json!(self.0.code));
        error.insert("message".into(), json!(self.message()));
        error.extend(self.0.details.clone());
        if !self.0.candidates.is_empty() {
            let candidates = self.0.candidates.iter().map(Candidate::to_json).collect::<Vec<_>>();
            error.insert("available_connections".into(), candidates.into());
            if self.0.candidates_total > self.0.candidates.len() {
                error.insert("available_connections_total".into(), json!(self.0.candidates_total));
                error.insert("truncated".into(), json!(true));
            }
        }
        error.insert("next".into(), json!(self.0.next));
        Map::from_iter([("error".to_owned(), Value::Object(error))])
    }

    /// The error as the text of a result, complete.
    pub fn to_text(&self) -> String {
        let mut out = format!("error {}: {}", line::token(&self.0.code), text::one_line(self.message()));
        for (key, value) in &self.0.details {
            let _ = write!(out, "\n{key}={}", line::value(value, 400).text);
        }
        for candidate in &self.0.candidates {
            let _ = write!(out, "\nconnection_id={}", line::token(&candidate.connection_id));
            for (key, value) in [
                ("connector_key", &candidate.connector_key),
                ("label", &candidate.label),
                ("grant_id", &candidate.grant_id),
            ] {
                if let Some(value) = value {
                    let _ = write!(out, " {key}={}", line::token(text::prefix(value, 200)));
                }
            }
        }
        if self.0.candidates_total > self.0.candidates.len() {
            let _ = write!(
                out,
                "\n{} of {} connections shown; schema {{}} lists all",
                self.0.candidates.len(),
                self.0.candidates_total
            );
        }
        let _ = write!(out, "\nnext: {}", text::one_line(&self.0.next));
        out
    }
}

impl Candidate {
    fn to_json(&self) -> Value {
        let mut json = Map::new();
        let parts = [
            ("grant_id", self.grant_id.as_ref()),
            ("connector_key", self.connector_key.as_ref()),
            ("connection_id", Some(&self.connection_id)),
            ("display_name", self.label.as_ref()),
        ];
        for (key, value) in parts {
            if let Some(value) = value {
                json.insert(key.to_owned(), Value::String(text::prefix(value, 200).to_owned()));
            }
        }
        Value::Object(json)
    }
}

impl From<ToolError> for ToolAnswer {
    fn from(error: ToolError) -> Self {
        Self { text: error.to_text(), structured: Some(error.to_structured()), is_error: true, meta: None }
    }
}
