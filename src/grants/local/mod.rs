//! Gets grants of the person's own store: requested, decided and kept on this computer. No request leaves
//! it.

mod keep;
mod page;
mod sheet;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

pub use keep::ConnectedHere;
pub use sheet::{Account, Checklist, End, Fields, Sheet, StreamRow, Ticked};

use super::browser::Browser;
use super::dialog::{Dialog, Event};
use super::narrowing::Narrowing;
use super::own_store::{check_not_empty, local, refused};
use super::renewal;
use crate::advice::{Command, Hint};
use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::cache::select::GrantName;
use crate::cache::store::choice::{Chosen, StoreChoice};
use crate::error::{Error, Kind, Result};
use crate::own;
use crate::provider::approve::wanted::Wanted;
use crate::provider::register::CLIENT_NAME;
use crate::provider::url::ProviderUrl;
use crate::vault::oauth::authorization_details::Purpose;
use crate::vault::oauth::wish::{Wish, WishedStream};
use crate::vault::wire::ApiError;

/// What the data is for, if nobody names a purpose (O7.1).
const PURPOSE: &str = "answer my questions about my own data";
/// The client of every grant of a person's own store.
const CLIENT: &str = "pdpp_cli";

/// What `pdpp connect local` was asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Where the store is.
    pub data_dir: PathBuf,
    /// Whether to request a grant again that is on this computer, and to replace it.
    pub renew: bool,
    /// Which grant to renew.
    pub grant: Option<GrantName>,
    /// Sources, by their URI or their key.
    pub sources: Vec<String>,
    /// Accounts, by their id or their name.
    pub accounts: Vec<String>,
    /// What else narrows the grant; its source and instances are ignored.
    pub narrowing: Narrowing,
    /// The name of the grant, instead of the names of its sources.
    pub name: Option<String>,
    /// Where to keep the token; `None` means the same place as before.
    pub store: Option<StoreChoice>,
    /// The only host that is served with it.
    pub host: Option<String>,
    /// Whether the owner decides at the terminal.
    pub in_terminal: bool,
    /// Whether the system's browser may be opened.
    pub opens_browser: bool,
}

/// Gets the grants that `request` describes, keeps them in `cache`, and ends the grant that they replace.
/// Nothing is stored unless the owner approves.
///
/// # Errors
/// `own_missing` (78) without a store; `access_denied`, `approval_expired`, `terminal_required` (77);
/// `interrupted`; and the errors of the store and the cache.
pub fn connect(
    request: &Request,
    cache: &Cache,
    dialog: &dyn Dialog,
    checklist: &dyn Checklist,
) -> Result<ConnectedHere> {
    let now = Timestamp::now();
    let provider = local()?;
    let (old, mut wanted) = if request.renew {
        let all = cache.credentials()?;
        let old = renewal::meant(&all, Some(&provider), request.grant.as_ref())?.clone();
        let wanted = renewal::requests(&old, now).into_iter().next().unwrap_or_default();
        (Some(old), wanted)
    } else {
        let narrowing = Narrowing { source: None, instance: Vec::new(), ..request.narrowing.clone() };
        (None, narrowing.wanted(now)?)
    };
    wanted.purpose.get_or_insert_with(|| PURPOSE.to_owned());
    let data_dir =
        old.as_ref().and_then(|old| old.data_dir.clone()).unwrap_or_else(|| request.data_dir.clone());
    let host = old.as_ref().map_or_else(|| request.host.clone(), |old| old.host.clone());
    let asked = Asked { request, old, wanted, host, provider, data_dir: &data_dir, now };
    asked.connect(cache, dialog, checklist).map_err(|error| own::told(&data_dir, error))
}

/// A request, and what it refers to.
struct Asked<'a> {
    request: &'a Request,
    old: Option<Credential>,
    wanted: Wanted,
    host: Option<String>,
    provider: ProviderUrl,
    data_dir: &'a Path,
    now: Timestamp,
}

impl Asked<'_> {
    fn connect(self, cache: &Cache, dialog: &dyn Dialog, checklist: &dyn Checklist) -> Result<ConnectedHere> {
        let Self { request, old, wanted, host, provider, data_dir, now } = self;
        let cache = cache.clone().asked_by(Command::typed_without("--store", "connect local"));
        if let Some(name) = &request.name {
            cache.check_label(&provider, name, old.as_ref())?;
        }
        let vault = Arc::new(own::open(data_dir)?);
        let store_id = own::make_store_id(vault.store())?;
        // An unusable cache or output is reported before the owner is asked.
        let Chosen { kind: store, note } = cache.choose_store(request.store)?;
        cache.check_writable(store)?;
        dialog.check_output()?;
        let elsewhere = match Browser::of_this_process() {
            Browser::Elsewhere(why) => Some(why),
            _ => None,
        };
        // With --no-browser the person gets the page's address, and forwards its port to the browser.
        let in_terminal = request.in_terminal || (elsewhere.is_some() && request.opens_browser);
        if in_terminal && !checklist.can_ask() {
            return Err(no_terminal(elsewhere.filter(|_| !request.in_terminal)));
        }
        let wish = wish(&wanted, request)?;
        let waiting = vault
            .ask(CLIENT, &client_name(host.as_deref()), wish)
            .map_err(|error| mistyped(&error, request))?;
        if let Some(note) = &note {
            dialog.on(Event::Store(note));
        }
        dialog.on(Event::Holds(&own::HOLDS));
        let decided = if let Err(empty) = check_not_empty(&vault) {
            Err(empty)
        } else if in_terminal {
            if let (Some(why), false) = (elsewhere, request.in_terminal) {
                dialog.on(Event::AsksHere { why });
            }
            sheet::decide(&vault, &waiting.id, checklist)
        } else {
            page::decide(&vault, &waiting, request.opens_browser, &cache, dialog)
        };
        let approved = match decided {
            Ok(Some(approved)) => approved,
            Ok(None) => return Err(denied()),
            Err(error) => {
                vault.deny(&waiting.id);
                return Err(error);
            }
        };
        let kept = keep::Keeping { vault: &vault, cache: &cache, provider: &provider, data_dir, store, now };
        let what =
            keep::What { wanted, old, host, name: request.name.clone(), choice: request.store, store_id };
        kept.keep(&approved, &what, dialog)
    }
}

fn client_name(host: Option<&str>) -> String {
    match host {
        Some(host) => format!("{CLIENT_NAME} for {host}"),
        None => CLIENT_NAME.to_owned(),
    }
}

/// The error for a name that nothing has; the command to type next has the name that was probably
/// intended.
fn mistyped(error: &ApiError, request: &Request) -> Error {
    const LEAST: f64 = 0.8;
    let narrowing = &request.narrowing;
    let (option, typed): (_, &[String]) = match error.more().get("param").and_then(Value::as_str) {
        Some("source") => ("--source", &request.sources),
        Some("account") => ("--account", &request.accounts),
        Some("stream") => ("--stream", &narrowing.stream),
        Some("field") => ("--field", &narrowing.field),
        _ => return refused(error),
    };
    let told = || Error::new(Kind::Usage, "narrowing_invalid", error.message().to_owned());
    let pick = || {
        let without = Command::typed_without(option, "connect local");
        told().hint(Hint::new("Use a name that exists, or choose from all: ").run(without))
    };
    // If several names were typed, it is not known which one to change.
    let [typed] = typed else { return pick() };
    let (before, name) = typed.rsplit_once('.').filter(|_| option == "--field").unwrap_or(("", typed));
    let known = error.more().get("available").and_then(Value::as_array).into_iter().flatten();
    let likeness = |known: &str| strsim::jaro_winkler(&name.to_lowercase(), &known.to_lowercase());
    let known = known.filter_map(Value::as_str).map(|known| (likeness(known), known));
    let near = known.filter(|(likeness, _)| *likeness >= LEAST).max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((_, near)) = near else { return pick() };
    let near = if before.is_empty() { near.to_owned() } else { format!("{before}.{near}") };
    told().run(Command::typed_with(option, &near, "connect local"))
}

/// What is ticked beforehand: what the options, or the grant that is renewed, name.
fn wish(wanted: &Wanted, request: &Request) -> Result<Wish> {
    let purpose = match wanted.purpose.as_deref() {
        Some(code) if code.starts_with("https://") => Purpose::read(Some(code), None),
        words => Purpose::read(None, Some(words.unwrap_or(PURPOSE))),
    };
    let purpose = purpose.map_err(|error| refused(&error))?;
    let ms = |time: Option<Timestamp>| time.map(Timestamp::as_millisecond);
    let source = wanted.source.as_ref();
    let streams = wanted.streams.iter().map(|stream| WishedStream {
        name: stream.name.clone(),
        fields: stream.fields.clone(),
        connections: stream.instance_ids.clone(),
        since: ms(stream.since),
        until: ms(stream.until),
    });
    Ok(Wish {
        sources: source.map_or_else(|| request.sources.clone(), |source| vec![source.id.clone()]),
        accounts: source.map_or_else(|| request.accounts.clone(), |source| source.instance_ids.clone()),
        streams: streams.collect(),
        since: ms(wanted.since),
        until: ms(wanted.until),
        expires_ms: ms(wanted.expires),
        purpose,
    })
}

/// The typed command again, with its options for the store, the token's place and the grant's host.
fn again() -> Command {
    Command::typed_again("connect local")
}

fn denied() -> Error {
    Error::new(Kind::Refused, "access_denied", "Nothing was approved, and nothing is stored")
        .hint(Hint::new("To ask again: ").run(again()))
}

fn no_terminal(elsewhere: Option<&str>) -> Error {
    let message = match elsewhere {
        Some(why) => {
            format!("No browser can be opened here, because {why}, and there is no terminal to ask on")
        }
        None => {
            "A person must decide on the grant at a terminal, but standard input or standard error is not one"
                .to_owned()
        }
    };
    let other =
        if elsewhere.is_some() { " (or with --no-browser, for a browser on another computer)" } else { "" };
    let how = format!("Run this at a terminal{other}: ");
    Error::new(Kind::Refused, "terminal_required", message).hint(Hint::new(how).run(again()))
}
