//! Conversations with models.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::super::person::{Person, Talk, iso};
use super::file;

pub fn write(person: &Person, folder: &Path) {
    let chatgpt: Vec<Value> = person.chatgpt.iter().map(chatgpt).collect();
    file(folder, "chatgpt/conversations.json", Value::from(chatgpt).to_string());
    let user =
        json!({"id": "user-1", "email": person.me.email, "chatgpt_plus_user": false, "birth_year": 1990});
    file(folder, "chatgpt/user.json", user.to_string());
    let claude: Vec<Value> = person.claude.iter().map(claude).collect();
    file(folder, "claude/conversations.json", Value::from(claude).to_string());
    let users = json!([{"uuid": "u-1", "full_name": person.me.name(), "email_address": person.me.email, "verified_phone_number": null}]);
    file(folder, "claude/users.json", users.to_string());
    let projects: Vec<Value> = person.projects.iter().map(|(id, name)| {
        json!({"uuid": id, "name": name, "description": format!("All about the {}", name.to_lowercase()), "prompt_template": "",
            "docs": [], "created_at": "2025-05-01T10:00:00+00:00", "updated_at": "2025-05-02T10:00:00+00:00"})
    }).collect();
    file(folder, "claude/projects.json", Value::from(projects).to_string());
}

fn chatgpt(talk: &Talk) -> Value {
    let mut mapping = Map::new();
    mapping.insert("root".into(), json!({"id": "root", "parent": null, "children": [], "message": null}));
    let mut parent = "root".to_owned();
    for said in &talk.said {
        let message = json!({
            "id": said.id, "author": {"role": if said.is_mine { "user" } else { "assistant" }, "name": null, "metadata": {}},
            "create_time": said.at, "content": {"content_type": "text", "parts": [said.text]},
            "metadata": said.model.map_or_else(|| json!({}), |model| json!({"model_slug": model})), "recipient": "all"});
        mapping.insert(
            said.id.clone(),
            json!({"id": said.id, "parent": parent, "children": [], "message": message}),
        );
        if !said.is_left {
            parent.clone_from(&said.id);
        }
    }
    json!({"title": talk.title, "create_time": talk.at, "update_time": talk.said.last().unwrap().at, "mapping": mapping,
        "current_node": parent, "conversation_id": talk.id, "id": talk.id, "is_archived": false, "gizmo_id": null})
}

fn claude(talk: &Talk) -> Value {
    let said: Vec<Value> = talk.said.iter().map(|said| {
        let attachments = said.file.iter().map(|(name, text)| {
            json!({"file_name": name, "file_size": text.len(), "file_type": "text/plain", "extracted_content": text})
        });
        json!({"uuid": said.id, "text": said.text, "content": [{"type": "text", "text": said.text, "citations": []}],
            "sender": if said.is_mine { "human" } else { "assistant" }, "created_at": iso(said.at), "updated_at": iso(said.at),
            "attachments": attachments.collect::<Vec<_>>(), "files": []})
    }).collect();
    let project = talk.project.as_ref().map(|id| json!({"uuid": id}));
    json!({"uuid": talk.id, "name": talk.title, "created_at": iso(talk.at), "updated_at": iso(talk.said.last().unwrap().at),
        "account": {"uuid": "u-1"}, "project": project, "chat_messages": said})
}
