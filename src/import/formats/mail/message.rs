//! The records of a message.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memmem};
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use super::facts::Facts;
use super::folder::{self, Marks};
use super::header::{Header, Person, TooLarge};
use super::mime::{self, Part};
use super::{charset, html, security, separator};
use crate::hex;
use crate::import::attachment_text::{self, Budget, Found, Kind};
use crate::import::digest;
use crate::import::format::{Bad, Blob, Draft, Encoding, Parsed, Raw};
use crate::vault::time::format_ms;
use crate::vault::transfer;

/// The longest text, in bytes (O3.8).
const LONGEST_TEXT: usize = 16 * 1024 * 1024;

/// How much of the text is shown in a list of messages, in characters.
const SNIPPET: usize = 200;

/// The note about a message whose time is not the sender's.
const UNDATED: &str = "without a date: the time is that of arrival, or that of the file";

/// A record of `messages`, or of `security_messages`, which includes the text.
#[allow(clippy::struct_field_names, reason = "the names are the stream's")]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Message {
    id: String,
    thread_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_email: Option<String>,
    to: Vec<Person>,
    cc: Vec<Person>,
    bcc: Vec<Person>,
    reply_to: Vec<Person>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recipients: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    received_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_reply_to: Option<String>,
    references: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    list_id: Option<String>,
    size_bytes: u64,
    labels: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_draft: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_flagged: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_seen: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_answered: Option<bool>,
    has_attachments: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_text: Option<String>,
}

/// A record of `message_bodies`.
#[derive(Debug, Serialize, Deserialize)]
struct MessageBody<'a> {
    id: Cow<'a, str>,
    message_id: Cow<'a, str>,
    message_received_at: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    body_text: Option<Cow<'a, str>>,
    body_source: Cow<'a, str>,
    body_text_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    charset: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    subject: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    from_name: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    from_email: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    hidden_bytes: Option<u64>,
}

/// A record of `attachments`.
#[derive(Debug, Serialize, Deserialize)]
struct Attachment {
    id: String,
    message_id: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    filename: Option<String>,
    content_type: String,
    size_bytes: u64,
    content_sha256: String,
    hydration_status: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    blob_ref: Option<BlobRef>,
    message_received_at: String,
    is_inline: bool,
    part_index: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    content_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    from_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    from_email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    text_status: Option<Cow<'static, str>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct BlobRef {
    blob_id: String,
    mime_type: String,
    size_bytes: u64,
    sha256: String,
    fetch_url: String,
}

/// A record of `message_labels`.
#[derive(Debug, Serialize, Deserialize)]
struct MessageLabel<'a> {
    id: Cow<'a, str>,
    message_id: Cow<'a, str>,
    label: Cow<'a, str>,
    message_received_at: String,
}

#[derive(Serialize)]
struct LabelRecord<'a> {
    name: &'a str,
    is_system: bool,
}

/// What may differ between copies of a message: how it arrived, where it is, and what was done with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Sighting {
    /// When it arrived: how reliable the time is, where 0 is the sender's own date, and the time in milliseconds since 1970.
    at: (u8, i64),
    #[serde(skip_serializing_if = "is_zero")]
    size: u64,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    labels: BTreeSet<String>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    folders: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    draft: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flagged: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    list: Option<String>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    bcc: BTreeSet<Person>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    reply_to: BTreeSet<Person>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Sighting {
    /// Merges two sightings. Neither order nor repetition matters.
    fn and(mut self, other: Self) -> Self {
        let either = |one: Option<bool>, other: Option<bool>| one.max(other);
        self.at = self.at.min(other.at);
        // Programs only add to a message, so the smallest size is the original one.
        self.size = self.size.min(other.size);
        self.labels.extend(other.labels);
        self.folders.extend(other.folders);
        // A sent message is not a draft, even if a draft of it still exists.
        self.draft = match (self.draft, other.draft) {
            (Some(one), Some(other)) => Some(one && other),
            (one, other) => one.or(other),
        };
        self.flagged = either(self.flagged, other.flagged);
        self.seen = either(self.seen, other.seen);
        self.answered = either(self.answered, other.answered);
        self.list = match (self.list, other.list) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self.bcc.extend(other.bcc);
        self.reply_to.extend(other.reply_to);
        self
    }

    fn of_all(sightings: &[&str]) -> Option<Self> {
        sightings.iter().filter_map(|text| serde_json::from_str::<Self>(text).ok()).reduce(Self::and)
    }

    fn received_at(&self) -> String {
        format_ms(self.at.1)
    }

    fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Message {
    fn apply(&mut self, sighting: Sighting) {
        self.received_at = sighting.received_at();
        self.size_bytes = sighting.size;
        self.folder = folder::first(&sighting.folders).cloned();
        self.labels = sighting.labels;
        self.is_draft = sighting.draft;
        self.is_flagged = sighting.flagged;
        self.is_seen = sighting.seen;
        self.is_answered = sighting.answered;
        self.list_id = sighting.list;
        self.bcc = sighting.bcc.into_iter().collect();
        self.reply_to = sighting.reply_to.into_iter().collect();
        self.recipients = recipients([&self.to, &self.cc, &self.bcc]);
    }
}

fn recipients(lists: [&Vec<Person>; 3]) -> Option<String> {
    let people = lists.into_iter().flatten();
    let words: Vec<&str> =
        people.flat_map(|person| [&person.name, &person.email]).filter_map(|word| word.as_deref()).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// [`crate::import::format::Format::join`] for mail.
pub fn join(stream: &str, data: &str, sightings: &[&str]) -> String {
    let Some(all) = Sighting::of_all(sightings) else { return data.to_owned() };
    let joined = match stream {
        "messages" | "security_messages" => serde_json::from_str::<Message>(data).and_then(|mut record| {
            record.apply(all);
            serde_json::to_string(&record)
        }),
        "message_bodies" => serde_json::from_str::<MessageBody<'_>>(data).map(|mut record| {
            record.message_received_at = all.received_at();
            to_long_json(&record, data.len())
        }),
        "message_labels" => serde_json::from_str::<MessageLabel<'_>>(data).and_then(|mut record| {
            record.message_received_at = all.received_at();
            serde_json::to_string(&record)
        }),
        "attachments" => serde_json::from_str::<Attachment>(data).map(|mut record| {
            record.message_received_at = all.received_at();
            to_long_json(&record, text_of(&record))
        }),
        _ => return data.to_owned(),
    };
    joined.unwrap_or_else(|_| data.to_owned())
}

/// [`crate::import::format::Format::add_sighting`] for mail.
pub fn add_sighting(first: &str, second: &str) -> String {
    Sighting::of_all(&[first, second]).map_or_else(|| second.to_owned(), |both| both.to_json())
}

/// Where the message begins and ends within an item.
struct Frame<'a> {
    mail: Range<usize>,
    /// The line before it in an mbox file.
    separator: &'a [u8],
    /// The text after it in an `.emlx` file.
    tail: &'a [u8],
}

fn frame<'a>(bytes: &'a [u8], facts: &Facts) -> Frame<'a> {
    let line_end =
        |from: usize| memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |length| from + length + 1);
    if facts.is_emlx {
        let begin = line_end(0);
        let count: usize = str::from_utf8(&bytes[..begin])
            .ok()
            .and_then(|line| line.trim().parse().ok())
            .unwrap_or(usize::MAX);
        let end = begin.saturating_add(count).min(bytes.len());
        return Frame { mail: begin..end, separator: b"", tail: &bytes[end..] };
    }
    let mut begin = bytes.len() - separator::skip_empty(bytes).len();
    let mut line: &[u8] = b"";
    if bytes[begin..].starts_with(b"From ") {
        let end = line_end(begin);
        line = bytes[begin..end].trim_ascii_end();
        begin = end;
    }
    let mut end = bytes.len();
    // The empty line before the next separator does not belong to the message.
    if facts.is_mbox && (bytes.ends_with(b"\n\n") || bytes.ends_with(b"\n\r\n")) {
        end -= if bytes.ends_with(b"\r\n") { 2 } else { 1 };
    }
    Frame { mail: begin..end.max(begin), separator: line, tail: b"" }
}

/// The records of an item.
pub fn parse(is_gmail: bool, raw: &Raw) -> Result<Parsed, Bad> {
    let facts = Facts::of(raw);
    if facts.is_too_large {
        return Err(Bad("larger than 80 MiB"));
    }
    let frame = frame(&raw.bytes, &facts);
    let mail = &raw.bytes[..frame.mail.end];
    let header = Header::parse(mail, frame.mail.start, |_| false)
        .map_err(|TooLarge| Bad("header larger than 1 MiB"))?;
    if !header.is_mail() {
        return Err(Bad("no mail header"));
    }
    if header.has("x-imap")
        && header.text("subject").is_some_and(|subject| subject.contains("FOLDER INTERNAL DATA"))
    {
        return Ok(Parsed::Skipped("an internal message of a mail server"));
    }
    let marks = marks(&header, &facts, &frame);
    if marks.is_deleted {
        return Ok(Parsed::Skipped("deleted, but still in the file"));
    }
    let parts = mime::parts(mail, &header, facts.is_mbox)?;
    let body = Body::of(mail, &parts);
    let own_hash = || id(&header, &mail[header.body.min(mail.len())..]);
    let gmail_id = || {
        let named = header.text("x-gm-msgid").filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        separator::gmail_number(frame.separator).map(str::to_owned).or(named)
    };
    let id = if is_gmail { gmail_id().unwrap_or_else(own_hash) } else { own_hash() };

    let sighting = sighting(&header, &frame, &facts, marks, mail);
    let mut message = message(id, is_gmail, &header, &body);
    message.apply(sighting.clone());
    let attachments = attachments(mail, &parts, &message, &facts);
    message.has_attachments = attachments.iter().any(|(record, _)| !record.is_inline);
    // Labels are separate records. A label that was cut off would never be deleted again, so labels need a complete header.
    let head = &mail[..header.body.min(mail.len())];
    let is_whole = head.ends_with(b"\n\n") || head.ends_with(b"\n\r\n");
    Ok(Parsed::Records(drafts(message, body, attachments, &sighting, is_whole)))
}

fn to_json(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

/// Serialises a record that contains a text of this many bytes.
fn to_long_json(record: &impl Serialize, text: usize) -> String {
    // Reserves the space at once, because growing would copy the text repeatedly.
    let mut json = Vec::with_capacity(text + text / 16 + 1024);
    serde_json::to_writer(&mut json, record)
        .ok()
        .and_then(|()| String::from_utf8(json).ok())
        .unwrap_or_default()
}

fn drafts(
    mut message: Message,
    body: Body,
    attachments: Vec<(Attachment, Option<Blob>)>,
    sighting: &Sighting,
    has_whole_header: bool,
) -> Vec<Draft> {
    let seen = sighting.to_json();
    let id = message.id.clone();
    // The sender's time is the same in each copy, so it needs no sighting.
    let time = (sighting.at.0 > 0).then(|| Sighting { at: sighting.at, ..Sighting::default() }.to_json());
    let is_html = body.source == "text_html";
    let gone =
        |stream: &'static str, key: String| Draft { data: None, ..Draft::new(stream, key, String::new()) };
    let said = security::Said {
        subject: message.subject.as_deref().unwrap_or_default(),
        text: &body.text,
        is_html,
        keys: &body.keys,
    };
    if security::is_key(&said) {
        message.body_text = (!body.text.is_empty()).then_some(body.text);
        let mut drafts = vec![
            Draft { sighting: Some(seen), ..Draft::new("security_messages", id.clone(), to_json(&message)) },
            // An older version of the rule may not have treated it as a key.
            gone("messages", id.clone()),
            gone("message_bodies", id),
        ];
        drafts.extend(attachments.into_iter().map(|(record, _)| gone("attachments", record.id)));
        drafts
            .extend(message.labels.iter().map(|label| gone("message_labels", label_key(&message.id, label))));
        return drafts;
    }
    let told = (sighting.at.0 > 0).then_some(UNDATED);
    let mut drafts = Vec::with_capacity(2 + attachments.len() + message.labels.len());
    let label = |name: &String| {
        let record = LabelRecord { name, is_system: folder::is_system(name) };
        Draft::new("labels", name.clone(), to_json(&record))
    };
    drafts.extend(message.labels.iter().filter(|_| has_whole_header).map(label));
    let of_message = |label: &String| {
        let key = label_key(&id, label);
        let record = MessageLabel {
            id: Cow::Borrowed(&key),
            message_id: Cow::Borrowed(&id),
            label: Cow::Borrowed(label),
            message_received_at: message.received_at.clone(),
        };
        let data = to_json(&record);
        Draft { sighting: time.clone(), ..Draft::new("message_labels", key, data) }
    };
    let labels_of_message: Vec<Draft> =
        message.labels.iter().filter(|_| has_whole_header).map(of_message).collect();
    let record = MessageBody {
        id: Cow::Borrowed(&id),
        message_id: Cow::Borrowed(&id),
        message_received_at: message.received_at.clone(),
        body_source: Cow::Borrowed(body.source),
        body_text_bytes: body.text.len() as u64,
        body_text: (!body.text.is_empty()).then_some(Cow::Borrowed(&body.text)),
        charset: body.charset.as_deref().map(Cow::Borrowed),
        subject: message.subject.as_deref().map(Cow::Borrowed),
        from_name: message.from_name.as_deref().map(Cow::Borrowed),
        from_email: message.from_email.as_deref().map(Cow::Borrowed),
        hidden_bytes: (body.hidden > 0).then_some(body.hidden as u64),
    };
    drafts.push(Draft {
        sighting: Some(seen),
        told,
        ..Draft::new("messages", id.clone(), to_long_json(&message, 0))
    });
    drafts.push(Draft {
        sighting: time.clone(),
        ..Draft::new("message_bodies", id.clone(), to_long_json(&record, body.text.len()))
    });
    drafts.extend(attachments.into_iter().map(|(record, blob)| Draft {
        sighting: time.clone(),
        blobs: blob.into_iter().collect(),
        ..Draft::new("attachments", record.id.clone(), to_long_json(&record, text_of(&record)))
    }));
    drafts.extend(labels_of_message);
    // An older version of the rule may have treated it as a key.
    drafts.push(gone("security_messages", id));
    drafts
}

/// The length of an attachment's text.
fn text_of(record: &Attachment) -> usize {
    record.text.as_ref().map_or(0, String::len)
}

fn label_key(message: &str, label: &str) -> String {
    format!("{message}:{label}")
}

fn marks(header: &Header<'_>, facts: &Facts, frame: &Frame<'_>) -> Marks {
    let mut marks = Marks::default();
    marks.folders.extend(facts.folder.clone());
    if facts.is_mbox {
        if let Some(bits) = header.text("x-mozilla-status") {
            marks.mozilla(&bits);
        } else if header.has("status") || header.has("x-status") {
            let (status, more) = (header.text("status"), header.text("x-status"));
            marks.status(status.as_deref().unwrap_or_default(), more.as_deref().unwrap_or_default());
        }
        for name in ["x-mozilla-keys", "x-keywords"] {
            marks.keywords(header.text(name).as_deref().unwrap_or_default());
        }
    }
    if let Some(labels) = header.text("x-gmail-labels") {
        marks.gmail_labels(&labels);
    }
    if let Some(flags) = &facts.flags {
        marks.maildir_flags(flags);
    }
    if let Some(bits) = apple_flags(frame.tail) {
        marks.apple(bits);
    }
    marks
}

/// The number in the property list after an Apple Mail message.
fn apple_flags(tail: &[u8]) -> Option<u64> {
    let behind = &tail[memmem::find(tail, b"<key>flags</key>")?..];
    let begin = memmem::find(&behind[..behind.len().min(128)], b"<integer>")? + 9;
    let digits: String =
        behind[begin..].iter().map_while(|byte| byte.is_ascii_digit().then_some(char::from(*byte))).collect();
    digits.parse().ok()
}

fn sighting(header: &Header<'_>, frame: &Frame<'_>, facts: &Facts, marks: Marks, mail: &[u8]) -> Sighting {
    let times = [
        header.date("date"),
        header.date("received"),
        separator::parse_date(frame.separator),
        facts.modified_ms,
        Some(0),
    ];
    let at = times.iter().zip(0_u8..).find_map(|(at, rank)| Some((rank, (*at)?))).unwrap_or_default();
    Sighting {
        at,
        size: size(&mail[frame.mail.start..], facts.is_mbox),
        labels: marks.labels,
        folders: marks.folders,
        draft: marks.is_draft,
        flagged: marks.is_flagged,
        seen: marks.is_seen,
        answered: marks.is_answered,
        list: header.text("list-id").map(|text| list_id(&text)),
        bcc: header.people("bcc").into_iter().collect(),
        reply_to: header.people("reply-to").into_iter().collect(),
    }
}

/// The id of a mailing list, without its description.
fn list_id(text: &str) -> String {
    let inside = text.rsplit_once('<').and_then(|(_, id)| id.split_once('>')).map(|(id, _)| id.trim());
    inside.filter(|id| !id.is_empty()).unwrap_or(text).to_owned()
}

/// The size of a message with two-byte line ends, as servers count it, in any kind of file.
fn size(mail: &[u8], is_mbox: bool) -> u64 {
    let lines = memchr_iter(b'\n', mail).count();
    let whole = if memchr(b'\r', mail).is_some() { memmem::find_iter(mail, b"\r\n").count() } else { 0 };
    let quotes = if is_mbox { transfer::quotes(mail).count() } else { 0 };
    (mail.len() + lines - whole - quotes) as u64
}

/// The id of a message that has no Gmail id: the same in each kind of file.
fn id(header: &Header<'_>, body: &[u8]) -> String {
    let plain = |name: &str| {
        let value = header.raw(name).unwrap_or_default();
        let words: Vec<&[u8]> =
            value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        words.join(&b' ')
    };
    let fields = ["message-id", "date", "from", "subject"].map(plain);
    let hash = body_hash(body);
    digest::name(fields.iter().map(Vec::as_slice).chain([hash.as_ref()]))
}

/// The hash of a body without quoting of `From `, CR and trailing whitespace.
fn body_hash(body: &[u8]) -> ring::digest::Digest {
    let mut context = Context::new(&SHA256);
    // The last line of the body may be `>From ` with the rest missing.
    let (whole, body) = (body, body.trim_ascii_end());
    let mut add = |bytes: &[u8]| {
        if memchr(b'\r', bytes).is_none() {
            return context.update(bytes);
        }
        let mut kept = Vec::with_capacity(32 * 1024);
        for piece in bytes.split(|byte| *byte == b'\r') {
            kept.extend_from_slice(piece);
            if kept.len() > 16 * 1024 {
                context.update(&kept);
                kept.clear();
            }
        }
        context.update(&kept);
    };
    let mut done = 0;
    for (line, marks) in transfer::quotes(whole).take_while(|(line, marks)| line + marks <= body.len()) {
        add(&body[done..line]);
        done = line + marks;
    }
    add(&body[done..]);
    context.finish()
}

fn message(id: String, is_gmail: bool, header: &Header<'_>, body: &Body) -> Message {
    let own = header.ids("message-id").into_iter().next();
    let in_reply_to = header.ids("in-reply-to");
    let references = header.ids("references");
    let sender = header.people("from").into_iter().chain(header.people("sender")).next().unwrap_or_default();
    let email = sender.email.map(|email| email.to_lowercase());
    let thread = |header: &Header<'_>| header.text("x-gm-thrid").filter(|_| is_gmail);
    Message {
        thread_id: thread(header).unwrap_or_else(|| {
            let is_id = |id: &&String| id.contains('@') || id.starts_with('<');
            let first = references.iter().find(is_id).or(in_reply_to.iter().find(is_id)).or(own.as_ref());
            digest::name([first.unwrap_or(&id).as_bytes()])
        }),
        subject: header.text("subject"),
        // Lists of messages show the sender's name; an address is better than no name.
        from_name: sender.name.or_else(|| email.clone()),
        from_email: email,
        to: header.people("to"),
        cc: header.people("cc"),
        date: header.date("date").map(format_ms),
        message_id: own,
        in_reply_to: in_reply_to.into_iter().next(),
        references,
        snippet: body.snippet(),
        id,
        ..Message::default()
    }
}

/// The text of a message.
#[derive(Debug, Default)]
struct Body {
    text: String,
    source: &'static str,
    charset: Option<String>,
    /// How many bytes of it are hidden.
    hidden: usize,
    /// The positions of links that open something.
    keys: Vec<usize>,
}

impl Body {
    fn of(mail: &[u8], parts: &[Part]) -> Self {
        let mut body = Self { source: "none", ..Self::default() };
        let mut done = BTreeSet::new();
        for part in parts.iter().filter(|part| is_text(part)) {
            let Some(alternative) = part.alternative else {
                body.add(mail, part);
                continue;
            };
            if !done.insert(alternative) {
                continue;
            }
            let group: Vec<&Part> = parts
                .iter()
                .filter(|other| other.alternative == Some(alternative) && is_text(other))
                .collect();
            let before = body.text.len();
            let (plain, rich): (Vec<&Part>, Vec<&Part>) = group.into_iter().partition(|part| !is_html(part));
            for part in plain {
                body.add(mail, part);
            }
            if body.text[before..].trim().is_empty() {
                for part in rich {
                    body.add(mail, part);
                }
            }
        }
        body.text.truncate(body.text.trim_end().len());
        body
    }

    fn add(&mut self, mail: &[u8], part: &Part) {
        let room = LONGEST_TEXT.saturating_sub(self.text.len());
        let written = &mail[part.bytes.clone()];
        let written = &written[..written.len().min(4 * LONGEST_TEXT)];
        let bytes = transfer::decode_whole(written, part.encoding);
        let is_html = is_html(part);
        let named = || is_html.then(|| charset::named_in_html(&bytes)).flatten();
        let declared = part.charset.clone().or_else(named);
        let (text, charset) = charset::decode(&bytes, declared.as_deref());
        let (text, keys) = if is_html {
            let html::Text { seen, hidden, keys } = html::to_text(&text, room);
            self.hidden += hidden;
            (Cow::Owned(seen), keys)
        } else {
            (clean(text, room), Vec::new())
        };
        if text.trim().is_empty() {
            return;
        }
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.keys.extend(keys.into_iter().map(|at| self.text.len() + at));
        self.text.push_str(&text);
        self.charset.get_or_insert(charset);
        self.source = if is_html || self.source == "text_html" { "text_html" } else { "text_plain" };
    }

    fn snippet(&self) -> Option<String> {
        let mut snippet = String::new();
        let mut count = 0;
        for word in self.text.split_whitespace() {
            let blank = usize::from(!snippet.is_empty());
            let length = word.chars().take(SNIPPET).count();
            if count + blank + length > SNIPPET && !snippet.is_empty() {
                break;
            }
            if blank == 1 {
                snippet.push(' ');
            }
            snippet.extend(word.chars().take(SNIPPET));
            count += blank + length;
        }
        (!snippet.is_empty()).then_some(snippet)
    }
}

/// Normalises line ends to LF, replaces NULs, and limits the length to `room`.
fn clean(text: Cow<'_, str>, room: usize) -> Cow<'_, str> {
    let mut text = text;
    if text.len() > room {
        text = Cow::Owned(text[..text.floor_char_boundary(room)].to_owned());
    }
    if memchr(b'\r', text.as_bytes()).is_some() {
        text = Cow::Owned(text.replace("\r\n", "\n"));
    }
    if memchr(0, text.as_bytes()).is_some() {
        text = Cow::Owned(text.replace('\0', "\u{fffd}"));
    }
    text
}

fn is_html(part: &Part) -> bool {
    part.media_type == "text/html"
}

/// Whether a part is text that the reader sees, and not a file.
fn is_text(part: &Part) -> bool {
    matches!(part.media_type.as_str(), "text/plain" | "text/html")
        && part.is_attachment != Some(true)
        && (part.filename.is_none() || part.is_first)
}

/// Whether a part is another form of the text that is left out, such as HTML for other programs.
fn is_other_text(part: &Part) -> bool {
    part.alternative.is_some()
        && part.filename.is_none()
        && part.is_attachment != Some(true)
        && part.media_type.starts_with("text/")
        && part.media_type != "text/calendar"
}

fn attachments(
    mail: &[u8],
    parts: &[Part],
    message: &Message,
    facts: &Facts,
) -> Vec<(Attachment, Option<Blob>)> {
    let kept = parts.iter().filter(|part| !is_text(part) && !is_other_text(part));
    let mut budget = Budget::default();
    kept.map(|part| attachment(mail, part, message, facts, &mut budget)).collect()
}

/// Collects the bytes of an attachment as they arrive, if they contain text.
struct Gathered<'a> {
    part: &'a Part,
    may_be: bool,
    kind: Option<Kind>,
    bytes: Vec<u8>,
}

impl Gathered<'_> {
    fn new(part: &Part) -> Gathered<'_> {
        Gathered {
            part,
            may_be: attachment_text::may_be(&part.media_type).is_some(),
            kind: None,
            bytes: Vec::new(),
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        if !self.may_be || self.bytes.len() > attachment_text::LARGEST {
            return;
        }
        self.bytes.extend_from_slice(bytes);
        if self.kind.is_none() && self.bytes.len() >= attachment_text::HEAD {
            self.decide();
        }
    }

    /// Decides early: most attachments without a specific type are pictures and archives, and those are not collected.
    fn decide(&mut self) {
        let Part { media_type, filename, .. } = self.part;
        self.kind = attachment_text::is(media_type, filename.as_deref(), &self.bytes);
        self.may_be = self.kind.is_some();
    }

    fn read(mut self, budget: &mut Budget) -> Found {
        if self.may_be && self.kind.is_none() {
            self.decide();
        }
        let charset = self.part.charset.as_deref();
        self.kind.map_or(Found::none("unsupported"), |kind| {
            attachment_text::read(kind, charset, &self.bytes, budget)
        })
    }
}

fn attachment(
    mail: &[u8],
    part: &Part,
    message: &Message,
    facts: &Facts,
    budget: &mut Budget,
) -> (Attachment, Option<Blob>) {
    let written = &mail[part.bytes.clone()];
    let mut context = Context::new(&SHA256);
    let mut size = 0;
    let mut gathered = Gathered::new(part);
    transfer::decode(written, part.encoding, &mut |bytes| {
        size += bytes.len() as u64;
        context.update(bytes);
        gathered.add(bytes);
    });
    let hash = hex::of(context.finish().as_ref());
    let blob = Blob {
        id: format!("sha256:{hash}"),
        media_type: part.media_type.clone(),
        size,
        offset: part.bytes.start,
        length: part.bytes.len(),
        encoding: part.encoding,
    };
    // Apple Mail keeps the attachments of a partly downloaded message elsewhere, or not at all.
    let is_here = size > 0 || !facts.is_emlx;
    let reference = BlobRef {
        blob_id: blob.id.clone(),
        mime_type: part.media_type.clone(),
        size_bytes: size,
        sha256: hash.clone(),
        fetch_url: format!("/v1/blobs/{}", blob.id),
    };
    let found = is_here.then(|| gathered.read(budget));
    let record = Attachment {
        id: format!("{}:{}", message.id, part.path),
        message_id: message.id.clone(),
        filename: part.filename.clone().or_else(|| name_of_mail(mail, part)),
        content_type: part.media_type.clone(),
        size_bytes: size,
        content_sha256: hash,
        hydration_status: if is_here { "hydrated" } else { "deferred" }.to_owned(),
        blob_ref: is_here.then_some(reference),
        message_received_at: message.received_at.clone(),
        is_inline: part.is_attachment.map_or(part.content_id.is_some(), |is_attachment| !is_attachment),
        part_index: part.path.clone(),
        content_id: part.content_id.clone(),
        subject: message.subject.clone(),
        from_name: message.from_name.clone(),
        from_email: message.from_email.clone(),
        text_status: found.as_ref().map(|found| Cow::Borrowed(found.status)),
        text: found.and_then(|found| found.text),
    };
    (record, is_here.then_some(blob))
}

/// The name of a message that is attached to another one: its subject.
fn name_of_mail(mail: &[u8], part: &Part) -> Option<String> {
    if part.media_type != "message/rfc822" || matches!(part.encoding, Encoding::Base64) {
        return None;
    }
    let header = Header::parse(&mail[..part.bytes.end], part.bytes.start, |_| false).ok()?;
    Some(format!("{}.eml", header.text("subject")?))
}
