//! ChatGPT's export: `conversations.json`, or `conversations-000.json` and so on, an array with an element for each conversation.
//!
//! A conversation is a tree of nodes: an answer that was asked for again is a branch. `user.json` says whose it is, and a map
//! of names what the files were called that lie beside it as `.dat`.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::import::agent_session::{is_pdpp, name};
use crate::import::declare::{Registry, StreamLine, connector};
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};
use crate::import::json_elements;
use crate::provider::json;
use crate::vault::time;

/// ChatGPT's export.
pub struct ChatGpt;

const KEY: &str = "chatgpt";
const CONVERSATIONS: &str = "conversations";
const MESSAGES: &str = "messages";
const ATTACHMENTS: &str = "attachments";
/// What `user.json` and the map of names have at most, in bytes.
const LONGEST_SIDE_FILE: u64 = 16 * 1024 * 1024;
/// How many nodes that give no message are passed on the way to one's parent.
const MOST_PASSED: usize = 16;

const STREAMS: [StreamLine; 3] = [
    StreamLine {
        name: CONVERSATIONS,
        key: "id",
        time: "update_time/create_time",
        fields: "id:k! title:h create_time:t update_time:T is_archived:f gizmo_id:k",
        relations: "messages messages conversation_id many",
    },
    StreamLine {
        name: MESSAGES,
        key: "id",
        time: "create_time",
        fields: "id:k! conversation_id:k! parent_id:k role:g content:b content_type:g model_slug:g create_time:T \
            on_current_branch:f attachment_ids:a",
        relations: "attachments attachments message_id many",
    },
    StreamLine {
        name: ATTACHMENTS,
        key: "id",
        time: "create_time",
        fields: "id:k! message_id:k! filename:h content_type:g size_bytes:i content_sha256:k hydration_status:g! blob_ref:r \
            create_time:T",
        relations: "",
    },
];

#[derive(Serialize, Deserialize)]
struct Conversation<'a> {
    id: Cow<'a, str>,
    title: Option<Cow<'a, str>>,
    create_time: Option<String>,
    update_time: Option<String>,
    is_archived: Option<bool>,
    gizmo_id: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
struct Message<'a> {
    id: Cow<'a, str>,
    conversation_id: Cow<'a, str>,
    parent_id: Option<String>,
    role: Option<Cow<'a, str>>,
    content: Cow<'a, str>,
    content_type: Option<Cow<'a, str>>,
    model_slug: Option<Cow<'a, str>>,
    create_time: Option<String>,
    on_current_branch: Option<bool>,
    attachment_ids: Vec<String>,
}

#[derive(Serialize)]
struct Attachment<'a> {
    id: &'a str,
    message_id: &'a str,
    filename: Option<&'a str>,
    content_type: Option<&'a str>,
    size_bytes: Option<u64>,
    content_sha256: Option<&'a str>,
    hydration_status: &'a str,
    blob_ref: Option<&'a str>,
    create_time: Option<&'a str>,
}

/// What an export says of a message that a later one may say differently: when the conversation was changed, and whether the
/// message is on its current branch. The latest counts.
#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Branch(Option<String>, Option<bool>);

/// What an export's members are.
enum Part {
    Conversations,
    User(Value),
    Names(Map<String, Value>),
}

/// What files were called, by their ids.
type Names = HashMap<String, String>;

impl Format for ChatGpt {
    fn name(&self) -> &'static str {
        "chatgpt"
    }

    fn title(&self) -> &'static str {
        "ChatGPT export"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let head = beginning(peek.head);
        let has = |mark: &str| head.contains(mark);
        match head.bytes().next()? {
            b'[' if has("\"mapping\"") && (has("\"current_node\"") || has("\"children\"")) => {
                Some(Sure::Certain)
            }
            // Elements without a mapping are bad ones: those of a file that says in two ways whose it is.
            b'[' if has("\"conversation_id\"") && has("\"current_node\"") => Some(Sure::Likely),
            b'{' if has("\"chatgpt_plus_user\"") && has("\"id\"") => Some(Sure::Certain),
            b'{' if is_names(&head) => Some(Sure::Certain),
            _ => None,
        }
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Upstream, KEY, "ChatGPT", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let (mut conversations, mut names) = (Vec::new(), Names::new());
        let mut accounts: HashMap<&str, String> = HashMap::new();
        for (at, member) in members.iter().enumerate() {
            match part(member)? {
                Part::Conversations => conversations.push(at),
                Part::User(user) => {
                    let account =
                        ["email", "id"].into_iter().find_map(|key| user[key].as_str().and_then(name));
                    accounts.extend(account.map(|account| (folder(member.label), account.to_lowercase())));
                }
                Part::Names(map) => names.extend(map.into_iter().filter_map(|(file, named)| {
                    Some((file_id(&file).to_owned(), named.as_str().and_then(name)?.to_owned()))
                })),
            }
        }
        if conversations.is_empty() {
            return Err(Refused::Unfit {
                why: "this part of a ChatGPT export has no conversations: name the folder or the zip file that has \
                    conversations.json too"
                    .to_owned(),
            });
        }
        conversations.sort_by_key(|at| members[*at].label);
        // Several exports may lie in one folder, and one export's files side by side.
        let only = if accounts.len() == 1 { accounts.values().next().cloned() } else { None };
        let state: Arc<Names> = Arc::new(names);
        let mut plans: Vec<Plan> = Vec::new();
        for at in conversations {
            let own = ask
                .account
                .clone()
                .or_else(|| accounts.get(folder(members[at].label)).or(only.as_ref()).cloned());
            let is_known = own.is_some();
            let account = own.unwrap_or_else(|| KEY.to_owned());
            if let Some(plan) = plans.iter_mut().find(|plan| plan.account == account) {
                plan.units.push(at);
                continue;
            }
            let mut notes = vec![
                "Files that were sent or made in these chats are listed by name. What is in them is not imported.".to_owned(),
            ];
            if !is_known {
                notes.push(format!(
                    "There is no user.json that says whose chats these are, so the account is called {KEY}. --account gives \
                     it another name."
                ));
            }
            plans.push(Plan {
                connector: connector.clone(),
                account,
                units: vec![at],
                notes,
                zone: ask.zone.clone(),
                state: state.clone(),
            });
        }
        Ok(plans)
    }

    fn split(&self, _: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        if from > 0 {
            unit.bytes.skip_to(from)?;
        }
        let at = json_elements::scan(&mut unit.bytes, from, json_elements::LONGEST, &mut |element| {
            let facts = element
                .bytes
                .as_ref()
                .map_or_else(|| format!("too long at {}", element.offset), |_| String::new());
            out(Raw {
                offset: element.offset,
                next: element.next,
                line: None,
                bytes: element.bytes.unwrap_or_default(),
                facts,
                copy: 0,
            })
        })?;
        Ok(End { at })
    }

    fn parse(&self, plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        if !raw.facts.is_empty() {
            return Err(Bad("a conversation of more than 64 MiB"));
        }
        let element =
            json::parse(String::from_utf8_lossy(&raw.bytes).as_bytes()).map_err(|_| Bad("not JSON"))?;
        let mapping = element["mapping"].as_object().ok_or(Bad("no mapping"))?;
        let text = |key: &str| element[key].as_str().and_then(name);
        let id = text("conversation_id").or_else(|| text("id")).ok_or(Bad("no id"))?;
        let none = Names::new();
        let names = plan.state.downcast_ref::<Names>().unwrap_or(&none);
        let tree = Tree::new(id, mapping, names, instant(&element["update_time"]));
        let conversation = Conversation {
            id: id.into(),
            title: element["title"].as_str().map(Cow::Borrowed),
            create_time: instant(&element["create_time"]),
            update_time: tree.update_time.clone(),
            is_archived: element["is_archived"].as_bool(),
            gizmo_id: text("gizmo_id")
                .or_else(|| text("conversation_template_id").filter(|template| template.starts_with("g-")))
                .map(Cow::Borrowed),
        };
        let data = as_json(&conversation);
        let mut drafts = vec![Draft { sighting: Some(data.clone()), ..Draft::new(CONVERSATIONS, id, data) }];
        let branch = element["current_node"].as_str().map(|node| tree.branch(node));
        for node in mapping.keys() {
            tree.message(node, branch.as_ref(), &mut drafts);
        }
        Ok(Parsed::Records(drafts))
    }

    fn join(&self, stream: &str, data: &str, sightings: &[&str]) -> String {
        match stream {
            CONVERSATIONS => {
                sightings.iter().copied().max_by_key(|said| age(said)).unwrap_or(data).to_owned()
            }
            MESSAGES => {
                let latest =
                    sightings.iter().filter_map(|said| serde_json::from_str::<Branch>(said).ok()).max();
                let (Some(Branch(_, on_current_branch)), Ok(message)) =
                    (latest, serde_json::from_str::<Message<'_>>(data))
                else {
                    return data.to_owned();
                };
                as_json(&Message { on_current_branch, ..message })
            }
            _ => data.to_owned(),
        }
    }

    fn add_sighting(&self, stream: &str, first: &str, second: &str) -> String {
        let is_later = if stream == CONVERSATIONS {
            age(second) > age(first)
        } else {
            serde_json::from_str::<Branch>(second).ok() > serde_json::from_str::<Branch>(first).ok()
        };
        if is_later { second.to_owned() } else { first.to_owned() }
    }
}

fn as_json(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

/// What decides which of two records of a conversation is the later one.
fn age(record: &str) -> (Option<String>, &str) {
    let time = serde_json::from_str::<Conversation<'_>>(record).ok().and_then(|record| record.update_time);
    (time, record)
}

/// The text that a member begins with, without what may stand before it.
fn beginning(head: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(head.strip_prefix(json::BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start())
}

/// `{"file-AbC.dat":"photo.jpg",…}`
fn is_names(head: &str) -> bool {
    let first = head.trim_start_matches('{').trim_start();
    (first.starts_with("\"file-") || first.starts_with("\"file_")) && head.contains(".dat\"")
}

fn part(member: &Member<'_>) -> Result<Part, Refused> {
    let head = beginning(member.head);
    if !head.starts_with('{') {
        return Ok(Part::Conversations);
    }
    let unreadable = |error: String| Refused::Unreadable(format!("{} cannot be read: {error}", member.label));
    let mut bytes = Vec::new();
    let opened = (member.open)().map_err(|error| unreadable(error.to_string()))?;
    opened.take(LONGEST_SIDE_FILE).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
    match json::parse(&bytes) {
        Ok(Value::Object(names)) if is_names(&head) => Ok(Part::Names(names)),
        Ok(user @ Value::Object(_)) => Ok(Part::User(user)),
        Ok(_) => Ok(Part::Conversations),
        Err(error) => Err(unreadable(error.to_string())),
    }
}

fn folder(label: &str) -> &str {
    label.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// `file-AbC` of `file-AbC.dat`, `file-service://file-AbC` and `sediment://file-AbC#page`.
fn file_id(text: &str) -> &str {
    let text = text.rsplit_once("://").map_or(text, |(_, id)| id);
    text.split(['.', '#', '?']).next().unwrap_or(text)
}

/// An instant: seconds since 1970, or RFC 3339.
fn instant(value: &Value) -> Option<String> {
    if let Some(seconds) = json::number(value) {
        // Half a millisecond: what a double cannot hold of three digits is not to cost one of them.
        let since = SignedDuration::try_from_secs_f64(seconds + 0.0005).ok()?;
        return Some(time::format_ms(Timestamp::from_duration(since).ok()?.as_millisecond()));
    }
    value.as_str().and_then(time::parse_ms).map(time::format_ms)
}

/// A conversation's nodes.
struct Tree<'a> {
    id: &'a str,
    mapping: &'a Map<String, Value>,
    names: &'a Names,
    update_time: Option<String>,
    /// The nodes that give a message.
    kept: HashSet<&'a str>,
}

impl<'a> Tree<'a> {
    fn new(
        id: &'a str,
        mapping: &'a Map<String, Value>,
        names: &'a Names,
        update_time: Option<String>,
    ) -> Self {
        let mut tree = Self { id, mapping, names, update_time, kept: HashSet::new() };
        let nodes = || mapping.keys().filter_map(|node| Some((node.as_str(), tree.said(node)?)));
        let through_pdpp: HashSet<&str> =
            nodes().filter(|(_, message)| is_of_pdpp(message)).map(|(node, _)| node).collect();
        let kept = nodes().filter(|(node, message)| {
            !is_hidden(message)
                && !tree.is_below(node, &through_pdpp)
                && (!files_of(message).is_empty() || !content_of(message).trim().is_empty())
        });
        let kept = kept.map(|(node, _)| node).collect();
        tree.kept = kept;
        tree
    }

    /// The nodes from `node` to the root. A circle ends where it begins.
    fn branch(&self, node: &'a str) -> HashSet<&'a str> {
        let mut branch = HashSet::new();
        let mut next = Some(node);
        while let Some(node) = next.filter(|node| branch.insert(*node)) {
            next = self.parent(node);
        }
        branch
    }

    fn parent(&self, node: &str) -> Option<&'a str> {
        self.mapping.get(node)?["parent"].as_str()
    }

    fn said(&self, node: &str) -> Option<&'a Value> {
        self.mapping.get(node).map(|node| &node["message"]).filter(|message| message.is_object())
    }

    /// The id of a message. Nodes are copied into the conversations that were branched off, under the ids that they have.
    fn key(&self, node: &str) -> String {
        format!("{}:{node}", self.id)
    }

    /// The nearest node above that has a message.
    fn parent_key(&self, node: &'a str) -> Option<String> {
        let above = std::iter::successors(self.parent(node), |node| self.parent(node));
        above.take(MOST_PASSED).find(|node| self.kept.contains(node)).map(|node| self.key(node))
    }

    /// Whether a node is one of `calls`, or a tool's message below it: what the call gave.
    fn is_below(&self, node: &'a str, calls: &HashSet<&str>) -> bool {
        let above = std::iter::successors(Some(node), |node| self.parent(node)).take(MOST_PASSED);
        for node in above {
            if calls.contains(node) {
                return true;
            }
            if !self.said(node).is_some_and(|message| message["author"]["role"] == "tool") {
                return false;
            }
        }
        false
    }

    /// The records of a node, if it has any.
    fn message(&self, node: &'a str, branch: Option<&HashSet<&str>>, drafts: &mut Vec<Draft>) {
        let Some(message) = self.said(node).filter(|_| self.kept.contains(node)) else {
            return;
        };
        let key = self.key(node);
        let text = |value: &'a Value| value.as_str().and_then(name).map(Cow::Borrowed);
        let create_time = instant(&message["create_time"]);
        let on_current_branch = branch.map(|branch| branch.contains(node));
        let files = files_of(message);
        let record = Message {
            id: key.as_str().into(),
            conversation_id: self.id.into(),
            parent_id: self.parent_key(node),
            role: text(&message["author"]["role"]),
            content: content_of(message),
            content_type: text(&message["content"]["content_type"]),
            model_slug: text(&message["metadata"]["model_slug"]),
            create_time: create_time.clone(),
            on_current_branch,
            attachment_ids: (0..files.len()).map(|part| format!("{key}:{part}")).collect(),
        };
        let sighting = as_json(&Branch(self.update_time.clone(), on_current_branch));
        drafts
            .push(Draft { sighting: Some(sighting), ..Draft::new(MESSAGES, key.clone(), as_json(&record)) });
        for (part, file) in files.into_iter().enumerate() {
            let id = format!("{key}:{part}");
            let attachment = Attachment {
                id: &id,
                message_id: &key,
                filename: file.name.or_else(|| self.names.get(file.id).map(String::as_str)),
                content_type: file.media_type,
                size_bytes: file.size,
                content_sha256: None,
                hydration_status: "deferred",
                blob_ref: None,
                create_time: create_time.as_deref(),
            };
            drafts.push(Draft::new(ATTACHMENTS, id.clone(), as_json(&attachment)));
        }
    }
}

/// Whether a message is there for the model alone.
fn is_hidden(message: &Value) -> bool {
    let metadata = &message["metadata"];
    metadata["is_visually_hidden_from_conversation"] == true
        || metadata["is_user_system_message"] == true
        || matches!(
            message["content"]["content_type"].as_str(),
            Some("user_editable_context" | "model_editable_context")
        )
}

/// Whether a message is a call of this program's own tools, or names them as where it is from: a second copy of what they gave
/// would escape the limits of a grant.
fn is_of_pdpp(message: &Value) -> bool {
    let author = &message["author"];
    if author["role"] == "tool" {
        return author["name"].as_str().is_some_and(is_pdpp);
    }
    let recipient = message["recipient"].as_str().unwrap_or_default();
    is_pdpp(recipient) || (recipient.starts_with("api_tool") && is_pdpp(&content_of(message)))
}

/// A file that a message refers to.
struct File<'a> {
    id: &'a str,
    name: Option<&'a str>,
    media_type: Option<&'a str>,
    size: Option<u64>,
}

/// The files that were sent with a message, and then those that stand in it.
fn files_of(message: &Value) -> Vec<File<'_>> {
    let mut files: Vec<File<'_>> = Vec::new();
    for sent in message["metadata"]["attachments"].as_array().into_iter().flatten() {
        let text = |key: &str| sent[key].as_str().and_then(name);
        files.push(File {
            id: text("id").map_or("", file_id),
            name: text("name"),
            media_type: text("mime_type").or_else(|| text("mimeType")),
            size: sent["size"].as_u64(),
        });
    }
    let mut known: HashSet<&str> = files.iter().map(|file| file.id).collect();
    for part in message["content"]["parts"].as_array().into_iter().flatten() {
        if let Some(pointer) = part["asset_pointer"].as_str().and_then(name)
            && known.insert(file_id(pointer))
        {
            let id = file_id(pointer);
            files.push(File { id, name: None, media_type: None, size: part["size_bytes"].as_u64() });
        }
    }
    files
}

/// The words of a message; what is no text is named.
fn content_of(message: &Value) -> Cow<'_, str> {
    let content = &message["content"];
    let lists = [("parts", ""), ("thoughts", "content")];
    for (list, key) in lists {
        if let Some(parts) = content[list].as_array() {
            let texts = parts.iter().map(|part| part_text(part, key)).filter(|text| !text.is_empty());
            let mut texts: Vec<Cow<'_, str>> = texts.collect();
            return if texts.len() == 1 { texts.swap_remove(0) } else { texts.join("\n\n").into() };
        }
    }
    let text = ["text", "result", "content", "summary"].into_iter().find_map(|key| content[key].as_str());
    match (content["title"].as_str(), text, content["content_type"].as_str()) {
        (Some(title), Some(text), _) => format!("{title}\n\n{text}").into(),
        (_, Some(text), _) => text.into(),
        (_, None, Some(kind)) => format!("[{kind}]").into(),
        (_, None, None) => "".into(),
    }
}

fn part_text<'a>(part: &'a Value, key: &str) -> Cow<'a, str> {
    let text = part.as_str().or_else(|| part[key].as_str()).or_else(|| part["text"].as_str());
    match (text, part["content_type"].as_str()) {
        (Some(text), _) => text.into(),
        (None, Some(kind)) if kind.contains("audio") => "[audio]".into(),
        (None, Some(kind)) if kind.contains("image") => "[image]".into(),
        (None, Some(kind)) => format!("[{kind}]").into(),
        (None, None) => "".into(),
    }
}
