//! Two mailboxes of one connector: the same stream names, and one message that is in both.

use std::fmt::Write as _;

use super::prose::{END, PEOPLE, Person, TOPICS, long_text, moment, prose};
use super::records::{Blob, Object, Records, instant, list};
use super::rng::Rng;
use crate::vault::declaration::StreamSpec;

/// The id of the message that is in both mailboxes.
pub const SHARED_ID: &str = "m-shared-0001";

/// What a mailbox declares.
pub const STREAMS: &[StreamSpec] = &[
    StreamSpec {
        name: "messages",
        key: "id",
        time: Some("received_at"),
        fields: "id string! eq
            thread_id string! eq
            subject text? role=primary-title eq lex
            from_name person? role=actor eq lex group distinct
            from_email string? eq lex
            to array
            cc array
            bcc array
            reply_to array
            date timestamp? role=event-time eq range time min max
            received_at timestamp! role=event-time eq range time min max
            message_id string? eq
            in_reply_to string? eq
            references array
            size_bytes integer? eq range sum min max
            labels array
            is_draft boolean eq group
            is_flagged boolean eq group
            is_seen boolean eq group
            is_answered boolean eq group
            has_attachments boolean eq group
            snippet text? role=secondary eq lex",
        views: &[
            (
                "envelope",
                "Envelope only (no snippet)",
                "id thread_id subject from_name from_email to cc date received_at labels",
            ),
            (
                "preview",
                "Who, what and the first lines",
                "id thread_id subject from_name received_at snippet",
            ),
        ],
        relations: &[
            ("message_bodies", "message_bodies", "message_id", false),
            ("attachments", "attachments", "message_id", true),
        ],
    },
    StreamSpec {
        name: "message_bodies",
        key: "id",
        time: Some("message_received_at"),
        fields: "id string! eq
            message_id string! eq
            message_received_at timestamp! role=event-time eq range time min max
            body_text text? role=body lex
            body_html text?
            body_text_bytes integer? eq range sum min max
            body_html_bytes integer? eq range sum min max
            body_source string eq group
            content_languages array
            charset string? eq group",
        views: &[],
        relations: &[],
    },
    StreamSpec {
        name: "attachments",
        key: "id",
        time: Some("message_received_at"),
        fields: "id string! eq
            message_id string! eq
            filename string? role=primary-title eq lex
            content_type string? eq group
            size_bytes integer? eq range sum min max
            content_id string?
            is_inline boolean eq group
            encoding string?
            part_index string?
            message_received_at timestamp! role=event-time eq range time min max
            blob_ref blob?
            content_sha256 string? eq
            hydration_status string eq group
            hydration_error string?",
        views: &[],
        relations: &[],
    },
    StreamSpec {
        name: "threads",
        key: "id",
        time: Some("last_message_date"),
        fields: "id string! eq
            subject text? role=primary-title eq lex
            participant_emails array
            message_count integer eq range sum min max
            unread_count integer eq range sum min max
            flagged_count integer eq range sum
            has_attachments boolean eq group
            labels array
            first_message_date timestamp eq range
            last_message_date timestamp! role=event-time eq range time min max",
        views: &[],
        relations: &[("messages", "messages", "thread_id", true)],
    },
    StreamSpec {
        name: "labels",
        key: "id",
        time: None,
        fields: "id string! eq
            name string! role=primary-title eq lex
            kind string eq group
            message_count integer? eq range sum",
        views: &[],
        relations: &[],
    },
    StreamSpec {
        name: "contacts",
        key: "id",
        time: None,
        fields: "id string! eq
            name person? role=primary-title eq lex
            email string! eq lex
            phone string? eq
            note text? role=secondary lex",
        views: &[],
        relations: &[],
    },
];

/// The private mailbox.
pub fn personal(rng: &mut Rng, records: &mut Records<'_>) {
    Mailbox { prefix: "mp", owner: "maren@example.com", messages: 2400 }.fill(rng, records);
}

/// The work mailbox.
pub fn work(rng: &mut Rng, records: &mut Records<'_>) {
    Mailbox { prefix: "mw", owner: "maren.solberg@kestrelmaps.example", messages: 1300 }.fill(rng, records);
}

struct Mailbox {
    prefix: &'static str,
    owner: &'static str,
    messages: usize,
}

impl Mailbox {
    fn fill(&self, rng: &mut Rng, records: &mut Records<'_>) {
        self.labels(records);
        Self::contacts(rng, records);
        let mut attachments = 0;
        for index in 0..self.messages {
            let thread = index / 3;
            let at = moment(rng, index, self.messages);
            let from = rng.pick(&PEOPLE);
            let attached = index.is_multiple_of(17);
            self.message(rng, records, index, thread, at, from, attached);
            if attached {
                attachments += 1;
                self.attachment(rng, records, index, at, attachments <= 30);
            }
            if index % 3 == 2 {
                self.thread(rng, records, thread, at);
            }
        }
        self.shared(records);
        self.afterwards(records);
    }

    fn message_id(&self, index: usize) -> String {
        format!("{}-m{index:05}", self.prefix)
    }

    #[allow(clippy::too_many_arguments, reason = "the facts of one message")]
    fn message(
        &self,
        rng: &mut Rng,
        records: &mut Records<'_>,
        index: usize,
        thread: usize,
        at: i64,
        from: Person,
        attached: bool,
    ) {
        let id = self.message_id(index);
        let topic = TOPICS[(thread * 7 + self.prefix.len()) % TOPICS.len()];
        let subject = match index % 3 {
            0 => topic.to_owned(),
            1 => format!("Re: {topic}"),
            _ => format!("Re: {topic} ({})", rng.below(90)),
        };
        let long = index == 211 || index == 640;
        let body = if long {
            long_text(rng, &format!("NEEDLE-{}-{index}", self.prefix))
        } else {
            let sentences = 3 + rng.below(5);
            prose(rng, usize::try_from(sentences).unwrap_or(3))
        };
        let snippet: String = body.chars().take(140).collect();
        let cc = rng.chance(20).then(|| rng.pick(&PEOPLE));
        let mut labels = vec!["INBOX"];
        if index.is_multiple_of(8) {
            labels.push("STARRED");
        }
        if topic.starts_with("Kestrel") || topic.contains("Tile") {
            labels.push("Projects/Kestrel");
        }
        records.put(
            "messages",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("thread_id", &format!("{}-t{thread:04}", self.prefix))
                .maybe("subject", (index % 211 != 5).then_some(subject.as_str()))
                .text("from_name", from.name)
                .text("from_email", from.email)
                .raw("to", addresses(&[Person { name: "Maren Solberg", email: self.owner }]))
                .raw("cc", cc.map_or_else(|| "[]".to_owned(), |person| addresses(&[person])))
                .at("date", at - 2)
                .at("received_at", at)
                .text("message_id", &format!("<{id}@mail.example>"))
                .raw("size_bytes", body.len() + 812)
                .raw("labels", list(&labels))
                .raw("is_draft", index.is_multiple_of(97))
                .raw("is_flagged", index.is_multiple_of(8))
                .raw("is_seen", !index.is_multiple_of(7))
                .raw("is_answered", index.is_multiple_of(3))
                .raw("has_attachments", attached)
                .text("snippet", &snippet),
        );
        records.put(
            "message_bodies",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("message_id", &id)
                .at("message_received_at", at)
                .text("body_text", &body)
                .raw("body_html", "null")
                .raw("body_text_bytes", body.len())
                .raw("body_html_bytes", "null")
                .text("body_source", "text_plain")
                .raw("content_languages", "[\"en\"]")
                .text("charset", "utf-8"),
        );
    }

    fn attachment(&self, rng: &mut Rng, records: &mut Records<'_>, index: usize, at: i64, hydrated: bool) {
        let message = self.message_id(index);
        let id = format!("{message}-a1");
        let mut csv = String::from("item,amount\n");
        for row in 0..20 + rng.below(20) {
            let _ = writeln!(csv, "{},{}.{:02}", rng.pick(&TOPICS), rng.below(900), (row * 10) % 100);
        }
        let bytes = csv.into_bytes();
        let hash = crate::hex::sha256(&bytes);
        let blob_id = format!("blob_sha256_{hash}");
        let reference = Object::new()
            .text("blob_id", &blob_id)
            .text("mime_type", "text/csv")
            .raw("size_bytes", bytes.len())
            .text("sha256", &hash)
            .text("fetch_url", &format!("/v1/blobs/{blob_id}"))
            .finish();
        records.put(
            "attachments",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("message_id", &message)
                .text("filename", &format!("statement-{index}.csv"))
                .text("content_type", "text/csv")
                .raw("size_bytes", bytes.len())
                .raw("content_id", "null")
                .raw("is_inline", "false")
                .text("encoding", "base64")
                .text("part_index", "2")
                .at("message_received_at", at)
                .raw("blob_ref", if hydrated { reference.as_str() } else { "null" })
                .maybe("content_sha256", hydrated.then_some(hash.as_str()))
                .text("hydration_status", if hydrated { "hydrated" } else { "deferred" })
                .raw("hydration_error", "null"),
        );
        if hydrated {
            (records.blob)(Blob { id: blob_id, media_type: "text/csv", bytes });
        }
    }

    fn thread(&self, rng: &mut Rng, records: &mut Records<'_>, thread: usize, last: i64) {
        let id = format!("{}-t{thread:04}", self.prefix);
        let people = [rng.pick(&PEOPLE).email, self.owner];
        records.put(
            "threads",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("subject", TOPICS[(thread * 7 + self.prefix.len()) % TOPICS.len()])
                .raw("participant_emails", list(&people))
                .raw("message_count", 3)
                .raw("unread_count", rng.below(2))
                .raw("flagged_count", rng.below(2))
                .raw("has_attachments", rng.chance(10))
                .raw("labels", "[\"INBOX\"]")
                .at("first_message_date", last - 86_400)
                .at("last_message_date", last),
        );
    }

    fn labels(&self, records: &mut Records<'_>) {
        for (name, kind) in [
            ("INBOX", "system"),
            ("STARRED", "system"),
            ("SENT", "system"),
            ("Projects/Kestrel", "user"),
            ("Home/100% sure", "user"),
            ("Résumés & 履歴書", "user"),
        ] {
            records.put(
                "labels",
                name,
                Object::new().text("id", name).text("name", name).text("kind", kind).raw(
                    "message_count",
                    if kind == "user" { "null".to_owned() } else { self.messages.to_string() },
                ),
            );
        }
    }

    fn contacts(rng: &mut Rng, records: &mut Records<'_>) {
        for (index, person) in PEOPLE.iter().enumerate() {
            let id = format!("people/c{index}");
            let note = prose(rng, 1);
            records.put(
                "contacts",
                id.clone(),
                Object::new()
                    .text("id", &id)
                    .text("name", person.name)
                    .text("email", person.email)
                    .maybe("phone", (index % 2 == 0).then_some("+47 400 00 000"))
                    .maybe("note", (index % 3 == 0).then_some(note.as_str())),
            );
        }
    }

    /// One message that both mailboxes received: the same id in two connections.
    fn shared(&self, records: &mut Records<'_>) {
        let at = END - 86_400;
        records.put(
            "messages",
            SHARED_ID,
            Object::new()
                .text("id", SHARED_ID)
                .text("thread_id", "t-shared-0001")
                .text("subject", &format!("Dinner after the release, sent to {}", self.owner))
                .text("from_name", PEOPLE[2].name)
                .text("from_email", PEOPLE[2].email)
                .raw("to", addresses(&[Person { name: "Maren Solberg", email: self.owner }]))
                .raw("cc", "[]")
                .at("received_at", at)
                .raw("labels", "[\"INBOX\"]")
                .raw("is_seen", "true")
                .text("snippet", "場所は駅の近くです。The place by the station, seven o'clock."),
        );
    }

    /// What was collected later: attachments are renamed and removed.
    fn afterwards(&self, records: &mut Records<'_>) {
        records.skip_to_the_end();
        for index in [34, 51, 68, 85, 102, 119] {
            records.delete("attachments", format!("{}-a1", self.message_id(index)));
        }
        let message = self.message_id(17 * 40);
        let id = format!("{message}-a1");
        records.put(
            "attachments",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("message_id", &message)
                .text("filename", "renamed.csv")
                .text("content_type", "text/csv")
                .raw("size_bytes", 12)
                .raw("is_inline", "false")
                .text("message_received_at", &instant(END - 3_600))
                .raw("blob_ref", "null")
                .text("hydration_status", "deferred"),
        );
    }
}

fn addresses(people: &[Person]) -> String {
    let each: Vec<String> = people
        .iter()
        .map(|person| Object::new().text("name", person.name).text("email", person.email).finish())
        .collect();
    format!("[{}]", each.join(","))
}
