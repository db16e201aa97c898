//! A store of made-up exports, filled like an import fills it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pdpp::own;
use pdpp::vault::declaration::{Connector, StreamSpec};
use pdpp::vault::store::{Connection, Ingest};
use serde_json::json;

use crate::support::env::TestEnv;

const MESSAGES: StreamSpec = StreamSpec {
    name: "messages",
    key: "id",
    time: Some("received_at"),
    fields: "id string! eq\nreceived_at timestamp! role=event-time eq range time min max\nsubject text? role=primary-title lex\n\
             from_name person? role=actor lex eq group\nbody text? lex role=secondary\nurl string? eq",
    views: &[],
    relations: &[],
};
const SECURITY: StreamSpec = StreamSpec { name: "security_messages", ..MESSAGES };
const LABELS: StreamSpec = StreamSpec {
    name: "labels",
    key: "name",
    time: None,
    fields: "name string! eq",
    views: &[],
    relations: &[],
};
const CHATS: StreamSpec = StreamSpec {
    name: "chats",
    key: "id",
    time: Some("sent_at"),
    fields: "id string! eq\nsent_at timestamp! role=event-time range time\ntext text? lex role=primary-title",
    views: &[],
    relations: &[],
};

fn connector(key: &str, name: &str, streams: &[StreamSpec]) -> Connector {
    Connector {
        key: key.to_owned(),
        id: format!("https://local.pdpp.invalid/connectors/{key}"),
        name: name.to_owned(),
        streams: streams.iter().map(|stream| Arc::new(stream.parse().unwrap())).collect(),
    }
}

/// A word that is in one account's texts only, and in no name.
pub const WORK_WORD: &str = "zephyrwork";
pub const HOME_WORD: &str = "quillhome";

fn fill(ingest: &mut Ingest<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    ingest.connector(&connector("mail", "Mail", &[MESSAGES, SECURITY, LABELS]))?;
    ingest.connector(&connector("chat", "Chat", &[CHATS]))?;
    for (id, connector, name) in
        [("cin_work", "mail", "Work"), ("cin_home", "mail", "Home"), ("cin_chat", "chat", "Family")]
    {
        let connection =
            Connection { id: id.to_owned(), connector: connector.to_owned(), display_name: name.to_owned() };
        ingest.connection(&connection)?;
        if connector == "chat" {
            let chat = json!({"id": "c1", "sent_at": "2026-02-01T10:00:00Z", "text": "lunch on Sunday"});
            ingest.put("chats", "c1", 1_770_000_000_000, Some(&chat.to_string()))?;
            continue;
        }
        let word = if id == "cin_work" { WORK_WORD } else { HOME_WORD };
        for at in 0..4 {
            let message = json!({
                "id": format!("m{at}"), "received_at": format!("2026-0{}-10T10:00:00Z", at + 1),
                "subject": format!("{word} number {at}"), "from_name": "Ana", "body": format!("about {word} {at}"),
                "url": format!("https://mail.example/{at}"),
            });
            let key = format!("m{at}");
            ingest.put("messages", &key, 1_770_000_000_000, Some(&message.to_string()))?;
        }
        let code = json!({"id": "s1", "received_at": "2026-03-01T10:00:00Z", "subject": format!("your code {word}")});
        ingest.put("security_messages", "s1", 1_770_000_000_000, Some(&code.to_string()))?;
        ingest.put("labels", "inbox", 1_770_000_000_000, Some(r#"{"name":"inbox"}"#))?;
    }
    Ok(())
}

/// A store in `dir`.
pub fn store_in(dir: &Path) {
    drop(pdpp::vault::open_store(dir, &own::PROFILE, Some(&fill)).unwrap());
}

/// A store in the default place of `env`.
pub fn store_of(env: &TestEnv) -> PathBuf {
    let dir = env.cache_dir().join("own");
    store_in(&dir);
    dir
}
