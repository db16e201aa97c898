//! Requests that wait for the owner, and the programs that wait for them. They live in memory and not
//! long: a restart ends them.

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

/// How long the owner has, in seconds.
pub const EXPIRES_IN: i64 = 600;
/// How often a program may ask, in seconds.
pub const INTERVAL: i64 = 2;
/// What a request's URI begins with.
pub const URI_PREFIX: &str = "urn:pdpp:pending-consent:";
/// How long a request is remembered that nobody decided, so that its program learns of it, in milliseconds.
const EXPIRED_MS: i64 = EXPIRES_IN * 1000 + 120_000;
/// How long a decision is remembered, so that its page can say how it ended, in milliseconds.
const DECIDED_MS: i64 = 3_600_000;
/// Decisions that are remembered at most; where everything is approved there can be many.
const MAX_DECIDED: usize = 1_000;
/// Open requests at most: of one client, and of all. Anybody may ask, so nobody is refused: the oldest goes.
const MAX_OF_CLIENT: usize = 10;
const MAX_OPEN: usize = 100;
/// How long a token is told again to the program that it was told to, in milliseconds: its answer can get lost.
const REPEAT_MS: i64 = 60_000;
/// How long an authorization code is good for (RFC 6749 §4.1.2 recommends minutes at most).
const CODE_MS: i64 = 60_000;
/// What a device that asks too often has to wait longer (RFC 8628 §3.5), in seconds.
const SLOW_DOWN: i64 = 5;
/// The letters of a code that a person compares or types: no vowels, so no words; nothing that looks like a digit (RFC 8628 §6.1).
pub(super) const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

/// A request that waits, or waited, for the owner.
#[derive(Debug, Clone)]
pub struct Pending {
    /// Who asks.
    pub client: Client,
    /// What for and what; looked up in what there is when the owner looks.
    pub asked: Asked,
    /// How its program learns of the decision.
    pub way: Way,
    /// What the program and the owner's page both show: `BCDF-GHJK`.
    pub code: String,
    /// How it stands.
    pub decision: Decision,
    /// The form as the owner left it.
    pub left: Option<Vec<(String, String)>>,
    /// What the owner was shown last to be decided.
    pub summary: Option<Summary>,
    owner: Owner,
    tries: Tries,
    /// When the owner's link was opened.
    opened_ms: i64,
    /// Whether a program polls for it: one does, and no second one.
    is_polled: bool,
    created_ms: i64,
}

/// What a request is about.
#[derive(Debug, Clone)]
pub enum Asked {
    /// What it names.
    Details(Box<Requested>),
    /// All that there is, for the owner to pick from.
    Everything(Purpose),
    /// The same, with what the owner named ticked.
    Wish(Box<Wish>),
}

impl Asked {
    /// What for.
    pub const fn purpose(&self) -> &Purpose {
        match self {
            Self::Details(requested) => requested.purpose(),
            Self::Everything(purpose) => purpose,
            Self::Wish(wish) => &wish.purpose,
        }
    }
}

/// Who may decide about a request.
#[derive(Debug, Clone)]
enum Owner {
    /// Whoever opens the link with the secret of this hash.
    Link(String),
    /// The browser that opened it: it has the secret of this hash, for the page of this name.
    Browser { page: String, hash: String },
}

/// What the owner is shown before the decision, which is about this and nothing else.
#[derive(Debug, Clone)]
pub struct Summary {
    /// What is left of the request.
    pub selection: Selection,
    /// The connections and streams that the numbers of the selection were of.
    pub choices: Vec<(String, String)>,
    /// Of all that was shown.
    pub digest: String,
}

impl Summary {
    /// The selection by the numbers that the same choices have in `asked`: an import may have added some before them.
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
    /// The owner's browser goes back to it with a code (RFC 6749 §4.1).
    Redirect(Box<Redirect>),
    /// It polls with a device code (RFC 8628).
    Device,
    /// It is in this process, and its owner's own.
    Here,
}

/// Where an authorization code goes, and what has to come with it.
#[derive(Debug, Clone)]
pub struct Redirect {
    /// Who was asked, and answers (RFC 9207).
    pub issuer: String,
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
    /// The address that leads back to the program, with these parameters, its state and who answers.
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

/// How a request stands.
#[derive(Debug, Clone)]
pub enum Decision {
    /// The owner did not decide yet.
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
    /// Whether the owner ended it since, on its page.
    pub is_over: bool,
}

/// How a program gets the token of an approval.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// This token, kept for the program that polls; the database has its hash only.
    Token(String),
    /// By a code, which is known to nobody here: it went back to the program.
    Redirect,
    /// It is issued when the device asks.
    Device,
    /// These tokens, one a grant, kept for the program in this process.
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
    /// The token that it was told, and when.
    told: Option<(String, i64)>,
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
    misses: Misses,
}

/// What a program that polls learns.
#[derive(Debug)]
pub enum Poll {
    /// Wait.
    Waiting,
    /// Approved: the grant, and its token.
    Approved(Box<Grant>, String),
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
    /// Approved: the grant, and its token.
    Approved(Box<Grant>, String),
    /// Denied.
    Denied,
    /// Too late.
    Expired,
    /// A wrong code, one that was spent, or another client's.
    Unknown,
}

/// A request that was noted.
#[derive(Debug)]
pub struct Noted {
    /// Its id.
    pub id: String,
    /// What the program and the owner's page both show.
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
    /// Forgets what is over.
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

    /// Makes room for one more request of a client: its own oldest goes, or the oldest of whoever has the most. Those
    /// that an owner is looking at stay.
    fn make_room(&mut self, client_id: &str) -> Result<(), ApiError> {
        // Those that an owner looks at last, then by age.
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
                "Too many requests wait for the owner",
            )),
        }
    }
}

impl Flows {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request of `client`.
    ///
    /// # Errors
    /// `rate_limit_exceeded` where an owner is looking at too many; without randomness.
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

    /// A request.
    pub fn get(&self, id: &str) -> Option<Pending> {
        self.state().pending.get(id).cloned()
    }

    /// The clients whose requests are open.
    pub fn clients(&self) -> Vec<String> {
        let state = self.state();
        state.pending.values().filter(|known| known.is_open()).map(|known| known.client.id.clone()).collect()
    }

    /// Opens the page of a request with the secret of its link, which is spent by that. Gives the page's name and the
    /// secret of the browser that opened it.
    ///
    /// # Errors
    /// Without randomness.
    pub fn open_link(&self, secret: &str) -> Result<Option<(String, String)>, ApiError> {
        let (page, browser) = (random_id("")?, random_token("")?);
        // Hashed, so that how long it takes says nothing about the secret.
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

    /// The requests that are open, the oldest first, each with its id.
    pub fn open_requests(&self) -> Vec<(String, Pending)> {
        let state = self.state();
        let open = state.pending.iter().filter(|(_, pending)| pending.is_open());
        let mut open: Vec<_> = open.map(|(id, pending)| (id.clone(), pending.clone())).collect();
        open.sort_by_key(|(_, pending)| pending.created_ms);
        open
    }

    /// Opens the page of a request for a browser of its owner's, who has no need of its link: that is spent, and a browser that
    /// opened it before is let go. Gives the page's name and the secret of the browser.
    ///
    /// # Errors
    /// Without randomness.
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

    /// Takes the right to try a passphrase on the page of a request; false where that is not open any more, so that none is
    /// tried.
    ///
    /// # Errors
    /// The seconds to wait for it.
    pub fn try_passphrase(&self, id: &str) -> Result<bool, u64> {
        let (mut state, now) = (self.state(), time::now_ms());
        let State { pending, misses, .. } = &mut *state;
        match pending.get_mut(id).filter(|pending| pending.is_open()) {
            Some(known) => known.tries.begin_among(now, known.opened_ms, misses.wait(now)).map(|()| true),
            None => Ok(false),
        }
    }

    /// Notes that a passphrase was wrong.
    pub fn passphrase_missed(&self) {
        self.state().misses.note(time::now_ms());
    }

    /// Changes what the owner has done so far about a request that is open.
    pub fn note(&self, id: &str, change: impl FnOnce(&mut Pending)) {
        if let Some(pending) = self.state().pending.get_mut(id).filter(|pending| pending.is_open()) {
            change(pending);
        }
    }

    /// Notes that the owner ended what was approved.
    pub fn note_over(&self, id: &str) {
        if let Some(Decision::Approved(approval)) =
            self.state().pending.get_mut(id).map(|pending| &mut pending.decision)
        {
            approval.is_over = true;
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
        let pending = state.pending.get_mut(id).filter(|pending| pending.is_open()).ok_or_else(gone)?;
        pending.decision = decide(pending)?;
        Ok(())
    }

    /// Notes the one program that polls for a request of `client_id`, and gives its id and its polling code; `None`
    /// where there is no such request, or another polls for it, or it is decided.
    ///
    /// # Errors
    /// Without randomness.
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

    /// Notes a device that waits for a request, and gives its device code.
    ///
    /// # Errors
    /// Without randomness.
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

    /// How it stands for a device; `issue` issues its token, once.
    ///
    /// # Errors
    /// What `issue` says.
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
        // A tenth of a second is a clock's or a network's, not the program's.
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

/// A new code to compare: 20^8.
///
/// # Errors
/// Without randomness.
fn compare_code() -> Result<String, ApiError> {
    let mut code = String::with_capacity(9);
    letters(8, 4, &mut code)?;
    Ok(code)
}

/// Writes a random code of so many letters, in groups.
///
/// # Errors
/// Without randomness.
pub(super) fn letters(count: usize, group: usize, code: &mut String) -> Result<(), getrandom::Error> {
    let mut written = 0;
    while written < count {
        let mut byte = [0];
        getrandom::fill(&mut byte)?;
        // 240 is the largest multiple of 20 in a byte: no letter is likelier than another.
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
