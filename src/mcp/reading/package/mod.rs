//! Several grants served as one (R6), of whatever providers: who serves chooses none of them.
//!
//! What names its connection goes to exactly one grant and no other is asked (R6.4): by `connection_id`, said or
//! within an id. What names none goes to the one grant that has the stream, where what is known here says so;
//! otherwise the answer says what to choose from, without asking anybody (R5.3, R6.6). `search` and `schema`
//! ask all grants that can answer, side by side (R6.2).
//!
//! A package of one grant is that grant: its calls go straight through.

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
