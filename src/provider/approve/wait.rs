//! Waiting for an owner, at the pace of RFC 8628 §3.5.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::ApproveError;
use crate::provider::http::HttpError;

/// How long to wait for the owner: until the provider's page expires, or until this program's own limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// The time until this program stops waiting: 1 s to 1 h.
    pub waits: Duration,
    /// The time until the provider's page expires, if the provider states it.
    lasts: Option<Duration>,
}

impl Patience {
    /// Used if a provider states nothing (RFC 8628 §3.2 requires it to).
    const DEFAULT: Duration = Duration::from_mins(10);
    const MAX: Duration = Duration::from_hours(1);

    /// The patience for a page that `lasts` this long.
    pub fn new(lasts: Option<Duration>) -> Self {
        Self { waits: lasts.unwrap_or(Self::DEFAULT).clamp(Duration::from_secs(1), Self::MAX), lasts }
    }

    /// Limits the wait to `most`.
    pub fn limit(&mut self, most: Duration) {
        self.waits = self.waits.min(most);
    }

    /// The error when the wait is over; `last` is the failed exchange, if nothing was heard since.
    pub fn over(&self, last: Option<HttpError>) -> ApproveError {
        match self.lasts {
            Some(lasts) if lasts <= self.waits => ApproveError::Expired { last },
            lasts => ApproveError::WaitOver {
                waited: self.waits,
                left: lasts.map(|lasts| lasts.saturating_sub(self.waits)),
                last,
            },
        }
    }
}

/// How often to poll, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The time between two polls: 1 to 60 s.
    pub interval: Duration,
    /// The time until polling ends.
    pub patience: Patience,
}

/// The answer to one poll.
#[derive(Debug)]
pub enum Polled<T> {
    /// Not decided yet.
    Pending,
    /// Not decided yet, and asked too often.
    SlowDown,
    /// No answer this time.
    Unheard(HttpError),
    /// Approved.
    Done(T),
}

impl Pace {
    /// The interval that RFC 8628 §3.2 prescribes if none is given; 0 counts as none.
    const INTERVAL: Duration = Duration::from_secs(5);
    /// The time that `slow_down` adds (RFC 8628 §3.5).
    const SLOW_DOWN: Duration = Duration::from_secs(5);
    const MAX_INTERVAL: Duration = Duration::from_mins(1);

    /// The pace that a provider asks for, within bounds.
    pub fn new(interval: Option<Duration>, expires_in: Option<Duration>) -> Self {
        let interval = interval.filter(|interval| !interval.is_zero()).unwrap_or(Self::INTERVAL);
        Self {
            interval: interval.clamp(Duration::from_secs(1), Self::MAX_INTERVAL),
            patience: Patience::new(expires_in),
        }
    }
}

/// Calls `poll` at the given pace, and a last time at the end, until it is done or fails.
///
/// # Errors
/// The error of `poll`; [`Patience::over`] at the end.
pub async fn wait<T>(
    pace: Pace,
    mut poll: impl AsyncFnMut() -> Result<Polled<T>, ApproveError>,
) -> Result<T, ApproveError> {
    let end = Instant::now() + pace.patience.waits;
    let mut interval = pace.interval;
    loop {
        let next = (Instant::now() + interval).min(end);
        sleep_until(next).await;
        let unheard = match poll().await? {
            Polled::Done(done) => return Ok(done),
            Polled::Pending => None,
            Polled::SlowDown => {
                interval = (interval + Pace::SLOW_DOWN).min(Pace::MAX_INTERVAL);
                None
            }
            Polled::Unheard(error) => Some(error),
        };
        if Instant::now() >= end {
            return Err(pace.patience.over(unheard));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(interval: u64, expires_in: u64) -> Pace {
        Pace::new(Some(Duration::from_secs(interval)), Some(Duration::from_secs(expires_in)))
    }

    /// The seconds when polls happened, and the result, if they are answered in this way.
    async fn run(pace: Pace, mut answers: Vec<Polled<()>>) -> (Vec<u64>, Result<(), ApproveError>) {
        let start = Instant::now();
        let mut polls = Vec::new();
        answers.reverse();
        let ended = wait(pace, async || {
            polls.push(start.elapsed().as_secs());
            Ok(answers.pop().unwrap_or(Polled::Pending))
        })
        .await;
        (polls, ended)
    }

    fn unheard() -> HttpError {
        HttpError::Unreachable { origin: "https://as.example".to_owned(), why: "x".to_owned() }
    }

    #[test]
    fn a_hostile_pace_is_bounded() {
        assert_eq!(pace(0, 300).interval, Duration::from_secs(5));
        assert_eq!(Pace::new(None, None).interval, Duration::from_secs(5));
        assert_eq!(Pace::new(Some(Duration::from_millis(1)), None).interval, Duration::from_secs(1));
        assert_eq!(pace(1_000_000, 0).interval, Duration::from_mins(1));
        assert_eq!(pace(1, 0).patience.waits, Duration::from_secs(1));
        assert_eq!(pace(1, u64::MAX).patience.waits, Duration::from_hours(1));
    }

    #[tokio::test(start_paused = true)]
    async fn interval_is_seconds_and_slow_down_adds_five() {
        let answers = vec![Polled::Pending, Polled::SlowDown, Polled::Pending, Polled::Done(())];
        let (polls, ended) = run(pace(2, 300), answers).await;
        assert_eq!(polls, [2, 4, 11, 18]);
        ended.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn an_unheard_poll_is_repeated_at_the_next_interval() {
        let (polls, ended) = run(pace(2, 300), vec![Polled::Unheard(unheard()), Polled::Done(())]).await;
        assert_eq!(polls, [2, 4]);
        ended.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_is_the_end_and_is_polled_once_more() {
        let (polls, ended) = run(pace(4, 10), Vec::new()).await;
        assert_eq!(polls, [4, 8, 10]);
        assert!(matches!(ended, Err(ApproveError::Expired { last: None })));
        let answers = vec![Polled::Pending, Polled::Unheard(unheard())];
        let (_, ended) = run(pace(5, 6), answers).await;
        assert!(ended.unwrap_err().to_string().contains("could not connect to https://as.example"));
    }

    #[tokio::test(start_paused = true)]
    async fn never_ending_polling_ends() {
        let (polls, ended) = run(pace(1, u64::MAX), Vec::new()).await;
        assert_eq!(polls.len(), 3600);
        assert_eq!(ended.unwrap_err().code(), "wait_over");
    }

    #[test]
    fn whose_end_it_was_is_told_apart() {
        let left = |lasts: Option<u64>, most: u64| {
            let mut patience = Patience::new(lasts.map(Duration::from_secs));
            patience.limit(Duration::from_secs(most));
            match patience.over(None) {
                ApproveError::WaitOver { left, .. } => Ok(left.map(|left| left.as_secs())),
                error => Err(error.code()),
            }
        };
        assert_eq!(left(Some(300), 600), Err("expired_token"));
        assert_eq!(left(Some(0), 600), Err("expired_token"));
        assert_eq!(left(Some(300), 300), Err("expired_token"));
        assert_eq!(left(Some(300), 20), Ok(Some(280)));
        assert_eq!(left(Some(7_200), 7_200), Ok(Some(3_600)), "an hour is the most");
        assert_eq!(left(None, 7_200), Ok(None));
    }
}
