//! The separate set-up: the store belongs to a user of its own, whose service (`pdpp provider serve --owner-socket`) is asked over a
//! socket by the person whose data it is. What the person's programs can read they hand over as open files.
//!
//! A caller is known by its user id alone ([`peer`]), and any program of the person's has that: what would tell something of
//! the store, change what an agent can read, or delete, needs the passphrase besides ([`service`]).

pub mod place;

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
pub mod peer;
#[cfg(target_os = "linux")]
mod person;
#[cfg(target_os = "linux")]
mod places;
#[cfg(target_os = "linux")]
pub mod service;
#[cfg(target_os = "linux")]
mod talk;
#[cfg(target_os = "linux")]
pub mod words;

#[cfg(target_os = "linux")]
pub use peer::{Socket, of_this_user, socket_of_this_user};
#[cfg(target_os = "linux")]
pub use service::Service;

/// Which set-up the data of whoever started this process is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetUp {
    /// The store is theirs.
    Simple,
    /// It is a service's, which is asked at this socket.
    Separate(std::path::PathBuf),
}

/// The set-up, unless they `named` the directory of a store of their own.
///
/// # Errors
/// `owner_socket_unsafe` (77); `owner_service_away` (69): it is a separate one.
#[cfg(target_os = "linux")]
pub fn set_up(named: Option<&std::path::Path>) -> crate::error::Result<SetUp> {
    Ok(of_this_user(named)?.map_or(SetUp::Simple, |socket| SetUp::Separate(socket.path)))
}

/// The set-up: there is but one on this system.
///
/// # Errors
/// None here.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "as on Linux")]
pub const fn set_up(_: Option<&std::path::Path>) -> crate::error::Result<SetUp> {
    Ok(SetUp::Simple)
}

/// The socket of the separate set-up of whoever started this process: there is none on this system.
///
/// # Errors
/// None here.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "as on Linux")]
pub const fn socket_of_this_user() -> crate::error::Result<Option<std::path::PathBuf>> {
    Ok(None)
}
