//! `pdpp sandbox`: the embedded provider.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::owner_links::OwnerLinks;
use crate::error::Result;
use crate::sandbox::{self, Config};
use crate::ui::Ui;

/// Run a PDPP provider on this computer, with fictional data
///
/// Try everything with nothing but this program: connect to it, approve in the browser, read. It has
/// seven accounts of a person who does not exist. Grants are enforced as a real provider would. For each request it
/// prints a link on this terminal: whoever opens it decides, and nobody else can.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to listen: a loopback address; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value_t = SocketAddr::from(([127, 0, 0, 1], sandbox::DEFAULT_PORT)))]
    pub listen: SocketAddr,

    /// Keep data, grants and clients in this directory [default: in memory]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,

    /// Which fictional life to fill a new store with; the same number makes the same one
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Be a strict v0.1 Core provider: no schema, search, aggregate or field windows; filters,
    /// expansion and views are refused
    #[arg(long)]
    pub core: bool,

    /// Approve every request without asking anybody, so that every program on this computer, other users' too, gets a
    /// token; for tests
    #[arg(long)]
    pub auto_approve: bool,

    /// Tell where it is as one line of JSON on stdout: {"url":…,"mcp_url":…,"pid":…}
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  pdpp sandbox                                in memory, gone when it stops
  pdpp connect http://127.0.0.1:7377          in another terminal; decide at the link printed here
  pdpp sandbox --data-dir ~/pdpp-sandbox      keep data, grants and clients
  pdpp sandbox --listen 127.0.0.1:0 --json    a free port, for a script";

/// Serves until it is told to stop.
///
/// # Errors
/// Those of [`sandbox::start`]; `output_failed`.
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
                "--auto-approve: every program on this computer that asks gets a grant, other users' programs too, and \
                 nobody is asked",
            );
        }
        ui.explain(&format!("PDPP sandbox ready at {url} (fictional data)"));
        match &kept {
            Some(dir) => ui.note(&format!("  data kept in {}", dir.display())),
            None => ui.explain("  data in memory, gone when it stops"),
        }
    })?;
    ui.note("PDPP sandbox stopped");
    Ok(0)
}
