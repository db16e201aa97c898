//! `pdpp mcp setup`: one right entry per host, proven by the host itself.
//!
//! [`clients`] says where each host's file is and what it reads, [`entry`] what is recommended, [`Job`] works
//! out what is to be done and does it, [`edit`] keeps every other byte, [`proof`] starts what was recorded,
//! [`mod@survey`] only looks. It asks no provider and reads no cache; what a host needs to find them is baked
//! into the entry's arguments.

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

/// What an entry is called, unless `--name` says otherwise.
pub const NAME: &str = "pdpp";

/// Whether `name` can be an entry's name everywhere: 1 to 40 letters, digits, `-` and `_`, not beginning with `-`.
pub fn is_name(name: &str) -> bool {
    // Cursor takes 60 characters of server and tool together, and the longest tool has 17.
    // One that begins with `-` is an option to whatever it is given to.
    (1..=40).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}

/// What is to be done, beside the job itself.
#[derive(Debug, Clone, Copy)]
pub struct How {
    /// Change nothing.
    pub dry_run: bool,
    /// Take a change back that cannot be proven.
    pub strict: bool,
}

/// Does one job from its plan to its proof.
///
/// # Errors
/// As [`Job::apply`]. A failed proof is no error here: see [`Report::is_unproven`].
pub async fn set_up(job: &Job<'_>, machine: &Machine, how: How) -> Result<Report> {
    let mut warnings = Vec::new();
    if job.scope == Scope::User {
        for other in (job.host.other_files)(machine) {
            warnings.push(format!(
                "an older version or another installation of {} would read {}, which was not touched",
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
                "the entry names a path on this machine: keep it out of what others check out".to_owned(),
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
            "others can write in {dir}, and so change what {} starts: chmod go-w {dir}",
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
            "a URL in the entry has a password, which whoever reads the file has: {}",
            Command::new("--proxy URL mcp setup").value(job.host.id)
        ));
    }
    if changed {
        for process in proof::running(job.host.overwritten_by, machine.platform).await {
            warnings.push(format!(
                "{} runs ({process}), and may write its config back over this when it ends: quit it, and run this again",
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
                    "{} was written over meanwhile, and does not have the entry that was put in",
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
        // It would not look into the file.
        _ if is_untrusted => {}
        _ => report.check = proof::check(job.host, job.name, machine, connected).await,
    }
    report.proof = Some(proof);
    Ok(report)
}

#[cfg(test)]
mod tests;
