//! Checks whether the MCP hosts of this computer start this program, and whether it could then read.

use std::path::Path;

use super::Check;
use crate::advice::{Command, Hint};
use crate::setup::entry::Entry;
use crate::setup::paths::Machine;
use crate::setup::proof::{self, NoToken};
use crate::setup::survey::{Configured, Surveyed, survey};
use crate::setup::{NAME as ENTRY, Start, launcher};
use crate::text;

/// Checks which MCP hosts start this program, from a survey of their configurations, and whether a program that
/// they start could read a token that is `in_reach` here.
pub async fn check_all(in_reach: bool) -> Vec<Check> {
    match Machine::from_process() {
        Ok(machine) => {
            let own = std::env::current_exe().unwrap_or_default();
            check_hosts(&machine, &own, in_reach).await
        }
        Err(error) => vec![Check::failed("host", &error)],
    }
}

/// No host: the advice names one, because without a name setup has nothing to do.
fn none() -> Check {
    let next = Hint::new("Install a host such as Claude Code. To set one up that was not found: ")
        .run(Command::new("mcp setup claude"));
    Check::warn("host", "no MCP host was found on this computer", next)
}

/// Does the same on `machine`, for the program whose file is `own`. Anyone can write a command into an entry, so it
/// is started only if it is that file.
async fn check_hosts(machine: &Machine, own: &Path, in_reach: bool) -> Vec<Check> {
    let found = survey(machine, ENTRY).into_iter().filter(|host| host.installed).collect::<Vec<_>>();
    if found.is_empty() {
        return vec![none()];
    }
    let (mut checks, mut ours) = (Vec::new(), Vec::new());
    for found in &found {
        let Configured::Ours(entry) = &found.configured else {
            checks.push(check(found));
            continue;
        };
        let this = launcher::resolve(machine, &entry.program, own);
        if this.is_some() || !found.problems.is_empty() {
            checks.push(check(found));
        }
        match this {
            Some(program) => ours.push((found.host.title, Entry { program, ..entry.clone() })),
            None => checks.push(another(found, entry)),
        }
    }
    for (title, entry) in ours.iter().filter(|_| in_reach) {
        if let Some(NoToken { code, message, next }) = proof::unreadable(entry, &Start::default()).await {
            let message = format!(
                "{title}'s entry cannot read its token when it starts with few environment variables: {message}"
            );
            checks.push(Check {
                code: Some(code),
                ..Check::warn("host", message, next.unwrap_or_else(|| Command::new("status").into()))
            });
        }
    }
    checks
}

/// Reports an entry that starts another program. That installation may be just as good; this check cannot tell.
fn another(found: &Surveyed, entry: &Entry) -> Check {
    let message = format!(
        "{} starts another program: {}. That may be intended; it was not tried",
        found.host.title,
        text::one_line(text::prefix(&entry.program, 500))
    );
    Check::warn("host", message, Command::new("mcp setup").value(found.host.id))
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
            format!("{title}: could not read {}", found.file.display()),
            "Give yourself permission to read that file",
        ),
        (Configured::Ours(_), None) if let Some(program) = found.missing => Check::warn(
            "host",
            format!("{title} has an entry for this program, but `{program}` is not on your PATH"),
            format!("Install {title}, or remove the entry"),
        ),
        (Configured::Ours(_), None) => Check::ok("host", format!("{title} starts this program")),
        (Configured::No, None) => {
            Check::warn("host", format!("{title} is installed but does not start this program"), setup)
        }
        (Configured::Other, None) => Check::warn(
            "host",
            format!("{title} has an entry `{ENTRY}` that starts something else"),
            setup.option("--name", format!("{ENTRY}-2")),
        ),
    }
}

#[cfg(test)]
#[cfg(unix)]
#[allow(clippy::disallowed_methods, reason = "a test's own files")]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;
    use crate::checks::Level;
    use crate::setup::paths::tests::machine;
    use crate::setup::paths::{self, Platform};

    /// A program that leaves a mark next to itself when it is started.
    fn program(path: &Path) -> PathBuf {
        paths::tests::program(path, "#!/bin/sh\n/bin/echo started > \"$0.started\"\n")
    }

    fn is_started(path: &Path) -> bool {
        path.with_file_name("pdpp.started").exists()
    }

    #[test]
    fn without_a_host_the_advice_names_one() {
        let next = none().next.unwrap().to_string();
        assert!(next.ends_with("pdpp mcp setup claude"), "{next}");
        assert!(crate::setup::clients::HOSTS.iter().any(|host| host.id == "claude"));
    }

    #[tokio::test]
    async fn only_this_program_is_started_and_vouched_for() {
        let dir = tempfile::tempdir().unwrap();
        let root = dunce::canonicalize(dir.path()).unwrap();
        let (own, other) = (program(&root.join("bin/pdpp")), program(&root.join("other/pdpp")));
        std::fs::create_dir_all(root.join("links")).unwrap();
        let link = root.join("links/pdpp");
        symlink(&own, &link).unwrap();
        std::fs::create_dir_all(root.join(".cursor")).unwrap();
        let mut machine = machine(Platform::Linux, &root);
        let with = |command: &str| {
            let entry =
                serde_json::json!({"mcpServers": {"pdpp": {"command": command, "args": ["mcp", "serve"]}}});
            std::fs::write(root.join(".cursor/mcp.json"), entry.to_string()).unwrap();
        };

        with(&other.display().to_string());
        let found = check_hosts(&machine, &own, true).await;
        assert!(!is_started(&other), "{found:?}");
        assert_eq!((found.len(), found[0].level), (1, Level::Warn), "{found:?}");
        assert!(
            found[0].message.starts_with(&format!("Cursor starts another program: {}", other.display())),
            "{found:?}"
        );
        assert_eq!(found[0].next.as_ref().unwrap().to_string(), "pdpp mcp setup cursor");

        // Named without a path, it is the first one on PATH. The check also warns that the entry depends on PATH.
        with("pdpp");
        machine.path = vec![root.join("other"), root.join("bin")];
        let found = check_hosts(&machine, &own, true).await;
        assert!(!is_started(&other) && !is_started(&own), "{found:?}");
        assert!(
            found.iter().any(|check| check.message.contains("starts another program: pdpp")),
            "{found:?}"
        );

        machine.path.clear();
        for command in [&own, &link] {
            with(&command.display().to_string());
            let found = check_hosts(&machine, &own, true).await;
            assert_eq!(found, [Check::ok("host", "Cursor starts this program")]);
            assert!(is_started(command), "{}", command.display());
        }
    }
}
