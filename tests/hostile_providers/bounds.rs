//! R4.8: each view stays within its bound; following the given continuation reaches every row once; following the
//! offered calls reads everything that was cut to its end; nothing disappears silently.

use std::sync::Arc;

use pdpp::mcp::id::RecordId;
use pdpp::mcp::reading::binary;
use pdpp::mcp::size::Bounds;
use pdpp::mcp::tools::service::Tools;
use pdpp::provider::http::{Http, Limits};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::provider::{Provider, Reply};
use super::reader::{self, Offer, ids, ladder, offer_of, restored, structured, walk};
use super::store::{Paging, Store, record};
use super::{BOUNDS, call, cases, core_at, made, runtime};
use crate::support::numbers::as_texts;

fn described(data: &Value) -> Value {
    let mut data = data.clone();
    binary::describe(&mut data);
    data
}

/// A short form, because the data may be megabytes.
fn same_data(read: &Value, original: &Value) {
    let (read, original) = (read.as_object().unwrap(), original.as_object().unwrap());
    for (name, value) in original {
        let short = |value: Option<&Value>| {
            value
                .map(|value| (value.to_string().len(), pdpp::text::prefix(&value.to_string(), 80).to_owned()))
        };
        assert!(
            read.get(name) == Some(value),
            "{:?}: {:?} instead of {:?}",
            pdpp::text::prefix(name, 80),
            short(read.get(name)),
            short(Some(value))
        );
    }
    assert_eq!(read.len(), original.len());
}

fn paging() -> impl Strategy<Value = Paging> {
    prop_oneof![
        3 => Just(Paging::Honest),
        1 => (1usize..9).prop_map(Paging::IgnoresLimit),
        1 => Just(Paging::Everything),
        1 => Just(Paging::MoreThanAsked),
        2 => Just(Paging::PerConnection),
    ]
}

fn records() -> impl Strategy<Value = Vec<Value>> {
    let connection =
        prop_oneof![3 => Just("cin_a".to_owned()), 1 => Just("cin_b".to_owned()), 1 => made::connection()];
    let connections = prop::collection::vec(connection, 1..4);
    let small = prop::collection::btree_map("[a-z]{1,8}", "[ -~é]{0,60}".prop_map(Value::from), 0..6)
        .prop_map(|data| data.into_iter().collect::<Map<_, _>>());
    let few = prop::collection::btree_map(made::id(), made::data(), 0..5);
    let many = prop::collection::btree_map(made::id(), small, 20..130);
    (connections, prop_oneof![3 => few, 1 => many]).prop_map(|(connections, rows)| {
        rows.into_iter()
            .enumerate()
            .map(|(n, (id, data))| record("notes", &connections[n % connections.len()], &id, &json!(data)))
            .collect()
    })
}

fn case() -> impl Strategy<Value = (Vec<Value>, Paging, usize, Option<u8>, usize)> {
    let limit = prop_oneof![Just(None), Just(Some(100)), (1u8..100).prop_map(Some)];
    let pad = prop_oneof![3 => 0usize..20, 1 => 200usize..300];
    (records(), paging(), 0usize..BOUNDS.len(), limit, pad)
}

/// A case, served; and the tools over it.
struct Served {
    store: Arc<Store>,
    core: Tools,
}

/// Serves what [`case`] made, for a walk.
fn serve(
    provider: &Provider,
    http: &Http,
    (records, paging, bounds, pad): (Vec<Value>, Paging, usize, usize),
) -> Served {
    let mut store = Store::new("notes", records, paging);
    store.cursor_pad = "e".repeat(pad);
    let store = Arc::new(store);
    let serve = Arc::clone(&store);
    provider.answer_with(move |asked| serve.answer(asked));
    Served { store, core: core_at(&provider.origin, http, BOUNDS[bounds]) }
}

fn id_of(record: &Value) -> RecordId {
    let text = |key: &str| record[key].as_str().unwrap().to_owned();
    RecordId { connection: Some(text("connection_id")), stream: text("stream"), record: text("id") }
}

/// Whether the rows of several connections come one connection after the other, which shows that they are in no
/// common order: then each connection is read separately.
fn is_side_by_side(records: &[Value]) -> bool {
    let mut runs = records.iter().map(|record| &record["connection_id"]).collect::<Vec<_>>();
    runs.dedup();
    runs.len() > 1 && runs.iter().enumerate().all(|(at, connection)| !runs[..at].contains(connection))
}

/// Everything that `query_records` or `search` returned, compared with the records; in order if one list was read.
fn same_ids(read: &[RecordId], store: &Store) {
    let mut expected = store.records.iter().map(id_of).collect::<Vec<_>>();
    let mut read = read.to_vec();
    if store.paging == Paging::PerConnection || is_side_by_side(&store.records) {
        let key = |id: &RecordId| (id.connection.clone(), id.record.clone());
        expected.sort_by_key(key);
        read.sort_by_key(key);
    }
    assert_eq!(read.len(), expected.len(), "{:?}: as many rows as there are", store.paging);
    assert_eq!(read, expected, "every row once");
}

#[test]
fn r4_8_records_walk_to_the_end_and_fields_read_to_theirs() {
    let runtime = runtime();
    let provider = runtime.block_on(Provider::start());
    let http = Http::new(Limits::default());
    cases(16)
        .run(&case(), |(records, paging, bounds, limit, pad)| {
            let Served { store, core } = serve(&provider, &http, (records, paging, bounds, pad));
            runtime.block_on(async {
                let mut arguments = json!({"stream": "notes"});
                if let Some(limit) = limit {
                    arguments["limit"] = json!(limit);
                }
                let pages = walk(&core, "query_records", &arguments).await;
                let (mut listed, mut rows) = (Vec::new(), Vec::new());
                for page in &pages {
                    let named = ids(&page.text);
                    let data = structured(page)["data"]["data"].as_array().unwrap().clone();
                    assert_eq!(named, data.iter().map(id_of).collect::<Vec<_>>(), "R3.14: {}", page.text);
                    let ladders = ladder(page);
                    let offered =
                        ladders.iter().flat_map(|(_, fields)| fields.iter().map(|(_, offer)| offer.clone()));
                    assert_eq!(
                        reader::continuations(&page.text),
                        offered.collect::<Vec<_>>(),
                        "{}",
                        page.text
                    );
                    listed.extend(named);
                    rows.extend(data.into_iter().map(|row| {
                        let fields = match ladders.as_slice() {
                            [] => Vec::new(),
                            [(_, fields)] => fields.clone(),
                            more => panic!("only a row that alone does not fit is cut: {more:?}"),
                        };
                        (row, fields)
                    }));
                }
                same_ids(&listed, &store);
                for (row, fields) in rows {
                    let original = store.records.iter().find(|record| id_of(record) == id_of(&row)).unwrap();
                    let whole = restored(&core, &row["data"], &fields).await;
                    same_data(&as_texts(&whole), &as_texts(&described(&original["data"])));
                }
            });
            Ok(())
        })
        .unwrap();
}

#[test]
fn r4_8_hits_walk_to_the_end() {
    let runtime = runtime();
    let provider = runtime.block_on(Provider::start());
    let http = Http::new(Limits::default());
    let mode = prop::sample::select(vec!["lexical", "semantic", "hybrid"]);
    cases(16)
        .run(&(case(), mode), |((records, paging, bounds, limit, pad), mode)| {
            // Only lists of one connection are in order here.
            let paging = if paging == Paging::PerConnection { Paging::Honest } else { paging };
            let Served { store, core } = serve(&provider, &http, (records, paging, bounds, pad));
            runtime.block_on(async {
                let mut arguments = json!({"q": "x", "mode": mode});
                if mode == "hybrid" || limit.is_some() {
                    arguments["limit"] = json!(limit.unwrap_or(100));
                }
                let mut read = Vec::new();
                for page in walk(&core, "search", &arguments).await {
                    let named = ids(&page.text);
                    let structured = structured(&page);
                    let results = structured["results"].as_array().unwrap();
                    let parts = |hit: &Value| match hit.get("record_id").and_then(Value::as_str) {
                        Some(record) => RecordId {
                            connection: hit["connection_id"].as_str().map(str::to_owned),
                            stream: hit["stream"].as_str().unwrap().to_owned(),
                            record: record.to_owned(),
                        },
                        // A hit whose id takes most of a result is named by the id alone.
                        None => RecordId::parse(hit["id"].as_str().unwrap()).unwrap(),
                    };
                    assert_eq!(named, results.iter().map(parts).collect::<Vec<_>>());
                    // Every incomplete excerpt can be read on.
                    let incomplete =
                        ladder(&page).into_iter().flat_map(|(_, fields)| fields).map(|(_, offer)| offer);
                    assert_eq!(reader::offers(&page.text, "more"), incomplete.collect::<Vec<_>>());
                    read.extend(named);
                }
                if mode == "hybrid"
                    && matches!(paging, Paging::Honest | Paging::MoreThanAsked | Paging::IgnoresLimit(_))
                {
                    // It has no pages: larger limits are requested, up to the provider's maximum. At least its first
                    // answer is read, in its order.
                    let limit = usize::from(limit.unwrap_or(100));
                    let given = match paging {
                        Paging::IgnoresLimit(own) => own,
                        Paging::MoreThanAsked => limit + 3,
                        _ => limit,
                    };
                    let given = store.records.len().min(given);
                    assert!(read.len() >= given, "{} of {given}", read.len());
                    assert_eq!(read, store.records[..read.len()].iter().map(id_of).collect::<Vec<_>>());
                } else {
                    same_ids(&read, &store);
                }
            });
            Ok(())
        })
        .unwrap();
}

#[test]
fn r3_43_a_document_reads_to_its_end() {
    let runtime = runtime();
    let provider = runtime.block_on(Provider::start());
    let http = Http::new(Limits::default());
    let input = (made::id(), made::connection(), made::data(), made::hostile_text(), 0usize..BOUNDS.len());
    cases(16)
        .run(&input, |(id, connection, data, label, bounds)| {
            let mut made = record("notes", &connection, &id, &json!(data));
            made["display_name"] = json!(label);
            let store = Arc::new(Store::new("notes", vec![made], Paging::Honest));
            let serve = Arc::clone(&store);
            provider.answer_with(move |asked| serve.answer(asked));
            runtime.block_on(async {
                let core = core_at(&provider.origin, &http, BOUNDS[bounds]);
                let asked = id_of(&store.records[0]);
                let Some(handle) = asked.handle() else { return };
                let mut arguments = json!({"id": handle});
                if !asked.is_self_contained() {
                    arguments["connection_id"] = json!(connection);
                }
                let answer = call(&core, "fetch", &arguments).await;
                assert!(!answer.is_error, "{}", answer.text);
                let document = structured(&answer);
                assert_eq!(serde_json::from_str::<Value>(&answer.text).unwrap(), document, "R3.40");
                let original = described(&store.records[0]["data"]);
                let text = document["text"].as_str().unwrap();
                let reads = document["metadata"]["read_more"].as_array().cloned().unwrap_or_default();
                assert_eq!(document["metadata"]["truncated"] == true, !reads.is_empty());
                let reads = reads
                    .iter()
                    .map(|read| {
                        let offer = offer_of(read).unwrap();
                        (offer.arguments["field_path"].as_str().unwrap().to_owned(), offer)
                    })
                    .collect::<Vec<(String, Offer)>>();
                let fields = original.as_object().unwrap();
                let shown = match fields.iter().next() {
                    Some((name, Value::String(_)))
                        if fields.len() == 1 && reads.first().is_none_or(|(path, _)| path != "$") =>
                    {
                        json!({name.clone(): text})
                    }
                    _ => serde_json::from_str(text).unwrap(),
                };
                same_data(&restored(&core, &shown, &reads).await, &original);
            });
            Ok(())
        })
        .unwrap();
}

#[test]
fn r4_8_megabytes_in_one_field() {
    let runtime = runtime();
    runtime.block_on(async {
        let provider = Provider::start().await;
        let http = Http::new(Limits::default());
        let text = (0..90_000).map(|n| format!("Satz {n} mit \"日本\"\n\u{202e}. ")).collect::<String>();
        let list = (0..200_000).collect::<Vec<_>>();
        let data = json!({"body": text, "list": list, "n": 1});
        let store = Store::new("notes", vec![record("notes", "cin_a", "r1", &data)], Paging::Honest);
        provider.answer_with(move |asked| store.answer(asked));
        for bounds in BOUNDS {
            let core = core_at(&provider.origin, &http, bounds);
            let pages = walk(&core, "query_records", &json!({"stream": "notes"})).await;
            assert_eq!(pages.len(), 1);
            let fields = ladder(&pages[0]).remove(0).1;
            assert_eq!(fields.len(), 2);
            call(&core, "fetch", &json!({"id": "cin_a/notes:r1"})).await;
            if bounds.text == Bounds::MOST {
                let shown =
                    structured(&pages[0])["data"]["data"][0]["data"]["body"].as_str().unwrap().to_owned();
                let mut offer = fields.iter().find(|(path, _)| path == "body").unwrap().1.clone();
                offer.arguments["limit_chars"] = json!(16_384);
                let rest = reader::read_to_end(&core, &offer).await;
                assert!(format!("{shown}{rest}") == text);
            }
        }
    });
}

#[test]
fn r4_8_thousands_of_groups() {
    let runtime = runtime();
    runtime.block_on(async {
        let provider = Provider::start().await;
        let http = Http::new(Limits::default());
        for (key, groups) in
            [("k", 3_000usize), ("key of some length \u{202e}\n", 2_000), (&"x".repeat(3_000), 20)]
        {
            let made =
                (0..groups).map(|n| json!({"key": format!("{key}{n}"), "count": n})).collect::<Vec<_>>();
            let body = json!({"object": "aggregate", "metric": "count", "group_by": "from", "groups": made,
                "other_count": 7, "filtered_record_count": 100_000});
            provider.answer_with(move |_| Reply::json(200, &body));
            for bounds in BOUNDS {
                let core = core_at(&provider.origin, &http, bounds);
                let arguments =
                    json!({"stream": "notes", "metric": "count", "group_by": "from", "limit": 5_000});
                let (mut shown, mut left) = (Vec::new(), groups);
                for answer in walk(&core, "aggregate", &arguments).await {
                    let structured = structured(&answer);
                    let page = structured["data"]["groups"].as_array().unwrap();
                    assert!(!page.is_empty(), "the next groups are shown");
                    left -= page.len();
                    assert_eq!(
                        structured.get("groups_not_shown").map_or(0, |n| n.as_u64().unwrap()),
                        left as u64
                    );
                    assert!(answer.text.contains("other_count=7"));
                    for group in page {
                        let line = format!(": {}", group["count"]);
                        assert!(answer.text.lines().any(|text| text.contains(&line)), "{}", answer.text);
                        shown.push(group["count"].as_u64().unwrap());
                    }
                }
                assert_eq!(shown, (0..groups as u64).collect::<Vec<_>>(), "every group once");
            }
        }
    });
}

/// A compact schema of `streams`, in connectors of ten.
fn schema(streams: usize, name_len: usize, label: &str, fields: &Map<String, Value>) -> Value {
    let names = (0..streams).map(|n| format!("{n:04}{}", "s".repeat(name_len.saturating_sub(4))));
    let names = names.collect::<Vec<_>>();
    let connectors = names.chunks(50).enumerate().map(|(n, names)| {
        let rows = names
            .iter()
            .map(|name| json!({"name": name, "primary_key": ["id"], "field_capabilities": fields}));
        json!({"object": "connector", "connector_key": format!("connector_{n}"),
            "granted_connections": [{"connection_id": format!("cin_{n}"), "display_name": label}],
            "streams": rows.collect::<Vec<_>>()})
    });
    json!({"object": "schema", "detail": "compact", "bearer": {"token_kind": "client"},
        "connectors": connectors.collect::<Vec<_>>(), "meta": {"warnings": []}})
}

fn fields(count: usize) -> Map<String, Value> {
    (0..count)
        .map(|n| (format!("field_{n:04}"), json!("t=string,eq,r=gte|lt,lex,a=count_distinct")))
        .collect()
}

#[test]
fn r3_3_an_index_of_any_size() {
    let runtime = runtime();
    runtime.block_on(async {
        let provider = Provider::start().await;
        let http = Http::new(Limits::default());
        for (streams, name_len, label) in [
            (500, 12, "Mine"),
            (500, 20, "A label"),
            (500, 12, &*"long label ".repeat(400)),
            (2_000, 16, "Mine"),
        ] {
            let body = schema(streams, name_len, label, &fields(20));
            let names = body["connectors"].as_array().unwrap().iter().flat_map(|connector| {
                connector["streams"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|row| row["name"].as_str().unwrap().to_owned())
            });
            let names = names.collect::<Vec<_>>();
            provider.answer_with(move |_| Reply::json(200, &body));
            for bounds in BOUNDS {
                let core = core_at(&provider.origin, &http, bounds);
                let answer = call(&core, "schema", &json!({})).await;
                assert!(!answer.is_error);
                for name in &names {
                    assert!(answer.text.contains(name.as_str()), "{name}");
                }
                let (text, structured) = (answer.text.len(), reader::wire_len(&answer));
                let by_names = if streams > 500 { names.len() * (name_len + 2) } else { 0 };
                assert!(
                    text + structured <= 16_384 + by_names,
                    "{streams} of {name_len}: {text} + {structured}"
                );
                assert!(structured <= bounds.structured, "{structured}");
            }
        }
    });
}

#[test]
fn r3_4_a_stream_of_a_thousand_fields() {
    let runtime = runtime();
    runtime.block_on(async {
        let provider = Provider::start().await;
        let http = Http::new(Limits::default());
        for (count, label) in [(40, "Mine"), (1_000, "Mine"), (1_000, &*"long label ".repeat(400))] {
            let body = schema(1, 8, label, &fields(count));
            provider.answer_with(move |_| Reply::json(200, &body));
            for bounds in BOUNDS {
                let core = core_at(&provider.origin, &http, bounds);
                for detail in ["compact", "full"] {
                    let arguments = json!({"stream": "0000ssss", "detail": detail});
                    let (mut listed, mut given) = (Vec::new(), Vec::new());
                    for answer in walk(&core, "schema", &arguments).await {
                        let flagged = answer.text.lines().filter_map(|line| {
                            let (name, flags) = line.strip_prefix("  field_")?.split_once(": ")?;
                            assert_eq!(flags, "t=string,eq,r=gte|lt,lex,a=count_distinct");
                            Some(name.parse::<usize>().unwrap())
                        });
                        if answer.text.starts_with('{') {
                            // The raw schema, complete.
                            assert_eq!(detail, "full");
                            assert!(
                                serde_json::from_str::<Value>(answer.text.lines().next().unwrap()).is_ok()
                            );
                            listed.extend(0..count);
                        } else {
                            listed.extend(flagged);
                        }
                        let structured = structured(&answer);
                        let fields = structured["data"]["connectors"][0]["streams"][0]["field_capabilities"]
                            .as_object()
                            .unwrap();
                        given.extend(fields.keys().map(|name| name[6..].parse::<usize>().unwrap()));
                    }
                    let all = (0..count).collect::<Vec<_>>();
                    assert_eq!((&listed, &given), (&all, &all), "every field with its flags, in both views");
                }
            }
        }
    });
}
