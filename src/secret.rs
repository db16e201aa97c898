//! Secrets: no `Display`, a redacting `Debug`, and one way out that you can grep for.

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};

/// A scoped access token, as sent in `Authorization: Bearer …` (RFC 6750).
#[derive(Debug, Clone)]
pub struct AccessToken(SecretString);

/// The text is not a bearer token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a bearer token: it must be 1 to 16384 visible ASCII characters without spaces")]
pub struct NotABearer;

impl AccessToken {
    /// The longest accepted token, in characters.
    pub const MAX: usize = 16 << 10;

    /// Wraps a token that a token endpoint issued.
    ///
    /// # Errors
    /// [`NotABearer`] if the token cannot be sent as a header value.
    pub fn new(token: String) -> Result<Self, NotABearer> {
        let sendable = (1..=Self::MAX).contains(&token.len()) && token.bytes().all(|b| b.is_ascii_graphic());
        let secret = SecretString::from(token);
        if sendable { Ok(Self(secret)) } else { Err(NotABearer) }
    }

    /// The token itself: only for the `Authorization` header and the secret store.
    pub fn expose_bearer(&self) -> &str {
        self.0.expose_secret()
    }
}

/// What a person types to lock or open a file. It is overwritten when it is dropped.
pub struct Passphrase {
    typed: Zeroizing<Vec<u8>>,
    /// Whether more was typed than fits, so that this is not a passphrase.
    is_too_long: bool,
}

impl Passphrase {
    /// The longest accepted passphrase, in bytes: it never moves in memory.
    pub const MAX: usize = 1024;

    /// An empty passphrase.
    pub fn new() -> Self {
        Self { typed: Zeroizing::new(Vec::with_capacity(Self::MAX)), is_too_long: false }
    }

    /// Adds a typed byte. With one byte too many it is not a passphrase until it is cleared: a passphrase that
    /// was cut would differ from the one that was typed.
    pub fn push(&mut self, byte: u8) {
        if self.typed.len() < Self::MAX {
            self.typed.push(byte);
        } else {
            self.is_too_long = true;
        }
    }

    /// Removes the last character.
    pub fn pop(&mut self) {
        while self.typed.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
    }

    /// Removes all of it.
    pub fn clear(&mut self) {
        self.typed.clear();
        self.is_too_long = false;
    }

    /// Whether it is longer than [`Passphrase::MAX`] bytes, and so not a passphrase.
    pub const fn is_too_long(&self) -> bool {
        self.is_too_long
    }

    /// The number of its characters.
    pub fn characters(&self) -> usize {
        self.typed.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
    }

    /// The passphrase itself: for the function that derives a key from it, and for comparing it with another
    /// one.
    pub fn expose(&self) -> &[u8] {
        &self.typed
    }

    /// The same in one spelling (NFC): some keyboards type an accented letter as one character, others as two.
    #[must_use]
    pub fn composed(&self) -> Self {
        self.respelled(|text, composed| {
            icu_normalizer::ComposingNormalizerBorrowed::new_nfc().normalize_to(text, composed)
        })
    }

    /// Every spelling that it may have had when it locked something, the usual one first: an earlier release
    /// used it as the keyboard typed it.
    pub fn spellings(&self) -> Vec<Self> {
        let mut all = vec![self.composed()];
        let apart = self.respelled(|text, apart| {
            icu_normalizer::DecomposingNormalizerBorrowed::new_nfd().normalize_to(text, apart)
        });
        for other in [self.respelled(|text, same| std::fmt::Write::write_str(same, text)), apart] {
            if all.iter().all(|known| known.expose() != other.expose()) {
                all.push(other);
            }
        }
        all
    }

    /// The passphrase as `write` writes it; unchanged if it is not text.
    fn respelled(&self, write: impl FnOnce(&str, &mut String) -> std::fmt::Result) -> Self {
        // No character grows to more than three times as many bytes (Unicode, UAX #15), so the text never moves
        // in memory.
        let mut text = Zeroizing::new(String::with_capacity(3 * Self::MAX));
        let written = std::str::from_utf8(&self.typed).is_ok_and(|typed| write(typed, &mut text).is_ok());
        let mut other =
            Self { is_too_long: self.is_too_long, typed: Zeroizing::new(Vec::with_capacity(3 * Self::MAX)) };
        other.typed.extend_from_slice(if written { text.as_bytes() } else { &self.typed });
        other
    }
}

impl Default for Passphrase {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&str> for Passphrase {
    fn from(text: &str) -> Self {
        let mut passphrase = Self::new();
        text.bytes().for_each(|byte| passphrase.push(byte));
        passphrase
    }
}

impl std::fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

/// Keeps the system from writing a core dump of this process, and other programs of the same user from reading
/// its memory. On Linux, its child processes are not affected; elsewhere they inherit the limit.
///
/// If the system refuses, nothing changes: that is not a reason to stop.
pub fn keep_out_of_core_dumps() {
    // A limit would not be enough on Linux: a core pattern that is a pipe (systemd-coredump) ignores it.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    #[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let maximum = getrlimit(Resource::Core).maximum;
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing() {
        let token = AccessToken::new("canary-4711".to_owned()).unwrap();
        assert!(!format!("{token:?}").contains("canary"));
        assert_eq!(token.expose_bearer(), "canary-4711");
    }

    #[test]
    fn a_passphrase_is_typed_and_taken_back_by_characters() {
        let mut typed = Passphrase::from("aé日");
        assert_eq!((typed.characters(), format!("{typed:?}").as_str()), (3, "Passphrase(…)"));
        typed.pop();
        assert_eq!(typed.expose(), "aé".as_bytes());
        typed.pop();
        typed.pop();
        typed.pop();
        assert_eq!(typed.characters(), 0);
        for _ in 0..2000 {
            typed.push(b'x');
        }
        assert!(typed.expose().len() == Passphrase::MAX && typed.is_too_long());
        typed.pop();
        assert!(typed.is_too_long(), "what was lost is not known");
        typed.clear();
        assert!(!typed.is_too_long());
    }

    #[test]
    fn a_passphrase_has_one_spelling_and_old_ones_are_known() {
        let (composed, apart) = ("Caf\u{e9} am Rhein", "Cafe\u{301} am Rhein");
        for typed in [composed, apart] {
            let typed = Passphrase::from(typed);
            assert_eq!(typed.composed().expose(), composed.as_bytes());
            let all = typed.spellings();
            let all: Vec<&[u8]> = all.iter().map(Passphrase::expose).collect();
            assert_eq!(all, [composed.as_bytes(), apart.as_bytes()]);
        }
        assert_eq!(Passphrase::from("plain words").spellings().len(), 1);
        let mut odd = Passphrase::new();
        odd.push(0xff);
        assert_eq!(odd.composed().expose(), [0xff]);
        // The longest one, for which nothing moves in memory either.
        let longest = Passphrase::from("\u{390}".repeat(512).as_str());
        assert!(longest.spellings().iter().all(|spelling| spelling.expose().len() <= 3 * Passphrase::MAX));
    }

    #[test]
    fn only_what_a_header_can_carry() {
        for bad in ["", "a b", "a\r\nX: y", "ü"] {
            assert!(AccessToken::new(bad.to_owned()).is_err(), "{bad:?}");
        }
    }
}
