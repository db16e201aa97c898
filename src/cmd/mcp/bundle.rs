//! `pdpp mcp bundle`: the entry point of an MCP bundle.

use std::ffi::OsString;

use super::serve::serve_noted;
use super::which::bounds;
use crate::bundle::{Program, SetUp, Settings};
use crate::cache::owner::refuse_owner_credentials_in_environment;
use crate::cmd::Global;
use crate::error::{Error, Result};
use crate::grants::serving;
use crate::mcp::protocol::stdio;
use crate::provider::http::Limits;
use crate::runtime;
use crate::ui::Ui;

/// Serve the granted data to a host that installed pdpp as a bundle, and get a grant first if its settings ask for
/// one
///
/// Serves the same tools as `pdpp mcp serve`. If nothing is granted yet, it starts anyway, and each call says what to
/// do. At its start, and never during a call, it asks for a grant of what the settings name, if there is none yet: it
/// runs `pdpp connect`, after `pdpp import` if they name an export, and you approve on a page in your browser. Once you have, the next call
/// reads; you do not need to restart anything.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// The provider to connect, if it is not connected yet; or `local`, for your own data on this computer
    #[arg(long, value_name = "URL", env = "PDPP_BUNDLE_CONNECT", hide_env_values = true)]
    connect: Option<OsString>,

    /// A folder or file with your export: import it and ask for a grant, if none of your own data is granted yet
    #[arg(long, value_name = "PATH", env = "PDPP_BUNDLE_IMPORT", hide_env_values = true)]
    import: Option<OsString>,

    /// The maximum size of either view of one result, in bytes, from 4000 to 48000 [default: 8000 for text, 10000 for
    /// structured output]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(4000..=48000))]
    max_result_bytes: Option<u64>,

    /// Do not log the calls (see `pdpp log`)
    #[arg(long)]
    no_access_log: bool,
}

const AFTER_HELP: &str = "\
A host starts this automatically and passes its settings in the two variables; a setting left empty counts as not set.
docs/hosts.md shows what you see. Exits with 77 if an owner's credential is within reach.";

/// Serves until the host ends the connection.
///
/// # Errors
/// As for `pdpp mcp serve`, and `no_thread` if no thread can be started.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    let (set_up, tools) = match prepare(args, global) {
        Ok(prepared) => prepared,
        Err(error) => return runtime::block_on(stdio::serve_refusal(&error, ui))?,
    };
    let served = serve_noted(tools, args.no_access_log, global);
    set_up.end();
    served
}

fn prepare(args: &Args, global: &Global) -> Result<(SetUp, crate::mcp::tools::service::Tools)> {
    refuse_owner_credentials_in_environment()?;
    let (cache, http) = (global.cache()?, global.http(Limits::default())?);
    let path = std::env::current_exe().map_err(|error| {
        Error::failed("not_started", "Could not determine the path of this program")
            .because(error)
            .hint("Install pdpp again")
    })?;
    let (arguments, environment) = global.handed_on();
    let settings = Settings::of_host(args.connect.clone(), args.import.clone());
    let set_up = SetUp::begin(&settings, Program { path, arguments, environment }, cache.clone())?;
    let explaining = set_up.clone();
    let unserved = move |error: &Error| explaining.explain(error);
    let tools = serving::tools_once_granted(cache, http, bounds(args.max_result_bytes), unserved);
    Ok((set_up, tools))
}
