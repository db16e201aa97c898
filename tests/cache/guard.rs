//! The cache when others can write near it: symlinks, modes, owners, umask, a full disk, another location.
#![cfg(unix)]

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use pdpp::cache::Cache;

use super::server::Server;
use crate::connect::provider::{Provider, Switches};
use crate::support::env::{Ran, TestEnv};

/// A machine with one grant, from a provider that is never contacted.
fn connected() -> (TestEnv, Cache) {
    let env = TestEnv::new();
    let cache = Cache::open(&env.cache_dir()).unwrap();
    Server::start().put(&cache, |credential| credential.token_expires_at = None);
    (env, cache)
}

fn every_path(dir: &Path) -> Vec<PathBuf> {
    if !dir.is_dir() || dir.is_symlink() {
        return vec![dir.to_owned()];
    }
    let mut found = vec![dir.to_owned()];
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        found.extend(every_path(&path));
    }
    found
}

/// Every file with its content, except what a lock leaves behind.
fn snapshot(dir: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let files = every_path(dir).into_iter().filter(|path| path.is_file() && !path.ends_with("lock"));
    let mut all: Vec<_> = files.map(|path| (path.clone(), std::fs::read(path).ok())).collect();
    all.sort();
    all
}

fn assert_private(dir: &Path) {
    for path in every_path(dir) {
        let found = std::fs::symlink_metadata(&path).unwrap();
        let wanted = if found.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(found.mode() & 0o7777, wanted, "{}", path.display());
    }
}

/// Runs `pdpp` with these arguments, from a shell that runs `first` before.
fn after(env: &TestEnv, first: &str, arguments: &[&str]) -> Ran {
    let pdpp = env.pdpp(arguments);
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(format!("{first}; exec \"$0\" \"$@\"")).arg(pdpp.get_program()).args(pdpp.get_args());
    shell.env_clear().stdin(std::process::Stdio::null());
    for (name, value) in pdpp.get_envs() {
        shell.env(name, value.unwrap());
    }
    Ran::from(shell.current_dir(pdpp.get_current_dir().unwrap()).output().unwrap())
}

#[test]
fn a_symlinked_cache_is_refused_in_those_words_and_not_followed() {
    for part in ["", "index.json", "lock", "secrets"] {
        let (env, cache) = connected();
        let (path, elsewhere) = (cache.dir().join(part), env.home().join("elsewhere"));
        let path = if part.is_empty() { cache.dir().to_owned() } else { path };
        std::fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        let before = snapshot(&env.home());
        let provider = Provider::start(Switches::default());
        let ran = env.run(&["connect", provider.url(), "--no-browser", "--store", "file"]);
        assert_eq!(ran.code, Some(1), "{part}: {ran:?}");
        assert!(ran.stderr.contains("is a symlink, and symlinks are not followed"), "{part}: {ran:?}");
        assert!(path.is_symlink());
        assert_eq!(snapshot(&env.home()), before, "{part}");
    }
}

#[test]
fn a_refusal_says_why_in_the_protocol_too() {
    let (env, cache) = connected();
    let elsewhere = env.home().join("elsewhere");
    std::fs::rename(cache.dir(), &elsewhere).unwrap();
    symlink(&elsewhere, cache.dir()).unwrap();
    let request = env.home().join("request");
    std::fs::write(&request, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    let mut serve = env.pdpp(&["mcp", "serve"]);
    let ran = Ran::from(serve.stdin(std::fs::File::open(&request).unwrap()).output().unwrap());
    assert!(ran.stdout.contains("is a symlink"), "{ran:?}");
    assert!(ran.stdout.contains("\"because\":["), "{ran:?}");
}

#[test]
fn a_moved_cache_is_found_where_it_is_and_nowhere_else() {
    let (env, cache) = connected();
    let moved = env.home().join("moved");
    std::fs::rename(cache.dir(), &moved).unwrap();
    assert_eq!(env.run(&["status"]).code, Some(78));
    let there = env.run(&["status", "--cache-dir", moved.to_str().unwrap()]);
    assert_eq!(there.code, Some(0), "{there:?}");
    assert!(!cache.dir().exists(), "looking creates nothing");
}

#[test]
fn a_cache_that_others_could_read_is_repaired() {
    let (env, cache) = connected();
    for path in every_path(cache.dir()) {
        let mode = if path.is_dir() { 0o777 } else { 0o666 };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let provider = Provider::start(Switches::default());
    let ran = env.run(&["connect", provider.url(), "--no-browser", "--store", "file"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(cache.credentials().unwrap().len(), 2);
    for credential in cache.credentials().unwrap() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(cache.bearer(&credential)).unwrap();
    }
    assert_private(cache.dir());
}

#[test]
fn a_directory_that_was_there_keeps_its_mode_and_what_is_made_in_it_is_private() {
    let (env, provider) = (TestEnv::new(), Provider::start(Switches::default()));
    for (mode, is_told) in [(0o755, false), (0o777, true), (0o770, true)] {
        let dir = env.home().join(format!("theirs-{mode:o}"));
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("notes"), "theirs").unwrap();
        for path in [dir.clone(), dir.join("notes")] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let named = ["--cache-dir", dir.to_str().unwrap()];
        let connect = [&["connect", provider.url(), "--no-browser", "--store", "file"][..], &named].concat();
        for command in [&connect, &[&["status", "--check"][..], &named].concat()] {
            let ran = env.run(command);
            assert_eq!(ran.code, Some(0), "{ran:?}");
            let warning = format!("warning: others can write to {} (mode {mode:o})", dir.display());
            assert_eq!(ran.stderr.contains(&warning), is_told, "{ran:?}");
        }
        let doctor = env.run(&[&["doctor"][..], &named].concat()).stdout;
        let advice = format!("chmod 700 {}", dir.display());
        assert!(doctor.contains(&advice) && !doctor.contains("private again"), "{doctor}");
        assert_eq!(std::fs::metadata(&dir).unwrap().mode() & 0o777, mode);
        for path in every_path(&dir).into_iter().filter(|path| *path != dir) {
            let found = std::fs::symlink_metadata(&path).unwrap();
            let wanted = if path.ends_with("notes") {
                mode
            } else if found.is_dir() {
                0o700
            } else {
                0o600
            };
            assert_eq!(found.mode() & 0o777, wanted, "{}", path.display());
        }
    }
    // A new directory belongs to its owner alone.
    let new = env.home().join("new");
    let arguments = ["connect", provider.url(), "--no-browser", "--store", "file", "--cache-dir"];
    assert_eq!(env.run(&[&arguments[..], &[new.to_str().unwrap()]].concat()).code, Some(0));
    assert_private(&new);
}

/// Nobody else can write in the cache itself, but others can in a folder above it.
#[test]
fn a_folder_above_that_others_can_write_in_is_warned_of() {
    let env = TestEnv::new();
    std::fs::set_permissions(env.home(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let below = env.home().join("below/cache");
    let warning = format!("warning: others can write to {} (mode 777)", env.home().display());
    let ran = env.run(&["status", "--cache-dir", below.to_str().unwrap()]);
    assert!(ran.stderr.contains(&warning), "{ran:?}");
    let ran = env.run(&["connect", "http://127.0.0.1:9"]);
    assert!(ran.stderr.contains(&warning), "{ran:?}");
    let ran = env.run(&["mcp", "setup", "cursor"]);
    assert!(ran.stdout.contains(&format!("note: others can write to {}", env.home().display())), "{ran:?}");
    let doctor = env.run(&["doctor"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        doctor.contains(&format!("others can write to {}, so they could replace", env.home().display())),
        "{doctor}"
    );
    std::fs::set_permissions(env.home(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let ran = env.run(&["status", "--cache-dir", below.to_str().unwrap()]);
    assert!(!ran.stderr.contains("warning"), "{ran:?}");
}

#[test]
fn another_users_cache_is_refused() {
    let env = TestEnv::new();
    // A directory of another user: one of root's or, if root runs this, one that was given away.
    let mut theirs = PathBuf::from("/");
    if std::fs::metadata(env.home()).unwrap().uid() == 0 {
        theirs = env.home().join("theirs");
        std::fs::create_dir(&theirs).unwrap();
        std::os::unix::fs::chown(&theirs, Some(54_321), None).unwrap();
    }
    for command in [&["status"][..], &["mcp", "serve"]] {
        let ran = env.run(&[command, &["--cache-dir", theirs.to_str().unwrap()]].concat());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("belongs to another user"), "{ran:?}");
    }
}

#[test]
fn no_umask_makes_the_cache_open_or_unusable() {
    for umask in ["0000", "0777"] {
        let env = TestEnv::new();
        let provider = Provider::start(Switches::default());
        let connect = ["connect", provider.url(), "--no-browser", "--store", "file"];
        for _ in 0..2 {
            let ran = after(&env, &format!("umask {umask}"), &connect);
            assert_eq!(ran.code, Some(0), "{umask}: {ran:?}");
        }
        assert_private(&env.cache_dir());
    }
}

#[test]
fn a_full_disk_is_known_before_the_owner_is_asked_and_costs_nothing() {
    let (env, cache) = connected();
    let before = cache.credentials().unwrap();
    let provider = Provider::start(Switches::default());
    // With a limit of no bytes per file a write fails as on a full disk, for root too.
    let ran = after(
        &env,
        "trap '' XFSZ; ulimit -f 0",
        &["connect", provider.url(), "--no-browser", "--store", "file"],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("code: cache_unwritable") && ran.stderr.contains("next: "), "{ran:?}");
    assert!(provider.seen("/agent-connect").is_empty(), "nobody was asked");
    assert_eq!(cache.credentials().unwrap(), before);
}

/// The index is a plain file. Someone who edits where a token goes does not get it: the secret records its own
/// provider.
#[test]
fn a_bearer_does_not_follow_an_edited_index() {
    let env = TestEnv::new();
    let (real, other) = (Provider::start(Switches::default()), Provider::start(Switches::default()));
    let ran = env.run(&["connect", real.url(), "--no-browser", "--store", "file"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let path = env.cache_dir().join("index.json");
    let index = std::fs::read_to_string(&path).unwrap();
    let asked = real.seen("").len();
    let as_it_was = |edited: String| {
        std::fs::write(&path, edited).unwrap();
        for command in [&["mcp", "call", "schema"][..], &["status", "--check"], &["disconnect", "--yes"]] {
            let ran = env.run(command);
            assert_ne!(ran.code, Some(0), "{command:?}: {ran:?}");
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(said.contains(&format!("issued for {}", real.url())), "{command:?}: {said}");
        }
    };
    let issuers = (real.urls().issuer.clone(), other.urls().issuer.clone());
    for edited in [
        index.replace(real.url(), other.url()).replace(&issuers.0, &issuers.1),
        index.replace(real.url(), other.url()),
        index.replace(&issuers.0, &issuers.1),
    ] {
        assert_ne!(edited, index);
        // The last of the commands has deleted the secret.
        let secrets = env.cache_dir().join("secrets");
        let secret = std::fs::read_dir(&secrets).unwrap().next().unwrap().unwrap().path();
        let kept = std::fs::read(&secret).unwrap();
        as_it_was(edited);
        std::fs::write(secret, kept).unwrap();
    }
    for provider in [&other, &real] {
        let bearers =
            provider.seen("").into_iter().skip(if provider.url() == real.url() { asked } else { 0 });
        assert_eq!(
            bearers.filter(|seen| seen.authorization.is_some() || seen.path.contains("revoke")).count(),
            0
        );
    }
    std::fs::write(&path, &index).unwrap();
    assert_eq!(env.run(&["mcp", "call", "schema"]).code, Some(0), "the index as it was");
    // An older version's secret names no provider, and continues to work.
    let secrets = env.cache_dir().join("secrets");
    let secret = std::fs::read_dir(&secrets).unwrap().next().unwrap().unwrap().path();
    let mut kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&secret).unwrap()).unwrap();
    assert!(kept.as_object_mut().unwrap().remove("issued").is_some());
    std::fs::write(&secret, kept.to_string()).unwrap();
    assert_eq!(env.run(&["mcp", "call", "schema"]).code, Some(0));
}
