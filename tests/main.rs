//! The one integration test binary: a module a promise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]
#![allow(missing_docs)]

mod connect;
mod docs;
mod hostile;
mod inspect;
mod journeys;
mod replay;
mod sandbox;
mod stdio;
mod support;
mod tools;
