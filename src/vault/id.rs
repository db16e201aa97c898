//! Random identifiers and tokens, and the hashes that tokens are stored as.

/// A random identifier: `prefix` and 128 bits in hexadecimal.
///
/// # Errors
/// Returns an error if the system supplies no random numbers.
pub fn random_id(prefix: &str) -> Result<String, getrandom::Error> {
    Ok(prefix.to_owned() + &crate::hex::random::<16>()?)
}

/// A random secret: `prefix` and 256 bits in hexadecimal. The prefix is for people and secret scanners; no server
/// reads it.
///
/// # Errors
/// Returns an error if the system supplies no random numbers.
pub fn random_token(prefix: &str) -> Result<String, getrandom::Error> {
    Ok(prefix.to_owned() + &crate::hex::random::<32>()?)
}

/// The hash that a token is stored as.
pub fn token_hash(token: &str) -> String {
    crate::hex::sha256(token.as_bytes())
}
