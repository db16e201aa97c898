//! What the modules of this binary share.
#![allow(dead_code, reason = "each promise uses its own part")]

pub mod cases;
pub mod credential;
pub mod env;
pub mod filled;
pub mod numbers;
pub mod package_provider;
pub mod provider;
pub mod sandbox;
pub mod sources;
