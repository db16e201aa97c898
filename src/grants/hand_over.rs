//! Bringing the owner's browser to a page of this process (O7.2, O7.3): through a private file, or with a code
//! that a person types.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

use crate::advice::{Command, Hint};
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::grants::browser::{self, Browser, Handed};
use crate::grants::dialog::{Dialog, Event, Shown};
use crate::provider::approve::loopback::{Listener, Port};

/// How long a browser may take to open its file (O7.3).
const BROWSER_STARTS: Duration = Duration::from_secs(15);
/// How often to check whether the page is finished.
const LOOKS: Duration = Duration::from_millis(50);

/// The address of a page, and how its owner's browser gets there.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    /// The address that opens the page.
    pub address: &'a str,
    /// Whether the system's browser may be opened.
    pub opens_browser: bool,
    /// How long to wait for the owner.
    pub waits: Duration,
}

impl Page<'_> {
    /// Brings the browser to the page, and returns the first value that `ended` yields; `ended` is told whether
    /// a browser came.
    ///
    /// # Errors
    /// `own_page` if the page cannot be served.
    pub async fn show<T>(
        self,
        cache: &Cache,
        dialog: &dyn Dialog,
        mut ended: impl FnMut(bool) -> Option<T>,
    ) -> Result<T> {
        let failed = |error: anyhow::Error| {
            Error::failed("own_page", "pdpp could not serve the page").because(error).hint(
                Hint::new("Try again, or decide at a terminal: ")
                    .run(Command::new("connect local --in-terminal")),
            )
        };
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
                    // Removes the private file.
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

/// Brings the owner's browser to the page; returns the file that the browser was given.
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
