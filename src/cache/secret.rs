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
