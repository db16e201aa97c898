//! A chart of reads by day and agent, and the same numbers as a table for anyone who cannot see it.

use std::collections::BTreeMap;

use indicatif::HumanCount;
use jiff::Timestamp;
use jiff::civil::Date;

use crate::time_text::utc;
use crate::vault::html::Html;

/// Days in the chart, today included.
const DAYS: usize = 30;
/// Agents that have their own bar; the others share one.
const AGENTS: usize = 4;
/// The chart in its own units: the width of a day, the gap in it, and the height.
const DAY: usize = 20;
const GAP: usize = 4;
const HEIGHT: usize = 100;
const OTHERS: &str = "others";

/// How often each agent read on each day.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    first: Date,
    last: Date,
    /// The agent that read most comes first; what all others read comes last.
    agents: Vec<(String, Vec<u64>)>,
}

impl Counts {
    fn of(reads: &[(Timestamp, &str)], now: Timestamp) -> Option<Self> {
        let last = utc(now).date();
        let first = last.checked_sub(jiff::Span::new().days(i64::try_from(DAYS).ok()? - 1)).ok()?;
        let mut by_agent: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (time, agent) in reads {
            let date = utc(*time).date();
            let Ok(day) = usize::try_from((date - first).get_days()) else { continue };
            if day < DAYS {
                by_agent.entry(agent).or_insert_with(|| vec![0; DAYS])[day] += 1;
            }
        }
        let mut agents: Vec<(String, Vec<u64>)> =
            by_agent.into_iter().map(|(agent, days)| (agent.to_owned(), days)).collect();
        let sum = |days: &[u64]| days.iter().sum::<u64>();
        agents.sort_by_key(|(_, days)| std::cmp::Reverse(sum(days)));
        if agents.len() > AGENTS + 1 {
            let mut others = vec![0; DAYS];
            for (_, days) in agents.drain(AGENTS..) {
                others.iter_mut().zip(days).for_each(|(all, one)| *all += one);
            }
            agents.push((OTHERS.to_owned(), others));
        }
        Some(Self { first, last, agents })
    }

    fn day(&self, day: usize) -> u64 {
        self.agents.iter().map(|(_, days)| days[day]).sum()
    }
}

/// Draws `reads` of the last thirty days.
pub(super) fn show(main: &mut Html, reads: &[(Timestamp, &str)], now: Timestamp) {
    let Some(counts) = Counts::of(reads, now) else { return };
    main.markup("<section aria-labelledby=\"days\">\n<h2 id=\"days\">The last 30 days</h2>\n");
    let all: u64 = (0..DAYS).map(|day| counts.day(day)).sum();
    if all == 0 {
        main.markup("<p>Nothing was read on these days.</p>\n</section>\n");
        return;
    }
    let most = (0..DAYS).map(|day| counts.day(day)).max().unwrap_or(1).max(1);
    let said = format!(
        "{} reads by day and agent from {} to {}; at most {} on a day. The table below has the numbers.",
        HumanCount(all),
        counts.first,
        counts.last,
        HumanCount(most)
    );
    main.markup("<svg class=\"picture\" role=\"img\" preserveAspectRatio=\"none\"");
    main.attribute("viewBox", &format!("0 0 {} {HEIGHT}", DAYS * DAY))
        .attribute("aria-label", &said)
        .markup(">\n");
    for day in 0..DAYS {
        let mut below = 0;
        for (number, (_, days)) in counts.agents.iter().enumerate() {
            if days[day] == 0 {
                continue;
            }
            // In whole units, so that even a single read is visible.
            let top = |count: u64| HEIGHT - scaled(count, most);
            let (from, to) = (top(below), top(below + days[day]));
            below += days[day];
            let height = from.saturating_sub(to).max(1);
            main.markup("<rect").attribute("class", BARS[number.min(BARS.len() - 1)]);
            main.attribute("x", &(day * DAY + GAP / 2).to_string());
            main.attribute("y", &to.min(HEIGHT - 1).to_string());
            main.attribute("width", &(DAY - GAP).to_string()).attribute("height", &height.to_string());
            main.markup("/>\n");
        }
    }
    main.markup("<line class=\"ground\" x1=\"0\"").attribute("x2", &(DAYS * DAY).to_string());
    main.attribute("y1", &HEIGHT.to_string()).attribute("y2", &HEIGHT.to_string()).markup("/>\n</svg>\n");
    main.markup("<p class=\"days\" aria-hidden=\"true\"><span>").text(&counts.first.to_string());
    main.markup("</span><span>").text(&format!("highest: {}", HumanCount(most))).markup("</span><span>");
    main.text(&counts.last.to_string()).markup("</span></p>\n<ul class=\"legend\">\n");
    for (number, (agent, days)) in counts.agents.iter().enumerate() {
        main.markup("<li><span").attribute("class", BARS[number.min(BARS.len() - 1)]).markup("></span>");
        main.text(agent).markup(": ").text(&HumanCount(days.iter().sum()).to_string()).markup("</li>\n");
    }
    main.markup("</ul>\n<details><summary>The same as a table</summary>\n<table>\n<caption>Reads by day and agent</caption>\n");
    main.markup("<thead><tr><th scope=\"col\">Day</th><th scope=\"col\">Agent</th><th scope=\"col\" class=\"number\">Reads</th></tr></thead>\n<tbody>\n");
    for day in (0..DAYS).rev() {
        let date = counts.first.checked_add(jiff::Span::new().days(i64::try_from(day).unwrap_or(0)));
        let date = date.map(|date| date.to_string()).unwrap_or_default();
        for (agent, days) in counts.agents.iter().filter(|(_, days)| days[day] > 0) {
            main.markup("<tr><th scope=\"row\">").text(&date).markup("</th><td>").text(agent);
            main.markup("</td><td class=\"number\">")
                .text(&HumanCount(days[day]).to_string())
                .markup("</td></tr>\n");
        }
    }
    main.markup("</tbody>\n</table>\n</details>\n</section>\n");
}

/// The classes of the bars, one per agent.
const BARS: [&str; 5] = ["bar-1", "bar-2", "bar-3", "bar-4", "bar-5"];

/// The height of a bar for `count` out of `most`.
fn scaled(count: u64, most: u64) -> usize {
    let height = u128::from(count) * (HEIGHT as u128) / u128::from(most.max(1));
    usize::try_from(height).unwrap_or(HEIGHT).min(HEIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn o7_15_reads_are_counted_by_day_and_agent_and_the_rest_is_one() {
        let now = at("2026-11-30T10:00:00Z");
        let mut reads =
            vec![(at("2026-11-01T00:00:00Z"), "A"), (at("2026-10-31T23:59:59Z"), "A"), (now, "A")];
        reads.extend(["B", "C", "D", "E", "F"].map(|agent| (now, agent)));
        let counts = Counts::of(&reads, now).unwrap();
        assert_eq!(
            (counts.first.to_string(), counts.last.to_string()),
            ("2026-11-01".into(), "2026-11-30".into())
        );
        let names: Vec<&str> = counts.agents.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["A", "B", "C", "D", OTHERS]);
        assert_eq!((counts.day(0), counts.day(29), counts.agents[4].1[29]), (1, 6, 2));
    }

    #[test]
    fn o7_15_the_picture_has_a_text_and_a_table_beside_it() {
        let now = at("2026-11-30T10:00:00Z");
        let reads = [
            (at("2026-11-01T01:00:00Z"), "<b>Host"),
            (at("2026-11-30T01:00:00Z"), "<b>Host"),
            (at("2026-11-30T02:00:00Z"), "<b>Host"),
            (at("2026-11-30T03:00:00Z"), "Other"),
        ];
        let mut main = Html::new();
        show(&mut main, &reads, now);
        insta::assert_snapshot!("picture", String::from_utf8(main.into_bytes()).unwrap());
        let mut main = Html::new();
        show(&mut main, &[(at("2026-01-01T00:00:00Z"), "Host")], now);
        assert!(String::from_utf8(main.into_bytes()).unwrap().contains("Nothing was read on these days"));
    }
}
