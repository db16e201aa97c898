//! An agent's questions about a person's own data, through the six tools: the largest, the newest, sums by group,
//! whose record it is.

use std::path::Path;

use serde_json::{Value, json};

use super::granted::{call, grant};
use crate::support::env::TestEnv;

const SPENDING: &str = "id,date,amount,category,currency,shop
t1,2026-01-03,-900.00,rent,EUR,Harbour Flats
t2,2026-01-05,-12.40,food,EUR,Corner Bakery
t3,2026-02-03,-900.00,rent,EUR,Harbour Flats
t4,2026-02-11,-31.25,food,EUR,Corner Bakery
t5,2026-02-14,2100.00,salary,EUR,Example Works
t6,2026-02-20,-45.50,fun,NOK,Night Cinema
";

const MAIL: &str = "From ana@example.org Tue Feb  3 10:00:00 2026
From: Ana <ana@example.org>
To: me@example.org
Subject: The boat
Date: Tue, 3 Feb 2026 10:00:00 +0000
Message-ID: <boat@example.org>

It leaves at noon.

From bo@example.org Wed Feb  4 10:00:00 2026
From: Bo <bo@example.org>
To: me@example.org
Subject: Dinner
Date: Wed, 4 Feb 2026 10:00:00 +0000
Message-ID: <dinner@example.org>

Bring the map, and leave the boat.
";

fn import(env: &TestEnv, path: &Path) {
    let ran = env.run(&["import", path.to_str().unwrap(), "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

fn structured(env: &TestEnv, tool: &str, arguments: &Value) -> Value {
    let answer = call(env, tool, arguments, &[]);
    assert_ne!(answer["isError"], true, "{answer}");
    answer["structuredContent"].clone()
}

fn ids(page: &Value) -> Vec<&str> {
    page["data"]["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

#[test]
fn o6_3_the_largest_and_the_sum_of_each_group_are_one_call() {
    let env = TestEnv::new();
    let exports = tempfile::tempdir().unwrap();
    let path = exports.path().join("spending.csv");
    std::fs::write(&path, SPENDING).unwrap();
    import(&env, &path);
    grant(&env, &["--stream", "rows"]);

    let schema = structured(&env, "schema", &json!({"stream": "rows"}));
    let row = &schema["data"]["connectors"][0]["streams"][0];
    assert_eq!(row["sort_fields"], json!(["date", "amount"]));
    assert_eq!(row["grouped_metrics"], json!(["sum", "min", "max"]));
    assert_eq!(row["field_values"]["currency"], json!({"values": ["EUR", "NOK"], "complete": true}));
    assert!(schema["legend"].as_str().unwrap().contains("s=sort"), "{schema}");

    let largest =
        structured(&env, "query_records", &json!({"stream": "rows", "sort": "-amount", "limit": 2}));
    assert_eq!(ids(&largest), ["t5", "t2"]);
    let next = largest["next"]["arguments"].clone();
    assert_eq!(ids(&structured(&env, "query_records", &next)), ["t4", "t6"]);

    let groups =
        json!({"stream": "rows", "metric": "sum", "field": "amount", "group_by": "category", "limit": 2});
    let answer = call(&env, "aggregate", &groups, &[]);
    let data = &answer["structuredContent"]["data"];
    let shown = data["groups"].as_array().unwrap().iter().map(Value::to_string).collect::<Vec<_>>();
    assert_eq!(
        shown,
        [r#"{"count":1,"key":"salary","value":2100.00}"#, r#"{"count":2,"key":"rent","value":-1800.00}"#]
    );
    assert_eq!(
        (data["other_count"].to_string(), data["other_value"].to_string()),
        ("3".into(), "-89.15".into())
    );
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("\"rent\": -1800.00 (2 records)"), "{text}");
    assert!(text.contains("the largest (plus or minus) sum first"), "{text}");

    let months = json!({"stream": "rows", "metric": "sum", "field": "amount", "group_by_time": "date", "granularity": "month"});
    let answer = structured(&env, "aggregate", &months);
    assert_eq!(answer["data"]["groups"][0]["value"].to_string(), "-912.40");
    assert_eq!(answer["data"]["meta"]["warnings"][0]["code"], "mixed_values", "February has two currencies");

    let least = structured(&env, "aggregate", &json!({"stream": "rows", "metric": "max", "field": "amount"}));
    let id = least["data"]["record"].as_str().unwrap();
    let record = structured(&env, "fetch", &json!({"id": id}));
    assert!(record["text"].as_str().unwrap().contains("Example Works"), "{record}");

    let refused = call(&env, "query_records", &json!({"stream": "rows", "sort": "category"}), &[]);
    let error = &refused["structuredContent"]["error"];
    assert_eq!(error["code"], "invalid_sort");
    assert!(error.to_string().contains("amount, date"), "{error}");
}

#[test]
fn o6_5_a_body_has_its_mail_and_a_hit_its_title() {
    let env = TestEnv::new();
    let exports = tempfile::tempdir().unwrap();
    let path = exports.path().join("all.mbox");
    std::fs::write(&path, MAIL).unwrap();
    import(&env, &path);
    grant(&env, &["--stream", "messages", "--stream", "message_bodies"]);

    let found = structured(&env, "search", &json!({"q": "boat"}));
    let titles = found["results"].as_array().unwrap().iter().map(|hit| hit["title"].as_str().unwrap());
    // A mail and its body, with matches in the subject first.
    assert_eq!(titles.collect::<Vec<_>>(), ["The boat", "The boat", "Dinner", "Dinner"], "{found}");
    // Words of the sender and of the body together.
    let found = structured(&env, "search", &json!({"q": "bo map", "streams": ["message_bodies"]}));
    assert_eq!(found["results"][0]["title"], "Dinner");

    let bodies = json!({"stream": "message_bodies", "sort": "from_name", "expand": ["parent"]});
    let page = structured(&env, "query_records", &bodies);
    let rows = page["data"]["data"].as_array().unwrap();
    let parents = rows.iter().map(|row| &row["expanded"]["parent"]["data"]["subject"]).collect::<Vec<_>>();
    assert_eq!(parents, ["The boat", "Dinner"], "by the name of the sender, each with its mail");
}
