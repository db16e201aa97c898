//! What is connected on this computer, when it expires, and whether it works.

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

/// The status of the connected grants that a person selected.
#[derive(Debug)]
pub struct Status {
    /// All credentials on this computer, selected or not.
    pub all: Vec<Credential>,
    /// The selected grants, each with its state.
    pub grants: Vec<(Credential, Verdict)>,
    /// Grants that must still be ended at their provider.
    pub ending: Vec<Credential>,
    /// When the status was read.
    pub now: Timestamp,
}

impl Status {
    /// The status of `selection` from `cache`, without asking any provider.
    ///
    /// # Errors
    /// Returns the errors of the cache and of the selection.
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
    /// Returns `interrupted` if the user stops it.
    pub fn check(&mut self, cache: &Cache, http: &Http) -> Result<()> {
        let credentials: Vec<_> = self.grants.iter().map(|(credential, _)| credential.clone()).collect();
        let verdicts = block_on_unless_stopped(credential::check_all(cache, http, &credentials, &self.all))?;
        self.grants = credentials.into_iter().zip(verdicts).collect();
        Ok(())
    }

    /// The exit code of a command that shows this status: 78 if nothing is connected, 1 if a grant was found not to
    /// work.
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

/// The error that nothing is connected or, if there is own data, that none of it is granted.
pub fn not_connected(cache: &Cache) -> Error {
    let error = |message: String| Error::new(Kind::NotConnected, "not_connected", message);
    if let SetUp::Separate { dir, runs, .. } = SetUp::here(cache) {
        let uid = person_of(&dir);
        let url = uid.and_then(Installed::of).and_then(|found| found.url);
        let at = url.map(|url| format!(" at {url}")).unwrap_or_default();
        let message =
            format!("Nothing is connected on this computer; your own data is kept by its service{at}");
        return match uid {
            Some(uid) if !runs => {
                error(message).because("that service is not running".to_owned()).hint(systemctl("start", uid))
            }
            _ => error(message).run(Command::connect("local")),
        };
    }
    match State::here(cache) {
        None => error("No provider is connected on this computer".to_owned())
            .hint(Hint::connect_own_or(Command::connect_any())),
        Some(Ok((_, state))) if state.accounts.is_empty() => {
            error("Nothing is granted on this computer, and the store of your own data is empty".to_owned())
                .hint(
                    Hint::new("To use your own data: ")
                        .run(Command::new("import <export>"))
                        .then(". Otherwise: ")
                        .run(Command::connect_any()),
                )
        }
        Some(Ok((dir, state))) => {
            let what = state.in_short();
            let dir = dir.display();
            error(format!("Nothing is granted on this computer; your own data is in {dir} ({what}), and no agent can read it yet"))
                .run(Command::connect("local"))
        }
        Some(Err(damage)) => {
            let next = damage.next().cloned().unwrap_or_default();
            let told = error(
                "Nothing is granted on this computer, and pdpp could not read your own data".to_owned(),
            );
            told.because(damage).hint(next)
        }
    }
}
