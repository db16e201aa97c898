//! The separate set-up: the store belongs to a user of its own, whose service (`pdpp provider serve --owner-socket`) is asked over a
//! socket by the person whose data it is. What the person's programs can read they hand over as open files.
//!
//! A caller is known by its user id alone ([`peer`]), and any program of the person's has that: what would tell something of
//! the store, change what an agent can read, or delete, needs the passphrase besides ([`service`]).
//! [`place`] says where everything of it is. [`install`] makes it and takes it away, as root; [`which`] says which set-up a person
//! has.

#[cfg(target_os = "linux")]
pub mod caller;
#[cfg(target_os = "linux")]
mod file;
#[cfg(target_os = "linux")]
pub mod frame;
#[cfg(target_os = "linux")]
mod guess;
#[cfg(target_os = "linux")]
mod hand_over;
#[cfg(target_os = "linux")]
mod importing;
#[cfg(target_os = "linux")]
pub mod install;
#[cfg(target_os = "linux")]
pub mod peer;
#[cfg(target_os = "linux")]
mod person;
pub mod place;
#[cfg(target_os = "linux")]
mod places;
#[cfg(target_os = "linux")]
pub mod service;
#[cfg(target_os = "linux")]
mod talk;
pub mod which;
#[cfg(target_os = "linux")]
pub mod words;

#[cfg(target_os = "linux")]
pub use peer::{Socket, of_this_user, socket_of_this_user};
#[cfg(target_os = "linux")]
pub use service::Service;

/// The socket of the separate set-up of whoever started this process: there is none on this system.
///
/// # Errors
/// None here.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "as on Linux")]
pub const fn socket_of_this_user() -> crate::error::Result<Option<std::path::PathBuf>> {
    Ok(None)
}
