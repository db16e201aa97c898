//! Checks open files that a caller hands over.
//!
//! A caller chooses what is behind a descriptor, so nothing about it is trusted, and nothing is waited
//! for without need: the system is asked what it is, and only a plain file is read, from its beginning up
//! to its length at that time.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;

use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};

/// Checks that `file` is a plain file that can be read.
///
/// # Errors
/// States what it is instead.
pub(super) fn check_readable(file: &File) -> io::Result<()> {
    let flags = check_plain(file)?;
    if flags.contains(OFlags::WRONLY) {
        return Err(refused("it is open for writing, not for reading"));
    }
    Ok(())
}

/// Checks that `file` is an empty plain file that can be written and read again.
///
/// # Errors
/// States what it is instead.
pub(super) fn check_writable(file: &File) -> io::Result<()> {
    let flags = check_plain(file)?;
    if !flags.contains(OFlags::RDWR) || flags.contains(OFlags::APPEND) {
        return Err(refused("it is not open for writing and reading"));
    }
    if file.metadata()?.len() > 0 {
        return Err(refused("it is not empty"));
    }
    Ok(())
}

fn check_plain(file: &File) -> io::Result<OFlags> {
    let flags = fcntl_getfl(file.as_fd())?;
    if flags.contains(OFlags::PATH) {
        return Err(refused("it only names a file, and is not open"));
    }
    match FileType::from_raw_mode(fstat(file.as_fd())?.st_mode) {
        FileType::RegularFile => Ok(flags),
        FileType::Directory => Err(refused("it is a folder")),
        FileType::Fifo => Err(refused("it is a pipe")),
        FileType::Socket => Err(refused("it is a socket")),
        FileType::CharacterDevice | FileType::BlockDevice => Err(refused("it is a device")),
        _ => Err(refused("it is not a plain file")),
    }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.to_owned())
}
