//! The tool core: six read-only tools over grants.
//!
//! Each room uses those below it: [`inspect`] → [`tools`] → [`render`] → [`reading`] → [`call_log`] → [`protocol`] → [`tool_error`],
//! [`id`].

pub mod call_log;
pub mod id;
pub mod inspect;
pub mod protocol;
pub mod reading;
pub mod render;
pub mod tool_error;
pub mod tools;
