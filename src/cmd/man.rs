//! `pdpp man`: the manual pages, generated from the clap definitions.

use clap::Command;

use crate::error::{Error, Kind, Result};
use crate::ui::{self, Ui};

/// Print a manual page (roff) of pdpp or of one of its commands
///
/// On a terminal it explains how to read a page, because roff is not for reading: pdpp man connect | man -l -
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The command, e.g. `mcp serve`
    #[arg(id = "page", value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Prints the page.
///
/// # Errors
/// `unknown_command` if there is no such command.
pub fn run(args: &Args, root: Command, ui: &Ui) -> Result<u8> {
    let wanted = std::iter::once("pdpp").chain(args.command.iter().map(String::as_str));
    let name = wanted.collect::<Vec<_>>().join("-");
    let page = pages(root).into_iter().find(|(page, _)| *page == format!("{name}.1"));
    let (_, roff) = page.ok_or_else(|| {
        Error::new(
            Kind::Usage,
            "unknown_command",
            format!("There is no command `{}`", args.command.join(" ")),
        )
        .hint("pdpp --help")
    })?;
    if ui::is_output_terminal() {
        ui.print(&how_to_read(&args.command, ui.width()));
    } else {
        ui.raw(&roff);
    }
    Ok(0)
}

/// The commands that show the page of `command` to a person.
fn how_to_read(command: &[String], width: u16) -> String {
    let words = |first: &'static str| {
        let words = [first].into_iter().chain(command.iter().map(String::as_str));
        words.collect::<Vec<_>>().join(" ")
    };
    let commands = [
        (format!("pdpp {} | man -l -", words("man")), "read the page"),
        (format!("pdpp {}", words("help")), "read about the same options without `man`"),
    ];
    ui::steps_within(width, &commands.each_ref().map(|(command, what)| (command.as_str(), *what)))
}

/// Every page for the definitions in `root`, as it is committed under `man/`: file name and roff.
pub fn pages(root: Command) -> Vec<(String, Vec<u8>)> {
    // `help` has no page, and would otherwise be listed among the subcommands.
    fn without_help(command: Command) -> Command {
        command.disable_help_subcommand(true).mut_subcommands(without_help)
    }
    let mut root = without_help(root);
    root.build();
    let mut pages = Vec::new();
    collect(&root, "pdpp", &mut pages);
    pages
}

fn collect(command: &Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) {
    let mut roff = Vec::new();
    let page = clap_mangen::Man::new(command.clone().name(name.to_owned()).display_name(name.to_owned()))
        .date("")
        .manual("pdpp manual");
    // Writing to memory cannot fail.
    let _ = page.render(&mut roff);
    pages.push((format!("{name}.1"), roff));
    for child in command.get_subcommands().filter(|child| !child.is_hide_set()) {
        collect(child, &format!("{name}-{}", child.get_name()), pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_that_a_page_names_is_there() {
        use clap::CommandFactory as _;
        let pages = pages(crate::cmd::Cli::command());
        let mut named = 0;
        for (page, roff) in &pages {
            let text = String::from_utf8_lossy(roff).replace('\\', "");
            for (before, _) in text.match_indices("(1)").map(|(at, _)| text.split_at(at)) {
                let name = before.rsplit(|c: char| c.is_whitespace()).next().unwrap_or_default();
                assert!(pages.iter().any(|(other, _)| *other == format!("{name}.1")), "{name} in {page}");
                named += 1;
            }
        }
        assert!(named > 15, "{named}");
    }

    #[test]
    fn who_wants_to_read_a_page_is_told_how() {
        let shown = how_to_read(&["mcp".to_owned(), "serve".to_owned()], 80);
        assert!(
            shown.contains("pdpp man mcp serve | man -l -") && shown.contains("pdpp help mcp serve "),
            "{shown}"
        );
        assert!(how_to_read(&[], 80).contains("  pdpp man | man -l -   "));
    }
}
