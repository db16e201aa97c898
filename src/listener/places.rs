//! The connected clients: limits how many there are at once, and how many from one address. If there is no
//! room, the client that has sent nothing for the longest time is cut off: a client that wants something asks
//! at once.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a client may accept no byte of an answer while others wait: any client that reads at all reads
/// sooner.
const STALLED: Duration = Duration::from_secs(3);

/// Counts connections, for showing them to an operator.
pub trait Counter: Send + Sync {
    /// Counts a new connection.
    fn entered(&self);
    /// Counts a connection that has ended.
    fn left(&self);
    /// Counts a connection that was cut off, and `why`: `room` if others needed its place, `address` if its
    /// address had too many.
    fn hung_up(&self, why: &'static str);
}

/// The limits on connections.
#[derive(Debug, Clone)]
pub struct Room {
    /// The limit for all connections.
    pub most: usize,
    /// The limit for one address that is not trusted; for IPv6, for one /64.
    pub most_per_address: usize,
    /// Proxies: the clients behind them are unknown, so a proxy does not count as one client. Loopback is
    /// always trusted.
    pub trusted: Vec<IpAddr>,
}

/// The connections of one listener.
pub struct Places {
    room: Room,
    counter: Option<Arc<dyn Counter>>,
    began: Instant,
    inner: Mutex<Inner>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    open: HashMap<u64, Open>,
    /// The connections without a request in progress, by when that began.
    silent: BTreeMap<u64, u64>,
    by_address: HashMap<IpAddr, usize>,
}

#[derive(Debug)]
struct Open {
    /// `None` for a trusted address.
    address: Option<IpAddr>,
    /// The connection's key in `silent`.
    since: Option<u64>,
    signs: Arc<Signs>,
    gone: CancellationToken,
}

/// What a connection shows about its client.
#[derive(Debug, Default)]
pub struct Signs {
    /// The client must still accept something, or the rest of its body is being read.
    pub unsent: AtomicBool,
    /// The time since when it has accepted nothing, in milliseconds from the listener's start; 0 if it does
    /// accept.
    stalled: AtomicU64,
}

/// The place of one connection, for as long as it lives.
pub struct Place {
    places: Arc<Places>,
    id: u64,
    /// Signals that another connection has the place now.
    pub gone: CancellationToken,
    /// What is known about the client.
    pub signs: Arc<Signs>,
}

impl Places {
    /// Places without any connection yet.
    pub fn new(room: Room, counter: Option<Arc<dyn Counter>>) -> Self {
        Self { room, counter, began: Instant::now(), inner: Mutex::default(), changed: Notify::new() }
    }

    /// A place for a connection from `from`, once there is one; `None` if its address has as many requests in
    /// progress as it may.
    pub async fn enter(self: &Arc<Self>, from: IpAddr) -> Option<Place> {
        let address = self.counted(from);
        loop {
            let changed = self.changed.notified();
            match self.try_enter(address) {
                Entered::In(place) => return Some(place),
                Entered::Refused => return None,
                Entered::Full => {}
            }
            changed.await;
        }
    }

    /// Ends the connection that has sent nothing for the longest time, if there is one. For when no more files
    /// can be opened.
    pub fn make_room(&self) -> bool {
        self.end_oldest(&mut self.lock(), |_| true)
    }

    fn try_enter(self: &Arc<Self>, address: Option<IpAddr>) -> Entered {
        let mut inner = self.lock();
        if let Some(address) = address
            && inner.by_address.get(&address).is_some_and(|count| *count >= self.room.most_per_address)
            && !self.end_oldest(&mut inner, |open| open.address == Some(address))
        {
            self.count(|counter| counter.hung_up("address"));
            return Entered::Refused;
        }
        // A proxy's idle connections carry other people's next requests.
        if inner.open.len() >= self.room.most
            && !self.end_oldest(&mut inner, |open| open.address.is_some())
            && !self.end_oldest(&mut inner, |_| true)
        {
            return Entered::Full;
        }
        let (id, gone, signs) = (inner.turn(), CancellationToken::new(), Arc::<Signs>::default());
        inner.silent.insert(id, id);
        let open = Open { address, since: Some(id), signs: Arc::clone(&signs), gone: gone.clone() };
        inner.open.insert(id, open);
        if let Some(address) = address {
            *inner.by_address.entry(address).or_default() += 1;
        }
        self.count(|counter| counter.entered());
        Entered::In(Place { places: Arc::clone(self), id, gone, signs })
    }

    /// Ends the oldest connection that sends nothing, or else the oldest that accepts nothing.
    fn end_oldest(&self, inner: &mut Inner, among: impl Fn(&Open) -> bool) -> bool {
        let now = self.now();
        let oldest = |is_due: &dyn Fn(&Signs) -> bool| {
            inner
                .silent
                .values()
                .copied()
                .find(|id| inner.open.get(id).is_some_and(|open| among(open) && is_due(&open.signs)))
        };
        let stalled = |signs: &Signs| match signs.stalled.load(Ordering::Relaxed) {
            0 => false,
            since => now.saturating_sub(since) >= STALLED.as_secs() * 1_000,
        };
        let found = oldest(&|signs| !signs.unsent.load(Ordering::Relaxed)).or_else(|| oldest(&stalled));
        let Some(open) = found.and_then(|id| self.leave(inner, id)) else { return false };
        open.gone.cancel();
        self.count(|counter| counter.hung_up("room"));
        true
    }

    fn leave(&self, inner: &mut Inner, id: u64) -> Option<Open> {
        let open = inner.open.remove(&id)?;
        if let Some(since) = open.since {
            inner.silent.remove(&since);
        }
        if let Some(address) = open.address
            && let Some(count) = inner.by_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                inner.by_address.remove(&address);
            }
        }
        self.count(|counter| counter.left());
        Some(open)
    }

    fn count(&self, tell: impl FnOnce(&dyn Counter)) {
        if let Some(counter) = self.counter.as_deref() {
            tell(counter);
        }
    }

    /// The address that a connection counts for; `None` if it may carry anyone's requests.
    fn counted(&self, from: IpAddr) -> Option<IpAddr> {
        let from = from.to_canonical();
        if from.is_loopback() || self.room.trusted.iter().any(|trusted| trusted.to_canonical() == from) {
            return None;
        }
        Some(match from {
            IpAddr::V4(_) => from,
            // The owner of one address in the network has all of them.
            IpAddr::V6(whole) => Ipv6Addr::from_bits(whole.to_bits() >> 64 << 64).into(),
        })
    }

    /// Milliseconds since the listener began, plus 1, because 0 means that nothing stalls.
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    const fn turn(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

enum Entered {
    In(Place),
    Full,
    Refused,
}

impl Place {
    /// Records that a request on the connection is in progress.
    pub fn works(&self) {
        let mut inner = self.places.lock();
        if let Some(since) = inner.open.get_mut(&self.id).and_then(|open| open.since.take()) {
            inner.silent.remove(&since);
        }
    }

    /// Records that the request is answered, and that no other one has begun.
    pub fn is_answered(&self) {
        let mut inner = self.places.lock();
        let turn = inner.turn();
        if let Some(open) = inner.open.get_mut(&self.id) {
            open.since = Some(turn);
            inner.silent.insert(turn, self.id);
            drop(inner);
            self.places.changed.notify_one();
        }
    }

    /// Records whether the client has stopped reading, so that nothing can be written to it.
    pub fn stalls(&self, is_stalled: bool) {
        let since = if is_stalled { self.places.now() } else { 0 };
        self.signs.stalled.store(since, Ordering::Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.places.leave(&mut self.places.lock(), self.id);
        self.places.changed.notify_one();
    }
}

/// The number of connections that fit if this process may have `files` open. Each of the `at_once` requests
/// in progress also has a connection to the provider.
pub fn fitting(most: usize, at_once: usize, files: Option<u64>) -> usize {
    /// The log, the listeners, introspection, and the files that libraries open.
    const OTHERS: usize = 64;
    let Some(files) = files.and_then(|files| usize::try_from(files).ok()) else { return most };
    most.min(files.saturating_sub(at_once + OTHERS).max(files / 4)).max(1)
}

/// Raises the number of open files to the system's limit for this process. Returns the limit if it is known.
pub fn allow_files() -> Option<u64> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        /// The most that macOS accepts (`OPEN_MAX`): it refuses a request for "as many as allowed"
        /// (setrlimit(2)).
        const OPEN_MAX: u64 = 10_240;
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let current = if cfg!(target_os = "macos") {
            Some(maximum.map_or(OPEN_MAX, |maximum| maximum.min(OPEN_MAX)))
        } else {
            maximum
        };
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
        getrlimit(Resource::Nofile).current
    }
    #[cfg(not(unix))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(most: usize, most_per_address: usize, trusted: &[&str]) -> Arc<Places> {
        let trusted = trusted.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Places::new(Room { most, most_per_address, trusted }, None))
    }

    #[allow(
        clippy::option_option,
        reason = "the outer option tells whether there is room at once, the inner one whether there is a place"
    )]
    fn enter(places: &Arc<Places>, from: &str) -> Option<Option<Place>> {
        use futures_util::FutureExt as _;
        places.enter(from.parse().unwrap()).now_or_never()
    }

    fn within(places: &Arc<Places>, from: &str) -> Place {
        enter(places, from).unwrap().unwrap()
    }

    #[test]
    fn where_there_is_no_room_the_oldest_that_says_nothing_goes() {
        let places = places(3, 3, &[]);
        let [first, second, third] = [(); 3].map(|()| within(&places, "127.0.0.1"));
        // It asked and was answered: the second is now the oldest.
        first.works();
        first.is_answered();
        let fourth = within(&places, "127.0.0.1");
        assert!(second.gone.is_cancelled() && !first.gone.is_cancelled() && !third.gone.is_cancelled());
        // A client whose request is in progress, or that reads its answer, stays.
        first.works();
        third.works();
        fourth.signs.unsent.store(true, Ordering::Relaxed);
        assert!(enter(&places, "127.0.0.1").is_none());
        third.is_answered();
        let fifth = within(&places, "127.0.0.1");
        assert!(third.gone.is_cancelled());
        fifth.works();
        assert!(enter(&places, "127.0.0.1").is_none());
        drop(second);
        drop(third);
        assert!(enter(&places, "127.0.0.1").is_none(), "others already have their places");
        drop(first);
        let sixth = within(&places, "127.0.0.1");
        assert!(!fifth.gone.is_cancelled() && !sixth.gone.is_cancelled());
    }

    #[test]
    fn an_address_has_its_bound_and_costs_nobody_else_a_place() {
        let places = places(10, 2, &["192.0.2.9"]);
        let other = within(&places, "192.0.2.1");
        let [first, second] = [(); 2].map(|()| within(&places, "192.0.2.7"));
        let third = within(&places, "::ffff:192.0.2.7");
        assert!(first.gone.is_cancelled() && !second.gone.is_cancelled() && !other.gone.is_cancelled());
        second.works();
        third.works();
        assert!(enter(&places, "192.0.2.7").unwrap().is_none(), "all of its own are at work");
        // A network of one owner counts as one address; a proxy stands for many people.
        let [old, _new] = ["2001:db8::1", "2001:db8::2"].map(|from| within(&places, from));
        let _third = within(&places, "2001:db8::3");
        assert!(old.gone.is_cancelled());
        let proxied = [(); 3].map(|()| within(&places, "192.0.2.9"));
        assert!(proxied.iter().all(|place| !place.gone.is_cancelled()));
        assert_eq!(places.lock().open.len(), 8);
    }

    #[test]
    fn a_proxys_idle_connections_go_last() {
        let places = places(2, 2, &[]);
        let proxied = within(&places, "127.0.0.1");
        let stranger = within(&places, "192.0.2.1");
        let next = within(&places, "192.0.2.2");
        assert!(stranger.gone.is_cancelled() && !proxied.gone.is_cancelled());
        next.works();
        let _last = within(&places, "192.0.2.3");
        assert!(proxied.gone.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_takes_nothing_of_an_answer_makes_room_after_a_moment() {
        let places = places(1, 1, &[]);
        let slow = within(&places, "127.0.0.1");
        slow.signs.unsent.store(true, Ordering::Relaxed);
        slow.stalls(true);
        assert!(enter(&places, "127.0.0.1").is_none());
        tokio::time::sleep(STALLED).await;
        let _next = within(&places, "127.0.0.1");
        assert!(slow.gone.is_cancelled());
    }

    #[test]
    fn there_are_files_left_for_the_requests() {
        assert_eq!(fitting(4096, 256, None), 4096);
        assert_eq!(fitting(4096, 256, Some(1 << 20)), 4096);
        assert_eq!(fitting(4096, 256, Some(1024)), 704);
        assert_eq!(fitting(4096, 256, Some(256)), 64);
        assert_eq!(fitting(20, 256, Some(256)), 20);
    }
}
