//! The messages between a caller and the service. A conversation is one request, with everything that is
//! needed to answer it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Kind};
use crate::import::tally::{BadItem, Outcome, Unread};
use crate::own::backup::bundle::Manifest;
use crate::own::import::{Plan, Progress, Wanted};
use crate::own::state::{Made, State};

/// What a caller asks for: the first frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Asked {
    /// Who answers.
    Hello,
    /// A link to the owner's page that works once.
    Open,
    /// What the store has. Needs the passphrase, like each request that says it does.
    Status,
    /// The grants. Needs the passphrase.
    Grants,
    /// The sources that were imported. Needs the passphrase.
    Sources,
    /// End the grant with this id.
    Revoke {
        /// The whole id.
        grant: String,
    },
    /// Delete an account. Needs the passphrase.
    Forget {
        /// Its name or id.
        account: String,
    },
    /// Write a backup into the open file that comes with this. Needs the passphrase.
    Backup {
        /// Encrypt it with a passphrase that is sent for this.
        is_encrypted: bool,
    },
    /// Change the passphrase. Needs the current one.
    Passphrase,
    /// Import what is handed over next.
    Import(ImportAsked),
}

/// The request for an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportAsked {
    /// The person's options.
    pub wanted: Wanted,
    /// Only return what it would do.
    pub is_dry: bool,
    /// Try again what could not be read before, and list it.
    pub names_bad: bool,
}

/// What a caller sends after its request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Said {
    /// A file or folder of an import comes next.
    Source {
        /// As the person typed it.
        typed: String,
        /// Its path on the caller's side.
        shown: String,
        /// Whether it is a folder.
        is_folder: bool,
    },
    /// A file of the last source; it comes open with this.
    File {
        /// Its path within a folder, as [`crate::archive::text_of_path`] writes it; empty for a file.
        name: String,
    },
    /// Something in the last source that is not handed over.
    LeftOut {
        /// Its path within the source.
        label: String,
        /// Why, in a few words.
        why: String,
        /// Whether it should have been handed over, but cannot be read.
        is_unreadable: bool,
    },
    /// All sources were handed over.
    Whole,
    /// The answer to a question; `None` if there is no one to ask.
    Answer {
        /// In words, or one of the choices.
        text: Option<String>,
    },
    /// Whether to do what was shown.
    Go {
        /// Whether the person agreed.
        is_agreed: bool,
    },
    /// Stop after the current batch.
    Stop,
}

/// Which passphrase to type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The owner's current one.
    Present,
    /// The one that replaces it.
    New,
    /// One for a backup.
    Backup,
}

/// What the service sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// Who answers.
    Hello(Hello),
    /// A link to the owner's page that works once.
    Link {
        /// The link.
        url: String,
    },
    /// What the store has.
    Status(Status),
    /// The grants.
    Grants(Grants),
    /// Where the imports came from, the newest last.
    Sources {
        /// The paths.
        paths: Vec<String>,
    },
    /// The grant has ended.
    Revoked {
        /// Whether it was live until now.
        was_live: bool,
    },
    /// A request for a passphrase.
    Passphrase {
        /// Which.
        which: Which,
        /// Whether the one before was wrong.
        is_wrong: bool,
    },
    /// A question to answer.
    Question {
        /// In words.
        text: String,
        /// The possible answers; empty if any answer is possible.
        choices: Vec<String>,
    },
    /// What an import would do.
    Plan {
        /// The plan.
        plan: Plan,
    },
    /// How far an import has come.
    Progress(Progress),
    /// An item could not be read.
    Bad(BadItem),
    /// A member was not read to the end.
    Unread(Unread),
    /// The result of an import.
    Imported(ImportTold),
    /// The account that matches, before it is deleted.
    Account {
        /// Its name.
        name: String,
    },
    /// The account was deleted before.
    Gone,
    /// An account was deleted.
    Forgotten(ForgottenTold),
    /// The current step of a backup.
    Does {
        /// In a few words.
        what: String,
    },
    /// A backup was written.
    BackedUp {
        /// Its manifest.
        manifest: Manifest,
        /// Its size.
        bytes: u64,
    },
    /// It is done.
    Done,
    /// It failed.
    Failed(Failure),
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The release.
    pub version: String,
    /// Where it serves programs.
    pub url: String,
    /// Where the store is.
    pub data_dir: String,
    /// Whether a passphrase is set.
    pub has_passphrase: bool,
}

/// What the store has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Where it is.
    pub data_dir: String,
    /// Its id.
    pub store_id: Option<String>,
    /// The state of the store.
    pub state: State,
    /// How many grants are live.
    pub live_grants: usize,
}

/// The grants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grants {
    /// Where the store is.
    pub data_dir: String,
    /// All grants.
    pub made: Vec<Made>,
    /// The name of each account, by its id.
    pub names: BTreeMap<String, String>,
    /// When each grant was last used to read, from the service's log.
    pub reads: BTreeMap<String, Timestamp>,
}

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportTold {
    /// Source by source.
    pub outcomes: Vec<Outcome>,
    /// Why it stopped early.
    pub stopped: Option<Failure>,
    /// How many mails are kept apart.
    pub kept_apart: u64,
    /// The size of the store on the disk; only for a caller that knew the passphrase.
    pub store_bytes: Option<u64>,
}

/// The result of deleting an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgottenTold {
    /// Its id.
    pub id: String,
    /// How many records were deleted.
    pub records: usize,
    /// Grants that covered only this account, and have ended.
    pub ended: Vec<String>,
    /// Grants that continue without it.
    pub narrowed: Vec<String>,
}

/// A failure, on its way to the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Its code.
    pub code: String,
    /// The exit code.
    pub exit_code: u8,
    /// What happened.
    pub message: String,
    /// Why.
    pub because: Vec<String>,
    /// What to do next.
    pub next: Option<String>,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self {
            code: error.code().to_owned(),
            exit_code: error.kind().exit_code(),
            message: error.message().to_owned(),
            because: error.causes().collect(),
            next: error.next_step(),
        }
    }
}

/// The error codes that the service can send. Codes are fixed strings of this program: one that a later
/// release added becomes `owner_service`.
const CODES: [&str; 38] = [
    "backup_disk_full",
    "backup_file",
    "backup_running",
    "backup_unsound",
    "date_invalid",
    "grant_unknown",
    "import_disk_full",
    "import_format",
    "import_handed_over",
    "import_path",
    "import_question",
    "import_running",
    "import_unconfirmed",
    "import_unfit",
    "import_unreadable",
    "import_unrecognised",
    "interrupted",
    "no_randomness",
    "not_confirmed",
    "output_failed",
    "own_account_ambiguous",
    "own_account_unknown",
    "own_damaged",
    "own_data_dir",
    "own_empty",
    "own_forget_unfinished",
    "own_in_use",
    "own_missing",
    "own_store",
    "own_store_other",
    "owner_page_missing",
    "owner_service",
    "owner_service_busy",
    "passphrase_not_chosen",
    "passphrase_wrong",
    "restore_not_empty",
    "several_credentials",
    "timezone_invalid",
];

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let kinds = [Kind::Usage, Kind::Unavailable, Kind::Refused, Kind::NotConnected, Kind::Interrupted];
        let kind = kinds.into_iter().find(|kind| kind.exit_code() == failure.exit_code);
        let code = CODES.into_iter().find(|code| *code == failure.code).unwrap_or("owner_service");
        let mut error = Self::new(kind.unwrap_or(Kind::Failed), code, failure.message);
        let cause = failure.because.into_iter().rev().map(anyhow::Error::msg);
        if let Some(cause) = cause.reduce(|inner, outer| inner.context(outer.to_string())) {
            error = error.because(cause);
        }
        match failure.next {
            Some(next) => error.hint(next),
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_comes_through_whole() {
        let error = Error::new(Kind::Refused, "passphrase_wrong", "The passphrase is wrong")
            .because(anyhow::anyhow!("inner").context("outer"))
            .hint("Type it again");
        let told: Failure =
            serde_json::from_str(&serde_json::to_string(&Failure::from(&error)).unwrap()).unwrap();
        let again = Error::from(told);
        assert_eq!(again.to_json(), error.to_json());
        let later = Failure { code: "of_a_later_release".to_owned(), ..Failure::from(&error) };
        assert_eq!(Error::from(later).code(), "owner_service");
    }
}
