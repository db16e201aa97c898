//! `pdpp completions`: a shell's completion script, from the clap definitions.

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::complete;
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
    ui.raw(script(args.shell).as_bytes());
    Ok(0)
}

/// The script for `shell`, as it is committed under `completions/`: clap's, and a hook for the values that
/// [`complete`] finds out. PowerShell's is clap's alone.
pub fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut without_hidden(&super::Cli::command()), "pdpp", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => script + include_str!("completions/hook.bash"),
        Shell::Elvish => script + include_str!("completions/hook.elv"),
        Shell::Fish => fish(&script) + include_str!("completions/hook.fish"),
        Shell::Zsh => zsh(&script),
        _ => script,
    }
}

/// clap's scripts would offer hidden commands too.
fn without_hidden(root: &Command) -> Command {
    let shown = root.get_subcommands().filter(|child| !child.is_hide_set()).cloned();
    Command::new("pdpp")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .args(root.get_arguments().cloned())
        .subcommands(shown)
}

/// zsh calls the function `_pdpp`, whether it loads the file or sources it: the hook takes that name.
fn zsh(script: &str) -> String {
    let script = script.replacen("\n_pdpp() {", "\n_pdpp_definitions() {", 1);
    let (definitions, start) = script.rsplit_once("\nif [ \"$funcstack").unwrap_or((&script, ""));
    format!("{definitions}{}\nif [ \"$funcstack{start}", include_str!("completions/hook.zsh"))
}

/// fish asks an option's own line for its values.
fn fish(script: &str) -> String {
    let options = complete::options();
    let is_ours = |line: &str| {
        line.ends_with(" -r") && options.iter().any(|option| line.contains(&format!(" -l {option} ")))
    };
    let hooked = |line: &str| if is_ours(line) { " -f -a '(__pdpp_values)'\n" } else { "\n" };
    script.lines().map(|line| line.to_owned() + hooked(line)).collect()
}
