//! The declared scalar fields of records, in columns stored next to them. Filters, groups and sums read these, not
//! the data.
//!
//! Each slot has a table `value_SLOT` with a row for each existing record. A value that a column cannot hold as a
//! number is stored there as JSON text, so that the column says everything that the data says of the field. Texts
//! are the exception: `value_text` holds texts that many records share, each once, and texts that can only be
//! looked for are stored as a hash.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use rusqlite::types::Null;
use rusqlite::{Connection as Sqlite, OptionalExtension as _, Transaction, params};
use serde_json::Value;

use crate::vault::declaration::{Field, Kind, Stream};
use crate::vault::fields::Fields;
use crate::vault::{folding, time};

/// Where a field's values are stored, and in which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Like [`Encoding::Instant`], with the milliseconds also in the record's `sort`, which is the least integer
    /// for a record without an instant.
    Sort,
    /// Like [`Encoding::Instant`], with the milliseconds also in the record's `consent_ms`.
    Consent,
    /// Milliseconds, null for an absent value, or the JSON text of a value that is not an instant.
    Instant,
    /// A whole number in SQLite's own spelling, null for an absent value, or the JSON text of any other value.
    Number,
    /// 1 or 0, null for an absent value, or the JSON text of any other value.
    Boolean,
    /// The id of a row of `value_text`, or null for an absent value.
    Listed,
    /// The hash of a text, or null for a record without a text.
    Hashed,
}

/// The column of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// See [`Encoding`].
    pub encoding: Encoding,
    /// Its name in the slot's table is `c` and this number.
    pub number: u32,
}

/// The columns of a slot, by the names of their fields.
pub type Columns = HashMap<String, Column>;

/// The content of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Nothing.
    Absent,
    /// A number.
    Integer(i64),
    /// A value as it is written.
    Json(String),
    /// A value that is in `value_text`.
    Listed(String),
}

impl Encoding {
    const ALL: [Self; 7] =
        [Self::Sort, Self::Consent, Self::Instant, Self::Number, Self::Boolean, Self::Listed, Self::Hashed];

    const fn name(self) -> &'static str {
        match self {
            Self::Sort => "sort",
            Self::Consent => "consent",
            Self::Instant => "instant",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Listed => "listed",
            Self::Hashed => "hashed",
        }
    }

    /// The form for what a client may ask about `field`; `None` if it may ask nothing, or if a column does not
    /// help.
    pub fn of(stream: &Stream, field: &Field) -> Option<Self> {
        if !(field.exact || field.range || field.sort) && field.aggregations.is_empty() {
            return None;
        }
        let is = |time: &Option<String>| time.as_ref() == Some(&field.name);
        match field.kind {
            Kind::Timestamp | Kind::Date if is(&stream.cursor_field) => Some(Self::Sort),
            Kind::Timestamp | Kind::Date if is(&stream.consent_time_field) => Some(Self::Consent),
            Kind::Timestamp | Kind::Date => Some(Self::Instant),
            Kind::Integer | Kind::Number => Some(Self::Number),
            Kind::Boolean => Some(Self::Boolean),
            Kind::String | Kind::Text | Kind::Person if field.sort || !field.aggregations.is_empty() => {
                Some(Self::Listed)
            }
            Kind::String | Kind::Text | Kind::Person => field.exact.then_some(Self::Hashed),
            Kind::Array | Kind::Object | Kind::Blob => None,
        }
    }

    fn cell(self, fields: &Fields<'_>, name: &str) -> Cell {
        let Some(json) = fields.json(name) else { return Cell::Absent };
        let text = || fields.text(name);
        let kept = || Cell::Json(minified(json).into_owned());
        match (self, json) {
            (Self::Boolean, "true") => Cell::Integer(1),
            (Self::Boolean, "false") => Cell::Integer(0),
            // A filter distinguishes `null` from an absent value.
            (Self::Boolean, _) => kept(),
            (_, "null") => Cell::Absent,
            (Self::Sort | Self::Consent | Self::Instant, _) => {
                text().and_then(|text| time::parse_ms(&text)).map_or_else(kept, Cell::Integer)
            }
            (Self::Number, _) => {
                let whole = json.parse::<i64>().ok().filter(|whole| whole.to_string() == json);
                whole.map_or_else(kept, Cell::Integer)
            }
            (Self::Listed, _) => Cell::Listed(one_spelling(minified(json)).into_owned()),
            (Self::Hashed, _) => match text() {
                Some(text) => Cell::Integer(hash(&text)),
                // A list or an object can only be looked for by its spelling.
                None if json.starts_with(['[', '{']) => Cell::Integer(hash(&minified(json))),
                None => Cell::Absent,
            },
        }
    }
}

/// The number by which a text is looked for. Equal texts have the same number. It has 32 bits, so different texts
/// can share one.
pub fn hash(text: &str) -> i64 {
    let digest = ring::digest::digest(&ring::digest::SHA256, folding::composed(text).as_bytes());
    let first = digest.as_ref().iter().take(4).fold(0_u32, |hash, byte| (hash << 8) | u32::from(*byte));
    i64::from(first.cast_signed())
}

/// JSON without blanks between its parts. A scalar has none.
fn minified(json: &str) -> Cow<'_, str> {
    if !json.starts_with(['[', '{']) {
        return Cow::Borrowed(json);
    }
    serde_json::from_str::<Value>(json).map_or(Cow::Borrowed(json), |value| Cow::Owned(value.to_string()))
}

/// A string's JSON text in one spelling. JSON can spell the same string in several ways, and a filter must find all
/// of them.
pub fn one_spelling(json: Cow<'_, str>) -> Cow<'_, str> {
    if json.starts_with('"') && (!json.is_ascii() || json.contains('\\')) {
        let text: Option<String> = serde_json::from_str(&json).ok();
        return text.map_or(json, |text| json_text(&text).into());
    }
    json
}

/// The one spelling of `text` in JSON.
pub fn json_text(text: &str) -> String {
    Value::from(folding::composed(text)).to_string()
}

/// The columns that a stream's declaration asks for.
pub fn columns(stream: &Stream) -> Columns {
    let kept = stream.fields.iter().filter_map(|field| Some((field, Encoding::of(stream, field)?)));
    let columns = (0..).zip(kept);
    columns.map(|(number, (field, encoding))| (field.name.clone(), Column { encoding, number })).collect()
}

/// The current columns of all slots.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn all_columns(db: &Sqlite) -> rusqlite::Result<HashMap<i64, Columns>> {
    let mut slots: HashMap<i64, Columns> = HashMap::new();
    let mut all = db.prepare("SELECT slot, field, encoding, number FROM value_column")?;
    let mut all = all.query([])?;
    while let Some(row) = all.next()? {
        let name: String = row.get(2)?;
        if let Some(encoding) = Encoding::ALL.into_iter().find(|encoding| encoding.name() == name) {
            let column = Column { encoding, number: row.get(3)? };
            slots.entry(row.get(0)?).or_default().insert(row.get(1)?, column);
        }
    }
    Ok(slots)
}

/// A slot's table, as an import writes it.
#[derive(Debug, Clone)]
pub struct Layout {
    slot: i64,
    /// The fields of the columns, in their order.
    fields: Vec<(String, Encoding)>,
    /// The statement that writes a row.
    insert: String,
}

impl Layout {
    /// Opens the table of `slot` for `stream`. The second value says whether it is new and must be filled.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn open(tx: &Transaction<'_>, slot: i64, stream: &Stream) -> rusqlite::Result<(Self, bool)> {
        let columns = columns(stream);
        let kept = stream.fields.iter().filter_map(|field| Some((field, columns.get(&field.name)?)));
        let fields: Vec<(String, Encoding)> =
            kept.map(|(field, column)| (field.name.clone(), column.encoding)).collect();
        let insert = format!("INSERT INTO value_{slot} VALUES (?{})", ", ?".repeat(fields.len()));
        let layout = Self { slot, fields, insert };
        let known = tx
            .query_row("SELECT 1 FROM sqlite_master WHERE name = ?1", [format!("value_{slot}")], |_| Ok(()))
            .optional()?;
        if known.is_some() && all_columns(tx)?.remove(&slot).unwrap_or_default() == columns {
            return Ok((layout, false));
        }
        drop_slot(tx, slot)?;
        let names: Vec<String> = (0..layout.fields.len()).map(|number| format!("c{number}")).collect();
        let names = [&["rid INTEGER PRIMARY KEY".to_owned()], names.as_slice()].concat().join(", ");
        tx.execute_batch(&format!("CREATE TABLE value_{slot} ({names})"))?;
        let mut insert =
            tx.prepare("INSERT INTO value_column (slot, field, encoding, number) VALUES (?1, ?2, ?3, ?4)")?;
        for (field, column) in &columns {
            insert.execute(params![slot, field, column.encoding.name(), column.number])?;
        }
        Ok((layout, true))
    }

    /// A record's content for the columns.
    pub fn cells(&self, fields: &Fields<'_>) -> Vec<Cell> {
        self.fields.iter().map(|(name, encoding)| encoding.cell(fields, name)).collect()
    }
}

/// Deletes everything that is stored in columns of a slot.
///
/// # Errors
/// Returns the errors of SQLite.
pub fn drop_slot(tx: &Transaction<'_>, slot: i64) -> rusqlite::Result<()> {
    tx.execute_batch(&format!("DROP TABLE IF EXISTS value_{slot}"))?;
    for table in ["value_column", "value_text"] {
        tx.execute(&format!("DELETE FROM {table} WHERE slot = ?1"), [slot])?;
    }
    Ok(())
}

/// The ids of known shared texts, and for each how many records were added that are not written yet.
#[derive(Debug, Default)]
pub struct Texts {
    /// The ids, by slot and column.
    ids: HashMap<(i64, u32), HashMap<String, i64, RandomState>, RandomState>,
    changes: HashMap<i64, i64, RandomState>,
}

/// The maximum number of texts in memory.
const MOST_TEXTS: usize = 1 << 16;

impl Texts {
    /// Writes the row of a record.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn put(
        &mut self,
        tx: &Transaction<'_>,
        layout: &Layout,
        rid: i64,
        cells: &[Cell],
    ) -> rusqlite::Result<()> {
        let mut insert = tx.prepare_cached(&layout.insert)?;
        insert.raw_bind_parameter(1, rid)?;
        for ((at, number), cell) in (2..).zip(0..).zip(cells) {
            match cell {
                Cell::Absent => insert.raw_bind_parameter(at, Null)?,
                Cell::Integer(number) => insert.raw_bind_parameter(at, number)?,
                Cell::Json(json) => insert.raw_bind_parameter(at, json)?,
                Cell::Listed(json) => {
                    let id = self.id(tx, layout.slot, number, json)?;
                    *self.changes.entry(id).or_default() += 1;
                    insert.raw_bind_parameter(at, id)?;
                }
            }
        }
        insert.raw_execute()?;
        if self.changes.len() > MOST_TEXTS {
            self.flush(tx)?;
        }
        Ok(())
    }

    /// Deletes the row of a record.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn take(&mut self, tx: &Transaction<'_>, layout: &Layout, rid: i64) -> rusqlite::Result<()> {
        let mut gone =
            tx.prepare_cached(&format!("DELETE FROM value_{} WHERE rid = ?1 RETURNING *", layout.slot))?;
        let mut gone = gone.query([rid])?;
        while let Some(row) = gone.next()? {
            for (number, (_, encoding)) in layout.fields.iter().enumerate() {
                if *encoding == Encoding::Listed
                    && let Some(id) = row.get(number + 1)?
                {
                    *self.changes.entry(id).or_default() -= 1;
                }
            }
        }
        Ok(())
    }

    fn id(&mut self, tx: &Transaction<'_>, slot: i64, number: u32, json: &str) -> rusqlite::Result<i64> {
        let known = self.ids.entry((slot, number)).or_default();
        if let Some(id) = known.get(json) {
            return Ok(*id);
        }
        let found = tx
            .prepare_cached("SELECT id FROM value_text WHERE slot = ?1 AND number = ?2 AND json = ?3")?
            .query_row(params![slot, number, json], |row| row.get(0))
            .optional()?;
        let id = if let Some(id) = found {
            id
        } else {
            tx.prepare_cached("INSERT INTO value_text (slot, number, json, records) VALUES (?1, ?2, ?3, 0)")?
                .execute(params![slot, number, json])?;
            tx.last_insert_rowid()
        };
        known.insert(json.to_owned(), id);
        Ok(id)
    }

    /// Writes how many records have each text, and deletes texts that no record has.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn flush(&mut self, tx: &Transaction<'_>) -> rusqlite::Result<()> {
        self.ids.clear();
        for (id, change) in self.changes.drain() {
            tx.prepare_cached("UPDATE value_text SET records = records + ?2 WHERE id = ?1")?
                .execute([id, change])?;
            if change <= 0 {
                tx.prepare_cached("DELETE FROM value_text WHERE id = ?1 AND records = 0")?.execute([id])?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_two_spellings_is_one_value() {
        for spelling in ["\"Jos\u{e9}\"", "\"Jose\u{301}\"", "\"Jos\\u00e9\"", "\"Jos\\u00E9\""] {
            assert_eq!(one_spelling(spelling.into()), "\"José\"", "{spelling}");
            assert_eq!(hash(&serde_json::from_str::<String>(spelling).unwrap()), hash("José"), "{spelling}");
        }
        for other in ["\"Jose\"", "1.10", "null", "[\"e\u{301}\"]"] {
            assert_eq!(one_spelling(other.into()), other);
        }
    }

    #[test]
    fn a_column_says_all_that_the_data_says() {
        let cell = |encoding: Encoding, json: &str| {
            let data = format!("{{\"f\": {json}}}");
            encoding.cell(&Fields::parse(&data), "f")
        };
        let json = |text: &str| Cell::Json(text.to_owned());
        assert_eq!(cell(Encoding::Number, "-12"), Cell::Integer(-12));
        for other in ["-0", "1.10", "1e3", "9223372036854775808", "\"12\"", "true"] {
            assert_eq!(cell(Encoding::Number, other), json(other));
        }
        assert_eq!(cell(Encoding::Instant, "\"1970-01-01T01:00:01+01:00\""), Cell::Integer(1000));
        assert_eq!(cell(Encoding::Instant, "\"soon\""), json("\"soon\""));
        assert_eq!(cell(Encoding::Boolean, "false"), Cell::Integer(0));
        assert_eq!(cell(Encoding::Boolean, "null"), json("null"));
        assert_eq!(cell(Encoding::Listed, "[ 1,  \"x\" ]"), Cell::Listed("[1,\"x\"]".to_owned()));
        for encoding in [Encoding::Number, Encoding::Instant, Encoding::Listed, Encoding::Hashed] {
            assert_eq!(cell(encoding, "null"), Cell::Absent);
            assert_eq!(encoding.cell(&Fields::parse("{}"), "f"), Cell::Absent);
        }
    }
}
