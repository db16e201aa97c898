//! Where a separate set-up has what it has.

use std::path::{Path, PathBuf};

/// The folder below which each person has one for the socket.
pub const RUN: &str = "/run/pdpp";

/// The socket of the service of the person with this user id.
pub fn socket_path(uid: u32) -> PathBuf {
    Path::new(RUN).join(uid.to_string()).join("owner.sock")
}

/// The store of the person with this user id.
pub fn data_dir(uid: u32) -> PathBuf {
    Path::new("/var/lib/pdpp").join(uid.to_string())
}

/// The unit of the service of the person of this name.
pub fn unit_name(user: &str) -> String {
    format!("pdpp-provider-{user}.service")
}
