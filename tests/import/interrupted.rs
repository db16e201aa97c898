//! Whatever interrupts an import, the same command resumes it, with the same final result.

use std::time::{Duration, Instant};

use super::{Desk, table};
use crate::support::env::stoppable;

const ROWS: usize = 12_000;

/// How many times an import is interrupted.
fn times() -> u64 {
    std::env::var("PDPP_KILLS").ok().and_then(|times| times.parse().ok()).unwrap_or(8)
}

/// The result of an import that is not interrupted.
fn whole(text: &str) -> Vec<String> {
    let desk = Desk::new();
    let path = desk.file("a.csv", text);
    assert_eq!(desk.import(&path)[1], ROWS as u64);
    desk.content()
}

#[test]
fn o8_5_an_import_that_is_killed_again_and_again_ends_the_same() {
    let mails =
        super::mailbox("ana@example.org", 1_200).replace("Hello.", "One word and a needle, and more words.");
    let files = [("a.csv", table(2_500), 2_500), ("a.mbox", mails, 1_200)];
    let wanted = files.each_ref().map(|(name, text, items)| {
        let desk = Desk::new();
        let path = desk.file(name, text);
        let began = Instant::now();
        assert_eq!(desk.import(&path)[..2], [*items, *items]);
        (desk.content(), began.elapsed())
    });
    let (mut kills, mut random) = (0, 7_u64);
    for at in (0..2).cycle() {
        let ((name, text, items), (content, time)) = (&files[at], &wanted[at]);
        let desk = Desk::new();
        let path = desk.file(name, text);
        // Until one import ends before it is killed.
        while kills < times() {
            let mut child = desk
                .env
                .pdpp(&["import", path.to_str().unwrap(), "--yes", "--json"])
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap();
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            std::thread::sleep(*time * u32::try_from(random >> 40).unwrap() / (1 << 24));
            if child.try_wait().unwrap().is_some() {
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
        }
        let [read, new, changed, same] = desk.import(&path);
        assert_eq!((read, new + same, changed), (*items, *items, 0), "after {kills} kills");
        assert_eq!(desk.content(), *content, "after {kills} kills");
        if kills >= times() {
            break;
        }
    }
}

#[test]
fn o2_5_a_signal_ends_between_batches_and_the_same_command_goes_on() {
    let text = table(ROWS);
    let wanted = whole(&text);
    for signals in [1, 2] {
        stopped_by(signals, &text, &wanted);
    }
}

fn stopped_by(signals: usize, text: &str, wanted: &[String]) {
    let desk = Desk::new();
    let path = desk.file("a.csv", text);
    let child = stoppable(&mut desk.env.pdpp(&["import", path.to_str().unwrap(), "--yes"]))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // It has begun when its store exists: from then on a signal is only a request.
    let deadline = Instant::now() + Duration::from_mins(1);
    let has_begun = || {
        pdpp::own::open_store(&desk.own()).is_ok_and(|store| {
            let count = |db: &rusqlite::Connection, _: &_| {
                db.query_row("SELECT count(*) FROM record", [], |row| row.get(0))
            };
            store.read::<i64, rusqlite::Error>(count).is_ok_and(|count| count > 0)
        })
    };
    while !has_begun() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    for _ in 0..signals {
        // It may have ended by then.
        #[cfg(unix)]
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&child),
            rustix::process::Signal::INT,
        );
        #[cfg(windows)]
        crate::windows::ctrl_c_if_there(child.id());
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // It may already have ended.
    match output.status.code() {
        Some(0) => {}
        // The second signal may merge with the first; if not, nothing more is printed.
        Some(130) => {
            assert!(said.contains("Stopping after this batch"), "{said}");
            if signals > 1 && !said.contains("code: ") {
                desk.import(&path);
                assert_eq!(desk.content(), wanted);
                return;
            }
            assert!(said.contains("code: interrupted"), "{said}");
            assert!(
                said.contains(&format!(
                    "next: pdpp import {} --yes",
                    pdpp::text::shell_word(path.to_str().unwrap())
                )),
                "{said}"
            );
        }
        other => panic!("{other:?}: {said}"),
    }
    desk.import(&path);
    assert_eq!(desk.content(), wanted);
}

#[test]
fn o3_3_a_reader_sees_whole_batches_while_an_import_writes() {
    let desk = Desk::new();
    let path = desk.file("a.csv", table(ROWS));
    let mut child = desk
        .env
        .pdpp(&["import", path.to_str().unwrap(), "--yes"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut last = 0;
    while child.try_wait().unwrap().is_none() {
        let Ok(store) = pdpp::own::open_store(&desk.own()) else { continue };
        let read = store.read::<(i64, i64), rusqlite::Error>(|db, _| {
            db.query_row(
                "SELECT (SELECT count(*) FROM record), (SELECT coalesce(sum(items), 0) FROM checkpoint)",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
        });
        let (records, items) = read.unwrap();
        assert_eq!(records, items, "a batch and its checkpoint are one");
        assert!(records >= last, "{records} after {last}");
        last = records;
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
