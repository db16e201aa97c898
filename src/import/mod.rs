//! A person's own exports into their vault: recognised by content, planned, split into items, parsed, written.
//!
//! A format is one file in [`formats`] that implements [`format::Format`]. It knows no database and no archive: it gets
//! bytes, and gives records.

pub mod agent_session;
pub mod declare;
pub mod digest;
pub mod format;
pub mod formats;
#[cfg(test)]
mod harness;
pub mod json_elements;
pub mod lines;
