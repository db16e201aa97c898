//! The true answers: computed from the seed's own events, not through the provider, and not through the tools.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use pdpp::sandbox::seed;
use pdpp::sandbox::seed::records::{Blob, Event, Records};
use pdpp::sandbox::seed::rng::Rng;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A record in its last state.
#[derive(Debug, Clone)]
struct Record {
    connection: &'static str,
    connector: &'static str,
    stream: &'static str,
    key: String,
    /// `None` if it was deleted.
    data: Option<Map<String, Value>>,
    /// Its last state as written, which keeps what a map loses.
    was: Map<String, Value>,
}

/// The true answers.
pub trait Truth: Sync {
    /// The answer to `question`, whose `$names` are already replaced.
    fn answer(&self, question: &Value) -> Value;
}

/// All data of one seed.
pub struct Oracle {
    records: Vec<Record>,
    blobs: HashMap<String, String>,
    /// The field that a stream is sorted by, by connector and stream.
    cursors: HashMap<(String, String), String>,
}

/// A question about the data.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    stream: String,
    #[serde(default)]
    connector: Option<String>,
    #[serde(default)]
    connection: Option<String>,
    /// `field: value`, or `field: {contains|gte|lt: value}`; `@key` is the record's id.
    #[serde(default, rename = "where")]
    conditions: Map<String, Value>,
    /// `asc` or `desc` by the stream's own order; without it, newest first.
    #[serde(default)]
    order: Option<String>,
    #[serde(default)]
    nth: Option<usize>,
    #[serde(default)]
    limit: Option<usize>,
    /// Deleted records instead of existing ones.
    #[serde(default)]
    deleted: bool,
    /// What to return of them: see [`Oracle::take`].
    take: String,
}

impl Oracle {
    pub fn new(seed: u64) -> Self {
        let mut records: Vec<Record> = Vec::new();
        let mut blobs = HashMap::new();
        for account in seed::ACCOUNTS {
            let mut places: HashMap<(&'static str, String), usize> = HashMap::new();
            let mut event = |event: Event| {
                let data: Option<Map<String, Value>> =
                    event.data.map(|json| serde_json::from_str(&json).unwrap());
                let place = places.entry((event.stream, event.key.clone())).or_insert_with(|| {
                    records.push(Record {
                        connection: account.connection_id,
                        connector: account.connector,
                        stream: event.stream,
                        key: event.key,
                        data: None,
                        was: Map::new(),
                    });
                    records.len() - 1
                });
                if let Some(data) = &data {
                    records[*place].was.clone_from(data);
                }
                records[*place].data = data;
            };
            let mut blob = |blob: Blob| {
                blobs.insert(blob.id, String::from_utf8(blob.bytes).unwrap());
            };
            let mut rng = Rng::new(seed, account.connection_id);
            (account.fill)(&mut rng, &mut Records::new(&mut event, &mut blob));
        }
        let mut cursors = HashMap::new();
        for connector in seed::connectors().unwrap() {
            for stream in &connector.streams {
                if let Some(field) = &stream.cursor_field {
                    cursors.insert((connector.key.clone(), stream.name.clone()), field.clone());
                }
            }
        }
        Self { records, blobs, cursors }
    }

    fn answer_to(&self, question: &Value) -> Value {
        let question: Question =
            serde_json::from_value(question.clone()).unwrap_or_else(|error| panic!("{error}: {question}"));
        let mut found = self.records.iter().filter(|record| question.is_about(record)).collect::<Vec<_>>();
        if let Some(first) = found.first() {
            let cursor = self.cursors.get(&(first.connector.to_owned(), first.stream.to_owned()));
            found.sort_by(|left, right| place(left, cursor).cmp(&place(right, cursor)));
        }
        if question.order.as_deref() != Some("asc") {
            found.reverse();
        }
        if let Some(nth) = question.nth {
            found = found.into_iter().skip(nth).take(1).collect();
        }
        assert!(question.nth.is_none() || !found.is_empty(), "no such record: {question:?}");
        self.take(&question, &found)
    }

    /// `rows`, `rows:a,b`, `count`, `id`, `connection`, `field:f`, `chars:f`, `sum:f`, `min:f`, `max:f`,
    /// `distinct:f`, `groups:f`, `other:f`, `periods:f:granularity:zone`, `around:f:needle:before:after`,
    /// `match:f:needle:nth`, `every:f:needle:after`, `blob:f`.
    fn take(&self, question: &Question, found: &[&Record]) -> Value {
        let (what, rest) = question.take.split_once(':').unwrap_or((&question.take, ""));
        let values = || found.iter().map(|record| record.was.get(rest).cloned().unwrap_or_default());
        match what {
            "rows" => {
                let fields = rest.split(',').filter(|field| !field.is_empty()).collect::<Vec<_>>();
                let shown = found.iter().take(question.limit.unwrap_or(usize::MAX));
                shown.map(|record| row(record, &fields)).collect()
            }
            "count" => json!(found.len()),
            "id" => found[0].key.clone().into(),
            "connection" => found[0].connection.into(),
            "field" => values().next().unwrap_or_default(),
            "chars" => json!(found[0].was[rest].as_str().unwrap().chars().count()),
            "sum" => sum(values().filter(Value::is_number)),
            "min" => values().filter(|value| !value.is_null()).min_by(compare).unwrap_or_default(),
            "max" => values().filter(|value| !value.is_null()).max_by(compare).unwrap_or_default(),
            "distinct" => {
                let distinct = values().filter(|value| !value.is_null()).map(|value| value.to_string());
                json!(distinct.collect::<std::collections::BTreeSet<_>>().len())
            }
            "groups" | "other" => {
                let mut groups: BTreeMap<String, u64> = BTreeMap::new();
                for value in values() {
                    *groups.entry(value.to_string()).or_default() += 1;
                }
                let mut groups = groups.into_iter().collect::<Vec<_>>();
                groups.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
                let limit = question.limit.unwrap_or(10).min(groups.len());
                if what == "other" {
                    return json!(groups[limit..].iter().map(|(_, count)| count).sum::<u64>());
                }
                let key = |text: &str| serde_json::from_str::<Value>(text).unwrap();
                groups[..limit].iter().map(|(text, count)| json!([key(text), count])).collect()
            }
            "periods" => {
                let mut parts = rest.splitn(3, ':');
                let [field, granularity, zone] = [(); 3].map(|()| parts.next().unwrap());
                let mut periods: BTreeMap<String, u64> = BTreeMap::new();
                for record in found {
                    let at: jiff::Timestamp = record.was[field].as_str().unwrap().parse().unwrap();
                    let date = at.in_tz(zone).unwrap().date();
                    let period = match granularity {
                        "day" => date.to_string(),
                        "month" => date.first_of_month().to_string(),
                        _ => date.first_of_year().to_string(),
                    };
                    *periods.entry(period).or_default() += 1;
                }
                let limit = question.limit.unwrap_or(10);
                periods.into_iter().take(limit).map(|(period, count)| json!([period, count])).collect()
            }
            "around" => {
                let parts = rest.split(':').collect::<Vec<_>>();
                let text = found[0].was[parts[0]].as_str().unwrap();
                let at = text[..text.find(parts[1]).unwrap()].chars().count();
                let begin = at.saturating_sub(parts[2].parse().unwrap());
                let end = at + parts[1].chars().count() + parts[3].parse::<usize>().unwrap();
                text.chars().skip(begin).take(end - begin).collect::<String>().into()
            }
            "match" => {
                let parts = rest.split(':').collect::<Vec<_>>();
                let text = found[0].was[parts[0]].as_str().unwrap();
                let (at, _) = text.match_indices(parts[1]).nth(parts[2].parse().unwrap()).unwrap();
                json!(text[..at].chars().count())
            }
            "every" => {
                let parts = rest.split(':').collect::<Vec<_>>();
                let text = found[0].was[parts[0]].as_str().unwrap();
                let chars = parts[1].chars().count() + parts[2].parse::<usize>().unwrap();
                let found = text.match_indices(parts[1]).map(|(at, _)| text[at..].chars().take(chars));
                json!(found.flatten().collect::<String>())
            }
            "blob" => {
                let id = found[0].was[rest]["blob_id"].as_str().unwrap();
                self.blobs[id].clone().into()
            }
            _ => panic!("nothing to take: {}", question.take),
        }
    }
}

impl Truth for Oracle {
    fn answer(&self, question: &Value) -> Value {
        self.answer_to(question)
    }
}

impl Question {
    fn is_about(&self, record: &Record) -> bool {
        record.stream == self.stream
            && record.data.is_none() == self.deleted
            && self.connector.as_ref().is_none_or(|key| key == record.connector)
            && self.connection.as_ref().is_none_or(|id| id == record.connection)
            && self.conditions.iter().all(|(field, wanted)| {
                let key = Value::from(record.key.as_str());
                let value =
                    if field == "@key" { &key } else { record.was.get(field).unwrap_or(&Value::Null) };
                holds(value, wanted)
            })
    }
}

/// Whether `value` is as wanted: equal, in a range, or with a part of a text.
pub fn holds(value: &Value, wanted: &Value) -> bool {
    let Value::Object(range) = wanted else { return value == wanted };
    range.iter().all(|(operator, bound)| match operator.as_str() {
        "contains" => value.as_str().is_some_and(|text| text.contains(bound.as_str().unwrap())),
        "gte" => !value.is_null() && compare(value, bound) != Ordering::Less,
        "gt" => !value.is_null() && compare(value, bound) == Ordering::Greater,
        "lt" => !value.is_null() && compare(value, bound) == Ordering::Less,
        _ => panic!("no operator: {operator}"),
    })
}

fn row(record: &Record, fields: &[&str]) -> Value {
    let mut row = json!([record.connection, record.stream, record.key]);
    for field in fields {
        row.as_array_mut().unwrap().push(record.was.get(*field).cloned().unwrap_or_default());
    }
    row
}

/// All timestamps are in UTC, to the second, so their texts sort like their times.
fn place<'a>(record: &'a Record, cursor: Option<&String>) -> (&'a str, &'a str) {
    let at = cursor.and_then(|field| record.was.get(field)?.as_str()).unwrap_or("");
    (at, &record.key)
}

fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => scaled(left.as_str()).cmp(&scaled(right.as_str())),
        (left, right) => left.as_str().cmp(&right.as_str()),
    }
}

/// A decimal in units of 10^-6: the data has no finer one.
fn scaled(text: &str) -> i128 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction:0<6}");
    digits.parse().unwrap()
}

/// An exact sum, written with as many places as the finest of its numbers.
fn sum(values: impl Iterator<Item = Value>) -> Value {
    let (mut total, mut places) = (0, 0);
    for value in values {
        let text = value.to_string();
        places = places.max(text.split_once('.').map_or(0, |(_, fraction)| fraction.len()));
        total += scaled(&text);
    }
    let sign = if total < 0 { "-" } else { "" };
    let digits = format!("{:07}", total.unsigned_abs());
    let (whole, fraction) = digits.split_at(digits.len() - 6);
    let fraction = &fraction[..places];
    let dot = if places > 0 { "." } else { "" };
    serde_json::from_str(&format!("{sign}{whole}{dot}{fraction}")).unwrap()
}
