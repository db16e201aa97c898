//! What is typed behind `pdpp import`.

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
/// Files, folders and archives (zip, tgz) are recognised by their contents, read where they are, and left as they are.
/// Nothing leaves this computer, and no agent can read anything before you grant it: `pdpp connect local`. Before anything
/// is written you see what would be imported. The same command again, after an interruption or with newer exports, goes on
/// and updates; without a PATH it takes up what grew or changed of all that was imported before.
/// Where a service of another user keeps your data, what you name is opened here and handed to it, and attachments are copied.
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

    /// Keep copies of attachments in the store; without it they are read from the export, which has to stay where it is
    #[arg(long)]
    pub copy_attachments: bool,

    /// Read it as this format; it is refused if it is another
    #[arg(long = "as", value_name = "FORMAT", requires = "paths", value_parser = PossibleValuesParser::new(names()), hide_possible_values = true)]
    pub format: Option<String>,

    /// Whose data it is: the name of the account
    #[arg(long, value_name = "NAME", requires = "paths", value_parser = NonEmptyStringValueParser::new())]
    pub account: Option<String>,

    /// The time zone of times that name none, such as Europe/Oslo [default: the account's, else this computer's]
    #[arg(long, value_name = "ZONE")]
    pub timezone: Option<String>,

    /// In which order numbers stand in dates: day, month, year
    #[arg(long, value_name = "ORDER", value_parser = ["dmy", "mdy", "ymd"])]
    pub date_order: Option<String>,

    /// Leave out what is older than this day, YYYY-MM-DD, or than a time of it, YYYY-MM-DDTHH:MM
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,

    /// Where the store is [default: where it was last, else own/ in the cache directory]
    #[arg(long, value_name = "DIR", env = "PDPP_DATA_DIR", hide_env_values = true)]
    pub data_dir: Option<PathBuf>,

    /// Write what could not be read to this file, one JSON object a line; what could not before is tried again
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Import what the plan shows without asking
    #[arg(long)]
    pub yes: bool,

    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,

    /// Stop when standard input ends: the process that started this one keeps it open
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
  pdpp import                                         take up what grew or changed
  pdpp import --yes                                   the same from a timer

Formats:",
    );
    let width = names().iter().map(|name| name.len()).max().unwrap_or(0);
    for format in formats::ALL {
        let _ = write!(text, "\n  {:width$}   {}", format.name(), format.title());
    }
    text.push_str(
        "\n\nEnds with 0 if every file was read to its end, items that could not be read included; with 1 if one was not, \
         nothing was recognised, or no item could be read; with 77 if a question is open. Without a PATH, what is gone or new in \
         a known source is said, and is no failure.",
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

    /// Whether somebody can be asked a question.
    pub(super) const fn can_answer(&self, ui: &Ui) -> bool {
        ui.can_ask() && !self.json
    }
}
