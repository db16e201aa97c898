//! `pdpp provider backup` and `restore`: the person's own store as one file, and back.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueHint;
use indicatif::{DecimalBytes, HumanCount};
use serde_json::json;

use super::passphrase;
use super::place::{Done, Place};
use crate::advice::Command;
use crate::cmd::Global;
use crate::error::{Error, Kind, Result};
use crate::own;
use crate::own::backup::bundle::Manifest;
use crate::own::backup::{self, BackedUp, Opened, Watch, Wish};
use crate::runtime;
use crate::secret::Passphrase;
use crate::text::one_line;
use crate::ui::Ui;

/// The most exports that are listed by name.
const MAX_SHOWN: usize = 5;

/// Write the store of your own data to one file, and read the file again to check that it is complete
///
/// The file has the records and the copies of attachments. It has no grants, no tokens, and no attachments
/// that were left in your exports; the command lists what is missing. Agents and imports can keep working
/// meanwhile.
#[derive(Debug, clap::Args)]
pub struct BackupArgs {
    /// The file to write, best on another disk
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,

    /// Encrypt it with a passphrase that you type at the terminal; `age -d` can open it too
    #[arg(long)]
    pub encrypt: bool,

    /// Replace the file if it exists
    #[arg(long)]
    pub overwrite: bool,

    #[command(flatten)]
    pub place: Place,
}

/// Restore a backup, if there is no store yet or an empty one
///
/// A backup does not contain the passphrase for grants; an empty store that has one keeps it. In the
/// separate set-up root runs this, and the service is stopped meanwhile.
///
/// The records, their ids and what a search finds are unchanged. Grants are not restored: an agent can read
/// the records after the next `pdpp connect local`. If the backup is encrypted, you type its passphrase at
/// the terminal.
#[derive(Debug, clap::Args)]
pub struct RestoreArgs {
    /// A file that `pdpp provider backup` wrote
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,

    /// The person's name for the file, if root has copied it
    #[arg(long, value_name = "FILE", hide = true)]
    pub called: Option<PathBuf>,

    #[command(flatten)]
    pub place: Place,
}

pub(super) fn back_up(args: &BackupArgs, global: &Global, ui: &Ui) -> Result<Done> {
    let dir = args.place.dir(global)?;
    drop(own::open_store(&dir)?);
    backup::check_file(&dir, &args.file, args.overwrite)?;
    let passphrase = if args.encrypt { Some(new_passphrase(ui)?) } else { None };
    let wish =
        Wish { file: &args.file, replaces: args.overwrite, passphrase: passphrase.as_ref(), handed: None };
    let done = watched(ui, |watch| backup::back_up(&dir, &wish, watch))?;
    Ok(backed_up(args, &dir, &done, ui))
}

/// The report on a finished backup of the store in `dir`.
pub(super) fn backed_up(args: &BackupArgs, dir: &Path, done: &BackedUp, ui: &Ui) -> Done {
    let (manifest, file) =
        (&done.manifest, std::path::absolute(&args.file).unwrap_or_else(|_| args.file.clone()));
    let mut text = format!(
        "Backed up {} to {} ({}), and read it again: it is whole.\n",
        in_short(manifest),
        one_line(&file.display().to_string()),
        DecimalBytes(done.bytes)
    );
    text.push_str(match (args.encrypt, done.is_private) {
        (true, _) => {
            "Only the passphrase opens it. Nobody can reset the passphrase, so keep it where \
                      you will find it.\n"
        }
        (false, true) => {
            "It is not encrypted: anyone who gets the file can read all of it. Where it is \
                          now, only you can read it.\n"
        }
        (false, false) => {
            "It is not encrypted, and its disk does not limit who can read it: anyone who gets the file \
             can read all of it.\n"
        }
    });
    text.push_str("Not in it:\n");
    if let Some(left) = left_in_place(manifest) {
        let _ = writeln!(text, "- {left}");
    }
    if manifest.lost_copies > 0 {
        let _ = writeln!(
            text,
            "- {} that should have a copy in the store, but the copy is missing or damaged",
            attachments(manifest.lost_copies)
        );
    }
    text.push_str("- grants and tokens: nobody can read a restored store until you grant it again\n");
    text.push_str(
        "- the passphrase of pdpp provider serve, credentials for other providers, and the log of what agents read\n",
    );
    let next = Command::new("provider restore").value(file.display().to_string());
    let _ = write!(text, "To make a store from it, on this computer or another: {next}");
    let json = json!({
        "file": file.display().to_string(),
        "bytes": done.bytes,
        "encrypted": args.encrypt,
        "private": done.is_private,
        "checked": true,
        "data_dir": dir.display().to_string(),
        "backup": manifest,
        "not_in_it": {
            "attachments_left_in_place": manifest.left_in_place.attachments,
            "copies_lost": manifest.lost_copies,
            "grants": true,
        },
    });
    ui.done("the backup is written", next);
    Done { text, json }
}

/// Makes a store from a backup.
///
/// # Errors
/// The errors of the backup and of the store.
pub(super) fn restore(args: &RestoreArgs, global: &Global, ui: &Ui) -> Result<Done> {
    let Some(called) = &args.called else { return restore_here(args, global, ui) };
    restore_here(args, global, ui).map_err(|error| match error.kind() {
        // Root typed the command about the file that this one is a copy of.
        Kind::Interrupted => {
            let again = Command::new("provider restore").value(called.display().to_string());
            error.hint(format!("sudo {}", args.place.again(again)))
        }
        _ => error,
    })
}

fn restore_here(args: &RestoreArgs, global: &Global, ui: &Ui) -> Result<Done> {
    let cache = global.cache()?;
    let dir = args.place.dir(global)?;
    let is_separate = own::separate::place::person_of(&dir).is_some();
    // A missing file is reported first, because it must be named again in any case.
    let file = args.called.as_ref().unwrap_or(&args.file);
    let mut opened = backup::open(&args.file, file)?;
    // Checked before the passphrase is asked for.
    backup::check_empty(&dir, file)?;
    if own::is_there(&dir) {
        own::check_not_served(&dir)?;
    }
    let usual = own::dir(None, &cache)?;
    let has_usual = own::is_there(&usual) && usual != dir;
    if opened.is_encrypted() {
        unlock(&mut opened, file, ui)?;
    }
    let restored = watched(ui, |watch| backup::restore(&dir, &opened, watch))?;
    // A store that is made to test a backup does not replace the one that imports use.
    if !has_usual && !is_separate {
        own::remember(args.place.data_dir.as_deref(), &cache)?;
    }
    let manifest = &restored.manifest;
    let mut text = format!(
        "Restored {} to {} ({}), as they were on {}.\n",
        in_short(manifest),
        dir.display(),
        if is_separate { "only its service can read it" } else { "only you can read it" },
        crate::time_text::day_and_time(manifest.made_at)
    );
    if let Some(left) = left_in_place(manifest) {
        let _ = writeln!(text, "Not in the backup: {left}");
    }
    if is_separate {
        text.push_str(
            "No agent can read any of it until you grant it again. The passphrase for grants is the one \
             that this store already had.",
        );
        let json = json!({ "data_dir": dir.display().to_string(), "encrypted": opened.is_encrypted(), "backup": manifest });
        return Ok(Done { text, json });
    }
    let next = args.place.again(Command::connect("local"));
    if has_usual {
        let _ = writeln!(
            text,
            "Without --data-dir, commands still use the store in {}.",
            one_line(&usual.display().to_string())
        );
    }
    let _ = write!(text, "No agent can read any of it. To grant access: {next}");
    let json = json!({
        "data_dir": dir.display().to_string(),
        "file": file.display().to_string(),
        "encrypted": opened.is_encrypted(),
        "backup": manifest,
        "is_usual": !has_usual,
    });
    ui.done("the store is restored", args.place.again(Command::new("provider")));
    Ok(Done { text, json })
}

/// Restores into the store of the separate set-up, which belongs to a system user: root opens the file,
/// and that user reads it. `None` if the store is not such a store.
///
/// # Errors
/// The errors of [`restore`]; `install_needs_root` (77); those of choosing a passphrase.
#[cfg(target_os = "linux")]
pub(super) fn restore_apart(args: &RestoreArgs, global: &Global, ui: &Ui) -> Result<Option<u8>> {
    let dir = args.place.dir(global)?;
    let Some(restoring) = own::separate::install::restoring(&dir)? else { return Ok(None) };
    let ask = || {
        ui.explain(
            "This store has no passphrase yet, and a backup does not contain one. Choose the one that \
             every grant will need.",
        );
        passphrase::choose(ui, "New passphrase (not shown)", Command::typed_again("provider restore <file>"))
    };
    // Ctrl-C goes to the process that restores, at the same terminal: this one cleans up afterwards, and
    // starts the service again.
    runtime::while_signals_are_heard(|_| (), || restoring.restore(&args.file, args.place.json, &ask))
        .map(Some)
}

/// `None`, because there is no separate set-up here.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "as on Linux")]
pub(super) fn restore_apart(_: &RestoreArgs, _: &Global, _: &Ui) -> Result<Option<u8>> {
    Ok(None)
}

/// `12,034 records of 2 accounts, and 3 attachments`.
fn in_short(manifest: &Manifest) -> String {
    let (record, account) = (
        if manifest.records == 1 { "record" } else { "records" },
        if manifest.accounts == 1 { "account" } else { "accounts" },
    );
    let mut text = format!("{} {record} of {} {account}", HumanCount(manifest.records), manifest.accounts);
    if manifest.copies.attachments > 0 {
        let _ = write!(text, " and {}", attachments(manifest.copies.attachments));
    }
    text
}

fn attachments(count: u64) -> String {
    format!("{} {}", HumanCount(count), if count == 1 { "attachment" } else { "attachments" })
}

/// The attachments that are only in exports, and in which.
fn left_in_place(manifest: &Manifest) -> Option<String> {
    let left = &manifest.left_in_place;
    if left.attachments == 0 {
        return None;
    }
    let mut exports: Vec<String> =
        left.exports.iter().take(MAX_SHOWN).map(|path| one_line(path).into_owned()).collect();
    if left.exports.len() > MAX_SHOWN {
        exports.push(format!("{} more", left.exports.len() - MAX_SHOWN));
    }
    Some(format!(
        "{} ({}), which were not copied but are read from your exports: keep {}",
        attachments(left.attachments),
        DecimalBytes(left.bytes),
        exports.join(", ")
    ))
}

/// Does `work`, shows its progress, and stops it if the person asks for that.
fn watched<T>(ui: &Ui, work: impl FnOnce(&Watch<'_>) -> Result<T>) -> Result<T> {
    let stop = AtomicBool::new(false);
    let progress = ui.progress();
    let say = |what: &str| progress.say(what);
    let watch = Watch { stop: &stop, say: &say };
    runtime::while_signals_are_heard(|_| stop.store(true, Ordering::Relaxed), || work(&watch))
}

pub(super) fn new_passphrase(ui: &Ui) -> Result<Passphrase> {
    let again = Command::typed_again("provider backup <file> --encrypt");
    passphrase::choose(ui, "Passphrase for the backup (not shown)", again)
}

fn unlock(opened: &mut Opened, file: &Path, ui: &Ui) -> Result<()> {
    if passphrase::ask_until(ui, "Passphrase of the backup (not shown)", |typed| opened.unlock(typed))? {
        return Ok(());
    }
    let message = format!("{} was not opened: the passphrase is wrong", file.display());
    Err(Error::new(Kind::Refused, "passphrase_wrong", message)
        .hint("Run it again with the passphrase that was chosen for the backup"))
}
