//! Which grants a command reads with, and the tools over them.

use std::sync::Arc;

use futures_util::FutureExt as _;

use crate::advice::Command;
use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::cache::owner::refuse_owner_credentials_in_environment;
use crate::cache::select::{GrantName, Selection, distinct_label, renew_command};
use crate::cmd::Global;
use crate::error::{Error, Kind, Result};
use crate::mcp::reading::hosted_tools::Remote;
use crate::mcp::reading::served::{Child, KnownSource, Package, Roster};
use crate::mcp::reading::source::{BearerSource, DeadBearer, Source};
use crate::mcp::render::Bounds;
use crate::mcp::tools::core::Core;
use crate::provider::grant::{GrantedSource, TokenKind};
use crate::provider::http::{Http, Limits};
use crate::provider::rs::ResourceServer;
use crate::provider::url::ProviderUrl;

/// Options of every command that reads with grants.
#[derive(Debug, clap::Args)]
pub struct Which {
    /// Serve only the grants of this provider
    #[arg(long, value_name = "URL")]
    pub provider: Option<ProviderUrl>,

    /// Serve only this grant: its id, the beginning of it, or its name, as `pdpp status` shows them
    #[arg(long, value_name = "GRANT")]
    pub grant: Option<GrantName>,

    /// The most that either view of one result may take, in bytes [default: 8000 of text, 10000 of
    /// structured output]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(4000..=48000))]
    pub max_result_bytes: Option<u64>,
}

impl Which {
    fn selection(&self) -> Selection {
        Selection { provider: self.provider.clone(), grant: self.grant.clone() }
    }

    /// Whether the token of each grant that these arguments leave can be read here; no provider is asked. Waits for a
    /// keyring, bounded.
    ///
    /// # Errors
    /// Those of the cache and of the choice; what the store of a token says.
    pub fn check_tokens(&self, global: &Global) -> Result<()> {
        let cache = global.cache()?;
        let credentials = cache.credentials()?;
        let served = self.selection().all(&credentials, jiff::Timestamp::now())?;
        served.into_iter().try_for_each(|one| cache.check_secret(one))
    }

    /// The tools over every grant that these arguments leave.
    ///
    /// # Errors
    /// Those of the cache and of the choice: nothing connected, an owner credential.
    pub fn package(&self, global: &Global) -> Result<Package> {
        refuse_owner_credentials_in_environment()?;
        let cache = global.cache()?;
        let selection = self.selection();
        let bounds = self
            .max_result_bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
            .map_or_else(Bounds::default, |bytes| Bounds { text: bytes, structured: bytes });
        // One client for all: reading the machine's CA certificates is what costs.
        let http = global.http(Limits::default())?;
        let roster: Roster = Arc::new(move || {
            let credentials = cache.credentials()?;
            let served = selection.all(&credentials, jiff::Timestamp::now())?;
            let is_only_one = served.len() == 1;
            let child = |one: &Credential| match child(
                &cache,
                one.clone(),
                distinct_label(one, &credentials),
                renew_command(one, &credentials),
                &http,
                bounds,
            ) {
                // Nothing else could be served instead.
                Err(error) if is_only_one => Some(Err(error)),
                Err(error) => {
                    tracing::warn!(code = error.code(), provider = %one.provider, "a grant is left out");
                    None
                }
                child => Some(child),
            };
            served.into_iter().filter_map(child).collect()
        });
        Package::new(roster, bounds)
    }
}

/// The grant of `credential`, read with the bearer that the cache has for it at the time of each call.
fn child(
    cache: &Cache,
    credential: Credential,
    label: String,
    renew: Command,
    http: &Http,
    bounds: Bounds,
) -> Result<Child> {
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
    let ends = credential.expires_at();
    // The index names only so many sources and connections of a grant.
    let is_whole = credential.sources.len() < MOST_SOURCES;
    let known = credential.sources.iter().map(|source| known(source, is_whole)).collect();
    let is_package = credential.token_kind == TokenKind::McpPackage;
    let remote = is_package.then(|| Remote::new(http.clone(), &provider));
    let cache = cache.clone();
    let (dead_cache, dead_credential) = (cache.clone(), credential.clone());
    let bearer: BearerSource = Arc::new(move || {
        let (cache, credential) = (cache.clone(), credential.clone());
        async move { cache.bearer(&credential).await }.boxed()
    });
    let instead: DeadBearer = Arc::new(move |dead| {
        let (cache, credential) = (dead_cache.clone(), dead_credential.clone());
        async move { cache.bearer_instead_of(&credential, &dead).await }.boxed()
    });
    let mut source =
        Source::new(provider, grant_id, rs, bearer).instead_of_dead(instead).ending(ends).renewed_by(renew);
    if let Some(remote) = remote {
        source = source.through(remote);
    }
    let core = Core::new(source, bounds);
    Ok(Child::new(id, label, core, ends, known))
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
