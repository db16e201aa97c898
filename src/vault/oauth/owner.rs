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

/// What else the owner is told of requests.
#[derive(Debug, Clone, Copy)]
pub enum News<'a> {
    /// A pairing code was used: by this program's request, which is decided in the browser that it was typed in; empty where the
    /// program could not be asked for who it is.
    Paired {
        /// What the program calls itself.
        client: &'a str,
        /// The code of the request.
        code: &'a str,
        /// The next pairing code.
        next: &'a str,
    },
    /// A request was approved.
    Approved {
        /// What the program calls itself.
        client: &'a str,
        /// When the access ends (RFC 3339), if it does by itself.
        until: Option<&'a str>,
    },
    /// A request was denied.
    Denied {
        /// What the program calls itself.
        client: &'a str,
    },
}

/// Tells the owner.
#[derive(Clone)]
pub struct Announce {
    asked: Arc<dyn Fn(&Notice<'_>) + Send + Sync>,
    news: Arc<dyn Fn(&News<'_>) + Send + Sync>,
}

impl Announce {
    /// Tells the owner of each request by `tell`, which must not wait.
    pub fn by(tell: impl Fn(&Notice<'_>) + Send + Sync + 'static) -> Self {
        Self { asked: Arc::new(tell), news: Arc::new(|_| ()) }
    }

    /// Tells the owner what came of it by `tell` too, which must not wait.
    #[must_use]
    pub fn with_news(self, tell: impl Fn(&News<'_>) + Send + Sync + 'static) -> Self {
        Self { news: Arc::new(tell), ..self }
    }

    pub(super) fn tell(&self, notice: &Notice<'_>) {
        (self.asked)(notice);
    }

    pub(super) fn tell_news(&self, news: &News<'_>) {
        (self.news)(news);
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
