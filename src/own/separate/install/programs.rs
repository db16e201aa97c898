//! Runs the system's programs, and this program as another user.
//!
//! A program is looked for in the system's own folders, whatever `PATH` says, and gets no variables of
//! the user who started this one.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::person::Account;
use crate::error::{Error, Result};
use crate::own::separate::place;
use crate::text;

/// The system's folders of programs.
const DIRS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// The most characters of a program's message that are shown.
const MOST_SAID: usize = 400;

/// The file of the program `name`, if the system has it.
pub fn find(name: &str) -> Option<PathBuf> {
    DIRS.iter().map(|dir| Path::new(dir).join(name)).find(|path| path.is_file())
}

fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", DIRS.join(":")).env("LANG", "C.UTF-8").current_dir("/");
    command
}

/// Runs the program `name`, and returns its output.
///
/// # Errors
/// `install_program_missing`; `install_step_failed` if it does not start.
pub fn output(name: &str, arguments: &[&str]) -> Result<Output> {
    let Some(path) = find(name) else {
        return Err(Error::failed("install_program_missing", format!("This system has no program `{name}`"))
            .hint(format!("Install the package that has `{name}` (in Debian passwd, libc-bin or coreutils), or see docs/set-ups.md for a container")));
    };
    let ran = command(&path).args(arguments).stdin(Stdio::null()).output();
    ran.map_err(|error| failed(&format!("{} did not start", path.display())).because(error))
}

/// Runs a program that must succeed, and returns what it printed.
///
/// # Errors
/// The errors of [`output`]; `install_step_failed` if it fails.
pub fn run(name: &str, arguments: &[&str]) -> Result<String> {
    let ran = output(name, arguments)?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    Err(failed(&format!("`{name} {}` failed", arguments.join(" "))).because(said(&ran)))
}

/// Runs the services' program as `user`, with `input` on its standard input and nothing else of this
/// process.
///
/// # Errors
/// `install_step_failed`, with the program's message, if it does not start or fails.
pub fn as_user(user: &Account, arguments: &[&str], input: &[u8]) -> Result<String> {
    let mut command = command(Path::new(place::PROGRAM));
    // With the user's id, all groups of this process are dropped (std::os::unix::process). It gets its
    // own process group, because Ctrl-C at the terminal is for this process.
    command.args(arguments).uid(user.uid).gid(user.gid).process_group(0);
    let ran = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().and_then(
        |mut child| {
            if let Some(mut stdin) = child.stdin.take() {
                stdin.write_all(input)?;
            }
            child.wait_with_output()
        },
    );
    let ran = ran.map_err(|error| {
        failed(&format!("{} did not start as {}", place::PROGRAM, user.name)).because(error)
    })?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    Err(failed(&format!("`pdpp {}` failed as {}", arguments.join(" "), user.name)).because(said(&ran)))
}

/// Runs the services' program as `user` at this process's terminal, and returns its exit code.
///
/// # Errors
/// `install_step_failed` if it does not start.
pub fn at_the_terminal(user: &Account, arguments: &[&str]) -> Result<u8> {
    let mut command = command(Path::new(place::PROGRAM));
    if let Some(term) = std::env::var_os("TERM") {
        command.env("TERM", term);
    }
    command.args(arguments).uid(user.uid).gid(user.gid);
    let ended = command.status();
    let ended = ended.map_err(|error| {
        failed(&format!("{} did not start as {}", place::PROGRAM, user.name)).because(error)
    })?;
    Ok(ended.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

pub fn failed(message: &str) -> Error {
    Error::failed("install_step_failed", message).hint("Fix what it reports, then run the same command again")
}

/// A program's message, shortened.
fn said(ran: &Output) -> String {
    let said = String::from_utf8_lossy(&ran.stderr);
    let said = if said.trim().is_empty() { String::from_utf8_lossy(&ran.stdout) } else { said };
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.as_str() {
        "" => format!("it exited with {}", ran.status),
        words => text::one_line(text::prefix(words, MOST_SAID)).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_the_systems_own_and_get_no_variables() {
        assert!(find("env").is_some_and(|path| DIRS.iter().any(|dir| path.starts_with(dir))));
        assert_eq!(output("no-such-program-of-pdpp", &[]).unwrap_err().code(), "install_program_missing");
        let variables = run("env", &[]).unwrap();
        let mut names: Vec<&str> =
            variables.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        names.sort_unstable();
        assert_eq!(names, ["LANG", "PATH"]);
        let refused = run("ls", &["/no/such\nfolder"]).unwrap_err();
        assert_eq!(refused.code(), "install_step_failed");
        assert!(
            refused.in_full().contains("No such file") && !refused.in_full().contains("LANG"),
            "{refused:?}"
        );
    }
}
