//! Journeys over data that only imports have brought in: exports of a made-up person, imported by the binary, granted
//! at a terminal, and questions whose right answers follow from the data itself.
//!
//! One scripted reader ([`crate::journeys::reader`]) plays every task in each view separately. `PDPP_LIFE=FOLDER
//! cargo test -- --ignored a_life_to_look_at` writes such exports, to import them and to ask questions by hand.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers of a made-up life are small"
)]
#![allow(clippy::too_many_lines, reason = "a list of questions is as long as it is")]

mod days;
pub mod export;
mod person;
mod stage;
mod tasks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::journeys::oracle::Truth;
use crate::journeys::reader::play;
use crate::journeys::view::View;
use crate::journeys::{Line, table};
use crate::support::env::Ran;
use person::Person;
use stage::{Stage, begin};
use tasks::{Asked, Under};

/// Everything that is reported is already true.
struct Told;

impl Truth for Told {
    fn answer(&self, question: &Value) -> Value {
        question.clone()
    }
}

/// Plays all tasks over the data in both views.
async fn play_all(seed: u64) -> (Vec<Line>, [usize; 2]) {
    let person = Person::new(seed);
    let stage = Stage::new(&person);
    stage.grant();
    stage.grant_narrowly(&export::mail::owner(&person, person::Box_::Private));
    let only = std::env::var("PDPP_JOURNEY").ok();
    let mut asked = tasks::all(&person);
    asked.retain(|asked| only.as_ref().is_none_or(|only| asked.task.name.contains(only)));
    let (mut lines, mut looks) = (Vec::new(), [0; 2]);
    for (view, looks) in [View::Text, View::Structured].into_iter().zip(&mut looks) {
        let (all, names, calls) = begin(&stage.env, &person, view, true).await;
        let (narrow, few, more) = begin(&stage.narrow, &person, view, false).await;
        *looks = calls + more;
        for Asked { task, under } in &asked {
            let (tools, names) = match under {
                Under::All => (&all, &names),
                Under::Bounded => (&narrow, &few),
            };
            let mut task = task.clone();
            task.given.clone_from(names);
            let played = play(&task, view, tools, &Told).await;
            lines.push(Line { task: task.name.clone(), view, played });
        }
    }
    (lines, looks)
}

/// All are solved, with only a few more calls than a reader who knows the data needs.
#[allow(clippy::print_stderr, reason = "the harness keeps it unless asked")]
async fn check(seed: u64) {
    let (lines, looks) = play_all(seed).await;
    let table = table(&lines);
    let is_asked = std::env::var_os("PDPP_JOURNEY").is_some();
    for line in lines.iter().filter(|line| is_asked || line.played.failure.is_some()) {
        eprintln!("== {} {:?}\n{}", line.task, line.view, line.played.trace);
    }
    eprintln!("seed {seed}\n{table}");
    assert!(lines.iter().all(|line| line.played.failure.is_none()), "tasks fail on seed {seed}:\n{table}");
    if is_asked {
        return;
    }
    assert!(lines.len() >= 2 * 60, "{}", lines.len());
    for (view, looks) in [View::Text, View::Structured].into_iter().zip(looks) {
        let of_view = || lines.iter().filter(|line| line.view == view);
        let calls = of_view().map(|line| line.played.calls).sum::<usize>() + looks;
        let fewest = of_view().map(|line| line.played.fewest).sum::<usize>();
        assert!(calls * 10 <= fewest * 12, "{view:?}: {calls} calls, {fewest} are enough\n{table}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o8_9_questions_about_a_life_are_answered_in_both_views() {
    check(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o8_9_questions_about_another_life_are_answered() {
    check(20_261_132).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o8_9_questions_about_a_third_life_are_answered() {
    check(4_713).await;
}

/// Everything that was written is imported, once.
#[test]
fn o4_4_all_of_a_life_is_imported_and_a_second_import_changes_nothing() {
    let person = Person::new(7);
    let stage = Stage::new(&person);
    let sources = stage.imported["sources"].as_array().unwrap();
    let of = |name: &str| -> u64 {
        let theirs = sources.iter().filter(|one| one["path"].as_str().unwrap().contains(name));
        theirs.map(|one| one["new"].as_u64().unwrap()).sum()
    };
    for (name, items) in export::items(&person) {
        assert_eq!(of(name), items, "{name}: {sources:#?}");
    }
    assert!(sources.iter().all(|one| one["bad"] == serde_json::json!({})), "{sources:#?}");
    let again = stage.import(&[]);
    for one in again["sources"].as_array().unwrap() {
        assert_eq!((&one["new"], &one["changed"]), (&0.into(), &0.into()), "{one}");
    }
    let ran = stage.env.run(&["import", "--yes"]);
    assert_eq!((ran.code, complaints(&ran)), (Some(0), vec![]), "{}", ran.stdout);
    assert!(ran.stdout.starts_with("Nothing new in "), "{}", ran.stdout);
}

/// What is on standard error. On a slow machine, an import also writes there how far it is.
fn complaints(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().filter(|line| !line.ends_with(" left")).collect()
}

/// What is in a store.
fn content(dir: &Path) -> BTreeMap<String, String> {
    let store = pdpp::own::open_store(dir).unwrap();
    store
        .read::<_, rusqlite::Error>(|db, _| {
            let mut all = db.prepare(
                "SELECT s.connection || ' ' || s.stream || ' ' || r.key, whole(r.data, r.packed) FROM record r
                 JOIN slot s ON s.slot = r.slot WHERE r.data IS NOT NULL",
            )?;
            all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
        .unwrap()
}

/// Each service is exported again, over the earlier export, after more has happened, and a refresh imports it.
#[test]
fn o2_2_a_life_that_went_on_is_refreshed_to_what_it_is() {
    let person = Person::new(7);
    let (now, begun) =
        (Stage::new(&person), Stage::new(&person.until(person::at(person::day(2026, 3, 10), 0, 0))));
    let first = content(&begun.store());
    export::write(&person, begun.exports.path());
    let ran = begun.env.run(&["import", "--yes", "--json"]);
    assert_eq!((ran.code, complaints(&ran)), (Some(0), vec![]), "{}", ran.stdout);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(result["left_out"], serde_json::json!([]), "{result}");
    let (is, should) = (content(&begun.store()), content(&now.store()));
    let missing: Vec<_> = should.keys().filter(|key| !is.contains_key(*key)).collect();
    let foreign: Vec<_> = is.keys().filter(|key| !should.contains_key(*key)).collect();
    let other: Vec<_> =
        should.iter().filter(|(key, data)| is.get(*key).is_some_and(|is| is != *data)).collect();
    assert!(
        missing.is_empty() && foreign.is_empty() && other.is_empty(),
        "{missing:#?} {foreign:#?} {other:#?}"
    );
    assert!(first.len() * 10 < is.len() * 9, "{} of {}", first.len(), is.len());
}

#[test]
#[ignore = "writes a life to look at, where PDPP_LIFE names a folder"]
fn a_life_to_look_at() {
    let folder = PathBuf::from(std::env::var_os("PDPP_LIFE").expect("PDPP_LIFE names a folder"));
    let seed = std::env::var("PDPP_LIFE_SEED").ok().map_or(1, |seed| seed.parse().unwrap());
    export::write(&Person::new(seed), &folder);
    for path in export::paths(&folder) {
        assert!(path.exists(), "{}", path.display());
    }
}
