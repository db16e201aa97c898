//! `pdpp provider open`: the owner's page in a browser.

use std::io;
use std::time::{Duration, Instant};

use serde_json::json;

use super::place::{Done, Place};
use crate::cache::Cache;
use crate::cmd::Global;
use crate::cmd::doors::{framed, needs_ports, type_code};
use crate::error::{Error, Kind, Result};
use crate::grants::{Dialog, Event, Page, Shown, SourceAnswer};
use crate::own;
use crate::provider::approve::Choice;
use crate::runtime;
use crate::ui::Ui;
use crate::vault::OpenError;

/// How long to wait for a browser.
const WAITS: Duration = Duration::from_mins(10);
/// How long the page is served after it was closed, so that the browser can show that.
const LASTS: Duration = Duration::from_millis(1_500);

const BY_THIS_COMMAND: &str = "It is served until you close it, or until you have not used it for ten minutes. Ctrl-C closes it \
     too.";
#[cfg(target_os = "linux")]
const BY_A_SERVICE: &str =
    "The page asks for your passphrase. It closes ten minutes after that, or when you close it.";

/// Open the page of your own data in the browser: sources, grants, reads, imports and a search
///
/// On the page you can import files, see what each grant shows, end grants, delete accounts, and search
/// all of your data. Only this command serves it, to the one browser that it opens, until you close the
/// page or have not used it for ten minutes.
#[derive(Debug, clap::Args)]
pub struct OpenArgs {
    /// Do not open a browser; print an address on this computer, and the code that it asks for
    #[arg(long)]
    pub no_browser: bool,

    #[command(flatten)]
    pub place: Place,
}

/// Sends the browser to the page of a service, which keeps serving it at the `address` that the service
/// gave.
///
/// # Errors
/// `page_unopened` (77); `own_page`; `interrupted` (130).
#[cfg(target_os = "linux")]
pub(super) fn lead(address: &str, args: &OpenArgs, global: &Global, ui: &Ui) -> Result<Done> {
    let began = Instant::now();
    let ended = |came: bool| {
        let is_over = began.elapsed() >= WAITS;
        if came { Some(Ended::Closed) } else { is_over.then_some(Ended::NobodyCame) }
    };
    show(address, args, (&global.cache()?, ui, BY_A_SERVICE), ended, Ended::NobodyCame)?;
    Ok(Done { text: "Your page is open in the browser.".to_owned(), json: json!({ "opened": true }) })
}

/// Sends the browser to `address`, prints `until` once it is there, and waits until `ended` reports the
/// end, or until it is stopped: then the result is `stopped`. The browser has a moment more, to show the
/// end or to reach the page.
///
/// # Errors
/// `page_unopened` (77); `own_page`.
fn show(
    address: &str,
    args: &OpenArgs,
    (cache, ui, until): (&Cache, &Ui, &'static str),
    ended: impl FnMut(bool) -> Option<Ended>,
    stopped: Ended,
) -> Result<()> {
    let page = Page { address, opens_browser: !args.no_browser, waits: WAITS };
    let terminal = Terminal { ui, until };
    let ended: Result<Ended> = runtime::block_on(async {
        let mut stop = runtime::StopSignals::listen();
        tokio::select! {
            ended = page.show(cache, &terminal, ended) => ended,
            () = stop.next() => Ok(stopped),
        }
    })?;
    match ended? {
        Ended::Closed => {
            std::thread::sleep(LASTS);
            Ok(())
        }
        Ended::NobodyCame => {
            let message = "Nobody opened the page within ten minutes";
            Err(Error::new(Kind::Refused, "page_unopened", message).hint("Run it again when you are ready"))
        }
    }
}

/// How a page ended.
enum Ended {
    Closed,
    NobodyCame,
}

/// Serves the page until it is closed.
///
/// # Errors
/// `own_missing` (78); `page_unopened` (77); `own_listen`, `own_page`, `no_randomness`; those of the store.
pub(super) fn run(args: &OpenArgs, global: &Global, ui: &Ui) -> Result<Done> {
    let dir = args.place.dir(global)?;
    let cache = global.cache()?;
    let (served, pages) = own::serve_page(&dir, &cache)?;
    let address = served.owner_link().ok_or_else(|| own::explain(OpenError::NoRandomness))?;
    let began = Instant::now();
    let ended = |_| match (pages.was_opened(), pages.is_used()) {
        (true, false) => Some(Ended::Closed),
        (false, false) if began.elapsed() >= WAITS => Some(Ended::NobodyCame),
        _ => None,
    };
    // Stopping the command is how its owner closes the page.
    show(&address, args, (&cache, ui, BY_THIS_COMMAND), ended, Ended::Closed)?;
    drop(served);
    Ok(Done { text: "The page is closed.".to_owned(), json: json!({ "closed": true }) })
}

/// The person at the terminal.
struct Terminal<'a> {
    ui: &'a Ui,
    /// A sentence that says how long the page is open.
    until: &'static str,
}

impl Dialog for Terminal<'_> {
    fn on(&self, event: Event<'_>) {
        let ui = self.ui;
        match event {
            Event::ApproveHere { shown: Shown::Typed { address, code } } => ui.explain(&format!(
                "The page of your own data:\n\n  {address}\n\nIt asks for this code:\n\n{}",
                framed(&code)
            )),
            Event::ApproveHere { .. } => ui.explain("Your browser opens the page of your own data."),
            Event::NeedsPorts(ports) => ui.explain(&needs_ports(ports)),
            Event::NotOpened { .. } => {
                ui.explain("No browser could be opened here: open that address yourself.");
            }
            Event::TypeCode { address, code, is_opened } => {
                ui.explain(&type_code(&address, &code, is_opened));
            }
            Event::Waits { .. } => {
                ui.note(self.until);
            }
            _ => {}
        }
    }

    fn waiting(&self, _: Option<Duration>) {}

    fn check_output(&self) -> Result<()> {
        self.ui.check_output()
    }

    fn choose_source(&self, _: &[Choice], _: bool) -> io::Result<Option<SourceAnswer>> {
        Ok(None)
    }

    fn choose_instance(&self, _: &[Choice]) -> io::Result<Option<String>> {
        Ok(None)
    }
}
