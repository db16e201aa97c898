//! Frames on a socket between two processes of one machine: a kind, a length and that many bytes; some
//! come with an open file.
//!
//! Each frame is read exactly to its last byte, so that a file that comes with one is never assigned to
//! another. A frame that is too long, takes too long or brings unexpected files ends the connection; the
//! kernel closes the files that do not fit.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use secrecy::zeroize::Zeroizing;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::secret::Passphrase;

/// The longest frame that a caller sends, in bytes.
pub const MOST_ASKED: usize = 64 << 10;
/// The longest frame that the service sends: a plan names each file that no format recognises.
pub const MOST_TOLD: usize = 64 << 20;
/// The most time from the first byte of a frame to its last.
const FRAME_TIME: Duration = Duration::from_secs(10);
/// How long sending a frame may take if the other end reads nothing.
const SEND_TIME: Duration = Duration::from_mins(1);
/// Open files that are accepted with a message. One is expected; of more, this many are seen, and the
/// kernel closes the rest.
const FILES: usize = 4;
/// The pause before files are sent again that the kernel had no room for.
const FULL_PAUSE: Duration = Duration::from_millis(20);

/// What comes before the bytes: the kind and their number.
const HEAD: usize = 5;
const JSON: u8 = b'j';
const SECRET: u8 = b's';

/// The content of a frame.
#[derive(Debug)]
pub enum Frame {
    /// JSON that was not parsed yet.
    Json(Vec<u8>),
    /// A passphrase: no buffer that outlives it has a copy.
    Secret(Passphrase),
}

/// A frame that arrived.
#[derive(Debug)]
pub struct Received {
    /// Its content.
    pub frame: Frame,
    /// The open file that came with it.
    pub file: Option<File>,
}

/// Why no frame arrived.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The other end is gone.
    #[error("the other end is gone")]
    Gone,
    /// It sent nothing, or too slowly.
    #[error("the other end sent nothing for too long")]
    Silent,
    /// It broke the protocol.
    #[error("the other end broke the protocol: {0}")]
    Wrong(&'static str),
    /// The socket failed.
    #[error("the socket failed")]
    Socket(#[from] io::Error),
}

/// One end of a conversation.
#[derive(Debug)]
pub struct Wire {
    stream: UnixStream,
    /// The longest frame that is accepted.
    most: usize,
    /// Held while a frame is sent.
    sending: Mutex<()>,
}

impl Wire {
    /// An end that accepts frames of at most `most` bytes.
    pub const fn new(stream: UnixStream, most: usize) -> Self {
        Self { stream, most, sending: Mutex::new(()) }
    }

    /// The socket.
    pub const fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Sends `what`.
    ///
    /// # Errors
    /// If the other end is gone, or reads nothing.
    pub fn send(&self, what: &impl Serialize) -> io::Result<()> {
        self.send_bytes(JSON, &serde_json::to_vec(what)?, None)
    }

    /// Sends `what` and an open file.
    ///
    /// # Errors
    /// The errors of [`Wire::send`].
    pub fn send_with(&self, what: &impl Serialize, file: BorrowedFd<'_>) -> io::Result<()> {
        self.send_bytes(JSON, &serde_json::to_vec(what)?, Some(file))
    }

    /// Sends a passphrase.
    ///
    /// # Errors
    /// The errors of [`Wire::send`].
    pub fn send_secret(&self, secret: &Passphrase) -> io::Result<()> {
        self.send_bytes(SECRET, secret.expose(), None)
    }

    /// Sends `what` from a thread other than that of the conversation, unless that thread is sending.
    pub fn send_aside(&self, what: &impl Serialize) {
        if let (Ok(_alone), Ok(bytes)) = (self.sending.try_lock(), serde_json::to_vec(what)) {
            let _ = self.send_frame(JSON, &bytes, None);
        }
    }

    fn send_bytes(&self, kind: u8, bytes: &[u8], file: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let _alone = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        self.send_frame(kind, bytes, file)
    }

    fn send_frame(&self, kind: u8, bytes: &[u8], file: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let mut head = [kind, 0, 0, 0, 0];
        head[1..].copy_from_slice(&length.to_be_bytes());
        self.stream.set_write_timeout(Some(SEND_TIME))?;
        let files: Vec<BorrowedFd<'_>> = file.into_iter().collect();
        let began = Instant::now();
        let sent = loop {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if !files.is_empty() {
                control.push(SendAncillaryMessage::ScmRights(&files));
            }
            let parts = [IoSlice::new(&head), IoSlice::new(bytes)];
            match sendmsg(self.stream.as_fd(), &parts, &mut control, SendFlags::NOSIGNAL) {
                Ok(sent) => break sent,
                Err(rustix::io::Errno::INTR) => {}
                // The system allows no more files in flight; the other end accepts them one after the
                // other.
                Err(rustix::io::Errno::TOOMANYREFS) if began.elapsed() < SEND_TIME => {
                    std::thread::sleep(FULL_PAUSE);
                }
                Err(error) => return Err(error.into()),
            }
        };
        if sent < HEAD {
            (&self.stream).write_all(&head[sent..])?;
        }
        (&self.stream).write_all(&bytes[sent.saturating_sub(HEAD)..])
    }

    /// The next frame, if one begins within `patience`.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn receive(&self, patience: Option<Duration>) -> Result<Received, Broken> {
        let mut files = Vec::new();
        let mut head = [0; HEAD];
        let begins = patience.map(|patience| Instant::now() + patience);
        self.fill(&mut head[..1], begins, &mut files)?;
        let ends = Some(Instant::now() + FRAME_TIME);
        self.fill(&mut head[1..], ends, &mut files)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let frame = match head[0] {
            JSON if length <= self.most => {
                let mut bytes = vec![0; length];
                self.fill(&mut bytes, ends, &mut files)?;
                Frame::Json(bytes)
            }
            SECRET if length <= Passphrase::MAX => {
                let mut bytes = Zeroizing::new(vec![0; length]);
                self.fill(&mut bytes, ends, &mut files)?;
                let mut secret = Passphrase::new();
                bytes.iter().for_each(|byte| secret.push(*byte));
                Frame::Secret(secret)
            }
            JSON | SECRET => return Err(Broken::Wrong("a frame is too long")),
            _ => return Err(Broken::Wrong("a frame is of an unknown kind")),
        };
        let mut files = files.into_iter();
        match (files.next(), files.next()) {
            (file, None) => Ok(Received { frame, file: file.map(File::from) }),
            _ => Err(Broken::Wrong("more than one open file came with a frame")),
        }
    }

    /// Reads as many bytes as `to` has room for, and accepts the files that come with them.
    fn fill(&self, to: &mut [u8], until: Option<Instant>, files: &mut Vec<OwnedFd>) -> Result<(), Broken> {
        let mut at = 0;
        while at < to.len() {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(Broken::Silent);
            }
            self.stream.set_read_timeout(left)?;
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut part = [IoSliceMut::new(&mut to[at..])];
            let got = recvmsg(self.stream.as_fd(), &mut part, &mut control, RecvFlags::CMSG_CLOEXEC);
            let got = match got {
                Ok(got) => got,
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::AGAIN) => return Err(Broken::Silent),
                Err(rustix::io::Errno::CONNRESET) => return Err(Broken::Gone),
                Err(error) => return Err(Broken::Socket(error.into())),
            };
            for message in control.drain() {
                if let RecvAncillaryMessage::ScmRights(came) = message {
                    files.extend(came);
                }
            }
            if got.flags.contains(ReturnFlags::CTRUNC) || files.len() > 1 {
                return Err(Broken::Wrong("more than one open file came with a frame"));
            }
            if got.bytes == 0 {
                return Err(Broken::Gone);
            }
            at += got.bytes;
        }
        Ok(())
    }
}

impl Received {
    /// Its content, if no file came with it.
    ///
    /// # Errors
    /// [`Broken::Wrong`].
    pub fn plain<T: DeserializeOwned>(self) -> Result<T, Broken> {
        match self.with_file()? {
            (what, None) => Ok(what),
            _ => Err(Broken::Wrong("an open file came with a frame that needs none")),
        }
    }

    /// Its content, and the file.
    ///
    /// # Errors
    /// [`Broken::Wrong`].
    pub fn with_file<T: DeserializeOwned>(self) -> Result<(T, Option<File>), Broken> {
        let Frame::Json(bytes) = self.frame else {
            return Err(Broken::Wrong("a passphrase came where none was asked for"));
        };
        let what = serde_json::from_slice(&bytes)
            .map_err(|_| Broken::Wrong("the content of a frame is not known"))?;
        Ok((what, self.file))
    }

    /// The passphrase that it brings.
    ///
    /// # Errors
    /// [`Broken::Wrong`].
    pub fn secret(self) -> Result<Passphrase, Broken> {
        match self {
            Self { frame: Frame::Secret(secret), file: None } => Ok(secret),
            _ => Err(Broken::Wrong("no passphrase came where one was asked for")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use proptest::prelude::*;

    use super::*;

    const SOON: Option<Duration> = Some(Duration::from_millis(200));

    fn pair(most: usize) -> (UnixStream, Wire) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (ours, Wire::new(theirs, most))
    }

    fn framed(kind: u8, bytes: &[u8]) -> Vec<u8> {
        let mut all = vec![kind];
        all.extend(u32::try_from(bytes.len()).unwrap().to_be_bytes());
        all.extend(bytes);
        all
    }

    fn send_files(to: &UnixStream, bytes: &[u8], files: &[BorrowedFd<'_>]) {
        let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(files)));
        sendmsg(to, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL).unwrap();
    }

    #[test]
    fn a_frame_and_its_file_come_together_and_a_passphrase_as_it_is() {
        let (ours, wire) = pair(MOST_ASKED);
        let other = Wire::new(ours, MOST_ASKED);
        let file = tempfile::tempfile().unwrap();
        other.send(&"one").unwrap();
        other.send_with(&"two", file.as_fd()).unwrap();
        other.send_secret(&Passphrase::from("heron 4711")).unwrap();
        assert_eq!(wire.receive(SOON).unwrap().plain::<String>().unwrap(), "one");
        let (text, came) = wire.receive(SOON).unwrap().with_file::<String>().unwrap();
        assert_eq!((text.as_str(), came.is_some()), ("two", true));
        assert_eq!(wire.receive(SOON).unwrap().secret().unwrap().expose(), b"heron 4711");
        drop(other);
        assert!(matches!(wire.receive(SOON), Err(Broken::Gone)));
    }

    #[test]
    fn what_is_too_long_half_or_silent_ends_it() {
        let (mut ours, wire) = pair(10);
        ours.write_all(&framed(JSON, &[b' '; 11])).unwrap();
        assert!(matches!(wire.receive(SOON), Err(Broken::Wrong(_))));
        let (mut ours, wire) = pair(usize::MAX);
        ours.write_all(&[JSON, 0xff, 0xff]).unwrap();
        drop(ours);
        assert!(matches!(wire.receive(SOON), Err(Broken::Gone)));
        let (_ours, wire) = pair(10);
        assert!(matches!(wire.receive(SOON), Err(Broken::Silent)));
        let (mut ours, wire) = pair(10);
        ours.write_all(&framed(SECRET, &[b'x'; Passphrase::MAX + 1])).unwrap();
        assert!(matches!(wire.receive(SOON), Err(Broken::Wrong(_))));
    }

    #[test]
    fn o9_2_surplus_files_are_closed_at_once() {
        // A pipe ends once its last writer is closed.
        let is_closed = |count: usize, send: &dyn Fn(&UnixStream, BorrowedFd<'_>)| {
            let (end, file) = std::io::pipe().unwrap();
            let (ours, wire) = pair(MOST_ASKED);
            send(&ours, file.as_fd());
            assert!(matches!(wire.receive(SOON), Err(Broken::Wrong(_))), "{count}");
            drop((ours, wire, file));
            rustix::fs::fcntl_setfl(&end, rustix::fs::OFlags::NONBLOCK).unwrap();
            assert_eq!(rustix::io::read(&end, &mut [0]), Ok(0), "{count}");
        };
        for count in [2, 3, 4, 5, 100, 253] {
            is_closed(count, &|ours, file| send_files(ours, &framed(JSON, b"1"), &vec![file; count]));
        }
        // A frame with each part in a separate message.
        is_closed(0, &|ours, file| {
            for byte in framed(JSON, b"[1, 2]") {
                send_files(ours, &[byte], &[file]);
            }
        });
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_the_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let (mut ours, wire) = pair(128);
            ours.write_all(&bytes).unwrap();
            drop(ours);
            let mut taken = 0;
            while let Ok(received) = wire.receive(SOON) {
                match &received.frame {
                    Frame::Json(bytes) => {
                        prop_assert!(bytes.len() <= 128);
                        taken += HEAD + bytes.len();
                    }
                    Frame::Secret(secret) => {
                        prop_assert!(secret.expose().len() <= Passphrase::MAX);
                        taken += HEAD + secret.expose().len();
                    }
                }
                let _ = received.plain::<crate::own::separate::words::Asked>();
            }
            prop_assert!(taken <= bytes.len());
        }

        #[test]
        fn frames_in_pieces_are_the_same(text in ".{0,80}", cut in 1_usize..20) {
            let (mut ours, wire) = pair(4096);
            let bytes = framed(JSON, serde_json::to_string(&text).unwrap().as_bytes());
            let sender = std::thread::spawn(move || {
                for piece in bytes.chunks(cut) {
                    ours.write_all(piece).unwrap();
                }
                ours
            });
            prop_assert_eq!(wire.receive(SOON).unwrap().plain::<String>().unwrap(), text);
            drop(sender.join().unwrap());
        }
    }
}
