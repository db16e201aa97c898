//! `pdpp log`: what agents read through this computer.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::num::NonZeroUsize;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Global;
use crate::access_log::{AccessLog, Entries, Entry};
use crate::advice::Command;
use crate::error::{Error, Kind, Result};
use crate::provider::url::ProviderUrl;
use crate::text;
use crate::time_text;
use crate::ui::{Column, Ui, table};

/// Show what agents read through this computer
///
/// Each call of a tool: when it was made, which program made it (by the name it gives itself), which tool,
/// provider, grant and streams it used, how many rows and bytes came back, and how it ended. The log never has
/// what was asked for or what was answered. `pdpp mcp serve` writes it to two files of 1 MiB in the credential
/// cache's directory.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only calls since this time: 30m, 2h, 7d, a date (UTC) or a time
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,

    /// Show at most this many calls, the newest ones
    #[arg(long, value_name = "N", default_value = "100")]
    pub limit: NonZeroUsize,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,

    /// Stop logging calls, in running servers too; it stays off until --on
    #[arg(long, conflicts_with_all = ["on", "since", "limit"])]
    pub off: bool,

    /// Log calls again
    #[arg(long, conflicts_with_all = ["since", "limit"])]
    pub on: bool,
}

const EXAMPLES: &str = "\
Examples:
  pdpp log --since 2h
  pdpp log --since 2026-11-01 --json
  pdpp log --off";

/// Shows the log, or turns it on or off.
///
/// # Errors
/// `since_invalid` (2) if `--since` cannot be read; `access_log_failed` if the log cannot.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    let log = AccessLog::new(global.cache()?.dir());
    if args.on || args.off {
        log.turn(args.on)?;
        let out = if args.on { "on" } else { "off" };
        if args.json {
            ui.json(&json!({"on": args.on, "file": log.path().display().to_string()}));
        } else {
            ui.say(&format!("The access log is {out}."));
        }
        return Ok(0);
    }
    let now = Timestamp::now();
    let since = args.since.as_deref().map(|when| since(when, now)).transpose()?;
    let found = log.entries()?;
    let shown = Shown::of(&found, since, args.limit.get());
    if args.json {
        ui.json(&shown.to_json(&log));
    } else {
        ui.say(&shown.to_text(now, ui.width()));
        if !log.is_on() {
            ui.note(&format!("The access log is off. To turn it on: {}", Command::new("log --on")));
        }
    }
    Ok(0)
}

/// Reads `2h`, `2026-11-01` or `2026-11-01T10:00:00Z`.
fn since(when: &str, now: Timestamp) -> Result<Timestamp> {
    let ago = || {
        let digits = when.len() - when.chars().last()?.len_utf8();
        let count: i64 = when.get(..digits)?.parse().ok()?;
        let seconds = match when.get(digits..)? {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            "w" => 604_800,
            _ => return None,
        };
        let ago = count.checked_mul(seconds).filter(|ago| *ago >= 0)?;
        Some(now.checked_sub(SignedDuration::from_secs(ago)).unwrap_or(Timestamp::MIN))
    };
    let day = || {
        let date: Date = when.parse().ok()?;
        Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    };
    when.parse().ok().or_else(ago).or_else(day).ok_or_else(|| {
        Error::new(
            Kind::Usage,
            "since_invalid",
            format!("{when:?} is neither a time span (2h) nor a date (2026-11-01)"),
        )
        .run(Command::new("log --since 2h"))
    })
}

const NOTHING: &str = "The access log has no calls. It records the calls that `pdpp mcp serve` answers, but not those of \
     `pdpp mcp call`.";

/// The calls to show, out of all that are kept.
struct Shown<'a> {
    found: &'a Entries,
    since: Option<Timestamp>,
    /// Oldest first.
    entries: &'a [Entry],
    /// Calls in the same period that are left out because there are too many.
    older: usize,
}

/// A program's name, cut to fit the table.
fn program(name: &str) -> String {
    const MOST: usize = 12;
    let name = text::one_line(name);
    if name.chars().count() <= MOST {
        return name.into_owned();
    }
    name.chars().take(MOST - 1).chain(['…']).collect()
}

impl<'a> Shown<'a> {
    fn of(found: &'a Entries, since: Option<Timestamp>, limit: usize) -> Self {
        let (entries, older) = found.newest(since, limit);
        Self { found, since, entries, older }
    }

    fn to_json(&self, log: &AccessLog) -> Value {
        let all = &self.found.entries;
        json!({
            "entries": self.entries,
            "older_not_shown": self.older,
            "damaged_lines": self.found.damaged,
            "kept": {
                "calls": all.len(),
                "first": all.first().map(|entry| entry.time),
                "last": all.last().map(|entry| entry.time),
            },
            "on": log.is_on(),
            "file": log.path().display().to_string(),
        })
    }

    fn to_text(&self, now: Timestamp, width: u16) -> String {
        let mut out = match self.entries {
            [] => self.nothing(),
            entries => calls(entries, now, width),
        };
        if self.older > 0 {
            let _ = write!(out, "\n\n{} older: --limit {}", self.older, self.older + self.entries.len());
        }
        if self.found.damaged > 0 {
            let _ = write!(out, "\n\n{} damaged lines were left out.", self.found.damaged);
        }
        out
    }

    /// Says that there is nothing to show, and what the log does have.
    fn nothing(&self) -> String {
        let all = &self.found.entries;
        let (Some(since), [first, .., last] | [first @ last]) = (self.since, all.as_slice()) else {
            return NOTHING.to_owned();
        };
        let time = time_text::day_and_time;
        let (first, last) = (time(first.time), time(last.time));
        let there = match all.len() {
            1 => format!("one call, of {first}"),
            count if first == last => format!("{count} calls, of {first}"),
            count => format!("{count} calls, from {first} to {last}"),
        };
        format!("No calls since {}. The access log has {there}.", time(since))
    }
}

fn calls(shown: &[Entry], now: Timestamp, width: u16) -> String {
    let providers: BTreeSet<&str> =
        shown.iter().flat_map(|entry| &entry.grants).map(|grant| grant.provider.as_str()).collect();
    // A column that repeats the same address would leave no room for the rest.
    let one_provider = providers.len() < 2;
    let mut out = String::new();
    if one_provider && let Some(provider) = providers.first() {
        out = match provider.parse::<ProviderUrl>() {
            Ok(known) if known.is_local() => format!("All from {}.\n\n", known.in_short()),
            _ => format!("All from {}.\n\n", text::one_line(provider)),
        };
    }
    let year = time_text::utc(now).year();
    let of_this_year = shown.iter().all(|entry| time_text::utc(entry.time).year() == year);
    let rows: Vec<[String; 7]> = shown
        .iter()
        .map(|entry| {
            let mut from = entry.streams.join(", ");
            let of_entry: BTreeSet<&str> = entry.grants.iter().map(|grant| grant.provider.as_str()).collect();
            if !one_provider && let Some(first) = of_entry.first() {
                match first.parse::<ProviderUrl>() {
                    Ok(known) => from = format!("{from} {}", known.in_short()),
                    Err(_) => from = format!("{from} {first}"),
                }
                if of_entry.len() > 1 {
                    let _ = write!(from, " and {} more", of_entry.len() - 1);
                }
            }
            [
                time(entry.time, of_this_year),
                entry.host.as_ref().map_or_else(|| "?".to_owned(), |host| program(&host.name)),
                entry.tool.clone(),
                from.trim().to_owned(),
                entry.rows.to_string(),
                entry.bytes.to_string(),
                entry.outcome.clone(),
            ]
        })
        .collect();
    let columns = [
        Column::whole("Time (UTC)"),
        Column::whole("Program"),
        Column::whole("Tool"),
        Column::text(if one_provider { "Streams" } else { "Streams, from" }),
        Column::number("Rows"),
        Column::number("Bytes"),
        Column::text("Outcome"),
    ];
    out.push_str(&table(width, columns, &rows));
    out
}

/// Formats a time with seconds, or with the year: there is no room for both.
fn time(time: Timestamp, of_this_year: bool) -> String {
    let time = time_text::utc(time);
    let (hour, minute) = (time.hour(), time.minute());
    if of_this_year {
        format!("{:02}-{:02} {hour:02}:{minute:02}:{:02}", time.month(), time.day(), time.second())
    } else {
        format!("{} {hour:02}:{minute:02}", time.date())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_log::{Grant, Host};

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn entry(provider: &str) -> Entry {
        Entry {
            time: at("2026-11-28T03:17:22.5Z"),
            host: Some(Host { name: "claude-code\u{1b}[31m".to_owned(), version: "2.1.332".to_owned() }),
            tool: "query_records".to_owned(),
            grants: vec![Grant { provider: provider.to_owned(), grant_id: Some("g1".to_owned()) }],
            streams: vec!["messages".to_owned(), "chat_messages".to_owned()],
            rows: 25,
            bytes: 17_921,
            outcome: "ok".to_owned(),
            ms: 120,
        }
    }

    #[test]
    fn times_are_spans_days_or_times() {
        let now = at("2026-11-28T10:00:00Z");
        let since = |when| since(when, now);
        assert_eq!(since("2h").unwrap(), at("2026-11-28T08:00:00Z"));
        assert_eq!(since("7d").unwrap(), at("2026-11-21T10:00:00Z"));
        assert_eq!(since("2026-11-01").unwrap(), at("2026-11-01T00:00:00Z"));
        assert_eq!(since("2026-11-28T08:30:00+01:00").unwrap(), at("2026-11-28T07:30:00Z"));
        for bad in ["", "h", "2", "-2h", "2 h", "soon", "99999999999999999999d", "é", "2é"] {
            assert_eq!(since(bad).unwrap_err().code(), "since_invalid", "{bad}");
        }
        assert!(since("9223372036854775d").is_err() || since("9223372036854775s").is_ok());
    }

    const NOW: &str = "2026-11-28T10:00:00Z";

    fn to_text(found: &Entries, since: Option<&str>, limit: usize, width: u16) -> String {
        Shown::of(found, since.map(at), limit).to_text(at(NOW), width)
    }

    #[test]
    fn a_table_of_calls_fits_80_columns() {
        let found = Entries { entries: vec![entry("https://a.example"); 3], damaged: 1 };
        let out = to_text(&found, None, 2, 80);
        assert!(out.starts_with("All from https://a.example.\n"), "{out}");
        assert!(out.contains("1 older: --limit 3") && out.contains("1 damaged"), "{out}");
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
        assert!(!out.contains('\u{1b}'));
        let two =
            Entries { entries: vec![entry("https://a.example"), entry("https://b.example")], damaged: 0 };
        let out = to_text(&two, None, 100, 80);
        assert!(out.contains("b.example") && !out.contains("more"), "{out}");
        // Two grants of one provider count as one place.
        let mut both = two.clone();
        let second = Grant { grant_id: Some("g2".to_owned()), ..two.entries[0].grants[0].clone() };
        both.entries[0].grants.push(second);
        assert!(!to_text(&both, None, 100, 80).contains("more"));
        both.entries[0].grants.push(two.entries[1].grants[0].clone());
        assert!(to_text(&both, None, 100, 200).contains("a.example and 1 more"));
        assert!(out.contains("b.example") && out.lines().all(|line| line.chars().count() <= 80), "{out}");
    }

    #[test]
    fn the_persons_own_store_is_not_shown_by_its_made_address() {
        let own = entry("https://local.pdpp.invalid");
        let out = to_text(&Entries { entries: vec![own.clone()], damaged: 0 }, None, 9, 80);
        assert!(out.starts_with("All from your own data.\n"), "{out}");
        let two = Entries { entries: vec![own.clone(), entry("https://b.example")], damaged: 0 };
        let out = to_text(&two, None, 9, 200);
        assert!(out.contains("messages, chat_messages your own data") && out.contains(" b.example"), "{out}");
        assert!(!out.contains("pdpp.invalid"), "{out}");
        let log = AccessLog::new(std::path::Path::new("/nowhere"));
        let json = Shown::of(&two, None, 9).to_json(&log);
        assert_eq!(json["entries"][0]["grants"][0]["provider"], "https://local.pdpp.invalid");
    }

    #[test]
    fn a_table_of_the_longest_names_is_one_at_80_columns() {
        let long = Entry {
            tool: "read_record_field".to_owned(),
            outcome: "ambiguous_connection".to_owned(),
            ..entry("https://a.example")
        };
        let out = to_text(&Entries { entries: vec![long; 2], damaged: 0 }, None, 9, 80);
        assert!(out.contains("\nTime (UTC)      Program       Tool"), "{out}");
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    }

    #[test]
    fn times_of_another_year_have_the_year() {
        let mut found = Entries { entries: vec![entry("https://a.example"); 2], damaged: 0 };
        let out = to_text(&found, None, 9, 80);
        assert!(out.contains("\n11-28 03:17:22  ") && !out.contains("2026"), "{out}");
        found.entries[0].time = at("2025-12-31T23:59:59Z");
        let out = to_text(&found, None, 9, 80);
        assert!(out.contains("\n2025-12-31 23:59  ") && out.contains("\n2026-11-28 03:17  "), "{out}");
    }

    #[test]
    fn a_span_without_calls_says_what_there_is() {
        const NONE: &str = NOTHING;
        assert!(NONE.contains("but not those of `pdpp mcp call`"));
        let mut found = Entries::default();
        assert_eq!(to_text(&found, None, 9, 80), NONE);
        assert_eq!(to_text(&found, Some(NOW), 9, 80), NONE);
        found.entries.push(entry("https://a.example"));
        let out = |found: &Entries| to_text(found, Some(NOW), 9, 80);
        let since = "No calls since 2026-11-28 10:00 UTC. The access log has";
        assert_eq!(out(&found), format!("{since} one call, of 2026-11-28 03:17 UTC."));
        found.entries.insert(0, Entry { time: at("2026-11-27T00:00:00Z"), ..entry("https://a.example") });
        assert_eq!(
            out(&found),
            format!("{since} 2 calls, from 2026-11-27 00:00 UTC to 2026-11-28 03:17 UTC.")
        );
        let since = |since| Shown::of(&found, Some(at(since)), 9).entries.len();
        assert_eq!((since("2026-11-27T00:00:00Z"), since("2026-11-27T00:00:01Z")), (2, 1));
    }

    #[test]
    fn a_narrow_terminal_breaks_no_word() {
        let found = Entries { entries: vec![entry("https://a.example"); 2], damaged: 0 };
        for width in [30, 40, 50, 60, 70] {
            let out = to_text(&found, None, 9, width);
            for word in ["query_records", "chat_messages", "17921", "Outcome"] {
                assert!(out.contains(word), "{width}:\n{out}");
            }
        }
    }
}
