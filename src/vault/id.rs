//! How things are called: random identifiers, and the URIs of sources.

/// A random identifier: `prefix` and 128 bits in hexadecimal.
///
/// # Errors
/// If the system has no randomness to give.
pub fn random_id(prefix: &str) -> Result<String, getrandom::Error> {
    Ok(prefix.to_owned() + &crate::hex::random::<16>()?)
}

/// The URI that names the connector `key` in a grant.
pub fn source_uri(key: &str) -> String {
    format!("https://sandbox.pdpp.example/connectors/{key}")
}
