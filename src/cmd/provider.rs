//! `pdpp provider`: the person's own store, and what was granted of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Subcommand;
use indicatif::{DecimalBytes, HumanCount};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Global;
use crate::access_log::AccessLog;
use crate::advice::{Command, Hint};
use crate::cache::credential::Credential;
use crate::error::{Error, Kind, Result};
use crate::own::state::{State, kept_apart, vault_failed};
use crate::own::{self, forget};
use crate::text::one_line;
use crate::time_text::day_and_time;
use crate::ui::Ui;
use crate::vault::grant::{Grant, GrantStream};
use crate::vault::oauth::wish::GUARDED;
use crate::vault::{Vault, accounts};

/// Your own data on this machine: what is there, what was granted of it, and how to end that
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
  pdpp provider                        what is there, and how old it is
  pdpp provider grants                 what was granted, until when, and what was last read
  pdpp provider revoke GRANT           end a grant, for the next read on
  pdpp provider forget 'Work mail'     delete an account, and everything of it

Ends with 78 if nothing was imported yet.";

#[derive(Debug, Subcommand)]
pub enum Action {
    Status(StatusArgs),
    /// Show what was granted of your own data, to whom, until when, and when it was last read
    Grants(StatusArgs),
    Revoke(RevokeArgs),
    Forget(ForgetArgs),
}

/// Show what is in the store of your own data, account by account, and how old it is
#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub place: Place,
}

/// Where the store is, and how results are printed.
#[derive(Debug, clap::Args)]
pub struct Place {
    /// Where your own data is [default: as before, else `own` beside the credentials]
    #[arg(long, value_name = "DIR", env = "PDPP_DATA_DIR", hide_env_values = true)]
    pub data_dir: Option<PathBuf>,

    /// Print the result, or the failure, as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// End a grant of your own data: from the next read on its token is good for nothing
#[derive(Debug, clap::Args)]
pub struct RevokeArgs {
    /// The grant: its id, the beginning of it, or its name, as `pdpp status` shows them
    #[arg(value_name = "GRANT")]
    pub grant: String,

    /// Ask nothing
    #[arg(long, short)]
    pub yes: bool,

    #[command(flatten)]
    pub place: Place,
}

/// Delete an account from the store: its records, its words in the index and its copies; your exports stay where they are
#[derive(Debug, clap::Args)]
pub struct ForgetArgs {
    /// The account: what it is called, or its id, as `pdpp provider` shows them
    #[arg(value_name = "ACCOUNT")]
    pub account: String,

    /// Ask nothing
    #[arg(long, short)]
    pub yes: bool,

    #[command(flatten)]
    pub place: Place,
}

/// Runs the command.
///
/// # Errors
/// `own_missing` (78); an unknown name (2); a question that nobody can be asked (77); those of the store.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    let place = match &args.action {
        None => &args.status.place,
        Some(Action::Status(args) | Action::Grants(args)) => &args.place,
        Some(Action::Revoke(args)) => &args.place,
        Some(Action::Forget(args)) => &args.place,
    };
    let done = match &args.action {
        None | Some(Action::Status(_)) => status(place, global),
        Some(Action::Grants(_)) => grants(place, global),
        Some(Action::Revoke(args)) => revoke(args, global, ui),
        Some(Action::Forget(args)) => forget(args, global, ui),
    };
    match (done, place.json) {
        (Ok(done), true) => ui.json(&done.json),
        (Ok(done), false) => ui.print(&done.text),
        (Err(error), true) => {
            ui.json(&error.to_json());
            return Ok(error.kind().exit_code());
        }
        (Err(error), false) => return Err(error),
    }
    Ok(0)
}

/// What a command comes to.
struct Done {
    text: String,
    json: Value,
}

impl Place {
    /// `command`, about the same store: the directory that was named is remembered by an import and a grant alone.
    fn again(&self, command: Command) -> Command {
        match &self.data_dir {
            Some(dir) => command.option("--data-dir", dir.display().to_string()),
            None => command,
        }
    }

    fn dir(&self, global: &Global) -> Result<PathBuf> {
        own::dir(self.data_dir.as_deref(), &global.cache()?)
    }
}

fn status(place: &Place, global: &Global) -> Result<Done> {
    let dir = place.dir(global)?;
    let vault = own::open(&dir)?;
    let state = State::of(vault.store(), &dir)?;
    let live = made(&vault)?.iter().filter(|made| made.state == "live").count();
    let mut text = format!(
        "Your own data, in {} ({}, only you can read it)\n",
        dir.display(),
        DecimalBytes(state.bytes)
    );
    if state.accounts.is_empty() {
        text.push_str("Nothing is in it yet.\n");
    }
    for account in &state.accounts {
        let _ = write!(text, "\n{} ({}, {})\n", one_line(&account.name), one_line(&account.kind), account.id);
        let streams: Vec<_> = account
            .streams
            .iter()
            .map(|stream| format!("{} {}", stream.name, HumanCount(stream.records)))
            .collect();
        let _ = writeln!(text, "  {}", streams.join(", "));
        let of = |time: Option<Timestamp>| time.map_or_else(|| "not known".to_owned(), day_and_time);
        let apart = account.streams.iter().find(|stream| stream.name == GUARDED);
        if let Some(apart) = apart.and_then(|stream| kept_apart(stream.records)) {
            let _ = writeln!(text, "  {apart}");
        }
        let _ = writeln!(text, "  imported {}; newest record {}", of(account.as_of), of(account.newest));
    }
    let _ = match live {
        0 => write!(text, "\nNo grant of it is live. Next: {}", place.again(Command::connect("local"))),
        1 => write!(text, "\n1 grant is live: {}", place.again(Command::new("provider grants"))),
        live => write!(text, "\n{live} grants are live: {}", place.again(Command::new("provider grants"))),
    };
    let json = json!({
        "data_dir": dir.display().to_string(),
        "store_id": own::store_id(vault.store())?,
        "bytes": state.bytes,
        "accounts": state.accounts,
        "live_grants": live,
    });
    Ok(Done { text, json })
}

/// A grant, and how it stands.
struct Made {
    grant: Grant,
    state: &'static str,
}

fn made(vault: &Vault) -> Result<Vec<Made>> {
    let now = crate::vault::time::now_ms();
    let state = |grant: &Grant, revoked: Option<i64>| match revoked {
        Some(_) => "revoked",
        None if grant.is_expired(now) => "expired",
        None => "live",
    };
    let all = vault.grants_made().map_err(|error| vault_failed(&error))?;
    Ok(all.into_iter().map(|(grant, revoked)| Made { state: state(&grant, revoked), grant }).collect())
}

fn grants(place: &Place, global: &Global) -> Result<Done> {
    let vault = own::open(&place.dir(global)?)?;
    let cache = global.cache()?;
    let here = cache.credentials().unwrap_or_default();
    let names = vault.store().read::<BTreeMap<String, String>, rusqlite::Error>(|_, catalog| {
        let ids = catalog.connections.iter().map(|known| known.id.clone());
        Ok(ids.map(|id| (id.clone(), accounts::label(catalog, &id))).collect())
    });
    let names = names.map_err(|error| vault_failed(&error.into()))?;
    let reads = AccessLog::new(cache.dir()).last_reads();
    let (mut text, mut list) = (String::new(), Vec::new());
    for Made { grant, state } in made(&vault)? {
        let credential = here.iter().find(|known| known.grant_id.as_str() == grant.grant_id);
        let last_read = reads.get(&grant.grant_id).copied();
        list.push(to_json(&grant, state, credential, last_read, &names));
        if state != "live" {
            continue;
        }
        let label = credential.map(|known| format!("{}: ", one_line(&known.label))).unwrap_or_default();
        let _ = writeln!(text, "{label}{}", grant.grant_id);
        if let Some(host) = credential.and_then(|known| known.host.as_deref()) {
            let _ = writeln!(text, "  for {host} alone");
        }
        for stream in &grant.streams {
            let _ = writeln!(text, "  {}", stream_line(stream, &names));
        }
        let end = grant.expires_at.as_deref().and_then(|end| end.parse().ok());
        let end =
            end.map_or_else(|| "without an end".to_owned(), |end| format!("until {}", day_and_time(end)));
        let last_read = last_read.map_or_else(|| "never".to_owned(), day_and_time);
        let _ = writeln!(text, "  for: {}", one_line(purpose_of(&grant)));
        let _ = writeln!(text, "  {end}; last read: {last_read}");
        let end = place.again(Command::new("provider revoke").value(&grant.grant_id));
        let _ = writeln!(text, "  end it: {end}\n");
    }
    let over = list.iter().filter(|grant| grant["state"] != "live").count();
    if text.is_empty() {
        let _ = writeln!(text, "No grant of this store is live.\n");
    }
    if over > 0 {
        let _ = writeln!(text, "{over} more are over (--json lists them).");
    }
    Ok(Done { text: text.trim_end().to_owned(), json: json!({ "grants": list }) })
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

/// What the data is for: in words, else the code.
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
        let day = |text: &String| text.get(..10).unwrap_or(text).to_owned();
        if let Some(since) = &limit.since {
            let _ = write!(line, "; from {} on by {}", day(since), limit.field);
        }
        if let Some(until) = &limit.until {
            let _ = write!(line, "; before {} by {}", day(until), limit.field);
        }
    }
    line
}

fn revoke(args: &RevokeArgs, global: &Global, ui: &Ui) -> Result<Done> {
    let vault = own::open(&args.place.dir(global)?)?;
    let cache = global.cache()?;
    let here = cache.credentials().unwrap_or_default();
    let made = made(&vault)?;
    let id = meant(&args.grant, &made, &here)?;
    let is_live = made.iter().any(|made| made.grant.grant_id == id && made.state == "live");
    if is_live {
        agree(ui, args.yes, &format!("End the grant {id}?"), || {
            args.place.again(Command::new("provider revoke").value(&args.grant).words("--yes"))
        })?;
    }
    vault.end_grants(std::iter::once(id.as_str())).map_err(|error| vault_failed(&error))?;
    for credential in here.iter().filter(|known| known.provider.is_local() && known.grant_id.as_str() == id) {
        cache.remove(credential)?;
    }
    let text = if is_live {
        format!(
            "The grant {id} is ended: its token is good for nothing. What was read by now stays with the agent."
        )
    } else {
        format!("The grant {id} was over before.")
    };
    Ok(Done { text, json: json!({ "grant_id": id, "revoked": true, "was_live": is_live }) })
}

/// The one grant that `name` means: by its id, its label here, or the beginning of its id.
fn meant(name: &str, made: &[Made], here: &[Credential]) -> Result<String> {
    let ids = || made.iter().map(|made| made.grant.grant_id.as_str());
    let labelled = |id: &&str| here.iter().any(|known| known.grant_id.as_str() == *id && known.label == name);
    let mut found: Vec<&str> = ids().filter(|id| *id == name).collect();
    if found.is_empty() {
        found = ids().filter(labelled).collect();
    }
    if found.is_empty() && !name.is_empty() {
        found = ids().filter(|id| id.starts_with(name)).collect();
    }
    match found.as_slice() {
        [id] => Ok((*id).to_owned()),
        [] => Err(Error::new(
            Kind::Usage,
            "grant_unknown",
            format!("No grant of your own data is called {name}"),
        )
        .run(Command::new("provider grants"))),
        several => Err(Error::new(
            Kind::Usage,
            "several_credentials",
            format!("Several grants are meant: {}", several.join(", ")),
        )
        .run(Command::new("provider grants"))),
    }
}

/// Whether a person says yes.
fn agree(ui: &Ui, is_agreed: bool, question: &str, instead: impl FnOnce() -> Command) -> Result<()> {
    if is_agreed {
        return Ok(());
    }
    if !ui.can_ask() {
        let message = "That is only done when somebody says so, and nobody can be asked here";
        return Err(Error::new(Kind::Refused, "confirmation_required", message).run(instead()));
    }
    if ui.confirm(question) {
        return Ok(());
    }
    Err(Error::failed("not_confirmed", "Nobody said yes; nothing was changed"))
}

fn forget(args: &ForgetArgs, global: &Global, ui: &Ui) -> Result<Done> {
    let dir = args.place.dir(global)?;
    let store = own::open_store(&dir)?;
    let Some(account) = forget::find(&store, &args.account)? else {
        drop(store);
        // What was begun goes on.
        drop(own::make_store(&dir)?);
        let text = format!("{} was forgotten before.", one_line(&args.account));
        return Ok(Done { text, json: json!({ "forgotten": true, "records": 0 }) });
    };
    drop(store);
    let question =
        format!("Delete {} and everything of it from the store? It cannot be undone.", account.display_name);
    agree(ui, args.yes, &question, || {
        args.place.again(Command::new("provider forget").value(&args.account).words("--yes"))
    })?;
    let gone = forget::forget(&dir, &account.id)?;
    let cache = global.cache()?;
    for credential in cache.credentials().unwrap_or_default() {
        if credential.provider.is_local() && gone.ended.iter().any(|id| id == credential.grant_id.as_str()) {
            cache.remove(&credential)?;
        }
    }
    let mut text = format!(
        "{} is forgotten: {} records, with all that was kept of them.",
        one_line(&account.display_name),
        HumanCount(gone.records as u64)
    );
    for id in &gone.ended {
        let _ = write!(text, "\nThe grant {id} is ended: it was on nothing else.");
    }
    for id in &gone.narrowed {
        let _ = write!(text, "\nThe grant {id} goes on without it.");
    }
    text.push_str(
        "\nOut of reach from here: your exports, backups and snapshots of the disk, and what agents have read.",
    );
    let hint = Hint::new("To have it again, import it again");
    let _ = write!(text, "\n{hint}.");
    let json = json!({
        "forgotten": true,
        "account": gone.id,
        "records": gone.records,
        "ended_grants": gone.ended,
        "narrowed_grants": gone.narrowed,
    });
    Ok(Done { text, json })
}
