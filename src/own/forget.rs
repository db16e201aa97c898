//! Deletes an account: reads of it stop first, then all its data goes.

use std::path::Path;

use indicatif::HumanCount;

use super::state::{failed, vault_failed};
use super::{backup, lock, open};
use crate::cache::Cache;
use crate::error::{Error, Kind, Result};
use crate::import::apart;
use crate::text::one_line;
use crate::vault::grant::Grant;
use crate::vault::store::{Connection, Erased, Store, blobs};
use crate::vault::time;

/// An account that was deleted.
#[derive(Debug)]
pub struct Forgotten {
    /// Its id.
    pub id: String,
    /// How many records were deleted.
    pub records: usize,
    /// Grants that covered only this account, and have ended.
    pub ended: Vec<String>,
    /// Grants that cover other accounts too, and continue without this one.
    pub narrowed: Vec<String>,
}

impl Forgotten {
    /// What was done with the account that was called `name`, line by line.
    pub fn in_words(&self, name: &str) -> Vec<String> {
        let records = match self.records {
            1 => "its 1 record and everything kept with it are".to_owned(),
            some => format!("its {} records and everything kept with them are", HumanCount(some as u64)),
        };
        let mut lines = vec![format!("{} is forgotten: {records} deleted.", one_line(name))];
        let each = |ids: &[String], what: &str| -> Vec<String> {
            ids.iter().map(|id| format!("The grant {id} {what}.")).collect()
        };
        lines.extend(each(&self.ended, "has ended, because it covered only this account"));
        lines.extend(each(&self.narrowed, "continues without it"));
        lines.push(format!("{OUT_OF_REACH}."));
        lines.push("To have it again, import it again.".to_owned());
        lines
    }
}

/// What forgetting an account does not reach.
pub const OUT_OF_REACH: &str =
    "Not deleted: your exports, backups and snapshots of the disk, and what agents have already read";

/// Removes the tokens of ended grants of own data from this computer.
///
/// # Errors
/// The errors of the cache.
pub fn remove_tokens(cache: &Cache, over: &[String]) -> Result<()> {
    for credential in cache.credentials().unwrap_or_default() {
        if credential.provider.is_local() && over.iter().any(|id| id == credential.grant_id.as_str()) {
            cache.remove(&credential)?;
        }
    }
    Ok(())
}

/// The account that `name` matches: by its id or its display name.
///
/// # Errors
/// `own_account_unknown` (2), which lists the accounts; `own_account_ambiguous` (2); `own_store`.
pub fn find(store: &Store, name: &str) -> Result<Option<Connection>> {
    let all = store.read::<Vec<_>, rusqlite::Error>(|_, catalog| Ok(catalog.connections.clone()));
    let all = all.map_err(failed)?;
    let by_id: Vec<_> = all.iter().filter(|known| known.id == name).collect();
    let found: Vec<_> = if by_id.is_empty() {
        all.iter().filter(|known| known.display_name == name).collect()
    } else {
        by_id
    };
    match found.as_slice() {
        [one] => Ok(Some(Connection::clone(one))),
        [] if store.was_forgotten(name).map_err(failed)? => Ok(None),
        [] => {
            let known: Vec<_> = all.iter().map(|known| known.display_name.as_str()).collect();
            let message =
                format!("There is no account called {name}; the accounts are: {}", known.join(", "));
            Err(Error::new(Kind::Usage, "own_account_unknown", message).hint("Name one of them"))
        }
        several => {
            let ids: Vec<_> = several.iter().map(|known| known.id.as_str()).collect();
            let message =
                format!("Several accounts are called {name}; name one by its id: {}", ids.join(", "));
            Err(Error::new(Kind::Usage, "own_account_ambiguous", message).hint("Name one by its id"))
        }
    }
}

/// Forgets the account `id` of the store in `dir`.
///
/// # Errors
/// `import_running`; `backup_running`; `own_store`; `own_forget_unfinished` if a reader still holds what
/// was deleted.
pub fn forget(dir: &Path, id: &str) -> Result<Forgotten> {
    let _alone = (lock(dir)?, backup::lock(dir)?);
    // Exports in the inbox may contain the account's data.
    backup::remove_leftovers(dir)?;
    apart::clean(dir).map_err(|error| super::unusable(dir, error))?;
    let vault = open(dir)?;
    let store = vault.store();
    store.hide(id).map_err(failed)?;
    let now = time::now_ms();
    let has = |grant: &Grant, is_other: bool| {
        grant.streams.iter().flat_map(|stream| &stream.instance_ids).any(|known| (known == id) != is_other)
    };
    let made = vault.grants_made().map_err(|error| vault_failed(&error))?;
    let live = made.iter().filter(|(grant, revoked)| revoked.is_none() && !grant.is_expired(now));
    let of_it: Vec<&Grant> = live.map(|(grant, _)| grant).filter(|grant| has(grant, false)).collect();
    let (narrowed, ended): (Vec<&Grant>, Vec<&Grant>) = of_it.into_iter().partition(|grant| has(grant, true));
    let less = narrowed.iter().map(|grant| (*grant).clone()).collect();
    vault.narrow_grants(less, id).map_err(|error| vault_failed(&error))?;
    let ids =
        |grants: Vec<&Grant>| grants.into_iter().map(|grant| grant.grant_id.clone()).collect::<Vec<_>>();
    let (narrowed, ended) = (ids(narrowed), ids(ended));
    vault.end_grants(ended.iter().map(String::as_str)).map_err(|error| vault_failed(&error))?;
    let erased = erase(dir, store)?;
    Ok(Forgotten { id: id.to_owned(), records: erased.records, ended, narrowed })
}

/// Continues a deletion that was interrupted.
///
/// # Errors
/// The errors of [`forget`].
pub(super) fn finish(dir: &Path, store: &Store) -> Result<()> {
    if store.is_erasing().map_err(failed)? {
        erase(dir, store)?;
    }
    Ok(())
}

fn erase(dir: &Path, store: &Store) -> Result<Erased> {
    let erased = store.erase().map_err(failed)?;
    blobs::remove_unused_copies(dir, &store.copies().map_err(failed)?).map_err(failed)?;
    if erased.is_log_left {
        let message = "What was deleted is still in the store's log, because a program is reading the store";
        return Err(
            Error::failed("own_forget_unfinished", message).hint("Stop that program, then run this again")
        );
    }
    store.end_erasing().map_err(failed)?;
    Ok(erased)
}
