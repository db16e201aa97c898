//! Parse, run, exit code.

use std::process::ExitCode;

use clap::Parser;
use pdpp::cmd::{self, Cli};
use pdpp::error::{Error, Kind};
use pdpp::ui::Ui;

fn main() -> ExitCode {
    pdpp::cache::secret::keep_out_of_core_dumps();
    let ui = Ui::from_process();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error, &ui),
    };
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

/// What clap has to say: help and versions as it says them, a wrong command line with a code, or as JSON
/// where that was asked for.
fn usage(error: &clap::Error, ui: &Ui) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let wants_json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
    if wants_json {
        let said = error.render().to_string();
        let message = said.trim().trim_start_matches("error: ");
        let (message, usage) = message.split_once("\n\nUsage: ").unwrap_or((message, "pdpp --help"));
        let hint = usage.lines().next().unwrap_or_default();
        ui.json(&Error::new(Kind::Usage, "usage_error", message.trim()).hint(hint).to_json());
    } else {
        let _ = error.print();
        ui.note("  code: usage_error");
    }
    ExitCode::from(Kind::Usage.exit_code())
}
