//! The grants of this machine, served: the tools over those that are selected.

use std::sync::Arc;

use futures_util::FutureExt as _;

use crate::advice::Command;
use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::cache::select::{Selection, distinct_label, renew_command};
use crate::error::{Error, Kind, Result};
use crate::mcp::reading::hosted_tools::HostedTools;
use crate::mcp::reading::package::{KnownSource, Member, Package, Roster, nothing_served};
use crate::mcp::reading::reader::{BearerSource, DeadBearer, Reader};
use crate::mcp::size::Bounds;
use crate::mcp::tool_error::ToolError;
use crate::mcp::tools::service::Tools;
use crate::own::backend::InProcess;
use crate::own::separate::which::SetUp;
use crate::own::serving::Stores;
use crate::provider::grant::{GrantedSource, TokenKind};
use crate::provider::http::Http;
use crate::provider::rs::ResourceServer;

/// Whether the token of each grant that is selected can be read here; no provider is asked. Waits for a keyring,
/// bounded.
///
/// # Errors
/// Those of the cache and of the selection; what the store of a token says.
pub fn check_tokens(cache: &Cache, selection: &Selection) -> Result<()> {
    let credentials = cache.credentials()?;
    let served = selection.all(&credentials, jiff::Timestamp::now());
    let served = served.map_err(|error| or_own(cache, selection, error))?;
    served.into_iter().try_for_each(|credential| cache.check_secret(credential))
}

/// The tools over every grant that is selected, each read through `http`: one client for all, since reading the
/// machine's CA certificates is what costs.
///
/// # Errors
/// Those of the cache and of the selection: nothing connected, an owner credential.
pub fn tools(cache: Cache, selection: Selection, http: Http, bounds: Bounds) -> Result<Tools> {
    Ok(Tools::new(Package::new(roster(cache, selection, http))?, bounds))
}

/// The same for every grant of this machine, where there may be none yet: until there is one, every call is answered with what
/// `unserved` says about that.
pub fn tools_once_granted(
    cache: Cache,
    http: Http,
    bounds: Bounds,
    unserved: impl Fn(&Error) -> ToolError + Send + Sync + 'static,
) -> Tools {
    let roster = roster(cache, Selection::default(), http);
    let asked = Arc::clone(&roster);
    let unserved = move || asked().map_or_else(|error| unserved(&error), |_| nothing_served());
    Tools::new(Package::awaiting(roster), bounds).or_else(Arc::new(unserved))
}

fn roster(cache: Cache, selection: Selection, http: Http) -> Roster {
    let stores = Stores::default();
    Arc::new(move || {
        let credentials = cache.credentials()?;
        let served = selection.all(&credentials, jiff::Timestamp::now());
        let served = served.map_err(|error| or_own(&cache, &selection, error))?;
        let is_only_one = served.len() == 1;
        let member = |credential: &Credential| match member(
            &cache,
            credential,
            distinct_label(credential, &credentials),
            renew_command(credential, &credentials),
            &http,
            &stores,
        ) {
            // Nothing else could be served instead.
            Err(error) if is_only_one => Some(Err(error)),
            Err(error) => {
                tracing::warn!(code = error.code(), provider = %credential.provider, "a grant is left out");
                None
            }
            member => Some(member),
        };
        served.into_iter().filter_map(member).collect()
    })
}

/// The same failure to find a grant; where nothing is granted and the person's own data is here, that. Opens no store.
fn or_own(cache: &Cache, selection: &Selection, error: Error) -> Error {
    let has_none = || cache.credentials().is_ok_and(|all| all.is_empty());
    let is_here = || SetUp::here(cache) != SetUp::None;
    if error.code() != "not_connected" || *selection != Selection::default() || !has_none() || !is_here() {
        return error;
    }
    let message = "Nothing is granted on this machine; your own data is here, and no agent can read it yet";
    Error::new(Kind::NotConnected, "not_connected", message).run(Command::connect("local"))
}

/// The grant of `credential`, read with the bearer that the cache has for it at the time of each call.
fn member(
    cache: &Cache,
    credential: &Credential,
    label: String,
    renew: Command,
    http: &Http,
    stores: &Stores,
) -> Result<Member> {
    let rs = ResourceServer::new(http.clone(), &credential.provider, credential.query_base.clone()).map_err(
        |error| {
            Error::new(
                Kind::Refused,
                "query_base_foreign",
                "The credential cache names another server than the provider",
            )
            .because(error)
            .run(renew.clone())
        },
    )?;
    let provider = credential.provider.clone();
    let grant_id = Some(credential.grant_id.as_str().to_owned());
    let id = credential.id.as_str().to_owned();
    let (ends, issued) = (credential.expires_at(), credential.issued_at);
    // The index names only so many sources and connections of a grant.
    let is_whole = credential.sources.len() < MOST_SOURCES;
    let known = credential.sources.iter().map(|source| known(source, is_whole)).collect();
    let is_package = credential.token_kind == TokenKind::McpPackage;
    let held = Arc::new((cache.clone(), credential.clone()));
    let dead_held = Arc::clone(&held);
    let bearer: BearerSource = Arc::new(move || {
        let held = Arc::clone(&held);
        async move { held.0.bearer(&held.1).await }.boxed()
    });
    let instead: DeadBearer = Arc::new(move |dead| {
        let held = Arc::clone(&dead_held);
        async move { held.0.bearer_instead_of(&held.1, &dead).await }.boxed()
    });
    let reader = if provider.is_local() {
        let dir = credential.data_dir.clone().unwrap_or_default();
        let store = InProcess::new(stores.opening(&dir, &credential.issuer), credential.query_base.clone());
        Reader::new(provider, grant_id, store, bearer)
    } else if is_package {
        Reader::new(provider.clone(), grant_id, HostedTools::new(http.clone(), &provider, rs), bearer)
    } else {
        Reader::new(provider, grant_id, rs, bearer)
    };
    let reader = reader.instead_of_dead(instead).ending(ends, issued).renewed_by(renew);
    Ok(Member::new(id, label, reader, ends, known))
}

/// How many sources of a grant the index names at most.
const MOST_SOURCES: usize = 100;

/// What the index knows of a source.
fn known(source: &GrantedSource, is_whole: bool) -> KnownSource {
    KnownSource {
        connector_key: source.connector_key.clone().filter(|key| !key.contains("://")),
        connections: source
            .connections
            .iter()
            .map(|connection| (connection.id.clone(), connection.display_name.clone()))
            .collect(),
        has_all_streams: is_whole && source.stream_count > 0 && source.streams.len() >= source.stream_count,
        streams: source.streams.clone(),
    }
}
