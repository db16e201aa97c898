//! What an owner approved.

use crate::vault::grant::Grant;

/// A grant and its token.
#[derive(Debug, Clone)]
pub struct Approved {
    /// The grant.
    pub grant: Grant,
    /// The token, kept for the program that waits; the database has its hash only.
    pub token: String,
}

/// What an owner approved at once: one grant, or a package of several.
#[derive(Debug, Clone)]
pub struct Granted {
    /// Whose.
    pub client_id: String,
    /// At least one.
    pub grants: Vec<Grant>,
    /// For more than one: what holds them together.
    pub package_id: Option<String>,
}
