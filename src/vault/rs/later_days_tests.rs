//! Tests of fields that reveal later days: a grant with a last day gives the same answers as a store without the
//! later days.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Answer;
use super::read::{Read, Resource};
use crate::vault::Vault;
use crate::vault::declaration::{Connector, Relation, Stream, StreamSpec};
use crate::vault::grant::Grant;
use crate::vault::pace::tests::MovedClock;
use crate::vault::store::ledger::{Ledger, Settings};
use crate::vault::store::{Connection, Ingest};

const SOURCE: &str = "https://example.test/talk";
/// The last day of the grant, and the day after it.
const LAST: u32 = 14;
const CHATS: StreamSpec = StreamSpec {
    name: "chats",
    key: "id",
    time: None,
    fields: "id string! eq
        title text? role=primary-title lex
        first timestamp? eq range time min max
        people array? spans
        loudest string? lex eq group distinct sort spans
        last timestamp? role=event-time eq range sort time min max spans",
    views: &[],
    relations: &[("messages", "messages", "chat_id", true)],
};
const MESSAGES: StreamSpec = StreamSpec {
    name: "messages",
    key: "id",
    time: Some("at"),
    fields: "id string! eq
        chat_id string! eq
        at timestamp! role=event-time eq range sort time min max
        who person? role=actor lex eq group
        is_last boolean? eq group spans",
    views: &[],
    relations: &[],
};
const PEOPLE: [&str; 3] = ["ana", "bo", "cy"];

fn streams() -> Vec<Arc<Stream>> {
    let [mut chats, mut messages] = [CHATS, MESSAGES].map(|spec| spec.parse().unwrap());
    (chats.cursor_field, chats.consent_time_field) = (Some("last".to_owned()), Some("first".to_owned()));
    messages.relations.push(Relation {
        name: Relation::PARENT.to_owned(),
        stream: "chats".to_owned(),
        foreign_key: "id".to_owned(),
        many: false,
        local_key: Some("chat_id".to_owned()),
    });
    (chats.is_extended, messages.is_extended) = (true, true);
    vec![Arc::new(chats), Arc::new(messages)]
}

/// Who said something in which chat on which day, by the number of the message.
type Said = BTreeMap<u8, (u8, u32, usize)>;

fn said() -> impl Strategy<Value = Said> {
    prop::collection::btree_map(0_u8..40, (0_u8..4, 1_u32..29, 0..PEOPLE.len()), 0..24)
}

fn at(day: u32) -> String {
    format!("2026-02-{day:02}T12:00:00Z")
}

/// Writes messages, and the chats that follow from them, as an import at `emitted_ms` does.
fn write(vault: &Vault, said: &Said, emitted_ms: i64) {
    let filled = vault.store.write::<_, rusqlite::Error>(|tx, _| {
        let mut ingest = Ingest::new(tx)?;
        ingest.connector(&Connector {
            key: "talk".to_owned(),
            id: SOURCE.to_owned(),
            name: "Talk".to_owned(),
            streams: streams(),
        })?;
        ingest.connection(&Connection {
            id: "cin_0".to_owned(),
            connector: "talk".to_owned(),
            display_name: "Ana".to_owned(),
        })?;
        for (chat, of) in (0..4).map(|chat| (chat, said.iter().filter(move |(_, of)| of.0 == chat))) {
            let days: BTreeSet<u32> = of.clone().map(|(_, (_, day, _))| *day).collect();
            let people: BTreeSet<&str> = of.clone().map(|(_, (.., who))| PEOPLE[*who]).collect();
            let (Some(first), Some(last)) = (days.first(), days.last()) else { continue };
            let key = format!("c{chat}");
            let record = json!({ "id": key, "title": format!("Chat {chat} alpha"), "first": at(*first), "people": people,
                "loudest": people.last(), "last": at(*last) });
            ingest.put("chats", &key, emitted_ms, Some(&record.to_string()))?;
            for (number, (_, day, who)) in of {
                let id = format!("m{number:02}");
                let record = json!({ "id": id, "chat_id": key, "at": at(*day), "who": PEOPLE[*who],
                    "is_last": day == last });
                ingest.put("messages", &id, emitted_ms, Some(&record.to_string()))?;
            }
        }
        ingest.finish()?;
        let account = Ledger(tx).put_account("cin_0", &Settings::default())?;
        // Long after all days, so that each record existed then.
        Ledger(tx).end_account(account, 1_790_000_000_000 + emitted_ms)
    });
    filled.unwrap();
}

struct World {
    vault: Vault,
    token: String,
    /// The bookmarks after the first import.
    bookmarks: Vec<(&'static str, String)>,
}

impl World {
    /// A store of `first`, and then also of `second`.
    fn new(first: &Said, second: &Said, has_end: bool) -> Self {
        let config = super::tests::config(false);
        let vault = Vault::open(config, None).unwrap().with_clock(Arc::new(MovedClock::default()));
        write(&vault, first, 1);
        let token = vault.issue(grant(has_end)).unwrap().token;
        let mut world = Self { vault, token, bookmarks: Vec::new() };
        for stream in ["chats", "messages"] {
            let all = world.ask(&format!("streams/{stream}/records?changes_since=beginning")).unwrap();
            world.bookmarks.push((stream, all["next_changes_since"].as_str().unwrap().to_owned()));
        }
        write(&world.vault, second, 2);
        world
    }

    fn ask(&self, target: &str) -> Result<Value, (u16, String)> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let segments: Vec<&str> = path.split('/').collect();
        match self.vault.read(Some(&self.token), &Read::sent(Resource::at(&segments).unwrap(), path, query)) {
            Ok(Answer::Json(answer)) => Ok(answer),
            Ok(Answer::Blob { .. }) => Ok(Value::Null),
            Err(error) => Err((error.status.as_u16(), error.message().to_owned())),
        }
    }

    /// The answer without its random parts.
    fn seen(&self, target: &str) -> Result<Value, (u16, String)> {
        self.ask(target).map(|mut answer| {
            for name in ["links", "next_cursor", "next_changes_since"] {
                answer.as_object_mut().unwrap().remove(name);
            }
            answer
        })
    }

    /// The keys of all records or hits of a walk.
    fn walk(&self, target: &str) -> Vec<String> {
        let (mut found, mut next) = (Vec::new(), Some(target.to_owned()));
        while let Some(at) = next {
            let answer = self.ask(&at).unwrap();
            for row in answer["data"].as_array().unwrap() {
                let key = if row["record_key"].is_null() { &row["id"] } else { &row["record_key"] };
                found.push(key.as_str().unwrap().to_owned());
            }
            assert!(found.len() <= 100, "it ends");
            next = answer["next_cursor"].as_str().map(|cursor| format!("{target}&cursor={cursor}"));
        }
        found
    }
}

/// A grant of everything in the streams, as an older grant names it; up to the last day if `has_end`.
fn grant(has_end: bool) -> Grant {
    let source = json!({ "kind": "connector", "id": SOURCE });
    let stream = |spec: &StreamSpec, field: &str| {
        let fields: Vec<String> = spec.parse().unwrap().fields.into_iter().map(|field| field.name).collect();
        let time =
            has_end.then(|| json!({ "field": field, "until": format!("2026-02-{:02}T00:00:00Z", LAST + 1) }));
        json!({ "name": spec.name, "instance_ids": ["cin_0"], "fields": fields, "time_constraint": time, "source": source })
    };
    serde_json::from_value(json!({
        "version": "0.1.0", "grant_id": "grt_test", "issued_at": "2026-01-01T00:00:00Z", "expires_at": null,
        "subject": { "id": "owner_test" }, "client": { "client_id": "test" }, "source": source,
        "source_declaration": { "version": "test.v1" }, "purpose_code": "https://example.test/purpose",
        "access_mode": "continuous", "streams": [stream(&CHATS, "first"), stream(&MESSAGES, "at")],
    }))
    .unwrap()
}

fn targets() -> Vec<String> {
    let mut all: Vec<String> = [
        "schema",
        "schema?view=compact",
        "connectors",
        "streams",
        "streams/chats/records/c1",
        "streams/chats/records?limit=100&expand=messages&expand_limit[messages]=2",
        "streams/messages/records?limit=100&expand=parent",
        "search?q=alpha&limit=100",
        "search?q=cy&limit=100",
        "search?q=cy&streams=chats",
        "streams/chats/records/c1/field-window?field=loudest",
    ]
    .map(str::to_owned)
    .into();
    for spec in [CHATS, MESSAGES] {
        let name = spec.name;
        let records = format!("streams/{name}/records");
        all.extend([
            format!("streams/{name}"),
            format!("schema?view=compact&stream={name}"),
            format!("schema?detail=full&stream={name}&connection_id=cin_0"),
            format!("{records}?limit=100&count=exact"),
            format!("{records}?limit=2&order=asc&count=exact"),
            format!("{records}?limit=100&changes_since=beginning"),
        ]);
        for field in spec.parse().unwrap().fields {
            let field = field.name;
            all.push(format!("{records}?limit=100&fields={field}"));
            all.push(format!("{records}?limit=100&sort={field}"));
            all.push(format!("{records}?limit=100&filter[{field}]=cy"));
            all.push(format!("{records}?limit=100&filter[{field}][gte]=2026-02-10"));
            all.push(format!("search?q=alpha&streams={name}&filter[{field}][lt]=2026-02-20"));
            for metric in ["max", "count_distinct", "sum"] {
                all.push(format!("streams/{name}/aggregate?metric={metric}&field={field}"));
            }
            all.push(format!("streams/{name}/aggregate?metric=count&group_by={field}"));
            all.push(format!("streams/{name}/aggregate?metric=count&group_by_time={field}&granularity=day"));
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Requirements O1.6 and O6.14: nothing that was said after the grant's end changes an answer, whether it was
    /// imported at once or later.
    #[test]
    fn o1_6_what_was_said_behind_the_end_of_a_grant_changes_no_answer(said in said(), at_once in any::<bool>()) {
        let covered: Said = said.iter().filter(|(_, (_, day, _))| *day <= LAST).map(|(id, of)| (*id, *of)).collect();
        let alone = World::new(&covered, &covered, true);
        let whole = World::new(if at_once { &said } else { &covered }, &said, true);
        for target in targets() {
            prop_assert_eq!(whole.seen(&target), alone.seen(&target), "{}", target);
        }
        for ((stream, since), (_, alone_since)) in whole.bookmarks.iter().zip(&alone.bookmarks) {
            let of = |since: &str| format!("streams/{stream}/records?limit=100&changes_since={since}");
            prop_assert_eq!(whole.seen(&of(since)), alone.seen(&of(alone_since)), "changes of {}", stream);
        }
        for walk in ["streams/chats/records?limit=1", "streams/chats/records?limit=1&order=asc", "search?q=alpha&limit=1"] {
            prop_assert_eq!(whole.walk(walk), alone.walk(walk), "{}", walk);
        }
    }

    /// Chats that are not sorted by their last messages are sorted by their first.
    #[test]
    fn o6_2_chats_of_a_grant_with_a_last_day_are_in_the_order_of_their_beginning(said in said()) {
        let world = World::new(&said, &said, true);
        let mut begun: BTreeMap<u8, u32> = BTreeMap::new();
        for (chat, day, _) in said.values() {
            let first = begun.entry(*chat).or_insert(*day);
            *first = (*first).min(*day);
        }
        let mut expected: Vec<(u32, String)> =
            begun.into_iter().filter(|(_, day)| *day <= LAST).map(|(chat, day)| (day, format!("c{chat}"))).collect();
        expected.sort();
        let keys = |of: &[(u32, String)]| of.iter().map(|(_, key)| key.clone()).collect::<Vec<_>>();
        for limit in [1, 2, 100] {
            for sort in ["order=asc", "sort=first"] {
                let walk = world.walk(&format!("streams/chats/records?limit={limit}&{sort}"));
                prop_assert_eq!(&walk, &keys(&expected), "{} {}", limit, sort);
            }
        }
        expected.reverse();
        for limit in [1, 2, 100] {
            prop_assert_eq!(&world.walk(&format!("streams/chats/records?limit={limit}")), &keys(&expected));
            prop_assert_eq!(&world.walk(&format!("search?q=alpha&limit={limit}&streams=chats")), &keys(&expected));
        }
    }
}

/// Requirement O6.14.
#[test]
fn o6_14_the_newest_record_that_a_grant_tells_of_is_a_covered_one() {
    let said = BTreeMap::from([(1, (0, 3, 0)), (2, (1, 9, 1)), (3, (0, 25, 2))]);
    let newest = |has_end| {
        let schema = World::new(&said, &said, has_end).ask("schema?view=compact").unwrap();
        let account = &schema["connectors"][0]["granted_connections"][0];
        let warnings = &schema["meta"]["warnings"];
        (account["newest_record_at"].clone(), warnings.as_array().unwrap().clone())
    };
    let (at, warnings) = newest(true);
    assert_eq!(at, "2026-02-09T12:00:00.000Z");
    assert!(warnings[0]["message"].as_str().unwrap().ends_with("newest record 2026-02-09"), "{warnings:?}");
    let told = "not shown, because it reveals days after the grant's last one: chats.people, chats.loudest, chats.last, \
                messages.is_last";
    assert_eq!(warnings[1], json!({ "code": "fields_of_later_days", "message": told }));
    assert_eq!(warnings.len(), 2);
    let (at, warnings) = newest(false);
    assert_eq!((at, warnings.len()), (json!("2026-02-25T12:00:00.000Z"), 1));
}

#[test]
fn a_grant_with_a_last_day_keeps_titles_and_times_of_chats() {
    let said = BTreeMap::from([(1, (0, 3, 0)), (2, (1, 1, 1)), (3, (0, 25, 2))]);
    let limited = World::new(&said, &said, true);
    let chats = limited.ask("streams/chats/records").unwrap();
    assert_eq!(chats["data"][0]["data"], json!({ "id": "c0", "title": "Chat 0 alpha", "first": at(3) }));
    let schema = limited.ask("streams/chats").unwrap();
    assert_eq!((&schema["cursor_field"], &schema["consent_time_field"]), (&json!("first"), &json!("first")));
    let hits = limited.ask("search?q=alpha").unwrap();
    assert_eq!(
        (&hits["data"][0]["title"], &hits["data"][0]["sent_at"]),
        (&json!("Chat 0 alpha"), &json!(at(3)))
    );
    let hits = limited.ask("search?q=ana").unwrap();
    assert_eq!(hits["data"][0]["title"], "Chat 0 alpha · ana");
    // Without a last day there is nothing to hide: a covered chat began within the grant's days.
    let mut since = World::new(&said, &said, false);
    for (has_since, shown) in [(false, vec!["c0", "c1"]), (true, vec!["c0"])] {
        if has_since {
            let mut grant = grant(true);
            grant.grant_id = "grt_since".to_owned();
            for stream in &mut grant.streams {
                let limit = stream.time_constraint.as_mut().unwrap();
                (limit.since, limit.until) = (Some(at(2)), None);
            }
            since.token = since.vault.issue(grant).unwrap().token;
        }
        let chats = since.ask("streams/chats/records").unwrap();
        let keys: Vec<_> = chats["data"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
        assert_eq!(keys, shown);
        assert_eq!(
            (&chats["data"][0]["data"]["last"], &chats["data"][0]["data"]["people"]),
            (&json!(at(25)), &json!(["ana", "cy"]))
        );
        let schema = since.ask("streams/chats").unwrap();
        assert_eq!((&schema["cursor_field"], &schema["meta"]["warnings"]), (&json!("last"), &json!([])));
    }
}

#[test]
fn when_a_record_was_collected_is_when_it_was_itself() {
    let first = BTreeMap::from([(1, (0, 3, 0))]);
    let second = BTreeMap::from([(1, (0, 3, 0)), (2, (0, 25, 2))]);
    let world = World::new(&first, &second, false);
    let since = &world.bookmarks[0].1;
    let changed = world.ask(&format!("streams/chats/records?changes_since={since}")).unwrap();
    assert_eq!(changed["data"][0]["data"]["last"], at(25), "it is told to whom the change is shown");
    assert_eq!(changed["data"][0]["emitted_at"], "1970-01-01T00:00:00.001Z");
    // An earlier message changes the chat itself, because it changes when the chat began.
    let earlier = BTreeMap::from([(1, (0, 3, 0)), (2, (0, 2, 2))]);
    let world = World::new(&first, &earlier, false);
    let chats = world.ask("streams/chats/records").unwrap();
    assert_eq!(chats["data"][0]["emitted_at"], "1970-01-01T00:00:00.002Z");
}
