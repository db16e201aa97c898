//! MCP clients, over a program's standard streams ([`Client`]) and over Streamable HTTP ([`HttpClient`]). What a
//! server sends is data; the code that displays it escapes it.

mod http;
mod message;
mod stdio;

pub use http::{HttpClient, HttpClientError, Session};
pub use stdio::{Client, ServerCommand, ServerFacts, Surroundings};
