//! Where the store is that a command is about, and what the command comes to.

use std::path::PathBuf;

use serde_json::Value;

use crate::advice::Command;
use crate::cmd::Global;
use crate::error::Result;
use crate::own;

/// Where the store is, and how results are printed.
#[derive(Debug, clap::Args)]
pub struct Place {
    /// Where your own data is [default: as before, else `own` beside the credentials]
    #[arg(long, value_name = "DIR", env = "PDPP_DATA_DIR", hide_env_values = true)]
    pub data_dir: Option<PathBuf>,

    /// Print the result, or the failure, as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// What a command comes to.
pub(super) struct Done {
    pub text: String,
    pub json: Value,
}

impl Place {
    /// `command`, about the same store: the directory that was named is remembered by an import and a grant alone.
    pub(super) fn again(&self, command: Command) -> Command {
        match &self.data_dir {
            Some(dir) => command.option("--data-dir", dir.display().to_string()),
            None => command,
        }
    }

    /// # Errors
    /// Those of the cache.
    pub(super) fn dir(&self, global: &Global) -> Result<PathBuf> {
        own::dir(self.data_dir.as_deref(), &global.cache()?)
    }
}
