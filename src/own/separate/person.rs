//! The person who answers the service's questions.

use super::words::Which;
use crate::error::Result;
use crate::import::tally::{BadItem, Unread};
use crate::own::import::{Plan, Progress};
use crate::secret::Passphrase;

/// A person who answers questions.
pub trait Person {
    /// Types a passphrase.
    ///
    /// # Errors
    /// If there is no one to ask, or the person typed nothing.
    fn passphrase(&mut self, which: Which, is_wrong: bool) -> Result<Passphrase>;

    /// Answers a question; `None` if there is no one to ask.
    fn answer(&mut self, question: &str, choices: &[String]) -> Option<String> {
        let _ = (question, choices);
        None
    }

    /// Asks whether to import what the plan shows.
    ///
    /// # Errors
    /// If there is no one to ask, or the person did not agree.
    fn plan(&mut self, plan: &Plan) -> Result<()> {
        let _ = plan;
        Ok(())
    }

    /// Asks whether to delete the account with this name.
    ///
    /// # Errors
    /// The errors of [`Person::plan`].
    fn account(&mut self, name: &str) -> Result<()> {
        let _ = name;
        Ok(())
    }

    /// Receives the progress.
    fn hear(&mut self, news: News<'_>) {
        let _ = news;
    }
}

/// The progress of a request.
pub enum News<'a> {
    /// This many files, with this many bytes, were handed over.
    Handed(u64, u64),
    /// How far an import has come.
    Progress(Progress),
    /// An item could not be read.
    Bad(&'a BadItem),
    /// A member was not read to the end.
    Unread(&'a Unread),
    /// The current step.
    Does(&'a str),
}
