//! What a package token covers, according to the provider's own tools: the token's answer names sources by
//! their URIs, and the schema of the provider's `/mcp` has the owner's names for their accounts.

use std::time::Duration;

use crate::mcp::reading::hosted_tools::HostedTools;
use crate::mcp::reading::reader::{Reader, only};
use crate::mcp::reading::request::Request;
use crate::provider::approve::proof::schema_sources;
use crate::provider::approve::token::TokenResponse;
use crate::provider::discovery::Discovery;
use crate::provider::grant::{GrantId, GrantedConnection, GrantedSource};
use crate::provider::http::Http;
use crate::provider::rs::ResourceServer;

/// The longest time to ask. Names are not worth more: the grant exists without them.
const WITHIN: Duration = Duration::from_secs(10);

/// The sources of the package `id`: those in the token's answer, with what the schema shows of each, if it can
/// be read.
pub async fn sources(
    http: Http,
    discovery: &Discovery,
    id: &GrantId,
    response: &TokenResponse,
) -> Vec<GrantedSource> {
    let mut sources = response.package_sources.clone();
    for source in &mut sources {
        let of = response.streams.iter().filter(|stream| stream.source == source.id);
        let ids: Vec<&String> = of.flat_map(|stream| &stream.instance_ids).collect();
        source.learn_connections(
            ids.into_iter().map(|id| GrantedConnection { id: id.clone(), display_name: None }),
        );
    }
    let shown = tokio::time::timeout(WITHIN, schema(http, discovery, id, response)).await;
    let shown = shown.ok().flatten().unwrap_or_default();
    if sources.is_empty() {
        return shown;
    }
    for source in &mut sources {
        let is_alike = |other: &&GrantedSource| {
            let is_named = other.connections.iter().any(|connection| source.has_connection(&connection.id));
            is_named || (source.id.is_some() && other.id == source.id)
        };
        for other in shown.iter().filter(is_alike).collect::<Vec<_>>() {
            source.connector_key = source.connector_key.take().or_else(|| other.connector_key.clone());
            source.learn_connections(other.connections.iter().cloned());
        }
    }
    sources
}

async fn schema(
    http: Http,
    discovery: &Discovery,
    id: &GrantId,
    response: &TokenResponse,
) -> Option<Vec<GrantedSource>> {
    let provider = &discovery.provider;
    let rs = ResourceServer::new(http.clone(), provider, discovery.query_base.clone()).ok()?;
    let hosted = HostedTools::new(http, provider, rs);
    let bearer = only(response.access_token.clone());
    let reader = Reader::new(provider.clone(), Some(id.as_str().to_owned()), hosted, bearer);
    let schema = reader.read(&Request::compact_schema(None, None)).await.ok()?;
    schema_sources(&schema.body).ok()
}
