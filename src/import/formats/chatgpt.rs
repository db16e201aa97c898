//! ChatGPT's export: `conversations.json`, or `conversations-000.json` and so on, an array with one element per conversation.
//!
//! A conversation is a tree of nodes: each regenerated answer is a branch. `user.json` names the owner. A map of names gives the
//! original names of the files that are stored next to it as `.dat`.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::import::agent_session::{is_pdpp, name};
use crate::import::chat_export::{
    self, age, beginning, beginning_of, by_account, folder, instant, side_file,
};
use crate::import::declare::{Declared, Registry, StreamLine, connector};
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit, Whose,
};

/// ChatGPT's export.
pub struct ChatGpt;

const KEY: &str = "chatgpt";
const CONVERSATIONS: &str = "conversations";
const MESSAGES: &str = "messages";
const ATTACHMENTS: &str = "attachments";
/// How many nodes without a message may lie between a message and its parent.
const MOST_PASSED: usize = 16;

const STREAMS: [StreamLine; 3] = [
    StreamLine {
        name: CONVERSATIONS,
        key: "id",
        time: "update_time/create_time",
        fields: "id:k! title:h create_time:t update_time:T* is_archived:f* gizmo_id:k",
        relations: "messages messages conversation_id many",
    },
    StreamLine {
        name: MESSAGES,
        key: "id",
        time: "create_time",
        fields: "id:k! conversation_id:k! parent_id:k role:g content:b content_type:g model_slug:g create_time:T \
            on_current_branch:f* attachment_ids:a",
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
const DECLARED: &[Declared] = &[Declared { registry: Registry::Upstream, key: KEY, streams: &STREAMS }];

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

/// What an export says of a message and a later export may say differently: when the conversation was changed, and whether the
/// message is on its current branch. The latest one counts.
#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Branch(Option<String>, Option<bool>);

/// What a member of an export contains.
enum Part {
    Conversations,
    User(Value),
    Names(Map<String, Value>),
}

/// The original file names, by file id.
type Names = HashMap<String, String>;

impl Format for ChatGpt {
    fn name(&self) -> &'static str {
        "chatgpt"
    }

    fn title(&self) -> &'static str {
        "a ChatGPT export"
    }

    fn declares(&self) -> &'static [Declared] {
        DECLARED
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let head = beginning(peek.head);
        let has = |mark: &str| head.contains(mark);
        match head.bytes().next()? {
            b'[' if has("\"mapping\"") && (has("\"current_node\"") || has("\"children\"")) => {
                Some(Sure::Certain)
            }
            // Elements without a mapping are bad items of a file that is still recognised by these two names.
            b'[' if has("\"conversation_id\"") && has("\"current_node\"") => Some(Sure::Likely),
            b'{' if has("\"chatgpt_plus_user\"") && has("\"id\"") => Some(Sure::Certain),
            // A user file of an account that has no information about its plan.
            b'{' if peek.label.ends_with("user.json") && is_user(&head) => Some(Sure::Certain),
            b'{' if is_names(&head) => Some(Sure::Certain),
            _ => None,
        }
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Upstream, KEY, "ChatGPT", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let (mut conversations, mut names) = (Vec::new(), Names::new());
        let mut accounts: BTreeMap<&str, String> = BTreeMap::new();
        for (at, member) in members.iter().enumerate() {
            match part(member)? {
                Part::Conversations => conversations.push(at),
                Part::User(user) => {
                    let account =
                        ["email", "name", "id"].into_iter().find_map(|key| user[key].as_str().and_then(name));
                    accounts.extend(account.map(|account| (folder(member.label), account.to_lowercase())));
                }
                Part::Names(map) => names.extend(map.into_iter().filter_map(|(file, named)| {
                    Some((file_id(&file).to_owned(), named.as_str().and_then(name)?.to_owned()))
                })),
            }
        }
        if conversations.is_empty() {
            return Err(Refused::Unfit {
                why: "this part of a ChatGPT export has no conversations: name the folder or the zip file that also has \
                    conversations.json"
                    .to_owned(),
            });
        }
        let state: Arc<Names> = Arc::new(names);
        let plans = by_account(members, conversations, &accounts, ask, KEY).into_iter().map(|of| {
            let mut notes = vec![
                "Files that were sent or made in these chats are listed by name. Their content is not imported.".to_owned(),
            ];
            if !of.is_known {
                notes.push(format!(
                    "No user.json names the owner of these chats, so the account is called {KEY}. --account gives \
                     it another name."
                ));
            }
            Plan {
                connector: connector.clone(),
                account: of.account,
                units: of.units,
                notes,
                whose: Whose { is_sure: of.owner.is_some(), owner: of.owner, note: None },
                zone: ask.zone.clone(),
                state: state.clone(),
            }
        });
        Ok(plans.collect())
    }

    fn split(&self, _: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        chat_export::split(unit, from, out)
    }

    fn parse(&self, plan: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        let element = chat_export::value(raw)?;
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

/// `{"id":"user-AbC","email":"ana@example.org",…}`
fn is_user(head: &str) -> bool {
    let has = |mark: &str| head.contains(mark);
    has("\"id\"")
        && (has("\"user-") || has("\"phone_number\"") || has("\"birth_year\""))
        && (has("\"email\"") || has("\"name\""))
}

/// `{"file-AbC.dat":"photo.jpg",…}`
fn is_names(head: &str) -> bool {
    let first = head.trim_start_matches('{').trim_start();
    (first.starts_with("\"file-") || first.starts_with("\"file_")) && head.contains(".dat\"")
}

fn part(member: &Member<'_>) -> Result<Part, Refused> {
    let head = beginning_of(member)?;
    if !head.starts_with('{') {
        return Ok(Part::Conversations);
    }
    match side_file(member)? {
        Value::Object(names) if is_names(&head) => Ok(Part::Names(names)),
        user => Ok(Part::User(user)),
    }
}

/// `file-AbC` of `file-AbC.dat`, `file-service://file-AbC` and `sediment://file-AbC#page`.
fn file_id(text: &str) -> &str {
    let text = text.rsplit_once("://").map_or(text, |(_, id)| id);
    text.split(['.', '#', '?']).next().unwrap_or(text)
}

/// A conversation's nodes.
struct Tree<'a> {
    id: &'a str,
    mapping: &'a Map<String, Value>,
    names: &'a Names,
    update_time: Option<String>,
    /// The nodes that become messages.
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

    /// The nodes from `node` to the root. A cycle ends where it begins.
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

    /// The id of a message. Nodes are copied under their existing ids into conversations that were branched off.
    fn key(&self, node: &str) -> String {
        format!("{}:{node}", self.id)
    }

    /// The nearest ancestor that has a message.
    fn parent_key(&self, node: &'a str) -> Option<String> {
        let above = std::iter::successors(self.parent(node), |node| self.parent(node));
        above.take(MOST_PASSED).find(|node| self.kept.contains(node)).map(|node| self.key(node))
    }

    /// Whether a node is one of `calls`, or a tool's message below it, which is the result of the call.
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

    /// Adds the records of a node, if it has any.
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

/// Whether a message is only for the model.
fn is_hidden(message: &Value) -> bool {
    let metadata = &message["metadata"];
    metadata["is_visually_hidden_from_conversation"] == true
        || metadata["is_user_system_message"] == true
        || matches!(
            message["content"]["content_type"].as_str(),
            Some("user_editable_context" | "model_editable_context")
        )
}

/// Whether a message is a call of pdpp's own tools, or names them as its source. A second copy of their results would escape the
/// limits of a grant.
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

/// The files that were attached to a message, then those in its content.
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

/// The text of a message. Content that is not text is named.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::import::harness::{
        Counts, Kept, ask, assert_twice_is_once_in_any_order, imported, plan, sniff, split,
    };

    const USER: &[u8] =
        br#"{"id":"user-1","email":"Ana@Example.org","chatgpt_plus_user":false,"birth_year":1990}"#;

    fn node(id: &str, parent: Option<&str>, message: &Value) -> (String, Value) {
        (id.to_owned(), json!({"id": id, "parent": parent, "children": [], "message": message}))
    }

    fn said(role: &str, parts: &Value) -> Value {
        json!({"id": "x", "author": {"role": role, "name": null, "metadata": {}}, "create_time": 1_772_359_200.123_457,
            "content": {"content_type": "text", "parts": parts}, "metadata": {"model_slug": "gpt-5"}, "recipient": "all"})
    }

    fn conversation(id: &str, nodes: &[(String, Value)], current: &str) -> Value {
        let mapping: Map<String, Value> = nodes.iter().cloned().collect();
        json!({"title": format!("About {id}"), "create_time": 1_772_359_200.5, "update_time": 1_772_359_260, "mapping": mapping,
            "current_node": current, "conversation_id": id, "id": id, "is_archived": false, "gizmo_id": null})
    }

    /// A question, an answer that was regenerated, and a thank-you.
    fn garden(id: &str) -> Value {
        let mut hidden = said("system", &json!(["Be kind."]));
        hidden["metadata"]["is_visually_hidden_from_conversation"] = true.into();
        conversation(
            id,
            &[
                node("root", None, &Value::Null),
                node("h", Some("root"), &hidden),
                node("q", Some("h"), &said("user", &json!(["Which beds?"]))),
                node("a1", Some("q"), &said("assistant", &json!(["North."]))),
                node("a2", Some("q"), &said("assistant", &json!(["Both."]))),
                node("t", Some("a2"), &said("user", &json!(["Thanks."]))),
            ],
            "t",
        )
    }

    fn file(conversations: &[Value]) -> Vec<u8> {
        Value::from(conversations.to_vec()).to_string().into_bytes()
    }

    fn record(kept: &Kept, stream: &str, key: &str) -> Value {
        let found = kept.records.iter().find(|((_, of, id), _)| of == stream && id == key);
        found.map_or(Value::Null, |(_, data)| serde_json::from_str(data).unwrap())
    }

    fn keys(kept: &Kept, stream: &str) -> Vec<String> {
        kept.records.keys().filter(|(_, of, _)| of == stream).map(|(_, _, key)| key.clone()).collect()
    }

    fn import(files: &[(&str, &[u8])]) -> (Kept, Counts) {
        imported(&ChatGpt, files)
    }

    #[test]
    fn o5_1_a_conversation_becomes_messages_that_know_their_branch() {
        let (kept, counts) = import(&[("conversations.json", &file(&[garden("c1")])), ("user.json", USER)]);
        assert_eq!(kept.records.keys().next().unwrap().0, "ana@example.org");
        assert_eq!(
            record(&kept, CONVERSATIONS, "c1"),
            json!({
                "id": "c1", "title": "About c1", "create_time": "2026-03-01T10:00:00.500Z",
                "update_time": "2026-03-01T10:01:00.000Z", "is_archived": false, "gizmo_id": null,
            })
        );
        assert_eq!(keys(&kept, MESSAGES), ["c1:a1", "c1:a2", "c1:q", "c1:t"]);
        assert_eq!(
            record(&kept, MESSAGES, "c1:a1"),
            json!({
                "id": "c1:a1", "conversation_id": "c1", "parent_id": "c1:q", "role": "assistant", "content": "North.",
                "content_type": "text", "model_slug": "gpt-5", "create_time": "2026-03-01T10:00:00.123Z",
                "on_current_branch": false, "attachment_ids": [],
            })
        );
        assert_eq!(record(&kept, MESSAGES, "c1:a2")["on_current_branch"], true);
        // Neither the root without a message nor the hidden message is a parent.
        assert_eq!(record(&kept, MESSAGES, "c1:q")["parent_id"], Value::Null);
        assert_eq!((counts.read, counts.new), (1, 1));
    }

    #[test]
    fn o5_2_streams_are_upstreams() {
        let plans = plan(&ChatGpt, &[("conversations.json", &file(&[garden("c1")]))], ask()).unwrap();
        assert_eq!(plans[0].connector.id, "https://registry.pdpp.dev/connectors/chatgpt");
        let conversations = plans[0].connector.stream(CONVERSATIONS).unwrap();
        assert_eq!(conversations.consent_time_field.as_deref(), Some("create_time"));
        assert!(plans[0].notes.iter().any(|note| note.contains("not imported")));
        assert!(plans[0].notes.iter().any(|note| note.contains("--account")));
    }

    #[test]
    fn contents_decide_what_is_an_export() {
        assert_eq!(sniff(&ChatGpt, "x.json", &file(&[garden("c1")])), Some(Sure::Certain));
        let pretty = format!("\u{feff}\n{:#}", json!([garden("c1")]));
        assert_eq!(sniff(&ChatGpt, "x.json", pretty.as_bytes()), Some(Sure::Certain));
        assert_eq!(sniff(&ChatGpt, "x.json", USER), Some(Sure::Certain));
        assert_eq!(sniff(&ChatGpt, "x.json", br#"{"file-Ab1.dat": "photo.jpg"}"#), Some(Sure::Certain));
        for user in
            [&br#"{"id":"user-1","email":"Ana@Example.org"}"#[..], br#"{"id": "user-1", "name": "Ana"}"#]
        {
            assert_eq!(sniff(&ChatGpt, "x/user.json", user), Some(Sure::Certain));
            assert_eq!(sniff(&ChatGpt, "x/other.json", user), None);
            let files = [("conversations.json", &file(&[garden("c1")])[..]), ("user.json", user)];
            let plans = plan(&ChatGpt, &files, ask()).unwrap();
            assert!(["ana@example.org", "ana"].contains(&plans[0].account.as_str()), "{}", plans[0].account);
            assert!(!plans[0].notes.join(" ").contains("user.json"), "{:?}", plans[0].notes);
        }
        for other in [
            "",
            "[]",
            "{}",
            r#"[{"chat_messages":[]}]"#,
            r#"{"id":"user-1","email":"a@b"}"#,
            r#"[{"mapping":1}]"#,
        ] {
            assert_eq!(sniff(&ChatGpt, "conversations.json", other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn split_files_are_one_account_and_two_exports_are_two() {
        let (first, second) = (file(&[garden("c1")]), file(&[garden("c2")]));
        let other = br#"{"id":"user-2","email":"ben@example.org","chatgpt_plus_user":true}"#;
        let plans = plan(
            &ChatGpt,
            &[
                ("a/conversations-001.json", &second),
                ("a/user.json", USER),
                ("a/conversations-000.json", &first),
                ("b/conversations.json", &first),
                ("b/user.json", other),
            ],
            ask(),
        );
        let of: Vec<_> = plans.unwrap().into_iter().map(|plan| (plan.account, plan.units)).collect();
        assert_eq!(of, [("ana@example.org".to_owned(), vec![2, 0]), ("ben@example.org".to_owned(), vec![3])]);
        let named = Ask { account: Some("me".to_owned()), ..ask() };
        assert_eq!(
            plan(&ChatGpt, &[("a/user.json", USER), ("c.json", &first)], named).unwrap()[0].account,
            "me"
        );
        assert!(matches!(plan(&ChatGpt, &[("user.json", USER)], ask()), Err(Refused::Unfit { .. })));
    }

    #[test]
    fn conversations_that_share_nodes_keep_their_own() {
        let (first, second) = (file(&[garden("c1"), garden("c2")]), file(&[garden("c2"), garden("c1")]));
        let (kept, _) = import(&[("conversations.json", &first)]);
        assert_eq!(keys(&kept, MESSAGES).len(), 8);
        assert_eq!(import(&[("conversations.json", &second)]).0.records, kept.records);
    }

    #[test]
    fn a_later_export_counts_whichever_is_imported_first() {
        let early = garden("c1");
        let mut late = garden("c1");
        late["title"] = "Beds".into();
        late["update_time"] = 1_772_359_300.into();
        late["current_node"] = "a1".into();
        let files = [file(&[early]), file(&[late])];
        for order in [[0, 1], [1, 0]] {
            let mut kept = Kept::default();
            for at in order {
                kept.import(&ChatGpt, &[(&format!("{at}.json"), &files[at])]);
            }
            assert_eq!(record(&kept, CONVERSATIONS, "c1")["title"], "Beds");
            assert_eq!(record(&kept, MESSAGES, "c1:a1")["on_current_branch"], true);
            assert_eq!(record(&kept, MESSAGES, "c1:t")["on_current_branch"], false);
        }
    }

    #[test]
    fn what_is_no_text_is_named_and_files_are_listed() {
        let mut sent = said(
            "user",
            &json!([
            {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_00a1", "size_bytes": 7},
            {"content_type": "audio_transcription", "text": "spoken"},
            {"content_type": "audio_asset_pointer", "asset_pointer": "file-service://file-Au"},
            {"content_type": "novel"}, "And this?"]),
        );
        sent["content"]["content_type"] = "multimodal_text".into();
        sent["metadata"]["attachments"] = json!([{"id": "file-Pd", "name": "beds.pdf", "size": 1234, "mime_type": "application/pdf"},
                {"id": "file_00a1", "size": 7, "mimeType": "image/png"}]);
        let mut thoughts = said("assistant", &Value::Null);
        thoughts["content"] =
            json!({"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "Beds?"}]});
        let mut code = said("assistant", &Value::Null);
        code["content"] = json!({"content_type": "code", "language": "python", "text": "1 + 1"});
        code["create_time"] = Value::Null;
        let mut context = said("user", &Value::Null);
        context["content"] = json!({"content_type": "user_editable_context", "user_profile": "I am Ana"});
        let nodes = [
            node("u", None, &sent),
            node("th", Some("u"), &thoughts),
            node("co", Some("th"), &code),
            node("cx", Some("co"), &context),
            node("em", Some("cx"), &said("assistant", &json!([""]))),
        ];
        let names = br#"{"file_00a1.dat": "bed.png", "file-Au.dat": "voice.wav"}"#;
        let (kept, _) = import(&[
            ("conversations.json", &file(&[conversation("c1", &nodes, "em")])),
            ("map.json", names),
        ]);
        assert_eq!(keys(&kept, MESSAGES), ["c1:co", "c1:th", "c1:u"]);
        let message = record(&kept, MESSAGES, "c1:u");
        assert_eq!(message["content"], "[image]\n\nspoken\n\n[audio]\n\n[novel]\n\nAnd this?");
        assert_eq!(message["attachment_ids"], json!(["c1:u:0", "c1:u:1", "c1:u:2"]));
        assert_eq!(
            record(&kept, ATTACHMENTS, "c1:u:0"),
            json!({
                "id": "c1:u:0", "message_id": "c1:u", "filename": "beds.pdf", "content_type": "application/pdf",
                "size_bytes": 1234, "content_sha256": null, "hydration_status": "deferred", "blob_ref": null,
                "create_time": "2026-03-01T10:00:00.123Z",
            })
        );
        assert_eq!(record(&kept, ATTACHMENTS, "c1:u:1")["filename"], "bed.png");
        assert_eq!(record(&kept, ATTACHMENTS, "c1:u:2")["filename"], "voice.wav");
        assert_eq!(record(&kept, MESSAGES, "c1:th")["content"], "Beds?");
        assert_eq!(record(&kept, MESSAGES, "c1:co")["content"], "1 + 1");
        // A record without a time is in no grant with a time limit.
        assert_eq!(record(&kept, MESSAGES, "c1:co")["create_time"], Value::Null);
    }

    #[test]
    fn o5_5_what_was_read_through_pdpp_is_left_out() {
        let mut call = said("assistant", &json!([r#"{"path":"/PDPP/link_1/search","args":{"q":"clinic"}}"#]));
        call["recipient"] = "api_tool.call_tool".into();
        let mut gave = said("tool", &json!(["an invoice of the clinic"]));
        gave["author"]["name"] = "api_tool.call_tool".into();
        let mut named = said("tool", &json!(["an invoice of the clinic"]));
        named["author"]["name"] = "pdpp.search".into();
        let mut other = said("tool", &json!(["1"]));
        other["author"]["name"] = "python".into();
        let nodes = [
            node("q", None, &said("user", &json!(["What is pdpp?"]))),
            node("c", Some("q"), &call),
            node("g1", Some("c"), &gave),
            node("g2", Some("g1"), &gave),
            node("n", Some("q"), &named),
            node("o", Some("q"), &other),
            node("a", Some("g2"), &said("assistant", &json!(["It is paid."]))),
        ];
        let (kept, _) = import(&[("c.json", &file(&[conversation("c1", &nodes, "a")]))]);
        assert_eq!(keys(&kept, MESSAGES), ["c1:a", "c1:o", "c1:q"]);
        assert_eq!(record(&kept, MESSAGES, "c1:a")["parent_id"], "c1:q");
    }

    #[test]
    fn odd_elements_are_counted_and_the_next_one_is_read() {
        let whole = garden("c1").to_string().replace("Which beds?", r"Which \ud800beds \ud83c\udf31?");
        let text = format!("[1, null, {{\"id\":\"x\"}}, {{\"mapping\":{{}}}}, {{\"a\" 1}}, {whole}]");
        let (kept, counts) = import(&[("c.json", text.as_bytes())]);
        assert_eq!(counts.bad, [("no mapping", 3), ("no id", 1), ("not JSON", 1)].into());
        assert_eq!(record(&kept, MESSAGES, "c1:q")["content"], "Which \u{fffd}beds 🌱?");
        let deep = format!("[{{\"mapping\":{}{}}}, {}]", "[".repeat(5000), "]".repeat(5000), garden("c2"));
        let (kept, counts) = import(&[("c.json", deep.as_bytes())]);
        assert_eq!((counts.bad["not JSON"], keys(&kept, CONVERSATIONS)), (1, vec!["c2".to_owned()]));
    }

    #[test]
    fn o4_14_circles_and_long_chains_end() {
        let circle = [node("a", Some("b"), &said("user", &json!(["x"]))), node("b", Some("a"), &Value::Null)];
        let (kept, _) = import(&[("c.json", &file(&[conversation("c1", &circle, "b")]))]);
        assert_eq!(record(&kept, MESSAGES, "c1:a")["on_current_branch"], true);
        let mut chain = vec![node("0", None, &Value::Null)];
        chain.extend((1..20_000).map(|at| node(&at.to_string(), Some(&(at - 1).to_string()), &Value::Null)));
        chain.extend(
            (0..2_000).map(|at| node(&format!("m{at}"), Some("19999"), &said("user", &json!(["x"])))),
        );
        let (kept, _) = import(&[("c.json", &file(&[conversation("c1", &chain, "m0")]))]);
        assert_eq!(keys(&kept, MESSAGES).len(), 2_000);
    }

    #[test]
    fn a_file_that_was_cut_off_is_told_and_what_was_whole_is_given() {
        let whole = file(&[garden("c1"), garden("c2")]);
        let plan = &plan(&ChatGpt, &[("c.json", &whole)], ask()).unwrap()[0];
        let cut = whole[..whole.len() - 10].to_vec();
        let mut unit = Unit { label: "c.json", modified_ms: None, bytes: Box::new(io::Cursor::new(cut)) };
        let mut given = Vec::new();
        let end = ChatGpt.split(plan, &mut unit, 0, &mut |raw| {
            given.push(raw);
            std::ops::ControlFlow::Continue(())
        });
        assert_eq!(end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(given.len(), 1);
        let (rest, end) = split(&ChatGpt, plan, "c.json", &whole, given[0].next);
        assert_eq!((rest.len(), end), (1, whole.len() as u64 - 1));
        assert_eq!(split(&ChatGpt, plan, "c.json", &whole, end), (Vec::new(), end));
    }

    /// The content of a node does not change from one export to the next, unlike the set of nodes.
    fn conversations() -> impl Strategy<Value = Vec<Value>> {
        let one = (0_u32..3, 0_u32..3, 0_usize..6, 0_usize..6).prop_map(|(id, time, size, current)| {
            let nodes: Vec<_> = (0..size)
                .map(|at| {
                    let role = if at % 2 == 0 { "assistant" } else { "user" };
                    let message =
                        if at == 0 { Value::Null } else { said(role, &json!([format!("Said {at}")])) };
                    node(&format!("n{at}"), Some("n0"), &message)
                })
                .collect();
            let mut one = conversation(&format!("c{id}"), &nodes, &format!("n{current}"));
            one["update_time"] = (1_772_359_200 + time).into();
            one
        });
        proptest::collection::vec(one, 0..4)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn twice_is_once_and_no_order_counts(first in conversations(), second in conversations()) {
            let files = [file(&first), file(&second)];
            let named: Vec<(&str, &[u8])> = ["a", "b"].into_iter().zip(files.iter().map(|file| &file[..])).collect();
            assert_twice_is_once_in_any_order(&ChatGpt, &named);
        }

        #[test]
        fn cut_anywhere_and_finished_is_whole(conversations in conversations(), limit in 1_usize..4) {
            let whole = file(&conversations);
            let (kept, _) = import(&[("a", &whole)]);
            let mut parts = Kept::default();
            for _ in 0..5 {
                parts.import_some(&ChatGpt, &[("a", &whole)], ask(), limit);
            }
            prop_assert_eq!(parts.records, kept.records);
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), at in 0_usize..3000) {
            let mut changed = file(&[garden("c1"), garden("c2")]);
            let at = at % changed.len();
            changed.splice(at..at, bytes);
            sniff(&ChatGpt, "a", &changed);
            let plan = &plan(&ChatGpt, &[("a.json", b"[]")], ask()).unwrap()[0];
            let mut unit = Unit { label: "a", modified_ms: None, bytes: Box::new(io::Cursor::new(changed)) };
            let _ = ChatGpt.split(plan, &mut unit, 0, &mut |raw| {
                let _ = ChatGpt.parse(plan, &raw);
                std::ops::ControlFlow::Continue(())
            });
        }
    }
}
