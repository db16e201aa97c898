//! What a tool reads from: a grant over a backend, all grants served together, paging, the catalog, refusals.

pub mod answer_shape;
pub mod catalog;
pub mod hosted_tools;
pub mod paging;
pub mod refusal;
pub mod schema;
pub mod served;
pub mod source;
