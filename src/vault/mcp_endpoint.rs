//! The provider's own `/mcp`: the tools of [`crate::mcp`] over its own `/v1`.
//!
//! This is the only place where the vault uses the client's code. That client answers here, and reads over HTTP
//! with the caller's own bearer as it would from anywhere else (R7.4). `/v1` does not accept a package's bearer.
//! The endpoint reads the package's child grants with bearers that only this process knows and that last one minute
//! (R7.8).

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::http::StatusCode;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::Vault;
use super::grant::Grant;
use super::id::token_hash;
use super::oauth::child_bearers::GOOD_FOR;
use super::oauth::tokens::{self, Standing};
use super::public_name::{Called, Names};
use super::store::Catalog;
use crate::error::Result;
use crate::mcp::protocol::http::{About, Endpoint, Gate, Mcp, Refusal};
use crate::mcp::protocol::service::Service;
use crate::mcp::reading::package::{KnownSource, Member, Package, Roster};
use crate::mcp::reading::reader::{self, BearerSource, Reader};
use crate::mcp::size::Bounds;
use crate::mcp::tools::service::Tools;
use crate::provider::http::{Http, Limits};
use crate::provider::rs::ResourceServer;
use crate::provider::url::ProviderUrl;
use crate::secret::AccessToken;

/// How many callers' tools are kept with what they learned. The least recently used are dropped first.
const MAX_KEPT: usize = 256;

/// The description of the endpoint at `base` (`http://127.0.0.1:7377`).
///
/// # Errors
/// Returns an error if `base` is not a URL.
pub fn endpoint(base: &str) -> std::result::Result<Endpoint, url::ParseError> {
    let origins = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
    Ok(Endpoint {
        // Pages that a program on this computer serves, such as MCP's own inspector.
        allowed_origins: origins.iter().filter_map(|origin| origin.parse().ok()).collect(),
        ..Endpoint::new(format!("{base}/mcp").parse()?)
    })
}

/// What the metadata says about the provider, whose name is `name`.
///
/// # Errors
/// Returns an error if `base` is not a URL.
pub fn about(name: &str, base: &str) -> std::result::Result<About, url::ParseError> {
    Ok(About {
        provider: base.parse()?,
        name: format!("{name}, MCP endpoint"),
        authorization_servers: vec![base.to_owned()],
        query_base: format!("{base}/v1").parse()?,
        packages: true,
    })
}

/// One endpoint for each name of a server. The metadata gives a client the name that it used itself.
pub type Endpoints = HashMap<String, Mcp>;

/// The endpoints of `vault`, one for each of `names`.
///
/// # Errors
/// Returns an error if a name does not form a URL.
pub fn endpoints(
    vault: &Arc<Vault>,
    names: &Arc<Names>,
) -> std::result::Result<Endpoints, Box<dyn std::error::Error + Send + Sync>> {
    let mut endpoints = HashMap::new();
    for Called { host, base } in names.all() {
        let provider: ProviderUrl = base.parse()?;
        // Requests to the public name are read on this computer, so they do not go out to the internet and back.
        let (here, endpoint) = match names.as_ref() {
            Names::Here { .. } => (base.clone(), endpoint(&base)?),
            // No page of another site needs access: hosts call from their servers.
            Names::Public { here, .. } => (here.clone(), Endpoint::new(format!("{base}/mcp").parse()?)),
        };
        let rs =
            ResourceServer::new(Http::new(Limits::default()), &here.parse()?, format!("{here}/v1").parse()?)?
                .shown_at(format!("{base}/v1").parse()?);
        let (vault, names) = (Arc::clone(vault), Arc::clone(names));
        let gate = Callers { vault, provider, rs, names, kept: Mutex::default() };
        endpoints.insert(host, Mcp::new(Arc::new(endpoint), Arc::new(gate)));
    }
    Ok(endpoints)
}

/// Checks the callers and keeps the tools of each.
struct Callers {
    vault: Arc<Vault>,
    provider: ProviderUrl,
    rs: ResourceServer,
    /// The names of this server.
    names: Arc<Names>,
    kept: Mutex<VecDeque<Kept>>,
}

/// The tools for one client's bearer, or for one package. Another bearer has separate tools, even for the same
/// grant.
struct Kept {
    key: String,
    grants: Vec<String>,
    tools: Arc<Tools>,
}

impl Gate for Callers {
    fn admit(&self, bearer: AccessToken) -> BoxFuture<'_, std::result::Result<Arc<dyn Service>, Refusal>> {
        async move {
            let (vault, names, token) = (Arc::clone(&self.vault), Arc::clone(&self.names), bearer.clone());
            let standing = tokio::task::spawn_blocking(move || {
                let is_ours = |resource: Option<&str>| names.is_for(resource);
                let standing = tokens::standing(&vault, token.expose_bearer(), is_ours)?;
                let catalog = vault.store.read(|_, catalog| Ok::<_, rusqlite::Error>(Arc::clone(catalog)))?;
                Ok::<_, super::wire::ApiError>((standing, catalog))
            });
            let broken =
                || Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", "Internal server error");
            let (standing, catalog) = standing.await.map_err(|_| broken())?.map_err(|_| broken())?;
            let (key, grants, is_package) = match standing {
                Standing::Client(grant) => (token_hash(bearer.expose_bearer()), vec![*grant], false),
                // A package's next token continues with the same tools. The token itself reads nothing.
                Standing::Package(id, grants) => (id, grants, true),
                refused => return Err(refusal(&refused)),
            };
            let tools = self.tools(key, &bearer, grants, is_package, &catalog).map_err(|_| broken())?;
            Ok(tools as Arc<dyn Service>)
        }
        .boxed()
    }
}

fn refusal(standing: &Standing) -> Refusal {
    match standing {
        Standing::Owner => Refusal::new(
            StatusCode::FORBIDDEN,
            "owner_token_not_accepted",
            "This server does not accept owner tokens. Ask the owner for a grant",
        ),
        Standing::OtherResource => {
            Refusal::invalid_token("wrong_audience", "The token is for a different resource")
        }
        Standing::Revoked => Refusal::invalid_token("grant_revoked", "The grant was revoked"),
        Standing::Expired => Refusal::invalid_token("grant_expired", "The grant has expired"),
        _ => Refusal::invalid_token("invalid_token", "The token is unknown or no longer valid"),
    }
}

impl Callers {
    /// The tools for these grants. They are kept for the next request, because what they learned of the schema
    /// saves reads. Nothing else is kept between two requests.
    fn tools(
        &self,
        key: String,
        bearer: &AccessToken,
        grants: Vec<Grant>,
        is_package: bool,
        catalog: &Catalog,
    ) -> Result<Arc<Tools>> {
        let ids = grants.iter().map(|grant| grant.grant_id.clone()).collect::<Vec<_>>();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|known| known.key == key)
            && let Some(known) = kept.remove(at)
            && known.grants == ids
        {
            let tools = Arc::clone(&known.tools);
            kept.push_back(known);
            return Ok(tools);
        }
        let all = grants
            .into_iter()
            .map(|grant| {
                let known = known(&grant, catalog);
                let bearer = if is_package { self.inner(&grant) } else { reader::only(bearer.clone()) };
                Arc::new((grant, known, bearer))
            })
            .collect::<Vec<_>>();
        let (provider, rs) = (self.provider.clone(), self.rs.clone());
        // Always the same grants: other grants have other tools.
        let roster: Roster = Arc::new(move || {
            Ok(all
                .iter()
                .map(|known| member(&provider, &rs, &known.0, known.1.clone(), Arc::clone(&known.2)))
                .collect())
        });
        let tools = Arc::new(Tools::new(Package::new(roster)?, Bounds::default()));
        kept.push_back(Kept { key, grants: ids, tools: Arc::clone(&tools) });
        if kept.len() > MAX_KEPT {
            kept.pop_front();
        }
        Ok(tools)
    }

    /// A source of bearers for one grant of a package, one after the other.
    fn inner(&self, grant: &Grant) -> BearerSource {
        let (vault, grant_id) = (Arc::clone(&self.vault), grant.grant_id.clone());
        let last: Mutex<Option<(AccessToken, Instant)>> = Mutex::default();
        let last = Arc::new(last);
        Arc::new(move || {
            let issued = || -> Result<AccessToken> {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((token, made)) = last.as_ref()
                    && made.elapsed() < GOOD_FOR / 2
                {
                    return Ok(token.clone());
                }
                let token = vault.child_bearers.issue(&grant_id)?;
                *last = Some((token.clone(), Instant::now()));
                Ok(token)
            };
            std::future::ready(issued()).boxed()
        })
    }
}

fn member(
    provider: &ProviderUrl,
    rs: &ResourceServer,
    grant: &Grant,
    known: Vec<KnownSource>,
    bearer: BearerSource,
) -> Member {
    let label = known.first().and_then(|source| source.connector_key.clone()).unwrap_or_default();
    let ends = grant.expires_at.as_deref().and_then(|at| at.parse().ok());
    let grant_id = grant.grant_id.clone();
    let reader = Reader::new(provider.clone(), Some(grant_id.clone()), rs.clone(), bearer).ending(ends, None);
    Member::new(grant_id, label, reader, ends, known)
}

/// What a grant covers, so that a call can be routed without another read.
fn known(grant: &Grant, catalog: &Catalog) -> Vec<KnownSource> {
    KnownSource::of_streams(grant.streams.iter().map(|stream| {
        let source = grant.source_of(stream);
        let connector = catalog.connectors.iter().find(|connector| connector.id == source.id);
        let connections = stream
            .instance_ids
            .iter()
            .map(|id| (id.clone(), catalog.connection(id).map(|connection| connection.display_name.clone())))
            .collect();
        (stream.name.clone(), connector.map(|connector| connector.key.clone()), connections)
    }))
}
