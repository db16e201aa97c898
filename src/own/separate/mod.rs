//! The separate set-up: the store belongs to a system user of its own, so that an agent with a shell, which runs as the person,
//! cannot read it.
//!
//! [`place`] says where everything of it is. [`install`] makes it and takes it away, as root. [`which`] says which set-up a person
//! has.

#[cfg(target_os = "linux")]
pub mod install;
pub mod place;
pub mod which;
