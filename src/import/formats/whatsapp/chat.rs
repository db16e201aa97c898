//! Finds the chat that a file belongs to: one that is already known, or a new one.
//!
//! An export contains no permanent name of its chat. A chat is therefore recognised by its messages: by their minutes and words.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde::Deserialize;

use crate::import::digest;
use crate::import::earlier::Earlier;
use crate::vault::time;

/// The limits for how many messages are remembered to recognise their chats: at most for one chat, at most for all chats of a
/// source, and at least for each chat.
const MOST_OF_CHAT: usize = 20_000;
const MOST_OF_SOURCE: usize = 500_000;
const LEAST_OF_CHAT: usize = 200;
/// How many messages must match if the titles differ.
const LEAST_SAME: usize = 20;
/// How many must match if the titles are the same.
const LEAST_SAME_OF_TITLE: usize = 3;
/// How many messages are checked against a known chat, at most and in the first pass.
const LOOKED_FOR: usize = 400;
const LOOKED_FOR_FIRST: usize = 8;
/// How many of a file's first messages are always remembered.
const OPENING: usize = 100;
/// How many messages in common with an earlier export make its chat worth a closer look.
const LEAST_ALIKE: usize = 1;

/// The name of a message within its chat: a digest of its minute and its words.
pub fn message_name(minute: &str, same: &str) -> String {
    digest::name([minute.as_bytes(), same.as_bytes()])
}

/// A message's id.
pub fn message_id(chat: &str, name: &str, copy: u32) -> String {
    digest::name([chat.as_bytes(), name.as_bytes(), &copy.to_be_bytes()])
}

/// The id of a new chat.
pub fn chat_id(title: &str, first: Date) -> String {
    digest::name([title.trim().to_lowercase().as_bytes(), first.to_string().as_bytes()])
}

/// The id of a new chat if another one with this title began on this day. Its first message tells them apart.
fn another_id(title: &str, first: Date, message: &[u8]) -> String {
    digest::name([title.trim().to_lowercase().as_bytes(), first.to_string().as_bytes(), message])
}

/// The messages of a chat, by name. Of a long chat, only every second, fourth, … message is kept, and it is the same selection in
/// every export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    most: usize,
    level: u32,
    messages: Vec<(DateTime, [u8; 24])>,
    /// The first messages of the file, without gaps.
    opening: Vec<[u8; 24]>,
    first: Option<DateTime>,
    last: Option<DateTime>,
}

fn is_kept(name: &[u8; 24], level: u32) -> bool {
    let number = std::str::from_utf8(&name[..8]).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok());
    number.is_some_and(|number| number.trailing_zeros() >= level)
}

impl Remembered {
    /// Starts with a limit that depends on the number of chats.
    pub fn of_chats(chats: usize) -> Self {
        let most = (MOST_OF_SOURCE / chats.max(1)).clamp(LEAST_OF_CHAT, MOST_OF_CHAT);
        Self { most, level: 0, messages: Vec::new(), opening: Vec::new(), first: None, last: None }
    }

    /// Remembers a message.
    pub fn add(&mut self, at: DateTime, name: &str) {
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
        let Ok(name) = <[u8; 24]>::try_from(name.as_bytes()) else { return };
        if self.opening.len() < OPENING {
            self.opening.push(name);
        }
        if !is_kept(&name, self.level) {
            return;
        }
        self.messages.push((at, name));
        while self.messages.len() > self.most {
            self.level += 1;
            let level = self.level;
            self.messages.retain(|(_, name)| is_kept(name, level));
        }
    }

    /// The times of the first and the last message.
    pub fn period(&self) -> Option<(DateTime, DateTime)> {
        Some((self.first?, self.last?))
    }

    /// The name of the first message of the file.
    pub fn opening(&self) -> Option<&[u8; 24]> {
        self.opening.first()
    }

    fn within(&self, from: DateTime, to: DateTime, level: u32) -> impl Iterator<Item = &[u8; 24]> {
        let is_within = move |at: &DateTime| (from..=to).contains(at);
        let kept = self.messages.iter().filter(move |(at, name)| is_within(at) && is_kept(name, level));
        kept.map(|(_, name)| name)
    }

    /// Compares two exports with the same title and first day.
    fn beside(&self, other: &Self) -> Beside {
        let names = |of: &'_ Self| -> HashSet<[u8; 24]> {
            of.opening.iter().chain(of.messages.iter().map(|(_, name)| name)).copied().collect()
        };
        let (own, others) = (names(self), names(other));
        match () {
            () if own.intersection(&others).next().is_some() => Beside::Same,
            () if own.len() < 2 || others.len() < 2 => Beside::Unsaid,
            () => Beside::Another,
        }
    }

    /// Whether two exports are of the same chat.
    fn is_same_as(&self, other: &Self, has_title: bool) -> bool {
        let (Some(own), Some(others)) = (self.period(), other.period()) else { return false };
        let (from, to) = (own.0.max(others.0), own.1.min(others.1));
        let level = self.level.max(other.level);
        let own: HashSet<_> = self.within(from, to, level).collect();
        let others: HashSet<_> = other.within(from, to, level).collect();
        is_enough(own.intersection(&others).count(), own.len().min(others.len()), level, has_title)
    }
}

/// Whether `same` common messages, out of `all`, show that two exports are of the same chat. At a higher level, each remembered
/// message stands for several.
fn is_enough(same: usize, all: usize, level: u32, has_title: bool) -> bool {
    let least = if has_title { LEAST_SAME_OF_TITLE.min(all) } else { LEAST_SAME };
    same > 0
        && same.saturating_mul(1 << level.min(20)) >= least
        && same * 2 >= all
        && (level == 0 || same >= 3)
}

/// What the messages show about two chats with the same title and first day. The first variant that applies counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Beside {
    /// They have a message in common.
    Same,
    /// They have none in common.
    Another,
    /// One of them has a single message, which may be the beginning of a longer chat.
    Unsaid,
}

/// How the chat of an export was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The messages match.
    ByMessages,
    /// The title and the first day match, and the messages do not contradict them.
    ByName,
    /// A chat with that title and first day exists but has none of the messages, so this is another chat.
    IsAnother,
    /// The chat is new.
    IsNew,
}

/// The chat of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundChat {
    /// Its id.
    pub id: String,
    /// How it was found.
    pub how: How,
}

/// A chat in the store.
#[derive(Deserialize)]
struct Known {
    id: String,
    title: Option<String>,
    first_message_date: Option<String>,
    last_message_date: Option<String>,
}

/// What identifies the chat of an export.
pub struct Export<'a> {
    /// Its title.
    pub title: &'a str,
    /// Its messages.
    pub messages: &'a Remembered,
}

/// The chat of an earlier export in this import.
struct Planned<'a> {
    id: String,
    title: &'a str,
    messages: &'a Remembered,
}

/// The chats of an account: those in the store, and those of exports that come earlier in this import.
pub struct Chats<'a> {
    known: Vec<Known>,
    planned: Vec<Planned<'a>>,
    /// Which of the planned chats has a message.
    of: HashMap<&'a [u8; 24], usize>,
}

impl<'a> Chats<'a> {
    /// The chats of an account in the store.
    pub fn of(earlier: &dyn Earlier, connector: &str, account: &str, stream: &str) -> Self {
        let known = earlier.records(connector, account, stream);
        let known = known.iter().filter_map(|data| serde_json::from_str(data).ok()).collect();
        Self { known, planned: Vec::new(), of: HashMap::new() }
    }

    /// Adds the chat of an export that comes earlier in this import.
    pub fn add(&mut self, id: String, title: &'a str, messages: &'a Remembered) {
        for (_, name) in &messages.messages {
            self.of.entry(name).or_insert(self.planned.len());
        }
        self.planned.push(Planned { id, title, messages });
    }

    /// The earlier exports that have some of the messages.
    fn alike(&self, messages: &Remembered) -> Vec<&Planned<'a>> {
        let mut hits: BTreeMap<usize, usize> = BTreeMap::new();
        for (_, name) in &messages.messages {
            if let Some(at) = self.of.get(name) {
                *hits.entry(*at).or_default() += 1;
            }
        }
        let alike = hits.into_iter().filter(|(_, count)| *count >= LEAST_ALIKE);
        alike.filter_map(|(at, _)| self.planned.get(at)).collect()
    }

    /// The ids of the existing chats.
    pub fn ids(&self) -> HashSet<String> {
        let known = self.known.iter().map(|known| &known.id);
        known.chain(self.planned.iter().map(|planned| &planned.id)).cloned().collect()
    }

    /// Compares the chat with this id, if it exists, with an export that has its title and first day.
    fn beside(&self, id: &str, export: &Export<'_>, has: &dyn Fn(&[String]) -> Vec<bool>) -> Option<Beside> {
        let known = self.known.iter().filter(|known| known.id == id);
        let planned = self.planned.iter().filter(|planned| planned.id == id);
        let known = known.map(|known| known.beside(export.messages, has));
        known.chain(planned.map(|planned| planned.messages.beside(export.messages))).min()
    }

    /// Finds the chat of an export. `has` says which messages the account has.
    pub fn find(
        &self,
        export: &Export<'_>,
        zone: &TimeZone,
        has: &dyn Fn(&[String]) -> Vec<bool>,
    ) -> Option<FoundChat> {
        let found = |id: &str, how| Some(FoundChat { id: id.to_owned(), how });
        let (first, _) = export.messages.period()?;
        let own = chat_id(export.title, first.date());
        let message = export.messages.opening().map_or(&[][..], |name| &name[..]);
        let another = another_id(export.title, first.date(), message);
        let of_name = self.beside(&own, export, has);
        match (of_name, self.beside(&another, export, has)) {
            (Some(Beside::Same), _) => return found(&own, How::ByMessages),
            (_, Some(Beside::Same)) => return found(&another, How::ByMessages),
            (_, Some(_)) => return found(&another, How::ByName),
            (Some(Beside::Unsaid), None) => return found(&own, How::ByName),
            (Some(Beside::Another) | None, None) => {}
        }
        let alike = self.alike(export.messages);
        let is_title = |title: &str| title.trim().to_lowercase() == export.title.trim().to_lowercase();
        for has_title in [true, false] {
            let of_title = |known: &&Known| known.title.as_deref().is_some_and(is_title) == has_title;
            if let Some(known) =
                self.known.iter().filter(of_title).find(|known| is_known(known, export, zone, has_title, has))
            {
                return found(&known.id, How::ByMessages);
            }
            let is_it = |planned: &&&Planned<'_>| {
                is_title(planned.title) == has_title
                    && planned.messages.is_same_as(export.messages, has_title)
            };
            if let Some(planned) = alike.iter().find(is_it) {
                return found(&planned.id, How::ByMessages);
            }
        }
        if of_name.is_some() { found(&another, How::IsAnother) } else { found(&own, How::IsNew) }
    }
}

impl Known {
    /// Compares its messages with an export that has its title and first day.
    fn beside(&self, export: &Remembered, has: &dyn Fn(&[String]) -> Vec<bool>) -> Beside {
        let all = &export.messages;
        let some = all.iter().step_by(all.len().div_ceil(LOOKED_FOR).max(1)).map(|(_, name)| name);
        let names: HashSet<&[u8; 24]> = export.opening.iter().chain(some).collect();
        let names = names.iter().filter_map(|name| std::str::from_utf8(&name[..]).ok());
        let keys: Vec<String> = names.map(|name| message_id(&self.id, name, 0)).collect();
        match () {
            () if has(&keys).contains(&true) => Beside::Same,
            () if keys.len() < 2 || self.first_message_date == self.last_message_date => Beside::Unsaid,
            () => Beside::Another,
        }
    }
}

/// Whether the messages of an export match a known chat, in the period that both cover.
fn is_known(
    known: &Known,
    export: &Export<'_>,
    zone: &TimeZone,
    has_title: bool,
    has: &dyn Fn(&[String]) -> Vec<bool>,
) -> bool {
    let local = |text: &Option<String>| {
        let ms = time::parse_ms(text.as_deref()?)?;
        let at = jiff::Timestamp::from_millisecond(ms).ok()?;
        Some(zone.to_datetime(at))
    };
    let (Some(first), Some(last)) = (local(&known.first_message_date), local(&known.last_message_date))
    else {
        return false;
    };
    let messages: Vec<&[u8; 24]> = export.messages.within(first, last, 0).collect();
    // A sample from the whole period; each message in it stands for several.
    let step = messages.len().div_ceil(LOOKED_FOR).max(1);
    let keys: Vec<String> = messages
        .iter()
        .step_by(step)
        .filter_map(|name| std::str::from_utf8(&name[..]).ok())
        .map(|name| message_id(&known.id, name, 0))
        .collect();
    let count = |keys: &[String]| has(keys).into_iter().filter(|is_there| *is_there).count();
    let sparse = keys.len().div_ceil(LOOKED_FOR_FIRST).max(1);
    let probe: Vec<String> = keys.iter().step_by(sparse).cloned().collect();
    if count(&probe) == 0 {
        return false;
    }
    let common = count(&keys);
    let weight = step.saturating_mul(1 << export.messages.level.min(20));
    let wanted = if has_title { LEAST_SAME_OF_TITLE.min(keys.len()) } else { LEAST_SAME };
    let is_much = common.saturating_mul(weight) >= wanted && (weight == 1 || common >= 3);
    common > 0 && is_much && common * 2 >= keys.len()
}

/// The id of an export's chat, which may differ between accounts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ids {
    /// The id in accounts that do not know the chat.
    pub own: String,
    /// The ids in accounts that know the chat under another id.
    pub by_account: BTreeMap<String, String>,
}

impl Ids {
    /// The id in an account.
    pub fn of(&self, account: &str) -> &str {
        self.by_account.get(account).unwrap_or(&self.own)
    }
}
