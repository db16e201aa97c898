//! What is connected on this machine, until when, and whether it works.

use jiff::Timestamp;

use super::credential::{self, Verdict};
use crate::advice::{Command, Hint};
use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::cache::select::Selection;
use crate::error::{Error, Kind, Result};
use crate::own::separate::place::person_of;
use crate::own::separate::which::{Installed, SetUp, systemctl};
use crate::own::state::State;
use crate::provider::http::Http;
use crate::runtime::block_on_unless_stopped;

/// What is connected, of what a person selected.
#[derive(Debug)]
pub struct Status {
    /// All that is on this machine, selected or not.
    pub all: Vec<Credential>,
    /// The grants that are selected, each with what is known of it.
    pub grants: Vec<(Credential, Verdict)>,
    /// What is still to be ended at its provider.
    pub ending: Vec<Credential>,
    /// When this was looked at.
    pub now: Timestamp,
}

impl Status {
    /// What `cache` has of `selection`, which no provider is asked about.
    ///
    /// # Errors
    /// Those of the cache and of the selection.
    pub fn of(cache: &Cache, selection: &Selection) -> Result<Self> {
        let (all, waiting) = (cache.credentials()?, cache.ending()?);
        let ending: Vec<_> = selection.named(&waiting).unwrap_or_default().into_iter().cloned().collect();
        let selected: Vec<_> = match selection.named(&all) {
            Err(error) if error.kind() == Kind::NotConnected && !ending.is_empty() => Vec::new(),
            named => named?.into_iter().cloned().collect(),
        };
        let now = Timestamp::now();
        let verdict = |credential: &Credential| credential::from_here(cache, credential, &all, now);
        let grants = selected
            .into_iter()
            .map(|credential| {
                let verdict = verdict(&credential);
                (credential, verdict)
            })
            .collect();
        Ok(Self { all, grants, ending, now })
    }

    /// Asks each provider whether its grant still works.
    ///
    /// # Errors
    /// `interrupted`.
    pub fn check(&mut self, cache: &Cache, http: &Http) -> Result<()> {
        let credentials: Vec<_> = self.grants.iter().map(|(credential, _)| credential.clone()).collect();
        let verdicts = block_on_unless_stopped(credential::check_all(cache, http, &credentials, &self.all))?;
        self.grants = credentials.into_iter().zip(verdicts).collect();
        Ok(())
    }

    /// What a command of this name ends with: 78 where nothing is connected, 1 where a grant was found not to work.
    pub fn exit_code(&self) -> u8 {
        if self.grants.is_empty() {
            Kind::NotConnected.exit_code()
        } else if self.grants.iter().all(|(_, verdict)| verdict.state.is_usable()) {
            0
        } else {
            Kind::Failed.exit_code()
        }
    }
}

/// That nothing is connected; where there is own data, that nothing of it is granted.
pub fn not_connected(cache: &Cache) -> Error {
    let error = |message: String| Error::new(Kind::NotConnected, "not_connected", message);
    if let SetUp::Separate { dir, runs, .. } = SetUp::here(cache) {
        let uid = person_of(&dir);
        let url = uid.and_then(Installed::of).and_then(|found| found.url);
        let at = url.map(|url| format!(" at {url}")).unwrap_or_default();
        let message =
            format!("Nothing is connected on this machine; your own data is kept by its service{at}");
        return match uid {
            Some(uid) if !runs => {
                error(message).because("that does not run now".to_owned()).hint(systemctl("start", uid))
            }
            _ => error(message).run(Command::connect("local")),
        };
    }
    match State::here(cache) {
        None => error("No provider is connected on this machine".to_owned()).run(Command::connect_any()),
        Some(Ok((_, state))) if state.accounts.is_empty() => {
            error("Nothing is granted on this machine, and the store of your own data is empty".to_owned())
                .hint(
                    Hint::new("For your own data: ")
                        .run(Command::new("import <export>"))
                        .then("; else: ")
                        .run(Command::connect_any()),
                )
        }
        Some(Ok((dir, state))) => {
            let what = state.in_short();
            let dir = dir.display();
            error(format!("Nothing is granted on this machine; your own data is in {dir} ({what}), and no agent can read it yet"))
                .run(Command::connect("local"))
        }
        Some(Err(damage)) => {
            let next = damage.next().cloned().unwrap_or_default();
            let told =
                error("Nothing is granted on this machine, and your own data cannot be read".to_owned());
            told.because(damage).hint(next)
        }
    }
}
