//! An import into the person's own store, with its progress.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::args::Args;
use super::shown::{Report, Shown, until_a_signal};
use crate::cache::Cache;
use crate::error::Result;
use crate::import::survey::{Request, Survey};
use crate::import::tally::in_sum;
use crate::own;
use crate::own::import::Imported;
use crate::ui::Ui;

/// Imports what was planned, and shows the progress.
pub(super) fn import(
    dir: &Path,
    args: &Args,
    ui: &Ui,
    request: &Request,
    survey: &Survey,
) -> Result<Imported> {
    let report = args.report.as_deref().map(Report::new).transpose()?;
    let names_bad = report.is_some();
    let stop = AtomicBool::new(false);
    let progress = ui.progress();
    let mut shown = Shown::new(ui, &progress, &stop, report);
    let imported = until_a_signal(ui, &progress, &stop, || {
        own::import::run(dir, request, survey, names_bad, &stop, &mut shown)
    });
    let ended = shown.end();
    drop(progress);
    let imported = imported?;
    ended?;
    Ok(imported)
}

/// Makes other commands find the store, if something was kept in it.
pub(super) fn remember(dir: &Path, args: &Args, cache: &Cache, ui: &Ui, imported: &Imported) -> Result<()> {
    let all = in_sum(&imported.outcomes);
    // Not if nothing was kept: other commands would look for the store there.
    if all.new + all.changed + all.same > 0 {
        let before = own::dir(None, cache)?;
        own::remember(args.data_dir.as_deref(), cache)?;
        if before != dir && own::is_there(&before) {
            ui.explain(&format!(
                "From now on, commands use this store; the one in {} is unchanged, and --data-dir selects it",
                before.display()
            ));
        }
    }
    Ok(())
}
