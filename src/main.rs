//! Parse, run, exit code.

use std::process::ExitCode;

use clap::Parser;
use pdpp::cmd::{self, Cli};
use pdpp::ui::Ui;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let ui = Ui::from_process();
    match cmd::run(cli, &ui) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            ui.error(&error);
            ExitCode::from(error.kind().exit_code())
        }
    }
}
