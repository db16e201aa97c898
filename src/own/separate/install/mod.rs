//! Creates, changes and removes the separate set-up: as root, for one person at a time.
//!
//! Root creates files only in its own folders. The store's own user writes what is in a store: root
//! follows no path in a folder that belongs to another user.

mod person;
mod plan;
mod programs;
mod restore;
mod services;
mod undo;
mod uninstall;
mod unit;

pub use person::{Account, Person, check_root, person};
pub use plan::{Plan, Wish};
pub use restore::{Restoring, restoring};
pub use uninstall::{Removal, Taken};
pub use unit::Unit;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::advice::Command;
use crate::error::{Error, Kind, Result};
use crate::fs::system::{self, Aside};
use crate::own::separate::place;
use crate::secret::Passphrase;
use undo::Undo;

/// The person who waits.
pub struct Watch<'a> {
    /// Whether to stop.
    pub stop: &'a AtomicBool,
    /// Shows the current step.
    pub say: &'a dyn Fn(&str),
    /// Asks for the person's first passphrase.
    pub ask: &'a dyn Fn() -> Result<Passphrase>,
}

impl Watch<'_> {
    fn step(&self, what: &str) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::new(Kind::Interrupted, "interrupted", "Stopped")
                .run(Command::typed_again("provider install")));
        }
        (self.say)(what);
        Ok(())
    }
}

/// What was created.
#[derive(Debug)]
pub struct Installed {
    /// Whether the service runs.
    pub runs: bool,
    /// Other people's services that were restarted with the same program.
    pub others: Vec<String>,
}

/// Carries out `plan`. If a step fails, everything before it is undone.
///
/// # Errors
/// `interrupted` (130); `install_step_failed`, `install_program_missing`, `install_start_failed`; the
/// errors of asking for a passphrase.
pub fn install(plan: &Plan, watch: &Watch<'_>) -> Result<Installed> {
    // The passphrase is asked for before anything is created, so that a person who gives up at the question
    // leaves nothing behind.
    let asked = if plan.is_new_store { Some((watch.ask)()?) } else { None };
    let mut undo = Undo::default();
    let made = make(plan, asked.as_ref(), watch, &mut undo);
    made.map_err(|error| undo.roll_back(&error))
}

fn make(
    plan: &Plan,
    asked: Option<&Passphrase>,
    watch: &Watch<'_>,
    undo: &mut Undo<'_>,
) -> Result<Installed> {
    let person = &plan.person.account;
    let uid = person.uid;
    if plan.starts && !plan.is_new_unit {
        // This is undone last, when program and unit are as they were before.
        let before = place::unit_name(&person.name);
        undo.push(format!("the service {before}"), move || {
            services::restart(&before).map_err(|error| error.in_full())
        });
    }

    watch.step("Creating the system user")?;
    let service = match &plan.service_user {
        Some(known) => known.clone(),
        None => make_user(&person.name, uid, undo)?,
    };

    watch.step("Copying the program")?;
    make_dir(Path::new(place::PROGRAM_DIR), 0o755, None, undo)?;
    replace(Path::new(place::PROGRAM), &plan.program, 0o755, undo)?;

    watch.step("Creating the store")?;
    make_dir(Path::new(place::STORES), 0o755, None, undo)?;
    let store = place::data_dir(uid);
    if let Some(kept) = &plan.kept {
        system::rename_dir(kept, &store).map_err(|error| unmade(&store, error))?;
        let (kept, store) = (kept.clone(), store.clone());
        undo.push(format!("the store, in {}", store.display()), move || system::rename_dir(&store, &kept));
    } else if make_dir(&store, 0o700, Some((service.uid, service.gid)), &mut Undo::default())? {
        let made = store.clone();
        undo.push(format!("the store in {}", made.display()), move || system::remove_tree(&made));
    }
    make_store(&service, &store, asked, watch)?;

    watch.step("Writing the unit")?;
    make_dir(Path::new(place::UNITS), 0o755, None, undo)?;
    let name = place::unit_name(&person.name);
    if plan.starts {
        // Undone once its file is as it was before.
        undo.push("systemd's record of the unit", || services::reload().map_err(|error| error.in_full()));
    }
    replace(&place::unit_path(&person.name), plan.unit.to_text().as_bytes(), 0o644, undo)?;
    if !plan.starts {
        return Ok(Installed { runs: false, others: Vec::new() });
    }

    watch.step("Starting the service")?;
    services::reload()?;
    if plan.is_new_unit {
        let made = name.clone();
        undo.push(format!("the service {name}"), move || {
            services::disable(&made).map_err(|error| error.in_full())
        });
    }
    services::enable(&name)?;
    services::restart(&name)?;
    services::wait_for(&name, &place::socket_path(uid), watch.stop)?;
    // They still run the previous program.
    let others =
        plan.other_units.iter().filter(|unit| services::runs(unit) && services::restart(unit).is_ok());
    Ok(Installed { runs: true, others: others.cloned().collect() })
}

/// Creates the system user that owns the store of the person called `person`.
fn make_user(person: &str, uid: u32, undo: &mut Undo<'_>) -> Result<Account> {
    let name = place::system_user(person);
    let shell =
        programs::find("nologin").map_or_else(|| "/bin/false".to_owned(), |path| path.display().to_string());
    let comment = plan::comment_of(uid);
    let arguments = [
        "--system",
        "--user-group",
        "--no-create-home",
        "--home-dir",
        "/nonexistent",
        "--shell",
        &shell,
        "--comment",
        &comment,
        &name,
    ];
    programs::run("useradd", &arguments)?;
    let made = name.clone();
    undo.push(format!("the system user {name}"), move || {
        uninstall::remove_user(&made).map_err(|error| error.in_full())
    });
    let found = person::account(&name)?;
    let found = found.ok_or_else(|| {
        programs::failed(&format!("The system user {name} was created, but does not exist"))
    })?;
    if found.uid == 0 || found.uid == uid {
        return Err(programs::failed(&format!(
            "The system user {name} has the user id of root or of the data's owner"
        )));
    }
    Ok(found)
}

fn make_dir(path: &Path, mode: u32, owner: Option<(u32, u32)>, undo: &mut Undo<'_>) -> Result<bool> {
    // The folders above it go too, if they were created for it.
    let missing: Vec<_> = path.ancestors().take_while(|path| !path.exists()).map(Path::to_owned).collect();
    let is_new = system::make_dir(path, mode, owner).map_err(|error| unmade(path, error))?;
    for dir in missing.into_iter().rev() {
        let shown = dir.display().to_string();
        undo.push(shown, move || if system::remove_empty(&dir) { Ok(()) } else { Err("it is not empty") });
    }
    Ok(is_new)
}

fn replace(path: &Path, bytes: &[u8], mode: u32, undo: &mut Undo<'_>) -> Result<()> {
    let aside = Aside::set(path).map_err(|error| unmade(path, error))?;
    system::replace(path, bytes, mode).map_err(|error| unmade(path, error))?;
    let (path, shown) = (path.to_owned(), path.display().to_string());
    undo.push(shown, move || match &aside {
        Some(aside) => aside.put_back(),
        None => system::remove(&path),
    });
    Ok(())
}

/// Removes what was kept for an undo.
pub fn tidy(plan: &Plan) {
    for path in [Path::new(place::PROGRAM), &place::unit_path(&plan.person.account.name)] {
        Aside::of(path).let_go();
    }
}

fn unmade(path: &Path, error: std::io::Error) -> Error {
    programs::failed(&format!("Could not create {}", path.display())).because(error)
}

/// Creates an empty store in `dir`, or leaves an existing one, and makes sure that it has a passphrase;
/// all of this runs as the store's own user.
fn make_store(service: &Account, dir: &Path, asked: Option<&Passphrase>, watch: &Watch<'_>) -> Result<()> {
    let has_one = prepare(service, dir, asked)?;
    if has_one {
        return Ok(());
    }
    // The store may exist without one: an installation was killed before that step.
    let asked = (watch.ask)()?;
    if prepare(service, dir, Some(&asked))? {
        return Ok(());
    }
    Err(programs::failed("The store did not keep the passphrase"))
}

/// Runs `pdpp provider prepare` as `service`, and returns whether the store then has a passphrase.
pub(super) fn prepare(service: &Account, dir: &Path, passphrase: Option<&Passphrase>) -> Result<bool> {
    let dir = dir.display().to_string();
    let arguments = ["provider", "prepare", "--data-dir", &dir, "--json"];
    let said = programs::as_user(service, &arguments, passphrase.map_or(&[], Passphrase::expose))?;
    let said: serde_json::Value = serde_json::from_str(&said).unwrap_or_default();
    said.get("has_passphrase").and_then(serde_json::Value::as_bool).ok_or_else(|| {
        programs::failed(
            "The copied program is a different version: it did not report whether there is a \
             passphrase",
        )
    })
}
