//! What an owner leaves of a request, and approved.

use std::collections::BTreeSet;

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

/// What the owner left of a request.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Of each choice that is kept, by its number, the fields.
    pub kept: Vec<(usize, BTreeSet<String>)>,
    /// Choices that the date leaves out, because it cannot narrow them.
    pub undated: Vec<usize>,
    /// Records from here on only, in milliseconds, where they have a time.
    pub since: Option<i64>,
    /// Records before here only, in milliseconds, where they have a time.
    pub until: Option<i64>,
    /// When the grant ends, in milliseconds.
    pub expires_ms: Option<i64>,
}
