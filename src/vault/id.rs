//! Random identifiers and tokens, and how a token is known.

/// A random identifier: `prefix` and 128 bits in hexadecimal.
///
/// # Errors
/// If the system has no randomness to give.
pub fn random_id(prefix: &str) -> Result<String, getrandom::Error> {
    Ok(prefix.to_owned() + &crate::hex::random::<16>()?)
}

/// A random secret: `prefix` and 256 bits in hexadecimal. The prefix is for people and secret scanners; no server
/// reads it.
///
/// # Errors
/// If the system has no randomness to give.
pub fn random_token(prefix: &str) -> Result<String, getrandom::Error> {
    Ok(prefix.to_owned() + &crate::hex::random::<32>()?)
}

/// The hash under which a token is known.
pub fn token_hash(token: &str) -> String {
    crate::hex::sha256(token.as_bytes())
}
