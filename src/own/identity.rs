//! The identity of a store: a token that was issued for one store is useless for another.

use rusqlite::OptionalExtension as _;

use crate::error::{Error, Result};
use crate::vault::store::Store;

/// The address of a store's authorization server, followed by the store's id.
const ISSUER: &str = "https://local.pdpp.invalid/stores/";

/// The random id of a store; `None` before its first grant was requested.
///
/// # Errors
/// `own_store`.
pub fn store_id(store: &Store) -> Result<Option<String>> {
    let id = store.read::<Option<String>, rusqlite::Error>(|db, _| known(db));
    id.map_err(failed)
}

/// The random id of a store, created if it does not exist yet.
///
/// # Errors
/// `own_store`, `no_randomness`.
pub fn make_store_id(store: &Store) -> Result<String> {
    if let Some(id) = store_id(store)? {
        return Ok(id);
    }
    let new = crate::hex::random::<16>().map_err(|error| {
        Error::no_randomness("The system provided no random bytes").because(error.to_string())
    })?;
    let made = store.write::<Option<String>, rusqlite::Error>(|tx, _| {
        tx.execute("INSERT OR IGNORE INTO meta (name, value) VALUES ('store_id', ?1)", [&new])?;
        known(tx)
    });
    Ok(made.map_err(failed)?.unwrap_or(new))
}

/// The issuer of the tokens of the store with this id. It is kept with each token, so that the token
/// works for that store only.
pub fn issuer(store_id: &str) -> String {
    format!("{ISSUER}{store_id}")
}

fn known(db: &rusqlite::Connection) -> rusqlite::Result<Option<String>> {
    db.query_row("SELECT value FROM meta WHERE name = 'store_id'", [], |row| row.get(0)).optional()
}

fn failed(error: rusqlite::Error) -> Error {
    Error::failed("own_store", "The store of your own data could not be read").because(error)
}
