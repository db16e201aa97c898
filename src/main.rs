//! Parses the command line, runs the command and returns its exit code.

use std::process::ExitCode;

use clap::Parser as _;
use pdpp::cmd;
use pdpp::error::Error;
use pdpp::ui::{self, Ui};
use pdpp::{advice, runtime, shutdown};
use zeroizing_alloc::ZeroAlloc;

/// A server runs for days: memory that a burst of calls used is used again, and does not grow further. Freed
/// memory is overwritten first, because passphrases, codes and links pass through buffers of libraries that do
/// not know what they hold.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: ZeroAlloc<dlmalloc::GlobalDlmalloc> = ZeroAlloc(dlmalloc::GlobalDlmalloc);
#[cfg(not(target_os = "linux"))]
#[global_allocator]
static ALLOCATOR: ZeroAlloc<std::alloc::System> = ZeroAlloc(std::alloc::System);

fn main() -> ExitCode {
    pdpp::secret::keep_out_of_core_dumps();
    ui::keep_panics_short();
    let ui = Ui::from_process();
    let words = std::env::args_os().skip(1);
    let typed: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    // Another process passes this option; nobody typed it.
    let by_a_person = |word: &&String| *word != runtime::WHILE_STDIN_IS_OPEN;
    advice::set_typed(&typed.iter().filter(by_a_person).cloned().collect::<Vec<_>>());
    let ended = match cmd::Cli::try_parse() {
        Ok(cli) => cmd::run(cli, &ui),
        Err(error) => usage(error, &typed, &ui),
    };
    let code = match ended {
        Ok(code) => code,
        Err(error) => failed(&error, &ui),
    };
    shutdown::PROCESS.wait(shutdown::LONGEST);
    let Some(lost) = ui.lost_output() else { return ExitCode::from(code) };
    ui.error(&lost);
    ExitCode::from(if code == 0 { lost.kind().exit_code() } else { code })
}

/// Reports a failure: with `--json`, for every command, as one JSON object on stdout.
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

/// Handles what clap reports: prints help and versions unchanged, and reports a wrong command line with its
/// code and the command to type.
fn usage(error: clap::Error, typed: &[String], ui: &Ui) -> Result<u8, Error> {
    if !error.use_stderr() {
        ui.keep(error.print());
        return Ok(0);
    }
    if let Some(explained) = cmd::usage::gone(typed).or_else(|| cmd::usage::nothing_to_connect(&error, typed))
    {
        return Err(explained);
    }
    let error = cmd::usage::with_meaning(error, typed);
    let explained = cmd::usage::explain(&error, typed);
    if wants_json() {
        return Err(explained);
    }
    let _ = error.print();
    ui.note(&format!("  next: {}\n  code: {}", explained.next_step().unwrap_or_default(), explained.code()));
    Ok(explained.kind().exit_code())
}
