//! What a format of exports is, and what goes between it and the engine.
//!
//! The engine opens what a person names, looks at the first bytes of each member ([`Peek`]), and gives the members that a
//! format recognises to [`Format::plan`]. Nothing is written before all plans are made. Then each unit is split into items
//! ([`Raw`]) in order, and each item is parsed into records ([`Draft`]).

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

/// How much of a member [`Peek`] shows, in bytes.
pub const PEEK: usize = 64 * 1024;

/// One format of exports. It knows no database, and asks only in [`Format::plan`].
pub trait Format: Sync {
    /// Its name for `--as`: `mbox`.
    fn name(&self) -> &'static str;

    /// What a person calls it, as it stands in help and behind "does not look like": "mail in an mbox file", "a Claude export".
    fn title(&self) -> &'static str;

    /// Changes with what [`Format::parse`] gives: sources of an older one are read again.
    fn version(&self) -> u32 {
        1
    }

    /// What it declares whatever the files are. Only one that has fields marked with `*` has to say it here: of a store that was
    /// filled before, they are known by this.
    fn declares(&self) -> &'static [Declared] {
        &[]
    }

    /// Whether a member is one of this format. Contents decide, never the name alone. The surest format wins.
    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure>;

    /// Whether offsets of its items are their numbers and not bytes: those of a database, whose end says nothing of what is before
    /// it. Then a file that changed is read again from its beginning, and what SQLite keeps beside a file is looked at too.
    fn counts_items(&self) -> bool {
        false
    }

    /// Why a member that seems to be meant as one of this format is none: which line has what, in a few words that quote nothing
    /// of it. `None` where that is not known.
    fn why_not(&self, peek: &Peek<'_>) -> Option<String> {
        let _ = peek;
        None
    }

    /// Which of the members that [`Format::sniff`] recognised in a source are its own, where nobody named the format: a text is a
    /// note if a vault is around it. The others count as not recognised.
    fn claims(&self, members: &[Peek<'_>]) -> Vec<bool> {
        vec![true; members.len()]
    }

    /// Whose data the members are, and what they are declared to hold: one plan for each account. [`Format::sniff`] has
    /// recognised each of them, also where a person named the format.
    ///
    /// # Errors
    /// [`Refused`]: nothing is imported of these members.
    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused>;

    /// As [`Format::plan`], where what was imported before tells which chat of the store a file is of.
    ///
    /// # Errors
    /// As [`Format::plan`].
    fn plan_beside(
        &self,
        members: &[Member<'_>],
        ask: &mut Ask,
        earlier: &dyn Earlier,
    ) -> Result<Vec<Plan>, Refused> {
        let _ = earlier;
        self.plan(members, ask)
    }

    /// Which other files of a source are parts of the members, such as the pictures that were sent in a chat: no other format
    /// reads those. `others` are their labels; a position there is given for each part.
    ///
    /// # Errors
    /// Where a member cannot be read.
    fn companions(&self, members: &[Member<'_>], others: &[&str]) -> io::Result<Vec<usize>> {
        let _ = (members, others);
        Ok(Vec::new())
    }

    /// Gives each item of a unit to `out`, in order, from the offset `from` on, which is 0 or the end of an earlier run.
    /// Ends early where `out` says so.
    ///
    /// # Errors
    /// Where the unit cannot be read. What was given before that counts.
    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End>;

    /// The records of an item. Pure: the same item gives the same records, on every thread.
    ///
    /// # Errors
    /// [`Bad`]: the item is counted and named, and the next one is read.
    fn parse(&self, plan: &Plan, raw: &Raw) -> Result<Parsed, Bad>;

    /// What a record of `stream` becomes where several sources say something of it: `data` is what one of them gave, and
    /// `sightings` is what each said that is its own ([`Draft::sighting`]), its own among them. The order of the sightings
    /// must not count, nor one that stands there twice.
    fn join(&self, stream: &str, data: &str, sightings: &[&str]) -> String {
        let _ = (stream, sightings);
        data.to_owned()
    }

    /// Whether a record with one sighting is what [`Format::parse`] gave, so that it need not be joined.
    fn is_whole_alone(&self) -> bool {
        false
    }

    /// Whether each file is one item of a folder that goes on, as a mail in a Maildir: whose a single one is says nothing.
    fn is_of_folder(&self) -> bool {
        false
    }

    /// Whether the plans of one connector differ in their members and in whose those are alone, so that what was read into an account
    /// before can stay there.
    fn is_by_file(&self) -> bool {
        false
    }

    /// Whether many items give the records of `stream`: a label is of many mails. Where an item was read before all of it was there
    /// ([`Raw::next`]), the others that it made are taken back once it gives none of them.
    fn shares(&self, stream: &str) -> bool {
        let _ = stream;
        false
    }

    /// Which records are parts of others, where an item gives a record and all its parts.
    fn parts(&self) -> Option<Parts> {
        None
    }

    /// Two sightings of one record by one source, as one: a file that grew says more of a session. Like [`Format::join`], in
    /// whatever order.
    fn add_sighting(&self, stream: &str, first: &str, second: &str) -> String {
        let _ = (stream, first);
        second.to_owned()
    }
}

/// Records that are parts of one of another stream: the times at which an event takes place. The item that gives the record as it
/// stands gives all of its parts: those that it does not give are taken back, and those of an older version are not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// The stream that the whole is in. Its records come before their parts.
    pub whole: &'static str,
    /// The stream that the parts are in.
    pub stream: &'static str,
    /// The field of a part that has the whole's key. The whole's stream declares the relation.
    pub field: &'static str,
}

/// Takes an item; whether to go on.
pub type Out<'a> = dyn FnMut(Raw) -> ControlFlow<()> + 'a;

/// The beginning of a member.
#[derive(Debug, Clone, Copy)]
pub struct Peek<'a> {
    /// Its path within the source, with `/`: `Takeout/Mail/All mail.mbox`, `cur/1234:2,S`.
    pub label: &'a str,
    /// Its first [`PEEK`] bytes, or all of it.
    pub head: &'a [u8],
    /// Whether [`Peek::head`] is all of it.
    pub is_whole: bool,
}

/// How sure a format is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sure {
    /// It could be this, and is, if nobody knows better.
    Fallback,
    /// It looks like this.
    Likely,
    /// Nothing else looks like this.
    Certain,
}

/// What a person calls a zone: `Europe/Oslo`, or `UTC+01:00, this computer's`, where that names none.
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
    /// As [`Peek::label`].
    pub label: &'a str,
    /// What [`Format::sniff`] saw of it. Of very many members that would be too much in memory: the later ones have 512 bytes,
    /// the last ones nothing. [`Member::open`] has the rest.
    pub head: &'a [u8],
    /// Its size in bytes, where that is known.
    pub size: Option<u64>,
    /// When it was last changed, in milliseconds since 1970.
    pub modified_ms: Option<i64>,
    /// Opens it from its beginning, for a plan that has to see more than its head.
    pub open: &'a dyn Fn() -> io::Result<Box<dyn ReadFrom + Send>>,
}

impl Member<'_> {
    /// Whether [`Member::head`] is less than what [`Format::sniff`] saw.
    pub fn is_short(&self) -> bool {
        self.size.is_none_or(|size| size != self.head.len() as u64) && self.head.len() < PEEK
    }

    /// The first [`PEEK`] bytes, or all of it: what [`Format::sniff`] saw, of very many members too.
    ///
    /// # Errors
    /// Where it cannot be opened or read.
    pub fn beginning(&self) -> io::Result<Cow<'_, [u8]>> {
        if !self.is_short() {
            return Ok(Cow::Borrowed(self.head));
        }
        let mut bytes = Vec::new();
        (self.open)()?.take(PEEK as u64).read_to_end(&mut bytes)?;
        Ok(Cow::Owned(bytes))
    }
}

/// What a person said, and what a plan has to say.
#[derive(Debug, Clone)]
pub struct Ask {
    /// `--account`.
    pub account: Option<String>,
    /// `--timezone`, or what the account had before, or the system's.
    pub zone: TimeZone,
    /// `--date-order`, or what the account had before.
    pub date_order: Option<DateOrder>,
    /// Whether `--date-order` is of this import: then it counts more than what the files show.
    pub is_order_typed: bool,
    /// What the account had before, where `--date-order` now says otherwise.
    pub order_before: Option<DateOrder>,
    /// The name of the source as a person typed it, without its folder: `takeout-001.zip`.
    pub source_name: String,
    /// Where the source is, for formats whose files do not say themselves what they are of: `/home/ana/.mozilla/firefox`.
    pub source_path: PathBuf,
    /// Whether the source is a file, and its one member: then [`Member::label`] is the end of [`Ask::source_path`].
    pub is_file: bool,
    /// The connectors that the store has, as they are declared there: a format whose files declare themselves makes a later
    /// file's declaration from the earlier one, so that the records that are there still fit.
    pub known: Vec<Arc<Connector>>,
}

/// In which order a date's numbers stand.
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
    /// The person has to decide something first.
    #[error("{question}")]
    Undecided {
        /// What has to be known, as a question.
        question: String,
        /// The option that answers it: `--date-order`.
        option: &'static str,
        /// What it takes.
        choices: Vec<String>,
    },
    /// It is not what this format reads.
    #[error("{why}")]
    Unfit {
        /// What it is instead, and which export would do.
        why: String,
    },
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// What will be imported of some members: one account's data.
#[derive(Clone)]
pub struct Plan {
    /// What the account's streams are.
    pub connector: Arc<Connector>,
    /// Which account of the connector it is: `ana@example.org`. The same account has the same key in every export.
    pub account: String,
    /// The members, as positions in what was given to [`Format::plan`], in the order in which they are read.
    pub units: Vec<usize>,
    /// What the person should know before it is imported, in whole sentences.
    pub notes: Vec<String>,
    /// What the members say of whose data they are.
    pub whose: Whose,
    /// The zone of times that name none.
    pub zone: TimeZone,
    /// What [`Format::split`] and [`Format::parse`] need to know beside that.
    pub state: Arc<dyn Any + Send + Sync>,
}

impl Plan {
    /// All of `members` as one account, which is called `key` unless the person named it.
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

/// The positions of `members` in the order of their labels: whatever order they were found in, they are read in this one.
pub fn in_order(members: &[Member<'_>]) -> Vec<usize> {
    let mut units: Vec<usize> = (0..members.len()).collect();
    units.sort_by_key(|at| members[*at].label);
    units
}

/// Whose data members are, as far as they say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Whose {
    /// The person: an address, an id. It stays the same in each export of theirs.
    pub owner: Option<String>,
    /// Whether nobody else's data says that; else it is a guess.
    pub is_sure: bool,
    /// How the account was found, in a whole sentence.
    pub note: Option<String>,
}

/// A member that is read.
pub struct Unit<'a> {
    /// As [`Peek::label`].
    pub label: &'a str,
    /// When it was last changed, in milliseconds since 1970.
    pub modified_ms: Option<i64>,
    /// Its bytes, from the beginning.
    pub bytes: Box<dyn ReadFrom + Send + 'a>,
}

/// A member for formats that have to read here and there in it.
pub trait Apart {
    /// A private copy of an SQLite database, with what SQLite keeps beside it (`-wal`, `-journal`): the one it is of may be locked,
    /// and is never opened. It is there until the unit has been read, or until [`Apart::hide`].
    ///
    /// # Errors
    /// Where it cannot be copied: it changes all the time, or there is no room for it.
    fn database(&self) -> io::Result<PathBuf>;

    /// Takes the name of the copy away, where the system lets whoever has opened it go on.
    fn hide(&self);

    /// Its bytes, to be read from any offset at any time: where they lie, if that can be, else of a private copy.
    ///
    /// # Errors
    /// Where it cannot be opened or copied.
    fn anywhere(&self) -> io::Result<Box<dyn ReadFrom + Send>>;
}

/// Bytes that can be read from any offset on, though some have to read what is before it.
pub trait ReadFrom: BufRead {
    /// Goes on at `offset`. Only called before anything was read, but for what [`Apart::anywhere`] gives.
    ///
    /// # Errors
    /// Where it cannot be read, or ends before that.
    fn skip_to(&mut self, offset: u64) -> io::Result<()>;

    /// Whether it goes to any offset at any time.
    fn goes_back(&self) -> bool {
        false
    }

    /// The same bytes for a format that cannot read them from the beginning to the end, where they are a unit's.
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
    /// Where the next run goes on, in bytes: behind the last whole item.
    pub at: u64,
}

/// One item of a unit, as it stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raw {
    /// Where it begins in the unit, in bytes.
    pub offset: u64,
    /// Where the next one begins, and where a run that is cut off goes on: its own beginning, if it may still grow.
    pub next: u64,
    /// The line that it begins in, from 1, where lines mean something.
    pub line: Option<u64>,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What is known of it that does not stand in its bytes (flags of a file name, the folder): part of what makes it the same
    /// item when it is read again.
    pub facts: String,
    /// How many equal ones were before it in its unit, where equal items are different records.
    pub copy: u32,
}

/// What an item gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Parsed {
    /// Records; an item of several counts once.
    Records(Vec<Draft>),
    /// It is left out on purpose; why, in a few words that stay the same: "hidden context".
    Skipped(&'static str),
}

/// An item that could not be read: why, in a few words that stay the same and quote nothing of it: "no header".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bad(pub &'static str);

/// A record to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// One of the streams that the plan's connector declares.
    pub stream: Cow<'static, str>,
    /// The value of the stream's primary key; of several, a JSON list of them.
    pub key: String,
    /// A JSON object with the declared fields, in declared order; `None` deletes the record.
    pub data: Option<String>,
    /// What this source alone says of the record (labels, flags, a session's first and last time), as JSON, where another may
    /// say something else. [`Format::join`] makes the record of all of them.
    pub sighting: Option<String>,
    /// The attachments that `data` refers to.
    pub blobs: Vec<Blob>,
    /// What the person should know of it though it is kept, in a few words that stay the same: it is counted by them.
    pub told: Option<&'static str>,
}

impl Draft {
    /// A record that one item tells whole.
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

/// An attachment, as it lies in its item.
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
    /// How they are encoded there.
    pub encoding: Encoding,
}
