//! What a tool reads from: a grant over a backend, all grants served together, paging, the catalog, refusals.

pub mod answer_shape;
pub mod audience;
pub mod backend;
pub mod binary;
pub mod catalog;
pub mod decimal;
pub mod envelope;
pub mod filter;
pub mod hosted_tools;
pub mod package;
pub mod paging;
pub mod reader;
pub mod refusal;
pub mod request;
pub mod resource_server;
pub mod rows;
pub mod schema;
