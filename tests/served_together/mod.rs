//! Several grants as one (R6), over small providers and through the real binary.

mod fake;
mod merge;
mod routes;
mod served;
