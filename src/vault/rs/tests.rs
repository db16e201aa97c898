//! Tests of what the time of a read can reveal. One of two vaults has only the records that a grant covers; the
//! other also has many hidden ones. A read must cost the database equally many steps in both, or be answered at the
//! next full step of time.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::Answer;
use super::read::{Read, Resource};
use crate::vault::declaration::{Connector, Relation, Stream, StreamSpec};
use crate::vault::grant::{Client, Declaration, Grant, GrantStream, Source, Subject, TimeConstraint};
use crate::vault::oauth::owner::Announce;
use crate::vault::pace::tests::MovedClock;
use crate::vault::store::{Connection, Ingest, word_index};
use crate::vault::words::{self, Query, Tag};
use crate::vault::{Config, Profile, Vault};

const ITEMS: StreamSpec = StreamSpec {
    name: "items",
    key: "id",
    time: Some("at"),
    fields: "id string! eq
        at timestamp? eq range time min max
        title text? role=primary-title eq lex group distinct sort
        secret text? eq lex group distinct
        kind string? eq group
        amount number? eq range sort sum min max
        file blob?",
    views: &[],
    relations: &[("notes", "notes", "item_id", true)],
};
const NOTES: StreamSpec = StreamSpec {
    name: "notes",
    key: "id",
    time: Some("at"),
    fields: "id string! eq
        at timestamp? eq range time
        item_id string? eq group
        body text? lex",
    views: &[],
    relations: &[],
};
/// The streams, with everything that a stream can offer.
fn streams() -> Vec<Arc<Stream>> {
    let [mut items, mut notes] = [ITEMS, NOTES].map(|spec| spec.parse().unwrap());
    notes.relations.push(Relation {
        name: Relation::PARENT.to_owned(),
        stream: items.name.clone(),
        foreign_key: "id".to_owned(),
        many: false,
        local_key: Some("item_id".to_owned()),
    });
    (items.is_extended, notes.is_extended) = (true, true);
    vec![Arc::new(items), Arc::new(notes)]
}
pub(super) const PROFILE: Profile = Profile {
    name: "a test",
    title: "a test",
    owner: "nobody",
    command: "a test",
    is_service: false,
    subject_id: "owner_test",
    declaration_version: "test.v1",
    introspection_client_id: "rs",
    renew: |_| (),
    database: "test.db",
    not_beside: &[],
    application_id: crate::vault::store::FICTION,
    grants: None,
    is_served: false,
    holds: None,
};

/// A vault in memory, with only the Core of PDPP if `core`.
pub(super) fn config(core: bool) -> Config {
    Config {
        data_dir: None,
        core,
        auto_approve: false,
        asks_passphrase: false,
        announce: Announce::default(),
        public: None,
        profile: PROFILE,
    }
}

/// The number of covered records of each stream, all in February.
const COVERED: usize = 12;
/// The number of hidden records before and after them.
const HIDDEN: usize = 300;
/// By how many database steps two reads may differ. A seek at the end of a range may or may not cost a step.
const SAME: u64 = 40;

struct World {
    vault: Vault,
    token: String,
    clock: Arc<MovedClock>,
    steps: Arc<AtomicU64>,
}

fn record(stream: &str, key: &str, day: &str, amount: usize) -> String {
    let at = format!("{day}T00:00:00Z");
    let data = match stream {
        "items" => {
            json!({ "id": key, "at": at, "title": "alpha beta", "amount": amount, "kind": format!("kind {}", amount % 3),
            "secret": if key.starts_with('h') { "gamma delta" } else { "gamma" },
            "file": { "blob_id": format!("blob_{key}") } })
        }
        _ => json!({ "id": key, "at": at, "item_id": "k000", "body": "alpha" }),
    };
    data.to_string()
}

impl World {
    fn new(part: impl Fn(&mut GrantStream), has_hidden: bool) -> Self {
        Self::filled(part, move |ingest| {
            for stream in ["items", "notes"] {
                for at in 0..COVERED {
                    let (key, day) = (format!("k{at:03}"), format!("2026-02-{:02}", at + 1));
                    ingest.put(stream, &key, 0, Some(&record(stream, &key, &day, at)))?;
                    ingest.blob(&format!("blob_{key}"), "text/plain", b"x")?;
                }
                for at in (0..HIDDEN).filter(|_| has_hidden) {
                    let day = if at % 2 == 0 { "2026-01-15" } else { "2026-03-15" };
                    let key = format!("h{at:03}");
                    ingest.put(stream, &key, 0, Some(&record(stream, &key, day, at)))?;
                    if at % 3 == 0 {
                        ingest.put(stream, &key, 0, Some(&record(stream, &key, day, at + 1)))?;
                    }
                }
            }
            Ok(())
        })
    }

    fn filled(
        part: impl Fn(&mut GrantStream),
        put: impl Fn(&mut Ingest<'_>) -> rusqlite::Result<()>,
    ) -> Self {
        let (clock, steps) = (Arc::new(MovedClock::default()), Arc::new(AtomicU64::new(0)));
        let config = config(false);
        let filling = move |ingest: &mut Ingest<'_>| {
            ingest.connector(&Connector {
                key: "things".to_owned(),
                id: "https://example.test/things".to_owned(),
                name: "Things".to_owned(),
                streams: streams(),
            })?;
            ingest.connection(&Connection {
                id: "cin_one".to_owned(),
                connector: "things".to_owned(),
                display_name: "One".to_owned(),
            })?;
            Ok(put(ingest)?)
        };
        let vault = Vault::open(config, Some(&filling)).unwrap().with_clock(Arc::clone(&clock));
        let source = Source { kind: "connector".to_owned(), id: "https://example.test/things".to_owned() };
        let stream = |spec: StreamSpec| {
            let declared = spec.parse().unwrap();
            let mut granted = GrantStream {
                name: declared.name.clone(),
                instance_ids: vec!["cin_one".to_owned()],
                fields: declared.fields.iter().map(|field| field.name.clone()).collect(),
                time_constraint: None,
                resources: None,
                source: Some(source.clone()),
            };
            part(&mut granted);
            granted
        };
        let grant = Grant {
            version: "0.1.0".to_owned(),
            grant_id: "grt_test".to_owned(),
            issued_at: "2026-01-01T00:00:00Z".to_owned(),
            expires_at: None,
            subject: Subject { id: "owner_test".to_owned() },
            client: Client { client_id: "test".to_owned() },
            source: source.clone(),
            source_declaration: Declaration { version: "test.v1".to_owned() },
            purpose_code: "https://example.test/purpose".to_owned(),
            purpose_description: None,
            access_mode: "continuous".to_owned(),
            streams: vec![stream(ITEMS), stream(NOTES)],
        };
        let token = vault.issue(grant).unwrap().token;
        let counted = Arc::clone(&steps);
        vault.store.count_steps(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        Self { vault, token, clock, steps }
    }

    /// The answer, or the status of a refusal; the steps of the database; and whether it was answered at a step of
    /// time.
    fn read(&self, target: &str) -> (Result<Option<Value>, u16>, u64, bool) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let segments: Vec<&str> = path.split('/').collect();
        let read = Read::sent(Resource::at(&segments).unwrap(), path, query);
        // The first read prepares everything for the second.
        let _ = self.vault.read(Some(&self.token), &read);
        self.clock.slept();
        let before = self.steps.load(Ordering::Relaxed);
        let answer = self.vault.read(Some(&self.token), &read);
        let steps = self.steps.load(Ordering::Relaxed) - before;
        let answer = match answer {
            Ok(Answer::Json(body)) => Ok(Some(body)),
            Ok(Answer::Blob { .. }) => Ok(None),
            Err(error) => Err(error.status.as_u16()),
        };
        (answer, steps, !self.clock.slept().is_empty())
    }
}

fn in_february(granted: &mut GrantStream) {
    granted.time_constraint = Some(TimeConstraint {
        field: "at".to_owned(),
        since: Some("2026-02-01T00:00:00Z".to_owned()),
        until: Some("2026-03-01T00:00:00Z".to_owned()),
    });
}

fn named(granted: &mut GrantStream) {
    granted.resources = Some((0..COVERED).map(|at| format!("k{at:03}")).collect());
}

fn without_secret(granted: &mut GrantStream) {
    granted.fields.retain(|field| field != "secret" && field != "body");
}

/// Reads of covered rows only, whatever the grant.
const DIRECT: [&str; 27] = [
    "schema",
    "schema?stream=items",
    "connectors",
    "streams",
    "streams/items",
    "streams/items/records?limit=5&count=exact",
    "streams/items/records?limit=5&order=asc&filter[title]=alpha%20beta",
    "streams/items/records?limit=5&sort=-at&filter[amount][gte]=3",
    "streams/items/records/k001",
    "streams/items/records/k001/field-window?field=title&q=BETA",
    "streams/items/aggregate?metric=count",
    "streams/items/aggregate?metric=sum&field=amount",
    "streams/items/aggregate?metric=count&group_by=title",
    "streams/items/aggregate?metric=count&group_by=secret&filter[title]=alpha%20beta",
    "streams/items/aggregate?metric=max&field=at",
    "streams/items/aggregate?metric=min&field=amount",
    "streams/items/aggregate?metric=sum&field=amount&group_by=title",
    "streams/items/aggregate?metric=max&field=at&group_by=secret",
    "streams/items/aggregate?metric=sum&field=amount&group_by_time=at&granularity=day",
    "streams/items/records?limit=5&sort=-amount",
    "streams/items/records?limit=5&sort=title",
    "streams/items/records?limit=5&sort=amount&filter[amount][gte]=3",
    // Its parent is covered and shown.
    "streams/notes/records?limit=2&expand=parent",
    // A value that only hidden rows have.
    "streams/items/aggregate?metric=count&filter[secret]=gamma%20delta",
    "streams/items/records?limit=5&filter[secret]=gamma%20delta",
    "streams/items/records?limit=5&filter[id]=h001",
    "streams/items/aggregate?metric=count&group_by_time=at&granularity=day&filter[amount][gt]=2",
];

/// Requirements O6.11 and O6.12.
#[test]
fn the_time_of_a_read_tells_nothing_of_hidden_rows() {
    // Reads that also look at other rows, and so are answered at a step of time.
    let search = ["search?q=alpha", "search?q=gamma&streams=items", "search?q=nothing"];
    let changes = ["streams/items/records?changes_since=beginning&limit=5"];
    let misses = ["streams/items/records/h001", "streams/items/records/nope", "streams/notes/records/h002"];
    let linked = ["streams/items/records/k000?expand=notes", "streams/items/records?limit=2&expand=notes"];
    let blobs = ["blobs/blob_k001", "blobs/blob_h001", "blobs/nope"];
    let all = || search.into_iter().chain(changes).chain(misses).chain(linked).chain(blobs);
    let period: (fn(&mut GrantStream), Vec<&str>) = (in_february, all().collect());
    // Their words are read, and no other record is looked at for them.
    let of_named = changes.into_iter().chain(linked).chain(blobs);
    let records: (fn(&mut GrantStream), Vec<&str>) = (named, of_named.collect());
    for (part, paced) in [period, records] {
        let (quiet, whole) = (World::new(part, false), World::new(part, true));
        for target in all().chain(DIRECT) {
            let ((seen, alone, waited), (answer, beside, waits)) = (quiet.read(target), whole.read(target));
            assert_eq!(seen.is_ok(), answer.is_ok(), "{target}");
            assert_eq!(waits, paced.contains(&target), "{target}");
            assert_eq!(waited, waits, "{target}: the wait reveals nothing hidden");
            assert!(
                waits || beside.abs_diff(alone) <= SAME,
                "{target}: {beside} steps next to hidden rows, {alone} without"
            );
        }
        let found = whole.read("search?q=alpha%20beta").0.unwrap().unwrap();
        assert_eq!(found["meta"]["count"], COVERED, "and they are found");
        assert_eq!(whole.read("streams/items/aggregate?metric=count").0.unwrap().unwrap()["value"], COVERED);
    }
}

/// Requirements O6.5 and O6.11: a read of a hidden parent takes as long as a read of a parent that does not exist.
#[test]
fn o6_5_a_hidden_parent_is_answered_at_a_step_of_time_as_a_missing_one_is() {
    for part in [in_february as fn(&mut GrantStream), named] {
        let world = World::new(part, true);
        let (shown, _, waits) = world.read("streams/notes/records/k001?expand=parent");
        assert_eq!(shown.unwrap().unwrap()["expanded"]["parent"]["id"], "k000");
        assert!(!waits);
        let mut seen = Vec::new();
        for parent in ["h001", "nope"] {
            world
                .vault
                .store
                .write::<_, rusqlite::Error>(|tx, catalog| {
                    let mut ingest = Ingest::new(tx)?;
                    ingest.connection(catalog.connection("cin_one").unwrap())?;
                    let data = json!({ "id": "k001", "at": "2026-02-02T00:00:00Z", "item_id": parent });
                    ingest.put("notes", "k001", 0, Some(&data.to_string()))?;
                    ingest.finish()
                })
                .unwrap();
            let (answer, steps, waits) = world.read("streams/notes/records/k001?expand=parent");
            assert_eq!(answer.unwrap().unwrap()["expanded"], json!({ "parent": null }), "{parent}");
            seen.push((steps, waits));
        }
        // With named records, no other record is looked at.
        assert!(seen[0].1 == seen[1].1 && (seen[0].1 || seen[0].0.abs_diff(seen[1].0) <= SAME), "{seen:?}");
    }
}

/// Requirements O6.10 and O6.11: in a stream with all of its records, only changes and blobs touch hidden fields.
#[test]
fn a_search_costs_nothing_for_words_of_hidden_fields() {
    let world = World::new(without_secret, true);
    let (answer, unknown, waits) = world.read("search?q=nothing&streams=items");
    assert!(!waits && answer.unwrap().unwrap()["data"].as_array().unwrap().is_empty());
    // In each of 312 records, in a field that the grant hides.
    let (answer, hidden, waits) = world.read("search?q=gamma&streams=items");
    assert!(!waits && answer.unwrap().unwrap()["data"].as_array().unwrap().is_empty());
    assert_eq!(hidden, unknown);
    let in_index = |word: &str, field: u32| {
        world.vault.store.read::<_, rusqlite::Error>(|db, catalog| {
            let slot = catalog.slot("cin_one", "items").unwrap();
            let tag = Tag::new(field).unwrap();
            Ok(word_index::find(db, slot, &Query::parse(word), &[(tag, false)])?.all.len())
        })
    };
    let terms =
        [("gamma", 0), ("gamma", 1), ("alpha", 0)].map(|(word, field)| in_index(word, field).unwrap());
    assert_eq!(terms, [0, 312, 312], "each term is tagged with its field");
    assert!(world.read("search?q=alpha&streams=items").1 > hidden + 100, "what is found is read");
    assert!(world.read("streams/items/records?changes_since=beginning").2);
    let everything = World::new(|_| {}, true);
    for target in [
        "search?q=gamma",
        "streams/items/records?changes_since=beginning",
        "blobs/nope",
        "streams/items/records/nope",
    ] {
        assert!(!everything.read(target).2, "{target}: a grant over everything hides nothing");
    }
}

/// The content of a record that a search can find: its title, its other text, its day and its amount.
type Said = (String, String, Option<u32>, u32);

fn said() -> impl Strategy<Value = Said> {
    let words = |most| {
        prop::collection::vec(prop::sample::select(&["oak", "elm", "ash", "fir-7", "日本"][..]), 0..most)
    };
    let text = move |most| words(most).prop_map(|words| words.join(" "));
    (text(3), text(6), prop::option::of(1_u32..28), 0_u32..3)
}

fn in_the_middle(granted: &mut GrantStream) {
    granted.time_constraint = Some(TimeConstraint {
        field: "at".to_owned(),
        since: Some("2026-02-08T00:00:00Z".to_owned()),
        until: Some("2026-02-20T00:00:00Z".to_owned()),
    });
}

fn some_named(granted: &mut GrantStream) {
    granted.resources = Some((0..6).map(|at| format!("k{at:02}")).collect());
}

fn without_time(granted: &mut GrantStream) {
    granted.fields.retain(|field| field != "at");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Requirements O6.8 and O6.10: whatever the records, the query and the grant, a search finds, orders and
    /// counts what reading each record finds.
    #[test]
    fn o6_8_a_search_finds_counts_and_orders_as_reading_each_record_does(
        // Each of these is a transaction. A record with the same key is changed or deleted.
        changes in prop::collection::vec(prop::collection::vec((0_usize..16, prop::option::weighted(0.85, said())), 1..6), 1..24),
        words in prop::sample::select(&["oak", "elm ash", "\"oak elm\"", "fir-7", "日本 oak", "\"elm elm\"", "本", "none"][..]),
        part in 0_usize..5,
        amount in prop::option::of(0_u32..3),
    ) {
        let parts: [fn(&mut GrantStream); 5] = [|_| {}, in_the_middle, some_named, without_secret, without_time];
        let world = World::filled(parts[part], |_| Ok(()));
        let mut records: BTreeMap<String, Said> = BTreeMap::new();
        for change in changes {
            world.vault.store.write::<_, rusqlite::Error>(|tx, catalog| {
                let mut ingest = Ingest::new(tx)?;
                ingest.connection(catalog.connection("cin_one").unwrap())?;
                for (key, said) in change {
                    let key = format!("k{key:02}");
                    let data = said.clone().map(|(title, secret, day, amount)| {
                        let at = day.map(|day| format!("2026-02-{day:02}T00:00:00Z"));
                        json!({ "id": key, "at": at, "title": title, "secret": secret, "amount": amount }).to_string()
                    });
                    ingest.put("items", &key, 0, data.as_deref())?;
                    match said {
                        Some(said) => records.insert(key, said),
                        None => records.remove(&key),
                    };
                }
                ingest.finish()
            }).unwrap();
        }
        let query = Query::parse(words);
        let mut wanted: Vec<(bool, Option<u32>, &str)> = Vec::new();
        for (key, (title, secret, day, of)) in &records {
            let is_covered = match part {
                1 => day.is_some_and(|day| (8..20).contains(&day)),
                2 => key.as_str() < "k06",
                _ => true,
            };
            let is_titled = query.is_in(&[title]);
            let is_found = is_titled || (part != 3 && query.is_in(&[title, secret]));
            if is_covered && is_found && amount.is_none_or(|amount| amount == *of) {
                wanted.push((is_titled, day.filter(|_| part != 4), key));
            }
        }
        wanted.sort();
        wanted.reverse();
        let encoded: String = words.replace(' ', "%20").replace('"', "%22");
        let filter = amount.map(|amount| format!("&filter[amount][gte]={amount}&filter[amount][lte]={amount}"));
        let target = format!("search?streams=items&limit=3&q={encoded}{}", filter.unwrap_or_default());
        let (mut found, mut next) = (Vec::new(), Some(target.clone()));
        while let Some(at) = next {
            let answer = world.read(&at).0.unwrap().unwrap();
            prop_assert_eq!(&answer["meta"]["count"], wanted.len());
            prop_assert_eq!(&answer["meta"]["count_accuracy"], "exact");
            prop_assert_eq!(
                &answer["meta"]["recall"]["titled_count"],
                wanted.iter().filter(|(is_titled, ..)| *is_titled).count()
            );
            let hits = answer["data"].as_array().unwrap().iter();
            found.extend(hits.map(|hit| hit["record_key"].as_str().unwrap().to_owned()));
            next = answer["next_cursor"].as_str().map(|cursor| format!("{target}&cursor={cursor}"));
        }
        let wanted: Vec<&str> = wanted.iter().map(|(.., key)| *key).collect();
        prop_assert_eq!(found, wanted);
    }
}

/// Texts in many scripts, as people write them and as nobody does.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zA-ZÀ-žḀ-ỿ]{1,4}",
        "[Α-ωἀ-ῼ]{1,4}",
        "[Ѐ-ӿ\u{306}\u{308}]{1,4}",
        "[א-ת\u{5b0}-\u{5bc}יִ-ﭏ]{1,4}",
        "[ء-ي\u{64b}-\u{652}ـﺀ-ﻼ]{1,4}",
        "[अ-ह\u{93e}-\u{94d}]{1,4}",
        "[ก-ฮเ-ไ\u{e31}\u{e34}-\u{e3a}\u{e47}-\u{e4e}ำ]{1,4}",
        "[ກ-ຮເ-ໄ\u{eb1}-\u{ebc}\u{ec8}-\u{ecd}]{1,4}",
        "[ក-ឳ\u{17b6}-\u{17d3}]{1,4}",
        "[က-ဪ\u{102b}-\u{103e}]{1,4}",
        "[가-힣ᄀ-ᇿㄱ-ㅣﾡ-ￜ]{1,3}",
        "[ぁ-ゖァ-ヺー\u{3099}\u{309a}ｦ-ﾟ]{1,4}",
        "[一-龥㐀-㐿㈱㍿]{1,3}",
        "[０-９Ａ-Ｚａ-ｚ①-⑳½²ﬁ]{1,3}",
        "[0-9#*]\u{fe0f}?\u{20e3}",
        "[👍👩🏴🅰❤☠©‼]\u{fe0f}?[🏻-🏿]?(\u{200d}[💻❤☠])?",
        "[🇦-🇿]{1,3}",
        "🏴[\u{e0061}-\u{e007a}]{2,5}\u{e007f}",
        "[ .,!?#*-]{1,2}",
        "[a-zé \u{300}-\u{30c}\u{ad}\u{200b}-\u{200d}]{1,3}",
    ];
    prop::collection::vec(piece, 1..7).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn o6_9_every_word_is_found_shown_and_kept_in_each_spelling(texts in prop::collection::vec(any_text(), 1..4)) {
        let kept = texts.clone();
        let world = World::filled(|_| (), move |ingest| {
            for (at, text) in kept.iter().enumerate() {
                let data = json!({ "id": format!("k{at}"), "at": "2026-02-01T00:00:00Z", "title": text });
                ingest.put("items", &format!("k{at}"), 0, Some(&data.to_string()))?;
            }
            Ok(())
        });
        let encoded = |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
        let answer = |target: &str| world.read(target).0;
        for (at, text) in texts.iter().enumerate() {
            let record = answer(&format!("streams/items/records/k{at}")).unwrap().unwrap();
            prop_assert_eq!(record["data"]["title"].as_str(), Some(text.as_str()), "byte for byte");
            let mut words = Vec::new();
            words::each_word(text, |place, word| {
                words.push((text[place].to_owned(), word.to_owned()));
                if words.len() < 6 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            for (written, folded) in words {
                // What is written can be part of more than one word: the 2 of ½ begins the next word in ½①.
                let is_alone = Query::parse(&written) == Query::parse(&folded);
                let written = if is_alone { written } else { folded.clone() };
                let nfc = ComposingNormalizerBorrowed::new_nfc();
                let nfd = DecomposingNormalizerBorrowed::new_nfd();
                let spellings = [
                    nfc.normalize(&written).into_owned(), nfd.normalize(&written).into_owned(),
                    written.to_uppercase(), written.to_lowercase(), folded.clone(),
                ];
                for spelling in spellings {
                    let q = encoded(&spelling);
                    let found = answer(&format!("search?q={q}&streams=items"));
                    prop_assert!(found.is_ok(), "{:?} of {:?}", spelling, text);
                    let found = found.unwrap().unwrap();
                    let hits = found["data"].as_array().unwrap();
                    let hit = hits.iter().find(|hit| hit["record_key"] == format!("k{at}").as_str());
                    prop_assert!(hit.is_some(), "{:?} ({:?}) finds {:?}", spelling, folded, text);
                    let shown = hit.unwrap()["evidence_excerpts"][0]["preview_text"].as_str().unwrap();
                    let marked = shown.split("<mark>").skip(1).any(|rest| {
                        let marked = rest.split("</mark>").next().unwrap();
                        Query::parse(&folded).is_in(&[marked])
                    });
                    prop_assert!(marked, "{:?} marks {:?} in {:?}", spelling, folded, shown);
                    let window = answer(&format!("streams/items/records/k{at}/field-window?field=title&q={q}"));
                    prop_assert!(window.is_ok(), "{:?} is in the field {:?}", spelling, text);
                    let window = window.unwrap().unwrap();
                    let place = |name: &str| usize::try_from(window["window"][name].as_u64().unwrap()).unwrap();
                    let (from, to) = (place("match_start_chars"), place("match_end_chars"));
                    let there: String = text.chars().skip(from).take(to - from).collect();
                    prop_assert!(Query::parse(&there).phrases().next().is_some(), "{:?} of {:?}", there, text);
                }
            }
        }
    }
}
