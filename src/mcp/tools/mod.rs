//! The six tools: typed arguments, requests, one answer within limits; a file or a folder for each.
//!
//! A server calls [`service`]. It parses a call once ([`tool_call`]), picks the grants that it is for, and lets the
//! tool's own module answer. What a provider's refusal means is explained in one place ([`explanation`]).

pub mod aggregate;
mod answer_parts;
pub mod argument_repair;
pub mod arguments;
mod checks;
pub mod context;
pub mod explanation;
pub mod fetch;
pub mod filter_value;
pub mod query_records;
pub mod read_record_field;
pub mod resource;
pub mod schema;
pub mod search;
pub mod service;
mod spelling;
pub mod surface;
pub mod tool_call;
