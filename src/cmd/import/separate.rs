//! `pdpp import` in the separate set-up: the service of another user keeps the data, and this command
//! hands it the files that the person may read.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::tz::TimeZone;

use super::args::Args;
use super::render::{Reader, grouped, plan_text, size};
use super::shown::{
    Report, Shown, answer, ask_to_import, confirm, show_plan, show_result, until_a_signal_or,
};
use crate::advice::Command;
use crate::archive::Stamp;
use crate::cmd::passphrases::for_service;
use crate::error::{Error, Kind, Result};
use crate::fs::{self, NewFile};
use crate::own::import::{Heard as _, Imported, Plan, Wanted};
use crate::own::separate::Socket;
use crate::own::separate::caller::{Caller, Handed, News, Person};
use crate::own::separate::words::{Asked, ImportAsked, Told, Which};
use crate::secret::Passphrase;
use crate::ui::{Progress, Ui};

/// Has the service import what was named.
///
/// # Errors
/// The errors of [`super::run`]; `owner_service_away` (69), `owner_service_gone`, `owner_socket_unsafe`
/// (77), `passphrase_terminal` (77).
pub(super) fn run(socket: &Socket, args: &Args, ui: &Ui) -> Result<u8> {
    let is_refresh = args.paths.is_empty();
    let paths = if is_refresh { known_paths(socket, args, ui)? } else { args.paths.clone() };
    let own_zone = TimeZone::system().iana_name().map(str::to_owned);
    let wanted = Wanted { own_zone, ..args.wanted()? };
    let dir = PathBuf::from(Caller::begin(socket)?.hello()?.data_dir);
    let asked = ImportAsked { wanted, is_dry: args.dry_run, names_bad: args.report.is_some() };
    let stop = AtomicBool::new(false);
    let progress = ui.progress();
    progress.say("Looking at the files");
    let caller = Caller::begin(socket)?;
    let mut person = AtTerminal {
        args,
        is_refresh,
        ui,
        dir: &dir,
        progress: &progress,
        stop: &stop,
        plan: None,
        shown: None,
    };
    let imported = until_a_signal_or(
        ui,
        &progress,
        &stop,
        || caller.stop(),
        || caller.import(asked, &paths, &stop, &mut person),
    );
    let AtTerminal { plan, shown, .. } = person;
    let ended = shown.map_or(Ok(()), Shown::end);
    drop(progress);
    let (told, handed) = imported?;
    ended?;
    let told = match told {
        Told::Plan { plan } => {
            show_plan(args, ui, &plan, &dir, Reader::Service);
            return Ok(u8::from(plan.has_unreadable()));
        }
        Told::Imported(told) => told,
        _ => return Err(Error::failed("owner_service", "The service sent no result of the import")),
    };
    let imported = Imported {
        outcomes: told.outcomes,
        stopped: told.stopped.map(Error::from),
        kept_apart: told.kept_apart,
        store_bytes: 0,
    };
    let kept = (dir.as_path(), told.store_bytes, Reader::Service);
    let code = show_result(args, ui, &plan.unwrap_or_default(), &imported, kept);
    if code == 0 && !is_refresh {
        offer(args, ui, &handed);
    }
    Ok(code)
}

/// What was imported before and still exists. The service lists it only for the passphrase, so a timer
/// cannot ask for it.
fn known_paths(socket: &Socket, args: &Args, ui: &Ui) -> Result<Vec<PathBuf>> {
    if !args.can_answer(ui) {
        let message = "You named nothing to import, and the service that keeps your own data cannot \
                       read your files itself";
        let hint = "Name what to import. Without a PATH you must type your passphrase at a terminal, \
                    which a timer cannot do";
        return Err(Error::new(Kind::Usage, "import_nothing", message).hint(hint));
    }
    ui.explain(
        "A service keeps your own data. With your passphrase it lists what was imported before. The \
         files that still exist are handed to it again, and it asks for your passphrase once more.",
    );
    let told = Caller::begin(socket)?.ask(&Asked::Sources, None, &mut Typing(ui))?;
    let Told::Sources { paths } = told else {
        return Err(Error::failed("owner_service", "The service sent no list of earlier imports"));
    };
    let known = paths.into_iter().map(PathBuf::from).filter(|path| path.is_absolute());
    let (here, gone): (Vec<PathBuf>, Vec<PathBuf>) = known.partition(|path| has_something(path));
    if !gone.is_empty() {
        let gone: Vec<String> = gone.iter().map(|path| format!("\n  {}", path.display())).collect();
        ui.note(&format!("No longer there; the imported records stay:{}", gone.concat()));
    }
    if here.is_empty() {
        let message = "None of the files that were imported before still exist here";
        let error = Error::new(Kind::Usage, "import_nothing", message);
        return Err(error.run(Command::new("import <export>")));
    }
    Ok(here)
}

/// Whether a path is a file, or a folder that is not empty.
fn has_something(path: &Path) -> bool {
    path.is_file() || std::fs::read_dir(path).is_ok_and(|mut within| within.next().is_some())
}

/// A person who only types a passphrase.
struct Typing<'a>(&'a Ui);

impl Person for Typing<'_> {
    fn passphrase(&mut self, which: Which, is_wrong: bool) -> Result<Passphrase> {
        for_service(self.0, which, is_wrong, Command::typed_again("import <export>"))
    }
}

/// The person at the terminal.
struct AtTerminal<'a> {
    args: &'a Args,
    /// Whether nothing was named: then the plan has what is new in a known source, and the person
    /// decides.
    is_refresh: bool,
    ui: &'a Ui,
    dir: &'a Path,
    progress: &'a Progress<'a>,
    stop: &'a AtomicBool,
    plan: Option<Plan>,
    shown: Option<Shown<'a>>,
}

impl Person for AtTerminal<'_> {
    fn passphrase(&mut self, which: Which, is_wrong: bool) -> Result<Passphrase> {
        self.progress.aside(|| {
            if !is_wrong {
                self.ui.explain(
                    "To use earlier imports, and to add to an existing account, the service needs your \
                     passphrase.",
                );
            }
            for_service(self.ui, which, is_wrong, Command::typed_again("import <export>"))
        })
    }

    fn answer(&mut self, question: &str, choices: &[String]) -> Option<String> {
        answer(self.ui, self.progress, self.args.can_answer(self.ui), question, choices)
    }

    fn plan(&mut self, plan: &Plan) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing was imported"));
        }
        self.progress.aside(|| {
            if !self.args.json || self.ui.is_interactive() {
                self.ui.explain(&plan_text(plan, self.dir, Reader::Service));
            }
            if self.is_refresh { ask_to_import(self.ui) } else { confirm(self.args, self.ui) }
        })?;
        let report = self.args.report.as_deref().map(Report::new).transpose()?;
        self.shown = Some(Shown::new(self.ui, self.progress, self.stop, report));
        self.plan = Some(plan.clone());
        Ok(())
    }

    fn hear(&mut self, news: News<'_>) {
        if let News::Handed(files, bytes) = news {
            let of = if files == 1 { "file" } else { "files" };
            return self.progress.say(&format!("Handing over {} {of}, {}", grouped(files), size(bytes)));
        }
        let Some(shown) = &mut self.shown else { return };
        match news {
            News::Progress(progress) => shown.progress(progress),
            News::Bad(item) => shown.bad(item),
            News::Unread(member) => shown.unread(member),
            News::Handed(..) | News::Does(_) => {}
        }
    }
}

/// Warns that exports are still there and, at a terminal, moves or deletes those that are files, if the
/// person agrees (O9.2).
fn offer(args: &Args, ui: &Ui, handed: &[Handed]) {
    for one in handed {
        ui.explain(&format!("{} is still where an agent with a shell can read it.", one.path.display()));
    }
    if args.yes || !args.can_answer(ui) {
        return;
    }
    for one in handed {
        // A folder may be one that still grows, such as mail or sessions.
        let Some(stamp) = one.stamp else { continue };
        let question = format!("What do you want to do with {}?", one.path.display());
        let choices = ["Leave it there", "Move it to another folder", "Delete it"].map(str::to_owned);
        let done = match ui.pick(&question, &choices) {
            Ok(Some(1)) => moved(ui, &one.path, stamp),
            Ok(Some(2)) => removed(&one.path, stamp).map(|()| format!("{} is deleted.", one.path.display())),
            _ => continue,
        };
        match done {
            Ok(done) => ui.explain(&done),
            Err(error) => ui.warn(&format!("{} was left there: {error}", one.path.display())),
        }
    }
}

fn removed(path: &Path, stamp: Stamp) -> std::io::Result<()> {
    fs::remove_asked(path, |found| Stamp::of(found) == stamp)
}

/// Moves an export to a folder that the person names, even one on another disk.
fn moved(ui: &Ui, path: &Path, stamp: Stamp) -> std::io::Result<String> {
    let asked =
        ui.ask("Folder to move it to, best one that none of your programs can read")?.unwrap_or_default();
    let (folder, name) = (PathBuf::from(&asked), path.file_name().unwrap_or_default());
    if asked.is_empty() || !folder.is_dir() {
        return Err(std::io::Error::new(std::io::ErrorKind::NotFound, "no folder was named"));
    }
    let to = folder.join(name);
    let mut file = NewFile::begin(&to, false)?;
    let mut from = fs::open_plain(path)?;
    if Stamp::of(&from.metadata()?) != stamp {
        return Err(std::io::Error::other("the file has changed"));
    }
    std::io::copy(&mut from, &mut file)?;
    file.commit()?;
    removed(path, stamp)?;
    Ok(format!("Moved to {}.", to.display()))
}
