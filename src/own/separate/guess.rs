//! Passphrases that come over the socket. Any program of the person's may try one: so each conversation waits longer after a wrong
//! one, all of them together try one at a time, and none within a second after a wrong one.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::own::state::vault_failed;
use crate::secret::Passphrase;
use crate::vault::Vault;
use crate::vault::oauth::passphrase::{self, Tries};
use crate::vault::time::now_ms;

/// After a wrong one, whoever's it was. It is the least that keeps a program from trying thousands in a minute by new conversations, and
/// costs the person who types one a second at most for each that is tried beside theirs.
const PAUSE: Duration = Duration::from_secs(1);

/// The passphrases that are tried.
#[derive(Debug, Default)]
pub(super) struct Guesses {
    last_wrong: Mutex<Option<Instant>>,
}

impl Guesses {
    /// Whether `typed` is the owner's passphrase. It takes as long as `tries` says that it has to wait.
    ///
    /// # Errors
    /// `own_store`.
    pub(super) fn is_right(&self, vault: &Vault, tries: &mut Tries, typed: &Passphrase) -> Result<bool> {
        while let Err(seconds) = tries.begin(now_ms()) {
            std::thread::sleep(Duration::from_secs(seconds));
        }
        let mut last_wrong = self.last_wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = *last_wrong {
            std::thread::sleep(PAUSE.saturating_sub(at.elapsed()));
        }
        let is_right = passphrase::is_right(vault.grants(), typed).map_err(failed)?;
        *last_wrong = if is_right { None } else { Some(Instant::now()) };
        Ok(is_right)
    }
}

pub(super) fn failed(error: rusqlite::Error) -> Error {
    vault_failed(&error.into())
}
