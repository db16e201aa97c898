//! Arbitrary input: arguments, ids and bodies of any shape never cause a panic, never lose a call, and stay within
//! bounds (R3.0, R5.2).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pdpp::mcp::call::Tool;
use pdpp::mcp::id::RecordId;
use pdpp::mcp::tools::arguments::{Given, checked};
use pdpp::mcp::tools::surface;
use pdpp::provider::http::{Http, Limits};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::provider::{Asked, Provider, Reply};
use super::store::{Paging, Store, record};
use super::{BOUNDS, call, cases, core_at, made, object, runtime};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        made::hostile_text().prop_map(Value::from),
        (made::hostile_text(), 1usize..600).prop_map(|(text, times)| Value::from(text.repeat(times))),
        Just(serde_json::from_str("123456789012345678901234567890").unwrap()),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(made::name(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Arguments with a tool's own names and values of any kind, and sometimes with an unknown name.
fn arguments() -> impl Strategy<Value = (&'static str, Map<String, Value>)> {
    let known = Tool::ALL
        .into_iter()
        .flat_map(|tool| surface::input_schema(tool)["properties"].as_object().unwrap().clone());
    let mut names = known.map(|(name, _)| name).collect::<Vec<_>>();
    names.sort();
    names.dedup();
    let plausible = prop_oneof![
        Just(json!("notes")),
        Just(json!("cin_a/notes:r1")),
        Just(json!("count")),
        Just(json!(5)),
        Just(json!("json:3")),
        Just(json!(["a"])),
        Just(json!({"a": {"gte": 1}})),
        Just(json!("pdpp1.eyJxIjowLCJwIjpbe31dfQ")),
    ];
    let name = prop_oneof![12 => prop::sample::select(names), 1 => made::name()];
    let value = prop_oneof![2 => plausible, 1 => any_json()];
    (prop::sample::select(Tool::ALL.map(Tool::name).to_vec()), prop::collection::vec((name, value), 0..6))
        .prop_map(|(tool, pairs)| (tool, pairs.into_iter().collect()))
}

/// For any input, no parameter name can be forged, and nothing panics.
#[test]
fn r3_60_filter_parameters_are_well_formed() {
    cases(64)
        .run(&any_json(), |filter| {
            let given = Map::from_iter([("q".into(), json!("x")), ("filter".into(), filter)]);
            let Ok(pairs) =
                checked(Tool::Search, given).map(|call| Given(&call).filter().unwrap().to_query())
            else {
                return Ok(());
            };
            for (name, _) in pairs {
                let inner = name.strip_prefix("filter[").and_then(|rest| rest.strip_suffix(']')).unwrap();
                let field = ["gte", "gt", "lte", "lt"]
                    .iter()
                    .find_map(|op| inner.strip_suffix(&format!("][{op}")))
                    .unwrap_or(inner);
                prop_assert!(!field.is_empty() && !field.contains(['[', ']']));
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn r5_2_any_arguments_are_answered() {
    let runtime = runtime();
    let provider = runtime.block_on(Provider::start());
    let http = Http::new(Limits::default());
    let store = Store::new("notes", vec![record("notes", "cin_a", "r1", &json!({"a": "x"}))], Paging::Honest);
    provider.answer_with(move |asked| match asked.parameter("cursor") {
        Some(_) => super::store::refuse(400, "invalid_cursor", "not a cursor of this list"),
        None => store.answer(asked),
    });
    cases(100)
        .run(&(arguments(), 0usize..BOUNDS.len()), |((tool, arguments), bounds)| {
            let core = core_at(&provider.origin, &http, BOUNDS[bounds]);
            let answer = runtime.block_on(call(&core, tool, &Value::Object(arguments)));
            if answer.is_error {
                let error = &answer.structured_map()["error"];
                prop_assert!(error["code"].as_str().is_some_and(|code| !code.is_empty()), "{}", answer.text);
                prop_assert!(answer.text.contains("\nnext: "), "{}", answer.text);
            }
            Ok(())
        })
        .unwrap();
}

fn places(value: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    visit(value);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| places(item, visit)),
        Value::Object(fields) => fields.values_mut().for_each(|field| places(field, visit)),
        _ => {}
    }
}

/// An honest body with something else in this one of its places, if it has that many.
fn spoiled_at(body: &Value, at: usize, value: &Value) -> Value {
    let (mut spoiled, mut n) = (body.clone(), 0);
    places(&mut spoiled, &mut |place| {
        if n == at {
            *place = value.clone();
        }
        n += 1;
    });
    spoiled
}

/// An honest body with something else in some of its places.
fn spoiled(body: &Value, spoils: &[(usize, Value)]) -> Value {
    let mut spoiled = body.clone();
    let mut total = 0;
    places(&mut spoiled, &mut |_| total += 1);
    for (at, value) in spoils {
        let mut n = 0;
        places(&mut spoiled, &mut |place| {
            // The body itself is damaged elsewhere.
            if n == at % total && n > 0 {
                *place = value.clone();
            }
            n += 1;
        });
    }
    spoiled
}

pub fn honest(asked: &Asked) -> Value {
    let segments = asked.segments.iter().map(String::as_str).collect::<Vec<_>>();
    let connection = json!({"connection_id": "cin_a", "display_name": "Mine", "grant_id": "grt_1", "connector_key": "mail"});
    let meta = json!({"count": {"kind": "exact", "value": 3}, "recall": {"complete": true}, "warnings": [{"code": "w", "message": "m"}]});
    let record = json!({"object": "record", "id": "r1", "stream": "notes", "connection_id": "cin_a", "display_name": "Mine",
        "connector_key": "https://x.example/mail", "connector_id": "mail", "emitted_at": "2026-01-02T03:04:05Z", "source_url": "https://x.example/1",
        "data": {"id": "r1", "title": "T", "body": "x".repeat(12_000), "list": [1, {"a": "b"}], "blob_ref": {"blob_id": "b1"}},
        "expanded": {"children": {"object": "list", "data": [{"object": "record", "id": "r2", "stream": "kids", "data": {"a": 1}}]}},
        "meta": {"warnings": []}});
    match segments.as_slice() {
        ["schema"] => {
            json!({"object": "schema", "detail": "compact", "bearer": {"token_kind": "client"}, "connectors": [{
            "connector_key": "mail", "connector_id": "mail", "source": {"id": "https://x.example"}, "granted_connections": [connection],
            "streams": [{"name": "notes", "primary_key": ["id"], "cursor_field": "at", "granted_connections": [connection],
                "views": [{"id": "v", "fields": ["a"]}], "expand_capabilities": [{"name": "kids", "usable": true, "max_limit": 5}],
                "schema": {"properties": {"title": {"type": "string"}}},
                "field_capabilities": {"title": "t=string,role=primary-title,eq", "body": {"type": "text", "lexical_search": {"usable": true},
                    "aggregation": {"min": {"usable": true}}, "range_filter": {"usable": true, "operators": ["gte"]}}}}]}], "meta": meta})
        }
        ["streams"] => {
            json!({"object": "list", "data": [{"name": "notes", "connection_id": "cin_a"}], "has_more": false})
        }
        ["streams", _, "records"] => {
            json!({"object": "list", "data": [record, record], "has_more": true, "next_cursor": "c2",
            "next_changes_since": "b", "links": {"next": "x"}, "meta": meta})
        }
        ["search", ..] => {
            json!({"object": "list", "data": [{"record_key": "r1", "stream": "notes", "connection_id": "cin_a",
            "connector_id": "mail", "display_name": "Mine", "matched_fields": ["body"], "score": 1, "snippet": {"field": "body", "text": "<mark>x</mark>"},
            "evidence_excerpts": [{"field_path": "body", "preview_text": "a <mark>x</mark>", "truncated": true, "read": {"q": "x"}}],
            "record_uri": "pdpp://record/cin_a%2Fnotes%3Ar1"}], "has_more": true, "next_cursor": "c2", "meta": meta})
        }
        ["streams", _, "records", _] => record,
        ["streams", _, "records", _, "field-window"] => {
            json!({"object": "field_window", "field": {"path": "body"}, "meta": meta,
            "window": {"text": "x".repeat(6_000), "start_chars": 0, "end_chars": 6_000, "total_chars": 9_000, "complete": false, "has_more": true,
                "next_offset_chars": 6_000, "previous_offset_chars": null, "match_start_chars": 1, "match_end_chars": 2}})
        }
        ["streams", _, "aggregate"] => {
            json!({"object": "aggregate", "metric": "count", "field": "f", "group_by_time": "at", "granularity": "day",
            "time_zone": "UTC", "value": 5, "groups": [{"key": "a", "count": 1}, {"key": null, "count": 2}], "other_count": 1,
            "filtered_record_count": 9, "approximate": true, "meta": meta})
        }
        _ => json!({"name": "notes", "schema": {"properties": {"a": {}}}}),
    }
}

const CALLS: [(&str, &str); 9] = [
    ("schema", "{}"),
    ("schema", r#"{"stream":"notes"}"#),
    ("schema", r#"{"stream":"notes","detail":"full","connection_id":"cin_a"}"#),
    ("query_records", r#"{"stream":"notes","fields":["title"],"expand":["kids"]}"#),
    ("search", r#"{"q":"x"}"#),
    ("fetch", r#"{"id":"cin_a/notes:r1"}"#),
    ("read_record_field", r#"{"id":"cin_a/notes:r1","field_path":"body"}"#),
    ("read_record_field", r#"{"id":"cin_a/notes:r1","field_path":"list","cursor":"json:0"}"#),
    ("aggregate", r#"{"stream":"notes","metric":"count","group_by_time":"at","granularity":"day"}"#),
];

#[test]
fn r5_2_any_body_is_answered() {
    let runtime = runtime();
    let provider = runtime.block_on(Provider::start());
    let http = Http::new(Limits::default());
    let spoils = prop::collection::vec((0usize..200, any_json()), 1..4);
    let status =
        prop_oneof![6 => Just(200u16), 1 => prop::sample::select(vec![201u16, 400, 401, 404, 409, 429, 500])];
    cases(24)
        .run(&(spoils, status, 0usize..BOUNDS.len()), |(spoils, status, bounds)| {
            provider.answer_with(move |asked| {
                let body = if status < 300 {
                    honest(asked)
                } else {
                    json!({"error": {"code": "c", "message": "m", "param": "p", "request_id": "r",
                        "available_connections": [{"connection_id": "a", "display_name": "b", "grant_id": "c", "connector_key": "d"}]}})
                };
                Reply::json(status, &spoiled(&body, &spoils))
            });
            for (tool, arguments) in CALLS {
                let core = core_at(&provider.origin, &http, BOUNDS[bounds]);
                let answer = runtime.block_on(call(&core, tool, &serde_json::from_str(arguments).unwrap()));
                prop_assert!(!answer.text.is_empty());
                prop_assert_eq!(answer.is_error, answer.structured_map().contains_key("error"));
            }
            Ok(())
        })
        .unwrap();
}

/// Each place of each body with more than fits there.
#[test]
fn r5_2_too_much_in_any_place_is_answered() {
    let runtime = runtime();
    let provider = runtime.block_on(Provider::start());
    let http = Http::new(Limits::default());
    let mut tried = 0;
    let cases = BOUNDS.into_iter().flat_map(|bounds| {
        // Mostly joiners, which are not escaped where they belong: it fits as text, but would not if all were counted
        // as escaped.
        let joiners = "👩\u{200d}".repeat(bounds.structured * 10 / 94);
        let much = [
            json!("\"\u{202e}".repeat(1_500)),
            json!(vec!["x"; 1_000]),
            json!({"k".repeat(3_000): "\\".repeat(3_000)}),
            json!(joiners),
            json!([joiners]),
        ];
        much.map(|much| (bounds, much))
    });
    for (bounds, much) in cases {
        for (tool, arguments) in CALLS {
            for at in 1.. {
                let (serve, is_there) = (much.clone(), Arc::new(AtomicBool::new(false)));
                let seen = Arc::clone(&is_there);
                provider.answer_with(move |asked| {
                    let body = honest(asked);
                    let spoiled = spoiled_at(&body, at, &serve);
                    seen.fetch_or(spoiled != body, Ordering::Relaxed);
                    Reply::json(200, &spoiled)
                });
                let core = core_at(&provider.origin, &http, bounds);
                let answer = runtime.block_on(call(&core, tool, &serde_json::from_str(arguments).unwrap()));
                assert!(!answer.text.is_empty(), "{tool}: place {at}");
                if !is_there.load(Ordering::Relaxed) {
                    break;
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 500, "{tried}");
}

/// Each number of each body at the ends of what a number can be.
#[test]
fn r5_2_any_number_is_answered() {
    fn numbers(value: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| numbers(item, visit)),
            Value::Object(fields) => fields.values_mut().for_each(|field| numbers(field, visit)),
            Value::Number(_) => visit(value),
            _ => {}
        }
    }
    let runtime = runtime();
    let provider = runtime.block_on(Provider::start());
    let http = Http::new(Limits::default());
    let mut tried = 0;
    for (tool, arguments) in CALLS {
        for extreme in [json!(u64::MAX), json!(i64::MIN), json!(1e300)] {
            for at in 0.. {
                let (serve, is_there) = (extreme.clone(), Arc::new(AtomicBool::new(false)));
                let seen = Arc::clone(&is_there);
                provider.answer_with(move |asked| {
                    let mut body = honest(asked);
                    let mut n = 0;
                    numbers(&mut body, &mut |number| {
                        if n == at {
                            *number = serve.clone();
                            seen.store(true, Ordering::Relaxed);
                        }
                        n += 1;
                    });
                    Reply::json(200, &body)
                });
                for bounds in BOUNDS {
                    let core = core_at(&provider.origin, &http, bounds);
                    let answer =
                        runtime.block_on(call(&core, tool, &serde_json::from_str(arguments).unwrap()));
                    assert!(!answer.text.is_empty(), "{tool}: number {at} as {extreme}");
                }
                if !is_there.load(Ordering::Relaxed) {
                    break;
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 60, "{tried}");
}

#[test]
fn r5_2_an_empty_object_is_an_answer() {
    let runtime = runtime();
    runtime.block_on(async {
        let provider = Provider::start().await;
        let http = Http::new(Limits::default());
        for body in [
            json!({}),
            json!({"data": null}),
            json!({"data": {"results": 5, "data": "x"}}),
            json!({"data": [1, null, "x", []]}),
        ] {
            let serve = body.clone();
            provider.answer_with(move |_| Reply::json(200, &serve));
            for (tool, arguments) in CALLS {
                let core = core_at(&provider.origin, &http, BOUNDS[0]);
                let answer = call(&core, tool, &serde_json::from_str(arguments).unwrap()).await;
                assert!(!answer.text.is_empty(), "{tool} of {body}");
            }
            if body["data"].is_array() {
                let core = core_at(&provider.origin, &http, BOUNDS[0]);
                let answer = call(&core, "query_records", &json!({"stream": "notes"})).await;
                let rows = answer.structured_map()["data"]["data"].clone();
                assert_eq!(rows.as_array().unwrap().len(), 4, "nothing disappears: {rows}");
            }
        }
    });
}

#[test]
fn r3_72_any_text_as_an_id_reads_what_it_names_or_is_refused() {
    let runtime = runtime();
    let provider = runtime.block_on(Provider::start());
    let http = Http::new(Limits::default());
    // Every request gets a record, whose path identifies it.
    provider.answer_with(|asked| match asked.segments.as_slice() {
        [streams, stream, records, id] if streams == "streams" && records == "records" => {
            Reply::json(200, &json!({"object": "record", "id": id, "stream": stream, "data": {"id": id}}))
        }
        [schema] if schema == "schema" => {
            Reply::json(200, &json!({"object": "schema", "detail": "compact", "connectors": []}))
        }
        other => Reply::json(500, &json!({"error": {"code": "path", "message": format!("{other:?}")}})),
    });
    let text = prop_oneof![
        made::hostile_text(),
        any::<String>(),
        "[a-c./:%\\\\2EeFf ]{0,14}",
        "(pdpp://record/)?[a-z]{1,3}/[a-z]{1,3}:[a-z%2F./\\\\:]{1,12}",
    ];
    cases(75)
        .run(&text, |text| {
            let core = core_at(&provider.origin, &http, BOUNDS[1]);
            let answer = runtime.block_on(call(&core, "fetch", &Value::Object(object(json!({"id": text})))));
            match RecordId::parse(&text) {
                Ok(id) => {
                    prop_assert!(!answer.is_error, "{}", answer.text);
                    let document = Value::Object(answer.structured_map());
                    prop_assert_eq!(&document["metadata"]["record_id"], &json!(id.record));
                    prop_assert_eq!(&document["text"], &json!(id.record));
                }
                Err(_) => prop_assert!(answer.is_error, "{text:?}: {}", answer.text),
            }
            Ok(())
        })
        .unwrap();
}
