//! Controls systemd with its own program.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::programs;
use crate::error::{Error, Kind, Result};
use crate::text;

/// The longest that a service may take to start.
const PATIENCE: Duration = Duration::from_secs(30);
/// Lines of the service's log that are shown: why it ended, what to do and the code, each on one line.
const LINES: &str = "4";

/// Whether systemd runs this system, checked like `sd_booted`.
pub fn is_here() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

/// Makes systemd read its units again.
///
/// # Errors
/// `install_step_failed`.
pub fn reload() -> Result<()> {
    programs::run("systemctl", &["daemon-reload"]).map(drop)
}

/// Makes the service `unit` start with the system.
///
/// # Errors
/// `install_step_failed`.
pub fn enable(unit: &str) -> Result<()> {
    programs::run("systemctl", &["--quiet", "enable", unit]).map(drop)
}

/// Restarts the service `unit`.
///
/// # Errors
/// `install_step_failed`.
pub fn restart(unit: &str) -> Result<()> {
    programs::run("systemctl", &["restart", unit]).map(drop)
}

/// Starts the service `unit`.
///
/// # Errors
/// `install_step_failed`.
pub fn start(unit: &str) -> Result<()> {
    programs::run("systemctl", &["start", unit]).map(drop)
}

/// Stops the service `unit`.
///
/// # Errors
/// `install_step_failed`.
pub fn stop(unit: &str) -> Result<()> {
    programs::run("systemctl", &["stop", unit]).map(drop)
}

/// Stops the service `unit`, and no longer starts it with the system.
///
/// # Errors
/// `install_step_failed`.
pub fn disable(unit: &str) -> Result<()> {
    programs::run("systemctl", &["--quiet", "disable", "--now", unit]).map(drop)
}

/// Whether the service `unit` runs.
pub fn runs(unit: &str) -> bool {
    is_here()
        && programs::output("systemctl", &["--quiet", "is-active", unit])
            .is_ok_and(|ran| ran.status.success())
}

/// Waits until the service `unit` accepts connections at `socket`.
///
/// # Errors
/// `install_start_failed`, with the last lines of its log; `interrupted`.
pub fn wait_for(unit: &str, socket: &Path, stop: &AtomicBool) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    while UnixStream::connect(socket).is_err() {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::new(Kind::Interrupted, "interrupted", "Stopped"));
        }
        let failed = programs::output("systemctl", &["--quiet", "is-failed", unit]);
        if Instant::now() > end || failed.is_ok_and(|ran| ran.status.success()) {
            // The service's own messages, and not those of systemd about it.
            let journal =
                ["--no-pager", "--output=cat", "--lines", LINES, "--identifier=pdpp", "--unit", unit];
            let said = programs::run("journalctl", &journal);
            let said = said.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
            return Err(Error::failed("install_start_failed", format!("The service {unit} did not start"))
                .because(text::one_line(text::prefix(&said, 800)).into_owned())
                .hint(format!("journalctl --unit {unit}")));
        }
        sleep(Duration::from_millis(100));
    }
    Ok(())
}
