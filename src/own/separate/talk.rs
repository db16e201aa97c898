//! The service's side of one conversation: what it receives and sends, and whether the passphrase was
//! typed.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::frame::{Broken, Received, Wire};
use super::guess::Guesses;
use super::places::Place;
use super::words::{Told, Which};
use crate::error::{Error, Kind, Result};
use crate::secret::Passphrase;
use crate::vault::Vault;
use crate::vault::oauth::passphrase::Tries;

/// How long a person may take to type or to decide.
pub(super) const TYPING_TIME: Duration = Duration::from_mins(10);
/// Passphrases that may be typed in one conversation.
const TRIES: u32 = 3;

/// Creates a link to the owner's page that works once.
pub type Link = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// What the service shares with every conversation.
pub(super) struct House {
    /// The store's directory.
    pub dir: std::path::PathBuf,
    /// Where programs are served.
    pub url: String,
    /// The vault that is served.
    pub vault: Arc<Vault>,
    pub link: Link,
    pub guesses: Guesses,
}

/// How a conversation fails.
pub(super) enum Ended {
    /// The caller is gone.
    Gone,
    /// The caller receives the reason.
    Failed(Error),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Broken> for Ended {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Wrong(why) => Self::Failed(
                Error::failed("owner_service", "The service did not understand the request")
                    .because(why.to_owned())
                    .hint("Update the service to the same release as this pdpp"),
            ),
            Broken::Gone | Broken::Silent | Broken::Socket(_) => Self::Gone,
        }
    }
}

impl From<io::Error> for Ended {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// A conversation.
pub(super) struct Talk<'a> {
    pub wire: &'a Wire,
    pub place: &'a Place,
    pub house: &'a House,
    tries: Tries,
    is_unlocked: bool,
}

impl<'a> Talk<'a> {
    pub(super) fn new(wire: &'a Wire, place: &'a Place, house: &'a House) -> Self {
        Self { wire, place, house, tries: Tries::default(), is_unlocked: false }
    }

    pub(super) fn dir(&self) -> &'a Path {
        &self.house.dir
    }

    pub(super) fn tell(&self, told: &Told) -> Result<(), Ended> {
        self.place.is_heard();
        Ok(self.wire.send(told)?)
    }

    pub(super) fn hear(&self, patience: Duration) -> Result<Received, Ended> {
        let received = self.wire.receive(Some(patience))?;
        self.place.is_heard();
        Ok(received)
    }

    /// Whether the passphrase was typed in this conversation.
    pub(super) const fn is_unlocked(&self) -> bool {
        self.is_unlocked
    }

    /// Asks for a passphrase.
    pub(super) fn passphrase(&self, which: Which, is_wrong: bool) -> Result<Passphrase, Ended> {
        self.tell(&Told::Passphrase { which, is_wrong })?;
        Ok(self.hear(TYPING_TIME)?.secret()?)
    }

    /// Asks for the owner's passphrase, and succeeds only if it is right.
    pub(super) fn unlock(&mut self) -> Result<(), Ended> {
        let mut is_wrong = false;
        for _ in 0..TRIES {
            if self.is_unlocked {
                return Ok(());
            }
            let typed = self.passphrase(Which::Present, is_wrong)?;
            self.is_unlocked = self.house.guesses.is_right(&self.house.vault, &mut self.tries, &typed)?;
            is_wrong = true;
        }
        if self.is_unlocked {
            return Ok(());
        }
        Err(Error::new(Kind::Refused, "passphrase_wrong", "The passphrase is wrong; nothing was changed")
            .hint("Run it again with the passphrase that was chosen for the service")
            .into())
    }
}
