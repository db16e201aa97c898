//! Secrets: no `Display`, a redacting `Debug`, and one greppable way out.

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};

/// A scoped access token, as it goes into `Authorization: Bearer …` (RFC 6750).
#[derive(Debug, Clone)]
pub struct AccessToken(SecretString);

/// The text is not a bearer token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a bearer token: it must be 1 to 16384 visible ASCII characters without spaces")]
pub struct NotABearer;

impl AccessToken {
    /// Longest accepted token, in characters.
    pub const MAX: usize = 16 << 10;

    /// Takes a token that a token endpoint issued.
    ///
    /// # Errors
    /// [`NotABearer`] if it could not be sent as a header value.
    pub fn new(token: String) -> Result<Self, NotABearer> {
        let sendable = (1..=Self::MAX).contains(&token.len()) && token.bytes().all(|b| b.is_ascii_graphic());
        let secret = SecretString::from(token);
        if sendable { Ok(Self(secret)) } else { Err(NotABearer) }
    }

    /// The token itself: for the `Authorization` header and the secret store, nothing else.
    pub fn expose_bearer(&self) -> &str {
        self.0.expose_secret()
    }
}

/// What a person types to lock a file of theirs, or to open it. It is overwritten when it is dropped.
pub struct Passphrase {
    typed: Zeroizing<Vec<u8>>,
    /// It is none, since it went on behind this.
    is_too_long: bool,
}

impl Passphrase {
    /// Longest accepted passphrase, in bytes: it never moves in memory.
    pub const MAX: usize = 1024;

    /// One that is not typed yet.
    pub fn new() -> Self {
        Self { typed: Zeroizing::new(Vec::with_capacity(Self::MAX)), is_too_long: false }
    }

    /// Takes a byte that was typed. With one too many it is no passphrase until it is begun anew: one that was cut would be
    /// another than was typed.
    pub fn push(&mut self, byte: u8) {
        if self.typed.len() < Self::MAX {
            self.typed.push(byte);
        } else {
            self.is_too_long = true;
        }
    }

    /// Takes back the last character.
    pub fn pop(&mut self) {
        while self.typed.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
    }

    /// Takes back all of it.
    pub fn clear(&mut self) {
        self.typed.clear();
        self.is_too_long = false;
    }

    /// Whether it is longer than [`Passphrase::MAX`] bytes, and so is none.
    pub const fn is_too_long(&self) -> bool {
        self.is_too_long
    }

    /// How many characters it has.
    pub fn characters(&self) -> usize {
        self.typed.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
    }

    /// The passphrase itself: for the function that makes a key of it, and to compare it with another one.
    pub fn expose(&self) -> &[u8] {
        &self.typed
    }

    /// The same in one spelling: an accent is typed in one character on one keyboard, in two on another (NFC).
    #[must_use]
    pub fn composed(&self) -> Self {
        self.respelled(|text, composed| {
            icu_normalizer::ComposingNormalizerBorrowed::new_nfc().normalize_to(text, composed)
        })
    }

    /// Every spelling that it may have had when something was locked with it, the usual one first: an earlier release took it as
    /// the keyboard wrote it.
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

    /// It, as `write` writes it; as it was typed where it is not text.
    fn respelled(&self, write: impl FnOnce(&str, &mut String) -> std::fmt::Result) -> Self {
        // No character becomes more than three times as many bytes (Unicode, UAX #15), so that it never moves in memory.
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

/// Lets the system write no core dump of this process, nor another program of the same user read its
/// memory. What it starts is as free as before on Linux; elsewhere it inherits the limit.
///
/// A system that refuses leaves things as they are: no reason not to start.
pub fn keep_out_of_core_dumps() {
    // A limit would not do on Linux: a core pattern that is a pipe (systemd-coredump) ignores it.
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
        // The longest of all, for which nothing moves in memory either.
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
