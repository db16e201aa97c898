//! The cursors that are ours: a walk written out, or the name of one that is kept here because it is too long for a
//! call to carry.

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

/// What our own cursors begin with; no provider's would.
const PREFIX: &str = "pdpp1.";

/// What a cursor begins with whose walk is kept here.
pub(super) const KEPT_PREFIX: &str = "pdpp1.w-";

/// Longest cursor of several grants that a model is asked to copy, in bytes: a longer one is kept here under a short name.
const LONGEST_COPIED: usize = 1_000;

/// How many bytes of a cursor name a row that was shown.
const SEEN_BYTES: usize = 6;

/// Pages of fewer rows than this ask for one more than fits in the mean: one row less would be much of them.
const FEW: usize = 6;

/// Most rows of a page that providers give.
const MOST_ROWS: u64 = 100;

/// Most rows that a cursor names as shown, of all its places; those before them are counted. Whoever types the next call
/// copies them.
const MOST_MARKS: usize = 12;

/// As many may be named of each place.
const LEAST_MARKS: usize = 3;

/// Most of them that the page did not have when it was last read.
const MOST_MISSING: usize = 4;

/// Rows of the provider's page that were shown already. The page is read again, and may have other rows by then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// How many came before those that have a mark.
    pub(super) counted: usize,
    /// The last of them, each by a number for its id.
    pub(super) marks: Vec<u32>,
    /// The row that came behind them and was not shown.
    pub(super) next: Option<u32>,
    /// Whether they were shown of the page before, and may come on this one: it had other rows when it was read again.
    pub(super) is_carried: bool,
}

impl Passed {
    /// How many.
    pub(super) const fn len(&self) -> usize {
        self.counted.saturating_add(self.marks.len())
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What takes as long as that many rows do at most.
    pub(super) fn most(rows: usize) -> Self {
        let marks = rows.min(MOST_MARKS);
        Self { counted: rows - marks, marks: vec![u32::MAX; marks], next: Some(u32::MAX), is_carried: false }
    }

    /// The same with the last `most` named.
    fn naming(mut self, most: usize) -> Self {
        let excess = self.marks.len().saturating_sub(most);
        self.marks.drain(..excess);
        if !self.is_carried {
            self.counted = self.counted.saturating_add(excess);
        }
        self
    }

    /// The same in few bytes: a number alone, which is right as long as nothing comes or goes. Of those of the page before nothing
    /// can be said so.
    fn briefly(&self) -> Self {
        let counted = if self.is_carried { 0 } else { self.len() };
        Self { counted, ..Self::default() }
    }

    /// Takes them out of `rows`, those of the provider's page, and what came among them meanwhile; whatever came or went, what
    /// is left was not shown. The list may go on behind them, as `goes_on` says.
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
        // What stands before the first of them is counted, or came among those that are. Where none of them is there, a page
        // may be shorter than it was; else so much is gone that the count says nothing.
        let is_short = goes_on && numbers.len() < self.len();
        let counted = first.or(next).unwrap_or(if is_short { self.counted } else { 0 });
        let counted = if self.counted > 0 { counted } else { 0 };
        let is_beyond = first.or(next).is_none() && is_short;
        let beyond = if is_beyond { self.counted.saturating_sub(numbers.len()) } else { 0 };
        let mut left = Self { counted: beyond, next: None, is_carried: true, ..self.clone() };
        let is_shown = |(at, number): (usize, &u32)| {
            // Each mark is one row: a provider may give two of the same name.
            let marked = left.marks.iter().position(|mark| mark == number);
            marked.map(|marked| left.marks.remove(marked));
            marked.is_some() || at < counted
        };
        let mut shown = numbers.iter().enumerate().map(is_shown).collect::<Vec<_>>();
        let place = match next {
            // All that came before it came meanwhile, where nothing that was shown is behind it.
            Some(next) if !shown[next..].contains(&true) => next,
            next => place_behind(&shown).min(next.unwrap_or(usize::MAX)),
        };
        shown[..place].fill(true);
        let mut each = shown.iter();
        rows.retain(|_| each.next() != Some(&true));
        // What is neither on its page nor on the next one is gone.
        if self.is_carried && rows.len() == numbers.len() {
            left = Self::default();
        }
        Again { numbers, shown, left, is_lost }
    }
}

/// Where a page goes on of which these rows were `shown`: behind most of them, with the fewest of the others before it. Those
/// came meanwhile; and where a shown row moved to the end instead, none of those is passed over that it moved behind.
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
    /// Which of them were shown already, or came before the place where it goes on.
    shown: Vec<bool>,
    /// Those that were shown of it, or may have come to it, and are not on it: they may be on the page that follows.
    pub(super) left: Passed,
    /// Whether the row is not on it that was to come next.
    pub(super) is_lost: bool,
}

impl Again {
    /// How many of its rows were shown already.
    pub(super) fn shown(&self) -> usize {
        self.shown.iter().filter(|shown| **shown).count()
    }

    /// What was shown of it with the next `used` rows that were not.
    fn with(&self, used: usize) -> Passed {
        let mut new = 0;
        let here = self.numbers.iter().zip(&self.shown).filter(|(_, shown)| {
            new += usize::from(!**shown);
            **shown || new <= used
        });
        let mut marks = here.map(|(number, _)| *number).collect::<Vec<_>>();
        // Those that are missing, the last of them: what came before them may have put them on the page that follows.
        let missing = &self.left.marks[self.left.marks.len().saturating_sub(MOST_MISSING)..];
        let excess = (marks.len() + missing.len()).saturating_sub(MOST_MARKS);
        marks.drain(..excess.min(marks.len()));
        marks.splice(..0, missing.iter().copied());
        let mut new = self.numbers.iter().zip(&self.shown).filter(|(_, shown)| !**shown);
        let next = new.nth(used).map(|(number, _)| *number);
        Passed { counted: excess.saturating_add(self.left.counted), marks, next, is_carried: false }
    }
}

/// Most pages of walks that are kept.
const MAX_KEPT: usize = 256;

/// Where a walk stands in one list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Position {
    /// The grant, where it is one of several.
    pub(super) grant: Option<String>,
    /// How many rows of it were shown, where grants take turns.
    pub(super) shown: usize,
    /// The connection, where it is one of several.
    pub(super) connection: Option<String>,
    /// The provider's cursor.
    pub(super) cursor: Option<String>,
    /// Rows of the page that were shown already.
    pub(super) passed: Passed,
    /// How many rows fit a result by their mean size, where those of the page before were too many for one.
    pub(super) room: Option<usize>,
    /// The bookmark that the page begins at, where it is the first one of changes: a call names it with no cursor.
    pub(super) since: Option<String>,
    /// Whether nothing follows.
    pub(super) is_done: bool,
    /// How many rows there were, of a grant that is done: it is not asked again.
    pub(super) count: Option<u64>,
}

impl Position {
    /// How many rows to ask for so that `limit` of them, or as many as fit, follow those that were shown: at most what a
    /// provider gives.
    pub(super) fn limit(&self, limit: u64) -> u64 {
        let room = self.room.map_or(limit, |room| limit.min(room as u64));
        room.saturating_add(self.passed.len() as u64).min(limit.max(MOST_ROWS))
    }

    /// Whether fewer rows than `limit` are asked for, because no more would fit.
    pub(super) fn is_narrower_than(&self, limit: u64) -> bool {
        self.room.is_some_and(|room| (room as u64) < limit)
    }

    /// The same, where `room` rows fit a result of up to `limit`.
    pub(super) fn with_room(self, room: usize, limit: u64) -> Self {
        let room = if room < FEW { room.max(1) + 1 } else { room };
        Self { room: Some(room).filter(|room| !self.is_done && (*room as u64) < limit), ..self }
    }

    /// The same page, of which `used` more rows were shown.
    pub(super) fn behind(&self, page: &Again, used: usize) -> Self {
        Self { passed: page.with(used), ..self.clone() }
    }

    /// The provider's next page, where those that are `left` may be, which were shown already; none follows without a cursor.
    pub(super) fn next_page(&self, cursor: Option<&String>, left: &Passed) -> Self {
        let is_done = cursor.is_none();
        let passed = if is_done { Passed::default() } else { left.clone() };
        Self { cursor: cursor.cloned(), passed, since: None, is_done, ..self.clone() }
    }

    /// The same place in few bytes.
    pub(super) fn briefly(&self) -> Self {
        Self { passed: self.passed.briefly(), room: None, ..self.clone() }
    }

    /// The longest place on the same page, in few bytes.
    pub(super) fn most_briefly(&self) -> Self {
        let counted = if self.is_done { 0 } else { 99 };
        Self { passed: Passed { counted, ..Passed::default() }, room: None, ..self.clone() }
    }

    /// Whether the page that follows `shown` rows of this one can be had as more rows of it, without a cursor of its own.
    pub(super) const fn can_widen(shown: usize, limit: u64) -> bool {
        (shown as u64).saturating_add(limit) <= MOST_ROWS
    }

    /// Each part after a point and a letter, which is a capital where the text is not plain.
    /// `most` rows are named.
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
                // Whatever a cursor says, a page has a row.
                "r" => position.room = Some(number()?.max(1)),
                "n" => position.count = Some(text.parse().ok()?),
                "d" if text.is_empty() => position.is_done = true,
                _ => return None,
            }
        }
        Some(position)
    }
}

/// A number for a row's id, the same in every process; of those without an id each is like the other.
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

/// What our own cursor remembers: positions, and which query they belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    pub(super) query: u32,
    pub(super) positions: Vec<Position>,
    /// Rows that another grant may give again, by [`seen_number`].
    pub(super) seen: Vec<u64>,
}

/// A row as a walk remembers it.
pub(super) fn seen_number<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    hash(parts) >> (64 - 8 * SEEN_BYTES)
}

impl Walk {
    /// Not packed as a whole: most of it are cursors, which are packed already.
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

    /// As [`Walk::encode`], within `most` bytes where it can be said so briefly.
    pub(super) fn encode_within(&self, most: usize) -> String {
        let whole = self.encode();
        if whole.len() <= most {
            return whole;
        }
        Self { positions: self.positions.iter().map(Position::briefly).collect(), ..self.clone() }.encode()
    }

    /// Whether it is a place in the query of that fingerprint, read from one grant.
    pub(super) fn is_of_one_grant(&self, query: u32) -> bool {
        self.is_of(query, 256) && self.positions.iter().all(|at| at.grant.is_none())
    }

    /// Whether it is a place in the query of that fingerprint, read from several grants.
    pub(super) fn is_of_grants(&self, query: u32) -> bool {
        self.is_of(query, 4_096) && self.positions.iter().all(|at| at.grant.is_some())
    }

    /// One that was made here has a place.
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

/// The cursor of a call, as far as it says by itself where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cursor {
    /// The provider's own, passed on as it is.
    Provider(String),
    /// One of ours.
    Walk(Walk),
    /// The name of one of ours that is kept here: its cursor would be too long for a call to carry.
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

/// How long a cursor of ours is at most that holds `cursor`, in bytes.
pub fn most_length(cursor: Option<&Value>) -> usize {
    match cursor {
        Some(Value::String(cursor)) if cursor.starts_with(PREFIX) => cursor.len() + 100,
        Some(cursor) => json_len(cursor) * 4 / 3 + 180,
        None => 180,
    }
}

/// Our cursors end with the process that gave them where they were too long to be passed on.
pub(super) fn expired_cursor() -> ToolError {
    ToolError::new(
        "cursor_expired",
        format!(
            "the place that this cursor names is not kept any more: the server was started again, or {MAX_KEPT} other pages \
             were read since"
        ),
        "start again without cursor",
    )
    .with("param", "cursor")
}

pub(super) fn invalid_cursor() -> ToolError {
    unfit_cursor("the cursor is damaged or belongs to another call")
}

/// As `invalid_cursor`, with what may be wrong with it.
pub(super) fn unfit_cursor(what: &str) -> ToolError {
    ToolError::new(
        "invalid_cursor",
        what,
        "start again without cursor; a cursor goes with the very call that gave it",
    )
    .with("param", "cursor")
}

/// Walks whose cursor would be too long to pass on, by name: the last 256 pages. They end with the
/// process, and the name says which process it was, so that another never takes it for one of its own.
#[derive(Default)]
pub struct Walks {
    kept: Mutex<Kept>,
    /// Whether the process ends after a call.
    is_for_one_call: bool,
}

#[derive(Default)]
struct Kept {
    process: Option<String>,
    next: u64,
    /// Written out, one allocation a page: what is kept long among what lives short pins the memory round it, and a
    /// walk is many small strings.
    pages: VecDeque<(u64, Box<str>)>,
}

impl Walks {
    /// Those of a process that answers one call: what it keeps nobody can ask for.
    pub(crate) fn for_one_call() -> Self {
        Self { is_for_one_call: true, ..Self::default() }
    }

    /// How long a cursor over several grants is at most, where a call can carry one of `most`. Longer ones are kept here under
    /// a short name. Whoever types the next call copies it whole.
    pub(super) fn longest(&self, most: usize) -> usize {
        if self.is_for_one_call { most } else { most.min(LONGEST_COPIED) }
    }

    /// Whether the process ends after a call, so that nothing that it keeps is found again.
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
    #[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
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
        // More came than were shown; and one that was shown moved to the end.
        assert_eq!(left(&shown(&["a"]), &["n", "o", "a", "d"]), (of(&["n", "o", "d"]), 1, 0));
        assert_eq!(left(&three, &["a", "b", "d", "e", "c"]), (of(&["d", "e"]), 3, 0));
        // All of them moved behind the row that was to come next.
        let before_d = Passed { next: Some(mark(&row("d"))), ..three.clone() };
        assert_eq!(left(&before_d, &["d", "e", "a", "b", "c"]), (of(&["d", "e"]), 3, 0));
        // Two of the same name are two rows.
        assert_eq!(left(&shown(&["a"]), &["n", "a", "a"]), (of(&["n", "a"]), 1, 0));
        // Those that were shown of the page before: none of them came on this one.
        let carried = Passed { is_carried: true, ..three };
        assert_eq!(left(&carried, &["c", "d"]), (of(&["d"]), 1, 2));
        assert_eq!(left(&carried, &["d", "e"]), (of(&["d", "e"]), 0, 0));
        // More than a cursor names: the first of them are counted.
        let ids = (0..50).map(|at| format!("r{at:02}")).collect::<Vec<_>>();
        let ids = ids.iter().map(String::as_str).collect::<Vec<_>>();
        let many = shown(&ids[..40]);
        assert_eq!((many.counted, many.marks.len()), (28, MOST_MARKS));
        assert_eq!(left(&many, &ids), (of(&ids[40..]), 40, 0));
        assert_eq!(left(&many, &ids[5..]), (of(&ids[40..]), 35, 0));
        assert_eq!(left(&many, &[&["n"], ids.as_slice()].concat()), (of(&ids[40..]), 41, 0));
        assert_eq!(left(&many, &ids[..3]), (of(&[]), 3, 37));
        assert_eq!(left(&many, &ids[..20]), (of(&[]), 20, 20));
        // A list that ends is no shorter page: they are gone.
        assert_eq!(of_page(&many, &["x", "y"], false).0, of(&["x", "y"]));
        // The row that was to come next says where it goes on, too.
        let before_40 = Passed { next: Some(mark(&row("r40"))), ..many.clone() };
        assert_eq!(left(&before_40, &[&ids[..20], &["n"], &ids[40..]].concat()).0, of(&ids[40..]));
        // None of those that it names is left: rather twice than never.
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
