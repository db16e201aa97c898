//! Exports of Facebook and Instagram in JSON: chats in `messages/inbox/NAME_ID/message_1.json`, posts, comments and searches.
//!
//! The two write the same files into folders that have been called differently over the years. Texts are broken in most exports: the
//! bytes of UTF-8 stand as letters of Latin-1 (`\u00c3\u00a9` for `é`).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::import::agent_session::name;
use crate::import::chat_export::{beginning, side_file};
use crate::import::declare::{Registry, StreamLine, connector};
use crate::import::digest;
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit, Whose,
};
use crate::import::json_elements::{self, Element};
use crate::import::json_value;
use crate::import::table::{Copies, hash};
use crate::vault::time;

/// Exports of Facebook and Instagram.
pub struct Meta;

const CHATS: &str = "chats";
const MESSAGES: &str = "messages";
const ATTACHMENTS: &str = "attachments";
const POSTS: &str = "posts";
const COMMENTS: &str = "comments";
const SEARCHES: &str = "searches";
/// What is no element of a list is at most this long, in bytes: a title, the people of a chat.
const LONGEST_REST: usize = 4 << 20;
/// People of a chat that are kept at most.
const MOST_PEOPLE: usize = 2000;
/// The newest time that is one, in milliseconds: the year 2200.
const LATEST_MS: f64 = 7_258_118_400_000.0;

const STREAMS: [StreamLine; 6] = [
    StreamLine {
        name: CHATS,
        key: "id",
        time: "last_message_date/first_message_date",
        fields: "id:k! title:h participants:a folder:g first_message_date:t last_message_date:T",
        relations: "messages messages chat_id many",
    },
    StreamLine {
        name: MESSAGES,
        key: "id",
        time: "sent_at",
        fields: "id:k! chat_id:k! author:n content:b sent_at:T! has_attachment:f is_system:f is_unsent:f link:u link_text:x \
                 call_seconds:i reactions:a",
        relations: "attachments attachments message_id many",
    },
    StreamLine {
        name: ATTACHMENTS,
        key: "id",
        time: "sent_at",
        fields: "id:k! message_id:k! chat_id:k! filename:h content_type:g size_bytes:i content_sha256:k hydration_status:g! \
                 blob_ref:r sent_at:T",
        relations: "",
    },
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
struct Attachment<'a> {
    id: &'a str,
    message_id: &'a str,
    chat_id: &'a str,
    filename: Option<&'a str>,
    content_type: Option<&'a str>,
    size_bytes: Option<u64>,
    content_sha256: Option<&'a str>,
    hydration_status: &'a str,
    blob_ref: Option<&'a str>,
    sent_at: &'a str,
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

/// What one file says of its chat: a long chat is several files.
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

    /// What both say. The title and the people are those of the file with the newest message.
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

/// Which of the two a file is of.
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

    /// The one that a path names.
    fn named(path: &str) -> Option<Self> {
        let path = path.to_ascii_lowercase();
        match (path.contains("facebook"), path.contains("instagram")) {
            (true, false) => Some(Self::Facebook),
            (false, true) => Some(Self::Instagram),
            _ => None,
        }
    }
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Messages of a chat.
    Chat,
    /// The same, as the export of encrypted chats has them.
    SecureChat,
    /// Posts of Facebook.
    Posts,
    /// Posts and stories of Instagram.
    Media(&'static str),
    /// Comments of Facebook.
    Comments,
    /// Comments of Instagram.
    MediaComments,
    /// What was searched for.
    Searches,
    /// Whose export it is.
    Profile(Service),
    /// The form of the export that is for looking at.
    Html,
}

/// Lists by the key that an object begins with.
const LISTS: [(&str, Kind); 17] = [
    ("messages", Kind::Chat),
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

/// Folders that an export has at its top.
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

/// A file that is read.
#[derive(Debug, Clone)]
struct File {
    kind: Kind,
    /// The chat that it is of.
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
                "it is an export in HTML, which is for looking at. Ask Facebook or Instagram for it again, and choose JSON as \
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
            // Parts of one export: only one of them says whose it is.
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
                "Chats, posts, comments and searches are imported, as far as they are there. Pictures and videos are named and \
                 stay in the export."
                    .to_owned(),
            ];
            if has_html {
                notes.push("Pages in HTML are left out.".to_owned());
            }
            if owner.is_none() && ask.account.is_none() {
                notes.push(format!(
                    "No file with personal information says whose export this is, so the account is called {account}. \
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
        // Also what was read before: messages of one moment are counted from the first one.
        let end = json_elements::parts(&mut unit.bytes, json_elements::LONGEST, &is_list, &mut |part| {
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
        let (what, chat) = raw.facts.split_once('\n').unwrap_or((&raw.facts, ""));
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
            "message" => message(&element, chat, raw.copy),
            "post" => post(&element, raw.copy),
            "comment" => comment(&element, raw.copy),
            "media comment" => media_comment(&element, raw.copy),
            "search" => search(&element, raw.copy),
            kind => media(&element, kind, raw.copy),
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

/// What is known of an export, or of a part of one.
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

/// What goes through a file.
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
            // What is not JSON is found to be that when it is parsed.
            let light: Light = serde_json::from_slice(bytes).unwrap_or_default();
            let moment = light.moment();
            if matches!(self.kind, Kind::Chat | Kind::SecureChat)
                && let Some(ms) = moment
            {
                self.chat.first = self.chat.first.into_iter().chain([ms]).min();
                self.chat.last = self.chat.last.into_iter().chain([ms]).max();
            }
            // Of what has another form, the bytes: equal ones are told apart, and so are not lost.
            let name = moment.map_or_else(|| hash([&bytes[..]]), |ms| hash([&ms.to_be_bytes()[..]]));
            copy = self.copies.before(name);
            facts = match self.kind {
                Kind::Chat | Kind::SecureChat => format!("message\n{}", self.chat.id),
                Kind::Posts => "post".to_owned(),
                Kind::Comments => "comment".to_owned(),
                Kind::MediaComments => "media comment".to_owned(),
                Kind::Searches => "search".to_owned(),
                Kind::Media(kind) => kind.to_owned(),
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

    /// What a chat's file says beside its messages.
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
            // `Ben_7`: the number tells chats of one name apart.
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

/// What of an element is looked at before it is parsed.
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

/// What a member is; `None` where it is nothing of an export that is read.
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
        return match () {
            () if has("\"string_map_data\"") && (is_in("comments") || file.contains("comments")) => {
                Some(Kind::MediaComments)
            }
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
        "participants" | "messages" | "threadName" if has("\"participants\"") && has("\"messages\"") => {
            // A list of people may be longer than what is seen.
            if has("\"threadName\"") || has("\"senderName\"") {
                Some(Kind::SecureChat)
            } else {
                Some(Kind::Chat)
            }
        }
        // These are called so elsewhere too.
        "messages" | "participants" | "threadName" => None,
        "comments" | "searches" if !has("\"timestamp\"") => None,
        key => LISTS.iter().find(|(known, _)| *known == key).map(|(_, kind)| *kind),
    }
}

/// The folder that an export is in, with the slash behind it.
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

/// Which service a file seems to be of.
fn guess(label: &str, head: &[u8], kind: Kind) -> Option<Service> {
    let head = beginning(head);
    let says = |mark: &str| label.contains(mark) || head.contains(mark);
    match kind {
        _ if says("your_instagram_activity") => Some(Service::Instagram),
        _ if says("your_facebook_activity") || says("your_activity_across_facebook") => {
            Some(Service::Facebook)
        }
        Kind::Media(_) | Kind::MediaComments => Some(Service::Instagram),
        Kind::Comments | Kind::Posts | Kind::SecureChat => Some(Service::Facebook),
        Kind::Searches if says("searches_keyword") || says("searches_user") || says("searches_hashtag") => {
            Some(Service::Instagram)
        }
        Kind::Searches => Some(Service::Facebook),
        _ => None,
    }
}

/// Whose export it is: an address or a name that nobody else has.
fn owner(profile: &Value, service: Service) -> Option<String> {
    let found = match service {
        Service::Facebook => {
            let profile = profile.get("profile_v2").unwrap_or(&profile["profile"]);
            let full_name = profile["name"]["full_name"].as_str();
            list(&profile["emails"]["emails"])
                .find_map(Value::as_str)
                .or_else(|| profile["username"].as_str())
                .or_else(|| profile["profile_uri"].as_str())
                .or(full_name)
                .map(|text| mended(text).into_owned())
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
                // In the languages of most exports; the key is in the person's.
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

/// The id of a chat: its folder's, without the name that goes before it and changes with the chat's.
fn chat_id(member: &Member<'_>, kind: Kind) -> Result<String, Refused> {
    let mut parts = member.label.rsplit('/');
    let file = parts.next().unwrap_or_default();
    if kind == Kind::SecureChat {
        return Ok(file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned());
    }
    if kind != Kind::Chat {
        return Ok(String::new());
    }
    let folder = parts.next().filter(|folder| !TOP.contains(folder) && *folder != "inbox");
    let folder = match folder {
        Some(folder) => folder.to_owned(),
        // A file alone: its end says where it was.
        None => thread_path(member)
            .map_err(|error| Refused::Unreadable(format!("{} cannot be read: {error}", member.label)))?,
    };
    let id = folder.rsplit_once('_').map_or(folder.as_str(), |(_, id)| id);
    Ok(if id.len() >= 6 { id.to_owned() } else { folder })
}

fn thread_path(member: &Member<'_>) -> io::Result<String> {
    let mut path = None;
    let mut bytes = (member.open)()?;
    let read = json_elements::parts(&mut bytes, LONGEST_REST, &|key| key == "messages", &mut |part| {
        if part.key == "thread_path" {
            let value = json_value::read(&part.element.bytes.unwrap_or_default());
            path = value.ok().and_then(|value| Some(value.as_str()?.rsplit('/').next()?.to_owned()));
        }
        ControlFlow::Continue(())
    });
    // A file that breaks off is told when it is read.
    if let Err(error) = read
        && !matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
    {
        return Err(error);
    }
    Ok(path.filter(|path: &String| name(path).is_some()).unwrap_or_else(|| "chat".to_owned()))
}

/// Where a chat lies: `inbox`, `archived_threads`.
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
    // Not by its author or its text: one is gone with the account, the other with the message.
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
        let attachment = Attachment {
            id: &key,
            message_id: &id,
            chat_id: chat,
            filename: name(filename),
            content_type: media_type(filename, kind),
            size_bytes: None,
            content_sha256: None,
            hydration_status: "deferred",
            blob_ref: None,
            sent_at: &sent_at,
        };
        drafts.push(Draft::new(ATTACHMENTS, key.clone(), as_json(&attachment)));
    }
    Ok(Parsed::Records(drafts))
}

/// The files of a message, and what each is.
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
    one(POSTS, &id, &record)
}

/// A post or a story of Instagram: the text of one with a single picture stands at the picture.
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
    // Several stories of one second are told apart by their files.
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
    one(POSTS, &id, &record)
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
    one(COMMENTS, &id, &record)
}

/// A comment of Instagram: its values have names in the person's language.
fn media_comment(element: &Value, copy: u32) -> Result<Parsed, Bad> {
    let values = values_of(element);
    let ms = values.iter().find_map(|(_, value)| instant(&value["timestamp"])).ok_or(Bad("no time"))?;
    let texts: Vec<(&str, Cow<'_, str>)> = values
        .iter()
        .filter_map(|(key, value)| {
            Some((*key, mended(value["value"].as_str().filter(|value| !value.is_empty())?)))
        })
        .collect();
    let (text, about) = match texts.as_slice() {
        [] => return Err(Bad("no text")),
        [(_, text)] => (text.clone(), None),
        // Beside it stands whose post it is about: a name, which is one word.
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
    let id = digest::name([b"comment", &ms.to_be_bytes()[..], text.as_bytes(), &copy.to_be_bytes()]);
    let record = Comment {
        id: &id,
        text: Some(text),
        title: None,
        author: None,
        about,
        created_at: time::format_ms(ms),
    };
    one(COMMENTS, &id, &record)
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
            let attached = list(&element["attachments"]).flat_map(|one| list(&one["data"]));
            attached.filter_map(|one| one["text"].as_str()).next().map(|text| text.trim_matches('"'))
        })
        .or_else(|| element["title"].as_str())
        .filter(|query| !query.is_empty())
        .ok_or(Bad("nothing was searched for"))?;
    let query = mended(query);
    let id = digest::name([b"search", &ms.to_be_bytes()[..], query.as_bytes(), &copy.to_be_bytes()]);
    one(SEARCHES, &id, &Search { id: &id, query: query.clone(), searched_at: time::format_ms(ms) })
}

/// The values that Instagram names in the person's language.
fn values_of(element: &Value) -> Vec<(&str, &Value)> {
    let map = ["string_map_data", "string_list_data"].into_iter().find_map(|key| element.get(key));
    match map {
        Some(Value::Object(map)) => map.iter().map(|(key, value)| (key.as_str(), value)).collect(),
        Some(Value::Array(list)) => list.iter().map(|value| ("", value)).collect(),
        _ => Vec::new(),
    }
}

fn one(stream: &'static str, id: &str, record: &impl Serialize) -> Result<Parsed, Bad> {
    Ok(Parsed::Records(vec![Draft::new(stream, id, as_json(record))]))
}

/// A time in seconds or in milliseconds since 1970; 0 is none.
fn instant(value: &Value) -> Option<i64> {
    let number = crate::json::number(value).filter(|number| *number > 0.0)?;
    // 100,000,000,000 seconds are the year 5138, as many milliseconds are in 1973.
    let ms = if number < 1e11 { number * 1000.0 } else { number };
    #[allow(clippy::cast_possible_truncation, reason = "it is bounded")]
    (ms < LATEST_MS).then_some(ms as i64)
}

/// A text whose bytes of UTF-8 stand as letters of Latin-1, as it was meant; any other as it is.
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

/// The last part of a path or an address, without what follows a question mark.
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
        ("mp4", "audio") => "audio/mp4",
        ("mp4", _) => "video/mp4",
        ("mov", _) => "video/quicktime",
        ("m4a", _) => "audio/mp4",
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
