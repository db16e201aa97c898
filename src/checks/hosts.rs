//! Whether the MCP hosts of this machine start this program, and could read with it.

use super::Check;
use crate::advice::Command;
use crate::setup::paths::Machine;
use crate::setup::proof::{self, NoToken};
use crate::setup::survey::{Configured, Surveyed, survey};
use crate::setup::{NAME as ENTRY, Start};

/// Which MCP hosts start this program: findings of the survey of their configurations; and whether one could read a
/// token that is `in_reach` here.
pub async fn check_all(in_reach: bool) -> Vec<Check> {
    let found = match Machine::from_process() {
        Ok(machine) => survey(&machine, ENTRY),
        Err(error) => return vec![Check::failed("host", &error)],
    };
    let found = found.into_iter().filter(|host| host.installed).collect::<Vec<_>>();
    if found.is_empty() {
        return vec![Check::warn("host", "no MCP host was found on this machine", Command::new("mcp setup"))];
    }
    let mut checks: Vec<_> = found.iter().map(check).collect();
    let ours = found.iter().filter(|_| in_reach).filter_map(|found| match &found.configured {
        Configured::Ours(entry) => Some((found.host.title, entry)),
        _ => None,
    });
    for (title, entry) in ours {
        if let Some(NoToken { code, message, next }) = proof::unreadable(entry, &Start::default()).await {
            let message = format!(
                "{title}'s entry cannot read its token when it is started with few variables: {message}"
            );
            checks.push(Check {
                code: Some(code),
                ..Check::warn("host", message, next.unwrap_or_else(|| Command::new("status").into()))
            });
        }
    }
    checks
}

fn check(found: &Surveyed) -> Check {
    let title = found.host.title;
    let setup = Command::new("mcp setup").value(found.host.id);
    match (&found.configured, found.problems.first()) {
        (Configured::Damaged(_), Some(problem)) => Check {
            code: Some("config_damaged".to_owned()),
            ..Check::warn(
                "host",
                format!("{title}'s configuration is damaged: {}", problem.what),
                problem.next.clone(),
            )
        },
        (_, Some(problem)) => Check::warn("host", format!("{title}: {}", problem.what), problem.next.clone()),
        (Configured::Damaged(_) | Configured::Unknown, None) => Check::warn(
            "host",
            format!("{title}: {} cannot be read", found.file.display()),
            "Give yourself the right to read it",
        ),
        (Configured::Ours(_), None) if let Some(program) = found.missing => Check::warn(
            "host",
            format!("{title} has an entry for this program, and `{program}` is not on your PATH"),
            format!("Install {title}, or take the entry out"),
        ),
        (Configured::Ours(_), None) => Check::ok("host", format!("{title} starts this program")),
        (Configured::No, None) => {
            Check::warn("host", format!("{title} is here and does not know this program"), setup)
        }
        (Configured::Other, None) => Check::warn(
            "host",
            format!("{title} has an entry `{ENTRY}` that starts something else"),
            setup.option("--name", format!("{ENTRY}-2")),
        ),
    }
}
