//! Requests that wait for the owner, and the programs that wait for them. They live in memory and not
//! long: a restart ends them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::wish::Wish;
use crate::sandbox::grant::Grant;
use crate::sandbox::store::random_id;
use crate::sandbox::time;
use crate::sandbox::wire::ApiError;

/// How long the owner has, in seconds.
pub const EXPIRES_IN: i64 = 600;
/// How often a program may ask, in seconds.
pub const INTERVAL: i64 = 2;
/// What a request's URI begins with.
pub const URI_PREFIX: &str = "urn:pdpp:pending-consent:";
/// How long an ended request is remembered, in milliseconds, so that its page can say how it ended.
const REMEMBER_MS: i64 = 3_600_000;
/// Requests at most: anybody may ask.
const MAX_PENDING: usize = 1_000;

/// A request that waits, or waited, for the owner.
#[derive(Debug, Clone)]
pub struct Pending {
    /// Who asks.
    pub client_id: String,
    /// The name it registered with.
    pub client_name: String,
    /// What for and what.
    pub wish: Wish,
    /// How it stands.
    pub decision: Decision,
    created_ms: i64,
}

/// How a request stands.
#[derive(Debug, Clone)]
pub enum Decision {
    /// The owner did not decide yet.
    Open,
    /// Approved: the grant and its token.
    Approved(Box<Approved>),
    /// Denied.
    Denied,
}

/// An approval.
#[derive(Debug, Clone)]
pub struct Approved {
    /// The grant.
    pub grant: Grant,
    /// The token, kept for the program that waits; the database has its hash only.
    pub token: String,
}

#[derive(Debug)]
struct Attempt {
    polling_code: String,
    pending: String,
    told_denial: bool,
}

/// All requests.
#[derive(Default)]
pub struct Flows(Mutex<State>);

#[derive(Default)]
struct State {
    pending: HashMap<String, Pending>,
    attempts: HashMap<String, Attempt>,
}

/// What a program that polls learns.
#[derive(Debug)]
pub enum Poll {
    /// Wait.
    Waiting,
    /// Approved.
    Approved(Box<Approved>),
    /// Denied, told for the first time.
    Denied,
    /// Too late.
    Expired,
    /// A wrong code, or one that was told no already.
    Unknown,
}

impl Pending {
    /// Whether the owner can still decide.
    pub fn is_expired(&self) -> bool {
        time::now_ms() >= self.created_ms + EXPIRES_IN * 1000
    }
}

impl Flows {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request and gives its id.
    ///
    /// # Errors
    /// `too_many_requests` where too many wait.
    pub fn add(&self, client_id: String, client_name: String, wish: Wish) -> Result<String, ApiError> {
        let mut state = self.state();
        let forgotten = time::now_ms() - REMEMBER_MS;
        state.pending.retain(|_, pending| pending.created_ms > forgotten);
        let State { pending, attempts } = &mut *state;
        attempts.retain(|_, attempt| pending.contains_key(&attempt.pending));
        if pending.len() >= MAX_PENDING {
            return Err(ApiError::new(
                axum::http::StatusCode::TOO_MANY_REQUESTS,
                "rate_limit_exceeded",
                "Too many requests wait for the owner",
            ));
        }
        let id = random_id("dc_")?;
        let created_ms = time::now_ms();
        pending.insert(
            id.clone(),
            Pending { client_id, client_name, wish, decision: Decision::Open, created_ms },
        );
        Ok(id)
    }

    /// A request.
    pub fn get(&self, id: &str) -> Option<Pending> {
        self.state().pending.get(id).cloned()
    }

    /// Decides a request that is open; `decide` makes the decision, at most once.
    ///
    /// # Errors
    /// What `decide` says; `invalid_request` if it is not open any more.
    pub fn decide(
        &self,
        id: &str,
        decide: impl FnOnce(&Pending) -> Result<Decision, ApiError>,
    ) -> Result<(), ApiError> {
        let mut state = self.state();
        let gone = || ApiError::invalid("This request is not open any more");
        let pending = state.pending.get_mut(id).ok_or_else(gone)?;
        if !matches!(pending.decision, Decision::Open) || pending.is_expired() {
            return Err(gone());
        }
        pending.decision = decide(pending)?;
        Ok(())
    }

    /// Notes a program that waits for a request, and gives its id and its polling code.
    ///
    /// # Errors
    /// Without randomness.
    pub fn attempt(&self, pending: &str) -> Result<(String, String), ApiError> {
        let (id, polling_code) = (random_id("agc_")?, random_id("agc_poll_")?);
        let attempt =
            Attempt { polling_code: polling_code.clone(), pending: pending.to_owned(), told_denial: false };
        self.state().attempts.insert(id.clone(), attempt);
        Ok((id, polling_code))
    }

    /// How it stands for the program `attempt`.
    pub fn poll(&self, attempt: &str, polling_code: &str) -> Poll {
        let mut state = self.state();
        let State { pending, attempts } = &mut *state;
        let Some(attempt) = attempts.get_mut(attempt).filter(|attempt| {
            // Hashed, so that how long it takes says nothing about the code.
            super::tokens::hash(&attempt.polling_code) == super::tokens::hash(polling_code)
        }) else {
            return Poll::Unknown;
        };
        let Some(pending) = pending.get(&attempt.pending) else { return Poll::Unknown };
        match &pending.decision {
            Decision::Approved(approved) => Poll::Approved(approved.clone()),
            Decision::Denied if attempt.told_denial => Poll::Unknown,
            Decision::Denied => {
                attempt.told_denial = true;
                Poll::Denied
            }
            Decision::Open if pending.is_expired() => Poll::Expired,
            Decision::Open => Poll::Waiting,
        }
    }
}
