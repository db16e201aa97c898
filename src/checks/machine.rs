//! What on this machine may stand in the way.

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

/// Which program a person and a host start.
pub fn program() -> Check {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match std::env::current_exe() {
        Ok(own) => on_path(&own, &path),
        Err(error) => Check::warn(
            "program",
            format!("it cannot be said where this program is: {error}"),
            if cfg!(windows) { "where.exe pdpp" } else { "command -v pdpp" },
        ),
    }
}

fn on_path(own: &Path, path: &OsStr) -> Check {
    let shown = own.display();
    let Ok(real) = dunce::canonicalize(&own) else {
        // Linux keeps running a file that was deleted or replaced by an update.
        return Check::stop(
            "program",
            format!("the file that this program was started from is gone: {shown}"),
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
            format!("{shown} is not on PATH: `pdpp` alone is not found"),
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

/// Whether the cache can be read and written, and only by its owner.
pub fn cache(cache: &Cache) -> Check {
    let dir = cache.dir();
    // Looked at before it is read: reading repairs it.
    let was_open = fs::is_open_to_others(dir);
    match cache.credentials().and_then(|_| cache.check_dir()) {
        Err(error) => Check::failed("cache", &error),
        // A directory that a person named: its mode is theirs.
        Ok(()) if fs::is_open_to_others(dir) => {
            let name = dir.display().to_string();
            let message = match fs::open_to_writers(dir) {
                Some(_) => format!("others can write in {name}"),
                None => format!("others can enter {name}; the files in it are yours alone"),
            };
            Check::warn("cache", message, closing(&name))
        }
        Ok(()) if was_open => Check::warn(
            "cache",
            format!("others could enter {}; it is yours alone again now", dir.display()),
            Hint::new("If others use this machine, connect again: ").run(Command::new("disconnect --all")),
        ),
        Ok(()) if let Some((above, _)) = fs::replaceable_by_others(dir) => {
            let above = above.display().to_string();
            Check::warn(
                "cache",
                format!(
                    "others can write in {above}, and put something else in the place of {}",
                    dir.display()
                ),
                format!("chmod go-w {}", shell_word(&above)),
            )
        }
        Ok(()) if dir.exists() => Check::ok("cache", format!("{} is yours alone", dir.display())),
        Ok(()) => Check::ok("cache", format!("nothing is kept yet (it would be in {})", dir.display())),
    }
}

/// What makes the directory `name` its owner's alone.
fn closing(name: &str) -> String {
    let name = shell_word(name);
    if cfg!(windows) {
        // No name of a user or of a group: the administrators' is another one in each language.
        format!(
            "icacls {name} /inheritance:r /grant:r \"*S-1-3-4:(OI)(CI)F\" \"*S-1-5-18:(OI)(CI)F\" \"*S-1-5-32-544:(OI)(CI)F\""
        )
    } else {
        format!("chmod 700 {name}")
    }
}

/// Whether secrets can be kept and read where they are to be. Waits for a keyring, bounded.
pub fn secrets(cache: &Cache) -> Check {
    let in_keyring = cache
        .credentials()
        .is_ok_and(|credentials| credentials.iter().any(|one| one.store == StoreKind::Keyring));
    match cache.try_store(in_keyring.then_some(StoreChoice::Keyring)) {
        Ok(chosen) if chosen.kind == StoreKind::Keyring => {
            Check::ok("tokens", "the keyring takes and gives them")
        }
        Ok(chosen) => Check::ok(
            "tokens",
            chosen.note.unwrap_or_else(|| "they are kept in private files, as was chosen".to_owned()),
        ),
        Err(error) => Check::failed("tokens", &error),
    }
}

/// Whether the store of the person's own data can be read; `None` where there is none.
pub fn own_data(cache: &Cache) -> Option<Check> {
    Some(match State::here(cache)? {
        Ok((dir, state)) => Check::ok("own data", format!("{} in {}", state.in_short(), dir.display())),
        Err(error) => Check::failed("own data", &error),
    })
}

/// Whether an owner's credential is within an agent's reach.
pub fn environment() -> Check {
    match refuse_owner_credentials_in_environment() {
        Ok(()) => Check::ok("environment", "no owner's credential in it"),
        Err(error) => Check::failed("environment", &error),
    }
}

/// Whether the named certificate authorities can be used; `None` where none are named.
pub fn authorities(network: &Network) -> Option<Check> {
    let path = network.ca_file.as_ref()?;
    Some(match network.check_ca_file() {
        Ok(()) => Check::ok("CA file", format!("{} is trusted too", path.display())),
        Err(error) => Check {
            code: Some(error.code().to_owned()),
            ..Check::stop("CA file", error.to_string(), error.next_step())
        },
    })
}

/// Whether what agents read is noted.
pub fn access_log(log: &AccessLog) -> Check {
    if !log.is_on() {
        return Check::ok("access log", format!("off ({})", Command::new("log --on")));
    }
    match log.entries() {
        Ok(found) => {
            let count = found.entries.len();
            Check::ok("access log", format!("on, {count} calls in it ({})", Command::new("log")))
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
        // A link to it is it; a file that cannot be run is nothing.
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
