//! The formats, one file each. docs/formats.md says how to write one.

pub mod apple_health;
pub mod browser;
pub mod chatgpt;
pub mod claude;
pub mod claude_code;
pub mod codex;
pub mod csv;
#[cfg(test)]
mod example;
pub mod jsonl;
pub mod location;
pub mod mail;
pub mod spotify;
pub mod takeout_activity;
pub mod meta;
pub mod notes;
pub mod vcard;
pub mod x;
pub mod slack;
pub mod telegram;
pub mod vcard;
pub mod whatsapp;

use super::format::Format;

/// All formats, in the order in which help lists them.
pub const ALL: &[&dyn Format] = &[
    &mail::Mbox,
    &mail::Maildir,
    &mail::Eml,
    &mail::Emlx,
    &mail::Pst,
    &chatgpt::ChatGpt,
    &claude::Claude,
    &claude_code::ClaudeCode,
    &codex::Codex,
    &csv::Csv,
    &jsonl::Jsonl,
    &vcard::VCard,
    &takeout_activity::TakeoutActivity,
    &location::Location,
    &spotify::Spotify,
    &x::X,
    &meta::Meta,
    &apple_health::AppleHealth,
    &notes::Notes,
    &whatsapp::WhatsApp,
    &telegram::Telegram,
    &slack::Slack,
    &browser::Browser,
];
