//! Requests that wait for the owner, and the programs that wait for them. They are kept in memory for a short time;
//! a restart ends them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::approval::{Granted, Selection};
use super::authorization_details::{AuthorizationDetails, Purpose, Requested};
use super::client::Client;
use super::passphrase::{Misses, Tries};
use super::wish::Wish;
use crate::vault::grant::Grant;
use crate::vault::id::{random_id, random_token, token_hash};
use crate::vault::time;
use crate::vault::wire::ApiError;

/// How long the owner has to decide, in seconds.
pub const EXPIRES_IN: i64 = 600;
/// The interval at which a program may poll, in seconds.
pub const INTERVAL: i64 = 2;
/// The prefix of a request's URI.
pub const URI_PREFIX: &str = "urn:pdpp:pending-consent:";
/// How long an undecided request is remembered, so that its program learns that it expired, in milliseconds.
const EXPIRED_MS: i64 = EXPIRES_IN * 1000 + 120_000;
/// How long a decision is remembered, so that its page can show the result, in milliseconds.
const DECIDED_MS: i64 = 3_600_000;
/// The maximum number of remembered decisions. With automatic approval there can be many.
const MAX_DECIDED: usize = 1_000;
/// The maximum number of open requests of one client, and of all clients. Anyone may ask and nobody is refused; the
/// oldest request is removed.
const MAX_OF_CLIENT: usize = 10;
const MAX_OPEN: usize = 100;
/// How long a token is given again to the program that received it, in milliseconds, because an answer can get
/// lost.
const REPEAT_MS: i64 = 60_000;
/// How long an authorization code is valid (RFC 6749 §4.1.2 recommends at most minutes).
const CODE_MS: i64 = 60_000;
/// How much longer a device must wait that polls too often (RFC 8628 §3.5), in seconds.
const SLOW_DOWN: i64 = 5;
/// The letters of a code that a person compares or types: no vowels, so that no words appear, and nothing that
/// looks like a digit (RFC 8628 §6.1).
pub(super) const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

/// A request that waits, or waited, for the owner.
#[derive(Debug, Clone)]
pub struct Pending {
    /// The client that asks.
    pub client: Client,
    /// What it asks for and why. Looked up in the existing data when the owner opens the page.
    pub asked: Asked,
    /// How its program learns of the decision.
    pub way: Way,
    /// What the program and the owner's page both show: `BCDF-GHJK`.
    pub code: String,
    /// The state of the decision.
    pub decision: Decision,
    /// The form as the owner left it.
    pub left: Option<Vec<(String, String)>>,
    /// The last summary that the owner saw before deciding.
    pub summary: Option<Summary>,
    owner: Owner,
    tries: Tries,
    /// When the owner's link was opened.
    opened_ms: i64,
    /// Whether a program polls for it. Only one program may.
    is_polled: bool,
    created_ms: i64,
}

/// What a request asks for.
#[derive(Debug, Clone)]
pub enum Asked {
    /// What the request names.
    Details(Box<Requested>),
    /// Everything that exists; the owner selects.
    Everything(Purpose),
    /// Everything, with what the owner named already ticked.
    Wish(Box<Wish>),
}

impl Asked {
    /// The purpose.
    pub const fn purpose(&self) -> &Purpose {
        match self {
            Self::Details(requested) => requested.purpose(),
            Self::Everything(purpose) => purpose,
            Self::Wish(wish) => &wish.purpose,
        }
    }
}

/// Who may decide on a request.
#[derive(Debug, Clone)]
enum Owner {
    /// The person who opens the link with the secret of this hash.
    Link(String),
    /// The browser that opened the link. It has the secret of this hash, for the page of this name.
    Browser { page: String, hash: String },
}

/// What the owner sees before the decision. The decision is about exactly this.
#[derive(Debug, Clone)]
pub struct Summary {
    /// What is selected of the request.
    pub selection: Selection,
    /// The connections and streams that the numbers in the selection refer to.
    pub choices: Vec<(String, String)>,
    /// The digest of everything shown.
    pub digest: String,
}

impl Summary {
    /// The selection with the numbers that the same choices have in `asked`. An import may have added choices
    /// before them.
    pub fn selection_in(&self, asked: &AuthorizationDetails) -> Selection {
        let now = |number: &usize| {
            let (connection, stream) = self.choices.get(*number)?;
            asked.choices.iter().position(|now| now.connection == *connection && now.stream == *stream)
        };
        let kept = self.selection.kept.iter();
        Selection {
            kept: kept.filter_map(|(number, fields)| Some((now(number)?, fields.clone()))).collect(),
            undated: self.selection.undated.iter().filter_map(now).collect(),
            ..self.selection.clone()
        }
    }
}

/// How a program learns of the owner's decision.
#[derive(Debug, Clone)]
pub enum Way {
    /// It polls an agent-connect attempt.
    AgentConnect,
    /// The owner's browser returns to it with a code (RFC 6749 §4.1).
    Redirect(Box<Redirect>),
    /// It polls with a device code (RFC 8628).
    Device,
    /// It runs in this process and belongs to the owner.
    Here,
}

/// Where an authorization code goes, and what must come with it.
#[derive(Debug, Clone)]
pub struct Redirect {
    /// The server that was asked and that answers (RFC 9207).
    pub issuer: String,
    /// The address, checked to be the client's.
    pub uri: String,
    /// The client's own value, returned unchanged.
    pub state: Option<String>,
    /// The S256 challenge (RFC 7636).
    pub challenge: String,
    /// The resource (RFC 8707).
    pub resource: Option<String>,
}

impl Redirect {
    /// The address that leads back to the program, with these parameters, its state and the issuer.
    pub fn back(&self, parameters: &[(&str, &str)]) -> String {
        let Ok(mut url) = url::Url::parse(&self.uri) else { return String::new() };
        {
            let mut query = url.query_pairs_mut();
            query.extend_pairs(parameters);
            if let Some(state) = &self.state {
                query.append_pair("state", state);
            }
            query.append_pair("iss", &self.issuer);
        }
        url.into()
    }
}

/// The state of a decision.
#[derive(Debug, Clone)]
pub enum Decision {
    /// The owner has not decided yet.
    Open,
    /// Approved.
    Approved(Box<Approval>),
    /// Denied.
    Denied {
        /// When.
        at_ms: i64,
    },
}

/// An approval.
#[derive(Debug, Clone)]
pub struct Approval {
    /// When.
    pub at_ms: i64,
    /// What was granted.
    pub granted: Granted,
    /// How the program gets its token.
    pub outcome: Outcome,
    /// Whether the owner has ended it since then, on its page.
    pub is_over: bool,
}

/// How a program gets the token of an approval.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// This token, kept for the polling program. The database has only its hash.
    Token(String),
    /// Through a code, which went back to the program. Nobody here knows it.
    Redirect,
    /// It is issued when the device polls.
    Device,
    /// These tokens, one per grant, kept for the program in this process.
    Here(Vec<String>),
}

#[derive(Debug)]
struct Attempt {
    polling_code: String,
    pending: String,
    knows_denial: bool,
    told_ms: Option<i64>,
}

#[derive(Debug)]
struct Device {
    client_id: String,
    pending: String,
    asked_ms: Option<i64>,
    interval: i64,
    /// The token that was given to it, and when.
    told: Option<(String, i64)>,
}

/// An issued authorization code.
#[derive(Debug, Clone)]
pub struct Code {
    /// What it was issued for.
    pub granted: Granted,
    /// Where it was sent, and what must come with it.
    pub redirect: Redirect,
    created_ms: i64,
    used: bool,
    family: Option<String>,
}

impl Code {
    /// A code that is issued now.
    pub fn new(granted: Granted, redirect: Redirect) -> Self {
        Self { granted, redirect, created_ms: time::now_ms(), used: false, family: None }
    }
}

/// The result of presenting a code.
#[derive(Debug)]
pub enum Presented {
    /// It is presented for the first time, and in time.
    Fresh(Box<Code>),
    /// It was presented before. If it was exchanged for tokens, this is their family.
    Again(Option<String>),
    /// It is unknown or has expired.
    Unknown,
}

/// All requests.
#[derive(Default)]
pub struct Flows(Mutex<State>);

#[derive(Default)]
struct State {
    pending: HashMap<String, Pending>,
    attempts: HashMap<String, Attempt>,
    /// Devices by the hash of their device code.
    devices: HashMap<String, Device>,
    /// Codes by their hash.
    codes: HashMap<String, Code>,
    misses: Misses,
}

/// The result of a program's poll.
#[derive(Debug)]
pub enum Poll {
    /// No decision yet.
    Waiting,
    /// Approved: the grant, and its token.
    Approved(Box<Grant>, String),
    /// Denied; reported once.
    Denied,
    /// The request expired.
    Expired,
    /// A wrong code, or one whose denial was already reported.
    Unknown,
}

/// The result of a device's poll.
#[derive(Debug)]
pub enum DevicePoll {
    /// No decision yet.
    Waiting,
    /// It polled too soon.
    SlowDown,
    /// Approved: the grant, and its token.
    Approved(Box<Grant>, String),
    /// Denied.
    Denied,
    /// The request expired.
    Expired,
    /// A wrong code, a used one, or another client's code.
    Unknown,
}

/// A request that was added.
#[derive(Debug)]
pub struct Noted {
    /// Its id.
    pub id: String,
    /// The code that both the program and the owner's page show.
    pub code: String,
    /// The secret of the owner's link.
    pub secret: String,
}

impl Pending {
    /// Whether it is too late to decide.
    pub fn is_expired(&self) -> bool {
        time::now_ms() >= self.created_ms + EXPIRES_IN * 1000
    }

    /// When it was made, in milliseconds.
    pub const fn created_ms(&self) -> i64 {
        self.created_ms
    }

    fn is_open(&self) -> bool {
        matches!(self.decision, Decision::Open) && !self.is_expired()
    }

    fn decided_ms(&self) -> Option<i64> {
        match &self.decision {
            Decision::Open => None,
            Decision::Approved(approval) => Some(approval.at_ms),
            Decision::Denied { at_ms } => Some(*at_ms),
        }
    }

    fn is_remembered(&self, now: i64) -> bool {
        match self.decided_ms() {
            Some(at) => now - at < DECIDED_MS,
            None => now - self.created_ms < EXPIRED_MS,
        }
    }
}

impl State {
    /// Removes what is over.
    fn sweep(&mut self) {
        let now = time::now_ms();
        let Self { pending, attempts, devices, codes, .. } = self;
        pending.retain(|_, pending| pending.is_remembered(now));
        let mut decided: Vec<(i64, String)> =
            pending.iter().filter_map(|(id, known)| Some((known.decided_ms()?, id.clone()))).collect();
        if decided.len() > MAX_DECIDED {
            decided.sort_unstable();
            decided.truncate(decided.len() - MAX_DECIDED);
            for (_, id) in decided {
                pending.remove(&id);
            }
        }
        attempts.retain(|_, attempt| pending.contains_key(&attempt.pending));
        devices.retain(|_, device| pending.contains_key(&device.pending));
        codes.retain(|_, code| now - code.created_ms < DECIDED_MS);
    }

    /// Makes room for another request of a client: removes its own oldest, or the oldest of the client with the
    /// most. Requests that an owner is looking at stay.
    fn make_room(&mut self, client_id: &str) -> Result<(), ApiError> {
        // Sorts those that an owner is looking at last, then by age.
        type Open<'a> = Vec<(bool, i64, &'a String)>;
        let mut open: HashMap<&str, Open<'_>> = HashMap::new();
        for (id, pending) in self.pending.iter().filter(|(_, pending)| pending.is_open()) {
            let is_looked_at = matches!(pending.owner, Owner::Browser { .. });
            open.entry(&pending.client.id).or_default().push((is_looked_at, pending.created_ms, id));
        }
        let own = open.get(client_id).filter(|own| own.len() >= MAX_OF_CLIENT);
        let is_full = open.values().map(Vec::len).sum::<usize>() >= MAX_OPEN;
        let unseen = |of: &Open<'_>| of.iter().filter(|(is_looked_at, ..)| !is_looked_at).count();
        let goes = match own {
            Some(own) => own.iter().min(),
            None if is_full => open
                .values()
                .max_by_key(|of| (unseen(of), std::cmp::Reverse(of.iter().min())))
                .and_then(|of| of.iter().min()),
            None => return Ok(()),
        };
        match goes.map(|(is_looked_at, _, id)| (*is_looked_at, (*id).clone())) {
            Some((false, id)) => {
                self.pending.remove(&id);
                Ok(())
            }
            _ => Err(ApiError::new(
                axum::http::StatusCode::TOO_MANY_REQUESTS,
                "rate_limit_exceeded",
                "Too many requests are waiting for the owner; try again later",
            )),
        }
    }
}

impl Flows {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request of `client`.
    ///
    /// # Errors
    /// Returns `rate_limit_exceeded` if an owner is looking at too many requests, or an error if the system
    /// supplies no random numbers.
    pub fn add(&self, client: Client, asked: Asked, way: Way) -> Result<Noted, ApiError> {
        let noted = Noted { id: random_id("dc_")?, code: compare_code()?, secret: random_token("")? };
        let request = Pending {
            client,
            asked,
            way,
            code: noted.code.clone(),
            decision: Decision::Open,
            left: None,
            summary: None,
            owner: Owner::Link(token_hash(&noted.secret)),
            tries: Tries::default(),
            opened_ms: time::now_ms(),
            is_polled: false,
            created_ms: time::now_ms(),
        };
        let mut state = self.state();
        state.sweep();
        state.make_room(&request.client.id)?;
        state.pending.insert(noted.id.clone(), request);
        Ok(noted)
    }

    /// The request with this id.
    pub fn get(&self, id: &str) -> Option<Pending> {
        self.state().pending.get(id).cloned()
    }

    /// The clients whose requests are open.
    pub fn clients(&self) -> Vec<String> {
        let state = self.state();
        state.pending.values().filter(|known| known.is_open()).map(|known| known.client.id.clone()).collect()
    }

    /// Opens the page of a request with the secret of its link, which then no longer works. Returns the page's name
    /// and the secret for the browser that opened it.
    ///
    /// # Errors
    /// Returns an error if the system supplies no random numbers.
    pub fn open_link(&self, secret: &str) -> Result<Option<(String, String)>, ApiError> {
        let (page, browser) = (random_id("")?, random_token("")?);
        // Compares hashes, so that the time taken reveals nothing about the secret.
        let hash = token_hash(secret);
        let mut state = self.state();
        let found = state.pending.values_mut().find(|pending| {
            pending.is_open() && matches!(&pending.owner, Owner::Link(known) if *known == hash)
        });
        let Some(pending) = found else { return Ok(None) };
        pending.owner = Owner::Browser { page: page.clone(), hash: token_hash(&browser) };
        pending.opened_ms = time::now_ms();
        Ok(Some((page, browser)))
    }

    /// The open requests, oldest first, each with its id.
    pub fn open_requests(&self) -> Vec<(String, Pending)> {
        let state = self.state();
        let open = state.pending.iter().filter(|(_, pending)| pending.is_open());
        let mut open: Vec<_> = open.map(|(id, pending)| (id.clone(), pending.clone())).collect();
        open.sort_by_key(|(_, pending)| pending.created_ms);
        open
    }

    /// Opens the page of a request for a browser of its owner, who does not need the link. The link then no longer
    /// works, and a browser that opened it before loses the page. Returns the page's name and the secret for the
    /// browser.
    ///
    /// # Errors
    /// Returns an error if the system supplies no random numbers.
    pub fn open_for_owner(&self, id: &str) -> Result<Option<(String, String)>, ApiError> {
        let (page, browser) = (random_id("")?, random_token("")?);
        let mut state = self.state();
        let Some(pending) = state.pending.get_mut(id).filter(|pending| pending.is_open()) else {
            return Ok(None);
        };
        pending.owner = Owner::Browser { page: page.clone(), hash: token_hash(&browser) };
        Ok(Some((page, browser)))
    }

    /// The request of a page, for the browser that has its secret.
    pub fn of_page(&self, page: &str, browser: &str) -> Option<(String, Pending)> {
        let wanted = token_hash(browser);
        let state = self.state();
        let found = state.pending.iter().find(|(_, pending)| {
            matches!(&pending.owner, Owner::Browser { page: known, hash } if known == page && *hash == wanted)
        });
        found.map(|(id, pending)| (id.clone(), pending.clone()))
    }

    /// Reserves one try of a passphrase on the page of a request. Returns false if the request is no longer open,
    /// so that none is tried.
    ///
    /// # Errors
    /// Returns the seconds to wait before the next try.
    pub fn try_passphrase(&self, id: &str) -> Result<bool, u64> {
        let (mut state, now) = (self.state(), time::now_ms());
        let State { pending, misses, .. } = &mut *state;
        match pending.get_mut(id).filter(|pending| pending.is_open()) {
            Some(known) => known.tries.begin_among(now, known.opened_ms, misses.wait(now)).map(|()| true),
            None => Ok(false),
        }
    }

    /// Records that a passphrase was wrong.
    pub fn passphrase_missed(&self) {
        self.state().misses.note(time::now_ms());
    }

    /// Updates what the owner has done so far with an open request.
    pub fn note(&self, id: &str, change: impl FnOnce(&mut Pending)) {
        if let Some(pending) = self.state().pending.get_mut(id).filter(|pending| pending.is_open()) {
            change(pending);
        }
    }

    /// Records that the owner ended what was approved.
    pub fn note_over(&self, id: &str) {
        if let Some(Decision::Approved(approval)) =
            self.state().pending.get_mut(id).map(|pending| &mut pending.decision)
        {
            approval.is_over = true;
        }
    }

    /// Decides an open request. `decide` makes the decision and is called at most once.
    ///
    /// # Errors
    /// Returns the error of `decide`, or `invalid_request` if the request is no longer open.
    pub fn decide(
        &self,
        id: &str,
        decide: impl FnOnce(&Pending) -> Result<Decision, ApiError>,
    ) -> Result<(), ApiError> {
        let mut state = self.state();
        let gone = || ApiError::invalid("This request is no longer open");
        let pending = state.pending.get_mut(id).filter(|pending| pending.is_open()).ok_or_else(gone)?;
        pending.decision = decide(pending)?;
        Ok(())
    }

    /// Registers the one program that polls for a request of `client_id`. Returns the attempt's id and its polling
    /// code; `None` if the request does not exist, is decided, or has another poller.
    ///
    /// # Errors
    /// Returns an error if the system supplies no random numbers.
    pub fn attempt(&self, pending: &str, client_id: &str) -> Result<Option<(String, String)>, ApiError> {
        let (id, polling_code) = (random_id("agc_")?, random_id("agc_poll_")?);
        let mut state = self.state();
        let Some(known) = state.pending.get_mut(pending).filter(|known| {
            known.is_open()
                && !known.is_polled
                && known.client.id == client_id
                && matches!(known.way, Way::AgentConnect)
        }) else {
            return Ok(None);
        };
        known.is_polled = true;
        let attempt = Attempt {
            polling_code: polling_code.clone(),
            pending: pending.to_owned(),
            knows_denial: false,
            told_ms: None,
        };
        state.attempts.insert(id.clone(), attempt);
        Ok(Some((id, polling_code)))
    }

    /// The state for the program `attempt`.
    pub fn poll(&self, attempt: &str, polling_code: &str) -> Poll {
        let mut state = self.state();
        let State { pending, attempts, .. } = &mut *state;
        let Some(attempt) = attempts.get_mut(attempt).filter(|attempt| {
            // Compares hashes, so that the time taken reveals nothing about the code.
            token_hash(&attempt.polling_code) == token_hash(polling_code)
        }) else {
            return Poll::Unknown;
        };
        let Some(pending) = pending.get(&attempt.pending) else { return Poll::Unknown };
        match &pending.decision {
            Decision::Approved(approval) => {
                let now = time::now_ms();
                let is_over = now - *attempt.told_ms.get_or_insert(now) >= REPEAT_MS;
                match (&approval.outcome, approval.granted.grants.as_slice()) {
                    (Outcome::Token(token), [grant]) if !is_over => {
                        Poll::Approved(Box::new(grant.clone()), token.clone())
                    }
                    _ => Poll::Unknown,
                }
            }
            Decision::Denied { .. } if attempt.knows_denial => Poll::Unknown,
            Decision::Denied { .. } => {
                attempt.knows_denial = true;
                Poll::Denied
            }
            Decision::Open if pending.is_expired() => Poll::Expired,
            Decision::Open => Poll::Waiting,
        }
    }

    /// Registers a device that waits for a request, and returns its device code.
    ///
    /// # Errors
    /// Returns an error if the system supplies no random numbers.
    pub fn device(&self, client_id: &str, pending: &str) -> Result<String, ApiError> {
        let device_code = random_token("dvc_")?;
        let device = Device {
            client_id: client_id.to_owned(),
            pending: pending.to_owned(),
            asked_ms: None,
            interval: INTERVAL,
            told: None,
        };
        self.state().devices.insert(token_hash(&device_code), device);
        Ok(device_code)
    }

    /// The state for a device. `issue` issues its token, once.
    ///
    /// # Errors
    /// Returns the error of `issue`.
    pub fn poll_device(
        &self,
        device_code: &str,
        client_id: &str,
        issue: impl FnOnce(&Grant) -> Result<String, ApiError>,
    ) -> Result<DevicePoll, ApiError> {
        let mut state = self.state();
        let State { pending, devices, .. } = &mut *state;
        let Some(device) =
            devices.get_mut(&token_hash(device_code)).filter(|device| device.client_id == client_id)
        else {
            return Ok(DevicePoll::Unknown);
        };
        let now = time::now_ms();
        // Allows a tenth of a second for clocks and the network.
        let too_soon =
            device.asked_ms.replace(now).is_some_and(|asked| now - asked < device.interval * 1000 - 100);
        let Some(pending) = pending.get(&device.pending) else { return Ok(DevicePoll::Unknown) };
        Ok(match &pending.decision {
            Decision::Denied { .. } => DevicePoll::Denied,
            Decision::Open if pending.is_expired() => DevicePoll::Expired,
            Decision::Open if too_soon => {
                device.interval += SLOW_DOWN;
                DevicePoll::SlowDown
            }
            Decision::Open => DevicePoll::Waiting,
            Decision::Approved(approval) => {
                let [grant] = approval.granted.grants.as_slice() else { return Ok(DevicePoll::Unknown) };
                let (token, told_ms) = match device.told.take() {
                    Some(told) => told,
                    None => (issue(grant)?, now),
                };
                device.told = Some((token.clone(), told_ms));
                if now - told_ms >= REPEAT_MS {
                    return Ok(DevicePoll::Unknown);
                }
                DevicePoll::Approved(Box::new(grant.clone()), token)
            }
        })
    }

    /// Adds an issued code.
    pub fn add_code(&self, code: &str, issued: Code) {
        self.state().codes.insert(token_hash(code), issued);
    }

    /// What a code was issued for. This uses the code up, whatever the result.
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

    /// Records which tokens a code was exchanged for, so that a second use can end them.
    pub fn code_got(&self, code: &str, family: &str) {
        if let Some(code) = self.state().codes.get_mut(&token_hash(code)) {
            code.family = Some(family.to_owned());
        }
    }
}

/// A new code to compare: one of 20^8.
///
/// # Errors
/// Returns an error if the system supplies no random numbers.
fn compare_code() -> Result<String, ApiError> {
    let mut code = String::with_capacity(9);
    letters(8, 4, &mut code)?;
    Ok(code)
}

/// Writes a random code of `count` letters, in groups.
///
/// # Errors
/// Returns an error if the system supplies no random numbers.
pub(super) fn letters(count: usize, group: usize, code: &mut String) -> Result<(), getrandom::Error> {
    let mut written = 0;
    while written < count {
        let mut byte = [0];
        getrandom::fill(&mut byte)?;
        // 240 is the largest multiple of 20 in a byte, so all letters are equally likely.
        if byte[0] < 240 {
            if written > 0 && written.is_multiple_of(group) {
                code.push('-');
            }
            code.push(char::from(LETTERS[usize::from(byte[0]) % LETTERS.len()]));
            written += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(id: &str) -> Client {
        Client { id: id.to_owned(), name: id.to_owned(), redirect_uris: Vec::new(), domain: None }
    }

    fn add(flows: &Flows, id: &str) -> Noted {
        flows.add(client(id), Asked::Everything(Purpose::default()), Way::AgentConnect).unwrap()
    }

    fn approve(flows: &Flows, id: &str) {
        let grant: Grant = serde_json::from_value(serde_json::json!({
            "version": "0.1.0", "grant_id": "grt_1", "issued_at": "2026-01-01T00:00:00Z", "expires_at": null,
            "subject": {"id": "owner"}, "client": {"client_id": "a"}, "source": {"kind": "connector", "id": "urn:x"},
            "source_declaration": {"version": "1"}, "purpose_code": "urn:x", "access_mode": "continuous", "streams": []
        }))
        .unwrap();
        let granted = Granted { client_id: "a".to_owned(), grants: vec![grant], package_id: None };
        let outcome = Outcome::Token("secret".to_owned());
        let approval = Approval { at_ms: time::now_ms(), granted, outcome, is_over: false };
        flows.decide(id, |_| Ok(Decision::Approved(Box::new(approval)))).unwrap();
    }

    #[test]
    fn o7_12_a_request_has_one_attempt_of_its_own_client() {
        let flows = Flows::default();
        let noted = add(&flows, "a");
        assert!(flows.attempt(&noted.id, "b").unwrap().is_none(), "another client");
        let (attempt, code) = flows.attempt(&noted.id, "a").unwrap().unwrap();
        assert!(flows.attempt(&noted.id, "a").unwrap().is_none(), "a second time");
        let late = add(&flows, "a");
        approve(&flows, &late.id);
        assert!(flows.attempt(&late.id, "a").unwrap().is_none(), "once it is decided");
        approve(&flows, &noted.id);
        assert!(matches!(flows.poll(&attempt, "agc_poll_guessed"), Poll::Unknown));
        let told = |flows: &Flows| matches!(flows.poll(&attempt, &code), Poll::Approved(_, token) if token == "secret");
        assert!(told(&flows) && told(&flows), "an answer can get lost");
        flows.state().attempts.get_mut(&attempt).unwrap().told_ms = Some(time::now_ms() - REPEAT_MS);
        assert!(!told(&flows), "after a minute");
    }

    #[test]
    fn o7_11_a_link_opens_its_page_once_and_for_one_browser() {
        let flows = Flows::default();
        let noted = add(&flows, "a");
        assert!(flows.open_link("guessed").unwrap().is_none());
        let (page, browser) = flows.open_link(&noted.secret).unwrap().unwrap();
        assert!(flows.open_link(&noted.secret).unwrap().is_none());
        assert_eq!(flows.of_page(&page, &browser).unwrap().0, noted.id);
        assert!(flows.of_page(&page, &noted.secret).is_none() && flows.of_page("", &browser).is_none());
        let late = add(&flows, "a");
        flows.state().pending.get_mut(&late.id).unwrap().created_ms -= EXPIRES_IN * 1000;
        assert!(flows.open_link(&late.secret).unwrap().is_none(), "after ten minutes");
    }

    #[test]
    fn o7_13_requests_are_bounded_and_nobody_is_refused() {
        let flows = Flows::default();
        let mine = add(&flows, "mine");
        flows.open_link(&mine.secret).unwrap().unwrap();
        let open = |flows: &Flows, of: &str| flows.clients().iter().filter(|client| *client == of).count();
        for _ in 0..30 {
            add(&flows, "loud");
        }
        assert_eq!(open(&flows, "loud"), MAX_OF_CLIENT);
        for number in 0..1_000 {
            add(&flows, &format!("client {}", number % 300));
        }
        assert_eq!(flows.clients().len(), MAX_OPEN);
        assert_eq!(open(&flows, "mine"), 1, "one that the owner looks at stays");
        add(&flows, "late");
        assert_eq!(open(&flows, "late"), 1);
        for known in flows.state().pending.values_mut() {
            known.created_ms -= EXPIRED_MS;
        }
        add(&flows, "next");
        assert_eq!(flows.state().pending.len(), 1, "and they are gone when they are over");
    }
}
