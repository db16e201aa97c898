//! Our own cursors: a walk written out, or the name of a walk that is kept here because a call could not carry it.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::mcp::id::RecordId;
use crate::mcp::reading::rows::Row;
use crate::mcp::size::json_len;
use crate::mcp::tool_error::ToolError;

/// The beginning of every cursor that is ours; no provider uses it.
const PREFIX: &str = "pdpp1.";

/// The beginning of a cursor whose walk is kept here.
pub(super) const KEPT_PREFIX: &str = "pdpp1.w-";

/// The maximum size of a cursor over several grants that a model has to copy, in bytes: a longer one is kept here
/// under a short name.
const LONGEST_COPIED: usize = 1_000;

/// How many bytes of a cursor identify a row that was shown.
const SEEN_BYTES: usize = 6;

/// Pages of fewer rows than this request one row more than fits on average: one row less would be a large part.
const FEW: usize = 6;

/// The maximum number of rows per page that providers return.
const MOST_ROWS: u64 = 100;

/// The maximum number of shown rows that a cursor identifies, over all its places; earlier ones are only counted. The
/// caller must copy them into the next call.
const MOST_MARKS: usize = 12;

/// At least this many may be identified for each place.
const LEAST_MARKS: usize = 3;

/// The maximum number of them that were missing when the page was last read.
const MOST_MISSING: usize = 4;

/// The rows of a provider's page that were already shown. The page is read again, and may have different rows by
/// then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// How many rows came before the marked ones.
    pub(super) counted: usize,
    /// The last of the shown rows, each as a number made from its id.
    pub(super) marks: Vec<u32>,
    /// The first row after them, which was not shown.
    pub(super) next: Option<u32>,
    /// Whether they were shown on the previous page and may appear on this one, because the previous page had changed
    /// when it was read again.
    pub(super) is_carried: bool,
}

impl Passed {
    /// The number of shown rows.
    pub(super) const fn len(&self) -> usize {
        self.counted.saturating_add(self.marks.len())
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The longest value for that many rows.
    pub(super) fn most(rows: usize) -> Self {
        let marks = rows.min(MOST_MARKS);
        Self { counted: rows - marks, marks: vec![u32::MAX; marks], next: Some(u32::MAX), is_carried: false }
    }

    /// The same with the last `most` rows marked.
    fn naming(mut self, most: usize) -> Self {
        let excess = self.marks.len().saturating_sub(most);
        self.marks.drain(..excess);
        if !self.is_carried {
            self.counted = self.counted.saturating_add(excess);
        }
        self
    }

    /// The same in a few bytes: only a number, which is right as long as no rows come or go. Rows of the previous
    /// page cannot be expressed this way.
    fn briefly(&self) -> Self {
        let counted = if self.is_carried { 0 } else { self.len() };
        Self { counted, ..Self::default() }
    }

    /// Removes the shown rows from `rows`, the provider's page, together with those that were inserted among them;
    /// whatever changed, the remaining rows were not shown. `goes_on`: whether the list continues after this page.
    pub(super) fn take_from(&self, rows: &mut Vec<Row>, goes_on: bool) -> Again {
        let numbers = rows.iter().map(mark).collect::<Vec<_>>();
        if numbers.get(self.counted..self.len()) == Some(self.marks.as_slice()) {
            rows.drain(..self.len());
            let shown = (0..numbers.len()).map(|at| at < self.len()).collect();
            return Again { numbers, shown, left: Self::default(), is_lost: false };
        }
        let first = numbers.iter().position(|number| self.marks.contains(number));
        let next = numbers.iter().position(|number| Some(*number) == self.next);
        let is_lost = self.next.is_some() && next.is_none();
        // Rows before the first marked one are counted, or were inserted among those that are. If no marked row is
        // left, the page may be shorter than before; otherwise so many rows are gone that the count is useless.
        let is_short = goes_on && numbers.len() < self.len();
        let counted = first.or(next).unwrap_or(if is_short { self.counted } else { 0 });
        let counted = if self.counted > 0 { counted } else { 0 };
        let is_beyond = first.or(next).is_none() && is_short;
        let beyond = if is_beyond { self.counted.saturating_sub(numbers.len()) } else { 0 };
        let mut left = Self { counted: beyond, next: None, is_carried: true, ..self.clone() };
        let is_shown = |(at, number): (usize, &u32)| {
            // Each mark stands for one row: a provider may return two with the same name.
            let marked = left.marks.iter().position(|mark| mark == number);
            marked.map(|marked| left.marks.remove(marked));
            marked.is_some() || at < counted
        };
        let mut shown = numbers.iter().enumerate().map(is_shown).collect::<Vec<_>>();
        let place = match next {
            // If no shown row comes after it, all rows before it were inserted in the meantime.
            Some(next) if !shown[next..].contains(&true) => next,
            next => place_behind(&shown).min(next.unwrap_or(usize::MAX)),
        };
        shown[..place].fill(true);
        let mut each = shown.iter();
        rows.retain(|_| each.next() != Some(&true));
        // A row that is on neither page is gone.
        if self.is_carried && rows.len() == numbers.len() {
            left = Self::default();
        }
        Again { numbers, shown, left, is_lost }
    }
}

/// Where a page continues after the `shown` rows: behind as many of them as possible, with as few others as possible
/// before it. The others were inserted in the meantime. If a shown row moved to the end instead, none of the rows
/// that it moved past is skipped.
fn place_behind(shown: &[bool]) -> usize {
    let (mut place, mut score, mut best) = (0, 0, 0);
    for (at, is_shown) in shown.iter().enumerate() {
        score += if *is_shown { 1 } else { -1 };
        if score > best {
            (place, best) = (at + 1, score);
        }
    }
    place
}

/// The provider's page, read again.
#[derive(Debug, Default)]
pub(super) struct Again {
    /// A mark for each of its rows.
    numbers: Vec<u32>,
    /// Which rows were already shown, or come before the place where the walk continues.
    shown: Vec<bool>,
    /// Rows that were shown from this page, or may have moved to it, and are missing: they may be on the next page.
    pub(super) left: Passed,
    /// Whether the row that should come next is missing.
    pub(super) is_lost: bool,
}

impl Again {
    /// How many of its rows were shown already.
    pub(super) fn shown(&self) -> usize {
        self.shown.iter().filter(|shown| **shown).count()
    }

    /// The shown rows, together with the next `used` rows that were not shown before.
    fn with(&self, used: usize) -> Passed {
        let mut new = 0;
        let here = self.numbers.iter().zip(&self.shown).filter(|(_, shown)| {
            new += usize::from(!**shown);
            **shown || new <= used
        });
        let mut marks = here.map(|(number, _)| *number).collect::<Vec<_>>();
        // The last of the missing rows: rows inserted before them may have moved them to the next page.
        let missing = &self.left.marks[self.left.marks.len().saturating_sub(MOST_MISSING)..];
        let excess = (marks.len() + missing.len()).saturating_sub(MOST_MARKS);
        marks.drain(..excess.min(marks.len()));
        marks.splice(..0, missing.iter().copied());
        let mut new = self.numbers.iter().zip(&self.shown).filter(|(_, shown)| !**shown);
        let next = new.nth(used).map(|(number, _)| *number);
        Passed { counted: excess.saturating_add(self.left.counted), marks, next, is_carried: false }
    }
}

/// The maximum number of pages of walks to keep.
const MAX_KEPT: usize = 256;

/// The position of a walk in one list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Position {
    /// The grant, if there are several.
    pub(super) grant: Option<String>,
    /// How many of its rows were shown, if grants take turns.
    pub(super) shown: usize,
    /// The connection, if there are several.
    pub(super) connection: Option<String>,
    /// The provider's cursor.
    pub(super) cursor: Option<String>,
    /// Rows of the page that were already shown.
    pub(super) passed: Passed,
    /// How many rows fit a result by their average size, if the previous page had too many for one.
    pub(super) room: Option<usize>,
    /// The bookmark at which the page begins, if it is the first page of changes: a call gives it without a cursor.
    pub(super) since: Option<String>,
    /// Whether nothing follows.
    pub(super) is_done: bool,
    /// The number of rows of a grant that is done and is not asked again.
    pub(super) count: Option<u64>,
}

impl Position {
    /// How many rows to request so that `limit` of them, or as many as fit, follow the shown ones: at most what a
    /// provider returns.
    pub(super) fn limit(&self, limit: u64) -> u64 {
        let room = self.room.map_or(limit, |room| limit.min(room as u64));
        room.saturating_add(self.passed.len() as u64).min(limit.max(MOST_ROWS))
    }

    /// Whether fewer rows than `limit` are requested because no more would fit.
    pub(super) fn is_narrower_than(&self, limit: u64) -> bool {
        self.room.is_some_and(|room| (room as u64) < limit)
    }

    /// The same, if `room` rows fit a result of up to `limit` rows.
    pub(super) fn with_room(self, room: usize, limit: u64) -> Self {
        let room = if room < FEW { room.max(1) + 1 } else { room };
        Self { room: Some(room).filter(|room| !self.is_done && (*room as u64) < limit), ..self }
    }

    /// The same page after `used` more rows were shown.
    pub(super) fn behind(&self, page: &Again, used: usize) -> Self {
        Self { passed: page.with(used), ..self.clone() }
    }

    /// The provider's next page, which may contain the already shown rows in `left`; without a cursor, none follows.
    pub(super) fn next_page(&self, cursor: Option<&String>, left: &Passed) -> Self {
        let is_done = cursor.is_none();
        let passed = if is_done { Passed::default() } else { left.clone() };
        Self { cursor: cursor.cloned(), passed, since: None, is_done, ..self.clone() }
    }

    /// The same place in a few bytes.
    pub(super) fn briefly(&self) -> Self {
        Self { passed: self.passed.briefly(), room: None, ..self.clone() }
    }

    /// The longest place on the same page, in a few bytes.
    pub(super) fn most_briefly(&self) -> Self {
        let counted = if self.is_done { 0 } else { 99 };
        Self { passed: Passed { counted, ..Passed::default() }, room: None, ..self.clone() }
    }

    /// Whether the page after `shown` rows of this one can be read as more rows of this page, without its own cursor.
    pub(super) const fn can_widen(shown: usize, limit: u64) -> bool {
        (shown as u64).saturating_add(limit) <= MOST_ROWS
    }

    /// Writes each part after a point and a letter, a capital if the text is encoded. At most `most` rows are marked.
    fn write(&self, most: usize, out: &mut String) {
        let passed = self.passed.clone().naming(most);
        let texts = [("g", &self.grant), ("s", &self.connection), ("c", &self.cursor), ("b", &self.since)];
        for (tag, text) in texts.into_iter().filter_map(|(tag, text)| Some((tag, text.as_ref()?))) {
            let is_plain =
                text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
            let _ = if is_plain {
                write!(out, ".{tag}{text}")
            } else {
                write!(out, ".{}{}", tag.to_uppercase(), URL_SAFE_NO_PAD.encode(text))
            };
        }
        for (tag, number) in [("t", self.shown), ("k", passed.counted)] {
            let _ = if number > 0 { write!(out, ".{tag}{number}") } else { Ok(()) };
        }
        if !passed.marks.is_empty() {
            let marks = passed.marks.iter().flat_map(|mark| mark.to_be_bytes());
            let tag = if passed.is_carried { "o" } else { "m" };
            let _ = write!(out, ".{tag}{}", URL_SAFE_NO_PAD.encode(marks.collect::<Vec<_>>()));
        }
        if let Some(next) = passed.next {
            let _ = write!(out, ".x{next:x}");
        }
        for (tag, number) in [("n", self.count), ("r", self.room.map(|room| room as u64))] {
            if let Some(number) = number {
                let _ = write!(out, ".{tag}{number}");
            }
        }
        out.push_str(if self.is_done { ".d" } else { "" });
    }

    fn read(parts: &str) -> Option<Self> {
        let mut position = Self::default();
        for part in parts.split('.').skip(1) {
            let (tag, text) = part.split_at_checked(1)?;
            let packed = || String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok();
            let number = || text.parse::<usize>().ok();
            match tag {
                "g" => position.grant = Some(text.to_owned()),
                "G" => position.grant = Some(packed()?),
                "s" => position.connection = Some(text.to_owned()),
                "S" => position.connection = Some(packed()?),
                "c" => position.cursor = Some(text.to_owned()),
                "C" => position.cursor = Some(packed()?),
                "b" => position.since = Some(text.to_owned()),
                "B" => position.since = Some(packed()?),
                "t" => position.shown = number()?,
                "k" => position.passed.counted = number()?,
                "m" | "o" => {
                    position.passed.is_carried = tag == "o";
                    position.passed.marks = marks_of(text)?;
                }
                "x" => position.passed.next = Some(u32::from_str_radix(text, 16).ok()?),
                // Whatever a cursor claims, a page has at least one row.
                "r" => position.room = Some(number()?.max(1)),
                "n" => position.count = Some(text.parse().ok()?),
                "d" if text.is_empty() => position.is_done = true,
                _ => return None,
            }
        }
        Some(position)
    }
}

/// A number made from a row's id, the same in every process; all rows without an id get the same number.
fn mark(row: &Row) -> u32 {
    let id = RecordId::of_row(row, "");
    let number =
        id.map(|id| short_hash([id.connection.as_deref().unwrap_or_default(), &id.stream, &id.record]));
    number.unwrap_or_default()
}

fn marks_of(text: &str) -> Option<Vec<u32>> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (marks, rest) = bytes.as_chunks::<4>();
    let is_whole = rest.is_empty() && (1..=MOST_MARKS).contains(&marks.len());
    is_whole.then(|| marks.iter().map(|mark| u32::from_be_bytes(*mark)).collect())
}

/// The content of a cursor that is ours: positions, and which query they belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    pub(super) query: u32,
    pub(super) positions: Vec<Position>,
    /// Rows that another grant may return again, by [`seen_number`].
    pub(super) seen: Vec<u64>,
}

/// The number by which a walk remembers a row.
pub(super) fn seen_number<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    hash(parts) >> (64 - 8 * SEEN_BYTES)
}

impl Walk {
    /// The walk as a cursor. It is not compressed as a whole, because it consists mostly of cursors, which are
    /// already compact.
    pub(super) fn encode(&self) -> String {
        let mut out = format!("{PREFIX}{:x}", self.query);
        let places = self.positions.iter().filter(|position| !position.passed.is_empty()).count();
        let most = (MOST_MARKS / places.max(1)).max(LEAST_MARKS);
        for position in &self.positions {
            out.push_str("~p");
            position.write(most, &mut out);
        }
        if !self.seen.is_empty() {
            let bytes =
                self.seen.iter().flat_map(|number| number.to_be_bytes().into_iter().skip(8 - SEEN_BYTES));
            out.push_str("~h");
            out.push_str(&URL_SAFE_NO_PAD.encode(bytes.collect::<Vec<_>>()));
        }
        out
    }

    /// As [`Walk::encode`], within `most` bytes if the short form allows it.
    pub(super) fn encode_within(&self, most: usize) -> String {
        let whole = self.encode();
        if whole.len() <= most {
            return whole;
        }
        Self { positions: self.positions.iter().map(Position::briefly).collect(), ..self.clone() }.encode()
    }

    /// Whether it is a place in the query with that fingerprint, read from one grant.
    pub(super) fn is_of_one_grant(&self, query: u32) -> bool {
        self.is_of(query, 256) && self.positions.iter().all(|at| at.grant.is_none())
    }

    /// Whether it is a place in the query with that fingerprint, read from several grants.
    pub(super) fn is_of_grants(&self, query: u32) -> bool {
        self.is_of(query, 4_096) && self.positions.iter().all(|at| at.grant.is_some())
    }

    /// Whether it belongs to the query with that fingerprint, and has at most `most` places and at least one,
    /// as every walk that was created here.
    fn is_of(&self, query: u32, most: usize) -> bool {
        self.query == query && (1..=most).contains(&self.positions.len())
    }

    pub(super) fn decode(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix(PREFIX)?.split('~');
        let query = u32::from_str_radix(parts.next()?, 16).ok()?;
        let mut walk = Self { query, positions: Vec::new(), seen: Vec::new() };
        for part in parts {
            if let Some(position) = part.strip_prefix('p') {
                walk.positions.push(Position::read(position)?);
            } else {
                let bytes = URL_SAFE_NO_PAD.decode(part.strip_prefix('h')?).ok()?;
                let numbers = bytes.chunks(SEEN_BYTES);
                walk.seen = numbers
                    .map(|bytes| bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)))
                    .collect();
            }
        }
        Some(walk)
    }
}

/// The cursor of a call, as far as its text shows where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cursor {
    /// The provider's own cursor, passed on unchanged.
    Provider(String),
    /// One of ours.
    Walk(Walk),
    /// The name of one of ours that is kept here, because a call could not carry it.
    Kept(String),
    /// One of ours that cannot be read.
    Damaged,
}

impl Cursor {
    /// Reads the `cursor` argument of a list.
    pub fn from_text(text: &str) -> Self {
        if text.starts_with(KEPT_PREFIX) {
            Self::Kept(text.to_owned())
        } else if text.starts_with(PREFIX) {
            Walk::decode(text).map_or(Self::Damaged, Self::Walk)
        } else {
            Self::Provider(text.to_owned())
        }
    }

    /// Whether it walks several grants.
    pub fn is_over_grants(&self) -> bool {
        match self {
            Self::Kept(_) => true,
            Self::Walk(walk) => walk.positions.iter().any(|at| at.grant.is_some()),
            Self::Provider(_) | Self::Damaged => false,
        }
    }
}

/// The maximum size of our cursor around `cursor`, in bytes.
pub fn most_length(cursor: Option<&Value>) -> usize {
    match cursor {
        Some(Value::String(cursor)) if cursor.starts_with(PREFIX) => cursor.len() + 100,
        Some(cursor) => json_len(cursor) * 4 / 3 + 180,
        None => 180,
    }
}

/// The error for a kept cursor: those too long to pass on end with the process that issued them.
pub(super) fn expired_cursor() -> ToolError {
    ToolError::new(
        "cursor_expired",
        format!(
            "the place that this cursor names is no longer kept: the server was restarted, or {MAX_KEPT} other pages \
             were read since"
        ),
        "start again without cursor",
    )
    .with("param", "cursor")
}

pub(super) fn invalid_cursor() -> ToolError {
    unfit_cursor("the cursor is damaged or belongs to another call")
}

/// The error `invalid_cursor`, with what may be wrong with it.
pub(super) fn unfit_cursor(what: &str) -> ToolError {
    ToolError::new(
        "invalid_cursor",
        what,
        "start again without cursor; a cursor works only with the call that gave it",
    )
    .with("param", "cursor")
}

/// Walks whose cursor would be too long to pass on, by name: the last 256 pages. They end with the process. The name
/// identifies the process, so that no other process mistakes it for its own walk.
#[derive(Default)]
pub struct Walks {
    kept: Mutex<Kept>,
    /// Whether the process ends after one call.
    is_for_one_call: bool,
}

#[derive(Default)]
struct Kept {
    process: Option<String>,
    next: u64,
    /// Each page is one string, so one allocation: long-lived data among short-lived data pins the memory around it,
    /// and a walk consists of many small strings.
    pages: VecDeque<(u64, Box<str>)>,
}

impl Walks {
    /// Walks for a process that answers one call: no later call can ask for what it keeps.
    pub(crate) fn for_one_call() -> Self {
        Self { is_for_one_call: true, ..Self::default() }
    }

    /// The maximum size of a cursor over several grants if a call can carry `most` bytes. Longer ones are kept here
    /// under a short name, because the caller must copy the cursor whole.
    pub(super) fn longest(&self, most: usize) -> usize {
        if self.is_for_one_call { most } else { most.min(LONGEST_COPIED) }
    }

    /// Whether the process ends after one call, so that nothing it keeps can be found again.
    pub(super) const fn are_for_one_call(&self) -> bool {
        self.is_for_one_call
    }

    pub(super) fn keep(&self, walk: &Walk) -> Option<String> {
        let page = walk.encode().into_boxed_str();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.process.is_none() {
            kept.process = Some(crate::hex::random::<8>().ok()?);
        }
        if kept.pages.len() >= MAX_KEPT {
            kept.pages.pop_front();
        }
        let number = kept.next;
        kept.next += 1;
        kept.pages.push_back((number, page));
        Some(format!("{KEPT_PREFIX}{}-{number}", kept.process.as_deref()?))
    }

    pub(super) fn find(&self, cursor: &str) -> Option<Walk> {
        let (process, number) = cursor.strip_prefix(KEPT_PREFIX)?.split_once('-')?;
        let number = number.parse::<u64>().ok()?;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.process.as_deref() != Some(process) {
            return None;
        }
        let (_, page) = kept.pages.iter().find(|(known, _)| *known == number)?;
        Walk::decode(page)
    }
}

/// A number for texts: FNV-1a.
pub(super) fn hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let bytes = parts.into_iter().flat_map(|part| part.bytes().chain([0xff]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A shorter one: its halves folded.
pub(super) fn short_hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> u32 {
    let hash = hash(parts);
    #[allow(clippy::cast_possible_truncation, reason = "only the lower half is needed")]
    let folded = (hash ^ (hash >> 32)) as u32;
    folded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{listing, row};
    use super::*;

    fn passed(rows: usize) -> Passed {
        shown(&(0..rows).map(|at| row(&at.to_string())).collect::<Vec<_>>())
    }

    fn shown(rows: &[Row]) -> Passed {
        Passed::default().take_from(&mut rows.to_vec(), false).with(rows.len())
    }

    #[test]
    fn a_cursor_of_another_query_or_a_damaged_one_is_refused() {
        let walk = Walk {
            query: listing(None).fingerprint(),
            positions: vec![Position { passed: passed(2), ..Position::default() }],
            seen: Vec::new(),
        };
        let encoded = walk.encode();
        assert_eq!(listing(Some(&encoded)).start().unwrap(), walk.positions);
        let mut other = listing(Some(&encoded));
        other.connection = Some("c".to_owned());
        assert_eq!(other.start().unwrap_err().code(), "invalid_cursor");
        assert_eq!(listing(Some(&format!("{encoded}x"))).start().unwrap_err().code(), "invalid_cursor");
        assert_eq!(listing(Some("theirs")).start().unwrap()[0].cursor.as_deref(), Some("theirs"));
    }

    #[test]
    fn a_made_up_cursor_without_a_place_is_refused() {
        let one = Position { grant: Some("g".to_owned()), ..Position::default() };
        let grants = |positions| Walk { query: 1, positions, seen: Vec::new() }.is_of_grants(1);
        assert!(grants(vec![one]));
        assert!(!grants(Vec::new()));
        let alone = |positions| Walk { query: 1, positions, seen: Vec::new() }.is_of_one_grant(1);
        assert!(alone(vec![Position::default()]));
    }

    #[test]
    fn a_cursor_costs_little_beside_those_that_it_holds() {
        let cursor = Some("x".repeat(200));
        let position = Position {
            grant: Some("01234567".into()),
            shown: 99,
            cursor,
            passed: Passed::most(75),
            ..Position::default()
        };
        let walk = |positions, seen: usize| Walk {
            query: u32::MAX,
            positions: vec![position.clone(); positions],
            seen: vec![1 << 47; seen],
        };
        assert!(walk(10, 0).encode().len() <= 14 + 10 * 268, "{}", walk(10, 0).encode().len());
        assert_eq!(walk(1, 40).encode().len() - walk(1, 0).encode().len(), 2 + 40 * 8);
    }

    #[test]
    fn r4_8_what_was_shown_is_found_again_whatever_came_or_went() {
        let rows = |ids: &[&str]| ids.iter().map(|id| row(id)).collect::<Vec<_>>();
        let names =
            |rows: &[Row]| rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        let shown = |ids: &[&str]| shown(&rows(ids));
        let of_page = |passed: &Passed, ids: &[&str], goes_on: bool| {
            let mut rows = rows(ids);
            let page = passed.take_from(&mut rows, goes_on);
            (names(&rows), page.shown(), page.left.len())
        };
        let left = |passed: &Passed, ids: &[&str]| of_page(passed, ids, true);
        let of = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let three = shown(&["a", "b", "c"]);
        assert_eq!(left(&three, &["a", "b", "c", "d", "e"]), (of(&["d", "e"]), 3, 0));
        assert_eq!(left(&three, &["n", "a", "b", "c", "d"]), (of(&["d"]), 4, 0));
        assert_eq!(left(&three, &["a", "n", "b", "c"]), (of(&[]), 4, 0));
        assert_eq!(left(&three, &["b", "d", "e"]), (of(&["d", "e"]), 1, 2));
        assert_eq!(left(&three, &["d", "e"]), (of(&["d", "e"]), 0, 3));
        assert_eq!(left(&three, &["a"]), (of(&[]), 1, 2));
        assert_eq!(left(&three, &["c", "b", "a", "d"]), (of(&["d"]), 3, 0));
        // More rows were inserted than were shown, and a shown one moved to the end.
        assert_eq!(left(&shown(&["a"]), &["n", "o", "a", "d"]), (of(&["n", "o", "d"]), 1, 0));
        assert_eq!(left(&three, &["a", "b", "d", "e", "c"]), (of(&["d", "e"]), 3, 0));
        // All of them moved behind the row that should come next.
        let before_d = Passed { next: Some(mark(&row("d"))), ..three.clone() };
        assert_eq!(left(&before_d, &["d", "e", "a", "b", "c"]), (of(&["d", "e"]), 3, 0));
        // Two rows with the same name are two rows.
        assert_eq!(left(&shown(&["a"]), &["n", "a", "a"]), (of(&["n", "a"]), 1, 0));
        // Rows shown on the previous page: none of them is on this page.
        let carried = Passed { is_carried: true, ..three };
        assert_eq!(left(&carried, &["c", "d"]), (of(&["d"]), 1, 2));
        assert_eq!(left(&carried, &["d", "e"]), (of(&["d", "e"]), 0, 0));
        // More than a cursor marks: the first ones are counted.
        let ids = (0..50).map(|at| format!("r{at:02}")).collect::<Vec<_>>();
        let ids = ids.iter().map(String::as_str).collect::<Vec<_>>();
        let many = shown(&ids[..40]);
        assert_eq!((many.counted, many.marks.len()), (28, MOST_MARKS));
        assert_eq!(left(&many, &ids), (of(&ids[40..]), 40, 0));
        assert_eq!(left(&many, &ids[5..]), (of(&ids[40..]), 35, 0));
        assert_eq!(left(&many, &[&["n"], ids.as_slice()].concat()), (of(&ids[40..]), 41, 0));
        assert_eq!(left(&many, &ids[..3]), (of(&[]), 3, 37));
        assert_eq!(left(&many, &ids[..20]), (of(&[]), 20, 20));
        // A list that ends is not a shorter page: the rows are gone.
        assert_eq!(of_page(&many, &["x", "y"], false).0, of(&["x", "y"]));
        // The row that should come next also shows where to continue.
        let before_40 = Passed { next: Some(mark(&row("r40"))), ..many.clone() };
        assert_eq!(left(&before_40, &[&ids[..20], &["n"], &ids[40..]].concat()).0, of(&ids[40..]));
        // None of the marked rows is left: better to show some twice than never.
        let others = [&ids[..1], &["n"; 40]].concat();
        assert_eq!(left(&many, &others), (of(&others), 0, MOST_MARKS));
    }

    proptest! {
        #[test]
        fn what_is_made_up_is_no_walk_or_one_that_is_written_again(text in "(~p)?[.~phgGcCtkmoxnrd0-9a-zA-Z_-]{0,40}") {
            if let Some(walk) = Walk::decode(&format!("{PREFIX}{text}")) {
                prop_assert_eq!(Walk::decode(&walk.encode()), Some(walk));
            }
        }

        #[test]
        fn cursors_round_trip(query in any::<u32>(), connection in any::<Option<String>>(), cursor in any::<Option<String>>(), count in any::<Option<u64>>(), rows in 0usize..1000, is_carried in any::<bool>(), room in prop::option::of(1usize..1000)) {
            let passed = Passed { is_carried: is_carried && rows > 0, next: count.map(|_| query), ..passed(rows) };
            let walk = Walk { query, positions: vec![Position { grant: None, shown: rows / 2, connection, cursor, passed, room, since: None, is_done: rows == 7, count }], seen: vec![u64::from(query) << 13; rows % 3] };
            prop_assert_eq!(Walk::decode(&walk.encode()), Some(walk));
        }
    }
}
