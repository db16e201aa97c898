//! How records are selected and ordered: a filter's conditions, and a sort.

use std::fmt;

use serde_json::{Map, Value};

/// A typed filter: a record must satisfy every condition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter(Vec<Condition>);

/// What one field must satisfy.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The field's name.
    pub field: String,
    /// The test for its value.
    pub test: Test,
}

/// A test of a field's value. The values are texts, numbers or booleans.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// The value equals this one.
    Equals(Value),
    /// The value satisfies each of these comparisons.
    Range(Vec<(Operator, Value)>),
}

impl Test {
    /// Its kind.
    pub const fn kind(&self) -> TestKind {
        match self {
            Self::Equals(_) => TestKind::Equals,
            Self::Range(_) => TestKind::Range,
        }
    }
}

/// A kind of test. A schema declares for each field which kinds it supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TestKind {
    /// By value.
    Equals,
    /// By bounds.
    Range,
}

impl TestKind {
    /// All kinds, in the order in which a schema declares them.
    pub const ALL: [Self; 2] = [Self::Equals, Self::Range];

    /// The flag that declares it in a compact schema. A range's flag is followed by `=` and its operators.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::Equals => "eq",
            Self::Range => "r",
        }
    }

    /// The key of the capability that declares it in a full schema.
    pub const fn capability(self) -> &'static str {
        match self {
            Self::Equals => "exact_filter",
            Self::Range => "range_filter",
        }
    }

    /// What a field is tested against, as named in errors.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Equals => "a value",
            Self::Range => "a range",
        }
    }
}

/// How a value is compared with a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// At least the bound.
    Gte,
    /// More than the bound.
    Gt,
    /// At most the bound.
    Lte,
    /// Less than the bound.
    Lt,
}

impl Operator {
    /// All operators, in the order in which a reader sees them.
    pub const ALL: [Self; 4] = [Self::Gte, Self::Gt, Self::Lte, Self::Lt];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gte => "gte",
            Self::Gt => "gt",
            Self::Lte => "lte",
            Self::Lt => "lt",
        }
    }

    /// The operator of that name on the wire.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| operator.name() == name)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Filter {
    /// Reads the JSON object of a checked `filter` argument: `{field: value}` or `{field: {operator: bound}}`. `None`
    /// if a condition is empty or its operator unknown: without that condition, the read would return more.
    pub fn from_json(fields: &Map<String, Value>) -> Option<Self> {
        let bound = |(name, bound): (&String, &Value)| Some((Operator::from_name(name)?, bound.clone()));
        let condition = |(field, value): (&String, &Value)| {
            let test = match value {
                Value::Object(range) if range.is_empty() => return None,
                Value::Object(range) => Test::Range(range.iter().map(bound).collect::<Option<_>>()?),
                value => Test::Equals(value.clone()),
            };
            Some(Condition { field: field.clone(), test })
        };
        fields.iter().map(condition).collect::<Option<_>>().map(Self)
    }

    /// The JSON object that [`Filter::from_json`] reads.
    pub fn to_json(&self) -> Map<String, Value> {
        let value = |test: &Test| match test {
            Test::Equals(value) => value.clone(),
            Test::Range(bounds) => {
                bounds.iter().map(|(operator, bound)| (operator.name().to_owned(), bound.clone())).collect()
            }
        };
        self.0.iter().map(|condition| (condition.field.clone(), value(&condition.test))).collect()
    }

    /// Its conditions; empty if there is no filter.
    pub fn conditions(&self) -> &[Condition] {
        &self.0
    }

    /// Whether every record satisfies it.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The filter as query parameters: `filter[f]=v`, `filter[f][gte]=v` (R3.60).
    pub fn to_query(&self) -> Vec<(String, String)> {
        let mut query = Vec::new();
        for Condition { field, test } in &self.0 {
            match test {
                Test::Equals(value) => query.push((format!("filter[{field}]"), plain(value))),
                Test::Range(bounds) => query.extend(
                    bounds
                        .iter()
                        .map(|(operator, bound)| (format!("filter[{field}][{operator}]"), plain(bound))),
                ),
            }
        }
        query
    }
}

/// A value as a query parameter: a text without its quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The field that records are sorted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sort {
    /// The field's name.
    pub field: String,
    /// Largest, or newest, first.
    pub is_descending: bool,
}

impl Sort {
    /// Reads `field` or `-field`.
    pub fn from_text(text: &str) -> Self {
        let field = text.strip_prefix('-');
        Self { field: field.unwrap_or(text).to_owned(), is_descending: field.is_some() }
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_descending { "-" } else { "" }, self.field)
    }
}

/// The direction of a stream's own order, if no [`Sort`] names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Oldest, or smallest, first.
    Ascending,
    /// Newest, or largest, first.
    Descending,
}

impl Direction {
    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ascending => "asc",
            Self::Descending => "desc",
        }
    }

    /// The direction of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Ascending, Self::Descending].into_iter().find(|direction| direction.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r3_60_a_filter_keeps_its_types_and_is_written_as_the_wire_has_it() {
        let given = r#"{"amount": {"gte": 10.50, "lt": 20}, "currency": "NOK", "is_paid": true}"#;
        let given: Map<String, Value> = serde_json::from_str(given).unwrap();
        let filter = Filter::from_json(&given).unwrap();
        assert_eq!(filter.to_json(), given);
        let query = filter.to_query();
        let query = query.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
        let written = [
            "filter[amount][gte]=10.50",
            "filter[amount][lt]=20",
            "filter[currency]=NOK",
            "filter[is_paid]=true",
        ];
        assert_eq!(query, written);
    }

    #[test]
    fn r3_60_no_condition_is_left_out_of_a_filter() {
        for given in [r#"{"a": {"in": [1, 2]}}"#, r#"{"a": {"gte": 1, "near": 2}}"#, r#"{"a": {}, "b": 1}"#] {
            assert_eq!(Filter::from_json(&serde_json::from_str(given).unwrap()), None, "{given}");
        }
    }

    #[test]
    fn a_sort_reads_back_as_it_was_written() {
        for text in ["date", "-date", "--date"] {
            assert_eq!(Sort::from_text(text).to_string(), text);
        }
        assert!(Sort::from_text("-date").is_descending);
    }
}
