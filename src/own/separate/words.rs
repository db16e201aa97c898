//! What a caller and the service say to each other. A conversation is one request, with what it takes to answer that.

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
    /// Who is there.
    Hello,
    /// A link to the owner's page, good once.
    Open,
    /// What is in the store. Takes the passphrase, as each that says so.
    Status,
    /// What was granted. Takes the passphrase.
    Grants,
    /// What was imported, and from where. Takes the passphrase.
    Sources,
    /// End the grant of this id.
    Revoke {
        /// All of it.
        grant: String,
    },
    /// Delete an account. Takes the passphrase.
    Forget {
        /// Its name or id.
        account: String,
    },
    /// Write a backup into the open file that comes with this. Takes the passphrase.
    Backup {
        /// Encrypt it, with a passphrase that is sent for that.
        is_encrypted: bool,
    },
    /// Change the passphrase. Takes the one that there is.
    Passphrase,
    /// Import what is handed over next.
    Import(ImportAsked),
}

/// What is asked of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportAsked {
    /// What the person said.
    pub wanted: Wanted,
    /// Only say what it would come to.
    pub is_dry: bool,
    /// Try what could not be read before again, and name it.
    pub names_bad: bool,
}

/// What a caller says further.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Said {
    /// A file or folder of an import comes next.
    Source {
        /// As the person typed it.
        typed: String,
        /// Where it is for the caller.
        shown: String,
        /// Whether it is a folder.
        is_folder: bool,
    },
    /// A file of the last source, which comes open with this.
    File {
        /// Its path within a folder, as [`crate::archive::text_of_path`] writes it; empty for a file.
        name: String,
    },
    /// What of the last source is not handed over.
    LeftOut {
        /// Its path within the source.
        label: String,
        /// Why, in a few words.
        why: String,
        /// Whether it should have been, and cannot be read.
        is_unreadable: bool,
    },
    /// All sources were handed over.
    Whole,
    /// The answer to a question; none where nobody can be asked.
    Answer {
        /// In words, or one of the choices.
        text: Option<String>,
    },
    /// Whether to do what was shown.
    Go {
        /// Whether somebody agreed.
        is_agreed: bool,
    },
    /// Stop after the batch at work.
    Stop,
}

/// Which passphrase is to be typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The owner's.
    Present,
    /// The one in its place.
    New,
    /// One for a backup.
    Backup,
}

/// What the service says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// Who is there.
    Hello(Hello),
    /// A link to the owner's page, good once.
    Link {
        /// It.
        url: String,
    },
    /// What is in the store.
    Status(Status),
    /// What was granted.
    Grants(Grants),
    /// Where what was imported came from, the last one last.
    Sources {
        /// The paths.
        paths: Vec<String>,
    },
    /// A grant is ended.
    Revoked {
        /// Whether it was not before.
        was_live: bool,
    },
    /// A passphrase is to be sent.
    Passphrase {
        /// Which.
        which: Which,
        /// Whether the one before was wrong.
        is_wrong: bool,
    },
    /// A question, to be answered.
    Question {
        /// In words.
        text: String,
        /// The answers that there are; any where there are none.
        choices: Vec<String>,
    },
    /// What an import would come to.
    Plan {
        /// It.
        plan: Plan,
    },
    /// How far an import is.
    Progress(Progress),
    /// An item could not be read.
    Bad(BadItem),
    /// A member was not read to its end.
    Unread(Unread),
    /// What became of an import.
    Imported(ImportTold),
    /// The account that is meant, before it is deleted.
    Account {
        /// What it is called.
        name: String,
    },
    /// It was forgotten before.
    Gone,
    /// An account is forgotten.
    Forgotten(ForgottenTold),
    /// What a backup does now.
    Does {
        /// In a few words.
        what: String,
    },
    /// A backup is written.
    BackedUp {
        /// What it says of itself.
        manifest: Manifest,
        /// Its size.
        bytes: u64,
    },
    /// It is done.
    Done,
    /// It is not done.
    Failed(Failure),
}

/// Who is there.
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

/// What is in the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Where it is.
    pub data_dir: String,
    /// Its id.
    pub store_id: Option<String>,
    /// What it holds.
    pub state: State,
    /// How many grants are live.
    pub live_grants: usize,
}

/// What was granted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grants {
    /// Where the store is.
    pub data_dir: String,
    /// Grant by grant.
    pub made: Vec<Made>,
    /// What each account is called, by its id.
    pub names: BTreeMap<String, String>,
    /// When each grant was last read with, as the service noted it.
    pub reads: BTreeMap<String, Timestamp>,
}

/// What became of an import.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportTold {
    /// Source by source.
    pub outcomes: Vec<Outcome>,
    /// Why it went no further.
    pub stopped: Option<Failure>,
    /// How many mails are kept apart.
    pub kept_apart: u64,
    /// What the store takes on the disk; only told to whoever knew the passphrase.
    pub store_bytes: Option<u64>,
}

/// What became of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgottenTold {
    /// Its id.
    pub id: String,
    /// How many records went.
    pub records: usize,
    /// Grants that were on nothing else, and are ended.
    pub ended: Vec<String>,
    /// Grants that go on without it.
    pub narrowed: Vec<String>,
}

/// A failure, on its way to whoever asked.
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

/// The codes of what fails at the service. A code is this program's own: one that a later release added is told as
/// `owner_service`.
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
