//! Checks whether things work, for `pdpp status --check` and `pdpp doctor`.

pub mod credential;
pub mod doctor;
pub mod hosts;
pub mod machine;
pub mod provider;
pub mod set_up;
pub mod status;

use serde::Serialize;

use crate::advice::Hint;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// It works as it should.
    Ok,
    /// It works, but may stop working soon or may not work as expected.
    Warn,
    /// Nothing works until this is fixed.
    Stop,
}

/// One finding of `pdpp doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was checked.
    pub name: &'static str,
    /// How much it matters.
    pub level: Level,
    /// The finding, in one or two sentences.
    pub message: String,
    /// The stable error code, if the check failed with one.
    pub code: Option<String>,
    /// The command to type.
    pub next: Option<Hint>,
}

impl Check {
    /// A finding that all is well.
    pub fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, level: Level::Ok, message: message.into(), code: None, next: None }
    }

    /// A finding that works with a reservation.
    pub fn warn(name: &'static str, message: impl Into<String>, next: impl Into<Hint>) -> Self {
        Self { name, level: Level::Warn, message: message.into(), code: None, next: Some(next.into()) }
    }

    /// A finding that must be fixed first.
    pub fn stop(name: &'static str, message: impl Into<String>, next: impl Into<Hint>) -> Self {
        Self { level: Level::Stop, ..Self::warn(name, message, next) }
    }

    /// A finding with the text and hint of `error`.
    pub fn failed(name: &'static str, error: &crate::error::Error) -> Self {
        Self {
            name,
            level: Level::Stop,
            message: error.in_full(),
            code: Some(error.code().to_owned()),
            next: error.next().cloned(),
        }
    }
}
