//! The formats, one file each. docs/formats.md says how to write one.

pub mod chatgpt;
pub mod claude_code;
pub mod codex;

use super::format::Format;

/// All formats, in the order in which help lists them.
pub const ALL: &[&dyn Format] = &[&claude_code::ClaudeCode, &codex::Codex, &chatgpt::ChatGpt];
