//! What a PDPP connector wrote can be read as soon as it is imported, and by many readers while the import continues.

use std::sync::atomic::{AtomicBool, Ordering};

use pdpp::vault::Vault;
use serde_json::json;

use super::Desk;
use crate::sandbox::{everything, get, walk};

/// This many RECORD envelopes, one per line.
fn lines(count: usize, from: usize) -> String {
    let line = |number: usize| {
        let envelope = json!({
            "stream": "readings",
            "key": ["sensor/1", format!("r{number}")],
            "data": { "sensor": "sensor/1", "id": format!("r{number}"), "value": number, "note": "warm and dry",
                "taken_at": format!("2026-05-{:02}T10:00:00Z", number % 28 + 1), "tag": null },
            "emitted_at": "2026-06-01T00:00:00Z",
        });
        format!("{envelope}\n")
    };
    (from..from + count).map(line).collect()
}

fn open(desk: &Desk) -> Vault {
    pdpp::own::open(&desk.own()).unwrap()
}

#[test]
fn o4_9_bad_lines_of_a_connector_are_named_and_the_others_come_in() {
    let desk = Desk::new();
    let bad = lines(30, 0) + "{\"stream\":\"readings\"}\nnonsense\n" + &lines(1, 30);
    let ran = desk.run(&desk.file("bad.jsonl", bad), &["--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in
        ["33 read = 31 new", "2 bad", "bad.jsonl, item 31 at line 31", "bad.jsonl, item 32 at line 32"]
    {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
}

#[test]
fn o5_records_of_a_connector_are_read_as_soon_as_they_are_imported() {
    let desk = Desk::new();
    let good = format!("\u{feff}{}\n{}", lines(60, 0), lines(40, 60));
    assert_eq!(desk.import(&desk.file("in.jsonl", &good)), [100, 100, 0, 0]);
    let app = open(&desk);
    let token = everything(&app);
    let schema = get(&app, &token, "/v1/schema?view=compact&stream=readings").json();
    let stream = &schema["connectors"][0]["streams"][0];
    assert_eq!(stream["primary_key"], json!(["sensor", "id"]));
    assert_eq!(stream["cursor_field"], "taken_at");
    assert_eq!(walk(&app, &token, "/v1/streams/readings/records").0.len(), 100);
    let sum = get(&app, &token, "/v1/streams/readings/aggregate?metric=sum&field=value").json();
    assert_eq!(sum["value"].to_string(), "4950");
    let found = get(&app, &token, "/v1/search?q=dry&limit=1").json();
    assert_eq!(found["meta"]["count"].to_string(), "100");

    let since = get(&app, &token, "/v1/streams/readings/records?changes_since=beginning&limit=100").json();
    let since = since["next_changes_since"].as_str().unwrap();
    let deletion =
        r#"{"stream":"readings","key":["sensor/1","r7"],"op":"delete","emitted_at":"2026-06-02T00:00:00Z"}"#;
    desk.import(&desk.file("in.jsonl", format!("{good}{deletion}\n{}", lines(3, 5))));
    let (changes, _) = walk(&app, &token, &format!("/v1/streams/readings/records?changes_since={since}"));
    // Deleted and written again unchanged: nothing differs.
    assert_eq!(changes.len(), 0, "{changes:?}");
}

#[test]
fn o3_3_ten_readers_and_an_import_do_not_disturb_each_other() {
    let desk = Desk::new();
    desk.import(&desk.file("in.jsonl", lines(200, 0)));
    let app = open(&desk);
    let token = everything(&app);
    let path = desk.file("in.jsonl", lines(4200, 0));
    let count = || {
        let body = get(&app, &token, "/v1/streams/readings/records?limit=1&count=exact").json();
        body["meta"]["count"]["value"].as_u64().unwrap_or_else(|| panic!("{body}"))
    };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..10)
            .map(|_| {
                scope.spawn(|| {
                    let (mut reads, mut last) = (0, 200);
                    while reads < 5 || !done.load(Ordering::SeqCst) {
                        let now = count();
                        assert!((last..=4200).contains(&now), "{now} after {last}");
                        last = now;
                        let hits = get(&app, &token, "/v1/search?q=warm&limit=3");
                        assert_eq!(hits.status, 200, "{}", hits.text());
                        reads += 1;
                    }
                })
            })
            .collect();
        // Grants are made at the same time, which also writes.
        let writer =
            scope.spawn(|| (0..5).map(|_| everything(&app)).collect::<std::collections::BTreeSet<_>>());
        assert_eq!(desk.import(&path), [4200, 4000, 0, 200]);
        done.store(true, Ordering::SeqCst);
        assert_eq!(writer.join().unwrap().len(), 5);
        for reader in readers {
            reader.join().unwrap();
        }
    });
    assert_eq!(count(), 4200);
}
