//! `pdpp mcp`: the tools, for a model.

use clap::Subcommand;

use crate::error::Result;
use crate::ui::Ui;

pub mod bundle;
pub mod call;
pub mod host;
pub mod inspect;
pub mod serve;
pub mod setup;
mod which;

/// Serve the granted data to MCP hosts, and set those hosts up
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands of `pdpp mcp`.
#[derive(Debug, Subcommand)]
pub enum Command {
    Serve(serve::Args),
    Setup(setup::Args),
    Inspect(inspect::Args),
    Call(call::Args),
    Host(Box<host::Args>),
    Bundle(bundle::Args),
}

/// Runs the subcommand.
///
/// # Errors
/// Returns the subcommand's error.
pub fn run(args: &Args, global: &super::Global, ui: &Ui) -> Result<u8> {
    match &args.command {
        Command::Serve(args) => serve::run(args, global, ui),
        Command::Setup(args) => setup::run(args, global, ui),
        Command::Inspect(args) => inspect::run(args, ui),
        Command::Call(args) => call::run(args, global, ui),
        Command::Host(args) => host::run(args, global, ui),
        Command::Bundle(args) => bundle::run(args, global, ui),
    }
}
