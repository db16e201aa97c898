//! An import into one's own store, while somebody watches.

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

/// Imports what was planned, while somebody watches.
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

/// Has other commands find the store, where something was kept in it.
pub(super) fn remember(dir: &Path, args: &Args, cache: &Cache, ui: &Ui, imported: &Imported) -> Result<()> {
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
    Ok(())
}
