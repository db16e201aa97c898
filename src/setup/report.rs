//! The report on one host that was set up.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::clients::Host;
use super::entry::Entry;
use super::job::{Action, Done, Scope};
use super::kept::Start;
use super::proof::{Checked, NoToken, Proof};
use crate::advice::Command;
use crate::error::Error;
use crate::text;

/// Everything about one host that was set up, for a person and for `--json`.
#[derive(Debug)]
pub struct Report {
    /// The host.
    pub host: &'static Host,
    /// The entry's name.
    pub name: String,
    /// Whose config.
    pub scope: Scope,
    /// What was done, or would be done.
    pub done: Done,
    /// Whether it was only planned.
    pub dry_run: bool,
    /// Whether the recorded command starts.
    pub proof: Option<Proof>,
    /// What the host's own program reports.
    pub check: Option<Checked>,
    /// Whether the change was undone because it could not be proven.
    pub rolled_back: bool,
    /// What may go wrong later.
    pub warnings: Vec<String>,
}

impl Report {
    /// The failure if the new entry cannot be started, and what became of the change.
    pub fn failure(&self) -> Option<Error> {
        let cause = match self.proof.as_ref()? {
            Proof::Failed(cause) => cause,
            Proof::Overwritten(error) => return Some(error.repeated()),
            _ => return None,
        };
        let kept = if self.rolled_back { "the change was undone" } else { "the entry is still in the file" };
        let error = Error::failed(
            "setup_not_proven",
            format!("{} would get no answer from the command in its config; {kept}", self.host.title),
        )
        .because(cause.to_string());
        Some(match (cause.next(), &self.done.plan.entry) {
            (Some(next), _) => error.hint(next.clone()),
            (None, Some(entry)) => error.hint(format!("Run it yourself to see why: {}", entry.display())),
            (None, None) => error,
        })
    }

    /// Whether the new entry cannot be started.
    pub const fn is_unproven(&self) -> bool {
        matches!(self.proof, Some(Proof::Failed(_) | Proof::Overwritten(_)))
    }

    /// The result for `--json`.
    pub fn to_json(&self) -> Value {
        json!({
            "host": self.host.id,
            "title": self.host.title,
            "name": self.name,
            "scope": match self.scope { Scope::User => "user", Scope::Project => "project" },
            "file": self.done.plan.file,
            "action": self.done.plan.action.word(),
            "dry_run": self.dry_run,
            "diff": self.done.plan.diff,
            "backup": self.done.backup,
            "by": self.done.by,
            "command": self.done.plan.entry.as_ref().map(Entry::shown),
            "proof": self.proof.as_ref().map(Proof::to_json),
            "check": self.check.as_ref().map(|check| json!({
                "command": check.command, "is_well": check.is_well, "message": check.message,
            })),
            "rolled_back": self.rolled_back,
            "warnings": self.warnings,
            "notes": self.done.plan.notes.iter().chain(&self.done.notes).collect::<Vec<_>>(),
            "afterwards": self.afterwards(),
        })
    }

    /// What to do now; `None` if there is nothing to do.
    fn afterwards(&self) -> Option<Cow<'static, str>> {
        if self.dry_run || self.rolled_back || matches!(self.proof, Some(Proof::Overwritten(_))) {
            return None;
        }
        match self.done.plan.action {
            Action::Added | Action::Updated => Some(self.host.afterwards.into()),
            Action::Removed => {
                Some(format!("{} may keep the server running until you restart it", self.host.title).into())
            }
            Action::Unchanged | Action::Absent => None,
        }
    }

    /// The report for a person.
    pub fn to_text(&self) -> String {
        let plan = &self.done.plan;
        let (name, file) = (&self.name, plan.file.display());
        let mut message = match (plan.action, self.dry_run) {
            (Action::Added, false) => format!("{}: added `{name}` to {file}", self.host.title),
            (Action::Updated, false) => format!("{}: updated `{name}` in {file}", self.host.title),
            // Setup had made the file for the entry alone.
            (Action::Removed, false) if plan.new.is_none() => {
                format!("{}: removed `{name}`, and deleted {file}, which held nothing else", self.host.title)
            }
            (Action::Removed, false) => format!("{}: removed `{name}` from {file}", self.host.title),
            (Action::Removed, true) if plan.new.is_none() => {
                format!(
                    "{}: `{name}` would be removed, and {file} deleted, which holds nothing else",
                    self.host.title
                )
            }
            (Action::Unchanged, _) => {
                format!("{}: unchanged, `{name}` is already in {file}", self.host.title)
            }
            (Action::Absent, _) => format!("{}: nothing to remove, {file} has no `{name}`", self.host.title),
            (action, true) => format!("{}: `{name}` would be {} ({file})", self.host.title, action.word()),
        };
        let mut line = |label: &str, text: &str| {
            let _ = write!(message, "\n  {label}: {text}");
        };
        if let Some(entry) = &plan.entry {
            line("starts", &entry.display());
        }
        if let Some(by) = &self.done.by {
            line("by", by);
        }
        if let Some(backup) = &self.done.backup {
            line("backup", &backup.display().to_string());
        }
        match &self.proof {
            Some(Proof::Serves { tools, took }) => line(
                "proof",
                &format!(
                    "it starts {}, and lists {tools} tools in {:.2} s",
                    surroundings(&plan.start),
                    took.as_secs_f64()
                ),
            ),
            Some(Proof::NotConnected { code, message, next }) => {
                let why = if code == "not_connected" { "nothing is connected yet" } else { message };
                line("proof", &format!("it starts, but has nothing to serve: {}", text::one_line(why)));
                line("next", &next.clone().unwrap_or_else(|| Command::connect_any().to_string()));
            }
            Some(Proof::NoToken(NoToken { code, message, next })) => {
                let why = text::one_line(message);
                let message = format!(
                    "it starts {}, but cannot read its token that way: {why} (code: {code})",
                    surroundings(&plan.start)
                );
                line("proof", &message);
                if let Some(next) = next {
                    line("next", &next.to_string());
                }
            }
            Some(Proof::Failed(error) | Proof::Overwritten(error)) => {
                line("proof", &format!("FAILED: {error}"));
            }
            None => {}
        }
        if let Some(check) = &self.check {
            let message = if check.is_well {
                format!("{} reports that it works", check.command)
            } else {
                format!("{} does not report that it works: {}", check.command, check.message)
            };
            line("asked", &message);
        }
        for note in plan.notes.iter().chain(&self.done.notes).chain(&self.warnings) {
            line("note", note);
        }
        if self.rolled_back {
            line("rolled back", "the file is unchanged");
        }
        if let Some(afterwards) = self.afterwards() {
            line("then", &afterwards);
        }
        if self.would_change().is_some_and(|diff| diff.contains('…')) {
            message.push_str("\n  note: values outside this entry are shown as …");
        }
        message
    }

    /// The change to the file that a dry run would make.
    pub fn would_change(&self) -> Option<&str> {
        let diff = self.done.plan.diff.trim_end();
        Some(diff).filter(|diff| self.dry_run && !diff.is_empty())
    }
}

/// How the command was started, in words.
fn surroundings(start: &Start) -> String {
    let names: Vec<_> = start.variables.iter().map(|(name, _)| text::one_line(name)).collect();
    let own =
        if names.is_empty() { String::new() } else { format!(", the entry's own ({})", names.join(", ")) };
    let unknown: Vec<_> = start.unknown.iter().map(|name| text::one_line(name)).collect();
    let without =
        if unknown.is_empty() { String::new() } else { format!(", without {}", unknown.join(", ")) };
    let place = start.directory.as_deref().map_or_else(|| "/".into(), |path| path.display().to_string());
    format!("with few variables{own}{without} and in {}", text::one_line(&place))
}
