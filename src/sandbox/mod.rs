//! A fictional life that fills a vault.

pub mod import;
pub mod seed;
