//! Secrets in the user's keyring: the Secret Service, the macOS keychain, the Windows credential manager.
//!
//! None of their libraries bounds a call: a bus that accepts and never answers, or a dialog that nobody
//! sees, would hold the caller for ever. So one thread of this process speaks with the keyring, and a
//! caller waits [`BOUND`] for it. One thread, so that a locked keyring shows one dialog and not one a call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use keyring_core::{CredentialStore, Entry, Error as KeyringError};
use secrecy::{ExposeSecret, SecretString, zeroize::Zeroize};

use super::{BOUND, SecretPlace, SecretStore, StoreError};
use crate::hex;

/// What this program's entries are filed under.
const SERVICE: &str = "pdpp";

/// UTF-16 units an entry: Windows allows 2,560 bytes.
const MOST_UNITS: usize = 1_190;

/// The keyring of the user's session. Costs nothing until it is used.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeyringStore;

impl KeyringStore {
    /// Whether the keyring takes and gives back an entry now.
    ///
    /// # Errors
    /// Why not.
    pub fn probe() -> Result<(), StoreError> {
        // A name of its own: another process may probe at the same time, and what it deletes would fail this.
        let name = format!(
            "probe-{}",
            hex::random::<8>().map_err(|error| std::io::Error::other(error.to_string()))?
        );
        ask(move |store| {
            let entry = entry(store, &name)?;
            entry.set_password("probe")?;
            absent_is_fine(entry.delete_credential())
        })
    }

    /// Whether the keyring has answered a question of this process's: another one costs no waiting.
    pub fn has_answered() -> bool {
        ANSWERED.load(Ordering::Relaxed)
    }
}

static ANSWERED: AtomicBool = AtomicBool::new(false);

impl SecretStore for KeyringStore {
    fn parts(&self, secret: &SecretString) -> u16 {
        u16::try_from(split(secret.expose_secret()).len()).unwrap_or(u16::MAX)
    }

    fn get(&self, place: &SecretPlace) -> Result<Option<SecretString>, StoreError> {
        let names = names(place);
        ask(move |store| {
            let mut text = String::new();
            for name in &names {
                match entry(store, name)?.get_password() {
                    Ok(mut part) => {
                        text.push_str(&part);
                        part.zeroize();
                    }
                    Err(KeyringError::NoEntry) => {
                        text.zeroize();
                        return Ok(None);
                    }
                    Err(error) => {
                        text.zeroize();
                        return Err(error);
                    }
                }
            }
            Ok(Some(SecretString::from(text)))
        })
    }

    fn put(&self, place: &SecretPlace, secret: &SecretString) -> Result<(), StoreError> {
        let names = names(place);
        let secret = secret.clone();
        ask(move |store| {
            for (name, part) in names.iter().zip(split(secret.expose_secret())) {
                entry(store, name)?.set_password(part)?;
            }
            Ok(())
        })
    }

    fn delete(&self, place: &SecretPlace) -> Result<(), StoreError> {
        let names = names(place);
        ask(move |store| {
            names.iter().try_for_each(|name| absent_is_fine(entry(store, name)?.delete_credential()))
        })
    }
}

/// The names of a secret's entries, in order.
fn names(place: &SecretPlace) -> Vec<String> {
    let id = place.id.as_str();
    (0..place.parts.max(1)).map(|n| if n == 0 { id.to_owned() } else { format!("{id}-{n}") }).collect()
}

/// `text` in pieces that every keyring takes; at least one.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut units) = (0, 0);
    for (at, c) in text.char_indices() {
        if units + c.len_utf16() > MOST_UNITS {
            parts.push(&text[start..at]);
            (start, units) = (at, 0);
        }
        units += c.len_utf16();
    }
    parts.push(&text[start..]);
    parts
}

fn absent_is_fine(deleted: keyring_core::Result<()>) -> keyring_core::Result<()> {
    match deleted {
        Err(KeyringError::NoEntry) => Ok(()),
        other => other,
    }
}

type Job = Box<dyn FnOnce(&mut Option<Arc<CredentialStore>>) + Send>;

/// The way to the thread that speaks with the keyring; started with the first question.
static WORKER: Mutex<Option<mpsc::Sender<Job>>> = Mutex::new(None);

/// Asks the keyring, for at most [`BOUND`]. A question whose asker has left before its turn is dropped.
fn ask<T: Send + 'static>(
    question: impl Fn(&Arc<CredentialStore>) -> keyring_core::Result<T> + Send + 'static,
) -> Result<T, StoreError> {
    let (answer, answered) = mpsc::sync_channel(1);
    let left = Arc::new(AtomicBool::new(false));
    let asker_left = Arc::clone(&left);
    let job: Job = Box::new(move |store| {
        if asker_left.load(Ordering::Acquire) {
            return;
        }
        let was_connected = store.is_some();
        let mut found = connected(store).and_then(|store| question(&store));
        if let Err(KeyringError::PlatformFailure(_)) = found {
            // The connection may be what failed: a keyring was restarted.
            *store = None;
            if was_connected {
                found = connected(store).and_then(|store| question(&store));
            }
        }
        ANSWERED.store(found.is_ok(), Ordering::Relaxed);
        let _ = answer.send(found.map_err(|error| explain(&error)));
    });
    send(job)?;
    match answered.recv_timeout(BOUND) {
        Ok(found) => found,
        Err(mpsc::RecvTimeoutError::Timeout) => {
            left.store(true, Ordering::Release);
            ANSWERED.store(false, Ordering::Relaxed);
            Err(StoreError::KeyringSilent)
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            Err(StoreError::KeyringAbsent("its library failed".to_owned()))
        }
    }
}

fn send(mut job: Job) -> Result<(), StoreError> {
    let mut worker = WORKER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(jobs) = worker.as_ref() {
        match jobs.send(job) {
            Ok(()) => return Ok(()),
            // A panic in a library ended the thread; another one is started.
            Err(mpsc::SendError(back)) => job = back,
        }
    }
    let (jobs, queue) = mpsc::channel::<Job>();
    std::thread::Builder::new().name("keyring".to_owned()).spawn(move || {
        let mut store = None;
        while let Ok(job) = queue.recv() {
            job(&mut store);
        }
    })?;
    let _ = jobs.send(job);
    *worker = Some(jobs);
    Ok(())
}

fn connected(store: &mut Option<Arc<CredentialStore>>) -> keyring_core::Result<Arc<CredentialStore>> {
    if let Some(store) = store {
        return Ok(Arc::clone(store));
    }
    Ok(Arc::clone(store.insert(open()?)))
}

#[cfg(all(unix, not(any(target_os = "macos", target_os = "ios", target_os = "android"))))]
fn open() -> keyring_core::Result<Arc<CredentialStore>> {
    // Without D-Bus variables, as some hosts start a server, the library looks at /run/user/<uid>/bus.
    super::secret_service::Store::new().map(|store| store as _)
}

#[cfg(target_os = "macos")]
fn open() -> keyring_core::Result<Arc<CredentialStore>> {
    apple_native_keyring_store::keychain::Store::new().map(|store| store as _)
}

#[cfg(windows)]
fn open() -> keyring_core::Result<Arc<CredentialStore>> {
    windows_native_keyring_store::Store::new().map(|store| store as _)
}

#[cfg(any(target_os = "ios", target_os = "android", not(any(unix, windows))))]
fn open() -> keyring_core::Result<Arc<CredentialStore>> {
    Err(KeyringError::NotSupportedByStore("this system's keyring is not supported".to_owned()))
}

fn entry(store: &Arc<CredentialStore>, name: &str) -> keyring_core::Result<Entry> {
    // What a person sees who looks into the keyring; the other systems show service and name.
    #[cfg(all(unix, not(target_os = "macos")))]
    let modifiers = Some(std::collections::HashMap::from([("label", "pdpp: a provider's token")]));
    #[cfg(not(all(unix, not(target_os = "macos"))))]
    let modifiers = None;
    store.build(SERVICE, name, modifiers.as_ref())
}

/// What a person is told of an absent keyring; what the library says of the bus is for the log.
fn plain(why: &str) -> String {
    tracing::info!(why, "the keyring cannot be used");
    let said = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if cfg!(any(target_os = "macos", windows)) {
        why.to_owned()
    } else if said(&["ServiceUnknown", "not provided by any .service", "NameHasNoOwner"]) {
        "no program offers the Secret Service in this session".to_owned()
    } else if said(&["I/O error", "os error", "Address", "address"]) {
        "this session has no D-Bus".to_owned()
    } else {
        why.to_owned()
    }
}

fn explain(error: &KeyringError) -> StoreError {
    match error {
        KeyringError::NoStorageAccess(why) => StoreError::KeyringLocked(why.to_string()),
        KeyringError::PlatformFailure(why) => StoreError::KeyringAbsent(plain(&why.to_string())),
        KeyringError::BadEncoding(_) | KeyringError::BadDataFormat(..) => StoreError::NotText,
        // Its own text may hold the entries themselves; this one is known.
        KeyringError::Ambiguous(_) => StoreError::KeyringTwice,
        other => StoreError::KeyringAbsent(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::credential::CredentialId;
    use crate::cache::store::StoreKind;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_are_short_and_make_the_whole(text in ".{0,40}", times in 0usize..200) {
            let text = text.repeat(times);
            let parts = split(&text);
            prop_assert_eq!(parts.concat(), text.as_str());
            prop_assert!(parts.iter().all(|part| part.encode_utf16().count() < 1_200));
            prop_assert!(parts.len() == 1 || parts.iter().all(|part| !part.is_empty()));
        }
    }

    #[test]
    fn each_part_has_a_name_of_its_own() {
        let id = CredentialId::random().unwrap();
        let place = SecretPlace { id: id.clone(), store: StoreKind::Keyring, parts: 3 };
        let id = id.as_str();
        assert_eq!(names(&place), [id.to_owned(), format!("{id}-1"), format!("{id}-2")]);
    }

    #[test]
    fn failures_are_told_apart() {
        let why = || Box::<dyn std::error::Error + Send + Sync>::from("why");
        let code = |error: KeyringError| explain(&error).code();
        assert_eq!(code(KeyringError::NoStorageAccess(why())), "keyring_locked");
        assert_eq!(code(KeyringError::PlatformFailure(why())), "keyring_absent");
        assert_eq!(code(KeyringError::Ambiguous(Vec::new())), "secret_damaged");
        assert_eq!(code(KeyringError::BadEncoding(b"canary".to_vec())), "secret_store_failed");
    }
}
