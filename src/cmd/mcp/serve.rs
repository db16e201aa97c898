//! `pdpp mcp serve`: MCP on stdin and stdout.

use std::sync::Arc;

use super::which::Which;
use crate::cmd::Global;
use crate::error::Result;
use crate::mcp::stdio;
use crate::ui::Ui;

/// Offer the granted data to an MCP host, on stdin and stdout
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    pub which: Which,
}

const AFTER_HELP: &str = "\
An MCP host starts this by itself; in a terminal it waits for JSON-RPC messages.
Ends with 78 if nothing is connected, 77 if an owner's credential is within reach.";

/// Serves until there is nobody to serve.
///
/// # Errors
/// `no_runtime`, `no_thread`; everything else is told to the client first.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    // Arguments and the index: nothing slower may happen before `initialize` is answered.
    match args.which.package(global) {
        Ok(package) => stdio::block_on(stdio::serve_stdio(Arc::new(package)))?.map(|_| 0),
        Err(error) => stdio::block_on(stdio::serve_refusal(&error, ui))?,
    }
}
