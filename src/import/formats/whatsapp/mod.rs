//! WhatsApp chat exports: `_chat.txt` or `WhatsApp Chat with X.txt`, alone or in a zip file with the sent files.
//!
//! A line that begins with a date begins a message. Other lines belong to the message before. Messages have no ids, and an export
//! does not say whose phone or which chat it is from; `chat` finds the chat.

mod chat;
mod head;
mod said;
#[cfg(test)]
mod tests;
mod words;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use self::chat::{Chats, Export, How, Ids, Remembered, chat_id, message_id, message_name};
use self::head::{Head, Look, Orders};
use self::said::said;
use crate::import::declare::{Declared, Registry, StreamLine, connector};
use crate::import::earlier::{Earlier, Nothing};
use crate::import::format::{
    Ask, Bad, DateOrder, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit, Whose,
};
use crate::import::lines::{LONGEST, Lines};
use crate::import::sent_file::{self, ATTACHMENTS, SentFile};
use crate::import::table::Copies;
use crate::vault::time;

/// WhatsApp chat exports.
pub struct WhatsApp;

const KEY: &str = "whatsapp";
const CHATS: &str = "chats";
const MESSAGES: &str = "messages";
/// How many lines at the beginning are checked, and how many of them must begin a message.
const FIRST_LINES: usize = 20;
const LEAST_HEADS: usize = 3;
/// The most people that are listed for a chat.
const MOST_PEOPLE: usize = 2_000;
/// The most names of sent files in the chats of a source.
const MOST_FILES: usize = 200_000;
/// How the facts of an item begin if its message is too long.
const TOO_LONG: &str = "too long";

const STREAMS: [StreamLine; 3] = [
    StreamLine {
        name: CHATS,
        key: "id",
        time: "last_message_date/first_message_date",
        fields: "id:k! title:h participants:a* first_message_date:t last_message_date:T*",
        relations: "messages messages chat_id many, attachments attachments chat_id many",
    },
    StreamLine {
        name: MESSAGES,
        key: "id",
        time: "sent_at",
        fields: "id:k! chat_id:k! author:n content:b sent_at:T! has_attachment:f is_system:f is_edited:f* is_deleted:f*",
        relations: "attachments attachments message_id many",
    },
    sent_file::STREAM,
];
const DECLARED: &[Declared] = &[Declared { registry: Registry::Upstream, key: KEY, streams: &STREAMS }];

#[derive(Serialize)]
struct ChatRecord<'a> {
    id: &'a str,
    title: &'a str,
    participants: Vec<&'a str>,
    first_message_date: &'a str,
    last_message_date: &'a str,
}

#[allow(clippy::struct_excessive_bools, reason = "each is a separate field")]
#[derive(Serialize, Deserialize)]
struct Message<'a> {
    id: Cow<'a, str>,
    chat_id: Cow<'a, str>,
    author: Option<Cow<'a, str>>,
    content: Option<Cow<'a, str>>,
    sent_at: Cow<'a, str>,
    has_attachment: bool,
    is_system: bool,
    is_edited: bool,
    is_deleted: bool,
}

/// What one export says about its chat.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct AboutChat {
    /// The time of its last message. The latest export's title counts.
    as_of: String,
    title: String,
    people: BTreeSet<String>,
    first: String,
    last: String,
}

/// Where exports may differ about a message: its author, and the votes of a poll.
#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct AboutMessage<'a>(
    #[serde(borrow)] Cow<'a, str>,
    Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")] Option<Cow<'a, str>>,
);

/// What one export says about a file. Another export may have left the file out.
#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct AboutFile<'a>(bool, #[serde(borrow)] Cow<'a, str>, Option<Cow<'a, str>>, Option<Cow<'a, str>>);

/// What a plan knows about a file.
struct File {
    look: Look,
    order: DateOrder,
    title: String,
    people: BTreeSet<String>,
    /// The first and the last instant.
    period: Option<(i64, i64)>,
    messages: Remembered,
    /// Where the last readable message begins. That item also carries the chat.
    last_at: u64,
    ids: Ids,
    /// How its chat was found in each existing account.
    found: BTreeMap<String, InAccount>,
}

/// How the chat of a file was found in an account.
struct InAccount {
    how: How,
    /// Whether it is known under another id than its title and first day give.
    is_known_again: bool,
    /// Whether the account has it from an earlier export.
    is_there: bool,
}

/// What a plan knows about its files, by label.
struct State {
    files: HashMap<String, File>,
}

/// The facts that accompany an item.
#[derive(Serialize, Deserialize)]
struct Facts<'a> {
    #[serde(borrow)]
    chat: Cow<'a, str>,
    /// The local minute.
    minute: Cow<'a, str>,
    sent_at: Cow<'a, str>,
    as_of: Cow<'a, str>,
    /// An incomplete last line that may be the beginning of another message.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    tail: Cow<'a, str>,
    /// The chat, which goes with its last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<AboutChat>,
}

impl Format for WhatsApp {
    fn name(&self) -> &'static str {
        KEY
    }

    fn title(&self) -> &'static str {
        "a WhatsApp chat"
    }

    fn declares(&self) -> &'static [Declared] {
        DECLARED
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let text = String::from_utf8_lossy(peek.head);
        let (first, all, lines) = heads(&text);
        let is_named = || {
            let name = base_name(peek.label).to_lowercase();
            name.starts_with("_chat") || name.contains("whatsapp") || words::title(&name).is_some()
        };
        match () {
            () if first >= LEAST_HEADS => Some(Sure::Certain),
            // A file with long messages of many lines.
            () if all >= 5 && all * 50 >= lines => Some(Sure::Certain),
            () if first > 0 && peek.is_whole && is_named() => Some(Sure::Certain),
            () => None,
        }
    }

    fn why_not(&self, peek: &Peek<'_>) -> Option<String> {
        let text = String::from_utf8_lossy(peek.head);
        let (first, _, _) = heads(&text);
        (first < LEAST_HEADS).then(|| {
            format!("{first} of its first {FIRST_LINES} lines begin with a date and a time, as in a chat")
        })
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
        let connector = connector(Registry::Upstream, KEY, "WhatsApp", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let mut notes = Vec::new();
        let orders = orders(members, ask, earlier, &mut notes)?;
        let mut files = HashMap::new();
        for (member, (look, order)) in members.iter().zip(&orders) {
            let file = File::read(member, (*look, order.taken), members.len(), ask)
                .map_err(|error| unreadable(member, &error))?;
            files.insert(member.label.to_owned(), file);
        }
        let account = ask.account.as_deref().unwrap_or(KEY);
        find_chats(&mut files, account, &ask.zone, earlier);
        let mut units: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, member) in members.iter().enumerate() {
            let has_it = || files.get(member.label).and_then(File::account).unwrap_or(KEY);
            units.entry(ask.account.as_deref().unwrap_or_else(has_it)).or_default().push(at);
        }
        let mut told = Vec::new();
        for (account, units) in units {
            let of = || units.iter().filter_map(|at| files.get(members.get(*at)?.label));
            let mut notes = notes.clone();
            notes.extend(told_of_chats(of().filter_map(|file| file.found.get(account))));
            for at in &units {
                let (member, (look, order)) = (&members[*at], &orders[*at]);
                let is_there = files.get(member.label).and_then(|file| file.found.get(account));
                if order.is_told
                    && !is_there.is_some_and(|found| found.is_there)
                    && was_read_otherwise(member, (*look, order.taken), account, ask, earlier)
                        .map_err(|error| unreadable(member, &error))?
                {
                    notes.push(format!(
                        "{} was imported before with its dates in the other order, so its messages will be stored twice. To avoid this, \
                         delete the account {account} with pdpp provider forget, and import all of its files again.",
                        member.label
                    ));
                }
            }
            notes.push(
                "Photos and other files of these chats are listed by name. Their content is not imported."
                    .to_owned(),
            );
            let mut whose = Whose::default();
            if ask.account.is_none() && account == KEY {
                notes.push(format!(
                    "An export does not say whose phone it is from, so the account is called {KEY}. Exports of another person's phone \
                     need a separate account: --account NAME."
                ));
            } else if ask.account.is_none() {
                let what = if units.len() == 1 { "this chat" } else { "these chats" };
                let note =
                    format!("The account is {account}: it already has {what}. --account NAME names another.");
                whose.note = Some(note);
            }
            told.push((account.to_owned(), units, notes, whose));
        }
        let state = Arc::new(State { files });
        let plan = |(account, units, notes, whose)| Plan {
            connector: Arc::clone(&connector),
            account,
            units,
            notes,
            whose,
            zone: ask.zone.clone(),
            state: state.clone(),
        };
        Ok(told.into_iter().map(plan).collect())
    }

    fn companions(&self, members: &[Member<'_>], others: &[&str]) -> io::Result<Vec<usize>> {
        let folders: HashSet<&str> = members.iter().map(|member| folder(member.label)).collect();
        let beside: Vec<usize> = others
            .iter()
            .enumerate()
            .filter(|(_, label)| folders.contains(folder(label)))
            .map(|(at, _)| at)
            .collect();
        if beside.is_empty() {
            return Ok(beside);
        }
        let mut sent: HashMap<&str, HashSet<String>> = HashMap::new();
        let mut count = 0;
        for member in members {
            let names = sent.entry(folder(member.label)).or_default();
            each_message((member.open)()?, Expected(None, None), &mut |message| {
                let file = said(&message.rest(), true).file;
                if let Some(name) = file.and_then(|file| file.name)
                    && count < MOST_FILES
                {
                    count += usize::from(names.insert(name));
                }
            })?;
        }
        let is_sent = |at: &usize| {
            let label = others[*at];
            let name = label.rsplit('/').next().unwrap_or(label);
            sent.get(folder(label)).is_some_and(|names| names.contains(name))
        };
        Ok(beside.into_iter().filter(is_sent).collect())
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let state = plan.state.downcast_ref::<State>();
        let Some(file) = state.and_then(|state| state.files.get(unit.label)) else {
            return Err(io::Error::other("this file did not exist when the import was planned"));
        };
        let chat = file.ids.of(&plan.account);
        let as_of = file.messages.period().map(|(_, last)| minute_of(last)).unwrap_or_default();
        let mut clock = Clock::new(&plan.zone);
        let mut copies = Copies::default();
        let mut end = from;
        let mut is_open = true;
        let expected = Expected(Some(file.look), Some(file.order));
        each_message(&mut unit.bytes, expected, &mut |message| {
            end = message.offset;
            let local = message.head.and_then(|head| head.at(file.order));
            let known = local.and_then(|local| Some((local, clock.instant(local)?)));
            let (mut facts, mut copy) = (String::new(), 0);
            if message.is_long {
                facts = format!("{TOO_LONG} {}", message.offset);
            } else if let Some((local, ms)) = known {
                let minute = minute_of(local);
                copy = copies.before(number_of(&message_name(
                    &minute,
                    &said(&message.rest(), file.look.has_brackets).same,
                )));
                facts = as_json(&Facts {
                    chat: chat.into(),
                    minute: minute.into(),
                    sent_at: time::format_ms(ms).into(),
                    as_of: as_of.as_str().into(),
                    tail: message.tail(),
                    about: (message.offset == file.last_at).then(|| file.about(&as_of)),
                });
            }
            if message.offset >= from && is_open {
                let raw = Raw {
                    offset: message.offset,
                    // The last message may be incomplete.
                    next: if message.is_last { message.offset } else { message.next },
                    line: Some(message.line),
                    bytes: message.bytes.to_vec(),
                    facts,
                    copy,
                };
                is_open = out(raw).is_continue();
            }
        })?;
        Ok(End { at: end })
    }

    fn parse(&self, _: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        if raw.facts.starts_with(TOO_LONG) {
            return Err(Bad("a message of more than 64 MiB"));
        }
        let facts: Facts<'_> = serde_json::from_str(&raw.facts).map_err(|_| Bad("no date"))?;
        let text = String::from_utf8_lossy(&raw.bytes);
        let head = Head::of(first_part(&text)).ok_or(Bad("no date"))?;
        let rest = text.get(head.end..).unwrap_or_default();
        let rest =
            if facts.tail.is_empty() { rest.into() } else { Cow::from(format!("{rest}\n{}", facts.tail)) };
        let said = said(&rest, head.look.has_brackets);
        let name = message_name(&facts.minute, &said.same);
        let id = message_id(&facts.chat, &name, raw.copy);
        let content = said.content.as_deref();
        let about = AboutMessage(
            facts.as_of.as_ref().into(),
            said.author.as_deref().map(Cow::Borrowed),
            content.filter(|_| said.is_poll).map(Cow::Borrowed),
        );
        let message = Message {
            id: id.as_str().into(),
            chat_id: facts.chat.as_ref().into(),
            author: said.author.as_deref().map(Cow::Borrowed),
            content: content.map(Cow::Borrowed),
            sent_at: facts.sent_at.as_ref().into(),
            has_attachment: said.file.is_some(),
            is_system: said.is_system,
            is_edited: said.is_edited,
            is_deleted: said.is_deleted,
        };
        let mut drafts = vec![Draft {
            sighting: Some(as_json(&about)),
            ..Draft::new(MESSAGES, id.clone(), as_json(&message))
        }];
        if let Some(file) = &said.file {
            let key = format!("{id}:0");
            let filename = file.name.as_deref().map(Cow::Borrowed);
            let content_type = file.media_type.map(Cow::Borrowed);
            let about = AboutFile(
                filename.is_some(),
                facts.as_of.as_ref().into(),
                filename.clone(),
                content_type.clone(),
            );
            let attachment = SentFile {
                filename,
                content_type,
                ..SentFile::left_there(&key, &id, &facts.chat, &facts.sent_at)
            };
            drafts.push(Draft {
                sighting: Some(as_json(&about)),
                ..Draft::new(ATTACHMENTS, key.clone(), as_json(&attachment))
            });
        }
        if let Some(about) = &facts.about {
            let data = about.record(&facts.chat);
            drafts.push(Draft {
                sighting: Some(as_json(about)),
                ..Draft::new(CHATS, facts.chat.as_ref(), data)
            });
        }
        Ok(Parsed::Records(drafts))
    }

    fn join(&self, stream: &str, data: &str, sightings: &[&str]) -> String {
        match stream {
            CHATS => {
                let all = sightings.iter().filter_map(|said| serde_json::from_str::<AboutChat>(said).ok());
                let (Some(about), Ok(known)) =
                    (all.reduce(AboutChat::and), serde_json::from_str::<Id<'_>>(data))
                else {
                    return data.to_owned();
                };
                about.record(&known.id)
            }
            MESSAGES => {
                let latest = sightings
                    .iter()
                    .filter_map(|said| serde_json::from_str::<AboutMessage<'_>>(said).ok())
                    .max();
                let (Some(AboutMessage(_, author, words)), Ok(message)) =
                    (latest, serde_json::from_str::<Message<'_>>(data))
                else {
                    return data.to_owned();
                };
                let content = words.or_else(|| message.content.clone());
                as_json(&Message { author, content, ..message })
            }
            _ => {
                let latest = sightings
                    .iter()
                    .filter_map(|said| serde_json::from_str::<AboutFile<'_>>(said).ok())
                    .max();
                let (Some(AboutFile(_, _, filename, content_type)), Ok(attachment)) =
                    (latest, serde_json::from_str::<SentFile<'_>>(data))
                else {
                    return data.to_owned();
                };
                as_json(&SentFile { filename, content_type, ..attachment })
            }
        }
    }

    fn is_whole_alone(&self) -> bool {
        true
    }

    fn shares(&self, stream: &str) -> bool {
        stream == CHATS
    }

    fn add_sighting(&self, stream: &str, first: &str, second: &str) -> String {
        let is_later = match stream {
            CHATS => {
                let both = [first, second].map(|said| serde_json::from_str::<AboutChat>(said).ok());
                if let [Some(first), Some(second)] = both {
                    return as_json(&first.and(second));
                }
                true
            }
            MESSAGES => {
                serde_json::from_str::<AboutMessage<'_>>(second).ok() > serde_json::from_str(first).ok()
            }
            _ => serde_json::from_str::<AboutFile<'_>>(second).ok() > serde_json::from_str(first).ok(),
        };
        if is_later { second.to_owned() } else { first.to_owned() }
    }
}

#[derive(Deserialize)]
struct Id<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
}

fn as_json(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

fn unreadable(member: &Member<'_>, error: &io::Error) -> Refused {
    Refused::Unreadable(format!("{} cannot be read: {error}", member.label))
}

fn folder(label: &str) -> &str {
    label.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The name of a file without its folder and without `.txt`.
fn base_name(label: &str) -> &str {
    let name = label.rsplit('/').next().unwrap_or(label);
    without_end(name, "txt").unwrap_or(name)
}

/// A name without the extension `end`, if it has that extension.
fn without_end<'a>(name: &'a str, end: &str) -> Option<&'a str> {
    name.rsplit_once('.').filter(|(_, found)| found.eq_ignore_ascii_case(end)).map(|(name, _)| name)
}

/// The part of a text that may contain a head.
fn first_part(text: &str) -> &str {
    &text[..text.floor_char_boundary(head::LONGEST)]
}

/// Counts the heads that look alike: how many of the first lines and how many of all lines begin with one, and how many lines
/// there are.
fn heads(text: &str) -> (usize, usize, usize) {
    let (mut look, mut first, mut all, mut lines) = (None, 0, 0, 0);
    for line in text.lines() {
        if let Some(head) = Head::of(first_part(line)) {
            let known = *look.get_or_insert(head.look);
            if known == head.look {
                first += usize::from(lines < FIRST_LINES);
                all += 1;
            }
        }
        lines += 1;
    }
    (first, all, lines)
}

fn minute_of(at: DateTime) -> String {
    at.strftime("%Y-%m-%dT%H:%M").to_string()
}

/// The number under which copies of a message are counted.
fn number_of(name: &str) -> u64 {
    u64::from_str_radix(name.get(..16).unwrap_or_default(), 16).unwrap_or_default()
}

/// A message as the file has it.
struct Found<'a> {
    offset: u64,
    next: u64,
    line: u64,
    /// Its bytes, including the head.
    bytes: &'a [u8],
    /// An incomplete last line that may be the beginning of the next head.
    tail: &'a [u8],
    /// `None` for lines before the first message.
    head: Option<Head>,
    is_long: bool,
    is_last: bool,
}

impl Found<'_> {
    fn tail(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.tail)
    }

    /// The text after its head.
    fn rest(&self) -> Cow<'_, str> {
        let end = self.head.map_or(0, |head| head.end);
        let rest = String::from_utf8_lossy(self.bytes.get(end..).unwrap_or_default());
        if self.tail.is_empty() { rest } else { format!("{rest}\n{}", self.tail()).into() }
    }
}

/// A message that is being read.
struct Begun {
    offset: u64,
    line: u64,
    head: Option<Head>,
    is_long: bool,
}

/// Which heads begin a message: those that look like the first one and are valid in this date order.
#[derive(Clone, Copy)]
struct Expected(Option<Look>, Option<DateOrder>);

/// Passes on each message of a file.
fn each_message(
    bytes: impl io::BufRead,
    expected: Expected,
    give: &mut dyn FnMut(Found<'_>),
) -> io::Result<()> {
    let Expected(mut look, order) = expected;
    let mut lines = Lines::new(bytes);
    let (mut kept, mut tail): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
    let mut open: Option<Begun> = None;
    while let Some(line) = lines.read()? {
        let text = String::from_utf8_lossy(&line.bytes[..line.bytes.len().min(head::LONGEST)]);
        let head = Head::of(&text)
            .filter(|head| order.is_none_or(|order| head.day(order).is_some()))
            .filter(|head| *look.get_or_insert(head.look) == head.look);
        match &mut open {
            Some(_) if head.is_none() && !line.has_end && head::may_become(&text) => {
                // The line before it is complete, and will be the same once the file grows.
                let _ = kept.pop_if(|byte| *byte == b'\n');
                tail.extend_from_slice(line.bytes);
            }
            Some(begun) if head.is_none() => {
                begun.is_long |= line.is_long || kept.len() + line.bytes.len() >= LONGEST;
                if !begun.is_long {
                    kept.extend_from_slice(line.bytes);
                    kept.extend(line.has_end.then_some(b'\n'));
                }
            }
            // Blank lines before the first message are ignored.
            None if head.is_none() && line.bytes.trim_ascii().is_empty() => {}
            _ => {
                if let Some(Begun { offset, line: number, head, is_long }) = open.take() {
                    let (next, tail) = (line.offset, &[][..]);
                    give(Found {
                        offset,
                        next,
                        line: number,
                        bytes: &kept,
                        tail,
                        head,
                        is_long,
                        is_last: false,
                    });
                }
                kept.clear();
                kept.shrink_to(1 << 20);
                kept.extend_from_slice(line.bytes);
                kept.extend(line.has_end.then_some(b'\n'));
                open = Some(Begun { offset: line.offset, line: line.number, head, is_long: line.is_long });
            }
        }
    }
    if let Some(Begun { offset, line, head, is_long }) = open {
        give(Found { offset, next: offset, line, bytes: &kept, tail: &tail, head, is_long, is_last: true });
    }
    Ok(())
}

/// Converts local times to instants, in the order of a file. In the hour that is repeated in autumn, that order decides.
struct Clock<'a> {
    zone: &'a TimeZone,
    last: Option<Timestamp>,
}

impl<'a> Clock<'a> {
    const fn new(zone: &'a TimeZone) -> Self {
        Self { zone, last: None }
    }

    /// The instant in milliseconds since 1970.
    fn instant(&mut self, at: DateTime) -> Option<i64> {
        let ambiguous = self.zone.to_ambiguous_timestamp(at);
        let earlier = ambiguous.earlier().ok()?;
        let is_before = self.last.is_some_and(|last| earlier < last);
        let instant = match self.zone.to_ambiguous_timestamp(at).later() {
            Ok(later) if is_before && self.last.is_some_and(|last| later >= last) => later,
            _ => earlier,
        };
        self.last = Some(instant);
        Some(instant.as_millisecond())
    }
}

/// The order of the dates in a file.
struct Order {
    taken: DateOrder,
    /// Whether the owner or other files gave the order because the file itself does not show it.
    is_told: bool,
}

/// What the heads of each file look like, and the order of the dates in it.
fn orders(
    members: &[Member<'_>],
    ask: &Ask,
    earlier: &dyn Earlier,
    notes: &mut Vec<String>,
) -> Result<Vec<(Look, Order)>, Refused> {
    let mut found: Vec<(Look, Option<DateOrder>)> = Vec::new();
    for member in members {
        let mut orders = Orders::default();
        let mut look = None;
        let opened = (member.open)().map_err(|error| unreadable(member, &error))?;
        each_message(opened, Expected(None, None), &mut |message| {
            if let Some(head) = message.head {
                look = Some(head.look);
                orders.learn(&head);
            }
        })
        .map_err(|error| unreadable(member, &error))?;
        let Some(look) = look else {
            return Err(Refused::Unfit { why: format!("{} has no message with a date", member.label) });
        };
        found.push((look, orders.decide()));
    }
    let states = earlier.states(KEY);
    let planned = states.iter().filter_map(|(_, state)| state.downcast_ref::<State>());
    let known: Vec<(Look, DateOrder)> = planned
        .flat_map(|state| state.files.values().map(|file| (file.look, file.order)))
        .chain(found.iter().filter_map(|(look, order)| Some((*look, (*order)?))))
        .collect();
    let mut all = Vec::new();
    for (member, (look, order)) in members.iter().zip(found) {
        // All exports from one phone look alike.
        let of_others = || {
            let orders: Vec<DateOrder> =
                known.iter().filter(|(other, _)| *other == look).map(|(_, order)| *order).collect();
            let (first, rest) = orders.split_first()?;
            rest.iter().all(|order| order == first).then_some(*first)
        };
        let taken = match (order, ask.date_order) {
            (Some(order), _) | (None, Some(order)) => Some(order),
            (None, None) => of_others().inspect(|_| {
                notes.push(format!(
                    "The dates of {} are read in the same order of day and month as in the other exports.",
                    member.label
                ));
            }),
        };
        let Some(taken) = taken else {
            return Err(Refused::Undecided {
                question: format!("Does the day or the month come first in the dates of {}?", member.label),
                option: "--date-order",
                choices: ["dmy", "mdy"].map(str::to_owned).to_vec(),
            });
        };
        all.push((look, Order { taken, is_told: order.is_none() }));
    }
    Ok(all)
}

impl File {
    /// Reads from a file what a plan needs to know.
    fn read(
        member: &Member<'_>,
        (look, order): (Look, DateOrder),
        files: usize,
        ask: &Ask,
    ) -> io::Result<Self> {
        let mut file = Self {
            look,
            order,
            title: String::new(),
            people: BTreeSet::new(),
            period: None,
            messages: Remembered::of_chats(files),
            last_at: 0,
            ids: Ids::default(),
            found: BTreeMap::new(),
        };
        let mut clock = Clock::new(&ask.zone);
        let mut first_system = None;
        each_message((member.open)()?, Expected(Some(look), Some(order)), &mut |message| {
            let local = message.head.and_then(|head| head.at(order));
            let Some((local, ms)) = local.and_then(|local| Some((local, clock.instant(local)?))) else {
                return;
            };
            if message.is_long {
                return;
            }
            file.last_at = message.offset;
            file.period = Some(file.period.map_or((ms, ms), |(first, last)| (first.min(ms), last.max(ms))));
            let said = said(&message.rest(), look.has_brackets);
            file.messages.add(local, &message_name(&minute_of(local), &said.same));
            match said.author {
                Some(author) if said.is_system => {
                    first_system.get_or_insert(author);
                }
                Some(author) if file.people.len() < MOST_PEOPLE => {
                    file.people.insert(author);
                }
                _ => {}
            }
        })?;
        // On an iPhone, WhatsApp's own messages have the chat's name as their author.
        file.title = title(member.label, &ask.source_name, first_system).unwrap_or_else(|| {
            let people: Vec<&str> = file.people.iter().take(4).map(String::as_str).collect();
            if people.is_empty() { "WhatsApp".to_owned() } else { people.join(", ") }
        });
        Ok(file)
    }

    /// The only account that has its chat.
    fn account(&self) -> Option<&str> {
        let mut of = self.found.iter().filter(|(_, found)| found.is_there);
        let (account, _) = of.next()?;
        of.next().is_none().then_some(account.as_str())
    }

    fn about(&self, as_of: &str) -> AboutChat {
        let (first, last) = self.period.unwrap_or_default();
        AboutChat {
            as_of: as_of.to_owned(),
            title: self.title.clone(),
            people: self.people.clone(),
            first: time::format_ms(first),
            last: time::format_ms(last),
        }
    }
}

impl AboutChat {
    /// Merges what two exports say.
    fn and(self, other: Self) -> Self {
        let (older, newer) = if (&self.as_of, &self.title) <= (&other.as_of, &other.title) {
            (self, other)
        } else {
            (other, self)
        };
        Self {
            people: older.people.into_iter().chain(newer.people).take(MOST_PEOPLE).collect(),
            first: older.first.min(newer.first),
            last: older.last.max(newer.last),
            as_of: newer.as_of,
            title: newer.title,
        }
    }

    fn record(&self, id: &str) -> String {
        as_json(&ChatRecord {
            id,
            title: &self.title,
            participants: self.people.iter().map(String::as_str).collect(),
            first_message_date: &self.first,
            last_message_date: &self.last,
        })
    }
}

/// The title of a chat: from the name of its file or of the enclosing zip file or folder, or else the name that WhatsApp uses in
/// the file.
fn title(label: &str, source: &str, called: Option<String>) -> Option<String> {
    let name = base_name(label);
    let around = label.rsplit('/').nth(1).unwrap_or(source);
    let zip = without_end(around, "zip");
    let seen = |name: &str| -> String {
        let name: String = name.chars().filter(|c| !head::is_mark(*c)).collect();
        without_number(name.trim()).to_owned()
    };
    let known = [name, zip.unwrap_or(around)];
    let named = known.iter().find_map(|name| words::title(&seen(name)).map(str::to_owned));
    let is_nameless = |name: &str| name.is_empty() || name == "chat" || name.starts_with("_chat");
    let own = || [Some(name), zip].into_iter().flatten().map(seen).find(|name| !is_nameless(name));
    named.or(called).or_else(own)
}

/// A name without the ` (2)` of a file that was downloaded twice.
fn without_number(name: &str) -> &str {
    let kept = name.strip_suffix(')').and_then(|rest| rest.rsplit_once('('));
    kept.filter(|(_, number)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(name, |(kept, _)| kept.trim_end())
}

/// Finds the chat of each file in each account.
fn find_chats(files: &mut HashMap<String, File>, account: &str, zone: &TimeZone, earlier: &dyn Earlier) {
    let states = earlier.states(KEY);
    let mut accounts: BTreeSet<String> = earlier.accounts(KEY).into_iter().collect();
    accounts.extend(states.iter().map(|(account, _)| account.clone()));
    accounts.insert(account.to_owned());
    // If files belong to one chat, the one that began first gives the chat its id.
    let mut order: Vec<(&String, &File)> = files.iter().collect();
    order.sort_by_cached_key(|(label, file)| {
        (file.messages.period(), file.messages.opening().copied(), (*label).clone())
    });
    let mut all: HashMap<String, (Ids, BTreeMap<String, InAccount>)> = HashMap::new();
    for of in &accounts {
        let mut chats = Chats::of(earlier, KEY, of, CHATS);
        for (_, state) in states.iter().filter(|(planned, _)| planned == of) {
            for file in state.downcast_ref::<State>().into_iter().flat_map(|state| state.files.values()) {
                chats.add(file.ids.of(of).to_owned(), &file.title, &file.messages);
            }
        }
        let there = chats.ids();
        let has = |keys: &[String]| earlier.has(KEY, of, MESSAGES, keys);
        for (label, file) in &order {
            let Some((first, _)) = file.messages.period() else { continue };
            let export = Export { title: &file.title, messages: &file.messages };
            let Some(chat) = chats.find(&export, zone, &has) else { continue };
            let own = chat_id(&file.title, first.date());
            let (ids, found) = all.entry((*label).clone()).or_default();
            let is_own = chat.id == own;
            found.insert(
                of.clone(),
                InAccount {
                    how: chat.how,
                    is_known_again: !is_own && chat.how != How::IsAnother,
                    is_there: chat.how == How::ByMessages && there.contains(&chat.id),
                },
            );
            if !is_own {
                ids.by_account.insert(of.clone(), chat.id.clone());
            }
            ids.own = own;
            chats.add(chat.id, &file.title, &file.messages);
        }
    }
    for (label, (ids, found)) in all {
        if let Some(file) = files.get_mut(&label) {
            (file.ids, file.found) = (ids, found);
        }
    }
}

/// The notes for the owner about how chats were found.
fn told_of_chats<'a>(found: impl Iterator<Item = &'a InAccount>) -> Vec<String> {
    let (mut known_again, mut others) = (0, 0);
    for found in found {
        known_again += usize::from(found.is_known_again);
        others += usize::from(found.how == How::IsAnother);
    }
    let known_again = match known_again {
        0 => None,
        1 => Some(
            "One of these exports has messages of a chat that is already known: it is added to that chat."
                .to_owned(),
        ),
        count => Some(format!(
            "{count} of these exports have messages of chats that are already known: they are added to those chats."
        )),
    };
    let others = match others {
        0 => None,
        1 => Some(
            "One of these exports has the title and the first day of a known chat but none of its messages: it becomes a \
             separate chat. If it is from another person's phone, give it a separate account: --account NAME."
                .to_owned(),
        ),
        count => Some(format!(
            "{count} of these exports have the titles and the first days of known chats but none of their messages: they become \
             separate chats. If they are from another person's phone, give them a separate account: --account NAME."
        )),
    };
    known_again.into_iter().chain(others).collect()
}

/// Whether an account already has the messages of a file with day and month read the other way round.
fn was_read_otherwise(
    member: &Member<'_>,
    (look, order): (Look, DateOrder),
    account: &str,
    ask: &Ask,
    earlier: &dyn Earlier,
) -> io::Result<bool> {
    let other = match order {
        DateOrder::DayMonthYear => DateOrder::MonthDayYear,
        DateOrder::MonthDayYear => DateOrder::DayMonthYear,
        DateOrder::YearMonthDay => return Ok(false),
    };
    let chats = Chats::of(earlier, KEY, account, CHATS);
    if chats.ids().is_empty() {
        return Ok(false);
    }
    let file = File::read(member, (look, other), 1, ask)?;
    let export = Export { title: &file.title, messages: &file.messages };
    let has = |keys: &[String]| earlier.has(KEY, account, MESSAGES, keys);
    Ok(chats.find(&export, &ask.zone, &has).is_some_and(|chat| chat.how == How::ByMessages))
}
