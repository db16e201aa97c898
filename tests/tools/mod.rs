//! The requirements of the six tools, one test each, against a resource server of a few lines. That every
//! recorded answer comes through whole is `replay`'s promise; here are the rules that no recording shows.

mod advice;
mod fake;
mod reads;
mod schema;
mod search;
