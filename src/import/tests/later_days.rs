//! A grant that has a last day shows nothing from later days, whatever the format: two stores, one of which
//! has nothing later, give the same answers.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{ALL, Arc, Format, Place, fs, own};
use crate::vault::Vault;
use crate::vault::declaration::Connector;
use crate::vault::grant::Grant;
use crate::vault::pace::tests::MovedClock;
use crate::vault::rs::Answer;

/// Nothing is granted from this time on.
const UNTIL: &str = "2026-03-01T00:00:00Z";

/// An export of a format that ends before [`UNTIL`], and one that was made later.
struct Case {
    format: &'static str,
    name: &'static str,
    short: String,
    long: String,
    /// Other files of the export: their names, and their earlier and later contents. A file with empty contents does not exist.
    more: Vec<(&'static str, String, String)>,
}

fn whatsapp() -> Case {
    let short = "31/01/2026, 14:03 - Ana: Which beds, alpha?\n31/01/2026, 14:05 - Ben: Both.\n\
                 14/02/2026, 08:00 - Ana: The alpha bed, then\n";
    let long = format!("{short}02/04/2026, 09:00 - Cy: alpha again\n");
    Case {
        format: "whatsapp",
        name: "WhatsApp Chat with Garden alpha.txt",
        short: short.to_owned(),
        long,
        more: Vec::new(),
    }
}

fn telegram() -> Case {
    let said = |id: u32, from: &str, at: &str| {
        let unix = at.parse::<jiff::Timestamp>().unwrap().as_second();
        json!({"id": id, "type": "message", "date": &at[..19], "date_unixtime": unix.to_string(), "from": from,
            "from_id": format!("user{}", from.len()), "text": format!("alpha {id}")})
    };
    let chat = |messages: &[Value]| {
        json!({"name": "Garden alpha", "type": "private_supergroup", "id": 5, "messages": messages})
            .to_string()
    };
    let mut all = vec![said(1, "Ana", "2026-01-31T14:03:00Z"), said(2, "Ben", "2026-02-14T08:00:00Z")];
    let short = chat(&all);
    all.push(said(3, "Cyrus", "2026-04-02T09:00:00Z"));
    let edited: jiff::Timestamp = "2026-04-03T09:00:00Z".parse().unwrap();
    all[1]["edited"] = json!("2026-04-03T09:00:00");
    all[1]["edited_unixtime"] = json!(edited.as_second().to_string());
    Case { format: "telegram", name: "result.json", short, long: chat(&all), more: Vec::new() }
}

fn meta() -> Case {
    let said = |at: u64, sender: &str| json!({"sender_name": sender, "timestamp_ms": at, "content": "alpha"});
    let chat = |people: &[&str], messages: &[Value]| {
        let people: Vec<Value> = people.iter().map(|name| json!({"name": name})).collect();
        // In the order of an export, which is not alphabetical.
        format!(
            "{{\"participants\": {}, \"messages\": {}, \"title\": \"Garden alpha\", \"is_still_participant\": true, \
             \"thread_path\": \"inbox/garden_9876543210\", \"magic_words\": []}}",
            Value::from(people),
            Value::from(messages.to_vec())
        )
    };
    let mut all = vec![said(1_771_000_000_000, "Ben"), said(1_770_000_000_000, "Ana")];
    let short = chat(&["Ana", "Ben"], &all);
    all[0]["is_unsent"] = json!(true);
    all[1]["reactions"] = json!([{"reaction": "+", "actor": "Ben"}]);
    all.insert(0, said(1_775_000_000_000, "Cy"));
    Case {
        format: "meta",
        name: "your_facebook_activity/messages/inbox/garden_9876543210/message_1.json",
        short,
        long: chat(&["Ana", "Ben", "Cy"], &all),
        more: Vec::new(),
    }
}

fn chatgpt() -> Case {
    let node = |id: &str, parent: Option<&str>, children: &[&str], at: f64| {
        let message = json!({"id": id, "author": {"role": "user"}, "create_time": at, "metadata": {},
            "content": {"content_type": "text", "parts": [format!("alpha {id}")]}});
        json!({"id": id, "parent": parent, "children": children, "message": message})
    };
    let talk = |update: f64, current: &str, is_archived: bool, nodes: &[Value]| {
        let mapping: Map<String, Value> =
            nodes.iter().map(|node| (node["id"].as_str().unwrap().to_owned(), node.clone())).collect();
        json!([{"id": "c1", "conversation_id": "c1", "title": "About alpha", "create_time": 1_770_000_000.0,
            "update_time": update, "current_node": current, "is_archived": is_archived, "mapping": mapping}])
        .to_string()
    };
    let question = |children: &[&str]| node("q", None, children, 1_770_000_000.0);
    let first = node("a1", Some("q"), &[], 1_770_000_100.0);
    // Asked again later: the first answer is no longer on the current branch.
    let again = node("a2", Some("q"), &[], 1_775_000_000.0);
    Case {
        format: "chatgpt",
        name: "conversations.json",
        short: talk(1_770_000_100.0, "a1", false, &[question(&["a1"]), first.clone()]),
        long: talk(1_775_000_000.0, "a2", true, &[question(&["a1", "a2"]), first, again]),
        more: Vec::new(),
    }
}

fn claude() -> Case {
    let said = |id: &str, at: &str| {
        json!({"uuid": id, "text": "alpha", "content": [{"type": "text", "text": "alpha"}], "sender": "human",
            "created_at": at, "updated_at": at, "attachments": [], "files": []})
    };
    let talk = |update: &str, model: &str, messages: &[Value]| {
        json!([{"uuid": "c1", "name": "About alpha", "created_at": "2026-02-01T10:00:00Z", "updated_at": update,
            "model": model, "account": {"uuid": "u-1"}, "chat_messages": messages}])
        .to_string()
    };
    let mut all = vec![said("m1", "2026-02-01T10:00:00Z"), said("m2", "2026-02-02T10:00:00Z")];
    let short = talk("2026-02-02T10:00:00Z", "one", &all);
    all.push(said("m3", "2026-04-02T10:00:00Z"));
    Case {
        format: "claude",
        name: "conversations.json",
        short,
        long: talk("2026-04-02T10:00:00Z", "two", &all),
        more: Vec::new(),
    }
}

fn lines(all: &[Value]) -> String {
    all.iter().map(|line| [line.to_string(), "\n".to_owned()].concat()).collect()
}

fn claude_code() -> Case {
    let event = |id: &str, at: &str, place: &str| {
        json!({"type": "user", "uuid": id, "parentUuid": null, "sessionId": "5e551000-0000-4000-8000-000000000001",
            "timestamp": at, "cwd": format!("/home/ana/{place}"), "gitBranch": place, "version": format!("1.0-{place}"),
            "isSidechain": false, "message": {"role": "user", "content": format!("alpha {id}")}})
    };
    let mut all =
        vec![event("u1", "2026-02-01T10:00:00Z", "garden"), event("u2", "2026-02-02T10:00:00Z", "garden")];
    // The first events do not state the session's directory.
    for first in &mut all {
        first.as_object_mut().unwrap().remove("cwd");
    }
    let short = lines(&all);
    all.push(event("u3", "2026-04-02T10:00:00Z", "shed"));
    Case { format: "claude-code", name: "session.jsonl", short, long: lines(&all), more: Vec::new() }
}

fn codex() -> Case {
    let meta = |at: &str, branch: &str| {
        json!({"timestamp": at, "type": "session_meta", "payload": {"id": "0c000000-0000-7000-8000-000000000001",
            "timestamp": at, "cwd": "/home/ana/garden", "model_provider": "one", "git": {"branch": branch}}})
    };
    let said = |at: &str| {
        json!({"timestamp": at, "type": "response_item", "payload": {"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": "alpha"}]}})
    };
    let mut all = vec![meta("2026-02-01T10:00:00Z", "beds"), said("2026-02-02T10:00:00Z")];
    let short = lines(&all);
    all.push(said("2026-04-02T10:00:00Z"));
    Case { format: "codex", name: "rollout.jsonl", short, long: lines(&all), more: Vec::new() }
}

fn ical() -> Case {
    let calendar = |events: &str| {
        format!("BEGIN:VCALENDAR\nVERSION:2.0\nX-WR-CALNAME:Work\n{events}END:VCALENDAR\n")
            .replace('\n', "\r\n")
    };
    let event = |uid: &str, stamp: &str, rule: &str| {
        format!(
            "BEGIN:VEVENT\nUID:{uid}\nDTSTAMP:{stamp}T000000Z\nDTSTART:20260202T090000Z\nDTEND:20260202T100000Z\n\
             SUMMARY:Planning alpha\nRRULE:FREQ=WEEKLY{rule}\nEND:VEVENT\n"
        )
    };
    let later = "BEGIN:VEVENT\nUID:later\nDTSTAMP:20260401T000000Z\nDTSTART:20290402T090000Z\nSUMMARY:alpha\nEND:VEVENT\n";
    let (endless, counted) = (event("endless", "20260201", ""), event("counted", "20260201", ";COUNT=4"));
    let changed = event("counted", "20260401", ";COUNT=14");
    Case {
        format: "ical",
        name: "work.ics",
        short: calendar(&format!("{endless}{counted}")),
        long: calendar(&format!("{endless}{changed}{later}")),
        more: Vec::new(),
    }
}

fn slack() -> Case {
    let said = |ts: &str, user: &str| json!({"type": "message", "user": user, "text": "alpha", "ts": ts, "client_msg_id": "x"});
    let mut all = vec![said("1770000000.000100", "U1"), said("1771000000.000100", "U2")];
    let short = Value::from(all.clone()).to_string();
    all[0]["edited"] = json!({"user": "U1", "ts": "1775000100.000000"});
    // The first message of a thread has it only once someone answers.
    all[0]["thread_ts"] = all[0]["ts"].clone();
    all[1]["reactions"] = json!([{"name": "seedling", "users": ["U1"], "count": 1}]);
    let later = Value::from(vec![said("1775000000.000100", "U2")]).to_string();
    let users = json!([{"id": "U1", "name": "ana", "profile": {"real_name": "Ana"}}, {"id": "U2", "name": "ben", "profile": {"real_name": "Ben"}}]);
    let channels = json!([{"id": "C1", "name": "garden", "created": 1_769_860_000, "creator": "U1", "members": ["U1", "U2"]}]);
    let (users, channels) = (users.to_string(), channels.to_string());
    Case {
        format: "slack",
        name: "slack/garden/2026-02-02.json",
        short,
        long: Value::from(all).to_string(),
        more: vec![
            ("slack/users.json", users.clone(), users),
            ("slack/channels.json", channels.clone(), channels),
            ("slack/garden/2026-03-31.json", String::new(), later),
        ],
    }
}

fn x() -> Case {
    let file = |variable: &str, elements: &[Value]| {
        format!("window.YTD.{variable}.part0 = {:#}", Value::from(elements.to_vec()))
    };
    let tweet = |id: &str, at: &str, count: &str| {
        json!({"tweet": {"id": id, "id_str": id, "full_text": "alpha", "created_at": at, "favorite_count": count,
            "retweet_count": count, "entities": {"urls": [], "hashtags": [], "user_mentions": []}}})
    };
    let first = |count| tweet("1", "Mon Feb 02 12:00:00 +0000 2026", count);
    let direct = |id: &str, at: &str, reactions: &[Value]| {
        json!({"messageCreate": {"id": id, "senderId": "7", "recipientId": "42", "text": "alpha", "createdAt": at, "urls": [],
            "mediaUrls": [], "reactions": reactions}})
    };
    let talk = |messages: &[Value]| {
        file(
            "direct_messages",
            &[json!({"dmConversation": {"conversationId": "42-7", "messages": messages}})],
        )
    };
    let liked = json!({"senderId": "42", "reactionKey": "like", "eventId": "901", "createdAt": "2026-04-02T12:00:00.000Z"});
    let account = file("account", &[json!({"account": {"username": "Ana_H", "accountId": "42"}})]);
    Case {
        format: "x",
        name: "x/data/tweets.js",
        short: file("tweets", &[first("1")]),
        long: file("tweets", &[first("3"), tweet("2", "Thu Apr 02 12:00:00 +0000 2026", "0")]),
        more: vec![
            ("x/data/account.js", account.clone(), account),
            (
                "x/data/direct-messages.js",
                talk(&[direct("900", "2026-02-02T12:00:00.000Z", &[])]),
                talk(&[
                    direct("900", "2026-02-02T12:00:00.000Z", &[liked]),
                    direct("902", "2026-04-02T12:00:00.000Z", &[]),
                ]),
            ),
        ],
    }
}

fn mbox() -> Case {
    let mail = |id: u32, day: &str, subject: &str, flags: &str| {
        format!(
            "From a {day} 10:00:00 2026\nDelivered-To: ana@a.example\nMessage-ID: <{id}@a.example>\nFrom: Ben <ben@b.example>\n\
             To: ana@a.example\nDate: {}\nSubject: {subject}\n{flags}\n{subject} {id}\n\n",
            ["Sun, 01 Feb 2026 10:00:00 +0000", "Thu, 02 Apr 2026 10:00:00 +0000"]
                [usize::from(day.contains("Apr"))]
        )
    };
    let first = |flags: &str| {
        mail(1, "Sun Feb  1", "The alpha bed", flags)
            + &mail(2, "Sun Feb  1", "Your sign-in code 482913", flags)
    };
    Case {
        format: "mbox",
        name: "mail.mbox",
        short: first("Status: O\n"),
        // Read, answered and flagged in the meantime.
        long: first("Status: RO\nX-Status: AF\n") + &mail(3, "Thu Apr  2", "alpha again", ""),
        more: Vec::new(),
    }
}

fn cases() -> Vec<Case> {
    vec![
        whatsapp(),
        telegram(),
        meta(),
        chatgpt(),
        claude(),
        claude_code(),
        codex(),
        ical(),
        slack(),
        x(),
        mbox(),
    ]
}

/// A store that was filled by an export, and again by the same one or, with `is_later`, by a later one; with `is_old`, the
/// first import was by a version that marked no fields as revealing later days.
fn filled(case: &Case, format: &'static dyn Format, is_later: bool, is_old: bool) -> (Place, Vault) {
    let mut place = Place::new();
    place.format = format;
    let path = place.file(case.name, &case.short);
    let root = place.root.path().join(Path::new(case.name).components().next().unwrap());
    let source = if path == root { path.clone() } else { root };
    for (name, short, _) in case.more.iter().filter(|(_, short, _)| !short.is_empty()) {
        place.file(name, short);
    }
    place.terms.now_ms = 1_785_000_000_000;
    assert!(place.import(&source).counts.new > 0, "{}", case.format);
    fs::write(&path, if is_later { &case.long } else { &case.short }).unwrap();
    for (name, _, long) in case.more.iter().filter(|_| is_later) {
        place.file(name, long);
    }
    place.terms.now_ms += 1_000_000;
    place.import(&source);
    if is_old {
        let forgotten = |tx: &rusqlite::Transaction<'_>, _: &_| {
            tx.execute("UPDATE connector SET declaration = replace(declaration, ',\"spans\":true', '')", [])
        };
        assert_eq!(place.store().write::<_, rusqlite::Error>(forgotten).unwrap(), 1);
    }
    // A separate clock, so that the test need not wait for a full step of time.
    let vault = own::open(&place.own()).unwrap().with_clock(Arc::new(MovedClock::default()));
    (place, vault)
}

/// The declaration of the only account of `vault`, and its id.
fn declared(vault: &Vault) -> (Connector, String) {
    let found = vault.store().read::<_, rusqlite::Error>(|_, catalog| {
        Ok((catalog.connectors[0].as_ref().clone(), catalog.connections[0].id.clone()))
    });
    found.unwrap()
}

/// A token for all of each stream that has a time, up to `until`, with every field, as an older grant may
/// have it.
fn token(vault: &Vault, until: Option<&str>) -> String {
    let (connector, account) = declared(vault);
    let source = json!({ "kind": "connector", "id": connector.id });
    let streams: Vec<Value> = connector
        .streams
        .iter()
        .filter_map(|stream| {
            let field = stream.consent_time_field.as_ref()?;
            let fields: Vec<&str> = stream.fields.iter().map(|field| field.name.as_str()).collect();
            let time = until.map(|until| json!({ "field": field, "until": until }));
            Some(json!({ "name": stream.name, "instance_ids": [account], "fields": fields, "time_constraint": time,
                "source": source }))
        })
        .collect();
    let grant: Grant = serde_json::from_value(json!({
        "version": "0.1.0", "grant_id": format!("grt_{}", until.is_some()), "issued_at": "2026-01-01T00:00:00Z",
        "expires_at": null, "subject": { "id": "owner_test" }, "client": { "client_id": "test" }, "source": source,
        "source_declaration": { "version": "test.v1" }, "purpose_code": "https://example.test/purpose",
        "access_mode": "continuous", "streams": streams,
    }))
    .unwrap();
    vault.issue(grant).unwrap().token
}

fn ask(vault: &Vault, token: &str, target: &str) -> Result<Value, String> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let segments: Vec<&str> = path.split('/').collect();
    match vault.read_at(Some(token), &segments, path, query) {
        Ok(Answer::Json(mut answer)) => {
            // Their bytes are random.
            for name in ["links", "next_cursor", "next_changes_since"] {
                answer.as_object_mut().unwrap().remove(name);
            }
            Ok(answer)
        }
        Ok(Answer::Blob { .. }) => Ok(Value::Null),
        Err(error) => Err(format!("{} {}: {}", error.status, error.code, error.message())),
    }
}

/// All queries that the account allows.
fn targets(connector: &Connector, account: &str) -> Vec<String> {
    let mut all: Vec<String> =
        ["schema", "schema?view=compact", "connectors", "streams", "search?q=alpha&limit=100"]
            .map(str::to_owned)
            .into();
    for stream in connector.streams.iter().filter(|stream| stream.consent_time_field.is_some()) {
        let name = &stream.name;
        all.push(format!("streams/{name}"));
        all.push(format!("schema?view=compact&stream={name}"));
        all.push(format!("schema?detail=full&stream={name}&connection_id={account}"));
        all.push(format!("search?q=alpha&streams={name}&limit=1"));
        let records = format!("streams/{name}/records");
        all.push(format!("{records}?limit=100&count=exact"));
        all.push(format!("{records}?limit=1&order=asc"));
        all.push(format!("{records}?limit=100&changes_since=beginning"));
        for relation in &stream.relations {
            all.push(format!("{records}?limit=100&expand={}", relation.name));
        }
        all.push(format!("streams/{name}/aggregate?metric=count"));
        for field in stream.fields.iter().map(|field| &field.name) {
            all.push(format!("{records}?limit=100&fields={field}"));
            all.push(format!("{records}?limit=100&sort=-{field}"));
            all.push(format!("{records}?limit=100&filter[{field}]=shed"));
            all.push(format!("{records}?limit=100&filter[{field}][gte]={UNTIL}"));
            all.push(format!("search?q=alpha&streams={name}&filter[{field}][gte]={UNTIL}"));
            all.push(format!("streams/{name}/aggregate?metric=max&field={field}"));
            all.push(format!("streams/{name}/aggregate?metric=count_distinct&field={field}"));
            all.push(format!("streams/{name}/aggregate?metric=count&group_by={field}"));
            all.push(format!(
                "streams/{name}/aggregate?metric=count&group_by_time={field}&granularity=month"
            ));
        }
    }
    all
}

fn of_format(name: &str) -> &'static dyn Format {
    *ALL.iter().find(|format| format.name() == name).unwrap()
}

/// Requirements O1.6 and O6.14.
#[test]
fn o1_6_a_grant_with_a_last_day_tells_nothing_of_later_ones_in_any_format() {
    for case in cases() {
        let format = of_format(case.format);
        let (_one, without) = filled(&case, format, false, false);
        let (_two, with) = filled(&case, format, true, false);
        let (_old, of_before) = filled(&case, format, true, true);
        let (connector, account) = declared(&without);
        let tokens = [&without, &with, &of_before].map(|vault| token(vault, Some(UNTIL)));
        let mut has_answered = 0;
        for target in targets(&connector, &account) {
            let expected = ask(&without, &tokens[0], &target);
            assert_eq!(ask(&with, &tokens[1], &target), expected, "{}: {target}", case.format);
            assert_eq!(
                ask(&of_before, &tokens[2], &target),
                expected,
                "{}, as of before: {target}",
                case.format
            );
            has_answered += usize::from(expected.is_ok());
        }
        assert!(has_answered > 20, "{}: {has_answered}", case.format);
        // One record after the other; those of later days are like those that do not exist.
        let all = token(&with, None);
        for stream in connector.streams.iter().filter(|stream| stream.consent_time_field.is_some()) {
            let rows = ask(&with, &all, &format!("streams/{}/records?limit=100", stream.name)).unwrap();
            for row in rows["data"].as_array().unwrap() {
                let key = row["id"].as_str().unwrap();
                let target = format!("streams/{}/records/{key}", stream.name);
                let expected = ask(&without, &tokens[0], &target);
                assert_eq!(ask(&with, &tokens[1], &target), expected, "{}: {target}", case.format);
            }
        }
    }
}

/// Checks that the test above compares something: each field that is left out differs in the later
/// export, or is named here as one that these exports do not show.
#[test]
fn o1_6_each_field_that_tells_of_later_days_does_so() {
    // Fields that show that a file is gone, and edits that turn a message into another record.
    let unshown = [
        "whatsapp messages.is_edited",
        "whatsapp messages.is_deleted",
        "claude projects.update_time",
        "claude-code sessions.gone_at",
        "claude-code messages.gone_at",
        "claude-code attachments.gone_at",
        "codex sessions.git_branch",
        "codex sessions.model_provider",
        "codex sessions.gone_at",
        "codex messages.gone_at",
        "codex function_calls.gone_at",
        "mbox messages.gone_at",
        "mbox security_messages.gone_at",
    ];
    let mut quiet = Vec::new();
    for case in cases() {
        let format = of_format(case.format);
        let stores = [false, true].map(|is_later| filled(&case, format, is_later, false));
        let (connector, _) = declared(&stores[0].1);
        let tokens = [token(&stores[0].1, None), token(&stores[1].1, None)];
        let limited = token(&stores[1].1, Some(UNTIL));
        for stream in &connector.streams {
            for field in stream.spanning() {
                let target = format!("streams/{}/records?limit=100&fields=id,{}", stream.name, field.name);
                let seen = [0, 1].map(|at| {
                    let rows = ask(&stores[at].1, &tokens[at], &target).unwrap();
                    let of = |row: &Value| (row["id"].to_string(), row["data"][&field.name].clone());
                    rows["data"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(of)
                        .collect::<std::collections::BTreeMap<_, _>>()
                });
                // Of the records that both have.
                if seen[0].iter().all(|(id, value)| seen[1].get(id) == Some(value)) {
                    quiet.push(format!("{} {}.{}", case.format, stream.name, field.name));
                }
                let refused = ask(&stores[1].1, &limited, &target).unwrap_err();
                assert!(refused.contains(&field.name), "{refused}");
            }
        }
        let warned = |token: &str| {
            ask(&stores[1].1, token, "schema?view=compact").unwrap()["meta"]["warnings"].to_string()
        };
        let told = warned(&limited);
        for stream in &connector.streams {
            for field in stream.spanning() {
                assert!(told.contains(&format!("{}.{}", stream.name, field.name)), "{told}");
            }
        }
        assert!(!warned(&tokens[1]).contains("later_days"), "nothing is left out there");
    }
    assert_eq!(quiet, unshown);
}

#[test]
fn each_format_that_gathers_has_its_exports_here() {
    // Formats for the same kind of data, such as those for mail, declare the same streams.
    let kinds = |is_meant: &dyn Fn(&str) -> bool| -> std::collections::BTreeSet<&'static str> {
        let formats = ALL.iter().filter(|format| is_meant(format.name()));
        formats.flat_map(|format| format.declares()).map(|declared| declared.key).collect()
    };
    let here: Vec<&str> = cases().iter().map(|case| case.format).collect();
    assert_eq!(kinds(&|name| here.contains(&name)), kinds(&|_| true));
}
