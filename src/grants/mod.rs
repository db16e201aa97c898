//! The life of a grant on this computer: what to ask for, what was granted, its renewal, and its end.
//!
//! [`connect()`] gets a grant and keeps it, [`disconnect`] ends grants, and [`serving`] reads with them.
//! Events, and decisions that only a person can make, go through [`Dialog`] and [`Confirm`]: nothing here
//! writes to a terminal.

mod begin;
mod browser;
mod connect;
mod dialog;
mod difference;
pub mod disconnect;
mod door;
mod end;
mod hand_over;
mod keep;
pub mod local;
mod narrowing;
mod own_store;
mod package_token;
mod plan;
mod renewal;
pub mod serving;
mod suggest;

pub use browser::Browser;
pub use connect::connect;
pub use dialog::{Dialog, Event, Invitation, Shown, SourceAnswer, Than};
pub use difference::Difference;
pub use disconnect::Confirm;
pub use end::NotEnded;
pub use hand_over::Page;
pub use keep::{AtProvider, Connected, Old};
pub use narrowing::Narrowing;
pub use plan::Request;
