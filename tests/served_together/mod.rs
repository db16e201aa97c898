//! Several grants as one (R6), over providers of a few lines and through the real binary.

mod fake;
mod merge;
mod routes;
mod served;
