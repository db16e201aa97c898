//! The tool core: six read-only tools over grants.
//!
//! Dependencies go one way here too: `inspect → tools → render → reading → {call_log, tool_error} → {call, protocol}
//! → {id, size} → line` (`tests/docs/map.rs`).

pub mod call;
pub mod call_log;
pub mod id;
pub mod inspect;
pub mod line;
pub mod protocol;
pub mod reading;
pub mod render;
pub mod size;
pub mod tool_error;
pub mod tools;
