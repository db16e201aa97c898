//! The formats, one file each. docs/formats.md says how to write one.

pub mod csv;
pub mod jsonl;

use super::format::Format;

/// All formats, in the order in which help lists them.
pub const ALL: &[&dyn Format] = &[&csv::Csv, &jsonl::Jsonl];
