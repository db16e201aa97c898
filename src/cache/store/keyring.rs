//! Secrets in the user's keyring: the Secret Service, the macOS keychain, or the Windows credential manager.
//!
//! None of their libraries limits the time of a call: a bus that accepts and never answers, or a dialog that
//! nobody sees, would block the caller for ever. So one thread of this process speaks to the keyring, and a
//! caller waits [`bound`] for it. It is a single thread, so that a locked keyring shows one dialog, and not one
//! per call.
//!
//! The `keyring` crate chooses the platform's store, opens it once in a process, and keeps the result. If the
//! Secret Service starts later, every call of that process fails permanently (`NoDefaultStore`). If it is
//! restarted, so does every later call ("The session does not exist"). A server lives longer than that, so
//! `open` opens the store again, with the crates that `keyring` itself is built on. They also accept a label
//! for an entry, which `keyring` does not.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use keyring::Error as KeyringError;
use keyring_core::Entry;
use secrecy::{ExposeSecret, SecretString, zeroize::Zeroize};

use super::{SecretPlace, SecretStore, StoreError, bound};
use crate::hex;

/// The name under which this program's entries are filed.
const SERVICE: &str = "pdpp";

/// The most UTF-16 units in an entry: Windows allows 2,560 bytes.
const MOST_UNITS: usize = 1_190;

/// The keyring of the user's session. Creating one costs nothing; only using it does.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeyringStore;

impl KeyringStore {
    /// Checks that the keyring accepts and returns an entry now.
    ///
    /// # Errors
    /// The reason why it does not.
    pub fn probe() -> Result<(), StoreError> {
        // A separate name: another process may probe at the same time, and deleting its entry would make this
        // probe fail.
        let name = format!(
            "probe-{}",
            hex::random::<8>().map_err(|error| std::io::Error::other(error.to_string()))?
        );
        ask(move || {
            if !lasts() {
                let why = "its default keyring is kept in memory, and is lost when the session ends";
                return Err(KeyringError::PlatformFailure(why.into()));
            }
            let entry = entry(&name)?;
            entry.set_password("probe")?;
            absent_is_fine(entry.delete_credential())
        })
    }

    /// Whether the keyring has already answered this process: another question then costs no waiting.
    pub fn has_answered() -> bool {
        ANSWERED.load(Ordering::Relaxed)
    }
}

/// Whether the contents of the default collection survive the session. The Secret Service has a collection that
/// does not, and it may be the default if nobody has made another. Asked once in a process.
#[cfg(all(unix, not(any(target_os = "macos", target_os = "ios", target_os = "android"))))]
fn lasts() -> bool {
    use secret_service::{EncryptionType, blocking::SecretService};
    static LASTS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *LASTS.get_or_init(|| {
        let service = SecretService::connect(EncryptionType::Plain);
        let collection = service.as_ref().map(SecretService::get_default_collection);
        let Ok(Ok(collection)) = collection else { return true };
        !collection.collection_path.as_str().ends_with("/collection/session")
    })
}

/// The other systems have no such collection.
#[cfg(not(all(unix, not(any(target_os = "macos", target_os = "ios", target_os = "android")))))]
const fn lasts() -> bool {
    true
}

static ANSWERED: AtomicBool = AtomicBool::new(false);

impl SecretStore for KeyringStore {
    fn parts(&self, secret: &SecretString) -> u16 {
        u16::try_from(split(secret.expose_secret()).len()).unwrap_or(u16::MAX)
    }

    fn get(&self, place: &SecretPlace) -> Result<Option<SecretString>, StoreError> {
        let names = names(place);
        ask(move || {
            let mut text = String::new();
            for name in &names {
                match read(name) {
                    Ok(part) => text.push_str(part.expose_secret()),
                    Err(error) => {
                        text.zeroize();
                        return if matches!(error, KeyringError::NoEntry) { Ok(None) } else { Err(error) };
                    }
                }
            }
            Ok(Some(SecretString::from(text)))
        })
    }

    fn put(&self, place: &SecretPlace, secret: &SecretString) -> Result<(), StoreError> {
        let names = names(place);
        let secret = secret.clone();
        ask(move || {
            let parts = split(secret.expose_secret());
            names
                .iter()
                .zip(parts)
                .try_for_each(|(name, part)| each(name, |entry| entry.set_password(part)).map(drop))
        })
    }

    fn delete(&self, place: &SecretPlace) -> Result<(), StoreError> {
        let names = names(place);
        ask(move || {
            let delete = |entry: &Entry| absent_is_fine(entry.delete_credential());
            names.iter().try_for_each(|name| each(name, delete).map(drop))
        })
    }
}

/// The names of a secret's entries, in order.
fn names(place: &SecretPlace) -> Vec<String> {
    let id = place.id.as_str();
    (0..place.parts.max(1)).map(|n| if n == 0 { id.to_owned() } else { format!("{id}-{n}") }).collect()
}

/// `text` in pieces that every keyring accepts; at least one.
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

fn absent_is_fine(deleted: keyring::Result<()>) -> keyring::Result<()> {
    match deleted {
        Err(KeyringError::NoEntry) => Ok(()),
        other => other,
    }
}

/// The entry of `name`, existing or not, with the label that a person sees in the keyring.
fn entry(name: &str) -> keyring::Result<Entry> {
    #[cfg(all(unix, not(any(target_os = "macos", target_os = "ios", target_os = "android"))))]
    let modifiers = HashMap::from([("label", "pdpp: a provider's token")]);
    // The other systems show service and name. Unless told to keep an entry here, Windows copies it to every
    // machine of a domain.
    #[cfg(windows)]
    let modifiers = HashMap::from([("persistence", "Local")]);
    #[cfg(not(any(
        windows,
        all(unix, not(any(target_os = "macos", target_os = "ios", target_os = "android")))
    )))]
    let modifiers = HashMap::new();
    Entry::new_with_modifiers(SERVICE, name, &modifiers)
}

/// Asks every entry of `name`, because other programs can make a second one.
fn each<T>(name: &str, question: impl Fn(&Entry) -> keyring::Result<T>) -> keyring::Result<Vec<T>> {
    match question(&entry(name)?) {
        Err(KeyringError::Ambiguous(entries)) => entries.iter().map(question).collect(),
        answer => answer.map(|answer| vec![answer]),
    }
}

/// The content that every entry of `name` holds.
fn read(name: &str) -> keyring::Result<SecretString> {
    let mut found = each(name, |entry| entry.get_password().map(SecretString::from))?;
    let first = found.swap_remove(0);
    if found.iter().all(|other| other.expose_secret() == first.expose_secret()) {
        Ok(first)
    } else {
        Err(KeyringError::Ambiguous(Vec::new()))
    }
}

/// A question for the thread that speaks to the keyring. That thread tracks whether the store is open.
type Job = Box<dyn FnOnce(&mut bool) + Send>;

/// The channel to that thread, which the first question starts.
static WORKER: Mutex<Option<mpsc::Sender<Job>>> = Mutex::new(None);

/// Asks the keyring, for at most [`bound`]. A question whose asker has left before its turn is dropped.
fn ask<T: Send + 'static>(
    question: impl Fn() -> keyring::Result<T> + Send + 'static,
) -> Result<T, StoreError> {
    let (answer, answered) = mpsc::sync_channel(1);
    let left = Arc::new(AtomicBool::new(false));
    let asker_left = Arc::clone(&left);
    let job: Job = Box::new(move |is_open| {
        if asker_left.load(Ordering::Acquire) {
            return;
        }
        let asked = |is_open: &mut bool| {
            if !*is_open {
                open()?;
                *is_open = true;
            }
            question().map_err(|error| explain(&error))
        };
        let was_open = *is_open;
        let mut found = asked(is_open);
        if let Err(StoreError::KeyringAbsent(_)) = found {
            // The connection may be what failed: the keyring may have been restarted.
            *is_open = false;
            if was_open {
                found = asked(is_open);
            }
        }
        ANSWERED.store(found.is_ok(), Ordering::Relaxed);
        let _ = answer.send(found);
    });
    send(job)?;
    match answered.recv_timeout(bound()) {
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
        let mut is_open = false;
        while let Ok(job) = queue.recv() {
            job(&mut is_open);
        }
    })?;
    let _ = jobs.send(job);
    *worker = Some(jobs);
    Ok(())
}

/// Opens the platform's store, which [`entry`] then uses.
fn open() -> Result<(), StoreError> {
    // The other systems' stores hold no connection that could be lost.
    #[cfg(all(unix, not(any(target_os = "macos", target_os = "ios", target_os = "android"))))]
    {
        static WAS_OPENED: AtomicBool = AtomicBool::new(false);
        if WAS_OPENED.swap(true, Ordering::Relaxed) {
            let store = zbus_secret_service_keyring_store::Store::new().map_err(|error| explain(&error))?;
            keyring_core::set_default_store(store);
            return Ok(());
        }
    }
    keyring::Entry::store_status().as_ref().copied().map_err(explain)
}

/// The reason for a person why there is no keyring; what the library reports about the bus goes to the log.
fn plain(why: &str) -> String {
    tracing::info!(why, "the keyring cannot be used");
    let mentions = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if cfg!(any(target_os = "macos", windows)) {
        why.to_owned()
    } else if mentions(&["ServiceUnknown", "not provided by any .service", "NameHasNoOwner"]) {
        "no program offers the Secret Service in this session".to_owned()
    } else if mentions(&["I/O error", "os error", "Address", "address", "dbus session"]) {
        "this session has no D-Bus".to_owned()
    } else {
        why.to_owned()
    }
}

/// Whether macOS itself refused access: its dialog was dismissed or answered wrongly, or the keychain is locked
/// and no dialog can be shown (over SSH). The store reports these together with errors about a missing
/// keychain.
#[cfg(target_os = "macos")]
fn is_refusal(why: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    // errSecUserCanceled, errSecAuthFailed, errSecInteractionNotAllowed, errSecInteractionRequired (Security/SecBase.h).
    const REFUSALS: [i32; 4] = [-128, -25_293, -25_308, -25_315];
    let error = why.downcast_ref::<security_framework::base::Error>();
    error.is_some_and(|error| REFUSALS.contains(&error.code()))
}

#[cfg(not(target_os = "macos"))]
fn is_refusal(_why: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    false
}

fn explain(error: &KeyringError) -> StoreError {
    match error {
        // Only the default keyring is looked up by a name: an account that never had one has none to unlock.
        KeyringError::NoStorageAccess(why) if why.to_string().contains("result not returned") => {
            StoreError::KeyringAbsent("it has no default keyring yet".to_owned())
        }
        // Windows reports this if nobody has logged on with a password: to a service, or over the network.
        KeyringError::NoStorageAccess(_) if cfg!(windows) => {
            StoreError::KeyringAbsent("this session has no Credential Manager".to_owned())
        }
        KeyringError::NoStorageAccess(why) => StoreError::KeyringLocked(why.to_string()),
        KeyringError::PlatformFailure(why) if is_refusal(why.as_ref()) => {
            StoreError::KeyringLocked(why.to_string())
        }
        KeyringError::PlatformFailure(why) => StoreError::KeyringAbsent(plain(&why.to_string())),
        KeyringError::BadEncoding(_) | KeyringError::BadDataFormat(..) => StoreError::NotText,
        // The library's own text may hold the entries themselves; ours does not.
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
        let no_access = if cfg!(windows) { "keyring_absent" } else { "keyring_locked" };
        assert_eq!(code(KeyringError::NoStorageAccess(why())), no_access);
        assert_eq!(code(KeyringError::PlatformFailure(why())), "keyring_absent");
        assert_eq!(code(KeyringError::Ambiguous(Vec::new())), "secret_damaged");
        assert_eq!(code(KeyringError::BadEncoding(b"canary".to_vec())), "secret_store_failed");
    }

    #[cfg(target_os = "macos")]
    #[test]
    fn a_keychain_that_lets_nobody_in_is_told_from_none() {
        let code = |status| {
            let why = security_framework::base::Error::from_code(status);
            explain(&KeyringError::PlatformFailure(Box::new(why))).code()
        };
        for status in [-128, -25_293, -25_308, -25_315] {
            assert_eq!(code(status), "keyring_locked", "{status}");
        }
        // Apart from errSecNotAvailable, which the store itself calls a refusal: errSecParam.
        assert_eq!(code(-50), "keyring_absent");
    }
}
