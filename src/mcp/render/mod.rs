//! What a model reads of an answer: pure functions that produce its two views within their limits.

pub mod cut;
pub mod ladder;
pub mod marks;
pub mod rows;
pub mod title;
pub mod window;
