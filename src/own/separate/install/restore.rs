//! Restores a backup as the store of the separate set-up: root opens the file, and the store's own user
//! reads it.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::person::{self, Account};
use super::{plan, prepare, programs, services, unit};
use crate::error::{Error, Kind, Result};
use crate::fs::{self, system};
use crate::own::separate::place;
use crate::secret::Passphrase;

/// A store of this set-up, before it is restored from a backup.
#[derive(Debug)]
pub struct Restoring {
    uid: u32,
    dir: PathBuf,
    user: Account,
    /// The unit of its service.
    unit: Option<String>,
}

/// A restore into `dir`, if `dir` is a store of this set-up and root asks.
///
/// # Errors
/// `install_needs_root` (77) for any other user; `own_missing` (78) if there is no such service; the
/// errors of the list of users.
pub fn restoring(dir: &Path) -> Result<Option<Restoring>> {
    let Some(uid) = place::person_of(dir) else { return Ok(None) };
    let owner = system::dir_owner(dir).ok().flatten().map(|(owner, _)| owner);
    if geteuid().is_root() && owner.is_none_or(|owner| owner == 0) {
        // No service would serve a store that belongs to root, and it would block the installation.
        let message =
            format!("{} is for the service of the user {uid}, which is not installed", dir.display());
        return Err(Error::new(Kind::NotConnected, "own_missing", message)
            .hint(format!("sudo pdpp provider install --for {uid}; then run the same command again")));
    }
    let Some(owner) = owner.filter(|owner| *owner != geteuid().as_raw()) else { return Ok(None) };
    if !geteuid().is_root() {
        let message =
            format!("{} belongs to another user, and only root can restore a backup there", dir.display());
        return Err(Error::new(Kind::Refused, "install_needs_root", message)
            .hint("Run the same command with sudo, and the whole path of pdpp"));
    }
    let user = person::account(&owner.to_string())?.filter(|user| user.comment == plan::comment_of(uid));
    let Some(user) = user else { return Ok(None) };
    let unit = plan::units().into_iter().find(|(_, text)| unit::owner_of(text) == Some(uid));
    let unit = unit.and_then(|(path, _)| Some(path.file_name()?.to_string_lossy().into_owned()));
    Ok(Some(Restoring { uid, dir: dir.to_owned(), user, unit }))
}

impl Restoring {
    /// Restores the backup `file` at this process's terminal; the service is stopped meanwhile. Returns
    /// the exit code of the restore. If the store has no passphrase, `ask` asks for one before anything
    /// is restored.
    ///
    /// # Errors
    /// `backup_file`; `own_in_use` if the service runs without systemd; the errors of the steps and of
    /// `ask`.
    pub fn restore(&self, file: &Path, is_json: bool, ask: &dyn Fn() -> Result<Passphrase>) -> Result<u8> {
        let unread = |error| {
            Error::failed("backup_file", format!("Could not read {}", file.display()))
                .because(error)
                .hint("Name a file that can be read")
        };
        let real = dunce::canonicalize(file).map_err(unread)?;
        let mut from = fs::open_plain(&real).map_err(unread)?;
        let runs = self.unit.as_ref().filter(|unit| services::runs(unit));
        if let Some(unit) = runs {
            services::stop(unit)?;
        }
        let copy = Path::new(place::STORES).join(format!(".restoring-{}", std::process::id()));
        let done =
            self.check_stopped().and_then(|()| self.restore_copy(&copy, file, &mut from, is_json, ask));
        // In every case the copy is removed, and the service continues.
        let removed = system::remove(&copy).map_err(|error| {
            programs::failed(&format!("Could not remove {}", copy.display())).because(error)
        });
        let started = runs.map_or(Ok(()), |unit| services::start(unit));
        let code = done?;
        removed.and(started)?;
        Ok(code)
    }

    /// Checks that nobody answers at the owner's socket any more.
    fn check_stopped(&self) -> Result<()> {
        if UnixStream::connect(place::socket_path(self.uid)).is_err() {
            return Ok(());
        }
        let message =
            format!("The service of {} is running, but systemd did not start it", self.dir.display());
        Err(Error::failed("own_in_use", message).hint(
            "Stop the process that serves it, the same way that it was started; then run the same \
                   command again",
        ))
    }

    fn restore_copy(
        &self,
        copy: &Path,
        file: &Path,
        from: &mut std::fs::File,
        is_json: bool,
        ask: &dyn Fn() -> Result<Passphrase>,
    ) -> Result<u8> {
        // A restore leaves the passphrase, and a person who goes away at the question leaves everything
        // unchanged.
        if !prepare(&self.user, &self.dir, None)? {
            prepare(&self.user, &self.dir, Some(&ask()?))?;
        }
        let owner = (self.user.uid, self.user.gid);
        system::copy_for(copy, from, owner).map_err(|error| {
            Error::failed("backup_file", format!("Could not copy the backup to {}", copy.display()))
                .because(error)
                .hint("Make room on that disk, then run this again")
        })?;
        let (dir, copy) = (self.dir.display().to_string(), copy.display().to_string());
        let called = file.display().to_string();
        let mut arguments = vec!["provider", "restore", &copy, "--called", &called, "--data-dir", &dir];
        if is_json {
            arguments.push("--json");
        }
        programs::at_the_terminal(&self.user, &arguments)
    }
}
