//! What the person's own store has: accounts with their streams, and how old they are.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use indicatif::HumanCount;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::PROFILE;
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::vault::grant::Grant;
use crate::vault::oauth::wish::GUARDED;
use crate::vault::store::{Store, freshness, record_count, record_counts};
use crate::vault::wire::ApiError;
use crate::vault::{Vault, accounts, time};

/// What a store holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Its size on the disk, in bytes.
    pub bytes: u64,
    /// Account by account.
    pub accounts: Vec<AccountState>,
}

/// An account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountState {
    /// Its id.
    pub id: String,
    /// What its owner calls it.
    pub name: String,
    /// The kind of its source.
    pub kind: String,
    /// The end of its last import.
    pub as_of: Option<Timestamp>,
    /// The time of its newest record.
    pub newest: Option<Timestamp>,
    /// Its streams.
    pub streams: Vec<StreamState>,
}

/// A stream of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamState {
    /// Its name.
    pub name: String,
    /// How many records it has.
    pub records: u64,
}

impl State {
    /// The state of the store whose directory `cache` knows; `None` if there is no store. Changes
    /// nothing.
    ///
    /// # Errors
    /// The errors of the store.
    pub fn here(cache: &Cache) -> Option<Result<(PathBuf, Self)>> {
        let dir = super::dir(None, cache).ok().filter(|dir| super::is_there(dir))?;
        let state = super::open_store(&dir).and_then(|store| Self::of(&store, &dir));
        Some(state.map_err(|error| super::told(&dir, error)).map(|state| (dir, state)))
    }

    /// `12,034 records of 2 accounts`.
    pub fn in_short(&self) -> String {
        let streams = self.accounts.iter().flat_map(|account| &account.streams);
        let records: u64 = streams.map(|stream| stream.records).sum();
        let (record, account) = (
            if records == 1 { "record" } else { "records" },
            if self.accounts.len() == 1 { "account" } else { "accounts" },
        );
        format!("{} {record} of {} {account}", HumanCount(records), self.accounts.len())
    }

    /// The state of `store` in `dir`.
    ///
    /// # Errors
    /// `own_store`.
    pub fn of(store: &Store, dir: &Path) -> Result<Self> {
        let accounts = store.read::<_, rusqlite::Error>(|db, catalog| {
            let counts = record_counts(db)?;
            let mut accounts = Vec::new();
            for connection in &catalog.connections {
                let Some(connector) = catalog.connector(&connection.connector) else { continue };
                let streams = connector.streams.iter().map(|stream| {
                    let count = counts.get(&format!("{}/{}", connection.id, stream.name));
                    let records = count.and_then(serde_json::Value::as_u64).unwrap_or(0);
                    StreamState { name: stream.name.clone(), records }
                });
                let fresh = freshness(db, catalog, &connection.id)?;
                let time = |ms: Option<i64>| ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
                accounts.push(AccountState {
                    id: connection.id.clone(),
                    name: connection.display_name.clone(),
                    kind: connector.name.clone(),
                    as_of: time(fresh.imported_ms),
                    newest: time(fresh.newest_ms),
                    streams: streams.collect(),
                });
            }
            Ok(accounts)
        });
        let size = |suffix: &str| {
            std::fs::metadata(dir.join(format!("{}{suffix}", PROFILE.database)))
                .map_or(0, |found| found.len())
        };
        Ok(Self { bytes: size("") + size("-wal"), accounts: accounts.map_err(failed)? })
    }
}

/// The sentence about emails that are kept apart; `None` if there are none.
pub fn kept_apart(mails: u64) -> Option<String> {
    let (look, are) = if mails == 1 { ("email looks", "it is") } else { ("emails look", "they are") };
    (mails > 0).then(|| {
        format!(
            "{} {look} like sign-in codes or password resets; {are} kept apart in {GUARDED}, which no quick selection includes",
            HumanCount(mails)
        )
    })
}

/// How many mails of `connections` are kept apart.
///
/// # Errors
/// `own_store`.
pub fn mails_kept_apart(store: &Store, connections: &BTreeSet<String>) -> Result<u64> {
    let count = store.read::<_, rusqlite::Error>(|db, catalog| {
        let slots = connections.iter().filter_map(|connection| catalog.slot(connection, GUARDED));
        slots.map(|slot| record_count(db, slot)).sum()
    });
    count.map_err(failed)
}

/// A grant, and its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The grant.
    pub grant: Grant,
    /// `live`, `expired` or `revoked`.
    pub state: Cow<'static, str>,
}

/// All grants of the store of `vault`.
///
/// # Errors
/// `own_store`.
pub fn made(vault: &Vault) -> Result<Vec<Made>> {
    let now = time::now_ms();
    let state = |grant: &Grant, revoked: Option<i64>| match revoked {
        Some(_) => "revoked",
        None if grant.is_expired(now) => "expired",
        None => "live",
    };
    let all = vault.grants_made().map_err(|error| vault_failed(&error))?;
    Ok(all.into_iter().map(|(grant, revoked)| Made { state: state(&grant, revoked).into(), grant }).collect())
}

/// The name of each account of `store`, by its id.
///
/// # Errors
/// `own_store`.
pub fn account_names(store: &Store) -> Result<BTreeMap<String, String>> {
    let names = store.read::<BTreeMap<String, String>, rusqlite::Error>(|_, catalog| {
        let ids = catalog.connections.iter().map(|known| known.id.clone());
        Ok(ids.map(|id| (id.clone(), accounts::label(catalog, &id))).collect())
    });
    names.map_err(failed)
}

pub(super) fn failed(error: impl Into<anyhow::Error>) -> Error {
    Error::failed("own_store", "The store of your own data could not be read or written")
        .because(error.into())
}

/// Why the vault did not do what its owner's command asked for.
pub fn vault_failed(error: &ApiError) -> Error {
    failed(anyhow::anyhow!("{}", error.message()))
}
