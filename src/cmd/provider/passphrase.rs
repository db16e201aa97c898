//! `pdpp provider passphrase`, and the first one of `pdpp provider serve`.

use std::path::Path;

use secrecy::{ExposeSecret as _, SecretString};

use super::{Done, Place, Result};
use crate::advice::Command;
use crate::cmd::Global;
use crate::error::{Error, Kind};
use crate::own;
use crate::own::state::vault_failed;
use crate::ui::Ui;
use crate::vault::Vault;
use crate::vault::oauth::passphrase::{self, LEAST, NewPassphrase};

/// How often a wrong one may be typed here: whoever is at this terminal can begin again.
const TRIES: usize = 3;

/// Choose the passphrase that every approval at `pdpp provider serve` needs, or change it
///
/// It is typed at the terminal, and never an argument, a variable or a file. Only a hash of it is kept.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub place: Place,
}

/// Asks for a new passphrase, after the one that there is.
///
/// # Errors
/// `own_missing` (78); `passphrase_no_terminal`, `passphrase_wrong` (77); those of the store.
pub(super) fn run(place: &Place, global: &Global, ui: &Ui) -> Result<Done> {
    let vault = own::open(&place.dir(global)?)?;
    if passphrase::is_set(vault.grants()).map_err(failed)? {
        ask_for_it(&vault, place, ui)?;
    }
    choose(&vault, place, ui)?;
    Ok(Done {
        text: "The passphrase is kept, as a hash.".to_owned(),
        json: serde_json::json!({ "set": true }),
    })
}

/// Asks for a first passphrase where there is none yet.
///
/// # Errors
/// As [`run`].
pub(super) fn ensure(dir: &Path, place: &Place, ui: &Ui) -> Result<()> {
    let vault = own::open(dir)?;
    if passphrase::is_set(vault.grants()).map_err(failed)? {
        return Ok(());
    }
    if ui.can_ask() {
        ui.explain("Every approval will need a passphrase of yours. Its page asks for it, and only a hash of it is kept.");
    }
    choose(&vault, place, ui)
}

/// Asks for the passphrase.
fn ask_for_it(vault: &Vault, place: &Place, ui: &Ui) -> Result<()> {
    for _ in 0..TRIES {
        let typed = ask(ui, place, "The passphrase as it is now")?;
        if passphrase::is_right(vault.grants(), &typed).map_err(failed)? {
            return Ok(());
        }
        ui.explain("That is not the passphrase.");
    }
    Err(Error::new(Kind::Refused, "passphrase_wrong", "That is not the passphrase; nothing was changed")
        .run(again(place)))
}

/// Asks for a new passphrase, twice, and keeps its hash.
fn choose(vault: &Vault, place: &Place, ui: &Ui) -> Result<()> {
    loop {
        let typed = ask(ui, place, &format!("New passphrase, {LEAST} characters or more"))?;
        let new = match NewPassphrase::new(typed.clone()) {
            Ok(new) => new,
            Err(unusable) => {
                ui.explain(&format!("That cannot be the passphrase: {unusable}."));
                continue;
            }
        };
        let repeated = ask(ui, place, "The same again")?;
        if repeated.expose_secret() != typed.expose_secret() {
            ui.explain("Those are two different ones.");
            continue;
        }
        return match passphrase::set(vault.grants(), &new).map_err(failed)? {
            true => Ok(()),
            false => Err(own::explain(crate::vault::OpenError::NoRandomness)),
        };
    }
}

fn ask(ui: &Ui, place: &Place, question: &str) -> Result<SecretString> {
    let stopped = |error: std::io::Error| {
        Error::failed("interrupted", "The passphrase was not typed to its end; nothing was changed")
            .because(error)
    };
    ui.ask_secret(question).map_err(stopped)?.ok_or_else(|| {
        let message = "A passphrase is typed at a terminal, and there is none here";
        Error::new(Kind::Refused, "passphrase_no_terminal", message).run(again(place))
    })
}

fn again(place: &Place) -> Command {
    place.again(Command::new("provider passphrase"))
}

fn failed(error: rusqlite::Error) -> Error {
    vault_failed(&error.into())
}
