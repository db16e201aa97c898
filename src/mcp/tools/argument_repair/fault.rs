//! What is wrong with an argument, and what to do with its value.

use serde_json::Value;

/// Most entries of a list argument, and most keys of an object argument.
pub(super) const MAX_ENTRIES: usize = 200;

/// Longest text that is read as something else than a text (JSON, a condition).
pub(super) const MAX_READ_BYTES: usize = 2_000;

/// What is wrong with one argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// `unknown_argument`, `missing_argument`, `invalid_argument`, `invalid_filter`, `invalid_expand_limit`.
    pub code: &'static str,
    /// The argument.
    pub param: String,
    /// What it must be.
    pub message: String,
    /// What helps, where that is more than the message.
    pub hint: Option<String>,
}

/// What to do with a wrong value.
#[derive(Debug, Clone, PartialEq)]
pub enum Meant {
    /// Say it so: the same call.
    So(Value),
    /// Leave the argument out: it said nothing.
    Nothing,
    /// Only the caller knows.
    Unknown,
}
