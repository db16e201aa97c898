//! The index of words. For each term of a stream, it has the records that contain the term, and the places in them.
//!
//! It consists of segments, each written in one step and in the order of its terms; every few of the newest are
//! joined into one. A segment consists of blocks that store the rows of some terms separately from the places in
//! those rows. So counting the records of a word reads few bytes, and only a phrase needs the places. A record that
//! changes is written to the newest segment, which lists it, so that what earlier segments say about it no longer
//! holds.
//!
//! This is not FTS5, which walks its matches one by one through the database. For a word that is in all mails, that
//! takes longer than a search may take. Its only order is by numbers that are assigned in advance.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use rusqlite::{Connection as Sqlite, OptionalExtension as _, Transaction, params};

use super::row_set::RowSet;
use crate::vault::words::{self, Query, Tag};

/// The size of a block in bytes; larger if a single term has more.
const BLOCK: usize = 16 << 10;
/// How many bytes of terms are gathered in memory before they are written.
const GATHERED: usize = 16 << 20;
/// How many segments are joined into one.
const JOINED: usize = 8;
/// Segments below this size are one class, those below eight times this size the next, and so on.
const SMALL: i64 = 1 << 20;
/// Segments of this class are not joined any further, which limits the work in one transaction.
const LARGE: u32 = 2;

/// The terms of a record, in the order of its texts, each preceded by its length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms(Vec<u8>);

impl Terms {
    /// Adds the words of `text`, which belongs to the field with this tag.
    pub fn add(&mut self, tag: Tag, text: &str) {
        let mut letter = [0; 4];
        let letter = tag.letter().encode_utf8(&mut letter).as_bytes();
        // About as much as the text takes: a word plus the space after it becomes a term with its length and tag.
        self.0.reserve(text.len() + text.len() / 4);
        words::each_word(text, |_, word| {
            put(&mut self.0, (letter.len() + word.len()) as u64);
            self.0.extend_from_slice(letter);
            self.0.extend_from_slice(word.as_bytes());
            ControlFlow::Continue(())
        });
    }

    /// All terms.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let length = get(&mut rest)?;
            take(&mut rest, length)
        })
    }
}

/// What a transaction writes to the index for one stream of one connection.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The terms of each record.
    rows: BTreeMap<i64, Terms>,
    /// Records that the index may already know.
    gone: RowSet,
    bytes: usize,
}

impl Gathered {
    /// Adds a record with its terms.
    pub fn add(&mut self, row: i64, terms: Terms) {
        self.bytes += terms.0.len();
        self.rows.insert(row, terms);
    }

    /// Declares that what the index knows about a record no longer holds.
    pub fn remove(&mut self, row: i64) {
        self.rows.remove(&row);
        self.gone.insert(row);
    }

    /// Whether it is time to write.
    pub const fn is_large(&self) -> bool {
        self.bytes >= GATHERED
    }

    /// Writes everything as a segment of `slot`.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn write(&mut self, tx: &Transaction<'_>, slot: i64) -> rusqlite::Result<()> {
        let Self { rows, gone, .. } = std::mem::take(self);
        let mut numbers = Numbers::default();
        // The term of each word, in the order of the texts, and where the words of each row end.
        let (mut words, mut ends) = (Vec::new(), Vec::with_capacity(rows.len()));
        for terms in rows.values() {
            words.extend(terms.iter().map(|term| numbers.of(term)));
            ends.push(words.len());
        }
        if words.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let place: i64 = tx
            .prepare_cached("SELECT coalesce(max(place), 0) + 1 FROM word_segment WHERE slot = ?1")?
            .query_row([slot], |row| row.get(0))?;
        let mut segment = Writer::begin(tx, slot, place, &gone)?;
        let order = numbers.in_order();
        // The same words sorted by term, and where those of each term begin. A list per term would take longer to
        // fill.
        let mut begins = vec![0; numbers.terms.len()];
        let mut next = 0;
        for number in &order {
            begins[*number] = next;
            next += numbers.terms[*number].1;
        }
        let mut sorted = vec![(0_u32, 0_u32); words.len()];
        let mut from = 0;
        for (nth, to) in (0..).zip(ends) {
            for (place, number) in (0..).zip(&words[from..to]) {
                let at = &mut begins[*number as usize];
                sorted[*at] = (nth, place);
                *at += 1;
            }
            from = to;
        }
        let rows: Vec<i64> = rows.keys().copied().collect();
        let (mut rest, mut posting) = (&*sorted, Posting::default());
        for number in order {
            let (term, count) = numbers.terms[number];
            let (of_term, others) = rest.split_at(count);
            rest = others;
            posting.clear();
            for (nth, place) in of_term {
                posting.push(rows[*nth as usize], u64::from(*place));
            }
            segment.put(term, &posting.rows, &posting.places)?;
        }
        segment.end()
    }
}

/// The terms of some records, numbered in the order in which they appear.
#[derive(Default)]
struct Numbers<'a> {
    /// Each term with how often it occurs.
    terms: Vec<(&'a [u8], usize)>,
    /// Short terms by their bytes and their length in one number, which is compared in one step without following a
    /// pointer.
    short: HashMap<u128, u32, foldhash::fast::RandomState>,
    long: HashMap<&'a [u8], u32>,
}

/// The maximum length of a term that fits in a number, in bytes.
const SHORT: usize = 15;

impl<'a> Numbers<'a> {
    fn of(&mut self, term: &'a [u8]) -> u32 {
        let mut new = || {
            self.terms.push((term, 0));
            u32::try_from(self.terms.len() - 1).unwrap_or(u32::MAX)
        };
        let number = if term.len() <= SHORT {
            *self.short.entry(head(term) | term.len() as u128).or_insert_with(&mut new)
        } else {
            *self.long.entry(term).or_insert_with(&mut new)
        };
        if let Some((_, count)) = self.terms.get_mut(number as usize) {
            *count += 1;
        }
        number
    }

    /// The numbers in the order of their terms.
    fn in_order(&self) -> Vec<usize> {
        let mut order: Vec<(u128, usize)> =
            self.terms.iter().zip(0..).map(|((term, _), number)| (head(term), number)).collect();
        order.sort_unstable_by(|(head, number), (other_head, other)| {
            head.cmp(other_head).then_with(|| self.terms[*number].0.cmp(self.terms[*other].0))
        });
        order.into_iter().map(|(_, number)| number).collect()
    }
}

/// The first bytes of a term as a number, padded with zeros. Terms that differ in them sort by it.
fn head(term: &[u8]) -> u128 {
    let length = term.len();
    if let Some(head) = term.first_chunk::<16>() {
        return u128::from_be_bytes(*head);
    }
    // Two parts that may overlap: copying so few bytes in a loop takes longer.
    if let (Some(head), Some(tail)) = (term.first_chunk::<8>(), term.last_chunk::<8>()) {
        let (head, tail) = (u64::from_be_bytes(*head), u64::from_be_bytes(*tail));
        return u128::from(head) << 64 | u128::from(tail) << (8 * (16 - length));
    }
    term.iter().zip(0_u32..).fold(0, |head, (byte, at)| head | u128::from(*byte) << (120 - 8 * at))
}

/// The rows of a term, each as its distance from the previous one, and the places in each.
#[derive(Debug, Default)]
struct Posting {
    rows: Vec<u8>,
    places: Vec<u8>,
    row: i64,
    place: u64,
}

impl Posting {
    fn clear(&mut self) {
        self.rows.clear();
        self.places.clear();
        (self.row, self.place) = (0, 0);
    }

    fn push(&mut self, row: i64, place: u64) {
        let is_first = self.rows.is_empty() || row != self.row;
        if is_first {
            put(&mut self.rows, row.abs_diff(self.row));
            (self.row, self.place) = (row, 0);
        }
        // The lowest bit marks the beginning of another row.
        put(&mut self.places, (place - self.place) << 1 | u64::from(is_first));
        self.place = place;
    }
}

/// Writes a number in as few bytes as it needs, with seven bits in each.
fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Reads the number at the beginning of `bytes`, and removes it from there.
#[inline]
fn get(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    if *first < 0x80 {
        return Some(u64::from(*first));
    }
    let (mut number, mut shift) = (u64::from(*first & 0x7f), 7);
    loop {
        let (next, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(*next & 0x7f).checked_shl(shift)?;
        if *next < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

/// Takes `length` bytes from the beginning of `bytes`.
fn take<'a>(bytes: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(taken)
}

/// Calls `each` for each of the rows.
fn each_row(mut rows: &[u8], mut each: impl FnMut(i64)) {
    let mut row = 0_i64;
    while let Some(distance) = get(&mut rows) {
        row = row.wrapping_add_unsigned(distance);
        each(row);
    }
}

fn packed(set: &RowSet) -> Vec<u8> {
    let (mut out, mut before) = (Vec::new(), 0);
    for row in set.iter() {
        put(&mut out, row.abs_diff(before));
        before = row;
    }
    out
}

fn unpacked(rows: &[u8]) -> RowSet {
    let mut set = RowSet::default();
    each_row(rows, |row| set.insert(row));
    set
}

/// A term in a block: its bytes, its rows, and how many bytes of places it has.
struct Entry<'a> {
    term: &'a [u8],
    rows: &'a [u8],
    places: u64,
}

fn entry<'a>(block: &mut &'a [u8]) -> Option<Entry<'a>> {
    let length = get(block)?;
    let term = take(block, length)?;
    let (rows, places) = (get(block)?, get(block)?);
    Some(Entry { term, rows: take(block, rows)?, places })
}

/// Writes a segment, term by term in order.
struct Writer<'a> {
    tx: &'a Transaction<'a>,
    segment: i64,
    first: Vec<u8>,
    terms: Vec<u8>,
    places: Vec<u8>,
    bytes: usize,
}

impl<'a> Writer<'a> {
    fn begin(tx: &'a Transaction<'a>, slot: i64, place: i64, gone: &RowSet) -> rusqlite::Result<Self> {
        tx.prepare_cached("INSERT INTO word_segment (slot, place, bytes, gone) VALUES (?1, ?2, 0, ?3)")?
            .execute(params![slot, place, packed(gone)])?;
        let segment = tx.last_insert_rowid();
        Ok(Self { tx, segment, first: Vec::new(), terms: Vec::new(), places: Vec::new(), bytes: 0 })
    }

    fn put(&mut self, term: &[u8], rows: &[u8], places: &[u8]) -> rusqlite::Result<()> {
        if self.terms.is_empty() {
            term.clone_into(&mut self.first);
        }
        put(&mut self.terms, term.len() as u64);
        self.terms.extend_from_slice(term);
        put(&mut self.terms, rows.len() as u64);
        put(&mut self.terms, places.len() as u64);
        self.terms.extend_from_slice(rows);
        self.places.extend_from_slice(places);
        if self.terms.len() + self.places.len() >= BLOCK { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> rusqlite::Result<()> {
        if self.terms.is_empty() {
            return Ok(());
        }
        self.tx
            .prepare_cached("INSERT INTO word (segment, first, terms, places) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![self.segment, self.first, self.terms, self.places])?;
        self.bytes += self.terms.len() + self.places.len();
        self.terms.clear();
        self.places.clear();
        Ok(())
    }

    fn end(mut self) -> rusqlite::Result<()> {
        self.write()?;
        self.tx
            .prepare_cached("UPDATE word_segment SET bytes = ?2 WHERE segment = ?1")?
            .execute(params![self.segment, i64::try_from(self.bytes).unwrap_or(i64::MAX)])
            .map(drop)
    }
}

/// A segment of a slot.
struct Segment {
    id: i64,
    place: i64,
    bytes: i64,
    gone: Vec<u8>,
}

impl Segment {
    /// The segments of a slot, newest first.
    fn all(db: &Sqlite, slot: i64) -> rusqlite::Result<Vec<Self>> {
        let mut all = db.prepare_cached(
            "SELECT segment, place, bytes, gone FROM word_segment WHERE slot = ?1 ORDER BY place DESC",
        )?;
        let all = all.query_map([slot], |row| {
            Ok(Self { id: row.get(0)?, place: row.get(1)?, bytes: row.get(2)?, gone: row.get(3)? })
        })?;
        all.collect()
    }

    /// Its size class. Each class has eight times as many bytes as the one before.
    const fn class(&self) -> u32 {
        let times = self.bytes / SMALL;
        if times == 0 { 0 } else { (times.ilog2() / 3) + 1 }
    }
}

/// The error for a block that cannot be read, in SQLite's terms.
fn damaged() -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(code, Some("the index of words is damaged".to_owned()))
}

/// Whether the store is damaged.
pub fn is_damaged(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt)
}

/// Joins segments once, if there are enough of them. Returns whether it did.
///
/// # Errors
/// Returns the errors of SQLite, or an error if a segment is damaged; it must then stay as it is.
pub fn join(tx: &Transaction<'_>) -> rusqlite::Result<bool> {
    let slots: Vec<i64> = tx
        .prepare_cached(&format!("SELECT slot FROM word_segment GROUP BY slot HAVING count(*) >= {JOINED}"))?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for slot in slots {
        let segments = Segment::all(tx, slot)?;
        for class in 0..LARGE {
            let newest = segments.iter().take_while(|segment| segment.class() <= class).count();
            if newest >= JOINED {
                join_newest(tx, slot, &segments[..newest], newest == segments.len())?;
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Joins the newest segments of a slot into one. They may be all of its segments.
fn join_newest(tx: &Transaction<'_>, slot: i64, segments: &[Segment], are_all: bool) -> rusqlite::Result<()> {
    let Some(newest) = segments.first() else { return Ok(()) };
    let mut stale = RowSet::default();
    let mut sources = Vec::with_capacity(segments.len());
    for segment in segments {
        sources.push(Source::open(tx, segment.id, stale.clone())?);
        stale.add(&unpacked(&segment.gone));
    }
    // Oldest first, because new rows have larger numbers.
    sources.reverse();
    let gone = if are_all { RowSet::default() } else { stale };
    let mut joined = Writer::begin(tx, slot, newest.place, &gone)?;
    let (mut term, mut posting) = (Vec::new(), Posting::default());
    while let Some(least) = sources.iter().filter_map(Source::term).min() {
        least.clone_into(&mut term);
        posting.clear();
        let of_term = || sources.iter().filter(|source| source.term() == Some(&*term));
        if !posting.append(of_term()) {
            posting.clear();
            posting.join(of_term());
        }
        if !posting.rows.is_empty() {
            joined.put(&term, &posting.rows, &posting.places)?;
        }
        for source in sources.iter_mut().filter(|source| source.term() == Some(&*term)) {
            source.advance(tx)?;
        }
    }
    joined.end()?;
    for segment in segments {
        tx.prepare_cached("DELETE FROM word WHERE segment = ?1")?.execute([segment.id])?;
        tx.prepare_cached("DELETE FROM word_segment WHERE segment = ?1")?.execute([segment.id])?;
    }
    Ok(())
}

impl Posting {
    /// Appends what the sources say of their current term. Returns `false` if they cannot be appended to each other
    /// unchanged, because one contains something that no longer holds, or rows before those of an older one.
    fn append<'a>(&mut self, sources: impl Iterator<Item = &'a Source>) -> bool {
        for source in sources {
            let mut rest = source.rows();
            let Some(first) = get(&mut rest) else { continue };
            let first = 0_i64.wrapping_add_unsigned(first);
            if source.is_stale || first <= self.row {
                return false;
            }
            put(&mut self.rows, first.abs_diff(self.row));
            self.rows.extend_from_slice(rest);
            self.places.extend_from_slice(source.places());
            each_row(source.rows(), |row| self.row = row);
        }
        true
    }

    /// Does the same, row by row.
    fn join<'a>(&mut self, sources: impl Iterator<Item = &'a Source>) {
        let mut all: Vec<(i64, &[u8])> = Vec::new();
        for source in sources {
            let mut at = source.places();
            each_row(source.rows(), |row| {
                let of_row = places_of_row(&mut at);
                if !source.stale.contains(row) {
                    all.push((row, of_row));
                }
            });
        }
        if !all.is_sorted_by_key(|(row, _)| *row) {
            all.sort_by_key(|(row, _)| *row);
        }
        for (row, of_row) in all {
            put(&mut self.rows, row.abs_diff(self.row));
            self.places.extend_from_slice(of_row);
            self.row = row;
        }
    }
}

/// Takes the places of the first row from `places`.
fn places_of_row<'a>(places: &mut &'a [u8]) -> &'a [u8] {
    let all = *places;
    let mut rest = all;
    let mut length = 0;
    while let Some(place) = get(&mut rest) {
        if length > 0 && place & 1 == 1 {
            break;
        }
        length = all.len() - rest.len();
    }
    *places = &all[length..];
    &all[..length]
}

/// A segment that is read from its beginning.
struct Source {
    segment: i64,
    /// The rows for which its content no longer holds.
    stale: RowSet,
    is_stale: bool,
    block: Block,
    /// Where the current term is in the block: its bytes, its rows and its places.
    at: Option<[std::ops::Range<usize>; 3]>,
    next: usize,
}

#[derive(Default)]
struct Block {
    first: Vec<u8>,
    terms: Vec<u8>,
    places: Vec<u8>,
}

impl Source {
    fn open(tx: &Transaction<'_>, segment: i64, stale: RowSet) -> rusqlite::Result<Self> {
        let is_stale = !stale.is_empty();
        let mut source = Self { segment, stale, is_stale, block: Block::default(), at: None, next: 0 };
        source.advance(tx)?;
        Ok(source)
    }

    fn term(&self) -> Option<&[u8]> {
        self.at.as_ref().map(|[term, ..]| &self.block.terms[term.clone()])
    }

    fn rows(&self) -> &[u8] {
        self.at.as_ref().map_or(&[], |[_, rows, _]| &self.block.terms[rows.clone()])
    }

    fn places(&self) -> &[u8] {
        self.at.as_ref().map_or(&[], |[.., places]| &self.block.places[places.clone()])
    }

    fn advance(&mut self, tx: &Transaction<'_>) -> rusqlite::Result<()> {
        if self.next >= self.block.terms.len() {
            let next = tx
                .prepare_cached(
                    "SELECT first, terms, places FROM word WHERE segment = ?1 AND first > ?2 ORDER BY first LIMIT 1",
                )?
                .query_row(params![self.segment, self.block.first], |row| {
                    Ok(Block { first: row.get(0)?, terms: row.get(1)?, places: row.get(2)? })
                })
                .optional()?;
            (self.at, self.next) = (None, 0);
            let Some(next) = next else { return Ok(()) };
            self.block = next;
        }
        let before = self.at.take().map_or(0, |[.., places]| places.end);
        let from = &self.block.terms[self.next..];
        let mut rest = from;
        let Entry { term, rows, places } = entry(&mut rest).ok_or_else(damaged)?;
        let end = self.next + from.len() - rest.len();
        let begin = self.next + length_of(term.len() as u64);
        let places = before..before.saturating_add(usize::try_from(places).unwrap_or(usize::MAX));
        if places.end > self.block.places.len() {
            return Err(damaged());
        }
        self.at = Some([begin..begin + term.len(), end - rows.len()..end, places]);
        self.next = end;
        Ok(())
    }
}

/// How many bytes [`put`] writes.
const fn length_of(number: u64) -> usize {
    (u64::BITS - (number | 1).leading_zeros()).div_ceil(7) as usize
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// The rows that contain the whole query in fields of the first kind.
    pub first: RowSet,
    /// The rows that contain the whole query in any of the fields.
    pub all: RowSet,
}

/// The rows of `slot` that contain each of the query's phrases in one of the fields with these tags. The flag marks
/// fields of the first kind.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn find(db: &Sqlite, slot: i64, query: &Query, tags: &[(Tag, bool)]) -> rusqlite::Result<Found> {
    let mut found: Vec<Found> = query.phrases().map(|_| Found::default()).collect();
    let mut stale = RowSet::default();
    for segment in Segment::all(db, slot)? {
        for (phrase, found) in query.phrases().zip(&mut found) {
            for (tag, is_first) in tags {
                let mut add = |row| {
                    if !stale.contains(row) {
                        found.all.insert(row);
                        if *is_first {
                            found.first.insert(row);
                        }
                    }
                };
                match phrase {
                    [word] => {
                        if let Some(term) = look_up(db, segment.id, &tag.term(word))? {
                            each_row(&term.rows, add);
                        }
                    }
                    phrase => rows_with(db, segment.id, *tag, phrase)?.into_iter().for_each(&mut add),
                }
            }
        }
        if !segment.gone.is_empty() {
            stale.add(&unpacked(&segment.gone));
        }
    }
    let whole = found.into_iter().reduce(|mut whole, phrase| {
        whole.first.keep(&phrase.first);
        whole.all.keep(&phrase.all);
        whole
    });
    Ok(whole.unwrap_or_default())
}

/// A term of a segment: the rows that contain it, and where its places in them are.
struct Term {
    rows: Vec<u8>,
    block: i64,
    places: std::ops::Range<usize>,
}

fn look_up(db: &Sqlite, segment: i64, term: &str) -> rusqlite::Result<Option<Term>> {
    let found = db
        .prepare_cached(
            "SELECT block, terms FROM word WHERE segment = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1",
        )?
        .query_row(params![segment, term.as_bytes()], |row| {
            let mut block = row.get_ref(1)?.as_blob()?;
            let mut from = 0_usize;
            while !block.is_empty() {
                let entry = entry(&mut block).ok_or_else(damaged)?;
                let to = from.saturating_add(usize::try_from(entry.places).unwrap_or(usize::MAX));
                if entry.term == term.as_bytes() {
                    let rows = entry.rows.to_owned();
                    return Ok(Some(Term { rows, block: row.get(0)?, places: from..to }));
                }
                from = to;
            }
            Ok(None)
        })
        .optional()?;
    Ok(found.flatten())
}

impl Term {
    fn places(&self, db: &Sqlite) -> rusqlite::Result<Vec<u8>> {
        db.prepare_cached("SELECT places FROM word WHERE block = ?1")?.query_row([self.block], |row| {
            Ok(row.get_ref(0)?.as_blob()?.get(self.places.clone()).ok_or_else(damaged)?.to_owned())
        })
    }
}

/// The rows of a segment in which the words of `phrase` follow each other in the field with this tag.
fn rows_with(db: &Sqlite, segment: i64, tag: Tag, phrase: &[String]) -> rusqlite::Result<Vec<i64>> {
    // Before the places of any term are read, because there can be many.
    let terms = phrase.iter().map(|word| look_up(db, segment, &tag.term(word)));
    let Some(terms) = terms.collect::<rusqlite::Result<Option<Vec<Term>>>>()? else { return Ok(Vec::new()) };
    // The places at which the part of the phrase that was looked up so far ends, in each row.
    let mut ends: Option<Vec<(i64, Vec<u64>)>> = None;
    for term in terms {
        let places = term.places(db)?;
        let mut at = &*places;
        let mut before = ends.take().map(|ends| ends.into_iter().peekable());
        let mut now = Vec::new();
        each_row(&term.rows, |row| {
            let mut of_row = places_of_row(&mut at);
            let known = match &mut before {
                None => None,
                Some(before) => {
                    while before.next_if(|(known, _)| *known < row).is_some() {}
                    match before.next_if(|(known, _)| *known == row) {
                        Some((_, ends)) => Some(ends),
                        None => return,
                    }
                }
            };
            let (mut place, mut here) = (0, Vec::new());
            while let Some(step) = get(&mut of_row) {
                place += step >> 1;
                let follows = known.as_ref().is_none_or(|known| {
                    place.checked_sub(1).is_some_and(|place| known.binary_search(&place).is_ok())
                });
                if follows {
                    here.push(place);
                }
            }
            if !here.is_empty() {
                now.push((row, here));
            }
        });
        ends = Some(now);
    }
    Ok(ends.into_iter().flatten().map(|(row, _)| row).collect())
}

/// Deletes all words of a slot.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn forget(tx: &Transaction<'_>, slot: i64) -> rusqlite::Result<()> {
    tx.execute(
        "DELETE FROM word WHERE segment IN (SELECT segment FROM word_segment WHERE slot = ?1)",
        [slot],
    )?;
    tx.execute("DELETE FROM word_segment WHERE slot = ?1", [slot]).map(drop)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vault::store::tables::TABLES_6_WORDS;

    fn database() -> Sqlite {
        let db = Sqlite::open_in_memory().unwrap();
        db.execute_batch(TABLES_6_WORDS).unwrap();
        db
    }

    fn count(db: &Sqlite, table: &str) -> usize {
        db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, u32>(0)).unwrap()
            as usize
    }

    #[test]
    fn numbers_come_back_at_their_length() {
        for number in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put(&mut out, number);
            assert_eq!(out.len(), length_of(number));
            let mut rest = &*out;
            assert_eq!((get(&mut rest), rest.len()), (Some(number), 0));
            assert_eq!(get(&mut &out[..out.len() - 1]), None);
        }
        assert_eq!(get(&mut &[0xff; 20][..]), None);
    }

    #[test]
    fn heads_are_in_the_order_of_their_terms() {
        let mut terms: Vec<String> =
            (0..20).map(|length| "abcdefghijklmnopqrst"[..length].to_owned()).collect();
        terms.extend(["b", "abd", "abcdefghijklmnopz", "\0", "a\0", "é"].map(str::to_owned));
        terms.sort();
        let heads: Vec<u128> = terms.iter().map(|term| head(term.as_bytes())).collect();
        assert!(heads.is_sorted());
        for (term, head) in terms.iter().zip(heads) {
            let mut padded = [0; 16];
            let length = term.len().min(16);
            padded[..length].copy_from_slice(&term.as_bytes()[..length]);
            assert_eq!(head, u128::from_be_bytes(padded), "{term}");
        }
        let mut numbers = Numbers::default();
        let given: Vec<u32> =
            terms.iter().rev().chain(&terms).map(|term| numbers.of(term.as_bytes())).collect();
        assert!((0..).zip(&given[..terms.len()]).all(|(at, number)| at == *number));
        let sorted: Vec<&[u8]> =
            numbers.in_order().into_iter().map(|number| numbers.terms[number].0).collect();
        assert_eq!(sorted, terms.iter().map(String::as_bytes).collect::<Vec<_>>());
        assert!(numbers.terms.iter().all(|(_, count)| *count == 2));
    }

    #[test]
    fn a_damaged_block_is_an_error_and_never_joined() {
        for damage in
            ["UPDATE word SET places = x'' WHERE block = 3", "UPDATE word SET terms = x'ff' WHERE block = 3"]
        {
            let mut db = database();
            let tx = db.transaction().unwrap();
            let tag = Tag::new(0).unwrap();
            for row in (1..).take(JOINED) {
                let (mut gathered, mut terms) = (Gathered::default(), Terms::default());
                terms.add(tag, "one two");
                gathered.add(row, terms);
                gathered.write(&tx, 7).unwrap();
            }
            let find = |query: &str| find(&tx, 7, &Query::parse(query), &[(tag, true)]);
            assert_eq!(find("\"one two\"").unwrap().all.len(), JOINED);
            tx.execute(damage, []).unwrap();
            assert!(is_damaged(&find("\"one two\"").unwrap_err()), "{damage}");
            assert!(is_damaged(&join(&tx).unwrap_err()), "{damage}");
        }
    }

    #[test]
    fn o3_10_a_slot_that_is_forgotten_leaves_no_block() {
        let mut db = database();
        let tx = db.transaction().unwrap();
        for slot in 1..3 {
            let (mut gathered, mut terms) = (Gathered::default(), Terms::default());
            terms.add(Tag::new(0).unwrap(), "one two");
            gathered.add(1, terms);
            gathered.write(&tx, slot).unwrap();
        }
        forget(&tx, 1).unwrap();
        assert_eq!((count(&tx, "word"), count(&tx, "word_segment")), (1, 1));
        forget(&tx, 2).unwrap();
        assert_eq!((count(&tx, "word"), count(&tx, "word_segment")), (0, 0));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// Requirements O6.8 and O6.10.
        #[test]
        fn o6_8_an_index_finds_what_its_texts_have(
            // Each of these is written in one step.
            writes in prop::collection::vec(
                prop::collection::vec((1_i64..40, prop::option::weighted(0.9, ("[a-d]( [a-d]){0,9}", "[a-d]( [a-d])?"))), 1..9),
                1..30,
            ),
            long in any::<bool>(),
            takes_all_out in any::<bool>(),
            query in "[a-d]( [a-d]|\"[a-d] [a-d]( [a-d])?\"){0,2}",
        ) {
            let mut db = database();
            let tags = [0, 1].map(|number| Tag::new(number).unwrap());
            let mut texts: BTreeMap<i64, [String; 2]> = BTreeMap::new();
            let tx = db.transaction().unwrap();
            for write in writes {
                let mut gathered = Gathered::default();
                for (row, text) in write {
                    // The index need not know it.
                    if texts.remove(&row).is_some() || takes_all_out {
                        gathered.remove(row);
                    }
                    if let Some((body, title)) = text {
                        // Terms that need more than one block.
                        let many: Vec<String> = (0..if long { 300 } else { 0 }).map(|n| format!("filler{row}x{n}")).collect();
                        let all = [format!("{body} {}", many.join(" ")), title];
                        let mut terms = Terms::default();
                        for (tag, text) in tags.iter().zip(&all) {
                            terms.add(*tag, text);
                        }
                        gathered.add(row, terms);
                        texts.insert(row, all);
                    }
                }
                gathered.write(&tx, 7).unwrap();
                while join(&tx).unwrap() {}
            }
            prop_assert!(count(&tx, "word_segment") < 2 * JOINED);
            let query = Query::parse(&query);
            let found = find(&tx, 7, &query, &[(tags[0], false), (tags[1], true)]).unwrap();
            let wanted = |fields: std::ops::Range<usize>| -> Vec<i64> {
                texts.iter().filter(|(_, all)| query.is_in(&all[fields.clone()])).map(|(row, _)| *row).collect()
            };
            prop_assert_eq!(found.all.iter().collect::<Vec<_>>(), wanted(0..2));
            prop_assert_eq!(found.first.iter().collect::<Vec<_>>(), wanted(1..2));
            let unseen = find(&tx, 7, &query, &[(tags[1], false)]).unwrap();
            prop_assert_eq!(unseen.all.iter().collect::<Vec<_>>(), wanted(1..2));
        }
    }
}
