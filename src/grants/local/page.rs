//! A decision on the owner's page, which this process serves on a separate port only until the decision
//! is made.

use std::sync::Arc;
use std::time::Duration;

use crate::cache::Cache;
use crate::error::{Error, Kind, Result};
use crate::grants::dialog::Dialog;
use crate::grants::hand_over::Page;
use crate::grants::own_store::Answer;
use crate::own;
use crate::runtime;
use crate::vault::Vault;
use crate::vault::oauth::flows::EXPIRES_IN;
use crate::vault::oauth::here::{Decided, Waiting};
use crate::vault::server;

/// How long the page is served after the decision, so that the browser can show the result.
const LASTS: Duration = Duration::from_millis(1_500);

/// Shows the page of the request `waiting`, and waits for the decision.
pub(super) fn decide(
    vault: &Arc<Vault>,
    waiting: &Waiting,
    opens_browser: bool,
    cache: &Cache,
    dialog: &dyn Dialog,
) -> Answer {
    let served = server::start_pages(Arc::clone(vault)).map_err(own::explain)?;
    let address = format!("{}{}", served.url(), waiting.link);
    let waits = Duration::from_secs(u64::try_from(EXPIRES_IN).unwrap_or_default());
    let page = Page { address: &address, opens_browser, waits };
    let decided = |_| match vault.decided(&waiting.id) {
        Decided::Open => None,
        decided => Some(decided),
    };
    let decided: Result<Decided> = runtime::block_on(async {
        let mut stop = runtime::StopSignals::listen();
        tokio::select! {
            decided = page.show(cache, dialog, decided) => decided,
            () = stop.next() => {
                Err(Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing is stored"))
            }
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
