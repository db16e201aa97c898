//! Claude Code sessions: `~/.claude/projects/DIRECTORY/SESSION.jsonl`, and those of its subagents in folders below.
//!
//! A line with a `uuid` is an event of the conversation. A session that is resumed or forked begins with copies of the earlier
//! lines, in some versions under its own session id. Lines with the same `uuid` are the same message.

use std::borrow::Cow;
use std::io;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::import::agent_session::{
    self, EVENT, Facts, INJECTED, NO_TEXT, NOTE, READ_THROUGH_PDPP, Seen, Sighting, TitleKind, is_pdpp,
    is_pdpp_tool, name, preview, raw_text, reaches_pdpp, timestamp,
};
use crate::import::declare::{Declared, Registry, StreamLine, connector};
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};
use crate::import::json_value;
use crate::import::lines::Line;
use crate::vault::time;

/// Claude Code sessions.
pub struct ClaudeCode;

const KEY: &str = "claude-code";
const SESSIONS: &str = "sessions";
const MESSAGES: &str = "messages";
const ATTACHMENTS: &str = "attachments";
/// Why a line is skipped that Claude Code wrote for its own use.
const BOOKKEEPING: &str = "not part of the conversation";

const STREAMS: [StreamLine; 3] = [
    StreamLine {
        name: SESSIONS,
        key: "id",
        time: "last_event_at/started_at",
        fields: "id:k! title:h project_path:s* cwd:s* git_branch:g* version:g* started_at:t last_event_at:T* gone_at:t*",
        relations: "messages messages session_id many,attachments attachments session_id many",
    },
    StreamLine {
        name: MESSAGES,
        key: "id",
        time: "timestamp",
        fields: "id:k! session_id:k! parent_uuid:k role:g type:g content:b timestamp:T is_sidechain:f agent_id:k gone_at:t*",
        relations: "",
    },
    StreamLine {
        name: ATTACHMENTS,
        key: "id",
        time: "timestamp",
        fields: "id:k! session_id:k! tool_use_id:k event_type:g content_preview:b content_bytes:i timestamp:T gone_at:t*",
        relations: "",
    },
];
const DECLARED: &[Declared] = &[Declared { registry: Registry::Upstream, key: KEY, streams: &STREAMS }];

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

/// Where copies of one line may differ. The copy with the smallest session id counts, so the id comes first.
#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Origin(String, Option<String>, Option<bool>, Option<String>, Option<String>);

impl Format for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn title(&self) -> &'static str {
        "Claude Code sessions"
    }

    fn declares(&self) -> &'static [Declared] {
        DECLARED
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let mut sure = None;
        let text = String::from_utf8_lossy(peek.head);
        for line in text.lines().filter(|line| line.starts_with('{')).take(200) {
            // The last line may be cut off. Then only its beginning can be checked.
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
        Ok(vec![Plan::of_all(connector, KEY, members, ask, vec![
                NOTE.to_owned(),
                "What Claude Code read through pdpp is left out: calls to servers named pdpp and their results. What messages \
                 say about it is kept."
                    .to_owned(),
            ])])
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
        line(&json_value::read(&raw.bytes)?, &facts.hidden)
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

/// Returns `data` with `change` applied to it.
fn copied<'a, T: Deserialize<'a> + Serialize>(data: &'a str, change: impl FnOnce(&mut T)) -> String {
    let Ok(mut record) = serde_json::from_str::<T>(data) else {
        return data.to_owned();
    };
    change(&mut record);
    serde_json::to_string(&record).unwrap_or_else(|_| data.to_owned())
}

/// The members of a line that are read before it is parsed.
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

/// Remembers what a line says about its session, and which of its results are left out.
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
    // A later custom title replaces an earlier one.
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
            // Claude Code wraps text that it inserts into a user message in tags.
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
        // A compact summary is written by the model but stored as a user message.
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

    /// Reads an attachment that Claude Code added to the conversation. Only what the user did is kept.
    fn attached(&self, attachment: &Value) -> Parsed {
        let kind = attachment["type"].as_str().unwrap_or_default();
        match kind {
            // A message that was typed while the agent was working.
            "queued_command" => match text_of(&attachment["prompt"]) {
                text if text.trim().is_empty() => Parsed::Skipped(NO_TEXT),
                text => Parsed::Records(vec![self.draft(Some("user"), "user", &text)]),
            },
            "mcp_resource" if attachment["server"].as_str().is_none_or(is_pdpp) => {
                Parsed::Skipped(READ_THROUGH_PDPP)
            }
            // A file or folder that the user named or changed.
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

/// The text of a result, or of its blocks. Blocks that are not text are named.
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
        // The content of a file: `{"type":"text","file":{"filePath":…,"content":…}}`.
        Value::Object(_) => {
            let file = &content["file"]["content"];
            file.as_str().or_else(|| content["text"].as_str()).unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
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

    const FIRST: &str = "0a000000-0000-4000-8000-000000000001";
    const SECOND: &str = "0b000000-0000-4000-8000-000000000002";

    /// A line as Claude Code writes it.
    fn event(
        session: &str,
        id: &str,
        parent: Option<&str>,
        kind: &str,
        second: u32,
        content: &Value,
    ) -> Value {
        json!({
            "parentUuid": parent, "isSidechain": false, "type": kind,
            "message": {"role": kind, "content": content}, "uuid": id,
            "timestamp": format!("2026-03-01T10:00:{second:02}.250Z"), "userType": "external",
            "cwd": "/home/ana/garden", "sessionId": session, "version": "2.1.0", "gitBranch": "main",
        })
    }

    fn call(id: &str, tool: &str, input: &Value) -> Value {
        json!([{"type": "tool_use", "id": id, "name": tool, "input": input}])
    }

    fn result(id: &str, content: &Value) -> Value {
        json!([{"tool_use_id": id, "type": "tool_result", "content": content}])
    }

    fn file(lines: &[Value]) -> Vec<u8> {
        lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect::<String>().into_bytes()
    }

    /// The record `key`, as JSON.
    fn record(kept: &Kept, stream: &str, key: &str) -> Value {
        let place = (KEY.to_owned(), stream.to_owned(), key.to_owned());
        kept.records.get(&place).map_or(Value::Null, |data| serde_json::from_str(data).unwrap())
    }

    fn keys(kept: &Kept, stream: &str) -> Vec<String> {
        kept.records.keys().filter(|(_, of, _)| of == stream).map(|(_, _, key)| key.clone()).collect()
    }

    fn import(files: &[(&str, &[u8])]) -> (Kept, Counts) {
        imported(&ClaudeCode, files)
    }

    fn garden() -> Vec<Value> {
        vec![
            json!({"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-03-01T10:00:00.000Z",
                "sessionId": FIRST, "content": "Plan the beds"}),
            event(FIRST, "u1", None, "user", 1, &json!("Plan the beds\nfor spring")),
            json!({"parentUuid": "u1", "isSidechain": false, "type": "attachment", "uuid": "u2",
                "attachment": {"type": "environment", "snapshot": {}}, "timestamp": "2026-03-01T10:00:01.300Z",
                "sessionId": FIRST, "cwd": "/home/ana/garden", "version": "2.1.0", "gitBranch": "main"}),
            event(
                FIRST,
                "u3",
                Some("u2"),
                "assistant",
                2,
                &json!([{"type": "thinking", "thinking": "Which beds?"}]),
            ),
            event(
                FIRST,
                "u4",
                Some("u3"),
                "assistant",
                3,
                &json!([{"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "beds.txt"}}]),
            ),
            event(
                FIRST,
                "u5",
                Some("u4"),
                "user",
                4,
                &result(
                    "t1",
                    &json!([{"type": "text", "text": "north"},
                {"type": "image", "source": {"type": "base64", "data": "aGk="}}]),
                ),
            ),
            event(FIRST, "u6", Some("u5"), "assistant", 5, &json!([{"type": "text", "text": "Two beds."}])),
        ]
    }

    #[test]
    fn o5_1_a_transcript_becomes_sessions_messages_and_attachments() {
        let (kept, counts) = import(&[("p/a.jsonl", &file(&garden()))]);
        assert_eq!(
            record(&kept, SESSIONS, FIRST),
            json!({
                "id": FIRST, "title": "Plan the beds", "project_path": "/home/ana/garden", "cwd": "/home/ana/garden",
                "git_branch": "main", "version": "2.1.0", "started_at": "2026-03-01T10:00:01.250Z",
                "last_event_at": "2026-03-01T10:00:05.250Z",
            })
        );
        assert_eq!(keys(&kept, MESSAGES), ["u1", "u3", "u4", "u6"]);
        assert_eq!(
            record(&kept, MESSAGES, "u3"),
            json!({
                "id": "u3", "session_id": FIRST, "parent_uuid": "u2", "role": "assistant", "type": "thinking",
                "content": "Which beds?", "timestamp": "2026-03-01T10:00:02.250Z", "is_sidechain": false, "agent_id": null,
            })
        );
        assert_eq!(record(&kept, MESSAGES, "u4")["content"], "I look.");
        assert_eq!(
            record(&kept, ATTACHMENTS, "u4:1"),
            json!({
                "id": "u4:1", "session_id": FIRST, "tool_use_id": "t1", "event_type": "tool_use",
                "content_preview": "Read {\"file_path\":\"beds.txt\"}", "content_bytes": 29, "timestamp": "2026-03-01T10:00:03.250Z",
            })
        );
        assert_eq!(record(&kept, ATTACHMENTS, "u5:0")["content_preview"], "north\n[image]");
        assert_eq!((counts.read, counts.new), (8, 6));
        assert_eq!(counts.skipped, [(BOOKKEEPING, 1), (INJECTED, 1)].into());
        // The fields are in the declared order, not in the order of the line.
        let message = &kept.records[&(KEY.to_owned(), MESSAGES.to_owned(), "u1".to_owned())];
        assert!(message.starts_with("{\"id\":\"u1\",\"session_id\":"), "{message}");
    }

    #[test]
    fn o5_2_streams_are_upstreams_and_what_a_person_must_know_is_said_first() {
        let plans = plan(&ClaudeCode, &[("b.jsonl", b"{}"), ("a.jsonl", b"{}")], ask()).unwrap();
        assert_eq!(plans[0].connector.id, "https://registry.pdpp.dev/connectors/claude-code");
        assert_eq!((plans[0].account.as_str(), &plans[0].units[..]), ("claude-code", &[1, 0][..]));
        for said in ["source code", "contents of files", "passwords, keys and other secrets", "left out"] {
            assert!(plans[0].notes.iter().any(|note| note.contains(said)), "{said}");
        }
        let sessions = plans[0].connector.stream(SESSIONS).unwrap();
        assert_eq!(sessions.consent_time_field.as_deref(), Some("started_at"));
    }

    #[test]
    fn contents_decide_what_is_a_session() {
        let sure = |lines: &[Value]| sniff(&ClaudeCode, "notes.txt", &file(lines));
        assert_eq!(sure(&garden()), Some(Sure::Certain));
        assert_eq!(sure(&garden()[..1]), Some(Sure::Likely));
        assert_eq!(
            sure(&[json!({"type": "summary", "summary": "Beds", "leafUuid": "u6"})]),
            Some(Sure::Likely)
        );
        // Claude Code's prompt history, a table, and a Codex session.
        assert_eq!(
            sure(&[json!({"display": "x", "timestamp": 1, "project": "/", "sessionId": FIRST})]),
            None
        );
        assert_eq!(sure(&[json!({"id": 1, "uuid": "x"})]), None);
        assert_eq!(sure(&[json!({"type": "session_meta", "payload": {"id": FIRST}})]), None);
        assert_eq!(sniff(&ClaudeCode, "session.jsonl", b""), None);
        // A first line that is longer than the head that is read.
        let long = event(FIRST, "u1", None, "user", 1, &json!("x"));
        let long = long
            .to_string()
            .replace("\"parentUuid\"", &format!("\"a\":\"{}\",\"parentUuid\"", "x".repeat(70_000)));
        assert_eq!(sniff(&ClaudeCode, "a", long.as_bytes()), None);
        let long = event(FIRST, "u1", None, "user", 1, &json!("x".repeat(70_000)));
        let line =
            json!({"type": "user", "sessionId": FIRST, "uuid": "u1"}).to_string().replace('}', ",\"m\":");
        assert_eq!(sniff(&ClaudeCode, "a", format!("{line}{long}}}").as_bytes()), Some(Sure::Certain));
    }

    #[test]
    fn the_copies_of_a_resumed_session_are_the_messages_before() {
        let first = vec![
            event(FIRST, "u1", None, "user", 1, &json!("Plan")),
            event(FIRST, "u2", Some("u1"), "assistant", 2, &call("t1", "Read", &json!({}))),
        ];
        // Forked under its own session id; resumed by a version that kept the old id; branched by a version that names its
        // source.
        let mut forked: Vec<Value> = first.clone();
        for line in &mut forked {
            line["sessionId"] = SECOND.into();
        }
        forked.push(event(SECOND, "u3", Some("u2"), "user", 9, &json!("More")));
        let mut resumed = first.clone();
        resumed.push(event(SECOND, "u4", Some("u2"), "user", 8, &json!("Less")));
        let mut branched = vec![event("0aaaaaaa", "u5", None, "user", 1, &json!("Else"))];
        branched[0]["forkedFrom"] = json!({"sessionId": SECOND, "messageUuid": "u5"});
        let files = [file(&first), file(&forked), file(&resumed), file(&branched)];
        let mut seen = None;
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
            let mut kept = Kept::default();
            for at in order {
                kept.import(&ClaudeCode, &[(&format!("{at}.jsonl"), &files[at])]);
            }
            assert_eq!(keys(&kept, MESSAGES), ["u1", "u3", "u4", "u5"]);
            for (message, session) in [("u1", FIRST), ("u3", SECOND), ("u4", SECOND), ("u5", SECOND)] {
                assert_eq!(record(&kept, MESSAGES, message)["session_id"], session, "{message}");
            }
            assert_eq!(record(&kept, ATTACHMENTS, "u2:0")["session_id"], FIRST);
            assert_eq!(record(&kept, SESSIONS, SECOND)["started_at"], "2026-03-01T10:00:01.250Z");
            assert_eq!(record(&kept, SESSIONS, SECOND)["last_event_at"], "2026-03-01T10:00:09.250Z");
            assert_eq!(*seen.get_or_insert(kept.records.clone()), kept.records);
        }
    }

    #[test]
    fn a_name_that_a_person_gave_counts_more_than_one_that_was_made() {
        let mut lines = garden();
        assert_eq!(record(&import(&[("a", &file(&lines))]).0, SESSIONS, FIRST)["title"], "Plan the beds");
        lines.push(json!({"type": "ai-title", "aiTitle": "Made", "sessionId": FIRST}));
        assert_eq!(record(&import(&[("a", &file(&lines))]).0, SESSIONS, FIRST)["title"], "Made");
        lines.push(json!({"type": "custom-title", "customTitle": "Given", "sessionId": FIRST}));
        lines.push(json!({"type": "custom-title", "customTitle": "Given again", "sessionId": FIRST}));
        lines.push(json!({"type": "ai-title", "aiTitle": "Made again", "sessionId": FIRST}));
        assert_eq!(record(&import(&[("a", &file(&lines))]).0, SESSIONS, FIRST)["title"], "Given again");
    }

    #[test]
    fn half_a_last_line_is_left_for_the_next_run() {
        let whole = file(&garden());
        let plan = &plan(&ClaudeCode, &[("a", &whole)], ask()).unwrap()[0];
        let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        for cut in last..whole.len() - 1 {
            assert_eq!(split(&ClaudeCode, plan, "a", &whole[..cut], 0).1, last as u64, "{cut}");
        }
        // Only the last line's end is missing.
        assert_eq!(split(&ClaudeCode, plan, "a", &whole[..whole.len() - 1], 0).1, whole.len() as u64 - 1);
        let (rest, end) = split(&ClaudeCode, plan, "a", &whole, whole.len() as u64 - 1);
        assert_eq!((rest.len(), end), (0, whole.len() as u64 - 1));
    }

    #[test]
    fn of_what_a_tool_printed_a_preview_is_kept() {
        let printed = format!("{}é{}", "x".repeat(4095), "secret".repeat(1000));
        let lines = [event(FIRST, "u1", None, "user", 1, &result("t1", &json!(printed)))];
        let attachment = record(&import(&[("a", &file(&lines))]).0, ATTACHMENTS, "u1:0");
        assert_eq!(attachment["content_preview"], "x".repeat(4095));
        assert_eq!(attachment["content_bytes"], printed.len());
    }

    #[test]
    fn o5_5_what_was_read_through_pdpp_is_left_out_also_where_a_run_goes_on() {
        let secret = "an invoice of the clinic";
        let mut with_both = result("t1", &json!([{"type": "text", "text": secret}]));
        with_both.as_array_mut().unwrap().push(json!({"type": "text", "text": "Go on."}));
        let lines = [
            event(FIRST, "u1", None, "user", 1, &json!("What do I owe?")),
            event(
                FIRST,
                "u2",
                Some("u1"),
                "assistant",
                2,
                &call("t1", "mcp__pdpp__search", &json!({"q": "clinic"})),
            ),
            event(
                FIRST,
                "u3",
                Some("u2"),
                "assistant",
                2,
                &call("t2", "mcp__notes__search", &json!({"q": "milk"})),
            ),
            event(FIRST, "u4", Some("u3"), "user", 3, &with_both),
            event(FIRST, "u5", Some("u4"), "user", 3, &result("t2", &json!("buy milk"))),
            event(
                FIRST,
                "u6",
                Some("u5"),
                "assistant",
                4,
                &call("t3", "Bash", &json!({"command": "cat /h/tool-results/mcp-pdpp-search-17.txt"})),
            ),
            event(FIRST, "u7", Some("u6"), "user", 5, &result("t3", &json!(secret))),
            event(FIRST, "u8", Some("u7"), "user", 5, &result("t1", &json!(secret))),
            json!({"type": "api-request-blob", "sessionId": FIRST, "message": {"role": "user", "content": with_both}}),
            json!({"type": "progress", "uuid": "u9", "sessionId": FIRST, "timestamp": "2026-03-01T10:00:07Z",
                "data": {"type": "mcp_progress", "serverName": "pdpp", "message": secret}}),
            json!({"type": "attachment", "uuid": "v1", "sessionId": FIRST, "timestamp": "2026-03-01T10:00:07Z",
                "attachment": {"type": "mcp_resource", "server": "pdpp", "uri": "x", "content": secret}}),
        ];
        let whole = file(&lines);
        let (kept, counts) = import(&[("a", &whole)]);
        assert_eq!(counts.skipped, [(READ_THROUGH_PDPP, 5), (BOOKKEEPING, 1), (EVENT, 1)].into());
        assert_eq!(keys(&kept, ATTACHMENTS), ["u3:0", "u5:0"]);
        assert_eq!(record(&kept, MESSAGES, "u4")["content"], "Go on.");
        assert!(kept.records.values().all(|data| !data.contains(secret)));
        // A file that grew after any line, with the call before that line and its result after it.
        for (cut, _) in whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            let mut grown = Kept::default();
            grown.import_some(&ClaudeCode, &[("a", &whole[..=cut])], ask(), usize::MAX);
            grown.import_some(&ClaudeCode, &[("a", &whole)], ask(), usize::MAX);
            assert_eq!(grown.records, kept.records, "{cut}");
        }
    }

    #[test]
    fn what_the_person_did_beside_the_conversation_is_kept() {
        let attached = |id: &str, attachment: &Value| {
            json!({"type": "attachment", "uuid": id, "sessionId": FIRST, "timestamp": "2026-03-01T10:00:07Z",
                "attachment": attachment})
        };
        let mut meta = event(FIRST, "u4", None, "user", 1, &json!("Caveat: made by the program"));
        meta["isMeta"] = true.into();
        let mut summary =
            event(FIRST, "u5", None, "user", 1, &json!("This session goes on from one before."));
        summary["isCompactSummary"] = true.into();
        let lines = [
            attached("u1", &json!({"type": "queued_command", "prompt": "And the shed?"})),
            attached(
                "u2",
                &json!({"type": "file", "filename": "/home/ana/beds.txt",
                "content": {"type": "text", "file": {"filePath": "/home/ana/beds.txt", "content": "north"}}}),
            ),
            json!({"type": "system", "subtype": "local_command", "content": "/cost", "uuid": "u3", "sessionId": FIRST,
                "timestamp": "2026-03-01T10:00:08Z"}),
            meta,
            summary,
        ];
        let (kept, counts) = import(&[("a", &file(&lines))]);
        assert_eq!(record(&kept, MESSAGES, "u1")["content"], "And the shed?");
        assert_eq!(record(&kept, ATTACHMENTS, "u2:0")["content_preview"], "/home/ana/beds.txt\nnorth");
        assert_eq!(record(&kept, MESSAGES, "u3")["role"], "system");
        assert_eq!(record(&kept, MESSAGES, "u5")["type"], "summary");
        assert_eq!(record(&kept, SESSIONS, FIRST)["title"], Value::Null);
        assert_eq!(counts.skipped, [(INJECTED, 1)].into());
    }

    #[test]
    fn odd_lines_are_counted_and_the_next_one_is_read() {
        let mut bytes = file(&garden()[1..2]);
        bytes.extend(b"{\"half\": \n\n[1]\n");
        bytes.extend(
            event(FIRST, "u8", None, "user", 2, &json!("A B"))
                .to_string()
                .replace("A B", r"A\ud800B")
                .bytes(),
        );
        bytes.extend(b"\n");
        bytes.extend(
            event(FIRST, "u9", None, "user", 2, &json!("A B")).to_string().replace("A B", "A_B").bytes(),
        );
        bytes.extend(b"\n");
        let at = bytes.iter().rposition(|byte| *byte == b'_').unwrap();
        bytes[at] = 0xff;
        let (kept, counts) = import(&[("a", &bytes)]);
        assert_eq!(counts.bad, [("not JSON", 1), ("not a JSON object", 1)].into());
        assert_eq!(record(&kept, MESSAGES, "u8")["content"], "A\u{fffd}B");
        assert_eq!(record(&kept, MESSAGES, "u9")["content"], "A\u{fffd}B");
    }

    /// Lines of two sessions that share messages. The copies differ only in fields in which real copies differ.
    fn lines() -> impl Strategy<Value = Vec<Value>> {
        let line = (0_usize..2, 0_u32..12, proptest::option::of(0_u32..12), any::<bool>()).prop_map(
            |(session, id, parent, is_sidechain)| {
                let content = match id % 6 {
                    0 => json!(format!("Message {id}")),
                    1 => call("t1", "mcp__pdpp__search", &json!({})),
                    2 => call("t2", "Bash", &json!({"command": id})),
                    3 => result("t1", &json!("secret")),
                    4 => result("t2", &json!("printed")),
                    _ => json!([{"type": "text", "text": "a"}, {"type": "image"}]),
                };
                let kind = if id % 2 == 0 { "user" } else { "assistant" };
                let parent = parent.map(|parent| format!("u{parent}"));
                let session = [FIRST, SECOND][session];
                let mut line = event(session, &format!("u{id}"), parent.as_deref(), kind, id, &content);
                line["isSidechain"] = is_sidechain.into();
                if id == 11 {
                    line = json!({"type": "ai-title", "aiTitle": format!("Title {is_sidechain}"), "sessionId": session});
                }
                line
            },
        );
        proptest::collection::vec(line, 0..12)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn twice_is_once_and_no_order_counts(first in lines(), second in lines(), third in lines()) {
            let files = [file(&first), file(&second), file(&third)];
            let named: Vec<(&str, &[u8])> = ["a", "b", "c"].into_iter().zip(files.iter().map(|file| &file[..])).collect();
            assert_twice_is_once_in_any_order(&ClaudeCode, &named);
        }

        #[test]
        fn cut_anywhere_and_finished_is_whole(lines in lines(), cut in 0_usize..4000, limit in 1_usize..6) {
            assert_cut_and_finished_is_whole(&ClaudeCode, &file(&lines), cut, limit);
        }

        #[test]
        fn random_bytes_never_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            at in 0_usize..2000,
            byte in any::<u8>(),
        ) {
            let mut changed = file(&garden());
            let at = at % changed.len();
            changed[at] = byte;
            changed.extend(bytes);
            sniff(&ClaudeCode, "a", &changed);
            import(&[("a", &changed)]);
        }

        #[test]
        fn sightings_of_messages_join_in_whatever_order(sessions in proptest::collection::vec("[abc]", 1..4)) {
            let told: Vec<String> = sessions.iter().map(|session| json!([session, null, false, null, null]).to_string()).collect();
            let data = json!({"id": "u1", "session_id": "z", "parent_uuid": null, "role": "user", "type": "user", "content": "x",
                "timestamp": null, "is_sidechain": false, "agent_id": null}).to_string();
            let mut refs: Vec<&str> = told.iter().map(String::as_str).collect();
            let joined = ClaudeCode.join(MESSAGES, &data, &refs);
            let added = refs.iter().fold(refs[0].to_owned(), |all, one| ClaudeCode.add_sighting(MESSAGES, &all, one));
            prop_assert_eq!(&ClaudeCode.join(MESSAGES, &data, &[&added]), &joined);
            refs.reverse();
            refs.push(refs[0]);
            prop_assert_eq!(ClaudeCode.join(MESSAGES, &data, &refs), joined);
        }
    }
}
