//! The Secret Service of a Linux session as a store of `keyring_core`, which the other systems' libraries are as well.
//!
//! `zbus-secret-service-keyring-store` is one too, and keeps entries in the same way; it brings zbus with an
//! asynchronous runtime of its own beside tokio, 0.4 MB of the program.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyring_core::api::{Credential, CredentialApi, CredentialStoreApi};
use keyring_core::{Entry, Error, Result};
use secrecy::zeroize::Zeroize as _;
use secret_service::{EncryptionType, Error as ServiceError, Item, SearchItemsResult, SecretService};
use tokio::runtime::Runtime;

/// Boxed, so that the library's large futures are in the program once.
type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

const CONTENT_TYPE: &str = "application/octet-stream";

/// A connection to the session's Secret Service. For threads that drive no runtime themselves.
pub(super) struct Store(Arc<Mutex<Connection>>);

struct Connection {
    runtime: Runtime,
    service: SecretService<'static>,
}

impl Store {
    /// Connects and agrees on a key that secrets travel under: other programs may listen to a bus.
    ///
    /// # Errors
    /// [`Error::PlatformFailure`] where there is no bus or no Secret Service.
    pub(super) fn new() -> Result<Arc<Self>> {
        let runtime =
            crate::runtime::of_this_thread().map_err(|error| Error::PlatformFailure(error.into()))?;
        let service = runtime.block_on(SecretService::connect(EncryptionType::Dh)).map_err(platform)?;
        Ok(Arc::new(Self(Arc::new(Mutex::new(Connection { runtime, service })))))
    }
}

impl CredentialStoreApi for Store {
    fn vendor(&self) -> String {
        "Secret Service".to_owned()
    }

    fn id(&self) -> String {
        self.vendor()
    }

    fn build(&self, service: &str, user: &str, modifiers: Option<&HashMap<&str, &str>>) -> Result<Entry> {
        Ok(Entry::new_with_credential(Arc::new(Place {
            connection: Arc::clone(&self.0),
            label: modifiers.and_then(|given| given.get("label")).map_or(user, |label| label).to_owned(),
            service: service.to_owned(),
            user: user.to_owned(),
        })))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn debug_fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret Service")
    }
}

/// One entry, there or not.
struct Place {
    connection: Arc<Mutex<Connection>>,
    label: String,
    service: String,
    user: String,
}

impl Place {
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The items of this name, unlocked: the user may be asked for that. Other programs can make a second one.
    fn items<'s>(&'s self, service: &'s SecretService<'static>) -> Pending<'s, Vec<Item<'s>>> {
        Box::pin(async {
            let SearchItemsResult { mut unlocked, locked } =
                service.search_items(self.attributes()).await.map_err(explained)?;
            if !locked.is_empty() {
                service.unlock_all(&locked.iter().collect::<Vec<_>>()).await.map_err(explained)?;
                unlocked.extend(locked);
            }
            Ok(unlocked)
        })
    }

    fn attributes(&self) -> HashMap<&str, &str> {
        HashMap::from([("service", self.service.as_str()), ("username", self.user.as_str())])
    }
}

impl CredentialApi for Place {
    fn set_secret(&self, secret: &[u8]) -> Result<()> {
        let Connection { runtime, service } = &*self.connection();
        let set: Pending<'_, ()> = Box::pin(async {
            let items = self.items(service).await?;
            for item in &items {
                item.set_secret(secret, CONTENT_TYPE).await.map_err(explained)?;
            }
            if !items.is_empty() {
                return Ok(());
            }
            let collection = service.get_default_collection().await.map_err(explained)?;
            // Nobody is asked where it is open.
            collection.unlock().await.map_err(explained)?;
            let replace = true;
            let made =
                collection.create_item(&self.label, self.attributes(), secret, replace, CONTENT_TYPE).await;
            made.map(drop).map_err(explained)
        });
        runtime.block_on(set)
    }

    fn get_secret(&self) -> Result<Vec<u8>> {
        let Connection { runtime, service } = &*self.connection();
        let get: Pending<'_, Vec<u8>> = Box::pin(async {
            let mut found: Option<Vec<u8>> = None;
            for item in self.items(service).await? {
                let mut secret = item.get_secret().await.map_err(explained)?;
                match &mut found {
                    None => found = Some(secret),
                    Some(known) => {
                        let is_same = *known == secret;
                        secret.zeroize();
                        if !is_same {
                            known.zeroize();
                            return Err(Error::Ambiguous(Vec::new()));
                        }
                    }
                }
            }
            found.ok_or(Error::NoEntry)
        });
        runtime.block_on(get)
    }

    fn delete_credential(&self) -> Result<()> {
        let Connection { runtime, service } = &*self.connection();
        let delete: Pending<'_, ()> = Box::pin(async {
            let items = self.items(service).await?;
            for item in &items {
                item.delete().await.map_err(explained)?;
            }
            if items.is_empty() { Err(Error::NoEntry) } else { Ok(()) }
        });
        runtime.block_on(delete)
    }

    fn get_credential(&self) -> Result<Option<Arc<Credential>>> {
        Ok(None)
    }

    fn get_specifiers(&self) -> Option<(String, String)> {
        Some((self.service.clone(), self.user.clone()))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn debug_fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.user, self.service)
    }
}

/// A keyring that is there and does not open is told apart from one that fails.
fn explained(error: ServiceError) -> Error {
    match error {
        ServiceError::Locked | ServiceError::Prompt => Error::NoStorageAccess(error.into()),
        // Only the default collection is asked for by a name: an account that never had a keyring has none to unlock.
        ServiceError::NoResult => Error::PlatformFailure("it has no default keyring yet".into()),
        other => platform(other),
    }
}

fn platform(error: ServiceError) -> Error {
    Error::PlatformFailure(error.into())
}
