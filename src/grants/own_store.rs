//! What all operations on grants of the person's own store have in common.

use crate::advice::{Command, Hint};
use crate::cache::credential::Credential;
use crate::cache::select::disconnect_command;
use crate::error::{Error, Kind, Result};
use crate::own;
use crate::provider::url::ProviderUrl;
use crate::vault::Vault;
use crate::vault::oauth::approval::Approved;
use crate::vault::wire::ApiError;

/// The person's own store, as a provider.
pub fn local() -> Result<ProviderUrl> {
    "local".parse().map_err(|error| {
        Error::failed("own_store", "The store of your own data has no address").because(error)
    })
}

/// Ends the grant of `credential` in its store.
///
/// # Errors
/// The errors of the store; `own_store_other` if another store is there now.
pub fn end(credential: &Credential) -> Result<()> {
    let dir = credential.data_dir.clone().unwrap_or_default();
    let vault = own::open(&dir)?;
    let store_id = own::store_id(vault.store()).map_err(|error| own::told(&dir, error))?;
    if store_id.map(|id| own::issuer(&id)).as_ref() != Some(&credential.issuer) {
        let message = format!("The store in {} is not the store that the grant belongs to", dir.display());
        let hint = Hint::new("To remove its token from this computer: ").run(disconnect_command(credential));
        return Err(Error::new(Kind::Refused, "own_store_other", message).hint(hint));
    }
    let ended = vault.end_grants(std::iter::once(credential.grant_id.as_str()));
    ended.map_err(|error| own::told(&dir, refused(&error)))
}

/// The error for a request from this process that the vault refused.
pub fn refused(error: &ApiError) -> Error {
    if error.status.is_client_error() {
        let hint = "Use a name that exists, or leave it out and pick";
        return Error::new(Kind::Usage, "narrowing_invalid", error.message().to_owned()).hint(hint);
    }
    own::state::vault_failed(error)
}

/// What was approved, if anything.
pub type Answer = Result<Option<Vec<Approved>>>;

/// Checks that a vault has an account to grant.
///
/// # Errors
/// `own_empty` (78), and the errors of the store.
pub fn check_not_empty(vault: &Vault) -> Result<()> {
    let count = vault.store().read::<_, rusqlite::Error>(|_, catalog| Ok(catalog.connections.len()));
    if count.map_err(|error| refused(&error.into()))? > 0 {
        return Ok(());
    }
    let message = "The store of your own data is empty: there is nothing to grant";
    Err(Error::new(Kind::NotConnected, "own_empty", message).run(Command::new("import <export>")))
}
