//! What is known of a mail beside its bytes.

use memchr::memmem;
use serde::{Deserialize, Serialize};

use crate::import::format::Raw;

/// What is known of a mail beside its bytes: [`Raw::facts`], as JSON.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// It stands in an mbox file: behind a separator, quoted, with an empty line behind it.
    #[serde(rename = "mbox", skip_serializing_if = "is_false")]
    pub is_mbox: bool,
    /// It stands in an `.emlx` file: behind its length in bytes, before its flags.
    #[serde(rename = "emlx", skip_serializing_if = "is_false")]
    pub is_emlx: bool,
    /// It is larger than a mail may be.
    #[serde(rename = "large", skip_serializing_if = "is_false")]
    pub is_too_large: bool,
    /// Where it lies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The flags of a Maildir's file name, `RS`. None says nothing: another file has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<String>,
    /// When its file was last changed, where it has no other time: else a file that was touched would hold other mails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_ms: Option<i64>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Facts {
    /// With the time of the file, where the mail has none itself.
    pub fn with_time(&self, mail: &[u8], has_date: bool, modified_ms: Option<i64>) -> Self {
        let head = &mail[..mail.len().min(super::header::LARGEST)];
        let has_header = |name: &str| memmem::find(head, name.as_bytes()).is_some();
        let has_time = has_date || ["Date:", "date:", "DATE:", "Received:"].into_iter().any(has_header);
        Self { modified_ms: if has_time { None } else { modified_ms }, ..self.clone() }
    }

    /// The item.
    pub fn raw(&self, offset: u64, next: u64, bytes: Vec<u8>) -> Raw {
        let facts = serde_json::to_string(self).unwrap_or_default();
        Raw { offset, next, line: None, bytes, facts, copy: 0 }
    }

    /// What an item's facts say.
    pub fn of(raw: &Raw) -> Self {
        serde_json::from_str(&raw.facts).unwrap_or_default()
    }
}
