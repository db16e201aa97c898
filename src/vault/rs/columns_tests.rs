//! Tests that the columns next to records give the same answers as the data. Each question is asked twice, the
//! second time with no columns known, so that the data itself is read.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Answer;
use super::read::{Read, Resource};
use crate::vault::Vault;
use crate::vault::declaration::{Connector, Stream, StreamSpec};
use crate::vault::grant::Grant;
use crate::vault::pace::tests::MovedClock;
use crate::vault::store::{Connection, Ingest};

/// What a field may declare; the bits of a random number choose among these.
const FLAGS: [&str; 8] = ["eq", "range", "group", "distinct", "min", "max", "time", "sort"];
/// Values that a record may have in any field, as they are written. The first means that the field is absent.
const VALUES: [&str; 30] = [
    "",
    "null",
    "\"José\"",
    "\"Jose\u{301}\"",
    "\"Jos\\u00e9\"",
    "\"a \\\"b\\\"\"",
    "\"[1]\"",
    "[ 1]",
    "{\"a\": 1.50}",
    "\"5\"",
    "5",
    "5.0",
    "-0",
    "1.10",
    "1.1",
    "1e3",
    "9223372036854775808",
    "-9223372036854775808",
    "true",
    "false",
    "\"true\"",
    "\"null\"",
    "\"\"",
    "\"soon\"",
    "\"2024-02-01\"",
    "\"2024-02-01T01:00:00+01:00\"",
    "\"2024-02-01T00:00:00.000Z\"",
    "\"2024-03-31T03:30:00+02:00\"",
    "\"2023-12-31T23:59:59.9994Z\"",
    "\"1969-12-31T23:59:59.5Z\"",
];
/// Values that a filter may ask for.
const ASKED: [&str; 16] = [
    "José",
    "a \"b\"",
    "[1]",
    "{\"a\":1.50}",
    "5",
    "5.0",
    "1.1",
    "true",
    "false",
    "null",
    "",
    "soon",
    "2024-02-01",
    "2024-02-01T00:00:00Z",
    "1969-12-31T23:59:59.5Z",
    "9223372036854775808",
];
const FIELDS: [&str; 6] = ["at", "made", "text", "number", "is", "secret"];

/// The fields of a record, as places in [`VALUES`].
type Record = [usize; FIELDS.len()];
/// Keys, each with a record or with none.
type Batch = Vec<(u8, Option<Record>)>;

#[allow(clippy::struct_excessive_bools, reason = "each is drawn independently")]
#[derive(Debug, Clone)]
struct Case {
    /// What each field declares, at first and when the second account is written.
    flags: [[u8; FIELDS.len()]; 2],
    is_number: bool,
    has_two_times: bool,
    is_extended: bool,
    /// The writes for two accounts, in two batches each.
    writes: [[Batch; 2]; 2],
    since: Option<usize>,
    named: Option<Vec<u8>>,
    hides_secret: bool,
    filters: Vec<(usize, usize, usize)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let record = || prop::array::uniform6(0..VALUES.len());
    let batch = move || prop::collection::vec((0_u8..12, prop::option::weighted(0.8, record())), 0..12);
    let batches = move || (batch(), batch()).prop_map(|(first, second)| [first, second]);
    let flags = || prop::array::uniform6(any::<u8>());
    (
        (flags(), flags(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        (batches(), batches()),
        prop::option::of(24..VALUES.len()),
        prop::option::weighted(0.3, prop::collection::vec(0_u8..12, 0..6)),
        prop::collection::vec((0..FIELDS.len(), 0..5_usize, 0..ASKED.len()), 8),
    )
        .prop_map(
            |(
                (first, second, is_number, has_two_times, is_extended, hides_secret),
                (one, two),
                since,
                named,
                filters,
            )| {
                Case {
                    flags: [first, second],
                    is_number,
                    has_two_times,
                    is_extended,
                    writes: [one, two],
                    since,
                    named,
                    hides_secret,
                    filters,
                }
            },
        )
}

impl Case {
    fn stream(&self, flags: [u8; FIELDS.len()]) -> Stream {
        let number = if self.is_number { "number" } else { "integer" };
        let kinds = ["timestamp", "timestamp", "string", number, "boolean", "person"];
        let mut stream = StreamSpec {
            name: "items",
            key: "id",
            time: Some("at"),
            fields: "id string! eq\ntitle text? lex",
            views: &[],
            relations: &[],
        }
        .parse()
        .unwrap();
        for ((name, kind), flags) in FIELDS.into_iter().zip(kinds).zip(flags) {
            let declared = FLAGS.iter().enumerate().filter(|(at, _)| flags >> at & 1 == 1);
            let declared = declared.map(|(_, flag)| *flag).collect::<Vec<_>>().join(" ");
            let sum = if kind == number { "sum" } else { "" };
            stream.fields.push(format!("{name} {kind}? {declared} {sum}").parse().unwrap());
        }
        stream.is_extended = self.is_extended;
        if self.has_two_times {
            stream.consent_time_field = Some("made".to_owned());
        }
        stream
    }

    fn write(&self, ingest: &mut Ingest<'_>, account: usize, batch: usize) -> rusqlite::Result<()> {
        ingest.connector(&Connector {
            key: "things".to_owned(),
            id: "https://example.test/things".to_owned(),
            name: "Things".to_owned(),
            streams: vec![Arc::new(self.stream(self.flags[account]))],
        })?;
        ingest.connection(&Connection {
            id: format!("cin_{account}"),
            connector: "things".to_owned(),
            display_name: "One".to_owned(),
        })?;
        for (key, record) in &self.writes[account][batch] {
            let key = format!("k{key:02}");
            let data = record.map(|record| {
                let fields = FIELDS.iter().zip(record).filter(|(_, value)| *value > 0);
                let fields = fields.map(|(name, value)| format!(", \"{name}\": {}", VALUES[value]));
                format!("{{\"id\": \"{key}\", \"title\": \"alpha\"{}}}", fields.collect::<String>())
            });
            ingest.put("items", &key, 0, data.as_deref())?;
        }
        Ok(())
    }

    fn grant(&self) -> Grant {
        let fields = ["id", "title"].into_iter().chain(FIELDS);
        let fields: Vec<&str> = fields.filter(|name| *name != "secret" || !self.hides_secret).collect();
        let time = self.since.map(|since| {
            let since: Value = serde_json::from_str(VALUES[since]).unwrap();
            json!({ "field": if self.has_two_times { "made" } else { "at" }, "since": since })
        });
        let named =
            self.named.as_ref().map(|keys| keys.iter().map(|key| format!("k{key:02}")).collect::<Vec<_>>());
        let source = json!({ "kind": "connector", "id": "https://example.test/things" });
        serde_json::from_value(json!({
            "version": "0.1.0", "grant_id": "grt_test", "issued_at": "2026-01-01T00:00:00Z", "expires_at": null,
            "subject": { "id": "owner_test" }, "client": { "client_id": "test" }, "source": source,
            "source_declaration": { "version": "test.v1" }, "purpose_code": "https://example.test/purpose",
            "access_mode": "continuous",
            "streams": [{ "name": "items", "instance_ids": ["cin_0", "cin_1"], "fields": fields, "time_constraint": time,
                "resources": named, "source": source }],
        }))
        .unwrap()
    }

    fn questions(&self) -> Vec<String> {
        let asked =
            |value: usize| url::form_urlencoded::byte_serialize(ASKED[value].as_bytes()).collect::<String>();
        let filters: Vec<String> = std::iter::once(String::new())
            .chain(self.filters.iter().map(|(field, operator, value)| {
                let operator = ["", "[gte]", "[gt]", "[lte]", "[lt]"][*operator];
                format!("&filter[{}]{operator}={}", FIELDS[*field], asked(*value))
            }))
            .collect();
        let mut questions = Vec::new();
        for (at, filter) in filters.iter().enumerate().step_by(4) {
            for field in FIELDS {
                questions.push(format!("streams/items/records?sort=-{field}&limit=3{filter}"));
                questions.push(format!("streams/items/records?sort={field}&limit=50{filter}"));
                for metric in ["min", "max", "sum"] {
                    let of = FIELDS[(at + 3) % FIELDS.len()];
                    for field_of in [of, "number"] {
                        let metric = format!("metric={metric}&field={field_of}");
                        questions.push(format!("streams/items/aggregate?{metric}&group_by={field}{filter}"));
                        let by = format!("group_by_time={field}&granularity=month");
                        questions.push(format!("streams/items/aggregate?{metric}&{by}{filter}"));
                    }
                }
            }
        }
        for (at, filter) in filters.iter().enumerate() {
            // Also two conditions at once.
            let both = format!("{filter}{}", filters[filters.len() - 1 - at]);
            for filter in [filter, &both] {
                questions.push(format!("streams/items/records?count=exact&limit=3{filter}"));
                questions.push(format!("streams/items/records?order=asc&limit=50{filter}"));
                questions.push(format!("streams/items/aggregate?metric=count{filter}"));
                questions.push(format!("search?q=alpha&streams=items{filter}"));
            }
            for field in FIELDS {
                for metric in ["count_distinct", "min", "max", "sum"] {
                    questions.push(format!("streams/items/aggregate?metric={metric}&field={field}{filter}"));
                }
                questions.push(format!("streams/items/aggregate?metric=count&group_by={field}{filter}"));
                for by in ["day", "month&time_zone=Europe/Oslo", "minute&time_zone=America/St_Johns"] {
                    let by = format!("group_by_time={field}&granularity={by}");
                    questions.push(format!("streams/items/aggregate?metric=count&{by}{filter}"));
                }
            }
        }
        questions
    }
}

/// The answer without its random parts, or the status and code of a refusal.
fn ask(vault: &Vault, token: &str, question: &str) -> Result<Value, (u16, String)> {
    let (path, query) = question.split_once('?').unwrap();
    let segments: Vec<&str> = path.split('/').collect();
    match vault.read(Some(token), &Read::sent(Resource::at(&segments).unwrap(), path, query)) {
        Ok(Answer::Json(mut answer)) => {
            let answer_fields = answer.as_object_mut().unwrap();
            answer_fields.remove("links");
            answer_fields.remove("next_cursor");
            Ok(answer)
        }
        Ok(Answer::Blob { .. }) => Ok(Value::Null),
        Err(error) => Err((error.status.as_u16(), error.code.to_string())),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn o6_12_columns_answer_as_the_data_does(case in cases()) {
        let config = super::tests::config(false);
        let first = |ingest: &mut Ingest<'_>| {
            case.write(ingest, 0, 0)?;
            Ok(case.write(ingest, 1, 0)?)
        };
        let vault = Vault::open(config, Some(&first)).unwrap().with_clock(Arc::new(MovedClock::default()));
        for account in [1, 0] {
            vault.store.write::<_, rusqlite::Error>(|tx, _| {
                let mut ingest = Ingest::new(tx)?;
                case.write(&mut ingest, account, 1)?;
                ingest.finish()
            }).unwrap();
        }
        let token = vault.issue(case.grant()).unwrap().token;
        let questions = case.questions();
        let answers: Vec<_> = questions.iter().map(|question| ask(&vault, &token, question)).collect();
        let wrong: i64 = vault.store.write::<_, rusqlite::Error>(|tx, _| {
            tx.execute_batch("DELETE FROM value_column; UPDATE meta SET value = value + 1 WHERE name = 'catalog'")?;
            tx.query_row("SELECT count(*) FROM value_text WHERE records < 1", [], |row| row.get(0))
        }).unwrap();
        prop_assert_eq!(wrong, 0);
        for (question, answer) in questions.iter().zip(answers) {
            prop_assert_eq!(answer, ask(&vault, &token, question), "{}", question);
        }
    }
}
