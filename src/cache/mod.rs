//! A credential's life on this machine.

pub mod secret;
