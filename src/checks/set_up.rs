//! Checks which set-up of own data this computer has, and whether it protects the data from the connected agents.

use super::Check;
use crate::advice::{Command, Hint};
use crate::cache::Cache;
use crate::own::separate::place::person_of;
use crate::own::separate::which::{SetUp, systemctl};
use crate::setup::NAME as ENTRY;
use crate::setup::paths::Machine;
use crate::setup::survey::{Configured, Surveyed, survey};

/// The command that makes the separate set-up. It needs root.
const INSTALL: &str = "sudo pdpp provider install";

/// The set-up of the user who runs this, and those of their hosts that have a shell and start this program.
#[derive(Debug)]
pub struct Found {
    /// The set-up.
    pub set_up: SetUp,
    /// The hosts' names.
    pub shells: Vec<&'static str>,
}

impl Found {
    /// The findings for this computer. Reads the hosts' configurations and changes nothing.
    pub fn here(cache: &Cache) -> Self {
        let hosts = Machine::from_process().map(|machine| survey(&machine, ENTRY)).unwrap_or_default();
        Self { set_up: SetUp::here(cache), shells: shells(&hosts) }
    }

    /// The warning, if an agent could read around its grant: one line, and the command that fixes it.
    pub fn advice(&self) -> Option<(String, &'static str)> {
        let hosts = match self.shells.as_slice() {
            [] => return None,
            [host] => format!("{host} has a shell, so its agent can"),
            hosts => format!("{} have a shell, so their agents can", listed(hosts)),
        };
        matches!(self.set_up, SetUp::Simple(_))
            .then(|| (format!("{hosts} read the store itself. The separate set-up prevents that"), INSTALL))
    }

    /// The set-up, in a sentence.
    pub fn in_words(&self) -> String {
        match &self.set_up {
            SetUp::None => "there is no store of your own data here".to_owned(),
            SetUp::Simple(dir) => format!("simple; the store in {} is yours", dir.display()),
            SetUp::Separate { dir, runs: true, .. } => {
                format!(
                    "separate; the store in {} belongs to a system user, and its service is running",
                    dir.display()
                )
            }
            SetUp::Separate { dir, .. } => {
                format!(
                    "separate; the store in {} belongs to a system user, but its service is not running",
                    dir.display()
                )
            }
        }
    }

    /// The set-up as a finding of `pdpp doctor`.
    pub fn check(&self) -> Check {
        const NAME: &str = "set-up";
        let words = self.in_words();
        match &self.set_up {
            SetUp::Separate { runs: false, dir, .. } => {
                let next = person_of(dir).map_or_else(String::new, |uid| systemctl("start", uid));
                Check::stop(NAME, words, next)
            }
            SetUp::Separate { beside: Some(beside), .. } => Check::warn(
                NAME,
                format!(
                    "{words}; any program that runs as you can still read the older store in {}",
                    beside.display()
                ),
                Hint::new("Import its exports again, then delete its accounts: ").run(
                    Command::new("provider forget <account>")
                        .option("--data-dir", beside.display().to_string()),
                ),
            ),
            _ => match self.advice() {
                Some((advice, next)) => Check::warn(NAME, format!("{words}. {advice}"), next),
                None => Check::ok(NAME, words),
            },
        }
    }
}

fn shells(hosts: &[Surveyed]) -> Vec<&'static str> {
    let connected = hosts.iter().filter(|host| matches!(host.configured, Configured::Ours(_)));
    connected.filter(|found| found.host.has_shell).map(|found| found.host.title).collect()
}

/// `A, B and C`.
fn listed(names: &[&str]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        names => names.join(""),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::checks::Level;
    use crate::setup::clients::HOSTS;
    use crate::setup::paths::Platform;
    use crate::setup::paths::tests::machine;

    fn found(set_up: SetUp, shells: &[&'static str]) -> Found {
        Found { set_up, shells: shells.to_vec() }
    }

    fn separate(runs: bool, beside: Option<&str>) -> SetUp {
        SetUp::Separate { dir: "/var/lib/pdpp/1000".into(), runs, beside: beside.map(PathBuf::from) }
    }

    #[test]
    fn o9_6_the_separate_set_up_is_recommended_where_an_agent_has_a_shell() {
        let simple = || SetUp::Simple("/home/ana/own".into());
        let check = found(simple(), &["Claude Code"]).check();
        assert_eq!(check.level, Level::Warn);
        assert_eq!(
            check.message,
            "simple; the store in /home/ana/own is yours. Claude Code has a shell, so its agent can read the store \
             itself. The separate set-up prevents that"
        );
        assert_eq!(check.next.unwrap().to_string(), "sudo pdpp provider install");
        let several = found(simple(), &["Claude Code", "Codex", "Zed"]).check();
        assert!(several.message.contains("Claude Code, Codex and Zed have a shell"), "{}", several.message);
        for quiet in
            [found(simple(), &[]), found(SetUp::None, &["Codex"]), found(separate(true, None), &["Codex"])]
        {
            assert_eq!((quiet.check().level, quiet.advice()), (Level::Ok, None));
        }
        let stopped = found(separate(false, None), &[]).check();
        assert!(stopped.level == Level::Stop && stopped.message.contains("is not running"));
        assert!(stopped.next.unwrap().to_string().starts_with("sudo systemctl start pdpp-provider-"));
        let older = found(separate(true, Some("/home/ana/own")), &[]).check();
        assert!(
            older.level == Level::Warn
                && older.message.contains("can still read the older store in /home/ana/own")
        );
    }

    #[test]
    fn o9_6_only_hosts_that_start_this_program_and_have_a_shell_count() {
        let mut hosts = survey(&machine(Platform::Linux, Path::new("/nowhere")), ENTRY);
        assert_eq!(shells(&hosts), Vec::<&str>::new());
        for host in &mut hosts {
            let entry =
                crate::setup::entry::Entry { program: "/usr/bin/pdpp".to_owned(), arguments: Vec::new() };
            host.configured = Configured::Ours(entry);
        }
        let without: Vec<&str> = HOSTS.iter().filter(|host| !host.has_shell).map(|host| host.title).collect();
        assert_eq!(without, ["Claude Desktop", "LM Studio"]);
        assert_eq!(shells(&hosts).len(), HOSTS.len() - without.len());
    }
}
