//! The requests to a backend. A tool makes one of these from its arguments; no code parses a path.

use super::filter::{Direction, Filter, Sort};
use crate::mcp::id::RecordId;
use crate::provider::rs::Read;

/// One read.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// What the grant holds.
    Schema(Schema),
    /// The names of the granted streams: all that a provider of the draft's Core lists.
    Streams {
        /// Where the list continues.
        cursor: Option<String>,
    },
    /// One stream's own metadata, from a provider of the draft's Core.
    Stream {
        /// The stream.
        stream: String,
        /// The connection.
        connection: Option<String>,
    },
    /// A page of a list.
    List(List, Page),
    /// One record.
    Record(Record),
    /// A window of one text field of a record.
    FieldWindow(FieldWindow),
    /// A number, or groups of them.
    Aggregate(Aggregate),
}

/// A schema, of the whole grant or of a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// The level of detail.
    pub view: SchemaView,
    /// Only this stream.
    pub stream: Option<String>,
    /// Only this connection.
    pub connection: Option<String>,
}

/// The level of detail of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaView {
    /// Flags for each field (R3.1).
    Compact,
    /// The provider's default.
    Plain,
    /// Everything about one stream.
    Full,
}

/// A list that has pages.
#[derive(Debug, Clone, PartialEq)]
pub enum List {
    /// The records of a stream.
    Records(Records),
    /// The hits of a search.
    Search(Search),
}

/// Which page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The maximum number of rows.
    pub limit: Option<u64>,
    /// The provider's own cursor.
    pub cursor: Option<String>,
    /// Only this connection.
    pub connection: Option<String>,
}

/// The records of a stream.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Records {
    /// The stream.
    pub stream: String,
    /// The direction of the stream's own order.
    pub order: Option<Direction>,
    /// The field to sort by.
    pub sort: Option<Sort>,
    /// Whether to count them too: `exact`, `estimated`, `none`.
    pub count: Option<String>,
    /// Which records.
    pub filter: Filter,
    /// Only these fields; empty for all.
    pub fields: Vec<String>,
    /// A named set of fields.
    pub view: Option<String>,
    /// The relations to expand.
    pub expand: Vec<Expansion>,
    /// Only what changed since this bookmark.
    pub changes_since: Option<String>,
}

/// A relation to expand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expansion {
    /// Its name.
    pub relation: String,
    /// The maximum number of related records.
    pub limit: Option<u64>,
}

/// A search.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// By words, by meaning, or both.
    pub mode: Option<SearchMode>,
    /// The text to look for.
    pub q: String,
    /// The streams to search; empty for all.
    pub streams: Vec<String>,
    /// Which of their records.
    pub filter: Filter,
}

/// How a search finds records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchMode {
    /// By their words.
    Lexical,
    /// By their meaning.
    Semantic,
    /// By both.
    Hybrid,
}

impl SearchMode {
    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Semantic => "semantic",
            Self::Hybrid => "hybrid",
        }
    }

    /// The mode of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Lexical, Self::Semantic, Self::Hybrid].into_iter().find(|mode| mode.name() == name)
    }
}

/// One record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Which one.
    pub id: RecordId,
    /// Only these fields; empty for all.
    pub fields: Vec<String>,
    /// The relations to expand.
    pub expand: Vec<Expansion>,
}

/// A window of a text field. Numbers are characters (Unicode scalar values).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldWindow {
    /// The record with the field.
    pub id: RecordId,
    /// The field's path.
    pub field: String,
    /// Where the window begins.
    pub offset: Option<u64>,
    /// The maximum length of the window.
    pub limit: Option<u64>,
    /// The text to center the window on.
    pub q: Option<String>,
    /// How much to show before that text.
    pub before: Option<u64>,
    /// How much to show after it.
    pub after: Option<u64>,
    /// A place in the JSON text of a value that is not a text: only for a backend that
    /// [cuts JSON](super::backend::Backend::cuts_json).
    pub cursor: Option<String>,
}

/// A number, or groups of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Aggregate {
    /// The stream.
    pub stream: String,
    /// The metric: `count`, `sum` …
    pub metric: String,
    /// The field that it is computed from.
    pub field: Option<String>,
    /// Makes one group per value of this field.
    pub group_by: Option<String>,
    /// Makes one group per period of this field.
    pub group_by_time: Option<String>,
    /// The length of a period.
    pub granularity: Option<String>,
    /// The time zone in which periods begin.
    pub time_zone: Option<String>,
    /// The maximum number of groups.
    pub limit: Option<u64>,
    /// Which records.
    pub filter: Filter,
    /// Only this connection.
    pub connection: Option<String>,
}

impl Request {
    /// The compact schema of the grant, or of a part of it.
    pub fn compact_schema(stream: Option<&str>, connection: Option<&str>) -> Self {
        Self::schema(SchemaView::Compact, stream, connection)
    }

    /// A schema of the grant, or of a part of it.
    pub fn schema(view: SchemaView, stream: Option<&str>, connection: Option<&str>) -> Self {
        let [stream, connection] = [stream, connection].map(|part| part.map(str::to_owned));
        Self::Schema(Schema { view, stream, connection })
    }

    /// The streams that the request names; empty for all of them.
    pub fn streams(&self) -> Vec<&str> {
        match self {
            Self::Schema(schema) => schema.stream.as_deref().into_iter().collect(),
            Self::Streams { .. } => Vec::new(),
            Self::Stream { stream, .. } => vec![stream],
            Self::List(List::Records(records), _) => vec![&records.stream],
            Self::List(List::Search(search), _) => search.streams.iter().map(String::as_str).collect(),
            Self::Record(record) => vec![&record.id.stream],
            Self::FieldWindow(window) => vec![&window.id.stream],
            Self::Aggregate(aggregate) => vec![&aggregate.stream],
        }
    }

    /// The stream that it reads, if it reads one stream of a grant without naming a connection.
    pub fn stream_of_any_connection(&self) -> Option<&str> {
        match self {
            Self::List(List::Records(records), page) => page.connection.is_none().then_some(&records.stream),
            Self::Record(record) => record.id.connection.is_none().then_some(&record.id.stream),
            Self::FieldWindow(window) => window.id.connection.is_none().then_some(&window.id.stream),
            Self::Aggregate(aggregate) => aggregate.connection.is_none().then_some(&aggregate.stream),
            Self::Schema(_) | Self::Streams { .. } | Self::Stream { .. } | Self::List(List::Search(_), _) => {
                None
            }
        }
        .map(String::as_str)
    }

    /// The same request with that connection.
    #[must_use]
    pub fn of_connection(&self, id: &str) -> Self {
        let mut request = self.clone();
        let connection = match &mut request {
            Self::Schema(schema) => &mut schema.connection,
            Self::Stream { connection, .. } => connection,
            Self::List(_, page) => &mut page.connection,
            Self::Record(record) => &mut record.id.connection,
            Self::FieldWindow(window) => &mut window.id.connection,
            Self::Aggregate(aggregate) => &mut aggregate.connection,
            Self::Streams { .. } => return request,
        };
        *connection = Some(id.to_owned());
        request
    }

    /// Its name in this program's log: the route, without any argument.
    pub const fn route(&self) -> &'static str {
        match self {
            Self::Schema(_) => "schema",
            Self::List(List::Search(_), _) => "search",
            Self::Streams { .. }
            | Self::Stream { .. }
            | Self::List(List::Records(_), _)
            | Self::Record(_)
            | Self::FieldWindow(_)
            | Self::Aggregate(_) => "streams",
        }
    }

    /// The form in which a resource server accepts it.
    pub fn to_wire(&self) -> Read {
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        match self {
            Self::Schema(schema) => {
                let read = Read::of(["schema"]);
                let read = match schema.view {
                    SchemaView::Compact => read.with("view", "compact"),
                    SchemaView::Plain => read,
                    SchemaView::Full => read.with("detail", "full"),
                };
                read.with_some("stream", schema.stream.as_deref())
                    .with_some("connection_id", schema.connection.as_deref())
            }
            Self::Streams { cursor } => Read::of(["streams"]).with_some("cursor", cursor.as_deref()),
            Self::Stream { stream, connection } => {
                Read::of(["streams", stream]).with_some("connection_id", connection.as_deref())
            }
            Self::List(list, page) => list
                .to_wire()
                .with_some("limit", number(page.limit))
                .with_some("cursor", page.cursor.as_deref())
                .with_some("connection_id", page.connection.as_deref()),
            Self::Record(record) => {
                let read = Read::of(["streams", &record.id.stream, "records", &record.id.record]);
                let read = with_list(read, "fields", record.fields.iter().map(String::as_str));
                with_expansions(read, &record.expand)
                    .with_some("connection_id", record.id.connection.as_deref())
            }
            Self::FieldWindow(window) => {
                let id = &window.id;
                Read::of(["streams", &id.stream, "records", &id.record, "field-window"])
                    .with("field", window.field.as_str())
                    .with_some("offset_chars", number(window.offset))
                    .with_some("limit_chars", number(window.limit))
                    .with_some("q", window.q.as_deref())
                    .with_some("before_chars", number(window.before))
                    .with_some("after_chars", number(window.after))
                    .with_some("connection_id", id.connection.as_deref())
            }
            Self::Aggregate(aggregate) => {
                let mut read = Read::of(["streams", &aggregate.stream, "aggregate"])
                    .with("metric", aggregate.metric.as_str())
                    .with_some("field", aggregate.field.as_deref())
                    .with_some("group_by", aggregate.group_by.as_deref())
                    .with_some("group_by_time", aggregate.group_by_time.as_deref())
                    .with_some("granularity", aggregate.granularity.as_deref())
                    .with_some("time_zone", aggregate.time_zone.as_deref())
                    .with_some("limit", number(aggregate.limit));
                read.query.extend(aggregate.filter.to_query());
                read.with_some("connection_id", aggregate.connection.as_deref())
            }
        }
    }
}

impl List {
    /// The form in which a resource server accepts it, without the page.
    pub fn to_wire(&self) -> Read {
        match self {
            Self::Records(records) => {
                let mut read = Read::of(["streams", &records.stream, "records"])
                    .with_some("order", records.order.map(Direction::name))
                    .with_some("sort", records.sort.as_ref().map(Sort::to_string))
                    .with_some("count", records.count.as_deref());
                read.query.extend(records.filter.to_query());
                let read = with_list(read, "fields", records.fields.iter().map(String::as_str));
                let read = read.with_some("view", records.view.as_deref());
                with_expansions(read, &records.expand)
                    .with_some("changes_since", records.changes_since.as_deref())
            }
            Self::Search(search) => {
                let mut read = match search.mode {
                    None | Some(SearchMode::Lexical) => Read::of(["search"]),
                    Some(mode) => Read::of(["search", mode.name()]),
                };
                read.push("q", search.q.as_str());
                for stream in &search.streams {
                    read.push("streams[]", stream.as_str());
                }
                read.query.extend(search.filter.to_query());
                read
            }
        }
    }

    /// Whether a provider pages this list at all: it ranks a hybrid search again for each page.
    pub fn has_cursors(&self) -> bool {
        !matches!(self, Self::Search(Search { mode: Some(SearchMode::Hybrid), .. }))
    }

    /// Whether it lists changes, which have their own order.
    pub const fn is_of_changes(&self) -> bool {
        matches!(self, Self::Records(Records { changes_since: Some(_), .. }))
    }
}

/// Adds a comma-separated list, unless it is empty.
fn with_list<'a>(read: Read, name: &str, texts: impl Iterator<Item = &'a str>) -> Read {
    let texts = texts.collect::<Vec<_>>();
    if texts.is_empty() { read } else { read.with(name, texts.join(",")) }
}

/// `expand` and `expand_limit[rel]=n` (R3.61).
fn with_expansions(read: Read, expansions: &[Expansion]) -> Read {
    let read = with_list(read, "expand", expansions.iter().map(|expansion| expansion.relation.as_str()));
    expansions.iter().fold(read, |read, Expansion { relation, limit }| {
        read.with_some(&format!("expand_limit[{relation}]"), limit.map(|limit| limit.to_string()))
    })
}
