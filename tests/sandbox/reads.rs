//! What can be read, and that the answers are right.

use std::collections::BTreeSet;

use pdpp::sandbox::Config;
use pdpp::vault::Vault;
use pdpp::vault::grant::TimeConstraint;
use pdpp::vault::rs::Answer;
use pdpp::vault::rs::read::{Read, Resource};
use serde_json::Value;

use super::{ask, everything, get, grant, shared, token, walk, whole};
use crate::support::filled;

fn mail(app: &Vault) -> String {
    let both = ["cin_mail_personal", "cin_mail_work"];
    let streams = ["messages", "message_bodies", "attachments"];
    token(app, streams.iter().map(|stream| whole(app, "mail", stream, &both)).collect())
}

fn ids(rows: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rows.iter().map(|row| (text(&row["connection_id"]), text(&row["id"]))).collect()
}

#[test]
fn one_cursor_walks_two_connections_in_both_orders() {
    let app = shared();
    let token = mail(app);
    let (newest_first, pages) = walk(app, &token, "/v1/streams/messages/records?limit=100");
    assert_eq!((newest_first.len(), pages), (2401 + 1301, 38));
    let unique: BTreeSet<_> = ids(&newest_first).into_iter().collect();
    assert_eq!(unique.len(), newest_first.len(), "no row twice");
    let times: Vec<&str> =
        newest_first.iter().map(|row| row["data"]["received_at"].as_str().unwrap()).collect();
    assert!(times.windows(2).all(|pair| pair[0] >= pair[1]));
    let (oldest_first, _) = walk(app, &token, "/v1/streams/messages/records?limit=100&order=asc");
    assert_eq!(ids(&oldest_first), ids(&newest_first).into_iter().rev().collect::<Vec<_>>());
    let counted = get(app, &token, "/v1/streams/messages/records?limit=1&count=exact").json();
    assert_eq!(counted["meta"]["count"]["value"].to_string(), newest_first.len().to_string());
}

#[test]
fn records_keep_their_digits() {
    let app = shared();
    let token = everything(app);
    let (rows, _) = walk(app, &token, "/v1/streams/transactions/records?limit=100&order=asc");
    let amounts: Vec<String> = rows.iter().map(|row| row["data"]["amount"].to_string()).collect();
    assert!(amounts.contains(&"1.10".to_owned()) && amounts.iter().any(|amount| amount.ends_with('0')));
    assert!(rows.iter().all(|row| row["data"]["reference"].to_string().len() == 16));
    let sum = get(app, &token, "/v1/streams/transactions/aggregate?metric=sum&field=amount").json();
    let cents: i64 = amounts.iter().map(|amount| amount.replace('.', "").parse::<i64>().unwrap()).sum();
    assert_eq!(sum["value"].to_string().replace('.', ""), cents.to_string());
}

#[test]
fn odd_ids_are_found_by_one_encoded_segment() {
    let app = shared();
    let token = everything(app);
    for (stream, connection) in [
        ("artifacts", "cin_coding_laptop"),
        ("tool_calls", "cin_coding_laptop"),
        ("top_artists", "cin_music_main"),
        ("messages", "cin_chat_kestrel"),
        ("labels", "cin_mail_personal"),
        ("transactions", "cin_bank_fjord"),
        ("attendees", "cin_calendar_main"),
    ] {
        let list =
            get(app, &token, &format!("/v1/streams/{stream}/records?limit=30&connection_id={connection}"));
        for row in list.json()["data"].as_array().unwrap() {
            let id = row["id"].as_str().unwrap();
            let encoded = percent_encoding::utf8_percent_encode(id, percent_encoding::NON_ALPHANUMERIC);
            let record = get(
                app,
                &token,
                &format!("/v1/streams/{stream}/records/{encoded}?connection_id={connection}"),
            );
            assert_eq!(record.status, 200, "{stream} {id}");
            assert_eq!((&record.json()["data"], &record.json()["id"]), (&row["data"], &row["id"]));
        }
    }
}

#[test]
fn filters_ranges_views_and_expansion_say_the_same_as_the_rows() {
    let app = shared();
    let token = mail(app);
    let at = "connection_id=cin_mail_work&limit=100";
    let (all, _) = walk(app, &token, &format!("/v1/streams/messages/records?{at}"));
    let count =
        |filter: &str| walk(app, &token, &format!("/v1/streams/messages/records?{at}&{filter}")).0.len();
    let expected = |keep: &dyn Fn(&Value) -> bool| all.iter().filter(|row| keep(&row["data"])).count();
    assert_eq!(count("filter[is_flagged]=true"), expected(&|data| data["is_flagged"] == true));
    let from = |data: &Value| data["received_at"].as_str().unwrap() >= "2026-03-01";
    // The same instant with another offset and precision.
    assert_eq!(count("filter[received_at][gte]=2026-03-01T01:00:00.000%2B01:00"), expected(&from));
    assert_eq!(
        count("filter[size_bytes][gt]=1000&filter[size_bytes][lte]=1100"),
        expected(&|data| data["size_bytes"].as_u64().is_some_and(|size| size > 1000 && size <= 1100))
    );
    assert_eq!(count("filter[size_bytes]=abc"), 0);
    let counted = get(
        app,
        &token,
        "/v1/streams/messages/aggregate?metric=count&connection_id=cin_mail_work&filter[is_flagged]=true",
    );
    assert_eq!(counted.json()["value"].to_string(), count("filter[is_flagged]=true").to_string());

    let view = get(app, &token, &format!("/v1/streams/messages/records?{at}&view=envelope")).json();
    let first = view["data"][0]["data"].as_object().unwrap();
    assert!(first.contains_key("subject") && !first.contains_key("snippet"));

    let expanded = get(
        app,
        &token,
        "/v1/streams/messages/records?connection_id=cin_mail_work&limit=2&filter[has_attachments]=true\
         &expand[]=attachments&expand[]=message_bodies&expand_limit[attachments]=1",
    )
    .json();
    for row in expanded["data"].as_array().unwrap() {
        assert_eq!(row["expanded"]["attachments"]["data"][0]["data"]["message_id"], row["id"]);
        assert_eq!(row["expanded"]["message_bodies"]["data"]["message_id"], row["id"]);
    }
}

#[test]
fn wrong_requests_are_typed() {
    let app = shared();
    let token = mail(app);
    let records = "/v1/streams/messages/records";
    for (target, status, code) in [
        (format!("{records}?limit=0"), 400, "invalid_request"),
        (format!("{records}?limit=abc"), 400, "invalid_request"),
        (format!("{records}?zzz=1"), 400, "invalid_request"),
        (format!("{records}?filter=is_seen"), 400, "invalid_request"),
        (format!("{records}?filter[nope]=1"), 400, "unknown_field"),
        (format!("{records}?filter[subject][gte]=a"), 400, "invalid_request"),
        (format!("{records}?filter[size_bytes][like]=a"), 400, "invalid_request"),
        (format!("{records}?fields=nope"), 400, "unknown_field"),
        (format!("{records}?view=envelope&fields=id"), 400, "invalid_request"),
        (format!("{records}?expand=nope"), 400, "invalid_expand"),
        (format!("{records}?sort=-subject"), 400, "invalid_sort"),
        (format!("{records}?sort=-received_at&order=asc"), 400, "invalid_sort"),
        (format!("{records}?cursor=zzz"), 400, "invalid_cursor"),
        (format!("{records}?changes_since=2024-01-01T00:00:00Z"), 400, "invalid_cursor"),
        (format!("{records}?connection_id=cin_chat_kestrel"), 401, "context.instance_mismatch"),
        ("/v1/streams/labels/records".to_owned(), 401, "context.stream_not_allowed"),
        (format!("{records}/nope"), 404, "not_found"),
        (format!("{records}/m-shared-0001"), 409, "ambiguous_connection"),
        ("/v1/search".to_owned(), 400, "invalid_request"),
        ("/v1/search?q=x&streams=labels".to_owned(), 403, "grant_stream_not_allowed"),
        ("/v1/search?q=x&filter[is_seen]=true".to_owned(), 400, "invalid_request"),
        ("/v1/search/semantic?q=x".to_owned(), 404, "retrieval_mode_not_supported"),
        ("/v1/schema?detail=full".to_owned(), 400, "invalid_request"),
        ("/v1/schema?detail=full&stream=messages".to_owned(), 409, "ambiguous_schema_detail"),
        ("/v1/streams/messages/aggregate?metric=avg".to_owned(), 400, "invalid_request"),
        ("/v1/blobs/blob_nope".to_owned(), 404, "blob_not_found"),
        ("/v1/nope".to_owned(), 404, "not_found"),
    ] {
        let answer = get(app, &token, &target);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{target}");
        assert_eq!(answer.header("request-id"), Some("req_test"));
        assert_eq!(answer.header("pdpp-version"), Some("2026-04-06"));
        assert_eq!(answer.json()["error"]["request_id"], "req_test");
        assert_eq!(answer.header("www-authenticate").is_some(), status == 401, "{target}");
    }
    assert_eq!(
        ask(app, "DELETE", "/v1/streams", &[("authorization", &format!("Bearer {token}"))], b"").status,
        405
    );
    let old = ask(
        app,
        "GET",
        "/v1/streams",
        &[("authorization", &format!("Bearer {token}")), ("pdpp-version", "2020-01-01")],
        b"",
    );
    assert_eq!(old.code(), "unsupported_version");
}

#[test]
fn a_cursor_belongs_to_its_query_and_grant() {
    let app = shared();
    let (of_one, other) = (mail(app), mail(app));
    let list = |token: &str, target: &str| get(app, token, target).json();
    let page = list(&of_one, "/v1/streams/messages/records?limit=2");
    let cursor = page["next_cursor"].as_str().unwrap();
    let with = |token: &str, target: &str| {
        let joint = if target.contains('?') { '&' } else { '?' };
        get(app, token, &format!("{target}{joint}cursor={cursor}"))
    };
    assert_eq!(with(&of_one, "/v1/streams/messages/records?limit=5").status, 200);
    for (token, target) in [
        (&other, "/v1/streams/messages/records"),
        (&of_one, "/v1/streams/message_bodies/records"),
        (&of_one, "/v1/streams/messages/records?order=asc"),
        (&of_one, "/v1/streams/messages/records?filter[is_seen]=true"),
        (&of_one, "/v1/streams/messages/records?connection_id=cin_mail_work"),
        (&of_one, "/v1/search?q=invoice"),
    ] {
        assert_eq!(with(token, target).code(), "invalid_cursor", "{target}");
    }
}

#[test]
fn search_finds_marks_pages_and_says_how_complete_it_is() {
    let app = shared();
    let token = everything(app);
    let needle = get(app, &token, "/v1/search?q=needle-mp-211").json();
    assert_eq!(needle["data"].as_array().unwrap().len(), 1);
    let hit = &needle["data"][0];
    assert_eq!(
        (hit["record_key"].as_str(), hit["stream"].as_str()),
        (Some("mp-m00211"), Some("message_bodies"))
    );
    assert!(hit["snippet"]["text"].as_str().unwrap().contains("<mark>NEEDLE-mp-211</mark>"));
    assert_eq!(needle["meta"]["recall"]["complete"], true);
    let read = &hit["evidence_excerpts"][0]["read"];
    let window = get(
        app,
        &token,
        &format!(
            "{}?field={}&connection_id={}&q=NEEDLE-mp-211&before_chars=10&after_chars=10",
            read["route"].as_str().unwrap(),
            read["field"].as_str().unwrap(),
            read["connection_id"].as_str().unwrap()
        ),
    );
    assert!(window.json()["window"]["text"].as_str().unwrap().contains("NEEDLE-mp-211"));

    let (hits, pages) = walk(app, &token, "/v1/search?q=mortgage%20offer&limit=100&streams=messages");
    assert!(pages > 1);
    let unique: BTreeSet<String> =
        hits.iter().map(|hit| format!("{} {}", hit["connection_id"], hit["record_key"])).collect();
    assert_eq!(unique.len(), hits.len());
    let record = get(app, &token, hits[0]["record_url"].as_str().unwrap()).json();
    assert_eq!(hits[0]["sent_at"], record["data"]["date"], "the record's own time: {record}");
    assert!(hits[0]["sent_at"].is_string());
    for hit in &hits {
        for excerpt in hit["evidence_excerpts"].as_array().unwrap() {
            let text = excerpt["preview_text"].as_str().unwrap();
            assert!(text.contains("<mark>"));
            assert_eq!(text.matches("<mark>").count(), text.matches("</mark>").count());
        }
    }
    let many = get(app, &token, "/v1/search?q=the").json();
    assert_eq!(many["meta"]["recall"]["complete"], true);
    assert_eq!(many["meta"]["count_accuracy"], "exact");
    assert!(many["meta"]["count"].as_u64() > Some(300), "{}", many["meta"]);
    for nothing in ["%22unbalanced%20AND%20(", "zzzznotthere"] {
        let none = get(app, &token, &format!("/v1/search?q={nothing}")).json();
        assert_eq!(none["data"].as_array().unwrap().len(), 0, "{nothing}");
    }
    for no_word in ["%22%22%20*", "%CC%81", "%E2%80%A6"] {
        let refused = get(app, &token, &format!("/v1/search?q={no_word}"));
        let error = refused.json()["error"].clone();
        assert_eq!((refused.status, &error["param"]), (400, &serde_json::json!("q")), "{no_word}");
        assert!(error["message"].as_str().unwrap().contains("no word"), "{error}");
    }
    let japanese = get(app, &token, "/v1/search?q=%E5%B1%A5%E6%AD%B4").json();
    assert_eq!(japanese["data"][0]["stream"], "labels", "a part of a word without spaces is found");
}

#[test]
fn windows_of_a_long_text_join_to_the_whole() {
    let app = shared();
    let token = everything(app);
    let route = "/v1/streams/message_bodies/records/mp-m00211";
    let whole = get(app, &token, route).json()["data"]["body_text"].as_str().unwrap().to_owned();
    assert!(whole.len() > 200_000);
    let (mut joined, mut offset) = (String::new(), Some(0));
    while let Some(at) = offset {
        let target = format!("{route}/field-window?field=body_text&limit_chars=99999&offset_chars={at}");
        let window = get(app, &token, &target).json()["window"].clone();
        joined.push_str(window["text"].as_str().unwrap());
        assert!(window["text"].as_str().unwrap().chars().count() <= 16_384);
        offset = window["next_offset_chars"].as_u64();
    }
    assert_eq!(joined, whole);
    for (target, code) in [
        ("/v1/streams/messages/records/mp-m00017/field-window?field=size_bytes", "field_not_text"),
        ("/v1/streams/message_bodies/records/mp-m00017/field-window?field=body_html", "field_not_text"),
        (
            "/v1/streams/message_bodies/records/mp-m00017/field-window?field=body_text&q=zzzz",
            "match_not_found",
        ),
    ] {
        assert_eq!(get(app, &token, &format!("{target}&connection_id=cin_mail_personal")).code(), code);
    }
}

#[test]
fn blobs_come_through_a_record_that_names_them() {
    let app = shared();
    let token = mail(app);
    let record = get(app, &token, "/v1/streams/attachments/records/mp-m00017-a1").json();
    let url = record["data"]["blob_ref"]["fetch_url"].as_str().unwrap();
    let blob = get(app, &token, url);
    assert_eq!((blob.status, blob.header("content-type")), (200, Some("text/csv")));
    assert_eq!(blob.body.len().to_string(), record["data"]["blob_ref"]["size_bytes"].to_string());
    let mut without = whole(app, "mail", "attachments", &["cin_mail_personal"]);
    without.fields.retain(|field| field != "blob_ref");
    assert_eq!(get(app, &super::token(app, vec![without]), url).code(), "blob_not_found");
    // Deleted: the record is gone, and the blob cannot be reached through it any more.
    assert_eq!(get(app, &token, "/v1/streams/attachments/records/mp-m00051-a1").status, 404);
}

#[test]
fn a_read_without_http_has_the_same_answer() {
    let app = shared();
    let token = everything(app);
    let (attachments, _) = walk(app, &token, "/v1/streams/attachments/records?limit=100");
    let blob = attachments.iter().find_map(|row| row["data"]["blob_ref"]["blob_id"].as_str()).unwrap();
    let [labels, bodies, transactions] = ["labels", "message_bodies", "transactions"].map(str::to_owned);
    let reads = [
        (Resource::Schema, &[("view", "compact")][..]),
        (Resource::Connectors, &[]),
        (Resource::Streams, &[("connection_id", "cin_mail_work")]),
        (Resource::Stream(bodies.clone()), &[]),
        // Without a cursor, because no two are equal.
        (Resource::Records(labels.clone()), &[("limit", "100"), ("filter[name]", "Résumés & 履歴書")]),
        (
            Resource::Record(labels.clone(), "Home/100% sure".to_owned()),
            &[("connection_id", "cin_mail_work")],
        ),
        (Resource::FieldWindow(bodies, "mp-m00211".to_owned()), &[("field", "body_text")]),
        (Resource::Aggregate(transactions), &[("metric", "count"), ("group_by", "category")]),
        (Resource::Search, &[("q", "\"NEEDLE-mp-211\""), ("streams[]", "message_bodies")]),
        (Resource::Record(labels, "no/such".to_owned()), &[]),
    ];
    for (resource, params) in reads {
        let params = params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let read = Read::new(resource, params.collect());
        let by_http = get(app, &token, &read.target());
        match app.read(Some(&token), &read) {
            Ok(answer) => assert_eq!(answer, Answer::Json(by_http.json()), "{read:?}"),
            Err(refused) => {
                assert_eq!((refused.status.as_u16(), refused.code), (404, "not_found"), "{read:?}");
                assert_eq!((by_http.status, by_http.code()), (404, "not_found".to_owned()));
            }
        }
        for (bearer, code) in [(None, "authentication_error"), (Some("made-up"), "context.active_false")] {
            assert_eq!(app.read(bearer, &read).unwrap_err().code, code);
        }
    }
    let read = Read::new(Resource::Blob(blob.to_owned()), Vec::new());
    let by_http = get(app, &token, &read.target());
    let media_type = by_http.header("content-type").unwrap().to_owned();
    let bytes = by_http.body.clone();
    assert_eq!(app.read(Some(&token), &read).unwrap(), Answer::Blob { media_type, bytes });
}

#[test]
fn groups_and_their_rest_add_up() {
    let app = shared();
    let token = everything(app);
    for query in [
        "group_by=merchant&limit=3",
        "group_by=is_pending",
        "group_by_time=booked_at&granularity=week&limit=5&time_zone=Asia/Tokyo",
    ] {
        let target = format!("/v1/streams/transactions/aggregate?metric=count&{query}");
        let answer = get(app, &token, &target).json();
        let groups: u64 =
            answer["groups"].as_array().unwrap().iter().map(|group| group["count"].as_u64().unwrap()).sum();
        assert_eq!(groups + answer["other_count"].as_u64().unwrap(), 2200, "{query}");
    }
    let least = get(app, &token, "/v1/streams/transactions/aggregate?metric=min&field=booked_at").json();
    let first = get(app, &token, "/v1/streams/transactions/records?order=asc&limit=1").json();
    assert_eq!(least["value"], first["data"][0]["data"]["booked_at"]);
}

#[test]
fn a_grant_ends_by_its_time_and_by_revocation() {
    let app = shared();
    let mut over = grant(vec![whole(app, "bank", "accounts", &["cin_bank_fjord"])]);
    over.expires_at = Some("2026-01-01T00:00:00Z".to_owned());
    let expired = app.issue(over).unwrap().token;
    let other = token(app, vec![whole(app, "bank", "accounts", &["cin_bank_fjord"])]);
    let live = app.issue(grant(vec![whole(app, "bank", "accounts", &["cin_bank_fjord"])])).unwrap();
    let revoke = |token: &str| {
        let target = format!("/grants/{}/revoke", live.grant.grant_id);
        ask(app, "POST", &target, &[("authorization", &format!("Bearer {token}"))], b"{}")
    };
    for target in ["/v1/schema", "/v1/streams/accounts/records", "/v1/search?q=savings"] {
        assert_eq!(get(app, &expired, target).code(), "grant_expired");
        assert_eq!(get(app, &live.token, target).status, 200);
        assert_eq!(get(app, "pdpp_ct_made_up", target).code(), "context.active_false");
        assert_eq!(ask(app, "GET", target, &[], b"").code(), "authentication_error");
    }
    assert_eq!(revoke(&other).status, 403);
    assert_eq!(get(app, &live.token, "/v1/schema").status, 200);
    assert_eq!((revoke(&live.token).status, revoke(&live.token).status), (200, 200));
    for target in ["/v1/schema", "/v1/streams/accounts/records", "/v1/search?q=savings"] {
        assert_eq!(get(app, &live.token, target).code(), "grant_revoked");
    }
}

#[test]
fn a_period_narrows_every_way_to_read() {
    let app = shared();
    let mut messages = whole(app, "mail", "messages", &["cin_mail_work"]);
    messages.time_constraint = Some(TimeConstraint {
        field: "received_at".to_owned(),
        since: Some("2026-01-01T00:00:00Z".to_owned()),
        until: Some("2026-02-01T00:00:00Z".to_owned()),
    });
    let token = token(app, vec![messages]);
    let (rows, _) = walk(app, &token, "/v1/streams/messages/records");
    assert!(!rows.is_empty());
    assert!(rows.iter().all(|row| row["data"]["received_at"].as_str().unwrap().starts_with("2026-01")));
    let count = get(app, &token, "/v1/streams/messages/aggregate?metric=count").json()["value"].clone();
    assert_eq!(count.to_string(), rows.len().to_string());
    assert_eq!(get(app, &token, "/v1/streams").json()["data"][0]["record_count"], count);
    let (changes, _) = walk(app, &token, "/v1/streams/messages/records?changes_since=beginning");
    assert_eq!(changes.len(), rows.len());
    assert_eq!(get(app, &token, "/v1/streams/messages/records/mw-m00001").status, 404);
}

#[test]
fn core_has_the_draft_and_nothing_more() {
    let app = filled::open(Config { core: true, ..Config::default() });
    let token = token(&app, vec![whole(&app, "mail", "messages", &["cin_mail_work"])]);
    for target in [
        "/v1/schema",
        "/v1/search?q=x",
        "/v1/connectors",
        "/v1/streams/messages/aggregate?metric=count",
        "/v1/streams/messages/records/mw-m00001/field-window?field=subject",
    ] {
        assert_eq!(get(&app, &token, target).status, 404, "{target}");
    }
    for refused in
        ["filter[is_seen]=true", "expand=attachments", "expand_limit[attachments]=1", "view=envelope"]
    {
        let answer = get(&app, &token, &format!("/v1/streams/messages/records?{refused}"));
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_request"), "{refused}");
    }
    assert_eq!(get(&app, &token, "/v1/streams/messages/records?limit=3&fields=id").status, 200);
    let metadata = get(&app, &token, "/v1/streams/messages").json();
    assert_eq!(metadata["expand_capabilities"].as_array().unwrap().len(), 0);
    assert_eq!(metadata["field_capabilities"]["subject"]["lexical_search"]["declared"], false);
}
