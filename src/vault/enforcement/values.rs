//! The values of a granted field, for counts, groups and extremes. They are read from the columns stored next to
//! the records, if those exist.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::types::ValueRef;
use rusqlite::{Connection as Sqlite, params_from_iter};

use super::{Access, FOUND, Filter, Wanted, count, path};
use crate::vault::declaration::Field;
use crate::vault::sorting::{Quantity, SortValue};
use crate::vault::store::values::{Column, Encoding, one_spelling};
use crate::vault::time;

/// The maximum number of fields that are read at once.
pub const MOST_READ: usize = 12;

/// How much of a field is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// Only its place in the order: of a time, the instant.
    Order,
    /// The complete value.
    Whole,
}

/// The value of a field in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Held<'a> {
    /// Absent or null.
    Absent,
    /// A time, in milliseconds.
    Instant(i64),
    /// A whole number.
    Whole(i64),
    /// A boolean.
    Boolean(bool),
    /// The number of a text that several records share; [`Texts`] looks it up.
    Listed(i64),
    /// Any other value, as it is written.
    Json(&'a str),
}

/// Shared texts of one access that were looked up. Each belongs to a covered record.
#[derive(Debug, Default)]
pub struct Texts(HashMap<i64, Shared>);

#[derive(Debug)]
struct Shared {
    json: String,
    order: Option<SortValue>,
}

impl Texts {
    fn get(&mut self, db: &Sqlite, field: &Field, id: i64) -> rusqlite::Result<&Shared> {
        match self.0.entry(id) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(free) => {
                let json: String = db
                    .prepare_cached("SELECT json FROM value_text WHERE id = ?")?
                    .query_row([id], |row| row.get(0))?;
                Ok(free.insert(Shared { order: SortValue::of_json(field.kind, &json), json }))
            }
        }
    }

    /// The value as JSON text, with one spelling for each text. Not for an instant, which has several spellings.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn json<'a>(
        &'a mut self,
        db: &Sqlite,
        field: &Field,
        held: Held<'a>,
    ) -> rusqlite::Result<Cow<'a, str>> {
        Ok(match held {
            Held::Absent => "null".into(),
            Held::Instant(ms) => ms.to_string().into(),
            Held::Whole(whole) => whole.to_string().into(),
            Held::Boolean(is) => is.to_string().into(),
            Held::Listed(id) => self.get(db, field, id)?.json.as_str().into(),
            Held::Json(json) => one_spelling(json.into()),
        })
    }

    /// Its place in the order; `None` for a value without one, such as an absent value.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn order<'a>(
        &'a mut self,
        db: &Sqlite,
        field: &Field,
        held: Held<'_>,
    ) -> rusqlite::Result<Option<Cow<'a, SortValue>>> {
        let own = |value| Some(Cow::Owned(value));
        Ok(match held {
            Held::Absent => None,
            Held::Instant(ms) => own(SortValue::Instant(ms)),
            Held::Whole(whole) => own(SortValue::Number(Quantity::from(whole))),
            Held::Boolean(is) => own(SortValue::Boolean(is)),
            Held::Listed(id) => self.get(db, field, id)?.order.as_ref().map(Cow::Borrowed),
            Held::Json(json) => SortValue::of_json(field.kind, json).map(Cow::Owned),
        })
    }
}

/// How a column is read.
enum Place {
    Instant(String),
    Other(Encoding, String),
}

impl Place {
    fn expression(&self) -> &str {
        match self {
            Self::Instant(expression) | Self::Other(_, expression) => expression,
        }
    }

    fn held<'a>(&self, value: ValueRef<'a>) -> Held<'a> {
        match (self, value) {
            (Self::Instant(_), ValueRef::Integer(i64::MIN)) => Held::Absent,
            (Self::Instant(_), ValueRef::Integer(ms)) => Held::Instant(ms),
            (Self::Other(Encoding::Boolean, _), ValueRef::Integer(is)) => Held::Boolean(is == 1),
            (Self::Other(Encoding::Listed, _), ValueRef::Integer(id)) => Held::Listed(id),
            (_, ValueRef::Integer(whole)) => Held::Whole(whole),
            (_, value) => held_text(value),
        }
    }
}

/// The value of a column as JSON text.
fn held_text(value: ValueRef<'_>) -> Held<'_> {
    match value {
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok("null") | Err(_) => Held::Absent,
            Ok(json) => Held::Json(json),
        },
        _ => Held::Absent,
    }
}

impl Access {
    /// Passes to `each` the values of these granted fields for each covered record that satisfies `filter`, with
    /// the number of its row. Reads the columns if all of the fields have one, and never a record's other fields.
    ///
    /// # Errors
    /// Returns the errors of SQLite and of `each`, or an error if a field is not granted.
    pub fn each_held(
        &self,
        db: &Sqlite,
        filter: &Filter,
        fields: &[(&Field, Read)],
        mut each: impl FnMut(i64, &[Held<'_>]) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        if let Some((field, _)) = fields.iter().find(|(field, _)| self.field(&field.name).is_none()) {
            return Err(rusqlite::Error::InvalidParameterName(field.name.clone()));
        }
        let mut wanted = Wanted::Nothing;
        let places = fields.iter().map(|(field, read)| {
            let (place, needs) = self.place(field, *read)?;
            if needs == Wanted::Columns {
                wanted = Wanted::Columns;
            }
            Some(place)
        });
        let places: Option<Vec<Place>> = places.collect();
        let (sql, params) = if let Some(places) = &places {
            let (rows, params) = self.rows(filter, wanted);
            let rid = if self.hides_rows() { "r.rid" } else { "v.rid" };
            let columns = places.iter().map(|place| format!(", {}", place.expression()));
            (format!("SELECT {rid}{} {rows}", columns.collect::<String>()), params)
        } else {
            let (condition, covered) = self.condition();
            let paths = fields.iter().map(|(field, _)| path(&field.name).into());
            let params = paths.chain(covered).chain(filter.params.iter().cloned());
            let (columns, index) = (", r.data -> ?".repeat(fields.len()), self.index());
            let sql = format!("SELECT r.rid{columns} FROM record r {index} WHERE {condition}{}", filter.sql);
            (sql, params.collect())
        };
        let mut found = db.prepare_cached(&sql)?;
        let mut found = found.query(params_from_iter(params))?;
        while let Some(row) = found.next()? {
            let mut held = [Held::Absent; MOST_READ];
            for (at, held) in held.iter_mut().enumerate().take(fields.len()) {
                let value = row.get_ref(at + 1)?;
                *held = places.as_ref().map_or_else(|| held_text(value), |places| places[at].held(value));
            }
            each(row.get(0)?, &held[..fields.len().min(MOST_READ)])?;
        }
        Ok(())
    }

    /// The column of a granted field for this kind of read; `None` if it has none.
    fn place(&self, field: &Field, read: Read) -> Option<(Place, Wanted)> {
        let column = self.column(field)?;
        let in_column = || format!("v.c{}", column.number);
        match column.encoding {
            Encoding::Sort | Encoding::Consent | Encoding::Instant => {
                let (expression, wanted) = self.instant(field).filter(|_| read == Read::Order)?;
                Some((Place::Instant(expression), wanted))
            }
            Encoding::Number | Encoding::Boolean | Encoding::Listed => {
                Some((Place::Other(column.encoding, in_column()), Wanted::Columns))
            }
            Encoding::Hashed => None,
        }
    }

    /// A granted field of the covered row with this number, as it is written.
    ///
    /// # Errors
    /// Returns the errors of SQLite, or an error if the field is not granted.
    pub fn held_by(&self, db: &Sqlite, rid: i64, field: &Field) -> rusqlite::Result<String> {
        if self.field(&field.name).is_none() {
            return Err(rusqlite::Error::InvalidParameterName(field.name.clone()));
        }
        let (condition, params) = self.condition();
        let sql = format!(
            "SELECT coalesce(r.data -> ?, 'null') FROM record r {FOUND} WHERE {condition} AND r.rid = ?"
        );
        let params =
            std::iter::once(path(&field.name).into()).chain(params).chain(std::iter::once(rid.into()));
        db.prepare_cached(&sql)?.query_row(params_from_iter(params), |row| row.get(0))
    }

    /// The values of a granted field as JSON text, each with how often it occurs; `null` stands for an absent
    /// value.
    ///
    /// # Errors
    /// Returns the errors of SQLite, or an error if the field is not granted.
    pub fn values(
        &self,
        db: &Sqlite,
        filter: &Filter,
        field: &Field,
    ) -> rusqlite::Result<Vec<(String, u64)>> {
        if self.field(&field.name).is_none() {
            return Err(rusqlite::Error::InvalidParameterName(field.name.clone()));
        }
        if let Some(Column { encoding, number }) = self.column(field) {
            match encoding {
                Encoding::Number => {
                    return self.tally(db, filter, number, |number| Ok(number.to_string()));
                }
                Encoding::Boolean => {
                    return self.tally(db, filter, number, |is| Ok((is == 1).to_string()));
                }
                Encoding::Listed if self.hides_rows() || !filter.sql.is_empty() => {
                    let mut text = db.prepare_cached("SELECT json FROM value_text WHERE id = ?")?;
                    return self
                        .tally(db, filter, number, |id| text.query_row([id], |row| row.get::<_, String>(0)));
                }
                Encoding::Listed => return self.listed(db, number),
                _ => {}
            }
        }
        self.values_of_data(db, filter, self.index(), field)
    }

    /// All shared texts of a column, and how many records have none.
    fn listed(&self, db: &Sqlite, number: u32) -> rusqlite::Result<Vec<(String, u64)>> {
        let mut all =
            db.prepare_cached("SELECT json, records FROM value_text WHERE slot = ? AND number = ?")?;
        let all = all.query_map((self.slot, number), |row| Ok((row.get::<_, String>(0)?, count(row, 1)?)))?;
        let mut all = all.collect::<rusqlite::Result<Vec<_>>>()?;
        let some: u64 = all.iter().map(|(_, count)| count).sum();
        let none = self.count(db, &Filter::default())?.saturating_sub(some);
        all.extend((none > 0).then(|| ("null".to_owned(), none)));
        Ok(all)
    }

    /// Counts the values of a column, as JSON text. `json` translates a number in the column.
    fn tally(
        &self,
        db: &Sqlite,
        filter: &Filter,
        number: u32,
        mut json: impl FnMut(i64) -> rusqlite::Result<String>,
    ) -> rusqlite::Result<Vec<(String, u64)>> {
        let (rows, params) = self.rows(filter, Wanted::Columns);
        let (mut numbers, mut others): (HashMap<i64, u64>, HashMap<String, u64>) = Default::default();
        let mut found = db.prepare_cached(&format!("SELECT v.c{number} {rows}"))?;
        let mut found = found.query(params_from_iter(params))?;
        while let Some(row) = found.next()? {
            *match row.get_ref(0)? {
                ValueRef::Integer(number) => numbers.entry(number).or_default(),
                ValueRef::Text(json) => others.entry(String::from_utf8_lossy(json).into_owned()).or_default(),
                _ => others.entry("null".to_owned()).or_default(),
            } += 1;
        }
        let numbers = numbers.into_iter().map(|(number, count)| Ok((json(number)?, count)));
        numbers.chain(others.into_iter().map(Ok)).collect()
    }

    /// The values of a field, read from the data.
    fn values_of_data(
        &self,
        db: &Sqlite,
        filter: &Filter,
        index: &str,
        field: &Field,
    ) -> rusqlite::Result<Vec<(String, u64)>> {
        let (condition, mut params) = self.condition();
        params.insert(0, path(&field.name).into());
        params.extend(filter.params.iter().cloned());
        let sql = format!(
            "SELECT coalesce(r.data -> ?, 'null') AS value, count(*) FROM record r {index} WHERE {condition}{} GROUP BY value",
            filter.sql
        );
        let mut statement = db.prepare_cached(&sql)?;
        statement.query_map(params_from_iter(params), |row| Ok((row.get(0)?, count(row, 1)?)))?.collect()
    }

    /// Where to find the milliseconds of a granted field of instants. A record without an instant has no integer
    /// there, or the least one.
    fn instant(&self, field: &Field) -> Option<(String, Wanted)> {
        let column = self.column(field)?;
        match column.encoding {
            Encoding::Sort if self.hides_rows() => Some(("r.sort".to_owned(), Wanted::Nothing)),
            Encoding::Consent if self.hides_rows() => Some(("r.consent_ms".to_owned(), Wanted::Nothing)),
            Encoding::Sort | Encoding::Consent | Encoding::Instant => {
                Some((format!("v.c{}", column.number), Wanted::Columns))
            }
            _ => None,
        }
    }

    /// Passes the instants of a granted field to `each`, in milliseconds, with how often each occurs. Close
    /// instants mostly come together.
    ///
    /// # Errors
    /// Returns the errors of SQLite, or an error if the field is not granted.
    pub fn instants(
        &self,
        db: &Sqlite,
        filter: &Filter,
        field: &Field,
        mut each: impl FnMut(i64, u64),
    ) -> rusqlite::Result<()> {
        let Some((instant, wanted)) = self.instant(field) else {
            for (json, count) in self.values(db, filter, field)? {
                let text: Option<String> = serde_json::from_str(&json).ok();
                text.and_then(|text| time::parse_ms(&text)).into_iter().for_each(|ms| each(ms, count));
            }
            return Ok(());
        };
        let (rows, params) = self.rows(filter, wanted);
        let mut found = db.prepare_cached(&format!("SELECT {instant} {rows}"))?;
        let mut found = found.query(params_from_iter(params))?;
        while let Some(row) = found.next()? {
            match row.get_ref(0)? {
                ValueRef::Integer(ms) if ms != i64::MIN => each(ms, 1),
                _ => {}
            }
        }
        Ok(())
    }

    /// A part of [`Access::values`] of a granted field that contains the least or the greatest value.
    ///
    /// # Errors
    /// Returns the errors of SQLite, or an error if the field is not granted.
    pub fn extremes(
        &self,
        db: &Sqlite,
        filter: &Filter,
        field: &Field,
        is_greatest: bool,
    ) -> rusqlite::Result<Vec<(String, u64)>> {
        let (Some(column), Some(_)) = (self.column(field), self.instant(field)) else {
            return self.values(db, filter, field);
        };
        let mut all: Option<(i64, i64)> = None;
        self.instants(db, filter, field, |ms, _| {
            all = Some(all.map_or((ms, ms), |(least, greatest)| (least.min(ms), greatest.max(ms))));
        })?;
        let extreme = all.map(|(least, greatest)| if is_greatest { greatest } else { least });
        let mut those = filter.clone();
        those.add_extreme(self.slot, column.number, extreme);
        match self.few(db, &those)? {
            Some(few) => self.values_of_data(db, &few, FOUND, field),
            None => self.values_of_data(db, &those, self.index(), field),
        }
    }
}
