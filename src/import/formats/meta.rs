//! Facebook and Instagram exports in JSON: chats in `messages/inbox/NAME_ID/message_1.json`, posts, comments and searches.
//!
//! Both services write the same files, into folders whose names have changed over the years. Text is garbled in most exports:
//! each UTF-8 byte is written as a Latin-1 character (`\u00c3\u00a9` for `é`).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::import::agent_session::name;
use crate::import::chat_export::{beginning, side_file};
use crate::import::declare::{Declared, Registry, StreamLine, connector};
use crate::import::digest;
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit, Whose,
};
use crate::import::json_elements::{self, Element};
use crate::import::json_tree;
use crate::import::json_value;
use crate::import::sent_file::{self, ATTACHMENTS, SentFile};
use crate::import::table::{Copies, hash};
use crate::vault::time;

/// Facebook and Instagram exports.
pub struct Meta;

const CHATS: &str = "chats";
const MESSAGES: &str = "messages";
const POSTS: &str = "posts";
const COMMENTS: &str = "comments";
const SEARCHES: &str = "searches";
/// The longest value outside of a list, in bytes, such as a title or the people in a chat.
const LONGEST_REST: usize = 4 << 20;
/// The most people that are kept for a chat.
const MOST_PEOPLE: usize = 2000;
/// The latest valid time, in milliseconds: the year 2200.
const LATEST_MS: f64 = 7_258_118_400_000.0;

const STREAMS: [StreamLine; 6] = [
    StreamLine {
        name: CHATS,
        key: "id",
        time: "last_message_date/first_message_date",
        fields: "id:k! title:h participants:a* folder:g first_message_date:t last_message_date:T*",
        relations: "messages messages chat_id many",
    },
    StreamLine {
        name: MESSAGES,
        key: "id",
        time: "sent_at",
        fields: "id:k! chat_id:k! author:n content:b sent_at:T! has_attachment:f is_system:f is_unsent:f* link:u link_text:x \
                 call_seconds:i reactions:a*",
        relations: "attachments attachments message_id many",
    },
    sent_file::STREAM,
    StreamLine {
        name: POSTS,
        key: "id",
        time: "created_at",
        fields: "id:k! text:b title:x kind:g! place:s link:u media:a has_attachment:f created_at:T!",
        relations: "",
    },
    StreamLine {
        name: COMMENTS,
        key: "id",
        time: "created_at",
        fields: "id:k! text:b title:x author:n about:s created_at:T!",
        relations: "",
    },
    StreamLine {
        name: SEARCHES,
        key: "id",
        time: "searched_at",
        fields: "id:k! query:h searched_at:T!",
        relations: "",
    },
];
const DECLARED: &[Declared] = &[
    Declared { registry: Registry::Local, key: Service::Facebook.key(), streams: &STREAMS },
    Declared { registry: Registry::Local, key: Service::Instagram.key(), streams: &STREAMS },
];

#[derive(Serialize)]
struct Message<'a> {
    id: &'a str,
    chat_id: &'a str,
    author: Option<Cow<'a, str>>,
    content: Option<Cow<'a, str>>,
    sent_at: &'a str,
    has_attachment: bool,
    is_system: bool,
    is_unsent: bool,
    link: Option<&'a str>,
    link_text: Option<Cow<'a, str>>,
    call_seconds: Option<u64>,
    reactions: Vec<String>,
}

#[derive(Serialize)]
struct Post<'a> {
    id: &'a str,
    text: Option<String>,
    title: Option<Cow<'a, str>>,
    kind: &'a str,
    place: Option<Cow<'a, str>>,
    link: Option<&'a str>,
    media: Vec<&'a str>,
    has_attachment: bool,
    created_at: String,
}

#[derive(Serialize)]
struct Comment<'a> {
    id: &'a str,
    text: Option<Cow<'a, str>>,
    title: Option<Cow<'a, str>>,
    author: Option<Cow<'a, str>>,
    about: Option<Cow<'a, str>>,
    created_at: String,
}

#[derive(Serialize)]
struct Search<'a> {
    id: &'a str,
    query: Cow<'a, str>,
    searched_at: String,
}

/// What one file says about its chat. A long chat has several files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Chat {
    id: String,
    title: Option<String>,
    participants: Vec<String>,
    folder: Option<String>,
    first: Option<i64>,
    last: Option<i64>,
}

#[derive(Serialize)]
struct ChatRecord<'a> {
    id: &'a str,
    title: Option<&'a str>,
    participants: &'a [String],
    folder: Option<&'a str>,
    first_message_date: Option<String>,
    last_message_date: Option<String>,
}

impl Chat {
    fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// Merges two files' data. The title and the people come from the file with the newest message.
    fn and(self, other: Self) -> Self {
        let (first, last) =
            (self.first.into_iter().chain(other.first).min(), self.last.into_iter().chain(other.last).max());
        let order =
            |chat: &Self| (chat.last, chat.title.clone(), chat.participants.clone(), chat.folder.clone());
        let newest = if order(&self) >= order(&other) { self } else { other };
        Self { first, last, ..newest }
    }

    fn record(&self) -> String {
        as_json(&ChatRecord {
            id: &self.id,
            title: self.title.as_deref(),
            participants: &self.participants,
            folder: self.folder.as_deref(),
            first_message_date: self.first.map(time::format_ms),
            last_message_date: self.last.map(time::format_ms),
        })
    }
}

/// The service that a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Service {
    Facebook,
    Instagram,
}

impl Service {
    const fn key(self) -> &'static str {
        match self {
            Self::Facebook => "facebook",
            Self::Instagram => "instagram",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Facebook => "Facebook",
            Self::Instagram => "Instagram",
        }
    }

    /// The service that a path names.
    fn named(path: &str) -> Option<Self> {
        let path = path.to_ascii_lowercase();
        match (path.contains("facebook"), path.contains("instagram")) {
            (true, false) => Some(Self::Facebook),
            (false, true) => Some(Self::Instagram),
            _ => None,
        }
    }
}

/// The content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The messages of a chat.
    Chat,
    /// The messages of a chat, in the format of an export of encrypted chats.
    SecureChat,
    /// Facebook posts.
    Posts,
    /// Instagram posts and stories.
    Media(&'static str),
    /// Facebook comments.
    Comments,
    /// Instagram comments.
    MediaComments,
    /// Searches.
    Searches,
    /// The profile of the export's owner.
    Profile(Service),
    /// The HTML form of the export.
    Html,
}

/// The kinds of lists, by the first key of an object.
const LISTS: [(&str, Kind); 18] = [
    ("messages", Kind::Chat),
    ("status_updates", Kind::Posts),
    ("comments_v2", Kind::Comments),
    ("comments", Kind::Comments),
    ("group_comments_v2", Kind::Comments),
    ("comments_media_comments", Kind::MediaComments),
    ("comments_reels_comments", Kind::MediaComments),
    ("searches_v2", Kind::Searches),
    ("searches", Kind::Searches),
    ("searches_keyword", Kind::Searches),
    ("searches_user", Kind::Searches),
    ("searches_hashtag", Kind::Searches),
    ("group_posts_v2", Kind::Posts),
    ("ig_stories", Kind::Media("story")),
    ("ig_reels_media", Kind::Media("reel")),
    ("ig_archived_post_media", Kind::Media("archived")),
    ("ig_igtv_media", Kind::Media("video")),
    ("ig_other_media", Kind::Media("other")),
];

/// Folders at the top of an export.
const TOP: [&str; 22] = [
    "your_facebook_activity",
    "your_instagram_activity",
    "your_activity_across_facebook",
    "personal_information",
    "profile_information",
    "logged_information",
    "security_and_login_information",
    "preferences",
    "connections",
    "ads_information",
    "apps_and_websites_off_of_facebook",
    "messages",
    "posts",
    "comments",
    "comments_and_reactions",
    "groups",
    "content",
    "media",
    "search",
    "search_history",
    "recent_searches",
    "account_information",
];

/// A file to read.
#[derive(Debug, Clone)]
struct File {
    kind: Kind,
    /// The chat that it belongs to.
    chat: String,
}

struct State(HashMap<String, File>);

impl Format for Meta {
    fn name(&self) -> &'static str {
        "meta"
    }

    fn title(&self) -> &'static str {
        "a Facebook or Instagram export in JSON"
    }

    fn declares(&self) -> &'static [Declared] {
        DECLARED
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        kind_of(peek.label, peek.head).map(|_| Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let mut files: Vec<(usize, Kind)> = Vec::new();
        let mut exports: BTreeMap<&str, Export> = BTreeMap::new();
        for (at, member) in members.iter().enumerate() {
            let unreadable =
                |error: io::Error| Refused::Unreadable(format!("{} cannot be read: {error}", member.label));
            let head = member.beginning().map_err(unreadable)?;
            let Some(kind) = kind_of(member.label, &head) else { continue };
            let export = exports.entry(top(member.label)).or_default();
            match kind {
                Kind::Html => export.has_html = true,
                Kind::Profile(service) => {
                    export.service = Some(service);
                    export.owner = owner(&side_file(member)?, service).or(export.owner.take());
                }
                kind => {
                    if export.guess.is_none() {
                        export.guess = guess(member.label, &head, kind);
                    }
                    files.push((at, kind));
                }
            }
        }
        if files.is_empty() {
            let why = if exports.values().any(|export| export.has_html) {
                "it is an export in HTML, which pdpp cannot read. Ask Facebook or Instagram for it again, and choose JSON as \
                 its format (Accounts Centre, Your information and permissions, Export your information)"
            } else {
                "this part of the export has no chats, posts, comments or searches: name the whole export"
            };
            return Err(Refused::Unfit { why: why.to_owned() });
        }
        let mut by_account: BTreeMap<(Service, String), Found> = BTreeMap::new();
        let owners: Vec<(Service, String)> = exports
            .values()
            .filter_map(|export| Some((export.service?, export.owner.clone()?)))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        for (at, kind) in files {
            let member = &members[at];
            let root = top(member.label);
            let Some(export) = exports.get(root) else { continue };
            let service = export
                .service
                .or(export.guess)
                .or_else(|| Service::named(root))
                .or_else(|| Service::named(&ask.source_name));
            // Only one part of an export names the owner, so it applies to the other parts.
            let only = || match owners.as_slice() {
                [(of, owner)] if service.is_none_or(|service| service == *of) => Some((*of, owner.clone())),
                _ => None,
            };
            let other = if export.owner.is_some() { None } else { only() };
            let owner = export.owner.clone().or_else(|| other.clone().map(|(_, owner)| owner));
            let service = service.or(other.map(|(of, _)| of)).unwrap_or(Service::Facebook);
            let account =
                ask.account.clone().or_else(|| owner.clone()).unwrap_or_else(|| service.key().to_owned());
            let found = by_account.entry((service, account)).or_default();
            found.owner = found.owner.take().or(owner);
            let chat = chat_id(member, kind)?;
            found.files.insert(member.label.to_owned(), File { kind, chat });
            found.units.push(at);
        }
        let has_html = exports.values().any(|export| export.has_html);
        let plans = by_account.into_iter().map(|((service, account), found)| {
            let connector = connector(Registry::Local, service.key(), service.title(), &STREAMS)
                .map_err(|error| Refused::Unreadable(error.to_string()))?;
            let Found { owner, mut units, files } = found;
            units.sort_by_key(|at| members[*at].label);
            let mut notes = vec![
                "Any chats, posts, comments and searches are imported. Pictures and videos are listed by name but \
                 not imported."
                    .to_owned(),
            ];
            if has_html {
                notes.push("HTML pages are skipped.".to_owned());
            }
            if owner.is_none() && ask.account.is_none() {
                notes.push(format!(
                    "No file with personal information names the owner of this export, so the account is called {account}. \
                     --account gives it another name."
                ));
            }
            Ok(Plan {
                connector,
                account,
                units,
                notes,
                whose: Whose { is_sure: owner.is_some(), owner, note: None },
                zone: ask.zone.clone(),
                state: Arc::new(State(files)),
            })
        });
        plans.collect()
    }

    fn split(&self, plan: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let file = plan.state.downcast_ref::<State>().and_then(|State(files)| files.get(unit.label));
        let Some(File { kind, chat }) = file.cloned() else { return Ok(End { at: from }) };
        let mut splitter = Splitter {
            kind,
            chat: Chat { id: chat, folder: folder_of(unit.label).map(str::to_owned), ..Chat::default() },
            copies: Copies::default(),
            from,
            end: from,
            is_over: false,
        };
        let is_list = |key: &str| key.is_empty() || LISTS.iter().any(|(known, _)| *known == key);
        // Reads from the start even when resuming, because messages with the same time are counted from the first one.
        let end = json_tree::parts(&mut unit.bytes, json_elements::LONGEST, &is_list, &mut |part| {
            if part.is_element {
                return splitter.element(part.element, out);
            }
            splitter.rest(&part.key, part.element);
            ControlFlow::Continue(())
        })?;
        if splitter.is_over {
            return Ok(End { at: splitter.end });
        }
        if matches!(kind, Kind::Chat | Kind::SecureChat) && from < end {
            let bytes = as_json(&splitter.chat).into_bytes();
            let raw =
                Raw { offset: end - 1, next: end, line: None, bytes, facts: "chat".to_owned(), copy: 0 };
            let _ = out(raw);
        }
        Ok(End { at: end })
    }

    fn parse(&self, _: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        let (what, more) = raw.facts.split_once('\n').unwrap_or((&raw.facts, ""));
        match what {
            "long" => return Err(Bad("an element of more than 64 MiB")),
            "chat" => {
                let sighting = String::from_utf8_lossy(&raw.bytes).into_owned();
                let chat = Chat::read(&sighting);
                let draft = Draft::new(CHATS, chat.id.clone(), chat.record());
                return Ok(Parsed::Records(vec![Draft { sighting: Some(sighting), ..draft }]));
            }
            _ => {}
        }
        let element = json_value::read(&raw.bytes)?;
        if !element.is_object() {
            return Err(Bad("not a JSON object"));
        }
        match what {
            "message" => message(&element, more, raw.copy),
            "post" => post(&element, raw.copy),
            "comment" => comment(&element, raw.copy),
            "media comment" => media_comment(&element, raw.copy),
            "search" => search(&element, raw.copy),
            _ => media(&element, more, raw.copy),
        }
    }

    fn join(&self, stream: &str, data: &str, sightings: &[&str]) -> String {
        if stream != CHATS {
            return data.to_owned();
        }
        let all = sightings.iter().map(|said| Chat::read(said)).reduce(Chat::and);
        all.map_or_else(|| data.to_owned(), |chat| chat.record())
    }

    fn is_whole_alone(&self) -> bool {
        true
    }

    fn add_sighting(&self, stream: &str, first: &str, second: &str) -> String {
        if stream == CHATS { as_json(&Chat::read(first).and(Chat::read(second))) } else { second.to_owned() }
    }
}

/// What is known about an export, or about a part of one.
#[derive(Debug, Default)]
struct Export {
    service: Option<Service>,
    guess: Option<Service>,
    owner: Option<String>,
    has_html: bool,
}

/// The files of an account.
#[derive(Default)]
struct Found {
    owner: Option<String>,
    units: Vec<usize>,
    files: HashMap<String, File>,
}

/// The state while a file is split.
struct Splitter {
    kind: Kind,
    chat: Chat,
    copies: Copies,
    from: u64,
    end: u64,
    is_over: bool,
}

impl Splitter {
    fn element(&mut self, element: Element, out: &mut Out<'_>) -> ControlFlow<()> {
        let Element { offset, next, bytes } = element;
        let (mut facts, mut copy) = (format!("long\n{offset}"), 0);
        if let Some(bytes) = &bytes {
            // Content that is not JSON is detected when it is parsed.
            let light: Light = serde_json::from_slice(bytes).unwrap_or_default();
            let moment = light.moment();
            if matches!(self.kind, Kind::Chat | Kind::SecureChat)
                && let Some(ms) = moment
            {
                self.chat.first = self.chat.first.into_iter().chain([ms]).min();
                self.chat.last = self.chat.last.into_iter().chain([ms]).max();
            }
            // Elements without a time are identified by their bytes. Equal ones are counted, so that none is lost.
            let name = moment.map_or_else(|| hash([&bytes[..]]), |ms| hash([&ms.to_be_bytes()[..]]));
            copy = self.copies.before(name);
            facts = match self.kind {
                Kind::Chat | Kind::SecureChat => format!("message\n{}", self.chat.id),
                Kind::Posts => "post".to_owned(),
                Kind::Comments => "comment".to_owned(),
                Kind::MediaComments => "media comment".to_owned(),
                Kind::Searches => "search".to_owned(),
                Kind::Media(kind) => format!("media\n{kind}"),
                Kind::Profile(_) | Kind::Html => return ControlFlow::Continue(()),
            };
        }
        if offset < self.from {
            return ControlFlow::Continue(());
        }
        self.end = next;
        let flow = out(Raw { offset, next, line: None, bytes: bytes.unwrap_or_default(), facts, copy });
        self.is_over = flow.is_break();
        flow
    }

    /// Reads what a chat's file says apart from its messages.
    fn rest(&mut self, key: &str, element: Element) {
        let bytes = element.bytes.filter(|bytes| bytes.len() <= LONGEST_REST).unwrap_or_default();
        if !matches!(key, "participants" | "title" | "threadName") {
            return;
        }
        let Ok(value) = json_value::read(&bytes) else { return };
        match key {
            "participants" => {
                let people = list(&value).filter_map(|one| one["name"].as_str().or_else(|| one.as_str()));
                self.chat.participants =
                    people.map(|name| mended(name).into_owned()).take(MOST_PEOPLE).collect();
            }
            "title" => self.chat.title = value.as_str().map(|title| mended(title).into_owned()),
            // The number in `Ben_7` distinguishes chats with the same name.
            _ => {
                let title = value.as_str().map(mended);
                self.chat.title = title.map(|title| {
                    let (name, number) = title.rsplit_once('_').unwrap_or((&title, ""));
                    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
                    if is_number { name.to_owned() } else { title.clone().into_owned() }
                });
            }
        }
    }
}

/// The fields of an element that are read before it is parsed.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Light {
    timestamp_ms: Value,
    timestamp: Value,
    creation_timestamp: Value,
}

impl Light {
    fn moment(&self) -> Option<i64> {
        [&self.timestamp_ms, &self.timestamp, &self.creation_timestamp].into_iter().find_map(instant)
    }
}

/// The content of a member, or `None` if it is not a file that is read.
fn kind_of(label: &str, head: &[u8]) -> Option<Kind> {
    let text = beginning(head);
    let is_in = |folder: &str| label.split('/').any(|part| part == folder);
    let file = label.rsplit('/').next().unwrap_or_default();
    if text.starts_with('<') {
        let is_page = text.starts_with("<html") || text.starts_with("<!DOCTYPE html");
        let is_ours = ["your_facebook_activity", "your_instagram_activity", "your_activity_across_facebook"]
            .into_iter()
            .any(is_in)
            || file.starts_with("message_") && label.contains("/inbox/")
            || matches!(file, "profile_information.html" | "your_facebook_information.html")
            || file == "personal_information.html" && is_in("personal_information");
        return (is_page && is_ours).then_some(Kind::Html);
    }
    let has = |mark: &str| text.contains(mark);
    if let Some(inner) = text.strip_prefix('[') {
        if !inner.trim_start().starts_with('{') {
            return None;
        }
        // Since 2024, names are in the owner's language, and the file name shows what a file is.
        let is_labelled = has("\"string_map_data\"") || has("\"label_values\"");
        return match () {
            () if is_labelled && (is_in("comments") || file.contains("comments")) => {
                Some(Kind::MediaComments)
            }
            () if is_labelled && file.contains("searches") => Some(Kind::Searches),
            () if is_labelled => None,
            () if has("\"creation_timestamp\"")
                && has("\"uri\"")
                && has("\"media\"")
                && !has("\"timestamp\"") =>
            {
                Some(Kind::Media("post"))
            }
            () if has("\"timestamp\"")
                && (is_in("posts") || file.starts_with("your_posts"))
                && (has("\"data\"") || has("\"attachments\"")) =>
            {
                Some(Kind::Posts)
            }
            () => None,
        };
    }
    let key = text.strip_prefix('{')?.trim_start().strip_prefix('"')?.split('"').next()?;
    match key {
        "profile_v2" | "profile" if has("\"name\"") => Some(Kind::Profile(Service::Facebook)),
        "profile_user" => Some(Kind::Profile(Service::Instagram)),
        "participants" | "messages" | "threadName" | "title" | "is_still_participant"
            if has("\"messages\"") && has("\"participants\"") =>
        {
            let is_secure = has("\"threadName\"") || has("\"senderName\"");
            Some(if is_secure { Kind::SecureChat } else { Kind::Chat })
        }
        // Some programs sort the keys. Then the people come last.
        "messages" | "title" | "is_still_participant"
            if has("\"messages\"") && has("\"sender_name\"") && has("\"timestamp_ms\"") =>
        {
            Some(Kind::Chat)
        }
        // Other kinds of files use these keys too.
        "messages" => None,
        "comments" | "searches" if !has("\"timestamp\"") => None,
        key => LISTS.iter().find(|(known, _)| *known == key).map(|(_, kind)| *kind),
    }
}

/// The path of the folder that contains an export, including the final slash.
fn top(label: &str) -> &str {
    let mut at = 0;
    for part in label.split('/') {
        if TOP.contains(&part) {
            return &label[..at];
        }
        at += part.len() + 1;
    }
    label.rfind('/').map_or("", |at| &label[..=at])
}

/// The service that a file seems to come from.
fn guess(label: &str, head: &[u8], kind: Kind) -> Option<Service> {
    let head = beginning(head);
    let says = |mark: &str| label.contains(mark) || head.contains(mark);
    match kind {
        _ if says("your_instagram_activity") => Some(Service::Instagram),
        _ if says("your_facebook_activity") || says("your_activity_across_facebook") => {
            Some(Service::Facebook)
        }
        Kind::Media(_) | Kind::MediaComments => Some(Service::Instagram),
        Kind::Searches
            if ["searches_keyword", "searches_user", "searches_hashtag"].iter().any(|mark| says(mark)) =>
        {
            Some(Service::Instagram)
        }
        Kind::Comments | Kind::Posts | Kind::SecureChat | Kind::Searches => Some(Service::Facebook),
        _ => None,
    }
}

/// The owner of an export: an address or a name that no one else has.
fn owner(profile: &Value, service: Service) -> Option<String> {
    let found = match service {
        Service::Facebook => {
            let profile = profile.get("profile_v2").unwrap_or(&profile["profile"]);
            let named = || {
                // Many people have the same name, so the date of registration is added.
                let since = instant(&profile["registration_timestamp"])?;
                Some(format!("{} since {}", mended(profile["name"]["full_name"].as_str()?), time::day(since)))
            };
            list(&profile["emails"]["emails"])
                .find_map(Value::as_str)
                .or_else(|| profile["username"].as_str())
                .or_else(|| profile["profile_uri"].as_str())
                .map(|text| mended(text).into_owned())
                .or_else(named)
        }
        Service::Instagram => {
            let values = profile["profile_user"][0]["string_map_data"].as_object();
            let values: Vec<(String, Cow<'_, str>)> = values
                .into_iter()
                .flatten()
                .filter_map(|(key, value)| {
                    let value = value["value"].as_str().filter(|value| !value.is_empty())?;
                    Some((mended(key).to_lowercase(), mended(value)))
                })
                .collect();
            let is_name = |key: &str| {
                // The key is in the owner's language. These are the languages of most exports.
                [
                    "username",
                    "benutzername",
                    "nom d’utilisateur",
                    "nom d'utilisateur",
                    "nombre de usuario",
                    "nome de usuário",
                    "nome utente",
                    "gebruikersnaam",
                    "användarnamn",
                    "brugernavn",
                    "brukernavn",
                    "nazwa użytkownika",
                    "имя пользователя",
                    "kullanıcı adı",
                    "ユーザーネーム",
                    "用户名",
                    "使用者名稱",
                    "사용자 이름",
                ]
                .contains(&key)
            };
            let is_address = |value: &str| value.contains('@') && value.contains('.') && !value.contains(' ');
            values
                .iter()
                .find(|(key, _)| is_name(key))
                .or_else(|| values.iter().find(|(_, value)| is_address(value)))
                .map(|(_, value)| value.clone().into_owned())
        }
    };
    found.map(|owner| owner.trim().to_lowercase()).filter(|owner| name(owner).is_some())
}

/// The id of a chat: its folder's name without the part that changes when the chat is renamed.
fn chat_id(member: &Member<'_>, kind: Kind) -> Result<String, Refused> {
    let mut parts = member.label.rsplit('/');
    let file = parts.next().unwrap_or_default();
    if kind == Kind::SecureChat {
        return Ok(file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned());
    }
    if kind != Kind::Chat {
        return Ok(String::new());
    }
    let folder = match parts.next().filter(|_| folder_of(member.label).is_some()) {
        Some(folder) => folder.to_owned(),
        // The file was moved out of its folder. Its end says where it was.
        None => thread_path(member)
            .map_err(|error| Refused::Unreadable(format!("{} cannot be read: {error}", member.label)))?,
    };
    let id = folder.rsplit_once('_').map_or(folder.as_str(), |(_, id)| id);
    Ok(if id.len() >= 6 { id.to_owned() } else { folder })
}

fn thread_path(member: &Member<'_>) -> io::Result<String> {
    let mut path = None;
    let mut bytes = (member.open)()?;
    let read = json_tree::parts(&mut bytes, LONGEST_REST, &|key| key == "messages", &mut |part| {
        if part.key == "thread_path" {
            let value = json_value::read(&part.element.bytes.unwrap_or_default());
            path = value.ok().and_then(|value| Some(value.as_str()?.rsplit('/').next()?.to_owned()));
        }
        ControlFlow::Continue(())
    });
    // A file that breaks off is reported when it is read.
    if let Err(error) = read
        && !matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
    {
        return Err(error);
    }
    let folder = || member.label.rsplit('/').nth(1).unwrap_or("chat").to_owned();
    Ok(path.filter(|path: &String| name(path).is_some()).unwrap_or_else(folder))
}

/// The folder of a chat, such as `inbox` or `archived_threads`.
fn folder_of(label: &str) -> Option<&str> {
    let folder = label.rsplit('/').nth(2)?;
    ["inbox", "archived_threads", "filtered_threads", "message_requests", "e2ee_cutover"]
        .into_iter()
        .find(|known| *known == folder)
}

fn message(message: &Value, chat: &str, copy: u32) -> Result<Parsed, Bad> {
    let ms = ["timestamp_ms", "timestamp"]
        .into_iter()
        .find_map(|key| instant(&message[key]))
        .ok_or(Bad("no time"))?;
    let sent_at = time::format_ms(ms);
    let text = |key: &str| message[key].as_str().filter(|text| !text.is_empty());
    // The id does not depend on the author or the text: a deleted account or message loses them.
    let id = digest::name([chat.as_bytes(), &ms.to_be_bytes(), &copy.to_be_bytes()]);
    let files = files(message);
    let share = &message["share"];
    let shared = |key: &str| share[key].as_str().filter(|text| !text.is_empty());
    let reactions = list(&message["reactions"]).filter_map(|one| {
        let reaction = mended(one["reaction"].as_str()?);
        Some(
            format!("{reaction} {}", mended(one["actor"].as_str().unwrap_or_default())).trim_end().to_owned(),
        )
    });
    let call_seconds = message["call_duration"].as_u64();
    let kind = text("type").unwrap_or_default();
    let record = Message {
        id: &id,
        chat_id: chat,
        author: text("sender_name").or_else(|| text("senderName")).map(mended),
        content: text("content").or_else(|| text("text")).map(mended),
        sent_at: &sent_at,
        has_attachment: !files.is_empty(),
        is_system: call_seconds.is_some() || matches!(kind, "Call" | "Subscribe" | "Unsubscribe"),
        is_unsent: message["is_unsent"] == true || message["isUnsent"] == true,
        link: shared("link"),
        link_text: shared("share_text").map(mended),
        call_seconds,
        reactions: reactions.collect(),
    };
    let mut drafts = vec![Draft::new(MESSAGES, id.clone(), as_json(&record))];
    for (part, (uri, kind)) in files.into_iter().enumerate() {
        let key = format!("{id}:{part}");
        let filename = file_name(uri);
        let attachment = SentFile {
            filename: name(filename).map(Cow::Borrowed),
            content_type: media_type(filename, kind).map(Cow::Borrowed),
            ..SentFile::left_there(&key, &id, chat, &sent_at)
        };
        drafts.push(Draft::new(ATTACHMENTS, key.clone(), as_json(&attachment)));
    }
    Ok(Parsed::Records(drafts))
}

/// The files of a message, and the kind of each.
fn files(message: &Value) -> Vec<(&str, &'static str)> {
    let lists = [
        ("photos", "photo"),
        ("videos", "video"),
        ("audio_files", "audio"),
        ("gifs", "photo"),
        ("files", ""),
        ("media", ""),
    ];
    let mut files: Vec<(&str, &'static str)> = lists
        .into_iter()
        .flat_map(|(key, kind)| list(&message[key]).filter_map(move |one| Some((one["uri"].as_str()?, kind))))
        .collect();
    files.extend(message["sticker"]["uri"].as_str().map(|uri| (uri, "photo")));
    files
}

fn post(post: &Value, copy: u32) -> Result<Parsed, Bad> {
    let ms = instant(&post["timestamp"]).ok_or(Bad("no time"))?;
    let mut texts: Vec<Cow<'_, str>> =
        list(&post["data"]).filter_map(|one| one["post"].as_str()).map(mended).collect();
    let (mut media, mut link, mut place) = (Vec::new(), None, None);
    for one in list(&post["attachments"]).flat_map(|one| list(&one["data"])) {
        if let Some(uri) = one["media"]["uri"].as_str() {
            media.push(file_name(uri));
            texts.extend(one["media"]["description"].as_str().map(mended));
        }
        link = link.or_else(|| one["external_context"]["url"].as_str());
        place = place.or_else(|| one["place"]["name"].as_str().map(mended));
    }
    texts.retain(|text| !text.trim().is_empty());
    texts.dedup();
    let title = post["title"].as_str().map(mended);
    let id = digest::name([b"post", &ms.to_be_bytes()[..], &copy.to_be_bytes()]);
    let record = Post {
        id: &id,
        text: Some(texts.join("\n\n")).filter(|text| !text.is_empty()),
        title,
        kind: "post",
        place,
        link,
        has_attachment: !media.is_empty(),
        media,
        created_at: time::format_ms(ms),
    };
    Ok(one(POSTS, &id, &record))
}

/// An Instagram post or story. If it has a single picture, the text is stored with the picture.
fn media(element: &Value, kind: &str, copy: u32) -> Result<Parsed, Bad> {
    let pictures: Vec<&Value> = match element["media"].as_array() {
        Some(pictures) => pictures.iter().collect(),
        None => vec![element],
    };
    let ms = instant(&element["creation_timestamp"])
        .or_else(|| pictures.iter().find_map(|picture| instant(&picture["creation_timestamp"])))
        .ok_or(Bad("no time"))?;
    let mut texts: Vec<Cow<'_, str>> = std::iter::once(element)
        .chain(pictures.iter().copied())
        .filter_map(|one| one["title"].as_str())
        .map(mended)
        .filter(|text| !text.trim().is_empty())
        .collect();
    texts.dedup();
    let media: Vec<&str> = pictures.iter().filter_map(|one| one["uri"].as_str()).map(file_name).collect();
    // The file names tell apart several stories in the same second.
    let first = media.first().copied().unwrap_or_default();
    let id = digest::name([kind.as_bytes(), &ms.to_be_bytes(), first.as_bytes(), &copy.to_be_bytes()]);
    let record = Post {
        id: &id,
        text: Some(texts.join("\n\n")).filter(|text| !text.is_empty()),
        title: None,
        kind,
        place: None,
        link: None,
        has_attachment: !media.is_empty(),
        media,
        created_at: time::format_ms(ms),
    };
    Ok(one(POSTS, &id, &record))
}

fn comment(element: &Value, copy: u32) -> Result<Parsed, Bad> {
    let inner = list(&element["data"]).find_map(|one| one.get("comment")).unwrap_or(&Value::Null);
    let ms = instant(&element["timestamp"]).or_else(|| instant(&inner["timestamp"])).ok_or(Bad("no time"))?;
    let text = |key: &str| inner[key].as_str().filter(|text| !text.is_empty()).map(mended);
    let id = digest::name([b"comment", &ms.to_be_bytes()[..], &copy.to_be_bytes()]);
    let record = Comment {
        id: &id,
        text: text("comment"),
        title: element["title"].as_str().map(mended),
        author: text("author"),
        about: text("group"),
        created_at: time::format_ms(ms),
    };
    Ok(one(COMMENTS, &id, &record))
}

/// An Instagram comment. The names of its values are in the owner's language.
fn media_comment(element: &Value, copy: u32) -> Result<Parsed, Bad> {
    let values = values_of(element);
    let ms = values
        .iter()
        .find_map(|(_, value)| instant(&value["timestamp"]))
        .or_else(|| instant(&element["timestamp"]))
        .ok_or(Bad("no time"))?;
    let texts: Vec<(&str, Cow<'_, str>)> = values
        .iter()
        .filter_map(|(key, value)| {
            Some((*key, mended(value["value"].as_str().filter(|value| !value.is_empty())?)))
        })
        .collect();
    let (text, about) = match texts.as_slice() {
        [] => return Err(Bad("no text")),
        [(_, text)] => (text.clone(), None),
        // The other value is the owner of the post: a name, which is one word.
        several => {
            let is_comment =
                |(key, _): &&(&str, Cow<'_, str>)| matches!(*key, "Comment" | "Kommentar" | "Commentaire");
            let longest = || several.iter().max_by_key(|(_, text)| (text.contains(' '), text.len()));
            let found = several.iter().find(is_comment).or_else(longest);
            let text = found.map(|(_, text)| text.clone()).unwrap_or_default();
            let about = several.iter().map(|(_, other)| other.clone()).find(|other| *other != text);
            (text, about)
        }
    };
    let author = element["title"].as_str().filter(|title| !title.is_empty()).map(mended);
    let id = digest::name([b"comment", &ms.to_be_bytes()[..], text.as_bytes(), &copy.to_be_bytes()]);
    let record =
        Comment { id: &id, text: Some(text), title: None, author, about, created_at: time::format_ms(ms) };
    Ok(one(COMMENTS, &id, &record))
}

fn search(element: &Value, copy: u32) -> Result<Parsed, Bad> {
    let values = values_of(element);
    let ms = instant(&element["timestamp"])
        .or_else(|| values.iter().find_map(|(_, value)| instant(&value["timestamp"])))
        .ok_or(Bad("no time"))?;
    let query = list(&element["data"])
        .find_map(|one| one["text"].as_str())
        .or_else(|| {
            values.iter().find_map(|(_, value)| value["value"].as_str().filter(|value| !value.is_empty()))
        })
        .or_else(|| {
            let mut attached = list(&element["attachments"]).flat_map(|one| list(&one["data"]));
            attached.find_map(|one| one["text"].as_str()).map(|text| text.trim_matches('"'))
        })
        .or_else(|| element["title"].as_str())
        .filter(|query| !query.is_empty())
        .ok_or(Bad("no search text"))?;
    let query = mended(query);
    let id = digest::name([b"search", &ms.to_be_bytes()[..], query.as_bytes(), &copy.to_be_bytes()]);
    Ok(one(SEARCHES, &id, &Search { id: &id, query: query.clone(), searched_at: time::format_ms(ms) }))
}

/// The values whose names are in the owner's language.
fn values_of(element: &Value) -> Vec<(&str, &Value)> {
    if let Some(values) = element["label_values"].as_array() {
        return values.iter().map(|value| (value["label"].as_str().unwrap_or_default(), value)).collect();
    }
    let map = ["string_map_data", "string_list_data"].into_iter().find_map(|key| element.get(key));
    match map {
        Some(Value::Object(map)) => map.iter().map(|(key, value)| (key.as_str(), value)).collect(),
        Some(Value::Array(list)) => list.iter().map(|value| ("", value)).collect(),
        _ => Vec::new(),
    }
}

fn one(stream: &'static str, id: &str, record: &impl Serialize) -> Parsed {
    Parsed::Records(vec![Draft::new(stream, id, as_json(record))])
}

/// A time in seconds or milliseconds since 1970; 0 means none.
fn instant(value: &Value) -> Option<i64> {
    let number = crate::json::number(value).filter(|number| *number > 0.0)?;
    // As seconds, 100,000,000,000 is in the year 5138; as milliseconds, it is in 1973.
    let ms = if number < 1e11 { number * 1000.0 } else { number };
    #[allow(clippy::cast_possible_truncation, reason = "the value is within bounds")]
    (ms < LATEST_MS).then_some(ms as i64)
}

/// Restores a text whose UTF-8 bytes were written as Latin-1 characters. Any other text is returned unchanged.
fn mended(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    let bytes: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    match bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
        Some(meant) => meant.into(),
        None => text.into(),
    }
}

/// The last part of a path or an address, without a query.
fn file_name(uri: &str) -> &str {
    let path = if uri.contains("://") { uri.split(['?', '#']).next().unwrap_or_default() } else { uri };
    path.rsplit('/').next().unwrap_or_default()
}

fn media_type(filename: &str, kind: &str) -> Option<&'static str> {
    let (_, end) = filename.rsplit_once('.')?;
    Some(match (end.to_ascii_lowercase().as_str(), kind) {
        ("jpg" | "jpeg", _) => "image/jpeg",
        ("png", _) => "image/png",
        ("gif", _) => "image/gif",
        ("webp", _) => "image/webp",
        ("heic", _) => "image/heic",
        ("m4a", _) | ("mp4", "audio") => "audio/mp4",
        ("mp4", _) => "video/mp4",
        ("mov", _) => "video/quicktime",
        ("mp3", _) => "audio/mpeg",
        ("wav", _) => "audio/wav",
        ("aac", _) => "audio/aac",
        ("ogg", _) => "audio/ogg",
        ("pdf", _) => "application/pdf",
        _ => return None,
    })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn as_json(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::import::harness::{
        Counts, Kept, ask, assert_twice_is_once_in_any_order, imported, plan, sniff, split,
    };

    const INBOX: &str = "your_facebook_activity/messages/inbox/bjrg_9876543210";

    /// A text as the export writes it: each UTF-8 byte as a separate character.
    fn broken(text: &str) -> String {
        text.bytes().map(char::from).collect()
    }

    fn said(at: u64, sender: &str, text: &str) -> Value {
        json!({"sender_name": broken(sender), "timestamp_ms": at, "content": broken(text), "is_geoblocked_for_viewer": false})
    }

    fn chat(title: &str, people: &[&str], messages: &[Value]) -> Vec<u8> {
        let people: Vec<Value> = people.iter().map(|name| json!({"name": broken(name)})).collect();
        // In the order of an export, which is not alphabetical.
        format!(
            r#"{{"participants": {}, "messages": {}, "title": {}, "is_still_participant": true, "thread_path": "inbox/bjrg_9876543210", "magic_words": []}}"#,
            Value::from(people),
            Value::from(messages.to_vec()),
            Value::from(broken(title))
        )
        .into_bytes()
    }

    fn record(kept: &Kept, stream: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let all = kept.records.iter().filter(|((_, of, _), _)| of == stream);
        let mut all = all.map(|(_, data)| serde_json::from_str(data).unwrap());
        all.find(|data| wanted(data)).unwrap_or(Value::Null)
    }

    fn count(kept: &Kept, stream: &str) -> usize {
        kept.records.keys().filter(|(_, of, _)| of == stream).count()
    }

    fn all_of(files: &[(&str, &[u8])]) -> (Kept, Counts) {
        imported(&Meta, files)
    }

    #[test]
    fn o4_11_a_text_is_mended_only_where_that_gives_one() {
        for text in ["caf\u{e9}", "Ž", "Ana", "", "naïve – “x”", "日本"] {
            assert_eq!(mended(text), text);
            assert_eq!(mended(&broken(text)), text);
        }
        // A byte of a character is missing, or the text has characters beyond Latin-1.
        assert_eq!(mended("\u{c3}"), "\u{c3}");
        assert_eq!(mended("\u{c3}\u{a9} 😀"), "\u{c3}\u{a9} 😀");
    }

    #[test]
    fn o5_1_a_chat_of_several_files_is_one_with_its_people_and_times() {
        let newest = chat(
            "Bjørg",
            &["Bjørg", "Ana"],
            &[said(1_772_359_200_500, "Bjørg", "Ses vi?"), said(1_772_359_100_000, "Ana", "Ja 😀")],
        );
        let oldest = chat("Bjorg", &["Bjørg", "Ana"], &[said(1_500_000_000_000, "Ana", "Hej")]);
        let (first, second) = (format!("{INBOX}/message_1.json"), format!("{INBOX}/message_2.json"));
        let files = [(&first[..], &newest[..]), (&second[..], &oldest[..])];
        assert_twice_is_once_in_any_order(&Meta, &files);
        let (kept, counts) = all_of(&files);
        // Three messages, and the chat data of each of the two files.
        assert_eq!((counts.read, counts.new, counts.changed), (5, 4, 1));
        assert_eq!(
            record(&kept, CHATS, |_| true),
            json!({"id": "9876543210", "title": "Bjørg", "participants": ["Bjørg", "Ana"], "folder": "inbox",
                "first_message_date": "2017-07-14T02:40:00.000Z", "last_message_date": "2026-03-01T10:00:00.500Z"})
        );
        let message = record(&kept, MESSAGES, |message| message["content"] == "Ja 😀");
        assert_eq!(message["author"], "Ana");
        assert_eq!(message["chat_id"], "9876543210");
        assert_eq!(message["sent_at"], "2026-03-01T09:58:20.000Z");
        assert_eq!(count(&kept, MESSAGES), 3);
    }

    #[test]
    fn o5_1_pictures_shares_calls_reactions_and_unsent_messages_are_kept_as_what_they_are() {
        let messages = [
            json!({"sender_name": "Ana", "timestamp_ms": 1_000_000_000_001_u64, "photos": [
                {"uri": "your_facebook_activity/messages/inbox/x_1/photos/1_n.jpg", "creation_timestamp": 1}, {"uri": "b.png"}],
                "videos": [{"uri": "v/c.mp4"}], "audio_files": [{"uri": "a/d.mp4"}], "sticker": {"uri": "s/e.webp"},
                "gifs": [{"uri": "https://media.example/f.gif?x=/1"}]}),
            json!({"sender_name": "Ben", "timestamp_ms": 1_000_000_000_002_u64, "content": "See", "share": {"link": "https://example.org/a", "share_text": broken("Ærlig")},
                "reactions": [{"reaction": broken("❤"), "actor": broken("Bjørg")}, {"actor": "Ana"}], "type": "Share"}),
            json!({"sender_name": "Ben", "timestamp_ms": 1_000_000_000_003_u64, "call_duration": 61, "type": "Call"}),
            json!({"sender_name": "Ben", "timestamp_ms": 1_000_000_000_004_u64, "is_unsent": true}),
            json!({"sender_name": "Ben", "content": "When?"}),
            json!(7),
        ];
        let file = chat("Ben", &["Ben", "Ana"], &messages);
        let (kept, counts) = all_of(&[("messages/archived_threads/ben_abcdefghij/message_1.json", &file)]);
        assert_eq!(counts.bad, [("no time", 1), ("not a JSON object", 1)].into());
        assert_eq!(record(&kept, CHATS, |_| true)["folder"], "archived_threads");
        let at = |ms: u64| {
            record(&kept, MESSAGES, |message| {
                message["sent_at"] == time::format_ms(i64::try_from(ms).unwrap())
            })
        };
        assert_eq!(at(1_000_000_000_001)["has_attachment"], true);
        let share = at(1_000_000_000_002);
        assert_eq!((&share["link"], &share["link_text"]), (&json!("https://example.org/a"), &json!("Ærlig")));
        assert_eq!((&share["reactions"], &share["is_system"]), (&json!(["❤ Bjørg"]), &json!(false)));
        assert_eq!(
            (&at(1_000_000_000_003)["call_seconds"], &at(1_000_000_000_003)["is_system"]),
            (&json!(61), &json!(true))
        );
        assert_eq!(
            (&at(1_000_000_000_004)["is_unsent"], &at(1_000_000_000_004)["content"]),
            (&json!(true), &Value::Null)
        );
        let mut names: Vec<(String, String)> = kept
            .records
            .iter()
            .filter(|((_, stream, _), _)| stream == ATTACHMENTS)
            .map(|(_, data)| serde_json::from_str::<Value>(data).unwrap())
            .map(|file| {
                (
                    file["filename"].as_str().unwrap().to_owned(),
                    file["content_type"].as_str().unwrap().to_owned(),
                )
            })
            .collect();
        names.sort();
        let wanted = [
            ("1_n.jpg", "image/jpeg"),
            ("b.png", "image/png"),
            ("c.mp4", "video/mp4"),
            ("d.mp4", "audio/mp4"),
            ("e.webp", "image/webp"),
            ("f.gif", "image/gif"),
        ];
        assert_eq!(names, wanted.map(|(name, kind)| (name.to_owned(), kind.to_owned())));
    }

    #[test]
    fn messages_of_one_moment_are_several_and_a_renamed_author_is_no_new_message() {
        let two = [said(1_000_000_000_000, "Ben", "a"), said(1_000_000_000_000, "Ben", "b")];
        let (mut kept, _) = all_of(&[(&format!("{INBOX}/message_1.json"), &chat("Ben", &[], &two))]);
        assert_eq!(count(&kept, MESSAGES), 2);
        // He left, so his name is gone and the chat's folder has another name.
        let two =
            [said(1_000_000_000_000, "Facebook user", "a"), said(1_000_000_000_000, "Facebook user", "b")];
        let counts = kept.import(
            &Meta,
            &[(
                "your_facebook_activity/messages/archived_threads/facebookuser_9876543210/message_1.json",
                &chat("Facebook user", &[], &two),
            )],
        );
        assert_eq!((count(&kept, MESSAGES), count(&kept, CHATS)), (2, 1));
        assert_eq!(counts.changed, 3);
    }

    #[test]
    fn chats_of_one_title_are_two() {
        let file = chat("Ana", &["Ana"], &[said(1_000_000_000_000, "Ana", "a")]);
        let (kept, _) = all_of(&[
            ("messages/inbox/ana_1111111111/message_1.json", &file),
            ("messages/message_requests/ana_2222222222/message_1.json", &file),
        ]);
        assert_eq!((count(&kept, CHATS), count(&kept, MESSAGES)), (2, 2));
        // A single file says where it was.
        for label in ["message_1.json", "data/message_1.json"] {
            let (kept, _) = all_of(&[(label, &file)]);
            assert_eq!(record(&kept, CHATS, |_| true)["id"], "9876543210");
        }
    }

    #[test]
    fn encrypted_chats_have_a_form_of_their_own() {
        let file = br#"{"participants":["Ana","Bj\u00f8rg"],"threadName":"Bj\u00f8rg_7","messages":[
            {"isUnsent":false,"media":[{"uri":"./media/a.jpg"}],"reactions":[{"actor":"Ana","reaction":"x"}],"senderName":"Bj\u00f8rg","text":"Ses","timestamp":1772359200500,"type":"text"}]}"#;
        let (kept, _) = all_of(&[("messages/Bj_7.json", file)]);
        assert_eq!(record(&kept, CHATS, |_| true)["title"], "Bjørg");
        let message = record(&kept, MESSAGES, |_| true);
        assert_eq!(
            (&message["author"], &message["content"], &message["reactions"]),
            (&json!("Bjørg"), &json!("Ses"), &json!(["x Ana"]))
        );
        assert_eq!(record(&kept, ATTACHMENTS, |_| true)["filename"], "a.jpg");
    }

    const FACEBOOK: &[u8] = br#"{"profile_v2":{"name":{"full_name":"Ana"},"emails":{"emails":["Ana@Example.org"]},"username":"ana.h"}}"#;
    const INSTAGRAM: &[u8] = br#"{"profile_user":[{"title":"","string_map_data":{"E-Mail":{"value":"ana@example.org"},"Benutzername":{"value":"Ana_H"}}}]}"#;

    #[test]
    fn o5_1_posts_comments_and_searches_of_facebook() {
        let posts = json!([{"timestamp": 1_600_000_000, "title": "Ana updated her status.", "data": [{"post": broken("På tur")}, {"update_timestamp": 1}],
                "attachments": [{"data": [{"external_context": {"url": "https://example.org"}}, {"place": {"name": "Bergen"}},
                    {"media": {"uri": "posts/media/a.jpg", "description": broken("På tur")}}]}]},
            {"timestamp": 1_600_000_000, "data": []}, {"title": "no time"}]);
        let comments = json!({"comments_v2": [{"timestamp": 1_600_000_001, "data": [{"comment": {"timestamp": 1_600_000_001, "comment": "Fint",
            "author": "Ana", "group": "Turer"}}], "title": "Ana commented on a post."}]});
        let searches = json!({"searches_v2": [{"timestamp": 1_600_000_002, "title": "You searched", "data": [{"text": broken("kåpe")}]},
            {"timestamp": 1_600_000_003, "attachments": [{"data": [{"text": "\"hat\""}]}]}]});
        let files = [posts, comments, searches].map(|file| file.to_string().into_bytes());
        let files = [
            ("facebook-ana/your_facebook_activity/posts/your_posts_1.json", &files[0][..]),
            ("facebook-ana/your_facebook_activity/comments_and_reactions/comments.json", &files[1]),
            ("facebook-ana/logged_information/search/your_search_history.json", &files[2]),
            ("facebook-ana/personal_information/profile_information/profile_information.json", FACEBOOK),
        ];
        let (kept, counts) = all_of(&files);
        assert_eq!(counts.bad, [("no time", 1)].into());
        assert!(kept.records.keys().all(|(account, ..)| account == "ana@example.org"));
        let post = record(&kept, POSTS, |post| post["link"] != Value::Null);
        assert_eq!(
            (&post["text"], &post["place"], &post["media"]),
            (&json!("På tur"), &json!("Bergen"), &json!(["a.jpg"]))
        );
        assert_eq!(count(&kept, POSTS), 2);
        let comment = record(&kept, COMMENTS, |_| true);
        assert_eq!(
            (&comment["text"], &comment["about"], &comment["created_at"]),
            (&json!("Fint"), &json!("Turer"), &json!("2020-09-13T12:26:41.000Z"))
        );
        assert_eq!(
            record(&kept, SEARCHES, |search| search["query"] == "kåpe")["searched_at"],
            "2020-09-13T12:26:42.000Z"
        );
        assert_eq!(
            record(&kept, SEARCHES, |search| search["query"] == "hat")["searched_at"],
            "2020-09-13T12:26:43.000Z"
        );
        assert_twice_is_once_in_any_order(&Meta, &files[..1]);
    }

    #[test]
    fn o5_1_posts_comments_and_searches_of_instagram() {
        let posts = json!([{"media": [{"uri": "media/posts/a.jpg", "creation_timestamp": 1_600_000_000, "title": broken("På tur")}]},
            {"media": [{"uri": "media/posts/b.jpg", "creation_timestamp": 1_600_000_001, "title": ""}, {"uri": "media/posts/c.jpg", "creation_timestamp": 1_600_000_001}],
                "title": "Two", "creation_timestamp": 1_600_000_002}]);
        let stories = json!({"ig_stories": [{"uri": "media/stories/d.mp4", "creation_timestamp": 1_600_000_003, "title": ""}]});
        let comments = json!([{"media_list_data": [{"uri": ""}], "string_map_data": {"Kommentar": {"value": "Fint"}, "Medieninhaber*in": {"value": "ben_hansen"}, "Zeit": {"timestamp": 1_600_000_004}}},
            {"media_list_data": [], "string_map_data": {"Autre": {"value": "Que c'est beau"}, "Propri": {"value": "ben_hansen_hansen_hansen"}, "Heure": {"timestamp": 1_600_000_005}}}]);
        let searches = json!({"searches_keyword": [{"title": "", "string_map_data": {"Search": {"value": broken("kåpe")}, "Time": {"timestamp": 1_600_000_006}}}]});
        let files = [posts, stories, comments, searches].map(|file| file.to_string().into_bytes());
        let (kept, counts) = all_of(&[
            ("your_instagram_activity/media/posts_1.json", &files[0]),
            ("your_instagram_activity/media/stories.json", &files[1]),
            ("your_instagram_activity/comments/post_comments_1.json", &files[2]),
            ("logged_information/recent_searches/word_or_phrase_searches.json", &files[3]),
            ("personal_information/personal_information/personal_information.json", INSTAGRAM),
        ]);
        assert_eq!((counts.new, counts.bad.len()), (6, 0));
        assert!(kept.records.keys().all(|(account, ..)| account == "ana_h"));
        let two = record(&kept, POSTS, |post| post["text"] == "Two");
        assert_eq!(
            (&two["media"], &two["created_at"]),
            (&json!(["b.jpg", "c.jpg"]), &json!("2020-09-13T12:26:42.000Z"))
        );
        assert_eq!(record(&kept, POSTS, |post| post["text"] == "På tur")["kind"], "post");
        assert_eq!(record(&kept, POSTS, |post| post["kind"] == "story")["text"], Value::Null);
        let comment = record(&kept, COMMENTS, |comment| comment["text"] == "Fint");
        assert_eq!(comment["about"], "ben_hansen");
        assert_eq!(
            record(&kept, COMMENTS, |comment| comment["text"] == "Que c'est beau")["about"],
            "ben_hansen_hansen_hansen"
        );
        assert_eq!(record(&kept, SEARCHES, |_| true)["query"], "kåpe");
    }

    #[test]
    fn the_newer_form_of_instagram_and_the_older_one_of_facebook_are_read() {
        let comments = json!([{"timestamp": 1_600_000_000, "media": [], "label_values": [{"label": "Comment", "value": broken("På tur")},
            {"label": "Media Owner", "value": "ben"}], "fbid": "1"}]);
        let searches = json!([{"timestamp": 1_600_000_001, "media": [], "label_values": [{"label": "Suche", "value": "hatt"}]}]);
        let likes = json!([{"timestamp": 1_600_000_001, "media": [], "label_values": [{"label": "URL", "value": "x", "href": "x"}]}]);
        let posts = json!({"status_updates": [{"timestamp": 1_300_000_000, "data": [{"post": "Old"}]}]});
        let files = [comments, searches, posts, likes].map(|file| file.to_string().into_bytes());
        let (kept, counts) = all_of(&[
            ("your_instagram_activity/comments/post_comments_1.json", &files[0]),
            ("your_instagram_activity/logged_information/word_or_phrase_searches.json", &files[1]),
        ]);
        assert_eq!((counts.new, counts.bad.len()), (2, 0));
        let comment = record(&kept, COMMENTS, |_| true);
        assert_eq!((&comment["text"], &comment["about"]), (&json!("På tur"), &json!("ben")));
        assert_eq!(record(&kept, SEARCHES, |_| true)["query"], "hatt");
        let (kept, _) = all_of(&[("posts/your_posts.json", &files[2])]);
        assert_eq!(record(&kept, POSTS, |_| true)["text"], "Old");
        assert_eq!(sniff(&Meta, "your_instagram_activity/likes/liked_posts.json", &files[3]), None);
    }

    #[test]
    fn o4_13_two_exports_in_a_folder_are_two_accounts_and_parts_of_one_are_one() {
        let file = chat("Ben", &["Ben"], &[said(1_000_000_000_000, "Ben", "a")]);
        let of = |files: &[(&str, &[u8])]| -> Vec<(String, String, usize)> {
            let plans = plan(&Meta, files, ask()).unwrap();
            plans
                .into_iter()
                .map(|plan| (plan.connector.key.clone(), plan.account.clone(), plan.units.len()))
                .collect()
        };
        let found = |key: &str, account: &str, units| (key.to_owned(), account.to_owned(), units);
        let other = br#"{"profile_v2":{"name":{"full_name":"Ben"},"username":"ben.h"}}"#;
        let (facebook, instagram) = (
            "profile_information/profile_information.json",
            "personal_information/personal_information.json",
        );
        let at = |folder: &str, rest: &str| format!("{folder}/{rest}");
        assert_eq!(
            of(&[
                (&at("a", "messages/inbox/x_1234567/message_1.json"), &file),
                (&at("a", facebook), FACEBOOK),
                (&at("b", "messages/inbox/x_1234567/message_1.json"), &file),
                (&at("b", facebook), other),
                (&at("c", "messages/inbox/x_1234567/message_1.json"), &file),
                (&at("c", instagram), INSTAGRAM),
            ]),
            [
                found("facebook", "ana@example.org", 1),
                found("facebook", "ben.h", 1),
                found("instagram", "ana_h", 1)
            ]
        );
        let nobody = br#"{"profile":{"name":{"full_name":"Ana Hansen"},"emails":{"emails":[]},"registration_timestamp":1262304000}}"#;
        assert_eq!(
            of(&[(&at("a", "messages/inbox/x_1234567/message_1.json"), &file), (&at("a", facebook), nobody)]),
            [found("facebook", "ana hansen since 2010-01-01", 1)]
        );
        // The second part of an export does not name its owner.
        assert_eq!(
            of(&[
                (&at("1.zip", "messages/inbox/x_1234567/message_1.json"), &file),
                (&at("1.zip", instagram), INSTAGRAM),
                (&at("2.zip", "messages/inbox/y_1234567/message_1.json"), &file),
            ]),
            [found("instagram", "ana_h", 2)]
        );
        // No file names the owner. The folder's name shows the service.
        assert_eq!(
            of(&[("instagram-ana-2026/messages/inbox/x_1234567/message_1.json", &file)]),
            [found("instagram", "instagram", 1)]
        );
        assert_eq!(
            of(&[("messages/inbox/x_1234567/message_1.json", &file)]),
            [found("facebook", "facebook", 1)]
        );
        let plans = plan(&Meta, &[("messages/inbox/x_1234567/message_1.json", &file)], ask()).unwrap();
        assert!(plans[0].notes.iter().any(|note| note.contains("--account")));
        let named = Ask { account: Some("me".to_owned()), ..ask() };
        assert_eq!(
            plan(&Meta, &[("messages/inbox/x_1234567/message_1.json", &file)], named).unwrap()[0].account,
            "me"
        );
    }

    #[test]
    fn o5_2_connectors_are_local_and_each_service_has_its_own() {
        for (label, key) in [("your_facebook_activity", "facebook"), ("your_instagram_activity", "instagram")]
        {
            let file = chat("Ben", &[], &[]);
            let plans =
                plan(&Meta, &[(&format!("{label}/messages/inbox/x_1234567/message_1.json"), &file)], ask())
                    .unwrap();
            assert_eq!(plans[0].connector.id, format!("https://local.pdpp.invalid/connectors/{key}"));
        }
    }

    #[test]
    fn the_export_in_html_is_refused_with_what_to_ask_for() {
        let page = b"<html><head><base href=\"../\"/></head><body>Ana</body></html>";
        for label in
            ["your_facebook_activity/messages/inbox/x_1/message_1.html", "messages/inbox/x_1/message_1.html"]
        {
            assert_eq!(sniff(&Meta, label, page), Some(Sure::Certain));
            let Err(Refused::Unfit { why }) = plan(&Meta, &[(label, page)], ask()) else { panic!("{label}") };
            assert!(why.contains("choose JSON"), "{why}");
        }
        assert_eq!(sniff(&Meta, "Takeout/index.html", page), None);
        let Err(Refused::Unfit { why }) = plan(&Meta, &[("profile_information.json", FACEBOOK)], ask())
        else {
            panic!()
        };
        assert!(why.contains("name the whole export"), "{why}");
    }

    #[test]
    fn o2_1_contents_decide_what_is_an_export() {
        for (label, other) in [
            ("message_1.json", "{}"),
            ("message_1.json", r#"{"messages":[{"text":"x"}]}"#),
            ("result.json", r#"{"name":"Ana","type":"personal_chat","messages":[]}"#),
            ("posts/a.json", "[1]"),
            ("posts/a.json", r#"[{"id":1}]"#),
            ("comments.json", r#"{"comments":[{"id":1}]}"#),
            ("conversations.json", r#"[{"mapping":{}}]"#),
            ("x.json", r#"{"profile":{"id":1}}"#),
            ("x.json", ""),
        ] {
            assert_eq!(sniff(&Meta, label, other.as_bytes()), None, "{other}");
        }
        // With any file name, with spaces, and after a byte order mark.
        let pretty = [b"\xef\xbb\xbf\n", &chat("Ben", &["Ben"], &[])[..]].concat();
        assert_eq!(sniff(&Meta, "anything", &pretty), Some(Sure::Certain));
        let sorted = br#"{"is_still_participant":true,"messages":[{"sender_name":"Ana","timestamp_ms":1}],"title":"x"}"#;
        assert_eq!(sniff(&Meta, "anything", sorted), Some(Sure::Certain));
    }

    #[test]
    fn times_are_seconds_or_milliseconds() {
        for (value, expected) in [
            (json!(1_600_000_000), Some(1_600_000_000_000)),
            (json!(1_600_000_000_123_u64), Some(1_600_000_000_123)),
            (json!("1600000000"), Some(1_600_000_000_000)),
            (json!(0), None),
            (json!(-5), None),
            (json!(1e18), None),
            (json!("soon"), None),
            (json!(null), None),
        ] {
            assert_eq!(instant(&value), expected, "{value}");
        }
    }

    fn messages() -> impl Strategy<Value = Vec<Value>> {
        let one = (0_u64..6, 0_usize..3).prop_map(|(at, who)| {
            said(
                1_000_000_000_000 + at,
                ["Ana", "Bjørg", "Čedo"][who],
                ["a", "b"][usize::try_from(at % 2).unwrap()],
            )
        });
        proptest::collection::vec(one, 0..6).prop_map(|mut all| {
            // An export sorts the messages by time, newest first.
            all.sort_by_key(|one| std::cmp::Reverse((one["timestamp_ms"].as_u64(), one.to_string())));
            all.dedup_by_key(|one| one["timestamp_ms"].as_u64());
            // A given message is the same in each export.
            for one in &mut all {
                let at = one["timestamp_ms"].as_u64().unwrap_or_default();
                one["sender_name"] =
                    broken(["Ana", "Bjørg", "Čedo"][usize::try_from(at % 3).unwrap()]).into();
            }
            all
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn twice_is_once_and_no_order_counts(first in messages(), second in messages()) {
            let files = [chat("Ben", &["Ben"], &first), chat("Ana", &["Ana"], &second)];
            let label = |at: usize| format!("{at}/your_facebook_activity/messages/inbox/ben_1234567890/message_1.json");
            let named = [(label(0), &files[0][..]), (label(1), &files[1][..])];
            let named: Vec<(&str, &[u8])> = named.iter().map(|(label, file)| (&label[..], *file)).collect();
            assert_twice_is_once_in_any_order(&Meta, &named);
        }

        #[test]
        fn cut_anywhere_and_finished_is_whole(messages in messages(), limit in 1_usize..4, from in 0.0_f64..1.0) {
            let whole = chat("Ben", &["Ben"], &messages);
            let label = &format!("{INBOX}/message_1.json");
            let (kept, _) = all_of(&[(label, &whole)]);
            let mut parts = Kept::default();
            for _ in 0..8 {
                parts.import_some(&Meta, &[(label, &whole)], ask(), limit);
            }
            prop_assert_eq!(parts.records, kept.records);
            // An item is the same wherever the run began.
            let plan = &plan(&Meta, &[(label, &whole)], ask()).unwrap()[0];
            let (all, _) = split(&Meta, plan, label, &whole, 0);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let at = (all.len() as f64 * from) as usize;
            let (rest, _) = split(&Meta, plan, label, &whole, all[at].offset);
            prop_assert_eq!(&rest[..], &all[at..]);
        }

        #[test]
        fn no_bytes_cause_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), at in 0_usize..3000) {
            let label = "your_facebook_activity/messages/inbox/x_1/message_1.json";
            let mut changed = chat("Ben", &["Ben"], &[said(1_000_000_000_000, "Ana", "a"), said(1, "Ben", "b")]);
            let at = at % changed.len();
            changed.splice(at..at, bytes);
            sniff(&Meta, label, &changed);
            let plan = &plan(&Meta, &[(label, &chat("Ben", &[], &[]))], ask()).unwrap()[0];
            let mut unit = Unit { label, modified_ms: None, bytes: Box::new(io::Cursor::new(changed)) };
            let mut count = 0;
            let _ = Meta.split(plan, &mut unit, 0, &mut |raw| {
                let _ = Meta.parse(plan, &raw);
                count += 1;
                ControlFlow::Continue(())
            });
            prop_assert!(count < 200);
        }
    }
}
