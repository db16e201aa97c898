//! `pdpp` lets an AI agent read a person's data through a grant that the person approved.
//!
//! # The house
//! - [`error`], [`text`], [`ui`], [`fs`]: one error, safe text, the one writer, private files.
pub mod cache;
pub mod cmd;
pub mod error;
pub mod fs;
pub mod mcp;
pub mod provider;
pub mod text;
pub mod ui;
