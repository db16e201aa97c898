//! The queue from the reader to the writer: limited in bytes, and in the original order for the writer.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Limits the bytes in flight.
pub struct Budget {
    limit: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    used: usize,
    is_closed: bool,
}

impl Budget {
    /// Allows `limit` bytes, or one item that is larger.
    pub fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits for room for `bytes`; returns `false` if nobody receives any more.
    pub fn take(&self, bytes: usize) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |state: &mut State| {
            !state.is_closed && state.used > 0 && state.used.saturating_add(bytes) > self.limit
        };
        let mut state = self.changed.wait_while(state, is_full).unwrap_or_else(PoisonError::into_inner);
        if state.is_closed {
            return false;
        }
        state.used = state.used.saturating_add(bytes);
        true
    }

    /// Gives the room of `bytes` back.
    pub fn give(&self, bytes: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.used = state.used.saturating_sub(bytes);
        drop(state);
        self.changed.notify_all();
    }

    /// Notes that nobody receives any more.
    pub fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_closed = true;
        self.changed.notify_all();
    }
}

/// Several items in one message: a message for each of very many small items would take longer than the
/// items.
pub struct Parcel<T> {
    /// The number of the parcel, from 0.
    pub number: u64,
    /// The room that its items take.
    pub weight: usize,
    /// Its items.
    pub items: Vec<T>,
}

/// Puts parcels that arrive in any order back in order.
pub struct InOrder<'a, T> {
    from: Receiver<Parcel<T>>,
    budget: &'a Budget,
    early: BTreeMap<u64, Parcel<T>>,
    next: u64,
    open: std::vec::IntoIter<T>,
}

/// The next item, if there is one.
pub enum Next<T> {
    /// This item.
    One(T),
    /// None before the deadline.
    Late,
    /// No more items.
    End,
}

impl<'a, T> InOrder<'a, T> {
    /// The items of the parcels that `from` delivers. The room of a parcel is given back to `budget` when
    /// it is opened.
    pub fn new(from: Receiver<Parcel<T>>, budget: &'a Budget) -> Self {
        Self { from, budget, early: BTreeMap::new(), next: 0, open: Vec::new().into_iter() }
    }

    /// The next item; waits for it until `deadline`.
    pub fn next(&mut self, deadline: Instant) -> Next<T> {
        loop {
            if let Some(one) = self.open.next() {
                return Next::One(one);
            }
            if let Some(parcel) = self.early.remove(&self.next) {
                self.next += 1;
                self.budget.give(parcel.weight);
                self.open = parcel.items.into_iter();
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.from.recv_timeout(left.max(Duration::from_millis(1))) {
                Ok(parcel) => {
                    self.early.insert(parcel.number, parcel);
                }
                Err(RecvTimeoutError::Timeout) => return Next::Late,
                Err(RecvTimeoutError::Disconnected) => return Next::End,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn o4_2_what_is_parsed_out_of_order_is_written_in_order() {
        let (to, from) = mpsc::channel();
        let budget = Budget::new(100);
        for number in [2, 0, 1, 3] {
            assert!(budget.take(10));
            let items = (3 * number..3 * number + number).collect();
            to.send(Parcel { number, weight: 10, items }).unwrap();
        }
        let mut ordered = InOrder::new(from, &budget);
        let far = Instant::now() + Duration::from_mins(1);
        for wanted in [3, 6, 7, 9, 10, 11] {
            assert!(matches!(ordered.next(far), Next::One(one) if one == wanted));
        }
        assert!(budget.take(100), "the room of the opened parcel is free");
        assert!(matches!(ordered.next(Instant::now()), Next::Late));
        drop(to);
        assert!(matches!(ordered.next(far), Next::End));
    }

    #[test]
    fn o4_2_the_reader_waits_for_room_and_a_large_item_passes_alone() {
        let budget = Budget::new(10);
        assert!(budget.take(25));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| budget.take(1));
            budget.give(25);
            assert!(waiting.join().unwrap());
            let waiting = scope.spawn(|| budget.take(10));
            budget.close();
            assert!(!waiting.join().unwrap());
        });
    }
}
