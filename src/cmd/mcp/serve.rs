//! `pdpp mcp serve`: MCP on stdin and stdout.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::which::Which;
use crate::access_log::{AccessLog, Writer};
use crate::advice::{Command, Hint};
use crate::cmd::Global;
use crate::error::{Error, Result};
use crate::mcp::call_log::Recorded;
use crate::mcp::protocol::service::Service;
use crate::mcp::protocol::stdio::{self, Ended};
use crate::mcp::tools::service::Tools;
use crate::runtime;
use crate::ui::Ui;

/// Serve the granted data to an MCP host, on stdin and stdout
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    pub which: Which,

    /// Do not log the calls (see `pdpp log`)
    #[arg(long)]
    pub no_access_log: bool,

    /// Only report, as one JSON object, whether the tokens can be read here; contacts no provider
    #[arg(long)]
    pub check_tokens: bool,
}

/// How long the last lines of the access log may take after serving ends.
const LAST_LINES: Duration = Duration::from_millis(150);

const AFTER_HELP: &str = "\
An MCP host starts this automatically; in a terminal it waits for JSON-RPC messages.
Exits with 78 if nothing is connected, 77 if an owner's credential is within reach.";

/// Serves until the client ends the connection.
///
/// # Errors
/// Returns `runtime_failed`, `no_thread` or `output_failed`; any other error is reported to the client first.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    if args.check_tokens {
        let checked = args.which.check_tokens(global);
        ui.json(&checked.as_ref().map_or_else(Error::to_json, |()| json!({"error": null})));
        return Ok(checked.map_or_else(|error| error.kind().exit_code(), |()| 0));
    }
    if ui.can_ask() {
        ui.note(&format!(
            "Waiting for an MCP host's messages on standard input; Ctrl-C ends it. To have a host start it automatically: {}",
            Command::new("mcp setup")
        ));
    }
    // Only arguments and the index: nothing slower may happen before `initialize` is answered.
    match args.which.tools(global) {
        Ok(tools) => serve_noted(tools, args.no_access_log, global),
        Err(error) => runtime::block_on(stdio::serve_refusal(&error, ui))?,
    }
}

/// Serves `tools` until the client ends the connection, and logs each call unless there is no log.
pub(super) fn serve_noted(tools: Tools, no_access_log: bool, global: &Global) -> Result<u8> {
    if no_access_log {
        return serve(Arc::new(tools));
    }
    let log = Arc::new(Writer::new(AccessLog::new(global.cache()?.dir())));
    let served = serve(Arc::new(Recorded::new(tools, Arc::clone(&log) as _)));
    log.close(LAST_LINES);
    served
}

fn serve(service: Arc<dyn Service>) -> Result<u8> {
    let why = match runtime::block_on(stdio::serve_stdio(service))?? {
        Ended::OutputFailed(kind) => kind.to_string(),
        Ended::NoOutput => "standard output is closed".to_owned(),
        Ended::EndOfInput | Ended::Signal | Ended::OutputClosed | Ended::ParentGone => return Ok(0),
    };
    Err(Error::failed("output_failed", "The answers could not be written to standard output")
        .because(why)
        .hint(Hint::new("Let a host start it: ").run(Command::new("mcp setup"))))
}
