//! The formats, one file each. docs/formats.md says how to write one.

pub mod bank;
pub mod chatgpt;
pub mod claude;
pub mod claude_code;
pub mod codex;
pub mod csv;
#[cfg(test)]
mod example;
pub mod ical;
pub mod jsonl;
pub mod mail;
pub mod vcard;

use super::format::Format;

/// All formats, in the order in which help lists them.
pub const ALL: &[&dyn Format] = &[
    &mail::Mbox,
    &mail::Maildir,
    &mail::Eml,
    &mail::Emlx,
    &chatgpt::ChatGpt,
    &claude::Claude,
    &claude_code::ClaudeCode,
    &codex::Codex,
    &csv::Csv,
    &jsonl::Jsonl,
    &vcard::VCard,
    &ical::Ical,
    &bank::Ofx,
    &bank::Qif,
    &bank::BankCsv,
];
