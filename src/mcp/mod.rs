//! The tool core: six read-only tools over grants.
//!
//! Each room uses those below it: [`tools`] → [`render`] → [`reading`] → [`call_log`] → [`protocol`] → [`tool_error`],
//! [`id`].

pub mod call;
pub mod call_log;
pub mod id;
pub mod line;
pub mod protocol;
pub mod reading;
pub mod render;
pub mod size;
pub mod tool_error;
pub mod tools;
