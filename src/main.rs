//! Parse, run, exit code.

use std::process::ExitCode;

use pdpp::cmd;
use pdpp::ending;
use pdpp::error::{Error, Kind};
use pdpp::ui::{self, Ui};

fn main() -> ExitCode {
    pdpp::cache::secret::keep_out_of_core_dumps();
    ui::keep_panics_short();
    let ui = Ui::from_process();
    let words: Vec<_> = std::env::args_os().collect();
    let ended = match cmd::start::read(&words) {
        Ok(cli) => cmd::run(cli, &ui),
        Err(error) => usage(&error, &ui),
    };
    let code = match ended {
        Ok(code) => code,
        Err(error) => failed(&error, &ui),
    };
    ending::PROCESS.wait(ending::LONGEST);
    if code != 0 || !ui.has_lost_output() {
        return ExitCode::from(code);
    }
    let lost = Error::failed("output_failed", "The result could not be written to standard output")
        .hint("Check that the disk it goes to has room, then run it again");
    ui.error(&lost);
    ExitCode::from(lost.kind().exit_code())
}

/// Says a failure: where `--json` was given, whatever the command, as one JSON object on stdout.
fn failed(error: &Error, ui: &Ui) -> u8 {
    if wants_json() {
        ui.json(&error.to_json());
    } else {
        ui.error(error);
    }
    error.kind().exit_code()
}

fn wants_json() -> bool {
    std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json")
}

/// What clap has to say: help and versions as it says them, a wrong command line with a code, or as a failure
/// where JSON was asked for.
fn usage(error: &clap::Error, ui: &Ui) -> Result<u8, Error> {
    if !error.use_stderr() {
        ui.keep(error.print());
        return Ok(0);
    }
    if wants_json() {
        let said = error.render().to_string();
        let message = said.trim().trim_start_matches("error: ");
        let (message, usage) = message.split_once("\n\nUsage: ").unwrap_or((message, "pdpp --help"));
        let hint = usage.lines().next().unwrap_or_default();
        return Err(Error::new(Kind::Usage, "usage_error", message.trim()).hint(hint));
    }
    let _ = error.print();
    ui.note("  code: usage_error");
    Ok(Kind::Usage.exit_code())
}
