//! Imports a person's own exports into their vault: recognised by content, planned, split into items,
//! parsed and written.
//!
//! A format is one file in [`formats`] that implements [`format::Format`]. It knows no database and no
//! archive: it receives bytes and returns records. [`survey`] determines what can be imported, and
//! [`pipeline`] brings it into the store, from where [`resume`] says that an earlier import ended.

pub mod account;
pub mod agent_session;
pub mod apart;
pub mod attachment_text;
pub mod cell;
pub mod charset;
pub mod chat_export;
pub mod content_line;
pub mod declare;
mod delivered;
pub mod digest;
pub mod earlier;
mod fit;
pub mod format;
pub mod formats;
mod gone;
mod half;
#[cfg(test)]
mod harness;
pub mod json_elements;
pub mod json_tree;
pub mod json_value;
pub mod kind_of_file;
pub mod lines;
pub mod others_database;
pub mod pipeline;
pub mod places;
mod queue;
pub mod refresh;
pub mod replaced;
pub mod resume;
pub mod sent_file;
pub mod survey;
pub mod table;
pub mod tally;
#[cfg(test)]
mod tests;
pub mod xml_elements;
