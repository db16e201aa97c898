//! Telegram Desktop's JSON export: `result.json` of a whole account (`chats.list`) or of one chat (`messages`).
//!
//! The file may be larger than memory, so it is read message by message. A chat's people and its first and last time are known
//! only after its messages have been read, so the chat becomes an item after them.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::io::{self, BufReader};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::import::agent_session::name;
use crate::import::chat_export::{beginning, beginning_of};
use crate::import::declare::{Declared, Registry, StreamLine, connector};
use crate::import::digest;
use crate::import::earlier::{Earlier, Nothing};
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit, Whose,
};
use crate::import::json_elements::LONGEST;
use crate::import::json_tree::{Go, Walk};
use crate::import::json_value;
use crate::import::sent_file::{self, ATTACHMENTS, SentFile};
use crate::vault::time;

/// Telegram Desktop's JSON export.
pub struct Telegram;

const KEY: &str = "telegram";
const CHATS: &str = "chats";
const MESSAGES: &str = "messages";
/// The kind of an item, before the facts that belong to it.
const CHAT: &str = "chat";
const MESSAGE: &str = "message";
const TOO_LONG: &str = "too long";
/// The most people that are listed for a chat.
const MOST_PEOPLE: usize = 2_000;
/// The most chats whose ids are found before they are read.
const MOST_CHATS: usize = 200_000;
/// The longest member of an object that is read for a plan, in bytes.
const LONGEST_SMALL: usize = 1 << 20;
/// The folders next to `result.json` that hold sent files.
const FOLDERS: [&str; 14] = [
    "chats",
    "files",
    "photos",
    "video_files",
    "voice_messages",
    "round_video_messages",
    "stickers",
    "contacts",
    "profile_pictures",
    "stories",
    "lists",
    "css",
    "js",
    "images",
];
/// Telegram's names for the kinds of chats.
const KINDS: [&str; 12] = [
    "personal_chat",
    "bot_chat",
    "saved_messages",
    "replies",
    "verification_codes",
    "private_group",
    "private_supergroup",
    "public_supergroup",
    "private_channel",
    "public_channel",
    "monoforum",
    "private_supergroup_forum",
];

const STREAMS: [StreamLine; 3] = [
    StreamLine {
        name: CHATS,
        key: "id",
        time: "last_message_date/first_message_date",
        fields: "id:k! title:h type:g participants:a* first_message_date:t last_message_date:T*",
        relations: "messages messages chat_id many, attachments attachments chat_id many",
    },
    StreamLine {
        name: MESSAGES,
        key: "id",
        time: "sent_at",
        fields: "id:k! chat_id:k! author:n author_id:k content:b sent_at:T! edited_at:t* reply_to:k forwarded_from:s media_type:g \
            has_attachment:f is_system:f",
        relations: "attachments attachments message_id many, replies messages reply_to many",
    },
    sent_file::STREAM,
];
const DECLARED: &[Declared] = &[Declared { registry: Registry::Local, key: KEY, streams: &STREAMS }];

#[derive(Serialize)]
struct ChatRecord<'a> {
    id: &'a str,
    title: Option<&'a str>,
    r#type: Option<&'a str>,
    participants: Vec<&'a str>,
    first_message_date: Option<String>,
    last_message_date: Option<String>,
}

#[derive(Serialize)]
struct Message<'a> {
    id: &'a str,
    chat_id: &'a str,
    author: Option<&'a str>,
    author_id: Option<&'a str>,
    content: Option<&'a str>,
    sent_at: &'a str,
    edited_at: Option<String>,
    reply_to: Option<String>,
    forwarded_from: Option<&'a str>,
    media_type: Option<&'a str>,
    has_attachment: bool,
    is_system: bool,
}

/// What one export says about a chat.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct AboutChat {
    /// The time of the export's last message. The latest export's title counts.
    as_of: Option<i64>,
    id: String,
    title: Option<String>,
    kind: Option<String>,
    people: BTreeSet<String>,
    first: Option<i64>,
    last: Option<i64>,
}

/// What one export says about a message. The version that was edited last counts, then the one from the latest export.
#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Said<'a> {
    edited_at: Option<i64>,
    as_of: Option<i64>,
    #[serde(borrow)]
    data: Cow<'a, str>,
}

/// The facts that accompany a message.
#[derive(Serialize, Deserialize)]
struct Facts<'a> {
    #[serde(borrow)]
    chat: Cow<'a, str>,
    sent_at: Option<i64>,
    as_of: Option<i64>,
}

/// The members of a message that are read while a file is split.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Glance {
    date: Option<String>,
    date_unixtime: Option<Value>,
    from: Option<String>,
    actor: Option<String>,
}

/// What a plan knows about its files, by label.
struct State {
    files: HashMap<String, File>,
}

/// What a plan knows about a file.
struct File {
    /// The time of its last message.
    as_of: Option<i64>,
    /// The ids of its chats, in the order of the file. The parts of an id may come after the messages.
    ids: Vec<String>,
}

impl Format for Telegram {
    fn name(&self) -> &'static str {
        KEY
    }

    fn title(&self) -> &'static str {
        "a Telegram export"
    }

    fn declares(&self) -> &'static [Declared] {
        DECLARED
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let head = beginning(peek.head);
        if is_html(&head) {
            return Some(Sure::Certain);
        }
        let has = |mark: &str| head.contains(mark);
        let has_kind = || KINDS.iter().any(|kind| head.contains(&format!("\"{kind}\"")));
        let is_account = has("\"personal_information\"")
            && has("\"user_id\"")
            && (has("\"about\"") || has("\"phone_number\""));
        let has_messages = has("\"messages\"")
            && (has("\"date_unixtime\"") || has("\"from_id\"") || has("\"actor_id\"") || has_kind());
        let is_list = (has("\"chats\"") || has("\"left_chats\"")) && has("\"list\"") && has("\"messages\"");
        let is_chat = has("\"type\"") && has_messages;
        (head.starts_with('{')
            && (is_account || is_list && (has_kind() || has("\"date_unixtime\"")) || is_chat))
            .then_some(Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        self.plan_beside(members, ask, &Nothing)
    }

    fn plan_beside(
        &self,
        members: &[Member<'_>],
        ask: &mut Ask,
        earlier: &dyn Earlier,
    ) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Local, KEY, "Telegram", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let mut plans: Vec<Plan> = Vec::new();
        let mut of: Vec<(String, Whose, Vec<usize>)> = Vec::new();
        let mut files = HashMap::new();
        for (at, member) in members.iter().enumerate() {
            if is_html(&beginning_of(member)?) {
                continue;
            }
            let seen = Seen::of(member, &ask.zone)?;
            let ids = seen.ids.clone();
            files.insert(member.label.to_owned(), File { as_of: seen.as_of, ids });
            let (account, whose) = match &ask.account {
                Some(account) => (account.clone(), Whose { owner: seen.owner, is_sure: true, note: None }),
                None => seen.account(earlier),
            };
            match of.iter_mut().find(|(known, _, _)| *known == account) {
                Some((_, known, units)) => {
                    units.push(at);
                    if known.owner.is_none() {
                        *known = whose;
                    }
                }
                None => of.push((account, whose, vec![at])),
            }
        }
        if of.is_empty() {
            return Err(Refused::Unfit {
                why: "it is a Telegram export in HTML, which has no exact times. In Telegram Desktop, choose Settings → Advanced → \
                    Export Telegram data, and the format Machine-readable JSON"
                    .to_owned(),
            });
        }
        let state = Arc::new(State { files });
        for (account, whose, units) in of {
            let mut notes = vec![
                "Files that were sent in these chats are listed by name. Their content is not imported."
                    .to_owned(),
            ];
            if ask.account.is_none() && account == KEY && whose.owner.is_none() {
                notes.push(format!(
                    "An export of one chat does not name its owner, so the account is called {KEY}. --account gives it another \
                     name."
                ));
            }
            plans.push(Plan {
                connector: Arc::clone(&connector),
                account,
                units,
                notes,
                whose: Whose { is_sure: whose.owner.is_some(), ..whose },
                zone: ask.zone.clone(),
                state: state.clone(),
            });
        }
        Ok(plans)
    }

    fn companions(&self, members: &[Member<'_>], others: &[&str]) -> io::Result<Vec<usize>> {
        let folders =
            members.iter().map(|member| member.label.rsplit_once('/').map_or("", |(folder, _)| folder));
        let folders: BTreeSet<&str> = folders.collect();
        let is_part = |label: &str| {
            folders.iter().any(|folder| {
                let rest = if folder.is_empty() {
                    Some(label)
                } else {
                    label.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'))
                };
                rest.and_then(|rest| rest.split_once('/')).is_some_and(|(first, _)| FOLDERS.contains(&first))
            })
        };
        Ok(others.iter().enumerate().filter(|(_, label)| is_part(label)).map(|(at, _)| at).collect())
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let state = plan.state.downcast_ref::<State>();
        let file = state.and_then(|state| state.files.get(unit.label));
        let (as_of, ids) = file.map_or((None, &[][..]), |file| (file.as_of, &file.ids[..]));
        let mut end = from;
        let mut give = |raw: Raw| {
            if raw.offset < from {
                return Go::On;
            }
            end = raw.next;
            if out(raw).is_continue() { Go::On } else { Go::Home }
        };
        // Reads from the start even when resuming, because a chat is named before its messages.
        each(
            &mut unit.bytes,
            &mut |item| {
                Ok(match item {
                    Item::Message { chat, offset, next, bytes, sent_at } => {
                        let facts = Facts { chat: chat.into(), sent_at, as_of };
                        let facts = match bytes {
                            Some(_) => format!("{MESSAGE} {}", as_json(&facts)),
                            None => format!("{TOO_LONG} {offset}"),
                        };
                        give(Raw {
                            offset,
                            next,
                            line: None,
                            bytes: bytes.unwrap_or_default(),
                            facts,
                            copy: 0,
                        })
                    }
                    Item::Chat { chat, offset, next } => {
                        let chat = AboutChat { as_of, ..chat };
                        let bytes = as_json(&chat).into_bytes();
                        give(Raw { offset, next, line: None, bytes, facts: CHAT.to_owned(), copy: 0 })
                    }
                })
            },
            ids,
            &plan.zone,
        )?;
        Ok(End { at: end })
    }

    fn parse(&self, _: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        if raw.facts.starts_with(TOO_LONG) {
            return Err(Bad("a message of more than 64 MiB"));
        }
        if raw.facts == CHAT {
            let chat: AboutChat = serde_json::from_slice(&raw.bytes).map_err(|_| Bad("not a chat"))?;
            let sighting = String::from_utf8_lossy(&raw.bytes).into_owned();
            let draft =
                Draft { sighting: Some(sighting), ..Draft::new(CHATS, chat.id.clone(), chat.record()) };
            return Ok(Parsed::Records(vec![draft]));
        }
        let facts = raw.facts.strip_prefix(MESSAGE).unwrap_or_default();
        let facts: Facts<'_> = serde_json::from_str(facts.trim_start()).map_err(|_| Bad("no chat"))?;
        let element = json_value::read(&raw.bytes)?;
        let number = element["id"].as_i64().ok_or(Bad("no id"))?;
        if element["type"] == "unsupported" {
            return Ok(Parsed::Skipped("a kind of message that Telegram did not export"));
        }
        let sent_at = facts.sent_at.map(time::format_ms).ok_or(Bad("no time"))?;
        let id = format!("{}:{number}", facts.chat);
        let text = |key: &str| element[key].as_str().and_then(name);
        let is_system = element["type"] == "service";
        let edited_at = seconds(&element["edited_unixtime"]);
        let content = content_of(&element, is_system);
        let files = files_of(&element);
        let message = Message {
            id: &id,
            chat_id: &facts.chat,
            author: text("from").or_else(|| text("actor")),
            author_id: text("from_id").or_else(|| text("actor_id")),
            content: Some(content.as_str()).filter(|content| !content.is_empty()),
            sent_at: &sent_at,
            edited_at: edited_at.map(time::format_ms),
            reply_to: reply_to(&element, &facts.chat),
            forwarded_from: text("forwarded_from").or_else(|| text("saved_from")),
            media_type: media_type(&element),
            has_attachment: !files.is_empty(),
            is_system,
        };
        let draft = |stream: &'static str, key: &str, data: String| {
            let said = Said { edited_at, as_of: facts.as_of, data: data.as_str().into() };
            Draft { sighting: Some(as_json(&said)), ..Draft::new(stream, key, data.clone()) }
        };
        let mut drafts = vec![draft(MESSAGES, &id, as_json(&message))];
        for (part, file) in files.into_iter().enumerate() {
            let key = format!("{id}:{part}");
            let attachment = SentFile {
                filename: file.name.map(Cow::Borrowed),
                content_type: file.media_type.map(Cow::Borrowed),
                size_bytes: file.size,
                ..SentFile::left_there(&key, &id, &facts.chat, &sent_at)
            };
            drafts.push(draft(ATTACHMENTS, &key, as_json(&attachment)));
        }
        Ok(Parsed::Records(drafts))
    }

    fn join(&self, stream: &str, data: &str, sightings: &[&str]) -> String {
        if stream == CHATS {
            let all = sightings.iter().filter_map(|said| serde_json::from_str::<AboutChat>(said).ok());
            return all.reduce(AboutChat::and).map_or_else(|| data.to_owned(), |chat| chat.record());
        }
        let all = sightings.iter().filter_map(|said| serde_json::from_str::<Said<'_>>(said).ok());
        all.max().map_or_else(|| data.to_owned(), |said| said.data.into_owned())
    }

    fn is_whole_alone(&self) -> bool {
        true
    }

    fn add_sighting(&self, stream: &str, first: &str, second: &str) -> String {
        if stream == CHATS {
            let both = [first, second].map(|said| serde_json::from_str::<AboutChat>(said).ok());
            if let [Some(first), Some(second)] = both {
                return as_json(&first.and(second));
            }
            return second.to_owned();
        }
        let is_later = serde_json::from_str::<Said<'_>>(second).ok() > serde_json::from_str(first).ok();
        if is_later { second.to_owned() } else { first.to_owned() }
    }
}

fn as_json(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

/// Whether a file is a page of the HTML export.
fn is_html(head: &str) -> bool {
    let start: String = head.chars().take(200).collect::<String>().to_ascii_lowercase();
    (start.starts_with("<!doctype html") || start.starts_with("<html"))
        && head.contains("page_wrap")
        && (head.contains("class=\"page_body chat_page\"")
            || head.contains("class=\"page_body list_page\"")
            || head.contains("css/style.css"))
        && (head.contains("class=\"page_header\"")
            || head.contains("class=\"history\"")
            || head.contains("CheckLocation()"))
}

/// An instant in milliseconds since 1970, from seconds as a number or as text.
fn seconds(value: &Value) -> Option<i64> {
    let seconds = value.as_i64().or_else(|| value.as_str()?.parse().ok())?;
    let ms = seconds.checked_mul(1000)?;
    // Telegram writes 0 if there is no time.
    (seconds > 0 && Timestamp::from_millisecond(ms).is_ok()).then_some(ms)
}

/// A message or a chat in a file.
enum Item<'a> {
    Message { chat: &'a str, offset: u64, next: u64, bytes: Option<Vec<u8>>, sent_at: Option<i64> },
    Chat { chat: AboutChat, offset: u64, next: u64 },
}

/// A chat that is being read.
#[derive(Default)]
struct Chat {
    name: Option<String>,
    kind: Option<String>,
    number: Option<i64>,
    /// Its id, if an earlier pass found it.
    known: Option<String>,
    about: AboutChat,
    has_messages: bool,
    last: Option<Timestamp>,
}

/// Passes on the messages of each chat in a file, followed by the chat itself.
fn each(
    bytes: &mut dyn io::BufRead,
    give: &mut dyn FnMut(Item<'_>) -> io::Result<Go>,
    ids: &[String],
    zone: &TimeZone,
) -> io::Result<Go> {
    let mut walk = Walk::new(bytes);
    let mut ids = ids.iter();
    let mut alone = Chat::default();
    let went = walk.object(&mut |walk, name| match name {
        "chats" | "left_chats" => walk.object(&mut |walk, name| {
            if name != "list" {
                return walk.skip();
            }
            walk.array(&mut |walk| {
                if walk.peek()? != Some(b'{') {
                    return walk.skip();
                }
                let mut chat = Chat { known: ids.next().cloned(), ..Chat::default() };
                match walk.object(&mut |walk, name| chat.member(walk, name, give, zone))? {
                    Go::Home => Ok(Go::Home),
                    Go::On => chat.end(walk.at(), give),
                }
            })
        }),
        "messages" => {
            alone.known = ids.next().cloned();
            alone.member(walk, name, give, zone)
        }
        name => alone.member(walk, name, give, zone),
    })?;
    if went == Go::On && alone.has_messages { alone.end(walk.at(), give) } else { Ok(went) }
}

impl Chat {
    /// Reads a member of a chat object.
    fn member(
        &mut self,
        walk: &mut Walk<'_>,
        key: &str,
        give: &mut dyn FnMut(Item<'_>) -> io::Result<Go>,
        zone: &TimeZone,
    ) -> io::Result<Go> {
        let small = |walk: &mut Walk<'_>| -> io::Result<Option<Value>> {
            Ok(walk.take(LONGEST_SMALL)?.bytes.and_then(|bytes| json_value::read(&bytes).ok()))
        };
        match key {
            "name" => self.name = small(walk)?.and_then(|value| name(value.as_str()?).map(str::to_owned)),
            "type" => self.kind = small(walk)?.and_then(|value| name(value.as_str()?).map(str::to_owned)),
            "id" => self.number = small(walk)?.and_then(|value| value.as_i64()),
            "messages" if walk.peek()? == Some(b'[') => {
                self.has_messages = true;
                self.about.id = self.id();
                return walk.array(&mut |walk| {
                    let element = walk.take(LONGEST)?;
                    let glance = element.bytes.as_deref().map(String::from_utf8_lossy);
                    let glance: Glance =
                        glance.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
                    let sent_at = self.sent_at(&glance, zone);
                    self.note(glance, sent_at);
                    let (offset, next) = (element.offset, element.next);
                    give(Item::Message { chat: &self.about.id, offset, next, bytes: element.bytes, sent_at })
                });
            }
            _ => return walk.skip(),
        }
        Ok(Go::On)
    }

    /// The chat's id. The kind of chat is part of it, because a person and a channel may have the same number.
    fn id(&self) -> String {
        let kind = match self.kind.as_deref() {
            Some("personal_chat" | "bot_chat" | "saved_messages" | "replies" | "verification_codes") => {
                "user"
            }
            Some("private_group") => "chat",
            Some(_) => "channel",
            None => "",
        };
        match self.number {
            _ if self.known.is_some() => self.known.clone().unwrap_or_default(),
            Some(number) => format!("{kind}{number}"),
            None => digest::name([self.name.as_deref().unwrap_or_default().as_bytes(), kind.as_bytes()]),
        }
    }

    /// When a message was sent. Old exports have only local time. In the hour that is repeated in autumn, the order of the
    /// messages decides.
    fn sent_at(&mut self, glance: &Glance, zone: &TimeZone) -> Option<i64> {
        if let Some(ms) = glance.date_unixtime.as_ref().and_then(seconds) {
            return Some(ms);
        }
        let local: DateTime = glance.date.as_deref()?.parse().ok()?;
        let earlier = zone.to_ambiguous_timestamp(local).earlier().ok()?;
        let instant = match (zone.to_ambiguous_timestamp(local).later(), self.last) {
            (Ok(later), Some(last)) if earlier < last && later >= last => later,
            _ => earlier,
        };
        self.last = Some(instant);
        Some(instant.as_millisecond())
    }

    fn note(&mut self, glance: Glance, sent_at: Option<i64>) {
        let about = &mut self.about;
        about.first = about.first.into_iter().chain(sent_at).min();
        about.last = about.last.into_iter().chain(sent_at).max();
        if let Some(person) = glance.from.or(glance.actor)
            && name(&person).is_some()
            && about.people.len() < MOST_PEOPLE
        {
            about.people.insert(person);
        }
    }

    fn end(self, at: u64, give: &mut dyn FnMut(Item<'_>) -> io::Result<Go>) -> io::Result<Go> {
        // The item is placed on the chat's closing bracket, because no other item begins there.
        let chat = AboutChat { id: self.id(), title: self.name, kind: self.kind, ..self.about };
        give(Item::Chat { chat, offset: at.saturating_sub(1), next: at })
    }
}

impl AboutChat {
    /// Merges what two exports say.
    fn and(self, other: Self) -> Self {
        let is_older = (self.as_of, &self.title, &self.kind) <= (other.as_of, &other.title, &other.kind);
        let (older, newer) = if is_older { (self, other) } else { (other, self) };
        Self {
            people: older.people.into_iter().chain(newer.people).take(MOST_PEOPLE).collect(),
            first: older.first.into_iter().chain(newer.first).min(),
            last: older.last.into_iter().chain(newer.last).max(),
            title: newer.title.or(older.title),
            kind: newer.kind.or(older.kind),
            ..newer
        }
    }

    fn record(&self) -> String {
        let title = self
            .title
            .as_deref()
            .or_else(|| (self.kind.as_deref() == Some("saved_messages")).then_some("Saved messages"));
        as_json(&ChatRecord {
            id: &self.id,
            title,
            r#type: self.kind.as_deref(),
            participants: self.people.iter().map(String::as_str).collect(),
            first_message_date: self.first.map(time::format_ms),
            last_message_date: self.last.map(time::format_ms),
        })
    }
}

/// What a plan reads from a file.
#[derive(Default)]
struct Seen {
    /// The owner, by Telegram's number.
    owner: Option<String>,
    /// The owner's name in Telegram.
    called: Option<String>,
    /// The ids of the chats, in the order of the file.
    ids: Vec<String>,
    /// The time of the last message.
    as_of: Option<i64>,
}

impl Seen {
    fn of(member: &Member<'_>, zone: &TimeZone) -> Result<Self, Refused> {
        let unreadable =
            |error: io::Error| Refused::Unreadable(format!("{} cannot be read: {error}", member.label));
        let mut seen = Self::default();
        let mut bytes = BufReader::with_capacity(1 << 16, (member.open)().map_err(unreadable)?);
        let mut walk = Walk::new(&mut bytes);
        let went = walk.object(&mut |walk, name| {
            if name == "personal_information" {
                let told = walk.take(LONGEST_SMALL)?.bytes.and_then(|bytes| json_value::read(&bytes).ok());
                seen.person(&told.unwrap_or_default());
                return Ok(Go::On);
            }
            walk.skip()
        });
        // A file that breaks off is reported when it is read. The complete items before that are imported.
        if let Err(error) = went
            && error.kind() != io::ErrorKind::UnexpectedEof
        {
            return Err(unreadable(error));
        }
        let (mut ids, mut as_of) = (Vec::new(), None);
        let mut bytes = BufReader::with_capacity(1 << 16, (member.open)().map_err(unreadable)?);
        let _ = each(
            &mut bytes,
            &mut |item| {
                match item {
                    Item::Message { sent_at, .. } => as_of = as_of.max(sent_at),
                    Item::Chat { chat, .. } if ids.len() < MOST_CHATS => ids.push(chat.id),
                    Item::Chat { .. } => {}
                }
                Ok(Go::On)
            },
            &[],
            zone,
        );
        (seen.ids, seen.as_of) = (ids, as_of);
        Ok(seen)
    }

    fn person(&mut self, told: &Value) {
        let text =
            |key: &str| told[key].as_str().and_then(name).map(str::trim).filter(|text| !text.is_empty());
        self.owner = told["user_id"].as_i64().map(|number| format!("user{number}"));
        let named = text("username").map(|name| name.trim_start_matches('@').to_lowercase());
        self.called =
            named.or_else(|| text("phone_number").map(str::to_owned)).or_else(|| self.owner.clone());
    }

    /// The account: the owner's, or the only one that already has the chat.
    fn account(self, earlier: &dyn Earlier) -> (String, Whose) {
        if let Some(called) = self.called {
            return (called, Whose { owner: self.owner, is_sure: true, note: None });
        }
        let chat = self.ids;
        let has =
            |account: &String| chat.len() == 1 && earlier.has(KEY, account, CHATS, &chat).contains(&true);
        let mut of: Vec<String> = earlier.accounts(KEY).into_iter().filter(has).collect();
        match (of.pop(), of.is_empty()) {
            (Some(account), true) => {
                let note = format!(
                    "The account is {account}: it already has this chat. --account NAME names another."
                );
                (account, Whose { owner: None, is_sure: false, note: Some(note) })
            }
            _ => (KEY.to_owned(), Whose::default()),
        }
    }
}

/// The id of the message that this one replies to, in any chat.
fn reply_to(element: &Value, chat: &str) -> Option<String> {
    let number = element["reply_to_message_id"].as_i64()?;
    Some(format!("{}:{number}", element["reply_to_peer_id"].as_str().and_then(name).unwrap_or(chat)))
}

/// The text in a value: a string, or a list of strings and of objects with a `text`.
fn text_of(value: &Value) -> String {
    let of = |part: &Value| part.as_str().or_else(|| part["text"].as_str()).unwrap_or_default().to_owned();
    match value {
        Value::Array(parts) => parts
            .iter()
            .map(|part| {
                let text = of(part);
                // A link whose text differs from its address.
                match part["href"].as_str() {
                    Some(href) if part["type"] == "text_link" && href != text => format!("{text} ({href})"),
                    _ => text,
                }
            })
            .collect(),
        other => of(other),
    }
}

/// The content of a message. Content that is not text is named.
fn content_of(element: &Value, is_system: bool) -> String {
    let mut lines = Vec::new();
    let text = |value: &Value| value.as_str().and_then(name).map(str::to_owned);
    if is_system {
        let action = text(&element["action"]).unwrap_or_else(|| "service".to_owned());
        let mut told = Vec::new();
        for key in
            ["title", "new_title", "inviter", "emoticon", "discard_reason", "reason_domain", "currency"]
        {
            told.extend(text(&element[key]));
        }
        let people = element["members"].as_array().into_iter().flatten().filter_map(text);
        told.extend(Some(people.collect::<Vec<_>>().join(", ")).filter(|people| !people.is_empty()));
        if let Some(seconds) = element["duration_seconds"].as_i64().or_else(|| element["duration"].as_i64()) {
            told.push(format!("{seconds} s"));
        }
        let action = action.replace('_', " ");
        lines.push(if told.is_empty() { action } else { format!("{action}: {}", told.join(", ")) });
    }
    let words = text_of(&element["text"]);
    if !words.trim().is_empty() {
        lines.push(words);
    }
    if let Some(poll) = element["poll"].as_object() {
        lines.push(format!("[poll] {}", poll.get("question").map(text_of).unwrap_or_default()));
        for answer in poll.get("answers").and_then(Value::as_array).into_iter().flatten() {
            let votes = answer["voters"].as_i64().map(|votes| format!(" ({votes})")).unwrap_or_default();
            lines.push(format!("- {}{votes}", text_of(&answer["text"])));
        }
    }
    let place = &element["location_information"];
    if let (Some(latitude), Some(longitude)) = (place["latitude"].as_f64(), place["longitude"].as_f64()) {
        let named = ["place_name", "address"].into_iter().filter_map(|key| text(&element[key]));
        lines.push(
            named.chain([format!("[location] {latitude}, {longitude}")]).collect::<Vec<_>>().join(", "),
        );
    }
    let person = &element["contact_information"];
    if person.is_object() {
        let parts =
            ["first_name", "last_name", "phone_number"].into_iter().filter_map(|key| text(&person[key]));
        lines.push(format!("[contact] {}", parts.collect::<Vec<_>>().join(" ")));
    }
    lines.extend(text(&element["game_title"]).map(|title| format!("[game] {title}")));
    lines.extend(text(&element["invoice_information"]["title"]).map(|title| format!("[invoice] {title}")));
    if lines.is_empty() {
        lines.extend(text(&element["sticker_emoji"]));
    }
    lines.join("\n")
}

/// The kind of content that a message has apart from text.
fn media_type(element: &Value) -> Option<&str> {
    let has = |key: &str| element.get(key).is_some_and(|value| !value.is_null());
    let named = element["media_type"].as_str().and_then(name);
    named.or_else(|| {
        let known = [
            ("photo", "photo"),
            ("file", "file"),
            ("poll", "poll"),
            ("location_information", "location"),
            ("contact_information", "contact"),
            ("game_title", "game"),
            ("invoice_information", "invoice"),
        ];
        known.into_iter().find(|(key, _)| has(key)).map(|(_, kind)| kind)
    })
}

/// A file that was sent.
struct Sent<'a> {
    name: Option<&'a str>,
    media_type: Option<&'a str>,
    size: Option<u64>,
}

/// The files of a message. If a file was not exported, its path is a sentence in brackets.
fn files_of(element: &Value) -> Vec<Sent<'_>> {
    let path = |key: &str| {
        let path = element[key].as_str()?;
        let path = Some(path).filter(|path| !path.starts_with('(') && !path.is_empty());
        Some(path.and_then(|path| name(path.rsplit('/').next().unwrap_or(path))))
    };
    let mut files = Vec::new();
    if let Some(found) = path("photo") {
        files.push(Sent {
            name: found,
            media_type: Some("image/jpeg"),
            size: element["photo_file_size"].as_u64(),
        });
    }
    if let Some(found) = path("file") {
        let named = element["file_name"].as_str().and_then(name);
        files.push(Sent {
            name: named.or(found),
            media_type: element["mime_type"].as_str().and_then(name),
            size: element["file_size"].as_u64(),
        });
    }
    if let Some(found) = path("contact_vcard") {
        files.push(Sent {
            name: found,
            media_type: Some("text/vcard"),
            size: element["contact_vcard_file_size"].as_u64(),
        });
    }
    files
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::import::harness::{
        Counts, Kept, ask, assert_cut_and_finished_is_whole, assert_twice_is_once_in_any_order, imported,
        plan, sniff, split,
    };

    fn said(id: i64, from: &str, text: &Value) -> Value {
        json!({"id": id, "type": "message", "date": "2026-01-31T15:03:22", "date_unixtime": (1_769_868_202 + id).to_string(),
            "from": from, "from_id": format!("user{from}"), "text": text, "text_entities": []})
    }

    fn chat(id: i64, name: &str, kind: &str, messages: &[Value]) -> Value {
        // In the order in which Telegram writes them.
        let text = format!(
            "{{\"name\": {}, \"type\": \"{kind}\", \"id\": {id}, \"messages\": {}}}",
            json!(name),
            Value::from(messages.to_vec())
        );
        serde_json::from_str(&text).unwrap()
    }

    fn account(chats: &[Value], left: &[Value]) -> Vec<u8> {
        let person = json!({"user_id": 7, "first_name": "Ana", "last_name": "Green", "phone_number": "+49 151 1234567", "username": "@Ana_G"});
        format!(
            "{{\"about\": \"Here is the data\", \"personal_information\": {person}, \"contacts\": {{\"about\": \"x\", \"list\": [{{\"messages\": [1]}}]}}, \
            \"chats\": {{\"about\": \"x\", \"list\": {}}}, \"left_chats\": {{\"list\": {}}}}}",
            Value::from(chats.to_vec()),
            Value::from(left.to_vec())
        )
        .into_bytes()
    }

    fn garden() -> Value {
        chat(
            5,
            "Garden",
            "private_supergroup",
            &[said(1, "Ana", &json!("Which beds?")), said(2, "Ben", &json!("Both."))],
        )
    }

    fn import(files: &[(&str, &[u8])]) -> (Kept, Counts) {
        imported(&Telegram, files)
    }

    fn one(messages: &[Value]) -> (Kept, Counts) {
        let file = chat(5, "Garden", "private_supergroup", messages).to_string();
        import(&[("result.json", file.as_bytes())])
    }

    fn record(kept: &Kept, stream: &str, key: &str) -> Value {
        let found = kept.records.iter().find(|((_, of, id), _)| of == stream && id == key);
        found.map_or(Value::Null, |(_, data)| serde_json::from_str(data).unwrap())
    }

    fn keys(kept: &Kept, stream: &str) -> Vec<String> {
        kept.records.keys().filter(|(_, of, _)| of == stream).map(|(_, _, key)| key.clone()).collect()
    }

    #[test]
    fn o5_1_an_account_becomes_messages_of_its_chats() {
        let left = chat(5, "Ben", "personal_chat", &[said(1, "Ben", &json!("Hello"))]);
        let (kept, counts) = import(&[("result.json", &account(&[garden()], &[left]))]);
        assert_eq!((counts.read, counts.new), (5, 5));
        assert_eq!(kept.records.keys().next().unwrap().0, "ana_g");
        assert_eq!(
            record(&kept, CHATS, "channel5"),
            json!({"id": "channel5", "title": "Garden", "type": "private_supergroup", "participants": ["Ana", "Ben"],
                "first_message_date": "2026-01-31T14:03:23.000Z", "last_message_date": "2026-01-31T14:03:24.000Z"})
        );
        assert_eq!(
            record(&kept, MESSAGES, "channel5:2"),
            json!({"id": "channel5:2", "chat_id": "channel5", "author": "Ben", "author_id": "userBen", "content": "Both.",
                "sent_at": "2026-01-31T14:03:24.000Z", "edited_at": null, "reply_to": null, "forwarded_from": null,
                "media_type": null, "has_attachment": false, "is_system": false})
        );
        // A person and a group may have the same number.
        assert_eq!(keys(&kept, MESSAGES), ["channel5:1", "channel5:2", "user5:1"]);
        // An export of this chat alone gives the same chat.
        let mut kept = kept;
        let alone = garden().to_string();
        let counts = kept.import(&Telegram, &[("result.json", alone.as_bytes())]);
        assert_eq!((counts.same, keys(&kept, CHATS).len()), (3, 2));
    }

    #[test]
    fn o5_2_streams_are_our_own_and_the_person_is_known() {
        let file = account(&[garden()], &[]);
        let plans = plan(&Telegram, &[("result.json", &file)], ask()).unwrap();
        assert_eq!(plans[0].connector.id, "https://local.pdpp.invalid/connectors/telegram");
        assert_eq!((plans[0].whose.owner.as_deref(), plans[0].whose.is_sure), (Some("user7"), true));
        let messages = plans[0].connector.stream(MESSAGES).unwrap();
        assert!(messages.relations.iter().any(|to| to.name == "replies" && to.foreign_key == "reply_to"));
        let alone = garden().to_string();
        let plans = plan(&Telegram, &[("result.json", alone.as_bytes())], ask()).unwrap();
        assert_eq!((plans[0].account.as_str(), plans[0].whose.owner.as_deref()), ("telegram", None));
        assert!(plans[0].notes.iter().any(|note| note.contains("--account")));
    }

    #[test]
    fn contents_decide_what_is_an_export() {
        let file = account(&[garden()], &[]);
        assert_eq!(sniff(&Telegram, "x", &file), Some(Sure::Certain));
        assert_eq!(sniff(&Telegram, "x", &file[..200]), Some(Sure::Certain));
        assert_eq!(sniff(&Telegram, "x", garden().to_string().as_bytes()), Some(Sure::Certain));
        assert_eq!(sniff(&Telegram, "x", format!("{:#}", garden()).as_bytes()), Some(Sure::Certain));
        let bare =
            br#"{"chats":{"list":[{"name":"A","messages":[{"type":"message","date_unixtime":"1"}]}]}}"#;
        assert_eq!(sniff(&Telegram, "x", bare), Some(Sure::Certain));
        for other in [
            "",
            "{}",
            "[]",
            r#"{"messages":[],"type":"x"}"#,
            r#"{"chats":[{"messages":1}]}"#,
            "<html><body>x</body></html>",
        ] {
            assert_eq!(sniff(&Telegram, "result.json", other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn html_is_refused_with_the_right_advice() {
        let html = br#"<!DOCTYPE html><html><head><title>Exported Data</title><link href="css/style.css" rel="stylesheet"/></head>
            <body onload="CheckLocation();"><div class="page_wrap"><div class="page_header"></div><div class="page_body chat_page">"#;
        assert_eq!(sniff(&Telegram, "messages.html", html), Some(Sure::Certain));
        let Err(Refused::Unfit { why }) = plan(&Telegram, &[("messages.html", html)], ask()) else {
            panic!("taken")
        };
        assert!(why.contains("Advanced") && why.contains("JSON"), "{why}");
        // If there is JSON next to it, the JSON is read.
        let file = account(&[garden()], &[]);
        assert_eq!(
            plan(&Telegram, &[("messages.html", html), ("result.json", &file)], ask()).unwrap()[0].units,
            [1]
        );
    }

    #[test]
    fn texts_are_joined_and_what_is_no_text_is_named() {
        let text = json!(["See ", {"type": "bold", "text": "this"}, " ", {"type": "text_link", "text": "page", "href": "https://a"}, {"type": "link", "text": "https://b"}]);
        let mut poll = said(2, "Ana", &json!(""));
        poll["poll"] = json!({"question": "Which?", "closed": false, "answers": [{"text": "North", "voters": 2}, {"text": "South"}]});
        let mut place = said(3, "Ana", &json!(""));
        place["location_information"] = json!({"latitude": 59.5, "longitude": 10.25});
        place["place_name"] = "Barn".into();
        let mut contact = said(4, "Ana", &json!(""));
        contact["contact_information"] = json!({"first_name": "Ben", "last_name": "", "phone_number": "+1"});
        let mut sticker = said(5, "Ana", &json!(""));
        sticker["media_type"] = "sticker".into();
        sticker["sticker_emoji"] = "🌱".into();
        sticker["file"] = "(File not included. Change data exporting settings to download.)".into();
        let (kept, counts) = one(&[said(1, "Ana", &text), poll, place, contact, sticker]);
        assert_eq!(counts.new, 6);
        let of = |at: u32| {
            let message = record(&kept, MESSAGES, &format!("channel5:{at}"));
            (
                message["content"].as_str().unwrap().to_owned(),
                message["media_type"].as_str().map(str::to_owned),
            )
        };
        assert_eq!(of(1), ("See this page (https://a)https://b".to_owned(), None));
        assert_eq!(of(2), ("[poll] Which?\n- North (2)\n- South".to_owned(), Some("poll".to_owned())));
        assert_eq!(of(3), ("Barn, [location] 59.5, 10.25".to_owned(), Some("location".to_owned())));
        assert_eq!(of(4), ("[contact] Ben  +1".to_owned().replace("  ", " "), Some("contact".to_owned())));
        assert_eq!(of(5), ("🌱".to_owned(), Some("sticker".to_owned())));
        assert_eq!(record(&kept, ATTACHMENTS, "channel5:5:0")["filename"], Value::Null);
    }

    #[test]
    fn service_messages_answers_and_files_are_kept() {
        let made = json!({"id": 1, "type": "service", "date": "2026-01-31T15:03:22", "date_unixtime": "1769868202", "actor": "Ana",
            "actor_id": "user7", "action": "create_group", "title": "Garden", "members": ["Ana", "Ben", null], "text": ""});
        let mut answer = said(2, "Ben", &json!("Look"));
        answer["reply_to_message_id"] = 1.into();
        answer["forwarded_from"] = "Cleo".into();
        answer["edited_unixtime"] = "1769868262".into();
        answer["photo"] = "photos/photo_1@31-01-2026.jpg".into();
        let mut file = said(3, "Ana", &json!(""));
        file["reply_to_message_id"] = 9.into();
        file["reply_to_peer_id"] = "channel44".into();
        file["file"] = "files/beds (1).pdf".into();
        file["file_name"] = "beds.pdf".into();
        file["file_size"] = 1234.into();
        file["mime_type"] = "application/pdf".into();
        let mut gone = said(4, "", &json!("x"));
        gone["from"] = Value::Null;
        let (kept, counts) = one(&[made, answer, file, gone]);
        assert_eq!(counts.new, 5);
        let message = |at: u32| record(&kept, MESSAGES, &format!("channel5:{at}"));
        assert_eq!(
            (&message(1)["is_system"], &message(1)["content"]),
            (&json!(true), &json!("create group: Garden, Ana, Ben"))
        );
        assert_eq!((&message(1)["author"], &message(1)["author_id"]), (&json!("Ana"), &json!("user7")));
        assert_eq!(
            (&message(2)["reply_to"], &message(2)["forwarded_from"]),
            (&json!("channel5:1"), &json!("Cleo"))
        );
        assert_eq!(
            (&message(2)["edited_at"], &message(2)["media_type"]),
            (&json!("2026-01-31T14:04:22.000Z"), &json!("photo"))
        );
        assert_eq!(record(&kept, ATTACHMENTS, "channel5:2:0")["filename"], "photo_1@31-01-2026.jpg");
        assert_eq!(message(3)["reply_to"], "channel44:9");
        let attachment = record(&kept, ATTACHMENTS, "channel5:3:0");
        assert_eq!((&attachment["filename"], &attachment["size_bytes"]), (&json!("beds.pdf"), &json!(1234)));
        assert_eq!(message(4)["author"], Value::Null);
    }

    #[test]
    fn o4_12_a_time_without_zone_is_the_accounts() {
        let bare = |id: i64, date: &str| json!({"id": id, "type": "message", "date": date, "from": "Ana", "text": "x"});
        let chat = chat(
            5,
            "Garden",
            "private_group",
            &[bare(1, "2026-10-25T02:40:00"), bare(2, "2026-10-25T02:10:00"), bare(3, "soon")],
        );
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let mut kept = Kept::default();
        let counts = kept.import_some(
            &Telegram,
            &[("r.json", chat.to_string().as_bytes())],
            Ask { zone, ..ask() },
            usize::MAX,
        );
        assert_eq!(counts.bad, [("no time", 1)].into());
        assert_eq!(record(&kept, MESSAGES, "chat5:1")["sent_at"], "2026-10-25T00:40:00.000Z");
        assert_eq!(record(&kept, MESSAGES, "chat5:2")["sent_at"], "2026-10-25T01:10:00.000Z");
    }

    #[test]
    fn a_message_that_was_edited_and_a_contact_that_was_renamed_count_as_they_are_last() {
        let mut edited = said(2, "Ben", &json!("Neither."));
        edited["edited_unixtime"] = "1769868262".into();
        let later = [said(1, "Ana Green", &json!("Which beds?")), edited, said(3, "Ben", &json!("x"))];
        let (early, late) =
            (garden().to_string(), chat(5, "Flowers", "private_supergroup", &later).to_string());
        for order in [[0, 1], [1, 0]] {
            let mut kept = Kept::default();
            for at in order {
                kept.import(&Telegram, &[(&format!("{at}/result.json"), [&early, &late][at].as_bytes())]);
            }
            assert_eq!(record(&kept, MESSAGES, "channel5:1")["author"], "Ana Green");
            assert_eq!(record(&kept, MESSAGES, "channel5:2")["content"], "Neither.");
            let chat = record(&kept, CHATS, "channel5");
            assert_eq!(
                (&chat["title"], &chat["participants"]),
                (&json!("Flowers"), &json!(["Ana", "Ana Green", "Ben"]))
            );
            assert_eq!(keys(&kept, MESSAGES).len(), 3);
        }
    }

    #[test]
    fn what_is_wrong_is_bad_and_the_rest_is_read() {
        let (kept, counts) = one(&[
            json!(1),
            json!({"id": "x"}),
            json!({"id": 4, "type": "unsupported", "date_unixtime": "1769868202"}),
            said(1, "Ana", &json!("x")),
        ]);
        assert_eq!(counts.bad, [("no id", 2)].into());
        assert_eq!(counts.skipped.len(), 1);
        assert_eq!(keys(&kept, MESSAGES), ["channel5:1"]);
        let text = account(&[garden()], &[]);
        let broken = String::from_utf8_lossy(&text).replace("\"Both.\"", "\"Bo\\ud800th\", x");
        let (kept, counts) = import(&[("result.json", broken.as_bytes())]);
        assert_eq!(
            (counts.bad, keys(&kept, MESSAGES)),
            ([("not JSON", 1)].into(), vec!["channel5:1".to_owned()])
        );
    }

    #[test]
    fn what_was_sent_is_part_of_an_export() {
        let open =
            || Ok(Box::new(io::Cursor::new(Vec::new())) as Box<dyn crate::import::format::ReadFrom + Send>);
        let member =
            Member { label: "x/result.json", head: b"{", size: None, modified_ms: None, open: &open };
        let others =
            ["x/files/t.csv", "x/chats/chat_1/contacts/c.vcf", "files/t.csv", "x/t.csv", "y/files/t.csv"];
        assert_eq!(Telegram.companions(&[member], &others).unwrap(), [0, 1]);
    }

    #[test]
    fn a_file_that_was_cut_off_is_told_and_what_was_whole_is_given() {
        let whole = account(&[garden()], &[]);
        let plan = &plan(&Telegram, &[("r.json", &whole)], ask()).unwrap()[0];
        let cut = whole[..whole.len() - 60].to_vec();
        let mut unit = Unit { label: "r.json", modified_ms: None, bytes: Box::new(io::Cursor::new(cut)) };
        let mut given = 0;
        let end = Telegram.split(plan, &mut unit, 0, &mut |_| {
            given += 1;
            std::ops::ControlFlow::Continue(())
        });
        assert_eq!(end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(given > 0);
        let (all, end) = split(&Telegram, plan, "r.json", &whole, 0);
        assert_eq!(split(&Telegram, plan, "r.json", &whole, end), (Vec::new(), end));
        let (rest, _) = split(&Telegram, plan, "r.json", &whole, all[0].next);
        assert_eq!(rest, all[1..]);
    }

    fn export() -> impl Strategy<Value = Vec<u8>> {
        // The content of a message does not change from one export to the next.
        let chats = proptest::collection::vec((0_i64..3, proptest::collection::vec(0_i64..20, 0..6)), 0..4);
        chats.prop_map(|chats| {
            let made = chats.into_iter().map(|(id, mut numbers)| {
                numbers.sort_unstable();
                numbers.dedup();
                let messages: Vec<Value> = numbers
                    .into_iter()
                    .map(|at| said(at, "Ana", &json!(format!("said {id} {at}"))))
                    .collect();
                chat(id, &format!("Chat {id}"), "private_group", &messages)
            });
            account(&made.collect::<Vec<_>>(), &[])
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn twice_is_once_and_no_order_counts(first in export(), second in export()) {
            assert_twice_is_once_in_any_order(&Telegram, &[("a", &first), ("b", &second)]);
        }

        #[test]
        fn cut_anywhere_and_finished_is_whole(whole in export(), limit in 1_usize..6) {
            assert_cut_and_finished_is_whole(&Telegram, &whole, whole.len(), limit);
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), at in 0_usize..3000) {
            let mut changed = account(&[garden()], &[garden()]);
            let at = at % changed.len();
            changed.splice(at..at, bytes);
            sniff(&Telegram, "a", &changed);
            if let Ok(plans) = plan(&Telegram, &[("a", &changed)], ask()) {
                let mut unit = Unit { label: "a", modified_ms: None, bytes: Box::new(io::Cursor::new(changed)) };
                let _ = Telegram.split(&plans[0], &mut unit, 0, &mut |raw| {
                    let _ = Telegram.parse(&plans[0], &raw);
                    std::ops::ControlFlow::Continue(())
                });
            }
        }
    }
}
