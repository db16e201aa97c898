//! A tool's typed error: complete in the text, because hosts drop structured errors (R5.2).

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::mcp::call::Call;
use crate::mcp::line;
use crate::mcp::protocol::service::ToolAnswer;
use crate::mcp::size::json_len;
use crate::mcp::size::prefix_on_wire;
use crate::provider::rs::Refusal;
use crate::text;

/// The maximum size of either view of an error, in bytes: the smallest value of `--max-result-bytes` (R4.8).
const MAX_BYTES: usize = crate::mcp::size::Bounds::LEAST;
/// The maximum sizes of its parts, in bytes of JSON on the wire: text from outside may have any length.
const MAX_CODE_BYTES: usize = 100;
const MAX_MESSAGE_BYTES: usize = 1_000;
const MAX_NEXT_BYTES: usize = 800;
const MAX_HINT_BYTES: usize = 500;
const MAX_DETAIL_BYTES: usize = 200;
const MAX_DETAILS: usize = 6;
/// The maximum size of a candidate's label or key, in bytes.
const MAX_LABEL_BYTES: usize = 120;

/// The maximum number of candidates in one error (R5.3).
pub const MAX_CANDIDATES: usize = 12;

/// An error as a model sees it: what happened, and what to do next.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolError(Box<Inner>);

#[derive(Debug, Clone, PartialEq)]
struct Inner {
    code: Cow<'static, str>,
    message: String,
    hint: Option<String>,
    next: Option<Call>,
    details: Map<String, Value>,
    candidates: Vec<Candidate>,
    candidates_total: usize,
    refusal: Option<Refusal>,
}

/// What to do about an error: a call that can be made as it is, or a sentence if only the caller knows the call.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// The call.
    Call(Call),
    /// The sentence.
    Say(String),
}

impl From<Call> for Next {
    fn from(call: Call) -> Self {
        Self::Call(call)
    }
}

impl From<String> for Next {
    fn from(sentence: String) -> Self {
        Self::Say(sentence)
    }
}

impl From<&str> for Next {
    fn from(sentence: &str) -> Self {
        Self::Say(sentence.to_owned())
    }
}

/// A connection that a call could refer to (R5.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The grant that it belongs to.
    pub grant_id: Option<String>,
    /// The kind of source.
    pub connector_key: Option<String>,
    /// The value to pass as `connection_id`.
    pub connection_id: String,
    /// The owner's name for it.
    pub label: Option<String>,
}

impl ToolError {
    /// An error with a stable code. `next` says what to do about it, ideally as a call.
    pub fn new(
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        next: impl Into<Next>,
    ) -> Self {
        let (hint, next) = match next.into() {
            Next::Call(call) => (None, Some(call)),
            Next::Say(sentence) => (Some(sentence), None),
        };
        Self(Box::new(Inner {
            code: code.into(),
            message: message.into(),
            hint,
            next,
            details: Map::new(),
            candidates: Vec::new(),
            candidates_total: 0,
            refusal: None,
        }))
    }

    /// The provider's refusal: code and message stay its own (R5.1). What it means for the call is explained later,
    /// once, where the call is known.
    pub fn of_refusal(refusal: Refusal) -> Self {
        let mut error = Self::new(refusal.code.clone(), refusal.message.clone(), "")
            .with("status", refusal.status)
            .with_some("param", refusal.param.clone())
            .with_some("request_id", refusal.request_id.clone());
        error.0.hint = None;
        error.0.refusal = Some(refusal);
        error
    }

    /// Takes the provider's refusal, if it has not been explained yet.
    pub fn take_refusal(&mut self) -> Option<Refusal> {
        self.0.refusal.take()
    }

    /// Sets the sentence that says what to do; a call next to it stays.
    #[must_use]
    pub fn hint(mut self, sentence: impl Into<String>) -> Self {
        self.0.hint = Some(sentence.into());
        self
    }

    /// Offers a call, in addition to any sentence; `None` removes it.
    #[must_use]
    pub fn offer(mut self, call: Option<Call>) -> Self {
        self.0.next = call;
        self
    }

    /// Names the argument if the resource server did not (R5.1).
    #[must_use]
    pub fn about(self, param: &str) -> Self {
        if self.0.details.contains_key("param") { self } else { self.with("param", param) }
    }

    /// Removes a detail.
    #[must_use]
    pub fn without(mut self, key: &str) -> Self {
        self.0.details.remove(key);
        self
    }

    /// Adds a detail: `param`, `status`, `request_id` …
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.details.insert(key.to_owned(), value.into());
        self
    }

    /// Adds a detail if there is one.
    #[must_use]
    pub fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Names the connections that the call could refer to, at most [`MAX_CANDIDATES`], and that `connection_id`
    /// chooses between them.
    #[must_use]
    pub fn choose_from(mut self, mut candidates: Vec<Candidate>) -> Self {
        self.0.candidates_total = candidates.len();
        candidates.truncate(MAX_CANDIDATES);
        self.0.candidates = candidates;
        self.with("retry_with", "connection_id")
    }

    /// The choices, if the list is complete.
    pub fn all_candidates(&self) -> Option<&[Candidate]> {
        (self.0.candidates.len() == self.0.candidates_total).then_some(&self.0.candidates)
    }

    /// Appends to the message.
    #[must_use]
    pub fn and(mut self, more: &str) -> Self {
        self.0.message.push_str(more);
        self
    }

    /// Appends another way to continue.
    #[must_use]
    pub fn or_next(mut self, other: &str) -> Self {
        match &mut self.0.hint {
            Some(hint) => hint.push_str(other),
            none => *none = Some(other.trim_start_matches([',', ';', ' ']).to_owned()),
        }
        self
    }

    /// Keeps only the candidates that `is_one` accepts, if there are any.
    #[must_use]
    pub fn narrow_candidates(mut self, is_one: impl Fn(&Candidate) -> bool) -> Self {
        let all = std::mem::take(&mut self.0.candidates);
        let (some, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_one);
        if some.is_empty() {
            self.0.candidates = others;
        } else {
            self.0.candidates_total = some.len();
            self.0.candidates = some;
        }
        self
    }

    /// Adds what is known about each candidate.
    #[must_use]
    pub fn complete_candidates(mut self, complete: impl Fn(&mut Candidate)) -> Self {
        self.0.candidates.iter_mut().for_each(complete);
        self
    }

    /// The stable code.
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// A detail of the error.
    pub fn detail(&self, key: &str) -> Option<&Value> {
        self.0.details.get(key)
    }

    /// The call to make next, if there is one.
    pub fn next_call(&self) -> Option<&Call> {
        self.0.next.as_ref()
    }

    /// What to do next: the call, or the sentence if there is no call.
    pub fn next(&self) -> String {
        let sentence = || self.0.hint.clone().unwrap_or_default();
        self.0.next.as_ref().map_or_else(sentence, Call::to_text)
    }

    /// What happened, limited in size.
    pub fn message(&self) -> &str {
        prefix_on_wire(&self.0.message, MAX_MESSAGE_BYTES)
    }

    fn bounded_code(&self) -> &str {
        prefix_on_wire(&self.0.code, MAX_CODE_BYTES)
    }

    /// The call. One that repeats very long arguments is not helpful: the message says what to correct.
    fn bounded_next(&self) -> Option<&Call> {
        self.0.next.as_ref().filter(|call| json_len(&call.to_text()) <= MAX_NEXT_BYTES)
    }

    /// The sentence; there is always one if there is no call.
    fn bounded_hint(&self) -> Option<&str> {
        let hint = self.0.hint.as_deref().map(|hint| prefix_on_wire(hint, MAX_HINT_BYTES));
        let too_long = "correct the call as the message says; the call is too long to repeat here";
        let default = if self.0.next.is_some() { too_long } else { "correct the call as the message says" };
        hint.or_else(|| self.bounded_next().is_none().then_some(default))
    }

    fn bounded_details(&self) -> impl Iterator<Item = (&String, Value)> {
        self.0.details.iter().take(MAX_DETAILS).map(|(key, value)| {
            let value = match value {
                Value::String(text) if json_len(text) > MAX_DETAIL_BYTES => {
                    json!(format!("{}…", prefix_on_wire(text, MAX_DETAIL_BYTES)))
                }
                value if json_len(value) > MAX_DETAIL_BYTES => json!("…"),
                value => value.clone(),
            };
            (key, value)
        })
    }

    /// The candidates that fit next to the rest: a cut id would name another connection.
    fn fitting_candidates(&self) -> &[Candidate] {
        let next = self.bounded_next().map_or(0, |call| json_len(&call.to_text()));
        let hint = self.bounded_hint().map_or(0, |hint| json_len(&hint));
        let rest = json_len(&self.bounded_code()) + json_len(&self.message()) + next + hint + 40;
        let rest = rest
            + self.bounded_details().map(|(key, value)| json_len(key) + json_len(&value) + 2).sum::<usize>();
        let mut left = MAX_BYTES.saturating_sub(rest + 200);
        let fit = self.0.candidates.iter().take_while(|candidate| {
            let size = (json_len(&candidate.to_json()) + 1).max(candidate.to_line().len());
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        });
        &self.0.candidates[..fit.count()]
    }

    /// The error as `structuredContent`: fits the `error` key of every output schema.
    pub fn to_structured(&self) -> Map<String, Value> {
        let mut error = Map::new();
        error.insert("code".into(), json!(self.bounded_code()));
        error.insert("message".into(), json!(self.message()));
        error.extend(self.bounded_details().map(|(key, value)| (key.clone(), value)));
        if !self.0.candidates.is_empty() {
            let shown = self.fitting_candidates();
            error.insert(
                "available_connections".into(),
                shown.iter().map(Candidate::to_json).collect::<Vec<_>>().into(),
            );
            if self.0.candidates_total > shown.len() {
                error.insert("available_connections_total".into(), json!(self.0.candidates_total));
                error.insert("truncated".into(), json!(true));
            }
        }
        if let Some(hint) = self.bounded_hint() {
            error.insert("hint".into(), json!(hint));
        }
        if let Some(next) = self.bounded_next() {
            error.insert("next".into(), next.to_json());
        }
        Map::from_iter([("error".to_owned(), Value::Object(error))])
    }

    /// The error as the text of a result, complete.
    pub fn to_text(&self) -> String {
        let mut out = format!(
            "error {}: {}",
            line::token(self.bounded_code()),
            one_line(self.message(), MAX_MESSAGE_BYTES)
        );
        for (key, value) in self.bounded_details() {
            let _ = write!(out, "\n{key}={}", line::value(&value, 2 * MAX_DETAIL_BYTES).text);
        }
        let shown = self.fitting_candidates();
        for candidate in shown {
            out.push_str(&candidate.to_line());
        }
        if self.0.candidates_total > shown.len() {
            let _ = write!(
                out,
                "\n{} of {} connections shown; schema {{}} lists all",
                shown.len(),
                self.0.candidates_total
            );
        }
        match (self.bounded_hint(), self.bounded_next()) {
            (Some(hint), None) => {
                let _ = write!(out, "\nnext: {}", one_line(hint, MAX_HINT_BYTES));
            }
            (hint, Some(next)) => {
                if let Some(hint) = hint {
                    let _ = write!(out, "\nhint: {}", one_line(hint, MAX_HINT_BYTES));
                }
                let _ = write!(out, "\nnext: {}", one_line(&next.to_text(), 2 * MAX_NEXT_BYTES));
            }
            (None, None) => {}
        }
        out
    }
}

/// The text on one line within `max_bytes`: as a visible escape, a hidden character takes more room than on the wire.
fn one_line(text: &str, max_bytes: usize) -> String {
    text::shown_prefix(&text::one_line(text), max_bytes).to_owned()
}

impl Candidate {
    /// The connections of one source: id and label.
    pub fn of_source<'a>(
        grant_id: Option<&'a str>,
        connector_key: Option<&'a str>,
        connections: &'a [(String, Option<String>)],
    ) -> impl Iterator<Item = Self> + 'a {
        connections.iter().map(move |(id, label)| Self {
            grant_id: grant_id.map(str::to_owned),
            connector_key: connector_key.map(str::to_owned),
            connection_id: id.clone(),
            label: label.clone(),
        })
    }

    fn to_json(&self) -> Value {
        let mut json = Map::new();
        let parts = [
            ("grant_id", self.grant_id.as_ref()),
            ("connector_key", self.connector_key.as_ref()),
            ("display_name", self.label.as_ref()),
        ];
        for (key, value) in parts {
            if let Some(value) = value {
                json.insert(key.to_owned(), json!(prefix_on_wire(value, MAX_LABEL_BYTES)));
            }
        }
        json.insert("connection_id".to_owned(), json!(self.connection_id));
        Value::Object(json)
    }

    fn to_line(&self) -> String {
        let mut out = format!("\nconnection_id={}", line::token(&self.connection_id));
        for (key, value) in
            [("connector_key", &self.connector_key), ("label", &self.label), ("grant_id", &self.grant_id)]
        {
            if let Some(value) = value {
                let _ = write!(out, " {key}={}", line::token(prefix_on_wire(value, MAX_LABEL_BYTES)));
            }
        }
        out
    }
}

impl From<ToolError> for ToolAnswer {
    fn from(error: ToolError) -> Self {
        Self {
            text: error.to_text(),
            structured: Some(error.to_structured().into()),
            is_error: true,
            rows: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::call::Tool;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn r4_8_an_error_of_endless_parts_is_bounded_on_its_lines(
            code in any::<String>(), message in any::<String>(), times in 1usize..60, connections in 0usize..16
        ) {
            let long = message.repeat(times);
            let mut error = ToolError::new(code.repeat(times), long.clone(), long.clone());
            if times % 2 == 0 {
                error = error.offer(Some(Call::new(Tool::Search, json!({"q": message.clone()}))));
            }
            for key in ["param", "request_id", "status", "retry_after_seconds", "provider"] {
                error = error.with(key, long.clone());
            }
            let candidate = |n: usize| Candidate {
                grant_id: Some(long.clone()),
                connector_key: Some(long.clone()),
                connection_id: format!("{message}{n}"),
                label: Some(long.clone()),
            };
            let error = error.choose_from((0..connections).map(candidate).collect());
            let text = error.to_text();
            prop_assert!(text.len() <= MAX_BYTES, "{}", text.len());
            prop_assert!(json_len(&error.to_structured()) <= MAX_BYTES);
            prop_assert!(text::exposed(&text).all(|(_, c)| c == '\n'));
            let ours = ["error ", "param=", "request_id=", "status=", "retry_after_seconds=", "provider=",
                "retry_with=", "connection_id=", "hint: ", "next: "];
            let is_ours = |line: &str| ours.iter().any(|ours| line.starts_with(ours)) || line.ends_with("lists all");
            prop_assert!(text.lines().all(is_ours), "{text}");
        }
    }
}
