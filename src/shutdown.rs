//! What this process waits for before it ends: a token that is on its way here and not stored yet.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The end of this process.
pub static PROCESS: Ending = Ending::new();

/// The longest delay of the end of the process.
pub const LONGEST: Duration = Duration::from_secs(5);

/// An end that can be delayed for a while.
#[derive(Debug)]
pub struct Ending {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy)]
struct State {
    holds: usize,
    has_come: bool,
}

/// Delays the end until it is dropped.
#[derive(Debug)]
pub struct Hold<'a>(&'a Ending);

impl Ending {
    const fn new() -> Self {
        Self { state: Mutex::new(State { holds: 0, has_come: false }), changed: Condvar::new() }
    }

    /// Delays the end. `None` if the end has already come: work that must not be cut off may then not begin.
    pub fn hold(&self) -> Option<Hold<'_>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.has_come {
            return None;
        }
        state.holds += 1;
        Some(Hold(self))
    }

    /// Whether anything delays the end.
    pub fn is_held(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).holds > 0
    }

    /// Begins the end: allows no new holds, and waits at most `limit` for the existing ones.
    pub fn wait(&self, limit: Duration) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.has_come = true;
        let _ = self.changed.wait_timeout_while(state, limit, |state| state.holds > 0);
    }

    /// Waits until nothing delays the end, but at most `limit`.
    pub async fn released(&self, limit: Duration) {
        let end = Instant::now() + limit;
        while self.is_held() && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).holds -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_waits_for_what_has_begun_and_lets_nothing_begin() {
        let ending = Ending::new();
        let hold = ending.hold().unwrap();
        assert!(ending.is_held());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| ending.wait(Duration::from_mins(1)));
            while ending.hold().is_some() {
                std::thread::yield_now();
            }
            assert!(!waiting.is_finished());
            drop(hold);
        });
        assert!(!ending.is_held() && ending.hold().is_none());
    }

    #[test]
    fn an_end_comes_in_spite_of_a_hold_that_stays() {
        let ending = Ending::new();
        let _hold = ending.hold();
        let started = Instant::now();
        ending.wait(Duration::from_millis(30));
        assert!(started.elapsed() >= Duration::from_millis(30) && ending.is_held());
    }
}
