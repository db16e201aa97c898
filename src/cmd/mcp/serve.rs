//! `pdpp mcp serve`: MCP on stdin and stdout.

use crate::cmd::Global;
use crate::error::{Error, Kind, Result};
use crate::mcp::stdio;
use crate::ui::Ui;

/// Offer the granted data to an MCP host, on stdin and stdout
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Serve only the grants of this provider
    #[arg(long, value_name = "URL")]
    pub provider: Option<String>,

    /// Serve only this grant
    #[arg(long, value_name = "ID")]
    pub grant: Option<String>,
}

/// Serves until there is nobody to serve.
///
/// # Errors
/// `no_runtime`, `no_thread`.
pub fn run(_args: &Args, _global: &Global, ui: &Ui) -> Result<u8> {
    let error = Error::new(Kind::NotConnected, "not_connected", "No provider is connected")
        .hint("pdpp connect <provider-url>");
    stdio::block_on(stdio::serve_refusal(&error, ui))?
}
