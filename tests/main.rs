//! The one integration test binary: a module a promise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]
#![allow(missing_docs, clippy::format_push_string, clippy::format_collect)]
// A number's digits are compared as they are written, which equality of values would not do.
#![allow(clippy::cmp_owned)]

mod cache;
mod connect;
mod coverage;
mod docs;
mod host;
mod hostile;
mod inspect;
mod journeys;
mod owner;
mod package;
mod replay;
mod sandbox;
mod setup;
mod stdio;
mod support;
mod tools;
