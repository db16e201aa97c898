//! `pdpp provider serve`: the person's own store over HTTP on this computer.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::Arc;

use clap::ValueHint;
#[cfg(target_os = "linux")]
use serde_json::json;

use super::passphrase;
use super::place::Place;
#[cfg(target_os = "linux")]
use crate::advice;
use crate::advice::Command;
use crate::cmd::Global;
use crate::cmd::owner_links::OwnerLinks;
#[cfg(not(target_os = "linux"))]
use crate::error::Kind;
use crate::error::{Error, Result};
use crate::own;
#[cfg(target_os = "linux")]
use crate::own::separate::{self, Service};
#[cfg(target_os = "linux")]
use crate::runtime::{self, StopSignals};
use crate::ui::Ui;
#[cfg(target_os = "linux")]
use crate::vault::oauth::owner::Announce;
use crate::vault::public_name::{NotPublic, Public, PublicUrl};

/// Serve your own data to programs that speak HTTP, on this computer
///
/// A program asks for what it wants to read. For each request a link is printed on this terminal. Its
/// page shows what is requested, and you approve it with your passphrase, or deny it. `pdpp provider
/// grants` lists the grants.
///
/// Hosts on other computers, such as ChatGPT, reach it at --public-url, through your own proxy or tunnel
/// with a certificate. Before an app from there can ask for anything, you type the pairing code, which is
/// printed here, into the browser that the app sent to you.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArgs {
    /// Where to listen: a loopback address; port 0 picks a free one
    #[arg(long, value_name = "ADDR:PORT", default_value_t = SocketAddr::from(([127, 0, 0, 1], own::DEFAULT_PORT)))]
    pub listen: SocketAddr,

    /// The https address at which others reach this, through a proxy or tunnel: https:// and a host
    #[arg(long, value_name = "URL", value_parser = public_url)]
    pub public_url: Option<PublicUrl>,

    /// Where that proxy or tunnel forwards to: a second loopback address, for requests from outside this
    /// computer
    #[arg(long, value_name = "ADDR:PORT", requires = "public_url", default_value_t = SocketAddr::from(([127, 0, 0, 1], own::PROXY_PORT)))]
    pub public_listen: SocketAddr,

    /// Act as a strict v0.1 Core provider: no schema, search, aggregate or field windows. Filters, expansion and
    /// views are refused
    #[arg(long)]
    pub core: bool,

    /// Serve one person as a service of another user: print no links and ask nothing, but answer on this
    /// socket. The unit of the separate set-up uses this
    #[arg(long, value_name = "PATH", requires = "owner_uid", hide_short_help = true, value_hint = ValueHint::FilePath)]
    pub owner_socket: Option<PathBuf>,

    /// The user id of that person: the socket answers only them and root
    #[arg(long, value_name = "UID", requires = "owner_socket", hide_short_help = true)]
    pub owner_uid: Option<u32>,

    #[command(flatten)]
    pub place: Place,
}

impl ServeArgs {
    fn public(&self) -> Option<Public> {
        self.public_url.clone().map(|url| Public { url, listen: self.public_listen })
    }
}

const EXAMPLES: &str = "\
Examples:
  pdpp provider serve                       asks for a passphrase the first time
  pdpp connect http://127.0.0.1:7378        in another terminal; decide at the link printed here
  pdpp provider serve --listen 127.0.0.1:0 --json
  pdpp provider serve --public-url https://pdpp.example
                                            and for ChatGPT, claude.ai and others; docs/remote.md has the proxy

A program that runs as you can read the store directly: this protects it only from others.";

fn public_url(text: &str) -> std::result::Result<PublicUrl, NotPublic> {
    text.parse()
}

/// Serves until it is told to stop.
///
/// # Errors
/// `own_missing`, `passphrase_missing` (78); `passphrase_terminal`, `passphrase_not_chosen` (77);
/// `owner_socket`; `own_not_loopback` (2), `own_listen`, `own_in_use`; `output_failed`; the errors of the
/// store.
pub(super) fn run(args: &ServeArgs, global: &Global, ui: &Ui) -> Result<()> {
    let place = &args.place;
    let dir = place.dir(global)?;
    own::check_served(&dir, args.listen)?;
    if let (Some(socket), Some(person)) = (&args.owner_socket, args.owner_uid) {
        return serve_owner(args, &dir, (socket, person), ui);
    }
    passphrase::ensure(&dir, place, ui)?;
    let links = OwnerLinks::new();
    let public = args.public();
    let to_whom = if public.is_some() { "to this computer" } else { "to this computer only" };
    let cache = global.cache()?;
    let handle = own::serve(&dir, args.core, args.listen, public, links.announce(), Some(&cache))?;
    let page = handle.owner_link();
    links.serve(ui, handle, place.json, "own_signals", |url| {
        ui.explain(&format!("Your own data is served at {url}, {to_whom}"));
        ui.note(&format!("  data in {}", dir.display()));
        if let Some(page) = page {
            ui.explain(&format!(
                "  your page, at a link that works once, within ten minutes:\n  {page}\n  later: {}",
                place.again(Command::new("provider open"))
            ));
        }
    })?;
    ui.note("Your own data is no longer served");
    Ok(())
}

/// Serves one person as a service, with a socket for them.
#[cfg(target_os = "linux")]
fn serve_owner(args: &ServeArgs, dir: &Path, (socket, person): (&Path, u32), ui: &Ui) -> Result<()> {
    separate::service::check_passphrase(dir)?;
    let runtime = runtime::of_this_thread()
        .map_err(|error| Error::no_events("own_signals", "Could not wait for signals").because(error))?;
    let mut stop = runtime.block_on(async { StopSignals::of_server() });
    // The person who is advised is at the other end of the socket.
    advice::speak_to_others();
    // This user has neither the person's tokens nor the log of their agents.
    let handle = Arc::new(own::serve(dir, args.core, args.listen, args.public(), Announce::default(), None)?);
    let links = Arc::clone(&handle);
    let service = Service::start(separate::service::Settings {
        socket: socket.to_owned(),
        person,
        dir: dir.to_owned(),
        url: handle.url().to_owned(),
        vault: Arc::clone(handle.vault()),
        link: Arc::new(move || links.owner_link()),
    })?;
    ui.note(&format!(
        "The data of the user {person} is served at {}, and on {}",
        handle.url(),
        socket.display()
    ));
    if args.place.json {
        ui.json(&json!({ "url": handle.url(), "mcp_url": handle.mcp_url(), "pid": std::process::id() }));
    }
    if let Some(lost) = ui.lost_output() {
        return Err(lost);
    }
    runtime.block_on(stop.next());
    // First stop giving out links, then serving what they lead to.
    drop(service);
    drop(handle);
    Ok(())
}

/// For systems where it is not known who is at the other end of a socket.
#[cfg(not(target_os = "linux"))]
fn serve_owner(_: &ServeArgs, _: &Path, _: (&Path, u32), _: &Ui) -> Result<()> {
    let message = "A service with an owner's socket works only on Linux";
    Err(Error::new(Kind::Usage, "owner_socket", message).run(Command::new("provider serve")))
}
