//! Whether things work, found out by trying: for `pdpp status --check` and `pdpp doctor`.

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
    /// As it should be.
    Ok,
    /// Works, and will or may not for long, or not as one would think.
    Warn,
    /// Nothing works before this is put right.
    Stop,
}

/// One finding of the doctor's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at.
    pub name: &'static str,
    /// How much it matters.
    pub level: Level,
    /// What was found, in a sentence or two.
    pub message: String,
    /// The stable code of the failure, where it has one.
    pub code: Option<String>,
    /// What to type.
    pub next: Option<Hint>,
}

impl Check {
    /// As it should be.
    pub fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, level: Level::Ok, message: message.into(), code: None, next: None }
    }

    /// Works, with a but.
    pub fn warn(name: &'static str, message: impl Into<String>, next: impl Into<Hint>) -> Self {
        Self { name, level: Level::Warn, message: message.into(), code: None, next: Some(next.into()) }
    }

    /// In the way.
    pub fn stop(name: &'static str, message: impl Into<String>, next: impl Into<Hint>) -> Self {
        Self { level: Level::Stop, ..Self::warn(name, message, next) }
    }

    /// What an error says.
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
