//! `pdpp mcp serve`: MCP on stdin and stdout.

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
use crate::mcp::stdio;
use crate::provider::http::{Http, Limits};
use crate::provider::rs::ResourceServer;
use crate::provider::url::ProviderUrl;
use crate::ui::Ui;

/// Offer the granted data to an MCP host, on stdin and stdout
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
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

const AFTER_HELP: &str = "\
An MCP host starts this by itself; in a terminal it waits for JSON-RPC messages.
Ends with 78 if nothing is connected, 77 if an owner's credential is within reach.";

/// Serves until there is nobody to serve.
///
/// # Errors
/// `no_runtime`, `no_thread`; everything else is told to the client first.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    // Arguments and the index: nothing slower may happen before `initialize` is answered.
    match core(args, global) {
        Ok(core) => stdio::block_on(stdio::serve_stdio(Arc::new(core)))?.map(|_| 0),
        Err(error) => stdio::block_on(stdio::serve_refusal(&error, ui))?,
    }
}

fn core(args: &Args, global: &Global) -> Result<Core> {
    refuse_owner_credentials_in_environment()?;
    let cache = global.cache()?;
    let credentials = cache.credentials()?;
    let selection = Selection { provider: args.provider.clone(), grant: args.grant.clone() };
    let credential = selection.pick(&credentials, jiff::Timestamp::now())?.clone();
    let bounds = args
        .max_result_bytes
        .and_then(|bytes| usize::try_from(bytes).ok())
        .map_or_else(Bounds::default, |bytes| Bounds { text: bytes, structured: bytes });
    Ok(Core::new(source(cache, credential)?, bounds))
}

/// The grant of `credential`, read with the bearer that the cache has for it at the time of each call.
fn source(cache: Cache, credential: Credential) -> Result<Source> {
    let http = Http::new(Limits::default());
    let rs =
        ResourceServer::new(http, &credential.provider, credential.query_base.clone()).map_err(|error| {
            Error::new(
                Kind::Refused,
                "foreign_query_base",
                "The credential cache names another server than the provider",
            )
            .because(error)
            .hint(format!("pdpp connect {}", credential.provider))
        })?;
    let provider = credential.provider.clone();
    let grant_id = Some(credential.grant_id.as_str().to_owned());
    let bearer: BearerSource = Arc::new(move || {
        let (cache, credential) = (cache.clone(), credential.clone());
        async move { cache.bearer(&credential).await }.boxed()
    });
    Ok(Source::new(provider, grant_id, rs, bearer))
}
