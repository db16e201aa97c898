//! `pdpp import` without a PATH: looks again at what was imported before, and imports what grew or
//! changed. It suits a timer: with `--yes` it asks nothing, and if nothing happened it prints one line.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::Args;
use super::render::{Looked, Reader, places_json, plan_text, refresh_json, refresh_text};
use super::shown::{answer, confirm, show_plan};
use super::work::{import, remember};
use crate::advice::{Command, Hint};
use crate::cache::Cache;
use crate::error::{Error, Kind, Result};
use crate::import::places::{self, Seen};
use crate::import::refresh::Refresh;
use crate::import::survey::{New, Survey, Why};
use crate::import::tally;
use crate::own;
use crate::own::import::{Imported, Knowing, Plan};
use crate::text::one_line;
use crate::ui::Ui;
use crate::vault::store::Store;

/// Imports what grew or changed in the sources of `known`, the store.
///
/// # Errors
/// The errors of [`super::run`]; `import_nothing` (2).
pub(super) fn run(dir: &Path, known: Option<Store>, args: &Args, cache: &Cache, ui: &Ui) -> Result<u8> {
    let wanted = args.wanted()?;
    // An option that changes how files are read applies to all of them, even to unchanged ones.
    let is_again = args.report.is_some()
        || args.copy_attachments
        || args.since.is_some()
        || args.timezone.is_some()
        || args.date_order.is_some();
    let mut found = match &known {
        Some(store) => own::import::refresh(store, is_again)?,
        None => Refresh::default(),
    };
    if found.is_empty() {
        return name_places(args, ui);
    }
    let mut looked = Looked {
        places: other_places(&found),
        gone: std::mem::take(&mut found.gone),
        emptied: Vec::new(),
        news: Vec::new(),
        failed: found.unseen.drain(..).map(unseen).collect(),
    };
    let request = wanted.request(found.named)?;
    let mut survey = Survey::default();
    let progress = ui.progress();
    progress.say("Looking at the files");
    let mut answer =
        |question: &str, choices: &[String]| answer(ui, &progress, args.can_answer(ui), question, choices);
    let mut knowing = Knowing { store: known.as_ref(), answer: &mut answer };
    for named in &request.paths {
        if let Err(error) = survey.look_at(named, &request, dir, &mut knowing) {
            looked.failed.push((named.path.clone(), error));
        }
    }
    drop(progress);
    looked.news.append(&mut survey.news);
    looked.emptied.append(&mut survey.emptied);
    looked.failed.extend(survey.open.drain(..).map(|open| (open.path, open.error)));
    let granted = own::granted(dir)?;
    let mut plan = Plan::of(&survey, &request, &granted);
    plan.typed.retain(|path| plan.sources.iter().any(|planned| planned.path == *path));
    if args.dry_run {
        show_plan(args, ui, &plan, dir, Reader::You);
        tell(args, ui, &looked);
        return Ok(exit_code(&plan, &looked, &Imported::default()));
    }
    let mut imported = Imported::default();
    if !survey.jobs.is_empty() {
        // With --yes nobody reads a plan beforehand; the result is reported.
        if ui.is_interactive() {
            ui.explain(&plan_text(&plan, dir, Reader::You));
        }
        // Every file of a folder may be known, which is seen only here.
        let is_all_known = match &known {
            Some(store) => own::import::is_all_known(store, &request, &survey, args.report.is_some())?,
            None => false,
        };
        if !is_all_known {
            confirm(args, ui)?;
        }
        drop(known);
        imported = import(dir, args, ui, &request, &survey)?;
        remember(dir, args, cache, ui, &imported)?;
    }
    imported.outcomes.append(&mut found.same);
    if args.json {
        ui.json(&refresh_json(&plan, &imported, &looked));
    } else {
        let text = refresh_text(&imported, &looked, ui.prose_width());
        if !text.is_empty() {
            ui.say(&text);
        }
        tell(args, ui, &looked);
        if let Some(stopped) = &imported.stopped {
            ui.error(stopped);
        }
    }
    Ok(exit_code(&plan, &looked, &imported))
}

/// 1 if a file was not read to the end, or nothing in it could be read; 77 if only a question is open
/// (O2.4, O2.5). What is gone, and what is new and left out, is not a failure: a timer continues.
fn exit_code(plan: &Plan, looked: &Looked, imported: &Imported) -> u8 {
    if let Some(stopped) = &imported.stopped {
        return stopped.kind().exit_code();
    }
    let changed: Vec<_> = imported.outcomes.iter().filter(|one| !one.is_quiet()).cloned().collect();
    let is_failed = |(_, error): &(PathBuf, Error)| !matches!(error.kind(), Kind::Refused);
    if plan.has_unreadable() || tally::is_failure(&changed) || looked.failed.iter().any(is_failed) {
        return 1;
    }
    if looked.failed.is_empty() { 0 } else { Kind::Refused.exit_code() }
}

fn unseen((path, error): (PathBuf, std::io::Error)) -> (PathBuf, Error) {
    let message = format!("Could not look at {}", path.display());
    let hint = Hint::new("Give yourself permission to read it, then: ").run(Command::new("import"));
    (path, Error::failed("import_path", message).because(error).hint(hint))
}

/// Reports on stderr what needs the person's attention and, at a terminal, what else is on this computer.
fn tell(args: &Args, ui: &Ui, looked: &Looked) {
    for (_, error) in &looked.failed {
        ui.error(error);
    }
    // Which other formats find something in a folder concerns a person at a terminal; whose account it is
    // concerns everyone.
    let is_told = |new: &&New| ui.is_interactive() || new.why != Why::Format;
    for new in looked.news.iter().filter(is_told) {
        ui.warn(&new_text(new));
    }
    if ui.is_interactive() && !args.json && !looked.places.is_empty() {
        ui.note(&format!(
            "pdpp also found the following on this computer, but has not opened it:{}",
            lines_of_places(&looked.places)
        ));
    }
}

fn new_text(new: &New) -> String {
    let New { path, title, labels, why } = new;
    let (files, them) = if labels.len() == 1 {
        ("1 file".to_owned(), "it")
    } else {
        (format!("{} files", labels.len()), "them")
    };
    let shown = path.display().to_string();
    let import = Command::new("import").value(&shown);
    let (why, apart) = match why {
        // The question names the file.
        Why::Question(question) => return format!("{}. To see and import it: {import}", one_line(question)),
        Why::Format => (format!("no data of this kind was imported from there before: {title}"), None),
        Why::Account(account) => {
            (format!("no data of the account {account} was imported from there before: {title}"), None)
        }
        Why::Doubt(doubt) => {
            (doubt.in_words().to_owned(), Some(Command::new("import --account <name>").value(&shown)))
        }
    };
    let apart = apart.map(|apart| format!(". To keep {them} in a separate account: {apart}"));
    format!(
        "{}: {files} left out ({}), because {}. To see and import {them}: {import}{}",
        one_line(&shown),
        one_line(&new.names()),
        one_line(&why),
        apart.unwrap_or_default(),
    )
}

fn lines_of_places(places: &[Seen]) -> String {
    let line = |Seen { title, path, only }: &Seen| {
        let command =
            only.map_or_else(|| Command::new("import"), |only| Command::new("import").option("--as", only));
        format!("\n  {title}: {}", command.value(path.display().to_string()))
    };
    places.iter().map(line).collect()
}

/// Places on this computer that have nothing known in them.
fn other_places(found: &Refresh) -> Vec<Seen> {
    let is_other =
        |place: &Path| !found.paths().any(|known| known.starts_with(place) || place.starts_with(known));
    here().into_iter().filter(|one| is_other(&one.path)).collect()
}

/// Places on this computer where programs keep data that could be imported.
fn here() -> Vec<Seen> {
    directories::BaseDirs::new().map(|home| places::seen(home.home_dir())).unwrap_or_default()
}

/// Lists what could be imported, because nothing was named and nothing is known.
fn name_places(args: &Args, ui: &Ui) -> Result<u8> {
    let seen = here();
    if seen.is_empty() {
        return Err(Error::new(Kind::Usage, "import_nothing", "There is nothing to import: name an export")
            .run(Command::new("import <export>")));
    }
    if args.json {
        ui.json(&json!({ "sources": [], "places": places_json(&seen) }));
        return Ok(0);
    }
    let lines = lines_of_places(&seen);
    ui.say(&format!(
        "Nothing has been imported yet. pdpp found the following on this computer, but has \
                     not opened it:{lines}"
    ));
    Ok(0)
}
