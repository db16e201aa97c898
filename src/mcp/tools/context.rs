//! What a tool works with.

use crate::mcp::reading::reader::Reader;
use crate::mcp::size::Bounds;

/// What a tool reads from, and how large its answer may be.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The grant.
    pub reader: &'a Reader,
    /// The size limit of each view.
    pub bounds: Bounds,
}
