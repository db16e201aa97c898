//! Passphrases, typed at the terminal: no option, variable or file accepts one.

use std::io;

use crate::advice::Command;
use crate::error::{Error, Kind, Result};
#[cfg(target_os = "linux")]
use crate::own::separate::words::Which;
use crate::secret::Passphrase;
use crate::ui::Ui;
use crate::vault::oauth::passphrase::LEAST;

/// How often a passphrase is asked for; the person at the terminal can then start again.
const TRIES: u32 = 3;

/// Asks for the passphrase that a service wants. `again` is the command to run if none is chosen.
///
/// # Errors
/// `passphrase_terminal`, `passphrase_not_chosen` (77); `interrupted`.
#[cfg(target_os = "linux")]
pub(in crate::cmd) fn for_service(
    ui: &Ui,
    which: Which,
    is_wrong: bool,
    again: Command,
) -> Result<Passphrase> {
    if is_wrong {
        ui.note("The passphrase is wrong.");
    }
    match which {
        Which::Present => ask(ui, "Passphrase of your data (not shown)"),
        Which::New => choose(ui, "New passphrase (not shown)", again),
        Which::Backup => choose(ui, "Passphrase for the backup (not shown)", again),
    }
}

/// Asks for a new passphrase, twice. `again` is the command to run if none is chosen.
///
/// # Errors
/// `passphrase_terminal`, `passphrase_not_chosen` (77); `interrupted`.
pub(in crate::cmd) fn choose(ui: &Ui, question: &str, again: Command) -> Result<Passphrase> {
    for _ in 0..TRIES {
        let typed = ask(ui, question)?;
        if is_too_long(ui, &typed) {
            continue;
        }
        if typed.characters() < LEAST {
            ui.note(&format!("It must have at least {LEAST} characters."));
            continue;
        }
        let again = ask(ui, "Repeat it")?;
        if !again.is_too_long() && again.composed().expose() == typed.composed().expose() {
            return Ok(typed.composed());
        }
        ui.note("The two passphrases differ.");
    }
    let message = "No passphrase was chosen, so nothing was written";
    Err(Error::new(Kind::Refused, "passphrase_not_chosen", message).run(again))
}

/// Asks for a passphrase until `is_right` accepts it; false if it accepts none of the typed ones.
///
/// # Errors
/// Same as [`ask`], and the errors of `is_right`.
pub(in crate::cmd) fn ask_until(
    ui: &Ui,
    question: &str,
    mut is_right: impl FnMut(&Passphrase) -> Result<bool>,
) -> Result<bool> {
    for _ in 0..TRIES {
        let typed = ask(ui, question)?;
        if is_too_long(ui, &typed) {
            continue;
        }
        if is_right(&typed)? {
            return Ok(true);
        }
        ui.note("The passphrase is wrong.");
    }
    Ok(false)
}

/// Whether the passphrase is too long; tells the person if so.
fn is_too_long(ui: &Ui, typed: &Passphrase) -> bool {
    if typed.is_too_long() {
        ui.note(&format!("It can have at most {} bytes, so it was not accepted.", Passphrase::MAX));
    }
    typed.is_too_long()
}

/// Asks for a passphrase.
///
/// # Errors
/// `passphrase_terminal` (77); `interrupted`.
pub(in crate::cmd) fn ask(ui: &Ui, question: &str) -> Result<Passphrase> {
    let asked = ui.ask_passphrase(question).map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => {
            Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing was changed")
                .run(Command::typed_again("provider"))
        }
        _ => needs_terminal("pdpp could not read a passphrase from the terminal").because(error),
    })?;
    asked
        .ok_or_else(|| needs_terminal("There is no terminal to ask for a passphrase on, so nothing was done"))
}

fn needs_terminal(what: &str) -> Error {
    Error::new(Kind::Refused, "passphrase_terminal", what)
        .hint("Run it at a terminal: no option, variable or file can supply a passphrase")
}
