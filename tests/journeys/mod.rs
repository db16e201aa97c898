//! Journeys: can a reader who sees one view of the tools' answers complete tasks, without a dead end, a loop, a lost
//! or repeated row, and how many calls and bytes does that take?
//!
//! No model is involved: one scripted reader ([`reader`]) plays every task of `tests/fixtures/journeys`, which are
//! data. The true answers are computed from the seed ([`oracle`]).

pub mod oracle;
pub mod reader;
pub mod stage;
pub mod view;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};

use oracle::Oracle;
use reader::{Played, Task, play};
use stage::Stage;
use view::View;

/// Bounds of one result, in bytes (R4.8), and of both views of the index together (R3.3).
const MOST_TEXT: usize = 8_000;
const MOST_STRUCTURED: usize = 10_000;
const MOST_INDEX: usize = 16_000;
/// The budget for the median result of a view, in bytes.
const MOST_MEDIAN: usize = 2_000;

fn tasks() -> Vec<Task> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/journeys");
    let mut files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let read = |file: &std::path::PathBuf| -> Vec<Task> {
        let text = std::fs::read_to_string(file).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    files.iter().flat_map(read).collect()
}

pub struct Line {
    pub task: String,
    pub view: View,
    pub played: Played,
}

/// Plays every task of `seed` in both views.
async fn play_all(seed: u64) -> Vec<Line> {
    let (stage, oracle) = (Stage::new(seed).await, Oracle::new(seed));
    let only = std::env::var("PDPP_JOURNEY").ok();
    let mut tasks = tasks();
    tasks.retain(|task| only.as_ref().is_none_or(|only| task.name.contains(only)));
    let lines = in_both_views(&tasks, 1, async |task, view| {
        let tools = stage.tools(task.provider, task.grant.as_deref());
        play(task, view, &tools, &oracle).await
    });
    lines.await
}

/// Plays each of `tasks` in both views, `at_once` at a time.
async fn in_both_views(
    tasks: &[Task],
    at_once: usize,
    play: impl AsyncFn(&Task, View) -> Played,
) -> Vec<Line> {
    let each = tasks.iter().flat_map(|task| [(task, View::Text), (task, View::Structured)]);
    let lines =
        each.map(async |(task, view)| Line { task: task.name.clone(), view, played: play(task, view).await });
    futures_util::stream::iter(lines).buffered(at_once).collect().await
}

fn median(sizes: impl IntoIterator<Item = usize>) -> usize {
    let mut sizes = sizes.into_iter().collect::<Vec<_>>();
    sizes.sort_unstable();
    sizes.get(sizes.len() / 2).copied().unwrap_or(0)
}

/// The table that shows the effect of a change to the surface.
pub fn table(lines: &[Line]) -> String {
    let mut out = format!(
        "{:<34} {:<10} {:>5} {:>6} {:>8} {:>7}  result\n",
        "task", "view", "calls", "fewest", "bytes", "largest"
    );
    for line in lines {
        let played = &line.played;
        let _ = writeln!(
            out,
            "{:<34} {:<10} {:>5} {:>6} {:>8} {:>7}  {}",
            line.task,
            format!("{:?}", line.view).to_lowercase(),
            played.calls,
            played.fewest,
            played.bytes.iter().sum::<usize>(),
            played.bytes.iter().max().unwrap_or(&0),
            played.failure.as_deref().unwrap_or("solved"),
        );
    }
    for view in [View::Text, View::Structured] {
        let of_view = || lines.iter().filter(|line| line.view == view);
        let sum = |count: &dyn Fn(&Played) -> usize| of_view().map(|line| count(&line.played)).sum::<usize>();
        let _ = writeln!(
            out,
            "\n{view:?}: {} of {} tasks solved; {} calls, {} at least; {} bytes; a task's median result {}, any result's {}, the largest {}",
            of_view().filter(|line| line.played.failure.is_none()).count(),
            of_view().count(),
            sum(&|played| played.calls),
            sum(&|played| played.fewest),
            sum(&|played| played.bytes.iter().sum()),
            median_of_tasks(lines, view),
            median(of_view().flat_map(|line| line.played.bytes.clone())),
            of_view().flat_map(|line| line.played.bytes.clone()).max().unwrap_or(0),
        );
    }
    out
}

/// The median over tasks of each task's median result, so that one long walk does not outweigh all others.
fn median_of_tasks(lines: &[Line], view: View) -> usize {
    let of_view = lines.iter().filter(|line| line.view == view);
    median(of_view.map(|line| median(line.played.bytes.clone())))
}

/// With `PDPP_JOURNEY=name cargo test journeys -- --nocapture`, one task is played and everything that it sees is
/// shown.
#[allow(clippy::print_stderr, reason = "the harness keeps it unless asked")]
fn check(seed: u64, lines: &[Line]) {
    let table = table(lines);
    if std::env::var_os("PDPP_JOURNEY").is_some() {
        for line in lines {
            eprintln!("== {} {:?}\n{}", line.task, line.view, line.played.trace);
        }
    }
    eprintln!("seed {seed}\n{table}");
    let failed = lines.iter().filter(|line| line.played.failure.is_some()).count();
    assert_eq!(failed, 0, "journeys fail on seed {seed}:\n{table}");
    for view in [View::Text, View::Structured] {
        let of_view = || lines.iter().filter(|line| line.view == view);
        let calls = of_view().map(|line| line.played.calls).sum::<usize>();
        let fewest = of_view().map(|line| line.played.fewest).sum::<usize>();
        assert!(calls * 10 <= fewest * 13, "{view:?}: {calls} calls, {fewest} are enough\n{table}");
        assert!(median_of_tasks(lines, view) < MOST_MEDIAN, "{view:?}: the median result\n{table}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_task_is_solved_in_both_views() {
    let lines = play_all(1).await;
    assert!(tasks().len() >= 40);
    check(1, &lines);
    if std::env::var_os("PDPP_JOURNEY").is_none() {
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../snapshots" }, {
            insta::assert_snapshot!("journeys", table(&lines));
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_task_is_solved_in_another_life() {
    check(20_261_128, &play_all(20_261_128).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_task_is_solved_in_a_third_life() {
    check(977, &play_all(977).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_are_solved_through_the_binary() {
    let (stage, oracle) = (Stage::new(1).await, Oracle::new(1));
    let env = crate::support::env::TestEnv::new();
    let tools = stage::served(&env, stage.url()).await;
    let served = tasks().into_iter().filter(|task| task.served).collect::<Vec<_>>();
    assert!(served.len() >= 4);
    for task in &served {
        for view in [View::Text, View::Structured] {
            let played = play(task, view, &tools, &oracle).await;
            assert_eq!(played.failure, None, "{}: {}", task.name, played.trace);
        }
    }
}

/// The same tasks over a package: the grant, one of a provider that is gone, and one of a provider that never
/// answers. Everything is found, in honest partial answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r6_5_tasks_are_solved_over_a_package_with_grants_that_fail() {
    let (stage, oracle) = (Stage::new(1).await, Oracle::new(1));
    let gone = stage::provider_that(None).await;
    let silent = stage::provider_that(Some(|| std::future::pending().boxed())).await;
    let known = |key: &str| {
        vec![pdpp::mcp::reading::package::KnownSource {
            connector_key: Some(key.to_owned()),
            connections: vec![(format!("cin_{key}"), None)],
            streams: vec![format!("{key}_log")],
            has_all_streams: true,
        }]
    };
    let tasks = tasks().into_iter().filter(|task| task.provider == stage::Provider::Full).collect::<Vec<_>>();
    // Several at a time, because most of the time is spent waiting for the provider that never answers.
    let lines = in_both_views(&tasks, 8, async |task, view| {
        let grants = vec![
            (gone.clone(), "t".to_owned(), known("attic")),
            stage.grant(task.grant.as_deref()),
            (silent.clone(), "t".to_owned(), known("cellar")),
        ];
        let tools = stage.package(grants, Duration::from_secs(3));
        play(task, view, &tools, &oracle).await
    });
    let lines = lines.await;
    let mut failed = String::new();
    for Line { task, view, played } in &lines {
        // Errors that a provider would report are found here without asking one.
        let earlier = ["unknown_connection", "stream_not_granted"];
        let is_earlier = |why: &&String| {
            why.starts_with("not the error context.")
                && earlier.iter().any(|code| why.ends_with(&format!("{code:?})")))
        };
        if let Some(why) = played.failure.as_ref().filter(|why| !is_earlier(why)) {
            let _ = writeln!(failed, "{task} {view:?}: {why}\n{}", played.trace);
        }
    }
    assert!(lines.len() > 60);
    assert_eq!(failed, "");
}

/// Whether a task needs no more than the reference's hosted tools give: there, a document is one text of its record,
/// without expanded records, and blobs are not available.
fn is_of_texts_and_rows(task: &Task) -> bool {
    // The document that this one leads to contains a number.
    let is_led_to_a_document = task.name == "error-no-text";
    !is_led_to_a_document
        && task.steps.iter().all(|step| match step {
            reader::Step::Call { call, arguments } if call == "fetch" => {
                arguments.contains_key("fields") && !arguments.contains_key("expand")
            }
            reader::Step::Read { .. } => false,
            _ => !task.name.starts_with("blob"),
        })
}

/// Tasks over two accounts of one connector without naming one: two grants of a package, which are not merged (R6.6).
const OVER_TWO_GRANTS: [&str; 4] =
    ["groups-over-two-mailboxes", "page-two-mailboxes", "page-two-mailboxes-sorted", "which-needs-no-choice"];

/// The same tasks with the token of a package, through a provider's own tools, which answer like the reference's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r6_1_tasks_are_solved_with_the_token_of_a_package() {
    let (stage, oracle) = (Stage::new(1).await, Oracle::new(1));
    let of_full = tasks().into_iter().filter(|task| task.provider == stage::Provider::Full);
    let tasks = of_full.filter(is_of_texts_and_rows).collect::<Vec<_>>();
    let lines = in_both_views(&tasks, 1, async |task, view| {
        let (url, _) = stage.package_provider(task.grant.as_deref()).await;
        play(task, view, &stage.over_package_token(&url), &oracle).await
    });
    let mut failed = String::new();
    for Line { task, view, played } in lines.await {
        let Some(why) = played.failure else { continue };
        // If a resource server refuses with a specific code, hosted tools find nothing, or the error is found here.
        let is_code = why.starts_with("not the error context.")
            && ["not_found", "stream_not_granted"].iter().any(|code| why.ends_with(&format!("{code:?})")));
        let is_choice = OVER_TWO_GRANTS.contains(&task.as_str())
            && (why.contains("ambiguous_connection") || why == "there are no groups");
        if !is_code && !is_choice {
            let _ = writeln!(failed, "{task} {view:?}: {why}\n{}", played.trace);
        }
    }
    assert!(tasks.len() > 60, "{}", tasks.len());
    assert_eq!(failed, "");
}

/// A page of rows that do not all fit costs one read; a page of hits costs one in each connection that has more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r4_8_a_page_of_a_package_costs_one_read_of_each_connection() {
    let stage = Stage::new(1).await;
    let (url, provider) = stage.package_provider(None).await;
    let tools = stage.over_package_token(&url);
    for (tool, arguments, most) in [
        ("query_records", serde_json::json!({"stream": "transactions", "limit": 100}), 1),
        ("search", serde_json::json!({"q": "invoice", "limit": 100}), 7),
    ] {
        let (mut next, mut pages, mut ids) = (arguments, 0, std::collections::BTreeSet::new());
        while next.is_object() && pages < 12 {
            let answer = tools.call(tool, next.as_object().unwrap().clone()).await;
            let reads = provider.reads();
            assert!((1..=most).contains(&reads.len()), "{tool}, page {pages}: {reads:?}");
            assert!(answer.text.len() <= MOST_TEXT, "{}", answer.text);
            let rows = answer.structured.pointer("/data/data").or(answer.structured.get("results")).unwrap();
            for row in rows.as_array().unwrap() {
                let of = [&row["connection_id"], &row["id"]].map(ToString::to_string);
                assert!(ids.insert(of), "twice: {row}");
            }
            next = answer.structured["next"]["arguments"].clone();
            pages += 1;
        }
        assert!(pages > 3 && ids.len() > pages, "{tool}: {pages} pages, {} rows", ids.len());
    }
}

/// The same through the real binary, over three sandboxes: a healthy one, a slow one, and one that was killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r6_5_tasks_are_solved_by_serve_over_three_sandboxes_one_killed_one_slow() {
    let oracle = Oracle::new(1);
    let most = ["mail", "chat", "coding", "bank"].map(str::to_owned);
    // The tasks about the four connectors of the healthy one.
    let is_played = |task: &Task| {
        task.provider == stage::Provider::Full
            && match &task.grant {
                Some(grant) => grant.iter().all(|key| most.contains(key)),
                None => task.served && task.name != "find-what-there-is",
            }
    };
    let tasks = tasks().into_iter().filter(is_played).collect::<Vec<_>>();
    assert!(tasks.len() >= 5, "{}", tasks.len());
    let three = stage::Three::start(Duration::from_millis(300)).await;
    let each = tasks.iter().map(async |task| {
        let env = crate::support::env::TestEnv::new();
        three.keep_in(&env, task.grant.as_deref().unwrap_or(&most));
        let tools = stage::serve(&env).await;
        for view in [View::Text, View::Structured] {
            let played = play(task, view, &tools, &oracle).await;
            assert_eq!(played.failure, None, "{} {view:?}: {}", task.name, played.trace);
        }
        // Missing sources are reported, and slow ones are included.
        let (mut next, mut has_slow) = (serde_json::json!({"q": "the", "limit": 100}), false);
        while next.is_object() && !has_slow {
            let all = tools.call("search", next.as_object().unwrap().clone()).await;
            assert!(all.text.contains("music (provider_unreachable)"), "{}", all.text);
            has_slow = all.text.contains("connector_key=calendar");
            next = all.structured["next"]["arguments"].clone();
        }
        assert!(has_slow);
    });
    futures_util::stream::iter(each).buffer_unordered(3).collect::<()>().await;
}
