//! The command line: one file or folder per command, each with its clap arguments (whose doc comments are the
//! help texts) and one `run`. There is no HTTP, JSON-RPC or file access here.
#![allow(missing_docs, clippy::doc_markdown, reason = "doc comments here are help texts")]

mod cli;
pub mod complete;
pub mod completions;
pub mod connect;
pub mod demo;
pub mod disconnect;
pub mod doctor;
mod doors;
mod global;
mod granted;
pub mod import;
pub mod log;
pub mod man;
pub mod mcp;
mod owner_links;
mod passphrases;
pub mod provider;
pub mod sandbox;
pub mod status;
pub mod usage;

pub use cli::{Cli, Command, run};
pub use global::{Global, LogLevel, ProxyArgument};
