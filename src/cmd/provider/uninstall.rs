//! `pdpp provider uninstall`: removes the separate set-up.

use super::place::Done;
use crate::error::Result;
use crate::ui::Ui;

/// Remove the separate set-up: the service, its program, and the data if you ask for it (needs root)
///
/// The data stays, and so does the system user that it belongs to, unless you ask for it to be deleted.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option")]
pub struct UninstallArgs {
    /// The user whose data it is [default: the user who typed sudo]
    #[arg(long = "for", value_name = "USER")]
    pub user: Option<String>,

    /// Delete the data too, permanently
    #[arg(long, conflicts_with = "keep_data")]
    pub delete_data: bool,

    /// Keep the data, and do not ask: it moves to kept-UID next to its old place
    #[arg(long)]
    pub keep_data: bool,

    /// Do not ask; without --delete-data the data stays
    #[arg(long, short)]
    pub yes: bool,

    /// Print the result, or the failure, as one JSON object
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  sudo pdpp provider uninstall
  sudo pdpp provider uninstall --for ana --delete-data";

/// Removes the set-up.
///
/// # Errors
/// `install_needs_root`, `install_unconfirmed`, `not_confirmed` (77); `install_no_person`, `install_unknown_user` (2);
/// `install_place`, `install_step_failed`, `install_program_missing`.
#[cfg(target_os = "linux")]
pub(super) fn run(args: &UninstallArgs, ui: &Ui) -> Result<Done> {
    use std::fmt::Write as _;

    use serde_json::json;

    use super::install::confirm;
    use crate::own::separate::install::{self, Removal};
    use crate::own::separate::place;

    install::check_root()?;
    // The named user may no longer exist.
    let name = match &args.user {
        Some(name) => name.clone(),
        None => install::person(None)?.account.name,
    };
    let removal = Removal::of(&name)?;
    let name = removal.person.clone();
    if removal.is_nothing() {
        let text = format!("There is no separate set-up for {name} here.");
        return Ok(Done { text, json: json!({ "person": name, "removed": false, "kept": null }) });
    }
    let mut plan = format!("This removes from {name}'s separate set-up:\n");
    if let Some(unit) = &removal.unit {
        let _ = writeln!(plan, "  service        {}", unit.display());
    }
    if removal.program {
        let _ = writeln!(plan, "  program        {}", place::PROGRAM);
    }
    let data: Vec<String> =
        removal.store.iter().chain(&removal.kept).map(|store| store.display().to_string()).collect();
    if !args.delete_data && !data.is_empty() {
        plan.push_str("Kept, unless you say otherwise:\n");
    }
    for store in &data {
        let _ = if args.delete_data {
            writeln!(plan, "  data           {store}, deleted permanently")
        } else {
            writeln!(plan, "  data           {store}, as {}", place::kept_dir(removal.uid).display())
        };
    }
    ui.explain(plan.trim_end());
    confirm(args.yes, ui, "Remove it?", "remove it")?;
    let asks = !data.is_empty() && !args.delete_data && !args.keep_data && !args.yes;
    let deletes =
        args.delete_data || asks && ui.confirm("Delete the data too, permanently? Otherwise it is kept");
    if !deletes {
        removal.check_kept()?;
    }
    let taken = {
        let progress = ui.progress();
        removal.take(deletes, &|what| progress.say(what))?
    };
    let mut text = format!("{name}'s separate set-up is gone.\n");
    let _ = match (&taken.kept, data.as_slice()) {
        (Some(store), _) => write!(
            text,
            "The data is kept in {}, and so is the system user {}. sudo pdpp provider install --for \
             {name} uses it again, sudo pdpp provider uninstall --for {name} --delete-data deletes it.",
            store.display(),
            place::system_user(&name)
        ),
        (None, []) => write!(text, "There was no data."),
        (None, data) => write!(text, "The data that was in {} is deleted.", data.join(" and in ")),
    };
    let kept = taken.kept.as_ref().map(|store| store.display().to_string());
    Ok(Done { text, json: json!({ "person": name, "removed": true, "kept": kept }) })
}

/// For systems where this is not built.
///
/// # Errors
/// `install_not_here` (77).
#[cfg(not(target_os = "linux"))]
pub(super) fn run(_: &UninstallArgs, _: &Ui) -> Result<Done> {
    Err(super::install::not_here())
}
