//! The paths of the separate set-up. They are fixed: what a variable or a file of the person's could
//! move, a program that runs as them could move too.

use std::path::{Path, PathBuf};

/// The folder of the stores, one for each person. It belongs to root.
pub const STORES: &str = "/var/lib/pdpp";
/// The folder of the owners' sockets, with one folder for each person. The system empties it at start-up.
pub const SOCKETS: &str = "/run/pdpp";
/// The folder of the program that the services run. It belongs to root.
pub const PROGRAM_DIR: &str = "/usr/local/lib/pdpp";
/// The program that the services run: a copy that the person cannot change.
pub const PROGRAM: &str = "/usr/local/lib/pdpp/pdpp";
/// Where an administrator's units are.
pub const UNITS: &str = "/etc/systemd/system";

/// The prefix of folders that no service uses.
const KEPT: &str = "kept-";
/// The prefix and the suffix of the names of the services.
const UNIT: (&str, &str) = ("pdpp-provider-", ".service");
/// The prefix of the names of the system users.
const USER: &str = "pdpp-";
/// The longest name of a user on Linux, in bytes.
const MAX_USER: usize = 32;
/// Digits of the SHA-256 that distinguish names that look alike once they are simplified.
const DIGITS: usize = 8;

/// The store of the person whose user id is `uid`.
pub fn data_dir(uid: u32) -> PathBuf {
    Path::new(STORES).join(uid.to_string())
}

/// Where that store is kept while no service uses it.
pub fn kept_dir(uid: u32) -> PathBuf {
    Path::new(STORES).join(format!("{KEPT}{uid}"))
}

/// The folder of that person's socket; it exists while the service runs.
pub fn socket_dir(uid: u32) -> PathBuf {
    Path::new(SOCKETS).join(uid.to_string())
}

/// The socket at which the service of the person with the user id `uid` listens to its owner.
pub fn socket_path(uid: u32) -> PathBuf {
    socket_dir(uid).join("owner.sock")
}

/// The person whose store is in `dir`, if that is a path of this set-up.
pub fn person_of(dir: &Path) -> Option<u32> {
    let uid = dir.strip_prefix(STORES).ok()?.to_str()?.parse().ok()?;
    (data_dir(uid) == dir).then_some(uid)
}

/// The person whose store `path` is or is in, if it is a path of this set-up; a kept store counts.
pub fn whose(path: &Path) -> Option<u32> {
    let first = path.strip_prefix(STORES).ok()?.components().next()?.as_os_str().to_str()?;
    let uid = first.strip_prefix(KEPT).unwrap_or(first).parse().ok()?;
    path.ancestors().any(|dir| dir == data_dir(uid) || dir == kept_dir(uid)).then_some(uid)
}

/// The system user that owns the store of the person called `user`.
pub fn system_user(user: &str) -> String {
    format!("{USER}{}", plain(user))
}

/// The unit of the service of the person called `user`.
pub fn unit_name(user: &str) -> String {
    format!("{}{}{}", UNIT.0, plain(user), UNIT.1)
}

/// The file of that unit.
pub fn unit_path(user: &str) -> PathBuf {
    Path::new(UNITS).join(unit_name(user))
}

/// Whether a file in [`UNITS`] has the name of a unit of this set-up.
pub fn is_unit(name: &str) -> bool {
    name.strip_prefix(UNIT.0).is_some_and(|rest| rest.len() > UNIT.1.len() && rest.ends_with(UNIT.1))
}

/// `user` as a part of the name of a system user and of a unit: unchanged if possible, otherwise
/// simplified, with digits that distinguish it from others.
fn plain(user: &str) -> String {
    let most = MAX_USER - USER.len();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if (1..=most).contains(&user.len()) && user.chars().all(is_plain) {
        return user.to_owned();
    }
    let kept = user.chars().flat_map(char::to_lowercase).map(|c| if is_plain(c) { c } else { '-' });
    let kept: String = kept.take(most - DIGITS - 1).collect();
    format!("{kept}-{}", &crate::hex::sha256(user.as_bytes())[..DIGITS])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o9_1_each_person_has_a_place_a_system_user_and_a_unit_of_their_own() {
        assert_eq!(data_dir(1000), Path::new("/var/lib/pdpp/1000"));
        assert_eq!(socket_path(1000), Path::new("/run/pdpp/1000/owner.sock"));
        assert_eq!(system_user("ana"), "pdpp-ana");
        assert_eq!(unit_name("ana"), "pdpp-provider-ana.service");
        assert!(is_unit(&unit_name("ana")) && is_unit(&unit_name("Ana B.")));
        for other in
            ["pdpp-host.service", "pdpp-provider-.service", "pdpp-provider-ana.service.d", "x.service"]
        {
            assert!(!is_unit(other), "{other}");
        }
    }

    #[test]
    fn a_place_of_the_set_up_says_whose_it_is() {
        assert_eq!(person_of(Path::new("/var/lib/pdpp/1000")), Some(1000));
        for other in [
            "/var/lib/pdpp",
            "/var/lib/pdpp/01000",
            "/var/lib/pdpp/1000/x",
            "/home/ana/own",
            "/var/lib/pdpp/+1",
        ] {
            assert_eq!(person_of(Path::new(other)), None, "{other}");
        }
        for of_theirs in ["/var/lib/pdpp/1000", "/var/lib/pdpp/1000/inbox/x", "/var/lib/pdpp/kept-1000"] {
            assert_eq!(whose(Path::new(of_theirs)), Some(1000), "{of_theirs}");
        }
        for other in ["/var/lib/pdpp", "/var/lib/pdpp/01000", "/var/lib/pdpp/x", "/home/1000"] {
            assert_eq!(whose(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn names_that_no_system_user_can_have_are_made_plain_and_stay_apart() {
        let odd = [
            "Ana",
            "ana.b",
            "EXAMPLE\\ana",
            "ana@example.org",
            "a-very-long-name-of-a-person-of-ours",
            "añà",
            "",
            "a\nb",
        ];
        let mut users: Vec<String> = odd.iter().map(|name| system_user(name)).collect();
        for user in &users {
            assert!(user.len() <= MAX_USER && user.starts_with("pdpp-"), "{user}");
            assert!(
                user.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_')),
                "{user}"
            );
        }
        users.push(system_user("ana"));
        users.sort();
        users.dedup();
        assert_eq!(users.len(), odd.len() + 1);
    }
}
