//! Parse, run, exit code.

use std::process::ExitCode;

use clap::Parser;
use pdpp::cmd::{self, Cli};
use pdpp::error::Error;
use pdpp::ui::Ui;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let ui = Ui::from_process();
    match cmd::run(cli, &ui) {
        Ok(code) if code != 0 || !ui.has_lost_output() => ExitCode::from(code),
        Ok(_) => {
            let error = Error::failed("output_failed", "The result could not be written to standard output")
                .hint("Check that the disk it goes to has room, then run it again");
            ui.error(&error);
            ExitCode::from(error.kind().exit_code())
        }
        Err(error) => {
            ui.error(&error);
            ExitCode::from(error.kind().exit_code())
        }
    }
}
