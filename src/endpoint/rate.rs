//! How often one bearer may ask, and how many requests it may have at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::admission::BearerHash;

/// The maximum number of bearers to keep count of.
const MOST: usize = 16_384;

/// The limits of one endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    /// Requests of one bearer per minute, on average; 1 or more.
    pub per_minute: u32,
    /// Concurrent requests of one bearer; 1 or more.
    pub at_once_per_bearer: u32,
    /// Concurrent requests in total; 1 or more.
    pub at_once: u32,
}

impl Allowance {
    /// How many requests may come at once after a pause: as many as in ten seconds.
    fn burst(self) -> f64 {
        f64::from(self.per_minute / 6).max(1.0)
    }
}

/// Keeps count.
pub struct Rate {
    allowance: Allowance,
    at_once: Arc<Semaphore>,
    bearers: Mutex<HashMap<BearerHash, Bearer>>,
}

struct Bearer {
    /// Requests that may still come, as of `counted`: a token bucket.
    left: f64,
    counted: Instant,
    at_once: Arc<Semaphore>,
}

/// A running request's place; given back when dropped.
#[derive(Debug)]
pub struct Permit {
    _of_all: OwnedSemaphorePermit,
    _of_bearer: OwnedSemaphorePermit,
}

/// Why a request must wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The bearer asks too often: HTTP 429.
    TooOften {
        /// Whole seconds until the next request may come.
        retry_after: u64,
    },
    /// The bearer has too many requests at once: HTTP 429.
    TooManyAtOnce,
    /// All bearers together have too many: HTTP 503.
    Busy,
}

impl Wait {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::TooOften { .. } => "rate_limited",
            Self::TooManyAtOnce => "too_many_at_once",
            Self::Busy => "endpoint_busy",
        }
    }

    /// Seconds to wait before asking again.
    pub const fn retry_after(self) -> u64 {
        match self {
            Self::TooOften { retry_after } => retry_after,
            Self::TooManyAtOnce | Self::Busy => 1,
        }
    }
}

impl Rate {
    /// A count with this allowance.
    pub fn new(allowance: Allowance) -> Self {
        Self {
            allowance,
            at_once: Arc::new(Semaphore::new(allowance.at_once as usize)),
            bearers: Mutex::default(),
        }
    }

    /// Counts a request of `bearer`.
    ///
    /// # Errors
    /// Returns [`Wait`] if the request must wait.
    pub fn enter(&self, bearer: BearerHash) -> Result<Permit, Wait> {
        let of_bearer = self.count(bearer, Instant::now())?;
        let of_bearer = of_bearer.try_acquire_owned().map_err(|_| Wait::TooManyAtOnce)?;
        let of_all = Arc::clone(&self.at_once).try_acquire_owned().map_err(|_| Wait::Busy)?;
        Ok(Permit { _of_all: of_all, _of_bearer: of_bearer })
    }

    fn count(&self, hash: BearerHash, now: Instant) -> Result<Arc<Semaphore>, Wait> {
        let Allowance { per_minute, at_once_per_bearer, .. } = self.allowance;
        let a_second = f64::from(per_minute) / 60.0;
        let burst = self.allowance.burst();
        let mut bearers = self.bearers.lock().unwrap_or_else(PoisonError::into_inner);
        if bearers.len() >= MOST && !bearers.contains_key(&hash) {
            // A bearer whose bucket is full again need not be remembered.
            let full = Duration::from_secs_f64(burst / a_second);
            bearers.retain(|_, bearer| {
                now.duration_since(bearer.counted) < full || Arc::strong_count(&bearer.at_once) > 1
            });
            if bearers.len() >= MOST {
                return Err(Wait::Busy);
            }
        }
        let bearer = bearers.entry(hash).or_insert_with(|| Bearer {
            left: burst,
            counted: now,
            at_once: Arc::new(Semaphore::new(at_once_per_bearer as usize)),
        });
        let passed = now.duration_since(bearer.counted).as_secs_f64();
        bearer.left = passed.mul_add(a_second, bearer.left).min(burst);
        bearer.counted = now;
        if bearer.left < 1.0 {
            let wait = Duration::from_secs_f64((1.0 - bearer.left) / a_second);
            return Err(Wait::TooOften { retry_after: wait.as_secs() + 1 });
        }
        bearer.left -= 1.0;
        Ok(Arc::clone(&bearer.at_once))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::AccessToken;

    fn bearer(n: usize) -> BearerHash {
        BearerHash::of(&AccessToken::new(format!("bearer-{n}")).unwrap())
    }

    fn rate(per_minute: u32, at_once_per_bearer: u32, at_once: u32) -> Rate {
        Rate::new(Allowance { per_minute, at_once_per_bearer, at_once })
    }

    #[test]
    fn a_bearer_has_a_burst_then_its_rate_and_no_part_of_anothers() {
        let rate = rate(60, 9, 9);
        let start = Instant::now();
        for _ in 0..10 {
            assert!(rate.count(bearer(1), start).is_ok());
        }
        assert_eq!(rate.count(bearer(1), start).unwrap_err(), Wait::TooOften { retry_after: 2 });
        assert!(rate.count(bearer(2), start).is_ok());
        let later = start + Duration::from_millis(1_500);
        assert!(rate.count(bearer(1), later).is_ok());
        assert_eq!(rate.count(bearer(1), later).unwrap_err(), Wait::TooOften { retry_after: 1 });
        let much_later = start + Duration::from_hours(1);
        assert_eq!((0..99).filter(|_| rate.count(bearer(1), much_later).is_ok()).count(), 10);
    }

    #[test]
    fn places_are_counted_for_each_and_for_all_and_given_back() {
        let rate = rate(6_000, 2, 3);
        let first = rate.enter(bearer(1)).unwrap();
        let _second = rate.enter(bearer(1)).unwrap();
        assert_eq!(rate.enter(bearer(1)).unwrap_err(), Wait::TooManyAtOnce);
        let _third = rate.enter(bearer(2)).unwrap();
        assert_eq!(rate.enter(bearer(3)).unwrap_err(), Wait::Busy);
        drop(first);
        assert!(rate.enter(bearer(3)).is_ok());
    }

    #[test]
    fn however_many_bearers_come_what_is_kept_of_them_is_bounded() {
        let rate = rate(60, 1, 1);
        let start = Instant::now();
        for n in 0..MOST {
            assert!(rate.count(bearer(n), start).is_ok());
        }
        assert_eq!(rate.count(bearer(MOST), start).unwrap_err(), Wait::Busy);
        assert!(rate.count(bearer(0), start).is_ok(), "a known bearer is still served");
        assert!(rate.count(bearer(MOST), start + Duration::from_secs(11)).is_ok());
        assert!(rate.bearers.lock().unwrap().len() <= MOST);
    }
}
