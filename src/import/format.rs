//! What a format of exports is, and what passes between it and the engine.
//!
//! The engine opens what a person names, shows the first bytes of each member to the formats ([`Peek`]),
//! and passes the members that a format recognises to [`Format::plan`]. Nothing is written before all
//! plans are made. Then each unit is split into items ([`Raw`]) in order, and each item is parsed into
//! records ([`Draft`]).

use std::any::Any;
use std::borrow::Cow;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;

use super::declare::Declared;
use super::earlier::Earlier;
use crate::vault::declaration::Connector;
pub use crate::vault::transfer::Encoding;

/// How many bytes of a member [`Peek`] shows.
pub const PEEK: usize = 64 * 1024;

/// One format of exports. It knows no database, and asks questions only in [`Format::plan`].
pub trait Format: Sync {
    /// Its name for `--as`: `mbox`.
    fn name(&self) -> &'static str;

    /// Its name for people, as it appears in help and after "does not look like": "mail in an mbox file",
    /// "a Claude export".
    fn title(&self) -> &'static str;

    /// Increases when the results of [`Format::parse`] change: sources that an older version read are
    /// read again.
    fn version(&self) -> u32 {
        1
    }

    /// Its fixed declarations, whatever the files contain. Only a format with fields marked with `*` must
    /// list them here: they apply to stores that were filled before.
    fn declares(&self) -> &'static [Declared] {
        &[]
    }

    /// Whether a member is in this format. The contents decide, never the name alone. The surest format
    /// wins.
    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure>;

    /// Whether the offsets of its items are their numbers and not bytes, as for a database, whose end
    /// says nothing about what precedes it. Then a file that changed is read again from its beginning,
    /// and the files that SQLite keeps next to it count too.
    fn counts_items(&self) -> bool {
        false
    }

    /// Why a member that seems to be intended as this format is not in it: which line has which fault, in
    /// a few words that quote nothing. `None` if that is not known.
    fn why_not(&self, peek: &Peek<'_>) -> Option<String> {
        let _ = peek;
        None
    }

    /// Which of the members that [`Format::sniff`] recognised in a source belong to this format, if
    /// nobody named it: a text is a note if it is in a vault. The others count as not recognised.
    fn claims(&self, members: &[Peek<'_>]) -> Vec<bool> {
        vec![true; members.len()]
    }

    /// Whose data the members are, and the declarations of their streams: one plan for each account.
    /// [`Format::sniff`] has recognised each member, even if a person named the format.
    ///
    /// # Errors
    /// [`Refused`]: nothing is imported from these members.
    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused>;

    /// Like [`Format::plan`], if earlier imports decide which chat of the store a file belongs to.
    ///
    /// # Errors
    /// The errors of [`Format::plan`].
    fn plan_beside(
        &self,
        members: &[Member<'_>],
        ask: &mut Ask,
        earlier: &dyn Earlier,
    ) -> Result<Vec<Plan>, Refused> {
        let _ = earlier;
        self.plan(members, ask)
    }

    /// Which other files of a source are parts of the members, such as the pictures that were sent in a
    /// chat: no other format reads those. `others` are their labels; the result has the position of each
    /// part.
    ///
    /// # Errors
    /// If a member cannot be read.
    fn companions(&self, members: &[Member<'_>], others: &[&str]) -> io::Result<Vec<usize>> {
        let _ = (members, others);
        Ok(Vec::new())
    }

    /// Passes each item of a unit to `out`, in order, from the offset `from` on, which is 0 or the end of
    /// an earlier run. Stops early if `out` asks for that.
    ///
    /// # Errors
    /// If the unit cannot be read. What was passed before that counts.
    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End>;

    /// The records of an item. Pure: the same item gives the same records, on every thread.
    ///
    /// # Errors
    /// [`Bad`]: the item is counted and named, and the next one is read.
    fn parse(&self, plan: &Plan, raw: &Raw) -> Result<Parsed, Bad>;

    /// The address that an item was delivered to, if it states it. A member may have items of several people, and a plan
    /// sees only parts of it. Fast: this is asked of every item.
    fn delivered_to(&self, raw: &Raw) -> Option<String> {
        let _ = raw;
        None
    }

    /// Merges what several sources say about a record of `stream`. `data` is from one of them, and
    /// `sightings` has what each of them alone says ([`Draft::sighting`]), including that one. The result
    /// must not depend on the order of the sightings, nor on repetitions.
    fn join(&self, stream: &str, data: &str, sightings: &[&str]) -> String {
        let _ = (stream, sightings);
        data.to_owned()
    }

    /// Whether a record with one sighting equals the result of [`Format::parse`], so that it need not be
    /// merged.
    fn is_whole_alone(&self) -> bool {
        false
    }

    /// Whether each file is one item of a growing folder, like a mail in a Maildir: a single file does
    /// not show whose it is.
    fn is_of_folder(&self) -> bool {
        false
    }

    /// Whether the plans of one connector differ only in their members and in the owners of those, so
    /// that what was read into an account before can stay there.
    fn is_by_file(&self) -> bool {
        false
    }

    /// Whether many items give the records of `stream`, as many mails have one label. If an item was read
    /// before it was complete ([`Raw::next`]), its other records are taken back once it no longer gives
    /// them.
    fn shares(&self, stream: &str) -> bool {
        let _ = stream;
        false
    }

    /// Which records are parts of others, if an item gives a record with all its parts.
    fn parts(&self) -> Option<Parts> {
        None
    }

    /// Merges two sightings of one record by one source: a file that grew says more about a session. Like
    /// [`Format::join`], in any order.
    fn add_sighting(&self, stream: &str, first: &str, second: &str) -> String {
        let _ = (stream, first);
        second.to_owned()
    }
}

/// Records that are parts of a record in another stream, such as the times at which an event takes place.
/// The item that gives the current record gives all of its parts: other parts are taken back, and those
/// of an older version are not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// The stream of the whole. Its records come before their parts.
    pub whole: &'static str,
    /// The stream of the parts.
    pub stream: &'static str,
    /// The field of a part with the key of the whole. The stream of the whole declares the relation.
    pub field: &'static str,
}

/// Receives an item, and returns whether to continue.
pub type Out<'a> = dyn FnMut(Raw) -> ControlFlow<()> + 'a;

/// The beginning of a member.
#[derive(Debug, Clone, Copy)]
pub struct Peek<'a> {
    /// Its path within the source, with `/`: `Takeout/Mail/All mail.mbox`, `cur/1234:2,S`.
    pub label: &'a str,
    /// Its first [`PEEK`] bytes, or all of it.
    pub head: &'a [u8],
    /// Whether [`Peek::head`] is the whole member.
    pub is_whole: bool,
}

/// How sure a format is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sure {
    /// It could be this, if no other format recognises it.
    Fallback,
    /// It looks like this.
    Likely,
    /// Nothing else looks like this.
    Certain,
}

/// A zone's name for people: `Europe/Oslo`, or `UTC+01:00, this computer's` if it has no name.
pub fn zone_in_words(zone: &TimeZone) -> String {
    match zone.iana_name().filter(|_| !zone.is_unknown()) {
        Some(name) if *zone == TimeZone::system() => format!("{name}, this computer's"),
        Some(name) => name.to_owned(),
        None => match zone.to_offset(jiff::Timestamp::now()) {
            offset if offset.is_zero() => "UTC, this computer's".to_owned(),
            offset => format!("UTC{offset}, this computer's"),
        },
    }
}

/// A file, or one within a folder or an archive.
pub struct Member<'a> {
    /// Like [`Peek::label`].
    pub label: &'a str,
    /// What [`Format::sniff`] saw of it. With very many members that would take too much memory: later
    /// ones have 512 bytes, the last ones nothing. [`Member::open`] gives the rest.
    pub head: &'a [u8],
    /// Its size in bytes, if it is known.
    pub size: Option<u64>,
    /// When it was last changed, in milliseconds since 1970.
    pub modified_ms: Option<i64>,
    /// Opens it from its beginning, for a plan that needs more than its head.
    pub open: &'a dyn Fn() -> io::Result<Box<dyn ReadFrom + Send>>,
}

impl Member<'_> {
    /// Whether [`Member::head`] is shorter than what [`Format::sniff`] saw.
    pub fn is_short(&self) -> bool {
        self.size.is_none_or(|size| size != self.head.len() as u64) && self.head.len() < PEEK
    }

    /// The first [`PEEK`] bytes, or all of it: what [`Format::sniff`] saw, even with very many members.
    ///
    /// # Errors
    /// If it cannot be opened or read.
    pub fn beginning(&self) -> io::Result<Cow<'_, [u8]>> {
        if !self.is_short() {
            return Ok(Cow::Borrowed(self.head));
        }
        let mut bytes = Vec::new();
        (self.open)()?.take(PEEK as u64).read_to_end(&mut bytes)?;
        Ok(Cow::Owned(bytes))
    }
}

/// The person's options and the engine's knowledge, for a plan.
#[derive(Debug, Clone)]
pub struct Ask {
    /// `--account`.
    pub account: Option<String>,
    /// `--timezone`, or the account's earlier zone, or the system's.
    pub zone: TimeZone,
    /// `--date-order`, or the account's earlier order.
    pub date_order: Option<DateOrder>,
    /// Whether `--date-order` was given for this import: then it overrides what the files show.
    pub is_order_typed: bool,
    /// The account's earlier order, if `--date-order` now differs.
    pub order_before: Option<DateOrder>,
    /// The name of the source as a person typed it, without its folder: `takeout-001.zip`.
    pub source_name: String,
    /// Where the source is, for formats whose files do not name their owner:
    /// `/home/ana/.mozilla/firefox`.
    pub source_path: PathBuf,
    /// Whether the source is a file and its only member: then [`Member::label`] is the end of
    /// [`Ask::source_path`].
    pub is_file: bool,
    /// The connectors as the store declares them. A format whose files declare themselves extends these
    /// for a later file, so that existing records still fit.
    pub known: Vec<Arc<Connector>>,
}

/// The order of day, month and year in a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// 31/12/2026.
    DayMonthYear,
    /// 12/31/2026.
    MonthDayYear,
    /// 2026/12/31.
    YearMonthDay,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The person must decide something first.
    #[error("{question}")]
    Undecided {
        /// The question to the person.
        question: String,
        /// The option that answers it: `--date-order`.
        option: &'static str,
        /// The values that the option accepts.
        choices: Vec<String>,
    },
    /// It is not what this format reads.
    #[error("{why}")]
    Unfit {
        /// What it is instead, and which export would work.
        why: String,
    },
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// What will be imported from some members: the data of one account.
#[derive(Clone)]
pub struct Plan {
    /// The declaration of the account's streams.
    pub connector: Arc<Connector>,
    /// The key of the account within the connector: `ana@example.org`. The same account has the same key
    /// in every export.
    pub account: String,
    /// The members, as positions in what [`Format::plan`] received, in the order in which they are read.
    pub units: Vec<usize>,
    /// What the person should know before the import, in whole sentences.
    pub notes: Vec<String>,
    /// What the members say about their owner.
    pub whose: Whose,
    /// The zone of times without one.
    pub zone: TimeZone,
    /// What else [`Format::split`] and [`Format::parse`] need.
    pub state: Arc<dyn Any + Send + Sync>,
}

impl Plan {
    /// All of `members` as one account, called `key` unless the person named it.
    pub fn of_all(
        connector: Arc<Connector>,
        key: &str,
        members: &[Member<'_>],
        ask: &Ask,
        notes: Vec<String>,
    ) -> Self {
        Self {
            connector,
            account: ask.account.clone().unwrap_or_else(|| key.to_owned()),
            units: in_order(members),
            notes,
            whose: Whose::default(),
            zone: ask.zone.clone(),
            state: Arc::new(()),
        }
    }
}

/// The positions of `members` in the order of their labels, in which they are read, however they were
/// found.
pub fn in_order(members: &[Member<'_>]) -> Vec<usize> {
    let mut units: Vec<usize> = (0..members.len()).collect();
    units.sort_by_key(|at| members[*at].label);
    units
}

/// The owner of members, as far as they name one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Whose {
    /// The person: an address or an id. It is the same in each of their exports.
    pub owner: Option<String>,
    /// Whether only this person's data says that; otherwise it is a guess.
    pub is_sure: bool,
    /// How the account was found, in a whole sentence.
    pub note: Option<String>,
}

/// A member that is being read.
pub struct Unit<'a> {
    /// Like [`Peek::label`].
    pub label: &'a str,
    /// When it was last changed, in milliseconds since 1970.
    pub modified_ms: Option<i64>,
    /// Its bytes, from the beginning.
    pub bytes: Box<dyn ReadFrom + Send + 'a>,
}

/// A member for formats that must read at arbitrary positions.
pub trait Apart {
    /// A private copy of an SQLite database, with the files that SQLite keeps next to it (`-wal`,
    /// `-journal`): the original may be locked, and is never opened. The copy exists until the unit has
    /// been read, or until [`Apart::hide`].
    ///
    /// # Errors
    /// If it cannot be copied: it changes all the time, or there is no room for it.
    fn database(&self) -> io::Result<PathBuf>;

    /// Removes the name of the copy, if the system allows that while the copy is open.
    fn hide(&self);

    /// Its bytes, readable from any offset at any time: in place if possible, otherwise from a private
    /// copy.
    ///
    /// # Errors
    /// If it cannot be opened or copied.
    fn anywhere(&self) -> io::Result<Box<dyn ReadFrom + Send>>;
}

/// Bytes that can be read from any offset, although some readers must read everything before it.
pub trait ReadFrom: BufRead {
    /// Continues at `offset`. Only called before anything was read, except for the result of
    /// [`Apart::anywhere`].
    ///
    /// # Errors
    /// If it cannot be read, or ends before that offset.
    fn skip_to(&mut self, offset: u64) -> io::Result<()>;

    /// Whether it can go to any offset at any time.
    fn goes_back(&self) -> bool {
        false
    }

    /// The same bytes for a format that cannot read a unit from beginning to end.
    fn apart(&self) -> Option<&dyn Apart> {
        None
    }
}

impl<R: Read + Seek> ReadFrom for io::BufReader<R> {
    fn skip_to(&mut self, offset: u64) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset)).map(drop)
    }

    fn goes_back(&self) -> bool {
        true
    }
}

impl<T: AsRef<[u8]>> ReadFrom for io::Cursor<T> {
    fn skip_to(&mut self, offset: u64) -> io::Result<()> {
        self.set_position(offset);
        Ok(())
    }

    fn goes_back(&self) -> bool {
        true
    }
}

/// How a unit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Where the next run continues, in bytes: after the last complete item.
    pub at: u64,
}

/// One item of a unit, unparsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raw {
    /// Where it begins in the unit, in bytes.
    pub offset: u64,
    /// Where the next one begins, and where a run continues that stops here: the item's own beginning, if
    /// it may still grow.
    pub next: u64,
    /// The line that it begins in, from 1, if lines mean something.
    pub line: Option<u64>,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What is known about it that is not in its bytes (flags in a file name, the folder): part of what
    /// identifies the item when it is read again.
    pub facts: String,
    /// The number of equal items before it in its unit, if equal items are different records.
    pub copy: u32,
}

/// The result of parsing an item.
#[derive(Debug, Clone, PartialEq)]
pub enum Parsed {
    /// Records; an item with several counts once.
    Records(Vec<Draft>),
    /// It is left out on purpose; the reason, in a few fixed words: "hidden context".
    Skipped(&'static str),
}

/// An item that could not be read, with the reason in a few fixed words that quote nothing from it: "no
/// header".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bad(pub &'static str);

/// A record to keep.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// One of the streams that the plan's connector declares.
    pub stream: Cow<'static, str>,
    /// The value of the stream's primary key; a JSON list if the key has several fields.
    pub key: String,
    /// A JSON object with the declared fields in declared order; `None` deletes the record.
    pub data: Option<String>,
    /// What only this source says about the record (labels, flags, a session's first and last time), as
    /// JSON, if another source may differ. [`Format::join`] merges all of them into the record.
    pub sighting: Option<String>,
    /// The attachments that `data` refers to.
    pub blobs: Vec<Blob>,
    /// A defect of the record that the person should know about, in a few fixed words, by which such
    /// records are counted.
    pub told: Option<&'static str>,
}

impl Draft {
    /// A record that one item gives completely.
    pub fn new(stream: &'static str, key: impl Into<String>, data: String) -> Self {
        Self {
            stream: stream.into(),
            key: key.into(),
            data: Some(data),
            sighting: None,
            blobs: Vec::new(),
            told: None,
        }
    }
}

/// An attachment, at its place in its item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// The id by which the record's `blob_ref` names it: `sha256:` and 64 hex digits, of the decoded bytes.
    pub id: String,
    /// Its media type.
    pub media_type: String,
    /// The size of the decoded bytes.
    pub size: u64,
    /// Where the encoded bytes begin in [`Raw::bytes`].
    pub offset: usize,
    /// How many they are.
    pub length: usize,
    /// Their encoding.
    pub encoding: Encoding,
}
