//! Tells the owner that a program asks: in a place that nobody else reads, with a link that proves who opens it.

use std::fmt;
use std::sync::Arc;

/// A request that waits for the owner.
#[derive(Debug, Clone, Copy)]
pub struct Notice<'a> {
    /// The name that the program gave itself.
    pub client: &'a str,
    /// The code that the program shows too, so that the two can be compared.
    pub code: &'a str,
    /// The address that the program was given. It proves nothing and shows nothing.
    pub page: &'a str,
    /// The link that opens the page for the decision, once, within ten minutes.
    pub link: &'a str,
}

/// Further news about requests for the owner.
#[derive(Debug, Clone, Copy)]
pub enum News<'a> {
    /// A pairing code was used by this program's request. The owner decides it in the browser in which the code was
    /// typed. Empty if the program's identity could not be fetched.
    Paired {
        /// The name that the program gave itself.
        client: &'a str,
        /// The code of the request.
        code: &'a str,
        /// The next pairing code.
        next: &'a str,
    },
    /// A request was approved.
    Approved {
        /// The name that the program gave itself.
        client: &'a str,
        /// When the access ends (RFC 3339), if it ends automatically.
        until: Option<&'a str>,
    },
    /// A request was denied.
    Denied {
        /// The name that the program gave itself.
        client: &'a str,
    },
}

/// How the owner is notified.
#[derive(Clone)]
pub struct Announce {
    asked: Arc<dyn Fn(&Notice<'_>) + Send + Sync>,
    news: Arc<dyn Fn(&News<'_>) + Send + Sync>,
}

impl Announce {
    /// Notifies the owner of each request with `tell`, which must not block.
    pub fn by(tell: impl Fn(&Notice<'_>) + Send + Sync + 'static) -> Self {
        Self { asked: Arc::new(tell), news: Arc::new(|_| ()) }
    }

    /// Also notifies the owner of the results with `tell`, which must not block.
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

/// Tells nobody, so nothing can be decided.
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
