//! R3.30 to R3.35, R4.1, R4.2, R4.4.

use serde_json::{Value, json};

use super::fake::{Fake, list, structured};

fn hit(connection: &str, key: &str, excerpt: Option<&str>) -> Value {
    let mut hit = json!({"object": "search_result", "record_key": key, "stream": "notes", "connection_id": connection,
        "connector_id": "mail", "display_name": format!("Box {connection}"), "emitted_at": "2024-05-06T07:08:09Z",
        "matched_fields": ["body"], "snippet": {"field": "body", "text": "a <mark>word</mark> here"}});
    if let Some(excerpt) = excerpt {
        hit["evidence_excerpts"] = json!([{"object": "evidence_excerpt", "field_path": "body", "preview_text": excerpt, "provenance": "lexical_match", "truncated": true}]);
    }
    hit
}

#[tokio::test]
async fn r3_30_each_mode_has_its_endpoint_and_the_same_filter() {
    let fake = Fake::start(|_| (200, list(Vec::new(), None))).await;
    for (mode, path) in [
        (None, "/search"),
        (Some("lexical"), "/search"),
        (Some("semantic"), "/search/semantic"),
        (Some("hybrid"), "/search/hybrid"),
    ] {
        fake.call(
            "search",
            json!({"q": "x", "mode": mode, "streams": ["notes"], "filter": {"at": {"gte": "2024"}}}),
        )
        .await;
        assert_eq!(fake.asked(), [format!("{path}?q=x&streams[]=notes&filter[at][gte]=2024")]);
    }
}

#[tokio::test]
async fn r3_31_a_result_names_its_record_and_source_in_both_views() {
    let fake = Fake::start(|_| (200, list(vec![hit("a", "x/1", None)], None))).await;
    let answer = fake.call("search", json!({"q": "word"})).await;
    let result = &structured(&answer)["results"][0];
    let expected = json!({"id": "a/notes:x%2F1", "connection_id": "a", "connector_key": "mail", "stream": "notes", "record_id": "x/1", "display_name": "Box a",
        "url": format!("{}/v1/streams/notes/records/x%2F1?connection_id=a", fake.url)});
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&result[key], value, "{key}");
    }
    for part in ["id=a/notes:x%2F1", "connector_key=mail", "source=\"Box a\"", "title="] {
        assert!(answer.text.contains(part), "{part} in\n{}", answer.text);
    }
    assert!(structured(&answer)["data"].get("data").is_none(), "hits live once");
}

#[tokio::test]
async fn r3_32_the_connection_is_shown_apart_only_where_no_id_can_hold_it() {
    let fake = Fake::start(|_| (200, list(vec![hit("a", "1", None), hit("a/b", "2", None)], None))).await;
    let answer = fake.call("search", json!({"q": "word"})).await;
    assert!(answer.text.contains("id=a/notes:1 connector_key"), "{}", answer.text);
    assert!(answer.text.contains("id=notes:2 connection_id=a/b"), "{}", answer.text);
    assert!(answer.text.contains("with the id as it stands"));
}

#[tokio::test]
async fn r3_33_the_limit_is_global_and_the_mix_is_reported() {
    let hits = || vec![hit("a", "1", None), hit("b", "2", None), hit("a", "3", None)];
    let fake = Fake::start(move |_| (200, list(hits(), Some("C")))).await;
    let answer = fake.call("search", json!({"q": "word", "limit": 2})).await;
    // The provider sent one too many: the next call returns it, so it is not lost.
    assert_eq!(structured(&answer)["results"].as_array().map(Vec::len), Some(2));
    assert!(answer.text.contains("sources: \"Box a\" 1, \"Box b\" 1"), "{}", answer.text);
    let next = structured(&answer)["next"]["arguments"].clone();
    let answer = fake.call("search", next).await;
    assert_eq!(structured(&answer)["results"][0]["record_id"], "3");
}

#[tokio::test]
async fn r3_35_recall_is_mirrored_never_inferred() {
    let mut body = list(vec![hit("a", "1", None)], None);
    body["meta"]["recall"] = json!({"complete": false, "ranked_candidate_count": 200});
    let fake = Fake::start(move |asked| {
        (200, if asked.get("q") == Some("word") { body.clone() } else { list(Vec::new(), None) })
    })
    .await;
    let answer = fake.call("search", json!({"q": "word"})).await;
    assert!(answer.text.contains("recall: not complete, 200 candidates ranked"), "{}", answer.text);
    assert_eq!(
        structured(&answer)["data"]["meta"]["recall"],
        json!({"complete": false, "ranked_candidate_count": 200})
    );
    assert!(
        answer.text.ends_with("narrow the search with streams, filter, connection_id or more words"),
        "{}",
        answer.text
    );
    let answer = fake.call("search", json!({"q": "other"})).await;
    assert!(!answer.text.contains("narrow the search"), "{}", answer.text);
    assert!(!answer.text.contains("recall") && !structured(&answer).to_string().contains("recall"));
}

#[tokio::test]
async fn r4_1_proven_evidence_comes_first_and_reads_on() {
    let fake =
        Fake::start(|_| (200, list(vec![hit("a", "1", Some("before <mark>needle 7</mark> after"))], None)))
            .await;
    let answer = fake.call("search", json!({"q": "needle"})).await;
    assert!(
        answer.text.starts_with("- body: \"before <mark>needle 7</mark> after\"\n  id=a/notes:1 "),
        "{}",
        answer.text
    );
    let call = json!({"field_path": "body", "id": "a/notes:1", "q": "needle 7"});
    assert!(answer.text.contains(&format!("more: read_record_field {call}")), "{}", answer.text);
    let view = structured(&answer);
    let field = &view["content_ladder"]["records"][0]["fields"][0];
    assert_eq!(field["read"], json!({"tool": "read_record_field", "arguments": call}));
    let excerpt = view["results"][0]["snippet"]["text"].as_str().unwrap();
    let preview = field["preview"].as_str().unwrap().trim_matches('…');
    assert!(
        excerpt.contains(preview) && preview.contains("<mark>"),
        "the matched part of the excerpt: {preview}"
    );
}

#[tokio::test]
async fn r4_2_without_proof_no_body_field_is_inferred() {
    let mut bare = hit("a", "1", None);
    bare.as_object_mut().unwrap().remove("snippet");
    let fake = Fake::start(move |_| (200, list(vec![bare.clone(), hit("a", "2", None)], None))).await;
    let answer = fake.call("search", json!({"q": "word"})).await;
    assert!(structured(&answer).get("content_ladder").is_none());
    assert!(!answer.text.contains("more: read_record_field"), "{}", answer.text);
    assert!(
        answer.text.contains("id=a/notes:1")
            && answer.text.contains("id=a/notes:2")
            && answer.text.contains("fetch {\"id\":ID}")
    );
}

#[tokio::test]
async fn r4_4_no_resource_uri_is_shown_to_a_model() {
    let mut with_uri = hit("a", "1", Some("a <mark>word</mark>"));
    with_uri["record_uri"] = json!("pdpp://record/a%2Fnotes%3A1");
    let fake = Fake::start(move |_| (200, list(vec![with_uri.clone()], None))).await;
    let answer = fake.call("search", json!({"q": "word"})).await;
    assert!(!answer.text.contains("pdpp://") && !structured(&answer).to_string().contains("pdpp://"));
}

#[tokio::test]
async fn r4_3_a_hybrid_search_goes_on_as_far_as_its_provider_gives() {
    let fake = Fake::start(|asked| {
        let limit = asked.get("limit").map_or(25, |limit| limit.parse::<usize>().unwrap());
        assert!(limit <= 100 && asked.get("cursor").is_none(), "{}", asked.line());
        let hit = |n| json!({"record_key": format!("n{n}"), "stream": "notes", "connection_id": "a"});
        let mut body = list((0..limit).map(hit).collect(), None);
        body["has_more"] = json!(true);
        (200, body)
    })
    .await;
    let mut next = json!({"q": "x", "mode": "hybrid", "limit": 40});
    let (mut ids, mut last) = (Vec::new(), String::new());
    while next.is_object() {
        let answer = fake.call("search", next.clone()).await;
        assert_eq!(fake.asked().len(), 1);
        let view = structured(&answer);
        ids.extend(
            view["results"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap().to_owned()),
        );
        next = view["next"]["arguments"].clone();
        last = answer.text;
    }
    assert_eq!(ids, (0..100).map(|n| format!("a/notes:n{n}")).collect::<Vec<_>>());
    assert!(last.contains("more exist") && last.contains("narrow the search"), "{last}");
}
