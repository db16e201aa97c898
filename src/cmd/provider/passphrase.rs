//! `pdpp provider passphrase`, and the first passphrase of `pdpp provider serve`.

use std::path::Path;

use super::place::{Done, Place};
use crate::advice::Command;
use crate::cmd::Global;
pub(super) use crate::cmd::passphrases::{ask_until, choose};
use crate::error::{Error, Kind, Result};
use crate::own;
use crate::own::state::vault_failed;
use crate::secret::Passphrase;
use crate::ui::Ui;
use crate::vault::oauth::passphrase;
use crate::vault::{OpenError, Vault};

/// Choose or change the passphrase that every approval at `pdpp provider serve` needs
///
/// You type it at the terminal; it is never an argument, a variable or a file. Only a hash of it is kept.
#[derive(Debug, clap::Args)]
pub struct PassphraseArgs {
    #[command(flatten)]
    pub place: Place,
}

/// Asks for a new passphrase, after the current one.
///
/// # Errors
/// `own_missing` (78); `passphrase_terminal`, `passphrase_not_chosen`, `passphrase_wrong` (77); the
/// errors of the store.
pub(super) fn run(place: &Place, global: &Global, ui: &Ui) -> Result<Done> {
    let vault = own::open(&place.dir(global)?)?;
    if passphrase::is_set(vault.grants()).map_err(failed)? {
        ask_for_it(&vault, place, ui)?;
    }
    choose_for(&vault, place, ui)?;
    Ok(kept())
}

/// The message for a passphrase that was chosen.
pub(super) fn kept() -> Done {
    let text = "The passphrase is set. Only a hash of it is kept.".to_owned();
    Done { text, json: serde_json::json!({ "set": true }) }
}

/// Asks for a first passphrase if there is none yet.
///
/// # Errors
/// The errors of [`run`].
pub(super) fn ensure(dir: &Path, place: &Place, ui: &Ui) -> Result<()> {
    let vault = own::open(dir)?;
    if passphrase::is_set(vault.grants()).map_err(failed)? {
        return Ok(());
    }
    if ui.can_ask() {
        ui.explain(
            "Every approval will need a passphrase. The approval page asks for it, and only a hash of \
             it is kept.",
        );
    }
    choose_for(&vault, place, ui)
}

/// Makes `typed` the passphrase of the store in `dir`, if it has none, and returns whether the store has
/// one then.
///
/// # Errors
/// `passphrase_not_chosen` (77) if it is too short; the errors of the store.
pub(super) fn keep_first(dir: &Path, typed: &Passphrase) -> Result<bool> {
    let vault = own::open(dir)?;
    if passphrase::is_set(vault.grants()).map_err(failed)? {
        return Ok(true);
    }
    match typed.characters() {
        0 => Ok(false),
        passphrase::LEAST.. => passphrase::set(vault.grants(), typed).map_err(failed),
        _ => Err(Error::new(Kind::Refused, "passphrase_not_chosen", "The passphrase is too short")
            .hint(format!("It must have at least {} characters", passphrase::LEAST))),
    }
}

fn ask_for_it(vault: &Vault, place: &Place, ui: &Ui) -> Result<()> {
    let is_right = |typed: &Passphrase| passphrase::is_right(vault.grants(), typed).map_err(failed);
    if ask_until(ui, "Current passphrase (not shown)", is_right)? {
        return Ok(());
    }
    Err(Error::new(Kind::Refused, "passphrase_wrong", "The passphrase is wrong; nothing was changed")
        .run(again(place)))
}

fn choose_for(vault: &Vault, place: &Place, ui: &Ui) -> Result<()> {
    let new = choose(ui, "New passphrase (not shown)", again(place))?;
    if passphrase::set(vault.grants(), &new).map_err(failed)? {
        return Ok(());
    }
    Err(own::explain(OpenError::NoRandomness))
}

fn again(place: &Place) -> Command {
    place.again(Command::new("provider passphrase"))
}

fn failed(error: rusqlite::Error) -> Error {
    vault_failed(&error.into())
}
