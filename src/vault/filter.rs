//! Conditions on fields, as SQL: on the columns stored next to the records if a field has one, otherwise on the
//! data.

use std::fmt::Write as _;

use rusqlite::types::Value as Sql;

use super::declaration::{Field, Kind};
use super::store::values::{self, Column, Encoding};
use super::{folding, time};

/// A condition in addition to the grant's own, over granted fields. Only [`super::enforcement::Access::filter`]
/// makes one.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The whole condition, over `record r`.
    pub(super) sql: String,
    /// The parameters of `sql`.
    pub(super) params: Vec<Sql>,
    /// The conditions that are on columns, over the columns `v` themselves.
    pub(super) columns: Part,
    /// The other conditions, over `record r`.
    pub(super) rows: Part,
    /// Whether the time that records are sorted by is all that it limits.
    pub(super) is_by_time: bool,
    /// The column of shared texts and the text, if the filter asks for that text only.
    pub(super) listed: Option<(u32, String)>,
    conditions: usize,
}

/// Some conditions and their values.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// The conditions, each of which begins with ` AND `.
    pub(super) sql: String,
    /// Their values.
    pub(super) params: Vec<Sql>,
}

/// How a filter compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// `filter[f]=v`
    Equal,
    /// `filter[f][gte]=v`
    AtLeast,
    /// `filter[f][gt]=v`
    Above,
    /// `filter[f][lte]=v`
    AtMost,
    /// `filter[f][lt]=v`
    Below,
}

impl Compare {
    /// All comparisons, in the order in which a schema declares them.
    pub const ALL: [Self; 5] = [Self::Equal, Self::AtLeast, Self::Above, Self::AtMost, Self::Below];

    /// The operator's name in a range; equality has none.
    pub const fn operator(self) -> Option<&'static str> {
        match self {
            Self::Equal => None,
            Self::AtLeast => Some("gte"),
            Self::Above => Some("gt"),
            Self::AtMost => Some("lte"),
            Self::Below => Some("lt"),
        }
    }

    /// Whether `field` declares this comparison.
    pub const fn is_declared(self, field: &Field) -> bool {
        match self {
            Self::Equal => field.exact,
            Self::AtLeast | Self::Above | Self::AtMost | Self::Below => field.range,
        }
    }

    const fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::AtLeast => ">=",
            Self::Above => ">",
            Self::AtMost => "<=",
            Self::Below => "<",
        }
    }
}

impl Part {
    fn add(&mut self, sql: &str, params: &[Sql]) {
        self.sql.push_str(" AND ");
        self.sql.push_str(sql);
        self.params.extend_from_slice(params);
    }
}

impl Filter {
    /// Adds a condition on `field` of `slot`. The field is in `column` if it has one.
    pub(super) fn add(
        &mut self,
        slot: i64,
        column: Option<Column>,
        field: &Field,
        compare: Compare,
        value: &str,
    ) {
        let is_by_time = column.is_some_and(|column| column.encoding == Encoding::Sort);
        self.is_by_time = is_by_time && (self.is_by_time || self.conditions == 0);
        self.conditions += 1;
        self.listed = None;
        let sign = compare.sign();
        let instant = || time::parse_ms(value).map_or(Sql::Null, Sql::from);
        let number = || match (value.parse::<i64>(), value.parse::<f64>()) {
            (Ok(number), _) => number.into(),
            (_, Ok(number)) if number.is_finite() => number.into(),
            _ => Sql::Null,
        };
        let text = || Sql::from(folding::composed(value).into_owned());
        let is_equal = compare == Compare::Equal;
        match column.map(|column| (column.encoding, column.number)) {
            Some((encoding @ (Encoding::Sort | Encoding::Consent | Encoding::Instant), at)) => {
                // A value that is not an instant is stored as text there, and text sorts above all numbers.
                let left = format!("iif(typeof(v.c{at}) = 'integer', v.c{at}, NULL)");
                let (rest, params) = (format!("{sign} ?"), [instant()]);
                match encoding {
                    Encoding::Sort => {
                        self.columns.add(&format!("{left} {rest}"), &params);
                        self.on_record(&format!("r.sort {rest}"), &params);
                        if matches!(compare, Compare::Below | Compare::AtMost) {
                            // Records without a time have the least value.
                            self.on_record("r.sort > ?", &[i64::MIN.into()]);
                        }
                    }
                    Encoding::Consent => {
                        self.columns.add(&format!("{left} {rest}"), &params);
                        self.on_record(&format!("r.consent_ms {rest}"), &params);
                    }
                    _ => self.on_column(slot, &left, &rest, &params),
                }
            }
            Some((Encoding::Number, at)) => {
                let left = format!("iif(typeof(v.c{at}) = 'text', v.c{at} ->> '$', v.c{at})");
                self.on_column(slot, &left, &format!("{sign} ?"), &[number()]);
            }
            Some((Encoding::Boolean, at)) => {
                let left = format!("CASE v.c{at} WHEN 1 THEN 'true' WHEN 0 THEN 'false' ELSE v.c{at} END");
                self.on_column(slot, &left, &format!("{sign} ?"), &[value.to_owned().into()]);
            }
            // A list or an object is stored as text too, exactly as it is written.
            Some((Encoding::Listed, at)) if is_equal && !value.starts_with(['[', '{']) => {
                let json = values::json_text(value);
                let right = "= (SELECT id FROM value_text WHERE slot = ? AND number = ? AND json = ?)";
                let params = [slot.into(), at.into(), json.clone().into()];
                self.on_column(slot, &format!("v.c{at}"), right, &params);
                self.listed = Some((at, json)).filter(|_| self.conditions == 1);
            }
            Some((Encoding::Hashed, at)) if is_equal => {
                let hash = Sql::from(values::hash(value));
                self.columns.add(&format!("v.c{at} = ?"), std::slice::from_ref(&hash));
                // Other texts can have the same hash.
                let is_it = ("composed(r.data ->> ?) = ?", [path(&field.name).into(), text()]);
                self.rows.add(is_it.0, &is_it.1);
                // Not two conditions, because SQLite would then read the data first.
                let found = format!("(SELECT v.c{at} FROM value_{slot} v WHERE v.rid = r.rid) = ?");
                let _ = write!(self.sql, " AND CASE WHEN {found} THEN {} ELSE false END", is_it.0);
                self.params.extend(std::iter::once(hash).chain(is_it.1));
            }
            _ => {
                let (left, right) = match field.kind {
                    Kind::Timestamp | Kind::Date => ("instant_ms(r.data ->> ?)", instant()),
                    Kind::Boolean => ("r.data -> ?", value.to_owned().into()),
                    kind if kind.is_numeric() => ("r.data ->> ?", number()),
                    _ => ("composed(r.data ->> ?)", text()),
                };
                self.on_row(&format!("{left} {sign} ?"), &[path(&field.name).into(), right]);
            }
        }
    }

    /// Adds the condition that the column `at` has these milliseconds or a value that is not an instant, because
    /// such values count when looking for the least or greatest.
    pub(super) fn add_extreme(&mut self, slot: i64, at: u32, extreme: Option<i64>) {
        self.is_by_time = false;
        self.listed = None;
        let is_one = format!("(v.c{at} = ? OR typeof(v.c{at}) = 'text')");
        self.on_column(slot, &is_one, "= true", &[extreme.map_or(Sql::Null, Sql::from)]);
    }

    /// Only the rows with these numbers.
    pub(super) fn named(rows: &[i64]) -> Self {
        let mut filter = Self::default();
        filter.on_row("r.rid IN (SELECT value FROM json_each(?))", &[format!("{rows:?}").into()]);
        filter
    }

    fn on_row(&mut self, condition: &str, params: &[Sql]) {
        self.rows.add(condition, params);
        self.on_record(condition, params);
    }

    fn on_record(&mut self, condition: &str, params: &[Sql]) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.params.extend_from_slice(params);
    }

    fn on_column(&mut self, slot: i64, left: &str, rest: &str, params: &[Sql]) {
        self.columns.add(&format!("{left} {rest}"), params);
        // A scalar subquery. The planner would turn a join around and begin with the columns, which contain hidden
        // records too.
        let _ = write!(self.sql, " AND (SELECT {left} FROM value_{slot} v WHERE v.rid = r.rid) {rest}");
        self.params.extend_from_slice(params);
    }
}

/// The JSON path of a top-level field.
pub(super) fn path(field: &str) -> String {
    format!("$.{}", serde_json::Value::from(field))
}
