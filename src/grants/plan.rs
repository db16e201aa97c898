//! The plan for a connection: whom to ask, for what, and which grant it replaces.

use std::time::Duration;

use jiff::Timestamp;

use super::narrowing::Narrowing;
use super::renewal;
use crate::advice::Command;
use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::cache::select::{GrantName, renew_command};
use crate::cache::store::choice::StoreChoice;
use crate::error::Result;
use crate::provider::approve::flow::Flow;
use crate::provider::approve::wanted::Wanted;
use crate::provider::url::ProviderUrl;

/// The options of `pdpp connect`.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The provider; `None` leaves it to the grant that is renewed.
    pub provider: Option<ProviderUrl>,
    /// Whether to renew a grant on this computer, and to replace it.
    pub renew: bool,
    /// Which grant to renew.
    pub grant: Option<GrantName>,
    /// How much to ask for.
    pub narrowing: Narrowing,
    /// The flow to use; `None` leaves it to what the provider offers.
    pub flow: Option<Flow>,
    /// The longest to wait for the owner.
    pub wait: Option<Duration>,
    /// The name for the grant, instead of the names of its sources.
    pub name: Option<String>,
    /// Where to keep the token; `None` means as before.
    pub store: Option<StoreChoice>,
    /// Whether the system's browser may be opened.
    pub opens_browser: bool,
}

impl Request {
    /// The options for the request, the flow and the store, each with its value.
    fn options(&self) -> Vec<(&'static str, String)> {
        let narrowing = &self.narrowing;
        let single = |name, value: Option<String>| value.map(|value| (name, value));
        let each = |name, values: &[String]| {
            values.iter().map(|value| (name, value.clone())).collect::<Vec<(&'static str, String)>>()
        };
        let mut options = Vec::new();
        options.extend(single("--flow", self.flow.map(|flow| flow.name().to_owned())));
        options.extend(single("--name", self.name.clone()));
        options.extend(single("--store", self.store.map(|store| store.name().to_owned())));
        options.extend(single("--source", narrowing.source.clone()));
        options.extend(each("--instance", &narrowing.instance));
        options.extend(each("--stream", &narrowing.stream));
        options.extend(each("--field", &narrowing.field));
        options.extend(single("--since", narrowing.since.clone()));
        options.extend(single("--until", narrowing.until.clone()));
        options.extend(single("--expires", narrowing.expires.clone()));
        options.extend(single("--purpose", narrowing.purpose.clone()));
        options
    }
}

/// Whom to ask, for what, and which grant it replaces.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) provider: ProviderUrl,
    pub(super) wanted: Wanted,
    /// The requests to try next, one after the other, if the provider refuses the first.
    pub(super) instead: Vec<Wanted>,
    pub(super) replaces: Option<Credential>,
    /// This command, and each of its options with its value.
    command: (Command, Vec<(&'static str, String)>),
}

impl Plan {
    /// The plan for `request`, given the contents of `cache`.
    ///
    /// # Errors
    /// The errors of [`Narrowing::wanted`], of choosing what to renew, and of the cache.
    pub(super) fn of(request: &Request, cache: &Cache) -> Result<Self> {
        let now = Timestamp::now();
        match &request.provider {
            Some(provider) if !request.renew => {
                let wanted = request.narrowing.wanted(now)?;
                let command = (Command::connect(provider.typed()), request.options());
                let provider = provider.clone();
                Ok(Self { provider, wanted, instead: Vec::new(), replaces: None, command })
            }
            provider => {
                let all = cache.credentials()?;
                let old = renewal::meant(&all, provider.as_ref(), request.grant.as_ref())?;
                let mut wanted = renewal::requests(old, now).into_iter();
                Ok(Self {
                    provider: old.provider.clone(),
                    wanted: wanted.next().unwrap_or_default(),
                    instead: wanted.collect(),
                    replaces: Some(old.clone()),
                    command: (renew_command(old, &all), request.options()),
                })
            }
        }
    }

    /// The same command without the named options: the command to type after a failure.
    pub(super) fn again(&self, without: &[&str]) -> Command {
        let (start, options) = &self.command;
        let kept = options.iter().filter(|(name, _)| !without.contains(name));
        kept.fold(start.clone(), |command, (name, value)| command.option(name, value))
    }
}
