//! The requirements of the six tools, one test each, against a small resource server. `replay` proves that every
//! recorded answer comes through whole; here are the rules that no recording shows.

mod advice;
mod fake;
mod reads;
mod schema;
mod search;
