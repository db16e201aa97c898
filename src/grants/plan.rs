//! What `connect` is about to do: whom to ask, for what, and in the place of what.

use jiff::Timestamp;

use super::{Args, renewal};
use crate::advice::Command;
use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::cache::select::renew_command;
use crate::error::Result;
use crate::provider::approve::wanted::Wanted;
use crate::provider::url::ProviderUrl;

/// Whom to ask, for what, and in the place of what.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) provider: ProviderUrl,
    pub(super) wanted: Wanted,
    /// What to ask for instead, one after the other, where the provider refuses that.
    pub(super) instead: Vec<Wanted>,
    pub(super) replaces: Option<Credential>,
    /// The command that this is: its words before the options, and each option with its value.
    command: (Command, Vec<(&'static str, String)>),
}

impl Plan {
    pub(super) fn of(args: &Args, provider: Option<ProviderUrl>, cache: &Cache) -> Result<Self> {
        let now = Timestamp::now();
        match provider {
            Some(provider) if !args.renew => {
                let wanted = args.narrow.wanted(now)?;
                let command = (Command::connect(provider.as_str()), args.options());
                Ok(Self { provider, wanted, instead: Vec::new(), replaces: None, command })
            }
            provider => {
                let all = cache.credentials()?;
                let old = renewal::meant(&all, provider.as_ref(), args.grant.as_ref())?;
                let mut requests = renewal::requests(old, now).into_iter();
                Ok(Self {
                    provider: old.provider.clone(),
                    wanted: requests.next().unwrap_or_default(),
                    instead: requests.collect(),
                    replaces: Some(old.clone()),
                    command: (renew_command(old, &all), args.options()),
                })
            }
        }
    }

    /// The same command again, without the options that are named: what to type after a failure.
    pub(super) fn again(&self, without: &[&str]) -> Command {
        let (start, options) = &self.command;
        let kept = options.iter().filter(|(name, _)| !without.contains(name));
        kept.fold(start.clone(), |command, (name, value)| command.option(name, value))
    }
}

impl Args {
    /// The options that say what is asked for, in what way and where it is kept.
    fn options(&self) -> Vec<(&'static str, String)> {
        use clap::ValueEnum as _;
        let value =
            |value: Option<clap::builder::PossibleValue>| value.map(|value| value.get_name().to_owned());
        let one = |name, value: Option<String>| value.map(|value| (name, value));
        let narrow = &self.narrow;
        let each = |name, values: &[String]| {
            values.iter().map(|value| (name, value.clone())).collect::<Vec<(&'static str, String)>>()
        };
        let mut options = Vec::new();
        options.extend(one("--flow", value(self.flow.and_then(|flow| flow.to_possible_value()))));
        options.extend(one("--name", self.name.clone()));
        options.extend(one("--store", value(self.store.and_then(|store| store.to_possible_value()))));
        options.extend(one("--source", narrow.source.clone()));
        options.extend(each("--instance", &narrow.instance));
        options.extend(each("--stream", &narrow.stream));
        options.extend(each("--field", &narrow.field));
        options.extend(one("--since", narrow.since.clone()));
        options.extend(one("--until", narrow.until.clone()));
        options.extend(one("--expires", narrow.expires.clone()));
        options.extend(one("--purpose", narrow.purpose.clone()));
        options
    }
}
