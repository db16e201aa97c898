//! `pdpp mcp setup`: one correct entry per host, proven by the host itself.
//!
//! [`clients`] has where each host's file is and what the host reads, [`entry`] the recommended entry. [`Job`]
//! plans the change and makes it, [`edit`] keeps every other byte, [`proof`] starts the recorded command, and
//! [`mod@survey`] only looks. Nothing here asks a provider or reads the cache; what a host needs to find them
//! is written into the entry's arguments.

pub mod clients;
mod document;
pub mod edit;
pub mod entry;
mod job;
mod kept;
pub mod launcher;
mod masked;
pub mod paths;
pub mod policy;
pub mod proof;
mod report;
pub mod survey;

use crate::advice::Command;
use crate::error::{Error, Result};
use crate::text::shell_word;
use paths::Machine;
use proof::Proof;

pub use job::{Action, Done, Job, Plan, Scope};
pub use kept::Start;
pub use report::Report;
pub use survey::{Configured, Problem, Surveyed, survey};

/// The name of an entry, unless `--name` gives another.
pub const NAME: &str = "pdpp";

/// Whether `name` works as an entry's name in every host: 1 to 40 letters, digits, `-` and `_`, not beginning
/// with `-`.
pub fn is_name(name: &str) -> bool {
    // Cursor allows 60 characters for server and tool together, and the longest tool has 17. A name that begins
    // with `-` would be taken for an option.
    (1..=40).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}

/// How to do it, apart from the job itself.
#[derive(Debug, Clone, Copy)]
pub struct How {
    /// Change nothing.
    pub dry_run: bool,
    /// Undo a change that cannot be proven.
    pub strict: bool,
}

/// Does one job, from its plan to its proof.
///
/// # Errors
/// Same as [`Job::apply`]. A failed proof is not an error here: see [`Report::is_unproven`].
pub async fn set_up(job: &Job<'_>, machine: &Machine, how: How) -> Result<Report> {
    let mut warnings = Vec::new();
    if job.scope == Scope::User {
        for other in (job.host.other_files)(machine) {
            warnings.push(format!(
                "an older version or another installation of {} may read {} instead, which pdpp did not change",
                job.host.title,
                other.display()
            ));
        }
    }
    if job.entry.is_some() {
        let shadows = survey::shadows(machine, job.host, job.name, job.scope);
        warnings.extend(shadows.iter().map(ToString::to_string));
        if job.scope == Scope::Project {
            warnings.push(
                "the entry has a path on this computer: do not commit it to a shared repository".to_owned(),
            );
        }
    }
    if job.entry.is_some() {
        warnings.extend(survey::absence(machine, job.host));
    }
    let untrusted = survey::untrusted(machine, job.host, job.scope).filter(|_| job.entry.is_some());
    let is_untrusted = untrusted.is_some();
    warnings.extend(untrusted.map(|problem| problem.to_string()));
    let done = if how.dry_run {
        Done { plan: job.plan(machine)?, backup: None, by: None, notes: Vec::new() }
    } else {
        job.apply(machine).await?
    };
    if let Some((dir, _)) = done.plan.file.parent().and_then(crate::fs::replaceable_by_others) {
        let dir = shell_word(&dir.display().to_string()).into_owned();
        warnings.push(format!(
            "others can write to {dir}, and so change what {} starts: chmod go-w {dir}",
            job.host.title
        ));
    }
    let changed = matches!(done.plan.action, Action::Added | Action::Updated | Action::Removed);
    if job.entry.is_none() {
        let others = survey::elsewhere(machine, job.host, job.name, job.scope).into_iter();
        warnings.extend(others.map(|file| format!("{} still has an entry `{}`", file.display(), job.name)));
    }
    if done.plan.entry.as_ref().is_some_and(|entry| entry.words() != entry.shown()) {
        warnings.push(format!(
            "a URL in the entry has a password, which anyone can read who can read the file. To set another: {}",
            Command::new("--proxy URL mcp setup").value(job.host.id)
        ));
    }
    if changed {
        for process in proof::running(job.host.overwritten_by, machine.platform).await {
            warnings.push(format!(
                "{} is running ({process}), and may overwrite this change when it ends: quit it, and run this again",
                job.host.title
            ));
        }
    }
    let mut report = Report {
        host: job.host,
        name: job.name.to_owned(),
        scope: job.scope,
        done,
        dry_run: how.dry_run,
        proof: None,
        check: None,
        rolled_back: false,
        warnings,
    };
    let Some(entry) = report.done.plan.entry.clone().filter(|_| !how.dry_run) else { return Ok(report) };
    let mut proof = proof::prove(&entry, &report.done.plan.start).await;
    if changed && !job.is_in_place(machine) {
        proof = Proof::Overwritten(
            Error::failed(
                "config_busy",
                format!(
                    "another program has overwritten {}, and the new entry is gone",
                    report.done.plan.file.display()
                ),
            )
            .hint(format!("Close {}, then run this again", job.host.title)),
        );
    }
    let connected = matches!(proof, Proof::Serves { .. } | Proof::NoToken(_));
    match proof {
        Proof::Failed(_) if how.strict && changed => {
            job.roll_back(machine, &report.done).await?;
            report.rolled_back = true;
        }
        Proof::Failed(_) | Proof::Overwritten(_) => {}
        // The host would not read the file.
        _ if is_untrusted => {}
        _ => report.check = proof::check(job.host, job.name, machine, connected).await,
    }
    report.proof = Some(proof);
    Ok(report)
}

#[cfg(test)]
mod tests;
