//! What a vault stores. Nothing here knows what a grant allows; [`super::enforcement`] is the only reader of
//! records.

pub mod blobs;
mod catalog;
mod database;
mod forget;
mod ingest;
pub mod ledger;
mod packed;
mod row_set;
pub mod snapshot;
mod tables;
pub mod values;
pub mod word_index;

pub use catalog::{
    Catalog, Connection, Freshness, Renew, freshness, history_from, imported_ms, last_seq, record_count,
    record_count_within, record_counts,
};
pub use database::{Filling, OpenError, Store};
pub use forget::Erased;
pub use ingest::{Ingest, Prepared, Shape, Shapes, Written};
pub use row_set::RowSet;
pub use tables::FORMAT;

/// The `application_id` of a store that is filled with made-up data.
pub const FICTION: i32 = 0x5044_5358;
/// The `application_id` of the store of a person's own data.
pub const OWN: i32 = 0x5044_504f;
