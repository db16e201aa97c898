//! The connections to the owner's socket. Their number is limited: if there is no room, the one that has
//! been silent for longest is closed. So nobody keeps the person out by staying silent, and nothing grows
//! without limit.

use std::collections::HashMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most conversations of the person at once, and as many of root.
pub(super) const MOST: usize = 16;
/// The most threads at once: one whose conversation has ended may still wait for a disk.
const MOST_THREADS: usize = 64;
/// How long to wait for a conversation that is closing.
const GOING_TIME: Duration = Duration::from_secs(1);
/// The most conversations at once in which files are handed over.
const MOST_HANDING: usize = 4;
/// The most threads of such conversations, including those that have ended but still read a file.
const MOST_HANDING_THREADS: usize = 8;

/// The conversations.
#[derive(Debug, Default)]
pub(super) struct Places {
    inner: Mutex<Inner>,
    /// Signals that a thread has ended.
    left: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    threads: usize,
    /// How many of them hand over files.
    handing: usize,
    open: HashMap<u64, Open>,
}

#[derive(Debug)]
struct Open {
    stream: UnixStream,
    is_root: bool,
    /// When it last sent or did something.
    heard: Instant,
    doing: Doing,
}

/// What a conversation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// It waits for the caller.
    Listens,
    /// It waits for the caller, and receives files.
    Takes,
    /// It is working, and is not closed for its silence.
    Works,
}

/// The place of one conversation, for as long as its thread lives.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    id: u64,
    hands_over: AtomicBool,
}

impl Places {
    /// A place for `stream`; `None` if there is none, because all are working.
    pub(super) fn enter(self: &Arc<Self>, stream: &UnixStream, is_root: bool) -> Option<Place> {
        let stream = stream.try_clone().ok()?;
        // Conversations that were ended leave as soon as they notice.
        let is_full = |inner: &mut Inner| inner.threads >= MOST_THREADS;
        let waited = self.left.wait_timeout_while(self.lock(), GOING_TIME, is_full);
        let (mut inner, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return None;
        }
        let count = inner.open.values().filter(|open| open.is_root == is_root).count();
        if count >= MOST && !inner.end_most_silent(|open| open.is_root == is_root) {
            return None;
        }
        inner.next += 1;
        inner.threads += 1;
        let id = inner.next;
        inner.open.insert(id, Open { stream, is_root, heard: Instant::now(), doing: Doing::Listens });
        Some(Place { places: Arc::clone(self), id, hands_over: AtomicBool::new(false) })
    }

    /// Ends all conversations.
    pub(super) fn end_all(&self) {
        for (_, open) in self.lock().open.drain() {
            let _ = open.stream.shutdown(Shutdown::Both);
        }
    }

    /// How many threads are left.
    pub(super) fn threads(&self) -> usize {
        self.lock().threads
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn end_most_silent(&mut self, among: impl Fn(&Open) -> bool) -> bool {
        let waiting = self.open.iter().filter(|(_, open)| open.doing != Doing::Works && among(open));
        let silent = waiting.min_by_key(|(_, open)| open.heard).map(|(id, _)| *id);
        let Some(open) = silent.and_then(|id| self.open.remove(&id)) else { return false };
        let _ = open.stream.shutdown(Shutdown::Both);
        true
    }
}

impl Place {
    /// Notes that it sent something, or made progress.
    pub(super) fn is_heard(&self) {
        if let Some(open) = self.places.lock().open.get_mut(&self.id) {
            open.heard = Instant::now();
        }
    }

    /// Marks it as handing over files; returns false if there are too many such conversations.
    pub(super) fn hands_over(&self) -> bool {
        let mut inner = self.places.lock();
        if inner.handing >= MOST_HANDING_THREADS || self.hands_over.swap(true, Ordering::Relaxed) {
            return false;
        }
        inner.handing += 1;
        true
    }

    /// Sets what it does from now on; returns false if it has lost its place.
    pub(super) fn does(&self, doing: Doing) -> bool {
        let mut inner = self.places.lock();
        if !inner.open.contains_key(&self.id) {
            return false;
        }
        let taking =
            inner.open.iter().filter(|(id, open)| open.doing == Doing::Takes && **id != self.id).count();
        if doing == Doing::Takes && taking >= MOST_HANDING {
            inner.end_most_silent(|open| open.doing == Doing::Takes);
        }
        match inner.open.get_mut(&self.id) {
            Some(open) => {
                open.doing = doing;
                open.heard = Instant::now();
                true
            }
            None => false,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inner = self.places.lock();
        inner.threads = inner.threads.saturating_sub(1);
        if self.hands_over.load(Ordering::Relaxed) {
            inner.handing = inner.handing.saturating_sub(1);
        }
        inner.open.remove(&self.id);
        drop(inner);
        self.places.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ended(stream: &UnixStream) -> bool {
        use std::io::Read as _;
        stream.set_nonblocking(true).unwrap();
        matches!((&mut &*stream).read(&mut [0]), Ok(0))
    }

    #[test]
    fn o9_3_whoever_is_silent_makes_room_and_whoever_works_stays() {
        let places = Arc::new(Places::default());
        let enter = |is_root| {
            let (ours, theirs) = UnixStream::pair().unwrap();
            places.enter(&theirs, is_root).map(|place| (ours, place))
        };
        let first = enter(false).unwrap();
        let second = enter(false).unwrap();
        assert!(first.1.does(Doing::Works));
        let mut others: Vec<_> = (2..MOST).map(|_| enter(false).unwrap()).collect();
        assert!(enter(true).is_some(), "root has its own places");
        others.push(enter(false).unwrap());
        assert!(is_ended(&second.0) && !is_ended(&first.0));
        assert!(!second.1.does(Doing::Works));
        for (_, place) in &others {
            assert!(place.does(Doing::Works));
        }
        assert!(enter(false).is_none());
        let _ = others.pop();
        assert!(enter(false).is_some());

        // Threads that receive files are limited, even those whose conversation has ended.
        let places = Arc::new(Places::default());
        let enter = || places.enter(&UnixStream::pair().unwrap().0, false).unwrap();
        let mut handing: Vec<_> = (0..MOST_HANDING_THREADS).map(|_| enter()).collect();
        assert!(handing.iter().all(Place::hands_over));
        assert!(!enter().hands_over());
        assert!(handing.iter().filter(|place| place.does(Doing::Takes)).count() == MOST_HANDING_THREADS);
        let open = handing.iter().filter(|place| place.does(Doing::Takes)).count();
        assert_eq!(open, MOST_HANDING);
        let _ = handing.pop();
        assert!(enter().hands_over());
    }
}
