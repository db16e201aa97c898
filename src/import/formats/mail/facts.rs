//! What is known about a message in addition to its bytes.

use memchr::memmem;
use serde::{Deserialize, Serialize};

use crate::import::format::Raw;

/// What is known about a message in addition to its bytes: [`Raw::facts`], as JSON.
#[allow(clippy::struct_excessive_bools, reason = "each is a separate fact")]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Whether it is in an mbox file: after a separator, quoted, and followed by an empty line.
    #[serde(rename = "mbox", skip_serializing_if = "is_false")]
    pub is_mbox: bool,
    /// Whether it is in an `.emlx` file: between its length in bytes and its flags.
    #[serde(rename = "emlx", skip_serializing_if = "is_false")]
    pub is_emlx: bool,
    /// Whether it exceeds the size limit.
    #[serde(rename = "large", skip_serializing_if = "is_false")]
    pub is_too_large: bool,
    /// The folder that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The flags in the name of a Maildir file, such as `RS`. `None` means unknown, as other kinds of file have no flags there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<String>,
    /// When the file was last changed. It is set only for a message without any other time, so that touching a file does not
    /// change its messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_ms: Option<i64>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Facts {
    /// Adds the file's time if the message has no time itself.
    pub fn with_time(&self, mail: &[u8], has_date: bool, modified_ms: Option<i64>) -> Self {
        let head = &mail[..mail.len().min(super::header::LARGEST)];
        let has_header = |name: &str| memmem::find(head, name.as_bytes()).is_some();
        let has_time = has_date || ["Date:", "date:", "DATE:", "Received:"].into_iter().any(has_header);
        Self { modified_ms: if has_time { None } else { modified_ms }, ..self.clone() }
    }

    /// Makes the item.
    pub fn raw(&self, offset: u64, next: u64, bytes: Vec<u8>) -> Raw {
        let facts = serde_json::to_string(self).unwrap_or_default();
        Raw { offset, next, line: None, bytes, facts, copy: 0 }
    }

    /// Reads the facts of an item.
    pub fn of(raw: &Raw) -> Self {
        serde_json::from_str(&raw.facts).unwrap_or_default()
    }
}
