//! Serving the grants of this computer: the tools over those that are selected.

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

/// Checks that the token of each selected grant can be read here, without asking a provider. Waits for a
/// keyring, for a limited time.
///
/// # Errors
/// The errors of the cache, of the selection, and of the store of a token.
pub fn check_tokens(cache: &Cache, selection: &Selection) -> Result<()> {
    let credentials = cache.credentials()?;
    let served = selection.all(&credentials, jiff::Timestamp::now());
    let served = served.map_err(|error| or_own(cache, selection, error))?;
    served.into_iter().try_for_each(|credential| cache.check_secret(credential))
}

/// The tools over every selected grant. All grants are read through the one client `http`, because reading the
/// machine's CA certificates is expensive.
///
/// # Errors
/// The errors of the cache and of the selection: nothing is connected, or an owner credential.
pub fn tools(cache: Cache, selection: Selection, http: Http, bounds: Bounds) -> Result<Tools> {
    Ok(Tools::new(Package::new(roster(cache, selection, http))?, bounds))
}

/// The same for every grant of this computer, even if there is none yet: until there is one, every call is
/// answered with what `unserved` makes of the error.
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
            // There is nothing else to serve instead.
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

/// The error that no grant was found. If nothing is granted at all, but the person's own data is here, it
/// names the command that grants it. Opens no store.
fn or_own(cache: &Cache, selection: &Selection, error: Error) -> Error {
    let has_none = || cache.credentials().is_ok_and(|all| all.is_empty());
    let is_here = || SetUp::here(cache) != SetUp::None;
    if error.code() != "not_connected" || *selection != Selection::default() || !has_none() || !is_here() {
        return error;
    }
    let message = "Nothing is granted on this computer; your own data is here, but no agent can read it yet";
    Error::new(Kind::NotConnected, "not_connected", message).run(Command::connect("local"))
}

/// The grant of `credential`, read with the bearer that the cache has for it when a call is made.
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
                "The credential cache names a different server than the provider",
            )
            .because(error)
            .run(renew.clone())
        },
    )?;
    let provider = credential.provider.clone();
    let grant_id = Some(credential.grant_id.as_str().to_owned());
    let id = credential.id.as_str().to_owned();
    let (ends, issued) = (credential.expires_at(), credential.issued_at);
    // The index names only a limited number of sources and connections of a grant.
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

/// The most sources of a grant that the index names.
const MOST_SOURCES: usize = 100;

/// What the index knows about a source.
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
