//! What the transcripts of coding agents have in common: growing files of JSON lines, each with one
//! session or more.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::format::{End, Out, Raw, Unit};
use super::{json_value, lines};
use crate::json;
use crate::text;
use crate::vault::time;

/// The note that a person sees before transcripts are imported.
pub const NOTE: &str = "Transcripts of coding agents contain source code, the contents of files that \
                        the agent read, and the output of its tools, which can include passwords, keys \
                        and other secrets. Messages are kept whole; of a tool's output, only the first \
                        4 KiB are kept.";
/// Why a call of this program's own tools is left out, with its output (O5.5).
pub const READ_THROUGH_PDPP: &str = "read through pdpp";
/// Why a line is left out that the agent's program added for its model.
pub const INJECTED: &str = "injected context";
/// Why a line is left out that no person or model wrote.
pub const EVENT: &str = "event of the program";
/// Why a message without content is left out.
pub const NO_TEXT: &str = "no text";

/// How many bytes are kept of a tool's input or output.
const PREVIEW: usize = 4096;
/// The most bytes of a title that is made from a message.
const TITLE: usize = 160;
/// Longer ids and names are ignored.
const LONGEST_NAME: usize = 1024;
/// How many calls are remembered. In a file with more of them, the results of all calls are left out.
const MOST_CALLS: usize = 1_000_000;
/// How many sessions are remembered at once.
const MOST_SESSIONS: usize = 256;

/// The beginning of a tool's input or output.
pub fn preview(text: &str) -> &str {
    text::prefix(text, PREVIEW)
}

/// A short text; `None` if it is empty, or too long for an id or a name.
pub fn name(text: &str) -> Option<&str> {
    (!text.is_empty() && text.len() <= LONGEST_NAME).then_some(text)
}

/// An instant as RFC 3339 with milliseconds, in UTC.
pub fn timestamp(text: &str) -> Option<String> {
    time::parse_ms(text).map(time::format_ms)
}

/// The text in `raw`.
pub fn raw_text(raw: Option<&RawValue>) -> Option<String> {
    let raw = raw?.get();
    if !raw.starts_with('"') {
        return None;
    }
    // Only a lone surrogate needs the reader that replaces them.
    serde_json::from_str(raw).ok().or_else(|| match json::parse(raw.as_bytes()) {
        Ok(Value::String(text)) => Some(text),
        _ => None,
    })
}

/// Whether a tool belongs to a server that is `pdpp`: `mcp__pdpp__search`, `pdpp-work__search`.
pub fn is_pdpp_tool(tool: &str) -> bool {
    tool.rsplit_once("__").is_some_and(|(server, _)| is_pdpp(server))
}

/// Whether a server is `pdpp`: `pdpp`, `pdpp-work`, `claude_ai_PDPP`.
pub fn is_pdpp(server: &str) -> bool {
    contains(server, "pdpp")
}

/// Whether a tool's input reaches such a server in another way: a script that calls the tool, or the file
/// where the program put a result that was too long.
pub fn reaches_pdpp(input: &str) -> bool {
    contains(input, "mcp__pdpp") || contains(input, "mcp-pdpp")
}

fn contains(text: &str, lower_case: &str) -> bool {
    text.as_bytes().windows(lower_case.len()).any(|part| part.eq_ignore_ascii_case(lower_case.as_bytes()))
}

/// What one file says about a session. Sightings can be merged in any order, and merging one twice
/// changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sighting {
    /// The earliest event, in milliseconds since 1970.
    started: Option<i64>,
    /// The latest event.
    last: Option<i64>,
    /// The directory at the earliest event that names one, with the time of the event.
    first_directory: Option<(i64, String)>,
    /// The directory at the latest such event.
    directory: Option<(i64, String)>,
    /// The branch at the latest event that names one.
    branch: Option<(i64, String)>,
    /// What it ran with at the latest event that names it: a version, or a provider of models.
    program: Option<(i64, String)>,
    /// The best title: its kind, its order within the kind, and its words.
    title: Option<(TitleKind, u64, String)>,
}

/// Where a title comes from, the best source first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TitleKind {
    /// The person gave it.
    Given,
    /// The program made it.
    Made,
    /// It is the beginning of the person's first message.
    FirstMessage,
}

impl Sighting {
    /// Reads a sighting from `json`; invalid JSON gives an empty one.
    pub fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// All of `sightings`, merged.
    pub fn of_all(sightings: &[&str]) -> Self {
        sightings.iter().fold(Self::default(), |all, one| all.and(Self::read(one)))
    }

    /// Merges two sightings.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            started: least(self.started, other.started),
            last: self.last.max(other.last),
            first_directory: least(self.first_directory, other.first_directory),
            directory: self.directory.max(other.directory),
            branch: self.branch.max(other.branch),
            program: self.program.max(other.program),
            title: least(self.title, other.title),
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Notes an event at `at`.
    pub fn event(&mut self, at: i64) {
        self.started = least(self.started, Some(at));
        self.last = self.last.max(Some(at));
    }

    /// Notes where it ran at `at`.
    pub fn place(&mut self, at: i64, directory: Option<&str>, branch: Option<&str>, program: Option<&str>) {
        let known = |text: Option<&str>| Some((at, name(text?)?.to_owned()));
        self.first_directory = least(self.first_directory.take(), known(directory));
        self.directory = self.directory.take().max(known(directory));
        self.branch = self.branch.take().max(known(branch));
        self.program = self.program.take().max(known(program));
    }

    /// Notes a title; of two of one kind, the one with the smaller `order` counts.
    pub fn title(&mut self, kind: TitleKind, order: u64, words: &str) {
        let line = words.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        if !line.is_empty() {
            let title = text::prefix(line, TITLE).trim_end().to_owned();
            self.title = least(self.title.take(), Some((kind, order, title)));
        }
    }

    /// Whether there is a title of this kind or a better one.
    pub fn has_title(&self, kind: TitleKind) -> bool {
        self.title.as_ref().is_some_and(|(known, ..)| *known <= kind)
    }

    /// The facts for the session's record.
    pub fn facts(&self) -> SessionFacts<'_> {
        fn text<T>(at: Option<&(T, String)>) -> Option<&str> {
            at.map(|(_, text)| text.as_str())
        }
        SessionFacts {
            title: self.title.as_ref().map(|(_, _, words)| words.as_str()),
            first_directory: text(self.first_directory.as_ref()),
            directory: text(self.directory.as_ref()),
            branch: text(self.branch.as_ref()),
            program: text(self.program.as_ref()),
            started_at: self.started.map(time::format_ms),
            last_event_at: self.last.map(time::format_ms),
        }
    }
}

/// What is known about a session.
#[derive(Debug)]
pub struct SessionFacts<'a> {
    /// Its title, if it has one.
    pub title: Option<&'a str>,
    /// The directory where it began.
    pub first_directory: Option<&'a str>,
    /// The directory where it was last.
    pub directory: Option<&'a str>,
    /// The branch that it was last on.
    pub branch: Option<&'a str>,
    /// What it last ran with: a version, or a provider of models.
    pub program: Option<&'a str>,
    /// Its earliest event, as RFC 3339.
    pub started_at: Option<String>,
    /// Its latest event, as RFC 3339.
    pub last_event_at: Option<String>,
}

/// The smaller of two, if both exist.
pub fn least<T: Ord>(first: Option<T>, second: Option<T>) -> Option<T> {
    match (first, second) {
        (Some(first), Some(second)) => Some(first.min(second)),
        (first, second) => first.or(second),
    }
}

/// What is known about an item in addition to its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The item is not a line, but the file's sighting of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sighting_of: Option<String>,
    /// The session that the line belongs to, if the line does not name one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The number of the line, if its id is made from that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The calls whose results are in the line and are left out (O5.5).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// Where the line begins, if it is longer than what is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_long_at: Option<u64>,
}

impl Facts {
    /// Reads [`Raw::facts`].
    pub fn of(raw: &Raw) -> Self {
        serde_json::from_str(&raw.facts).unwrap_or_default()
    }

    fn text(&self) -> String {
        if *self == Self::default() { String::new() } else { serde_json::to_string(self).unwrap_or_default() }
    }
}

/// What was found in a file so far.
#[derive(Debug, Default)]
pub struct Seen {
    hidden_calls: HashSet<u64>,
    sessions: BTreeMap<String, Sighting>,
}

impl Seen {
    /// Notes that the call `id` belongs to one of this program's own tools.
    pub fn hide(&mut self, id: &str) {
        if self.hidden_calls.len() < MOST_CALLS {
            self.hidden_calls.insert(hash(id));
        }
    }

    /// Whether the results of call `id` are left out.
    pub fn is_hidden(&self, id: &str) -> bool {
        self.hidden_calls.len() >= MOST_CALLS || self.hidden_calls.contains(&hash(id))
    }

    /// The file's sighting of a session.
    pub fn session(&mut self, id: &str) -> &mut Sighting {
        self.sessions.entry(id.to_owned()).or_default()
    }

    /// The file's sightings, as items at the offset `at`.
    fn sightings(&mut self, at: u64) -> impl Iterator<Item = Raw> {
        std::mem::take(&mut self.sessions).into_iter().filter(|(_, sighting)| sighting.started.is_some()).map(
            move |(id, sighting)| Raw {
                offset: at,
                next: at,
                line: None,
                bytes: sighting.to_json().into_bytes(),
                facts: Facts { sighting_of: Some(id), ..Facts::default() }.text(),
                copy: 0,
            },
        )
    }
}

fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// Whether a line is complete: it ends, or its object is closed. A program may still be writing the last
/// line.
fn is_whole(line: &lines::Line<'_>) -> bool {
    line.has_end
        || !line.is_long
            && line.bytes.starts_with(b"{")
            && serde_json::from_str::<serde::de::IgnoredAny>(&String::from_utf8_lossy(line.bytes)).is_ok()
}

/// Gives the lines of a unit from `from` on; before the last of them come the unit's sightings of its
/// sessions.
///
/// `look` sees each line from the first one on, because what precedes `from` may say which calls are left
/// out and what a session is called. It remembers what it saw, and returns the facts of the line.
///
/// # Errors
/// If the unit cannot be read.
pub fn split(
    unit: &mut Unit<'_>,
    from: u64,
    out: &mut Out<'_>,
    look: &mut dyn FnMut(&lines::Line<'_>, &str, &mut Seen) -> Facts,
) -> io::Result<End> {
    let mut seen = Seen::default();
    let mut end = from;
    let mut give = |raw: Raw| {
        end = raw.next;
        out(raw)
    };
    // The last line comes after the sightings: a run that stops between them meets both again.
    let mut held = None;
    let mut is_over = ControlFlow::Continue(());
    let mut lines = lines::Lines::new(&mut unit.bytes);
    while is_over.is_continue()
        && let Some(line) = lines.read()?
    {
        if !is_whole(&line) {
            break;
        }
        let facts = match line.bytes {
            _ if line.is_long => Facts { too_long_at: Some(line.offset), ..Facts::default() },
            bytes if bytes.trim_ascii().is_empty() => continue,
            // Nor is the line parsed.
            bytes if !json_value::is_bounded(bytes) => Facts::default(),
            bytes => look(&line, &String::from_utf8_lossy(bytes), &mut seen),
        };
        let is_new = line.offset >= from;
        if is_new && let Some(before) = held.take() {
            is_over = give(before);
        }
        if seen.sessions.len() > MOST_SESSIONS {
            for raw in seen.sightings(line.offset) {
                if is_new && is_over.is_continue() {
                    is_over = give(raw);
                }
            }
        }
        if is_new {
            held = Some(Raw {
                offset: line.offset,
                next: line.next,
                line: Some(line.number),
                bytes: if line.is_long { Vec::new() } else { line.bytes.to_vec() },
                facts: facts.text(),
                copy: 0,
            });
        }
    }
    if is_over.is_continue()
        && let Some(last) = held
    {
        is_over = seen.sightings(last.offset).try_for_each(&mut give);
        if is_over.is_continue() {
            // Nothing follows it.
            let _ = give(last);
        }
    }
    Ok(End { at: end })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn o5_5_servers_that_are_pdpp_are_known_by_their_names() {
        for tool in [
            "mcp__pdpp__search",
            "mcp__claude_ai_PDPP__fetch",
            "mcp__pdpp-work__query_records",
            "pdpp__search",
        ] {
            assert!(is_pdpp_tool(tool), "{tool}");
        }
        for tool in ["Bash", "mcp__notes__search", "mcp__notes__pdpp", "pdpp"] {
            assert!(!is_pdpp_tool(tool), "{tool}");
        }
        assert!(reaches_pdpp(r#"{"code":"tools.mcp__PDPP__search({})"}"#));
        assert!(reaches_pdpp("/home/ana/.claude/projects/x/tool-results/mcp-pdpp-search-17.txt"));
        assert!(!reaches_pdpp("cargo build -p pdpp"));
    }

    #[test]
    fn titles_are_one_short_line() {
        let mut sighting = Sighting::default();
        sighting.title(TitleKind::FirstMessage, 2, &format!("\n  {}\nmore", "ä".repeat(200)));
        assert_eq!(sighting.facts().title.unwrap(), "ä".repeat(80));
        sighting.title(TitleKind::FirstMessage, 1, "Earlier");
        assert_eq!(sighting.facts().title.unwrap(), "Earlier");
        sighting.title(TitleKind::Given, 9, "Named");
        sighting.title(TitleKind::Made, 0, "Made");
        sighting.title(TitleKind::Given, 0, " \n ");
        assert_eq!(sighting.facts().title.unwrap(), "Named");
    }

    fn sighting() -> impl Strategy<Value = Sighting> {
        let place = || proptest::option::of((0_i64..4, "[ab]{1,2}"));
        let kind = prop_oneof![Just(TitleKind::Given), Just(TitleKind::Made), Just(TitleKind::FirstMessage)];
        (
            proptest::option::of(0_i64..9),
            proptest::option::of(0_i64..9),
            place(),
            place(),
            place(),
            place(),
            proptest::option::of((kind, 0_u64..3, "[ab]{1,2}")),
        )
            .prop_map(|(started, last, first_directory, directory, branch, program, title)| {
                Sighting { started, last, first_directory, directory, branch, program, title }
            })
    }

    proptest! {
        #[test]
        fn sightings_are_one_in_whatever_order(a in sighting(), b in sighting(), c in sighting()) {
            prop_assert_eq!(a.clone().and(b.clone()), b.clone().and(a.clone()));
            prop_assert_eq!(a.clone().and(b.clone()).and(c.clone()), a.clone().and(b.clone().and(c.clone())));
            prop_assert_eq!(a.clone().and(a.clone()), a.clone());
            prop_assert_eq!(Sighting::read(&a.to_json()), a.clone());
            let (a, b, c) = (a.to_json(), b.to_json(), c.to_json());
            prop_assert_eq!(Sighting::of_all(&[&a, &b, &c]), Sighting::of_all(&[&c, &a, &b, &a]));
        }
    }
}
