//! `pdpp provider`: the person's own store, and its grants.

mod backup;
mod install;
mod open;
mod passphrase;
mod place;
#[cfg(target_os = "linux")]
mod separate;
mod serve;
mod uninstall;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use indicatif::{DecimalBytes, HumanCount};
use jiff::Timestamp;
use serde_json::{Value, json};

use backup::{BackupArgs, RestoreArgs};
use install::{InstallArgs, PrepareArgs};
use open::OpenArgs;
use passphrase::PassphraseArgs;
use place::{Done, Place, several_grants};
use serve::ServeArgs;
use uninstall::UninstallArgs;

use super::Global;
use crate::access_log::AccessLog;
use crate::advice::{Command, Hint};
use crate::cache::credential::Credential;
use crate::cache::select::disconnect_command;
use crate::error::{Error, Kind, Result};
use crate::own::forget::Forgotten;
#[cfg(target_os = "linux")]
use crate::own::separate::Socket;
use crate::own::state::{Made, State, account_names, kept_apart, made, vault_failed};
use crate::own::{self, forget};
use crate::text::one_line;
use crate::time_text::day_and_time;
use crate::ui::Ui;
use crate::vault::Vault;
use crate::vault::grant::{Grant, GrantStream};
use crate::vault::oauth::wish::GUARDED;

/// Your own data on this computer: what the store has, what you granted, and how to end a grant
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    pub action: Option<Action>,

    #[command(flatten)]
    pub status: StatusArgs,
}

const EXAMPLES: &str = "\
Examples:
  pdpp provider                        what the store has, and how old it is
  pdpp provider open                   all of that on a page in your browser
  pdpp provider grants                 what was granted, until when, and when it was last read
  pdpp provider revoke GRANT           end a grant at once
  pdpp provider forget 'Work mail'     delete an account, and everything in it
  pdpp provider backup FILE --encrypt  all of it as one file, encrypted
  pdpp provider restore FILE           the same store again, here or elsewhere
  pdpp provider serve                  serve it to programs that speak HTTP, on this computer
  sudo pdpp provider install           keep it where an agent with a shell cannot read it

Exits with 78 if nothing has been imported yet.";

impl Args {
    /// Whether it ends or deletes something that cannot be restored.
    pub const fn ends_something(&self) -> bool {
        matches!(self.action, Some(Action::Revoke(_) | Action::Forget(_) | Action::Uninstall(_)))
    }
}

#[derive(Debug, Subcommand)]
pub enum Action {
    Status(StatusArgs),
    /// Show the grants of your own data: who can read what, until when, and when it was last read
    Grants(StatusArgs),
    Revoke(RevokeArgs),
    Forget(ForgetArgs),
    Backup(BackupArgs),
    Restore(RestoreArgs),
    Open(OpenArgs),
    Serve(ServeArgs),
    Passphrase(PassphraseArgs),
    Install(InstallArgs),
    Uninstall(UninstallArgs),
    #[command(hide = true)]
    Prepare(PrepareArgs),
}

/// Show what is in the store of your own data, account by account, and how old it is
#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub place: Place,
}

/// End a grant of your own data: its token stops working at once
#[derive(Debug, clap::Args)]
pub struct RevokeArgs {
    /// The grant: its id, the start of its id, or its name, as `pdpp status` shows them
    #[arg(value_name = "GRANT")]
    pub grant: String,

    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,

    #[command(flatten)]
    pub place: Place,
}

/// Delete an account from the store: its records, their index entries and its copies of attachments;
/// your exports stay where they are
#[derive(Debug, clap::Args)]
pub struct ForgetArgs {
    /// The account: its name or its id, as `pdpp provider` shows them
    #[arg(value_name = "ACCOUNT")]
    pub account: String,

    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,

    #[command(flatten)]
    pub place: Place,
}

/// Runs the command.
///
/// # Errors
/// `own_missing` (78); an unknown name (2); a question without a terminal to ask it on (77); the errors
/// of the store.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    let place = match &args.action {
        None => &args.status.place,
        // The separate set-up has a fixed place, so a store that was named is ignored.
        Some(Action::Install(args)) => return Ok(shown(&install::run(args, ui)?, args.json, ui)),
        Some(Action::Uninstall(args)) => return Ok(shown(&uninstall::run(args, ui)?, args.json, ui)),
        Some(Action::Prepare(args)) => &args.place,
        Some(Action::Status(args) | Action::Grants(args)) => &args.place,
        Some(Action::Revoke(args)) => &args.place,
        Some(Action::Forget(args)) => &args.place,
        Some(Action::Backup(args)) => &args.place,
        Some(Action::Restore(args)) => &args.place,
        Some(Action::Passphrase(args)) => &args.place,
        Some(Action::Open(args)) => &args.place,
        Some(Action::Serve(args)) => &args.place,
    };
    #[cfg(target_os = "linux")]
    if let Some(done) = by_service(args, place, global, ui) {
        return show(done, place, ui);
    }
    let done = match &args.action {
        None | Some(Action::Status(_)) => status(place, global),
        Some(Action::Grants(_)) => grants(place, global),
        Some(Action::Revoke(args)) => revoke(args, global, ui),
        Some(Action::Forget(args)) => forget(args, global, ui),
        Some(Action::Backup(args)) => backup::back_up(args, global, ui),
        Some(Action::Restore(args)) => match backup::restore_apart(args, global, ui) {
            Ok(None) => backup::restore(args, global, ui),
            // The store's own user has reported it.
            Ok(Some(code)) => return Ok(code),
            Err(error) => Err(error),
        },
        Some(Action::Passphrase(_)) => passphrase::run(place, global, ui),
        Some(Action::Prepare(args)) => install::prepare(args, global, ui),
        Some(Action::Install(_) | Action::Uninstall(_)) => return Ok(0),
        Some(Action::Open(args)) => open::run(args, global, ui),
        Some(Action::Serve(args)) => match serve::run(args, global, ui) {
            // It has already printed its address.
            Ok(()) => return Ok(0),
            Err(error) => Err(error),
        },
    };
    let done = match done {
        Err(error) => Err(own::told(&place.dir(global)?, error)),
        done => done,
    };
    show(done, place, ui)
}

/// The result of the command, if a service keeps the data; `None` if the store is the person's own, or
/// the service is not asked.
#[cfg(target_os = "linux")]
fn by_service(args: &Args, place: &Place, global: &Global, ui: &Ui) -> Option<Result<Done>> {
    if matches!(args.action, Some(Action::Serve(_))) {
        return None;
    }
    let socket = match own::separate::of_this_user(place.data_dir.as_deref()) {
        Ok(None) => return None,
        Ok(Some(socket)) => socket,
        Err(error) => return Some(Err(error)),
    };
    Some(match &args.action {
        None | Some(Action::Status(_)) => separate::status(&socket, ui).map(|told| {
            let reader = (separate::READER, told.store_id);
            status_of(place, Path::new(&told.data_dir), reader, &told.state, told.live_grants)
        }),
        Some(Action::Grants(_)) => grants_by_service(&socket, place, global, ui),
        Some(Action::Revoke(args)) => revoke_by_service(&socket, args, global, ui),
        Some(Action::Forget(args)) => forget_by_service(&socket, args, global, ui),
        Some(Action::Backup(args)) => separate::back_up(&socket, args, ui)
            .map(|(dir, done)| backup::backed_up(args, Path::new(&dir), &done, ui)),
        Some(Action::Passphrase(_)) => separate::change_passphrase(&socket, ui).map(|()| passphrase::kept()),
        Some(Action::Open(args)) => {
            separate::owner_link(&socket).and_then(|address| open::lead(&address, args, global, ui))
        }
        Some(Action::Restore(args)) => Err(separate::refuse_restore(&socket, &args.file)),
        _ => return None,
    })
}

#[cfg(target_os = "linux")]
fn grants_by_service(socket: &Socket, place: &Place, global: &Global, ui: &Ui) -> Result<Done> {
    let cache = global.cache()?;
    let told = separate::grants(socket, ui)?;
    let (mut text, mut list) = (String::new(), Vec::new());
    let listing = Listing {
        all: &cache.credentials().unwrap_or_default(),
        reads: &later(AccessLog::new(cache.dir()).last_reads(), told.reads),
        names: &told.names,
        dir: Path::new(&told.data_dir),
        end: &|grant, _| place.again(Command::new("provider revoke").value(&grant.grant_id)),
    };
    listing.add(&told.made, &mut text, &mut list);
    let json = json!({ "grants": list, "unread_stores": [] });
    Ok(Done { text: text.trim_end().to_owned(), json })
}

#[cfg(target_os = "linux")]
fn revoke_by_service(socket: &Socket, args: &RevokeArgs, global: &Global, ui: &Ui) -> Result<Done> {
    let cache = global.cache()?;
    let all = cache.credentials().unwrap_or_default();
    let id = separate::meant(&args.grant, &all)?;
    agree(ui, args.yes, &format!("End the grant {id}?"), || {
        args.place.again(Command::new("provider revoke").value(&args.grant).words("--yes"))
    })?;
    let was_live = separate::revoke(socket, &id, ui)?;
    for credential in all.iter().filter(|known| known.grant_id.as_str() == id) {
        cache.remove(credential)?;
    }
    Ok(revoked(&id, was_live))
}

#[cfg(target_os = "linux")]
fn forget_by_service(socket: &Socket, args: &ForgetArgs, global: &Global, ui: &Ui) -> Result<Done> {
    let mut named = String::new();
    let mut agree = |name: &str| {
        name.clone_into(&mut named);
        agree_to_forget(args, name, ui)
    };
    let Some(gone) = separate::forget(socket, &args.account, &mut agree, ui)? else {
        return Ok(forgotten_before(args));
    };
    let cache = global.cache()?;
    for credential in cache.credentials().unwrap_or_default() {
        if gone.ended.iter().any(|id| id == credential.grant_id.as_str()) {
            cache.remove(&credential)?;
        }
    }
    Ok(forgotten(&named, &gone))
}

/// Prints the result of a command.
fn show(done: Result<Done>, place: &Place, ui: &Ui) -> Result<u8> {
    match (done, place.json) {
        (Ok(done), true) => ui.json(&done.json),
        (Ok(done), false) => ui.say(&done.text),
        (Err(error), false) => return Err(error),
        (Err(error), true) => {
            ui.json(&error.to_json());
            return Ok(error.kind().exit_code());
        }
    }
    Ok(0)
}

/// Prints the result of a command whose failures are reported in the usual way.
fn shown(done: &Done, is_json: bool, ui: &Ui) -> u8 {
    if is_json {
        ui.json(&done.json);
    } else {
        ui.say(&done.text);
    }
    0
}

fn status(place: &Place, global: &Global) -> Result<Done> {
    let dir = place.dir(global)?;
    let vault = own::open(&dir)?;
    let state = State::of(vault.store(), &dir)?;
    let live = made(&vault)?.iter().filter(|made| made.state == "live").count();
    let store_id = own::store_id(vault.store())?;
    Ok(status_of(place, &dir, ("only you can read it", store_id), &state, live))
}

/// What a store has, and who can read it.
fn status_of(
    place: &Place,
    dir: &Path,
    (reader, store_id): (&str, Option<String>),
    state: &State,
    live: usize,
) -> Done {
    let mut text = format!("Your own data, in {} ({}, {reader})\n", dir.display(), DecimalBytes(state.bytes));
    if state.accounts.is_empty() {
        text.push_str("It is still empty.\n");
    }
    for account in &state.accounts {
        let _ = write!(text, "\n{} ({}, {})\n", one_line(&account.name), one_line(&account.kind), account.id);
        let filled = account.streams.iter().filter(|stream| stream.records > 0);
        let streams: Vec<_> =
            filled.map(|stream| format!("{}: {}", stream.name, HumanCount(stream.records))).collect();
        let _ = match streams.as_slice() {
            [] => writeln!(text, "  it has no records"),
            streams => writeln!(text, "  {}", streams.join(", ")),
        };
        let of = |time: Option<Timestamp>| time.map_or_else(|| "not known".to_owned(), day_and_time);
        let apart = account.streams.iter().find(|stream| stream.name == GUARDED);
        if let Some(apart) = apart.and_then(|stream| kept_apart(stream.records)) {
            let _ = writeln!(text, "  {apart}");
        }
        let _ = writeln!(text, "  last import {}; newest record {}", of(account.as_of), of(account.newest));
    }
    let _ = match live {
        0 if state.accounts.is_empty() => {
            write!(text, "\nNext: {}", place.again(Command::new("import <export>")))
        }
        0 => write!(
            text,
            "\nNo agent can read any of it. To grant access: {}",
            place.again(Command::connect("local"))
        ),
        1 => {
            write!(text, "\n1 grant is live. What it gives: {}", place.again(Command::new("provider grants")))
        }
        live => {
            write!(
                text,
                "\n{live} grants are live. What they give: {}",
                place.again(Command::new("provider grants"))
            )
        }
    };
    let _ =
        write!(text, "\nTo see all of it in your browser: {}", place.again(Command::new("provider open")));
    let json = json!({
        "data_dir": dir.display().to_string(),
        "store_id": store_id,
        "bytes": state.bytes,
        "accounts": state.accounts,
        "live_grants": live,
    });
    Done { text, json }
}

/// A store that has grants on this computer.
struct Granted {
    dir: PathBuf,
    vault: Vault,
    made: Vec<Made>,
}

/// All stores that are known here, the intended one first.
struct Stores {
    open: Vec<Granted>,
    /// Stores that have grants here but cannot be read, each with the reason.
    closed: Vec<(PathBuf, Error)>,
    /// The grants of own data on this computer, from all stores.
    here: Vec<Credential>,
    /// All credentials on this computer: a grant may have come over HTTP.
    all: Vec<Credential>,
}

impl Stores {
    /// # Errors
    /// The reason why the intended store cannot be read, if it is the only store or is damaged.
    fn of(place: &Place, global: &Global) -> Result<Self> {
        let cache = global.cache()?;
        let all = cache.credentials().unwrap_or_default();
        let here: Vec<Credential> = all.iter().filter(|known| known.provider.is_local()).cloned().collect();
        let meant = place.dir(global)?;
        let mut dirs = vec![meant.clone()];
        for dir in here.iter().filter_map(|known| known.data_dir.as_ref()) {
            if !dirs.contains(dir) {
                dirs.push(dir.clone());
            }
        }
        let mut stores = Self { open: Vec::new(), closed: Vec::new(), here, all };
        for dir in dirs {
            let opened = own::open(&dir).and_then(|vault| {
                let made = made(&vault)?;
                Ok(Granted { dir: dir.clone(), vault, made })
            });
            match opened.map_err(|error| own::told(&dir, error)) {
                Ok(granted) => stores.open.push(granted),
                Err(error) if dir == meant && error.kind() != Kind::NotConnected => return Err(error),
                // A store without grants is not one that the command is about.
                Err(error) if stores.here.iter().all(|known| known.data_dir.as_ref() != Some(&dir)) => {
                    if stores.here.is_empty() {
                        return Err(error);
                    }
                }
                Err(error) => stores.closed.push((dir, error)),
            }
        }
        Ok(stores)
    }

    fn made(&self) -> impl Iterator<Item = &Made> {
        self.open.iter().flat_map(|store| &store.made)
    }
}

fn grants(place: &Place, global: &Global) -> Result<Done> {
    let stores = Stores::of(place, global)?;
    let reads = last_reads(&stores, global)?;
    let meant = place.dir(global)?;
    let is_only = stores.open.iter().all(|store| store.dir == meant) && stores.closed.is_empty();
    let (mut text, mut list) = (String::new(), Vec::new());
    for Granted { dir, vault, made } in &stores.open {
        let names = account_names(vault.store()).map_err(|error| own::told(dir, error))?;
        if !is_only {
            let _ = writeln!(text, "Grants of the store in {}:\n", dir.display());
        }
        let end = |grant: &Grant, has_token: bool| {
            let end = Command::new("provider revoke").value(&grant.grant_id);
            // A grant whose token is here can be named by its id alone.
            if has_token || *dir != meant { end } else { place.again(end) }
        };
        let listing = Listing { all: &stores.all, reads: &reads, names: &names, dir, end: &end };
        listing.add(made, &mut text, &mut list);
    }
    for (dir, why) in &stores.closed {
        let _ = writeln!(
            text,
            "Grants of the store in {}, which cannot be read ({}):\n",
            dir.display(),
            why.in_full()
        );
        for known in stores.here.iter().filter(|known| known.data_dir.as_ref() == Some(dir)) {
            let _ = writeln!(text, "{}: {}", one_line(&known.label), known.grant_id);
            let _ = writeln!(text, "  remove it from this computer: {}\n", disconnect_command(known));
        }
    }
    let closed: Vec<Value> = stores
        .closed
        .iter()
        .map(|(dir, why)| json!({ "data_dir": dir.display().to_string(), "code": why.code(), "why": why.in_full() }))
        .collect();
    let json = json!({ "grants": list, "unread_stores": closed });
    Ok(Done { text: text.trim_end().to_owned(), json })
}

/// How the grants of a store are listed.
struct Listing<'a> {
    /// All credentials on this computer.
    all: &'a [Credential],
    /// When each grant was last used to read.
    reads: &'a BTreeMap<String, Timestamp>,
    /// The name of each account.
    names: &'a BTreeMap<String, String>,
    /// The store's directory.
    dir: &'a Path,
    /// The command that ends a grant, given whether its token is on this computer.
    end: &'a dyn Fn(&Grant, bool) -> Command,
}

impl Listing<'_> {
    fn add(&self, made: &[Made], text: &mut String, list: &mut Vec<Value>) {
        for Made { grant, state } in made {
            let credential = self.all.iter().find(|known| known.grant_id.as_str() == grant.grant_id);
            let last_read = self.reads.get(&grant.grant_id).copied();
            let mut told = to_json(grant, state, credential, last_read, self.names);
            told["data_dir"] = self.dir.display().to_string().into();
            list.push(told);
            if *state == "live" {
                let end = (self.end)(grant, credential.is_some());
                text.push_str(&grant_text(grant, credential, last_read, self.names, &end));
            }
        }
        let over = made.iter().filter(|made| made.state != "live").count();
        if over == made.len() {
            text.push_str("The store has no live grants.\n\n");
        }
        let _ = match over {
            0 => Ok(()),
            1 => writeln!(text, "1 more grant has ended (--json lists it).\n"),
            over => writeln!(text, "{over} more grants have ended (--json lists them).\n"),
        };
    }
}

/// When each grant was last used to read, from the log of this computer and those of the stores that are
/// served.
fn last_reads(stores: &Stores, global: &Global) -> Result<BTreeMap<String, Timestamp>> {
    let here = AccessLog::new(global.cache()?.dir()).last_reads();
    let served = stores.open.iter().map(|store| AccessLog::of_store(&store.dir).last_reads());
    Ok(served.fold(here, later))
}

/// When each grant was last used, from two logs.
fn later(
    mut one: BTreeMap<String, Timestamp>,
    other: BTreeMap<String, Timestamp>,
) -> BTreeMap<String, Timestamp> {
    for (id, at) in other {
        let known = one.entry(id).or_insert(at);
        *known = (*known).max(at);
    }
    one
}

fn grant_text(
    grant: &Grant,
    credential: Option<&Credential>,
    last_read: Option<Timestamp>,
    names: &BTreeMap<String, String>,
    revoke: &Command,
) -> String {
    let mut text = credential.map(|known| format!("{}: ", one_line(&known.label))).unwrap_or_default();
    let _ = writeln!(text, "{}", grant.grant_id);
    if credential.is_none() {
        text.push_str("  its token is not on this computer\n");
    }
    if let Some(host) = credential.and_then(|known| known.host.as_deref()) {
        let _ = writeln!(text, "  only for {host}");
    }
    for stream in &grant.streams {
        let _ = writeln!(text, "  {}", stream_line(stream, names));
    }
    let end = grant.expires_at.as_deref().and_then(|end| end.parse().ok());
    let end = end.map_or_else(|| "no end date".to_owned(), |end| format!("until {}", day_and_time(end)));
    let last_read = last_read.map_or_else(|| "never".to_owned(), day_and_time);
    let _ = writeln!(text, "  for: {}", one_line(purpose_of(grant)));
    let _ = writeln!(text, "  {end}; last read: {last_read}");
    let _ = writeln!(text, "  end it: {revoke}\n");
    text
}

fn to_json(
    grant: &Grant,
    state: &str,
    credential: Option<&Credential>,
    last_read: Option<Timestamp>,
    names: &BTreeMap<String, String>,
) -> Value {
    let streams: Vec<_> = grant
        .streams
        .iter()
        .map(|stream| {
            let limit = stream.time_constraint.as_ref();
            json!({
                "name": stream.name,
                "source": grant.source_of(stream).id,
                "accounts": accounts_of(stream, names),
                "fields": stream.fields,
                "since": limit.and_then(|limit| limit.since.as_deref()),
                "until": limit.and_then(|limit| limit.until.as_deref()),
            })
        })
        .collect();
    json!({
        "grant_id": grant.grant_id,
        "state": state,
        "label": credential.map(|known| &known.label),
        "host": credential.and_then(|known| known.host.as_deref()),
        "purpose": purpose_of(grant),
        "issued_at": grant.issued_at,
        "expires_at": grant.expires_at,
        "last_read": last_read,
        "streams": streams,
    })
}

/// The purpose of the data: in words, else the code.
fn purpose_of(grant: &Grant) -> &str {
    grant.purpose_description.as_deref().unwrap_or(&grant.purpose_code)
}

fn accounts_of(stream: &GrantStream, names: &BTreeMap<String, String>) -> Vec<String> {
    stream.instance_ids.iter().map(|id| names.get(id).unwrap_or(id).clone()).collect()
}

fn stream_line(stream: &GrantStream, names: &BTreeMap<String, String>) -> String {
    let of = accounts_of(stream, names).join(", ");
    let mut line = format!("{}: {}: {}", one_line(&of), stream.name, stream.fields.join(", "));
    if let Some(limit) = &stream.time_constraint {
        let _ = write!(line, "; {}", limit.in_words());
    }
    line
}

fn revoke(args: &RevokeArgs, global: &Global, ui: &Ui) -> Result<Done> {
    let cache = global.cache()?;
    let stores = Stores::of(&args.place, global)?;
    let id = meant(&args.grant, &stores)?;
    let is_its = |made: &&Made| made.grant.grant_id == id;
    let is_live = stores.made().filter(is_its).any(|made| made.state == "live");
    if is_live {
        agree(ui, args.yes, &format!("End the grant {id}?"), || {
            args.place.again(Command::new("provider revoke").value(&args.grant).words("--yes"))
        })?;
    }
    for store in stores.open.iter().filter(|store| store.made.iter().any(|made| is_its(&made))) {
        let ended = store.vault.end_grants(std::iter::once(id.as_str()));
        ended.map_err(|error| own::told(&store.dir, vault_failed(&error)))?;
    }
    for credential in stores.all.iter().filter(|known| known.grant_id.as_str() == id) {
        cache.remove(credential)?;
    }
    Ok(revoked(&id, is_live))
}

fn revoked(id: &str, was_live: bool) -> Done {
    let text = if was_live {
        format!(
            "The grant {id} has ended: its token no longer works. The agent keeps what it has already \
             read."
        )
    } else {
        format!("The grant {id} had already ended.")
    };
    Done { text, json: json!({ "grant_id": id, "revoked": true, "was_live": was_live }) }
}

/// The one grant that `name` matches, in any store: by its id, its label here, or the start of its id.
fn meant(name: &str, stores: &Stores) -> Result<String> {
    let made = || stores.made().map(|made| made.grant.grant_id.as_str());
    // Grants whose store is gone, or was replaced by another, count too.
    let mut all: Vec<&str> = made().chain(stores.here.iter().map(|known| known.grant_id.as_str())).collect();
    all.sort_unstable();
    all.dedup();
    let labelled =
        |id: &&str| stores.here.iter().any(|known| known.grant_id.as_str() == *id && known.label == name);
    let mut found: Vec<&str> = all.iter().copied().filter(|id| *id == name).collect();
    if found.is_empty() {
        found = all.iter().copied().filter(labelled).collect();
    }
    if found.is_empty() && !name.is_empty() {
        found = all.iter().copied().filter(|id| id.starts_with(name)).collect();
    }
    let list = Command::new("provider grants");
    match found.as_slice() {
        [id] if made().any(|made| made == *id) => Ok((*id).to_owned()),
        [id] => {
            let known = stores.here.iter().find(|known| known.grant_id.as_str() == *id);
            let dir = known.and_then(|known| known.data_dir.as_ref());
            let why = dir.and_then(|dir| stores.closed.iter().find(|(closed, _)| closed == dir));
            let dir = dir.map(|dir| dir.display().to_string()).unwrap_or_default();
            let message = format!(
                "The grant {id} belongs to a store that is no longer in {dir}, or cannot be read there"
            );
            let error = Error::failed("own_store_other", message);
            let error = match why {
                Some((_, why)) => error.because(why.in_full()),
                None => error,
            };
            let next = known.map_or(list, disconnect_command);
            Err(error.hint(Hint::new("To remove its token from this computer: ").run(next)))
        }
        [] => {
            let message = format!("No grant of your own data is called {name}");
            Err(Error::new(Kind::Usage, "grant_unknown", message).run(list))
        }
        several => Err(several_grants(several)),
    }
}

/// Asks a person for a yes.
fn agree(ui: &Ui, is_agreed: bool, question: &str, instead: impl FnOnce() -> Command) -> Result<()> {
    if is_agreed {
        return Ok(());
    }
    if !ui.can_ask() {
        let message = "This needs a confirmation, but there is no terminal to ask on";
        return Err(Error::new(Kind::Refused, "confirmation_required", message).run(instead()));
    }
    if ui.confirm(question) {
        return Ok(());
    }
    Err(Error::failed("not_confirmed", "You did not confirm; nothing was changed"))
}

fn forget(args: &ForgetArgs, global: &Global, ui: &Ui) -> Result<Done> {
    let dir = args.place.dir(global)?;
    let store = own::open_store(&dir)?;
    let Some(account) = forget::find(&store, &args.account)? else {
        drop(store);
        // An unfinished deletion continues.
        drop(own::make_store(&dir)?);
        return Ok(forgotten_before(args));
    };
    drop(store);
    agree_to_forget(args, &account.display_name, ui)?;
    let gone = forget::forget(&dir, &account.id)?;
    forget::remove_tokens(&global.cache()?, &gone.ended)?;
    Ok(forgotten(&account.display_name, &gone))
}

fn forgotten_before(args: &ForgetArgs) -> Done {
    let text = format!("{} was already forgotten.", one_line(&args.account));
    Done { text, json: json!({ "forgotten": true, "records": 0 }) }
}

fn agree_to_forget(args: &ForgetArgs, name: &str, ui: &Ui) -> Result<()> {
    let question = format!("Delete {name} and everything in it from the store? This cannot be undone.");
    agree(ui, args.yes, &question, || {
        args.place.again(Command::new("provider forget").value(&args.account).words("--yes"))
    })
}

fn forgotten(name: &str, gone: &Forgotten) -> Done {
    let text = gone.in_words(name).join("\n");
    let json = json!({
        "forgotten": true,
        "account": gone.id,
        "records": gone.records,
        "ended_grants": gone.ended,
        "narrowed_grants": gone.narrowed,
    });
    Done { text, json }
}
