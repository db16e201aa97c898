//! How the owner learns that a program asks: where nobody else reads it, with a link that proves who opens it.

use std::fmt;
use std::sync::Arc;

/// A request that waits for the owner.
#[derive(Debug, Clone, Copy)]
pub struct Notice<'a> {
    /// What the program calls itself.
    pub client: &'a str,
    /// What the program shows too, so that the two can be compared.
    pub code: &'a str,
    /// The address that the program was given. It proves nothing, and shows nothing.
    pub page: &'a str,
    /// Opens the page that decides, once, within ten minutes.
    pub link: &'a str,
}

/// Tells the owner.
#[derive(Clone)]
pub struct Announce(Arc<dyn Fn(&Notice<'_>) + Send + Sync>);

impl Announce {
    /// Tells the owner by `tell`, which must not wait.
    pub fn by(tell: impl Fn(&Notice<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(super) fn tell(&self, notice: &Notice<'_>) {
        (self.0)(notice);
    }
}

/// Tells nobody, so that nothing can be decided.
impl Default for Announce {
    fn default() -> Self {
        Self::by(|_| ())
    }
}

impl fmt::Debug for Announce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Announce")
    }
}
