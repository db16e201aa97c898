//! `pdpp completions`: a shell's completion script, from the clap definitions.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::error::Result;
use crate::ui::Ui;

/// Print a shell completion script
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell to complete in
    pub shell: Shell,
}

/// Prints the script.
///
/// # Errors
/// Never.
pub fn run(args: &Args, ui: &Ui) -> Result<u8> {
    ui.raw(&script(args.shell));
    Ok(0)
}

/// The script for `shell`, as it is committed under `completions/`.
pub fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::Cli::command(), "pdpp", &mut script);
    script
}
