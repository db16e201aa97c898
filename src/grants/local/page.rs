//! A decision on the owner's page: served by this process on a port of its own until it is made, and no longer.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

use crate::cache::Cache;
use crate::error::{Error, Kind, Result};
use crate::grants::browser::{self, Browser, Handed};
use crate::grants::dialog::{Dialog, Event, Shown};
use crate::grants::own_store::Answer;
use crate::own;
use crate::provider::approve::loopback::{Listener, Port};
use crate::runtime;
use crate::vault::Vault;
use crate::vault::oauth::flows::EXPIRES_IN;
use crate::vault::oauth::here::{Decided, Waiting};
use crate::vault::server;

/// For so long a browser has time to come in with its file (O7.3).
const BROWSER_STARTS: Duration = Duration::from_secs(15);
/// How often the decision is looked for.
const LOOKS: Duration = Duration::from_millis(50);
/// For so long the page is served once it is decided, so that the browser gets to see how it ended.
const LASTS: Duration = Duration::from_millis(1_500);

/// Shows the page of the request `waiting`, and waits for what is decided there.
pub(super) fn decide(
    vault: &Arc<Vault>,
    waiting: &Waiting,
    opens_browser: bool,
    cache: &Cache,
    dialog: &dyn Dialog,
) -> Answer {
    let served = server::start_pages(Arc::clone(vault)).map_err(own::explain)?;
    let address = format!("{}{}", served.url(), waiting.link);
    let decided = runtime::block_on(async {
        tokio::select! {
            decided = at_the_page(vault, &waiting.id, &address, opens_browser, cache, dialog) => decided,
            stopped = tokio::signal::ctrl_c() => Err(interrupted(stopped)),
        }
    })?;
    dialog.waiting(None);
    let decided = decided?;
    std::thread::sleep(LASTS);
    drop(served);
    match decided {
        Decided::Approved(approved) => Ok(Some(approved)),
        Decided::Expired => {
            let message = "Nobody decided within ten minutes; nothing is stored";
            Err(Error::new(Kind::Refused, "approval_expired", message).hint("Ask again"))
        }
        Decided::Denied | Decided::Open => Ok(None),
    }
}

fn interrupted(stopped: std::io::Result<()>) -> Error {
    match stopped {
        Ok(()) => Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing is stored"),
        Err(error) => Error::failed("runtime_failed", "Could not listen for Ctrl-C").because(error),
    }
}

async fn at_the_page(
    vault: &Vault,
    id: &str,
    address: &str,
    opens_browser: bool,
    cache: &Cache,
    dialog: &dyn Dialog,
) -> Result<Decided> {
    let failed =
        |error: anyhow::Error| Error::failed("own_page", "The page could not be served").because(error);
    let target = address.parse::<url::Url>().map_err(|error| failed(error.into()))?;
    let port = Port::open().await.map_err(|error| failed(error.into()))?;
    let listener = port.leading_to(target).map_err(|error| failed(error.into()))?;
    let mut leading_on = std::pin::pin!(listener.lead_on());
    let ports = [listener.port(), listener.target().port().unwrap_or_default()];
    let mut handed = tokio::select! {
        handed = open(&listener, ports, opens_browser, cache, dialog) => handed,
        never = &mut leading_on => match never {},
    };
    let waits = Duration::from_secs(u64::try_from(EXPIRES_IN).unwrap_or_default());
    let end = Instant::now() + waits;
    dialog.on(Event::Waits { at_most: waits });
    let mut second = tokio::time::interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut look = tokio::time::interval(LOOKS);
    look.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut entered = std::pin::pin!(listener.entered());
    let mut late = std::pin::pin!(tokio::time::sleep(BROWSER_STARTS));
    let mut is_awaited = handed.is_some();
    loop {
        tokio::select! {
            _ = look.tick() => match vault.decided(id) {
                Decided::Open => {}
                decided => return Ok(decided),
            },
            never = &mut leading_on => match never {},
            () = &mut entered, if handed.is_some() => {
                handed = None;
                is_awaited = false;
            }
            () = &mut late, if is_awaited => {
                is_awaited = false;
                dialog.waiting(None);
                dialog.on(type_code(&listener, false));
            }
            _ = second.tick() => dialog.waiting(Some(end.saturating_duration_since(Instant::now()))),
        }
    }
}

fn type_code(listener: &Listener, is_opened: bool) -> Event<'static> {
    Event::TypeCode { address: listener.address(), code: listener.code(), is_opened }
}

/// Gets the owner's browser to the page; gives the file that it was handed.
async fn open(
    listener: &Listener,
    ports: [u16; 2],
    opens_browser: bool,
    cache: &Cache,
    dialog: &dyn Dialog,
) -> Option<Handed> {
    use secrecy::ExposeSecret as _;
    match Browser::of_this_process() {
        Browser::Here if opens_browser => {
            dialog.on(Event::ApproveHere { shown: Shown::Nothing });
            let handed = browser::open_file(listener.file().expose_secret(), cache).await;
            if handed.is_none() {
                let is_opened = browser::open_address(&listener.address()).await;
                dialog.on(type_code(listener, is_opened));
            }
            handed
        }
        place => {
            let shown = Shown::Typed { address: listener.address(), code: listener.code() };
            dialog.on(Event::ApproveHere { shown });
            if let Browser::Elsewhere(_) = place {
                dialog.on(Event::NeedsPorts(&ports));
            }
            if opens_browser && matches!(place, Browser::OtherSide(_)) {
                let is_opened = browser::open_address(&listener.address()).await;
                (!is_opened).then(|| dialog.on(Event::NotOpened { why: None }));
            }
            None
        }
    }
}
