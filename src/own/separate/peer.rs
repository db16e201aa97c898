//! Who is at the other end of the owner's socket, and whether a socket can be trusted.
//!
//! One of the person's programs could put up a fake socket and ask for the passphrase. So a socket counts
//! only in a place where the person cannot put one: it and each folder above it belong to another user,
//! and only their owner can change what is in there.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::{place, which};
use crate::error::{Error, Kind, Result};

const ROOT: u32 = 0;

/// The user that the process at the other end of `socket` acts as; for a listener, the user that listens.
///
/// # Errors
/// The errors of the system.
pub fn user_of(socket: impl AsFd) -> io::Result<u32> {
    Ok(rustix::net::sockopt::socket_peercred(socket)?.uid.as_raw())
}

/// The user that this process acts as.
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// A socket of a separate set-up that can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Socket {
    /// Where it is.
    pub path: PathBuf,
    /// The user that owns it: no other user may answer there.
    pub service: u32,
}

/// The separate set-up of the person who started this process, unless they `named` the directory of their
/// own store.
///
/// # Errors
/// `owner_socket_unsafe` (77); `owner_service_away` (69).
pub fn of_this_user(named: Option<&Path>) -> Result<Option<Socket>> {
    if named.is_some() {
        return Ok(None);
    }
    let own = own_user();
    let found = find(&place::socket_path(own), own)?;
    if found.is_none() {
        check_nobody_is_away(&place::data_dir(own), own)?;
    }
    Ok(found)
}

/// Checks that the data in `dir` does not belong to a service that is not running now: otherwise it would
/// be imported a second time, to a place where each of the person's programs can read it.
fn check_nobody_is_away(dir: &Path, person: u32) -> Result<()> {
    let is_theirs = |found: std::fs::Metadata| found.is_dir() && found.uid() != person;
    if !dir.symlink_metadata().is_ok_and(is_theirs) {
        return Ok(());
    }
    let message = "A service of this computer keeps your own data, and it is not running now";
    Err(Error::new(Kind::Unavailable, "owner_service_away", message)
        .because(format!("{} belongs to the service", dir.display()))
        .hint(format!(
            "To start it: {}; --data-dir names a store of your own, which your programs can read",
            start()
        )))
}

/// The socket of the separate set-up of the person who started this process, if they have one.
///
/// # Errors
/// The errors of [`of_this_user`].
pub fn socket_of_this_user() -> Result<Option<PathBuf>> {
    Ok(of_this_user(None)?.map(|socket| socket.path))
}

/// The command that starts the service again, for a person who may.
pub(super) fn start() -> String {
    which::systemctl("start", own_user())
}

/// The socket at `path`, for the person with the user id `person`; `None` if there is none.
///
/// # Errors
/// `owner_socket_unsafe` (77).
pub fn find(path: &Path, person: u32) -> Result<Option<Socket>> {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unsafe_socket(path, path, &format!("cannot be examined: {error}"))),
    };
    if !found.file_type().is_socket() {
        return Err(unsafe_socket(path, path, "is not a socket"));
    }
    if found.uid() == person {
        return Err(unsafe_socket(path, path, "belongs to you"));
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let of_folder = folder.symlink_metadata().map(|found| found.uid());
    for dir in path.ancestors().skip(1).filter(|dir| *dir != OsStr::new("")) {
        let found = dir
            .symlink_metadata()
            .map_err(|error| unsafe_socket(path, dir, &format!("cannot be examined: {error}")))?;
        let is_sticky = found.mode() & 0o1000 != 0;
        let why = if !found.is_dir() {
            "is neither a folder nor a link to one"
        } else if found.uid() == person {
            "belongs to you"
        } else if found.mode() & 0o022 != 0 && (!is_sticky || dir == folder) {
            // In a sticky folder nobody can remove what belongs to another user, but anyone can put a
            // socket there.
            "can be written to by users other than its owner"
        } else {
            continue;
        };
        return Err(unsafe_socket(path, dir, why));
    }
    let service = of_folder.map_err(|error| unsafe_socket(path, folder, &error.to_string()))?;
    if found.uid() != service && found.uid() != ROOT {
        return Err(unsafe_socket(path, path, "belongs to another user than its folder"));
    }
    Ok(Some(Socket { path: path.to_owned(), service }))
}

/// Checks that the other end of `stream` is the user that owns the socket, and not the person.
///
/// # Errors
/// `owner_socket_unsafe` (77).
pub(super) fn check_service(socket: &Socket, stream: impl AsFd, person: u32) -> Result<()> {
    let user =
        user_of(stream).map_err(|error| unsafe_socket(&socket.path, &socket.path, &error.to_string()))?;
    if user == socket.service && user != person {
        return Ok(());
    }
    Err(unsafe_socket(
        &socket.path,
        &socket.path,
        &format!("is answered by the user {user}, who does not own it"),
    ))
}

fn unsafe_socket(socket: &Path, which: &Path, why: &str) -> Error {
    let message = format!(
        "The socket {} cannot be trusted, so nothing was sent to it: {} {why}",
        socket.display(),
        which.display()
    );
    Error::new(Kind::Refused, "owner_socket_unsafe", message).hint(
        "One of your programs may have put it there to learn your passphrase: do not type it anywhere, \
         and have the person who set up the service look at it",
    )
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the folders are made wrong on purpose")]
mod tests {
    use std::fs::{Permissions, create_dir, set_permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    /// A user other than the one that runs the tests.
    const PERSON: u32 = 54_321;

    #[test]
    fn o9_3_a_socket_is_believed_where_the_person_can_put_none() {
        let root = tempfile::tempdir().unwrap();
        let run = root.path().join("run");
        let folder = run.join("1000");
        let path = folder.join("owner.sock");
        assert_eq!(find(&path, PERSON).unwrap(), None);
        create_dir(&run).unwrap();
        create_dir(&folder).unwrap();
        assert_eq!(find(&path, PERSON).unwrap(), None);
        let _listener = UnixListener::bind(&path).unwrap();
        let mode = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
        mode(&run, 0o755);
        mode(&folder, 0o755);
        mode(&path, 0o666);
        let socket = find(&path, PERSON).unwrap().unwrap();
        assert_eq!(socket.service, own_user());
        let stream = UnixStream::connect(&path).unwrap();
        check_service(&socket, &stream, PERSON).unwrap();

        // Places that belong to the person.
        assert_eq!(find(&path, own_user()).unwrap_err().code(), "owner_socket_unsafe");
        assert_eq!(check_service(&socket, &stream, own_user()).unwrap_err().code(), "owner_socket_unsafe");
        // A user other than the folder's owner answers.
        let other = Socket { service: own_user() + 1, ..socket.clone() };
        assert_eq!(check_service(&other, &stream, PERSON).unwrap_err().code(), "owner_socket_unsafe");
        // Folders that others can write to; a sticky one is safe above, but not as the last one.
        for (dir, bits, is_safe) in [
            (&run, 0o777, false),
            (&run, 0o775, false),
            (&run, 0o1777, true),
            (&folder, 0o1777, false),
            (&folder, 0o775, false),
            (&folder, 0o711, true),
        ] {
            mode(dir, bits);
            assert_eq!(find(&path, PERSON).is_ok(), is_safe, "{dir:?} {bits:o}");
            mode(dir, 0o755);
        }
        // A link on the way, and something that is not a socket.
        let link = root.path().join("link");
        symlink(&run, &link).unwrap();
        let through = link.join("1000/owner.sock");
        assert_eq!(find(&through, PERSON).unwrap_err().code(), "owner_socket_unsafe");
        let file = folder.join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(find(&file, PERSON).unwrap_err().code(), "owner_socket_unsafe");
        let linked = folder.join("linked");
        symlink(&path, &linked).unwrap();
        assert_eq!(find(&linked, PERSON).unwrap_err().code(), "owner_socket_unsafe");
    }
}
