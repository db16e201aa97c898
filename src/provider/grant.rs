//! A grant in its provider's terms: its id, what its tokens may do, and what it covers.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::text;

/// A grant's id, as its provider names it: any visible text of 1 to 512 bytes that does not lead to another
/// place in a URL's path, so that a request about it is about nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GrantId(String);

/// The text is not a [`GrantId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a grant id: it must be 1 to 512 bytes without hidden characters, and without a path part such as `..`"
)]
pub struct NotAGrantId;

impl GrantId {
    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for GrantId {
    type Error = NotAGrantId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        // In a path segment `/` is written as `%2F`, but some servers read that as `/`.
        let leads_away = text.split(['/', '\\']).any(|part| part == "." || part == "..");
        let fine = (1..=512).contains(&text.len()) && !text::has_hidden(&text) && !leads_away;
        if fine { Ok(Self(text)) } else { Err(NotAGrantId) }
    }
}

impl From<GrantId> for String {
    fn from(id: GrantId) -> Self {
        id.0
    }
}

impl fmt::Display for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a token may do, as its provider states it; never guessed from the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// One grant; the only kind with which this program reads.
    Client,
    /// Several grants; works only at the provider's own `/mcp`.
    McpPackage,
    /// Everything of the owner's: refused wherever it appears (R1.3).
    Owner,
}

impl TokenKind {
    /// The kind that a provider calls `name`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "client" => Some(Self::Client),
            "mcp_package" => Some(Self::McpPackage),
            "owner" => Some(Self::Owner),
            _ => None,
        }
    }
}

/// One source in a grant, in short: enough to name it to a person, but not to build a query.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrantedSource {
    /// `source.id`: a URI.
    pub id: Option<String>,
    /// `source.kind`.
    pub kind: Option<String>,
    /// The connector's short key.
    pub connector_key: Option<String>,
    /// The configured connections that the grant covers.
    pub connections: Vec<GrantedConnection>,
    /// The names of the granted streams: the first [`GrantedSource::MAX_STREAMS`].
    pub streams: Vec<String>,
    /// The number of granted streams.
    pub stream_count: usize,
}

/// One configured connection of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantedConnection {
    /// `connection_id`.
    pub id: String,
    /// The owner's name for it.
    pub display_name: Option<String>,
}

impl GrantedSource {
    /// The most stream names that are kept, so that the index stays small.
    pub const MAX_STREAMS: usize = 200;
    /// The most connections that are kept.
    pub const MAX_CONNECTIONS: usize = 100;

    /// The source's name: the owner's names for its connections, or otherwise its short key, or otherwise the
    /// end of its URI.
    pub fn label(&self) -> String {
        self.names().join(", ")
    }

    /// Whether it has the connection `id`.
    pub fn has_connection(&self, id: &str) -> bool {
        self.connections.iter().any(|connection| connection.id == id)
    }

    /// Adds these connections, and their names if they are not known yet.
    pub fn learn_connections(&mut self, connections: impl IntoIterator<Item = GrantedConnection>) {
        for learned in connections {
            if let Some(known) = self.connections.iter_mut().find(|known| known.id == learned.id) {
                known.display_name = known.display_name.take().or(learned.display_name);
            } else if self.connections.len() < Self::MAX_CONNECTIONS {
                self.connections.push(learned);
            }
        }
    }

    /// The same as a list of names: at least one.
    pub fn names(&self) -> Vec<String> {
        let names: Vec<String> = self.connections.iter().filter_map(|c| c.display_name.clone()).collect();
        if !names.is_empty() {
            return names;
        }
        let of_uri = || {
            let id = self.id.as_deref()?;
            // A provider's path does not describe the provider.
            let is_provider = self.kind.as_deref() == Some("provider_native");
            let url = Url::parse(id).ok().filter(|_| !is_provider);
            let last =
                url.and_then(|url| Some(url.path_segments()?.rfind(|part| !part.is_empty())?.to_owned()));
            Some(last.unwrap_or_else(|| id.to_owned()))
        };
        vec![self.connector_key.clone().or_else(of_uri).unwrap_or_else(|| "unnamed source".to_owned())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::rs;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_grant_id_is_bounded_and_visible(text in any::<String>()) {
            match GrantId::try_from(text.clone()) {
                Ok(id) => {
                    // The way a revocation sends it: one segment, which a parser does not take for a way up.
                    let mut url = Url::parse("https://a.example/me").unwrap();
                    url.set_path(&format!("/me/grants/{}/revoke", rs::segment(id.as_str())));
                    prop_assert_eq!(url.path_segments().unwrap().count(), 4);
                    prop_assert!(url.path().starts_with("/me/grants/") && url.path().ends_with("/revoke"));
                    prop_assert_eq!(String::from(id), text);
                }
                Err(NotAGrantId) => prop_assert!(
                    text.is_empty() || text.len() > 512 || text.chars().any(text::is_hidden)
                        || text.split(['/', '\\']).any(|part| part == "." || part == "..")
                ),
            }
        }
    }

    #[test]
    fn a_grant_id_leads_nowhere_else() {
        for text in [".", "..", "../me", "a/..", "a\\..\\b", "./a", ""] {
            assert_eq!(GrantId::try_from(text.to_owned()), Err(NotAGrantId), "{text}");
        }
        for text in ["...", "..a", "%2e%2e", "a?b#c", "urn:x:1", "https://a.example/g/1", "é"] {
            assert!(GrantId::try_from(text.to_owned()).is_ok(), "{text}");
        }
    }
}
