//! The owner of a store, and the system's users.

use rustix::process::geteuid;

use super::programs;
use crate::error::{Error, Kind, Result};
use crate::fs::system::Reach;
use crate::text::{one_line, shell_word};

/// A line of the system's list of users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its user id.
    pub uid: u32,
    /// The id of its first group.
    pub gid: u32,
    /// Its comment in the list of users.
    pub comment: String,
    /// Its home directory.
    pub home: String,
}

/// The person whose data it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Their own user.
    pub account: Account,
    /// Their user id and groups, which decide what files they reach.
    pub reach: Reach,
    /// Groups of theirs that give as much power as root.
    pub mighty_groups: Vec<String>,
}

/// Groups whose members can make themselves root, or read any disk: through containers, devices or the
/// hashes of passwords.
const MIGHTY: [&str; 7] = ["docker", "lxd", "incus-admin", "podman", "disk", "shadow", "libvirt"];

/// Checks that root runs this process.
///
/// # Errors
/// `install_needs_root` (77), with the command to type.
pub fn check_root() -> Result<()> {
    if geteuid().is_root() {
        return Ok(());
    }
    let message = "This creates a system user and a service, so root must run it; nothing was changed";
    Err(Error::new(Kind::Refused, "install_needs_root", message).hint(with_sudo()))
}

/// The typed command, with `sudo` and the whole path: root looks for programs elsewhere.
fn with_sudo() -> String {
    let program =
        std::env::current_exe().map_or_else(|_| "pdpp".to_owned(), |path| path.display().to_string());
    let typed = crate::advice::Command::typed_again("provider install").to_string();
    format!("sudo {}{}", shell_word(&program), typed.strip_prefix("pdpp").unwrap_or(&typed))
}

/// The person who is `named`, or who typed `sudo`; without root, the person who runs this.
///
/// # Errors
/// `install_no_person` (2) if nobody is named; `install_unknown_user` (2); `install_for_root` (77).
pub fn person(named: Option<&str>) -> Result<Person> {
    let by_sudo = std::env::var("SUDO_USER").ok().filter(|name| !name.is_empty());
    let name = match (named, by_sudo) {
        (Some(named), _) => named.to_owned(),
        (None, Some(name)) if geteuid().is_root() => name,
        (None, _) if !geteuid().is_root() => geteuid().as_raw().to_string(),
        (None, _) => {
            let message = "pdpp cannot tell whose data it is, because root runs this without sudo";
            return Err(
                Error::new(Kind::Usage, "install_no_person", message).hint("Name the user with --for USER")
            );
        }
    };
    let account = account(&name)?.ok_or_else(|| unknown(&name))?;
    if account.uid == 0 {
        let message = "Root can read everything on this computer, so no set-up can keep a store from root";
        return Err(Error::new(Kind::Refused, "install_for_root", message)
            .hint("Name the user whose agent must not read it, with --for USER"));
    }
    // Not an option, whatever its name: this must be a name from the list of users.
    let groups = programs::run("id", &["-G", "--", &account.name])?;
    let groups = groups.split_whitespace().filter_map(|id| id.parse().ok()).collect();
    let called = programs::run("id", &["-Gn", "--", &account.name])?;
    let mighty = called.split_whitespace().filter(|name| MIGHTY.contains(name)).map(str::to_owned);
    Ok(Person { reach: Reach { uid: account.uid, groups }, mighty_groups: mighty.collect(), account })
}

fn unknown(name: &str) -> Error {
    let message = format!("This system has no user {}", one_line(name));
    Error::new(Kind::Usage, "install_unknown_user", message)
        .hint("Name one that `getent passwd` lists, with --for USER")
}

/// The user called `name`, or with that number as its id.
///
/// # Errors
/// The errors of `getent`.
pub fn account(name: &str) -> Result<Option<Account>> {
    // A name that could be two lines, or an option, matches nobody.
    if name.is_empty() || name.starts_with('-') || name.contains([':', '\n', '\0']) {
        return Ok(None);
    }
    let ran = programs::output("getent", &["passwd", name])?;
    match ran.status.code() {
        Some(0) => Ok(String::from_utf8_lossy(&ran.stdout).lines().next().and_then(parse)),
        Some(2) => Ok(None),
        _ => Err(programs::failed("The list of users could not be read (getent passwd)")),
    }
}

/// Parses a line in the format of passwd(5).
fn parse(line: &str) -> Option<Account> {
    let mut fields = line.split(':');
    let (name, _, uid, gid) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let (comment, home) = (fields.next()?, fields.next()?);
    Some(Account {
        name: name.to_owned(),
        uid: uid.parse().ok()?,
        gid: gid.parse().ok()?,
        comment: comment.to_owned(),
        home: home.to_owned(),
    })
}

/// Whether `name` may use sudo without a password, as far as sudo reports it.
pub fn has_free_sudo(name: &str) -> bool {
    let asked = programs::output("sudo", &["-n", "-l", "-U", name]);
    asked.is_ok_and(|said| {
        String::from_utf8_lossy(&said.stdout).lines().any(|line| line.contains("NOPASSWD:"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_of_users_is_read() {
        let ana = parse("ana:x:1000:1001:Ana,,,:/home/ana:/bin/bash").unwrap();
        assert_eq!(
            (ana.uid, ana.gid, ana.comment.as_str(), ana.home.as_str()),
            (1000, 1001, "Ana,,,", "/home/ana")
        );
        for damaged in ["", "ana", "ana:x:one:1:::", "ana:x:1:-1:::", "ana:x:1:1"] {
            assert_eq!(parse(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn o9_1_nobody_and_root_are_refused() {
        let refused = |name: &str| person(Some(name)).unwrap_err();
        for name in ["no-such-user-of-ours", "-u", "", "a:b", "ana\nroot"] {
            assert_eq!(
                (refused(name).code(), refused(name).kind()),
                ("install_unknown_user", Kind::Usage),
                "{name:?}"
            );
        }
        for root in ["root", "0"] {
            assert_eq!((refused(root).code(), refused(root).kind()), ("install_for_root", Kind::Refused));
        }
        let daemon = person(Some("daemon")).unwrap();
        assert_eq!((daemon.account.name.as_str(), daemon.reach.uid), ("daemon", daemon.account.uid));
        assert!(daemon.reach.groups.contains(&daemon.account.gid) && daemon.mighty_groups.is_empty());
    }
}
