//! The options of `pdpp import`.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, StyledStr};
use jiff::tz::TimeZone;

use crate::error::Result;
use crate::import::formats;
use crate::own;
use crate::own::import::Wanted;
use crate::ui::Ui;

/// Import your own exports into a store on this computer
///
/// Files, folders and archives (zip, tgz) are recognised by their contents, read where they are and never
/// changed. Nothing leaves this computer, and no agent can read anything until you grant it: `pdpp
/// connect local`. You see what would be imported before anything is written. Run the same command again
/// after an interruption, or with newer exports: it continues and updates. Without a PATH it imports what
/// grew or changed in everything that was imported before. In the separate set-up,
/// this command opens the files and hands them to the service that keeps your data, which copies attachments.
#[allow(clippy::struct_excessive_bools, reason = "one for each option")]
#[derive(Debug, clap::Args)]
#[command(after_help = after_help())]
pub struct Args {
    /// Files, folders or archives [default: those that were imported before]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Show what would be imported, and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Keep copies of attachments in the store; without this option they are read from the export, which must
    /// stay where it is
    #[arg(long)]
    pub copy_attachments: bool,

    /// Read the files as this format, and refuse those that have a different one
    #[arg(long = "as", value_name = "FORMAT", requires = "paths", value_parser = PossibleValuesParser::new(names()), hide_possible_values = true)]
    pub format: Option<String>,

    /// Whose data it is: the name of the account
    #[arg(long, value_name = "NAME", requires = "paths", value_parser = NonEmptyStringValueParser::new())]
    pub account: Option<String>,

    /// The time zone of times without one, such as Europe/Oslo [default: the account's, else this
    /// computer's]
    #[arg(long, value_name = "ZONE")]
    pub timezone: Option<String>,

    /// The order of day, month and year in dates
    #[arg(long, value_name = "ORDER", value_parser = ["dmy", "mdy", "ymd"])]
    pub date_order: Option<String>,

    /// Leave out what is older than this day, YYYY-MM-DD, or this time, YYYY-MM-DDTHH:MM
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,

    /// Where your own data is [default: the directory named last, else `own` next to the
    /// credentials]
    #[arg(long, value_name = "DIR", env = "PDPP_DATA_DIR", hide_env_values = true)]
    pub data_dir: Option<PathBuf>,

    /// Write what could not be read to this file, one JSON object per line, and try again what could not
    /// be read before
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Import what the plan shows without asking
    #[arg(long)]
    pub yes: bool,

    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,

    /// Stop when standard input ends; the parent process keeps it open
    #[arg(long, hide = true)]
    pub while_stdin_is_open: bool,
}

fn names() -> Vec<&'static str> {
    formats::ALL.iter().map(|format| format.name()).collect()
}

fn after_help() -> StyledStr {
    let mut text = String::from(
        "Examples:
  pdpp import --dry-run ~/Downloads/takeout-001.zip   what would be imported
  pdpp import ~/Downloads/takeout-001.zip             import it
  pdpp import                                         import what grew or changed
  pdpp import --yes                                   the same from a timer

Formats:",
    );
    let width = names().iter().map(|name| name.len()).max().unwrap_or(0);
    for format in formats::ALL {
        let _ = write!(text, "\n  {:width$}   {}", format.name(), format.title());
    }
    text.push_str(
        "\n\nExits with 0 if every file was read to the end, even if some items could not be read; with 1 if a file was not, if nothing \
         was recognised or if no item could be read; with 77 if a question is open. Without a PATH, what is gone or new in a known \
         source is reported, and is not a failure.",
    );
    text.into()
}

impl Args {
    pub(super) fn wanted(&self) -> Result<Wanted> {
        let zone = self.timezone.as_deref().map(own::import::zone).transpose()?;
        let since_ms = match &self.since {
            Some(text) => Some(own::import::since(text, zone.unwrap_or_else(TimeZone::system))?),
            None => None,
        };
        Ok(Wanted {
            format: self.format.clone(),
            account: self.account.clone(),
            timezone: self.timezone.clone(),
            own_zone: None,
            date_order: self.date_order.clone(),
            since_ms,
            copies_attachments: self.copy_attachments,
        })
    }

    /// Whether there is a person to answer a question.
    pub(super) const fn can_answer(&self, ui: &Ui) -> bool {
        ui.can_ask() && !self.json
    }
}
