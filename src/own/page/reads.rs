//! What was read: a chart of the last thirty days, and the newest reads.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::StatusCode;
use indicatif::{DecimalBytes, HumanCount};
use jiff::Timestamp;

use super::frame::{Frame, Part, page, words};
use super::{Answer, Pages, grants, picture};
use crate::access_log::Entry;
use crate::cache::Cache;
use crate::own::reads;
use crate::own::state::vault_failed;
use crate::time_text::{ago, day_and_time};
use crate::vault::grant::Grant;
use crate::vault::html::Html;

/// Reads that are listed.
const MOST: usize = 100;

/// All known reads of the store, oldest first, and how many lines of the logs are damaged.
fn all(pages: &Pages, made: &[(Grant, Option<i64>)]) -> (Vec<Entry>, usize) {
    let ids: BTreeSet<&str> = made.iter().map(|(grant, _)| grant.grant_id.as_str()).collect();
    reads::all(&pages.dir, pages.cache.as_ref().map(Cache::dir), |id| ids.contains(id))
}

/// When each of these grants was last used to read.
pub(super) fn last(pages: &Pages, made: &[(Grant, Option<i64>)]) -> BTreeMap<String, Timestamp> {
    let mut last = BTreeMap::new();
    for entry in all(pages, made).0 {
        for id in entry.grants.into_iter().filter_map(|grant| grant.grant_id) {
            // The reads come oldest first, so the newest one stays.
            last.insert(id, entry.time);
        }
    }
    last
}

/// `GET …/reads`
pub(super) fn show(pages: &Pages, frame: &Frame<'_>) -> Answer {
    let made = pages.vault.grants_made().map_err(|error| vault_failed(&error))?;
    let (all, damaged) = all(pages, &made);
    let names: BTreeMap<&str, String> =
        made.iter().map(|(grant, _)| (grant.grant_id.as_str(), grants::called(pages, grant))).collect();
    let now = Timestamp::now();
    let mut main = Html::new();
    main.markup(
        "<h1>What was read</h1>\n<p>Each call that an agent made. The logs contain neither its question nor \
         the answer.</p>\n",
    );
    if all.is_empty() {
        main.markup("<p>Nothing has been read yet, as far back as the logs go.</p>\n");
    } else {
        let reads: Vec<(Timestamp, &str)> = all.iter().map(|entry| (entry.time, agent(entry))).collect();
        picture::show(&mut main, &reads, now);
        newest(&mut main, &all, &names, now);
    }
    if damaged > 0 {
        let what = if damaged == 1 { "line of the logs is" } else { "lines of the logs are" };
        main.markup("<p class=\"said\">").text(&format!("{damaged} {what} damaged.")).markup("</p>\n");
    }
    Ok(page(frame, StatusCode::OK, "What was read", Some(Part::Reads), &main))
}

/// The program that asked, by the name that it gives itself.
fn agent(entry: &Entry) -> &str {
    entry.host.as_ref().map_or("unknown", |host| host.name.as_str())
}

fn newest(main: &mut Html, all: &[Entry], names: &BTreeMap<&str, String>, now: Timestamp) {
    let shown = &all[all.len().saturating_sub(MOST)..];
    main.markup(
        "<section aria-labelledby=\"newest\">\n<h2 id=\"newest\">The newest</h2>\n<table>\n<caption>",
    );
    main.text(&match all.len() - shown.len() {
        0 => "All reads, newest first".to_owned(),
        older => format!(
            "The newest {}, newest first; the logs have {} older ones",
            shown.len(),
            HumanCount(older as u64)
        ),
    });
    main.markup(
        "</caption>\n<thead><tr><th scope=\"col\">When</th><th scope=\"col\">Who, and what</th>\
         <th scope=\"col\">What came back</th></tr></thead>\n<tbody>\n",
    );
    for entry in shown.iter().rev() {
        main.markup("<tr><th scope=\"row\">")
            .text(&ago(entry.time, now))
            .markup("<br>\n<span class=\"said\">");
        main.text(&day_and_time(entry.time)).markup("</span></th><td>").text(agent(entry)).markup(": ");
        main.text(&entry.tool);
        let streams: Vec<String> = entry.streams.iter().map(|name| words(name)).collect();
        if !streams.is_empty() {
            main.markup(", ").text(&streams.join(", "));
        }
        let grants = entry.grants.iter().filter_map(|grant| names.get(grant.grant_id.as_deref()?));
        let grants: Vec<&str> = grants.map(String::as_str).collect();
        if !grants.is_empty() {
            main.markup("<br>\n<span class=\"said\">with the grant ")
                .text(&grants.join(", "))
                .markup("</span>");
        }
        let rows = if entry.rows == 1 { "row" } else { "rows" };
        main.markup("</td><td>")
            .text(&format!("{} {rows}", HumanCount(entry.rows)))
            .markup("<br>\n<span class=\"said\">");
        main.text(&DecimalBytes(entry.bytes).to_string()).markup(", ").text(&entry.outcome);
        main.markup("</span></td></tr>\n");
    }
    main.markup("</tbody>\n</table>\n</section>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_log::{Grant as Read, Host};

    #[test]
    fn o7_15_a_read_is_told_with_who_what_and_how_much() {
        let now: Timestamp = "2026-11-30T10:00:00Z".parse().unwrap();
        let entry = |hours: i64, host: Option<&str>, outcome: &str| Entry {
            time: now - jiff::SignedDuration::from_hours(hours),
            host: host.map(|name| Host { name: name.to_owned(), version: String::new() }),
            tool: "query_records".to_owned(),
            grants: vec![Read {
                provider: "https://local.pdpp.invalid".to_owned(),
                grant_id: Some("grt_1".to_owned()),
            }],
            streams: vec!["message_bodies".to_owned()],
            rows: 1,
            bytes: 48_213,
            outcome: outcome.to_owned(),
            ms: 3,
        };
        let all = [entry(90, Some("An <agent>"), "ok"), entry(1, None, "grant_expired")];
        let mut main = Html::new();
        newest(&mut main, &all, &BTreeMap::from([("grt_1", "Work".to_owned())]), now);
        insta::assert_snapshot!("reads", String::from_utf8(main.into_bytes()).unwrap());
    }
}
