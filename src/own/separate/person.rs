//! Whoever sits where the service was asked something.

use super::words::Which;
use crate::error::Result;
use crate::import::tally::{BadItem, Unread};
use crate::own::import::{Plan, Progress};
use crate::secret::Passphrase;

/// Whoever sits there.
pub trait Person {
    /// Types a passphrase.
    ///
    /// # Errors
    /// Nobody can be asked for one, or nobody typed it.
    fn passphrase(&mut self, which: Which, is_wrong: bool) -> Result<Passphrase>;

    /// Answers a question; `None` where nobody can.
    fn answer(&mut self, question: &str, choices: &[String]) -> Option<String> {
        let _ = (question, choices);
        None
    }

    /// Whether to import what the plan shows.
    ///
    /// # Errors
    /// Nobody can be asked, or nobody agreed.
    fn plan(&mut self, plan: &Plan) -> Result<()> {
        let _ = plan;
        Ok(())
    }

    /// Whether to delete the account of this name.
    ///
    /// # Errors
    /// As [`Person::plan`].
    fn account(&mut self, name: &str) -> Result<()> {
        let _ = name;
        Ok(())
    }

    /// Is told how it goes on.
    fn hear(&mut self, news: News<'_>) {
        let _ = news;
    }
}

/// How it goes on.
pub enum News<'a> {
    /// So many files with so many bytes were handed over.
    Handed(u64, u64),
    /// How far an import is.
    Progress(Progress),
    /// An item could not be read.
    Bad(&'a BadItem),
    /// A member was not read to its end.
    Unread(&'a Unread),
    /// What is done now.
    Does(&'a str),
}
