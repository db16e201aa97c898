//! The engine with an invented format, without the command around it.
#![allow(clippy::disallowed_methods, reason = "the exports belong to the test")]

mod later_days;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use base64::Engine as _;
use jiff::tz::TimeZone;

use super::account::Known;
use super::declare::{Registry, StreamLine, connector};
use super::format::{
    Ask, Bad, Blob, Draft, Encoding, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
    Whose,
};
use super::formats::ALL;
use super::formats::browser::Browser;
use super::formats::claude_code::ClaudeCode;
use super::formats::codex::Codex;
use super::formats::csv::Csv;
use super::formats::ical::Ical;
use super::formats::mail::{Maildir, Mbox};
use super::formats::meta::Meta;
use super::formats::notes::Notes;
use super::pipeline::{self, Import, Watch};
use super::resume::Terms;
use super::survey::{Adviser, Job, Named, Request, Survey};
use super::tally::{BadItem, Outcome, Unread};
use crate::hex;
use crate::own;
use crate::vault::declaration::Connector;
use crate::vault::store::blobs;
use crate::vault::store::ledger::Settings;
use crate::vault::store::{Ingest, Store};

/// Lines of commands: `set KEY VALUE`, `see KEY LABEL`, `blob KEY BASE64`, `bad`, `skip`, `panic`, `grow PATH`.
struct Lines {
    version: u32,
}

static LINES: Lines = Lines { version: 1 };
static NEWER: Lines = Lines { version: 2 };

impl Format for Lines {
    fn name(&self) -> &'static str {
        "lines"
    }

    fn title(&self) -> &'static str {
        "lines of commands"
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        peek.head.starts_with(b"lines\n").then_some(Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let streams = [StreamLine {
            name: "things",
            key: "id",
            time: "at",
            fields: "id:k! text:b at:T labels:a file:r gone_at:t",
            relations: "",
        }];
        Ok(vec![Plan {
            connector: connector(Registry::Local, "lines", "Lines", &streams).unwrap(),
            account: ask.account.clone().unwrap_or_else(|| "me".to_owned()),
            units: (0..members.len()).collect(),
            notes: Vec::new(),
            whose: Whose::default(),
            zone: ask.zone.clone(),
            state: Arc::new(()),
        }])
    }

    fn split(&self, _: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        unit.bytes.skip_to(from)?;
        let mut at = from;
        loop {
            let mut bytes = Vec::new();
            unit.bytes.read_until(b'\n', &mut bytes)?;
            if bytes.last() != Some(&b'\n') {
                return Ok(End { at });
            }
            let next = at + bytes.len() as u64;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if let Some(path) = text.strip_prefix("grow ") {
                let mut grown = fs::read(path.trim_end()).unwrap();
                grown.extend(b"set grown later\n");
                fs::write(path.trim_end(), grown).unwrap();
            }
            let raw = Raw { offset: at, next, line: None, bytes, facts: String::new(), copy: 0 };
            at = next;
            if text != "lines\n"
                && !text.starts_with("grow ")
                && let ControlFlow::Break(()) = out(raw)
            {
                return Ok(End { at });
            }
        }
    }

    fn parse(&self, _: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        let text = String::from_utf8_lossy(&raw.bytes).trim_end().to_owned();
        let words: Vec<&str> = text.splitn(3, ' ').collect();
        let data = |text: &str| serde_json::json!({ "id": words[1], "text": text }).to_string();
        let draft = match words[0] {
            "set" => Draft::new("things", words[1], data(words[2])),
            "see" => Draft {
                sighting: Some(format!("{:?}", words[2])),
                ..Draft::new("things", words[1], data(""))
            },
            "blob" => {
                let bytes = base64::engine::general_purpose::STANDARD.decode(words[2]).unwrap();
                let hash = hex::sha256(&bytes);
                let id = format!("sha256:{hash}");
                let data = serde_json::json!({ "id": words[1], "file": { "blob_id": id } }).to_string();
                let blob = Blob {
                    id,
                    media_type: "text/plain".to_owned(),
                    size: bytes.len() as u64,
                    offset: "blob ".len() + words[1].len() + 1,
                    length: words[2].len(),
                    encoding: Encoding::Base64,
                };
                Draft { blobs: vec![blob], ..Draft::new("things", words[1], data) }
            }
            "skip" => return Ok(Parsed::Skipped("a comment")),
            "panic" => panic!("made up"),
            _ => return Err(Bad("no command")),
        };
        Ok(Parsed::Records(vec![draft]))
    }

    fn join(&self, _: &str, data: &str, sightings: &[&str]) -> String {
        let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(data).unwrap();
        let labels: std::collections::BTreeSet<String> =
            sightings.iter().map(|said| serde_json::from_str(said).unwrap()).collect();
        fields.insert("labels".to_owned(), serde_json::json!(labels));
        serde_json::Value::Object(fields).to_string()
    }
}

struct Nobody;

impl Adviser for Nobody {
    fn settled(&self, _: &str) -> Option<Settings> {
        None
    }
    fn connectors(&self) -> Vec<Arc<Connector>> {
        Vec::new()
    }
    fn accounts(&self, _: &Job) -> Vec<Known> {
        Vec::new()
    }
    fn answer(&mut self, _: &str, _: &[String]) -> Option<String> {
        None
    }
}

#[derive(Default)]
struct Seen(Vec<BadItem>);

impl Watch for Seen {
    fn progress(&mut self, _: u64, _: u64) {}
    fn bad(&mut self, item: &BadItem) {
        self.0.push(item.clone());
    }
    fn unread(&mut self, _: &Unread) {}
}

struct Place {
    root: tempfile::TempDir,
    format: &'static dyn Format,
    terms: Terms,
    least_free: u64,
}

impl Place {
    fn new() -> Self {
        let terms = Terms { since_ms: None, copies_attachments: false, names_bad: false, now_ms: 1 };
        Self { root: tempfile::tempdir().unwrap(), format: &LINES, terms, least_free: 0 }
    }

    fn own(&self) -> PathBuf {
        self.root.path().join("own")
    }

    fn store(&self) -> Store {
        own::make_store(&self.own()).unwrap()
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn try_import(&self, path: &Path) -> (Outcome, Option<crate::error::Error>, Vec<BadItem>) {
        let named = Named {
            path: path.to_owned(),
            formats: vec![self.format],
            is_as: false,
            account: None,
            received: None,
            before: None,
        };
        let request = Request {
            paths: vec![named],
            zone: Some(TimeZone::UTC),
            own_zone: None,
            date_order: None,
            since_ms: self.terms.since_ms,
            copies_attachments: self.terms.copies_attachments,
        };
        let survey = Survey::of(&request, &self.own(), &mut Nobody).unwrap();
        let (store, stop) = (self.store(), AtomicBool::new(false));
        let import = Import {
            store: &store,
            dir: &self.own(),
            terms: self.terms,
            stop: &stop,
            least_free: self.least_free,
        };
        let mut seen = Seen::default();
        let ended = pipeline::run(&import, &survey.jobs[0], &mut seen);
        assert!(ended.outcome.counts.add_up(), "{:?}", ended.outcome.counts);
        (ended.outcome, ended.stopped, seen.0)
    }

    fn import(&self, path: &Path) -> Outcome {
        let (outcome, stopped, _) = self.try_import(path);
        assert!(stopped.is_none(), "{stopped:?}");
        outcome
    }

    /// Counts of read, new, changed and same.
    fn counts(&self, path: &Path) -> [u64; 4] {
        let counts = self.import(path).counts;
        [counts.read, counts.new, counts.changed, counts.same]
    }

    fn records(&self) -> Vec<String> {
        let read = |db: &rusqlite::Connection, _: &_| {
            let mut all =
                db.prepare("SELECT whole(data, packed) FROM record WHERE data IS NOT NULL ORDER BY key")?;
            all.query_map([], |row| row.get(0))?.collect()
        };
        self.store().read::<_, rusqlite::Error>(read).unwrap()
    }
}

#[test]
fn o4_4_each_item_is_accounted_for_once() {
    let place = Place::new();
    let path = place.file("a", "lines\nset a 1\nset b 2\nset a 3\nset b 2\nskip\nbad\npanic\nset c 4\n");
    let (outcome, stopped, bad) = place.try_import(&path);
    assert!(stopped.is_none());
    let counts = &outcome.counts;
    assert_eq!((counts.read, counts.new, counts.changed, counts.same), (8, 3, 1, 1));
    assert_eq!(counts.skipped, BTreeMap::from([("a comment".into(), 1)]));
    assert_eq!(counts.bad, BTreeMap::from([("no command".into(), 1), ("panicked".into(), 1)]));
    assert_eq!(bad[0].byte, 43);
    assert_eq!((bad[0].item, &*bad[0].reason), (6, "no command"));
    assert_eq!(
        place.records(),
        [r#"{"id":"a","text":"3"}"#, r#"{"id":"b","text":"2"}"#, r#"{"id":"c","text":"4"}"#]
    );
    // Without a change nothing is read, and nothing is missing from the sum.
    assert_eq!(place.counts(&path), [8, 0, 0, 8]);
}

#[test]
fn o4_5_a_file_that_grew_goes_on_and_another_is_read_again() {
    let place = Place::new();
    let path = place.file("a", "lines\nset a 1\nset b 2\nset half");
    assert_eq!(place.counts(&path), [2, 2, 0, 0]);
    place.file("a", "lines\nset a 1\nset b 2\nset half 3\nset d 4\n");
    assert_eq!(place.counts(&path), [4, 2, 0, 2]);
    // A change inside: known items are not parsed, new ones are.
    place.file("a", "lines\nset a 9\nset b 2\nset half 3\nset d 4\n");
    assert_eq!(place.counts(&path), [4, 0, 1, 3]);
    // Changed back: the record no longer matches what that item gave.
    place.file("a", "lines\nset a 1\nset b 2\nset half 3\nset d 4\n");
    assert_eq!(place.counts(&path), [4, 0, 1, 3]);
    assert_eq!(place.records()[0], r#"{"id":"a","text":"1"}"#);
}

#[test]
fn o4_6_a_newer_version_of_a_format_reads_again() {
    let mut place = Place::new();
    let path = place.file("a", "lines\nset a 1\n");
    assert_eq!(place.counts(&path), [1, 1, 0, 0]);
    place.format = &NEWER;
    let outcome = place.import(&path);
    assert_eq!((outcome.counts.read, outcome.counts.same), (1, 1));
    let items =
        |db: &rusqlite::Connection, _: &_| db.query_row("SELECT count(*) FROM item", [], |row| row.get(0));
    assert_eq!(place.store().read::<i64, rusqlite::Error>(items).unwrap(), 2, "it was parsed again");
}

#[test]
fn o4_7_what_is_gone_stays_and_its_say_ends_where_another_speaks() {
    let place = Place::new();
    let folder = place.root.path().join("box");
    place.file("box/one:2,S", "lines\nsee a S\n");
    place.file("box/two", "lines\nset b 2\n");
    assert_eq!(place.counts(&folder), [2, 2, 0, 0]);
    fs::rename(folder.join("one:2,S"), folder.join("one:2,RS")).unwrap();
    place.file("box/one:2,RS", "lines\nsee a RS\n");
    fs::remove_file(folder.join("two")).unwrap();
    let outcome = place.import(&folder);
    assert_eq!((outcome.counts.read, outcome.counts.changed, outcome.gone), (1, 1, 2));
    assert_eq!(place.records(), [r#"{"id":"a","labels":["RS"],"text":""}"#, r#"{"id":"b","text":"2"}"#]);
    let gone = |db: &rusqlite::Connection, _: &_| {
        db.query_row("SELECT count(*) FROM checkpoint WHERE gone_ms = 1", [], |row| row.get(0))
    };
    assert_eq!(place.store().read::<i64, rusqlite::Error>(gone).unwrap(), 2);
}

#[test]
fn o4_7_what_is_gone_says_since_when_until_it_is_there_again() {
    let mut place = Place::new();
    let folder = place.root.path().join("box");
    place.file("box/one", "lines\nsee a S\n");
    place.file("box/two", "lines\nsee b S\nsee c S\n");
    place.file("box/three", "lines\nsee c R\n");
    place.import(&folder);
    fs::remove_file(folder.join("two")).unwrap();
    place.terms.now_ms = 1_000;
    assert_eq!(place.import(&folder).gone, 1);
    let [a, b, c] = place.records().try_into().unwrap();
    assert_eq!(a, r#"{"id":"a","labels":["S"],"text":""}"#);
    assert_eq!(b, r#"{"id":"b","labels":["S"],"text":"","gone_at":"1970-01-01T00:00:01.000Z"}"#);
    assert_eq!(c, r#"{"id":"c","labels":["R","S"],"text":""}"#, "another still has it");
    // It stays marked.
    place.terms.now_ms = 2_000;
    place.import(&folder);
    assert_eq!(place.records(), [&a, &b, &c].map(String::clone));
    place.file("box/two", "lines\nsee b S\nsee c S\n");
    let outcome = place.import(&folder);
    assert_eq!((outcome.counts.read, outcome.counts.changed, outcome.gone), (4, 1, 0));
    assert_eq!(place.records()[1], r#"{"id":"b","labels":["S"],"text":""}"#);
    // A file in an archive, or a separate file, does not count as still in use.
    let file = place.file("alone", "lines\nsee d S\n");
    place.import(&file);
    assert_eq!(place.records()[3], r#"{"id":"d","labels":["S"],"text":""}"#);
}

/// Whether each record of a stream is marked as gone.
fn gone(store: &Store, stream: &str) -> Vec<bool> {
    let read = |db: &rusqlite::Connection, _: &_| {
        let mut all = db.prepare(
            "SELECT data ->> 'gone_at' IS NOT NULL FROM record r JOIN slot s ON s.slot = r.slot
             WHERE s.stream = ?1 AND data IS NOT NULL ORDER BY key",
        )?;
        all.query_map([stream], |row| row.get(0))?.collect()
    };
    store.read::<_, rusqlite::Error>(read).unwrap()
}

#[test]
fn o4_7_a_mail_that_is_renamed_is_there_and_one_that_is_deleted_is_gone() {
    let mut place = Place::new();
    place.format = &Maildir;
    let folder = place.root.path().join("Mail");
    for (name, mail) in ["1.a:2,", "2.b:2,S"].iter().zip(MAILS) {
        place.file(&format!("Mail/cur/{name}"), mail);
    }
    place.file("Mail/new/3.c", &MAILS[0].replace("<1@", "<3@"));
    assert_eq!(place.counts(&folder), [3, 3, 0, 0]);
    fs::rename(folder.join("cur/1.a:2,"), folder.join("cur/1.a:2,RS")).unwrap();
    let outcome = place.import(&folder);
    assert_eq!((outcome.counts.changed, outcome.counts.same), (1, 2), "{:?}", outcome.counts);
    assert_eq!(gone(&place.store(), "messages"), [false, false]);
    for name in ["cur/1.a:2,RS", "cur/2.b:2,S"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    place.import(&folder);
    let store = place.store();
    assert_eq!(gone(&store, "messages").iter().filter(|is_gone| **is_gone).count(), 1);
    assert_eq!(gone(&store, "security_messages"), [true]);
    drop(store);
    place.file("Mail/cur/1.a:2,RS", MAILS[0]);
    assert_eq!(place.counts(&folder), [2, 0, 1, 1]);
    assert_eq!(gone(&place.store(), "messages"), [false, false]);
}

#[test]
fn o4_7_a_note_that_is_renamed_is_a_new_one_and_the_old_one_is_gone() {
    let mut place = Place::new();
    place.format = &Notes;
    let vault = place.root.path().join("Garden");
    place.file("Garden/.obsidian/app.json", "{}");
    place.file("Garden/1.md", "# One");
    place.file("Garden/Beds/2.md", "# Two");
    place.file("Garden/.trash/3.md", "# Three");
    assert_eq!(place.counts(&vault), [2, 2, 0, 0]);
    assert_eq!(place.counts(&vault), [2, 0, 0, 2]);
    fs::rename(vault.join("1.md"), vault.join("4.md")).unwrap();
    let outcome = place.import(&vault);
    assert_eq!((outcome.counts.new, outcome.counts.same, outcome.gone), (1, 1, 1));
    assert_eq!(gone(&place.store(), "notes"), [true, false, false]);
    // A note that grew is read completely, and counts once.
    place.file("Garden/Beds/2.md", "# Two\nand more");
    assert_eq!(place.counts(&vault), [2, 0, 1, 1]);
    assert!(place.records()[2].contains("and more"));
    // A note that was thrown away is gone too, and one that is back is not.
    fs::rename(vault.join("4.md"), vault.join(".trash/4.md")).unwrap();
    place.file("Garden/1.md", "# One");
    place.import(&vault);
    assert_eq!(gone(&place.store(), "notes"), [false, true, false]);
}

#[test]
fn o2_1_what_a_format_does_not_claim_is_not_recognised() {
    let place = Place::new();
    place.file("a/README.md", "# Read me");
    let survey = |formats: &[&'static dyn Format], is_as: bool| {
        let path = place.root.path().join("a");
        let named =
            Named { path, formats: formats.to_vec(), is_as, account: None, received: None, before: None };
        let request = Request {
            paths: vec![named],
            zone: Some(TimeZone::UTC),
            own_zone: None,
            date_order: None,
            since_ms: None,
            copies_attachments: false,
        };
        Survey::of(&request, &place.own(), &mut Nobody).map(|survey| {
            let units = survey.jobs.iter().flat_map(|job| &job.units).map(|unit| unit.label.clone());
            (
                units.collect::<Vec<_>>(),
                survey.unrecognised.into_iter().map(|(_, one)| one.label).collect::<Vec<_>>(),
            )
        })
    };
    assert_eq!(survey(ALL, false).err().unwrap().code(), "import_unrecognised");
    assert_eq!(survey(&[&Notes], true).unwrap().0, ["README.md"]);
    // What was imported as notes before stays.
    assert_eq!(survey(&[&Notes], false).unwrap().0, ["README.md"]);
    place.file("a/Garden/.obsidian/app.json", "{}");
    place.file("a/Garden/1.md", "# One");
    place.file("a/Garden/plan.png", "a picture");
    let (units, mut others) = survey(ALL, false).unwrap();
    others.sort();
    assert_eq!(
        (units, others),
        (vec!["Garden/1.md".to_owned()], vec!["Garden/plan.png".to_owned(), "README.md".to_owned()])
    );
}

#[test]
fn o5_1_a_chat_in_two_files_is_one_and_reading_it_again_changes_nothing() {
    let mut place = Place::new();
    place.format = &Meta;
    let folder = place.root.path().join("export");
    let file = |messages: &str| {
        format!(
            r#"{{"participants":[{{"name":"Ben"}}],"messages":[{messages}],"title":"Ben","thread_path":"inbox/ben_1234567"}}"#
        )
    };
    let inbox = "export/your_facebook_activity/messages/inbox/ben_1234567";
    place.file(
        &format!("{inbox}/message_1.json"),
        &file(r#"{"sender_name":"Ben","timestamp_ms":1600000000002,"content":"b"}"#),
    );
    place.file(
        &format!("{inbox}/message_2.json"),
        &file(r#"{"sender_name":"Ben","timestamp_ms":1600000000001,"content":"a"}"#),
    );
    assert_eq!(place.counts(&folder), [4, 3, 1, 0]);
    assert_eq!(place.counts(&folder), [4, 0, 0, 4]);
    let records = place.records();
    let chat = records.iter().find(|record| record.contains("last_message_date")).unwrap();
    assert!(chat.contains(r#""first_message_date":"2020-09-13T12:26:40.001Z","last_message_date":"2020-09-13T12:26:40.002Z""#), "{chat}");
}

#[test]
fn o4_7_a_long_record_that_is_gone_keeps_its_texts() {
    let mut place = Place::new();
    place.format = &Maildir;
    let long = MAILS[0].replacen("Subject: ", &format!("Subject: {}", "larch ".repeat(400)), 1);
    let mail = place.file("Mail/cur/1.a:2,", &long);
    place.file("Mail/cur/2.b:2,", &MAILS[0].replace("<1@", "<2@"));
    let folder = place.root.path().join("Mail");
    place.import(&folder);
    fs::remove_file(mail).unwrap();
    place.import(&folder);
    let read = |db: &rusqlite::Connection, _: &_| {
        let sql = "SELECT whole(data, packed) FROM record WHERE packed IS NOT NULL AND data ->> 'gone_at' IS NOT NULL";
        db.query_row(sql, [], |row| row.get::<_, String>(0))
    };
    let whole = place.store().read::<_, rusqlite::Error>(read).unwrap();
    assert!(whole.contains(&"larch ".repeat(300)) && whole.contains("gone_at"), "{whole}");
}

#[cfg(unix)]
#[test]
fn o4_7_what_cannot_be_looked_into_is_not_gone() {
    let mut place = Place::new();
    place.format = &Maildir;
    let folder = place.root.path().join("Mail");
    let mail = place.file("Mail/cur/1.a:2,", MAILS[0]);
    place.file("Mail/cur/2.b:2,", &MAILS[0].replace("<1@", "<2@"));
    // A folder, or a damaged archive, instead of a mail.
    place.import(&folder);
    fs::remove_file(&mail).unwrap();
    place.file("Mail/cur/broken.zip", "PK\u{3}\u{4}");
    place.import(&folder);
    assert_eq!(gone(&place.store(), "messages"), [false, false]);
    fs::remove_file(folder.join("cur/broken.zip")).unwrap();
    place.import(&folder);
    assert_eq!(gone(&place.store(), "messages").iter().filter(|is_gone| **is_gone).count(), 1);
}

#[test]
fn o4_7_a_session_that_is_deleted_says_so_and_so_do_its_messages_which_stay() {
    let mut place = Place::new();
    place.format = &ClaudeCode;
    let folder = place.root.path().join("projects");
    let session = |session: &str| {
        let line = format!(
            r#"{{"sessionId":"{session}","uuid":"{session}-1","type":"user","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/x","message":{{"role":"user","content":"Plan the beds of {session}"}}}}"#
        );
        format!("{line}\n")
    };
    for name in ["s1", "s2"] {
        place.file(&format!("projects/x/{name}.jsonl"), &session(name));
    }
    place.import(&folder);
    assert_eq!(gone(&place.store(), "sessions"), [false, false]);
    fs::remove_file(folder.join("x/s1.jsonl")).unwrap();
    place.import(&folder);
    let store = place.store();
    assert_eq!(gone(&store, "sessions"), [true, false]);
    assert_eq!(gone(&store, "messages"), [true, false]);
    drop(store);
    // The mail is back.
    place.file("projects/x/s1.jsonl", &session("s1"));
    place.import(&folder);
    assert_eq!(gone(&place.store(), "messages"), [false, false]);
}

#[test]
fn o4_7_what_a_deleted_session_of_codex_said_is_gone_too() {
    let mut place = Place::new();
    place.format = &Codex;
    let folder = place.root.path().join("sessions");
    for session in ["s1", "s2"] {
        let at = "2026-03-01T10:00:00.000Z";
        let lines = [
            format!(
                r#"{{"timestamp":"{at}","type":"session_meta","payload":{{"id":"{session}","timestamp":"{at}","cwd":"/x"}}}}"#
            ),
            format!(
                r#"{{"timestamp":"{at}","type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"Plan the beds of {session}"}}]}}}}"#
            ),
            format!(
                r#"{{"timestamp":"{at}","type":"response_item","payload":{{"type":"function_call","name":"shell","arguments":"ls","call_id":"c1"}}}}"#
            ),
        ];
        place.file(&format!("sessions/rollout-{session}.jsonl"), &(lines.join("\n") + "\n"));
    }
    place.import(&folder);
    fs::remove_file(folder.join("rollout-s1.jsonl")).unwrap();
    place.import(&folder);
    let store = place.store();
    for stream in ["sessions", "messages", "function_calls"] {
        assert_eq!(gone(&store, stream), [true, false], "{stream}");
    }
}

const MAILS: [&str; 2] = [
    "From: eva@example.org\nDelivered-To: ana@example.org\nSubject: New password policy\nMessage-ID: <1@example.org>\n\
     Date: Tue, 2 Jan 2024 03:04:05 +0000\n\nFrom March on, 12 characters.\n\n",
    "From: eva@example.org\nDelivered-To: ana@example.org\nSubject: Din verifieringskod\nMessage-ID: <2@example.org>\n\
     Date: Wed, 3 Jan 2024 03:04:05 +0000\n\n482913\n\n",
];

fn mailbox(mails: &[&str]) -> String {
    mails.iter().flat_map(|mail| ["From eva@example.org Tue Jan  2 03:04:05 2024\n", mail]).collect()
}

/// The keys of the records of a stream, and whether each still exists.
fn keys(store: &Store, stream: &str) -> Vec<(String, bool)> {
    let read = |db: &rusqlite::Connection, _: &_| {
        let mut all = db.prepare(
            "SELECT key, data IS NOT NULL FROM record r JOIN slot s ON s.slot = r.slot WHERE s.stream = ?1 ORDER BY key",
        )?;
        all.query_map([stream], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    store.read::<_, rusqlite::Error>(read).unwrap()
}

#[test]
fn o4_6_a_better_rule_moves_mails_of_an_earlier_import_both_ways() {
    let mut place = Place::new();
    place.format = &Mbox;
    let path = place.file("mbox", &mailbox(&MAILS));
    assert_eq!(place.counts(&path), [2, 2, 0, 0]);
    let store = place.store();
    let ids = ["messages", "security_messages"].map(|stream| keys(&store, stream)[0].0.clone());
    // As an earlier rule left them, which took each for the other.
    store
        .write::<_, rusqlite::Error>(|tx, catalog| {
            let mut ingest = Ingest::new(tx)?;
            ingest.connection(&catalog.connections[0])?;
            let [mail, key] = &ids;
            for (stream, id, data) in [
                ("messages", mail, None),
                ("message_bodies", mail, None),
                ("security_messages", mail, Some(r#"{"id":"old"}"#)),
                ("security_messages", key, None),
                ("messages", key, Some(r#"{"id":"old"}"#)),
                ("message_bodies", key, Some(r#"{"id":"old"}"#)),
            ] {
                ingest.put(stream, id, 1, data)?;
            }
            ingest.finish()?;
            tx.execute("UPDATE source SET version = version - 1", [])?;
            tx.execute("DELETE FROM item", [])?;
            Ok(())
        })
        .unwrap();
    drop(store);
    assert_eq!(place.counts(&path), [2, 0, 2, 0]);
    let store = place.store();
    for stream in ["messages", "message_bodies", "security_messages"] {
        let is_apart = stream == "security_messages";
        let mut wanted = vec![(ids[0].clone(), !is_apart), (ids[1].clone(), is_apart)];
        wanted.sort();
        assert_eq!(keys(&store, stream), wanted, "{stream}");
    }
    drop(store);
    assert_eq!(place.counts(&path), [2, 0, 0, 2]);
}

#[test]
fn o5_a_newer_version_of_an_event_takes_the_times_of_the_older_with_it() {
    let calendar = |sequence: u32, rule: &str| {
        format!(
            "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSEQUENCE:{sequence}\nDTSTART:20260302T090000Z\nRRULE:{rule}\nEND:VEVENT\n\
             END:VCALENDAR\n"
        )
    };
    let (old, new) = (calendar(1, "FREQ=DAILY;COUNT=3"), calendar(2, "FREQ=WEEKLY;COUNT=2"));
    let days = |place: &Place| -> Vec<String> {
        let all = keys(&place.store(), "occurrences").into_iter().filter(|(_, is_there)| *is_there);
        all.map(|(key, _)| key[key.find(':').unwrap() + 1..][5..10].to_owned()).collect()
    };
    for is_newer_first in [false, true] {
        let mut place = Place::new();
        place.format = &Ical;
        let (first, second) = if is_newer_first { (&new, &old) } else { (&old, &new) };
        let (first, second) = (place.file("a.ics", first), place.file("b.ics", second));
        assert_eq!(place.counts(&first), [1, 1, 0, 0]);
        let changed = u64::from(!is_newer_first);
        assert_eq!(place.counts(&second), [1, 0, changed, 1 - changed]);
        assert_eq!(days(&place), ["03-02", "03-09"]);
        for path in [first, second] {
            assert_eq!(place.counts(&path), [1, 0, 0, 1]);
        }
        assert_eq!(days(&place), ["03-02", "03-09"]);
    }
    // What began before `--since` and continues is not left out.
    let mut place = Place::new();
    place.format = &Ical;
    place.terms.since_ms = crate::vault::time::parse_ms("2026-03-09");
    let path = place.file("a.ics", &new);
    assert_eq!(place.counts(&path), [1, 1, 0, 0]);
    place.terms.since_ms = crate::vault::time::parse_ms("2026-03-10");
    let path = place.file("b.ics", &new.replace("UID:1", "UID:2"));
    assert_eq!(place.counts(&path), [1, 0, 0, 0]);
}

#[test]
fn o4_4_the_last_mail_of_a_mailbox_that_grew_is_counted_once() {
    let mut place = Place::new();
    place.format = &Mbox;
    let whole = mailbox(&MAILS);
    let path = place.file("mbox", &whole);
    assert_eq!(place.counts(&path), [2, 2, 0, 0]);
    // Touched, but unchanged: everything is still there.
    for second in 1..4 {
        let touched = std::time::UNIX_EPOCH + std::time::Duration::from_secs(second);
        fs::File::options().write(true).open(&path).unwrap().set_modified(touched).unwrap();
        assert_eq!(place.counts(&path), [2, 0, 0, 2]);
        assert_eq!(place.counts(&path), [2, 0, 0, 2]);
    }
    let third = MAILS[0].replace("<1@", "<3@");
    place.file("mbox", &format!("{whole}{}", mailbox(&[&third])));
    assert_eq!(place.counts(&path), [3, 1, 0, 2]);
    assert_eq!(place.counts(&path), [3, 0, 0, 3]);
    // Its last mail grew: the whole one replaces the first part.
    let messages = |place: &Place| {
        let count = "SELECT count(*) FROM record r JOIN slot s ON s.slot = r.slot
            WHERE s.stream = 'messages' AND r.data IS NOT NULL";
        place.store().read::<i64, rusqlite::Error>(|db, _| db.query_row(count, [], |row| row.get(0))).unwrap()
    };
    assert_eq!(messages(&place), 2);
    for more in ["and more\n", "and more\nand yet more", "and more\nand yet more\n\n"] {
        place.file("mbox", &format!("{whole}{}{more}", mailbox(&[&third])));
        let counts = place.counts(&path);
        assert!(
            counts == [3, 0, 1, 2] || more.ends_with("\n\n") && counts == [3, 0, 0, 3],
            "{counts:?} {more:?}"
        );
        assert_eq!(messages(&place), 2, "{more:?}");
    }
}

#[test]
fn o4_5_a_half_is_replaced_however_often_it_was_read_and_where_the_file_was_shorter_meanwhile() {
    let first = "From a0@example.org Mon Jan  1 00:00:00 2024\nTo: me@example.org\nFrom: a0@example.org\nSubject: s0\n\
        Message-ID: <m0@example.org>\nDate: Mon, 01 Jan 2024 00:00:00 +0000\n\nbody zero\n\n";
    let second = "From a1@example.org Mon Jan  1 00:00:01 2024\nReceived: from x by y\nFrom: a1@example.org\n\
        Subject: Hello\nTo: me@example.org\nMessage-ID: <m1@example.org>\n\
        Date: Mon, 01 Jan 2024 00:00:01 +0000\n\nyou asked for it:\n482913\nis your verification code.\n\n";
    let whole = format!("{first}{second}");
    let cut = |text: &str| first.len() + second.find(text).unwrap();
    let all = [
        // The second part is the first one with additions that are not part of its key.
        vec![cut("To: "), cut("Message-ID"), whole.len()],
        vec![cut("is your"), cut("Received"), whole.len()],
        // Back into the mail before it.
        vec![cut("is your"), 90, whole.len()],
        vec![cut("482913"), cut("you asked"), cut("is your"), 90, cut("482913"), whole.len()],
        vec![whole.len(), cut("482913"), whole.len()],
        vec![whole.len(), 150, whole.len()],
        // Two parts that are one record.
        vec![cut("To: ") + 4, cut("To: ") + 5, cut("Message-ID"), cut("Message-ID") + 4, whole.len()],
    ];
    for (ends, is_new) in all.iter().flat_map(|ends| [(ends, false), (ends, true)]) {
        let mut place = Place::new();
        place.format = &Mbox;
        for end in ends {
            let path = place.file("mbox", "");
            // Another file in the same place.
            if is_new {
                fs::remove_file(&path).unwrap();
            }
            place.import(&place.file("mbox", &whole[..*end]));
        }
        let there = place.records();
        let mut fresh = Place::new();
        fresh.format = &Mbox;
        fresh.import(&fresh.file("mbox", &whole));
        assert_eq!(there, fresh.records(), "{ends:?} {is_new}");
    }
}

#[test]
fn o4_5_half_a_row_is_replaced_but_not_what_another_file_says_whole() {
    let mut place = Place::new();
    place.format = &Csv;
    let all = |place: &Place| {
        let mut all: Vec<String> = place.records();
        for data in &mut all {
            *data = data.split_once(',').unwrap().1.to_owned();
        }
        all.sort();
        all
    };
    let path = place.file("a/t.csv", "day,n\n2026-01-02,1\n2026-01-02,1\n2026-01-03,1");
    assert_eq!(place.counts(&path), [3, 3, 0, 0]);
    assert_eq!(place.counts(&path), [3, 0, 0, 3]);
    place.file("a/t.csv", "day,n\n2026-01-02,1\n2026-01-02,1\n2026-01-03,12\n2026-01-04,1");
    assert_eq!(place.counts(&path), [4, 1, 1, 2]);
    let twice = r#""day":"2026-01-02","n":1}"#;
    assert_eq!(all(&place), [twice, twice, r#""day":"2026-01-03","n":12}"#, r#""day":"2026-01-04","n":1}"#]);
    // Another file mentions the incomplete item.
    let other = place.file("b/t.csv", "day,n\n2026-01-04,1\n");
    assert_eq!(place.counts(&other), [1, 0, 0, 1]);
    place.file("a/t.csv", "day,n\n2026-01-02,1\n2026-01-02,1\n2026-01-03,12\n2026-01-04,15\n");
    assert_eq!(place.counts(&path)[0], 4);
    assert_eq!(all(&place).len(), 5, "{:?}", all(&place));
    // The item only got its end, and another file has the same one.
    let path = place.file("c/t.csv", "day,n\n2026-01-05,1");
    place.import(&path);
    place.import(&place.file("d/t.csv", "day,n\n2026-01-05,1\n"));
    place.file("c/t.csv", "day,n\n2026-01-05,1\n");
    place.import(&path);
    assert_eq!(all(&place).len(), 6, "{:?}", all(&place));
}

#[test]
fn o4_13_sightings_of_several_files_join_in_any_order() {
    let (one, other) = (Place::new(), Place::new());
    for (place, order) in [(&one, [0, 1, 2]), (&other, [2, 0, 1])] {
        let files = [
            place.file("a", "lines\nsee x inbox\n"),
            place.file("b", "lines\nsee x sent\n"),
            place.file("c", "lines\nsee x inbox\n\n"),
        ];
        for at in order {
            place.import(&files[at]);
        }
    }
    assert_eq!(one.records(), other.records());
    assert_eq!(one.records(), [r#"{"id":"x","labels":["inbox","sent"],"text":""}"#]);
}

#[test]
fn o3_9_an_attachment_is_read_where_it_lies_or_not_at_all() {
    let mut place = Place::new();
    let text = "lines\nset a 1\nblob b SGVsbG8=\n";
    let path = place.file("a", text);
    place.import(&path);
    let id = format!("sha256:{}", hex::of(ring::digest::digest(&ring::digest::SHA256, b"Hello").as_ref()));
    let read = |place: &Place| {
        let found = place.store().read::<_, rusqlite::Error>(|db, _| blobs::find(db, &id)).unwrap();
        found.unwrap().read()
    };
    assert_eq!(read(&place).as_deref(), Some(b"Hello".as_slice()));
    fs::write(&path, text.replace("SGVs", "SGVt")).unwrap();
    assert_eq!(read(&place), None, "the file has changed");
    fs::remove_file(&path).unwrap();
    assert_eq!(read(&place), None);
    place.file("a", text);
    place.terms.copies_attachments = true;
    assert_eq!(place.counts(&path), [2, 0, 0, 2]);
    fs::remove_file(&path).unwrap();
    assert_eq!(read(&place).as_deref(), Some(b"Hello".as_slice()));
    fs::write(place.own().join("blobs").join(id.strip_prefix("sha256:").unwrap()), "Jello").unwrap();
    assert_eq!(read(&place), None, "the copy was changed");
}

#[test]
fn o4_5_a_file_that_changes_while_it_is_read_is_read_again_next_time() {
    let place = Place::new();
    let path = place.root.path().join("a");
    place.file("a", &format!("lines\nset a 1\ngrow {}\nset b 2\n", path.display()));
    let outcome = place.import(&path);
    assert_eq!((outcome.counts.read, outcome.moving.as_slice()), (2, ["a".to_owned()].as_slice()));
    let outcome = place.import(&path);
    assert_eq!((outcome.counts.read, outcome.counts.new, outcome.moving.len()), (3, 1, 0));
    assert_eq!(place.records().len(), 3);
}

#[test]
fn o3_8_no_batch_begins_without_room() {
    let mut place = Place::new();
    let path = place.file("a", "lines\nset a 1\n");
    drop(place.store());
    place.least_free = u64::MAX;
    let (outcome, stopped, _) = place.try_import(&path);
    assert_eq!(stopped.map(|error| error.code()), Some("import_disk_full"));
    assert_eq!(outcome.counts.read, 0);
    place.least_free = 0;
    assert_eq!(place.counts(&path), [1, 1, 0, 0]);
}

#[test]
fn o4_3_a_source_of_many_batches_keeps_its_order() {
    let place = Place::new();
    let mut text = String::from("lines\n");
    for at in 0..10_000 {
        writeln!(text, "set {} {at}", at % 700).unwrap();
    }
    let path = place.file("a", &text);
    let outcome = place.import(&path);
    assert_eq!((outcome.counts.read, outcome.counts.new, outcome.counts.changed), (10_000, 700, 9300));
    let records = place.records();
    assert_eq!(records.len(), 700);
    for record in records {
        let fields: serde_json::Value = serde_json::from_str(&record).unwrap();
        let of = |name: &str| fields[name].as_str().unwrap().parse::<u64>().unwrap();
        assert!(of("text") >= 9300 && of("text") % 700 == of("id"), "{record}");
    }
}

#[test]
fn o4_14_an_archive_at_another_place_is_known_again() {
    let place = Place::new();
    let mut zip = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, text) in [("../../up", "lines\nset a 1\n"), ("b/c", "lines\nset b 2\n")] {
        zip.start_file(name, stored).unwrap();
        io::Write::write_all(&mut zip, text.as_bytes()).unwrap();
    }
    let bytes = zip.finish().unwrap().into_inner();
    let path = place.root.path().join("a.zip");
    fs::write(&path, &bytes).unwrap();
    assert_eq!(place.counts(&path), [2, 2, 0, 0]);
    let moved = place.root.path().join("moved.zip");
    fs::rename(&path, &moved).unwrap();
    assert_eq!(place.counts(&moved), [2, 0, 0, 2]);
    let sources = |db: &rusqlite::Connection, _: &_| {
        db.query_row("SELECT group_concat(path) FROM source", [], |row| row.get(0))
    };
    let sources = place.store().read::<String, rusqlite::Error>(sources).unwrap();
    assert!(sources.ends_with("moved.zip") && !sources.contains(','), "{sources}");
}

#[test]
fn o3_7_former_states_are_kept_for_90_days() {
    let mut place = Place::new();
    let path = place.file("a", "lines\nset a 1\n");
    place.import(&path);
    let state = |place: &Place| {
        let state = |db: &rusqlite::Connection, _: &_| {
            let count = db.query_row("SELECT count(*) FROM history", [], |row| row.get(0))?;
            Ok((count, crate::vault::store::history_from(db)?))
        };
        place.store().read::<(i64, i64), rusqlite::Error>(state).unwrap()
    };
    place.file("a", "lines\nset a 2\n");
    place.terms.now_ms = 2;
    place.import(&path);
    assert_eq!(state(&place), (1, 0));
    place.terms.now_ms = 90 * 24 * 60 * 60 * 1000;
    place.import(&path);
    assert_eq!(state(&place), (1, 0));
    place.terms.now_ms += 1000;
    place.import(&path);
    assert_eq!(state(&place), (0, 2));
}

/// What would be imported from `paths` by any format, given the store.
fn surveyed(place: &Place, store: Option<&Store>, paths: &[&Path]) -> Survey {
    let named = |path: &&Path| Named {
        path: path.to_path_buf(),
        formats: super::formats::ALL.to_vec(),
        is_as: false,
        account: None,
        received: None,
        before: None,
    };
    let request = Request {
        paths: paths.iter().map(named).collect(),
        zone: Some(TimeZone::UTC),
        own_zone: None,
        date_order: None,
        since_ms: None,
        copies_attachments: false,
    };
    let mut knowing = own::import::Knowing { store, answer: &mut |_, _| None };
    Survey::of(&request, &place.own(), &mut knowing).unwrap()
}

/// Imports `paths`, and returns how many chats and messages there are then.
fn chats_after(place: &Place, paths: &[&Path]) -> (usize, usize) {
    let store = place.store();
    let survey = surveyed(place, Some(&store), paths);
    let stop = AtomicBool::new(false);
    let import = Import { store: &store, dir: &place.own(), terms: place.terms, stop: &stop, least_free: 0 };
    for job in &survey.jobs {
        let ended = pipeline::run(&import, job, &mut Seen::default());
        assert!(ended.stopped.is_none() && ended.outcome.counts.add_up());
    }
    let records = place.records();
    let chats = records.iter().filter(|record| record.contains("\"participants\"")).count();
    (chats, records.iter().filter(|record| record.contains("\"sent_at\"")).count())
}

/// Messages of a chat, as WhatsApp exports them.
fn chat(from: u32, to: u32) -> String {
    let line = |at: u32| format!("{}/12/2026, 14:{:02} - Ana: message {at}\n", 13 + at / 60, at % 60);
    (from..to).map(line).collect()
}

#[test]
fn a_chat_that_is_exported_again_is_known_by_the_store_and_within_one_import() {
    let place = Place::new();
    let early = place.file("early/WhatsApp Chat with Ana.txt", &chat(0, 100));
    let late = place.file("late/WhatsApp Chat with Ana Green.txt", &chat(50, 150));
    assert_eq!(chats_after(&place, &[&early]), (1, 100));
    assert_eq!(chats_after(&place, &[&late]), (1, 150));
    let later = place.file("later/WhatsApp Chat with A.txt", &chat(120, 200));
    let last = place.file("last/WhatsApp Chat with Green.txt", &chat(160, 260));
    assert_eq!(chats_after(&place, &[&later, &last]), (1, 260));
    let other = place.file("other/WhatsApp Chat with Ben.txt", &chat(0, 100).replace("message", "note"));
    assert_eq!(chats_after(&place, &[&other]), (2, 360));
}

#[test]
fn what_was_sent_in_a_chat_is_not_taken_for_the_persons_own() {
    let place = Place::new();
    let folder = place.root.path().join("export");
    let sent = "31/12/2026, 10:00 - Ana: Ben.vcf (file attached)\n31/12/2026, 10:00 - Ana: list.csv (file attached)\n";
    place.file("export/_chat.txt", &(chat(0, 5) + sent));
    let card = "BEGIN:VCARD\nVERSION:3.0\nFN:Ben\nEND:VCARD\n";
    place.file("export/Ben.vcf", card);
    place.file("export/list.csv", "day,km\n2026-01-31,5\n2026-02-01,6\n");
    let formats = |survey: &Survey| survey.jobs.iter().map(|job| job.format.name()).collect::<Vec<_>>();
    let survey = surveyed(&place, None, &[&folder]);
    assert_eq!((formats(&survey), survey.unrecognised.len()), (vec!["whatsapp"], 0));
    place.file("export/Cleo.vcf", card);
    assert_eq!(formats(&surveyed(&place, None, &[&folder])), ["whatsapp", "vcard"]);
}

#[test]
fn o4_14_a_database_that_is_locked_and_written_is_read_with_its_log() {
    let place = Place { format: &Browser, ..Place::new() };
    let path = place.root.path().join("History");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;
         CREATE TABLE urls (id INTEGER PRIMARY KEY, url TEXT, title TEXT, typed_count INTEGER, last_visit_time INTEGER);
         CREATE TABLE visits (id INTEGER PRIMARY KEY, url INTEGER, visit_time INTEGER, transition INTEGER);
         PRAGMA wal_checkpoint(TRUNCATE);
         INSERT INTO urls VALUES (1, 'https://example.org/', 'Example', 0, 0);
         INSERT INTO visits VALUES (1, 1, 13414357805123456, 1), (2, 1, 13414357806123456, 0);",
    )
    .unwrap();
    let names = || {
        let mut all: Vec<_> =
            fs::read_dir(place.root.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
        all.retain(|name| name != "own");
        all.sort();
        all
    };
    let before = (fs::read(&path).unwrap(), names());
    db.execute_batch("BEGIN IMMEDIATE; INSERT INTO visits VALUES (3, 1, 13414357807123456, 0)").unwrap();
    // Uncommitted changes do not count; nothing is written next to the browser's file.
    assert_eq!(place.counts(&path), [2, 2, 0, 0]);
    assert_eq!((fs::read(&path).unwrap(), names()), before);
    assert!(place.records()[0].contains(r#""host":"example.org""#), "{:?}", place.records());
    assert!(!place.own().join("copies").exists());
    // Untouched; then only the log grows, while the file is unchanged.
    assert_eq!(place.counts(&path), [2, 0, 0, 2]);
    db.execute_batch("COMMIT; DELETE FROM visits WHERE id = 1").unwrap();
    assert_eq!(fs::read(&path).unwrap(), before.0);
    assert_eq!(place.counts(&path), [2, 1, 0, 1]);
    // What the browser deleted stays.
    assert_eq!(place.records().len(), 3);
}

#[test]
fn a_database_of_something_else_is_not_read_to_its_end_and_says_so() {
    let place = Place { format: &Browser, ..Place::new() };
    let path = place.root.path().join("History");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE visits (id INTEGER)").unwrap();
    let outcome = place.import(&path);
    assert_eq!(outcome.unread[0].reason, "it has no tables of browser history");
    assert!(!place.own().join("copies").exists());
}

/// Mails that were delivered to `owner`.
fn delivered(owner: &str, mails: u32) -> String {
    let mail = |at| {
        format!(
            "From eva@example.org Tue Jan  2 03:04:05 2024\nFrom: eva@example.org\nDelivered-To: {owner}\n\
             Subject: {at} to {owner}\nDate: Tue, 2 Jan 2024 03:04:0{at} +0000\n\nHello.\n\n"
        )
    };
    (0..mails).map(mail).collect()
}

/// Imports what was found; returns account, read, new, same and gone of each.
fn all_of(place: &Place, store: &Store, survey: &Survey) -> Vec<(String, u64, u64, u64, u64)> {
    let (stop, dir) = (AtomicBool::new(false), place.own());
    let import = Import { store, dir: &dir, terms: place.terms, stop: &stop, least_free: 0 };
    let mut all = Vec::new();
    for job in &survey.jobs {
        let outcome = pipeline::run(&import, job, &mut Seen::default()).outcome;
        let counts = &outcome.counts;
        all.push((outcome.account.clone(), counts.read, counts.new, counts.same, outcome.gone));
    }
    all
}

/// What is found in everything that was imported, without a name.
fn refreshed(place: &Place, store: &Store) -> Survey {
    let request = Request {
        paths: own::import::refresh(store, true).unwrap().named,
        zone: Some(TimeZone::UTC),
        own_zone: None,
        date_order: None,
        since_ms: None,
        copies_attachments: false,
    };
    let mut knowing = own::import::Knowing { store: Some(store), answer: &mut |_, _| None };
    Survey::of(&request, &place.own(), &mut knowing).unwrap()
}

#[test]
fn o4_13_two_owners_in_one_folder_are_two_accounts_and_stay_so() {
    let place = Place::new();
    let store = place.store();
    let (ana, bob) = ("ana@example.org", "bob@example.org");
    let of = |name: &str, read, new, same| (name.to_owned(), read, new, same, 0);
    let folder = place.file("box/ana.mbox", &delivered(ana, 3)).parent().unwrap().to_owned();
    place.file("box/bob.mbox", &delivered(bob, 4));
    place.file("box/Sent", &delivered("x@example.org", 2).replace("Delivered-To", "To"));
    let survey = || surveyed(&place, Some(&store), &[&folder]);
    assert_eq!(all_of(&place, &store, &survey()), [of(ana, 3, 3, 0), of(bob, 6, 6, 0)]);
    for again in [survey(), refreshed(&place, &store)] {
        assert_eq!(all_of(&place, &store, &again), [of(ana, 3, 0, 3), of(bob, 6, 0, 6)]);
    }
    // She owns most of it by now: a file without an owner stays where it was read.
    place.file("box/ana.mbox", &delivered(ana, 9));
    assert_eq!(all_of(&place, &store, &refreshed(&place, &store)), [of(ana, 9, 6, 3), of(bob, 6, 0, 6)]);
    place.file("box/ana2.mbox", &delivered(ana, 5));
    assert_eq!(all_of(&place, &store, &survey()), [of(ana, 14, 0, 14), of(bob, 6, 0, 6)]);
}

#[test]
fn o4_13_what_was_imported_as_one_account_stays_one_and_says_how_to_divide_it() {
    let place = Place::new();
    let store = place.store();
    let (ana, bob) = ("ana@example.org", "bob@example.org");
    let path = place.file("box/ana.mbox", &delivered(ana, 3));
    place.file("box/bob.mbox", &delivered(bob, 2));
    let folder = path.parent().unwrap().to_owned();
    // As an earlier version assigned them.
    let mut survey = surveyed(&place, Some(&store), &[&folder]);
    let other = survey.jobs.pop().unwrap();
    survey.jobs[0].units.extend(other.units);
    survey.jobs[0].plan.units = vec![0, 1];
    assert_eq!(all_of(&place, &store, &survey), [(ana.to_owned(), 5, 5, 0, 0)]);
    for again in [surveyed(&place, Some(&store), &[&folder]), refreshed(&place, &store)] {
        let plan = &again.jobs[0].plan;
        let notes: Vec<&String> = plan.whose.note.iter().chain(&plan.notes).collect();
        let said = format!("The files of {bob} stay in the account {ana}");
        assert!(
            notes.iter().any(|note| note.contains(&said) && note.contains("provider forget")),
            "{notes:?}"
        );
        assert_eq!(plan.whose.owner.as_deref(), Some(ana));
        assert_eq!(all_of(&place, &store, &again), [(ana.to_owned(), 5, 0, 5, 0)]);
    }
    // Anything new that certainly belongs to another person does not join it.
    place.file("box/bob2.mbox", &delivered(bob, 4));
    let found = all_of(&place, &store, &surveyed(&place, Some(&store), &[&folder]));
    assert_eq!(found, [(ana.to_owned(), 5, 0, 5, 0), (bob.to_owned(), 4, 4, 0, 0)]);
    let found = all_of(&place, &store, &surveyed(&place, Some(&store), &[&folder]));
    assert_eq!(found, [(ana.to_owned(), 5, 0, 5, 0), (bob.to_owned(), 4, 0, 4, 0)]);
}
