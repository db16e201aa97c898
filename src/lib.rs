//! `pdpp` lets an AI agent read a person's data through a grant that the person approved.
//!
//! # The house
//! - [`error`], [`text`], [`ui`], [`fs`]: one error, safe text, the one writer, private files.
//! - [`sandbox`]: an embedded provider with fictional data; shares nothing with [`provider`].
pub mod cache;
pub mod cmd;
pub mod error;
pub mod fs;
pub mod mcp;
pub mod provider;
pub mod sandbox;
pub mod text;
pub mod ui;
