//! Which grant a blob belongs to: its id does not show it, but the answer that named it came from one grant.

use std::sync::{Arc, PoisonError};

use super::member::Member;
use super::missing::nothing_served;
use super::roster::Package;
use super::route::candidates_of;
use crate::mcp::tool_error::ToolError;

/// The maximum number of blobs to remember.
const MAX_BLOBS: usize = 1_000;

impl Package {
    /// Remembers which grant names which blobs, so that their URIs lead back to it.
    pub fn remember_blobs(&self, member: &Member, text: &str) {
        let mut blobs = self.blobs.lock().unwrap_or_else(PoisonError::into_inner);
        for id in blob_ids(text) {
            let (provider, grant) = member.grant();
            let named = (id.to_owned(), (provider.to_owned(), grant.to_owned()));
            if !blobs.contains(&named) {
                blobs.push_back(named);
            }
        }
        let excess = blobs.len().saturating_sub(MAX_BLOBS);
        blobs.drain(..excess);
    }

    /// The grant that the blob belongs to: the id does not name it, but perhaps only one grant has named the blob.
    ///
    /// # Errors
    /// Returns `ambiguous_connection` with the connections to choose from, or the errors of a choice by connection.
    pub fn of_blob(&self, id: &str, connection: Option<&str>) -> Result<Arc<Member>, ToolError> {
        let members = self.members();
        if members.len() > 1 && connection.is_none() {
            let blobs = self.blobs.lock().unwrap_or_else(PoisonError::into_inner);
            let named = |member: &&Arc<Member>| {
                blobs
                    .iter()
                    .any(|(blob, (provider, grant))| blob == id && member.grant() == (provider, grant))
            };
            let mut by = members.iter().filter(named);
            if let (Some(only), None) = (by.next(), by.next()) {
                return Ok(Arc::clone(only));
            }
        }
        match (members.as_slice(), connection) {
            ([], _) => Err(nothing_served()),
            ([only], _) => Ok(Arc::clone(only)),
            (_, Some(connection)) => self.by_connection(connection, None),
            (several, None) => {
                let usable = several.iter().filter(|member| member.unusable().is_none());
                let candidates = candidates_of(usable, None);
                Err(ToolError::new(
                    "ambiguous_connection",
                    "several grants are served, and a blob's id does not name its grant",
                    "name its connection: pdpp://blob/BLOB_ID?connection_id=CONNECTION_ID",
                )
                .with("status", 409)
                .choose_from(candidates))
            }
        }
    }
}

/// The ids that follow `blob_id` or `/v1/blobs/` in an answer, however its quotes are escaped. A record may contain
/// any id this way; if two grants name the same one, neither is used.
fn blob_ids(text: &str) -> impl Iterator<Item = &str> {
    let is_id = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    ["blob_id", "/v1/blobs/"].into_iter().flat_map(move |mark| {
        text.split(mark).skip(1).filter_map(move |rest| {
            let rest = rest.trim_start_matches(['\\', '"', ':', '=', ' ']);
            let id = &rest[..rest.find(|c| !is_id(c)).unwrap_or(rest.len())];
            (!id.is_empty() && id.len() <= 512).then_some(id)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r4_5_blobs_are_found_however_they_are_quoted() {
        let text =
            r#"blob_ref={"blob_id":"b_1","size":1} read="GET /v1/blobs/b-2" {\"blob_id\":\"b.3\"} blob_id"#;
        assert_eq!(blob_ids(text).collect::<Vec<_>>(), ["b_1", "b.3", "b-2"]);
    }
}
