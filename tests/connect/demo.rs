//! `pdpp demo`: its message when it cannot continue, and that it leaves nothing behind, whenever it is stopped.

use crate::support::env::TestEnv;

#[cfg(unix)]
#[test]
fn a_demo_that_cannot_go_on_says_how_it_can() {
    let mut env = TestEnv::new();
    env.set("TMPDIR", Some("/nosuch".to_owned()));
    let ran = env.run(&["demo"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("TMPDIR=/tmp pdpp demo"), "{}", ran.stderr);
    env.set("PDPP_OWNER_TOKEN", Some("x".to_owned()));
    let ran = env.run(&["demo"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(77), ""), "{ran:?}");
    assert!(ran.stderr.contains("next: env -u PDPP_OWNER_TOKEN pdpp demo"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("\\n"), "{}", ran.stderr);
}

#[test]
fn a_demo_breaks_no_word_and_shows_what_a_grant_does_not_give() {
    // The path of a store below Windows' folder of temporary files is longer than 40.
    let widths = if cfg!(windows) { &["120", "80"][..] } else { &["120", "80", "40"] };
    for &width in widths {
        let mut env = TestEnv::new();
        env.set("COLUMNS", Some(width.to_owned()));
        let ran = env.run(&["demo"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        // A single word, such as an address or a path, may be longer than the terminal is wide.
        let too_long =
            |line: &&str| line.chars().count() > width.parse().unwrap() && line.trim_start().contains(' ');
        assert_eq!(ran.stdout.lines().find(too_long), None, "{}", ran.stdout);
        assert!(!ran.stdout.contains('\u{1b}'), "no terminal, no colour");
        let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "15 read = 15 new + 0 changed + 0 same + 0 skipped + 0 bad",
            "22 read = 22 new",
            "[x] Gmail: message bodies, 14 records",
            "[ ] Gmail: security messages, 1 record",
            "[ ] bank: rows, 7 records",
            "fitter</mark> comes on Thursday between eight and ten",
            "pdpp import ~/Downloads/takeout.zip",
        ] {
            assert!(words.contains(part), "{part}: {}", ran.stdout);
        }
        let (granted, beyond) = words.split_once("“What was paid from the bank account?”").unwrap();
        assert!(beyond.contains("the grant holds no stream `rows`"), "{beyond}");
        // Mail that is older than the grant's first day, a sign-in code, and the bank's file.
        for hidden in ["blood test", "402911", "11200"] {
            assert!(!granted.contains(hidden) && !beyond.contains(hidden), "{hidden}: {}", ran.stdout);
        }
        let tokens = words.split("list of tools costs about").nth(1).unwrap().split_whitespace().next();
        let inspect: serde_json::Value =
            serde_json::from_str(&env.run(&["mcp", "inspect", "--json"]).stdout).unwrap();
        assert_eq!(tokens.unwrap(), inspect["tools_tokens"].to_string());
    }
}

#[test]
fn o1_2_a_demo_leaves_the_persons_own_store_alone() {
    let mut env = TestEnv::new();
    let own = env.home().join("mine");
    env.set("PDPP_DATA_DIR", Some(own.display().to_string()));
    let ran = env.run(&["demo"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(env.files(), [""; 0]);
}

#[cfg(unix)]
mod left_behind {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::os::unix::net::UnixListener;
    use std::path::Path;
    use std::process::Stdio;

    use rustix::process::{Pid, Signal, kill_process};

    use super::TestEnv;

    fn entries(dir: &Path) -> Vec<std::ffi::OsString> {
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }

    /// A place for temporary files that the test checks afterwards, and a keyring that would not answer.
    fn env() -> (TestEnv, std::path::PathBuf, UnixListener) {
        let mut env = TestEnv::new();
        let root = env.home().parent().unwrap().to_owned();
        let temporary = root.join("temporary");
        std::fs::create_dir(&temporary).unwrap();
        env.set("TMPDIR", Some(temporary.display().to_string()));
        let bus = UnixListener::bind(root.join("bus")).unwrap();
        bus.set_nonblocking(true).unwrap();
        env.set("DBUS_SESSION_BUS_ADDRESS", Some(format!("unix:path={}/bus", root.display())));
        (env, temporary, bus)
    }

    #[test]
    fn a_demo_leaves_neither_a_file_nor_a_token_in_the_keyring() {
        let (env, temporary, bus) = env();
        let ran = env.run(&["demo"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(bus.accept().is_err(), "a keyring was asked");
        assert_eq!(entries(&temporary), [""; 0]);
        assert_eq!(env.files(), [""; 0]);
    }

    /// The last line before a signal; the first is printed before the folder exists.
    const MOMENTS: [&str; 5] = ["1. Import", "2. Grant", "3. Agent", "→ schema", "→ search"];

    #[test]
    fn a_demo_leaves_nothing_whenever_it_is_stopped_and_advises_nothing_of_a_store_that_is_gone() {
        std::thread::scope(|scope| {
            for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
                scope.spawn(move || MOMENTS.iter().for_each(|moment| stop_at(moment, signal)));
            }
        });
    }

    fn stop_at(moment: &str, signal: Signal) {
        let (env, temporary, _bus) = env();
        let mut child = env.pdpp(&["demo"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains(moment)));
        if moment == MOMENTS[0] {
            while entries(&temporary).is_empty() && child.try_wait().unwrap().is_none() {
                std::thread::yield_now();
            }
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        let mut stderr = String::new();
        lines.for_each(drop);
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let code = child.wait().unwrap().code();
        let when = format!("{moment}, {signal:?}: {code:?} {stderr}");
        assert_eq!(entries(&temporary), [""; 0], "{when}");
        // A signal after the last answer stops nothing.
        if moment != MOMENTS[4] || code != Some(0) {
            assert_eq!(code, Some(130), "{when}");
            assert!(stderr.contains("next: pdpp demo\n") && !stderr.contains("pdpp connect"), "{when}");
        }
    }
}
