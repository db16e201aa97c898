//! The one integration test binary: one module per promise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]
#![allow(missing_docs, clippy::format_push_string, clippy::format_collect)]
// Tests compare a number's digits as written, which equality of values would not do.
#![allow(clippy::cmp_owned)]
#![cfg_attr(windows, allow(unused, reason = "helpers of tests that run on unix only"))]

#[cfg(target_os = "linux")]
mod bundle;
mod cache;
mod connect;
mod docs;
mod endpoint;
mod hostile_providers;
mod import;
mod inspect;
mod journeys;
#[cfg(any(target_os = "linux", windows))]
mod life;
mod own;
mod owner_commands;
mod replay;
mod requirements;
mod sandbox;
mod served_together;
mod setup;
mod stdio;
mod support;
mod tools;
#[cfg(windows)]
mod windows;
