//! Checks this computer for problems.

use std::ffi::OsStr;
use std::path::Path;

use super::Check;
use crate::access_log::AccessLog;
use crate::advice::{Command, Hint};
use crate::cache::Cache;
use crate::cache::owner::refuse_owner_credentials_in_environment;
use crate::cache::store::StoreKind;
use crate::cache::store::choice::StoreChoice;
use crate::fs;
use crate::own::state::State;
use crate::provider::network::Network;
use crate::setup::launcher::is_npms;
use crate::setup::paths::is_program;
use crate::text::shell_word;

/// Checks which program a person and a host start.
pub fn program() -> Check {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match std::env::current_exe() {
        Ok(own) => on_path(&own, &path),
        Err(error) => Check::warn(
            "program",
            format!("could not determine where this program is: {error}"),
            if cfg!(windows) { "where.exe pdpp" } else { "command -v pdpp" },
        ),
    }
}

fn on_path(own: &Path, path: &OsStr) -> Check {
    let shown = own.display();
    let Ok(real) = dunce::canonicalize(own) else {
        // Linux continues to run a file that was deleted or that an update replaced.
        return Check::stop(
            "program",
            format!("the file that this program was started from no longer exists: {shown}"),
            "Install pdpp again, then restart the hosts that use it",
        );
    };
    let first = std::env::split_paths(path).map(|dir| dir.join(NAME)).find(|path| is_program(path));
    match first {
        Some(first)
            if dunce::canonicalize(&first)
                .is_ok_and(|first| first == real || is_npms(&first) && is_npms(&real)) =>
        {
            Check::ok("program", format!("{} (version {})", first.display(), env!("CARGO_PKG_VERSION")))
        }
        Some(first) => Check::warn(
            "program",
            format!("this is {shown}, but `pdpp` starts another one: {}", first.display()),
            format!("Remove or update it: {} --version", shell_word(&first.display().to_string())),
        ),
        None => Check::warn(
            "program",
            format!("{shown} is not on PATH, so the shell does not find `pdpp`"),
            path_hint(own),
        ),
    }
}

const NAME: &str = if cfg!(windows) { "pdpp.exe" } else { "pdpp" };

fn path_hint(own: &Path) -> String {
    let dir = own.parent().map_or_else(|| ".".to_owned(), |dir| dir.display().to_string());
    if cfg!(windows) {
        format!("Add {dir} to PATH")
    } else {
        format!("export PATH={}:\"$PATH\"", shell_word(&dir))
    }
}

/// Checks whether the cache can be read and written, and only by its owner.
pub fn cache(cache: &Cache) -> Check {
    let dir = cache.dir();
    // Checked before the read, because reading repairs it.
    let was_open = fs::is_open_to_others(dir);
    match cache.credentials().and_then(|_| cache.check_dir()) {
        Err(error) => Check::failed("cache", &error),
        // The person named this directory, so its mode is their choice.
        Ok(()) if fs::is_open_to_others(dir) => {
            let name = dir.display().to_string();
            let message = match fs::open_to_writers(dir) {
                Some(_) => format!("others can write to {name}"),
                None => format!("others can open {name}, but not the files in it"),
            };
            Check::warn("cache", message, closing(&name))
        }
        Ok(()) if was_open => Check::warn(
            "cache",
            format!("others could open {}; it is private again now", dir.display()),
            Hint::new("If other people use this computer, end every grant, then connect again: ")
                .run(Command::new("disconnect --all")),
        ),
        Ok(()) if let Some((above, _)) = fs::replaceable_by_others(dir) => {
            let above = above.display().to_string();
            Check::warn(
                "cache",
                format!("others can write to {above}, so they could replace {}", dir.display()),
                format!("chmod go-w {}", shell_word(&above)),
            )
        }
        Ok(()) if dir.exists() => Check::ok("cache", format!("{} is private", dir.display())),
        Ok(()) => Check::ok("cache", format!("nothing is stored yet (it will be in {})", dir.display())),
    }
}

/// The command that makes the directory `name` private to its owner.
fn closing(name: &str) -> String {
    let name = shell_word(name);
    if cfg!(windows) {
        // Uses no names of users or groups, because the administrators' name differs between languages.
        format!(
            "icacls {name} /inheritance:r /grant:r \"*S-1-3-4:(OI)(CI)F\" \"*S-1-5-18:(OI)(CI)F\" \"*S-1-5-32-544:(OI)(CI)F\""
        )
    } else {
        format!("chmod 700 {name}")
    }
}

/// Checks whether secrets can be kept and read where they should be. Waits for a keyring, up to a limit.
pub fn secrets(cache: &Cache) -> Check {
    let in_keyring = cache
        .credentials()
        .is_ok_and(|credentials| credentials.iter().any(|one| one.store == StoreKind::Keyring));
    match cache.try_store(in_keyring.then_some(StoreChoice::Keyring)) {
        Ok(chosen) if chosen.kind == StoreKind::Keyring => {
            Check::ok("tokens", "the keyring stores and returns them")
        }
        Ok(chosen) => Check::ok(
            "tokens",
            chosen.note.unwrap_or_else(|| "they are kept in private files, as chosen".to_owned()),
        ),
        Err(error) => Check::failed("tokens", &error),
    }
}

/// Checks whether the store of the person's own data can be read; `None` if there is no store.
pub fn own_data(cache: &Cache) -> Option<Check> {
    Some(match State::here(cache)? {
        Ok((dir, state)) => Check::ok("own data", format!("{} in {}", state.in_short(), dir.display())),
        Err(error) => Check::failed("own data", &error),
    })
}

/// Checks whether an owner's credential is within an agent's reach.
pub fn environment() -> Check {
    match refuse_owner_credentials_in_environment() {
        Ok(()) => Check::ok("environment", "contains no owner credential"),
        Err(error) => Check::failed("environment", &error),
    }
}

/// Checks whether the named certificate authorities can be used; `None` if none are named.
pub fn authorities(network: &Network) -> Option<Check> {
    let path = network.ca_file.as_ref()?;
    Some(match network.check_ca_file() {
        Ok(()) => Check::ok("CA file", format!("{} is also trusted", path.display())),
        Err(error) => Check {
            code: Some(error.code().to_owned()),
            ..Check::stop("CA file", error.to_string(), error.next_step())
        },
    })
}

/// Checks whether the access log records what agents read.
pub fn access_log(log: &AccessLog) -> Check {
    if !log.is_on() {
        return Check::ok("access log", format!("off ({})", Command::new("log --on")));
    }
    match log.entries() {
        Ok(found) => {
            let count = found.entries.len();
            Check::ok("access log", format!("on; it has {count} calls ({})", Command::new("log")))
        }
        Err(error) => Check { level: super::Level::Warn, ..Check::failed("access log", &error) },
    }
}

#[cfg(test)]
#[cfg(unix)]
#[allow(clippy::disallowed_methods, reason = "tests put things in the way")]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::checks::Level;
    use std::os::unix::fs::PermissionsExt as _;

    fn program_in(dir: &Path) -> PathBuf {
        std::fs::create_dir_all(dir).unwrap();
        let path = dir.join("pdpp");
        std::fs::write(&path, dir.display().to_string()).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn another_program_earlier_on_the_path_is_found() {
        let root = tempfile::tempdir().unwrap();
        let (one, two) = (root.path().join("one"), root.path().join("two"));
        let (own, other) = (program_in(&one), program_in(&two));
        let path = |dirs: &[&Path]| std::env::join_paths(dirs).unwrap();
        assert_eq!(on_path(&own, &path(&[&one, &two])).level, Level::Ok);
        let shadowed = on_path(&own, &path(&[&two, &one]));
        assert_eq!(shadowed.level, Level::Warn);
        assert!(shadowed.message.contains(&other.display().to_string()));
        // A link counts as the file that it points to. A file that cannot be run does not count.
        let links = root.path().join("links");
        std::fs::create_dir(&links).unwrap();
        std::os::unix::fs::symlink(&own, links.join("pdpp")).unwrap();
        std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(on_path(&own, &path(&[&two, &links])).level, Level::Ok);
        assert!(on_path(&own, &path(&[&two])).next.unwrap().to_string().starts_with("export PATH="));
        std::fs::remove_file(&own).unwrap();
        assert_eq!(on_path(&own, &path(&[&two])).level, Level::Stop);
    }

    #[test]
    fn an_open_cache_is_said_and_closed() {
        let root = tempfile::tempdir().unwrap();
        let kept = Cache::open(&root.path().join("cache")).unwrap();
        assert_eq!(cache(&kept).level, Level::Ok);
        std::fs::create_dir(kept.dir()).unwrap();
        std::fs::set_permissions(kept.dir(), std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(cache(&kept).level, Level::Warn);
        assert_eq!(cache(&kept).level, Level::Ok);
        std::fs::write(kept.dir().join("index.json"), "{").unwrap();
        assert_eq!(cache(&kept).code.as_deref(), Some("cache_damaged"));
    }
}
