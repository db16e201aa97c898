//! R3.10 to R3.15, R3.20, R3.40 to R3.73, R4.3, R4.5, R5.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pdpp::mcp::protocol::service::{ResourceContents, ResourceError, Service as _};
use serde_json::{Value, json};

use super::fake::{Asked, Fake, list, note, refusal, schema, structured};

fn record(data: &Value) -> Value {
    json!({"object": "record", "id": "r1", "stream": "notes", "connection_id": "a", "connector_key": "mail",
        "display_name": "Box a", "emitted_at": "2024-01-01T00:00:00Z", "data": data})
}

fn with_schema(
    answer: impl Fn(&Asked) -> (u16, Value) + Send + Sync + 'static,
) -> impl Fn(&Asked) -> (u16, Value) + Send + Sync {
    move |asked| if asked.path == "/schema" { (200, schema(&["a"])) } else { answer(asked) }
}

#[tokio::test]
async fn r3_10_arguments_are_forwarded_and_none_invented() {
    let fake = Fake::start(with_schema(|_| (200, list(Vec::new(), None)))).await;
    fake.call("query_records", json!({"stream": "notes"})).await;
    assert_eq!(fake.asked(), ["/streams/notes/records"]);
    let all = json!({"stream": "notes", "limit": 5, "order": "asc", "sort": "at", "count": "exact", "filter": {"title": "x"},
        "fields": ["title", "at"], "view": "v", "cursor": "C", "connection_id": "a"});
    fake.call("query_records", all).await;
    assert_eq!(
        fake.asked(),
        [
            "/streams/notes/records?order=asc&sort=at&count=exact&filter[title]=x&fields=title,at&view=v&limit=5&cursor=C&connection_id=a"
        ]
    );
}

#[tokio::test]
async fn r3_10_a_refused_feature_is_passed_on_with_what_works() {
    let fake = Fake::start(with_schema(|_| {
        // As the reference refuses it: the argument is named, and nothing is inferred from the words.
        let mut refused = refusal("invalid_request", "filter is not supported for client tokens");
        refused["error"]["param"] = json!("filter");
        (400, refused)
    }))
    .await;
    let answer = fake.call("query_records", json!({"stream": "notes", "filter": {"title": "x"}})).await;
    assert!(answer.is_error);
    for part in [
        "error invalid_request: filter is not supported",
        "request_id=\"req_7\"",
        "this provider does not accept filter for a grant; leave it out and narrow with fields, sort, limit",
    ] {
        assert!(answer.text.contains(part), "{part} in\n{}", answer.text);
    }
}

#[tokio::test]
async fn r3_12_the_envelope_is_the_providers() {
    let body = list(vec![note("a", "1", "2024")], Some("C"));
    let sent = body.clone();
    let fake = Fake::start(with_schema(move |_| (200, body.clone()))).await;
    let answer = fake.call("query_records", json!({"stream": "notes", "limit": 1})).await;
    assert_eq!(structured(&answer)["data"], sent);
    assert_eq!(
        structured(&answer)["next"]["arguments"],
        json!({"stream": "notes", "limit": 1, "cursor": "C"})
    );
    assert!(
        answer.text.contains(r#"next: query_records {"cursor":"C","limit":1,"stream":"notes"}"#),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn r3_13_fields_narrow_also_where_the_provider_ignores_them() {
    let fake = Fake::start(with_schema(|_| (200, list(vec![note("a", "1", "2024")], None)))).await;
    let answer = fake.call("query_records", json!({"stream": "notes", "fields": ["title"]})).await;
    assert_eq!(structured(&answer)["data"]["data"][0]["data"], json!({"id": "1", "title": "Note 1"}));
    assert!(!answer.text.contains("body="), "{}", answer.text);
}

/// A provider that cannot page over two connections: pages of one, with an offset as the cursor.
fn two_boxes(asked: &Asked) -> (u16, Value) {
    if asked.path == "/schema" {
        return (200, schema(&["a", "b"]));
    }
    let rows = |connection: &str| {
        (0..7)
            .map(|n| {
                note(
                    connection,
                    &format!("{connection}{n}"),
                    &format!("2024-01-{:02}", 20 - 2 * n - usize::from(connection == "b")),
                )
            })
            .collect::<Vec<_>>()
    };
    let limit = asked.get("limit").map_or(25, |limit| limit.parse().unwrap());
    let Some(connection) = asked.get("connection_id") else {
        let mut both = rows("a")[..limit.min(7)].to_vec();
        both.extend_from_slice(&rows("b")[..limit.min(7)]);
        let mut body = list(both, None);
        body["has_more"] = json!(true);
        body["meta"]["warnings"] =
            json!([{"code": "partial_results", "message": "no cursor over several connections"}]);
        return (200, body);
    };
    let from: usize = asked.get("cursor").map_or(0, |cursor| cursor.parse().unwrap());
    let rows = rows(connection);
    let to = (from + limit).min(rows.len());
    (200, list(rows[from..to].to_vec(), (to < rows.len()).then_some(to.to_string()).as_deref()))
}

#[tokio::test]
async fn r3_15_one_cursor_walks_two_connections_in_order_without_loss_or_repeat() {
    let fake = Fake::start(two_boxes).await;
    // The schema has been read once, to learn the order of the stream.
    fake.call("schema", json!({"stream": "notes"})).await;
    for limit in [1, 3, 4, 25] {
        let mut arguments = json!({"stream": "notes", "limit": limit});
        let (mut seen, mut times, mut pages) = (Vec::new(), Vec::new(), 0);
        loop {
            let answer = fake.call("query_records", arguments).await;
            let view = structured(&answer);
            for row in view["data"]["data"].as_array().unwrap() {
                seen.push(row["id"].as_str().unwrap().to_owned());
                times.push(row["data"]["at"].as_str().unwrap().to_owned());
            }
            pages += 1;
            assert!(pages < 30, "it ends");
            // R4.8: one read for each connection; the first page also requests both at once.
            let reads = fake.asked().len();
            assert!(reads <= if pages == 1 { 3 } else { 2 }, "limit {limit}, page {pages}: {reads}");
            match view.get("next") {
                Some(next) => arguments = next["arguments"].clone(),
                None => break,
            }
        }
        let unique = seen.iter().collect::<BTreeSet<_>>();
        assert_eq!((seen.len(), unique.len()), (14, 14), "limit {limit}: {seen:?}");
        if limit > 1 {
            assert!(times.is_sorted_by(|earlier, later| earlier >= later), "limit {limit}: {times:?}");
        }
    }
}

/// Notes of which some do not fit one result, with the provider's own cursor; each read adds one more.
fn growing(reads: &AtomicUsize, asked: &Asked) -> (u16, Value) {
    if asked.path == "/schema" {
        return (200, schema(&["a"]));
    }
    let newest = 40 + reads.fetch_add(1, Ordering::Relaxed);
    let limit = asked.get("limit").map_or(25, |limit| limit.parse().unwrap());
    let from: usize = asked.get("cursor").map_or(newest, |cursor| cursor.parse().unwrap());
    let numbers = (0..from).rev().take(limit).collect::<Vec<_>>();
    let next = numbers.last().filter(|last| **last > 0).map(usize::to_string);
    let row = |n: &usize| {
        let mut row = note("a", &format!("n{n}"), "2024");
        row["data"]["body"] = json!("x".repeat(900));
        row
    };
    (200, list(numbers.iter().map(row).collect(), next.as_deref()))
}

#[tokio::test]
async fn r4_8_a_page_costs_one_read_and_what_comes_meanwhile_repeats_nothing() {
    let reads = AtomicUsize::new(0);
    let fake = Fake::start(move |asked| growing(&reads, asked)).await;
    for (limit, pages) in [(None, 5..=9), (Some(4), 11..=13), (Some(100), 5..=9)] {
        let mut arguments = json!({"stream": "notes"});
        if let Some(limit) = limit {
            arguments["limit"] = json!(limit);
        }
        let mut seen = Vec::new();
        let mut walked = 0;
        while arguments.is_object() {
            let answer = structured(&fake.call("query_records", arguments.clone()).await);
            let asked = fake.asked();
            assert_eq!(asked.len(), 1, "limit {limit:?}, page {walked}: {asked:?}");
            let rows = answer["data"]["data"].as_array().unwrap();
            seen.extend(rows.iter().map(|row| row["id"].as_str().unwrap()[1..].parse::<usize>().unwrap()));
            arguments = answer["next"]["arguments"].clone();
            walked += 1;
        }
        assert!(pages.contains(&walked), "limit {limit:?}: {walked} pages");
        assert!(seen[0] >= 39 && seen.last() == Some(&0), "{seen:?}");
        assert!(seen.windows(2).all(|pair| pair[0] == pair[1] + 1), "none lost, none twice: {seen:?}");
    }
}

/// Notes of which some do not fit one result, the newest first, with the number of the last one as the cursor.
fn kept(numbers: &BTreeSet<usize>, asked: &Asked) -> (u16, Value) {
    if asked.path == "/schema" {
        return (200, schema(&["a"]));
    }
    let from: usize = asked.get("cursor").map_or(usize::MAX, |cursor| cursor.parse().unwrap());
    let limit = asked.get("limit").map_or(25, |limit| limit.parse().unwrap());
    let rows = numbers.range(..from).rev().take(limit).collect::<Vec<_>>();
    let next = rows.last().filter(|last| numbers.first() < Some(last)).map(ToString::to_string);
    let row = |n: &&usize| {
        let mut row = note("a", &format!("n{n}"), "2024");
        row["data"]["body"] = json!("x".repeat(700));
        row
    };
    let mut body = list(rows.iter().map(row).collect(), next.as_deref());
    if asked.get("changes_since").is_some() || asked.get("cursor").is_some() {
        assert_ne!(asked.get("changes_since").is_some(), asked.get("cursor").is_some());
        body["next_changes_since"] = json!("BOOKMARK");
    }
    (200, body)
}

#[tokio::test]
async fn r4_8_what_goes_or_comes_between_two_pages_loses_and_repeats_nothing() {
    let begin = || (0..60).map(|n| 10 * n).collect::<BTreeSet<usize>>();
    let numbers = Arc::new(Mutex::new(begin()));
    let now = Arc::clone(&numbers);
    let fake = Fake::start(move |asked| kept(&now.lock().unwrap(), asked)).await;
    for (limit, since, gone, come) in [
        (None, None, 1, 0),
        (None, None, 3, 2),
        (Some(100), None, usize::MAX, 0),
        (Some(100), None, usize::MAX, 3),
        (Some(7), Some("beginning"), 2, 1),
        (Some(100), Some("beginning"), 2, 1),
    ] {
        *numbers.lock().unwrap() = begin();
        let mut always = begin();
        let mut arguments = json!({"stream": "notes", "limit": limit, "changes_since": since});
        arguments.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let mut seen: Vec<usize> = Vec::new();
        while arguments.is_object() {
            let answer = structured(&fake.call("query_records", arguments.clone()).await);
            assert_eq!(fake.asked().len(), 1, "R4.8: one read a page");
            let rows = answer["data"]["data"].as_array().unwrap();
            seen.extend(rows.iter().map(|row| row["id"].as_str().unwrap()[1..].parse::<usize>().unwrap()));
            arguments = answer["next"]["arguments"].clone();
            let mut numbers = numbers.lock().unwrap();
            for number in seen.iter().rev().take(gone) {
                numbers.remove(number);
                always.remove(number);
            }
            let last = *seen.last().unwrap();
            numbers.extend((0..come).flat_map(|n| [1_000 + seen.len() + n, last + 1 + n]));
        }
        let unique = seen.iter().collect::<BTreeSet<_>>();
        assert_eq!(unique.len(), seen.len(), "none twice: {seen:?}");
        assert!(always.iter().all(|number| seen.contains(number)), "none lost: {seen:?}");
        let all = begin();
        assert!(seen.iter().filter(|number| all.contains(number)).is_sorted_by(|a, b| a > b), "{seen:?}");
        assert_eq!(unique.iter().filter(|number| all.contains(number)).count(), 60, "{seen:?}");
    }
}

#[tokio::test]
async fn a_streams_schema_is_read_once_for_a_call_and_not_again_after_schema() {
    let schemas = |fake: &Fake| {
        let asked = fake.asked_all();
        asked.iter().filter(|line| line.starts_with("/schema")).count()
    };
    let with_fields = || json!({"stream": "notes", "fields": ["title"], "filter": {"title": "x"}});
    let fake = Fake::start(two_boxes).await;
    assert!(
        !fake
            .call("query_records", json!({"stream": "notes", "fields": ["title"], "limit": 3}))
            .await
            .is_error
    );
    assert_eq!(schemas(&fake), 1, "whoever needs it waits for the one answer");
    assert!(!fake.call("query_records", with_fields()).await.is_error);
    assert_eq!(schemas(&fake), 0);

    let fake = Fake::start(two_boxes).await;
    fake.call("schema", json!({})).await;
    assert_eq!(schemas(&fake), 1);
    let answer = fake.call("query_records", with_fields()).await;
    assert_eq!(structured(&answer)["data"]["data"][0]["data"], json!({"id": "a0", "title": "Note a0"}));
    assert_eq!(schemas(&fake), 0, "schema said it");
    fake.call("query_records", json!({"stream": "notes", "expand": ["replies"]})).await;
    assert_eq!(schemas(&fake), 1, "R3.62: what can be expanded is asked anew");
}

#[tokio::test]
async fn r3_20_aggregates_are_numbers_in_the_text() {
    let fake = Fake::start(|asked| {
        let mut body = json!({"object": "aggregation", "metric": "sum", "field": "n", "stream": "notes", "meta": {"warnings": []}});
        if asked.get("group_by").is_some() {
            body["group_by"] = json!("kind");
            body["groups"] = json!([{"key": "x", "count": 3}, {"key": null, "count": 1}]);
            body["other_count"] = json!(9);
        } else {
            body["value"] = json!(12.5);
        }
        (200, body)
    })
    .await;
    let answer = fake.call("aggregate", json!({"stream": "notes", "metric": "sum", "field": "n"})).await;
    assert!(answer.text.starts_with("sum of n in notes = 12.5"), "{}", answer.text);
    let answer =
        fake.call("aggregate", json!({"stream": "notes", "metric": "count", "group_by": "kind"})).await;
    assert!(
        answer.text.contains(
            "\"x\": 3\nnull: 1\nother_count=9 (records in further groups: the next call shows them)"
        ),
        "{}",
        answer.text
    );
    assert!(
        answer.text.contains("\n2 groups shown, the largest first; limit sets how many\n"),
        "{}",
        answer.text
    );
    assert_eq!(structured(&answer)["data"]["groups"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        structured(&answer)["next"]["arguments"],
        json!({"stream": "notes", "metric": "count", "group_by": "kind", "limit": 100, "cursor": "groups:2"})
    );
}

/// A provider that returns at most 40 of its 60 groups, whatever the limit.
fn many_groups(asked: &Asked) -> (u16, Value) {
    let limit = asked.get("limit").map_or(10, |limit| limit.parse().unwrap()).min(40);
    let groups = (0..limit).map(|n| json!({"key": format!("k{n}"), "count": 60 - n})).collect::<Vec<_>>();
    (
        200,
        json!({"object": "aggregation", "metric": "count", "group_by": "kind", "stream": "notes", "limit": limit,
            "groups": groups, "other_count": 7, "meta": {"warnings": []}}),
    )
}

#[tokio::test]
async fn r4_8_groups_are_walked_to_what_the_provider_gives() {
    let fake = Fake::bounded(pdpp::mcp::size::Bounds { text: 4_000, structured: 4_000 }, many_groups).await;
    let mut arguments = json!({"stream": "notes", "metric": "count", "group_by": "kind"});
    let mut keys = Vec::new();
    let last = loop {
        let answer = fake.call("aggregate", arguments).await;
        assert!(!answer.is_error, "{}", answer.text);
        for group in structured(&answer)["data"]["groups"].as_array().unwrap() {
            assert!(
                answer.text.contains(&format!("{}: {}\n", group["key"], group["count"])),
                "{}",
                answer.text
            );
            keys.push(group["key"].as_str().unwrap().to_owned());
        }
        match structured(&answer).get("next") {
            Some(next) => arguments = next["arguments"].clone(),
            None => break answer,
        }
    };
    assert_eq!(keys, (0..40).map(|n| format!("k{n}")).collect::<Vec<_>>(), "each once");
    assert!(
        last.text.contains("other_count=7 (records in further groups: narrow with filter)"),
        "{}",
        last.text
    );
    let answer = fake
        .call(
            "aggregate",
            json!({"stream": "notes", "metric": "count", "group_by": "kind", "cursor": "groups:10"}),
        )
        .await;
    assert_eq!(structured(&answer)["error"]["code"], "invalid_cursor");
}

#[tokio::test]
async fn a_groups_cursor_goes_with_the_limit_of_its_own_call_whatever_its_number() {
    let fake = Fake::start(many_groups).await;
    let call = |cursor: &str| json!({"stream": "notes", "metric": "count", "group_by": "kind", "limit": 3, "cursor": cursor});
    let answer = fake.call("aggregate", call("groups:3")).await;
    let groups = structured(&answer)["data"]["groups"].clone();
    let keys: Vec<_> =
        groups.as_array().unwrap().iter().map(|group| group["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["k3", "k4", "k5"]);
    let answer = fake.call("aggregate", call("groups:18446744073709551615")).await;
    assert_eq!(structured(&answer)["error"]["code"], "invalid_cursor");
}

#[tokio::test]
async fn r3_60_groups_of_two_kinds_or_half_a_period_are_refused_before_the_provider() {
    let fake = Fake::start(|_| (200, json!({}))).await;
    for (given, code, param, next) in [
        (
            json!({"group_by": "a", "group_by_time": "at", "granularity": "day"}),
            "conflicting_arguments",
            "group_by",
            "leave one out",
        ),
        (json!({"group_by_time": "at"}), "missing_argument", "granularity", "one of minute, hour"),
        (json!({"granularity": "day"}), "missing_argument", "group_by_time", "name the time field"),
        (
            json!({"group_by": "at", "granularity": "day"}),
            "missing_argument",
            "group_by_time",
            r#""granularity":"day","group_by_time":"at""#,
        ),
    ] {
        let mut arguments = json!({"stream": "notes", "metric": "count"});
        arguments.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
        let answer = fake.call("aggregate", arguments).await;
        let error = &structured(&answer)["error"];
        assert_eq!((error["code"].as_str(), error["param"].as_str()), (Some(code), Some(param)));
        assert!(answer.text.lines().last().unwrap().contains(next), "{error}");
        assert!(fake.asked_all().is_empty());
    }
}

#[tokio::test]
async fn r3_21_the_description_explains_other_count() {
    let tools = pdpp::mcp::tools::surface::tools();
    let description =
        tools.iter().find(|tool| tool.name == "aggregate").unwrap().description.clone().unwrap();
    assert!(description.contains("other_count above 0 means that only the top groups are shown"));
}

#[tokio::test]
async fn r3_40_r3_41_a_document_has_five_keys_and_its_mirror_is_the_text() {
    let fake =
        Fake::start(with_schema(|_| (200, record(&json!({"id": "r1", "title": "Hello", "body": "Text"})))))
            .await;
    let answer = fake.call("fetch", json!({"id": "a/notes:r1"})).await;
    let view = structured(&answer);
    let keys = view.as_object().unwrap().keys().collect::<Vec<_>>();
    assert_eq!(keys, ["id", "metadata", "text", "title", "url"]);
    assert_eq!(serde_json::from_str::<Value>(&answer.text).unwrap(), view);
    assert_eq!((view["id"].as_str(), view["title"].as_str()), (Some("a/notes:r1"), Some("Hello")));
    assert!(view["text"].as_str().unwrap().contains("\"body\":\"Text\""));
    assert!(!answer.text.contains("request_id") && !answer.text.contains("provider_url"));
}

#[tokio::test]
async fn r3_42_an_unrequested_field_appears_nowhere() {
    // This provider ignores `fields`.
    let fake =
        Fake::start(with_schema(|_| (200, record(&json!({"id": "r1", "title": "SECRET", "body": "Text"})))))
            .await;
    let answer = fake.call("fetch", json!({"id": "a/notes:r1", "fields": ["body"]})).await;
    assert!(!answer.text.contains("SECRET"), "{}", answer.text);
    let metadata = &structured(&answer)["metadata"];
    for (key, value) in [
        ("stream", "notes"),
        ("record_id", "r1"),
        ("connection_id", "a"),
        ("connector_key", "mail"),
        ("display_name", "Box a"),
    ] {
        assert_eq!(metadata[key], value);
    }
}

#[tokio::test]
async fn r3_43_r4_3_what_is_cut_says_how_to_read_on() {
    let long = "é".repeat(50_000);
    let fake = Fake::start(with_schema(move |asked| {
        if asked.path.ends_with("/field-window") {
            let from = asked.get("offset_chars").map_or(0, |offset| offset.parse::<usize>().unwrap());
            let to = (from + 4096).min(50_000);
            return (200, json!({"object": "field_window", "field": {"path": "body", "type": "string"}, "window": {
                "text": "é".repeat(to - from), "start_chars": from, "end_chars": to, "total_chars": 50_000,
                "complete": false, "has_more": to < 50_000, "next_offset_chars": (to < 50_000).then_some(to)}}));
        }
        (200, record(&json!({"id": "r1", "body": long.clone()})))
    }))
    .await;
    let answer = fake.call("fetch", json!({"id": "a/notes:r1"})).await;
    assert!(answer.text.len() <= 8_000, "{} bytes", answer.text.len());
    let view = structured(&answer);
    assert_eq!(view["metadata"]["truncated"], true);
    let mut next = view["metadata"]["read_more"][0]["arguments"].clone();
    let mut read = usize::try_from(next["offset_chars"].as_u64().unwrap()).unwrap();
    // The offered calls reach the end, the same in both views.
    loop {
        let answer = fake.call("read_record_field", next).await;
        assert!(answer.text.len() <= 8_000 && structured(&answer).to_string().len() <= 10_000);
        read += structured(&answer)["data"]["window"]["text"].as_str().unwrap().chars().count();
        match structured(&answer).get("next") {
            Some(call) => {
                assert!(answer.text.contains(&format!("next: read_record_field {}", call["arguments"])));
                next = call["arguments"].clone();
            }
            None => break,
        }
    }
    assert_eq!(read, 50_000);
}

#[tokio::test]
async fn r3_50_a_window_is_asked_for_by_offset_cursor_or_match() {
    let window = json!({"object": "field_window", "window": {"text": "abc", "start_chars": 3, "end_chars": 6, "total_chars": 9,
        "complete": false, "next_offset_chars": 6, "previous_offset_chars": 0}});
    let fake = Fake::start(move |_| (200, window.clone())).await;
    let base = "/streams/notes/records/r%2F1/field-window?field=body";
    for (arguments, query) in [
        (json!({"offset_chars": 3, "limit_chars": 3}), "&offset_chars=3&limit_chars=3&connection_id=a"),
        (json!({"cursor": "3"}), "&offset_chars=3&connection_id=a"),
        (
            json!({"q": "abc", "before_chars": 1, "after_chars": 2}),
            "&q=abc&before_chars=1&after_chars=2&connection_id=a",
        ),
    ] {
        let mut arguments = arguments;
        arguments["id"] = json!("a/notes:r%2F1");
        arguments["field_path"] = json!("body");
        let answer = fake.call("read_record_field", arguments).await;
        assert_eq!(fake.asked(), [format!("{base}{query}")]);
        assert!(
            answer
                .text
                .starts_with("\"abc\"\nbody of a/notes:r%2F1: characters 3 to 6 of 9, complete=false\n"),
            "{}",
            answer.text
        );
        assert_eq!(structured(&answer)["next"]["arguments"]["offset_chars"], 6);
        assert_eq!(structured(&answer)["previous"]["arguments"]["offset_chars"], 0);
    }
}

/// A resource server whose `q` finds only the first match in the whole field, and which returns windows of `text`.
async fn windows_of(text: String) -> Fake {
    Fake::start(move |asked| {
        let number = |name: &str| asked.get(name).and_then(|number| number.parse::<usize>().ok());
        let chars = text.chars().collect::<Vec<_>>();
        assert!(asked.get("q").is_none() || number("offset_chars").is_none(), "both are refused: {asked:?}");
        let matched = asked.get("q").map(|q| {
            let at = text[..text.find(q).unwrap()].chars().count();
            (at, at + q.chars().count())
        });
        let start = matched.map_or(number("offset_chars").unwrap_or(0), |(at, _)| at.saturating_sub(10));
        let start = start.min(chars.len());
        let end = match matched {
            Some((_, end)) => chars.len().min(end + 10),
            None => chars.len().min(start + number("limit_chars").unwrap_or(4_096)),
        };
        (200, json!({"object": "field_window", "field": {"path": "body"}, "window": {
            "text": chars[start..end].iter().collect::<String>(), "start_chars": start, "end_chars": end,
            "total_chars": chars.len(), "complete": start == 0 && end == chars.len(),
            "next_offset_chars": (end < chars.len()).then_some(end),
            "match_start_chars": matched.map(|(start, _)| start), "match_end_chars": matched.map(|(_, end)| end)}}))
    })
    .await
}

#[tokio::test]
async fn r3_50_matches_of_a_long_text_are_walked_one_after_the_other() {
    // The second match crosses the end of a window that is searched, the third is spelled differently.
    let places = [100, 100 + 6 + 16_384 - 3, 60_000, 200_000];
    let mut text = "é".repeat(210_000).chars().collect::<Vec<_>>();
    for (at, needle) in places.iter().zip(["needle", "needle", "NEEDLE", "needle"]) {
        text.splice(at..&(at + 6), needle.chars());
    }
    let fake = windows_of(text.into_iter().collect()).await;
    let mut arguments =
        json!({"id": "a/notes:r", "field_path": "body", "q": "needle", "before_chars": 5, "after_chars": 5});
    let mut found = Vec::new();
    for _ in places {
        let answer = fake.call("read_record_field", arguments).await;
        assert!(!answer.is_error, "{}", answer.text);
        let body = structured(&answer);
        let window = &body["data"]["window"];
        let at = window["match_start_chars"].as_u64().unwrap();
        let shown = window["text"].as_str().unwrap();
        let skipped = usize::try_from(at - window["start_chars"].as_u64().unwrap()).unwrap();
        let matched = shown.chars().skip(skipped).take(6).collect::<String>();
        assert_eq!(matched.to_lowercase(), "needle", "{shown}");
        assert!(answer.text.contains(&format!("\nmatch: characters {at} to {}", at + 6)), "{}", answer.text);
        found.push(usize::try_from(at).unwrap());
        let next = &body["next_match"];
        assert!(answer.text.contains(&format!("next match: read_record_field {}", next["arguments"])));
        arguments = next["arguments"].clone();
    }
    assert_eq!(found, places);
    // There is none after the last one, and the answer states how far it searched.
    let answer = fake.call("read_record_field", arguments).await;
    assert!(
        answer.text.contains("characters 200006 to 210000 of 210000, complete=false\n"),
        "{}",
        answer.text
    );
    assert!(answer.text.contains("there is no further match"), "{}", answer.text);
    assert!(structured(&answer).get("next_match").is_none() && structured(&answer).get("next").is_none());
}

#[tokio::test]
async fn r3_50_the_last_match_at_hand_is_said_to_be_the_last() {
    let fake = windows_of(format!("{} needle end", "a ".repeat(300))).await;
    let arguments = json!({"id": "a/notes:r", "field_path": "body", "q": "needle"});
    let answer = fake.call("read_record_field", arguments).await;
    assert!(answer.text.contains("match: characters 601 to 607, the last one"), "{}", answer.text);
    assert!(structured(&answer).get("next_match").is_none());
}

#[tokio::test]
async fn r3_50_what_was_not_looked_through_yet_is_reported_and_goes_on() {
    let fake = windows_of(format!("needle{}needle", "a".repeat(300_000))).await;
    let arguments = json!({"id": "a/notes:r", "field_path": "body", "q": "needle", "offset_chars": 6});
    let answer = fake.call("read_record_field", arguments).await;
    assert!(!answer.is_error, "{}", answer.text);
    assert_eq!(fake.asked().len(), 16, "bounded");
    assert!(answer.text.contains("characters 6 to 262150 of 300012, complete=false\n"), "{}", answer.text);
    assert!(answer.text.contains("q is not in these characters"), "{}", answer.text);
    let next = structured(&answer)["next_match"]["arguments"].clone();
    let answer = fake.call("read_record_field", next).await;
    assert_eq!(structured(&answer)["data"]["window"]["match_start_chars"], 300_006, "{}", answer.text);
}

#[tokio::test]
async fn r3_0_the_bookmark_of_changes_is_on_every_page_and_said_to_be_early_before_the_last() {
    let fake = Fake::start(with_schema(|asked| {
        let mut body = list(vec![note("a", "1", "2024-01-01")], asked.get("cursor").is_none().then_some("C"));
        body["next_changes_since"] = json!("BOOKMARK");
        (200, body)
    }))
    .await;
    let first = fake.call("query_records", json!({"stream": "notes", "changes_since": "beginning"})).await;
    assert!(first.text.contains("next_changes_since=\"BOOKMARK\" (not yet: "), "{}", first.text);
    assert_eq!(structured(&first)["data"]["next_changes_since"], "BOOKMARK");
    let last = fake.call("query_records", structured(&first)["next"]["arguments"].clone()).await;
    assert!(last.text.ends_with("next_changes_since=\"BOOKMARK\""), "{}", last.text);
    assert_eq!(structured(&last)["data"]["next_changes_since"], "BOOKMARK");
}

#[tokio::test]
async fn r3_21_fewer_groups_than_were_asked_for_are_reported() {
    let fake = Fake::start(|asked| {
        assert_eq!(asked.get("limit"), Some("500"), "the provider may give more than others");
        let groups = (0..100).map(|n| json!({"key": n, "count": 1})).collect::<Vec<_>>();
        (200, json!({"object": "aggregation", "metric": "count", "group_by": "k", "groups": groups, "limit": 100,
            "other_count": 7, "meta": {"warnings": []}}))
    })
    .await;
    let asked = json!({"stream": "notes", "metric": "count", "group_by": "k", "limit": 500});
    let answer = fake.call("aggregate", asked).await;
    let limit_notice = "the provider gives at most 100 groups; 500 were requested";
    assert!(answer.text.contains("limit_clamped") && answer.text.contains(limit_notice), "{}", answer.text);
    assert_eq!(structured(&answer)["data"]["meta"]["warnings"][0]["message"], limit_notice);
}

#[tokio::test]
async fn r3_62_expand_is_refused_where_the_live_schema_offers_none() {
    use std::sync::atomic::{AtomicU8, Ordering};
    let offers = Arc::new(AtomicU8::new(0));
    let now = Arc::clone(&offers);
    let fake = Fake::start(move |asked| match (asked.path.as_str(), now.load(Ordering::SeqCst)) {
        ("/schema", 2) => (503, refusal("unavailable", "later")),
        ("/schema", offers) => {
            let mut schema = schema(&["a"]);
            if offers == 1 {
                schema["connectors"][0]["streams"][0]["expand_capabilities"] =
                    json!([{"name": "replies", "usable": true}]);
            }
            (200, schema)
        }
        _ => (200, record(&json!({"id": "r1"}))),
    })
    .await;
    let call = || json!({"id": "a/notes:r1", "expand": ["replies"]});
    let answer = fake.call("fetch", call()).await;
    assert_eq!(structured(&answer)["error"]["code"], "invalid_expand");
    assert!(
        answer.text.contains("`notes`") && answer.text.contains("GET /v1/schema, expand_capabilities"),
        "{}",
        answer.text
    );
    assert!(fake.asked().is_empty(), "the record was not asked for");
    offers.store(1, Ordering::SeqCst);
    assert!(!fake.call("fetch", call()).await.is_error, "a changed schema counts on the next call");
    assert_eq!(fake.asked(), ["/streams/notes/records/r1?expand=replies&connection_id=a"]);
    offers.store(2, Ordering::SeqCst);
    assert!(!fake.call("fetch", call()).await.is_error, "an unreadable schema defers to the provider");
}

#[tokio::test]
async fn r3_71_r3_72_r3_73_ids_are_checked_before_the_provider_is_asked() {
    let fake = Fake::start(with_schema(|_| (200, record(&json!({"id": "r1"}))))).await;
    for (arguments, code) in [
        (json!({"id": "a/notes:r1", "connection_id": "b"}), "conflicting_connection"),
        (json!({"id": "../notes:r1"}), "invalid_id"),
        (json!({"id": "a/notes:x/y"}), "invalid_id"),
        (json!({"id": "notes"}), "invalid_id"),
    ] {
        let answer = fake.call("fetch", arguments).await;
        assert_eq!(structured(&answer)["error"]["code"], code);
        assert!(fake.asked_all().is_empty());
    }
    fake.call("fetch", json!({"id": "notes:r1", "connection_id": "a"})).await;
    assert_eq!(fake.asked(), ["/streams/notes/records/r1?connection_id=a"]);
    fake.call("fetch", json!({"id": "a/notes:https:%2F%2Fx.example%2F?q=1#%25"})).await;
    assert_eq!(
        fake.asked(),
        ["/streams/notes/records/https:%2F%2Fx.example%2F%3Fq=1%23%25?connection_id=a"],
        "one encoded segment"
    );
}

#[tokio::test]
async fn r4_5_resources_read_what_the_tools_read() {
    let fake = Fake::start(with_schema(|asked| match asked.path.as_str() {
        "/streams/notes/records" => (200, list(vec![note("a", "1", "2024")], None)),
        "/streams/notes/records/r1" => (200, record(&json!({"id": "r1", "body": "Text"}))),
        "/streams/notes/records/r1/field-window" => {
            (200, json!({"window": {"text": "Text", "complete": true}}))
        }
        _ => (404, refusal("not_found", "Record not found")),
    }))
    .await;
    for (uri, tool, arguments) in [
        ("pdpp://stream/notes", "query_records", json!({"stream": "notes"})),
        ("pdpp://record/a%2Fnotes%3Ar1", "fetch", json!({"id": "a/notes:r1"})),
        (
            "pdpp://field-window/a%2Fnotes%3Ar1/body?limit_chars=9",
            "read_record_field",
            json!({"id": "a/notes:r1", "field_path": "body", "limit_chars": 9}),
        ),
    ] {
        let ResourceContents::Text { text, media_type } = fake.core.read_resource(uri).await.unwrap() else {
            panic!("{uri}")
        };
        assert_eq!(media_type, "application/json");
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            structured(&fake.call(tool, arguments).await),
            "{uri}"
        );
    }
    let missing = fake.core.read_resource("pdpp://record/a%2Fnotes%3Ano").await;
    assert!(matches!(missing, Err(ResourceError::NotFound { .. })), "{missing:?}");
    for uri in [
        "https://x.example",
        "pdpp://record/..%2Fx",
        "pdpp://stream/a%2Fb",
        "pdpp://field-window/x",
        "pdpp://blob/../x",
    ] {
        let refused = fake.core.read_resource(uri).await;
        assert!(matches!(refused, Err(ResourceError::InvalidUri(_))), "{uri}: {refused:?}");
    }
}

#[tokio::test]
async fn r5_1_a_refusal_keeps_its_code_message_param_and_request_id() {
    let fake = Fake::start(|_| {
        (400, json!({"error": {"type": "invalid_request_error", "code": "odd_code", "message": "Odd.", "param": "sort", "request_id": "req_9"}}))
    })
    .await;
    let answer = fake.call("query_records", json!({"stream": "notes", "sort": "x"})).await;
    let error = &structured(&answer)["error"];
    for (key, value) in
        [("code", "odd_code"), ("message", "Odd."), ("param", "sort"), ("request_id", "req_9")]
    {
        assert_eq!(error[key], value);
        assert!(answer.text.contains(value), "{value}");
    }
    assert!(answer.is_error);
}

#[tokio::test]
async fn r5_2_an_error_is_complete_in_the_text_and_fits_the_output_schema() {
    let fake = Fake::start(|_| (200, json!({}))).await;
    for tool in pdpp::mcp::tools::surface::tools().iter() {
        let answer = fake.call(&tool.name, json!({"nonsense": 1})).await;
        assert!(
            answer.is_error && answer.text.contains("unknown_argument") && answer.text.contains("next: "),
            "{}",
            answer.text
        );
        let properties = tool.output_schema.as_ref().unwrap()["properties"].as_object().unwrap().clone();
        for key in structured(&answer).as_object().unwrap().keys() {
            assert!(properties.contains_key(key), "{key} of {}", tool.name);
        }
    }
}

#[tokio::test]
async fn r5_3_at_most_twelve_candidates_then_how_many_there_are() {
    let fake = Fake::start(|asked| {
        if asked.path == "/schema" {
            return (404, refusal("not_found", "no schema"));
        }
        let candidates = (0..20).map(|n| json!({"connection_id": format!("c{n}"), "connector_key": "mail", "display_name": format!("Box {n}")}));
        (409, json!({"error": {"code": "ambiguous_connection", "message": "Several", "retry_with": "connection_id", "available_connections": candidates.collect::<Vec<_>>()}}))
    })
    .await;
    let answer = fake.call("query_records", json!({"stream": "notes"})).await;
    let error = &structured(&answer)["error"];
    assert_eq!(error["available_connections"].as_array().map(Vec::len), Some(12));
    assert_eq!(
        (error["available_connections_total"].as_u64(), error["truncated"].as_bool()),
        (Some(20), Some(true))
    );
    assert!(answer.text.contains("12 of 20 connections shown; schema {} lists all"), "{}", answer.text);
    assert!(
        answer.text.contains("connection_id=c0 connector_key=mail label=\"Box 0\" grant_id=grt_1"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn r5_5_each_failure_is_told_apart_with_its_next_step() {
    for (status, code, says) in [
        (401, "context.instance_mismatch", "that connection_id is not in this grant"),
        (401, "context.stream_not_allowed", "next: schema {}"),
        (401, "context.active_false", "pdpp connect http"),
        (403, "grant_revoked", "the owner has ended this grant"),
        (403, "grant_expired", "pdpp connect http"),
        (403, "field_not_granted", "the schema lists the granted fields"),
        (410, "cursor_expired", "start again without it"),
        (400, "invalid_cursor", "start again without cursor"),
        (500, "internal", "repeat the call once"),
    ] {
        let fake = Fake::start(move |_| (status, refusal(code, "No."))).await;
        let answer = fake.call("query_records", json!({"stream": "notes"})).await;
        assert!(
            answer.text.contains(&format!("error {code}: No.")) && answer.text.contains(says),
            "{code}:\n{}",
            answer.text
        );
        let reconnect = answer.text.contains("pdpp connect");
        assert_eq!(
            reconnect,
            matches!(code, "context.active_false" | "grant_revoked" | "grant_expired"),
            "{code}"
        );
    }
}

/// Digits that a float would lose, and their possible places in a text that is itself JSON.
const NUMBERS: [&str; 3] = ["12345678901234567890123", "1.10", "-0.0"];

#[tokio::test]
async fn r3_0_numbers_are_exact_in_every_tool_and_both_views() {
    for number in NUMBERS {
        let n: Value = serde_json::from_str(number).unwrap();
        let fake = Fake::start(move |asked| {
            let made = json!({"object": "record", "id": "r1", "stream": "notes", "connection_id": "a", "emitted_at": "2024",
                "data": {"id": "r1", "n": n, "list": [n]}});
            let body = match asked.path.as_str() {
                "/schema" => {
                    let mut schema = schema(&["a"]);
                    schema["connectors"][0]["streams"][0]["expand_capabilities"] =
                        json!([{"name": "kids", "usable": true, "max_limit": n}]);
                    schema
                }
                "/streams/notes/records" => list(vec![made], None),
                "/streams/notes/records/r1" => made,
                "/streams/notes/aggregate" => json!({"metric": "sum", "field": "n", "value": n, "groups": [{"key": n, "count": n}]}),
                "/search" => {
                    let hit = json!({"record_key": "r1", "stream": "notes", "connection_id": "a", "score": n});
                    let mut list = list(vec![hit], None);
                    list["meta"]["count"] = n.clone();
                    list
                }
                _ => json!({}),
            };
            (200, body)
        })
        .await;
        for (tool, arguments) in [
            ("schema", json!({"stream": "notes"})),
            ("query_records", json!({"stream": "notes"})),
            ("aggregate", json!({"stream": "notes", "metric": "sum", "field": "n"})),
            ("aggregate", json!({"stream": "notes", "metric": "count", "group_by": "n"})),
            ("search", json!({"q": "x"})),
            ("fetch", json!({"id": "a/notes:r1"})),
            ("read_record_field", json!({"id": "a/notes:r1", "field_path": "list", "cursor": "json:0"})),
        ] {
            let answer = fake.call(tool, arguments).await;
            assert!(!answer.is_error, "{tool}: {}", answer.text);
            let is_end = |c: char| !c.is_ascii_digit() && !matches!(c, '.' | 'e' | 'E' | '-' | '+');
            for view in [answer.text.clone(), structured(&answer).to_string()] {
                assert!(view.split(is_end).any(|word| word == number), "{number} of {tool} in {view}");
            }
            // R5.6: a number that a host's double would round is a text there, which both views state; other numbers
            // stay numbers.
            if matches!(tool, "query_records" | "aggregate" | "search") {
                let view = structured(&answer).to_string();
                let is_rounded = number == NUMBERS[0];
                assert_eq!(view.contains(&format!("{number:?}")), is_rounded, "{view}");
                assert_eq!(view.contains("numbers_as_text"), is_rounded, "{view}");
                assert_eq!(answer.text.contains("numbers_as_text"), is_rounded, "{}", answer.text);
            }
        }
    }
}

#[tokio::test]
async fn r4_3_an_expanded_relation_that_does_not_fit_reads_on() {
    let kids = || {
        let kid = |n: usize| json!({"object": "record", "id": format!("k{n}"), "stream": "kids", "data": {"text": "x".repeat(900)}});
        json!({"object": "list", "data": (0..40).map(kid).collect::<Vec<_>>(), "has_more": false})
    };
    let fake = Fake::start(move |asked| {
        if asked.path == "/schema" {
            let mut schema = schema(&["a"]);
            schema["connectors"][0]["streams"][0]["expand_capabilities"] =
                json!([{"name": "kids", "usable": true}]);
            return (200, schema);
        }
        let mut made = record(&json!({"id": "r1", "body": "Text"}));
        if asked.get("expand") == Some("kids") {
            assert_eq!(asked.get("expand_limit[kids]"), Some("40"), "the same records again");
            made["expanded"] = json!({"kids": kids()});
        }
        (200, if asked.path.ends_with("/records") { list(vec![made], None) } else { made })
    })
    .await;
    let expand = json!({"expand": ["kids"], "expand_limit": {"kids": 40}});
    let with = |name: &str, value: &str| {
        let mut arguments = expand.clone();
        arguments[name] = json!(value);
        arguments
    };
    let answer = fake.call("query_records", with("stream", "notes")).await;
    let of_row = structured(&answer)["content_ladder"]["records"][0]["fields"][0]["read"].clone();
    assert!(answer.text.contains("expanded.kids continues: read_record_field {"), "{}", answer.text);
    assert!(answer.text.contains("body=\"Text\""), "the row itself is whole: {}", answer.text);
    let answer = fake.call("fetch", with("id", "a/notes:r1")).await;
    let of_document = structured(&answer)["metadata"]["read_more"][0].clone();
    assert_eq!(of_row, of_document);
    let (mut next, mut read) = (of_row["arguments"].clone(), String::new());
    loop {
        let answer = fake.call("read_record_field", next).await;
        assert!(!answer.is_error, "{}", answer.text);
        read.push_str(structured(&answer)["data"]["window"]["text"].as_str().unwrap());
        match structured(&answer).get("next") {
            Some(call) => next = call["arguments"].clone(),
            None => break,
        }
    }
    assert_eq!(serde_json::from_str::<Value>(&read).unwrap(), kids());
}

#[tokio::test]
async fn r3_51_the_surroundings_of_nothing_are_refused() {
    let fake = Fake::start(|_| (200, json!({}))).await;
    let answer = fake
        .call("read_record_field", json!({"id": "a/notes:r1", "field_path": "body", "before_chars": 9}))
        .await;
    let error = &structured(&answer)["error"];
    assert_eq!((error["code"].as_str(), error["param"].as_str()), (Some("missing_argument"), Some("q")));
    assert!(fake.asked_all().is_empty());
}
