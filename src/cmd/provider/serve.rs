//! `pdpp provider serve`: the person's own store over HTTP on this machine.

use std::net::SocketAddr;

use super::passphrase;
use super::place::Place;
use crate::cmd::Global;
use crate::cmd::owner_links::OwnerLinks;
use crate::error::Result;
use crate::own;
use crate::ui::Ui;
use crate::vault::public_name::{NotPublic, Public, PublicUrl};

/// Serve your own data to programs that speak HTTP, on this computer
///
/// A program asks for what it wants to read. For each request a link is printed on this terminal: whoever opens it sees what
/// is asked for, and approves it with your passphrase, or denies it. `pdpp provider grants` lists what came of it.
///
/// Hosts on other computers, as ChatGPT, reach it at --public-url, through a proxy or tunnel of yours that has a certificate. An
/// app from there asks nothing before you typed the pairing code, which is printed here, in the browser that it sent to you.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArgs {
    /// Where to listen: a loopback address; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value_t = SocketAddr::from(([127, 0, 0, 1], own::DEFAULT_PORT)))]
    pub listen: SocketAddr,

    /// The https address that others reach this by, through a proxy or tunnel: https:// and a host
    #[arg(long, value_name = "URL", value_parser = public_url)]
    pub public_url: Option<PublicUrl>,

    /// Where that proxy or tunnel leads: another loopback address; what comes in there is from strangers
    #[arg(long, value_name = "ADDR:PORT", requires = "public_url", default_value_t = SocketAddr::from(([127, 0, 0, 1], own::PROXY_PORT)))]
    pub public_listen: SocketAddr,

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
  pdpp provider serve --public-url https://pdpp.example
                                            and for ChatGPT, claude.ai and others; docs/remote.md has the proxy

A program that runs as you can read the store itself: this protects it from others.";

fn public_url(text: &str) -> std::result::Result<PublicUrl, NotPublic> {
    text.parse()
}

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
    let public = args.public_url.clone().map(|url| Public { url, listen: args.public_listen });
    let to_whom = if public.is_some() { "to this computer" } else { "to this computer alone" };
    let handle = own::serve(&dir, args.core, args.listen, public, links.announce())?;
    links.serve(ui, handle, place.json, "own_signals", |url| {
        ui.explain(&format!("Your own data is served at {url}, {to_whom}"));
        ui.note(&format!("  data in {}", dir.display()));
    })?;
    ui.note("Your own data is not served any more");
    Ok(())
}
