//! A compressed stream with a limit to its expansion, and a stream that several members of an archive are
//! read from.

use std::io::{self, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::read::MultiGzDecoder;

use super::body::Body;

/// Any compressed stream may expand to this many bytes.
const FREE: u64 = 1 << 30;
/// Beyond that, to this many times its own size.
const RATIO: u64 = 1000;

/// A stream that ends with an error if it expands more than an honest one does.
pub struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Bounded<R> {
    /// Limits `inner`, which comes from `compressed` bytes.
    pub fn new(inner: R, compressed: u64) -> Self {
        Self { inner, left: FREE.max(compressed.saturating_mul(RATIO)) }
    }

    #[cfg(test)]
    pub(super) fn with_limit(inner: R, left: u64) -> Self {
        Self { inner, left }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(to)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "it expands to more than 1,000 times its size")
        })?;
        Ok(read)
    }
}

/// A stream that is only read forward, and its position.
struct Forward {
    stream: Box<dyn Read + Send>,
    at: u64,
}

/// The decompressed bytes of an archive, from which member after member is read without starting again.
pub struct Shared {
    body: Body,
    is_gzip: bool,
    idle: Mutex<Option<Forward>>,
}

impl Shared {
    pub fn new(body: Body, is_gzip: bool) -> Arc<Self> {
        Arc::new(Self { body, is_gzip, idle: Mutex::default() })
    }

    pub const fn body(&self) -> &Body {
        &self.body
    }

    pub const fn is_gzip(&self) -> bool {
        self.is_gzip
    }

    /// All of the bytes, from the beginning.
    pub fn whole(&self) -> Box<dyn Read + Send> {
        let body = self.body.part(0, self.body.length());
        let read = BufReader::with_capacity(1 << 16, body);
        if self.is_gzip {
            Box::new(Bounded::new(MultiGzDecoder::new(read), self.body.length()))
        } else {
            Box::new(read)
        }
    }

    /// The `size` bytes from `offset` on.
    pub fn part(self: &Arc<Self>, offset: u64, size: u64) -> io::Result<Part> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut forward = match idle {
            Some(idle) if idle.at <= offset => idle,
            _ => Forward { stream: self.whole(), at: 0 },
        };
        let ahead = offset - forward.at;
        let skipped = io::copy(&mut forward.stream.by_ref().take(ahead), &mut io::sink())?;
        if skipped < ahead {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        forward.at = offset;
        Ok(Part { forward: Some(forward), left: size, home: Arc::clone(self) })
    }
}

/// A member of a stream. Reading continues from its end for the next one.
pub struct Part {
    forward: Option<Forward>,
    left: u64,
    home: Arc<Shared>,
}

impl Read for Part {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let Some(forward) = &mut self.forward else { return Ok(0) };
        let wanted = to.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if wanted == 0 {
            return Ok(0);
        }
        let read = forward.stream.read(&mut to[..wanted])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        forward.at += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        *self.home.idle.lock().unwrap_or_else(PoisonError::into_inner) = self.forward.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o4_14_what_expands_beyond_its_bound_ends_with_an_error() {
        let mut stream = Bounded::with_limit(io::repeat(b'x'), 1000);
        let failed = io::copy(&mut stream, &mut io::sink()).unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::InvalidData);
        let mut honest = Bounded::with_limit(io::repeat(b'x').take(1000), 1000);
        assert_eq!(io::copy(&mut honest, &mut io::sink()).unwrap(), 1000);
        assert_eq!(Bounded::new(io::empty(), 1).left, FREE);
        assert_eq!(Bounded::new(io::empty(), FREE).left, FREE * RATIO);
    }
}
