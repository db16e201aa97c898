//! Reports reads over HTTP to a log. A report never contains what was asked for or answered.

use std::time::Duration;

/// One read within a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRead {
    /// The address that it was sent to: `http://127.0.0.1:7378`.
    pub base: String,
    /// The grant.
    pub grant_id: String,
    /// The name of the program that holds the grant, in its own words.
    pub client: String,
    /// What was read, as the name of the tool that does the same.
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

/// Receives reports of reads. Must return at once and cannot make a read fail.
pub trait ReadSink: Send + Sync + 'static {
    /// Records a read that was answered.
    fn record(&self, read: HttpRead);
}
