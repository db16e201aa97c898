//! What a model reads of an answer: pure functions to its two views, within their bounds.

pub mod cut;
pub mod ladder;
pub mod marks;
pub mod rows;
pub mod title;
pub mod window;
