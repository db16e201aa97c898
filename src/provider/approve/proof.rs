//! Proof that a token is what was asked for: one read, before the token is kept.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::token::TokenResponse;
use crate::advice::{Command, Hint};
use crate::error::{Error, Kind};
use crate::provider::grant::{GrantId, GrantedConnection, GrantedSource, TokenKind};
use crate::provider::rs::{Read, ResourceServer, RsError};
use crate::provider::url::ProviderUrl;
use crate::secret::AccessToken;
use crate::text;

/// The grant of a proven client token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Its id.
    pub grant_id: GrantId,
    /// What it covers.
    pub sources: Vec<GrantedSource>,
}

/// Why a token is not kept.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// A token for everything of the owner's: an agent never gets that (R1.1, R1.3).
    #[error("the provider issued an owner's token, which pdpp refuses")]
    Owner,
    /// Several grants in one token, which works only at the provider's own `/mcp`.
    #[error("the provider issued a package of several grants, which this version cannot use")]
    Package,
    /// The kind of the token is not stated anywhere.
    #[error("neither the token answer nor the schema states the kind of this token")]
    UnknownKind,
    /// The schema is about another grant than the token answer.
    #[error("the token belongs to a different grant than the approved one")]
    OtherGrant,
    /// A credential is identified by its grant.
    #[error("neither the token answer nor the schema names the grant")]
    NoGrantId,
    /// An answer that is neither a schema nor a list of streams.
    #[error("pdpp cannot use the provider's answer to the first read: {0}")]
    Malformed(&'static str),
    /// The read failed.
    #[error("the first read with the new token failed: {0}")]
    Read(#[from] RsError),
}

impl ProofError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Owner => "owner_token_refused",
            Self::Package => "package_token_unsupported",
            Self::UnknownKind => "token_kind_unknown",
            Self::OtherGrant => "grant_mismatch",
            Self::NoGrantId => "grant_id_missing",
            Self::Malformed(_) | Self::Read(RsError::NotJson { .. }) => "token_proof_malformed",
            Self::Read(RsError::Http(error)) => error.code(),
            Self::Read(RsError::Refused(_)) => "token_rejected",
        }
    }

    /// The error for a person who has just approved a grant of `provider` with the command `again`.
    pub fn into_error(self, provider: &ProviderUrl, again: Command) -> Error {
        let kind = match &self {
            Self::Read(RsError::Refused(refusal)) if refusal.status < 500 => Kind::Refused,
            Self::Owner | Self::Package | Self::UnknownKind | Self::OtherGrant => Kind::Refused,
            _ => Kind::Unavailable,
        };
        let hint = match &self {
            Self::Package => Hint::new("Nothing is stored. Approve a single source, or name one: ")
                .run(Command::connect(provider.typed()).words("--source <URI>")),
            Self::Read(RsError::Http(error)) => {
                Hint::new(format!("Nothing is stored. {}: ", error.next_step())).run(again)
            }
            Self::Read(_) => Hint::new("Nothing is stored. To ask again: ").run(again),
            _ => "Nothing is stored. The provider must fix this".into(),
        };
        Error::new(kind, self.code(), format!("{provider} gave a token that pdpp did not keep"))
            .because(self)
            .hint(hint)
    }
}

/// Reads once with the token of `response`, and checks what the token is.
///
/// # Errors
/// [`ProofError`].
pub async fn prove(rs: &ResourceServer, response: &TokenResponse) -> Result<Proof, ProofError> {
    // A token of a stated kind that is refused anyway is not even tried.
    refuse(response.kind)?;
    let (body, is_schema) = first_read(rs, response).await?;
    let bearer = body.get("bearer").and_then(Value::as_object);
    let stated = match bearer.and_then(|bearer| bearer.get("token_kind")).and_then(Value::as_str) {
        Some(name) => Some(TokenKind::named(name).ok_or(ProofError::UnknownKind)?),
        None => None,
    };
    refuse(stated)?;
    // An answer for one named grant from a provider that states no kind (Core only) has a client token.
    if stated.or(response.kind).is_none() && response.grant_id.is_none() {
        return Err(ProofError::UnknownKind);
    }
    let of_schema = bearer
        .and_then(|bearer| bearer.get("grant_id"))
        .and_then(Value::as_str)
        .and_then(|id| GrantId::try_from(id.to_owned()).ok());
    let grant_id = match (&response.grant_id, of_schema) {
        (Some(approved), Some(found)) if *approved != found => return Err(ProofError::OtherGrant),
        (Some(id), _) => id.clone(),
        (None, id) => id.ok_or(ProofError::NoGrantId)?,
    };
    let sources = if is_schema { schema_sources(&body)? } else { core_sources(&body, response)? };
    Ok(Proof { grant_id, sources })
}

const fn refuse(kind: Option<TokenKind>) -> Result<(), ProofError> {
    match kind {
        Some(TokenKind::Owner) => Err(ProofError::Owner),
        Some(TokenKind::McpPackage) => Err(ProofError::Package),
        Some(TokenKind::Client) | None => Ok(()),
    }
}

/// The compact schema; the plain one if the provider does not know `view`; or the streams of a Core-only
/// provider.
async fn first_read(
    rs: &ResourceServer,
    response: &TokenResponse,
) -> Result<(Map<String, Value>, bool), ProofError> {
    let token = &response.access_token;
    let schema = Read::of(["schema"]);
    let mut found = rs.get(token, &schema.clone().with("view", "compact")).await;
    if matches!(&found, Err(RsError::Refused(refusal)) if refusal.status == 400) {
        found = rs.get(token, &schema).await;
    }
    let absent = match &found {
        Err(RsError::Refused(refusal)) => refusal.status == 404,
        _ => false,
    };
    if absent {
        return Ok((rs.get(token, &Read::of(["streams"])).await?.body, false));
    }
    Ok((found?.body, true))
}

/// The most sources that are kept, so that the index stays small.
const MAX_SOURCES: usize = 100;
const MAX_TEXT: usize = 200;

/// The contents of a schema, source by source.
///
/// # Errors
/// [`ProofError::Malformed`].
pub fn schema_sources(body: &Map<String, Value>) -> Result<Vec<GrantedSource>, ProofError> {
    let connectors = body
        .get("connectors")
        .and_then(Value::as_array)
        .ok_or(ProofError::Malformed("the schema has no `connectors`"))?;
    let source = |connector: &Value| {
        let mut source = GrantedSource {
            id: short(connector.pointer("/source/id")),
            kind: short(connector.pointer("/source/kind")),
            connector_key: short(connector.get("connector_key")),
            ..GrantedSource::default()
        };
        add_connections(&mut source, connector);
        for stream in elements(connector, "streams") {
            add_connections(&mut source, stream);
            add_stream(&mut source, stream);
        }
        source
    };
    Ok(connectors.iter().take(MAX_SOURCES).map(source).collect())
}

/// The sources of the streams that a Core-only provider lists. Each stream belongs to the source that its row
/// names, or otherwise to the grant's own.
fn core_sources(
    body: &Map<String, Value>,
    response: &TokenResponse,
) -> Result<Vec<GrantedSource>, ProofError> {
    let streams = body
        .get("data")
        .and_then(Value::as_array)
        .ok_or(ProofError::Malformed("the list of streams has no `data`"))?;
    let (id, kind) = response.source.clone();
    let of_grant = GrantedSource { id, kind, ..GrantedSource::default() };
    let mut sources: Vec<GrantedSource> = Vec::new();
    for stream in streams {
        let named = GrantedSource {
            id: short(stream.pointer("/source/id")),
            kind: short(stream.pointer("/source/kind")),
            connector_key: short(stream.get("connector_id")).filter(|key| !key.contains("://")),
            ..GrantedSource::default()
        };
        let source = if named.id.is_some() { named } else { of_grant.clone() };
        let at = match sources.iter().position(|known| known.id == source.id) {
            Some(at) => at,
            None if sources.len() < MAX_SOURCES => {
                sources.push(source);
                sources.len() - 1
            }
            None => continue,
        };
        if let Some(source) = sources.get_mut(at) {
            add_connection(source, stream);
            add_stream(source, stream);
        }
    }
    Ok(if sources.is_empty() { vec![of_grant] } else { sources })
}

fn add_connections(source: &mut GrantedSource, of: &Value) {
    for connection in elements(of, "granted_connections") {
        add_connection(source, connection);
    }
}

fn add_connection(source: &mut GrantedSource, connection: &Value) {
    let Some(id) = short(connection.get("connection_id")) else { return };
    if source.connections.len() < MAX_SOURCES && source.connections.iter().all(|known| known.id != id) {
        let display_name = short(connection.get("display_name"));
        source.connections.push(GrantedConnection { id, display_name });
    }
}

fn add_stream(source: &mut GrantedSource, stream: &Value) {
    let Some(name) = short(stream.get("name")) else { return };
    // Several connections of one source may list the same stream.
    if source.streams.contains(&name) {
        return;
    }
    source.stream_count += 1;
    if source.streams.len() < GrantedSource::MAX_STREAMS {
        source.streams.push(name);
    }
}

/// The fields that come with `stream` in any case, as its full schema declares them; empty if the schema cannot
/// be read.
pub async fn required_fields(rs: &ResourceServer, token: &AccessToken, stream: &str) -> BTreeSet<String> {
    let read = Read::of(["schema"]).with("stream", stream);
    let body = rs.get(token, &read).await.map(|answer| answer.body).unwrap_or_default();
    let body = Value::Object(body);
    let rows = elements(&body, "connectors").flat_map(|connector| elements(connector, "streams"));
    let rows = rows.filter(|row| row.get("name").and_then(Value::as_str) == Some(stream));
    let mut fields = BTreeSet::new();
    for row in rows {
        let lists = [row.pointer("/schema/required"), row.get("primary_key")];
        let listed = lists.into_iter().flatten().filter_map(Value::as_array).flatten();
        let named = [row.get("cursor_field"), row.get("consent_time_field")];
        fields.extend(listed.chain(named.into_iter().flatten()).filter_map(Value::as_str).map(str::to_owned));
    }
    fields
}

fn elements<'a>(of: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    of.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn short(value: Option<&Value>) -> Option<String> {
    let value = value.and_then(Value::as_str).filter(|value| !value.is_empty())?;
    Some(text::prefix(value, MAX_TEXT).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: &Value) -> &Map<String, Value> {
        value.as_object().unwrap()
    }

    #[test]
    fn a_schema_is_summed_up_by_source() {
        let body = json!({"connectors": [{
            "source": {"id": "https://registry.example/diary", "kind": "connector"},
            "connector_key": "diary",
            "granted_connections": [{"connection_id": "c1", "display_name": "Paper diary"}],
            "streams": [
                {"name": "entries"},
                {"name": "moods", "granted_connections": [{"connection_id": "c2", "display_name": "App"}]},
                {"name": "entries", "granted_connections": [{"connection_id": "c1"}]},
            ],
        }, {"connector_key": "bare"}]});
        let found = schema_sources(object(&body)).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].label(), "Paper diary, App");
        assert_eq!((found[0].streams.join(" "), found[0].stream_count), ("entries moods".to_owned(), 2));
        assert_eq!((found[1].label(), found[1].stream_count), ("bare".to_owned(), 0));
        assert!(schema_sources(object(&json!({"data": []}))).is_err());
    }

    #[test]
    fn streams_of_one_name_are_told_apart_by_their_source() {
        let row = |name: &str, source: &str, connection: &str| {
            json!({"name": name, "connection_id": connection, "connector_id": source,
                   "source": {"id": format!("https://s.example/{source}"), "kind": "connector"}})
        };
        let response = json!({"access_token": "t", "grant": {"source": {"id": "https://rs.example"}}});
        let response = TokenResponse::read(object(&response), jiff::Timestamp::UNIX_EPOCH).unwrap();
        let body = json!({"data": [row("messages", "mail", "c1"), row("messages", "mail", "c2"),
            row("messages", "chat", "c3"), {"name": "messages", "connection_id": "c4"}]});
        let found = core_sources(object(&body), &response).unwrap();
        let counted: Vec<_> = found
            .iter()
            .map(|source| (source.id.as_deref().unwrap(), source.stream_count, source.connections.len()))
            .collect();
        assert_eq!(
            counted,
            [
                ("https://s.example/mail", 1, 2),
                ("https://s.example/chat", 1, 1),
                ("https://rs.example", 1, 1)
            ]
        );
        assert_eq!(found[1].connector_key.as_deref(), Some("chat"));
        assert_eq!(core_sources(object(&json!({"data": []})), &response).unwrap().len(), 1);
    }

    #[test]
    fn a_huge_schema_keeps_the_index_small() {
        let streams: Vec<Value> =
            (0..5_000).map(|n| json!({"name": format!("{n}{}", "x".repeat(999))})).collect();
        let connectors: Vec<Value> = (0..500).map(|_| json!({"streams": []})).collect();
        let sources = schema_sources(object(&json!({"connectors": [{"streams": streams}]}))).unwrap();
        assert_eq!(sources[0].streams.len(), GrantedSource::MAX_STREAMS);
        assert!(sources[0].streams.iter().all(|name| name.len() <= MAX_TEXT));
        assert_eq!(schema_sources(object(&json!({"connectors": connectors}))).unwrap().len(), MAX_SOURCES);
    }
}
