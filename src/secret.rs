//! Secrets: no `Display`, a redacting `Debug`, and one greppable way out.

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
    fn only_what_a_header_can_carry() {
        for bad in ["", "a b", "a\r\nX: y", "ü"] {
            assert!(AccessToken::new(bad.to_owned()).is_err(), "{bad:?}");
        }
    }
}
