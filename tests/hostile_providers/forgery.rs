//! R4.9: what a provider sends is data. The text view has nothing hidden, no line break comes from data, and no line
//! of ours can be forged; the structured view has exactly the data that was sent.

use std::collections::BTreeSet;

use pdpp::mcp::protocol::service::ToolAnswer;
use pdpp::provider::http::{Http, Limits};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::provider::{Asked, Provider, Reply};
use super::reader::{self, structured};
use super::store::{Paging, Store, record};
use super::{BOUNDS, call, cases, core_at, made, runtime};

/// Words at the beginning of a line of ours that a reader acts upon.
const KEYWORDS: [&str; 6] = ["next", "more", "previous", "error", "match", "count"];

/// The lines of a text that a line-oriented reader acts upon: ids, calls, errors. It ignores indentation.
fn acted_upon(text: &str) -> Vec<String> {
    let acts = |line: &&str| {
        let line = line.trim_start();
        let line = line.strip_prefix("- ").unwrap_or(line);
        let word = line.split([':', '=', ' ']).next().unwrap_or("");
        let rest = &line[word.len()..];
        (KEYWORDS.contains(&word) && (rest.starts_with(": ") || word == "error"))
            || ((word == "id" || word == "connection_id") && rest.starts_with('='))
            || !reader::continuations(line).is_empty()
    };
    text.lines().filter(acts).map(str::to_owned).collect()
}

/// The shape of a text: the number of its lines, and the beginnings of those that a reader acts upon.
fn shape(text: &str) -> (usize, Vec<String>) {
    let begin = |line: &String| {
        let line = line.trim_start();
        line.split(['=', ':']).next().unwrap_or("").to_owned()
    };
    (text.lines().count(), acted_upon(text).iter().map(begin).collect())
}

/// Everything hostile that a test puts somewhere.
#[derive(Debug, Clone)]
struct Hostile {
    values: Vec<String>,
    keys: Vec<String>,
    stream: String,
    key: String,
    label: String,
    connection: String,
    id: String,
    cursor: String,
    code: String,
    message: String,
}

fn hostile() -> impl Strategy<Value = Hostile> {
    let text = made::hostile_text;
    let texts = || prop::collection::vec(made::hostile_text(), 3);
    let parts = ((texts(), texts(), text(), text()), (text(), text(), made::id()), (text(), text(), text()));
    parts.prop_map(|((values, keys, stream, key), (label, connection, id), (cursor, code, message))| {
        Hostile { values, keys, stream, key, label, connection, id, cursor, code, message }
    })
}

/// The same without anything hostile.
fn harmless() -> Hostile {
    let plain = |text: &str| text.to_owned();
    Hostile {
        values: vec![plain("x"); 3],
        keys: vec![plain("a"), plain("b"), plain("c")],
        stream: plain("s"),
        key: plain("k"),
        label: plain("l"),
        connection: plain("c"),
        id: plain("i"),
        cursor: plain("u"),
        code: plain("w"),
        message: plain("m"),
    }
}

fn list(hostile: &Hostile, rows: &[Value]) -> Value {
    json!({"object": "list", "data": rows, "has_more": true, "next_cursor": hostile.cursor,
        "next_changes_since": hostile.cursor, "meta": {"count": {"kind": hostile.code, "value": hostile.message},
        "recall": {"kind": hostile.message},
        "warnings": [{"code": hostile.code, "message": hostile.message}]}})
}

fn answer(hostile: &Hostile, asked: &Asked) -> Reply {
    let data = hostile.keys.iter().zip(&hostile.values).map(|(key, value)| (format!("{key}_"), json!(value)));
    let mut record =
        record(&hostile.stream, &hostile.connection, &hostile.id, &json!(data.collect::<Map<_, _>>()));
    record["display_name"] = json!(hostile.label);
    record["connector_key"] = json!(hostile.key);
    let segments = asked.segments.iter().map(String::as_str).collect::<Vec<_>>();
    match segments.as_slice() {
        ["schema"] => {
            let fields =
                hostile.keys.iter().map(|key| (key.clone(), json!(hostile.message))).collect::<Map<_, _>>();
            Reply::json(
                200,
                &json!({"object": "schema", "detail": "compact", "bearer": {"token_kind": hostile.code},
                    "connectors": [{"connector_key": hostile.key,
                        "granted_connections": [{"connection_id": hostile.connection, "display_name": hostile.label}],
                        "streams": [{"name": asked.parameter("stream").unwrap_or(&hostile.stream), "primary_key": [hostile.keys[0]],
                            "cursor_field": hostile.keys[1], "views": [{"id": hostile.code}],
                            "expand_capabilities": [{"name": hostile.code, "usable": true, "max_limit": hostile.message}],
                            "field_capabilities": fields}]}],
                    "meta": {"warnings": [{"code": hostile.code, "message": hostile.message}]}}),
            )
        }
        ["streams", _, "records"] => Reply::json(200, &list(hostile, &[record])),
        ["search"] => {
            let hit = json!({"record_key": hostile.id, "stream": hostile.stream, "connection_id": hostile.connection,
                "connector_id": hostile.key, "display_name": hostile.label, "title": hostile.message,
                "evidence_excerpts": [{"field_path": hostile.keys[0], "preview_text": hostile.values[0], "truncated": true}]});
            Reply::json(200, &list(hostile, &[hit]))
        }
        ["streams", _, "records", _] => Reply::json(200, &record),
        ["streams", _, "records", _, "field-window"] => Reply::json(
            200,
            &json!({"object": "field_window", "field": {"path": hostile.keys[0]},
                "meta": {"warnings": [{"code": hostile.code, "message": hostile.message}]},
                "window": {"text": hostile.values[0], "start_chars": 0, "end_chars": 9, "total_chars": hostile.message,
                    "complete": hostile.code, "next_offset_chars": 9}}),
        ),
        ["streams", _, "aggregate"] => Reply::json(
            200,
            &json!({"object": "aggregate", "metric": hostile.code, "field": hostile.keys[0], "group_by": hostile.keys[1],
                "granularity": hostile.message, "time_zone": hostile.code, "value": hostile.values[0],
                "approximate": hostile.message, "other_count": 3,
                "groups": [{"key": hostile.values[0], "count": 1, "extra": hostile.message}, {"key": hostile.values[1], "count": hostile.code}],
                "meta": {"warnings": [{"code": hostile.code, "message": hostile.message}]}}),
        ),
        _ => Reply::raw(404, "text/plain", ""),
    }
}

const CALLS: [(&str, &str); 7] = [
    ("schema", "{}"),
    ("schema", r#"{"stream":"s"}"#),
    ("query_records", r#"{"stream":"s"}"#),
    ("search", r#"{"q":"x"}"#),
    ("fetch", r#"{"id":"c/s:i"}"#),
    ("read_record_field", r#"{"id":"c/s:i","field_path":"f"}"#),
    ("aggregate", r#"{"stream":"s","metric":"count","group_by":"f"}"#),
];

async fn all(provider: &Provider, http: &Http, hostile: Hostile) -> Vec<ToolAnswer> {
    provider.answer_with(move |asked| answer(&hostile, asked));
    let mut answers = Vec::new();
    for (tool, arguments) in CALLS {
        let core = core_at(&provider.origin, http, BOUNDS[2]);
        answers.push(call(&core, tool, &serde_json::from_str(arguments).unwrap()).await);
    }
    answers
}

#[test]
fn r4_9_nothing_hostile_forges_a_line() {
    let runtime = runtime();
    let provider = runtime.block_on(Provider::start());
    let http = Http::new(Limits::default());
    let honest = runtime.block_on(all(&provider, &http, harmless()));
    cases(32)
        .run(&hostile(), |hostile| {
            let answers = runtime.block_on(all(&provider, &http, hostile));
            for ((tool, _), (honest, answer)) in CALLS.iter().zip(honest.iter().zip(&answers)) {
                let (lines, acted) = shape(&answer.text);
                let (honest_lines, honest_acted) = shape(&honest.text);
                let shape_of = |acted: &[String]| {
                    acted
                        .iter()
                        // A record that no handle can carry is named by its parts.
                        .map(|begin| {
                            if begin.ends_with("connection_id") {
                                begin.replace("connection_id", "id")
                            } else {
                                begin.clone()
                            }
                        })
                        .collect::<Vec<_>>()
                };
                // An excerpt without a field behind it has no separate line, for example: fewer lines are possible,
                // but never one that honest data would not give.
                prop_assert!(lines <= honest_lines + 1, "{tool}: {}\n---\n{}", answer.text, honest.text);
                let mut allowed = shape_of(&honest_acted);
                for begin in shape_of(&acted) {
                    let at = allowed.iter().position(|known| *known == begin);
                    prop_assert!(at.is_some(), "{tool}: `{begin}` is forged in\n{}", answer.text);
                    allowed.remove(at.unwrap());
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn r4_9_structured_output_is_the_data() {
    let runtime = runtime();
    let provider = runtime.block_on(Provider::start());
    let http = Http::new(Limits::default());
    cases(32)
        .run(&(made::hostile_text(), made::hostile_text(), made::id()), |(key, value, id)| {
            let record =
                record("notes", "cin_a", &id, &json!({key.clone(): value.clone(), "n": [value, {key: 1}]}));
            let store = Store::new("notes", vec![record.clone()], Paging::Honest);
            provider.answer_with(move |asked| store.answer(asked));
            let core = core_at(&provider.origin, &http, BOUNDS[2]);
            let answer = runtime.block_on(call(&core, "query_records", &json!({"stream": "notes"})));
            let structured = structured(&answer);
            prop_assert_eq!(&structured["data"]["data"][0], &record);
            // On the wire it is the same JSON, with nothing hidden in it.
            let wire = pdpp::ui::json_ascii_controls(&structured.to_string()).into_owned();
            prop_assert!(pdpp::text::exposed(&wire).next().is_none());
            prop_assert_eq!(serde_json::from_str::<Value>(&wire).unwrap(), structured);
            Ok(())
        })
        .unwrap();
}

#[test]
fn r4_9_hostile_refusals_are_bounded_and_on_their_lines() {
    let runtime = runtime();
    let provider = runtime.block_on(Provider::start());
    let http = Http::new(Limits::default());
    let strategy =
        (hostile(), 1usize..200, prop::sample::select(vec![400u16, 401, 403, 404, 409, 410, 422, 429, 500]));
    cases(16)
        .run(&strategy, |(hostile, times, status)| {
            let long = |text: &str| text.repeat(times);
            let connections = (0..40).map(|n| {
                json!({"connection_id": format!("{}{n}", hostile.connection), "display_name": long(&hostile.label),
                    "connector_key": long(&hostile.key), "grant_id": long(&hostile.id)})
            });
            let body = json!({"error": {"code": long(&hostile.code), "message": long(&hostile.message),
                "param": long(&hostile.values[0]), "request_id": long(&hostile.values[1]),
                "available_connections": connections.collect::<Vec<_>>()}});
            // Written once, because it would take most of this test's time.
            let refusal = Reply::json(status, &body).with("request-id", "req_1");
            provider.answer_with(move |_| refusal.clone());
            for (tool, arguments) in &CALLS[1..] {
                let core = core_at(&provider.origin, &http, BOUNDS[0]);
                let answer = runtime.block_on(call(&core, tool, &serde_json::from_str(arguments).unwrap()));
                prop_assert!(answer.is_error);
                let nexts = answer.text.lines().filter(|line| line.trim_start().starts_with("next:")).count();
                prop_assert_eq!(nexts, 1, "{}", answer.text);
                let errors = answer.text.lines().filter(|line| line.trim_start().starts_with("error ")).count();
                prop_assert_eq!(errors, 1, "{}", answer.text);
                let ids = answer.text.lines().filter(|line| line.trim_start().starts_with("id="));
                prop_assert_eq!(ids.count(), 0, "{}", answer.text);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn r4_9_an_index_of_streams_named_like_our_lines() {
    let runtime = runtime();
    runtime.block_on(async {
        let provider = Provider::start().await;
        let http = Http::new(Limits::default());
        for key in made::TRAPS {
            let streams = made::TRAPS.map(|name| json!({"name": name, "field_capabilities": {}}));
            let body = json!({"object": "schema", "detail": "compact", "connectors": [{"connector_key": key, "streams": streams}]});
            provider.answer_with(move |_| Reply::json(200, &body));
            let core = core_at(&provider.origin, &http, BOUNDS[1]);
            let answer = call(&core, "schema", &json!({})).await;
            assert_eq!(acted_upon(&answer.text), Vec::<String>::new(), "{}", answer.text);
            let heading = answer.text.lines().next().unwrap();
            let names = made::TRAPS.iter().filter(|name| !heading.contains(&pdpp::mcp::line::token(name)));
            assert_eq!(names.collect::<BTreeSet<_>>(), BTreeSet::new());
        }
    });
}

#[test]
fn r4_9_a_lone_surrogate_costs_a_character_not_the_page() {
    let runtime = runtime();
    runtime.block_on(async {
        let provider = Provider::start().await;
        let http = Http::new(Limits::default());
        let body = r#"{"object":"list","has_more":false,"data":[
            {"object":"record","id":"r1","stream":"notes","connection_id":"cin_a","data":{"a\udfff":"x\ud800y","b":"\ud83d\ude00","c":"\\ud800"}},
            {"object":"record","id":"r2","stream":"notes","connection_id":"cin_a","data":{"$serde_json::private::Number":"no number"}},
            {"object":"record","id":"r3","stream":"notes","connection_id":"cin_a","data":{"\u0024serde_json::private::RawValue":"[1]"}}]}"#;
        provider.answer_with(move |_| Reply::raw(200, "application/json", body));
        let core = core_at(&provider.origin, &http, BOUNDS[1]);
        let answer = call(&core, "query_records", &json!({"stream": "notes"})).await;
        assert!(!answer.is_error, "{}", answer.text);
        let rows = structured(&answer)["data"]["data"].clone();
        assert_eq!(rows[0]["data"], json!({"a\u{fffd}": "x\u{fffd}y", "b": "\u{1f600}", "c": "\\ud800"}));
        assert_eq!(rows[1]["data"], json!({"\u{fffd}serde_json::private::Number": "no number"}));
        assert_eq!(rows[2]["data"], json!({"\u{fffd}serde_json::private::RawValue": "[1]"}));
        assert_eq!(reader::ids(&answer.text).len(), 3);
    });
}
