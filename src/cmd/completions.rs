//! `pdpp completions`: a shell's completion script, generated from the clap definitions.

use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;

use super::complete;
use crate::error::Result;
use crate::ui::Ui;

/// Print a shell completion script
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell to write the script for
    pub shell: Shell,
}

/// Prints the script.
///
/// # Errors
/// Never fails.
pub fn run(args: &Args, root: &Command, ui: &Ui) -> Result<u8> {
    ui.raw(script(root, args.shell).as_bytes());
    Ok(0)
}

/// The script for `shell` and the definitions in `root`, as it is committed under `completions/`: clap's
/// script, and a hook for the values that [`complete`] looks up. The PowerShell script is clap's alone.
pub fn script(root: &Command, shell: Shell) -> String {
    let mut script = Vec::new();
    let mut definitions = without_files(without_hidden(root));
    clap_complete::generate(shell, &mut definitions, "pdpp", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => bash(&script) + include_str!("completions/hook.bash"),
        Shell::Elvish => script + include_str!("completions/hook.elv"),
        Shell::Fish => fish(root, &script) + include_str!("completions/hook.fish"),
        Shell::Zsh => zsh(&script),
        _ => script,
    }
}

/// The definitions without hidden commands, which clap's scripts would also offer.
fn without_hidden(root: &Command) -> Command {
    let shown = root.get_subcommands().filter(|child| !child.is_hide_set()).cloned();
    Command::new("pdpp")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .args(root.get_arguments().cloned())
        .subcommands(shown)
}

/// Offers files only for arguments that are files, and not for every value that clap knows nothing about.
fn without_files(command: Command) -> Command {
    let is_unknown = |argument: &Arg| {
        argument.get_action().takes_values()
            && argument.get_value_hint() == ValueHint::Unknown
            // The words of another program's command line.
            && !argument.is_last_set()
    };
    let command = command.mut_args(|argument| {
        if is_unknown(&argument) { argument.value_hint(ValueHint::Other) } else { argument }
    });
    command.mut_subcommands(without_files)
}

/// The script for bash. For a value that clap knows nothing about, clap's script offers what is already
/// typed, and bash then closes a quote behind it. This script offers nothing instead, not even file names. An
/// old bash without `compopt` still offers file names.
fn bash(script: &str) -> String {
    let nothing = "COMPREPLY=()\n                    compopt +o bashdefault +o default 2>/dev/null";
    script.replace("COMPREPLY=(\"${cur}\")", nothing)
}

/// The script for zsh, which calls the function `_pdpp`, whether it loads the file or sources it, so the hook
/// takes that name.
fn zsh(script: &str) -> String {
    let script = script.replacen("\n_pdpp() {", "\n_pdpp_definitions() {", 1);
    let (definitions, start) = script.rsplit_once("\nif [ \"$funcstack").unwrap_or((&script, ""));
    format!("{definitions}{}\nif [ \"$funcstack{start}", include_str!("completions/hook.zsh"))
}

/// The script for fish, which looks up an option's values in the line of that option.
fn fish(root: &Command, script: &str) -> String {
    let options = complete::options(root);
    let is_ours = |line: &str| {
        line.ends_with(" -r -f") && options.iter().any(|option| line.contains(&format!(" -l {option} ")))
    };
    let hooked = |line: &str| if is_ours(line) { " -a '(__pdpp_values)'\n" } else { "\n" };
    script.lines().map(|line| line.to_owned() + hooked(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::Cli;
    use clap::CommandFactory as _;

    #[test]
    fn files_are_offered_for_files_alone() {
        let bash = script(&Cli::command(), Shell::Bash);
        let offered = |option: &str| {
            let (_, after) = bash.split_once(&format!("                {option})\n")).unwrap();
            after.split_once(";;").unwrap().0.contains("compgen -f")
        };
        for option in ["--cache-dir", "--ca-file", "--data-dir", "--introspection-file"] {
            assert!(offered(option), "{option}");
        }
        for option in ["--field", "--since", "--name", "--stream", "--proxy", "--budget"] {
            assert!(!offered(option), "{option}");
        }
    }
}
