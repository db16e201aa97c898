//! `pdpp sandbox`: the embedded provider.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::owner_links::OwnerLinks;
use crate::error::Result;
use crate::sandbox::{self, Config};
use crate::ui::Ui;

/// Run a PDPP provider on this computer, with made-up data
///
/// Lets you try everything with only this program: connect to it, approve in the browser, and read. It has seven
/// accounts of a made-up person and enforces grants as a real provider does. For each request it prints a link in
/// this terminal. Only a person who has that link can decide.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to listen: a loopback address. Port 0 picks a free port
    #[arg(long, value_name = "ADDR:PORT", default_value_t = SocketAddr::from(([127, 0, 0, 1], sandbox::DEFAULT_PORT)))]
    pub listen: SocketAddr,

    /// Keep data, grants and clients in this directory [default: in memory]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,

    /// The seed for the made-up data of a new store. The same seed always makes the same data
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Act as a strict v0.1 Core provider: no schema, search, aggregate or field windows. Filters, expansion and
    /// views are refused
    #[arg(long)]
    pub core: bool,

    /// For tests: approve every request without asking. Every program on this computer then gets a token, other
    /// users' programs too
    #[arg(long)]
    pub auto_approve: bool,

    /// Print where it listens as one line of JSON on stdout: {"url":…,"mcp_url":…,"pid":…}
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  pdpp sandbox                                in memory, discarded when it stops
  pdpp connect http://127.0.0.1:7377          in another terminal; then open the link printed here
  pdpp sandbox --data-dir ~/pdpp-sandbox      keep data, grants and clients
  pdpp sandbox --listen 127.0.0.1:0 --json    a free port, for a script";

/// Serves until it is stopped.
///
/// # Errors
/// Returns the errors of [`sandbox::start`], or `output_failed`.
pub fn run(args: Args, ui: &Ui) -> Result<u8> {
    let (json, auto_approve) = (args.json, args.auto_approve);
    let kept = args.data_dir.clone();
    let links = OwnerLinks::new();
    let handle = sandbox::start(Config {
        listen: args.listen,
        data_dir: args.data_dir,
        seed: Some(args.seed),
        core: args.core,
        auto_approve,
        announce: links.announce(),
    })?;
    links.serve(ui, handle, json, "sandbox_signals", |url| {
        if auto_approve {
            ui.warn(
                "--auto-approve: every program on this computer that asks gets a grant, other users' programs too. \
                 Nobody is asked",
            );
        }
        ui.explain(&format!("PDPP sandbox ready at {url} (made-up data)"));
        match &kept {
            Some(dir) => ui.note(&format!("  data is kept in {}", dir.display())),
            None => ui.explain("  data is in memory and is discarded when the sandbox stops"),
        }
    })?;
    ui.note("PDPP sandbox stopped");
    Ok(0)
}
