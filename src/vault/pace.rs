//! Keeps the duration of a read from revealing what a grant hides. Most reads look at covered rows only. Reads that
//! must look at other rows, such as a search of an index of all words, answer at the next full [`STEP`].

use std::cell::Cell;
use std::time::{Duration, Instant};

/// A read that looked at hidden rows is answered after a whole number of these steps.
pub const STEP: Duration = Duration::from_millis(25);

/// Tells the time and lets it pass.
pub trait Clock: Send + Sync {
    /// The time since some fixed moment.
    fn now(&self) -> Duration;
    /// Returns after this much time.
    fn sleep(&self, time: Duration);
}

/// The machine's clock.
#[derive(Debug)]
pub struct MachineClock(Instant);

impl Default for MachineClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for MachineClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The pace of one read.
pub struct Pace<'a> {
    clock: &'a dyn Clock,
    began: Duration,
    hides: Cell<bool>,
}

impl<'a> Pace<'a> {
    /// Starts a read.
    pub fn begin(clock: &'a dyn Clock) -> Self {
        Self { clock, began: clock.now(), hides: Cell::new(false) }
    }

    /// Declares that the read's duration would reveal hidden rows. Whether this is called must not depend on hidden
    /// rows either, only on the grant and on what the answer shows.
    pub fn hide(&self) {
        self.hides.set(true);
    }

    /// Ends the read. Waits for the next step if its duration would reveal something.
    pub fn end(self) {
        if self.hides.get() {
            let step = STEP.as_nanos();
            let into = self.clock.now().saturating_sub(self.began).as_nanos() % step;
            let left = u64::try_from(step - into).unwrap_or_default();
            self.clock.sleep(Duration::from_nanos(left));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::Mutex;

    /// A clock that advances by `work` whenever it is read, and by the time slept.
    #[derive(Debug, Default)]
    pub(crate) struct MovedClock {
        /// The work between two reads of the clock.
        pub(crate) work: Mutex<Duration>,
        now: Mutex<Duration>,
        slept: Mutex<Vec<Duration>>,
    }

    impl MovedClock {
        /// How long was slept since the last call.
        pub(crate) fn slept(&self) -> Vec<Duration> {
            std::mem::take(&mut self.slept.lock().unwrap())
        }
    }

    impl Clock for std::sync::Arc<MovedClock> {
        fn now(&self) -> Duration {
            let mut now = self.now.lock().unwrap();
            let told = *now;
            *now += *self.work.lock().unwrap();
            told
        }

        fn sleep(&self, time: Duration) {
            *self.now.lock().unwrap() += time;
            self.slept.lock().unwrap().push(time);
        }
    }

    /// Requirement O6.11.
    #[test]
    fn a_read_that_hides_something_ends_at_the_next_full_step() {
        let clock = std::sync::Arc::new(MovedClock::default());
        for (work, slept) in [
            (Duration::from_micros(1), Duration::from_micros(24_999)),
            (Duration::from_millis(24), Duration::from_millis(1)),
            (Duration::from_millis(25), STEP),
            (Duration::from_millis(26), Duration::from_millis(24)),
            (Duration::from_millis(260), Duration::from_millis(15)),
        ] {
            *clock.work.lock().unwrap() = work;
            let pace = Pace::begin(&clock);
            pace.hide();
            pace.end();
            assert_eq!(clock.slept(), [slept], "after {work:?}");
            Pace::begin(&clock).end();
            assert!(clock.slept().is_empty(), "nothing was hidden");
        }
    }
}
