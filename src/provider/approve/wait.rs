//! Waiting for an owner, as RFC 8628 §3.5 paces it.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::ApproveError;
use crate::provider::http::HttpError;

/// How often to ask, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Between two polls: 1 to 60 s.
    pub interval: Duration,
    /// Until the attempt is over: 1 s to 1 h.
    pub expires_in: Duration,
}

/// The answer to one poll.
#[derive(Debug)]
pub enum Polled<T> {
    /// Not decided yet.
    Pending,
    /// Not decided yet, and asked too often.
    SlowDown,
    /// No answer, this time.
    Unheard(HttpError),
    /// Approved.
    Done(T),
}

impl Pace {
    /// What RFC 8628 §3.2 has a client use where no interval is given; 0 is taken for none.
    const INTERVAL: Duration = Duration::from_secs(5);
    /// What `slow_down` adds (RFC 8628 §3.5).
    const SLOW_DOWN: Duration = Duration::from_secs(5);
    const EXPIRES_IN: Duration = Duration::from_mins(10);
    const MAX_INTERVAL: Duration = Duration::from_mins(1);
    const MAX_EXPIRES_IN: Duration = Duration::from_hours(1);

    /// The pace that a provider asks for, within bounds.
    pub fn new(interval: Option<Duration>, expires_in: Option<Duration>) -> Self {
        let interval = interval.filter(|interval| !interval.is_zero()).unwrap_or(Self::INTERVAL);
        Self {
            interval: interval.clamp(Duration::from_secs(1), Self::MAX_INTERVAL),
            expires_in: expires_in
                .unwrap_or(Self::EXPIRES_IN)
                .clamp(Duration::from_secs(1), Self::MAX_EXPIRES_IN),
        }
    }
}

/// Calls `poll` at the pace, the last time when it ends, until it is done or fails.
///
/// # Errors
/// What `poll` failed with; [`ApproveError::Expired`] at the end.
pub async fn wait<T>(
    pace: Pace,
    mut poll: impl AsyncFnMut() -> Result<Polled<T>, ApproveError>,
) -> Result<T, ApproveError> {
    let end = Instant::now() + pace.expires_in;
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
            return Err(ApproveError::Expired { last: unheard });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(interval: u64, expires_in: u64) -> Pace {
        Pace::new(Some(Duration::from_secs(interval)), Some(Duration::from_secs(expires_in)))
    }

    /// When polls happened, in seconds, and how it ended, if they are answered so.
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
        assert_eq!(pace(1_000_000, 0), pace(60, 1));
        assert_eq!(pace(1, u64::MAX).expires_in, Duration::from_hours(1));
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
        assert_eq!(ended.unwrap_err().code(), "expired_token");
    }
}
