//! Reads by HTTP, told to whoever keeps a log of them: never what was asked for or answered.

use std::time::Duration;

/// One read within a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRead {
    /// Where it was sent: `http://127.0.0.1:7378`.
    pub base: String,
    /// The grant.
    pub grant_id: String,
    /// The program whose grant it is, as it calls itself.
    pub client: String,
    /// What was read, by the name of the tool that does the same.
    pub tool: &'static str,
    /// The streams that were read, each once.
    pub streams: Vec<String>,
    /// Records or hits in the answer.
    pub rows: usize,
    /// Size of the answer.
    pub bytes: usize,
    /// `ok`, or the error's code.
    pub outcome: String,
    /// How long it took.
    pub took: Duration,
}

/// Takes note of reads. Must return at once, and cannot fail one.
pub trait ReadSink: Send + Sync + 'static {
    /// A read was answered.
    fn record(&self, read: HttpRead);
}
