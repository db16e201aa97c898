//! Grant enforcement as non-interference: what a grant's holder can see of a world is exactly what they could see if
//! the rest of the world did not exist.
//!
//! The test fills two stores: one with everything that happens, one with only what the grant covers of it. Every read
//! must give the same answer from both: rows, counts, orders, pages, hits and their scores, groups, blobs, errors,
//! and what changed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pdpp::sandbox::{Config, open};
use pdpp::vault::declaration::{Connector, StreamSpec};
use pdpp::vault::grant::{Grant, GrantStream, Source, TimeConstraint};
use pdpp::vault::pace::Clock;
use pdpp::vault::store::{Connection, Ingest};
use pdpp::vault::{Vault, time};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{get, grant};
use crate::support::cases::cases;

const ITEMS: StreamSpec = StreamSpec {
    name: "items",
    key: "id",
    time: Some("at"),
    fields: "id string! eq
        at timestamp? eq range time min max
        title text? role=primary-title eq lex group distinct
        secret text? eq lex group distinct
        amount number? eq range sum min max
        flag boolean? eq group
        file blob?",
    views: &[("short", "Short", "id title")],
    relations: &[("notes", "notes", "item_id", true)],
};
const NOTES: StreamSpec = StreamSpec {
    name: "notes",
    key: "id",
    time: None,
    fields: "id string! eq
        item_id string? eq group
        body text? lex",
    views: &[],
    relations: &[],
};

const CONNECTIONS: [&str; 2] = ["cin_one", "cin_two"];
const STREAMS: [&str; 2] = ["items", "notes"];
const KEYS: [&str; 5] = ["a", "b:1", "c/%2F", "d", "[\"e\",\"é\"]"];
const WORDS: [&str; 4] = ["alpha", "be\u{301}ta", "gamma délta", "日本 alpha"];
const DAYS: [&str; 4] =
    ["2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00+01:00", "2026-04-01T00:00:00.500Z"];
const AMOUNTS: [&str; 4] = ["1.10", "-3", "9007199254740993", "2.50"];

/// Something that happens to a record.
#[derive(Debug, Clone)]
struct Happening {
    connection: usize,
    stream: usize,
    key: usize,
    data: Option<Map<String, Value>>,
}

fn happening() -> impl Strategy<Value = Happening> {
    let maybe = |count: usize| proptest::option::weighted(0.8, 0..count);
    (
        (0..2_usize, 0..2_usize, 0..KEYS.len(), prop::bool::weighted(0.15)),
        (maybe(DAYS.len()), maybe(WORDS.len()), maybe(WORDS.len()), maybe(AMOUNTS.len())),
        (proptest::option::of(any::<bool>()), maybe(3), maybe(KEYS.len())),
    )
        .prop_map(
            |((connection, stream, key, gone), (at, title, secret, amount), (flag, file, item))| {
                let mut data = Map::new();
                data.insert("id".to_owned(), KEYS[key].into());
                let number = |text: &str| serde_json::from_str::<Value>(text).unwrap();
                if stream == 0 {
                    data.insert("at".to_owned(), at.map(|at| DAYS[at]).into());
                    data.insert("title".to_owned(), title.map(|at| WORDS[at]).into());
                    data.insert("secret".to_owned(), secret.map(|at| WORDS[at]).into());
                    data.insert("amount".to_owned(), amount.map_or(Value::Null, |at| number(AMOUNTS[at])));
                    data.insert("flag".to_owned(), flag.into());
                    let file = file.map(|at| json!({ "blob_id": format!("blob_{at}") }));
                    data.insert("file".to_owned(), file.unwrap_or(Value::Null));
                } else {
                    data.insert("item_id".to_owned(), item.map(|at| KEYS[at]).into());
                    data.insert("body".to_owned(), secret.map(|at| WORDS[at]).into());
                }
                Happening { connection, stream, key, data: (!gone).then_some(data) }
            },
        )
}

/// What a grant defines for one stream of one connection.
#[derive(Debug, Clone)]
struct Part {
    fields: Vec<String>,
    since: Option<&'static str>,
    until: Option<&'static str>,
    keys: Option<Vec<String>>,
}

fn part(stream: usize) -> impl Strategy<Value = Option<Part>> {
    let names: Vec<String> = [ITEMS, NOTES][stream]
        .parse()
        .unwrap()
        .fields
        .iter()
        .map(|field| field.name.clone())
        .filter(|name| name != "id")
        .collect();
    let count = names.len();
    let fields = proptest::sample::subsequence(names, 0..=count);
    // Notes have no time to limit by.
    let bound =
        || proptest::option::weighted(0.3, 0..DAYS.len()).prop_map(move |at| at.filter(|_| stream == 0));
    let keys: Vec<String> = KEYS.iter().map(|key| (*key).to_owned()).collect();
    let keys = proptest::option::weighted(0.3, proptest::sample::subsequence(keys, 1..=3));
    proptest::option::weighted(
        0.75,
        (fields, bound(), bound(), keys).prop_map(|(mut fields, since, until, keys)| {
            fields.insert(0, "id".to_owned());
            Part { fields, since: since.map(|at| DAYS[at]), until: until.map(|at| DAYS[at]), keys }
        }),
    )
}

/// By connection and stream.
type Parts = [[Option<Part>; 2]; 2];

fn parts() -> impl Strategy<Value = Parts> {
    (part(0), part(1), part(0), part(1)).prop_map(|(a, b, c, d)| [[a, b], [c, d]])
}

impl Part {
    /// What the grant shows of a state: computed here again, in the plainest way.
    fn shows(&self, key: &str, data: Option<&Map<String, Value>>) -> Option<Map<String, Value>> {
        let data = data?;
        if self.keys.as_ref().is_some_and(|keys| !keys.iter().any(|known| known == key)) {
            return None;
        }
        if self.since.is_some() || self.until.is_some() {
            let at = time::parse_ms(data.get("at")?.as_str()?)?;
            if self.since.is_some_and(|since| at < time::parse_ms(since).unwrap())
                || self.until.is_some_and(|until| at >= time::parse_ms(until).unwrap())
            {
                return None;
            }
        }
        Some(
            data.iter()
                .filter(|(name, _)| self.fields.contains(name))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
        )
    }
}

/// The same grant without its limits on records, for the world that contains nothing else.
fn without_limits(parts: &Parts) -> Parts {
    let mut parts = parts.clone();
    for part in parts.iter_mut().flatten().flatten() {
        *part = Part { since: None, until: None, keys: None, ..part.clone() };
    }
    parts
}

fn source() -> Source {
    Source { kind: "connector".to_owned(), id: "https://example.test/things".to_owned() }
}

fn grant_of(parts: &Parts) -> Grant {
    let mut streams = Vec::new();
    for (connection, row) in CONNECTIONS.iter().zip(parts) {
        for (stream, part) in STREAMS.iter().zip(row) {
            let Some(part) = part else { continue };
            streams.push(GrantStream {
                name: (*stream).to_owned(),
                instance_ids: vec![(*connection).to_owned()],
                fields: part.fields.clone(),
                time_constraint: (part.since.is_some() || part.until.is_some()).then(|| TimeConstraint {
                    field: "at".to_owned(),
                    since: part.since.map(str::to_owned),
                    until: part.until.map(str::to_owned),
                }),
                resources: part.keys.clone(),
                source: Some(source()),
            });
        }
    }
    let mut grant = grant(streams);
    // It is the same in both worlds, because an answer names it.
    "grt_same".clone_into(&mut grant.grant_id);
    grant
}

/// A clock that stands still, so that nothing waits.
struct Still;

impl Clock for Still {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) {}
}

/// A store, and its contents.
struct World {
    app: Vault,
    token: String,
    states: BTreeMap<(usize, usize, usize), Map<String, Value>>,
}

impl World {
    fn new(parts: &Parts) -> Self {
        let app = open(Config { seed: None, ..Config::default() }).unwrap().with_clock(Still);
        let connector = Connector {
            key: "things".to_owned(),
            id: source().id,
            name: "Things".to_owned(),
            streams: [ITEMS, NOTES].iter().map(|spec| Arc::new(spec.parse().unwrap())).collect(),
        };
        app.store()
            .write::<_, rusqlite::Error>(|tx, _| {
                let mut ingest = Ingest::new(tx)?;
                ingest.connector(&connector)?;
                for id in CONNECTIONS {
                    ingest.connection(&Connection {
                        id: id.to_owned(),
                        connector: "things".to_owned(),
                        display_name: id.to_owned(),
                    })?;
                }
                for at in 0..3 {
                    ingest.blob(&format!("blob_{at}"), "text/plain", format!("content {at}").as_bytes())?;
                }
                ingest.finish()
            })
            .unwrap();
        let token = app.issue(grant_of(parts)).unwrap().token;
        Self { app, token, states: BTreeMap::new() }
    }

    /// Makes everything happen; with `parts`, only what the grant shows of it.
    fn happen(&mut self, happenings: &[Happening], parts: Option<&Parts>) {
        let states = &mut self.states;
        self.app
            .store()
            .write::<_, rusqlite::Error>(|tx, _| {
                let mut ingest = Ingest::new(tx)?;
                for happening in happenings {
                    let key = KEYS[happening.key];
                    let shown = match parts {
                        None => happening.data.clone(),
                        Some(parts) => parts[happening.connection][happening.stream]
                            .as_ref()
                            .and_then(|part| part.shows(key, happening.data.as_ref())),
                    };
                    let place = (happening.connection, happening.stream, happening.key);
                    if states.get(&place) == shown.as_ref() {
                        continue;
                    }
                    ingest.connection(&Connection {
                        id: CONNECTIONS[happening.connection].to_owned(),
                        connector: "things".to_owned(),
                        display_name: String::new(),
                    })?;
                    let json = shown.clone().map(|data| Value::Object(data).to_string());
                    // One time for all, because the time of collection is shown with a record.
                    ingest.put(STREAMS[happening.stream], key, 1_767_225_600_000, json.as_deref())?;
                    match shown {
                        Some(data) => states.insert(place, data),
                        None => states.remove(&place),
                    };
                }
                ingest.finish()
            })
            .unwrap();
    }

    /// The answer, and all of its further pages, without random parts.
    fn read(&self, target: &str) -> Vec<Value> {
        let mut answers = Vec::new();
        let mut next = Some(target.to_owned());
        while let Some(target) = next.take() {
            let answer = get(&self.app, &self.token, &target);
            let body: Value = serde_json::from_slice(&answer.body)
                .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&answer.body).into_owned()));
            next = body["links"]["next"].as_str().map(str::to_owned);
            answers.push(json!([answer.status, stripped(body)]));
            assert!(answers.len() < 100, "{target} does not end");
        }
        answers
    }

    /// Where a session of changes ended.
    fn since(&self, stream: &str) -> Option<String> {
        let answer = get(
            &self.app,
            &self.token,
            &format!("/v1/streams/{stream}/records?changes_since=beginning&limit=100"),
        );
        answer.json()["next_changes_since"].as_str().map(str::to_owned)
    }
}

/// Cursors are sealed with a nonce: no two are equal, and nobody can read them.
fn stripped(mut body: Value) -> Value {
    if let Some(object) = body.as_object_mut() {
        for name in ["next_cursor", "next_changes_since", "links"] {
            object.remove(name);
        }
    }
    body
}

fn targets() -> Vec<String> {
    let mut targets = vec![
        "/v1/schema".to_owned(),
        "/v1/schema?view=compact".to_owned(),
        "/v1/streams".to_owned(),
        "/v1/connectors".to_owned(),
    ];
    let encode = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    for word in ["alpha", "beta", "gamma", "delta", "\"gamma delta\"", "日", "alpha beta"] {
        targets.push(format!("/v1/search?limit=2&q={}", encode(word)));
        targets.push(format!("/v1/search?q={}&streams=items&filter[flag]=true", encode(word)));
    }
    for blob in 0..3 {
        targets.push(format!("/v1/blobs/blob_{blob}"));
    }
    for stream in STREAMS {
        targets.push(format!("/v1/streams/{stream}"));
        for query in [
            "limit=2&count=exact",
            "limit=3&order=asc",
            "view=short",
            "expand=notes&expand_limit[notes]=1",
            "changes_since=beginning&limit=2",
            "connection_id=cin_two",
        ] {
            targets.push(format!("/v1/streams/{stream}/records?{query}"));
        }
        for field in ["id", "at", "title", "secret", "amount", "flag", "file", "item_id", "body", "nope"] {
            targets.push(format!("/v1/streams/{stream}/records?fields={field}"));
            for filter in ["=alpha", "=1.1", "[gte]=0", "[lt]=2026-02-15T00:00:00Z"] {
                targets.push(format!("/v1/streams/{stream}/records?count=exact&filter[{field}]{filter}"));
            }
            for aggregate in [
                format!("metric=sum&field={field}"),
                format!("metric=min&field={field}"),
                format!("metric=max&field={field}"),
                format!("metric=count_distinct&field={field}"),
                format!("metric=count&group_by={field}&limit=1"),
                format!("metric=count&group_by_time={field}&granularity=month"),
            ] {
                targets.push(format!("/v1/streams/{stream}/aggregate?{aggregate}"));
            }
        }
        for key in KEYS {
            let record = format!("/v1/streams/{stream}/records/{}", encode(key));
            targets.push(format!("{record}?expand=notes"));
            targets.push(record.clone());
            for connection in CONNECTIONS {
                targets.push(format!("{record}?connection_id={connection}"));
                for field in ["title", "secret", "body"] {
                    targets.push(format!(
                        "{record}/field-window?field={field}&connection_id={connection}&q=a&before_chars=2&after_chars=2"
                    ));
                }
            }
        }
    }
    targets
}

proptest! {
    // A case is two stores and a thousand reads.
    #![proptest_config(ProptestConfig { cases: cases(8), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_grant_hides_might_as_well_not_exist(
        parts in parts(),
        before in prop::collection::vec(happening(), 0..30),
        after in prop::collection::vec(happening(), 0..20),
    ) {
        let (mut whole, mut shown) = (World::new(&parts), World::new(&without_limits(&parts)));
        whole.happen(&before, None);
        shown.happen(&before, Some(&parts));
        for target in targets() {
            prop_assert_eq!(whole.read(&target), shown.read(&target), "{}", target);
        }
        let since: Vec<_> = STREAMS.map(|stream| (stream, whole.since(stream), shown.since(stream))).into();
        whole.happen(&after, None);
        shown.happen(&after, Some(&parts));
        for (stream, of_whole, of_shown) in since {
            let (Some(of_whole), Some(of_shown)) = (of_whole, of_shown) else { continue };
            let at = |since| format!("/v1/streams/{stream}/records?limit=2&changes_since={since}");
            prop_assert_eq!(whole.read(&at(of_whole)), shown.read(&at(of_shown)), "changes of {}", stream);
        }
        for target in targets() {
            prop_assert_eq!(whole.read(&target), shown.read(&target), "afterwards, {}", target);
        }
    }
}

/// Proves that the property above tests something: a grant over everything shows everything.
#[test]
fn a_whole_grant_shows_the_whole_world() {
    let all = |stream: usize| {
        let fields = [ITEMS, NOTES][stream].parse().unwrap().fields;
        Some(Part {
            fields: fields.iter().map(|field| field.name.clone()).collect(),
            since: None,
            until: None,
            keys: None,
        })
    };
    let parts = [[all(0), all(1)], [all(0), all(1)]];
    let mut world = World::new(&parts);
    let item = |key: usize, word: &str| {
        Happening {
        connection: 0,
        stream: 0,
        key,
        data: json!({ "id": KEYS[key], "at": DAYS[0], "title": word, "secret": "hidden", "file": { "blob_id": "blob_1" } })
            .as_object()
            .cloned(),
    }
    };
    world.happen(&[item(0, "alpha"), item(1, "beta")], None);
    let rows = |target: &str| world.read(target)[0][1]["data"].as_array().map_or(0, Vec::len);
    assert_eq!(rows("/v1/streams/items/records"), 2);
    assert_eq!(rows("/v1/search?q=hidden"), 2);
    assert_eq!(rows("/v1/search?q=beta"), 1);
    assert_eq!(world.read("/v1/blobs/blob_1")[0], json!([200, "content 1"]));
    assert_eq!(world.read("/v1/blobs/blob_2")[0][0], 404);
}

/// A record that leaves the period is gone, one that enters it is new, and nothing is reported about the rest.
#[test]
fn changes_tell_of_the_edge_of_a_period_only_what_they_must() {
    let items = Some(Part {
        fields: vec!["id".to_owned(), "title".to_owned()],
        since: Some(DAYS[1]),
        until: None,
        keys: None,
    });
    let mut world = World::new(&[[items, None], [None, None]]);
    let put = |key: usize, day: usize, title: &str, secret: &str| Happening {
        connection: 0,
        stream: 0,
        key,
        data: json!({ "id": KEYS[key], "at": DAYS[day], "title": title, "secret": secret })
            .as_object()
            .cloned(),
    };
    let gone = |key: usize| Happening { connection: 0, stream: 0, key, data: None };
    world.happen(
        &[
            put(0, 1, "in", ""),
            put(1, 1, "in", ""),
            put(2, 0, "out", ""),
            put(3, 0, "out", ""),
            put(4, 1, "in", ""),
        ],
        None,
    );
    let since = world.since("items").unwrap();
    world.happen(
        &[
            put(0, 0, "in", ""),     // leaves
            put(1, 1, "in", "x"),    // changes out of sight
            put(2, 1, "now in", ""), // enters
            put(3, 0, "still out", ""),
            gone(3), // was never seen
            gone(4), // was seen
        ],
        None,
    );
    let feed = world.read(&format!("/v1/streams/items/records?changes_since={since}"));
    let rows = feed[0][1]["data"].as_array().unwrap();
    let changed: Vec<(&str, bool)> =
        rows.iter().map(|row| (row["id"].as_str().unwrap(), row["deleted"] == true)).collect();
    assert_eq!(changed, [(KEYS[4], true), (KEYS[0], true), (KEYS[2], false)], "in the order of their keys");
    assert!(rows[0].get("data").is_none() && rows[1].get("data").is_none());
}
