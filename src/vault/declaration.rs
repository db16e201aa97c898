//! What a source declares: its streams, their fields, and what a client may ask of them. This is data, not code.
//!
//! A field is one line, in the vocabulary of the compact schema: name, type, then flags.
//! `received_at timestamp! role=event-time eq range sort time min max` declares a required timestamp that a client
//! can filter by, range over, sort by and group by time, and whose least and greatest value it can request.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A kind of source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connector {
    /// The short key: `mail`.
    pub key: String,
    /// The source's URI, its identity in a grant.
    pub id: String,
    /// The name that a person sees.
    pub name: String,
    /// Its streams.
    pub streams: Vec<Arc<Stream>>,
}

/// A named collection of records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// Its name, unique within the connector.
    pub name: String,
    /// The fields whose values make a record's key.
    pub primary_key: Vec<String>,
    /// The timestamp that records are sorted by.
    pub cursor_field: Option<String>,
    /// The timestamp that a grant's time constraint is about.
    pub consent_time_field: Option<String>,
    /// The fields, in the order they are shown.
    pub fields: Vec<Field>,
    /// Named sets of fields.
    #[serde(default)]
    pub views: Vec<View>,
    /// Records of other streams that belong to a record of this stream, or that it belongs to.
    #[serde(default)]
    pub relations: Vec<Relation>,
    /// Whether it offers more than the draft's profiles: sums and extremes by group, extremes that name their
    /// record, hits with titles, and the values of fields that have few.
    #[serde(default)]
    pub is_extended: bool,
}

/// A top-level field.
#[allow(clippy::struct_excessive_bools, reason = "declared one by one, each on its own")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Whether it may be null or absent.
    pub nullable: bool,
    /// Whether every record has it. Such a field is part of every grant (the consent floor).
    pub required: bool,
    /// Its role for a reader: `primary-title`, `event-time`, …
    pub role: Option<String>,
    /// Whether full-text search covers it.
    pub lexical: bool,
    /// Whether it can be filtered by value.
    pub exact: bool,
    /// Whether it can be filtered by range.
    pub range: bool,
    /// Whether records can be sorted by it.
    #[serde(default)]
    pub sort: bool,
    /// Whether it reveals later days than its record's own, because it is gathered from other records or reaches
    /// to them: for example, who took part in a chat up to its last message. A grant with a last day does not
    /// include it. It reveals nothing about earlier days: a grant covers a chat by the day on which it began.
    #[serde(default)]
    pub spans: bool,
    /// If it is a copy: the stream of the original, which has the same name. A copy is granted only with its
    /// original (O6.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
    /// The aggregations that a client may ask for.
    pub aggregations: Vec<Aggregation>,
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A short string.
    String,
    /// Prose.
    Text,
    /// A person's name.
    Person,
    /// RFC 3339.
    Timestamp,
    /// `YYYY-MM-DD`.
    Date,
    /// A whole number of any size.
    Integer,
    /// A decimal number.
    Number,
    /// True or false.
    Boolean,
    /// A list.
    Array,
    /// An object.
    Object,
    /// A reference to a blob: `{blob_id, mime_type, size_bytes, sha256, fetch_url}`.
    Blob,
}

impl Kind {
    /// The JSON Schema type.
    pub const fn json_type(self) -> &'static str {
        match self {
            Self::String | Self::Text | Self::Person | Self::Timestamp | Self::Date => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object | Self::Blob => "object",
        }
    }

    /// The PDPP type, if it adds to the JSON type.
    pub const fn pdpp_type(self) -> Option<&'static str> {
        match self {
            Self::Text => Some("text"),
            Self::Person => Some("person"),
            Self::Timestamp => Some("timestamp"),
            Self::Date => Some("date"),
            Self::Blob => Some("blob"),
            _ => None,
        }
    }

    /// JSON Schema's `format`.
    pub const fn format(self) -> Option<&'static str> {
        match self {
            Self::Timestamp => Some("date-time"),
            Self::Date => Some("date"),
            _ => None,
        }
    }

    /// Whether values compare as numbers.
    pub const fn is_numeric(self) -> bool {
        matches!(self, Self::Integer | Self::Number)
    }

    /// Whether a value is a single value, not a list or an object.
    pub const fn is_scalar(self) -> bool {
        !matches!(self, Self::Array | Self::Object | Self::Blob)
    }
}

/// A metric or grouping that a field declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// The number of different values.
    CountDistinct,
    /// One bucket per value.
    GroupBy,
    /// One bucket per period.
    GroupByTime,
    /// The greatest value.
    Max,
    /// The least value.
    Min,
    /// The sum.
    Sum,
}

impl Aggregation {
    /// All aggregations, in the order in which the schema lists them.
    pub const ALL: [Self; 6] =
        [Self::CountDistinct, Self::GroupBy, Self::GroupByTime, Self::Max, Self::Min, Self::Sum];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CountDistinct => "count_distinct",
            Self::GroupBy => "group_by",
            Self::GroupByTime => "group_by_time",
            Self::Max => "max",
            Self::Min => "min",
            Self::Sum => "sum",
        }
    }
}

/// A named set of fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Its name in a request.
    pub id: String,
    /// The name that a person sees.
    pub label: String,
    /// Its fields.
    pub fields: Vec<String>,
}

/// Records of another stream of the same connection that point at a record of this stream, or the one record there
/// that this record points at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// Its name in a request.
    pub name: String,
    /// The other stream.
    pub stream: String,
    /// The field in the other stream that holds this record's key. For a parent: the parent's key.
    pub foreign_key: String,
    /// Whether there can be many, or at most one.
    pub many: bool,
    /// The field of this record that holds the other record's key: the other record is its parent.
    #[serde(default)]
    pub local_key: Option<String>,
}

impl Relation {
    /// The name of a record's parent, if its stream has only one.
    pub const PARENT: &'static str = "parent";
    /// How many are returned if a request does not say.
    pub const DEFAULT_LIMIT: usize = 10;
    /// The maximum number that is returned.
    pub const MAX_LIMIT: usize = 50;
}

impl Stream {
    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The field with this role.
    pub fn with_role(&self, role: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.role.as_deref() == Some(role))
    }

    /// The fields that reveal later days than their record's own.
    pub fn spanning(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| field.spans)
    }

    /// Whether a field `name` exists that a grant can include. `has_end` says whether the grant has a last day.
    pub fn gives(&self, name: &str, has_end: bool) -> bool {
        self.field(name).is_some_and(|field| !(has_end && field.spans))
    }

    /// The fields that full-text search covers. They are the columns of its index, in this order.
    pub fn lexical_fields(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| field.lexical)
    }
}

impl Connector {
    /// The stream called `name`.
    pub fn stream(&self, name: &str) -> Option<&Arc<Stream>> {
        self.streams.iter().find(|stream| stream.name == name)
    }
}

/// A line of [`Stream::fields`] that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{line}` is not a field: {why}")]
pub struct BadField {
    line: String,
    why: &'static str,
}

impl std::str::FromStr for Field {
    type Err = BadField;

    fn from_str(line: &str) -> Result<Self, BadField> {
        let bad = |why| BadField { line: line.to_owned(), why };
        let mut words = line.split_whitespace();
        let name = words.next().ok_or_else(|| bad("no name"))?;
        let kind = words.next().ok_or_else(|| bad("no type"))?;
        let kind_name = kind.trim_end_matches(['!', '?']);
        let mut field = Self {
            name: name.to_owned(),
            kind: match kind_name {
                "string" => Kind::String,
                "text" => Kind::Text,
                "person" => Kind::Person,
                "timestamp" => Kind::Timestamp,
                "date" => Kind::Date,
                "integer" => Kind::Integer,
                "number" => Kind::Number,
                "boolean" => Kind::Boolean,
                "array" => Kind::Array,
                "object" => Kind::Object,
                "blob" => Kind::Blob,
                _ => return Err(bad("unknown type")),
            },
            nullable: kind.ends_with('?'),
            required: kind.ends_with('!'),
            role: None,
            lexical: false,
            exact: false,
            range: false,
            sort: false,
            spans: false,
            copy_of: None,
            aggregations: Vec::new(),
        };
        for word in words {
            match word {
                "lex" => field.lexical = true,
                "eq" => field.exact = true,
                "range" => field.range = true,
                "sort" => field.sort = true,
                "spans" => field.spans = true,
                "distinct" => field.aggregations.push(Aggregation::CountDistinct),
                "group" => field.aggregations.push(Aggregation::GroupBy),
                "time" => field.aggregations.push(Aggregation::GroupByTime),
                "max" => field.aggregations.push(Aggregation::Max),
                "min" => field.aggregations.push(Aggregation::Min),
                "sum" => field.aggregations.push(Aggregation::Sum),
                _ => match word.split_once('=') {
                    Some(("role", role)) => field.role = Some(role.to_owned()),
                    Some(("copy", stream)) => field.copy_of = Some(stream.to_owned()),
                    _ => return Err(bad("unknown flag")),
                },
            }
        }
        // It would be part of every grant, including one with a last day.
        if field.required && field.spans {
            return Err(bad("a field that reveals later days cannot be required"));
        }
        // It would be part of every grant, including one without the original.
        if field.required && field.copy_of.is_some() {
            return Err(bad("a copy cannot be required"));
        }
        Ok(field)
    }
}

/// A stream of the built-in connectors, in source form.
#[derive(Debug, Clone, Copy)]
pub struct StreamSpec {
    /// See [`Stream::name`].
    pub name: &'static str,
    /// See [`Stream::primary_key`], separated by spaces.
    pub key: &'static str,
    /// See [`Stream::cursor_field`] and [`Stream::consent_time_field`]: both are this field.
    pub time: Option<&'static str>,
    /// One field per line.
    pub fields: &'static str,
    /// See [`Stream::views`]: id, label, fields separated by spaces.
    pub views: &'static [(&'static str, &'static str, &'static str)],
    /// See [`Stream::relations`]: name, stream, foreign key, whether there can be many.
    pub relations: &'static [(&'static str, &'static str, &'static str, bool)],
}

impl StreamSpec {
    /// Parses the declaration.
    ///
    /// # Errors
    /// Returns the first field line that cannot be parsed.
    pub fn parse(&self) -> Result<Stream, BadField> {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines = self.fields.lines().map(str::trim).filter(|line| !line.is_empty());
        Ok(Stream {
            name: self.name.to_owned(),
            primary_key: words(self.key),
            cursor_field: self.time.map(str::to_owned),
            consent_time_field: self.time.map(str::to_owned),
            fields: lines.map(str::parse).collect::<Result<_, _>>()?,
            views: self
                .views
                .iter()
                .map(|(id, label, fields)| View {
                    id: (*id).to_owned(),
                    label: (*label).to_owned(),
                    fields: words(fields),
                })
                .collect(),
            relations: self
                .relations
                .iter()
                .map(|(name, stream, foreign_key, many)| Relation {
                    name: (*name).to_owned(),
                    stream: (*stream).to_owned(),
                    foreign_key: (*foreign_key).to_owned(),
                    many: *many,
                    local_key: None,
                })
                .collect(),
            is_extended: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_line_reads() {
        let field: Field = "received_at timestamp! role=event-time eq range time max".parse().unwrap();
        assert_eq!(field.kind, Kind::Timestamp);
        assert!(field.required && !field.nullable && field.exact && field.range && !field.lexical);
        assert_eq!(field.role.as_deref(), Some("event-time"));
        assert_eq!(field.aggregations, [Aggregation::GroupByTime, Aggregation::Max]);
        assert!("x".parse::<Field>().is_err());
        assert!("x words".parse::<Field>().is_err());
        assert!("x string nonsense".parse::<Field>().is_err());
        assert!(!field.spans && "x array? spans".parse::<Field>().unwrap().spans);
        assert!("x array! spans".parse::<Field>().is_err(), "a required field is in every grant");
        assert_eq!("x text copy=y".parse::<Field>().unwrap().copy_of.as_deref(), Some("y"));
        assert!("x text! copy=y".parse::<Field>().is_err(), "a required field is in every grant");
    }
}
