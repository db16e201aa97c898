//! Which grant a call is for: one, or an answer that lists the choices, without a request.

use std::sync::{Arc, Mutex};

use pdpp::mcp::protocol::service::{ResourceContents, ResourceError, Service as _};
use pdpp::mcp::reading::package::KnownSource;
use pdpp::mcp::size::Bounds;
use serde_json::json;

use super::fake::{
    Does, Fake, Wrapped, call, error, ok, package, package_of, provider, served, source, structured,
};

#[tokio::test]
async fn r6_4_a_connection_routes_to_one_grant_and_no_other_is_asked() {
    let a = provider("mail", "ca", 2, Wrapped::Data).await;
    let b = provider("chat", "cb", 2, Wrapped::Data).await;
    let package = package(vec![
        served(&a, "g1", vec![source("mail", "ca", &["notes"])]),
        served(&b, "g2", vec![source("chat", "cb", &["notes"])]),
    ]);
    for (tool, arguments) in [
        ("query_records", json!({"stream": "notes", "connection_id": "cb"})),
        ("aggregate", json!({"stream": "notes", "metric": "count", "connection_id": "cb"})),
        ("fetch", json!({"id": "cb/notes:1"})),
        ("fetch", json!({"id": "pdpp://record/cb%2Fnotes%3A1"})),
        ("fetch", json!({"id": "notes:1", "connection_id": "cb"})),
        ("read_record_field", json!({"id": "cb/notes:1", "field_path": "title"})),
        (
            "read_record_field",
            json!({"connection_id": "cb", "stream": "notes", "record_id": "1", "field_path": "title"}),
        ),
        ("search", json!({"q": "x", "connection_id": "cb"})),
        ("schema", json!({"connection_id": "cb"})),
        ("schema", json!({"stream": "notes", "connection_id": "cb", "detail": "full"})),
    ] {
        let answer = call(&package, tool, arguments.clone()).await;
        assert!(!answer.is_error, "{tool} {arguments}: {}", answer.text);
        assert_eq!(a.count(), 0, "{tool} {arguments}");
        let asked = b.asked();
        assert!(
            !asked.is_empty() && asked.iter().all(|request| request.get("connection_id") == Some("cb")),
            "{asked:?}"
        );
    }
    for uri in [
        "pdpp://record/cb%2Fnotes%3A1",
        "pdpp://stream/notes?connection_id=cb",
        "pdpp://field-window/cb%2Fnotes%3A1/title",
        "pdpp://blob/blob_1?connection_id=cb",
    ] {
        let read = package.read_resource(uri).await.unwrap();
        if let ResourceContents::Blob { bytes, .. } = read {
            assert_eq!(bytes, br#"{"blob":"cb"}"#);
        }
        assert_eq!(a.count(), 0, "{uri}");
        assert!(b.count() > 0, "{uri}");
    }
    let Err(ResourceError::Failed { data, .. }) = package.read_resource("pdpp://blob/blob_1").await else {
        panic!("whose blob?")
    };
    assert_eq!(data["error"]["code"], "ambiguous_connection");
    // A name that matches no served grant.
    let answer = call(&package, "fetch", json!({"id": "cz/notes:1"})).await;
    assert_eq!(error(&answer)["code"], "unknown_connection");
    let answer = call(&package, "fetch", json!({"id": "nonsense"})).await;
    assert_eq!(error(&answer)["code"], "invalid_id");
    let answer = call(&package, "query_records", json!({"stream": "notes", "nope": 1})).await;
    assert_eq!(error(&answer)["code"], "unknown_argument");
    assert_eq!((a.count(), b.count()), (0, 0));
}

#[tokio::test]
async fn r6_6_r5_3_without_a_connection_the_answer_says_what_to_choose_from_and_asks_nobody() {
    let a = provider("mail", "ca", 2, Wrapped::Data).await;
    let b = provider("chat", "cb", 2, Wrapped::Data).await;
    let c = provider("bank", "cc", 2, Wrapped::Data).await;
    let unsure = KnownSource { has_all_streams: false, ..source("bank", "cc", &["accounts"]) };
    let package = package(vec![
        served(&c, "g3", vec![unsure]),
        served(&a, "g1", vec![source("mail", "ca", &["notes"]), source("mail", "cx", &["folders"])]),
        served(&b, "g2", vec![source("chat", "cb", &["notes"])]),
    ]);
    for (tool, arguments) in [
        ("query_records", json!({"stream": "notes"})),
        ("aggregate", json!({"stream": "notes", "metric": "count"})),
        ("fetch", json!({"id": "notes:1"})),
        ("read_record_field", json!({"id": "notes:1", "field_path": "title"})),
        ("schema", json!({"stream": "notes", "detail": "full"})),
    ] {
        let answer = call(&package, tool, arguments).await;
        let error = error(&answer);
        assert_eq!(error["code"], "ambiguous_connection", "{tool}");
        assert_eq!((&error["status"], &error["retry_with"]), (&json!(409), &json!("connection_id")));
        let candidates = error["available_connections"].as_array().unwrap();
        assert_eq!(
            candidates[0],
            json!({"grant_id": "g1", "connector_key": "mail", "connection_id": "ca", "display_name": "Box ca"})
        );
        // Those that have the stream first; then the one whose streams are not known.
        let ids = candidates
            .iter()
            .map(|candidate| candidate["connection_id"].as_str().unwrap())
            .collect::<Vec<_>>();
        assert_eq!(ids, ["ca", "cb", "cc"], "{tool}");
        for id in ids {
            assert!(answer.text.contains(&format!("connection_id={id} connector_key=")), "{}", answer.text);
        }
        assert!(answer.text.contains(r#""connection_id":"ca""#), "a call to copy: {}", answer.text);
    }
    let answer = call(&package, "query_records", json!({"stream": "nowhere"})).await;
    assert!(!answer.is_error, "only g3 may have it: {}", answer.text);
    assert_eq!(
        (a.count(), b.count(), c.asked().iter().filter(|request| request.path != "/schema").count()),
        (0, 0, 1)
    );

    // A stream that exactly one grant has is read there.
    let answer = call(&package, "query_records", json!({"stream": "folders", "connection_id": "cx"})).await;
    assert!(!answer.is_error, "{}", answer.text);
    assert_eq!((b.count(), c.count()), (0, 0));
}

#[tokio::test]
async fn r6_6_a_stream_that_one_grant_has_is_read_there() {
    let a = provider("mail", "ca", 2, Wrapped::Data).await;
    let b = provider("chat", "cb", 2, Wrapped::Data).await;
    let package = package(vec![
        served(&a, "g1", vec![source("mail", "ca", &["notes"])]),
        served(&b, "g2", vec![source("chat", "cb", &["messages"])]),
    ]);
    for (tool, arguments) in
        [("query_records", json!({"stream": "messages"})), ("fetch", json!({"id": "messages:1"}))]
    {
        let answer = call(&package, tool, arguments).await;
        assert!(!answer.is_error, "{}", answer.text);
        assert_eq!(a.count(), 0);
        assert!(b.count() > 0);
    }
    let answer = call(&package, "aggregate", json!({"stream": "nowhere", "metric": "count"})).await;
    assert_eq!(error(&answer)["code"], "stream_not_granted");
    assert_eq!((a.count(), b.count()), (0, 0));
}

/// Two grants of one account are one choice, and no choice at all if there is no other account.
#[tokio::test]
async fn r5_3_grants_that_share_a_connection_are_one_candidate() {
    let (a, b) =
        (provider("mail", "ca", 2, Wrapped::Data).await, provider("chat", "cb", 2, Wrapped::Data).await);
    let twice = ["g1", "g2"].map(|grant| served(&a, grant, vec![source("mail", "ca", &["notes"])])).to_vec();
    let answer = call(&package(twice.clone()), "query_records", json!({"stream": "notes"})).await;
    assert!(!answer.is_error, "{}", answer.text);
    assert!(a.asked().iter().all(|asked| asked.bearer == "g1"));
    let other = served(&b, "g3", vec![source("chat", "cb", &["notes"])]);
    let package = package([twice, vec![other]].concat());
    let error = error(&call(&package, "query_records", json!({"stream": "notes"})).await);
    let ids = error["available_connections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|candidate| &candidate["connection_id"]);
    assert_eq!(ids.collect::<Vec<_>>(), ["ca", "cb"]);
    let Err(ResourceError::Failed { data, .. }) = package.read_resource("pdpp://blob/blob_1").await else {
        panic!("whose blob?")
    };
    assert_eq!(data["error"]["available_connections"].as_array().unwrap().len(), 2);
    assert_eq!((a.count(), b.count()), (0, 0));
}

#[tokio::test]
async fn r5_3_of_many_candidates_twelve_are_named_and_the_rest_counted() {
    let fake = Fake::start(|_| Does::Answer(500, json!({}))).await;
    let grants = (0..30).map(|n| {
        let connection = format!("cin_{n}");
        served(&fake, &format!("g{n}"), vec![source("mail", &connection, &["notes"])])
    });
    let package = package(grants.collect());
    let answer = call(&package, "query_records", json!({"stream": "notes"})).await;
    let error = error(&answer);
    assert_eq!(error["available_connections"].as_array().unwrap().len(), 12);
    assert_eq!((&error["available_connections_total"], &error["truncated"]), (&json!(30), &json!(true)));
    assert!(answer.text.contains("12 of 30 connections shown; schema {} lists all"), "{}", answer.text);
    assert_eq!(fake.count(), 0);
}

#[tokio::test]
async fn r6_7_a_connection_of_two_providers_is_never_guessed() {
    let a = provider("mail", "same", 2, Wrapped::Data).await;
    let b = provider("chat", "same", 2, Wrapped::Data).await;
    let package = package(vec![
        served(&a, "g1", vec![source("mail", "same", &["notes"])]),
        served(&b, "g2", vec![source("chat", "same", &["messages"])]),
    ]);
    for (tool, arguments) in [
        ("query_records", json!({"stream": "notes", "connection_id": "same"})),
        ("fetch", json!({"id": "same/notes:1"})),
        ("search", json!({"q": "x", "connection_id": "same"})),
        ("schema", json!({"connection_id": "same"})),
    ] {
        let answer = call(&package, tool, arguments).await;
        assert_eq!(error(&answer)["code"], "ambiguous_provider", "{tool}");
        for url in [&a.url, &b.url] {
            assert!(
                answer.text.contains(&format!("pdpp mcp serve --provider {url}")),
                "{tool}: {}",
                answer.text
            );
        }
    }
    // A stream that both have does not distinguish them either, and no call with that connection is offered.
    let both = super::fake::package(vec![
        served(&a, "g1", vec![source("mail", "same", &["notes"])]),
        served(&b, "g2", vec![source("chat", "same", &["notes"])]),
    ]);
    let answer = call(&both, "query_records", json!({"stream": "notes"})).await;
    assert_eq!(error(&answer)["code"], "ambiguous_provider", "{}", answer.text);
    assert_eq!((a.count(), b.count()), (0, 0));
    // The index names what distinguishes them.
    let answer = call(&package, "schema", json!({})).await;
    for url in [&a.url, &b.url] {
        assert!(answer.text.contains(&format!("provider={url}")), "{}", answer.text);
    }

    // Two grants of one provider share its connections: the one that has the stream is read.
    let package = super::fake::package(vec![
        served(&a, "g1", vec![source("mail", "same", &["folders"])]),
        served(&a, "g2", vec![source("mail", "same", &["notes"])]),
    ]);
    let answer = call(&package, "fetch", json!({"id": "same/notes:1"})).await;
    assert!(!answer.is_error, "{}", answer.text);
}

#[tokio::test]
async fn r4_5_a_token_that_is_refreshed_forgets_no_blob_and_no_source() {
    let is_silent = Arc::new(Mutex::new(false));
    let silent = Arc::clone(&is_silent);
    let a = Fake::start(move |asked| match asked.path.as_str() {
        "/schema" if *silent.lock().unwrap() => Does::Answer(500, json!({})),
        "/schema" => ok(super::fake::schema("mail", "ca", &["notes"])),
        "/blobs/b_1" => ok(json!({"blob": "ca"})),
        _ => {
            let data = json!({"id": "1", "blob_ref": {"blob_id": "b_1"}});
            let record = json!({"object": "record", "id": "1", "stream": "notes", "connection_id": "ca", "data": data});
            ok(json!({"object": "list", "data": [record], "has_more": false, "meta": {"warnings": []}}))
        }
    })
    .await;
    let b = provider("chat", "cb", 2, Wrapped::Data).await;
    // The index knows nothing about its sources: they are learned from the schema.
    let grants = Arc::new(Mutex::new(vec![
        served(&a, "g1", vec![]),
        served(&b, "g2", vec![source("chat", "cb", &["messages"])]),
    ]));
    let package = package_of(&grants, Bounds::default());
    assert!(!call(&package, "schema", json!({})).await.is_error);
    let arguments = json!({"stream": "notes", "connection_id": "ca"});
    let answer = call(&package, "query_records", arguments.clone()).await;
    assert!(answer.text.contains("b_1"), "{}", answer.text);

    // A refresh stores the token under another id; the schema, which would be read again, is unavailable.
    grants.lock().unwrap()[0].id = "refreshed".to_owned();
    *is_silent.lock().unwrap() = true;
    let answer = call(&package, "schema", json!({})).await;
    assert!(answer.text.contains("nothing from Label g1"), "{}", answer.text);
    b.asked();
    let read = package.read_resource("pdpp://blob/b_1").await;
    assert!(
        matches!(&read, Ok(ResourceContents::Blob { bytes, .. }) if bytes.starts_with(b"{\"blob\":\"ca\"")),
        "{read:?}"
    );
    let answer = call(&package, "query_records", json!({"stream": "notes"})).await;
    let offered = error(&answer)["available_connections"].clone();
    let ids =
        offered.as_array().unwrap().iter().map(|candidate| &candidate["connection_id"]).collect::<Vec<_>>();
    assert_eq!(ids, ["ca", "cb"], "what was learned of g1 is still known");
    assert_eq!(b.count(), 0);

    // New information in the index overrides what was learned before.
    let mut changed = served(&a, "g1", vec![source("mail", "cz", &["letters"])]);
    changed.id = "approved again".to_owned();
    grants.lock().unwrap()[0] = changed;
    call(&package, "schema", json!({})).await;
    let answer = call(&package, "query_records", arguments).await;
    assert_eq!(error(&answer)["code"], "unknown_connection", "{}", answer.text);
}

/// A provider whose grant is revoked while `dead` is set.
async fn revocable(connection: &'static str, dead: Arc<Mutex<bool>>) -> Fake {
    Fake::start(move |asked| {
        if *dead.lock().unwrap() {
            return Does::Answer(
                403,
                json!({"error": {"code": "grant_revoked", "message": "The grant is revoked"}}),
            );
        }
        if asked.path == "/schema" {
            return ok(super::fake::schema("chat", connection, &["notes"]));
        }
        ok(json!({"object": "list", "data": [], "has_more": false, "meta": {"warnings": []}}))
    })
    .await
}

#[tokio::test]
async fn r5_4_a_refused_or_expired_grant_is_not_a_normal_option() {
    let a = provider("mail", "ca", 2, Wrapped::Data).await;
    let c = provider("mail", "cc", 2, Wrapped::Data).await;
    let dead = Arc::new(Mutex::new(true));
    let b = revocable("cb", Arc::clone(&dead)).await;
    let mut over = served(&c, "g3", vec![source("bank", "cc", &["notes"])]);
    over.ends = Some(jiff::Timestamp::from_second(1_000).unwrap());
    let package = package(vec![
        served(&a, "g1", vec![source("mail", "ca", &["notes"])]),
        served(&b, "g2", vec![source("chat", "cb", &["notes"])]),
        over,
    ]);
    // Not yet known to be refused: its own error reports it, and the alternatives.
    let answer = call(&package, "query_records", json!({"stream": "notes", "connection_id": "cb"})).await;
    assert_eq!(error(&answer)["code"], "grant_revoked");
    let next = error(&answer)["hint"].as_str().unwrap().to_owned();
    assert!(
        next.contains(&format!("pdpp connect {}", b.url)) && next.contains("choose another connection"),
        "{next}"
    );
    // From then on it is not offered.
    let answer = call(&package, "query_records", json!({"stream": "notes"})).await;
    let offered = error(&answer)["available_connections"].clone();
    assert_eq!(offered.as_array().unwrap().len(), 1, "{offered}");
    assert_eq!(offered[0]["connection_id"], "ca");
    assert!(answer.text.contains("cannot be read until approved again"), "{}", answer.text);
    // The expired one was never contacted, and is reported the same way.
    let answer = call(&package, "query_records", json!({"stream": "notes", "connection_id": "cc"})).await;
    assert_eq!(error(&answer)["code"], "grant_expired");
    assert!(answer.text.contains(&format!("pdpp connect {}", c.url)), "{}", answer.text);
    assert!(answer.text.contains("choose another connection"), "{}", answer.text);
    assert_eq!(c.count(), 0);
    // A search leaves out both without a request, and states this in both views.
    b.asked();
    let answer = call(&package, "search", json!({"q": "x"})).await;
    assert!(!answer.is_error, "{}", answer.text);
    assert_eq!((b.count(), c.count()), (0, 0));
    let warnings = structured(&answer)["data"]["meta"]["warnings"].to_string();
    for part in ["Label g2 (grant_refused): pdpp connect", "Label g3 (grant_expired): pdpp connect"] {
        assert!(answer.text.contains(part) && warnings.contains(part), "{part}: {}\n{warnings}", answer.text);
    }
    // Accepted again, it is treated like every other.
    *dead.lock().unwrap() = false;
    let answer = call(&package, "query_records", json!({"stream": "notes", "connection_id": "cb"})).await;
    assert!(!answer.is_error, "{}", answer.text);
    let answer = call(&package, "query_records", json!({"stream": "notes"})).await;
    assert_eq!(error(&answer)["available_connections"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn r6_1_grants_come_and_go_while_they_are_served() {
    let a = provider("mail", "ca", 2, Wrapped::Data).await;
    let dead = Arc::new(Mutex::new(true));
    let b = revocable("cb", Arc::clone(&dead)).await;
    let grants = Arc::new(Mutex::new(vec![served(&a, "g1", vec![source("mail", "ca", &["notes"])])]));
    let package = package_of(&grants, Bounds::default());
    assert!(!call(&package, "query_records", json!({"stream": "notes"})).await.is_error);

    // A new one appears when the schema is read.
    grants.lock().unwrap().push(served(&b, "g2", vec![source("chat", "cb", &["notes"])]));
    let answer = call(&package, "schema", json!({})).await;
    assert!(
        answer.text.contains("ca") && answer.text.contains("Label g2 (grant_revoked)"),
        "{}",
        answer.text
    );

    // A connection that nothing has served so far is looked up, too; and a replaced token is used at once.
    grants.lock().unwrap()[1].id = "replaced".to_owned();
    *dead.lock().unwrap() = false;
    let answer = call(&package, "query_records", json!({"stream": "notes", "connection_id": "cb"})).await;
    assert!(!answer.is_error, "{}", answer.text);

    // A removed grant is not served any more, nor offered as a choice, although the schema was not read since.
    grants.lock().unwrap().truncate(1);
    let answer = call(&package, "query_records", json!({"stream": "notes"})).await;
    assert!(!answer.is_error, "{}", answer.text);
    let answer = call(&package, "query_records", json!({"stream": "notes", "connection_id": "zz"})).await;
    assert!(!answer.is_error, "one grant is asked as it is: {}", answer.text);
    grants.lock().unwrap().clear();
    let answer = call(&package, "schema", json!({})).await;
    assert_eq!(error(&answer)["code"], "not_connected");
    assert!(answer.text.contains("ask the user to run: pdpp status"), "{}", answer.text);
}
