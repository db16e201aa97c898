//! Slack's export of a workspace: a zip file or folder with `channels.json`, `users.json` and other lists, and a folder for each
//! channel with one file per day.
//!
//! Folders have the names of their channels; the lists give the channels' ids. Messages refer to users by id; the lists give
//! their names.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::import::agent_session::name;
use crate::import::chat_export::{self, beginning, beginning_of, folder, instant, side_file};
use crate::import::declare::{Declared, Registry, StreamLine, connector};
use crate::import::digest;
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit, Whose,
};

/// Slack's export of a workspace.
pub struct Slack;

const KEY: &str = "slack";
const CHANNELS: &str = "channels";
const USERS: &str = "users";
const MESSAGES: &str = "messages";
const MESSAGE_ATTACHMENTS: &str = "message_attachments";
const REACTIONS: &str = "reactions";
const FILES: &str = "files";
const TOO_LONG: &str = "too long";
/// How deeply blocks are searched for text, and how much of it is kept, in bytes.
const DEEPEST_BLOCK: usize = 12;
const LONGEST_BLOCKS: usize = 1 << 20;

/// The lists, and the kind of channels in each.
const LISTS: [(&str, Kind); 4] = [
    ("channels.json", Kind { is_private: false, is_im: false, is_mpim: false }),
    ("groups.json", Kind { is_private: true, is_im: false, is_mpim: false }),
    ("dms.json", Kind { is_private: true, is_im: true, is_mpim: false }),
    ("mpims.json", Kind { is_private: true, is_im: false, is_mpim: true }),
];

const STREAMS: [StreamLine; 6] = [
    StreamLine {
        name: CHANNELS,
        key: "id",
        time: "created_at/-",
        fields: "id:k! name:h topic:x purpose:x is_private:f is_im:f is_mpim:f is_archived:f creator:k members:a created_at:T",
        relations: "messages messages channel_id many, files files channel_id many",
    },
    StreamLine {
        name: USERS,
        key: "id",
        time: "",
        fields: "id:k! name:s display_name:h real_name:s email:s title:x is_bot:f deleted:f",
        relations: "messages messages user_id many, reactions reactions user_id many",
    },
    StreamLine {
        name: MESSAGES,
        key: "id",
        time: "sent_at",
        fields: "id:k! channel_id:k! user_id:k author:n bot_id:k ts:k! thread_ts:k* thread_id:k subtype:g text:b mentions:a sent_at:T! \
            edited_at:t* file_count:i",
        relations: "reactions reactions message_id many, files files message_id many, \
            message_attachments message_attachments message_id many, replies messages thread_id many",
    },
    StreamLine {
        name: MESSAGE_ATTACHMENTS,
        key: "id",
        time: "sent_at",
        fields: "id:k! message_id:k! channel_id:k! index:i! fallback:h service_name:g title:x title_link:u text:b from_url:k \
            author_name:n sent_at:T",
        relations: "",
    },
    StreamLine {
        name: REACTIONS,
        key: "id",
        time: "",
        fields: "id:k! message_id:k! channel_id:k! user_id:k! emoji:h!",
        relations: "",
    },
    StreamLine {
        name: FILES,
        key: "id",
        time: "created_at",
        fields: "id:k! message_id:k! channel_id:k! file_id:k name:s title:h mimetype:g filetype:g size:i uploader_id:k \
            permalink:u hydration_status:g! created_at:T",
        relations: "",
    },
];

const DECLARED: &[Declared] = &[Declared { registry: Registry::Upstream, key: KEY, streams: &STREAMS }];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    is_private: bool,
    is_im: bool,
    is_mpim: bool,
}

#[derive(Serialize)]
struct Channel<'a> {
    id: &'a str,
    name: Option<&'a str>,
    topic: Option<&'a str>,
    purpose: Option<&'a str>,
    is_private: Option<bool>,
    is_im: Option<bool>,
    is_mpim: Option<bool>,
    is_archived: Option<bool>,
    creator: Option<&'a str>,
    members: Vec<&'a str>,
    created_at: Option<String>,
}

#[derive(Serialize)]
struct User<'a> {
    id: &'a str,
    name: Option<&'a str>,
    display_name: Option<&'a str>,
    real_name: Option<&'a str>,
    email: Option<&'a str>,
    title: Option<&'a str>,
    is_bot: Option<bool>,
    deleted: Option<bool>,
}

#[derive(Serialize)]
struct Message<'a> {
    id: &'a str,
    channel_id: &'a str,
    user_id: Option<&'a str>,
    author: Option<&'a str>,
    bot_id: Option<&'a str>,
    ts: &'a str,
    thread_ts: Option<&'a str>,
    thread_id: Option<String>,
    subtype: Option<&'a str>,
    text: Option<String>,
    mentions: Vec<String>,
    sent_at: &'a str,
    edited_at: Option<String>,
    file_count: usize,
}

#[derive(Serialize)]
struct MessageAttachment<'a> {
    id: &'a str,
    message_id: &'a str,
    channel_id: &'a str,
    index: usize,
    fallback: Option<String>,
    service_name: Option<&'a str>,
    title: Option<String>,
    title_link: Option<&'a str>,
    text: Option<String>,
    from_url: Option<&'a str>,
    author_name: Option<&'a str>,
    sent_at: &'a str,
}

#[derive(Serialize)]
struct Reaction<'a> {
    id: &'a str,
    message_id: &'a str,
    channel_id: &'a str,
    user_id: &'a str,
    emoji: &'a str,
}

#[derive(Serialize)]
struct FileRecord<'a> {
    id: &'a str,
    message_id: &'a str,
    channel_id: &'a str,
    file_id: Option<&'a str>,
    name: Option<&'a str>,
    title: Option<&'a str>,
    mimetype: Option<&'a str>,
    filetype: Option<&'a str>,
    size: Option<u64>,
    uploader_id: Option<&'a str>,
    permalink: Option<&'a str>,
    hydration_status: &'a str,
    created_at: Option<String>,
}

/// What one export says about a record. The latest one counts.
#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Said<'a> {
    #[serde(borrow)]
    as_of: Cow<'a, str>,
    data: Cow<'a, str>,
}

/// The content of an export's lists.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Lists {
    /// The last day of the export.
    as_of: String,
    /// The folder that the owner named, if it is a single channel's folder.
    alone: String,
    /// The ids of channels, by folder.
    folders: HashMap<String, String>,
    /// The names of users and channels, by id.
    users: HashMap<String, String>,
    channels: HashMap<String, String>,
    /// A checksum that changes with the names.
    sum: String,
}

/// What a plan knows about each export, by folder.
struct State {
    exports: BTreeMap<String, Lists>,
}

/// What an item is, and which data of its export affect it.
#[derive(Serialize, Deserialize)]
struct Facts<'a> {
    /// `message`, or the name of a list.
    #[serde(borrow)]
    part: Cow<'a, str>,
    /// The channel.
    channel: Cow<'a, str>,
    /// The export's folder, its last day and the checksum of its names.
    export: Cow<'a, str>,
    as_of: Cow<'a, str>,
    sum: Cow<'a, str>,
}

impl Format for Slack {
    fn name(&self) -> &'static str {
        KEY
    }

    fn title(&self) -> &'static str {
        "a Slack export"
    }

    fn declares(&self) -> &'static [Declared] {
        DECLARED
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let head = beginning(peek.head);
        if !head.starts_with('[') {
            return None;
        }
        let name = file_name(peek.label);
        let is_list = match list_of(peek.label) {
            Some("users.json" | "org_users.json") => is_users(&head),
            Some(_) => is_channels(&head),
            None => false,
        };
        // A day without messages is an empty list.
        let is_day = is_day(name) && (is_messages(&head) || peek.is_whole && head.trim() == "[]");
        (is_list || is_day).then_some(Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Upstream, KEY, "Slack", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let mut exports: BTreeMap<String, Export> = BTreeMap::new();
        for (at, member) in members.iter().enumerate() {
            let export = exports.entry(root(member.label).to_owned()).or_default();
            export.add(at, member)?;
        }
        if exports.values().all(|export| export.days == 0)
            && exports.values().all(|export| !export.has_channels)
        {
            return Err(Refused::Unfit {
                why: "this part of a Slack export contains no channels or messages: name the zip file or the folder that has \
                    channels.json"
                    .to_owned(),
            });
        }
        if let Some(export) = exports.get_mut("") {
            // A single file does not show which channel it belongs to.
            let is_folder = !ask.source_name.is_empty() && !is_day(&ask.source_name);
            export.lists.alone = if is_folder { ask.source_name.clone() } else { "channel".to_owned() };
        }
        let known: BTreeMap<String, Lists> =
            exports.iter().map(|(root, export)| (root.clone(), export.lists())).collect();
        let state = Arc::new(State { exports: known });
        let mut plans: Vec<Plan> = Vec::new();
        for export in exports.into_values() {
            let team = export.team;
            let account = ask.account.clone().or_else(|| team.clone()).unwrap_or_else(|| KEY.to_owned());
            let mut notes = vec![
                "Files are listed by name. The export does not contain them, and pdpp does not download them.".to_owned(),
            ];
            if !export.has_dms {
                notes.push(
                    "There are no direct messages in it: Slack exports them only for workspace owners with permission to export them.".to_owned(),
                );
            }
            let is_listed = |folder: &&String| export.lists.folders.contains_key(*folder);
            let unlisted = export.seen_folders.iter().filter(|folder| !is_listed(folder)).count();
            if unlisted > 0 {
                notes.push(format!(
                    "Channels that are not in any list are named after their folders: {unlisted}."
                ));
            }
            if ask.account.is_none() && team.is_none() {
                notes.push(format!(
                    "The export does not name its workspace, so the account is called {KEY}. --account gives it another \
                     name."
                ));
            }
            match plans.iter_mut().find(|plan| plan.account == account) {
                Some(plan) => plan.units.extend(export.units),
                None => plans.push(Plan {
                    connector: Arc::clone(&connector),
                    account,
                    units: export.units,
                    notes,
                    whose: Whose { is_sure: team.is_some(), owner: team, note: None },
                    zone: ask.zone.clone(),
                    state: state.clone(),
                }),
            }
        }
        Ok(plans)
    }

    fn companions(&self, members: &[Member<'_>], others: &[&str]) -> io::Result<Vec<usize>> {
        let roots: BTreeSet<&str> = members.iter().map(|member| root(member.label)).collect();
        let folders: BTreeSet<&str> = members.iter().map(|member| folder(member.label)).collect();
        let is_part = |label: &str| {
            let name = file_name(label);
            // Folders that download programs add next to the messages, and lists that are not about messages.
            let is_list = matches!(
                name,
                "integration_logs.json"
                    | "canvases.json"
                    | "lists.json"
                    | "huddle_transcripts.json"
                    | "file_conversations.json"
            );
            let within = |root: &str| {
                if root.is_empty() {
                    Some(label)
                } else {
                    label.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'))
                }
            };
            let is_upload =
                || roots.iter().any(|root| within(root).is_some_and(|rest| rest.starts_with("__uploads/")));
            let is_attached =
                || folders.iter().any(|of| within(of).is_some_and(|rest| rest.starts_with("attachments/")));
            is_list && roots.contains(folder(label)) || is_upload() || is_attached()
        };
        Ok(others.iter().enumerate().filter(|(_, label)| is_part(label)).map(|(at, _)| at).collect())
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let none = Lists::default();
        let state = plan.state.downcast_ref::<State>();
        let export = root(unit.label);
        let lists = state.and_then(|state| state.exports.get(export)).unwrap_or(&none);
        let (part, channel) = match list_of(unit.label) {
            Some(list) => (list, String::new()),
            None => ("message", lists.channel(unit.label)),
        };
        let facts = as_json(&Facts {
            part: part.into(),
            channel: channel.into(),
            export: export.into(),
            as_of: lists.as_of.as_str().into(),
            sum: lists.sum.as_str().into(),
        });
        chat_export::split(unit, from, &mut |raw| {
            let facts =
                if raw.facts.is_empty() { facts.clone() } else { format!("{TOO_LONG} {}", raw.offset) };
            out(Raw { facts, ..raw })
        })
    }

    fn parse(&self, plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        if raw.facts.starts_with(TOO_LONG) {
            return Err(Bad("an item of more than 64 MiB"));
        }
        let facts: Facts<'_> = serde_json::from_str(&raw.facts).map_err(|_| Bad("no channel"))?;
        let element = chat_export::value(&Raw { facts: String::new(), ..raw.clone() })?;
        let none = Lists::default();
        let state = plan.state.downcast_ref::<State>();
        let lists = state.and_then(|state| state.exports.get(&*facts.export)).unwrap_or(&none);
        let mut drafts = Drafts { as_of: &facts.as_of, all: Vec::new() };
        match &*facts.part {
            "message" => return message(&element, &facts.channel, lists, drafts),
            "users.json" | "org_users.json" => user(&element, &mut drafts)?,
            list => channel(
                &element,
                LISTS.iter().find(|(known, _)| *known == list).map(|(_, kind)| *kind),
                lists,
                &mut drafts,
            )?,
        }
        Ok(Parsed::Records(drafts.all))
    }

    fn join(&self, _: &str, data: &str, sightings: &[&str]) -> String {
        let all = sightings.iter().filter_map(|said| serde_json::from_str::<Said<'_>>(said).ok());
        all.max().map_or_else(|| data.to_owned(), |said| said.data.into_owned())
    }

    fn is_whole_alone(&self) -> bool {
        true
    }

    fn shares(&self, stream: &str) -> bool {
        stream == FILES
    }

    fn add_sighting(&self, _: &str, first: &str, second: &str) -> String {
        let is_later = serde_json::from_str::<Said<'_>>(second).ok() > serde_json::from_str(first).ok();
        if is_later { second.to_owned() } else { first.to_owned() }
    }
}

fn as_json(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

fn file_name(label: &str) -> &str {
    label.rsplit('/').next().unwrap_or(label)
}

/// The list that a member's name stands for.
fn list_of(label: &str) -> Option<&'static str> {
    let name = file_name(label);
    let users = ["users.json", "org_users.json"];
    LISTS.iter().map(|(list, _)| *list).chain(users).find(|list| *list == name)
}

/// `2026-01-31.json`
fn is_day(name: &str) -> bool {
    let day = name.strip_suffix(".json").unwrap_or_default();
    day.len() == 10 && day.parse::<jiff::civil::Date>().is_ok()
}

/// The folder of the export that a member belongs to: the one that contains the lists and a folder for each channel.
fn root(label: &str) -> &str {
    let own = folder(label);
    if list_of(label).is_some() { own } else { folder(own) }
}

fn is_users(head: &str) -> bool {
    let has = |mark: &str| head.contains(mark);
    has("\"id\"")
        && has("\"profile\"")
        && (has("\"team_id\"") || has("\"is_bot\"") || has("\"real_name\"") || has("\"deleted\""))
}

fn is_channels(head: &str) -> bool {
    let has = |mark: &str| head.contains(mark);
    head.trim() == "[]"
        || has("\"id\"") && has("\"created\"") && has("\"members\"")
        || has("\"id\"") && has("\"name\"") && has("\"creator\"")
}

fn is_messages(head: &str) -> bool {
    let has = |mark: &str| head.contains(mark);
    has("\"ts\"")
        && has("\"type\"")
        && (has("\"text\"") || has("\"user\"") || has("\"subtype\"") || has("\"blocks\""))
}

/// What is found of an export.
#[derive(Default)]
struct Export {
    /// Its members, lists first.
    units: Vec<usize>,
    lists: Lists,
    days: usize,
    has_channels: bool,
    has_dms: bool,
    team: Option<String>,
    seen_folders: BTreeSet<String>,
}

impl Export {
    fn add(&mut self, at: usize, member: &Member<'_>) -> Result<(), Refused> {
        let Some(list) = list_of(member.label) else {
            self.days += 1;
            self.units.push(at);
            let day = file_name(member.label).trim_end_matches(".json");
            if self.lists.as_of.as_str() < day {
                day.clone_into(&mut self.lists.as_of);
            }
            self.seen_folders.insert(file_name(folder(member.label)).to_owned());
            return Ok(());
        };
        self.units.insert(0, at);
        let is_empty = beginning_of(member)?.trim() == "[]";
        let value = if is_empty { Value::Null } else { side_file(member)? };
        for element in value.as_array().into_iter().flatten() {
            let text = |key: &str| element[key].as_str().and_then(name);
            let Some(id) = text("id") else { continue };
            if list.ends_with("users.json") {
                if let Some(named) = user_name(element) {
                    self.lists.users.insert(id.to_owned(), named.to_owned());
                }
                let team = text("team_id").or_else(|| element["profile"]["team"].as_str().and_then(name));
                if self.team.is_none() {
                    self.team = team.map(str::to_owned);
                }
                continue;
            }
            self.has_channels = true;
            // The folder of a direct message is named after its id.
            self.lists.folders.insert(id.to_owned(), id.to_owned());
            if let Some(named) = text("name") {
                self.lists.folders.insert(named.to_owned(), id.to_owned());
                self.lists.channels.insert(id.to_owned(), named.to_owned());
            }
        }
        self.has_dms |= matches!(list, "dms.json" | "mpims.json") && !is_empty;
        Ok(())
    }

    fn lists(&self) -> Lists {
        let mut named: Vec<(&String, &String)> =
            self.lists.users.iter().chain(&self.lists.channels).collect();
        named.sort();
        let parts = named.iter().flat_map(|(id, name)| [id.as_bytes(), name.as_bytes()]);
        Lists { sum: digest::name(parts), ..self.lists.clone() }
    }
}

impl Lists {
    /// The id of the channel that a day's file belongs to.
    fn channel(&self, label: &str) -> String {
        let folder = match file_name(folder(label)) {
            "" => &self.alone,
            folder => folder,
        };
        self.folders.get(folder).map_or(folder, String::as_str).to_owned()
    }
}

/// A user's display name, or else the real name.
fn user_name(user: &Value) -> Option<&str> {
    let profile = &user["profile"];
    let texts = [&profile["display_name"], &profile["real_name"], &user["real_name"], &user["name"]];
    texts.into_iter().filter_map(|value| value.as_str().and_then(name)).find(|name| !name.trim().is_empty())
}

/// A record without keys to files: in an export, file addresses end with a token. Any such address in a record is kept without
/// its query and fragment.
fn without_keys(data: String) -> String {
    let lower = data.to_ascii_lowercase();
    if !lower.contains("xoxe") && !lower.contains("slack") {
        return data;
    }
    // The characters that end an address in JSON text.
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\\' | '<' | '>' | '|');
    let mut out = String::with_capacity(data.len());
    for part in data.split_inclusive(is_end) {
        let word = part.trim_end_matches(is_end);
        let (kept, dropped) = word.split_at(end_of_address(word));
        out.push_str(kept);
        if !dropped.is_empty() && dropped.ends_with(')') {
            out.push(')');
        }
        out.push_str(&part[word.len()..]);
    }
    out
}

/// How much of an address is kept: all of it, if it contains no key.
fn end_of_address(word: &str) -> usize {
    let lower = word.to_ascii_lowercase();
    let token = lower.find("xoxe").filter(|_| lower.contains(['/', '%', '=']));
    let host =
        ["slack.com", "slack-files.com", "slack-edge.com"].iter().filter_map(|host| lower.find(host)).min();
    let has_key = || ["?t=", "&t=", ";t=", "#t=", "%3ft%3d", "%26t%3d"].iter().any(|key| lower.contains(key));
    if token.is_none() && !(host.is_some() && has_key()) {
        return word.len();
    }
    let from = host.unwrap_or(0);
    let query = lower[from..].find(['?', '#']).or_else(|| lower[from..].find("%3f")).map(|at| from + at);
    query.into_iter().chain(token).min().unwrap_or(word.len())
}

struct Drafts<'a> {
    as_of: &'a str,
    all: Vec<Draft>,
}

impl Drafts<'_> {
    fn add(&mut self, stream: &'static str, key: &str, record: &impl Serialize) {
        let data = without_keys(as_json(record));
        let said = as_json(&Said { as_of: self.as_of.into(), data: data.as_str().into() });
        self.all.push(Draft { sighting: Some(said), ..Draft::new(stream, key, data) });
    }
}

fn user(element: &Value, drafts: &mut Drafts<'_>) -> Result<(), Bad> {
    let text =
        |value: &'_ Value| value.as_str().and_then(name).filter(|text| !text.is_empty()).map(str::to_owned);
    let id = element["id"].as_str().and_then(name).ok_or(Bad("no id"))?;
    let profile = &element["profile"];
    let [named, real, email, title] =
        [&element["name"], &profile["real_name"], &profile["email"], &profile["title"]].map(text);
    let real = real.or_else(|| text(&element["real_name"]));
    drafts.add(
        USERS,
        id,
        &User {
            id,
            name: named.as_deref(),
            display_name: user_name(element),
            real_name: real.as_deref(),
            email: email.as_deref(),
            title: title.as_deref(),
            is_bot: element["is_bot"].as_bool(),
            deleted: element["deleted"].as_bool(),
        },
    );
    Ok(())
}

fn channel(element: &Value, kind: Option<Kind>, lists: &Lists, drafts: &mut Drafts<'_>) -> Result<(), Bad> {
    let text = |value: &'_ Value| value.as_str().and_then(name).map(str::to_owned);
    let id = element["id"].as_str().and_then(name).ok_or(Bad("no id"))?;
    let members: Vec<&str> =
        element["members"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    // A group conversation has no name, so it is named after its members.
    let people = || {
        let names = members.iter().map(|member| lists.users.get(*member).map_or(*member, String::as_str));
        names.collect::<Vec<_>>().join(", ")
    };
    let is_direct = kind.is_some_and(|kind| kind.is_im || kind.is_mpim);
    let named = if is_direct { Some(people()).filter(|people| !people.is_empty()) } else { None };
    let named = named.or_else(|| text(&element["name"]));
    let [topic, purpose] = ["topic", "purpose"]
        .map(|key| text(&element[key]["value"]).map(|text| readable(&text, lists, &mut Vec::new())));
    drafts.add(
        CHANNELS,
        id,
        &Channel {
            id,
            name: named.as_deref(),
            topic: topic.as_deref(),
            purpose: purpose.as_deref(),
            is_private: element["is_private"].as_bool().or(kind.map(|kind| kind.is_private)),
            is_im: kind.map(|kind| kind.is_im),
            is_mpim: kind.map(|kind| kind.is_mpim),
            is_archived: element["is_archived"].as_bool(),
            creator: element["creator"].as_str().and_then(name),
            members,
            created_at: instant(&element["created"]),
        },
    );
    Ok(())
}

/// Whether a text is a timestamp such as `1769864602.000100`.
fn is_ts(ts: &str) -> bool {
    let (seconds, rest) = ts.split_once('.').unwrap_or((ts, ""));
    let is_number = |text: &str| text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    !seconds.is_empty() && is_number(seconds) && is_number(rest)
}

fn message(element: &Value, channel: &str, lists: &Lists, mut drafts: Drafts<'_>) -> Result<Parsed, Bad> {
    let text = |key: &str| element[key].as_str().and_then(name);
    let is_hidden = |value: &Value| *value == true || *value == 1;
    if is_hidden(&element["is_hidden_by_limit"])
        || text("subtype") == Some("hidden_by_limit")
        || text("mode") == Some("hidden_by_limit")
    {
        return Ok(Parsed::Skipped("hidden by the limit of the workspace's plan"));
    }
    let ts = text("ts").filter(|ts| is_ts(ts)).ok_or(Bad("no time"))?;
    if channel.is_empty() {
        return Err(Bad("no channel"));
    }
    let id = format!("{channel}:{ts}");
    let sent_at = instant(&Value::from(ts)).or_else(|| instant_of(ts)).ok_or(Bad("no time"))?;
    let thread_ts = text("thread_ts").filter(|ts| is_ts(ts));
    let mut mentions = Vec::new();
    let words = element["text"].as_str().unwrap_or_default();
    let mut words = readable(words, lists, &mut mentions);
    if words.trim().is_empty() {
        words.clear();
        blocks(&element["blocks"], lists, &mut mentions, 0, &mut words);
    }
    mentions.dedup();
    let files = || {
        element["files"]
            .as_array()
            .into_iter()
            .flatten()
            .chain([&element["file"]])
            .filter(|file| file.is_object())
    };
    drafts.add(
        MESSAGES,
        &id,
        &Message {
            id: &id,
            channel_id: channel,
            user_id: text("user"),
            author: author(element, lists),
            bot_id: text("bot_id"),
            ts,
            thread_ts,
            thread_id: thread_ts.filter(|thread| *thread != ts).map(|thread| format!("{channel}:{thread}")),
            subtype: text("subtype"),
            text: Some(words).filter(|words| !words.trim().is_empty()),
            mentions,
            sent_at: &sent_at,
            edited_at: element["edited"]["ts"].as_str().and_then(instant_of),
            file_count: files().count(),
        },
    );
    for (index, attachment) in element["attachments"].as_array().into_iter().flatten().enumerate() {
        attached(attachment, (&id, channel, &sent_at), index, lists, &mut drafts);
    }
    for (index, file) in files().enumerate() {
        let text = |key: &str| file[key].as_str().and_then(name);
        let key = format!("{id}:{}", text("id").map_or_else(|| index.to_string(), str::to_owned));
        drafts.add(
            FILES,
            &key,
            &FileRecord {
                id: &key,
                message_id: &id,
                channel_id: channel,
                file_id: text("id"),
                name: text("name"),
                title: text("title").or_else(|| text("name")),
                mimetype: text("mimetype"),
                filetype: text("filetype"),
                size: file["size"].as_u64(),
                uploader_id: text("user"),
                // `url_private` is never imported: it is a key to the file.
                permalink: text("permalink"),
                hydration_status: "deferred",
                created_at: instant(&file["created"]).or_else(|| Some(sent_at.clone())),
            },
        );
    }
    for reaction in element["reactions"].as_array().into_iter().flatten() {
        let Some(emoji) = reaction["name"].as_str().and_then(name) else { continue };
        for user in
            reaction["users"].as_array().into_iter().flatten().filter_map(|user| user.as_str().and_then(name))
        {
            let key = format!("{id}:{emoji}:{user}");
            drafts.add(
                REACTIONS,
                &key,
                &Reaction { id: &key, message_id: &id, channel_id: channel, user_id: user, emoji },
            );
        }
    }
    Ok(Parsed::Records(drafts.all))
}

/// The instant of a `ts`.
fn instant_of(ts: &str) -> Option<String> {
    let seconds: f64 = ts.parse().ok()?;
    instant(&Value::from(seconds)).filter(|_| seconds > 0.0)
}

/// The author's name, from the list or else from the message.
fn author<'a>(element: &'a Value, lists: &'a Lists) -> Option<&'a str> {
    let user = element["user"].as_str();
    let listed = user.and_then(|user| lists.users.get(user)).map(String::as_str);
    let texts = [
        &element["user_profile"]["display_name"],
        &element["user_profile"]["real_name"],
        &element["username"],
        &element["bot_profile"]["name"],
    ];
    let told = || {
        texts
            .into_iter()
            .filter_map(|value| value.as_str().and_then(name))
            .find(|name| !name.trim().is_empty())
    };
    listed.or_else(told).or_else(|| user.and_then(name))
}

/// Adds a link preview, or content that an app posted.
fn attached(
    attachment: &Value,
    of: (&str, &str, &str),
    index: usize,
    lists: &Lists,
    drafts: &mut Drafts<'_>,
) {
    let (message_id, channel_id, sent_at) = of;
    let plain = |key: &str| attachment[key].as_str().and_then(name);
    let mut mentions = Vec::new();
    let mut words = |key: &str| {
        attachment[key]
            .as_str()
            .filter(|text| !text.is_empty())
            .map(|text| readable(text, lists, &mut mentions))
    };
    let (pretext, own) = (words("pretext"), words("text"));
    let (fallback, title) = (words("fallback"), words("title"));
    let mut text = [pretext, own].into_iter().flatten().collect::<Vec<_>>().join("\n");
    for field in attachment["fields"].as_array().into_iter().flatten() {
        let [title, value] = ["title", "value"].map(|key| field[key].as_str().unwrap_or_default());
        if text.len() < LONGEST_BLOCKS {
            let _ = write!(text, "\n{title}: {}", readable(value, lists, &mut mentions));
        }
    }
    if text.is_empty() {
        blocks(&attachment["blocks"], lists, &mut mentions, 0, &mut text);
    }
    let key = format!("{message_id}:att:{index}");
    drafts.add(
        MESSAGE_ATTACHMENTS,
        &key,
        &MessageAttachment {
            id: &key,
            message_id,
            channel_id,
            index,
            fallback,
            service_name: plain("service_name"),
            title,
            title_link: plain("title_link"),
            text: Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            from_url: plain("from_url"),
            author_name: plain("author_name"),
            sent_at,
        },
    );
}

/// Collects the text of blocks, for a message that has no other text.
fn blocks(value: &Value, lists: &Lists, mentions: &mut Vec<String>, depth: usize, words: &mut String) {
    if depth > DEEPEST_BLOCK || words.len() > LONGEST_BLOCKS {
        return;
    }
    match value {
        Value::Array(parts) => {
            for part in parts {
                blocks(part, lists, mentions, depth + 1, words);
            }
        }
        Value::Object(block) => {
            let text = |key: &str| block.get(key).and_then(Value::as_str);
            match (text("type"), text("text")) {
                (Some("user"), _) => words.push_str(&readable(
                    &format!("<@{}>", text("user_id").unwrap_or_default()),
                    lists,
                    mentions,
                )),
                (Some("channel"), _) => words.push_str(&readable(
                    &format!("<#{}>", text("channel_id").unwrap_or_default()),
                    lists,
                    mentions,
                )),
                (Some("emoji"), _) => words.extend([":", text("name").unwrap_or_default(), ":"]),
                (Some("link"), shown) => match (shown, text("url")) {
                    (Some(shown), Some(url)) if shown != url => words.extend([shown, " (", url, ")"]),
                    (_, url) => words.push_str(url.unwrap_or_default()),
                },
                (Some("text"), Some(text)) => words.push_str(text),
                (_, Some(text)) => words.push_str(&readable(text, lists, mentions)),
                (kind, None) => {
                    for key in ["text", "elements", "fields", "title", "alt_text"] {
                        if let Some(part) = block.get(key) {
                            blocks(part, lists, mentions, depth + 1, words);
                        }
                    }
                    let is_line = kind.is_some_and(|kind| {
                        kind.starts_with("rich_text_") || matches!(kind, "section" | "header" | "context")
                    });
                    if is_line && !words.ends_with('\n') && !words.is_empty() {
                        words.push('\n');
                    }
                }
            }
        }
        _ => {}
    }
    if depth == 0 {
        words.truncate(words.trim_end().len());
    }
}

/// A text in readable form: `<@U123>` becomes a name, and `<https://…|words>` becomes both parts. The ids of mentioned users are
/// added to `mentions`.
fn readable(text: &str, lists: &Lists, mentions: &mut Vec<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        out.push_str(&plain(&rest[..start]));
        let inner = &rest[start + 1..];
        let Some(end) = inner.find('>').filter(|end| !inner[..*end].contains(['<', '\n'])) else {
            out.push('<');
            rest = inner;
            continue;
        };
        out.push_str(&reference(&inner[..end], lists, mentions));
        rest = &inner[end + 1..];
    }
    out.push_str(&plain(rest));
    out
}

/// Decodes the three characters that Slack escapes.
fn plain(text: &str) -> Cow<'_, str> {
    if text.contains('&') {
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").into()
    } else {
        text.into()
    }
}

/// The readable form of what is between `<` and `>`.
fn reference(inner: &str, lists: &Lists, mentions: &mut Vec<String>) -> String {
    let (to, shown) = inner
        .split_once('|')
        .map_or((inner, None), |(to, shown)| (to, Some(plain(shown)).filter(|shown| !shown.is_empty())));
    let called = |known: Option<&String>| known.cloned().or_else(|| shown.as_deref().map(str::to_owned));
    if let Some(id) = to.strip_prefix('@') {
        mentions.push(id.to_owned());
        return format!(
            "@{}",
            called(lists.users.get(id)).unwrap_or_else(|| id.to_owned()).trim_start_matches('@')
        );
    }
    if let Some(id) = to.strip_prefix('#') {
        return format!(
            "#{}",
            called(lists.channels.get(id)).unwrap_or_else(|| id.to_owned()).trim_start_matches('#')
        );
    }
    if let Some(command) = to.strip_prefix('!') {
        // `<!here>`, `<!subteam^S1|@team>`, `<!date^…|Monday>`
        return shown.map_or_else(
            || format!("@{command}"),
            |shown| match command.split('^').next() {
                Some("date") => shown.into_owned(),
                _ => format!("@{}", shown.trim_start_matches('@')),
            },
        );
    }
    let to = plain(to);
    let address = to.strip_prefix("mailto:").or_else(|| to.strip_prefix("tel:")).unwrap_or(&to);
    let bare = |url: &str| {
        url.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches('/').to_owned()
    };
    match shown {
        Some(shown) if bare(&shown) != bare(address) => format!("{shown} ({address})"),
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::import::harness::{
        Counts, Kept, ask, assert_twice_is_once_in_any_order, imported, plan, sniff, split,
    };

    fn users(ana: &str) -> Value {
        json!([
            {"id": "U1", "team_id": "T1", "name": "ana", "deleted": false, "is_bot": false,
                "profile": {"display_name": ana, "real_name": "Ana Green", "email": "ana@example.org", "title": "Gardener"}},
            {"id": "U2", "team_id": "T1", "name": "ben", "deleted": true, "is_bot": false, "real_name": "Ben Brown",
                "profile": {"display_name": "", "real_name": "Ben Brown"}},
        ])
    }

    fn channels(named: &str) -> Value {
        json!([{"id": "C1", "name": named, "created": 1_769_860_000, "creator": "U1", "is_archived": false, "members": ["U1", "U2"],
            "topic": {"value": "beds &amp; <@U1>"}, "purpose": {"value": ""}}])
    }

    fn said(ts: &str, user: &str, text: &str) -> Value {
        json!({"type": "message", "user": user, "text": text, "ts": ts, "client_msg_id": "x", "team": "T1"})
    }

    fn files(parts: &[(&str, Value)]) -> Vec<(String, Vec<u8>)> {
        parts.iter().map(|(label, value)| ((*label).to_owned(), value.to_string().into_bytes())).collect()
    }

    fn named(files: &[(String, Vec<u8>)]) -> Vec<(&str, &[u8])> {
        files.iter().map(|(label, bytes)| (label.as_str(), &bytes[..])).collect()
    }

    fn import(parts: &[(&str, Value)]) -> (Kept, Counts) {
        imported(&Slack, &named(&files(parts)))
    }

    fn record(kept: &Kept, stream: &str, key: &str) -> Value {
        let found = kept.records.iter().find(|((_, of, id), _)| of == stream && id == key);
        found.map_or(Value::Null, |(_, data)| serde_json::from_str(data).unwrap())
    }

    fn keys(kept: &Kept, stream: &str) -> Vec<String> {
        kept.records.keys().filter(|(_, of, _)| of == stream).map(|(_, _, key)| key.clone()).collect()
    }

    fn garden(messages: &[Value]) -> Vec<(&'static str, Value)> {
        vec![
            ("channels.json", channels("garden")),
            ("users.json", users("Ana")),
            ("garden/2026-01-31.json", Value::from(messages.to_vec())),
        ]
    }

    #[test]
    fn o5_1_a_workspace_becomes_messages_of_its_channels() {
        let (kept, counts) = import(&garden(&[said("1769868202.000100", "U1", "Which beds, <@U2>?")]));
        assert_eq!((counts.read, counts.new), (4, 4));
        assert_eq!(kept.records.keys().next().unwrap().0, "T1");
        assert_eq!(
            record(&kept, MESSAGES, "C1:1769868202.000100"),
            json!({"id": "C1:1769868202.000100", "channel_id": "C1", "user_id": "U1", "author": "Ana", "bot_id": null,
                "ts": "1769868202.000100", "thread_ts": null, "thread_id": null, "subtype": null, "text": "Which beds, @Ben Brown?",
                "mentions": ["U2"], "sent_at": "2026-01-31T14:03:22.000Z", "edited_at": null, "file_count": 0})
        );
        assert_eq!(
            record(&kept, CHANNELS, "C1"),
            json!({"id": "C1", "name": "garden", "topic": "beds & @Ana", "purpose": null, "is_private": false, "is_im": false, "is_mpim": false,
                "is_archived": false, "creator": "U1", "members": ["U1", "U2"], "created_at": "2026-01-31T11:46:40.000Z"})
        );
        assert_eq!(
            record(&kept, USERS, "U1"),
            json!({"id": "U1", "name": "ana", "display_name": "Ana", "real_name": "Ana Green", "email": "ana@example.org",
                "title": "Gardener", "is_bot": false, "deleted": false})
        );
    }

    #[test]
    fn o5_2_streams_are_upstreams() {
        let files = files(&garden(&[]));
        let plans = plan(&Slack, &named(&files), ask()).unwrap();
        assert_eq!(plans[0].connector.id, "https://registry.pdpp.dev/connectors/slack");
        let stream = |name: &str| plans[0].connector.stream(name).unwrap().clone();
        assert_eq!(stream(MESSAGES).consent_time_field.as_deref(), Some("sent_at"));
        assert_eq!(stream(CHANNELS).consent_time_field, None);
        assert_eq!(stream(REACTIONS).cursor_field, None);
        assert!(stream(CHANNELS).relations.iter().any(|to| to.stream == MESSAGES));
        assert!(plans[0].notes.iter().any(|note| note.starts_with("There are no direct messages")));
        assert_eq!(plans[0].whose.owner.as_deref(), Some("T1"));
    }

    #[test]
    fn contents_and_names_decide_what_is_an_export() {
        for (label, value) in garden(&[said("1.000100", "U1", "x")]) {
            assert_eq!(sniff(&Slack, label, value.to_string().as_bytes()), Some(Sure::Certain), "{label}");
        }
        assert_eq!(sniff(&Slack, "garden/2026-01-31.json", b"[]"), Some(Sure::Certain));
        for (label, text) in [
            ("users.json", "[{\"uuid\":\"1\",\"full_name\":\"Ana\",\"email_address\":\"a@b\"}]"),
            ("users.json", "{}"),
            ("channels.json", "[{\"id\":1}]"),
            ("garden/2026-01-31.json", "[{\"a\":1}]"),
            ("garden/2026-02-31.json", "[]"),
            ("garden/today.json", "[{\"type\":\"message\",\"ts\":\"1.1\",\"text\":\"x\"}]"),
        ] {
            assert_eq!(sniff(&Slack, label, text.as_bytes()), None, "{label} {text}");
        }
        let only = files(&[("x/users.json", users("Ana"))]);
        assert!(matches!(plan(&Slack, &named(&only), ask()), Err(Refused::Unfit { .. })));
    }

    #[test]
    fn folders_are_names_and_ids_are_by_list() {
        let day = |ts: &str| json!([said(ts, "U1", "x")]);
        let (kept, _) = import(&[
            ("e/channels.json", channels("garden")),
            (
                "e/groups.json",
                json!([{"id": "G1", "name": "secret", "created": 1_769_860_000, "creator": "U1", "members": ["U1"]}]),
            ),
            ("e/dms.json", json!([{"id": "D1", "created": 1_769_860_000, "members": ["U1", "U2"]}])),
            (
                "e/mpims.json",
                json!([{"id": "G2", "name": "mpdm-ana--ben-1", "created": 1_769_860_000, "creator": "U1", "members": ["U1", "U2", "U3"]}]),
            ),
            ("e/users.json", users("Ana")),
            ("e/garden/2026-01-31.json", day("1769868202.000100")),
            ("e/secret/2026-01-31.json", day("1769868202.000200")),
            ("e/D1/2026-01-31.json", day("1769868202.000300")),
            ("e/mpdm-ana--ben-1/2026-01-31.json", day("1769868202.000400")),
            ("e/gone/2026-01-31.json", day("1769868202.000500")),
        ]);
        assert_eq!(
            keys(&kept, MESSAGES),
            [
                "C1:1769868202.000100",
                "D1:1769868202.000300",
                "G1:1769868202.000200",
                "G2:1769868202.000400",
                "gone:1769868202.000500"
            ]
        );
        let day = files(&[("gone/2026-01-31.json", day("1769868202.000500"))]);
        let plans = plan(&Slack, &named(&day), ask()).unwrap();
        assert!(
            plans[0]
                .notes
                .contains(&"Channels that are not in any list are named after their folders: 1.".to_owned())
        );
        let channel = |id: &str| {
            let found = record(&kept, CHANNELS, id);
            (
                found["name"].clone(),
                found["is_private"].clone(),
                found["is_im"].clone(),
                found["is_mpim"].clone(),
            )
        };
        assert_eq!(channel("G1"), (json!("secret"), json!(true), json!(false), json!(false)));
        assert_eq!(channel("D1"), (json!("Ana, Ben Brown"), json!(true), json!(true), json!(false)));
        assert_eq!(channel("G2"), (json!("Ana, Ben Brown, U3"), json!(true), json!(false), json!(true)));
    }

    #[test]
    fn texts_are_made_readable_and_lose_nothing() {
        let lists = Lists {
            users: [("U1".to_owned(), "Ana".to_owned())].into(),
            channels: [("C1".to_owned(), "garden".to_owned())].into(),
            ..Lists::default()
        };
        for (text, wanted) in [
            ("<@U1> and <@U9> and <@U8|carl>", "@Ana and @U9 and @carl"),
            ("in <#C1> and <#C2|old>", "in #garden and #old"),
            ("<!here> <!subteam^S1|@team> <!date^1^{date}|Monday>", "@here @team Monday"),
            ("<https://example.org/a?b=1&amp;c=2>", "https://example.org/a?b=1&c=2"),
            ("<https://example.org/a|the beds>", "the beds (https://example.org/a)"),
            ("<http://example.org|example.org>", "http://example.org"),
            ("<mailto:ana@example.org|ana@example.org>", "ana@example.org"),
            ("1 &lt; 2 &amp;&amp; 3 &gt; 2, &amp;lt;", "1 < 2 && 3 > 2, &lt;"),
            ("a < b\n<", "a < b\n<"),
        ] {
            assert_eq!(readable(text, &lists, &mut Vec::new()), wanted, "{text}");
        }
        let mut mentions = Vec::new();
        readable("<@U1> <@U9>", &lists, &mut mentions);
        assert_eq!(mentions, ["U1", "U9"]);
    }

    #[test]
    fn threads_edits_bots_files_and_reactions_are_kept() {
        let mut parent = said("1769868202.000100", "U1", "Look");
        parent["thread_ts"] = "1769868202.000100".into();
        parent["edited"] = json!({"user": "U1", "ts": "1769868262.000000"});
        parent["files"] = json!([{"id": "F1", "name": "bed.jpg", "title": "The bed", "mimetype": "image/jpeg", "filetype": "jpg",
            "size": 7, "user": "U1", "created": 1_769_868_200, "permalink": "https://x.slack.com/f/F1", "url_private": "https://x"}]);
        parent["reactions"] = json!([{"name": "+1", "users": ["U1", "U2"], "count": 2}]);
        let mut reply = said("1769868203.000100", "U2", "Nice");
        reply["thread_ts"] = "1769868202.000100".into();
        let bot = json!({"type": "message", "subtype": "bot_message", "bot_id": "B1", "username": "Weather", "ts": "1769868204.000100",
            "text": "", "attachments": [{"fallback": "Rain", "title": "Today", "title_link": "https://w", "text": "Rain at <!date^1^x|noon>",
                "fields": [{"title": "mm", "value": "3"}]}]});
        let blocks = json!({"type": "message", "user": "U1", "ts": "1769868205.000100", "text": "", "blocks": [{"type": "rich_text", "elements":
            [{"type": "rich_text_section", "elements": [{"type": "text", "text": "Hi "}, {"type": "user", "user_id": "U2"},
                {"type": "link", "url": "https://a", "text": "there"}]}]}]});
        let (kept, counts) = import(&garden(&[parent, reply, bot, blocks]));
        assert_eq!((counts.read, counts.new), (7, 7));
        let message = record(&kept, MESSAGES, "C1:1769868202.000100");
        assert_eq!(
            (&message["edited_at"], &message["thread_id"]),
            (&json!("2026-01-31T14:04:22.000Z"), &Value::Null)
        );
        assert_eq!((&message["file_count"], &message["thread_ts"]), (&json!(1), &json!("1769868202.000100")));
        assert_eq!(record(&kept, MESSAGES, "C1:1769868203.000100")["thread_id"], "C1:1769868202.000100");
        assert_eq!(record(&kept, MESSAGES, "C1:1769868204.000100")["author"], "Weather");
        assert_eq!(record(&kept, MESSAGES, "C1:1769868205.000100")["text"], "Hi @Ben Brownthere (https://a)");
        let attached = record(&kept, MESSAGE_ATTACHMENTS, "C1:1769868204.000100:att:0");
        assert_eq!((&attached["title"], &attached["text"]), (&json!("Today"), &json!("Rain at noon\nmm: 3")));
        let file = record(&kept, FILES, "C1:1769868202.000100:F1");
        assert_eq!((&file["title"], &file["hydration_status"]), (&json!("The bed"), &json!("deferred")));
        assert_eq!(keys(&kept, REACTIONS), ["C1:1769868202.000100:+1:U1", "C1:1769868202.000100:+1:U2"]);
        assert_eq!(record(&kept, REACTIONS, "C1:1769868202.000100:+1:U2")["emoji"], "+1");
    }

    #[test]
    fn no_key_to_a_file_is_kept() {
        let url = |number: u32| {
            format!("https://files.slack.com/files-pri/T1-F{number}/b.png?t=xoxe-SECRET{number}")
        };
        let mut message =
            said("1769868202.000100", "U1", &format!("See <{}|the bed> and {}", url(1), url(2)));
        message["files"] = json!([
            {"id": "F1", "name": "b.png", "url_private": url(3), "url_private_download": url(4), "thumb_360": url(5)},
            {"id": "F2", "name": "c.png", "url_private": url(3), "permalink": format!("{}#page", url(6))},
            {"id": "F3", "title": url(7), "permalink": "https://x.slack.com/files/U1/F3?t=SECRET&v=1"},
        ]);
        message["attachments"] = json!([
            {"fallback": format!("[{}]", url(8)), "title": url(9), "title_link": url(10), "from_url": url(11), "text": format!("<{}>", url(12)),
                "service_name": url(13), "author_name": "files.slack.com/x?a=1&amp;t=SECRET",
                "fields": [{"title": "f", "value": format!("<{}|files.slack.com/y?t=SECRET>", url(14))}]},
            {"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": format!("<{}>", url(15))}}]},
            {"title_link": "https://x.example/?to=https%3A%2F%2Ffiles.slack.com%2Fb.png%3Ft%3Dxoxe-SECRET",
                "from_url": "https://x.slack.com/archives/C1/p1?thread_ts=1.2&cid=C1", "text": "https://files.slack.com/a?T=XOXE-SECRET\nnext"},
        ]);
        let blocks = json!({"type": "message", "user": "U1", "ts": "1769868205.000100", "text": "", "blocks": [{"type": "rich_text", "elements":
            [{"type": "rich_text_section", "elements": [{"type": "link", "url": url(16), "text": "there"}, {"type": "link", "url": url(17)}]}]}]});
        let mut channels = channels("garden");
        channels[0]["topic"]["value"] = url(18).into();
        let parts = [
            ("channels.json", channels),
            ("users.json", users(&url(19))),
            ("garden/2026-01-31.json", json!([message, blocks])),
        ];
        let files = files(&parts);
        let plans = plan(&Slack, &named(&files), ask()).unwrap();
        let mut drafts = 0;
        for (label, bytes) in named(&files) {
            for raw in split(&Slack, &plans[0], label, bytes, 0).0 {
                let Ok(Parsed::Records(all)) = Slack.parse(&plans[0], &raw) else { panic!("{label}") };
                for draft in all {
                    drafts += 1;
                    let whole = format!("{} {:?} {:?}", draft.key, draft.data, draft.sighting).to_lowercase();
                    assert!(!whole.contains("secret") && !whole.contains("xoxe"), "{whole}");
                }
            }
        }
        assert_eq!(drafts, 11);
        let (kept, _) = import(&parts);
        let of = |stream: &str, key: &str| record(&kept, stream, &format!("C1:1769868202.000100{key}"));
        assert_eq!(
            of(MESSAGES, "")["text"],
            "See the bed (https://files.slack.com/files-pri/T1-F1/b.png) and https://files.slack.com/files-pri/T1-F2/b.png"
        );
        assert_eq!(of(FILES, ":F1")["permalink"], Value::Null);
        assert_eq!(of(FILES, ":F2")["permalink"], "https://files.slack.com/files-pri/T1-F6/b.png");
        assert_eq!(of(FILES, ":F3")["permalink"], "https://x.slack.com/files/U1/F3");
        let attached = of(MESSAGE_ATTACHMENTS, ":att:2");
        assert_eq!(attached["from_url"], "https://x.slack.com/archives/C1/p1?thread_ts=1.2&cid=C1");
        assert_eq!(attached["text"], "https://files.slack.com/a\nnext");
        // Text that is not a key is kept.
        for text in [
            "https://example.org/v?t=42",
            "what is xoxe?",
            "https://x.slack.com/files/U1/F3?v=1#a",
            "a \"slack.com\" | b\\?t=1",
        ] {
            let (kept, _) = import(&garden(&[said("1769868202.000100", "U1", text)]));
            assert_eq!(record(&kept, MESSAGES, "C1:1769868202.000100")["text"], text);
        }
    }

    #[test]
    fn what_is_hidden_by_a_limit_is_skipped_and_what_is_wrong_is_bad() {
        let mut hidden = said("1769868202.000100", "U1", "");
        hidden["is_hidden_by_limit"] = 1.into();
        let (_, counts) = import(&garden(&[
            hidden,
            said("soon", "U1", "x"),
            json!(1),
            said("1769868202.000100", "U1", "x"),
        ]));
        assert_eq!(counts.skipped, [("hidden by the limit of the workspace's plan", 1)].into());
        assert_eq!((counts.bad, counts.new), ([("no time", 2)].into(), 4));
    }

    #[test]
    fn a_channel_and_a_person_that_are_renamed_are_the_same() {
        let first = files(&garden(&[said("1769868202.000100", "U1", "for <@U1>")]));
        let second = files(&[
            ("channels.json", channels("flowers")),
            ("users.json", users("Ana G")),
            ("flowers/2026-01-31.json", json!([said("1769868202.000100", "U1", "for <@U1>")])),
            ("flowers/2026-02-01.json", json!([said("1769954602.000100", "U1", "more")])),
        ]);
        let relabel = |files: &[(String, Vec<u8>)], at: usize| -> Vec<(String, Vec<u8>)> {
            files.iter().map(|(label, bytes)| (format!("{at}/{label}"), bytes.clone())).collect()
        };
        for order in [[0, 1], [1, 0]] {
            let mut kept = Kept::default();
            for at in order {
                kept.import(&Slack, &named(&relabel([&first, &second][at], at)));
            }
            assert_eq!(keys(&kept, CHANNELS), ["C1"]);
            assert_eq!(record(&kept, CHANNELS, "C1")["name"], "flowers");
            assert_eq!(keys(&kept, MESSAGES), ["C1:1769868202.000100", "C1:1769954602.000100"]);
            let message = record(&kept, MESSAGES, "C1:1769868202.000100");
            assert_eq!((&message["author"], &message["text"]), (&json!("Ana G"), &json!("for @Ana G")));
        }
    }

    #[test]
    fn two_workspaces_are_two_accounts_and_what_lies_beside_is_theirs() {
        let mut other = users("Cleo");
        other[0]["team_id"] = "T2".into();
        let (kept, _) = import(&[
            ("a/channels.json", channels("garden")),
            ("a/users.json", users("Ana")),
            ("a/garden/2026-01-31.json", json!([said("1769868202.000100", "U1", "x")])),
            ("b/channels.json", channels("garden")),
            ("b/users.json", other),
            ("b/garden/2026-01-31.json", json!([said("1769868202.000100", "U1", "y")])),
        ]);
        let of = |account: &str| {
            kept.records[&(account.to_owned(), MESSAGES.to_owned(), "C1:1769868202.000100".to_owned())]
                .clone()
        };
        assert!(of("T1").contains("\"author\":\"Ana\"") && of("T2").contains("\"author\":\"Cleo\""));
        let open =
            || Ok(Box::new(io::Cursor::new(Vec::new())) as Box<dyn crate::import::format::ReadFrom + Send>);
        let member = |label| Member { label, head: b"[]", size: Some(2), modified_ms: None, open: &open };
        let members = [member("a/channels.json"), member("a/garden/2026-01-31.json")];
        let others = [
            "a/integration_logs.json",
            "b/integration_logs.json",
            "a/garden/attachments/t.csv",
            "a/__uploads/F1/t.csv",
            "a/t.csv",
        ];
        assert_eq!(Slack.companions(&members, &others).unwrap(), [0, 2, 3]);
    }

    fn messages() -> impl Strategy<Value = Vec<Value>> {
        // The content of a moment does not change from one export to the next.
        proptest::collection::vec(0_u32..30, 0..8).prop_map(|moments| {
            let said = |at: u32| {
                said(
                    &format!("17698682{at:02}.000100"),
                    if at.is_multiple_of(3) { "U1" } else { "U2" },
                    &format!("said {at} <@U1>"),
                )
            };
            moments.into_iter().map(said).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn twice_is_once_and_no_order_counts(first in messages(), second in messages()) {
            let lists = [("channels.json", channels("garden")), ("users.json", users("Ana"))];
            let days = [("garden/2026-01-31.json", Value::from(first)), ("garden/2026-02-01.json", Value::from(second))];
            let files = files(&[&lists[..], &days[..]].concat());
            let named = named(&files);
            let mut kept = Kept::default();
            kept.import(&Slack, &named);
            let records = kept.records.clone();
            let counts = kept.import(&Slack, &named);
            prop_assert_eq!(counts.read, counts.same);
            prop_assert_eq!(&kept.records, &records);
            let turned: Vec<(&str, &[u8])> = named.iter().rev().copied().collect();
            prop_assert_eq!(&imported(&Slack, &turned).0.records, &records);
        }

        #[test]
        fn cut_anywhere_and_finished_is_whole(messages in messages(), limit in 1_usize..4) {
            let files = files(&garden(&messages));
            let (kept, _) = imported(&Slack, &named(&files));
            let mut parts = Kept::default();
            for _ in 0..12 {
                parts.import_some(&Slack, &named(&files), ask(), limit);
            }
            prop_assert_eq!(parts.records, kept.records);
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), text in "[<>@#!|&a;\\n^]{0,40}", at in 0_usize..3000) {
            let mut parts = files(&garden(&[said("1769868202.000100", "U1", &text), said("1769868203.000100", "U2", "x")]));
            let of = at % parts.len();
            let at = at % parts[of].1.len();
            parts[of].1.splice(at..at, bytes);
            for (label, bytes) in &parts {
                sniff(&Slack, label, bytes);
            }
            if let Ok(plans) = plan(&Slack, &named(&parts), ask()) {
                for unit in &plans[0].units {
                    let (label, bytes) = &parts[*unit];
                    let mut unit = Unit { label, modified_ms: None, bytes: Box::new(io::Cursor::new(bytes.clone())) };
                    let _ = Slack.split(&plans[0], &mut unit, 0, &mut |raw| {
                        let _ = Slack.parse(&plans[0], &raw);
                        std::ops::ControlFlow::Continue(())
                    });
                }
            }
        }
    }

    #[test]
    fn one_export_in_any_order_is_the_same() {
        let files = files(&garden(&[said("1769868202.000100", "U1", "x")]));
        let day = [("garden/2026-01-31.json", &files[2].1[..])];
        // Without lists, the names of ids are unknown.
        assert_twice_is_once_in_any_order(&Slack, &day);
        let (kept, _) = imported(&Slack, &day);
        assert_eq!(record(&kept, MESSAGES, "garden:1769868202.000100")["author"], "U1");
        // A channel's folder alone gives the channel its name.
        let (kept, _) = imported(&Slack, &[("2026-01-31.json", &files[2].1)]);
        assert_eq!(keys(&kept, MESSAGES), ["export:1769868202.000100"]);
    }
}
