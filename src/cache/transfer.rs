//! Moving secrets from one store to the other.

use super::credential::Credential;
use super::store::choice::StoreChoice;
use super::store::keyring::KeyringStore;
use super::store::{StoreError, StoreKind};
use super::{Cache, new_credential_id};
use crate::advice::{Command, Hint};
use crate::error::Result;

/// The result of [`Cache::move_to`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The store where every secret is now, and where new ones go.
    pub to: StoreKind,
    /// The credentials whose secret was moved.
    pub moved: Vec<Credential>,
    /// The number of secrets that were already there.
    pub already: usize,
    /// The credentials whose secret is in no store, or damaged there: they must be connected again.
    pub missing: Vec<Credential>,
}

impl Cache {
    /// Moves every secret to `to`, and records that store for new ones. It moves one after the other, each as a
    /// whole: a process that dies in between leaves each credential with its secret in the old store or the new
    /// one, and a second call continues. Blocks, also for refreshes that are on their way.
    ///
    /// # Errors
    /// Any error of the stores; secrets that were already moved stay moved. Nothing is changed if `to` does not
    /// work.
    pub fn move_to(&self, to: StoreKind) -> Result<Moved> {
        let mut done = Moved { to, moved: Vec::new(), already: 0, missing: Vec::new() };
        self.try_target(to)?;
        for credential in self.credentials()? {
            let _renewal = self.wait_for_renewal(&credential)?;
            // Read again, because it may have been renewed, replaced or removed meanwhile.
            let Some(current) = self.current(&credential)? else { continue };
            if current.store == to {
                done.already += 1;
                continue;
            }
            let secrets = match self.read_secrets(&current) {
                Ok(Some(secrets)) => secrets,
                Err(error) if error.code() != "secret_damaged" => return Err(error),
                Ok(None) | Err(_) => {
                    done.missing.push(current.clone());
                    continue;
                }
            };
            let mut moved = Credential { id: new_credential_id()?, store: to, ..current.clone() };
            moved.renewal.family = Some(current.family().clone());
            let moved = self.replace(moved, &secrets, |index, mut moved| {
                let found = index.credentials.iter_mut().find(|known| known.id == current.id)?;
                moved.ending = found.ending;
                *found = moved.clone();
                index.discard(&current.place());
                Some(moved)
            })?;
            if let Some(moved) = moved {
                done.moved.push(moved);
            }
        }
        // Deletes what an earlier move left that died after its last credential: nothing else would change now.
        self.delete_left()?;
        self.remember_store(match to {
            StoreKind::Keyring => StoreChoice::Keyring,
            StoreKind::File => StoreChoice::File,
        })?;
        Ok(done)
    }

    /// Checks that `to` accepts a secret, before anything is recorded that would have to be deleted there
    /// again.
    fn try_target(&self, to: StoreKind) -> Result<()> {
        self.check_writable(StoreKind::File)?;
        if to == StoreKind::File {
            return Ok(());
        }
        KeyringStore::probe().map_err(|error| {
            let again = Command::new("status --move-to keyring");
            let hint = Hint::new("Every token stays where it is. ");
            let hint = match error {
                StoreError::KeyringAbsent(_) => hint.then("Run this in a session that has a keyring"),
                _ => hint.then("Unlock the keyring, then try again: ").run(again.clone()),
            };
            error.into_error(String::new(), again).hint(hint)
        })
    }
}
