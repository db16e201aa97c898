//! Whose turn it is to renew a token, among the calls of this process.

use std::time::Instant;

use crate::error::Error;

/// The right to renew a family's token in this process, and what came of it before.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// When a token was last renewed because the provider had called it dead.
    pub(super) forced: Option<Instant>,
    /// When a renewal last failed, and why: those who waited for it do not try again.
    pub(super) failed: Option<(Instant, Error)>,
}
