//! How the owner's browser gets to the provider's page. The page's own address is a capability: anyone who has
//! it can answer instead of the owner. So it is in no argument, which every user of the computer could read. A
//! browser on this computer comes in through the loopback port, with a private file or a code
//! ([`crate::provider::approve::loopback`]).

use std::convert::Infallible;

use super::browser::{self, Browser, Handed};
use super::dialog::{Dialog, Event, Shown};
use super::plan::Request;
use crate::cache::Cache;
use crate::provider::approve::loopback::{Listener, Port};
use crate::provider::approve::{ApproveError, Attempt};

/// The way in for the owner's browser.
pub(super) struct Door {
    /// The listener, for an attempt that does not itself wait at a port.
    own: Option<Listener>,
    way: Way,
}

/// How the browser is brought to the page.
#[derive(Clone, Copy)]
enum Way {
    /// It opens a file, and nobody types anything; the code is the fallback.
    File,
    /// It opens the port's address, where the code is typed.
    Address,
    /// A person opens the port's address.
    Typed,
    /// A person opens the provider's own address, on any machine.
    Provider,
}

impl Door {
    /// The way in to `attempt`'s page.
    ///
    /// # Errors
    /// [`ApproveError::NoRandomness`].
    pub(super) async fn of(attempt: &Attempt, request: &Request) -> Result<Self, ApproveError> {
        let way = match (Browser::of_this_process(), attempt) {
            // The code of this flow works in a browser anywhere.
            (Browser::Here, Attempt::DeviceCode(_)) if request.opens_browser => Way::File,
            (_, Attempt::DeviceCode(_)) | (Browser::Elsewhere(_), Attempt::AgentConnect(_)) => Way::Provider,
            (Browser::Here, _) if request.opens_browser => Way::File,
            (Browser::OtherSide(_), _) if request.opens_browser => Way::Address,
            _ => Way::Typed,
        };
        if attempt.listener().is_some() || matches!(way, Way::Provider) {
            return Ok(Self { own: None, way });
        }
        // Without a port, the provider's own address must do.
        Ok(match Port::open().await {
            Ok(port) => Self { own: Some(port.leading_to(attempt.url().clone())?), way },
            Err(_) => Self { own: None, way: Way::Provider },
        })
    }

    fn listener<'a>(&'a self, attempt: &'a Attempt) -> Option<&'a Listener> {
        self.own.as_ref().or_else(|| attempt.listener())
    }

    /// What a person is shown before the browser opens.
    pub(super) fn shown(&self, attempt: &Attempt) -> Shown {
        match (self.way, self.listener(attempt)) {
            _ if matches!(attempt, Attempt::DeviceCode(_)) => Shown::Provider,
            (Way::File, Some(_)) => Shown::Nothing,
            (Way::Address | Way::Typed, Some(listener)) => {
                Shown::Typed { address: listener.address(), code: listener.code() }
            }
            _ => Shown::Provider,
        }
    }

    /// Opens the page if a browser is expected; otherwise reports what to do. Returns the file that the browser
    /// was given.
    pub(super) async fn open(
        &self,
        attempt: &Attempt,
        request: &Request,
        cache: &Cache,
        dialog: &dyn Dialog,
    ) -> Option<Handed> {
        let elsewhere = match Browser::of_this_process() {
            Browser::Elsewhere(why) => Some(why),
            _ => None,
        };
        if let (Some(_), Attempt::AuthorizationCode(code)) = (elsewhere, attempt) {
            dialog.on(Event::NeedsPorts(&[code.listener.port()]));
        }
        match (self.way, self.listener(attempt)) {
            (Way::File, Some(listener)) => {
                use secrecy::ExposeSecret as _;
                let handed = browser::open_file(listener.file().expose_secret(), cache).await;
                if handed.is_none() {
                    match self.shown(attempt) {
                        Shown::Provider => dialog.on(Event::NotOpened { why: None }),
                        _ => self.open_address(listener, dialog).await,
                    }
                }
                return handed;
            }
            (Way::Address, Some(listener)) => {
                let is_opened = browser::open_address(&listener.address()).await;
                (!is_opened).then(|| dialog.on(Event::NotOpened { why: None }));
            }
            _ if request.opens_browser && !matches!(attempt, Attempt::DeviceCode(_)) => {
                dialog.on(Event::NotOpened { why: elsewhere });
            }
            _ => {}
        }
        None
    }

    /// No file could be handed over: the address, which holds no secret, may work.
    async fn open_address(&self, listener: &Listener, dialog: &dyn Dialog) {
        let is_opened = browser::open_address(&listener.address()).await;
        dialog.on(Event::TypeCode { address: listener.address(), code: listener.code(), is_opened });
    }

    /// What a person should type if the browser has not opened its file in time.
    pub(super) fn instead(&self, attempt: &Attempt) -> Option<Event<'static>> {
        let listener = self.listener(attempt)?;
        let Shown::Nothing = self.shown(attempt) else { return None };
        Some(Event::TypeCode { address: listener.address(), code: listener.code(), is_opened: false })
    }

    /// Waits until the browser is in; forever if it has no way in here.
    pub(super) async fn entered(&self, attempt: &Attempt) {
        match self.listener(attempt) {
            Some(listener) => listener.entered().await,
            None => std::future::pending().await,
        }
    }

    /// Lets the browser in if the attempt does not do that itself.
    pub(super) async fn lead_on(&self) -> Infallible {
        match &self.own {
            Some(listener) => listener.lead_on().await,
            None => std::future::pending().await,
        }
    }
}
