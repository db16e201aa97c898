//! Removes the separate set-up of a person; the data only if that was asked for.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::person::{self, Account};
use super::{plan, programs, services, unit};
use crate::error::{Error, Kind, Result};
use crate::fs::system;
use crate::own::separate::place;

/// How long a process has to end on its own.
const PATIENCE: Duration = Duration::from_secs(30);

/// The existing parts of a person's set-up.
#[derive(Debug)]
pub struct Removal {
    /// The person's name.
    pub person: String,
    /// Their user id.
    pub uid: u32,
    /// The unit, if it exists.
    pub unit: Option<PathBuf>,
    /// The store, if it exists.
    pub store: Option<PathBuf>,
    /// The store that was kept before, if it exists.
    pub kept: Option<PathBuf>,
    /// The system user, if it exists.
    pub user: Option<Account>,
    /// Whether the program goes too: no other person's service runs it.
    pub program: bool,
}

/// What was removed.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    /// The store that was kept.
    pub kept: Option<PathBuf>,
}

impl Removal {
    /// The existing parts of the set-up of the person called `name`, whose user may no longer exist.
    ///
    /// # Errors
    /// `install_unknown_user` (2) if nothing shows whose set-up it would be; the errors of the list of
    /// users.
    pub fn of(name: &str) -> Result<Self> {
        let units = plan::units();
        let known = person::account(name)?;
        let name = known.as_ref().map_or_else(|| name.to_owned(), |known| known.name.clone());
        let path = place::unit_path(&name);
        let own = units.iter().find(|(known, _)| *known == path);
        let uid = known.map(|known| known.uid).or_else(|| own.and_then(|(_, text)| unit::owner_of(text)));
        let uid = uid.ok_or_else(|| {
            let message =
                format!("This system has no user {}, and no service for one", crate::text::one_line(&name));
            Error::new(Kind::Usage, "install_unknown_user", message).hint("Name one with --for USER")
        })?;
        let user =
            person::account(&place::system_user(&name))?.filter(|user| user.comment == plan::comment_of(uid));
        let is_there = |dir: &PathBuf| dir.symlink_metadata().is_ok();
        Ok(Self {
            unit: own.map(|(path, _)| path.clone()),
            store: Some(place::data_dir(uid)).filter(is_there),
            kept: Some(place::kept_dir(uid)).filter(is_there),
            user,
            program: units.iter().all(|(known, _)| *known == path) && Path::new(place::PROGRAM_DIR).exists(),
            person: name,
            uid,
        })
    }

    /// Whether none of its parts exist.
    pub const fn is_nothing(&self) -> bool {
        self.unit.is_none() && self.store.is_none() && self.kept.is_none() && self.user.is_none()
    }

    /// Checks that the store can be kept: the place for it is free.
    ///
    /// # Errors
    /// `install_place`.
    pub fn check_kept(&self) -> Result<()> {
        match (&self.store, &self.kept) {
            (Some(store), Some(kept)) => {
                let message = format!(
                    "{} cannot be kept as {}: that place has a store that was kept earlier",
                    store.display(),
                    kept.display()
                );
                Err(Error::failed("install_place", message)
                    .hint("Move one of the two away, or delete both with --delete-data"))
            }
            _ => Ok(()),
        }
    }

    /// Removes the set-up, the store only with `deletes_data`. Parts that no longer exist are not a
    /// failure: what a failed attempt left is removed the next time.
    ///
    /// # Errors
    /// `install_step_failed`, naming what still exists.
    pub fn take(&self, deletes_data: bool, say: &dyn Fn(&str)) -> Result<Taken> {
        let undone = |path: &Path, error: std::io::Error| {
            programs::failed(&format!(
                "Could not remove {}; what the plan lists after it still exists",
                path.display()
            ))
            .because(error)
        };
        if let Some(unit) = &self.unit {
            say("Stopping the service");
            if services::is_here() {
                services::disable(&place::unit_name(&self.person))?;
            }
            system::remove(unit).map_err(|error| undone(unit, error))?;
            if services::is_here() {
                services::reload()?;
            }
        }
        if let Some(user) = &self.user {
            stop_all_of(user.uid)?;
        }
        let sockets = place::socket_dir(self.uid);
        system::remove_tree(&sockets).map_err(|error| undone(&sockets, error))?;
        system::remove_empty(Path::new(place::SOCKETS));
        if self.program {
            say("Removing the program");
            let dir = Path::new(place::PROGRAM_DIR);
            system::remove_tree(dir).map_err(|error| undone(dir, error))?;
        }
        if !deletes_data && (self.store.is_some() || self.kept.is_some()) {
            let kept = place::kept_dir(self.uid);
            if let Some(store) = &self.store {
                // A kept store belongs to no running service: the person's commands no longer ask a
                // service for it.
                system::rename_dir(store, &kept).map_err(|error| undone(store, error))?;
            }
            // The data goes with the system user, because a free user id is given to another user.
            return Ok(Taken { kept: Some(kept) });
        }
        for store in self.store.iter().chain(&self.kept) {
            say("Deleting the data");
            system::remove_tree(store).map_err(|error| undone(store, error))?;
        }
        system::remove_empty(Path::new(place::STORES));
        if let Some(user) = &self.user {
            remove_user(&user.name)?;
        }
        Ok(Taken { kept: None })
    }
}

/// Removes the system user `name`, with its group.
///
/// # Errors
/// `install_step_failed`.
pub fn remove_user(name: &str) -> Result<()> {
    if person::account(name)?.is_none() {
        return Ok(());
    }
    programs::run("userdel", &[name]).map(drop)
}

/// Makes every process of the user `uid` end, and waits for that.
fn stop_all_of(uid: u32) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    let mut signal = Signal::TERM;
    loop {
        let running = processes_of(uid);
        if running.is_empty() {
            return Ok(());
        }
        for pid in &running {
            // Opened first, so that the id cannot become another process, and then checked once more.
            if let Some(handle) =
                Pid::from_raw(*pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
                && is_of(*pid, uid)
            {
                let _ = pidfd_send_signal(&handle, signal);
            }
        }
        if Instant::now() > end {
            if signal == Signal::KILL {
                return Err(programs::failed(&format!("Process {} does not end", running[0])));
            }
            signal = Signal::KILL;
        }
        sleep(Duration::from_millis(200));
    }
}

fn processes_of(uid: u32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|pid| is_of(*pid, uid)).collect()
}

/// Whether a process runs as `uid`. Its folder belongs to root if nobody may look at its memory; its list
/// of ids is always right.
fn is_of(pid: i32, uid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let is_ghost = status.lines().any(|line| line.starts_with("State:\tZ"));
    !is_ghost && ids.is_some_and(|ids| ids.split_whitespace().any(|id| id.parse() == Ok(uid)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn o9_1_data_that_was_kept_before_is_not_written_over() {
        let dir = |name: &str| Some(PathBuf::from(name));
        let removal = |store, kept| Removal {
            person: "ana".to_owned(),
            uid: 1000,
            unit: None,
            store,
            kept,
            user: None,
            program: false,
        };
        assert!(removal(dir("/var/lib/pdpp/1000"), None).check_kept().is_ok());
        assert!(removal(None, dir("/var/lib/pdpp/kept-1000")).check_kept().is_ok());
        let both =
            removal(dir("/var/lib/pdpp/1000"), dir("/var/lib/pdpp/kept-1000")).check_kept().unwrap_err();
        assert_eq!(both.code(), "install_place");
        assert!(both.message().contains("kept-1000"));
    }

    #[test]
    fn the_processes_of_a_user_are_found() {
        let own = fs::metadata("/proc/self").unwrap().uid();
        let id = i32::try_from(std::process::id()).unwrap();
        assert!(processes_of(own).contains(&id));
        assert!(!is_of(id, own + 12_345));
        assert_eq!(processes_of(3_999_999_999), Vec::<i32>::new());
    }

    #[test]
    fn where_nothing_is_installed_there_is_nothing_to_take() {
        let nothing = Removal::of("daemon").unwrap();
        assert!(nothing.is_nothing());
        assert_eq!(Removal::of("no-such-user-of-ours").unwrap_err().code(), "install_unknown_user");
    }
}
