//! R3.1 to R3.8.

use serde_json::{Value, json};

use super::fake::{Fake, schema, structured};

#[tokio::test]
async fn r3_1_the_compact_view_is_asked_for_and_passed_on() {
    let fake = Fake::start(|_| (200, schema(&["a", "b"]))).await;
    let answer = fake.call("schema", json!({"stream": "notes", "connection_id": "a"})).await;
    assert_eq!(fake.asked_all(), ["/schema?view=compact&stream=notes&connection_id=a"]);
    let data = &structured(&answer)["data"];
    assert_eq!(data["detail"], "compact");
    assert!(data.get("data").is_none(), "no data.data");
}

#[tokio::test]
async fn r3_2_a_refused_compact_view_is_projected_from_the_full_schema() {
    let full = json!({"object": "schema", "connectors": [{"connector_key": "mail", "streams": [{"name": "notes",
        "granted_connections": [{"connection_id": "a"}],
        "field_capabilities": {"id": {"type": "string", "exact_filter": {"declared": true, "usable": true}}}}]}]});
    let fake = Fake::start(move |asked| match asked.get("view") {
        Some(_) => (400, super::fake::refusal("invalid_request", "Unknown view")),
        None => (200, full.clone()),
    })
    .await;
    let answer = fake.call("schema", json!({"stream": "notes"})).await;
    assert_eq!(
        structured(&answer)["data"]["connectors"][0]["streams"][0]["field_capabilities"]["id"],
        "t=string,eq"
    );
    assert!(answer.text.contains("id: t=string,eq"), "{}", answer.text);
}

/// What every provider of this protocol refuses is listed with the fields, so that no call is made in vain.
#[tokio::test]
async fn r3_4_the_legend_says_beforehand_what_would_be_refused() {
    let fake = Fake::start(|_| (200, schema(&["a"]))).await;
    let answer = fake.call("schema", json!({"stream": "notes"})).await;
    let legend = structured(&answer)["legend"].as_str().unwrap().to_owned();
    for said in [
        "group_by with count only",
        "records sort by the sort field only",
        "fields cannot name what expand adds",
    ] {
        assert!(legend.contains(said) && answer.text.contains(said), "{said}: {legend}\n{}", answer.text);
    }
}

#[tokio::test]
async fn r3_3_an_index_of_500_streams_fits_and_names_them_all() {
    let streams = (0..500).map(|n| {
        let fields = (0..20).map(|f| (format!("field_{f}"), json!("t=string|null,eq,lex"))).collect::<serde_json::Map<_, _>>();
        json!({"name": format!("stream_number_{n}"), "primary_key": ["id"], "field_capabilities": fields, "expand_capabilities": []})
    });
    let streams = streams.collect::<Vec<_>>();
    let connectors = streams.chunks(50).enumerate().map(|(n, streams)| {
        json!({"object": "connector", "connector_key": format!("kind{n}"), "source": {"id": format!("https://r.example/{n}")},
            "granted_connections": [{"connection_id": format!("cin_{n}"), "display_name": format!("Account {n}")}], "streams": streams})
    });
    let body = json!({"object": "schema", "detail": "compact", "connectors": connectors.collect::<Vec<_>>()});
    let fake = Fake::start(move |_| (200, body.clone())).await;
    let answer = fake.call("schema", json!({})).await;
    let both = answer.text.len() + structured(&answer).to_string().len();
    assert!(both <= 16_000, "{both} bytes");
    // The structured view may name fewer, with the call that names the rest.
    let mut named = structured(&answer).to_string();
    let mut next = structured(&answer).get("next").cloned();
    let mut asked = Vec::new();
    while let Some(call) = next {
        let more = fake.call("schema", call["arguments"].clone()).await;
        named.push_str(&structured(&more).to_string());
        asked.push(call);
        let counted = structured(&answer)["data"]["connectors"].as_array().unwrap().clone();
        let counted = counted.iter().filter(|connector| connector.get("stream_count").is_some());
        next = counted
            .map(|connector| json!({"tool": "schema", "arguments": {"connection_id": connector["granted_connections"][0]["connection_id"]}}))
            .find(|call| !asked.contains(call));
    }
    for n in 0..500 {
        let name = format!("stream_number_{n}");
        assert!(answer.text.split([' ', ',', '\n']).any(|word| word == name), "{name} is not in the text");
        assert!(named.contains(&format!("\"{name}\"")), "{name} is not in the structured view");
    }
    assert!(!answer.text.contains("field_1"), "no field dump");
}

#[tokio::test]
async fn r3_4_a_reader_of_the_text_alone_can_build_arguments() {
    let fake = Fake::start(|_| (200, schema(&["a", "b"]))).await;
    let answer = fake.call("schema", json!({"stream": "notes"})).await;
    for part in [
        "stream notes of mail",
        "a \"Box a\"",
        "b \"Box b\"",
        "primary key: id",
        "sort: at or -at",
        "expand: none",
        "title: t=text,role=primary-title,lex",
        "at: role=event-time,r=gte|lt",
        "body: declared",
        "flags: t=type",
        "filter {\"field\":value}",
    ] {
        assert!(answer.text.contains(part), "{part} is missing in\n{}", answer.text);
    }
}

#[tokio::test]
async fn r3_5_stream_and_connection_give_only_that_source() {
    // This provider ignores connection_id.
    let fake = Fake::start(|_| (200, schema(&["a", "b"]))).await;
    let answer = fake.call("schema", json!({"stream": "notes", "connection_id": "a"})).await;
    assert!(
        !answer.text.contains("Box b") && !structured(&answer).to_string().contains("Box b"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn r3_6_full_without_a_stream_is_refused_before_any_read() {
    let fake = Fake::start(|_| (200, schema(&["a"]))).await;
    let answer = fake.call("schema", json!({"detail": "full"})).await;
    assert!(
        answer.is_error && answer.text.contains("schema(stream, connection_id, detail:\"full\")"),
        "{}",
        answer.text
    );
    assert!(fake.asked_all().is_empty());
}

#[tokio::test]
async fn r3_7_full_of_several_sources_names_them_first() {
    let fake = Fake::start(|_| (200, schema(&["a", "b"]))).await;
    let answer = fake.call("schema", json!({"stream": "notes", "detail": "full"})).await;
    let error = &structured(&answer)["error"];
    assert_eq!(error["code"], "ambiguous_connection");
    assert_eq!(error["retry_with"], "connection_id");
    assert_eq!(
        error["available_connections"][1],
        json!({"grant_id": "grt_1", "connector_key": "mail", "connection_id": "b", "display_name": "Box b"})
    );
    assert!(fake.asked_all().iter().all(|line| !line.contains("detail=full")), "nothing exhaustive was read");
}

#[tokio::test]
async fn r3_8_a_scoped_full_schema_is_raw_and_there_once() {
    let fake = Fake::start(|asked| match asked.get("detail") {
        Some("full") => {
            let row = json!({"name": "notes", "field_capabilities": {"id": {"type": "string", "schema": {"format": "uuid"}}}});
            (200, json!({"object": "schema", "streams": [row], "connectors": [{"connector_key": "mail", "streams": [row]}]}))
        }
        _ => (200, schema(&["a"])),
    })
    .await;
    let answer = fake.call("schema", json!({"stream": "notes", "detail": "full"})).await;
    let data = &structured(&answer)["data"];
    assert_eq!(data["connectors"][0]["streams"][0]["field_capabilities"]["id"]["schema"]["format"], "uuid");
    assert!(data.get("streams").is_none(), "one row set");
    assert!(answer.text.contains("\"format\":\"uuid\""));
}

#[tokio::test]
async fn a_core_only_provider_gets_its_schema_put_together() {
    let fake = Fake::start(|asked| match asked.path.as_str() {
        "/streams" => (200, super::fake::list(
            vec![json!({"name": "notes", "connection_id": "a", "display_name": "Box a"}), json!({"name": "notes", "connection_id": "b"})],
            None,
        )),
        "/streams/notes" => (200, json!({"name": "notes", "primary_key": ["id"], "schema": {"properties": {"id": {"type": "string"}}}})),
        "/streams/notes/records/r1" => (200, json!({"object": "record", "id": "r1", "stream": "notes", "connection_id": "a", "data": {"body": "äöü needle end"}})),
        _ => (404, super::fake::refusal("not_found", "Unknown route")),
    })
    .await;
    let answer = fake.call("schema", json!({"stream": "notes"})).await;
    assert!(
        answer.text.contains("id: t=string") && answer.text.contains("primary key: id"),
        "{}",
        answer.text
    );
    assert_eq!(
        structured(&answer)["data"]["connectors"][0]["granted_connections"].as_array().map(Vec::len),
        Some(2)
    );
    for (tool, arguments) in
        [("search", json!({"q": "x"})), ("aggregate", json!({"stream": "notes", "metric": "count"}))]
    {
        let answer = fake.call(tool, arguments).await;
        assert_eq!(structured(&answer)["error"]["code"], "unsupported_by_provider", "{tool}");
        assert!(answer.text.contains("query_records"), "says what works");
    }
    let window =
        json!({"id": "a/notes:r1", "field_path": "body", "q": "needle", "before_chars": 2, "after_chars": 4});
    let answer = fake.call("read_record_field", window).await;
    assert_eq!(structured(&answer)["data"]["window"]["text"], Value::from("ü needle end"));
}

#[tokio::test]
async fn r3_5_a_stream_that_is_not_granted_is_an_error_that_names_similar_ones() {
    let fake = Fake::start(|asked| {
        let mut body = schema(&["a"]);
        if asked.get("stream").is_some_and(|stream| stream != "notes")
            || asked.get("connection_id") == Some("b")
        {
            body["connectors"] = json!([]);
        }
        (200, body)
    })
    .await;
    for (arguments, param, next) in [
        (json!({"stream": "note"}), "stream", r#"schema {"stream":"notes"}"#),
        (json!({"stream": "zebras"}), "stream", "schema {}"),
        (json!({"stream": "notes", "connection_id": "b"}), "connection_id", r#"schema {"stream":"notes"}"#),
    ] {
        let answer = fake.call("schema", arguments).await;
        let error = &structured(&answer)["error"];
        assert_eq!(
            (error["code"].as_str(), error["param"].as_str()),
            (Some("stream_not_granted"), Some(param))
        );
        let offered = format!("{} {}", error["next"]["tool"].as_str().unwrap(), error["next"]["arguments"]);
        assert_eq!(offered, next, "{error}");
        assert!(answer.text.contains(&format!("next: {next}")), "{}", answer.text);
    }
}
