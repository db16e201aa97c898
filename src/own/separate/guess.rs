//! Checks passphrases that come over the socket. Any of the person's programs may try one. So each
//! conversation waits longer after a wrong one, only one is tried at a time across all conversations, and
//! none within a second after a wrong one.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::own::state::vault_failed;
use crate::secret::Passphrase;
use crate::vault::Vault;
use crate::vault::oauth::passphrase::{self, Tries};
use crate::vault::time::now_ms;

/// The pause after a wrong passphrase, from any conversation. It is short, but keeps a program from
/// trying thousands a minute through new conversations; a person who types one loses at most a second for
/// each that is tried at the same time.
const PAUSE: Duration = Duration::from_secs(1);

/// The passphrases that are being tried.
#[derive(Debug, Default)]
pub(super) struct Guesses {
    last_wrong: Mutex<Option<Instant>>,
}

impl Guesses {
    /// Whether `typed` is the owner's passphrase. The answer takes as long as `tries` requires.
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
