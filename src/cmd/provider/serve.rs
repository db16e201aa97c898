//! `pdpp provider serve`: the person's own store over HTTP on this machine.

use std::net::SocketAddr;

use super::passphrase;
use super::place::Place;
use crate::advice::Command;
use crate::cmd::Global;
use crate::cmd::owner_links::OwnerLinks;
use crate::error::Result;
use crate::own;
use crate::ui::Ui;

/// Serve your own data to programs that speak HTTP, on this computer alone
///
/// A program asks for what it wants to read. For each request a link is printed on this terminal: whoever opens it sees what
/// is asked for, and approves it with your passphrase, or denies it. `pdpp provider grants` lists what came of it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArgs {
    /// Where to listen: a loopback address; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value_t = SocketAddr::from(([127, 0, 0, 1], own::DEFAULT_PORT)))]
    pub listen: SocketAddr,

    /// Be a strict v0.1 Core provider: no schema, search, aggregate or field windows; filters,
    /// expansion and views are refused
    #[arg(long)]
    pub core: bool,

    #[command(flatten)]
    pub place: Place,
}

const EXAMPLES: &str = "\
Examples:
  pdpp provider serve                       asks for a passphrase the first time
  pdpp connect http://127.0.0.1:7378        in another terminal; decide at the link printed here
  pdpp provider serve --listen 127.0.0.1:0 --json

A program that runs as you can read the store itself: this protects it from others.";

/// Serves until it is told to stop.
///
/// # Errors
/// `own_missing` (78); `passphrase_terminal`, `passphrase_not_chosen` (77); `own_not_loopback` (2), `own_listen`, `own_in_use`; those of the
/// store; `output_failed`.
pub(super) fn run(args: &ServeArgs, global: &Global, ui: &Ui) -> Result<()> {
    let place = &args.place;
    let dir = place.dir(global)?;
    own::check_served(&dir, args.listen)?;
    passphrase::ensure(&dir, place, ui)?;
    let links = OwnerLinks::new();
    let cache = global.cache()?;
    let handle = own::serve(&dir, args.core, args.listen, links.announce(), Some(&cache))?;
    let page = handle.owner_link();
    links.serve(ui, handle, place.json, "own_signals", |url| {
        ui.explain(&format!("Your own data is served at {url}, to this computer alone"));
        ui.note(&format!("  data in {}", dir.display()));
        if let Some(page) = page {
            ui.explain(&format!(
                "  your page, at a link that is good once, within ten minutes:\n  {page}\n  later: {}",
                place.again(Command::new("provider open"))
            ));
        }
    })?;
    ui.note("Your own data is not served any more");
    Ok(())
}
