//! Writes records: what is new, what changed, and the indexes that follow.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rusqlite::{OptionalExtension, Transaction, params};

use super::catalog::{Catalog, Connection, last_seq};
use super::packed::{self, Packed};
use super::values::{Cell, Layout, Texts};
use super::word_index::{self, Gathered, Terms};
use crate::vault::declaration::{Connector, Kind, Stream};
use crate::vault::fields::Fields;
use crate::vault::{folding, time, words};

/// Rebuilds the index of words of every stream, after a change of what counts as a word or of how words are stored.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn reindex(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    let slots: Vec<i64> = tx
        .prepare("SELECT slot FROM slot")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for slot in slots {
        // These tables belong to formats 1 to 5.
        tx.execute_batch(&format!("DROP TABLE IF EXISTS text_{slot}"))?;
        word_index::forget(tx, slot)?;
    }
    let catalog = Catalog::load(tx, 0)?;
    for connection in &catalog.connections {
        let mut ingest = Ingest::new(tx)?;
        ingest.connection(connection)?;
        let slots = ingest.shapes();
        for place in slots.values().filter(|place| !place.lexical.is_empty()) {
            let mut records = tx.prepare(
                "SELECT rid, whole(data, packed) FROM record WHERE slot = ?1 AND data IS NOT NULL",
            )?;
            let mut records = records.query([place.number])?;
            while let Some(record) = records.next()? {
                let terms = place.terms(&Fields::parse(record.get_ref(1)?.as_str()?));
                ingest.index_words(place, record.get(0)?, terms)?;
            }
        }
        ingest.end()?;
    }
    while word_index::join(tx)? {}
    Ok(())
}

/// How many bytes of records [`reword`] reads at once. Low in tests, which have few records.
const REWORDED: usize = if cfg!(test) { 200 } else { 32 << 20 };

/// Rebuilds the words of some records whose texts are now split differently, and records how far it came; after the
/// last record, it removes that note. The store is consistent between two such steps, and the next step may run at
/// any time.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn reword(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    let noted = tx.query_row("SELECT value FROM meta WHERE name = 'reworded'", [], |row| row.get(0));
    let Some(from): Option<i64> = noted.optional()? else { return Ok(()) };
    let catalog = Catalog::load(tx, 0)?;
    let mut ingest = Ingest::new(tx)?;
    let mut places = HashMap::new();
    for connection in &catalog.connections {
        ingest.connection(connection)?;
        places.extend(ingest.shapes().values().map(|place| (place.number, place.clone())));
    }
    let (mut bytes, mut last) = (0, None);
    let mut records = tx.prepare(
        "SELECT rid, slot, whole(data, packed) FROM record WHERE rid > ?1 AND data IS NOT NULL ORDER BY rid",
    )?;
    let mut records = records.query([from])?;
    while let Some(record) = records.next()? {
        let (rid, slot): (i64, i64) = (record.get(0)?, record.get(1)?);
        let data = record.get_ref(2)?.as_str()?;
        if let Some(place) = places.get(&slot) {
            let fields = Fields::parse(data);
            let texts = || place.lexical.iter().filter_map(|(field, _)| fields.text(field));
            if texts().any(|text| folding::was_read_otherwise(&text)) {
                ingest.words.entry(slot).or_default().remove(rid);
                ingest.index_words(place, rid, place.terms(&fields))?;
            }
        }
        bytes += data.len();
        if bytes >= REWORDED {
            last = Some(rid);
            break;
        }
    }
    drop(records);
    ingest.end()?;
    match last {
        Some(last) => tx.execute("UPDATE meta SET value = ?1 WHERE name = 'reworded'", [last])?,
        None => tx.execute("DELETE FROM meta WHERE name = 'reworded'", [])?,
    };
    while word_index::join(tx)? {}
    Ok(())
}

/// Fills the columns of every stream that has none yet.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn fill_columns(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    let catalog = Catalog::load(tx, 0)?;
    catalog.connections.iter().try_for_each(|connection| Ingest::new(tx)?.connection(connection))
}

/// The result of writing a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// It did not exist.
    New,
    /// It was different, or is now deleted.
    Changed,
    /// It is unchanged.
    Same,
}

/// A stream of a connection that records are written to: where they go, and what is stored next to them.
#[derive(Debug, Clone)]
pub struct Shape {
    number: i64,
    stream: Arc<Stream>,
    foreign_keys: Vec<String>,
    /// The fields that full-text search covers, with the tags of their terms.
    lexical: Vec<(String, words::Tag)>,
    layout: Layout,
}

/// The streams of a connection, by their names.
pub type Shapes = Arc<HashMap<String, Shape>>;

/// A record's data with everything that is stored next to it. Any thread can make it, without the store.
#[derive(Debug, Clone)]
pub struct Prepared {
    data: String,
    packed: Option<Packed>,
    sort: i64,
    consent: Option<i64>,
    terms: Terms,
    cells: Vec<Cell>,
    foreign_keys: Vec<(usize, String)>,
    blobs: Vec<(String, String)>,
}

impl Shape {
    /// The stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Parses `data`, once.
    pub fn prepare(&self, data: impl Into<String>) -> Prepared {
        let data = data.into();
        let fields = Fields::parse(&data);
        let terms = self.terms(&fields);
        let foreign_keys = self.foreign_keys.iter().enumerate();
        let foreign_keys =
            foreign_keys.filter_map(|(at, field)| Some((at, fields.text(field)?.into_owned()))).collect();
        let blobs = self.stream.fields.iter().filter(|field| field.kind == Kind::Blob);
        let blobs =
            blobs.filter_map(|field| Some((field.name.clone(), fields.blob_id(&field.name)?))).collect();
        let (sort, consent) = self.times(&fields);
        let cells = self.layout.cells(&fields);
        let packed = packed::pack(&self.stream, &data, &fields);
        Prepared { data, packed, sort, consent, terms, cells, foreign_keys, blobs }
    }

    /// The terms of a record for the index of words.
    fn terms(&self, fields: &Fields<'_>) -> Terms {
        let mut terms = Terms::default();
        for (field, tag) in &self.lexical {
            if let Some(text) = fields.text(field) {
                terms.add(*tag, &text);
            }
        }
        terms
    }

    /// Whether two states of a record differ only in fields that reveal later days than the record's own.
    fn is_same_of_its_days(&self, one: &str, other: &str) -> bool {
        let spanning: Vec<&str> = self.stream.spanning().map(|field| field.name.as_str()).collect();
        if spanning.is_empty() {
            return false;
        }
        let (one, other) = (Fields::parse(one), Fields::parse(other));
        let own = |(name, _): &(&str, &str)| !spanning.contains(name);
        one.iter().filter(own).eq(other.iter().filter(own))
    }

    /// The value that a record is sorted by, and its consent time.
    fn times(&self, fields: &Fields<'_>) -> (i64, Option<i64>) {
        let ms = |field: &Option<String>| time::parse_ms(&fields.text(field.as_ref()?)?);
        (ms(&self.stream.cursor_field).unwrap_or(i64::MIN), ms(&self.stream.consent_time_field))
    }
}

impl Prepared {
    /// The record as it is written.
    pub fn data(&self) -> &str {
        &self.data
    }

    /// The record's time in milliseconds since 1970, if it has one.
    pub fn time_ms(&self) -> Option<i64> {
        self.consent.or_else(|| (self.sort != i64::MIN).then_some(self.sort))
    }
}

/// A record as it is in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its number in the ledger.
    pub rid: i64,
    seq: i64,
    consent: Option<i64>,
    data: Option<String>,
}

impl Known {
    /// The record; `None` if it is deleted.
    pub fn data(&self) -> Option<&str> {
        self.data.as_deref()
    }
}

/// Writes records into the store, inside the caller's transaction.
pub struct Ingest<'a> {
    tx: &'a Transaction<'a>,
    /// The last change before this transaction.
    begun: i64,
    seq: i64,
    slots: Shapes,
    texts: Texts,
    words: BTreeMap<i64, Gathered>,
}

impl<'a> Ingest<'a> {
    /// Begins where the last one ended.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn new(tx: &'a Transaction<'a>) -> rusqlite::Result<Self> {
        Self::with_shapes(tx, Shapes::default())
    }

    /// Does the same for a connection whose streams are known from [`Ingest::shapes`] of an earlier transaction.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn with_shapes(tx: &'a Transaction<'a>, slots: Shapes) -> rusqlite::Result<Self> {
        let seq = last_seq(tx)?;
        Ok(Self { tx, begun: seq, seq, slots, texts: Texts::default(), words: BTreeMap::new() })
    }

    /// The streams of the open connection.
    pub fn shapes(&self) -> Shapes {
        Arc::clone(&self.slots)
    }

    /// Declares a connector, or replaces its declaration.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn connector(&mut self, connector: &Connector) -> rusqlite::Result<()> {
        let declaration = serde_json::to_string(connector)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        self.tx.execute(
            "INSERT INTO connector (key, place, declaration) VALUES (?1, (SELECT count(*) FROM connector), ?2)
             ON CONFLICT (key) DO UPDATE SET declaration = excluded.declaration",
            params![connector.key, declaration],
        )?;
        Ok(())
    }

    /// Opens a connection, and creates it if it is new. What follows goes to it.
    ///
    /// # Errors
    /// Returns the errors of SQLite, or an error if the connector is not declared.
    pub fn connection(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.tx.execute(
            "INSERT INTO connection (id, place, connector, display_name)
             VALUES (?1, (SELECT count(*) FROM connection), ?2, ?3) ON CONFLICT (id) DO NOTHING",
            params![connection.id, connection.connector, connection.display_name],
        )?;
        let declaration: String = self.tx.query_row(
            "SELECT declaration FROM connector WHERE key = ?1",
            [&connection.connector],
            |row| row.get(0),
        )?;
        let connector: Connector = serde_json::from_str(&declaration)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        // New columns refer to other texts.
        self.texts.flush(self.tx)?;
        let mut slots = HashMap::new();
        for stream in &connector.streams {
            slots.insert(stream.name.clone(), self.slot(connection, &connector, stream)?);
        }
        self.slots = Arc::new(slots);
        Ok(())
    }

    fn slot(
        &mut self,
        connection: &Connection,
        connector: &Connector,
        stream: &Arc<Stream>,
    ) -> rusqlite::Result<Shape> {
        self.tx.execute(
            "INSERT INTO slot (connection, stream) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            params![connection.id, stream.name],
        )?;
        let slot: i64 = self.tx.query_row(
            "SELECT slot FROM slot WHERE connection = ?1 AND stream = ?2",
            params![connection.id, stream.name],
            |row| row.get(0),
        )?;
        let mut lexical = Vec::new();
        for field in stream.lexical_fields() {
            self.tx.execute(
                "INSERT INTO text_field (slot, field, number)
                 VALUES (?1, ?2, (SELECT count(*) FROM text_field WHERE slot = ?1)) ON CONFLICT DO NOTHING",
                params![slot, field.name],
            )?;
            let tag = super::catalog::tag(self.tx, slot, &field.name)?;
            lexical.extend(tag.map(|tag| (field.name.clone(), tag)));
        }
        let foreign_keys = connector
            .streams
            .iter()
            .flat_map(|from| &from.relations)
            // A parent is looked up by its key.
            .filter(|relation| relation.stream == stream.name && relation.local_key.is_none())
            .map(|relation| relation.foreign_key.clone())
            .collect::<std::collections::BTreeSet<_>>();
        let (layout, is_new) = Layout::open(self.tx, slot, stream)?;
        let shape = Shape {
            number: slot,
            stream: Arc::clone(stream),
            foreign_keys: foreign_keys.into_iter().collect(),
            lexical,
            layout,
        };
        if is_new {
            self.fill(&shape)?;
        }
        Ok(shape)
    }

    /// Fills the columns of a slot from its existing records, which an older format wrote, or which were written
    /// before the stream's declaration changed.
    fn fill(&mut self, place: &Shape) -> rusqlite::Result<()> {
        let mut records = self.tx.prepare(
            "SELECT rid, sort, consent_ms, whole(data, packed) FROM record INDEXED BY record_seq WHERE slot = ?1 AND data IS NOT NULL",
        )?;
        let mut records = records.query([place.number])?;
        while let Some(record) = records.next()? {
            let (rid, times) = (record.get(0)?, (record.get(1)?, record.get(2)?));
            let fields = Fields::parse(record.get_ref(3)?.as_str()?);
            self.texts.put(self.tx, &place.layout, rid, &place.layout.cells(&fields))?;
            let declared = place.times(&fields);
            if times != declared {
                self.tx
                    .prepare_cached("UPDATE record SET sort = ?2, consent_ms = ?3 WHERE rid = ?1")?
                    .execute(params![rid, declared.0, declared.1])?;
            }
        }
        self.texts.flush(self.tx)
    }

    /// Writes or deletes a record of the open connection. Writing a record unchanged does not count as a change.
    ///
    /// # Errors
    /// Returns the errors of SQLite, or an error if the stream is not declared.
    pub fn put(
        &mut self,
        stream: &str,
        key: &str,
        emitted_ms: i64,
        data: Option<&str>,
    ) -> rusqlite::Result<Written> {
        let slots = self.shapes();
        let Some(place) = slots.get(stream) else {
            return Err(rusqlite::Error::InvalidParameterName(format!(
                "{stream} is not a stream of this source"
            )));
        };
        let prepared = data.map(|data| place.prepare(data));
        self.write(place, key, emitted_ms, prepared).map(|(written, _)| written)
    }

    /// The current state of a record, if it is known.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn get(&self, place: &Shape, key: &str) -> rusqlite::Result<Option<Known>> {
        self.tx
            .prepare_cached(
                "SELECT rid, seq, consent_ms, whole(data, packed) FROM record WHERE slot = ?1 AND key = ?2",
            )?
            .query_row(params![place.number, key], |row| {
                Ok(Known { rid: row.get(0)?, seq: row.get(1)?, consent: row.get(2)?, data: row.get(3)? })
            })
            .optional()
    }

    /// The keys of the records whose `field`, which a relation uses, is `value`.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn keys_of(&self, place: &Shape, field: &str, value: &str) -> rusqlite::Result<Vec<String>> {
        self.tx
            .prepare_cached(
                "SELECT record.key FROM foreign_key JOIN record USING (rid)
                 WHERE foreign_key.slot = ?1 AND field = ?2 AND value = ?3 AND live",
            )?
            .query_map(params![place.number, field, value], |row| row.get(0))?
            .collect()
    }

    /// The stream of the open connection, the key and the data of the record that has the number `rid` in the
    /// ledger.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn record(&self, rid: i64) -> rusqlite::Result<Option<(Shape, String, Option<String>)>> {
        let found = self
            .tx
            .prepare_cached("SELECT slot, key, whole(data, packed) FROM record WHERE rid = ?1")?
            .query_row([rid], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        Ok(found.and_then(|(slot, key, data)| {
            let shape = self.slots.values().find(|shape| shape.number == slot)?;
            Some((shape.clone(), key, data))
        }))
    }

    /// Writes a record, or deletes it if it has no data. Returns the result, and the record's number in the ledger.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn write(
        &mut self,
        place: &Shape,
        key: &str,
        emitted_ms: i64,
        new: Option<Prepared>,
    ) -> rusqlite::Result<(Written, Option<i64>)> {
        let before = self.get(place, key)?;
        self.write_over(place, key, before, emitted_ms, new)
    }

    /// Does the same as [`Ingest::write`] for a record that was already looked up.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn write_over(
        &mut self,
        place: &Shape,
        key: &str,
        before: Option<Known>,
        emitted_ms: i64,
        new: Option<Prepared>,
    ) -> rusqlite::Result<(Written, Option<i64>)> {
        let slot = place.number;
        let data = new.as_ref().map(Prepared::data);
        match &before {
            Some(known) if known.data.as_deref() == data => return Ok((Written::Same, Some(known.rid))),
            None if data.is_none() => return Ok((Written::Same, None)),
            _ => {}
        }
        let written = match &before {
            None | Some(Known { data: None, .. }) => Written::New,
            _ => Written::Changed,
        };
        // Everyone who may see the record sees when it was collected, so a message of a later day in a chat must
        // not change that time.
        let old = before.as_ref().and_then(|known| known.data.as_deref());
        let is_same = old.zip(data).is_some_and(|(old, new)| place.is_same_of_its_days(old, new));
        let collected_ms = (!is_same).then_some(emitted_ms);
        self.seq += 1;
        let sort = new.as_ref().map_or(i64::MIN, |new| new.sort);
        let consent = new.as_ref().and_then(|new| new.consent);
        let packed = new.as_ref().and_then(|new| new.packed.as_ref());
        let (kept, packed) = match packed {
            Some(Packed { short, whole }) => (Some(short.as_str()), Some(whole)),
            None => (data, None),
        };
        let rid = if let Some(Known { rid, seq: from, consent: old_consent, data: old }) = before {
            self.texts.take(self.tx, &place.layout, rid)?;
            // A state that was never committed was never visible.
            let is_seen = from <= self.begun;
            let history = is_seen.then(|| {
                self.tx
                .prepare_cached("INSERT INTO history (slot, key, from_seq, to_seq, consent_ms, data, packed) SELECT slot, key, ?2, ?3, ?4, data, packed FROM record WHERE rid = ?1")?
                .execute(params![rid, from, self.seq, old_consent])
            });
            history.transpose()?;
            if !place.lexical.is_empty() && old.is_some() {
                self.words.entry(slot).or_default().remove(rid);
            }
            for field in &place.foreign_keys {
                if let Some(value) = old.as_deref().and_then(|old| Fields::parse(old).text(field)) {
                    self.tx
                        .prepare_cached("DELETE FROM foreign_key WHERE slot = ?1 AND field = ?2 AND value = ?3 AND rid = ?4")?
                        .execute(params![slot, field, value, rid])?;
                }
            }
            self.tx
                .prepare_cached("UPDATE record SET seq = ?2, sort = ?3, consent_ms = ?4, emitted_ms = coalesce(?5, emitted_ms), data = ?6, packed = ?7 WHERE rid = ?1")?
                .execute(params![rid, self.seq, sort, consent, collected_ms, kept, packed])?;
            rid
        } else {
            self.tx
                .prepare_cached("INSERT INTO record (slot, key, seq, sort, consent_ms, emitted_ms, data, packed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
                .execute(params![slot, key, self.seq, sort, consent, emitted_ms, kept, packed])?;
            self.tx.last_insert_rowid()
        };
        if let Some(new) = new {
            self.texts.put(self.tx, &place.layout, rid, &new.cells)?;
            self.index(place, rid, key, new)?;
        }
        Ok((written, Some(rid)))
    }

    fn index(&mut self, place: &Shape, rid: i64, key: &str, new: Prepared) -> rusqlite::Result<()> {
        self.index_words(place, rid, new.terms)?;
        for (at, value) in &new.foreign_keys {
            self.tx
                .prepare_cached(
                    "INSERT OR IGNORE INTO foreign_key (slot, field, value, rid) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![place.number, place.foreign_keys.get(*at), value, rid])?;
        }
        for (field, blob) in &new.blobs {
            self.tx
                .prepare_cached("INSERT OR IGNORE INTO blob_reference (blob_id, slot, key, field) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![blob, place.number, key, field])?;
        }
        Ok(())
    }

    fn index_words(&mut self, place: &Shape, rid: i64, terms: Terms) -> rusqlite::Result<()> {
        if place.lexical.is_empty() {
            return Ok(());
        }
        let words = self.words.entry(place.number).or_default();
        words.add(rid, terms);
        if words.is_large() { words.write(self.tx, place.number) } else { Ok(()) }
    }

    /// Stores a blob.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn blob(&mut self, id: &str, media_type: &str, bytes: &[u8]) -> rusqlite::Result<()> {
        self.tx
            .prepare_cached(
                "INSERT OR IGNORE INTO blob (id, media_type, size, bytes) VALUES (?1, ?2, length(?3), ?3)",
            )?
            .execute(params![id, media_type, bytes])?;
        Ok(())
    }

    /// Writes the words, and records the number of the last change. For a caller that declared nothing, so that
    /// readers need not load the catalog again.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn end(&mut self) -> rusqlite::Result<()> {
        self.texts.flush(self.tx)?;
        for (slot, words) in &mut self.words {
            words.write(self.tx, *slot)?;
        }
        self.tx.prepare_cached("UPDATE meta SET value = ?1 WHERE name = 'seq'")?.execute([self.seq])?;
        Ok(())
    }

    /// Records the number of the last change, and that the catalog may have changed.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn finish(mut self) -> rusqlite::Result<()> {
        self.end()?;
        while word_index::join(self.tx)? {}
        self.tx.execute("UPDATE meta SET value = value + 1 WHERE name = 'catalog'", [])?;
        Ok(())
    }
}
