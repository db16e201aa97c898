//! The protocol: JSON-RPC, stdio and Streamable HTTP, for both ends. It knows no tool: a server offers a
//! [`service::Service`].

pub mod caller;
pub mod client;
#[cfg(feature = "conformance-fixtures")]
mod conformance;
pub mod http;
pub mod jsonrpc;
pub mod measure;
pub mod server;
pub mod service;
pub mod stdio;
mod transport;
