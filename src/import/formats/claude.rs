//! Claude's export: `conversations.json`, an array with one element per conversation, and `projects.json`.
//!
//! `users.json` names the owner. A large export comes in several zip files, each with some of the conversations.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::import::agent_session::name;
use crate::import::chat_export::{
    self, age, beginning, beginning_of, by_account, folder, instant, side_file,
};
use crate::import::declare::{Declared, Registry, StreamLine, connector};
use crate::import::format::{
    Ask, Bad, Draft, End, Format, Member, Out, Parsed, Peek, Plan, Raw, Refused, Sure, Unit, Whose,
};

/// Claude's export.
pub struct Claude;

/// The account's name if the export does not name its owner.
const NO_OWNER: &str = "claude";
const CONVERSATIONS: &str = "conversations";
const MESSAGES: &str = "messages";
const PROJECTS: &str = "projects";
const ATTACHMENTS: &str = "attachments";

const STREAMS: [StreamLine; 4] = [
    StreamLine {
        name: CONVERSATIONS,
        key: "id",
        time: "update_time/create_time",
        fields: "id:k! title:h create_time:t update_time:T* project_id:k",
        relations: "messages messages conversation_id many",
    },
    StreamLine {
        name: MESSAGES,
        key: "id",
        time: "create_time",
        fields: "id:k! conversation_id:k! role:g content:b model:g* create_time:T",
        relations: "attachments attachments message_id many",
    },
    StreamLine {
        name: PROJECTS,
        key: "id",
        time: "update_time/create_time",
        fields: "id:k! name:h description:b create_time:t update_time:T*",
        relations: "conversations conversations project_id many",
    },
    StreamLine {
        name: ATTACHMENTS,
        key: "id",
        time: "create_time",
        fields: "id:k! message_id:k! filename:h content_type:g size_bytes:i content_sha256:k hydration_status:g! blob_ref:r \
            text:b create_time:T",
        relations: "",
    },
];
const DECLARED: &[Declared] =
    &[Declared { registry: Registry::Upstream, key: "anthropic", streams: &STREAMS }];

#[derive(Serialize)]
struct Conversation<'a> {
    id: &'a str,
    title: Option<&'a str>,
    create_time: Option<String>,
    update_time: Option<String>,
    project_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Message<'a> {
    id: &'a str,
    conversation_id: &'a str,
    role: Option<&'a str>,
    content: Cow<'a, str>,
    model: Option<&'a str>,
    create_time: Option<String>,
}

#[derive(Serialize)]
struct Project<'a> {
    id: &'a str,
    name: Option<&'a str>,
    description: Option<&'a str>,
    create_time: Option<String>,
    update_time: Option<String>,
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
    text: Option<&'a str>,
    create_time: Option<&'a str>,
}

impl Format for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn title(&self) -> &'static str {
        "a Claude export"
    }

    fn declares(&self) -> &'static [Declared] {
        DECLARED
    }

    fn sniff(&self, peek: &Peek<'_>) -> Option<Sure> {
        let head = beginning(peek.head);
        let has = |mark: &str| head.contains(mark);
        let is_conversation = has("\"chat_messages\"") && has("\"uuid\"");
        let is_project = has("\"prompt_template\"") && has("\"uuid\"");
        let is_array = head.starts_with('[');
        (is_array && (is_conversation || is_project || is_users(&head))).then_some(Sure::Certain)
    }

    fn plan(&self, members: &[Member<'_>], ask: &mut Ask) -> Result<Vec<Plan>, Refused> {
        let connector = connector(Registry::Upstream, "anthropic", "Claude", &STREAMS)
            .map_err(|error| Refused::Unreadable(error.to_string()))?;
        let mut units = Vec::new();
        let mut accounts: BTreeMap<&str, String> = BTreeMap::new();
        for (at, member) in members.iter().enumerate() {
            if !is_users(&beginning_of(member)?) {
                units.push(at);
                continue;
            }
            let users = side_file(member)?;
            let account = ["email_address", "full_name", "uuid"]
                .into_iter()
                .find_map(|key| users[0][key].as_str().and_then(name));
            accounts.extend(account.map(|account| (folder(member.label), account.to_lowercase())));
        }
        if units.is_empty() {
            return Err(Refused::Unfit {
                why: "this part of a Claude export has no conversations: name the folder or the zip file that also has \
                    conversations.json"
                    .to_owned(),
            });
        }
        let plans = by_account(members, units, &accounts, ask, NO_OWNER).into_iter().map(|of| {
            let mut notes = vec![
                "Of files that were sent in these chats, the text that Claude extracted is imported. Documents of \
                 projects, and the results of tools, are not."
                    .to_owned(),
            ];
            if !of.is_known {
                notes.push(format!(
                    "No users.json names the owner of these chats, so the account is called {NO_OWNER}. --account \
                     gives it another name."
                ));
            }
            Plan {
                connector: connector.clone(),
                account: of.account,
                units: of.units,
                notes,
                whose: Whose { is_sure: of.owner.is_some(), owner: of.owner, note: None },
                zone: ask.zone.clone(),
                state: Arc::new(()),
            }
        });
        Ok(plans.collect())
    }

    fn split(&self, _: &Plan, unit: &mut Unit<'_>, from: u64, out: &mut Out<'_>) -> io::Result<End> {
        chat_export::split(unit, from, out)
    }

    fn parse(&self, _: &Plan, raw: &Raw) -> Result<Parsed, Bad> {
        let element = chat_export::value(raw)?;
        let text = |key: &str| element[key].as_str();
        let is_project = element.get("prompt_template").is_some() && element.get("chat_messages").is_none();
        let messages = element["chat_messages"].as_array();
        if !is_project && messages.is_none() {
            return Err(Bad("no messages"));
        }
        let id = text("uuid").and_then(name).ok_or(Bad("no id"))?;
        let (create_time, update_time) = (instant(&element["created_at"]), instant(&element["updated_at"]));
        if is_project {
            let project = Project {
                id,
                name: text("name"),
                description: text("description"),
                create_time,
                update_time,
            };
            return Ok(Parsed::Records(vec![dated(PROJECTS, id, as_json(&project))]));
        }
        let project_id = element["project"]["uuid"].as_str().or_else(|| text("project_uuid")).and_then(name);
        let conversation = Conversation { id, title: text("name"), create_time, update_time, project_id };
        let mut drafts = vec![dated(CONVERSATIONS, id, as_json(&conversation))];
        for message in messages.into_iter().flatten() {
            said(id, text("model"), message, &mut drafts);
        }
        Ok(Parsed::Records(drafts))
    }

    fn join(&self, _: &str, data: &str, sightings: &[&str]) -> String {
        sightings.iter().copied().max_by_key(|said| age(said)).unwrap_or(data).to_owned()
    }

    fn add_sighting(&self, stream: &str, first: &str, second: &str) -> String {
        self.join(stream, first, &[first, second])
    }
}

fn is_users(head: &str) -> bool {
    let has = |mark: &str| head.contains(mark);
    let is_person = has("\"email_address\"") && has("\"full_name\"")
        || has("\"uuid\"")
            && (has("\"email_address\"") || has("\"full_name\"") && has("\"verified_phone_number\""));
    head.starts_with('[') && is_person && !has("\"chat_messages\"")
}

fn as_json(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

/// A record that may differ between exports; the one that was changed last counts.
fn dated(stream: &'static str, id: &str, data: String) -> Draft {
    Draft { sighting: Some(data.clone()), ..Draft::new(stream, id, data) }
}

/// Adds the records of a message, if it has any content.
fn said(conversation: &str, model: Option<&str>, message: &Value, drafts: &mut Vec<Draft>) {
    let text = |value: &'_ Value, key: &str| value[key].as_str().and_then(name).map(str::to_owned);
    let Some(id) = message["uuid"].as_str().and_then(name) else {
        return;
    };
    let files =
        ["attachments", "files", "files_v2"].into_iter().filter_map(|key| message[key].as_array()).flatten();
    let files: Vec<&Value> = files.filter(|file| file.is_object()).collect();
    let content = content_of(message);
    if content.trim().is_empty() && files.is_empty() {
        return;
    }
    let create_time = instant(&message["created_at"]);
    let record = Message {
        id,
        conversation_id: conversation,
        role: message["sender"].as_str().map(|sender| if sender == "human" { "user" } else { sender }),
        content,
        model: message["model"].as_str().or(model),
        create_time: create_time.clone(),
    };
    drafts.push(Draft::new(MESSAGES, id, as_json(&record)));
    for (part, file) in files.into_iter().enumerate() {
        let key = format!("{id}:{part}");
        let (filename, content_type) =
            (text(file, "file_name"), text(file, "file_type").or_else(|| text(file, "file_kind")));
        let attachment = Attachment {
            id: &key,
            message_id: id,
            filename: filename.as_deref(),
            content_type: content_type.as_deref(),
            size_bytes: file["file_size"].as_u64().or_else(|| file["size_bytes"].as_u64()),
            content_sha256: None,
            hydration_status: "deferred",
            blob_ref: None,
            text: file["extracted_content"].as_str().filter(|text| !text.is_empty()),
            create_time: create_time.as_deref(),
        };
        drafts.push(Draft::new(ATTACHMENTS, key.clone(), as_json(&attachment)));
    }
}

/// The text of a message, from its blocks: `text` repeats them, or leaves out blocks that are not text.
fn content_of(message: &Value) -> Cow<'_, str> {
    let Some(blocks) = message["content"].as_array().filter(|blocks| !blocks.is_empty()) else {
        return message["text"].as_str().unwrap_or_default().into();
    };
    let texts = blocks.iter().map(|block| {
        let kind = block["type"].as_str().unwrap_or_default();
        let text = match kind {
            "text" => block["text"].as_str(),
            "thinking" => block["thinking"].as_str(),
            _ => None,
        };
        match text {
            Some(text) => Cow::from(text),
            None if kind.is_empty() => "".into(),
            None => format!("[{kind}]").into(),
        }
    });
    let mut texts: Vec<Cow<'_, str>> = texts.filter(|text| !text.trim().is_empty()).collect();
    if texts.len() == 1 { texts.swap_remove(0) } else { texts.join("\n\n").into() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::import::harness::{Counts, Kept, ask, plan, sniff, split};

    const USERS: &[u8] = br#"[{"uuid":"u-1","full_name":"Ana","email_address":"Ana@Example.org","verified_phone_number":null}]"#;

    fn message(id: &str, sender: &str, text: &str) -> Value {
        json!({"uuid": id, "text": text, "content": [{"type": "text", "text": text, "citations": []}], "sender": sender,
            "created_at": "2026-03-01T10:00:00.123456Z", "updated_at": "2026-03-01T10:00:00Z", "attachments": [], "files": []})
    }

    fn conversation(id: &str, messages: &[Value]) -> Value {
        json!({"uuid": id, "name": format!("About {id}"), "created_at": "2026-03-01T10:00:00Z",
            "updated_at": "2026-03-01T11:00:00Z", "account": {"uuid": "u-1"}, "chat_messages": messages})
    }

    fn garden() -> Value {
        let mut sent = message("m1", "human", "Which beds?");
        sent["attachments"] = json!([{"file_name": "beds.txt", "file_size": 5, "file_type": "text/plain",
            "extracted_content": "north"}]);
        sent["files"] = json!([{"file_name": "bed.png"}]);
        let mut answer = message("m2", "assistant", "This block is not supported.");
        answer["content"] = json!([{"type": "thinking", "thinking": "Beds?"}, {"type": "tool_use", "name": "search", "input": {}},
            {"type": "tool_result", "content": [{"type": "text", "text": "an invoice of the clinic"}]},
            {"type": "text", "text": "Both."}]);
        conversation("c1", &[sent, answer, message("m3", "human", "")])
    }

    fn file(elements: &[Value]) -> Vec<u8> {
        Value::from(elements.to_vec()).to_string().into_bytes()
    }

    fn record(kept: &Kept, stream: &str, key: &str) -> Value {
        let found = kept.records.iter().find(|((_, of, id), _)| of == stream && id == key);
        found.map_or(Value::Null, |(_, data)| serde_json::from_str(data).unwrap())
    }

    fn import(files: &[(&str, &[u8])]) -> (Kept, Counts) {
        let mut kept = Kept::default();
        let counts = kept.import(&Claude, files);
        (kept, counts)
    }

    #[test]
    fn o5_1_a_conversation_becomes_messages_and_attachments() {
        let (kept, counts) = import(&[("conversations.json", &file(&[garden()])), ("users.json", USERS)]);
        assert_eq!((counts.read, counts.new), (1, 1));
        assert_eq!(kept.records.keys().next().unwrap().0, "ana@example.org");
        assert_eq!(
            record(&kept, CONVERSATIONS, "c1"),
            json!({"id": "c1", "title": "About c1",
            "create_time": "2026-03-01T10:00:00.000Z", "update_time": "2026-03-01T11:00:00.000Z", "project_id": null})
        );
        assert_eq!(
            record(&kept, MESSAGES, "m1"),
            json!({"id": "m1", "conversation_id": "c1", "role": "user",
            "content": "Which beds?", "model": null, "create_time": "2026-03-01T10:00:00.123Z"})
        );
        assert_eq!(record(&kept, MESSAGES, "m2")["content"], "Beds?\n\n[tool_use]\n\n[tool_result]\n\nBoth.");
        assert_eq!(record(&kept, MESSAGES, "m3"), Value::Null);
        assert_eq!(
            record(&kept, ATTACHMENTS, "m1:0"),
            json!({"id": "m1:0", "message_id": "m1", "filename": "beds.txt",
            "content_type": "text/plain", "size_bytes": 5, "content_sha256": null, "hydration_status": "deferred",
            "blob_ref": null, "text": "north", "create_time": "2026-03-01T10:00:00.123Z"})
        );
        assert_eq!(record(&kept, ATTACHMENTS, "m1:1")["filename"], "bed.png");
        // O5.5: the results of tools are named but not imported, whichever tools they are.
        assert!(kept.records.values().all(|data| !data.contains("clinic")));
    }

    #[test]
    fn projects_and_old_messages_without_blocks_are_read() {
        let project = json!({"uuid": "p1", "name": "Garden", "description": "Beds", "prompt_template": "", "docs": [],
            "created_at": "2026-03-01T10:00:00+00:00", "updated_at": "2026-03-02T10:00:00+00:00"});
        let mut old = message("m1", "human", "Which beds?");
        old.as_object_mut().unwrap().remove("content");
        let (kept, _) = import(&[
            ("conversations.json", &file(&[conversation("c1", &[old])])),
            ("projects.json", &file(&[project])),
        ]);
        assert_eq!(record(&kept, PROJECTS, "p1")["update_time"], "2026-03-02T10:00:00.000Z");
        assert_eq!(record(&kept, MESSAGES, "m1")["content"], "Which beds?");
        assert_eq!(kept.records.keys().next().unwrap().0, "claude");
    }

    #[test]
    fn o5_2_contents_decide_what_is_an_export_and_streams_are_upstreams() {
        assert_eq!(sniff(&Claude, "x", &file(&[garden()])), Some(Sure::Certain));
        assert_eq!(sniff(&Claude, "x", USERS), Some(Sure::Certain));
        for other in
            ["", "[]", r#"[{"mapping":{},"current_node":"x"}]"#, r#"{"chat_messages":[],"uuid":"x"}"#]
        {
            assert_eq!(sniff(&Claude, "conversations.json", other.as_bytes()), None, "{other}");
        }
        let plans = plan(&Claude, &[("conversations.json", &file(&[garden()]))], ask()).unwrap();
        assert_eq!(plans[0].connector.id, "https://registry.pdpp.dev/connectors/anthropic");
        assert!(matches!(plan(&Claude, &[("users.json", USERS)], ask()), Err(Refused::Unfit { .. })));
    }

    #[test]
    fn a_later_export_counts_whichever_is_imported_first() {
        let mut late = garden();
        late["name"] = "Beds".into();
        late["updated_at"] = "2026-03-05T11:00:00Z".into();
        let files = [file(&[garden()]), file(&[late])];
        for order in [[0, 1], [1, 0]] {
            let mut kept = Kept::default();
            for at in order {
                kept.import(&Claude, &[(&format!("{at}.json"), &files[at])]);
            }
            assert_eq!(record(&kept, CONVERSATIONS, "c1")["title"], "Beds");
        }
    }

    #[test]
    fn odd_elements_are_counted_and_the_next_one_is_read() {
        let whole = garden().to_string().replace("Which beds?", r"Which \ud800beds?");
        let text = format!("[1, {{\"uuid\":\"x\"}}, {{\"chat_messages\":[]}}, {{\"a\" 1}}, {whole}]");
        let (kept, counts) = import(&[("c.json", text.as_bytes())]);
        assert_eq!(counts.bad, [("no messages", 2), ("no id", 1), ("not JSON", 1)].into());
        assert_eq!(record(&kept, MESSAGES, "m1")["content"], "Which \u{fffd}beds?");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn twice_is_once_no_order_counts_and_cuts_are_mended(
            ids in proptest::collection::vec((0_u32..3, 0_u32..3), 0..5),
            limit in 1_usize..4,
        ) {
            let of = |(id, day): &(u32, u32)| {
                let mut one = conversation(&format!("c{id}"), &[message(&format!("m{id}"), "human", "Beds?")]);
                one["updated_at"] = format!("2026-03-0{}T10:00:00Z", day + 1).into();
                one["name"] = format!("Title {day}").into();
                one
            };
            let files = [file(&ids.iter().map(of).collect::<Vec<_>>()), file(&ids.iter().rev().take(2).map(of).collect::<Vec<_>>())];
            let named: [(&str, &[u8]); 2] = [("a", &files[0]), ("b", &files[1])];
            let (mut kept, _) = import(&named);
            let records = kept.records.clone();
            let counts = kept.import(&Claude, &named);
            prop_assert_eq!(counts.read, counts.same);
            let mut other = Kept::default();
            other.import(&Claude, &named[1..]);
            for _ in 0..6 {
                other.import_some(&Claude, &named[..1], ask(), limit);
            }
            prop_assert_eq!(&other.records, &records);
            prop_assert_eq!(kept.records, records);
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), at in 0_usize..3000) {
            let mut changed = file(&[garden(), garden()]);
            let at = at % changed.len();
            changed.splice(at..at, bytes);
            sniff(&Claude, "a", &changed);
            let plan = &plan(&Claude, &[("a.json", b"[]")], ask()).unwrap()[0];
            let (whole, _) = split(&Claude, plan, "a", &file(&[garden()]), 0);
            let _ = Claude.parse(plan, &Raw { bytes: changed, ..whole[0].clone() });
        }
    }
}
