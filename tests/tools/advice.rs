//! The answer to a wrong call: refused before the provider if the provider would answer as if nothing were wrong, and
//! explained with the schema if the provider refuses.

use pdpp::mcp::protocol::service::ToolAnswer;
use serde_json::{Value, json};

use super::fake::{Asked, Fake, list, note, refusal, schema, structured};

/// Two connectors, with a field of every type and a stream of the same name in both.
fn schema_of(stream: Option<&str>) -> Value {
    let bank = json!({"object": "connector", "connector_key": "bank", "granted_connections": [{"connection_id": "cin_bank", "display_name": "Fjord Bank"}],
        "streams": [
            {"name": "transactions", "primary_key": ["id"], "cursor_field": "booked_at", "expand_capabilities": [], "field_capabilities": {
                "id": "t=string,eq", "booked_at": "t=timestamp,role=event-time,eq,r=gte|gt|lte|lt,a=group_by_time|max|min",
                "day": "t=date,eq,r=gte|lt", "amount": "t=number|null,eq,r=gte|gt|lte|lt,a=sum|max|min",
                "is_pending": "t=boolean,eq", "category": "t=string|null,eq,a=group_by", "memo": "t=text,lex", "thread_id": "t=string,eq"}},
            {"name": "notes", "primary_key": ["id"], "cursor_field": "at", "expand_capabilities": [],
             "field_capabilities": {"id": "t=string,eq", "from_name": "t=person,eq"}}]});
    let chat = json!({"object": "connector", "connector_key": "chat", "granted_connections": [{"connection_id": "cin_chat", "display_name": "Kestrel"}],
        "streams": [{"name": "notes", "primary_key": ["id"], "cursor_field": "at", "expand_capabilities": [],
             "field_capabilities": {"id": "t=string,eq", "text": "t=text,lex"}}]});
    let mut schema = json!({"object": "schema", "detail": "compact", "bearer": {"token_kind": "client"}, "connectors": [bank, chat]});
    for connector in schema["connectors"].as_array_mut().unwrap() {
        let rows = connector["streams"].as_array_mut().unwrap();
        rows.retain(|row| stream.is_none_or(|stream| row["name"] == stream));
    }
    schema
}

/// The schema, and for everything else the result of `answer`.
async fn fake(answer: impl Fn(&Asked) -> (u16, Value) + Send + Sync + 'static) -> Fake {
    Fake::start(move |asked| match asked.path.as_str() {
        "/schema" => (200, schema_of(asked.get("stream"))),
        _ => answer(asked),
    })
    .await
}

fn offered(answer: &ToolAnswer) -> Value {
    let next = structured(answer)["error"]["next"].clone();
    // The text names the same call.
    if let Some(tool) = next["tool"].as_str() {
        let line = format!("\nnext: {tool} {}", next["arguments"]);
        assert!(answer.text.ends_with(&line), "{}", answer.text);
    }
    next
}

#[tokio::test]
async fn r3_60_a_value_that_a_declared_type_cannot_hold_is_refused_before_the_provider() {
    let fake = fake(|asked| {
        if asked.path.ends_with("/aggregate") {
            return (200, json!({"object": "aggregate", "metric": "count", "value": 1}));
        }
        (200, list(vec![note("cin_bank", "1", "x")], None))
    })
    .await;
    for (filter, says, meant) in [
        (json!({"booked_at": {"gte": "last month"}}), "`last month` is not a time", Value::Null),
        (json!({"booked_at": {"gte": "2026-10-01T00:00:00"}}), "no zone: add Z", Value::Null),
        (
            json!({"booked_at": {"gte": "2026/08/01"}}),
            "is not a time",
            json!({"booked_at": {"gte": "2026-08-01"}}),
        ),
        (
            json!({"booked_at": "2026-10-31"}),
            "whole day",
            json!({"booked_at": {"gte": "2026-10-31", "lt": "2026-11-01"}}),
        ),
        (json!({"amount": {"gte": "abc"}}), "`amount` is a number", Value::Null),
        (json!({"is_pending": "yes"}), "`is_pending` is a boolean", json!({"is_pending": true})),
        (json!({"day": {"gte": "2026-10"}}), "`day` is a date", json!({"day": {"gte": "2026-10-01"}})),
        (
            json!({"thread_id": "cin_bank/threads:t%2F5"}),
            "filter accepts \"t/5\"",
            json!({"thread_id": "t/5"}),
        ),
    ] {
        for (tool, mut arguments) in [
            ("query_records", json!({"stream": "transactions"})),
            ("aggregate", json!({"stream": "transactions", "metric": "count"})),
            ("search", json!({"q": "rent", "streams": ["transactions"]})),
        ] {
            arguments["filter"] = filter.clone();
            let answer = fake.call(tool, arguments.clone()).await;
            assert_eq!(structured(&answer)["error"]["code"], "invalid_filter", "{filter}");
            assert!(answer.text.contains(says), "{}", answer.text);
            assert!(fake.asked().is_empty(), "the provider was asked");
            let next = offered(&answer);
            assert_eq!(next["arguments"]["filter"], meant, "{filter}");
            if !meant.is_null() {
                assert_eq!(next["tool"], tool);
                let again = fake.call(tool, next["arguments"].clone()).await;
                assert!(!again.is_error, "{}", again.text);
                fake.asked_all();
            }
        }
    }
}

#[tokio::test]
async fn r3_10_a_filter_is_forwarded_and_a_call_without_one_reads_no_more_than_before() {
    let fake = fake(|_| (200, list(vec![note("cin_bank", "1", "x")], None))).await;
    let filter = json!({"booked_at": {"gte": "2026-08-01T00:00:00+02:00"}, "undeclared": "last month"});
    fake.call("query_records", json!({"stream": "transactions", "filter": filter})).await;
    let asked = fake.asked_all();
    assert_eq!(asked.iter().filter(|asked| asked.starts_with("/schema")).count(), 1, "{asked:?}");
    assert!(
        asked.iter().any(|asked| asked
            .ends_with("filter[booked_at][gte]=2026-08-01T00:00:00+02:00&filter[undeclared]=last month")),
        "{asked:?}"
    );
    fake.call("aggregate", json!({"stream": "notes", "metric": "count"})).await;
    assert_eq!(fake.asked_all(), ["/streams/notes/aggregate?metric=count"]);
}

/// The compact view calls a time a string; only the full schema shows that it is a time, and it is read only if a
/// value would not be a valid time.
#[tokio::test]
async fn r3_60_a_time_that_is_declared_as_a_string_is_checked_by_its_format() {
    let fake = Fake::start(|asked| match (asked.path.as_str(), asked.get("view")) {
        ("/schema", view) => {
            let mut body = schema(&["a"]);
            let fields = &mut body["connectors"][0]["streams"][0]["field_capabilities"];
            if view == Some("compact") {
                fields["at"] = json!("t=string,eq,r=gte|lt,a=group_by_time");
                fields["version"] = json!("t=string,eq,r=gte|lt");
            } else {
                *fields = json!({
                    "at": {"granted": true, "schema": {"type": "string", "format": "date-time"}},
                    "version": {"granted": true, "schema": {"type": "string"}}});
                body["detail"] = json!("full");
            }
            (200, body)
        }
        _ => (200, list(vec![note("a", "1", "x")], None)),
    })
    .await;
    let call = |filter: Value| fake.call("query_records", json!({"stream": "notes", "filter": filter}));
    for (filter, meant) in [
        (json!({"at": {"gte": "last month"}}), None),
        (json!({"at": {"gte": "2026-10-01T00:00:00"}}), None),
        (json!({"at": "2026-10-01"}), Some(json!({"at": {"gte": "2026-10-01", "lt": "2026-10-02"}}))),
    ] {
        let answer = call(filter).await;
        let error = structured(&answer)["error"].clone();
        assert_eq!(
            (&error["code"], &error["field"]),
            (&json!("invalid_filter"), &json!("at")),
            "{}",
            answer.text
        );
        assert_eq!(error.pointer("/next/arguments/filter").cloned(), meant);
        assert!(fake.asked().is_empty(), "nothing is read with it");
    }
    fake.asked_all();
    // Without a format, the provider judges the value.
    assert!(!call(json!({"version": {"gte": "v2"}})).await.is_error);
    assert_eq!(fake.asked().len(), 1);
    // A valid time costs no further read.
    assert!(!call(json!({"at": {"gte": "2026-10-01"}})).await.is_error);
    assert_eq!(fake.asked_all().len(), 1, "the schema is known");
}

#[tokio::test]
#[allow(clippy::too_many_lines, reason = "a table")]
async fn r5_1_a_refusal_is_explained_with_what_the_schema_says() {
    for (refused, tool, arguments, says, next) in [
        (
            (401, "context.stream_not_allowed", "No such stream"),
            "query_records",
            json!({"stream": "transaction"}),
            "did_you_mean=[\"transactions\"]",
            json!({"tool": "schema", "arguments": {"stream": "transactions"}}),
        ),
        (
            (401, "context.stream_not_allowed", "No such stream"),
            "query_records",
            json!({"stream": "Fjord Bank"}),
            "`Fjord Bank` is a source; its streams are notes, transactions",
            json!({"tool": "schema", "arguments": {}}),
        ),
        (
            (401, "context.instance_mismatch", "No such connection"),
            "query_records",
            json!({"stream": "notes", "connection_id": "chat"}),
            "its connection_id is cin_chat",
            json!({"tool": "query_records", "arguments": {"stream": "notes", "connection_id": "cin_chat"}}),
        ),
        (
            (400, "invalid_request", "limit is only supported with group_by"),
            "aggregate",
            json!({"stream": "transactions", "metric": "count", "limit": 5}),
            "limit sets how many groups are shown",
            json!({"tool": "aggregate", "arguments": {"stream": "transactions", "metric": "count"}}),
        ),
        (
            (410, "gone", "That cursor is too old"),
            "query_records",
            json!({"stream": "transactions", "cursor": "old"}),
            "start again",
            json!({"tool": "query_records", "arguments": {"stream": "transactions"}}),
        ),
        (
            (403, "grant_stream_not_allowed", "Not in grant"),
            "search",
            json!({"q": "x", "streams": ["notes", "zzz"]}),
            "no stream `zzz`",
            json!({"tool": "schema", "arguments": {}}),
        ),
        (
            (401, "context.instance_mismatch", "No such connection"),
            "query_records",
            json!({"stream": "transactions", "connection_id": "cin_chat"}),
            "`cin_chat` is in this grant, but has no stream `transactions`",
            json!({"tool": "schema", "arguments": {"stream": "transactions"}}),
        ),
        (
            (401, "context.instance_mismatch", "No such connection"),
            "query_records",
            json!({"stream": "transactions", "connection_id": "fjord bank"}),
            "its connection_id is cin_bank",
            json!({"tool": "query_records", "arguments": {"stream": "transactions", "connection_id": "cin_bank"}}),
        ),
        (
            (401, "context.instance_mismatch", "No such connection"),
            "query_records",
            json!({"stream": "transactions", "connection_id": "cin_other"}),
            "the grant has no connection `cin_other`",
            json!({"tool": "schema", "arguments": {"stream": "transactions"}}),
        ),
        (
            (403, "field_not_granted", "Fields not in grant: memo"),
            "read_record_field",
            json!({"id": "cin_chat/notes:1", "field_path": "memo"}),
            "a field of that name is in transactions",
            json!({"tool": "schema", "arguments": {"stream": "notes"}}),
        ),
        (
            (400, "unknown_field", "Unknown field: amuont"),
            "query_records",
            json!({"stream": "transactions", "fields": ["amuont"]}),
            "did_you_mean=[\"amount\"]",
            json!({"tool": "schema", "arguments": {"stream": "transactions"}}),
        ),
        (
            (400, "unknown_field", "Unknown field: from_name"),
            "search",
            json!({"q": "x", "streams": ["notes"], "filter": {"from_name": "A"}}),
            "connection_id=cin_bank",
            Value::Null,
        ),
        (
            (400, "invalid_request", "Exact filters are not supported on 'memo'"),
            "query_records",
            json!({"stream": "transactions", "filter": {"memo": "x"}}),
            "does not accept a value; these do: amount, booked_at, category, day, id, is_pending, thread_id",
            json!({"tool": "schema", "arguments": {"stream": "transactions"}}),
        ),
        (
            (400, "invalid_request", "filter[...] is not supported for client-token reads in PDPP v0.1"),
            "query_records",
            json!({"stream": "transactions", "filter": {"category": "x"}}),
            "this provider may not accept filter for a grant",
            Value::Null,
        ),
        (
            (400, "invalid_sort", "Not sortable"),
            "query_records",
            json!({"stream": "transactions", "sort": "-amount"}),
            "sort booked_at or -booked_at",
            json!({"tool": "schema", "arguments": {"stream": "transactions"}}),
        ),
        (
            (400, "invalid_sort", "sort and order disagree"),
            "query_records",
            json!({"stream": "transactions", "sort": "booked_at", "order": "desc"}),
            "sort alone",
            json!({"tool": "query_records", "arguments": {"stream": "transactions", "sort": "-booked_at"}}),
        ),
        (
            (400, "invalid_cursor", "Malformed"),
            "query_records",
            json!({"stream": "transactions", "changes_since": "2026-01-01"}),
            "param=\"changes_since\"",
            Value::Null,
        ),
        (
            (400, "invalid_request", "Unknown time_zone: 'Oslo'"),
            "aggregate",
            json!({"stream": "transactions", "metric": "count", "group_by_time": "booked_at", "granularity": "day", "time_zone": "Oslo"}),
            "Europe/Oslo",
            Value::Null,
        ),
        (
            (400, "invalid_request", "Groups support only counts: use metric=count"),
            "aggregate",
            json!({"stream": "transactions", "metric": "sum", "field": "amount", "group_by": "category"}),
            "of one group",
            Value::Null,
        ),
        (
            (400, "invalid_request", "Aggregation group_by is not declared for 'memo'"),
            "aggregate",
            json!({"stream": "transactions", "metric": "count", "group_by": "memo"}),
            "group_by accepts: category",
            json!({"tool": "schema", "arguments": {"stream": "transactions"}}),
        ),
        (
            (400, "invalid_request", "filter[...] requires exactly one streams[] value (?streams[]=x)"),
            "search",
            json!({"q": "x", "filter": {"category": "x"}}),
            "\"streams\":[\"STREAM\"]",
            Value::Null,
        ),
        (
            (400, "invalid_request", "Unknown view: summary"),
            "query_records",
            json!({"stream": "transactions", "view": "summary"}),
            "fields does the same",
            json!({"tool": "schema", "arguments": {"stream": "transactions", "detail": "full"}}),
        ),
        (
            (404, "not_found", "Record not found"),
            "fetch",
            json!({"id": "transactions:2026%2F1"}),
            "%XX is decoded only in connection_id/stream:record_id",
            json!({"tool": "fetch", "arguments": {"id": "cin_bank/transactions:2026%2F1"}}),
        ),
    ] {
        let (status, code, message) = refused;
        let fake = fake(move |_| (status, refusal(code, message))).await;
        let answer = fake.call(tool, arguments.clone()).await;
        let error = structured(&answer)["error"].clone();
        assert_eq!((error["code"].as_str(), error["message"].as_str()), (Some(code), Some(message)));
        assert!(answer.text.contains(says), "{arguments}:\n{}", answer.text);
        assert!(!answer.text.contains("credential"), "{}", answer.text);
        assert_eq!(offered(&answer), next, "{arguments}:\n{}", answer.text);
    }
}

#[tokio::test]
async fn r5_2_a_stream_that_is_not_there_is_reported_alike_by_every_tool() {
    let fake = fake(|asked| match asked.path.as_str() {
        "/search" => (403, refusal("grant_stream_not_allowed", "Not in grant")),
        _ => (401, refusal("context.stream_not_allowed", "No such stream")),
    })
    .await;
    let mut advice = Vec::new();
    for (tool, arguments) in [
        ("schema", json!({"stream": "transaction"})),
        ("query_records", json!({"stream": "transaction"})),
        ("aggregate", json!({"stream": "transaction", "metric": "count"})),
        ("search", json!({"q": "x", "streams": ["transaction"]})),
        ("fetch", json!({"id": "cin_bank/transaction:1"})),
    ] {
        let answer = fake.call(tool, arguments).await;
        assert!(answer.is_error);
        let error = structured(&answer)["error"].clone();
        advice.push((error["hint"].clone(), error["next"].clone(), error["did_you_mean"].clone()));
    }
    assert!(advice.windows(2).all(|pair| pair[0] == pair[1]), "{advice:?}");
}

#[tokio::test]
async fn r3_10_an_order_of_changes_is_refused_instead_of_ignored() {
    let fake = fake(|_| (200, list(vec![], None))).await;
    for name in ["sort", "order"] {
        let mut arguments = json!({"stream": "notes", "changes_since": "beginning"});
        arguments[name] = json!(if name == "sort" { "at" } else { "asc" });
        let answer = fake.call("query_records", arguments).await;
        assert_eq!(structured(&answer)["error"]["code"], "conflicting_arguments");
        assert!(fake.asked_all().is_empty());
    }
}

#[tokio::test]
async fn r3_32_a_search_without_hits_says_what_may_be_wrong() {
    let fake = fake(|_| (200, list(vec![], None))).await;
    for (arguments, note) in [
        (
            json!({"q": "tax plumber"}),
            r#"no record contains all of these words; one of them: search {"q":"plumber"}"#,
        ),
        (
            json!({"q": "\"tax\" OR plum*"}),
            r#"quotes, *, OR and field: may be taken for words; the words alone: search {"q":"tax plum"}"#,
        ),
        (
            json!({"q": "tax", "streams": ["notes"], "filter": {"title": "x"}}),
            r#"these words find no record that passes the filter; without it: search {"q":"tax","streams":["notes"]}"#,
        ),
        (
            json!({"q": "tax", "streams": ["notes"]}),
            r#"no record searched contains this word as spelled; in all streams: search {"q":"tax"}"#,
        ),
        (
            json!({"q": "tax", "connection_id": "a", "limit": 5}),
            r#"no record searched contains this word as spelled; in all streams: search {"limit":5,"q":"tax"}"#,
        ),
        (json!({"q": "tax"}), "no record contains this word as spelled"),
    ] {
        let answer = fake.call("search", arguments).await;
        assert!(answer.text.lines().any(|line| line == note), "{}", answer.text);
        assert_eq!(structured(&answer)["note"], note);
    }
}
