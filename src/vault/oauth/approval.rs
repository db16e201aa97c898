//! What an owner kept of a request and approved.

use std::collections::BTreeSet;

use super::authorization_details::Choice;
use crate::vault::grant::Grant;

/// A grant and its token.
#[derive(Debug, Clone)]
pub struct Approved {
    /// The grant.
    pub grant: Grant,
    /// The token, kept for the waiting program. The database has only its hash.
    pub token: String,
}

/// What an owner approved in one step: one grant, or a package of several.
#[derive(Debug, Clone)]
pub struct Granted {
    /// The client that receives the grants.
    pub client_id: String,
    /// The grants; at least one.
    pub grants: Vec<Grant>,
    /// The id of the package, if there is more than one grant.
    pub package_id: Option<String>,
}

/// What the owner kept of a request.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The choices that are kept, by number, each with its fields.
    pub kept: Vec<(usize, BTreeSet<String>)>,
    /// Choices that a date leaves out, because they have no time field to limit by.
    pub undated: Vec<usize>,
    /// Include only records from here on, in milliseconds, if they have a time.
    pub since: Option<i64>,
    /// Include only records before this, in milliseconds, if they have a time.
    pub until: Option<i64>,
    /// When the grant ends, in milliseconds.
    pub expires_ms: Option<i64>,
}

impl Selection {
    /// The start and end of what it keeps of `choice`: the bounds of the request can only become narrower.
    pub fn bounds(&self, choice: &Choice) -> (Option<i64>, Option<i64>) {
        (choice.since.max(self.since), [choice.until, self.until].into_iter().flatten().min())
    }
}
