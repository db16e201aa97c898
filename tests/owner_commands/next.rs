//! Every failure has a next step: a command that can be typed and is not the one that failed.

use std::process::Stdio;

use super::{connect, connected, json_of};
use crate::connect::provider::{Provider, Switches};
use crate::support::env::{Ran, TestEnv};

/// What follows a failing command line.
enum Next {
    /// This command, which works.
    Works(&'static str),
    /// This command, which needs something that only a person knows, or changes something.
    Typed(&'static str),
    /// No command of this program helps; why.
    Not(&'static str),
}
use Next::{Not, Typed, Works};

fn next_of(ran: &Ran) -> String {
    let found = ran.stderr.lines().find_map(|line| line.strip_prefix("  next: "));
    found.unwrap_or_else(|| panic!("no next step: {ran:?}")).to_owned()
}

/// Types `command` into a shell.
fn typed(env: &TestEnv, command: &str) -> Ran {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_pdpp")).parent().unwrap();
    let own = env.pdpp(&[]);
    let mut shell;
    #[cfg(windows)]
    {
        use std::os::windows::process::CommandExt as _;
        shell = std::process::Command::new("cmd");
        // As it is typed: a program of Windows parses its own command line.
        shell.raw_arg(format!("/d /c {command}"));
    }
    #[cfg(not(windows))]
    {
        shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", command]).env_clear();
    }
    shell.stdin(Stdio::null());
    shell.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let others = if cfg!(windows) { std::env::var_os("PATH").unwrap() } else { "/usr/bin:/bin".into() };
    let all = std::iter::once(program.to_owned()).chain(std::env::split_paths(&others));
    shell.env("PATH", std::env::join_paths(all).unwrap());
    Ran::from(shell.current_dir(own.get_current_dir().unwrap()).output().unwrap())
}

/// A command line with single quotes, in the quotes of the shells here.
fn quoted_here(line: &str) -> String {
    let part = |(at, part): (usize, &str)| match at % 2 {
        0 => part.to_owned(),
        _ => pdpp::text::shell_word(part).into_owned(),
    };
    line.split('\'').enumerate().map(part).collect()
}

fn walk(env: &TestEnv, table: &[(&[&str], i32, &str, Next)]) {
    for (line, exit, code, next) in table {
        let ran = env.run(line);
        assert_eq!(ran.code, Some(*exit), "{line:?}: {ran:?}");
        assert!(ran.stderr.ends_with(&format!("\n  code: {code}\n")), "{line:?}: {ran:?}");
        let advised = next_of(&ran);
        assert_ne!(advised, format!("pdpp {}", line.join(" ")));
        match next {
            Works(expected) | Typed(expected) => {
                assert_eq!(advised, quoted_here(expected), "{line:?}");
            }
            Not(why) => {
                assert!(!advised.starts_with("pdpp "), "{line:?} has a command, though {why}: {advised}");
            }
        }
        if matches!(next, Works(_)) {
            let ran = typed(env, &advised);
            assert_eq!(ran.code, Some(0), "{advised}: {ran:?}");
        }
    }
}

#[test]
fn every_failure_without_a_grant_has_a_next_step() {
    const CONNECT: Next = Typed(
        "For your own data, once it is imported: pdpp connect local; for a provider: pdpp connect <provider-url>",
    );
    let env = TestEnv::new();
    walk(
        &env,
        &[
            (&["status"], 78, "not_connected", CONNECT),
            (&["status", "--check"], 78, "not_connected", CONNECT),
            (&["status", "--grant", "x"], 78, "not_connected", CONNECT),
            (
                &["status", "--provider", "https://a.example"],
                78,
                "not_connected",
                Typed("pdpp connect https://a.example"),
            ),
            (&["disconnect"], 78, "not_connected", CONNECT),
            (&["disconnect", "x"], 78, "not_connected", CONNECT),
            (&["disconnect", "--grant", "x"], 78, "not_connected", CONNECT),
            (&["mcp", "call", "schema"], 78, "not_connected", CONNECT),
            (&["mcp", "serve"], 78, "not_connected", CONNECT),
            (&["frobnicate"], 2, "unknown_command", Works("pdpp --help")),
            (&["loog"], 2, "unknown_command", Works("pdpp log")),
            (&["mcp", "inspekt"], 2, "unknown_command", Works("pdpp mcp inspect")),
            (&[], 2, "usage_error", Works("pdpp --help")),
            (&["mcp"], 2, "usage_error", Works("pdpp mcp --help")),
            (
                &["connect"],
                2,
                "usage_error",
                Typed(
                    "For your own data, once it is imported: pdpp connect local; for a provider: pdpp connect https://provider.example",
                ),
            ),
            (&["connect", "--nonsense"], 2, "usage_error", Works("pdpp connect --help")),
            (
                &["connect", "mydata"],
                2,
                "provider_url_invalid",
                Typed(
                    "For your own data, once it is imported: pdpp connect local; for a provider: pdpp connect https://mydata",
                ),
            ),
            (&["status", "--nonsense"], 2, "usage_error", Works("pdpp status --help")),
            (&["log", "--snce", "2h"], 2, "usage_error", Works("pdpp log --since 2h")),
            (&["log", "--limit", "0"], 2, "usage_error", Works("pdpp log --help")),
            (&["log", "--since", "soon"], 2, "since_invalid", Works("pdpp log --since 2h")),
            (&["mcp", "call"], 2, "usage_error", Works("pdpp mcp call --help")),
            (&["mcp", "call", "shema"], 2, "unknown_tool", Typed("pdpp mcp call schema")),
            (
                &["mcp", "call", "search", ""],
                2,
                "arguments_not_an_object",
                Typed(r#"pdpp mcp call search '{"q":"invoice","limit":3}'"#),
            ),
            (
                &["mcp", "setup", "codx", "--dry-run"],
                2,
                "usage_error",
                Works("pdpp mcp setup codex --dry-run"),
            ),
            (&["mcp", "setup", "--remove"], 2, "usage_error", Works("pdpp mcp setup claude --remove")),
            (
                &["mcp", "setup", "chatgpt"],
                78,
                "not_connected",
                Typed("pdpp mcp setup chatgpt --provider <provider-url>"),
            ),
            (
                &["status", "--move-to", "keyring"],
                1,
                "keyring_absent",
                Not("a session with a keyring is not made by pdpp"),
            ),
            (
                &["status", "--cache-dir", "/dev/null"],
                1,
                "cache_unreadable",
                Not("which directory it may be is the person's to say"),
            ),
        ],
    );
}

#[test]
fn every_failure_with_grants_has_a_next_step() {
    let (env, provider) = connected(Switches::default());
    provider.switch(|switches| switches.grant_id = "grt_other_one_that_is_long");
    connect(&env, provider.url());
    walk(
        &env,
        &[
            (
                &["status", "--grant", "papr diary"],
                78,
                "not_connected",
                Works("pdpp status --grant 'Paper diary'"),
            ),
            (
                &["status", "--grant", "grt_othre"],
                78,
                "not_connected",
                Works("pdpp status --grant grt_other_on"),
            ),
            (
                &["status", "--check", "--grant=grt_"],
                2,
                "several_credentials",
                Works("pdpp status --check --grant grt_made_up_1"),
            ),
            (
                &["mcp", "call", "schema", "--grant", "Paper diary 22"],
                78,
                "not_connected",
                Works("pdpp mcp call schema --grant 'Paper diary 2'"),
            ),
            (
                &["mcp", "serve", "--no-access-log", "--grant", "Diary"],
                78,
                "not_connected",
                Works("pdpp mcp serve --no-access-log --grant 'Paper diary'"),
            ),
            (
                &["mcp", "call", "schema", "--provider", "https://a.example"],
                78,
                "not_connected",
                Typed("pdpp connect https://a.example"),
            ),
            (&["disconnect", "nosuch"], 78, "not_connected", Works("pdpp status")),
            (&["status", "--grant", "nosuch"], 78, "not_connected", Works("pdpp status")),
            (&["mcp", "call", "schema", "--grant", "nosuch"], 78, "not_connected", Works("pdpp status")),
            (&["mcp", "serve", "--grant", "nosuch"], 78, "not_connected", Works("pdpp status")),
            (&["disconnect", "--all"], 77, "confirmation_required", Typed("pdpp disconnect --all --yes")),
        ],
    );
    let ran = env.run(&["disconnect"]);
    assert_eq!(next_of(&ran), "pdpp disconnect <GRANT>", "which one is to end is the person's to say");
    let ran = env.run(&["status", "--grant", "grt_other_one_that_is_lost"]);
    for name in ["--grant grt_made_up_1 ", "--grant grt_other_one_that_is_long ", "(Paper diary 2)"] {
        assert!(ran.stderr.contains(name), "{name}: {ran:?}");
    }
    // The complete command, in JSON too; one of its options, a made-up one, is not lost.
    let ran = env.run(&["mcp", "call", "schema", "{}", "--json", "--grant", "Paper"]);
    let next = quoted_here("pdpp mcp call schema '{}' --json --grant 'Paper diary'");
    assert_eq!(json_of(&ran)["error"]["next"], next);
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_cache_is_reported_with_the_directory_behind_it() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let real = env.home().join("real one");
    let ran = env.run(&["connect", provider.url(), "--no-browser", "--cache-dir", real.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let link = env.home().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    for line in [&["status"][..], &["mcp", "call", "schema"]] {
        let ran = env.run(&[line, &["--cache-dir", link.to_str().unwrap()]].concat());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("code: cache_unreadable"), "{ran:?}");
        let next = next_of(&ran);
        let real = dunce::canonicalize(&real).unwrap();
        assert_eq!(next, format!("pdpp --cache-dir '{}' {}", real.display(), line.join(" ")));
        let ran = typed(&env, &next);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
}
