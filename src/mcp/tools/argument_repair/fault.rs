//! What is wrong with an argument, and what to do with its value.

use serde_json::Value;

/// The maximum number of entries in a list argument, and of keys in an object argument.
pub(super) const MAX_ENTRIES: usize = 200;

/// The maximum size of a text that is parsed as something other than a text (JSON, a condition).
pub(super) const MAX_READ_BYTES: usize = 2_000;

/// What is wrong with one argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// `unknown_argument`, `missing_argument`, `invalid_argument`, `invalid_filter`, `invalid_expand_limit`.
    pub code: &'static str,
    /// The argument.
    pub param: String,
    /// What the argument must be.
    pub message: String,
    /// Further help, if the message is not enough.
    pub hint: Option<String>,
}

/// What to do with a wrong value.
#[derive(Debug, Clone, PartialEq)]
pub enum Meant {
    /// Replace it with this value: the call means the same.
    So(Value),
    /// Leave the argument out: it had no effect.
    Nothing,
    /// Only the caller knows the right value.
    Unknown,
}
