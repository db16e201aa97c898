//! What the schema declares about a stream: identity fields, roles, connector, connections (R4.7). Read alongside the
//! first read of a stream and kept for a minute, so that a row costs no extra wait.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::mcp::reading::filter::TestKind;
use serde_json::{Map, Value};

/// How long a stream's facts are used.
const FRESH: Duration = Duration::from_mins(1);

/// How long the failure to read a stream's facts is remembered: it makes answers poorer, so not for long.
const UNREAD: Duration = Duration::from_secs(5);

/// The maximum number of streams to remember.
const MOST: usize = 512;

/// What is declared about one stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamFacts {
    /// The kind of source.
    pub connector_key: Option<String>,
    /// The fields that make a record's id.
    pub primary_key: Vec<String>,
    /// The field that the stream is ordered by.
    pub cursor_field: Option<String>,
    /// The fields that it can be sorted by, if the provider names them.
    pub sort_fields: Vec<String>,
    /// What the provider declares that it computes for each group, in addition to counts.
    pub grouped: Vec<String>,
    /// The field with the role `primary-title`.
    pub title_field: Option<String>,
    /// The field with the role `event-time`.
    pub time_field: Option<String>,
    /// The fields with any declared role, which tell rows apart: title first, then time, then the others.
    pub identity: Vec<String>,
    /// The connections that grant the stream: id and label.
    pub connections: Vec<(String, Option<String>)>,
    /// Whether any relation can be expanded.
    pub is_expandable: bool,
    /// Its granted fields.
    pub fields: BTreeMap<String, Declared>,
    /// Its named sets of fields.
    pub views: Vec<String>,
}

/// What is declared about one field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared {
    /// The type of its values, if it limits what a filter can contain.
    pub kind: Option<Kind>,
    /// The tests that a filter may apply to it.
    pub tests: BTreeSet<TestKind>,
    /// The uses that aggregate may make of it: `sum`, `group_by` …
    pub aggregates: Vec<String>,
    /// Whether it is a plain string that may hold times: the compact view does not pass on a `format`.
    pub may_be_time: bool,
}

/// A type whose values have a fixed form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A moment.
    Time,
    /// A day.
    Date,
    /// A number, whole or not.
    Number,
    /// True or false.
    Boolean,
}

impl Kind {
    /// The kind of a declared type; `null` next to it does not count as another type.
    fn of(declared: &str) -> Option<Self> {
        let mut kinds = declared.split('|').filter(|kind| *kind != "null");
        let kind = match kinds.next()? {
            "timestamp" | "datetime" | "date-time" => Self::Time,
            "date" => Self::Date,
            "integer" | "number" | "decimal" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        };
        kinds.next().is_none().then_some(kind)
    }

    /// The kind that a property's JSON Schema declares with `format`.
    fn of_format(property: Option<&Value>) -> Option<Self> {
        Self::of(property?.get("format")?.as_str()?).filter(|kind| matches!(kind, Self::Time | Self::Date))
    }

    /// Its name in an error.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "timestamp",
            Self::Date => "date",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

impl Declared {
    /// Whether a filter may apply this test.
    pub fn takes(&self, kind: TestKind) -> bool {
        self.tests.contains(&kind)
    }

    /// Reads the flags of the compact view, or their full form.
    fn of(capability: &Value) -> Self {
        match capability {
            Value::String(flags) => {
                let mut declared = Self::default();
                for flag in flags.split(',') {
                    let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
                    match name {
                        "t" => declared.kind = Kind::of(value),
                        "a" => declared.aggregates = value.split('|').map(str::to_owned).collect(),
                        _ => {
                            declared.tests.extend(TestKind::ALL.into_iter().find(|kind| kind.flag() == name));
                        }
                    }
                }
                let is_text = flags.split(',').any(|flag| matches!(flag, "t=string" | "t=string|null"));
                let is_grouped = declared.aggregates.iter().any(|usage| usage == "group_by_time");
                declared.may_be_time = is_text && (declared.takes(TestKind::Range) || is_grouped);
                declared
            }
            Value::Object(full) => {
                let usable = |key: &str| {
                    full.get(key).and_then(|able| able.get("usable")).and_then(Value::as_bool) == Some(true)
                };
                let kind = full.get("type").and_then(Value::as_str).and_then(Kind::of);
                Self {
                    kind: kind.or_else(|| Kind::of_format(full.get("schema"))),
                    tests: TestKind::ALL.into_iter().filter(|kind| usable(kind.capability())).collect(),
                    aggregates: Vec::new(),
                    may_be_time: false,
                }
            }
            _ => Self::default(),
        }
    }
}

impl StreamFacts {
    /// Reads every row of `stream` in a schema body, compact or full; there is one row per connector.
    pub fn all_from_schema(body: &Map<String, Value>, stream: &str) -> Vec<Self> {
        Self::of_all_streams(body)
            .into_iter()
            .filter(|(name, _)| name == stream)
            .map(|(_, facts)| facts)
            .collect()
    }

    /// Reads every row of every stream, with the stream's name.
    pub fn of_all_streams(body: &Map<String, Value>) -> Vec<(String, Self)> {
        let connectors = body.get("connectors").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut facts = Vec::new();
        for connector in connectors.iter().filter_map(Value::as_object) {
            let streams = connector.get("streams").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let rows = streams.iter().filter_map(Value::as_object);
            facts.extend(rows.filter_map(|row| {
                Some((row.get("name")?.as_str()?.to_owned(), Self::of_row(connector, row)))
            }));
        }
        facts
    }

    fn of_row(connector: &Map<String, Value>, row: &Map<String, Value>) -> Self {
        let mut roles = Vec::new();
        let mut declared = BTreeMap::new();
        if let Some(Value::Object(fields)) = row.get("field_capabilities") {
            for (name, capability) in fields {
                let mut field = Declared::of(capability);
                if field.kind.is_none() && capability.is_object() {
                    field.kind = Kind::of_format(
                        row.get("schema").and_then(|schema| schema.get("properties")?.get(name)),
                    );
                }
                declared.insert(name.clone(), field);
                if let Some(role) = role_of(capability) {
                    roles.push((role_rank(&role), name.clone(), role));
                }
            }
        }
        roles.sort();
        let with_role =
            |wanted: &str| roles.iter().find(|(_, _, role)| role == wanted).map(|(_, name, _)| name.clone());
        let views = row.get("views").and_then(Value::as_array).into_iter().flatten();
        let said = |name: &str| texts(row.get(name).or_else(|| row.get("query")?.get(name)));
        Self {
            sort_fields: said("sort_fields"),
            grouped: said("grouped_metrics"),
            connector_key: connector_key(connector),
            primary_key: texts(row.get("primary_key")),
            cursor_field: row.get("cursor_field").and_then(Value::as_str).map(str::to_owned),
            title_field: with_role("primary-title"),
            time_field: with_role("event-time"),
            identity: roles.iter().map(|(_, name, _)| name.clone()).collect(),
            connections: connections_of_stream(connector, row),
            is_expandable: row.get("expand_capabilities").and_then(Value::as_array).is_some_and(
                |relations| {
                    relations
                        .iter()
                        .any(|relation| relation.get("usable").and_then(Value::as_bool) != Some(false))
                },
            ),
            fields: declared,
            views: views.filter_map(|view| view.get("id")?.as_str().map(str::to_owned)).collect(),
        }
    }
}

/// The short connector key of a connector row; never a URL (R2.6).
pub fn connector_key(connector: &Map<String, Value>) -> Option<String> {
    ["connector_key", "connector_id"]
        .iter()
        .filter_map(|key| connector.get(*key).and_then(Value::as_str))
        .find(|key| !key.contains("://"))
        .map(str::to_owned)
}

/// Connection ids and labels of a stream's row in a schema: its own, or its connector's if it lists none.
pub fn connections_of_stream(
    connector: &Map<String, Value>,
    row: &Map<String, Value>,
) -> Vec<(String, Option<String>)> {
    let own = row.get("granted_connections").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    connections(if own { row } else { connector }.get("granted_connections"))
}

/// Connection ids and labels of a `granted_connections` list.
pub fn connections(list: Option<&Value>) -> Vec<(String, Option<String>)> {
    let list = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter()
        .filter_map(|connection| {
            let id = connection.get("connection_id")?.as_str()?.to_owned();
            Some((id, connection.get("display_name").and_then(Value::as_str).map(str::to_owned)))
        })
        .collect()
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn role_of(capability: &Value) -> Option<String> {
    match capability {
        Value::String(flags) => {
            flags.split(',').find_map(|flag| flag.strip_prefix("role=")).map(str::to_owned)
        }
        Value::Object(capability) => capability.get("role").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    }
}

fn role_rank(role: &str) -> u8 {
    match role {
        "primary-title" => 0,
        "event-time" => 1,
        "actor" => 2,
        _ => 3,
    }
}

/// Stream and connection, as requested.
type Key = (String, Option<String>);

/// The time until which the facts are used, and the facts.
type Known = (Instant, Arc<Vec<StreamFacts>>);

/// The remembered facts.
#[derive(Debug, Default)]
pub struct Catalog {
    known: Mutex<HashMap<Key, Known>>,
    /// The streams whose facts are being requested now.
    asked: Mutex<HashMap<Key, Weak<Turn>>>,
}

/// Held by the task that asks for the facts of a stream.
pub type Turn = tokio::sync::Mutex<()>;

impl Catalog {
    /// The facts of a stream, if they are fresh.
    pub fn get(&self, stream: &str, connection: Option<&str>) -> Option<Arc<Vec<StreamFacts>>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (stream.to_owned(), connection.map(str::to_owned));
        known.get(&key).filter(|(until, _)| Instant::now() < *until).map(|(_, facts)| Arc::clone(facts))
    }

    /// The turn to ask for the facts of a stream: other tasks that need them wait for the one answer.
    pub fn turn(&self, stream: &str, connection: Option<&str>) -> Arc<Turn> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (stream.to_owned(), connection.map(str::to_owned));
        if let Some(turn) = asked.get(&key).and_then(Weak::upgrade) {
            return turn;
        }
        asked.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::<Turn>::default();
        asked.insert(key, Arc::downgrade(&turn));
        turn
    }

    /// Remembers what a schema of all streams declares, for `connection` or for all connections; remembers nothing
    /// about a stream that the schema only names.
    pub fn put_all(&self, connection: Option<&str>, body: &Map<String, Value>) {
        let mut streams: BTreeMap<String, Vec<StreamFacts>> = BTreeMap::new();
        for (stream, facts) in StreamFacts::of_all_streams(body) {
            streams.entry(stream).or_default().push(facts);
        }
        streams.retain(|_, facts| facts.iter().all(|facts| !facts.fields.is_empty()));
        for (stream, facts) in streams.into_iter().take(MOST / 2) {
            self.put(&stream, connection, facts);
        }
    }

    /// Remembers that the schema of a stream could not be read.
    pub fn put_unread(&self, stream: &str, connection: Option<&str>) -> Arc<Vec<StreamFacts>> {
        self.put_for(UNREAD, stream, connection, Vec::new())
    }

    /// Remembers the facts of a stream.
    pub fn put(
        &self,
        stream: &str,
        connection: Option<&str>,
        facts: Vec<StreamFacts>,
    ) -> Arc<Vec<StreamFacts>> {
        self.put_for(FRESH, stream, connection, facts)
    }

    fn put_for(
        &self,
        time: Duration,
        stream: &str,
        connection: Option<&str>,
        facts: Vec<StreamFacts>,
    ) -> Arc<Vec<StreamFacts>> {
        let facts = Arc::new(facts);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(
            (stream.to_owned(), connection.map(str::to_owned)),
            (Instant::now() + time, Arc::clone(&facts)),
        );
        facts
    }

    /// Forgets everything: the grant may have changed.
    pub fn clear(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The facts that apply to one record: those of the connector with its connection.
pub fn facts_for<'a>(facts: &'a [StreamFacts], connection: Option<&str>) -> Option<&'a StreamFacts> {
    match facts {
        [only] => Some(only),
        several => {
            let connection = connection?;
            several.iter().find(|facts| facts.connections.iter().any(|(id, _)| id == connection))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn r3_60_a_format_is_read_where_the_full_schema_says_it() {
        let full = json!({"connectors": [{"connector_key": "mail", "streams": [{"name": "messages",
            "schema": {"properties": {"day": {"type": "string", "format": "date"}}},
            "field_capabilities": {"at": {"schema": {"type": "string", "format": "date-time"}}, "day": {}, "link": {"schema": {"format": "uri"}}}}]}]});
        let facts = StreamFacts::all_from_schema(full.as_object().unwrap(), "messages");
        let kind = |name: &str| facts[0].fields[name].kind;
        assert_eq!((kind("at"), kind("day"), kind("link")), (Some(Kind::Time), Some(Kind::Date), None));
        let may = |flags: &str| Declared::of(&json!(flags)).may_be_time;
        assert!(may("t=string,eq,r=gte|lt") && may("t=string|null,a=group_by_time"));
        assert!(!may("t=string,eq") && !may("t=timestamp,r=gte") && !may("t=text,r=gte") && !may("declared"));
    }

    #[test]
    fn r4_7_roles_come_from_the_manifest_compact_or_full() {
        let compact = json!({"connectors": [{"connector_key": "https://x.example/mail", "connector_id": "mail",
        "granted_connections": [{"connection_id": "c1"}, {"connection_id": "c2", "display_name": "Two"}],
        "streams": [
            {"name": "messages", "primary_key": ["id"], "expand_capabilities": [{"name": "a", "usable": true}],
             "field_capabilities": {"subject": "t=text,role=primary-title,eq", "at": "role=event-time", "from": "t=person,role=actor", "x": "declared"}},
            {"name": "threads", "granted_connections": [{"connection_id": "c1"}], "field_capabilities": {}}
        ]}]});
        let facts = StreamFacts::all_from_schema(compact.as_object().unwrap(), "messages");
        assert_eq!(facts.len(), 1);
        assert_eq!(facts[0].identity, ["subject", "at", "from"]);
        assert_eq!(facts[0].connector_key.as_deref(), Some("mail"));
        assert_eq!(facts[0].connections, [("c1".into(), None), ("c2".into(), Some("Two".into()))]);
        assert!(facts[0].is_expandable);
        let threads = StreamFacts::all_from_schema(compact.as_object().unwrap(), "threads");
        assert_eq!(
            threads[0].connections,
            [("c1".into(), None)],
            "a stream's own list narrows that stream only"
        );

        let full = json!({"connectors": [{"connector_key": "mail", "streams": [
            {"name": "messages", "field_capabilities": {"subject": {"role": "primary-title", "type": "text"}}}]}]});
        let facts = StreamFacts::all_from_schema(full.as_object().unwrap(), "messages");
        assert_eq!(facts[0].title_field.as_deref(), Some("subject"));
        assert!(!facts[0].is_expandable);
    }
}
