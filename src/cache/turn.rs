//! Which call of this process may renew a token.

use std::time::Instant;

use crate::error::Error;

/// The right to renew a family's token in this process, and the result of earlier renewals.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// When a token was last renewed because the provider had reported it dead.
    pub(super) forced: Option<Instant>,
    /// When a renewal last failed, and why: the calls that waited for it do not try again.
    pub(super) failed: Option<(Instant, Error)>,
}
