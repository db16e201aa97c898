//! Codex sessions: `~/.codex/sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl`.
//!
//! A file is one session, and its first line names it. `response_item` lines hold what the model received and answered; other
//! lines repeat it for the screen. Old files have the items without the envelope.

use std::borrow::Cow;
use std::io;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::import::agent_session::{
    self, EVENT, Facts, INJECTED, NO_TEXT, NOTE, READ_THROUGH_PDPP, Seen, Sighting, TitleKind, is_pdpp,
    is_pdpp_tool, least, name, preview, raw_text, reaches_pdpp, timestamp,
};
use crate::import::declare::{Declared, Registry, StreamLine, connector};
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit,
};
use crate::import::json_value;
use crate::import::lines::Line;
use crate::vault::time;

/// Codex sessions.
pub struct Codex;

const KEY: &str = "codex";
const SESSIONS: &str = "sessions";
const MESSAGES: &str = "messages";
const CALLS: &str = "function_calls";
/// The sighting of a message by its own file.
const HERE: &str = "\"here\"";
/// Why a line is skipped that repeats another line.
const REPEATED: &str = "repeats another line";

const STREAMS: [StreamLine; 3] = [
    StreamLine {
        name: SESSIONS,
        key: "id",
        time: "last_event_at/started_at",
        fields: "id:k! title:h cwd:s git_branch:g* model_provider:g* started_at:t last_event_at:T* gone_at:t*",
        relations: "messages messages session_id many,function_calls function_calls session_id many",
    },
    StreamLine {
        name: MESSAGES,
        key: "id",
        time: "timestamp",
        fields: "id:k! session_id:k! role:g type:g content:b timestamp:T gone_at:t*",
        relations: "",
    },
    StreamLine {
        name: CALLS,
        key: "id",
        time: "timestamp",
        fields: "id:k! session_id:k! call_id:k name:g arguments:x output_preview:b timestamp:T gone_at:t*",
        relations: "",
    },
];
const DECLARED: &[Declared] = &[Declared { registry: Registry::Upstream, key: KEY, streams: &STREAMS }];

/// How text begins that Codex inserts into a user message, in files that do not mark who wrote it.
const INJECTED_BEGINNINGS: [&str; 12] = [
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<collaboration_mode>",
    "<environment_context>",
    "<environments_instructions>",
    "<permissions instructions>",
    "<skill>",
    "<skills_instructions>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_instructions>",
    "<plugins_instructions>",
];

#[derive(Serialize)]
struct Session<'a> {
    id: &'a str,
    title: Option<&'a str>,
    cwd: Option<&'a str>,
    git_branch: Option<&'a str>,
    model_provider: Option<&'a str>,
    started_at: Option<String>,
    last_event_at: Option<String>,
}

impl Session<'_> {
    fn json(id: &str, sighting: &Sighting) -> String {
        let facts = sighting.facts();
        let session = Session {
            id,
            title: facts.title,
            cwd: facts.first_directory,
            git_branch: facts.branch,
            model_provider: facts.program,
            started_at: facts.started_at,
            last_event_at: facts.last_event_at,
        };
        serde_json::to_string(&session).unwrap_or_default()
    }
}

#[derive(Serialize)]
struct Message<'a> {
    id: &'a str,
    session_id: &'a str,
    role: Option<&'a str>,
    r#type: &'a str,
    content: &'a str,
    timestamp: Option<String>,
}

/// A tool call. One line has its arguments, and another its output.
#[allow(clippy::struct_field_names, reason = "the record's own names")]
#[derive(Clone, Serialize, Deserialize)]
struct Call {
    id: String,
    session_id: String,
    call_id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    output_preview: Option<String>,
    timestamp: Option<String>,
}

impl Call {
    /// Merges two lines about the call, in any order.
    fn and(self, other: Self) -> Self {
        Self {
            name: self.name.max(other.name),
            arguments: self.arguments.max(other.arguments),
            output_preview: self.output_preview.max(other.output_preview),
            timestamp: least(self.timestamp, other.timestamp),
            ..self
        }
    }

    fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Format for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn title(&self) -> &'static str {
        "Codex sessions"
    }

    fn version(&self) -> u32 {
        2
    }

    fn declares(&self) -> &'static [Declared] {
        DECLARED
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let text = String::from_utf8_lossy(peek.head);
        let mut lines = text.lines();
        let first = lines.next()?;
        // The instructions can make the first line longer than the head that is read, so it may not parse.
        let is_meta =
            [r#""type":"session_meta""#, r#""type": "session_meta""#].iter().any(|mark| first.contains(mark));
        if is_meta && first.starts_with('{') {
            return Some(Sure::Certain);
        }
        let first: Value = serde_json::from_str(first).ok()?;
        let is_old = first["id"].is_string()
            && first["timestamp"].is_string()
            && first.get("type").is_none()
            && (first.get("instructions").is_some() || first.get("git").is_some());
        let is_item = |line: &str| {
            ["\"record_type\":", "\"type\":\"message\"", "\"type\":\"reasoning\""]
                .iter()
                .any(|mark| line.contains(mark))
        };
        match (is_old, lines.next()) {
            (true, Some(second)) if is_item(second) => Some(Sure::Certain),
            (true, _) => Some(Sure::Likely),
            _ => None,
        }
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Upstream, KEY, "Codex", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        Ok(vec![Plan::of_all(connector, KEY, members, ask, vec![
                NOTE.to_owned(),
                "What Codex read through pdpp is left out: calls to servers named pdpp and their results. What messages say about \
                 it is kept."
                    .to_owned(),
            ])])
    }

    fn split(&self, _: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        let mut session = None;
        agent_session::split(unit, from, out, &mut |line, text, seen| look(&mut session, line, text, seen))
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
        line(&json_value::read(&raw.bytes)?, &facts)
    }

    fn join(&self, stream: &str, data: &str, sightings: &[&str]) -> String {
        match stream {
            SESSIONS => serde_json::from_str::<Value>(data).map_or_else(
                |_| data.to_owned(),
                |record| {
                    Session::json(record["id"].as_str().unwrap_or_default(), &Sighting::of_all(sightings))
                },
            ),
            CALLS => {
                let calls =
                    sightings.iter().filter_map(|sighting| serde_json::from_str::<Call>(sighting).ok());
                calls.reduce(Call::and).map_or_else(|| data.to_owned(), |call| call.json())
            }
            _ => data.to_owned(),
        }
    }

    fn add_sighting(&self, stream: &str, first: &str, second: &str) -> String {
        if stream == SESSIONS {
            return Sighting::of_all(&[first, second]).to_json();
        }
        self.join(stream, second, &[first, second])
    }
}

/// The members of a line that are read before it is parsed: of its envelope, or of an item without one.
#[derive(Deserialize, Default)]
struct Light<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct LightItem<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    namespace: Option<&'a RawValue>,
    #[serde(borrow)]
    server: Option<&'a RawValue>,
    #[serde(borrow)]
    server_label: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    action: Option<&'a RawValue>,
}

/// Remembers what a line says about the session, and whether it is a call that is left out.
fn look(session: &mut Option<String>, at: &Line<'_>, text: &str, seen: &mut Seen) -> Facts {
    let light = serde_json::from_str::<Light<'_>>(text).unwrap_or_default();
    let kind = raw_text(light.kind);
    let time = raw_text(light.timestamp).and_then(|text| time::parse_ms(&text));
    if session.is_none() {
        *session = begin(text, seen);
    }
    let mut facts = Facts { session: session.clone(), line: Some(at.number), ..Facts::default() };
    if let (Some(session), Some(time)) = (session.as_deref(), time) {
        seen.session(session).event(time);
    }
    let item = match (light.payload, kind.as_deref()) {
        (Some(payload), Some("response_item")) => payload.get(),
        (None, _) => text,
        _ => return facts,
    };
    let Ok(light) = serde_json::from_str::<LightItem<'_>>(item) else {
        return facts;
    };
    if let Some(call) = raw_text(light.call_id).or_else(|| raw_text(light.id)) {
        let tool = raw_text(light.name).unwrap_or_default();
        let inputs = [light.arguments, light.input, light.action];
        let servers = [light.namespace, light.server, light.server_label];
        if is_pdpp_tool(&tool)
            || servers.into_iter().any(|raw| raw_text(raw).is_some_and(|server| is_pdpp(&server)))
            || inputs.into_iter().flatten().any(|input| reaches_pdpp(input.get()))
        {
            seen.hide(&call);
        }
        if seen.is_hidden(&call) {
            facts.hidden.push(call);
        }
    }
    if let Some(session) = session.as_deref()
        && light.kind.is_some_and(|kind| kind.get() == "\"message\"")
        && !seen.session(session).has_title(TitleKind::FirstMessage)
        && let Ok(item) = json_value::read(item.as_bytes())
        && item["role"] == "user"
    {
        let words = text_of(&item, true);
        seen.session(session).title(TitleKind::FirstMessage, at.offset, &words);
    }
    facts
}

/// The session that the file's first line names.
fn begin(line: &str, seen: &mut Seen) -> Option<String> {
    let line = json_value::read(line.as_bytes()).ok()?;
    let facts = match line["type"].as_str() {
        Some("session_meta") => &line["payload"],
        Some(_) => return None,
        None => &line,
    };
    // Some versions have no envelope, and some have the facts in a `meta` member of it.
    let facts = facts.get("meta").unwrap_or(facts);
    let text = |value: &Value| value.as_str().and_then(name).map(str::to_owned);
    let id = text(&facts["id"])?;
    let time = facts["timestamp"].as_str().or_else(|| line["timestamp"].as_str()).and_then(time::parse_ms);
    let sighting = seen.session(&id);
    if let Some(time) = time {
        sighting.event(time);
    }
    let branch = text(&facts["git"]["branch"]);
    let provider = text(&facts["model_provider"]);
    sighting.place(time.unwrap_or_default(), facts["cwd"].as_str(), branch.as_deref(), provider.as_deref());
    Some(id)
}

/// The records of a line.
fn line(line: &Value, facts: &Facts) -> Result<Parsed, Bad> {
    if !line.is_object() {
        return Err(Bad("not a JSON object"));
    }
    let (Some(session), Some(number)) = (facts.session.as_deref(), facts.line) else {
        return Err(Bad("no session is named before it"));
    };
    if !facts.hidden.is_empty() {
        return Ok(Parsed::Skipped(READ_THROUGH_PDPP));
    }
    let payload = &line["payload"];
    let item = match (payload.is_object(), line["type"].as_str()) {
        (true, Some("response_item")) => payload,
        (true, Some("compacted")) => {
            let item = Item { payload, session, number, timestamp: time_of(line) };
            return Ok(item.message(
                Some("assistant"),
                "summary",
                payload["message"].as_str().unwrap_or_default(),
            ));
        }
        (true, Some("event_msg")) => return Ok(Parsed::Skipped(event(payload))),
        (false, Some(_)) => line,
        _ => return Ok(Parsed::Skipped(EVENT)),
    };
    let item = Item { payload: item, session, number, timestamp: time_of(line) };
    Ok(item.parsed())
}

fn time_of(line: &Value) -> Option<String> {
    line["timestamp"].as_str().and_then(timestamp)
}

/// Why a line that is meant for the screen is skipped.
fn event(payload: &Value) -> &'static str {
    match payload["type"].as_str().unwrap_or_default() {
        "user_message"
        | "agent_message"
        | "agent_reasoning"
        | "agent_reasoning_raw_content"
        | "item_completed"
        | "mcp_tool_call_begin"
        | "mcp_tool_call_end"
        | "exec_command_begin"
        | "exec_command_end"
        | "patch_apply_begin"
        | "patch_apply_end"
        | "web_search_begin"
        | "web_search_end" => REPEATED,
        _ => EVENT,
    }
}

/// An item that the model received or produced.
struct Item<'a> {
    payload: &'a Value,
    session: &'a str,
    number: u64,
    timestamp: Option<String>,
}

impl Item<'_> {
    fn parsed(&self) -> Parsed {
        let text = |key: &str| self.payload[key].as_str();
        match text("type").unwrap_or_default() {
            "message" => match text("role") {
                Some("developer" | "system") => Parsed::Skipped(INJECTED),
                role => {
                    let words = text_of(self.payload, role == Some("user"));
                    if words.is_empty() && !text_of(self.payload, false).is_empty() {
                        return Parsed::Skipped(INJECTED);
                    }
                    self.message(role, "message", &words)
                }
            },
            "reasoning" => {
                let parts = ["summary", "content"]
                    .into_iter()
                    .filter_map(|key| self.payload[key].as_array())
                    .flatten();
                let parts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
                self.message(Some("assistant"), "reasoning", &parts.join("\n\n"))
            }
            "tool_search_call" | "tool_search_output" => Parsed::Skipped("search for tools"),
            kind if kind.ends_with("_output") => {
                let output = output_of(&self.payload["output"]);
                self.call(None, None, Some(preview(&output)))
            }
            kind if kind.ends_with("_call") => {
                let name = match (text("name"), text("namespace")) {
                    (Some(name), Some(space)) => Cow::from(format!("{space}__{name}")),
                    (Some(name), None) => name.into(),
                    (None, _) => kind.trim_end_matches("_call").into(),
                };
                let given = ["arguments", "input", "action"].into_iter().map(|key| &self.payload[key]);
                let given = given.into_iter().find(|value| !value.is_null()).unwrap_or(&Value::Null);
                let given = given.as_str().map_or_else(|| Cow::from(given.to_string()), Cow::from);
                self.call(Some(&name), Some(&given), None)
            }
            _ => Parsed::Skipped(EVENT),
        }
    }

    fn message(&self, role: Option<&str>, kind: &str, content: &str) -> Parsed {
        if content.trim().is_empty() {
            return Parsed::Skipped(NO_TEXT);
        }
        let key = format!("{}:{}", self.session, self.number);
        let message = Message {
            id: &key,
            session_id: self.session,
            role,
            r#type: kind,
            content,
            timestamp: self.timestamp.clone(),
        };
        let data = serde_json::to_string(&message).unwrap_or_default();
        // The sighting ties the message to its file: it is deleted with the file.
        Parsed::Records(vec![Draft { sighting: Some(HERE.to_owned()), ..Draft::new(MESSAGES, key, data) }])
    }

    fn call(&self, tool: Option<&str>, arguments: Option<&str>, output: Option<&str>) -> Parsed {
        let call_id = self.payload["call_id"]
            .as_str()
            .or_else(|| self.payload["id"].as_str())
            .and_then(name)
            .map(str::to_owned);
        let id = call_id.as_ref().map_or_else(
            || format!("{}:{}", self.session, self.number),
            |call| format!("{}:{call}", self.session),
        );
        let call = Call {
            id: id.clone(),
            session_id: self.session.to_owned(),
            call_id,
            name: tool.map(str::to_owned),
            arguments: arguments.map(str::to_owned),
            output_preview: output.map(str::to_owned),
            timestamp: self.timestamp.clone(),
        };
        let data = call.json();
        Parsed::Records(vec![Draft { sighting: Some(data.clone()), ..Draft::new(CALLS, id, data) }])
    }
}

/// The text of a message. With `is_their_own`, text that Codex inserted into a user message is left out.
fn text_of(item: &Value, is_their_own: bool) -> String {
    let origins = &item["internal_chat_message_metadata_passthrough"]["content_item_metadata"];
    let blocks = match &item["content"] {
        Value::Array(blocks) => &blocks[..],
        text @ Value::String(_) => std::slice::from_ref(text),
        _ => &[],
    };
    let mut parts = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let text = block.as_str().or_else(|| block["text"].as_str());
        let is_injected = match origins[at]["provenance"]["type"].as_str() {
            Some(origin) => origin != "user",
            None => text.is_some_and(|text| {
                INJECTED_BEGINNINGS.iter().any(|beginning| text.trim_start().starts_with(beginning))
            }),
        };
        if is_their_own && is_injected {
            continue;
        }
        match (text, block["type"].as_str()) {
            (Some(text), _) => parts.push(Cow::from(text)),
            (None, Some(kind)) => parts.push(format!("[{}]", kind.trim_start_matches("input_")).into()),
            (None, None) => {}
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n\n")
}

/// The text of a tool's output.
fn output_of(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match (block["text"].as_str(), block["type"].as_str()) {
                (Some(text), _) => text.to_owned(),
                (None, kind) => format!("[{}]", kind.unwrap_or_default().trim_start_matches("input_")),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(object) => object.get("content").map_or_else(|| output.to_string(), output_of),
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
        plan, sniff,
    };

    const ID: &str = "0c000000-0000-7000-8000-000000000001";

    /// A line as Codex writes it.
    fn line(kind: &str, second: u32, payload: &Value) -> Value {
        json!({"timestamp": format!("2026-03-01T10:00:{second:02}.500Z"), "type": kind, "payload": payload})
    }

    fn item(second: u32, payload: &Value) -> Value {
        line("response_item", second, payload)
    }

    fn said(second: u32, role: &str, texts: &[&str]) -> Value {
        let kind = if role == "assistant" { "output_text" } else { "input_text" };
        let content: Vec<Value> = texts.iter().map(|text| json!({"type": kind, "text": text})).collect();
        item(second, &json!({"type": "message", "role": role, "content": content}))
    }

    fn meta() -> Value {
        line(
            "session_meta",
            1,
            &json!({"id": ID, "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/home/ana/garden",
            "originator": "codex_cli", "cli_version": "0.171.0", "model_provider": "openai", "git": {"branch": "main"},
            "base_instructions": {"text": "You are an agent."}}),
        )
    }

    fn call(second: u32, id: &str, name: &str, namespace: Option<&str>, arguments: &str) -> Value {
        item(
            second,
            &json!({"type": "function_call", "id": format!("fc_{id}"), "name": name, "namespace": namespace,
            "arguments": arguments, "call_id": id}),
        )
    }

    fn output(second: u32, id: &str, output: &Value) -> Value {
        item(second, &json!({"type": "function_call_output", "call_id": id, "output": output}))
    }

    fn garden() -> Vec<Value> {
        vec![
            meta(),
            line("event_msg", 1, &json!({"type": "task_started", "turn_id": "x"})),
            said(1, "developer", &["<permissions instructions>all"]),
            said(
                1,
                "user",
                &[
                    "# AGENTS.md instructions for /home/ana\nBe kind.",
                    "<environment_context>x</environment_context>",
                ],
            ),
            line("turn_context", 1, &json!({"cwd": "/home/ana/garden", "model": "gpt-5"})),
            said(2, "user", &["<environment_context>x</environment_context>", "Plan the beds\nfor spring"]),
            line("event_msg", 2, &json!({"type": "user_message", "message": "Plan the beds"})),
            item(
                3,
                &json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Which beds?"}],
                "content": null, "encrypted_content": "x"}),
            ),
            item(3, &json!({"type": "reasoning", "summary": [], "encrypted_content": "x"})),
            call(4, "c1", "exec_command", None, r#"{"cmd":"cat beds.txt"}"#),
            output(
                5,
                "c1",
                &json!([{"type": "input_text", "text": "north"}, {"type": "input_image", "image_url": "x"}]),
            ),
            said(6, "assistant", &["Two beds."]),
            line("event_msg", 6, &json!({"type": "agent_message", "message": "Two beds."})),
            item(7, &json!({"type": "web_search_call", "action": {"type": "search", "query": "beds"}})),
            line(
                "compacted",
                8,
                &json!({"message": "Beds were planned.", "replacement_history": [{"type": "message"}]}),
            ),
        ]
    }

    fn file(lines: &[Value]) -> Vec<u8> {
        lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect::<String>().into_bytes()
    }

    fn record(kept: &Kept, stream: &str, key: &str) -> Value {
        let place = (KEY.to_owned(), stream.to_owned(), format!("{ID}{key}"));
        kept.records.get(&place).map_or(Value::Null, |data| serde_json::from_str(data).unwrap())
    }

    fn keys(kept: &Kept, stream: &str) -> Vec<String> {
        let keys = kept.records.keys().filter(|(_, of, _)| of == stream);
        keys.map(|(_, _, key)| key.trim_start_matches(ID).to_owned()).collect()
    }

    fn import(files: &[(&str, &[u8])]) -> (Kept, Counts) {
        imported(&Codex, files)
    }

    #[test]
    fn o5_1_a_transcript_becomes_sessions_messages_and_calls() {
        let (kept, counts) = import(&[("rollout-1.jsonl", &file(&garden()))]);
        assert_eq!(
            record(&kept, SESSIONS, ""),
            json!({
                "id": ID, "title": "Plan the beds", "cwd": "/home/ana/garden", "git_branch": "main", "model_provider": "openai",
                "started_at": "2026-03-01T10:00:00.000Z", "last_event_at": "2026-03-01T10:00:08.500Z",
            })
        );
        assert_eq!(keys(&kept, MESSAGES), [":12", ":15", ":6", ":8"]);
        assert_eq!(
            record(&kept, MESSAGES, ":6"),
            json!({
                "id": format!("{ID}:6"), "session_id": ID, "role": "user", "type": "message",
                "content": "Plan the beds\nfor spring", "timestamp": "2026-03-01T10:00:02.500Z",
            })
        );
        assert_eq!(record(&kept, MESSAGES, ":8")["type"], "reasoning");
        assert_eq!(record(&kept, MESSAGES, ":15")["content"], "Beds were planned.");
        assert_eq!(
            record(&kept, CALLS, ":c1"),
            json!({
                "id": format!("{ID}:c1"), "session_id": ID, "call_id": "c1", "name": "exec_command",
                "arguments": "{\"cmd\":\"cat beds.txt\"}", "output_preview": "north\n[image]", "timestamp": "2026-03-01T10:00:04.500Z",
            })
        );
        assert_eq!(record(&kept, CALLS, ":14")["name"], "web_search");
        assert_eq!(counts.skipped, [(EVENT, 3), (INJECTED, 2), (REPEATED, 2), (NO_TEXT, 1)].into());
        assert!(counts.bad.is_empty());
    }

    #[test]
    fn o5_2_streams_are_upstreams_and_what_a_person_must_know_is_said_first() {
        let plans = plan(&Codex, &[("b.jsonl", b"{}"), ("a.jsonl", b"{}")], ask()).unwrap();
        assert_eq!(plans[0].connector.id, "https://registry.pdpp.dev/connectors/codex");
        assert_eq!((plans[0].account.as_str(), &plans[0].units[..]), ("codex", &[1, 0][..]));
        for said in ["source code", "contents of files", "passwords, keys and other secrets", "left out"] {
            assert!(plans[0].notes.iter().any(|note| note.contains(said)), "{said}");
        }
    }

    #[test]
    fn files_without_an_envelope_are_read() {
        let lines = [
            json!({"id": ID, "timestamp": "2025-05-01T10:00:00.000Z", "instructions": null, "git": {"branch": "old"}}),
            json!({"record_type": "state"}),
            json!({"type": "message", "id": null, "role": "user", "content": [{"type": "input_text", "text": "Plan the beds"}]}),
            json!({"record_type": "state"}),
            json!({"type": "local_shell_call", "call_id": "c1", "status": "completed", "action": {"command": ["ls"]}}),
            json!({"type": "local_shell_call_output", "call_id": "c1", "output": "beds.txt"}),
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Two beds."}]}),
        ];
        assert_eq!(sniff(&Codex, "a", &file(&lines)), Some(Sure::Certain));
        let (kept, counts) = import(&[("a", &file(&lines))]);
        assert_eq!(keys(&kept, MESSAGES), [":3", ":7"]);
        assert_eq!(record(&kept, MESSAGES, ":3")["timestamp"], Value::Null);
        assert_eq!(record(&kept, CALLS, ":c1")["arguments"], r#"{"command":["ls"]}"#);
        assert_eq!(record(&kept, CALLS, ":c1")["output_preview"], "beds.txt");
        let session = record(&kept, SESSIONS, "");
        assert_eq!((&session["title"], &session["git_branch"]), (&json!("Plan the beds"), &json!("old")));
        assert_eq!(counts.skipped, [(EVENT, 3)].into());
    }

    #[test]
    fn contents_decide_what_is_a_session() {
        assert_eq!(sniff(&Codex, "x", &file(&garden())), Some(Sure::Certain));
        let mut long = meta();
        long["payload"]["base_instructions"] = "x".repeat(70_000).into();
        let long = format!("{{\"type\":\"session_meta\",\"payload\":{}}}\n", long["payload"]);
        assert_eq!(sniff(&Codex, "x", long.as_bytes()), Some(Sure::Certain));
        for other in [
            "",
            "{}",
            "{\"session_id\":\"x\",\"ts\":1,\"text\":\"hi\"}\n",
            "{\"id\":\"x\",\"timestamp\":\"y\"}\n",
            "id,x",
        ] {
            assert_eq!(sniff(&Codex, "rollout-1.jsonl", other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn whose_words_they_are_is_taken_from_the_file_where_it_says_so() {
        let mut mixed =
            said(2, "user", &["Do as I say.", "<environment_context> is a tag that I write about"]);
        mixed["payload"]["internal_chat_message_metadata_passthrough"] = json!({"content_item_metadata":
            [{"provenance": {"type": "harness"}}, {"provenance": {"type": "user"}}]});
        let (kept, _) = import(&[("a", &file(&[meta(), mixed]))]);
        assert_eq!(
            record(&kept, MESSAGES, ":2")["content"],
            "<environment_context> is a tag that I write about"
        );
    }

    #[test]
    fn of_what_a_tool_printed_a_preview_is_kept() {
        let printed = format!("{}é{}", "x".repeat(4095), "secret".repeat(1000));
        let lines = [
            meta(),
            call(1, "c1", "shell", None, "{}"),
            output(2, "c1", &json!({"content": printed, "success": true})),
        ];
        assert_eq!(
            record(&import(&[("a", &file(&lines))]).0, CALLS, ":c1")["output_preview"],
            "x".repeat(4095)
        );
    }

    #[test]
    fn o5_5_what_was_read_through_pdpp_is_left_out_also_where_a_run_goes_on() {
        let secret = "an invoice of the clinic";
        let lines = [
            meta(),
            said(1, "user", &["What do I owe?"]),
            call(2, "c1", "search", Some("mcp__pdpp"), "{}"),
            call(2, "c2", "search", Some("mcp__notes"), "{}"),
            call(2, "c3", "pdpp__fetch", None, "{}"),
            item(
                2,
                &json!({"type": "custom_tool_call", "call_id": "c4", "name": "exec",
                "input": "text(await tools.mcp__pdpp__search({q: 'x'}))"}),
            ),
            line(
                "event_msg",
                3,
                &json!({"type": "item_completed", "item": {"type": "McpToolCall", "server": "pdpp", "result": secret}}),
            ),
            output(3, "c1", &json!([{"type": "input_text", "text": secret}])),
            output(3, "c2", &json!("buy milk")),
            output(3, "c3", &json!(secret)),
            item(3, &json!({"type": "custom_tool_call_output", "call_id": "c4", "output": secret})),
            line(
                "compacted",
                4,
                &json!({"message": "", "replacement_history": [{"type": "function_call_output", "output": secret}]}),
            ),
        ];
        let whole = file(&lines);
        let (kept, counts) = import(&[("a", &whole)]);
        assert_eq!(counts.skipped[READ_THROUGH_PDPP], 6);
        assert_eq!(keys(&kept, CALLS), [":c2"]);
        assert!(kept.records.values().all(|data| !data.contains(secret)));
        for (cut, _) in whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            let mut grown = Kept::default();
            grown.import_some(&Codex, &[("a", &whole[..=cut])], ask(), usize::MAX);
            grown.import_some(&Codex, &[("a", &whole)], ask(), usize::MAX);
            assert_eq!(grown.records, kept.records, "{cut}");
        }
    }

    #[test]
    fn odd_lines_are_counted_and_the_next_one_is_read() {
        let mut bytes = file(&[meta()]);
        bytes.extend(b"{\"half\": \n[1]\n{\"type\":1}\n");
        bytes.extend(said(2, "user", &["A B"]).to_string().replace("A B", r"A\udfffB").bytes());
        bytes.extend(b"\n");
        let (kept, counts) = import(&[("a", &bytes)]);
        assert_eq!(counts.bad, [("not JSON", 1), ("not a JSON object", 1)].into());
        assert_eq!(record(&kept, MESSAGES, ":5")["content"], "A\u{fffd}B");
        let (_, counts) = import(&[("a", &file(&garden()[1..3]))]);
        assert_eq!(counts.bad, [("no session is named before it", 2)].into());
    }

    fn lines() -> impl Strategy<Value = Vec<Value>> {
        let line = (0_u32..8, 0_usize..3).prop_map(|(kind, call_at)| {
            let id = ["c1", "c2", "c3"][call_at];
            match kind {
                0 => said(kind, "user", &["Plan"]),
                1 => said(kind, "assistant", &["Beds"]),
                2 => call(kind, "c1", "search", Some("mcp__pdpp"), "{}"),
                3 => call(kind, id, "shell", None, &format!("{{\"n\":{call_at}}}")),
                4 => output(kind, id, &json!("printed")),
                5 => output(kind, id, &json!("printed again")),
                6 => line("event_msg", kind, &json!({"type": "token_count"})),
                _ => meta(),
            }
        });
        proptest::collection::vec(line, 0..12).prop_map(|mut lines| {
            lines.insert(0, meta());
            lines
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn twice_is_once_and_no_order_counts(first in lines(), second in lines()) {
            let files = [file(&first), String::from_utf8(file(&second)).unwrap().replace(ID, "0d").into_bytes()];
            let named: Vec<(&str, &[u8])> = ["a", "b"].into_iter().zip(files.iter().map(|file| &file[..])).collect();
            assert_twice_is_once_in_any_order(&Codex, &named);
        }

        #[test]
        fn cut_anywhere_and_finished_is_whole(lines in lines(), cut in 0_usize..4000, limit in 1_usize..6) {
            assert_cut_and_finished_is_whole(&Codex, &file(&lines), cut, limit);
        }

        #[test]
        fn random_bytes_never_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            at in 0_usize..3000,
            byte in any::<u8>(),
        ) {
            let mut changed = file(&garden());
            let at = at % changed.len();
            changed[at] = byte;
            changed.extend(bytes);
            sniff(&Codex, "a", &changed);
            import(&[("a", &changed)]);
        }

        #[test]
        fn sightings_of_calls_join_in_whatever_order(
            parts in proptest::collection::vec((proptest::option::of("[ab]"), proptest::option::of("[ab]"), proptest::option::of("[ab]")), 1..4),
        ) {
            let told: Vec<String> = parts.into_iter().map(|(name, arguments, output)| Call {
                id: "s:c".to_owned(), session_id: "s".to_owned(), call_id: Some("c".to_owned()), timestamp: name.clone(),
                name, arguments, output_preview: output,
            }.json()).collect();
            let mut refs: Vec<&str> = told.iter().map(String::as_str).collect();
            let joined = Codex.join(CALLS, "{}", &refs);
            let added = refs.iter().fold(refs[0].to_owned(), |all, one| Codex.add_sighting(CALLS, &all, one));
            prop_assert_eq!(&added, &joined);
            refs.reverse();
            refs.push(refs[0]);
            prop_assert_eq!(Codex.join(CALLS, "{}", &refs), joined);
        }
    }
}
