//! The values of fields that have only a few, so that a client knows what a filter can ask for.

use std::collections::HashMap;

use rusqlite::{Connection as Sqlite, params_from_iter};

use super::{Access, Filter, Wanted, count};
use crate::vault::declaration::{Aggregation, Field, Kind};
use crate::vault::store::values::Encoding;

/// Values are listed only for a field with at most this many different values.
const FEW: usize = 32;
/// For a grant of part of the records, only this many are examined, newest first.
const MOST_ROWS: usize = 2_000;

/// The values of a field, with how often each occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FewValues {
    /// The counts, by the JSON text of the value.
    pub counts: HashMap<String, u64>,
    /// Whether there may be other values.
    pub are_some: bool,
}

impl FewValues {
    /// These values together with those of another account.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        for (json, count) in &other.counts {
            *self.counts.entry(json.clone()).or_default() += count;
        }
        self.are_some |= other.are_some;
        self
    }
}

impl Access {
    /// The granted fields of a kind that can have few values, with those values. Counts only covered records, and
    /// reports nothing about a field that has many values.
    ///
    /// # Errors
    /// Returns the errors of SQLite.
    pub fn few_values(&self, db: &Sqlite) -> rusqlite::Result<Vec<(&Field, FewValues)>> {
        let mut all = Vec::new();
        for field in self.fields() {
            let is_kind = field.kind == Kind::String && field.aggregations.contains(&Aggregation::GroupBy);
            if let Some(column) = self.column(field).filter(|_| is_kind && field.exact)
                && column.encoding == Encoding::Listed
            {
                let values = if self.hides_rows() {
                    self.few_of_part(db, column.number)?
                } else {
                    self.few_of_all(db, column.number)?
                };
                all.extend(values.map(|values| (field, values)));
            }
        }
        Ok(all)
    }

    fn few_of_all(&self, db: &Sqlite, number: u32) -> rusqlite::Result<Option<FewValues>> {
        let mut found =
            db.prepare_cached("SELECT json, records FROM value_text WHERE slot = ? AND number = ? LIMIT ?")?;
        let limit = i64::try_from(FEW + 1).unwrap_or(i64::MAX);
        let found = found.query_map((self.slot, number, limit), |row| Ok((row.get(0)?, count(row, 1)?)))?;
        let counts: HashMap<String, u64> = found.collect::<rusqlite::Result<_>>()?;
        Ok((counts.len() <= FEW).then_some(FewValues { counts, are_some: false }))
    }

    fn few_of_part(&self, db: &Sqlite, number: u32) -> rusqlite::Result<Option<FewValues>> {
        let (rows, mut params) = self.rows(&Filter::default(), Wanted::Columns);
        let newest = if self.resources.is_some() { "" } else { " ORDER BY r.consent_ms DESC, r.key DESC" };
        params.push(i64::try_from(MOST_ROWS + 1).unwrap_or(i64::MAX).into());
        let mut found = db.prepare_cached(&format!("SELECT v.c{number} {rows}{newest} LIMIT ?"))?;
        let mut found = found.query(params_from_iter(params))?;
        let (mut ids, mut looked_at): (HashMap<i64, u64>, usize) = Default::default();
        while let Some(row) = found.next()? {
            looked_at += 1;
            if let Some(id) = row.get::<_, Option<i64>>(0)? {
                *ids.entry(id).or_default() += 1;
            }
            if ids.len() > FEW {
                return Ok(None);
            }
        }
        let mut text = db.prepare_cached("SELECT json FROM value_text WHERE id = ?")?;
        let counts = ids.into_iter().map(|(id, count)| Ok((text.query_row([id], |row| row.get(0))?, count)));
        let counts = counts.collect::<rusqlite::Result<_>>()?;
        Ok(Some(FewValues { counts, are_some: looked_at > MOST_ROWS }))
    }
}
