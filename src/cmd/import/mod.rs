//! `pdpp import`: imports a person's own exports into their store on this computer.

mod args;
mod refresh;
mod render;
#[cfg(target_os = "linux")]
mod separate;
mod shown;
mod work;

pub use args::Args;

use std::collections::BTreeSet;
use std::path::Path;

use render::{Reader, plan_text};
use shown::{answer, confirm, show_plan, show_result};
use work::{import, remember};

use super::Global;
use crate::cache::Cache;
use crate::error::Result;
use crate::import::survey::Survey;
use crate::own;
use crate::own::import::{Knowing, Plan};
use crate::runtime;
use crate::ui::Ui;

/// What is said instead of a question if nothing would be added.
const NOTHING_NEW: &str = "Nothing is new: all of this was imported before.";

/// Runs the command.
///
/// # Errors
/// `import_path`, `import_unrecognised`, `import_format`, `import_unfit`, `import_unreadable`, `import_question` (77),
/// `import_unconfirmed` (77), `import_running`, `import_disk_full`, `import_report`, `own_data_dir` (77), `own_store`,
/// `own_damaged`, `interrupted` (130).
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    if args.while_stdin_is_open {
        runtime::go_with_parent()?;
    }
    #[cfg(target_os = "linux")]
    if let Some(owner) = own::separate::of_this_user(args.data_dir.as_deref())? {
        return separate::run(&owner, args, ui);
    }
    let cache = global.cache()?;
    let dir = own::dir(args.data_dir.as_deref(), &cache)?;
    run_in(&dir, args, &cache, ui).map_err(|error| own::told(&dir, error))
}

/// Runs the command for the store in `dir`.
fn run_in(dir: &Path, args: &Args, cache: &Cache, ui: &Ui) -> Result<u8> {
    own::check_place(dir)?;
    let wanted = args.wanted()?;
    let known = if own::is_there(dir) { Some(own::open_store(dir)?) } else { None };
    if args.paths.is_empty() {
        return refresh::run(dir, known, args, cache, ui);
    }
    let request = wanted.request(args.paths.iter().map(|path| wanted.named(path)).collect())?;
    let progress = ui.progress();
    progress.say("Looking at the files");
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
    let names_bad = args.report.is_some();
    let is_all_known = match &known {
        Some(store) => own::import::is_all_known(store, &request, &survey, names_bad)?,
        None => false,
    };
    if is_all_known {
        ui.explain(NOTHING_NEW);
    } else {
        confirm(args, ui)?;
    }
    drop(known);
    let imported = import(dir, args, ui, &request, &survey)?;
    remember(dir, args, cache, ui, &imported)?;
    let bytes = Some(imported.store_bytes);
    Ok(show_result(args, ui, &plan, &imported, (dir, bytes, Reader::You)))
}
