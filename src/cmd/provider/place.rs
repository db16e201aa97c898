//! The store and the grant that a command is about, and the result of the command.

use std::path::PathBuf;

use serde_json::Value;

use crate::advice::Command;
use crate::cmd::Global;
use crate::error::{Error, Kind, Result};
use crate::own;

/// Where the store is, and how results are printed.
#[derive(Debug, clap::Args)]
pub struct Place {
    /// Where your own data is [default: the directory named last, else `own` next to the
    /// credentials]
    #[arg(long, value_name = "DIR", env = "PDPP_DATA_DIR", hide_env_values = true)]
    pub data_dir: Option<PathBuf>,

    /// Print the result, or the failure, as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The result of a command.
pub(super) struct Done {
    pub text: String,
    pub json: Value,
}

/// The error for a name that matches the grants with these ids.
pub(super) fn several_grants<S: AsRef<str>>(ids: &[S]) -> Error {
    let revoke = |id: &S| format!("\n  {}", Command::new("provider revoke").value(id.as_ref()));
    let commands: String = ids.iter().map(revoke).collect();
    let message = format!("The name matches several grants. Type the command of the one to end:{commands}");
    Error::new(Kind::Usage, "several_credentials", message).run(Command::new("provider revoke <GRANT>"))
}

impl Place {
    /// `command`, for the same store: only an import and a grant remember the directory that was named.
    pub(super) fn again(&self, command: Command) -> Command {
        match &self.data_dir {
            Some(dir) => command.option("--data-dir", dir.display().to_string()),
            None => command,
        }
    }

    /// # Errors
    /// The errors of the cache.
    pub(super) fn dir(&self, global: &Global) -> Result<PathBuf> {
        own::dir(self.data_dir.as_deref(), &global.cache()?)
    }
}
