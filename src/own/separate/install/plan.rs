//! What the set-up for a person needs, determined before anything is created.

use std::fmt::Write as _;
use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::person::{self, Account, Person};
use super::services;
use super::unit::{self, Unit};
use crate::error::{Error, Kind, Result};
use crate::fs::system;
use crate::hex;
use crate::own::{self, separate::place};
use crate::text::one_line;

/// Ports to try for a new service, from the usual one upwards: below those that a system assigns
/// automatically.
const PORTS: u16 = 200;
/// The largest program, in bytes.
const MAX_PROGRAM: u64 = 512 << 20;

/// The person's options.
#[derive(Debug, Default)]
pub struct Wish {
    /// Where it should listen.
    pub listen: Option<SocketAddr>,
    /// Whether not to start the service.
    pub no_start: bool,
}

/// What the installation will create.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a separate finding")]
pub struct Plan {
    /// Whose store it is.
    pub person: Person,
    /// Their service.
    pub unit: Unit,
    /// The system user that owns the store, if it exists already.
    pub service_user: Option<Account>,
    /// Whether there is no store yet.
    pub is_new_store: bool,
    /// The store that was kept when the set-up was removed, if it is to be used again.
    pub kept: Option<PathBuf>,
    /// Whether there is no unit yet.
    pub is_new_unit: bool,
    /// The services of other people that run the same program.
    pub other_units: Vec<String>,
    /// The program that is copied.
    pub program: Vec<u8>,
    /// Its SHA-256.
    pub program_sha256: String,
    /// The file that it is copied from.
    pub program_from: PathBuf,
    /// Whether the service is started: systemd runs here, and the person did not say otherwise.
    pub starts: bool,
    /// Whether systemd runs this system.
    pub has_systemd: bool,
    /// What the person should consider.
    pub warnings: Vec<String>,
    /// A store of the simple set-up that the person has.
    pub simple_store: Option<PathBuf>,
}

/// The comment in the list of users for the system user that owns the store of the person with the id
/// `uid`.
pub fn comment_of(uid: u32) -> String {
    format!("pdpp, own data of user {uid}")
}

impl Plan {
    /// Determines what to create for `person`. Changes nothing.
    ///
    /// # Errors
    /// `install_listen` (2), `install_place` (77), `install_user_taken` (77), `install_step_failed`, `install_program_missing`.
    pub fn new(person: Person, wish: &Wish) -> Result<Self> {
        let (name, uid) = (person.account.name.clone(), person.account.uid);
        let unit_path = place::unit_path(&name);
        for path in [
            Path::new(place::PROGRAM),
            Path::new(place::STORES),
            Path::new(place::UNITS),
            Path::new(place::SOCKETS),
        ] {
            check_place(path, &person)?;
        }
        let service_user = service_user(&name, uid)?;
        let store = place::data_dir(uid);
        let is_there = !is_new_store(&store, service_user.as_ref())?;
        let kept = place::kept_dir(uid);
        let has_kept = !is_there && !is_new_store(&kept, service_user.as_ref())?;
        let units = units();
        let own = units.iter().find(|(path, _)| *path == unit_path).map(|(_, text)| text.as_str());
        let listen = listen(wish.listen, own, &units, &unit_path)?;
        let (program, program_from) = this_program()?;
        let has_systemd = services::is_here();
        let program_sha256 = hex::sha256(&program);
        let mut warnings = warnings(&person, &program_from, &program_sha256);
        let simple_store = Path::new(&person.account.home).join(".local/share/pdpp/own");
        let simple_store = Some(simple_store).filter(|dir| own::is_there(dir));
        if let Some(dir) = &simple_store {
            warnings.push(format!(
                "{name} has a store of the simple set-up in {}. It stays, and a program that runs as \
                 {name} can read it: import the exports again, then forget its accounts there",
                dir.display()
            ));
        }
        Ok(Self {
            unit: Unit { person: name, uid, listen },
            person,
            service_user,
            is_new_store: !is_there && !has_kept,
            kept: Some(kept).filter(|_| has_kept),
            is_new_unit: own.is_none(),
            other_units: others(&units, &unit_path),
            program,
            program_sha256,
            program_from,
            starts: has_systemd && !wish.no_start,
            has_systemd,
            warnings,
            simple_store,
        })
    }

    /// The plan in words.
    pub fn to_text(&self) -> String {
        let (name, uid) = (&self.unit.person, self.unit.uid);
        let state = |is_new: bool, kept: &'static str| if is_new { "new" } else { kept };
        let user = place::system_user(name);
        let mut text = format!("The separate set-up for {name} (user {uid}):\n");
        let mut line = |what: &str, of: String| {
            let _ = writeln!(text, "  {what:<14} {of}");
        };
        line("system user", format!("{user} ({})", state(self.service_user.is_none(), "unchanged")));
        line(
            "store",
            format!(
                "{}, only {user} can read it ({})",
                place::data_dir(uid).display(),
                state(
                    self.is_new_store,
                    if self.kept.is_some() { "the one that was kept" } else { "unchanged" }
                )
            ),
        );
        line(
            "program",
            format!(
                "{}, root's copy of {} ({}, SHA-256 {})",
                place::PROGRAM,
                one_line(&self.program_from.display().to_string()),
                env!("CARGO_PKG_VERSION"),
                self.program_sha256
            ),
        );
        line(
            "service",
            format!("{} ({})", place::unit_path(name).display(), state(self.is_new_unit, "rewritten")),
        );
        line("address", format!("http://{}, for this computer only", self.unit.listen));
        line("owner's socket", place::socket_path(uid).display().to_string());
        text.trim_end().to_owned()
    }

    /// How to start the service without systemd: the commands that root types.
    pub fn by_hand(&self) -> Vec<String> {
        let user = place::system_user(&self.unit.person);
        let sockets = place::socket_dir(self.unit.uid);
        vec![
            format!("install -d -o root -g root -m 755 {}", place::SOCKETS),
            format!("install -d -o {user} -g {user} -m 755 {}", sockets.display()),
            format!(
                "setpriv --reuid={user} --regid={user} --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all --reset-env -- {}",
                self.unit.command().join(" ")
            ),
        ]
    }

    /// The plan for `--json`.
    pub fn to_json(&self) -> Value {
        let (name, uid) = (&self.unit.person, self.unit.uid);
        json!({
            "person": name,
            "uid": uid,
            "system_user": place::system_user(name),
            "data_dir": place::data_dir(uid).display().to_string(),
            "new_store": self.is_new_store,
            "program": place::PROGRAM,
            "program_from": self.program_from.display().to_string(),
            "program_sha256": self.program_sha256,
            "unit": place::unit_path(name).display().to_string(),
            "url": format!("http://{}", self.unit.listen),
            "owner_socket": place::socket_path(uid).display().to_string(),
            "by_hand": self.by_hand(),
            "systemd": self.has_systemd,
            "simple_store": self.simple_store.as_ref().map(|dir| dir.display().to_string()),
            "warnings": self.warnings,
        })
    }
}

/// Checks that the person cannot replace `path`, nor any folder above it.
fn check_place(path: &Path, person: &Person) -> Result<()> {
    let Some(weak) = system::changeable(path, &person.reach) else { return Ok(()) };
    let message = format!(
        "{} must belong to root only, and does not: {} {}",
        path.display(),
        one_line(&weak.path.display().to_string()),
        weak.why
    );
    Err(Error::new(Kind::Refused, "install_place", message).hint(format!(
        "Make it root's, and writable only for root: chown root, chmod go-w {}",
        weak.path.display()
    )))
}

/// The system user of the person, if it exists; no other user may have its name.
fn service_user(person: &str, uid: u32) -> Result<Option<Account>> {
    let name = place::system_user(person);
    let Some(found) = person::account(&name)? else { return Ok(None) };
    if found.comment == comment_of(uid) && found.uid != uid && found.uid != 0 {
        return Ok(Some(found));
    }
    let message = format!("The user {name} already exists, and was not created for {person}'s store");
    Err(Error::new(Kind::Refused, "install_user_taken", message)
        .hint(format!("If nobody needs it: userdel {name}; then run this again")))
}

/// Whether there is no store yet. An existing one must belong only to its own user.
fn is_new_store(dir: &Path, user: Option<&Account>) -> Result<bool> {
    let owner = system::dir_owner(dir).map_err(|error| super::unmade(dir, error))?;
    match (owner, user) {
        (None, _) => Ok(true),
        (Some((owner, 0o700)), Some(user)) if owner == user.uid => Ok(false),
        (Some((owner, mode)), _) => {
            let message = format!(
                "{} already exists, and belongs to user {owner} (mode {mode:03o}), not to the system \
                 user that should own it",
                dir.display()
            );
            Err(Error::new(Kind::Refused, "install_place", message).hint(
                "Move it away, or give it back to the user that owned it, mode 700; then run this again",
            ))
        }
    }
}

/// The units of this set-up, each with its text.
pub fn units() -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir(place::UNITS).into_iter().flatten().flatten();
    let units = entries.filter(|entry| place::is_unit(&entry.file_name().to_string_lossy()));
    units.filter_map(|entry| Some((entry.path(), std::fs::read_to_string(entry.path()).ok()?))).collect()
}

/// The names of all `units` except the one at `own`.
fn others(units: &[(PathBuf, String)], own: &Path) -> Vec<String> {
    let others = units.iter().filter(|(path, _)| path != own).filter_map(|(path, _)| path.file_name());
    others.map(|name| name.to_string_lossy().into_owned()).collect()
}

/// The address of the service: the one that is wanted, else the one before, else a port that is free,
/// both in this set-up and on the computer.
fn listen(
    wished: Option<SocketAddr>,
    own: Option<&str>,
    units: &[(PathBuf, String)],
    unit_path: &Path,
) -> Result<SocketAddr> {
    let others: Vec<SocketAddr> = units
        .iter()
        .filter(|(path, _)| path != unit_path)
        .filter_map(|(_, text)| unit::listen_of(text))
        .collect();
    let before = own.and_then(unit::listen_of);
    let refused = |message: String| {
        Error::new(Kind::Usage, "install_listen", message)
            .hint("Name another one, such as --listen 127.0.0.1:7400, or none")
    };
    let is_taken = |address: SocketAddr| others.iter().any(|other| other.port() == address.port());
    let is_free = |address: SocketAddr| !is_taken(address) && TcpListener::bind(address).is_ok();
    match (wished, before) {
        (Some(wished), _) if !wished.ip().is_loopback() => {
            Err(refused(format!("Your own data is served on loopback only, not on {}", wished.ip())))
        }
        (Some(wished), _) if wished.port() == 0 => {
            Err(refused("A service has one fixed port, and 0 is a different one each time".to_owned()))
        }
        (Some(wished), before) if before == Some(wished) || is_free(wished) => Ok(wished),
        (Some(wished), _) => Err(refused(format!("{wished} is taken"))),
        (None, Some(before)) => Ok(before),
        (None, None) => {
            // The port where a person who adds a public name has their proxy lead by default.
            let ports =
                (own::DEFAULT_PORT..own::DEFAULT_PORT + PORTS).filter(|port| *port != own::PROXY_PORT);
            let addresses = ports.map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
            let mut free = addresses.filter(|address| is_free(*address));
            free.next().ok_or_else(|| refused("No free port was found on this computer".to_owned()))
        }
    }
}

/// The running program, whatever is at its path now, and that path.
fn this_program() -> Result<(Vec<u8>, PathBuf)> {
    let unread = |error| super::programs::failed("This program could not read itself").because(error);
    let from = std::env::current_exe().map_err(unread)?;
    let mut bytes = Vec::new();
    let file = std::fs::File::open("/proc/self/exe").map_err(unread)?;
    file.take(MAX_PROGRAM).read_to_end(&mut bytes).map_err(unread)?;
    Ok((bytes, from))
}

/// What weakens the protection against a program that runs as the person.
fn warnings(person: &Person, program: &Path, sha256: &str) -> Vec<String> {
    let name = &person.account.name;
    let mut warnings = Vec::new();
    if let Some(weak) = system::changeable(program, &person.reach) {
        let weak = format!("{} {}", one_line(&weak.path.display().to_string()), weak.why);
        warnings.push(format!(
            "users other than root could have changed {}: {weak}. The copy now runs with {name}'s data \
             permanently; compare its SHA-256 with the one that you were given: {sha256}",
            one_line(&program.display().to_string())
        ));
    }
    if person::has_free_sudo(name) {
        warnings.push(format!(
            "{name} may use sudo without a password, and so may every program that runs as {name}: such \
             a program can read the store. Remove that right from the sudo rules"
        ));
    }
    for group in &person.mighty_groups {
        warnings.push(format!(
            "{name} is in the group {group}, whose members can make themselves root: a program that \
             runs as {name} can read the store that way"
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::system::Reach;

    fn ana() -> Person {
        let account = Account {
            name: "ana".to_owned(),
            uid: 4_000_000,
            gid: 4_000_000,
            comment: String::new(),
            home: "/home/ana".to_owned(),
        };
        Person {
            reach: Reach { uid: account.uid, groups: vec![account.gid] },
            mighty_groups: Vec::new(),
            account,
        }
    }

    fn plan() -> Plan {
        let listen = SocketAddr::from(([127, 0, 0, 1], 7378));
        Plan {
            unit: Unit { person: "ana".to_owned(), uid: 1000, listen },
            person: ana(),
            service_user: None,
            is_new_store: true,
            kept: None,
            is_new_unit: true,
            other_units: Vec::new(),
            program: b"program".to_vec(),
            program_sha256: hex::sha256(b"program"),
            program_from: "/usr/bin/pdpp".into(),
            starts: true,
            has_systemd: true,
            warnings: Vec::new(),
            simple_store: None,
        }
    }

    #[test]
    fn o9_1_the_plan_says_all_that_is_made() {
        let text = plan().to_text().replace(env!("CARGO_PKG_VERSION"), "VERSION");
        insta::assert_snapshot!(text);
        insta::assert_snapshot!(plan().by_hand().join("\n"));
    }

    #[test]
    fn o9_1_a_port_is_chosen_once_and_is_nobody_elses() {
        let unit_of = |person: &str, listen: SocketAddr| {
            let unit = Unit { person: person.to_owned(), uid: 1, listen };
            (place::unit_path(person), unit.to_text())
        };
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let own = place::unit_path("ana");
        let found = listen(None, None, &[], &own).unwrap();
        assert!(found.ip().is_loopback() && (7378..7578).contains(&found.port()), "{found}");
        // A port of another person's service is not used, whether or not that service runs.
        let ben = [unit_of("ben", found)];
        let next = listen(None, None, &ben, &own).unwrap().port();
        assert!(next != found.port() && next != own::PROXY_PORT, "{next}");
        let taken = listen(Some(found), None, &ben, &own).unwrap_err();
        assert_eq!((taken.code(), taken.kind()), ("install_listen", Kind::Usage));
        // The port stays, although the service itself listens there.
        let busy = TcpListener::bind(at(0)).unwrap();
        let busy = busy.local_addr().map(|address| (address, busy)).unwrap();
        let text = unit_of("ana", busy.0).1;
        assert_eq!(listen(None, Some(&text), &[], &own).unwrap(), busy.0);
        assert_eq!(listen(Some(busy.0), Some(&text), &[], &own).unwrap(), busy.0);
        for wrong in [busy.0, at(0), "192.0.2.1:7378".parse().unwrap(), "0.0.0.0:7378".parse().unwrap()] {
            assert_eq!(listen(Some(wrong), None, &[], &own).unwrap_err().code(), "install_listen", "{wrong}");
        }
    }

    #[test]
    fn o9_1_a_program_that_others_can_change_is_warned_of() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("pdpp");
        system::replace(&program, b"x", 0o777).unwrap();
        let warned = warnings(&ana(), &program, "5f3c");
        assert!(warned[0].contains("could have changed") && warned[0].ends_with(": 5f3c"), "{warned:?}");
        assert_eq!(warnings(&ana(), Path::new("/usr/bin/env"), "5f3c"), Vec::<String>::new());
        let mut mighty = ana();
        mighty.mighty_groups = vec!["docker".to_owned()];
        assert!(warnings(&mighty, Path::new("/usr/bin/env"), "")[0].contains("in the group docker"));
    }

    #[test]
    fn o9_1_no_store_and_no_user_of_somebody_elses_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("1000");
        assert!(is_new_store(&dir, None).unwrap());
        system::make_dir(&dir, 0o700, None).unwrap();
        let owner = system::dir_owner(&dir).unwrap().unwrap().0;
        let user = Account { uid: owner, ..ana().account };
        assert!(!is_new_store(&dir, Some(&user)).unwrap());
        for other in [None, Some(&Account { uid: owner + 1, ..user.clone() })] {
            assert_eq!(is_new_store(&dir, other).unwrap_err().code(), "install_place");
        }
        let open = root.path().join("1001");
        system::make_dir(&open, 0o755, None).unwrap();
        assert_eq!(is_new_store(&open, Some(&user)).unwrap_err().code(), "install_place");
        assert_eq!(service_user("no-such-person-of-ours", 1).unwrap(), None);
        let refused = check_place(&dir, &ana());
        if owner != 0 {
            assert_eq!(refused.unwrap_err().code(), "install_place");
        }
    }
}
