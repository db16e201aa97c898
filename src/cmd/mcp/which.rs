//! The options of every command that reads with grants.

use crate::cache::owner::refuse_owner_credentials_in_environment;
use crate::cache::select::{GrantName, Selection};
use crate::cmd::Global;
use crate::error::Result;
use crate::grants::serving;
use crate::mcp::size::Bounds;
use crate::mcp::tools::service::Tools;
use crate::provider::http::Limits;
use crate::provider::url::ProviderUrl;

/// Options of every command that reads with grants.
#[derive(Debug, clap::Args)]
pub struct Which {
    /// Serve only the grants of this provider
    #[arg(long, value_name = "URL")]
    pub provider: Option<ProviderUrl>,

    /// Serve only this grant: its id, the beginning of its id, or its name, as `pdpp status` shows them
    #[arg(long, value_name = "GRANT")]
    pub grant: Option<GrantName>,

    /// Serve only what was granted to this host alone (`pdpp connect local --for`)
    #[arg(long = "for", value_name = "HOST", value_parser = crate::cmd::connect::host())]
    pub host: Option<String>,

    /// The maximum size of either view of one result, in bytes, from 4000 to 48000 [default: 8000 for text, 10000 for
    /// structured output]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(4000..=48000))]
    pub max_result_bytes: Option<u64>,
}

impl Which {
    fn selection(&self) -> Selection {
        Selection { provider: self.provider.clone(), grant: self.grant.clone(), host: self.host.clone() }
    }

    /// Checks that the token of each grant that these options select can be read here ([`serving::check_tokens`]).
    ///
    /// # Errors
    /// Those of [`serving::check_tokens`].
    pub fn check_tokens(&self, global: &Global) -> Result<()> {
        serving::check_tokens(&global.cache()?, &self.selection())
    }

    /// The tools over every grant that these options select ([`serving::tools`]).
    ///
    /// # Errors
    /// Those of [`serving::tools`], and an owner credential in the environment.
    pub fn tools(&self, global: &Global) -> Result<Tools> {
        refuse_owner_credentials_in_environment()?;
        let bounds = bounds(self.max_result_bytes);
        serving::tools(global.cache()?, self.selection(), global.http(Limits::default())?, bounds)
    }
}

/// The limits of a result; `most` is the given number of bytes for either view, if any.
pub(super) fn bounds(most: Option<u64>) -> Bounds {
    most.and_then(|bytes| usize::try_from(bytes).ok())
        .map_or_else(Bounds::default, |bytes| Bounds { text: bytes, structured: bytes })
}
