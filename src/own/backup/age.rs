//! A file that a passphrase opens, in the age format (<https://age-encryption.org/v1>): `age -d` opens
//! what is written here, and what `age -p` wrote can be read here.
//!
//! The `age` crate would do the same. It would add half a megabyte to the binary, and 92 more packages,
//! 30 of them older versions of packages that are already used (its key exchanges, translations and their
//! templates are not optional). Only passphrases are needed from its format. The ciphers come from ring,
//! which is used for TLS anyway; the `scrypt` crate derives the key from a passphrase.

use std::io::{self, BufRead, BufReader, Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::{hkdf, hmac};

use crate::secret::Passphrase;

/// The first line of such a file.
pub const MAGIC: &[u8] = b"age-encryption.org/v1\n";
/// What the salt of scrypt begins with.
const SCRYPT_LABEL: &[u8] = b"age-encryption.org/v1/scrypt";
/// The work of scrypt, as a power of two: a second, and 256 MiB.
const WORK: u8 = 18;
/// The most work for a file from elsewhere: 1 GiB.
const MOST_WORK: u8 = 20;
const SALT: usize = 16;
const FILE_KEY: usize = 16;
const NONCE: usize = 16;
const TAG: usize = 16;
/// Bytes of a chunk before it is encrypted.
pub const CHUNK: usize = 64 << 10;
/// The most bytes of a header: that of one passphrase has some 150.
const MAX_HEADER: u64 = 4096;

/// Why a file cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Locked {
    /// It is another kind of file, or needs another kind of key.
    #[error("{0}")]
    Foreign(&'static str),
    /// It ends before its header does.
    #[error("it ends before its header does")]
    Truncated,
    /// Its header was changed.
    #[error("its header is damaged")]
    Damaged,
    /// It has another passphrase.
    #[error("the passphrase is wrong")]
    WrongPassphrase,
    /// An error of the disk.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The header of a file that a passphrase opens.
pub struct Header {
    salt: [u8; SALT],
    work: u8,
    body: Vec<u8>,
    /// The bytes that its checksum covers, and the checksum.
    covered: Vec<u8>,
    sum: Vec<u8>,
    /// The number of its bytes.
    length: u64,
}

/// The key of one file.
pub struct FileKey(secrecy::zeroize::Zeroizing<[u8; FILE_KEY]>);

impl Header {
    /// Reads the header, and leaves `from` at the content.
    ///
    /// # Errors
    /// [`Locked`], except [`Locked::WrongPassphrase`].
    pub fn read(from: &mut impl BufRead) -> Result<Self, Locked> {
        let mut covered = line(from)?;
        if covered != MAGIC {
            let is_cut = MAGIC.starts_with(&covered) && !covered.is_empty();
            return Err(if is_cut {
                Locked::Truncated
            } else {
                Locked::Foreign("it is not encrypted by age")
            });
        }
        let stanza = line(from)?;
        covered.extend_from_slice(&stanza);
        let stanza = text(&stanza)?;
        let Some(arguments) = stanza.strip_prefix("-> scrypt ") else {
            let is_other = stanza.starts_with("-> ");
            let other = Locked::Foreign("it is encrypted for a key, and not with a passphrase");
            return Err(if is_other { other } else { Locked::Damaged });
        };
        let (salt, work) = arguments.split_once(' ').ok_or(Locked::Damaged)?;
        let salt = decoded(salt)?.try_into().map_err(|_| Locked::Damaged)?;
        let work: u8 = work.parse().map_err(|_| Locked::Damaged)?;
        if !(1..=MOST_WORK).contains(&work) {
            return Err(Locked::Foreign("it requires more work than this program does"));
        }
        let body = line(from)?;
        covered.extend_from_slice(&body);
        let body = decoded(text(&body)?)?;
        let end = line(from)?;
        let sum = decoded(text(&end)?.strip_prefix("--- ").ok_or(Locked::Damaged)?)?;
        let length = (covered.len() + end.len()) as u64;
        covered.extend_from_slice(b"---");
        Ok(Self { salt, work, body, covered, sum, length })
    }

    /// Unlocks the key of the file with `passphrase`.
    ///
    /// # Errors
    /// [`Locked::WrongPassphrase`], [`Locked::Damaged`].
    pub fn unlock(&self, passphrase: &Passphrase) -> Result<FileKey, Locked> {
        let mut body = secrecy::zeroize::Zeroizing::new(self.body.clone());
        if body.len() != FILE_KEY + TAG {
            return Err(Locked::Damaged);
        }
        let key = stretched(passphrase, &self.salt, self.work)?;
        let opened = key.open_in_place(zero_nonce(), Aad::empty(), &mut body);
        let opened = opened.map_err(|_| Locked::WrongPassphrase)?;
        let mut file_key = FileKey(secrecy::zeroize::Zeroizing::new([0; FILE_KEY]));
        file_key.0.copy_from_slice(opened);
        let is_whole = hmac::verify(&file_key.header_key()?, &self.covered, &self.sum).is_ok();
        if is_whole { Ok(file_key) } else { Err(Locked::Damaged) }
    }

    /// The length of a file with this header, if its content has `plain` bytes.
    pub const fn whole_length(&self, plain: u64) -> u64 {
        let chunks = if plain == 0 { 1 } else { plain.div_ceil(CHUNK as u64) };
        self.length + NONCE as u64 + plain + chunks * TAG as u64
    }
}

/// A line with its end; at the end of the file, what is left.
fn line(from: &mut impl BufRead) -> Result<Vec<u8>, Locked> {
    let mut line = Vec::new();
    from.take(MAX_HEADER).read_until(b'\n', &mut line)?;
    match line.last() {
        Some(b'\n') => Ok(line),
        _ if line.len() as u64 == MAX_HEADER => Err(Locked::Damaged),
        // The first line identifies the kind of file.
        _ if MAGIC.starts_with(&line) && !line.is_empty() => Ok(line),
        _ => Err(Locked::Truncated),
    }
}

fn text(line: &[u8]) -> Result<&str, Locked> {
    let line = line.strip_suffix(b"\n").ok_or(Locked::Truncated)?;
    str::from_utf8(line).map_err(|_| Locked::Damaged)
}

fn decoded(text: &str) -> Result<Vec<u8>, Locked> {
    STANDARD_NO_PAD.decode(text).map_err(|_| Locked::Damaged)
}

/// The key that wraps a file's key.
fn stretched(passphrase: &Passphrase, salt: &[u8], work: u8) -> io::Result<LessSafeKey> {
    let params = scrypt::Params::new(work, 8, 1).map_err(io::Error::other)?;
    let mut key = secrecy::zeroize::Zeroizing::new([0; 32]);
    let salt = [SCRYPT_LABEL, salt].concat();
    scrypt::scrypt(passphrase.expose(), &salt, &params, &mut *key).map_err(io::Error::other)?;
    cipher(&key)
}

fn cipher(key: &[u8; 32]) -> io::Result<LessSafeKey> {
    UnboundKey::new(&CHACHA20_POLY1305, key).map(LessSafeKey::new).map_err(|_| unworkable())
}

/// The error for a cipher that fails, which cannot happen for keys and pieces of these lengths.
fn unworkable() -> io::Error {
    io::Error::other("the cipher failed")
}

fn zero_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

impl FileKey {
    fn derived(&self, salt: &[u8], info: &[u8]) -> io::Result<secrecy::zeroize::Zeroizing<[u8; 32]>> {
        struct Length;
        impl hkdf::KeyType for Length {
            fn len(&self) -> usize {
                32
            }
        }
        let mut key = secrecy::zeroize::Zeroizing::new([0; 32]);
        let from = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(&*self.0);
        let filled = from.expand(&[info], Length).and_then(|out| out.fill(&mut *key));
        filled.map_err(|_| unworkable())?;
        Ok(key)
    }

    fn header_key(&self) -> io::Result<hmac::Key> {
        Ok(hmac::Key::new(hmac::HMAC_SHA256, &*self.derived(&[], b"header")?))
    }

    fn payload_key(&self, nonce: &[u8]) -> io::Result<LessSafeKey> {
        cipher(&*self.derived(nonce, b"payload")?)
    }
}

/// The nonce of a chunk, from its number and whether it is the last.
fn nonce_of(chunk: u64, is_last: bool) -> Nonce {
    let mut nonce = [0; 12];
    nonce[3..11].copy_from_slice(&chunk.to_be_bytes());
    nonce[11] = u8::from(is_last);
    Nonce::assume_unique_for_key(nonce)
}

/// Encrypts what is written to it. It must be ended.
pub struct Sealer<W> {
    to: W,
    key: LessSafeKey,
    chunk: u64,
    held: Vec<u8>,
}

impl<W: Write> Sealer<W> {
    /// Writes the header of a file that `passphrase` opens.
    ///
    /// # Errors
    /// The errors of `to`; an error if the system gave no randomness.
    pub fn new(to: W, passphrase: &Passphrase) -> io::Result<Self> {
        Self::with_work(to, passphrase, WORK)
    }

    fn with_work(mut to: W, passphrase: &Passphrase, work: u8) -> io::Result<Self> {
        let (mut salt, mut nonce) = ([0; SALT], [0; NONCE]);
        let mut key = FileKey(secrecy::zeroize::Zeroizing::new([0; FILE_KEY]));
        for random in [&mut salt[..], &mut nonce[..], &mut key.0[..]] {
            getrandom::fill(random).map_err(io::Error::other)?;
        }
        let mut body = secrecy::zeroize::Zeroizing::new(key.0.to_vec());
        let wrapped = stretched(passphrase, &salt, work)?;
        wrapped.seal_in_place_append_tag(zero_nonce(), Aad::empty(), &mut *body).map_err(|_| unworkable())?;
        let mut header = MAGIC.to_vec();
        let (salt, body) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(&*body));
        header.extend_from_slice(format!("-> scrypt {salt} {work}\n{body}\n---").as_bytes());
        let sum = hmac::sign(&key.header_key()?, &header);
        header.extend_from_slice(format!(" {}\n", STANDARD_NO_PAD.encode(sum)).as_bytes());
        to.write_all(&header)?;
        to.write_all(&nonce)?;
        Ok(Self { to, key: key.payload_key(&nonce)?, chunk: 0, held: Vec::with_capacity(CHUNK + TAG) })
    }

    fn put(&mut self, is_last: bool) -> io::Result<()> {
        let nonce = nonce_of(self.chunk, is_last);
        self.key.seal_in_place_append_tag(nonce, Aad::empty(), &mut self.held).map_err(|_| unworkable())?;
        self.to.write_all(&self.held)?;
        self.held.clear();
        self.chunk += 1;
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn end(mut self) -> io::Result<()> {
        self.put(true)?;
        self.to.flush()
    }
}

impl<W: Write> Write for Sealer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The last chunk is never empty, unless there is no content at all: so a full one waits for what
        // follows it.
        if self.held.len() == CHUNK && !bytes.is_empty() {
            self.put(false)?;
        }
        let taken = bytes.len().min(CHUNK - self.held.len());
        self.held.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Decrypts what is read from it. An error of kind [`io::ErrorKind::UnexpectedEof`] means that the file
/// was cut, [`io::ErrorKind::InvalidData`] that it is damaged.
pub struct Opener<R> {
    from: BufReader<R>,
    key: LessSafeKey,
    chunk: u64,
    held: Vec<u8>,
    at: usize,
    is_over: bool,
}

impl<R: Read> Opener<R> {
    /// Opens what follows the header in `from`.
    ///
    /// # Errors
    /// The errors of `from`; an error if it ends here.
    pub fn new(mut from: BufReader<R>, key: &FileKey) -> io::Result<Self> {
        let mut nonce = [0; NONCE];
        from.read_exact(&mut nonce)?;
        let key = key.payload_key(&nonce)?;
        let held = Vec::with_capacity(CHUNK + TAG);
        Ok(Self { from, key, chunk: 0, held, at: 0, is_over: false })
    }

    fn next(&mut self) -> io::Result<()> {
        self.held.clear();
        self.at = 0;
        let read = self.from.by_ref().take((CHUNK + TAG) as u64).read_to_end(&mut self.held)?;
        let is_last = read < CHUNK + TAG || self.from.fill_buf()?.is_empty();
        let sealed = if is_last { self.held.clone() } else { Vec::new() };
        let opened = self.key.open_in_place(nonce_of(self.chunk, is_last), Aad::empty(), &mut self.held);
        let Ok(plain) = opened.map(|plain| plain.len()) else {
            self.held.clear();
            // A whole chunk, where those that should follow it are missing.
            let mut sealed = sealed;
            let is_cut = read == 0
                || (is_last
                    && self
                        .key
                        .open_in_place(nonce_of(self.chunk, false), Aad::empty(), &mut sealed)
                        .is_ok());
            return Err(if is_cut {
                io::ErrorKind::UnexpectedEof.into()
            } else {
                io::Error::new(io::ErrorKind::InvalidData, "a part of it was changed")
            });
        };
        self.held.truncate(plain);
        self.chunk += 1;
        self.is_over = is_last;
        if is_last && plain == 0 && self.chunk > 1 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its last part is empty"));
        }
        Ok(())
    }
}

impl<R: Read> Read for Opener<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.at == self.held.len() {
            if self.is_over {
                return Ok(0);
            }
            self.next()?;
        }
        let taken = to.len().min(self.held.len() - self.at);
        to[..taken].copy_from_slice(&self.held[self.at..self.at + taken]);
        self.at += taken;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sealed(plain: &[u8], passphrase: &str) -> Vec<u8> {
        let mut file = Vec::new();
        let mut sealer = Sealer::with_work(&mut file, &Passphrase::from(passphrase), 2).unwrap();
        sealer.write_all(plain).unwrap();
        sealer.end().unwrap();
        file
    }

    fn opened(file: &[u8], passphrase: &str) -> Result<Vec<u8>, Locked> {
        let mut from = BufReader::new(file);
        let header = Header::read(&mut from)?;
        let key = header.unlock(&Passphrase::from(passphrase))?;
        let mut plain = Vec::new();
        Opener::new(from, &key)?.read_to_end(&mut plain)?;
        assert_eq!(header.whole_length(plain.len() as u64), file.len() as u64);
        Ok(plain)
    }

    /// The last line of the failure.
    fn failure(file: &[u8]) -> String {
        match opened(file, "long enough").unwrap_err() {
            Locked::Io(error) => format!("{:?}", error.kind()),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn o3_11_a_file_that_age_itself_wrote_opens() {
        // age 1.1.1: `printf 'written by age' | age -p`, passphrase "correct horse".
        let file = base64::engine::general_purpose::STANDARD.decode(
            "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IHNjcnlwdCB2K29CQjNVM2lBdEZaYjZQNlhhaUVRIDE4CnhxK2RRc0VL\
             WTg2dVhCRU5jWmpHL2pnRDVabUVDY0hwUEFCbHdPemF6VEEKLS0tIGVIZ2syTWV4NjBOM3hUVmhkU1YyY0lsaEJs\
             K3NpbDJnSGxBV3B0QzFYdVEKboN5Lwlm5s0h4t6PDKPeRJ9YDj7K3gdtMwNE5s4iKVXA2zRIm68CcnoU9T2lCQ==",
        );
        assert_eq!(opened(&file.unwrap(), "correct horse").unwrap(), b"written by age");
    }

    #[test]
    fn o3_11_what_is_sealed_opens_with_its_passphrase_alone() {
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 7] {
            let plain: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect();
            let file = sealed(&plain, "long enough");
            assert_eq!(opened(&file, "long enough").unwrap(), plain, "{length}");
            assert!(matches!(opened(&file, "long enougi"), Err(Locked::WrongPassphrase)), "{length}");
        }
    }

    #[test]
    fn o3_11_a_sealed_file_that_was_cut_or_changed_does_not_open() {
        let plain = vec![7; 2 * CHUNK];
        let file = sealed(&plain, "long enough");
        let header = file.len() - 2 * (CHUNK + TAG);
        for cut in (1..header).chain([header + CHUNK + TAG]) {
            let told = failure(&file[..cut]);
            assert!(["Truncated", "UnexpectedEof", "Damaged"].contains(&told.as_str()), "{cut}: {told}");
        }
        assert_eq!(failure(&file[..header + CHUNK + TAG]), "UnexpectedEof");
        assert_eq!(failure(&file[..header + 2 * CHUNK]), "InvalidData");
        assert_eq!(failure(&[&file[..], b"x"].concat()), "InvalidData");
        // The order of chunks matters.
        let (one, other) = file[header..].split_at(CHUNK + TAG);
        assert_eq!(failure(&[&file[..header], other, one].concat()), "InvalidData");
        for at in (0..header).chain((header..file.len()).step_by(997)) {
            let mut changed = file.clone();
            changed[at] ^= 1;
            assert!(opened(&changed, "long enough").is_err(), "{at}");
        }
        let work = String::from_utf8_lossy(&file[..header]).replace(" 2\n", " 21\n");
        assert!(failure(work.as_bytes()).starts_with("Foreign"));
        assert!(failure(b"age-encryption.org/v1\n-> X25519 abc\n").starts_with("Foreign"));
        assert!(failure(b"something else\n").starts_with("Foreign"));
    }

    proptest! {
        #[test]
        fn o3_11_no_header_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0_usize..150) {
            let mut file = sealed(b"x", "long enough");
            let at = at.min(file.len());
            file.splice(at.., bytes);
            let _ = opened(&file, "long enough");
        }
    }
}
