//! Several grants served as one (R6), from any providers: nothing here depends on a particular one.
//!
//! A call that names its connection, in `connection_id` or within an id, goes to exactly one grant, and no other
//! grant is asked (R6.4). A call that names none goes to the one grant that has the stream, if what is known here
//! decides it; otherwise the answer lists what to choose from, without asking any provider (R5.3, R6.6). `search` and
//! `schema` ask all grants that can answer, in parallel (R6.2).
//!
//! A package of one grant behaves like that grant: its calls go straight through.

mod blobs;
mod member;
mod missing;
mod roster;
mod route;
mod schema;

pub use member::{Has, KnownSource, Member};
pub use missing::{Failed, OR_ANOTHER, all_failed, not_granted, nothing_served, warnings};
pub use roster::{DEADLINE, Package, Roster, Round};
pub use route::Target;
pub use schema::PackageSchema;
