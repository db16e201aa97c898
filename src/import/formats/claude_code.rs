//! Sessions of Claude Code: `~/.claude/projects/DIRECTORY/SESSION.jsonl`, and those of its subagents below.
//!
//! A line with a `uuid` is an event of the conversation. A session that is resumed or forked begins with copies of the lines
//! before, in some versions under its own id: the same `uuid` is the same message.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::import::agent_session::{
    self, EVENT, Facts, INJECTED, NO_TEXT, NOTE, READ_THROUGH_PDPP, Seen, Sighting, TitleKind, is_pdpp,
    is_pdpp_tool, name, preview, raw_text, reaches_pdpp, timestamp,
};
use crate::import::declare::{Registry, StreamLine, connector};
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};
use crate::import::lines::Line;
use crate::vault::time;

/// Sessions of Claude Code.
pub struct ClaudeCode;

const KEY: &str = "claude-code";
const SESSIONS: &str = "sessions";
const MESSAGES: &str = "messages";
const ATTACHMENTS: &str = "attachments";
/// Why a line is left out that is the program's note on a session.
const BOOKKEEPING: &str = "not part of the conversation";

const STREAMS: [StreamLine; 3] = [
    StreamLine {
        name: SESSIONS,
        key: "id",
        time: "last_event_at/started_at",
        fields: "id:k! title:h project_path:s cwd:s git_branch:g version:g started_at:t last_event_at:T",
        relations: "messages messages session_id many,attachments attachments session_id many",
    },
    StreamLine {
        name: MESSAGES,
        key: "id",
        time: "timestamp",
        fields: "id:k! session_id:k! parent_uuid:k role:g type:g content:b timestamp:T is_sidechain:f agent_id:k",
        relations: "",
    },
    StreamLine {
        name: ATTACHMENTS,
        key: "id",
        time: "timestamp",
        fields: "id:k! session_id:k! tool_use_id:k event_type:g content_preview:b content_bytes:i timestamp:T",
        relations: "",
    },
];

#[derive(Serialize)]
struct Session<'a> {
    id: &'a str,
    title: Option<&'a str>,
    project_path: Option<&'a str>,
    cwd: Option<&'a str>,
    git_branch: Option<&'a str>,
    version: Option<&'a str>,
    started_at: Option<String>,
    last_event_at: Option<String>,
}

impl Session<'_> {
    fn json(id: &str, sighting: &Sighting) -> String {
        let facts = sighting.facts();
        let session = Session {
            id,
            title: facts.title,
            project_path: facts.first_directory,
            cwd: facts.directory,
            git_branch: facts.branch,
            version: facts.program,
            started_at: facts.started_at,
            last_event_at: facts.last_event_at,
        };
        serde_json::to_string(&session).unwrap_or_default()
    }
}

#[derive(Serialize, Deserialize)]
struct Message<'a> {
    id: Cow<'a, str>,
    session_id: Cow<'a, str>,
    parent_uuid: Option<Cow<'a, str>>,
    role: Option<Cow<'a, str>>,
    r#type: Cow<'a, str>,
    content: Cow<'a, str>,
    timestamp: Option<String>,
    is_sidechain: Option<bool>,
    agent_id: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
struct Attachment<'a> {
    id: Cow<'a, str>,
    session_id: Cow<'a, str>,
    tool_use_id: Option<Cow<'a, str>>,
    event_type: Cow<'a, str>,
    content_preview: Cow<'a, str>,
    content_bytes: usize,
    timestamp: Option<String>,
}

/// What copies of one line may say differently. The copy whose session is the smallest counts, so its id stands first.
#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Origin(String, Option<String>, Option<bool>, Option<String>, Option<String>);

impl Format for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn title(&self) -> &'static str {
        "Claude Code sessions"
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let mut sure = None;
        let text = String::from_utf8_lossy(peek.head);
        for line in text.lines().filter(|line| line.starts_with('{')).take(200) {
            // The last line may be cut off: then only its beginning tells.
            let (has_id, has_session) = match serde_json::from_str::<Light<'_>>(line) {
                Ok(light) if light.kind.is_none() => continue,
                Ok(light) => (light.uuid.is_some(), light.session_id.is_some() || light.leaf_uuid.is_some()),
                Err(_) if line.contains("\"type\":") => {
                    (line.contains("\"uuid\":"), line.contains("\"sessionId\":"))
                }
                Err(_) => continue,
            };
            match (has_session, has_id) {
                (true, true) => return Some(Sure::Certain),
                (true, false) => sure = Some(Sure::Likely),
                _ => {}
            }
        }
        sure
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Upstream, KEY, "Claude Code", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let mut units: Vec<usize> = (0..members.len()).collect();
        units.sort_by_key(|at| members[*at].label);
        Ok(vec![Plan {
            connector,
            account: ask.account.clone().unwrap_or_else(|| KEY.to_owned()),
            units,
            notes: vec![
                NOTE.to_owned(),
                "What Claude Code read through pdpp is left out: calls of servers named pdpp and their results. What was said \
                 about it in messages stays."
                    .to_owned(),
            ],
            zone: ask.zone.clone(),
            state: Arc::new(()),
        }])
    }

    fn split(&self, _: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        agent_session::split(unit, from, out, &mut look)
    }

    fn parse(&self, _: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        let facts = Facts::of(raw);
        if facts.too_long_at.is_some() {
            return Err(Bad("a line of more than 64 MiB"));
        }
        if let Some(session) = facts.sighting_of {
            let sighting = String::from_utf8_lossy(&raw.bytes).into_owned();
            let data = Session::json(&session, &Sighting::read(&sighting));
            return Ok(Parsed::Records(vec![Draft {
                sighting: Some(sighting),
                ..Draft::new(SESSIONS, session, data)
            }]));
        }
        line(&agent_session::value(&raw.bytes)?, &facts.hidden)
    }

    fn join(&self, stream: &str, data: &str, sightings: &[&str]) -> String {
        if stream == SESSIONS {
            return serde_json::from_str::<Value>(data).map_or_else(
                |_| data.to_owned(),
                |record| {
                    let id = record["id"].as_str().unwrap_or_default();
                    Session::json(id, &Sighting::of_all(sightings))
                },
            );
        }
        let origins = sightings.iter().filter_map(|sighting| serde_json::from_str::<Origin>(sighting).ok());
        let Some(origin) = origins.min() else {
            return data.to_owned();
        };
        if stream == MESSAGES {
            return copied(data, |message: &mut Message<'_>| {
                let Origin(session, parent, is_sidechain, agent, timestamp) = origin;
                message.session_id = session.into();
                message.parent_uuid = parent.map(Cow::Owned);
                message.is_sidechain = is_sidechain;
                message.agent_id = agent.map(Cow::Owned);
                message.timestamp = timestamp;
            });
        }
        copied(data, |attachment: &mut Attachment<'_>| {
            attachment.session_id = origin.0.into();
            attachment.timestamp = origin.4;
        })
    }

    fn add_sighting(&self, stream: &str, first: &str, second: &str) -> String {
        if stream == SESSIONS {
            return Sighting::of_all(&[first, second]).to_json();
        }
        match (serde_json::from_str::<Origin>(first), serde_json::from_str::<Origin>(second)) {
            (Ok(a), Ok(b)) if b < a => second.to_owned(),
            (Err(_), Ok(_)) => second.to_owned(),
            _ => first.to_owned(),
        }
    }
}

/// `data` with what `change` does to it.
fn copied<'a, T: Deserialize<'a> + Serialize>(data: &'a str, change: impl FnOnce(&mut T)) -> String {
    let Ok(mut record) = serde_json::from_str::<T>(data) else {
        return data.to_owned();
    };
    change(&mut record);
    serde_json::to_string(&record).unwrap_or_else(|_| data.to_owned())
}

/// What of a line is looked at before it is parsed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Light<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    uuid: Option<&'a RawValue>,
    #[serde(borrow)]
    session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    leaf_uuid: Option<&'a RawValue>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    cwd: Option<&'a RawValue>,
    #[serde(borrow)]
    git_branch: Option<&'a RawValue>,
    #[serde(borrow)]
    version: Option<&'a RawValue>,
    #[serde(borrow)]
    is_meta: Option<&'a RawValue>,
    #[serde(borrow)]
    is_sidechain: Option<&'a RawValue>,
    #[serde(borrow)]
    is_compact_summary: Option<&'a RawValue>,
    #[serde(borrow)]
    custom_title: Option<&'a RawValue>,
    #[serde(borrow)]
    ai_title: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct LightMessage<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct LightBlock<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    server_name: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_id: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

/// Remembers what a line says of its session, and which of its results are left out.
fn look(at: &Line<'_>, text: &str, seen: &mut Seen) -> Facts {
    let mut facts = Facts::default();
    let Ok(light) = serde_json::from_str::<Light<'_>>(text) else {
        return facts;
    };
    let is = |raw: Option<&RawValue>| raw.is_some_and(|raw| raw.get() == "true");
    let session = raw_text(light.session_id);
    let session = session.as_deref().and_then(name);
    let content =
        light.message.and_then(|raw| serde_json::from_str::<LightMessage<'_>>(raw.get()).ok()?.content);
    let blocks = content.and_then(|raw| serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok());
    let blocks: Vec<LightBlock<'_>> =
        blocks.into_iter().flatten().filter_map(|raw| serde_json::from_str(raw.get()).ok()).collect();
    for block in &blocks {
        if let Some(tool) = raw_text(block.name)
            && (is_pdpp_tool(&tool)
                || raw_text(block.server_name).is_some_and(|server| is_pdpp(&server))
                || block.input.is_some_and(|input| reaches_pdpp(input.get())))
            && let Some(id) = raw_text(block.id)
        {
            seen.hide(&id);
        }
        if let Some(id) = raw_text(block.tool_use_id)
            && seen.is_hidden(&id)
        {
            facts.hidden.push(id);
        }
    }
    let Some(session) = session else {
        return facts;
    };
    // A name that is given again counts more than the one before.
    let latest = u64::MAX - at.offset;
    for (kind, title) in [(TitleKind::Given, light.custom_title), (TitleKind::Made, light.ai_title)] {
        if let Some(title) = raw_text(title) {
            seen.session(session).title(kind, latest, &title);
        }
    }
    let time = raw_text(light.timestamp).and_then(|text| time::parse_ms(&text));
    if let (Some(_), Some(time)) = (light.uuid, time) {
        let sighting = seen.session(session);
        sighting.event(time);
        let (cwd, branch, version) =
            (raw_text(light.cwd), raw_text(light.git_branch), raw_text(light.version));
        sighting.place(time, cwd.as_deref(), branch.as_deref(), version.as_deref());
        let is_by_the_person = light.kind.is_some_and(|kind| kind.get() == "\"user\"")
            && !is(light.is_meta)
            && !is(light.is_sidechain)
            && !is(light.is_compact_summary);
        if is_by_the_person && !sighting.has_title(TitleKind::Made) {
            let words = raw_text(content).or_else(|| blocks.iter().find_map(|block| raw_text(block.text)));
            // The program wraps what it puts into a person's mouth into tags.
            if let Some(words) = words.filter(|words| !words.trim_start().starts_with('<')) {
                let order = time.unsigned_abs();
                sighting.title(TitleKind::FirstMessage, order, &words);
            }
        }
    }
    facts
}

/// The records of a line.
fn line(line: &Value, hidden: &[String]) -> Result<Parsed, Bad> {
    if !line.is_object() {
        return Err(Bad("not a JSON object"));
    }
    let text = |key: &str| line[key].as_str().and_then(name);
    let (Some(id), Some(session)) = (text("uuid"), text("sessionId")) else {
        return Ok(Parsed::Skipped(BOOKKEEPING));
    };
    let event = Event {
        line,
        id,
        session: line["forkedFrom"]["sessionId"].as_str().and_then(name).unwrap_or(session),
        timestamp: line["timestamp"].as_str().and_then(timestamp),
    };
    match text("type") {
        Some("user" | "assistant") if line["isMeta"] == true => Ok(Parsed::Skipped(INJECTED)),
        // The model's own summary of what was before, in the person's mouth.
        Some("user") if line["isCompactSummary"] == true => Ok(event.message("summary", hidden)),
        Some(kind @ ("user" | "assistant")) => Ok(event.message(kind, hidden)),
        Some("system") => Ok(line["content"]
            .as_str()
            .filter(|content| !content.trim().is_empty())
            .map_or(Parsed::Skipped(EVENT), |content| {
                Parsed::Records(vec![event.draft(Some("system"), "system", content)])
            })),
        Some("attachment") => Ok(event.attached(&line["attachment"])),
        _ => Ok(Parsed::Skipped(EVENT)),
    }
}

/// A line of the conversation.
struct Event<'a> {
    line: &'a Value,
    id: &'a str,
    session: &'a str,
    timestamp: Option<String>,
}

impl Event<'_> {
    fn message(&self, kind: &str, hidden: &[String]) -> Parsed {
        let message = &self.line["message"];
        let mut said: Vec<Cow<'_, str>> = Vec::new();
        let mut drafts = Vec::new();
        let (mut is_hidden, mut has_text) = (false, false);
        let blocks = match &message["content"] {
            Value::String(text) => {
                has_text = true;
                said.push(text.into());
                &[][..]
            }
            Value::Array(blocks) => blocks,
            _ => &[],
        };
        for (at, block) in blocks.iter().enumerate() {
            let field = |key: &str| block[key].as_str();
            match field("type").unwrap_or_default() {
                "text" => {
                    has_text = true;
                    said.extend(field("text").map(Cow::Borrowed));
                }
                "thinking" => said.extend(field("thinking").map(Cow::Borrowed)),
                "redacted_thinking" => {}
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    let tool = field("name").unwrap_or_default();
                    let input = block["input"].to_string();
                    if is_pdpp_tool(tool) || reaches_pdpp(&input) || field("server_name").is_some_and(is_pdpp)
                    {
                        is_hidden = true;
                    } else {
                        drafts.push(self.attachment(at, field("id"), "tool_use", &format!("{tool} {input}")));
                    }
                }
                result if result.ends_with("tool_result") => {
                    if field("tool_use_id").is_some_and(|id| hidden.iter().any(|hidden| hidden == id)) {
                        is_hidden = true;
                    } else {
                        let text = text_of(&block["content"]);
                        drafts.push(self.attachment(at, field("tool_use_id"), "tool_result", &text));
                    }
                }
                "" => {}
                other => said.push(format!("[{other}]").into()),
            }
        }
        let content = said
            .iter()
            .map(|part| part.trim_end())
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n\n");
        if !content.is_empty() {
            let kind = if has_text || kind != "assistant" { kind } else { "thinking" };
            drafts.insert(0, self.draft(message["role"].as_str(), kind, &content));
        }
        match (drafts.is_empty(), is_hidden) {
            (true, true) => Parsed::Skipped(READ_THROUGH_PDPP),
            (true, false) => Parsed::Skipped(NO_TEXT),
            (false, _) => Parsed::Records(drafts),
        }
    }

    /// What the program put beside the conversation. What the person did is kept.
    fn attached(&self, attachment: &Value) -> Parsed {
        let kind = attachment["type"].as_str().unwrap_or_default();
        match kind {
            // Typed while the agent was working.
            "queued_command" => match text_of(&attachment["prompt"]) {
                text if text.trim().is_empty() => Parsed::Skipped(NO_TEXT),
                text => Parsed::Records(vec![self.draft(Some("user"), "user", &text)]),
            },
            "mcp_resource" if attachment["server"].as_str().is_none_or(is_pdpp) => {
                Parsed::Skipped(READ_THROUGH_PDPP)
            }
            // Named by the person, or changed by them.
            "file"
            | "edited_text_file"
            | "directory"
            | "mcp_resource"
            | "pdf_reference"
            | "selected_lines_in_ide" => {
                let file = ["filename", "path", "uri"].into_iter().find_map(|key| attachment[key].as_str());
                let content = ["content", "snippet"].into_iter().map(|key| &attachment[key]);
                let content = content.map(text_of).find(|text| !text.is_empty()).unwrap_or_default();
                let text = [file.unwrap_or_default(), &content].join("\n");
                if reaches_pdpp(&text) {
                    return Parsed::Skipped(READ_THROUGH_PDPP);
                }
                Parsed::Records(vec![self.attachment(0, None, kind, text.trim())])
            }
            _ => Parsed::Skipped(INJECTED),
        }
    }

    fn origin(&self, is_message: bool) -> String {
        let text = |key: &str| {
            is_message.then(|| self.line[key].as_str().and_then(name).map(str::to_owned)).flatten()
        };
        let origin = Origin(
            self.session.to_owned(),
            text("parentUuid"),
            self.line["isSidechain"].as_bool().filter(|_| is_message),
            text("agentId"),
            self.timestamp.clone(),
        );
        serde_json::to_string(&origin).unwrap_or_default()
    }

    fn draft(&self, role: Option<&str>, kind: &str, content: &str) -> Draft {
        let message = Message {
            id: self.id.into(),
            session_id: self.session.into(),
            parent_uuid: self.line["parentUuid"].as_str().and_then(name).map(Cow::Borrowed),
            role: role.map(Cow::Borrowed),
            r#type: kind.into(),
            content: content.into(),
            timestamp: self.timestamp.clone(),
            is_sidechain: self.line["isSidechain"].as_bool(),
            agent_id: self.line["agentId"].as_str().and_then(name).map(Cow::Borrowed),
        };
        let data = serde_json::to_string(&message).unwrap_or_default();
        Draft { sighting: Some(self.origin(true)), ..Draft::new(MESSAGES, self.id, data) }
    }

    fn attachment(&self, block: usize, call: Option<&str>, kind: &str, content: &str) -> Draft {
        let key = format!("{}:{block}", self.id);
        let attachment = Attachment {
            id: key.as_str().into(),
            session_id: self.session.into(),
            tool_use_id: call.and_then(name).map(Cow::Borrowed),
            event_type: kind.into(),
            content_preview: preview(content).into(),
            content_bytes: content.len(),
            timestamp: self.timestamp.clone(),
        };
        let data = serde_json::to_string(&attachment).unwrap_or_default();
        Draft { sighting: Some(self.origin(false)), ..Draft::new(ATTACHMENTS, key, data) }
    }
}

/// The text of a result: as it is, or of its blocks; other blocks are named.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match (block["text"].as_str(), block["type"].as_str()) {
                (Some(text), _) => text.to_owned(),
                (None, Some(kind)) => format!("[{kind}]"),
                (None, None) => String::new(),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        // The contents of a file: `{"type":"text","file":{"filePath":…,"content":…}}`.
        Value::Object(_) => {
            let file = &content["file"]["content"];
            file.as_str().or_else(|| content["text"].as_str()).unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}
