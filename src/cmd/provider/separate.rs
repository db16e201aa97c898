//! What `pdpp provider` asks of the service of the separate set-up; the passphrase is typed here.

use std::path::Path;

use super::backup::BackupArgs;
use super::place::several_grants;
use crate::advice::Command;
use crate::cache::credential::Credential;
use crate::cmd::passphrases::for_service;
use crate::error::{Error, Kind, Result};
use crate::fs::NewFile;
use crate::own::backup::{self, BackedUp};
use crate::own::forget::Forgotten;
use crate::own::separate::Socket;
use crate::own::separate::caller::{Caller, News, Person};
use crate::own::separate::words::{Asked, Grants, Status, Told, Which};
use crate::secret::Passphrase;
use crate::ui::{Progress, Ui};

/// Who can read the store.
pub(super) const READER: &str = "only its service can read it";

/// Decides whether to delete the account with this name.
type Agree<'a> = &'a mut dyn FnMut(&str) -> Result<()>;

/// The person at the terminal.
struct AtTerminal<'a> {
    ui: &'a Ui,
    progress: Option<&'a Progress<'a>>,
    agree: Option<Agree<'a>>,
}

impl<'a> AtTerminal<'a> {
    const fn new(ui: &'a Ui) -> Self {
        Self { ui, progress: None, agree: None }
    }
}

impl Person for AtTerminal<'_> {
    fn passphrase(&mut self, which: Which, is_wrong: bool) -> Result<Passphrase> {
        let ask = || for_service(self.ui, which, is_wrong, Command::typed_again("provider"));
        self.progress.map_or_else(ask, |progress| progress.aside(ask))
    }

    fn account(&mut self, name: &str) -> Result<()> {
        self.agree.as_mut().map_or(Ok(()), |agree| agree(name))
    }

    fn hear(&mut self, news: News<'_>) {
        if let (News::Does(what), Some(progress)) = (news, self.progress) {
            progress.say(what);
        }
    }
}

fn unexpected() -> Error {
    Error::failed("owner_service", "The service sent an unexpected answer")
        .hint("Update both to the same release")
}

/// What the store has.
pub(super) fn status(socket: &Socket, ui: &Ui) -> Result<Status> {
    match Caller::begin(socket)?.ask(&Asked::Status, None, &mut AtTerminal::new(ui))? {
        Told::Status(told) => Ok(told),
        _ => Err(unexpected()),
    }
}

/// The grants of the store.
pub(super) fn grants(socket: &Socket, ui: &Ui) -> Result<Grants> {
    match Caller::begin(socket)?.ask(&Asked::Grants, None, &mut AtTerminal::new(ui))? {
        Told::Grants(told) => Ok(told),
        _ => Err(unexpected()),
    }
}

/// Ends the grant with this id, and returns whether it was live.
pub(super) fn revoke(socket: &Socket, id: &str, ui: &Ui) -> Result<bool> {
    let asked = Asked::Revoke { grant: id.to_owned() };
    match Caller::begin(socket)?.ask(&asked, None, &mut AtTerminal::new(ui))? {
        Told::Revoked { was_live } => Ok(was_live),
        _ => Err(unexpected()),
    }
}

/// The whole id of the grant that `name` matches. The service accepts only a whole id, because it lists
/// grants to nobody without the passphrase; a name or the start of an id is looked up here, among the
/// tokens on this computer.
pub(super) fn meant(name: &str, all: &[Credential]) -> Result<String> {
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
        Some(several) => Err(several_grants(several)),
    }
}

/// Deletes an account, if `agree` accepts its name; `None` if it was deleted before.
pub(super) fn forget(socket: &Socket, account: &str, agree: Agree<'_>, ui: &Ui) -> Result<Option<Forgotten>> {
    let mut person = AtTerminal { agree: Some(agree), ..AtTerminal::new(ui) };
    let asked = Asked::Forget { account: account.to_owned() };
    match Caller::begin(socket)?.ask(&asked, None, &mut person)? {
        Told::Gone => Ok(None),
        Told::Forgotten(gone) => Ok(Some(Forgotten {
            id: gone.id,
            records: gone.records,
            ended: gone.ended,
            narrowed: gone.narrowed,
        })),
        _ => Err(unexpected()),
    }
}

/// Has the service write a backup into a file that is opened here, so that it belongs to the person.
pub(super) fn back_up(socket: &Socket, args: &BackupArgs, ui: &Ui) -> Result<(String, BackedUp)> {
    let dir = Caller::begin(socket)?.hello()?.data_dir;
    backup::check_file(Path::new(&dir), &args.file, args.overwrite)?;
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
    Ok((dir, BackedUp { manifest, bytes, is_private }))
}

/// A link to the owner's page that works once.
pub(super) fn owner_link(socket: &Socket) -> Result<String> {
    Caller::begin(socket)?.owner_link()
}

/// Changes the passphrase.
pub(super) fn change_passphrase(socket: &Socket, ui: &Ui) -> Result<()> {
    match Caller::begin(socket)?.ask(&Asked::Passphrase, None, &mut AtTerminal::new(ui))? {
        Told::Done => Ok(()),
        _ => Err(unexpected()),
    }
}

/// The error for anyone but root: a store that replaces an empty one could have content that agents then
/// take for true.
pub(super) fn refuse_restore(socket: &Socket, file: &Path) -> Error {
    let dir = match Caller::begin(socket).and_then(Caller::hello) {
        Ok(hello) => hello.data_dir,
        Err(error) => return error,
    };
    let command =
        Command::new("provider restore").value(file.display().to_string()).option("--data-dir", dir);
    let message = "A service keeps your own data, and only root can restore a backup there";
    Error::new(Kind::Refused, "restore_needs_root", message).hint(format!("sudo {command}"))
}
