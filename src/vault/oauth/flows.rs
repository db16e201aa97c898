//! Requests that wait for the owner, and the programs that wait for them. They live in memory and not
//! long: a restart ends them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::approval::{Approved, Granted};
use super::authorization_details::AuthorizationDetails;
use super::client::Client;
use crate::vault::id::{random_id, random_token, token_hash};
use crate::vault::time;
use crate::vault::wire::ApiError;

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
/// How long an authorization code is good for (RFC 6749 §4.1.2 recommends minutes at most).
const CODE_MS: i64 = 60_000;
/// What a device that asks too often has to wait longer (RFC 8628 §3.5), in seconds.
const SLOW_DOWN: i64 = 5;
/// Wrong user codes that may be typed in a minute, by everybody together (RFC 8628 §5.1).
const MAX_WRONG_CODES: u32 = 20;
/// The letters of a user code: no vowels, so no words; nothing that looks like a digit (RFC 8628 §6.1).
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

/// A request that waits, or waited, for the owner.
#[derive(Debug, Clone)]
pub struct Pending {
    /// Who asks.
    pub client: Client,
    /// What for and what.
    pub asked: AuthorizationDetails,
    /// All that there is to pick from, where the owner picks the sources first; `asked` has no choices
    /// until then.
    pub offer: Option<AuthorizationDetails>,
    /// How its program learns of the decision.
    pub way: Way,
    /// How it stands.
    pub decision: Decision,
    created_ms: i64,
}

/// How a program learns of the owner's decision.
#[derive(Debug, Clone)]
pub enum Way {
    /// It polls an agent-connect attempt.
    AgentConnect,
    /// The owner's browser goes back to it with a code (RFC 6749 §4.1).
    Redirect(Box<Redirect>),
    /// It polls with a device code (RFC 8628); this is what the owner typed or compared.
    Device {
        /// `BCDF-GHJK`.
        user_code: String,
    },
}

/// Where an authorization code goes, and what has to come with it.
#[derive(Debug, Clone)]
pub struct Redirect {
    /// Checked to be the client's.
    pub uri: String,
    /// The client's own, given back as it is.
    pub state: Option<String>,
    /// S256 (RFC 7636).
    pub challenge: String,
    /// RFC 8707.
    pub resource: Option<String>,
}

impl Redirect {
    /// The address that leads back to the program, with these parameters, its state and who answers (RFC 9207).
    pub fn back(&self, issuer: &str, parameters: &[(&str, &str)]) -> String {
        let Ok(mut url) = url::Url::parse(&self.uri) else { return String::new() };
        {
            let mut query = url.query_pairs_mut();
            query.extend_pairs(parameters);
            if let Some(state) = &self.state {
                query.append_pair("state", state);
            }
            query.append_pair("iss", issuer);
        }
        url.into()
    }
}

/// How a request stands.
#[derive(Debug, Clone)]
pub enum Decision {
    /// The owner did not decide yet.
    Open,
    /// Approved.
    Approved(Outcome),
    /// Denied.
    Denied,
}

/// What an approval came to.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// A token, kept for the program that polls; the database has its hash only.
    Token(Box<Approved>),
    /// A code, on its way back in this address.
    Redirect(String),
    /// Grants, whose token is issued when the device asks.
    Granted(Box<Granted>),
}

#[derive(Debug)]
struct Attempt {
    polling_code: String,
    pending: String,
    knows_denial: bool,
}

#[derive(Debug)]
struct Device {
    client_id: String,
    user_code: String,
    pending: String,
    asked_ms: Option<i64>,
    interval: i64,
    is_spent: bool,
}

/// An authorization code that was issued.
#[derive(Debug, Clone)]
pub struct Code {
    /// What it stands for.
    pub granted: Granted,
    /// Where it was sent, and what it needs.
    pub redirect: Redirect,
    created_ms: i64,
    used: bool,
    family: Option<String>,
}

impl Code {
    /// A code issued now.
    pub fn new(granted: Granted, redirect: Redirect) -> Self {
        Self { granted, redirect, created_ms: time::now_ms(), used: false, family: None }
    }
}

/// What became of a code that is presented.
#[derive(Debug)]
pub enum Presented {
    /// The first time, in time.
    Fresh(Box<Code>),
    /// Again: what it got, if anything, is this family.
    Again(Option<String>),
    /// Not known, or over.
    Unknown,
}

/// All requests.
#[derive(Default)]
pub struct Flows(Mutex<State>);

#[derive(Default)]
struct State {
    pending: HashMap<String, Pending>,
    attempts: HashMap<String, Attempt>,
    /// By the hash of their device code.
    devices: HashMap<String, Device>,
    /// By the code's hash.
    codes: HashMap<String, Code>,
    wrong_codes: u32,
    wrong_codes_since: i64,
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

/// What a device that polls learns.
#[derive(Debug)]
pub enum DevicePoll {
    /// Wait.
    Waiting,
    /// Asked too soon.
    SlowDown,
    /// Approved: told once.
    Approved(Box<Granted>),
    /// Denied.
    Denied,
    /// Too late.
    Expired,
    /// A wrong code, one that was spent, or another client's.
    Unknown,
}

impl Pending {
    /// A request of `client` for `asked`.
    pub fn new(client: Client, asked: AuthorizationDetails, way: Way) -> Self {
        Self { client, asked, offer: None, way, decision: Decision::Open, created_ms: time::now_ms() }
    }

    /// A request of `client`, whose sources the owner picks out of `offer` first.
    pub fn of_picked(client: Client, offer: AuthorizationDetails, way: Way) -> Self {
        let asked = AuthorizationDetails { choices: Vec::new(), ..offer.clone() };
        Self { offer: Some(offer), ..Self::new(client, asked, way) }
    }

    /// Whether the owner can still decide.
    pub fn is_expired(&self) -> bool {
        time::now_ms() >= self.created_ms + EXPIRES_IN * 1000
    }

    /// Whether the owner has to pick sources before anything else.
    pub fn is_unpicked(&self) -> bool {
        self.offer.is_some() && self.asked.choices.is_empty()
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
    pub fn add(&self, request: Pending) -> Result<String, ApiError> {
        let mut state = self.state();
        let forgotten = time::now_ms() - REMEMBER_MS;
        state.pending.retain(|_, pending| pending.created_ms > forgotten);
        let State { pending, attempts, devices, codes, .. } = &mut *state;
        attempts.retain(|_, attempt| pending.contains_key(&attempt.pending));
        devices.retain(|_, device| pending.contains_key(&device.pending));
        codes.retain(|_, code| code.created_ms > forgotten);
        if pending.len() >= MAX_PENDING {
            return Err(ApiError::new(
                axum::http::StatusCode::TOO_MANY_REQUESTS,
                "rate_limit_exceeded",
                "Too many requests wait for the owner",
            ));
        }
        let id = random_id("dc_")?;
        pending.insert(id.clone(), request);
        Ok(id)
    }

    /// A request.
    pub fn get(&self, id: &str) -> Option<Pending> {
        self.state().pending.get(id).cloned()
    }

    /// Leaves of an offer what `keep` keeps; nothing at all starts the picking again.
    pub fn pick(&self, id: &str, keep: impl Fn(&super::authorization_details::Choice) -> bool) {
        let mut state = self.state();
        let Some(pending) = state.pending.get_mut(id) else { return };
        if let (Decision::Open, Some(offer)) = (&pending.decision, &pending.offer) {
            pending.asked.choices = offer.choices.iter().filter(|choice| keep(choice)).cloned().collect();
        }
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
            Attempt { polling_code: polling_code.clone(), pending: pending.to_owned(), knows_denial: false };
        self.state().attempts.insert(id.clone(), attempt);
        Ok((id, polling_code))
    }

    /// How it stands for the program `attempt`.
    pub fn poll(&self, attempt: &str, polling_code: &str) -> Poll {
        let mut state = self.state();
        let State { pending, attempts, .. } = &mut *state;
        let Some(attempt) = attempts.get_mut(attempt).filter(|attempt| {
            // Hashed, so that how long it takes says nothing about the code.
            token_hash(&attempt.polling_code) == token_hash(polling_code)
        }) else {
            return Poll::Unknown;
        };
        let Some(pending) = pending.get(&attempt.pending) else { return Poll::Unknown };
        match &pending.decision {
            Decision::Approved(Outcome::Token(approved)) => Poll::Approved(approved.clone()),
            Decision::Approved(_) => Poll::Unknown,
            Decision::Denied if attempt.knows_denial => Poll::Unknown,
            Decision::Denied => {
                attempt.knows_denial = true;
                Poll::Denied
            }
            Decision::Open if pending.is_expired() => Poll::Expired,
            Decision::Open => Poll::Waiting,
        }
    }

    /// Notes a device that waits for a request, and gives its device code.
    ///
    /// # Errors
    /// Without randomness.
    pub fn device(&self, client_id: &str, user_code: &str, pending: &str) -> Result<String, ApiError> {
        let device_code = random_token("dvc_")?;
        let device = Device {
            client_id: client_id.to_owned(),
            user_code: user_code.to_owned(),
            pending: pending.to_owned(),
            asked_ms: None,
            interval: INTERVAL,
            is_spent: false,
        };
        self.state().devices.insert(token_hash(&device_code), device);
        Ok(device_code)
    }

    /// How it stands for a device.
    pub fn poll_device(&self, device_code: &str, client_id: &str) -> DevicePoll {
        let mut state = self.state();
        let State { pending, devices, .. } = &mut *state;
        let Some(device) =
            devices.get_mut(&token_hash(device_code)).filter(|device| device.client_id == client_id)
        else {
            return DevicePoll::Unknown;
        };
        let now = time::now_ms();
        // A tenth of a second is a clock's or a network's, not the program's.
        let too_soon =
            device.asked_ms.replace(now).is_some_and(|asked| now - asked < device.interval * 1000 - 100);
        let Some(pending) = pending.get(&device.pending) else { return DevicePoll::Unknown };
        match &pending.decision {
            _ if device.is_spent => DevicePoll::Unknown,
            Decision::Denied => DevicePoll::Denied,
            Decision::Open if pending.is_expired() => DevicePoll::Expired,
            Decision::Open if too_soon => {
                device.interval += SLOW_DOWN;
                DevicePoll::SlowDown
            }
            Decision::Open => DevicePoll::Waiting,
            Decision::Approved(Outcome::Granted(granted)) => {
                device.is_spent = true;
                DevicePoll::Approved(granted.clone())
            }
            Decision::Approved(_) => DevicePoll::Unknown,
        }
    }

    /// The request that a user code stands for, however it was typed.
    ///
    /// # Errors
    /// `rate_limit_exceeded` where too many wrong ones were typed lately.
    pub fn by_user_code(&self, typed: &str) -> Result<Option<String>, ApiError> {
        let mut state = self.state();
        let now = time::now_ms();
        if now - state.wrong_codes_since > 60_000 {
            (state.wrong_codes, state.wrong_codes_since) = (0, now);
        }
        if state.wrong_codes >= MAX_WRONG_CODES {
            return Err(ApiError::new(
                axum::http::StatusCode::TOO_MANY_REQUESTS,
                "rate_limit_exceeded",
                "Too many wrong codes were typed; wait a minute",
            ));
        }
        let typed = normal(typed);
        let found = state
            .devices
            .values()
            .find(|device| normal(&device.user_code) == typed && !device.is_spent)
            .map(|device| device.pending.clone());
        if found.is_none() {
            state.wrong_codes += 1;
        }
        Ok(found)
    }

    /// Notes a code that was issued.
    pub fn add_code(&self, code: &str, issued: Code) {
        self.state().codes.insert(token_hash(code), issued);
    }

    /// What a code stands for. It is spent by this, whatever comes of it.
    pub fn present(&self, code: &str) -> Presented {
        let mut state = self.state();
        let Some(code) = state.codes.get_mut(&token_hash(code)) else { return Presented::Unknown };
        if std::mem::replace(&mut code.used, true) {
            return Presented::Again(code.family.clone());
        }
        if time::now_ms() > code.created_ms + CODE_MS {
            return Presented::Unknown;
        }
        Presented::Fresh(Box::new(code.clone()))
    }

    /// Notes which tokens a code got, so that its second use can end them.
    pub fn code_got(&self, code: &str, family: &str) {
        if let Some(code) = self.state().codes.get_mut(&token_hash(code)) {
            code.family = Some(family.to_owned());
        }
    }
}

/// A new user code: 20^8, of which one in a billion is in use at most.
///
/// # Errors
/// Without randomness.
pub fn user_code() -> Result<String, ApiError> {
    let mut code = String::with_capacity(9);
    while code.len() < 9 {
        let mut byte = [0];
        getrandom::fill(&mut byte)?;
        // 240 is the largest multiple of 20 in a byte: no letter is likelier than another.
        if byte[0] < 240 {
            code.push(char::from(LETTERS[usize::from(byte[0]) % LETTERS.len()]));
            if code.len() == 4 {
                code.push('-');
            }
        }
    }
    Ok(code)
}

/// A user code without what people add or leave out (RFC 8628 §6.1).
fn normal(typed: &str) -> String {
    typed.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).take(32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_codes_are_read_however_they_are_typed() {
        let code = user_code().unwrap();
        assert_eq!((code.len(), code.as_bytes()[4]), (9, b'-'));
        assert_eq!(normal(&code.to_lowercase().replace('-', " ")), normal(&code));
        assert_ne!(user_code().unwrap(), code);
    }
}
