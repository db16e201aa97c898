//! What `pdpp import` prints: the plan before anything is written, and the result.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dialoguer::console::measure_text_width;
use serde_json::{Map, Value, json};

use crate::advice::Command;
use crate::archive::{LeftOut, Skipped};
use crate::error::Error;
use crate::import::places::Seen;
use crate::import::survey;
use crate::import::tally::{self, BadItem, Counts, Outcome, in_sum};
use crate::own;
use crate::own::import::{Imported, Plan};
use crate::text::one_line;

/// Names that one line lists.
const NAMED: usize = 3;
/// The most members of a source that are named as not recognised.
const UNRECOGNISED_NAMED: usize = 10;

/// Who can read the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// The person who typed the command: it is their store.
    You,
    /// Only the service of the separate set-up.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "the separate set-up exists only on Linux")
    )]
    Service,
}

impl Reader {
    const fn words(self) -> &'static str {
        match self {
            Self::You => "only you can read",
            Self::Service => "only its service can read",
        }
    }
}

/// What would be imported, and under which account.
pub(super) fn plan_text(plan: &Plan, dir: &Path, reader: Reader) -> String {
    let mut text = String::new();
    for typed in &plan.typed {
        let _ = writeln!(text, "{}", one_line(&typed.to_string_lossy()));
        for planned in plan.sources.iter().filter(|planned| planned.path == *typed) {
            let _ = writeln!(
                text,
                "  {}  {}: {}, {}, {}",
                planned.connector,
                one_line(&planned.account),
                planned.title,
                files(planned.files),
                size(planned.bytes)
            );
            if planned.is_granted {
                text.push_str("    An agent can already read this account. Within its grant it will see the new records too.\n");
            }
            for note in &planned.notes {
                let _ = writeln!(text, "    {}", one_line(note));
            }
            if planned.has_times {
                let _ = writeln!(text, "    times without a time zone: {}", planned.zone_in_words);
            }
        }
        unrecognised_text(&mut text, typed, plan);
        for (_, left_out) in plan.left_out.iter().filter(|(path, _)| path == typed) {
            left_out_text(&mut text, "left out", &left_out.skipped);
            left_out_text(&mut text, "cannot be read", &left_out.unreadable);
        }
    }
    let _ = write!(
        text,
        "The data will be kept in {}, which {}. No agent can read what you have not granted.",
        dir.display(),
        reader.words()
    );
    text
}

fn left_out_text(text: &mut String, what: &str, left_out: &[Skipped]) {
    for (why, labels) in survey::by_reason(left_out) {
        let _ = writeln!(text, "  {what} ({why}): {}", some(&labels));
    }
}

/// The members of a source that no format recognises, by reason.
fn unrecognised_text(text: &mut String, typed: &Path, plan: &Plan) {
    let of_source = || plan.unrecognised.iter().filter(|(path, _)| path == typed).map(|(_, one)| one);
    for (why, labels) in survey::by_reason(of_source().take(UNRECOGNISED_NAMED)) {
        let labels: Vec<_> = labels.into_iter().map(one_line).collect();
        let _ = writeln!(text, "  not recognised ({}): {}", one_line(why), labels.join(", "));
    }
    let more = of_source().count().saturating_sub(UNRECOGNISED_NAMED);
    if more > 0 {
        let all = Command::new("import --dry-run --json").value(typed.display().to_string());
        let more = grouped(more as u64);
        let _ = writeln!(text, "  not recognised: {more} more that are not named here. To see all: {all}");
    }
}

/// A few names, and their number.
fn some(names: &[&str]) -> String {
    // A name may contain a line break: what follows it would look like a line of this program.
    let first = names.iter().take(NAMED).map(|name| one_line(name)).collect::<Vec<_>>().join(", ");
    if names.len() <= NAMED { first } else { format!("{first} … ({} in all)", grouped(names.len() as u64)) }
}

/// The plan as JSON.
pub(super) fn plan_json(plan: &Plan) -> Value {
    let sources: Vec<Value> = plan
        .sources
        .iter()
        .map(|planned| {
            json!({
                "format": planned.format,
                "connector": planned.connector,
                "account": planned.account,
                "path": planned.path,
                "files": planned.files,
                "bytes": planned.bytes,
                "timezone": planned.zone,
                "notes": planned.notes,
                "granted": planned.is_granted,
            })
        })
        .collect();
    let named = |path: &Path, one: &Skipped| json!({ "path": path, "member": one.label, "reason": one.why });
    let all = |of: fn(&LeftOut) -> &Vec<Skipped>| -> Vec<Value> {
        let each = plan.left_out.iter();
        each.flat_map(|(path, left_out)| of(left_out).iter().map(|one| named(path, one))).collect()
    };
    let unrecognised: Vec<Value> = plan.unrecognised.iter().map(|(path, one)| named(path, one)).collect();
    json!({
        "plan": sources,
        "unrecognised": unrecognised,
        "left_out": all(|left_out| &left_out.skipped),
        "unreadable": all(|left_out| &left_out.unreadable),
    })
}

/// The result for each source, as JSON, with what the plan says about it: nobody sees the plan with `--json`.
pub(super) fn result_json(plan: &Plan, outcomes: &[Outcome], bytes: Option<u64>) -> Value {
    let planned = |outcome: &Outcome| {
        let is_its = |planned: &&own::import::Planned| {
            planned.path == outcome.path
                && planned.format == outcome.format
                && planned.account == outcome.account
        };
        plan.sources.iter().find(is_its).map(|planned| planned.notes.as_slice()).unwrap_or_default()
    };
    let reasons = |counts: &BTreeMap<Cow<'static, str>, u64>| -> Map<String, Value> {
        counts.iter().map(|(why, count)| (why.to_string(), (*count).into())).collect()
    };
    let sources: Vec<Value> = outcomes
        .iter()
        .map(|outcome| {
            let counts = &outcome.counts;
            json!({
                "format": outcome.format,
                "account": outcome.account,
                "path": outcome.path,
                "read": counts.read,
                "new": counts.new,
                "changed": counts.changed,
                "same": counts.same,
                "skipped": reasons(&counts.skipped),
                "bad": reasons(&counts.bad),
                "told": reasons(&counts.told),
                "unread": outcome.unread,
                "changed_while_read": outcome.moving,
                "gone": outcome.gone,
                "known_bad": outcome.known_bad,
                "notes": planned(outcome).iter().chain(&outcome.notes).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({ "sources": sources, "store_bytes": bytes, "next": Command::new("connect local") })
}

/// The result for each source, `width` columns wide.
pub(super) fn result_text(
    outcomes: &[Outcome],
    apart: u64,
    (dir, bytes, reader): (&Path, Option<u64>, Reader),
    width: u16,
) -> String {
    let mut text = accounts_of_items(outcomes, usize::from(width));
    text.push_str(&details_text(outcomes));
    if let Some(apart) = own::state::kept_apart(apart) {
        let _ = writeln!(text, "{apart}");
    }
    let kept = dir.display();
    let _ = write!(
        text,
        "Kept in {kept} ({}{} it). No agent can read what you have not granted.\nNext: {}",
        bytes.map(|bytes| format!("{}, ", size(bytes))).unwrap_or_default(),
        reader.words(),
        Command::new("connect local")
    );
    text
}

/// The result for known sources, apart from what was imported from them.
pub(super) struct Looked {
    /// Sources that no longer exist.
    pub gone: Vec<PathBuf>,
    /// Sources that no longer have anything known in them.
    pub emptied: Vec<PathBuf>,
    /// What known sources have that was not imported from them before.
    pub news: Vec<survey::New>,
    /// Sources that could not be looked into, and why.
    pub failed: Vec<(PathBuf, Error)>,
    /// Places where programs keep more data that could be imported, and what it is.
    pub places: Vec<Seen>,
}

/// Places, as JSON.
pub(super) fn places_json(places: &[Seen]) -> Value {
    places.iter().map(|one| json!({ "kind": one.title, "path": one.path })).collect()
}

/// The result for known sources in a few lines, for a timer.
pub(super) fn refresh_text(imported: &Imported, looked: &Looked, width: u16) -> String {
    let (quiet, changed): (Vec<Outcome>, Vec<Outcome>) =
        imported.outcomes.iter().cloned().partition(Outcome::is_quiet);
    let mut text = String::new();
    if !changed.is_empty() {
        text.push_str(&accounts_of_items(&changed, usize::from(width)));
        text.push_str(&details_text(&changed));
    }
    let mut same: Vec<&Path> = quiet.iter().map(|one| one.path.as_path()).collect();
    same.retain(|path| !changed.iter().any(|one| one.path == *path));
    same.sort_unstable();
    same.dedup();
    let sources = if same.len() == 1 { "1 source".to_owned() } else { format!("{} sources", same.len()) };
    if changed.is_empty() && !same.is_empty() {
        let _ = writeln!(text, "Nothing new in {sources}.");
    } else if !same.is_empty() {
        let _ = writeln!(text, "Nothing else is new in {sources}.");
    }
    for (what, paths) in
        [("No longer there", &looked.gone), ("Empty, perhaps because a disk is not mounted", &looked.emptied)]
    {
        if !paths.is_empty() {
            let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let _ = writeln!(text, "{what}; the imported records stay: {}", some(&names));
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// The result for known sources, as JSON.
pub(super) fn refresh_json(plan: &Plan, imported: &Imported, looked: &Looked) -> Value {
    let bytes = (imported.store_bytes > 0).then_some(imported.store_bytes);
    let mut result = result_json(plan, &imported.outcomes, bytes);
    let new = |one: &survey::New| {
        json!({
            "path": one.path,
            "what": one.title,
            "account": one.account(),
            "files": one.labels.len(),
            "members": one.labels.iter().take(UNRECOGNISED_NAMED).collect::<Vec<_>>(),
            "question": one.question(),
        })
    };
    let failed = |(path, error): &(PathBuf, Error)| {
        let mut told = error.to_json();
        json!({ "path": path, "error": told["error"].take() })
    };
    result["kept_apart"] = imported.kept_apart.into();
    result["gone"] = json!(looked.gone);
    result["empty"] = json!(looked.emptied);
    result["left_out"] = looked.news.iter().map(new).collect();
    result["failed"] = looked.failed.iter().map(failed).collect();
    result["places"] = places_json(&looked.places);
    if let Some(stopped) = &imported.stopped {
        result["error"] = stopped.to_json()["error"].take();
    }
    result
}

/// The lines about items and members, by reason.
fn details_text(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    let all = in_sum(outcomes);
    for (why, count) in &all.skipped {
        let _ = writeln!(text, "{} skipped: {why}", grouped(*count));
    }
    for (why, count) in &all.bad {
        let named = outcomes.iter().flat_map(|outcome| &outcome.bad).filter(|item| item.reason == *why);
        let named: Vec<String> = named.take(tally::NAMED).map(bad_text).collect();
        let more = if *count > named.len() as u64 { " (all: --report FILE)" } else { "" };
        let _ = writeln!(text, "{} bad, {why}: {}{more}", grouped(*count), named.join("; "));
    }
    for (what, count) in &all.told {
        let items = if *count == 1 { "item" } else { "items" };
        let _ = writeln!(text, "{} {items} kept, {what}", grouped(*count));
    }
    let known_bad: u64 = outcomes.iter().map(|outcome| outcome.known_bad).sum();
    if known_bad > 0 {
        let again = Command::typed_with("--report", "FILE", "import");
        let (items, them) = if known_bad == 1 { ("item", "it") } else { ("items", "them") };
        let _ = writeln!(
            text,
            "{} {items} in unchanged files could not be read before; to try {them} again and list \
             {them}: {again}",
            grouped(known_bad)
        );
    }
    for outcome in outcomes {
        for unread in &outcome.unread {
            let _ = writeln!(
                text,
                "not read to the end: {} › {}: {}",
                name(&outcome.path),
                one_line(&unread.member),
                unread.reason
            );
        }
        let moving: Vec<&str> = outcome.moving.iter().map(String::as_str).collect();
        if !moving.is_empty() {
            let _ =
                writeln!(text, "changed while being read, so it is read again next time: {}", some(&moving));
        }
        for note in &outcome.notes {
            let _ = writeln!(text, "{}", one_line(note));
        }
        if outcome.gone > 0 {
            let gone = files(usize::try_from(outcome.gone).unwrap_or(usize::MAX));
            let _ = writeln!(text, "no longer there, their records stay: {gone} of {}", name(&outcome.path));
        }
    }
    text
}

/// One line per source and one for all: read = new + changed + same + skipped + bad. If a line is too
/// long, the sum is below it.
fn accounts_of_items(outcomes: &[Outcome], width: usize) -> String {
    let mut rows: Vec<[String; 4]> = outcomes
        .iter()
        .map(|one| {
            [one.connector.clone(), one_line(&one.account).into_owned(), name(&one.path), sum(&one.counts)]
        })
        .collect();
    if rows.len() > 1 {
        rows.push(["in all".to_owned(), String::new(), String::new(), sum(&in_sum(outcomes))]);
    }
    let longest = |at: usize| rows.iter().map(|row| measure_text_width(&row[at])).max().unwrap_or(0);
    let pad = |text: &str, to: usize| " ".repeat(to.saturating_sub(measure_text_width(text)));
    let (first, second, third) = (longest(0), longest(1), longest(2));
    let is_wide = first + second + third + longest(3) + 6 <= width;
    let line = |[a, b, c, d]: &[String; 4]| {
        let before = format!("{a}{}  {b}{}  {c}", pad(a, first), pad(b, second));
        if is_wide {
            format!("{before}{}  {d}\n", pad(c, third))
        } else {
            format!("{}\n  {d}\n", before.trim_end())
        }
    };
    rows.iter().map(line).collect()
}

fn name(path: &Path) -> String {
    one_line(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()).into_owned()
}

fn sum(counts: &Counts) -> String {
    format!(
        "{} read = {} new + {} changed + {} same + {} skipped + {} bad",
        grouped(counts.read),
        grouped(counts.new),
        grouped(counts.changed),
        grouped(counts.same),
        grouped(counts.skipped_in_all()),
        grouped(counts.bad_in_all())
    )
}

fn bad_text(item: &BadItem) -> String {
    let path = item.path.file_name().unwrap_or(item.path.as_os_str()).to_string_lossy();
    let member = if *path == item.member { path.into_owned() } else { format!("{path} › {}", item.member) };
    let member = one_line(&member);
    let place = match item.line {
        Some(line) => format!("line {}", grouped(line)),
        None => format!("byte {}", grouped(item.byte)),
    };
    format!("{member}, item {} at {place}", grouped(item.item))
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{} files", grouped(count as u64)) }
}

/// A number with a comma after each thousand.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(super) fn size(bytes: u64) -> String {
    indicatif::DecimalBytes(bytes).to_string()
}

pub(super) fn duration(seconds: u128) -> String {
    let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
    indicatif::HumanDuration(Duration::from_secs(seconds.max(1))).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        for (number, wanted) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_204_551_234, "1,204,551,234")] {
            assert_eq!(grouped(number), wanted);
        }
    }

    #[test]
    fn a_name_with_a_line_break_makes_no_line_of_its_own() {
        let item = BadItem {
            path: "a\n999 new.txt".into(),
            member: "b\nerror: x".to_owned(),
            item: 1,
            byte: 0,
            line: Some(1),
            reason: "no header".into(),
        };
        let outcome = Outcome {
            connector: "telegram".to_owned(),
            account: "ana\nGranted until 2099".to_owned(),
            path: "a\n999 new.txt".into(),
            ..Outcome::default()
        };
        for text in [bad_text(&item), some(&["a\nb"]), name(&item.path), accounts_of_items(&[outcome], 200)] {
            assert!(!text.trim_end().contains('\n') && text.contains("\\n"), "{text}");
        }
    }

    #[test]
    fn o4_9_a_bad_item_is_named_by_where_it_is() {
        let item = BadItem {
            path: "a/takeout-001.zip".into(),
            member: "All mail.mbox".to_owned(),
            item: 30_112,
            byte: 1_204_551_234,
            line: None,
            reason: "no header".into(),
        };
        assert_eq!(bad_text(&item), "takeout-001.zip › All mail.mbox, item 30,112 at byte 1,204,551,234");
        let line = BadItem { path: "x/a.csv".into(), member: "a.csv".to_owned(), line: Some(7), ..item };
        assert_eq!(bad_text(&line), "a.csv, item 30,112 at line 7");
    }

    #[test]
    fn o4_4_a_source_is_a_line_or_two_where_there_is_no_room_and_what_was_bad_before_is_said() {
        let outcome = |account: &str, same: u64, known_bad: u64| Outcome {
            connector: "mail".to_owned(),
            account: account.to_owned(),
            path: "x/All mail.mbox".into(),
            counts: Counts { read: same, same, ..Counts::default() },
            known_bad,
            ..Outcome::default()
        };
        let outcomes = [outcome("Ana", 1200, 2), outcome("\u{4e16}\u{754c}", 3, 0)];
        let sum =
            |count: &str| format!("{count} read = 0 new + 0 changed + {count} same + 0 skipped + 0 bad");
        let wide = format!(
            "mail    Ana   All mail.mbox  {}\nmail    \u{4e16}\u{754c}  All mail.mbox  {}\nin all{}{}\n",
            sum("1,200"),
            sum("3"),
            " ".repeat(23),
            sum("1,203")
        );
        assert_eq!(accounts_of_items(&outcomes, 200), wide);
        let narrow = format!("mail    Ana   All mail.mbox\n  {}\n", sum("1,200"));
        assert!(accounts_of_items(&outcomes, 80).starts_with(&narrow));
        let text = result_text(&outcomes, 0, (Path::new("/own"), Some(1), Reader::You), 200);
        assert!(text.contains("\n2 items in unchanged files could not be read before; "), "{text}");
        assert!(text.ends_with("\nNext: pdpp connect local"), "{text}");
    }
}
