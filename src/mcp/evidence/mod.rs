//! Evidence: pure functions from a resource server's answer to what a model reads of it. One module for
//! stdio, the hosted endpoint and the command line.

pub mod binary;
pub mod cut;
pub mod envelope;
pub mod ladder;
pub mod line;
pub mod marks;
pub mod rows;
pub mod title;
pub mod window;

/// How large each view of one result may be, in bytes (R4.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The text item of `content[]`.
    pub text: usize,
    /// `structuredContent` as compact JSON.
    pub structured: usize,
}

impl Bounds {
    /// The least that `--max-result-bytes` may set.
    pub const LEAST: usize = 4_000;
    /// The most that `--max-result-bytes` may set.
    pub const MOST: usize = 48_000;
}

impl Default for Bounds {
    fn default() -> Self {
        Self { text: 8_000, structured: 10_000 }
    }
}
