//! Flows to a grant: ask for it, let the owner approve in a browser, and receive the token.
//!
//! One file per flow. Each begins an [`Attempt`], whose URL the owner opens and whose answer pdpp then waits
//! for.

pub mod agent_connect;
mod attempt;
pub mod authorization_code;
mod choice;
pub mod device_code;
mod error;
pub mod flow;
pub mod loopback;
pub mod par;
pub mod proof;
pub mod refresh;
pub mod revoke;
pub mod token;
pub mod wait;
pub mod wanted;

pub use attempt::{Attempt, begin};
pub use choice::Choice;
pub use error::ApproveError;
