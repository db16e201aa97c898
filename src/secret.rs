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
pub struct Passphrase(Zeroizing<Vec<u8>>);

impl Passphrase {
    /// Longest accepted passphrase, in bytes: it never moves in memory.
    pub const MAX: usize = 1024;

    /// One that is not typed yet.
    pub fn new() -> Self {
        Self(Zeroizing::new(Vec::with_capacity(Self::MAX)))
    }

    /// Takes a byte that was typed; one too many is left out.
    pub fn push(&mut self, byte: u8) {
        if self.0.len() < Self::MAX {
            self.0.push(byte);
        }
    }

    /// Takes back the last character.
    pub fn pop(&mut self) {
        while self.0.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
    }

    /// Takes back all of it.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// How many characters it has.
    pub fn characters(&self) -> usize {
        self.0.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
    }

    /// The passphrase itself: for the function that makes a key of it, and to compare it with another one.
    pub fn expose(&self) -> &[u8] {
        &self.0
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
        assert_eq!(typed.expose().len(), Passphrase::MAX);
    }

    #[test]
    fn only_what_a_header_can_carry() {
        for bad in ["", "a b", "a\r\nX: y", "ü"] {
            assert!(AccessToken::new(bad.to_owned()).is_err(), "{bad:?}");
        }
    }
}
