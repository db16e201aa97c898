//! `pdpp import`: a person's own exports into their store on this machine.

mod args;
mod render;
#[cfg(target_os = "linux")]
mod separate;
mod shown;

pub use args::Args;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde_json::json;

use render::{Reader, plan_text};
use shown::{Report, Shown, answer, confirm, show_plan, show_result, until_a_signal};

use super::Global;
use crate::advice::Command;
use crate::cache::Cache;
use crate::error::{Error, Kind, Result};
use crate::import::formats;
use crate::import::places::{self, Seen};
use crate::import::survey::{Named, Survey};
use crate::import::tally::in_sum;
use crate::own;
use crate::own::import::{Knowing, Plan};
use crate::ui::Ui;
use crate::vault::store::Store;
use crate::vault::store::ledger::SourceRow;

/// Imports.
///
/// # Errors
/// `import_path`, `import_unrecognised`, `import_format`, `import_unfit`, `import_unreadable`, `import_question` (77),
/// `import_unconfirmed` (77), `import_running`, `import_disk_full`, `import_report`, `own_data_dir` (77), `own_store`,
/// `own_damaged`, `interrupted` (130).
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    #[cfg(target_os = "linux")]
    if let Some(owner) = own::separate::of_this_user(args.data_dir.as_deref())? {
        return separate::run(&owner, args, ui);
    }
    let cache = global.cache()?;
    let dir = own::dir(args.data_dir.as_deref(), &cache)?;
    run_in(&dir, args, &cache, ui).map_err(|error| own::told(&dir, error))
}

/// The same, into the store in `dir`.
fn run_in(dir: &Path, args: &Args, cache: &Cache, ui: &Ui) -> Result<u8> {
    own::check_place(dir)?;
    let wanted = args.wanted()?;
    let known = if own::is_there(dir) { Some(own::open_store(dir)?) } else { None };
    let paths = if args.paths.is_empty() {
        known_paths(known.as_ref(), ui)?
    } else {
        args.paths.iter().map(|path| wanted.named(path)).collect()
    };
    if paths.is_empty() {
        return name_places(args, ui);
    }
    let request = wanted.request(paths)?;
    let progress = ui.progress();
    progress.say("Looking at what is there");
    let mut answer =
        |question: &str, choices: &[String]| answer(ui, &progress, args.can_answer(ui), question, choices);
    let mut knowing = Knowing { store: known.as_ref(), answer: &mut answer };
    let survey = Survey::of(&request, dir, &mut knowing);
    drop(progress);
    let survey = survey?;
    let granted = if known.is_some() { own::granted(dir)? } else { BTreeSet::new() };
    let plan = Plan::of(&survey, &request, &granted);
    if args.dry_run {
        show_plan(args, ui, &plan, dir, Reader::You);
        return Ok(u8::from(plan.has_unreadable()));
    }
    if !args.json || ui.is_interactive() {
        ui.explain(&plan_text(&plan, dir, Reader::You));
    }
    confirm(args, ui)?;
    drop(known);
    let report = args.report.as_deref().map(Report::new).transpose()?;
    let names_bad = report.is_some();
    let stop = AtomicBool::new(false);
    let progress = ui.progress();
    let mut shown = Shown::new(ui, &progress, &stop, report);
    let imported = until_a_signal(ui, &progress, &stop, || {
        own::import::run(dir, &request, &survey, names_bad, &stop, &mut shown)
    });
    let ended = shown.end();
    drop(progress);
    let imported = imported?;
    ended?;
    let all = in_sum(&imported.outcomes);
    // Not where nothing was kept: other commands would look for it there.
    if all.new + all.changed + all.same > 0 {
        let before = own::dir(None, cache)?;
        own::remember(args.data_dir.as_deref(), cache)?;
        if before != dir && own::is_there(&before) {
            ui.explain(&format!(
                "From now on commands mean this store; the one in {} is left as it is, and --data-dir names it",
                before.display()
            ));
        }
    }
    let bytes = Some(imported.store_bytes);
    Ok(show_result(args, ui, &plan, &imported, (dir, bytes, Reader::You)))
}

/// The sources that were imported before and are there still, as what they were imported then.
fn known_paths(known: Option<&Store>, ui: &Ui) -> Result<Vec<Named>> {
    let Some(store) = known else { return Ok(Vec::new()) };
    let mut all: Vec<Named> = Vec::new();
    let mut missing = Vec::new();
    for SourceRow { path, format, .. } in own::import::known_sources(store)? {
        let path = PathBuf::from(path);
        if !path.exists() {
            if !missing.contains(&path) {
                ui.note(&format!("{} is not there any more; what was imported stays", path.display()));
                missing.push(path);
            }
            continue;
        }
        let format = formats::ALL.iter().copied().filter(|known| known.name() == format);
        match all.iter_mut().find(|named| named.path == path) {
            Some(named) => named.formats.extend(format),
            None => all.push(Named {
                path,
                formats: format.collect(),
                is_as: false,
                account: None,
                received: None,
            }),
        }
    }
    Ok(all)
}

/// Nothing was named, and nothing is known: what could be.
fn name_places(args: &Args, ui: &Ui) -> Result<u8> {
    let home = directories::BaseDirs::new();
    let seen = home.map(|home| places::seen(home.home_dir())).unwrap_or_default();
    if seen.is_empty() {
        return Err(Error::new(Kind::Usage, "import_nothing", "There is nothing to import: name an export")
            .run(Command::new("import <export>")));
    }
    if args.json {
        let seen: Vec<_> = seen.iter().map(|one| json!({ "kind": one.title, "path": one.path })).collect();
        ui.json(&json!({ "sources": [], "places": seen }));
        return Ok(0);
    }
    let mut text = String::from("Nothing was imported yet. This is here, and was not looked into:");
    for Seen { title, path, only } in seen {
        let mut command = Command::new("import");
        if let Some(only) = only {
            command = command.option("--as", only);
        }
        let command = command.value(path.display().to_string());
        let _ = write!(text, "\n  {title}: {command}");
    }
    ui.say(&text);
    Ok(0)
}
