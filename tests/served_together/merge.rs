//! `search` and `schema` over all grants: merged, walked to the end, honest about missing grants.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pdpp::mcp::size::Bounds;
use pdpp::mcp::size::json_len;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::fake::{
    Does, Fake, Wrapped, call, error, hit, ok, package, package_of, package_within, page, provider, schema,
    served, source, structured,
};
use crate::support::cases::cases;

fn ids(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().unwrap();
    results.iter().map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn r6_2_three_shapes_are_merged_in_turns_under_one_limit() {
    let a = provider("mail", "ca", 3, Wrapped::Data).await;
    let b = provider("chat", "cb", 9, Wrapped::Results).await;
    let c = provider("bank", "cc", 9, Wrapped::DataData).await;
    let package = package(vec![
        served(&a, "g1", vec![source("mail", "ca", &["notes"])]),
        served(&b, "g2", vec![source("chat", "cb", &["notes"])]),
        served(&c, "g3", vec![source("bank", "cc", &["notes"])]),
    ]);
    let mut arguments = json!({"q": "the", "limit": 5});
    let mut seen = Vec::new();
    loop {
        let answer = call(&package, "search", arguments.clone()).await;
        assert!(!answer.is_error, "{}", answer.text);
        let body = structured(&answer);
        let page = ids(&body);
        assert!(page.len() <= 5, "the limit is global");
        for id in &page {
            assert!(answer.text.contains(&format!("id={id}")), "{id} in {}", answer.text);
        }
        for hit in body["results"].as_array().unwrap() {
            let of = hit["connection_id"].as_str().unwrap();
            let url = [("ca", &a), ("cb", &b), ("cc", &c)].into_iter().find(|(id, _)| *id == of).unwrap().1;
            assert!(hit["url"].as_str().unwrap().starts_with(&url.url), "each hit keeps its source: {hit}");
        }
        seen.extend(page);
        match body.get("next") {
            Some(next) => {
                assert_eq!(next["tool"], "search");
                arguments = next["arguments"].clone();
            }
            None => break,
        }
    }
    let expected = ["ca:0 cb:0 cc:0 ca:1 cb:1", "cc:1 ca:2 cb:2 cc:2 cb:3", "cc:3 cb:4 cc:4 cb:5 cc:5"];
    let short = |id: &String| id.split('/').next().unwrap().to_owned() + ":" + id.rsplit('-').next().unwrap();
    let turns = seen.iter().map(short).collect::<Vec<_>>();
    assert_eq!(turns.chunks(5).take(3).map(|page| page.join(" ")).collect::<Vec<_>>(), expected);
    assert_eq!(seen.len(), 21);
    assert!(seen.iter().collect::<std::collections::BTreeSet<_>>().len() == 21, "none twice");
}

#[tokio::test]
async fn r6_2_what_a_grant_gave_that_is_gone_is_not_shown_again() {
    let rows = (0..20).map(|n| hit("c", "notes", &format!("n{n}"))).collect::<Vec<_>>();
    let turned = rows.iter().rev().cloned().collect::<Vec<_>>();
    let fake = Fake::start(move |asked| {
        let rows = if asked.bearer == "g1" { &rows } else { &turned };
        ok(page(asked, rows, Wrapped::Data, 60))
    })
    .await;
    let two = ["g1", "g2"].map(|grant| served(&fake, grant, vec![source("mail", "c", &["notes"])]));
    let grants = Arc::new(Mutex::new(two.to_vec()));
    let package = package_of(&grants, Bounds::default());
    let mut arguments = json!({"q": "the", "limit": 7});
    let (mut seen, mut warned) = (Vec::new(), 0);
    loop {
        let answer = call(&package, "search", arguments.clone()).await;
        let body = structured(&answer);
        seen.extend(ids(&body));
        warned += usize::from(answer.text.contains("nothing more from a grant"));
        let Some(next) = body.get("next") else { break };
        arguments = next["arguments"].clone();
        // Known from the next call on.
        grants.lock().unwrap().truncate(1);
        call(&package, "schema", json!({})).await;
    }
    let distinct = seen.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!((seen.len(), distinct, warned), (20, 20, 1));
}

#[tokio::test]
async fn r6_2_what_two_grants_of_a_provider_give_is_shown_once() {
    let rows = (0..40).map(|n| hit("c", "notes", &format!("n{n}"))).collect::<Vec<_>>();
    let fake = Fake::start(move |asked| ok(page(asked, &rows, Wrapped::Data, 60))).await;
    let grants = ["g1", "g2", "g3"].map(|grant| served(&fake, grant, vec![source("mail", "c", &["notes"])]));
    let package = package(grants.to_vec());
    let mut arguments = json!({"q": "the", "limit": 7});
    let mut seen = BTreeMap::new();
    for _ in 0..40 {
        let answer = call(&package, "search", arguments.clone()).await;
        let body = structured(&answer);
        for id in ids(&body) {
            *seen.entry(id).or_insert(0) += 1;
        }
        let Some(next) = body.get("next") else { break };
        arguments = next["arguments"].clone();
    }
    assert_eq!(seen.len(), 40);
    assert!(seen.values().all(|times| *times == 1), "{seen:?}");
}

#[tokio::test]
async fn r6_3_streams_are_intersected_and_grants_without_any_are_not_asked() {
    let a = provider("mail", "ca", 1, Wrapped::Data).await;
    let b = provider("chat", "cb", 1, Wrapped::Data).await;
    let c = provider("bank", "cc", 1, Wrapped::Data).await;
    let package = package(vec![
        served(&a, "g1", vec![source("mail", "ca", &["notes", "folders"])]),
        served(&b, "g2", vec![source("chat", "cb", &["notes"])]),
        served(&c, "g3", vec![source("bank", "cc", &["accounts"])]),
    ]);
    let answer = call(&package, "search", json!({"q": "x", "streams": ["notes", "folders"]})).await;
    assert!(!answer.is_error, "{}", answer.text);
    assert_eq!(a.asked()[0].all("streams[]"), ["notes", "folders"]);
    assert_eq!(b.asked()[0].all("streams[]"), ["notes"]);
    assert_eq!(c.count(), 0);
    // A stream that only one grant has is read from that grant.
    let answer =
        call(&package, "search", json!({"q": "x", "streams": ["folders", "accounts"], "limit": 1})).await;
    assert!(!answer.is_error, "{}", answer.text);
    assert_eq!((a.count(), b.count(), c.count()), (1, 0, 1));
    let answer = call(&package, "search", json!({"q": "x", "streams": ["nowhere"]})).await;
    assert_eq!(error(&answer)["code"], "stream_not_granted");
    assert_eq!((a.count(), b.count(), c.count()), (0, 0, 0));
}

#[tokio::test]
async fn r6_5_a_grant_that_answers_in_the_wrong_shape_is_missing_and_not_empty() {
    let a = provider("mail", "ca", 2, Wrapped::Data).await;
    for wrong in [
        json!({}),
        json!({"data": null, "connectors": null}),
        json!({"data": {"results": 5}, "connectors": {"a": 1}}),
        json!({"data": "x", "connectors": [{"connector_key": "chat", "streams": "notes"}]}),
        json!({"data": 1, "connectors": [5]}),
    ] {
        let about = wrong.to_string();
        let b = Fake::start(move |_| ok(wrong.clone())).await;
        let [g1, g2] = [
            served(&a, "g1", vec![source("mail", "ca", &["notes"])]),
            served(&b, "g2", vec![source("chat", "cb", &["notes"])]),
        ];
        let both = package(vec![g1, g2.clone()]);
        for (tool, arguments) in
            [("search", json!({"q": "x"})), ("schema", json!({})), ("schema", json!({"stream": "notes"}))]
        {
            let answer = call(&both, tool, arguments.clone()).await;
            assert!(!answer.is_error, "{about}: {}", answer.text);
            let warnings = structured(&answer)["data"]["meta"]["warnings"].to_string();
            let part = "nothing from Label g2 (provider_answer_broken)";
            assert!(answer.text.contains(part) && warnings.contains(part), "{tool} {about}: {}", answer.text);
            assert!(answer.text.contains("ca"), "{tool}: {}", answer.text);
            // Alone, or together with one that fails too, it is not a success.
            let mut twin = g2.clone();
            (twin.id, twin.grant) = ("twin".to_owned(), "g3".to_owned());
            for grants in [vec![g2.clone()], vec![g2.clone(), twin]] {
                let answer = call(&package(grants), tool, arguments.clone()).await;
                assert_eq!(
                    error(&answer)["code"],
                    "provider_answer_broken",
                    "{tool} {about}: {}",
                    answer.text
                );
            }
        }
    }
}

#[tokio::test]
async fn r6_5_a_killed_and_a_slow_grant_leave_a_partial_answer_that_says_so() {
    let healthy = provider("mail", "ca", 30, Wrapped::Data).await;
    let gone = Fake::gone().await;
    let slow = Fake::start(|_| Does::Hang).await;
    let package = package_within(
        Duration::from_millis(700),
        vec![
            served(&gone, "g1", vec![source("chat", "cb", &["notes"])]),
            served(&healthy, "g2", vec![source("mail", "ca", &["notes"])]),
            served(&slow, "g3", vec![source("bank", "cc", &["notes"])]),
        ],
    );
    for (tool, arguments) in [
        ("search", json!({"q": "the", "limit": 4})),
        ("schema", json!({})),
        ("schema", json!({"stream": "notes"})),
    ] {
        let started = Instant::now();
        let answer = call(&package, tool, arguments).await;
        assert!(started.elapsed() < Duration::from_secs(5), "not longer than the deadline");
        assert!(!answer.is_error, "{tool}: {}", answer.text);
        let in_json = structured(&answer)["data"]["meta"]["warnings"].to_string();
        for part in ["Label g1 (provider_unreachable)", "Label g3 (provider_timeout)"] {
            assert!(answer.text.contains(part), "{tool}: {part} in {}", answer.text);
            assert!(in_json.contains(part), "{tool}: {part} in {in_json}");
        }
        assert!(answer.text.contains("partial_results") && in_json.contains("partial_results"));
        assert!(answer.text.contains("ca"), "the healthy one's: {}", answer.text);
    }
    // A walk ends, and loses no row of the healthy one. Later pages do not wait for the slow one.
    let started = Instant::now();
    let (mut arguments, mut seen) = (json!({"q": "the", "limit": 4}), 0);
    loop {
        let body = structured(&call(&package, "search", arguments).await);
        assert!(body["data"]["meta"]["warnings"].to_string().contains("partial_results"));
        seen += ids(&body).len();
        let Some(next) = body.get("next") else { break };
        arguments = next["arguments"].clone();
    }
    assert_eq!(seen, 30);
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());

    // Nothing answers: that is an error, which names the next step.
    let package = package_within(
        Duration::from_millis(700),
        vec![
            served(&gone, "g1", vec![source("chat", "cb", &["notes"])]),
            served(&slow, "g3", vec![source("bank", "cc", &["notes"])]),
        ],
    );
    for (tool, arguments) in [("search", json!({"q": "the"})), ("schema", json!({}))] {
        let answer = call(&package, tool, arguments).await;
        assert_eq!(error(&answer)["code"], "all_grants_failed", "{tool}: {}", answer.text);
        for part in ["Label g1: provider_unreachable", "Label g3: provider_timeout", "next: "] {
            assert!(answer.text.contains(part), "{tool}: {part} in {}", answer.text);
        }
    }
}

/// The schema that checks a filter is read within the deadline of the search itself, for each grant separately.
#[tokio::test]
async fn r6_5_a_silent_grant_costs_its_time_once_when_a_filter_is_checked() {
    let healthy = provider("mail", "ca", 3, Wrapped::Data).await;
    let silent = Fake::start(|_| Does::Hang).await;
    let package = package_within(
        Duration::from_millis(700),
        vec![
            served(&healthy, "g1", vec![source("mail", "ca", &["notes"])]),
            served(&silent, "g2", vec![source("chat", "cb", &["notes"])]),
        ],
    );
    let asked = json!({"q": "the", "streams": ["notes"], "filter": {"id": "x"}});
    let answer = call(&package, "search", asked).await;
    assert_eq!(ids(&structured(&answer)).len(), 3, "{}", answer.text);
    assert!(answer.text.contains("Label g2 (provider_timeout)"), "{}", answer.text);
    let paths = |fake: &Fake| fake.asked().into_iter().map(|asked| asked.path).collect::<Vec<_>>();
    assert_eq!(paths(&silent), ["/schema"], "its time was over with the first read");
    assert_eq!(paths(&healthy), ["/schema", "/search"]);
}

/// A wrong call is refused as soon as one grant shows that it is wrong, and not only when the silent one times out.
#[tokio::test]
async fn r3_60_a_wrong_filter_over_grants_does_not_wait_for_a_silent_one() {
    let typed = Fake::start(|asked| {
        assert_eq!(asked.path, "/schema", "nothing is searched with a wrong filter");
        let mut body = schema("mail", "ca", &["notes"]);
        body["connectors"][0]["streams"][0]["field_capabilities"]["size"] = json!("t=integer,eq");
        ok(body)
    })
    .await;
    let silent = Fake::start(|_| Does::Hang).await;
    let package = package_within(
        Duration::from_secs(100_000),
        vec![
            served(&typed, "g1", vec![source("mail", "ca", &["notes"])]),
            served(&silent, "g2", vec![source("chat", "cb", &["notes"])]),
        ],
    );
    let answer =
        call(&package, "search", json!({"q": "x", "streams": ["notes"], "filter": {"size": "many"}})).await;
    assert_eq!(error(&answer)["code"], "invalid_filter", "{}", answer.text);
}

#[tokio::test]
async fn r6_5_a_grant_of_a_core_provider_is_reported_as_without_search() {
    let healthy = provider("mail", "ca", 2, Wrapped::Data).await;
    let core = || {
        Fake::start(|asked| match asked.path.as_str() {
            "/streams" => ok(json!({"object": "list", "data": [{"name": "notes"}], "has_more": false})),
            _ => Does::Answer(404, json!({"error": {"code": "not_found", "message": "no"}})),
        })
    };
    let (core, other) = (core().await, core().await);
    let grants = vec![
        served(&healthy, "g1", vec![source("mail", "ca", &["notes"])]),
        served(&core, "g2", vec![source("chat", "cb", &["notes"])]),
        served(&other, "g3", vec![source("bank", "cc", &["notes"])]),
    ];
    let answer = call(&package(grants.clone()), "search", json!({"q": "the"})).await;
    assert_eq!(ids(&structured(&answer)).len(), 2);
    assert!(answer.text.contains("Label g2 (unsupported_by_provider)"), "{}", answer.text);
    assert!(!answer.text.contains("not_found"), "{}", answer.text);
    // None of them has it: the answer names what works instead.
    let answer = call(&package(grants[1..].to_vec()), "search", json!({"q": "the"})).await;
    assert_eq!(error(&answer)["code"], "unsupported_by_provider");
    assert!(answer.text.contains("all 2 grants") && answer.text.contains("query_records"), "{}", answer.text);
}

#[tokio::test]
async fn r6_2_a_grant_that_fails_once_is_asked_again_on_the_next_page() {
    let healthy = provider("mail", "ca", 9, Wrapped::Data).await;
    let rows = (0..5).map(|n| hit("cb", "notes", &format!("b{n}"))).collect::<Vec<_>>();
    let fails = Arc::new(Mutex::new(false));
    let flag = Arc::clone(&fails);
    let flaky = Fake::start(move |asked| {
        if *flag.lock().unwrap() {
            return Does::Answer(503, json!({"error": {"code": "unavailable", "message": "no"}}));
        }
        ok(page(asked, &rows, Wrapped::Data, 1))
    })
    .await;
    let package = package(vec![
        served(&healthy, "g1", vec![source("mail", "ca", &["notes"])]),
        served(&flaky, "g2", vec![source("chat", "cb", &["notes"])]),
    ]);
    let (mut arguments, mut seen, mut pages) = (json!({"q": "the", "limit": 4}), Vec::new(), 0);
    loop {
        *fails.lock().unwrap() = pages == 1;
        let body = structured(&call(&package, "search", arguments).await);
        seen.extend(ids(&body));
        assert_eq!(
            body["data"]["meta"]["warnings"].as_array().unwrap().len(),
            usize::from(pages == 1),
            "{body}"
        );
        pages += 1;
        let Some(next) = body.get("next") else { break };
        arguments = next["arguments"].clone();
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 14, "{seen:?}");
}

#[tokio::test]
async fn r3_33_r3_35_counts_and_recall_of_several_are_not_one_grants() {
    let of = |connection: &'static str, count: u64, recall: &'static str| {
        Fake::start(move |_| {
            ok(json!({"object": "list", "data": [hit(connection, "notes", "1")], "has_more": false,
                "meta": {"count": {"kind": "exact", "value": count}, "recall": {"state": recall}, "warnings": []}}))
        })
    };
    let (a, b) = (of("ca", 3, "full").await, of("cb", 4, "part").await);
    let package = package(vec![
        served(&a, "g1", vec![source("mail", "ca", &["notes"])]),
        served(&b, "g2", vec![source("chat", "cb", &["notes"])]),
    ]);
    let answer = call(&package, "search", json!({"q": "x"})).await;
    let meta = &structured(&answer)["data"]["meta"];
    assert_eq!(meta["count"], json!({"kind": "exact", "value": 7}));
    assert_eq!(
        meta["recall"],
        json!([{"state": "full", "grants": ["Label g1"]}, {"state": "part", "grants": ["Label g2"]}])
    );
    assert!(answer.text.contains("count: exact 7") && answer.text.contains("sources: "), "{}", answer.text);
    for line in [r#"recall of "Label g1": state="full""#, r#"recall of "Label g2": state="part""#] {
        assert!(answer.text.contains(line), "{}", answer.text);
    }
}

#[tokio::test]
async fn r6_2_the_cursor_of_fifty_grants_walks_them_to_the_end() {
    let mut grants = Vec::new();
    for n in 0..50 {
        let connection: &'static str = format!("cin_{n}").leak();
        let rows = (0..7).map(|row| hit(connection, "notes", &format!("{n}-{row}"))).collect::<Vec<_>>();
        let fake = Fake::start(move |asked| ok(page(asked, &rows, Wrapped::Data, 240))).await;
        grants.push(served(&fake, &format!("g{n}"), vec![source("mail", connection, &["notes"])]));
    }
    let package = package(grants);
    let (mut arguments, mut seen) = (json!({"q": "the", "limit": 3}), BTreeMap::new());
    loop {
        let answer = call(&package, "search", arguments).await;
        assert!(!answer.is_error, "{}", answer.text);
        let body = structured(&answer);
        assert!(answer.text.len() <= 8_000 && json_len(&body) <= 10_000);
        for id in ids(&body) {
            *seen.entry(id).or_insert(0) += 1;
        }
        let Some(next) = body.get("next") else { break };
        assert!(next["arguments"]["cursor"].as_str().unwrap().len() <= 2_500);
        arguments = next["arguments"].clone();
    }
    assert_eq!(seen.len(), 350);
    assert!(seen.values().all(|times| *times == 1));
    // A cursor that this process never issued.
    let answer = call(&package, "search", json!({"q": "the", "cursor": "pdpp1.w-0000000000000000-1"})).await;
    assert_eq!(error(&answer)["code"], "cursor_expired");
    assert!(answer.text.ends_with(r#"next: search {"q":"the"}"#), "{}", answer.text);
}

/// `pdpp mcp call` ends after each page: the next page's cursor must contain everything.
#[tokio::test]
async fn r6_2_a_cursor_of_a_process_that_answers_one_call_is_understood_by_the_next() {
    let mut fakes = Vec::new();
    for n in 0..3 {
        let connection: &'static str = format!("cin_{n}").leak();
        let rows = (0..9).map(|row| hit(connection, "notes", &format!("{n}-{row}"))).collect::<Vec<_>>();
        fakes.push((connection, Fake::start(move |asked| ok(page(asked, &rows, Wrapped::Data, 300))).await));
    }
    let process = || {
        let grants = fakes.iter().enumerate().map(|(n, (connection, fake))| {
            served(fake, &format!("g{n}"), vec![source("mail", connection, &["notes"])])
        });
        package(grants.collect())
    };
    let first = json!({"q": "the", "limit": 6});
    let cursor = |body: &Value| body["next"]["arguments"]["cursor"].as_str().unwrap().to_owned();
    let kept = structured(&call(&process(), "search", first.clone()).await);
    assert!(cursor(&kept).starts_with("pdpp1.w-"), "too long to be passed on by a model: {kept}");
    let (mut arguments, mut seen) = (first, Vec::new());
    loop {
        let answer = call(&process().for_one_call(), "search", arguments).await;
        assert!(!answer.is_error && answer.text.len() <= 8_000, "{}", answer.text);
        let body = structured(&answer);
        seen.extend(ids(&body));
        let Some(next) = body.get("next") else { break };
        arguments = next["arguments"].clone();
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 27);
}

/// Long cursors, from providers that have more than one page: of each, and of twelve.
#[tokio::test]
async fn r6_2_every_hit_of_several_grants_is_reached_by_a_process_for_each_page() {
    for (grants, rows, cursor_bytes, limit) in [(3, 60, 300, 25), (12, 40, 240, 25), (2, 110, 500, 100)] {
        let mut fakes = Vec::new();
        for n in 0..grants {
            let connection: &'static str = format!("cin_{n}").leak();
            let rows =
                (0..rows).map(|row| hit(connection, "notes", &format!("{n}-{row}"))).collect::<Vec<_>>();
            let fake = Fake::start(move |asked| ok(page(asked, &rows, Wrapped::Data, cursor_bytes))).await;
            fakes.push((connection, fake));
        }
        let (mut arguments, mut seen) = (json!({"q": "the", "limit": limit}), BTreeMap::new());
        for page in 1.. {
            let of = fakes.iter().enumerate().map(|(n, (connection, fake))| {
                served(fake, &format!("g{n}"), vec![source("mail", connection, &["notes"])])
            });
            let answer = call(&package(of.collect()).for_one_call(), "search", arguments).await;
            let body = structured(&answer);
            assert!(
                !answer.is_error && answer.text.len() <= 8_000 && json_len(&body) <= 10_000,
                "{}",
                answer.text
            );
            assert!(
                !answer.text.contains("has no more pages"),
                "{grants} grants, page {page}: {}",
                answer.text
            );
            for id in ids(&body) {
                *seen.entry(id).or_insert(0) += 1;
            }
            let Some(next) = body.get("next") else { break };
            let cursor = next["arguments"]["cursor"].as_str().unwrap();
            assert!(!cursor.starts_with("pdpp1.w-"), "{grants} grants, page {page}: {cursor}");
            arguments = next["arguments"].clone();
        }
        assert_eq!(seen.len(), grants * rows);
        assert!(seen.values().all(|times| *times == 1), "{seen:?}");
    }
}

#[tokio::test]
async fn r3_3_r6_1_the_index_of_fifty_grants_names_every_stream_within_its_bound() {
    for (streams, bound) in [(10, 16_000), (20, 16_000 + 500 * 20)] {
        let names_of =
            move |n: usize| (0..streams).map(|row| format!("stream_{n}_{row}")).collect::<Vec<_>>();
        let mut grants = Vec::new();
        for provider in 0..5 {
            let fake = Fake::start(move |asked| {
                let n = asked.bearer.trim_start_matches("grt_").parse::<usize>().unwrap();
                let names = names_of(n);
                let names = names.iter().map(String::as_str).collect::<Vec<_>>();
                ok(schema("mail", &format!("cin_{n:08}"), &names))
            })
            .await;
            for n in provider * 10..provider * 10 + 10 {
                let names = names_of(n);
                let names = names.iter().map(String::as_str).collect::<Vec<_>>();
                let known = source("mail", &format!("cin_{n:08}"), &names);
                grants.push(served(&fake, &format!("grt_{n}"), vec![known]));
            }
        }
        let package = package(grants);
        let answer = call(&package, "schema", json!({})).await;
        assert!(!answer.is_error, "{}", answer.text);
        let body = structured(&answer);
        let total = answer.text.len() + json_len(&body);
        assert!(total <= bound, "{total} bytes for {} streams\n{}", 50 * streams, answer.text);
        for n in 0..50 {
            for row in 0..streams {
                assert!(answer.text.contains(&format!("stream_{n}_{row}")), "stream_{n}_{row}");
            }
            assert!(answer.text.contains(&format!("cin_{n:08}")), "{n}");
        }
        // A reader of this view alone can ask for each of them.
        assert_eq!(body["data"]["connectors"].as_array().unwrap().len(), 50, "{body}");
        assert!(body.to_string().contains("cin_00000049"), "{body}");
    }
}

#[tokio::test]
async fn r4_8_r6_1_the_index_of_many_grants_goes_on_where_a_host_shows_little() {
    let mut grants = Vec::new();
    let fake = Fake::start(|asked| {
        let n = asked.bearer.trim_start_matches("grt_").parse::<usize>().unwrap();
        let mut body =
            schema("mail", &format!("cin_{n:08}"), &[&format!("stream_{n}_a"), &format!("stream_{n}_b")]);
        let label = format!("The one of {n} {}", "that has a long name ".repeat(8));
        body["connectors"][0]["granted_connections"][0]["display_name"] = json!(label);
        ok(body)
    })
    .await;
    for n in 0..30 {
        grants.push(served(&fake, &format!("grt_{n}"), vec![]));
    }
    let package = package_of(&Arc::new(Mutex::new(grants)), Bounds { text: 4_000, structured: 4_000 });
    let (mut text, mut given, mut arguments) = (String::new(), Vec::new(), json!({}));
    for _ in 0..30 {
        let answer = call(&package, "schema", arguments).await;
        assert!(!answer.is_error, "{}", answer.text);
        let body = structured(&answer);
        assert!(
            answer.text.len() <= 4_000 && json_len(&body) <= 4_000,
            "{} {}",
            answer.text.len(),
            json_len(&body)
        );
        text.push_str(&answer.text);
        for connector in body["data"]["connectors"].as_array().unwrap() {
            assert!(connector["granted_connections"][0]["connection_id"].is_string());
            given.extend(connector["stream_names"].as_array().unwrap().iter().cloned());
        }
        let Some(next) = body.get("next") else { break };
        assert!(answer.text.ends_with(&format!("next: schema {}", next["arguments"])), "{}", answer.text);
        arguments = next["arguments"].clone();
    }
    let all = (0..30).flat_map(|n| [json!(format!("stream_{n}_a")), json!(format!("stream_{n}_b"))]);
    assert_eq!(given, all.clone().collect::<Vec<_>>());
    for name in all {
        assert_eq!(text.matches(name.as_str().unwrap()).count(), 1, "{name}");
    }
    for cursor in ["streams:60", "streams:00000000.1", "streams:"] {
        let answer = call(&package, "schema", json!({ "cursor": cursor })).await;
        assert_eq!(error(&answer)["code"], "invalid_cursor");
        assert!(answer.text.ends_with("next: schema {}"), "{}", answer.text);
    }
}

/// A cursor of the index is a position within a grant: a grant that falls silent between two pages moves nothing.
#[tokio::test]
async fn r6_5_a_grant_that_falls_silent_between_two_pages_of_the_index_hides_no_other() {
    let silent = Arc::new(Mutex::new(usize::MAX));
    let is_silent = Arc::clone(&silent);
    let fake = Fake::start(move |asked| {
        let n = asked.bearer.trim_start_matches("grt_").parse::<usize>().unwrap();
        if n == *is_silent.lock().unwrap() {
            return Does::Answer(503, json!({"error": {"code": "unavailable", "message": "no"}}));
        }
        let names = (0..6).map(|row| format!("stream_{n}_{row}_{}", "long".repeat(20))).collect::<Vec<_>>();
        ok(schema("mail", &format!("cin_{n}"), &names.iter().map(String::as_str).collect::<Vec<_>>()))
    })
    .await;
    let grants = (0..12).map(|n| served(&fake, &format!("grt_{n}"), vec![])).collect::<Vec<_>>();
    let bounds = Bounds { text: 4_000, structured: 4_000 };
    // Before the position where the first page ends, at it, and after it; the last.
    for falls_silent in [0, 1, 2, 3, 4, 5, 11] {
        let package = package_of(&Arc::new(Mutex::new(grants.clone())), bounds);
        *silent.lock().unwrap() = usize::MAX;
        let (mut arguments, mut named, mut last) = (json!({}), Vec::new(), String::new());
        loop {
            let answer = call(&package, "schema", arguments).await;
            last.clone_from(&answer.text);
            if answer.is_error {
                break;
            }
            let body = structured(&answer);
            for connector in body["data"]["connectors"].as_array().unwrap() {
                named.extend(connector["stream_names"].as_array().unwrap().iter().map(ToString::to_string));
            }
            let Some(next) = body.get("next") else { break };
            arguments = next["arguments"].clone();
            *silent.lock().unwrap() = falls_silent;
        }
        for n in (0..12).filter(|n| *n != falls_silent) {
            for row in 0..6 {
                let name = format!("\"stream_{n}_{row}_");
                let times = named.iter().filter(|named| named.starts_with(&name)).count();
                assert_eq!(times, 1, "{name} with {falls_silent} silent");
            }
        }
        assert!(last.contains(&format!("Label grt_{falls_silent} (unavailable)")), "{last}");
    }
}

#[derive(Debug, Clone)]
struct Life {
    /// Hits of each grant, and whether its cursors are long.
    grants: Vec<(usize, bool)>,
    /// Grants of the first provider that return the same hits.
    rivals: usize,
    limits: Vec<u64>,
}

fn life() -> impl Strategy<Value = Life> {
    (
        prop::collection::vec((0usize..40, any::<bool>()), 2..6),
        0usize..3,
        prop::collection::vec(1u64..12, 1..5),
    )
        .prop_map(|(grants, rivals, limits)| Life { grants, rivals, limits })
}

async fn walk(life: &Life) -> Result<(), TestCaseError> {
    let mut grants = Vec::new();
    let (mut expected, mut seen) = (BTreeMap::new(), BTreeMap::new());
    for (n, (hits, is_long)) in life.grants.iter().enumerate() {
        let connection: &'static str = format!("c{n}").leak();
        let rows = (0..*hits).map(|row| hit(connection, "notes", &format!("{row}"))).collect::<Vec<_>>();
        expected.extend((0..*hits).map(|row| (format!("{connection}/notes:{row}"), 1)));
        let cursor_bytes = if *is_long { 900 } else { 1 };
        let wrapped = [Wrapped::Data, Wrapped::Results, Wrapped::DataData][n % 3];
        let fake = Fake::start(move |asked| ok(page(asked, &rows, wrapped, cursor_bytes))).await;
        let times = if n == 0 { 1 + life.rivals } else { 1 };
        for rival in 0..times {
            grants.push(served(
                &fake,
                &format!("g{n}-{rival}"),
                vec![source("mail", connection, &["notes"])],
            ));
        }
    }
    let package = package_of(&Arc::new(Mutex::new(grants)), Bounds { text: 4_000, structured: 4_000 });
    let mut cursor = Value::Null;
    for page in 0..400 {
        let limit = life.limits[page % life.limits.len()];
        let answer = call(&package, "search", json!({"q": "the", "limit": limit, "cursor": cursor})).await;
        prop_assert!(!answer.is_error && !answer.text.contains("warning"), "{}", answer.text);
        let body = structured(&answer);
        prop_assert!(answer.text.len() <= 4_000 && json_len(&body) <= 4_000);
        let found = ids(&body);
        prop_assert!(found.len() as u64 <= limit);
        for id in found {
            *seen.entry(id).or_insert(0) += 1;
        }
        let Some(next) = body.get("next") else {
            prop_assert_eq!(&seen, &expected);
            return Ok(());
        };
        cursor = next["arguments"]["cursor"].clone();
    }
    prop_assert!(false, "a walk without an end");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(8), ..ProptestConfig::default() })]
    #[test]
    fn r6_2_a_walk_with_pages_of_any_size_loses_and_repeats_nothing(life in life()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(walk(&life))?;
    }
}

/// Hits in the order that own data declares, each from one account.
async fn ranked(connection: &'static str, mut rows: Vec<(u8, i64, usize)>) -> Fake {
    rows.sort_by_key(newest_first);
    let count = rows.len();
    let rows = rows.into_iter().map(|(group, second, n)| {
        let at = jiff::Timestamp::from_second(second).unwrap().to_string();
        let mut hit = hit(connection, "notes", &format!("n{n:03}"));
        hit["sent_at"] = json!(at);
        hit["score"] =
            json!({"kind": "titles_then_newest", "order": "lower_is_better", "value": group, "at": at});
        hit
    });
    let rows = rows.collect::<Vec<_>>();
    Fake::start(move |asked| {
        let mut body = page(asked, &rows, Wrapped::Data, 60);
        body["meta"] = json!({"count": count, "count_accuracy": "exact", "warnings": [],
            "recall": {"complete": true, "order": "titles_then_newest", "ranked_candidate_count": count}});
        ok(body)
    })
    .await
}

/// The order goes by the greatest key first, if nothing else decides.
fn newest_first(hit: &(u8, i64, usize)) -> (u8, std::cmp::Reverse<(i64, usize)>) {
    let (group, second, n) = *hit;
    (group, std::cmp::Reverse((second, n)))
}

async fn walk_in_order(hits: &[(u8, i64, usize)], limits: &[u64]) -> Result<(), TestCaseError> {
    let mut grants = Vec::new();
    for n in 0..4 {
        let connection: &'static str = format!("c{n}").leak();
        let of = hits.iter().enumerate().filter(|(_, (.., of))| *of == n);
        let fake = ranked(connection, of.map(|(n, (group, second, _))| (*group, *second, n)).collect()).await;
        grants.push(served(&fake, &format!("g{n}"), vec![source("mail", connection, &["notes"])]));
    }
    let package = package(grants);
    let mut expected =
        hits.iter().enumerate().map(|(n, (group, second, _))| (*group, *second, n)).collect::<Vec<_>>();
    expected.sort_by_key(newest_first);
    let expected = expected.into_iter().map(|(.., n)| format!("n{n:03}")).collect::<Vec<_>>();
    let (mut arguments, mut seen) = (json!({"q": "the"}), Vec::new());
    for page in 0..400 {
        arguments["limit"] = json!(limits[page % limits.len()]);
        let answer = call(&package, "search", arguments.clone()).await;
        prop_assert!(!answer.is_error, "{}", answer.text);
        let body = structured(&answer);
        prop_assert_eq!(&body["data"]["meta"]["count"], &json!(hits.len()));
        if !hits.is_empty() {
            prop_assert_eq!(&body["data"]["meta"]["merged_order"], "titles_then_newest");
            prop_assert!(answer.text.contains("order: over all sources, all words in title or actor first"));
            prop_assert!(answer.text.matches("recall").count() == 1, "{}", answer.text);
        }
        seen.extend(ids(&body).iter().map(|id| id.rsplit(':').next().unwrap().to_owned()));
        let Some(next) = body.get("next") else {
            prop_assert_eq!(&seen, &expected);
            return Ok(());
        };
        arguments = next["arguments"].clone();
    }
    prop_assert!(false, "a walk without an end");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(12), ..ProptestConfig::default() })]
    #[test]
    fn r6_2_o6_8_accounts_that_declare_one_order_read_like_one(
        hits in prop::collection::vec((0u8..2, 0i64..30, 0usize..4), 0..90),
        limits in prop::collection::vec(1u64..40, 1..4),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(walk_in_order(&hits, &limits))?;
    }
}

/// If one declares no order, or does not keep it, they take turns; the answer states this.
#[tokio::test]
async fn r6_2_where_one_declares_no_order_they_take_turns() {
    let new = ranked("ca", (0..4).map(|n| (0, 100 + i64::try_from(n).unwrap(), n)).collect()).await;
    let plain = provider("chat", "cb", 4, Wrapped::Data).await;
    let package = package(vec![
        served(&new, "g1", vec![source("mail", "ca", &["notes"])]),
        served(&plain, "g2", vec![source("chat", "cb", &["notes"])]),
    ]);
    let answer = call(&package, "search", json!({"q": "the"})).await;
    let body = structured(&answer);
    assert_eq!(body["data"]["meta"]["merged_order"], "in_turns");
    assert!(answer.text.contains("order: one from each source in turn"), "{}", answer.text);
    let of = ids(&body).iter().map(|id| id[..2].to_owned()).collect::<Vec<_>>();
    assert_eq!(of, ["ca", "cb"].repeat(4));
}

/// Each of ten grants has a delay; all of them together take little longer.
#[tokio::test]
async fn r6_2_grants_are_searched_side_by_side() {
    let mut grants = Vec::new();
    for n in 0..10 {
        let connection: &'static str = format!("cin_{n}").leak();
        let rows = vec![hit(connection, "notes", "a")];
        let fake = Fake::start_slow(Duration::from_millis(200), move |asked| {
            ok(page(asked, &rows, Wrapped::Data, 1))
        })
        .await;
        grants.push(served(&fake, &format!("g{n}"), vec![source("mail", connection, &["notes"])]));
    }
    let package = package(grants);
    call(&package, "search", json!({"q": "the"})).await;
    let started = Instant::now();
    let answer = call(&package, "search", json!({"q": "the"})).await;
    let took = started.elapsed();
    assert_eq!(ids(&structured(&answer)).len(), 10);
    assert!(took < Duration::from_millis(1_500), "{took:?}");
}
