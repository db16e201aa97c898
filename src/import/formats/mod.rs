//! The formats, one file or folder for each. docs/formats.md describes how to write one.

pub mod apple_health;
pub mod bank;
pub mod browser;
pub mod chatgpt;
pub mod claude;
pub mod claude_code;
pub mod codex;
pub mod csv;
#[cfg(test)]
mod example;
pub mod ical;
pub mod jsonl;
pub mod location;
pub mod mail;
pub mod meta;
pub mod notes;
pub mod slack;
pub mod spotify;
pub mod takeout_activity;
pub mod telegram;
pub mod vcard;
pub mod whatsapp;
pub mod x;

use super::format::Format;
use crate::vault::declaration::Connector;

/// All formats, in the order in which the help lists them.
pub const ALL: &[&dyn Format] = &[
    &mail::Mbox,
    &mail::Maildir,
    &mail::Emlx,
    &mail::Eml,
    &mail::Pst,
    &whatsapp::WhatsApp,
    &telegram::Telegram,
    &slack::Slack,
    &meta::Meta,
    &x::X,
    &ical::Ical,
    &vcard::VCard,
    &bank::Ofx,
    &bank::Qif,
    &bank::BankCsv,
    &chatgpt::ChatGpt,
    &claude::Claude,
    &claude_code::ClaudeCode,
    &codex::Codex,
    &spotify::Spotify,
    &takeout_activity::TakeoutActivity,
    &location::Location,
    &browser::Browser,
    &apple_health::AppleHealth,
    &notes::Notes,
    &csv::Csv,
    &jsonl::Jsonl,
];

/// Updates a `connector` that a store declared earlier: marks the fields that its format now declares to reveal events later than
/// the record's own time.
pub fn renew(connector: &mut Connector) {
    for declared in ALL.iter().flat_map(|format| format.declares()) {
        declared.renew(connector);
    }
}
