//! Which grant a command reads with, and the tool core over it.

use std::sync::Arc;

use futures_util::FutureExt as _;

use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::cache::owner::refuse_owner_credentials_in_environment;
use crate::cache::select::Selection;
use crate::cmd::Global;
use crate::error::{Error, Kind, Result};
use crate::mcp::core::Core;
use crate::mcp::evidence::Bounds;
use crate::mcp::source::{BearerSource, Source};
use crate::provider::http::{Http, Limits};
use crate::provider::rs::ResourceServer;
use crate::provider::url::ProviderUrl;

/// Options of every command that reads with a grant.
#[derive(Debug, clap::Args)]
pub struct Which {
    /// Serve only the grants of this provider
    #[arg(long, value_name = "URL")]
    pub provider: Option<ProviderUrl>,

    /// Serve only this grant
    #[arg(long, value_name = "ID")]
    pub grant: Option<String>,

    /// The most that either view of one result may take, in bytes [default: 8000 of text, 10000 of
    /// structured output]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(4000..=48000))]
    pub max_result_bytes: Option<u64>,
}

impl Which {
    /// The tool core over the grant that these arguments choose.
    ///
    /// # Errors
    /// Those of the cache and of the choice: nothing connected, several, an owner credential.
    pub fn core(&self, global: &Global) -> Result<Core> {
        refuse_owner_credentials_in_environment()?;
        let cache = global.cache()?;
        let credentials = cache.credentials()?;
        let selection = Selection { provider: self.provider.clone(), grant: self.grant.clone() };
        let credential = selection.pick(&credentials, jiff::Timestamp::now())?.clone();
        let bounds = self
            .max_result_bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
            .map_or_else(Bounds::default, |bytes| Bounds { text: bytes, structured: bytes });
        Ok(Core::new(source(cache, credential, global.http(Limits::default())?)?, bounds))
    }
}

/// The grant of `credential`, read with the bearer that the cache has for it at the time of each call.
fn source(cache: Cache, credential: Credential, http: Http) -> Result<Source> {
    let rs =
        ResourceServer::new(http, &credential.provider, credential.query_base.clone()).map_err(|error| {
            Error::new(
                Kind::Refused,
                "query_base_foreign",
                "The credential cache names another server than the provider",
            )
            .because(error)
            .hint(format!("pdpp connect {}", credential.provider))
        })?;
    let provider = credential.provider.clone();
    let end = credential.expires_at();
    let grant_id = Some(credential.grant_id.as_str().to_owned());
    let bearer: BearerSource = Arc::new(move || {
        let (cache, credential) = (cache.clone(), credential.clone());
        async move { cache.bearer(&credential).await }.boxed()
    });
    Ok(Source::new(provider, grant_id, rs, bearer).ending(end))
}
