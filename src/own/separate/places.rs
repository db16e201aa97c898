//! Who is connected to the owner's socket: so many at once, and where there is no room, whoever has been silent for the longest time
//! goes. So nobody keeps the person out by saying nothing, and nothing grows.

use std::collections::HashMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Conversations at once of the person, and as many of root.
pub(super) const MOST: usize = 16;
/// Threads at once: one whose conversation was ended may wait for a disk still.
const MOST_THREADS: usize = 64;
/// How long one is waited for that goes.
const GOING_TIME: Duration = Duration::from_secs(1);
/// Conversations in which files are handed over, at once.
const MOST_HANDING: usize = 4;
/// Threads of such conversations, those among them that were ended and read a file still.
const MOST_HANDING_THREADS: usize = 8;

/// The conversations.
#[derive(Debug, Default)]
pub(super) struct Places {
    inner: Mutex<Inner>,
    /// A thread has ended.
    left: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    threads: usize,
    /// Those of them in which files are handed over.
    handing: usize,
    open: HashMap<u64, Open>,
}

#[derive(Debug)]
struct Open {
    stream: UnixStream,
    is_root: bool,
    /// When it was last heard, or did something.
    heard: Instant,
    doing: Doing,
}

/// What a conversation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// It waits for the caller.
    Listens,
    /// It waits for the caller, and takes files.
    Takes,
    /// It works: it is not ended for its silence.
    Works,
}

/// One conversation's place, as long as its thread lives.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    id: u64,
    hands_over: AtomicBool,
}

impl Places {
    /// A place for `stream`; `None` where there is none, since all work.
    pub(super) fn enter(self: &Arc<Self>, stream: &UnixStream, is_root: bool) -> Option<Place> {
        let stream = stream.try_clone().ok()?;
        // Those whose conversation was ended go as soon as they see that.
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

    /// How many threads there are still.
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
    /// It was heard, or has got further.
    pub(super) fn is_heard(&self) {
        if let Some(open) = self.places.lock().open.get_mut(&self.id) {
            open.heard = Instant::now();
        }
    }

    /// Files are handed over in it from now on; false where there are too many such.
    pub(super) fn hands_over(&self) -> bool {
        let mut inner = self.places.lock();
        if inner.handing >= MOST_HANDING_THREADS || self.hands_over.swap(true, Ordering::Relaxed) {
            return false;
        }
        inner.handing += 1;
        true
    }

    /// What it does from now on; false where it has no place any more.
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
        assert!(enter(true).is_some(), "root has places of its own");
        others.push(enter(false).unwrap());
        assert!(is_ended(&second.0) && !is_ended(&first.0));
        assert!(!second.1.does(Doing::Works));
        for (_, place) in &others {
            assert!(place.does(Doing::Works));
        }
        assert!(enter(false).is_none());
        let _ = others.pop();
        assert!(enter(false).is_some());

        // Threads in which files are handed over are few, whether or not their conversation was ended.
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
