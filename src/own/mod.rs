//! The person's own store: a vault on this machine that an import fills, and nothing else.
//!
//! It shares no file with the sandbox's fiction, and neither opens the other's.

use crate::vault::Profile;

/// Whose vault it is.
pub const PROFILE: Profile = Profile {
    name: "Your own data on this machine",
    title: "Your own data",
    owner: "Your own data on this machine",
    command: "pdpp connect local",
    subject_id: "owner_local",
    declaration_version: "own.v1",
    introspection_client_id: "own_rs",
    database: "own.db",
};
