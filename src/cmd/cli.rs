//! The whole command line, and which command runs.

use clap::{CommandFactory as _, Parser, Subcommand};

use super::global::Global;
use super::{
    complete, completions, connect, demo, disconnect, doctor, import, log, man, mcp, provider, sandbox,
    status,
};
use crate::error::Result;
use crate::text::shell_word;
use crate::ui::Ui;

/// Let an AI agent read your data through a grant that you approved, and nothing more.
#[derive(Debug, Parser)]
#[command(name = "pdpp", version, max_term_width = 100, propagate_version = true, after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,

    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  pdpp demo                               see it work, with made-up data
  pdpp connect https://provider.example   approve a grant in the browser
  pdpp connect local                      grant your own data on this computer
  pdpp mcp setup                          set up the agents on this computer
  pdpp mcp serve                          serve granted data to an MCP host on stdio
  pdpp mcp inspect                        see what the tools cost a model
  pdpp status                             see what is connected
  pdpp doctor                             check what works and what does not

With --json a command prints one JSON object on stdout. If it fails, that is {\"error\": \
{code, message, because, next, exit_code}}, with the same exit code.";

/// The commands of `pdpp`.
#[derive(Debug, Subcommand)]
pub enum Command {
    Demo(demo::Args),
    Connect(connect::Args),
    Import(import::Args),
    Status(status::Args),
    Disconnect(disconnect::Args),
    Doctor(doctor::Args),
    Log(log::Args),
    Completions(completions::Args),
    /// Its name resembles no other command, so that no typing mistake selects it.
    #[command(name = "__complete", hide = true)]
    Complete(complete::Args),
    Man(man::Args),
    Mcp(mcp::Args),
    Provider(provider::Args),
    Sandbox(sandbox::Args),
}

/// Runs the parsed command and returns the exit code of the process.
///
/// # Errors
/// The command's failure; the caller reports it and picks the exit code from its kind.
pub fn run(cli: Cli, ui: &Ui) -> Result<u8> {
    if let Some(level) = cli.global.log_level.level() {
        crate::ui::log_to_stderr(level);
    }
    crate::advice::set_options(&cli.global.advised());
    if let Some(dir) = &cli.global.cache_dir {
        crate::fs::leave_mode_of(dir);
        let open = crate::fs::open_to_writers(dir).map(|mode| (dir.clone(), mode));
        warn_of_writers(ui, open.or_else(|| crate::fs::replaceable_by_others(dir)));
    } else if let (Command::Connect(_), Ok(dir)) = (&cli.command, crate::cache::Cache::default_dir()) {
        warn_of_writers(ui, crate::fs::replaceable_by_others(&dir));
    }
    if ui.can_ask() && !matches!(cli.command, Command::Mcp(_)) {
        crate::cache::store::wait_for_a_person();
    }
    match cli.command {
        Command::Demo(args) => demo::run(&args, ui),
        Command::Connect(args) => connect::run(&args, &cli.global, ui),
        Command::Import(args) => import::run(&args, &cli.global, ui),
        Command::Status(args) => status::run(&args, &cli.global, ui),
        Command::Disconnect(args) => disconnect::run(&args, &cli.global, ui),
        Command::Doctor(args) => doctor::run(&args, &cli.global, ui),
        Command::Log(args) => log::run(&args, &cli.global, ui),
        Command::Completions(args) => completions::run(&args, &Cli::command(), ui),
        Command::Complete(args) => complete::run(&args, &cli.global, &Cli::command(), ui),
        Command::Man(args) => man::run(&args, Cli::command(), ui),
        Command::Mcp(args) => mcp::run(&args, &cli.global, ui),
        Command::Provider(args) => provider::run(&args, &cli.global, ui),
        Command::Sandbox(args) => sandbox::run(args, ui),
    }
}

/// Warns about a folder where others can write, or remove what is in it.
fn warn_of_writers(ui: &Ui, open: Option<(std::path::PathBuf, u32)>) {
    if let Some((dir, mode)) = open {
        let dir = shell_word(&dir.display().to_string()).into_owned();
        ui.warn(&format!("others can write to {dir} (mode {mode:03o}): chmod go-w {dir}"));
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use clap::CommandFactory as _;

    fn every_text(command: &clap::Command) -> String {
        let mut text = format!("{} {:?}", command.get_name(), command.get_about().map(ToString::to_string));
        for argument in command.get_arguments() {
            let _ = write!(
                text,
                " {} {:?} {:?} {:?}",
                argument.get_id(),
                argument.get_long(),
                argument.get_env(),
                argument.get_help().map(ToString::to_string)
            );
        }
        command.get_subcommands().map(every_text).fold(text, |all, one| all + "\n" + &one)
    }

    #[test]
    fn r1_6_no_profile_flag_variable_or_label() {
        let mut command = super::Cli::command();
        command.build();
        let text = every_text(&command).to_lowercase();
        for word in ["profile", "toolset", "preset"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }

    #[test]
    fn the_definitions_are_sound() {
        super::Cli::command().debug_assert();
    }
}
