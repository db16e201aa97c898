//! A page of this process that its owner's browser is led to (O7.2, O7.3): by a private file, or by a code that a person types.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::grants::browser::{self, Browser, Handed};
use crate::grants::dialog::{Dialog, Event, Shown};
use crate::provider::approve::loopback::{Listener, Port};

/// For so long a browser has time to come in with its file (O7.3).
const BROWSER_STARTS: Duration = Duration::from_secs(15);
/// How often it is looked whether the page is done with.
const LOOKS: Duration = Duration::from_millis(50);

/// Where a page is, and how its owner's browser gets there.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    /// Its address, which opens it.
    pub address: &'a str,
    /// Whether the system's browser may be opened.
    pub opens_browser: bool,
    /// How long it is waited for.
    pub waits: Duration,
}

impl Page<'_> {
    /// Leads the browser there, and comes back with what `ended` gives once it gives anything. It is told whether a browser came.
    ///
    /// # Errors
    /// `own_page`.
    pub async fn show<T>(
        self,
        cache: &Cache,
        dialog: &dyn Dialog,
        mut ended: impl FnMut(bool) -> Option<T>,
    ) -> Result<T> {
        let failed =
            |error: anyhow::Error| Error::failed("own_page", "The page could not be served").because(error);
        let target = self.address.parse::<url::Url>().map_err(|error| failed(error.into()))?;
        let port = Port::open().await.map_err(|error| failed(error.into()))?;
        let listener = port.leading_to(target).map_err(|error| failed(error.into()))?;
        let mut leading_on = std::pin::pin!(listener.lead_on());
        let ports = [listener.port(), listener.target().port().unwrap_or_default()];
        let mut handed = tokio::select! {
            handed = open(&listener, ports, self.opens_browser, cache, dialog) => handed,
            never = &mut leading_on => match never {},
        };
        let end = Instant::now() + self.waits;
        dialog.on(Event::Waits { at_most: self.waits });
        let mut second = tokio::time::interval(Duration::from_secs(1));
        second.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut look = tokio::time::interval(LOOKS);
        look.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut entered = std::pin::pin!(listener.entered());
        let mut late = std::pin::pin!(tokio::time::sleep(BROWSER_STARTS));
        let mut is_awaited = handed.is_some();
        let mut came = false;
        loop {
            tokio::select! {
                _ = look.tick() => if let Some(ended) = ended(came) {
                    return Ok(ended);
                },
                never = &mut leading_on => match never {},
                () = &mut entered, if !came => {
                    came = true;
                    // The private file goes.
                    drop(handed.take());
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
