//! `pdpp provider install`: a store that an agent with a shell cannot read.

use std::net::SocketAddr;

use serde_json::json;

use super::passphrase;
use super::place::{Done, Place};
#[cfg(target_os = "linux")]
use crate::advice::Command;
use crate::cmd::Global;
use crate::error::{Error, Kind, Result};
use crate::own;
use crate::secret::Passphrase;
use crate::ui::Ui;

/// Keep your own data where an agent with a shell cannot read it: in the store of a separate system user
/// (needs root)
///
/// This creates a system user, a store that only that user can read, and a service that serves it on this
/// computer only. You approve each grant with a passphrase, which you choose here once. The command shows
/// what it would create, and asks. Run it again to update the program and the service; the store, the
/// passphrase and the address stay.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option")]
pub struct InstallArgs {
    /// The user whose data it is [default: the user who typed sudo]
    #[arg(long = "for", value_name = "USER")]
    pub user: Option<String>,

    /// Where the service listens: a loopback address [default: its present address, else a free port]
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,

    /// Only show what would be created, including the unit
    #[arg(long)]
    pub dry_run: bool,

    /// Create everything, but do not start the service: for containers and other systems without systemd
    #[arg(long)]
    pub no_start: bool,

    /// Ask only for the passphrase
    #[arg(long, short)]
    pub yes: bool,

    /// Print the result, or the failure, as one JSON object
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  sudo pdpp provider install            for the user who types it
  sudo pdpp provider install --for ana
  pdpp provider install --dry-run       what it would create; changes nothing, and needs no root

This needs Linux with systemd. docs/set-ups.md says what it protects against, and what to do on other systems.";

/// Creates the separate set-up.
///
/// # Errors
/// `install_needs_root`, `install_for_root`, `install_place`, `install_user_taken`, `install_unconfirmed` (77); `install_no_person`,
/// `install_unknown_user`, `install_listen` (2); `install_step_failed`, `install_program_missing`, `install_start_failed`;
/// `passphrase_terminal`, `passphrase_not_chosen` (77); `interrupted`.
#[cfg(target_os = "linux")]
pub(super) fn run(args: &InstallArgs, ui: &Ui) -> Result<Done> {
    use std::sync::atomic::{AtomicBool, Ordering};

    use crate::runtime;
    use own::separate::install::{self, Plan, Watch, Wish};

    if !args.dry_run {
        install::check_root()?;
    }
    let person = install::person(args.user.as_deref())?;
    let plan = Plan::new(person, &Wish { listen: args.listen, no_start: args.no_start })?;
    for warning in &plan.warnings {
        ui.warn(warning);
    }
    if args.dry_run {
        let text = format!("{}\n\n{}", plan.to_text(), plan.unit.to_text().trim_end());
        let mut json = plan.to_json();
        json["unit_text"] = plan.unit.to_text().into();
        return Ok(Done { text, json });
    }
    ui.explain(&plan.to_text());
    confirm(args.yes, ui, "Create this?", "install")?;
    let again = || Command::typed_again("provider install");
    let ask = || {
        ui.explain(
            "Every grant, and every import into an existing account, will need a passphrase. The person \
             whose data it is should type it. Only a hash of it is kept.",
        );
        passphrase::choose(ui, "New passphrase (not shown)", again())
    };
    let stop = AtomicBool::new(false);
    let progress = ui.progress();
    let watch = Watch { stop: &stop, say: &|what| progress.say(what), ask: &|| progress.aside(ask) };
    let made = runtime::while_signals_are_heard(
        |_| stop.store(true, Ordering::Relaxed),
        || install::install(&plan, &watch),
    )?;
    drop(progress);
    install::tidy(&plan);
    ui.done("the separate set-up is ready", Command::new("provider"));
    let mut json = plan.to_json();
    json["runs"] = made.runs.into();
    json["restarted"] = made.others.clone().into();
    Ok(Done { text: told(&plan, &made), json })
}

/// What was created, and what its owner does next.
#[cfg(target_os = "linux")]
fn told(plan: &own::separate::install::Plan, made: &own::separate::install::Installed) -> String {
    use std::fmt::Write as _;
    let (person, url) = (&plan.unit.person, format!("http://{}", plan.unit.listen));
    let mut text = if made.runs {
        format!("{person}'s own data is served at {url}, to this computer only, also after a restart.\n")
    } else {
        let why = if plan.has_systemd { "as you asked" } else { "because systemd does not run this system" };
        let mut text =
            format!("Everything is in place, but the service was not started, {why}. To start it as root:\n");
        for line in plan.by_hand() {
            let _ = writeln!(text, "  {}", continued(&line));
        }
        text
    };
    for other in &made.others {
        let _ = writeln!(text, "{other} was restarted with the same program.");
    }
    let program = own::separate::place::PROGRAM;
    let _ = write!(
        text,
        "Next, as {person} and without sudo:\n  pdpp import <export>\n  pdpp connect local\n  pdpp \
         provider open      while that waits: you decide on your page\nPrograms that speak HTTP connect \
         to {url}.\nType the passphrase only on the page or into {program}: no program of {person}'s \
         can change that file."
    );
    text
}

/// A command, in lines that a shell reads as one: what a narrow terminal broke would be several.
#[cfg(target_os = "linux")]
fn continued(command: &str) -> String {
    const WIDTH: usize = 72;
    let (mut text, mut width) = (String::new(), 0);
    for word in command.split(' ') {
        if width > 0 && width + word.len() > WIDTH {
            text.push_str(" \\\n    ");
            width = 0;
        } else if width > 0 {
            text.push(' ');
        }
        text.push_str(word);
        width += word.len() + 1;
    }
    text
}

/// For systems where this is not built.
///
/// # Errors
/// `install_not_here` (77).
#[cfg(not(target_os = "linux"))]
pub(super) fn run(_: &InstallArgs, _: &Ui) -> Result<Done> {
    Err(not_here())
}

/// The error on a system that has no separate set-up.
#[cfg(not(target_os = "linux"))]
pub(super) fn not_here() -> Error {
    let message = "This command creates the separate set-up only on Linux with systemd";
    Error::new(Kind::Refused, "install_not_here", message)
        .hint("docs/set-ups.md describes the choices for macOS, Windows and containers, which are untested")
}

/// Asks for a yes, unless `yes` is set.
///
/// # Errors
/// `install_unconfirmed` (77), `not_confirmed` (77).
#[cfg(target_os = "linux")]
pub(super) fn confirm(yes: bool, ui: &Ui, question: &str, what: &str) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !ui.can_ask() {
        let message =
            format!("Cannot ask whether to {what}, because there is no terminal; nothing was changed");
        return Err(Error::new(Kind::Refused, "install_unconfirmed", message)
            .hint("Add --yes, or run it at a terminal"));
    }
    if ui.confirm(question) {
        return Ok(());
    }
    Err(Error::new(Kind::Refused, "not_confirmed", "Nothing was changed")
        .run(Command::typed_again("provider install")))
}

/// Create an empty store with a passphrase, which is typed at the terminal or read from standard input:
/// `pdpp provider install` runs this as the store's own user
#[derive(Debug, clap::Args)]
pub struct PrepareArgs {
    #[command(flatten)]
    pub place: Place,
}

/// Creates the store.
///
/// # Errors
/// The errors of the store; `passphrase_not_chosen` (77).
pub(super) fn prepare(args: &PrepareArgs, global: &Global, ui: &Ui) -> Result<Done> {
    let dir = args.place.dir(global)?;
    if !own::is_there(&dir) {
        let _alone = own::lock(&dir)?;
        drop(own::make_store(&dir)?);
    }
    let has_passphrase = if ui.can_ask() {
        passphrase::ensure(&dir, &args.place, ui)?;
        true
    } else {
        let typed = from_standard_input().map_err(|error| {
            Error::failed("passphrase_not_chosen", "The passphrase could not be read")
                .because(error)
                .hint("Run it again")
        })?;
        passphrase::keep_first(&dir, &typed)?
    };
    let text = format!("The store in {} is ready.", dir.display());
    Ok(Done { text, json: json!({ "has_passphrase": has_passphrase }) })
}

/// Reads all of standard input, without another buffer.
#[cfg(unix)]
fn from_standard_input() -> std::io::Result<Passphrase> {
    let (input, mut typed, mut byte) = (std::io::stdin(), Passphrase::new(), [0]);
    loop {
        match rustix::io::read(&input, &mut byte) {
            Ok(0) => return Ok(typed),
            Ok(_) => typed.push(byte[0]),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(not(unix))]
fn from_standard_input() -> std::io::Result<Passphrase> {
    Ok(Passphrase::new())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn o9_1_a_long_command_is_printed_so_that_it_can_be_copied() {
        let command =
            format!("setpriv {}-- /usr/local/lib/pdpp/pdpp provider serve", "--an-option=of-it ".repeat(9));
        let shown = continued(&command);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines.len() > 2 && lines.iter().all(|line| line.len() < 79), "{shown}");
        assert!(lines[..lines.len() - 1].iter().all(|line| line.ends_with(" \\")), "{shown}");
        assert_eq!(shown.replace(" \\\n    ", " "), command);
        assert_eq!(continued("install -d /run/pdpp"), "install -d /run/pdpp");
    }
}
