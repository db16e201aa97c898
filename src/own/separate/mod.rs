//! The separate set-up: the store belongs to a separate user, whose service (`pdpp provider serve
//! --owner-socket`) the owner of the data reaches over a socket. What the owner's programs can read, they
//! hand over as open files.
//!
//! A caller is known only by its user id ([`peer`]), and any of the person's programs has that. So
//! everything that would reveal something about the store, change what an agent can read, or delete also
//! needs the passphrase ([`service`]). [`place`] says where everything is. [`install`] creates and
//! removes it, as root; [`which`] says which set-up a person has.

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

/// The socket of the separate set-up of the person who started this process: this system has none.
///
/// # Errors
/// None here.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "as on Linux")]
pub const fn socket_of_this_user() -> crate::error::Result<Option<std::path::PathBuf>> {
    Ok(None)
}
