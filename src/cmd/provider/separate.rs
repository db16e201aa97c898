//! `pdpp provider` in the separate set-up: the service of another user is asked, and the passphrase typed here.

use std::path::Path;

use crate::access_log::AccessLog;
use crate::advice::Command;
use crate::cache::credential::Credential;
use crate::cmd::Global;
use crate::cmd::passphrases::for_service;
use crate::error::{Error, Kind, Result};
use crate::fs::NewFile;
use crate::own::backup::{self, BackedUp};
use crate::own::forget::Forgotten;
use crate::own::separate::caller::{Caller, News, Person};
use crate::own::separate::words::{Asked, Told, Which};
use crate::own::separate::{self, Socket};
use crate::secret::Passphrase;
use crate::ui::{Progress, Ui};
use crate::vault::grant::Grant;

use super::backup::{BackupArgs, RestoreArgs, backed_up};
use super::place::{Done, Place};
use super::{
    Action, Args, ForgetArgs, Listing, RevokeArgs, agree, agree_to_forget, forgotten, forgotten_before,
    later, open, revoked, status_of,
};

/// Who can read the store.
const READER: &str = "only its service can read it";

/// What the command comes to, where a service keeps the data; nothing where that is the person's own store.
pub(super) fn run(args: &Args, place: &Place, global: &Global, ui: &Ui) -> Option<Result<Done>> {
    if matches!(args.action, Some(Action::Serve(_))) {
        return None;
    }
    let socket = match separate::of_this_user(place.data_dir.as_deref()) {
        Ok(None) => return None,
        Ok(Some(socket)) => socket,
        Err(error) => return Some(Err(error)),
    };
    Some(match &args.action {
        None | Some(Action::Status(_)) => status(&socket, place, ui),
        Some(Action::Grants(_)) => grants(&socket, place, global, ui),
        Some(Action::Revoke(args)) => revoke(&socket, args, global, ui),
        Some(Action::Forget(args)) => forget(&socket, args, global, ui),
        Some(Action::Backup(args)) => back_up(&socket, args, ui),
        Some(Action::Passphrase(_)) => change(&socket, ui),
        Some(Action::Open(args)) => Caller::begin(&socket)
            .and_then(Caller::owner_link)
            .and_then(|address| open::lead(&address, args, global, ui)),
        Some(Action::Restore(args)) => refuse_restore(&socket, args),
        _ => return None,
    })
}

/// Whoever sits at the terminal.
struct AtTerminal<'a> {
    ui: &'a Ui,
    progress: Option<&'a Progress<'a>>,
    /// The account that is to be deleted, if one is.
    forgets: Option<(&'a ForgetArgs, String)>,
}

impl<'a> AtTerminal<'a> {
    const fn new(ui: &'a Ui) -> Self {
        Self { ui, progress: None, forgets: None }
    }
}

impl Person for AtTerminal<'_> {
    fn passphrase(&mut self, which: Which, is_wrong: bool) -> Result<Passphrase> {
        let ask = || for_service(self.ui, which, is_wrong, Command::typed_again("provider"));
        self.progress.map_or_else(ask, |progress| progress.aside(ask))
    }

    fn account(&mut self, name: &str) -> Result<()> {
        let Some((args, account)) = &mut self.forgets else { return Ok(()) };
        name.clone_into(account);
        agree_to_forget(args, name, self.ui)
    }

    fn hear(&mut self, news: News<'_>) {
        if let (News::Does(what), Some(progress)) = (news, self.progress) {
            progress.say(what);
        }
    }
}

fn unexpected() -> Error {
    Error::failed("owner_service", "The service answered something else than was asked")
        .hint("Have both updated to the same release")
}

fn status(socket: &Socket, place: &Place, ui: &Ui) -> Result<Done> {
    match Caller::begin(socket)?.ask(&Asked::Status, None, &mut AtTerminal::new(ui))? {
        Told::Status(told) => {
            let dir = Path::new(&told.data_dir);
            Ok(status_of(place, dir, (READER, told.store_id), &told.state, told.live_grants))
        }
        _ => Err(unexpected()),
    }
}

fn grants(socket: &Socket, place: &Place, global: &Global, ui: &Ui) -> Result<Done> {
    let cache = global.cache()?;
    let told = match Caller::begin(socket)?.ask(&Asked::Grants, None, &mut AtTerminal::new(ui))? {
        Told::Grants(told) => told,
        _ => return Err(unexpected()),
    };
    let (mut text, mut list) = (String::new(), Vec::new());
    let reads = later(AccessLog::new(cache.dir()).last_reads(), told.reads);
    let listing = Listing {
        all: &cache.credentials().unwrap_or_default(),
        reads: &reads,
        names: &told.names,
        dir: Path::new(&told.data_dir),
        end: &|grant: &Grant, _| place.again(Command::new("provider revoke").value(&grant.grant_id)),
    };
    listing.add(&told.made, &mut text, &mut list);
    let json = serde_json::json!({ "grants": list, "unread_stores": [] });
    Ok(Done { text: text.trim_end().to_owned(), json })
}

/// Ends a grant. The service takes a whole id alone, since it tells nobody without the passphrase which there are; a name or the
/// beginning of one is known here, where a token of it is kept.
fn revoke(socket: &Socket, args: &RevokeArgs, global: &Global, ui: &Ui) -> Result<Done> {
    let cache = global.cache()?;
    let all = cache.credentials().unwrap_or_default();
    let id = meant(&args.grant, &all)?;
    agree(ui, args.yes, &format!("End the grant {id}?"), || {
        args.place.again(Command::new("provider revoke").value(&args.grant).words("--yes"))
    })?;
    let asked = Asked::Revoke { grant: id.clone() };
    match Caller::begin(socket)?.ask(&asked, None, &mut AtTerminal::new(ui))? {
        Told::Revoked { was_live } => {
            for credential in all.iter().filter(|known| known.grant_id.as_str() == id) {
                cache.remove(credential)?;
            }
            Ok(revoked(&id, was_live))
        }
        _ => Err(unexpected()),
    }
}

fn meant(name: &str, all: &[Credential]) -> Result<String> {
    let id = |known: &Credential| known.grant_id.as_str().to_owned();
    let of = |is_it: &dyn Fn(&Credential) -> bool| {
        let mut ids: Vec<String> = all.iter().filter(|known| is_it(known)).map(id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    let found = [
        of(&|known| known.grant_id.as_str() == name),
        of(&|known| known.label == name),
        of(&|known| !name.is_empty() && known.grant_id.as_str().starts_with(name)),
    ];
    match found.into_iter().find(|found| !found.is_empty()).as_deref() {
        None => Ok(name.to_owned()),
        Some([id]) => Ok(id.clone()),
        Some(several) => {
            let message = format!("Several grants are meant: {}", several.join(", "));
            Err(Error::new(Kind::Usage, "several_credentials", message).run(Command::new("provider grants")))
        }
    }
}

fn forget(socket: &Socket, args: &ForgetArgs, global: &Global, ui: &Ui) -> Result<Done> {
    let mut person = AtTerminal { forgets: Some((args, String::new())), ..AtTerminal::new(ui) };
    let asked = Asked::Forget { account: args.account.clone() };
    match Caller::begin(socket)?.ask(&asked, None, &mut person)? {
        Told::Gone => Ok(forgotten_before(args)),
        Told::Forgotten(gone) => {
            let cache = global.cache()?;
            for credential in cache.credentials().unwrap_or_default() {
                if gone.ended.iter().any(|id| id == credential.grant_id.as_str()) {
                    cache.remove(&credential)?;
                }
            }
            let name = person.forgets.map(|(_, name)| name).unwrap_or_default();
            let gone =
                Forgotten { id: gone.id, records: gone.records, ended: gone.ended, narrowed: gone.narrowed };
            Ok(forgotten(&name, &gone))
        }
        _ => Err(unexpected()),
    }
}

/// Has the service write a backup into a file that is opened here, so that it is the person's.
fn back_up(socket: &Socket, args: &BackupArgs, ui: &Ui) -> Result<Done> {
    let hello = Caller::begin(socket)?.hello()?;
    let dir = Path::new(&hello.data_dir);
    backup::check_file(dir, &args.file, args.overwrite)?;
    let failed = |error| backup::unwritable(&args.file, error);
    let file = NewFile::begin(&args.file, args.overwrite).map_err(failed)?;
    let open = file.reopen().map_err(failed)?;
    let progress = ui.progress();
    let mut person = AtTerminal { progress: Some(&progress), ..AtTerminal::new(ui) };
    let asked = Asked::Backup { is_encrypted: args.encrypt };
    let told = Caller::begin(socket)?.ask(&asked, Some(&open), &mut person);
    drop(progress);
    let Told::BackedUp { manifest, bytes } = told? else { return Err(unexpected()) };
    let is_private = file.is_private();
    file.commit().map_err(failed)?;
    Ok(backed_up(args, dir, &BackedUp { manifest, bytes, is_private }, ui))
}

fn change(socket: &Socket, ui: &Ui) -> Result<Done> {
    match Caller::begin(socket)?.ask(&Asked::Passphrase, None, &mut AtTerminal::new(ui))? {
        Told::Done => Ok(Done {
            text: "The passphrase is kept, as a hash.".to_owned(),
            json: serde_json::json!({ "set": true }),
        }),
        _ => Err(unexpected()),
    }
}

/// A store that is put in the place of an empty one is root's to make: whoever restores could bring in what agents then take for true.
fn refuse_restore(socket: &Socket, args: &RestoreArgs) -> Result<Done> {
    let dir = Caller::begin(socket)?.hello()?.data_dir;
    let command =
        Command::new("provider restore").value(args.file.display().to_string()).option("--data-dir", dir);
    let message = "Your own data is kept by a service, and only root restores a backup there";
    Err(Error::new(Kind::Refused, "restore_needs_root", message).hint(format!("sudo {command}")))
}
