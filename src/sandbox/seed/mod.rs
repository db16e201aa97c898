//! A fictional life: everything in it is made up, and the same seed makes the same one.
//!
//! It belongs to Maren Solberg of Trondheim, who works for a map company, trains for a marathon and
//! buys a flat. One file a connector: what it declares, and what it holds.

pub mod bank;
pub mod calendar;
pub mod chat;
pub mod coding;
pub mod mail;
pub mod music;

use std::fmt::Write as _;

use crate::vault::declaration::{BadField, Connector, StreamSpec};
use crate::vault::json::{list, quote_into};
use crate::vault::store::{Connection, Ingest};

/// When this life begins: 2024-01-01T00:00:00Z, in seconds since 1970.
pub const BEGIN: i64 = 1_704_067_200;
/// When it ends, in seconds since 1970: 2026-11-01T00:00:00Z.
pub const END: i64 = 1_793_491_200;

/// One account of the life.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    /// The connection's id.
    pub connection_id: &'static str,
    /// The connector's key.
    pub connector: &'static str,
    /// What its owner calls it.
    pub display_name: &'static str,
    /// Writes its records.
    pub fill: fn(&mut Rng, &mut Records<'_>),
}

/// The accounts, in the order they are shown.
pub const ACCOUNTS: [Account; 7] = [
    Account {
        connection_id: "cin_mail_personal",
        connector: "mail",
        display_name: "Personal mail",
        fill: mail::personal,
    },
    Account {
        connection_id: "cin_mail_work",
        connector: "mail",
        display_name: "Work mail",
        fill: mail::work,
    },
    Account {
        connection_id: "cin_chat_kestrel",
        connector: "chat",
        display_name: "Kestrel Maps chat",
        fill: chat::fill,
    },
    Account {
        connection_id: "cin_calendar_main",
        connector: "calendar",
        display_name: "Calendar",
        fill: calendar::fill,
    },
    Account { connection_id: "cin_music_main", connector: "music", display_name: "Music", fill: music::fill },
    Account {
        connection_id: "cin_coding_laptop",
        connector: "coding",
        display_name: "Coding assistant (laptop)",
        fill: coding::fill,
    },
    Account {
        connection_id: "cin_bank_fjord",
        connector: "bank",
        display_name: "Fjord Bank",
        fill: bank::fill,
    },
];

/// The URI that names the connector `key` in a grant.
pub fn source_uri(key: &str) -> String {
    format!("https://sandbox.pdpp.example/connectors/{key}")
}

/// What the six connectors declare.
///
/// # Errors
/// A field line that does not read; a test holds that there is none.
pub fn connectors() -> Result<Vec<Connector>, BadField> {
    [
        ("mail", "Mail", mail::STREAMS),
        ("chat", "Chat", chat::STREAMS),
        ("calendar", "Calendar", calendar::STREAMS),
        ("music", "Music", music::STREAMS),
        ("coding", "Coding assistant", coding::STREAMS),
        ("bank", "Bank", bank::STREAMS),
    ]
    .into_iter()
    .map(|(key, name, streams): (&str, &str, &[StreamSpec])| {
        Ok(Connector {
            key: key.to_owned(),
            id: source_uri(key),
            name: name.to_owned(),
            streams: streams
                .iter()
                .map(|spec| spec.parse().map(std::sync::Arc::new))
                .collect::<Result<_, _>>()?,
        })
    })
    .collect()
}

/// Fills a new store with the life of `seed`.
///
/// # Errors
/// Whatever the store says; a declaration that does not read.
pub fn fill(ingest: &mut Ingest<'_>, seed: u64) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    for connector in connectors()? {
        ingest.connector(&connector)?;
    }
    for account in ACCOUNTS {
        ingest.connection(&Connection {
            id: account.connection_id.to_owned(),
            connector: account.connector.to_owned(),
            display_name: account.display_name.to_owned(),
        })?;
        // The life's writer cannot fail; the first failure here is kept and given afterwards.
        let (mut failed, mut blobs) = (None, Vec::new());
        {
            let mut event = |event: Event| {
                if failed.is_none() {
                    let at = event.emitted_ms;
                    failed = ingest.put(event.stream, &event.key, at, event.data.as_deref()).err();
                }
            };
            let mut blob = |blob: Blob| blobs.push(blob);
            let mut rng = Rng::new(seed, account.connection_id);
            (account.fill)(&mut rng, &mut Records::new(&mut event, &mut blob));
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
        for blob in blobs {
            ingest.blob(&blob.id, blob.media_type, &blob.bytes)?;
        }
    }
    Ok(())
}

/// One thing that happens to a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The stream.
    pub stream: &'static str,
    /// The key, as one string: a JSON array where it is compound.
    pub key: String,
    /// When it was collected, in milliseconds since 1970.
    pub emitted_ms: i64,
    /// The record as JSON text; `None` deletes it.
    pub data: Option<String>,
}

/// A blob that a record's `blob_ref` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// `blob_sha256_…`.
    pub id: String,
    /// Its media type.
    pub media_type: &'static str,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Where the records of an account go.
pub struct Records<'a> {
    /// Takes an event.
    pub event: &'a mut dyn FnMut(Event),
    /// Takes a blob.
    pub blob: &'a mut dyn FnMut(Blob),
    clock: i64,
}

impl<'a> Records<'a> {
    /// Sends events and blobs on.
    pub fn new(event: &'a mut dyn FnMut(Event), blob: &'a mut dyn FnMut(Blob)) -> Self {
        Self { event, blob, clock: BEGIN * 1000 }
    }

    /// A record, collected a second after the one before.
    pub fn put(&mut self, stream: &'static str, key: impl Into<String>, data: Object) {
        self.clock += 1000;
        (self.event)(Event { stream, key: key.into(), emitted_ms: self.clock, data: Some(data.finish()) });
    }

    /// A deletion.
    pub fn delete(&mut self, stream: &'static str, key: impl Into<String>) {
        self.clock += 1000;
        (self.event)(Event { stream, key: key.into(), emitted_ms: self.clock, data: None });
    }

    /// What is collected next is collected at the end of the life.
    pub fn skip_to_the_end(&mut self) {
        self.clock = END * 1000;
    }
}

/// `SplitMix64`: small, fast, and the same everywhere.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// The sequence of `seed` for the account called `name`.
    pub fn new(seed: u64, name: &str) -> Self {
        let mut state = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        for byte in name.bytes() {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
        Self(state)
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The modulo's bias is far below anything that this data is used for.
        self.draw().checked_rem(bound).unwrap_or(0)
    }

    /// One of `items`; the default for none.
    pub fn pick<T: Copy + Default>(&mut self, items: &[T]) -> T {
        let at = usize::try_from(self.below(items.len() as u64)).unwrap_or(0);
        items.get(at).copied().unwrap_or_default()
    }

    /// True `percent` times in a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Writes a JSON object in the order of its fields, numbers digit for digit.
#[derive(Debug)]
pub struct Object(String);

impl Object {
    /// An empty one.
    pub fn new() -> Self {
        Self(String::with_capacity(256))
    }

    /// A field whose value is JSON already: a number, `null`, a list.
    #[must_use]
    pub fn raw(mut self, name: &str, json: impl std::fmt::Display) -> Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        let _ = write!(self.0, "\"{name}\":{json}");
        self
    }

    /// A string.
    #[must_use]
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        let _ = write!(self.0, "\"{name}\":");
        quote_into(&mut self.0, value);
        self
    }

    /// A string, or null.
    #[must_use]
    pub fn maybe(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self.raw(name, "null"),
        }
    }

    /// An instant, given in seconds since 1970.
    #[must_use]
    pub fn at(self, name: &str, seconds: i64) -> Self {
        let text = instant(seconds);
        self.text(name, &text)
    }

    /// The JSON text.
    pub fn finish(mut self) -> String {
        if self.0.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        self.0
    }
}

impl Default for Object {
    fn default() -> Self {
        Self::new()
    }
}

/// `seconds` since 1970 as RFC 3339.
pub fn instant(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map(|at| at.to_string()).unwrap_or_default()
}

/// The date of `seconds` since 1970, in UTC.
pub fn date(seconds: i64) -> String {
    instant(seconds).chars().take(10).collect()
}

/// A compound key: a JSON list, as one string.
pub fn compound(parts: &[&str]) -> String {
    list(parts)
}

/// A person of this life.
#[derive(Debug, Clone, Copy, Default)]
pub struct Person {
    /// Their name.
    pub name: &'static str,
    /// Their address.
    pub email: &'static str,
}

/// The people of this life; none of them exists.
pub const PEOPLE: [Person; 16] = [
    Person { name: "Ingrid Aas", email: "ingrid.aas@example.com" },
    Person { name: "Tomás Herrera", email: "tomas@example.org" },
    Person { name: "田中 美咲", email: "misaki.tanaka@example.jp" },
    Person { name: "Олена Коваль", email: "olena.koval@example.net" },
    Person { name: "ليلى حداد", email: "layla.haddad@example.com" },
    Person { name: "Björn Lindqvist", email: "bjorn@example.se" },
    Person { name: "Priya Raman", email: "priya.raman@example.in" },
    Person { name: "Kwame Mensah", email: "kwame@example.org" },
    Person { name: "Sofie Grüber", email: "sofie.grueber@example.de" },
    Person { name: "Daniel O'Connor", email: "daniel.oconnor@example.ie" },
    Person { name: "Nguyễn Thị Mai", email: "mai.nguyen@example.vn" },
    Person { name: "Jonas Dahl", email: "jonas.dahl@example.com" },
    Person { name: "Aurélie Petit", email: "aurelie@example.fr" },
    Person { name: "Marek Wójcik", email: "marek.wojcik@example.pl" },
    Person { name: "Hanne Berg", email: "hanne.berg@example.com" },
    Person { name: "김지훈", email: "jihoon.kim@example.kr" },
];

/// What this life is about; a subject's first half.
pub const TOPICS: [&str; 28] = [
    "Marathon training plan",
    "Flat viewing on Saturday",
    "Mortgage offer",
    "Tile server latency",
    "Kestrel release 4.2",
    "Lisbon trip",
    "Dentist appointment",
    "Tax return",
    "Bicycle repair",
    "Team offsite",
    "Insurance renewal",
    "Cabin weekend",
    "Choir rehearsal",
    "Garden delivery",
    "Contour line bug",
    "Customer interview notes",
    "Electricity bill",
    "Parental leave cover",
    "Library books due",
    "Ski pass",
    "Birthday dinner",
    "Hiring: cartographer",
    "Quarterly budget",
    "Passport renewal",
    "Moving boxes",
    "Data retention review",
    "Incident 2231 postmortem",
    "Kitchen renovation",
];

const OPENERS: [&str; 28] = [
    "Quick note about",
    "I looked again at",
    "Can we talk about",
    "Attached is the latest on",
    "Nothing new on",
    "Please confirm",
    "Thanks for sorting out",
    "We are late with",
    "Here is what I know about",
    "Good news regarding",
    "I have a question on",
    "Reminder for",
    "The numbers changed for",
    "Let us postpone",
    "Somebody has to look at",
    "I would drop",
    "Hanne asked about",
    "I finally finished",
    "My notes on",
    "We agreed to move",
    "There is a mistake in",
    "I am happy with",
    "Could you check",
    "I still owe you",
    "Everybody waits for",
    "It is time for",
    "I lost track of",
    "Do not forget",
];

const SUBJECTS: [&str; 72] = [
    "the mortgage offer",
    "the contour renderer",
    "the train tickets to Oslo",
    "the long run on Sunday",
    "the invoice from the plumber",
    "the tile cache",
    "the cabin keys",
    "the kitchen drawings",
    "the insurance claim",
    "the quarterly budget",
    "the release checklist",
    "the dentist bill",
    "the hiring panel",
    "the flat in Møllenberg",
    "the choir schedule",
    "the passport form",
    "the altitude data set",
    "the cabin heating",
    "the retention policy",
    "the birthday present",
    "the bicycle brakes",
    "the garden fence",
    "the parking permit",
    "the library card",
    "the ski wax",
    "the tax assessment",
    "the electricity meter",
    "the moving company",
    "the old sofa",
    "the coffee machine",
    "the projection library",
    "the glacier outlines",
    "the shoreline tolerance",
    "the label collisions",
    "the font licence",
    "the vector tiles",
    "the load balancer",
    "the nightly backup",
    "the error budget",
    "the on-call rota",
    "the pager noise",
    "the memory leak",
    "the search index",
    "the login page",
    "the customer from Bodø",
    "the hydrographic survey",
    "the hiking trail layer",
    "the avalanche warnings",
    "the printing proofs",
    "the exhibition poster",
    "the alto part",
    "the concert in Nidarosdomen",
    "the rehearsal room",
    "the sheet music",
    "the soup recipe",
    "the sourdough",
    "the blueberry patch",
    "the school meeting",
    "the nursery place",
    "the swimming course",
    "the vaccination card",
    "the eye test",
    "the physiotherapist",
    "the knee brace",
    "the marathon bib",
    "the interval session",
    "the heart rate strap",
    "the ferry timetable",
    "the sleeping bags",
    "the car inspection",
    "the winter tyres",
    "the bank signature",
];

const CLOSERS: [&str; 28] = [
    "before Friday if that works.",
    "and I would rather decide soon.",
    "because the price went up again.",
    "so nobody has to wait for me.",
    "after the meeting with the bank.",
    "once the tests are green.",
    "unless it rains all weekend.",
    "with the receipt from March.",
    "although the map still looks wrong.",
    "and the deposit is due on the first.",
    "when you are back from Bergen.",
    "as the surveyor suggested.",
    "then we can close it.",
    "without changing the plan.",
    "while I still remember it.",
    "for the third time.",
    "at the kitchen table.",
    "on the way to work.",
    "if Jonas agrees.",
    "since the last storm.",
    "in a single afternoon.",
    "with two signatures.",
    "by the end of the quarter.",
    "instead of guessing.",
    "from the shared folder.",
    "until the snow melts.",
    "like last year.",
    "and that was all.",
];

/// A sentence.
pub fn sentence_into(out: &mut String, rng: &mut Rng) {
    let _ = write!(out, "{} {} {}", rng.pick(&OPENERS), rng.pick(&SUBJECTS), rng.pick(&CLOSERS));
}

/// `count` sentences, a paragraph every fifth.
pub fn prose(rng: &mut Rng, count: usize) -> String {
    let mut out = String::with_capacity(count * 90);
    for at in 0..count {
        if at > 0 {
            out.push_str(if at % 5 == 0 { "\n\n" } else { " " });
        }
        sentence_into(&mut out, rng);
    }
    out
}

/// A text of more than 200 KB, with `needle` once near its end and once near its middle.
pub fn long_text(rng: &mut Rng, needle: &str) -> String {
    let mut out = String::with_capacity(240_000);
    let mut line = 0_u32;
    let (mut middle, mut end) = (false, false);
    while out.len() < 225_000 {
        line += 1;
        let _ = write!(out, "{line:05} ");
        sentence_into(&mut out, rng);
        if !middle && out.len() > 110_000 {
            let _ = write!(out, "\n{needle} is mentioned here for the first time.");
            middle = true;
        }
        if !end && out.len() > 210_000 {
            let _ = write!(out, "\n{needle} is mentioned here for the last time.");
            end = true;
        }
        out.push('\n');
    }
    out
}

/// The `index`th of `count` instants spread over the life, a little unevenly.
pub fn moment(rng: &mut Rng, index: usize, count: usize) -> i64 {
    let span = END - BEGIN;
    let step = span / i64::try_from(count.max(1)).unwrap_or(1);
    let jitter = i64::try_from(rng.below(u64::try_from(step).unwrap_or(1).max(1))).unwrap_or(0);
    BEGIN + step * i64::try_from(index).unwrap_or(0) + jitter
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything(seed: u64) -> (Vec<(&'static str, Event)>, Vec<Blob>) {
        let (mut events, mut blobs) = (Vec::new(), Vec::new());
        for account in ACCOUNTS {
            let mut rng = Rng::new(seed, account.connection_id);
            let mut push = |event| events.push((account.connection_id, event));
            let mut keep = |blob| blobs.push(blob);
            (account.fill)(&mut rng, &mut Records::new(&mut push, &mut keep));
        }
        (events, blobs)
    }

    #[test]
    fn the_life_has_everything_that_it_should_show() {
        let connectors = connectors().unwrap();
        let (events, blobs) = everything(1);
        assert!(connectors.len() >= 6 && ACCOUNTS.len() >= 7);
        assert!(connectors.iter().map(|connector| connector.streams.len()).sum::<usize>() >= 25);
        let records = events
            .iter()
            .map(|(at, event)| (*at, event.stream, event.key.as_str()))
            .collect::<std::collections::BTreeSet<_>>();
        assert!(records.len() >= 20_000, "{}", records.len());
        assert!(blobs.len() >= 20);
        let data = || events.iter().filter_map(|(_, event)| event.data.as_deref());
        assert!(data().filter(|json| json.len() > 200_000).count() >= 4);
        for wanted in [":1.10,", "9007199254740993", ":null", "田中", "NEEDLE-"] {
            assert!(data().any(|json| json.contains(wanted)), "{wanted}");
        }
        for wanted in [':', '/', '%', '['] {
            assert!(events.iter().any(|(_, event)| event.key.contains(wanted)), "{wanted}");
        }
        assert!(events.iter().filter(|(_, event)| event.data.is_none()).count() >= 10);
        let shared =
            |account| move |(at, event): &(&str, Event)| *at == account && event.key == mail::SHARED_ID;
        assert!(events.iter().any(shared("cin_mail_personal")) && events.iter().any(shared("cin_mail_work")));
    }

    #[test]
    fn every_record_keeps_to_what_its_stream_declares() {
        let connectors = connectors().unwrap();
        for (connection, event) in everything(7).0 {
            let account = ACCOUNTS.iter().find(|account| account.connection_id == connection).unwrap();
            let connector = connectors.iter().find(|at| at.key == account.connector).unwrap();
            let stream = connector.stream(event.stream).unwrap();
            let Some(json) = event.data else { continue };
            let data: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&json).unwrap();
            for name in data.keys() {
                assert!(stream.field(name).is_some(), "{}.{name}", stream.name);
            }
            for field in &stream.fields {
                let value = data.get(&field.name).unwrap_or(&serde_json::Value::Null);
                assert!(!(field.required && value.is_null()), "{}.{}", stream.name, field.name);
                let fits = value.is_null()
                    || match field.kind.json_type() {
                        "string" => value.is_string(),
                        "integer" => value.as_number().is_some_and(|n| !n.as_str().contains(['.', 'e'])),
                        "number" => value.is_number(),
                        "boolean" => value.is_boolean(),
                        "array" => value.is_array(),
                        _ => value.is_object(),
                    };
                assert!(fits, "{}.{} is {value}", stream.name, field.name);
            }
            let parts: Vec<_> = stream.primary_key.iter().map(|name| data[name].as_str().unwrap()).collect();
            let key = if let [one] = parts[..] { one.to_owned() } else { compound(&parts) };
            assert_eq!(key, event.key);
        }
    }

    #[test]
    fn declarations_refer_to_what_is_declared() {
        for connector in connectors().unwrap() {
            for stream in &connector.streams {
                let has = |name: &String| assert!(stream.field(name).is_some(), "{}.{name}", stream.name);
                stream.primary_key.iter().for_each(has);
                stream.cursor_field.iter().for_each(has);
                stream.views.iter().flat_map(|view| &view.fields).for_each(has);
                for relation in &stream.relations {
                    let target = connector.stream(&relation.stream).unwrap();
                    assert!(target.field(&relation.foreign_key).is_some_and(|field| field.exact));
                }
                // The cursor field orders every page: it has to be part of every grant.
                assert!(stream.cursor_field.iter().all(|name| stream.field(name).unwrap().required));
            }
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_life() {
        assert_eq!(everything(3).0, everything(3).0);
        assert_ne!(everything(3).0, everything(4).0);
    }
}
