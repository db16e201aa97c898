//! What a vault keeps. Nothing here knows what a grant allows; [`super::enforcement`] is the only reader of records.

mod catalog;
mod database;
mod ingest;
mod tables;

pub use catalog::{Catalog, Connection, last_seq, record_count_within, record_counts};
pub use database::{Filling, OpenError, Store};
pub use ingest::Ingest;
