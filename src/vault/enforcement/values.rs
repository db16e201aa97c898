//! What the values of a granted field are, for counts, groups and extremes: from the columns beside the records where there are any.

use std::collections::HashMap;

use rusqlite::types::ValueRef;
use rusqlite::{Connection as Sqlite, params_from_iter};

use super::{Access, FOUND, Filter, Wanted, count, path};
use crate::vault::declaration::Field;
use crate::vault::store::values::{Column, Encoding};
use crate::vault::time;

impl Access {
    /// The values of a granted field, as JSON text, each with how often it is there; `null` stands
    /// for an absent one.
    ///
    /// # Errors
    /// Whatever SQLite says; if the field is not granted.
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

    /// What is in a column, as JSON text: `json` says what a number there stands for.
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

    /// The values of a field as the data has them.
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

    /// Where the milliseconds of a granted field of instants are. Where there are none, there is no integer, or the least.
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

    /// Gives the instants of a granted field to `each`, in milliseconds, with how often each is there; those that are close
    /// mostly come together.
    ///
    /// # Errors
    /// Whatever SQLite says; if the field is not granted.
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

    /// Those [`Access::values`] of a granted field among which the least or the greatest is.
    ///
    /// # Errors
    /// Whatever SQLite says; if the field is not granted.
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
