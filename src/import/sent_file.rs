//! A file that was sent in a chat, as each format of chats keeps it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::declare::StreamLine;

/// The stream of such files.
pub const ATTACHMENTS: &str = "attachments";

/// The declaration of that stream.
pub const STREAM: StreamLine = StreamLine {
    name: ATTACHMENTS,
    key: "id",
    time: "sent_at",
    fields: "id:k! message_id:k! chat_id:k! filename:h content_type:g size_bytes:i content_sha256:k hydration_status:g! \
             blob_ref:r sent_at:T",
    relations: "",
};

/// A record of it, its fields in the declared order.
#[derive(Serialize, Deserialize)]
pub struct SentFile<'a> {
    /// Its own id.
    pub id: Cow<'a, str>,
    /// The message that it was sent with.
    pub message_id: Cow<'a, str>,
    /// The chat of that message.
    pub chat_id: Cow<'a, str>,
    /// Its name, if the export has it.
    pub filename: Option<Cow<'a, str>>,
    /// Its media type.
    pub content_type: Option<Cow<'a, str>>,
    /// Its size in bytes.
    pub size_bytes: Option<u64>,
    /// The hash of its bytes.
    pub content_sha256: Option<Cow<'a, str>>,
    /// Whether its bytes are available: `deferred` if they stay in the export.
    pub hydration_status: Cow<'a, str>,
    /// The reference by which they are read.
    pub blob_ref: Option<Cow<'a, str>>,
    /// When it was sent.
    pub sent_at: Cow<'a, str>,
}

impl<'a> SentFile<'a> {
    /// A file that stays in the export, without further details yet.
    pub fn left_there(id: &'a str, message_id: &'a str, chat_id: &'a str, sent_at: &'a str) -> Self {
        Self {
            id: id.into(),
            message_id: message_id.into(),
            chat_id: chat_id.into(),
            filename: None,
            content_type: None,
            size_bytes: None,
            content_sha256: None,
            hydration_status: "deferred".into(),
            blob_ref: None,
            sent_at: sent_at.into(),
        }
    }
}
